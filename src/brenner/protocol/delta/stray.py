"""What looks like a contribution and is none: nothing of it is dropped in silence (ruling R4).

JSON that looks like a delta outside of delta blocks, and delta fences inside other blocks or
quotations. Each gets an info with its line and, where it can be made, the edit of the body that
turns it into a delta block. A fence inside another block is an example, and taken out of there only
where the message has no real block, so that nothing else can be the contribution.
"""

import re
from collections.abc import Iterator

from brenner.diagnostics.codes import deltas as codes
from brenner.diagnostics.model import Code
from brenner.markdown.blocks import Block, Kind, blocks
from brenner.markdown.edits import Edit, LineIndex
from brenner.protocol.delta.lenient_json import Node, Scan
from brenner.protocol.delta.parse import deltas_in, has_delta_info, is_delta_fence
from brenner.protocol.delta.schema import Stray

_INDENT = "    "
_BLANKS = re.compile(r"[^\S\n]*+")
# What its author may take for the start of a delta block, wherever it stands.
_FENCE_LINE = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*delta\b", re.MULTILINE)
# A delta written as YAML, which the document considered and rejected
_YAML_OPERATION = re.compile(r"^[ \t-]*operation:", re.MULTILINE)
_YAML_SECTION = re.compile(r"^[ \t-]*section:", re.MULTILINE)
_ENDED = {True: "", False: " that its own closing fence ends"}
_OPENERS, _CLOSERS = frozenset("`'\"*|[(,"), frozenset("`'\"*|]),")


def find_strays(body: str, found: list[Block]) -> list[Stray]:
    """Everything in a DELTA's body that its author may believe to be a delta block."""
    contributions = list(filter(is_delta_fence, found))
    index = LineIndex(body)
    strays: list[Stray] = []
    seen: list[Block] = []
    for block in found:
        if block.quoted:
            strays += _quoted(block)
        elif block.kind is Kind.FENCE:
            if not has_delta_info(block):
                strays += _in_fence(block, index, unwrap=not contributions)
        elif block.kind is Kind.HTML:
            strays += _in_html(block)
        elif block.kind is Kind.CODE and _FENCE_LINE.search(block.text):
            strays += _in_code(block, index, unwrap=not contributions)
        else:
            continue
        seen.append(block)
    strays += _in_prose(seen, index)
    return sorted(strays, key=_by_line)


def _by_line(stray: Stray) -> int:
    return stray.diagnostic.line or 0


def _found(
    code: Code, text: str, offsets: Iterator[int], first: int, where: str
) -> Iterator[Stray]:
    """A stray of that code at each offset of a text whose first line has that number."""
    line, reached = first, 0
    found = code.at(where=where)  # the words are the same for all of them
    for offset in offsets:
        line += text.count("\n", reached, offset)
        reached = offset
        yield Stray(found._replace(line=line))


def _quoted(block: Block) -> Iterator[Stray]:
    if _is_fence_of_ours(block):
        yield Stray(codes.QUOTED_DELTA.at(block.line))
        return
    starts = (node.start for node, _ in deltas_in(block.text))
    first = block.line + (block.kind is Kind.FENCE)
    yield from _found(codes.INLINE_DELTA, block.text, starts, first, "it is quoted")


def _in_html(block: Block) -> Iterator[Stray]:
    """Markdown sees no fence inside an HTML block, but its author may."""
    text = block.text
    if _FENCE_LINE.search(text):
        starts = (fence.start(1) for fence in _FENCE_LINE.finditer(text))
        yield from _found(codes.SWALLOWED_DELTA, text, starts, block.line, "an HTML block")
    else:
        starts = (node.start for node, _ in deltas_in(text))
        where = "it stands in an HTML block"
        yield from _found(codes.INLINE_DELTA, text, starts, block.line, where)


