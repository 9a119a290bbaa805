"""The artifact of a session: one version of it, whole or a section at a time."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

from brenner.artifact.diff import label_of
from brenner.artifact.evidence import (
    Cell,
    Column,
    Matrix,
    by_hypothesis,
    groups,
    is_unkept,
    matrix,
    unseparated,
)
from brenner.artifact.merge.draft import Node
from brenner.artifact.model import (
    LAYOUT,
    LAYOUT_OF,
    NONE_REGISTERED,
    SCORE_LABELS,
    Artifact,
    Item,
    Layout,
    order_of,
    shown,
    total,
)
from brenner.artifact.state import Change, State
from brenner.diagnostics.codes.artifacts import NO_VERSION_YET
from brenner.diagnostics.model import RequestError
from brenner.lint.linter import LintReport, lint
from brenner.protocol.delta.schema import (
    DISCRIMINATIVE_TESTS,
    HYPOTHESIS_SLATE,
    MOST_SCORE,
    PREDICTIONS_TABLE,
    RESEARCH_THREAD,
    SCORE_PARTS,
    SECTIONS,
    Section,
)
from brenner.protocol.grammar import ITEM_IN_MAIL
from brenner.protocol.message_types import CRITIQUE
from brenner.protocol.messages import iso
from brenner.protocol.thread_ids import cross_reference
from brenner.services.agent_task import part_of
from brenner.services.blame import item_rows, row_json
from brenner.services.compile import readable_source
from brenner.services.identity import trusts_of
from brenner.services.versions import LoadedVersion, Target, load_version
from brenner.session.genealogy import SECTION_WORDS, Direction, relation_words
from brenner.session.references import ReferenceGraph
from brenner.session.versions import type_of
from brenner.text import cut, thread_argument
from brenner.web import links
from brenner.web.compare import before
from brenner.web.items import (
    Places,
    Scene,
    by_item,
    findings_by_item,
    is_table,
    item_json,
    last_changes,
    named_in,
)
from brenner.web.layout import file_of, session_document, session_of
from brenner.web.rendering import MOST_BARS, Part, in_session, part, part_json
from brenner.web.request import Answer, Document, Page, RequestContext
from brenner.web.sessions import Session

TEMPLATE = "pages/artifact.html"
_MOST_WHOLE = 80  # items that are shown at once; of a larger artifact the beginning of each section
_MOST_OF_EACH, _MOST_ON_PAGE = 10, 40
_MOST_COLUMNS = 10  # hypotheses in the table of predictions
_MOST_FINDINGS, _MOST_CONFLICTS = 50, 50


class View(NamedTuple):
    """A version, and how it was asked for."""

    loaded: LoadedVersion
    latest: int | None
    scene: Scene
    report: LintReport

    @property
    def artifact(self) -> Artifact:
        """What is shown."""
        return self.loaded.artifact

    @property
    def is_latest(self) -> bool:
        """Whether there is no later version in the mail."""
        return self.latest in (None, self.loaded.number)


def page(visit: RequestContext) -> Answer:
    """The document, well typeset; before the first version, what will be there."""
    view = view_of(visit)
    if view is None:
        return Page(TEMPLATE, "Artifact", _not_yet(visit))
    number = view.loaded.number
    title = f"Artifact v{number}" if number is not None else "Artifact"
    return Page(TEMPLATE, title, _document(visit, view))


def view_of(visit: RequestContext) -> View | None:
    """The version that was asked for; None before the first. One that is not there is refused."""
    session, asked = session_of(visit), visit.number("version")
    loaded = _loaded(visit, session, asked)
    if loaded is None:
        return None
    latest = session.history.number if session and session.history.versions else None
    is_latest = latest in (None, loaded.number)
    report = session.lint if session and is_latest and loaded.source == "mail" else None
    source = readable_source(visit.site.workspace.project)
    report = report or lint(loaded.artifact, source=source)
    state = loaded.state or State(loaded.artifact)
    scene = Scene(
        visit.thread_id,
        None if is_latest else loaded.number,
        state.blame,
        by_item(state.conflicts),
        findings_by_item(report.violations),
    )
    return View(loaded, latest, scene, report)


def _loaded(
    visit: RequestContext, session: Session | None, asked: int | None
) -> LoadedVersion | None:
    if session is None:
        return file_of(visit)
    if session.history.versions:
        latest = session.latest
        return latest if asked is None or latest is None else session.version(asked)
    try:
        return load_version(visit.site.workspace, Target(visit.thread_id, asked))
    except RequestError as refused:
        stopped = session.history.stopped
        if refused.diagnostic.code == NO_VERSION_YET or refused.diagnostic == stopped:
            return None
        raise


def _not_yet(visit: RequestContext) -> Document:
    """What has arrived already, and the command that makes a version of it."""
    status = visit.session.status
    return {
        "session": session_document(visit),
        "thread_id": visit.thread_id,
        "version": None,
        "messages": status.position,
        "deltas": status.unread,
        "applies": status.applies,
        "stopped": status.stopped.to_json() if status.stopped else None,
        "command": f"brenner compile {thread_argument(visit.thread_id)}",
        "sections": [],
        "addresses": {},
    }


# The version


def whole_document(visit: RequestContext) -> Document:
    """The document of the page with all items on it, however many there are."""
    view = view_of(visit)
    return _not_yet(visit) if view is None else _document(visit, view, is_whole=True)


def _document(visit: RequestContext, view: View, *, is_whole: bool = False) -> Document:
    loaded, metadata = view.loaded, view.artifact.metadata
    sections = list(_sections(visit, view, is_whole=is_whole))
    items = [item for _, _, some in sections for item in some]
    scene = with_trusts(visit, view.scene, last_changes(view.scene, items))
    here = {item.id for item in items}
    places = Places(visit, scene, ids_of(view.artifact), here)
    return {
        "session": session_document(visit),
        **where_from(view),
        "compiled_at": metadata.compiled_at,
        "compiled_by": metadata.compiled_by,
        "status": metadata.status,
        "previous": _previous(visit, view),
        "provenance": visit.asked.get("provenance") == "1",
        "section": _wanted(visit),
        "notes": [each.to_json() for each in loaded.notes],
        "lint": {
            "valid": view.report.valid,
            "summary": view.report.summary._asdict(),
            "violations": [each.to_json() for each in view.report.violations[:_MOST_FINDINGS]],
            "more": max(0, len(view.report.violations) - _MOST_FINDINGS),
        },
        "conflicts": [each.to_json() for some in scene.conflicts.values() for each in some][
            :_MOST_CONFLICTS
        ],
        "sections": [
            _section(visit, view._replace(scene=scene), layout, found, some)
            for layout, found, some in sections
        ],
        "addresses": places.of(items),
    }


def where_from(view: View) -> dict[str, object]:
    """Which version, from the mail or from a file, and which one is the latest."""
    loaded = view.loaded
    return {
        "thread_id": loaded.thread_id,
        "version": loaded.number,
        "source": loaded.source,
        "message_id": loaded.message.id if loaded.message else None,
        "latest": view.latest,
        "is_latest": view.is_latest,
    }


def with_trusts(visit: RequestContext, scene: Scene, changes: Iterable[Change]) -> Scene:
    """With what is known of the senders of the messages that made some changes."""
    ids = {change.source.message_id for change in changes}
    return scene._replace(trusts=trusts_of(visit.site.workspace.mailbox, ids))


def ids_of(artifact: Artifact) -> frozenset[str]:
    """The items that there are; the research thread only where it says something."""
    ids = {item.id for _, item in artifact.all_items()}
    return frozenset(ids if artifact.research_thread.fields else ids - {RESEARCH_THREAD.prefix})


def _previous(visit: RequestContext, view: View) -> int | None:
    """The version before the one that is shown."""
    number = view.loaded.number
    if view.loaded.source != "mail" or number is None:
        return None
    return before(visit.session, number) or None


def _wanted(visit: RequestContext) -> str | None:
    """The section that was asked for; None for all of them."""
    name = visit.asked.get("section", "")
    return name if name in SECTIONS else None


# Sections


def _sections(
    visit: RequestContext, view: View, *, is_whole: bool
) -> Iterator[tuple[Layout, Part, Sequence[Item]]]:
    """Each section with the items of it that the page shows."""
    wanted = _wanted(visit)
    is_whole = is_whole or _fits(view.artifact)
    for layout in LAYOUT:
        if wanted in (None, layout.section.id):
            items = items_of(view.artifact, layout)
            if wanted:
                found = part(visit, len(items), _MOST_ON_PAGE)
            else:
                size = max(1, len(items)) if is_whole else _MOST_OF_EACH
                found = Part(1, max(1, -(-len(items) // size)), size, len(items))
            yield layout, found, found.of(items)


def _fits(artifact: Artifact) -> bool:
    """Whether all of it is shown at once."""
    return sum(map(len, artifact.sections.values())) <= _MOST_WHOLE


def items_of(artifact: Artifact, layout: Layout) -> list[Item]:
    """The items of a section, in the order in which they are shown."""
    if layout.section is RESEARCH_THREAD:
        return [artifact.research_thread] if artifact.research_thread.fields else []
    return shown(layout.section, artifact.sections[layout.section.id])


def _section(
    visit: RequestContext, view: View, layout: Layout, found: Part, items: Sequence[Item]
) -> Document:
    section = layout.section
    columns = _columns(view.artifact, items) if is_table(section) else []
    asked = {"section": section.id, "version": view.scene.version}
    is_whole = _wanted(visit) is None
    everything = items_of(view.artifact, layout)
    active = sum(item.is_active for item in everything)
    return {
        "id": section.id,
        "heading": layout.heading,
        "active": active,
        "killed": len(everything) - active,
        "empty": "None yet" if layout.least else NONE_REGISTERED,
        "columns": columns if len(columns) <= _MOST_COLUMNS else None,
        "items": [item_json(view.scene, section, item) for item in items],
        "part": part_json(found, in_session(visit.thread_id, "artifact", asked)),
        "more": links.session(visit.thread_id, "artifact", **asked)
        if is_whole and found.pages > 1
        else None,
    }


def _columns(artifact: Artifact, rows: Sequence[Item]) -> list[Document]:
    """The hypotheses that the predictions are about, by their numbers."""
    known = {item.id: item for item in artifact.sections[HYPOTHESIS_SLATE.id]}
    named = set(known).union(*(row.mapped("predictions") for row in rows)) - {""}
    return [
        {"id": key, "killed": key in known and not known[key].is_active}
        for key in sorted(named, key=order_of)
    ]


def address_of(view: View, item_id: str) -> str:
    """The address of an item in its artifact: on the page that shows it."""
    for layout in LAYOUT:
        ids = [item.id for item in items_of(view.artifact, layout)]
        if item_id in ids:
            is_whole = _fits(view.artifact) or ids.index(item_id) < _MOST_OF_EACH
            number = ids.index(item_id) // _MOST_ON_PAGE + 1
            asked = {} if is_whole else {"section": layout.section.id, "page": number}
            asked["version"] = view.scene.version
            return f"{links.session(view.scene.thread_id, 'artifact', **asked)}#{item_id}"
    return links.session(view.scene.thread_id, "artifact", version=view.scene.version)


# One item of an artifact: all that it says and ever said, and what names it.


_MOST_NAMING, _MOST_CRITIQUES, _MOST_REFERENCES, _MOST_CHANGES = 50, 20, 50, 100


def item_page(visit: RequestContext) -> Answer:
    """The permanent address of an item; one that is not there is refused, with the nearest."""
    view = view_of(visit)
    if view is None:
        path = cross_reference(visit.thread_id).artifact_path
        raise RequestError(NO_VERSION_YET.at(thread_id=visit.thread_id, path=path))
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


def _references(visit: RequestContext, item: Item) -> dict[str, object]:
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


# The page `/sessions/T/evidence`: which hypotheses the predictions and tests tell apart.


_TAB = "evidence"
_COLUMNS, _ROWS, _PAIRS, _TABLED = 20, 100, 40, 100
_MOST_OUTCOME, _MOST_TITLE = 1_000, 200
_KINDS: Mapping[Section, str] = MappingProxyType(
    {PREDICTIONS_TABLE: "prediction", DISCRIMINATIVE_TESTS: "test"}
)


def evidence_page(visit: RequestContext) -> Answer:
    """The matrix of the latest version, or of the one that was asked for."""
    session = visit.session
    number = visit.number("version")
    loaded = session.latest if number is None else session.version(number)
    document: dict[str, object] = {
        "session": session_document(visit),
        "thread_id": session.thread_id,
        "version": loaded.number if loaded else None,
    }
    if loaded:
        document |= _evidence(visit, matrix(loaded.artifact), {"version": number})
    return Page("pages/evidence.html", "Evidence", document)


def _evidence(visit: RequestContext, found: Matrix, asked: Mapping[str, object]) -> Document:
    thread_id = visit.thread_id
    columns = part(visit, len(found.columns), _COLUMNS)
    rows = part(visit, len(found.hypotheses), _ROWS, "rows")
    beside = {**asked, "page": columns.number if columns.number > 1 else None}
    down = {**asked, "rows": rows.number if rows.number > 1 else None}
    return {
        "hypotheses": [_hypothesis(each) for each in rows.of(found.hypotheses)],
        "columns": [_column(each, found, rows) for each in columns.of(found.columns)],
        "column_pages": part_json(columns, in_session(thread_id, _TAB, down)),
        "row_pages": part_json(rows, in_session(thread_id, _TAB, beside, "rows")),
        "unseparated": [_unseparated(found, section) for section in _KINDS],
        "unkept": [
            {"id": each.item.id, "discriminates": cut(each.item.text("discriminates"), _MOST_TITLE)}
            for each in islice(_unkept(found), _PAIRS)
        ],
        "strangers": list(islice(_strangers(found), _PAIRS)),
        **_tests(found),
    }


def _hypothesis(item: Item) -> Document:
    killed = item.killed
    return {
        "id": item.id,
        "name": cut(item.title, _MOST_TITLE),
        "third_alternative": item.fields.get("third_alternative") is True,
        "killed": killed._asdict() if killed else None,
    }


def _column(column: Column, found: Matrix, rows: Part) -> Document:
    """A column with the cells of the hypotheses on this page; letters are those of all."""
    item = column.item
    return {
        "id": item.id,
        "kind": _KINDS[column.section],
        "name": cut(item.title, _MOST_TITLE),
        "killed": item.killed._asdict() if item.killed else None,
        "score": total(item) if item.score else None,
        "discriminates": cut(item.text("discriminates"), _MOST_TITLE) or None,
        "cells": [_cell(cell) for cell in rows.of(column.cells)],
        "groups": {
            letter: list(ids[:_PAIRS]) for letter, ids in groups(column, found.hypotheses).items()
        },
    }


def _cell(cell: Cell) -> Document:
    return {"outcome": cut(cell.outcome, _MOST_OUTCOME), "letter": cell.letter or None}


def _unseparated(found: Matrix, section: Section) -> Document:
    """The pairs that no prediction, or no test, tells apart; how many there are to tell them."""
    pairs = list(islice(unseparated(found, section), _PAIRS + 1))
    active = [each for each in found.columns if each.section is section and each.item.is_active]
    return {
        "kind": _KINDS[section],
        "active": len(active),
        "hypotheses": sum(each.is_active for each in found.hypotheses),
        "pairs": [list(pair) for pair in pairs[:_PAIRS]],
        "apart": [
            {"id": name, "others": list(others)} for name, others in by_hypothesis(pairs[:_PAIRS])
        ],
        "has_more": len(pairs) > _PAIRS,
    }


def _unkept(found: Matrix) -> Iterator[Column]:
    return (each for each in found.columns if is_unkept(each, found.hypotheses))


def _strangers(found: Matrix) -> Iterator[Document]:
    """Outcomes for hypotheses that are not in the slate."""
    for column in found.columns:
        for name, outcome in column.strangers:
            yield {"id": column.item.id, "hypothesis": name, "outcome": cut(outcome, _MOST_TITLE)}


# Scores


def _tests(found: Matrix) -> Document:
    tests = [each.item for each in found.columns if each.section is DISCRIMINATIVE_TESTS]
    return {
        "tests": [_test(each) for each in tests[:_TABLED]],
        "number_of_tests": len(tests),
        "most_charted": MOST_BARS,
        "parts": [{"part": part, "label": SCORE_LABELS[part]} for part in SCORE_PARTS],
        "most_score": MOST_SCORE * len(SCORE_PARTS),
    }


def _test(item: Item) -> Document:
    return {
        "id": item.id,
        "name": cut(item.title, _MOST_TITLE),
        "killed": bool(item.killed),
        "total": total(item) if item.score else None,
        "score": {part: item.score.get(part) for part in SCORE_PARTS},
    }
