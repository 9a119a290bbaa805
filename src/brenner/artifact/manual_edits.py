"""What a person has changed in an artifact's file, as the deltas that would bring it in (R19).

The changes are turned into deltas, and the deltas are tried on the version: what the artifact that
comes out does not have is a change that no delta can make, and is told in words.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import NamedTuple, cast

from brenner.artifact.diff import KILLED, Diff, FieldChange, ItemChange, Kind, diff
from brenner.artifact.merge.draft import LISTS, MAPS
from brenner.artifact.merge.engine import Merge, merge
from brenner.artifact.merge.resolve import mentions, with_ids
from brenner.artifact.model import (
    ITEM_SECTIONS,
    Artifact,
    Fields,
    Item,
    Metadata,
    Value,
    fields,
    order_of,
)
from brenner.artifact.serialize import plain
from brenner.artifact.state import Entry, Outcome, adopted_state
from brenner.diagnostics.codes.deltas import DEPENDS_ON_REFUSED
from brenner.diagnostics.model import ERROR, Diagnostic
from brenner.protocol.delta.parse import render_delta
from brenner.protocol.delta.schema import (
    HYPOTHESIS_SLATE,
    PREDICTIONS_TABLE,
    RESEARCH_THREAD,
    SECTIONS,
    Delta,
    Field,
    FieldKind,
    Operation,
    Section,
)
from brenner.protocol.delta.validate import Problem, validate
from brenner.protocol.grammar import ITEM_ID
from brenner.protocol.message_types import DELTA
from brenner.protocol.messages import Message, PostedMessage, render_message_file
from brenner.protocol.subjects import compose_subject
from brenner.text import escape_control

# Whether an artifact has the changes that were made to another one by hand.
#
# Numbers are given at compile. So a new item is looked for under any number that is new, by its
# texts; and where it is called otherwise, the changes that name it are read with that other ID.


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


# What a person who has edited an artifact's file wishes for, as deltas.
#
# A wish is one delta, or one field of an EDIT, so that what cannot be granted stops nothing else.


RATIONALE = "Edited by hand in the artifact's file"
ADD, EDIT, KILL = Operation


class EditOperation(NamedTuple):
    """A delta, or one field of an EDIT, with all IDs as the file has them."""

    operation: Operation
    section: Section
    item_id: str
    payload: Mapping[str, object]
    field: str = ""
    is_new: bool = False  # the item that is to be killed is one that is to be added


def wishes(version: Artifact, edited: Artifact, found: Diff) -> list[EditOperation]:
    """All of them, in the order in which they are to be granted.

    EDITs come before the KILLs that would refuse them. A row is killed before the hypotheses that
    are, so that its cells stay; and items are added last, when there is room for them.
    """
    edits: list[EditOperation] = []
    kills: list[EditOperation] = []
    adds: list[EditOperation] = []
    before, after = _first_items(version), _first_items(edited)
    # In their cells a row has N/A, or gets it while it is active, whatever is written there.
    fixed = _killed_hypotheses(version)
    soon_fixed = fixed | _killed_hypotheses(edited)
    for change in found.items:
        where = (change.section, change.id)
        section = SECTIONS[change.section]
        if change.occurrence > 1 or Kind.REMOVED in change.kinds:
            continue
        item = after[where]
        kill = EditOperation(
            KILL, section, item.id, {"reason": item.killed.reason if item.killed else ""}
        )
        if Kind.ADDED in change.kinds:
            adds.append(_add(section, item))
            adds += [kill._replace(is_new=True)] if item.killed else []
            continue
        edits += _edits(section, before[where], item, soon_fixed if item.is_active else fixed)
        if Kind.KILLED in change.kinds:
            kills.append(kill)
    kills.sort(key=lambda wish: wish.section is HYPOTHESIS_SLATE)
    return [*edits, *kills, *adds]


def _first_items(artifact: Artifact) -> dict[tuple[str, str], Item]:
    """The items; of several with one ID the first."""
    return {(section.id, item.id): item for section, item in reversed([*artifact.all_items()])}


def _add(section: Section, item: Item) -> EditOperation:
    values = {name: plain(item.fields[name]) for name in section.fields if name in item.fields}
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


def _payload(
    field: Field, before: Value | None, after: Value | None, fixed: Iterable[str]
) -> dict[str, object]:
    """What an EDIT must say so that the field becomes what it is in the file."""
    name = field.name
    if field.kind in LISTS:
        old, new = (cast("tuple[str, ...]", each or ()) for each in (before, after))
        if new[: len(old)] == old:
            return {name: plain(new[len(old) :])}
        return {name: plain(new), f"{name}_replace": True}
    if field.kind in MAPS:
        maps = (cast("Mapping[str, object]", each or {}) for each in (before, after))
        was, wanted = ({key: each[key] for key in each if key not in fixed} for each in maps)
        if was.keys() <= wanted.keys():
            changed = {key: value for key, value in wanted.items() if was.get(key) != value}
            return {name: changed} if changed else {}
        return {name: wanted, f"{name}_replace": True}
    return {name: after or ("" if field.kind is not FieldKind.FLAG else False)}


# Whether it can be granted


def known_ids(version: Artifact, wanted: Iterable[EditOperation]) -> set[str]:
    """The IDs that a wish may name: of items that are there, and of those that are to be added."""
    there = {item.id for section, item in version.all_items() if is_numbered(section, item.id)}
    return there | {w.item_id for w in wanted if w.operation is ADD and is_numbered(*w[1:3])}


def objection(wish: EditOperation, known: set[str], thread_id: str) -> str:
    """Why no delta can do it, in words; nothing where one can. `known` are the IDs it may name."""
    target = None if wish.operation is ADD else wish.item_id
    value = {
        "operation": wish.operation.value,
        "section": wish.section.id,
        "target_id": wish.section.example_id if wish.is_new else target,
        "payload": wish.payload,
        "rationale": RATIONALE if wish.operation is not KILL else "",
    }
    delta, problems = validate(value)
    if delta is None:
        return _reason(wish, problems)
    named = [] if wish.is_new else [each.written for each in mentions(delta, thread_id)]
    unknown = [escape_control(each) for each in dict.fromkeys(named) if each not in known]
    return f"it names `{unknown[0]}`, which is not in the artifact." if unknown else ""


def _reason(wish: EditOperation, problems: list[Problem]) -> str:
    """What is wrong with it, in the words of one who has edited a file."""
    if wish.operation is KILL and is_numbered(wish.section, wish.item_id):
        return "it gives no reason."
    fatal = [problem for problem in problems if problem.code.severity is ERROR]
    told = [problem.code.at(None, **problem.words).message for problem in fatal]
    return " ".join(told).replace("`payload.", "`")


# As deltas


class Granted(NamedTuple):
    """A delta, and the wishes that it grants."""

    delta: Delta
    wishes: tuple[EditOperation, ...]


def to_deltas(wanted: Iterable[EditOperation], version: Artifact) -> list[Granted]:
    """The deltas of a message, in order; the fields of an item in one EDIT."""
    numbers = _numbers(wanted, version)
    by_item: dict[tuple[object, ...], list[EditOperation]] = {}
    for wish in wanted:
        by_item.setdefault((wish.operation, wish.section.id, wish.item_id), []).append(wish)
    thread_id = version.metadata.session_id or ""
    return [Granted(_delta(each, numbers, thread_id), tuple(each)) for each in by_item.values()]


def _numbers(wanted: Iterable[EditOperation], version: Artifact) -> Numbers:
    """The number of every item that is to be added, as one who goes by the version counts on."""
    counts = {section.prefix: _highest(version, section) for section in ITEM_SECTIONS}
    numbers: dict[tuple[str, str], str] = {}
    for wish in wanted:
        if wish.operation is ADD:
            prefix = wish.section.prefix
            counts[prefix] += 1
            numbers[wish.section.id, wish.item_id] = f"{prefix}{counts[prefix]}"
    return numbers


def _highest(version: Artifact, section: Section) -> int:
    ids = [item.id for item in version.sections[section.id] if is_numbered(section, item.id)]
    return max((order_of(each)[0] for each in ids), default=0)


def _delta(parts: list[EditOperation], numbers: Numbers, thread_id: str) -> Delta:
    first = parts[0]
    number = numbers.get((first.section.id, first.item_id), "")
    target = _name(number) if first.is_new else first.item_id
    payload = {name: value for wish in parts for name, value in wish.payload.items()}
    delta = Delta(first.operation, first.section.id, target, payload, RATIONALE)
    if first.operation is KILL:
        return delta
    if first.operation is ADD:
        delta = delta._replace(target_id=None, local_id=_name(number)[1:])
    return delta._replace(payload=_named(delta, by_id(numbers), thread_id))


def _name(number: str) -> str:
    """What a new item is called in the message."""
    return f"@new_{number}"


def _named(delta: Delta, numbers: Mapping[str, str], thread_id: str) -> dict[str, object]:
    """The payload with new items called by names, which hold also if the message is shortened.

    In a text a name could run into what stands behind it: there it is the number, as counted on.
    """
    written = {each.written for each in mentions(delta, thread_id)}
    as_numbers = {each: numbers.get(each, each) for each in written}
    as_names = {each: _name(numbers[each]) if each in numbers else each for each in written}
    in_texts = with_ids(delta, as_numbers, thread_id)
    fields = SECTIONS[delta.section].fields
    return {
        name: in_texts[name] if name in fields and fields[name].names_items else value
        for name, value in with_ids(delta, as_names, thread_id).items()
    }


_PUBLISHED = datetime(2000, 1, 1, tzinfo=UTC)  # any time: no artifact shows it
_ROLE = "human"


class HandEdits(NamedTuple):
    """The deltas that make the changes, and, in words, the changes that no delta can make."""

    deltas: tuple[Delta, ...]
    other: tuple[str, ...]
    version: Artifact
    edited: Artifact


def hand_edits(version: Artifact, edited: Artifact) -> HandEdits:
    """What was changed from a published version to what its file says now."""
    before, after = _without_repetitions(version), _without_repetitions(edited)
    found = diff(before, after)
    if found.is_empty:
        return HandEdits((), (), before, after)
    moved = _moved(found)
    wanted = [
        wish
        for wish in wishes(before, after, found)
        if (wish.section.id, wish.item_id) not in moved
    ]
    trial = _try(wanted, before)
    other = _told(missing_from(trial.artifact, before, after), moved, trial.objections)
    numbers = new_numbers(trial.artifact, before, after).items()
    other += [_numbered(item_id, number) for (_, item_id), number in numbers if item_id != number]
    return HandEdits(trial.deltas, tuple(dict.fromkeys(other)), before, after)


def are_contained(edits: HandEdits, new: Artifact) -> bool:
    """Whether a new version has all of the changes, also those that no delta can make.

    A new item counts under any number, and a kill by its reason: the rest of both is not the
    file's to say.
    """
    return next(missing_from(new, edits.version, edits.edited), None) is None


def human_delta(
    edits: HandEdits, thread_id: str, version: int, sender: str, recipients: tuple[str, ...]
) -> str:
    """A whole message file that brings the deltas in, on the version that was edited.

    Empty where there are none: a DELTA message without a block says nothing.
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


