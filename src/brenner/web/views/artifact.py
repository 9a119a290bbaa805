"""Pages of the artifact: a version (whole or by section), one item with its history, and the
evidence matrix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brenner.artifact.diff import field_label
from brenner.artifact.merge.draft import SessionItem
from brenner.artifact.model import (
    LAYOUT,
    LAYOUT_BY_SECTION,
    NONE_REGISTERED,
    Artifact,
    Item,
    SectionLayout,
    in_display_order,
    item_sort_key,
)
from brenner.artifact.state import Change, State
from brenner.diagnostics.codes.artifacts import NO_VERSION_YET
from brenner.diagnostics.model import RequestError
from brenner.lint.linter import LintReport, lint
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.schema import (
    ADD,
    HYPOTHESIS_SLATE,
    RESEARCH_THREAD,
    SECTIONS,
    Section,
)
from brenner.protocol.grammar import ITEM_ID_IN_MAIL
from brenner.protocol.message_types import CRITIQUE
from brenner.protocol.messages import iso
from brenner.protocol.thread_ids import cross_reference
from brenner.services.agent_task import find_part
from brenner.services.blame import blame_row_json, item_blame_rows
from brenner.services.compile import load_readable_source_text
from brenner.services.evidence import readable_pack
from brenner.services.identity import message_trust
from brenner.services.versions import LoadedVersion, Target, load_version
from brenner.session.genealogy import SECTION_LABELS, Direction, relation_text
from brenner.text import thread_argument
from brenner.web import links
from brenner.web.cache import LRUCache
from brenner.web.compare import version_before
from brenner.web.draft import (
    draft_document,
    is_requested,
    working_draft,
)
from brenner.web.items import (
    VersionAnnotations,
    conflicts_by_item,
    findings_by_item,
    is_table,
    item_addresses,
    item_json,
    last_changes,
    names_in_item,
)
from brenner.web.layout import load_session_file, session_document, session_or_none
from brenner.web.rendering import (
    ListPage,
    list_page_document,
    requested_page,
    session_page_links,
)
from brenner.web.request import (
    Document,
    Page,
    PageResult,
    PartCache,
    Redirect,
    RequestContext,
)
from brenner.web.views.genealogy import item_picture
from brenner.web.views.resemblance import resembling_killed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from brenner.session.references import ReferenceGraph
    from brenner.web.sessions import Session

TEMPLATE = "pages/artifact.html"
_MAX_WHOLE = 80  # items shown at once; a larger artifact shows the beginning of each section
_MAX_OF_SECTION, _MAX_ON_PAGE = 10, 40
_MAX_COLUMNS = 10  # hypotheses in the table of predictions
_MAX_FINDINGS, _MAX_CONFLICTS = 50, 50
_MAX_CACHED_PAGES, _MAX_CACHED_HTML = 4, 400_000  # pages and characters, of a session


class ShownVersion(NamedTuple):
    """The version that a page shows, or the working draft, with its annotations and lint report."""

    loaded: LoadedVersion
    latest: int | None
    annotations: VersionAnnotations
    report: LintReport
    is_draft: bool = False

    @property
    def artifact(self) -> Artifact:
        return self.loaded.artifact

    @property
    def is_latest(self) -> bool:
        """Whether the mail has no later version."""
        return self.is_draft or self.latest in (None, self.loaded.number)

    @property
    def number(self) -> int | None:
        """The number of the version; of the working draft, the one that it would get."""
        return self.artifact.metadata.version if self.is_draft else self.loaded.number


def page(context: RequestContext) -> PageResult:
    """Return the artifact page. Before the first version it shows the working draft."""
    version = shown_version(context)
    if version is None:
        return Page(TEMPLATE, "Artifact", _document_before_first(context))
    if version.is_draft:
        arrived = {} if version.latest else _document_before_first(context)
        return Page(TEMPLATE, "Working draft", {**arrived, **_document(context, version)})
    number = version.loaded.number
    title = f"Artifact v{number}" if number is not None else "Artifact"
    document = _document(context, version)
    return Page(TEMPLATE, title, document, parts=_kept_parts(context, version, document))


def shown_version(
    context: RequestContext, *, is_published_only: bool = False
) -> ShownVersion | None:
    """Return the requested version or the working draft, None before the first delta.

    Raise RequestError if the version is unknown.
    """
    session, query = session_or_none(context), context.query_number("version")
    if is_requested(context) and (draft := _draft_version(context, session)):
        return draft
    loaded = _load(context, session, query)
    if loaded is None:
        return None if is_published_only else _draft_version(context, session)
    latest = session.history.number if session and session.history.versions else None
    is_latest = latest in (None, loaded.number)
    report = session.lint if session and is_latest and loaded.source == "mail" else None
    project = context.site.workspace.project
    source = load_readable_source_text(project)
    report = report or lint(loaded.artifact, source=source, pack=readable_pack(project))
    state = loaded.state or State(loaded.artifact)
    annotations = VersionAnnotations(
        context.thread_id,
        None if is_latest else loaded.number,
        state.blame,
        conflicts_by_item(state.conflicts),
        findings_by_item(report.violations),
    )
    return ShownVersion(loaded, latest, annotations, report)


def _draft_version(context: RequestContext, session: Session | None) -> ShownVersion | None:
    """Return the working draft, or None if there is nothing to publish."""
    state = working_draft(session)
    if state is None or session is None:
        return None
    project = context.site.workspace.project
    report = lint(
        state.artifact, source=load_readable_source_text(project), pack=readable_pack(project)
    )
    annotations = VersionAnnotations(
        context.thread_id,
        None,
        state.blame,
        conflicts_by_item(state.conflicts),
        findings_by_item(report.violations),
        published=session.history.number,
    )
    latest = session.history.number if session.history.versions else None
    loaded = LoadedVersion(context.thread_id, None, state.artifact, "", "mail", state=state)
    return ShownVersion(loaded, latest, annotations, report, is_draft=True)


def _load(
    context: RequestContext, session: Session | None, query: int | None
) -> LoadedVersion | None:
    if session is None:
        return load_session_file(context)
    if session.history.versions:
        latest = session.latest
        return latest if query is None or latest is None else session.version(query)
    try:
        return load_version(context.site.workspace, Target(context.thread_id, query))
    except RequestError as refused:
        stopped = session.history.compile_blocker
        if refused.diagnostic.code == NO_VERSION_YET or refused.diagnostic == stopped:
            return None
        raise


def _document_before_first(context: RequestContext) -> Document:
    """Return what has arrived, and the command that compiles the first version."""
    status = context.session.status
    return {
        "session": session_document(context),
        **draft_document(context, context.session, is_shown=False),
        "thread_id": context.thread_id,
        "version": None,
        "messages": status.position,
        "deltas": status.unread,
        "applies": status.applies,
        "stopped": status.compile_blocker.to_json() if status.compile_blocker else None,
        "command": f"brenner compile {thread_argument(context.thread_id)}",
        "sections": [],
        "outline": [],
        "addresses": {},
    }


# The version


def whole_document(context: RequestContext) -> Document:
    """Return the document of a version with all items, however many there are."""
    version = shown_version(_without_draft(context), is_published_only=True)
    return (
        _document_before_first(context)
        if version is None
        else _document(context, version, is_whole=True)
    )


def _without_draft(context: RequestContext) -> RequestContext:
    query = {name: value for name, value in context.query.items() if name != "draft"}
    return context._replace(query=query)


def _document(
    context: RequestContext, version: ShownVersion, *, is_whole: bool = False
) -> Document:
    loaded, metadata = version.loaded, version.artifact.metadata
    sections = list(_section_pages(context, version, is_whole=is_whole))
    items = [item for _, _, some in sections for item in some]
    annotations = with_trusts(
        context, version.annotations, last_changes(version.annotations, items)
    )
    on_page = {item.id for item in items}
    known = item_ids(version.artifact)
    shown = _section_documents(context, version._replace(annotations=annotations), sections)
    previous = version.latest if version.is_draft else _previous_version(context, version)
    session = session_or_none(context)
    return {
        "session": session_document(context),
        **draft_document(context, session, is_shown=version.is_draft),
        **version_document(version),
        "compiled_at": metadata.compiled_at,
        "compiled_by": metadata.compiled_by,
        "status": metadata.status,
        "previous": None if version.is_draft else previous,
        "provenance": context.query.get("provenance") == "1",
        "section": _requested_section(context),
        "notes": [each.to_json() for each in loaded.notes],
        "lint": {
            "valid": version.report.valid,
            "summary": version.report.summary._asdict(),
            "violations": [each.to_json() for each in version.report.violations[:_MAX_FINDINGS]],
            "more": max(0, len(version.report.violations) - _MAX_FINDINGS),
        },
        "conflicts": [each.to_json() for some in annotations.conflicts.values() for each in some][
            :_MAX_CONFLICTS
        ],
        "sections": shown,
        "outline": [_outline(each, version.number if previous else None) for each in shown],
        "addresses": item_addresses(context, annotations, items, known, on_page),
    }


def _section_documents(
    context: RequestContext,
    version: ShownVersion,
    sections: Sequence[tuple[SectionLayout, ListPage, Sequence[Item]]],
) -> list[Document]:
    """Return the sections. Those of the latest version are cached as long as the session."""

    def compute() -> list[Document]:
        return [_section_document(context, version, *each) for each in sections]

    if not _is_cached(version):
        return compute()
    which = tuple((layout.section.id, found) for layout, found, _ in sections)
    return context.session.cached(_known_sections).get((which, version.report), compute)


def _is_cached(version: ShownVersion) -> bool:
    return version.loaded.source == "mail" and version.is_latest and not version.is_draft


def _known_sections(_session: Session) -> LRUCache[list[Document]]:
    """Return an empty cache of sections, by page and lint report."""
    return LRUCache(_MAX_CACHED_PAGES)


def _known_parts(_session: Session) -> LRUCache[str]:
    """Return an empty cache of rendered sections."""
    return LRUCache(_MAX_CACHED_HTML, len)


def _kept_parts(
    context: RequestContext, version: ShownVersion, document: Mapping[str, Any]
) -> PartCache | None:
    """Return the cache of rendered sections, with all that they depend on beside the session.

    How long ago something was is rendered anew every minute.
    """
    if not _is_cached(version):
        return None
    addresses = frozenset(document["addresses"].items())
    asked = (context.query.get("section"), context.query.get("page"))
    minute = int(context.now.timestamp() // 60)
    key = (version.report, asked, addresses, context.guest_of is not None, minute)
    return PartCache(context.session.cached(_known_parts), key)


def _outline(section: Mapping[str, Any], number: int | None) -> Document:
    """Return the items of a section on the page, each with its state in this version.

    `number` is None for the first version, in which everything is new.
    """
    return {
        "id": section["id"],
        "items": [
            {key: item[key] for key in ("id", "anchor", "title")} | {"state": _state(item, number)}
            for item in section["items"]
        ],
        "more": section["more"],
    }


def _state(item: Mapping[str, Any], number: int | None) -> str | None:
    """Return `killed`, or whether the version has added or changed the item."""
    if item["killed"]:
        return "killed"
    entries = [entry for field in item["fields"] for entry in field["entries"]]
    heading = item["heading"]
    if number is None:
        return None
    if heading and heading["version"] == number and heading["operation"] == ADD:
        return "new"
    is_changed = any(entry["version"] == number for entry in (*entries, *filter(None, [heading])))
    return "changed" if is_changed else None


def version_document(version: ShownVersion) -> dict[str, object]:
    """Return the version, whether it is from the mail or a file, and the latest version."""
    loaded = version.loaded
    return {
        "thread_id": loaded.thread_id,
        "version": loaded.number,
        "source": loaded.source,
        "message_id": loaded.message.id if loaded.message else None,
        "latest": version.latest,
        "is_latest": version.is_latest,
    }


def with_trusts(
    context: RequestContext, annotations: VersionAnnotations, changes: Iterable[Change]
) -> VersionAnnotations:
    """Add the trust of the senders of some changes."""
    ids = {change.source.message_id for change in changes}
    return annotations._replace(trusts=message_trust(context.site.workspace.mailbox, ids))


def item_ids(artifact: Artifact) -> frozenset[str]:
    """Return the IDs of all items. The research thread counts only if it has fields."""
    ids = {item.id for _, item in artifact.all_items()}
    return frozenset(ids if artifact.research_thread.fields else ids - {RESEARCH_THREAD.prefix})


def _previous_version(context: RequestContext, version: ShownVersion) -> int | None:
    number = version.loaded.number
    if version.loaded.source != "mail" or number is None:
        return None
    return version_before(context.session, number) or None


def _requested_section(context: RequestContext) -> str | None:
    name = context.query.get("section", "")
    return name if name in SECTIONS else None


# Sections


def _section_pages(
    context: RequestContext, version: ShownVersion, *, is_whole: bool
) -> Iterator[tuple[SectionLayout, ListPage, Sequence[Item]]]:
    wanted = _requested_section(context)
    is_whole = is_whole or _fits_on_page(version.artifact)
    for layout in LAYOUT:
        if wanted in (None, layout.section.id):
            items = section_items(version.artifact, layout)
            if wanted:
                found = requested_page(context, len(items), _MAX_ON_PAGE)
            else:
                size = max(1, len(items)) if is_whole else _MAX_OF_SECTION
                found = ListPage(1, max(1, -(-len(items) // size)), size, len(items))
            yield layout, found, found.slice(items)


def _fits_on_page(artifact: Artifact) -> bool:
    return sum(map(len, artifact.sections.values())) <= _MAX_WHOLE


def section_items(artifact: Artifact, layout: SectionLayout) -> list[Item]:
    """Return the items of a section in display order."""
    if layout.section is RESEARCH_THREAD:
        return [artifact.research_thread] if artifact.research_thread.fields else []
    return in_display_order(layout.section, artifact.sections[layout.section.id])


def _section_document(
    context: RequestContext,
    version: ShownVersion,
    layout: SectionLayout,
    found: ListPage,
    items: Sequence[Item],
) -> Document:
    section = layout.section
    columns = _columns(version.artifact, items) if is_table(section) else []
    query = {"section": section.id, **version.annotations.query}
    is_whole = _requested_section(context) is None
    everything = section_items(version.artifact, layout)
    active = sum(item.is_active for item in everything)
    return {
        "id": section.id,
        "heading": layout.heading,
        "active": active,
        "killed": len(everything) - active,
        "empty": "None yet" if layout.least else NONE_REGISTERED,
        "columns": columns if len(columns) <= _MAX_COLUMNS else None,
        "items": [item_json(version.annotations, section, item) for item in items],
        "part": list_page_document(found, session_page_links(context.thread_id, "artifact", query)),
        "more": links.session(context.thread_id, "artifact", **query)
        if is_whole and found.pages > 1
        else None,
    }


def _columns(artifact: Artifact, rows: Sequence[Item]) -> list[Document]:
    """Return the hypotheses that the predictions are about, by number."""
    known = {item.id: item for item in artifact.sections[HYPOTHESIS_SLATE.id]}
    named = set(known).union(*(row.mapped("predictions") for row in rows)) - {""}
    return [
        {"id": key, "killed": key in known and not known[key].is_active}
        for key in sorted(named, key=item_sort_key)
    ]


def item_address(version: ShownVersion, item_id: str) -> str:
    for layout in LAYOUT:
        ids = [item.id for item in section_items(version.artifact, layout)]
        if item_id in ids:
            is_whole = _fits_on_page(version.artifact) or ids.index(item_id) < _MAX_OF_SECTION
            number = ids.index(item_id) // _MAX_ON_PAGE + 1
            query = {} if is_whole else {"section": layout.section.id, "page": number}
            query |= version.annotations.query
            return f"{links.session(version.annotations.thread_id, 'artifact', **query)}#{item_id}"
    return links.session(version.annotations.thread_id, "artifact", **version.annotations.query)


# The page of one item: its fields, their history, and what mentions it


_MAX_MENTIONS, _MAX_CRITIQUES, _MAX_REFERENCES, _MAX_CHANGES = 50, 20, 50, 100


def item_page(context: RequestContext) -> PageResult:
    """Return the page of one item. Raise RequestError with the closest ID if it does not exist.

    An item that no version contains is shown in the working draft.
    """
    version, session = shown_version(context), session_or_none(context)
    if _is_only_in_draft(context, version, session):
        return Redirect(links.item(context.thread_id, context.parameters["item"], draft=1))
    if version is None:
        path = cross_reference(context.thread_id).artifact_path
        raise RequestError(NO_VERSION_YET.at(thread_id=context.thread_id, path=path))
    section, item = _find_item(version, context.parameters["item"])
    last = last_changes(version.annotations, [item])
    annotations = with_trusts(
        context, version.annotations, (change for each in last for change in each.history())
    )
    mentions = list(_mentions(version, item))
    document = {
        "session": session_document(context),
        **draft_document(context, session, is_shown=version.is_draft),
        **version_document(version),
        "item": item_json(annotations, section, item),
        "history": list(_history(annotations, section, item)),
        "addresses": item_addresses(context, annotations, [item], item_ids(version.artifact)),
        "section": section.id,
        "section_words": SECTION_LABELS[section.id],
        "place": item_address(version, item.id),
        **_adjacent_items(version, section, item),
        "named_by": mentions[:_MAX_MENTIONS],
        "named_by_count": len(mentions),
        "critiques": list(_critiques(session, item))[-_MAX_CRITIQUES:] if session else [],
        **_references(context, item),
        "genealogy": item_picture(context, item.id),
        "resembles": resembling_killed(context, section, item),
    }
    return Page("pages/item.html", f"{item.id} {item.title}", document)


def _is_only_in_draft(
    context: RequestContext, version: ShownVersion | None, session: Session | None
) -> bool:
    state, wanted = working_draft(session), context.parameters["item"]
    if state is None or version is None or version.is_draft or "version" in context.query:
        return False
    return wanted in item_ids(state.artifact) and wanted not in item_ids(version.artifact)


def _find_item(version: ShownVersion, wanted: str) -> tuple[Section, Item]:
    """Return the section and the item. A research thread without fields is not found."""
    _, meant = find_part(version.artifact, version.annotations.thread_id, "", wanted)
    return next(
        (section, item) for section, item in version.artifact.all_items() if item.id == meant
    )


def _history(annotations: VersionAnnotations, section: Section, item: Item) -> Iterator[Document]:
    """Yield all values of all fields, newest first, with the keys of `artifact blame --history`."""
    for row in item_blame_rows(section, item, annotations.blame.get(item.id, {})):
        document = blame_row_json(row._replace(trusts=annotations.trusts), with_history=True)
        changes = document["history"]
        shown_changes = changes[:_MAX_CHANGES] if isinstance(changes, list) else []
        label = field_label(section.id, row.path[:1])
        key = row.path[1] if len(row.path) > 1 else None
        yield document | {"label": label, "key": key, "history": shown_changes}


def _adjacent_items(version: ShownVersion, section: Section, item: Item) -> dict[str, object]:
    ids = [each.id for each in section_items(version.artifact, LAYOUT_BY_SECTION[section.id])]
    index = ids.index(item.id) if item.id in ids else 0
    previous = version.annotations.link(ids[index - 1]) if index else None
    following = version.annotations.link(ids[index + 1]) if index + 1 < len(ids) else None
    return {"previous_item": previous, "next_item": following}


# Mentions


def _mentions(version: ShownVersion, item: Item) -> Iterator[Document]:
    """Yield the items of this artifact that mention it, critiques and tests first."""
    if item.id == RESEARCH_THREAD.prefix:
        return
    found = [
        (section, each)
        for section, each in version.artifact.all_items()
        if each.id != item.id and item.id in set(names_in_item(each))
    ]
    for section, each in sorted(found, key=lambda pair: pair[0].prefix not in _FIRST_PREFIXES):
        yield {
            "id": each.id,
            "title": each.text("statement") or each.title,
            "section": section.id,
            "words": SECTION_LABELS[section.id],
            "killed": not each.is_active,
            "link": version.annotations.link(each.id),
        }


_FIRST_PREFIXES = ("C", "T")


def _critiques(session: Session, item: Item) -> Iterator[Document]:
    """Yield the CRITIQUE messages that mention it, in the order of the mail."""
    for stored in session.messages:
        message = stored.message
        if stored.type != CRITIQUE.name:
            continue
        text = f"{message.subject}\n{message.body}"
        if any(match[0] == item.id for match in ITEM_ID_IN_MAIL.finditer(text)):
            yield {
                "message_id": stored.id,
                "from": message.sender,
                "subject": message.subject,
                "at": iso(stored.at),
            }


# References to and from other sessions


def _references(context: RequestContext, item: Item) -> dict[str, object]:
    """Return the references of the item and those to it.

    The item's own references are its text, so guests see them. Others are hidden from guests who
    may not see that session.
    """
    node = SessionItem(context.thread_id, item.id)
    graph = context.site.reading.references()
    up = [
        _reference(context, SessionItem(each.session, each.item), each.relation, graph)
        for each in item.references
    ]
    down = [
        _reference(context, edge.origin, edge.relation, graph, Direction.DESCENDANTS)
        for edge in graph.into(node)
        if context.may_see(edge.origin.session)
    ]
    return {
        "references": up[:_MAX_REFERENCES],
        "referred_by": down[:_MAX_REFERENCES],
        "referred_by_count": len(down),
    }


def _reference(
    context: RequestContext,
    node: SessionItem,
    relation: str,
    graph: ReferenceGraph,
    direction: Direction = Direction.ANCESTORS,
) -> Document:
    """Return one reference. A guest who may not see that session does not learn what is in it."""
    may_see = context.may_see(node.session)
    is_there = graph.has(node)
    return {
        "relation": relation,
        "words": relation_text([relation], direction),
        "session": node.session,
        "item": node.item,
        "link": links.item(node.session, node.item) if may_see and is_there else None,
        "killed": graph.killed(node) is not None if may_see else None,
        "is_there": is_there if may_see else None,
    }
