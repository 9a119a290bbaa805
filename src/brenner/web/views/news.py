"""What is new in a session since this browser last looked: `/sessions/T/news`.

The page script asks for it on every page of the session, so the document is small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.protocol.messages import iso
from brenner.web import links
from brenner.web.compare import (
    last_visit_document,
    news_cookie,
    seen_position,
)
from brenner.web.messages import thread_address
from brenner.web.request import Document, Page, PageResult, Redirect, RequestContext

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brenner.protocol.messages import StoredMessage

_MAX_LISTED = 50


def page(context: RequestContext) -> PageResult:
    """Return the new messages. With `seen` they are marked as seen, with `go` the first is shown.

    With `after`, also the messages after that position, for a page that is in the background.
    """
    thread_id, seen = context.thread_id, context.query_number("seen")
    found = new_messages(context)
    if seen is not None:
        here = links.session(thread_id, "news")
        there = _address(context, found[0]) if found and context.query.get("go") else here
        return Redirect(there, (news_cookie(thread_id, seen),))
    return Page("pages/news.html", "News", _document(context, found))


def new_messages(context: RequestContext) -> list[StoredMessage]:
    """Return the messages since the last look, in the order of arrival. Own messages are known."""
    seen = seen_position(context)
    return _messages_after(context, seen[0]) if seen else []


def _messages_after(context: RequestContext, position: int) -> list[StoredMessage]:
    own = context.login.operator if context.login else None
    found = context.session.messages
    return [each for each in found if each.arrival > position and each.message.sender != own]


def _document(context: RequestContext, found: Sequence[StoredMessage]) -> Document:
    thread_id, seen = context.thread_id, seen_position(context)
    last = max((each.arrival for each in context.session.messages), default=0)
    after = context.query_number("after")
    arrived = [] if after is None else _messages_after(context, after)
    return {
        "thread_id": thread_id,
        "since": iso(seen[1]) if seen else None,
        "position": last,
        "count": len(found),
        "messages": [_message(context, each) for each in found[:_MAX_LISTED]],
        "first": links.session(thread_id, "news", seen=last, go=1) if found else None,
        "seen": links.session(thread_id, "news", seen=last),
        "look": last_visit_document(context),
        "arrived": [_message(context, each) for each in arrived[-_MAX_LISTED:]],
        "arrived_count": len(arrived),
    }


def _message(context: RequestContext, stored: StoredMessage) -> Document:
    return {
        "message_id": stored.id,
        "type": stored.type,
        "from": stored.message.sender,
        "subject": stored.message.subject,
        "at": iso(stored.at),
        "link": _address(context, stored),
    }


def _address(context: RequestContext, stored: StoredMessage) -> str:
    return thread_address(context.session, stored.id) or links.message(stored.id)
