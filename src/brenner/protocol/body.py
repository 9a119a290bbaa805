"""The sections of a body: Markdown headings of level 2 or deeper (ruling R3)."""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from brenner.diagnostics.codes import messages as codes
from brenner.diagnostics.model import Diagnostic
from brenner.markdown.blocks import Block, Kind, blocks
from brenner.markdown.escape import (
    Field,
    character_reference,
    escape,
    escape_cell,
    fenced,
    fields,
    one_paragraph,
    read_table,
)
from brenner.protocol.grammar import ACKNOWLEDGED_IDS, AGENT_NAME, VERSION
from brenner.protocol.message_types import (
    PLACEHOLDER,
    UNFILLED_NAME,
    UNFILLED_TEXT,
    UNFILLED_TOPIC,
    MessageType,
    SectionRule,
)
from brenner.text import closest, escape_control

_TITLE_LEVEL = 1
_BOX = re.compile(r"\[([ \t]*|[xX])\][ \t]*(.*)", re.DOTALL)  # of a checklist, with its text
_EMPHASIS = re.compile(r"[*_`]")
_DECORATION = re.compile(r"\s*(?:\(optional\))?\s*:?\s*(?:\(optional\))?\s*\Z", re.IGNORECASE)


class Section(NamedTuple):
    """A heading, its name as compared, and what stands under it, deeper sections included."""

    name: str
    key: str
    line: int
    contents: tuple[Block, ...]

    @property
    def has_text(self) -> bool:
        """Whether anything stands in it that a reader would see."""
        return any(map(is_seen, self.contents))

    @property
    def first_line(self) -> str:
        """The first line of its first paragraph, where a listed value or a name stands."""
        return next(self._lines(), "")

    @property
    def chosen_line(self) -> str:
        """The line that its author means: the first; of a checklist the first that is ticked."""
        first = self.first_line
        if not _BOX.match(first):
            return first
        boxes = map(_BOX.match, self._lines())
        return next((each[2] for each in boxes if each and each[1].strip()), "")

    def _lines(self) -> Iterator[str]:
        for block in self.contents:
            if block.kind is Kind.PARAGRAPH and not block.quoted:
                yield from (line.strip() for line in block.text.strip().split("\n"))


def normalised(name: str) -> str:
    """A section's name as compared: case, emphasis, a trailing colon, `(optional)` aside."""
    return _DECORATION.sub("", _EMPHASIS.sub("", name[:200])).strip().casefold()


def sections(blocks: list[Block]) -> list[Section]:
    """All sections, in order. A section ends at the next heading that is not deeper."""
    headings = [
        (index, block)
        for index, block in enumerate(blocks)
        if block.kind is Kind.HEADING and not block.quoted
    ]
    ends = _ends(headings, len(blocks))
    return [
        Section(block.text, normalised(block.text), block.line, tuple(blocks[index + 1 : end]))
        for (index, block), end in zip(headings, ends, strict=True)
        if block.level > _TITLE_LEVEL
    ]


def _ends(headings: list[tuple[int, Block]], last: int) -> list[int]:
    """For each heading the index of the next one of its level or above, found from the back."""
    ends = []
    following: dict[int, int] = {}
    for index, block in reversed(headings):
        ends.append(
            min((at for level, at in following.items() if level <= block.level), default=last)
        )
        following = {level: at for level, at in following.items() if level < block.level}
        following[block.level] = index
    return ends[::-1]


def find_section(found: list[Section], name: str) -> Section | None:
    """The first section of that name that has text."""
    wanted = normalised(name)
    for section in found:
        if section.key == wanted and section.has_text:
            return section
    return None


def title(blocks: list[Block]) -> Block | None:
    """The first heading of level 1 that has text."""
    for block in blocks:
        is_title = block.kind is Kind.HEADING and block.level == _TITLE_LEVEL
        if is_title and not block.quoted and block.text.strip():
            return block
    return None


def is_seen(block: Block) -> bool:
    """Whether a reader sees any text in it, a heading aside."""
    if block.kind is Kind.HEADING:
        return False
    text = block.text.strip()
    return bool(_without_comments(text) if block.kind is Kind.HTML else text)


def _without_comments(html: str) -> str:
    """What is left behind the HTML comments at the start, which no reader sees."""
    position = 0
    while html.startswith("<!--", position):
        end = html.find("-->", position + 4)
        if end < 0:
            return ""
        position = end + 3
        while position < len(html) and html[position].isspace():
            position += 1
    return html[position:]


# What the body of each message type must hold (message_body_schema; ruling R3).


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
    near = closest(normalised(name), headings)
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


# Other people's text in a body that we compose: on one line, cut, and without any effect.
#
# It can make no heading, item, cell, fence, link or placeholder. Code that it quotes between single
# backticks stays code, as our own diagnostics write it; there nothing else has an effect either.


MOST_QUOTED = 240
_ADVISED_DESCRIPTION = 80
_MOST_SPELLED = 10  # characters for one that is hidden
_LONGEST_MARKER = 254  # the readers of Markdown count one character more, and no further
_CODE = re.compile("(`[^`]*`)")
# A longer run of backticks pairs otherwise, an address that viewers make a link of reaches into the
# code after it, and a placeholder is found in code, too.
_NO_PLAIN_CODE = ("``", "://", "www.", UNFILLED_TEXT[:2], UNFILLED_NAME, UNFILLED_TOPIC)


