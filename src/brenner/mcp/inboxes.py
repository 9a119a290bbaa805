"""Somebody's inbox, as agents ask for it. Reading changes nothing."""

from collections.abc import Iterator
from datetime import datetime
from itertools import islice, takewhile
from typing import NamedTuple

from brenner.diagnostics.codes.tools import INVALID_ARGUMENT
from brenner.diagnostics.errors import Refused
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Importance, Received
from brenner.mail.query import instant
from brenner.mcp.directory import numbers
from brenner.mcp.shapes import Shape, inbox_shape

_URGENT = (Importance.HIGH, Importance.URGENT)
_MOST_AT_ONCE = 200
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
    known = numbers(mailbox.agents())
    return [
        inbox_shape(each, wish.name, known, with_body=wish.include_bodies)
        for each in islice(_wanted(mailbox, wish), max(0, wish.limit))
    ]


def _wanted(mailbox: Mailbox, wish: InboxWish) -> Iterator[Received]:
    since = wish.since
    newest = _newest_first(mailbox, wish)
    newer = takewhile(lambda each: since is None or each.stored.at > since, newest)
    for each in newer:
        if not wish.urgent_only or each.stored.envelope.importance in _URGENT:
            yield each


def _newest_first(mailbox: Mailbox, wish: InboxWish) -> Iterator[Received]:
    """The inbox, page by page, as far as somebody goes on asking."""
    at_once = _MOST_AT_ONCE if wish.urgent_only else max(1, min(wish.limit, _MOST_AT_ONCE))
    before = None
    while True:
        page = mailbox.inbox(wish.name, limit=at_once, before=before)
        yield from page.messages
        if not page.has_more or not page.messages:
            return
        before = page.messages[-1].stored.id
