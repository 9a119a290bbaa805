"""The genealogy of items across sessions, and the locations of a session in every system.

A session is loaded from the mail, else from its file in `artifacts/`. An archive beside the file
may add who said what. Each session is loaded once, on demand.
"""

from __future__ import annotations

import os
from contextlib import suppress
from posixpath import commonprefix
from typing import TYPE_CHECKING

from brenner.artifact.merge.draft import SessionItem
from brenner.artifact.model import Artifact, Metadata, item_sort_key
from brenner.artifact.state import State
from brenner.diagnostics.codes.artifacts import NO_SUCH_ITEM, NO_VERSION_YET
from brenner.diagnostics.model import BrennerError, Diagnostic, RequestError
from brenner.mail.open import store_of
from brenner.mail.rules import unknown_thread_error
from brenner.named_tuple import NamedTuple
from brenner.persist.artifact_file import artifact_paths, same_version
from brenner.persist.git import Persistence, persistence_of
from brenner.protocol.delta.schema import list_items
from brenner.protocol.roster import Roster, role_of_agent
from brenner.protocol.roster_config import read_roster
from brenner.protocol.thread_ids import CrossReference, cross_reference, is_valid_thread_id
from brenner.services.references import SessionIndex, broken_edges, load_graph
from brenner.services.session_files import read_session_file, session_files
from brenner.services.session_status import LoadedStatus, load_status
from brenner.services.sessions import Progress, load_overview, no_progress
from brenner.services.version_store import load_history, require_thread_id, version_texts
from brenner.services.versions import latest_state, load_archived_mail
from brenner.session.genealogy import (
    Direction,
    Genealogy,
    ItemInfo,
    SessionInfo,
    describe_item,
    genealogy,
)
from brenner.session.references import ItemStatus, ReferenceGraph, cycle_diagnostic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brenner.integrations.programs import Bead
    from brenner.integrations.tmux import TerminalSession
    from brenner.services.workspace import Workspace
    from brenner.session.model import SessionStatus


# The artifact and the state of a session, and their source. A session with mail and no version has
# no artifact yet. The state is None if it is unknown who set each field.
_Located = tuple[Artifact | None, State | None, str]


class SessionLookup:
    """Loads sessions and their items on demand; `index` gives their files."""

    def __init__(self, workspace: Workspace, index: SessionIndex) -> None:
        self._workspace, self.index = workspace, index
        self._located: dict[str, _Located | None] = {}

    def item(self, node: SessionItem) -> ItemInfo:
        """Describe an item, from the mail, else from the file."""
        located = self._session(node.session)
        if located is None:
            return ItemInfo(node, ItemStatus.UNKNOWN_SESSION)
        artifact, state, source = located
        if artifact is None:
            return ItemInfo(node, ItemStatus.UNKNOWN_ITEM)
        found = describe_item(node, artifact, state)
        if source == "mail" and found.status is ItemStatus.UNKNOWN_ITEM:
            file = self.index.file(node.session)
            return describe_item(node, file, None) if file else found
        proposal = found.proposal
        if source == "mail" and proposal and found.proposed_at is None:  # as of the question
            with suppress(BrennerError):
                at = self._workspace.mailbox.message(proposal.message_id).at
                return found._replace(proposed_at=at)
        return found

    def facts(self, session: str) -> SessionInfo:
        """Return a summary of a session."""
        located = self._session(session)
        if located is None:
            return SessionInfo(session)
        artifact, _, source = located
        row = load_overview(self._workspace, session) if source == "mail" else None
        metadata = artifact.metadata if artifact else None
        question = artifact.research_thread.text("statement") if artifact else ""
        return SessionInfo(
            session,
            source,
            metadata.version if metadata else None,
            metadata.status if metadata else None,
            row.phase.value if row and row.phase else None,
            question or (row.question if row else ""),
        )

    def load(self, names: Sequence[str], progress: Progress) -> None:
        """Load these sessions now."""
        for number, name in enumerate(names, 1):
            self._session(name)
            progress("Looking up sessions:", number, len(names))

    def _session(self, name: str) -> _Located | None:
        if name not in self._located:
            self._located[name] = self._find(name) if is_valid_thread_id(name) else None
        return self._located[name]

    def _find(self, name: str) -> _Located | None:
        has_mail = self._workspace.mailbox.thread(name, limit=1).position > 0
        state = self._state(self._workspace, name) if has_mail else None
        if state:
            return state.artifact, state, "mail"
        artifact = self.index.file(name)
        if artifact is None:
            return (None, None, "mail") if has_mail else None
        state = self._archived_state(name, artifact)
        return artifact, state, "archive" if state else "file"

    def _state(self, workspace: Workspace, name: str) -> State | None:
        """Return the state of the latest version; None if there is none."""
        history = load_history(workspace.mailbox, name, workspace.project.operator)
        return latest_state(workspace, history) if history.versions else None

    def _archived_state(self, name: str, artifact: Artifact) -> State | None:
        """Return the state from the archive beside a file, unless its version is earlier."""
        with suppress(BrennerError, OSError):
            archive = artifact_paths(self._workspace.project, name).archive
            if archive.is_symlink() or not archive.is_file():
                return None
            mailbox = load_archived_mail(archive)
            state = self._state(self._workspace._replace(mailbox=mailbox), name)
            number = state.artifact.metadata.version if state else None
            if state and (number or 0) >= (artifact.metadata.version or 0):
                return state
        return None


