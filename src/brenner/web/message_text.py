"""What is shown of a long text first, what two letters share, and what an ACK says in a line."""

import json
from itertools import pairwise
from typing import NamedTuple

from markupsafe import Markup

from brenner.artifact.html import lines_html
from brenner.markdown.blocks import Block, Kind, blocks
from brenner.protocol.body import find_section, sections
from brenner.text import cut
from brenner.web.markdown_parser import words_of

_MOST_LINES, _MOST_CHARACTERS = 30, 2_400  # of a text that is not folded
_EXCERPT = 240
_MOST_LOOKED_AT = 400
# The sections of a COMPILED, CRITIQUE, BLOCKED or QUESTION that say what it is about
_TELLING = ("Summary", "Attack", "Blocker", "Question")
_CHAPTER = 2  # the level of headings that part a letter
_MOST_ACK = 400


class Acknowledged(NamedTuple):
    """What an ACK says, where it says no more than that."""

    status: str
    notes: str


def is_long(text: str) -> bool:
    """Whether a text is folded where many stand below each other."""
    return len(text) > _MOST_CHARACTERS or text.count("\n") > _MOST_LINES


def excerpt(found: list[Block]) -> str:
    """The first words of a text that are neither a heading nor code; where it says what matters,
    of that.
    """
    under = sections(found)
    told = next(filter(None, (find_section(under, name) for name in _TELLING)), None)
    within = told.contents if told else found
    paragraphs = (each.text for each in within if each.kind is Kind.PARAGRAPH and each.text.strip())
    words = words_of(next(paragraphs, "")[:_MOST_LOOKED_AT])
    return cut(words, _EXCERPT)


def acknowledged(body: str) -> Acknowledged | None:
    """An ACK that fits in a line; None where it says anything that the line would leave out."""
    found = blocks(body) if len(body) <= _MOST_ACK else []
    under = sections(found)
    status, notes = find_section(under, "Status"), find_section(under, "Notes")
    is_usual = {each.key for each in under} <= {"message id", "status", "notes"}
    is_prose = all(each.kind in (Kind.HEADING, Kind.PARAGRAPH) for each in found)
    before = found[: next((n for n, each in enumerate(found) if each.level > 1), 0)]
    if status is None or not is_usual or not is_prose or any(not each.level for each in before):
        return None
    said = [each.text.strip() for each in notes.contents] if notes else []
    return Acknowledged(" ".join(each.text.strip() for each in status.contents), " ".join(said))


class Chapter(NamedTuple):
    """A heading with all that stands under it; what stands before the first has no title."""

    title: str
    text: str


def chapters(body: str) -> list[Chapter]:
    """A text by its headings of the first two levels; together they are the text."""
    headings = [
        each
        for each in blocks(body)
        if each.kind is Kind.HEADING and each.level <= _CHAPTER and not each.nested
    ]
    lines = [f"{line}\n" for line in body.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    starts = [0, *(each.line - 1 for each in headings), len(lines)]
    titles = ["", *(each.text.strip() for each in headings)]
    return [
        Chapter(name, "".join(lines[start:end]))
        for name, (start, end) in zip(titles, pairwise(starts), strict=True)
    ]


def shared(body: str, first: str) -> list[str]:
    """The titles of what two texts have in common, word for word."""
    known = set(chapters(first))
    return [each.title for each in chapters(body) if each in known and each.title]


def own_part(body: str, first: str) -> str:
    """What a text has that the first has not."""
    known = set(chapters(first))
    return "".join(each.text for each in chapters(body) if each not in known)


def formatted(value: object) -> Markup:
    """A value as JSON that one can read, for `pre`."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return Markup(lines_html(text))  # noqa: S704  (escaped)
