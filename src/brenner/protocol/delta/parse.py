"""Delta blocks: found among a body's blocks, decoded and validated, each with its own verdict.

One bad block never stops a good one. A sound block takes the short way through here; one with a
fault goes to `explain`, which scans its text again to name every fault, its line and its repair.
What only faults and local names need is imported when the first of them is met.
"""

import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise

from brenner.diagnostics.codes import deltas as codes
from brenner.diagnostics.model import ERROR, INFO, WARNING, Diagnostic, Severity, worst_first
from brenner.diagnostics.truncate import of_block
from brenner.limits import MOST_BLOCK_BYTES, MOST_BLOCKS, MOST_DIAGNOSTICS_OF_A_BLOCK
from brenner.markdown.blocks import Block, Kind, blocks
from brenner.markdown.edits import Edit, apply_edits
from brenner.markdown.escape import fenced
from brenner.protocol.delta.lenient_json import (
    Node,
    NotJSON,
    Scan,
    decode,
    latex_commands,
    scan,
    scan_in_prose,
    to_value,
)
from brenner.protocol.delta.schema import Delta, DeltaBlock
from brenner.protocol.delta.validate import Path, Problem, RenameKey, SetValue, dotted, validate

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
        from brenner.protocol.delta.local_ids import resolve_names

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


# From the body of a DELTA message to its deltas, in one call.


def read_deltas(body: str, thread_id: str | None = None) -> list[DeltaBlock]:
    """All delta blocks of a body, each with its delta or with the reasons why it is refused.

    With `thread_id` references to other threads are told from references to this one.
    """
    return read_blocks(blocks(body), thread_id)


# A delta as the text of a delta block; `read_blocks` reads the same delta back.


def render_delta(delta: Delta) -> str:
    """The fenced block. The order of the keys is the document's."""
    value: dict[str, object] = {
        "operation": delta.operation.value,
        "section": delta.section,
        "target_id": delta.target_id,
    }
    if delta.local_id is not None:
        value["local_id"] = delta.local_id
    value["payload"] = dict(delta.payload)
    if delta.rationale:
        value["rationale"] = delta.rationale
    return fenced(json.dumps(value, ensure_ascii=False, indent=2), "delta")


# Blocks whose boundaries are wrong: not closed, or with more than one delta in them.


# A line that was meant to close the block: too short, of the other kind, or with words after it
_FAILED_CLOSING = re.compile(r"\s*\n[ \t]*((?:`{2,}|~{2,})(?!`|~|[ \t]*delta\b))[ \t]*([^\n]*)")
_FENCE_LINE = re.compile(r"[ \t]*(?:`{3,}|~{3,})")
_COMMA = re.compile(r",\s*")


def deltas_in(text: str, start: int = 0) -> Iterator[tuple[Node, Scan]]:
    """Each JSON object that looks like a delta, however broken, in one pass over the text.

    Where the scanner stops, the search goes on behind that place: everything before it was read.
    """
    position = text.find("{", start)
    comments_end = text.rfind("*/")
    while position >= 0:
        found = scan_in_prose(text, position, comments_end)
        reached = position
        for node in found.objects:
            if node.start >= reached and _looks_like_a_delta(node):
                yield node, found
                reached = node.end
        position = text.find("{", max(found.end, position + 1))


def _looks_like_a_delta(node: Node) -> bool:
    """Two of the keys of a delta, an operation or a section among them; case does not count."""
    keys = {key.casefold() for key in node.members}
    return bool(keys & {"operation", "section"}) and len(keys & _KEYS) > 1


_KEYS = frozenset({"operation", "section", "target_id", "payload"})


def closing_edit(text: str, end: int, marker: str) -> Edit:
    """Close the block right after its JSON; nothing that follows can belong to it.

    A line that was meant to do so and failed is replaced; words on it become prose.
    """
    failed = _FAILED_CLOSING.match(text, end)
    if failed:
        words = f"\n{failed[2]}" if failed[2] else ""
        return Edit(failed.start(1), failed.end(), f"{marker}{words}")
    after = end + len(text[end:]) - len(text[end:].lstrip(" \t"))
    line_end = "" if text.startswith("\n", after) or after == len(text) else "\n"
    return Edit(after, after, f"\n{marker}{line_end}")


