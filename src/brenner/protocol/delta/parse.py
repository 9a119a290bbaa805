"""Parse delta blocks: find them among a body's blocks, decode and validate each, explain errors.

One bad block never stops a good one. A valid block takes a short path. A block with an error is
scanned again to find every error, its line and its repair. The module for local IDs is imported on
first use.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from brenner.diagnostics.codes import deltas as codes
from brenner.diagnostics.model import INFO, WARNING, Diagnostic, Severity, worst_first
from brenner.diagnostics.truncate import truncate_for_block
from brenner.lazy_pattern import lazy_pattern
from brenner.limits import MOST_BLOCK_BYTES, MOST_BLOCKS, MOST_DIAGNOSTICS_OF_A_BLOCK
from brenner.markdown.blocks import Block, BlockKind, parse_blocks
from brenner.markdown.edits import TextEdit, apply_edits
from brenner.markdown.escape import render_fence
from brenner.protocol.delta.lenient_json import (
    Fault,
    JsonNode,
    JsonScanner,
    NotJSON,
    decode_strict,
    find_latex_commands,
    scan,
    to_value,
)
from brenner.protocol.delta.problems import JsonPath, Problem, format_path
from brenner.protocol.delta.schema import RECORD_FORMAT, Delta, DeltaBlock
from brenner.protocol.delta.validate import validate_delta

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

DELTA_INFO = "delta"
_DELTA_INFO_PREFIXES = ("delta ", "delta\t")
_MOST_PASSES = 4
_SMALL_BLOCK_CHARACTERS = MOST_BLOCK_BYTES // 4  # a character has at most four bytes


def is_delta_fence(block: Block) -> bool:
    """Return whether a block is a delta block (R4).

    That is a fence, not quoted, whose first info word is exactly `delta`.
    """
    return block.kind is BlockKind.FENCE and not block.quoted and has_delta_info(block)


def has_delta_info(fence: Block) -> bool:
    """Return whether the first word of the fence's info string is exactly `delta`."""
    info = fence.info
    return info == DELTA_INFO or info.startswith(_DELTA_INFO_PREFIXES)


def read_blocks(
    blocks: Iterable[Block], thread_id: str | None = None, record_format: int = RECORD_FORMAT
) -> list[DeltaBlock]:
    """Return all delta blocks among the blocks of a body, in order, numbered from 1.

    They are validated with the fields that the record format knows (R26).
    """
    fences = list(filter(is_delta_fence, blocks))
    if len(fences) > MOST_BLOCKS:
        return _refuse_all(fences)
    names: tuple[str, ...] = ()
    uses_names = any(map(_may_use_local_ids, fences))
    if uses_names:
        from brenner.protocol.delta.local_ids import local_ids_in_text, resolve_local_ids

        names = local_ids_in_text(fences)
    read = [
        _read_block(number, fence, names, record_format) for number, fence in enumerate(fences, 1)
    ]
    if uses_names:
        read = resolve_local_ids(read, thread_id, record_format)
    return [_add_diagnostics(block, []) if block.diagnostics else block for block in read]


def _may_use_local_ids(fence: Block) -> bool:
    """Test cheaply for local IDs. A backslash may begin an escape that contains one."""
    text = fence.text
    return "@" in text or "local_id" in text or "\\" in text


def _read_block(
    number: int, fence: Block, names: tuple[str, ...] = (), record_format: int = RECORD_FORMAT
) -> DeltaBlock:
    """Read one block. `names` are the local IDs of the message."""
    text = fence.text
    if (
        len(text) > _SMALL_BLOCK_CHARACTERS
        and len(text.encode("utf-8", "surrogatepass")) > MOST_BLOCK_BYTES
    ):
        found = codes.BLOCK_TOO_LARGE.at(fence.line, most=MOST_BLOCK_BYTES).in_block(number)
        return DeltaBlock(number, fence, diagnostics=(found,))
    try:
        value = decode_strict(text)
    except NotJSON:
        return _explain(DeltaBlock(number, fence), None, record_format)
    delta, problems = validate_delta(value, names, record_format)
    block = DeltaBlock(number, fence, value, delta)
    is_plain = fence.closed and fence.info == DELTA_INFO and "\\" not in text
    return block if is_plain and not problems else _explain(block, problems, record_format)


