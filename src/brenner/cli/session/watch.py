"""`brenner session watch`: follow sessions live, as text with a progress line or as JSON lines."""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from types import FrameType
from typing import TYPE_CHECKING, Self, TextIO

import click

from brenner.cli.options import EXIT_OK, Command, Settings, common_options, examples
from brenner.cli.output import failure_json, note_changes_made, write_diagnostics
from brenner.cli.session.list import session_table
from brenner.cli.table import bodies_option, check_bodies_usage, cut, importance_spans, trust_spans
from brenner.cli.terminal import (
    ATTENTION,
    PLAIN,
    QUIET,
    STRONG,
    STYLE_OF_TYPE,
    Span,
    agent_span,
    code_spans,
    display_width,
    fold,
    print_hint,
    print_message,
    styled_line,
    subject_spans,
)
from brenner.cli.threads import find_thread
from brenner.cli.workspace import diagnostic_of, exit_code, workspace_of, write_error
from brenner.config import ACK_DEADLINE, OPERATOR
from brenner.diagnostics.model import BrennerError, UnavailableError
from brenner.mail.model import in_list, stored_json
from brenner.protocol.messages import duration_text, exact_time, iso
from brenner.services.compile import compile_result_json, compile_summary
from brenner.services.watch import Event, WatchOptions
from brenner.services.watch import watch as follow
from brenner.session.model import Participant, Phase, SessionStatus
from brenner.session.overview import overview_json, status_json, urgency_key
from brenner.session.routing import RouteStep
from brenner.session.status_text import (
    PHASE_LABELS,
    StatusReader,
    describe_round,
    describe_turn,
    next_step,
)
from brenner.text import escape_control, joined, plural, thread_argument

if TYPE_CHECKING:
    from brenner.protocol.messages import StoredMessage
    from brenner.services.compile import CompileResult
    from brenner.session.overview import Overview
    from brenner.session.routing import Route

# Events as JSON lines. Keys are only ever added.


class JsonView:
    """Writes each event as one JSON object on one line, and flushes it."""

    def __init__(self, options: WatchOptions, *, bodies: bool) -> None:
        self._options = options
        self._bodies = bodies
        self.operator, self.deadline = OPERATOR, ACK_DEADLINE

    def show(self, event: Event | None) -> None:
        if event:
            event(self)

    def end(self, reason: str) -> None:
        _write_event("stopped", {"reason": reason})

    def erase(self) -> None:
        """Do nothing: there is no progress line."""

    def watching(
        self, store: str, sessions: tuple[Overview, ...], status: SessionStatus | None
    ) -> None:
        document = {
            "store": store,
            "thread_id": self._options.thread_id,
            "auto_compile": self._options.auto_compile,
            "session": status_json(status, _now(), self.deadline) if status else None,
            "sessions": [overview_json(each, _now(), self.deadline) for each in sessions],
        }
        _write_event("watching", document)

    def message(self, stored: StoredMessage, route: Route, status: SessionStatus | None) -> None:
        document = {
            "thread_id": stored.message.thread_id,
            "message": in_list(stored_json(stored), bodies=self._bodies),
            "route": route.to_json(),
            "phase": status.phase.value if status and status.phase else None,
            "round": status.round if status else None,
        }
        _write_event("message", document)

    def phase(self, before: Phase | None, status: SessionStatus) -> None:
        document = {
            "thread_id": status.thread_id,
            "before": before.value if before else None,
            "after": status.phase.value if status.phase else None,
            "session": status_json(status, _now(), self.deadline),
        }
        _write_event("phase", document)

    def compiled(self, done: CompileResult) -> None:
        """Write a compile, as `compile --json` does."""
        _note_compile(done)
        _write_event("compiled", compile_result_json(done))

    def compile_failed(self, thread_id: str, error: BrennerError) -> None:
        status = "unavailable" if isinstance(error, UnavailableError) else "refused"
        document = {"thread_id": thread_id, "status": status}
        _write_event("compiled", document | failure_json(error.diagnostic))

    def lost(self, error: BrennerError, at: datetime) -> None:  # noqa: ARG002
        _write_event("lost", failure_json(error.diagnostic))

    def back(self, seconds: float) -> None:
        _write_event("back", {"seconds": round(seconds, 3)})


def _write_event(name: str, fields: Mapping[str, object]) -> None:
    write_json_line({"event": name, "at": iso(_now()), **fields})


def write_json_line(document: Mapping[str, object]) -> None:
    """Write one object on one line, and flush it. It is ASCII, so that nothing breaks the line."""
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


