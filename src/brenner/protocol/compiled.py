"""COMPILED messages: read their fields, artifact and record, and check them (R10, R22).

Other programs write these bodies too, and freely: without bold, with the path in backticks or bare,
with the artifact in a fence, unfenced, or as a link. Parsing takes what is clear, leaves out the
rest and never fails. Text inside the artifact never counts as a field of the message around it.
"""

from __future__ import annotations

import json
import re
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING

from brenner.diagnostics.codes import publishing as codes
from brenner.diagnostics.codes.messages import UNLISTED_SECTION_VALUE
from brenner.lazy_pattern import lazy_pattern
from brenner.markdown.blocks import Block, BlockKind, parse_blocks
from brenner.markdown.escape import LabelledField, read_fields, unescape
from brenner.markdown.front_matter import FrontMatter, read_front_matter
from brenner.named_tuple import NamedTuple
from brenner.protocol.body import (
    BodySection,
    find_section,
    find_title,
    match_listed_value,
    normalise_heading,
    parse_sections,
)
from brenner.protocol.grammar import COMPILED_DESCRIPTION, ISO_TIME, LOOSE_VERSION, VERSION_IN_TITLE
from brenner.protocol.grammar import VERSION as SEQUENCE_VERSION
from brenner.protocol.message_types import COMPILED, TYPES
from brenner.protocol.messages import Message, StoredMessage, thread_order_key
from brenner.protocol.subjects import parse_subject
from brenner.text import escape_control

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from brenner.diagnostics.model import Diagnostic

RECORD_INFO = "brenner-record"
FULL_ARTIFACT = "Full Artifact"
METADATA = "Metadata"
PERSISTENCE = "Persistence"
THREAD_ID, VERSION, PREVIOUS = "Thread ID", "Version", "Previous Version"
COMPILED_AT, COMPILER, PATH, STATUS = "Compiled At", "Compiler", "Artifact Path", "Status"

_SECTION_OF_FIELD = {
    THREAD_ID: METADATA,
    VERSION: METADATA,
    PREVIOUS: METADATA,
    COMPILED_AT: METADATA,
    COMPILER: METADATA,
    PATH: PERSISTENCE,
    STATUS: PERSISTENCE,
}
# A field of a common name, which counts in its own section only
_ONLY_IN_SECTION = STATUS
_FIELD_NAMES = {normalise_heading(name): name for name in _SECTION_OF_FIELD}
# The bold is optional and may include the colon; a table row has a pipe instead of the colon.
_FIELD = lazy_pattern(
    r"[*_|` \t]*+([A-Za-z][A-Za-z ]{1,30}?)[*_` \t]*+[:|](?:\*\*|__)?[ \t]*+([^\n]*)"
)
_REMARK = lazy_pattern(r"[ \t]\([^()\n]*\)\Z")
_LINK_AROUND_VALUE = lazy_pattern(r"\[([^\[\]\n]*)\]\([^()\n]*\)")
_LINK = lazy_pattern(
    r"\]\(([^()\s][^()\n]*)\)|<?\bhttps?://\S|\S\.(?:md|markdown)\b", re.IGNORECASE
)
_MOST_MARKS, _PAIR = 8, 2  # pairs of marks around a value; each costs a copy of the value
# The start of an artifact without a fence: front matter or a heading
_ARTIFACT_START = lazy_pattern(r"---[ \t]*\n[A-Za-z\"'][^\n]*:|#{1,6}[ \t]")


