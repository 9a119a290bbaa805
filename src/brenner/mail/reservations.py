"""Who may reserve which files, and who has them already. Pure: the time is an argument.

A reservation is advice: all that is asked for is granted, and who comes second hears of it. Who
reserves a pattern again gets a new reservation in place of the old one, for as long as is said
then. One that has expired counts no more.
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
from brenner.mail.rules import unstorable

# Patterns of paths, and whether some path could match two of them. Pure.
#
# Paths and patterns are relative to the project, with `/` between folders. In a name `*` stands for
# any characters, `?` for one, `[abc]`, `[a-z]` and `[!a-z]` for one of some; `**` instead of a name
# stands for any number of folders. Upper and lower case differ, and a dot in front is a character
# like any other. What matches a folder matches all that is below it: `src` is `src/**`, and `.` is
# the whole project.
#
# The answer is exact for what is written. It errs on the side of a conflict in one way: whether a
# path is there, and whether it is a folder, is not looked at. So `*.md` overlaps `a.md/b`.
#
# A pattern is a row of names, and a name a row of parts; a star stands for any number of them. How
# far two rows can be matched together is kept as the bits of a number, so that it costs the product
# of their lengths at most, whatever stars they hold.


_FOLDERS = "**"
_WILD = "*?["
_NEGATIONS = ("!", "^")
_RANGE = len("a-z")
_LAST = 0x10FFFF
_SLASH = ord("/")

T = TypeVar("T")
_Ranges = tuple[tuple[int, int], ...]


class _Set(NamedTuple):
    """One character of some, as ranges that are apart, in their order."""

    ranges: _Ranges


_Part = str | _Set
_ANY = _Set(((1, _SLASH - 1), (_SLASH + 1, _LAST)))
_NOTHING = _Set(())  # as `[z-a]`: nothing matches it


def names_of(pattern: str) -> tuple[str, ...]:
    """The names in a pattern: what differs only in `./`, `//` or a `/` at the end is the same."""
    return tuple(name for name in pattern.split("/") if name not in ("", "."))


def wildcards_in(pattern: str) -> int:
    """How many marks in it stand for something else, but for `**`."""
    names = [name for name in names_of(pattern) if name != _FOLDERS]
    return sum(name.count(mark) for name in names for mark in _WILD)


class _Row(Generic[T]):
    """Things in a row; None is a star, which stands for any number of whatever there is."""

    def __init__(self, row: Iterable[T | None]) -> None:
        things = tuple(row)
        pairs = pairwise(things)  # a star after a star adds nothing
        self.things = things[:1] + tuple(b for a, b in pairs if a is not None or b is not None)
        self.stars = _union(1 << at for at, thing in enumerate(self.things) if thing is None)
        self.end = 1 << len(self.things)

    def meets(self, other: "_Row[T]", where: Callable[[T, int], int]) -> bool:
        """Whether both can be matched together to their ends.

        The bits of `reached` are the places in the other row that this one can have come to.
        `where` tells at which of them a thing of this row has something in common; it may tell
        more.
        """
        reached = 1
        for thing in self.things:
            reached |= (reached & other.stars) << 1  # a star may stand for nothing
            if thing is None:  # or for all that comes, from the first place on
                reached = (other.end << 1) - (reached & -reached)
            else:
                reached = ((reached & where(thing, reached)) << 1) | (reached & other.stars)
            if not reached:
                return False
        reached |= (reached & other.stars) << 1
        return bool(reached & other.end)


class _Name:
    """A name in a pattern: of one folder or file."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.is_plain = not any(mark in text for mark in _WILD)

    @cached_property
    def row(self) -> _Row[_Part]:
        """What it is made of."""
        return _Row(self.text if self.is_plain else _parts(self.text))

    @cached_property
    def places(self) -> dict[_Part, int]:
        """Where each of its parts stands, as bits."""
        found: dict[_Part, int] = {}
        for at, part in enumerate(self.row.things):
            if part is not None:
                found[part] = found.get(part, 0) | 1 << at
        return found

    @cached_property
    def sets(self) -> tuple[_Set, ...]:
        """Those of its parts that are sets."""
        return tuple(part for part in self.places if isinstance(part, _Set))

    def where(self, part: _Part) -> int:
        """Where in it something shares a character with that part, as bits."""
        if isinstance(part, str):
            candidates: Iterable[_Part] = (part, *self.sets)
        else:
            candidates = self.places
        return _union(self.places.get(each, 0) for each in candidates if _share(part, each))

    def meets(self, other: "_Name") -> bool:
        """Whether some name could match both."""
        if self.is_plain and other.is_plain:
            return self.text == other.text
        where = cache(other.where)
        return self.row.meets(other.row, lambda part, _: where(part))