def _note_compile(done: CompileResult) -> None:
    """Record a published version before it is reported: the report may fail."""
    if done.message:
        note_changes_made()


def _now() -> datetime:
    return datetime.now(UTC)


# Signals: Ctrl-C ends the watch at once, or after the current compile


_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_STANDARD_ERROR = 2
Handler = Callable[[int, FrameType | None], object] | int | None


class StopSignals:
    """Signal handlers that end the watch.

    Deferred work finishes first, unless a second signal arrives.

    A signal that is ignored, as in a background job of a script, stays ignored.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._requests = 0
        self._notice = ""
        self._before: dict[int, Handler] = {}

    def __enter__(self) -> Self:
        for number in _SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._handle_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def deferred(self, words: str = "") -> Iterator[None]:
        """Defer signals until the block ends.

        `words` are printed when a signal arrives meanwhile.
        """
        self._depth += 1
        before, self._notice = self._notice, words or self._notice
        try:
            yield
        finally:
            self._depth -= 1
            self._notice = before
        if self._requests and not self._depth:
            raise KeyboardInterrupt

    def ignore_further(self) -> None:
        """Ignore further signals: the watch is ending."""
        self._depth += 1
        self._notice = ""
        for number in self._before:
            signal.signal(number, signal.SIG_IGN)

    def _handle_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._requests += 1
        if self._requests > 1 or not self._depth:
            raise KeyboardInterrupt
        if self._notice:
            # Not `sys.stderr`: a signal may interrupt a write to its buffer.
            os.write(_STANDARD_ERROR, f"\n{self._notice}\n".encode())


# The progress line


_DEFAULT_WIDTH = 80  # columns
_MAX_CHARACTERS = 500  # of a span, so that a very long one is not escaped and measured whole


class ProgressLine:
    """The progress line on the standard error, if that is a terminal that can erase.

    It is redrawn in place and is never wider than the terminal. It changes no terminal mode, and
    the cursor stays visible.
    """

    def __init__(self) -> None:
        self._is_shown = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._drawn = ""
        self._columns = 0

    def draw(self, spans: Sequence[Span]) -> None:
        """Show the spans, unless they are already shown."""
        if not self._is_shown:
            return
        safe = [piece._replace(text=escape_control(piece.text, _MAX_CHARACTERS)) for piece in spans]
        fitting = cut(safe, max(1, _terminal_columns() - 1))
        text = styled_line(fitting, sys.stderr)
        if text == self._drawn:
            return
        sys.stderr.write(self._erase_sequence() + text)
        sys.stderr.flush()
        self._drawn, self._columns = text, sum(display_width(piece.text) for piece in fitting)

    def erase(self) -> None:
        if self._drawn:
            sys.stderr.write(self._erase_sequence())
            sys.stderr.flush()
        self._drawn, self._columns = "", 0

    @contextmanager
    def cleared(self) -> Iterator[None]:
        """Erase the line, let the block write its output, and flush it."""
        self.erase()
        yield
        sys.stdout.flush()
        sys.stderr.flush()

    def _erase_sequence(self) -> str:
        """Return the escape codes that erase the line.

        A terminal that became narrower has wrapped it.
        """
        rows = max(0, self._columns - 1) // _terminal_columns()
        return "\r" + (f"\x1b[{rows}A" if rows else "") + "\x1b[J"


def _terminal_columns() -> int:
    """Return the terminal's own width, ignoring COLUMNS: a wrapped line could not be erased."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or _DEFAULT_WIDTH
    except (OSError, ValueError):
        return _DEFAULT_WIDTH


# What a phase means and what comes next, in words


_MAX_NAMES = 4
_MINUTE = timedelta(minutes=1)
_PHASE_STYLES = {
    Phase.READY_TO_COMPILE: STYLE_OF_TYPE["COMPILED"],
    Phase.COMPLETE: QUIET,
}


def phase_span(phase: Phase | None) -> Span:
    """Return the phase. One that is ready to compile is highlighted."""
    return Span(PHASE_LABELS[phase], _PHASE_STYLES.get(phase, STRONG) if phase else QUIET)


def next_step_text(status: SessionStatus, reader: StatusReader, *, auto_compile: bool) -> str:
    """Return who is awaited, and what moves the session on, in the words of `session status`."""
    step = next_step(status, reader)
    awaited = "; ".join(
        f"{each.name} {describe_turn(each, status, reader.now).text}" for each in status.awaited
    )
    if step.does == "watch":
        return f"{awaited or 'no delta that would apply has arrived yet'}."
    if auto_compile and status.phase is Phase.READY_TO_COMPILE and not status.is_closed:
        return f"{step.words}: compiling now."
    text = f"{step.words}: `{step.command}`"
    if step.instead:
        text += f", {step.instead[0]}: `{step.instead[1]}`"
    return f"{awaited}. {text}." if awaited else f"{text}."


