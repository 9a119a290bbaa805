"""What is known of the items of sessions: who proposed them and what became of them.

A session is looked up in the mail, else by its file in `artifacts/`; of one that only a file tells
of, the archive beside the file may know who said what. Each is loaded once, when it is asked for.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from itertools import takewhile
from typing import TYPE_CHECKING, Literal, NamedTuple

from brenner.artifact.merge.draft import Node
from brenner.artifact.model import Artifact, Metadata, order_of
from brenner.artifact.state import State
from brenner.diagnostics.codes.artifacts import NO_SUCH_ITEM, NO_VERSION_YET
from brenner.diagnostics.model import BrennerError, Diagnostic, RequestError
from brenner.mail.open import store_of
from brenner.mail.rules import unknown_thread
from brenner.persist.artifact_file import place_of, same_version
from brenner.persist.git import Persistence, persistence_of
from brenner.protocol.roster import Roster, role_in
from brenner.protocol.roster_config import read_roster
from brenner.protocol.thread_ids import CrossReference, cross_reference, is_valid
from brenner.services.references import LoadedGraph, Sessions, load_graph
from brenner.services.sessions import Followed as CrossReferencesFollowed
from brenner.services.sessions import (
    Progress,
    load_status,
    one_overview,
    read_session_file,
    session_files,
)
from brenner.services.version_store import check_usable, load_history, version_texts
from brenner.services.versions import latest_state, mail_in
from brenner.services.workspace import Workspace
from brenner.session.genealogy import (
    LINEAGE,
    Described,
    Direction,
    Fate,
    FirstProposed,
    Genealogy,
    SessionFacts,
    described,
    first_proposed,
    genealogy,
)
from brenner.session.references import ReferenceGraph, circle
from brenner.text import closest, did_you_mean

if TYPE_CHECKING:
    from brenner.integrations.programs import Bead
    from brenner.integrations.tmux import Terminal


class Held(NamedTuple):
    """A session as it was found. One with mail and no version has no artifact yet.

    `state` is None where nobody knows who set what.
    """

    artifact: Artifact | None
    state: State | None
    source: Literal["mail", "archive", "file"]


class SessionLookup:
    """What is known of sessions and their items; `sessions` knows their files."""

    def __init__(self, workspace: Workspace, sessions: Sessions) -> None:
        self._desk, self._sessions = workspace, sessions
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

    def _in_mail(self, workspace: Workspace, name: str) -> Held | None:
        """The latest version; None where there is none."""
        history = load_history(workspace.mailbox, name, workspace.project.operator).history
        if not history.versions:
            return None
        state = latest_state(workspace, history)
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


# Where an item of a session comes from and what came of it, over all sessions of a project.
#
# Who refers to what is known of all of them. Who proposed an item, and what became of it, is looked
# up only for the items that somebody is shown.


class Asked(NamedTuple):
    """What is asked for: of an item, or of a whole session; which way, and how far."""

    thread_id: str
    item: str | None = None
    directions: tuple[Direction, ...] = tuple(Direction)
    depth: int | None = None


class Followed(NamedTuple):
    """The answer; `sessions` tells more of each item and session in it."""

    genealogy: Genealogy
    loaded: LoadedGraph
    sessions: SessionLookup

    @property
    def graph(self) -> ReferenceGraph:
        """Everything that is known."""
        return self.loaded.graph

    @property
    def problems(self) -> tuple[Diagnostic, ...]:
        """The files that could not be read: what they hold is missing in the answer."""
        return self.loaded.problems

    def look_up(self, progress: Progress) -> None:
        """Look up every session of the answer now."""
        names = self.genealogy.sessions
        for number, name in enumerate(names, 1):
            self.sessions.session(name)
            progress("Looking up sessions:", number, len(names))

    def firsts(self) -> tuple[FirstProposed, ...]:
        """Who first proposed the item; of a session each item that carries another one on.

        Only who follows ancestors is told.
        """
        if self.genealogy.ancestors is None:
            return ()
        asked = self.genealogy.starts
        if self.genealogy.item is None:
            asked = tuple(node for node in asked if self._carries_on(node))
        return tuple(first_proposed(self.graph, node, self.sessions.item) for node in asked)

    def _carries_on(self, node: Node) -> bool:
        return any(edge.relation in LINEAGE for edge in self.graph.out_of(node))

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """References of the answer that lead nowhere or in a circle; files that cannot be read."""
        return (
            *(found for _edge, found in self.loaded.nowhere(self.genealogy.edges)),
            *(circle(way, self.graph.killed_on(way)) for way in self.genealogy.circles),
            *self.problems,
        )


def follow(workspace: Workspace, asked: Asked, progress: Progress) -> Followed:
    """The genealogy of an item or a session; an unknown one is refused."""
    check_usable(asked.thread_id)
    loaded = load_graph(workspace, progress)
    graph = loaded.graph
    _check_session(workspace, asked.thread_id, graph)
    if asked.item is not None:
        _check_item(Node(asked.thread_id, asked.item), graph)
    found = genealogy(graph, asked.thread_id, asked.item, asked.directions, asked.depth)
    if not found.edges:  # what has no version may be referred to all the same
        _items(asked.thread_id, graph)
    return Followed(found, loaded, SessionLookup(workspace, loaded.sessions))


def _check_session(workspace: Workspace, thread_id: str, graph: ReferenceGraph) -> None:
    if thread_id in graph.sessions or workspace.mailbox.thread(thread_id, limit=1).position:
        return
    # Only so many names are compared with the one that was asked for: those that begin like it
    likely = sorted(graph.sessions, key=lambda name: -_alike(name, thread_id))
    raise unknown_thread(thread_id, likely)


def _alike(name: str, wanted: str) -> int:
    """How many letters the two have in common from the start."""
    pairs = zip(name, wanted, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _check_item(node: Node, graph: ReferenceGraph) -> None:
    if graph.has(node):
        return
    near = did_you_mean(closest(node.item, _items(node.session, graph)))
    raise RequestError(
        NO_SUCH_ITEM.at(name=node.session, item=node.item, or_field="", suggestion=near)
    )


def _items(thread_id: str, graph: ReferenceGraph) -> list[str]:
    """The items of a session; one that has no version yet is refused."""
    known = graph.sessions.get(thread_id)
    if known is None or not known.items:
        path = cross_reference(thread_id).artifact_path
        raise RequestError(NO_VERSION_YET.at(thread_id=thread_id, path=path))
    return sorted(known.items, key=order_of)


# Where everything of a session is: the Cross-Reference Contract, looked up in every system.
#
# A session may be mail without a file, or a file whose mail is elsewhere. What is not there is said
# to be not there; only a thread that neither mail nor a file knows is refused.


# Where one may not look, os.path says no and pathlib raises.
# ruff: noqa: PTH113


class MailThread(NamedTuple):
    """The thread in the mailbox; `version` is its latest one, `message_id` what published it."""

    store: str
    messages: int
    first_at: datetime
    last_at: datetime
    version: int | None
    message_id: int | None


class ArtifactFile(NamedTuple):
    """The artifact as a file, there or not.

    `persistence` is how far the latest version of the mail has come; where the mail has none, how
    far the file has. `is_edited` says that the file is not what its version was published as.
    `problem` is why the file cannot be read as this session's.
    """

    path: str
    is_there: bool
    metadata: Metadata
    persistence: Persistence | None
    is_edited: bool
    problem: Diagnostic | None
    archive: str | None


class Whereabouts(NamedTuple):
    """A session in every system; `roster` is who has which role, in its order."""

    names: CrossReference
    mail: MailThread | None
    file: ArtifactFile
    terminal: "Terminal | None"
    bead: "Bead | None"
    roster: tuple[tuple[str, str | None], ...]


def whereabouts(workspace: Workspace, thread_id: str) -> Whereabouts:
    """Where a session is found; one that is found nowhere is refused, with the nearest."""
    from brenner.integrations.programs import bead_of
    from brenner.integrations.tmux import terminal_of

    check_usable(thread_id)
    has_mail = workspace.mailbox.thread(thread_id, limit=1).position > 0
    followed = load_status(workspace, thread_id) if has_mail else None
    read = read_session_file(workspace.project, thread_id)
    if followed is None and read is None:
        raise unknown_thread(thread_id, _known(workspace))
    metadata = read.metadata if isinstance(read, Artifact) else Metadata()
    return Whereabouts(
        cross_reference(thread_id),
        _mail(workspace, followed) if followed else None,
        _file(workspace, thread_id, read, followed),
        terminal_of(thread_id),
        bead_of(thread_id, workspace.project.folder),
        _roster(followed, metadata),
    )


def _known(workspace: Workspace) -> dict[str, None]:
    """Each once: of two that are equally near nobody could say which is meant."""
    files = session_files(workspace.project)
    known = dict.fromkeys(thread.thread_id for thread in workspace.mailbox.threads())
    return known if isinstance(files, Diagnostic) else known | dict.fromkeys(files)


def _mail(workspace: Workspace, followed: CrossReferencesFollowed) -> MailThread:
    status = followed.status
    return MailThread(
        store_of(workspace.project).shown,
        status.position,
        status.first_at,
        status.last_at,
        status.version.number if status.version else None,
        status.version.message_id if status.version else None,
    )


def _file(
    workspace: Workspace,
    thread_id: str,
    read: Artifact | Diagnostic | None,
    followed: CrossReferencesFollowed | None,
) -> ArtifactFile:
    metadata = read.metadata if isinstance(read, Artifact) else Metadata()
    written = _written(workspace, thread_id) if isinstance(read, Artifact) else None
    text_of = _texts(workspace, followed)
    latest = text_of(followed.history.number) if followed else None
    text = written if latest is None else latest
    return ArtifactFile(
        cross_reference(thread_id).artifact_path,
        read is not None,
        metadata,
        persistence_of(workspace.project, thread_id, text) if text is not None else None,
        _is_edited(written, text_of(metadata.version or 0)),
        read if isinstance(read, Diagnostic) else None,
        _archive(workspace, thread_id),
    )


def _is_edited(written: str | None, published: str | None) -> bool:
    """Where either of them is not known, nobody can say so."""
    if written is None or published is None:
        return False
    return not same_version(written, published)


def _texts(
    workspace: Workspace, followed: CrossReferencesFollowed | None
) -> Callable[[int], str | None]:
    if followed is None:
        return lambda _: None
    return version_texts(workspace.mailbox, followed.history, workspace.project.operator)


def _written(workspace: Workspace, thread_id: str) -> str | None:
    """The text of a file that could be read a moment ago."""
    try:
        return place_of(workspace.project, thread_id).file.read_text("utf-8")
    except (BrennerError, OSError, UnicodeDecodeError):
        return None


def _archive(workspace: Workspace, thread_id: str) -> str | None:
    """The thread's mail beside the artifact, where it was kept there."""
    try:
        place = place_of(workspace.project, thread_id)
    except BrennerError:
        return None
    return place.archive_name if os.path.isfile(place.archive) else None


def _roster(
    followed: CrossReferencesFollowed | None, metadata: Metadata
) -> tuple[tuple[str, str | None], ...]:
    """As the thread has it; without mail as the front matter does."""
    if followed:
        people = followed.status.participants
        return tuple((each.name, each.role) for each in people if each.is_in_roster)
    found = read_roster(dict(metadata.roster), "the front matter") if metadata.roster else None
    roster = found if isinstance(found, Roster) else None
    return tuple((name, role_in(roster, name) if roster else None) for name in metadata.agents)
