"""Track delta blocks in messages that are no DELTA: their contribution is missing (R4).

A misplaced block is open until its sender sends it in a later DELTA, where it is applied or repeats
an applied block, or until the operator dismisses it. JSON that looks like a delta, in another fence
or in the text, is one too. Such blocks are numbered after the delta blocks of the message. The
blocks are compared as written: operation and target, or section and name for an ADD. Quoted blocks
and examples inside other fences are no delta blocks. A KICKOFF shows the format to others and a
COMPILED message shows results, so blocks in them do not count.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from brenner.artifact.merge.engine import block_header, delta_header
from brenner.artifact.state import BlockOutcome
from brenner.diagnostics.codes.messages import DELTA_NOT_CONTRIBUTED
from brenner.limits import MOST_BLOCKS
from brenner.markdown.blocks import parse_blocks
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.parse import (
    attach_repairs,
    is_delta_fence,
    may_contain_strays,
    read_blocks,
)
from brenner.protocol.delta.schema import Operation
from brenner.protocol.message_types import COMPILED, DELTA, KICKOFF
from brenner.protocol.messages import thread_order_key
from brenner.session.model import RefusedBlock

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from brenner.artifact.state import Entry
    from brenner.diagnostics.model import Diagnostic
    from brenner.protocol.delta.schema import DeltaBlock
    from brenner.protocol.messages import StoredMessage

NO_TYPE = "its subject has no valid prefix"
_OTHER_TYPES = (DELTA.name, KICKOFF.name, COMPILED.name)
OrderKey = tuple["datetime", int]


class MisplacedBlocks(NamedTuple):
    """The open misplaced blocks of one message."""

    stored: StoredMessage
    blocks: tuple[RefusedBlock, ...]


def misplaced_blocks_in(stored: StoredMessage) -> tuple[RefusedBlock, ...]:
    """Return the delta blocks in a message that cannot contribute, with what is wrong in them."""
    name, body = stored.type, stored.message.body
    if name in _OTHER_TYPES or not ("delta" in body or "operation" in body):
        return ()
    found = parse_blocks(body)
    outside = DELTA_NOT_CONTRIBUTED.at(type=name or NO_TYPE)
    fences = [(each, outside._replace(line=each.line)) for each in found if is_delta_fence(each)]
    if may_contain_strays(body, found):
        from brenner.protocol.delta.stray import meant_strays, not_contributed  # rarely needed

        for stray in meant_strays(body, found):
            if stray.fence:
                why = not_contributed(name or NO_TYPE, stray.diagnostic.line)
                fences.append((stray.fence, why))
    read = read_blocks([fence for fence, _ in fences], stored.message.thread_id)
    placed = zip(attach_repairs(read), fences, strict=False)  # too many blocks are one
    return tuple(
        _misplaced_block(stored, block, why) for block, (_, why) in islice(placed, MOST_BLOCKS)
    )


def _misplaced_block(stored: StoredMessage, block: DeltaBlock, outside: Diagnostic) -> RefusedBlock:
    header = delta_header(block.delta) if block.delta else block_header(block)
    operation, section, target_id, name = header
    found = (outside.in_block(block.number), *block.diagnostics)
    return RefusedBlock(
        message_id=stored.id,
        block=block.number,
        line=outside.line or block.line,
        agent=stored.message.sender,
        operation=operation,
        section=section,
        target_id=target_id,
        is_item=False,
        name=name,
        version=None,
        diagnostics=tuple(each._replace(message_id=stored.id) for each in found),
    )


def collect_misplaced(
    before: Sequence[MisplacedBlocks], new_messages: Iterable[StoredMessage]
) -> tuple[MisplacedBlocks, ...]:
    """Return the misplaced blocks with those of new messages. A copy of a message adds nothing."""
    known = {each.stored.content_hash for each in before}
    found = list(before)
    for stored in new_messages:
        blocks = misplaced_blocks_in(stored)
        if blocks and stored.content_hash not in known:
            known.add(stored.content_hash)
            found.append(MisplacedBlocks(stored, blocks))
    return tuple(found)


def without_sent(
    misplaced: Sequence[MisplacedBlocks], ledger: Iterable[Entry], messages: Iterable[StoredMessage]
) -> tuple[MisplacedBlocks, ...]:
    """Return the blocks that no later message of their sender contributes.

    `ledger` has the outcomes of the blocks in `messages`.
    """
    if not misplaced:
        return ()
    order = {each.id: thread_order_key(each) for each in messages}
    sent: dict[tuple[str | None, ...], OrderKey] = {}
    for entry in ledger:
        key = _key(entry)
        if key and entry.state is not BlockOutcome.REFUSED and entry.message_id in order:
            sent[key] = max(order[entry.message_id], sent.get(key, order[entry.message_id]))
    left = (
        MisplacedBlocks(stored, tuple(each for each in blocks if not _is_sent(each, stored, sent)))
        for stored, blocks in misplaced
    )
    return tuple(each for each in left if each.blocks)


def _is_sent(
    block: RefusedBlock, stored: StoredMessage, sent: Mapping[tuple[str | None, ...], OrderKey]
) -> bool:
    key = _key(block)
    return key in sent and sent[key] > thread_order_key(stored) if key else False


def _key(block: Entry | RefusedBlock) -> tuple[str | None, ...] | None:
    """Return what two blocks of the same contribution have in common, None if it is unreadable."""
    if block.operation is None or block.section is None:
        return None
    if block.operation != Operation.ADD:
        return block.agent, block.operation, block.section, block.target_id
    if block.name is None:
        return None
    return block.agent, block.operation, block.section, " ".join(block.name.split()).casefold()
