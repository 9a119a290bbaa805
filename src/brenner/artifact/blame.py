"""Blame: for every field of every item, what set it and what that replaced."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

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
