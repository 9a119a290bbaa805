"""Find text that looks like a contribution but is none: nothing is dropped silently (R4).

These are JSON objects outside delta blocks, and delta fences inside other blocks or quotations.
Each gets an info with its line and, if possible, the edit of the body that makes it a delta block.
A fence inside another block is usually an example. It is only unwrapped if the message has no real
delta block, since nothing else can then be the contribution.

A check also reads each stray as the delta block that it would be, and reports what is wrong in it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from brenner.diagnostics.codes import deltas as codes
from brenner.diagnostics.codes.messages import DELTA_NOT_CONTRIBUTED
from brenner.diagnostics.model import INFO, WARNING
from brenner.lazy_pattern import lazy_pattern
from brenner.limits import MOST_BLOCKS
from brenner.markdown.blocks import Block, BlockKind, parse_blocks
from brenner.markdown.edits import LineIndex, TextEdit
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.parse import (
    DELTA_INFO,
    find_deltas,
    has_delta_info,
    is_delta_fence,
    may_contain_strays,
    read_blocks,
)
from brenner.protocol.grammar import VALIDATION_ERROR_TITLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from brenner.diagnostics.model import Diagnostic
    from brenner.protocol.delta.lenient_json import JsonNode, JsonScanner
    from brenner.protocol.delta.schema import DeltaBlock


class StrayDelta(NamedTuple):
    """Text that looks like a delta block but is none, and the edits that make it one.

    `fence` is the delta block that it would be; None if it contains no JSON. `is_meant` is whether
    it is most likely a contribution: JSON in a fence or in the text, no example and no quotation.
    """

    diagnostic: Diagnostic
    edits: tuple[TextEdit, ...] = ()
    fence: Block | None = None
    is_meant: bool = False


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
    strays = [each._replace(diagnostic=_marked(each)) for each in strays]
    return sorted(strays, key=lambda stray: stray.diagnostic.line or 0)


def meant_strays(body: str, found: list[Block]) -> list[StrayDelta]:
    """Return the deltas that the author of a message of another type most likely meant to send.

    A Validation Error reply quotes the message that it is about.
    """
    is_reply = body.lstrip().startswith(VALIDATION_ERROR_TITLE)
    if is_reply or not may_contain_strays(body, found):
        return []
    return [each for each in find_strays(body, found) if each.is_meant]


def not_contributed(type_name: str, line: int | None) -> Diagnostic:
    """Return the diagnostic for a delta outside a delta block, in a message of another type."""
    found = DELTA_NOT_CONTRIBUTED.at(line, type=type_name)
    return found._replace(
        message=f"This message is not a DELTA ({type_name}). This looks like a delta, but it will "
        "not be compiled.",
        fix=f"Put it in a fenced block labelled `delta`. {found.fix}",
    )


def _marked(stray: StrayDelta) -> Diagnostic:
    return stray.diagnostic._replace(fixable=bool(stray.edits))


def _strays_at(
    text: str, nodes: Iterable[JsonNode], first: int, where: str
) -> Iterator[StrayDelta]:
    """Yield a stray for each object in a text; `first` is the number of the text's first line."""
    line, reached = first, 0
    found = codes.INLINE_DELTA.at(where=where)  # formatted once: all have the same message
    for node in nodes:
        line += text.count("\n", reached, node.start)
        reached = node.start
        yield StrayDelta(
            found._replace(line=line), fence=_as_block(text[node.start : node.end], line)
        )


def _as_block(text: str, line: int) -> Block:
    """Return the delta block that a JSON text at a line would be."""
    end = line + text.count("\n") + 1
    is_inside = {"quoted": False, "nested": False}
    return Block(BlockKind.FENCE, line - 1, end, text, info=DELTA_INFO, marker="```", **is_inside)


# Reading the strays as delta blocks, for a check


# Beside a real block the message is sent, so its author must not miss what is left out.
_BESIDE_A_BLOCK = codes.INLINE_DELTA._replace(
    severity=WARNING,
    message="This looks like a delta, but {where}. {count} of {total} blocks will not be compiled.",
)


def check_strays(
    strays: list[StrayDelta],
    blocks: list[DeltaBlock],
    thread_id: str,
    finish: Callable[[list[DeltaBlock]], list[DeltaBlock]],
) -> tuple[list[StrayDelta], list[Diagnostic]]:
    """Return the strays as a check reports them, and what is wrong in each.

    If `blocks`, the real ones, are all that the message contributes, it can be sent: no fault in a
    stray is an error then, and only a stray without errors is made a delta block.
    """
    read = _read_strays(strays, blocks, thread_id, finish)
    meant = sum(each.is_meant for each in strays)
    counts = {"count": meant, "total": meant + len(blocks)}
    checked, faults = [], []
    for original, block in zip(strays, read, strict=True):
        stray = _beside_a_block(original, block, counts) if blocks else original
        checked.append(stray)
        for found in block.diagnostics if block else ():
            is_remark = found.severity is INFO and (blocks or found.left_out is None)
            is_split = found.code is codes.SEVERAL_DELTAS_IN_BLOCK and found.fixable
            if is_remark or is_split:  # each delta in the fence is reported as a stray itself
                continue
            severity = stray.diagnostic.severity if blocks else found.severity
            is_fixable = found.fixable and bool(stray.edits)
            code = found.code._replace(severity=severity)
            faults.append(found._replace(code=code, block=None, fixable=is_fixable))
    return checked, faults


