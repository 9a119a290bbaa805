"""The genealogy of items across sessions, and the locations of a session in every system.

A session is loaded from the mail, else from its file in `artifacts/`. An archive beside the file
may add who said what. Each session is loaded once, on demand.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from itertools import takewhile
from typing import TYPE_CHECKING, Literal, NamedTuple

from brenner.artifact.merge.draft import SessionItem
from brenner.artifact.model import Artifact, Metadata, item_sort_key
from brenner.artifact.state import State
from brenner.diagnostics.codes.artifacts import NO_SUCH_ITEM, NO_VERSION_YET
from brenner.diagnostics.model import BrennerError, Diagnostic, RequestError
from brenner.mail.open import store_of
from brenner.mail.rules import unknown_thread_error
from brenner.persist.artifact_file import artifact_paths, same_version
from brenner.persist.git import Persistence, persistence_of
from brenner.protocol.roster import Roster, role_of_agent
from brenner.protocol.roster_config import read_roster
from brenner.protocol.thread_ids import CrossReference, cross_reference, is_valid_thread_id
from brenner.services.references import LoadedGraph, SessionIndex, load_graph
from brenner.services.session_files import read_session_file, session_files
from brenner.services.session_status import LoadedStatus, load_status
from brenner.services.sessions import Progress, load_overview
from brenner.services.version_store import load_history, require_thread_id, version_texts
from brenner.services.versions import latest_state, load_archived_mail
from brenner.services.workspace import Workspace
from brenner.session.genealogy import (
    LINEAGE,
    Direction,
    FirstProposal,
    Genealogy,
    ItemInfo,
    ItemStatus,
    SessionInfo,
    describe_item,
    find_first_proposal,
    genealogy,
)
from brenner.session.references import ReferenceGraph, cycle_diagnostic
from brenner.text import closest, did_you_mean

if TYPE_CHECKING:
    from brenner.integrations.programs import Bead
    from brenner.integrations.tmux import TerminalSession


class LocatedSession(NamedTuple):
    """A session and its source. One with mail and no version has no artifact yet.

    `state` is None if it is unknown who set each field.
    """

    artifact: Artifact | None
    state: State | None
    source: Literal["mail", "archive", "file"]


class SessionLookup:
    """Loads sessions and their items on demand; `sessions` gives their files."""

    def __init__(self, workspace: Workspace, sessions: SessionIndex) -> None:
        self._workspace, self._sessions = workspace, sessions
        self._located: dict[str, LocatedSession | None] = {}

    def item(self, node: SessionItem) -> ItemInfo:
        """Describe an item, from the mail, else from the file."""
        located = self.session(node.session)
        if located is None:
            return ItemInfo(node, ItemStatus.UNKNOWN_SESSION)
        if located.artifact is None:
            return ItemInfo(node, ItemStatus.UNKNOWN_ITEM)
        found = describe_item(node, located.artifact, located.state)
        if located.source != "mail":
            return found
        if found.status is ItemStatus.UNKNOWN_ITEM:
            file = self._sessions.file(node.session)
            return describe_item(node, file, None) if file else found
        return self._with_date(found)

    def _with_date(self, found: ItemInfo) -> ItemInfo:
        """Add the time of the message if the state has none, as for the question."""
        proposal = found.proposal
        if proposal is None or proposal.at is not None:
            return found
        with suppress(BrennerError):
            at = self._workspace.mailbox.message(proposal.message_id).at
            return found._replace(proposal=proposal._replace(at=at))
        return found

    def facts(self, session: str) -> SessionInfo:
        """Return a summary of a session."""
        located = self.session(session)
        if located is None:
            return SessionInfo(session)
        row = load_overview(self._workspace, session) if located.source == "mail" else None
        metadata = located.artifact.metadata if located.artifact else None
        question = located.artifact.research_thread.text("statement") if located.artifact else ""
        return SessionInfo(
            session,
            located.source,
            metadata.version if metadata else None,
            metadata.status if metadata else None,
            row.phase.value if row and row.phase else None,
            question or (row.question if row else ""),
        )

    def session(self, name: str) -> LocatedSession | None:
        """Return the session of that ID, from any source."""
        if name not in self._located:
            self._located[name] = self._find(name) if is_valid_thread_id(name) else None
        return self._located[name]

    def _find(self, name: str) -> LocatedSession | None:
        has_mail = self._workspace.mailbox.thread(name, limit=1).position > 0
        if has_mail:
            located = self._in_mail(self._workspace, name)
            if located:
                return located
        artifact = self._sessions.file(name)
        if artifact is None:
            return LocatedSession(None, None, "mail") if has_mail else None
        archived = self._in_archive(name, artifact)
        return archived or LocatedSession(artifact, None, "file")

    def _in_mail(self, workspace: Workspace, name: str) -> LocatedSession | None:
        """Return the latest version; None if there is none."""
        history = load_history(workspace.mailbox, name, workspace.project.operator).history
        if not history.versions:
            return None
        state = latest_state(workspace, history)
        return LocatedSession(state.artifact, state, "mail")

    def _in_archive(self, name: str, artifact: Artifact) -> LocatedSession | None:
        """Return the version in the file, with the state from the archive beside it."""
        with suppress(BrennerError, OSError):
            archive = artifact_paths(self._workspace.project, name).archive
            if archive.is_symlink() or not archive.is_file():
                return None
            mailbox = load_archived_mail(archive)
            located = self._in_mail(self._workspace._replace(mailbox=mailbox), name)
            if located and located.state and _covers(located.state.artifact, artifact):
                return LocatedSession(artifact, located.state, "archive")
        return None


def _covers(archived: Artifact, filed: Artifact) -> bool:
    """Return whether the archive has the version of the file, or a later one."""
    return (archived.metadata.version or 0) >= (filed.metadata.version or 0)


# The genealogy of an item: its origin and its successors, over all sessions of a project
#
# References are loaded for all sessions. Who proposed an item, and its current state, is loaded
# only for the items that are shown.


class GenealogyQuery(NamedTuple):
    """A query: an item or a whole session, the directions, and the depth."""

    thread_id: str
    item: str | None = None
    directions: tuple[Direction, ...] = tuple(Direction)
    depth: int | None = None


class GenealogyResult(NamedTuple):
    """The genealogy; `sessions` loads more about each item and session in it."""

    genealogy: Genealogy
    loaded: LoadedGraph
    sessions: SessionLookup

    @property
    def graph(self) -> ReferenceGraph:
        """Return the graph of all references."""
        return self.loaded.graph

    @property
    def problems(self) -> tuple[Diagnostic, ...]:
        """Return the files that could not be read: their content is missing in the result."""
        return self.loaded.problems

    def look_up(self, progress: Progress) -> None:
        """Load every session of the result now."""
        names = self.genealogy.sessions
        for number, name in enumerate(names, 1):
            self.sessions.session(name)
            progress("Looking up sessions:", number, len(names))

    def firsts(self) -> tuple[FirstProposal, ...]:
        """Return who first proposed the item, or each item of a session that continues another.

        Empty if the query does not follow ancestors.
        """
        if self.genealogy.ancestors is None:
            return ()
        asked = self.genealogy.starts
        if self.genealogy.item is None:
            asked = tuple(node for node in asked if self._carries_on(node))
        return tuple(find_first_proposal(self.graph, node, self.sessions.item) for node in asked)

    def _carries_on(self, node: SessionItem) -> bool:
        return any(edge.relation in LINEAGE for edge in self.graph.out_of(node))

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return the broken references and cycles in the result, and unreadable files."""
        return (
            *(found for _edge, found in self.loaded.broken_edges(self.genealogy.edges)),
            *(cycle_diagnostic(way, self.graph.killed_on(way)) for way in self.genealogy.circles),
            *self.problems,
        )


