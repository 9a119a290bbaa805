"""Running the programs beside ours: found on PATH, with a limit to their time and their words.

They are optional, and none of them is ours. Whatever one does (it hangs, it floods us, it is no
program at all) ends as words in `Ran.problem`, never as an exception.
"""

import json
import os
import selectors
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import IO, NamedTuple

from brenner.protocol.thread_ids import cross_reference, is_valid

MOST_BYTES = 256 * 1024
_PIECE = 64 * 1024
_TICK = 0.05  # how long to wait for words before looking whether the program has ended
_MOST_REASON = 200


class Ran(NamedTuple):
    """How a program ended. `problem` is why it could not be heard out, in words; else empty."""

    code: int
    out: str
    err: str
    problem: str = ""

    @property
    def is_fine(self) -> bool:
        """Whether it did what it was asked to."""
        return self.code == 0 and not self.problem

    @property
    def reason(self) -> str:
        """Why it did not, on one line."""
        if self.problem:
            return self.problem
        said = f"{self.err}\n{self.out}".split("\n")
        first = next(filter(None, (line.strip() for line in said)), "")
        cut = first if len(first) <= _MOST_REASON else f"{first[: _MOST_REASON - 1]}…"
        return cut or f"it said nothing, exit code {self.code}"


def find(name: str) -> str | None:
    """Where a program is; the path holds also for who runs it in another folder."""
    found = shutil.which(name)
    return os.path.abspath(found) if found else None  # noqa: PTH100  (a folder may be gone)


def run(
    command: Sequence[str],
    seconds: float,
    folder: Path | None = None,
    more: Mapping[str, str] | None = None,
) -> Ran:
    """Run a program; `more` is added to its environment.

    What it leaves behind in the background, as servers do, goes on and holds nobody up.
    """
    try:
        process = subprocess.Popen(  # noqa: S603
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(more or {})},
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        return Ran(-1, "", "", f"it cannot be run: {reason.lower()}")
    with process:
        try:
            return _heard_out(process, seconds)
        except BaseException:  # somebody interrupts us, and means all of it
            _kill(process)
            raise


