"""Blocks that hold more than one delta, and how to give each a block of its own."""

import re
from itertools import pairwise

from brenner.delta.json_scan import Node, scan
from brenner.markdown.edits import Edit

_FENCE_LINE = re.compile(r"[ \t]*(?:`{3,}|~{3,})")


def split_edits(text: str, position: int, marker: str) -> tuple[str, list[Edit]]:
    """What stands at `position`, after the first delta, and the edits that take it out.

    Where a fence begins there, the block's own end was forgotten; where another object begins,
    one block was used for several deltas. What else it may be, nobody can tell.
    """
    if _FENCE_LINE.match(text, position):
        return "another fence, so its own end is missing", [Edit(position, position, f"{marker}\n")]
    edits: list[Edit] = []
    while text.startswith("{", position):
        found = scan(text, position)
        if found.root is None:
            return "another object", []
        edits.append(Edit(position, position, _between(marker)))
        edits += [edit for fault in found.faults for edit in fault.edits or ()]
        position = found.end
    if position == len(text):
        return "another object", edits
    return ("another object" if edits else "text"), []


def array_edits(root: Node, marker: str) -> list[Edit]:
    """A list of deltas becomes one block each."""
    items = root.items
    if not items or any(item.kind != "object" for item in items):
        return []
    inner = [
        Edit(left.end, right.start, "\n" + _between(marker)) for left, right in pairwise(items)
    ]
    opening, closing = Edit(root.start, items[0].start, ""), Edit(items[-1].end, root.end, "")
    return [opening, *inner, closing]


def _between(marker: str) -> str:
    return f"{marker}\n\n{marker}delta\n"
