"""What differs between two artifacts, by item and by field, down to a single cell or number.

A field is named by its path, as in blame: ("claim",), ("predictions", "H2"), ("score", "cost"),
("killed", "reason"). None stands for what is not there. In the metadata a null and an empty map
say nothing either, and `agent_mail_message_id` is not compared: only the file has it (R18).
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from brenner.artifact.blame import Path
from brenner.artifact.model import (
    NO_FIELDS,
    NO_RESEARCH_THREAD,
    Artifact,
    Item,
    Killed,
    Metadata,
    order_of,
)
from brenner.artifact.ranking import shown, total
from brenner.protocol.delta.schema import (
    DISCRIMINATIVE_TESTS,
    RESEARCH_THREAD,
    SCORE_PARTS,
    SECTIONS,
    Section,
)


class Kind(StrEnum):
    """What happened to an item. Only files can lose or revive one: no delta does."""

    ADDED = "added"
    REMOVED = "removed"
    MODIFIED = "modified"
    KILLED = "killed"
    REVIVED = "revived"
    RE_RANKED = "re-ranked"


class FieldChange(NamedTuple):
    """One field, one key of a map, or one part of a score, with its two values.

    Of a list, `added` and `removed` say which elements came and went; if none did, its order
    changed.
    """

    path: Path
    old: object = None
    new: object = None
    added: tuple[object, ...] = ()
    removed: tuple[object, ...] = ()

    @property
    def field(self) -> str:
        """The field as people write it: `claim`, `predictions.H2`."""
        return ".".join(self.path)


class ItemChange(NamedTuple):
    """One item that is not the same in both; of an added or removed one, all its fields.

    `occurrence` counts the items of this ID in the section; in a sound artifact it is 1. `rank`
    is a test's place in the old and in the new order of the tests that both have.
    """

    id: str
    section: str
    title: str
    kinds: tuple[Kind, ...]
    fields: tuple[FieldChange, ...]
    rank: tuple[int, int] | None = None
    occurrence: int = 1


class Diff(NamedTuple):
    """The items that changed, in artifact order; the metadata; how many items are the same."""

    items: tuple[ItemChange, ...] = ()
    metadata: tuple[FieldChange, ...] = ()
    unchanged: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing changed at all."""
        return not self.items and not self.metadata


_Key = tuple[str, int]  # an ID, and which one of that ID
_NOT_COMPARED = "agent_mail_message_id"
KILLED = "killed"


def diff(old: Artifact, new: Artifact) -> Diff:
    """What changed from one artifact to the other. Linear in their size."""
    items: list[ItemChange] = []
    both = 0
    for section in SECTIONS.values():
        before, after = _keyed(_items(old, section)), _keyed(_items(new, section))
        both += len(before.keys() & after.keys())
        items += _section_changes(section, before, after)
    modified = sum(change.kinds[0] not in (Kind.ADDED, Kind.REMOVED) for change in items)
    metadata = _metadata_changes(old.metadata, new.metadata)
    # A research thread that says nothing is always there, and nobody would count it.
    is_silent = old.research_thread == new.research_thread == NO_RESEARCH_THREAD
    return Diff(tuple(items), metadata, both - modified - is_silent)


def ranks(tests: Iterable[Item]) -> list[int]:
    """The place of each test when they are shown by score, from 1, in the order given."""
    given = list(tests)
    places: dict[int, list[int]] = {}
    for rank, test in enumerate(shown(DISCRIMINATIVE_TESTS, given), 1):
        places.setdefault(id(test), []).append(rank)
    # The same test object may stand in a file twice; sorting keeps the two in order.
    following = {test: iter(found) for test, found in places.items()}
    return [next(following[id(test)]) for test in given]


def _items(artifact: Artifact, section: Section) -> tuple[Item, ...]:
    if section is RESEARCH_THREAD:
        return (artifact.research_thread,)
    return artifact.sections[section.id]


def _keyed(items: Iterable[Item]) -> dict[_Key, Item]:
    """Items by ID; where a file has an ID twice, the second is another item."""
    met: dict[str, int] = {}
    keyed: dict[_Key, Item] = {}
    for item in items:
        met[item.id] = occurrence = met.get(item.id, 0) + 1
        keyed[item.id, occurrence] = item
    return keyed


def _section_changes(
    section: Section, before: Mapping[_Key, Item], after: Mapping[_Key, Item]
) -> Iterator[ItemChange]:
    changed = [key for key in after if before.get(key) != after[key]]
    changed += [key for key in before if key not in after]
    moved = _moved(before, after) if section is DISCRIMINATIVE_TESTS and changed else {}
    for key in sorted(changed, key=_by_number):
        change = _item_change(section, key, before.get(key), after.get(key), moved.get(key))
        if change.kinds:
            yield change