class CompiledBody(NamedTuple):
    """The fields of a COMPILED message; None where the message does not state one.

    `inline` is the artifact, byte for byte. `record` is the text inside the record fence, and None
    if there are two of them. `stated` are the fields as written, by name.
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
    artifact_heading_line: int = 0  # the line of the heading `## Full Artifact`
    inline_line: int = 0  # the first line of the artifact
    stated: Mapping[str, LabelledField] = MappingProxyType({})


def read_compiled(message: Message) -> CompiledBody:
    """Parse a COMPILED message of any program."""
    return read_compiled_blocks(message, parse_blocks(message.body))


def read_compiled_blocks(message: Message, body: list[Block]) -> CompiledBody:
    """Do the same as `read_compiled` for a body whose blocks are parsed already."""
    found = parse_sections(body)
    key = normalise_heading(FULL_ARTIFACT)
    full = next((one for one in found if one.key == key), None)
    record = _find_record(body)
    inline, inline_line = _inline_artifact(message.body, full, body) if full else (None, 0)
    above = [block for block in body if full is None or block.line < full.line]
    stated = _read_stated_fields(above, found)
    value = {name: stated[name].value if name in stated else None for name in _SECTION_OF_FIELD}
    heading = find_title(above)
    return CompiledBody(
        subject_version=subject_version(message.subject),
        thread_id=value[THREAD_ID],
        version=_parse_version(value[VERSION]),
        previous=_parse_version(value[PREVIOUS]),
        compiled_at=value[COMPILED_AT],
        compiler=value[COMPILER],
        path=value[PATH],
        inline=inline,
        has_link=full is not None and inline is None and _has_link(full),
        record=record.text.removesuffix("\n") if record else None,
        record_line=record.line if record else 0,
        title_version=_title_version(heading),
        title_line=heading.line if heading else 0,
        artifact_heading_line=full.line if full else 0,
        inline_line=inline_line,
        stated=MappingProxyType(stated),
    )


def subject_version(subject: str) -> int | None:
    """Return the version in `COMPILED: v3 added T4`.

    None if the subject has no version or another prefix.
    """
    parsed = parse_subject(subject)
    if parsed is None or parsed.type != "COMPILED":
        return None
    match = COMPILED_DESCRIPTION.match(parsed.description)
    return int(match[1]) if match else None


def _title_version(heading: Block | None) -> int | None:
    match = VERSION_IN_TITLE.search(heading.text) if heading else None
    return int(match[1]) if match else None


def _parse_version(value: str | None) -> int | None:
    match = LOOSE_VERSION.fullmatch(value) if value else None
    return int(match[1]) if match else None


# Reading the fields


def _read_stated_fields(above: list[Block], found: list[BodySection]) -> dict[str, LabelledField]:
    """Return each known field and its line: the one in its own section, or else the first one."""
    section_lines = _section_lines(found)
    stated: dict[str, LabelledField] = {}
    in_own_section: set[str] = set()
    for block in above:
        if block.kind is not BlockKind.PARAGRAPH or block.quoted:
            continue
        for number, line in enumerate(block.text.split("\n"), block.line):
            match = _FIELD.match(line)
            name = _FIELD_NAMES.get(normalise_heading(match[1])) if match else None
            value = _strip_markup(match[2]) if match and name else ""
            if name is None or not value or name in in_own_section:
                continue
            if number in section_lines.get(_SECTION_OF_FIELD[name], ()):
                in_own_section.add(name)
                stated[name] = LabelledField(name, value, number)
            elif name != _ONLY_IN_SECTION:
                stated.setdefault(name, LabelledField(name, value, number))
    return stated


def _section_lines(found: list[BodySection]) -> dict[str, range]:
    """Return the line range of the first section of each name that fields belong to."""
    lines: dict[str, range] = {}
    for name in dict.fromkeys(_SECTION_OF_FIELD.values()):
        section = find_section(found, name)
        if section:
            lines[name] = range(section.line, section.contents[-1].end + 1)
    return lines


def _strip_markup(value: str) -> str:
    """Return a value without quotes, code marks, emphasis, a link around it and a final remark."""
    text = value.strip(" \t|")
    linked = _LINK_AROUND_VALUE.fullmatch(text)
    text = _REMARK.sub("", linked[1] if linked else text).strip(" \t")
    is_code = False
    for _ in range(_MOST_MARKS):
        if len(text) < _PAIR or text[0] != text[-1] or text[0] not in "`*\"'":
            break
        is_code = is_code or text[0] == "`"
        text = text[1:-1].strip(" \t")
    return text if is_code else unescape(text)


# Reading the artifact and the record


def _is_record(block: Block) -> bool:
    return block.kind is BlockKind.FENCE and block.info.split(None, 1)[:1] == [RECORD_INFO]


def _find_record(body: list[Block]) -> Block | None:
    """Return the record's fence if there is exactly one.

    Quoted, nested and unclosed fences do not count.
    """
    fences = [block for block in body if _is_record(block) and block.closed and not block.nested]
    return fences[0] if len(fences) == 1 else None


def _inline_artifact(text: str, full: BodySection, body: list[Block]) -> tuple[str | None, int]:
    """Return the artifact under its heading, fenced or not, and its first line."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    first = full.line
    while first < len(lines) and not lines[first].strip():
        first += 1
    if _ARTIFACT_START.match("\n".join(lines[first : first + 2])):
        return _unfenced_artifact(lines, first, body)
    for block in full.contents:
        if block.kind is BlockKind.FENCE and not block.quoted and not _is_record(block):
            is_whole = block.closed and not block.text.isspace() and block.text
            return (block.text, block.line + 1) if is_whole else (None, 0)
    return None, 0


def _unfenced_artifact(lines: list[str], first: int, body: list[Block]) -> tuple[str | None, int]:
    """Return an artifact without a fence: all lines to the end of the body, except the record."""
    last = len(lines)
    for number, block in enumerate(body):
        if block.line > first + 1 and _is_record(block):
            titled = body[number - 1].kind is BlockKind.HEADING
            last = body[number - 1 if titled else number].line - 1
            break
    inner = "\n".join(lines[first:last]).rstrip()
    return (inner + "\n", first + 1) if inner else (None, 0)


