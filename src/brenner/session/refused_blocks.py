"""Refused blocks that nobody has taken care of yet (rulings, Small decisions).

A later message of the same sender corrects one, if a block of it with the same operation and the
same target is applied, or with the same section and name where it adds an item. Two blocks of one
message do not correct each other: their author wrote both at once. The operator can dismiss one.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from brenner.artifact.state import Entry, Outcome
from brenner.markdown.blocks import blocks
from brenner.protocol.delta.parse import read_blocks
from brenner.protocol.delta.schema import Operation
from brenner.session.model import Refusal

# An author, an operation, and what it is about: an item or a target as written, or a section and
# the name of what is added to it
Key = tuple[str, ...]
_ITEM, _AS_WRITTEN = "item", "as written"
BlockPlace = tuple[int, int]  # message and block


def after_ledger(
    before: Sequence[Refusal], ledger: Iterable[Entry], version: int | None
) -> tuple[Refusal, ...]:
    """What is open after the blocks of a ledger; `version` is the one that has read them."""
    entries = [entry for entry in ledger if entry.state is not Outcome.DUPLICATE]
    if not before and not any(entry.state is Outcome.REFUSED for entry in entries):
        return ()
    taken = _Taken(before)
    taken.take(entries, version)
    return tuple(taken.still_open.values())


def corrections(ledgers: Iterable[Iterable[Entry]]) -> dict[BlockPlace, BlockPlace]:
    """Which block has corrected which refused one, over all ledgers of a thread, in their order."""
    taken = _Taken(())
    for ledger in ledgers:
        taken.take([entry for entry in ledger if entry.state is not Outcome.DUPLICATE], None)
    return taken.corrected


class _Taken:
    """Refused blocks while ledgers are gone through: which are open, what has corrected which."""

    def __init__(self, before: Sequence[Refusal]) -> None:
        self.still_open = {(each.message_id, each.block): each for each in before}
        self.corrected: dict[BlockPlace, BlockPlace] = {}
        self._places: dict[Key, list[BlockPlace]] = {}
        for each in before:
            _note(each, self._places)

    def take(self, entries: Iterable[Entry], version: int | None) -> None:
        """Go through the blocks of a ledger, duplicates left out."""
        for _, group in groupby(entries, key=lambda entry: entry.message_id):
            message = list(group)
            for entry in message:
                if entry.state is Outcome.APPLIED and self._places:
                    self._correct(entry)
            for entry in message:
                if entry.state is Outcome.REFUSED:
                    refusal = refusal_of(entry, version)
                    self.still_open[entry.message_id, entry.block] = refusal
                    _note(refusal, self._places)

    def _correct(self, entry: Entry) -> None:
        for key in _corrected_by(entry):
            for place in self._places.pop(key, ()):
                if self.still_open.pop(place, None):
                    self.corrected[place] = (entry.message_id, entry.block)


def refusal_of(entry: Entry, version: int | None) -> Refusal:
    """A refused block; its target is called as it is numbered by now, where that is known."""
    return Refusal(
        message_id=entry.message_id,
        block=entry.block,
        line=entry.line,
        agent=entry.agent,
        operation=entry.operation,
        section=entry.section,
        target_id=entry.meant_id or entry.target_id,
        is_item=entry.meant_id is not None,
        name=entry.name,
        version=version,
        diagnostics=entry.diagnostics,
    )


def _note(refusal: Refusal, places: dict[Key, list[BlockPlace]]) -> None:
    for key in dict.fromkeys(_keys(refusal)):
        places.setdefault(key, []).append((refusal.message_id, refusal.block))


def _keys(refusal: Refusal) -> Iterator[Key]:
    """What a block must be about to correct it: of a target with two readings, either of them.

    Where nobody can tell which item was meant, it is compared as it was written.
    """
    agent, operation = refusal.agent, refusal.operation
    if operation == Operation.ADD:
        yield from _add_key(agent, refusal.section, refusal.name)
        return
    how = _ITEM if refusal.is_item else _AS_WRITTEN
    targets = [(how, refusal.target_id)]
    for found in refusal.diagnostics:
        targets += [
            (_ITEM, block.delta.target_id)
            for text in found.readings
            for block in read_blocks(blocks(text))
            if block.delta
        ]
    yield from ((agent, operation, how, each) for how, each in targets if operation and each)


def _corrected_by(entry: Entry) -> Iterator[Key]:
    """What an applied block is about. What was rewritten stands for an item that its author counts
    otherwise: the same ID in another message of hers may be another item.
    """
    if entry.operation == Operation.ADD:
        yield from _add_key(entry.agent, entry.section, entry.name)
        return
    if entry.operation and entry.item_id:
        yield entry.agent, entry.operation, _ITEM, entry.item_id
        if entry.target_id == entry.item_id:
            yield entry.agent, entry.operation, _AS_WRITTEN, entry.item_id


def _add_key(agent: str, section: str | None, name: str | None) -> Iterator[Key]:
    """How a name is spaced, and in which case, does not matter."""
    if section and name:
        yield agent, Operation.ADD.value, section, " ".join(name.split()).casefold()
