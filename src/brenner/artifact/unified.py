"""The difference of two texts as `diff -u` prints it, at a cost that stays linear."""

from collections.abc import Iterator
from typing import NamedTuple

from brenner.artifact.matching import matches

CONTEXT = 3


class _Edit(NamedTuple):
    """Lines of the old text that lines of the new one replace; either may be none."""

    old: int
    old_end: int
    new: int
    new_end: int


def unified(old: str, new: str, old_name: str, new_name: str) -> str:
    """A unified diff; empty where the texts are the same. Only a line feed ends a line."""
    before, after = _lines(old), _lines(new)
    edits = list(_edits(before, after))
    if not edits:
        return ""
    pieces = [f"--- {old_name}\n+++ {new_name}\n"]
    for group in _grouped(edits):
        pieces += _hunk(before, after, group)
    return "".join(pieces)


_NO_NEWLINE = "\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    ended = [f"{line}\n" for line in lines[:-1]]
    return ended if not lines[-1] else [*ended, lines[-1]]


def _edits(before: list[str], after: list[str]) -> Iterator[_Edit]:
    old = new = 0
    for first, second, length in [*matches(before, after), (len(before), len(after), 0)]:
        if first > old or second > new:
            yield _Edit(old, first, new, second)
        old, new = first + length, second + length


def _grouped(edits: list[_Edit]) -> Iterator[list[_Edit]]:
    """Edits that are so near to each other that their contexts touch."""
    group: list[_Edit] = []
    for edit in edits:
        if group and edit.old - group[-1].old_end > 2 * CONTEXT:
            yield group
            group = []
        group.append(edit)
    yield group


def _hunk(before: list[str], after: list[str], group: list[_Edit]) -> Iterator[str]:
    first, last = group[0], group[-1]
    lead = min(CONTEXT, first.old)
    trail = min(CONTEXT, len(before) - last.old_end)
    old, new = first.old - lead, first.new - lead
    old_end, new_end = last.old_end + trail, last.new_end + trail
    yield f"@@ -{_range(old, old_end)} +{_range(new, new_end)} @@\n"
    for edit in group:
        yield from _prefixed(" ", before[old : edit.old])
        yield from _prefixed("-", before[edit.old : edit.old_end])
        yield from _prefixed("+", after[edit.new : edit.new_end])
        old = edit.old_end
    yield from _prefixed(" ", before[old:old_end])


def _range(start: int, end: int) -> str:
    """`3,7`: the first line and how many; of none, the line before."""
    count = end - start
    first = start + 1 if count else start
    return str(first) if count == 1 else f"{first},{count}"


def _prefixed(mark: str, lines: list[str]) -> Iterator[str]:
    for line in lines:
        yield f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}{_NO_NEWLINE}"
