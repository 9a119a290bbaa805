"""Embed the operator's text in a kickoff as plain text, and extract excerpts of a source.

A question, a background, a list of hypotheses may contain headings, unclosed fences or delta
blocks. In a section the text stays unchanged unless it would create structure. Then exactly the
lines that would are escaped, by one backslash each. Passages of a source are quoted, line by line.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, TypeAlias

from brenner.diagnostics.codes import sessions as codes
from brenner.diagnostics.codes.evidence import UNKNOWN_EVIDENCE
from brenner.diagnostics.codes.messages import NO_SECTION_NUMBERS
from brenner.diagnostics.model import Diagnostic
from brenner.lazy_pattern import lazy_pattern
from brenner.lint.context import SourceText, read_source_text
from brenner.markdown.blocks import Block, BlockKind, parse_blocks
from brenner.markdown.escape import read_fields, render_fence
from brenner.protocol.body import has_visible_text, normalise_heading
from brenner.protocol.delta.parse import is_delta_fence
from brenner.protocol.message_types import KICKOFF

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from brenner.protocol.evidence_pack import EvidencePack

_MOST_PASSES = 8  # escaping one line may reveal another one
_BEFORE, _AFTER = "## Before\n\n", "\n\n## After\n"
_LINES_BEFORE = _BEFORE.count("\n")
_BASE = normalise_heading(KICKOFF.version_field)
_ITEM = r"(?:[-+*]|[0-9]{1,9}[.)])(?=[ \t])"
_LINE_PREFIX = lazy_pattern(rf"(?:[ \t]*+(?:>|{_ITEM}))*+[ \t]*+")
# Inside another fence it is only an example, but an agent may copy it without that fence.
_DELTA_FENCE = lazy_pattern(rf"(?:[ \t]*+{_ITEM})*+[ \t]*+(?:`{{3,}}|~{{3,}})[ \t]*delta\b")


def normalize_text(text: str) -> str:
    """Normalise line endings and strip surrounding whitespace."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def embed_text(text: str) -> str:
    """Escape a text so that it can be placed in a section and read back from there."""
    original = current = normalize_text(text)
    for _ in range(_MOST_PASSES):
        lines = _lines_to_escape(current)
        if not lines:
            return current
        current = _with_escapes(current, lines)
    # Fallback: quote the text, or fence it if only the fence needs no escaping.
    in_fence = render_fence(original, "text").rstrip("\n")
    is_better = _lines_to_escape(quote_text(original)) and not _lines_to_escape(in_fence)
    return in_fence if is_better else quote_text(original)


