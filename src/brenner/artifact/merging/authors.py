"""What each author has had applied: for telling duplicates (R8) and for her numbering (R11)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from brenner.delta.model import Delta
from brenner.delta.schema import SECTIONS, Operation

# Operation, section, target, payload; for an EDIT or a KILL also the base
Key = tuple[object, ...]


class Applied(NamedTuple):
    """A block that was applied, and the item that it made or changed."""

    message_id: int
    block: int
    item_id: str


class EditedField(NamedTuple):
    """A field that an EDIT is about: some keys of a map, or the whole of it or of another field."""

    name: str
    keys: tuple[str, ...]
    is_whole: bool


WHOLE = ""  # in the place of a key


class Author:
    """The record of one author. Inside a published state nothing in it is changed any more."""

    def __init__(self, before: "Author | None" = None) -> None:
        self.blocks: dict[Key, tuple[Applied, ...]] = dict(before.blocks) if before else {}
        self.as_written: dict[Key, tuple[Applied, ...]] = dict(before.as_written) if before else {}
        self.adds: dict[tuple[int, str], list[str]] = (
            {key: list(ids) for key, ids in before.adds.items()} if before else {}
        )
        self.edits: dict[tuple[str, str], dict[str, Applied]] = (
            {field: dict(keys) for field, keys in before.edits.items()} if before else {}
        )

    def added_on(self, base: int, prefix: str) -> Sequence[str]:
        """Her items on that base, in the order in which they were added."""
        return self.adds.get((base, prefix), ())

    def has_changed_since(self, first: Applied, edited: Iterable[EditedField]) -> bool:
        """Whether she has edited one of these fields after that block of hers."""
        for name, keys, is_whole in edited:
            last = self.edits.get((first.item_id, name), {})
            if is_whole and any(applied != first for applied in last.values()):
                return True
            if any(last.get(key, last.get(WHOLE)) != first for key in keys):
                return True
        return False

    def remember(self, key: Key, applied: Applied) -> None:
        """That a block was applied; equal ADDs, of which there may be several, in their order."""
        is_add = key[0] is Operation.ADD
        self.blocks[key] = (*self.blocks.get(key, ()), applied) if is_add else (applied,)

    def remember_as_written(self, key: Key, applied: Applied) -> None:
        """That an ADD was applied which names others of its message, with its IDs as written."""
        self.as_written[key] = (*self.as_written.get(key, ()), applied)

    def remember_add(self, base: int, prefix: str, applied: Applied) -> None:
        """That an ADD was applied."""
        self.adds.setdefault((base, prefix), []).append(applied.item_id)

    def remember_edit(self, applied: Applied, edited: Iterable[EditedField]) -> None:
        """That an EDIT was applied. One that replaces a map has changed every key of it."""
        for name, keys, is_whole in edited:
            last = self.edits.setdefault((applied.item_id, name), {})
            if is_whole:
                last.clear()
                last[WHOLE] = applied
            last.update(dict.fromkeys(keys, applied))


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


def edited_fields(delta: Delta, payload: Mapping[str, object]) -> list[EditedField]:
    """The fields that an EDIT is about."""
    fields = SECTIONS[delta.section].fields
    return [
        EditedField(name, tuple(value), is_replaced(name, payload))
        if isinstance(value, dict)
        else EditedField(name, (), is_whole=True)
        for name, value in payload.items()
        if name in fields
    ]


def is_replaced(name: str, payload: Mapping[str, object]) -> bool:
    """R13: whether a list or a map is replaced, not united or merged."""
    return payload.get("replace") is True or payload.get(f"{name}_replace") is True
