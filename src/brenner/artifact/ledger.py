"""The ledger: what became of every delta block, to the last one (R7)."""

from enum import StrEnum
from typing import NamedTuple

from brenner.diagnostics.model import Diagnostic
from brenner.limits import MOST_BLOCKS


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
