r"""Write plain text into Markdown so that it is displayed literally, and read it back exactly.

Only characters that could be markup are escaped, so that prose stays readable: a backslash before
punctuation, a numeric reference for invisible or trimmed characters. A line break is `\` at the end
of a line in a paragraph, `<br>` in a table cell and `&#xA;` in a heading. This module also renders
and parses fences, `**Name**: value` lines and tables. `docs/reference/artifact-format.md` explains
the rules to users.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from brenner.lazy_pattern import lazy_pattern
from brenner.markdown.blocks import Block, BlockKind
from brenner.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Invisible characters, or ones that change the writing direction: controls but tab and line feed,
# line and paragraph separators, the byte order mark, direction marks and embeddings.
_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff"
)
_MAYBE_MARKUP = lazy_pattern(rf"[\\`*_<~|$&\]\n{_HIDDEN}]")
_ALWAYS_ESCAPED = {mark: f"\\{mark}" for mark in "\\`*~|$"}
# The other marks are markup only in these contexts.
_CONTEXTUAL_MARKUP = lazy_pattern(
    r"""(?x)
    <(?![ 0-9=])                    # `p < 0.05` begins no tag
  | (?<![^\W_])_ | _(?![^\W_])      # `snake_case` is no emphasis
  | &(?=\#?[0-9A-Za-z]+;)           # a character reference
  | \](?=\()                        # a link
    """
)
# Starts of lines that would begin a block or a definition, or be a table's delimiter row
_LINE_START = lazy_pattern(
    r"(?<=\n)(?:(\s)|([0-9]+)(?=[.)](?:[\s\\]|\Z))|(?=[#>=:\[]|[-+](?![0-9A-Za-z])))"
)
_PLAIN_WORD = lazy_pattern(r"[A-Za-z][A-Za-z0-9]*+(?:[-_][A-Za-z0-9]++)*+")
_WORD = lazy_pattern(r"[^ \t\n]+")
_SLASHES = lazy_pattern(r"(?<!\\)://")


def escape(text: str, indent: str = "") -> str:
    """Escape text that follows other text in a paragraph.

    `indent` is added before each further line.
    """
    if not _MAYBE_MARKUP.search(text) and not _has_space_at_edge(text):
        return text
    escaped = _prevent_autolinks(_escape_marks(text, "\\\n"))
    if "\n" in escaped:
        escaped = _LINE_START.sub(_escape_line_start, escaped)
        if indent:
            escaped = escaped.replace("\n", "\n" + indent)
    return escaped


def escape_heading(text: str) -> str:
    """Escape the text of a heading, or the end of it."""
    if _MAYBE_MARKUP.search(text) or _has_space_at_edge(text):
        text = _escape_marks(text, "&#xA;")
    return _prevent_autolinks(f"{text[:-1]}\\#" if text.endswith("#") else text)


def escape_cell(text: str) -> str:
    """Escape the text of a table cell."""
    if _MAYBE_MARKUP.search(text) or _has_space_at_edge(text):
        return _prevent_autolinks(_escape_marks(text, "<br>"))
    return text


def escape_word(text: str) -> str:
    """Escape text that is read up to the next space, colon or comma, and may begin a line."""
    if text.isalnum() or _PLAIN_WORD.fullmatch(text):
        return text
    word = re.sub(r"\s", lambda blank: character_reference(blank[0]), _escape_marks(text, "&#xA;"))
    word = re.sub(r"[:,\[]", r"\\\g<0>", word).replace("www.", "www\\.")
    return _LINE_START.sub(_escape_line_start, "\n" + word)[1:]


def escape_more(escaped: str, marks: re.Pattern[str]) -> str:
    r"""Escape these marks in text that is escaped already.

    The pattern must begin with the alternative `\\.`, so that it skips existing escapes.
    """
    return _prevent_autolinks(marks.sub(_escape_once, escaped))


def _escape_once(mark: re.Match[str]) -> str:
    return mark[0] if mark[0][0] == "\\" else f"\\{mark[0]}"


def _has_space_at_edge(text: str) -> bool:
    return text[:1].isspace() or text[-1:].isspace()


def _prevent_autolinks(escaped: str) -> str:
    """Prevent automatic links: they extend over escapes and would display them."""
    if "://" not in escaped and "www." not in escaped:
        return escaped
    return _WORD.sub(_escape_address, escaped)


def _escape_address(word: re.Match[str]) -> str:
    """Escape an address that contains escapes, so that no viewer makes it a link."""
    if "\\" not in word[0] and "&#" not in word[0]:
        return word[0]
    return _SLASHES.sub(r"\\://", word[0]).replace("www.", "www\\.")


def _escape_marks(text: str, line_break: str) -> str:
    """Escape marks; a space at either edge becomes a reference."""
    start, end = text[:1].isspace(), len(text) - (len(text) > 1 and text[-1].isspace())

    def mark(match: re.Match[str]) -> str:
        character = match[0]
        escaped = _ALWAYS_ESCAPED.get(character)
        if escaped:
            return escaped
        if character == "\n":
            return line_break
        if character in "_<&]":
            return f"\\{character}" if _CONTEXTUAL_MARKUP.match(inner, match.start()) else character
        return character_reference(character)

    inner = text[start:end]
    first, last = text[:start], text[end:]
    marked = _MAYBE_MARKUP.sub(mark, inner)
    return f"{first and character_reference(first)}{marked}{last and character_reference(last)}"


def character_reference(character: str) -> str:
    """Return the numeric reference of a character: `&#x20;`."""
    return f"&#x{ord(character):X};"


def _escape_line_start(match: re.Match[str]) -> str:
    blank, number = match.groups()
    return character_reference(blank) if blank else f"{number or ''}\\"


# Reading

_PUNCTUATION = r"[!-/:-@\[-`{-~]"
_ESCAPES = lazy_pattern(
    rf"""(?x)
    \\(?P<plain> {_PUNCTUATION} )
  | \\(?P<hard> \n )
  | <(?P<tag> [bB][rR][ ]?/?> )
  | &(?: \#[xX](?P<hexadecimal> [0-9A-Fa-f]{{1,6}} )
       | \#(?P<decimal> [0-9]{{1,7}} )
       | (?P<name> [A-Za-z][A-Za-z0-9]{{1,31}} ) ) ;
    """
)
_TRAILING_SPACES = lazy_pattern(r"(?<![ \t])[ \t]++(?=\n)")
_CODE = lazy_pattern(r"\\[\s\S]|`+")
_RUN = lazy_pattern("`+")
_SURROGATES = range(0xD800, 0xE000)
_LAST_CODE_POINT = 0x10FFFF


def unescape(raw: str) -> str:
    """Return the text that Markdown displays; the exact inverse of escaping.

    In text of other authors, emphasis, links and code stay as written.
    """
    if " \n" in raw or "\t\n" in raw:
        raw = _TRAILING_SPACES.sub("", raw)
    if "\\" not in raw and "&" not in raw and "<" not in raw:
        return raw
    if "`" not in raw:
        return _ESCAPES.sub(_unescape_match, raw)
    parts = []
    position = 0
    for start, end in _code_spans(raw):
        parts += [_ESCAPES.sub(_unescape_match, raw[position:start]), raw[start:end]]
        position = end
    return "".join(parts) + _ESCAPES.sub(_unescape_match, raw[position:])


def _unescape_match(match: re.Match[str]) -> str:
    kind = match.lastgroup
    if kind == "plain":
        return match["plain"]
    if kind in ("hard", "tag"):
        return "\n"
    if kind == "name":
        # Imported on first use: a large table that only files of other programs need.
        from html.entities import html5

        return html5.get(f"{match['name']};", match[0])
    point = int(match["hexadecimal"], 16) if match["hexadecimal"] else int(match["decimal"])
    is_scalar = point <= _LAST_CODE_POINT and point not in _SURROGATES
    return chr(point) if is_scalar else match[0]


def _code_spans(raw: str) -> list[tuple[int, int]]:
    """Return the ranges of code between runs of backticks of equal length, in linear time."""
    ends: dict[int, list[int]] = {}
    for run in reversed(list(_RUN.finditer(raw))):
        ends.setdefault(len(run[0]), []).append(run.end())
    spans = []
    position = 0
    while opening := _CODE.search(raw, position):
        position = opening.end()
        length = len(opening[0])
        if opening[0][0] == "\\":
            continue
        closings = ends.get(length, [])
        while closings and closings[-1] <= position:
            closings.pop()
        if closings:
            spans.append((opening.start(), closings[-1]))
            position = closings[-1]
    return spans


def strip_strikethrough(raw: str) -> str | None:
    """Return the text between `~~` and `~~`; None if the text is not struck through as a whole."""
    if len(raw) <= len("~~~~") or not raw.startswith("~~") or not raw.endswith("~~"):
        return None
    inner = raw[2:-2]
    backslashes = len(inner) - len(inner.rstrip("\\"))
    return None if backslashes % 2 else inner


_UP_TO_COLON = lazy_pattern(r"((?:[^:\\]|\\.)*+):[ \t]*(.*)", re.DOTALL)


def split_key(raw: str) -> tuple[str, str] | None:
    """Split `key: value` at the first colon that is not escaped; both parts stay escaped."""
    match = _UP_TO_COLON.fullmatch(raw)
    return (match[1].strip(" \t"), match[2]) if match else None


def split_list(raw: str, brackets: str = "[]") -> list[str]:
    """Split `one, two` at commas that are neither escaped nor in brackets.

    The parts stay escaped.
    """
    parts = []
    start = 0
    in_brackets = False
    for mark in re.finditer(r"\\.|[\[\],]", raw, re.DOTALL):
        if mark[0] == "," and not in_brackets:
            parts.append(raw[start : mark.start()])
            start = mark.end()
        elif mark[0] in brackets:
            in_brackets = mark[0] == "["
    return [part.strip(" \t\n") for part in (*parts, raw[start:])]


# Fences, and text without block markup


_RUNS_BY_MARK = {"`": lazy_pattern("`+"), "~": lazy_pattern("~+")}
_SHORTEST_FENCE = 3
_BLOCK_START = lazy_pattern(r"(?:[#>+*=<|`~_\[-]|[0-9]{1,9}[.)])")


def render_fence(text: str, info: str, mark: str = "`") -> str:
    """Return a fenced code block with exactly this text.

    The fence is longer than any run of its character in the text.
    """
    longest = max((len(run) for run in _RUNS_BY_MARK[mark].findall(text)), default=0)
    fence = mark * max(_SHORTEST_FENCE, longest + 1)
    ending = "" if text.endswith("\n") or not text else "\n"
    return f"{fence}{info}\n{text}{ending}{fence}\n"


def one_paragraph(text: str) -> str:
    """Return the text on one line that begins no heading, list, quotation, fence or HTML block."""
    line = " ".join(text.split())
    match = _BLOCK_START.match(line)
    if not match:
        return line
    mark = match.end() - 1
    return f"{line[:mark]}\\{line[mark:]}"


# `**Name**: value` lines


# Authors put the colon inside or outside the bold.
_LABELLED_FIELD = lazy_pattern(r"\*\*([^*:\n]+)(?::\*\*|\*\*:)[ \t]*(.*)")


class LabelledField(NamedTuple):
    """A `**Name**: value` field and its line."""

    name: str
    value: str
    line: int


def read_fields(blocks: list[Block]) -> list[LabelledField]:
    """Return the fields in the paragraphs and list items of a text, without quotations."""
    found = []
    for block in blocks:
        if block.kind is not BlockKind.PARAGRAPH or block.quoted or "**" not in block.text:
            continue
        for number, line in enumerate(block.text.split("\n"), block.line):
            match = _LABELLED_FIELD.match(line.strip())
            if match:
                found.append(LabelledField(match[1].strip(), match[2].strip(), number))
    return found


# Tables of GitHub's Markdown, with escaped text in their cells


_CELL = lazy_pattern(r"((?:[^|\\]|\\.?)*+)(\||\Z)")
_DASHES = lazy_pattern(r":?-+:?")


TableRow = tuple[tuple[str, ...], int]  # the cells of a line, and its number


def render_row(cells: Iterable[str]) -> str:
    """Return one line of a table. An empty cell is two spaces between pipes."""
    return f"| {' | '.join(cells)} |"


def render_table(header: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    """Return the lines of a table without a final line ending."""
    lines = [render_row(header), render_row("---" for _ in header)]
    lines += [render_row(cells) for cells in rows]
    return "\n".join(lines)


def read_table(text: str, line: int) -> list[TableRow]:
    """Return the rows of a paragraph that is a table, the headings first; else an empty list.

    `line` is the number of its first line.
    """
    lines = text.split("\n", 2)
    if len(lines) == 1 or "|" not in lines[0] or lines[1].strip("|:- \t"):
        return []
    header = split_row(lines[0])
    dashes = split_row(lines[1])
    if len(dashes) != len(header) or not all(map(_DASHES.fullmatch, dashes)):
        return []
    rows = lines[2].split("\n") if len(lines) > 2 else []  # noqa: PLR2004  (header, dashes, rest)
    return [(header, line), *((split_row(row), at) for at, row in enumerate(rows, line + 2))]


def split_row(row: str) -> tuple[str, ...]:
    """Return the cells of a line.

    Pipes at its edges are optional; escaped pipes do not separate cells.
    """
    row = row.strip(" \t")
    # The last match is always the empty one at the end.
    cells = [match[1] for match in _CELL.finditer(row.removeprefix("|"))][:-1]
    return tuple(cell.strip(" \t").replace("\\|", "|") for cell in cells)
