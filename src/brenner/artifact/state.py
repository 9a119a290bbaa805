"""What a published version leaves behind for the next one.

The artifact alone is not enough: whether a block is a duplicate (R8), what an author's IDs mean
(R11) and whether an edit is in conflict (R12) depend on who said what, and on which version.
All of it follows from the mail; nothing here comes from anywhere else.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar

from brenner.artifact.model import (
    ITEM_SECTIONS,
    Artifact,
    Item,
    Metadata,
    Reference,
    says_something,
)
from brenner.diagnostics.model import Diagnostic
from brenner.limits import MOST_BLOCKS
from brenner.protocol.delta.schema import SECTIONS, Delta, Operation
from brenner.protocol.grammar import ITEM_ID

# Blame: for every field of every item, what set it and what that replaced.


# ("claim",), ("predictions", "H2"), ("score", "cost"), ("anchors", "§42"), ("killed",)
Path = tuple[str, ...]
KICKOFF = "KICKOFF"  # what fills the research thread, in the place of an operation (R15)


class Source(NamedTuple):
    """The delta that set something: its message, author, block, and the version that it went into.

    `block` is 0 for a kickoff, which has none.
    """

    message_id: int
    agent: str
    block: int
    version: int
    operation: str


class Change(NamedTuple):
    """That a source gave a field its value, and what was there before.

    `replaced` is the value before, and `before` the change that had set that one. Where a value
    was taken away there is a change with the value None.
    """

    source: Source
    value: object
    replaced: object = None
    before: "Change | None" = None

    def __repr__(self) -> str:
        """Without the history, which may be long."""
        return f"Change({self.source!r}, value={self.value!r}, replaced={self.replaced!r})"

    def __eq__(self, other: object) -> bool:
        """Whether the two made the same change, whatever came before it."""
        return isinstance(other, Change) and self[:3] == other[:3]

    def __hash__(self) -> int:
        """By where it comes from."""
        return hash(self.source)

    def history(self) -> "Iterator[Change]":
        """All changes up to this one, newest first."""
        change: Change | None = self
        while change is not None:
            yield change
            change = change.before


Blame = Mapping[str, Mapping[Path, Change]]
NO_BLAME: Blame = MappingProxyType({})


# Conflicts: edits that displaced what another author had said meanwhile (R12).


class Displaced(NamedTuple):
    """A value that had to give way, and who had set it."""

    value: object
    source: Source


class Conflict(NamedTuple):
    """One field on which authors disagree, not having seen each other's edits.

    `value` stands (None where it was taken away), set by `source`; `version` is the one in which
    the conflict arose. It is open until somebody edits the field on a base that contains it.
    """

    item_id: str
    path: Path
    version: int
    value: object
    source: Source
    displaced: tuple[Displaced, ...]

    @property
    def field(self) -> str:
        """The field as people write it: `claim`, `predictions.H2`."""
        return ".".join(self.path)

    def to_json(self) -> dict[str, object]:
        """The stable form; keys are only ever added."""
        return {
            "item_id": self.item_id,
            "field": self.field,
            "version": self.version,
            "value": _plain(self.value),
            **_source(self.source),
            "displaced": [
                {"value": _plain(lost.value), **_source(lost.source)} for lost in self.displaced
            ],
        }


def _source(source: Source) -> dict[str, object]:
    return {"agent": source.agent, "message_id": source.message_id, "block": source.block}


def _plain(value: object) -> object:
    """A value as JSON has it: a list of texts, or of references as objects."""
    if not isinstance(value, tuple):
        return value
    return [each._asdict() if isinstance(each, Reference) else each for each in value]


# Mappings that are looked at in few places: what is not asked for is neither read nor copied.
#
# A state remembers everything that was ever said in its thread, and a round asks for little of it.
# So the memory of a published state may be kept as text, of which each value is read when somebody
# asks for it; and a round notes what it changes beside that memory, not in a copy of it.


K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")
# What reading a text of our own can come to that somebody has changed, its checksum included
_FAULTS = (AttributeError, LookupError, RecursionError, TypeError, ValueError)


def read_text(read: Callable[[T], V], text: T) -> V:
    """What a text, or one in parts, says; ValueError, and nothing else, where it cannot be read."""
    try:
        return read(text)
    except _FAULTS as fault:
        message = f"What was kept cannot be read: {fault!r}"
        raise ValueError(message) from fault


class Kept(Mapping[K, V]):
    """Values that are kept as texts; each is read when it is first asked for, and remembered.

    `texts` has every key, in order; those without a text have their value already. A value must
    not be changed: its text stands for it when everything is written again.
    """

    def __init__(
        self,
        texts: Mapping[K, str | None],
        read: Callable[[str], V],
        values: Mapping[K, V] = MappingProxyType({}),
    ) -> None:
        self.texts = texts
        self._read = read
        self._values = dict(values)

    def __getitem__(self, key: K) -> V:
        """The value; ValueError where its text is damaged."""
        if key not in self._values:
            self._values[key] = read_text(self._read, self.texts[key] or "")
        return self._values[key]

    def __contains__(self, key: object) -> bool:
        """Whether there is such a value, without reading it."""
        return key in self.texts

    def __iter__(self) -> Iterator[K]:
        """The keys, in order."""
        return iter(self.texts)

    def __len__(self) -> int:
        """How many there are."""
        return len(self.texts)

    def __repr__(self) -> str:
        """As that of the frozen mapping which it stands for: all values are read."""
        return repr(MappingProxyType(dict(self)))

    def changed(self, changes: Mapping[K, V]) -> "Kept[K, V]":
        """The same with other values under some keys."""
        texts = {**self.texts, **dict.fromkeys(changes)}
        return Kept(texts, self._read, {**self._values, **changes})


class Layer(Generic[K, V]):
    """What is changed over a mapping that is not."""

    def __init__(self, below: Mapping[K, V]) -> None:
        self._below = below
        self._own: dict[K, V] = {}

    def get(self, key: K, default: V) -> V:
        """The value as it stands."""
        return self._own[key] if key in self._own else self._below.get(key, default)

    def __setitem__(self, key: K, value: V) -> None:
        """Set a value."""
        self._own[key] = value

    def own(self, key: K, copied: Callable[[V], V], default: V) -> V:
        """The value, to be changed in place: at first a copy of the one below."""
        if key not in self._own:
            self._own[key] = copied(self._below.get(key, default))
        return self._own[key]

    def flat(self) -> Mapping[K, V]:
        """Both as one mapping, which must not be changed any more."""
        return updated(self._below, self._own) if self._own else self._below


def updated(before: Mapping[K, V], changes: Mapping[K, V]) -> Mapping[K, V]:
    """A mapping with some values changed; what is kept as text stays so."""
    if isinstance(before, Kept):
        return before.changed(changes)
    return MappingProxyType({**before, **changes})


# What each author has had applied: for telling duplicates (R8) and for her numbering (R11).


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


Counts = Mapping[str, int]  # the highest number given so far, by the prefix of the section
NO_COUNTS: Counts = MappingProxyType({section.prefix: 0 for section in ITEM_SECTIONS})


class Version(NamedTuple):
    """A published version: where its COMPILED message stands in the thread, and its numbering."""

    number: int
    at: datetime | None
    message_id: int
    counts: Counts


# v0 is the empty artifact before the first version. It stands before every message.
EMPTY_VERSION = Version(0, None, 0, NO_COUNTS)


# A place in the thread's order (R9): the store's time of a message, and its id
Moment = tuple[datetime, int]


def latest_before(moment: Moment, versions: tuple[Version, ...]) -> Version:
    """The latest version that was published before a moment."""
    return next(
        version
        for version in reversed(versions)
        if version.at is None or (version.at, version.message_id) < moment
    )


class State(NamedTuple):
    """The latest version of a thread and its memory; `added` is the moment of every item's ADD."""

    artifact: Artifact
    blame: Blame = NO_BLAME
    conflicts: tuple[Conflict, ...] = ()
    versions: tuple[Version, ...] = (EMPTY_VERSION,)
    counts: Counts = NO_COUNTS
    authors: Mapping[str, Memory] = MappingProxyType({})
    added: Mapping[str, Moment] = MappingProxyType({})
    has_question: bool = False
    updated: datetime | None = None


