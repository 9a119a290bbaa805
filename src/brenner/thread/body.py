"""What the body of each message type must hold (message_body_schema; ruling R3)."""

import re

from brenner.diagnostics.codes import messages as codes
from brenner.diagnostics.model import Diagnostic
from brenner.grammar import AGENT_NAME, VERSION
from brenner.markdown.blocks import Block, Kind
from brenner.markdown.escape import Field, fields, read_table
from brenner.text import nearest
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
_MOST_HEADINGS = 100  # that are worth a look for a misspelt one
_TABLE_HEAD = 2  # the row of headings, and the row of dashes
_NAMES_A_VERSION = re.compile(r"\bv[0-9]+\b", re.ASCII)


def check_body(
    message_type: MessageType, blocks: list[Block], lines_before: int = 0
) -> list[Diagnostic]:
    """Everything that is wrong with the sections of a body, delta blocks aside.

    Lines count in the body; only those inside a text need to know how many stand before it.
    """
    found = sections(blocks)
    diagnostics: list[Diagnostic] = []
    for rule in message_type.sections:
        section = find_section(found, rule.name)
        if section is None:
            diagnostics += _missing(message_type, rule, found, blocks, lines_before)
        else:
            diagnostics += _check_value(rule, section)
    if message_type.name == "COMPILED":
        diagnostics += _check_compiled_version(found, blocks)
    return diagnostics + check_version_field(message_type, blocks) + _placeholders(blocks)


def check_ack_required(message_type: MessageType, stated: bool | None) -> list[Diagnostic]:
    """A sender may contradict the table of ACK semantics, but hears of it."""
    if stated is None or stated == message_type.ack_required:
        return []
    value, expected = str(stated).lower(), str(message_type.ack_required).lower()
    return [message_type.ack_mismatch.at(type=message_type.name, value=value, expected=expected)]


def _missing(
    message_type: MessageType,
    rule: SectionRule,
    found: list[Section],
    blocks: list[Block],
    lines_before: int,
) -> list[Diagnostic]:
    """The section is not there, unless something else counts in its place."""
    if rule.missing is None:
        return []
    heading = title(blocks)
    if rule.title_counts and heading:
        return [codes.QUESTION_FROM_TITLE.at(heading.line, title=heading.text)]
    if rule.instead and find_section(found, rule.instead):
        return []
    key = normalised(rule.name)
    empty = next((section for section in found if section.key == key), None)
    return [
        rule.missing.at(
            empty.line if empty else 1,
            type=message_type.name,
            section=rule.name,
            asks=rule.wants,
            whom=rule.asks,
            reason="is missing or empty",
            hint=_hint(rule.name, blocks, lines_before),
        )
    ]


def _hint(name: str, blocks: list[Block], lines_before: int) -> str:
    """A heading that was probably meant: misspelt, or of level 1."""
    as_written: dict[str, Block] = {}
    for block in blocks:
        if block.kind is Kind.HEADING and not block.quoted:
            as_written.setdefault(block.text, block)
    headings: dict[str, Block] = {}
    for text, block in as_written.items():
        if len(headings) == _MOST_HEADINGS:
            break
        headings.setdefault(normalised(text), block)
    near = nearest(normalised(name), headings)
    if near is None:
        return ""
    block = headings[near]
    if near == normalised(name) and block.level > 1:
        return ""
    line = block.line + lines_before
    return f" The heading `{'#' * block.level} {block.text}` on line {line} is not it."


def _check_value(rule: SectionRule, section: Section) -> list[Diagnostic]:
    value = section.first_line
    if rule.is_agent and not AGENT_NAME.fullmatch(_plain_name(value)):
        if rule.missing is codes.MB_008:
            reason = f"says `{value}`, which is not an agent's name"
            words = {"whom": rule.asks, "section": rule.name, "reason": reason, "hint": ""}
            return [codes.MB_008.at(section.line, **words)]
        return [
            codes.INVALID_SECTION_VALUE.at(
                section.line, section=rule.name, value=value, expected="an agent's name"
            )
        ]
    if rule.values and listed_value(value, rule.values) is None:
        required = rule.missing is codes.MISSING_SECTION
        code = codes.INVALID_SECTION_VALUE if required else codes.UNLISTED_SECTION_VALUE
        expected = "one of " + ", ".join(rule.values)
        return [code.at(section.line, section=rule.name, value=value, expected=expected)]
    return _check_contents(rule, section)


def _plain_name(line: str) -> str:
    """A name without emphasis, an `@`, and a remark in brackets after it."""
    return re.sub(r"[*`]", "", line).partition("(")[0].strip().removeprefix("@")


