"""The artifact while it is being merged: the only thing in this package that changes.

Nothing is refused here: what reaches the draft was decided before. Items that no delta touches
stay the very objects that they were; one that an EDIT or a KILL touches is opened, changed in
place, and frozen again at the end, so that a thousand edits of one list cost a thousand steps.
"""

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, cast

from brenner.artifact.model import (
    ITEM_SECTIONS,
    NOT_APPLICABLE,
    Artifact,
    Fields,
    Item,
    Killed,
    Reference,
    Value,
    order_of,
    says_something,
)
from brenner.artifact.state import (
    Blame,
    Change,
    Conflict,
    Counts,
    Displaced,
    Layer,
    Moment,
    Path,
    Source,
    State,
    Version,
    is_replaced,
    latest_before,
)
from brenner.protocol.delta.schema import (
    HYPOTHESIS_SLATE,
    PREDICTIONS_TABLE,
    RESEARCH_THREAD,
    SECTIONS,
    Field,
    FieldKind,
    Operation,
    Section,
)
from brenner.protocol.delta.validate import BLANKS, is_blank

# Which conflicts are open while a merge goes on (R12).


_SECTION_ORDER = {section.prefix[0]: index for index, section in enumerate(SECTIONS.values())}


class _Dispute:
    """An open conflict that may still grow."""

    def __init__(self, version: int, source: Source, displaced: Iterable[Displaced] = ()) -> None:
        self.version = version
        self.source = source
        self.displaced = list(displaced)


class Noted(NamedTuple):
    """That the edit at hand has displaced a value of another author."""

    path: Path
    agent: str


class Disputes:
    """The open conflicts by item and field."""

    def __init__(self, conflicts: Iterable[Conflict]) -> None:
        self._open: dict[str, dict[Path, _Dispute]] = {}
        self._noted: list[Noted] = []
        for conflict in conflicts:
            dispute = _Dispute(conflict.version, conflict.source, conflict.displaced)
            self._open.setdefault(conflict.item_id, {})[conflict.path] = dispute

    def weigh(self, item_id: str, path: Path, change: Change, base: int) -> None:
        """An edit on `base` makes this change, or asserts what is there already."""
        before, by = change.before, change.source
        is_other = change.value != change.replaced
        lost = []
        if before is not None and is_other and _unseen(before, by, base):
            lost = [Displaced(change.replaced, before.source)]
        self._judge(item_id, path, lost, by, base)
        if is_other:
            self.set_by(item_id, path, by)

    def weigh_list(
        self,
        item_id: str,
        path: Path,
        dropped: Iterable[tuple[object, Change | None]],
        by: Source,
        base: int,
    ) -> None:
        """An edit on `base` drops these elements of a list, each with the change that added it."""
        by_source: dict[Source, list[object]] = {}
        for element, before in dropped:
            if before and _unseen(before, by, base):
                by_source.setdefault(before.source, []).append(element)
        lost = [Displaced(tuple(elements), source) for source, elements in by_source.items()]
        self._judge(item_id, path, lost, by, base)

    def set_by(self, item_id: str, path: Path, by: Source) -> None:
        """Say who has set the value that stands, where there is a conflict about it."""
        dispute = self._open.get(item_id, {}).get(path)
        if dispute is not None:
            dispute.source = by

    def taken_away(self, item_id: str, name: str) -> list[str]:
        """The keys of a map on which there is an open conflict."""
        return [path[1] for path in self._open.get(item_id, ()) if path[0] == name and path[1:]]

    def _judge(
        self, item_id: str, path: Path, lost: list[Displaced], by: Source, base: int
    ) -> None:
        of_item = self._open.get(item_id, {})
        dispute = of_item.get(path)
        if dispute and base >= dispute.version:
            del of_item[path]
            dispute = None
        if lost:
            if dispute is None:
                dispute = _Dispute(by.version, by)
                self._open.setdefault(item_id, {})[path] = dispute
            dispute.displaced += lost
            self._noted += [Noted(path, each.source.agent) for each in lost]

    def close_item(self, item_id: str) -> None:
        """All conflicts of an item that was killed."""
        self._open.pop(item_id, None)

    def take_noted(self) -> list[Noted]:
        """What was displaced since this was last asked."""
        noted, self._noted = self._noted, []
        return noted

    def still_open(self, artifact: Artifact) -> tuple[Conflict, ...]:
        """The open conflicts in the order of the artifact, each with the value that stands."""
        if not any(self._open.values()):
            return ()
        items = {item.id: item for _section, item in artifact.all_items()}
        return tuple(
            Conflict(
                item_id,
                path,
                dispute.version,
                _standing(items[item_id], path),
                dispute.source,
                tuple(dispute.displaced),
            )
            for item_id in sorted(self._open, key=_in_artifact_order)
            for path, dispute in sorted(self._open[item_id].items(), key=lambda each: each[0])
        )


