"""What a block is to do: its operation, section and target, and what an ADD calls its item."""

from collections.abc import Mapping

from brenner.markdown.blocks import blocks
from brenner.protocol.delta.parse import read_blocks
from brenner.protocol.delta.schema import Delta, DeltaBlock, Operation

Written = tuple[str | None, str | None, str | None, str | None]


def written(delta: Delta) -> Written:
    """What a sound block says."""
    operation = delta.operation
    name = _name(delta.payload) if operation is Operation.ADD else None
    return operation.value, delta.section, delta.target_id, name


def meant_by(block: DeltaBlock) -> Written:
    """What a block says that is not sound: its repaired form, or else as far as it can be read."""
    for found in block.diagnostics:
        for repaired in read_blocks(blocks(found.repaired)) if found.repaired else ():
            return written(repaired.delta) if repaired.delta else _as_written(repaired)
    return _as_written(block)


def _as_written(block: DeltaBlock) -> Written:
    operation = block.written("operation")
    payload = block.value.get("payload") if isinstance(block.value, dict) else None
    is_add = operation == Operation.ADD
    name = _name(payload) if is_add and isinstance(payload, dict) else None
    return operation, block.written("section"), block.written("target_id"), name


def _name(payload: Mapping[str, object]) -> str | None:
    """The name of an item; a prediction has a condition instead."""
    name = payload.get("name") or payload.get("condition")
    return name if isinstance(name, str) else None
