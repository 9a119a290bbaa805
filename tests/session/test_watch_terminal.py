"""`session watch` in a terminal and in a pipe: what is drawn goes again; nothing else changes."""

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from brenner.services.versions import verify
from brenner.services.workspace import Workspace
from session.thread_writer import acknowledge, contribute, seat, write
from session.watch_process import clean_environment
from session.workspaces import ANN, BEA, KICKOFF, THREAD, add

_PATIENCE = 60.0
_ERASE = "\r\x1b[J"
_CONTROL_C = b"\x03"
OPERATOR = "Operator"
_WATCH = (sys.executable, "-m", "brenner", "session", "watch")
# The terminal becomes the one whose Ctrl-C the program gets
_SIT_DOWN = (
    "import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execv(sys.argv[1], sys.argv[1:])"
)


class Terminal:
    """A terminal in which a watch runs; everything that was written there."""

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        width: int = 80,
        command: tuple[str, ...] = _WATCH,
        **environment: str,
    ) -> None:
        self.leader, follower = pty.openpty()
        size = struct.pack("HHHH", 40, width, 0, 0)
        fcntl.ioctl(follower, termios.TIOCSWINSZ, size)
        self.before: list[Any] = termios.tcgetattr(self.leader)
        self.process = subprocess.Popen(
            [sys.executable, "-c", _SIT_DOWN, *command, *arguments],
            cwd=folder,
            env=clean_environment(**{"TERM": "xterm"} | environment),
            stdin=follower,
            stdout=follower,
            stderr=follower,
        )
        self._follower = follower
        self._raw = b""
        self._changed = threading.Condition()
        self._eye = threading.Thread(target=self._look, daemon=True)
        self._eye.start()

    def _look(self) -> None:
        while True:
            try:
                piece = os.read(self.leader, 65536)
            except OSError:
                return
            with self._changed:
                self._raw += piece
                self._changed.notify_all()

    @property
    def text(self) -> str:
        """All that was written."""
        return self._raw.decode(errors="replace").replace("\r\n", "\n")

    def shows(self, words: str) -> None:
        """Wait until that was written."""
        with self._changed:
            found = self._changed.wait_for(lambda: words in self.text, _PATIENCE)
        assert found, self.text

    def type(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self.leader, keys)

    def ended(self) -> int:
        """How the watch ended; nothing more is written after this."""
        code = self.process.wait(_PATIENCE)
        os.write(self._follower, b"END")
        self.shows("END")
        return code

    @property
    def screen(self) -> list[str]:
        """The lines as they stand at the end, without styles; only what erases is obeyed."""
        rows = [""]
        for line in self.text.split("\n"):
            shown = line.rsplit(_ERASE, 1)[-1] if _ERASE in line else line
            rows.append(shown)
        return rows[1:]

    def close(self) -> None:
        """End it, whatever it does."""
        self.process.kill()
        self.process.wait(_PATIENCE)
        os.close(self._follower)
        self._eye.join(_PATIENCE)
        os.close(self.leader)


@contextmanager
def terminal(folder: Path, *arguments: str, **options: Any) -> Iterator[Terminal]:
    found = Terminal(folder, *arguments, **options)
    try:
        yield found
    finally:
        found.close()


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with seat(tmp_path) as found:
        write(found, OPERATOR, (ANN, BEA), "KICKOFF: Cell fate", KICKOFF)
        yield found


@pytest.mark.parametrize("arguments", [(), (THREAD,)], ids=["all", "one"])
def test_control_c_leaves_the_terminal_as_it_was(
    tmp_path: Path, workspace: Workspace, arguments: tuple[str, ...]
) -> None:
    with terminal(tmp_path, *arguments) as seen:
        seen.shows("Press Ctrl-C to stop.")
        acknowledge(workspace, ANN, 1)
        seen.shows("settles KICKOFF 1")
        contribute(workspace, ANN, add("Gradient"))
        seen.shows("merged into the working artifact")
        seen.shows("awaiting ACKs")
        time.sleep(0.3)  # the last line is drawn after the message
        during = termios.tcgetattr(seen.leader)
        seen.type(_CONTROL_C)
        assert seen.ended() == 0
        assert during == seen.before == termios.tcgetattr(seen.leader)
    assert seen.screen[-2:] == ["Stopped.", "END"]
    for sequence in ("\x1b[?", "\x1b[2J", "\x1b[H", "\x1b7", "\x1b8"):  # modes, screen, cursor
        assert sequence not in seen.text
    assert not any("^C" in row for row in seen.screen)


def test_the_last_line_is_never_left_behind(tmp_path: Path, workspace: Workspace) -> None:
    """What stays is the messages, one after the other."""
    with terminal(tmp_path, THREAD) as seen:
        seen.shows("waiting for ")
        for number in range(3):
            write(workspace, ANN, (OPERATOR,), f"INFO: Note {number}", "# Info\n")
            seen.shows(f"Note {number}")
        seen.process.send_signal(signal.SIGTERM)
        assert seen.ended() == 0
    assert sum("waits for " in row for row in seen.screen) == 0
    notes = [row for row in seen.screen if "INFO:" in row]
    assert ["Note 0" in notes[0], "Note 1" in notes[1], "Note 2" in notes[2]] == [True] * 3


