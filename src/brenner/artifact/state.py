"""The state of a thread after a published version, which the next merge starts from.

The artifact alone is not enough. Duplicate detection (R8), ID resolution (R11) and conflict
detection (R12) depend on which author sent what, and on which base version. All of it is derived
from the mail. The file contains blame, conflicts, author histories, versions and the ledger.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, TypeVar

from brenner.artifact.model import (
    ITEM_SECTIONS,
    Artifact,
    Item,
    Metadata,
    Reference,
    Result,
    has_content,
)
from brenner.limits import MOST_BLOCKS
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.schema import ADD, SECTIONS, Delta
from brenner.protocol.grammar import ITEM_ID

if TYPE_CHECKING:
    from brenner.diagnostics.model import Diagnostic

# Blame: the latest change of every field of every item


# ("claim",), ("predictions", "H2"), ("score", "cost"), ("anchors", "§42"), ("killed",)
Path = tuple[str, ...]
KICKOFF = "KICKOFF"  # in place of an operation, for fields that a kickoff filled (R15)


class Source(NamedTuple):
    """The delta that set a value: its message, author, block, and the version that it went into.

    `block` is 0 for a kickoff, which has no blocks.
    """

    message_id: int
    agent: str
    block: int
    version: int
    operation: str


class Change(NamedTuple):
    """One assignment of a value to a field, with the previous value.

    `replaced` is the previous value, and `before` the change that had set it. The removal of a
    value is a change with the value None.
    """

    source: Source
    value: object
    replaced: object = None
    before: Change | None = None

    def __repr__(self) -> str:
        """Leave out the history, which can be long."""
        return f"Change({self.source!r}, value={self.value!r}, replaced={self.replaced!r})"

    def __eq__(self, other: object) -> bool:
        """Compare source, value and replaced value. Ignore the earlier history."""
        return isinstance(other, Change) and self[:3] == other[:3]

    def __hash__(self) -> int:
        return hash(self.source)

    def history(self) -> Iterator[Change]:
        """Yield all changes up to this one, newest first."""
        change: Change | None = self
        while change is not None:
            yield change
            change = change.before


Blame = Mapping[str, Mapping[Path, Change]]
NO_BLAME: Blame = MappingProxyType({})


# Conflicts: edits that displaced an unseen edit of another author (R12)


class DisplacedValue(NamedTuple):
    """A value that an edit replaced, and the delta that had set it."""

    value: object
    source: Source


class Conflict(NamedTuple):
    """One field that authors edited differently without having seen each other's edits.

    `value` is the current value (None if it was removed), set by `source`. `version` is the one in
    which the conflict arose. A conflict is open until an author edits the field on a base that
    contains it.
    """

    item_id: str
    path: Path
    version: int
    value: object
    source: Source
    displaced: tuple[DisplacedValue, ...]

    @property
    def field(self) -> str:
        """Return the field as a dotted path: `claim`, `predictions.H2`."""
        return ".".join(self.path)

    def to_json(self) -> dict[str, object]:
        """Return the stable JSON form; keys are only ever added."""
        return {
            "item_id": self.item_id,
            "field": self.field,
            "version": self.version,
            "value": _value_json(self.value),
            **_source_json(self.source),
            "displaced": [
                {"value": _value_json(lost.value), **_source_json(lost.source)}
                for lost in self.displaced
            ],
        }


def _source_json(source: Source) -> dict[str, object]:
    return {"agent": source.agent, "message_id": source.message_id, "block": source.block}


def _value_json(value: object) -> object:
    """Return a value as JSON: a list of texts, or one of references or results as objects."""
    if not isinstance(value, tuple):
        return value
    return [each._asdict() if isinstance(each, Reference | Result) else each for each in value]


# Lazy and copy-on-write mappings
#
# A state contains the history of its whole thread, and a merge needs little of it. So the values
# of a stored state stay text until first access, and a merge keeps its changes in an overlay
# instead of a copy.

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")
# What decoding can raise if a stored text was modified together with its checksum
_DECODE_ERRORS = (AttributeError, LookupError, RecursionError, TypeError, ValueError)


def decode_checked(read: Callable[[T], V], text: T) -> V:
    """Decode stored text. Raise ValueError, and nothing else, if it is damaged."""
    try:
        return read(text)
    except _DECODE_ERRORS as fault:
        message = f"The stored data cannot be read: {fault!r}"
        raise ValueError(message) from fault


class LazyMapping(Mapping[K, V]):
    """A mapping whose values are stored as text and decoded on first access.

    `texts` contains every key, in order. A key whose text is None has its value already. Values
    must not be modified, because their text is reused when the state is encoded again.
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
        """Return the value. Raise ValueError if its text is damaged."""
        if key not in self._values:
            self._values[key] = decode_checked(self._read, self.texts[key] or "")
        return self._values[key]

    def __contains__(self, key: object) -> bool:
        """Return whether the key exists, without decoding its value."""
        return key in self.texts

    def __iter__(self) -> Iterator[K]:
        return iter(self.texts)

    def __len__(self) -> int:
        return len(self.texts)

    def __repr__(self) -> str:
        """Return the representation of an equal frozen mapping. This decodes all values."""
        return repr(MappingProxyType(dict(self)))

    def with_changes(self, changes: Mapping[K, V]) -> LazyMapping[K, V]:
        """Return a copy with other values under some keys."""
        texts = {**self.texts, **dict.fromkeys(changes)}
        return LazyMapping(texts, self._read, {**self._values, **changes})


