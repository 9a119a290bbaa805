"""Message bodies: their sections, the rules for each message type, and quoted text.

A section is a Markdown heading of level 2 or deeper and its content (ruling R3).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from brenner.diagnostics.codes import messages as codes
from brenner.lazy_pattern import lazy_pattern
from brenner.markdown.blocks import Block, BlockKind
from brenner.markdown.escape import (
    LabelledField,
    character_reference,
    escape,
    escape_cell,
    one_paragraph,
    read_fields,
    read_table,
    render_fence,
)
from brenner.named_tuple import NamedTuple
from brenner.protocol.grammar import AGENT_NAME, LOOSE_VERSION, VERSION
from brenner.protocol.message_types import (
    KICKOFF,
    PLACEHOLDER,
    UNFILLED_NAME,
    UNFILLED_TEXT,
    UNFILLED_TOPIC,
    MessageType,
    SectionRule,
)
from brenner.text import closest, escape_control

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brenner.diagnostics.model import Diagnostic

_TITLE_LEVEL = 1
_CHECKBOX = lazy_pattern(r"\[([ \t]*|[xX])\][ \t]*(.*)", re.DOTALL)  # with the entry's text
_EMPHASIS = lazy_pattern(r"[*_`]")
_DECORATION = lazy_pattern(r"\s*(?:\(optional\))?\s*:?\s*(?:\(optional\))?\s*\Z", re.IGNORECASE)


class BodySection(NamedTuple):
    """A heading, its normalised name, and the blocks below it, deeper sections included."""

    name: str
    key: str
    line: int
    contents: tuple[Block, ...]

    @property
    def has_text(self) -> bool:
        """Whether the section contains text that a reader would see."""
        return any(map(has_visible_text, self.contents))

    @property
    def first_line(self) -> str:
        """The first line of the first paragraph, where a listed value or a name is expected."""
        return next(self._lines(), "")

    @property
    def chosen_line(self) -> str:
        """The line that the author chose: the first line, or a checklist's first ticked entry."""
        first = self.first_line
        if not _CHECKBOX.match(first):
            return first
        boxes = map(_CHECKBOX.match, self._lines())
        return next((each[2] for each in boxes if each and each[1].strip()), "")

    def _lines(self) -> Iterator[str]:
        for block in self.contents:
            if block.kind is BlockKind.PARAGRAPH and not block.quoted:
                yield from (line.strip() for line in block.text.strip().split("\n"))


def normalise_heading(name: str) -> str:
    """Return a heading without case, emphasis, final colon and `(optional)`, for comparison."""
    return _DECORATION.sub("", _EMPHASIS.sub("", name[:200])).strip().casefold()


def parse_sections(blocks: list[Block]) -> list[BodySection]:
    """Return all sections in order. A section ends at the next heading that is not deeper."""
    headings = [
        (index, block)
        for index, block in enumerate(blocks)
        if block.kind is BlockKind.HEADING and not block.quoted
    ]
    ends = _section_ends(headings, len(blocks))
    return [
        BodySection(
            block.text, normalise_heading(block.text), block.line, tuple(blocks[index + 1 : end])
        )
        for (index, block), end in zip(headings, ends, strict=True)
        if block.level > _TITLE_LEVEL
    ]


def _section_ends(headings: list[tuple[int, Block]], last: int) -> list[int]:
    """Return, for each heading, the index of the next one of its level or above. Linear time."""
    ends = []
    following: dict[int, int] = {}
    for index, block in reversed(headings):
        ends.append(
            min((at for level, at in following.items() if level <= block.level), default=last)
        )
        following = {level: at for level, at in following.items() if level < block.level}
        following[block.level] = index
    return ends[::-1]


def find_section(found: list[BodySection], name: str) -> BodySection | None:
    """Return the first section of that name that has text."""
    wanted = normalise_heading(name)
    for section in found:
        if section.key == wanted and section.has_text:
            return section
    return None


def find_title(blocks: list[Block]) -> Block | None:
    """Return the first heading of level 1 that has text."""
    for block in blocks:
        is_title = block.kind is BlockKind.HEADING and block.level == _TITLE_LEVEL
        if is_title and not block.quoted and block.text.strip():
            return block
    return None


def has_visible_text(block: Block) -> bool:
    """Return whether a block other than a heading contains text that a reader would see."""
    if block.kind is BlockKind.HEADING:
        return False
    text = block.text.strip()
    return bool(_without_comments(text) if block.kind is BlockKind.HTML else text)


def _without_comments(html: str) -> str:
    """Return the HTML after the comments at its start, which no reader sees."""
    position = 0
    while html.startswith("<!--", position):
        end = html.find("-->", position + 4)
        if end < 0:
            return ""
        position = end + 3
        while position < len(html) and html[position].isspace():
            position += 1
    return html[position:]


