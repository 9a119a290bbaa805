"""Items as pages show them: each field with its author, message and replaced value; and links to
what items mention.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from brenner.artifact.diff import field_label
from brenner.artifact.html import mentioned_names
from brenner.artifact.model import (
    LAYOUT_BY_SECTION,
    SCORE_LABELS,
    Item,
    Reference,
    Result,
    total_score,
)
from brenner.artifact.state import NO_BLAME, Blame, Change, Conflict
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.schema import (
    DISCRIMINATIVE_TESTS,
    MOST_SCORE,
    PREDICTIONS_TABLE,
    RESEARCH_THREAD,
    SCORE_PARTS,
    Section,
)
from brenner.protocol.grammar import ITEM_ID
from brenner.protocol.thread_ids import is_valid_thread_id
from brenner.services.blame import BlameRow, blame_row_json, item_blame_rows
from brenner.services.compile import load_readable_source_text
from brenner.services.evidence import readable_pack
from brenner.services.session_files import read_session_file
from brenner.text import cut
from brenner.web import links

if TYPE_CHECKING:
    from brenner.diagnostics.model import Diagnostic
    from brenner.protocol.messages import Trust
    from brenner.web.request import Document, RequestContext

_MAX_FINDINGS = 10  # per item
_MAX_REPLACED = 600  # characters in a margin note; the item's own page has all of it
_HEADING_FIELDS = ("name", "condition", "statement")
_NO_CONFLICTS: Mapping[str, tuple[Conflict, ...]] = MappingProxyType({})
_NO_FINDINGS: Mapping[str, tuple[Diagnostic, ...]] = MappingProxyType({})


class VersionAnnotations(NamedTuple):
    """What is known of a version beside its items: blame, conflicts, lint findings, trust of
    senders.

    A version from a file has no blame. `version` is set for an older one and added to its links.
    `published` is set for the working draft: the latest version, which has the values that are
    published.
    """

    thread_id: str
    version: int | None = None
    blame: Blame = NO_BLAME
    conflicts: Mapping[str, tuple[Conflict, ...]] = _NO_CONFLICTS
    findings: Mapping[str, tuple[Diagnostic, ...]] = _NO_FINDINGS
    trusts: Mapping[int, Trust | None] = MappingProxyType({})
    published: int | None = None

    @property
    def query(self) -> dict[str, object]:
        """The query of pages of this version."""
        return {"version": self.version, "draft": None if self.published is None else 1}

    def link(self, item_id: str) -> str:
        """Return the permanent address of an item, in this version."""
        return links.item(self.thread_id, item_id, **self.query)

    def has_published(self, change: Change | None) -> bool:
        """Return whether a version contains a change."""
        return self.published is None or change is None or change.source.version <= self.published


def item_json(annotations: VersionAnnotations, section: Section, item: Item) -> Document:
    """Return an item with its heading, fields, lint findings and the author who killed it."""
    rows = list(item_blame_rows(section, item, annotations.blame.get(item.id, {})))
    heading = _heading_field(section)
    findings = annotations.findings.get(item.id, ())
    return {
        "id": item.id,
        "anchor": item.id if ITEM_ID.fullmatch(item.id) else None,
        "link": annotations.link(item.id) if ITEM_ID.fullmatch(item.id) else None,
        "section": section.id,
        "title": item.text("statement") if section is RESEARCH_THREAD else item.title,
        "heading": next((_entry(annotations, row) for row in rows if row.path == (heading,)), None),
        "third_alternative": "third_alternative" in item.fields,
        "score_total": total_score(item)
        if section is DISCRIMINATIVE_TESTS and item.score
        else None,
        "score_most": MOST_SCORE * len(SCORE_PARTS),
        "killed": _killed(annotations, item, rows),
        "fields": list(_fields(annotations, section, item, rows)),
        "lint": [each.to_json() for each in findings[:_MAX_FINDINGS]],
        "lint_count": len(findings),
        "published": _is_item_published(annotations, rows, heading),
        "removed": list(_removed(annotations, section, rows)),
    }


def _is_item_published(
    annotations: VersionAnnotations, rows: Iterable[BlameRow], heading: str
) -> bool:
    """Return whether a version contains the item, in whatever state."""
    change = next((row.change for row in rows if row.path == (heading,)), None)
    first = list(change.history())[-1] if change else None
    return annotations.has_published(first)


def _removed(
    annotations: VersionAnnotations, section: Section, rows: Iterable[BlameRow]
) -> Iterator[Document]:
    """Yield the values that the working draft no longer has."""
    for row in rows:
        if row.value is None and not annotations.has_published(row.change):
            yield {**_entry(annotations, row), "field": field_label(section.id, row.path[:1])}


def _heading_field(section: Section) -> str:
    return next(name for name in _HEADING_FIELDS if name in section.fields)


def _killed(
    annotations: VersionAnnotations, item: Item, rows: Iterable[BlameRow]
) -> Document | None:
    if item.killed is None:
        return None
    row = next((each for each in rows if each.path == ("killed",)), None)
    return item.killed._asdict() | {"entry": _entry(annotations, row) if row else None}


def _fields(
    annotations: VersionAnnotations, section: Section, item: Item, rows: list[BlameRow]
) -> Iterator[Document]:
    """Yield the fields in the order of the layout. Removed values are only in the history."""
    by_name: dict[str, list[BlameRow]] = {}
    for row in rows:
        if row.value is not None:
            by_name.setdefault(row.path[0], []).append(row)
    hidden = {"killed", _heading_field(section)}
    labels = [name for name in LAYOUT_BY_SECTION[section.id].labels if name in by_name]
    conflicts = annotations.conflicts.get(item.id, ())
    for name in dict.fromkeys((*labels, *by_name)):
        if name not in hidden:
            yield {
                "name": name,
                "label": field_label(section.id, (name,)),
                "kind": section.fields[name].kind.value if name in section.fields else "text",
                "entries": [_entry(annotations, row) for row in by_name[name]],
                "one_source": _is_of_one_source(by_name[name]),
                "conflicts": [
                    each.to_json() | {"key": ".".join(each.path[1:])}  # of a nested value
                    for each in conflicts
                    if each.path[0] == name
                ],
            }


def _is_of_one_source(rows: list[BlameRow]) -> bool:
    """Return whether one margin note fits all entries of a field."""
    sources = {row.change.source if row.change else None for row in rows}
    return len(sources) == 1 and all(not row.change or not row.change.before for row in rows)


def _entry(annotations: VersionAnnotations, row: BlameRow) -> Document:
    """Return a value with its margin note, under the keys of `artifact blame --json`."""
    row = row._replace(trusts=annotations.trusts)
    change = row.change
    document = blame_row_json(row, with_history=False)
    before = change.before.source if change and change.before else None
    replaced = document["replaced"]
    return document | {
        "key": row.path[1] if len(row.path) > 1 else None,
        "label": _key_label(row),
        "replaced": cut(replaced, _MAX_REPLACED) if isinstance(replaced, str) else replaced,
        "before": before._asdict() if before else None,
        "changes": sum(1 for _ in change.history()) if change else 0,
        "published": annotations.has_published(change),
    }


def _key_label(row: BlameRow) -> str | None:
    """Return the label of an entry of a map: a hypothesis, or a part of a score."""
    key = row.path[1] if len(row.path) > 1 else None
    return SCORE_LABELS.get(key, key) if key and row.path[0] == "score" else key


def last_changes(annotations: VersionAnnotations, items: Iterable[Item]) -> Iterator[Change]:
    """Yield the changes that set the current values of some items."""
    for item in items:
        yield from annotations.blame.get(item.id, {}).values()


def conflicts_by_item(conflicts: Iterable[Conflict]) -> Mapping[str, tuple[Conflict, ...]]:
    found: dict[str, tuple[Conflict, ...]] = {}
    for each in conflicts:
        found[each.item_id] = (*found.get(each.item_id, ()), each)
    return found


def findings_by_item(found: Iterable[Diagnostic]) -> Mapping[str, tuple[Diagnostic, ...]]:
    """Group the lint findings by item. Findings about no item are left out."""
    grouped: dict[str, list[Diagnostic]] = {}
    for each in found:
        if each.item:
            grouped.setdefault(each.item, []).append(each)
    return {item: tuple(some) for item, some in grouped.items()}


def is_table(section: Section) -> bool:
    return section is PREDICTIONS_TABLE


# Links from the text of items


_SECTION_SIGN, _SEPARATOR, _EVIDENCE = "§", " ", "EV-"


def item_addresses(
    context: RequestContext,
    annotations: VersionAnnotations,
    items: Iterable[Item],
    known: Collection[str],
    on_page: Collection[str] = (),
) -> dict[str, str]:
    """Return the address of all that items mention, by the names of `LinkTargets`: items of this
    and other sessions, sections of the source text, and records of the evidence pack.

    `known` are the items of the version, `on_page` those on the page. Guests get links only to what
    they may see.
    """
    source = cache(partial(load_readable_source_text, context.site.workspace.project))
    pack = cache(partial(readable_pack, context.site.workspace.project))
    has_session = cache(partial(_session_exists, context))

    def address_of(name: str) -> str | None:
        if name.startswith(_SECTION_SIGN):
            number = int(name.removeprefix(_SECTION_SIGN))
            text = source() if context.guest_of is None else None
            is_there = text is not None and text.missing(number, number) is None
            return links.source(number) if is_there else None
        if name.startswith(_EVIDENCE):
            known_pack = pack()
            is_there = known_pack is not None and known_pack.find(name) is not None
            return links.excerpt(annotations.thread_id, name) if is_there else None
        if _SEPARATOR in name:
            session, _, item_id = name.partition(_SEPARATOR)
            if session == annotations.thread_id:
                return annotations.link(item_id) if item_id in known else None
            return links.item(session, item_id) if has_session(session) else None
        if name not in known or not ITEM_ID.fullmatch(name):
            return None
        return f"#{name}" if name in on_page else annotations.link(name)

    names = dict.fromkeys(name for item in items for name in names_in_item(item))
    return {name: address for name in names if (address := address_of(name))}


def _session_exists(context: RequestContext, thread_id: str) -> bool:
    """Return whether a session has mail or a file that the reader may see."""
    if not is_valid_thread_id(thread_id) or not context.may_see(thread_id):
        return False
    workspace = context.site.workspace
    if workspace.mailbox.thread(thread_id, limit=1).position:
        return True
    return read_session_file(workspace.project, thread_id) is not None


def names_in_item(item: Item) -> Iterator[str]:
    """Yield all names that an item mentions, in prose and in references."""
    yield item.id
    for value in item.fields.values():
        yield from _names_in_value(value)
    if item.killed:
        yield from mentioned_names(item.killed.reason)


def _names_in_value(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield from mentioned_names(value)
    elif isinstance(value, Reference):
        yield value.item
        yield f"{value.session}{_SEPARATOR}{value.item}"
    elif isinstance(value, Result):
        yield from (*value.contradicts, *value.supports)
        yield from _names_in_value((value.outcome, value.note or "", value.evidence))
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield key
            yield from _names_in_value(each)
    elif isinstance(value, tuple):
        for each in value:
            yield from _names_in_value(each)
