"""A message as a store has it: with the number and the time that the store gave it."""

from datetime import UTC, datetime
from typing import NamedTuple

from brenner.thread.messages import Message


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
