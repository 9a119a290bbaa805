"""Advisory file reservations: path patterns, validation, conflicts, and which to release.

All functions are pure; the current time is an argument. Every valid request is granted, and
conflicts are reported. Reserving a pattern again replaces the old reservation. An expired
reservation does not count.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from brenner.diagnostics.codes import mail as codes
from brenner.diagnostics.model import Diagnostic, RequestError
from brenner.lazy_pattern import lazy_pattern
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

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

# Path patterns (globs), and whether some path may match two of them
#
# Paths and patterns are relative to the project, with `/` between folders. In a name, `*` matches
# any characters, `?` one character, and `[abc]`, `[a-z]` and `[!a-z]` one of a set. `**` as a name
# matches any number of folders. Case matters, and a leading dot is a character like any other. A
# pattern that matches a folder matches all content of it: `src` is `src/**`, and `.` is the whole
# project.
#
# The comparison is approximate: two patterns that a path matches always overlap, and some others
# do, too. The file system is not consulted, so a path need not exist or be a folder: `*.md`
# overlaps `a.md/b`.


_ANY_FOLDERS = "**"
_WILDCARDS = "*?["
_LITERAL_PREFIX = lazy_pattern(r"[^*?[]*")


def split_pattern(pattern: str) -> tuple[str, ...]:
    """Split a pattern into names, so that `./`, `//` and a final `/` make no difference."""
    return tuple(name for name in pattern.split("/") if name not in ("", "."))


def count_wildcards(pattern: str) -> int:
    """Return the number of wildcard characters, without `**`."""
    names = [name for name in split_pattern(pattern) if name != _ANY_FOLDERS]
    return sum(name.count(mark) for name in names for mark in _WILDCARDS)


def may_overlap(ours: str, theirs: str) -> bool:
    """Return whether some path may match both patterns; false only if none does."""
    for one, other in zip(split_pattern(ours), split_pattern(theirs), strict=False):
        if _ANY_FOLDERS in (one, other):
            return True
        if one != other and not _names_may_overlap(one, other):
            return False
    return True


def _names_may_overlap(one: str, other: str) -> bool:
    """Compare two wildcard names by what precedes their wildcards, and a plain name exactly."""
    starts = [match[0] for match in map(_LITERAL_PREFIX.match, (one, other)) if match]
    if one in starts or other in starts:
        return _matches_name(one, other) or _matches_name(other, one)
    return starts[0].startswith(starts[1]) or starts[1].startswith(starts[0])


def _matches_name(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern.replace("[^", "[!"))


Conflicts = tuple[tuple[str, tuple[Reservation, ...]], ...]

_ABSOLUTE = lazy_pattern(r"/|~|[A-Za-z]:(/|$)")


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
        ("\\" in pattern, "it contains `\\`; use `/` between folders"),
        (_ABSOLUTE.match(pattern), "it is not relative to the project"),
        (".." in names, "it contains `..`"),
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


def find_conflicts(granted: Sequence[Reservation], held: Sequence[Reservation]) -> Conflicts:
    """Return the granted patterns that overlap others' reservations, if either is exclusive."""
    found = (
        (
            ours.pattern,
            tuple(
                each
                for each in held
                if each.agent != ours.agent
                and (each.exclusive or ours.exclusive)
                and may_overlap(ours.pattern, each.pattern)
            ),
        )
        for ours in granted
    )
    return tuple((pattern, holders) for pattern, holders in found if holders)


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
