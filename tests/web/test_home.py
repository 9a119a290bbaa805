"""The list of sessions: the same rows as the command line's, what needs somebody first."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from brenner.config import OPERATOR, find_project
from brenner.diagnostics.model import RequestError
from brenner.mail.mailbox import Mailbox
from brenner.mail.memory import MemoryMailbox
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.server.app import site_of
from brenner.server.settings import ServeSettings
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.workspace import Workspace
from brenner.web.rendering import render_html
from brenner.web.request import Page, RequestContext
from brenner.web.views import project as home
from commands import in_code, unknown
from mail_shell import Shell, store_of
from session import session_mail as mail
from session.workspaces import ANN, BEA, add

LATER = timedelta(hours=29, minutes=30)
BLOCKED, ASKED, READY = "RS-20251230-blocked", "RS-20251231-asked", "RS-20260102-ready"
WAITS, DONE, TALK = "RS-20260103-waits", "RS-20260104-done", "br-42"


def look(
    workspace: Workspace, later: timedelta = timedelta(), **asked: str
) -> tuple[dict[str, Any], str]:
    """The document of the page, and the page."""
    now = datetime.now(UTC) + later
    visit = RequestContext(site_of(workspace, ServeSettings()), "/", now, query=asked)
    page = home.page(visit)
    assert isinstance(page, Page)
    return dict(page.document), render_html(page, visit)


def answered(mailbox: Mailbox, thread_id: str, question: str = "") -> None:
    """A session in which both have acknowledged and contributed."""
    asked = mail.ask(mailbox, thread_id, question)
    for name in (ANN, BEA):
        mail.acknowledge(mailbox, asked, name)
        mail.contribute(mailbox, thread_id, name, add(f"Gradient of {name}"))


def fill(workspace: Workspace) -> None:
    """A session for most of what can be waited for."""
    mailbox = workspace.mailbox
    mail.introduce(mailbox)
    answered(mailbox, READY, "Which <b>one</b>?")
    answered(mailbox, DONE)
    for close in (False, True):
        compile_thread(workspace, DONE, CompileOptions(close=close))
    asked = mail.ask(mailbox, WAITS, "What tells a cell where it is? " * 30)
    mail.acknowledge(mailbox, asked, ANN)
    answered(mailbox, ASKED)
    compile_thread(workspace, ASKED, CompileOptions())
    mail.say(mailbox, ASKED, "QUESTION")
    answered(mailbox, BLOCKED)
    mail.say(mailbox, BLOCKED, "BLOCKED")
    mail.say(mailbox, TALK, "INFO")
    mail.say(mailbox, "an odd thread", "Hello")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    store_of(tmp_path).parent.mkdir()
    mailbox = SqliteMailbox.create(store_of(tmp_path))
    workspace = Workspace(mailbox, find_project(str(tmp_path), {}), OPERATOR)
    fill(workspace)
    return workspace


def test_as_the_command_line_has_it(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same sessions in the same order, each key with the same value; the same counts."""
    told = Shell(tmp_path, monkeypatch)("session", "list", "--json").json
    document, _ = look(workspace)
    shown = document["sessions"] + document["complete"]["sessions"]
    assert [{key: row[key] for key in told["sessions"][0]} for row in shown] == told["sessions"]
    assert document["summary"] == told["summary"]


