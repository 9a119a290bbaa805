"""What looks like a contribution and is none: nothing of it is dropped in silence (ruling R4).

JSON with an operation and a section outside of delta blocks, and delta fences inside other blocks
or quotations. Each gets an info with its line and, where it can be made, the edit of the body that
turns it into a delta block.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from brenner.delta.blocks import has_delta_info, is_delta_fence
from brenner.delta.json_scan import Node, Scan, scan
from brenner.diagnostics.codes import delta_format as codes
from brenner.diagnostics.model import Diagnostic
from brenner.markdown.blocks import Block, Kind, blocks
from brenner.markdown.edits import Edit
from brenner.markdown.line_index import LineIndex

_INDENT = "    "
# What its author may take for the start of a delta block, wherever it stands.
_FENCE_LINE = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*delta\b", re.MULTILINE)


class Stray(NamedTuple):
    """One of them, and the edits of the body that would make it count."""

    diagnostic: Diagnostic
    edits: tuple[Edit, ...] = ()


def find_strays(body: str, found: list[Block]) -> list[Stray]:
    """Everything in a DELTA's body that its author may believe to be a delta block."""
    contributions = list(filter(is_delta_fence, found))
    if not _could_be_any(body, found, contributions):
        return []
    index = LineIndex(body)
    strays: list[Stray] = []
    seen: list[Block] = []
    for block in found:
        unwrap = not contributions
        if block.quoted:
            strays += _quoted(block)
        elif block.kind is Kind.FENCE:
            strays += _in_fence(block, index, unwrap=unwrap) if not has_delta_info(block) else []
        elif block.kind is Kind.HTML:
            strays += _in_html(block)
        elif block.kind is Kind.CODE and _FENCE_LINE.search(block.text):
            strays += _in_code(block, index, unwrap=unwrap)
        else:
            continue
        seen.append(block)
    strays += _in_prose(seen, index)
    return sorted(strays, key=_by_line)


def _could_be_any(body: str, found: list[Block], contributions: list[Block]) -> bool:
    """A cheap test that most messages end with: nothing outside the delta blocks looks like one."""
    inside = sum(block.text.count("operation") for block in contributions)
    return body.count("operation") > inside or any(
        "delta" in block.text or has_delta_info(block)
        for block in found
        if block.quoted or (block.kind is not Kind.PARAGRAPH and not has_delta_info(block))
    )


def _by_line(stray: Stray) -> int:
    return stray.diagnostic.line or 0


def deltas_in(text: str) -> Iterator[tuple[Node, Scan]]:
    """Each JSON object with an operation and a section, however broken, in one pass.

    Where the scanner stops, the search goes on behind that place: everything before it was read.
    """
    position = text.find("{")
    comments_end = text.rfind("*/")
    while position >= 0:
        found = scan(text, position, trailing=False, comments_end=comments_end)
        reached = position
        for node in found.objects:
            is_delta = "operation" in node.members and "section" in node.members
            if is_delta and node.start >= reached:
                yield node, found
                reached = node.end
        position = text.find("{", max(found.end, position + 1))


def _quoted(block: Block) -> Iterator[Stray]:
    if block.kind is Kind.FENCE and has_delta_info(block):
        yield Stray(codes.QUOTED_DELTA.at(block.line))
        return
    offset = 1 if block.kind is Kind.FENCE else 0
    for node, _ in deltas_in(block.text):
        line = block.line + offset + block.text.count("\n", 0, node.start)
        yield Stray(codes.INLINE_DELTA.at(line, where="it is quoted"))


def _in_html(block: Block) -> Iterator[Stray]:
    """Markdown sees no fence inside an HTML block, but its author may."""
    fences = list(_FENCE_LINE.finditer(block.text))
    for fence in fences:
        line = block.line + block.text.count("\n", 0, fence.start(1))
        yield Stray(codes.SWALLOWED_DELTA.at(line, where="an HTML block"))
    if not fences:
        for node, _ in deltas_in(block.text):
            line = block.line + block.text.count("\n", 0, node.start)
            yield Stray(codes.INLINE_DELTA.at(line, where="it stands in an HTML block"))


def _in_code(block: Block, index: LineIndex, *, unwrap: bool) -> Iterator[Stray]:
    """A fence that is indented so far that it is code."""
    indents = [index.start(number) for number in range(block.line, block.end + 1)]
    is_plain = all(index.text.startswith(_INDENT, start) for start in indents)
    edits = tuple(Edit(start, start + len(_INDENT), "") for start in indents)
    for inner in filter(_is_fence_of_ours, blocks(block.text)):
        line = block.line + inner.line - 1
        found = codes.SWALLOWED_DELTA.at(line, where="an indented code block")
        yield Stray(found, edits if unwrap and is_plain else ())