# Checking a body against the table of message types (message_body_schema; ruling R3)


_CITATION = lazy_pattern(r"§[0-9]|\bEV-[0-9]")
_COUNT = lazy_pattern(r"[0-9]")
_MOST_HEADINGS = 100  # searched for a misspelt one
_TABLE_HEAD_LINES = 2  # the row of headings and the delimiter row
_VERSION_MENTION = lazy_pattern(r"\bv[0-9]+\b", re.ASCII)


def check_body(message_type: MessageType, blocks: list[Block]) -> list[Diagnostic]:
    """Return all problems of a body's sections; delta blocks are checked elsewhere.

    Line numbers count from the start of the body.
    """
    found = parse_sections(blocks)
    diagnostics: list[Diagnostic] = []
    for rule in message_type.sections:
        section = find_section(found, rule.name)
        if section is None:
            diagnostics += _check_missing_section(message_type, rule, found, blocks)
        else:
            diagnostics += _check_value(rule, section)
    if message_type.name == "COMPILED":
        diagnostics += _check_compiled_version(found, blocks)
    return diagnostics + check_version_field(message_type, blocks) + _check_placeholders(blocks)


def check_ack_required(message_type: MessageType, stated: bool | None) -> list[Diagnostic]:
    """Warn if the sender's Ack-Required contradicts the default of the type."""
    if stated is None or stated == message_type.ack_required:
        return []
    value, expected = str(stated).lower(), str(message_type.ack_required).lower()
    return [message_type.ack_mismatch.at(type=message_type.name, value=value, expected=expected)]


def _check_missing_section(
    message_type: MessageType,
    rule: SectionRule,
    found: list[BodySection],
    blocks: list[Block],
) -> list[Diagnostic]:
    """Report an absent section, unless the rule accepts something else in its place."""
    if rule.missing is None:
        return []
    heading = find_title(blocks)
    if rule.title_counts and heading:
        return [codes.QUESTION_FROM_TITLE.at(heading.line, title=heading.text)]
    state = find_section(found, rule.instead) if rule.instead else None
    if state:
        return [] if _names_version(message_type, blocks) else [_needs_artifact(state)]
    key = normalise_heading(rule.name)
    empty = next((section for section in found if section.key == key), None)
    return [
        rule.missing.at(
            empty.line if empty else 1,
            type=message_type.name,
            section=rule.name,
            asks=rule.asks_with_values,
            whom=rule.asks,
            reason="is missing or empty",
            hint=_heading_hint(rule.name, blocks),
        )
    ]


def _names_version(message_type: MessageType, blocks: list[Block]) -> bool:
    """Return whether the message states a version of the artifact, other than the empty v0."""
    key = normalise_heading(message_type.version_field)
    stated = [each.value for each in read_fields(blocks) if normalise_heading(each.name) == key]
    return any(value != "v0" for value in stated)


def _needs_artifact(state: BodySection) -> Diagnostic:
    return codes.CONTEXT_NEEDS_ARTIFACT.at(state.line)


def state_instead_of_context(blocks: list[Block]) -> BodySection | None:
    """Return the section that a kickoff has in place of its context, or None."""
    found = parse_sections(blocks)
    for rule in KICKOFF.sections:
        if rule.instead and find_section(found, rule.name) is None:
            return find_section(found, rule.instead)
    return None


def handoff_target(blocks: list[Block]) -> tuple[str, int] | None:
    """Return the agent that takes over the work, and its line. An invalid name is no agent."""
    section = find_section(parse_sections(blocks), "To")
    name = _plain_name(section.first_line) if section else ""
    is_name = AGENT_NAME.fullmatch(name) and name != UNFILLED_NAME
    return (name, section.line) if section and is_name else None


def _heading_hint(name: str, blocks: list[Block]) -> str:
    """Return a hint at a heading that was probably meant: misspelt, or of level 1."""
    as_written: dict[str, Block] = {}
    for block in blocks:
        if block.kind is BlockKind.HEADING and not block.quoted:
            as_written.setdefault(block.text, block)
    headings: dict[str, Block] = {}
    for text, block in as_written.items():
        if len(headings) == _MOST_HEADINGS:
            break
        headings.setdefault(normalise_heading(text), block)
    near = closest(normalise_heading(name), headings)
    if near is None:
        return ""
    block = headings[near]
    if near == normalise_heading(name) and block.level > 1:
        return ""
    return f" The heading `{'#' * block.level} {block.text}` does not count."


