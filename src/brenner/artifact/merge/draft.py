"""The mutable artifact during a merge, its open conflicts, and the check for reference cycles.

The draft refuses nothing; all decisions were made before. Untouched items stay the same objects. An
item that an EDIT or a KILL changes is copied into a mutable form and frozen again at the end. So a
thousand edits of one list cost a thousand steps.
"""

from __future__ import annotations

from collections import Counter, deque
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from brenner.artifact.model import (
    ITEM_SECTIONS,
    NO_FIELDS,
    NOT_APPLICABLE,
    Artifact,
    Fields,
    Item,
    KillRecord,
    Reference,
    Value,
    freeze_element,
    has_content,
    item_sort_key,
)
from brenner.artifact.state import (
    Blame,
    Change,
    Conflict,
    Counts,
    DisplacedValue,
    Overlay,
    Path,
    Source,
    State,
    ThreadPosition,
    Version,
    is_replaced,
    latest_version_before,
)
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.field_checks import WHITE_SPACE, is_blank
from brenner.protocol.delta.schema import (
    EDIT,
    HYPOTHESIS_SLATE,
    LIST_KINDS,
    MAP_KINDS,
    PREDICTIONS_TABLE,
    RESEARCH_THREAD,
    SECTIONS,
    Field,
    FieldKind,
    Section,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# Open conflicts during a merge (R12)

_SECTION_ORDER = {section.prefix[0]: index for index, section in enumerate(SECTIONS.values())}


# The mutable form of a conflict: its version, the source of the current value, and the displaced
# values
_OpenConflict = tuple[int, Source, list[DisplacedValue]]


class OpenConflicts:
    """The open conflicts by item and field (R12).

    Each is kept in a mutable form, because every edit can change its source and add a displaced
    value. The conflicts themselves are built only at the end.
    """

    def __init__(self, conflicts: Iterable[Conflict]) -> None:
        self._open: dict[str, dict[Path, _OpenConflict]] = {}
        self._displaced_agents: list[tuple[Path, str]] = []
        for conflict in conflicts:
            of_item = self._open.setdefault(conflict.item_id, {})
            displaced = list(conflict.displaced)
            of_item[conflict.path] = (conflict.version, conflict.source, displaced)

    def record_change(self, item_id: str, path: Path, change: Change, base: int) -> None:
        """Open or close a conflict for an edit on `base` that sets or confirms a value."""
        before, by = change.before, change.source
        is_other = change.value != change.replaced
        if before is not None and is_other and _is_unseen(before, by, base):
            self._update(item_id, path, [DisplacedValue(change.replaced, before.source)], by, base)
        elif item_id in self._open:
            self._update(item_id, path, [], by, base)
        if is_other:
            self.set_source(item_id, path, by)

    def record_list_change(
        self,
        item_id: str,
        path: Path,
        dropped: Iterable[tuple[object, Change | None]],
        by: Source,
        base: int,
    ) -> None:
        """Open or close a conflict for an edit on `base` that drops elements of a list.

        Each element comes with the change that added it.
        """
        by_source: dict[Source, list[object]] = {}
        for element, before in dropped:
            if before and _is_unseen(before, by, base):
                by_source.setdefault(before.source, []).append(element)
        lost = [DisplacedValue(tuple(elements), source) for source, elements in by_source.items()]
        self._update(item_id, path, lost, by, base)

    def set_source(self, item_id: str, path: Path, by: Source) -> None:
        """Update the source of the current value, if there is a conflict about it."""
        of_item = self._open.get(item_id)
        if of_item and path in of_item:
            version, _source, displaced = of_item[path]
            of_item[path] = (version, by, displaced)

    def conflicting_keys(self, item_id: str, name: str) -> list[str]:
        return [path[1] for path in self._open.get(item_id, ()) if path[0] == name and path[1:]]

    def _update(
        self, item_id: str, path: Path, lost: list[DisplacedValue], by: Source, base: int
    ) -> None:
        of_item = self._open.get(item_id, {})
        if path in of_item and base >= of_item[path][0]:
            del of_item[path]
        if lost:
            of_item = self._open.setdefault(item_id, {})
            _version, _source, displaced = of_item.setdefault(path, (by.version, by, []))
            displaced.extend(lost)
            self._displaced_agents += [(path, each.source.agent) for each in lost]

    def close_item(self, item_id: str) -> None:
        """Close all conflicts of an item that was killed."""
        self._open.pop(item_id, None)

    def pop_displaced_agents(self) -> list[tuple[Path, str]]:
        """Return and clear whose values were displaced since the last call, with their paths."""
        noted = self._displaced_agents
        if noted:
            self._displaced_agents = []
        return noted

    def to_conflicts(self, artifact: Artifact) -> tuple[Conflict, ...]:
        """Return the open conflicts in artifact order, each with its current value."""
        if not any(self._open.values()):
            return ()
        items = {item.id: item for _section, item in artifact.all_items()}
        return tuple(
            Conflict(
                item_id,
                path,
                version,
                _current_value(items[item_id], path),
                source,
                tuple(displaced),
            )
            for item_id in sorted(
                self._open, key=lambda each: (_SECTION_ORDER[each[0]], item_sort_key(each))
            )
            for path, (version, source, displaced) in sorted(
                self._open[item_id].items(), key=lambda each: each[0]
            )
        )


def _is_unseen(before: Change, by: Source, base: int) -> bool:
    """Return whether another author's edit had set the value after this edit's base version."""
    source = before.source
    is_edit = source.operation == EDIT
    return is_edit and source.agent != by.agent and source.version > base


def _current_value(item: Item, path: Path) -> object:
    value = item.fields.get(path[0])
    if len(path) == 1 or value is None:
        return value
    return cast("Mapping[str, object]", value).get(path[1])


# The frozen and the mutable form of a field's value
#
# A mutable list is an ordered set (a dict without values), so that adding an element takes constant
# time. A mutable map is a plain dict. Text, flags and choices are the same in both forms.

_FIELDS_OF = {section.prefix: section.fields for section in SECTIONS.values()}


# The mutable form of an item: its fields, and the latest change of each
MutableItem = tuple[dict[str, object], dict[Path, Change]]


def schema_of(item_id: str) -> Mapping[str, Field]:
    """Return the fields that an item with this ID can have."""
    return _FIELDS_OF[item_id if item_id == RESEARCH_THREAD.prefix else item_id[0]]


def is_list(item_id: str, name: str) -> bool:
    """Return whether the field is a list. Its elements are not fields of their own."""
    field = schema_of(item_id).get(name)
    return field is not None and field.kind in LIST_KINDS


def to_mutable(kind: FieldKind, value: object) -> object:
    """Return the mutable form of a frozen value or of a value from a payload."""
    if kind in LIST_KINDS:
        return dict.fromkeys(map(freeze_element, cast("list[object]", value)))
    return dict(cast("Mapping[str, object]", value)) if kind in MAP_KINDS else value


def to_frozen(kind: FieldKind, value: object) -> Value:
    """Return the frozen form of a mutable value."""
    if kind in LIST_KINDS:
        return tuple(cast("dict[str, None]", value))
    if kind in MAP_KINDS:
        return MappingProxyType(cast("dict[str, str]", value))
    return cast("str", value)


def freeze_fields(item_id: str, fields: dict[str, object]) -> Fields:
    """Freeze the fields of a mutable item. Drop the empty ones."""
    schema = schema_of(item_id)
    return MappingProxyType(
        {name: to_frozen(schema[name].kind, value) for name, value in fields.items() if value}
    )


def record_new_field(
    changes: dict[Path, Change], by: Source, name: str, kind: FieldKind, value: object
) -> None:
    """Record who set a new field, separately for each element of a list and each key of a map."""
    if kind in LIST_KINDS:
        for element in cast("dict[object, None]", value):
            changes[name, str(element)] = Change(by, element)
    elif kind in MAP_KINDS:
        for key, each in cast("dict[str, object]", value).items():
            changes[name, key] = Change(by, each)
    else:
        changes[(name,)] = Change(by, value)


# The draft

KILLED_PATH: Path = ("killed",)


class ArtifactDraft:
    """All items by ID, with their blame."""

    def __init__(self, state: State) -> None:
        artifact = state.artifact
        self.thread_id = artifact.metadata.session_id or ""
        self.counts = dict(state.counts)
        self.added = dict(state.added)
        self.items = {item.id: item for _section, item in artifact.all_items()}
        self.blame = Overlay(state.blame)
        self.open_conflicts = OpenConflicts(state.conflicts)
        self.active_hypotheses = len(artifact.active(HYPOTHESIS_SLATE))
        self._killed_hypotheses = [
            item.id for item in artifact.sections[HYPOTHESIS_SLATE.id] if item.killed
        ]
        self._order = {
            section.id: [item.id for item in artifact.sections[section.id]]
            for section in ITEM_SECTIONS
        }
        self._mutable_items: dict[str, MutableItem] = {}
        self._versions = state.versions
        self._late_counts: dict[int, dict[str, int]] = {}

    def is_killed(self, item_id: str) -> bool:
        return self.items[item_id].killed is not None

    def title(self, item_id: str) -> str:
        mutable = self._mutable_items.get(item_id)
        called = (mutable[0] if mutable else self.items[item_id].fields).get
        return str(called("name") or called("condition") or item_id)

    def is_late(self, position: ThreadPosition) -> bool:
        """Return whether a published version should have read a message at this position."""
        published = self._versions[-1]
        return published.at is not None and position < (published.at, published.message_id)

    def counts_before(self, position: ThreadPosition, base: Version) -> Counts:
        """Return the numbering just before a message. Its author cannot have seen later items.

        Messages come in order, so the next late one on a base continues from the previous one.
        """
        if not self.is_late(position):
            return dict(self.counts)
        seen = max(
            base, latest_version_before(position, self._versions), key=lambda each: each.number
        )
        counts = self._late_counts.setdefault(seen.number, dict(seen.counts))
        for prefix, count in seen.counts.items():
            number = max(count, counts[prefix]) + 1
            while self.was_added_before(f"{prefix}{number}", position):
                number += 1
            counts[prefix] = number - 1
        return dict(counts)

    def was_added_before(self, item_id: str, position: ThreadPosition) -> bool:
        """Return whether the item's ADD comes before that position in the thread."""
        return item_id in self.added and self.added[item_id] < position

    # Changes

    def add(
        self,
        item_id: str,
        section: Section,
        payload: Mapping[str, Any],
        by: Source,
        at: ThreadPosition,
    ) -> None:
        """Add a new item."""
        fields: dict[str, Value] = {}
        changes: dict[Path, Change] = {}
        for name, value in payload.items():
            if name in section.texts:
                if value[:1] not in WHITE_SPACE or not is_blank(value):
                    fields[name] = value
                    changes[(name,)] = Change(by, value)
                continue
            field = section.fields.get(name)
            if field is not None and has_content(value):
                content = to_mutable(field.kind, value)
                fields[name] = to_frozen(field.kind, content)
                record_new_field(changes, by, name, field.kind, content)
        if section is PREDICTIONS_TABLE:
            self._fill_killed_cells(fields, changes, by)
        self.items[item_id] = Item(item_id, MappingProxyType(fields))
        self.blame[item_id] = changes
        self.added[item_id] = at
        self._order[section.id].append(item_id)
        self.counts[section.prefix] += 1
        self.active_hypotheses += section is HYPOTHESIS_SLATE

    def _fill_killed_cells(
        self, fields: dict[str, Value], changes: dict[Path, Change], by: Source
    ) -> None:
        """Set N/A in a new row's cells of killed hypotheses."""
        if self._killed_hypotheses:
            cells = dict(cast("Mapping[str, str]", fields["predictions"]))
            for hypothesis in self._killed_hypotheses:
                cells[hypothesis] = NOT_APPLICABLE
                changes["predictions", hypothesis] = Change(by, NOT_APPLICABLE)
            fields["predictions"] = MappingProxyType(cells)

    def edit(
        self,
        item_id: str,
        section: Section,
        payload: Mapping[str, object],
        by: Source,
        base: int,
    ) -> None:
        """Change only the fields that the payload names. `base` is the base of the edit."""
        for name, value in payload.items():
            field = section.fields.get(name)
            if field is None:
                continue
            if field.kind in MAP_KINDS:
                given = cast("dict[str, object]", value)
                if is_replaced(name, payload):
                    self._drop_keys(item_id, name, given, by, base)
                for key, each in given.items():
                    self.set(item_id, (name, key), each, by, base)
            elif field.kind in LIST_KINDS:
                self._edit_list(item_id, name, payload, by, base)
            else:
                self.set(item_id, (name,), value if has_content(value) else None, by, base)

    def set(self, item_id: str, path: Path, value: object, by: Source, base: int) -> None:
        """Set one field, or one key of a map. None removes it."""
        holder, changes = self.mutable_item(item_id)
        if len(path) > 1:
            holder = cast("dict[str, object]", holder.setdefault(path[0], {}))
        key = path[-1]
        old = holder.get(key)
        change = Change(by, value, old, changes.get(path))
        self.open_conflicts.record_change(item_id, path, change, base)
        if value == old:
            return
        changes[path] = change
        if value is None:
            del holder[key]
        else:
            holder[key] = value

    def fill(self, item_id: str, name: str, text: str, by: Source) -> None:
        """Set an empty field. This is not an edit and closes no conflict about the field."""
        fields, changes = self.mutable_item(item_id)
        if name not in fields:
            fields[name] = text
            changes[(name,)] = Change(by, text, None, changes.get((name,)))
            self.open_conflicts.set_source(item_id, (name,), by)

    def _drop_keys(
        self, item_id: str, name: str, given: Mapping[str, object], by: Source, base: int
    ) -> None:
        """Remove the keys of a map that an EDIT replaces as a whole, and that it does not have."""
        kept = {*given, *(self._killed_hypotheses if name == "predictions" else ())}
        standing = cast("dict[str, object]", self.mutable_item(item_id)[0].get(name, {}))
        gone = dict.fromkeys([*standing, *self.open_conflicts.conflicting_keys(item_id, name)])
        for key in [key for key in gone if key not in kept]:
            self.set(item_id, (name, key), None, by, base)

    def _edit_list(
        self, item_id: str, name: str, payload: Mapping[str, Any], by: Source, base: int
    ) -> None:
        given = dict.fromkeys(map(freeze_element, payload[name]))
        is_whole = is_replaced(name, payload)
        fields, changes = self.mutable_item(item_id)
        standing = cast("dict[object, None]", fields.setdefault(name, {}))
        dropped = [each for each in standing if each not in given] if is_whole else []
        lost = [(each, changes.get((name, str(each)))) for each in dropped]
        self.open_conflicts.record_list_change(item_id, (name,), lost, by, base)
        for each, before in lost:
            changes[name, str(each)] = Change(by, None, each, before)
        new = [each for each in given if each not in standing]
        if dropped or new:
            self.open_conflicts.set_source(item_id, (name,), by)
        for each in new:
            path = (name, str(each))
            changes[path] = Change(by, each, None, changes.get(path))
        if is_whole:
            fields[name] = given
        else:
            standing.update(given)

    def kill(self, item_id: str, section: Section, killed: KillRecord, by: Source) -> None:
        """Mark the item as killed. Killing a killed item changes nothing."""
        item = self.items[item_id]
        if item.killed is not None:
            return
        self.items[item_id] = item._replace(killed=killed)
        self.mutable_item(item_id)[1][KILLED_PATH] = Change(by, killed.reason)
        self.open_conflicts.close_item(item_id)
        if section is HYPOTHESIS_SLATE:
            self.active_hypotheses -= 1
            self._killed_hypotheses.append(item_id)
            for row in self._order[PREDICTIONS_TABLE.id]:
                if self.items[row].killed is None:
                    self.set(row, ("predictions", item_id), NOT_APPLICABLE, by, by.version)

    def fields_of(self, item_id: str) -> Mapping[str, object]:
        """Return the fields of an item in their mutable or frozen form; none for a new item."""
        mutable = self._mutable_items.get(item_id)
        item = self.items.get(item_id)
        return mutable[0] if mutable else item.fields if item else NO_FIELDS

    def references_of(self, item_id: str) -> Iterable[Reference]:
        item = self._mutable_items.get(item_id)
        if item is None:
            return self.items[item_id].references
        return cast("dict[Reference, None]", item[0].get("references", {}))

    # Mutable items and freezing

    def mutable_item(self, item_id: str) -> MutableItem:
        """Return the mutable form of an item. Create it on first access."""
        item = self._mutable_items.get(item_id)
        if item is None:
            schema = schema_of(item_id)
            fields = {
                name: to_mutable(schema[name].kind, value)
                for name, value in self.items[item_id].fields.items()
            }
            changes = dict(self.blame.get(item_id, {}))
            item = self._mutable_items[item_id] = fields, changes
            self.blame[item_id] = changes
        return item

    def freeze(self) -> tuple[Item, Mapping[str, tuple[Item, ...]], Blame]:
        """Return the research thread, all other items by section, and the blame."""
        for item_id, (fields, _) in self._mutable_items.items():
            self.items[item_id] = self.items[item_id]._replace(
                fields=freeze_fields(item_id, fields)
            )
        sections = {
            section_id: tuple([self.items[item_id] for item_id in ids])
            for section_id, ids in self._order.items()
        }
        question = self.items[RESEARCH_THREAD.prefix]
        return question, MappingProxyType(sections), self.blame.flatten()


# Reference cycles (R21)


class SessionItem(NamedTuple):
    """An item of a session."""

    session: str
    item: str

    def __str__(self) -> str:
        return f"{self.session} {self.item}"


class LeftOutReference(NamedTuple):
    """A reference that was left out because it closes a cycle, with its block."""

    message_id: int
    block: int
    session: str
    item: str
    relation: str


class OtherSessions(NamedTuple):
    """The references between items of other sessions, which a merge must know.

    Rebuilding a version works without `references`. Then `left_out` are the references that the
    version's compiler had left out because of them.
    """

    references: Mapping[SessionItem, Iterable[SessionItem]] = MappingProxyType({})
    left_out: frozenset[LeftOutReference] = frozenset()


NO_OTHER_SESSIONS = OtherSessions()
_MAX_CYCLE_ITEMS = 6  # items of a cycle that are shown


def format_cycle(cycle: Sequence[SessionItem]) -> str:
    """Return a reference cycle as text. Shorten a long one in the middle."""
    names = [str(node) for node in cycle]
    more = len(names) - _MAX_CYCLE_ITEMS
    if more > 0:
        names[_MAX_CYCLE_ITEMS - 2 : -2] = [f"{more} more"]
    return " → ".join(names)


class CycleFinder:
    """The graph of references over all known sessions, which must stay free of cycles (R21)."""

    def __init__(self, artifact: Artifact, elsewhere: OtherSessions) -> None:
        self.session = artifact.metadata.session_id or ""
        self._targets: dict[SessionItem, Counter[SessionItem]] = {
            node: Counter(to) for node, to in elsewhere.references.items()
        }
        self._referenced = {node for to in self._targets.values() for node in to}
        for _section, item in artifact.all_items():
            for reference in item.references:
                self.add(item.id, reference)

    def add(self, item_id: str, reference: Reference) -> None:
        """Add a reference that closes no cycle."""
        target = SessionItem(reference.session, reference.item)
        self._targets.setdefault(SessionItem(self.session, item_id), Counter())[target] += 1
        self._referenced.add(target)

    def remove(self, item_id: str, reference: Reference) -> None:
        to = self._targets[SessionItem(self.session, item_id)]
        target = SessionItem(reference.session, reference.item)
        to[target] -= 1
        if not to[target]:
            del to[target]

    def find_cycle(self, item_id: str, reference: Reference) -> list[SessionItem]:
        """Return a shortest cycle that the reference would close, or an empty list."""
        start, first = (
            SessionItem(self.session, item_id),
            SessionItem(reference.session, reference.item),
        )
        if start == first:
            return [start, start]
        if start not in self._referenced:
            # An item that nothing refers to closes no cycle. Most new items are such: only another
            # session can refer to an item before it exists.
            return []
        came_from: dict[SessionItem, SessionItem] = {first: start}
        waiting = deque([first])
        while waiting:
            node = waiting.popleft()
            for following in self._targets.get(node, ()):
                if following == start:
                    return _trace_cycle(came_from, node, start)
                if following not in came_from:
                    came_from[following] = node
                    waiting.append(following)
        return []


def _trace_cycle(
    came_from: Mapping[SessionItem, SessionItem], last: SessionItem, start: SessionItem
) -> list[SessionItem]:
    path = [start, last]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return path[::-1]
