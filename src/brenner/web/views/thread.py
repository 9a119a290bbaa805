"""Pages of the mail: the thread of a session by rounds, one message, its raw text, and the
search.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING

from brenner.diagnostics.model import RequestError
from brenner.named_tuple import NamedTuple
from brenner.protocol.message_types import KICKOFF
from brenner.protocol.messages import StoredMessage, iso, render_message_file
from brenner.protocol.thread_ids import is_valid_thread_id
from brenner.web import links
from brenner.web.layout import session_document
from brenner.web.messages import (
    MESSAGES_PER_PAGE,
    ON_ITS_OWN_PAGE,
    ONE_OF_MANY,
    MessageDocuments,
    as_tree,
    document_without_session,
    messages_by_id,
    no_read_marks,
    shared_sections,
    thread_address,
    thread_positions,
)
from brenner.web.rendering import list_page_document, requested_page
from brenner.web.request import Document, Download, Page, PageResult, Redirect, RequestContext

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from brenner.session.participants import ThreadRound
    from brenner.web.sessions import Session

TREE, TIME, OLDEST = "tree", "time", "oldest"
NO_TYPE = "mail"  # value of `?type=` for mail without a protocol type
_MAX_CHOICES = 40
_MAX_ROUNDS, _MAX_FOLDED = 12, 40


class _ThreadFilter(NamedTuple):
    """Which messages of a thread are shown. Without a round it is all rounds."""

    thread_id: str
    round: int | None
    type: str | None
    agent: str | None
    is_tree: bool
    is_oldest_first: bool = False

    @property
    def order(self) -> str | None:
        """The value of `?order=`, None for the newest first."""
        return TREE if self.is_tree else OLDEST if self.is_oldest_first else None

    def link(self, **other: object) -> str:
        """Return the address of this filter with some parameters changed."""
        query = {
            "round": self.round,
            "type": self.type,
            "agent": self.agent,
            "order": self.order,
        }
        return links.session(self.thread_id, "thread", **(query | other))

    def matches(self, stored: StoredMessage) -> bool:
        """Return whether a message has the requested type and sender."""
        is_of_type = self.type is None or _type(stored) == self.type
        return is_of_type and self.agent in (None, stored.message.sender)


def page(context: RequestContext) -> PageResult:
    """Return one round by time or as a tree, or the filtered messages of all rounds."""
    session = context.session
    wanted = context.query_number("message")
    there = thread_address(session, wanted) if wanted else None
    if there:
        return Redirect(there)
    thread_filter = _requested_filter(context, session)
    found = [
        each for each in _messages_in_round(session, thread_filter) if thread_filter.matches(each)
    ]
    ordered = list(as_tree(found)) if thread_filter.is_tree else [(each, 0) for each in found]
    last = -(-len(ordered) // MESSAGES_PER_PAGE)  # the default page without a round
    list_page = requested_page(
        context, len(ordered), MESSAGES_PER_PAGE, otherwise=1 if "round" in context.query else last
    )
    messages = MessageDocuments(session, context, ONE_OF_MANY)
    rounds = _open_and_folded(session, thread_filter, is_asked="round" in context.query)
    shown = [
        messages.document(each, depth)
        for each, depth in list_page.slice(ordered)
        if not context.is_html or _is_open(session, each, rounds["open_round"])
    ]
    _group_kickoffs(shown)
    document = {
        "session": session_document(context),
        "thread_id": session.thread_id,
        "round": thread_filter.round,
        "order": TREE if thread_filter.is_tree else TIME,
        "newest_first": thread_filter.order is None,
        "orders": {
            name: thread_filter.link(order=None if name == TIME else name)
            for name in (TIME, OLDEST, TREE)
        },
        "rounds": _round_links(session, thread_filter),
        **rounds,
        "filters": {name: _choices(session, thread_filter, name) for name in _COUNTS},
        "all": links.session(session.thread_id, "thread"),
        "fits": _fits_on_page(session),
        "no_read_marks": no_read_marks(context.site.workspace.mailbox),
        **list_page_document(list_page, lambda number: thread_filter.link(page=number)),
        "messages": shown,
        "items": list(messages.mentioned_items),
    }
    return Page("pages/thread.html", "Thread", document)


# Filtering and grouping


def _requested_filter(context: RequestContext, session: Session) -> _ThreadFilter:
    """Return the filter. By default all rounds are shown if they fit on a page, else the newest."""
    name, agent = context.query.get("type") or None, context.query.get("agent") or None
    number = context.query_number("round")
    if number is None and not (name or agent or _fits_on_page(session)):
        number = session.rounds[-1].number
    order = context.query.get("order")
    return _ThreadFilter(session.thread_id, number, name, agent, order == TREE, order == OLDEST)


def _fits_on_page(session: Session) -> bool:
    return len(session.stored) <= MESSAGES_PER_PAGE


def _messages_in_round(session: Session, thread_filter: _ThreadFilter) -> Sequence[StoredMessage]:
    if thread_filter.round is None:
        return session.stored
    found = (each for each in session.rounds if each.number == thread_filter.round)
    return [stored for each in found for stored in each.messages]


def _group_kickoffs(shown: list[dict[str, object]]) -> None:
    """Group consecutive kickoffs, so that the page shows shared sections once."""
    for each in shown:
        each |= {"group": None, "as_in": None}
    for group in _kickoff_runs(shown):
        for number, each in enumerate(group, 1):
            each["group"] = {"place": number, "of": len(group)}
            each["as_in"] = _shared_with(each, group[0]) if number > 1 else None


def _kickoff_runs(shown: list[dict[str, object]]) -> Iterator[list[dict[str, object]]]:
    """Yield two or more kickoffs in a row of one sender, without replies between them."""
    top = (each for each in shown if not each["depth"])
    for (name, _), run in groupby(top, key=lambda each: (each["type"], each["from"])):
        group = list(run)
        if name == KICKOFF.name and len(group) > 1:
            yield group


def _shared_with(each: Document, first: Document) -> Document | None:
    if each["body_is_cut"] or first["body_is_cut"] or each["blocks"]:
        return None
    titles = shared_sections(str(each["body"]), str(first["body"]))
    return {"message_id": first["id"], "sections": titles} if titles else None


# Links to other rounds and filters


def _round_links(session: Session, thread_filter: _ThreadFilter) -> Document:
    rounds = session.rounds
    index = next(
        (n for n, each in enumerate(rounds) if each.number == thread_filter.round), len(rounds) - 1
    )
    first = max(0, min(index - _MAX_ROUNDS // 2, len(rounds) - _MAX_ROUNDS))
    near = rounds[first : first + _MAX_ROUNDS]
    return {
        "total": len(rounds),
        "near": [_round_link(each, thread_filter) for each in near],
        "first": _round_link(rounds[0], thread_filter) if first else None,
        "last": _round_link(rounds[-1], thread_filter) if first + len(near) < len(rounds) else None,
        "previous": _round_link(rounds[index - 1], thread_filter)
        if thread_filter.round and index
        else None,
        "next": _round_link(rounds[index + 1], thread_filter)
        if thread_filter.round and index + 1 < len(rounds)
        else None,
    }


def _round_link(each: ThreadRound, thread_filter: _ThreadFilter) -> Document:
    version = each.version
    return {
        "round": each.number,
        "version": version.number if version else None,
        "messages": len(each.messages),
        "is_chosen": each.number == thread_filter.round,
        "address": thread_filter.link(round=each.number),
    }


def _open_and_folded(
    session: Session, thread_filter: _ThreadFilter, *, is_asked: bool
) -> dict[str, object]:
    """Return the round that the page shows in full, and the others, which are a line each.

    The newest one is open, unless the reader asked for a round, a filter or the tree.
    """
    if is_asked or thread_filter.type or thread_filter.agent or thread_filter.is_tree:
        return {"open_round": None, "folded": []}
    *older, newest = session.rounds
    shown = (
        older[-_MAX_FOLDED:] if thread_filter.is_oldest_first else older[: -_MAX_FOLDED - 1 : -1]
    )
    return {
        "open_round": newest.number,
        "folded": [_folded_round(each, thread_filter) for each in shown],
    }


def _is_open(session: Session, stored: StoredMessage, open_round: object) -> bool:
    """Return whether a message is in the open round, or no round is folded."""
    position = session.cached(thread_positions).get(stored.id)
    return open_round is None or (position is not None and position[0] == open_round)


def _folded_round(each: ThreadRound, thread_filter: _ThreadFilter) -> Document:
    return {
        **_round_link(each, thread_filter),
        "agents": list(dict.fromkeys(stored.message.sender for stored in each.messages)),
        "types": dict(Counter(map(_type, each.messages))),
        "at": iso(each.messages[-1].at),
    }


def _choices(session: Session, thread_filter: _ThreadFilter, name: str) -> list[Document]:
    """Return the choices of a filter, with the number of messages in all rounds."""
    chosen = getattr(thread_filter, name)
    counts = session.cached(_COUNTS[name])
    first = counts.most_common(_MAX_CHOICES)
    listed = dict(first) | ({chosen: counts[chosen]} if chosen else {})
    return [
        {
            "value": value,
            "messages": count,
            "is_chosen": value == chosen,
            "address": thread_filter.link(**{"round": None, name: value}),
            "without": thread_filter.link(**{"round": None, name: None}),
        }
        for value, count in listed.items()
    ]


def _type(stored: StoredMessage) -> str:
    return stored.type or NO_TYPE


_COUNTS: dict[str, Callable[[Session], Counter[str]]] = {
    "type": lambda session: Counter(map(_type, session.stored)),
    "agent": lambda session: Counter(each.message.sender for each in session.stored),
}


# The pages `/messages/12` and `/messages/12/raw`


def message_page(context: RequestContext) -> PageResult:
    """Return one message with its outcomes, in the layout of its session if it has one."""
    stored = context.site.workspace.mailbox.message(int(context.parameters["message"]))
    thread_id = stored.message.thread_id
    session = _session_or_none(context, thread_id)
    document: dict[str, object] = {"no_read_marks": no_read_marks(context.site.workspace.mailbox)}
    if session is None:
        document |= {"session": None, "items": []}
        message = document_without_session(context.site.workspace.mailbox, stored)
    else:
        messages = MessageDocuments(session, context, ON_ITS_OWN_PAGE)
        message = messages.document(stored)
        document["items"] = list(messages.mentioned_items)
        there = context._replace(
            parameters=MappingProxyType({**context.parameters, "thread": thread_id})
        )
        document["session"] = session_document(there) if session.status.phase else None
        document |= _adjacent_messages(session, stored.id)
    thread = links.session(thread_id, "thread") if session else None
    template = "pages/message.html" if document["session"] else "pages/letter.html"
    everything = {**document, "thread": thread, "message": message}
    return Page(template, f"Message {stored.id}", everything)


def raw_page(context: RequestContext) -> PageResult:
    """Return the message file, exactly as it was sent."""
    stored = context.site.workspace.mailbox.message(int(context.parameters["message"]))
    text = render_message_file(stored.message)
    return Download(text, "text/plain", f"message-{stored.id}.md", is_inline=True)


def _session_or_none(context: RequestContext, thread_id: str) -> Session | None:
    if not is_valid_thread_id(thread_id):
        return None
    try:
        return context.site.reading.session(thread_id)
    except RequestError:
        return None


def _adjacent_messages(session: Session, message_id: int) -> Mapping[str, object]:
    numbers = list(session.cached(messages_by_id))
    index = numbers.index(message_id) if message_id in numbers else None
    if index is None:
        return {"previous": None, "next": None}
    following = numbers[index + 1 : index + 2]
    return {
        "previous": links.message(numbers[index - 1]) if index else None,
        "next": links.message(following[0]) if following else None,
    }
