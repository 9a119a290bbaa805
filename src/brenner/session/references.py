"""The graph of references between items, over all known sessions (R21).

It is built from the latest version of each session. It finds dangling references, cycles and
references to killed items, and reports them as diagnostics.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from posixpath import commonprefix
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from brenner.artifact.merge.draft import SessionItem
from brenner.artifact.model import Artifact, KillRecord, Reference, item_sort_key
from brenner.diagnostics.codes import merging as codes
from brenner.diagnostics.codes.deltas import UNKNOWN_REFERENCE
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.schema import RESEARCH_THREAD
from brenner.protocol.grammar import ITEM_ID
from brenner.protocol.thread_ids import is_valid_thread_id, suggest_thread_id
from brenner.text import closest, did_you_mean, escape_control

if TYPE_CHECKING:
    from brenner.diagnostics.model import Diagnostic
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
    component = [path.popitem()[0]]
    while component[-1] != last:
        component.append(path.popitem()[0])
    return component


def _shortest_cycle(graph: Graph[_Name], component: Sequence[_Name]) -> tuple[_Name, ...]:
    """Return a shortest path from the first node of a component back to it."""
    start, within = component[0], set(component)
    came_from: dict[_Name, _Name] = {}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        for target in sorted(within.intersection(graph[node])):
            if target == start:
                path = [node]
                while path[-1] != start:
                    path.append(came_from[path[-1]])
                return tuple(reversed(path))
            if target not in came_from:
                came_from[target] = node
                waiting.append(target)
    return ()  # not in a cyclic component


_NOTHING: Mapping[str, Any] = MappingProxyType({})


class SessionReferences(NamedTuple):
    """The items of a session, the references and the kill of each.

    A session with mail and no version has no items.
    """

    session: str
    items: frozenset[str] = frozenset()
    references: Mapping[str, Sequence[Reference]] = _NOTHING
    killed: Mapping[str, KillRecord] = _NOTHING


class Edge(NamedTuple):
    """A reference from one item to another."""

    origin: SessionItem
    target: SessionItem
    relation: str

    def __str__(self) -> str:
        """Return `RS-… H4 refines RS-… H2`."""
        return f"{self.origin} {self.relation} {self.target}"


class ItemStatus(StrEnum):
    """The status of an item; the values are stable in the JSON."""

    ACTIVE = "active"
    KILLED = "killed"
    UNKNOWN_ITEM = "unknown_item"
    UNKNOWN_SESSION = "unknown_session"


def references_from_overview(overview: Overview) -> SessionReferences:
    items = frozenset(overview.items)
    if overview.version is not None:
        items |= {RESEARCH_THREAD.prefix}
    references: dict[str, list[Reference]] = {}
    for item, reference in overview.references:
        references.setdefault(item, []).append(reference)
    return SessionReferences(overview.thread_id, items, references, dict(overview.killed))


def references_from_artifact(session: str, artifact: Artifact) -> SessionReferences:
    items = [item for _section, item in artifact.all_items()]
    references: dict[str, list[Reference]] = {}
    for item in items:
        references.setdefault(item.id, []).extend(item.references)
    killed = {item.id: item.killed for item in items if item.killed}
    return SessionReferences(session, frozenset(references), references, killed)


def merge_session_references(mail: SessionReferences, file: SessionReferences) -> SessionReferences:
    """Merge what mail and file say about a session. The mail takes precedence.

    The file may have additional items if the mail is younger than the file, or was lost.
    """
    more = file.items - mail.items
    references = {item: some for item, some in file.references.items() if item in more}
    killed = {item: kill for item, kill in file.killed.items() if item in more}
    return SessionReferences(
        mail.session,
        mail.items | more,
        {**mail.references, **references},
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
            edge for each in self.sessions.values() for edge in edges_of(each)
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
        return tuple(self._out.get(node, ()))

    def into(self, node: SessionItem) -> tuple[Edge, ...]:
        return tuple(self._into.get(node, ()))

    def has(self, node: SessionItem) -> bool:
        known = self.sessions.get(node.session)
        return known is not None and node.item in known.items

    def killed(self, node: SessionItem) -> KillRecord | None:
        """Return who killed an item, and why; None if it is active or unknown."""
        known = self.sessions.get(node.session)
        return known.killed.get(node.item) if known else None

    def killed_on(self, edges: Iterable[Edge]) -> frozenset[SessionItem]:
        """Return the killed items that these references start from."""
        return frozenset(edge.origin for edge in edges if self.killed(edge.origin))

    def status(self, node: SessionItem) -> ItemStatus:
        if node.session not in self.sessions:
            return ItemStatus.UNKNOWN_SESSION
        if not self.has(node):
            return ItemStatus.UNKNOWN_ITEM
        return ItemStatus.KILLED if self.killed(node) else ItemStatus.ACTIVE

    def circles(self) -> tuple[tuple[Edge, ...], ...]:
        """Return a shortest cycle of references for each strongly connected component.

        Their order depends on the names alone.
        """
        targets = {node: [edge.target for edge in edges] for node, edges in self._out.items()}
        return tuple(
            tuple(
                next(edge for edge in self._out[origin] if edge.target == target)
                for origin, target in zip(nodes, (*nodes[1:], nodes[0]), strict=True)
            )
            for nodes in find_cycles(targets)
        )


def edges_of(known: SessionReferences) -> Iterator[Edge]:
    for item, references in known.references.items():
        for session, target, relation in references:
            yield Edge(SessionItem(known.session, item), SessionItem(session, target), relation)


# Diagnostics: dangling references, cycles, references to killed items


_FIELD = "references"
_MOST_STEPS = 12  # of a cycle, in a message
_NEIGHBOURS = 50  # on each side, for prefixes and for suffixes: as many as `closest` compares
_MOST_EDITS = 3  # between an ID and its suggestion, since all IDs of one day are similar


# Finds the session that is probably meant by a name
FindSession = Callable[[str], str | None]


def session_finder(names: Callable[[], Iterable[str]]) -> FindSession:
    """Return a function that finds similar names quickly; `names` are sorted on first use."""

    @cache
    def sorted_names() -> tuple[list[str], list[str]]:
        forwards = sorted(names())
        return forwards, sorted(each[::-1] for each in forwards)

    def find(name: str) -> str | None:
        """Return a name whose beginning or end is similar."""
        forwards, backwards = sorted_names()
        found = {*_neighbours_of(name, forwards)}
        found |= {each[::-1] for each in _neighbours_of(name[::-1], backwards)}
        ranked = sorted(found, key=lambda each: (-_similarity(name, each), each))
        return closest(name, ranked, _MOST_EDITS)

    return find


def _neighbours_of(name: str, names: list[str]) -> list[str]:
    """Return the neighbours of a name in sorted order: they have the longest common prefix."""
    at = bisect_left(names, name)
    return names[max(0, at - _NEIGHBOURS) : at + _NEIGHBOURS]


def _similarity(one: str, other: str) -> int:
    return len(commonprefix([one, other])) + len(commonprefix([one[::-1], other[::-1]]))


def dangling_diagnostic(
    edge: Edge, known: SessionReferences | None, find: FindSession
) -> Diagnostic:
    """Return the diagnostic for a dangling reference.

    `known` is the session that it names, if it exists, and `find` finds similar names.
    """
    if known is None:
        return _unknown_session_diagnostic(edge, find)
    item, session = edge.target.item, edge.target.session
    match = ITEM_ID.fullmatch(item)
    if match is None:
        reason = f"`{item}` is not a valid item ID"
    elif not known.items:
        reason = f"`{session}` has no version yet"
    else:
        kind = item.rstrip("0123456789")
        alike = [each for each in known.items if each.rstrip("0123456789") == kind]
        reason = f"`{session}` has no `{item}` ({_existing_items(alike)})"
    found = codes.UNKNOWN_REFERENCED_ITEM.at(None, **_parameters(edge, reason, None))
    return _with_location(found, edge, could_be=match is not None)


def _unknown_session_diagnostic(edge: Edge, find: FindSession) -> Diagnostic:
    session = edge.target.session
    reason = f"the session `{session}` is neither in the mail nor in `artifacts/`"
    near = find(session)
    could_be = is_valid_thread_id(session)
    if not could_be:
        reason = f"`{session}` is not a valid thread ID"
        near = near or suggest_thread_id(session)
    found = codes.UNKNOWN_REFERENCED_SESSION.at(None, **_parameters(edge, reason, near))
    return _with_location(found, edge, could_be=could_be)


def killed_target_diagnostic(edge: Edge, killed: KillRecord) -> Diagnostic:
    reason = killed.reason.strip() or "no reason given."
    words = _parameters(edge, reason, None) | {"agent": killed.agent or "an unknown agent"}
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
    start = f"`{escape_control(str(cycle[0].origin))}` {steps[0]}"
    path_text = ", which ".join([start, *steps[1:]])
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
        return " All of these items are killed and cannot be edited, so the circle remains."
    more = f" and {len(names) - _MOST_STEPS} more" if len(names) > _MOST_STEPS else ""
    return f" Killed items cannot be edited: {', '.join(names[:_MOST_STEPS])}{more}."


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


def _existing_items(items: Iterable[str]) -> str:
    """Return `it has H1 to H4`, or that there is no item of the kind."""
    ordered = sorted(items, key=item_sort_key)
    if not ordered:
        return "it has no item of that kind"
    first, *_, last = (*ordered, ordered[-1])
    return f"it has `{first}`" + (f" to `{last}`" if first != last else "")
