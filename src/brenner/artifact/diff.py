"""Differences between two artifacts by item and field, and their wording for people.

A field is identified by its path, as in blame: ("claim",), ("predictions", "H2"), ("score",
"cost"), ("killed", "reason"). An absent value is None. In the metadata a null and an empty map are
absent too. `agent_mail_message_id` is not compared, because only the file has it (R18).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum

from brenner.artifact.model import (
    KILLED_BY,
    LAYOUT_BY_SECTION,
    NO_FIELDS,
    NO_RESEARCH_THREAD,
    REASON,
    SCORE_LABELS,
    Artifact,
    Item,
    KillRecord,
    Metadata,
    Reference,
    Result,
    in_display_order,
    item_sort_key,
    total_score,
)
from brenner.artifact.state import BlockOutcome, Entry, Path
from brenner.artifact.text_diff import Mark, TextSpan, word_spans
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.schema import (
    DISCRIMINATIVE_TESTS,
    RESEARCH_THREAD,
    SCORE_PARTS,
    SECTIONS,
    Operation,
    Section,
)
from brenner.text import escape_control

# Changes by item and field


class ChangeKind(StrEnum):
    """A kind of change to an item. Only files can remove or revive an item; deltas cannot."""

    ADDED = "added"
    REMOVED = "removed"
    MODIFIED = "modified"
    KILLED = "killed"
    REVIVED = "revived"
    RE_RANKED = "re-ranked"


class FieldChange(NamedTuple):
    """The old and new value of one field, one key of a map, or one part of a score.

    For a list, `added` and `removed` are its new and lost elements. If both are empty, only the
    order changed.
    """

    path: Path
    old: object = None
    new: object = None
    added: tuple[object, ...] = ()
    removed: tuple[object, ...] = ()

    @property
    def field(self) -> str:
        """Return the field as a dotted path: `claim`, `predictions.H2`."""
        return ".".join(self.path)


class ItemChange(NamedTuple):
    """One item that differs. An added or removed item has all its fields.

    `occurrence` is 1 for the first item with this ID in the section, 2 for the second, and so on;
    it is always 1 in a valid artifact. `rank` is the rank of a test in the old and the new version,
    among the tests that both have.
    """

    id: str
    section: str
    title: str
    kinds: tuple[ChangeKind, ...]
    fields: tuple[FieldChange, ...]
    rank: tuple[int, int] | None = None
    occurrence: int = 1


class Diff(NamedTuple):
    """The changed items in artifact order, the changes of metadata, the count of other items."""

    items: tuple[ItemChange, ...] = ()
    metadata: tuple[FieldChange, ...] = ()
    unchanged: int = 0

    @property
    def is_empty(self) -> bool:
        return not self.items and not self.metadata


_Key = tuple[str, int]  # an ID and its occurrence
_NOT_COMPARED = "agent_mail_message_id"
KILLED = "killed"


def diff(old: Artifact, new: Artifact) -> Diff:
    """Return the changes from one artifact to the other, in linear time."""
    items: list[ItemChange] = []
    both = 0
    for section in SECTIONS.values():
        before, after = _by_occurrence(_items(old, section)), _by_occurrence(_items(new, section))
        both += len(before.keys() & after.keys())
        items += _section_changes(section, before, after)
    modified = sum(
        change.kinds[0] not in (ChangeKind.ADDED, ChangeKind.REMOVED) for change in items
    )
    metadata = _metadata_changes(old.metadata, new.metadata)
    # An empty research thread is always present, and is not an item to a reader.
    is_silent = old.research_thread == new.research_thread == NO_RESEARCH_THREAD
    return Diff(tuple(items), metadata, both - modified - is_silent)


def rank_tests(tests: Iterable[Item]) -> list[int]:
    """Return the rank of each test by score, from 1, in the order of the input."""
    given = list(tests)
    places: dict[int, list[int]] = {}
    for rank, test in enumerate(in_display_order(DISCRIMINATIVE_TESTS, given), 1):
        places.setdefault(id(test), []).append(rank)
    # The same test object may occur twice; the sort is stable, so the two keep their order.
    following = {test: iter(found) for test, found in places.items()}
    return [next(following[id(test)]) for test in given]


def _items(artifact: Artifact, section: Section) -> tuple[Item, ...]:
    if section is RESEARCH_THREAD:
        return (artifact.research_thread,)
    return artifact.sections[section.id]


def _by_occurrence(items: Iterable[Item]) -> dict[_Key, Item]:
    """Return items by ID and occurrence. A repeated ID in a file is a different item."""
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
    moved = _moved_tests(before, after) if section is DISCRIMINATIVE_TESTS and changed else {}
    for key in sorted(changed, key=lambda each: (item_sort_key(each[0]), *each)):
        change = _item_change(section, key, before.get(key), after.get(key), moved.get(key))
        if change.kinds:
            yield change


def _moved_tests(
    before: Mapping[_Key, Item], after: Mapping[_Key, Item]
) -> dict[_Key, tuple[int, int]]:
    """Return the old and new rank of tests whose own score moved them past another test."""
    common = [key for key in before if key in after]
    places = zip(
        common,
        rank_tests(before[key] for key in common),
        rank_tests(after[key] for key in common),
        strict=True,
    )
    return {
        key: (was, becomes)
        for key, was, becomes in places
        if was != becomes and total_score(before[key]) != total_score(after[key])
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
    kill = list(_changes((KILLED,), _kill_fields(old), _kill_fields(new)))
    title = (new or old or Item(key[0])).title
    kinds = _kinds(old, new, is_changed=bool(changes), is_kill_changed=bool(kill))
    if rank:
        kinds += (ChangeKind.RE_RANKED,)
    return ItemChange(key[0], section.id, title, kinds, (*changes, *kill), rank, key[1])


def _kill_fields(item: Item | None) -> Mapping[str, str] | None:
    return item.killed._asdict() if item and item.killed else None


def _kinds(
    old: Item | None, new: Item | None, *, is_changed: bool, is_kill_changed: bool
) -> tuple[ChangeKind, ...]:
    if new is None:
        return (ChangeKind.REMOVED,)
    if old is None:
        return (ChangeKind.ADDED,) if new.is_active else (ChangeKind.ADDED, ChangeKind.KILLED)
    if old.is_active == new.is_active:
        return (ChangeKind.MODIFIED,) if is_changed or is_kill_changed else ()
    ended = ChangeKind.KILLED if old.is_active else ChangeKind.REVIVED
    return (ChangeKind.MODIFIED, ended) if is_changed else (ended,)


def _metadata_changes(old: Metadata, new: Metadata) -> tuple[FieldChange, ...]:
    return tuple(
        change
        for name, before, after in zip(Metadata._fields, old, new, strict=True)
        if name != _NOT_COMPARED
        for change in _changes((name,), _none_if_empty(before), _none_if_empty(after))
    )


def _none_if_empty(value: object) -> object:
    return None if value == () else value


def _changes(path: Path, old: object, new: object) -> Iterator[FieldChange]:
    """Yield the changes of one field, key by key if it is a map."""
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
    for key in sorted({*before, *after}, key=_key_order):
        yield from _changes((*path, key), before.get(key), after.get(key))


_KEY_ORDER = {name: number for number, name in enumerate((*KillRecord._fields, *SCORE_PARTS))}


def _key_order(key: str) -> tuple[int, tuple[int, str], str]:
    """Sort parts of a kill or a score as the protocol lists them, and hypotheses by number."""
    return (_KEY_ORDER.get(key, len(_KEY_ORDER)), item_sort_key(key), key)


def _is_same(old: object, new: object) -> bool:
    """Return whether two values are equal as JSON, where 1 equals neither true nor 1.0."""
    if isinstance(old, list) and isinstance(new, list):
        return json.dumps(old, sort_keys=True) == json.dumps(new, sort_keys=True)
    if type(old) is float and type(new) is float:
        return repr(old) == repr(new)  # NaN does not equal itself
    return type(old) is type(new) and old == new


def _field_change(path: Path, old: object, new: object) -> FieldChange:
    if not isinstance(old, list | tuple) and not isinstance(new, list | tuple):
        return FieldChange(path, old, new)
    before = old if isinstance(old, list | tuple) else ()
    after = new if isinstance(new, list | tuple) else ()
    return FieldChange(
        path, old, new, _extra_elements(before, after), _extra_elements(after, before)
    )


def _extra_elements(few: Iterable[object], many: Iterable[object]) -> tuple[object, ...]:
    """Return the elements of the second list that the first does not contain, or not as often."""
    left = Counter(json.dumps(element, sort_keys=True) for element in few)
    found: list[object] = []
    for element in many:
        name = json.dumps(element, sort_keys=True)
        if left[name] > 0:
            left[name] -= 1
        else:
            found.append(element)
    return tuple(found)


# A difference as one sentence for a COMPILED message, and as lists of IDs

MAX_ITEMS = 6
MAX_FIELDS = 4
MAX_CHARACTERS = 24  # of an ID or a key; in a file written by hand they can be any text


def changed_ids(diff: Diff) -> dict[str, list[str]]:
    """Return the IDs of added, modified, killed, removed and revived items, in artifact order.

    An item in any of the other lists is not listed as modified.
    """
    listed = (
        ChangeKind.ADDED,
        ChangeKind.MODIFIED,
        ChangeKind.KILLED,
        ChangeKind.REMOVED,
        ChangeKind.REVIVED,
    )
    ids: dict[str, list[str]] = {kind.value: [] for kind in listed}
    for change in diff.items:
        kinds = [kind for kind in listed if kind in change.kinds]
        for kind in kinds:
            if kind is not ChangeKind.MODIFIED or len(kinds) == 1:
                ids[kind.value].append(change.id)
    return ids


def summary(diff: Diff) -> str:
    """Return one short sentence: what was added, changed and killed, and which tests moved."""
    if not diff.items:
        return (
            f"Only the metadata changed ({_field_names(diff.metadata)})."
            if diff.metadata
            else _NO_CHANGES
        )
    clauses = [
        f"{verb} {_join_words([show(change) for change in found], MAX_ITEMS)}"
        for kind, verb, show in _CLAUSES
        if (found := [change for change in diff.items if kind in change.kinds])
    ]
    moved = [_rank_change(change) for change in diff.items if change.rank]
    if moved:
        clauses.append(_join_words(moved, MAX_ITEMS))
    sentence = "; ".join(clauses)
    return f"{sentence[0].upper()}{sentence[1:]}."


_NO_CHANGES = "Nothing changed."


def unchanged_sentence(count: int) -> str:
    return f"{'1 item is' if count == 1 else f'{count} items are'} the same in both."


def _item_name(change: ItemChange) -> str:
    """Return the item's ID, or its title if a file gives it no ID."""
    if change.id:
        return escape_control(change.id, MAX_CHARACTERS)
    title = escape_control(change.title, MAX_CHARACTERS)
    return f"“{title}”" if title else "an item without an ID"


