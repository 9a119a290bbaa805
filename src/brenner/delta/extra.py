"""Blocks whose boundaries are wrong: not closed, or with more than one delta in them."""

import re
from collections.abc import Iterator
from itertools import pairwise

from brenner.delta.json_scan import Node, Scan, scan, scan_in_prose
from brenner.markdown.edits import Edit

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
