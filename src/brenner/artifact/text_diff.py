"""Text diffs on difflib: by word, by line, side by side and unified.

difflib takes quadratic time or worse on hostile texts. So common ends are removed first, and the
work on the rest is limited: what is left when the limit is reached counts as replaced.
"""

from __future__ import annotations

import re
from difflib import Match, SequenceMatcher
from enum import StrEnum
from itertools import accumulate
from typing import TYPE_CHECKING

from brenner.lazy_pattern import lazy_pattern
from brenner.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_COMPARISONS = 10_000  # old × new elements; beyond it frequent elements are no anchors
MAX_STEPS = 5_000_000


class TextMatcher(SequenceMatcher[str]):
    """A matcher of difflib that matches common ends first and limits its steps."""

    b2j: dict[str, list[int]]  # the positions in the new text of each element that is no junk

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        self._start, self._end = _common_ends(old, new)
        middle, other = (each[self._start : len(each) - self._end] for each in (old, new))
        self._sizes = len(old), len(new)
        super().__init__(None, middle, other, autojunk=len(middle) * len(other) > MAX_COMPARISONS)
        costs = (len(self.b2j.get(each, ())) + 1 for each in middle)
        self._costs = list(accumulate(costs, initial=0))
        self._steps = MAX_STEPS

    def find_longest_match(
        self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
    ) -> Match:
        """Return a longest common run, or an empty one if no steps are left."""
        self._steps -= self._costs[-1 if ahi is None else ahi] - self._costs[alo]
        if self._steps < 0:
            return Match(alo, blo, 0)
        return super().find_longest_match(alo, ahi, blo, bhi)

    def get_matching_blocks(self) -> list[Match]:
        """Return the common runs in ascending order, and an empty one after them."""
        start, end, (old, new) = self._start, self._end, self._sizes
        inner = [Match(start + a, start + b, size) for a, b, size in super().get_matching_blocks()]
        runs = [Match(0, 0, start), *inner, Match(old - end, new - end, end)]
        return [*(run for run in runs if run.size), Match(old, new, 0)]


