"""Whether the merge says of a version what the reference model says: both brought into one form."""

from collections.abc import Mapping
from typing import Any

from brenner.artifact.merge.engine import Merge
from brenner.artifact.model import Artifact
from brenner.artifact.state import Entry
from brenner.diagnostics.model import Severity
from brenner.protocol.delta.schema import FieldKind
from laws.reference_model import Line, Model

# Warnings about the artifact as a whole, and about messages
WARNINGS = {
    *("NO_THIRD_ALTERNATIVE", "NO_SCALE_CHECK", "BELOW_MINIMUM"),
    *("UNKNOWN_AGENT", "AP-009", "QUESTION_DIFFERS", "NO_KICKOFF"),
}
PROSE = "REWRITTEN_ID_IN_PROSE"
# Of a duplicate the ledger says which block it repeats; what its IDs mean is told there already.
NOT_OF_DUPLICATES = {"ID_REWRITTEN", "AMBIGUOUS_ID"}


def leaves(artifact: Artifact) -> dict[str, dict[tuple[str, ...], object]]:
    """By item: texts, keys of maps and elements of lists alike; and who killed it."""
    found: dict[str, dict[tuple[str, ...], object]] = {}
    for section, item in artifact.all_items():
        flat: dict[tuple[str, ...], object] = {}
        for name, value in item.fields.items():
            content: Any = value
            kind = section.fields[name].kind
            if kind is FieldKind.REFERENCES:
                for ref in content:
                    flat[name, f"{ref.relation} {ref.session} {ref.item}"] = tuple(ref)
            elif kind in (FieldKind.ANCHORS, FieldKind.ITEMS):
                flat |= {(name, each): each for each in content}
            elif kind is FieldKind.RESULTS:
                flat |= {(name, str(each)): each for each in content}
            elif kind in (FieldKind.OUTCOMES, FieldKind.SCORE, FieldKind.DESCRIPTIONS):
                flat |= {(name, key): each for key, each in content.items()}
            else:
                flat[name,] = content
        if item.killed:
            flat["killed",] = tuple(item.killed)
        found[item.id] = flat
    return found


def expected_leaves(model: Model) -> dict[str, dict[tuple[str, ...], object]]:
    """The same of the model."""
    return {
        name: item.leaves | ({("killed",): item.killed} if item.killed else {})
        for name, item in model.items.items()
    }


def lists(artifact: dict[str, dict[tuple[str, ...], object]]) -> dict[str, list[object]]:
    """The elements of every list, in order."""
    listed = ("anchors", "conflicts_with", "references", "results")
    return {
        f"{name}.{which}": [path for path in flat if path[0] == which]
        for name, flat in artifact.items()
        for which in listed
    }


def entry_of(entry: Entry, line: Line) -> dict[str, object]:
    """What the ledger must say of a block; warnings aside of a block that was refused."""
    errors = {found.id for found in entry.diagnostics if found.severity is Severity.ERROR}
    said: dict[str, object] = {
        "operation": entry.operation,
        "section": entry.section,
        "target_id": entry.target_id,
        "agent": entry.agent,
        "state": entry.state.value,
    }
    if line.state == "refused":
        # One fault, one violation: of several reasons the merge may tell any.
        return said | {"errors": bool(errors) and errors <= line.codes}
    codes = {found.id for found in entry.diagnostics}
    surely, perhaps = line.mentions if line.state == "applied" else (False, True)
    mentioned = PROSE in codes
    return said | {
        "assigned_id": entry.assigned_id,
        "item_id": entry.item_id,
        "rewrites": sorted({tuple(each) for each in entry.rewrites if each.old[0] != "@"})
        if line.state == "applied"
        else [],
        "codes": sorted(codes - _untold(line)),
        "prose": (mentioned or not surely) and (perhaps or not mentioned),
    }


def _untold(line: Line) -> set[str]:
    return {PROSE} | (NOT_OF_DUPLICATES if line.state == "duplicate" else set())


def expected_entry(line: Line) -> dict[str, object]:
    """The same of the model."""
    said: dict[str, object] = {
        "operation": line.operation,
        "section": line.section,
        "target_id": line.target_id,
        "agent": line.agent,
        "state": line.state,
    }
    if line.state == "refused":
        return said | {"errors": True}
    return said | {
        "assigned_id": line.assigned,
        "item_id": line.item,
        "rewrites": sorted(set(line.rewrites)),
        "codes": sorted(line.codes - _untold(line)),
        "prose": True,
    }


def source_of(source: object) -> tuple[object, ...]:
    """Message, agent, block, version, operation."""
    return tuple(source) if isinstance(source, tuple) else (source,)


def conflicts_of(result: Merge) -> dict[object, object]:
    """The open conflicts: what stands, and what had to give way."""
    return {
        (each.item_id, each.path): (
            each.version,
            each.value,
            source_of(each.source),
            [(lost.value, source_of(lost.source)) for lost in each.displaced],
        )
        for each in result.conflicts
    }


def expected_conflicts(model: Model) -> dict[object, object]:
    """The same of the model."""
    return {
        where: (
            each.version,
            each.value,
            source_of(each.source),
            [(value, source_of(source)) for value, source in each.displaced],
        )
        for where, each in model.conflicts.items()
    }


def blame_of(result: Merge) -> dict[object, tuple[object, ...]]:
    """Who set each leaf that is there."""
    there = leaves(result.artifact)
    return {
        (name, path): source_of(change.source)
        for name, changes in result.blame.items()
        for path, change in changes.items()
        if path in there[name]
    }


def expected_blame(model: Model) -> dict[object, tuple[object, ...]]:
    """The same of the model."""
    there = expected_leaves(model)
    return {
        (name, path): source_of(changes[-1].source)
        for (name, path), changes in model.history.items()
        if path in there[name]
    }


def assert_same(result: Merge, model: Model) -> None:
    """The merge says of this version what the reference says."""
    ledger = {(entry.message_id, entry.block): entry for entry in result.ledger}
    lines = {(line.message_id, line.block): line for line in model.ledger}
    _same("the blocks", dict(enumerate(ledger)), dict(enumerate(lines)))
    for here, line in lines.items():
        codes = sorted(found.id for found in ledger[here].diagnostics)
        what = f"message and block {here}, where the merge says {codes}, the model {line.codes}"
        _same(what, entry_of(ledger[here], line), expected_entry(line))
    found, expected = leaves(result.artifact), expected_leaves(model)
    _same("the items", found, expected)
    _same("the order of the lists", lists(found), lists(expected))
    _same("the conflicts", conflicts_of(result), expected_conflicts(model))
    _same("blame", blame_of(result), expected_blame(model))
    metadata = result.artifact.metadata
    said = {
        "contributors": set(metadata.contributors),
        "created_at": metadata.created_at,
        "updated_at": metadata.updated_at,
    }
    _same("the metadata", said, {name: getattr(model, name) for name in said})
    warned = {each.id for each in result.warnings} & WARNINGS
    assert warned == model.warnings, f"warnings: {warned ^ model.warnings}"


def _same(what: str, found: Mapping[Any, object], expected: Mapping[Any, object]) -> None:
    """Equal; if not, what the merge and the model say where they differ."""
    differ = {
        key: (found.get(key), expected.get(key))
        for key in [*found, *(key for key in expected if key not in found)]
        if found.get(key) != expected.get(key)
    }
    assert not differ, f"{what}: {differ}"
