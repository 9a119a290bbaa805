"""Which parts of a sequence stand in the wrong place: as few as possible."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple


class Misplaced(NamedTuple):
    """One that has to move, and the nearest one on whose wrong side it stands."""

    at: int
    other: int
    is_late: bool  # it stands after `other` and belongs before it


def misplaced(ranks: Sequence[int]) -> list[Misplaced]:
    """What has to move so that the ranks ascend; equal ones may stand in any order.

    Those that stay are the longest ascending run that can be picked from the sequence, so that one
    part which was moved far is one fault, not as many as it was moved across.
    """
    stay = _longest_ascending(ranks)
    kept = set(stay)
    found = []
    for index, rank in enumerate(ranks):
        if index in kept:
            continue
        # Of those that stay, the first that ranks higher: if it stands before, this one is late.
        # Otherwise one that ranks lower stands after it, or it could stay itself.
        above = bisect_right(stay, rank, key=ranks.__getitem__)
        if above < len(stay) and stay[above] < index:
            found.append(Misplaced(index, stay[above], is_late=True))
        else:
            below = bisect_left(stay, rank, key=ranks.__getitem__) - 1
            found.append(Misplaced(index, stay[below], is_late=False))
    return found


def _longest_ascending(ranks: Sequence[int]) -> list[int]:
    """The indices of a longest run that never descends (patience sorting)."""
    tops: list[int] = []  # the lowest last rank of a run of each length
    ends: list[int] = []  # and its index
    before: list[int | None] = []
    for index, rank in enumerate(ranks):
        length = bisect_right(tops, rank)
        before.append(ends[length - 1] if length else None)
        if length == len(tops):
            tops.append(rank)
            ends.append(index)
        else:
            tops[length], ends[length] = rank, index
    run = []
    at: int | None = ends[-1] if ends else None
    while at is not None:
        run.append(at)
        at = before[at]
    return run[::-1]
