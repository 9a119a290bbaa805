"""The types of the mailbox interface, their stable JSON forms, and the clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Generic, TypeVar

from brenner.limits import MOST_LISTED_CHARACTERS
from brenner.named_tuple import NamedTuple
from brenner.protocol.message_types import wants_ack
from brenner.protocol.messages import StoredMessage, Trust, iso

_M = TypeVar("_M")


class InvalidRecordError(Exception):
    """A record of an archive, or a part of a server's answer, is invalid; the text says why."""


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


class MessagePage(NamedTuple, Generic[_M]):
    """Part of an inbox or of the hits of a search, newest first.

    `has_more` says that older ones follow.
    """

    messages: tuple[_M, ...]
    has_more: bool


InboxPage = MessagePage[InboxMessage]
SearchPage = MessagePage[StoredMessage]


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
    """Return a stored message as JSON. `cc` is a subset of `to`.

    A sealed message has `sealed`, and an empty subject, body and hash (R33).
    """
    message, envelope = stored.message, stored.envelope
    return {
        "id": stored.id,
        "at": iso(stored.at),
        "thread_id": message.thread_id,
        "from": message.sender,
        "to": list(message.recipients),
        "subject": "" if stored.is_sealed else message.subject,
        "type": stored.type,
        "ack_required": wants_ack(message),
        "reply_to": stored.reply_to,
        "acknowledges": list(stored.acknowledges),
        "hash": "" if stored.is_sealed else stored.content_hash,
        "origin_id": stored.origin_id,
        **({"sealed": True} if stored.is_sealed else {}),
        "local": envelope.trust is Trust.LOCAL,
        "trust": envelope.trust,
        "importance": envelope.importance,
        "cc": list(envelope.cc),
        "body": "" if stored.is_sealed else message.body,
    }


def beginning(text: str, most: int) -> tuple[str, bool]:
    """Return the first characters of a text, and whether something was cut."""
    return text[:most], len(text) > most


def in_list(message: dict[str, object], *, bodies: bool) -> dict[str, object]:
    """Return a message as a list shows it: its body cut, unless `bodies`.

    An agent reads every list into its context, so that one long message must not fill it.
    """
    body, is_cut = beginning(str(message["body"]), MOST_LISTED_CHARACTERS)
    if bodies or not is_cut:
        return message
    command = f"brenner mail show {message['id']} --json"
    return message | {"body": body, "body_truncated": True, "body_command": command}


def inbox_message_json(received: InboxMessage) -> dict[str, object]:
    return stored_json(received.stored) | {
        "read": received.is_read,
        "owes_ack": received.owes_ack,
    }


def message_with_deliveries_json(
    stored: StoredMessage, deliveries: Iterable[Delivery]
) -> dict[str, object]:
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