# Contents of the progress line


def session_progress(status: SessionStatus, now: datetime) -> list[Span]:
    """Return the phase of one session, and the awaited agents with their waiting times."""
    spans = [Span(f"Round {status.round}  ", QUIET)] if status.phase else []
    spans.append(phase_span(status.phase))
    waited = [(_waiting_since(each, status), each.name) for each in status.awaited]
    for number, (since, name) in enumerate(waited[:_MAX_NAMES]):
        spans += [Span("  waiting for " if not number else ", ", QUIET), agent_span(name)]
        spans.append(Span(_duration_text(now, since, " {}"), QUIET))
    if len(waited) > _MAX_NAMES:
        spans.append(Span(f" and {len(waited) - _MAX_NAMES} more", QUIET))
    if not waited:
        spans.append(Span(_duration_text(now, status.last_at, "  for {}"), QUIET))
    return spans


def _waiting_since(each: Participant, status: SessionStatus) -> datetime:
    """Return since when an agent is awaited: since its last kickoff, or its own last message."""
    for ack in status.open_acks:
        if ack.debtor == each.name and each.kickoff in (ack.message_id, ack.last_message_id):
            return ack.last_sent
    return each.last_at or status.last_at


def _duration_text(now: datetime, since: datetime, words: str) -> str:
    """Return the duration in words, empty below one minute. Seconds would redraw the line all
    the time.
    """
    return words.format(duration_text(now - since)) if now - since >= _MINUTE else ""


def project_progress(
    phases: Iterable[Phase | None], last_at: datetime | None, now: datetime
) -> list[Span]:
    """Return how many sessions are in each phase, and the time of the last mail."""
    found: Counter[Phase] = Counter(
        phase for phase in phases if phase and phase is not Phase.COMPLETE
    )
    spans = list(_phase_count_spans(found))
    if last_at:
        spans.append(Span(_duration_text(now, last_at, "  last mail {} ago"), QUIET))
    return spans


def _phase_count_spans(found: Counter[Phase]) -> Iterator[Span]:
    yield Span(plural(found.total(), "open session"), PLAIN if found.total() else QUIET)
    for number, phase in enumerate(each for each in Phase if found[each]):
        style = _PHASE_STYLES.get(phase, PLAIN)
        yield Span(": " if not number else ", ", QUIET)
        yield Span(f"{found[phase]} {PHASE_LABELS[phase]}", style)


# Events as text


_MAX_SESSIONS = 20
_INDENT = " " * 10  # the width of a time of day and the gap after it
_QUIET_STEPS = (RouteStep.SETTLE, RouteStep.NOTE, RouteStep.NOTHING)


