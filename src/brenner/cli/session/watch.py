"""`brenner session watch`: follow sessions live, as text with a progress line or as JSON lines."""

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
from typing import Any, Self

import click

from brenner.cli.options import Settings, common_options, examples
from brenner.cli.output import failure_json, note_changes_made, write_diagnostics
from brenner.cli.session.list import session_table
from brenner.cli.table import cut, importance_spans, trust_spans
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
from brenner.cli.workspace import EXIT_OK, exit_code, workspace_of, write_error
from brenner.config import ACK_DEADLINE
from brenner.diagnostics.model import BrennerError, Diagnostic, Summary, UnavailableError
from brenner.mail.model import stored_json
from brenner.protocol.messages import duration_text, exact_time, iso
from brenner.services.compile import compile_result_json, compile_summary
from brenner.services.watch import (
    AutoCompiled,
    AutoCompileFailed,
    Event,
    Idle,
    MessageArrived,
    PhaseChanged,
    StoreBack,
    StoreLost,
    WatchOptions,
    WatchStarted,
)
from brenner.services.watch import watch as follow
from brenner.session.model import OpenAck, Participant, Phase, SessionStatus, Turn
from brenner.session.overview import overview_json, status_json, urgency_key
from brenner.session.routing import RouteStep
from brenner.session.status_text import PHASE_LABELS
from brenner.text import escape_control, joined, plural, thread_argument

# Events as JSON lines. Keys are only ever added.


Document = dict[str, object]


class JsonView:
    """Writes each event as one JSON object on one line, and flushes it."""

    def __init__(self, options: WatchOptions) -> None:
        self._options = options
        self.deadline = ACK_DEADLINE

    def show(self, event: Event) -> None:
        """Write the event. `Idle` events are not written."""
        if isinstance(event, Idle):
            return
        name, fields = _JSON_EVENTS[type(event)]
        write_json_line({"event": name, "at": iso(_now()), **fields(self, event)})

    def end(self, reason: str) -> None:
        """Write the last line."""
        write_json_line({"event": "stopped", "at": iso(_now()), "reason": reason})

    def erase(self) -> None:
        """Do nothing: there is no progress line."""

    def watching(self, event: WatchStarted) -> Document:
        """Return the fields of the first event."""
        sessions = [overview_json(each, _now(), self.deadline) for each in event.sessions]
        return {
            "store": event.where,
            "thread_id": self._options.thread_id,
            "auto_compile": self._options.auto_compile,
            "session": self._status(event.status) if event.status else None,
            "sessions": sessions,
        }

    def message(self, event: MessageArrived) -> Document:
        """Return the fields of a message that arrived."""
        stored, found, _, after = event.taken
        return {
            "thread_id": stored.message.thread_id,
            "message": stored_json(stored),
            "route": found.to_json(),
            "phase": after.phase.value if after and after.phase else None,
            "round": after.round if after else None,
        }

    def phase(self, event: PhaseChanged) -> Document:
        """Return the fields of a phase change."""
        status = event.status
        return {
            "thread_id": status.thread_id,
            "before": event.before.value if event.before else None,
            "after": status.phase.value if status.phase else None,
            "session": self._status(status),
        }

    def compiled(self, event: AutoCompiled) -> Document:
        """Return the fields of a compile, as `compile --json` has them."""
        return compile_result_json(event.done)

    def compile_failed(self, event: AutoCompileFailed) -> Document:
        """Return the fields of a failed compile."""
        is_away = isinstance(event.error, UnavailableError)  # the watch retries it
        status = "unavailable" if is_away else "refused"
        return {
            "thread_id": event.thread_id,
            "status": status,
            **_failure_document(event.error.diagnostic),
        }

    def lost(self, event: StoreLost) -> Document:
        """Return the fields of a lost connection to the mailbox."""
        return _failure_document(event.error.diagnostic)

    def back(self, event: StoreBack) -> Document:
        """Return the fields of a restored connection."""
        return {"seconds": round(event.seconds, 3)}

    def _status(self, status: SessionStatus) -> Mapping[str, object]:
        return status_json(status, _now(), self.deadline)


