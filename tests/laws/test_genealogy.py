"""Genealogies: followed to the end in both directions, drawn whole, and nothing in them obeyed."""

import re
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from brenner.artifact.merge.draft import SessionItem
from brenner.session.genealogy import (
    Direction,
    ItemInfo,
    SessionInfo,
    Tree,
    find_reachable,
    genealogy,
    genealogy_json,
    mermaid,
    mermaid_label,
)
from brenner.session.references import ItemStatus, ReferenceGraph
from brenner.text import escape_control
from genealogies import closure, graphs, labels, name_only, nodes, pairs_of

UP, DOWN = Direction.ANCESTORS, Direction.DESCENDANTS
LABEL = r'"(?:[^\W_]|[ ,()-]|#[0-9]+;|<br/>)*"'
CHART = re.compile(
    "|".join(
        (
            "flowchart BT",
            rf"  subgraph s[0-9]+\[{LABEL}\]",
            rf"    n[0-9]+\[{LABEL}\]",
            "  end",
            rf"  n[0-9]+ -->\|{LABEL}\| n[0-9]+",
            "  classDef [a-z_]+ [a-z0-9:, -]+",
            "  class n[0-9]+(,n[0-9]+)* [a-z_]+",
        )
    )
)


def reached(graph: ReferenceGraph, node: SessionItem, way: Direction) -> set[SessionItem]:
    """What is reached, itself aside."""
    return set(find_reachable(graph, [node], way).found)


@given(graphs, nodes)
def test_ancestors_and_descendants_are_the_closure(
    graph: ReferenceGraph, node: SessionItem
) -> None:
    """An independent closure finds the same, circles and references to nothing included."""
    pairs = closure(pairs_of(graph))
    assert reached(graph, node, UP) == {b for a, b in pairs if a == node} - {node}
    assert reached(graph, node, DOWN) == {a for a, b in pairs if b == node} - {node}


@given(graphs)
def test_ancestors_and_descendants_are_converse(graph: ReferenceGraph) -> None:
    """An item is among the ancestors of those, and only those, that are its descendants."""
    up = {(a, b) for a in graph.nodes for b in reached(graph, a, UP)}
    down = {(a, b) for b in graph.nodes for a in reached(graph, b, DOWN)}
    assert up == down


@given(graphs, nodes, st.integers(1, 4))
def test_depth_is_the_shortest_way(graph: ReferenceGraph, node: SessionItem, depth: int) -> None:
    """With a depth there is what so many joins of the references reach, and the rest is counted."""
    pairs = pairs_of(graph)
    ring, near = {node}, {node: 0}
    for step in range(1, depth + 1):
        ring = {b for a, b in pairs if a in ring} - near.keys()
        near |= dict.fromkeys(ring, step)
    found = find_reachable(graph, [node], UP, depth)
    assert found.steps == near
    assert found.left_out == len(find_reachable(graph, [node], UP).steps) - len(near)
    passed = {each for each, steps in near.items() if steps < depth}
    assert set(found.edges) == {edge for edge in graph.edges if edge.origin in passed}


@given(graphs, nodes, st.sampled_from(Direction), st.none() | st.integers(1, 3))
def test_a_tree_shows_each_item_in_full_once(
    graph: ReferenceGraph, node: SessionItem, way: Direction, depth: int | None
) -> None:
    """Each once in full, every reference in a row, and what is said to be above is above."""
    found = find_reachable(graph, [node], way, depth)
    full: Counter[SessionItem] = Counter()
    drawn: Counter[tuple[SessionItem, str]] = Counter()
    below: set[SessionItem] = set()
    for row in Tree(graph, [node], way, depth).rows():
        if row.shown == "above":
            assert row.node in full
        elif row.shown == "below":
            assert row.node not in full
            below.add(row.node)
        elif row.shown != "part":
            full[row.node] += 1
        drawn.update((row.node, relation) for relation in row.relations)
    assert full == dict.fromkeys(found.steps, 1)
    assert below <= full.keys()
    ends = [edge.target if way is UP else edge.origin for edge in found.edges]
    relations = [edge.relation for edge in found.edges]
    assert drawn == Counter(zip(ends, relations, strict=True))


@given(graphs, st.sampled_from(Direction))
def test_a_tree_of_a_session_shows_each_item_in_full_once(
    graph: ReferenceGraph, way: Direction
) -> None:
    """Also where it has many roots that lead to one another."""
    for session in graph.sessions:
        whole = genealogy(graph, session, None, [way])
        [found] = whole.reaches
        roots = [each for each in whole.starts if find_reachable(graph, [each], way).edges]
        rows = Tree(graph, roots, way).rows()
        full = Counter(each.node for each in rows if each.shown in ("root", "in_full"))
        touched = {node for edge in found.edges for node in (edge.origin, edge.target)}
        assert full == dict.fromkeys(touched, 1)


@given(graphs, nodes)
def test_json_has_the_reachable_references(graph: ReferenceGraph, node: SessionItem) -> None:
    """Every one that can be followed from the item, no other, each once."""
    found = genealogy(graph, *node)
    document = genealogy_json(found, name_only, SessionInfo)
    pairs = closure(pairs_of(graph))
    above = {node} | {b for a, b in pairs if a == node}
    under = {node} | {a for a, b in pairs if b == node}
    expected = {edge for edge in graph.edges if edge.origin in above or edge.target in under}
    edges = document["edges"]
    assert isinstance(edges, list)
    said = [(*each["from"].values(), *each["to"].values(), each["relation"]) for each in edges]
    assert Counter(said) == Counter((*e.origin, *e.target, e.relation) for e in expected)
    assert {edge.origin for way in found.circles for edge in way} <= set(found.nodes)


@given(labels, st.integers(2, 80))
def test_a_label_is_shown_and_not_obeyed(text: str, most: int) -> None:
    """It holds nothing that ends it or that Mermaid looks for, and is read back as it was."""
    said = mermaid_label(text, most)
    assert re.fullmatch(LABEL, f'"{said}"')
    assert "<" not in said
    back = re.sub(r"#([0-9]+);", lambda match: chr(int(match[1])), said)
    assert back == escape_control(text, most).replace("ﬂ", "fl").replace("¶", "\\xb6")


@given(graphs, nodes, st.lists(labels, min_size=1, max_size=5))
def test_no_name_forges_a_line_of_a_chart(
    graph: ReferenceGraph, node: SessionItem, titles: list[str]
) -> None:
    """Whatever items are called, a chart has our lines, one for each item and each reference."""
    found = genealogy(graph, *node)

    def describe(each: SessionItem) -> ItemInfo:
        place = found.nodes.index(each)
        return ItemInfo(
            each, list(ItemStatus)[place % len(ItemStatus)], titles[place % len(titles)]
        )

    lines = mermaid(found, describe).split("\n")
    assert lines.pop() == ""
    assert [line for line in lines if not CHART.fullmatch(line)] == []
    assert sum(line.startswith("    n") for line in lines) == len(found.nodes)
    assert sum("-->" in line for line in lines) == len(found.edges)