class TextView:
    """Writes events to the standard output, and keeps a progress line on the standard error."""

    def __init__(self, options: WatchOptions) -> None:
        self._options = options
        self.operator, self.deadline = OPERATOR, ACK_DEADLINE
        self._line = ProgressLine()
        self._status: SessionStatus | None = None
        self._phases: dict[str, Phase | None] = {}
        self._last_at: datetime | None = None
        self._lost_at: datetime | None = None

    def show(self, event: Event | None) -> None:
        if event:
            with self._line.cleared():
                event(self)
        self._line.draw(self._progress())

    def end(self, reason: str) -> None:
        self._line.erase()
        words = {"until": f"The session is {PHASE_LABELS[self._options.until]}."}
        print_message(words.get(reason, "Stopped."), sys.stderr)

    def erase(self) -> None:
        self._line.erase()

    def _progress(self) -> list[Span]:
        now = _now()
        if self._lost_at:
            since = _clock(self._lost_at, now)
            return [Span(f"Store unavailable since {since}, retrying", ATTENTION)]
        if self._options.thread_id is not None:
            return session_progress(self._status, now) if self._status else []
        return project_progress(self._phases.values(), self._last_at, now)

    # One method for each event

    def watching(
        self,
        store: str,
        sessions: tuple[Overview, ...],
        status: SessionStatus | None,
    ) -> None:
        self._status = status
        self._phases = {each.thread_id: each.phase for each in sessions}
        self._last_at = max((each.last_at for each in sessions), default=None)
        out = sys.stdout
        if status:
            head = [Span(escape_control(status.thread_id), STRONG), Span("  ")]
            state = describe_round(status.phase, status.round)
            head.append(Span(state, phase_span(status.phase).style))
            out.write(fold([], head, "  ", out))
            if status.phase:
                print_hint(self._next_step(status))
        else:
            self._write_sessions(sessions, store)
        if sys.stderr.isatty():
            until = self._options.until
            end = f" until the session is {PHASE_LABELS[until]}" if until else ""
            print_message(f"Watching{end}. Press Ctrl-C to stop.", sys.stderr)

    def _write_sessions(self, sessions: tuple[Overview, ...], store: str) -> None:
        shown = [each for each in sessions if each.phase and each.phase is not Phase.COMPLETE]
        shown.sort(key=lambda each: urgency_key(each, _now(), self.deadline))
        if not shown:
            print_message(f"No open sessions in `{escape_control(store, len(store) + 1)}`.")
            return
        sys.stdout.writelines(session_table(shown[:_MAX_SESSIONS], _now(), self.deadline))
        if len(shown) > _MAX_SESSIONS:
            print_hint(f"{len(shown) - _MAX_SESSIONS} more: `brenner session list`")

    def message(self, stored: StoredMessage, route: Route, status: SessionStatus | None) -> None:
        out, message = sys.stdout, stored.message
        self._status, self._phases[message.thread_id] = status, status.phase if status else None
        self._last_at = max(self._last_at or stored.at, stored.at)
        start = [Span(f"{_time_text(stored.at, out):<8}  ", QUIET)]
        head = [Span(f"{stored.id}", QUIET), Span("  "), agent_span(message.sender), Span("  ")]
        for piece in (*trust_spans(stored), *importance_spans(stored)):
            head += [piece, Span("  ")]
        out.write(fold(start, [*head, *subject_spans(message.subject)], _INDENT, out))
        style = QUIET if route.step in _QUIET_STEPS and not route.codes else PLAIN
        words = [
            Span("→ ", QUIET),
            *self._thread_spans(message.thread_id),
            *code_spans(route.words, style),
        ]
        out.write(fold([Span(_INDENT)], words, _INDENT + "  ", out))

    def phase(self, before: Phase | None, status: SessionStatus) -> None:
        out = sys.stdout
        change = [
            *self._thread_spans(status.thread_id),
            Span(PHASE_LABELS[before] if before else "new session"),
            Span(" → "),
            phase_span(status.phase),
        ]
        rest = f": {self._next_step(status)}"
        out.write(fold([Span(_INDENT)], [*change, *code_spans(rest)], _INDENT + "  ", out))

    def compiled(self, done: CompileResult) -> None:
        """Write what `--auto-compile` did, as a short form of the report of `brenner compile`."""
        _note_compile(done)
        for found in done.notes:
            place = f"message {found.message_id}" if found.message_id else "brenner"
            write_diagnostics([found], place, sys.stderr)
        words = [compile_summary(done)]
        for sent in done.notified:
            to, about = joined(sent.stored.message.recipients), sent.stored.reply_to
            words.append(f"Sent {to} the errors of message {about}.")
        refused = sum(entry.state == "refused" for entry in done.ledger)
        if refused and not done.notified:
            ledger = f"`brenner artifact ledger {thread_argument(done.thread_id)}`"
            words.append(f"{plural(refused, 'rejected block')}: {ledger}")
        out = sys.stdout
        out.write(fold([Span(_INDENT)], code_spans(" ".join(words), STRONG), _INDENT + "  ", out))
        if done.failed:
            write_error(done.failed)

    def compile_failed(self, thread_id: str, error: BrennerError) -> None:
        print_message(f"Cannot compile {escape_control(thread_id)}:", sys.stderr)
        write_error(error)

    def lost(self, error: BrennerError, at: datetime) -> None:
        self._lost_at = at
        found = error.diagnostic
        self._write_alert(at, f"Store unavailable ({found.id}): {found.message} Retrying.")

    def back(self, seconds: float) -> None:
        self._lost_at = None
        duration = duration_text(timedelta(seconds=seconds))
        self._write_alert(_now(), f"Connected again after {duration}. Missed events follow.")

    def _write_alert(self, at: datetime, words: str) -> None:
        err = sys.stderr
        start = [Span(f"{_time_text(at, err)}  ", QUIET)]
        err.write(fold(start, [Span(words, ATTENTION)], _INDENT, err))

    # Helpers

    def _next_step(self, status: SessionStatus) -> str:
        reader = StatusReader(self.operator, self.operator, _now(), self.deadline)
        return next_step_text(status, reader, auto_compile=self._options.auto_compile)

    def _thread_spans(self, thread_id: str) -> list[Span]:
        """Return the thread ID, if several sessions are watched."""
        if self._options.thread_id is not None:
            return []
        return [Span(thread_id, STRONG), Span("  ")]


