"""The working draft: the artifact as a compile would publish it now.

It exists while a session has delta blocks that no version has read. A reader asks for it with
`?draft=1`. It is merged from the mail that the reader may read, so sealed messages (R33) are not in
it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.artifact.diff import describe_block
from brenner.artifact.state import BlockOutcome
from brenner.diagnostics.model import ERROR, worst_first
from brenner.protocol.delta.schema import OUTCOME_FIELDS
from brenner.web import links

if TYPE_CHECKING:
    from brenner.artifact.state import Blame, Entry, Source, State
    from brenner.web.request import Document, RequestContext
    from brenner.web.sessions import Session

PARAMETER = "draft"
_ON = "1"
_MAX_REJECTED, _MAX_SOURCES = 20, 5


def is_requested(context: RequestContext) -> bool:
    """Return whether the reader asked for the draft. A requested version comes first."""
    return context.query.get(PARAMETER) == _ON and "version" not in context.query


def working_draft(session: Session | None) -> State | None:
    """Return the state that a compile would publish now, or None if there is nothing to publish."""
    if session is None or session.status.is_over or session.status.compile_blocker:
        return None
    return session.merged.state if session.unread_entries else None


def shown_draft(context: RequestContext, session: Session | None) -> State | None:
    """Return the draft if the reader asked for it. Before the first version it is all there is.

    An exported file contains no draft.
    """
    if session is None or not _may_show(context):
        return None
    is_shown = is_requested(context) or not session.history.versions
    return working_draft(session) if is_shown else None


def _may_show(context: RequestContext) -> bool:
    is_export = "form" in context.parameters
    return not is_export and "version" not in context.query


def draft_document(
    context: RequestContext, session: Session | None, *, is_shown: bool
) -> dict[str, object]:
    """Return `draft`, whether the page shows the draft, and what it consists of."""
    is_offered = _may_show(context) and working_draft(session) is not None
    contents = _contents(context, session, is_shown=is_shown) if session and is_offered else None
    return {"draft": is_shown, "working_draft": contents}


def _contents(context: RequestContext, session: Session, *, is_shown: bool) -> Document:
    """Return the next version, the blocks that it would contain, and those that are rejected.

    `link` is the same page with the draft, or without it; None before the first version.
    """
    entries = session.unread_entries
    rejected = [each for each in entries if each.state is BlockOutcome.REFUSED]
    resolved = session.resolved
    unsettled = [each for each in rejected if (each.message_id, each.block) not in resolved]
    return {
        "next_version": session.merged.artifact.metadata.version,
        "deltas": session.status.unread,
        "applies": session.status.applies,
        "rejected": [_rejected(each) for each in unsettled[:_MAX_REJECTED]],
        "rejected_count": len(unsettled),
        "link": _other_link(context, session, is_shown=is_shown),
    }


def _rejected(entry: Entry) -> Document:
    errors = [each for each in entry.diagnostics if each.severity is ERROR]
    worst = min(errors, key=worst_first, default=None)
    return {
        "message_id": entry.message_id,
        "block": entry.block,
        "agent": entry.agent,
        "says": describe_block(entry),
        "code": worst.id if worst else None,
        "reason": worst.message if worst else "",
    }


def _other_link(context: RequestContext, session: Session, *, is_shown: bool) -> str | None:
    if not session.history.versions:
        return None
    path, _, _ = context.path.partition("?")
    query = {name: each for name, each in context.query.items() if name not in (PARAMETER, "page")}
    return links.with_query(path, query if is_shown else query | {PARAMETER: _ON})


def sources_after(blame: Blame, item_id: str, version: int) -> list[Source]:
    """Return the sources of the values of an item that were set after a version, each once."""
    changes = blame.get(item_id, {}).values()
    found = (each.source for each in changes if each.source.version > version)
    return list({(each.message_id, each.agent): each for each in found}.values())


def source_documents(sources: list[Source]) -> list[Document]:
    return [{"agent": each.agent, "message_id": each.message_id} for each in sources[:_MAX_SOURCES]]


def unpublished_items(blame: Blame, version: int) -> frozenset[str]:
    """Return the items that have a value which was set after a version."""
    return frozenset(item_id for item_id in blame if sources_after(blame, item_id, version))


def unpublished_outcomes(blame: Blame, item_id: str, version: int) -> frozenset[str]:
    """Return the hypotheses for which the outcome that an item expects was set after a version."""
    fields = OUTCOME_FIELDS.values()
    return frozenset(
        path[1]
        for path, change in blame.get(item_id, {}).items()
        if path[0] in fields and len(path) > 1 and change.source.version > version
    )