def _read_strays(
    strays: list[StrayDelta],
    blocks: list[DeltaBlock],
    thread_id: str,
    finish: Callable[[list[DeltaBlock]], list[DeltaBlock]],
) -> list[DeltaBlock | None]:
    """Read each stray as a delta block; None if it is none, or if there are too many."""
    fences = [*(each.fence for each in blocks), *(each.fence for each in strays if each.fence)]
    if len(fences) > MOST_BLOCKS:
        return [None] * len(strays)
    read = iter(finish(read_blocks(fences, thread_id))[len(blocks) :])
    return [next(read) if each.fence else None for each in strays]


def _beside_a_block(
    stray: StrayDelta, block: DeltaBlock | None, counts: Mapping[str, int]
) -> StrayDelta:
    is_safe = block is not None and (block.delta is not None or block.is_fixable)
    found = stray.diagnostic._replace(fixable=bool(stray.edits) and is_safe)
    if stray.is_meant:
        parameters = (*found.parameters, *counts.items())
        found = found._replace(code=_BESIDE_A_BLOCK, parameters=parameters)
    return stray._replace(diagnostic=found, edits=stray.edits if is_safe else ())


# Finding the strays


def _in_quotation(block: Block) -> Iterator[StrayDelta]:
    if _is_labelled_delta(block):
        yield StrayDelta(codes.QUOTED_DELTA.at(block.line), fence=block._replace(quoted=False))
        return
    nodes = (node for node, _ in find_deltas(block.text))
    first = block.line + (block.kind is BlockKind.FENCE)
    yield from _strays_at(block.text, nodes, first, "it is quoted")


def _in_html(block: Block) -> Iterator[StrayDelta]:
    """Yield the strays in an HTML block, where Markdown sees no fence but the author may."""
    text = block.text
    if not _FENCE_LINE.search(text):
        nodes = (node for node, _ in find_deltas(text))
        yield from _strays_at(text, nodes, block.line, "it is in an HTML block")
        return
    found = codes.SWALLOWED_DELTA.at(where="an HTML block")
    inside = {each.line: each for each in parse_blocks(text) if _is_labelled_delta(each)}
    line, reached = 1, 0
    for fence in _FENCE_LINE.finditer(text):
        line += text.count("\n", reached, fence.start())
        reached = fence.start()
        placed = found._replace(line=block.line + line - 1)
        yield StrayDelta(placed, fence=_moved(inside.get(line), block.line - 1))


def _moved(fence: Block | None, by: int) -> Block | None:
    """Return a fence found in another block, as the delta block that it would be in the body."""
    return fence and fence._replace(line=fence.line + by, end=fence.end + by, quoted=False)


def _in_code(block: Block, index: LineIndex, *, unwrap: bool) -> Iterator[StrayDelta]:
    """Yield the fences that are code because they are indented too far."""
    indents = [index.start(number) for number in range(block.line, block.end + 1)]
    is_plain = all(index.text.startswith(_INDENT, start) for start in indents)
    edits = tuple(TextEdit(start, start + len(_INDENT), "") for start in indents)
    found = codes.SWALLOWED_DELTA.at(where="an indented code block")
    for inner in filter(_is_labelled_delta, parse_blocks(block.text)):
        placed = found._replace(line=block.line + inner.line - 1)
        fence = _moved(inner, block.line - 1)
        yield StrayDelta(placed, edits if unwrap and is_plain else (), fence)
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
        edits = _unwrap(fence, inner, index) if unwrap else ()
        yield StrayDelta(diagnostic, edits, _moved(inner._replace(closed=True), fence.line))
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
        yield StrayDelta(codes.INLINE_DELTA.at(fence.line, where=where), is_meant=True)
    nodes = [node for node, _ in found]
    strays = list(_strays_at(fence.text, nodes, fence.line + 1, where))
    if strays and nodes[0].start == len(fence.text) - len(fence.text.lstrip()):
        # The whole fence becomes a delta block, with what follows the first object.
        block = fence._replace(info=DELTA_INFO)
        strays[0] = strays[0]._replace(edits=_relabel(fence, index), fence=block)
    yield from (each._replace(is_meant=True) for each in strays)


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
            fence = _as_block(text[node.start : node.end], line)
            is_marked = _is_marked(text, node)
            edits = () if is_marked else _wrap(text, node, result, start)
            yield StrayDelta(found._replace(line=line), edits, fence, is_meant=not is_marked)


def _is_marked(text: str, node: JsonNode) -> bool:
    """Return whether an object is inside quotes, code marks or brackets, as an example is."""
    before, after = _character_before(text, node.start), _character_after(text, node.end)
    return before in _OPENERS or after in _CLOSERS


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
    """Return the edits that fence a complete object."""
    if result.root is not node:
        return ()
    before, after = _character_before(text, node.start), _character_after(text, node.end)
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
