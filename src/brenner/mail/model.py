"""What a mailbox holds and gives out."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

from brenner.protocol.message_types import wants_ack
from brenner.protocol.messages import Message, PostedMessage, iso
from brenner.protocol.subjects import parse_subject


class Profile(NamedTuple):
    """What an agent says of itself when it registers."""

    name: str
    program: str = ""
    model: str = ""
    task: str = ""


class Agent(NamedTuple):
    """Somebody who sends and receives mail: an agent, or the operator."""

    name: str
    program: str
    model: str
    task: str
    registered_at: datetime


class Registered(NamedTuple):
    """The outcome of registering: the agent, and what was known of it before; None if it is new."""

    agent: Agent
    before: Agent | None


class Trust(StrEnum):
    """How it is known who sent a message; the words are the stable ones of the JSON."""

    LOCAL = "local"  # written by somebody who has access to the store
    VERIFIED = "verified"  # the sender has shown the secret of the name
    UNVERIFIED = "unverified"  # by whoever says so; imported mail, too


class Importance(StrEnum):
    """How urgent a sender says that a message is."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"
    URGENT = "urgent"


class Envelope(NamedTuple):
    """What stands on a message, beside what the protocol has in it.

    `cc` are those of its recipients who get it as a copy. `trust` is None where the home does not
    tell.
    """

    importance: Importance = Importance.NORMAL
    cc: tuple[str, ...] = ()
    trust: Trust | None = Trust.LOCAL


PLAIN = Envelope()


class StoredMessage(NamedTuple):
    """A message as a mailbox keeps it, for ever the same.

    `arrival` counts the messages of the store in the order in which they came in. `origin_id` is
    the id that it had where it was first stored; only import makes it differ. `acknowledges` are
    the messages whose debts it settled when it came in. A message that was imported is not local:
    its ids are those of another store. `decides` is whether a decision counts as the operator's,
    settled when it was stored; None for a message that decides nothing, and where the store was
    not told who the operator is: there decisions count by the sender's name.
    """

    id: int
    at: datetime
    message: Message
    content_hash: str
    arrival: int
    origin_id: int
    reply_to: int | None = None
    acknowledges: tuple[int, ...] = ()
    is_local: bool = True
    envelope: Envelope = PLAIN
    decides: bool | None = None

    @property
    def posted(self) -> PostedMessage:
        """What merging needs of it."""
        return PostedMessage(self.id, self.at, self.message)

    @property
    def type(self) -> str | None:
        """The message type; None for mail that is not the protocol's."""
        return type_of(self.message)


def type_of(message: Message) -> str | None:
    """The message type that the subject's prefix names."""
    subject = parse_subject(message.subject)
    return subject.type if subject else None


class Since(NamedTuple):
    """A condition of a send: no message that changes what the next version is has come in since.

    `arrival` is that of the last message that the sender has read. COMPILED messages count, and the
    decisions of these `operators`. With `contributions` KICKOFF and DELTA messages count, too.
    """

    arrival: int
    operators: frozenset[str]
    contributions: bool = False


class Sent(NamedTuple):
    """The outcome of a send. It is not new where the idempotency key was used before."""

    stored: StoredMessage
    is_new: bool


class Received(NamedTuple):
    """A message in somebody's inbox, with what is hers about it.

    `is_read` is None where the home does not tell.
    """

    stored: StoredMessage
    is_read: bool | None
    owes_ack: bool


class Delivery(NamedTuple):
    """What became of a message at one of its recipients."""

    recipient: str
    read_at: datetime | None
    owes_ack: bool
    acknowledged_by: int | None


class InboxFilter(NamedTuple):
    """What to show of an inbox; nothing given is everything."""

    unread: bool = False
    owed: bool = False
    types: tuple[str, ...] = ()
    thread_id: str | None = None


class InboxPage(NamedTuple):
    """Part of an inbox, newest first. `has_more` says that older ones were left out."""

    messages: tuple[Received, ...]
    has_more: bool


class ThreadPage(NamedTuple):
    """Part of a thread in its order (R9).

    `position` is how many messages the whole thread had when this was read: what a conditional
    send compares.
    """

    messages: tuple[StoredMessage, ...]
    position: int
    has_earlier: bool = False
    has_later: bool = False


