"""Where a session stands: its round, its phase, whose turn it is, and what waits for somebody.

All of it follows from the thread, so that every front end says the same. What depends on the clock
(what is overdue) is asked for with the time: `SessionStatus.overdue`.
"""

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from brenner.artifact.model import Reference
from brenner.diagnostics.model import Diagnostic
from brenner.protocol.thread_ids import ThreadKind


class Phase(StrEnum):
    """What a round waits for; the words are the stable ones of the JSON."""

    AWAITING_ACKS = "awaiting_acks"
    AWAITING_DELTAS = "awaiting_deltas"
    READY_TO_COMPILE = "ready_to_compile"
    IN_CRITIQUE = "in_critique"
    COMPLETE = "complete"


class Turn(StrEnum):
    """What an agent has to do, or has done, in the current round."""

    NOT_ASKED = "not_asked"  # in the roster, and no kickoff of this round names her
    OWES_ACK = "owes_ack"  # asked; nothing was heard of her yet
    OWES_DELTA = "owes_delta"  # has acknowledged, and contributed nothing yet
    TO_CORRECT = "to_correct"  # has sent blocks, and each of them was refused
    CONTRIBUTED = "contributed"
    PASSED = "passed"  # has acknowledged the kickoff as `Completed`, without a contribution


AWAITED = frozenset({Turn.OWES_ACK, Turn.OWES_DELTA, Turn.TO_CORRECT})


class Participant(NamedTuple):
    """An agent in the session: of the roster, asked by a kickoff, or only writing to the thread.

    `kickoff` is the message of this round that asks her. The counts are of this round: DELTA
    messages, and what becomes, or would become, of their blocks. `total` counts her DELTA messages
    of all rounds. `asides` are her messages of this round, other than ACKs, that contribute
    nothing to the artifact: answers of the wrong type among them.
    """

    name: str
    role: str | None
    is_in_roster: bool
    turn: Turn
    kickoff: int | None = None
    is_acknowledged: bool = False
    deltas: int = 0
    applied: int = 0
    refused: int = 0
    duplicate: int = 0
    total: int = 0
    asides: tuple[int, ...] = ()
    last_at: datetime | None = None

    @property
    def is_awaited(self) -> bool:
        """Whether the round waits for her."""
        return self.turn in AWAITED


class OpenAck(NamedTuple):
    """An ACK that is owed for a message, however often that was sent: as `mail pending` has it."""

    debtor: str
    message_id: int
    last_message_id: int
    times_sent: int
    type: str | None
    sender: str
    subject: str
    since: datetime
    last_sent: datetime

    def due(self, deadline: timedelta) -> datetime:
        """Until when; imported mail may bear any date."""
        last_moment = datetime.max.replace(tzinfo=UTC)
        return self.last_sent + deadline if self.last_sent < last_moment - deadline else last_moment


class OpenMessage(NamedTuple):
    """A CRITIQUE, BLOCKED, QUESTION or HANDOFF that somebody has not acknowledged yet.

    `about` is what it is about in its author's words: target, blocker, question, item. `rank` is
    its stated severity, type or urgency; empty where it says none.
    """

    message_id: int
    type: str
    sender: str
    subject: str
    at: datetime
    waiting_for: tuple[str, ...]
    about: str = ""
    rank: str = ""


class OpenCritique(NamedTuple):
    """A C item of the latest version that is neither killed nor marked as resolved."""

    item: str
    name: str
    agent: str | None
    status: str


class Refusal(NamedTuple):
    """A refused block that its author has not corrected, and that nobody has dismissed.

    `target_id` is the item as it is numbered now, where that is known (`is_item`), or else what its
    author wrote. `name` is what an ADD calls its item, as far as it could be read. `version` is the
    one that has read it; None where none has, and the next compile would refuse it.
    """

    message_id: int
    block: int
    line: int
    agent: str
    operation: str | None
    section: str | None
    target_id: str | None
    is_item: bool
    name: str | None
    version: int | None
    diagnostics: tuple[Diagnostic, ...]


class LatestVersion(NamedTuple):
    """What the latest version is, at a glance."""

    number: int
    message_id: int
    compiled_at: str
    compiled_by: str
    status: str
    errors: int
    warnings: int
    has_third_alternative: bool
    counts: tuple[tuple[str, int], ...]  # active items by section id


class SessionStatus(NamedTuple):
    """Where a session stands.

    Round N is what version N is made of. A thread without KICKOFF, DELTA and COMPILED messages is
    a conversation: it has no phase. `unread` counts the DELTA messages that no version has read,
    `applies` their blocks that would be applied now. `stopped` is why the next compile cannot be.
    `references` are those of the latest version, with the item that has them. `operator` is who
    leads the session: what is asked of others is not asked of her.
    """

    thread_id: str
    kind: ThreadKind
    question: str
    round: int
    phase: Phase | None
    version: LatestVersion | None
    participants: tuple[Participant, ...]
    open_acks: tuple[OpenAck, ...]
    critiques: tuple[OpenCritique, ...]
    messages: tuple[OpenMessage, ...]
    refusals: tuple[Refusal, ...]
    unread: int
    applies: int
    stopped: Diagnostic | None
    position: int
    first_at: datetime
    last_at: datetime
    references: tuple[tuple[str, Reference], ...] = ()
    operator: str = ""

    @property
    def is_closed(self) -> bool:
        """Whether the latest version closed the session: only `--reopen` goes on with it.

        It may have begun to go on, with a kickoff after the end; then it is not complete.
        """
        return self.version is not None and self.version.status == "closed"

    @property
    def awaited(self) -> tuple[Participant, ...]:
        """Those for whom the round waits."""
        return tuple(each for each in self.participants if each.is_awaited)

    def overdue(self, now: datetime, deadline: timedelta) -> tuple[OpenAck, ...]:
        """The ACKs that should have come by now, the oldest first."""
        return tuple(each for each in self.open_acks if each.due(deadline) < now)

    def of_type(self, name: str) -> tuple[OpenMessage, ...]:
        """The open messages of a type: what is blocked, what is asked."""
        return tuple(each for each in self.messages if each.type == name)
