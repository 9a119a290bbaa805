"""The block structure of a CommonMark text: where its code, its headings and its HTML stand.

One pass over the lines, as the appendix of the CommonMark specification describes it. Two things
are open at any moment: a chain of containers (block quotations and list items) and at most one
leaf (a paragraph, a code block or an HTML block) in the innermost of them. Each line

1. continues as many of the open containers as it carries the prefix of,
2. continues the open leaf, if that takes lines as they are (code, HTML),
3. or opens new containers and a leaf, which closes whatever it did not continue,
4. or is text: of the open paragraph (a lazy line even without its prefix) or of a new one.

Lists themselves, tight or loose, do not matter here; inline markup is not looked at. The scanner
agrees with cmark-gfm, the reference, and follows it where it departs from the specification.

Outside of containers the text is not walked line by line: a fenced code block is left with one
search for its closing fence, and lines of plain prose are taken together. Everything is linear in
the length of the text, for containers are at most `MOST_NESTING` deep: markers beyond that depth
are text of the innermost paragraph.
"""

import re
from enum import Enum
from typing import NamedTuple

# Lines
#
# CommonMark measures indentation in columns, with tab stops every four. A container may end in the
# middle of a tab. The rest of the tab then counts as spaces of the content. `Line` therefore stores
# a column, and cuts the text only when a caller needs the `content`.
#
# The white space between two markers is measured once, however many list items share it. A line of
# a million spaces inside a hundred items stays cheap.


TAB_STOP = 4
CODE_INDENT = 4  # the columns of blanks that make a line code

_NO_BLANK = re.compile(r"[^ \t]")


def _width(blanks: str, column: int) -> int:
    """The columns that a run of blanks takes, if it begins at this column."""
    if "\t" not in blanks:
        return len(blanks)
    into_stop = column % TAB_STOP
    return len((" " * into_stop + blanks).expandtabs(TAB_STOP)) - into_stop


class Line:
    """A line without its ending, and the place in it that has been reached."""

    __slots__ = ("_run", "_run_column", "blank", "column", "indent", "start", "text", "unbroken")

    text: str
    column: int  # where we are; the rest of the line begins here
    start: int  # the offset of the first character that is no blank, at or after that column
    indent: int  # the columns of blanks before it
    blank: bool  # there is no such character
    unbroken: int  # no thematic break begins before this offset

    def __init__(self, text: str) -> None:
        self.text = text
        self.unbroken = 0
        self._measure(0, 0)

    def _measure(self, offset: int, column: int) -> None:
        self._run = self.start = offset
        self._run_column = self.column = column
        self.indent = 0
        text = self.text
        if text.startswith((" ", "\t"), offset):
            found = _NO_BLANK.search(text, offset)
            self.start = found.start() if found else len(text)
            self.indent = _width(text[offset : self.start], column)
        self.blank = self.start == len(text)

    def skip(self, columns: int) -> None:
        """Take columns out of the blanks before `start`; there must be as many."""
        self.column += columns
        self.indent -= columns

    def skip_marker(self, length: int) -> None:
        """Go behind a marker of that many characters at `start`."""
        self._measure(self.start + length, self.column + self.indent + length)

    def stripped(self) -> str:
        """What is left of the line, without the blanks before it."""
        return self.text[self.start :]

    def content(self) -> str:
        """What is left of the line, the rest of a half eaten tab as blanks."""
        offset, columns = self._reached()
        return " " * columns + self.text[offset:]

    def characters(self) -> int:
        """How many characters the `indent` is made of; a half eaten tab is one."""
        offset, columns = self._reached()
        return self.start - offset + (columns > 0)

    def _reached(self) -> tuple[int, int]:
        """The offset of the first character not eaten, and the columns left of a tab before it."""
        offset, column = self._run, self._run_column
        while column < self.column:
            column += TAB_STOP - column % TAB_STOP if self.text[offset] == "\t" else 1
            offset += 1
        return offset, column - self.column


# Containers: the open block quotations and list items, each inside the one before.


QUOTATION = 0  # in place of the indent of a list item, which is never 0


class _Container:
    __slots__ = ("children", "indent")

    def __init__(self, indent: int) -> None:
        self.indent = indent  # the columns that continue a list item, or QUOTATION
        self.children = 0


