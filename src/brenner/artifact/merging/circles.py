"""References between items never close a circle (R21)."""

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from brenner.artifact.model import Artifact, Reference


class Node(NamedTuple):
    """An item of a session."""

    session: str
    item: str

    def __str__(self) -> str:
        """As a reference names it."""
        return f"{self.session} {self.item}"


class LeftOut(NamedTuple):
    """A reference that was left out, with the block that gave it."""

    message_id: int
    block: int
    session: str
    item: str
    relation: str


class Elsewhere(NamedTuple):
    """What a merge has to know of other sessions: the references between their items.

    Who rebuilds a version need not know them: `left_out` are the references that its compiler left
    out because of them.
    """

    references: Mapping[Node, Iterable[Node]] = MappingProxyType({})
    left_out: frozenset[LeftOut] = frozenset()


NOWHERE = Elsewhere()
_MOST_SHOWN = 6  # items of a circle


def shown(circle: Sequence[Node]) -> str:
    """A circle as people read it; of a long one the beginning and the end."""
    names = [str(node) for node in circle]
    more = len(names) - _MOST_SHOWN
    if more > 0:
        names[_MOST_SHOWN - 2 : -2] = [f"{more} more"]
    return " → ".join(names)


class References:
    """Which item comes from which, over all sessions that are known."""

    def __init__(self, artifact: Artifact, elsewhere: Elsewhere) -> None:
        self.session = artifact.metadata.session_id or ""
        self._to: dict[Node, Counter[Node]] = {
            node: Counter(to) for node, to in elsewhere.references.items()
        }
        self._named = {node for to in self._to.values() for node in to}
        for _section, item in artifact.all_items():
            for reference in item.references:
                self.add(item.id, reference)

    def add(self, item_id: str, reference: Reference) -> None:
        """Take up a reference that closes no circle."""
        target = Node(reference.session, reference.item)
        self._to.setdefault(Node(self.session, item_id), Counter())[target] += 1
        self._named.add(target)

    def forget(self, item_id: str, reference: Reference) -> None:
        """Take a reference away again."""
        to = self._to[Node(self.session, item_id)]
        target = Node(reference.session, reference.item)
        to[target] -= 1
        if not to[target]:
            del to[target]

    def circle(self, item_id: str, reference: Reference) -> list[Node]:
        """A shortest way from the item through the reference and back to it, or nothing."""
        start, first = Node(self.session, item_id), Node(reference.session, reference.item)
        if start == first:
            return [start, start]
        if start not in self._named:
            # What nothing refers to closes no circle. So with most new items: only another
            # session may have named one before it was there.
            return []
        came_from: dict[Node, Node] = {first: start}
        waiting = deque([first])
        while waiting:
            node = waiting.popleft()
            for following in self._to.get(node, ()):
                if following == start:
                    return _way(came_from, node, start)
                if following not in came_from:
                    came_from[following] = node
                    waiting.append(following)
        return []


def _way(came_from: Mapping[Node, Node], last: Node, start: Node) -> list[Node]:
    way = [start, last]
    while way[-1] != start:
        way.append(came_from[way[-1]])
    return way[::-1]
