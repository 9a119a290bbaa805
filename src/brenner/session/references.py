"""Which item of which session comes from which, over all sessions that are known (R21).

The graph is made of what each session says in its latest version. Nothing in it is decided: it
tells which references lead nowhere, which go in a circle, and what leads to an item.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from brenner.artifact.merge.draft import Node
from brenner.artifact.model import Artifact, Killed, Reference, order_of
from brenner.diagnostics.codes import merging as codes
from brenner.diagnostics.codes.deltas import UNKNOWN_REFERENCE
from brenner.diagnostics.model import Diagnostic
from brenner.protocol.delta.schema import RESEARCH_THREAD
from brenner.protocol.grammar import ITEM_ID
from brenner.protocol.thread_ids import is_valid, suggest_thread_id
from brenner.text import closest, did_you_mean, escape_control

if TYPE_CHECKING:
    from brenner.session.overview import Overview


# Circles in a graph of any size: found without recursion, told in an order that names decide.


_Name = TypeVar("_Name", bound=tuple[str, ...])
Graph = Mapping[_Name, Sequence[_Name]]


def circles_of(graph: Graph[_Name]) -> tuple[tuple[_Name, ...], ...]:
    """A circle for every knot: a largest set of nodes that all lead to one another.

    Each is a shortest one through the first node of its knot, which it begins with.
    """
    knots = sorted(sorted(knot) for knot in _knots(graph))
    return tuple(_round(graph, knot) for knot in knots)


def _knots(graph: Graph[_Name]) -> Iterator[list[_Name]]:
    """The strongly connected components that hold a circle (Tarjan, with a stack of its own)."""
    seen: dict[_Name, int] = {}  # when a node was come upon
    low: dict[_Name, int] = {}  # the earliest that it leads back to
    path: dict[_Name, None] = {}  # what may still turn out to be one knot, in that order
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
                    knot = _taken_off(path, node)
                    if len(knot) > 1 or node in graph.get(node, ()):
                        yield knot


def _taken_off(path: dict[_Name, None], last: _Name) -> list[_Name]:
    knot: list[_Name] = []
    while not knot or knot[-1] != last:
        knot.append(path.popitem()[0])
    return knot


def _round(graph: Graph[_Name], knot: Sequence[_Name]) -> tuple[_Name, ...]:
    """A shortest way from the first node of a knot back to it."""
    start, within = knot[0], set(knot)
    came_from: dict[_Name, _Name] = {}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        for target in _inside(graph[node], within):
            if target == start:
                return _back(came_from, node, start)
            if target not in came_from:
                came_from[target] = node
                waiting.append(target)
    return ()  # not in a knot


def _inside(targets: Sequence[_Name], within: Collection[_Name]) -> list[_Name]:
    return sorted(target for target in targets if target in within)


def _back(came_from: Mapping[_Name, _Name], last: _Name, start: _Name) -> tuple[_Name, ...]:
    way = [last]
    while way[-1] != start:
        way.append(came_from[way[-1]])
    return tuple(reversed(way))


NOT_KILLED: Mapping[str, Killed] = MappingProxyType({})


class Known(NamedTuple):
    """A session as far as references go. One that has mail and no version has no items."""

    session: str
    items: frozenset[str] = frozenset()
    references: tuple[tuple[str, Reference], ...] = ()
    killed: Mapping[str, Killed] = NOT_KILLED


class Edge(NamedTuple):
    """That an item comes from another one."""

    origin: Node
    target: Node
    relation: str

    def __str__(self) -> str:
        """As one says it: `RS-… H4 refines RS-… H2`."""
        return f"{self.origin} {self.relation} {self.target}"


class Leads(StrEnum):
    """Where a reference leads."""

    SOMEWHERE = "found"
    TO_KILLED = "killed"
    NO_ITEM = "unknown_item"
    NO_SESSION = "unknown_session"


def known_by_overview(overview: "Overview") -> Known:
    """A session as its row in the list of sessions tells of it."""
    items = frozenset(overview.items)
    if overview.version is not None:
        items |= {RESEARCH_THREAD.prefix}
    return Known(overview.thread_id, items, overview.references, dict(overview.killed))


def known_by_artifact(session: str, artifact: Artifact) -> Known:
    """A session as its artifact tells of it."""
    held = [item for _section, item in artifact.all_items()]
    return Known(
        session,
        frozenset(item.id for item in held),
        tuple((item.id, reference) for item in held for reference in item.references),
        {item.id: item.killed for item in held if item.killed},
    )


def united(mail: Known, file: Known) -> Known:
    """A session of which both mail and file tell. What the mail says of an item holds; the file
    may have items besides, where the mail is younger than the file, or was lost.
    """
    more = file.items - mail.items
    besides = tuple(each for each in file.references if each[0] in more)
    killed = {item: kill for item, kill in file.killed.items() if item in more}
    return Known(
        mail.session,
        mail.items | more,
        (*mail.references, *besides),
        {**mail.killed, **killed},
    )


class ReferenceGraph:
    """Items as nodes, references as edges, in the order of the sessions and of their artifacts."""

    def __init__(self, sessions: Iterable[Known]) -> None:
        """Sessions are told apart by their IDs, and stand in the order of these."""
        known = {each.session: each for each in sessions}
        self.sessions: Mapping[str, Known] = {name: known[name] for name in sorted(known)}
        self.edges: tuple[Edge, ...] = tuple(
            edge for each in self.sessions.values() for edge in _edges(each)
        )
        self._out: dict[Node, list[Edge]] = {}
        self._into: dict[Node, list[Edge]] = {}
        for edge in self.edges:
            self._out.setdefault(edge.origin, []).append(edge)
            self._into.setdefault(edge.target, []).append(edge)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Everything that refers or is referred to, whether it is there or not."""
        return tuple(dict.fromkeys((*self._out, *self._into)))

    def out_of(self, node: Node) -> tuple[Edge, ...]:
        """What an item refers to."""
        return tuple(self._out.get(node, ()))

    def into(self, node: Node) -> tuple[Edge, ...]:
        """What refers to an item."""
        return tuple(self._into.get(node, ()))

    def has(self, node: Node) -> bool:
        """Whether there is such an item."""
        known = self.sessions.get(node.session)
        return known is not None and node.item in known.items

    def killed(self, node: Node) -> Killed | None:
        """Who killed an item, and why; None where it is active or unknown."""
        known = self.sessions.get(node.session)
        return known.killed.get(node.item) if known else None

    def killed_on(self, way: Iterable[Edge]) -> frozenset[Node]:
        """The killed items on a way."""
        return frozenset(edge.origin for edge in way if self.killed(edge.origin))

    def leads(self, edge: Edge) -> Leads:
        """Where a reference leads."""
        if edge.target.session not in self.sessions:
            return Leads.NO_SESSION
        if not self.has(edge.target):
            return Leads.NO_ITEM
        return Leads.TO_KILLED if self.killed(edge.target) else Leads.SOMEWHERE

    def dangling(self) -> tuple[Edge, ...]:
        """The references to an unknown session or item."""
        return tuple(edge for edge in self.edges if not self.has(edge.target))

    def circles(self) -> tuple[tuple[Edge, ...], ...]:
        """Circles, each as the way round it: as many as there are knots of items that come from
        one another, a shortest way in each. Their order depends on the names alone.
        """
        ways = circles_of({node: [edge.target for edge in self._out[node]] for node in self._out})
        return tuple(tuple(self._way(way)) for way in ways)

    def _way(self, nodes: tuple[Node, ...]) -> Iterator[Edge]:
        for origin, target in zip(nodes, (*nodes[1:], nodes[0]), strict=True):
            yield next(edge for edge in self._out[origin] if edge.target == target)