_JSON_EVENTS: dict[type, tuple[str, Callable[[JsonView, Any], Document]]] = {
    WatchStarted: ("watching", JsonView.watching),
    MessageArrived: ("message", JsonView.message),
    PhaseChanged: ("phase", JsonView.phase),
    AutoCompiled: ("compiled", JsonView.compiled),
    AutoCompileFailed: ("compiled", JsonView.compile_failed),
    StoreLost: ("lost", JsonView.lost),
    StoreBack: ("back", JsonView.back),
}


def write_json_line(document: Mapping[str, object]) -> None:
    """Write one object on one line, and flush it. It is ASCII, so that nothing breaks the line."""
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


def _failure_document(found: Diagnostic) -> Document:
    summary = Summary.of([found])._asdict()
    return {"valid": False, "summary": summary, "violations": [found.to_json()]}


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
        """Erase the line, so that other output can be written."""
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
_TURN_WORDS = {
    Turn.OWES_ACK: "owes an ACK",
    Turn.OWES_DELTA: "owes a delta",
    Turn.TO_CORRECT: "has to correct what was refused",
}
_PHASE_STYLES = {
    Phase.READY_TO_COMPILE: STYLE_OF_TYPE["COMPILED"],
    Phase.COMPLETE: QUIET,
}


def phase_span(phase: Phase | None) -> Span:
    """Return the phase. One that is ready to compile is highlighted."""
    return Span(PHASE_LABELS[phase], _PHASE_STYLES.get(phase, STRONG) if phase else QUIET)


def next_step_text(status: SessionStatus, *, auto_compile: bool) -> str:
    """Return why the session is in its phase, and what moves it on."""
    thread, version = thread_argument(status.thread_id), status.version
    if status.phase is Phase.READY_TO_COMPILE:
        return _ready_text(status, auto_compile=auto_compile)
    if status.phase is Phase.IN_CRITIQUE and status.is_closed:
        again = f"brenner session round --reopen {thread}"
        return f"nothing has come of round {status.round}. Ask again with `{again}`."
    if status.phase is Phase.IN_CRITIQUE and version:
        return (
            f"v{version.number} is out. Go on with `brenner session round {thread}`, or end "
            f"with `brenner session complete {thread}`."
        )
    if status.phase is Phase.COMPLETE and version:
        return f"v{version.number} is the last version."
    return _missing_text(status)


def _ready_text(status: SessionStatus, *, auto_compile: bool) -> str:
    """Return what a compile would apply. A closed session is compiled only with `--reopen`."""
    thread, version = thread_argument(status.thread_id), status.version
    text = f"nothing is missing, and {plural(status.applies, 'block')} would be applied"
    if version and status.is_closed:
        reopen = f"`brenner compile --reopen {thread}`"
        return f"{text}. The session was closed with v{version.number}; to go on with it: {reopen}."
    if auto_compile:
        return f"{text}; it is compiled now."
    return f"{text}. Compile: `brenner compile {thread}`."


def _missing_text(status: SessionStatus) -> str:
    """Return which agents have to do what."""
    if status.compile_blocker:
        thread = thread_argument(status.thread_id)
        return f"nothing can be compiled; `brenner artifact verify {thread}` says why."
    by_turn = {turn: [p.name for p in status.awaited if p.turn is turn] for turn in _TURN_WORDS}
    parts = [
        f"{joined(names)} {_plural(_TURN_WORDS[turn], len(names))}"
        for turn, names in by_turn.items()
        if names
    ]
    return f"{', '.join(parts)}." if parts else "no delta has come in yet that could be applied."


def _plural(words: str, number: int) -> str:
    verb, _, rest = words.partition(" ")
    return words if number == 1 else f"{'have' if verb == 'has' else verb[:-1]} {rest}"


# Contents of the progress line


def session_progress(status: SessionStatus, now: datetime) -> list[Span]:
    """Return the phase of one session, and the awaited agents with their waiting times."""
    spans = [Span(f"round {status.round}  ", QUIET)] if status.phase else []
    spans.append(phase_span(status.phase))
    waited = [(_waiting_since(each, status), each.name) for each in status.awaited]
    for number, (since, name) in enumerate(waited[:_MAX_NAMES]):
        spans += [Span("  waits for " if not number else ", ", QUIET), agent_span(name)]
        spans.append(Span(_duration_text(now, since, " {}"), QUIET))
    if len(waited) > _MAX_NAMES:
        spans.append(Span(f" and {len(waited) - _MAX_NAMES} more", QUIET))
    if not waited:
        spans.append(Span(_duration_text(now, status.last_at, "  for {}"), QUIET))
    return spans


