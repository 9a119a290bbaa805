"""Run an agent's program for one turn, and end every process that it leaves.

The process gets a session and process group of its own, so that a Ctrl-C in our terminal does not
reach it. Its environment marks it with the turn: a process that leaves the group still has the
mark. Nothing here knows a program: drivers do.
"""

from __future__ import annotations

import os
import selectors
import subprocess
from collections import Counter, deque
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from signal import SIGINT, SIGKILL, SIGTERM
from time import monotonic, sleep
from typing import TYPE_CHECKING

from brenner.integrations.agent_driver import (
    AgentEvent,
    EventKind,
    Fault,
    FaultKind,
    TurnReport,
    Usage,
)
from brenner.integrations.drivers.faults import error_line, fault_event, seconds_to_wait
from brenner.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from signal import Signals

    from brenner.integrations.agent_driver import Dialogue, Driver, Launch, Received, TurnRequest

TURN = "BRENNER_TURN"  # in the environment of every process of a turn
_PRIVATE_PREFIXES = ("BRENNER_", "AGENT_")  # the operator's own variables
_POLL_SECONDS = 0.1
_CHUNK_BYTES = 64 * 1024
_MOST_LINE_BYTES = 16 * 1024 * 1024
_MOST_OUTPUT_BYTES = 256 * 1024 * 1024
_MOST_ERROR_BYTES = 16 * 1024  # the end of standard error
_SIGNALS = (SIGINT, SIGTERM, SIGKILL)
_PROGRESS = frozenset({EventKind.TOOL, EventKind.TEXT})  # the program has recovered


class TurnLimits(NamedTuple):
    """Limits of one turn.

    `retry_seconds` is how long a program may try to recover without progress. `exit_seconds` is
    the time to exit after the end of the turn, `grace_seconds` the time to react to each signal.
    """

    seconds: float
    tool_calls: int = 200
    same_calls: int = 8  # of one tool with the same arguments
    retry_seconds: float = 300.0
    exit_seconds: float = 2.0
    grace_seconds: float = 5.0


class StopSwitch:
    """A request to stop turns, which any thread may make."""

    def __init__(self) -> None:
        self.reason = ""
        self.is_immediate = False

    def stop(self, reason: str, *, at_once: bool = False) -> None:
        """Ask the programs to end their turns, or kill them at once."""
        self.reason = self.reason or reason
        self.is_immediate = self.is_immediate or at_once


def run_turn(
    driver: Driver,
    request: TurnRequest,
    *,
    limits: TurnLimits,
    on_event: Callable[[AgentEvent], None],
    stop: StopSwitch,
) -> TurnReport:
    """Run the program of an agent for one turn; return when none of its processes is left.

    `on_event` gets each event, and each line of standard output. It is called in this thread. If
    the program does not have the conversation any more, a new one begins.
    """
    start = monotonic()
    report = _run_once(driver, request, limits, on_event, stop)
    if request.conversation and report.fault and report.fault.has_lost_conversation:
        new = request._replace(conversation=None, used_before=Usage())
        report = _run_once(driver, new, limits, on_event, stop)
    return report._replace(seconds=monotonic() - start)


def _run_once(
    driver: Driver,
    request: TurnRequest,
    limits: TurnLimits,
    on_event: Callable[[AgentEvent], None],
    stop: StopSwitch,
) -> TurnReport:
    launch = driver.prepare(request)
    process = launch if isinstance(launch, Fault) else _start(launch, request.turn)
    if isinstance(process, Fault):
        on_event(fault_event(process))
        return TurnReport(process)
    turn = _Turn(process, driver.dialogue(request), limits, stop, on_event)
    try:
        turn.run(request.turn)
    finally:  # also if a callback fails
        end_processes(process, request.turn)
    return turn.report()


def _start(launch: Launch, turn: str) -> subprocess.Popen[bytes] | Fault:
    ours = {
        name: text for name, text in os.environ.items() if not name.startswith(_PRIVATE_PREFIXES)
    }
    merged = {**ours, **launch.environment, TURN: turn}
    environment = {name: text for name, text in merged.items() if text is not None}
    try:
        return subprocess.Popen(  # noqa: S603
            launch.command,
            bufsize=0,
            cwd=launch.folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or type(error).__name__).lower()
        return Fault(FaultKind.NOT_INSTALLED, f"`{launch.command[0]}` cannot be run: {reason}")