def quote_text(text: str) -> str:
    """Return the text as a Markdown block quote, in which nothing counts as structure."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n").split("\n")
    return "\n".join(f"> {line}" if line.strip() else ">" for line in lines)


def one_line(text: str) -> str:
    return " ".join(text.split())


def _lines_to_escape(text: str) -> set[int]:
    """Return the lines, counted from 0, that make a text more than the text of a section.

    The result is empty if every line is read back: no heading ends the section, no open block
    swallows what follows, no block is a delta, no line states the base of a round, and both ends
    are text.
    """
    lines = text.split("\n")
    found = parse_blocks(f"{_BEFORE}{text}{_AFTER}")[1:]
    inside = [block for block in found if block.line - _LINES_BEFORE <= len(lines)]
    structural = {
        number - 1 - _LINES_BEFORE
        for block in inside
        for number in _structure_lines(block, len(lines))
    }
    structural |= {number for number, line in enumerate(lines) if _DELTA_FENCE.match(line)}
    structural |= {number - 1 - _LINES_BEFORE for number in _base_lines(inside)}
    return structural if structural or not text else _invisible_ends(inside, len(lines))


def _base_lines(inside: list[Block]) -> Iterator[int]:
    """Yield the lines that state a base version as a later kickoff does.

    Only the program may state it.
    """
    for field in read_fields(inside):
        if normalise_heading(field.name) == _BASE:
            yield field.line


def _invisible_ends(inside: list[Block], count: int) -> set[int]:
    """Return the first and last lines that are invisible Markdown: a comment, a rule, a
    definition.
    """
    seen = [block for block in inside if has_visible_text(block)]
    if not seen:
        return {0}
    ends = set() if seen[0].line == _LINES_BEFORE + 1 else {0}
    if seen[-1].end < _LINES_BEFORE + count:
        last = inside[-1]
        is_comment = last.end == _LINES_BEFORE + count
        ends.add(last.line - 1 - _LINES_BEFORE if is_comment else count - 1)
    return ends


def _structure_lines(block: Block, count: int) -> Iterator[int]:
    """Yield the line numbers that make a block something that a section must not contain."""
    is_open = block.end > count + _LINES_BEFORE
    if block.kind is BlockKind.HEADING:
        # The last line has the mark of a heading: its underline, or the `#` before it.
        yield block.end
    elif block.kind in (BlockKind.FENCE, BlockKind.HTML) and is_open:
        yield block.line
    elif is_delta_fence(block):
        yield block.line
        if block.closed:
            yield block.end


def _with_escapes(text: str, numbers: set[int]) -> str:
    lines = text.split("\n")
    for number in numbers:
        at = _LINE_PREFIX.match(lines[number])
        place = at.end() if at else 0
        lines[number] = f"{lines[number][:place]}\\{lines[number][place:]}"
    return "\n".join(lines)


# Passages of a source text by section number: `42,45-47` (companion, Anchors)
#
# Only existing numbers are looked up, so that a range such as `1-999999999` is cheap.


MOST_EXCERPT_CHARACTERS = 200_000
_MOST_RANGES = 1_000
_MOST_LISTED = 5
# `42`, `§42`, `45-47`, `§45–§47`; spaces inside were removed before
_RANGE = lazy_pattern(r"§{0,2}([0-9]{1,9})(?:[-–]§?([0-9]{1,9}))?")
_INNER_SPACES = lazy_pattern(r"(?<=§)\s+|\s+(?=[-–])|(?<=[-–])\s+")
_SEPARATOR = lazy_pattern(r"[,;\s]+")
_NUMBER_IN_TITLE = lazy_pattern(r"(?:§ ?|[Ss]ection )?[0-9]+[.:)]?[ \t]*[-–—:]?[ \t]*")


# A section of a source text: its number, its title without the number, and its text
Passage: TypeAlias = tuple[int, str, str]


def parse_section_ranges(requested: str) -> tuple[tuple[int, int], ...] | Diagnostic:
    """Parse `42,45-47` or `§42 §45-§47`: the first and the last section of each range."""
    parts = list(filter(None, _SEPARATOR.split(_INNER_SPACES.sub("", requested))))
    if not parts:
        return codes.INVALID_SECTIONS.at(value=requested, reason="it names no section")
    if len(parts) > _MOST_RANGES:
        reason = f"it has {len(parts)} parts (at most {_MOST_RANGES})"
        return codes.INVALID_SECTIONS.at(value=requested, reason=reason)
    ranges = []
    for part in parts:
        match = _RANGE.fullmatch(part)
        if match is None:
            reason = f"`{part}` is neither a number nor a range"
            return codes.INVALID_SECTIONS.at(value=requested, reason=reason)
        first, last = int(match[1]), int(match[2] or match[1])
        ranges.append((first, last))
        if last < first:
            reason = f"the range `{part}` ends before it begins"
            return codes.INVALID_SECTIONS.at(value=requested, reason=reason)
    return tuple(ranges)


def excerpt_of(text: str, path: str, requested: str) -> str | Diagnostic:
    """Return the requested passages in the order of their numbers, each under its `§n`.

    Return a diagnostic if a requested section is missing in the text at `path`: none is left out
    silently.
    """
    ranges = parse_section_ranges(requested)
    if isinstance(ranges, Diagnostic):
        return ranges
    found: dict[int, Passage] = {}
    for passage in passages_of(text):
        found.setdefault(passage[0], passage)
    source = SourceText.of(path, found)
    if source.is_empty:
        return NO_SECTION_NUMBERS.at(path=path)
    missing = [each for each in ranges if source.missing(*each) is not None]
    if missing:
        return _missing_sections(source, missing)
    return within_limit(
        "\n\n".join(_render_passage(*found[each]) for each in _numbers_in_ranges(ranges, found))
    )


def within_limit(excerpt: str) -> str | Diagnostic:
    """Return the excerpt, or a diagnostic if it is too long."""
    if len(excerpt) <= MOST_EXCERPT_CHARACTERS:
        return excerpt
    return codes.EXCERPT_TOO_LONG.at(length=len(excerpt), most=MOST_EXCERPT_CHARACTERS)


def passages_of(text: str) -> Iterator[Passage]:
    """Yield the numbered sections of a source text, in its order.

    Each ends at the next number, or at the end of its chapter. Headings without a number below its
    own level belong to it.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    headings = [block for block in parse_blocks(text) if block.kind is BlockKind.HEADING]
    numbers = _heading_numbers(headings)
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
        yield number, title, "\n".join(lines[heading.end : end]).strip("\n")


