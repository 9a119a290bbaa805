"""What happens while sessions are watched, for people: each message, and what it means."""

import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from brenner.cli.failures import write_error
from brenner.cli.folding import PLAIN, Piece, fold
from brenner.cli.mail.standing import importance_pieces, trust_pieces
from brenner.cli.marks import ATTENTION, QUIET, STRONG, agent_piece, subject_pieces
from brenner.cli.output import write_diagnostics
from brenner.cli.sentences import advise, joined, pieces, say, thread_argument
from brenner.cli.session.list_rows import lines
from brenner.cli.session.watch_line import Line
from brenner.cli.session.watch_words import (
    lost_piece,
    overall,
    phase_piece,
    progress,
    what_follows,
)
from brenner.config import ACK_DEADLINE
from brenner.protocol.messages import exact, span
from brenner.services.compile import what_happened
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
from brenner.session.model import Phase, SessionStatus
from brenner.session.overview import urgent_first
from brenner.session.routing import Step
from brenner.session.status_text import PHASE_WORDS
from brenner.text import counted, visible

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
                _FORMS[type(event)](self, event)
        self._line.draw(self._progress())

    def end(self, reason: str) -> None:
        """The line goes; the rest stays."""
        self._line.erase()
        words = {"until": f"It is {PHASE_WORDS[self._options.until]}."}
        say(words.get(reason, "Stopped."), sys.stderr)

    def erase(self) -> None:
        """Leave the terminal as it was."""
        self._line.erase()

    def _progress(self) -> list[Piece]:
        now = _now()
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
            head = [Piece(visible(status.thread_id), STRONG), Piece("  ")]
            if status.phase:
                head.append(Piece(f"round {status.round}, "))
            head.append(phase_piece(status.phase))
            out.write(fold([], head, "  ", out))
            if status.phase:
                self._advise(status)
        else:
            self._list(event)
        if sys.stderr.isatty():
            until = self._options.until
            end = f" until it is {PHASE_WORDS[until]}" if until else ""
            say(f"Watching{end}; Ctrl-C ends it.", sys.stderr)

    def _list(self, event: Watching) -> None:
        shown = [each for each in event.sessions if each.phase and each.phase is not Phase.COMPLETE]
        shown.sort(key=lambda each: urgent_first(each, _now(), self.deadline))
        if not shown:
            say("No session is open.")
            return
        sys.stdout.writelines(lines(shown[:_MOST_ROWS], _now(), self.deadline))
        if len(shown) > _MOST_ROWS:
            advise(f"{len(shown) - _MOST_ROWS} more: `brenner session list`.")

    def came(self, event: Came) -> None:
        """A message: when, which, who, what; under it what that means."""
        stored, found, _, after = event.taken
        out, message = sys.stdout, stored.message
        self._note(after, message.thread_id, stored.at)
        start = [Piece(f"{self._time(stored.at):<8}  ", QUIET)]
        head = [Piece(f"{stored.id}", QUIET), Piece("  "), agent_piece(message.sender), Piece("  ")]
        for piece in (*trust_pieces(stored), *importance_pieces(stored)):
            head += [piece, Piece("  ")]
        out.write(fold(start, [*head, *subject_pieces(message.subject)], _INDENT, out))
        style = QUIET if found.step in _QUIET_STEPS and not found.codes else PLAIN
        words = [Piece("→ ", QUIET), *self._thread(message.thread_id), *pieces(found.words, style)]
        out.write(fold([Piece(_INDENT)], words, _INDENT + "  ", out))

    def phase(self, event: PhaseChanged) -> None:
        """From one phase to another, and what that asks for."""
        status, out = event.status, sys.stdout
        before = Piece(PHASE_WORDS[event.before] if event.before else "new session")
        change = [*self._thread(status.thread_id), before, Piece(" → "), phase_piece(status.phase)]
        rest = f": {what_follows(status, auto_compile=self._options.auto_compile)}"
        out.write(fold([Piece(_INDENT)], [*change, *pieces(rest)], _INDENT + "  ", out))

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
        out.write(fold([Piece(_INDENT)], pieces(" ".join(words), STRONG), _INDENT + "  ", out))
        if done.failed:
            write_error(done.failed)

    def not_made(self, event: NotMade) -> None:
        """A compile that could not be done; it is said once."""
        say(f"{visible(event.thread_id)} is not compiled:", sys.stderr)
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
        self._aloud(_now(), f"Back after {away}; what came in meanwhile follows.")

    def _aloud(self, at: datetime, words: str) -> None:
        err = sys.stderr
        start = [Piece(f"{_clock(at, _now()) if err.isatty() else exact(at)}  ", QUIET)]
        err.write(fold(start, [Piece(words, ATTENTION)], _INDENT, err))

    # Parts

    def _note(self, status: SessionStatus | None, thread_id: str, at: datetime) -> None:
        self._phases[thread_id] = status.phase if status else None
        self._last_at = max(self._last_at or at, at)
        self._status = status

    def _advise(self, status: SessionStatus) -> None:
        words = what_follows(status, auto_compile=self._options.auto_compile)
        advise(words[:1].upper() + words[1:] if words[:1] == "n" else words)

    def _thread(self, thread_id: str) -> list[Piece]:
        """Which thread, where there are several."""
        if self._options.thread_id is not None:
            return []
        return [Piece(thread_id, STRONG), Piece("  ")]

    def _time(self, at: datetime) -> str:
        return _clock(at, _now()) if sys.stdout.isatty() else exact(at)


_FORMS: dict[type, Callable[[View, Any], None]] = {
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


def _now() -> datetime:
    return datetime.now(UTC)