def _check_contents(rule: SectionRule, section: Section) -> list[Diagnostic]:
    """The sections that must hold something in particular."""
    text = "\n".join(block.text for block in section.contents)
    if rule.holds == "a citation" and not _CITATION.search(text):
        return [codes.EXCERPT_WITHOUT_CITATION.at(section.line)]
    lacks_counts = rule.holds == "counts" and not _COUNT.search(text)
    lacks_entries = rule.holds == "entries" and _is_a_table_without_rows(text)
    if rule.missing and (lacks_counts or lacks_entries):
        return [rule.missing.at(section.line)]
    return []


def _is_a_table_without_rows(text: str) -> bool:
    """A table's head alone, or with rows that say nothing; pipes at its edges may be left out."""
    lines = [line for line in text.split("\n") if line.strip()]
    table = read_table("\n".join(lines), 1)
    if table:
        return not any(any(row.cells) for row in table.rows)
    return all(line.lstrip().startswith("|") for line in lines) and len(lines) <= _TABLE_HEAD


def listed_value(line: str, values: tuple[str, ...]) -> str | None:
    """The listed value that the line begins with, if it does not offer another one with it.

    Case, emphasis and marks before it do not count, and a remark may follow: `**Major** (for T2)`.
    """
    words = re.sub(r"[*_`]", "", line).casefold().lstrip("-+•✅✔[]x \t")
    listed = "|".join(re.escape(value.casefold()) for value in values)
    found = re.match(rf"({listed})\b", words)
    if not found or re.match(rf"(?:{listed})\s*(?:[|/,&]|or\b|and\b)\s*(?:{listed})\b", words):
        return None
    return next(value for value in values if value.casefold() == found[1])


def says_just(line: str, value: str) -> bool:
    """Whether the line is the value and nothing else, save emphasis and an end mark.

    So a value is read where something follows from it: `Completed? Not yet` begins with a listed
    value too, and a remark may take it back.
    """
    words = re.sub(r"[*_`]", "", line).strip("✅✔ \t").rstrip(".! \t")
    return words.casefold() == value.casefold()


def _check_compiled_version(found: list[Section], blocks: list[Block]) -> list[Diagnostic]:
    heading = title(blocks)
    summary = find_section(found, "Summary")
    texts = [heading.text] if heading else []
    texts += [block.text for block in summary.contents] if summary else []
    if any(map(_NAMES_A_VERSION.search, texts)):
        return []
    return [codes.MISSING_VERSION.at(heading.line if heading else 1)]


def check_version_field(message_type: MessageType, blocks: list[Block]) -> list[Diagnostic]:
    """The version that a later round speaks of: named as it must be, and in bold."""
    name = message_type.version_field
    if not name:
        return []
    key = normalised(name)
    stated = [field for field in fields(blocks) if normalised(field.name) == key]
    versions = [field for field in stated if VERSION.fullmatch(field.value)]
    wrong = [
        (field.line, f"**{field.name}**: {field.value}")
        for field in stated
        if not VERSION.fullmatch(field.value)
    ]
    plain = re.compile(rf"[ \t]*{name}[ \t]*:", re.IGNORECASE)
    for block in blocks:
        if block.kind is Kind.PARAGRAPH and not block.quoted:
            lines = enumerate(block.text.split("\n"), block.line)
            wrong += [(number, line.strip()) for number, line in lines if plain.match(line)]
    return [
        *(codes.MALFORMED_VERSION.at(line, name=name, written=text) for line, text in wrong),
        *_conflicting(name, versions),
    ]


def _conflicting(name: str, versions: list[Field]) -> list[Diagnostic]:
    """Each version that is not the first one that the message names."""
    return [
        codes.CONFLICTING_VERSIONS.at(
            field.line, name=name, first=versions[0].value, second=field.value
        )
        for field in versions
        if field.value != versions[0].value
    ]


def _placeholders(blocks: list[Block]) -> list[Diagnostic]:
    """What `brenner new` left to be filled in, in headings, paragraphs and delta blocks.

    What stands in any other fence is an example, a record or an artifact: text of others.
    """
    found = []
    for block in blocks:
        if block.quoted or not (UNFILLED_TEXT in block.text or UNFILLED_NAME in block.text):
            continue
        if block.kind is Kind.FENCE and block.info.split(None, 1)[:1] != ["delta"]:
            continue
        first = block.line + (block.kind is Kind.FENCE)
        for number, line in enumerate(block.text.split("\n"), first):
            found += [
                codes.PLACEHOLDER_LEFT.at(number, placeholder=placeholder)
                for placeholder in PLACEHOLDER.findall(line)
            ]
    return found