def _check_value(rule: SectionRule, section: BodySection) -> list[Diagnostic]:
    value = section.first_line
    if rule.is_agent and not AGENT_NAME.fullmatch(_plain_name(value)):
        if rule.missing is codes.MB_008:
            reason = f"says `{value}`, which is not a valid agent name"
            words = {"whom": rule.asks, "section": rule.name, "reason": reason, "hint": ""}
            return [codes.MB_008.at(section.line, **words)]
        return [
            codes.INVALID_SECTION_VALUE.at(
                section.line, section=rule.name, value=value, expected="a valid agent name"
            )
        ]
    if rule.values and match_listed_value(value, rule.values) is None:
        required = rule.missing is codes.MISSING_SECTION
        code = codes.INVALID_SECTION_VALUE if required else codes.UNLISTED_SECTION_VALUE
        expected = "one of " + ", ".join(rule.values)
        return [code.at(section.line, section=rule.name, value=value, expected=expected)]
    return _check_contents(rule, section)


def _plain_name(line: str) -> str:
    """Return a name without emphasis, `@`, and a remark in brackets after it."""
    return re.sub(r"[*`]", "", line).partition("(")[0].strip().removeprefix("@")


def _check_contents(rule: SectionRule, section: BodySection) -> list[Diagnostic]:
    """Check a section that must contain a citation, counts or entries."""
    text = "\n".join(block.text for block in section.contents)
    if rule.holds == "a citation" and not _CITATION.search(text):
        return [codes.EXCERPT_WITHOUT_CITATION.at(section.line)]
    lacks_counts = rule.holds == "counts" and not _COUNT.search(text)
    lacks_entries = rule.holds == "entries" and _is_empty_table(text)
    if rule.missing and (lacks_counts or lacks_entries):
        return [rule.missing.at(section.line)]
    return []


def _is_empty_table(text: str) -> bool:
    """Return whether a table has no rows, or only empty ones. Pipes at its edges are optional."""
    lines = [line for line in text.split("\n") if line.strip()]
    table = read_table("\n".join(lines), 1)
    if table:
        return not any(any(cells) for cells, _ in table[1:])
    return all(line.lstrip().startswith("|") for line in lines) and len(lines) <= _TABLE_HEAD_LINES


def match_listed_value(line: str, values: tuple[str, ...]) -> str | None:
    """Return the listed value that the line begins with, unless the line offers a second one.

    Case, emphasis and marks before the value are ignored, and a remark may follow: `**Major** (for
    T2)`.
    """
    words = re.sub(r"[*_`]", "", line).casefold().lstrip("-+•✅✔[]x \t")
    listed = "|".join(re.escape(value.casefold()) for value in values)
    found = re.match(rf"({listed})\b", words)
    if not found or re.match(rf"(?:{listed})\s*(?:[|/,&]|or\b|and\b)\s*(?:{listed})\b", words):
        return None
    return next(value for value in values if value.casefold() == found[1])


def is_exactly(line: str, value: str) -> bool:
    """Return whether the line is only this value, apart from emphasis and a final mark.

    Use it where the value has consequences: `Completed? Not yet` also begins with a listed value,
    and a remark may take the value back.
    """
    words = re.sub(r"[*_`]", "", line).strip("✅✔ \t").rstrip(".! \t")
    return words.casefold() == value.casefold()


def _check_compiled_version(found: list[BodySection], blocks: list[Block]) -> list[Diagnostic]:
    heading = find_title(blocks)
    summary = find_section(found, "Summary")
    texts = [heading.text] if heading else []
    texts += [block.text for block in summary.contents] if summary else []
    if any(map(_VERSION_MENTION.search, texts)):
        return []
    return [codes.MISSING_VERSION.at(heading.line if heading else 1)]


def check_version_field(message_type: MessageType, blocks: list[Block]) -> list[Diagnostic]:
    """Check the field that names the version of a later round: its form, and that it is bold."""
    name = message_type.version_field
    if not name:
        return []
    key = normalise_heading(name)
    stated = [field for field in read_fields(blocks) if normalise_heading(field.name) == key]
    versions = [field for field in stated if VERSION.fullmatch(field.value)]
    wrong = [
        (field.line, f"**{field.name}**: {field.value}")
        for field in stated
        if not VERSION.fullmatch(field.value)
    ]
    plain = re.compile(rf"[ \t]*{name}[ \t]*:", re.IGNORECASE)
    for block in blocks:
        if block.kind is BlockKind.PARAGRAPH and not block.quoted:
            lines = enumerate(block.text.split("\n"), block.line)
            wrong += [(number, line.strip()) for number, line in lines if plain.match(line)]
    return [
        *(_malformed_version(line, name, text) for line, text in wrong),
        *_check_conflicting_versions(name, versions),
    ]


def _malformed_version(line: int, name: str, written: str) -> Diagnostic:
    """Suggest the version that is written in another form, and never one that may not exist."""
    stated = LOOSE_VERSION.fullmatch(written.rpartition(":")[2].strip("*_` \t"))
    right = f"`**{name}**: v{int(stated[1]) if stated else 'N'}`"
    right += "" if stated else ", where N is the number of the version that you have read"
    return codes.MALFORMED_VERSION.at(line, name=name, written=written, right=right)