def _heading_numbers(headings: list[Block]) -> list[int | None]:
    """Return the number of each heading, as the linter reads it.

    If any number has the sign §, only those count: the others number chapters.
    """
    numbers = [_heading_number(heading.text) for heading in headings]
    signed = [heading.text.strip().startswith("§") for heading in headings]
    if not any(each is not None and sign for each, sign in zip(numbers, signed, strict=True)):
        return numbers
    return [each if sign else None for each, sign in zip(numbers, signed, strict=True)]


def _heading_number(heading: str) -> int | None:
    found = read_source_text(f"# {heading.strip()}", "").firsts
    return found[0] if found else None


def _numbers_in_ranges(ranges: Iterable[tuple[int, int]], found: Iterable[int]) -> Iterator[int]:
    """Yield the numbers that the ranges cover, each once, in order."""
    numbers = sorted(found)
    reached = 0
    for first, last in sorted(ranges):
        start = max(reached, bisect_left(numbers, first))
        reached = max(reached, bisect_right(numbers, last))
        yield from numbers[start:reached]


def _render_passage(number: int, title: str, text: str) -> str:
    head = f"**§{number}** {title}".rstrip()
    return f"{head}\n\n{text}" if text.strip() else head


# Excerpts of the evidence pack by their anchors: `EV-001#E1`, or `EV-001` for all of a record (R31)


_LIST_EVIDENCE = "Choose one that exists: `brenner evidence list`."


def excerpt_of_pack(pack: EvidencePack, anchors: Iterable[str]) -> tuple[str, list[Diagnostic]]:
    """Return the excerpts with these anchors, and an error for each that does not exist.

    Each is quoted below a line with its anchor, its title and its source. No line of an excerpt can
    be taken for such a line, since the excerpt is quoted once more.
    """
    parts: dict[str, str] = {}
    found: list[Diagnostic] = []
    for anchor in anchors:
        known = pack.find(anchor)
        if known is None:
            words = {"what": "`--evidence`", "anchor": anchor, "path": pack.path}
            unknown = UNKNOWN_EVIDENCE.at(None, known=pack.describe_known(anchor), **words)
            found.append(unknown._replace(fix=_LIST_EVIDENCE))
            continue
        record = known[0]
        names = [anchor.partition("#")[2]] if "#" in anchor else [*record.excerpts]
        about = f"{embed_text(one_line(record.title))} ({one_line(record.source)})"
        if not names:
            parts.setdefault(record.id, f"**{record.id}** {about}")
        for name in names:
            head = f"**{record.id}#{name}** {about}"
            parts.setdefault(
                f"{record.id}#{name}", f"{head}\n\n{quote_text(record.excerpts[name])}"
            )
    return "\n\n".join(parts.values()), found


def _range_text(first: int, last: int) -> str:
    return f"§{first}" if first == last else f"§{first}-{last}"


def _missing_sections(source: SourceText, wanted: list[tuple[int, int]]) -> Diagnostic:
    missing = []
    for first, last in wanted[:_MOST_LISTED]:
        of_range = f" (of {_range_text(first, last)})" if first != last else ""
        missing.append(f"§{source.missing(first, last)}{of_range}")
    more = len(wanted) - len(missing)
    if more:
        missing.append(f"{more} more")
    known = list(map(_range_text, source.firsts[:_MOST_LISTED], source.lasts[:_MOST_LISTED]))
    known += ["…"] * (len(source.firsts) > _MOST_LISTED)
    return codes.UNKNOWN_SECTION_NUMBER.at(
        path=source.path, missing=", ".join(missing), known=", ".join(known)
    )
