"""The mailbox goes away while it is watched, and comes back: said, survived, nothing left out."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from brenner.diagnostics.model import UnavailableError
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.services.workspace import Workspace
from mail.backends import AGENT_MAIL
from servers import agent_mail, postgresql
from servers.proxy import Proxy
from session.backends import OPERATOR, SERVERS, ProjectBackend, housed
from session.thread_writer import contribute, seat, write
from session.watch_process import Watcher, watching
from session.workspaces import ANN, BEA, KICKOFF, THREAD, add


class Line(NamedTuple):
    """A project that is watched by way of something that can go wrong; the desk is not."""

    watched: Path
    workspace: Workspace
    proxy: Proxy


@pytest.fixture(params=SERVERS, ids=lambda housing: housing.home.name)
def line(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Line]:
    housing: ProjectBackend = request.param
    folder, watched = tmp_path / "project", tmp_path / "watched"
    watched.mkdir()
    with housed(housing, folder, monkeypatch), seat(folder) as workspace:
        is_agent_mail = housing.home is AGENT_MAIL
        port = agent_mail.running().port if is_agent_mail else postgresql.running().port
        settings = (folder / "brenner.toml").read_text("utf-8")
        with Proxy(port) as proxy:
            there = settings.replace(f":{port}/", f":{proxy.port}/")
            assert there != settings
            (watched / "brenner.toml").write_text(there, "utf-8")
            yield Line(watched, workspace, proxy)
            proxy.pass_on()


def begin(workspace: Workspace) -> int:
    return write(workspace, OPERATOR, (ANN, BEA), "KICKOFF: Cell fate", KICKOFF)


def note(workspace: Workspace, words: str) -> int:
    return write(workspace, ANN, (OPERATOR,), f"INFO: {words}", f"# Info\n\n{words}\n")


def lose(line: Line, watcher: Watcher) -> None:
    """The line is dead, until it is told otherwise; that was noticed."""
    line.proxy.refuse()
    line.proxy.cut()
    found = watcher.event("lost")["violations"]
    assert [each["severity"] for each in found] == ["error"]
    assert found[0]["message"]


@pytest.mark.parametrize("thread", [(), (THREAD,)], ids=["all", "one"])
def test_each_message_exactly_once(line: Line, thread: tuple[str, ...]) -> None:
    """Some come before, some while nobody can ask, some after; twice over."""
    begin(line.workspace)
    with watching(line.watched, *thread) as watcher:
        sent = [note(line.workspace, "before")]
        watcher.messages(sent)
        for turn in range(2):
            lose(line, watcher)
            sent += [
                note(line.workspace, f"meanwhile {turn}"),
                contribute(line.workspace, ANN, add("One")),
            ]
            line.proxy.pass_on()
            assert watcher.event("back")["seconds"] > 0
            watcher.messages(sent)
            sent.append(note(line.workspace, f"after {turn}"))
            watcher.messages(sent)
        assert watcher.stop() == 0
    assert watcher.ids == sent
    names = [each["event"] for each in watcher.told]
    assert names.count("lost") == names.count("back") == 2


def test_a_break_in_the_middle_of_a_look(line: Line) -> None:
    """The request gets through, and the answer does not come back."""
    begin(line.workspace)
    with watching(line.watched) as watcher:
        sent = []
        for turn in range(3):
            line.proxy.cut_before_answer()
            sent.append(note(line.workspace, f"turn {turn}"))
            watcher.messages(sent)
        assert watcher.stop() == 0
    assert watcher.ids == sent


def test_stopped_while_the_mailbox_is_away(line: Line) -> None:
    begin(line.workspace)
    with watching(line.watched) as watcher:
        lose(line, watcher)
        assert watcher.stop() == 0
        assert watcher.told[-1]["event"] == "stopped"


# A file


@pytest.fixture
def file(tmp_path: Path) -> Iterator[tuple[Path, Workspace]]:
    """A project whose mail is in a file of its folder."""
    (tmp_path / "brenner.toml").write_text(
        f'store = "sqlite:///mail.sqlite3"\noperator = "{OPERATOR}"\n', "utf-8"
    )
    with seat(tmp_path) as workspace:
        begin(workspace)
        yield tmp_path, workspace


def store(folder: Path) -> list[Path]:
    return sorted(folder.glob("mail.sqlite3*"))


def test_a_file_that_is_taken_away_and_put_back(file: tuple[Path, Workspace]) -> None:
    folder, workspace = file
    aside = folder / "aside"
    aside.mkdir()
    with watching(folder) as watcher:
        for path in store(folder):
            path.rename(aside / path.name)
        assert watcher.event("lost")["violations"][0]["id"] == "STORE_UNUSABLE"
        with pytest.raises(UnavailableError):  # nobody writes to what is not there any more
            note(workspace, "lost")
        with SqliteMailbox.open(aside / "mail.sqlite3") as elsewhere:
            sent = note(workspace._replace(mailbox=elsewhere), "meanwhile")
        for path in aside.iterdir():
            path.rename(folder / path.name)
        watcher.event("back")
        watcher.messages([sent])
        assert watcher.stop() == 0
    assert watcher.ids == [sent]


def test_a_copy_of_the_file_is_the_same_store(file: tuple[Path, Workspace]) -> None:
    folder, workspace = file
    workspace.mailbox.close()
    with watching(folder) as watcher:
        path = folder / "mail.sqlite3"
        shutil.copy(path, folder / "copy")
        for each in store(folder):
            each.unlink()
        watcher.event("lost")
        (folder / "copy").rename(path)
        watcher.event("back")
        with seat(folder) as again:
            sent = note(again, "in the copy")
        watcher.messages([sent])
        assert watcher.stop() == 0


def test_another_store_in_its_place_is_refused(file: tuple[Path, Workspace]) -> None:
    folder, workspace = file
    workspace.mailbox.close()
    with watching(folder) as watcher:
        for path in store(folder):
            path.unlink()
        with seat(folder) as other:
            note(other, "other mail")
        assert watcher.ended() == 3
        assert watcher.told[-1]["event"] == "failed"
        assert watcher.told[-1]["violations"][0]["id"] == "STORE_REPLACED"


@pytest.mark.thorough
def test_a_store_that_is_made_later(tmp_path: Path) -> None:
    """One can watch before there is any mail."""
    with watching(tmp_path) as watcher, seat(tmp_path) as workspace:
        sent = write(workspace, ANN, ("Operator",), "INFO: First", "# Info\n")
        watcher.messages([sent])
        assert watcher.stop() == 0
