"""Whether an artifact has the changes that were made to another one by hand.

Numbers are given at compile. So a new item is looked for under any number that is new, by its
texts; and where it is called otherwise, the changes that name it are read with that other ID.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from brenner.artifact.diff import KILLED, FieldChange, ItemChange, Kind, diff
from brenner.artifact.json_form import plain
from brenner.artifact.merging.mentions import mentions, with_ids
from brenner.artifact.model import ITEM_SECTIONS, Artifact, Item, Metadata, fields
from brenner.protocol.delta.schema import (
    RESEARCH_THREAD,
    SECTIONS,
    Delta,
    FieldKind,
    Operation,
    Section,
)
from brenner.protocol.grammar import ITEM_ID


class Missing(NamedTuple):
    """A change that an artifact does not have: of an item, of a field of it, or of the metadata.

    IDs are those of the file that was edited.
    """

    item: ItemChange | None
    field: FieldChange | None


Numbers = Mapping[tuple[str, str], str]  # by section and ID


def is_numbered(section: Section, item_id: str) -> bool:
    """Whether an ID is one that an item of the section can have."""
    match = ITEM_ID.fullmatch(item_id)
    return match is not None and (match[1] or RESEARCH_THREAD.prefix) == section.prefix


def by_id(numbers: Numbers) -> dict[str, str]:
    """The same of those items alone that others can name."""
    return {
        item_id: number
        for (section, item_id), number in numbers.items()
        if is_numbered(SECTIONS[section], item_id)
    }


def missing_from(new: Artifact, version: Artifact, edited: Artifact) -> Iterator[Missing]:
    """What was changed from the version to the edited one, and the new one does not have."""
    numbers = new_numbers(new, version, edited)
    written = {(section, number): item_id for (section, item_id), number in numbers.items()}
    found = diff(version, _renumbered(edited, numbers))
    items = _occurrences(new)
    for change in found.items:
        told = change._replace(id=written.get((change.section, change.id), change.id))
        item = items.get((change.section, change.id, change.occurrence))
        if Kind.REMOVED in change.kinds:
            if item is not None:
                yield Missing(told, None)
        elif item is None:
            yield Missing(told, None)
        else:
            yield from (Missing(told, field) for field in change.fields if not _has(item, field))
    for field in found.metadata:
        if _as_json(_in_metadata(new.metadata, field)) != _as_json(field.new):
            yield Missing(None, field)


def _occurrences(artifact: Artifact) -> dict[tuple[str, str, int], Item]:
    """The items by section and ID; a file may have an ID twice."""
    met: Counter[tuple[str, str]] = Counter()
    items = {}
    for section, item in artifact.all_items():
        met[section.id, item.id] += 1
        items[section.id, item.id, met[section.id, item.id]] = item
    return items


def new_numbers(new: Artifact, version: Artifact, edited: Artifact) -> Numbers:
    """What each item that was added by hand is called in the new artifact, where it has it."""
    numbers: dict[tuple[str, str], str] = {}
    for section in ITEM_SECTIONS:
        known = {item.id for item in version.sections[section.id]}
        there: dict[tuple[str, ...], list[str]] = {}
        for item in new.sections[section.id]:
            if item.id not in known:
                there.setdefault(_texts(section, item), []).append(item.id)
        for item in edited.sections[section.id]:
            alike = there.get(_texts(section, item))
            if alike and item.id not in known and (section.id, item.id) not in numbers:
                number = item.id if item.id in alike else alike[0]
                alike.remove(number)
                numbers[section.id, item.id] = number
    return numbers


def _texts(section: Section, item: Item) -> tuple[str, ...]:
    """What an item says, without the texts in which others are named."""
    known = section.fields.items()
    return tuple(
        [
            item.text(name)
            for name, field in known
            if field.kind is FieldKind.TEXT and not field.names_items
        ]
    )


def _renumbered(artifact: Artifact, numbers: Numbers) -> Artifact:
    """The artifact with items called otherwise, wherever their IDs live (R11)."""
    if all(item_id == number for (_, item_id), number in numbers.items()):
        return artifact
    named = by_id(numbers)
    thread_id = artifact.metadata.session_id or ""

    def renumbered(section: Section, item: Item) -> Item:
        values = {name: plain(value) for name, value in item.fields.items()}
        delta = Delta(Operation.ADD, section.id, None, values, "")
        ids = {each.written for each in mentions(delta, thread_id)}
        final = {written: named.get(written, written) for written in ids}
        number = numbers.get((section.id, item.id), item.id)
        return item._replace(id=number, fields=fields(with_ids(delta, final, thread_id)))

    sections = {
        name: tuple(renumbered(SECTIONS[name], item) for item in items)
        for name, items in artifact.sections.items()
    }
    return artifact._replace(sections=MappingProxyType(sections))


def _has(item: Item, change: FieldChange) -> bool:
    """Whether an item has a field as it was changed.

    Who killed an item and when comes with the message that kills it, whatever the file says.
    """
    name, *key = change.path
    if name == KILLED:
        is_new = change.old is None and change.new is not None
        if item.killed is None or (is_new and key != ["reason"]):
            return (item.killed is None) == (change.new is None)
        return getattr(item.killed, key[0]) == change.new or (is_new and not change.new)
    value = item.fields.get(name)
    if key and isinstance(value, Mapping):
        return value.get(key[0]) == change.new
    if change.added or change.removed or isinstance(value, tuple):
        return _has_list(value if isinstance(value, tuple) else (), change)
    return value == change.new


def _has_list(standing: tuple[object, ...], change: FieldChange) -> bool:
    """Whether nothing that was taken away is there, and the rest is, in its order."""
    wanted = change.new if isinstance(change.new, tuple) else ()
    kept = dict.fromkeys(each for each in standing if each in wanted)
    return [*kept] == [*wanted] and not any(each in standing for each in change.removed)


def _in_metadata(metadata: Metadata, change: FieldChange) -> object:
    """What the metadata says under a path; what stands in a map has paths of its own."""
    name, *keys = change.path
    value: object = getattr(metadata, name)
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return None if value == () or isinstance(value, Mapping) else value


def _as_json(value: object) -> str:
    """A value of the metadata as it is compared: unlike in Python, 1 is neither true nor 1.0."""
    return json.dumps(plain(value), sort_keys=True)