class Containers:
    """What is open, from the outermost container to the innermost."""

    __slots__ = ("_chain", "_quotations")

    def __init__(self) -> None:
        self._chain: list[_Container] = []
        self._quotations: list[int] = []  # where in the chain they are

    def __len__(self) -> int:
        return len(self._chain)

    @property
    def quoted(self) -> bool:
        """There is a block quotation among them."""
        return bool(self._quotations)

    def match(self, line: Line) -> int:
        """Eat the prefixes of the containers; how many of them the line continues."""
        for index, container in enumerate(self._chain):
            if container.indent == QUOTATION:
                if not at_quotation_marker(line):
                    return index
                skip_quotation_marker(line)
            elif line.indent >= container.indent:
                line.skip(container.indent)
            elif line.blank:
                return self._match_blank(line, index)
            else:
                return index
        return len(self._chain)

    def _match_blank(self, line: Line, index: int) -> int:
        """A blank rest continues list items, but neither quotations nor an item yet empty.

        It does not ask the items one by one: many blank lines may follow a deep list. Only the
        innermost container can be empty.
        """
        line.skip(line.indent)
        for quotation in self._quotations:
            if quotation > index:
                return quotation
        return len(self._chain) - (self._chain[-1].children == 0)

    def enter(self, indent: int) -> None:
        """Open a list item of that indent, or a QUOTATION."""
        self.count_child(1)
        if indent == QUOTATION:
            self._quotations.append(len(self._chain))
        self._chain.append(_Container(indent))

    def leave(self, depth: int) -> None:
        """Close all but the first `depth`."""
        del self._chain[depth:]
        while self._quotations and self._quotations[-1] >= depth:
            self._quotations.pop()

    def count_child(self, more: int) -> None:
        """The innermost container got a block more, or one less."""
        if self._chain:
            self._chain[-1].children += more


def at_quotation_marker(line: Line) -> bool:
    """The rest of the line begins with the marker of a block quotation."""
    return line.indent < CODE_INDENT and line.text.startswith(">", line.start)


def skip_quotation_marker(line: Line) -> None:
    """Go behind the marker, which includes one blank after it if there is one."""
    line.skip_marker(1)
    if line.indent:
        line.skip(1)


# HTML blocks: the seven start conditions of CommonMark, and the end condition of each.
#
# The functions get one line, from its first character that is not white space. Where the edition of
# CommonMark that cmark-gfm implements differs from the newest text, they follow cmark-gfm. There
# `<source` starts a block and `<search` does not, a declaration starts with a capital letter, and
# `<![cdata[` may have any case.


# Condition 1: tags whose content is taken as it is, until any of them is closed.
_RAW = ("pre", "script", "style", "textarea")

# Condition 6: tags that begin a block even inside a paragraph.
_BLOCK = (
    " address article aside base basefont blockquote body caption center col colgroup dd details"
    " dialog dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6"
    " head header hr html iframe legend li link main menu menuitem nav noframes ol optgroup option"
    " p param section source summary table tbody td tfoot th thead title tr track ul "
)

# Conditions 1 and 6 look at a name and at what may stand behind it.
_NAME = r"<(/?)([A-Za-z][A-Za-z0-9]*+)(?:(?P<raw>[ \t\v\f>]|$)|(?P<slash>/>))?"

# Condition 7: a complete opening or closing tag, alone on its line.
_LONELY_TAG = r"""(?x)
    <(?: [A-Za-z][A-Za-z0-9-]*+
         (?: [ \t\v\f]++ [A-Za-z_:][A-Za-z0-9_.:-]*+                            # an attribute
             (?: [ \t\v\f]*+ = [ \t\v\f]*+ (?: [^ \t\v\f"'=<>`]++ | '[^']*+' | "[^"]*+" ) )?+
         )*+ [ \t\v\f]*+ /?
       | / [A-Za-z][A-Za-z0-9-]*+ [ \t\v\f]*+
     )> [ \t\f]*+ $"""

# Conditions 2, 3 and 5 begin with these, and 2 to 5 end with those.
_OPENERS = (("<!--", 2), ("<?", 3), ("<![CDATA[", 5))
_CLOSERS = {2: "-->", 3: "?>", 4: ">", 5: "]]>"}

_BLOCK_TAG = 6
LONELY_TAG = 7  # the only condition that does not interrupt a paragraph


def start_condition(text: str) -> int:
    """The number of the start condition that a line meets, 0 if it begins no HTML block."""
    if text.startswith(("<!", "<?")):
        for opener, condition in _OPENERS:
            if text[: len(opener)].upper() == opener:
                return condition
        return 4 if "A" <= text[2:3] <= "Z" else 0
    named = re.match(_NAME, text)
    if named:
        name = named[2].lower()
        if name in _RAW and not named[1] and named["raw"] is not None:
            return 1
        if f" {name} " in _BLOCK and named.lastgroup:
            return _BLOCK_TAG
    return LONELY_TAG if re.match(_LONELY_TAG, text) else 0


