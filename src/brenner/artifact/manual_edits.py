"""Convert a person's edits of an artifact's file to deltas (R19).

The edits become deltas, which are tried on the published version. Changes that the result does not
contain cannot be made by a delta, and are described in sentences.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from brenner.artifact.diff import KILLED, ChangeKind, Diff, FieldChange, ItemChange, diff
from brenner.artifact.merge.engine import Merge, merge
from brenner.artifact.merge.resolve import id_mentions, rewrite_ids
from brenner.artifact.model import (
    ITEM_SECTIONS,
    Artifact,
    Fields,
    Item,
    Metadata,
    Result,
    Value,
    item_sort_key,
    make_fields,
)
from brenner.artifact.results import result_payload, with_verdict
from brenner.artifact.serialize import plain_json
from brenner.artifact.state import BlockOutcome, Entry, adopted_state
from brenner.diagnostics.codes.deltas import DEPENDS_ON_REFUSED
from brenner.diagnostics.model import ERROR, Diagnostic
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.parse import render_delta
from brenner.protocol.delta.schema import (
    HYPOTHESIS_SLATE,
    LIST_KINDS,
    MAP_KINDS,
    PREDICTIONS_TABLE,
    SECTIONS,
    Delta,
    Field,
    FieldKind,
    Operation,
    Section,
)
from brenner.protocol.delta.validate import validate_delta
from brenner.protocol.message_types import DELTA
from brenner.protocol.messages import Message, StoredMessage, render_message_file
from brenner.protocol.subjects import compose_subject
from brenner.text import escape_control

if TYPE_CHECKING:
    from brenner.protocol.delta.problems import Problem

# Comparing an artifact with the edited file
#
# Compiling assigns the numbers. So a new item is found by its texts, under any new number. If its
# ID differs from the file's, the changes that refer to it are compared with the new ID.


# A change that an artifact does not contain: of an item, of one of its fields, or of the metadata
UnappliedChange = tuple[ItemChange | None, FieldChange | None]
NewIds = Mapping[tuple[str, str], str]  # by section and ID


def referable_ids(numbers: NewIds) -> dict[str, str]:
    """Return the new IDs of the items that others can refer to."""
    return {
        item_id: number
        for (section, item_id), number in numbers.items()
        if SECTIONS[section].is_valid_id(item_id)
    }


def unapplied_changes(
    new: Artifact, version: Artifact, edited: Artifact
) -> Iterator[UnappliedChange]:
    """Yield the changes from the version to the edited file that the new artifact does not
    contain. IDs are those of the edited file.
    """
    numbers = new_item_ids(new, version, edited)
    written = {(section, number): item_id for (section, item_id), number in numbers.items()}
    found = diff(version, _renumber(edited, numbers))
    items = _by_occurrence(new)
    for change in found.items:
        as_edited = change._replace(id=written.get((change.section, change.id), change.id))
        item = items.get((change.section, change.id, change.occurrence))
        if ChangeKind.REMOVED in change.kinds:
            if item is not None:
                yield as_edited, None
        elif item is None:
            yield as_edited, None
        else:
            missing = (field for field in change.fields if not _has_change(item, field))
            yield from ((as_edited, field) for field in missing)
    for field in found.metadata:
        if _canonical_json(_metadata_value(new.metadata, field)) != _canonical_json(field.new):
            yield None, field


def _by_occurrence(artifact: Artifact) -> dict[tuple[str, str, int], Item]:
    """Return the items by section, ID and occurrence. A file may contain an ID twice."""
    met: Counter[tuple[str, str]] = Counter()
    items = {}
    for section, item in artifact.all_items():
        met[section.id, item.id] += 1
        items[section.id, item.id, met[section.id, item.id]] = item
    return items


def new_item_ids(new: Artifact, version: Artifact, edited: Artifact) -> NewIds:
    """Return the ID in the new artifact of each item that was added by hand, if it is there."""
    numbers: dict[tuple[str, str], str] = {}
    for section in ITEM_SECTIONS:
        known = {item.id for item in version.sections[section.id]}
        there: dict[tuple[str, ...], list[str]] = {}
        for item in new.sections[section.id]:
            if item.id not in known:
                there.setdefault(_identifying_texts(section, item), []).append(item.id)
        for item in edited.sections[section.id]:
            alike = there.get(_identifying_texts(section, item))
            if alike and item.id not in known and (section.id, item.id) not in numbers:
                number = item.id if item.id in alike else alike[0]
                alike.remove(number)
                numbers[section.id, item.id] = number
    return numbers


def _identifying_texts(section: Section, item: Item) -> tuple[str, ...]:
    """Return the texts of an item, except those that name other items."""
    known = section.fields.items()
    return tuple(
        [
            item.text(name)
            for name, field in known
            if field.kind is FieldKind.TEXT and not field.names_items
        ]
    )


def _renumber(artifact: Artifact, numbers: NewIds) -> Artifact:
    if all(item_id == number for (_, item_id), number in numbers.items()):
        return artifact
    named = referable_ids(numbers)
    thread_id = artifact.metadata.session_id or ""

    def renumbered(section: Section, item: Item) -> Item:
        values = {name: plain_json(value) for name, value in item.fields.items()}
        delta = Delta(Operation.ADD, section.id, None, values, "")
        ids = {each.written for each in id_mentions(delta, thread_id)}
        final = {written: named.get(written, written) for written in ids}
        number = numbers.get((section.id, item.id), item.id)
        return item._replace(id=number, fields=make_fields(rewrite_ids(delta, final, thread_id)))

    sections = {
        name: tuple(renumbered(SECTIONS[name], item) for item in items)
        for name, items in artifact.sections.items()
    }
    return artifact._replace(sections=MappingProxyType(sections))


def _has_change(item: Item, change: FieldChange) -> bool:
    """Return whether an item contains a field's change.

    The agent and time of a kill are those of the message that kills it, not those in the file.
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
        return _has_list_change(value if isinstance(value, tuple) else (), change)
    return value == change.new