# The genealogy of an item: its origin and its successors, over all sessions of a project
#
# References are loaded for all sessions. Who proposed an item, and its current state, is loaded
# only for the items that are shown.


def trace_genealogy(
    workspace: Workspace,
    target: tuple[str, str | None],
    directions: Sequence[Direction] = tuple(Direction),
    depth: int | None = None,
    progress: Progress = no_progress,
) -> tuple[Genealogy, SessionLookup]:
    """Return a genealogy, and a lookup of the items and sessions in it.

    The target is a session and an item, or None for the whole session. Raise if it is unknown.
    """
    thread_id, item = target
    require_thread_id(thread_id)
    graph, sessions = load_graph(workspace, progress)
    has_mail = workspace.mailbox.thread(thread_id, limit=1).position > 0
    if thread_id not in graph.sessions and not has_mail:
        # Only a limited number of names is compared: put those with the same start first
        likely = sorted(graph.sessions, key=lambda name: -len(commonprefix([name, thread_id])))
        raise unknown_thread_error(thread_id, likely)
    if item is not None and not graph.has(SessionItem(thread_id, item)):
        alike = [each for each in _items(thread_id, graph) if each[:1] == item[:1].upper()]
        known = list_items(item[:1].upper(), alike, "there")
        raise RequestError(
            NO_SUCH_ITEM.at(name=thread_id, item=item, or_field="", suggestion="", known=known)
        )
    found = genealogy(graph, thread_id, item, directions, depth)
    if not found.edges:  # a session without a version may still be referred to
        _items(thread_id, graph)
    return found, SessionLookup(workspace, sessions)


def genealogy_diagnostics(found: Genealogy, sessions: SessionIndex) -> tuple[Diagnostic, ...]:
    """Return the broken references and cycles of a genealogy, and unreadable files."""
    return (
        *(each for _edge, each in broken_edges(found.graph, sessions, found.edges)),
        *(cycle_diagnostic(way, found.graph.killed_on(way)) for way in found.circles),
        *sessions.problems,
    )


def _items(thread_id: str, graph: ReferenceGraph) -> list[str]:
    """Return the items of a session. Raise if it has no version yet."""
    known = graph.sessions.get(thread_id)
    if known is None or not known.items:
        path = cross_reference(thread_id).artifact_path
        raise RequestError(NO_VERSION_YET.at(thread_id=thread_id, path=path))
    return sorted(known.items, key=item_sort_key)


# The locations of a session: the Cross-Reference Contract, looked up in every system
#
# A session may have mail and no file, or a file and no mail. Missing parts are reported as missing;
# only a thread with neither is an error.

# In a folder without access os.path returns False, but pathlib raises.
# ruff: noqa: PTH113