def _waiting_since(each: Participant, status: SessionStatus) -> datetime:
    """Return since when an agent is awaited: since its last kickoff, or its own last message."""
    acks = (
        ack for ack in status.open_acks if ack.debtor == each.name and _is_kickoff_ack(ack, each)
    )
    first = next(acks, None)
    return first.last_sent if first else each.last_at or status.last_at


def _is_kickoff_ack(ack: OpenAck, each: Participant) -> bool:
    return each.kickoff in (ack.message_id, ack.last_message_id)


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


def lost_span(since: str) -> Span:
    """Return the progress while the mailbox is unavailable."""
    return Span(f"the mailbox has been away since {since}; still trying", ATTENTION)


# Events as text


_MAX_SESSIONS = 20
_INDENT = " " * 10  # the width of a time of day and the gap after it
_QUIET_STEPS = (RouteStep.SETTLE, RouteStep.NOTE, RouteStep.NOTHING)


class TextView:
    """Writes events to the standard output, and keeps a progress line on the standard error."""

    def __init__(self, options: WatchOptions) -> None:
        self._options = options
        self.deadline = ACK_DEADLINE
        self._line = ProgressLine()
        self._status: SessionStatus | None = None
        self._phases: dict[str, Phase | None] = {}
        self._last_at: datetime | None = None
        self._lost_at: datetime | None = None

    def show(self, event: Event) -> None:
        """Write the event and redraw the progress line."""
        if not isinstance(event, Idle):
            with self._line.cleared():
                _TEXT_EVENTS[type(event)](self, event)
        self._line.draw(self._progress())

    def end(self, reason: str) -> None:
        """Erase the progress line and print why the watch ended."""
        self._line.erase()
        words = {"until": f"It is {PHASE_LABELS[self._options.until]}."}
        print_message(words.get(reason, "Stopped."), sys.stderr)

    def erase(self) -> None:
        """Erase the progress line."""
        self._line.erase()

    def _progress(self) -> list[Span]:
        now = _text_view_now()
        if self._lost_at:
            return [lost_span(_clock(self._lost_at, now))]
        if self._options.thread_id is not None:
            return session_progress(self._status, now) if self._status else []
        return project_progress(self._phases.values(), self._last_at, now)

    # One method for each event

    def watching(self, event: WatchStarted) -> None:
        """Write the current status of the session, or the list of sessions."""
        self._status = event.status
        self._phases = {each.thread_id: each.phase for each in event.sessions}
        self._last_at = max((each.last_at for each in event.sessions), default=None)
        out = sys.stdout
        if event.status:
            status = event.status
            head = [Span(escape_control(status.thread_id), STRONG), Span("  ")]
            if status.phase:
                head.append(Span(f"round {status.round}, "))
            head.append(phase_span(status.phase))
            out.write(fold([], head, "  ", out))
            if status.phase:
                self._print_next_step(status)
        else:
            self._write_sessions(event)
        if sys.stderr.isatty():
            until = self._options.until
            end = f" until it is {PHASE_LABELS[until]}" if until else ""
            print_message(f"Watching{end}; Ctrl-C ends it.", sys.stderr)

    def _write_sessions(self, event: WatchStarted) -> None:
        shown = [each for each in event.sessions if each.phase and each.phase is not Phase.COMPLETE]
        shown.sort(key=lambda each: urgency_key(each, _text_view_now(), self.deadline))
        if not shown:
            print_message("No session is open.")
            return
        sys.stdout.writelines(session_table(shown[:_MAX_SESSIONS], _text_view_now(), self.deadline))
        if len(shown) > _MAX_SESSIONS:
            print_hint(f"{len(shown) - _MAX_SESSIONS} more: `brenner session list`.")

    def message(self, event: MessageArrived) -> None:
        """Write a message (time, ID, sender, subject), and below it what it means."""
        stored, found, _, after = event.taken
        out, message = sys.stdout, stored.message
        self._update(after, message.thread_id, stored.at)
        start = [Span(f"{self._time(stored.at):<8}  ", QUIET)]
        head = [Span(f"{stored.id}", QUIET), Span("  "), agent_span(message.sender), Span("  ")]
        for piece in (*trust_spans(stored), *importance_spans(stored)):
            head += [piece, Span("  ")]
        out.write(fold(start, [*head, *subject_spans(message.subject)], _INDENT, out))
        style = QUIET if found.step in _QUIET_STEPS and not found.codes else PLAIN
        words = [
            Span("→ ", QUIET),
            *self._thread_spans(message.thread_id),
            *code_spans(found.words, style),
        ]
        out.write(fold([Span(_INDENT)], words, _INDENT + "  ", out))

    def phase(self, event: PhaseChanged) -> None:
        """Write a phase change, and what it requires."""
        status, out = event.status, sys.stdout
        before = Span(PHASE_LABELS[event.before] if event.before else "new session")
        change = [
            *self._thread_spans(status.thread_id),
            before,
            Span(" → "),
            phase_span(status.phase),
        ]
        rest = f": {next_step_text(status, auto_compile=self._options.auto_compile)}"
        out.write(fold([Span(_INDENT)], [*change, *code_spans(rest)], _INDENT + "  ", out))

    def compiled(self, event: AutoCompiled) -> None:
        """Write what `--auto-compile` did, as a short form of the report of `brenner compile`."""
        done = event.done
        for found in done.notes:
            place = f"message {found.message_id}" if found.message_id else "brenner"
            write_diagnostics([found], place, sys.stderr)
        words = [compile_summary(done)]
        for sent in done.notified:
            to, about = joined(sent.stored.message.recipients), sent.stored.reply_to
            words.append(f"Told {to} what is wrong with message {about}.")
        refused = sum(entry.state == "refused" for entry in done.ledger)
        if refused and not done.notified:
            ledger = f"`brenner artifact ledger {thread_argument(done.thread_id)}`"
            words.append(f"{plural(refused, 'block is', 'blocks are')} refused: {ledger}.")
        out = sys.stdout
        out.write(fold([Span(_INDENT)], code_spans(" ".join(words), STRONG), _INDENT + "  ", out))
        if done.failed:
            write_error(done.failed)

    def compile_failed(self, event: AutoCompileFailed) -> None:
        """Write why a compile failed. The event comes only once."""
        print_message(f"{escape_control(event.thread_id)} is not compiled:", sys.stderr)
        write_error(event.error)

    def lost(self, event: StoreLost) -> None:
        """Write that the connection to the mailbox is lost."""
        self._lost_at = event.at
        found = event.error.diagnostic
        self._write_alert(
            event.at, f"Lost ({found.id}): {found.message} It is tried again until it answers."
        )

    def back(self, event: StoreBack) -> None:
        """Write that the mailbox is available again."""
        self._lost_at = None
        duration = duration_text(timedelta(seconds=event.seconds))
        self._write_alert(
            _text_view_now(), f"Back after {duration}; what came in meanwhile follows."
        )

    def _write_alert(self, at: datetime, words: str) -> None:
        err = sys.stderr
        start = [
            Span(f"{_clock(at, _text_view_now()) if err.isatty() else exact_time(at)}  ", QUIET)
        ]
        err.write(fold(start, [Span(words, ATTENTION)], _INDENT, err))

    # Helpers

    def _update(self, status: SessionStatus | None, thread_id: str, at: datetime) -> None:
        self._phases[thread_id] = status.phase if status else None
        self._last_at = max(self._last_at or at, at)
        self._status = status

    def _print_next_step(self, status: SessionStatus) -> None:
        words = next_step_text(status, auto_compile=self._options.auto_compile)
        print_hint(words[:1].upper() + words[1:] if words[:1] == "n" else words)

    def _thread_spans(self, thread_id: str) -> list[Span]:
        """Return the thread ID, if several sessions are watched."""
        if self._options.thread_id is not None:
            return []
        return [Span(thread_id, STRONG), Span("  ")]

    def _time(self, at: datetime) -> str:
        return _clock(at, _text_view_now()) if sys.stdout.isatty() else exact_time(at)


