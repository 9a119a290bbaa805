"""The text under a heading: fields, the entries of lists, the predictions table, and what is none.

A field is open until the next label or heading. What stands in between is its text.
"""

import re
from typing import NamedTuple

from brenner.artifact.item_text import KILLED_STATUS
from brenner.artifact.layout import NONE_REGISTERED
from brenner.artifact.notes import Notes
from brenner.artifact.parse_fields import Entry, OpenField
from brenner.artifact.parse_items import OpenItem, unknown_label
from brenner.artifact.parse_labels import Label, Place, folded, named, odd_form, read_label
from brenner.artifact.parse_predictions import Columns, read_rows
from brenner.delta.schema import (
    ANOMALY_REGISTER,
    PREDICTIONS_TABLE,
    RESEARCH_THREAD,
    FieldKind,
    Section,
)
from brenner.diagnostics.codes import artifact_text as codes
from brenner.markdown.blocks import Block, Kind
from brenner.markdown.escaping import unstruck
from brenner.markdown.tables import read_table

_TEXTS = frozenset({FieldKind.TEXT, FieldKind.CHOICE})
_LISTS = frozenset({FieldKind.OUTCOMES, FieldKind.REFERENCES, FieldKind.ANCHORS, FieldKind.ITEMS})


class Part(NamedTuple):
    """A part of a block: its text, the text as it is written, and the line of the file."""

    text: str
    written: str
    line: int
    is_prose: bool  # a paragraph, and not quoted
    is_entry: bool  # and in a list
    gap: str  # what parts it from the block before


