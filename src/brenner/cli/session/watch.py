"""`brenner session watch`: follow sessions live."""

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
from brenner.cli.output import failure, note_done, write_diagnostics
from brenner.cli.session.list import lines
from brenner.cli.table import cut, importance_pieces, trust_pieces
from brenner.cli.terminal import (
    ATTENTION,
    PLAIN,
    QUIET,
    STRONG,
    STYLE_OF_TYPE,
    Span,
    agent_piece,
    columns,
    fold,
    joined,
    pieces,
    print_hint,
    print_message,
    shown_line,
    subject_pieces,
    thread_argument,
)
from brenner.cli.workspace import FINE, exit_code, workspace_of, write_error
from brenner.config import ACK_DEADLINE
from brenner.diagnostics.model import BrennerError, Diagnostic, Summary, UnavailableError
from brenner.mail.model import stored_json
from brenner.protocol.messages import exact, iso, span
from brenner.services.compile import compiled_json, what_happened
from brenner.services.watch import (
    Back,
    Came,
    Event,
    Lost,
    Made,
    NotMade,
    PhaseChanged,
    Quiet,
    Watching,
    WatchOptions,
)
from brenner.services.watch import watch as follow
from brenner.session.model import OpenAck, Participant, Phase, SessionStatus, Turn
from brenner.session.overview import overview_json, status_json, urgent_first
from brenner.session.routing import Step
from brenner.session.status_text import PHASE_WORDS
from brenner.text import counted, escape_control

# What happens while sessions are watched, one JSON object on a line. Keys are only ever added.


Document = dict[str, object]


class JsonView:
    """Writes each event as one line, and lets it go at once."""

    def __init__(self, options: WatchOptions) -> None:
        self._options = options
        self.deadline = ACK_DEADLINE

    def show(self, event: Event) -> None:
        """One line; nothing where nothing has happened."""
        if isinstance(event, Quiet):
            return
        name, told = _FORMS[type(event)]
        write_line({"event": name, "at": iso(_now()), **told(self, event)})

    def end(self, reason: str) -> None:
        """The last line."""
        write_line({"event": "stopped", "at": iso(_now()), "reason": reason})

    def erase(self) -> None:
        """There is nothing that would have to go."""

    def watching(self, event: Watching) -> Document:
        """The beginning."""
        sessions = [overview_json(each, _now(), self.deadline) for each in event.sessions]
        return {
            "store": event.where,
            "thread_id": self._options.thread_id,
            "auto_compile": self._options.auto_compile,
            "session": self._status(event.status) if event.status else None,
            "sessions": sessions,
        }

    def came(self, event: Came) -> Document:
        """A message."""
        stored, found, _, after = event.taken
        return {
            "thread_id": stored.message.thread_id,
            "message": stored_json(stored),
            "route": found.to_json(),
            "phase": after.phase.value if after and after.phase else None,
            "round": after.round if after else None,
        }

    def phase(self, event: PhaseChanged) -> Document:
        """Another phase."""
        status = event.status
        return {
            "thread_id": status.thread_id,
            "before": event.before.value if event.before else None,
            "after": status.phase.value if status.phase else None,
            "session": self._status(status),
        }

    def made(self, event: Made) -> Document:
        """A compile, as `compile --json` tells of it."""
        return compiled_json(event.done)

    def not_made(self, event: NotMade) -> Document:
        """A compile that could not be done."""
        is_away = isinstance(event.error, UnavailableError)  # it is tried again
        status = "unavailable" if is_away else "refused"
        return {"thread_id": event.thread_id, "status": status, **_failed(event.error.diagnostic)}

    def lost(self, event: Lost) -> Document:
        """The mailbox is gone."""
        return _failed(event.error.diagnostic)

    def back(self, event: Back) -> Document:
        """It is there again."""
        return {"seconds": round(event.seconds, 3)}

    def _status(self, status: SessionStatus) -> Mapping[str, object]:
        return status_json(status, _now(), self.deadline)


_FORMS: dict[type, tuple[str, Callable[[JsonView, Any], Document]]] = {
    Watching: ("watching", JsonView.watching),
    Came: ("message", JsonView.came),
    PhaseChanged: ("phase", JsonView.phase),
    Made: ("compiled", JsonView.made),
    NotMade: ("compiled", JsonView.not_made),
    Lost: ("lost", JsonView.lost),
    Back: ("back", JsonView.back),
}


