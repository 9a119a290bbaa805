"""JSON lines: an archive that programs read easily and that says everything.

A header, the agents, then the messages in the order of their arrival, one object on each line.
"""

import json
from collections.abc import Iterable, Iterator
from typing import NoReturn

from brenner.diagnostics.codes import archive as codes
from brenner.diagnostics.model import Diagnostic
from brenner.limits import MOST_NUMBER_DIGITS
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


def encode(agents: Iterable[Agent], records: Iterable[Record]) -> Iterator[str]:
    """The lines of an archive, each with its line feed."""
    yield _line({"format": _FORMAT, "version": VERSION})
    for agent in agents:
        yield _line(agent_fields(agent))
    for record in records:
        yield _line(record_fields(record))


def _line(fields: Fields) -> str:
    """One object. What a terminal would obey, or an editor take for the end of a line, is spelled
    out, so that the file can be looked at without harm.
    """
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    if not text.isprintable():
        text = "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text)
    return text + "\n"


def decode(lines: Iterable[bytes], name: str) -> Iterator[Item]:
    """What each line holds, or what is wrong with it. `name` is what the archive is called."""
    filled = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    number, first = next(filled, (1, b""))
    refusal = _check_header(first.removeprefix(_BYTE_ORDER_MARK), number, name)
    if refusal:
        yield refusal
        return
    reader = Reader()
    for number, line in filled:
        yield _item(reader, line, number)


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


def _item(reader: Reader, line: bytes, number: int) -> Item:
    try:
        fields = _object(line)
        if fields.get("format") == _FORMAT:
            unsound("a second archive begins here; import one after the other")
    except UnsoundError as fault:
        return codes.INVALID_RECORD.at(number, reason=str(fault))
    return reader.agent(fields, number) if "agent" in fields else reader.record(fields, number)


def _object(line: bytes) -> Fields:
    """The object on a line: RFC 8259 and nothing more (R5)."""
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
