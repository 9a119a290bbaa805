"""A block of the ledger in words: what it says, and what became of it. The same everywhere."""

from brenner.artifact.ledger import Entry, Outcome
from brenner.protocol.delta.schema import Operation


def block_words(entry: Entry) -> str:
    """The block in short, as it was written."""
    words = [entry.operation, entry.target_id, entry.section]
    return " ".join(word for word in words if word) or "not readable"


def duplicate_words(entry: Entry) -> str:
    """What a block that repeats another one stands for."""
    item = entry.item_id or entry.assigned_id
    return f"stands for {item}" if item else "changed nothing more"


def outcome_words(entry: Entry, *, is_read: bool = True) -> str:
    """What became of a block; of one that no version has read, what would."""
    if entry.state is Outcome.REFUSED:
        return "refused" if is_read else "would be refused"
    if entry.state is Outcome.DUPLICATE:
        return f"duplicate, {duplicate_words(entry)}"
    applied = "applied" if is_read else "would be applied"
    item = entry.assigned_id or entry.item_id
    if item is None:
        return applied
    return f"{applied} {'as' if entry.operation == Operation.ADD else 'to'} {item}"
