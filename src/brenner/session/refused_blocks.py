"""Track refused blocks that are still open (rulings, Small decisions).

A later message of the same sender corrects a refused block if it contains an applied block with the
same operation and target. For an ADD, section and name must be the same. An EDIT of a killed item
can never be applied: an ADD that refers to the killed item corrects it. Blocks of one message do
not correct each other, because their author wrote them together. The operator can dismiss a block.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from brenner.artifact.state import BlockOutcome, Entry
from brenner.diagnostics.codes.merging import TARGET_KILLED
from brenner.markdown.blocks import parse_blocks
from brenner.protocol.delta.parse import read_blocks
from brenner.protocol.delta.schema import Operation
from brenner.session.model import RefusedBlock

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# Author and operation, then an item, a target as written, or section and name of an added item
CorrectionKey = tuple[str, ...]
_ITEM, _AS_WRITTEN, _REFERS_TO = "item", "as written", "refers to"
BlockPosition = tuple[int, int]  # message and block


def update_refused_blocks(
    before: Sequence[RefusedBlock], ledger: Sequence[Entry], version: int | None
) -> tuple[RefusedBlock, ...]:
    """Return the open refused blocks after a ledger; `version` is the version that has read it."""
    if not before and not any(entry.state is BlockOutcome.REFUSED for entry in ledger):
        return ()
    open_blocks, _ = _track(before, ledger, version)
    return tuple(open_blocks.values())


def corrections(ledgers: Iterable[Iterable[Entry]]) -> dict[BlockPosition, BlockPosition]:
    """Map each corrected refused block to the block that corrects it, over all ledgers in order."""
    return _track((), (entry for ledger in ledgers for entry in ledger), None)[1]


def _track(
    before: Sequence[RefusedBlock], entries: Iterable[Entry], version: int | None
) -> tuple[dict[BlockPosition, RefusedBlock], dict[BlockPosition, BlockPosition]]:
    """Return the refused blocks that are open after these entries, and those corrected by them."""
    open_blocks = {(each.message_id, each.block): each for each in before}
    corrected: dict[BlockPosition, BlockPosition] = {}
    positions: dict[CorrectionKey, list[BlockPosition]] = {}
    for each in before:
        _index(each, positions)
    read = (entry for entry in entries if entry.state is not BlockOutcome.DUPLICATE)
    for _, group in groupby(read, key=lambda entry: entry.message_id):
        message = list(group)
        applied = [entry for entry in message if entry.state is BlockOutcome.APPLIED]
        for entry in applied if positions else ():
            for key in _correction_keys(entry):
                for position in positions.pop(key, ()):
                    if open_blocks.pop(position, None):
                        corrected[position] = (entry.message_id, entry.block)
        for entry in message:
            if entry.state is BlockOutcome.REFUSED:
                refused = refused_block_of(entry, version)
                open_blocks[entry.message_id, entry.block] = refused
                _index(refused, positions)
    return open_blocks, corrected


def refused_block_of(entry: Entry, version: int | None) -> RefusedBlock:
    """Return a refused block; its target has its current number if that is known."""
    return RefusedBlock(
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


def _index(refused: RefusedBlock, positions: dict[CorrectionKey, list[BlockPosition]]) -> None:
    for key in dict.fromkeys(_refused_block_keys(refused)):
        positions.setdefault(key, []).append((refused.message_id, refused.block))


def _refused_block_keys(refused: RefusedBlock) -> Iterator[CorrectionKey]:
    """Yield the keys of blocks that would correct a refused one: several for an ambiguous
    target.

    If the intended item is unknown, the target is compared as written.
    """
    agent, operation = refused.agent, refused.operation
    if operation == Operation.ADD:
        yield from _add_key(agent, refused.section, refused.name)
        return
    how = _ITEM if refused.is_item else _AS_WRITTEN
    targets = [(how, refused.target_id)]
    for found in refused.diagnostics:
        targets += [
            (_ITEM, block.delta.target_id)
            for text in found.readings
            for block in read_blocks(parse_blocks(text))
            if block.delta
        ]
        if found.code is TARGET_KILLED and found.field == "target_id" and refused.target_id:
            yield agent, Operation.ADD.value, _REFERS_TO, refused.target_id
    yield from ((agent, operation, how, each) for how, each in targets if operation and each)


def _correction_keys(entry: Entry) -> Iterator[CorrectionKey]:
    """Yield the keys of an applied block.

    A rewritten target has no key as written: the same ID in another message of the same author may
    be another item.
    """
    if entry.operation == Operation.ADD:
        yield from _add_key(entry.agent, entry.section, entry.name)
        for item_id in entry.refers_to:
            yield entry.agent, Operation.ADD.value, _REFERS_TO, item_id
        return
    if entry.operation and entry.item_id:
        yield entry.agent, entry.operation, _ITEM, entry.item_id
        if entry.target_id == entry.item_id:
            yield entry.agent, entry.operation, _AS_WRITTEN, entry.item_id


def _add_key(agent: str, section: str | None, name: str | None) -> Iterator[CorrectionKey]:
    """Yield the key of an ADD; spacing and case of the name do not matter."""
    if section and name:
        yield agent, Operation.ADD.value, section, " ".join(name.split()).casefold()
