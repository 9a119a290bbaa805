"""What an operator wrote, put into a message so that it stays text.

A question, a background, a list of hypotheses may hold anything: headings, a fence that is never
closed, a delta block. In a section it stands as it was written wherever that makes no structure.
Otherwise exactly those lines that would make some are escaped, by one backslash each. Passages of
a source are quoted, line by line.
"""

import re
from collections.abc import Iterator

from brenner.markdown.blocks import Block, Kind, blocks
from brenner.markdown.escape import fenced, fields
from brenner.protocol.body import is_seen, normalised
from brenner.protocol.delta.parse import is_delta_fence
from brenner.protocol.message_types import KICKOFF

_MOST_PASSES = 8  # to escape one line may bring another one to light
_BEFORE, _AFTER = "## Before\n\n", "\n\n## After\n"
_LINES_BEFORE = _BEFORE.count("\n")
_BASE = normalised(KICKOFF.version_field)
_ITEM = r"(?:[-+*]|[0-9]{1,9}[.)])(?=[ \t])"
_MARK = re.compile(rf"(?:[ \t]*+(?:>|{_ITEM}))*+[ \t]*+")
# Inside another fence it is an example, but only until somebody copies it without that fence.
_DELTA_FENCE = re.compile(rf"(?:[ \t]*+{_ITEM})*+[ \t]*+(?:`{{3,}}|~{{3,}})[ \t]*delta\b")


def tidy(text: str) -> str:
    """The text with the line endings of a message, and nothing blank around it."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def embedded(text: str) -> str:
    """The text as it can stand in a section and be read back from there."""
    said = current = tidy(text)
    for _ in range(_MOST_PASSES):
        lines = _lines_to_escape(current)
        if not lines:
            return current
        current = _with_escapes(current, lines)
    # Whatever else may be wrong with it, a quotation never makes structure.
    in_fence = fenced(said, "text").rstrip("\n")
    is_better = _lines_to_escape(quotation(said)) and not _lines_to_escape(in_fence)
    return in_fence if is_better else quotation(said)


def quotation(text: str) -> str:
    """The text as a quotation: what stands in it is somebody else's, whatever it looks like."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n").split("\n")
    return "\n".join(f"> {line}" if line.strip() else ">" for line in lines)


def one_line(text: str) -> str:
    """The words of a text on one line."""
    return " ".join(text.split())


def _lines_to_escape(text: str) -> set[int]:
    """The lines, counted from 0, that make a text more than the text of a section.

    None is left where every line of it is read back: no heading cuts it short, nothing that it
    opens swallows what follows, no block is a delta, no line states the base of a round, and both
    its ends are text.
    """
    lines = text.split("\n")
    found = blocks(f"{_BEFORE}{text}{_AFTER}")[1:]
    inside = [block for block in found if block.line - _LINES_BEFORE <= len(lines)]
    makers = {
        number - 1 - _LINES_BEFORE for block in inside for number in _makers(block, len(lines))
    }
    makers |= {number for number, line in enumerate(lines) if _DELTA_FENCE.match(line)}
    makers |= {number - 1 - _LINES_BEFORE for number in _base_lines(inside)}
    return makers if makers or not text else _unseen_ends(inside, len(lines))


def _base_lines(inside: list[Block]) -> Iterator[int]:
    """Where a text states a version as a later kickoff does: which one is ours to say."""
    for field in fields(inside):
        if normalised(field.name) == _BASE:
            yield field.line


def _unseen_ends(inside: list[Block], count: int) -> set[int]:
    """Where a text begins and ends with what no reader sees: a comment, a rule, a definition."""
    seen = [block for block in inside if is_seen(block)]
    if not seen:
        return {0}
    ends = set() if seen[0].line == _LINES_BEFORE + 1 else {0}
    if seen[-1].end < _LINES_BEFORE + count:
        last = inside[-1]
        is_comment = last.end == _LINES_BEFORE + count
        ends.add(last.line - 1 - _LINES_BEFORE if is_comment else count - 1)
    return ends


def _makers(block: Block, count: int) -> Iterator[int]:
    """The lines of a block, as numbered there, that make it what a section must not hold."""
    is_open = block.end > count + _LINES_BEFORE
    if block.kind is Kind.HEADING:
        # The mark of a heading is its underline, or else stands before it.
        yield block.end
    elif block.kind in (Kind.FENCE, Kind.HTML) and is_open:
        yield block.line
    elif is_delta_fence(block):
        yield block.line
        if block.closed:
            yield block.end


def _with_escapes(text: str, numbers: set[int]) -> str:
    lines = text.split("\n")
    for number in numbers:
        at = _MARK.match(lines[number])
        place = at.end() if at else 0
        lines[number] = f"{lines[number][:place]}\\{lines[number][place:]}"
    return "\n".join(lines)
