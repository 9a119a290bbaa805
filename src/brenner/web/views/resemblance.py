"""The killed hypotheses that a hypothesis resembles (R30), for its page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.artifact.merge.draft import SessionItem
from brenner.protocol.delta.schema import HYPOTHESIS_SLATE
from brenner.session.killed_hypotheses import (
    KilledIndex,
    Resemblance,
    hypothesis_text,
    killed_in_overview,
)
from brenner.text import cut
from brenner.web import links

if TYPE_CHECKING:
    from brenner.artifact.model import Item
    from brenner.protocol.delta.schema import Section
    from brenner.web.request import Document, RequestContext

_MAX_SHOWN, _MAX_WORDS, _MAX_TITLE = 5, 8, 300


def resembling_killed(context: RequestContext, section: Section, item: Item) -> list[Document]:
    """Return the killed hypotheses that are close to a hypothesis, without itself.

    They are compared by words, in the sessions that the reader may see.
    """
    if section is not HYPOTHESIS_SLATE:
        return []
    own = SessionItem(context.thread_id, item.id)
    killed = [
        each
        for row in context.site.reading.listing().sessions.values()
        if context.may_see(row.thread_id)
        for each in killed_in_overview(row)
        if each.item != own
    ]
    if not killed:
        return []
    found = KilledIndex(killed).resembling(hypothesis_text(item))
    answered = {SessionItem(each.session, each.item) for each in item.references}
    return [
        _document(each, is_referenced=each.hypothesis.item in answered)
        for each in found
        if each.is_close
    ][:_MAX_SHOWN]


def _document(found: Resemblance, *, is_referenced: bool) -> Document:
    session, item = found.hypothesis.item
    return {
        "session": session,
        "item": item,
        "title": cut(found.hypothesis.title, _MAX_TITLE),
        "killed": found.hypothesis.killed._asdict(),
        "words": list(found.words[:_MAX_WORDS]),
        "link": links.item(session, item),
        "is_referenced": is_referenced,
    }
