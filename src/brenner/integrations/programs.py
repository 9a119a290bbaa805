"""Run external programs with a timeout and an output limit; the clients of ntm and bd.

The programs are optional. Any failure of one (a timeout, too much output, a file that cannot be
run) becomes `RunResult.problem`, never an exception.
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

from brenner.protocol.thread_ids import cross_reference, is_valid_thread_id

MOST_OUTPUT_BYTES = 256 * 1024
_CHUNK_BYTES = 64 * 1024
_POLL_SECONDS = 0.05  # wait for output before checking whether the program has ended
_MOST_REASON_CHARACTERS = 200


class RunResult(NamedTuple):
    """The result of a program. `problem` says why it was stopped or could not run; else empty."""

    code: int
    out: str
    err: str
    problem: str = ""

    @property
    def succeeded(self) -> bool:
        """Whether the exit code is 0 and there was no problem."""
        return self.code == 0 and not self.problem

    @property
    def reason(self) -> str:
        """The reason of a failure, on one line."""
        if self.problem:
            return self.problem
        lines = f"{self.err}\n{self.out}".split("\n")
        first = next(filter(None, (line.strip() for line in lines)), "")
        cut = (
            first
            if len(first) <= _MOST_REASON_CHARACTERS
            else f"{first[: _MOST_REASON_CHARACTERS - 1]}…"
        )
        return cut or f"it said nothing, exit code {self.code}"


def find_program(name: str) -> str | None:
    """Return the absolute path of a program on PATH, or None."""
    found = shutil.which(name)
    return os.path.abspath(found) if found else None  # noqa: PTH100  (a folder may be gone)


def run_program(
    command: Sequence[str],
    seconds: float,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> RunResult:
    """Run a program; `environment` is added to ours.

    Processes that it leaves in the background, such as servers, go on and block nothing.
    """
    try:
        process = subprocess.Popen(  # noqa: S603
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        return RunResult(-1, "", "", f"it cannot be run: {reason.lower()}")
    with process:
        try:
            return _collect_output(process, seconds)
        except BaseException:  # an interrupt ends the program, too
            _kill(process)
            raise


class _Output:
    """The output of a process on stdout and stderr, up to a limit."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._selector = selectors.DefaultSelector()
        self._outputs: dict[IO[bytes], bytearray] = {}
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
                self._selector.register(pipe, selectors.EVENT_READ, pipe)
                self._outputs[pipe] = bytearray()

    @property
    def is_too_long(self) -> bool:
        return any(len(output) > MOST_OUTPUT_BYTES for output in self._outputs.values())

    @property
    def texts(self) -> tuple[str, str]:
        out, err = (output.decode("utf-8", "replace") for output in self._outputs.values())
        return out, err

    def take(self, seconds: float) -> bool:
        """Read available output within that time, and return whether there was any."""
        if not self._selector.get_map():
            return False
        ready = self._selector.select(seconds)
        for key, _ in ready:
            piece = os.read(key.fd, _CHUNK_BYTES)
            if piece:
                self._outputs[key.data].extend(piece)
            else:
                self._selector.unregister(key.data)
        return bool(ready)

    @property
    def is_closed(self) -> bool:
        return not self._selector.get_map()

    def close(self) -> None:
        self._selector.close()


def _collect_output(process: subprocess.Popen[bytes], seconds: float) -> RunResult:
    output = _Output(process)
    end = monotonic() + seconds
    problem = ""
    try:
        while process.poll() is None and not problem:
            if output.is_closed:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_POLL_SECONDS)
            else:
                output.take(_POLL_SECONDS)
            problem = _limit_problem(output, end, seconds)
        while not problem and output.take(0):
            problem = _limit_problem(output, end, seconds)
    finally:
        output.close()
    if problem:
        _kill(process)
    return RunResult(process.wait(), *output.texts, problem)


