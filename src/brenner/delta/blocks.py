"""Delta blocks: found among a body's blocks, decoded and validated, each with its own verdict.

One bad block never stops a good one. A sound block takes the short way through here; one with a
fault goes to `explain`, which scans its text again to name every fault, its line and its repair.
"""

from collections.abc import Iterable

from brenner.delta.explain import explain_json, explain_problems, suspicious
from brenner.delta.json_strict import NotJSON, decode
from brenner.delta.model import DeltaBlock
from brenner.delta.names import resolve_names
from brenner.delta.validate import validate
from brenner.diagnostics.codes import delta_blocks as codes
from brenner.diagnostics.codes import json_text as json_codes
from brenner.diagnostics.model import worst_first
from brenner.limits import MOST_BLOCK_BYTES, MOST_BLOCKS
from brenner.markdown.blocks import Block, Kind
from brenner.markdown.edits import apply_edits

INFO_WORD = "delta"
_INFO_WORD_AND_MORE = ("delta ", "delta\t")
_MOST_PASSES = 4


def is_delta_fence(block: Block) -> bool:
    """R4: a fenced code block, not quoted, whose info string's first word is exactly `delta`."""
    return block.kind is Kind.FENCE and not block.quoted and has_delta_info(block)


def has_delta_info(fence: Block) -> bool:
    """Whether the first word of the fence's info string is exactly `delta`."""
    info = fence.info
    return info == INFO_WORD or info.startswith(_INFO_WORD_AND_MORE)


def read_blocks(blocks: Iterable[Block], thread_id: str | None = None) -> list[DeltaBlock]:
    """All delta blocks among the blocks of a body, in order, numbered from 1."""
    fences = list(filter(is_delta_fence, blocks))
    if len(fences) > MOST_BLOCKS:
        return _too_many(fences)
    read = [_read(number, fence) for number, fence in enumerate(fences, 1)]
    return resolve_names(read, thread_id)


def _read(number: int, fence: Block) -> DeltaBlock:
    text = fence.text
    if _is_too_large(text):
        found = codes.BLOCK_TOO_LARGE.at(fence.line, most=MOST_BLOCK_BYTES).in_block(number)
        return DeltaBlock(number, fence, diagnostics=(found,), is_mendable=False)
    if fence.info[len(INFO_WORD) :].lstrip().startswith("{"):
        reason = "it begins on the line of the fence, and not on the next one"
        found = json_codes.INVALID_JSON.at(fence.line, reason=reason).in_block(number)
        return DeltaBlock(number, fence, diagnostics=(found,), is_mendable=False)
    try:
        value = decode(text)
    except NotJSON:
        return explain_json(DeltaBlock(number, fence))
    delta, problems = validate(value)
    block = DeltaBlock(number, fence, value, delta)
    if problems or not fence.closed:
        block = explain_problems(block, problems)
    return suspicious(block) if "\\" in text else block


def with_repairs(blocks: list[DeltaBlock]) -> list[DeltaBlock]:
    """Refused blocks whose corrections are certain carry, in their first error, the repaired one.

    It is for the author to send; a refused block is never repaired and applied (R5).
    """
    return [
        _with_repair(block) if block.delta is None and block.is_mendable else block
        for block in blocks
    ]


def _with_repair(block: DeltaBlock) -> DeltaBlock:
    fence = block.fence._replace(closed=True)
    mended = block
    for _ in range(_MOST_PASSES):
        if (
            mended.delta is not None
            or not mended.edits
            or (mended.fence.closed and mended.structure)
        ):
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
    refused = [DeltaBlock(n, fence, is_mendable=False) for n, fence in enumerate(fences, 1)]
    return [refused[0]._replace(diagnostics=(reason,)), *refused[1:]]
