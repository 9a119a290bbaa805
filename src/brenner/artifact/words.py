"""The difference of two texts, word by word."""

import re
from enum import StrEnum
from typing import NamedTuple

from brenner.artifact.matching import matches


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
