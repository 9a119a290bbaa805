"""The difference of two texts in two columns: lines that belong together stand side by side.

Which lines those are is found out by their words, inside of one replacement, and only where that
is cheap. A longer replacement is shown as it is: what went on the left, what came on the right.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from brenner.artifact.line_edits import Edit, Hunk, edits_of, hunks_of, lines_of
from brenner.artifact.words import Mark, Span, word_spans

_MOST_PAIRS = 2_500  # old × new lines of one replacement that are compared
_LEAST_ALIKE = 0.3  # of their words two lines must share so many to be one line that changed
_WORD = re.compile(r"\w+")


class Pair(NamedTuple):
    """One row: the numbers of its lines from 0, None where that side has none.

    `is_same` lines are equal; `is_alike` ones are one line that changed.
    """

    old: int | None
    new: int | None
    is_same: bool = False
    is_alike: bool = False


class Stretch(NamedTuple):
    """Rows that are shown together, after `skipped` lines that are the same and are not shown."""

    skipped: int
    pairs: tuple[Pair, ...]


class Columns(NamedTuple):
    """Two texts line by line, and the rows in which something changed, with those around them."""

    before: list[str]
    after: list[str]
    stretches: tuple[Stretch, ...]
    skipped: int  # the lines after the last stretch

    def sides(self, pair: Pair) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
        """The two lines of a row, each in stretches with their marks; empty where there is none."""
        old = self.before[pair.old] if pair.old is not None else ""
        new = self.after[pair.new] if pair.new is not None else ""
        return marked(old, new, is_same=pair.is_same, is_alike=pair.is_alike)


def columns(old: str, new: str) -> Columns:
    """What changed, in rows."""
    before, after = lines_of(old), lines_of(new)
    stretches, end = [], 0
    for hunk in hunks_of(before, after):
        pairs = tuple(_pairs_of_hunk(before, after, hunk))
        stretches.append(Stretch(hunk.old - end, pairs))
        end = hunk.old_end
    return Columns(before, after, tuple(stretches), len(before) - end)


def all_pairs(old: str, new: str) -> list[Pair]:
    """Every line of both, in rows."""
    before, after = lines_of(old), lines_of(new)
    whole = Hunk(0, len(before), 0, len(after), tuple(edits_of(before, after)))
    return list(_pairs_of_hunk(before, after, whole))


def marked(
    old: str, new: str, *, is_same: bool, is_alike: bool
) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Two lines with their marks: the left has what went, the right what came."""
    if is_same:
        return (Span(Mark.SAME, old),), (Span(Mark.SAME, new),)
    if is_alike:
        spans = word_spans(old, new)
        return (
            tuple(span for span in spans if span.mark is not Mark.INSERTED),
            tuple(span for span in spans if span.mark is not Mark.REMOVED),
        )
    return (
        (Span(Mark.REMOVED, old),) if old else (),
        (Span(Mark.INSERTED, new),) if new else (),
    )


def _pairs_of_hunk(before: list[str], after: list[str], hunk: Hunk) -> Iterator[Pair]:
    old, new = hunk.old, hunk.new
    for edit in hunk.edits:
        yield from _same(old, edit.old, new)
        yield from _replaced(before, after, edit)
        old, new = edit.old_end, edit.new_end
    yield from _same(old, hunk.old_end, new)


def _same(start: int, end: int, new: int) -> Iterator[Pair]:
    for place in range(start, end):
        yield Pair(place, new + place - start, is_same=True)


def _replaced(before: list[str], after: list[str], edit: Edit) -> Iterator[Pair]:
    """The rows of one replacement: around the lines that are alike, what only one side has."""
    old, new = edit.old, edit.new
    for first, second in _alike(before, after, edit):
        yield from _apart(old, first, new, second)
        yield Pair(first, second, is_alike=True)
        old, new = first + 1, second + 1
    yield from _apart(old, edit.old_end, new, edit.new_end)


def _apart(old: int, old_end: int, new: int, new_end: int) -> Iterator[Pair]:
    """Lines that have nothing to do with each other share rows, which saves height."""
    for step in range(max(old_end - old, new_end - new)):
        first = old + step if old + step < old_end else None
        second = new + step if new + step < new_end else None
        yield Pair(first, second)


def _alike(before: list[str], after: list[str], edit: Edit) -> list[tuple[int, int]]:
    """The lines that are one line which changed: as many shared words as possible, in order."""
    one = [_words(line) for line in before[edit.old : edit.old_end]]
    other = [_words(line) for line in after[edit.new : edit.new_end]]
    if not one or not other or len(one) * len(other) > _MOST_PAIRS:
        return []
    best = _table([[_share(left, right) for right in other] for left in one])
    pairs, first, second = [], 0, 0
    while first < len(one) and second < len(other):
        here = best[first][second]
        if here == best[first + 1][second]:
            first += 1
        elif here == best[first][second + 1]:
            second += 1
        else:
            pairs.append((edit.old + first, edit.new + second))
            first, second = first + 1, second + 1
    return pairs


def _table(shares: Sequence[Sequence[float]]) -> list[list[float]]:
    """The most that can be shared from each pair of lines on."""
    width = len(shares[0]) + 1
    best = [[0.0] * width for _ in range(len(shares) + 1)]
    for first in range(len(shares) - 1, -1, -1):
        for second in range(width - 2, -1, -1):
            paired = shares[first][second] and shares[first][second] + best[first + 1][second + 1]
            best[first][second] = max(best[first + 1][second], best[first][second + 1], paired)
    return best


def _words(line: str) -> frozenset[str]:
    return frozenset(_WORD.findall(line))


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    """How alike two lines are, from 0 to 1; 0 where they are hardly so."""
    share = len(one & other) / max(len(one | other), 1)
    return share if share >= _LEAST_ALIKE else 0.0
