"""Run external programs with a timeout and an output limit; the clients of ntm and bd.

The programs are optional. Any failure of one (a timeout, too much output, a file that cannot be
run) becomes `RunResult.problem`, never an exception.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING

from brenner.named_tuple import NamedTuple
from brenner.protocol.thread_ids import cross_reference, is_valid_thread_id

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

NTM, TMUX, BD = "ntm", "tmux", "bd"
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
        if len(first) > _MOST_REASON_CHARACTERS:
            return f"{first[: _MOST_REASON_CHARACTERS - 1]}…"
        return first or f"no output, exit code {self.code}"


def find_program(name: str) -> str | None:
    """Return the absolute path of a program on PATH, or None."""
    # Not `shutil.which`: `shutil` takes long to import. Not `pathlib`: a folder may be gone.
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep) if os.sep not in name else [""]
    for folder in folders:
        path = os.path.join(folder, name)  # noqa: PTH118
        if os.path.isfile(path) and os.access(path, os.X_OK):  # noqa: PTH113
            return os.path.abspath(path)  # noqa: PTH100
    return None


def run_program(
    command: Sequence[str],
    seconds: float,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> RunResult:
    """Run a program; `environment` is added to ours.

    Processes that it leaves in the background, such as servers, go on and block nothing.
    """
    import subprocess

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


def _collect_output(process: subprocess.Popen[bytes], seconds: float) -> RunResult:
    import selectors
    from subprocess import TimeoutExpired

    pipes = [pipe for pipe in (process.stdout, process.stderr) if pipe]
    outputs = {pipe.fileno(): bytearray() for pipe in pipes}
    end, problem = monotonic() + seconds, ""
    with selectors.DefaultSelector() as selector:
        for fd in outputs:
            os.set_blocking(fd, False)
            selector.register(fd, selectors.EVENT_READ)
        while not problem:
            has_ended = process.poll() is not None  # before reading, so that no output is lost
            if not has_ended and not selector.get_map():
                with suppress(TimeoutExpired):
                    process.wait(_POLL_SECONDS)
            # Without pipes to wait for, `select` would sleep.
            ready = selector.select(0 if has_ended else _POLL_SECONDS) if selector.get_map() else []
            for key, _ in ready:
                piece = os.read(key.fd, _CHUNK_BYTES)
                outputs[key.fd] += piece
                if not piece:
                    selector.unregister(key.fd)
            if has_ended and not ready:
                break
            if any(len(output) > MOST_OUTPUT_BYTES for output in outputs.values()):
                problem = f"its output has more than {MOST_OUTPUT_BYTES:,} bytes"
            elif monotonic() > end:
                problem = f"it did not end within {seconds:g} seconds"
    if problem:
        _kill(process)
    out, err = (output.decode("utf-8", "replace") for output in outputs.values())
    return RunResult(process.wait(), out, err, problem)


def _kill(process: subprocess.Popen[bytes]) -> None:
    from signal import SIGKILL

    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, SIGKILL)
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


def _bd_problem(result: RunResult) -> str:
    """Return why bd failed, from its output, which may be JSON."""
    with suppress(ValueError, RecursionError):
        answer = None if result.problem else json.loads(result.out)
        error = answer.get("error") if isinstance(answer, Mapping) else None
        if isinstance(error, str):
            return result._replace(out="", err=error).reason
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


def find_bead(thread_id: str, folder: Path | None = None) -> Bead | None:
    """Return the bead of an engineering thread, or None without a bead or without bd.

    bd searches for its data from `folder` upwards, by default from the current folder.
    """
    program = find_program(BD)
    if not program or not is_valid_thread_id(thread_id) or not cross_reference(thread_id).bead:
        return None
    is_like_option = thread_id.startswith("-")
    arguments = ["--json", "--", thread_id] if is_like_option else [thread_id, "--json"]
    result = run_program([program, "show", *arguments], BD_SECONDS, folder)
    if not result.succeeded:
        return Bead(thread_id, problem=_bd_problem(result))
    try:
        return _parse_bead(json.loads(result.out), thread_id)
    except (ValueError, RecursionError):
        return Bead(thread_id, problem="its answer is not JSON")
