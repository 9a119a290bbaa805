"""The values of an item's fields as text, and back: each form is written and read here."""

import json
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from brenner.artifact.model import (
    JSON,
    LAYOUT,
    SCORE_LABELS,
    TITLE,
    Artifact,
    Item,
    Killed,
    Layout,
    Metadata,
    Reference,
    order_of,
)
from brenner.diagnostics.codes import artifacts as codes
from brenner.diagnostics.model import Code, Diagnostic
from brenner.markdown.escape import (
    character_reference,
    escape,
    escape_also,
    escape_heading,
    escape_word,
    split_key,
    split_list,
    unescape,
)
from brenner.markdown.front_matter import FrontMatter, render_front_matter
from brenner.protocol.delta.schema import (
    DISCRIMINATIVE_TESTS,
    HYPOTHESIS_SLATE,
    MOST_SCORE,
    SCORE_PARTS,
    SECTION_ALIASES,
    Section,
)
from brenner.protocol.grammar import ANCHOR, ISO_TIME, ITEM_ID
from brenner.text import counted

# The marks of a kill, as we write them and as others do, and what they say of who, when and why.
#
# Ours are `~~…~~` and `[KILLED]`. Others write `(KILLED)`, `[KILLED by RedCreek 2025-12-30:
# vague]`,
# `— killed by RedCreek`, `<del>…</del>`, strike the ID or the name alone, or say `Killed by …` in a
# line of its own. The word alone is no mark: `Killed cells re-enter the cycle` is a name. What
# would
# be a mark in a text of ours is escaped by the patterns below, so that it is read back as text.


KILLED = "[KILLED]"
KILLED_WORD = "KILLED"

# The word, where it is the end of what is said or goes on with who, when or why.
_WORD = r"""killed
    (?: (?= [*_`~]*+ (?: \.?[ \t]*+ (?:\Z|[\])]) | : | [ \t]++[–—-]
              | ,?[ \t]*+ (?: by[ \t]++(?-i:[A-Z@])
                          | (?:(?:on|at)[ \t]++|\()?[0-9]{4}-?[0-9]{2} ) ) )
      | (?<= (?-i:KILLED) ) (?= [ \t]++by\b ) )"""
_NESTED = r"((?: [^()\[\]] | \([^()]*\) | \[[^\[\]]*\] )*+)"
_IN_BRACKETS = re.compile(rf"(?axi) (?<!\\)\[[ \t]*+{_WORD}{_NESTED}\]\Z")
_IN_PARENTHESES = re.compile(rf"(?axi) (?<=[ \t])\([ \t]*+{_WORD}{_NESTED}\)\Z")
_AFTER_DASH = re.compile(rf"(?axi) (?<=[ \t])(?:[–—]|-{{1,3}})[ \t]*+{_WORD}(.*)\Z")
_ENDINGS = (_IN_BRACKETS, _IN_PARENTHESES, _AFTER_DASH)
# An ID of ours ends in a colon and holds no bare blank.
_LEADING = re.compile(
    r"(?ai)(?:\[killed\b([^\[\]]*)\][ \t]*+:?"
    r"|\(killed\b([^()]*)\)(?=[ \t]+[*~`]*[A-Z]+[0-9]))[ \t]*"
)
_TAG = re.compile(r"(?ai)(?<!\\)</?(?:del|s|strike)>")
_STRUCK = r"~~((?:\\.|[^\\~]|~(?!~))++)~~"
_STRUCK_FIRST = re.compile(rf"{_STRUCK}[ \t]*+(.*)\Z", re.DOTALL)
_STRUCK_NAME = re.compile(rf"([^\s~]++(?:[ \t]++[:.–—-])?)[ \t]*+{_STRUCK}\Z", re.DOTALL)
_ID_FIRST = re.compile(r"[*`]{0,3}(?:[HPTAXC][1-9][0-9]{0,8}|RT)\b")
_SUFFIX = re.compile(r"(?ai)(?<![ \t\\])[ \t]*+\((?:score|third)[^()]*\)\Z")


