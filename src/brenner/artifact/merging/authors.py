"""What each author has had applied: for telling duplicates (R8) and for her numbering (R11)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from brenner.artifact.blame import Path
from brenner.delta.model import Delta
from brenner.delta.schema import SECTIONS, Operation

# Operation, section, target, payload; for an EDIT or a KILL also the base
Key = tuple[object, ...]


class Applied(NamedTuple):
    """A block that was applied, and the item that it made or changed."""

    message_id: int
    block: int
    item_id: str


class Author:
    """The record of one author. Inside a published state nothing in it is changed any more."""

    def __init__(self, before: "Author | None" = None) -> None:
        self.blocks: dict[Key, Applied] = dict(before.blocks) if before else {}
        self.adds: dict[tuple[int, str], list[str]] = (
            {key: list(ids) for key, ids in before.adds.items()} if before else {}
        )
        self.edits: dict[tuple[str, Path], Applied] = dict(before.edits) if before else {}

    def added_on(self, base: int, prefix: str) -> Sequence[str]:
        """Her items on that base, in the order in which they were added."""
        return self.adds.get((base, prefix), ())

    def has_changed_since(self, first: Applied, paths: Iterable[Path]) -> bool:
        """Whether she has edited one of these fields after that block of hers."""
        return any(self.edits.get((first.item_id, path)) != first for path in paths)

    def remember(self, key: Key, applied: Applied) -> None:
        """That a block was applied."""
        self.blocks[key] = applied

    def remember_add(self, base: int, prefix: str, applied: Applied) -> None:
        """That an ADD was applied."""
        self.adds.setdefault((base, prefix), []).append(applied.item_id)

    def remember_edit(self, applied: Applied, paths: Iterable[Path]) -> None:
        """That an EDIT was applied."""
        for path in paths:
            self.edits[applied.item_id, path] = applied


def block_key(delta: Delta, item_id: str | None, payload: Mapping[str, object], base: int) -> Key:
    """What makes two blocks of one author equal, once their IDs are resolved."""
    content = tuple(sorted([(name, _hashable(value)) for name, value in payload.items()]))
    if delta.operation is Operation.ADD:
        return (delta.operation, delta.section, content)
    return (delta.operation, delta.section, item_id, content, base)


def _hashable(value: object) -> object:
    if type(value) is str:
        return value
    if isinstance(value, dict):
        return tuple(sorted((name, _hashable(each)) for name, each in value.items()))
    return (
        tuple(map(_hashable, value)) if isinstance(value, list) else (type(value).__name__, value)
    )


def edited_paths(delta: Delta, payload: Mapping[str, object]) -> list[Path]:
    """The fields that an EDIT is about: one key of a map is a field; a replaced map is another."""
    fields = SECTIONS[delta.section].fields
    paths: list[Path] = []
    for name, value in payload.items():
        if name not in fields:
            continue
        if isinstance(value, dict):
            paths += [(name, key) for key in value]
        if not isinstance(value, dict) or is_replaced(name, payload):
            paths.append((name,))
    return paths


def is_replaced(name: str, payload: Mapping[str, object]) -> bool:
    """R13: whether a list or a map is replaced, not united or merged."""
    return payload.get("replace") is True or payload.get(f"{name}_replace") is True
