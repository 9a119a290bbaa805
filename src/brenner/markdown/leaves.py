"""Leaf blocks: those that are found, and the one that is still open and takes lines."""

from enum import Enum
from typing import NamedTuple

from brenner.markdown.html_blocks import ended_by_blank, ends
from brenner.markdown.info_strings import info_string
from brenner.markdown.lines import CODE_INDENT, Line
from brenner.markdown.link_definitions import without_definitions


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