def _item_with_fields(change: ItemChange) -> str:
    """Return the item with its changed fields. Leave out the kill, unless it is the only change."""
    shown = [field for field in change.fields if field.path[0] != KILLED] or change.fields
    return f"{_item_name(change)} ({_field_names(shown)})"


def _rank_change(change: ItemChange) -> str:
    old, new = change.rank or (0, 0)
    return f"{_item_name(change)} moved from rank {old} to {new}"


_CLAUSES: tuple[tuple[ChangeKind, str, Callable[[ItemChange], str]], ...] = (
    (ChangeKind.ADDED, "added", _item_name),
    (ChangeKind.MODIFIED, "changed", _item_with_fields),
    (ChangeKind.KILLED, "killed", _item_name),
    (ChangeKind.REVIVED, "revived", _item_name),
    (ChangeKind.REMOVED, "removed", _item_name),
)


def _field_names(fields: Iterable[FieldChange]) -> str:
    """Return the names of the fields, each once. For predictions, return the hypotheses."""
    paths = [change.path for change in fields]
    names = dict.fromkeys(path[-1 if path[0] == "predictions" else 0] for path in paths)
    return _join_words([escape_control(name, MAX_CHARACTERS) for name in names], MAX_FIELDS, ", ")


def _join_words(words: list[str], most: int, last: str = " and ") -> str:
    if len(words) > most:
        words, last = [*words[: most - 1], f"{len(words) - most + 1} others"], " and "
    *others, final = words
    return f"{', '.join(others)}{last}{final}" if others else final


