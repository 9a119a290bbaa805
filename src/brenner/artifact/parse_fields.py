"""Parse items and their fields: open items and fields collect text and are decoded when they
end.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from brenner.artifact.format import (
    TRUE,
    ItemHeading,
    Location,
    ParseNote,
    ParseNotes,
    item_heading,
    names_third_alternative,
    read_kill_marks,
    read_kill_words,
    read_killed_by,
    read_list,
    read_name,
    read_outcome,
    read_reference,
    read_score,
    split_outcomes,
)
from brenner.artifact.model import (
    CONDITION_COLUMN,
    ID_COLUMN,
    LAYOUT_BY_SECTION,
    REASON,
    Item,
    KillRecord,
    make_fields,
    total_score,
)
from brenner.artifact.results import read_result
from brenner.diagnostics.codes import artifacts as codes
from brenner.markdown.escape import TableRow, strip_strikethrough, unescape
from brenner.protocol.delta.schema import (
    DISCRIMINATIVE_TESTS,
    HYPOTHESIS_SLATE,
    MOST_SCORE,
    PREDICTIONS_TABLE,
    RESEARCH_THREAD,
    FieldKind,
    Section,
)
from brenner.protocol.grammar import ITEM_ID
from brenner.text import closest, did_you_mean, joined

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Fields


# An entry of a list, still escaped, its line, and its key if a column of a table gives it
ListEntry = tuple[str, int, str | None]


class OpenField:
    """A field that more text can be added to."""

    def __init__(self, name: str, label: str, kind: FieldKind, line: int, raw: str = "") -> None:
        self.name = name
        self.label = label
        self.kind = kind
        self.line = line
        self._parts = [raw]
        self.entries: list[ListEntry] = []
        self.is_list_entry = False  # its label is in a list entry
        self.has_heading = False  # its label is a heading
        self.is_line_struck = False  # `~~` is before the label, too
        self.is_read = True  # False: already reported as unread

    @property
    def raw(self) -> str:
        """Return the collected text, still escaped."""
        return "".join(self._parts)

    @property
    def is_struck(self) -> bool:
        raws = [*filter(None, (self.raw,)), *(raw for raw, _, _ in self.entries)]
        return bool(raws) and all(strip_strikethrough(raw) is not None for raw in raws)

    def append_text(self, gap: str, raw: str) -> None:
        """Append text, after a gap if there is text before it."""
        self._parts += [gap, raw] if self._parts != [""] else [raw]


class FieldReader:
    """The decoder for the fields of one item."""

    def __init__(self, notes: ParseNotes, item_id: str, is_killed: bool) -> None:
        self.notes = notes
        self.item_id = item_id
        self.is_killed = is_killed
        self.has_unread_score = False  # a part of the score could not be read
        self.are_struck = True  # all fields so far
        self.lines: dict[Location, int] = {}  # of the fields and their parts

    def read(self, field: OpenField) -> object:
        """Decode a field. Parts that are unreadable are reported and left out of the value."""
        self.lines[field.name,] = field.line
        return _READERS[field.kind](self, field)

    def _plain(self, raw: str) -> str:
        inner = strip_strikethrough(raw) if self.is_killed else None
        if inner is not None:
            return inner
        self.are_struck = False
        return raw

    def text(self, field: OpenField) -> object:
        return unescape(self._plain(field.raw))

    def flag(self, field: OpenField) -> object:
        """Decode a flag. Other programs write `yes`."""
        written = unescape(self._plain(field.raw))
        word = written.strip().casefold()
        if word in _YES and written != TRUE:
            what = f"The flag `**{field.label}**` is written `{written}`"
            self._report_form("flag", field, what, f"`**{field.label}**: {TRUE}`")
        if word not in _YES and word not in _NO:
            self._report_unreadable(field, written, f"`{TRUE}`", TRUE)
        return word in _YES

    def listed(self, field: OpenField) -> object:
        """Decode anchors or item IDs."""
        found = read_list(self._plain(field.raw)) if field.raw else ()
        if field.entries:
            what = f"`**{field.label}**` is a list with one entry per line"
            self._report_form("list", field, what, f"`**{field.label}**: one, two`")
        for raw, _, _ in field.entries:
            found += (unescape(self._plain(raw)),)
        return found

    def score(self, field: OpenField) -> object:
        raws = [self._plain(raw) for raw in (field.raw, *(e[0] for e in field.entries)) if raw]
        if field.entries:
            what = f"`**{field.label}**` is a list with one part per line"
            self._report_form("score list", field, what, f"`**{field.label}**: LR=3, Cost=2`")
        score, unread = read_score(", ".join(raws))
        if unread:
            self.has_unread_score = True
            expected = f"a score part from 0 to {MOST_SCORE} (`LR`, `Cost`, `Speed` or `Ambiguity`)"
            self._report_unreadable(field, ", ".join(unread), expected, "LR=3, Cost=2")
        return score

    def outcomes(self, field: OpenField) -> object:
        """Decode outcomes by hypothesis: a list, or the cells of a row."""
        found: dict[str, str] = {}
        for written, line, key in self._entries(field):
            raw = self._plain(written)
            pair = read_outcome(raw) if key is None else (key, unescape(raw))
            if pair is None or pair[0] in found:
                expected = "a hypothesis and its outcome, each once"
                self._report_unreadable(field, written, expected, "H1: Marks follow lineage", line)
            else:
                found[pair[0]] = pair[1]
                self.lines[field.name, pair[0]] = line
        self._check_inline(field, found)
        return found

    def descriptions(self, field: OpenField) -> object:
        """Decode declared outcomes by key."""
        found: dict[str, str] = {}
        for written, line, _ in self._entries(field):
            pair = read_outcome(self._plain(written))
            if pair is None or pair[0] in found:
                expected = "a key and a description, each once"
                self._report_unreadable(field, written, expected, "slow: Takes hours", line)
            else:
                found[pair[0]] = pair[1]
                self.lines[field.name, pair[0]] = line
        self._check_inline(field, found)
        return found

    def results(self, field: OpenField) -> object:
        expected = "an outcome and a potency (`passed`, `failed` or `not checked`)"
        example = "Outcome: slow; **potency**: passed; **evidence**: EV-001#E1"
        return self._read_entries(field, read_result, expected, example)

    def references(self, field: OpenField) -> object:
        expected = "a relation, a session and an item"
        return self._read_entries(field, read_reference, expected, "refines RS-20251228-initial H2")

    def _read_entries(
        self, field: OpenField, read: Callable[[str], object], expected: str, example: str
    ) -> list[object]:
        """Decode each entry of a list, and report those that `read` returns None for."""
        found = []
        for written, line, _ in self._entries(field):
            entry = read(self._plain(written))
            if entry is None:
                self._report_unreadable(field, written, expected, example, line)
            else:
                found.append(entry)
        self._check_inline(field, found)
        return found

    def _check_inline(self, field: OpenField, found: object) -> None:
        """Report a list that begins on the line of its label, if any of it could be read."""
        if field.raw and found:
            what = f"The text of `**{field.label}**` is on the line of its label"
            self._report_form(
                "inline list", field, what, "a list below it, with `- ` and one entry per line"
            )

    def _entries(self, field: OpenField) -> list[ListEntry]:
        """Return the entries. Text on the line of the label is the first."""
        if not field.raw:
            return field.entries
        is_list = field.kind is FieldKind.OUTCOMES and strip_strikethrough(field.raw) is None
        raws = split_outcomes(field.raw) if is_list else [field.raw]
        return [*((raw, field.line, None) for raw in raws), *field.entries]

    def _report_form(self, kind: str, field: OpenField, what: str, right: str) -> None:
        words = {"what": what, "right": right}
        self.notes.add_form(codes.FIELD_FORM, kind, field.line, self.item_id, **words)

    def _report_unreadable(
        self,
        field: OpenField,
        value: str,
        expected: str,
        example: str,
        line: int | None = None,
    ) -> None:
        words = {"value": value, "label": field.label, "expected": expected, "example": example}
        self.notes.add(codes.UNREADABLE_VALUE, line or field.line, self.item_id, **words)


_YES = frozenset({TRUE, "yes", "y", "✓", "✔", "✅", "[x]"})
_NO = frozenset({"false", "no", "n", "✗", "✘", "❌", "[ ]", "-", "–", "—", ""})
_READERS: dict[FieldKind, Callable[[FieldReader, OpenField], object]] = {
    FieldKind.TEXT: FieldReader.text,
    FieldKind.CHOICE: FieldReader.text,
    FieldKind.FLAG: FieldReader.flag,
    FieldKind.ANCHORS: FieldReader.listed,
    FieldKind.ITEMS: FieldReader.listed,
    FieldKind.SCORE: FieldReader.score,
    FieldKind.OUTCOMES: FieldReader.outcomes,
    FieldKind.REFERENCES: FieldReader.references,
    FieldKind.DESCRIPTIONS: FieldReader.descriptions,
    FieldKind.RESULTS: FieldReader.results,
}


# Items
#
# Fields are decoded when the item ends. Only then is it known whether the item is killed, and so
# whether its fields are struck through.

KILLED_BY_FIELD, REASON_FIELD = "killed_by", "reason"
ITEM_LEVEL = 3


class OpenItem:
    """An item that more fields can be added to."""

    def __init__(self, item_id: str, section: Section, line: int) -> None:
        self.id = item_id
        self.section = section
        self.line = line
        self.fields: dict[str, OpenField] = {}
        self.heading: ItemHeading | None = None
        self.is_killed = False
        self.is_kill_canonical = True  # the kill marks have our form
        self.kill_words: list[str] = []  # their words about agent, time and reason

    def mark_killed(self, words: str, *, is_canonical: bool = False) -> None:
        self.is_killed = True
        self.is_kill_canonical = self.is_kill_canonical and is_canonical
        if words:
            self.kill_words.append(words)


def close_item(opened: OpenItem, notes: ParseNotes) -> tuple[Item, Mapping[Location, int]]:
    """Decode the fields of an item that has ended. Return the item and the lines of its parts."""
    by = opened.fields.pop(KILLED_BY_FIELD, None)
    reason = opened.fields.pop(REASON_FIELD, None)
    named = opened.fields.pop("name", None)
    if not opened.is_killed and by is None:
        if _is_all_struck(opened):
            opened.mark_killed("")
        elif reason:
            report_unknown_label(notes, opened.section, opened.id, REASON, reason.line)
    is_killed = opened.is_killed or by is not None
    name, points, is_third, is_canonical = read_name(opened.section, named.raw if named else "")
    values: dict[str, object] = {"name": name}
    reader = FieldReader(notes, opened.id, is_killed)
    lines = reader.lines
    lines[()] = opened.line
    if named:
        lines["name",] = named.line
    values |= {field.name: reader.read(field) for field in opened.fields.values()}
    if is_third and not values.get("third_alternative"):
        values["third_alternative"] = True
        lines.setdefault(("third_alternative",), opened.line)
        other = "no field says so"
        _report_contradiction(notes, opened, "`(Third Alternative)`", other, "It was read as one.")
    killed = _read_kill(opened, by, reason, reader.are_struck, notes) if is_killed else None
    item = Item(opened.id, make_fields(values), killed)
    if killed:
        lines["killed",] = by.line if by else opened.line
    if opened.heading and opened.id:
        if points is not None and not reader.has_unread_score:
            _check_score(opened, item, points, notes)
        is_scored = opened.section is DISCRIMINATIVE_TESTS and bool(item.score)
        has_form = is_canonical and not (is_scored and points is None)
        _check_heading(opened, opened.heading, item, has_form, notes)
    return item, lines


def _is_all_struck(opened: OpenItem) -> bool:
    """Return whether every field is struck through. Some programs mark killed items only so."""
    is_there = opened.section is not RESEARCH_THREAD and bool(opened.fields)
    return is_there and all(field.is_struck for field in opened.fields.values())


def _read_kill(
    opened: OpenItem,
    by: OpenField | None,
    reason: OpenField | None,
    are_struck: bool,
    notes: ParseNotes,
) -> KillRecord:
    agent, at, is_canonical = read_killed_by(by.raw) if by else ("", "", True)
    has_struck_labels = any(field.is_line_struck for field in opened.fields.values())
    records = [KillRecord(agent, at, unescape(reason.raw) if reason else "")]
    records += map(read_kill_words, opened.kill_words)
    agents, times, reasons = (
        list(dict.fromkeys(filter(None, each))) for each in zip(*records, strict=True)
    )
    killed = KillRecord(next(iter(agents), ""), next(iter(times), ""), "\n".join(reasons))
    details = {"who killed it": killed.agent, "when": killed.at, "why": killed.reason}
    missing = joined(words for words, word in details.items() if not word)
    others = ", ".join(f"`{word}`" for word in (*agents[1:], *times[1:]))
    wrong = {
        "it is not marked in the right place": opened.is_kill_canonical and opened.is_killed,
        "its fields are not struck through": are_struck,
        "its labels are struck through with their fields": not has_struck_labels,
        "agent and time are not written as `agent, time`": is_canonical,
        f"it does not say {missing}": not missing,
        f"it also says {others}, which was not read": not others,
    }
    what = "; ".join(words for words, is_right in wrong.items() if not is_right)
    if what:
        is_row = opened.section is PREDICTIONS_TABLE
        words = {
            "id": opened.id,
            "what": what,
            "marked": "every cell of the row"
            if is_row
            else f"the heading (`### ~~{opened.id}: Name~~ [KILLED]`) and the fields",
            "prefix": f"{opened.id} " if is_row else "",
        }
        notes.add(codes.KILLED_FORM, opened.line, opened.id, **words)
    return killed


def _check_score(opened: OpenItem, item: Item, points: int, notes: ParseNotes) -> None:
    """Check that the score in the heading is the sum of the parts."""
    if points == total_score(item):
        return
    says = f"a score of {points}"
    if item.score:
        _report_contradiction(
            notes,
            opened,
            says,
            f"the sum of its parts is {total_score(item)}",
            "The parts were read.",
        )
    else:
        label = LAYOUT_BY_SECTION[opened.section.id].labels["score"]
        other = f"its parts are missing (no `**{label}**` below)"
        _report_contradiction(notes, opened, says, other, "No score was read.")


def _check_heading(
    opened: OpenItem, heading: ItemHeading, item: Item, has_form: bool, notes: ParseNotes
) -> None:
    """Check that the heading has the form of the layout; `has_form` is whether its ending has."""
    section = opened.section
    is_third = section is HYPOTHESIS_SLATE and "third_alternative" in item.fields
    if section is PREDICTIONS_TABLE:
        kind, meant = "row", f"a row of the table under ## {LAYOUT_BY_SECTION[section.id].heading}"
    elif not heading.is_canonical or heading.level != ITEM_LEVEL:
        kind, meant = "item", item_heading(section, item)
    elif not has_form or (is_third and not names_third_alternative(heading.text)):
        kind, meant = f"ending of {section.prefix}", item_heading(section, item)
    else:
        return
    written = f"{'#' * heading.level} {heading.text}".strip()
    notes.add_form(codes.HEADING_FORM, kind, opened.line, opened.id, written=written, meant=meant)


def _report_contradiction(
    notes: ParseNotes, opened: OpenItem, says: str, other: str, read: str
) -> None:
    words = {"id": opened.id, "says": says, "other": other, "read": read}
    notes.add(codes.HEADING_CONTRADICTS, opened.line, opened.id, **words)


def report_unknown_label(
    notes: ParseNotes, section: Section, item_id: str | None, label: str, line: int
) -> ParseNote:
    layout = LAYOUT_BY_SECTION[section.id]
    known = list(layout.labels.values())
    words = {"label": label, "heading": f"## {layout.heading}"}
    labels = ", ".join(f"`{each}`" for each in known)
    suggestion = did_you_mean(closest(label, known))
    return notes.add(
        codes.UNKNOWN_LABEL, line, item_id, labels=labels, suggestion=suggestion, **words
    )


# The predictions table: each row is one open item

_CONDITION_HEADERS = frozenset(
    {CONDITION_COLUMN.casefold(), "observation / condition", "observation", "condition"}
)


def read_table_rows(
    table: list[TableRow], notes: ParseNotes
) -> tuple[list[OpenItem], tuple[str, ...]]:
    """Return the rows as open items, and the headers of the columns as the layout has them.

    Lines under the table can add to the items.
    """
    header, header_line = table[0]
    written = [re.sub(r"^(\*\*|~~)(.*)\1$", r"\2", cell) for cell in header]
    folded = [unescape(cell).strip().casefold() for cell in written]
    id_column = folded.index(ID_COLUMN.casefold()) if ID_COLUMN.casefold() in folded else None
    others = [index for index in range(len(folded)) if index != id_column]
    named = [index for index in others if folded[index] in _CONDITION_HEADERS]
    condition = named[0] if named else next(iter(others), None)
    names = list(map(_column_key, written))
    for index, name in ((id_column, ID_COLUMN), (condition, CONDITION_COLUMN)):
        if index is not None:
            names[index] = name
    for cell, name in zip(header, names, strict=True):
        if unescape(cell) != name:
            words = {"what": f"A column has the heading `{cell}`", "right": f"`{name}`"}
            notes.add_form(codes.FIELD_FORM, "column", header_line, **words)
    rows = [_read_row(row, names, id_column, condition, notes) for row in table[1:] if any(row[0])]
    return rows, tuple(names)


def _column_key(written: str) -> str:
    """Return the key of a column. Other programs add the name: `H1 (Lineage)`, `H1: Lineage`."""
    word = re.match(r"([A-Z][0-9]+)(?: \(|: | [-–—] )", written)
    return word[1] if word and ITEM_ID.fullmatch(word[1]) else unescape(written)


def _read_row(
    row: TableRow, names: list[str], id_column: int | None, condition: int | None, notes: ParseNotes
) -> OpenItem:
    all_cells, line = row
    cells = all_cells[: len(names)]
    for cell in filter(None, all_cells[len(names) :]):
        notes.add(codes.TEXT_NOT_READ, line, text=cell)
    written = cells[id_column] if id_column is not None and id_column < len(cells) else ""
    marks = read_kill_marks(written)
    opened = OpenItem(unescape(marks.rest), PREDICTIONS_TABLE, line)
    if marks.is_killed:
        opened.mark_killed(marks.words, is_canonical=not marks.is_nonstandard and not marks.mark)
    outcomes = OpenField("predictions", "Predictions", FieldKind.OUTCOMES, line)
    for index, cell in enumerate(cells):
        if index == condition and cell:
            field = OpenField("condition", CONDITION_COLUMN, FieldKind.TEXT, line, cell)
            opened.fields[field.name] = field
        elif index not in (id_column, condition) and cell:
            outcomes.entries.append((cell, line, names[index]))
    if outcomes.entries:
        opened.fields[outcomes.name] = outcomes
    return opened