def empty_state(thread_id: str) -> State:
    """A thread before its first version."""
    return State(Artifact(Metadata(session_id=thread_id, version=0)))


def adopted_state(thread_id: str, artifact: Artifact, at: datetime, message_id: int) -> State:
    """A thread whose latest version another program has compiled.

    Nobody is known to have said anything, and the numbering goes on after the highest number. The
    IDs must be well formed, and none may stand twice.
    """
    counts = {
        section.prefix: max((_number(item) for item in artifact.sections[section.id]), default=0)
        for section in ITEM_SECTIONS
    }
    version = Version(artifact.metadata.version or 0, at, message_id, counts)
    return State(
        artifact._replace(metadata=artifact.metadata._replace(session_id=thread_id)),
        versions=(EMPTY_VERSION, version),
        counts=counts,
        has_question=bool(artifact.research_thread.text("statement")),
    )


def _number(item: Item) -> int:
    match = ITEM_ID.fullmatch(item.id)
    return int(match[2] or 0) if match else 0


# The ledger: what became of every delta block, to the last one (R7).


class Outcome(StrEnum):
    """How a block ended."""

    APPLIED = "applied"
    REFUSED = "refused"
    DUPLICATE = "duplicate"


class Rewrite(NamedTuple):
    """An ID that was rewritten to the number that the item got (R11)."""

    field: str
    old: str
    new: str


