"""What each author has had applied: for telling duplicates (R8) and for her numbering (R11)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from brenner.artifact.model import says_something
from brenner.delta.model import Delta
from brenner.delta.schema import SECTIONS, Operation

# Operation, section, target, payload; for an EDIT or a KILL also the base
Key = tuple[object, ...]


class Applied(NamedTuple):
    """A block that was applied, the item that it made or changed, and which of hers it was."""

    message_id: int
    block: int
    item_id: str
    order: int


class EditedField(NamedTuple):
    """What an EDIT says of a field: of some keys of a map, or of a whole map that it replaces.

    Of any other field it says one thing, which stands under the key `WHOLE`.
    """

    name: str
    values: Mapping[str, object]
    is_replaced: bool = False

    def disagrees(self, other: "EditedField") -> bool:
        """Whether the two say different things of the same field."""
        if self.name != other.name:
            return False
        mine, theirs = self.values, other.values
        if any(key in theirs and theirs[key] != value for key, value in mine.items()):
            return True
        is_more, is_less = not mine.keys() <= theirs.keys(), not theirs.keys() <= mine.keys()
        return (other.is_replaced and is_more) or (self.is_replaced and is_less)


WHOLE = ""  # in the place of a key


class Said(NamedTuple):
    """What an author says of a key by now, and the block with which she began to."""

    value: object
    since: Applied


class Author:
    """The record of one author. Inside a published state nothing in it is changed any more."""

    def __init__(self, before: "Author | None" = None) -> None:
        self.blocks: dict[Key, tuple[Applied, ...]] = dict(before.blocks) if before else {}
        self.as_written: dict[Key, tuple[Applied, ...]] = dict(before.as_written) if before else {}
        self.adds: dict[tuple[int, str], list[str]] = (
            {key: list(ids) for key, ids in before.adds.items()} if before else {}
        )
        self.said: dict[tuple[str, str], dict[str, Said]] = (
            {field: dict(keys) for field, keys in before.said.items()} if before else {}
        )
        self.count: int = before.count if before else 0

    def added_on(self, base: int, prefix: str) -> Sequence[str]:
        """Her items on that base, in the order in which they were added."""
        return self.adds.get((base, prefix), ())

    def has_changed_since(self, first: Applied, edited: Iterable[EditedField]) -> bool:
        """Whether she has said something else of one of these fields after that block of hers."""
        for name, values, is_replaced_whole in edited:
            said = self.said.get((first.item_id, name), {})
            keys = said if is_replaced_whole else values
            found = [said.get(key) or said.get(WHOLE) for key in keys]
            if any(each is not None and each.since.order > first.order for each in found):
                return True
        return False

    def next_applied(self, message_id: int, block: int, item_id: str) -> Applied:
        """The next block of hers that is applied."""
        self.count += 1
        return Applied(message_id, block, item_id, self.count)

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
        """That an EDIT was applied. To say the same again is no change."""
        for name, values, is_replaced_whole in edited:
            said = self.said.setdefault((applied.item_id, name), {})
            now = dict(values)
            if is_replaced_whole:
                now |= {key: None for key in (WHOLE, *said) if key not in values}
            for key, value in now.items():
                if key not in said or said[key].value != value:
                    said[key] = Said(value, applied)


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
    """What an EDIT says, field by field."""
    fields = SECTIONS[delta.section].fields
    return [
        EditedField(name, value, is_replaced(name, payload))
        if isinstance(value, dict)
        else EditedField(name, {WHOLE: _one_thing(value)})
        for name, value in payload.items()
        if name in fields
    ]


def _one_thing(value: object) -> object:
    """A value as compared: the order of a list does not matter, nor how nothing is said."""
    if isinstance(value, list):
        return frozenset(map(_hashable, value))
    return value if says_something(value) else None


def is_replaced(name: str, payload: Mapping[str, object]) -> bool:
    """R13: whether a list or a map is replaced, not united or merged."""
    return payload.get("replace") is True or payload.get(f"{name}_replace") is True
