"""What each author has had applied: for telling duplicates (R8) and for her numbering (R11)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from types import MappingProxyType
from typing import NamedTuple

from brenner.artifact.kept import Layer
from brenner.artifact.model import says_something
from brenner.protocol.delta.schema import SECTIONS, Delta, Operation


class Key(NamedTuple):
    """What a block is compared by: a digest of operation, section, target, payload and base.

    An ADD has no target, and its base does not matter. `page` is where the block is remembered:
    with those on about the same base, so that a round, which goes by few bases, meets few pages.
    """

    page: int
    digest: str


_BASES_TO_A_PAGE = 16
ADDS, ADDS_AS_WRITTEN = -1, -2  # the pages of ADDs: with their IDs as numbered, as written
_DIGEST_LENGTH = 32


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

    @property
    def key(self) -> str:
        """What makes two of them say the same."""
        return _canonical((self.name, dict(self.values), self.is_replaced))

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


Page = dict[str, tuple[Applied, ...]]  # by digest
SaidOfItem = dict[str, dict[str, Said]]  # by field, and by the key of a map


class Memory(NamedTuple):
    """What a state remembers of one author; nothing in it is changed any more.

    `applied` counts her applied blocks, and `blocks` has them by page and digest. `adds` are her
    new items by base and prefix, in the order in which they were added; `said` is what she says by
    now of each item that she has edited.
    """

    applied: int = 0
    blocks: Mapping[int, Page] = MappingProxyType({})
    adds: Mapping[tuple[int, str], list[str]] = MappingProxyType({})
    said: Mapping[str, SaidOfItem] = MappingProxyType({})


NOTHING_REMEMBERED = Memory()


class Author:
    """One author while a merge goes on."""

    def __init__(self, before: Memory | None = None) -> None:
        memory = before or NOTHING_REMEMBERED
        self.count = memory.applied
        self._blocks = Layer(memory.blocks)
        self._adds = Layer(memory.adds)
        self._said = Layer(memory.said)

    def memory(self) -> Memory:
        """What is to be remembered of her."""
        return Memory(self.count, self._blocks.flat(), self._adds.flat(), self._said.flat())

    def firsts(self, key: Key, *, as_written: bool = False) -> tuple[Applied, ...]:
        """Her applied blocks that are equal to this one."""
        page = ADDS_AS_WRITTEN if as_written else key.page
        return self._blocks.get(page, {}).get(key.digest, ())

    def added_on(self, base: int, prefix: str) -> Sequence[str]:
        """Her items on that base, in the order in which they were added."""
        return self._adds.get((base, prefix), [])

    def has_changed_since(self, first: Applied, edited: Iterable[EditedField]) -> bool:
        """Whether she has said something else of one of these fields after that block of hers."""
        of_item = self._said.get(first.item_id, {})
        for name, values, is_replaced_whole in edited:
            said = of_item.get(name, {})
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
        known = self._blocks.own(key.page, dict, {})
        is_add = key.page < 0
        known[key.digest] = (*known.get(key.digest, ()), applied) if is_add else (applied,)

    def remember_as_written(self, key: Key, applied: Applied) -> None:
        """That an ADD was applied which names others of its message, with its IDs as written."""
        self.remember(key._replace(page=ADDS_AS_WRITTEN), applied)

    def remember_add(self, base: int, prefix: str, applied: Applied) -> None:
        """That an ADD was applied."""
        self._adds.own((base, prefix), list, []).append(applied.item_id)

    def remember_edit(self, applied: Applied, edited: Iterable[EditedField]) -> None:
        """That an EDIT was applied. To say the same again is no change."""
        of_item = self._said.own(applied.item_id, _copied, {})
        for name, values, is_replaced_whole in edited:
            said = of_item.setdefault(name, {})
            now = dict(values)
            if is_replaced_whole:
                now |= {key: None for key in (WHOLE, *said) if key not in values}
            for key, value in now.items():
                if key not in said or said[key].value != value:
                    said[key] = Said(value, applied)


def _copied(said: SaidOfItem) -> SaidOfItem:
    return {field: dict(keys) for field, keys in said.items()}


_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def block_key(delta: Delta, item_id: str | None, payload: Mapping[str, object], base: int) -> Key:
    """What makes two blocks of one author equal, once their IDs are resolved."""
    is_add = delta.operation is Operation.ADD
    where = (None, None) if is_add else (item_id, base)
    content = _canonical((delta.operation, delta.section, *where, dict(payload)))
    digest = sha256(content.encode()).hexdigest()[:_DIGEST_LENGTH]
    return Key(ADDS if is_add else base // _BASES_TO_A_PAGE, digest)


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
        return tuple(sorted({_canonical(each) for each in value}))
    return value if says_something(value) else None


def is_replaced(name: str, payload: Mapping[str, object]) -> bool:
    """R13: whether a list or a map is replaced, not united or merged."""
    return payload.get("replace") is True or payload.get(f"{name}_replace") is True