def _unseen(before: Change, by: Source, base: int) -> bool:
    """Whether another author's edit had set it, after the version that this edit goes by."""
    source = before.source
    is_edit = source.operation == Operation.EDIT
    return is_edit and source.agent != by.agent and source.version > base


def _in_artifact_order(item_id: str) -> tuple[int, tuple[int, str]]:
    return (_SECTION_ORDER[item_id[0]], order_of(item_id))


def _standing(item: Item, path: Path) -> object:
    value = item.fields.get(path[0])
    if len(path) == 1 or value is None:
        return value
    return cast("Mapping[str, object]", value).get(path[1])


# The two forms of a field's value: frozen in an item, opened while it is being changed.
#
# An opened list is an ordered set (a dict without values), so that uniting takes one step for each
# element; an opened map is a plain dict. Text, flags and choices are the same in both.


LISTS = frozenset({FieldKind.ANCHORS, FieldKind.ITEMS, FieldKind.REFERENCES})
MAPS = frozenset({FieldKind.OUTCOMES, FieldKind.SCORE})
_FIELDS_OF = {section.prefix: section.fields for section in SECTIONS.values()}


class Opened(NamedTuple):
    """An item that is being changed."""

    fields: dict[str, object]
    changes: dict[Path, Change]


def schema_of(item_id: str) -> Mapping[str, Field]:
    """The fields that an item with this ID can have."""
    return _FIELDS_OF[item_id if item_id == RESEARCH_THREAD.prefix else item_id[0]]


def is_list(item_id: str, name: str) -> bool:
    """Whether the field is a list, whose elements are no fields of their own."""
    field = schema_of(item_id).get(name)
    return field is not None and field.kind in LISTS


def opened(kind: FieldKind, value: object) -> object:
    """A value that can be changed, from a frozen one or from a payload."""
    if kind in LISTS:
        return dict.fromkeys(map(_element, cast("list[object]", value)))
    return dict(cast("Mapping[str, object]", value)) if kind in MAPS else value


def _element(each: object) -> object:
    return Reference(**each) if isinstance(each, dict) else each


def closed(kind: FieldKind, value: object) -> Value:
    """The frozen form of an opened value."""
    if kind in LISTS:
        return tuple(cast("dict[str, None]", value))
    if kind in MAPS:
        return MappingProxyType(cast("dict[str, str]", value))
    return cast("str", value)


def all_closed(item_id: str, fields: dict[str, object]) -> Fields:
    """The fields of an item that was opened; what has become empty is not there any more."""
    schema = schema_of(item_id)
    return MappingProxyType(
        {name: closed(schema[name].kind, value) for name, value in fields.items() if value}
    )


def shown(element: object) -> str:
    """An element of a list as a part of a path."""
    if isinstance(element, Reference):
        return f"{element.relation} {element.session} {element.item}"
    return str(element)


def note(
    changes: dict[Path, Change], by: Source, name: str, kind: FieldKind, value: object
) -> None:
    """Who set a new field: each element of a list, each key of a map by itself."""
    if kind in LISTS:
        for element in cast("dict[object, None]", value):
            changes[name, shown(element)] = Change(by, element)
    elif kind in MAPS:
        for key, each in cast("dict[str, object]", value).items():
            changes[name, key] = Change(by, each)
    else:
        changes[(name,)] = Change(by, value)


