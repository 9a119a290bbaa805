"""`session watch` as a process, in every home that several processes can share."""

import hashlib
import signal
from pathlib import Path

import pytest

from brenner.mail.mailbox import Capability
from brenner.protocol.messages import Message
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.workspace import Workspace, workspace_in
from program import brenner
from session.backends import OPERATOR
from session.thread_writer import Place, acknowledge, contribute, place, write
from session.watch_process import watching
from session.workspaces import ANN, BEA, KICKOFF, THREAD, add, edit, project_in

__all__ = ["place"]
QUESTION = "## Question\nWhich?\n\n## Urgency\nSoon\n"


def kickoff(workspace: Workspace) -> int:
    return write(workspace, OPERATOR, (ANN, BEA), "KICKOFF: Cell fate", KICKOFF)


@pytest.mark.every_store
def test_mail_of_another_process_is_told(place: Place) -> None:
    first = kickoff(place.workspace)
    with watching(place.folder, THREAD) as watcher:
        begun = watcher.told[0]
        assert begun["session"]["phase"] == "awaiting_acks"
        said = (
            "--subject",
            "QUESTION: Which one?",
            "--body",
            "## Question\nWhich?\n\n## Urgency\nSoon\n",
        )
        to = ("--to", OPERATOR, "--thread", THREAD, "--as", ANN)
        assert brenner("mail", "send", *to, *said, cwd=place.folder).code == 0
        event = watcher.event("message")
        assert event["message"]["subject"] == "QUESTION: Which one?"
        assert event["message"]["from"] == ANN
        assert event["route"]["step"] == "wait"
        assert event["route"]["waiting_for"] == [OPERATOR]
        acknowledge(place.workspace, ANN, first)
        acknowledge(place.workspace, BEA, first)
        changed = watcher.event("phase")
        assert (changed["before"], changed["after"]) == ("awaiting_acks", "awaiting_deltas")
        assert watcher.stop() == 0
        assert watcher.told[-1]["event"] == "stopped"
        assert watcher.stderr_of() == ""


def test_a_session_from_its_first_message_to_its_version(place: Place) -> None:
    """Without a thread everything is followed; what was there before is not told again."""
    write(place.workspace, ANN, (OPERATOR,), "INFO: Before", "# Info\n\nBefore.\n")
    with watching(place.folder) as watcher:
        first = kickoff(place.workspace)
        sent = [
            first,
            contribute(place.workspace, ANN, add("Gradient"), edit("H9", claim="No")),
            acknowledge(place.workspace, BEA, first, "Completed"),
        ]
        watcher.messages(sent)
        phase = watcher.event("phase")
        assert phase["after"] == "ready_to_compile"
        done = compile_thread(place.workspace, THREAD, CompileOptions())
        assert done.message
        watcher.messages([done.message.id])
        assert watcher.event("phase")["after"] == "in_critique"
        assert watcher.stop(signal.SIGTERM) == 0
    assert watcher.ids == [*sent, done.message.id]
    routes = [each["route"] for each in watcher.told if each["event"] == "message"]
    assert [each["step"] for each in routes] == [
        *("session_initialization", "merge", "settle", "render_and_distribute")
    ]
    assert routes[1]["model"] == "opus"
    assert routes[1]["blocks"] == {"applied": 1, "refused": 1, "duplicate": 0}
    assert routes[1]["codes"] == ["INVALID_TARGET"]
    phases = [each["after"] for each in watcher.told if each["event"] == "phase"]
    assert phases[0] == "awaiting_acks"


def test_a_thread_that_others_write_beside(place: Place) -> None:
    kickoff(place.workspace)
    with watching(place.folder, THREAD) as watcher:
        elsewhere = Message("COORD-elsewhere", ANN, (OPERATOR,), "INFO: Elsewhere", "# Info\n")
        place.workspace.mailbox.send(elsewhere)
        mine = write(place.workspace, ANN, (OPERATOR,), "INFO: Here", "# Info\n")
        watcher.messages([mine])
        assert watcher.ids == [mine]
        assert watcher.stop() == 0


def test_it_ends_with_the_phase(place: Place) -> None:
    first = kickoff(place.workspace)
    contribute(place.workspace, ANN, add("Gradient"))
    with watching(place.folder, THREAD, "--until", "ready_to_compile") as watcher:
        contribute(place.workspace, BEA, add("Lineage"))
        assert watcher.ended() == 0
        assert watcher.told[-1] | {"at": ""} == {"event": "stopped", "at": "", "reason": "until"}
    with watching(place.folder, THREAD, "--until", "ready_to_compile") as watcher:
        assert watcher.ended() == 0  # it is there already
    assert first
    assert place.workspace.mailbox.thread(THREAD).position == 3


# Nothing is written


def everything(place: Place) -> dict[str, object]:
    """All that there is: the mail, what was kept, the files."""
    mailbox = place.workspace.mailbox
    keeps = Capability.CACHE not in mailbox.lacks
    beside = ("-wal", "-shm")  # SQLite makes and removes them for who only reads
    files = [path for path in place.folder.rglob("*") if path.is_file()]
    return {
        "mail": list(mailbox.records()),
        "agents": mailbox.agents(),
        "kept": mailbox.kept_under("") if keeps else {},
        "files": {
            str(path): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in files
            if not path.name.endswith(beside)
        },
    }


@pytest.mark.parametrize("arguments", [(), (THREAD,)], ids=["all", "one"])
def test_without_the_flag_nothing_is_written(place: Place, arguments: tuple[str, ...]) -> None:
    first = kickoff(place.workspace)
    contribute(place.workspace, ANN, add("Gradient"))
    acknowledge(place.workspace, BEA, first, "Completed")
    with watching(place.folder, *arguments) as watcher:
        sent = contribute(place.workspace, BEA, add("Lineage"))
        before = everything(place)
        watcher.messages([sent])
        assert watcher.told[-1]["phase"] == "ready_to_compile"
        marker = write(place.workspace, ANN, (OPERATOR,), "INFO: Still there", "# Info\n")
        after = everything(place)
        watcher.messages([marker])
        assert watcher.stop() == 0
    ended = everything(place)
    assert ended == after
    assert before["kept"] == after["kept"] == {}
    assert not any(each["event"] == "compiled" for each in watcher.told)
    types = [each.type for each in place.workspace.mailbox.thread(THREAD).messages]
    assert "COMPILED" not in types


# What is asked for wrongly


def test_a_thread_that_nobody_has_written_to(tmp_path: Path) -> None:
    with workspace_in(project_in(tmp_path), None, create=True):
        done = brenner("session", "watch", "RS-20251230-nobody-here", "--json", cwd=tmp_path)
    assert done.code == 1
    assert done.json["event"] == "failed"
    assert len(done.out.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments", [("--notify",), ("--until", "complete"), (THREAD, "--until", "nonsense")]
)
def test_wrong_usage(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert brenner("session", "watch", *arguments, cwd=tmp_path).code == 2