def split_edits(text: str, root: Node, position: int, marker: str) -> tuple[str, list[Edit]]:
    """What stands at `position`, after the first delta, and the edits that take it out.

    Where a fence begins there, the block's own end was forgotten; where another object begins,
    one block was used for several deltas. What else it may be, nobody can tell.
    """
    if _FENCE_LINE.match(text, position):
        what = "another fence, so its own end is missing"
        return what, [closing_edit(text, root.end, marker)]
    edits: list[Edit] = []
    comments_end = text.rfind("*/")  # once, not for each object
    while position < len(text):
        comma = _COMMA.match(text, position)
        start = comma.end() if comma else position
        found = scan(text, start, comments_end) if text.startswith("{", start) else None
        if found is None or found.root is None:
            return ("another object" if edits or found else "text"), []
        line_end = "" if text.startswith("\n", position - 1) else "\n"
        edits.append(Edit(position, start, line_end + _between(marker)))
        edits += [edit for fault in found.faults for edit in fault.edits or ()]
        position = found.end
    return "another object", edits


def array_edits(root: Node, marker: str) -> list[Edit]:
    """A list of deltas, alone or as the only member of an object, becomes one block each."""
    only = next(iter(root.members.values())).value if len(root.members) == 1 else root
    items = only.items
    if not items or any(item.kind != "object" for item in items):
        return []
    inner = [
        Edit(left.end, right.start, "\n" + _between(marker)) for left, right in pairwise(items)
    ]
    opening, closing = Edit(root.start, items[0].start, ""), Edit(items[-1].end, root.end, "")
    return [opening, *inner, closing]


def _between(marker: str) -> str:
    return f"{marker}\n\n{marker}delta\n"


# Why a delta block is refused: every fault with its line inside the JSON, and its repair.


# A block is asked several times where its values stand.
_scanned = lru_cache(maxsize=4)(scan)


def explain_json(block: DeltaBlock) -> DeltaBlock:
    """A block that is not one JSON value: the faults of its text.

    Where all of them have a certain repair, the value that was meant is validated as well, so
    that its author learns of everything at once. Otherwise the value is what could be made out.
    """
    fence, text = block.fence, block.fence.text
    found = _scanned(text)
    # Of a block that is cut off, one says so: that it is not closed.
    faults = found.faults[:-1] if found.cut_off and not fence.closed else found.faults
    explained = block._replace(
        value=_value(text, found.root or next(iter(found.objects), None)),
        diagnostics=tuple(
            fault.code.at(_line(fence, fault.offset), **fault.words).in_block(block.number)
            for fault in faults
        ),
        edits=tuple(edit for fault in found.faults for edit in fault.edits or ()),
        is_mendable=found.root is not None and all(f.edits is not None for f in found.faults),
    )
    if explained.is_mendable and found.root:
        _, problems = validate(explained.value)
        return explain_problems(explained, problems)
    return explained if fence.closed else _not_closed(explained, None)


def explain_problems(block: DeltaBlock, problems: list[Problem]) -> DeltaBlock:
    """A block whose JSON is sound, or could be made so: what is wrong with the delta in it."""
    fence, text = block.fence, block.fence.text
    found = _scanned(text)
    root = found.root
    if root is None:  # the scanner sees what the decoder did not: then that is what is wrong
        return explain_json(block._replace(delta=None))
    repairs = [_repair_edits(root, problem) for problem in problems]
    is_mendable = all(
        edits or problem.code.severity is not ERROR
        for edits, problem in zip(repairs, problems, strict=True)
    )
    block = block._replace(
        diagnostics=(*block.diagnostics, *(_diagnostic(block, each, root) for each in problems)),
        edits=(*block.edits, *(edit for edits in repairs for edit in edits)),
        is_mendable=block.is_mendable and is_mendable,
    )
    if any(problem.code is codes.DELTA_NOT_AN_OBJECT for problem in problems):
        structure = tuple(array_edits(root, fence.marker))
        block = block._replace(structure=structure, is_mendable=bool(structure))
    if not fence.closed:
        return _not_closed(block, root)
    has_more = root.kind == "object" and found.end < len(text)
    return _with_more(block, root, found.end) if has_more else block


def begins_on_fence_line(fence: Block) -> bool:
    """Whether the JSON begins behind the word `delta`, where Markdown sees an info string."""
    return fence.info.removeprefix("delta").lstrip().startswith(("{", "["))