class Pattern:
    """A pattern, taken apart once for all comparisons."""

    def __init__(self, text: str) -> None:
        names = [None if name == _FOLDERS else _Name(name) for name in names_of(text)]
        self.row = _Row((*names, None))
        self.is_impossible = any(_NOTHING in name.places for name in names if name)
        plain = takewhile(lambda name: name is not None and name.is_plain, names)
        self.folders = tuple(name.text for name in plain if name)
        self.size = len(text)
        self.wildcards = wildcards_in(text)

    def is_elsewhere(self, other: "Pattern") -> bool:
        """Whether already the folders that both begin with are others. It costs next to nothing."""
        return any(
            ours != theirs for ours, theirs in zip(self.folders, other.folders, strict=False)
        )

    def steps(self, other: "Pattern") -> int:
        """How much work it is at most to compare the two, in steps of a quarter microsecond."""
        places = len(other.row.things) + other.wildcards
        return self.size * places + self.wildcards * other.size

    def overlaps(self, other: "Pattern") -> bool:
        """Whether some path could match both."""

        def where(name: _Name, reached: int) -> int:
            theirs = ((at, each) for at, each in enumerate(other.row.things) if reached >> at & 1)
            return _union(1 << at for at, each in theirs if each and name.meets(each))

        is_possible = not (self.is_impossible or other.is_impossible)
        return is_possible and self.row.meets(other.row, where)


def _parts(name: str) -> Iterator[_Part | None]:
    """A name, taken apart. A bracket that nothing closes is a character."""
    place = 0
    while place < len(name):
        letter, place = name[place], place + 1
        end = _end_of_set(name, place) if letter == "[" else 0
        if end:
            yield _set(name[place:end])
            place = end + 1
        elif letter == "*":
            yield None
        else:
            yield _ANY if letter == "?" else letter


def _end_of_set(name: str, start: int) -> int:
    """Where a set ends that begins there; 0 where it does not. A `]` may stand first in it."""
    first = start + (name[start : start + 1] in _NEGATIONS)
    return max(0, name.find("]", first + 1))


def _set(text: str) -> _Set:
    """The characters between brackets."""
    is_negated = text[0] in _NEGATIONS
    ranges = _joined(_ranges_in(text[is_negated:]))
    return _Set(_common(_ANY.ranges, _others(ranges) if is_negated else ranges))


def _ranges_in(text: str) -> Iterator[tuple[int, int]]:
    place = 0
    while place < len(text):
        is_range = text[place + 1 : place + 2] == "-" and place + _RANGE <= len(text)
        last = place + _RANGE - 1 if is_range else place
        if text[place] <= text[last]:
            yield ord(text[place]), ord(text[last])
        place = last + 1


