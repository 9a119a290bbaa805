"""Delta blocks: found among a body's blocks, decoded and validated, each with its own verdict.

One bad block never stops a good one. A sound block takes the short way through here; one with a
fault goes to `explain`, which scans its text again to name every fault, its line and its repair.
"""

from collections.abc import Iterable

from brenner.delta.explain import explain_json, explain_problems
from brenner.delta.json_strict import NotJSON, decode
from brenner.delta.model import DeltaBlock
from brenner.delta.names import resolve_names
from brenner.delta.validate import validate
from brenner.diagnostics.codes import delta_format as codes
from brenner.diagnostics.model import worst_first
from brenner.limits import MOST_BLOCK_BYTES, MOST_BLOCKS
from brenner.markdown.blocks import Block, Kind
from brenner.markdown.edits import apply_edits

INFO_WORD = "delta"
_MOST_PASSES = 4


def is_delta_fence(block: Block) -> bool:
    """R4: a fenced code block, not quoted, whose info string's first word is exactly `delta`."""
    return block.kind is Kind.FENCE and not block.quoted and has_delta_info(block)


def has_delta_info(fence: Block) -> bool:
    """Whether the first word of the fence's info string is exactly `delta`."""
    info = fence.info
    return info == INFO_WORD or info.split(None, 1)[:1] == [INFO_WORD]


def read_blocks(blocks: Iterable[Block], thread_id: str | None = None) -> list[DeltaBlock]:
    """All delta blocks among the blocks of a body, in order, numbered from 1."""
    fences = list(filter(is_delta_fence, blocks))
    if len(fences) > MOST_BLOCKS:
        return _too_many(fences)
    read = [_read(number, fence) for number, fence in enumerate(fences, 1)]
    repaired = [_with_repair(b) if b.edits and b.delta is None else b for b in read]
    return resolve_names(repaired, thread_id)


def _read(number: int, fence: Block) -> DeltaBlock:
    text = fence.text
    if _is_too_large(text):
        found = codes.BLOCK_TOO_LARGE.at(fence.line, most=MOST_BLOCK_BYTES).in_block(number)
        return DeltaBlock(number, fence, diagnostics=(found,))
    try:
        value = decode(text)
    except NotJSON:
        return explain_json(DeltaBlock(number, fence))
    delta, problems = validate(value)
    block = DeltaBlock(number, fence, value, delta)
    return explain_problems(block, problems) if problems or not fence.closed else block


def _with_repair(block: DeltaBlock) -> DeltaBlock:
    """A refused block whose corrections are certain carries, in its first error, the repaired one.

    It is for the author to send; a refused block is never repaired and applied (R5).
    """
    fence = block.fence._replace(closed=True)
    edits = [edit for edit in block.edits if fence.marker not in edit.replacement]
    mended = _read(block.number, fence._replace(text=apply_edits(fence.text, edits)))
    for _ in range(_MOST_PASSES):
        if mended.delta is not None or not mended.edits:
            break
        text = apply_edits(mended.fence.text, mended.edits)
        mended = _read(block.number, fence._replace(text=text))
    if mended.delta is None:
        return block
    repaired = f"{fence.marker}{INFO_WORD}\n{mended.fence.text}{fence.marker}\n"
    first, *others = sorted(block.diagnostics, key=worst_first)
    return block._replace(diagnostics=(first._replace(repaired=repaired), *others))


def _is_too_large(text: str) -> bool:
    """Compared in bytes; most texts are short enough in characters to need no counting."""
    return (
        len(text) * 4 > MOST_BLOCK_BYTES
        and len(text.encode("utf-8", "surrogatepass")) > MOST_BLOCK_BYTES
    )


def _too_many(fences: list[Block]) -> list[DeltaBlock]:
    """None is read; the first one carries the reason for all."""
    count, most = len(fences), MOST_BLOCKS
    reason = codes.TOO_MANY_BLOCKS.at(fences[0].line, count=count, most=most)
    first = DeltaBlock(1, fences[0], diagnostics=(reason,))
    return [first, *(DeltaBlock(number, fence) for number, fence in enumerate(fences[1:], 2))]