def _check_conflicting_versions(name: str, versions: list[LabelledField]) -> list[Diagnostic]:
    return [
        codes.CONFLICTING_VERSIONS.at(
            field.line, name=name, first=versions[0].value, second=field.value
        )
        for field in versions
        if field.value != versions[0].value
    ]


def _check_placeholders(blocks: list[Block]) -> list[Diagnostic]:
    """Report placeholders that `brenner new` left in headings, paragraphs and delta blocks.

    Other fences are skipped: they contain examples, records or artifacts, which the author may only
    quote.
    """
    found = []
    for block in blocks:
        if block.quoted or not (UNFILLED_TEXT in block.text or UNFILLED_NAME in block.text):
            continue
        if block.kind is BlockKind.FENCE and block.info.split(None, 1)[:1] != ["delta"]:
            continue
        first = block.line + (block.kind is BlockKind.FENCE)
        for number, line in enumerate(block.text.split("\n"), first):
            found += [
                codes.PLACEHOLDER_LEFT.at(number, placeholder=placeholder)
                for placeholder in PLACEHOLDER.findall(line)
            ]
    return found


# Quoting untrusted text in a generated body: on one line, truncated, and without markup
#
# The text cannot create a heading, list item, cell, fence, link or placeholder. Code between single
# backticks stays code, as in our own diagnostics; inside it nothing else is markup.


MOST_QUOTED = 240
_ADVISED_DESCRIPTION = 80
_LONGEST_ESCAPE = 10  # characters for one escaped hidden character
_LONGEST_MARKER = 254  # Markdown parsers count at most one more
_CODE = lazy_pattern("(`[^`]*`)")
# With these in the text, code spans are escaped too: longer runs of backticks pair differently, an
# automatic link extends into the code after it, and placeholders are found in code as well.
_UNSAFE_WITH_CODE = ("``", "://", "www.", UNFILLED_TEXT[:2], UNFILLED_NAME, UNFILLED_TOPIC)


def quote(text: str, most: int = MOST_QUOTED) -> str:
    """Return text that is safe in a paragraph or list item, also at its start."""
    line = one_line(text, most)
    if any(word in line for word in _UNSAFE_WITH_CODE):
        return one_paragraph(_escape_placeholders(escape(line)))
    parts = _CODE.split(line)
    shown = "".join(
        part if number % 2 else _escape_between_code(part) for number, part in enumerate(parts)
    ).strip()
    return shown if shown.startswith("`") else one_paragraph(shown)


def quote_paragraphs(text: str) -> list[str]:
    """Return the whole text, paragraph by paragraph, with its line breaks.

    Nothing is cut, since a shortened text could say something else.
    """
    paragraphs: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.strip():
            paragraphs[-1].append(quote(line, _LONGEST_ESCAPE * len(line)))
        else:
            paragraphs.append([])
    return ["\\\n".join(map(_escape_continuation, lines)) for lines in paragraphs if lines]


def _escape_continuation(line: str) -> str:
    """Escape a colon at the start of a continuation line.

    It may be read as a table's delimiter row.
    """
    return f"\\{line}" if line.startswith(":") else line


def quote_cell(text: str, most: int = MOST_QUOTED) -> str:
    """Return text that is safe in a table cell."""
    return _escape_placeholders(escape_cell(one_line(text, most)))


def one_line(text: str, most: int = MOST_QUOTED) -> str:
    """Return the text on one line of at most `most` characters, with hidden characters escaped."""
    shown = escape_control(" ".join(text[: 4 * most].split()), most)
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def quote_in_fence(text: str, info: str) -> str:
    """Return the text in a fenced code block that no line of the text can close.

    The fence uses tildes if the text contains a run of backticks so long that no fence can be
    longer. A run of tildes of that length would close it only if alone on its line, which the texts
    quoted here never contain.
    """
    return render_fence(text, info, "~" if "`" * _LONGEST_MARKER in text else "`")


def short_description(text: str) -> str:
    """Return a description of the recommended length of a subject (R2), without placeholders."""
    return one_line(PLACEHOLDER.sub("…", one_line(text)), _ADVISED_DESCRIPTION)


def _escape_between_code(part: str) -> str:
    """Escape the text between two code spans, keeping the spaces at its edges."""
    inner = part.strip(" ")
    if not inner:
        return part
    before, _, after = part.partition(inner)
    return f"{before}{escape(inner)}{after}"


def _escape_placeholders(escaped: str) -> str:
    for word in (UNFILLED_TEXT[:2], UNFILLED_NAME, UNFILLED_TOPIC):
        escaped = escaped.replace(word, f"{character_reference(word[0])}{word[1:]}")
    return escaped