def _without_repetitions(artifact: Artifact) -> Artifact:
    """The artifact with every element of a list once: more says nothing, and no delta does it."""
    if not any(map(_repeats, artifact.all_items())):
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


def _repeats(placed: tuple[Section, Item]) -> bool:
    lists = [value for value in placed[1].fields.values() if isinstance(value, tuple)]
    return any(len(set(each)) < len(each) for each in lists)


# IDs that were changed


_Place = tuple[str, str]  # section and ID


def _moved(found: Diff) -> dict[_Place, str]:
    """The items that were given another ID: removed under one, added under the other."""
    gone: dict[_Place, list[str]] = {}
    for change in found.items:
        if Kind.REMOVED in change.kinds:
            gone.setdefault((change.section, change.title), []).append(change.id)
    moved = {}
    for change in found.items:
        same = gone.get((change.section, change.title)) if Kind.ADDED in change.kinds else None
        if same:
            moved[change.section, change.id] = same.pop(0)
    return moved


# The trial


class _Trial(NamedTuple):
    """The deltas that are applied, what comes of them, and why the rest is not."""

    deltas: tuple[Delta, ...]
    artifact: Artifact
    objections: Mapping[tuple[str, str, str], str]


def _try(wanted: list[EditOperation], version: Artifact) -> _Trial:
    """Grant what can be granted. Whatever is refused may take others with it, so it is repeated."""
    objections: dict[tuple[str, str, str], str] = {}
    sound, others = _parted(version)
    while True:
        _object(wanted, version, objections)
        wanted = [wish for wish in wanted if _place(wish) not in objections]
        ready = to_deltas(wanted, version)
        result = _merged([each.delta for each in ready], sound)
        refused = [entry for entry in result.ledger if entry.state is Outcome.REFUSED]
        if not refused:
            made = result.artifact.sections
            rest = {name: (*made[name], *items) for name, items in others.items()}
            sections = MappingProxyType({**made, **rest})
            # The front matter is its compiler's, and nothing that was wished for.
            artifact = result.artifact._replace(metadata=version.metadata, sections=sections)
            return _Trial(tuple(each.delta for each in ready), artifact, objections)
        # What only depends on others is not lost: without the field that names them it may do.
        for entry in [each for each in refused if not _is_dependent(each)] or refused:
            reason = " ".join(found.message for found in _errors(entry))
            objections |= {_place(wish): reason for wish in ready[entry.block - 1].wishes}