def _explain(block: DeltaBlock, problems: list[Problem] | None, record_format: int) -> DeltaBlock:
    """Return the block with its errors; without `problems`, with the errors of its JSON."""
    if begins_on_fence_line(block.fence):
        reason = "it begins on the line of the fence instead of the next line"
        found = codes.INVALID_JSON.at(block.line, reason=reason).in_block(block.number)
        return DeltaBlock(block.number, block.fence, diagnostics=(found,))
    if problems is None:
        return explain_json(block, record_format)
    if problems or not block.fence.closed:
        block = explain_problems(block, problems)
    return warn_of_suspicious_escapes(block)


def may_contain_strays(body: str, found: list[Block]) -> bool:
    """Test cheaply whether anything outside the delta blocks may look like one."""
    contributions = list(filter(is_delta_fence, found))
    lowered = body.lower()
    for word in ("operation", "section"):
        inside = sum(block.text.lower().count(word) for block in contributions)
        if lowered.count(word) > inside:
            return True
    return any(
        "delta" in block.text or block.info.casefold().startswith(DELTA_INFO)
        for block in found
        if block.quoted or (block.kind is not BlockKind.PARAGRAPH and not has_delta_info(block))
    )


def attach_repairs(
    blocks: list[DeltaBlock], record_format: int = RECORD_FORMAT
) -> list[DeltaBlock]:
    """Add the repaired block to the first error of each refused block that has a certain repair.

    The author has to send it: a refused block is never repaired and applied (R5).
    """
    return [_attach_repair(block, record_format) if block.is_fixable else block for block in blocks]


def _attach_repair(block: DeltaBlock, record_format: int) -> DeltaBlock:
    fence = block.fence._replace(closed=True)
    corrected = block
    for _ in range(_MOST_PASSES):
        if corrected.delta is not None or not corrected.edits:
            break
        text = apply_edits(corrected.fence.text, corrected.edits)
        repaired = fence._replace(text=text)
        corrected = _read_block(block.number, repaired, record_format=record_format)
    if corrected.delta is None:
        return block
    text = f"{fence.marker}{DELTA_INFO}\n{corrected.fence.text}{fence.marker}\n"
    first, *others = sorted(block.diagnostics, key=worst_first)
    return block._replace(diagnostics=(first._replace(repaired=text), *others))


def _refuse_all(fences: list[Block]) -> list[DeltaBlock]:
    """Refuse all blocks unread; only the first one has the diagnostic."""
    count, most = len(fences), MOST_BLOCKS
    reason = codes.TOO_MANY_BLOCKS.at(fences[0].line, count=count, most=most)
    refused = [DeltaBlock(n, fence) for n, fence in enumerate(fences, 1)]
    return [refused[0]._replace(diagnostics=(reason,)), *refused[1:]]


# Reading the body of a DELTA message


def read_deltas(body: str, thread_id: str | None = None) -> list[DeltaBlock]:
    """Return all delta blocks of a body, each with its delta or the reasons for its refusal.

    With `thread_id`, references to other threads are distinguished from references to this one.
    """
    return read_blocks(parse_blocks(body), thread_id)


# Rendering a delta as a block; `read_blocks` restores the same delta


def render_delta(delta: Delta) -> str:
    """Return the delta as a fenced block, with the keys in the document's order."""
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
    return render_fence(json.dumps(value, ensure_ascii=False, indent=2), "delta")


# Blocks with wrong boundaries: not closed, or with more than one delta in them


