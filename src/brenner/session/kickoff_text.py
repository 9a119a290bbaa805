"""What an operator wrote, put into a message so that it stays text.

A question, a background, a list of hypotheses may hold anything: headings, a fence that is never
closed, a delta block. In a section it stands as it was written wherever that makes no structure.
Otherwise exactly those lines that would make some are escaped, by one backslash each. Passages of
a source are quoted, line by line.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from brenner.diagnostics.codes import sessions as codes
from brenner.diagnostics.codes.messages import NO_SECTION_NUMBERS
from brenner.diagnostics.model import Diagnostic
from brenner.lint.context import SourceText, read_source_text
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


# Passages of a source text by the numbers of their sections: `42,45-47` (companion, Anchors).
#
# Pure: the text is given. Numbers are looked up, never counted through, so that a range costs what
# the text has of it, however far it reaches.


MOST_EXCERPT_CHARACTERS = 200_000
_MOST_RANGES = 1_000
_MOST_TOLD = 5
# `42`, `§42`, `45-47`, `§45–§47`; blanks inside were taken out before
_RANGE = re.compile(r"§{0,2}([0-9]{1,9})(?:[-–]§?([0-9]{1,9}))?")
_INNER_BLANKS = re.compile(r"(?<=§)\s+|\s+(?=[-–])|(?<=[-–])\s+")
_BETWEEN = re.compile(r"[,;\s]+")
_NUMBER_IN_TITLE = re.compile(r"(?:§ ?|[Ss]ection )?[0-9]+[.:)]?[ \t]*[-–—:]?[ \t]*")


class Range(NamedTuple):
    """Sections from a first to a last one, both included."""

    first: int
    last: int

    def __str__(self) -> str:
        """As an anchor has it."""
        return f"§{self.first}" if self.first == self.last else f"§{self.first}-{self.last}"


class Passage(NamedTuple):
    """A section of a source text: its number, its title without it, and what stands under it."""

    number: int
    title: str
    text: str


def parse_sections(wish: str) -> tuple[Range, ...] | Diagnostic:
    """The sections that `42,45-47` or `§42 §45-§47` asks for."""
    parts = list(filter(None, _BETWEEN.split(_INNER_BLANKS.sub("", wish))))
    if not parts:
        return codes.INVALID_SECTIONS.at(value=wish, reason="it names no section")
    if len(parts) > _MOST_RANGES:
        reason = f"it has {len(parts)} parts, and {_MOST_RANGES} are the most"
        return codes.INVALID_SECTIONS.at(value=wish, reason=reason)
    ranges = []
    for part in parts:
        match = _RANGE.fullmatch(part)
        if match is None:
            reason = f"`{part}` is neither a number nor a range"
            return codes.INVALID_SECTIONS.at(value=wish, reason=reason)
        ranges.append(Range(int(match[1]), int(match[2] or match[1])))
        if ranges[-1].last < ranges[-1].first:
            reason = f"the range `{part}` does not ascend"
            return codes.INVALID_SECTIONS.at(value=wish, reason=reason)
    return tuple(ranges)


def excerpt_of(text: str, path: str, wish: str) -> str | Diagnostic:
    """The passages that are asked for, in the order of their numbers, each under its `§n`.

    Or why there is no excerpt: a section that the text at `path` does not have is never left out
    in silence.
    """
    ranges = parse_sections(wish)
    if isinstance(ranges, Diagnostic):
        return ranges
    found: dict[int, Passage] = {}
    for passage in passages_of(text):
        found.setdefault(passage.number, passage)
    source = SourceText.of(path, found)
    if source.is_empty:
        return NO_SECTION_NUMBERS.at(path=path)
    missing = [each for each in ranges if source.missing(*each) is not None]
    if missing:
        return _missing(source, missing)
    return within_limit("\n\n".join(_shown(found[each]) for each in _chosen(ranges, found)))


def within_limit(excerpt: str) -> str | Diagnostic:
    """The excerpt, unless it is longer than anybody would read."""
    if len(excerpt) <= MOST_EXCERPT_CHARACTERS:
        return excerpt
    return codes.EXCERPT_TOO_LONG.at(length=len(excerpt), most=MOST_EXCERPT_CHARACTERS)


def passages_of(text: str) -> Iterator[Passage]:
    """The numbered sections of a source text, in its order.

    Each goes on up to the next number, or to the end of the chapter that it stands in. Headings
    without a number below its own level belong to it.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    headings = [block for block in blocks(text) if block.kind is Kind.HEADING]
    numbers = _numbers(headings)
    for index, number in enumerate(numbers):
        if number is None:
            continue
        heading = headings[index]
        following = range(index + 1, len(headings))
        ends = (
            headings[later].line - 1
            for later in following
            if numbers[later] is not None or headings[later].level <= heading.level
        )
        end = next(ends, len(lines))
        title = _NUMBER_IN_TITLE.sub("", heading.text.strip(), count=1)
        yield Passage(number, title, "\n".join(lines[heading.end : end]).strip("\n"))


def _numbers(headings: list[Block]) -> list[int | None]:
    """The number of each heading, as the linter reads it.

    Where any number has the sign §, only those count: the others number chapters.
    """
    numbers = [_number(heading.text) for heading in headings]
    signed = [heading.text.strip().startswith("§") for heading in headings]
    if not any(each is not None and sign for each, sign in zip(numbers, signed, strict=True)):
        return numbers
    return [each if sign else None for each, sign in zip(numbers, signed, strict=True)]


def _number(heading: str) -> int | None:
    found = read_source_text(f"# {heading.strip()}", "").firsts
    return found[0] if found else None


def _chosen(ranges: Iterable[Range], found: Iterable[int]) -> Iterator[int]:
    """The numbers that the ranges cover, each once, in their order."""
    numbers = sorted(found)
    reached = 0
    for first, last in sorted(ranges):
        start = max(reached, bisect_left(numbers, first))
        reached = max(reached, bisect_right(numbers, last))
        yield from numbers[start:reached]


def _shown(passage: Passage) -> str:
    head = f"**§{passage.number}** {passage.title}".rstrip()
    return f"{head}\n\n{passage.text}" if passage.text.strip() else head


def _missing(source: SourceText, wanted: list[Range]) -> Diagnostic:
    told = []
    for each in wanted[:_MOST_TOLD]:
        first = source.missing(*each)
        told.append(f"§{first}" if each.first == each.last else f"§{first} (of {each})")
    more = len(wanted) - len(told)
    if more:
        told.append(f"{more} more")
    runs = map(Range, source.firsts, source.lasts)
    known = [str(run) for _, run in zip(range(_MOST_TOLD), runs, strict=False)]
    known += ["…"] * (len(source.firsts) > _MOST_TOLD)
    return codes.UNKNOWN_SECTION_NUMBER.at(
        path=source.path, missing=", ".join(told), known=", ".join(known)
    )