class Marks(NamedTuple):
    """What a heading, or the ID of a row, says without the marks of a kill.

    `mark` is the ending that was taken off, `words` what the marks say beyond the word. `is_odd`:
    something else than the striking of the whole, and perhaps `[KILLED]` after it.
    """

    rest: str
    is_killed: bool = False
    is_struck: bool = False
    is_odd: bool = False
    mark: str = ""
    words: str = ""


def read_marks(raw: str) -> Marks:
    """Take the marks off. The endings that headings have stay where they are."""
    rest = raw.strip(" \t")
    if "~~" not in rest and "<" not in rest and "killed" not in rest.lower():
        return Marks(rest)
    plain = _TAG.sub("~~", rest)
    rest, mark, words = _without_mark(plain)
    struck = _without_strike(rest)
    inner, second, more = _without_mark(struck.rest)
    is_killed = struck.is_killed or bool(mark or second)
    is_odd = is_killed and (struck.is_odd or plain != raw.strip(" \t") or bool(second))
    said = " ".join(filter(None, (words, more, struck.words)))
    return Marks(inner, is_killed, struck.is_struck, is_odd, mark or second, said)


def _without_mark(text: str) -> tuple[str, str, str]:
    """The text without `[KILLED]` and its like, that mark, and what else it says."""
    if "killed" not in text.lower():
        return text, "", ""
    leading = _LEADING.match(text)
    if leading and leading.end() < len(text):
        return text[leading.end() :], leading[0].strip(), leading[1] or leading[2] or ""
    body, ending = _parted(text)
    for pattern in _ENDINGS:
        if found := pattern.search(body):
            return body[: found.start()].rstrip(" \t") + ending, found[0], found[1]
    return text, "", ""


def _parted(text: str) -> tuple[str, str]:
    """A heading, and `(Score: …)` or `(Third Alternative)` at its end."""
    suffix = _SUFFIX.search(text)
    return (text[: suffix.start()], suffix[0]) if suffix else (text, "")


def _without_strike(text: str) -> Marks:
    """The text without `~~`: around all of it, or around the ID or the name alone."""
    if "~~" not in text:
        return Marks(text)
    body, ending = _parted(text)
    first, named = _STRUCK_FIRST.match(body), _STRUCK_NAME.fullmatch(body)
    if named:
        rest, words = f"{named[1]} {named[2]}", ""
    elif first and not first[2]:
        return Marks(first[1] + ending, is_killed=True, is_struck=True, is_odd=bool(ending))
    elif first and ITEM_ID.fullmatch(first[1].strip("*` ")):
        after = first[2].lstrip(" \t:")
        name = _STRUCK_FIRST.match(after)
        rest, words = f"{first[1]}: {name[1] if name and not name[2] else after}", ""
    elif first and _ID_FIRST.match(first[1]):
        rest, words = first.groups()
    else:
        return Marks(text)
    return Marks(rest + ending, is_killed=True, is_struck=True, is_odd=True, words=words)


# Who, when and why

_LEAD = re.compile(r"(?ai)(?:(?:yes|true|killed)\b)?[\s,;:.()*_–—-]*")
_BY = re.compile(
    r"(?ai)by:?\s+(.{1,80}?)(?=\s*(?:[,;:(–—\n]|\s-\s|\Z)|\.\s*\Z|\s+(?:on|at|because|[0-9]{4}-))"
)
_WHEN = re.compile(rf"(?ai)(?:(?:on|at)\s+|\()?({ISO_TIME.pattern})(?![0-9])\)?")
_BETWEEN = re.compile(r"(?ai)[\s,;:.)–—-]*(?:(?:because|since)\b[\s,:]*)?")


