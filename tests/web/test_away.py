"""The store is away: reading goes on with what was seen last, it is said, and it comes back."""

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, expect

from brenner.config import Project
from brenner.mail.agent_mail.mailbox import AgentMailMailbox
from brenner.mail.mailbox import Mailbox
from brenner.mail.postgres.mailbox import PostgresMailbox
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.services.identity import renew_secret
from brenner.store_url import AgentMailAddress, PostgresAddress
from brenner.web import links
from brenner.web.app import STALE_HEADER
from brenner.web.sessions import StoreMonitor
from mail.sample_mail import ANN, BEA, introduce
from servers.agent_mail import AgentMailServer
from servers.postgresql import Postgres
from servers.process import Server
from serving.running import Inside, inside
from session.thread_writer import contribute, write
from session.workspaces import KICKOFF, THREAD, add
from web.browsing import SETTINGS, Show, show, window
from web.browsing import THREAD as DEMO
from web.lab_client import Client

SESSION = links.session(THREAD, "agents")


class Away(NamedTuple):
    """A served session, and the server that its mail is on."""

    at: Inside
    store: Server

    def page(self, path: str = SESSION) -> tuple[int, dict[str, object], str]:
        """The status of a page, its document, and since when it is stale."""
        found = self.at.ask("GET", path, headers={"Accept": "application/json"})
        return found.status, found.document, found.headers.get(STALE_HEADER.lower(), "")


def _postgresql(server: Postgres) -> Mailbox:
    return PostgresMailbox.create(PostgresAddress(server.url(), "away"))


def _agent_mail(server: AgentMailServer) -> Mailbox:
    return AgentMailMailbox.create(AgentMailAddress(server.url, "/group/cell-fate"), None)


@contextmanager
def served(kind: str, folder: Path) -> Iterator[Away]:
    """A session on a server of its own, which a test may stop."""
    with Postgres() if kind == "postgresql" else AgentMailServer() as store:
        mailbox = _postgresql(store) if isinstance(store, Postgres) else _agent_mail(store)
        introduce(mailbox, ("GreenCastle", ANN, BEA))
        project = Project(folder, operator="GreenCastle")
        with mailbox, inside(mailbox, project, SETTINGS) as at:
            write(at.workspace, "GreenCastle", (ANN, BEA), "KICKOFF: Cell fate", KICKOFF)
            contribute(at.workspace, ANN, add("Gradient"))
            yield Away(at, store)


@pytest.fixture(params=["postgresql", "agent mail"])
def away(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Away]:
    """PostgreSQL, or an Agent Mail server."""
    with served(request.param, tmp_path) as found:
        yield found


def test_the_last_good_page(away: Away) -> None:
    """It is shown with what is away, since when, and as of when; then it comes back by itself."""
    status, good, since = away.page()
    assert (status, since, "stale" in good) == (200, "", False)
    away.store.stop()
    status, stale, since = away.page()
    assert status == 200
    told = stale.pop("stale")
    assert isinstance(told, dict)
    assert told["since"] == since
    assert told["as_of"] <= since
    assert told["code"]
    assert stale == good
    words = str(away.at.ask("GET", SESSION).document)
    assert "The mail cannot be read since" in words
    assert "it comes up to date by itself" in words
    assert told["code"] in words
    again, _, same = away.page()
    assert (again, same) == (200, since)
    away.store.start()
    _until_back(away)
    contribute(away.at.workspace, BEA, add("Lineage"))
    _, fresh, _ = away.page()
    assert fresh["session"]["position"] == good["session"]["position"] + 1  # type: ignore[index]


def _until_back(away: Away) -> None:
    for _ in range(100):
        if not away.page()[2]:
            return
        threading.Event().wait(0.2)
    pytest.fail("it did not come back")


def test_what_was_never_seen(away: Away) -> None:
    """There is nothing to show; the pages that need no mail are there."""
    away.store.stop()
    status, document, _ = away.page(links.session(THREAD, "ledger"))
    assert status == 503
    assert document["error"]["severity"] == "error"  # type: ignore[index]
    assert away.page(links.CONNECT)[0] == 200
    assert away.page(links.HELP)[0] == 200


@pytest.mark.parametrize("dies", [False, True], ids=["and goes on", "and dies"])
def test_nobody_piles_up_on_a_server_that_stands_still(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies: bool
) -> None:
    """It takes connections and says nothing: one waits for it, all get what there is.

    Whatever becomes of those who waited, somebody looks for it again.
    """
    monkeypatch.setattr(StoreMonitor, "patience", 0.5)
    with served("postgresql", tmp_path) as away:
        away.page()
        away.store.pause()
        found: list[tuple[int, str]] = []

        def look() -> None:
            status, _, since = away.page()
            found.append((status, since))

        looking = [threading.Thread(target=look) for _ in range(40)]
        for each in looking:
            each.start()
        for each in looking:
            each.join(20)
        assert len(found) == 40
        assert {status for status, _ in found} == {200}
        assert len({since for _, since in found}) == 1
        assert found[0][1]
        away.store.restart() if dies else away.store.resume()
        _until_back(away)


