"""Graphs of references, made by hand and by chance: what genealogies are tried on."""

from collections.abc import Iterable
from itertools import pairwise

from hypothesis import strategies as st

from brenner.artifact.merge.draft import SessionItem
from brenner.artifact.model import Reference
from brenner.protocol.delta.schema import RELATIONS
from brenner.session.genealogy import ItemInfo
from brenner.session.references import ItemStatus, ReferenceGraph, SessionReferences
from strategies import any_text

SESSIONS = ("RS-20260105-cell-fate", "RS-20260112-gradient")
UNKNOWN = "RS-20251231-lost"
ITEMS = ("H2", "H10", "T1")


def graph_of(
    edges: Iterable[tuple[SessionItem, str, SessionItem]], items: Iterable[SessionItem] = ()
) -> ReferenceGraph:
    """The graph of these references; their origins are there, and so are the items."""
    held: dict[str, set[str]] = {}
    references: dict[str, dict[str, list[Reference]]] = {}
    for node in items:
        held.setdefault(node.session, set()).add(node.item)
    for origin, relation, target in edges:
        held.setdefault(origin.session, set()).add(origin.item)
        mine = references.setdefault(origin.session, {})
        mine.setdefault(origin.item, []).append(Reference(*target, relation))
    return ReferenceGraph(
        SessionReferences(session, frozenset(names), references.get(session, {}))
        for session, names in held.items()
    )


def chain_of(length: int, relation: str = "refines") -> tuple[ReferenceGraph, list[SessionItem]]:
    """A line of ideas, the newest first, each in a session of its own."""
    nodes = [
        SessionItem(f"RS-20260101-idea-{number:05}", "H1") for number in reversed(range(length))
    ]
    edges = [(each, relation, before) for each, before in pairwise(nodes)]
    return graph_of(edges, nodes), nodes


nodes = st.builds(SessionItem, st.sampled_from(SESSIONS), st.sampled_from(ITEMS))
targets = st.builds(SessionItem, st.sampled_from((*SESSIONS, UNKNOWN)), st.sampled_from(ITEMS))
references = st.tuples(nodes, st.sampled_from(RELATIONS), targets)
# Circles, references of an item to itself and to what is not there, the same one twice
graphs = st.one_of(
    st.lists(references, max_size=6), st.lists(references, min_size=7, max_size=20)
).map(graph_of)
# What Mermaid looks for in a label, and how it marks entities inside
HOSTILE_LABELS = (
    *('"', '"]', "`", "%%", "%%{init: {}}%%", "#quot;", "#35;", "&quot;", "ﬂ°°34¶ß", "ﬂ°lt¶ß"),
    *("<b>", "<br/>", "click n1", "|", "]", "}", ")", ":::killed", ";", "---", "end", "\n", "\\n"),
    *("classDef killed fill:#f00;", "style n1 fill:#f00;", "1. x", "- x", "fa:fa-car", "$$x$$"),
    *("**x**", "_x_", "@{shape: rect}", "javascript:x", "www.example.org", "\u202e", "\x1b[2J"),
)
labels = st.lists(st.one_of(st.sampled_from(HOSTILE_LABELS), any_text), max_size=6).map("".join)


def name_only(node: SessionItem) -> ItemInfo:
    """An item of which only the name is known."""
    return ItemInfo(node, ItemStatus.ACTIVE, f"What {node.item} says", "hypothesis_slate")


def pairs_of(graph: ReferenceGraph) -> set[tuple[SessionItem, SessionItem]]:
    """Who refers to whom."""
    return {(edge.origin, edge.target) for edge in graph.edges}


def closure(pairs: set[tuple[SessionItem, SessionItem]]) -> set[tuple[SessionItem, SessionItem]]:
    """Everything that follows in any number of steps: joined until nothing is new."""
    found = set(pairs)
    while True:
        more = {(a, d) for a, b in found for c, d in pairs if b == c} - found
        if not more:
            return found
        found |= more
