"""The headings of an artifact: written as the layout has them, read as others write them, too.

`### H1: Name`, `### T1: Name (Score: 9/12)`, `### H3: Name (Third Alternative)`, and killed
`### ~~H2: Name~~ [KILLED]`. What looks like such an ending in a name is escaped there.
"""

import re
from typing import NamedTuple

from brenner.artifact.kill_marks import KILLED, escape_marks, read_marks
from brenner.artifact.layout import LAYOUT, TITLE, Layout
from brenner.artifact.model import Item
from brenner.markdown.escape import escape_also, escape_heading, escape_word, split_key, unescape
from brenner.protocol.delta.schema import (
    DISCRIMINATIVE_TESTS,
    HYPOTHESIS_SLATE,
    MOST_SCORE,
    SCORE_PARTS,
    SECTION_ALIASES,
    Section,
)
from brenner.protocol.grammar import ITEM_ID

THIRD_ALTERNATIVE = "Third Alternative"
MOST_POINTS = MOST_SCORE * len(SCORE_PARTS)

_POINTS = r"score:?[ \t]*([0-9]{1,3})[ \t]*/[ \t]*12\)"
_ENDING_IN_NAME = re.compile(
    rf"\\.|\((?=score:|{_POINTS}|third alternative\))", re.IGNORECASE | re.DOTALL
)
# Blanks, from the first of them, or nothing, and then no escape.
_GAP = r"(?:(?<![ \t])[ \t]++|(?<![ \t\\]))"
_SCORE = re.compile(rf"{_GAP}\({_POINTS}\Z", re.IGNORECASE)
_THIRD = re.compile(rf"{_GAP}\(Third Alternative\)\Z", re.IGNORECASE)


# Writing


def title_heading(session_id: str | None) -> str:
    """The title of the document."""
    return f"# {TITLE}: {escape_heading(session_id)}" if session_id else f"# {TITLE}"


def item_heading(section: Section, item: Item) -> str:
    """The heading of an item."""
    name = item.text("name")
    text = f"{escape_word(item.id)}:"
    if name:
        escaped = escape_heading(name)
        if "(" in escaped:
            escaped = escape_also(escaped, _ENDING_IN_NAME)
        text = f"{text} {escape_marks(escaped)}"
    if section is DISCRIMINATIVE_TESTS and item.score:
        text = f"{text} {_score_ending(sum(item.score.values()))}"
    elif section is HYPOTHESIS_SLATE and "third_alternative" in item.fields and not says_so(name):
        text = f"{text} ({THIRD_ALTERNATIVE})"
    return f"### ~~{text}~~ {KILLED}" if item.killed else f"### {text}"


def _score_ending(points: int) -> str:
    return f"(Score: {points}/{MOST_POINTS})"


def says_so(name: str) -> bool:
    """Whether a name says by itself that it is the third alternative."""
    return THIRD_ALTERNATIVE.casefold() in name.casefold()


# Reading


class ItemHeading(NamedTuple):
    """What the heading of an item says; the ID is empty where there is none.

    `name` is still escaped. `is_form` and `is_kill_form` tell whether the ID and the marks of a
    kill are written as we write them; `kill_words` are what the marks say of who, when and why.
    """

    id: str
    name: str
    is_form: bool
    is_killed: bool
    is_kill_form: bool
    kill_words: str


def read_item_heading(raw: str) -> ItemHeading:
    """Take a heading apart."""
    marks = read_marks(raw)
    is_ours = marks.is_struck and not marks.is_odd and marks.mark == KILLED
    return ItemHeading(
        *_split(marks.rest), marks.is_killed, is_ours or not marks.is_killed, marks.words
    )


class Name(NamedTuple):
    """A name, and what the heading says after it; `is_form`: in our words."""

    text: str
    score: int | None = None
    is_third: bool = False
    is_form: bool = True


def read_name(section: Section, raw: str) -> Name:
    """The name in a heading of this section, without the endings that such headings have."""
    score = _SCORE.search(raw) if section is DISCRIMINATIVE_TESTS else None
    third = _THIRD.search(raw) if section is HYPOTHESIS_SLATE else None
    ending = score or third
    text = unescape(raw[: ending.start()] if ending else raw)
    points = int(score[1]) if score else None
    is_form = points is None or raw.endswith(_score_ending(points))
    return Name(text, points, third is not None, is_form)


# A number, or a sign, before the ID; the ID, or all, in bold or as code. No ID of ours holds a
# blank, and its asterisks and backticks are escaped.
_ODD_START = re.compile(r"(?:[0-9]{1,3}[.)]|[^\w\s:*`~\\]{1,3})[ \t]+(?=[HPTAXC][1-9])")
_ODD_ID = re.compile(r"(\*\*|__|`)([^*_`]+)\1")


def _split(text: str) -> tuple[str, str, bool]:
    """The ID, the name, and whether they are written as `H1: Name`.

    Others write `H1 - Name`, `H1. Name`, `H1` alone, `**H1**: Name`, `1. H1: Name`.
    """
    odd = _ODD_START.match(text) or _ODD_ID.match(text)
    if odd:
        text = text[odd.end() :] if odd.lastindex is None else odd[2] + text[odd.end() :]
    parts = split_key(text)
    if parts and not re.search(r"\s", parts[0]):
        return unescape(parts[0]), parts[1], odd is None
    word = re.match(r"[A-Z]+[0-9]*", text)
    after = text[word.end() :] if word else ""
    if word and ITEM_ID.fullmatch(word[0]) and not re.match(r"\w|[.,/'’-]\w", after):
        return word[0], after.lstrip(" \t.:)–—-"), False
    return "", text, True


_NUMBERED = re.compile(r"(?:section[ \t]+)?[0-9]*[ \t]*[.):–—-]*[ \t]*(.*?)[ \t]*:?", re.IGNORECASE)
_BY_WORDS = {layout.heading.partition(". ")[2].casefold(): layout for layout in LAYOUT}
_BY_WORDS |= {layout.section.id.replace("_", " "): layout for layout in LAYOUT}
_BY_WORDS |= {
    alias: layout
    for alias, section_id in SECTION_ALIASES.items()
    for layout in LAYOUT
    if layout.section.id == section_id
}


def read_section_heading(raw: str) -> Layout | None:
    """The section that a heading names, whether or not it has its number."""
    words = re.sub(r"[*_`]", " ", raw[:100]).strip()
    match = _NUMBERED.fullmatch(words)
    return _BY_WORDS.get(" ".join(match[1].casefold().split())) if match else None
