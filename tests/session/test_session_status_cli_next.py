"""What a status says to do next: in every phase a command that can be pasted, and works."""

import re
import shlex
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mail_shell import Shell
from program import Run, run
from session.busy_session import ANN, BEA, ROLES, Stage, busy
from session.workspaces import THREAD, add, edit

FORM = "[[fill in: your answer]]"
HYPHEN = "-bot-5so.1.4"
# The command stands at the end: behind the words, or on a line of its own.
_NEXT = re.compile(r"^Next: (.*?):\s+(brenner .*)$", re.MULTILINE)
_INSTEAD = re.compile(r"^  or .*:\s+(brenner .*)\Z", re.MULTILINE)


class Typist:
    """Types commands into a shell, of which there is only the taking apart into words."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell

    def paste(self, command: str) -> Run:
        """What comes of a command that was printed."""
        program, *words = shlex.split(command)
        assert program == "brenner"
        return self.shell(*words)

    def told(self, thread_id: str = THREAD, *options: str) -> tuple[str, str]:
        """What to do next: the words and the command."""
        done = self.shell("session", "status", *options, "--", thread_id)
        assert done.code == 0, done.err
        found = _NEXT.search(done.out.rstrip("\n"))
        assert found, done.out
        return found[1], found[2]

    def told_instead(self, thread_id: str) -> str:
        """The command of the other way on."""
        done = self.shell("session", "status", "--", thread_id)
        found = _INSTEAD.search(done.out.rstrip("\n"))
        assert found, done.out
        return found[1]

    def phase(self, thread_id: str) -> object:
        """How far the session is."""
        return self.shell("session", "status", "--json", "--", thread_id).json["phase"]


@pytest.fixture
def typist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Typist:
    for name in ("AGENT_NAME", "BRENNER_STORE"):
        monkeypatch.delenv(name, raising=False)
    return Typist(Shell(tmp_path, monkeypatch))


@pytest.mark.parametrize("thread_id", [THREAD, HYPHEN])
def test_the_way_of_a_session(typist: Typist, tmp_path: Path, thread_id: str) -> None:
    """From the first kickoff to the end by nothing but what status says, and the agents' mail."""
    stage = Stage(tmp_path, thread_id)
    numbers = stage.kickoff(ANN, BEA)
    stage.acknowledge(ANN, numbers[0])
    words, command = typist.told(thread_id)
    assert (typist.phase(thread_id), words) == ("awaiting_acks", f"remind {BEA}")
    assert "again to RedSky" in typist.paste(command).out
    stage.at = datetime.now(UTC)
    words, command = typist.told(thread_id)
    assert words == "follow it live"
    assert command.startswith("brenner session watch ")
    stage.contribute(ANN, add("Gradient"))
    stage.contribute(BEA, add("Clock"), edit("H9", claim="x"))
    words, command = typist.told(thread_id)
    assert (typist.phase(thread_id), words) == (
        "ready_to_compile",
        "publish v1 (2 blocks would apply)",
    )
    assert "Published v1" in typist.paste(command).out
    words, command = typist.told(thread_id)
    assert (typist.phase(thread_id), words) == ("in_critique", "start round 2")
    end = typist.told_instead(thread_id)
    assert f"to {ANN} ({ROLES[ANN]}) in {thread_id}." in typist.paste(command).out
    assert typist.phase(thread_id) == "awaiting_acks"
    assert "Published v2" in typist.paste(end).out
    words, command = typist.told(thread_id)
    assert (typist.phase(thread_id), words) == ("complete", "read the final version")
    assert "Gradient" in typist.paste(command).out
    stage.at = datetime.now(UTC)
    stage.contribute(ANN, add("Contact"))
    words, _ = typist.told(thread_id)
    assert words == "read the final version", "no advice to compile"
    again = typist.told_instead(thread_id)
    assert "Published v3" in typist.paste(again).out


