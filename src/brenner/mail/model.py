"""The types of the mailbox interface, their stable JSON forms, and the clock."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

from brenner.protocol.message_types import wants_ack
from brenner.protocol.messages import Message, PostedMessage, iso
from brenner.protocol.subjects import parse_subject


class Profile(NamedTuple):
    """What an agent states about itself when it registers."""

    name: str
    program: str = ""
    model: str = ""
    task: str = ""


class Agent(NamedTuple):
    """A registered sender and recipient of mail: an agent, or the operator."""

    name: str
    program: str
    model: str
    task: str
    registered_at: datetime


class RegistrationResult(NamedTuple):
    """A registered agent, and the earlier registration under that name, if there was one."""

    agent: Agent
    before: Agent | None


class Trust(StrEnum):
    """How the sender of a message was authenticated. The values are stable JSON values."""

    LOCAL = "local"  # written by a process with access to the store
    VERIFIED = "verified"  # the sender has presented the secret of the name
    UNVERIFIED = "unverified"  # the name is only claimed; imported mail, too


class Importance(StrEnum):
    """The urgency that the sender states."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"
    URGENT = "urgent"


class Envelope(NamedTuple):
    """Delivery data of a message that the protocol does not define.

    `cc` is the subset of the recipients who get a copy. `trust` is None if the backend does not
    report it.
    """

    importance: Importance = Importance.NORMAL
    cc: tuple[str, ...] = ()
    trust: Trust | None = Trust.LOCAL


DEFAULT_ENVELOPE = Envelope()


class StoredMessage(NamedTuple):
    """An immutable message in a mailbox.

    `arrival` is its sequence number in the store. `origin_id` is its id in the store where it was
    first stored; it differs from `id` only after an import. `acknowledges` are the messages whose
    pending acknowledgements it settled on arrival. An imported message is not local: its ids come
    from another store. `decides` records, when the message is stored, whether a decision counts as
    the operator's. It is None for a message that is no decision, and if the store did not know the
    operator. In the latter case the sender's name decides.
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
    envelope: Envelope = DEFAULT_ENVELOPE
    decides: bool | None = None

    @property
    def posted(self) -> PostedMessage:
        """The part of the message that merging needs."""
        return PostedMessage(self.id, self.at, self.message)

    @property
    def type(self) -> str | None:
        """The message type, or None for mail outside the protocol."""
        return type_of(self.message)


def type_of(message: Message) -> str | None:
    """Return the message type named by the subject's prefix, or None."""
    subject = parse_subject(message.subject)
    return subject.type if subject else None


class UnchangedSince(NamedTuple):
    """A condition of a send: no message that changes the next version has arrived since.

    `arrival` is that of the last message that the sender has read. COMPILED messages count, and
    decisions of these `operators`. With `contributions`, KICKOFF and DELTA messages count, too.
    """

    arrival: int
    operators: frozenset[str]
    contributions: bool = False


class SendResult(NamedTuple):
    """The result of a send. `is_new` is false if the idempotency key was used before."""

    stored: StoredMessage
    is_new: bool


class InboxMessage(NamedTuple):
    """A message in an agent's inbox, with the agent's own state of it.

    `is_read` is None if the backend does not report it.
    """

    stored: StoredMessage
    is_read: bool | None
    owes_ack: bool


class Delivery(NamedTuple):
    """The state of a message at one recipient."""

    recipient: str
    read_at: datetime | None
    owes_ack: bool
    acknowledged_by: int | None


class InboxFilter(NamedTuple):
    """A filter for an inbox; the default matches all messages."""

    unread: bool = False
    owed: bool = False
    types: tuple[str, ...] = ()
    thread_id: str | None = None


class InboxPage(NamedTuple):
    """Part of an inbox, newest first. `has_more` says that older messages follow."""

    messages: tuple[InboxMessage, ...]
    has_more: bool


class ThreadPage(NamedTuple):
    """Part of a thread in its order (R9).

    `position` is the number of messages in the whole thread; a conditional send compares it.
    """

    messages: tuple[StoredMessage, ...]
    position: int
    has_earlier: bool = False
    has_later: bool = False


class ThreadSummary(NamedTuple):
    """An entry of the list of threads."""

    thread_id: str
    position: int
    first_at: datetime
    last_at: datetime


class SearchPage(NamedTuple):
    """Hits of a search, latest arrivals first."""

    messages: tuple[StoredMessage, ...]
    has_more: bool


class PendingAck(NamedTuple):
    """An acknowledgement that a recipient owes for a message, counted once for all its copies.

    `first` and `last` are the oldest and the newest copy without an acknowledgement.
    """

    debtor: str
    first: StoredMessage
    last: StoredMessage
    times_sent: int


class MessageRecord(NamedTuple):
    """A message with its read marks, as exported and imported."""

    stored: StoredMessage
    read_at: tuple[tuple[str, datetime], ...] = ()


class RestoreResult(NamedTuple):
    """The result of an import. `renumbered` pairs ids of the archive with the new ids.

    `accepted` counts the messages that lead or decide in threads which existed here before.
    """

    added: int
    skipped: int
    renumbered: tuple[tuple[int, int], ...]
    new_agents: tuple[str, ...]
    accepted: int = 0


class Reservation(NamedTuple):
    """An advisory claim of an agent to files until a time; it blocks no other agent."""

    id: int
    agent: str
    pattern: str
    exclusive: bool
    reason: str
    created_at: datetime
    expires_at: datetime


class ReservationRequest(NamedTuple):
    """The patterns that an agent wants to reserve, and for how long."""

    patterns: tuple[str, ...]
    seconds: int
    exclusive: bool = True
    reason: str = ""


class ReservationResult(NamedTuple):
    """The granted reservations, which are all that was requested, and the conflicts by pattern."""

    granted: tuple[Reservation, ...]
    conflicts: tuple[tuple[str, tuple[Reservation, ...]], ...]


class ReleaseResult(NamedTuple):
    """The number of released reservations, and the time."""

    total: int
    at: datetime


# JSON forms. They are stable: keys are only ever added.


def stored_json(stored: StoredMessage) -> dict[str, object]:
    """Return a stored message as JSON. `cc` is a subset of `to`."""
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


def inbox_message_json(received: InboxMessage) -> dict[str, object]:
    """Return a message of an inbox as JSON, with the reader's state."""
    return stored_json(received.stored) | {
        "read": received.is_read,
        "owes_ack": received.owes_ack,
    }


def message_with_deliveries_json(
    stored: StoredMessage, deliveries: Iterable[Delivery]
) -> dict[str, object]:
    """Return a message as JSON, with its state at each recipient."""
    return stored_json(stored) | {"deliveries": [delivery_json(each) for each in deliveries]}


def delivery_json(delivery: Delivery) -> dict[str, object]:
    return {
        "agent": delivery.recipient,
        "read_at": iso(delivery.read_at) if delivery.read_at else None,
        "owes_ack": delivery.owes_ack,
        "acknowledged_by": delivery.acknowledged_by,
    }


def agent_json(agent: Agent) -> dict[str, object]:
    return {
        "name": agent.name,
        "program": agent.program,
        "model": agent.model,
        "task": agent.task,
        "registered_at": iso(agent.registered_at),
    }


def next_before(messages: Sequence[StoredMessage], *, has_more: bool) -> int | None:
    """Return the value of `--before` for the next page, or None on the last page."""
    return messages[-1].id if has_more and messages else None


# The clock


Clock = Callable[[], datetime]


def system_clock() -> datetime:
    return datetime.now(UTC)
