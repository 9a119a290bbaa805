"""The block structure of a CommonMark text: its code, headings, HTML and paragraphs, with lines.

The scanner makes one pass over the lines, as the appendix of the CommonMark specification
describes. Two things are open at any moment: a chain of containers (block quotations and list
items), and at most one leaf (a paragraph, a code block or an HTML block) in the innermost
container. Each line

1. continues the open containers whose prefix it has,
2. continues the open leaf, if that takes lines verbatim (code, HTML),
3. or opens new containers and a leaf, which closes everything it did not continue,
4. or is text of the open paragraph (a lazy line even without its prefix) or of a new one.

Lists themselves (tight or loose) and inline markup are ignored. The scanner agrees with cmark-gfm,
the reference implementation, also where that departs from the specification.

Outside containers the text is not read line by line. A fenced code block is skipped with one search
for its closing fence, and lines of plain prose are taken together. The scanner is linear in the
length of the text, since containers are at most `MOST_NESTING` deep: markers beyond that depth are
text of the innermost paragraph.
"""

from __future__ import annotations

import re
from enum import Enum

from brenner.lazy_pattern import lazy_pattern
from brenner.named_tuple import NamedTuple

# Lines
#
# CommonMark measures indentation in columns, with tab stops every four. A container may end in the
# middle of a tab. The rest of the tab then counts as spaces of the content. `SourceLine` therefore
# stores a column, and cuts the text only when a caller needs the `content`.
#
# The white space between two markers is measured once, however many list items share it. A line of
# a million spaces inside a hundred items stays cheap.


TAB_STOP = 4
CODE_INDENT = 4  # columns of indentation that make a line code

_NON_SPACE = lazy_pattern(r"[^ \t]")


def _column_width(blanks: str, column: int) -> int:
    """Return the width in columns of a run of spaces and tabs that begins at this column."""
    if "\t" not in blanks:
        return len(blanks)
    into_stop = column % TAB_STOP
    return len((" " * into_stop + blanks).expandtabs(TAB_STOP)) - into_stop


class SourceLine:
    """A line without its ending, and the current position in it."""

    __slots__ = (
        "_run",
        "_run_column",
        "blank",
        "column",
        "indent",
        "no_break_before",
        "start",
        "text",
    )

    text: str
    column: int  # the current column; the rest of the line begins here
    start: int  # the offset of the first non-space character at or after `column`
    indent: int  # the width in columns of the space before `start`
    blank: bool  # whether there is no such character
    no_break_before: int  # an offset before which no thematic break begins

    def __init__(self, text: str) -> None:
        self.text = text
        self.no_break_before = 0
        self._measure(0, 0)

    def _measure(self, offset: int, column: int) -> None:
        self._run = self.start = offset
        self._run_column = self.column = column
        self.indent = 0
        text = self.text
        if text.startswith((" ", "\t"), offset):
            found = _NON_SPACE.search(text, offset)
            self.start = found.start() if found else len(text)
            self.indent = _column_width(text[offset : self.start], column)
        self.blank = self.start == len(text)

    def skip(self, columns: int) -> None:
        """Skip columns of the indentation before `start`; there must be that many."""
        self.column += columns
        self.indent -= columns

    def skip_marker(self, length: int) -> None:
        """Skip a marker of `length` characters at `start`."""
        self._measure(self.start + length, self.column + self.indent + length)

    def stripped(self) -> str:
        """Return the rest of the line without its indentation."""
        return self.text[self.start :]

    def content(self) -> str:
        """Return the rest of the line; the rest of a partly consumed tab becomes spaces."""
        offset, columns = self._reached()
        return " " * columns + self.text[offset:]

    def characters(self) -> int:
        """Return the number of characters in the indentation.

        A partly consumed tab counts as one.
        """
        offset, columns = self._reached()
        return self.start - offset + (columns > 0)

    def _reached(self) -> tuple[int, int]:
        """Return the offset of the first unconsumed character, and the columns left of a tab."""
        offset, column = self._run, self._run_column
        while column < self.column:
            column += TAB_STOP - column % TAB_STOP if self.text[offset] == "\t" else 1
            offset += 1
        return offset, column - self.column


