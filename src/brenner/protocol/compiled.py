"""What a COMPILED message says: version, thread, path, the artifact, the record (R10, R22).

Other programs write these bodies, too, and freely: without the bold, with the path in backticks or
bare, with the artifact in a fence, as it is, or as a link. Reading takes what is clear and leaves
the rest out; it never fails. What is inside the artifact says nothing about the message around it.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from brenner.diagnostics.codes import publishing as codes
from brenner.diagnostics.model import Diagnostic
from brenner.markdown.blocks import Block, Kind, blocks
from brenner.markdown.escape import Field, fields, unescape
from brenner.markdown.front_matter import FrontMatter, read_front_matter
from brenner.protocol.body import Section, find_section, normalised, sections, title
from brenner.protocol.grammar import COMPILED_DESCRIPTION, ISO_TIME, LOOSE_VERSION, VERSION_IN_TITLE
from brenner.protocol.grammar import VERSION as SEQUENCE_VERSION
from brenner.protocol.message_types import COMPILED, TYPES
from brenner.protocol.messages import Message, PostedMessage, in_thread_order
from brenner.protocol.subjects import parse_subject
from brenner.text import escape_control

RECORD_INFO = "brenner-record"
FULL_ARTIFACT = "Full Artifact"
METADATA = "Metadata"
PERSISTENCE = "Persistence"
THREAD_ID, VERSION, PREVIOUS = "Thread ID", "Version", "Previous Version"
COMPILED_AT, COMPILER, PATH = "Compiled At", "Compiler", "Artifact Path"

_HOMES = {
    THREAD_ID: METADATA,
    VERSION: METADATA,
    PREVIOUS: METADATA,
    COMPILED_AT: METADATA,
    COMPILER: METADATA,
    PATH: PERSISTENCE,
}
_NAMES = {normalised(name): name for name in _HOMES}
# The bold may be left out, or take in the colon; a table's row has a pipe in its place.
_FIELD = re.compile(
    r"[*_|` \t]*+([A-Za-z][A-Za-z ]{1,30}?)[*_` \t]*+[:|](?:\*\*|__)?[ \t]*+([^\n]*)"
)
_REMARK = re.compile(r"[ \t]\([^()\n]*\)\Z")
_LINKED = re.compile(r"\[([^\[\]\n]*)\]\([^()\n]*\)")
_LINK = re.compile(r"\]\(([^()\s][^()\n]*)\)|<?\bhttps?://\S|\S\.(?:md|markdown)\b", re.IGNORECASE)
_MOST_MARKS, _PAIR = 8, 2  # around a value: nobody nests more, and each costs its length
# Front matter, or a heading: where an artifact without a fence begins
_ARTIFACT_START = re.compile(r"---[ \t]*\n[A-Za-z\"'][^\n]*:|#{1,6}[ \t]")


class Stated(NamedTuple):
    """A field as it is written, and its line."""

    value: str
    line: int


class CompiledBody(NamedTuple):
    """What could be read; None where it is not said.

    `inline` has the exact bytes of the artifact. `record` is the text inside the one record fence;
    two of them are none. `stated` are the fields as they are written, by name.
    """

    subject_version: int | None
    thread_id: str | None
    version: int | None
    previous: int | None
    compiled_at: str | None
    compiler: str | None
    path: str | None
    inline: str | None
    has_link: bool
    record: str | None
    record_line: int
    title_version: int | None = None
    title_line: int = 0
    full_line: int = 0  # of the heading `## Full Artifact`
    inline_line: int = 0  # the first line of the artifact
    stated: Mapping[str, Stated] = MappingProxyType({})


def read_compiled(message: Message) -> CompiledBody:
    """Read the message, whoever wrote it."""
    return read_compiled_blocks(message, blocks(message.body))


def read_compiled_blocks(message: Message, body: list[Block]) -> CompiledBody:
    """The same for a body whose blocks are known already."""
    found = sections(body)
    key = normalised(FULL_ARTIFACT)
    full = next((one for one in found if one.key == key), None)
    record = _record(body)
    inline, inline_line = _inline(message.body, full, body) if full else (None, 0)
    above = [block for block in body if full is None or block.line < full.line]
    stated = _fields(above, found)
    value = {name: stated[name].value if name in stated else None for name in _HOMES}
    heading = title(above)
    return CompiledBody(
        subject_version=subject_version(message.subject),
        thread_id=value[THREAD_ID],
        version=_number(value[VERSION]),
        previous=_number(value[PREVIOUS]),
        compiled_at=value[COMPILED_AT],
        compiler=value[COMPILER],
        path=value[PATH],
        inline=inline,
        has_link=full is not None and inline is None and _has_link(full),
        record=record.text.removesuffix("\n") if record else None,
        record_line=record.line if record else 0,
        title_version=_title_version(heading),
        title_line=heading.line if heading else 0,
        full_line=full.line if full else 0,
        inline_line=inline_line,
        stated=MappingProxyType(stated),
    )


def subject_version(subject: str) -> int | None:
    """The version in `COMPILED: v3 added T4`; None where there is none, or another prefix."""
    parsed = parse_subject(subject)
    if parsed is None or parsed.type != "COMPILED":
        return None
    match = COMPILED_DESCRIPTION.match(parsed.description)
    return int(match[1]) if match else None


def _title_version(heading: Block | None) -> int | None:
    match = VERSION_IN_TITLE.search(heading.text) if heading else None
    return int(match[1]) if match else None


def _number(value: str | None) -> int | None:
    match = LOOSE_VERSION.fullmatch(value) if value else None
    return int(match[1]) if match else None


# Fields


def _fields(above: list[Block], found: list[Section]) -> dict[str, Stated]:
    """Each known field and its line: the one in its own section, or else the first one."""
    homes = _homes(found)
    said: dict[str, Stated] = {}
    settled: set[str] = set()
    for block in above:
        if block.kind is not Kind.PARAGRAPH or block.quoted:
            continue
        for number, line in enumerate(block.text.split("\n"), block.line):
            match = _FIELD.match(line)
            name = _NAMES.get(normalised(match[1])) if match else None
            value = _plain(match[2]) if match and name else ""
            if name is None or not value or name in settled:
                continue
            if number in homes.get(_HOMES[name], ()):
                settled.add(name)
                said[name] = Stated(value, number)
            else:
                said.setdefault(name, Stated(value, number))
    return said


def _homes(found: list[Section]) -> dict[str, range]:
    """The lines of the first section of each name that fields belong to."""
    homes: dict[str, range] = {}
    for name in dict.fromkeys(_HOMES.values()):
        section = find_section(found, name)
        if section:
            homes[name] = range(section.line, section.contents[-1].end + 1)
    return homes


def _plain(value: str) -> str:
    """A value without quotes, code marks, emphasis, a link around it, and a remark after it."""
    text = value.strip(" \t|")
    linked = _LINKED.fullmatch(text)
    text = _REMARK.sub("", linked[1] if linked else text).strip(" \t")
    is_code = False
    for _ in range(_MOST_MARKS):
        if len(text) < _PAIR or text[0] != text[-1] or text[0] not in "`*\"'":
            break
        is_code = is_code or text[0] == "`"
        text = text[1:-1].strip(" \t")
    return text if is_code else unescape(text)


# The artifact and the record


def _is_record(block: Block) -> bool:
    return block.kind is Kind.FENCE and block.info.split(None, 1)[:1] == [RECORD_INFO]


def _record(body: list[Block]) -> Block | None:
    """The record's fence, if there is exactly one. A quoted, nested or unclosed one is none."""
    fences = [block for block in body if _is_record(block) and block.closed and not block.nested]
    return fences[0] if len(fences) == 1 else None


