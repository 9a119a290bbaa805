"""The headings of an artifact: written as the layout has them, read as others write them, too.

`### H1: Name`, `### T1: Name (Score: 9/12)`, `### H3: Name (Third Alternative)`, and killed
`### ~~H2: Name~~ [KILLED]`. What looks like such an ending in a name is escaped there.
"""

import re
from typing import NamedTuple

from brenner.artifact.layout import LAYOUT, TITLE, Layout
from brenner.artifact.model import Item
from brenner.delta.schema import (
    DISCRIMINATIVE_TESTS,
    HYPOTHESIS_SLATE,
    MOST_SCORE,
    SCORE_PARTS,
    SECTION_ALIASES,
    Section,
)
from brenner.grammar import ITEM_ID
from brenner.markdown.escaping import (
    escape_also,
    escape_heading,
    escape_word,
    split_key,
    unescape,
    unstruck,
)

THIRD_ALTERNATIVE = "Third Alternative"
KILLED = "[KILLED]"
MOST_POINTS = MOST_SCORE * len(SCORE_PARTS)

_ENDING_IN_NAME = re.compile(
    r"\\.|\((?=score:|third alternative\))|\[(?=killed\])", re.IGNORECASE | re.DOTALL
)
# Blanks, from the first of them, or nothing, and then no escape.
_GAP = r"(?:(?<![ \t])[ \t]++|(?<![ \t\\]))"
_SCORE = re.compile(_GAP + r"\(Score: ?([0-9]{1,3}) ?/ ?12\)\Z", re.IGNORECASE)
_THIRD = re.compile(_GAP + r"\(Third Alternative\)\Z", re.IGNORECASE)
_ENDING_OUTSIDE = re.compile(r"~~[ \t]*+(\((?:Score|Third)[^()]*\))\Z", re.IGNORECASE)


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
        if "(" in escaped or "[" in escaped:
            escaped = escape_also(escaped, _ENDING_IN_NAME)
        text = f"{text} {escaped}"
    if section is DISCRIMINATIVE_TESTS and item.score:
        text = f"{text} (Score: {sum(item.score.values())}/{MOST_POINTS})"
    elif section is HYPOTHESIS_SLATE and "third_alternative" in item.fields and not says_so(name):
        text = f"{text} ({THIRD_ALTERNATIVE})"
    return f"### ~~{text}~~ {KILLED}" if item.killed else f"### {text}"


def says_so(name: str) -> bool:
    """Whether a name says by itself that it is the third alternative."""
    return THIRD_ALTERNATIVE.casefold() in name.casefold()


# Reading


class ItemHeading(NamedTuple):
    """What the heading of an item says; the ID is empty where there is none.

    `name` is still escaped. `is_form` and `is_kill_form` tell whether the ID and the marks of a
    kill are written as we write them.
    """

    id: str
    name: str
    is_form: bool
    is_killed: bool
    is_kill_form: bool


def read_item_heading(raw: str) -> ItemHeading:
    """Take a heading apart."""
    rest, is_killed, is_kill_form = _without_kill(raw)
    return ItemHeading(*_split(rest), is_killed, is_kill_form)


class Name(NamedTuple):
    """A name, and what the heading says after it."""

    text: str
    score: int | None = None
    is_third: bool = False


def read_name(section: Section, raw: str) -> Name:
    """The name in a heading of this section, without the endings that such headings have."""
    score = _SCORE.search(raw) if section is DISCRIMINATIVE_TESTS else None
    third = _THIRD.search(raw) if section is HYPOTHESIS_SLATE else None
    ending = score or third
    text = unescape(raw[: ending.start()] if ending else raw)
    return Name(text, int(score[1]) if score else None, third is not None)


def _without_kill(raw: str) -> tuple[str, bool, bool]:
    """The heading without the marks of a kill, whether it has any, and whether they are ours."""
    rest = raw.strip(" \t")
    is_marked = _ends_in_mark(rest)
    if is_marked:
        rest = rest[: -len(KILLED)].rstrip(" \t")
    elif rest[: len(KILLED)].upper() == KILLED:
        inner = rest[len(KILLED) :].strip(" \t:")
        return unstruck(inner) or inner, True, False
    if rest.startswith("~~") and (ending := _ENDING_OUTSIDE.search(rest)):
        return f"{rest[2 : ending.start()]} {ending[1]}", True, False
    inner = unstruck(rest) or ""
    if _ends_in_mark(inner):
        return inner[: -len(KILLED)].rstrip(" \t"), True, False
    return (inner, True, is_marked) if inner else (rest, is_marked, not is_marked)


def _ends_in_mark(text: str) -> bool:
    return text[-len(KILLED) :].upper() == KILLED and text[-len(KILLED) - 1 : -len(KILLED)] != "\\"


def _split(text: str) -> tuple[str, str, bool]:
    """The ID, the name, and whether they are written as `H1: Name`.

    Others write `H1 - Name`, `H1. Name`, `H1` alone, `**H1**: Name`.
    """
    bold = re.fullmatch(r"\*\*([^*]+)\*\*(.*)", text)
    if bold:
        text = bold[1] + bold[2]
    parts = split_key(text)
    if parts and not re.search(r"\s", parts[0]):
        return unescape(parts[0]), parts[1], bold is None
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
