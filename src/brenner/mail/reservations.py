"""Advisory file reservations: path patterns, validation, conflicts, and which to release.

All functions are pure; the current time is an argument. Every valid request is granted, and
conflicts are reported. Reserving a pattern again replaces the old reservation. An expired
reservation does not count.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import cache, cached_property, reduce
from itertools import pairwise, takewhile
from operator import itemgetter, or_
from typing import Generic, NamedTuple, TypeVar

from brenner.diagnostics.codes import mail as codes
from brenner.diagnostics.model import Diagnostic, RequestError
from brenner.limits import (
    MOST_PATTERN_BYTES,
    MOST_PATTERN_NAMES,
    MOST_PATTERNS,
    MOST_REASON_BYTES,
    MOST_RESERVATIONS,
    MOST_RESERVATIONS_OF_ALL,
    MOST_RESERVED_SECONDS,
    MOST_WILDCARDS,
)
from brenner.mail.model import Reservation, ReservationRequest
from brenner.mail.rules import text_problem

# Path patterns (globs), and whether some path can match two of them
#
# Paths and patterns are relative to the project, with `/` between folders. In a name, `*` matches
# any characters, `?` one character, and `[abc]`, `[a-z]` and `[!a-z]` one of a set. `**` as a name
# matches any number of folders. Case matters, and a leading dot is a character like any other. A
# pattern that matches a folder matches all content of it: `src` is `src/**`, and `.` is the whole
# project.
#
# The result is exact for the patterns. The file system is not consulted, so a path need not exist
# or be a folder: `*.md` overlaps `a.md/b`.
#
# A pattern is a sequence of names, and a name a sequence of parts; a star matches any number of
# them. The positions reached in the other sequence are the bits of an integer. So the cost is at
# most the product of the lengths, whatever the number of stars.


_ANY_FOLDERS = "**"
_WILDCARDS = "*?["
_NEGATIONS = ("!", "^")
_RANGE = len("a-z")
_LAST_CODE_POINT = 0x10FFFF
_SLASH = ord("/")

T = TypeVar("T")
_Ranges = tuple[tuple[int, int], ...]


class _CharSet(NamedTuple):
    """A set of characters, as sorted disjoint ranges."""

    ranges: _Ranges


_Part = str | _CharSet
_ANY_CHAR = _CharSet(((1, _SLASH - 1), (_SLASH + 1, _LAST_CODE_POINT)))
_NO_CHAR = _CharSet(())  # such as `[z-a]`: nothing matches it


def split_pattern(pattern: str) -> tuple[str, ...]:
    """Split a pattern into names, so that `./`, `//` and a final `/` make no difference."""
    return tuple(name for name in pattern.split("/") if name not in ("", "."))


def count_wildcards(pattern: str) -> int:
    """Return the number of wildcard characters, without `**`."""
    names = [name for name in split_pattern(pattern) if name != _ANY_FOLDERS]
    return sum(name.count(mark) for name in names for mark in _WILDCARDS)


class _Sequence(Generic[T]):
    """A sequence of elements; None is a star, which matches any number of elements."""

    def __init__(self, row: Iterable[T | None]) -> None:
        elements = tuple(row)
        pairs = pairwise(elements)  # a star after a star adds nothing
        self.elements = elements[:1] + tuple(b for a, b in pairs if a is not None or b is not None)
        self.stars = _bitwise_or(
            1 << at for at, element in enumerate(self.elements) if element is None
        )
        self.end = 1 << len(self.elements)

    def intersects(self, other: "_Sequence[T]", where: Callable[[T, int], int]) -> bool:
        """Return whether some sequence matches both.

        The bits of `reached` are the positions in the other sequence that this one can be at.
        `where` returns at which of them an element of this one has something in common; it may
        return more.
        """
        reached = 1
        for element in self.elements:
            reached |= (reached & other.stars) << 1  # a star may match nothing
            if element is None:  # or everything from the first position on
                reached = (other.end << 1) - (reached & -reached)
            else:
                reached = ((reached & where(element, reached)) << 1) | (reached & other.stars)
            if not reached:
                return False
        reached |= (reached & other.stars) << 1
        return bool(reached & other.end)


class _NamePattern:
    """The pattern of one folder or file name."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.is_plain = not any(mark in text for mark in _WILDCARDS)

    @cached_property
    def sequence(self) -> _Sequence[_Part]:
        """The parsed pattern."""
        return _Sequence(self.text if self.is_plain else _parse_name(self.text))

    @cached_property
    def positions(self) -> dict[_Part, int]:
        """The positions of each part, as bits."""
        found: dict[_Part, int] = {}
        for at, part in enumerate(self.sequence.elements):
            if part is not None:
                found[part] = found.get(part, 0) | 1 << at
        return found

    @cached_property
    def sets(self) -> tuple[_CharSet, ...]:
        """The parts that are character sets."""
        return tuple(part for part in self.positions if isinstance(part, _CharSet))

    def matching_positions(self, part: _Part) -> int:
        """Return, as bits, the positions that share a character with the part."""
        if isinstance(part, str):
            candidates: Iterable[_Part] = (part, *self.sets)
        else:
            candidates = self.positions
        return _bitwise_or(
            self.positions.get(each, 0) for each in candidates if _have_common_char(part, each)
        )

    def intersects(self, other: "_NamePattern") -> bool:
        """Return whether some name matches both."""
        if self.is_plain and other.is_plain:
            return self.text == other.text
        where = cache(other.matching_positions)
        return self.sequence.intersects(other.sequence, lambda part, _: where(part))


