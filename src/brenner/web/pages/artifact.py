"""The artifact of a session: one version of it, whole or a section at a time."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from brenner.artifact.model import LAYOUT, NONE_REGISTERED, Artifact, Item, Layout, order_of, shown
from brenner.artifact.state import Change, State
from brenner.diagnostics.codes.artifacts import NO_VERSION_YET
from brenner.diagnostics.model import Refused
from brenner.lint.linter import LintReport, lint
from brenner.protocol.delta.schema import HYPOTHESIS_SLATE, RESEARCH_THREAD, SECTIONS
from brenner.services.compile import readable_source
from brenner.services.identity import trusts_of
from brenner.services.versions import LoadedVersion, Target, load_version
from brenner.text import thread_argument
from brenner.web import links
from brenner.web.comparing import before
from brenner.web.frame import file_of, session_document, session_of
from brenner.web.item_view import (
    Scene,
    by_item,
    findings_by_item,
    is_table,
    item_json,
    last_changes,
)
from brenner.web.mentioned import Places
from brenner.web.page import Answer, Document, Page
from brenner.web.paging import Part, in_session, part, part_json
from brenner.web.reading import Session
from brenner.web.visit import Visit

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


def page(visit: Visit) -> Answer:
    """The document, well typeset; before the first version, what will be there."""
    view = view_of(visit)
    if view is None:
        return Page(TEMPLATE, "Artifact", _not_yet(visit))
    number = view.loaded.number
    title = f"Artifact v{number}" if number is not None else "Artifact"
    return Page(TEMPLATE, title, _document(visit, view))


def view_of(visit: Visit) -> View | None:
    """The version that was asked for; None before the first. One that is not there is refused."""
    session, asked = session_of(visit), visit.number("version")
    loaded = _loaded(visit, session, asked)
    if loaded is None:
        return None
    latest = session.chain.number if session and session.chain.versions else None
    is_latest = latest in (None, loaded.number)
    report = session.lint if session and is_latest and loaded.source == "mail" else None
    source = readable_source(visit.site.desk.project)
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


def _loaded(visit: Visit, session: Session | None, asked: int | None) -> LoadedVersion | None:
    if session is None:
        return file_of(visit)
    if session.chain.versions:
        latest = session.latest
        return latest if asked is None or latest is None else session.version(asked)
    try:
        return load_version(visit.site.desk, Target(visit.thread_id, asked))
    except Refused as refused:
        stopped = session.chain.stopped
        if refused.diagnostic.code == NO_VERSION_YET or refused.diagnostic == stopped:
            return None
        raise


def _not_yet(visit: Visit) -> Document:
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


def whole_document(visit: Visit) -> Document:
    """The document of the page with all items on it, however many there are."""
    view = view_of(visit)
    return _not_yet(visit) if view is None else _document(visit, view, is_whole=True)


def _document(visit: Visit, view: View, *, is_whole: bool = False) -> Document:
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


def with_trusts(visit: Visit, scene: Scene, changes: Iterable[Change]) -> Scene:
    """With what is known of the senders of the messages that made some changes."""
    ids = {change.source.message_id for change in changes}
    return scene._replace(trusts=trusts_of(visit.site.desk.mailbox, ids))


def ids_of(artifact: Artifact) -> frozenset[str]:
    """The items that there are; the research thread only where it says something."""
    ids = {item.id for _, item in artifact.all_items()}
    return frozenset(ids if artifact.research_thread.fields else ids - {RESEARCH_THREAD.prefix})


def _previous(visit: Visit, view: View) -> int | None:
    """The version before the one that is shown."""
    number = view.loaded.number
    if view.loaded.source != "mail" or number is None:
        return None
    return before(visit.session, number) or None


def _wanted(visit: Visit) -> str | None:
    """The section that was asked for; None for all of them."""
    name = visit.asked.get("section", "")
    return name if name in SECTIONS else None


# Sections


def _sections(
    visit: Visit, view: View, *, is_whole: bool
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
    visit: Visit, view: View, layout: Layout, found: Part, items: Sequence[Item]
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
