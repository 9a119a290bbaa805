"""The lines of two texts, and which of them were replaced by which; at a cost that stays linear."""

from collections.abc import Iterator
from typing import NamedTuple

from brenner.artifact.matching import matches

CONTEXT = 3  # lines that are shown around a change, though they are the same


class Edit(NamedTuple):
    """Lines of the old text that lines of the new one replace; either may be none."""

    old: int
    old_end: int
    new: int
    new_end: int


class Hunk(NamedTuple):
    """Edits that stand near to each other, and the lines around them that are shown with them."""

    old: int
    old_end: int
    new: int
    new_end: int
    edits: tuple[Edit, ...]


def lines_of(text: str) -> list[str]:
    """The lines with their ends. Only a line feed ends a line; the last one may lack it."""
    lines = text.split("\n")
    ended = [f"{line}\n" for line in lines[:-1]]
    return ended if not lines[-1] else [*ended, lines[-1]]


def edits_of(before: list[str], after: list[str]) -> Iterator[Edit]:
    """What was replaced, in order; nothing where the two are the same."""
    old = new = 0
    for first, second, length in [*matches(before, after), (len(before), len(after), 0)]:
        if first > old or second > new:
            yield Edit(old, first, new, second)
        old, new = first + length, second + length


def hunks_of(before: list[str], after: list[str]) -> Iterator[Hunk]:
    """The edits in groups whose contexts do not touch."""
    group: list[Edit] = []
    for edit in edits_of(before, after):
        if group and edit.old - group[-1].old_end > 2 * CONTEXT:
            yield _hunk(group, len(before))
            group = []
        group.append(edit)
    if group:
        yield _hunk(group, len(before))


def _hunk(group: list[Edit], count: int) -> Hunk:
    first, last = group[0], group[-1]
    lead = min(CONTEXT, first.old)
    trail = min(CONTEXT, count - last.old_end)
    return Hunk(
        first.old - lead,
        last.old_end + trail,
        first.new - lead,
        last.new_end + trail,
        tuple(group),
    )
