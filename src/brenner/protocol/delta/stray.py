"""Find text that looks like a contribution but is none: nothing is dropped silently (R4).

These are JSON objects outside delta blocks, and delta fences inside other blocks or quotations.
Each gets an info with its line and, if possible, the edit of the body that makes it a delta block.
A fence inside another block is usually an example. It is only unwrapped if the message has no real
delta block, since nothing else can then be the contribution.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from brenner.diagnostics.codes import deltas as codes
from brenner.lazy_pattern import lazy_pattern
from brenner.markdown.blocks import Block, BlockKind, parse_blocks
from brenner.markdown.edits import LineIndex, TextEdit
from brenner.protocol.delta.parse import find_deltas, has_delta_info, is_delta_fence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brenner.diagnostics.model import Code, Diagnostic
    from brenner.protocol.delta.lenient_json import JsonNode, JsonScanner

# Text that looks like a delta block but is none, and the edits that make it one
StrayDelta = tuple["Diagnostic", tuple[TextEdit, ...]]

_INDENT = "    "
_SPACES = lazy_pattern(r"[^\S\n]*+")
# A line that the author may take for the start of a delta block, anywhere in the text
_FENCE_LINE = lazy_pattern(r"^[ \t]*(`{3,}|~{3,})[ \t]*delta\b", re.MULTILINE)
# A delta written as YAML, which the document considered and rejected
_YAML_OPERATION = lazy_pattern(r"^[ \t-]*operation:", re.MULTILINE)
_YAML_SECTION = lazy_pattern(r"^[ \t-]*section:", re.MULTILINE)
_END_HINTS = {True: "", False: " (its closing fence ends that block)"}
_OPENERS, _CLOSERS = frozenset("`'\"*|[(,"), frozenset("`'\"*|]),")


def find_strays(body: str, found: list[Block]) -> list[StrayDelta]:
    """Return everything in a DELTA's body that its author may take for a delta block."""
    contributions = list(filter(is_delta_fence, found))
    index = LineIndex(body)
    strays: list[StrayDelta] = []
    seen: list[Block] = []
    for block in found:
        if block.quoted:
            strays += _in_quotation(block)
        elif block.kind is BlockKind.FENCE:
            if not has_delta_info(block):
                strays += _in_fence(block, index, unwrap=not contributions)
        elif block.kind is BlockKind.HTML:
            strays += _in_html(block)
        elif block.kind is BlockKind.CODE and _FENCE_LINE.search(block.text):
            strays += _in_code(block, index, unwrap=not contributions)
        else:
            continue
        seen.append(block)
    strays += _in_prose(seen, index)
    return sorted(strays, key=lambda stray: stray[0].line or 0)


def _strays_at(
    code: Code, text: str, offsets: Iterator[int], first: int, where: str
) -> Iterator[StrayDelta]:
    """Yield a stray at each offset of a text; `first` is the number of the text's first line."""
    line, reached = first, 0
    found = code.at(where=where)  # formatted once: all have the same message
    for offset in offsets:
        line += text.count("\n", reached, offset)
        reached = offset
        yield found._replace(line=line), ()


def _in_quotation(block: Block) -> Iterator[StrayDelta]:
    if _is_labelled_delta(block):
        yield codes.QUOTED_DELTA.at(block.line), ()
        return
    starts = (node.start for node, _ in find_deltas(block.text))
    first = block.line + (block.kind is BlockKind.FENCE)
    yield from _strays_at(codes.INLINE_DELTA, block.text, starts, first, "it is quoted")


def _in_html(block: Block) -> Iterator[StrayDelta]:
    """Yield the strays in an HTML block, where Markdown sees no fence but the author may."""
    text = block.text
    if _FENCE_LINE.search(text):
        starts = (fence.start(1) for fence in _FENCE_LINE.finditer(text))
        yield from _strays_at(codes.SWALLOWED_DELTA, text, starts, block.line, "an HTML block")
    else:
        starts = (node.start for node, _ in find_deltas(text))
        where = "it is in an HTML block"
        yield from _strays_at(codes.INLINE_DELTA, text, starts, block.line, where)


def _in_code(block: Block, index: LineIndex, *, unwrap: bool) -> Iterator[StrayDelta]:
    """Yield the fences that are code because they are indented too far."""
    indents = [index.start(number) for number in range(block.line, block.end + 1)]
    is_plain = all(index.text.startswith(_INDENT, start) for start in indents)
    edits = tuple(TextEdit(start, start + len(_INDENT), "") for start in indents)
    found = codes.SWALLOWED_DELTA.at(where="an indented code block")
    for inner in filter(_is_labelled_delta, parse_blocks(block.text)):
        line = block.line + inner.line - 1
        yield found._replace(line=line), edits if unwrap and is_plain else ()
        edits = ()  # they apply to the whole block, so only its first fence has them