class Pattern:
    """A path pattern, parsed once for all comparisons."""

    def __init__(self, text: str) -> None:
        names = [
            None if name == _ANY_FOLDERS else _NamePattern(name) for name in split_pattern(text)
        ]
        self.sequence = _Sequence((*names, None))
        self.is_impossible = any(_NO_CHAR in name.positions for name in names if name)
        plain = takewhile(lambda name: name is not None and name.is_plain, names)
        self.folders = tuple(name.text for name in plain if name)
        self.size = len(text)
        self.wildcards = count_wildcards(text)

    def is_in_other_folder(self, other: "Pattern") -> bool:
        """Return whether the leading plain folders differ. This check is cheap."""
        return any(
            ours != theirs for ours, theirs in zip(self.folders, other.folders, strict=False)
        )

    def compare_cost(self, other: "Pattern") -> int:
        """Return the highest cost of comparing both, in steps of a quarter microsecond."""
        positions = len(other.sequence.elements) + other.wildcards
        return self.size * positions + self.wildcards * other.size

    def overlaps(self, other: "Pattern") -> bool:
        """Return whether some path matches both."""

        def where(name: _NamePattern, reached: int) -> int:
            theirs = (
                (at, each) for at, each in enumerate(other.sequence.elements) if reached >> at & 1
            )
            return _bitwise_or(1 << at for at, each in theirs if each and name.intersects(each))

        is_possible = not (self.is_impossible or other.is_impossible)
        return is_possible and self.sequence.intersects(other.sequence, where)


def _parse_name(name: str) -> Iterator[_Part | None]:
    """Yield the parts of a name pattern. A bracket without its end is a plain character."""
    position = 0
    while position < len(name):
        letter, position = name[position], position + 1
        end = _end_of_set(name, position) if letter == "[" else 0
        if end:
            yield _parse_set(name[position:end])
            position = end + 1
        elif letter == "*":
            yield None
        else:
            yield _ANY_CHAR if letter == "?" else letter


def _end_of_set(name: str, start: int) -> int:
    """Return where a set that begins at `start` ends, or 0. A `]` in first place is a member."""
    first = start + (name[start : start + 1] in _NEGATIONS)
    return max(0, name.find("]", first + 1))