def ended_by_blank(condition: int) -> bool:
    """Tell whether a blank line ends an HTML block that met this start condition."""
    return condition >= _BLOCK_TAG


def ends(condition: int, text: str) -> bool:
    """Tell whether an HTML block of conditions 1 to 5 ends with this line."""
    if condition == 1:
        lower = text.lower()
        return "</" in lower and any(f"</{name}>" in lower for name in _RAW)
    closer = _CLOSERS.get(condition)
    return closer is not None and closer in text


# Info strings of fenced code blocks


# Entities and numeric references. cmark takes one or two digits more than the specification.
_ENTITY = r"&(?:#[xX]([0-9A-Fa-f]{1,8})|#([0-9]{1,8})|([A-Za-z][A-Za-z0-9]{1,31}));"

# A backslash before ASCII punctuation.
_ESCAPE = r"\\([!-/:-@\[-`{-~])"

_SPACE = " \t\n\r"
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_SURROGATES = range(0xD800, 0xE000)
_LAST_CODE_POINT = 0x10FFFF


def info_string(raw: str) -> str:
    """Resolve what stands behind an opening fence.

    Entities come first and escapes second, as in cmark: an escaped `&amp;` gives `&`. The text of
    the specification would have both in one pass.
    """
    if "&" in raw:
        raw = re.sub(_ENTITY, _character, raw)
    raw = raw.strip(_SPACE)
    return re.sub(_ESCAPE, r"\1", raw) if "\\" in raw else raw


def _character(entity: re.Match[str]) -> str:
    hexadecimal, decimal, name = entity.groups()
    if name is not None:
        # A table of two thousand names, wanted by one text in a thousand.
        from html.entities import html5

        return html5.get(f"{name};", entity[0])
    point = int(hexadecimal, 16) if hexadecimal else int(decimal)
    if point == 0 or point in _SURROGATES or point > _LAST_CODE_POINT:
        return _REPLACEMENT
    return chr(point)


# Link reference definitions at the start of a paragraph
#
# They are not text. A paragraph with nothing else disappears, and an underline below it does not
# make a heading. Only their extent matters here. Label, destination and title are not kept.


# A label: no brackets inside unless escaped, something else than blanks, and no endless ones (cmark
# counts bytes).
_LABEL = r"\[((?:[^\\\[\]]|\\[\s\S])*+)\]:"
MOST_LABEL = 1000

# Between the parts: blanks and at most one line ending.
_GAP = r"[ \t]*+(?:\n[ \t]*+)?"

# A destination in angle brackets, or a run without blanks. (To cmark a backslash escapes even a
# line ending.)
_DESTINATION = r"<(?:[^<>\\\n]|\\[\s\S])*+>|(?!<)[^ \t\n]++"
MOST_PARENTHESES = 32

# A title in one of three pairs of quotes, which may hold them behind a backslash. cmark takes the
# longest title there is, so that a quote behind a backslash may also be the closing one.
_TITLE = r"""(?x)
    " [^"]*+ (?: (?<=\\) " [^"]*+ )* "
  | ' [^']*+ (?: (?<=\\) ' [^']*+ )* '
  | \( [^()]*+ (?: (?<=\\) [()] [^()]*+ )* \) """

_LINE_END = r"[ \t]*+(?:\n|\Z)"


def without_definitions(text: str) -> str:
    """The text of a paragraph behind all the link reference definitions that it begins with."""
    position = 0
    while text.startswith("[", position):
        after = _definition(text, position)
        if after is None:
            break
        position = after
    return text[position:]


def _match(pattern: str, text: str, position: int) -> int | None:
    # Compiled by `re` when first needed: most texts hold no definition at all.
    found = re.compile(pattern).match(text, position)
    return found.end() if found else None


def _definition(text: str, position: int) -> int | None:
    label = re.compile(_LABEL).match(text, position)
    if label is None or not label[1].strip(" \t\n"):
        return None
    if len(label[1].encode(errors="surrogatepass")) > MOST_LABEL:
        return None
    destination = _match(_GAP, text, label.end())
    if destination is None:
        return None
    title = _match(_DESTINATION, text, destination)
    if title is None or not _balanced(text[destination:title]):
        return None
    return _titled(text, title) or _match(_LINE_END, text, title)