def _is_labelled_delta(block: Block) -> bool:
    return block.kind is BlockKind.FENCE and has_delta_info(block)


def _in_fence(fence: Block, index: LineIndex, *, unwrap: bool) -> Iterator[StrayDelta]:
    inside = parse_blocks(fence.text) if "delta" in fence.text else []
    swallowed = [inner for inner in inside if _is_labelled_delta(inner)]
    label = f"a `{fence.info}` block" if fence.info else "another fenced block"
    found = {
        is_closed: codes.SWALLOWED_DELTA.at(where=label + ended)
        for is_closed, ended in _END_HINTS.items()
        if swallowed
    }
    for inner in swallowed:
        diagnostic = found[inner.closed]._replace(line=fence.line + inner.line)
        yield diagnostic, _unwrap(fence, inner, index) if unwrap else ()
    if not swallowed:
        yield from _json_in_fence(fence, label, index)


def _json_in_fence(fence: Block, label: str, index: LineIndex) -> Iterator[StrayDelta]:
    """Yield deltas in a fence with another label.

    If the fence begins with the delta, an edit corrects the label.
    """
    found = list(find_deltas(fence.text))
    where = f"it is in {label}"
    is_yaml = _YAML_OPERATION.search(fence.text) and _YAML_SECTION.search(fence.text)
    if not found and (is_yaml or fence.info.casefold().startswith("delta")):
        yield codes.INLINE_DELTA.at(fence.line, where=where), ()
    starts = (node.start for node, _ in found)
    strays = list(_strays_at(codes.INLINE_DELTA, fence.text, starts, fence.line + 1, where))
    if strays and found[0][0].start == len(fence.text) - len(fence.text.lstrip()):
        # If something follows the first object, the check of the new delta block reports it.
        strays[0] = strays[0][0], _relabel(fence, index)
    yield from strays


def _relabel(fence: Block, index: LineIndex) -> tuple[TextEdit, ...]:
    line = index.line(fence.line)
    at = line.find(fence.marker)
    if at < 0:
        return ()
    start = index.start(fence.line)
    return (TextEdit(start + at + len(fence.marker), start + len(line), "delta"),)


def _unwrap(fence: Block, inner: Block, index: LineIndex) -> tuple[TextEdit, ...]:
    """Return the edits that remove the outer fence.

    With equal nested fences, the closing line of the outer one in fact closed the inner one. That
    line stays, and the line meant to close the outer fence is removed.
    """
    edits = [_remove_line(fence.line, index)]
    if inner.closed and fence.closed:
        edits.append(_remove_line(fence.end, index))
    elif fence.closed and index.line(fence.end + 1).strip() == fence.marker:
        edits.append(_remove_line(fence.end + 1, index))
    return tuple(edits)


def _remove_line(number: int, index: LineIndex) -> TextEdit:
    return TextEdit(index.start(number), index.start(number + 1), "")


def _in_prose(seen: list[Block], index: LineIndex) -> Iterator[StrayDelta]:
    found = codes.INLINE_DELTA.at(where="it is not in a delta block")
    for first, last in _prose_ranges(seen, index.count):
        start, end = index.start(first), index.start(last + 1)
        text = index.text[start:end]
        for node, result in find_deltas(text):
            line = index.number(start + node.start)
            yield found._replace(line=line), _wrap(text, node, result, start)


def _prose_ranges(seen: list[Block], last_line: int) -> Iterator[tuple[int, int]]:
    """Yield the line ranges between the blocks that were searched separately."""
    first = 1
    for block in seen:
        if first < block.line:
            yield first, block.line - 1
        first = max(first, block.end + 1)
    yield first, last_line


def _character_before(text: str, position: int) -> str:
    """Return the nearest non-space character before the position on its line, or "".

    A line may contain very many objects, so only the text next to each is examined.
    """
    while position and text[position - 1] != "\n":
        position -= 1
        if not text[position].isspace():
            return text[position]
    return ""


def _character_after(text: str, position: int) -> str:
    end = _SPACES.match(text, position)
    return text[end.end() : end.end() + 1].strip() if end else ""


def _wrap(text: str, node: JsonNode, result: JsonScanner, offset: int) -> tuple[TextEdit, ...]:
    """Return the edits that fence a complete object, unless it is inside quotes or a list."""
    if result.root is not node:
        return ()
    before, after = _character_before(text, node.start), _character_after(text, node.end)
    if before in _OPENERS or after in _CLOSERS:
        return ()
    faults = [fault for fault in result.faults if fault.offset < node.end]
    if any(fault.edits is None for fault in faults):
        return ()
    opening = "\n```delta\n" if before else "```delta\n"
    inner = [edit.moved(offset) for fault in faults for edit in fault.edits or ()]
    return (
        TextEdit(offset + node.start, offset + node.start, opening),
        *inner,
        TextEdit(offset + node.end, offset + node.end, "\n```\n" if after else "\n```"),
    )
