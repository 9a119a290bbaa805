"""Graphs of references, made by hand and by chance: what genealogies are tried on."""

from collections.abc import Iterable
from itertools import pairwise

from hypothesis import strategies as st

from brenner.artifact.merging.circles import Node
from brenner.artifact.model import Reference
from brenner.delta.schema import RELATIONS
from brenner.session.genealogy_facts import Described, Fate
from brenner.session.reference_graph import Known, ReferenceGraph

SESSIONS = ("RS-20260105-cell-fate", "RS-20260112-gradient", "COORD-20260201-all", "engine-3")
UNKNOWN = "RS-20251231-lost"
ITEMS = ("H1", "H2", "H10", "T1", "X1")


def graph_of(edges: Iterable[tuple[Node, str, Node]], items: Iterable[Node] = ()) -> ReferenceGraph:
    """The graph of these references; their origins are there, and so are the items."""
    held: dict[str, set[str]] = {}
    references: dict[str, list[tuple[str, Reference]]] = {}
    for node in items:
        held.setdefault(node.session, set()).add(node.item)
    for origin, relation, target in edges:
        held.setdefault(origin.session, set()).add(origin.item)
        references.setdefault(origin.session, []).append(
            (origin.item, Reference(*target, relation))
        )
    return ReferenceGraph(
        Known(session, frozenset(names), tuple(references.get(session, ())))
        for session, names in held.items()
    )


def chain_of(length: int, relation: str = "refines") -> tuple[ReferenceGraph, list[Node]]:
    """A line of ideas, the newest first, each in a session of its own."""
    nodes = [Node(f"RS-20260101-idea-{number:05}", "H1") for number in reversed(range(length))]
    edges = [(each, relation, before) for each, before in pairwise(nodes)]
    return graph_of(edges, nodes), nodes


nodes = st.builds(Node, st.sampled_from(SESSIONS), st.sampled_from(ITEMS))
targets = st.builds(Node, st.sampled_from((*SESSIONS, UNKNOWN)), st.sampled_from(ITEMS))
references = st.tuples(nodes, st.sampled_from(RELATIONS), targets)
# Circles, references of an item to itself and to what is not there, the same one twice
graphs = st.lists(references, max_size=25).map(graph_of)


def name_only(node: Node) -> Described:
    """An item of which only the name is known."""
    return Described(node, Fate.ACTIVE, f"What {node.item} says", "hypothesis_slate")


def pairs_of(graph: ReferenceGraph) -> set[tuple[Node, Node]]:
    """Who refers to whom."""
    return {(edge.origin, edge.target) for edge in graph.edges}


def closure(pairs: set[tuple[Node, Node]]) -> set[tuple[Node, Node]]:
    """Everything that follows in any number of steps: joined until nothing is new."""
    found = set(pairs)
    while True:
        more = {(a, d) for a, b in found for c, d in pairs if b == c} - found
        if not more:
            return found
        found |= more