def test_the_same_words(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line of the prompt begins the page."""
    line = Shell(tmp_path, monkeypatch)("session", "list", "--line").out.strip()
    document, page = look(workspace)
    assert document["words"][0] == f"{line}."
    assert document["words"][0] in page


def test_what_needs_somebody_comes_first(workspace: Workspace) -> None:
    """Blocked work, then questions; what waits for agents; complete ones are folded."""
    document, page = look(workspace)
    assert [row["thread_id"] for row in document["sessions"]] == [*(BLOCKED, ASKED, READY, WAITS)]
    assert [row["waits"] for row in document["sessions"]] == [True, True, True, False]
    assert [row["thread_id"] for row in document["apart"]["sessions"]] == [TALK]
    assert 'id="apart"' in page
    assert [row["thread_id"] for row in document["complete"]["sessions"]] == [DONE]
    open_part, _, folded = page.partition("<details")
    assert DONE in folded
    assert DONE not in open_part
    assert open_part.index("1 blocked") < open_part.index("1 question<")


def test_whose_turn_it_is(workspace: Workspace) -> None:
    """Those for whom the round waits, and why; once all is in, the operator."""
    turns = {row["thread_id"]: row["turns"] for row in look(workspace)[0]["sessions"]}
    assert turns[WAITS] == [
        {"agent": ANN, "words": "owes a delta"},
        {"agent": BEA, "words": "owes an ACK"},
    ]
    assert turns[READY] == [{"agent": OPERATOR, "words": "can compile"}]
    assert turns[ASKED] == []


def test_overdue_acks_in_words(workspace: Workspace) -> None:
    """After the deadline it is said who owes what, and since when."""
    document, page = look(workspace, LATER)
    assert (
        look(workspace)[0]["words"][1]
        == f"{OPERATOR} owes 2 acknowledgements. Waiting for 1 acknowledgement from {BEA}."
    )
    assert document["words"][1] == (
        f"{OPERATOR} owes 2 acknowledgements, 2 overdue, the oldest sent 29 h ago. "
        f"Waiting for 1 acknowledgement from {BEA}, overdue, sent 29 h ago."
    )
    assert "1 ACK overdue" in page


def test_one_phase(workspace: Workspace) -> None:
    """Only those in it, complete ones unfolded; how many are in the others is still told."""
    document, page = look(workspace, phase="complete")
    assert [row["thread_id"] for row in document["sessions"]] == [DONE]
    assert document["complete"]["total"] == 0
    assert {each["phase"]: each["sessions"] for each in document["phases"]} == {
        "awaiting_acks": 1,
        "awaiting_deltas": 0,
        "ready_to_compile": 2,
        "in_critique": 1,
        "complete": 1,
        "cancelled": 0,
        "conversation": 1,
    }
    assert page.count('aria-current="page"') == 2  # of the masthead, and of the phase
    empty, page = look(workspace, phase="awaiting_deltas")
    assert empty["sessions"] == []
    assert "No session is in this phase" in page


def test_no_such_phase(workspace: Workspace) -> None:
    """It is not taken for all of them."""
    with pytest.raises(RequestError, match="NO_SUCH_PAGE"):
        look(workspace, phase="soon")


def test_pages() -> None:
    """Every session stands on exactly one of the pages that `next` leads to."""
    mailbox = MemoryMailbox()
    mail.introduce(mailbox)
    names = {f"RS-20260101-n{number}" for number in range(120)}
    for name in names:
        mail.ask(mailbox, name)
    workspace = Workspace(mailbox, find_project("/", {}), OPERATOR)
    seen: list[str] = []
    asked: dict[str, str] = {}
    for _ in range(3):
        document, _page = look(workspace, timedelta(), **asked)
        seen += [row["thread_id"] for row in document["sessions"]]
        _, _, number = str(document["next"]).partition("?page=")
        asked = {"page": number}
    assert document["next"] is None
    assert (document["first"], document["last"], document["total"]) == (101, 120, 120)
    assert len(seen) == len(set(seen))
    assert set(seen) == names
    assert look(workspace, page="99")[0]["first"] == 101


def test_what_is_left_out_is_told(workspace: Workspace) -> None:
    """Threads that no session can have; sessions that are only in files."""
    folder = workspace.project.folder / "artifacts"
    folder.mkdir()
    (folder / "RS-20240101-elsewhere.md").write_text("---\n---\n", "utf-8")
    document, page = look(workspace)
    assert document["others"] == 1
    assert "1 thread has an ID that is not valid for a session" in page
    assert document["only_files"] == ["RS-20240101-elsewhere"]
    assert "RS-20240101-elsewhere" in page
    assert [found for each in in_code(page) for found in unknown(each)] == []


def test_nothing_yet(tmp_path: Path) -> None:
    """What will appear here, and the command that makes it appear, which there is."""
    document, page = look(Workspace(MemoryMailbox(), find_project(str(tmp_path), {}), OPERATOR))
    assert document["sessions"] == []
    assert "No sessions yet." in page
    [command] = in_code(page.replace("&#34;", '"'))
    assert command.startswith("session start")
    assert [*unknown(command)] == []


def test_texts_are_texts(workspace: Workspace) -> None:
    """A question is no markup, and a long one is cut on the page and whole in the document."""
    document, page = look(workspace)
    assert "&lt;b&gt;one&lt;/b&gt;" in page
    assert "<b>one" not in page
    [long] = [row["question"] for row in document["sessions"] if row["thread_id"] == WAITS]
    assert len(long) > 160
    assert long not in page
    assert long[:150] in page