_TEXT_EVENTS: dict[type, Callable[[TextView, Any], None]] = {
    WatchStarted: TextView.watching,
    MessageArrived: TextView.message,
    PhaseChanged: TextView.phase,
    AutoCompiled: TextView.compiled,
    AutoCompileFailed: TextView.compile_failed,
    StoreLost: TextView.lost,
    StoreBack: TextView.back,
}


def _clock(at: datetime, now: datetime) -> str:
    """Return the local time of day, or the date if it is another day."""
    here = at.astimezone()
    return f"{here:%H:%M:%S}" if here.date() == now.astimezone().date() else f"{here:%Y-%m-%d}"


def _text_view_now() -> datetime:
    return datetime.now(UTC)


_COMPILE_NOTICE = "The compile is finished first; Ctrl-C again breaks it off."


@click.command(
    "watch",
    epilog=examples(
        "brenner session watch",
        "brenner session watch RS-20251230-cell-fate --auto-compile --notify",
        "brenner session watch RS-20251230-cell-fate --until ready_to_compile",
        "brenner session watch --json | jq -c 'select(.event == \"phase\")'",
    ),
)
@click.argument("thread", metavar="[THREAD]", required=False)
@click.option("--auto-compile", is_flag=True, help="Compile whatever is ready.")
@click.option("--notify", is_flag=True, help="With it: tell authors of refused blocks why.")
@click.option(
    "--until",
    type=click.Choice([phase.value for phase in Phase]),
    metavar="PHASE",
    help="End when THREAD is in that phase, such as `ready_to_compile`.",
)
@common_options
def watch(
    settings: Settings, thread: str | None, *, auto_compile: bool, notify: bool, until: str | None
) -> int:
    """Follow THREAD, or all sessions: each message as it comes in, and what it means.

    Nothing is written; only with --auto-compile a session that is ready is compiled. A mailbox
    that is lost is waited for, and then everything is told that has come in meanwhile. With --json
    each event is one JSON object on one line: `watching`, `message`, `phase`, `compiled`, `lost`,
    `back`, `stopped`.

    Ctrl-C ends it, with exit code 0; a compile under way is finished before.
    """
    _check_usage(thread, auto_compile=auto_compile, notify=notify, until=until)
    options = WatchOptions(thread, auto_compile, notify, Phase(until) if until else None)
    try:
        return _run(settings, options)
    except BrennerError as error:
        if not settings.as_json:
            raise
        write_json_line({"event": "failed", **failure_json(error.diagnostic)})
        return exit_code(error)


