"""References between sessions: their targets, reference cycles, broken references (R21).

Only sessions that are referred to are loaded.
"""

from __future__ import annotations

from collections import deque
from itertools import chain
from typing import TYPE_CHECKING, cast

from brenner.artifact.merge.draft import NO_OTHER_SESSIONS, OtherSessions, SessionItem
from brenner.artifact.merge.resolve import DeltaMessage, parse_posted
from brenner.diagnostics.codes.deltas import UNKNOWN_REFERENCE
from brenner.diagnostics.model import Diagnostic, Severity, Summary, worst_first
from brenner.mail.mailbox import Capability
from brenner.mail.rules import unknown_thread_error
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.problems import format_path
from brenner.protocol.thread_ids import is_valid_thread_id
from brenner.services.session_files import read_session_file, session_files
from brenner.services.sessions import OverviewCache, Progress, no_progress, overviews
from brenner.services.version_store import load_history, require_thread_id
from brenner.session.references import (
    Edge,
    ItemStatus,
    ReferenceGraph,
    SessionReferences,
    cycle_diagnostic,
    dangling_diagnostic,
    edges_of,
    killed_target_diagnostic,
    merge_session_references,
    references_from_artifact,
    references_from_overview,
    session_finder,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from brenner.artifact.model import Artifact, KillRecord, Reference
    from brenner.artifact.state import Entry
    from brenner.protocol.delta.schema import DeltaBlock
    from brenner.protocol.messages import StoredMessage
    from brenner.services.workspace import Workspace
    from brenner.session.overview import Overview
    from brenner.session.versions import VersionHistory

# The sessions of a project: their items, and the references of these
#
# A session is loaded from the mail, by its latest version, and from `artifacts/`. For the mail a
# current row of the overview cache is enough.


class SessionIndex:
    """The sessions of a project, each loaded once."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace, self._rows = workspace, OverviewCache(workspace)
        self._mail: dict[str, SessionReferences | None] = {}
        self._files: dict[str, tuple[Artifact, SessionReferences] | None] = {}
        self._problems: dict[str, Diagnostic] = {}

    @property
    def problems(self) -> tuple[Diagnostic, ...]:
        """Return the diagnostics of files that could not be read."""
        return tuple(dict.fromkeys(self._problems.values()))

    def is_unreadable(self, thread_id: str) -> bool:
        """Return whether the only source for the session is a file that cannot be read."""
        mail = self._in_mail(thread_id)
        if mail and mail.items:
            return False
        self.file(thread_id)
        return thread_id in self._problems

    def known(self, thread_id: str) -> SessionReferences | None:
        """Return the session: its mail, complemented by its file."""
        mail, file = self._in_mail(thread_id), self._in_file(thread_id)
        return merge_session_references(mail, file) if mail and file else mail or file

    def with_item(self, node: SessionItem) -> SessionReferences | None:
        """Return the source that has the item; a file is opened only if the mail lacks it."""
        source = self._in_mail(node.session)
        if source is None or node.item not in source.items:
            source = self._in_file(node.session)
        return source if source and node.item in source.items else None

    def killed(self, node: SessionItem) -> KillRecord | None:
        """Return who killed an item, and why; None if it is active or unknown."""
        source = self.with_item(node)
        return source.killed.get(node.item) if source else None

    def names(self) -> tuple[str, ...]:
        """Return the IDs of all sessions in mail and files, for suggestions."""
        threads = self._workspace.mailbox.threads()
        return tuple(dict.fromkeys((*(each.thread_id for each in threads), *self._listed()[0])))

    def list_files(self) -> tuple[str, ...]:
        """Return the sessions that have a file; a folder that cannot be read is a problem."""
        names, problem = self._listed()
        if problem:
            self._problems[""] = problem
        return names

    def _listed(self) -> tuple[tuple[str, ...], Diagnostic | None]:
        listed = session_files(self._workspace.project)
        return ((), listed) if isinstance(listed, Diagnostic) else (listed, None)

    def file(self, thread_id: str) -> Artifact | None:
        """Return the artifact in the session's file in `artifacts/`, if it can be read."""
        if thread_id not in self._files:
            read = read_session_file(self._workspace.project, thread_id)
            if isinstance(read, Diagnostic):
                self._problems[thread_id], read = read, None
            self._files[thread_id] = read and (read, references_from_artifact(thread_id, read))
        found = self._files[thread_id]
        return found[0] if found else None

    def keep(self) -> None:
        """Save the computed overview rows to the cache."""
        self._rows.keep()

    def _in_mail(self, thread_id: str) -> SessionReferences | None:
        if thread_id not in self._mail:
            is_valid = is_valid_thread_id(thread_id)
            self._mail[thread_id] = self._load_from_mail(thread_id) if is_valid else None
        return self._mail[thread_id]

    def _load_from_mail(self, thread_id: str) -> SessionReferences | None:
        """Load a session by its overview row; without a cache, the history alone is cheaper."""
        mailbox, none_yet = self._workspace.mailbox, SessionReferences(thread_id)
        if Capability.CACHE not in mailbox.lacks:
            row = self._rows.find(thread_id)
            if row is None:
                return None
            return references_from_overview(row.overview) if row.overview else none_yet
        if not mailbox.thread(thread_id, limit=1).position:
            return None
        history = load_history(mailbox, thread_id, self._workspace.project.operator)
        if not history.versions:
            return none_yet
        return references_from_artifact(thread_id, history.state.artifact)

    def _in_file(self, thread_id: str) -> SessionReferences | None:
        self.file(thread_id)
        found = self._files[thread_id]
        return found[1] if found else None


# References that a merge needs


def load_external_references(
    workspace: Workspace, history: VersionHistory, sessions: SessionIndex | None = None
) -> OtherSessions:
    """Return the references of other sessions through which this one could close a cycle.

    The search starts from the references of its items and unread messages. References back to this
    session are left to the merge, which has newer data.
    """
    sessions = sessions or SessionIndex(workspace)
    return reachable_references(history.state.artifact, history.unread, sessions)


def reachable_references(
    artifact: Artifact, unread: Iterable[StoredMessage], sessions: SessionIndex
) -> OtherSessions:
    """Return the references that can be reached from an artifact and messages to it."""
    given = [edge.target for stored in unread for _block, _place, edge in references_in(stored)]
    if not given:  # only a new reference can close a cycle
        return NO_OTHER_SESSIONS
    own = artifact.metadata.session_id or ""
    found = _walk((*given, *_targets_in(artifact)), own, sessions)
    return OtherSessions({node: tuple(dict.fromkeys(map(_node, to))) for node, to in found.items()})


def find_closed_cycles(artifact: Artifact, sessions: SessionIndex) -> tuple[Diagnostic, ...]:
    """Return the reference cycles through a version, after it is published.

    Another session may have published its half of a cycle at the same moment.
    """
    own = references_from_artifact(artifact.metadata.session_id or "", artifact)
    found = _walk(_targets_in(artifact), own.session, sessions)
    if not found:
        return ()
    nodes_of: dict[str, list[SessionItem]] = {}
    for node in found:
        nodes_of.setdefault(node.session, []).append(node)
    others = (
        SessionReferences(
            session,
            references={node.item: found[node] for node in nodes},
            killed={node.item: kill for node in nodes if (kill := sessions.killed(node))},
        )
        for session, nodes in nodes_of.items()
    )
    graph = ReferenceGraph((own, *others))
    through = (
        way for way in graph.circles() if any(edge.origin.session == own.session for edge in way)
    )
    return tuple(cycle_diagnostic(way, graph.killed_on(way)) for way in through)


def _walk(
    starts: Iterable[SessionItem], own: str, sessions: SessionIndex
) -> dict[SessionItem, Sequence[Reference]]:
    """Return the reachable items of other sessions that have references, with those."""
    waiting = deque(dict.fromkeys(starts))
    seen = set(waiting)
    found: dict[SessionItem, Sequence[Reference]] = {}
    while waiting:
        node = waiting.popleft()
        source = sessions.with_item(node) if node.session != own else None
        references = source.references.get(node.item, ()) if source else ()
        if references:
            found[node] = references
        fresh = [each for each in dict.fromkeys(map(_node, references)) if each not in seen]
        seen.update(fresh)
        waiting.extend(fresh)
    sessions.keep()
    return found


def _targets_in(artifact: Artifact) -> Iterator[SessionItem]:
    for _section, item in artifact.all_items():
        yield from map(_node, item.references)


def _node(reference: Reference) -> SessionItem:
    return SessionItem(reference.session, reference.item)


def references_in(stored: StoredMessage) -> Iterator[tuple[DeltaBlock, int, Edge]]:
    """Yield the references in the delta blocks of a message: block, index in the list, edge.

    An item that is still to be added has no ID; its name stands for it.
    """
    body = stored.message.body
    if "references" not in body and "\\u" not in body:  # JSON may escape a letter
        return
    read = parse_posted(stored)
    for block in read.blocks if isinstance(read, DeltaMessage) else ():
        delta = block.delta
        if delta is None:
            continue
        payload = delta.payload
        called = delta.target_id or payload.get("name") or payload.get("condition") or ""
        origin = SessionItem(stored.message.thread_id, str(called))
        given = cast("Iterable[dict[str, str]]", payload.get("references", ()))
        for place, each in enumerate(given):
            target = SessionItem(each["session"], each["item"])
            yield block, place, Edge(origin, target, each["relation"])


def has_references(messages: Iterable[StoredMessage]) -> bool:
    """Return whether any of these messages adds a reference to an item."""
    return any(True for stored in messages for _ in references_in(stored))


# Broken references


def unresolved_references(
    workspace: Workspace,
    artifact: Artifact,
    sessions: SessionIndex | None = None,
    reported: frozenset[Edge] = frozenset(),
) -> tuple[Diagnostic, ...]:
    """Return the broken references of an artifact, except those already `reported`.

    A file that cannot be read is reported instead of the references to it.
    """
    sessions = sessions or SessionIndex(workspace)
    own = references_from_artifact(artifact.metadata.session_id or "", artifact)
    left = (edge for edge in edges_of(own) if edge not in reported)
    return (*broken_references(left, sessions, own), *sessions.problems)


def reported_in_ledger(ledger: Iterable[Entry], read: Iterable[StoredMessage]) -> frozenset[Edge]:
    """Return the references whose target the ledger already reports as unknown."""
    fields = {
        (entry.message_id, entry.block): (entry.item_id or "", [*_unknown_fields(entry)])
        for entry in ledger
    }
    reported = set()
    for stored in read:
        for block, place, edge in references_in(stored):
            item, unknown = fields.get((stored.id, block.number), ("", []))
            path = format_path(("payload", "references", place))
            if any(field.startswith(f"{path}.") for field in unknown):
                reported.add(edge._replace(origin=edge.origin._replace(item=item)))
    return frozenset(reported)


def _unknown_fields(entry: Entry) -> Iterator[str]:
    for found in entry.diagnostics:
        if found.code is UNKNOWN_REFERENCE and found.field:
            yield found.field


def broken_references(
    edges: Iterable[Edge], sessions: SessionIndex, own: SessionReferences | None = None
) -> tuple[Diagnostic, ...]:
    """Return a diagnostic for each broken reference; `own` is the current state of its session.

    References to a session whose file cannot be read are left out: see `SessionIndex.problems`.
    """
    found: list[Diagnostic] = []
    find = session_finder(sessions.names)
    known: SessionReferences | None
    for edge in edges:
        session = edge.target.session
        if own and session == own.session:
            known, is_broken = own, edge.target.item not in own.items
        else:
            is_broken = not sessions.with_item(edge.target) and not sessions.is_unreadable(session)
            known = sessions.known(session) if is_broken else None
        if is_broken:
            found.append(dangling_diagnostic(edge, known, find))
    sessions.keep()
    return tuple(found)


# The graph of all references between items
#
# The overview cache contains the references of each session. A file is read only if the mail has no
# version, or lacks an item that is referred to.


def load_graph(
    workspace: Workspace,
    progress: Progress = no_progress,
    rows: Mapping[str, Overview] | None = None,
) -> tuple[ReferenceGraph, SessionIndex]:
    """Load the graph from the mail and `artifacts/`; `rows` are the mail's overviews, if loaded.

    Files that cannot be read are the problems of the index.
    """
    sessions = SessionIndex(workspace)
    rows = overviews(workspace, progress) if rows is None else rows
    known = {name: references_from_overview(row) for name, row in rows.items()}
    for name in sessions.list_files():
        artifact = None if name in known and known[name].items else sessions.file(name)
        if artifact:
            known[name] = references_from_artifact(name, artifact)
    _load_missing_sessions(known, sessions)
    return ReferenceGraph(known.values()), sessions


def broken_edges(
    graph: ReferenceGraph, sessions: SessionIndex, edges: Iterable[Edge]
) -> Iterator[tuple[Edge, Diagnostic]]:
    """Yield the broken references among these.

    References into a file that cannot be read are left out: the file is among the problems.
    """
    find = session_finder(lambda: graph.sessions)
    for edge in edges:
        session = edge.target.session
        if not graph.has(edge.target) and not sessions.is_unreadable(session):
            yield edge, dangling_diagnostic(edge, graph.sessions.get(session), find)


def _load_missing_sessions(known: dict[str, SessionReferences], sessions: SessionIndex) -> None:
    """Load sessions that are referred to and missing; they may refer to more."""
    looked_for: set[str] = set()
    fresh = list(known.values())
    while fresh:
        names = dict.fromkeys(_missing_sessions(fresh, known))
        fresh = []
        for name in names:
            if name not in looked_for:
                looked_for.add(name)
                found = _load_more(name, known.get(name), sessions)
                if found:
                    known[name] = found
                    fresh.append(found)


def _missing_sessions(
    fresh: Iterable[SessionReferences], known: dict[str, SessionReferences]
) -> Iterator[str]:
    for edge in chain.from_iterable(map(edges_of, fresh)):
        there = known.get(edge.target.session)
        if there is None or edge.target.item not in there.items:
            yield edge.target.session


def _load_more(
    name: str, there: SessionReferences | None, sessions: SessionIndex
) -> SessionReferences | None:
    """Return more data of a session: it may be a plain thread, or have a larger file."""
    if there is None:
        return sessions.known(name)
    artifact = sessions.file(name)
    file = references_from_artifact(name, artifact) if artifact else None
    return merge_session_references(there, file) if file else None


# Checking all references


class CheckedReferences(NamedTuple):
    """All references with the status of their target, the findings, and the reference cycles.

    `found` has the diagnostics of each session, the worst first.
    """

    references: tuple[tuple[Edge, ItemStatus], ...]
    found: dict[str, list[Diagnostic]]
    circles: tuple[tuple[Edge, ...], ...]
    problems: tuple[Diagnostic, ...]

    @property
    def violations(self) -> tuple[Diagnostic, ...]:
        return (*chain.from_iterable(self.found.values()), *self.problems)

    @property
    def summary(self) -> Summary:
        return Summary.of(self.violations)


def check_references(
    workspace: Workspace, threads: Sequence[str] = (), progress: Progress = no_progress
) -> CheckedReferences:
    """Check the references of all sessions, or of these, and the cycles through them."""
    for thread_id in threads:
        require_thread_id(thread_id)
    graph, sessions = load_graph(workspace, progress)
    for thread_id in threads:
        if thread_id not in graph.sessions:
            raise unknown_thread_error(thread_id, graph.sessions)
    wanted = set(threads) or graph.sessions.keys()
    edges = [edge for edge in graph.edges if edge.origin.session in wanted]
    circles = [way for way in graph.circles() if any(edge.origin.session in wanted for edge in way)]
    found = [
        *((way[0], cycle_diagnostic(way, graph.killed_on(way))) for way in circles),
        *broken_edges(graph, sessions, edges),
        *((e, killed_target_diagnostic(e, k)) for e in edges if (k := graph.killed(e.target))),
    ]
    return CheckedReferences(
        tuple((edge, graph.status(edge.target)) for edge in edges),
        _by_session(found),
        tuple(circles),
        sessions.problems,
    )


def _by_session(found: Iterable[tuple[Edge, Diagnostic]]) -> dict[str, list[Diagnostic]]:
    """Return the findings by session: the worst first, else in order of their IDs."""
    by_session: dict[str, list[Diagnostic]] = {}
    for edge, each in found:
        by_session.setdefault(edge.origin.session, []).append(each)
    for some in by_session.values():
        some.sort(key=worst_first)
    ranks = {severity: rank for rank, severity in enumerate(Severity)}
    by_rank = sorted(by_session, key=lambda name: (ranks[by_session[name][0].severity], name))
    return {session: by_session[session] for session in by_rank}
