"""A field while its text is being read, and the value that it holds."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from brenner.artifact.item_text import (
    TRUE,
    read_list,
    read_outcome,
    read_reference,
    read_score,
    split_outcomes,
)
from brenner.artifact.notes import Notes
from brenner.diagnostics.codes import artifacts as codes
from brenner.markdown.escape import unescape, unstruck
from brenner.protocol.delta.schema import MOST_SCORE, FieldKind


class Entry(NamedTuple):
    """An entry of a list, still escaped; `key` where the column of a table gives it."""

    raw: str
    line: int
    key: str | None = None


class OpenField:
    """A field that may go on."""

    def __init__(self, name: str, label: str, kind: FieldKind, line: int, raw: str = "") -> None:
        self.name = name
        self.label = label
        self.kind = kind
        self.line = line
        self._parts = [raw]
        self.entries: list[Entry] = []
        self.in_list = False  # it began as the entry of a list
        self.is_headed = False  # a heading is its label, and its text follows
        self.is_line_struck = False  # `~~` stands before the label, too
        self.is_read = True  # False: told of already, and passed over

    @property
    def raw(self) -> str:
        """Its text, still escaped."""
        return "".join(self._parts)

    @property
    def is_struck(self) -> bool:
        """Whether all of it is struck through."""
        raws = [*filter(None, (self.raw,)), *(entry.raw for entry in self.entries)]
        return bool(raws) and all(unstruck(raw) is not None for raw in raws)

    def go_on(self, gap: str, raw: str) -> None:
        """More text, after a gap if there is any before it."""
        self._parts += [gap, raw] if self._parts != [""] else [raw]


class Content(NamedTuple):
    """What a field holds; whether all of it was struck through; the lines of its parts."""

    value: object
    is_struck: bool
    lines: Mapping[str, int]


class FieldReader:
    """Decodes the fields of one item."""

    def __init__(self, notes: Notes, item_id: str, is_killed: bool) -> None:
        self.notes = notes
        self.item_id = item_id
        self.is_killed = is_killed
        self.lacks_points = False  # a part of the score could not be read
        self._are_struck = True

    def read(self, field: OpenField) -> Content:
        """What the field holds; None where that cannot be read."""
        self._are_struck = True
        lines: dict[str, int] = {}
        value = _READERS[field.kind](self, field, lines)
        return Content(value, self._are_struck, lines)

    def _plain(self, raw: str) -> str:
        """The text without the marks of a killed item."""
        inner = unstruck(raw) if self.is_killed else None
        if inner is not None:
            return inner
        self._are_struck = False
        return raw

    def text(self, field: OpenField, _lines: dict[str, int]) -> object:
        """A text."""
        return unescape(self._plain(field.raw))

    def flag(self, field: OpenField, _lines: dict[str, int]) -> object:
        """A flag; others write `yes`."""
        written = unescape(self._plain(field.raw))
        word = written.strip().casefold()
        if word in _YES and written != TRUE:
            what = f"The flag `**{field.label}**` is written `{written}`"
            self._form("flag", field, what, f"`**{field.label}**: {TRUE}`")
        if word not in _YES and word not in _NO:
            self._unreadable(field, written, f"`{TRUE}`", TRUE)
        return word in _YES

    def listed(self, field: OpenField, _lines: dict[str, int]) -> object:
        """Anchors or item IDs."""
        found = read_list(self._plain(field.raw)) if field.raw else ()
        if field.entries:
            what = f"`**{field.label}**` is a list with an entry to a line"
            self._form("list", field, what, f"`**{field.label}**: one, two`")
        for entry in field.entries:
            found += (unescape(self._plain(entry.raw)),)
        return found

    def score(self, field: OpenField, _lines: dict[str, int]) -> object:
        """The parts of a score."""
        raws = [self._plain(raw) for raw in (field.raw, *(e.raw for e in field.entries)) if raw]
        if field.entries:
            what = f"`**{field.label}**` is a list with a part to a line"
            self._form("score list", field, what, f"`**{field.label}**: LR=3, Cost=2`")
        score, unread = read_score(", ".join(raws))
        if unread:
            self.lacks_points = True
            expected = f"a part of a score, a number from 0 to {MOST_SCORE} and each once"
            self._unreadable(field, ", ".join(unread), expected, "LR=3, Cost=2")
        return score

    def outcomes(self, field: OpenField, lines: dict[str, int]) -> object:
        """Outcomes by hypothesis: a list, or the cells of a row."""
        found: dict[str, str] = {}
        for entry in self._entries(field):
            raw = self._plain(entry.raw)
            pair = read_outcome(raw) if entry.key is None else (entry.key, unescape(raw))
            if pair is None or pair[0] in found:
                expected = "a hypothesis and its outcome, each once"
                self._unreadable(field, entry.raw, expected, "H1: Marks follow lineage", entry)
            else:
                found[pair[0]] = pair[1]
                lines[pair[0]] = entry.line
        self._check_inline(field, found)
        return found

    def references(self, field: OpenField, _lines: dict[str, int]) -> object:
        """References to other sessions."""
        found = []
        for entry in self._entries(field):
            reference = read_reference(self._plain(entry.raw))
            if reference is None:
                expected = "a relation, a session and an item"
                example = "refines RS-20251228-initial H2"
                self._unreadable(field, entry.raw, expected, example, entry)
            else:
                found.append(reference)
        self._check_inline(field, found)
        return found

    def _check_inline(self, field: OpenField, found: object) -> None:
        """Tell of a list that begins on the line of its label, if anything could be read."""
        if field.raw and found:
            what = f"The text of `**{field.label}**` stands on the line of its label"
            self._form("inline list", field, what, "a list below it, `- ` and an entry to a line")

    def _entries(self, field: OpenField) -> list[Entry]:
        """The entries. Text on the line of the label counts as the first."""
        if not field.raw:
            return field.entries
        is_list = field.kind is FieldKind.OUTCOMES and unstruck(field.raw) is None
        raws = split_outcomes(field.raw) if is_list else [field.raw]
        return [*(Entry(raw, field.line) for raw in raws), *field.entries]

    def _form(self, kind: str, field: OpenField, what: str, right: str) -> None:
        words = {"what": what, "right": right}
        self.notes.form(codes.FIELD_FORM, kind, field.line, self.item_id, **words)

    def _unreadable(
        self, field: OpenField, value: str, expected: str, example: str, entry: Entry | None = None
    ) -> None:
        words = {"value": value, "label": field.label, "expected": expected, "example": example}
        line = entry.line if entry else field.line
        self.notes.add(codes.UNREADABLE_VALUE, line, self.item_id, **words)


_YES = frozenset({TRUE, "yes", "y", "✓", "✔", "✅", "[x]"})
_NO = frozenset({"false", "no", "n", "✗", "✘", "❌", "[ ]", "-", "–", "—", ""})
_READERS: dict[FieldKind, Callable[[FieldReader, OpenField, dict[str, int]], object]] = {
    FieldKind.TEXT: FieldReader.text,
    FieldKind.CHOICE: FieldReader.text,
    FieldKind.FLAG: FieldReader.flag,
    FieldKind.ANCHORS: FieldReader.listed,
    FieldKind.ITEMS: FieldReader.listed,
    FieldKind.SCORE: FieldReader.score,
    FieldKind.OUTCOMES: FieldReader.outcomes,
    FieldKind.REFERENCES: FieldReader.references,
}
