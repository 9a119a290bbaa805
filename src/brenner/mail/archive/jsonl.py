"""JSON lines: an archive that programs read easily and that says everything.

A header, the agents, the messages in the order of their arrival, and a closing line that counts
them: one object on each line. Without the closing line nobody could tell that some are missing.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import NoReturn

from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.model import Diagnostic
from brenner.limits import (
    MOST_BODY_BYTES,
    MOST_NUMBER_DIGITS,
    MOST_PROFILE_BYTES,
    MOST_RECORD_BYTES,
)
from brenner.mail.model import Agent, Envelope, Importance, Record, StoredMessage, Trust
from brenner.protocol.grammar import AGENT_NAME, ISO_TIME
from brenner.protocol.messages import Message, content_hash, iso

# Messages and agents as the plain values of an archive, whatever its form: checked when read.
#
# Everything in an archive is somebody else's word. One fault is told per record, and the record is
# not used: half a message would give other versions of an artifact.


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
    stored = StoredMessage(
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


_FORMAT = "brenner-mail"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_KINDS = ("agent", "id", "end")  # what an agent, a message and the closing line alone have
_SECOND_ARCHIVE = "a second archive begins here; import one after the other"
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
# Outside its texts a record has little; each byte there may cost twenty of memory
_MOST_OUTSIDE_TEXTS = 8 * 1024 * 1024


def encode(agents: Iterable[Agent], records: Iterable[Record]) -> Iterator[str]:
    """The lines of an archive, each with its line feed."""
    yield _line({"format": _FORMAT, "version": VERSION})
    for agent in agents:
        yield _line(agent_fields(agent))
    count = 0
    for record in records:
        count += 1
        yield _line(record_fields(record))
    yield _line({"end": count})


def _line(fields: Fields) -> str:
    """One object. What a terminal would obey, or an editor take for the end of a line, is spelled
    out, so that the file can be looked at without harm.
    """
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    if not text.isprintable():
        text = "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text)
    return text + "\n"


def decode(lines: Iterable[bytes], name: str, latest: datetime | None = None) -> Iterator[Item]:
    """What each line holds, or what is wrong with it. `name` is what the archive is called.

    A message that is newer than `latest` is wrong.
    """
    filled = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    number, first = next(filled, (1, b""))
    refusal = _check_header(first.removeprefix(_BYTE_ORDER_MARK), number, name)
    if refusal:
        yield refusal
        return
    archive = _Archive(latest)
    item: Item | None = None
    for number, line in filled:
        if archive.is_closed:
            yield codes.INVALID_RECORD.at(number, reason=_why_after_the_end(line))
            return
        item = archive.take(line, number)
        if item is not None:
            yield item
    if not archive.is_closed and not isinstance(item, Diagnostic):
        reason = "no closing line follows it; the file was probably cut short"
        yield codes.INVALID_RECORD.at(number, reason=reason)


def _check_header(line: bytes, number: int, name: str) -> Diagnostic | None:
    """Why the archive cannot be read at all."""
    try:
        fields = _object(line)
    except UnsoundError:
        fields = {}
    version = fields.get("version") if fields.get("format") == _FORMAT else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        return codes.NOT_AN_ARCHIVE.at(path=name, reason=_other_form(line))
    if version > VERSION:
        return codes.ARCHIVE_TOO_NEW.at(number, path=name, version=version, known=VERSION)
    return None


def _other_form(line: bytes) -> str:
    if not line:
        return "it is empty"
    if line.startswith(b"From "):
        return "it looks like an mbox, not like JSON lines"
    return f'its first line is not `{{"format":"{_FORMAT}","version":{VERSION}}}`'


class _Archive:
    """Takes the lines after the header one by one, and sees whether all of them are there."""

    def __init__(self, latest: datetime | None) -> None:
        self.is_closed = False
        self._reader = Reader(latest)
        self._messages = 0
        self._is_sound = True

    def take(self, line: bytes, number: int) -> Item | None:
        """What a line holds, or what is wrong with it; nothing of a closing line that is right."""
        try:
            item = self._item(_object(line), number)
        except UnsoundError as fault:
            item = codes.INVALID_RECORD.at(number, reason=str(fault))
        self._is_sound &= not isinstance(item, Diagnostic)
        return item

    def _item(self, fields: Fields, number: int) -> Item | None:
        if fields.get("format") == _FORMAT:
            unsound(_SECOND_ARCHIVE)
        kinds = [f"`{key}`" for key in _KINDS if key in fields]
        if len(kinds) > 1:  # whichever it was taken for, the other would be lost
            unsound(f"it has {' and '.join(kinds)}, but a line is one thing only")
        if "agent" in fields:
            if self._messages:
                unsound("an agent stands after a message; agents come first")
            return self._reader.agent(fields, number)
        if "end" in fields:
            self.is_closed = True
            self._check_count(fields["end"])
            return None
        self._messages += 1
        return self._reader.record(fields, number)

    def _check_count(self, count: object) -> None:
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            unsound("`end` is not a number of messages")
        # Where a line could not be read, that is told, and nobody knows what it was.
        if self._is_sound and count != self._messages:
            unsound(f"`end` says that there are {count} messages, but here are {self._messages}")


def _why_after_the_end(line: bytes) -> str:
    try:
        is_header = _object(line).get("format") == _FORMAT
    except UnsoundError:
        is_header = False
    return _SECOND_ARCHIVE if is_header else "it stands after the closing line"


def _object(line: bytes) -> Fields:
    """The object on a line: RFC 8259 and nothing more (R5)."""
    _check_size(line)
    try:
        value = _DECODER.decode(line.decode())
    except (ValueError, RecursionError) as error:
        if not line.endswith(b"\n"):
            unsound("it breaks off in the middle; the file was probably cut short")
        if isinstance(error, json.JSONDecodeError):
            unsound(f"it is not JSON from character {error.pos + 1} on")
        is_text = not isinstance(error, UnicodeDecodeError)
        unsound("its JSON goes beyond what is read" if is_text else "it is not UTF-8")
    return value if isinstance(value, dict) else unsound("it is not a JSON object")


def _check_size(line: bytes) -> None:
    if len(line) > MOST_RECORD_BYTES:
        unsound(f"it is longer than {MOST_RECORD_BYTES:,} bytes")
    if len(line) > _MOST_OUTSIDE_TEXTS and len(_STRING.sub(b"", line)) > _MOST_OUTSIDE_TEXTS:
        unsound(f"more than {_MOST_OUTSIDE_TEXTS:,} bytes of it are outside its texts")


def _members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members: dict[str, object] = {}
    for key, value in pairs:
        if key in members:
            unsound(f"it has the key `{key}` twice")
        members[key] = value
    return members


def _integer(digits: str) -> int:
    if len(digits) > MOST_NUMBER_DIGITS:
        unsound(f"a number in it has more than {MOST_NUMBER_DIGITS} digits")
    return int(digits)


def _refuse(constant: str) -> NoReturn:
    unsound(f"`{constant}` is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_members, parse_int=_integer, parse_constant=_refuse)
