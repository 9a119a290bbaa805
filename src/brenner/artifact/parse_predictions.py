"""The predictions table while it is being read: one open item per row."""

import re

from brenner.artifact.kill_marks import read_marks
from brenner.artifact.layout import CONDITION_COLUMN, ID_COLUMN
from brenner.artifact.notes import Notes
from brenner.artifact.parse_fields import Entry, OpenField
from brenner.artifact.parse_items import OpenItem
from brenner.diagnostics.codes import artifacts as codes
from brenner.markdown.escape import Row, Table, unescape
from brenner.protocol.delta.schema import PREDICTIONS_TABLE, FieldKind
from brenner.protocol.grammar import ITEM_ID

_CONDITIONS = frozenset(
    {CONDITION_COLUMN.casefold(), "observation / condition", "observation", "condition"}
)


class Columns:
    """Which column holds what. `names` are the headings as the layout would have them."""

    def __init__(self, header: Row, notes: Notes) -> None:
        written = [re.sub(r"^(\*\*|~~)(.*)\1$", r"\2", cell) for cell in header.cells]
        folded = [unescape(cell).strip().casefold() for cell in written]
        self.id = folded.index(ID_COLUMN.casefold()) if ID_COLUMN.casefold() in folded else None
        others = [index for index in range(len(folded)) if index != self.id]
        named = [index for index in others if folded[index] in _CONDITIONS]
        self.condition = named[0] if named else next(iter(others), None)
        self.names = tuple(map(_hypothesis, written))
        for index, name in ((self.id, ID_COLUMN), (self.condition, CONDITION_COLUMN)):
            if index is not None:
                self.names = (*self.names[:index], name, *self.names[index + 1 :])
        for cell, name in zip(header.cells, self.names, strict=True):
            if unescape(cell) != name:
                words = {"what": f"A column is headed `{cell}`", "right": f"`{name}`"}
                notes.form(codes.FIELD_FORM, "column", header.line, **words)


def _hypothesis(written: str) -> str:
    """The key of a column. Others add the name: `H1 (Lineage)`, `H1: Lineage`."""
    word = re.match(r"([A-Z][0-9]+)(?: \(|: | [-–—] )", written)
    return word[1] if word and ITEM_ID.fullmatch(word[1]) else unescape(written)


def read_rows(table: Table, columns: Columns, notes: Notes) -> list[OpenItem]:
    """The rows as open items; lines under the table may add to them."""
    return [_row(row, columns, notes) for row in table.rows if any(row.cells)]


def _row(row: Row, columns: Columns, notes: Notes) -> OpenItem:
    cells = row.cells[: len(columns.names)]
    for cell in filter(None, row.cells[len(columns.names) :]):
        notes.add(codes.TEXT_NOT_READ, row.line, text=cell)
    written = cells[columns.id] if columns.id is not None and columns.id < len(cells) else ""
    marks = read_marks(written)
    opened = OpenItem(unescape(marks.rest), PREDICTIONS_TABLE, row.line)
    if marks.is_killed:
        opened.say_killed(marks.words, is_form=not marks.is_odd and not marks.mark)
    outcomes = OpenField("predictions", "Predictions", FieldKind.OUTCOMES, row.line)
    for index, cell in enumerate(cells):
        if index == columns.condition and cell:
            field = OpenField("condition", CONDITION_COLUMN, FieldKind.TEXT, row.line, cell)
            opened.fields[field.name] = field
        elif index not in (columns.id, columns.condition) and cell:
            outcomes.entries.append(Entry(cell, row.line, columns.names[index]))
    if outcomes.entries:
        opened.fields[outcomes.name] = outcomes
    return opened
