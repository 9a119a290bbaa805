"""Mail, a few messages at a time: nobody knows how long a message is before it is read."""

from collections.abc import Iterator

from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Received, Stored
from brenner.mail.search import Query

_AT_ONCE = 20


def received(mailbox: Mailbox, name: str) -> Iterator[Received]:
    """What somebody got, newest first, as far as somebody goes on asking."""
    before = None
    while True:
        page = mailbox.inbox(name, limit=_AT_ONCE, before=before)
        yield from page.messages
        if not page.has_more or not page.messages:
            return
        before = page.messages[-1].stored.id


def found(
    mailbox: Mailbox, query: Query, limit: int, before: int | None = None
) -> Iterator[Stored]:
    """At most so many messages that match, the latest arrivals first, from before that one on."""
    while limit > 0:
        page = mailbox.search(query, limit=min(limit, _AT_ONCE), before=before)
        yield from page.messages
        limit -= len(page.messages)
        if not page.has_more or not page.messages:
            return
        before = page.messages[-1].id


def backwards(mailbox: Mailbox, thread_id: str) -> Iterator[Stored]:
    """A thread, newest first."""
    before = None
    while True:
        page = mailbox.thread(thread_id, limit=_AT_ONCE, before=before)
        yield from reversed(page.messages)
        if not page.has_earlier or not page.messages:
            return
        before = page.messages[0].id