def _titled(text: str, position: int) -> int | None:
    start = _match(_GAP, text, position)
    if start is None or start == position:
        return None
    end = _match(_TITLE, text, start)
    return None if end is None else _match(_LINE_END, text, end)


def _balanced(destination: str) -> bool:
    """No parenthesis closes what none has opened, and not too many are open at once.

    cmark takes a destination whose parentheses stay open; the specification would not.
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


# Leaf blocks: the finished ones, and the open one that takes lines


class Kind(Enum):
    """The kinds of leaf blocks; thematic breaks are recognised and not reported."""

    HEADING = "heading"
    FENCE = "fence"
    CODE = "code"
    HTML = "html"
    PARAGRAPH = "paragraph"


# Bound once: to look a member up in its Enum takes half as long as to make a block.
HEADING, FENCE, CODE, HTML, PARAGRAPH = Kind

# cmark counts the characters of a marker up to here, and no closing fence need be longer.
LONGEST_MARKER = 255


class Block(NamedTuple):
    """A leaf block and where it stands."""

    kind: Kind
    line: int  # the first line, from 1
    end: int  # the last line, a closing fence or an underline included
    text: str  # code and HTML: the content, each line ended by "\n"; others: raw inline text
    quoted: bool  # inside a block quotation
    nested: bool  # inside a quotation or a list item: its lines may carry a prefix
    level: int = 0  # of a heading
    info: str = ""  # of a fence: the info string, escapes and entities resolved
    closed: bool = True  # False: a fence that the end of the text or of its container ended
    marker: str = ""  # of a fence: the run of backticks or tildes that opened it


class Leaf:
    """A paragraph, code block or HTML block that may go on."""

    __slots__ = ("complete", "condition", "indent", "info", "kind", "line", "lines", "marker")

    def __init__(self, kind: Kind, line: int) -> None:
        self.kind = kind
        self.line = line
        self.lines: list[str] = []
        self.complete = False  # the last line taken is the last one of the block
        self.marker = ""  # fence
        self.info = ""  # fence: as it was written
        self.indent = 0  # fence: the columns that are taken off each line of the content
        self.condition = 0  # HTML: the start condition that was met

    def take(self, line: Line) -> bool:
        """Go on with this line; False if the block has ended before it. Not for paragraphs."""
        if self.kind is FENCE:
            marker = self.marker[:LONGEST_MARKER]
            if line.indent < CODE_INDENT and closes(line.stripped(), marker):
                self.complete = True
                return True
            line.skip(min(self.indent, line.indent))
        elif self.kind is CODE:
            if line.indent < CODE_INDENT and not line.blank:
                return False
            line.skip(min(CODE_INDENT, line.indent))
        elif line.blank and ended_by_blank(self.condition):
            return False
        self.add(line.content())
        return True

    def add(self, content: str) -> None:
        """Append a line of content."""
        self.lines.append(content)
        if self.kind is HTML:
            self.complete = ends(self.condition, content)

    def inline(self) -> str:
        """The text of a paragraph, "" if it holds nothing but link reference definitions."""
        return without_definitions("\n".join(self.lines)).strip(" \t")

    def block(self, end: int, quoted: bool, nested: bool) -> Block | None:
        """The block as it is reported; None for a paragraph without text."""
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
        info, closed = info_string(self.info), self.complete
        return Block(FENCE, self.line, end, text, quoted, nested, 0, info, closed, self.marker)


def closes(run: str, marker: str) -> bool:
    """A closing fence is as long as the opening one, or longer, and alone on its line."""
    return run.startswith(marker) and not run.rstrip(" \t").strip(marker[0])


__all__ = ["MOST_NESTING", "Block", "Kind", "blocks"]

MOST_NESTING = 100

_LOWEST_HEADING = 6
_SHORTEST_BREAK = 3
_FENCE_INDENT = "   "

# An opening fence and its info string: three or more backticks with no other backtick on the line,
# or three or more tildes.
_FENCE = re.compile(r"(`{3,}+(?![^`\n]*+`)|~{3,}+)([^\n]*+)")

# A character of a thematic break and all of its kind after it, with or without blanks between.
_BREAK = re.compile(r"([*_-])(?:[ \t]*+\1)*+[ \t]*+")

# A list marker: a bullet, or up to nine digits and a delimiter; a blank or nothing after it.
_MARKER = re.compile(r"(?:[*+-]|([0-9]{1,9})[.)])(?=[ \t]|\Z)")

# Whole lines that can be nothing but text of a paragraph, whatever stands before them. (Some lines
# that this does not recognise are text all the same.)
_PROSE = re.compile(
    r"(?:(?:[^ \t\n#<=>`~0-9*_+-]|`(?!``)|[0-9]++(?![.)])|[*_+-]{1,2}+[^*_+\s-])[^\n]*+\n)++"
)


def blocks(text: str) -> list[Block]:
    """Find the leaf blocks of a text, in their order."""
    return _Scanner(text).scan()


class _Scanner:
    def __init__(self, text: str) -> None:
        text = text.removeprefix("\ufeff")  # no text to cmark
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        self.text = text if text.endswith("\n") else text + "\n"
        self.number = 1  # of the line at hand
        self.containers = Containers()
        self.leaf: Leaf | None = None
        self.found: list[Block] = []

    def scan(self) -> list[Block]:
        text = self.text
        position = 0
        while True:
            if not self.containers and (self.leaf is None or self.leaf.kind is PARAGRAPH):
                position = self._leap(position)
            if position == len(text):
                break
            end = text.index("\n", position)
            self._line(Line(text[position:end]))
            self.number += 1
            position = end + 1
        self._close(0)
        return self.found

    # Several lines at once, outside of containers.

    def _leap(self, position: int) -> int:
        """Take the lines from here that need no look at columns; the offset behind them."""
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
                position = self._whole_fence(fence)
            elif prose := _PROSE.match(text, position):
                leaf = self.leaf or self._open(PARAGRAPH, 0)
                leaf.add(prose[0][:-1])
                self.number += prose[0].count("\n")
                position = prose.end()
            else:
                break
        return position

    def _whole_fence(self, fence: re.Match[str]) -> int:
        """Report a fenced code block; the offset behind it."""
        marker, info = fence.groups()
        start = fence.end() + 1
        stop, after = self._closing_fence(marker[:LONGEST_MARKER], start)
        content = self.text[start:stop]
        line = self.number
        closed = after > stop
        end = line + content.count("\n") + closed
        info = info_string(info)
        block = Block(FENCE, line, end, content, False, False, 0, info, closed, marker)
        self.found.append(block)
        self.number = end + 1
        return after

    def _closing_fence(self, marker: str, start: int) -> tuple[int, int]:
        """Where the content that begins at `start` ends, and the offset behind the closing fence.

        A line is looked at only if it holds the marker, and then once.
        """
        text = self.text
        found = text.find(marker, start)
        while found >= 0:
            end = text.index("\n", found)
            line = found if text[found - 1] == "\n" else text.rfind("\n", start - 1, found) + 1
            # Nearly every closing fence is the marker and nothing else.
            if line == found and end - found == len(marker):
                return line, end + 1
            if _FENCE_INDENT.startswith(text[line:found]) and closes(text[found:end], marker):
                return line, end + 1
            found = text.find(marker, end)
        return len(text), len(text)

    # One line.

    def _line(self, line: Line) -> None:
        matched = self.containers.match(line)
        leaf = self.leaf
        if leaf is not None and leaf.kind is not PARAGRAPH:
            if matched == len(self.containers) and leaf.take(line):
                if leaf.complete:
                    self._close_leaf(leaf, self.number)
                return
            leaf = None
        # Only a paragraph can go on without the prefixes of its containers.
        if leaf is None or line.blank:
            self._close(matched)
        if not line.blank:
            self._open_blocks(line, matched)

    def _open_blocks(self, line: Line, depth: int) -> None:
        """Open what begins on this line, inside the first `depth` containers; the rest is text."""
        while line.indent < CODE_INDENT and not line.blank:
            if self._open_leaf(line, depth):
                return
            if depth >= MOST_NESTING or not self._open_container(line, depth):
                break
            depth += 1
        if self.leaf is not None:
            # cmark keeps the blanks before a lazy line: it begins no link reference definition.
            lazy = depth < len(self.containers)
            self.leaf.add(line.content() if lazy else line.stripped())
        elif line.indent >= CODE_INDENT and not line.blank:
            line.skip(CODE_INDENT)
            self._open(CODE, depth).add(line.content())
        elif not line.blank:
            self._open(PARAGRAPH, depth).add(line.stripped())

    def _open_container(self, line: Line, depth: int) -> bool:
        if at_quotation_marker(line):
            self._close(depth)
            self.containers.enter(QUOTATION)
            skip_quotation_marker(line)
            return True
        marker = _MARKER.match(line.text, line.start)
        if marker is None or (self._in_paragraph(depth) and not _interrupts(marker)):
            return False
        self._close(depth)
        width = line.indent + len(marker[0])
        line.skip_marker(len(marker[0]))
        # One blank belongs to the marker if the item begins with code or with nothing, else all.
        inner = line.indent if line.indent <= CODE_INDENT and not line.blank else 1
        line.skip(min(inner, line.indent))
        self.containers.enter(width + inner)
        return True

    def _open_leaf(self, line: Line, depth: int) -> bool:
        """Open, or find complete, a leaf that begins with a mark of its own."""
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

    # Leaf blocks that are no text.

    def _atx_heading(self, line: Line, depth: int) -> bool:
        text = line.stripped()
        inline = text.lstrip("#")
        level = len(text) - len(inline)
        if level > _LOWEST_HEADING or not (inline == "" or inline[0] in " \t"):
            return False
        inline = inline.rstrip(" \t")
        # Hashes at the end close the heading only if a blank parts them from the text.
        bare = inline.rstrip("#")
        if bare == "" or bare[-1] in " \t":
            inline = bare
        self._close(depth)
        self.containers.count_child(1)
        self._heading(self.number, inline.strip(" \t"), level)
        return True

    def _setext_heading(self, line: Line) -> bool:
        """An underline below the open paragraph."""
        underline = line.stripped().rstrip(" \t")
        leaf = self.leaf
        if leaf is None or underline.strip(underline[0]):
            return False
        text = leaf.inline()
        if text:
            # As in cmark, it begins where the paragraph began, definitions included.
            self.leaf = None
            self._heading(leaf.line, text, 1 if underline[0] == "=" else 2)
        else:
            # Below nothing but link reference definitions it is text.
            leaf.lines = [line.stripped()]
        return True

    def _heading(self, line: int, text: str, level: int) -> None:
        quoted, nested = self.containers.quoted, bool(self.containers)
        self.found.append(Block(HEADING, line, self.number, text, quoted, nested, level))

    def _thematic_break(self, line: Line, depth: int) -> bool:
        if line.start < line.unbroken:
            return False
        run = _BREAK.match(line.text, line.start)
        if run is None:
            return False
        # If this run is no break, none that begins inside of it is.
        line.unbroken = run.end()
        if run.end() < len(line.text) or run[0].count(run[1]) < _SHORTEST_BREAK:
            return False
        self._close(depth)
        self.containers.count_child(1)
        return True

    def _fence(self, line: Line, depth: int) -> bool:
        fence = _FENCE.match(line.text, line.start)
        if fence is None:
            return False
        leaf = self._open(FENCE, depth)
        leaf.marker, leaf.info = fence.groups()
        # cmark counts characters here and takes off as many columns: the two differ if a tab stands
        # before the fence.
        leaf.indent = line.characters()
        return True

    def _html(self, line: Line, depth: int) -> bool:
        condition = start_condition(line.stripped())
        if condition == 0 or (condition == LONELY_TAG and self._in_paragraph(depth)):
            return False
        leaf = self._open(HTML, depth)
        leaf.condition = condition
        leaf.add(line.content())
        if leaf.complete:
            self._close_leaf(leaf, self.number)
        return True

    # What is open.

    def _in_paragraph(self, depth: int) -> bool:
        """The line could go on with the open paragraph, and not only as a lazy one."""
        return self.leaf is not None and depth == len(self.containers)

    def _open(self, kind: Kind, depth: int) -> Leaf:
        self._close(depth)
        self.containers.count_child(1)
        self.leaf = Leaf(kind, self.number)
        return self.leaf

    def _close(self, depth: int) -> None:
        """Close the open leaf, which ended a line ago, and all but the first containers."""
        if self.leaf is not None:
            self._close_leaf(self.leaf, self.number - 1)
        if depth < len(self.containers):
            self.containers.leave(depth)

    def _close_leaf(self, leaf: Leaf, end: int) -> None:
        self.leaf = None
        block = leaf.block(end, self.containers.quoted, bool(self.containers))
        if block is None:
            # As in cmark, what leaves no block leaves its list item empty.
            self.containers.count_child(-1)
        else:
            self.found.append(block)


def _interrupts(marker: re.Match[str]) -> bool:
    """A list item may interrupt a paragraph if it is not empty and, numbered, begins with 1."""
    first = marker[1] is None or int(marker[1]) == 1
    return first and bool(marker.string[marker.end() :].strip(" \t"))