def _has_list_change(current: tuple[object, ...], change: FieldChange) -> bool:
    """Return whether all removed elements are gone and the others are present, in order."""
    wanted = change.new if isinstance(change.new, tuple) else ()
    # The merge may have derived the verdict of a result that has none in the file.
    results = [each for each in current if isinstance(each, Result)]
    wanted = tuple(
        with_verdict(each, results, {}, {}) if isinstance(each, Result) else each for each in wanted
    )
    kept = dict.fromkeys(each for each in current if each in wanted)
    return [*kept] == [*wanted] and not any(each in current for each in change.removed)


def _metadata_value(metadata: Metadata, change: FieldChange) -> object:
    """Return the metadata value at a path. The values in a map have paths of their own."""
    name, *keys = change.path
    value: object = getattr(metadata, name)
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return None if value == () or isinstance(value, Mapping) else value


def _canonical_json(value: object) -> str:
    """Return a metadata value for comparison. Unlike in Python, 1 equals neither true nor 1.0."""
    return json.dumps(plain_json(value), sort_keys=True)


# Edits as operations

RATIONALE = "Edited by hand in the artifact's file"
ADD, EDIT, KILL = Operation


class EditOperation(NamedTuple):
    """A delta, or one field of an EDIT, with all IDs as in the file.

    EDITs are split by field, so that one impossible field does not block the others.
    """

    operation: Operation
    section: Section
    item_id: str
    payload: Mapping[str, object]
    field: str = ""
    is_new: bool = False  # a KILL of an item that is to be added


def edit_operations(version: Artifact, edited: Artifact, found: Diff) -> list[EditOperation]:
    """Return the operations in the order in which they are to be applied.

    EDITs come before the KILLs that would refuse them. Rows are killed before their hypotheses, so
    that their cells are preserved. Items are added last, when there is room for them.
    """
    edits: list[EditOperation] = []
    kills: list[EditOperation] = []
    adds: list[EditOperation] = []
    before, after = _first_items(version), _first_items(edited)
    # The cells of killed hypotheses are N/A, or become N/A in active rows, whatever the file has.
    fixed = _killed_hypotheses(version)
    soon_fixed = fixed | _killed_hypotheses(edited)
    for change in found.items:
        where = (change.section, change.id)
        section = SECTIONS[change.section]
        if change.occurrence > 1 or ChangeKind.REMOVED in change.kinds:
            continue
        item = after[where]
        kill = EditOperation(
            KILL, section, item.id, {"reason": item.killed.reason if item.killed else ""}
        )
        if ChangeKind.ADDED in change.kinds:
            adds.append(_add(section, item))
            adds += [kill._replace(is_new=True)] if item.killed else []
            continue
        edits += _edits(section, before[where], item, soon_fixed if item.is_active else fixed)
        if ChangeKind.KILLED in change.kinds:
            kills.append(kill)
    kills.sort(key=lambda edit: edit.section is HYPOTHESIS_SLATE)
    return [*edits, *kills, *adds]