def _inline(text: str, full: Section, body: list[Block]) -> tuple[str | None, int]:
    """The artifact under its heading, in a fence or as it is, and its first line."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    first = full.line
    while first < len(lines) and not lines[first].strip():
        first += 1
    if _ARTIFACT_START.match("\n".join(lines[first : first + 2])):
        return _lines_of_artifact(lines, first, body)
    for block in full.contents:
        if block.kind is Kind.FENCE and not block.quoted and not _is_record(block):
            is_whole = block.closed and not block.text.isspace() and block.text
            return (block.text, block.line + 1) if is_whole else (None, 0)
    return None, 0


def _lines_of_artifact(lines: list[str], first: int, body: list[Block]) -> tuple[str | None, int]:
    """An artifact without a fence: all lines to the end of the body, the record aside."""
    last = len(lines)
    for number, block in enumerate(body):
        if block.line > first + 1 and _is_record(block):
            titled = body[number - 1].kind is Kind.HEADING
            last = body[number - 1 if titled else number].line - 1
            break
    inner = "\n".join(lines[first:last]).rstrip()
    return (inner + "\n", first + 1) if inner else (None, 0)


def _has_link(full: Section) -> bool:
    """A link, an address or the name of a file stands under the heading."""
    return any(
        _LINK.search(block.text)
        for block in full.contents
        if block.kind is Kind.PARAGRAPH and not block.quoted
    )


# The publish document's rules for a COMPILED message (AP-001 to AP-008, AP-010; R22).
#
# Here is what the message alone can show, whoever wrote it. AP-004, AP-007 and AP-008 are about
# sections, and stand in the table of types. What needs the thread is in `sequence.py`.


_MOST_QUOTED = 200
_MISSING = "missing"


def check_compiled(message: Message, body: list[Block]) -> list[Diagnostic]:
    """Everything that is wrong. Lines count in the body; what is about the subject has none."""
    compiled = read_compiled_blocks(message, body)
    return [
        *_subject(message, compiled),
        *_thread_id(message, compiled),
        *_compiled_at(compiled),
        *_path(message, compiled),
        *_artifact(compiled, body),
        *_versions(compiled),
    ]


def _subject(message: Message, compiled: CompiledBody) -> Iterator[Diagnostic]:
    """AP-001. A wrong prefix and a subject without words have codes of their own."""
    subject = parse_subject(message.subject)
    if subject is None or not subject.description:
        return
    _, _, words = subject.description.partition(" ")
    if compiled.subject_version is None or not words:
        yield codes.AP_001.at(subject=message.subject)


def _thread_id(message: Message, compiled: CompiledBody) -> Iterator[Diagnostic]:
    """AP-003."""
    if compiled.thread_id != message.thread_id:
        value = _quoted(compiled.thread_id)
        line = _line(compiled, THREAD_ID)
        yield codes.AP_003.at(line, value=value, thread_id=message.thread_id)


def _path(message: Message, compiled: CompiledBody) -> Iterator[Diagnostic]:
    """AP-005."""
    if compiled.path != f"artifacts/{message.thread_id}.md":
        value = _quoted(compiled.path)
        yield codes.AP_005.at(_line(compiled, PATH), value=value, thread_id=message.thread_id)


def _compiled_at(compiled: CompiledBody) -> Iterator[Diagnostic]:
    reason = _why_no_time(compiled.compiled_at)
    if reason:
        yield codes.INVALID_COMPILED_AT.at(_line(compiled, COMPILED_AT), reason=reason)


def _why_no_time(written: str | None) -> str | None:
    if written is None:
        return "it is missing"
    if not ISO_TIME.fullmatch(written):
        return f"it is {_quoted(written)}"
    try:
        datetime.fromisoformat(written)
    except ValueError:
        return f"{_quoted(written)} is not in the calendar"
    return None


def _artifact(compiled: CompiledBody, body: list[Block]) -> Iterator[Diagnostic]:
    """AP-006. A fence that is never closed holds no whole artifact: its end may be missing."""
    if compiled.inline is not None or compiled.has_link:
        return
    is_open = any(
        block.kind is Kind.FENCE and not block.closed and not block.quoted
        for block in body
        if block.line > compiled.full_line
    )
    reason = ": the fence is never closed" if compiled.full_line and is_open else ""
    yield codes.AP_006.at(compiled.full_line or 1, reason=reason)


# AP-010


def _versions(compiled: CompiledBody) -> Iterator[Diagnostic]:
    """Each place that gives another version than the subject, or else than the first place."""
    places = list(_places(compiled))
    numbers = [compiled.subject_version, *(number for number, _, _, _ in places)]
    version = next((number for number in numbers if number is not None), None)
    if version is None:
        return
    for number, place, value, line in places:
        if number != version:
            yield codes.AP_010.at(line, place=place, value=value, version=version)


def _places(compiled: CompiledBody) -> Iterator[tuple[int | None, str, str, int]]:
    """Where a version stands: its number, the place in words, what it says there, the line."""
    number = compiled.title_version
    if number is not None:
        yield number, "The title", f"v{number}", compiled.title_line
    stated = compiled.stated.get(VERSION)
    if stated:
        yield compiled.version, "The metadata", _quoted(stated.value), stated.line
    if compiled.inline is not None:
        yield from _front_matter(compiled.inline, compiled.inline_line)


def _front_matter(inline: str, line: int) -> Iterator[tuple[int | None, str, str, int]]:
    """An artifact without any front matter gives no version, right or wrong."""
    text = inline.lstrip("\n")
    before = line - 1 + len(inline) - len(text)
    matter = read_front_matter(text, before)
    if not matter.height:
        return
    number, value = _stated_version(matter)
    yield number, "The front matter", value, matter.lines.get("version", before + 1)


def _stated_version(matter: FrontMatter) -> tuple[int | None, str]:
    if matter.values is None:
        return None, f"nothing that can be read ({escape_control(matter.reason, _MOST_QUOTED)})"
    value = matter.values.get("version")
    if type(value) is int:
        return value, f"version {value}"
    if value is None:
        return None, "no version"
    text = str(value)
    match = LOOSE_VERSION.fullmatch(text) if isinstance(value, str) else None
    return int(match[1]) if match else None, f"version {_quoted(text)}"


def _quoted(value: str | None) -> str:
    return _MISSING if value is None else f"`{escape_control(value, _MOST_QUOTED)}`"


def _line(compiled: CompiledBody, name: str) -> int:
    stated = compiled.stated.get(name)
    return stated.line if stated else 1


# The publish document's rules for versions in a thread (AP-002, AP-009; R11, R17).
#
# A version counts from the COMPILED message that says so, whoever posted it. Whether that message
# can be rebuilt is another question, which this check does not ask.


def check_sequence(
    messages: Sequence[PostedMessage], voided: Collection[int] = frozenset()
) -> list[Diagnostic]:
    """What is wrong with the versions of a thread: each diagnostic names its message and line.

    `voided` are the messages that the operator has declared void: their numbers are free again.
    """
    found: list[Diagnostic] = []
    published = {0}  # v0 is the empty artifact before the first version
    latest = 0
    for posted in sorted(messages, key=in_thread_order):
        subject = parse_subject(posted.message.subject)
        if subject is None:
            continue
        if subject.type != COMPILED.name:
            unknown = _unknown_version(posted.message, TYPES[subject.type].version_field, published)
            found += (each._replace(message_id=posted.id) for each in unknown)
            continue
        number = subject_version(posted.message.subject)
        if number is None:
            continue  # AP-001 tells of it
        if number != latest + 1:
            wrong = codes.AP_002.at(version=number, expected=latest + 1)
            found.append(wrong._replace(message_id=posted.id))
        published.add(number)
        latest = latest if posted.id in voided else max(latest, number)
    return found


def _unknown_version(message: Message, name: str, published: set[int]) -> Iterator[Diagnostic]:
    """AP-009: the version that a message speaks of, where the thread does not have it yet."""
    stated = _stated(message, name) if name else None
    if stated is None:
        return
    number = int(stated.value.removeprefix("v"))
    if number not in published:
        yield codes.AP_009.at(stated.line, version=number, latest=max(published))


def _stated(message: Message, name: str) -> Field | None:
    """The first version that the message states; it is the one that counts."""
    if name.casefold() not in message.body.casefold():
        return None
    wanted = normalised(name)
    return next(
        (
            field
            for field in fields(blocks(message.body))
            if normalised(field.name) == wanted and SEQUENCE_VERSION.fullmatch(field.value)
        ),
        None,
    )