def _parse_set(text: str) -> _CharSet:
    """Return the set of characters between brackets."""
    is_negated = text[0] in _NEGATIONS
    ranges = _merge_ranges(_parse_ranges(text[is_negated:]))
    return _CharSet(_intersection(_ANY_CHAR.ranges, _complement(ranges) if is_negated else ranges))


def _parse_ranges(text: str) -> Iterator[tuple[int, int]]:
    position = 0
    while position < len(text):
        is_range = text[position + 1 : position + 2] == "-" and position + _RANGE <= len(text)
        last = position + _RANGE - 1 if is_range else position
        if text[position] <= text[last]:
            yield ord(text[position]), ord(text[last])
        position = last + 1


def _merge_ranges(ranges: Iterable[tuple[int, int]]) -> _Ranges:
    """Return the same characters as sorted disjoint ranges."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return tuple(found)


def _complement(ranges: _Ranges) -> _Ranges:
    """Return the ranges of all other characters."""
    borders = [(0, 0), *ranges, (_LAST_CODE_POINT + 1, _LAST_CODE_POINT + 1)]
    gaps = ((before[1] + 1, after[0] - 1) for before, after in pairwise(borders))
    return tuple(gap for gap in gaps if gap[0] <= gap[1])


def _intersection(ours: _Ranges, theirs: _Ranges) -> _Ranges:
    """Return the ranges of the characters in both."""
    both = ((max(a[0], b[0]), min(a[1], b[1])) for a in ours for b in theirs)
    return tuple(each for each in both if each[0] <= each[1])


def _have_common_char(one: _Part, other: _Part) -> bool:
    """Return whether two parts can match the same character."""
    if isinstance(one, str) and isinstance(other, str):
        return one == other
    few, many = sorted((_ranges(one), _ranges(other)), key=len)
    candidates = ((last, bisect_left(many, first, key=itemgetter(1))) for first, last in few)
    return any(index < len(many) and many[index][0] <= last for last, index in candidates)


def _ranges(part: _Part) -> _Ranges:
    return ((ord(part), ord(part)),) if isinstance(part, str) else part.ranges


def _bitwise_or(numbers: Iterable[int]) -> int:
    return reduce(or_, numbers, 0)


Conflicts = tuple[tuple[str, tuple[Reservation, ...]], ...]

_MOST_STEPS = 1_000_000  # about half a second for all comparisons of one request
_ABSOLUTE = re.compile(r"/|~|[A-Za-z]:(/|$)")


def validate_request(request: ReservationRequest) -> ReservationRequest:
    """Return the request with each pattern once; raise RequestError if it is invalid."""
    found = _request_problem(request)
    if found:
        raise RequestError(found)
    return request._replace(patterns=_deduplicate(request.patterns))


def _request_problem(request: ReservationRequest) -> Diagnostic | None:
    if len(request.patterns) > MOST_PATTERNS:
        return _too_many(len(request.patterns), "patterns in one request", MOST_PATTERNS)
    if not 1 <= request.seconds <= MOST_RESERVED_SECONDS:
        return codes.INVALID_RESERVED_TIME.at(seconds=request.seconds, most=MOST_RESERVED_SECONDS)
    pattern_problems = (_pattern_problem(pattern) for pattern in request.patterns)
    return text_problem("reason", request.reason, MOST_REASON_BYTES) or next(
        filter(None, pattern_problems), None
    )


def _too_many(count: int, what: str, most: int) -> Diagnostic:
    return codes.TOO_MANY_RESERVATIONS.at(count=count, what=what, most=most)


def _pattern_problem(pattern: str) -> Diagnostic | None:
    found = text_problem("pattern", pattern, MOST_PATTERN_BYTES)
    if found:
        return found
    reason = _pattern_fault(pattern)
    return codes.INVALID_PATTERN.at(pattern=pattern, reason=reason) if reason else None


def _pattern_fault(pattern: str) -> str | None:
    names = split_pattern(pattern)
    faults = (
        (not pattern.strip(), "it is empty"),
        ("\\" in pattern, "it has `\\` in it, where `/` stands between folders"),
        (_ABSOLUTE.match(pattern), "it is not relative to the project"),
        (".." in names, "it leads out of a folder with `..`"),
        (len(names) > MOST_PATTERN_NAMES, f"it has more than {MOST_PATTERN_NAMES} folders"),
        (count_wildcards(pattern) > MOST_WILDCARDS, f"it has more than {MOST_WILDCARDS} wildcards"),
    )
    return next((reason for is_so, reason in faults if is_so), None)


def _deduplicate(patterns: Iterable[str]) -> tuple[str, ...]:
    """Return the first of the patterns that mean the same."""
    first_by_names: dict[tuple[str, ...], str] = {}
    for pattern in patterns:
        first_by_names.setdefault(split_pattern(pattern), pattern)
    return tuple(first_by_names.values())


def active(held: Iterable[Reservation], now: datetime) -> tuple[Reservation, ...]:
    """Return the reservations that have not expired, oldest first."""
    return tuple(sorted(each for each in held if each.expires_at > now))


def replaced_ids(
    request: ReservationRequest, own: Sequence[Reservation], others: int
) -> tuple[int, ...]:
    """Return the ids of the agent's reservations that a request replaces.

    Raise RequestError if there would be too many. `others` is the number of reservations of all
    other agents.
    """
    wanted = {split_pattern(pattern) for pattern in request.patterns}
    ids = tuple(each.id for each in own if split_pattern(each.pattern) in wanted)
    count = len(own) - len(ids) + len(request.patterns)
    if count > MOST_RESERVATIONS:
        raise RequestError(_too_many(count, "reservations of one agent", MOST_RESERVATIONS))
    if count + others > MOST_RESERVATIONS_OF_ALL:
        what = "reservations of all agents"
        raise RequestError(_too_many(count + others, what, MOST_RESERVATIONS_OF_ALL))
    return ids


def find_conflicts(granted: Sequence[Reservation], held: Iterable[Reservation]) -> Conflicts:
    """Return the granted patterns that overlap others' reservations, if either is exclusive.

    Comparing many patterns with many wildcards takes long. Beyond a budget, patterns count as
    conflicts unless their folders differ.
    """
    others = [(each, Pattern(each.pattern)) for each in held]
    work = _CompareBudget()
    found = ((each.pattern, _conflicting_reservations(each, others, work)) for each in granted)
    return tuple((pattern, holders) for pattern, holders in found if holders)


class _CompareBudget:
    """The remaining budget for comparing patterns."""

    def __init__(self) -> None:
        self._left = _MOST_STEPS

    def overlap(self, ours: Pattern, theirs: Pattern) -> bool:
        """Return whether some path matches both; true once the budget is used up."""
        if ours.is_in_other_folder(theirs):
            return False
        self._left -= ours.compare_cost(theirs)
        return self._left < 0 or ours.overlaps(theirs)


def _conflicting_reservations(
    granted: Reservation, others: Iterable[tuple[Reservation, Pattern]], work: _CompareBudget
) -> tuple[Reservation, ...]:
    pattern = Pattern(granted.pattern)
    return tuple(
        each
        for each, theirs in others
        if each.agent != granted.agent
        and (each.exclusive or granted.exclusive)
        and work.overlap(pattern, theirs)
    )


def select_to_release(
    own: Iterable[Reservation], patterns: Iterable[str] | None, ids: Iterable[int] | None
) -> tuple[Reservation, ...]:
    """Return the reservations with these patterns and these ids; None selects all."""
    wanted = (
        None
        if patterns is None
        else {split_pattern(pattern) for pattern in patterns if not _pattern_fault(pattern)}
    )
    numbers = None if ids is None else set(ids)
    return tuple(
        each
        for each in own
        if (wanted is None or split_pattern(each.pattern) in wanted)
        and (numbers is None or each.id in numbers)
    )