def _limit_problem(output: _Output, end: float, seconds: float) -> str:
    if output.is_too_long:
        return f"it said more than {MOST_OUTPUT_BYTES:,} bytes"
    return f"it had not ended after {seconds:g} seconds" if monotonic() > end else ""


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


# ntm, the named tmux manager. It takes the thread ID unchanged, after `--` if that begins with a
# hyphen.


NTM_FLAGS = {"claude-code": "--cc", "codex-cli": "--cod", "gemini-cli": "--gmi"}
_SPAWN_SECONDS = 60
_SEND_SECONDS = 30


class Ntm(NamedTuple):
    """The program ntm, its working folder, and its additional environment."""

    program: str
    folder: Path
    environment: Mapping[str, str]

    def spawn(self, session: str, programs: Sequence[str]) -> RunResult:
        """Open the session with these programs; a program may occur several times."""
        counts = [
            f"{flag}={programs.count(name)}" for name, flag in NTM_FLAGS.items() if name in programs
        ]
        return self._run(_SPAWN_SECONDS, "spawn", session, counts)

    def send(self, session: str, text: str) -> RunResult:
        """Send a text to all panes of the session."""
        return self._run(_SEND_SECONDS, "send", session, ["--all"], text)

    def _run(
        self, seconds: float, verb: str, session: str, flags: list[str], *text: str
    ) -> RunResult:
        if session.startswith("-"):
            arguments = [*flags, "--", session, *text]
        else:
            arguments = [session, *flags, *text]
        return run_program([self.program, verb, *arguments], seconds, self.folder, self.environment)


# bd: the bead of an engineering thread has the thread's ID (Cross-Reference Contract).


BD_SECONDS = 3
_MOST_FIELD_CHARACTERS = 1_000  # of each text


class Bead(NamedTuple):
    """A bead as reported by bd; its texts are untrusted.

    `problem` says why bd reported nothing.
    """

    id: str
    title: str | None = None
    status: str | None = None
    priority: int | str | None = None
    assignee: str | None = None
    problem: str = ""


def show_bead(program: str, bead: str, folder: Path | None = None) -> Bead:
    """Ask bd for a bead. An ID that begins with a hyphen is not taken for an option."""
    arguments = ["--json", "--", bead] if bead.startswith("-") else [bead, "--json"]
    result = run_program([program, "show", *arguments], BD_SECONDS, folder)
    if not result.succeeded:
        return Bead(bead, problem=_bd_problem(result))
    try:
        return _parse_bead(json.loads(result.out), bead)
    except (ValueError, RecursionError):
        return Bead(bead, problem="its answer is no JSON")


def _bd_problem(result: RunResult) -> str:
    """Return why bd failed, from its output, which may be JSON."""
    if not result.problem:
        try:
            answer = json.loads(result.out)
        except (ValueError, RecursionError):
            return result.reason
        error = answer.get("error") if isinstance(answer, Mapping) else None
        return (
            result._replace(out="", err=error).reason if isinstance(error, str) else result.reason
        )
    return result.reason


def _parse_bead(answer: object, bead: str) -> Bead:
    """Parse an object, or a list with one object."""
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
        _nonempty_text(answer.get("title")),
        _nonempty_text(answer.get("status")),
        priority if is_number else _nonempty_text(priority),
        _nonempty_text(answer.get("assignee")),
    )


def _nonempty_text(value: object) -> str | None:
    """Return a text limited in length, or None if it is empty or not a text."""
    return value.strip()[:_MOST_FIELD_CHARACTERS] or None if isinstance(value, str) else None


NTM, TMUX, BD = "ntm", "tmux", "bd"


def find_bead(thread_id: str, folder: Path | None = None) -> Bead | None:
    """Return the bead of an engineering thread, or None without a bead or without bd.

    bd searches for its data from `folder` upwards, by default from the current folder.
    """
    program = find_program(BD)
    if (
        program is None
        or not is_valid_thread_id(thread_id)
        or cross_reference(thread_id).bead is None
    ):
        return None
    return show_bead(program, thread_id, folder)