KILLED: Path = ("killed",)


class Step(NamedTuple):
    """An edit under way: where it comes from, and the version that its author goes by."""

    source: Source
    base: int


class Draft:
    """All items by ID, with who set what."""

    def __init__(self, state: State) -> None:
        artifact = state.artifact
        self.thread_id = artifact.metadata.session_id or ""
        self.counts = dict(state.counts)
        self.added = dict(state.added)
        self.items = {item.id: item for _section, item in artifact.all_items()}
        self.blame = Layer(state.blame)
        self.disputes = Disputes(state.conflicts)
        self.active_hypotheses = len(artifact.active(HYPOTHESIS_SLATE))
        self._killed_hypotheses = [
            item.id for item in artifact.sections[HYPOTHESIS_SLATE.id] if item.killed
        ]
        self._order = {
            section.id: [item.id for item in artifact.sections[section.id]]
            for section in ITEM_SECTIONS
        }
        self._opened: dict[str, Opened] = {}
        self._versions = state.versions
        self._counts_of_late: dict[int, dict[str, int]] = {}

    def is_killed(self, item_id: str) -> bool:
        """Whether the item is killed; it exists."""
        return self.items[item_id].killed is not None

    def title(self, item_id: str) -> str:
        """What people call an item by now."""
        opened_item = self._opened.get(item_id)
        called = (opened_item.fields if opened_item else self.items[item_id].fields).get
        return str(called("name") or called("condition") or item_id)

    def is_late(self, moment: Moment) -> bool:
        """Whether a message of this moment ought to have been read by a published version."""
        published = self._versions[-1]
        return published.at is not None and moment < (published.at, published.message_id)

    def counts_before(self, moment: Moment, base: Version) -> Counts:
        """The numbering as it stood just before a message; later items she cannot have seen.

        Messages come in their order, so the next late one on a base is counted on from the last.
        """
        if not self.is_late(moment):
            return dict(self.counts)
        seen = max(base, latest_before(moment, self._versions), key=lambda each: each.number)
        counts = self._counts_of_late.setdefault(seen.number, dict(seen.counts))
        for prefix, count in seen.counts.items():
            number = max(count, counts[prefix]) + 1
            while self.was_added_before(f"{prefix}{number}", moment):
                number += 1
            counts[prefix] = number - 1
        return dict(counts)

    def was_added_before(self, item_id: str, moment: Moment) -> bool:
        """Whether the item's ADD stands before that moment in the thread."""
        return item_id in self.added and self.added[item_id] < moment

    # Changes.

    def add(
        self, item_id: str, section: Section, payload: Mapping[str, Any], by: Source, at: Moment
    ) -> None:
        """A new item."""
        fields: dict[str, Value] = {}
        changes: dict[Path, Change] = {}
        for name, value in payload.items():
            if name in section.texts:
                if value[:1] not in BLANKS or not is_blank(value):
                    fields[name] = value
                    changes[(name,)] = Change(by, value)
                continue
            field = section.fields.get(name)
            if field is not None and says_something(value):
                content = opened(field.kind, value)
                fields[name] = closed(field.kind, content)
                note(changes, by, name, field.kind, content)
        if section is PREDICTIONS_TABLE:
            self._without_killed(fields, changes, by)
        self.items[item_id] = Item(item_id, MappingProxyType(fields))
        self.blame[item_id] = changes
        self.added[item_id] = at
        self._order[section.id].append(item_id)
        self.counts[section.prefix] += 1
        self.active_hypotheses += section is HYPOTHESIS_SLATE

    def _without_killed(
        self, fields: dict[str, Value], changes: dict[Path, Change], by: Source
    ) -> None:
        """A new row has N/A in the cells of the hypotheses that are killed already."""
        if self._killed_hypotheses:
            cells = dict(cast("Mapping[str, str]", fields["predictions"]))
            for hypothesis in self._killed_hypotheses:
                cells[hypothesis] = NOT_APPLICABLE
                changes["predictions", hypothesis] = Change(by, NOT_APPLICABLE)
            fields["predictions"] = MappingProxyType(cells)

    def edit(
        self, item_id: str, section: Section, payload: Mapping[str, object], step: Step
    ) -> None:
        """Change only the fields that the payload names."""
        for name, value in payload.items():
            field = section.fields.get(name)
            if field is None:
                continue
            if field.kind in MAPS:
                self._edit_map(item_id, name, value, is_replaced(name, payload), step)
            elif field.kind in LISTS:
                given = cast("dict[object, None]", opened(field.kind, value))
                self._edit_list(item_id, name, given, is_replaced(name, payload), step)
            else:
                self.set(item_id, (name,), value if says_something(value) else None, step)

    def set(self, item_id: str, path: Path, value: object, step: Step) -> None:
        """Give one field, or one key of a map, a value; None takes it away."""
        item = self.touched(item_id)
        holder, key = item.fields, path[0]
        if len(path) > 1:
            holder = cast("dict[str, object]", item.fields.setdefault(path[0], {}))
            key = path[1]
        before = item.changes.get(path)
        old = holder.get(key)
        change = Change(step.source, value, old, before)
        self.disputes.weigh(item_id, path, change, step.base)
        if value == old:
            return
        item.changes[path] = change
        if value is None:
            del holder[key]
        else:
            holder[key] = value

    def fill(self, item_id: str, name: str, text: str, by: Source) -> None:
        """Give an empty field a value. That is no edit, and settles no conflict about the field."""
        item = self.touched(item_id)
        if name not in item.fields:
            item.fields[name] = text
            item.changes[(name,)] = Change(by, text, None, item.changes.get((name,)))
            self.disputes.set_by(item_id, (name,), by)

    def _edit_map(self, item_id: str, name: str, value: object, is_whole: bool, step: Step) -> None:
        given = cast("dict[str, object]", value)
        if is_whole:
            killed = set(self._killed_hypotheses) if name == "predictions" else set()
            standing = cast("dict[str, object]", self.touched(item_id).fields.get(name, {}))
            gone = dict.fromkeys([*standing, *self.disputes.taken_away(item_id, name)])
            for key in [key for key in gone if key not in given and key not in killed]:
                self.set(item_id, (name, key), None, step)
        for key, each in given.items():
            self.set(item_id, (name, key), each, step)

    def _edit_list(
        self, item_id: str, name: str, given: "dict[object, None]", is_whole: bool, step: Step
    ) -> None:
        item = self.touched(item_id)
        standing = cast("dict[object, None]", item.fields.setdefault(name, {}))
        dropped = [each for each in standing if each not in given] if is_whole else []
        lost = [(each, item.changes.get((name, shown(each)))) for each in dropped]
        self.disputes.weigh_list(item_id, (name,), lost, step.source, step.base)
        for each, before in lost:
            item.changes[name, shown(each)] = Change(step.source, None, each, before)
        new = [each for each in given if each not in standing]
        if dropped or new:
            self.disputes.set_by(item_id, (name,), step.source)
        for each in new:
            path = (name, shown(each))
            item.changes[path] = Change(step.source, each, None, item.changes.get(path))
        if is_whole:
            item.fields[name] = given
        else:
            standing.update(given)

    def kill(self, item_id: str, section: Section, killed: Killed, by: Source) -> None:
        """Mark the item. Killing a killed item changes nothing."""
        item = self.items[item_id]
        if item.killed is not None:
            return
        self.items[item_id] = item._replace(killed=killed)
        self.touched(item_id).changes[KILLED] = Change(by, killed.reason)
        self.disputes.close_item(item_id)
        if section is HYPOTHESIS_SLATE:
            self.active_hypotheses -= 1
            self._killed_hypotheses.append(item_id)
            for row in self._order[PREDICTIONS_TABLE.id]:
                if self.items[row].killed is None:
                    self.set(row, ("predictions", item_id), NOT_APPLICABLE, Step(by, by.version))

    def references_of(self, item_id: str) -> Iterable[Reference]:
        """The references of an item as they stand."""
        item = self._opened.get(item_id)
        if item is None:
            return self.items[item_id].references
        return cast("dict[Reference, None]", item.fields.get("references", {}))

    # Opening and freezing.

    def touched(self, item_id: str) -> Opened:
        """The item in a form that can be changed."""
        item = self._opened.get(item_id)
        if item is None:
            schema = schema_of(item_id)
            fields = {
                name: opened(schema[name].kind, value)
                for name, value in self.items[item_id].fields.items()
            }
            changes = dict(self.blame.get(item_id, {}))
            item = self._opened[item_id] = Opened(fields, changes)
            self.blame[item_id] = changes
        return item

    def freeze(self) -> tuple[Item, Mapping[str, tuple[Item, ...]], Blame]:
        """The research thread, all other items by section, and the blame."""
        for item_id, item in self._opened.items():
            fields = all_closed(item_id, item.fields)
            self.items[item_id] = self.items[item_id]._replace(fields=fields)
        sections = {
            section_id: tuple([self.items[item_id] for item_id in ids])
            for section_id, ids in self._order.items()
        }
        question = self.items[RESEARCH_THREAD.prefix]
        return question, MappingProxyType(sections), self.blame.flat()