# Containers: the open block quotations and list items, each nested in the one before


QUOTATION = 0  # used as the indent of a quotation; that of a list item is never 0


class OpenContainers:
    """The open containers, from the outermost to the innermost."""

    __slots__ = ("_children", "_indents", "_quotations")

    def __init__(self) -> None:
        self._indents: list[int] = []  # columns that continue a list item, or QUOTATION
        self._children: list[int] = []  # the number of blocks in each
        self._quotations: list[int] = []  # indexes of the quotations

    def __len__(self) -> int:
        return len(self._indents)

    @property
    def quoted(self) -> bool:
        """Whether one of them is a block quotation."""
        return bool(self._quotations)

    def match(self, line: SourceLine) -> int:
        """Consume the containers' prefixes. Return how many containers the line continues."""
        for index, indent in enumerate(self._indents):
            if indent == QUOTATION:
                if not at_quotation_marker(line):
                    return index
                skip_quotation_marker(line)
            elif line.indent >= indent:
                line.skip(indent)
            elif line.blank:
                return self._match_blank(line, index)
            else:
                return index
        return len(self._indents)

    def _match_blank(self, line: SourceLine, index: int) -> int:
        """Match a blank rest: it continues list items, but neither quotations nor an empty item.

        It does not visit the items one by one, since many blank lines may follow a deep list. Only
        the innermost container can be empty.
        """
        line.skip(line.indent)
        for quotation in self._quotations:
            if quotation > index:
                return quotation
        return len(self._indents) - (self._children[-1] == 0)

    def enter(self, indent: int) -> None:
        """Open a list item of that indentation, or a QUOTATION."""
        self.count_child(1)
        if indent == QUOTATION:
            self._quotations.append(len(self._indents))
        self._indents.append(indent)
        self._children.append(0)

    def leave(self, depth: int) -> None:
        """Close all but the first `depth`."""
        del self._indents[depth:], self._children[depth:]
        while self._quotations and self._quotations[-1] >= depth:
            self._quotations.pop()

    def count_child(self, more: int) -> None:
        """Add `more` to the number of blocks in the innermost container."""
        if self._children:
            self._children[-1] += more


def at_quotation_marker(line: SourceLine) -> bool:
    """Return whether the rest of the line begins with the marker of a block quotation."""
    return line.indent < CODE_INDENT and line.text.startswith(">", line.start)


def skip_quotation_marker(line: SourceLine) -> None:
    """Skip the marker, including one space after it if there is one."""
    line.skip_marker(1)
    if line.indent:
        line.skip(1)


# HTML blocks: the seven start conditions of CommonMark, and the end condition of each
#
# The functions get one line without its indentation. Where the edition of CommonMark that cmark-gfm
# implements differs from the newest text, they follow cmark-gfm. There
# `<source` starts a block and `<search` does not, a declaration starts with a capital letter, and
# `<![cdata[` may have any case.


# Condition 1: tags whose content is raw until any of them is closed
_RAW_TAGS = ("pre", "script", "style", "textarea")

# Condition 6: tags that begin a block even inside a paragraph
_BLOCK_TAGS = (
    " address article aside base basefont blockquote body caption center col colgroup dd details"
    " dialog dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6"
    " head header hr html iframe legend li link main menu menuitem nav noframes ol optgroup option"
    " p param section source summary table tbody td tfoot th thead title tr track ul "
)

# Conditions 1 and 6 match a name and the characters allowed after it
_TAG_NAME = r"<(/?)([A-Za-z][A-Za-z0-9]*+)(?:(?P<raw>[ \t\v\f>]|$)|(?P<slash>/>))?"

# Condition 7: a complete opening or closing tag, alone on its line
_SINGLE_TAG = r"""(?x)
    <(?: [A-Za-z][A-Za-z0-9-]*+
         (?: [ \t\v\f]++ [A-Za-z_:][A-Za-z0-9_.:-]*+                            # an attribute
             (?: [ \t\v\f]*+ = [ \t\v\f]*+ (?: [^ \t\v\f"'=<>`]++ | '[^']*+' | "[^"]*+" ) )?+
         )*+ [ \t\v\f]*+ /?
       | / [A-Za-z][A-Za-z0-9-]*+ [ \t\v\f]*+
     )> [ \t\f]*+ $"""

