"""The graph of references between items, over all known sessions (R21).

It is built from the latest version of each session. It finds dangling references, cycles and
references to killed items, and reports them as diagnostics.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from brenner.artifact.merge.draft import SessionItem
from brenner.artifact.model import Artifact, KillRecord, Reference, item_sort_key
from brenner.diagnostics.codes import merging as codes
from brenner.diagnostics.codes.deltas import UNKNOWN_REFERENCE
from brenner.diagnostics.model import Diagnostic
from brenner.protocol.delta.schema import RESEARCH_THREAD
from brenner.protocol.grammar import ITEM_ID
from brenner.protocol.thread_ids import is_valid_thread_id, suggest_thread_id
from brenner.text import closest, did_you_mean, escape_control

if TYPE_CHECKING:
    from brenner.session.overview import Overview


# Cycles in a graph, found without recursion, in an order that depends only on the names


_Name = TypeVar("_Name", bound=tuple[str, ...])
Graph = Mapping[_Name, Sequence[_Name]]


def find_cycles(graph: Graph[_Name]) -> tuple[tuple[_Name, ...], ...]:
    """Return one cycle for each strongly connected component.

    Each is a shortest cycle through the first node of its component, and begins with that node.
    """
    components = sorted(sorted(component) for component in _cyclic_components(graph))
    return tuple(_shortest_cycle(graph, component) for component in components)


def _cyclic_components(graph: Graph[_Name]) -> Iterator[list[_Name]]:
    """Yield the strongly connected components with a cycle (Tarjan, with an explicit stack)."""
    seen: dict[_Name, int] = {}  # order of discovery
    low: dict[_Name, int] = {}  # the earliest node that it leads back to
    path: dict[_Name, None] = {}  # nodes not yet assigned to a component
    for start in sorted(graph):
        if start in seen:
            continue
        walk = [(start, iter(graph[start]))]
        seen[start] = low[start] = len(seen)
        path[start] = None
        while walk:
            node, following = walk[-1]
            for target in following:
                if target not in seen:
                    seen[target] = low[target] = len(seen)
                    path[target] = None
                    walk.append((target, iter(graph.get(target, ()))))
                    break
                if target in path:
                    low[node] = min(low[node], seen[target])
            else:
                walk.pop()
                if walk:
                    above = walk[-1][0]
                    low[above] = min(low[above], low[node])
                if low[node] == seen[node]:
                    component = _pop_component(path, node)
                    if len(component) > 1 or node in graph.get(node, ()):
                        yield component


def _pop_component(path: dict[_Name, None], last: _Name) -> list[_Name]:
    component: list[_Name] = []
    while not component or component[-1] != last:
        component.append(path.popitem()[0])
    return component


def _shortest_cycle(graph: Graph[_Name], component: Sequence[_Name]) -> tuple[_Name, ...]:
    """Return a shortest path from the first node of a component back to it."""
    start, within = component[0], set(component)
    came_from: dict[_Name, _Name] = {}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        for target in _targets_within(graph[node], within):
            if target == start:
                return _path_to(came_from, node, start)
            if target not in came_from:
                came_from[target] = node
                waiting.append(target)
    return ()  # not in a cyclic component


def _targets_within(targets: Sequence[_Name], within: Collection[_Name]) -> list[_Name]:
    return sorted(target for target in targets if target in within)


def _path_to(came_from: Mapping[_Name, _Name], last: _Name, start: _Name) -> tuple[_Name, ...]:
    path = [last]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return tuple(reversed(path))


NOT_KILLED: Mapping[str, KillRecord] = MappingProxyType({})


class SessionReferences(NamedTuple):
    """The items and references of a session. A session with mail and no version has no items."""

    session: str
    items: frozenset[str] = frozenset()
    references: tuple[tuple[str, Reference], ...] = ()
    killed: Mapping[str, KillRecord] = NOT_KILLED


class Edge(NamedTuple):
    """A reference from one item to another."""

    origin: SessionItem
    target: SessionItem
    relation: str

    def __str__(self) -> str:
        """Return `RS-… H4 refines RS-… H2`."""
        return f"{self.origin} {self.relation} {self.target}"


class TargetStatus(StrEnum):
    """The status of the target of a reference."""

    FOUND = "found"
    KILLED = "killed"
    UNKNOWN_ITEM = "unknown_item"
    UNKNOWN_SESSION = "unknown_session"


def references_from_overview(overview: "Overview") -> SessionReferences:
    """Return the references of a session from its row in the list of sessions."""
    items = frozenset(overview.items)
    if overview.version is not None:
        items |= {RESEARCH_THREAD.prefix}
    return SessionReferences(overview.thread_id, items, overview.references, dict(overview.killed))


def references_from_artifact(session: str, artifact: Artifact) -> SessionReferences:
    """Return the references of a session from its artifact."""
    items = [item for _section, item in artifact.all_items()]
    return SessionReferences(
        session,
        frozenset(item.id for item in items),
        tuple((item.id, reference) for item in items for reference in item.references),
        {item.id: item.killed for item in items if item.killed},
    )


def merge_session_references(mail: SessionReferences, file: SessionReferences) -> SessionReferences:
    """Merge what mail and file say about a session. The mail takes precedence.

    The file may have additional items if the mail is younger than the file, or was lost.
    """
    more = file.items - mail.items
    additional = tuple(each for each in file.references if each[0] in more)
    killed = {item: kill for item, kill in file.killed.items() if item in more}
    return SessionReferences(
        mail.session,
        mail.items | more,
        (*mail.references, *additional),
        {**mail.killed, **killed},
    )


class ReferenceGraph:
    """Items as nodes, references as edges, in the order of the sessions and of their artifacts."""

    def __init__(self, sessions: Iterable[SessionReferences]) -> None:
        """Build the graph; sessions are identified and sorted by their IDs."""
        known = {each.session: each for each in sessions}
        self.sessions: Mapping[str, SessionReferences] = {
            name: known[name] for name in sorted(known)
        }
        self.edges: tuple[Edge, ...] = tuple(
            edge for each in self.sessions.values() for edge in _edges(each)
        )
        self._out: dict[SessionItem, list[Edge]] = {}
        self._into: dict[SessionItem, list[Edge]] = {}
        for edge in self.edges:
            self._out.setdefault(edge.origin, []).append(edge)
            self._into.setdefault(edge.target, []).append(edge)

    @property
    def nodes(self) -> tuple[SessionItem, ...]:
        """Every item that refers or is referred to, whether it exists or not."""
        return tuple(dict.fromkeys((*self._out, *self._into)))

    def out_of(self, node: SessionItem) -> tuple[Edge, ...]:
        """Return the references of an item."""
        return tuple(self._out.get(node, ()))

    def into(self, node: SessionItem) -> tuple[Edge, ...]:
        """Return the references to an item."""
        return tuple(self._into.get(node, ()))

    def has(self, node: SessionItem) -> bool:
        """Return whether an item exists."""
        known = self.sessions.get(node.session)
        return known is not None and node.item in known.items

    def killed(self, node: SessionItem) -> KillRecord | None:
        """Return who killed an item, and why; None if it is active or unknown."""
        known = self.sessions.get(node.session)
        return known.killed.get(node.item) if known else None

    def killed_on(self, edges: Iterable[Edge]) -> frozenset[SessionItem]:
        """Return the killed items that these references start from."""
        return frozenset(edge.origin for edge in edges if self.killed(edge.origin))

    def leads(self, edge: Edge) -> TargetStatus:
        """Return the status of a reference's target."""
        if edge.target.session not in self.sessions:
            return TargetStatus.UNKNOWN_SESSION
        if not self.has(edge.target):
            return TargetStatus.UNKNOWN_ITEM
        return TargetStatus.KILLED if self.killed(edge.target) else TargetStatus.FOUND

    def dangling(self) -> tuple[Edge, ...]:
        """Return the references to an unknown session or item."""
        return tuple(edge for edge in self.edges if not self.has(edge.target))

    def circles(self) -> tuple[tuple[Edge, ...], ...]:
        """Return a shortest cycle of references for each strongly connected component.

        Their order depends on the names alone.
        """
        cycles = find_cycles(
            {node: [edge.target for edge in self._out[node]] for node in self._out}
        )
        return tuple(tuple(self._way(nodes)) for nodes in cycles)

    def _way(self, nodes: tuple[SessionItem, ...]) -> Iterator[Edge]:
        for origin, target in zip(nodes, (*nodes[1:], nodes[0]), strict=True):
            yield next(edge for edge in self._out[origin] if edge.target == target)