def _common_ends(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Return the number of equal elements at the start and, apart from those, at the end."""
    shorter = min(len(old), len(new))
    start = end = 0
    while start < shorter and old[start] == new[start]:
        start += 1
    while end < shorter - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return start, end


# Word diff


class Mark(StrEnum):
    SAME = "same"
    REMOVED = "removed"
    INSERTED = "inserted"


class TextSpan(NamedTuple):
    """A part of a text, never empty."""

    mark: Mark
    text: str


# Scripts without spaces between words are split into letters. Accents, joiners and variation
# selectors stay with their letter.
_UNSPACED_SCRIPTS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff"
)
_COMBINING = "\u0300-\u036f\u200c\u200d\u20d0-\u20ff\ufe00-\ufe0f"
_TOKEN = lazy_pattern(
    rf"[{_UNSPACED_SCRIPTS}][{_COMBINING}]*|[^\W{_UNSPACED_SCRIPTS}](?:[^\W{_UNSPACED_SCRIPTS}]|[{_COMBINING}])*|\s+|[^\w\s][{_COMBINING}]*"
)
_MAX_BETWEEN = 3  # "the quick fox" for "a slow dog" is one replacement, not three


def word_spans(old: str, new: str) -> tuple[TextSpan, ...]:
    """Compare two texts word by word.

    All spans but the inserted ones make `old`, all but the removed ones make `new`. Removed text
    comes before the text inserted in its place.
    """
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    hunks: list[tuple[str, str, str]] = []  # removed, inserted, and the unchanged text after them
    one = other = 0
    for first, second, size in TextMatcher(before, after).get_matching_blocks():
        removed, inserted = "".join(before[one:first]), "".join(after[other:second])
        one, other = first + size, second + size
        same = "".join(before[first:one])
        if hunks and removed and inserted and _is_joined_to_next(*hunks[-1]):
            # Replacements with almost nothing between them are easier to read as one.
            above, below, between = hunks.pop()
            removed, inserted = above + between + removed, below + between + inserted
        hunks.append((removed, inserted, same))
    marks = (Mark.REMOVED, Mark.INSERTED, Mark.SAME)
    return tuple(
        TextSpan(mark, text)
        for hunk in hunks
        for mark, text in zip(marks, hunk, strict=True)
        if text
    )


def _is_joined_to_next(removed: str, inserted: str, between: str) -> bool:
    is_little = len(between) <= _MAX_BETWEEN and not re.search(r"[\w\n]", between)
    return is_little and bool(removed and inserted)


# Line diff

CONTEXT_LINES = 3  # unchanged lines shown around a change
Opcode = tuple[str, int, int, int, int]  # of difflib
_EQUAL = "equal"


def split_lines(text: str) -> list[str]:
    """Split a text into lines that keep their line feed. The last line may lack it."""
    lines = text.split("\n")
    ended = [f"{line}\n" for line in lines[:-1]]
    return ended if not lines[-1] else [*ended, lines[-1]]


# Side-by-side diff
#
# Inside one replacement, similar lines are put side by side. They are found by their shared words,
# and only if that is cheap. A longer replacement shows old lines left and new lines right.

_MAX_PAIRS = 2_500  # old × new lines of one replacement that are compared
_MIN_SIMILARITY = 0.3  # the share of common words from which two lines are similar
_WORD = lazy_pattern(r"\w+")


class LinePair(NamedTuple):
    """One row of a side-by-side diff: line numbers from 0, None where one side has no line.

    Lines with `is_same` are equal. Lines with `is_similar` are one line that changed. `skipped`
    counts the unchanged lines before the row that are not shown.
    """

    old: int | None
    new: int | None
    is_same: bool = False
    is_similar: bool = False
    skipped: int = 0


def side_by_side(before: list[str], after: list[str]) -> tuple[list[LinePair], int]:
    """Compare two texts, as lines, in two columns.

    Return the rows with changes and around them, and the number of lines after the last one.
    """
    rows: list[LinePair] = []
    end = 0
    for hunk in TextMatcher(before, after).get_grouped_opcodes(CONTEXT_LINES):
        first, *others = _pairs(before, after, hunk)
        rows += [first._replace(skipped=hunk[0][1] - end), *others]
        end = hunk[-1][2]
    return rows, len(before) - end


def all_pairs(before: list[str], after: list[str]) -> list[LinePair]:
    """Return all lines of both texts as rows."""
    return list(_pairs(before, after, TextMatcher(before, after).get_opcodes()))


def line_spans(
    pair: LinePair, before: list[str], after: list[str]
) -> tuple[tuple[TextSpan, ...], tuple[TextSpan, ...]]:
    """Return the two lines of a row with their marks: removed text left, inserted text right."""
    old = before[pair.old] if pair.old is not None else ""
    new = after[pair.new] if pair.new is not None else ""
    if pair.is_same:
        return (TextSpan(Mark.SAME, old),), (TextSpan(Mark.SAME, new),)
    if pair.is_similar:
        spans = word_spans(old, new)
    else:
        both = (TextSpan(Mark.REMOVED, old), TextSpan(Mark.INSERTED, new))
        spans = tuple(span for span in both if span.text)
    return (
        tuple(span for span in spans if span.mark is not Mark.INSERTED),
        tuple(span for span in spans if span.mark is not Mark.REMOVED),
    )


def _pairs(before: list[str], after: list[str], opcodes: Sequence[Opcode]) -> Iterator[LinePair]:
    for tag, old, old_end, new, new_end in opcodes:
        if tag == _EQUAL:
            both = zip(range(old, old_end), range(new, new_end), strict=True)
            yield from (LinePair(first, second, is_same=True) for first, second in both)
            continue
        one, other = old, new
        for first, second in _similar_lines(before[old:old_end], after[new:new_end]):
            yield from _unrelated_pairs(one, old + first, other, new + second)
            yield LinePair(old + first, new + second, is_similar=True)
            one, other = old + first + 1, new + second + 1
        yield from _unrelated_pairs(one, old_end, other, new_end)


def _unrelated_pairs(old: int, old_end: int, new: int, new_end: int) -> Iterator[LinePair]:
    """Put unrelated lines into shared rows, to save height."""
    for step in range(max(old_end - old, new_end - new)):
        first = old + step if old + step < old_end else None
        second = new + step if new + step < new_end else None
        yield LinePair(first, second)


def _similar_lines(before: list[str], after: list[str]) -> list[tuple[int, int]]:
    """Return the pairs of similar lines, in order, with as many shared words as possible."""
    if not before or not after or len(before) * len(after) > _MAX_PAIRS:
        return []
    one, other = ([frozenset(_WORD.findall(line)) for line in each] for each in (before, after))
    best = _best_sums([[_similarity(left, right) for right in other] for left in one])
    pairs, first, second = [], 0, 0
    while first < len(one) and second < len(other):
        here = best[first][second]
        if here == best[first + 1][second]:
            first += 1
        elif here == best[first][second + 1]:
            second += 1
        else:
            pairs.append((first, second))
            first, second = first + 1, second + 1
    return pairs


def _best_sums(shares: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return the maximal total similarity from each pair of lines to the end."""
    width = len(shares[0]) + 1
    best = [[0.0] * width for _ in range(len(shares) + 1)]
    for first in range(len(shares) - 1, -1, -1):
        for second in range(width - 2, -1, -1):
            paired = shares[first][second] and shares[first][second] + best[first + 1][second + 1]
            best[first][second] = max(best[first + 1][second], best[first][second + 1], paired)
    return best


def _similarity(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the similarity of two lines from 0 to 1, or 0 if it is too small."""
    share = len(one & other) / max(len(one | other), 1)
    return share if share >= _MIN_SIMILARITY else 0.0


# Unified diff

_NO_NEWLINE = "\n\\ No newline at end of file\n"


def unified_diff(old: str, new: str, old_name: str, new_name: str) -> str:
    """Return a unified diff as `diff -u` prints it, or an empty text if the texts are equal."""
    before, after = split_lines(old), split_lines(new)
    pieces = []
    for hunk in TextMatcher(before, after).get_grouped_opcodes(CONTEXT_LINES):
        (_, first, _, second, _), (_, _, last, _, end) = hunk[0], hunk[-1]
        pieces.append(f"@@ -{_range(first, last)} +{_range(second, end)} @@\n")
        for tag, one, one_end, other, other_end in hunk:
            if tag == _EQUAL:
                pieces += _prefixed(" ", before[one:one_end])
            else:
                pieces += _prefixed("-", before[one:one_end])
                pieces += _prefixed("+", after[other:other_end])
    return "".join([f"--- {old_name}\n+++ {new_name}\n", *pieces]) if pieces else ""


def _range(start: int, end: int) -> str:
    """Return first line and count as `diff -u` does. An empty range has the line before."""
    count = end - start
    first = start + 1 if count else start
    return str(first) if count == 1 else f"{first},{count}"


def _prefixed(mark: str, lines: list[str]) -> Iterator[str]:
    for line in lines:
        yield f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}{_NO_NEWLINE}"