def suspicious(block: DeltaBlock) -> DeltaBlock:
    """The block with warnings about what its JSON says and its author cannot have meant."""
    faults = list(latex_commands(block.fence.text))
    if not faults:
        return block
    found = [
        fault.code.at(_line(block.fence, fault.offset), **fault.words).in_block(block.number)
        for fault in faults[:MOST_DIAGNOSTICS_OF_A_BLOCK]
    ]
    return _with(block, found, {WARNING: len(faults) - len(found)})


def _with(
    block: DeltaBlock, found: list[Diagnostic], more: dict[Severity, int] | None = None
) -> DeltaBlock:
    """The block with more diagnostics, and with those that were only counted."""
    said = of_block((*block.diagnostics, *found), block.number, block.line, more)
    return block._replace(diagnostics=said)


def line_at(block: DeltaBlock, path: Path) -> int:
    """The line, in the body, of the value at a path of the block's JSON."""
    root = _scanned(block.fence.text).root
    return _line(block.fence, _offset(root, path) if root else 0)


def _value(text: str, node: Node | None) -> object:
    return to_value(text, node) if node else None


def _diagnostic(block: DeltaBlock, problem: Problem, root: Node) -> Diagnostic:
    line = _line(block.fence, _offset(root, problem.path))
    field = dotted(problem.path) or None
    target = block.written("target_id")
    return problem.code.at(line, **problem.words).in_block(block.number, target, field)


def _not_closed(block: DeltaBlock, root: Node | None) -> DeltaBlock:
    """The end of the block is missing; with a whole value before it, it can be put in."""
    fence = block.fence
    cut = "" if root else ", and what stands in it is not whole"
    found = codes.UNCLOSED_FENCE.at(fence.line, fence=fence.marker, cut=cut).in_block(block.number)
    refused = block._replace(delta=None, diagnostics=(*block.diagnostics, found))
    if root is None:
        return refused._replace(is_mendable=False)
    edit = closing_edit(fence.text, root.end, fence.marker)
    return _with_others(refused._replace(structure=(*block.structure, edit)), root.end)


def _with_more(block: DeltaBlock, root: Node, position: int) -> DeltaBlock:
    """Something follows the delta inside its block."""
    what, splits = split_edits(block.fence.text, root, position, block.fence.marker)
    line = _line(block.fence, position)
    found = codes.SEVERAL_DELTAS_IN_BLOCK.at(line, what=what).in_block(block.number)
    refused = block._replace(
        delta=None,
        diagnostics=(*block.diagnostics, found),
        structure=(*block.structure, *splits),
        is_mendable=block.is_mendable and bool(splits),
    )
    return _with_others(refused, position)


def _with_others(block: DeltaBlock, position: int) -> DeltaBlock:
    """Whatever else in the block looks like a delta is named, too."""
    starts = [node.start for node, _ in deltas_in(block.fence.text, position)]
    found = [
        codes.INLINE_DELTA.at(
            _line(block.fence, start), where=f"it stands inside block {block.number}"
        ).in_block(block.number)
        for start in starts[:MOST_DIAGNOSTICS_OF_A_BLOCK]
    ]
    return _with(block, found, {INFO: len(starts) - len(found)})


def _line(fence: Block, offset: int) -> int:
    """The line, in the body, of an offset in the fence's content."""
    return fence.line + 1 + fence.text.count("\n", 0, min(offset, len(fence.text.rstrip())))


def _offset(root: Node, path: Path) -> int:
    """Where the path leads to, or the nearest thing above it that exists."""
    node, offset = root, root.start
    for step in path:
        if isinstance(step, int):
            node = node.items[step]
            offset = node.start
        elif step in node.members:
            offset, _, node = node.members[step]
        else:
            break
    return offset


def _repair_edits(root: Node, problem: Problem) -> list[Edit]:
    """The edit that makes the problem's certain repair."""
    repair, last = problem.repair, problem.path[-1] if problem.path else 0
    if repair is None:
        return []
    node = root
    for step in problem.path[:-1]:
        node = node.items[step] if isinstance(step, int) else node.members[step].value
    if isinstance(last, int):
        value = node.items[last]
    elif last in node.members:
        start, end, value = node.members[last]
        if isinstance(repair, RenameKey):
            return [Edit(start, end, f'"{repair.key}"')]
    elif isinstance(repair, SetValue) and node.members:
        return [Edit(node.start + 1, node.start + 1, f'"{last}": {repair.json_text}, ')]
    else:
        return []
    return [] if isinstance(repair, RenameKey) else [Edit(value.start, value.end, repair.json_text)]