def trace_genealogy(
    workspace: Workspace, query: GenealogyQuery, progress: Progress
) -> GenealogyResult:
    """Return the genealogy of an item or a session. Raise if it is unknown."""
    require_thread_id(query.thread_id)
    loaded = load_graph(workspace, progress)
    graph = loaded.graph
    _check_session(workspace, query.thread_id, graph)
    if query.item is not None:
        _check_item(SessionItem(query.thread_id, query.item), graph)
    found = genealogy(graph, query.thread_id, query.item, query.directions, query.depth)
    if not found.edges:  # a session without a version may still be referred to
        _items(query.thread_id, graph)
    return GenealogyResult(found, loaded, SessionLookup(workspace, loaded.sessions))


def _check_session(workspace: Workspace, thread_id: str, graph: ReferenceGraph) -> None:
    if thread_id in graph.sessions or workspace.mailbox.thread(thread_id, limit=1).position:
        return
    # Only a limited number of names is compared: put those with the same start first
    likely = sorted(graph.sessions, key=lambda name: -_common_prefix_length(name, thread_id))
    raise unknown_thread_error(thread_id, likely)


def _common_prefix_length(name: str, wanted: str) -> int:
    """Return the length of the common prefix."""
    pairs = zip(name, wanted, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _check_item(node: SessionItem, graph: ReferenceGraph) -> None:
    if graph.has(node):
        return
    near = did_you_mean(closest(node.item, _items(node.session, graph)))
    raise RequestError(
        NO_SUCH_ITEM.at(name=node.session, item=node.item, or_field="", suggestion=near)
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


class MailThread(NamedTuple):
    """The thread in the mailbox; `version` is the latest one, `message_id` its message."""

    store: str
    messages: int
    first_at: datetime
    last_at: datetime
    version: int | None
    message_id: int | None


class ArtifactFile(NamedTuple):
    """The artifact's file, which may be missing.

    `persistence` is that of the latest version in the mail; without one, that of the file.
    `is_edited` if the file differs from its published version. `problem` is why the file cannot be
    read as this session's.
    """

    path: str
    is_there: bool
    metadata: Metadata
    persistence: Persistence | None
    is_edited: bool
    problem: Diagnostic | None
    archive: str | None


class SessionLocations(NamedTuple):
    """A session in every system; `roster` is the role of each agent, in order."""

    names: CrossReference
    mail: MailThread | None
    file: ArtifactFile
    terminal: "TerminalSession | None"
    bead: "Bead | None"
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
    return SessionLocations(
        cross_reference(thread_id),
        _mail_thread(workspace, loaded) if loaded else None,
        _artifact_file(workspace, thread_id, read, loaded),
        find_terminal(thread_id),
        find_bead(thread_id, workspace.project.folder),
        _roster(loaded, metadata),
    )


def _known_sessions(workspace: Workspace) -> dict[str, None]:
    """Return all known IDs, each once: a duplicate would make a suggestion ambiguous."""
    files = session_files(workspace.project)
    known = dict.fromkeys(thread.thread_id for thread in workspace.mailbox.threads())
    return known if isinstance(files, Diagnostic) else known | dict.fromkeys(files)


def _mail_thread(workspace: Workspace, loaded: LoadedStatus) -> MailThread:
    status = loaded.status
    return MailThread(
        store_of(workspace.project).shown,
        status.position,
        status.first_at,
        status.last_at,
        status.version.number if status.version else None,
        status.version.message_id if status.version else None,
    )


def _artifact_file(
    workspace: Workspace,
    thread_id: str,
    read: Artifact | Diagnostic | None,
    loaded: LoadedStatus | None,
) -> ArtifactFile:
    metadata = read.metadata if isinstance(read, Artifact) else Metadata()
    written = _file_text(workspace, thread_id) if isinstance(read, Artifact) else None
    text_of = _version_texts(workspace, loaded)
    latest = text_of(loaded.history.number) if loaded else None
    text = written if latest is None else latest
    return ArtifactFile(
        cross_reference(thread_id).artifact_path,
        read is not None,
        metadata,
        persistence_of(workspace.project, thread_id, text) if text is not None else None,
        _is_edited(written, text_of(metadata.version or 0)),
        read if isinstance(read, Diagnostic) else None,
        _archive_name(workspace, thread_id),
    )


def _is_edited(written: str | None, published: str | None) -> bool:
    """Return whether the texts differ; False if either is unknown."""
    if written is None or published is None:
        return False
    return not same_version(written, published)


def _version_texts(
    workspace: Workspace, loaded: LoadedStatus | None
) -> Callable[[int], str | None]:
    if loaded is None:
        return lambda _: None
    return version_texts(workspace.mailbox, loaded.history, workspace.project.operator)


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
