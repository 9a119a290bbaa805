r"""Text put into Markdown so that it is shown as it is, and read back exactly.

Only what could be taken for markup is escaped, so that prose stays readable: a backslash before
punctuation, a numeric reference for what cannot be seen or would be trimmed. Line breaks are
`\` at the end of a line in a paragraph, `<br>` in a table cell and `&#xA;` in a heading.
`docs/artifact-format.md` explains the rules to people.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from brenner.markdown.blocks import Block, Kind

# Not to be seen, or able to turn the text around them: controls but tab and line feed, line and
# paragraph separators, the byte order mark, marks and embeddings of writing direction.
_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff"
)
_SUSPECT = re.compile(rf"[\\`*_<~|$&\]\n{_HIDDEN}]")
_ALWAYS = {mark: f"\\{mark}" for mark in "\\`*~|$"}
# The others are markup only in some company.
_MARKUP = re.compile(
    r"""(?x)
    <(?![ 0-9=])                    # `p < 0.05` begins no tag
  | (?<![^\W_])_ | _(?![^\W_])      # `snake_case` is no emphasis
  | &(?=\#?[0-9A-Za-z]+;)           # a character reference
  | \](?=\()                        # a link
    """
)
# What begins a block at the start of a line, or a definition, or is a row of dashes under a table.
_LINE_START = re.compile(
    r"(?<=\n)(?:(\s)|([0-9]+)(?=[.)](?:[\s\\]|\Z))|(?=[#>=:\[]|[-+](?![0-9A-Za-z])))"
)
_PLAIN_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*+(?:[-_][A-Za-z0-9]++)*+")
_WORD = re.compile(r"[^ \t\n]+")
_SLASHES = re.compile(r"(?<!\\)://")


def escape(text: str, indent: str = "") -> str:
    """Text that follows other text in a paragraph; `indent` stands before its further lines."""
    if not _SUSPECT.search(text) and not _has_blank_edge(text):
        return text
    escaped = _without_links(_marked(text, "\\\n"))
    if "\n" in escaped:
        escaped = _LINE_START.sub(_line_start, escaped)
        if indent:
            escaped = escaped.replace("\n", "\n" + indent)
    return escaped


def escape_heading(text: str) -> str:
    """Text of a heading, or at its end."""
    if _SUSPECT.search(text) or _has_blank_edge(text):
        text = _marked(text, "&#xA;")
    return _without_links(f"{text[:-1]}\\#" if text.endswith("#") else text)


def escape_cell(text: str) -> str:
    """Text of a table cell."""
    if _SUSPECT.search(text) or _has_blank_edge(text):
        return _without_links(_marked(text, "<br>"))
    return text


def escape_word(text: str) -> str:
    """Text that is read up to the next blank, colon or comma, and may begin a line."""
    if text.isalnum() or _PLAIN_WORD.fullmatch(text):
        return text
    word = re.sub(r"\s", lambda blank: character_reference(blank[0]), _marked(text, "&#xA;"))
    word = re.sub(r"[:,\[]", r"\\\g<0>", word).replace("www.", "www\\.")
    return _LINE_START.sub(_line_start, "\n" + word)[1:]


def escape_also(escaped: str, marks: re.Pattern[str]) -> str:
    r"""Escaped text in which these marks are escaped, too.

    The pattern begins with the alternative `\\.`, so that it passes over what is escaped already.
    """
    return _without_links(marks.sub(_escaped_once, escaped))


def _escaped_once(mark: re.Match[str]) -> str:
    return mark[0] if mark[0][0] == "\\" else f"\\{mark[0]}"


def _has_blank_edge(text: str) -> bool:
    return text[:1].isspace() or text[-1:].isspace()


def _without_links(escaped: str) -> str:
    """Links that viewers make of themselves reach over escapes and would show them."""
    if "://" not in escaped and "www." not in escaped:
        return escaped
    return _WORD.sub(_plain_address, escaped)


def _plain_address(word: re.Match[str]) -> str:
    """An address that holds escapes, so written that no viewer makes a link of it."""
    if "\\" not in word[0] and "&#" not in word[0]:
        return word[0]
    return _SLASHES.sub(r"\\://", word[0]).replace("www.", "www\\.")


def _marked(text: str, line_break: str) -> str:
    """The text with marks escaped; a blank at either edge becomes a reference."""
    start, end = text[:1].isspace(), len(text) - (len(text) > 1 and text[-1].isspace())

    def mark(match: re.Match[str]) -> str:
        character = match[0]
        escaped = _ALWAYS.get(character)
        if escaped:
            return escaped
        if character == "\n":
            return line_break
        if character in "_<&]":
            return f"\\{character}" if _MARKUP.match(inner, match.start()) else character
        return character_reference(character)

    inner = text[start:end]
    first, last = text[:start], text[end:]
    marked = _SUSPECT.sub(mark, inner)
    return f"{first and character_reference(first)}{marked}{last and character_reference(last)}"


def character_reference(character: str) -> str:
    """A character by its number: `&#x20;`."""
    return f"&#x{ord(character):X};"


def _line_start(match: re.Match[str]) -> str:
    blank, number = match.groups()
    return character_reference(blank) if blank else f"{number or ''}\\"


# Reading

_PUNCTUATION = r"[!-/:-@\[-`{-~]"
_ESCAPES = re.compile(
    rf"""(?x)
    \\(?P<plain> {_PUNCTUATION} )
  | \\(?P<hard> \n )
  | <(?P<tag> [bB][rR][ ]?/?> )
  | &(?: \#[xX](?P<hexadecimal> [0-9A-Fa-f]{{1,6}} )
       | \#(?P<decimal> [0-9]{{1,7}} )
       | (?P<name> [A-Za-z][A-Za-z0-9]{{1,31}} ) ) ;
    """
)
_BLANKS_AT_END = re.compile(r"(?<![ \t])[ \t]++(?=\n)")
_CODE = re.compile(r"\\[\s\S]|`+")
_RUN = re.compile("`+")
_SURROGATES = range(0xD800, 0xE000)
_LAST_CODE_POINT = 0x10FFFF


def unescape(raw: str) -> str:
    """The text that Markdown shows, for text that was escaped: exactly what was escaped.

    In text of others emphasis and links stay as they are written, and so does code.
    """
    if " \n" in raw or "\t\n" in raw:
        raw = _BLANKS_AT_END.sub("", raw)
    if "\\" not in raw and "&" not in raw and "<" not in raw:
        return raw
    if "`" not in raw:
        return _ESCAPES.sub(_meant, raw)
    parts = []
    position = 0
    for start, end in _code_spans(raw):
        parts += [_ESCAPES.sub(_meant, raw[position:start]), raw[start:end]]
        position = end
    return "".join(parts) + _ESCAPES.sub(_meant, raw[position:])


def _meant(match: re.Match[str]) -> str:
    kind = match.lastgroup
    if kind == "plain":
        return match["plain"]
    if kind in ("hard", "tag"):
        return "\n"
    if kind == "name":
        # A table of two thousand names, wanted only by files of other programs.
        from html.entities import html5

        return html5.get(f"{match['name']};", match[0])
    point = int(match["hexadecimal"], 16) if match["hexadecimal"] else int(match["decimal"])
    is_scalar = point <= _LAST_CODE_POINT and point not in _SURROGATES
    return chr(point) if is_scalar else match[0]


def _code_spans(raw: str) -> list[tuple[int, int]]:
    """Where code stands between runs of backticks of one length; no run is looked at twice."""
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


def unstruck(raw: str) -> str | None:
    """What stands between `~~` and `~~`; None where the text is not struck as a whole."""
    if len(raw) <= len("~~~~") or not raw.startswith("~~") or not raw.endswith("~~"):
        return None
    inner = raw[2:-2]
    backslashes = len(inner) - len(inner.rstrip("\\"))
    return None if backslashes % 2 else inner


_UP_TO_COLON = re.compile(r"((?:[^:\\]|\\.)*+):[ \t]*(.*)", re.DOTALL)


def split_key(raw: str) -> tuple[str, str] | None:
    """`key: value`, at the first colon that is not escaped; still escaped, both."""
    match = _UP_TO_COLON.fullmatch(raw)
    return (match[1].strip(" \t"), match[2]) if match else None


def split_list(raw: str, brackets: str = "[]") -> list[str]:
    """`one, two`, at the commas that are neither escaped nor in brackets; still escaped."""
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


# Fences that no text can close


_RUNS_OF = {"`": re.compile("`+"), "~": re.compile("~+")}
_SHORTEST_FENCE = 3
_BLOCK_START = re.compile(r"(?:[#>+*=<|`~_\[-]|[0-9]{1,9}[.)])")


def fenced(text: str, info: str, mark: str = "`") -> str:
    """A fenced code block with exactly this text; the fence is longer than any run inside."""
    longest = max((len(run) for run in _RUNS_OF[mark].findall(text)), default=0)
    fence = mark * max(_SHORTEST_FENCE, longest + 1)
    ending = "" if text.endswith("\n") or not text else "\n"
    return f"{fence}{info}\n{text}{ending}{fence}\n"


def one_paragraph(text: str) -> str:
    """The text on one line that begins no heading, list, quotation, fence or HTML block."""
    line = " ".join(text.split())
    match = _BLOCK_START.match(line)
    if not match:
        return line
    mark = match.end() - 1
    return f"{line[:mark]}\\{line[mark:]}"


# `**Name**: value` lines


# The colon may stand inside or outside the bold: writers do both.
_FIELD = re.compile(r"\*\*([^*:\n]+)(?::\*\*|\*\*:)[ \t]*(.*)")


class Field(NamedTuple):
    """A field and the line that it stands on."""

    name: str
    value: str
    line: int


def fields(blocks: list[Block]) -> list[Field]:
    """The fields in the paragraphs and list items of a text, quotations aside."""
    found = []
    for block in blocks:
        if block.kind is not Kind.PARAGRAPH or block.quoted or "**" not in block.text:
            continue
        for number, line in enumerate(block.text.split("\n"), block.line):
            match = _FIELD.match(line.strip())
            if match:
                found.append(Field(match[1].strip(), match[2].strip(), number))
    return found


# Tables of GitHub's Markdown; their cells hold escaped text


_CELL = re.compile(r"((?:[^|\\]|\\.?)*+)(\||\Z)")
_DASHES = re.compile(r":?-+:?")


class Row(NamedTuple):
    """The cells of a line, and its number."""

    cells: tuple[str, ...]
    line: int


class Table(NamedTuple):
    """The row of headings and the rows below it."""

    header: Row
    rows: tuple[Row, ...]


def render_row(cells: Iterable[str]) -> str:
    """One line. An empty cell is two blanks between pipes."""
    return f"| {' | '.join(cells)} |"


def render_table(header: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    """The lines of a table, without an ending."""
    lines = [render_row(header), render_row("---" for _ in header)]
    lines += [render_row(cells) for cells in rows]
    return "\n".join(lines)


def read_table(text: str, line: int) -> Table | None:
    """The table that a paragraph is; None if it is none. `line` is its first."""
    lines = text.split("\n", 2)
    if len(lines) == 1 or "|" not in lines[0] or lines[1].strip("|:- \t"):
        return None
    header = split_row(lines[0])
    dashes = split_row(lines[1])
    if len(dashes) != len(header) or not all(map(_DASHES.fullmatch, dashes)):
        return None
    rows = lines[2].split("\n") if len(lines) > 2 else []  # noqa: PLR2004  (header, dashes, rest)
    return Table(
        Row(header, line),
        tuple(Row(split_row(row), number) for number, row in enumerate(rows, line + 2)),
    )


def split_row(row: str) -> tuple[str, ...]:
    """The cells of a line. Pipes at its edges may be left out; escaped ones part no cells."""
    row = row.strip(" \t")
    # The last match is always the empty one at the end of the text.
    cells = [match[1] for match in _CELL.finditer(row.removeprefix("|"))][:-1]
    return tuple(cell.strip(" \t").replace("\\|", "|") for cell in cells)