def _errors(entry: Entry) -> list[Diagnostic]:
    return [found for found in entry.diagnostics if found.severity is ERROR]


def _is_dependent(entry: Entry) -> bool:
    return all(found.code is DEPENDS_ON_REFUSED for found in _errors(entry))


def _place(wish: EditOperation) -> tuple[str, str, str]:
    what = {Operation.ADD: "", Operation.KILL: KILLED}.get(wish.operation, wish.field)
    return (wish.section.id, wish.item_id, what)


_NOT_ADDED = "it cannot be added."


def _object(
    wanted: list[EditOperation], version: Artifact, objections: dict[tuple[str, str, str], str]
) -> None:
    """Note what no delta can do, and what depends on that."""
    thread_id = version.metadata.session_id or ""
    is_new = True
    while is_new:
        left = [wish for wish in wanted if _place(wish) not in objections]
        known = known_ids(version, left)
        added = {_place(wish)[:2] for wish in left if wish.operation is Operation.ADD}
        found = {
            _place(wish): _NOT_ADDED
            if wish.is_new and _place(wish)[:2] not in added
            else objection(wish, known, thread_id)
            for wish in left
        }
        objections |= {place: reason for place, reason in found.items() if reason}
        is_new = any(found.values())


def _parted(version: Artifact) -> tuple[Artifact, dict[str, list[Item]]]:
    """The version with those items only that a delta can name; and the others, which are rare."""
    sound: dict[str, tuple[Item, ...]] = {}
    others: dict[str, list[Item]] = {}
    for name, items in version.sections.items():
        first: dict[str, Item] = {}
        for item in items:
            if is_numbered(SECTIONS[name], item.id) and item.id not in first:
                first[item.id] = item
            else:
                others.setdefault(name, []).append(item)
        sound[name] = tuple(first.values())
    return version._replace(sections=MappingProxyType(sound)), others