def _first_items(artifact: Artifact) -> dict[tuple[str, str], Item]:
    """Return the items by section and ID; the first if an ID occurs several times."""
    return {(section.id, item.id): item for section, item in reversed([*artifact.all_items()])}


def _add(section: Section, item: Item) -> EditOperation:
    given = {name: item.fields[name] for name in section.fields if name in item.fields}
    values = {name: _payload_json(value) for name, value in given.items()}
    return EditOperation(ADD, section, item.id, values)


def _killed_hypotheses(artifact: Artifact) -> set[str]:
    return {item.id for item in artifact.sections[HYPOTHESIS_SLATE.id] if item.killed}


def _edits(section: Section, old: Item, new: Item, fixed: set[str]) -> Iterator[EditOperation]:
    for name, field in section.fields.items():
        before, after = old.fields.get(name), new.fields.get(name)
        if before != after:
            payload = _payload(field, before, after, fixed if section is PREDICTIONS_TABLE else ())
            if payload:
                yield EditOperation(EDIT, section, new.id, payload, name)


def _payload_json(value: object) -> object:
    """Return the JSON of a field's value, as a payload has it."""
    if isinstance(value, tuple):
        return [
            result_payload(each) if isinstance(each, Result) else plain_json(each) for each in value
        ]
    return plain_json(value)


def _payload(
    field: Field, before: Value | None, after: Value | None, fixed: Iterable[str]
) -> dict[str, object]:
    name = field.name
    if field.kind in LIST_KINDS:
        old, new = (cast("tuple[str, ...]", each or ()) for each in (before, after))
        if new[: len(old)] == old:
            return {name: _payload_json(new[len(old) :])}
        return {name: _payload_json(new), f"{name}_replace": True}
    if field.kind in MAP_KINDS:
        maps = (cast("Mapping[str, object]", each or {}) for each in (before, after))
        was, wanted = ({key: each[key] for key in each if key not in fixed} for each in maps)
        if was.keys() <= wanted.keys():
            changed = {key: value for key, value in wanted.items() if was.get(key) != value}
            return {name: changed} if changed else {}
        return {name: wanted, f"{name}_replace": True}
    return {name: after or ("" if field.kind is not FieldKind.FLAG else False)}


# Edits that no delta can make


def known_ids(version: Artifact, edits: Iterable[EditOperation]) -> set[str]:
    """Return the IDs that an edit may name: existing items, and those that are to be added."""
    there = {item.id for section, item in version.all_items() if section.is_valid_id(item.id)}
    return there | {
        w.item_id for w in edits if w.operation is ADD and w.section.is_valid_id(w.item_id)
    }


def why_impossible(edit: EditOperation, known: set[str], thread_id: str) -> str:
    """Return why no delta can make an edit, or an empty text. `known` are the IDs it may name."""
    target = None if edit.operation is ADD else edit.item_id
    value = {
        "operation": edit.operation.value,
        "section": edit.section.id,
        "target_id": edit.section.example_id if edit.is_new else target,
        "payload": edit.payload,
        "rationale": RATIONALE if edit.operation is not KILL else "",
    }
    delta, problems = validate_delta(value)
    if delta is None:
        return _validation_reason(edit, problems)
    named = [] if edit.is_new else [each.written for each in id_mentions(delta, thread_id)]
    unknown = [escape_control(each) for each in dict.fromkeys(named) if each not in known]
    return f"it refers to `{unknown[0]}`, which does not exist." if unknown else ""


def _validation_reason(edit: EditOperation, problems: list[Problem]) -> str:
    """Return the validation errors, worded for a person who edited a file."""
    if edit.operation is KILL and edit.section.is_valid_id(edit.item_id):
        return "it has no reason."
    fatal = [problem for problem in problems if problem.code.severity is ERROR]
    messages = [problem.code.at(None, **problem.words).message for problem in fatal]
    return " ".join(messages).replace("`payload.", "`")


# Edits as deltas


