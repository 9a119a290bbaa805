"""References between sessions: their targets, reference cycles, broken references (R21).

Only sessions that are referred to are loaded.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from brenner.artifact.merge.draft import NO_OTHER_SESSIONS, OtherSessions, SessionItem
from brenner.artifact.merge.resolve import DeltaMessage, parse_posted
from brenner.artifact.model import Artifact, KillRecord, Reference
from brenner.artifact.state import Entry
from brenner.diagnostics.codes.deltas import UNKNOWN_REFERENCE
from brenner.diagnostics.model import Diagnostic, Severity, Summary, worst_first
from brenner.mail.mailbox import Capability
from brenner.mail.rules import unknown_thread_error
from brenner.protocol.delta.problems import format_path
from brenner.protocol.delta.schema import DeltaBlock
from brenner.protocol.messages import PostedMessage
from brenner.protocol.thread_ids import is_valid_thread_id
from brenner.services.session_files import read_session_file, session_files
from brenner.services.sessions import OverviewCache, Progress, overviews
from brenner.services.version_store import load_history, require_thread_id
from brenner.services.workspace import Workspace
from brenner.session.overview import Overview
from brenner.session.references import (
    Edge,
    ReferenceGraph,
    SessionNames,
    SessionReferences,
    TargetStatus,
    cycle_diagnostic,
    dangling_diagnostic,
    killed_target_diagnostic,
    merge_session_references,
    references_from_artifact,
    references_from_overview,
    unknown_item_diagnostic,
    unknown_session_diagnostic,
)
from brenner.session.versions import VersionHistory

# The sessions of a project: their items, and the references of these
#
# A session is loaded from the mail, by its latest version, and from `artifacts/`. For the mail a
# current row of the overview cache is enough.


class _SessionSource(NamedTuple):
    """A session from one source, with the references of each item."""

    known: SessionReferences
    references: Mapping[str, tuple[Reference, ...]]


class SessionIndex:
    """The sessions of a project, each loaded once."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace, self._rows = workspace, OverviewCache(workspace)
        self._mail_sources: dict[str, _SessionSource | None] = {}
        self._files: dict[str, Artifact | None] = {}
        self._file_sources: dict[str, _SessionSource | None] = {}
        self._problems: dict[str, Diagnostic] = {}

    @property
    def problems(self) -> tuple[Diagnostic, ...]:
        """Return the diagnostics of files that could not be read."""
        return tuple(dict.fromkeys(self._problems.values()))

    def is_unreadable(self, thread_id: str) -> bool:
        """Return whether the only source for the session is a file that cannot be read."""
        source = self._in_mail(thread_id)
        if source and source.known.items:
            return False
        self.file(thread_id)
        return thread_id in self._problems

    def known(self, thread_id: str) -> SessionReferences | None:
        """Return the session: its mail, complemented by its file."""
        mail, file = self._in_mail(thread_id), self._in_file(thread_id)
        if mail and file:
            return merge_session_references(mail.known, file.known)
        source = mail or file
        return source.known if source else None

    def has(self, node: SessionItem) -> bool:
        """Return whether the item exists."""
        return self._find_item(node) is not None

    def references(self, node: SessionItem) -> tuple[Reference, ...]:
        """Return the references of an item, from the mail, else from the file."""
        source = self._find_item(node)
        return source.references.get(node.item, ()) if source else ()

    def killed(self, node: SessionItem) -> KillRecord | None:
        """Return who killed an item, and why; None if it is active or unknown."""
        source = self._find_item(node)
        return source.known.killed.get(node.item) if source else None

    def names(self) -> tuple[str, ...]:
        """Return the IDs of all sessions in mail and files, for suggestions."""
        listed = session_files(self._workspace.project)
        files = () if isinstance(listed, Diagnostic) else listed
        threads = self._workspace.mailbox.threads()
        return tuple(dict.fromkeys((*(each.thread_id for each in threads), *files)))

    def file(self, thread_id: str) -> Artifact | None:
        """Return the artifact in the session's file in `artifacts/`, if it can be read."""
        if thread_id not in self._files:
            read = read_session_file(self._workspace.project, thread_id)
            if isinstance(read, Diagnostic):
                self._problems[thread_id] = read
            self._files[thread_id] = None if isinstance(read, Diagnostic) else read
        return self._files[thread_id]

    def keep(self) -> None:
        """Save the computed overview rows to the cache."""
        self._rows.keep()

    def _find_item(self, node: SessionItem) -> _SessionSource | None:
        """Return the source that has the item; a file is opened only if the mail lacks it."""
        source = self._in_mail(node.session)
        if source is None or node.item not in source.known.items:
            source = self._in_file(node.session)
        return source if source and node.item in source.known.items else None

    def _in_mail(self, thread_id: str) -> _SessionSource | None:
        if thread_id not in self._mail_sources:
            known = self._load_from_mail(thread_id) if is_valid_thread_id(thread_id) else None
            self._mail_sources[thread_id] = _to_source(known) if known else None
        return self._mail_sources[thread_id]

    def _load_from_mail(self, thread_id: str) -> SessionReferences | None:
        """Load a session by its overview row; without a cache, the history alone is cheaper."""
        mailbox = self._workspace.mailbox
        if Capability.CACHE not in mailbox.lacks:
            row = self._rows.find(thread_id)
            if row is None:
                return None
            return (
                references_from_overview(row.overview)
                if row.overview
                else SessionReferences(thread_id)
            )
        if not mailbox.thread(thread_id, limit=1).position:
            return None
        history = load_history(mailbox, thread_id, self._workspace.project.operator).history
        if not history.versions:
            return SessionReferences(thread_id)
        return references_from_artifact(thread_id, history.state.artifact)

    def _in_file(self, thread_id: str) -> _SessionSource | None:
        if thread_id not in self._file_sources:
            artifact = self.file(thread_id)
            known = references_from_artifact(thread_id, artifact) if artifact else None
            self._file_sources[thread_id] = _to_source(known) if known else None
        return self._file_sources[thread_id]