def _edges(known: SessionReferences) -> Iterator[Edge]:
    for item, reference in known.references:
        target = SessionItem(reference.session, reference.item)
        yield Edge(SessionItem(known.session, item), target, reference.relation)


# Diagnostics: dangling references, cycles, references to killed items


_FIELD = "references"
_MOST_STEPS = 12  # of a cycle, in a message
_NEIGHBOURS = 50  # on each side, for prefixes and for suffixes: as many as `closest` compares
_MOST_EDITS = 3  # between an ID and its suggestion, since all IDs of one day are similar


class SessionNames:
    """The IDs of all sessions, indexed to find similar ones quickly."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)

    def similar(self, name: str) -> list[str]:
        """Return the names with a similar beginning or end, the most similar first."""
        found = {*_neighbours_of(name, self._forwards)}
        found |= {each[::-1] for each in _neighbours_of(name[::-1], self._backwards)}
        return sorted(found, key=lambda each: (-_similarity(name, each), each))

    @cached_property
    def _forwards(self) -> list[str]:
        return sorted(self._names)

    @cached_property
    def _backwards(self) -> list[str]:
        return sorted(each[::-1] for each in self._names)


def _neighbours_of(name: str, names: list[str]) -> list[str]:
    """Return the neighbours of a name in sorted order: they have the longest common prefix."""
    at = bisect_left(names, name)
    return names[max(0, at - _NEIGHBOURS) : at + _NEIGHBOURS]


def _similarity(one: str, other: str) -> int:
    return _common_prefix_length(one, other) + _common_prefix_length(one[::-1], other[::-1])


def unknown_session_diagnostic(edge: Edge, others: SessionNames) -> Diagnostic:
    """Return the diagnostic for a reference to an unknown session; `others` are the known ones."""
    session = edge.target.session
    reason = f"there is no session `{session}`, neither in the mail nor in `artifacts/`"
    near = closest(session, others.similar(session), _MOST_EDITS)
    could_be = is_valid_thread_id(session)
    if not could_be:
        reason = f"`{session}` is not a valid thread ID, so no session will ever have it"
        near = near or suggest_thread_id(session)
    found = codes.UNKNOWN_REFERENCED_SESSION.at(None, **_parameters(edge, reason, near))
    return _with_location(found, edge, could_be=could_be)


def unknown_item_diagnostic(edge: Edge, known: SessionReferences) -> Diagnostic:
    """Return the diagnostic for a reference to an item that the session does not have."""
    item, session = edge.target.item, edge.target.session
    match = ITEM_ID.fullmatch(item)
    if match is None:
        reason = f"`{item}` is not an item's ID, so no item will ever have it"
    elif not known.items:
        reason = f"`{session}` has no version yet"
    else:
        alike = [each for each in known.items if _item_prefix(each) == _item_prefix(item)]
        reason = f"`{session}` has no `{item}`, {_existing_items(alike)}"
    near = closest(item, sorted(known.items, key=item_sort_key))
    found = codes.UNKNOWN_REFERENCED_ITEM.at(None, **_parameters(edge, reason, near))
    return _with_location(found, edge, could_be=match is not None)


def killed_target_diagnostic(edge: Edge, killed: KillRecord) -> Diagnostic:
    """Return the diagnostic for a reference to a killed item, with the reason for the kill."""
    reason = killed.reason.strip() or "no reason is given."
    words = _parameters(edge, reason, None) | {"agent": killed.agent or "somebody"}
    return _with_location(codes.REFERENCE_TO_KILLED.at(None, **words), edge)


def cycle_diagnostic(cycle: Sequence[Edge], killed: Container[SessionItem] = ()) -> Diagnostic:
    """Return the diagnostic for a cycle, beginning at its first item and shortened if long.

    Items in `killed` can no longer be edited, so the cycle must be broken at another item.
    """
    steps = [
        f"{escape_control(_relation_verb(edge.relation))} `{escape_control(str(edge.target))}`"
        for edge in cycle
    ]
    if len(steps) > _MOST_STEPS:
        more = len(steps) - _MOST_STEPS
        steps[_MOST_STEPS - 1 : -1] = [f"leads through {more} more items"]
    path_text = ", which ".join(
        [f"`{escape_control(str(cycle[0].origin))}` {steps[0]}", *steps[1:]]
    )
    # A parameter would be truncated, and a cycle must be shown whole.
    found = codes.CIRCLE_OF_REFERENCES.at(chain="")
    message, fix = (
        found.code.message.format(chain=path_text),
        found.fix + _uneditable_note(cycle, killed),
    )
    return _with_location(found._replace(message=message, fix=fix), cycle[0])


def _uneditable_note(cycle: Sequence[Edge], killed: Container[SessionItem]) -> str:
    """Name the items of a cycle that cannot be edited."""
    names = [f"`{escape_control(str(edge.origin))}`" for edge in cycle if edge.origin in killed]
    if not names:
        return ""
    if len(names) == len(cycle):
        return " All of these items are killed, and cannot be edited: the circle stays."
    more = f" and {len(names) - _MOST_STEPS} more" if len(names) > _MOST_STEPS else ""
    return f" Killed items cannot be edited: {', '.join(names[:_MOST_STEPS])}{more}."


def dangling_diagnostic(edge: Edge, graph: ReferenceGraph, names: SessionNames) -> Diagnostic:
    """Return the diagnostic for a dangling reference of the graph; `names` are its sessions."""
    known = graph.sessions.get(edge.target.session)
    return (
        unknown_item_diagnostic(edge, known) if known else unknown_session_diagnostic(edge, names)
    )


def _with_location(found: Diagnostic, edge: Edge, *, could_be: bool = True) -> Diagnostic:
    """Add item and field to a diagnostic.

    The check of a message reports an invalid ID as well, so `also` has its code.
    """
    also = () if could_be else (UNKNOWN_REFERENCE.id,)
    return found._replace(item=edge.origin.item or None, field=_FIELD, also=also)


def _relation_verb(relation: str) -> str:
    """Return a relation as a verb within a sentence."""
    return "is informed by" if relation == "informed_by" else relation


def _parameters(edge: Edge, reason: str, near: str | None) -> dict[str, str]:
    return {
        "id": edge.origin.item,
        "relation": _relation_verb(edge.relation),
        "session": edge.target.session,
        "item": edge.target.item,
        "reason": reason,
        "suggestion": did_you_mean(near),
    }


def _common_prefix_length(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return next(
        (at for at, (here, there) in enumerate(pairs) if here != there), min(len(one), len(other))
    )


def _item_prefix(item: str) -> str:
    return item.rstrip("0123456789")


def _existing_items(items: Iterable[str]) -> str:
    """Return `only H1 to H4`, or that there is no item of the kind."""
    ordered = sorted(items, key=item_sort_key)
    if not ordered:
        return "nor any item of that kind"
    first, *_, last = (*ordered, ordered[-1])
    return f"only `{first}`" + (f" to `{last}`" if first != last else "")