class ThreadSummary(NamedTuple):
    """One line of the list of threads."""

    thread_id: str
    position: int
    first_at: datetime
    last_at: datetime


class SearchPage(NamedTuple):
    """Hits of a search, the latest arrivals first."""

    messages: tuple[StoredMessage, ...]
    has_more: bool


class PendingAck(NamedTuple):
    """An ACK that a recipient owes for a message, however often it was sent.

    `first` and `last` are the oldest and the newest copy that is not acknowledged.
    """

    debtor: str
    first: StoredMessage
    last: StoredMessage
    times_sent: int


class Record(NamedTuple):
    """A message on its way from one store to another, with who has read it and when."""

    stored: StoredMessage
    read_at: tuple[tuple[str, datetime], ...] = ()


class Restored(NamedTuple):
    """What an import did. `renumbered` pairs the id in the archive with the one given here.

    `accepted` counts the messages that lead or decide in threads which were here before.
    """

    added: int
    skipped: int
    renumbered: tuple[tuple[int, int], ...]
    new_agents: tuple[str, ...]
    accepted: int = 0


class Reservation(NamedTuple):
    """Files that an agent says to be at work on, until a time; nobody is kept from them."""

    id: int
    agent: str
    pattern: str
    exclusive: bool
    reason: str
    created_at: datetime
    expires_at: datetime


class ReservationRequest(NamedTuple):
    """What an agent would like to reserve, and for how long."""

    patterns: tuple[str, ...]
    seconds: int
    exclusive: bool = True
    reason: str = ""


class ReservationResult(NamedTuple):
    """All that was asked for is granted; `conflicts` are the files that others have, by pattern."""

    granted: tuple[Reservation, ...]
    conflicts: tuple[tuple[str, tuple[Reservation, ...]], ...]


class Released(NamedTuple):
    """How many reservations ended before their time, and when."""

    total: int
    at: datetime


# Mail as JSON: the stable forms of a message and an agent. Keys are only ever added.


def stored_json(stored: StoredMessage) -> dict[str, object]:
    """A message as the store has it. `cc` are those of `to` who get it as a copy."""
    message, envelope = stored.message, stored.envelope
    return {
        "id": stored.id,
        "at": iso(stored.at),
        "thread_id": message.thread_id,
        "from": message.sender,
        "to": list(message.recipients),
        "subject": message.subject,
        "type": stored.type,
        "ack_required": wants_ack(message),
        "reply_to": stored.reply_to,
        "acknowledges": list(stored.acknowledges),
        "hash": stored.content_hash,
        "origin_id": stored.origin_id,
        "local": envelope.trust is Trust.LOCAL,
        "trust": envelope.trust,
        "importance": envelope.importance,
        "cc": list(envelope.cc),
        "body": message.body,
    }


def received_json(received: Received) -> dict[str, object]:
    """A message in an inbox, with what is its reader's about it."""
    return stored_json(received.stored) | {
        "read": received.is_read,
        "owes_ack": received.owes_ack,
    }


def delivered_json(stored: StoredMessage, deliveries: Iterable[Delivery]) -> dict[str, object]:
    """A message with what became of it at each recipient."""
    return stored_json(stored) | {"deliveries": [delivery_json(each) for each in deliveries]}


def delivery_json(delivery: Delivery) -> dict[str, object]:
    """What became of a message at one recipient."""
    return {
        "agent": delivery.recipient,
        "read_at": iso(delivery.read_at) if delivery.read_at else None,
        "owes_ack": delivery.owes_ack,
        "acknowledged_by": delivery.acknowledged_by,
    }


def agent_json(agent: Agent) -> dict[str, object]:
    """An agent as it registered."""
    return {
        "name": agent.name,
        "program": agent.program,
        "model": agent.model,
        "task": agent.task,
        "registered_at": iso(agent.registered_at),
    }


def next_before(messages: Sequence[StoredMessage], *, has_more: bool) -> int | None:
    """What to give as `--before` for the next page, where there is one."""
    return messages[-1].id if has_more and messages else None


# Where a store's times come from.


Clock = Callable[[], datetime]


def system_clock() -> datetime:
    """The time now."""
    return datetime.now(UTC)
