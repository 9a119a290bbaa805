"""What the body of each message type must hold (message_body_schema; ruling R3)."""

import re

from brenner.diagnostics.codes import message_body as codes
from brenner.diagnostics.codes import publish
from brenner.diagnostics.model import Diagnostic
from brenner.diagnostics.nearest import nearest
from brenner.grammar import AGENT_NAME, VERSION
from brenner.markdown.blocks import Block, Kind
from brenner.markdown.fields import fields
from brenner.thread.sections import Section, find_section, normalised, sections, title
from brenner.thread.types import (
    PLACEHOLDER,
    UNFILLED_NAME,
    UNFILLED_TEXT,
    MessageType,
    SectionRule,
)

_CITATION = re.compile(r"§[0-9]")
_COUNT = re.compile(r"[0-9]")
_TABLE_HEAD = 2  # the row of headings, and the row of dashes
_NAMES_A_VERSION = re.compile(r"\bv[0-9]+\b", re.ASCII)
# Where later rounds name the version they speak of (publish document, Referencing Artifacts)
_VERSION_FIELDS = {
    "KICKOFF": "base artifact",
    "DELTA": "base version",
    "CRITIQUE": "artifact version",
}


def check_body(message_type: MessageType, blocks: list[Block]) -> list[Diagnostic]:
    """Everything that is wrong with the sections of a body, delta blocks aside."""
    found = sections(blocks)
    diagnostics: list[Diagnostic] = []
    for rule in message_type.sections:
        section = find_section(found, rule.name)
        if section is None:
            diagnostics += _missing(message_type, rule, found, blocks)
        else:
            diagnostics += _check_value(rule, section)
    if message_type.name == "COMPILED":
        diagnostics += _check_compiled_version(found, blocks)
    return diagnostics + _check_version_field(message_type, blocks) + _placeholders(blocks)


def check_ack_required(message_type: MessageType, stated: bool | None) -> list[Diagnostic]:
    """A sender may contradict the table of ACK semantics, but hears of it."""
    if stated is None or stated == message_type.ack_required:
        return []
    value, expected = str(stated).lower(), str(message_type.ack_required).lower()
    return [message_type.ack_mismatch.at(type=message_type.name, value=value, expected=expected)]


def stated_version(message_type: MessageType, blocks: list[Block]) -> int | None:
    """The version of the artifact that the message says it speaks of; 0 is the empty one."""
    for field in fields(blocks):
        if normalised(field.name) == _VERSION_FIELDS.get(message_type.name):
            match = VERSION.fullmatch(field.value)
            return int(match[1]) if match else None
    return None


def _missing(
    message_type: MessageType, rule: SectionRule, found: list[Section], blocks: list[Block]
) -> list[Diagnostic]:
    """The section is not there, unless something else counts in its place."""
    if rule.missing is None:
        return []
    heading = title(blocks)
    if rule.missing is codes.MB_002 and heading:
        return [codes.QUESTION_FROM_TITLE.at(heading.line, title=heading.text)]
    if rule.missing is codes.MB_003 and find_section(found, "Current State"):
        return []
    empty = next((s for s in found if normalised(s.name) == normalised(rule.name)), None)
    return [
        rule.missing.at(
            empty.line if empty else 1,
            type=message_type.name,
            section=rule.name,
            asks=rule.asks,
            whom=rule.asks,
            reason="is missing or empty",
            hint=_hint(rule.name, blocks),
        )
    ]


def _hint(name: str, blocks: list[Block]) -> str:
    """A heading that was probably meant: misspelt, or of level 1."""
    headings = {
        normalised(block.text): block
        for block in blocks
        if block.kind is Kind.HEADING and not block.quoted
    }
    near = nearest(normalised(name), headings)
    if near is None:
        return ""
    block = headings[near]
    if near == normalised(name) and block.level > 1:
        return ""
    return f" The heading `{'#' * block.level} {block.text}` on line {block.line} is not it."


def _check_value(rule: SectionRule, section: Section) -> list[Diagnostic]:
    value = section.first_line
    if rule.is_agent and not AGENT_NAME.fullmatch(value):
        if rule.missing is codes.MB_008:
            reason = f"says `{value}`, which is not an agent's name"
            words = {"whom": rule.asks, "section": rule.name, "reason": reason, "hint": ""}
            return [codes.MB_008.at(section.line, **words)]
        return [
            codes.INVALID_SECTION_VALUE.at(
                section.line, section=rule.name, value=value, expected="an agent's name"
            )
        ]
    if rule.values and not _is_listed(value, rule.values):
        required = rule.missing is codes.MISSING_SECTION
        code = codes.INVALID_SECTION_VALUE if required else codes.UNLISTED_SECTION_VALUE
        expected = "one of " + ", ".join(rule.values)
        return [code.at(section.line, section=rule.name, value=value, expected=expected)]
    return _check_contents(rule, section)


def _check_contents(rule: SectionRule, section: Section) -> list[Diagnostic]:
    """The sections that must hold something in particular."""
    text = "\n".join(block.text for block in section.contents)
    if rule.name == "Excerpt" and not _CITATION.search(text):
        return [codes.EXCERPT_WITHOUT_CITATION.at(section.line)]
    if rule.missing is publish.AP_007 and not _COUNT.search(text):
        return [publish.AP_007.at(section.line)]
    if rule.missing is publish.AP_004 and _is_a_table_without_rows(text):
        return [publish.AP_004.at(section.line)]
    return []


def _is_a_table_without_rows(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip()]
    return all(line.lstrip().startswith("|") for line in lines) and len(lines) <= _TABLE_HEAD


def _is_listed(line: str, values: tuple[str, ...]) -> bool:
    """Whether the line begins with one listed value, and names no other one.

    Case and emphasis do not count, and an explanation may follow: `**Major** - blocks T2`.
    """
    words = re.sub(r"[*_`]", "", line).casefold()
    named = [value for value in values if re.search(rf"\b{value.casefold()}\b", words)]
    return len(named) == 1 and words.strip().startswith(named[0].casefold())


def _check_compiled_version(found: list[Section], blocks: list[Block]) -> list[Diagnostic]:
    heading = title(blocks)
    summary = find_section(found, "Summary")
    texts = [heading.text] if heading else []
    texts += [block.text for block in summary.contents] if summary else []
    if any(map(_NAMES_A_VERSION.search, texts)):
        return []
    return [codes.MISSING_VERSION.at(heading.line if heading else 1)]


def _check_version_field(message_type: MessageType, blocks: list[Block]) -> list[Diagnostic]:
    wanted = _VERSION_FIELDS.get(message_type.name)
    return [
        codes.MALFORMED_VERSION.at(field.line, name=field.name, value=field.value)
        for field in (fields(blocks) if wanted else [])
        if normalised(field.name) == wanted and not VERSION.fullmatch(field.value)
    ]


def _placeholders(blocks: list[Block]) -> list[Diagnostic]:
    """What `brenner new` left to be filled in, in headings, paragraphs and delta blocks."""
    found = []
    for block in blocks:
        if block.quoted or not (UNFILLED_TEXT in block.text or UNFILLED_NAME in block.text):
            continue
        first = block.line + (block.kind is Kind.FENCE)
        for number, line in enumerate(block.text.split("\n"), first):
            found += [
                codes.PLACEHOLDER_LEFT.at(number, placeholder=placeholder)
                for placeholder in PLACEHOLDER.findall(line)
            ]
    return found