class _Turn:
    """A running turn: what was read so far, and which signal comes next."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        dialogue: Dialogue,
        limits: TurnLimits,
        stop: StopSwitch,
        on_event: Callable[[AgentEvent], None],
    ) -> None:
        self._process, self._dialogue, self._limits = process, dialogue, limits
        self._stop_switch, self._on_event = stop, on_event
        self._pipes = _Pipes(process)
        self._fault: Fault | None = None
        self._transient: Fault | None = None  # the program tries again
        self._retry_end = 0.0
        self._end = monotonic() + limits.seconds
        self._has_ended = False
        self._signals: deque[Signals] = deque()
        self._next_signal = 0.0
        self._calls: Counter[tuple[str, str]] = Counter()
        self._report = TurnReport(None)

    def run(self, turn: str) -> None:
        """Feed the dialogue until the program has exited and its output is read."""
        with self._pipes:
            self._answer(self._dialogue.begin())
            while self._process.poll() is None:
                self._read(_POLL_SECONDS)
                self._enforce_limits()
                self._send_signals()
            # A process that is left could write for ever.
            end_processes(self._process, turn)
            end = monotonic() + self._limits.grace_seconds
            while self._read(0) and monotonic() < end:
                pass
            if self._pipes.partial:
                self._receive(self._pipes.take_partial())
        errors, code = self._pipes.errors.decode("utf-8", "replace"), self._process.returncode
        for event in self._dialogue.end(code, errors):
            self._see(event)
        if not self._has_ended and not self._fault:
            self._set_fault(self._lasting_fault() or _crash(code, errors))
        self._report = self._report._replace(exit_code=code, errors=errors)

    def report(self) -> TurnReport:
        return self._report._replace(fault=self._fault)

    def _read(self, seconds: float) -> bool:
        """Wait for output, and read it. Return whether there was any."""
        has_output, lines = self._pipes.transfer(seconds)
        for line in lines:
            self._receive(line)
        return has_output

    def _receive(self, line: str) -> None:
        self._on_event(AgentEvent(EventKind.LINE, line))
        self._answer(self._dialogue.receive(line))

    def _answer(self, received: Received) -> None:
        self._pipes.send(received.reply, closes=received.closes_input)
        for event in received.events:
            self._see(event)

    def _see(self, event: AgentEvent) -> None:
        if event.fault:
            self._see_fault(event, event.fault)
            return
        self._on_event(event)
        if event.kind in _PROGRESS:
            self._transient = None
        report = self._report
        match event.kind:
            case EventKind.STARTED:
                self._report = report._replace(conversation=event.text or report.conversation)
            case EventKind.TOOL:
                self._report = report._replace(
                    tool_calls=report.tool_calls + 1,
                    tool_errors=report.tool_errors + event.is_error,
                )
                self._guard_loop(event)
            case EventKind.TEXT:
                self._report = report._replace(text=event.text)
            case EventKind.USAGE:
                self._report = report._replace(usage=event.usage or Usage())
            case EventKind.ENDED:
                self._end_turn(is_error=event.is_error)
            case _:
                pass

    def _see_fault(self, event: AgentEvent, fault: Fault) -> None:
        if self._fault or (self._has_ended and not fault.is_final):
            return  # a consequence, such as the program's report that it was stopped
        fault = _with_time(fault)
        self._on_event(event._replace(fault=fault))
        if self._transient is None:
            self._retry_end = monotonic() + self._limits.retry_seconds
        self._transient = fault
        # Codex waits without end for a network that is away.
        if fault.is_final or monotonic() > self._retry_end:
            self._fault = fault._replace(is_final=True)

    def _end_turn(self, *, is_error: bool) -> None:
        """Leave the program some time to exit by itself."""
        self._has_ended = True
        self._end = monotonic() + self._limits.exit_seconds
        if is_error:
            self._fault = self._fault or self._lasting_fault()

    def _lasting_fault(self) -> Fault | None:
        """Return the fault that the program tried to recover from."""
        return self._transient._replace(is_final=True) if self._transient else None

    def _guard_loop(self, event: AgentEvent) -> None:
        call = (event.text, event.arguments)
        self._calls[call] += 1
        limits = self._limits
        if event.arguments and self._calls[call] >= limits.same_calls:
            words = f"it called {event.text} {limits.same_calls} times with the same arguments"
        elif self._calls.total() > limits.tool_calls:
            words = f"it called tools more than {limits.tool_calls} times"
        else:
            return
        self._set_fault(Fault(FaultKind.LOOP, words))

    def _set_fault(self, fault: Fault) -> None:
        """Set a fault that the program did not report."""
        if not self._fault:
            self._fault = fault
            self._on_event(fault_event(fault))

    def _enforce_limits(self) -> None:
        is_late = monotonic() > self._end
        if self._has_ended:
            if is_late:
                self._begin_stop()
            return
        if self._stop_switch.reason:
            self._set_fault(Fault(FaultKind.STOPPED, self._stop_switch.reason))
        elif is_late:
            self._set_fault(self._lasting_fault() or _timeout(self._limits.seconds))
        elif self._pipes.excess:
            self._set_fault(Fault(FaultKind.LOOP, self._pipes.excess))
        if self._fault:
            self._begin_stop()

    def _begin_stop(self) -> None:
        if not self._next_signal:
            # Nothing is lost any more once the turn has ended.
            self._signals.extend(_SIGNALS[1:] if self._has_ended else _SIGNALS)
            self._next_signal = monotonic()

    def _send_signals(self) -> None:
        if self._stop_switch.is_immediate:
            signal_group(self._process, SIGKILL)
        elif self._signals and monotonic() >= self._next_signal:
            signal_group(self._process, self._signals.popleft())
            self._next_signal = monotonic() + self._limits.grace_seconds


def _with_time(fault: Fault) -> Fault:
    """Return a fault with the seconds to wait, if the program or service names a time."""
    now = datetime.now(UTC).astimezone()  # programs print times of the local time zone
    after = fault.retry_after
    if after is None and fault.retry_at is not None:
        after = max(0.0, fault.retry_at - now.timestamp())
    if after is None and fault.kind in (FaultKind.RATE_LIMIT, FaultKind.OVERLOADED):
        after = seconds_to_wait(fault.reason, now)
    return fault._replace(retry_after=after)


def _timeout(seconds: float) -> Fault:
    limit = f"{seconds / 60:g} min" if seconds >= 60 else f"{seconds:g} s"  # noqa: PLR2004
    return Fault(FaultKind.TIMEOUT, f"its turn took longer than {limit}")


def _crash(code: int, errors: str) -> Fault:
    how = f"it ended with exit code {code}" if code >= 0 else f"signal {-code} ended it"
    return Fault(FaultKind.CRASH, f"{how}: {error_line(errors) or 'no error message'}")


# The pipes of a process


class _Pipes:
    """The pipes of a process. Reading goes on while it does not read its input."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._input, self._out, self._err = process.stdin, process.stdout, process.stderr
        self._selector = selectors.DefaultSelector()
        self._unsent = bytearray()
        self._closes_input = False
        self.partial = bytearray()  # a line that has no end yet
        self._received = 0
        self.excess = ""  # why its output is too long
        self.errors = bytearray()

    def __enter__(self) -> None:
        for pipe in (self._out, self._err):
            if pipe:
                os.set_blocking(pipe.fileno(), False)
                self._selector.register(pipe, selectors.EVENT_READ)
        if self._input:
            os.set_blocking(self._input.fileno(), False)

    def __exit__(self, *_: object) -> None:
        self._selector.close()
        for pipe in (self._input, self._out, self._err):
            if pipe:
                pipe.close()

    def send(self, text: str, *, closes: bool) -> None:
        """Send a text to the program's standard input; with `closes` it is the last one."""
        if self._input:
            self._unsent += text.encode("utf-8", "surrogatepass")
            self._closes_input = self._closes_input or closes
            self._write()

    def transfer(self, seconds: float) -> tuple[bool, list[str]]:
        """Write and read what is possible. Return whether there was output, and its lines."""
        if not self._selector.get_map():
            sleep(seconds)
            return False, []
        has_output, lines = False, list[str]()
        for key, _ in self._selector.select(seconds):
            if key.fileobj is self._input:
                self._write()
                continue
            piece = os.read(key.fd, _CHUNK_BYTES)
            has_output = has_output or bool(piece)
            if not piece:
                self._selector.unregister(key.fileobj)
            elif key.fileobj is self._err:
                self.errors = (self.errors + piece)[-_MOST_ERROR_BYTES:]
            else:
                lines += self._split(piece)
        return has_output, lines

    def take_partial(self) -> str:
        """Return the last line, which has no end."""
        line, self.partial = self.partial, bytearray()
        return line.decode("utf-8", "replace")

    def _split(self, piece: bytes) -> Iterable[str]:
        self._received += len(piece)
        if self._received > _MOST_OUTPUT_BYTES:
            self.excess = f"its output has more than {_MOST_OUTPUT_BYTES:,} bytes"
        *ends, rest = piece.split(b"\n")
        for end in ends:
            self.partial += end
            yield self.take_partial()
        self.partial += rest
        if len(self.partial) > _MOST_LINE_BYTES:
            self.excess = f"a line of its output has more than {_MOST_LINE_BYTES:,} bytes"
            self.partial.clear()

    def _write(self) -> None:
        """Write what the program takes; wait for it only if it has not read everything."""
        if not self._input:
            return
        with suppress(BlockingIOError):
            try:
                while self._unsent:
                    del self._unsent[: os.write(self._input.fileno(), self._unsent[:_CHUNK_BYTES])]
            except BrokenPipeError:  # it does not want more
                self._unsent.clear()
                self._closes_input = True
        is_waiting = self._input in self._selector.get_map()
        if self._unsent and not is_waiting:
            self._selector.register(self._input, selectors.EVENT_WRITE)
        elif not self._unsent and is_waiting:
            self._selector.unregister(self._input)
        if self._closes_input and not self._unsent:
            self._input.close()
            self._input = None


