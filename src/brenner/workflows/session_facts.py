"""What is known of the items of sessions: who proposed them and what became of them.

A session is looked up in the mail, else by its file in `artifacts/`; of one that only a file tells
of, the archive beside the file may know who said what. Each is loaded once, when it is asked for.
"""

from contextlib import suppress
from typing import Literal, NamedTuple

from brenner.artifact.merge.draft import Node
from brenner.artifact.model import Artifact
from brenner.artifact.state import State
from brenner.diagnostics.model import BrennerError
from brenner.persist.artifact_file import place_of
from brenner.protocol.thread_ids import is_valid
from brenner.session.genealogy import Described, Fate, SessionFacts, described
from brenner.workflows.chains import load_chain
from brenner.workflows.desk import Desk
from brenner.workflows.known_sessions import Sessions
from brenner.workflows.sessions import one_overview
from brenner.workflows.versions import latest_state, mail_in


class Held(NamedTuple):
    """A session as it was found. One with mail and no version has no artifact yet.

    `state` is None where nobody knows who set what.
    """

    artifact: Artifact | None
    state: State | None
    source: Literal["mail", "archive", "file"]


class SessionLookup:
    """What is known of sessions and their items; `sessions` knows their files."""

    def __init__(self, desk: Desk, sessions: Sessions) -> None:
        self._desk, self._sessions = desk, sessions
        self._held: dict[str, Held | None] = {}

    def item(self, node: Node) -> Described:
        """An item. Where the mail lacks it, the file may have it."""
        held = self.session(node.session)
        if held is None:
            return Described(node, Fate.UNKNOWN_SESSION)
        if held.artifact is None:
            return Described(node, Fate.UNKNOWN_ITEM)
        found = described(node, held.artifact, held.state)
        if held.source != "mail":
            return found
        if found.fate is Fate.UNKNOWN_ITEM:
            file = self._sessions.file(node.session)
            return described(node, file, None) if file else found
        return self._dated(found)

    def _dated(self, found: Described) -> Described:
        """With the time of its message where the state has none: so with the question."""
        proposal = found.proposal
        if proposal is None or proposal.at is not None:
            return found
        with suppress(BrennerError):
            at = self._desk.mailbox.message(proposal.message_id).at
            return found._replace(proposal=proposal._replace(at=at))
        return found

    def facts(self, session: str) -> SessionFacts:
        """A session in a few words."""
        held = self.session(session)
        if held is None:
            return SessionFacts(session)
        row = one_overview(self._desk, session) if held.source == "mail" else None
        metadata = held.artifact.metadata if held.artifact else None
        question = held.artifact.research_thread.text("statement") if held.artifact else ""
        return SessionFacts(
            session,
            held.source,
            metadata.version if metadata else None,
            metadata.status if metadata else None,
            row.phase.value if row and row.phase else None,
            question or (row.question if row else ""),
        )

    def session(self, name: str) -> Held | None:
        """The session of that ID, wherever it is."""
        if name not in self._held:
            self._held[name] = self._find(name) if is_valid(name) else None
        return self._held[name]

    def _find(self, name: str) -> Held | None:
        has_mail = self._desk.mailbox.thread(name, limit=1).position > 0
        if has_mail:
            held = self._in_mail(self._desk, name)
            if held:
                return held
        artifact = self._sessions.file(name)
        if artifact is None:
            return Held(None, None, "mail") if has_mail else None
        archived = self._in_archive(name, artifact)
        return archived or Held(artifact, None, "file")

    def _in_mail(self, desk: Desk, name: str) -> Held | None:
        """The latest version; None where there is none."""
        chain = load_chain(desk.mailbox, name, desk.project.operator).chain
        if not chain.versions:
            return None
        state = latest_state(desk, chain)
        return Held(state.artifact, state, "mail")

    def _in_archive(self, name: str, artifact: Artifact) -> Held | None:
        """The version in the file, with what the archive beside it knows of that version."""
        with suppress(BrennerError, OSError):
            archive = place_of(self._desk.project, name).archive
            if archive.is_symlink() or not archive.is_file():
                return None
            mailbox = mail_in(archive)
            held = self._in_mail(self._desk._replace(mailbox=mailbox), name)
            if held and held.state and _is_of(held.state.artifact, artifact):
                return Held(artifact, held.state, "archive")
        return None


def _is_of(archived: Artifact, filed: Artifact) -> bool:
    """Whether the archive goes as far as the file."""
    return (archived.metadata.version or 0) >= (filed.metadata.version or 0)