# The starts of conditions 2, 3 and 5, and the ends of 2 to 5
_HTML_OPENERS = (("<!--", 2), ("<?", 3), ("<![CDATA[", 5))
_HTML_CLOSERS = {2: "-->", 3: "?>", 4: ">", 5: "]]>"}

_BLOCK_TAG = 6
SINGLE_TAG = 7  # the only condition that does not interrupt a paragraph


def html_start_condition(text: str) -> int:
    """Return the number of the start condition that a line meets, 0 if it begins no HTML block."""
    if text.startswith(("<!", "<?")):
        for opener, condition in _HTML_OPENERS:
            if text[: len(opener)].upper() == opener:
                return condition
        return 4 if "A" <= text[2:3] <= "Z" else 0
    named = re.match(_TAG_NAME, text)
    if named:
        name = named[2].lower()
        if name in _RAW_TAGS and not named[1] and named["raw"] is not None:
            return 1
        if f" {name} " in _BLOCK_TAGS and named.lastgroup:
            return _BLOCK_TAG
    return SINGLE_TAG if re.match(_SINGLE_TAG, text) else 0


def html_ends_at_blank_line(condition: int) -> bool:
    """Return whether a blank line ends an HTML block that met this start condition."""
    return condition >= _BLOCK_TAG


def is_html_end(condition: int, text: str) -> bool:
    """Return whether an HTML block of conditions 1 to 5 ends with this line."""
    if condition == 1:
        lower = text.lower()
        return "</" in lower and any(f"</{name}>" in lower for name in _RAW_TAGS)
    closer = _HTML_CLOSERS.get(condition)
    return closer is not None and closer in text


# Info strings of fenced code blocks


# Entities and numeric references; cmark accepts one or two digits more than the specification
_ENTITY = r"&(?:#[xX]([0-9A-Fa-f]{1,8})|#([0-9]{1,8})|([A-Za-z][A-Za-z0-9]{1,31}));"

# A backslash before ASCII punctuation
_ESCAPE = r"\\([!-/:-@\[-`{-~])"

_SPACE = " \t\n\r"
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_SURROGATES = range(0xD800, 0xE000)
_LAST_CODE_POINT = 0x10FFFF


def parse_info_string(raw: str) -> str:
    """Resolve the entities and escapes after an opening fence.

    Entities come first and escapes second, as in cmark: an escaped `&amp;` gives `&`. The
    specification would resolve both in one pass.
    """
    if "&" in raw:
        raw = re.sub(_ENTITY, _entity_character, raw)
    raw = raw.strip(_SPACE)
    return re.sub(_ESCAPE, r"\1", raw) if "\\" in raw else raw


def _entity_character(entity: re.Match[str]) -> str:
    hexadecimal, decimal, name = entity.groups()
    if name is not None:
        # Imported on first use: a large table that few texts need.
        from html.entities import html5

        return html5.get(f"{name};", entity[0])
    point = int(hexadecimal, 16) if hexadecimal else int(decimal)
    if point == 0 or point in _SURROGATES or point > _LAST_CODE_POINT:
        return _REPLACEMENT
    return chr(point)


# Link reference definitions at the start of a paragraph
#
# They are not text. A paragraph with nothing else disappears, and an underline below it does not
# make a heading. Only their extent matters here, so label, destination and title are not stored.


# A label: not blank, no unescaped brackets, and at most `MOST_LABEL` bytes, as in cmark
_LABEL = r"\[((?:[^\\\[\]]|\\[\s\S])*+)\]:"
MOST_LABEL = 1000

# Between the parts: spaces and at most one line ending
_GAP = r"[ \t]*+(?:\n[ \t]*+)?"

# A destination in angle brackets, or a run without spaces. In cmark a backslash escapes even a line
# ending.
_DESTINATION = r"<(?:[^<>\\\n]|\\[\s\S])*+>|(?!<)[^ \t\n]++"
MOST_PARENTHESES = 32