class Overlay(Generic[K, V]):
    """Changes on top of a mapping that stays unmodified (copy on write)."""

    def __init__(self, below: Mapping[K, V]) -> None:
        self._below = below
        self._own: dict[K, V] = {}

    def get(self, key: K, default: V) -> V:
        return self._own[key] if key in self._own else self._below.get(key, default)

    def __setitem__(self, key: K, value: V) -> None:
        self._own[key] = value

    def own(self, key: K, copied: Callable[[V], V], default: V) -> V:
        """Return a value that may be modified: on first access, a copy of the one below."""
        if key not in self._own:
            self._own[key] = copied(self._below.get(key, default))
        return self._own[key]

    def flatten(self) -> Mapping[K, V]:
        """Return both layers as one mapping, which must not be modified any more."""
        return updated_mapping(self._below, self._own) if self._own else self._below


def updated_mapping(before: Mapping[K, V], changes: Mapping[K, V]) -> Mapping[K, V]:
    """Return a mapping with some values changed. Values that are stored as text stay text."""
    if isinstance(before, LazyMapping):
        return before.with_changes(changes)
    return MappingProxyType({**before, **changes})


# Author histories, for detecting duplicates (R8) and for resolving IDs (R11)


# The key for finding equal blocks: a page, and a digest of operation, section, target, payload and
# base. An ADD has no target, and its base is ignored. A page groups blocks with nearby bases. One
# merge uses few bases, so it loads few pages.
BlockKey = tuple[int, str]
_BASES_PER_PAGE = 16
ADDS_PAGE, ADDS_AS_WRITTEN_PAGE = -1, -2  # ADDs with final IDs, with IDs as written
_DIGEST_LENGTH = 32


class AppliedBlock(NamedTuple):
    """An applied block, its item, and its position among the blocks of its author."""

    message_id: int
    block: int
    item_id: str
    order: int


class EditedField(NamedTuple):
    """The content of one field in an EDIT: some keys of a map, or a whole map that is replaced.

    Any other field has a single value, under the key `WHOLE_FIELD`.
    """

    name: str
    values: Mapping[str, object]
    is_replaced: bool = False

    @property
    def key(self) -> str:
        """Return a text that is equal for equal edits."""
        return _canonical_json((self.name, dict(self.values), self.is_replaced))

    def disagrees(self, other: EditedField) -> bool:
        """Return whether the two edits give the same field different values."""
        if self.name != other.name:
            return False
        mine, theirs = self.values, other.values
        if any(key in theirs and theirs[key] != value for key, value in mine.items()):
            return True
        is_more, is_less = not mine.keys() <= theirs.keys(), not theirs.keys() <= mine.keys()
        return (other.is_replaced and is_more) or (self.is_replaced and is_less)


WHOLE_FIELD = ""  # the key of a field that is not a map


BlockPage = dict[str, tuple[AppliedBlock, ...]]  # by digest
# The latest value that an author gave, and the block that first gave it, by field and key of a map
StatedValues = dict[str, dict[str, tuple[object, AppliedBlock]]]


class AuthorHistory(NamedTuple):
    """The applied blocks of one author, as stored in a state. It is immutable.

    `applied` is the number of applied blocks, and `blocks` has them by page and digest. `adds` are
    the author's new items by base and prefix, in the order in which they were added. `said` has the
    latest values that the author gave each edited item.
    """

    applied: int = 0
    blocks: Mapping[int, BlockPage] = MappingProxyType({})
    adds: Mapping[tuple[int, str], list[str]] = MappingProxyType({})
    said: Mapping[str, StatedValues] = MappingProxyType({})