def read_kill_words(raw: str) -> Killed:
    """Who, when and why, as far as can be told: ` by RedCreek (2025-12-30): too vague`."""
    text = unescape(raw).strip().strip("*_~").strip()
    agent = at = ""
    position = _end(_LEAD, text, 0)
    while True:
        if not agent and (by := _BY.match(text, position)):
            agent = by[1].strip("*_`~ ")
            found = by
        elif not at and (when := _WHEN.match(text, position)):
            at = when[1]
            found = when
        else:
            return Killed(agent, at, text[position:].strip())
        position = _end(_BETWEEN, text, found.end())


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


# Lines that say so

_LINE = re.compile(rf"(?axi) [*_~\[(]{{0,6}}{_WORD}(.*)", re.DOTALL)
_STATUS = re.compile(rf"(?axi) [*_`~]{{0,6}}{_WORD}(.*)", re.DOTALL)


def killed_line(line: str) -> str | None:
    """What a line such as `*Killed by RedCreek: too vague*` says; None if it is none."""
    match = _LINE.match(line)
    return match[1].rstrip("*_~)] \t") if match else None


def killed_status(raw: str) -> str | None:
    """What a status such as `KILLED` says beyond the word; None if it is another one."""
    match = _STATUS.match(raw)
    return match[1].strip("*_`~ \t") if match else None


# Writing

_IN_NAME = re.compile(rf"(?axis) \\. | [\[(](?=[ \t]*+{_WORD})")
_DASH_IN_NAME = re.compile(rf"(?axi) ((?<![^ \t])(?:[–—]|-{{1,3}})[ \t]*+)(k)(?={_WORD[1:]})")


def escape_marks(escaped: str) -> str:
    """The escaped text of a name in which nothing is a mark."""
    if "killed" not in escaped.lower():
        return escaped
    escaped = escape_also(escaped, _IN_NAME)
    return _DASH_IN_NAME.sub(lambda mark: f"{mark[1]}{character_reference(mark[2])}", escaped)


def escape_status(escaped: str) -> str:
    """The escaped text of a status that does not say that the item is killed."""
    if killed_status(escaped) is None:
        return escaped
    return f"{character_reference(escaped[0])}{escaped[1:]}"


TRUE = "true"
_COMMA = re.compile(r"\\.|,", re.DOTALL)
_COMMA_OR_BRACKET = re.compile(r"\\.|[,\[]", re.DOTALL)


# Texts


def text_text(label: str, text: str) -> str:
    """Any text. A status that says `KILLED` is how other programs mark a killed item."""
    return escape_status(escape(text)) if is_status(label) else escape(text)


def is_status(label: str) -> bool:
    """Whether a label is that of some status."""
    return label.casefold().endswith("status")


# Lists on one line: §42, §45-47, [external: Smith, 2020]


def list_text(values: tuple[str, ...]) -> str:
    """Anchors or item IDs, joined by commas."""
    return ", ".join(map(_element, values))


def _element(value: str) -> str:
    if value.isalnum():
        return value
    if not ANCHOR.fullmatch(value):
        return escape_also(escape(value), _COMMA_OR_BRACKET)
    # A comma in the brackets of `[external: Smith, 2020]` parts nothing.
    return escape(value) if value[0] == "[" else escape_also(escape(value), _COMMA)


def read_list(raw: str) -> tuple[str, ...]:
    """The values that are joined by commas."""
    return tuple(unescape(part) for part in split_list(raw) if part)


_OUTCOME = re.compile(rf"(?:\*\*)?{ITEM_ID.pattern}(?:\*\*)?[ \t]*:")

# Lists with an entry to a line: H1: text; refines RS-20251228-initial H2


def outcome_text(key: str, outcome: str) -> str:
    """An entry of expected outcomes."""
    return f"{escape_word(key)}: {escape(outcome, '  ')}"


def in_order(outcomes: Mapping[str, str]) -> list[tuple[str, str]]:
    """Outcomes by the number of their hypothesis."""
    return sorted(outcomes.items(), key=lambda pair: order_of(pair[0]))


