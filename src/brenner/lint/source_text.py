"""The source text of a project: which section numbers exist in it (companion, Anchors)."""

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple, Self

from brenner.markdown.blocks import Kind, blocks

# `## §42 Title`, `## 42. Title`, `## 42 Title`, `## Section 42`; not the `4.2` of a chapter
_SIGN = re.compile(r"§ ?([0-9]{1,9})(?![0-9])")
_NUMBER = re.compile(r"(?:[Ss]ection )?([0-9]{1,9})(?![0-9])(?!\.[0-9])")


class SourceText(NamedTuple):
    """The section numbers of a source text, as runs without gaps, and its path as shown.

    Runs make a range as cheap to look up as a single number, however far it reaches.
    """

    path: str
    firsts: tuple[int, ...]
    lasts: tuple[int, ...]

    @classmethod
    def of(cls, path: str, numbers: Iterable[int]) -> Self:
        """A source text that has these sections."""
        firsts: list[int] = []
        lasts: list[int] = []
        for number in sorted(set(numbers)):
            if lasts and number == lasts[-1] + 1:
                lasts[-1] = number
            else:
                firsts.append(number)
                lasts.append(number)
        return cls(path, tuple(firsts), tuple(lasts))

    @property
    def is_empty(self) -> bool:
        """Whether it has no section at all."""
        return not self.firsts

    def missing(self, first: int, last: int) -> int | None:
        """The first section from `first` to `last` that does not exist."""
        run = bisect_right(self.firsts, first) - 1
        if run < 0 or self.lasts[run] < first:
            return first
        return None if last <= self.lasts[run] else self.lasts[run] + 1


def read_source_text(text: str, path: str) -> SourceText:
    """The sections that the headings of a Markdown file number.

    Where any heading has the sign §, only those count: the others number chapters.
    """
    headings = [block.text.strip() for block in blocks(text) if block.kind is Kind.HEADING]
    signed = [match[1] for heading in headings if (match := _SIGN.match(heading))]
    plain = [match[1] for heading in headings if (match := _NUMBER.match(heading))]
    return SourceText.of(path, map(int, signed or plain))