def write_line(document: Mapping[str, object]) -> None:
    """One object on one line, out when this returns; it is ASCII, so that nothing breaks it."""
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


def _failed(found: Diagnostic) -> Document:
    summary = Summary.of([found])._asdict()
    return {"valid": False, "summary": summary, "violations": [found.to_json()]}


def _now() -> datetime:
    return datetime.now(UTC)


# Ctrl-C and its like end a watch: at once where nothing is under way, else when that is done.


_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_STANDARD_ERROR = 2
Handler = Callable[[int, FrameType | None], object] | int | None


class Stopping:
    """Whether somebody wants it to end. What is `held` is done before; a second wish breaks it off.

    A signal that is ignored (as in a script's background) stays ignored.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._wishes = 0
        self._while_held = ""
        self._before: dict[int, Handler] = {}

    def __enter__(self) -> Self:
        for number in _SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._asked)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def held(self, words: str = "") -> Iterator[None]:
        """Nobody interrupts what is done here; the words are for who tries to."""
        self._depth += 1
        before, self._while_held = self._while_held, words or self._while_held
        try:
            yield
        finally:
            self._depth -= 1
            self._while_held = before
        if self._wishes and not self._depth:
            raise KeyboardInterrupt

    def no_more(self) -> None:
        """It is ending: further wishes change nothing."""
        self._depth += 1
        self._while_held = ""
        for number in self._before:
            signal.signal(number, signal.SIG_IGN)

    def _asked(self, _number: int, _frame: FrameType | None) -> None:
        self._wishes += 1
        if self._wishes > 1 or not self._depth:
            raise KeyboardInterrupt
        if self._while_held:
            # Not by `sys.stderr`: that may be in the middle of a line.
            os.write(_STANDARD_ERROR, f"\n{self._while_held}\n".encode())


# The last line of a terminal, which says how far things are; it is redrawn in place.
#
# It is never wider than the terminal, and nothing but the line itself is touched: no mode is
# changed,
# and the cursor stays visible.


_USUAL = 80  # columns
_MOST = 500  # characters; what is cut away need not be looked at


class Line:
    """The line, on the standard error, where that is a terminal that can erase."""

    def __init__(self) -> None:
        self._is_shown = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._drawn = ""
        self._columns = 0

    def draw(self, pieces: Sequence[Span]) -> None:
        """Show this, if it is something else than what is shown."""
        if not self._is_shown:
            return
        safe = [piece._replace(text=escape_control(piece.text, _MOST)) for piece in pieces]
        fitting = cut(safe, max(1, _width() - 1))
        text = shown_line(fitting, sys.stderr)
        if text == self._drawn:
            return
        sys.stderr.write(self._erasing() + text)
        sys.stderr.flush()
        self._drawn, self._columns = text, sum(columns(piece.text) for piece in fitting)

    def erase(self) -> None:
        """Leave the place empty, for what is written next."""
        if self._drawn:
            sys.stderr.write(self._erasing())
            sys.stderr.flush()
        self._drawn, self._columns = "", 0

    @contextmanager
    def aside(self) -> Iterator[None]:
        """What is written inside stands where the line was, and the line is gone."""
        self.erase()
        yield
        sys.stdout.flush()
        sys.stderr.flush()

    def _erasing(self) -> str:
        """Back to where the line began; a terminal that became narrower has folded it."""
        rows = max(0, self._columns - 1) // _width()
        return "\r" + (f"\x1b[{rows}A" if rows else "") + "\x1b[J"


def _width() -> int:
    """Of the terminal itself, whatever the environment says: a folded line could not be erased."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or _USUAL
    except (OSError, ValueError):
        return _USUAL


# Where sessions stand, in the words of who watches them.


_MOST_NAMES = 4
_MINUTE = timedelta(minutes=1)
_OWES = {
    Turn.OWES_ACK: "owes an ACK",
    Turn.OWES_DELTA: "owes a delta",
    Turn.TO_CORRECT: "has to correct what was refused",
}
_STYLES = {
    Phase.READY_TO_COMPILE: STYLE_OF_TYPE["COMPILED"],
    Phase.COMPLETE: QUIET,
}


def phase_piece(phase: Phase | None) -> Span:
    """The phase; what is ready stands out."""
    return Span(PHASE_WORDS[phase], _STYLES.get(phase, STRONG) if phase else QUIET)