def test_a_session_that_was_never_seen_comes_from_its_file(tmp_path: Path) -> None:
    """The dual-source rule: what was persisted is there without any mail."""
    with show(tmp_path) as stage:
        assert (tmp_path / "artifacts" / f"{DEMO}.md").exists()
        aside = tmp_path / "aside"
        aside.mkdir()
        for each in (tmp_path / ".brenner").glob("mail.sqlite3*"):
            each.rename(aside / each.name)
        found = stage.server.ask("GET", links.session(DEMO) + "?format=json")
        assert found.status == 200
        assert found.document["stale"]["as_of"] is None
        assert found.document["stale"]["code"] == "STORE_UNUSABLE"
        words = str(stage.server.ask("GET", links.session(DEMO)).document)
        assert "This page comes from the session&#39;s file alone" in words.replace("'", "&#39;")
        assert stage.server.ask("GET", links.session(DEMO, "thread")).status == 503


@pytest.fixture
def file(tmp_path: Path) -> Iterator[tuple[Inside, Path]]:
    """A session in the embedded store."""
    path = tmp_path / "mail.sqlite3"
    with SqliteMailbox.create(path) as mailbox:
        introduce(mailbox, ("Operator", ANN, BEA))
        project = Project(tmp_path, operator="Operator", store=f"sqlite:///{path}")
        with inside(mailbox, project, SETTINGS) as at:
            write(at.workspace, "Operator", (ANN, BEA), "KICKOFF: Cell fate", KICKOFF)
            yield at, path


def test_a_file_that_is_gone(file: tuple[Inside, Path]) -> None:
    """It is open, and could still be read: but what is there now is something else."""
    at, path = file
    good = at.ask("GET", f"{SESSION}?format=json").document
    aside = path.with_name("aside")
    aside.mkdir()
    for each in path.parent.glob("mail.sqlite3*"):
        each.rename(aside / each.name)
    found = at.ask("GET", f"{SESSION}?format=json").document
    assert found.pop("stale")["message"].endswith("the file was taken away.")
    assert found == good
    for each in aside.iterdir():
        each.rename(path.parent / each.name)
    assert _comes_back(at)
    shutil.copy(path, aside / "copy")
    (aside / "copy").rename(path)
    found = at.ask("GET", f"{SESSION}?format=json").document
    assert found["stale"]["message"].endswith("another file has got its name.")


def _comes_back(at: Inside) -> bool:
    for _ in range(100):
        if STALE_HEADER.lower() not in at.ask("GET", SESSION).headers:
            return True
        threading.Event().wait(0.1)
    return False


def test_nobody_writes_to_a_file_that_is_gone(file: tuple[Inside, Path]) -> None:
    """Who is told that a message is stored finds it there."""
    at, path = file
    path.rename(path.with_name("elsewhere"))
    arguments = {
        "project_key": str(at.workspace.project.folder),
        "sender_name": ANN,
        "to": ["Operator"],
        "subject": "INFO: Lost?",
        "body_md": "# Info\n\nText.\n",
        "thread_id": THREAD,
    }
    with pytest.raises(RuntimeError, match="STORE_UNUSABLE"):
        at.tool("send_message", **arguments)
    path.with_name("elsewhere").rename(path)
    assert at.workspace.mailbox.position() == 1


def test_the_page_in_a_browser(browser: Browser, tmp_path: Path) -> None:
    """The notice appears and goes, in place."""
    with show(tmp_path) as stage, window(browser, stage.base) as opened:
        page = opened.open(links.session(DEMO, "agents"))
        expect(page.locator("#connection")).to_have_text("Live")
        page.evaluate("() => { window.was = document.getElementById('main'); }")
        store = tmp_path / ".brenner"
        os.rename(store, tmp_path / "aside")  # noqa: PTH104
        notice = page.locator("#notice .away")
        expect(notice).to_contain_text("The mail cannot be read since", timeout=15_000)
        expect(page.locator("#connection")).to_contain_text("The mail is away since")
        os.rename(tmp_path / "aside", store)  # noqa: PTH104
        expect(notice).to_have_count(0, timeout=15_000)
        expect(page.locator("#connection")).to_have_text("Live", timeout=15_000)
        assert page.evaluate("() => window.was === document.getElementById('main')")


def test_what_a_browser_keeps_does_not_keep_a_page_from_being_shown(tmp_path: Path) -> None:
    """The history tells since when one has looked: that is left out, and the rest is shown."""
    with show(tmp_path) as stage:
        client, path = Client(stage.server), links.session(DEMO, "versions")
        for _ in range(2):  # the second time with what the first has left in the browser
            assert client.get(path).status == 200
        folder = tmp_path / ".brenner"
        folder.rename(folder.with_name("aside"))
        for someone in (client, Client(stage.server)):
            away = someone.get(path)
            assert (away.status, STALE_HEADER.lower() in away.headers) == (200, True)
            assert "Since you looked" not in away.text
        folder.with_name("aside").rename(folder)


def test_the_operator_goes_on_reading(lab: Show) -> None:
    """Who is logged in keeps the pages that she has seen; nobody else is shown them."""
    secret = renew_secret(lab.mailbox, lab.project.operator)
    client, path = Client(lab.server), links.session(DEMO, "agents")
    assert client.post("/lab/login", {"secret": secret}).status == 303
    assert client.get(path).status == 200
    folder = lab.project.folder / ".brenner"
    folder.rename(folder.with_name("aside"))
    away = client.get(path)
    assert (away.status, STALE_HEADER.lower() in away.headers) == (200, True)
    assert Client(lab.server).get(path).status == 503
    folder.with_name("aside").rename(folder)