# References between items never close a circle (R21).


class Node(NamedTuple):
    """An item of a session."""

    session: str
    item: str

    def __str__(self) -> str:
        """As a reference names it."""
        return f"{self.session} {self.item}"


class LeftOut(NamedTuple):
    """A reference that was left out, with the block that gave it."""

    message_id: int
    block: int
    session: str
    item: str
    relation: str


class Elsewhere(NamedTuple):
    """What a merge has to know of other sessions: the references between their items.

    Who rebuilds a version need not know them: `left_out` are the references that its compiler left
    out because of them.
    """

    references: Mapping[Node, Iterable[Node]] = MappingProxyType({})
    left_out: frozenset[LeftOut] = frozenset()


NOWHERE = Elsewhere()
_MOST_SHOWN = 6  # items of a circle


def circles_shown(circle: Sequence[Node]) -> str:
    """A circle as people read it; of a long one the beginning and the end."""
    names = [str(node) for node in circle]
    more = len(names) - _MOST_SHOWN
    if more > 0:
        names[_MOST_SHOWN - 2 : -2] = [f"{more} more"]
    return " → ".join(names)


class References:
    """Which item comes from which, over all sessions that are known."""

    def __init__(self, artifact: Artifact, elsewhere: Elsewhere) -> None:
        self.session = artifact.metadata.session_id or ""
        self._to: dict[Node, Counter[Node]] = {
            node: Counter(to) for node, to in elsewhere.references.items()
        }
        self._named = {node for to in self._to.values() for node in to}
        for _section, item in artifact.all_items():
            for reference in item.references:
                self.add(item.id, reference)

    def add(self, item_id: str, reference: Reference) -> None:
        """Take up a reference that closes no circle."""
        target = Node(reference.session, reference.item)
        self._to.setdefault(Node(self.session, item_id), Counter())[target] += 1
        self._named.add(target)

    def forget(self, item_id: str, reference: Reference) -> None:
        """Take a reference away again."""
        to = self._to[Node(self.session, item_id)]
        target = Node(reference.session, reference.item)
        to[target] -= 1
        if not to[target]:
            del to[target]

    def circle(self, item_id: str, reference: Reference) -> list[Node]:
        """A shortest way from the item through the reference and back to it, or nothing."""
        start, first = Node(self.session, item_id), Node(reference.session, reference.item)
        if start == first:
            return [start, start]
        if start not in self._named:
            # What nothing refers to closes no circle. So with most new items: only another
            # session may have named one before it was there.
            return []
        came_from: dict[Node, Node] = {first: start}
        waiting = deque([first])
        while waiting:
            node = waiting.popleft()
            for following in self._to.get(node, ()):
                if following == start:
                    return _way(came_from, node, start)
                if following not in came_from:
                    came_from[following] = node
                    waiting.append(following)
        return []


def _way(came_from: Mapping[Node, Node], last: Node, start: Node) -> list[Node]:
    way = [start, last]
    while way[-1] != start:
        way.append(came_from[way[-1]])
    return way[::-1]