class AuthorHistoryBuilder:
    """The history of one author during a merge."""

    def __init__(self, before: AuthorHistory | None = None) -> None:
        history = before or AuthorHistory()
        self.count = history.applied
        self._blocks = Overlay(history.blocks)
        self._adds = Overlay(history.adds)
        self._stated = Overlay(history.said)

    def build(self) -> AuthorHistory:
        return AuthorHistory(
            self.count, self._blocks.flatten(), self._adds.flatten(), self._stated.flatten()
        )

    def equal_blocks(self, key: BlockKey, *, as_written: bool = False) -> tuple[AppliedBlock, ...]:
        """Return the author's applied blocks that are equal to this one."""
        page, digest = key
        return self._blocks.get(ADDS_AS_WRITTEN_PAGE if as_written else page, {}).get(digest, ())

    def items_added_on(self, base: int, prefix: str) -> Sequence[str]:
        """Return the author's items on that base, in the order in which they were added."""
        return self._adds.get((base, prefix), [])

    def has_changed_since(self, first: AppliedBlock, edited: Iterable[EditedField]) -> bool:
        """Return whether the author gave one of these fields another value after that block."""
        of_item = self._stated.get(first.item_id, {})
        for name, values, is_replaced_whole in edited:
            stated = of_item.get(name, {})
            keys = stated if is_replaced_whole else values
            found = [stated.get(key) or stated.get(WHOLE_FIELD) for key in keys]
            if any(each is not None and each[1].order > first.order for each in found):
                return True
        return False

    def next_applied(self, message_id: int, block: int, item_id: str) -> AppliedBlock:
        """Count one more applied block and return its record."""
        self.count += 1
        return AppliedBlock(message_id, block, item_id, self.count)

    def remember(self, key: BlockKey, applied: AppliedBlock) -> None:
        """Store an applied block. Equal ADDs can occur several times and are stored in order."""
        page, digest = key
        known = self._blocks.own(page, dict, {})
        known[digest] = (*known.get(digest, ()), applied) if page < 0 else (applied,)

    def remember_as_written(self, key: BlockKey, applied: AppliedBlock) -> None:
        """Store an ADD that refers to other items of its message, keyed by its IDs as written."""
        self.remember((ADDS_AS_WRITTEN_PAGE, key[1]), applied)

    def remember_add(self, base: int, prefix: str, applied: AppliedBlock) -> None:
        self._adds.own((base, prefix), list, []).append(applied.item_id)

    def remember_edit(self, applied: AppliedBlock, edited: Iterable[EditedField]) -> None:
        """Store the values of an applied EDIT. Repeating a value is not a change."""
        of_item = self._stated.own(applied.item_id, _copy_stated, {})
        for name, values, is_replaced_whole in edited:
            stated = of_item.setdefault(name, {})
            now = values
            if is_replaced_whole:
                gone = {key: None for key in (WHOLE_FIELD, *stated) if key not in values}
                now = {**values, **gone}
            for key, value in now.items():
                if key not in stated or stated[key][0] != value:
                    stated[key] = value, applied


def _copy_stated(stated: StatedValues) -> StatedValues:
    return {field: dict(keys) for field, keys in stated.items()}


_canonical_json = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def block_key(
    delta: Delta, item_id: str | None, payload: Mapping[str, object], base: int
) -> BlockKey:
    """Return the key by which blocks of one author are compared, once their IDs are resolved."""
    is_add = delta.operation is ADD
    where = (None, None) if is_add else (item_id, base)
    content = _canonical_json((delta.operation, delta.section, *where, dict(payload)))
    digest = sha256(content.encode()).hexdigest()[:_DIGEST_LENGTH]
    return ADDS_PAGE if is_add else base // _BASES_PER_PAGE, digest


def edited_fields(delta: Delta, payload: Mapping[str, object]) -> list[EditedField]:
    fields = SECTIONS[delta.section].fields
    return [
        EditedField(name, value, is_replaced(name, payload))
        if isinstance(value, dict)
        else EditedField(name, {WHOLE_FIELD: _comparable(value)})
        for name, value in payload.items()
        if name in fields
    ]


def _comparable(value: object) -> object:
    """Return a value for comparison: lists are unordered, and all empty values are equal."""
    if isinstance(value, list):
        return tuple(sorted({_canonical_json(each) for each in value}))
    return value if has_content(value) else None


def is_replaced(name: str, payload: Mapping[str, object]) -> bool:
    """Return whether an EDIT replaces a list or map instead of adding to it (R13)."""
    return payload.get("replace") is True or payload.get(f"{name}_replace") is True


# Versions and the state

Counts = Mapping[str, int]  # the highest assigned number by section prefix
NO_COUNTS: Counts = MappingProxyType({section.prefix: 0 for section in ITEM_SECTIONS})


class Version(NamedTuple):
    """A published version: its numbering, and the position of its COMPILED message."""

    number: int
    at: datetime | None
    message_id: int
    counts: Counts