@pytest.mark.thorough
def test_the_line_is_redrawn_only_when_it_changes(tmp_path: Path, workspace: Workspace) -> None:
    """Nothing moves while nothing happens, though looks go on every two seconds."""
    assert workspace
    with terminal(tmp_path, THREAD) as seen:
        seen.shows("waiting for ")
        time.sleep(0.5)
        before = seen.text
        time.sleep(5)
        assert seen.text == before
        seen.type(_CONTROL_C)
        assert seen.ended() == 0


def test_a_line_that_is_wider_than_the_terminal_is_cut(
    tmp_path: Path, workspace: Workspace
) -> None:
    assert workspace
    with terminal(tmp_path, THREAD, width=30, NO_COLOR="1") as seen:
        seen.shows("wait…")
        time.sleep(0.3)
        seen.type(_CONTROL_C)
        assert seen.ended() == 0
    drawn = [each.partition("^C")[0] for each in seen.text.split(_ERASE)]
    lines = [each for each in drawn if each.startswith("Round 1")]
    assert lines == ["Round 1  awaiting ACKs  wait…"]  # one column less than there are


def test_a_dumb_terminal_has_no_line(tmp_path: Path, workspace: Workspace) -> None:
    assert workspace
    with terminal(tmp_path, THREAD, TERM="dumb") as seen:
        seen.shows("Press Ctrl-C to stop.")
        acknowledge(workspace, ANN, 1)
        seen.shows("settles KICKOFF 1")
        seen.type(_CONTROL_C)
        assert seen.ended() == 0
    assert "\x1b" not in seen.text
    assert "waits for " not in seen.text


# Pipes


def test_a_pipe_gets_the_messages_and_nothing_else(tmp_path: Path, workspace: Workspace) -> None:
    with _piped(tmp_path, THREAD) as process:
        assert process.stdout
        assert process.stdout.readline() == f"{THREAD}  Round 1, awaiting ACKs\n"
        acknowledge(workspace, ANN, 1)
        line = ""
        while "ACK: Message 1" not in line:
            line = process.stdout.readline()
        assert line.endswith(f"  {ANN}  ACK: Message 1 of {ANN}\n")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=_PATIENCE)
    assert (process.returncode, err) == (0, "Stopped.\n")
    assert "\x1b" not in out
    assert "\r" not in out


def test_a_reader_who_goes_ends_it(tmp_path: Path, workspace: Workspace) -> None:
    """As `| head -1` does; no mail has to come in for it."""
    assert workspace
    with _piped(tmp_path, THREAD) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline()
        process.stdout.close()
        assert process.wait(_PATIENCE) == 3
        assert process.stderr.read() == ""


@contextmanager
def _piped(
    folder: Path, *arguments: str, command: tuple[str, ...] = _WATCH
) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [*command, *arguments],
        cwd=folder,
        env=clean_environment(PYTHONUNBUFFERED=""),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        try:
            yield process
        finally:
            process.kill()


# In the middle of a compile

# Ctrl-C comes when the compile has begun and nothing is posted; everything else is the program
_INTERRUPTED = """
import os, signal
from brenner.__main__ import main
from brenner.services import compile

def interrupted(*arguments, compile_thread=compile.compile_thread):
    os.kill(os.getpid(), signal.SIGINT)
    return compile_thread(*arguments)

compile.compile_thread = interrupted
main()
"""
_WATCH_INTERRUPTED = (sys.executable, "-c", _INTERRUPTED, "session", "watch")


def test_control_c_in_the_middle_of_a_compile(tmp_path: Path, workspace: Workspace) -> None:
    """What was begun is finished, and who ends the watch is told of the version that is there."""
    contribute(workspace, ANN, add("Gradient"))
    acknowledge(workspace, BEA, 1, "Completed")
    arguments = (THREAD, "--auto-compile")
    with terminal(tmp_path, *arguments, command=_WATCH_INTERRUPTED) as seen:
        assert seen.ended() == 0
    assert "Finishing the compile first. Press Ctrl-C again to abort it." in seen.screen
    assert sum("Published v1" in row for row in seen.screen) == 1
    assert seen.screen[-2:] == ["Stopped.", "END"]
    assert [each.number for each in verify(workspace, THREAD).versions] == [1]
    assert verify(workspace, THREAD).ok


def test_an_interrupted_compile_in_a_pipe(tmp_path: Path, workspace: Workspace) -> None:
    """The stream of events has it as well, before its end."""
    contribute(workspace, ANN, add("Gradient"))
    acknowledge(workspace, BEA, 1, "Completed")
    with _piped(tmp_path, "--auto-compile", "--json", command=_WATCH_INTERRUPTED) as process:
        out, _ = process.communicate(timeout=_PATIENCE)
    told = [json.loads(line) for line in out.splitlines()]
    assert [each["event"] for each in told] == ["watching", "compiled", "stopped"]
    assert (told[1]["status"], told[1]["version"]) == ("published", 1)
    assert (told[2]["reason"], process.returncode) == ("interrupted", 0)
    last = workspace.mailbox.thread(THREAD).messages[-1]
    assert (last.type, last.id) == ("COMPILED", told[1]["message_id"])
