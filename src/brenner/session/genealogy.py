"""Where an idea comes from, and what came of it, over all sessions that are known.

An item comes from those that it refers to, and so do these: its ancestors. What refers to it, and
to that in turn, are its descendants. Nothing here is recursive: a line of ideas may be long, and
two compilers at once may even have closed a circle.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from brenner.artifact.merge.draft import Node
from brenner.artifact.model import order_of
from brenner.protocol.delta.schema import SECTIONS
from brenner.session.genealogy_facts import Described
from brenner.session.reference_graph import Edge, ReferenceGraph

# The relations by which an idea lives on in another one. What refutes it, or only knew of it, is
# another idea.
LINEAGE = frozenset({"extends", "refines", "supersedes", "replicates"})
_PLACES = {section.prefix: place for place, section in enumerate(SECTIONS.values())}

Describe = Callable[[Node], Described]


class Direction(StrEnum):
    """Which way references are followed."""

    ANCESTORS = "ancestors"
    DESCENDANTS = "descendants"


class Link(NamedTuple):
    """That one item leads to another in some direction, and by which relations."""

    node: Node
    relations: tuple[str, ...]


class Reach(NamedTuple):
    """What can be reached from some items: how many steps each is away, the nearest first.

    The items themselves are no steps away. `left_out` counts what is further away than `depth`.
    """

    direction: Direction
    steps: dict[Node, int]
    edges: tuple[Edge, ...]
    depth: int | None = None
    left_out: int = 0

    @property
    def found(self) -> tuple[Node, ...]:
        """What was reached, the items themselves aside."""
        return tuple(node for node, steps in self.steps.items() if steps)


class Genealogy(NamedTuple):
    """Of an item, or of a session with all of its items that refer or are referred to.

    A direction that nobody asked for is None.
    """

    session: str
    item: str | None
    starts: tuple[Node, ...]
    ancestors: Reach | None
    descendants: Reach | None
    circles: tuple[tuple[Edge, ...], ...] = ()

    @property
    def reaches(self) -> tuple[Reach, ...]:
        """The directions that were asked for."""
        return tuple(each for each in (self.ancestors, self.descendants) if each is not None)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Every item once: the ones asked about, ancestors, descendants."""
        found = (node for reach in self.reaches for node in reach.steps)
        return tuple(dict.fromkeys((*self.starts, *found)))

    @property
    def edges(self) -> tuple[Edge, ...]:
        """Every reference once."""
        return tuple(dict.fromkeys(edge for reach in self.reaches for edge in reach.edges))

    @property
    def sessions(self) -> tuple[str, ...]:
        """The sessions of all items, by their IDs: those of research by their dates."""
        return tuple(sorted({self.session, *(node.session for node in self.nodes)}))


def node_order(node: Node) -> tuple[str, int, tuple[int, str]]:
    """The sort key of items: by session, section and number."""
    return (node.session, _PLACES.get(node.item[:1], len(_PLACES)), order_of(node.item))


def links(graph: ReferenceGraph, node: Node, direction: Direction) -> tuple[Link, ...]:
    """What an item leads to in one step, each once, in their order."""
    is_up = direction is Direction.ANCESTORS
    relations: dict[Node, dict[str, None]] = {}
    for edge in graph.out_of(node) if is_up else graph.into(node):
        relations.setdefault(edge.target if is_up else edge.origin, {})[edge.relation] = None
    return tuple(Link(to, tuple(relations[to])) for to in sorted(relations, key=node_order))


def reach(
    graph: ReferenceGraph, starts: Iterable[Node], direction: Direction, depth: int | None = None
) -> Reach:
    """All that can be reached, or what is no more than so many steps away."""
    steps = dict.fromkeys(starts, 0)
    waiting = deque(steps)
    while waiting:
        node = waiting.popleft()
        for link in links(graph, node, direction):
            if link.node not in steps:
                steps[link.node] = steps[node] + 1
                waiting.append(link.node)
    near = {node: far for node, far in steps.items() if depth is None or far <= depth}
    is_up = direction is Direction.ANCESTORS
    passed = (node for node, far in near.items() if depth is None or far < depth)
    edges = (
        edge for node in passed for edge in (graph.out_of(node) if is_up else graph.into(node))
    )
    return Reach(direction, near, tuple(dict.fromkeys(edges)), depth, len(steps) - len(near))


def genealogy(
    graph: ReferenceGraph,
    session: str,
    item: str | None,
    directions: Sequence[Direction] = tuple(Direction),
    depth: int | None = None,
) -> Genealogy:
    """Where an item, or every item of a session, comes from, and what came of it."""
    starts = (Node(session, item),) if item else _connected(graph, session)
    ways = {way: reach(graph, starts, way, depth) for way in directions}
    found = {node for each in ways.values() for node in each.steps}
    circles = graph.circles() if found else ()
    return Genealogy(
        session,
        item,
        starts,
        ways.get(Direction.ANCESTORS),
        ways.get(Direction.DESCENDANTS),
        tuple(circle for circle in circles if all(edge.origin in found for edge in circle)),
    )


def _connected(graph: ReferenceGraph, session: str) -> tuple[Node, ...]:
    """The items of a session that refer or are referred to."""
    found = {node for node in graph.nodes if node.session == session}
    return tuple(sorted(found, key=node_order))


# Between sessions


class Between(NamedTuple):
    """How often one session refers to another, by relation."""

    origin: str
    target: str
    relations: tuple[tuple[str, int], ...]


def between(edges: Iterable[Edge]) -> tuple[Between, ...]:
    """The references from one session to another, summed up; those within a session aside."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for edge in edges:
        pair = (edge.origin.session, edge.target.session)
        if pair[0] != pair[1]:
            counts.setdefault(pair, Counter())[edge.relation] += 1
    return tuple(Between(*pair, tuple(counts[pair].items())) for pair in sorted(counts))


# Who had the idea


class FirstProposed(NamedTuple):
    """The earliest proposal of an idea; several where sessions have one of the same instant.

    `not_known` are the items in its line of which nobody here can say who proposed them and when:
    one of them may be earlier.
    """

    item: Node
    earliest: tuple[Described, ...]
    not_known: tuple[Node, ...]


def first_proposed(graph: ReferenceGraph, node: Node, describe: Describe) -> FirstProposed:
    """Who first proposed an item, or what it extends, refines, supersedes or replicates."""
    line = [describe(each) for each in _lineage(graph, node)]
    known = [(each.proposal, each) for each in line if each.proposal and each.proposal.at]
    first = min((proposal.at for proposal, _ in known if proposal.at), default=None)
    tied = [pair for pair in known if pair[0].at == first]
    tied.sort(key=lambda pair: (pair[0].message_id, pair[0].block))
    # Of one session the order of the mail decides; between sessions nothing does.
    earliest = {each.node.session: each for _, each in reversed(tied)}
    dated = {each.node for _, each in known}
    return FirstProposed(
        node,
        tuple(each for each in line if earliest.get(each.node.session) is each),
        tuple(each.node for each in line if each.node not in dated),
    )


def _lineage(graph: ReferenceGraph, node: Node) -> tuple[Node, ...]:
    """The item and its ancestors by the relations that carry an idea on."""
    found = {node: None}
    waiting = deque([node])
    while waiting:
        for link in links(graph, waiting.popleft(), Direction.ANCESTORS):
            if link.node not in found and not LINEAGE.isdisjoint(link.relations):
                found[link.node] = None
                waiting.append(link.node)
    return tuple(found)