# v0 is the empty artifact before the first version. It precedes every message.
EMPTY_VERSION = Version(0, None, 0, NO_COUNTS)


# A position in the thread's order (R9): the store's time of a message, and its ID
ThreadPosition = tuple[datetime, int]


def latest_version_before(position: ThreadPosition, versions: tuple[Version, ...]) -> Version:
    """Return the latest version that was published before a position in the thread."""
    return next(
        version
        for version in reversed(versions)
        if version.at is None or (version.at, version.message_id) < position
    )


# The block of a change: version, message and number. And what IDs in its texts mean, where that is
# not the item of that number; None if it is no item.
BlockPlace = tuple[int, int, int]
ProseReading = Mapping[str, str | None]


class State(NamedTuple):
    """The latest version of a thread with its history. `added` has the position of each ADD.

    `is_independent` states that the first round was independent (R33). `readings` are those of
    assumptions and critiques: their texts say which items depend on an assumption, or are kept
    (R28).
    """

    artifact: Artifact
    blame: Blame = NO_BLAME
    conflicts: tuple[Conflict, ...] = ()
    versions: tuple[Version, ...] = (EMPTY_VERSION,)
    counts: Counts = NO_COUNTS
    authors: Mapping[str, AuthorHistory] = MappingProxyType({})
    added: Mapping[str, ThreadPosition] = MappingProxyType({})
    has_question: bool = False
    updated: datetime | None = None
    is_independent: bool = False
    readings: Mapping[BlockPlace, ProseReading] = MappingProxyType({})


def empty_state(thread_id: str) -> State:
    """Return the state of a thread before its first version."""
    return State(Artifact(Metadata(session_id=thread_id, version=0)))


def adopted_state(thread_id: str, artifact: Artifact, at: datetime, message_id: int) -> State:
    """Return the state of a thread whose latest version was compiled by another program.

    No author has a history, and the numbering continues after the highest number. The IDs must be
    well formed and unique.
    """
    counts = {
        section.prefix: max(
            (_item_number(item) for item in artifact.sections[section.id]), default=0
        )
        for section in ITEM_SECTIONS
    }
    version = Version(artifact.metadata.version or 0, at, message_id, counts)
    return State(
        artifact._replace(metadata=artifact.metadata._replace(session_id=thread_id)),
        versions=(EMPTY_VERSION, version),
        counts=counts,
        has_question=bool(artifact.research_thread.text("statement")),
    )


def _item_number(item: Item) -> int:
    match = ITEM_ID.fullmatch(item.id)
    return int(match[2] or 0) if match else 0


# The ledger: the outcome of every delta block (R7)


class BlockOutcome(StrEnum):
    APPLIED = "applied"
    REFUSED = "refused"
    DUPLICATE = "duplicate"


# Bound once: looking a member up in its Enum takes longer than comparing with it.
APPLIED, REFUSED, DUPLICATE = BlockOutcome


class RewrittenId(NamedTuple):
    """An ID that was rewritten to the number that the item received (R11)."""

    field: str
    old: str
    new: str


class Entry(NamedTuple):
    """The ledger entry of one block.

    `operation`, `section` and `target_id` are as written, as far as they could be read; for a
    repaired block they are from the repaired form. The same holds for `name`, the name that an ADD
    gives its item. `assigned_id` is the ID that an ADD received; for a duplicate it is the ID of
    the original. `item_id` is the item that the block was applied to, for any operation. `meant_id`
    is the item that the target of a refused block refers to, if known. `refers_to` are the items of
    this thread that the references of an ADD name.
    """

    message_id: int
    block: int
    line: int
    agent: str
    operation: str | None
    section: str | None
    target_id: str | None
    state: BlockOutcome
    assigned_id: str | None = None
    item_id: str | None = None
    rewrites: tuple[RewrittenId, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    name: str | None = None
    meant_id: str | None = None
    refers_to: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return the stable JSON form; keys are only ever added."""
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


def count_outcomes(entries: tuple[Entry, ...]) -> dict[str, int]:
    states = [entry.state for entry in entries]
    return {outcome.value: states.count(outcome) for outcome in BlockOutcome}


def is_listed(entry: Entry) -> bool:
    """Return whether a displayed ledger lists the block.

    If a message has too many blocks, all of them are refused for that reason. So the first ones are
    enough.
    """
    return entry.block <= MOST_BLOCKS


def ledger_json(entries: tuple[Entry, ...]) -> dict[str, object]:
    """Return the ledger as JSON, with a count of the entries that are not listed."""
    shown = [entry.to_json() for entry in entries if is_listed(entry)]
    return {
        **count_outcomes(entries),
        "entries": shown,
        "entries_left_out": len(entries) - len(shown),
    }
