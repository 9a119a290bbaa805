"""The sections of a body: Markdown headings of level 2 or deeper (ruling R3)."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from brenner.markdown.blocks import Block, Kind

_TITLE_LEVEL = 1
_BOX = re.compile(r"\[([ \t]*|[xX])\][ \t]*(.*)", re.DOTALL)  # of a checklist, with its text
_EMPHASIS = re.compile(r"[*_`]")
_DECORATION = re.compile(r"\s*(?:\(optional\))?\s*:?\s*(?:\(optional\))?\s*\Z", re.IGNORECASE)


class Section(NamedTuple):
    """A heading, its name as compared, and what stands under it, deeper sections included."""

    name: str
    key: str
    line: int
    contents: tuple[Block, ...]

    @property
    def has_text(self) -> bool:
        """Whether anything stands in it that a reader would see."""
        return any(map(is_seen, self.contents))

    @property
    def first_line(self) -> str:
        """The first line of its first paragraph, where a listed value or a name stands."""
        return next(self._lines(), "")

    @property
    def chosen_line(self) -> str:
        """The line that its author means: the first; of a checklist the first that is ticked."""
        first = self.first_line
        if not _BOX.match(first):
            return first
        boxes = map(_BOX.match, self._lines())
        return next((each[2] for each in boxes if each and each[1].strip()), "")

    def _lines(self) -> Iterator[str]:
        for block in self.contents:
            if block.kind is Kind.PARAGRAPH and not block.quoted:
                yield from (line.strip() for line in block.text.strip().split("\n"))


def normalised(name: str) -> str:
    """A section's name as compared: case, emphasis, a trailing colon, `(optional)` aside."""
    return _DECORATION.sub("", _EMPHASIS.sub("", name[:200])).strip().casefold()


def sections(blocks: list[Block]) -> list[Section]:
    """All sections, in order. A section ends at the next heading that is not deeper."""
    headings = [
        (index, block)
        for index, block in enumerate(blocks)
        if block.kind is Kind.HEADING and not block.quoted
    ]
    ends = _ends(headings, len(blocks))
    return [
        Section(block.text, normalised(block.text), block.line, tuple(blocks[index + 1 : end]))
        for (index, block), end in zip(headings, ends, strict=True)
        if block.level > _TITLE_LEVEL
    ]


def _ends(headings: list[tuple[int, Block]], last: int) -> list[int]:
    """For each heading the index of the next one of its level or above, found from the back."""
    ends = []
    following: dict[int, int] = {}
    for index, block in reversed(headings):
        ends.append(
            min((at for level, at in following.items() if level <= block.level), default=last)
        )
        following = {level: at for level, at in following.items() if level < block.level}
        following[block.level] = index
    return ends[::-1]


def find_section(found: list[Section], name: str) -> Section | None:
    """The first section of that name that has text."""
    wanted = normalised(name)
    for section in found:
        if section.key == wanted and section.has_text:
            return section
    return None


def title(blocks: list[Block]) -> Block | None:
    """The first heading of level 1 that has text."""
    for block in blocks:
        is_title = block.kind is Kind.HEADING and block.level == _TITLE_LEVEL
        if is_title and not block.quoted and block.text.strip():
            return block
    return None


def is_seen(block: Block) -> bool:
    """Whether a reader sees any text in it, a heading aside."""
    if block.kind is Kind.HEADING:
        return False
    text = block.text.strip()
    return bool(_without_comments(text) if block.kind is Kind.HTML else text)


def _without_comments(html: str) -> str:
    """What is left behind the HTML comments at the start, which no reader sees."""
    position = 0
    while html.startswith("<!--", position):
        end = html.find("-->", position + 4)
        if end < 0:
            return ""
        position = end + 3
        while position < len(html) and html[position].isspace():
            position += 1
    return html[position:]
