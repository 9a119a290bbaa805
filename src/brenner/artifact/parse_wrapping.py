"""Where in a text the artifact stands: language models put prose before it and fences around it.

The lines keep their numbers. A second artifact in the same text is found here, too.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from brenner.artifact.headings import read_section_heading
from brenner.artifact.layout import LAYOUT, TITLE
from brenner.artifact.notes import Notes
from brenner.diagnostics.codes import artifacts as codes
from brenner.markdown.blocks import Block, Kind, closes
from brenner.text import counted

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*(?:markdown|md|text|yaml)?[ \t]*", re.IGNORECASE)
_QUOTED = re.compile(r" {0,3}>[ ]?")
_KEY = re.compile(r"[\"']?[A-Za-z_][\w -]{0,60}[\"']?[ \t]*:(?:[ \t]|\Z)")
_HEADING = re.compile(r" {0,3}#{1,2}[ \t]+(.*?)[ \t#]*")
_SECTION_LEVEL = 2
_MOST_LAYERS = 3
_LONGEST_MATTER = 500


class Document(NamedTuple):
    """The lines of the text, and which of them, from `first` up to `last`, are the artifact."""

    lines: list[str]
    first: int
    last: int
    layers: tuple[str, ...] = ()


# What is around it, and what is to be taken away.
_LAYERS = {
    "in a code fence": "the fence",
    "after other lines": "the lines before it",
    "in a quotation": "the `>`",
}


def find_document(text: str) -> Document:
    """The artifact in a text whose lines end in LF."""
    lines = text.split("\n")
    document = Document(lines, 0, len(lines))
    for _ in range(_MOST_LAYERS):
        is_found = document.lines[document.first].rstrip() == "---"
        inner = None if is_found else _inside(document)
        if inner is None:
            break
        document = inner
    return document


def _inside(document: Document) -> Document | None:
    """What is left without the outermost of the layers."""
    return _in_fence(document) or _in_quotation(document) or _after_lines(document)


def tell_wrapping(document: Document, notes: Notes) -> None:
    """One warning, whatever is around the artifact."""
    if not document.layers:
        return
    outside = [*document.lines[: document.first], *document.lines[document.last :]]
    count = sum(1 for line in outside if line.strip() and not _FENCE.fullmatch(line))
    words = {
        "where": " and ".join(document.layers),
        "what": " and ".join(_LAYERS[layer] for layer in document.layers),
        "first": str(document.first + 1),
        "outside": f" Not read: {counted(count, 'line')} of other text around it." if count else "",
    }
    notes.add(codes.WRAPPED_ARTIFACT, 1, **words)


def _begins_matter(lines: Sequence[str], index: int) -> bool:
    """Whether front matter begins on this line."""
    following = lines[index + 1] if index + 1 < len(lines) else ""
    is_fence = lines[index].rstrip() == "---"
    return is_fence and (_KEY.match(following) is not None or following.rstrip() == "---")


def _begins(lines: Sequence[str], index: int) -> bool:
    """Whether an artifact may begin on this line."""
    match = _HEADING.fullmatch(lines[index])
    if match:
        return match[1].startswith(TITLE) or read_section_heading(match[1]) is not None
    return _begins_matter(lines, index)


def _is_heading(line: str) -> bool:
    return _HEADING.fullmatch(line) is not None


def _next(lines: Sequence[str], index: int, last: int) -> int | None:
    """The next line that is not blank."""
    return next((at for at in range(index, last) if lines[at].strip()), None)


def _in_fence(document: Document) -> Document | None:
    lines, first, last, layers = document
    for index in range(first, last):
        if _is_heading(lines[index]):
            return None
        opening = _FENCE.fullmatch(lines[index])
        inside = _next(lines, index + 1, last) if opening else None
        if opening is None or inside is None or not _begins(lines, inside):
            continue
        ends = [
            at
            for at in range(inside, last)
            if opening[1][0] in lines[at] and closes(lines[at].strip(), opening[1])
        ]
        end = ends[0] if ends else last
        # A fence inside the artifact, as long as the one around it, has not ended the artifact.
        if any(_is_heading(line) and _begins([line], 0) for line in lines[end + 1 : last]):
            end = ends[-1]
        return Document(lines, inside, end, (*layers, "in a code fence"))
    return None


def _in_quotation(document: Document) -> Document | None:
    lines, first, last, layers = document
    start = next((at for at in range(first, last) if _QUOTED.match(lines[at])), last)
    if any(map(_is_heading, lines[first:start])):
        return None
    end = next(
        (at for at in range(start, last) if lines[at].strip() and not _QUOTED.match(lines[at])),
        last,
    )
    inner = [_QUOTED.sub("", line, count=1) for line in lines[start:end]]
    inside = _next(inner, 0, len(inner))
    if inside is None or not _begins(inner, inside):
        return None
    all_lines = [*lines[:start], *inner, *lines[end:]]
    return Document(all_lines, start + inside, end, (*layers, "in a quotation"))


def _after_lines(document: Document) -> Document | None:
    lines, first, last, layers = document
    for index in range(first, last):
        if _is_heading(lines[index]):
            return None
        if _begins_matter(lines, index):
            return Document(lines, index, last, (*layers, "after other lines"))
    return None


# Two of them


def second_artifact(blocks: Sequence[Block], lines: Sequence[str], before: int) -> int | None:
    """The line on which another artifact begins: its front matter, its title or first section.

    `before` is how many lines stand before those that the blocks count.
    """
    sections: set[str] = set()
    for block in blocks:
        if block.kind is not Kind.HEADING or block.nested:
            continue
        layout = read_section_heading(block.text) if block.level <= _SECTION_LEVEL else None
        is_title = block.level == 1 and block.text.startswith(TITLE)
        is_first_again = layout is LAYOUT[0] and LAYOUT[-1].section.id in sections
        if sections and (is_title or is_first_again):
            return _start(lines, block.line + before)
        if layout:
            sections.add(layout.section.id)
    return None


def _start(lines: Sequence[str], line: int) -> int:
    """The line of the front matter that stands right above this one, or else this line."""
    above = line - 1
    while above > 0 and not lines[above - 1].strip():
        above -= 1
    if above and lines[above - 1].rstrip() == "---":
        for opening in range(above - 1, max(0, above - _LONGEST_MATTER), -1):
            if lines[opening - 1].rstrip() == "---":
                return opening if _begins_matter(lines, opening - 1) else line
    return line