def _is_fence_of_ours(block: Block) -> bool:
    return block.kind is Kind.FENCE and has_delta_info(block)


def _in_fence(fence: Block, index: LineIndex, *, unwrap: bool) -> Iterator[Stray]:
    inside = blocks(fence.text) if "delta" in fence.text else []
    swallowed = [inner for inner in inside if _is_fence_of_ours(inner)]
    label = f"a `{fence.info}` block" if fence.info else "another fenced block"
    for inner in swallowed:
        edits = _unwrap(fence, inner, index) if unwrap else ()
        found = codes.SWALLOWED_DELTA.at(fence.line + inner.line, where=label)
        yield Stray(found, edits)
    if swallowed:
        return
    if fence.info.casefold().startswith("delta") and not _has_a_delta(fence.text):
        yield Stray(codes.INLINE_DELTA.at(fence.line, where=f"it stands in {label}"))
    for node, result in deltas_in(fence.text):
        line = fence.line + 1 + fence.text.count("\n", 0, node.start)
        whole = not (fence.text[: node.start] + fence.text[node.end :]).strip()
        edits = _relabel(fence, index) if whole and result.root is node else ()
        yield Stray(codes.INLINE_DELTA.at(line, where=f"it stands in {label}"), edits)


def _has_a_delta(text: str) -> bool:
    return next(deltas_in(text), None) is not None


def _relabel(fence: Block, index: LineIndex) -> tuple[Edit, ...]:
    """Give the fence the info string `delta`."""
    line = index.line(fence.line)
    at = line.find(fence.marker)
    if at < 0:
        return ()
    start = index.start(fence.line)
    return (Edit(start + at + len(fence.marker), start + len(line), "delta"),)


def _unwrap(fence: Block, inner: Block, index: LineIndex) -> tuple[Edit, ...]:
    """Take the outer fence away.

    If its closing line ended the inner block in truth (equal fences, nested), that line stays, and
    the one that was meant to end the outer block goes.
    """
    edits = [_without_line(fence.line, index)]
    if inner.closed and fence.closed:
        edits.append(_without_line(fence.end, index))
    elif fence.closed and index.line(fence.end + 1).strip() == fence.marker:
        edits.append(_without_line(fence.end + 1, index))
    return tuple(edits)


def _without_line(number: int, index: LineIndex) -> Edit:
    return Edit(index.start(number), index.start(number + 1), "")


def _in_prose(seen: list[Block], index: LineIndex) -> Iterator[Stray]:
    """JSON in the lines that belong to no fence, HTML block or quotation."""
    for first, last in _prose(seen, len(index.text)):
        start, end = index.start(first), index.start(last + 1)
        text = index.text[start:end]
        if "operation" not in text:
            continue
        for node, result in deltas_in(text):
            line = index.number(start + node.start)
            edits = _wrap(text, node, result, start)
            yield Stray(codes.INLINE_DELTA.at(line, where="it stands in no delta block"), edits)


def _prose(seen: list[Block], last_line: int) -> Iterator[tuple[int, int]]:
    """The runs of lines between the blocks that were looked at by themselves."""
    first = 1
    for block in seen:
        if first < block.line:
            yield first, block.line - 1
        first = max(first, block.end + 1)
    yield first, last_line


def _wrap(text: str, node: Node, result: Scan, offset: int) -> tuple[Edit, ...]:
    """Put a fence around a complete object; its certain corrections are made on the way."""
    if result.root is not node:
        return ()
    faults = [fault for fault in result.faults if fault.offset < node.end]
    before, after = text[: node.start], text[node.end :]
    in_code_span = before.endswith("`") or after.startswith("`")
    if in_code_span or any(fault.edits is None for fault in faults):
        return ()
    opening = "```delta\n" if not before or before.endswith("\n") else "\n```delta\n"
    closing = "\n```" if after.startswith(("\n", "\r")) or not after else "\n```\n"
    inner = [edit.moved(offset) for fault in faults for edit in fault.edits or ()]
    return (
        Edit(offset + node.start, offset + node.start, opening),
        *inner,
        Edit(offset + node.end, offset + node.end, closing),
    )
