"""The decisions that wait for the operator, in one list: `/sessions/T/decide`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.diagnostics.codes.serving import NO_SUCH_PAGE
from brenner.diagnostics.model import RequestError
from brenner.web.decisions import can_change, decisions_document
from brenner.web.layout import session_document
from brenner.web.request import Page

if TYPE_CHECKING:
    from brenner.web.request import RequestContext


def page(context: RequestContext) -> Page:
    """Return the list of decisions, each with its form of the lab. A guest decides nothing."""
    if context.guest_of is not None:
        raise RequestError(NO_SUCH_PAGE.at(path=context.path))
    session = context.session
    status = session.status
    document = {
        "session": session_document(context),
        "thread_id": session.thread_id,
        "version": status.version.number if status.version else None,
        "is_over": status.is_over,
        "can_change": can_change(status),
        **decisions_document(session, context),
    }
    return Page("pages/decide.html", "Decide", document)
