"""The evidence pack (R31): the whole pack, and what one session cites of it.

Guests see only the second page. It has the cited excerpts and the records that they are from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.diagnostics.model import RequestError
from brenner.protocol.evidence_pack import EvidencePack, cited_anchors
from brenner.services.evidence import items_citing, read_pack, unreadable_reason
from brenner.web import links
from brenner.web.layout import load_session_file, session_document, session_or_none
from brenner.web.rendering import list_page_document, requested_page
from brenner.web.request import Page, PageResult

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from brenner.protocol.evidence_pack import EvidenceRecord
    from brenner.web.request import RequestContext
    from brenner.web.sessions import Session

Document = dict[str, object]
_RECORDS_PER_PAGE = 20
_EMPTY = EvidencePack("", {})


def page(context: RequestContext) -> PageResult:
    """Return all records of the pack, on pages."""
    pack = _pack(context)
    records = list((pack or _EMPTY).records.values())
    list_page = requested_page(context, len(records), _RECORDS_PER_PAGE)
    document = {
        "path": pack.path if pack else None,
        "records": [_record(each, each.excerpts) for each in list_page.slice(records)],
        **list_page_document(list_page, links.evidence),
    }
    return Page("pages/evidence_pack.html", "Evidence pack", document, is_live=False)


def session_page(context: RequestContext) -> PageResult:
    """Return the records and excerpts that the session cites, with the items that cite them."""
    pack = _pack(context)
    session = session_or_none(context)
    if session is None:
        artifact, cited = load_session_file(context).artifact, set[str]()
    else:
        artifact, cited = session.history.state.artifact, set(session.cached(_cited_in_mail))
    citing = items_citing(artifact)
    cited |= citing.keys()
    document = {
        "session": session_document(context),
        "thread_id": context.thread_id,
        "path": pack.path if pack else None,
        "records": list(_cited_records(pack or _EMPTY, cited, citing)),
        "has_pack": context.guest_of is None and pack is not None,
    }
    return Page("pages/excerpts.html", "Cited sources", document)


def _pack(context: RequestContext) -> EvidencePack | None:
    """Return the pack, None if the project has none. Raise RequestError if it cannot be read."""
    parsed = read_pack(context.site.workspace.project)
    unreadable = unreadable_reason(parsed) if parsed else None
    if unreadable and context.guest_of is None:
        raise RequestError(unreadable)
    return parsed.pack if parsed else None


def _cited_in_mail(session: Session) -> frozenset[str]:
    return frozenset(
        anchor for each in session.messages for anchor in cited_anchors(each.message.body)
    )


def _cited_records(
    pack: EvidencePack, cited: Collection[str], citing: dict[str, list[str]]
) -> Iterable[Document]:
    """Yield the cited records, each with its cited excerpts only."""
    for record in pack.records.values():
        excerpts = [name for name in record.excerpts if f"{record.id}#{name}" in cited]
        if excerpts or record.id in cited:
            yield _record(record, excerpts, citing)


def _record(
    record: EvidenceRecord, excerpts: Iterable[str], citing: dict[str, list[str]] | None = None
) -> Document:
    used = citing or {}
    return {
        "id": record.id,
        "title": record.title,
        "source": record.source,
        "url": record.url,
        "accessed": record.accessed,
        "items": used.get(record.id, []),
        "excerpts": [
            {
                "anchor": f"{record.id}#{name}",
                "text": record.excerpts[name],
                "items": used.get(f"{record.id}#{name}", []),
            }
            for name in excerpts
        ],
    }
