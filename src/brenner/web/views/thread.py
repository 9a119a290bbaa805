"""The page `/sessions/T/thread`: the mail of a session, by rounds."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from http import HTTPStatus
from itertools import groupby
from types import MappingProxyType
from typing import NamedTuple

from brenner.diagnostics.model import Diagnostic, RequestError, Summary
from brenner.mail.model import SearchPage, StoredMessage, next_before, stored_json
from brenner.mail.search import Part, Query, excerpt, marked, parse_query
from brenner.protocol.message_types import KICKOFF
from brenner.protocol.messages import render_message_file
from brenner.protocol.thread_ids import is_valid
from brenner.services.workspace import Workspace
from brenner.session.participants import Round
from brenner.web import links
from brenner.web.layout import session_document
from brenner.web.messages import (
    ALONE,
    ON_A_PAGE,
    ONE_OF_MANY,
    Messages,
    address,
    as_tree,
    by_number,
    plain_document,
    read_marks,
    shared,
)
from brenner.web.rendering import part, part_json
from brenner.web.request import Answer, Document, Download, Page, Redirect, RequestContext
from brenner.web.sessions import Session

TREE, TIME = "tree", "time"
NO_TYPE = "mail"  # what `?type=` calls mail that is not the protocol's
_MOST_CHOICES = 40
_MOST_ROUNDS = 12


class _View(NamedTuple):
    """What of a thread is shown. Without a round it is all of them."""

    thread_id: str
    round: int | None
    type: str | None
    agent: str | None
    is_tree: bool

    def link(self, **other: object) -> str:
        """The address of this view, with something else in it."""
        asked = {
            "round": self.round,
            "type": self.type,
            "agent": self.agent,
            "order": TREE if self.is_tree else None,
        }
        return links.session(self.thread_id, "thread", **(asked | other))

    def has(self, stored: StoredMessage) -> bool:
        """Whether a message is of the type and from the sender that are looked for."""
        is_of_type = self.type is None or _type(stored) == self.type
        return is_of_type and self.agent in (None, stored.message.sender)


def page(visit: RequestContext) -> Answer:
    """One round, in the order of the mail or as a tree; or what is asked for, of all rounds."""
    session = visit.session
    wanted = visit.number("message")
    there = address(session, wanted) if wanted else None
    if there:
        return Redirect(there)
    view = _view(visit, session)
    found = [each for each in _in_scope(session, view) if view.has(each)]
    ordered = list(as_tree(found)) if view.is_tree else [(each, 0) for each in found]
    last = -(-len(ordered) // ON_A_PAGE)  # where one that is opened without a round begins
    which = part(visit, len(ordered), ON_A_PAGE, otherwise=1 if "round" in visit.asked else last)
    messages = Messages(session, visit, ONE_OF_MANY)
    shown = [messages.document(each, depth) for each, depth in which.of(ordered)]
    _group_kickoffs(shown)
    document = {
        "session": session_document(visit),
        "thread_id": session.thread_id,
        "round": view.round,
        "order": TREE if view.is_tree else TIME,
        "orders": {TIME: view.link(order=None), TREE: view.link(order=TREE)},
        "rounds": _rounds(session, view),
        "filters": {name: _choices(session, view, name) for name in _COUNTS},
        "all": links.session(session.thread_id, "thread"),
        "fits": _fits(session),
        "no_read_marks": read_marks(visit.site.workspace.mailbox),
        **part_json(which, lambda number: view.link(page=number)),
        "messages": shown,
        "items": list(messages.known),
    }
    return Page("pages/thread.html", "Thread", document)


# What is shown


def _view(visit: RequestContext, session: Session) -> _View:
    """What was asked for; where nothing was, all rounds if they fit on a page, else the newest."""
    name, agent = visit.asked.get("type") or None, visit.asked.get("agent") or None
    number = visit.number("round")
    if number is None and not (name or agent or _fits(session)):
        number = session.rounds[-1].number
    is_tree = visit.asked.get("order") == TREE
    return _View(session.thread_id, number, name, agent, is_tree)


def _fits(session: Session) -> bool:
    """Whether all of the thread stands on one page."""
    return len(session.stored) <= ON_A_PAGE


def _in_scope(session: Session, view: _View) -> Sequence[StoredMessage]:
    if view.round is None:
        return session.stored
    stored = session.once(by_number)
    found = (each for each in session.rounds if each.number == view.round)
    return [stored[filed.posted.id] for each in found for filed in each.messages]


def _group_kickoffs(shown: list[dict[str, object]]) -> None:
    """Kickoffs that follow each other are one letter to several: what they share is said once."""
    for each in shown:
        each |= {"group": None, "as_in": None}
    for group in _kickoff_runs(shown):
        for place, each in enumerate(group, 1):
            each["group"] = {"place": place, "of": len(group)}
            each["as_in"] = _as_in(each, group[0]) if place > 1 else None


def _kickoff_runs(shown: list[dict[str, object]]) -> Iterator[list[dict[str, object]]]:
    """Two kickoffs and more of one sender; in a tree their answers stand between them."""
    top = (each for each in shown if not each["depth"])
    for (name, _), run in groupby(top, key=lambda each: (each["type"], each["from"])):
        group = list(run)
        if name == KICKOFF.name and len(group) > 1:
            yield group


def _as_in(each: Document, first: Document) -> Document | None:
    if each["body_is_cut"] or first["body_is_cut"] or each["blocks"]:
        return None
    titles = shared(str(each["body"]), str(first["body"]))
    return {"message_id": first["id"], "sections": titles} if titles else None


# What else could be


def _rounds(session: Session, view: _View) -> Document:
    """The rounds around the one that is shown, and those before and after it."""
    rounds = session.rounds
    at = next((n for n, each in enumerate(rounds) if each.number == view.round), len(rounds) - 1)
    first = max(0, min(at - _MOST_ROUNDS // 2, len(rounds) - _MOST_ROUNDS))
    near = rounds[first : first + _MOST_ROUNDS]
    return {
        "total": len(rounds),
        "near": [_round(each, view) for each in near],
        "first": _round(rounds[0], view) if first else None,
        "last": _round(rounds[-1], view) if first + len(near) < len(rounds) else None,
        "previous": _round(rounds[at - 1], view) if view.round and at else None,
        "next": _round(rounds[at + 1], view) if view.round and at + 1 < len(rounds) else None,
    }


def _round(each: Round, view: _View) -> Document:
    version = each.version
    return {
        "round": each.number,
        "version": version.number if version else None,
        "messages": len(each.messages),
        "is_chosen": each.number == view.round,
        "address": view.link(round=each.number),
    }


def _choices(session: Session, view: _View, name: str) -> list[Document]:
    """What one can look for, with how many messages there are of it in all rounds."""
    chosen = getattr(view, name)
    counts = session.once(_COUNTS[name])
    first = counts.most_common(_MOST_CHOICES)
    listed = dict(first) | ({chosen: counts[chosen]} if chosen else {})
    return [
        {
            "value": value,
            "messages": count,
            "is_chosen": value == chosen,
            "address": view.link(**{"round": None, name: value}),
            "without": view.link(**{"round": None, name: None}),
        }
        for value, count in listed.items()
    ]


def _type(stored: StoredMessage) -> str:
    return stored.type or NO_TYPE


def _types(session: Session) -> Counter[str]:
    return Counter(map(_type, session.stored))


def _agents(session: Session) -> Counter[str]:
    return Counter(each.message.sender for each in session.stored)


_COUNTS: dict[str, Callable[[Session], Counter[str]]] = {"type": _types, "agent": _agents}


# The page of one message, whole: `/messages/12`; and its exact text: `/messages/12/raw`.


def message_page(visit: RequestContext) -> Answer:
    """The message with what became of it; in the frame of its session, if it is of one."""
    stored = visit.site.workspace.mailbox.message(int(visit.named["message"]))
    thread_id = stored.message.thread_id
    session = _session(visit, thread_id)
    document: dict[str, object] = {"no_read_marks": read_marks(visit.site.workspace.mailbox)}
    if session is None:
        document |= {"session": None, "items": []}
        message = plain_document(visit.site.workspace.mailbox, stored)
    else:
        messages = Messages(session, visit, ALONE)
        message = messages.document(stored)
        document["items"] = list(messages.known)
        there = visit._replace(named=MappingProxyType({**visit.named, "thread": thread_id}))
        document["session"] = session_document(there) if session.status.phase else None
        document |= _beside(session, stored.id)
    thread = links.session(thread_id, "thread") if session else None
    template = "pages/message.html" if document["session"] else "pages/letter.html"
    everything = {**document, "thread": thread, "message": message}
    return Page(template, f"Message {stored.id}", everything)


def raw(visit: RequestContext) -> Answer:
    """The message file, exactly as it was sent."""
    stored = visit.site.workspace.mailbox.message(int(visit.named["message"]))
    text = render_message_file(stored.message)
    return Download(text, "text/plain", f"message-{stored.id}.md", is_shown=True)


def _session(visit: RequestContext, thread_id: str) -> Session | None:
    """The thread as a session; None where its name can be none of ours."""
    if not is_valid(thread_id):
        return None
    try:
        return visit.site.reading.session(thread_id)
    except RequestError:
        return None


def _beside(session: Session, message_id: int) -> Mapping[str, object]:
    """The messages before and after it in the thread."""
    numbers = list(session.once(by_number))
    at = numbers.index(message_id) if message_id in numbers else None
    if at is None:
        return {"previous": None, "next": None}
    following = numbers[at + 1 : at + 2]
    return {
        "previous": links.message(numbers[at - 1]) if at else None,
        "next": links.message(following[0]) if following else None,
    }


# The page `/search`: messages by words, phrases and filters, the latest first.


_MOST_SHOWN = 50
_NOTHING = SearchPage((), has_more=False)


def search_page(visit: RequestContext) -> Answer:
    """What was found; or what is wrong with the query, beside its field."""
    text = visit.asked.get("q", "")
    if not text.strip():
        return _page(visit, text, _document(_NOTHING, Query(), text))
    query = parse_query(text)
    if not isinstance(query, Query):
        return _page(visit, text, _faulty(query))
    try:
        found = _search(visit.site.workspace, query, visit.number("before"))
    except RequestError as refused:
        return _page(visit, text, _faulty((refused.diagnostic,)))
    return _page(visit, text, _document(found, query, text))


def _page(visit: RequestContext, text: str, found: Document) -> Page:
    """It does not change while one reads: what one looks for stays where it stands."""
    document = {
        "query": text,
        "operator": visit.site.workspace.project.operator,
        **_document(_NOTHING, Query(), ""),
        **found,
    }
    status = HTTPStatus.OK if document["valid"] else HTTPStatus.BAD_REQUEST
    title = f"Search: {text.strip()}" if text.strip() else "Search"
    return Page("pages/search.html", title, document, status, is_live=False)


def _search(workspace: Workspace, query: Query, before: int | None) -> SearchPage:
    """Only what asks about an inbox needs somebody whose it is, and that is the operator here."""
    asks_reader = query.is_unread or query.needs_ack
    if asks_reader and workspace.is_new_operator:
        return _NOTHING
    reader = workspace.project.operator if asks_reader else None
    return workspace.mailbox.search(query, reader=reader, limit=_MOST_SHOWN, before=before)


def _document(found: SearchPage, query: Query, text: str) -> Document:
    following = next_before(found.messages, has_more=found.has_more)
    return {
        "valid": True,
        "violations": [],
        "messages": [_message(each, query) for each in found.messages],
        "asks_operator": query.is_unread or query.needs_ack,
        "has_more": found.has_more,
        "next_before": following,
        "next": links.search(text, following) if following else None,
    }


def _faulty(violations: tuple[Diagnostic, ...]) -> Document:
    return {
        "valid": False,
        "summary": Summary.of(violations)._asdict(),
        "violations": [each.to_json() for each in violations],
    }


def _message(stored: StoredMessage, query: Query) -> Document:
    """The stable JSON of a message, with the found words in place of its body.

    `marked` is the subject without its type, which stands before it.
    """
    message = {name: value for name, value in stored_json(stored).items() if name != "body"}
    subject, name = stored.message.subject, stored.type
    if name is not None:
        subject = subject[len(name) :] if subject.startswith(name) else f" {subject}"
    return {
        **message,
        "in_session": is_valid(stored.message.thread_id),
        "marked": [_part(each) for each in marked(subject, query.phrases)],
        "excerpt": [_part(each) for each in excerpt(stored.message.body, query.phrases)],
    }


def _part(part: Part) -> Document:
    return {"text": part.text, "found": part.is_found}