def _to_source(known: SessionReferences) -> _SessionSource:
    references: dict[str, tuple[Reference, ...]] = {}
    for item, reference in known.references:
        references[item] = (*references.get(item, ()), reference)
    return _SessionSource(known, references)


NO_SESSION = SessionReferences("")


# References that a merge needs


def load_external_references(
    workspace: Workspace, history: VersionHistory, sessions: SessionIndex | None = None
) -> OtherSessions:
    """Return the references of other sessions through which this one could close a cycle.

    The search starts from the references of its items and unread messages. References back to this
    session are left to the merge, which has newer data.
    """
    unread = [filed.posted for filed in history.unread]
    return reachable_references(history.state.artifact, unread, sessions or SessionIndex(workspace))


def reachable_references(
    artifact: Artifact, unread: Iterable[PostedMessage], sessions: SessionIndex
) -> OtherSessions:
    """Return the references that can be reached from an artifact and messages to it."""
    given = [each.edge.target for posted in unread for each in references_in(posted)]
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
    others: dict[str, list[SessionItem]] = {}
    for node in found:
        others.setdefault(node.session, []).append(node)
    known = (
        SessionReferences(
            session,
            references=tuple((node.item, each) for node in nodes for each in found[node]),
            killed={node.item: kill for node in nodes if (kill := sessions.killed(node))},
        )
        for session, nodes in others.items()
    )
    graph = ReferenceGraph((own, *known))
    through = (
        way for way in graph.circles() if any(edge.origin.session == own.session for edge in way)
    )
    return tuple(cycle_diagnostic(way, graph.killed_on(way)) for way in through)


def _walk(
    starts: Iterable[SessionItem], own: str, sessions: SessionIndex
) -> dict[SessionItem, tuple[Reference, ...]]:
    """Return the reachable items of other sessions that have references, with those."""
    waiting = deque(dict.fromkeys(starts))
    seen = set(waiting)
    found: dict[SessionItem, tuple[Reference, ...]] = {}
    while waiting:
        node = waiting.popleft()
        references = sessions.references(node) if node.session != own else ()
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


class MessageReference(NamedTuple):
    """A reference in a message: its block and its index in the list.

    An item that is still to be added has no ID; its name stands for it.
    """

    block: DeltaBlock
    place: int
    edge: Edge


