"""Why a delta block is refused: every fault with its line inside the JSON, and its repair."""

from functools import lru_cache

from brenner.delta.extra import array_edits, closing_edit, deltas_in, split_edits
from brenner.delta.json_latex import latex_commands
from brenner.delta.json_scan import Node, scan, to_value
from brenner.delta.model import DeltaBlock
from brenner.delta.problems import Path, Problem, RenameKey, SetValue, dotted
from brenner.delta.validate import validate
from brenner.diagnostics.codes import deltas as codes
from brenner.diagnostics.model import ERROR, INFO, WARNING, Diagnostic, Severity
from brenner.diagnostics.truncate import of_block
from brenner.limits import MOST_DIAGNOSTICS_OF_A_BLOCK
from brenner.markdown.blocks import Block
from brenner.markdown.edits import Edit

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