# A failed closing line: too short, of the other kind, or with words after it
_FAILED_CLOSING = lazy_pattern(r"\s*\n[ \t]*((?:`{2,}|~{2,})(?!`|~|[ \t]*delta\b))[ \t]*([^\n]*)")
_FENCE_LINE = lazy_pattern(r"[ \t]*(?:`{3,}|~{3,})")
_COMMA = lazy_pattern(r",\s*")


def find_deltas(text: str, start: int = 0) -> Iterator[tuple[JsonNode, JsonScanner]]:
    """Yield each JSON object that looks like a delta, valid or not, in one pass over the text.

    Where the scanner stops, the search continues after that position.
    """
    position = text.find("{", start)
    comments_end = text.rfind("*/")
    while position >= 0:
        found = scan(text, position, comments_end, in_prose=True)
        reached = position
        for node in found.objects:
            if node.start >= reached and _looks_like_a_delta(node):
                yield node, found
                reached = node.end
        position = text.find("{", max(found.position, position + 1))


def _looks_like_a_delta(node: JsonNode) -> bool:
    """Return whether an object has two keys of a delta, one of them `operation` or `section`.

    Upper and lower case are equal.
    """
    keys = {key.casefold() for key in node.members}
    return bool(keys & {"operation", "section"}) and len(keys & _DELTA_KEYS) > 1


_DELTA_KEYS = frozenset({"operation", "section", "target_id", "payload"})


def closing_edit(text: str, end: int, marker: str) -> TextEdit:
    """Return the edit that closes the block right after its JSON.

    Nothing after the JSON can belong to the block. A failed closing line is replaced; words on that
    line become prose.
    """
    failed = _FAILED_CLOSING.match(text, end)
    if failed:
        words = f"\n{failed[2]}" if failed[2] else ""
        return TextEdit(failed.start(1), failed.end(), f"{marker}{words}")
    after = end + len(text[end:]) - len(text[end:].lstrip(" \t"))
    line_end = "" if text.startswith("\n", after) or after == len(text) else "\n"
    return TextEdit(after, after, f"\n{marker}{line_end}")


def split_edits(
    text: str, root: JsonNode, position: int, marker: str
) -> tuple[str, list[TextEdit]]:
    """Describe what follows the first delta, at `position`, and return edits that split it off.

    If a fence begins there, the block's own closing fence is missing. If another object begins
    there, one block contains several deltas. Anything else cannot be fixed automatically.
    """
    if _FENCE_LINE.match(text, position):
        what = "another fence (its own closing fence is missing)"
        return what, [closing_edit(text, root.end, marker)]
    edits: list[TextEdit] = []
    comments_end = text.rfind("*/")  # computed once, not for each object
    while position < len(text):
        comma = _COMMA.match(text, position)
        start = comma.end() if comma else position
        found = scan(text, start, comments_end) if text.startswith("{", start) else None
        if found is None or found.root is None:
            return ("another object" if edits or found else "text"), []
        line_end = "" if text.startswith("\n", position - 1) else "\n"
        edits.append(TextEdit(position, start, line_end + _block_separator(marker)))
        edits += [edit for fault in found.faults for edit in fault.edits or ()]
        position = found.position
    return "another object", edits


def array_edits(root: JsonNode, marker: str) -> list[TextEdit]:
    """Return the edits that turn a list of deltas into one block each.

    The list may be the whole value or the only member of an object.
    """
    only = next(iter(root.members.values()))[2] if len(root.members) == 1 else root
    items = only.items
    if not items or any(item.kind != "object" for item in items):
        return []
    inner = [
        TextEdit(left.end, right.start, "\n" + _block_separator(marker))
        for left, right in pairwise(items)
    ]
    opening, closing = (
        TextEdit(root.start, items[0].start, ""),
        TextEdit(items[-1].end, root.end, ""),
    )
    return [opening, *inner, closing]


def _block_separator(marker: str) -> str:
    return f"{marker}\n\n{marker}delta\n"


# Explaining a refused block: every error with its line in the JSON, and its repair


# The positions in one block are needed several times.
_cached_scan = lru_cache(maxsize=4)(scan)


