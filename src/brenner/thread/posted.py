"""A message as a store has it: with the number and the time that the store gave it."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from brenner.thread.messages import Message

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


class Posted(NamedTuple):
    """A stored message. `at` is the store's time, never the sender's."""

    id: int
    at: datetime
    message: Message


def in_thread_order(posted: Posted) -> tuple[datetime, int]:
    """R9, the sort key of every thread: the instant in UTC, then the message id as a number."""
    return (posted.at, posted.id)


def iso(at: datetime) -> str:
    """An instant as text: ISO 8601 in UTC, with a fraction only where it has one."""
    return at.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


def span(length: timedelta) -> str:
    """How long, in the largest unit that fills at least one: `3 h`."""
    seconds = max(0, int(length.total_seconds()))
    if seconds >= 2 * _DAY:
        return f"{seconds // _DAY} d"
    if seconds >= _HOUR:
        return f"{seconds // _HOUR} h"
    if seconds >= _MINUTE:
        return f"{seconds // _MINUTE} min"
    return f"{seconds} s"
