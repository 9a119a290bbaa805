"""What a block says that it is to do, as its author wrote it."""

from collections.abc import Mapping
from typing import NamedTuple

from brenner.delta.blocks import read_blocks
from brenner.delta.model import DeltaBlock
from brenner.delta.schema import Operation
from brenner.markdown.blocks import blocks


class Written(NamedTuple):
    """Operation, section and target; and what an ADD calls its item."""

    operation: str | None
    section: str | None
    target_id: str | None
    name: str | None


def written(block: DeltaBlock) -> Written:
    """What a block says; of one that cannot be applied as it is, what its repaired form says."""
    delta = block.delta
    if delta is not None:
        name = _name(delta.payload) if delta.operation is Operation.ADD else None
        return Written(delta.operation.value, delta.section, delta.target_id, name)
    for found in block.diagnostics:
        for repaired in read_blocks(blocks(found.repaired)) if found.repaired else ():
            return written(repaired)
    value = block.value if isinstance(block.value, dict) else {}
    payload = value.get("payload")
    is_add = block.written("operation") == Operation.ADD
    name = _name(payload) if is_add and isinstance(payload, dict) else None
    return Written(
        block.written("operation"), block.written("section"), block.written("target_id"), name
    )


def _name(payload: Mapping[str, object]) -> str | None:
    """The name of an item; a prediction has a condition instead."""
    name = payload.get("name") or payload.get("condition")
    return name if isinstance(name, str) else None
