"""Messages and agents as the plain values of an archive, whatever its form: checked when read.

Everything in an archive is somebody else's word. One fault is told per record, and the record is
not used: half a message would give other versions of an artifact.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NoReturn

from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.model import Diagnostic
from brenner.limits import MOST_BODY_BYTES, MOST_PROFILE_BYTES
from brenner.mail.model import Agent, Envelope, Importance, Record, Stored, Trust
from brenner.protocol.grammar import AGENT_NAME, ISO_TIME
from brenner.protocol.messages import Message, content_hash, iso

VERSION = 1
Fields = Mapping[str, object]
Item = Agent | Record | Diagnostic
# With these nothing of the archive is read
HOPELESS = (codes.NOT_AN_ARCHIVE, codes.ARCHIVE_TOO_NEW)

# The largest whole number that every reader of JSON keeps exactly
_MOST_ID = 2**53 - 1
# Finer than the store's clock: it could not be kept
_TOO_FINE = re.compile(r"[.,][0-9]{7}")


class UnsoundError(Exception):
    """What is wrong with a record, in words."""


def unsound(reason: str) -> NoReturn:
    """Give a record up."""
    raise UnsoundError(reason)


# Writing


def agent_fields(agent: Agent) -> dict[str, object]:
    """An agent as plain values."""
    return {
        "agent": agent.name,
        "program": agent.program,
        "model": agent.model,
        "task": agent.task,
        "registered_at": iso(agent.registered_at),
    }


def record_fields(record: Record) -> dict[str, object]:
    """A message as plain values."""
    stored, message = record.stored, record.stored.message
    return {
        "id": stored.id,
        "origin_id": stored.origin_id,
        "at": iso(stored.at),
        "hash": stored.content_hash,
        "thread_id": message.thread_id,
        "from": message.sender,
        "to": list(message.recipients),
        "subject": message.subject,
        "body": message.body,
        "ack_required": message.ack_required,
        "reply_to": stored.reply_to,
        "acknowledges": list(stored.acknowledges),
        "read": {name: iso(at) for name, at in record.read_at},
        "local": stored.is_local,
        **({} if stored.decides is None else {"decides": stored.decides}),
        **_envelope_fields(stored.envelope),
    }


def _envelope_fields(envelope: Envelope) -> dict[str, object]:
    """What is as on most messages, or nobody can tell, is left out."""
    fields: dict[str, object] = {}
    if envelope.importance is not Importance.NORMAL:
        fields["importance"] = str(envelope.importance)
    if envelope.cc:
        fields["cc"] = list(envelope.cc)
    if envelope.trust is not None:
        fields["trust"] = str(envelope.trust)
    return fields


# Reading


class Reader:
    """Checks the records of one archive, one after the other.

    Two messages may not have one id: nobody could say which of them a link means. A message may
    not be newer than `latest`: it would stay the last of its thread until that time has come.
    """

    def __init__(self, latest: datetime | None = None) -> None:
        self._latest = latest
        self._ids: set[int] = set()
        self._agents: set[str] = set()

    def agent(self, fields: Fields, line: int) -> Agent | Diagnostic:
        """The agent, or what is wrong with it."""
        try:
            agent = _agent(fields)
            if agent.name in self._agents:
                unsound(f"the agent `{agent.name}` is there a second time")
        except UnsoundError as fault:
            return codes.INVALID_RECORD.at(line, reason=str(fault))
        self._agents.add(agent.name)
        return agent

    def record(self, fields: Fields, line: int) -> Record | Diagnostic:
        """The message, or what is wrong with it."""
        try:
            record = _record(fields, len(self._ids) + 1)
            stored = record.stored
            if stored.content_hash != content_hash(stored.message):
                return codes.HASH_MISMATCH.at(line, id=stored.id)
            if stored.id in self._ids:
                unsound(f"another message of this archive has the id {stored.id}, too")
            if self._latest and stored.at > self._latest:
                unsound(f"`at` is {iso(stored.at)}, which is in the future")
        except UnsoundError as fault:
            return codes.INVALID_RECORD.at(line, reason=str(fault))
        self._ids.add(stored.id)
        return record


def _agent(fields: Fields) -> Agent:
    return Agent(
        name=_name(fields.get("agent"), "agent"),
        program=_text(fields, "program", MOST_PROFILE_BYTES),
        model=_text(fields, "model", MOST_PROFILE_BYTES),
        task=_text(fields, "task", MOST_PROFILE_BYTES),
        registered_at=_time(_given(fields, "registered_at"), "registered_at"),
    )


def _record(fields: Fields, arrival: int) -> Record:
    """The message. What may be left out says nothing, or the same as something else."""
    number = _id(_given(fields, "id"), "id")
    message = Message(
        thread_id=_text(fields, "thread_id"),
        sender=_name(_given(fields, "from"), "from"),
        recipients=_recipients(fields),
        subject=_text(fields, "subject"),
        body=_text(fields, "body"),
        ack_required=_flag(fields, "ack_required"),
    )
    reply_to = fields.get("reply_to")
    _flag(fields, "local")
    stored = Stored(
        id=number,
        at=_time(_given(fields, "at"), "at"),
        message=message,
        content_hash=_text(fields, "hash"),
        arrival=arrival,
        origin_id=_id(fields.get("origin_id", number), "origin_id"),
        reply_to=None if reply_to is None else _id(reply_to, "reply_to"),
        acknowledges=_acknowledges(fields),
        is_local=False,
        envelope=_envelope(fields, message.recipients),
        decides=_flag(fields, "decides"),
    )
    return Record(stored, _read_at(fields, message.recipients))


def _given(fields: Fields, key: str) -> object:
    return fields[key] if key in fields else unsound(f"`{key}` is missing")


def _text(fields: Fields, key: str, most: int = MOST_BODY_BYTES) -> str:
    value = _given(fields, key)
    if not isinstance(value, str):
        unsound(f"`{key}` is not a text")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        unsound(f"`{key}` holds half of a character")
    if "\0" in value:
        unsound(f"`{key}` holds a NUL character")
    if size > most:
        unsound(f"`{key}` is longer than {most:,} bytes")
    return value


def _name(value: object, key: str) -> str:
    if not isinstance(value, str):
        unsound(f"`{key}` is not a name")
    if not AGENT_NAME.fullmatch(value):
        unsound(f"`{key}` holds `{value}`, which is not an agent's name")
    return value


def _id(value: object, key: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MOST_ID:
        unsound(f"`{key}` is not a whole number from 1 to {_MOST_ID}")
    return value


def _flag(fields: Fields, key: str) -> bool | None:
    value = fields.get(key)
    if not (value is None or isinstance(value, bool)):
        unsound(f"`{key}` is neither true nor false")
    return value


def _time(value: object, key: str) -> datetime:
    if isinstance(value, str) and ISO_TIME.fullmatch(value) and not _TOO_FINE.search(value):
        try:
            at = datetime.fromisoformat(value)
            if at.tzinfo:
                return at.astimezone(UTC)
        except (ValueError, OverflowError):
            pass
    unsound(f"`{key}` is not a time with its zone, such as `2025-12-30T14:22:05Z`")


def _recipients(fields: Fields) -> tuple[str, ...]:
    names = [_name(value, "to") for value in _list(_given(fields, "to"), "to")]
    if len(set(names)) < len(names):
        unsound("`to` holds a name twice")
    return tuple(names)


def _envelope(fields: Fields, recipients: tuple[str, ...]) -> Envelope:
    """What stands on it. That a sender was verified elsewhere is somebody else's word."""
    words = tuple(Importance)
    importance = fields.get("importance", Importance.NORMAL)
    if not (isinstance(importance, str) and importance in words):
        unsound(f"`importance` is none of {', '.join(words)}")
    if "trust" in fields and fields["trust"] not in tuple(Trust):
        unsound(f"`trust` is none of {', '.join(Trust)}")
    copies = [_name(value, "cc") for value in _list(fields.get("cc", []), "cc")]
    if len(set(copies)) < len(copies):
        unsound("`cc` holds a name twice")
    for name in copies:
        if name not in recipients:
            unsound(f"`cc` names `{name}`, who did not get the message")
    return Envelope(Importance(importance), tuple(copies), Trust.UNVERIFIED)


def _acknowledges(fields: Fields) -> tuple[int, ...]:
    key = "acknowledges"
    ids = [_id(value, key) for value in _list(fields.get(key, []), key)]
    if len(set(ids)) < len(ids):
        unsound(f"`{key}` holds an id twice")
    return tuple(ids)


def _list(value: object, key: str) -> list[object]:
    return value if isinstance(value, list) else unsound(f"`{key}` is not a list")


def _read_at(fields: Fields, recipients: tuple[str, ...]) -> tuple[tuple[str, datetime], ...]:
    """Who has read the message; only somebody who got it can have."""
    value = fields.get("read", {})
    if not isinstance(value, dict):
        unsound("`read` is not an object of names and times")
    known = set(recipients)
    for name in value:
        if name not in known:
            unsound(f"`read` names `{name}`, who did not get the message")
    return tuple((name, _time(at, "read")) for name, at in value.items())
