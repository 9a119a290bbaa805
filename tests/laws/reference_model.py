"""What the reference merge keeps: items as leaves, their history, conflicts, the ledger.

An item's fields are kept as leaves: `("claim",)`, `("predictions", "H2")`, `("anchors", "§42")`.
Texts, keys of maps and elements of lists are then all the same thing: a path with a value.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from brenner.protocol.delta.schema import Delta, DeltaBlock
from brenner.protocol.messages import StoredMessage
from laws.reference_ids import Views

Path = tuple[str, ...]


class Source(NamedTuple):
    """Which block set something, and the version that it went into."""

    message_id: int
    agent: str
    block: int
    version: int
    operation: str


class Change(NamedTuple):
    """One value that a leaf was given (None: taken away); `step` counts all blocks."""

    step: int
    value: object
    source: Source


@dataclass
class Item:
    """Leaves in the order in which they came, and who killed it, when and why."""

    section: str
    leaves: dict[Path, object] = field(default_factory=dict)
    killed: tuple[str, str, str] | None = None


@dataclass
class Conflict:
    """An open conflict: what stands, and what had to give way."""

    version: int
    value: object
    source: Source
    displaced: list[tuple[object, Source]]


class Applied(NamedTuple):
    """A block that was applied: as it was written, and with its IDs resolved.

    `place` is that of its message in the thread.
    """

    step: int
    place: tuple[datetime, int]
    sender: str
    base: int
    version: int
    written: Delta
    delta: Delta
    item: str


class Line(NamedTuple):
    """One line of the ledger. `codes` are the ids of all diagnostics."""

    message_id: int
    block: int
    agent: str
    operation: str | None
    section: str | None
    target_id: str | None
    state: str
    assigned: str | None
    item: str | None
    rewrites: tuple[tuple[str, str, str], ...]
    codes: frozenset[str]
    mentions: tuple[bool, bool] = (False, False)


class Compiled(NamedTuple):
    """A published version: its COMPILED message."""

    id: int
    at: datetime


@dataclass
class Model:
    """Everything that is known after some messages; `ledger` and `warnings` are the last round's.

    `counts[n]` says how many items of each prefix version n had.
    """

    thread_id: str
    items: dict[str, Item] = field(default_factory=lambda: {"RT": Item("research_thread")})
    history: dict[tuple[str, Path], list[Change]] = field(default_factory=dict)
    conflicts: dict[tuple[str, Path], Conflict] = field(default_factory=dict)
    applied: list[Applied] = field(default_factory=list)
    counts: list[dict[str, int]] = field(default_factory=list)
    step: int = 0
    asked: bool = False
    ledger: list[Line] = field(default_factory=list)
    warnings: set[str] = field(default_factory=set)
    contributors: set[str] = field(default_factory=set)
    created_at: str | None = None
    updated_at: str | None = None

    def count(self, prefix: str) -> int:
        """How many items there are of a prefix, killed ones included."""
        return sum(name[0] == prefix for name in self.items if name != "RT")

    def adds(self) -> list[Applied]:
        """The ADDs that were applied, in their order."""
        return [done for done in self.applied if done.delta.operation == "ADD"]

    def active(self, prefix: str) -> list[Item]:
        """The items of a prefix that are not killed."""
        items = [item for name, item in self.items.items() if name != "RT" and name[0] == prefix]
        return [item for item in items if not item.killed]

    def killed_hypotheses(self) -> list[str]:
        """The IDs of the hypotheses that were killed."""
        return [name for name, item in self.items.items() if name[0] == "H" and item.killed]

    def put(self, name: str, path: Path, value: object, source: Source) -> None:
        """Give a leaf its value, or take it away. The same value again is no change."""
        leaves = self.items[name].leaves
        # Reading: who says what stands there already has not set it.
        if leaves.get(path) == value:
            return
        leaves.pop(path, None)
        if value is not None:
            leaves[path] = value
        self.history.setdefault((name, path), []).append(Change(self.step, value, source))


class Letter(NamedTuple):
    """A DELTA message as it is being merged."""

    posted: StoredMessage
    read: list[DeltaBlock]
    base: int
    version: int
    views: Views

    @property
    def sender(self) -> str:
        """Who wrote it."""
        return self.posted.message.sender

    def source(self, block: DeltaBlock, delta: Delta) -> Source:
        """What blame says of one of its blocks."""
        return Source(
            self.posted.id, self.sender, block.number, self.version, delta.operation.value
        )