class SessionLocations(NamedTuple):
    """A session in every system; `roster` is the role of each agent, in order.

    `status` is that of the thread in the `store`, if there is one. `metadata` is that of the
    artifact's file, which may be missing. `problem` is why the file cannot be read as this
    session's. `is_edited` if it differs from its published version. `persistence` is that of the
    latest version in the mail; without one, that of the file.
    """

    names: CrossReference
    store: str
    status: SessionStatus | None
    has_file: bool
    metadata: Metadata
    problem: Diagnostic | None
    is_edited: bool
    persistence: Persistence | None
    archive: str | None
    terminal: TerminalSession | None
    bead: Bead | None
    roster: tuple[tuple[str, str | None], ...]


def locate_session(workspace: Workspace, thread_id: str) -> SessionLocations:
    """Return where a session is. Raise if it is nowhere, and suggest similar names."""
    from brenner.integrations.programs import find_bead
    from brenner.integrations.tmux import find_terminal

    require_thread_id(thread_id)
    has_mail = workspace.mailbox.thread(thread_id, limit=1).position > 0
    loaded = load_status(workspace, thread_id) if has_mail else None
    read = read_session_file(workspace.project, thread_id)
    if loaded is None and read is None:
        raise unknown_thread_error(thread_id, _known_sessions(workspace))
    metadata = read.metadata if isinstance(read, Artifact) else Metadata()
    version = (metadata.version or 0) if isinstance(read, Artifact) else None
    is_edited, persistence = _file_state(workspace, thread_id, version, loaded)
    return SessionLocations(
        cross_reference(thread_id),
        store_of(workspace.project).shown,
        loaded.status if loaded else None,
        has_file=read is not None,
        metadata=metadata,
        problem=read if isinstance(read, Diagnostic) else None,
        is_edited=is_edited,
        persistence=persistence,
        archive=_archive_name(workspace, thread_id),
        terminal=find_terminal(thread_id),
        bead=find_bead(thread_id, workspace.project.folder),
        roster=_roster(loaded, metadata),
    )


def _known_sessions(workspace: Workspace) -> dict[str, None]:
    """Return all known IDs, each once: a duplicate would make a suggestion ambiguous."""
    files = session_files(workspace.project)
    known = dict.fromkeys(thread.thread_id for thread in workspace.mailbox.threads())
    return known if isinstance(files, Diagnostic) else known | dict.fromkeys(files)


def _file_state(
    workspace: Workspace, thread_id: str, version: int | None, loaded: LoadedStatus | None
) -> tuple[bool, Persistence | None]:
    """Return whether the file is edited, and the persistence of the latest version.

    `version` is that of the file; None if it cannot be read.
    """
    written = _file_text(workspace, thread_id) if version is not None else None
    published = latest = None
    if loaded:
        text_of = version_texts(workspace.mailbox, loaded.history, workspace.project.operator)
        published, latest = text_of(version or 0), text_of(loaded.history.number)
    is_edited = (
        written is not None and published is not None and not same_version(written, published)
    )
    text = written if latest is None else latest
    project = workspace.project
    return is_edited, persistence_of(project, thread_id, text) if text is not None else None


def _file_text(workspace: Workspace, thread_id: str) -> str | None:
    """Return the text of a file that was just read, or None."""
    try:
        return artifact_paths(workspace.project, thread_id).file.read_text("utf-8")
    except (BrennerError, OSError, UnicodeDecodeError):
        return None


def _archive_name(workspace: Workspace, thread_id: str) -> str | None:
    """Return the name of the archive beside the artifact, if it exists."""
    try:
        place = artifact_paths(workspace.project, thread_id)
    except BrennerError:
        return None
    return place.archive_name if os.path.isfile(place.archive) else None


def _roster(loaded: LoadedStatus | None, metadata: Metadata) -> tuple[tuple[str, str | None], ...]:
    """Return the roster of the thread; without mail, that of the front matter."""
    if loaded:
        people = loaded.status.participants
        return tuple((each.name, each.role) for each in people if each.is_in_roster)
    found = read_roster(dict(metadata.roster), "the front matter") if metadata.roster else None
    roster = found if isinstance(found, Roster) else None
    return tuple(
        (name, role_of_agent(roster, name) if roster else None) for name in metadata.agents
    )
