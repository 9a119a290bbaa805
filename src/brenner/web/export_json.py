"""A whole session as one JSON document, of the forms that the command line prints."""

from brenner.artifact.serialize import artifact_json
from brenner.artifact.state import ledger_json
from brenner.mail.model import Stored, stored_json
from brenner.protocol.messages import iso
from brenner.services.versions import history_json
from brenner.session.overview import status_json
from brenner.web import links
from brenner.web.reading import Session
from brenner.web.visit import Visit

FORMAT = 1
_MOST_BODIES = 64 * 2**20  # characters of all bodies together; beyond, each has its address alone


def session_export(visit: Visit) -> dict[str, object]:
    """Status, artifact, versions, ledger and messages. Keys are only ever added."""
    session = visit.session
    deadline = visit.site.desk.project.ack_deadline
    size = sum(len(each.message.body) for each in session.stored)
    has_bodies = size <= _MOST_BODIES
    return {
        "format": FORMAT,
        "thread_id": session.thread_id,
        "exported_at": iso(visit.now),
        "status": status_json(session.status, visit.now, deadline),
        "artifact": _artifact(session),
        "history": history_json(session.history),
        "ledger": [
            {"version": number, **ledger_json(each.entries)}
            for number, each in sorted(session.ledgers.items())
        ],
        "has_bodies": has_bodies,
        "messages": [_message(each, has_bodies=has_bodies) for each in session.stored],
    }


def _artifact(session: Session) -> dict[str, object] | None:
    """The latest version with its conflicts and what the linter says; None before the first."""
    latest, report = session.latest, session.lint
    if latest is None or report is None:
        return None
    conflicts = latest.state.conflicts if latest.state else ()
    return {
        "version": latest.number,
        "message_id": latest.message.id if latest.message else None,
        **artifact_json(latest.artifact),
        "conflicts": [conflict.to_json() for conflict in conflicts],
        "lint": report.to_json(),
    }


def _message(stored: Stored, *, has_bodies: bool) -> dict[str, object]:
    document = stored_json(stored) | {"raw": links.message(stored.id, "raw")}
    return document if has_bodies else document | {"body": None}