def what_follows(status: SessionStatus, *, auto_compile: bool) -> str:
    """Why it is in that phase, and what brings it on."""
    thread, version = thread_argument(status.thread_id), status.version
    if status.phase is Phase.READY_TO_COMPILE:
        return _ready(status, auto_compile=auto_compile)
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
    return _missing(status)


def _ready(status: SessionStatus, *, auto_compile: bool) -> str:
    """Who watches compiles; only who means it goes on with what was closed."""
    thread, version = thread_argument(status.thread_id), status.version
    said = f"nothing is missing, and {counted(status.applies, 'block')} would be applied"
    if version and status.is_closed:
        reopen = f"`brenner compile --reopen {thread}`"
        return f"{said}. The session was closed with v{version.number}; to go on with it: {reopen}."
    if auto_compile:
        return f"{said}; it is compiled now."
    return f"{said}. Compile: `brenner compile {thread}`."


def _missing(status: SessionStatus) -> str:
    """Who has to do what."""
    if status.stopped:
        thread = thread_argument(status.thread_id)
        return f"nothing can be compiled; `brenner artifact verify {thread}` says why."
    by_turn = {turn: [p.name for p in status.awaited if p.turn is turn] for turn in _OWES}
    parts = [
        f"{joined(names)} {_plural(_OWES[turn], len(names))}"
        for turn, names in by_turn.items()
        if names
    ]
    return f"{', '.join(parts)}." if parts else "no delta has come in yet that could be applied."


def _plural(words: str, number: int) -> str:
    verb, _, rest = words.partition(" ")
    return words if number == 1 else f"{'have' if verb == 'has' else verb[:-1]} {rest}"


# The last line


def progress(status: SessionStatus, now: datetime) -> list[Span]:
    """The one session: its phase, who is awaited, since when."""
    pieces = [Span(f"round {status.round}  ", QUIET)] if status.phase else []
    pieces.append(phase_piece(status.phase))
    waited = [(_since(each, status), each.name) for each in status.awaited]
    for number, (since, name) in enumerate(waited[:_MOST_NAMES]):
        pieces += [Span("  waits for " if not number else ", ", QUIET), agent_piece(name)]
        pieces.append(Span(_for(now, since, " {}"), QUIET))
    if len(waited) > _MOST_NAMES:
        pieces.append(Span(f" and {len(waited) - _MOST_NAMES} more", QUIET))
    if not waited:
        pieces.append(Span(_for(now, status.last_at, "  for {}"), QUIET))
    return pieces


def _since(each: Participant, status: SessionStatus) -> datetime:
    """Since when she is waited for: since she was last asked, or has said something last."""
    asked = (ack for ack in status.open_acks if ack.debtor == each.name and _is_of(ack, each))
    first = next(asked, None)
    return first.last_sent if first else each.last_at or status.last_at


def _is_of(ack: OpenAck, each: Participant) -> bool:
    return each.kickoff in (ack.message_id, ack.last_message_id)


def _for(now: datetime, since: datetime, words: str) -> str:
    """How long, by the minute: nothing moves from second to second."""
    return words.format(span(now - since)) if now - since >= _MINUTE else ""


def overall(phases: Iterable[Phase | None], last_at: datetime | None, now: datetime) -> list[Span]:
    """All sessions: how many are in which phase, and when something came in last."""
    found: Counter[Phase] = Counter(
        phase for phase in phases if phase and phase is not Phase.COMPLETE
    )
    pieces = list(_counted(found))
    if last_at:
        pieces.append(Span(_for(now, last_at, "  last mail {} ago"), QUIET))
    return pieces


def _counted(found: Counter[Phase]) -> Iterator[Span]:
    yield Span(counted(found.total(), "open session"), PLAIN if found.total() else QUIET)
    for number, phase in enumerate(each for each in Phase if found[each]):
        style = _STYLES.get(phase, PLAIN)
        yield Span(": " if not number else ", ", QUIET)
        yield Span(f"{found[phase]} {PHASE_WORDS[phase]}", style)


def lost_piece(since: str) -> Span:
    """While the mailbox is away."""
    return Span(f"the mailbox has been away since {since}; still trying", ATTENTION)


# What happens while sessions are watched, for people: each message, and what it means.


_MOST_ROWS = 20
_INDENT = " " * 10  # as wide as a time of day and what stands after it
_QUIET_STEPS = (Step.SETTLE, Step.NOTE, Step.NOTHING)