def _reopened(typist: Typist, folder: Path) -> Stage:
    """A session that ended with v2, and whose next kickoff has been sent."""
    stage = Stage(folder, THREAD)
    (number,) = stage.kickoff(ANN)
    stage.acknowledge(ANN, number)
    stage.contribute(ANN, add("Gradient"))
    for command in ("compile", "session complete", "session round --reopen"):
        done = typist.paste(f"brenner {command} {THREAD}")
        assert done.code == 0, done.err
    stage.at = datetime.now(UTC)
    return stage


def test_a_session_that_goes_on_after_its_end(typist: Typist, tmp_path: Path) -> None:
    """Its kickoff has been sent; the next version is one that she has to mean."""
    stage = _reopened(typist, tmp_path)
    assert typist.phase(THREAD) == "awaiting_acks"
    (listed,) = typist.shell("session", "list", "--json").json["sessions"]
    assert (listed["phase"], listed["round"]) == ("awaiting_acks", 3)
    stage.contribute(ANN, add("Contact"))
    words, command = typist.told()
    assert words == "publish v3 (1 block would apply)"
    assert "Published v3" in typist.paste(command).out


def test_a_round_after_the_end_of_which_nothing_comes(typist: Typist, tmp_path: Path) -> None:
    """The last version is what it was, and she may ask again."""
    stage = _reopened(typist, tmp_path)
    number = typist.shell("session", "status", "--json", THREAD).json["participants"][0]["kickoff"]
    stage.acknowledge(ANN, number, "Completed")
    words, command = typist.told()
    assert words == "start another round (v2 is final until a delta arrives)"
    assert typist.paste(f"{command} --focus 'The mechanism'").code == 0


def test_who_is_blocked_is_answered_first(typist: Typist, tmp_path: Path) -> None:
    """Then the question; then those who owe an ACK are asked again."""
    busy(tmp_path)
    for kind in ("BLOCKED", "QUESTION"):
        words, command = typist.told()
        assert words.startswith(f"read the {kind} from {BEA} with `brenner mail show 1")
        shown = re.search("`(.*)`", words)
        assert shown
        assert f"{kind}: " in typist.paste(shown[1]).out
        assert "TEMPLATE_NOT_FILLED_IN" in typist.paste(command).err  # no answer closes nothing
        assert typist.told()[1] == command
        assert typist.paste(command.replace(FORM, "Take the other one.")).code == 0
    words, command = typist.told()
    assert words == "remind RedSky, GreenDog and BlueLake"
    assert typist.paste(command).code == 0
    assert typist.told()[0].startswith("read the CRITIQUE from GreenDog")


def test_a_refused_block_can_be_let_be(typist: Typist, tmp_path: Path) -> None:
    busy(tmp_path)
    shown = typist.paste(f"brenner session status {THREAD}").out
    found = re.search("To ignore a rejected block: `(brenner session dismiss .*)`", shown)
    assert found
    assert typist.paste(found[1]).code == 0
    rest = typist.paste(f"brenner session status --json {THREAD}").json["refusals"]
    assert [(each["message_id"], each["block"]) for each in rest] == [(9, 1), (15, 3)]


def test_all_refused(typist: Typist, tmp_path: Path) -> None:
    """Nothing can be compiled, so its author is told."""
    stage = Stage(tmp_path)
    [number] = stage.kickoff(ANN)
    stage.acknowledge(ANN, number)
    stage.contribute(ANN, edit("H9", claim="x"))
    words, command = typist.told()
    assert words == f"send {ANN} the reasons for the rejected blocks"
    assert typist.paste(command).code == 0
    inbox = typist.shell("mail", "inbox", "--as", ANN, "--json").json
    assert "Validation" in str([each["subject"] for each in inbox["messages"]])
    assert typist.told()[0] == "follow it live"  # she has been told
    stage.contribute(ANN, edit("H8", claim="x"))
    assert typist.told()[0] == f"send {ANN} the reasons for the rejected blocks"