def references_in(posted: PostedMessage) -> Iterator[MessageReference]:
    """Yield the references in the delta blocks of a message."""
    body = posted.message.body
    if "references" not in body and "\\u" not in body:  # JSON may escape a letter
        return
    read = parse_posted(posted)
    for block in read.blocks if isinstance(read, DeltaMessage) else ():
        delta = block.delta
        if delta is None:
            continue
        payload = delta.payload
        called = delta.target_id or payload.get("name") or payload.get("condition") or ""
        origin = SessionItem(posted.message.thread_id, str(called))
        given = cast("Iterable[dict[str, str]]", payload.get("references", ()))
        for place, each in enumerate(given):
            target = SessionItem(each["session"], each["item"])
            yield MessageReference(block, place, Edge(origin, target, each["relation"]))


def has_references(messages: Iterable[PostedMessage]) -> bool:
    """Return whether any of these messages adds a reference to an item."""
    return any(True for posted in messages for _ in references_in(posted))


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
    looked_up = sessions or SessionIndex(workspace)
    own = artifact.metadata.session_id or ""
    edges = [
        Edge(SessionItem(own, item.id), _node(reference), reference.relation)
        for _section, item in artifact.all_items()
        for reference in item.references
    ]
    left = (edge for edge in edges if edge not in reported)
    found = broken_references(left, looked_up, references_from_artifact(own, artifact))
    return (*found, *looked_up.problems)


def reported_in_ledger(ledger: Iterable[Entry], read: Iterable[PostedMessage]) -> frozenset[Edge]:
    """Return the references whose target the ledger already reports as unknown."""
    fields = {
        (entry.message_id, entry.block): (entry.item_id or "", [*_unknown_fields(entry)])
        for entry in ledger
    }
    reported = set()
    for posted in read:
        for block, place, edge in references_in(posted):
            item, unknown = fields.get((posted.id, block.number), ("", []))
            path = format_path(("payload", "references", place))
            if any(field.startswith(f"{path}.") for field in unknown):
                reported.add(edge._replace(origin=edge.origin._replace(item=item)))
    return frozenset(reported)


def _unknown_fields(entry: Entry) -> Iterator[str]:
    for found in entry.diagnostics:
        if found.code is UNKNOWN_REFERENCE and found.field:
            yield found.field


def broken_references(
    edges: Iterable[Edge], sessions: SessionIndex, own: SessionReferences = NO_SESSION
) -> tuple[Diagnostic, ...]:
    """Return a diagnostic for each broken reference; `own` is the current state of its session.

    References to a session whose file cannot be read are left out: see `SessionIndex.problems`.
    """
    found: list[Diagnostic] = []
    names: SessionNames | None = None
    for edge in edges:
        session = edge.target.session
        if session == own.session:
            if edge.target.item not in own.items:
                found.append(unknown_item_diagnostic(edge, own))
        elif not sessions.has(edge.target) and not sessions.is_unreadable(session):
            known = sessions.known(session)
            if known is None:
                names = names or SessionNames(sessions.names())
                found.append(unknown_session_diagnostic(edge, names))
            else:
                found.append(unknown_item_diagnostic(edge, known))
    sessions.keep()
    return tuple(found)


# The graph of all references between items
#
# The overview cache contains the references of each session. A file is read only if the mail has no
# version, or lacks an item that is referred to.


def _no_progress(_doing: str, _done: int, _total: int | None) -> None:
    """Ignore progress."""


class LoadedGraph(NamedTuple):
    """The graph of all references; `problems` are the files that cannot be read."""

    graph: ReferenceGraph
    sessions: SessionIndex
    problems: tuple[Diagnostic, ...]

    def broken_edges(self, edges: Iterable[Edge]) -> Iterator[tuple[Edge, Diagnostic]]:
        """Yield the broken references among these.

        References into a file that cannot be read are left out: the file is among the problems.
        """
        names = SessionNames(self.graph.sessions)
        for edge in edges:
            is_there = self.graph.has(edge.target)
            if not is_there and not self.sessions.is_unreadable(edge.target.session):
                yield edge, dangling_diagnostic(edge, self.graph, names)