class View:
    """Writes what happens to the standard output; the last line says how far things are."""

    def __init__(self, options: WatchOptions) -> None:
        self._options = options
        self.deadline = ACK_DEADLINE
        self._line = Line()
        self._status: SessionStatus | None = None
        self._phases: dict[str, Phase | None] = {}
        self._last_at: datetime | None = None
        self._lost_at: datetime | None = None

    def show(self, event: Event) -> None:
        """Write it, and bring the last line up to date."""
        if not isinstance(event, Quiet):
            with self._line.aside():
                _WATCH_VIEW_FORMS[type(event)](self, event)
        self._line.draw(self._progress())

    def end(self, reason: str) -> None:
        """The line goes; the rest stays."""
        self._line.erase()
        words = {"until": f"It is {PHASE_WORDS[self._options.until]}."}
        print_message(words.get(reason, "Stopped."), sys.stderr)

    def erase(self) -> None:
        """Leave the terminal as it was."""
        self._line.erase()

    def _progress(self) -> list[Span]:
        now = _watch_view_now()
        if self._lost_at:
            return [lost_piece(_clock(self._lost_at, now))]
        if self._options.thread_id is not None:
            return progress(self._status, now) if self._status else []
        return overall(self._phases.values(), self._last_at, now)

    # One event each

    def watching(self, event: Watching) -> None:
        """Where everything stands."""
        self._status = event.status
        self._phases = {each.thread_id: each.phase for each in event.sessions}
        self._last_at = max((each.last_at for each in event.sessions), default=None)
        out = sys.stdout
        if event.status:
            status = event.status
            head = [Span(escape_control(status.thread_id), STRONG), Span("  ")]
            if status.phase:
                head.append(Span(f"round {status.round}, "))
            head.append(phase_piece(status.phase))
            out.write(fold([], head, "  ", out))
            if status.phase:
                self._advise(status)
        else:
            self._list(event)
        if sys.stderr.isatty():
            until = self._options.until
            end = f" until it is {PHASE_WORDS[until]}" if until else ""
            print_message(f"Watching{end}; Ctrl-C ends it.", sys.stderr)

    def _list(self, event: Watching) -> None:
        shown = [each for each in event.sessions if each.phase and each.phase is not Phase.COMPLETE]
        shown.sort(key=lambda each: urgent_first(each, _watch_view_now(), self.deadline))
        if not shown:
            print_message("No session is open.")
            return
        sys.stdout.writelines(lines(shown[:_MOST_ROWS], _watch_view_now(), self.deadline))
        if len(shown) > _MOST_ROWS:
            print_hint(f"{len(shown) - _MOST_ROWS} more: `brenner session list`.")

    def came(self, event: Came) -> None:
        """A message: when, which, who, what; under it what that means."""
        stored, found, _, after = event.taken
        out, message = sys.stdout, stored.message
        self._note(after, message.thread_id, stored.at)
        start = [Span(f"{self._time(stored.at):<8}  ", QUIET)]
        head = [Span(f"{stored.id}", QUIET), Span("  "), agent_piece(message.sender), Span("  ")]
        for piece in (*trust_pieces(stored), *importance_pieces(stored)):
            head += [piece, Span("  ")]
        out.write(fold(start, [*head, *subject_pieces(message.subject)], _INDENT, out))
        style = QUIET if found.step in _QUIET_STEPS and not found.codes else PLAIN
        words = [Span("→ ", QUIET), *self._thread(message.thread_id), *pieces(found.words, style)]
        out.write(fold([Span(_INDENT)], words, _INDENT + "  ", out))

    def phase(self, event: PhaseChanged) -> None:
        """From one phase to another, and what that asks for."""
        status, out = event.status, sys.stdout
        before = Span(PHASE_WORDS[event.before] if event.before else "new session")
        change = [*self._thread(status.thread_id), before, Span(" → "), phase_piece(status.phase)]
        rest = f": {what_follows(status, auto_compile=self._options.auto_compile)}"
        out.write(fold([Span(_INDENT)], [*change, *pieces(rest)], _INDENT + "  ", out))

    def made(self, event: Made) -> None:
        """What `--auto-compile` did, as `brenner compile` says it, in short."""
        done = event.done
        for found in done.notes:
            place = f"message {found.message_id}" if found.message_id else "brenner"
            write_diagnostics([found], place, sys.stderr)
        words = [what_happened(done)]
        for sent in done.notified:
            to, about = joined(sent.stored.message.recipients), sent.stored.reply_to
            words.append(f"Told {to} what is wrong with message {about}.")
        refused = sum(entry.state == "refused" for entry in done.ledger)
        if refused and not done.notified:
            ledger = f"`brenner artifact ledger {thread_argument(done.thread_id)}`"
            words.append(f"{counted(refused, 'block is', 'blocks are')} refused: {ledger}.")
        out = sys.stdout
        out.write(fold([Span(_INDENT)], pieces(" ".join(words), STRONG), _INDENT + "  ", out))
        if done.failed:
            write_error(done.failed)

    def not_made(self, event: NotMade) -> None:
        """A compile that could not be done; it is said once."""
        print_message(f"{escape_control(event.thread_id)} is not compiled:", sys.stderr)
        write_error(event.error)

    def lost(self, event: Lost) -> None:
        """The mailbox is gone."""
        self._lost_at = event.at
        found = event.error.diagnostic
        self._aloud(
            event.at, f"Lost ({found.id}): {found.message} It is tried again until it answers."
        )

    def back(self, event: Back) -> None:
        """It is there again."""
        self._lost_at = None
        away = span(timedelta(seconds=event.seconds))
        self._aloud(_watch_view_now(), f"Back after {away}; what came in meanwhile follows.")

    def _aloud(self, at: datetime, words: str) -> None:
        err = sys.stderr
        start = [Span(f"{_clock(at, _watch_view_now()) if err.isatty() else exact(at)}  ", QUIET)]
        err.write(fold(start, [Span(words, ATTENTION)], _INDENT, err))

    # Parts

    def _note(self, status: SessionStatus | None, thread_id: str, at: datetime) -> None:
        self._phases[thread_id] = status.phase if status else None
        self._last_at = max(self._last_at or at, at)
        self._status = status

    def _advise(self, status: SessionStatus) -> None:
        words = what_follows(status, auto_compile=self._options.auto_compile)
        print_hint(words[:1].upper() + words[1:] if words[:1] == "n" else words)

    def _thread(self, thread_id: str) -> list[Span]:
        """Which thread, where there are several."""
        if self._options.thread_id is not None:
            return []
        return [Span(thread_id, STRONG), Span("  ")]

    def _time(self, at: datetime) -> str:
        return _clock(at, _watch_view_now()) if sys.stdout.isatty() else exact(at)