def explain_json(block: DeltaBlock, record_format: int = RECORD_FORMAT) -> DeltaBlock:
    """Return a block that is not one JSON value with the errors of its text.

    If all of them have a certain repair, the repaired value is validated as well, so that the
    author gets all errors at once. Otherwise the value is the part that is readable.
    """
    fence, text = block.fence, block.fence.text
    found = _cached_scan(text)
    # A block that is cut off gets one diagnostic only: that it is not closed.
    faults = found.faults[:-1] if found.cut_off and not fence.closed else found.faults
    readable = found.root or next(iter(found.objects), None)
    # After a fault without a certain repair, and even before it, the text may mean something else.
    is_certain = found.root is not None and all(f.edits is not None for f in found.faults)
    edits = (edit for fault in found.faults for edit in fault.edits or ())
    explained = block._replace(
        value=to_value(text, readable) if readable else None,
        diagnostics=tuple(_fault_diagnostic(block, each, is_certain) for each in faults),
        edits=tuple(edits) if is_certain else (),
    )
    if is_certain:
        _, problems = validate_delta(explained.value, record_format=record_format)
        return explain_problems(explained, problems)
    return explained if fence.closed else _refuse_unclosed(explained, None)


def explain_problems(block: DeltaBlock, problems: list[Problem]) -> DeltaBlock:
    """Return a block whose JSON is valid or repairable with the errors of the delta in it."""
    fence, text = block.fence, block.fence.text
    found = _cached_scan(text)
    root = found.root
    if root is None:  # the scanner found an error that the decoder missed
        return explain_json(block._replace(delta=None))
    structure: tuple[TextEdit, ...] = ()
    if any(problem.code is codes.DELTA_NOT_AN_OBJECT for problem in problems):
        structure = tuple(array_edits(root, fence.marker))
    repairs = [_repair_edits(root, problem) for problem in problems]
    marked = (
        _problem_diagnostic(block, problem, root)._replace(fixable=bool(edits or structure))
        for problem, edits in zip(problems, repairs, strict=True)
    )
    block = block._replace(
        diagnostics=(*block.diagnostics, *marked),
        edits=(*block.edits, *(edit for edits in repairs for edit in edits)),
        structure=structure,
    )
    if not fence.closed:
        return _refuse_unclosed(block, root)
    has_more = root.kind == "object" and found.position < len(text)
    return _refuse_trailing_content(block, root, found.position) if has_more else block


def begins_on_fence_line(fence: Block) -> bool:
    """Return whether the JSON begins after the word `delta`, in the info string."""
    return fence.info.removeprefix("delta").lstrip().startswith(("{", "["))


def warn_of_suspicious_escapes(block: DeltaBlock) -> DeltaBlock:
    """Add warnings for escapes in the JSON that are valid but cannot be intended."""
    faults = list(find_latex_commands(block.fence.text))
    if not faults:
        return block
    shown = faults[:MOST_DIAGNOSTICS_OF_A_BLOCK]
    found = [_fault_diagnostic(block, each, is_fixable=False) for each in shown]
    return _add_diagnostics(block, found, {WARNING: len(faults) - len(found)})


def _add_diagnostics(
    block: DeltaBlock, found: list[Diagnostic], more: dict[Severity, int] | None = None
) -> DeltaBlock:
    """Add diagnostics to the block; `more` are those that were only counted."""
    diagnostics = truncate_for_block((*block.diagnostics, *found), block.number, block.line, more)
    return block._replace(diagnostics=diagnostics)


def line_at(block: DeltaBlock, path: JsonPath) -> int:
    """Return the line in the body of the value at a path of the block's JSON."""
    text, key = block.fence.text, path[-1] if path else 0
    if block.delta is not None and isinstance(key, str) and "\\u" not in text:
        # In sound JSON a key that occurs once needs no scanner.
        places = list(re.finditer(rf'(?<!\\)"{re.escape(key)}"\s*:', text))
        if len(places) == 1 and _has_path(block.value, path):
            return _line_of_offset(block.fence, places[0].start())
    root = _cached_scan(text).root
    return _line_of_offset(block.fence, _offset_of_path(root, path) if root else 0)