def _joined(ranges: Iterable[tuple[int, int]]) -> _Ranges:
    """The same characters in ranges that are apart, in their order."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return tuple(found)


def _others(ranges: _Ranges) -> _Ranges:
    """All other characters."""
    borders = [(0, 0), *ranges, (_LAST + 1, _LAST + 1)]
    gaps = ((before[1] + 1, after[0] - 1) for before, after in pairwise(borders))
    return tuple(gap for gap in gaps if gap[0] <= gap[1])


def _common(ours: _Ranges, theirs: _Ranges) -> _Ranges:
    """The characters in both."""
    both = ((max(a[0], b[0]), min(a[1], b[1])) for a in ours for b in theirs)
    return tuple(each for each in both if each[0] <= each[1])


def _share(one: _Part, other: _Part) -> bool:
    """Whether two parts could stand for the same character."""
    if isinstance(one, str) and isinstance(other, str):
        return one == other
    few, many = sorted((_ranges(one), _ranges(other)), key=len)
    places = ((last, bisect_left(many, first, key=itemgetter(1))) for first, last in few)
    return any(place < len(many) and many[place][0] <= last for last, place in places)


def _ranges(part: _Part) -> _Ranges:
    return ((ord(part), ord(part)),) if isinstance(part, str) else part.ranges


def _union(places: Iterable[int]) -> int:
    return reduce(or_, places, 0)


Conflicts = tuple[tuple[str, tuple[Reservation, ...]], ...]

_MOST_STEPS = 1_000_000  # about half a second for all comparisons of one request
_ABSOLUTE = re.compile(r"/|~|[A-Za-z]:(/|$)")


def checked(wish: ReservationRequest) -> ReservationRequest:
    """The wish with each pattern once; refused where it is not one that can be kept."""
    found = _first_refusal(wish)
    if found:
        raise RequestError(found)
    return wish._replace(patterns=_each_once(wish.patterns))


def _first_refusal(wish: ReservationRequest) -> Diagnostic | None:
    if len(wish.patterns) > MOST_PATTERNS:
        return _too_many(len(wish.patterns), "patterns in one request", MOST_PATTERNS)
    if not 1 <= wish.seconds <= MOST_RESERVED_SECONDS:
        return codes.INVALID_RESERVED_TIME.at(seconds=wish.seconds, most=MOST_RESERVED_SECONDS)
    refusals = (_pattern_refusal(pattern) for pattern in wish.patterns)
    return unstorable("reason", wish.reason, MOST_REASON_BYTES) or next(
        filter(None, refusals), None
    )


def _too_many(count: int, what: str, most: int) -> Diagnostic:
    return codes.TOO_MANY_RESERVATIONS.at(count=count, what=what, most=most)


def _pattern_refusal(pattern: str) -> Diagnostic | None:
    found = unstorable("pattern", pattern, MOST_PATTERN_BYTES)
    if found:
        return found
    reason = _fault_in(pattern)
    return codes.INVALID_PATTERN.at(pattern=pattern, reason=reason) if reason else None


def _fault_in(pattern: str) -> str | None:
    names = names_of(pattern)
    faults = (
        (not pattern.strip(), "it is empty"),
        ("\\" in pattern, "it has `\\` in it, where `/` stands between folders"),
        (_ABSOLUTE.match(pattern), "it is not relative to the project"),
        (".." in names, "it leads out of a folder with `..`"),
        (len(names) > MOST_PATTERN_NAMES, f"it has more than {MOST_PATTERN_NAMES} folders"),
        (wildcards_in(pattern) > MOST_WILDCARDS, f"it has more than {MOST_WILDCARDS} wildcards"),
    )
    return next((reason for is_so, reason in faults if is_so), None)


def _each_once(patterns: Iterable[str]) -> tuple[str, ...]:
    """As it was written first, of those that mean the same."""
    firsts: dict[tuple[str, ...], str] = {}
    for pattern in patterns:
        firsts.setdefault(names_of(pattern), pattern)
    return tuple(firsts.values())


def holding(held: Iterable[Reservation], now: datetime) -> tuple[Reservation, ...]:
    """Those that have not expired, the oldest first."""
    return tuple(sorted(each for each in held if each.expires_at > now))


def replaced(wish: ReservationRequest, own: Sequence[Reservation], others: int) -> tuple[int, ...]:
    """Which of those that somebody has a wish takes the place of; refused where it is too much.

    `others` is how many all others have together.
    """
    wanted = {names_of(pattern) for pattern in wish.patterns}
    ids = tuple(each.id for each in own if names_of(each.pattern) in wanted)
    count = len(own) - len(ids) + len(wish.patterns)
    if count > MOST_RESERVATIONS:
        raise RequestError(_too_many(count, "reservations of one agent", MOST_RESERVATIONS))
    if count + others > MOST_RESERVATIONS_OF_ALL:
        what = "reservations of all agents"
        raise RequestError(_too_many(count + others, what, MOST_RESERVATIONS_OF_ALL))
    return ids


def conflicts(granted: Sequence[Reservation], held: Iterable[Reservation]) -> Conflicts:
    """Of what was granted, that which others have, too, where one of both wants it alone.

    Where so many patterns of many wildcards meet that it would take long to compare them all, those
    that are left are told as conflicts unless they are plainly elsewhere.
    """
    others = [(each, Pattern(each.pattern)) for each in held]
    work = _Work()
    found = ((each.pattern, _holders(each, others, work)) for each in granted)
    return tuple((pattern, holders) for pattern, holders in found if holders)


class _Work:
    """What comparing may still cost."""

    def __init__(self) -> None:
        self._left = _MOST_STEPS

    def overlap(self, ours: Pattern, theirs: Pattern) -> bool:
        """Whether some path could match both, as far as that can still be found out."""
        if ours.is_elsewhere(theirs):
            return False
        self._left -= ours.steps(theirs)
        return self._left < 0 or ours.overlaps(theirs)


def _holders(
    granted: Reservation, others: Iterable[tuple[Reservation, Pattern]], work: _Work
) -> tuple[Reservation, ...]:
    pattern = Pattern(granted.pattern)
    return tuple(
        each
        for each, theirs in others
        if each.agent != granted.agent
        and (each.exclusive or granted.exclusive)
        and work.overlap(pattern, theirs)
    )


def chosen(
    own: Iterable[Reservation], patterns: Iterable[str] | None, ids: Iterable[int] | None
) -> tuple[Reservation, ...]:
    """Those to release: of these patterns and with these ids, where something is said of them."""
    wanted = (
        None
        if patterns is None
        else {names_of(pattern) for pattern in patterns if not _fault_in(pattern)}
    )
    numbers = None if ids is None else set(ids)
    return tuple(
        each
        for each in own
        if (wanted is None or names_of(each.pattern) in wanted)
        and (numbers is None or each.id in numbers)
    )
