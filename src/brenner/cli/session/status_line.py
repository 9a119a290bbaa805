"""A session in one line, for a prompt or a status bar: no colour, at most 80 columns."""

from datetime import datetime, timedelta

from brenner.cli.folding import Piece, columns
from brenner.cli.mail.table import cut
from brenner.protocol.grammar import RESEARCH_THREAD_ID
from brenner.session.overview import Need, Overview, needs_of
from brenner.session.status_text import PHASE_WORDS
from brenner.text import visible

_MOST_COLUMNS = 80
_MOST_ID = 28
_BETWEEN, _MORE = " · ", " …"


def line(overview: Overview, now: datetime, deadline: timedelta) -> str:
    """`cell-fate r2 v1 awaiting deltas: RedSky, GreenDog · 1 overdue`."""
    head = [short_id(overview.thread_id)]
    if overview.phase:
        head.append(f"r{overview.round}")
    if overview.version is not None:
        head.append(f"v{overview.version}")
    head.append(PHASE_WORDS[overview.phase])
    said = " ".join(head)
    tail = _fitting(_open(overview, now, deadline), _MOST_COLUMNS - columns(said))
    return said + _names(overview, _MOST_COLUMNS - columns(said) - columns(tail)) + tail


def _fitting(parts: list[str], room: int) -> str:
    """As many as there is room for; a sign says that there are more."""
    whole = "".join(f"{_BETWEEN}{each}" for each in parts)
    if columns(whole) <= room:
        return whole
    kept = ""
    for each in parts:
        more = f"{kept}{_BETWEEN}{each}"
        if columns(more) + columns(_MORE) > room:
            break
        kept = more
    return kept + _MORE


def short_id(thread_id: str) -> str:
    """What tells a session from others in a line: of a research session its slug."""
    match = RESEARCH_THREAD_ID.fullmatch(thread_id)
    [piece] = cut([Piece(visible(match[2] if match else thread_id))], _MOST_ID)
    return piece.text


def _open(overview: Overview, now: datetime, deadline: timedelta) -> list[str]:
    """What waits, the most urgent first; how far the session is stands before it."""
    counts = {
        Need.BLOCKED: overview.blocked,
        Need.ASKED: overview.questions,
        Need.OVERDUE: len(overview.overdue(now, deadline)),
        Need.REFUSED: overview.refusals,
        Need.LATE: overview.late,
        Need.HANDOFFS: overview.handoffs,
    }
    needs = needs_of(overview, now, deadline)
    stopped = [str(Need.STOPPED)] if Need.STOPPED in needs else []
    return stopped + [f"{count} {_word(need, count)}" for need, count in counts.items() if count]


def _word(need: Need, count: int) -> str:
    return "handoff" if need is Need.HANDOFFS and count == 1 else str(need)


def _names(overview: Overview, room: int) -> str:
    """For whom the round waits: as many names as there is room for, and how many more."""
    names = [visible(each.name) for each in overview.awaited]
    for shown in range(len(names), 0, -1):
        more = f" +{len(names) - shown}" if shown < len(names) else ""
        said = f": {', '.join(names[:shown])}{more}"
        if columns(said) <= room:
            return said
    return ""
