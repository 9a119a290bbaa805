"""What the references of a session lead to in others: when it is compiled, and after (R21).

Only what is referred to is looked up: who refers to no other session pays nothing.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from brenner.artifact.merge.draft import NOWHERE, Elsewhere, Node
from brenner.artifact.merge.resolve import Contribution, read_posted
from brenner.artifact.model import Artifact, Killed, Reference
from brenner.artifact.state import Entry
from brenner.diagnostics.codes.deltas import UNKNOWN_REFERENCE
from brenner.diagnostics.model import Diagnostic, Severity, Summary, worst_first
from brenner.mail.mailbox import Capability
from brenner.mail.rules import unknown_thread
from brenner.protocol.delta.schema import DeltaBlock
from brenner.protocol.delta.validate import dotted
from brenner.protocol.messages import PostedMessage
from brenner.protocol.thread_ids import is_valid
from brenner.services.sessions import Progress, Rows, overviews, read_session_file, session_files
from brenner.services.version_store import check_usable, load_history
from brenner.services.workspace import Workspace
from brenner.session.overview import Overview
from brenner.session.references import (
    Edge,
    Known,
    Leads,
    Names,
    ReferenceGraph,
    circle,
    dangling,
    known_by_artifact,
    known_by_overview,
    to_killed,
    united,
    unknown_item,
    unknown_session,
)
from brenner.session.versions import VersionHistory

# The sessions of a project as references need them: which items they have, what these refer to.
#
# A session is looked up in the mail, by its latest published version, and in `artifacts/`. Of the
# mail the row that the list of sessions keeps is enough, as long as it is true.


class _Held(NamedTuple):
    """A session in one place, with what each of its items refers to."""

    known: Known
    references: Mapping[str, tuple[Reference, ...]]


class Sessions:
    """The sessions of a project, each looked up once."""

    def __init__(self, workspace: Workspace) -> None:
        self._desk, self._rows = workspace, Rows(workspace)
        self._mail: dict[str, _Held | None] = {}
        self._files: dict[str, Artifact | None] = {}
        self._filed: dict[str, _Held | None] = {}
        self._problems: dict[str, Diagnostic] = {}

    @property
    def problems(self) -> tuple[Diagnostic, ...]:
        """What could not be read of what was looked at."""
        return tuple(dict.fromkeys(self._problems.values()))

    def is_unreadable(self, thread_id: str) -> bool:
        """Whether all that could tell of the session is a file that cannot be read."""
        held = self._in_mail(thread_id)
        if held and held.known.items:
            return False
        self.file(thread_id)
        return thread_id in self._problems

    def known(self, thread_id: str) -> Known | None:
        """The session: what its mail says, and what its file has besides."""
        mail, file = self._in_mail(thread_id), self._in_file(thread_id)
        if mail and file:
            return united(mail.known, file.known)
        held = mail or file
        return held.known if held else None

    def has(self, node: Node) -> bool:
        """Whether there is such an item."""
        return self._holding(node) is not None

    def references(self, node: Node) -> tuple[Reference, ...]:
        """What an item refers to. What the mail says of it holds; what it lacks a file may have."""
        held = self._holding(node)
        return held.references.get(node.item, ()) if held else ()

    def killed(self, node: Node) -> Killed | None:
        """Who killed an item, and why; None where it is active or unknown."""
        held = self._holding(node)
        return held.known.killed.get(node.item) if held else None

    def names(self) -> tuple[str, ...]:
        """All sessions that there are, in mail and files; for finding the one that was meant."""
        listed = session_files(self._desk.project)
        files = () if isinstance(listed, Diagnostic) else listed
        threads = self._desk.mailbox.threads()
        return tuple(dict.fromkeys((*(each.thread_id for each in threads), *files)))

    def file(self, thread_id: str) -> Artifact | None:
        """What the session's file in `artifacts/` holds, where there is one that can be read."""
        if thread_id not in self._files:
            read = read_session_file(self._desk.project, thread_id)
            if isinstance(read, Diagnostic):
                self._problems[thread_id] = read
            self._files[thread_id] = None if isinstance(read, Diagnostic) else read
        return self._files[thread_id]

    def keep(self) -> None:
        """Keep the rows that had to be worked out: the next one finds them."""
        self._rows.keep()

    def _holding(self, node: Node) -> _Held | None:
        """Where the item is; a file is opened only where the mail lacks it."""
        held = self._in_mail(node.session)
        if held is None or node.item not in held.known.items:
            held = self._in_file(node.session)
        return held if held and node.item in held.known.items else None

    def _in_mail(self, thread_id: str) -> _Held | None:
        if thread_id not in self._mail:
            known = self._loaded(thread_id) if is_valid(thread_id) else None
            self._mail[thread_id] = _held(known) if known else None
        return self._mail[thread_id]

    def _loaded(self, thread_id: str) -> Known | None:
        """By its row; where none can be kept, the chain alone is less work."""
        mailbox = self._desk.mailbox
        if Capability.KEEPING not in mailbox.lacks:
            row = self._rows.find(thread_id)
            if row is None:
                return None
            return known_by_overview(row.overview) if row.overview else Known(thread_id)
        if not mailbox.thread(thread_id, limit=1).position:
            return None
        history = load_history(mailbox, thread_id, self._desk.project.operator).history
        if not history.versions:
            return Known(thread_id)
        return known_by_artifact(thread_id, history.state.artifact)

    def _in_file(self, thread_id: str) -> _Held | None:
        if thread_id not in self._filed:
            artifact = self.file(thread_id)
            known = known_by_artifact(thread_id, artifact) if artifact else None
            self._filed[thread_id] = _held(known) if known else None
        return self._filed[thread_id]