def _time_text(at: datetime, stream: TextIO) -> str:
    return _clock(at, _now()) if stream.isatty() else exact_time(at)


def _clock(at: datetime, now: datetime) -> str:
    """Return the local time of day, or the date if it is another day."""
    here = at.astimezone()
    return f"{here:%H:%M:%S}" if here.date() == now.astimezone().date() else f"{here:%Y-%m-%d}"


_COMPILE_NOTICE = "Finishing the compile first. Press Ctrl-C again to abort it."


@click.command(
    "watch",
    epilog=examples(
        "brenner session watch",
        "brenner session watch RS-20251230-cell-fate --auto-compile --notify",
        "brenner session watch RS-20251230-cell-fate --until ready_to_compile",
        "brenner session watch --json | jq -c 'select(.event == \"phase\")'",
    ),
    cls=Command,
)
@click.argument("thread", metavar="[THREAD]", required=False)
@click.option("--auto-compile", is_flag=True, help="Compile a session when it is ready.")
@click.option(
    "--notify",
    is_flag=True,
    help="With --auto-compile: mail the errors to the authors of rejected blocks.",
)
@click.option(
    "--until",
    type=click.Choice([phase.value for phase in Phase]),
    metavar="PHASE",
    help="Stop when THREAD reaches this phase, such as `ready_to_compile`.",
)
@bodies_option
@common_options
def watch(  # noqa: PLR0913  (one parameter per option)
    settings: Settings,
    thread: str | None,
    *,
    auto_compile: bool,
    notify: bool,
    until: str | None,
    bodies: bool,
) -> int:
    """Show new messages of THREAD, or of all sessions, as they arrive.

    Nothing is written, unless you add --auto-compile. If the store is unavailable, the command
    waits for it and then catches up. Ctrl-C stops it; a running compile is finished first.

    With --json each event is one JSON object on one line: `watching`, `message`, `phase`,
    `compiled`, `lost`, `back`, `stopped`. Long bodies are cut, unless you add --bodies.
    """
    check_bodies_usage(bodies=bodies, as_json=settings.as_json)
    _check_usage(thread, auto_compile=auto_compile, notify=notify, until=until)
    if thread is not None:
        with workspace_of(settings) as here:
            thread = find_thread(here, thread)
    options = WatchOptions(thread, auto_compile, notify, Phase(until) if until else None)
    try:
        return _run(settings, options, bodies=bodies)
    except BrennerError as error:
        if not settings.as_json:
            raise
        write_json_line({"event": "failed", **failure_json(diagnostic_of(error, settings))})
        return exit_code(error)


def _check_usage(
    thread: str | None, *, auto_compile: bool, notify: bool, until: str | None
) -> None:
    if notify and not auto_compile:
        message = "--notify needs --auto-compile."
        raise click.UsageError(message)
    if until and thread is None:
        message = "--until needs a THREAD."
        raise click.UsageError(message)


def _run(settings: Settings, options: WatchOptions, *, bodies: bool) -> int:
    view: TextView | JsonView = TextView(options)
    if settings.as_json:
        view = JsonView(options, bodies=bodies)
    reason = "until"
    with StopSignals() as stop:
        try:
            with workspace_of(settings) as here, _erase_at_end(view):
                view.operator, view.deadline = here.project.operator, here.project.ack_deadline
                for event in follow(here, options, lambda: stop.deferred(_COMPILE_NOTICE)):
                    with stop.deferred():
                        view.show(event)
                        if event is None:
                            _check_reader()
        except KeyboardInterrupt:
            reason = "interrupted"
        stop.ignore_further()
        view.end(reason)
    return EXIT_OK


@contextmanager
def _erase_at_end(view: TextView | JsonView) -> Iterator[None]:
    """Erase the progress line however the block ends."""
    try:
        yield
    finally:
        view.erase()


def _check_reader() -> None:
    """Raise BrokenPipeError if the reader of the pipe is gone, as with `head`."""
    if sys.stdout.isatty():
        return
    reader = select.poll()
    try:
        reader.register(sys.stdout.fileno(), 0)
    except (OSError, ValueError):  # the output has no file descriptor
        return
    if any(found & (select.POLLERR | select.POLLNVAL) for _, found in reader.poll(0)):
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