def _in_code(block: Block, index: LineIndex, *, unwrap: bool) -> Iterator[Stray]:
    """A fence that is indented so far that it is code."""
    indents = [index.start(number) for number in range(block.line, block.end + 1)]
    is_plain = all(index.text.startswith(_INDENT, start) for start in indents)
    edits = tuple(Edit(start, start + len(_INDENT), "") for start in indents)
    found = codes.SWALLOWED_DELTA.at(where="an indented code block")
    for inner in filter(_is_fence_of_ours, blocks(block.text)):
        line = block.line + inner.line - 1
        yield Stray(found._replace(line=line), edits if unwrap and is_plain else ())
        edits = ()  # they move the whole block, and the first fence has them


def _is_fence_of_ours(block: Block) -> bool:
    return block.kind is Kind.FENCE and has_delta_info(block)


def _in_fence(fence: Block, index: LineIndex, *, unwrap: bool) -> Iterator[Stray]:
    inside = blocks(fence.text) if "delta" in fence.text else []
    swallowed = [inner for inner in inside if _is_fence_of_ours(inner)]
    label = f"a `{fence.info}` block" if fence.info else "another fenced block"
    found = {
        is_closed: codes.SWALLOWED_DELTA.at(where=label + ended)
        for is_closed, ended in _ENDED.items()
        if swallowed
    }
    for inner in swallowed:
        said = found[inner.closed]._replace(line=fence.line + inner.line)
        yield Stray(said, _unwrap(fence, inner, index) if unwrap else ())
    if not swallowed:
        yield from _json_in_fence(fence, label, index)


def _json_in_fence(fence: Block, label: str, index: LineIndex) -> Iterator[Stray]:
    """JSON under another name; the name is corrected where nothing else stands in the fence."""
    found = list(deltas_in(fence.text))
    where = f"it stands in {label}"
    is_yaml = _YAML_OPERATION.search(fence.text) and _YAML_SECTION.search(fence.text)
    if not found and (is_yaml or fence.info.casefold().startswith("delta")):
        yield Stray(codes.INLINE_DELTA.at(fence.line, where=where))
    starts = (node.start for node, _ in found)
    strays = list(_found(codes.INLINE_DELTA, fence.text, starts, fence.line + 1, where))
    if strays and found[0][0].start == len(fence.text) - len(fence.text.lstrip()):
        # Whatever follows the first object, the delta block that it becomes will say.
        strays[0] = strays[0]._replace(edits=_relabel(fence, index))
    yield from strays


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
    found = codes.INLINE_DELTA.at(where="it stands in no delta block")
    for first, last in _prose(seen, index.count):
        start, end = index.start(first), index.start(last + 1)
        text = index.text[start:end]
        for node, result in deltas_in(text):
            line = index.number(start + node.start)
            edits = _wrap(text, node, result, start)
            yield Stray(found._replace(line=line), edits)


def _prose(seen: list[Block], last_line: int) -> Iterator[tuple[int, int]]:
    """The runs of lines between the blocks that were looked at by themselves."""
    first = 1
    for block in seen:
        if first < block.line:
            yield first, block.line - 1
        first = max(first, block.end + 1)
    yield first, last_line


def _before(text: str, position: int) -> str:
    """The nearest character before the position that is no blank, if the line has one.

    A line may hold very many objects, so each is looked at with its neighbours only.
    """
    while position and text[position - 1] != "\n":
        position -= 1
        if not text[position].isspace():
            return text[position]
    return ""


def _after(text: str, position: int) -> str:
    """The nearest character behind the position that is no blank, if the line has one."""
    end = _BLANKS.match(text, position)
    return text[end.end() : end.end() + 1].strip() if end else ""


def _wrap(text: str, node: Node, result: Scan, offset: int) -> tuple[Edit, ...]:
    """Put a fence around a complete object that stands by itself, not in quotes or in a list."""
    if result.root is not node:
        return ()
    before, after = _before(text, node.start), _after(text, node.end)
    if before in _OPENERS or after in _CLOSERS:
        return ()
    faults = [fault for fault in result.faults if fault.offset < node.end]
    if any(fault.edits is None for fault in faults):
        return ()
    opening = "\n```delta\n" if before else "```delta\n"
    inner = [edit.moved(offset) for fault in faults for edit in fault.edits or ()]
    return (
        Edit(offset + node.start, offset + node.start, opening),
        *inner,
        Edit(offset + node.end, offset + node.end, "\n```\n" if after else "\n```"),
    )
