"""The store is away: pages show the artifact's file and nothing else, say so, and come back."""

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


def test_a_server_that_is_away(away: Away) -> None:
    """Nothing is shown of what was seen before; then it comes back by itself."""
    status, good, since = away.page()
    assert (status, since, "stale" in good) == (200, "", False)
    away.store.stop()
    for path in (SESSION, links.session(THREAD, "ledger"), links.HOME):
        status, document, since = away.page(path)
        assert (status, since) == (503, "")
        assert document["error"]["severity"] == "error"  # type: ignore[index]
    assert away.page(links.CONNECT)[0] == 200
    assert away.page(links.HELP)[0] == 200
    away.store.start()
    _until_back(away)
    contribute(away.at.workspace, BEA, add("Lineage"))
    _, fresh, _ = away.page()
    assert fresh["session"]["position"] == good["session"]["position"] + 1  # type: ignore[index]


def _until_back(away: Away) -> None:
    for _ in range(100):
        if away.page()[0] == 200:
            return
        threading.Event().wait(0.2)
    pytest.fail("it did not come back")


@pytest.mark.thorough
@pytest.mark.parametrize("dies", [False, True], ids=["and goes on", "and dies"])
def test_nobody_piles_up_on_a_server_that_stands_still(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies: bool
) -> None:
    """It takes connections and says nothing: one waits for it, the others are told at once.

    Whatever becomes of those who waited, somebody looks for it again.
    """
    monkeypatch.setattr(StoreMonitor, "patience", 0.5)
    with served("postgresql", tmp_path) as away:
        away.page()
        away.store.pause()
        found: list[int] = []

        def look() -> None:
            found.append(away.page()[0])

        looking = [threading.Thread(target=look) for _ in range(40)]
        for each in looking:
            each.start()
        for each in looking:
            each.join(20)
        assert found == [503] * 40
        away.store.restart() if dies else away.store.resume()
        _until_back(away)


def test_a_session_comes_from_its_file(tmp_path: Path) -> None:
    """The dual-source rule: what was persisted is there without any mail, whoever has seen what."""
    with show(tmp_path) as stage:
        for path in (links.session(DEMO), links.session(DEMO, "thread")):
            assert stage.server.ask("GET", path).status == 200
        assert (tmp_path / "artifacts" / f"{DEMO}.md").exists()
        aside = tmp_path / "aside"
        aside.mkdir()
        for each in (tmp_path / ".brenner").glob("mail.sqlite3*"):
            each.rename(aside / each.name)
        found = stage.server.ask("GET", links.session(DEMO, "artifact") + "?format=json")
        assert found.status == 200
        assert found.document["stale"]["as_of"] is None
        assert found.document["stale"]["code"] == "STORE_UNUSABLE"
        assert found.document["stale"]["since"] == found.headers[STALE_HEADER.lower()]
        assert found.document["session"]["source"] == "file"
        assert found.document["notes"] == []
        words = str(stage.server.ask("GET", links.session(DEMO, "artifact")).document)
        assert "Messages cannot be read since" in words
        assert "SHOWN_FROM_FILE" not in words
        assert "has no version of" not in words
        assert "This page shows the saved file only. It updates by itself" in words
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
    assert at.ask("GET", SESSION).status == 200
    aside = path.with_name("aside")
    aside.mkdir()
    for each in path.parent.glob("mail.sqlite3*"):
        each.rename(aside / each.name)
    assert _message(at).endswith("the file was removed.")
    for each in aside.iterdir():
        each.rename(path.parent / each.name)
    assert _comes_back(at)
    shutil.copy(path, aside / "copy")
    (aside / "copy").rename(path)
    assert _message(at).endswith("another file replaced it.")


def _message(at: Inside) -> str:
    found = at.ask("GET", f"{SESSION}?format=json")
    assert found.status == 503
    return str(found.document["error"]["message"])


def _comes_back(at: Inside) -> bool:
    for _ in range(100):
        if at.ask("GET", SESSION).status == 200:
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


@pytest.mark.thorough
def test_the_page_in_a_browser(browser: Browser, tmp_path: Path) -> None:
    """An open page stays as it is and says so; that of the artifact shows the file."""
    with show(tmp_path) as stage, window(browser, stage.base) as opened:
        agents, artifact = (opened.open(links.session(DEMO, tab)) for tab in ("agents", ""))
        for page in (agents, artifact):
            expect(page.locator("#connection")).to_have_text("Live")
        agents.evaluate("() => { window.was = document.getElementById('main'); }")
        store = tmp_path / ".brenner"
        os.rename(store, tmp_path / "aside")  # noqa: PTH104
        notice = artifact.locator("#notice .away")
        artifact.bring_to_front()
        expect(notice).to_contain_text("Messages cannot be read since", timeout=15_000)
        agents.bring_to_front()
        expect(agents.locator("#connection")).to_contain_text("Store unavailable since")
        expect(agents.locator("h1")).to_be_visible()
        os.rename(tmp_path / "aside", store)  # noqa: PTH104
        expect(agents.locator("#connection")).to_have_text("Live", timeout=15_000)
        assert agents.evaluate("() => window.was === document.getElementById('main')")
        artifact.bring_to_front()
        expect(notice).to_have_count(0, timeout=15_000)
        opened.forgive("503")


def test_the_operator_reads_the_file_too(lab: Show) -> None:
    """Who is logged in stays so, and is shown what everybody is shown."""
    secret = renew_secret(lab.mailbox, lab.project.operator)
    client, path = Client(lab.server), links.session(DEMO)
    assert client.post("/lab/login", {"secret": secret}).status == 303
    assert client.get(path).status == 200
    folder = lab.project.folder / ".brenner"
    folder.rename(folder.with_name("aside"))
    for someone in (client, Client(lab.server)):
        away = someone.get(path)
        assert (away.status, STALE_HEADER.lower() in away.headers) == (200, True)
    assert client.get(links.session(DEMO, "agents")).status == 503
    folder.with_name("aside").rename(folder)