def _has_path(value: Any, path: JsonPath) -> bool:
    for step in path:
        if isinstance(step, str) and step not in value:
            return False
        value = value[step]
    return True


def _fault_diagnostic(block: DeltaBlock, fault: Fault, is_fixable: bool) -> Diagnostic:
    line = _line_of_offset(block.fence, fault.offset)
    found = fault.code.at(line, **fault.words).in_block(block.number)
    return found._replace(fixable=is_fixable)


def _problem_diagnostic(block: DeltaBlock, problem: Problem, root: JsonNode) -> Diagnostic:
    line = _line_of_offset(block.fence, _offset_of_path(root, problem.path))
    field = format_path(problem.path) or None
    target = block.written("target_id")
    return problem.code.at(line, **problem.words).in_block(block.number, target, field)


def _refuse_unclosed(block: DeltaBlock, root: JsonNode | None) -> DeltaBlock:
    """Refuse a block without a closing fence. It is fixable if its value is complete."""
    fence = block.fence
    cut = "" if root else ", and its JSON is incomplete"
    found = codes.UNCLOSED_FENCE.at(fence.line, fence=fence.marker, cut=cut).in_block(block.number)
    refused = block.refused(found._replace(fixable=root is not None))
    if root is None:
        return refused
    edit = closing_edit(fence.text, root.end, fence.marker)
    return _report_further_deltas(refused._replace(structure=(*block.structure, edit)), root.end)


def _refuse_trailing_content(block: DeltaBlock, root: JsonNode, position: int) -> DeltaBlock:
    what, splits = split_edits(block.fence.text, root, position, block.fence.marker)
    line = _line_of_offset(block.fence, position)
    found = codes.SEVERAL_DELTAS_IN_BLOCK.at(line, what=what).in_block(block.number)
    refused = block.refused(found._replace(fixable=bool(splits)))
    refused = refused._replace(structure=(*block.structure, *splits))
    return _report_further_deltas(refused, position)


def _report_further_deltas(block: DeltaBlock, position: int) -> DeltaBlock:
    """Report everything else in the block that looks like a delta."""
    starts = [node.start for node, _ in find_deltas(block.fence.text, position)]
    found = [
        codes.INLINE_DELTA.at(
            _line_of_offset(block.fence, start), where=f"it is inside block {block.number}"
        ).in_block(block.number)
        for start in starts[:MOST_DIAGNOSTICS_OF_A_BLOCK]
    ]
    return _add_diagnostics(block, found, {INFO: len(starts) - len(found)})


def _line_of_offset(fence: Block, offset: int) -> int:
    """Return the line in the body of an offset in the fence's content."""
    return fence.line + 1 + fence.text.count("\n", 0, min(offset, len(fence.text.rstrip())))


def _offset_of_path(root: JsonNode, path: JsonPath) -> int:
    """Return the offset of the value at the path, or of its nearest existing parent."""
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


def _repair_edits(root: JsonNode, problem: Problem) -> list[TextEdit]:
    repair, last = problem.repair, problem.path[-1] if problem.path else 0
    if repair is None:
        return []
    node = root
    for step in problem.path[:-1]:
        node = node.items[step] if isinstance(step, int) else node.members[step][2]
    if isinstance(last, int):
        value = node.items[last]
    elif last in node.members:
        start, end, value = node.members[last]
        if repair.is_key:
            renamed = TextEdit(start, end, repair.json_text)
            content = repair.content
            return [renamed, *([TextEdit(value.start, value.end, content)] if content else [])]
    elif node.members and not repair.is_key:
        return [TextEdit(node.start + 1, node.start + 1, f'"{last}": {repair.json_text}, ')]
    else:
        return []
    return [] if repair.is_key else [TextEdit(value.start, value.end, repair.json_text)]