def _edges(known: Known) -> Iterator[Edge]:
    for item, reference in known.references:
        target = Node(reference.session, reference.item)
        yield Edge(Node(known.session, item), target, reference.relation)


# What is to be said of references: that one leads nowhere, in a circle, or to a killed item.


_FIELD = "references"
_MOST_STEPS = 12  # of a circle
_NEIGHBOURS = 50  # on each side, by the beginning and by the end: as many as `nearest` compares
_MOST_EDITS = 3  # between an ID and the one that was meant: all of a day look alike


class Names:
    """The IDs of all sessions, in order, so that those like one of them are found quickly."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)

    def like(self, name: str) -> list[str]:
        """Those that begin like it, and those that end like it; the most alike first."""
        found = {*_around(name, self._forwards)}
        found |= {each[::-1] for each in _around(name[::-1], self._backwards)}
        return sorted(found, key=lambda each: (-_common(name, each), each))

    @cached_property
    def _forwards(self) -> list[str]:
        return sorted(self._names)

    @cached_property
    def _backwards(self) -> list[str]:
        return sorted(each[::-1] for each in self._names)


def _around(name: str, names: list[str]) -> list[str]:
    """What stands nearest to a name in the order of all has the longest beginning in common."""
    at = bisect_left(names, name)
    return names[max(0, at - _NEIGHBOURS) : at + _NEIGHBOURS]


def _common(one: str, other: str) -> int:
    return _alike(one, other) + _alike(one[::-1], other[::-1])


def unknown_session(edge: Edge, others: Names) -> Diagnostic:
    """A reference to a session that is not known; `others` are those that are."""
    session = edge.target.session
    reason = f"there is no session `{session}`, neither in the mail nor in `artifacts/`"
    near = closest(session, others.like(session), _MOST_EDITS)
    could_be = is_valid(session)
    if not could_be:
        reason = f"`{session}` is not a valid thread ID, so no session will ever have it"
        near = near or suggest_thread_id(session)
    found = codes.UNKNOWN_REFERENCED_SESSION.at(None, **_words(edge, reason, near))
    return _about(found, edge, could_be=could_be)


def unknown_item(edge: Edge, known: Known) -> Diagnostic:
    """A reference to an item that the session does not have."""
    item, session = edge.target.item, edge.target.session
    match = ITEM_ID.fullmatch(item)
    if match is None:
        reason = f"`{item}` is not an item's ID, so no item will ever have it"
    elif not known.items:
        reason = f"`{session}` has no version yet"
    else:
        alike = [each for each in known.items if _prefix(each) == _prefix(item)]
        reason = f"`{session}` has no `{item}`, {_listed(alike)}"
    near = closest(item, sorted(known.items, key=order_of))
    found = codes.UNKNOWN_REFERENCED_ITEM.at(None, **_words(edge, reason, near))
    return _about(found, edge, could_be=match is not None)


def to_killed(edge: Edge, killed: Killed) -> Diagnostic:
    """A reference to an item that was killed, and why."""
    reason = killed.reason.strip() or "no reason is given."
    words = _words(edge, reason, None) | {"agent": killed.agent or "somebody"}
    return _about(codes.REFERENCE_TO_KILLED.at(None, **words), edge)


def circle(way: Sequence[Edge], killed: Container[Node] = ()) -> Diagnostic:
    """A circle, told from its first item on; of a long one the beginning and the end.

    An item that is `killed` can no longer be edited: the circle is taken apart at another one.
    """
    steps = [
        f"{escape_control(_said(edge.relation))} `{escape_control(str(edge.target))}`"
        for edge in way
    ]
    if len(steps) > _MOST_STEPS:
        more = len(steps) - _MOST_STEPS
        steps[_MOST_STEPS - 1 : -1] = [f"leads through {more} more items"]
    history = ", which ".join([f"`{escape_control(str(way[0].origin))}` {steps[0]}", *steps[1:]])
    found = codes.CIRCLE_OF_REFERENCES.at(chain="")  # a word would be cut, and a circle must close
    message, fix = found.code.message.format(chain=history), found.fix + _without(way, killed)
    return _about(found._replace(message=message, fix=fix), way[0])


def _without(way: Sequence[Edge], killed: Container[Node]) -> str:
    """Which items of a circle cannot be edited."""
    names = [f"`{escape_control(str(edge.origin))}`" for edge in way if edge.origin in killed]
    if not names:
        return ""
    if len(names) == len(way):
        return " All of these items are killed, and cannot be edited: the circle stays."
    more = f" and {len(names) - _MOST_STEPS} more" if len(names) > _MOST_STEPS else ""
    return f" Killed items cannot be edited: {', '.join(names[:_MOST_STEPS])}{more}."


def dangling(edge: Edge, graph: ReferenceGraph, names: Names) -> Diagnostic:
    """A reference that leads nowhere, as the whole graph shows it; `names` are its sessions."""
    known = graph.sessions.get(edge.target.session)
    return unknown_item(edge, known) if known else unknown_session(edge, names)


def _about(found: Diagnostic, edge: Edge, *, could_be: bool = True) -> Diagnostic:
    """With its place; a word that is no ID is what the check of a message warns of as well."""
    also = () if could_be else (UNKNOWN_REFERENCE.id,)
    return found._replace(item=edge.origin.item or None, field=_FIELD, also=also)


def _said(relation: str) -> str:
    """A relation within a sentence."""
    return "is informed by" if relation == "informed_by" else relation


def _words(edge: Edge, reason: str, near: str | None) -> dict[str, str]:
    return {
        "id": edge.origin.item,
        "relation": _said(edge.relation),
        "session": edge.target.session,
        "item": edge.target.item,
        "reason": reason,
        "suggestion": did_you_mean(near),
    }


def _alike(one: str, other: str) -> int:
    """How many characters two words have in common at their beginning."""
    pairs = zip(one, other, strict=False)
    return next(
        (at for at, (here, there) in enumerate(pairs) if here != there), min(len(one), len(other))
    )


def _prefix(item: str) -> str:
    return item.rstrip("0123456789")


def _listed(items: Iterable[str]) -> str:
    """`only H1 to H4`, or that there is nothing of the kind."""
    held = sorted(items, key=order_of)
    if not held:
        return "nor any item of that kind"
    first, *_, last = (*held, held[-1])
    return f"only `{first}`" + (f" to `{last}`" if first != last else "")
