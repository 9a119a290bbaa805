"""Delta blocks: found among a body's blocks, decoded and validated, each with its own verdict.

One bad block never stops a good one. A sound block takes the short way through here; one with a
fault goes to `explain`, which scans its text again to name every fault, its line and its repair.
What only faults and local names need is imported when the first of them is met.
"""

from collections.abc import Iterable

from brenner.delta.json_strict import NotJSON, decode
from brenner.delta.model import DeltaBlock
from brenner.delta.problems import Problem
from brenner.delta.validate import validate
from brenner.diagnostics.codes import deltas as codes
from brenner.diagnostics.model import worst_first
from brenner.limits import MOST_BLOCK_BYTES, MOST_BLOCKS
from brenner.markdown.blocks import Block, Kind
from brenner.markdown.edits import apply_edits

INFO_WORD = "delta"
_INFO_WORD_AND_MORE = ("delta ", "delta\t")
_MOST_PASSES = 4
_SURELY_SMALL = MOST_BLOCK_BYTES // 4  # in characters, whatever they are


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
    if any(map(_may_use_names, fences)):
        from brenner.delta.names import resolve_names

        read = resolve_names(read, thread_id)
    return [_bounded(block) if block.diagnostics else block for block in read]


def _bounded(block: DeltaBlock) -> DeltaBlock:
    from brenner.diagnostics.truncate import of_block  # only faults need it

    return block._replace(diagnostics=of_block(block.diagnostics, block.number, block.line))


def _may_use_names(fence: Block) -> bool:
    """A cheap test for local names; behind a backslash anything may stand."""
    text = fence.text
    return "@" in text or "local_id" in text or "\\" in text


def _read(number: int, fence: Block) -> DeltaBlock:
    text = fence.text
    if len(text) > _SURELY_SMALL and len(text.encode("utf-8", "surrogatepass")) > MOST_BLOCK_BYTES:
        found = codes.BLOCK_TOO_LARGE.at(fence.line, most=MOST_BLOCK_BYTES).in_block(number)
        return DeltaBlock(number, fence, diagnostics=(found,), is_mendable=False)
    try:
        value = decode(text)
    except NotJSON:
        return _explain(DeltaBlock(number, fence), None)
    delta, problems = validate(value)
    block = DeltaBlock(number, fence, value, delta)
    is_plain = fence.closed and fence.info == INFO_WORD and "\\" not in text
    return block if is_plain and not problems else _explain(block, problems)


def _explain(block: DeltaBlock, problems: list[Problem] | None) -> DeltaBlock:
    """What is wrong with the block; without `problems`, with its JSON."""
    from brenner.delta.explain import (
        begins_on_fence_line,
        explain_json,
        explain_problems,
        suspicious,
    )

    if begins_on_fence_line(block.fence):
        reason = "it begins on the line of the fence, and not on the next one"
        found = codes.INVALID_JSON.at(block.line, reason=reason).in_block(block.number)
        return DeltaBlock(block.number, block.fence, diagnostics=(found,), is_mendable=False)
    if problems is None:
        return explain_json(block)
    if problems or not block.fence.closed:
        block = explain_problems(block, problems)
    return suspicious(block)


def could_hold_strays(body: str, found: list[Block]) -> bool:
    """Whether anything outside the delta blocks may look like one: a cheap test for `stray`."""
    contributions = list(filter(is_delta_fence, found))
    lowered = body.lower()
    for word in ("operation", "section"):
        inside = sum(block.text.lower().count(word) for block in contributions)
        if lowered.count(word) > inside:
            return True
    return any(
        "delta" in block.text or block.info.casefold().startswith(INFO_WORD)
        for block in found
        if block.quoted or (block.kind is not Kind.PARAGRAPH and not has_delta_info(block))
    )


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
        if mended.delta is not None or not mended.edits:
            break
        text = apply_edits(mended.fence.text, mended.edits)
        mended = _read(block.number, fence._replace(text=text))
    if mended.delta is None:
        return block
    repaired = f"{fence.marker}{INFO_WORD}\n{mended.fence.text}{fence.marker}\n"
    first, *others = sorted(block.diagnostics, key=worst_first)
    return block._replace(diagnostics=(first._replace(repaired=repaired), *others))


def _too_many(fences: list[Block]) -> list[DeltaBlock]:
    """None is read; the first one carries the reason for all."""
    count, most = len(fences), MOST_BLOCKS
    reason = codes.TOO_MANY_BLOCKS.at(fences[0].line, count=count, most=most)
    refused = [DeltaBlock(n, fence, is_mendable=False) for n, fence in enumerate(fences, 1)]
    return [refused[0]._replace(diagnostics=(reason,)), *refused[1:]]
