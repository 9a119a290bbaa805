"""Circles in a graph of any size: found without recursion, told in an order that names decide."""

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeVar

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