def test_one_who_has_contributed_owes_no_ack(typist: Typist, tmp_path: Path) -> None:
    """Her contribution confirms receipt (R24), and the status shows it; a critique still waits."""
    stage = Stage(tmp_path)
    [asked] = stage.kickoff(ANN)
    assert typist.told()[0] == f"remind {ANN}"
    criticism = stage.send(BEA, ANN, "CRITIQUE: H1", "## Target\nH1\n\n## Critique\nNo\n").id
    number = stage.contribute(ANN, add("Gradient"))
    status = typist.shell("session", "status", "--json", THREAD).json
    assert [each["message_id"] for each in status["pending"]] == [criticism]
    assert status["settled"] == [
        {"agent": ANN, "message_id": asked, "type": "KICKOFF", "by": number, "how": "contributed"}
    ]
    shown = typist.shell("session", "status", THREAD).out
    assert f"KICKOFF {asked} by a delta ({ANN}, message {number})" in shown
    stage.compile()
    assert typist.told()[0] == "start round 2"


def test_an_agent_reads_of_her_own_turn(typist: Typist, tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    [number] = stage.kickoff(ANN)
    stage.at = datetime.now(UTC) - timedelta(minutes=1)
    words, command = typist.told(THREAD, "--as", ANN)
    assert (
        words
        == f"read the KICKOFF from Operator with `brenner mail show {number}`, then acknowledge it"
    )
    assert typist.paste(command).code == 0
    words, command = typist.told(THREAD, "--as", ANN)
    assert words == "write your delta, then `brenner mail send message.md`"
    program = f'brenner() {{ {shlex.quote(sys.executable)} -m brenner "$@"; }}'
    assert run(["sh", "-c", f"{program}; {command}"], tmp_path, {}).code == 0
    written = (tmp_path / "message.md").read_text("utf-8")
    assert written.startswith(f"Thread: {THREAD}\nFrom: {ANN}\nTo: Operator\n")


def test_an_agent_corrects_what_was_refused(typist: Typist, tmp_path: Path) -> None:
    """First she says that she has got the newest kickoff."""
    stage = Stage(tmp_path)
    stage.kickoff(ANN)
    number = stage.contribute(ANN, add("Gradient"), edit("H9", claim="x"), edit("H8", claim="x"))
    stage.compile()
    [second] = stage.kickoff(ANN, title="Round 2")
    words, command = typist.told(THREAD, "--as", ANN)
    assert (
        words
        == f"read the KICKOFF from Operator with `brenner mail show {second}`, then acknowledge it"
    )
    assert typist.paste(command).code == 0
    words, command = typist.told(THREAD, "--as", ANN)
    why = "INVALID_TARGET: the target does not exist"
    assert words == (
        f"correct block 2 of message {number} ({why}; `brenner mail show {number}`) and 1 more, "
        "then `brenner mail send message.md`"
    )
    assert command.startswith(f"brenner new DELTA --as {ANN} --to Operator --thread {THREAD}")
    assert typist.paste(f"brenner session dismiss {THREAD} {number}").code == 0
    assert typist.told(THREAD, "--as", ANN)[0].startswith("write your delta")


def test_a_version_that_does_not_rebuild(typist: Typist, tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.kickoff(ANN)
    stage.contribute(ANN, add("Gradient"))
    stage.compile()
    stage.contribute(ANN, add("Clock"))
    compiled = stage.mailbox.message(3).message
    body = compiled.body.replace('"version":1', '"version":2').replace("v1", "v2")
    stage.send("Operator", ANN, "COMPILED: v2 forged", body)
    words, command = typist.told()
    assert words == "find out why compiling fails"
    done = typist.paste(command)
    assert done.code == 1
    assert "v2" in done.out


def test_a_conversation_is_read(typist: Typist, tmp_path: Path) -> None:
    Stage(tmp_path, HYPHEN).send(ANN, "Operator", "INFO: Hello", "There it is.\n")
    words, command = typist.told(HYPHEN)
    assert words == "read it"
    assert "There it is." in typist.paste(command).out
