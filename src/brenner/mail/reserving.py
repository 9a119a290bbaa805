"""Who may reserve which files, and who has them already. Pure: the time is an argument.

A reservation is advice: all that is asked for is granted, and who comes second hears of it. Who
reserves a pattern again gets a new reservation in place of the old one, for as long as is said
then. One that has expired counts no more.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime

from brenner.diagnostics.codes import mail as codes
from brenner.diagnostics.model import Diagnostic, Refused
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
from brenner.mail.globs import Pattern, names_of, wildcards_in
from brenner.mail.model import Reservation, Wish
from brenner.mail.rules import unstorable

Conflicts = tuple[tuple[str, tuple[Reservation, ...]], ...]

_MOST_STEPS = 1_000_000  # about half a second for all comparisons of one request
_ABSOLUTE = re.compile(r"/|~|[A-Za-z]:(/|$)")


def checked(wish: Wish) -> Wish:
    """The wish with each pattern once; refused where it is not one that can be kept."""
    found = _first_refusal(wish)
    if found:
        raise Refused(found)
    return wish._replace(patterns=_each_once(wish.patterns))


def _first_refusal(wish: Wish) -> Diagnostic | None:
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


def replaced(wish: Wish, own: Sequence[Reservation], others: int) -> tuple[int, ...]:
    """Which of those that somebody has a wish takes the place of; refused where it is too much.

    `others` is how many all others have together.
    """
    wanted = {names_of(pattern) for pattern in wish.patterns}
    ids = tuple(each.id for each in own if names_of(each.pattern) in wanted)
    count = len(own) - len(ids) + len(wish.patterns)
    if count > MOST_RESERVATIONS:
        raise Refused(_too_many(count, "reservations of one agent", MOST_RESERVATIONS))
    if count + others > MOST_RESERVATIONS_OF_ALL:
        what = "reservations of all agents"
        raise Refused(_too_many(count + others, what, MOST_RESERVATIONS_OF_ALL))
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
