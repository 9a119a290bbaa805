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


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits made. Of two that overlap the first one is made."""
    parts = []
    position = 0
    for edit in sorted(edits):
        if edit.start >= position:
            parts += [text[position : edit.start], edit.replacement]
            position = edit.end
    return "".join(parts) + text[position:]
