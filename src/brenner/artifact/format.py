"""The text forms shared by rendering and parsing an artifact: kill marks, field values,
headings.

Each form is written and read here. The file also contains the front matter as `Metadata`, the notes
that parsing collects, and the result types of parsing.
"""

from __future__ import annotations

import json
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from brenner.artifact.model import (
    JSON,
    LAYOUT,
    SCORE_LABELS,
    TITLE,
    Artifact,
    Item,
    KillRecord,
    Metadata,
    Reference,
    SectionLayout,
    item_sort_key,
)
from brenner.diagnostics.codes import artifacts as codes
from brenner.lazy_pattern import lazy_pattern
from brenner.markdown.escape import (
    character_reference,
    escape,
    escape_heading,
    escape_more,
    escape_word,
    split_key,
    split_list,
    unescape,
)
from brenner.markdown.front_matter import FrontMatter, render_front_matter
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.schema import (
    DISCRIMINATIVE_TESTS,
    HYPOTHESIS_SLATE,
    MOST_SCORE,
    SCORE_PARTS,
    SECTION_ALIASES,
    Section,
)
from brenner.protocol.grammar import ANCHOR, ISO_TIME, ITEM_ID
from brenner.text import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from brenner.diagnostics.model import Code, Diagnostic

# Kill marks
#
# We write `~~…~~` and `[KILLED]`. Other programs write `(KILLED)`, `[KILLED by RedCreek
# 2025-12-30: vague]`, `— killed by RedCreek`, `<del>…</del>`, strike the ID or the name alone, or
# write `Killed by …` on a line of its own. The word alone is not a mark: `Killed cells re-enter
# the cycle` is a name. The patterns below also escape a text of ours that looks like a mark, so
# that it is parsed as text again.

KILLED_MARK = "[KILLED]"

# The word at the end of the text, or followed by agent, time or reason
_KILLED_PATTERN = r"""killed
    (?: (?= [*_`~]*+ (?: \.?[ \t]*+ (?:\Z|[\])]) | : | [ \t]++[–—-]
              | ,?[ \t]*+ (?: by[ \t]++(?-i:[A-Z@])
                          | (?:(?:on|at)[ \t]++|\()?[0-9]{4}-?[0-9]{2} ) ) )
      | (?<= (?-i:KILLED) ) (?= [ \t]++by\b ) )"""
_NESTED_BRACKETS = r"((?: [^()\[\]] | \([^()]*\) | \[[^\[\]]*\] )*+)"
_IN_BRACKETS = lazy_pattern(rf"(?axi) (?<!\\)\[[ \t]*+{_KILLED_PATTERN}{_NESTED_BRACKETS}\]\Z")
_IN_PARENTHESES = lazy_pattern(
    rf"(?axi) (?<=[ \t])\([ \t]*+{_KILLED_PATTERN}{_NESTED_BRACKETS}\)\Z"
)
_AFTER_DASH = lazy_pattern(rf"(?axi) (?<=[ \t])(?:[–—]|-{{1,3}})[ \t]*+{_KILLED_PATTERN}(.*)\Z")
_KILL_ENDINGS = (_IN_BRACKETS, _IN_PARENTHESES, _AFTER_DASH)
# Our IDs end in a colon and contain no unescaped space.
_LEADING_MARK = lazy_pattern(
    r"(?ai)(?:\[killed\b([^\[\]]*)\][ \t]*+:?"
    r"|\(killed\b([^()]*)\)(?=[ \t]+[*~`]*[A-Z]+[0-9]))[ \t]*"
)
_STRIKE_TAG = lazy_pattern(r"(?ai)(?<!\\)</?(?:del|s|strike)>")
_STRUCK = r"~~((?:\\.|[^\\~]|~(?!~))++)~~"
_STRUCK_FIRST = lazy_pattern(rf"{_STRUCK}[ \t]*+(.*)\Z", re.DOTALL)
_STRUCK_NAME = lazy_pattern(rf"([^\s~]++(?:[ \t]++[:.–—-])?)[ \t]*+{_STRUCK}\Z", re.DOTALL)
_ID_FIRST = lazy_pattern(r"[*`]{0,3}(?:[HPTAXC][1-9][0-9]{0,8}|RT)\b")
_SUFFIX = lazy_pattern(r"(?ai)(?<![ \t\\])[ \t]*+\((?:score|third)[^()]*\)\Z")


