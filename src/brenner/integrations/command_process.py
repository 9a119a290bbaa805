"""Run a command of the operator: pass its output on while it runs, and end all that it leaves.

Nothing here interprets an exit code.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import threading
from contextlib import contextmanager, suppress
from enum import StrEnum
from time import monotonic
from typing import TYPE_CHECKING

from brenner.integrations.agent_process import TURN, end_processes, signal_group
from brenner.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from types import FrameType

_POLL_SECONDS = 0.1
_CHUNK_BYTES = 64 * 1024
_TERMINATIONS = (signal.SIGTERM, signal.SIGHUP)


class Ending(StrEnum):
    """How a command ended: by itself, or because we stopped it."""

    EXITED = "exited"
    TIMEOUT = "timeout"
    INTERRUPTED = "interrupted"
    OUTPUT_LIMIT = "output_limit"


class CommandLimits(NamedTuple):
    """Limits of a command. `grace_seconds` is the time to react to each signal."""

    seconds: float
    output_bytes: int = 256 * 1024 * 1024
    grace_seconds: float = 5.0


class CommandEnd(NamedTuple):
    """How a command ended. The code is None if a signal ended it, and the signal if none did."""

    ending: Ending
    exit_code: int | None
    signal: int | None


def run_command(
    words: Sequence[str],
    folder: Path,
    limits: CommandLimits,
    mark: str,
    on_output: Callable[[bytes, bool], None],
) -> CommandEnd:
    """Run a command without a shell and without input, until none of its processes is left.

    `on_output` gets each piece of output, and whether it is from standard error. `mark` identifies
    the command's processes, also those that leave its process group. Ctrl-C, SIGTERM and SIGHUP
    stop the command. Raise OSError or ValueError if it cannot be run.
    """
    outer = os.environ.get(TURN)  # a turn of `session run` also ends what we start
    mark = f"{outer}/{mark}" if outer else mark
    with _terminations_as_interrupts():
        process = subprocess.Popen(  # noqa: S603
            list(words),
            bufsize=0,
            cwd=folder,
            env={**os.environ, TURN: mark},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        command = _Command(process, limits, on_output)
        try:
            return command.run(mark)
        finally:  # also if a callback fails
            end_processes(process, mark)
            command.close()


class _Command:
    """A running command, and how much output it has written."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        limits: CommandLimits,
        on_output: Callable[[bytes, bool], None],
    ) -> None:
        self._process, self._limits, self._on_output = process, limits, on_output
        self._selector = selectors.DefaultSelector()
        for pipe, is_error in ((process.stdout, False), (process.stderr, True)):
            if pipe:
                self._selector.register(pipe, selectors.EVENT_READ, is_error)
        self._received = 0

    def run(self, mark: str) -> CommandEnd:
        try:
            ending = self._follow()
            if ending is not Ending.EXITED:
                self._stop((signal.SIGTERM, signal.SIGKILL))
        except KeyboardInterrupt:
            ending = Ending.INTERRUPTED
            self._interrupt()
        end_processes(self._process, mark)  # a process that is left could write for ever
        end = monotonic() + self._limits.grace_seconds
        while self._read(0) and monotonic() < end:
            pass
        code = self._process.returncode
        return CommandEnd(ending, code if code >= 0 else None, -code if code < 0 else None)

    def close(self) -> None:
        self._selector.close()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe:
                pipe.close()

    def _follow(self) -> Ending:
        """Pass the output on until the command has exited or reached a limit."""
        end = monotonic() + self._limits.seconds
        while self._process.poll() is None:
            if monotonic() >= end:
                return Ending.TIMEOUT
            if self._received > self._limits.output_bytes:
                return Ending.OUTPUT_LIMIT
            self._read(min(_POLL_SECONDS, max(0.0, end - monotonic())))
        return Ending.EXITED

    def _interrupt(self) -> None:
        """Pass a Ctrl-C on. A second one kills the command."""
        try:
            self._stop((signal.SIGINT, signal.SIGTERM, signal.SIGKILL))
        except KeyboardInterrupt:
            self._stop((signal.SIGKILL,))

    def _stop(self, numbers: Sequence[signal.Signals]) -> None:
        for number in numbers:
            signal_group(self._process, number)
            end = monotonic() + self._limits.grace_seconds
            while self._process.poll() is None and monotonic() < end:
                self._read(_POLL_SECONDS)
            if self._process.poll() is not None:
                return

    def _read(self, seconds: float) -> bool:
        """Wait for output, and pass it on. Return whether there was any."""
        if not self._selector.get_map():  # the command has closed both, but still runs
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)
            return False
        has_output = False
        for key, _ in self._selector.select(seconds):
            piece = os.read(key.fd, _CHUNK_BYTES)
            if not piece:
                self._selector.unregister(key.fileobj)
                continue
            has_output = True
            self._received += len(piece)
            self._on_output(piece, key.data)
        return has_output


@contextmanager
def _terminations_as_interrupts() -> Iterator[None]:
    """Let SIGTERM and SIGHUP stop the command like Ctrl-C: it would survive us otherwise.

    Only the main thread may set handlers. A signal that is ignored stays ignored.
    """

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [each for each in _TERMINATIONS if signal.getsignal(each) is not signal.SIG_IGN]
    before = {each: signal.signal(each, interrupt) for each in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
