"""The page that compares two versions: by item and field, side by side, or as plain text."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from brenner.protocol.messages import iso
from brenner.services.versions import Side
from brenner.web import links
from brenner.web.comparing import Asked, asked_pair, before, numbers_of, seen_link, side
from brenner.web.frame import session_document
from brenner.web.page import Answer, Download, Page
from brenner.web.pages.diff_items import items_document
from brenner.web.pages.diff_text import columns_document, plain_document, plain_text
from brenner.web.pages.versions import choices
from brenner.web.visit import Visit

ITEMS, TEXT, PLAIN = "items", "text", "plain"
_DOCUMENTS: Mapping[str, Callable[[Visit, Side, Side], dict[str, object]]] = MappingProxyType(
    {ITEMS: items_document, TEXT: columns_document, PLAIN: plain_document}
)


def page(visit: Visit) -> Answer:
    """What changed from one version to another."""
    session = visit.session
    asked = asked_pair(visit)
    old, new = side(session, asked.old), side(session, asked.new)
    form = visit.asked.get("form", ITEMS)
    form = form if form in _DOCUMENTS else ITEMS
    if form == PLAIN and visit.asked.get("raw") == "1":
        return Download(plain_text(visit, old, new), "text/plain; charset=utf-8")
    document = {
        "session": session_document(visit),
        "thread_id": session.thread_id,
        "form": form,
        "from": asked.old,
        "to": asked.new,
        "choices": choices(session),
        "since": _since(visit, asked),
        "steps": _steps(visit, asked, form),
        **_DOCUMENTS[form](visit, old, new),
    }
    title = f"v{asked.old} → v{asked.new}"
    return Page("pages/diff.html", title, document)


def _since(visit: Visit, asked: Asked) -> dict[str, object] | None:
    """Where this is what changed since the last look: which that was; none if there is none."""
    if visit.asked.get("since") != "look":
        return None
    look = asked.look
    return {
        "version": look.version if look else None,
        "at": iso(look.at) if look else None,
        "seen": seen_link(visit.session) if look and look.version != asked.new else None,
    }


def _steps(visit: Visit, asked: Asked, form: str) -> dict[str, str | None]:
    """The addresses of the steps before and after this one, and of this one backwards."""
    session = visit.session
    thread_id = session.thread_id
    kept = None if form == ITEMS else form
    earlier, later = min(asked.old, asked.new), max(asked.old, asked.new)
    after = min((each for each in numbers_of(session) if each > later), default=None)
    return {
        "earlier": links.diff(thread_id, before(session, earlier), earlier, form=kept)
        if earlier
        else None,
        "later": links.diff(thread_id, later, after, form=kept) if after else None,
        "back": links.diff(thread_id, asked.new, asked.old, form=kept),
    }
