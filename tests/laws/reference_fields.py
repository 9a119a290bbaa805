"""What ADD, EDIT and KILL do to the fields in the reference merge (companion 2, R12 to R14).

Where the specification leaves something open, a comment that begins with "Reading:" says what is
taken here.
"""

from typing import Any, NamedTuple, cast

from brenner.artifact.model import Result, item_sort_key
from brenner.protocol.delta.field_checks import is_blank
from brenner.protocol.delta.schema import COLLECTION_KINDS, SECTIONS, Delta, Field, FieldKind
from brenner.protocol.messages import iso
from laws.reference_model import Change, Conflict, Letter, Model, Path, Source

NOT_APPLICABLE = "N/A"
LISTS = (FieldKind.ANCHORS, FieldKind.ITEMS, FieldKind.REFERENCES, FieldKind.RESULTS)


class Writing(NamedTuple):
    """What a block does to one field: the leaves it sets, and those that a replace drops."""

    item: str
    kind: Field
    new: dict[Path, object]
    dropped: list[Path]
    whole: bool

    @property
    def values(self) -> dict[Path, object]:
        """What each leaf is to be; None where it is taken away."""
        return self.new | dict.fromkeys(self.dropped)


def disagree(one: Delta, other: Delta) -> bool:
    """Whether two EDITs of an item say different things of a text, of a key, or of a list."""
    fields = {kind.name for kind, _ in _named(one)} & {kind.name for kind, _ in _named(other)}
    for name in fields:
        kind = SECTIONS[one.section].fields[name]
        first, second = (_leaves(kind, edit.payload[name]) for edit in (one, other))
        both = [path for path in first if path in second]
        # A replace says of every leaf that it does not name that it is not there.
        taken = [path for path in first if path not in second and _replaces(other, kind)]
        taken += [path for path in second if path not in first and _replaces(one, kind)]
        if taken or any(first[path] != second[path] for path in both):
            return True
        if kind.kind in LISTS and first != second:
            return True
    return False


def _named(delta: Delta) -> list[tuple[Field, object]]:
    known = SECTIONS[delta.section].fields
    return [(known[name], content) for name, content in delta.payload.items() if name in known]


def _replaces(delta: Delta, kind: Field) -> bool:
    """R13: `{field}_replace`, or a bare `replace` for every list and map."""
    flags = (delta.payload.get("replace"), delta.payload.get(f"{kind.name}_replace"))
    return kind.kind in COLLECTION_KINDS and True in flags


def _leaves(kind: Field, content: Any) -> dict[Path, object]:
    """A payload's field as leaves. What says nothing is None: the leaf is taken away."""
    name = kind.name
    if kind.kind is FieldKind.REFERENCES:
        return {
            (name, f"{each['relation']} {each['session']} {each['item']}"): (
                each["session"],
                each["item"],
                each["relation"],
            )
            for each in content
        }
    if kind.kind is FieldKind.RESULTS:
        found = [each if isinstance(each, Result) else _stated(each) for each in content]
        return {(name, str(each)): each for each in found}
    if kind.kind in LISTS:
        return {(name, each): each for each in content}
    if kind.kind in COLLECTION_KINDS:
        return {(name, key): value for key, value in content.items()}
    return {(name,): None if content is False or is_blank(content) else content}


def kill(model: Model, letter: Letter, name: str, reason: str, source: Source) -> set[str]:
    """Mark the item; its conflicts close; a hypothesis's cells become N/A."""
    item = model.items[name]
    if item.killed:
        return set()
    unseen = [
        change
        for (owner, _), changes in model.history.items()
        for change in changes
        if owner == name and _is_unseen(change.source, letter)
    ]
    item.killed = (letter.sender, iso(letter.posted.at), reason)
    model.history[name, ("killed",)] = [Change(model.step, item.killed, source)]
    for owner, path in list(model.conflicts):
        if owner == name:
            del model.conflicts[owner, path]
    if name[0] == "H":
        for row, other in model.items.items():
            if other.section == "predictions_table" and not other.killed:
                model.put(row, ("predictions", name), NOT_APPLICABLE, source)
                # Reading: nobody can edit that cell any more, so a conflict about it is over.
                model.conflicts.pop((row, ("predictions", name)), None)
    return {"KILL_OVER_UNSEEN_EDITS"} if unseen else set()