# Labels and texts of fields, shared by the terminal and the pages

_NOT_STATED = "not stated"
_KILL_LABELS = {"agent": KILLED_BY, "at": "Killed at", "reason": REASON}
_MAP_LABELS = {"predictions": "", "expected_outcomes": "Expected ", "outcomes": "Outcome "}


def field_label(section: str, path: Path) -> str:
    """Return the artifact's label for a field. For a nested value, include the key."""
    name, *keys = path
    if name == "killed":
        return _KILL_LABELS.get(keys[-1], keys[-1]) if keys else "Killed"
    if name == "score" and keys:
        return f"Score {SCORE_LABELS.get(keys[-1], keys[-1])}"
    if name in _MAP_LABELS and keys:
        return _MAP_LABELS[name] + keys[-1]
    return LAYOUT_BY_SECTION[section].labels.get(name) or name.replace("_", " ").capitalize()


def value_text(value: object) -> str:
    if isinstance(value, Reference | Result):
        return str(value)
    if isinstance(value, list | tuple):
        return ", ".join(value_text(each) for each in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={value_text(each)}" for key, each in value.items())
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def kill_texts(killed: KillRecord) -> tuple[tuple[str, str], ...]:
    """Return the labels and texts for the agent, time and reason of a kill."""
    who = f"{killed.agent or 'agent not stated'}, {killed.at or 'time not stated'}"
    is_known = killed.agent or killed.at
    return ((KILLED_BY, who if is_known else _NOT_STATED), (REASON, killed.reason or _NOT_STATED))


# A changed item field by field, with removed and inserted text marked

TextSpans = tuple[TextSpan, ...]
_TITLE_PATHS = (("name",), ("condition",))


def item_spans(change: ItemChange) -> Iterator[tuple[str, TextSpans]]:
    """Yield the label and the marked value of each field.

    Leave out the fields that the item's heading shows already.
    """
    is_removed, is_killed = ChangeKind.REMOVED in change.kinds, ChangeKind.KILLED in change.kinds
    is_whole = is_removed or ChangeKind.ADDED in change.kinds
    for field in change.fields:
        label = field_label(change.section, field.path)
        if (is_whole and field.path in _TITLE_PATHS) or (is_killed and _is_kill_field(field)):
            continue
        if is_whole:
            yield label, _unmarked_span(value_text(field.old if is_removed else field.new))
        else:
            yield label, field_spans(field)
    if is_killed:
        kill = {field.path[-1]: str(field.new) for field in change.fields if _is_kill_field(field)}
        for label, text in kill_texts(KillRecord(**kill)):
            yield label, _unmarked_span(text)


def field_spans(change: FieldChange) -> TextSpans:
    """Return the change of a field: words for texts, elements for lists, else old and new value."""
    if (change.added or change.removed) and isinstance(change.new, list | tuple):
        return tuple(_list_spans(change, change.new))
    return _text_spans(value_text(change.old), value_text(change.new))


def _is_kill_field(field: FieldChange) -> bool:
    return field.path[0] == KILLED


def _unmarked_span(text: str) -> TextSpans:
    return (TextSpan(Mark.SAME, text),) if text else ()


def _text_spans(old: str, new: str) -> TextSpans:
    """Compare word by word, unless either text is a single word: a time, a status, a number."""
    if all(len(text.split()) > 1 for text in (old, new)):
        return word_spans(old, new)
    both = (TextSpan(Mark.REMOVED, old), TextSpan(Mark.INSERTED, new))
    return tuple(span for span in both if span.text)


def _list_spans(change: FieldChange, new: list[object] | tuple[object, ...]) -> Iterator[TextSpan]:
    """Yield the removed elements, then the new list with its added elements marked."""
    marked = [(Mark.REMOVED, element) for element in change.removed]
    added = iter((*change.added, _END))
    following = next(added)
    for element in new:
        is_added = element is following
        marked.append((Mark.INSERTED if is_added else Mark.SAME, element))
        following = next(added) if is_added else following
    for number, (mark, element) in enumerate(marked):
        if number:
            yield TextSpan(Mark.SAME, ", ")
        if text := value_text(element):
            yield TextSpan(mark, text)


_END = object()


# The description of a ledger entry, shared by all views


def describe_block(entry: Entry) -> str:
    """Return a block's operation, target and section as written."""
    words = [entry.operation, entry.target_id, entry.section]
    return " ".join(word for word in words if word) or "unreadable"


def describe_duplicate(entry: Entry) -> str:
    """Return what a duplicate block refers to."""
    item = entry.item_id or entry.assigned_id
    return f"same as {item}" if item else "no further change"


def describe_outcome(entry: Entry, *, is_read: bool = True) -> str:
    """Return what became of a block, or what would, if no version has read it yet."""
    if entry.state is BlockOutcome.REFUSED:
        return "rejected" if is_read else "would be rejected"
    if entry.state is BlockOutcome.DUPLICATE:
        return f"duplicate, {describe_duplicate(entry)}"
    applied = "applied" if is_read else "would be applied"
    item = entry.assigned_id or entry.item_id
    if item is None:
        return applied
    return f"{applied} {'as' if entry.operation == Operation.ADD else 'to'} {item}"