# A title in one of three pairs of quotes, which it may contain if escaped. cmark takes the longest
# possible title, so that a quote after a backslash may also be the closing one.
_TITLE = r"""(?x)
    " [^"]*+ (?: (?<=\\) " [^"]*+ )* "
  | ' [^']*+ (?: (?<=\\) ' [^']*+ )* '
  | \( [^()]*+ (?: (?<=\\) [()] [^()]*+ )* \) """

_LINE_END = r"[ \t]*+(?:\n|\Z)"


def strip_link_definitions(text: str) -> str:
    """Return the text of a paragraph after the link reference definitions at its start."""
    position = 0
    while text.startswith("[", position):
        after = _match_definition(text, position)
        if after is None:
            break
        position = after
    return text[position:]


def _match_end(pattern: str, text: str, position: int) -> int | None:
    # `re` compiles and caches it on first use: most texts contain no definition.
    found = re.compile(pattern).match(text, position)
    return found.end() if found else None


def _match_definition(text: str, position: int) -> int | None:
    label = re.compile(_LABEL).match(text, position)
    if label is None or not label[1].strip(" \t\n"):
        return None
    if len(label[1].encode(errors="surrogatepass")) > MOST_LABEL:
        return None
    destination = _match_end(_GAP, text, label.end())
    if destination is None:
        return None
    title = _match_end(_DESTINATION, text, destination)
    if title is None or not _has_balanced_parentheses(text[destination:title]):
        return None
    return _match_title(text, title) or _match_end(_LINE_END, text, title)


def _match_title(text: str, position: int) -> int | None:
    start = _match_end(_GAP, text, position)
    if start is None or start == position:
        return None
    end = _match_end(_TITLE, text, start)
    return None if end is None else _match_end(_LINE_END, text, end)


def _has_balanced_parentheses(destination: str) -> bool:
    """Return whether no parenthesis closes unopened, and not too many are open at once.

    cmark accepts a destination whose parentheses stay open; the specification does not.
    """
    if destination.startswith("<"):
        return True
    depth = 0
    escaped = False
    for character in destination:
        if escaped or character == "\\":
            escaped = not escaped
        elif character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
        if not 0 <= depth <= MOST_PARENTHESES:
            return False
    return True


# Leaf blocks: finished ones, and the open one that takes lines


class BlockKind(Enum):
    """The kinds of leaf blocks; thematic breaks are recognised but not reported."""

    HEADING = "heading"
    FENCE = "fence"
    CODE = "code"
    HTML = "html"
    PARAGRAPH = "paragraph"


# Bound once: looking a member up in its Enum takes half as long as creating a block.
HEADING, FENCE, CODE, HTML, PARAGRAPH = BlockKind

# cmark counts the characters of a marker up to this length; no closing fence needs to be longer.
LONGEST_MARKER = 255


class Block(NamedTuple):
    """A leaf block and its location."""

    kind: BlockKind
    line: int  # the first line, from 1
    end: int  # the last line, including a closing fence or an underline
    text: str  # code and HTML: the content, each line ending in "\n"; others: raw inline text
    quoted: bool  # inside a block quotation
    nested: bool  # inside a quotation or a list item: its lines may have a prefix
    level: int = 0  # of a heading
    info: str = ""  # of a fence: the info string, escapes and entities resolved
    closed: bool = True  # False: a fence without a closing line
    marker: str = ""  # of a fence: the run of backticks or tildes that opened it


