"""What two sequences have in common, in order, at a cost that stays linear.

The classic comparison takes the square of the length, or worse. So what is equal at both ends is
set aside first; what is left is split at the elements that stand exactly once on either side, then
at short series that do; and only stretches short enough are compared in full. A longer stretch
without any of these counts as replaced.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from enum import StrEnum
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


# The difference of two texts, word by word.


class Mark(StrEnum):
    """What became of a stretch of text."""

    SAME = "same"
    REMOVED = "removed"
    INSERTED = "inserted"


class Span(NamedTuple):
    """A stretch of text, never empty."""

    mark: Mark
    text: str


# Scripts without blanks between words are taken letter by letter; accents, joiners and variation
# selectors stay with what they belong to.
_LETTERS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff"
_WITH = "\u0300-\u036f\u200c\u200d\u20d0-\u20ff\ufe00-\ufe0f"
_TOKEN = re.compile(
    rf"[{_LETTERS}][{_WITH}]*|[^\W{_LETTERS}](?:[^\W{_LETTERS}]|[{_WITH}])*|\s+|[^\w\s][{_WITH}]*"
)
_MOST_BETWEEN = 3  # "the quick fox" for "a slow dog" is one replacement, not three


def word_spans(old: str, new: str) -> tuple[Span, ...]:
    """The stretches of both, in order: all but the inserted make `old`, all but the removed `new`.

    What was removed stands before what was inserted in its place. Linear in the length.
    """
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    spans: list[Span] = []
    for removed, inserted, same in _joined(_hunks(before, after)):
        stretches = ((Mark.REMOVED, removed), (Mark.INSERTED, inserted), (Mark.SAME, same))
        spans += [Span(mark, text) for mark, text in stretches if text]
    return tuple(spans)


class _Hunk(NamedTuple):
    """What was replaced by what, and what is the same after it."""

    removed: str
    inserted: str
    same: str


def _hunks(before: list[str], after: list[str]) -> list[_Hunk]:
    hunks = []
    old = new = 0
    for first, second, length in [*matches(before, after), (len(before), len(after), 0)]:
        removed, inserted = "".join(before[old:first]), "".join(after[new:second])
        old, new = first + length, second + length
        hunks.append(_Hunk(removed, inserted, "".join(before[first:old])))
    return hunks


def _joined(hunks: list[_Hunk]) -> list[_Hunk]:
    """Replacements with hardly anything between them read better as one."""
    joined: list[_Hunk] = []
    run: list[_Hunk] = []
    for hunk in hunks:
        if run and not _joins(run[-1], hunk):
            joined.append(_one(run))
            run = []
        run.append(hunk)
    return [*joined, _one(run)]


def _joins(hunk: _Hunk, following: _Hunk) -> bool:
    between = hunk.same
    is_little = len(between) <= _MOST_BETWEEN and not re.search(r"[\w\n]", between)
    return is_little and all((*hunk[:2], *following[:2]))


def _one(run: list[_Hunk]) -> _Hunk:
    removed = "".join(hunk.removed + hunk.same for hunk in run[:-1]) + run[-1].removed
    inserted = "".join(hunk.inserted + hunk.same for hunk in run[:-1]) + run[-1].inserted
    return _Hunk(removed, inserted, run[-1].same)


# The lines of two texts, and which of them were replaced by which; at a cost that stays linear.


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


# The difference of two texts in two columns: lines that belong together stand side by side.
#
# Which lines those are is found out by their words, inside of one replacement, and only where that
# is cheap. A longer replacement is shown as it is: what went on the left, what came on the right.


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


# The difference of two texts as `diff -u` prints it, at a cost that stays linear.


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