_WATCH_VIEW_FORMS: dict[type, Callable[[View, Any], None]] = {
    Watching: View.watching,
    Came: View.came,
    PhaseChanged: View.phase,
    Made: View.made,
    NotMade: View.not_made,
    Lost: View.lost,
    Back: View.back,
}


def _clock(at: datetime, now: datetime) -> str:
    """The time of day here; the day where it is another one."""
    here = at.astimezone()
    return f"{here:%H:%M:%S}" if here.date() == now.astimezone().date() else f"{here:%Y-%m-%d}"


def _watch_view_now() -> datetime:
    return datetime.now(UTC)


_COMPILING = "The compile is finished first; Ctrl-C again breaks it off."


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
        write_line({"event": "failed", **failure(error.diagnostic)})
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
    view: View | JsonView = JsonView(options) if settings.as_json else View(options)
    reason = "until"
    with Stopping() as stopping:
        try:
            with workspace_of(settings) as here, _erased(view):
                view.deadline = here.project.ack_deadline
                for event in follow(here, options, lambda: stopping.held(_COMPILING)):
                    with stopping.held():
                        if isinstance(event, Made) and event.done.message:
                            note_done()
                        view.show(event)
                        _check_reader(event)
        except KeyboardInterrupt:
            reason = "interrupted"
        stopping.no_more()
        view.end(reason)
    return FINE


@contextmanager
def _erased(view: View | JsonView) -> Iterator[None]:
    """However it ends, nothing of the last line is left."""
    try:
        yield
    finally:
        view.erase()


def _check_reader(event: Event) -> None:
    """Nobody waits for news on behalf of a reader who has gone, as `head` does."""
    if not isinstance(event, Quiet) or sys.stdout.isatty():
        return
    reader = select.poll()
    try:
        reader.register(sys.stdout.fileno(), 0)
    except (OSError, ValueError):  # no file of the system's
        return
    if any(found & (select.POLLERR | select.POLLNVAL) for _, found in reader.poll(0)):
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
