"""Pictures of genealogies: whatever refers to whatever, boxes are apart and lines avoid them."""

import random
import re
from collections import Counter
from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from brenner.artifact.merge.draft import SessionItem
from brenner.session.genealogy_picture import Box, Line, Picture, draw_genealogy, path_text
from brenner.session.references import ReferenceGraph
from genealogies import chain_of, graphs, nodes

PATH = re.compile(r"M[-\d.,]+(?:H[-\d.]+|C[-\d.,]+ [-\d.,]+ [-\d.,]+)+")


def picture_of(graph: ReferenceGraph) -> Picture:
    return draw_genealogy(graph.nodes, graph.edges)


def overlaps(one: Box, other: Box) -> bool:
    return (
        one.x < other.right
        and other.x < one.right
        and one.y < other.bottom
        and other.y < one.bottom
    )


def crosses(line: Line, box: Box) -> bool:
    """Whether a line has a point inside a box. Curves stay between the x of their ends, or turn
    within half a gap beside them.
    """
    for (x, y), (to_x, to_y) in pairwise(line.points):
        left, right = sorted((x, to_x))
        if left < box.right and right > box.x and (y != to_y or box.y < y < box.bottom):
            return True
    return False


@given(graphs, st.lists(nodes, max_size=4))
def test_boxes_are_apart_and_within_the_picture(
    graph: ReferenceGraph, more: list[SessionItem]
) -> None:
    drawn = draw_genealogy((*graph.nodes, *more), graph.edges)
    assert {box.node for box in drawn.boxes} == {*graph.nodes, *more}
    assert len(drawn.boxes) == len({box.node for box in drawn.boxes})
    assert not any(overlaps(*pair) for pair in combinations(drawn.boxes, 2))
    for box in drawn.boxes:
        assert 0 <= box.x < box.right <= drawn.width
        assert 0 <= box.y < box.bottom <= drawn.height


@given(graphs)
def test_every_reference_is_a_line_between_its_boxes(graph: ReferenceGraph) -> None:
    drawn = picture_of(graph)
    assert Counter(line.edge for line in drawn.lines) == Counter(set(graph.edges))
    boxes = {box.node: box for box in drawn.boxes}
    ports = set()
    for line in drawn.lines:
        origin, target = boxes[line.edge.origin], boxes[line.edge.target]
        (x, y), end = line.points[0], line.points[-1]
        assert x == origin.x
        assert origin.y < y < origin.bottom
        assert end == (target.right, target.entry)
        assert PATH.fullmatch(path_text(line))
        ports.add((x, y))
    assert len(ports) == len(drawn.lines)  # so that no label covers another one
    assert len({line.label for line in drawn.lines}) == len(drawn.lines)


@given(graphs)
def test_no_line_crosses_a_box(graph: ReferenceGraph) -> None:
    drawn = picture_of(graph)
    for line in drawn.lines:
        assert [box for box in drawn.boxes if crosses(line, box)] == []
        for x, y in line.points:
            assert 0 <= x <= drawn.width
            assert 0 <= y <= drawn.height


@given(graphs, st.randoms(use_true_random=False))
def test_the_order_of_what_is_given_does_not_matter(
    graph: ReferenceGraph, chance: random.Random
) -> None:
    some, edges = list(graph.nodes), list(graph.edges)
    chance.shuffle(some)
    chance.shuffle(edges)
    assert draw_genealogy(some, edges) == picture_of(graph)


@given(graphs)
def test_columns_are_the_sessions_in_the_order_of_time(graph: ReferenceGraph) -> None:
    drawn = picture_of(graph)
    names = [column.session for column in drawn.columns]
    assert names == sorted({node.session for node in graph.nodes})
    lefts = {column.session: column.x for column in drawn.columns}
    assert list(lefts.values()) == sorted(lefts.values())
    assert all(box.x == lefts[box.node.session] for box in drawn.boxes)


def test_nothing_is_an_empty_picture() -> None:
    drawn = draw_genealogy((), ())
    assert (drawn.boxes, drawn.lines) == ((), ())
    assert min(drawn.width, drawn.height) > 0


def test_the_work_grows_with_the_lines() -> None:
    """A line has a bounded number of points, however many sessions it passes."""
    graph, line = chain_of(2_000)
    drawn = picture_of(graph)
    assert len(drawn.boxes) == len(line)
    assert max(len(each.points) for each in drawn.lines) <= 5
    assert len({box.y for box in drawn.boxes}) == 1  # level, as each column has one box
