"""A genealogy laid out as a tree: each item in full once, where it is nearest, else by its name.

A tree that grows too far to the right goes on in a part of its own, and of very many branches only
the first are drawn. So every line has an end, however long the line of ideas is.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from enum import Enum, auto
from typing import NamedTuple

from brenner.artifact.merge.draft import Node
from brenner.session.genealogy import Direction, Link, links
from brenner.session.reference_graph import ReferenceGraph

MOST_LEVELS = 6
MOST_BRANCHES = 40


class Shown(Enum):
    """How an item is shown in a row."""

    ROOT = auto()  # in full, and the tree under it
    IN_FULL = auto()
    ABOVE = auto()  # shown in full above
    BELOW = auto()  # shown in full further down
    PART = auto()  # where a part of the tree begins that had no room
    MORE = auto()  # no item, but how many were left out


class Row(NamedTuple):
    """One row. `trunk` says for each level above whether its line goes on past this row.

    `relations` lead from the row above to this item. `part` is the number of the part in which the
    tree under it goes on, or which begins here. `left_out` counts branches that are not drawn.
    """

    shown: Shown
    node: Node
    relations: tuple[str, ...] = ()
    trunk: tuple[bool, ...] = ()
    is_last: bool = True
    part: int | None = None
    left_out: int = 0


class Tree:
    """The tree of some items in one direction, down to a depth if one is given."""

    def __init__(
        self,
        graph: ReferenceGraph,
        roots: Iterable[Node],
        direction: Direction,
        depth: int | None = None,
    ) -> None:
        self.roots = tuple(dict.fromkeys(roots))
        self._graph, self._direction, self._depth = graph, direction, depth
        self.steps = dict.fromkeys(self.roots, 0)
        self._parents: dict[Node, Node] = {}  # under which an item is shown in full
        self._grow()

    def _grow(self) -> None:
        waiting = deque(self.roots)
        while waiting:
            node = waiting.popleft()
            for link in self.branches(node)[0]:
                if link.node not in self.steps:
                    self.steps[link.node] = self.steps[node] + 1
                    self._parents[link.node] = node
                    waiting.append(link.node)

    def rows(self) -> Iterator[Row]:
        """The rows, top to bottom."""
        yield from _Drawing(self).rows()

    def branches(self, node: Node) -> tuple[tuple[Link, ...], int]:
        """What is drawn under an item, and how much is not."""
        if self._depth is not None and self.steps[node] >= self._depth:
            return (), 0
        found = links(self._graph, node, self._direction)
        return found[:MOST_BRANCHES], max(0, len(found) - MOST_BRANCHES)

    def is_under(self, node: Node, parent: Node) -> bool:
        """Whether this is the place where an item is shown in full."""
        return self._parents.get(node) == parent


class _Drawing:
    """The tree being drawn: what was shown so far, and which parts had no room."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._shown: set[Node] = set()
        self._parts: deque[tuple[int, Node]] = deque()
        self._count = 0

    def rows(self) -> Iterator[Row]:
        for root in self._tree.roots:
            self._shown.add(root)
            yield Row(Shown.ROOT, root)
            yield from self._under(root)
        while self._parts:
            number, node = self._parts.popleft()
            yield Row(Shown.PART, node, part=number)
            yield from self._under(node)

    def _under(self, top: Node) -> Iterator[Row]:
        """Everything under an item, as far as there is room."""
        waiting = self._rows_of(top, ())
        while waiting:
            row = waiting.pop()
            if row.shown is not Shown.IN_FULL:
                yield self._elsewhere(row)
                continue
            self._shown.add(row.node)
            below = self._rows_of(row.node, (*row.trunk, not row.is_last))
            if below and len(row.trunk) + 1 >= MOST_LEVELS:
                self._count += 1
                self._parts.append((self._count, row.node))
                row, below = row._replace(part=self._count), []
            yield row
            waiting += below

    def _rows_of(self, node: Node, trunk: tuple[bool, ...]) -> list[Row]:
        """The rows directly under an item, the last one first: they are taken from the end."""
        drawn, left_out = self._tree.branches(node)
        rows = [
            Row(
                Shown.IN_FULL if self._tree.is_under(link.node, node) else Shown.ABOVE,
                link.node,
                link.relations,
                trunk,
                is_last=False,
            )
            for link in drawn
        ]
        if left_out:
            rows.append(Row(Shown.MORE, node, trunk=trunk, left_out=left_out))
        if rows:
            rows[-1] = rows[-1]._replace(is_last=True)
        return rows[::-1]

    def _elsewhere(self, row: Row) -> Row:
        """A row that shows no item in full: where it is shown, as far as is known by now."""
        is_below = row.shown is Shown.ABOVE and row.node not in self._shown
        return row._replace(shown=Shown.BELOW) if is_below else row
