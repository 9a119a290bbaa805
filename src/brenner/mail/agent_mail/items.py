"""What the lists of a server hold, taken apart. What is not as it must be is never passed over."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple, NoReturn

from brenner.mail.model import Agent, Envelope, Importance, Trust
from brenner.protocol.message_types import wants_ack
from brenner.protocol.messages import Message

Fields = Mapping[str, object]

# Servers want a program and a model of everybody. Who names none, an operator, is shown as this.
UNSAID = "unknown"


class Unreadable(Exception):
    """A part of an answer is not what it must be; the text says what."""


class Item(NamedTuple):
    """A message in a list. Not every list has the bodies, and few tell the recipients.

    A mention is no delivery: a server may show in an inbox what only speaks of its owner. Who is
    shown a copy there knows that of herself, not of others.
    """

    id: int
    project: int | None
    message: Message
    at: datetime
    tells_recipients: bool
    is_mention: bool
    envelope: Envelope
    is_copy: bool


def fields_of(document: object, what: str) -> Fields:
    """An object of JSON."""
    return document if isinstance(document, Mapping) else _fail(f"{what} is not an object")


def list_of(document: object, what: str) -> list[object]:
    """A list of JSON."""
    return document if isinstance(document, list) else _fail(f"{what} is not a list")


def text_of(fields: Fields, name: str) -> str:
    """A text that can be written down."""
    value = fields.get(name)
    if not isinstance(value, str):
        _fail(f"`{name}` is not a text")
    try:
        value.encode()
    except UnicodeEncodeError:
        _fail(f"`{name}` holds half of a character")
    return value


def number_of(fields: Fields, name: str) -> int:
    """A number without a fraction."""
    value = fields.get(name)
    if isinstance(value, bool) or not isinstance(value, int):
        _fail(f"`{name}` is not a number")
    return value


def item_of(document: object) -> Item:
    """A message of a list."""
    fields = fields_of(document, "a message")
    number = number_of(fields, "id")
    # A message that was sent into no thread begins one, which is called after it.
    thread_id = text_of(fields, "thread_id") if fields.get("thread_id") else str(number)
    message = Message(
        thread_id=thread_id,
        sender=text_of(fields, "from"),
        recipients=_named(fields, "to", "cc", "bcc"),
        subject=text_of(fields, "subject"),
        body=text_of(fields, "body_md") if "body_md" in fields else "",
        ack_required=bool(fields.get("ack_required")),
    )
    return Item(
        id=number,
        project=None if fields.get("project_id") is None else number_of(fields, "project_id"),
        message=as_kept(message),
        at=time_of(fields, "created_ts"),
        tells_recipients="to" in fields,
        is_mention="source" in fields,
        envelope=_envelope(fields),
        is_copy=fields.get("kind") == "cc",
    )


def agent_of(document: object) -> Agent:
    """An agent. One that was only written to has said nothing of itself yet."""
    fields = fields_of(document, "an agent")
    name, at = text_of(fields, "name"), time_of(fields, "inception_ts")
    if fields.get("is_placeholder") is True:
        return Agent(name, "", "", "", at)
    said = [text_of(fields, each) for each in ("program", "model")]
    program, model = ("" if each == UNSAID else each for each in said)
    return Agent(name, program, model, text_of(fields, "task_description"), at)


def as_kept(message: Message) -> Message:
    """The message as a server has it, the same for all who look.

    It tells recipients in an order of its own, and of an ACK only whether it is wanted: what is
    the type's default counts as left to the type.
    """
    unsaid = message._replace(recipients=tuple(sorted(message.recipients)), ack_required=None)
    wanted = wants_ack(message)
    return unsaid if wants_ack(unsaid) == wanted else unsaid._replace(ack_required=wanted)


def envelope_as_kept(envelope: Envelope) -> Envelope:
    """The envelope as a server has it: in its own order, and without who vouches for the sender."""
    return envelope._replace(cc=tuple(sorted(envelope.cc)), trust=None)


def _envelope(fields: Fields) -> Envelope:
    """What stands on it, as far as that is told. Words that we do not have say nothing to us."""
    importance, trust = str(fields.get("importance")), str(fields.get("trust"))
    return Envelope(
        Importance(importance) if importance in tuple(Importance) else Importance.NORMAL,
        tuple(sorted(_named(fields, "cc"))),
        Trust(trust) if trust in tuple(Trust) else None,
    )


def _named(fields: Fields, *kinds: str) -> tuple[str, ...]:
    """Openly, as a copy, or unseen by others: all of them have got it."""
    named = [list_of(fields.get(kind) or [], f"`{kind}`") for kind in kinds]
    everybody = [each for names in named for each in names]
    return tuple(dict.fromkeys(text_of({"name": each}, "name") for each in everybody))


def time_of(fields: Fields, name: str) -> datetime:
    """A time; one that says nothing of its zone is UTC."""
    try:
        at = datetime.fromisoformat(text_of(fields, name))
    except ValueError:
        _fail(f"`{name}` is not a time")
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def _fail(reason: str) -> NoReturn:
    raise Unreadable(reason)
