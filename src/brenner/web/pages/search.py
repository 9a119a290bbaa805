"""The page `/search`: messages by words, phrases and filters, the latest first."""

from http import HTTPStatus

from brenner.diagnostics.model import Diagnostic, Refused, Summary
from brenner.mail.model import SearchPage, Stored, next_before, stored_json
from brenner.mail.search import Part, Query, excerpt, marked, parse_query
from brenner.protocol.thread_ids import is_valid
from brenner.services.workspace import Desk
from brenner.web import links
from brenner.web.page import Answer, Document, Page
from brenner.web.visit import Visit

_MOST_SHOWN = 50
_NOTHING = SearchPage((), has_more=False)


def page(visit: Visit) -> Answer:
    """What was found; or what is wrong with the query, beside its field."""
    text = visit.asked.get("q", "")
    if not text.strip():
        return _page(visit, text, _document(_NOTHING, Query(), text))
    query = parse_query(text)
    if not isinstance(query, Query):
        return _page(visit, text, _faulty(query))
    try:
        found = _search(visit.site.desk, query, visit.number("before"))
    except Refused as refused:
        return _page(visit, text, _faulty((refused.diagnostic,)))
    return _page(visit, text, _document(found, query, text))


def _page(visit: Visit, text: str, found: Document) -> Page:
    """It does not change while one reads: what one looks for stays where it stands."""
    document = {
        "query": text,
        "operator": visit.site.desk.project.operator,
        **_document(_NOTHING, Query(), ""),
        **found,
    }
    status = HTTPStatus.OK if document["valid"] else HTTPStatus.BAD_REQUEST
    title = f"Search: {text.strip()}" if text.strip() else "Search"
    return Page("pages/search.html", title, document, status, is_live=False)


def _search(desk: Desk, query: Query, before: int | None) -> SearchPage:
    """Only what asks about an inbox needs somebody whose it is, and that is the operator here."""
    asks_reader = query.is_unread or query.needs_ack
    if asks_reader and desk.is_new_operator:
        return _NOTHING
    reader = desk.project.operator if asks_reader else None
    return desk.mailbox.search(query, reader=reader, limit=_MOST_SHOWN, before=before)


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


def _message(stored: Stored, query: Query) -> Document:
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
