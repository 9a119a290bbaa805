"""What every page of a session shows around its content: head, tabs, rail, card.

It is on every page, so it is made of what the status has already, and of what a session works out
once for each state of its thread.
"""

from collections.abc import Mapping

from brenner.artifact.model import Metadata
from brenner.diagnostics.codes.mail import UNKNOWN_THREAD
from brenner.diagnostics.model import Refused
from brenner.lint.linter import lint
from brenner.protocol.thread_ids import classify_thread_id
from brenner.services.compile import readable_source
from brenner.services.persist import persistence_of
from brenner.services.sessions import read_session_file
from brenner.services.versions import LoadedVersion, Target, load_version
from brenner.session.compiled_message import statistics
from brenner.session.model import SessionStatus
from brenner.session.overview import status_json
from brenner.session.status_text import PHASE_WORDS, since_words, turn_words
from brenner.text import joined, thread_argument
from brenner.web import links
from brenner.web.frame_card import card, contributors
from brenner.web.frame_needs import needs_document
from brenner.web.frame_rail import rail
from brenner.web.page import Document
from brenner.web.reading import Session
from brenner.web.visit import Visit

# Of each list of the status; a session may owe thousands of ACKs
_MOST_LISTED = 50


def session_document(visit: Visit) -> Document:
    """The session of a visit, for `session.html`; it stands under the key `session`.

    One that is only a file in `artifacts/` is shown from there (dual-source rule).
    """
    session = session_of(visit)
    if session is None:
        return _from_file(visit, file_of(visit))
    status, project = session.status, visit.site.desk.project
    return {
        **_bounded(status_json(status, visit.now, project.ack_deadline)),
        "source": "mail",
        "stands": _stands(status),
        "tabs": _tabs(session),
        "rail": session.once(rail),
        "card": _card(session),
        "turns": _turns(status, visit),
        "waits": _waits(status),
        **needs_document(session, visit),
    }


def session_of(visit: Visit) -> Session | None:
    """The session of a visit; None where it has no mail, and a file in `artifacts/`."""
    try:
        return visit.session
    except Refused as refused:
        if refused.diagnostic.code != UNKNOWN_THREAD:
            raise
        if read_session_file(visit.site.desk.project, visit.thread_id) is None:
            raise
    return None


def file_of(visit: Visit) -> LoadedVersion:
    """The version in the file of a session that has no mail."""
    return load_version(visit.site.desk, Target(visit.thread_id, visit.number("version")))


def _bounded(document: dict[str, object]) -> dict[str, object]:
    """The status, with the beginning of each long list; `cut` says how long it is."""
    cut: dict[str, int] = {}

    def short(name: str, value: object) -> object:
        if isinstance(value, dict):
            return {key: short(f"{name}.{key}", each) for key, each in value.items()}
        if isinstance(value, list) and len(value) > _MOST_LISTED:
            cut[name] = len(value)
            return value[:_MOST_LISTED]
        return value

    return {key: short(key, value) for key, value in document.items()} | {"cut": cut}


def _stands(status: SessionStatus) -> str:
    """`round 2, awaiting deltas`, as the first line of `session status` has it."""
    words = PHASE_WORDS[status.phase]
    return f"round {status.round}, {words}" if status.phase else words


def _tabs(session: Session) -> list[Mapping[str, object]]:
    """Each with what there is of it; None where nobody counts."""
    status = session.status
    counts: dict[str, int | None] = {
        "artifact": sum(statistics(session.chain.state.artifact).values()) if status.version else 0,
        "thread": status.position,
        "versions": len(session.chain.versions),
        "agents": len(status.participants),
    }
    return [_tab(session.thread_id, name, counts.get(name)) for name in links.TABS]


def _tab(thread_id: str, name: str, count: int | None) -> Mapping[str, object]:
    tab = "" if name == links.TABS[0] else name
    return {"name": name, "link": links.session(thread_id, tab), "count": count}


def _card(session: Session) -> Mapping[str, object] | None:
    version, report = session.status.version, session.lint
    if version is None or report is None:
        return None
    since = since_words(session.status)
    return {
        **card(session.chain.state.artifact, report),
        "message_id": version.message_id,
        "compiled_at": version.compiled_at,
        "compiled_by": version.compiled_by,
        "status": version.status,
        "contributors": session.once(contributors),
        "conflicts": len(session.chain.state.conflicts),
        "persistence": session.persistence._asdict(),
        "since": list(since) if since else [],
    }


def _turns(status: SessionStatus, visit: Visit) -> list[Mapping[str, object]]:
    """Whose turn it is: those for whom the round waits come first."""
    ordered = sorted(status.participants, key=lambda each: not each.is_awaited)[:_MOST_LISTED]
    return [
        {"name": each.name, "role": each.role, **turn_words(each, status, visit.now)._asdict()}
        for each in ordered
    ]


def _waits(status: SessionStatus) -> str:
    waits = joined(each.name for each in status.awaited)
    return f"The round waits for {waits}" if waits else "The round waits for nobody"


# A session without mail


def _from_file(visit: Visit, loaded: LoadedVersion) -> Document:
    """The same keys, as far as a file can tell."""
    project, thread_id = visit.site.desk.project, visit.thread_id
    artifact, metadata = loaded.artifact, loaded.artifact.metadata
    report = lint(artifact, source=readable_source(project))
    return {
        "thread_id": thread_id,
        "kind": classify_thread_id(thread_id).value,
        "question": artifact.research_thread.text("statement"),
        "round": None,
        "phase": None,
        "attention": [],
        "participants": [],
        "position": 0,
        "first_at": metadata.created_at,
        "last_at": metadata.updated_at or metadata.compiled_at,
        "source": "file",
        "stands": "only in its file",
        "tabs": [_tab(thread_id, "artifact", sum(statistics(artifact).values()))],
        "rail": {"rounds": [], "earlier": None},
        "card": {
            **card(artifact, report),
            "message_id": None,
            **_stamped(metadata),
            "contributors": [
                {"name": name, "deltas": None, "items": None} for name in metadata.contributors
            ],
            "conflicts": 0,
            "persistence": persistence_of(project, thread_id, loaded.text)._asdict(),
            "since": [],
        },
        "turns": [],
        "waits": "",
        "next_step": None if visit.guest_of is not None else _in_a_terminal(thread_id),
    }


def _in_a_terminal(thread_id: str) -> Document:
    words = "read it in a terminal"
    command = f"brenner artifact show {thread_argument(thread_id)}"
    nothing: list[Document] = []
    return {
        "words": words,
        "aim": words,
        "command": command,
        "instead": None,
        "pages": nothing,
        "forms": nothing,
    }


def _stamped(metadata: Metadata) -> dict[str, object]:
    return {
        "compiled_at": metadata.compiled_at,
        "compiled_by": metadata.compiled_by,
        "status": metadata.status,
    }