class KillMarks(NamedTuple):
    """A heading or row ID without its kill marks.

    `mark` is the mark that was removed, such as `[KILLED]`; `words` is what the marks contain
    beyond the word. `is_nonstandard` means that the text is not struck through as a whole by `~~`,
    or that the mark is inside the strike-through. It says nothing about the form of `mark`.
    """

    rest: str
    is_killed: bool = False
    is_struck: bool = False
    is_nonstandard: bool = False
    mark: str = ""
    words: str = ""


def read_kill_marks(raw: str) -> KillMarks:
    """Remove the kill marks. Keep the endings that headings have."""
    rest = raw.strip(" \t")
    if "~~" not in rest and "<" not in rest and "killed" not in rest.lower():
        return KillMarks(rest)
    plain = _STRIKE_TAG.sub("~~", rest)
    rest, mark, words = _without_mark(plain)
    struck = _without_strike(rest)
    inner, second, more = _without_mark(struck.rest)
    is_killed = struck.is_killed or bool(mark or second)
    is_odd = is_killed and (struck.is_nonstandard or plain != raw.strip(" \t") or bool(second))
    all_words = " ".join(filter(None, (words, more, struck.words)))
    return KillMarks(inner, is_killed, struck.is_struck, is_odd, mark or second, all_words)


def _without_mark(text: str) -> tuple[str, str, str]:
    """Return the text without `[KILLED]` or similar, the mark, and the other words in the mark."""
    if "killed" not in text.lower():
        return text, "", ""
    leading = _LEADING_MARK.match(text)
    if leading and leading.end() < len(text):
        return text[leading.end() :], leading[0].strip(), leading[1] or leading[2] or ""
    body, ending = _split_suffix(text)
    for pattern in _KILL_ENDINGS:
        if found := pattern.search(body):
            return body[: found.start()].rstrip(" \t") + ending, found[0], found[1]
    return text, "", ""


def _split_suffix(text: str) -> tuple[str, str]:
    """Split `(Score: …)` or `(Third Alternative)` off the end of a heading."""
    suffix = _SUFFIX.search(text)
    return (text[: suffix.start()], suffix[0]) if suffix else (text, "")


def _without_strike(text: str) -> KillMarks:
    """Return the text without `~~`, around all of it or around the ID or the name alone."""
    if "~~" not in text:
        return KillMarks(text)
    body, ending = _split_suffix(text)
    first, named = _STRUCK_FIRST.match(body), _STRUCK_NAME.fullmatch(body)
    if named:
        rest, words = f"{named[1]} {named[2]}", ""
    elif first and not first[2]:
        return KillMarks(
            first[1] + ending, is_killed=True, is_struck=True, is_nonstandard=bool(ending)
        )
    elif first and ITEM_ID.fullmatch(first[1].strip("*` ")):
        after = first[2].lstrip(" \t:")
        name = _STRUCK_FIRST.match(after)
        rest, words = f"{first[1]}: {name[1] if name and not name[2] else after}", ""
    elif first and _ID_FIRST.match(first[1]):
        rest, words = first.groups()
    else:
        return KillMarks(text)
    return KillMarks(
        rest + ending, is_killed=True, is_struck=True, is_nonstandard=True, words=words
    )


# Agent, time and reason of a kill

_LEAD_IN = lazy_pattern(r"(?ai)(?:(?:yes|true|killed)\b)?[\s,;:.()*_–—-]*")
_BY = lazy_pattern(
    r"(?ai)by:?\s+(.{1,80}?)(?=\s*(?:[,;:(–—\n]|\s-\s|\Z)|\.\s*\Z|\s+(?:on|at|because|[0-9]{4}-))"
)
_WHEN = lazy_pattern(rf"(?ai)(?:(?:on|at)\s+|\()?({ISO_TIME.pattern})(?![0-9])\)?")
_SEPARATOR = lazy_pattern(r"(?ai)[\s,;:.)–—-]*(?:(?:because|since)\b[\s,:]*)?")


