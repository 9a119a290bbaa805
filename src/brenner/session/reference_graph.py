"""Which item of which session comes from which, over all sessions that are known (R21).

The graph is made of what each session says in its latest version. Nothing in it is decided: it
tells which references lead nowhere, which go in a circle, and what leads to an item.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from brenner.artifact.merge.draft import Node
from brenner.artifact.model import Artifact, Killed, Reference
from brenner.protocol.delta.schema import RESEARCH_THREAD
from brenner.session.circles import circles_of

if TYPE_CHECKING:
    from brenner.session.overview import Overview

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
