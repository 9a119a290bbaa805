"""What sessions need of the operator, and in which order a list of them is read."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import compress

from brenner.session.overview import Overview, is_overdue
from brenner.session.status import Phase

_LAST_MOMENT = datetime.max.replace(tzinfo=UTC)


class Need(StrEnum):
    """What a session waits for, the most urgent first; the words are the stable ones of the JSON.

    The first eight wait for somebody; the others say no more than how far the session has come.
    """

    STOPPED = "stopped"  # no version can be compiled, until somebody decides
    BLOCKED = "blocked"
    ASKED = "asked"
    OVERDUE = "overdue"
    REFUSED = "refused"  # blocks that their authors have not corrected
    READY = "ready"  # to compile
    LATE = "late"  # blocks that came in after the end, and that only `--reopen` compiles
    HANDOFFS = "handoffs"
    AWAITING_DELTAS = "awaiting_deltas"
    AWAITING_ACKS = "awaiting_acks"
    IN_CRITIQUE = "in_critique"
    CONVERSATION = "conversations"
    COMPLETE = "complete"


_NEEDS = tuple(Need)
_RANK = {need: rank for rank, need in enumerate(_NEEDS)}
WAITING = _NEEDS[: _RANK[Need.AWAITING_DELTAS]]
_OF_PHASE: dict[Phase | None, Need] = {
    None: Need.CONVERSATION,
    Phase.AWAITING_ACKS: Need.AWAITING_ACKS,
    Phase.AWAITING_DELTAS: Need.AWAITING_DELTAS,
    Phase.READY_TO_COMPILE: Need.READY,
    Phase.IN_CRITIQUE: Need.IN_CRITIQUE,
    Phase.COMPLETE: Need.COMPLETE,
}


def needs_of(overview: Overview, now: datetime, deadline: timedelta) -> tuple[Need, ...]:
    """Everything that holds of a session, the most urgent first; at the least how far it is.

    What is stopped is not ready.
    """
    holds = (
        overview.is_stopped,
        overview.blocked > 0,
        overview.questions > 0,
        any(is_overdue(each, now, deadline) for each in overview.owed),
        overview.refusals > 0,
        overview.phase is Phase.READY_TO_COMPILE and not overview.is_stopped,
        overview.late > 0,
        overview.handoffs > 0,
    )
    found = tuple(compress(WAITING, holds))
    phase = _OF_PHASE[overview.phase]
    return found if phase is Need.READY and found else (*found, phase)


def urgent_first(
    overview: Overview, now: datetime, deadline: timedelta
) -> tuple[int, timedelta, str]:
    """The sort key of every list of sessions: the worst need, then the latest activity."""
    worst = needs_of(overview, now, deadline)[0]
    return (_RANK[worst], _LAST_MOMENT - overview.last_at, overview.thread_id)


def counts(overviews: Iterable[Overview], now: datetime, deadline: timedelta) -> dict[str, int]:
    """How many sessions there are, and of how many each need holds; a session may have several."""
    total = 0
    found = dict.fromkeys(_NEEDS, 0)
    for overview in overviews:
        total += 1
        for need in needs_of(overview, now, deadline):
            found[need] += 1
    return {"sessions": total, **{str(need): count for need, count in found.items()}}
