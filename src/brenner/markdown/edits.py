"""Edits of a text by offset. Everything that no edit replaces stays byte for byte."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from brenner.lazy_pattern import lazy_pattern
from brenner.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from brenner.markdown.blocks import Block


class TextEdit(NamedTuple):
    """Replace `text[start:end]` with `replacement`."""

    start: int
    end: int
    replacement: str

    def moved(self, by: int) -> TextEdit:
        """Return the same edit for a text with `by` more characters before it."""
        return TextEdit(self.start + by, self.end + by, self.replacement)


def _sort_key(edit: TextEdit) -> tuple[int, bool, int]:
    """Sort by position; at one position insertions come first, then the longest edit."""
    return (edit.start, edit.end > edit.start, -edit.end)


def apply_edits(text: str, edits: Iterable[TextEdit]) -> str:
    """Return the text with all edits made. If two overlap, only the first in order is made."""
    parts = []
    position = 0
    for edit in sorted(edits, key=_sort_key):
        if edit.start >= position:
            parts += [text[position : edit.start], edit.replacement]
            position = edit.end
    return "".join(parts) + text[position:]


# Line numbers and offsets, and moving edits of a fence's content to the whole text


_LINE_END = lazy_pattern(r"\r\n|\n|\r")


class LineIndex:
    """The lines of a text, numbered from 1, with the line endings of CommonMark."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    @property
    def count(self) -> int:
        return len(self._starts)

    def start(self, number: int) -> int:
        """Return the offset of a line; the end of the text for a line after the last."""
        return self._starts[number - 1] if number <= len(self._starts) else len(self.text)

    def line(self, number: int) -> str:
        """Return the text of a line without its ending."""
        return self.text[self.start(number) : self.start(number + 1)].rstrip("\r\n")

    def number(self, offset: int) -> int:
        """Return the number of the line that contains the offset."""
        return bisect_right(self._starts, offset)

    def place(self, fence: Block, edits: tuple[TextEdit, ...]) -> list[TextEdit] | None:
        """Convert edits of a fence's content to edits of the text; None if that is not possible.

        Inside a list item each line of the content has a prefix in the text. A tab in it may count
        as spaces on both sides, and then content and line do not match.
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
            placed.append(TextEdit(start, end, edit.replacement.replace("\n", "\n" + prefix)))
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
