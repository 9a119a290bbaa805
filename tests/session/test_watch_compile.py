"""`session watch --auto-compile`: what is ready is compiled, by however many watchers."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from brenner.artifact.state import BlockOutcome
from brenner.mail.model import Profile
from brenner.protocol.messages import Message
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.version_store import load_history, load_ledger
from brenner.services.versions import verify
from brenner.services.workspace import Workspace
from mail.processes import ended, release, start
from session import compile_work
from session.backends import HOUSINGS, OPERATOR, housed
from session.concurrent_compiles import record_of
from session.thread_writer import Place, acknowledge, contribute, place, seat, write
from session.watch_process import Watcher, watching
from session.workspaces import ANN, BEA, KICKOFF, THREAD, add, edit

__all__ = ["place"]
RIVAL = "AmberBeacon"
AUTHORS = (ANN, BEA)
_FINISHING = "Finishing the compile first. Press Ctrl-C again to abort it."


def kickoff(workspace: Workspace) -> int:
    return write(workspace, OPERATOR, (ANN,), "KICKOFF: Cell fate", KICKOFF)


def test_what_is_ready_and_what_becomes_ready(place: Place) -> None:
    kickoff(place.workspace)
    contribute(place.workspace, ANN, add("Gradient"), edit("H9", claim="No"))
    with watching(place.folder, "--auto-compile", "--notify") as watcher:
        first = watcher.event("compiled")
        assert (first["status"], first["version"]) == ("published", 1)
        assert first["ledger"]["refused"] == 1
        assert len(first["notified"]) == 1
        watcher.messages([first["message_id"], first["notified"][0]["message_id"]])
        contribute(place.workspace, BEA, add("Lineage"))
        second = watcher.event("compiled")
        assert (second["status"], second["version"]) == ("published", 2)
        watcher.messages([second["message_id"]])
        assert watcher.stop() == 0
    assert len(watcher.ids) == len(set(watcher.ids))
    assert verify(place.workspace, THREAD).ok


def test_two_watchers_and_authors_at_once(place: Place) -> None:
    """Versions are gapless, and every contribution is in exactly one of them (R17)."""
    each = 3
    place.workspace.mailbox.register(Profile(RIVAL))
    asked = kickoff(place.workspace)
    with (
        watching(place.folder, "--auto-compile") as one,
        watching(place.folder, "--auto-compile", "--as", RIVAL) as two,
    ):
        writing = [start(compile_work.contribute, place.folder, name, each) for name in AUTHORS]
        release(writing)
        sent = [int(line) for child in writing for line in ended(child)]
        assert len(sent) == each * len(AUTHORS)
        _wait_for_all(place.workspace, sent, one)
        assert one.stop() == two.stop() == 0
        for watcher in (one, two):  # it may have been compiling when it was stopped
            assert watcher.stderr_of().strip() in ("", _FINISHING)
    _check_versions(place.workspace, [asked, *sent])
    told = [
        (each["version"], each["message_id"])
        for each in (*one.told, *two.told)
        if each["event"] == "compiled" and each["status"] == "published"
    ]
    history = load_history(place.workspace.mailbox, THREAD, OPERATOR)
    assert sorted(told) == [(each.number, each.message_id) for each in history.versions]


def _wait_for_all(workspace: Workspace, sent: list[int], watcher: Watcher) -> None:
    """Until no contribution is unread; every version comes in at the watcher as a message."""
    while True:
        history = load_history(workspace.mailbox, THREAD, OPERATOR)
        if history.versions and not history.unread and history.position >= len(sent):
            return
        watcher.event("message")


def _check_versions(workspace: Workspace, sent: list[int]) -> None:
    """`sent` are the kickoff and the contributions."""
    found = verify(workspace, THREAD)
    assert found.ok
    numbers = [each.number for each in found.versions]
    assert numbers == list(range(1, len(numbers) + 1))
    history = load_history(workspace.mailbox, THREAD, OPERATOR)
    records = [record_of(workspace.mailbox.message(each.message_id)) for each in history.versions]
    read = Counter(entry.id for record in records for entry in record.messages)
    assert read == Counter(sent)  # each once, none left out
    entries = [entry for number in numbers for entry in load_ledger(workspace, THREAD, number)]
    outcomes = Counter(entry.state for entry in entries)
    count = len(sent) - 1
    assert outcomes == {BlockOutcome.APPLIED: count, BlockOutcome.REFUSED: count}


def test_somebody_else_compiles_first(place: Place) -> None:
    """A version that is there already is not made again."""
    with watching(place.folder, "--auto-compile") as watcher:
        place.workspace.mailbox.register(Profile(RIVAL))
        rival = place.workspace._replace(actor=RIVAL)
        contribute(place.workspace, ANN, add("Gradient"))
        compile_thread(rival, THREAD, CompileOptions())
        marker = write(place.workspace, ANN, (OPERATOR,), "INFO: Done", "# Info\n")
        watcher.messages([marker])
        assert watcher.stop() == 0
    assert len(load_history(place.workspace.mailbox, THREAD, OPERATOR).versions) == 1


# Refusals


@pytest.fixture
def sqlite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    folder = tmp_path / "project"
    with housed(HOUSINGS[1], folder, monkeypatch), seat(folder) as workspace:
        yield Place(folder, workspace)


def test_a_failure_is_said_once_until_the_thread_changes(sqlite: Place) -> None:
    """Persisting is configured for every version, and there is no repository to commit to.

    Nothing was refused: it is tried again, so it is said to be unavailable.
    """
    settings = sqlite.folder / "brenner.toml"
    persist = "\n[persist]\nevery = 1\ncommit = true\n"
    settings.write_text(settings.read_text("utf-8") + persist, "utf-8")
    kickoff(sqlite.workspace)
    contribute(sqlite.workspace, ANN, add("Gradient"))
    with watching(sqlite.folder, "--auto-compile") as watcher:
        failed = watcher.event("compiled")
        assert (failed["valid"], failed["status"]) == (False, "unavailable")
        assert [each["id"] for each in failed["violations"]] == ["NOT_A_REPOSITORY"]
        sent = [write(sqlite.workspace, ANN, (OPERATOR,), "INFO: Hm", "# Info\n")]
        watcher.messages(sent)
        assert watcher.event("compiled")["valid"] is False
        marker = Message("COORD-elsewhere", ANN, (OPERATOR,), "INFO: Elsewhere", "# Info\n")
        watcher.messages([sqlite.workspace.mailbox.send(marker).stored.id])
        assert watcher.stop() == 0
    names = [each["event"] for each in watcher.told]
    assert names.count("compiled") == 2
    types = [each.type for each in sqlite.workspace.mailbox.thread(THREAD).messages]
    assert "COMPILED" not in types


def test_what_was_closed_is_not_gone_on_with_unasked(sqlite: Place) -> None:
    """A kickoff after the end makes it ready; that it needs `--reopen` is said."""
    contribute(sqlite.workspace, ANN, add("Gradient"))
    for close in (False, True):
        compile_thread(sqlite.workspace, THREAD, CompileOptions(close=close))
    kickoff(sqlite.workspace)
    with watching(sqlite.folder, THREAD, "--auto-compile") as watcher:
        contribute(sqlite.workspace, ANN, add("Contact"))
        refused = watcher.event("compiled")
        assert [each["id"] for each in refused["violations"]] == ["SESSION_CLOSED"]
        assert watcher.stop() == 0
    assert [each["event"] for each in watcher.told].count("compiled") == 1
    assert len(load_history(sqlite.workspace.mailbox, THREAD, OPERATOR).versions) == 2


def test_a_session_that_waits_for_somebody_is_left_alone(sqlite: Place) -> None:
    first = write(sqlite.workspace, OPERATOR, (ANN, BEA), "KICKOFF: Cell fate", KICKOFF)
    with watching(sqlite.folder, THREAD, "--auto-compile") as watcher:
        sent = contribute(sqlite.workspace, ANN, add("Gradient"))
        watcher.messages([sent])
        assert watcher.told[-1]["phase"] == "awaiting_acks"
        acknowledge(sqlite.workspace, BEA, first, "Completed")
        assert watcher.event("compiled")["version"] == 1
        assert watcher.stop() == 0
    events = [each["event"] for each in watcher.told]
    assert events.index("compiled") > watcher.told.index(
        next(each for each in watcher.told if each["event"] == "phase")
    )
