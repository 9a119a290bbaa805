"""The artifact while it is being merged: the only thing in this package that changes.

Nothing is refused here: what reaches the draft was decided before. Items that no delta touches
stay the very objects that they were; one that an EDIT or a KILL touches is opened, changed in
place, and frozen again at the end, so that a thousand edits of one list cost a thousand steps.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, cast

from brenner.artifact.blame import Blame, Change, Path, Source
from brenner.artifact.kept import Layer
from brenner.artifact.layout import NOT_APPLICABLE
from brenner.artifact.merging.authors import is_replaced
from brenner.artifact.merging.disputes import Disputes
from brenner.artifact.merging.opened import (
    LISTS,
    MAPS,
    Opened,
    all_closed,
    closed,
    note,
    opened,
    schema_of,
    shown,
)
from brenner.artifact.model import ITEM_SECTIONS, Item, Killed, Reference, Value, says_something
from brenner.artifact.state import Counts, Moment, State, Version, latest_before
from brenner.protocol.delta.schema import (
    HYPOTHESIS_SLATE,
    PREDICTIONS_TABLE,
    RESEARCH_THREAD,
    Section,
)
from brenner.protocol.delta.validate import BLANKS, is_blank

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
