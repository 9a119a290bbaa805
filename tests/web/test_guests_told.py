"""What guests are not told: of other sessions, of where the mail is kept, and after their time."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from brenner.protocol.messages import Message
from brenner.server.settings import ServeSettings
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.workspace import Workspace
from brenner.web import links
from brenner.web import request as guests
from mail.sample_mail import make_message
from serving.running import Inside, inside
from session.workspaces import ANN, BEA, KICKOFF, THREAD, add, contribute
from web.disputed import block, compiled, disputed
from web.events import Looking
from web.lab_client import Client

TOKEN = "s3cret-of-the-endpoint"  # noqa: S105  (made up)
SECRET, GONE = "RS-20251231-secret-matter", "RS-20250101-gone"
SETTINGS = ServeSettings(port=0, requests_a_second=1_000_000, token=TOKEN)
PLACE = "mail.sqlite3"


def to(session: str, item: str = "H1") -> dict[str, str]:
    """A reference."""
    return {"session": session, "item": item, "relation": "refines"}


def lab(folder: Path) -> Workspace:
    """Two sessions: a hypothesis of each names one of the other; one also names what is not."""
    workspace = disputed(folder)
    operator = workspace.project.operator
    fence = json.dumps(add("Hidden", references=[to(THREAD)], third_alternative=True))
    for sender, subject, body in (
        (operator, "KICKOFF: Secret", KICKOFF),
        (ANN, "DELTA[opus]: News", f"# Delta Contribution\n\n```delta\n{fence}\n```\n"),
    ):
        there = (ANN, BEA) if sender == operator else (operator,)
        workspace.mailbox.send(Message(SECRET, sender, there, subject, body))
    compile_thread(workspace, SECRET, CompileOptions())
    edit = block("EDIT", "hypothesis_slate", "H3", references=[to(SECRET), to(GONE)])
    contribute(workspace, ANN, edit, base="v2")
    compiled(workspace)
    return workspace


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Inside]:
    workspace = lab(tmp_path / "lab")
    with inside(workspace.mailbox, workspace.project, SETTINGS) as server:
        server.token = None  # browsers have none
        yield server


def cookie(seconds: float = 3600.0) -> dict[str, str]:
    """A link to one session, followed."""
    until = datetime.now(UTC) + timedelta(seconds=seconds)
    return {guests.guest_cookie_name(THREAD): guests.guest_link(TOKEN, THREAD, until)}


@pytest.fixture
def guest(served: Inside) -> Client:
    made = Client(served)
    made.jar = cookie()
    return made


@pytest.fixture
def owner(served: Inside) -> Client:
    made = Client(served)
    assert made.post("/enter", {"token": TOKEN}).status == 303
    return made


def document(client: Client, path: str) -> Any:
    got = client.get(f"{path}?format=json")
    assert got.status == 200, got.text
    return got.document


def test_who_else_refers_to_an_item(owner: Client, guest: Client) -> None:
    """Whoever asks first, in every form; the page is kept for who may see as much."""
    path = links.item(THREAD, "H1")
    told = document(owner, path)
    assert [each["session"] for each in told["referred_by"]] == [SECRET]
    for _ in range(2):
        unsaid = document(guest, path)
        assert (unsaid["referred_by"], unsaid["referred_by_count"]) == ([], 0)
        assert SECRET not in guest.get(path).text
        assert document(owner, path) == told


def test_what_the_session_says_itself_stays(owner: Client, guest: Client) -> None:
    """But not whether it is there, nor a link to it."""
    path = links.item(THREAD, "H3")
    assert [each["is_there"] for each in document(owner, path)["references"]] == [True, False]
    page = owner.get(path).text
    assert (page.count("broken reference"), f'href="{links.item(SECRET, "H1")}"' in page) == (
        1,
        True,
    )
    found = document(guest, path)
    names = ("session", "link", "killed", "is_there")
    assert [tuple(each[name] for name in names) for each in found["references"]] == [
        (SECRET, None, None, None),
        (GONE, None, None, None),
    ]
    shown = (path, links.session(THREAD, "artifact"))
    for each in (*shown, links.session(THREAD), links.export(THREAD, "html")):
        text = guest.get(each).text
        assert f"/sessions/{SECRET}" not in text
        assert "broken reference" not in text
    for each in shown:
        assert f"{SECRET} H1" not in document(guest, each)["addresses"]
    assert f"{SECRET} H1" in document(owner, path)["addresses"]


def away(folder: Path) -> None:
    """The store is taken away."""
    aside = folder / "aside"
    aside.mkdir()
    for each in (folder / "lab" / ".brenner").glob(f"{PLACE}*"):
        each.rename(aside / each.name)


def test_where_the_mail_is_kept(
    served: Inside, owner: Client, guest: Client, tmp_path: Path
) -> None:
    """While it is away: neither on a page nor in the news."""
    path, kept = links.session(THREAD, "agents"), links.item(THREAD, "H1")
    message = served.workspace.mailbox.thread(THREAD).messages[0].id
    for client in (owner, guest):
        document(client, path)
    document(owner, kept)
    name = "; ".join("=".join(pair) for pair in cookie().items())
    with Looking(served, THREAD, cookie=name) as looking:
        looking.settle()
        away(tmp_path)
        told = next(looking.events())
    assert (told.kind, told.data["code"]) == ("away", "MAIL_AWAY")
    assert PLACE not in str(told)
    as_json = f"{path}?format=json"
    assert PLACE in owner.get(as_json).document["error"]["message"]
    assert guest.get(as_json).document["error"]["id"] == "MAIL_AWAY"
    asked = (path, f"{path}?format=json", kept, f"{kept}?format=json", links.message(message))
    for each in (*asked, links.message(message, "raw"), links.export(THREAD, "json"), links.HELP):
        got = guest.get(each)
        assert got.status in (200, 503)
        assert PLACE not in got.text, each
        assert str(tmp_path) not in got.text
        assert SECRET not in got.text or not each.startswith(kept)  # else it is her session's text


@pytest.mark.thorough
def test_the_news_end_with_the_link(served: Inside) -> None:
    """As an answer that is whole; what comes in afterwards is not told."""
    name = "; ".join("=".join(pair) for pair in cookie(6.0).items())
    with Looking(served, THREAD, cookie=name) as looking:
        looking.settle()
        sent = served.workspace.mailbox.send(make_message(to=(BEA,), thread=THREAD)).stored.id
        assert looking.mail(1) == [sent]
        rest = list(islice(looking.all(), 4))
        assert len(rest) < 4  # it has ended, and there was no more than a sign of life
        assert {each.kind for each in rest} <= {""}
    with Looking(served, THREAD, cookie=name) as again:
        assert again.answer.status == 401
    with Looking(served, THREAD, cookie="; ".join(map("=".join, cookie().items()))) as longer:
        assert len(list(islice(longer.all(), 2))) == 2
