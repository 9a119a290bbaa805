"""Which references a compile must leave out, worked out in another way: by the closure of all that
was published (Warshall), afresh for every reference.
"""

from collections.abc import Iterable
from itertools import product
from typing import NamedTuple

Place = tuple[str, str]  # a session, and an item of it
Relation = tuple[str, str, str]  # as a reference gives it: session, item, relation


class Said(NamedTuple):
    """A block: ADD of the next item, EDIT of one, or KILL. `replaces` goes with an EDIT."""

    operation: str
    item: str
    references: tuple[Relation, ...] = ()
    replaces: bool = False


class Model:
    """What every session has published, and what it has not read yet."""

    def __init__(self, sessions: Iterable[str]) -> None:
        self.published: dict[str, dict[str, list[Relation]]] = {name: {} for name in sessions}
        self.killed: set[Place] = set()
        self.unread: dict[str, list[Said]] = {name: [] for name in self.published}

    def compile(self, session: str) -> list[Relation]:
        """Publish what is unread; the references that are left out, in order."""
        left_out: list[Relation] = []
        items = {item: list(found) for item, found in self.published[session].items()}
        for said in self.unread[session]:
            if said.operation == "KILL":
                self.killed.add((session, said.item))
            elif (session, said.item) not in self.killed:
                left_out += self._write(session, items, said)
        self.published[session], self.unread[session] = items, []
        return left_out

    def _write(self, session: str, items: dict[str, list[Relation]], said: Said) -> list[Relation]:
        standing = items.setdefault(said.item, [])
        given = list(dict.fromkeys(said.references))
        if said.replaces:
            standing[:] = [each for each in standing if each in given]
        left_out = []
        for reference in given:
            if reference in standing:
                continue
            edges = self._edges(session, items)
            if closes(edges, (session, said.item), reference[:2]):
                left_out.append(reference)
            else:
                standing.append(reference)
        if said.replaces:  # a replaced list has the new one's order
            standing.sort(key=given.index)
        return left_out

    def _edges(self, session: str, items: dict[str, list[Relation]]) -> set[tuple[Place, Place]]:
        """Everything that others have published, and this one has applied."""
        return {
            ((name, item), reference[:2])
            for name, held in {**self.published, session: items}.items()
            for item, found in held.items()
            for reference in found
        }

    def edges(self) -> set[tuple[Place, Place]]:
        """Everything that is published."""
        return self._edges("", {})


def closes(edges: set[tuple[Place, Place]], origin: Place, target: Place) -> bool:
    """Whether one reference more would lead from the item back to it."""
    return origin == target or (target, origin) in closure(edges)


def closure(edges: set[tuple[Place, Place]]) -> set[tuple[Place, Place]]:
    """Who leads to whom, over any number of steps (Warshall)."""
    nodes = sorted({node for edge in edges for node in edge})
    leads = set(edges)
    for middle in nodes:
        for first, last in product(nodes, nodes):
            if (first, middle) in leads and (middle, last) in leads:
                leads.add((first, last))
    return leads