def _held(known: Known) -> _Held:
    references: dict[str, tuple[Reference, ...]] = {}
    for item, reference in known.references:
        references[item] = (*references.get(item, ()), reference)
    return _Held(known, references)


NOBODY = Known("")


# What a merge has to know


def elsewhere_for(
    workspace: Workspace, history: VersionHistory, sessions: Sessions | None = None
) -> Elsewhere:
    """The references of other sessions through which this one could close a circle.

    From what its items and its unread messages refer to on, item by item; what leads back to this
    session the merge knows itself, and better.
    """
    unread = [filed.posted for filed in history.unread]
    return reached(history.state.artifact, unread, sessions or Sessions(workspace))


def reached(artifact: Artifact, unread: Iterable[PostedMessage], sessions: Sessions) -> Elsewhere:
    """What can be reached, through other sessions, from an artifact and messages to it."""
    given = [each.edge.target for posted in unread for each in given_in(posted)]
    if not given:  # only a new reference closes a circle
        return NOWHERE
    own = artifact.metadata.session_id or ""
    found = _walked((*given, *_named_in(artifact)), own, sessions)
    return Elsewhere({node: tuple(dict.fromkeys(map(_node, to))) for node, to in found.items()})


def closed_circles(artifact: Artifact, sessions: Sessions) -> tuple[Diagnostic, ...]:
    """The circles that go through a version, once it is published.

    Another session may have published its half of one in the same moment.
    """
    own = known_by_artifact(artifact.metadata.session_id or "", artifact)
    found = _walked(_named_in(artifact), own.session, sessions)
    if not found:
        return ()
    others: dict[str, list[Node]] = {}
    for node in found:
        others.setdefault(node.session, []).append(node)
    known = (
        Known(
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
    return tuple(circle(way, graph.killed_on(way)) for way in through)


def _walked(
    starts: Iterable[Node], own: str, sessions: Sessions
) -> dict[Node, tuple[Reference, ...]]:
    """The items of other sessions that can be reached and refer to something, with that."""
    waiting = deque(dict.fromkeys(starts))
    seen = set(waiting)
    found: dict[Node, tuple[Reference, ...]] = {}
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


def _named_in(artifact: Artifact) -> Iterator[Node]:
    for _section, item in artifact.all_items():
        yield from map(_node, item.references)


def _node(reference: Reference) -> Node:
    return Node(reference.session, reference.item)


class Given(NamedTuple):
    """A reference in a message: the block and its place in the list there. An item that is still
    to be added has no ID; its name stands for it.
    """

    block: DeltaBlock
    place: int
    edge: Edge


def given_in(posted: PostedMessage) -> Iterator[Given]:
    """The references in the delta blocks of a message."""
    body = posted.message.body
    if "references" not in body and "\\u" not in body:  # JSON may spell a letter out
        return
    read = read_posted(posted)
    for block in read.blocks if isinstance(read, Contribution) else ():
        delta = block.delta
        if delta is None:
            continue
        payload = delta.payload
        called = delta.target_id or payload.get("name") or payload.get("condition") or ""
        origin = Node(posted.message.thread_id, str(called))
        given = cast("Iterable[dict[str, str]]", payload.get("references", ()))
        for place, each in enumerate(given):
            target = Node(each["session"], each["item"])
            yield Given(block, place, Edge(origin, target, each["relation"]))


def gives_references(messages: Iterable[PostedMessage]) -> bool:
    """Whether any of these messages gives an item a reference."""
    return any(True for posted in messages for _ in given_in(posted))


# What leads nowhere


def unresolved(
    workspace: Workspace,
    artifact: Artifact,
    sessions: Sessions | None = None,
    told: frozenset[Edge] = frozenset(),
) -> tuple[Diagnostic, ...]:
    """The references of an artifact that lead nowhere (yet), but for those that were `told`.

    A file that cannot be read is told in the place of all references that may lead into it.
    """
    looked_up = sessions or Sessions(workspace)
    own = artifact.metadata.session_id or ""
    edges = [
        Edge(Node(own, item.id), _node(reference), reference.relation)
        for _section, item in artifact.all_items()
        for reference in item.references
    ]
    left = (edge for edge in edges if edge not in told)
    found = leading_nowhere(left, looked_up, known_by_artifact(own, artifact))
    return (*found, *looked_up.problems)


def told_in(ledger: Iterable[Entry], read: Iterable[PostedMessage]) -> frozenset[Edge]:
    """The references of which a ledger tells itself that what they name is no ID."""
    fields = {
        (entry.message_id, entry.block): (entry.item_id or "", [*_unknown_in(entry)])
        for entry in ledger
    }
    told = set()
    for posted in read:
        for block, place, edge in given_in(posted):
            item, unknown = fields.get((posted.id, block.number), ("", []))
            path = dotted(("payload", "references", place))
            if any(field.startswith(f"{path}.") for field in unknown):
                told.add(edge._replace(origin=edge.origin._replace(item=item)))
    return frozenset(told)


def _unknown_in(entry: Entry) -> Iterator[str]:
    for found in entry.diagnostics:
        if found.code is UNKNOWN_REFERENCE and found.field:
            yield found.field


def leading_nowhere(
    edges: Iterable[Edge], sessions: Sessions, own: Known = NOBODY
) -> tuple[Diagnostic, ...]:
    """Of these references those that lead nowhere; of its `own` session more may be known.

    Nothing is said of those to a session whose file is among the `problems` of the sessions.
    """
    found: list[Diagnostic] = []
    names: Names | None = None
    for edge in edges:
        session = edge.target.session
        if session == own.session:
            if edge.target.item not in own.items:
                found.append(unknown_item(edge, own))
        elif not sessions.has(edge.target) and not sessions.is_unreadable(session):
            known = sessions.known(session)
            if known is None:
                names = names or Names(sessions.names())
                found.append(unknown_session(edge, names))
            else:
                found.append(unknown_item(edge, known))
    sessions.keep()
    return tuple(found)


# All references between the items of all sessions: the graph of them, and what is wrong in it.
#
# What each session refers to is kept with its row in the list of sessions. A file is read where
# there is no version in the mail, or where something refers to an item that the mail lacks.


def _silent(_doing: str, _done: int, _total: int | None) -> None:
    """Who does not look needs no progress."""


class LoadedGraph(NamedTuple):
    """The graph of everything that is known; `problems` are the files that cannot be read."""

    graph: ReferenceGraph
    sessions: Sessions
    problems: tuple[Diagnostic, ...]

    def nowhere(self, edges: Iterable[Edge]) -> Iterator[tuple[Edge, Diagnostic]]:
        """Of these references those that lead nowhere. What a file that cannot be read may hold is
        not said to be missing: the file is among the problems.
        """
        names = Names(self.graph.sessions)
        for edge in edges:
            is_there = self.graph.has(edge.target)
            if not is_there and not self.sessions.is_unreadable(edge.target.session):
                yield edge, dangling(edge, self.graph, names)


def load_graph(
    workspace: Workspace, progress: Progress = _silent, rows: Mapping[str, Overview] | None = None
) -> LoadedGraph:
    """The graph over the mail and `artifacts/`; `rows` are those of the mail, for who has them."""
    sessions = Sessions(workspace)
    rows = overviews(workspace, progress) if rows is None else rows
    known = {name: known_by_overview(row) for name, row in rows.items()}
    listed = session_files(workspace.project)
    problems = [listed] if isinstance(listed, Diagnostic) else []
    for name in () if isinstance(listed, Diagnostic) else listed:
        artifact = None if name in known and known[name].items else sessions.file(name)
        if artifact:
            known[name] = known_by_artifact(name, artifact)
    _complete(known, sessions)
    every = tuple(dict.fromkeys((*problems, *sessions.problems)))
    return LoadedGraph(ReferenceGraph(known.values()), sessions, every)


def _complete(known: dict[str, Known], sessions: Sessions) -> None:
    """Look for what is referred to and not there yet; what is found may refer to more."""
    looked_for: set[str] = set()
    fresh = list(known.values())
    while fresh:
        names = dict.fromkeys(_missing(fresh, known))
        fresh = []
        for name in names:
            if name not in looked_for:
                looked_for.add(name)
                found = _looked_up(name, known.get(name), sessions)
                if found:
                    known[name] = found
                    fresh.append(found)


def _missing(fresh: Iterable[Known], known: dict[str, Known]) -> Iterator[str]:
    for each in fresh:
        for _item, reference in each.references:
            there = known.get(reference.session)
            if there is None or reference.item not in there.items:
                yield reference.session


def _looked_up(name: str, there: Known | None, sessions: Sessions) -> Known | None:
    """What more there is to know of a session: it may be a conversation, or have a larger file."""
    if there is None:
        return sessions.known(name)
    artifact = sessions.file(name)
    return united(there, known_by_artifact(name, artifact)) if artifact else None


# The check


class Checked(NamedTuple):
    """A reference, and where it leads."""

    edge: Edge
    leads: Leads


class Found(NamedTuple):
    """What is to be said about a session's references, the worst first."""

    session: str
    violations: tuple[Diagnostic, ...]


class CheckedReferences(NamedTuple):
    """All references that were looked at; what was found, by session; circles as the ways round."""

    references: tuple[Checked, ...]
    found: tuple[Found, ...]
    circles: tuple[tuple[Edge, ...], ...]
    problems: tuple[Diagnostic, ...]

    @property
    def violations(self) -> tuple[Diagnostic, ...]:
        """Everything, in the order in which it is shown."""
        return (*(each for found in self.found for each in found.violations), *self.problems)

    @property
    def summary(self) -> Summary:
        """How many of each severity."""
        return Summary.of(self.violations)


def check_references(
    workspace: Workspace, threads: Sequence[str] = (), progress: Progress = _silent
) -> CheckedReferences:
    """Look at the references of all sessions, or of these; circles that go through them."""
    for thread_id in threads:
        check_usable(thread_id)
    loaded = load_graph(workspace, progress)
    graph = loaded.graph
    for thread_id in threads:
        if thread_id not in graph.sessions:
            raise unknown_thread(thread_id, graph.sessions)
    wanted = set(threads) or graph.sessions.keys()
    edges = [edge for edge in graph.edges if edge.origin.session in wanted]
    circles = [way for way in graph.circles() if any(edge.origin.session in wanted for edge in way)]
    return CheckedReferences(
        tuple(Checked(edge, graph.leads(edge)) for edge in edges),
        tuple(_found(loaded, edges, circles)),
        tuple(circles),
        loaded.problems,
    )


def _found(
    loaded: LoadedGraph, edges: Sequence[Edge], circles: Sequence[tuple[Edge, ...]]
) -> Iterator[Found]:
    """What is to be said, by session: the one with the worst first, else in their order."""
    by_session: dict[str, list[Diagnostic]] = {}
    for way in circles:
        by_session.setdefault(way[0].origin.session, []).append(
            circle(way, loaded.graph.killed_on(way))
        )
    for edge, found in (*loaded.nowhere(edges), *_to_killed(loaded.graph, edges)):
        by_session.setdefault(edge.origin.session, []).append(found)
    sorted_ones = [
        Found(session, tuple(sorted(found, key=worst_first)))
        for session, found in sorted(by_session.items())
    ]
    yield from sorted(sorted_ones, key=lambda each: _RANK[each.violations[0].severity])


_RANK = {severity: rank for rank, severity in enumerate(Severity)}


def _to_killed(graph: ReferenceGraph, edges: Iterable[Edge]) -> Iterator[tuple[Edge, Diagnostic]]:
    for edge in edges:
        killed = graph.killed(edge.target)
        if killed:
            yield edge, to_killed(edge, killed)
