"""Somebody's inbox, as agents ask for it. Reading changes nothing."""

from collections.abc import Iterator
from datetime import datetime
from itertools import islice, takewhile
from typing import NamedTuple

from brenner.diagnostics.codes.serving import INVALID_ARGUMENT
from brenner.diagnostics.model import Refused
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Importance, Received
from brenner.mail.search import instant
from brenner.mcp.directory import numbers
from brenner.mcp.pages import received
from brenner.mcp.room import Room
from brenner.mcp.shapes import Shape, inbox_shape

_URGENT = (Importance.HIGH, Importance.URGENT)
_TIME = "a time in ISO 8601, such as `2025-12-30T12:00:00+00:00`"


class InboxWish(NamedTuple):
    """Whose inbox, and how much of it. Only what came after `since` is wanted, where it is said."""

    name: str
    limit: int
    urgent_only: bool = False
    include_bodies: bool = False
    since: datetime | None = None


def since_time(written: str, argument: str = "since_ts") -> datetime | None:
    """The time that an argument gives; None where it was left out.

    A time that nobody can read is refused: without it all mail would look new.
    """
    if not written:
        return None
    at = instant(written.strip())
    if at is None:
        raise Refused(INVALID_ARGUMENT.at(name=argument, value=written, expected=_TIME))
    return at


def inbox(mailbox: Mailbox, wish: InboxWish) -> list[Shape]:
    """The messages, newest first."""
    mailbox.agent(wish.name)  # an unknown name has no inbox, however little of it is asked for
    known, room = numbers(mailbox.agents()), Room()
    return [
        room.fitted(inbox_shape(each, wish.name, known, with_body=wish.include_bodies))
        for each in islice(_wanted(mailbox, wish), max(0, wish.limit))
    ]


def _wanted(mailbox: Mailbox, wish: InboxWish) -> Iterator[Received]:
    since = wish.since
    newest = received(mailbox, wish.name)
    newer = takewhile(lambda each: since is None or each.stored.at > since, newest)
    for each in newer:
        if not wish.urgent_only or each.stored.envelope.importance in _URGENT:
            yield each
