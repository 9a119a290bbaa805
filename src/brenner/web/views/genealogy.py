"""The genealogy of items as a picture: of the whole project (`/genealogy`), and of one item."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from brenner.artifact.merge.draft import SessionItem
from brenner.protocol.grammar import ITEM_ID
from brenner.session.genealogy import Direction, find_reachable, node_order, relation_text
from brenner.session.genealogy_picture import Line, Picture, arrow_text, draw_genealogy, path_text
from brenner.session.references import ItemStatus, ReferenceGraph
from brenner.text import cut, plural
from brenner.web import links
from brenner.web.rendering import list_page_document, requested_page
from brenner.web.request import Document, Page, PageResult, RequestContext

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from brenner.session.references import Edge
    from brenner.web.item_index import IndexedItem

_MAX_BOXES, _MAX_BOXES_OF_ITEM, _MAX_LINES = 300, 60, 600
_REFERENCES_PER_PAGE = 200
_MAX_NAME = 300
_STATUS_WORDS: Mapping[ItemStatus, str] = MappingProxyType(
    {
        ItemStatus.ACTIVE: "",
        ItemStatus.KILLED: "killed",
        ItemStatus.UNKNOWN_ITEM: "unknown item",
        ItemStatus.UNKNOWN_SESSION: "unknown session",
    }
)


def page(context: RequestContext) -> PageResult:
    """Return the picture of all references of the project, and a table of them."""
    graph = context.site.reading.references()
    edges = tuple(dict.fromkeys(graph.edges))
    nodes = sorted(graph.nodes, key=node_order)
    kept = set(_latest_sessions(nodes))
    shown = requested_page(context, len(edges), _REFERENCES_PER_PAGE)
    documents = _Nodes(context, graph)
    document = {
        "picture": _picture_document(documents, kept, edges) if edges else None,
        "number_of_items": len(nodes),
        "number_of_sessions": len({node.session for node in nodes}),
        "left_out": len(nodes) - len(kept),
        "references": [documents.reference(each) for each in shown.slice(edges)],
        **list_page_document(shown, links.genealogy),
    }
    return Page("pages/genealogy.html", "Genealogy", document)


def _latest_sessions(nodes: Iterable[SessionItem]) -> list[SessionItem]:
    """Return the items of the latest sessions, as many as fit in a picture."""
    by_session: dict[str, list[SessionItem]] = {}
    for node in nodes:
        by_session.setdefault(node.session, []).append(node)
    found: list[SessionItem] = []
    for some in reversed(by_session.values()):
        found += some[: _MAX_BOXES - len(found)]
    return found


def item_picture(context: RequestContext, item_id: str) -> Document | None:
    """Return the picture of an item's ancestors and descendants; None if it has none.

    Guests see only what is connected within their sessions.
    """
    graph = _visible_graph(context)
    start = SessionItem(context.thread_id, item_id)
    if not graph.out_of(start) and not graph.into(start):
        return None
    reaches = [find_reachable(graph, [start], each) for each in Direction]
    steps = {node: far for reach in reaches for node, far in reach.steps.items()}
    nearest = sorted(steps, key=lambda node: (steps[node], node_order(node)))
    kept = set(nearest[:_MAX_BOXES_OF_ITEM])
    edges = tuple(dict.fromkeys(edge for reach in reaches for edge in reach.edges))
    documents = _Nodes(context, graph)
    return {
        **_picture_document(documents, kept, edges, start),
        "left_out": len(nearest) - len(kept),
        "references": [documents.reference(each) for each in edges[:_REFERENCES_PER_PAGE]],
    }


def _visible_graph(context: RequestContext) -> ReferenceGraph:
    """Return the references; for guests those within the sessions that they may see."""
    graph = context.site.reading.references()
    if context.guest_of is None:
        return graph
    return ReferenceGraph(
        each._replace(
            references={
                item: [to for to in references if context.may_see(to.session)]
                for item, references in each.references.items()
            }
        )
        for each in graph.sessions.values()
        if context.may_see(each.session)
    )


class _Nodes:
    """The items of a graph of references as documents, with their latest names."""

    def __init__(self, context: RequestContext, graph: ReferenceGraph) -> None:
        self.graph, self._reading = graph, context.site.reading
        self._items: dict[str, Mapping[str, IndexedItem]] = {}

    def document(self, node: SessionItem) -> Document:
        """Return an item: its name, and a link unless it is unknown."""
        status, name = self.graph.status(node), self._name(node)
        is_known = status in (ItemStatus.ACTIVE, ItemStatus.KILLED)
        has_page = is_known and ITEM_ID.fullmatch(node.item)
        return {
            "session": node.session,
            "item": node.item,
            "name": cut(name, _MAX_NAME),
            "status": status.value,
            "status_words": _STATUS_WORDS[status],
            "link": links.item(node.session, node.item) if has_page else None,
        }

    def reference(self, edge: Edge) -> Document:
        return {
            "from": self.document(edge.origin),
            "relation": edge.relation,
            "words": relation_text([edge.relation]),
            "to": self.document(edge.target),
        }

    def _name(self, node: SessionItem) -> str:
        if node.session not in self.graph.sessions:
            return ""
        if node.session not in self._items:
            items = self._reading.items(node.session)
            self._items[node.session] = {each.id: each for each in items}
        found = self._items[node.session].get(node.item)
        return found.name if found else ""


def _picture_document(
    nodes: _Nodes,
    kept: Collection[SessionItem],
    edges: Iterable[Edge],
    start: SessionItem | None = None,
) -> dict[str, object]:
    within = [edge for edge in edges if edge.origin in kept and edge.target in kept]
    drawn = draw_genealogy(kept, within[:_MAX_LINES])
    sessions = nodes.graph.sessions
    return {
        "width": drawn.width,
        "height": drawn.height,
        "words": _describe(drawn),
        "lines_left_out": len(within) - len(drawn.lines),
        "sessions": [
            {
                "thread_id": each.session,
                "link": links.session(each.session) if each.session in sessions else None,
                "x": each.x,
                "items": each.items,
            }
            for each in drawn.columns
        ],
        "boxes": [
            {
                **nodes.document(box.node),
                "is_start": box.node == start,
                "x": box.x,
                "y": box.y,
                "width": box.width,
                "height": box.height,
            }
            for box in drawn.boxes
        ],
        "lines": [_line(each) for each in drawn.lines],
    }


def _describe(drawn: Picture) -> str:
    items, sessions = plural(len(drawn.boxes), "item"), plural(len(drawn.columns), "session")
    return f"{items} of {sessions}, and {plural(len(drawn.lines), 'reference')} between them"


def _line(line: Line) -> Document:
    return {
        "from": line.edge.origin._asdict(),
        "to": line.edge.target._asdict(),
        "relation": line.edge.relation,
        "words": relation_text([line.edge.relation]),
        "path": path_text(line),
        "arrow": arrow_text(line),
        "label": {"x": line.label[0], "y": line.label[1]},
    }
