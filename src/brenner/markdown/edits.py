"""Corrections as edits of the text: everything that is not mended stays byte for byte."""

from collections.abc import Iterable
from typing import NamedTuple


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
