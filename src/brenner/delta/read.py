"""From the body of a DELTA message to its deltas, in one call."""

from brenner.delta.blocks import read_blocks
from brenner.delta.model import DeltaBlock
from brenner.markdown.blocks import blocks


def read_deltas(body: str, thread_id: str | None = None) -> list[DeltaBlock]:
    """All delta blocks of a body, each with its delta or with the reasons why it is refused.

    With `thread_id` references to other threads are told from references to this one.
    """
    return read_blocks(blocks(body), thread_id)
