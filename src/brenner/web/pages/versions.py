"""The page of a session's versions: the history, what else calls itself one, and verifying."""

from typing import cast

from brenner.artifact.state import counts
from brenner.services.versions import (
    ListedVersion,
    history_json,
    verification_json,
    verification_words,
    verify,
)
from brenner.web import links, looks
from brenner.web.comparing import before, look_document, numbers_of
from brenner.web.frame import session_document
from brenner.web.page import Answer, Page, Redirect
from brenner.web.paging import in_session, part, part_json
from brenner.web.reading import Session
from brenner.web.visit import Visit

_MOST = 100
_MOST_CHOICES = 300  # versions that one chooses from a list; more are typed


def page(visit: Visit) -> Answer:
    """Every version, the latest first."""
    session = visit.session
    if looks.SEEN in visit.asked:
        cookie = looks.settled(visit)
        there = links.session(session.thread_id, "versions")
        return Redirect(there, (cookie,) if cookie else ())
    is_verified = visit.asked.get("verify") == "1"
    document = {
        "session": session_document(visit),
        **history_document(visit),
        "look": look_document(visit),
        "choices": choices(session),
        "compared": [before(session, session.chain.number), session.chain.number],
        "verified": _verified(session) if is_verified else None,
    }
    return Page("pages/versions.html", "Versions", document, is_live=not is_verified)


def choices(session: Session) -> list[int]:
    """The versions to choose from; none where they are too many for a list."""
    known = [0, *numbers_of(session)]
    return known if len(known) <= _MOST_CHOICES else []


def history_document(visit: Visit) -> dict[str, object]:
    """The history a part at a time, the latest version first."""
    session, history = visit.session, visit.session.history
    found = part(visit, len(history.versions), _MOST)
    shown = tuple(found.of(history.versions[::-1]))
    document = history_json(history._replace(versions=shown))
    listed = cast("list[dict[str, object]]", document["versions"])
    told = [each | _beside(session, version) for each, version in zip(listed, shown, strict=True)]
    where = part_json(found, in_session(session.thread_id, "versions", {}))
    return document | {"versions": told, "part": where, "next": where["next"]}


def _beside(session: Session, version: ListedVersion) -> dict[str, object]:
    """What the history does not know of a version: its blocks, and what the linter says."""
    ledger = session.ledgers.get(version.number)
    latest = session.status.version
    is_latest = version.number == session.chain.number
    known = latest if is_latest else None
    return {
        "latest": is_latest,
        "before": before(session, version.number),
        "blocks": counts(ledger.entries) if ledger else None,
        "lint": {"errors": known.errors, "warnings": known.warnings} if known else None,
    }


def _verified(session: Session) -> dict[str, object]:
    """Every version rebuilt from the mail alone."""
    found = verify(session.desk, session.thread_id)
    words = "There is no version yet."
    if found.versions:
        words = verification_words(found.versions, found.altered)
    return verification_json(found, found.versions) | {"sentence": words}