# The end of processes


def end_processes(process: subprocess.Popen[bytes], turn: str) -> None:
    """End the process, its group, and every process with the turn's mark."""
    signal_group(process, SIGKILL)
    process.wait()
    end_marked(turn)


def signal_group(process: subprocess.Popen[bytes], number: Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):  # macOS: only zombies are left
        os.killpg(process.pid, number)


def end_marked(prefix: str, seconds: float = 1.0) -> int:
    """End all processes of a turn, or of all turns below a prefix such as a run's id.

    Return how many there were. Each gets SIGTERM first, and SIGKILL after some seconds.
    """
    ended: set[int] = set()
    for number in (SIGTERM, SIGKILL):
        end = monotonic() + seconds
        signalled: set[int] = set()
        while (found := _marked(prefix)) and monotonic() < end:
            for pid in found - signalled:  # also those that were started meanwhile
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
            signalled |= found
            sleep(_POLL_SECONDS / 2)
        ended |= signalled
    return len(ended)


def _marked(prefix: str) -> set[int]:
    own = os.getpid()
    return {
        pid
        for pid, turn in _turns()
        if pid != own and (turn == prefix or turn.startswith(f"{prefix}/"))
    }


def _turns() -> Iterable[tuple[int, str]]:
    """Return the ids of all processes with a mark, and their turns."""
    if Path("/proc/self/environ").exists():
        return _turns_in_proc(Path("/proc"))
    listed = subprocess.run(
        ("/bin/ps", "-axEww", "-o", "pid=,command="),
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return turns_in_list(listed.stdout.decode("utf-8", "replace"))


def _turns_in_proc(folder: Path) -> Iterable[tuple[int, str]]:
    mark = f"{TURN}=".encode()
    for each in folder.iterdir():
        if each.name.isdecimal():
            # another user's process, or one that has ended
            with suppress(OSError):
                for variable in (each / "environ").read_bytes().split(b"\0"):
                    if variable.startswith(mark):
                        yield int(each.name), variable[len(mark) :].decode("utf-8", "replace")


def turns_in_list(listed: str) -> Iterable[tuple[int, str]]:
    """Read a list of `ps`, where the environment follows each command. Turns have no spaces."""
    for line in listed.splitlines():
        pid, _, words = line.strip().partition(" ")
        for word in words.split():
            name, _, turn = word.partition("=")
            if name == TURN and pid.isdecimal():
                yield int(pid), turn