class OpenText:
    """What is open under the last heading."""

    def __init__(self, opened: list[OpenItem], notes: Notes) -> None:
        self.columns: tuple[str, ...] | None = None
        self.says_none_registered = False
        self._opened = opened
        self._notes = notes
        self._section: Section | None = None
        self._item: OpenItem | None = None
        self._field: OpenField | None = None
        self._rows: dict[str, OpenItem] = {}

    def move(self, section: Section | None, item: OpenItem | None = None) -> None:
        """Go on under another heading."""
        self._section = section
        self._item = item
        self._field = None
        self._rows = {}

    def stop(self) -> None:
        """End the field: a heading follows that is nobody's."""
        self._field = None

    def take(self, part: Part) -> None:
        """Go on with a part of a block."""
        if not part.is_prose:
            self._continue(part)
        elif self._section is PREDICTIONS_TABLE and "|" in part.text and self._table(part):
            pass
        elif "**" in part.text:
            self._fields(part)
        else:
            self._continue(part)

    def _table(self, part: Part) -> bool:
        table = read_table(part.text, part.line)
        if table is None:
            return False
        columns = Columns(table.header, self._notes)
        rows = read_rows(table, columns, self._notes)
        self.columns = self.columns or columns.names
        self._opened += rows
        self._item = self._field = None
        self._rows = {row.id: row for row in reversed(rows)} | self._rows
        return True

    # Fields

    def _fields(self, part: Part) -> None:
        """A paragraph that may hold labels, each with the lines that follow it."""
        if "\n" not in part.text and not part.is_entry and (only := read_label(part.text)):
            self._open_field(only, only.rest.strip(" \t"), part.line, Place.PARAGRAPH)
            return
        lines = part.text.split("\n")
        found = [
            (index, label)
            for index, line in enumerate(lines)
            if (label := read_label(line)) and (index or self._counts(label, part))
        ]
        if not found:
            self._continue(part)
            return
        if found[0][0] > 0:
            before = "\n".join(lines[: found[0][0]])
            written = "\n".join(part.written.split("\n")[: found[0][0]])
            self._continue(part._replace(text=before, written=written))
        ends = [*(index for index, _ in found[1:]), len(lines)]
        for (index, label), end in zip(found, ends, strict=True):
            raw = "\n".join([label.rest, *lines[index + 1 : end]]).strip(" \t\n")
            raw = _without_break(raw) if end < len(lines) else raw
            place = Place.PARAGRAPH
            if part.is_entry:
                place = Place.BELOW_LIST if index else Place.ENTRY
            self._open_field(label, raw, part.line + index, place)

    def _counts(self, label: Label, part: Part) -> bool:
        """Bold words in a list under a field are its text, unless they are a label of the item."""
        in_list = part.is_entry and self._field is not None and not self._field.in_list
        return not in_list or named(label.text, self._item, self._rows) is not None

    def _open_field(self, label: Label, raw: str, line: int, place: Place) -> None:
        field = named(label.text, self._item, self._rows)
        item = field.item if field else self._item
        section = item.section if item else self._section
        self._field = opened = OpenField("", label.text, FieldKind.TEXT, line, raw)
        opened.in_list = place is Place.ENTRY
        opened.is_read = False
        if item and _says_killed(item.section, label.text, raw):
            item.is_killed, item.is_kill_form = True, False
        elif section is None or (item is None and not self._rows):
            self._not_read(f"{label.written} {raw}", line)
        elif field is None:
            unknown_label(self._notes, section, item.id if item else None, label.text, line)
        elif first := field.item.fields.get(field.name):
            words = {"label": label.text, "id": field.item.id, "first": str(first.line)}
            self._notes.add(codes.REPEATED_LABEL, line, field.item.id, **words)
        else:
            opened.name, opened.kind, opened.is_read = field.name, field.kind, True
            field.item.fields[field.name] = opened
            odd = odd_form(label, field, place)
            if odd:
                kind, what, right = odd
                words = {"what": what, "right": right}
                self._notes.form(codes.FIELD_FORM, kind, line, field.item.id, **words)

    # Text without a label

    def _continue(self, part: Part) -> None:
        """An entry of a list, more of the field, or nobody's."""
        field = self._field
        if field is None:
            self._without_field(part)
        elif not field.is_read:
            pass  # it goes the way of its label, which was told of
        elif field.kind in _LISTS and part.is_entry:
            field.entries.append(Entry(part.text, part.line))
        elif field.kind in _TEXTS:
            field.go_on(part.gap, part.written)
            what = f"The text of `**{field.label}**` goes on in further blocks"
            right = "it in one paragraph, with `\\` at the end of a line for a line break"
            self._notes.form(codes.FIELD_FORM, "blocks", part.line, what=what, right=right)
        else:
            self._not_read(part.written, part.line)

    def _without_field(self, part: Part) -> None:
        words = part.written.strip("*_. \t\n").casefold()
        none_registered = NONE_REGISTERED.casefold()
        if self._section is ANOMALY_REGISTER and words.startswith(none_registered):
            self.says_none_registered = True
            if words == none_registered:
                return
        if words:
            self._not_read(part.written, part.line)

    def _not_read(self, text: str, line: int) -> None:
        self._notes.add(codes.TEXT_NOT_READ, line, text=text)


def part_of(block: Block, lines_before: int, source: list[str], last: int) -> Part:
    """A block as a part; `last` is the line on which the block before it ends."""
    is_prose = block.kind in (Kind.PARAGRAPH, Kind.HEADING) and not block.quoted
    written = block.text
    line = block.line + lines_before
    if not is_prose or block.nested:
        lines = source[line - 1 : block.end + lines_before]
        written = "\n".join(each.rstrip() for each in lines)
    gap = "\n\n" if block.line > last + 1 else "\n"
    return Part(block.text, written, line, is_prose, is_prose and block.nested, gap)


def _says_killed(section: Section, label: str, raw: str) -> bool:
    """`**Status**: KILLED`, as some programs mark an item."""
    if KILLED_STATUS not in raw:
        return False
    is_status = section is not RESEARCH_THREAD and folded(label).endswith("status")
    return is_status and re.sub(r"[*_` ]", "", unstruck(raw) or raw) == KILLED_STATUS


def _without_break(raw: str) -> str:
    """A value without the line break that parts it from the label below."""
    backslashes = len(raw) - len(raw.rstrip("\\"))
    return raw[:-1] if backslashes % 2 else raw
