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

from brenner.markdown.containers import (
    QUOTATION,
    Containers,
    at_quotation_marker,
    skip_quotation_marker,
)
from brenner.markdown.html_blocks import LONELY_TAG, start_condition
from brenner.markdown.info_strings import info_string
from brenner.markdown.leaves import (
    CODE,
    FENCE,
    HEADING,
    HTML,
    LONGEST_MARKER,
    PARAGRAPH,
    Block,
    Kind,
    Leaf,
    closes,
)
from brenner.markdown.lines import CODE_INDENT, Line

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