def read_outcome(raw: str) -> tuple[str, str] | None:
    """The hypothesis and the outcome. Others put the hypothesis in bold."""
    bold = re.match(r"\*\*([^*:\s]+)(?::\*\*|\*\*:)[ \t]*", raw)
    parts = (bold[1], raw[bold.end() :]) if bold else split_key(raw)
    if parts is None or not parts[0] or not parts[1]:
        return None
    return unescape(parts[0]), unescape(parts[1])


def split_outcomes(raw: str) -> list[str]:
    """`H1: stays; H2: changes` as two, where each begins with an ID; else the text as one."""
    parts = [part.strip() for part in re.split(r"[;\n]", raw)]
    said = [part for part in parts if part]
    return said if all(map(_OUTCOME.match, said)) else [raw]


def reference_text(reference: Reference) -> str:
    """An entry of references."""
    words = (reference.relation, reference.session, reference.item)
    return " ".join(map(escape_word, words))


def read_reference(raw: str) -> Reference | None:
    """The relation, the session and the item."""
    words = raw.split()
    if len(words) != len(Reference._fields):
        return None
    relation, session, item = (unescape(word) for word in words)
    return Reference(session, item, relation)


# Scores: LR=3, Cost=2, Speed=2, Ambiguity=3

_PART = re.compile(r"([A-Za-z_* -]{1,40})[=:][ \t*]*(-?[0-9]{1,9})(?:[ \t]*/[ \t]*3)?")
_PARTS = {label.casefold(): part for part, label in SCORE_LABELS.items()} | {
    part.replace("_", " "): part for part in SCORE_LABELS
}


def score_text(score: Mapping[str, int]) -> str:
    """The parts that were given, in the order of the layout."""
    given = ((label, score[part]) for part, label in SCORE_LABELS.items() if part in score)
    return ", ".join(f"{label}={number}" for label, number in given)


def read_score(raw: str) -> tuple[dict[str, int], list[str]]:
    """The parts of a score, and what cannot be read as one."""
    score: dict[str, int] = {}
    unread = []
    for written in filter(None, split_list(raw.replace(";", ","))):
        match = _PART.fullmatch(written)
        word = re.sub(r"[_* -]+", " ", match[1]).strip() if match else ""
        part = _PARTS.get(word.casefold())
        if match and part and part not in score and 0 <= int(match[2]) <= MOST_SCORE:
            score[part] = int(match[2])
        else:
            unread.append(written)
    return score, unread


# Who killed an item, and when: BlueLake, 2025-12-30T10:00:00Z

_TIME_OF_OTHERS = re.compile(r"(?:\bat\b|\bon\b|\()[ \t]*+([0-9]{4}-[0-9]{2}-[0-9]{2}[^()]*)\)?\Z")


def killed_by_text(killed: Killed) -> str:
    """The agent and the time; a time that is not known is left out."""
    agent, at = (escape_also(escape(part), _COMMA) for part in (killed.agent, killed.at))
    return f"{agent}, {at}" if at else agent


def read_killed_by(raw: str) -> tuple[str, str, bool]:
    """The agent, the time, and whether they are written as we write them."""
    *agents, at = split_list(raw, brackets="")
    if agents:
        return unescape(", ".join(agents)), unescape(at), len(agents) == 1
    other = _TIME_OF_OTHERS.search(raw)
    if other:
        return unescape(raw[: other.start()].rstrip()), unescape(other[1].rstrip()), False
    return unescape(raw), "", True


# The headings of an artifact: written as the layout has them, read as others write them, too.
#
# `### H1: Name`, `### T1: Name (Score: 9/12)`, `### H3: Name (Third Alternative)`, and killed
# `### ~~H2: Name~~ [KILLED]`. What looks like such an ending in a name is escaped there.


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


# What reading an artifact's text has to say about it, gathered in the order of the lines.


