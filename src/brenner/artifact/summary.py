"""A difference in one sentence, as a COMPILED message needs it, and as lists of IDs."""

from collections.abc import Callable, Iterable

from brenner.artifact.diff import KILLED, Diff, FieldChange, ItemChange, Kind
from brenner.text import visible

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
        return visible(change.id, MOST_CHARACTERS)
    title = visible(change.title, MOST_CHARACTERS)
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
    return _listed([visible(name, MOST_CHARACTERS) for name in names], MOST_FIELDS, ", ")


def _field(change: FieldChange) -> str:
    return change.path[-1] if change.path[0] == "predictions" else change.path[0]


def _listed(words: list[str], most: int, last: str = " and ") -> str:
    """`H1, H2 and 12 others`."""
    if len(words) > most:
        words, last = [*words[: most - 1], f"{len(words) - most + 1} others"], " and "
    *others, final = words
    return f"{', '.join(others)}{last}{final}" if others else final
