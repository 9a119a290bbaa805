"""What ADD, EDIT and KILL do to the fields in the reference merge (companion 2, R12 to R14).

Where the specification leaves something open, a comment that begins with "Reading:" says what is
taken here.
"""

from typing import Any, NamedTuple, cast

from brenner.protocol.delta.field_checks import is_blank
from brenner.protocol.delta.schema import COLLECTION_KINDS, SECTIONS, Delta, Field, FieldKind
from brenner.protocol.messages import iso
from laws.reference_model import Change, Conflict, Letter, Model, Path, Source

NOT_APPLICABLE = "N/A"
LISTS = (FieldKind.ANCHORS, FieldKind.ITEMS, FieldKind.REFERENCES)


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
    told: set[str] = set()
    for kind, content in _named(delta):
        new = _leaves(kind, content)
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