class _Words:
    """What a process says on its two outputs, as far as there is room for it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._selector = selectors.DefaultSelector()
        self._said: dict[IO[bytes], bytearray] = {}
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
                self._selector.register(pipe, selectors.EVENT_READ, pipe)
                self._said[pipe] = bytearray()

    @property
    def are_too_many(self) -> bool:
        return any(len(said) > MOST_BYTES for said in self._said.values())

    @property
    def texts(self) -> tuple[str, str]:
        out, err = (said.decode("utf-8", "replace") for said in self._said.values())
        return out, err

    def take(self, seconds: float) -> bool:
        """Take what comes within that time; whether there was anything."""
        if not self._selector.get_map():
            return False
        ready = self._selector.select(seconds)
        for key, _ in ready:
            piece = os.read(key.fd, _PIECE)
            if piece:
                self._said[key.data].extend(piece)
            else:
                self._selector.unregister(key.data)
        return bool(ready)

    @property
    def are_over(self) -> bool:
        return not self._selector.get_map()

    def close(self) -> None:
        self._selector.close()


def _heard_out(process: subprocess.Popen[bytes], seconds: float) -> Ran:
    words = _Words(process)
    end = monotonic() + seconds
    problem = ""
    try:
        while process.poll() is None and not problem:
            if words.are_over:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_TICK)
            else:
                words.take(_TICK)
            problem = _excess(words, end, seconds)
        while not problem and words.take(0):
            problem = _excess(words, end, seconds)
    finally:
        words.close()
    if problem:
        _kill(process)
    return Ran(process.wait(), *words.texts, problem)


def _excess(words: _Words, end: float, seconds: float) -> str:
    if words.are_too_many:
        return f"it said more than {MOST_BYTES:,} bytes"
    return f"it had not ended after {seconds:g} seconds" if monotonic() > end else ""


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


# ntm, the named tmux manager: it opens a session with so many of each program, and speaks to all.
#
# It takes the thread ID as it is. One that begins with a hyphen stands behind `--`.


FLAGS = {"claude-code": "--cc", "codex-cli": "--cod", "gemini-cli": "--gmi"}
_SPAWN_SECONDS = 60
_SEND_SECONDS = 30


class Ntm(NamedTuple):
    """The program, the folder to run it in, and what to add to its environment."""

    program: str
    folder: Path
    environment: Mapping[str, str]

    def spawn(self, session: str, programs: Sequence[str]) -> Ran:
        """Open the session with these programs, of which each may be there several times."""
        counts = [
            f"{flag}={programs.count(name)}" for name, flag in FLAGS.items() if name in programs
        ]
        return self._run(_SPAWN_SECONDS, "spawn", session, counts)

    def send(self, session: str, text: str) -> Ran:
        """Say something to all panes of the session."""
        return self._run(_SEND_SECONDS, "send", session, ["--all"], text)

    def _run(self, seconds: float, verb: str, session: str, flags: list[str], *text: str) -> Ran:
        if session.startswith("-"):
            said = [*flags, "--", session, *text]
        else:
            said = [session, *flags, *text]
        return run([self.program, verb, *said], seconds, self.folder, self.environment)


# bd: the bead of an engineering thread, which has the thread's ID (Cross-Reference Contract).


SECONDS = 3
_MOST = 1_000  # characters of a field; who wants more asks bd


class Bead(NamedTuple):
    """What bd tells of a bead, as far as it tells it; it is other people's text.

    `problem` says, in words, why bd has told nothing.
    """

    id: str
    title: str | None = None
    status: str | None = None
    priority: int | str | None = None
    assignee: str | None = None
    problem: str = ""


def show(program: str, bead: str, folder: Path | None = None) -> Bead:
    """Ask bd for a bead; one whose ID begins with a hyphen is no option."""
    asked = ["--json", "--", bead] if bead.startswith("-") else [bead, "--json"]
    ran = run([program, "show", *asked], SECONDS, folder)
    if not ran.is_fine:
        return Bead(bead, problem=_refusal(ran))
    try:
        return _read(json.loads(ran.out), bead)
    except (ValueError, RecursionError):
        return Bead(bead, problem="its answer is no JSON")


def _refusal(ran: Ran) -> str:
    """Why bd told nothing: its own words, which may be JSON."""
    if not ran.problem:
        try:
            said = json.loads(ran.out)
        except (ValueError, RecursionError):
            return ran.reason
        error = said.get("error") if isinstance(said, Mapping) else None
        return ran._replace(out="", err=error).reason if isinstance(error, str) else ran.reason
    return ran.reason


def _read(answer: object, bead: str) -> Bead:
    """One object, or a list with one."""
    if isinstance(answer, list) and len(answer) == 1:
        answer = answer[0]
    if not isinstance(answer, Mapping):
        return Bead(bead, problem="its answer is not one bead")
    named = answer.get("id")
    if isinstance(named, str) and named != bead:
        return Bead(bead, problem="its answer is about another bead")
    priority = answer.get("priority")
    is_number = isinstance(priority, int) and not isinstance(priority, bool)
    return Bead(
        bead,
        _text(answer.get("title")),
        _text(answer.get("status")),
        priority if is_number else _text(priority),
        _text(answer.get("assignee")),
    )


def _text(value: object) -> str | None:
    """A text with something in it."""
    return value.strip()[:_MOST] or None if isinstance(value, str) else None


NTM, TMUX, BD = "ntm", "tmux", "bd"


def bead_of(thread_id: str, folder: Path | None = None) -> Bead | None:
    """The bead of an engineering thread; None where there is none, or no bd.

    bd looks for its beads from the folder upwards, the current one unless another is given.
    """
    program = find(BD)
    if program is None or not is_valid(thread_id) or cross_reference(thread_id).bead is None:
        return None
    return show(program, thread_id, folder)
