"""Edits of a text. Everything that no edit replaces stays byte for byte."""

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from brenner.markdown.blocks import Block


class Edit(NamedTuple):
    """Replace `text[start:end]` by `replacement`."""

    start: int
    end: int
    replacement: str

    def moved(self, by: int) -> "Edit":
        """The same edit in a text that has so many characters more before it."""
        return Edit(self.start + by, self.end + by, self.replacement)


def _in_order(edit: Edit) -> tuple[int, bool, int]:
    """By place; at one place insertions first, then the edit that reaches farthest."""
    return (edit.start, edit.end > edit.start, -edit.end)


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits made. Of two that overlap the first in order is made."""
    parts = []
    position = 0
    for edit in sorted(edits, key=_in_order):
        if edit.start >= position:
            parts += [text[position : edit.start], edit.replacement]
            position = edit.end
    return "".join(parts) + text[position:]


# Line numbers and offsets, and edits of a fence's content placed into the whole text


_LINE_END = re.compile(r"\r\n|\n|\r")


class LineIndex:
    """The lines of a text, numbered from 1, ended as CommonMark ends them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    @property
    def count(self) -> int:
        """How many lines there are."""
        return len(self._starts)

    def start(self, number: int) -> int:
        """Where the line begins; the end of the text for a line behind the last."""
        return self._starts[number - 1] if number <= len(self._starts) else len(self.text)

    def line(self, number: int) -> str:
        """The text of the line, without its ending."""
        return self.text[self.start(number) : self.start(number + 1)].rstrip("\r\n")

    def number(self, offset: int) -> int:
        """The number of the line that holds the offset."""
        return bisect_right(self._starts, offset)

    def place(self, fence: Block, edits: tuple[Edit, ...]) -> list[Edit] | None:
        """Edits of a fence's content as edits of the text; None where that cannot be told.

        Inside a list item each line of the content has a prefix in the text. A tab in it may
        stand for blanks on both sides, and then content and line do not match.
        """
        lines = fence.text.split("\n")
        starts = [0]
        for line in lines:
            starts.append(starts[-1] + len(line) + 1)
        placed = []
        for edit in edits:
            start = self._place(fence, lines, starts, edit.start)
            end = self._place(fence, lines, starts, edit.end)
            if start is None or end is None:
                return None
            prefix = self.line(fence.line + 1).removesuffix(lines[0]) if fence.nested else ""
            placed.append(Edit(start, end, edit.replacement.replace("\n", "\n" + prefix)))
        return placed

    def _place(self, fence: Block, lines: list[str], starts: list[int], offset: int) -> int | None:
        row = bisect_right(starts, offset) - 1
        content = lines[row] if row < len(lines) else ""
        number = fence.line + 1 + row
        line = self.line(number)
        if content and not line.endswith(content):
            return None
        inside = len(line) - len(content) if content else 0
        return self.start(number) + inside + offset - starts[row]