def to_deltas(
    edits: Iterable[EditOperation], version: Artifact
) -> list[tuple[Delta, list[EditOperation]]]:
    """Return the deltas of a message, in order, each with the edits that it makes.

    All fields of an item go into one EDIT.
    """
    numbers = _expected_ids(edits, version)
    by_item: dict[tuple[object, ...], list[EditOperation]] = {}
    for edit in edits:
        by_item.setdefault((edit.operation, edit.section.id, edit.item_id), []).append(edit)
    thread_id = version.metadata.session_id or ""
    return [(_delta(each, numbers, thread_id), each) for each in by_item.values()]


def _expected_ids(edits: Iterable[EditOperation], version: Artifact) -> NewIds:
    """Return the ID of each item that is to be added, counting on from the version."""
    counts = {section.prefix: _highest_number(version, section) for section in ITEM_SECTIONS}
    numbers: dict[tuple[str, str], str] = {}
    for edit in edits:
        if edit.operation is ADD:
            prefix = edit.section.prefix
            counts[prefix] += 1
            numbers[edit.section.id, edit.item_id] = f"{prefix}{counts[prefix]}"
    return numbers


def _highest_number(version: Artifact, section: Section) -> int:
    ids = [item.id for item in version.sections[section.id] if section.is_valid_id(item.id)]
    return max((item_sort_key(each)[0] for each in ids), default=0)


def _delta(parts: list[EditOperation], numbers: NewIds, thread_id: str) -> Delta:
    first = parts[0]
    number = numbers.get((first.section.id, first.item_id), "")
    target = _local_name(number) if first.is_new else first.item_id
    payload = {name: value for edit in parts for name, value in edit.payload.items()}
    delta = Delta(first.operation, first.section.id, target, payload, RATIONALE)
    if first.operation is KILL:
        return delta
    if first.operation is ADD:
        delta = delta._replace(target_id=None, local_id=_local_name(number)[1:])
    return delta._replace(payload=_with_local_names(delta, referable_ids(numbers), thread_id))


def _local_name(number: str) -> str:
    return f"@new_{number}"


def _with_local_names(
    delta: Delta, numbers: Mapping[str, str], thread_id: str
) -> dict[str, object]:
    """Return the payload with local names for new items, which stay valid if the message is
    shortened.

    In a text a local name could run into the following characters, so the expected number is used.
    """
    written = {each.written for each in id_mentions(delta, thread_id)}
    as_numbers = {each: numbers.get(each, each) for each in written}
    as_names = {each: _local_name(numbers[each]) if each in numbers else each for each in written}
    in_texts = rewrite_ids(delta, as_numbers, thread_id)
    fields = SECTIONS[delta.section].fields
    return {
        name: in_texts[name] if name in fields and fields[name].names_items else value
        for name, value in rewrite_ids(delta, as_names, thread_id).items()
    }


# Edits as a message

_PUBLISHED = datetime(2000, 1, 1, tzinfo=UTC)  # arbitrary, since no artifact shows it
_ROLE = "human"


class HandEdits(NamedTuple):
    """The deltas that make the changes, and sentences about the changes that no delta can make."""

    deltas: tuple[Delta, ...]
    other: tuple[str, ...]
    version: Artifact
    edited: Artifact


def hand_edits(version: Artifact, edited: Artifact) -> HandEdits:
    """Return the changes from a published version to the current content of its file."""
    before, after = _without_duplicates(version), _without_duplicates(edited)
    found = diff(before, after)
    if found.is_empty:
        return HandEdits((), (), before, after)
    moved = _renamed_items(found)
    edits = [
        edit
        for edit in edit_operations(before, after, found)
        if (edit.section.id, edit.item_id) not in moved
    ]
    deltas, artifact, objections = _trial_merge(edits, before)
    missing = list(unapplied_changes(artifact, before, after))
    counts = Counter((section.id, item.id) for section, item in edited.all_items())
    other = _describe_unapplied(missing, moved, objections, counts)
    numbers = new_item_ids(artifact, before, after).items()
    other += [
        _describe_renumbering(item_id, number)
        for (_, item_id), number in numbers
        if item_id != number
    ]
    return HandEdits(deltas, tuple(dict.fromkeys(other)), before, after)


def contains_edits(edits: HandEdits, new: Artifact) -> bool:
    """Return whether a new version contains all changes, also those that no delta can make.

    A new item counts under any number, and a kill by its reason. The file does not decide the rest.
    """
    return next(unapplied_changes(new, edits.version, edits.edited), None) is None