def _is_unseen(source: Source, letter: Letter) -> bool:
    """An EDIT of another author since the base."""
    return (
        source.operation == "EDIT"
        and source.agent != letter.sender
        and source.version > letter.base
    )


def write(model: Model, letter: Letter, name: str, delta: Delta, source: Source) -> set[str]:
    """The fields of an ADD or EDIT."""
    verdicts, told = _judged(model, name, delta)
    for kind, content in _named(delta):
        new = _leaves(kind, verdicts if kind.kind is FieldKind.RESULTS else content)
        if kind.kind is FieldKind.REFERENCES:
            closing = _circular(model, name, new)
            new = {path: value for path, value in new.items() if path not in closing}
            told |= {"CIRCULAR_REFERENCE"} if closing else set()
        whole = _replaces(delta, kind)
        dropped = _dropped(model, name, kind, new) if whole else []
        writing = Writing(name, kind, new, dropped, whole)
        if delta.operation == "EDIT":
            told |= _settle(model, letter, writing, source)
        for path, value in writing.values.items():
            model.put(name, path, value, source)
        if whole:  # the order of a replaced list is the new one's
            leaves = model.items[name].leaves
            model.items[name].leaves = {p: v for p, v in leaves.items() if p not in new} | new
    if delta.section == "predictions_table":
        for hypothesis in model.killed_hypotheses():
            model.put(name, ("predictions", hypothesis), NOT_APPLICABLE, source)
    return told


def _stated(result: dict[str, Any]) -> Result:
    """A result as its author states it; R26: nothing follows from an assay that failed."""
    found = Result(
        result["outcome"],
        result["potency"],
        tuple(result.get("contradicts", ())),
        tuple(result.get("supports", ())),
        note=result.get("note"),
    )
    is_failed = found.potency == "failed"
    return found._replace(contradicts=(), supports=()) if is_failed else found


def _judged(model: Model, name: str, delta: Delta) -> tuple[list[Result], set[str]]:
    """The results of a block with their verdicts, and what is said of its outcomes (R26, R27)."""
    stated = {"discriminative_tests": "expected_outcomes", "predictions_table": "predictions"}
    if delta.section not in stated:
        return [], set()
    field = stated[delta.section]
    old = {each: _map_of(model, name, each) for each in ("outcomes", field)}
    new = {each: _map_after(old[each], each, delta) for each in old}
    declared = new["outcomes"]
    known = [v for path, v in model.items[name].leaves.items() if path[0] == "results"]
    told: set[str] = set()
    if delta.operation == "EDIT":
        if known and any(each in delta.payload and new[each] != old[each] for each in old):
            told.add("OUTCOME_AFTER_RESULT")
        fresh = new[field] if "outcomes" in delta.payload else delta.payload.get(field, {})
        nothing = {"N/A", "indeterminate"}
        values = set(cast("dict[str, str]", fresh).values()) - nothing
        told |= {"UNDECLARED_OUTCOME"} if declared and values - declared.keys() else set()
    found = []
    for each in cast("list[dict[str, Any]]", delta.payload.get("results", [])):
        result = _verdict(_stated(each), cast("list[Result]", known), declared, new[field])
        found.append(result)
        if result.potency != "failed" and not (result.contradicts or result.supports):
            told.add("RESULT_WITHOUT_VERDICT")
    return found, told


def _verdict(
    result: Result, known: list[Result], declared: dict[str, str], expected: dict[str, str]
) -> Result:
    """Reading: a result that was recorded already keeps the verdict that it got then."""
    is_silent = not result.contradicts and not result.supports
    for other in known:
        bare = other._replace(contradicts=(), supports=(), derived=False)
        if result == other._replace(derived=False) or (
            is_silent and other.derived and result == bare
        ):
            return other
    if not is_silent or result.potency == "failed" or result.outcome not in declared:
        return result
    names = sorted(expected, key=item_sort_key)
    against = [n for n in names if expected[n] in declared and expected[n] != result.outcome]
    for_it = [n for n in names if expected[n] == result.outcome]
    return result._replace(
        contradicts=tuple(against), supports=tuple(for_it), derived=bool(against or for_it)
    )