def _check_usage(
    thread: str | None, *, auto_compile: bool, notify: bool, until: str | None
) -> None:
    if notify and not auto_compile:
        message = "--notify tells what a compile refused; it goes with --auto-compile."
        raise click.UsageError(message)
    if until and thread is None:
        message = "--until needs a THREAD: the phase is that of one session."
        raise click.UsageError(message)


def _run(settings: Settings, options: WatchOptions) -> int:
    view: TextView | JsonView = JsonView(options) if settings.as_json else TextView(options)
    reason = "until"
    with StopSignals() as stop:
        try:
            with workspace_of(settings) as here, _erase_at_end(view):
                view.deadline = here.project.ack_deadline
                for event in follow(here, options, lambda: stop.deferred(_COMPILE_NOTICE)):
                    with stop.deferred():
                        if isinstance(event, AutoCompiled) and event.done.message:
                            note_changes_made()
                        view.show(event)
                        _check_reader(event)
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


def _check_reader(event: Event) -> None:
    """Raise BrokenPipeError if the reader of the pipe is gone, as with `head`."""
    if not isinstance(event, Idle) or sys.stdout.isatty():
        return
    reader = select.poll()
    try:
        reader.register(sys.stdout.fileno(), 0)
    except (OSError, ValueError):  # the output has no file descriptor
        return
    if any(found & (select.POLLERR | select.POLLNVAL) for _, found in reader.poll(0)):
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