class Entry(NamedTuple):
    """One block.

    `operation`, `section` and `target_id` are as written, as far as they could be read; of a block
    with a repaired form, as they are there. So is `name`, which is what an ADD calls its item.
    `assigned_id` is what an ADD became (of a duplicate: what the first one became), and `item_id`
    the item that the block ended on, whatever the operation.
    `meant_id` is the item that the target of a refused block means, where that can be told.
    """

    message_id: int
    block: int
    line: int
    agent: str
    operation: str | None
    section: str | None
    target_id: str | None
    state: Outcome
    assigned_id: str | None = None
    item_id: str | None = None
    rewrites: tuple[Rewrite, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    name: str | None = None
    meant_id: str | None = None

    def to_json(self) -> dict[str, object]:
        """The stable form; keys are only ever added."""
        return {
            "message_id": self.message_id,
            "block": self.block,
            "line": self.line,
            "agent": self.agent,
            "operation": self.operation,
            "section": self.section,
            "target_id": self.target_id,
            "name": self.name,
            "assigned_id": self.assigned_id,
            "item_id": self.item_id,
            "state": self.state.value,
            "rewritten": [rewrite._asdict() for rewrite in self.rewrites],
            "violations": [found.to_json() for found in self.diagnostics],
        }


def counts(entries: tuple[Entry, ...]) -> dict[str, int]:
    """How many blocks ended how; they always add up."""
    states = [entry.state for entry in entries]
    return {outcome.value: states.count(outcome) for outcome in Outcome}


def is_listed(entry: Entry) -> bool:
    """Return whether a ledger that is shown lists the block.

    A message with more blocks than are read has all of them refused for that one reason, so the
    first ones tell everything.
    """
    return entry.block <= MOST_BLOCKS


def ledger_json(entries: tuple[Entry, ...]) -> dict[str, object]:
    """The whole ledger as a compile shows it.

    What is not listed is counted.
    """
    shown = [entry.to_json() for entry in entries if is_listed(entry)]
    return {**counts(entries), "entries": shown, "entries_left_out": len(entries) - len(shown)}
