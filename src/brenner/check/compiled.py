"""The publish document's rules for a COMPILED message (AP-001 to AP-008, AP-010; R22).

Here is what the message alone can show, whoever wrote it. AP-004, AP-007 and AP-008 are about
sections, and stand in the table of types. What needs the thread is in `sequence.py`.
"""

from collections.abc import Iterator
from datetime import datetime

from brenner.diagnostics.codes import publishing as codes
from brenner.diagnostics.model import Diagnostic
from brenner.grammar import ISO_TIME, LOOSE_VERSION
from brenner.markdown.blocks import Block, Kind
from brenner.markdown.front_matter import FrontMatter, read_front_matter
from brenner.text import visible
from brenner.thread.compiled_body import (
    COMPILED_AT,
    PATH,
    THREAD_ID,
    VERSION,
    CompiledBody,
    read_compiled_blocks,
)
from brenner.thread.messages import Message
from brenner.thread.subjects import parse_subject

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
        return None, f"nothing that can be read ({visible(matter.reason, _MOST_QUOTED)})"
    value = matter.values.get("version")
    if type(value) is int:
        return value, f"version {value}"
    if value is None:
        return None, "no version"
    text = str(value)
    match = LOOSE_VERSION.fullmatch(text) if isinstance(value, str) else None
    return int(match[1]) if match else None, f"version {_quoted(text)}"


def _quoted(value: str | None) -> str:
    return _MISSING if value is None else f"`{visible(value, _MOST_QUOTED)}`"


def _line(compiled: CompiledBody, name: str) -> int:
    stated = compiled.stated.get(name)
    return stated.line if stated else 1