def _has_link(full: BodySection) -> bool:
    """Return whether a link, a URL or a file name is under the heading."""
    return any(
        _LINK.search(block.text)
        for block in full.contents
        if block.kind is BlockKind.PARAGRAPH and not block.quoted
    )


# The publish document's rules for a COMPILED message (AP-001 to AP-008, AP-010; R22)
#
# These rules need only the message. AP-004, AP-007 and AP-008 are about sections and are in the
# table of message types.


_MOST_QUOTED = 200
_MISSING = "missing"
# artifact_publish_spec, Persistence States
_STATES = ("Persisted", "Pending", "Draft")


def check_compiled(message: Message, body: list[Block]) -> list[Diagnostic]:
    """Return all problems of a COMPILED message.

    Lines count in the body; problems of the subject have no line.
    """
    compiled = read_compiled_blocks(message, body)
    versions = list(_check_versions(compiled))
    return [
        *_check_subject(message, compiled),
        *_check_thread_id(message, compiled),
        *_check_compiled_at(compiled),
        *_check_path(message, compiled),
        *_check_artifact(compiled, body),
        *(versions or _check_previous(compiled)),
        *_check_status(compiled),
        *_check_session(message, compiled),
    ]


def _check_subject(message: Message, compiled: CompiledBody) -> Iterator[Diagnostic]:
    """Check AP-001. A wrong prefix and an empty description have codes of their own."""
    subject = parse_subject(message.subject)
    if subject is None or not subject.description:
        return
    _, _, words = subject.description.partition(" ")
    if compiled.subject_version is None or not words:
        yield codes.AP_001.at(subject=message.subject)


def _check_thread_id(message: Message, compiled: CompiledBody) -> Iterator[Diagnostic]:
    """Check AP-003."""
    if compiled.thread_id != message.thread_id:
        value = _quoted(compiled.thread_id)
        line = _field_line(compiled, THREAD_ID)
        yield codes.AP_003.at(line, value=value, thread_id=message.thread_id)


def _check_path(message: Message, compiled: CompiledBody) -> Iterator[Diagnostic]:
    """Check AP-005."""
    if compiled.path != f"artifacts/{message.thread_id}.md":
        value = _quoted(compiled.path)
        yield codes.AP_005.at(_field_line(compiled, PATH), value=value, thread_id=message.thread_id)


def _check_compiled_at(compiled: CompiledBody) -> Iterator[Diagnostic]:
    reason = _time_problem(compiled.compiled_at)
    if reason:
        yield codes.INVALID_COMPILED_AT.at(_field_line(compiled, COMPILED_AT), reason=reason)


def _time_problem(written: str | None) -> str | None:
    if written is None:
        return "it is missing"
    if not ISO_TIME.fullmatch(written):
        return f"it is {_quoted(written)}"
    try:
        datetime.fromisoformat(written)
    except ValueError:
        return f"{_quoted(written)} is not a calendar date"
    return None


def _check_artifact(compiled: CompiledBody, body: list[Block]) -> Iterator[Diagnostic]:
    """Check AP-006. An unclosed fence contains no complete artifact: its end may be missing."""
    if compiled.inline is not None or compiled.has_link:
        return
    is_open = any(
        block.kind is BlockKind.FENCE and not block.closed and not block.quoted
        for block in body
        if block.line > compiled.artifact_heading_line
    )
    reason = ": its fence is not closed" if compiled.artifact_heading_line and is_open else ""
    yield codes.AP_006.at(compiled.artifact_heading_line or 1, reason=reason)


# Comparing the stated versions (AP-010)


def _check_versions(compiled: CompiledBody) -> Iterator[Diagnostic]:
    """Check AP-010: report each version that differs from the subject's, or from the first."""
    stated = list(_stated_versions(compiled))
    numbers = [compiled.subject_version, *(number for number, _, _, _ in stated)]
    version = next((number for number in numbers if number is not None), None)
    if version is None:
        return
    for number, place, value, line in stated:
        if number != version:
            yield codes.AP_010.at(line, place=place, value=value, version=version)


def _stated_versions(compiled: CompiledBody) -> Iterator[tuple[int | None, str, str, int]]:
    """Yield each stated version: its number, its location in words, its text, its line."""
    number = compiled.title_version
    if number is not None:
        yield number, "The title", f"v{number}", compiled.title_line
    stated = compiled.stated.get(VERSION)
    if stated:
        yield compiled.version, "The metadata", _quoted(stated.value), stated.line
    if compiled.inline is not None:
        yield from _front_matter_version(compiled.inline, compiled.inline_line)
    recorded = _read_record(compiled).get("version")
    if type(recorded) is int:
        yield recorded, "The record", f"version {recorded}", compiled.record_line