class OpenLeaf:
    """A paragraph, code block or HTML block that may continue on the next line."""

    __slots__ = ("complete", "condition", "indent", "info", "kind", "line", "lines", "marker")

    def __init__(self, kind: BlockKind, line: int) -> None:
        self.kind = kind
        self.line = line
        self.lines: list[str] = []
        self.complete = False  # the last added line ends the block
        self.marker = ""  # fence
        self.info = ""  # fence: as written
        self.indent = 0  # fence: columns to remove from each line of the content
        self.condition = 0  # HTML: the start condition that was met

    def take(self, line: SourceLine) -> bool:
        """Continue with this line; return False if the block ended before it.

        Not for paragraphs.
        """
        if self.kind is FENCE:
            marker = self.marker[:LONGEST_MARKER]
            if line.indent < CODE_INDENT and is_closing_fence(line.stripped(), marker):
                self.complete = True
                return True
            line.skip(min(self.indent, line.indent))
        elif self.kind is CODE:
            if line.indent < CODE_INDENT and not line.blank:
                return False
            line.skip(min(CODE_INDENT, line.indent))
        elif line.blank and html_ends_at_blank_line(self.condition):
            return False
        self.add(line.content())
        return True

    def add(self, content: str) -> None:
        self.lines.append(content)
        if self.kind is HTML:
            self.complete = is_html_end(self.condition, content)

    def inline(self) -> str:
        """Return the text of a paragraph, "" if it contains only link reference definitions."""
        return strip_link_definitions("\n".join(self.lines)).strip(" \t")

    def block(self, end: int, quoted: bool, nested: bool) -> Block | None:
        """Return the finished block; None for a paragraph without text."""
        if self.kind is PARAGRAPH:
            text = self.inline()
            return Block(PARAGRAPH, self.line, end, text, quoted, nested) if text else None
        lines = self.lines
        if self.kind is CODE:
            while not lines[-1].strip(" \t"):
                lines.pop()
                end -= 1
        text = "\n".join((*lines, ""))
        if self.kind is not FENCE:
            return Block(self.kind, self.line, end, text, quoted, nested)
        info, closed = parse_info_string(self.info), self.complete
        return Block(FENCE, self.line, end, text, quoted, nested, 0, info, closed, self.marker)


def is_closing_fence(run: str, marker: str) -> bool:
    """Return whether the line is only a fence, at least as long as the opening one."""
    return run.startswith(marker) and not run.rstrip(" \t").strip(marker[0])


MOST_NESTING = 100

_LOWEST_HEADING = 6
_SHORTEST_BREAK = 3
_FENCE_INDENT = "   "

# An opening fence and its info string: three or more backticks with no other backtick on the line,
# or three or more tildes.
_FENCE = lazy_pattern(r"(`{3,}+(?![^`\n]*+`)|~{3,}+)([^\n]*+)")

# A run of equal thematic break characters, with or without spaces between them
_BREAK = lazy_pattern(r"([*_-])(?:[ \t]*+\1)*+[ \t]*+")

# A list marker: a bullet, or up to nine digits and a delimiter, then a space or the end of the line
_MARKER = lazy_pattern(r"(?:[*+-]|([0-9]{1,9})[.)])(?=[ \t]|\Z)")

# Whole lines that are certainly text of a paragraph, whatever comes before them. Other lines may be
# text too.
_PROSE = lazy_pattern(
    r"(?:(?:[^ \t\n#<=>`~0-9*_+-]|`(?!``)|[0-9]++(?![.)])|[*_+-]{1,2}+[^*_+\s-])[^\n]*+\n)++"
)


def parse_blocks(text: str) -> list[Block]:
    """Return the leaf blocks of a text, in order."""
    return _BlockScanner(text).scan()


