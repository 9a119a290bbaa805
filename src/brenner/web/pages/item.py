"""One item of an artifact: all that it says and ever said, and what names it."""

from collections.abc import Iterator

from brenner.artifact.diff import label_of
from brenner.artifact.merge.draft import Node
from brenner.artifact.model import LAYOUT_OF, Item
from brenner.diagnostics.codes.artifacts import NO_VERSION_YET
from brenner.diagnostics.model import Refused
from brenner.protocol.delta.schema import RESEARCH_THREAD, Section
from brenner.protocol.grammar import ITEM_IN_MAIL
from brenner.protocol.message_types import CRITIQUE
from brenner.protocol.messages import iso
from brenner.protocol.thread_ids import cross_reference
from brenner.services.agent_task import part_of
from brenner.services.blame import item_rows, row_json
from brenner.session.genealogy import SECTION_WORDS, Direction, relation_words
from brenner.session.references import ReferenceGraph
from brenner.session.versions import type_of
from brenner.web import links
from brenner.web.frame import session_document, session_of
from brenner.web.item_view import Scene, item_json, last_changes
from brenner.web.mentioned import Places, named_in
from brenner.web.page import Answer, Document, Page
from brenner.web.pages.artifact import (
    View,
    address_of,
    ids_of,
    items_of,
    view_of,
    where_from,
    with_trusts,
)
from brenner.web.reading import Session
from brenner.web.visit import Visit

_MOST_NAMING, _MOST_CRITIQUES, _MOST_REFERENCES, _MOST_CHANGES = 50, 20, 50, 100


def page(visit: Visit) -> Answer:
    """The permanent address of an item; one that is not there is refused, with the nearest."""
    view = view_of(visit)
    if view is None:
        path = cross_reference(visit.thread_id).artifact_path
        raise Refused(NO_VERSION_YET.at(thread_id=visit.thread_id, path=path))
    section, item = _found(view, visit.named["item"])
    last = last_changes(view.scene, [item])
    scene = with_trusts(visit, view.scene, (change for each in last for change in each.history()))
    naming = list(_naming(view, item))
    session = session_of(visit)
    document = {
        "session": session_document(visit),
        **where_from(view),
        "item": item_json(scene, section, item),
        "history": list(_history(scene, section, item)),
        "addresses": Places(visit, scene, ids_of(view.artifact)).of([item]),
        "section": section.id,
        "section_words": SECTION_WORDS[section.id],
        "place": address_of(view, item.id),
        **_beside(view, section, item),
        "named_by": naming[:_MOST_NAMING],
        "named_by_count": len(naming),
        "critiques": list(_critiques(session, item))[-_MOST_CRITIQUES:] if session else [],
        **_references(visit, item),
    }
    return Page("pages/item.html", f"{item.id} {item.title}", document)


def _found(view: View, wanted: str) -> tuple[Section, Item]:
    """The item; a research thread that says nothing is none."""
    meant = part_of(view.artifact, view.scene.thread_id, "", wanted).item_id
    return next((section, item) for section, item in view.artifact.all_items() if item.id == meant)


def _history(scene: Scene, section: Section, item: Item) -> Iterator[Document]:
    """Every value of every field, newest first, under the keys of `artifact blame --history`."""
    for row in item_rows(section, item, scene.blame.get(item.id, {})):
        document = row_json(row._replace(trusts=scene.trusts), with_history=True)
        changes = document["history"]
        kept = changes[:_MOST_CHANGES] if isinstance(changes, list) else []
        label = label_of(section.id, row.path[:1])
        key = row.path[1] if len(row.path) > 1 else None
        yield document | {"label": label, "key": key, "history": kept}


def _beside(view: View, section: Section, item: Item) -> dict[str, object]:
    """The items before and after it in its section."""
    ids = [each.id for each in items_of(view.artifact, LAYOUT_OF[section.id])]
    place = ids.index(item.id) if item.id in ids else 0
    previous = view.scene.link(ids[place - 1]) if place else None
    following = view.scene.link(ids[place + 1]) if place + 1 < len(ids) else None
    return {"previous_item": previous, "next_item": following}


# What names it


def _naming(view: View, item: Item) -> Iterator[Document]:
    """The items of this artifact that mention it; critiques and tests come first."""
    if item.id == RESEARCH_THREAD.prefix:
        return
    found = [
        (section, each)
        for section, each in view.artifact.all_items()
        if each.id != item.id and item.id in set(named_in(each))
    ]
    for section, each in sorted(found, key=lambda pair: pair[0].prefix not in _PRESSING):
        yield {
            "id": each.id,
            "title": each.text("statement") or each.title,
            "section": section.id,
            "words": SECTION_WORDS[section.id],
            "killed": not each.is_active,
            "link": view.scene.link(each.id),
        }


_PRESSING = ("C", "T")


def _critiques(session: Session, item: Item) -> Iterator[Document]:
    """The CRITIQUE messages that name it, in the order of the mail."""
    for filed in session.messages:
        message = filed.posted.message
        if type_of(filed) != CRITIQUE.name:
            continue
        text = f"{message.subject}\n{message.body}"
        if any(match[0] == item.id for match in ITEM_IN_MAIL.finditer(text)):
            yield {
                "message_id": filed.posted.id,
                "from": message.sender,
                "subject": message.subject,
                "at": iso(filed.posted.at),
            }


# References to and from other sessions


def _references(visit: Visit, item: Item) -> dict[str, object]:
    """What the item names is its own text. What names it is another's, and not for every guest."""
    node = Node(visit.thread_id, item.id)
    graph = visit.site.reading.references()
    named = [(Node(each.session, each.item), each.relation) for each in item.references]
    up = [
        _reference(there, relation, Direction.ANCESTORS, graph)
        if visit.may_see(there.session)
        else _unsaid(there, relation)
        for there, relation in named
    ]
    down = [
        _reference(edge.origin, edge.relation, Direction.DESCENDANTS, graph)
        for edge in graph.into(node)
        if visit.may_see(edge.origin.session)
    ]
    return {
        "references": up[:_MOST_REFERENCES],
        "referred_by": down[:_MOST_REFERENCES],
        "referred_by_count": len(down),
    }


def _reference(node: Node, relation: str, direction: Direction, graph: ReferenceGraph) -> Document:
    """One reference, and whether what it leads to is there."""
    return {
        "relation": relation,
        "words": relation_words([relation], direction),
        "session": node.session,
        "item": node.item,
        "link": links.item(node.session, node.item) if graph.has(node) else None,
        "killed": graph.killed(node) is not None,
        "is_there": graph.has(node),
    }


def _unsaid(node: Node, relation: str) -> Document:
    """The same for a guest who may not see that session: not even whether it is there."""
    return {
        "relation": relation,
        "words": relation_words([relation], Direction.ANCESTORS),
        "session": node.session,
        "item": node.item,
        "link": None,
        "killed": None,
        "is_there": None,
    }