def load_graph(
    workspace: Workspace,
    progress: Progress = _no_progress,
    rows: Mapping[str, Overview] | None = None,
) -> LoadedGraph:
    """Load the graph from the mail and `artifacts/`; `rows` are the mail's overviews, if loaded."""
    sessions = SessionIndex(workspace)
    rows = overviews(workspace, progress) if rows is None else rows
    known = {name: references_from_overview(row) for name, row in rows.items()}
    listed = session_files(workspace.project)
    problems = [listed] if isinstance(listed, Diagnostic) else []
    for name in () if isinstance(listed, Diagnostic) else listed:
        artifact = None if name in known and known[name].items else sessions.file(name)
        if artifact:
            known[name] = references_from_artifact(name, artifact)
    _load_missing_sessions(known, sessions)
    every = tuple(dict.fromkeys((*problems, *sessions.problems)))
    return LoadedGraph(ReferenceGraph(known.values()), sessions, every)


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
    for each in fresh:
        for _item, reference in each.references:
            there = known.get(reference.session)
            if there is None or reference.item not in there.items:
                yield reference.session


def _load_more(
    name: str, there: SessionReferences | None, sessions: SessionIndex
) -> SessionReferences | None:
    """Return more data of a session: it may be a plain thread, or have a larger file."""
    if there is None:
        return sessions.known(name)
    artifact = sessions.file(name)
    return (
        merge_session_references(there, references_from_artifact(name, artifact))
        if artifact
        else None
    )


# Checking all references


class CheckedReference(NamedTuple):
    """A reference, and where it leads."""

    edge: Edge
    leads: TargetStatus


class SessionFindings(NamedTuple):
    """The diagnostics of a session's references, the worst first."""

    session: str
    violations: tuple[Diagnostic, ...]


class CheckedReferences(NamedTuple):
    """All checked references; the findings by session; reference cycles as paths of edges."""

    references: tuple[CheckedReference, ...]
    found: tuple[SessionFindings, ...]
    circles: tuple[tuple[Edge, ...], ...]
    problems: tuple[Diagnostic, ...]

    @property
    def violations(self) -> tuple[Diagnostic, ...]:
        """Return all diagnostics, in display order."""
        return (*(each for found in self.found for each in found.violations), *self.problems)

    @property
    def summary(self) -> Summary:
        """Return the number of diagnostics by severity."""
        return Summary.of(self.violations)


def check_references(
    workspace: Workspace, threads: Sequence[str] = (), progress: Progress = _no_progress
) -> CheckedReferences:
    """Check the references of all sessions, or of these, and the cycles through them."""
    for thread_id in threads:
        require_thread_id(thread_id)
    loaded = load_graph(workspace, progress)
    graph = loaded.graph
    for thread_id in threads:
        if thread_id not in graph.sessions:
            raise unknown_thread_error(thread_id, graph.sessions)
    wanted = set(threads) or graph.sessions.keys()
    edges = [edge for edge in graph.edges if edge.origin.session in wanted]
    circles = [way for way in graph.circles() if any(edge.origin.session in wanted for edge in way)]
    return CheckedReferences(
        tuple(CheckedReference(edge, graph.leads(edge)) for edge in edges),
        tuple(_findings_by_session(loaded, edges, circles)),
        tuple(circles),
        loaded.problems,
    )


def _findings_by_session(
    loaded: LoadedGraph, edges: Sequence[Edge], circles: Sequence[tuple[Edge, ...]]
) -> Iterator[SessionFindings]:
    """Yield the findings by session: the worst first, else in order of their IDs."""
    by_session: dict[str, list[Diagnostic]] = {}
    for way in circles:
        by_session.setdefault(way[0].origin.session, []).append(
            cycle_diagnostic(way, loaded.graph.killed_on(way))
        )
    for edge, found in (*loaded.broken_edges(edges), *_to_killed(loaded.graph, edges)):
        by_session.setdefault(edge.origin.session, []).append(found)
    sorted_ones = [
        SessionFindings(session, tuple(sorted(found, key=worst_first)))
        for session, found in sorted(by_session.items())
    ]
    yield from sorted(sorted_ones, key=lambda each: _RANK[each.violations[0].severity])


_RANK = {severity: rank for rank, severity in enumerate(Severity)}


def _to_killed(graph: ReferenceGraph, edges: Iterable[Edge]) -> Iterator[tuple[Edge, Diagnostic]]:
    for edge in edges:
        killed = graph.killed(edge.target)
        if killed:
            yield edge, killed_target_diagnostic(edge, killed)