class _BlockScanner:
    def __init__(self, text: str) -> None:
        text = text.removeprefix("\ufeff")  # cmark ignores it
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        self.text = text if text.endswith("\n") else text + "\n"
        self.number = 1  # of the current line
        self.containers = OpenContainers()
        self.leaf: OpenLeaf | None = None
        self.found: list[Block] = []

    def scan(self) -> list[Block]:
        text = self.text
        position = 0
        while True:
            if not self.containers and (self.leaf is None or self.leaf.kind is PARAGRAPH):
                position = self._skip_plain_lines(position)
            if position == len(text):
                break
            end = text.index("\n", position)
            self._line(SourceLine(text[position:end]))
            self.number += 1
            position = end + 1
        self._close(0)
        return self.found

    # Several lines at once, outside containers

    def _skip_plain_lines(self, position: int) -> int:
        """Process the lines from here that need no columns. Return the offset after them."""
        text = self.text
        while position < len(text):
            first = text[position]
            if first == "\n":
                if self.leaf is not None:
                    self._close(0)
                self.number += 1
                position += 1
            elif first in "`~" and (fence := _FENCE.match(text, position)):
                if self.leaf is not None:
                    self._close(0)
                position = self._read_whole_fence(fence)
            elif prose := _PROSE.match(text, position):
                leaf = self.leaf or self._open(PARAGRAPH, 0)
                leaf.add(prose[0][:-1])
                self.number += prose[0].count("\n")
                position = prose.end()
            else:
                break
        return position

    def _read_whole_fence(self, fence: re.Match[str]) -> int:
        marker, info = fence.groups()
        start = fence.end() + 1
        stop, after = self._closing_fence(marker[:LONGEST_MARKER], start)
        content = self.text[start:stop]
        line = self.number
        closed = after > stop
        end = line + content.count("\n") + closed
        info = parse_info_string(info)
        block = Block(FENCE, line, end, content, False, False, 0, info, closed, marker)
        self.found.append(block)
        self.number = end + 1
        return after

    def _closing_fence(self, marker: str, start: int) -> tuple[int, int]:
        """Return the end of the content from `start`, and the offset after the closing fence.

        A line is only examined if it contains the marker, and then once.
        """
        text = self.text
        found = text.find(marker, start)
        while found >= 0:
            end = text.index("\n", found)
            line = found if text[found - 1] == "\n" else text.rfind("\n", start - 1, found) + 1
            # Nearly every closing fence is the marker and nothing else.
            if line == found and end - found == len(marker):
                return line, end + 1
            if _FENCE_INDENT.startswith(text[line:found]) and is_closing_fence(
                text[found:end], marker
            ):
                return line, end + 1
            found = text.find(marker, end)
        return len(text), len(text)

    # One line

    def _line(self, line: SourceLine) -> None:
        matched = self.containers.match(line)
        leaf = self.leaf
        if leaf is not None and leaf.kind is not PARAGRAPH:
            if matched == len(self.containers) and leaf.take(line):
                if leaf.complete:
                    self._close_leaf(leaf, self.number)
                return
            leaf = None
        # Only a paragraph can continue without the prefixes of its containers.
        if leaf is None or line.blank:
            self._close(matched)
        if not line.blank:
            self._open_blocks(line, matched)

    def _open_blocks(self, line: SourceLine, depth: int) -> None:
        """Open the blocks that begin on this line, inside the first `depth` containers.

        The rest of the line is text.
        """
        while line.indent < CODE_INDENT and not line.blank:
            if self._open_leaf(line, depth):
                return
            if depth >= MOST_NESTING or not self._open_container(line, depth):
                break
            depth += 1
        if self.leaf is not None:
            # cmark keeps the indentation of a lazy line, which begins no link reference definition.
            lazy = depth < len(self.containers)
            self.leaf.add(line.content() if lazy else line.stripped())
        elif line.indent >= CODE_INDENT and not line.blank:
            line.skip(CODE_INDENT)
            self._open(CODE, depth).add(line.content())
        elif not line.blank:
            self._open(PARAGRAPH, depth).add(line.stripped())

    def _open_container(self, line: SourceLine, depth: int) -> bool:
        if at_quotation_marker(line):
            self._close(depth)
            self.containers.enter(QUOTATION)
            skip_quotation_marker(line)
            return True
        marker = _MARKER.match(line.text, line.start)
        if marker is None or (self._in_paragraph(depth) and not _interrupts_paragraph(marker)):
            return False
        self._close(depth)
        width = line.indent + len(marker[0])
        line.skip_marker(len(marker[0]))
        # If the item begins with code or is empty, one space belongs to the marker, else all.
        inner = line.indent if line.indent <= CODE_INDENT and not line.blank else 1
        line.skip(min(inner, line.indent))
        self.containers.enter(width + inner)
        return True

    def _open_leaf(self, line: SourceLine, depth: int) -> bool:
        mark = line.text[line.start]
        if mark == "#":
            return self._atx_heading(line, depth)
        if mark in "`~":
            return self._fence(line, depth)
        if mark == "<":
            return self._html(line, depth)
        if mark in "=-" and self._in_paragraph(depth) and self._setext_heading(line):
            return True
        return mark in "*-_" and self._thematic_break(line, depth)

    # Leaf blocks other than paragraphs

    def _atx_heading(self, line: SourceLine, depth: int) -> bool:
        text = line.stripped()
        inline = text.lstrip("#")
        level = len(text) - len(inline)
        if level > _LOWEST_HEADING or not (inline == "" or inline[0] in " \t"):
            return False
        inline = inline.rstrip(" \t")
        # Hashes at the end close the heading only if a space precedes them.
        bare = inline.rstrip("#")
        if bare == "" or bare[-1] in " \t":
            inline = bare
        self._close(depth)
        self.containers.count_child(1)
        self._heading(self.number, inline.strip(" \t"), level)
        return True

    def _setext_heading(self, line: SourceLine) -> bool:
        """Turn the open paragraph into a heading if this line underlines it."""
        underline = line.stripped().rstrip(" \t")
        leaf = self.leaf
        if leaf is None or underline.strip(underline[0]):
            return False
        text = leaf.inline()
        if text:
            # As in cmark, the heading begins where the paragraph began, definitions included.
            self.leaf = None
            self._heading(leaf.line, text, 1 if underline[0] == "=" else 2)
        else:
            # Below link reference definitions only, the underline is text.
            leaf.lines = [line.stripped()]
        return True

    def _heading(self, line: int, text: str, level: int) -> None:
        quoted, nested = self.containers.quoted, bool(self.containers)
        self.found.append(Block(HEADING, line, self.number, text, quoted, nested, level))

    def _thematic_break(self, line: SourceLine, depth: int) -> bool:
        if line.start < line.no_break_before:
            return False
        run = _BREAK.match(line.text, line.start)
        if run is None:
            return False
        # If this run is no break, no break begins inside it.
        line.no_break_before = run.end()
        if run.end() < len(line.text) or run[0].count(run[1]) < _SHORTEST_BREAK:
            return False
        self._close(depth)
        self.containers.count_child(1)
        return True

    def _fence(self, line: SourceLine, depth: int) -> bool:
        fence = _FENCE.match(line.text, line.start)
        if fence is None:
            return False
        leaf = self._open(FENCE, depth)
        leaf.marker, leaf.info = fence.groups()
        # cmark counts characters here and removes as many columns; these differ after a tab.
        leaf.indent = line.characters()
        return True

    def _html(self, line: SourceLine, depth: int) -> bool:
        condition = html_start_condition(line.stripped())
        if condition == 0 or (condition == SINGLE_TAG and self._in_paragraph(depth)):
            return False
        leaf = self._open(HTML, depth)
        leaf.condition = condition
        leaf.add(line.content())
        if leaf.complete:
            self._close_leaf(leaf, self.number)
        return True

    # Opening and closing

    def _in_paragraph(self, depth: int) -> bool:
        """Return whether the line could continue the open paragraph other than as a lazy line."""
        return self.leaf is not None and depth == len(self.containers)

    def _open(self, kind: BlockKind, depth: int) -> OpenLeaf:
        self._close(depth)
        self.containers.count_child(1)
        self.leaf = OpenLeaf(kind, self.number)
        return self.leaf

    def _close(self, depth: int) -> None:
        """Close all but the first `depth` containers, and the leaf, which ended a line ago."""
        if self.leaf is not None:
            self._close_leaf(self.leaf, self.number - 1)
        if depth < len(self.containers):
            self.containers.leave(depth)

    def _close_leaf(self, leaf: OpenLeaf, end: int) -> None:
        self.leaf = None
        block = leaf.block(end, self.containers.quoted, bool(self.containers))
        if block is None:
            # As in cmark, a paragraph without text leaves its list item empty.
            self.containers.count_child(-1)
        else:
            self.found.append(block)


def _interrupts_paragraph(marker: re.Match[str]) -> bool:
    """Return whether a list item may interrupt a paragraph: not empty and, if numbered, from 1."""
    first = marker[1] is None or int(marker[1]) == 1
    return first and bool(marker.string[marker.end() :].strip(" \t"))
