"""The difference of two texts as `diff -u` prints it, at a cost that stays linear."""

from collections.abc import Iterator

from brenner.artifact.line_edits import Hunk, hunks_of, lines_of


def unified(old: str, new: str, old_name: str, new_name: str) -> str:
    """A unified diff; empty where the texts are the same. Only a line feed ends a line."""
    before, after = lines_of(old), lines_of(new)
    pieces = [
        piece for hunk in hunks_of(before, after) for piece in _hunk_lines(before, after, hunk)
    ]
    return "".join([f"--- {old_name}\n+++ {new_name}\n", *pieces]) if pieces else ""


_NO_NEWLINE = "\n\\ No newline at end of file\n"


def _hunk_lines(before: list[str], after: list[str], hunk: Hunk) -> Iterator[str]:
    yield f"@@ -{_range(hunk.old, hunk.old_end)} +{_range(hunk.new, hunk.new_end)} @@\n"
    old = hunk.old
    for edit in hunk.edits:
        yield from _prefixed(" ", before[old : edit.old])
        yield from _prefixed("-", before[edit.old : edit.old_end])
        yield from _prefixed("+", after[edit.new : edit.new_end])
        old = edit.old_end
    yield from _prefixed(" ", before[old : hunk.old_end])


def _range(start: int, end: int) -> str:
    """`3,7`: the first line and how many; of none, the line before."""
    count = end - start
    first = start + 1 if count else start
    return str(first) if count == 1 else f"{first},{count}"


def _prefixed(mark: str, lines: list[str]) -> Iterator[str]:
    for line in lines:
        yield f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}{_NO_NEWLINE}"
