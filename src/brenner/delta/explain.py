"""Why a delta block is refused: every fault with its line inside the JSON, and its repair."""

from brenner.delta.extra import array_edits, split_edits
from brenner.delta.json_scan import Node, scan, to_value
from brenner.delta.model import DeltaBlock
from brenner.delta.problems import Path, Problem, RenameKey, SetValue, dotted
from brenner.delta.validate import validate
from brenner.diagnostics.codes import delta_format as codes
from brenner.diagnostics.model import Diagnostic
from brenner.markdown.blocks import Block
from brenner.markdown.edits import Edit


def explain_json(block: DeltaBlock) -> DeltaBlock:
    """A block that is not one JSON value: the faults of its text.

    Where all of them have a certain repair, the value that was meant is validated as well, so
    that its author learns of everything at once. Otherwise the value is what could be made out.
    """
    fence, text = block.fence, block.fence.text
    found = scan(text)
    diagnostics = [
        fault.code.at(_line(fence, fault.offset), **fault.words).in_block(block.number)
        for fault in (found.faults[:-1] if found.cut_off and not fence.closed else found.faults)
    ]
    edits = [edit for fault in found.faults for edit in fault.edits or ()]
    if found.root is not None and found.end < len(text) and fence.closed:
        what, splits = split_edits(text, found.end, fence.marker)
        line = _line(fence, found.end)
        diagnostics.append(codes.SEVERAL_DELTAS_IN_BLOCK.at(line, what=what).in_block(block.number))
        edits += splits
    node = found.root or next(iter(found.objects), None)
    value = to_value(text, node) if node else None
    explained = block._replace(value=value, diagnostics=tuple(diagnostics), edits=tuple(edits))
    if found.root is not None and all(fault.edits is not None for fault in found.faults):
        _, problems = validate(value)
        explained = explain_problems(explained, problems, found.root)
    elif not fence.closed:
        explained = explained.refused(_unclosed(block))
    return explained


def explain_problems(
    block: DeltaBlock, problems: list[Problem], root: Node | None = None
) -> DeltaBlock:
    """A block whose JSON is sound, or could be made so: what is wrong with the delta in it."""
    root = root or scan(block.fence.text).root
    if root is None:
        return block
    diagnostics = list(block.diagnostics)
    edits = list(block.edits)
    for problem in problems:
        diagnostics.append(_diagnostic(block, problem, root))
        edits += _repair_edits(root, problem)
    if root.kind == "array":
        edits += array_edits(root, block.fence.marker)
    explained = block._replace(diagnostics=tuple(diagnostics), edits=tuple(edits))
    if block.fence.closed:
        return explained
    closing = _closing(block.fence, root)
    return explained.refused(_unclosed(block))._replace(edits=(*edits, closing))


def line_at(block: DeltaBlock, path: Path) -> int:
    """The line, in the body, of the value at a path of the block's JSON."""
    root = scan(block.fence.text).root
    return _line(block.fence, _offset(root, path) if root else 0)


def _diagnostic(block: DeltaBlock, problem: Problem, root: Node) -> Diagnostic:
    line = _line(block.fence, _offset(root, problem.path))
    field = dotted(problem.path) or None
    target = block.written("target_id")
    return problem.code.at(line, **problem.words).in_block(block.number, target, field)


def _unclosed(block: DeltaBlock) -> Diagnostic:
    fence = block.fence
    return codes.UNCLOSED_FENCE.at(fence.line, fence=fence.marker).in_block(block.number)


def _closing(fence: Block, root: Node) -> Edit:
    """Close the fence right after its JSON; nothing that follows can belong to the block."""
    rest = fence.text[root.end :].lstrip(" \t")
    after = len(fence.text) - len(rest)
    line_end = "" if not rest or rest.startswith("\n") else "\n"
    return Edit(after, after, f"\n{fence.marker}{line_end}")


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
