"""The record of a version: which messages it has read, and all else that its bytes depend on (R10).

It stands in the COMPILED message as canonical JSON (RFC 8785) in one fence. With it every version
can be rebuilt from the thread alone, byte for byte.
"""

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple, NoReturn, TypeVar

from brenner.artifact.merge.draft import LeftOut
from brenner.protocol.messages import iso

FORMAT = 1
_HASH = re.compile(r"[0-9a-f]{64}", re.ASCII)
_Each = TypeVar("_Each")
_MOST_NUMBER = 2**53  # what every reader of JSON has in common


class ReadMessage(NamedTuple):
    """A message that a version has read. Its id and time are those of the compiler's store."""

    content_hash: str
    id: int
    at: str


class CompiledMessage(NamedTuple):
    """A COMPILED message as the compiler saw it, and the version that it is or calls itself."""

    version: int
    content_hash: str
    id: int
    at: str


class OpenConflict(NamedTuple):
    """A field on which authors disagree."""

    item: str
    field: str


class VersionRecord(NamedTuple):
    """The record of one version. `base` is the one before it, None for a first one; `adopted` the
    message of another program that it takes over as it is.
    """

    version: int
    base: CompiledMessage | None
    messages: tuple[ReadMessage, ...]
    artifact_sha256: str
    compiled_at: str
    compiled_by: str
    operator: str
    status: str
    conflicts: tuple[OpenConflict, ...] = ()
    references_left_out: tuple[LeftOut, ...] = ()
    adopted: CompiledMessage | None = None
    format: int = FORMAT


class UnreadableRecordError(ValueError):
    """A text is not a record of ours."""


def _fail(reason: str) -> NoReturn:
    raise UnreadableRecordError(reason) from None


def render_record(record: VersionRecord) -> str:
    """The canonical JSON. It holds texts and whole numbers only, and its keys are ASCII: then the
    standard encoder writes what RFC 8785 asks for.
    """
    document = {name: _plain(value) for name, value in record._asdict().items()}
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _plain(value: object) -> object:
    if hasattr(value, "_asdict"):
        return {name: _plain(each) for name, each in value._asdict().items()}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def read_record(text: str) -> VersionRecord:
    """The record in a text, or `UnreadableRecordError` with the reason."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        _fail("it is not JSON")
    document = _object(value, "it")
    number = document.get("format")
    if isinstance(number, int) and number > FORMAT:
        _fail(f"its format {number} is newer than this program's {FORMAT}")
    record = _record(document)
    if render_record(record) != text.removesuffix("\n"):
        _fail("it is not canonical JSON with the known keys")
    return record


def was_record(text: str) -> bool:
    """Whether a text that cannot be read looks as if it had been a record."""
    return '"artifact_sha256"' in text and '"messages"' in text


def _record(document: Mapping[str, Any]) -> VersionRecord:
    _keys(document, VersionRecord)
    return VersionRecord(
        version=_number(document["version"], "version", least=1),
        base=_optional(document["base"], _compiled),
        messages=_list(document["messages"], "messages", _message),
        artifact_sha256=_hash(document["artifact_sha256"], "artifact_sha256"),
        compiled_at=_time(document["compiled_at"], "compiled_at"),
        compiled_by=_text(document["compiled_by"], "compiled_by"),
        operator=_text(document["operator"], "operator"),
        status=_text(document["status"], "status"),
        conflicts=_list(document["conflicts"], "conflicts", _conflict),
        references_left_out=_list(
            document["references_left_out"], "references_left_out", _left_out
        ),
        adopted=_optional(document["adopted"], _compiled),
        format=_number(document["format"], "format", least=1),
    )


def _message(value: object) -> ReadMessage:
    entry = _keys(_object(value, "a message"), ReadMessage)
    return ReadMessage(
        _hash(entry["content_hash"], "content_hash"),
        _number(entry["id"], "id"),
        _time(entry["at"], "at"),
    )


def _compiled(value: object) -> CompiledMessage:
    entry = _keys(_object(value, "a version"), CompiledMessage)
    return CompiledMessage(
        _number(entry["version"], "version"),
        _hash(entry["content_hash"], "content_hash"),
        _number(entry["id"], "id"),
        _time(entry["at"], "at"),
    )


def _conflict(value: object) -> OpenConflict:
    entry = _keys(_object(value, "a conflict"), OpenConflict)
    return OpenConflict(_text(entry["item"], "item"), _text(entry["field"], "field"))


def _left_out(value: object) -> LeftOut:
    entry = _keys(_object(value, "a reference"), LeftOut)
    return LeftOut(
        _number(entry["message_id"], "message_id"),
        _number(entry["block"], "block"),
        _text(entry["session"], "session"),
        _text(entry["item"], "item"),
        _text(entry["relation"], "relation"),
    )


def _object(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        _fail(f"{what} is not an object")
    return value


def _keys(document: Mapping[str, Any], of: type[Any]) -> Mapping[str, Any]:
    missing = [name for name in of._fields if name not in document]
    if missing:
        _fail(f"`{missing[0]}` is missing")
    return document


def _list(value: object, name: str, read: Callable[[object], _Each]) -> tuple[_Each, ...]:
    if not isinstance(value, list):
        _fail(f"`{name}` is not a list")
    return tuple(read(each) for each in value)


def _optional(value: object, read: Callable[[object], _Each]) -> _Each | None:
    return None if value is None else read(value)


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        _fail(f"`{name}` is not a text")
    return value


def _hash(value: object, name: str) -> str:
    if not isinstance(value, str) or not _HASH.fullmatch(value):
        _fail(f"`{name}` is not a SHA-256 in hexadecimal")
    return value


def _number(value: object, name: str, *, least: int = 0) -> int:
    if type(value) is not int or not least <= value <= _MOST_NUMBER:
        _fail(f"`{name}` is not a number")
    return value


def _time(value: object, name: str) -> str:
    """Only what we write ourselves: other forms are read differently by different readers."""
    text = _text(value, name)
    try:
        is_ours = iso(datetime.fromisoformat(text)) == text
    except (ValueError, OverflowError):
        is_ours = False
    if not is_ours:
        _fail(f"`{name}` is not a time in UTC, such as 2025-12-30T14:00:00Z")
    return text