def _read_record(compiled: CompiledBody) -> Mapping[str, object]:
    """Return the record's fields; none if it is unreadable, which makes it no version (R10)."""
    try:
        value = json.loads(compiled.record or "null")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _check_previous(compiled: CompiledBody) -> Iterator[Diagnostic]:
    """Check that the previous version, if stated, is the one before the message's."""
    stated = compiled.stated.get(PREVIOUS)
    version = compiled.subject_version
    if stated is None or version is None or compiled.previous == version - 1:
        return
    yield codes.COMPILED_MISMATCH.at(
        stated.line,
        place="The metadata",
        value=f"Previous Version {_quoted(stated.value)}",
        other=f"the version before v{version} is",
        expected=f"v{version - 1}",
    )


def _check_status(compiled: CompiledBody) -> Iterator[Diagnostic]:
    stated = compiled.stated.get(STATUS)
    if stated and match_listed_value(stated.value, _STATES) is None:
        expected = f"one of {', '.join(_STATES)}"
        words = {"section": PERSISTENCE, "value": stated.value, "expected": expected}
        found = UNLISTED_SECTION_VALUE.at(stated.line, **words)
        yield found._replace(fix=f"Set **{STATUS}** to {expected}.")


def _check_session(message: Message, compiled: CompiledBody) -> Iterator[Diagnostic]:
    """Check that the session of the front matter is the thread."""
    text = (compiled.inline or "").lstrip("\n")
    before = compiled.inline_line - 1 + len(compiled.inline or "") - len(text)
    matter = read_front_matter(text, before)
    written = (matter.values or {}).get("session_id")
    if isinstance(written, str) and written != message.thread_id:
        yield codes.COMPILED_MISMATCH.at(
            matter.lines.get("session_id", before + 1),
            place="The front matter",
            value=f"session_id {_quoted(written)}",
            other="the message is in",
            expected=_quoted(message.thread_id),
        )


def _front_matter_version(inline: str, line: int) -> Iterator[tuple[int | None, str, str, int]]:
    """Yield the version in the front matter. An artifact without front matter states none."""
    text = inline.lstrip("\n")
    before = line - 1 + len(inline) - len(text)
    matter = read_front_matter(text, before)
    if not matter.height:
        return
    number, value = _version_of_front_matter(matter)
    yield number, "The front matter", value, matter.lines.get("version", before + 1)


def _version_of_front_matter(matter: FrontMatter) -> tuple[int | None, str]:
    if matter.values is None:
        return None, f"nothing readable ({escape_control(matter.reason, _MOST_QUOTED)})"
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


def _field_line(compiled: CompiledBody, name: str) -> int:
    stated = compiled.stated.get(name)
    return stated.line if stated else 1


# The publish document's rules for versions in a thread (AP-002, AP-009; R11, R17)
#
# A version exists once a COMPILED message of any sender publishes it. This check does not verify
# that the version can be rebuilt.


def check_version_sequence(
    messages: Sequence[StoredMessage], voided: Collection[int] = frozenset()
) -> list[Diagnostic]:
    """Return what is wrong with the versions of a thread, each with its message and line.

    `voided` are the messages that the operator declared void: their version numbers may be reused.
    """
    found: list[Diagnostic] = []
    published = {0}  # v0 is the empty artifact before the first version
    latest = 0
    for posted in sorted(messages, key=thread_order_key):
        subject = parse_subject(posted.message.subject)
        if subject is None:
            continue
        if subject.type != COMPILED.name:
            unknown = check_referenced_version(posted.message, published)
            found += (each._replace(message_id=posted.id) for each in unknown)
            continue
        number = subject_version(posted.message.subject)
        if number is None:
            continue  # AP-001 reports it
        if number != latest + 1:
            wrong = codes.AP_002.at(version=number, expected=latest + 1)
            found.append(wrong._replace(message_id=posted.id))
        published.add(number)
        latest = latest if posted.id in voided else max(latest, number)
    return found


def check_referenced_version(message: Message, published: Collection[int]) -> Iterator[Diagnostic]:
    """Check AP-009: the version that a message refers to must exist in the thread already."""
    name = TYPES[message.type].version_field if message.type else ""
    stated = _referenced_version(message, name) if name else None
    if stated is None:
        return
    number = int(stated.value.removeprefix("v"))
    if number not in published:
        yield codes.AP_009.at(stated.line, version=number, latest=max(published, default=0))


def _referenced_version(message: Message, name: str) -> LabelledField | None:
    """Return the first version that the message states; later ones do not count."""
    if name.casefold() not in message.body.casefold():
        return None
    wanted = normalise_heading(name)
    return next(
        (
            field
            for field in read_fields(parse_blocks(message.body))
            if normalise_heading(field.name) == wanted and SEQUENCE_VERSION.fullmatch(field.value)
        ),
        None,
    )