def _map_of(model: Model, name: str, field: str) -> dict[str, str]:
    leaves = model.items[name].leaves
    return {path[1]: str(value) for path, value in leaves.items() if path[0] == field}


def _map_after(old: dict[str, str], field: str, delta: Delta) -> dict[str, str]:
    given = cast("dict[str, str]", delta.payload.get(field, {}))
    kind = SECTIONS[delta.section].fields[field]
    is_whole = field in delta.payload and _replaces(delta, kind)
    return dict(given) if is_whole else old | given


def _dropped(model: Model, name: str, kind: Field, new: dict[Path, object]) -> list[Path]:
    """What a replace takes away. Reading: a killed hypothesis's cell stays, N/A."""
    kept = model.killed_hypotheses() if kind.name == "predictions" else []
    return [
        path
        for path in model.items[name].leaves
        if path[0] == kind.name and path not in new and path[1] not in kept
    ]


def _settle(model: Model, letter: Letter, writing: Writing, source: Source) -> set[str]:
    """R12: conflicts about a field that is edited close, are joined, or arise."""
    told = set()
    for path, value in _disputable(model, writing).items():
        where = (writing.item, path)
        if where in model.conflicts and letter.base >= model.conflicts[where].version:
            del model.conflicts[where]
        lost = _displaced(model, letter, writing, path)
        if lost:
            told.add("CONFLICTING_EDIT")
            known = model.conflicts.setdefault(where, Conflict(letter.version, (), source, []))
            known.displaced += lost
        if where in model.conflicts and model.conflicts[where].value != value:
            # Reading: who changes her own value in an open conflict displaces nobody's, and who
            # says what stands already has not set it.
            model.conflicts[where].value, model.conflicts[where].source = value, source
    return told


def _disputable(model: Model, writing: Writing) -> dict[Path, object]:
    """What the edit says of each field about which there can be a conflict: a text, one key of a
    map, a list as a whole. A replaced map says something about every key.
    """
    name = writing.kind.name
    there = model.items[writing.item].leaves
    if writing.kind.kind in LISTS:
        kept = [] if writing.whole else [path for path in there if path[0] == name]
        listed = tuple(
            {path: (there | writing.new)[path] for path in [*kept, *writing.new]}.values()
        )
        return {(name,): listed or None}
    silent = [
        path
        for item, path in model.conflicts
        if writing.whole and item == writing.item and path[0] == name
    ]
    return dict.fromkeys(silent) | writing.values


def _displaced(
    model: Model, letter: Letter, writing: Writing, path: Path
) -> list[tuple[object, Source]]:
    """What others have said since this edit's base, and it takes away."""
    if writing.kind.kind not in LISTS:
        changes = model.history.get((writing.item, path), [])
        if not changes or changes[-1].value == writing.values.get(path):
            return []
        is_unseen = _is_unseen(changes[-1].source, letter)
        return [(changes[-1].value, changes[-1].source)] if is_unseen else []
    # Lists unite, so only a replace that drops values added since its base conflicts.
    by_source: dict[Source, list[object]] = {}
    for dropped in writing.dropped:
        added = model.history[writing.item, dropped][-1]
        if _is_unseen(added.source, letter):
            by_source.setdefault(added.source, []).append(added.value)
    return [(tuple(values), added_by) for added_by, values in by_source.items()]


def _circular(model: Model, name: str, new: dict[Path, object]) -> list[Path]:
    """R21: the new references that would close a circle between items of this thread."""
    leaves = model.items[name].leaves
    closing = []
    for path, value in new.items():
        session, item, _ = cast("tuple[str, str, str]", value)
        if path not in leaves and session == model.thread_id and _reaches(model, item, name):
            closing.append(path)
    return closing


def _reaches(model: Model, start: str, goal: str) -> bool:
    """Whether references lead from one item to another."""
    seen, waiting = set(), [start]
    while waiting:
        name = waiting.pop()
        if name == goal:
            return True
        if name in seen or name not in model.items:
            continue
        seen.add(name)
        for path, value in model.items[name].leaves.items():
            if path[0] == "references" and cast("Any", value)[0] == model.thread_id:
                waiting.append(cast("Any", value)[1])
    return False
