"""What a person who has edited an artifact's file wishes for, as deltas.

A wish is one delta, or one field of an EDIT, so that what cannot be granted stops nothing else.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, cast

from brenner.artifact.diff import Diff, Kind
from brenner.artifact.holds import Numbers, by_id, is_numbered
from brenner.artifact.json_form import plain
from brenner.artifact.merging.mentions import mentions, with_ids
from brenner.artifact.merging.opened import LISTS, MAPS
from brenner.artifact.model import ITEM_SECTIONS, Artifact, Item, Value, order_of
from brenner.diagnostics.model import ERROR
from brenner.protocol.delta.schema import (
    HYPOTHESIS_SLATE,
    PREDICTIONS_TABLE,
    SECTIONS,
    Delta,
    Field,
    FieldKind,
    Operation,
    Section,
)
from brenner.protocol.delta.validate import Problem, validate
from brenner.text import visible

RATIONALE = "Edited by hand in the artifact's file"
ADD, EDIT, KILL = Operation


class Wish(NamedTuple):
    """A delta, or one field of an EDIT, with all IDs as the file has them."""

    operation: Operation
    section: Section
    item_id: str
    payload: Mapping[str, object]
    field: str = ""
    is_new: bool = False  # the item that is to be killed is one that is to be added


def wishes(version: Artifact, edited: Artifact, found: Diff) -> list[Wish]:
    """All of them, in the order in which they are to be granted.

    EDITs come before the KILLs that would refuse them. A row is killed before the hypotheses that
    are, so that its cells stay; and items are added last, when there is room for them.
    """
    edits: list[Wish] = []
    kills: list[Wish] = []
    adds: list[Wish] = []
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
        kill = Wish(KILL, section, item.id, {"reason": item.killed.reason if item.killed else ""})
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


def _add(section: Section, item: Item) -> Wish:
    values = {name: plain(item.fields[name]) for name in section.fields if name in item.fields}
    return Wish(ADD, section, item.id, values)


def _killed_hypotheses(artifact: Artifact) -> set[str]:
    return {item.id for item in artifact.sections[HYPOTHESIS_SLATE.id] if item.killed}


def _edits(section: Section, old: Item, new: Item, fixed: set[str]) -> Iterator[Wish]:
    for name, field in section.fields.items():
        before, after = old.fields.get(name), new.fields.get(name)
        if before != after:
            payload = _payload(field, before, after, fixed if section is PREDICTIONS_TABLE else ())
            if payload:
                yield Wish(EDIT, section, new.id, payload, name)


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


def known_ids(version: Artifact, wanted: Iterable[Wish]) -> set[str]:
    """The IDs that a wish may name: of items that are there, and of those that are to be added."""
    there = {item.id for section, item in version.all_items() if is_numbered(section, item.id)}
    return there | {w.item_id for w in wanted if w.operation is ADD and is_numbered(*w[1:3])}


def objection(wish: Wish, known: set[str], thread_id: str) -> str:
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
    unknown = [visible(each) for each in dict.fromkeys(named) if each not in known]
    return f"it names `{unknown[0]}`, which is not in the artifact." if unknown else ""


def _reason(wish: Wish, problems: list[Problem]) -> str:
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
    wishes: tuple[Wish, ...]


def granted(wanted: Iterable[Wish], version: Artifact) -> list[Granted]:
    """The deltas of a message, in order; the fields of an item in one EDIT."""
    numbers = _numbers(wanted, version)
    by_item: dict[tuple[object, ...], list[Wish]] = {}
    for wish in wanted:
        by_item.setdefault((wish.operation, wish.section.id, wish.item_id), []).append(wish)
    thread_id = version.metadata.session_id or ""
    return [Granted(_delta(each, numbers, thread_id), tuple(each)) for each in by_item.values()]


def _numbers(wanted: Iterable[Wish], version: Artifact) -> Numbers:
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


def _delta(parts: list[Wish], numbers: Numbers, thread_id: str) -> Delta:
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