def render_edit_message(
    edits: HandEdits, thread_id: str, version: int, sender: str, recipients: tuple[str, ...]
) -> str:
    """Return a complete message file with the deltas, based on the edited version.

    Return an empty text if there are no deltas, because a DELTA message needs a block.
    """
    if not edits.deltas:
        return ""
    body = _body(edits.deltas, version)
    return render_message_file(Message(thread_id, sender, recipients, _subject(version), body))


def _subject(version: int) -> str:
    return compose_subject(DELTA.name, f"Edits of the file of v{version}", _ROLE)


def _body(deltas: Iterable[Delta], version: int) -> str:
    base = f"**{DELTA.version_field}**: v{version}"
    return "\n".join([f"# {DELTA.title}\n\n{base}\n\n## Deltas\n", *map(render_delta, deltas)])


def _without_duplicates(artifact: Artifact) -> Artifact:
    """Remove repeated elements of lists. They mean nothing, and no delta can make them."""
    if not any(map(_has_duplicates, artifact.all_items())):
        return artifact

    def tidy(item: Item) -> Item:
        values = {
            name: tuple(dict.fromkeys(value)) if isinstance(value, tuple) else value
            for name, value in item.fields.items()
        }
        return item._replace(fields=MappingProxyType(cast("Fields", values)))

    sections = {name: tuple(map(tidy, items)) for name, items in artifact.sections.items()}
    return artifact._replace(
        research_thread=tidy(artifact.research_thread), sections=MappingProxyType(sections)
    )


def _has_duplicates(placed: tuple[Section, Item]) -> bool:
    lists = [value for value in placed[1].fields.values() if isinstance(value, tuple)]
    return any(len(set(each)) < len(each) for each in lists)


# Changed IDs

_ItemKey = tuple[str, str]  # section and ID


def _renamed_items(found: Diff) -> dict[_ItemKey, str]:
    """Return the items whose ID was changed: removed under one ID, added under another."""
    gone: dict[_ItemKey, list[str]] = {}
    for change in found.items:
        if ChangeKind.REMOVED in change.kinds:
            gone.setdefault((change.section, change.title), []).append(change.id)
    moved = {}
    for change in found.items:
        same = (
            gone.get((change.section, change.title)) if ChangeKind.ADDED in change.kinds else None
        )
        if same:
            moved[change.section, change.id] = same.pop(0)
    return moved


# The trial merge


_Objections = dict[tuple[str, str, str], str]  # why an edit failed, by section, item and field


def _trial_merge(
    edits: list[EditOperation], version: Artifact
) -> tuple[tuple[Delta, ...], Artifact, _Objections]:
    """Apply as many edits as possible. Repeat after each refusal, since others may depend on it.

    Return the applied deltas, the resulting artifact, and why the other edits failed.
    """
    objections: _Objections = {}
    sound, others = _split_addressable(version)
    while True:
        _find_impossible(edits, version, objections)
        edits = [edit for edit in edits if _edit_key(edit) not in objections]
        ready = to_deltas(edits, version)
        result = _merge_deltas([delta for delta, _ in ready], sound)
        refused = [entry for entry in result.ledger if entry.state is BlockOutcome.REFUSED]
        if not refused:
            made = result.artifact.sections
            rest = {name: (*made[name], *items) for name, items in others.items()}
            sections = MappingProxyType({**made, **rest})
            # The front matter is written by the compiler and is not part of the edits.
            artifact = result.artifact._replace(metadata=version.metadata, sections=sections)
            return tuple(delta for delta, _ in ready), artifact, objections
        # Keep blocks that only depend on others: without the field that names them they may work.
        for entry in [each for each in refused if not _is_dependent(each)] or refused:
            reason = " ".join(found.message for found in _errors(entry))
            objections |= {_edit_key(edit): reason for edit in ready[entry.block - 1][1]}


def _errors(entry: Entry) -> list[Diagnostic]:
    return [found for found in entry.diagnostics if found.severity is ERROR]


def _is_dependent(entry: Entry) -> bool:
    return all(found.code is DEPENDS_ON_REFUSED for found in _errors(entry))


def _edit_key(edit: EditOperation) -> tuple[str, str, str]:
    what = {Operation.ADD: "", Operation.KILL: KILLED}.get(edit.operation, edit.field)
    return (edit.section.id, edit.item_id, what)


_ITEM_NOT_ADDED = "it cannot be added."


