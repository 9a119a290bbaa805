"""Text diffs in linear time: common runs, by word, by line, side by side and unified.

A classic comparison takes quadratic time or worse. So common ends are removed first. The rest is
split at elements that occur exactly once on each side, then at short series that do. Only short
ranges are compared in full. A longer range without unique series counts as replaced.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from enum import StrEnum
from typing import NamedTuple

MAX_COMPARISONS = 10_000  # old × new elements of a range that is compared in full
_SERIES_LENGTHS = (1, 8)  # lengths of unique series, tried in turn


# Common runs of two sequences


class CommonRun(NamedTuple):
    """`length` equal elements, starting at `old` in one sequence and at `new` in the other."""

    old: int
    new: int
    length: int


class _RangePair(NamedTuple):
    """A range of both sequences; the ends are exclusive."""

    old: int
    old_end: int
    new: int
    new_end: int


def common_runs(old: Sequence[str], new: Sequence[str]) -> list[CommonRun]:
    """Return the common runs in ascending order. Everything between two runs was replaced."""
    whole = _RangePair(0, len(old), 0, len(new))
    runs: list[CommonRun] = []
    for found in _common_parts(old, new, whole, _SERIES_LENGTHS):
        if not found.length:
            continue
        last = runs[-1] if runs else CommonRun(0, 0, 0)
        if (last.old + last.length, last.new + last.length) == (found.old, found.new):
            runs[-1:] = [last._replace(length=last.length + found.length)]
        else:
            runs.append(found)
    return runs


def _common_parts(
    old: Sequence[str], new: Sequence[str], whole: _RangePair, unique: tuple[int, ...]
) -> Iterator[CommonRun]:
    inner = _trim_common_ends(old, new, whole)
    yield CommonRun(whole.old, whole.new, inner.old - whole.old)
    size = (inner.old_end - inner.old) * (inner.new_end - inner.new)
    if 0 < size <= MAX_COMPARISONS:
        yield from _compare_in_full(old, new, inner)
    elif size and unique:
        place = inner
        for anchor in _anchors(old, new, inner, unique[0]):
            before = place._replace(old_end=anchor.old, new_end=anchor.new)
            yield from _common_parts(old, new, before, unique[1:])
            yield anchor
            place = inner._replace(old=anchor.old + 1, new=anchor.new + 1)
        yield from _common_parts(old, new, place, unique[1:])
    yield CommonRun(inner.old_end, inner.new_end, whole.old_end - inner.old_end)


def _trim_common_ends(old: Sequence[str], new: Sequence[str], whole: _RangePair) -> _RangePair:
    first, first_end, second, second_end = whole
    while first < first_end and second < second_end and old[first] == new[second]:
        first, second = first + 1, second + 1
    while first < first_end and second < second_end and old[first_end - 1] == new[second_end - 1]:
        first_end, second_end = first_end - 1, second_end - 1
    return _RangePair(first, first_end, second, second_end)


def _compare_in_full(
    old: Sequence[str], new: Sequence[str], part: _RangePair
) -> Iterator[CommonRun]:
    one, other = old[part.old : part.old_end], new[part.new : part.new_end]
    for found in SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks():
        yield CommonRun(part.old + found.a, part.new + found.b, found.size)


def _anchors(
    old: Sequence[str], new: Sequence[str], part: _RangePair, length: int
) -> list[CommonRun]:
    """Return the first elements of series that are unique on both sides, as many as are in
    order.
    """
    one = _unique_series(old[part.old : part.old_end], length)
    other = _unique_series(new[part.new : part.new_end], length)
    pairs = [
        CommonRun(part.old + place, part.new + other[series], 1)
        for series, place in one.items()
        if series in other
    ]
    return _longest_ascending(pairs)


def _unique_series(sequence: Sequence[str], length: int) -> dict[tuple[str, ...], int]:
    """Return the series of that length that occur exactly once, with their positions."""
    series = list(zip(*(sequence[start:] for start in range(length)), strict=False))
    counts = Counter(series)
    return {each: place for place, each in enumerate(series) if counts[each] == 1}


def _longest_ascending(pairs: list[CommonRun]) -> list[CommonRun]:
    """Return the longest series of pairs that ascends in `new`. The input ascends in `old`."""
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


# Word diff


class Mark(StrEnum):
    """The kind of change of a span."""

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
_TOKEN = re.compile(
    rf"[{_UNSPACED_SCRIPTS}][{_COMBINING}]*|[^\W{_UNSPACED_SCRIPTS}](?:[^\W{_UNSPACED_SCRIPTS}]|[{_COMBINING}])*|\s+|[^\w\s][{_COMBINING}]*"
)
_MAX_BETWEEN = 3  # "the quick fox" for "a slow dog" is one replacement, not three


def word_spans(old: str, new: str) -> tuple[TextSpan, ...]:
    """Compare two texts word by word, in linear time.

    All spans but the inserted ones make `old`, all but the removed ones make `new`. Removed text
    comes before the text inserted in its place.
    """
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    spans: list[TextSpan] = []
    for removed, inserted, same in _join_hunks(_word_hunks(before, after)):
        stretches = ((Mark.REMOVED, removed), (Mark.INSERTED, inserted), (Mark.SAME, same))
        spans += [TextSpan(mark, text) for mark, text in stretches if text]
    return tuple(spans)


class _WordHunk(NamedTuple):
    """A replacement, and the unchanged text after it."""

    removed: str
    inserted: str
    same: str


def _word_hunks(before: list[str], after: list[str]) -> list[_WordHunk]:
    hunks = []
    old = new = 0
    for first, second, length in [*common_runs(before, after), (len(before), len(after), 0)]:
        removed, inserted = "".join(before[old:first]), "".join(after[new:second])
        old, new = first + length, second + length
        hunks.append(_WordHunk(removed, inserted, "".join(before[first:old])))
    return hunks


def _join_hunks(hunks: list[_WordHunk]) -> list[_WordHunk]:
    """Join replacements that have almost nothing between them. They are easier to read as one."""
    joined: list[_WordHunk] = []
    run: list[_WordHunk] = []
    for hunk in hunks:
        if run and not _should_join(run[-1], hunk):
            joined.append(_merge_hunks(run))
            run = []
        run.append(hunk)
    return [*joined, _merge_hunks(run)]


def _should_join(hunk: _WordHunk, following: _WordHunk) -> bool:
    between = hunk.same
    is_little = len(between) <= _MAX_BETWEEN and not re.search(r"[\w\n]", between)
    return is_little and all((*hunk[:2], *following[:2]))


def _merge_hunks(run: list[_WordHunk]) -> _WordHunk:
    removed = "".join(hunk.removed + hunk.same for hunk in run[:-1]) + run[-1].removed
    inserted = "".join(hunk.inserted + hunk.same for hunk in run[:-1]) + run[-1].inserted
    return _WordHunk(removed, inserted, run[-1].same)


# Line diff

CONTEXT_LINES = 3  # unchanged lines shown around a change


class LineEdit(NamedTuple):
    """A range of old lines that a range of new lines replaces. Either range can be empty."""

    old: int
    old_end: int
    new: int
    new_end: int


class Hunk(NamedTuple):
    """Nearby edits with the unchanged lines shown around them."""

    old: int
    old_end: int
    new: int
    new_end: int
    edits: tuple[LineEdit, ...]


def split_lines(text: str) -> list[str]:
    """Split a text into lines that keep their line feed. The last line may lack it."""
    lines = text.split("\n")
    ended = [f"{line}\n" for line in lines[:-1]]
    return ended if not lines[-1] else [*ended, lines[-1]]


def line_edits(before: list[str], after: list[str]) -> Iterator[LineEdit]:
    """Yield the replaced ranges in order."""
    old = new = 0
    for first, second, length in [*common_runs(before, after), (len(before), len(after), 0)]:
        if first > old or second > new:
            yield LineEdit(old, first, new, second)
        old, new = first + length, second + length


def line_hunks(before: list[str], after: list[str]) -> Iterator[Hunk]:
    """Group the edits so that the contexts of two groups do not touch."""
    group: list[LineEdit] = []
    for edit in line_edits(before, after):
        if group and edit.old - group[-1].old_end > 2 * CONTEXT_LINES:
            yield _make_hunk(group, len(before))
            group = []
        group.append(edit)
    if group:
        yield _make_hunk(group, len(before))


def _make_hunk(group: list[LineEdit], count: int) -> Hunk:
    first, last = group[0], group[-1]
    lead = min(CONTEXT_LINES, first.old)
    trail = min(CONTEXT_LINES, count - last.old_end)
    return Hunk(
        first.old - lead,
        last.old_end + trail,
        first.new - lead,
        last.new_end + trail,
        tuple(group),
    )


# Side-by-side diff
#
# Inside one replacement, similar lines are put side by side. They are found by their shared words,
# and only if that is cheap. A longer replacement shows old lines left and new lines right.

_MAX_PAIRS = 2_500  # old × new lines of one replacement that are compared
_MIN_SIMILARITY = 0.3  # the share of common words from which two lines are similar
_WORD = re.compile(r"\w+")


class LinePair(NamedTuple):
    """One row of a side-by-side diff: line numbers from 0, None where one side has no line.

    Lines with `is_same` are equal. Lines with `is_similar` are one line that changed.
    """

    old: int | None
    new: int | None
    is_same: bool = False
    is_similar: bool = False


class SideBySideHunk(NamedTuple):
    """Rows shown together, after `skipped` unchanged lines that are not shown."""

    skipped: int
    pairs: tuple[LinePair, ...]


class SideBySide(NamedTuple):
    """Two texts line by line, with the hunks of rows that changed."""

    before: list[str]
    after: list[str]
    hunks: tuple[SideBySideHunk, ...]
    skipped: int  # the lines after the last hunk

    def spans_of(self, pair: LinePair) -> tuple[tuple[TextSpan, ...], tuple[TextSpan, ...]]:
        """Return the marked spans of the two lines of a row; empty where a side has no line."""
        old = self.before[pair.old] if pair.old is not None else ""
        new = self.after[pair.new] if pair.new is not None else ""
        return line_spans(old, new, is_same=pair.is_same, is_similar=pair.is_similar)


def side_by_side(old: str, new: str) -> SideBySide:
    """Compare two texts in two columns."""
    before, after = split_lines(old), split_lines(new)
    stretches, end = [], 0
    for hunk in line_hunks(before, after):
        pairs = tuple(_pairs_of_hunk(before, after, hunk))
        stretches.append(SideBySideHunk(hunk.old - end, pairs))
        end = hunk.old_end
    return SideBySide(before, after, tuple(stretches), len(before) - end)


def all_pairs(old: str, new: str) -> list[LinePair]:
    """Return all lines of both texts as rows."""
    before, after = split_lines(old), split_lines(new)
    whole = Hunk(0, len(before), 0, len(after), tuple(line_edits(before, after)))
    return list(_pairs_of_hunk(before, after, whole))


def line_spans(
    old: str, new: str, *, is_same: bool, is_similar: bool
) -> tuple[tuple[TextSpan, ...], tuple[TextSpan, ...]]:
    """Return two lines with their marks: removed text on the left, inserted text on the right."""
    if is_same:
        return (TextSpan(Mark.SAME, old),), (TextSpan(Mark.SAME, new),)
    if is_similar:
        spans = word_spans(old, new)
        return (
            tuple(span for span in spans if span.mark is not Mark.INSERTED),
            tuple(span for span in spans if span.mark is not Mark.REMOVED),
        )
    return (
        (TextSpan(Mark.REMOVED, old),) if old else (),
        (TextSpan(Mark.INSERTED, new),) if new else (),
    )


def _pairs_of_hunk(before: list[str], after: list[str], hunk: Hunk) -> Iterator[LinePair]:
    old, new = hunk.old, hunk.new
    for edit in hunk.edits:
        yield from _same_pairs(old, edit.old, new)
        yield from _replaced_pairs(before, after, edit)
        old, new = edit.old_end, edit.new_end
    yield from _same_pairs(old, hunk.old_end, new)


def _same_pairs(start: int, end: int, new: int) -> Iterator[LinePair]:
    for place in range(start, end):
        yield LinePair(place, new + place - start, is_same=True)


def _replaced_pairs(before: list[str], after: list[str], edit: LineEdit) -> Iterator[LinePair]:
    """Yield the rows of one replacement: pairs of similar lines, and the unrelated lines between
    them.
    """
    old, new = edit.old, edit.new
    for first, second in _similar_lines(before, after, edit):
        yield from _unrelated_pairs(old, first, new, second)
        yield LinePair(first, second, is_similar=True)
        old, new = first + 1, second + 1
    yield from _unrelated_pairs(old, edit.old_end, new, edit.new_end)


def _unrelated_pairs(old: int, old_end: int, new: int, new_end: int) -> Iterator[LinePair]:
    """Put unrelated lines into shared rows, to save height."""
    for step in range(max(old_end - old, new_end - new)):
        first = old + step if old + step < old_end else None
        second = new + step if new + step < new_end else None
        yield LinePair(first, second)


def _similar_lines(before: list[str], after: list[str], edit: LineEdit) -> list[tuple[int, int]]:
    """Return the pairs of similar lines, in order, with as many shared words as possible."""
    one = [_word_set(line) for line in before[edit.old : edit.old_end]]
    other = [_word_set(line) for line in after[edit.new : edit.new_end]]
    if not one or not other or len(one) * len(other) > _MAX_PAIRS:
        return []
    best = _best_sums([[_similarity(left, right) for right in other] for left in one])
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


def _best_sums(shares: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return the maximal total similarity from each pair of lines to the end."""
    width = len(shares[0]) + 1
    best = [[0.0] * width for _ in range(len(shares) + 1)]
    for first in range(len(shares) - 1, -1, -1):
        for second in range(width - 2, -1, -1):
            paired = shares[first][second] and shares[first][second] + best[first + 1][second + 1]
            best[first][second] = max(best[first + 1][second], best[first][second + 1], paired)
    return best


def _word_set(line: str) -> frozenset[str]:
    return frozenset(_WORD.findall(line))


def _similarity(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the similarity of two lines from 0 to 1, or 0 if it is too small."""
    share = len(one & other) / max(len(one | other), 1)
    return share if share >= _MIN_SIMILARITY else 0.0


# Unified diff


def unified_diff(old: str, new: str, old_name: str, new_name: str) -> str:
    """Return a unified diff as `diff -u` prints it, or an empty text if the texts are equal."""
    before, after = split_lines(old), split_lines(new)
    pieces = [
        piece for hunk in line_hunks(before, after) for piece in _hunk_lines(before, after, hunk)
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
    """Return a range of `diff -u`, as `3,7`: first line and count. An empty range has the line
    before.
    """
    count = end - start
    first = start + 1 if count else start
    return str(first) if count == 1 else f"{first},{count}"


def _prefixed(mark: str, lines: list[str]) -> Iterator[str]:
    for line in lines:
        yield f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}{_NO_NEWLINE}"
