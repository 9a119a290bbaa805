"""What two sequences have in common, in order, at a cost that stays linear.

The classic comparison takes the square of the length, or worse. So what is equal at both ends is
set aside first; what is left is split at the elements that stand exactly once on either side, then
at short series that do; and only stretches short enough are compared in full. A longer stretch
without any of these counts as replaced.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

MOST_COMPARISONS = 10_000  # old × new elements of a stretch that is compared in full
_UNIQUE = (1, 8)  # how long a series is that must be unique; the next where one does not suffice


class Match(NamedTuple):
    """`length` equal elements, from `old` in the one sequence and from `new` in the other."""

    old: int
    new: int
    length: int


class _Stretch(NamedTuple):
    """A part of both sequences, each from and up to."""

    old: int
    old_end: int
    new: int
    new_end: int


def matches(old: Sequence[str], new: Sequence[str]) -> list[Match]:
    """The common runs in ascending order; what lies between two of them was replaced."""
    whole = _Stretch(0, len(old), 0, len(new))
    runs: list[Match] = []
    for found in _common(old, new, whole, _UNIQUE):
        if not found.length:
            continue
        last = runs[-1] if runs else Match(0, 0, 0)
        if (last.old + last.length, last.new + last.length) == (found.old, found.new):
            runs[-1:] = [last._replace(length=last.length + found.length)]
        else:
            runs.append(found)
    return runs


def _common(
    old: Sequence[str], new: Sequence[str], whole: _Stretch, unique: tuple[int, ...]
) -> Iterator[Match]:
    inner = _without_ends(old, new, whole)
    yield Match(whole.old, whole.new, inner.old - whole.old)
    size = (inner.old_end - inner.old) * (inner.new_end - inner.new)
    if 0 < size <= MOST_COMPARISONS:
        yield from _compared(old, new, inner)
    elif size and unique:
        place = inner
        for anchor in _anchors(old, new, inner, unique[0]):
            before = place._replace(old_end=anchor.old, new_end=anchor.new)
            yield from _common(old, new, before, unique[1:])
            yield anchor
            place = inner._replace(old=anchor.old + 1, new=anchor.new + 1)
        yield from _common(old, new, place, unique[1:])
    yield Match(inner.old_end, inner.new_end, whole.old_end - inner.old_end)


def _without_ends(old: Sequence[str], new: Sequence[str], whole: _Stretch) -> _Stretch:
    first, first_end, second, second_end = whole
    while first < first_end and second < second_end and old[first] == new[second]:
        first, second = first + 1, second + 1
    while first < first_end and second < second_end and old[first_end - 1] == new[second_end - 1]:
        first_end, second_end = first_end - 1, second_end - 1
    return _Stretch(first, first_end, second, second_end)


def _compared(old: Sequence[str], new: Sequence[str], part: _Stretch) -> Iterator[Match]:
    one, other = old[part.old : part.old_end], new[part.new : part.new_end]
    for found in SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks():
        yield Match(part.old + found.a, part.new + found.b, found.size)


def _anchors(old: Sequence[str], new: Sequence[str], part: _Stretch, length: int) -> list[Match]:
    """Elements that begin a series which stands once on either side, as many as are in order."""
    one = _once(old[part.old : part.old_end], length)
    other = _once(new[part.new : part.new_end], length)
    pairs = [
        Match(part.old + place, part.new + other[series], 1)
        for series, place in one.items()
        if series in other
    ]
    return _ascending(pairs)


def _once(sequence: Sequence[str], length: int) -> dict[tuple[str, ...], int]:
    """The series of that length that stand there exactly once, and where."""
    series = list(zip(*(sequence[start:] for start in range(length)), strict=False))
    counts = Counter(series)
    return {each: place for place, each in enumerate(series) if counts[each] == 1}


def _ascending(pairs: list[Match]) -> list[Match]:
    """The longest series of pairs that ascends in `new`; they ascend in `old` already."""
    ends: list[int] = []  # the smallest last `new` of a series of each length
    last: list[int] = []  # the pair that it belongs to
    before: list[int] = []  # each pair's predecessor
    for index, pair in enumerate(pairs):
        length = bisect_left(ends, pair.new)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [pair.new]
        last[length : length + 1] = [index]
    series = []
    index = last[-1] if last else -1
    while index >= 0:
        series.append(pairs[index])
        index = before[index]
    return series[::-1]