def _find_impossible(
    edits: list[EditOperation], version: Artifact, objections: _Objections
) -> None:
    """Add a reason for each edit that no delta can make, and for the edits that depend on it."""
    thread_id = version.metadata.session_id or ""
    is_new = True
    while is_new:
        left = [edit for edit in edits if _edit_key(edit) not in objections]
        known = known_ids(version, left)
        added = {_edit_key(edit)[:2] for edit in left if edit.operation is Operation.ADD}
        found = {
            _edit_key(edit): _ITEM_NOT_ADDED
            if edit.is_new and _edit_key(edit)[:2] not in added
            else why_impossible(edit, known, thread_id)
            for edit in left
        }
        objections |= {place: reason for place, reason in found.items() if reason}
        is_new = any(found.values())


def _split_addressable(version: Artifact) -> tuple[Artifact, dict[str, list[Item]]]:
    """Split the version into the items that a delta can name and the few others."""
    sound: dict[str, tuple[Item, ...]] = {}
    others: dict[str, list[Item]] = {}
    for name, items in version.sections.items():
        first: dict[str, Item] = {}
        for item in items:
            if SECTIONS[name].is_valid_id(item.id) and item.id not in first:
                first[item.id] = item
            else:
                others.setdefault(name, []).append(item)
        sound[name] = tuple(first.values())
    return version._replace(sections=MappingProxyType(sound)), others


def _merge_deltas(deltas: list[Delta], version: Artifact) -> Merge:
    metadata = version.metadata
    number, thread_id = metadata.version or 0, metadata.session_id or ""
    state = adopted_state(thread_id, version, _PUBLISHED, 1)
    message = Message(thread_id, _ROLE, (_ROLE,), _subject(number), _body(deltas, number))
    posted = StoredMessage(2, _PUBLISHED + timedelta(days=1), message)
    return merge(state, [posted], operator=_ROLE)  # the operator sends these edits


# Descriptions of changes that no delta can make


def _describe_unapplied(
    missing: Collection[UnappliedChange],
    moved: Mapping[_ItemKey, str],
    objections: _Objections,
    counts: Mapping[_ItemKey, int],
) -> list[str]:
    """Return a sentence per change. `counts` tells how often each ID occurs in the edited file."""
    words = []
    for item, field in missing:
        if item is None:
            name = escape_control(field.field if field else "")
            words.append(f"`{name}` in the front matter: the compiler writes it.")
        elif (item.section, item.id) in moved:
            old = escape_control(moved[item.section, item.id])
            words.append(
                f"{old} is now {escape_control(item.id)}: the ID of an item never changes."
            )
        elif ChangeKind.REMOVED not in item.kinds or item.id not in moved.values():
            name = field.path[0] if field else ""
            objection = objections.get((item.section, item.id, name), "")
            count = counts[item.section, item.id] if item.occurrence > 1 else 1
            words.append(_describe_item(item, name, objection, count))
    return list(dict.fromkeys(words))


_DEFAULT_REASON = "no delta can make this change."
# Why a field may stay unchanged although no block was refused
_FIELD_REASONS = {
    "predictions": "the cell of a killed hypothesis is always N/A.",
    "references": "a reference that creates a cycle is left out.",
}


def _describe_item(change: ItemChange, field: str, objection: str, count: int) -> str:
    name = escape_control(change.id) or f"“{escape_control(change.title)}”"
    never = _describe_forbidden(change, field, count)
    if never:
        return f"{name} {never}"
    reason = objection or _FIELD_REASONS.get(field, _DEFAULT_REASON)
    if field == KILLED:
        return f"{name} is marked as killed, but stays active: {reason}"
    if field:
        return f"`{field}` of {name} will not be what the file says: {reason}"
    return f"{name} is new and cannot be added: {reason}"


def _describe_forbidden(change: ItemChange, field: str, count: int) -> str:
    """Return why a change is never possible, or an empty text."""
    if ChangeKind.REMOVED in change.kinds:
        return "is missing: an item cannot be removed. Kill it, with a reason."
    if count > 1:
        return f"occurs {count} times: an ID can be used only once."
    if field != KILLED or ChangeKind.KILLED in change.kinds:
        return ""
    if ChangeKind.REVIVED in change.kinds:
        return "is no longer marked as killed: a killed item cannot be restored."
    return "has another kill record than before: a kill cannot be changed."


def _describe_renumbering(item_id: str, number: str) -> str:
    return f"{escape_control(item_id)} will be {number}: the compiler assigns the numbers."
