"""A session in one row: what a list of all sessions shows, and what it refers to.

It follows from the thread alone, so that it can be kept until the thread grows.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from brenner.artifact.model import Killed, Reference
from brenner.protocol.thread_ids import ThreadKind
from brenner.session.status import Phase, Turn


class Awaited(NamedTuple):
    """Somebody for whom the round waits, and why."""

    name: str
    turn: Turn


class Owed(NamedTuple):
    """An ACK that is owed, and since when it was last asked for."""

    debtor: str
    message_id: int
    last_sent: datetime


class Overview(NamedTuple):
    """One row. The counts are of what is open; `errors` are those of lint, None before a version.

    `position` is how many messages the thread has. `items` are the IDs of all items of the latest
    version; `references` what they refer to, those of killed items among them; `killed` who killed
    which of them, and why; `to_correct` whose blocks are refused and not corrected yet.
    """

    thread_id: str
    kind: ThreadKind
    question: str
    round: int
    phase: Phase | None
    version: int | None
    errors: int | None
    awaited: tuple[Awaited, ...]
    owed: tuple[Owed, ...]
    blocked: int
    questions: int
    handoffs: int
    critiques: int
    refusals: int
    unread: int
    applies: int
    is_stopped: bool
    position: int
    first_at: datetime
    last_at: datetime
    items: tuple[str, ...] = ()
    references: tuple[tuple[str, Reference], ...] = ()
    killed: tuple[tuple[str, Killed], ...] = ()
    to_correct: tuple[str, ...] = ()

    @property
    def late(self) -> int:
        """How many blocks came in after the end that would be applied."""
        return self.applies if self.phase is Phase.COMPLETE else 0

    def overdue(self, now: datetime, deadline: timedelta) -> tuple[Owed, ...]:
        """The ACKs that should have come by now, the oldest first."""
        late = [each for each in self.owed if is_overdue(each, now, deadline)]
        return tuple(sorted(late, key=lambda each: (each.last_sent, each.message_id)))


def is_overdue(owed: Owed, now: datetime, deadline: timedelta) -> bool:
    """Whether it should have come by now; imported mail may bear any date."""
    return owed.last_sent < now - deadline