def _merged(deltas: list[Delta], version: Artifact) -> Merge:
    metadata = version.metadata
    number, thread_id = metadata.version or 0, metadata.session_id or ""
    state = adopted_state(thread_id, version, _PUBLISHED, 1)
    message = Message(thread_id, _ROLE, (_ROLE,), _subject(number), _body(deltas, number))
    return merge(state, [PostedMessage(2, _PUBLISHED + timedelta(days=1), message)])


# In words


def _told(
    missing: Iterable[Missing],
    moved: Mapping[_Place, str],
    objections: Mapping[tuple[str, str, str], str],
) -> list[str]:
    words = []
    for item, field in missing:
        if item is None:
            name = escape_control(field.field if field else "")
            words.append(f"`{name}` in the front matter: it is written when a version is compiled.")
        elif (item.section, item.id) in moved:
            old = escape_control(moved[item.section, item.id])
            words.append(
                f"{old} is called {escape_control(item.id)}: the ID of an item never changes."
            )
        elif Kind.REMOVED not in item.kinds or item.id not in moved.values():
            name = field.path[0] if field else ""
            words.append(_told_item(item, name, objections.get((item.section, item.id, name), "")))
    return words


_ANY_REASON = "no delta can make this change."
# Why a field may stay as it was although nothing was refused
_REASONS = {
    "predictions": "in the cell of a killed hypothesis stands N/A.",
    "references": "a reference that closes a circle is left out.",
}


def _told_item(change: ItemChange, field: str, objection: str) -> str:
    name = escape_control(change.id) or f"“{escape_control(change.title)}”"
    never = _never(change, field)
    if never:
        return f"{name} {never}"
    reason = objection or _REASONS.get(field, _ANY_REASON)
    if field == KILLED:
        return f"{name} is marked as killed, but stays active: {reason}"
    if field:
        return f"`{field}` of {name} will not be what the file says: {reason}"
    return f"{name} is new and cannot be added: {reason}"


def _never(change: ItemChange, field: str) -> str:
    """What is never done, whatever a message says."""
    if Kind.REMOVED in change.kinds:
        return "is gone: an item is never removed; it can be killed, with a reason."
    if change.occurrence > 1:
        return f"stands there {change.occurrence} times: an ID is given once."
    if field != KILLED or Kind.KILLED in change.kinds:
        return ""
    if Kind.REVIVED in change.kinds:
        return "is not marked as killed any more: what is killed stays killed."
    return "was killed otherwise than the file says now: a kill stays as it was made."


def _numbered(item_id: str, number: str) -> str:
    return (
        f"{escape_control(item_id)} will be {number}: numbers are given when a version is compiled."
    )
