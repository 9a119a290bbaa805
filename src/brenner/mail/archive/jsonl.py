"""JSON lines: an archive that programs read easily and that says everything.

A header, the agents, the messages in the order of their arrival, and a closing line that counts
them: one object on each line. Without the closing line nobody could tell that some are missing.
"""

import json
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NoReturn

from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.model import Diagnostic
from brenner.limits import MOST_NUMBER_DIGITS, MOST_RECORD_BYTES
from brenner.mail.archive.record import (
    VERSION,
    Fields,
    Item,
    Reader,
    UnsoundError,
    agent_fields,
    record_fields,
    unsound,
)
from brenner.mail.model import Agent, Record

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
