"""Items as pages show them: every field with who set it, in which message, and what it replaced."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache, cached_property
from types import MappingProxyType
from typing import NamedTuple

from brenner.artifact.diff import label_of
from brenner.artifact.html import mentions
from brenner.artifact.model import LAYOUT_OF, SCORE_LABELS, Item, Reference, total
from brenner.artifact.state import NO_BLAME, Blame, Change, Conflict
from brenner.diagnostics.model import Diagnostic
from brenner.lint.context import SourceText
from brenner.mail.model import Trust
from brenner.protocol.delta.schema import (
    DISCRIMINATIVE_TESTS,
    MOST_SCORE,
    PREDICTIONS_TABLE,
    RESEARCH_THREAD,
    SCORE_PARTS,
    Section,
)
from brenner.protocol.grammar import ITEM_ID
from brenner.protocol.thread_ids import is_valid
from brenner.services.blame import Row, item_rows, row_json
from brenner.services.compile import readable_source
from brenner.services.sessions import read_session_file
from brenner.text import cut
from brenner.web import links
from brenner.web.request import Document, RequestContext

_MOST_FINDINGS = 10  # of the linter at one item
_MOST_REPLACED = 600  # characters in a margin note; the item's own page has all of it
_HEADINGS = ("name", "condition", "statement")
_NO_CONFLICTS: Mapping[str, tuple[Conflict, ...]] = MappingProxyType({})
_NO_FINDINGS: Mapping[str, tuple[Diagnostic, ...]] = MappingProxyType({})


class Scene(NamedTuple):
    """What is known of a version beside its items; of one from a file nobody knows who set what.

    `version` is asked for in the links of an older one.
    """

    thread_id: str
    version: int | None = None
    blame: Blame = NO_BLAME
    conflicts: Mapping[str, tuple[Conflict, ...]] = _NO_CONFLICTS
    findings: Mapping[str, tuple[Diagnostic, ...]] = _NO_FINDINGS
    trusts: Mapping[int, Trust | None] = MappingProxyType({})

    def link(self, item_id: str) -> str:
        """The permanent address of an item, in this version."""
        return links.item(self.thread_id, item_id, version=self.version)


def item_json(scene: Scene, section: Section, item: Item) -> Document:
    """An item with all that is said of it; its heading, its fields, who killed it."""
    rows = list(item_rows(section, item, scene.blame.get(item.id, {})))
    heading = _heading(section)
    findings = scene.findings.get(item.id, ())
    return {
        "id": item.id,
        "anchor": item.id if ITEM_ID.fullmatch(item.id) else None,
        "link": scene.link(item.id) if ITEM_ID.fullmatch(item.id) else None,
        "section": section.id,
        "title": item.text("statement") if section is RESEARCH_THREAD else item.title,
        "heading": next((_entry(scene, row) for row in rows if row.path == (heading,)), None),
        "third_alternative": "third_alternative" in item.fields,
        "score_total": total(item) if section is DISCRIMINATIVE_TESTS and item.score else None,
        "score_most": MOST_SCORE * len(SCORE_PARTS),
        "killed": _killed(scene, item, rows),
        "fields": list(_fields(scene, section, item, rows)),
        "lint": [each.to_json() for each in findings[:_MOST_FINDINGS]],
        "lint_count": len(findings),
    }


def _heading(section: Section) -> str:
    """The field that stands in the heading of an item."""
    return next(name for name in _HEADINGS if name in section.fields)


def _killed(scene: Scene, item: Item, rows: Iterable[Row]) -> Document | None:
    if item.killed is None:
        return None
    row = next((each for each in rows if each.path == ("killed",)), None)
    return item.killed._asdict() | {"entry": _entry(scene, row) if row else None}


def _fields(scene: Scene, section: Section, item: Item, rows: list[Row]) -> Iterator[Document]:
    """The fields in the order of the layout. What was taken away only the history shows."""
    by_name: dict[str, list[Row]] = {}
    for row in rows:
        if row.value is not None:
            by_name.setdefault(row.path[0], []).append(row)
    hidden = {"killed", _heading(section)}
    labels = [name for name in LAYOUT_OF[section.id].labels if name in by_name]
    conflicts = scene.conflicts.get(item.id, ())
    for name in dict.fromkeys((*labels, *by_name)):
        if name not in hidden:
            yield {
                "name": name,
                "label": label_of(section.id, (name,)),
                "kind": section.fields[name].kind.value if name in section.fields else "text",
                "entries": [_entry(scene, row) for row in by_name[name]],
                "one_source": _is_of_one_source(by_name[name]),
                "conflicts": [_conflict(each) for each in conflicts if each.path[0] == name],
            }


def _is_of_one_source(rows: list[Row]) -> bool:
    """Whether one margin note can tell of all entries of a field."""
    sources = {row.change.source if row.change else None for row in rows}
    return len(sources) == 1 and all(not row.change or not row.change.before for row in rows)


def _entry(scene: Scene, row: Row) -> Document:
    """A value with its margin note, under the keys of `artifact blame --json`."""
    row = row._replace(trusts=scene.trusts)
    change = row.change
    document = row_json(row, with_history=False)
    before = change.before.source if change and change.before else None
    return document | {
        "key": row.path[1] if len(row.path) > 1 else None,
        "label": _key_label(row),
        "replaced": _short(document["replaced"]),
        "before": before._asdict() if before else None,
        "changes": sum(1 for _ in change.history()) if change else 0,
    }


def _key_label(row: Row) -> str | None:
    """What stands before an entry of a map: a hypothesis, or a part of a score."""
    key = row.path[1] if len(row.path) > 1 else None
    return SCORE_LABELS.get(key, key) if key and row.path[0] == "score" else key


def _short(value: object) -> object:
    return cut(value, _MOST_REPLACED) if isinstance(value, str) else value


def _conflict(conflict: Conflict) -> Document:
    """Both values side by side; of what is nested also the key."""
    return conflict.to_json() | {"key": ".".join(conflict.path[1:])}


def last_changes(scene: Scene, items: Iterable[Item]) -> Iterator[Change]:
    """The changes that set what some items say now."""
    for item in items:
        yield from scene.blame.get(item.id, {}).values()


def by_item(conflicts: Iterable[Conflict]) -> Mapping[str, tuple[Conflict, ...]]:
    """The open conflicts of each item."""
    found: dict[str, tuple[Conflict, ...]] = {}
    for each in conflicts:
        found[each.item_id] = (*found.get(each.item_id, ()), each)
    return found


def findings_by_item(found: Iterable[Diagnostic]) -> Mapping[str, tuple[Diagnostic, ...]]:
    """What the linter says of each item; what it says of none of them is left out."""
    grouped: dict[str, list[Diagnostic]] = {}
    for each in found:
        if each.item:
            grouped.setdefault(each.item, []).append(each)
    return {item: tuple(some) for item, some in grouped.items()}


def is_table(section: Section) -> bool:
    """Whether its items are rows of one table."""
    return section is PREDICTIONS_TABLE


# Where the words of an artifact lead: items of this session and of others, the source text.
#
# Only what a page mentions is looked up, and only what is there becomes a link.


_SECTION, _BETWEEN = "§", " "


class Places:
    """What there is to lead to. `own` are the items of the version, `here` those on the page.

    A guest is led nowhere but to what she may see, nor told what else is there.
    """

    def __init__(
        self, visit: RequestContext, scene: Scene, own: Collection[str], here: Collection[str] = ()
    ) -> None:
        self._visit, self._desk, self._scene = visit, visit.site.workspace, scene
        self._own, self._here = own, here
        self._is_session = cache(self._looked_up)

    def of(self, items: Iterable[Item]) -> dict[str, str]:
        """The address of everything that these items mention, by the names of `Known`."""
        names = dict.fromkeys(name for item in items for name in named_in(item))
        found = ((name, self._address(name)) for name in names)
        return {name: address for name, address in found if address}

    def _address(self, name: str) -> str | None:
        if name.startswith(_SECTION):
            return self._section(int(name.removeprefix(_SECTION)))
        if _BETWEEN in name:
            session, _, item_id = name.partition(_BETWEEN)
            if session == self._scene.thread_id:
                return self._scene.link(item_id) if item_id in self._own else None
            return links.item(session, item_id) if self._is_session(session) else None
        if name not in self._own or not ITEM_ID.fullmatch(name):
            return None
        return f"#{name}" if name in self._here else self._scene.link(name)

    def _section(self, number: int) -> str | None:
        source = self._source if self._visit.guest_of is None else None
        is_there = source is not None and source.missing(number, number) is None
        return links.source(number) if is_there else None

    @cached_property
    def _source(self) -> SourceText | None:
        return readable_source(self._desk.project)

    def _looked_up(self, thread_id: str) -> bool:
        """Whether anything of a session can be read."""
        if not is_valid(thread_id) or not self._visit.may_see(thread_id):
            return False
        if self._desk.mailbox.thread(thread_id, limit=1).position:
            return True
        return read_session_file(self._desk.project, thread_id) is not None


def named_in(item: Item) -> Iterator[str]:
    """Everything that an item mentions, in prose and as the schema has it."""
    yield item.id
    for value in item.fields.values():
        yield from _named(value)
    if item.killed:
        yield from mentions(item.killed.reason)


def _named(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield from mentions(value)
    elif isinstance(value, Reference):
        yield value.item
        yield f"{value.session}{_BETWEEN}{value.item}"
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield key
            yield from _named(each)
    elif isinstance(value, tuple):
        for each in value:
            yield from _named(each)
