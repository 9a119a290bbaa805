"""What differs between two artifacts, by item and by field, down to a single cell or number.

A field is named by its path, as in blame: ("claim",), ("predictions", "H2"), ("score", "cost"),
("killed", "reason"). None stands for what is not there. In the metadata a null and an empty map
say nothing either, and `agent_mail_message_id` is not compared: only the file has it (R18).
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from brenner.artifact.model import (
    KILLED_BY,
    LAYOUT_OF,
    NO_FIELDS,
    NO_RESEARCH_THREAD,
    REASON,
    SCORE_LABELS,
    Artifact,
    Item,
    Killed,
    Metadata,
    Reference,
    order_of,
    shown,
    total,
)
from brenner.artifact.state import Entry, Outcome, Path
from brenner.artifact.text_diff import Mark, Span, word_spans
from brenner.protocol.delta.schema import (
    DISCRIMINATIVE_TESTS,
    RESEARCH_THREAD,
    SCORE_PARTS,
    SECTIONS,
    Operation,
    Section,
)
from brenner.text import escape_control


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


# A difference in one sentence, as a COMPILED message needs it, and as lists of IDs.


MOST_ITEMS = 6
MOST_FIELDS = 4
MOST_CHARACTERS = 24  # of an ID or a key; in a file that a person wrote they may be any word


def changes(diff: Diff) -> dict[str, list[str]]:
    """The IDs of the items that were added, modified, killed, removed and revived, in artifact
    order.

    One that is in any of the other lists does not count as modified, too.
    """
    listed = (Kind.ADDED, Kind.MODIFIED, Kind.KILLED, Kind.REMOVED, Kind.REVIVED)
    ids: dict[str, list[str]] = {kind.value: [] for kind in listed}
    for change in diff.items:
        kinds = [kind for kind in listed if kind in change.kinds]
        for kind in kinds:
            if kind is not Kind.MODIFIED or len(kinds) == 1:
                ids[kind.value].append(change.id)
    return ids


def summary(diff: Diff) -> str:
    """One sentence, never long: what was added, changed and killed, and which tests moved."""
    if not diff.items:
        return f"Only the metadata changed ({_fields(diff.metadata)})." if diff.metadata else _NONE
    clauses = [
        f"{verb} {_listed([show(change) for change in found], MOST_ITEMS)}"
        for kind, verb, show in _CLAUSES
        if (found := [change for change in diff.items if kind in change.kinds])
    ]
    moved = [_move(change) for change in diff.items if change.rank]
    if moved:
        clauses.append(_listed(moved, MOST_ITEMS))
    sentence = "; ".join(clauses)
    return f"{sentence[0].upper()}{sentence[1:]}."


_NONE = "Nothing changed."


def same_words(count: int) -> str:
    """How many items did not change."""
    return f"{'1 item is' if count == 1 else f'{count} items are'} the same in both."


def _name(change: ItemChange) -> str:
    """Its ID; where a file gives it none, its title."""
    if change.id:
        return escape_control(change.id, MOST_CHARACTERS)
    title = escape_control(change.title, MOST_CHARACTERS)
    return f"“{title}”" if title else "an item without an ID"


def _with_fields(change: ItemChange) -> str:
    """The kill of an item is told elsewhere, unless it is all that changed."""
    told = [field for field in change.fields if field.path[0] != KILLED] or change.fields
    return f"{_name(change)} ({_fields(told)})"


def _move(change: ItemChange) -> str:
    old, new = change.rank or (0, 0)
    return f"{_name(change)} moved from rank {old} to {new}"


_CLAUSES: tuple[tuple[Kind, str, Callable[[ItemChange], str]], ...] = (
    (Kind.ADDED, "added", _name),
    (Kind.MODIFIED, "changed", _with_fields),
    (Kind.KILLED, "killed", _name),
    (Kind.REVIVED, "revived", _name),
    (Kind.REMOVED, "removed", _name),
)


def _fields(fields: Iterable[FieldChange]) -> str:
    """The names of the fields, each once; of predictions, the hypotheses."""
    names = dict.fromkeys(_field(change) for change in fields)
    return _listed([escape_control(name, MOST_CHARACTERS) for name in names], MOST_FIELDS, ", ")


def _field(change: FieldChange) -> str:
    return change.path[-1] if change.path[0] == "predictions" else change.path[0]


def _listed(words: list[str], most: int, last: str = " and ") -> str:
    """`H1, H2 and 12 others`."""
    if len(words) > most:
        words, last = [*words[: most - 1], f"{len(words) - most + 1} others"], " and "
    *others, final = words
    return f"{', '.join(others)}{last}{final}" if others else final


# What fields are called, and their values in words; terminal and pages say the same.


_NOT_SAID = "not said"
_KILL_LABELS = {"agent": KILLED_BY, "at": "Killed at", "reason": REASON}
_MAP_LABELS = {"predictions": "", "expected_outcomes": "Expected "}


def label_of(section: str, path: Path) -> str:
    """What the artifact calls a field; what is nested also by its key."""
    name, *keys = path
    if name == "killed":
        return _KILL_LABELS.get(keys[-1], keys[-1]) if keys else "Killed"
    if name == "score" and keys:
        return f"Score {SCORE_LABELS.get(keys[-1], keys[-1])}"
    if name in _MAP_LABELS and keys:
        return _MAP_LABELS[name] + keys[-1]
    return LAYOUT_OF[section].labels.get(name) or name.replace("_", " ").capitalize()


def value_text(value: object) -> str:
    """A value in words."""
    if isinstance(value, Reference):
        return f"{value.relation} {value.session} {value.item}"
    if isinstance(value, list | tuple):
        return ", ".join(value_text(each) for each in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={value_text(each)}" for key, each in value.items())
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def kill_texts(killed: Killed) -> tuple[tuple[str, str], ...]:
    """Who killed it and when, and why: labels and texts."""
    who = f"{killed.agent or 'agent not said'}, {killed.at or 'time not said'}"
    is_said = killed.agent or killed.at
    return ((KILLED_BY, who if is_said else _NOT_SAID), (REASON, killed.reason or _NOT_SAID))


# A changed item field by field: one text each, in which is marked what went and what came.


Marks = tuple[Span, ...]
_TITLES = (("name",), ("condition",))


def item_marks(change: ItemChange) -> Iterator[tuple[str, Marks]]:
    """Labels and values. What the heading of the item tells already needs no marks."""
    is_removed, is_killed = Kind.REMOVED in change.kinds, Kind.KILLED in change.kinds
    is_whole = is_removed or Kind.ADDED in change.kinds
    for field in change.fields:
        label = label_of(change.section, field.path)
        if (is_whole and field.path in _TITLES) or (is_killed and _is_kill(field)):
            continue
        if is_whole:
            yield label, _unmarked(value_text(field.old if is_removed else field.new))
        else:
            yield label, field_marks(field)
    if is_killed:
        told = {field.path[-1]: str(field.new) for field in change.fields if _is_kill(field)}
        for label, text in kill_texts(Killed(**told)):
            yield label, _unmarked(text)


def field_marks(change: FieldChange) -> Marks:
    """Of texts the words, of lists the elements, else one after the other."""
    if (change.added or change.removed) and isinstance(change.new, list | tuple):
        return tuple(_elements(change, change.new))
    return _text_marks(value_text(change.old), value_text(change.new))


def _is_kill(field: FieldChange) -> bool:
    return field.path[0] == KILLED


def _unmarked(text: str) -> Marks:
    return (Span(Mark.SAME, text),) if text else ()


def _text_marks(old: str, new: str) -> Marks:
    """Word by word, unless either is a single word: a time, a status, a number."""
    if all(len(text.split()) > 1 for text in (old, new)):
        return word_spans(old, new)
    both = (Span(Mark.REMOVED, old), Span(Mark.INSERTED, new))
    return tuple(span for span in both if span.text)


def _elements(change: FieldChange, new: list[object] | tuple[object, ...]) -> Iterator[Span]:
    """The new list, the added ones marked; before it the removed ones."""
    marked = [(Mark.REMOVED, element) for element in change.removed]
    added = iter((*change.added, _END))
    following = next(added)
    for element in new:
        is_added = element is following
        marked.append((Mark.INSERTED if is_added else Mark.SAME, element))
        following = next(added) if is_added else following
    for number, (mark, element) in enumerate(marked):
        if number:
            yield Span(Mark.SAME, ", ")
        if text := value_text(element):
            yield Span(mark, text)


_END = object()


# A block of the ledger in words: what it says, and what became of it. The same everywhere.


def block_words(entry: Entry) -> str:
    """The block in short, as it was written."""
    words = [entry.operation, entry.target_id, entry.section]
    return " ".join(word for word in words if word) or "not readable"


def duplicate_words(entry: Entry) -> str:
    """What a block that repeats another one stands for."""
    item = entry.item_id or entry.assigned_id
    return f"stands for {item}" if item else "changed nothing more"


def outcome_words(entry: Entry, *, is_read: bool = True) -> str:
    """What became of a block; of one that no version has read, what would."""
    if entry.state is Outcome.REFUSED:
        return "refused" if is_read else "would be refused"
    if entry.state is Outcome.DUPLICATE:
        return f"duplicate, {duplicate_words(entry)}"
    applied = "applied" if is_read else "would be applied"
    item = entry.assigned_id or entry.item_id
    if item is None:
        return applied
    return f"{applied} {'as' if entry.operation == Operation.ADD else 'to'} {item}"
