"""What a report has of its own: the first page, the versions with what changed, the thread."""

from collections.abc import Sequence
from itertools import islice
from typing import cast

from brenner.protocol.messages import iso
from brenner.services.versions import history_json
from brenner.web.comparing import before, side
from brenner.web.frame import session_document
from brenner.web.pages.diff_items import items_document
from brenner.web.reading import Session
from brenner.web.visit import Visit

_MOST_COMPARED = 30  # versions of which every change is shown; of older ones the sentence
_MOST_MESSAGES = 5_000


def overview_document(visit: Visit, chapters: Sequence[tuple[str, str]]) -> dict[str, object]:
    """Which session, where it stands, and what follows."""
    return {
        "session": session_document(visit),
        "thread_id": visit.thread_id,
        "project": visit.site.about.name,
        "exported_at": iso(visit.now),
        "chapters": [{"id": anchor, "title": title} for anchor, title in chapters],
    }


def versions_document(visit: Visit) -> dict[str, object]:
    """The history, the latest first, with what each version changed."""
    session = visit.session
    document = history_json(session.history)
    listed = cast("list[dict[str, object]]", document["versions"])[::-1]
    told = [
        each | {"changed": _changed(visit, session, cast("int", each["version"]))}
        if place < _MOST_COMPARED
        else each | {"changed": None}
        for place, each in enumerate(listed)
    ]
    return document | {"versions": told}


def _changed(visit: Visit, session: Session, number: int) -> dict[str, object]:
    """What a version changed, as its page says it."""
    old = before(session, number)
    found = items_document(visit, side(session, old), side(session, number))
    wanted = ("sentence", "items", "part", "same")
    return {"before": old, **{key: found[key] for key in wanted}}


def thread_document(visit: Visit) -> dict[str, object]:
    """Every message in one line, in the order of the thread."""
    session = visit.session
    return {
        "thread_id": session.thread_id,
        "total": len(session.stored),
        "messages": [
            {
                "id": each.id,
                "at": iso(each.at),
                "type": each.type,
                "from": each.message.sender,
                "to": list(each.message.recipients),
                "subject": each.message.subject,
                "trust": each.envelope.trust,
            }
            for each in islice(session.stored, _MOST_MESSAGES)
        ],
    }
