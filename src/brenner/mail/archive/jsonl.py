"""The JSON Lines archive of mail.

A header, the agents, the messages in order of arrival, and a closing line with their count: one
object per line. The closing line shows whether messages are missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import NoReturn

from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.model import Diagnostic
from brenner.lazy_pattern import lazy_pattern
from brenner.limits import (
    MOST_BODY_BYTES,
    MOST_NUMBER_DIGITS,
    MOST_PROFILE_BYTES,
    MOST_RECORD_BYTES,
)
from brenner.mail.model import Agent, InvalidRecordError, MessageRecord
from brenner.protocol.grammar import AGENT_NAME, ISO_TIME
from brenner.protocol.messages import (
    Envelope,
    Importance,
    Message,
    StoredMessage,
    Trust,
    content_hash,
    iso,
)

# The record format
#
# An archive is untrusted input. One error is reported per record, and an invalid record is skipped
# whole: part of a message would give other versions of an artifact.


VERSION = 1
Fields = Mapping[str, object]
ArchiveEntry = Agent | MessageRecord | Diagnostic
# After these the archive is not read further
FATAL_CODES = (codes.NOT_AN_ARCHIVE, codes.ARCHIVE_TOO_NEW)

# The largest integer that every JSON parser reads exactly
_MOST_ID = 2**53 - 1
# Finer than the store's clock: it could not be stored
_BELOW_MICROSECONDS = lazy_pattern(r"[.,][0-9]{7}")


def reject_record(reason: str) -> NoReturn:
    raise InvalidRecordError(reason)


# Writing


def record_fields(record: MessageRecord) -> dict[str, object]:
    stored, message = record.stored, record.stored.message
    return {
        "id": stored.id,
        "origin_id": stored.origin_id,
        "at": iso(stored.at),
        "hash": "" if stored.is_sealed else stored.content_hash,
        "thread_id": message.thread_id,
        "from": message.sender,
        "to": list(message.recipients),
        "subject": "" if stored.is_sealed else message.subject,
        "body": "" if stored.is_sealed else message.body,
        **({"sealed": True} if stored.is_sealed else {}),
        "ack_required": message.ack_required,
        "reply_to": stored.reply_to,
        "acknowledges": list(stored.acknowledges),
        "read": {name: iso(at) for name, at in record.read_at},
        "local": stored.is_local,
        **({} if stored.decides is None else {"decides": stored.decides}),
        **_envelope_fields(stored.envelope),
    }


def _envelope_fields(envelope: Envelope) -> dict[str, object]:
    """Return the fields of an envelope, without defaults and unknown values."""
    fields: dict[str, object] = {}
    if envelope.importance is not Importance.NORMAL:
        fields["importance"] = str(envelope.importance)
    if envelope.cc:
        fields["cc"] = list(envelope.cc)
    if envelope.trust is not None:
        fields["trust"] = str(envelope.trust)
    return fields


# Reading


def _parse_agent(fields: Fields) -> Agent:
    return Agent(
        name=_name(fields.get("agent"), "agent"),
        program=_text(fields, "program", MOST_PROFILE_BYTES),
        model=_text(fields, "model", MOST_PROFILE_BYTES),
        task=_text(fields, "task", MOST_PROFILE_BYTES),
        registered_at=_time(_required(fields, "registered_at"), "registered_at"),
    )


def _parse_record(fields: Fields, arrival: int) -> MessageRecord:
    """Parse a message. Optional fields have defaults."""
    number = _id(_required(fields, "id"), "id")
    if _flag(fields, "sealed"):
        reason = f"message {number} is sealed: the archive has neither its subject nor its body"
        raise InvalidRecordError(reason)
    message = Message(
        thread_id=_text(fields, "thread_id"),
        sender=_name(_required(fields, "from"), "from"),
        recipients=_recipients(fields),
        subject=_text(fields, "subject"),
        body=_text(fields, "body"),
        ack_required=_flag(fields, "ack_required"),
    )
    reply_to = fields.get("reply_to")
    _flag(fields, "local")
    stored = StoredMessage(
        id=number,
        at=_time(_required(fields, "at"), "at"),
        message=message,
        content_hash=_text(fields, "hash"),
        arrival=arrival,
        origin_id=_id(fields.get("origin_id", number), "origin_id"),
        reply_to=None if reply_to is None else _id(reply_to, "reply_to"),
        acknowledges=_acknowledges(fields),
        is_local=False,
        envelope=_parse_envelope(fields, message.recipients),
        decides=_flag(fields, "decides"),
    )
    return MessageRecord(stored, _read_at(fields, message.recipients))


def _required(fields: Fields, key: str) -> object:
    return fields[key] if key in fields else reject_record(f"`{key}` is missing")


def _text(fields: Fields, key: str, most: int = MOST_BODY_BYTES) -> str:
    value = _required(fields, key)
    if not isinstance(value, str):
        reject_record(f"`{key}` is not a text")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        reject_record(f"`{key}` contains half of a character (a lone surrogate)")
    if "\0" in value:
        reject_record(f"`{key}` contains a NUL character")
    if size > most:
        reject_record(f"`{key}` is longer than {most:,} bytes")
    return value


def _name(value: object, key: str) -> str:
    if not isinstance(value, str):
        reject_record(f"`{key}` is not a name")
    if not AGENT_NAME.fullmatch(value):
        reject_record(f"`{key}` contains `{value}`, which is not a valid agent name")
    return value


def _id(value: object, key: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MOST_ID:
        reject_record(f"`{key}` is not a whole number from 1 to {_MOST_ID}")
    return value


def _flag(fields: Fields, key: str) -> bool | None:
    value = fields.get(key)
    if not (value is None or isinstance(value, bool)):
        reject_record(f"`{key}` is neither true nor false")
    return value


def _time(value: object, key: str) -> datetime:
    if (
        isinstance(value, str)
        and ISO_TIME.fullmatch(value)
        and not _BELOW_MICROSECONDS.search(value)
    ):
        try:
            at = datetime.fromisoformat(value)
            if at.tzinfo:
                return at.astimezone(UTC)
        except (ValueError, OverflowError):
            pass
    reject_record(f"`{key}` is not a time with a time zone, such as `2025-12-30T14:22:05Z`")


def _recipients(fields: Fields) -> tuple[str, ...]:
    names = [_name(value, "to") for value in _list(_required(fields, "to"), "to")]
    if len(set(names)) < len(names):
        reject_record("`to` contains a name twice")
    return tuple(names)


def _parse_envelope(fields: Fields, recipients: tuple[str, ...]) -> Envelope:
    """Parse the envelope. An archive cannot prove that a sender was verified."""
    words = tuple(Importance)
    importance = fields.get("importance", Importance.NORMAL)
    if not (isinstance(importance, str) and importance in words):
        reject_record(f"`importance` is not one of {', '.join(words)}")
    if "trust" in fields and fields["trust"] not in tuple(Trust):
        reject_record(f"`trust` is not one of {', '.join(Trust)}")
    copies = [_name(value, "cc") for value in _list(fields.get("cc", []), "cc")]
    if len(set(copies)) < len(copies):
        reject_record("`cc` contains a name twice")
    for name in copies:
        if name not in recipients:
            reject_record(f"`cc` names `{name}`, which is not a recipient")
    return Envelope(Importance(importance), tuple(copies), Trust.UNVERIFIED)


def _acknowledges(fields: Fields) -> tuple[int, ...]:
    key = "acknowledges"
    ids = [_id(value, key) for value in _list(fields.get(key, []), key)]
    if len(set(ids)) < len(ids):
        reject_record(f"`{key}` contains an ID twice")
    return tuple(ids)


def _list(value: object, key: str) -> list[object]:
    return value if isinstance(value, list) else reject_record(f"`{key}` is not a list")


def _read_at(fields: Fields, recipients: tuple[str, ...]) -> tuple[tuple[str, datetime], ...]:
    """Return the read marks; only recipients can have some."""
    value = fields.get("read", {})
    if not isinstance(value, dict):
        reject_record("`read` is not an object of names and times")
    known = set(recipients)
    for name in value:
        if name not in known:
            reject_record(f"`read` names `{name}`, which is not a recipient")
    return tuple((name, _time(at, "read")) for name, at in value.items())


MBOX_IS_NOT_READ = "it looks like an mbox, and only JSON lines can be imported"
_FORMAT = "brenner-mail"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_KIND_KEYS = ("agent", "id", "end")  # of an agent, a message, the closing line
_SECOND_ARCHIVE = "a second archive starts here; import them one after the other"
_STRING = lazy_pattern(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
# A record has little outside its texts; each byte there may take twenty bytes of memory
_MOST_OUTSIDE_TEXTS = 8 * 1024 * 1024


def encode(agents: Iterable[Agent], records: Iterable[MessageRecord]) -> Iterator[str]:
    """Yield the lines of an archive, each with its line feed."""
    yield _encode_line({"format": _FORMAT, "version": VERSION})
    for agent in agents:
        fields = {"agent": agent.name, "program": agent.program, "model": agent.model}
        times = {"registered_at": iso(agent.registered_at)}
        yield _encode_line({**fields, "task": agent.task, **times})
    count = 0
    for record in records:
        count += 1
        yield _encode_line(record_fields(record))
    yield _encode_line({"end": count})


def _encode_line(fields: Fields) -> str:
    """Return one object; what could move a terminal or end a line is escaped."""
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    if not text.isprintable():
        text = "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text)
    return text + "\n"


def decode(
    lines: Iterable[bytes], name: str, latest: datetime | None = None
) -> Iterator[ArchiveEntry]:
    """Yield the content of each line, or what is wrong with it. `name` is the archive's name.

    A message newer than `latest` is invalid.
    """
    filled = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    number, first = next(filled, (1, b""))
    refusal = _check_header(first.removeprefix(_BYTE_ORDER_MARK), number, name)
    if refusal:
        yield refusal
        return
    archive = _JsonlArchive(latest)
    item: ArchiveEntry | None = None
    for number, line in filled:
        if archive.is_closed:
            yield codes.INVALID_RECORD.at(number, reason=_trailing_line_reason(line))
            return
        item = archive.parse(line, number)
        if item is not None:
            yield item
    if not archive.is_closed and not isinstance(item, Diagnostic):
        reason = "the closing line is missing; the file was probably cut short"
        yield codes.INVALID_RECORD.at(number, reason=reason)


def _check_header(line: bytes, number: int, name: str) -> Diagnostic | None:
    try:
        fields = _parse_object(line)
    except InvalidRecordError:
        fields = {}
    version = fields.get("version") if fields.get("format") == _FORMAT else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        return codes.NOT_AN_ARCHIVE.at(path=name, reason=_not_an_archive_reason(line))
    if version > VERSION:
        return codes.ARCHIVE_TOO_NEW.at(number, path=name, version=version, known=VERSION)
    return None


def _not_an_archive_reason(line: bytes) -> str:
    if not line:
        return "it is empty"
    if line.startswith(b"From "):
        return MBOX_IS_NOT_READ
    return f'its first line is not `{{"format":"{_FORMAT}","version":{VERSION}}}`'


class _JsonlArchive:
    """Parses the lines after the header, and checks that none is missing.

    Ids must be unique, or links would be ambiguous. A message may not be newer than `latest`: it
    would stay the last of its thread until that time.
    """

    def __init__(self, latest: datetime | None) -> None:
        self.is_closed = False
        self._latest = latest
        self._ids: set[int] = set()
        self._agents: set[str] = set()
        self._messages = 0
        self._is_valid = True

    def parse(self, line: bytes, number: int) -> ArchiveEntry | None:
        """Return the content of a line, or what is wrong with it; None for a valid closing line."""
        try:
            item = self._parse_fields(_parse_object(line), number)
        except InvalidRecordError as fault:
            item = codes.INVALID_RECORD.at(number, reason=str(fault))
        self._is_valid &= not isinstance(item, Diagnostic)
        return item

    def _parse_fields(self, fields: Fields, number: int) -> ArchiveEntry | None:
        if fields.get("format") == _FORMAT:
            reject_record(_SECOND_ARCHIVE)
        kinds = [f"`{key}`" for key in _KIND_KEYS if key in fields]
        if len(kinds) > 1:  # ambiguous: one of them would be lost
            reject_record(f"it has {' and '.join(kinds)}, but a line can only be one of them")
        if "agent" in fields:
            return self._agent(fields)
        if "end" in fields:
            self.is_closed = True
            self._check_count(fields["end"])
            return None
        self._messages += 1
        return self._record(fields, number)

    def _agent(self, fields: Fields) -> Agent:
        if self._messages:
            reject_record("an agent comes after a message; agents must come first")
        agent = _parse_agent(fields)
        if agent.name in self._agents:
            reject_record(f"the agent `{agent.name}` occurs twice")
        self._agents.add(agent.name)
        return agent

    def _record(self, fields: Fields, line: int) -> MessageRecord | Diagnostic:
        record = _parse_record(fields, len(self._ids) + 1)
        stored = record.stored
        if stored.content_hash != content_hash(stored.message):
            return codes.HASH_MISMATCH.at(line, id=stored.id)
        if stored.id in self._ids:
            reject_record(f"another message of this archive also has the ID {stored.id}")
        if self._latest and stored.at > self._latest:
            reject_record(f"`at` is {iso(stored.at)}, which is in the future")
        self._ids.add(stored.id)
        return record

    def _check_count(self, count: object) -> None:
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            reject_record("`end` is not a number of messages")
        # After an invalid line, which is reported, the count cannot be compared.
        if self._is_valid and count != self._messages:
            reject_record(f"`end` says {count} messages, but the archive has {self._messages}")


def _trailing_line_reason(line: bytes) -> str:
    try:
        is_header = _parse_object(line).get("format") == _FORMAT
    except InvalidRecordError:
        is_header = False
    return _SECOND_ARCHIVE if is_header else "it comes after the closing line"


def _parse_object(line: bytes) -> Fields:
    """Parse the JSON object of a line: RFC 8259 and nothing more (R5)."""
    _check_size(line)
    try:
        value = _DECODER.decode(line.decode())
    except (ValueError, RecursionError) as error:
        if not line.endswith(b"\n"):
            reject_record("it is incomplete; the file was probably cut short")
        if isinstance(error, json.JSONDecodeError):
            reject_record(f"it is not valid JSON from character {error.pos + 1} on")
        is_text = not isinstance(error, UnicodeDecodeError)
        reject_record("its JSON exceeds the limits" if is_text else "it is not UTF-8")
    return value if isinstance(value, dict) else reject_record("it is not a JSON object")


def _check_size(line: bytes) -> None:
    if len(line) > MOST_RECORD_BYTES:
        reject_record(f"it is longer than {MOST_RECORD_BYTES:,} bytes")
    if len(line) > _MOST_OUTSIDE_TEXTS and len(_STRING.sub(b"", line)) > _MOST_OUTSIDE_TEXTS:
        reject_record(f"it has more than {_MOST_OUTSIDE_TEXTS:,} bytes outside its texts")


def _unique_members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members: dict[str, object] = {}
    for key, value in pairs:
        if key in members:
            reject_record(f"it contains the key `{key}` twice")
        members[key] = value
    return members


def _bounded_integer(digits: str) -> int:
    if len(digits) > MOST_NUMBER_DIGITS:
        reject_record(f"a number in it has more than {MOST_NUMBER_DIGITS} digits")
    return int(digits)


def _reject_constant(constant: str) -> NoReturn:
    reject_record(f"`{constant}` is not valid JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique_members, parse_int=_bounded_integer, parse_constant=_reject_constant
)
