"""The search, of the project or of one session: items first, then messages, the latest first."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from brenner.diagnostics.model import Diagnostic, RequestError, Summary
from brenner.mail.model import SearchPage, next_before, stored_json
from brenner.mail.search import ExcerptPart, Query, excerpt, highlight, parse_query
from brenner.protocol.thread_ids import is_valid_thread_id
from brenner.web import links
from brenner.web.item_index import NO_ITEMS, FoundItems, IndexedItem, asks_for_items, find_items
from brenner.web.request import Document, Page, PageResult, RequestContext

if TYPE_CHECKING:
    from collections.abc import Iterable

    from brenner.protocol.messages import StoredMessage

_MAX_FOUND = 50
_NO_RESULTS: SearchPage = SearchPage((), has_more=False)


def search_page(context: RequestContext) -> PageResult:
    """Return the search results, or the errors of the query beside its field."""
    text = context.query.get("q", "")
    if not text.strip():
        return _results_page(context, text, {})
    query = parse_query(text)
    if not isinstance(query, Query):
        return _results_page(context, text, _invalid_query(query))
    within = _within_session(context, query)
    try:
        found = _search(context, within) if within else _NO_RESULTS
    except RequestError as refused:
        return _results_page(context, text, _invalid_query((refused.diagnostic,)))
    document = {
        **_items_document(_find(context, within) if within else NO_ITEMS, query),
        **_results_document(found, query, text, _thread_id(context)),
    }
    return _results_page(context, text, document)


def _thread_id(context: RequestContext) -> str | None:
    """Return the session of the search, or None if it is of the project."""
    return context.parameters.get("thread")


def _within_session(context: RequestContext, query: Query) -> Query | None:
    """Restrict a query to the session of the search. Return None if it asks for others only."""
    thread_id = _thread_id(context)
    if thread_id is None:
        return query
    if query.threads and thread_id not in query.threads:
        return None
    return query._replace(threads=(thread_id,))


def _results_page(context: RequestContext, text: str, found: Document) -> Page:
    """Return the page. It is not live, so that results do not move while they are read."""
    document = {
        "query": text,
        "operator": context.site.workspace.project.operator,
        "thread_id": _thread_id(context),
        **_items_document(NO_ITEMS, Query()),
        **_results_document(_NO_RESULTS, Query(), "", None),
        **found,
    }
    status = HTTPStatus.OK if document["valid"] else HTTPStatus.BAD_REQUEST
    title = f"Search: {text.strip()}" if text.strip() else "Search"
    return Page("pages/search.html", title, document, status, is_live=False)


def _invalid_query(violations: tuple[Diagnostic, ...]) -> Document:
    return {
        "valid": False,
        "summary": Summary.of(violations)._asdict(),
        "violations": [each.to_json() for each in violations],
    }


# Items


def _find(context: RequestContext, query: Query) -> FoundItems:
    """Find items in the latest versions; beside older messages there are none."""
    if "before" in context.query or not asks_for_items(query):
        return NO_ITEMS
    reading, thread_id = context.site.reading, _thread_id(context)
    names = [thread_id] if thread_id else list(reading.listing().sessions)
    wanted = [name for name in names if not query.threads or name in query.threads]
    return find_items(query, map(reading.items, wanted), _MAX_FOUND)


def _items_document(found: FoundItems, query: Query) -> Document:
    return {
        "items": [_item_document(each, query) for each in found.items],
        "number_of_items": found.total,
    }


def _item_document(item: IndexedItem, query: Query) -> Document:
    return {
        "thread_id": item.session,
        "id": item.id,
        "section": item.section,
        "name": item.name,
        "killed": item.killed._asdict() if item.killed else None,
        "link": links.item(item.session, item.id),
        "marked": _parts(highlight(item.name, query.phrases)),
        "excerpt": _parts(excerpt(item.text, query.phrases)),
    }


# Messages


def _search(context: RequestContext, query: Query) -> SearchPage:
    """Search the mail. Only inbox filters need a reader, who is the operator here.

    Guests do not learn what the operator has read.
    """
    workspace = context.site.workspace
    asks_reader = query.is_unread or query.needs_ack
    if asks_reader and (workspace.is_new_operator or context.guest_of is not None):
        return _NO_RESULTS
    reader = workspace.project.operator if asks_reader else None
    before = context.query_number("before")
    return workspace.mailbox.search(query, reader=reader, limit=_MAX_FOUND, before=before)


def _results_document(
    found: SearchPage, query: Query, text: str, thread_id: str | None
) -> Document:
    following = next_before(found.messages, has_more=found.has_more)
    return {
        "valid": True,
        "violations": [],
        "messages": [_result_document(each, query) for each in found.messages],
        "asks_operator": query.is_unread or query.needs_ack,
        "has_more": found.has_more,
        "next_before": following,
        "next": links.search(text, following, thread_id) if following else None,
    }


def _result_document(stored: StoredMessage, query: Query) -> Document:
    """Return the stable JSON of a message, with the found words in place of its body.

    `marked` is the subject without its type, which is shown before it.
    """
    message = {name: value for name, value in stored_json(stored).items() if name != "body"}
    subject, name = stored.message.subject, stored.type
    if name is not None:
        subject = subject[len(name) :] if subject.startswith(name) else f" {subject}"
    return {
        **message,
        "in_session": is_valid_thread_id(stored.message.thread_id),
        "marked": _parts(highlight(subject, query.phrases)),
        "excerpt": _parts(excerpt(stored.message.body, query.phrases)),
    }


def _parts(parts: Iterable[ExcerptPart]) -> list[Document]:
    return [{"text": text, "found": is_match} for text, is_match in parts]
