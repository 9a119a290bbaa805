"""The layout of a picture of references between items, over all sessions.

Each session is a column, the oldest on the left. Its items are boxes, one below the other, on a
grid of rows that all columns share. A line leads from an item to what it refers to: from a port on
the left of its box, with its relation as label, through the gaps between columns and rows, to the
right side of the other box. So no line crosses a box. The work is linear in boxes and lines, apart
from sorting.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from brenner.named_tuple import NamedTuple
from brenner.session.genealogy import node_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from brenner.artifact.merge.draft import SessionItem
    from brenner.session.references import Edge

# All lengths are units, about a pixel each.
BOX_WIDTH = 208
MARGIN = 8
HEADER = 36  # with the names of the sessions
_BOX_HEIGHT = 44
_PORT_STEP = 16  # between two lines that leave a box
_PORT_PADDING = 12
_LABEL_WIDTH = 88  # beside the left of a box
_CURVE_WIDTH = 56  # between the labels and the column before
_REACH = _CURVE_WIDTH / 2  # from the end of a curve to its control point
_GAP_WIDTH = _LABEL_WIDTH + _CURVE_WIDTH
_ROW_GAP = 32
_LANES, _LANE_STEP = 5, 4  # lines side by side in a gap between two rows


class Column(NamedTuple):
    """A session: its left edge, and the number of its items."""

    session: str
    x: float
    items: int


class Box(NamedTuple):
    """An item: the left upper corner and the size of its box."""

    node: SessionItem
    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def entry(self) -> float:
        """The height at which lines arrive, on the right side."""
        return self.y + self.height / 2


class Line(NamedTuple):
    """A reference: the path from one box to the other, and where its label ends.

    The path has straight pieces, and curves that stay within the gap between two columns: each
    point is a pair, and a curve begins and ends level.
    """

    edge: Edge
    points: tuple[tuple[float, float], ...]
    label: tuple[float, float]


class Picture(NamedTuple):
    """A picture: its size, columns, boxes and lines."""

    width: float
    height: float
    columns: tuple[Column, ...] = ()
    boxes: tuple[Box, ...] = ()
    lines: tuple[Line, ...] = ()


def draw_genealogy(nodes: Iterable[SessionItem], edges: Iterable[Edge]) -> Picture:
    """Lay out these items and the references between them. The order of both does not matter."""
    every_edge = sorted(set(edges), key=_edge_order)
    ends = (node for edge in every_edge for node in (edge.origin, edge.target))
    every_node = sorted({*nodes, *ends}, key=node_order)
    columns: dict[str, list[SessionItem]] = {}
    for node in every_node:
        columns.setdefault(node.session, []).append(node)
    out: dict[SessionItem, list[Edge]] = {}
    for edge in every_edge:
        out.setdefault(edge.origin, []).append(edge)
    rows = _assign_rows(columns, every_edge)
    boxes = _boxes(columns, rows, out)
    lines = _Router(boxes, rows, out).lines(every_edge)
    found = boxes.values()
    lowest = max((box.bottom for box in found), default=HEADER)
    rightmost = max((box.right for box in found), default=0.0)
    return Picture(
        rightmost + _CURVE_WIDTH + MARGIN,
        lowest + _ROW_GAP + MARGIN,
        tuple(Column(name, boxes[some[0]].x, len(some)) for name, some in columns.items()),
        tuple(found),
        lines,
    )


def _edge_order(edge: Edge) -> tuple[object, ...]:
    return (node_order(edge.origin), node_order(edge.target), edge.relation)


# Rows: each item as level as possible with what it refers to in earlier columns


def _assign_rows(
    columns: Mapping[str, Sequence[SessionItem]], edges: Iterable[Edge]
) -> dict[SessionItem, int]:
    """Return the row of each item. No column needs more rows than the largest one."""
    neighbours: dict[SessionItem, list[SessionItem]] = {}
    for edge in edges:
        neighbours.setdefault(edge.origin, []).append(edge.target)
        neighbours.setdefault(edge.target, []).append(edge.origin)
    most = max(map(len, columns.values()), default=0)
    rows: dict[SessionItem, int] = {}
    for nodes in columns.values():
        wanted = {node: _mean_row(neighbours.get(node, ()), rows) for node in nodes}
        ordered = sorted(nodes, key=lambda node: (wanted[node], node_order(node)))
        free = 0
        for number, node in enumerate(ordered):
            last = most - (len(ordered) - number)  # so that all others still have a row
            rows[node] = min(max(free, round(wanted[node])), last)
            free = rows[node] + 1
    return rows


def _mean_row(nodes: Iterable[SessionItem], rows: Mapping[SessionItem, int]) -> float:
    """Return the mean row of those that have one; otherwise the first row."""
    known = [rows[node] for node in nodes if node in rows]
    return sum(known) / len(known) if known else 0.0


# Boxes


def _boxes(
    columns: Mapping[str, Sequence[SessionItem]],
    rows: Mapping[SessionItem, int],
    out: Mapping[SessionItem, Sequence[Edge]],
) -> dict[SessionItem, Box]:
    """Return the boxes, column by column. A row is as high as its highest box."""
    heights = [0.0] * (max(rows.values(), default=-1) + 1)
    for node, row in rows.items():
        heights[row] = max(heights[row], _height(len(out.get(node, ()))))
    tops, top = [], float(HEADER + _ROW_GAP)
    for height in heights:
        tops.append(top)
        top += height + _ROW_GAP
    return {
        node: Box(node, x, tops[rows[node]], BOX_WIDTH, _height(len(out.get(node, ()))))
        for x, nodes in zip(_left_edges(columns, out), columns.values(), strict=True)
        for node in sorted(nodes, key=lambda each: rows[each])
    }


def _height(ports: int) -> float:
    return max(_BOX_HEIGHT, ports * _PORT_STEP + _PORT_PADDING)


def _left_edges(
    columns: Mapping[str, Sequence[SessionItem]], out: Mapping[SessionItem, Sequence[Edge]]
) -> Iterator[float]:
    """Yield the left edge of each column. The first has a gap only if lines leave it."""
    x = float(MARGIN)
    for number, nodes in enumerate(columns.values()):
        if number == 0 and any(node in out for node in nodes):
            x += _GAP_WIDTH
        yield x
        x += BOX_WIDTH + _GAP_WIDTH


# Lines


class _Router:
    """Finds the paths of lines. Lines in the same gap between two rows are next to each other."""

    def __init__(
        self,
        boxes: Mapping[SessionItem, Box],
        rows: Mapping[SessionItem, int],
        out: Mapping[SessionItem, Sequence[Edge]],
    ) -> None:
        self._boxes, self._rows, self._out = boxes, rows, out
        self._in_gap: dict[int, int] = {}
        lowest = max((box.bottom for box in boxes.values()), default=0.0)
        # Where the gap above each row ends, and the one below the last row
        self._ends = {row: boxes[node].y for node, row in rows.items()}
        self._ends[len(self._ends)] = lowest + _ROW_GAP

    def lines(self, edges: Iterable[Edge]) -> tuple[Line, ...]:
        ports: Counter[SessionItem] = Counter()
        found = []
        for edge in edges:
            found.append(self._line(edge, ports[edge.origin]))
            ports[edge.origin] += 1
        return tuple(found)

    def _line(self, edge: Edge, port: int) -> Line:
        origin, target = self._boxes[edge.origin], self._boxes[edge.target]
        y = origin.entry + (port - (len(self._out[edge.origin]) - 1) / 2) * _PORT_STEP
        left, stub = origin.x - _GAP_WIDTH, origin.x - _LABEL_WIDTH
        points = [(origin.x, y), (stub, y)]
        if target.right != left:  # not the column before, where one curve is enough
            lane, is_leftwards = self._lane(edge), target.right < left
            start = left if is_leftwards else left + _REACH  # a turn needs half of the gap
            turn = target.right + (_CURVE_WIDTH if is_leftwards else _REACH)
            points += [(start, lane), (turn, lane)]
        return Line(edge, (*points, (target.right, target.entry)), (origin.x - 6, y - 3))

    def _lane(self, edge: Edge) -> float:
        """Return the height of the next lane beside the target's row, on the origin's side."""
        row = self._rows[edge.target]
        gap = row + 1 if self._rows[edge.origin] > row else row
        number = self._in_gap.get(gap, 0)
        self._in_gap[gap] = number + 1
        offset = (number % _LANES - (_LANES - 1) / 2) * _LANE_STEP
        return self._ends[gap] - _ROW_GAP / 2 + offset


def path_text(line: Line) -> str:
    """Return a line as SVG path data: level pieces are straight, all others are curves.

    A curve begins in the direction of the piece before it, and ends in that of the piece after it.
    """
    pieces = list(pairwise(line.points))
    ways = [1 if to_x > x else -1 for (x, _), (to_x, _) in pieces]
    parts = [f"M{_point(*line.points[0])}"]
    for number, ((x, y), (to_x, to_y)) in enumerate(pieces):
        if y == to_y:
            parts.append(f"H{to_x:g}")
        else:
            before, after = ways[number - 1], ways[(number + 1) :][:1] or [-1]
            begin = _point(x + before * _REACH, y)
            end = _point(to_x - after[0] * _REACH, to_y)
            parts.append(f"C{begin} {end} {_point(to_x, to_y)}")
    return "".join(parts)


def arrow_text(line: Line) -> str:
    """Return the arrowhead of a line as SVG path data."""
    return f"M{_point(*line.points[-1])}l7,-4v8z"


def _point(x: float, y: float) -> str:
    return f"{x:g},{y:g}"
