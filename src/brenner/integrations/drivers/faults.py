"""What the error messages of model services and agents' programs mean. It is pure."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from brenner.integrations.agent_driver import AgentEvent, EventKind, Fault, FaultKind
from brenner.lazy_pattern import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST_CHARACTERS = 500

# The first match counts: the message of a usage limit may also name a plan or a login.
_WORDS: Mapping[FaultKind, re.Pattern[str]] = {
    FaultKind.LOOP: lazy_pattern(r"loop detected", re.IGNORECASE),
    FaultKind.CREDIT: lazy_pattern(
        r"credit balance|out of credits|insufficient[_ ](quota|funds|credit)|billing|"
        r"payment required|purchase (more )?credits",
        re.IGNORECASE,
    ),
    FaultKind.RATE_LIMIT: lazy_pattern(
        r"rate[_ -]?limit|(usage|session|weekly|hour) limit|limit reached|too many requests|"
        r"resource[_ ]exhausted|quota|exhausted your capacity",
        re.IGNORECASE,
    ),
    FaultKind.LOGIN: lazy_pattern(
        r"not logged in|log ?in again|please (run /)?log ?in|unauthori[sz]ed|api[ -]?key|"
        r"authentication|permission[_ ]denied|forbidden|auth method|sign in",
        re.IGNORECASE,
    ),
    FaultKind.OVERLOADED: lazy_pattern(
        r"overloaded|high demand|internal server error|server_error|bad gateway|"
        r"service unavailable|unavailable|stream disconnected|connection ?(error|refused|reset)|"
        r"unable to connect|econn(refused|reset)|etimedout|enotfound|fetch failed|network|"
        r"timed? ?out|error sending request",
        re.IGNORECASE,
    ),
}
_LOST = lazy_pattern(
    r"no conversation found|no rollout found|no previous sessions|error resuming session|"
    r"(session|conversation|thread)( \S+)? not found",
    re.IGNORECASE,
)
_STATUS = lazy_pattern(r"(?:status|code|error|HTTP)\W{1,4}(?:\w+: )?\(?([45]\d\d)\b", re.IGNORECASE)
_STATUS_KINDS = {
    401: FaultKind.LOGIN,
    402: FaultKind.CREDIT,
    403: FaultKind.LOGIN,
    408: FaultKind.OVERLOADED,
    429: FaultKind.RATE_LIMIT,
}
_FIRST_SERVER_STATUS = 500
_MESSAGE = lazy_pattern(r'"message":\s*"((?:[^"\\]|\\.)+)"')  # in JSON inside a message
# Not a line of a stack trace, and not a warning.
_ERROR = lazy_pattern(r"(?!at |warn).*(error|fail|invalid|denied|please|must)", re.IGNORECASE)


def read_fault(words: str, status: float | None = None, *, is_final: bool = True) -> Fault:
    """Return the fault in an error message, and in an HTTP status if it is known."""
    inner = _MESSAGE.search(words)
    reason = inner[1].replace('\\"', '"') if inner else words
    is_lost = bool(_LOST.search(words))
    return Fault(
        _kind(words, status), shorten(reason), is_final=is_final, has_lost_conversation=is_lost
    )


def _kind(words: str, status: float | None) -> FaultKind:
    found = _STATUS.search(words) if status is None else None
    number = int(found[1]) if found else int(status or 0)
    if _WORDS[FaultKind.CREDIT].search(words):  # 400 and 429, by service
        return FaultKind.CREDIT
    if number in _STATUS_KINDS:
        return _STATUS_KINDS[number]
    if number >= _FIRST_SERVER_STATUS:
        return FaultKind.OVERLOADED
    matches = (kind for kind, pattern in _WORDS.items() if pattern.search(words))
    return next(matches, FaultKind.FAILED)


def fault_event(fault: Fault) -> AgentEvent:
    return AgentEvent(EventKind.FAULT, fault.reason, is_error=True, fault=fault)


def error_line(errors: str) -> str:
    """Return the line of standard error that says most: the last one that names an error."""
    lines = [line for line in map(str.strip, errors.splitlines()) if line]
    named = (line for line in reversed(lines) if _ERROR.match(line))
    return shorten(next(named, lines[-1] if lines else ""))


def shorten(words: str) -> str:
    """Return an error message on one line, limited in length."""
    line = " ".join(words.split())
    return line if len(line) <= _MOST_CHARACTERS else f"{line[: _MOST_CHARACTERS - 1]}…"


# Times to wait, as programs and services print them: `try again in 1.5s`, `reset after 3h20m5s`,
# `limit reached|1730000000`, `resets 3:45pm`, `try again at Nov 20th, 2026 3:45 PM`.


_DURATION = lazy_pattern(
    r"\b(?:in|after|retry-after:?)\s+((?:\d+(?:\.\d+)?\s*(?:ms|[a-z]*)[\s,]*(?:and\s+)?)+)",
    re.IGNORECASE,
)
_PART = lazy_pattern(r"(\d+(?:\.\d+)?)\s*([a-z]*)", re.IGNORECASE)
_EPOCH = lazy_pattern(r"\|\s*(\d{10})\b")
_CLOCK = lazy_pattern(
    r"\b(?:resets?|try again)\s+(?:at\s+)?(?:on\s+)?"
    r"(?:([A-Z][a-z]{2}) (\d{1,2})(?:st|nd|rd|th)?,?(?: (\d{4}))?,?\s+(?:at\s+)?)?"
    r"(\d{1,2})(?::(\d\d))?\s*([ap])m\b",
    re.IGNORECASE,
)
_UNIT_SECONDS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1, "": 1}
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_NOON = 12
_HOURS = (12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)


def seconds_to_wait(words: str, now: datetime) -> float | None:
    """Return how long to wait by an error message; None if it names no time."""
    if found := _EPOCH.search(words):
        return max(0.0, int(found[1]) - now.timestamp())
    if found := _DURATION.search(words):
        return sum(_part_seconds(*each.groups()) for each in _PART.finditer(found[1]))
    if found := _CLOCK.search(words):
        return _seconds_to_clock(found, now)
    return None


def _part_seconds(number: str, unit: str) -> float:
    if unit.lower().startswith(("ms", "milli")):
        return float(number) / 1000
    return float(number) * _UNIT_SECONDS.get(unit[:1].lower(), 0)


def _seconds_to_clock(found: re.Match[str], now: datetime) -> float | None:
    month, day, year, hour, minute, half = found.groups()
    at = now.replace(second=0, microsecond=0)
    try:
        hours = _HOURS.index(int(hour)) + (_NOON if half.lower() == "p" else 0)
        at = at.replace(hour=hours, minute=int(minute or 0))
        if month:
            number = _MONTHS.index(month.lower()) + 1
            at = at.replace(year=int(year or now.year), month=number, day=int(day))
    except ValueError:
        return None
    if not month and at <= now:
        at += timedelta(days=1)
    return max(0.0, (at - now).total_seconds())