def read_kill_words(raw: str) -> KillRecord:
    """Parse agent, time and reason, as far as possible: ` by RedCreek (2025-12-30): too vague`."""
    text = unescape(raw).strip().strip("*_~").strip()
    agent = at = ""
    position = _match_end(_LEAD_IN, text, 0)
    while True:
        if not agent and (by := _BY.match(text, position)):
            agent = by[1].strip("*_`~ ")
            found = by
        elif not at and (when := _WHEN.match(text, position)):
            at = when[1]
            found = when
        else:
            return KillRecord(agent, at, text[position:].strip())
        position = _match_end(_SEPARATOR, text, found.end())


def _match_end(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


# Lines and statuses that mark an item as killed

_KILLED_LINE = lazy_pattern(rf"(?axi) [*_~\[(]{{0,6}}{_KILLED_PATTERN}(.*)", re.DOTALL)
_KILLED_STATUS = lazy_pattern(rf"(?axi) [*_`~]{{0,6}}{_KILLED_PATTERN}(.*)", re.DOTALL)


def read_killed_line(line: str) -> str | None:
    """Return the content of a line such as `*Killed by RedCreek: too vague*`, else None."""
    match = _KILLED_LINE.match(line)
    return match[1].rstrip("*_~)] \t") if match else None


def read_killed_status(raw: str) -> str | None:
    """Return what a status such as `KILLED` contains beyond the word, else None."""
    match = _KILLED_STATUS.match(raw)
    return match[1].strip("*_`~ \t") if match else None


# Escaping kill marks in our own texts

_KILL_MARK_IN_NAME = lazy_pattern(rf"(?axis) \\. | [\[(](?=[ \t]*+{_KILLED_PATTERN})")
_DASH_IN_NAME = lazy_pattern(
    rf"(?axi) ((?<![^ \t])(?:[–—]|-{{1,3}})[ \t]*+)(k)(?={_KILLED_PATTERN[1:]})"
)


def escape_kill_marks(escaped: str) -> str:
    """Escape everything in an already escaped name that would be read as a kill mark."""
    if "killed" not in escaped.lower():
        return escaped
    escaped = escape_more(escaped, _KILL_MARK_IN_NAME)
    return _DASH_IN_NAME.sub(lambda mark: f"{mark[1]}{character_reference(mark[2])}", escaped)


def escape_killed_status(escaped: str) -> str:
    """Escape an already escaped status so that it does not mark the item as killed."""
    if read_killed_status(escaped) is None:
        return escaped
    return f"{character_reference(escaped[0])}{escaped[1:]}"


# Field values

TRUE = "true"
_COMMA = lazy_pattern(r"\\.|,", re.DOTALL)
_COMMA_OR_BRACKET = lazy_pattern(r"\\.|[,\[]", re.DOTALL)


# Texts


def format_text(label: str, text: str) -> str:
    """Escape a text. A status `KILLED` needs more, because other programs mark killed items so."""
    return escape_killed_status(escape(text)) if is_status(label) else escape(text)


def is_status(label: str) -> bool:
    """Return whether a label belongs to some status field."""
    return label.casefold().endswith("status")


# Lists on one line: §42, §45-47, [external: Smith, 2020]


def format_list(values: tuple[str, ...]) -> str:
    """Join anchors or item IDs with commas."""
    return ", ".join(map(_format_element, values))


def _format_element(value: str) -> str:
    if value.isalnum():
        return value
    if not ANCHOR.fullmatch(value):
        return escape_more(escape(value), _COMMA_OR_BRACKET)
    # A comma in the brackets of `[external: Smith, 2020]` is not a separator.
    return escape(value) if value[0] == "[" else escape_more(escape(value), _COMMA)


def read_list(raw: str) -> tuple[str, ...]:
    """Split a comma-separated list."""
    return tuple(unescape(part) for part in split_list(raw) if part)


_OUTCOME = lazy_pattern(rf"(?:\*\*)?{ITEM_ID.pattern}(?:\*\*)?[ \t]*:")

# Lists with one entry per line: H1: text; refines RS-20251228-initial H2


def format_outcome(key: str, outcome: str) -> str:
    return f"{escape_word(key)}: {escape(outcome, '  ')}"


def sort_outcomes(outcomes: Mapping[str, str]) -> list[tuple[str, str]]:
    """Sort outcomes by the number of their hypothesis."""
    return sorted(outcomes.items(), key=lambda pair: item_sort_key(pair[0]))


def read_outcome(raw: str) -> tuple[str, str] | None:
    """Parse the hypothesis and the outcome. Other programs put the hypothesis in bold."""
    bold = re.match(r"\*\*([^*:\s]+)(?::\*\*|\*\*:)[ \t]*", raw)
    parts = (bold[1], raw[bold.end() :]) if bold else split_key(raw)
    if parts is None or not parts[0] or not parts[1]:
        return None
    return unescape(parts[0]), unescape(parts[1])


def split_outcomes(raw: str) -> list[str]:
    """Split `H1: stays; H2: changes` in two, but only if each part begins with an ID."""
    parts = [part.strip() for part in re.split(r"[;\n]", raw)]
    entries = [part for part in parts if part]
    return entries if all(map(_OUTCOME.match, entries)) else [raw]


def format_reference(reference: Reference) -> str:
    words = (reference.relation, reference.session, reference.item)
    return " ".join(map(escape_word, words))


def read_reference(raw: str) -> Reference | None:
    """Parse the relation, the session and the item."""
    words = raw.split()
    if len(words) != len(Reference._fields):
        return None
    relation, session, item = (unescape(word) for word in words)
    return Reference(session, item, relation)


# Scores: LR=3, Cost=2, Speed=2, Ambiguity=3

_SCORE_PART = lazy_pattern(r"([A-Za-z_* -]{1,40})[=:][ \t*]*(-?[0-9]{1,9})(?:[ \t]*/[ \t]*3)?")
_SCORE_PART_BY_LABEL = {label.casefold(): part for part, label in SCORE_LABELS.items()} | {
    part.replace("_", " "): part for part in SCORE_LABELS
}


def format_score(score: Mapping[str, int]) -> str:
    """Return the parts that are present, in the order of the layout."""
    given = ((label, score[part]) for part, label in SCORE_LABELS.items() if part in score)
    return ", ".join(f"{label}={number}" for label, number in given)


def read_score(raw: str) -> tuple[dict[str, int], list[str]]:
    """Parse the parts of a score. Return also the parts that cannot be parsed."""
    score: dict[str, int] = {}
    unread = []
    for written in filter(None, split_list(raw.replace(";", ","))):
        match = _SCORE_PART.fullmatch(written)
        word = re.sub(r"[_* -]+", " ", match[1]).strip() if match else ""
        part = _SCORE_PART_BY_LABEL.get(word.casefold())
        if match and part and part not in score and 0 <= int(match[2]) <= MOST_SCORE:
            score[part] = int(match[2])
        else:
            unread.append(written)
    return score, unread


# The agent and time of a kill: BlueLake, 2025-12-30T10:00:00Z

_FOREIGN_TIME = lazy_pattern(r"(?:\bat\b|\bon\b|\()[ \t]*+([0-9]{4}-[0-9]{2}-[0-9]{2}[^()]*)\)?\Z")


def format_killed_by(killed: KillRecord) -> str:
    """Return the agent and the time. Leave out an unknown time."""
    agent, at = (escape_more(escape(part), _COMMA) for part in (killed.agent, killed.at))
    return f"{agent}, {at}" if at else agent


def read_killed_by(raw: str) -> tuple[str, str, bool]:
    """Parse the agent and the time. Return also whether they have our form."""
    *agents, at = split_list(raw, brackets="")
    if agents:
        return unescape(", ".join(agents)), unescape(at), len(agents) == 1
    other = _FOREIGN_TIME.search(raw)
    if other:
        return unescape(raw[: other.start()].rstrip()), unescape(other[1].rstrip()), False
    return unescape(raw), "", True


# Headings: we write the form of the layout, and also read the forms of other programs.
#
# `### H1: Name`, `### T1: Name (Score: 9/12)`, `### H3: Name (Third Alternative)`, and killed
# `### ~~H2: Name~~ [KILLED]`. A name that looks like such an ending is escaped.

THIRD_ALTERNATIVE = "Third Alternative"
MAX_POINTS = MOST_SCORE * len(SCORE_PARTS)

_POINTS = r"score:?[ \t]*([0-9]{1,3})[ \t]*/[ \t]*12\)"
_ENDING_IN_NAME = lazy_pattern(
    rf"\\.|\((?=score:|{_POINTS}|third alternative\))", re.IGNORECASE | re.DOTALL
)
# All spaces before the ending, or no space and no escape. The lookbehind prevents backtracking.
_GAP = r"(?:(?<![ \t])[ \t]++|(?<![ \t\\]))"
_SCORE = lazy_pattern(rf"{_GAP}\({_POINTS}\Z", re.IGNORECASE)
_THIRD = lazy_pattern(rf"{_GAP}\(Third Alternative\)\Z", re.IGNORECASE)


# Writing


def title_heading(session_id: str | None) -> str:
    return f"# {TITLE}: {escape_heading(session_id)}" if session_id else f"# {TITLE}"


def item_heading(section: Section, item: Item) -> str:
    name = item.text("name")
    text = f"{escape_word(item.id)}:"
    if name:
        escaped = escape_heading(name)
        if "(" in escaped:
            escaped = escape_more(escaped, _ENDING_IN_NAME)
        text = f"{text} {escape_kill_marks(escaped)}"
    if section is DISCRIMINATIVE_TESTS and item.score:
        text = f"{text} {_score_ending(sum(item.score.values()))}"
    elif (
        section is HYPOTHESIS_SLATE
        and "third_alternative" in item.fields
        and not names_third_alternative(name)
    ):
        text = f"{text} ({THIRD_ALTERNATIVE})"
    return f"### ~~{text}~~ {KILLED_MARK}" if item.killed else f"### {text}"


def _score_ending(points: int) -> str:
    return f"(Score: {points}/{MAX_POINTS})"


def names_third_alternative(name: str) -> bool:
    return THIRD_ALTERNATIVE.casefold() in name.casefold()


# Reading


class ItemHeading(NamedTuple):
    """An item's heading as written (`text`), and its parts. The ID is empty if there is none.

    `name` is still escaped. `is_canonical` and `is_kill_canonical` mean that the ID and the kill
    marks have our form. `kill_words` are the marks' words about agent, time and reason.
    """

    id: str
    name: str
    is_canonical: bool
    is_killed: bool
    is_kill_canonical: bool
    kill_words: str
    text: str
    level: int


def read_item_heading(raw: str, level: int = 0) -> ItemHeading:
    """Parse the heading of an item. A bold paragraph is one of level 0."""
    marks = read_kill_marks(raw)
    is_ours = marks.is_struck and not marks.is_nonstandard and marks.mark == KILLED_MARK
    is_canonical = is_ours or not marks.is_killed
    parts = _split_heading(marks.rest)
    return ItemHeading(*parts, marks.is_killed, is_canonical, marks.words, raw, level)


def read_name(section: Section, raw: str) -> tuple[str, int | None, bool, bool]:
    """Parse the name in a heading of this section, and its ending.

    Return the name, the score in the ending, whether the ending marks a third alternative, and
    whether it has our form.
    """
    score = _SCORE.search(raw) if section is DISCRIMINATIVE_TESTS else None
    third = _THIRD.search(raw) if section is HYPOTHESIS_SLATE else None
    ending = score or third
    text = unescape(raw[: ending.start()] if ending else raw)
    points = int(score[1]) if score else None
    is_canonical = points is None or raw.endswith(_score_ending(points))
    return text, points, third is not None, is_canonical


# A number or a sign before the ID; the ID in bold or as code. Our IDs contain no space, and their
# asterisks and backticks are escaped.
_ODD_START = lazy_pattern(r"(?:[0-9]{1,3}[.)]|[^\w\s:*`~\\]{1,3})[ \t]+(?=[HPTAXC][1-9])")
_ODD_ID = lazy_pattern(r"(\*\*|__|`)([^*_`]+)\1")


def _split_heading(text: str) -> tuple[str, str, bool]:
    """Return the ID, the name, and whether they have the form `H1: Name`.

    Other programs write `H1 - Name`, `H1. Name`, `H1` alone, `**H1**: Name`, `1. H1: Name`.
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


_NUMBERED = lazy_pattern(
    r"(?:section[ \t]+)?[0-9]*[ \t]*[.):–—-]*[ \t]*(.*?)[ \t]*:?", re.IGNORECASE
)
_LAYOUT_BY_WORDS = {layout.heading.partition(". ")[2].casefold(): layout for layout in LAYOUT}
_LAYOUT_BY_WORDS |= {layout.section.id.replace("_", " "): layout for layout in LAYOUT}
_LAYOUT_BY_WORDS |= {
    alias: layout
    for alias, section_id in SECTION_ALIASES.items()
    for layout in LAYOUT
    if layout.section.id == section_id
}


def read_section_heading(raw: str) -> SectionLayout | None:
    """Return the section that a heading names, with or without its number."""
    words = re.sub(r"[*_`]", " ", raw[:100]).strip()
    match = _NUMBERED.fullmatch(words)
    return _LAYOUT_BY_WORDS.get(" ".join(match[1].casefold().split())) if match else None


# Diagnostics of parsing

MAX_LINES = 10


class ParseNote:
    """A diagnostic that counts further text which is unread for the same reason."""

    def __init__(self, code: Code, line: int, item: str | None, words: dict[str, str]) -> None:
        self.code = code
        self.line = line
        self.item = item
        self.words = words
        self.headings = 0
        self.blocks = 0

    def diagnostic(self) -> Diagnostic:
        more = _COUNT_WORDINGS.get(self.code.id, _count_below)(self)
        return self.code.at(self.line, more=more, **self.words)._replace(item=self.item)


def _count_below(note: ParseNote) -> str:
    count = note.headings + note.blocks
    return f" (and {plural(count, 'more block')} below it)" if count else ""


def _count_under_heading(note: ParseNote) -> str:
    both = [("heading", note.headings), ("block", note.blocks)]
    parts = [plural(count, word) for word, count in both if count]
    return f" Not read: {' and '.join(parts)}." if parts else ""


_COUNT_WORDINGS = {"UNKNOWN_SECTION": _count_under_heading}


class ParseNotes:
    """The diagnostics that parsing collects.

    A nonstandard form that was still read is reported once, with its lines: a program that writes
    one field in its own form writes all of them so. Unread text is reported every time.
    """

    def __init__(self) -> None:
        self._found: list[ParseNote] = []
        self._forms: dict[tuple[str, str], tuple[ParseNote, list[int]]] = {}

    def add(self, code: Code, line: int, item: str | None = None, **words: str) -> ParseNote:
        """Add a diagnostic that is reported every time."""
        note = ParseNote(code, line, item, words)
        self._found.append(note)
        return note

    def add_form(
        self, code: Code, kind: str, line: int, item: str | None = None, **words: str
    ) -> None:
        """Add a nonstandard form, which is reported once per kind."""
        found = self._forms.setdefault((code.id, kind), (ParseNote(code, line, item, words), []))
        found[1].append(line)

    def remove(self, note: ParseNote) -> None:
        """Remove a note that turned out to be harmless."""
        self._found.remove(note)

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return all diagnostics, sorted by line."""
        found = [note.diagnostic() for note in self._found]
        for note, lines in self._forms.values():
            diagnostic = note.code.at(note.line, more=_other_lines(lines), **note.words)
            found.append(diagnostic._replace(item=note.item))
        return tuple(sorted(found, key=lambda each: each.line or 0))


def _other_lines(lines: list[int]) -> str:
    if len(lines) == 1:
        return ""
    numbers = sorted(set(lines))
    shown = ", ".join(map(str, numbers[:MAX_LINES]))
    more = f" and {len(numbers) - MAX_LINES} more" if len(numbers) > MAX_LINES else ""
    word = "line" if len(numbers) == 1 else "lines"
    return f" This occurs in {len(lines)} places: {word} {shown}{more}."


# Metadata as front matter, and front matter of any program as metadata (R18)

_TEXT_KEYS = ("session_id", "created_at", "updated_at", "compiled_at", "compiled_by", "status")
_MAP_KEYS = ("roster", "research_program")
# Lint rules report wrong values of these (EM-002 to EM-004, IM-002).
_CHECKED_BY_LINT = frozenset({"session_id", "version", "created_at", "status"})
# The keys under which other programs name a contributor, the best first
_CONTRIBUTOR_KEYS = ("shorthand", "model", "agent", "name")
_NUMBER = lazy_pattern(r"v?([0-9]{1,9})")


def render_metadata(metadata: Metadata) -> str:
    """Return the front matter: known keys in their order, then all others by name."""
    known = metadata._asdict()
    extra = known.pop("extra")
    entries = {key: value for key, value in known.items() if value not in (None, "", (), {})}
    entries |= {key: extra[key] for key in sorted(extra) if key not in entries}
    return render_front_matter(entries.items())


def read_metadata(matter: FrontMatter, notes: ParseNotes) -> Metadata:
    """Convert front matter to metadata. Store values that cannot be converted under `extra`."""
    known: dict[str, Any] = {}
    extra: dict[str, JSON] = {}
    for key, value in (matter.values or {}).items():
        read = _READERS.get(key)
        if value is None and read:
            continue
        content, words = read(value) if read else (None, "")
        if content is None:
            extra[key] = value
        else:
            known[key] = content
        if words and key not in _CHECKED_BY_LINT:
            notes.add(codes.FRONT_MATTER_FORM, matter.lines.get(key, 1), key=key, words=words)
    return Metadata(**known, extra=MappingProxyType(extra))


# Each reader returns the value, or None if it is unusable, and a description of what is wrong.
_KEPT_AS_IS = "it was kept unchanged, but is not used"


def _read_text(value: JSON) -> tuple[str | None, str]:
    if isinstance(value, str):
        return (value or None), ""
    if isinstance(value, list | dict):
        return None, f"is not a text: {_KEPT_AS_IS}"
    text = json.dumps(value)
    return text, f"is not a text in quotes: it was read as `{text}`"


def _read_number(value: JSON) -> tuple[int | None, str]:
    if type(value) is int:
        return value, ""
    match = _NUMBER.fullmatch(value.strip()) if isinstance(value, str) else None
    if match:
        return int(match[1]), f"is a text: it was read as the number {int(match[1])}"
    return None, f"is not a whole number: {_KEPT_AS_IS}"


def _read_map(value: JSON) -> tuple[Mapping[str, JSON] | None, str]:
    if isinstance(value, dict):
        return MappingProxyType(value), ""
    return None, f"is not a list of `key: value`: {_KEPT_AS_IS}"


def _read_contributors(value: JSON) -> tuple[tuple[str, ...] | None, str]:
    if isinstance(value, str):
        names = tuple(name.strip() for name in value.split(",") if name.strip())
        return names, f"is one text: it was read as {_quote_names(names)}"
    if isinstance(value, dict):
        names = tuple(value)
        return names, f"is not a list: it was read as {_quote_names(names)}"
    if not isinstance(value, list):
        return None, f"is not a list: {_KEPT_AS_IS}"
    names = tuple(map(_contributor_name, value))
    if all(isinstance(each, str) for each in value):
        return names, ""
    return names, f"does not contain only texts: it was read as {_quote_names(names)}"


def _contributor_name(value: JSON) -> str:
    if isinstance(value, dict):
        named = (
            value[key]
            for key in _CONTRIBUTOR_KEYS
            if isinstance(value.get(key), str) and value[key]
        )
        return str(next(named, json.dumps(value, ensure_ascii=False)))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _quote_names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "nobody"


_READERS: dict[str, Callable[[JSON], tuple[Any, str]]] = {
    **dict.fromkeys(_TEXT_KEYS, _read_text),
    **dict.fromkeys(_MAP_KEYS, _read_map),
    "version": _read_number,
    "agent_mail_message_id": _read_number,
    "contributors": _read_contributors,
}


# The result of parsing: the artifact, and the lines of its parts


# ("H1",) an item; ("H1", "claim") a field; ("P1", "predictions", "H2") a cell;
# ("metadata", "session_id") a line of the front matter; ("hypothesis_slate",) a section's heading.
Location = tuple[str, ...]
NO_LINES: Mapping[Location, int] = MappingProxyType({})


class Outline(NamedTuple):
    """Facts about the text that the artifact does not contain, for the rules about files
    (rulings, Small decisions).

    `headings` are the sections found, with their lines, in the order of the text. `front_matter` is
    None if there is none, or if it is unreadable; then `no_front_matter` is the reason.
    """

    front_matter: Mapping[str, object] | None
    no_front_matter: str
    headings: tuple[tuple[str, int], ...]
    columns: tuple[str, ...] | None
    tests: tuple[str, ...]
    says_none_registered: bool


class ParsedArtifact(NamedTuple):
    """A parsed artifact. `diagnostics` report where the text departs from the format.

    `lines` maps locations to lines; for a repeated ID it has the first. `item_lines` has one
    mapping for each item of `artifact.sections`, in the same order: `()` is the item's line,
    `("claim",)` a field's, `("predictions", "H2")` a cell's.
    """

    artifact: Artifact
    diagnostics: tuple[Diagnostic, ...]
    lines: Mapping[Location, int]
    outline: Outline
    item_lines: Mapping[str, tuple[Mapping[Location, int], ...]]
