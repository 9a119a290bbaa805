"""Where sessions stand, in the words of who watches them."""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from brenner.cli.folding import PLAIN, Piece
from brenner.cli.marks import ATTENTION, QUIET, STRONG, STYLE_OF_TYPE, agent_piece
from brenner.cli.sentences import joined, thread_argument
from brenner.protocol.messages import span
from brenner.session.model import OpenAck, Participant, Phase, SessionStatus, Turn
from brenner.session.status_text import PHASE_WORDS
from brenner.text import counted

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


def phase_piece(phase: Phase | None) -> Piece:
    """The phase; what is ready stands out."""
    return Piece(PHASE_WORDS[phase], _STYLES.get(phase, STRONG) if phase else QUIET)


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


def progress(status: SessionStatus, now: datetime) -> list[Piece]:
    """The one session: its phase, who is awaited, since when."""
    pieces = [Piece(f"round {status.round}  ", QUIET)] if status.phase else []
    pieces.append(phase_piece(status.phase))
    waited = [(_since(each, status), each.name) for each in status.awaited]
    for number, (since, name) in enumerate(waited[:_MOST_NAMES]):
        pieces += [Piece("  waits for " if not number else ", ", QUIET), agent_piece(name)]
        pieces.append(Piece(_for(now, since, " {}"), QUIET))
    if len(waited) > _MOST_NAMES:
        pieces.append(Piece(f" and {len(waited) - _MOST_NAMES} more", QUIET))
    if not waited:
        pieces.append(Piece(_for(now, status.last_at, "  for {}"), QUIET))
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


def overall(phases: Iterable[Phase | None], last_at: datetime | None, now: datetime) -> list[Piece]:
    """All sessions: how many are in which phase, and when something came in last."""
    found: Counter[Phase] = Counter(
        phase for phase in phases if phase and phase is not Phase.COMPLETE
    )
    pieces = list(_counted(found))
    if last_at:
        pieces.append(Piece(_for(now, last_at, "  last mail {} ago"), QUIET))
    return pieces


def _counted(found: Counter[Phase]) -> Iterator[Piece]:
    yield Piece(counted(found.total(), "open session"), PLAIN if found.total() else QUIET)
    for number, phase in enumerate(each for each in Phase if found[each]):
        style = _STYLES.get(phase, PLAIN)
        yield Piece(": " if not number else ", ", QUIET)
        yield Piece(f"{found[phase]} {PHASE_WORDS[phase]}", style)


def lost_piece(since: str) -> Piece:
    """While the mailbox is away."""
    return Piece(f"the mailbox has been away since {since}; still trying", ATTENTION)