MOST_LINES = 10


class Note:
    """A diagnostic in the making. What else was not read for the same reason is counted in it."""

    def __init__(self, code: Code, line: int, item: str | None, words: dict[str, str]) -> None:
        self.code = code
        self.line = line
        self.item = item
        self.words = words
        self.headings = 0
        self.blocks = 0

    def diagnostic(self) -> Diagnostic:
        """The diagnostic, as far as it is known."""
        more = _UNREAD.get(self.code.id, _further)(self)
        return self.code.at(self.line, more=more, **self.words)._replace(item=self.item)


def _further(note: Note) -> str:
    """What follows the text that is quoted."""
    count = note.headings + note.blocks
    return f" (and {counted(count, 'more block')} below it)" if count else ""


def _under(note: Note) -> str:
    """What stands under the heading that is quoted."""
    both = [("heading", note.headings), ("block", note.blocks)]
    parts = [counted(count, word) for word, count in both if count]
    return f" Not read: {' and '.join(parts)}." if parts else ""


_UNREAD = {"UNKNOWN_SECTION": _under}


class Notes:
    """All that was found.

    A form that is read all the same is told once, with the lines where it occurs: a program that
    writes one field in its own way writes them all so. What is not read is told every time.
    """

    def __init__(self) -> None:
        self._found: list[Note] = []
        self._forms: dict[tuple[str, str], tuple[Note, list[int]]] = {}

    def add(self, code: Code, line: int, item: str | None = None, **words: str) -> Note:
        """Something that is told every time."""
        note = Note(code, line, item, words)
        self._found.append(note)
        return note

    def form(self, code: Code, kind: str, line: int, item: str | None = None, **words: str) -> None:
        """Something that is told once per kind."""
        found = self._forms.setdefault((code.id, kind), (Note(code, line, item, words), []))
        found[1].append(line)

    def drop(self, note: Note) -> None:
        """Take back what turned out to be nothing."""
        self._found.remove(note)

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All of them, by line."""
        found = [note.diagnostic() for note in self._found]
        for note, lines in self._forms.values():
            told = note.code.at(note.line, more=_places(lines), **note.words)
            found.append(told._replace(item=note.item))
        return tuple(sorted(found, key=lambda each: each.line or 0))


def _places(lines: list[int]) -> str:
    """Where else a form occurs."""
    if len(lines) == 1:
        return ""
    numbers = sorted(set(lines))
    shown = ", ".join(map(str, numbers[:MOST_LINES]))
    more = f" and {len(numbers) - MOST_LINES} more" if len(numbers) > MOST_LINES else ""
    word = "line" if len(numbers) == 1 else "lines"
    return f" The same holds in {len(lines)} places: {word} {shown}{more}."


# The metadata as front matter, and front matter, whoever wrote it, as metadata (R18).


_TEXTS = ("session_id", "created_at", "updated_at", "compiled_at", "compiled_by", "status")
_MAPS = ("roster", "research_program")
# Rules of the linter speak of what these may hold (EM-002 to EM-004, IM-002).
_LINTED = frozenset({"session_id", "version", "created_at", "status"})
# Under which keys other programs name a contributor, the best first.
_NAMES = ("shorthand", "model", "agent", "name")
_NUMBER = re.compile(r"v?([0-9]{1,9})")


def render_metadata(metadata: Metadata) -> str:
    """The front matter: known keys in their order, then all others by name."""
    known = metadata._asdict()
    extra = known.pop("extra")
    entries = {key: value for key, value in known.items() if _is_there(value)}
    entries |= {key: extra[key] for key in sorted(extra) if key not in entries}
    return render_front_matter(entries.items())


def _is_there(value: object) -> bool:
    return value is not None and value not in ("", (), {})


def read_metadata(matter: FrontMatter, notes: Notes) -> Metadata:
    """The metadata that front matter holds. What has another form than ours is read if it can be;
    what cannot is kept under `extra`.
    """
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
        if words and key not in _LINTED:
            notes.add(codes.FRONT_MATTER_FORM, matter.lines.get(key, 1), key=key, words=words)
    return Metadata(**known, extra=MappingProxyType(extra))


# Each reader gives the value, or None where it cannot be used, and what was odd about it.
_KEPT = "it was kept as it is, and says nothing to this program"


def _text(value: JSON) -> tuple[str | None, str]:
    if isinstance(value, str):
        return (value or None), ""
    if isinstance(value, list | dict):
        return None, f"is not a text; {_KEPT}"
    text = json.dumps(value)
    return text, f"is not a text in quotes; it was read as `{text}`"


def _number(value: JSON) -> tuple[int | None, str]:
    if type(value) is int:
        return value, ""
    match = _NUMBER.fullmatch(value.strip()) if isinstance(value, str) else None
    if match:
        return int(match[1]), f"is a text; it was read as the number {int(match[1])}"
    return None, f"is not a whole number; {_KEPT}"


def _map(value: JSON) -> tuple[Mapping[str, JSON] | None, str]:
    if isinstance(value, dict):
        return MappingProxyType(value), ""
    return None, f"is not a list of `key: value`; {_KEPT}"


def _contributors(value: JSON) -> tuple[tuple[str, ...] | None, str]:
    if isinstance(value, str):
        names = tuple(name.strip() for name in value.split(",") if name.strip())
        return names, f"is one text; it was read as {_listed(names)}"
    if isinstance(value, dict):
        names = tuple(value)
        return names, f"is not a list; its keys were read: {_listed(names)}"
    if not isinstance(value, list):
        return None, f"is not a list; {_KEPT}"
    names = tuple(map(_contributor, value))
    if all(isinstance(each, str) for each in value):
        return names, ""
    return names, f"does not list texts alone; it was read as {_listed(names)}"


def _contributor(value: JSON) -> str:
    if isinstance(value, dict):
        named = (value[key] for key in _NAMES if isinstance(value.get(key), str) and value[key])
        return str(next(named, json.dumps(value, ensure_ascii=False)))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "nobody"


_READERS: dict[str, Callable[[JSON], tuple[Any, str]]] = {
    **dict.fromkeys(_TEXTS, _text),
    **dict.fromkeys(_MAPS, _map),
    "version": _number,
    "agent_mail_message_id": _number,
    "contributors": _contributors,
}


# What reading an artifact's text gives: the artifact, and where in the text everything stands.


# ("H1",) an item; ("H1", "claim") a field; ("P1", "predictions", "H2") a cell;
# ("metadata", "session_id") a line of the front matter; ("hypothesis_slate",) a section's heading.
Place = tuple[str, ...]
NO_LINES: Mapping[Place, int] = MappingProxyType({})


class Outline(NamedTuple):
    """What only the text can show: the rules about files look at this (rulings, Small decisions).

    `headings` are the sections found, with their lines, in the order of the text. `front_matter`
    is None where there is none, or where `no_front_matter` says why it could not be read.
    """

    front_matter: Mapping[str, object] | None
    no_front_matter: str
    headings: tuple[tuple[str, int], ...]
    columns: tuple[str, ...] | None
    tests: tuple[str, ...]
    says_none_registered: bool


class ParsedArtifact(NamedTuple):
    """An artifact as it was read; `diagnostics` tell where the text departs from the format.

    `lines` goes by ID: where an ID stands twice, it knows the first. `item_lines` has one mapping
    for each item of `artifact.sections`, in the same order: `()` is the item's line, `("claim",)`
    a field's, `("predictions", "H2")` a cell's.
    """

    artifact: Artifact
    diagnostics: tuple[Diagnostic, ...]
    lines: Mapping[Place, int]
    outline: Outline
    item_lines: Mapping[str, tuple[Mapping[Place, int], ...]]
