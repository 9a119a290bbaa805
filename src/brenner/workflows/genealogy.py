"""Where an item of a session comes from and what came of it, over all sessions of a project.

Who refers to what is known of all of them. Who proposed an item, and what became of it, is looked
up only for the items that somebody is shown.
"""

from itertools import takewhile
from typing import NamedTuple

from brenner.artifact.merge.draft import Node
from brenner.artifact.model import order_of
from brenner.diagnostics.codes.artifacts import NO_SUCH_ITEM, NO_VERSION_YET
from brenner.diagnostics.model import Diagnostic, Refused
from brenner.mail.rules import unknown_thread
from brenner.protocol.thread_ids import cross_reference
from brenner.session.genealogy import (
    LINEAGE,
    Direction,
    FirstProposed,
    Genealogy,
    first_proposed,
    genealogy,
)
from brenner.session.references import ReferenceGraph, circle
from brenner.text import nearest, perhaps
from brenner.workflows.chains import check_usable
from brenner.workflows.check_references import LoadedGraph, load_graph
from brenner.workflows.desk import Desk
from brenner.workflows.session_facts import SessionLookup
from brenner.workflows.sessions import Progress


class Asked(NamedTuple):
    """What is asked for: of an item, or of a whole session; which way, and how far."""

    thread_id: str
    item: str | None = None
    directions: tuple[Direction, ...] = tuple(Direction)
    depth: int | None = None


class Followed(NamedTuple):
    """The answer; `sessions` tells more of each item and session in it."""

    genealogy: Genealogy
    loaded: LoadedGraph
    sessions: SessionLookup

    @property
    def graph(self) -> ReferenceGraph:
        """Everything that is known."""
        return self.loaded.graph

    @property
    def problems(self) -> tuple[Diagnostic, ...]:
        """The files that could not be read: what they hold is missing in the answer."""
        return self.loaded.problems

    def look_up(self, progress: Progress) -> None:
        """Look up every session of the answer now."""
        names = self.genealogy.sessions
        for number, name in enumerate(names, 1):
            self.sessions.session(name)
            progress("Looking up sessions:", number, len(names))

    def firsts(self) -> tuple[FirstProposed, ...]:
        """Who first proposed the item; of a session each item that carries another one on.

        Only who follows ancestors is told.
        """
        if self.genealogy.ancestors is None:
            return ()
        asked = self.genealogy.starts
        if self.genealogy.item is None:
            asked = tuple(node for node in asked if self._carries_on(node))
        return tuple(first_proposed(self.graph, node, self.sessions.item) for node in asked)

    def _carries_on(self, node: Node) -> bool:
        return any(edge.relation in LINEAGE for edge in self.graph.out_of(node))

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """References of the answer that lead nowhere or in a circle; files that cannot be read."""
        return (
            *(found for _edge, found in self.loaded.nowhere(self.genealogy.edges)),
            *(circle(way, self.graph.killed_on(way)) for way in self.genealogy.circles),
            *self.problems,
        )


def follow(desk: Desk, asked: Asked, progress: Progress) -> Followed:
    """The genealogy of an item or a session; an unknown one is refused."""
    check_usable(asked.thread_id)
    loaded = load_graph(desk, progress)
    graph = loaded.graph
    _check_session(desk, asked.thread_id, graph)
    if asked.item is not None:
        _check_item(Node(asked.thread_id, asked.item), graph)
    found = genealogy(graph, asked.thread_id, asked.item, asked.directions, asked.depth)
    if not found.edges:  # what has no version may be referred to all the same
        _items(asked.thread_id, graph)
    return Followed(found, loaded, SessionLookup(desk, loaded.sessions))


def _check_session(desk: Desk, thread_id: str, graph: ReferenceGraph) -> None:
    if thread_id in graph.sessions or desk.mailbox.thread(thread_id, limit=1).position:
        return
    # Only so many names are compared with the one that was asked for: those that begin like it
    likely = sorted(graph.sessions, key=lambda name: -_alike(name, thread_id))
    raise unknown_thread(thread_id, likely)


def _alike(name: str, wanted: str) -> int:
    """How many letters the two have in common from the start."""
    pairs = zip(name, wanted, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _check_item(node: Node, graph: ReferenceGraph) -> None:
    if graph.has(node):
        return
    near = perhaps(nearest(node.item, _items(node.session, graph)))
    raise Refused(NO_SUCH_ITEM.at(name=node.session, item=node.item, or_field="", suggestion=near))


def _items(thread_id: str, graph: ReferenceGraph) -> list[str]:
    """The items of a session; one that has no version yet is refused."""
    known = graph.sessions.get(thread_id)
    if known is None or not known.items:
        path = cross_reference(thread_id).artifact_path
        raise Refused(NO_VERSION_YET.at(thread_id=thread_id, path=path))
    return sorted(known.items, key=order_of)