def _by_number(key: _Key) -> tuple[tuple[int, str], str, int]:
    return (order_of(key[0]), *key)


def _moved(before: Mapping[_Key, Item], after: Mapping[_Key, Item]) -> dict[_Key, tuple[int, int]]:
    """The tests whose own score moved them past another one, and from where to where."""
    common = [key for key in before if key in after]
    places = zip(
        common,
        ranks(before[key] for key in common),
        ranks(after[key] for key in common),
        strict=True,
    )
    return {
        key: (was, becomes)
        for key, was, becomes in places
        if was != becomes and total(before[key]) != total(after[key])
    }


def _item_change(
    section: Section, key: _Key, old: Item | None, new: Item | None, rank: tuple[int, int] | None
) -> ItemChange:
    before, after = old.fields if old else NO_FIELDS, new.fields if new else NO_FIELDS
    names = [*section.fields, *sorted((before.keys() | after.keys()) - section.fields.keys())]
    changes = [
        change
        for name in names
        if before.get(name) != after.get(name)
        for change in _changes((name,), before.get(name), after.get(name))
    ]
    kill = list(_changes((KILLED,), _kill(old), _kill(new)))
    title = (new or old or Item(key[0])).title
    kinds = _kinds(old, new, is_changed=bool(changes), is_kill_changed=bool(kill))
    if rank:
        kinds += (Kind.RE_RANKED,)
    return ItemChange(key[0], section.id, title, kinds, (*changes, *kill), rank, key[1])


def _kill(item: Item | None) -> Mapping[str, str] | None:
    return item.killed._asdict() if item and item.killed else None


def _kinds(
    old: Item | None, new: Item | None, *, is_changed: bool, is_kill_changed: bool
) -> tuple[Kind, ...]:
    if new is None:
        return (Kind.REMOVED,)
    if old is None:
        return (Kind.ADDED,) if new.is_active else (Kind.ADDED, Kind.KILLED)
    if old.is_active == new.is_active:
        return (Kind.MODIFIED,) if is_changed or is_kill_changed else ()
    ended = Kind.KILLED if old.is_active else Kind.REVIVED
    return (Kind.MODIFIED, ended) if is_changed else (ended,)


def _metadata_changes(old: Metadata, new: Metadata) -> tuple[FieldChange, ...]:
    return tuple(
        change
        for name, before, after in zip(Metadata._fields, old, new, strict=True)
        if name != _NOT_COMPARED
        for change in _changes((name,), _said(before), _said(after))
    )


def _said(value: object) -> object:
    return None if value == () else value


def _changes(path: Path, old: object, new: object) -> Iterator[FieldChange]:
    """The changes of one field, key by key where it is a map."""
    if type(old) is str and type(new) is str:
        if old != new:
            yield FieldChange(path, old, new)
        return
    before = old if isinstance(old, Mapping) else NO_FIELDS
    after = new if isinstance(new, Mapping) else NO_FIELDS
    one = None if isinstance(old, Mapping) else old
    other = None if isinstance(new, Mapping) else new
    if not _is_same(one, other):
        yield _field_change(path, one, other)
    for key in sorted({*before, *after}, key=_by_key):
        yield from _changes((*path, key), before.get(key), after.get(key))


_KEYS = {name: number for number, name in enumerate((*Killed._fields, *SCORE_PARTS))}


def _by_key(key: str) -> tuple[int, tuple[int, str], str]:
    """Parts of a kill or a score as the protocol lists them, hypotheses by number."""
    return (_KEYS.get(key, len(_KEYS)), order_of(key), key)


def _is_same(old: object, new: object) -> bool:
    """Whether two values read the same; unlike in Python, 1 is neither true nor 1.0."""
    if isinstance(old, list) and isinstance(new, list):
        return json.dumps(old, sort_keys=True) == json.dumps(new, sort_keys=True)
    if type(old) is float and type(new) is float:
        return repr(old) == repr(new)  # of numbers that are none, none equals itself
    return type(old) is type(new) and old == new


def _field_change(path: Path, old: object, new: object) -> FieldChange:
    if not isinstance(old, list | tuple) and not isinstance(new, list | tuple):
        return FieldChange(path, old, new)
    before = old if isinstance(old, list | tuple) else ()
    after = new if isinstance(new, list | tuple) else ()
    return FieldChange(path, old, new, _beyond(before, after), _beyond(after, before))


def _beyond(few: Iterable[object], many: Iterable[object]) -> tuple[object, ...]:
    """The elements of the second list that the first does not have, or not so often."""
    left = Counter(json.dumps(element, sort_keys=True) for element in few)
    found: list[object] = []
    for element in many:
        name = json.dumps(element, sort_keys=True)
        if left[name] > 0:
            left[name] -= 1
        else:
            found.append(element)
    return tuple(found)