def quoted(text: str, most: int = MOST_QUOTED) -> str:
    """The text as it can stand in a paragraph or list item, also at its beginning."""
    line = one_line(text, most)
    if any(word in line for word in _NO_PLAIN_CODE):
        return one_paragraph(_without_placeholders(escape(line)))
    parts = _CODE.split(line)
    shown = "".join(
        part if number % 2 else _escaped(part) for number, part in enumerate(parts)
    ).strip()
    return shown if shown.startswith("`") else one_paragraph(shown)


def quoted_paragraphs(text: str) -> list[str]:
    """The text whole, paragraph by paragraph, each with its own line breaks and all of its words.

    It is long, and its author's own: cut, it would say something else.
    """
    paragraphs: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.strip():
            paragraphs[-1].append(quoted(line, _MOST_SPELLED * len(line)))
        else:
            paragraphs.append([])
    return ["\\\n".join(map(_further, lines)) for lines in paragraphs if lines]


def _further(line: str) -> str:
    """A line that follows others: a colon at its start may be a row of dashes under a table."""
    return f"\\{line}" if line.startswith(":") else line


def quoted_cell(text: str, most: int = MOST_QUOTED) -> str:
    """The text as it can stand in a cell of a table."""
    return _without_placeholders(escape_cell(one_line(text, most)))


def one_line(text: str, most: int = MOST_QUOTED) -> str:
    """The words on one line, cut to `most` characters, hidden characters spelled out."""
    shown = escape_control(" ".join(text[: 4 * most].split()), most)
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def in_fence(text: str, info: str) -> str:
    """The text as a fenced block that nothing in it can close.

    Where it holds a run of backticks that no fence is longer than, the fence is of tildes. A run of
    tildes as long closes it only alone on its line, which in what we put there does not occur.
    """
    return fenced(text, info, "~" if "`" * _LONGEST_MARKER in text else "`")


def short(text: str) -> str:
    """A description that is as short as a subject's should be (R2); placeholders are left out."""
    return one_line(PLACEHOLDER.sub("…", one_line(text)), _ADVISED_DESCRIPTION)


def _escaped(part: str) -> str:
    """Text between two pieces of code; the blanks at its edges stay blanks."""
    inner = part.strip(" ")
    if not inner:
        return part
    before, _, after = part.partition(inner)
    return f"{before}{escape(inner)}{after}"


def _without_placeholders(escaped: str) -> str:
    for word in (UNFILLED_TEXT[:2], UNFILLED_NAME, UNFILLED_TOPIC):
        escaped = escaped.replace(word, f"{character_reference(word[0])}{word[1:]}")
    return escaped


# What an `ACK:` message settles (message document, ACK Semantics; rulings, Small decisions).
#
# A message whose ACK is required is owed by each of its recipients, its own sender aside. The debt
# is about the content: an ACK settles every copy of the message that its sender still owes.


_SECTION = "Message ID"
_DIGITS = re.compile(r"[0-9]+")
_MOST_DIGITS = 18  # no id has as many; what is longer names a message that nobody knows
_MARKS = re.compile(r"[*_`\[\]]")


UNREADABLE = (0,)  # the id of no message


class OpenDebt(NamedTuple):
    """A message of the thread that its recipient has not acknowledged yet."""

    message_id: int
    content_hash: str


def named_messages(body: str, reply_to: int | None = None) -> tuple[int, ...]:
    """The ids that an ACK names: under `## Message ID`, in a line or as a list, or else the message
    that it is a reply to. A number there that is no id names something, but nobody can say what;
    words name nothing.
    """
    return named_in(sections(blocks(body)), reply_to)


def named_in(under: list[Section], reply_to: int | None = None) -> tuple[int, ...]:
    """The same, of a body whose sections are known."""
    section = find_section(under, _SECTION)
    named: dict[int, None] = {}
    for line in _lines(section) if section else ():
        found = ACKNOWLEDGED_IDS.match(_MARKS.sub("", line).lstrip("-+• \t"))
        if found is None:
            break
        named |= dict.fromkeys(int(digits[:_MOST_DIGITS]) for digits in _DIGITS.findall(found[1]))
    if section and not named and _DIGITS.search(section.first_line):
        return UNREADABLE
    return tuple(named) or (() if reply_to is None else (reply_to,))


def _lines(section: Section) -> Iterator[str]:
    for block in section.contents:
        if block.kind is not Kind.PARAGRAPH or block.quoted:
            return
        yield from block.text.strip().split("\n")


def settled_by(
    named: Collection[int], named_contents: Collection[str], owed: Iterable[OpenDebt]
) -> tuple[int, ...]:
    """Which of its sender's open debts in the thread an ACK settles.

    `named_contents` are the content hashes of those messages of the thread that it names. An ACK
    that names none settles the only debt; of several, nobody can say which it means.
    """
    debts = list(owed)
    contents = {debt.content_hash for debt in debts}
    if named:
        contents &= set(named_contents)
    elif len(contents) > 1:
        contents = set()
    return tuple(debt.message_id for debt in debts if debt.content_hash in contents)
