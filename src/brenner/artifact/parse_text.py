"""The text under a heading: fields, the entries of lists, the predictions table, and what is none.

A field is open until the next label or heading. What stands in between is its text.
"""

import re
from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from brenner.artifact.format import Note, Notes, is_status, killed_line, killed_status
from brenner.artifact.model import (
    CONDITION_COLUMN,
    KILLED_BY,
    LAYOUT,
    NONE_REGISTERED,
    REASON,
    REFERENCES,
    Layout,
)
from brenner.artifact.parse_fields import (
    KILLED_BY_FIELD,
    REASON_FIELD,
    Columns,
    Entry,
    OpenField,
    OpenItem,
    read_rows,
    unknown_label,
)
from brenner.diagnostics.codes import artifacts as codes
from brenner.markdown.blocks import Block, Kind
from brenner.markdown.escape import read_table, split_key, unescape
from brenner.protocol.delta.schema import (
    ANOMALY_REGISTER,
    PREDICTIONS_TABLE,
    RESEARCH_THREAD,
    FieldKind,
    Section,
)
from brenner.protocol.grammar import ITEM_ID

# Labels: what begins a field, and which field that is, ours or as others write it.


# `**Claim**: text`. Others put the colon inside, or strike the line through as a whole.
_LABEL = re.compile(
    r"(~~)?(\*\*|__)((?:[^*\\\n]|\\.)+?)(:\2|\2[ \t]*+:)[ \t]*+(.*)",
)
# `Claim: text`, `*Claim*: text`, `**Claim** – text`, `**Claim**` alone: where the words are known.
_WORDS = r"([A-Za-z][\w /-]{0,60}?)"
_OTHER_LABEL = re.compile(
    rf"(?:[*_]{{0,3}}{_WORDS}[*_]{{0,3}}[ \t]*+:[*_]{{0,3}}(?:[ \t]++|\Z)"
    rf"|([*_]{{2,3}}){_WORDS}\2(?:[ \t]++[–—-][ \t]++|[ \t]*+\Z))(.*)"
)
KILLED_LABEL = "Killed"


class Label(NamedTuple):
    """A label, as it is to be read, and the rest of its line, still escaped."""

    text: str
    rest: str
    written: str
    is_form: bool
    is_struck: bool = False  # with its line


def read_label(line: str) -> Label | None:
    """The label that a line begins with."""
    match = _LABEL.match(line) if line.startswith(("**", "~~**", "__", "~~__")) else None
    if match is None:
        return None
    struck, _bold, name, colon, rest = match.groups()
    written = line[: match.start(5)].strip()
    is_form = colon == "**:"
    name = unescape(name).strip()
    return Label(name, f"{struck or ''}{rest}", written, is_form, struck is not None)


def read_other_label(line: str) -> Label | None:
    """What may be a label, or say that the item is killed: only if the item has such a field."""
    words = killed_line(line)
    if words is not None:
        return Label(KILLED_LABEL, words, line, is_form=False)
    match = _OTHER_LABEL.match(line)
    if match is None:
        return None
    plain, _, marked, rest = match.groups()
    return Label((plain or marked).strip(), rest, line[: match.start(4)].strip(), is_form=False)


def folded(label: str) -> str:
    """A label as it is compared."""
    return " ".join(label.replace("_", " ").casefold().split())


# Labels of other programs that say by themselves that the item is killed.
KILL_REASONS = frozenset(
    {"kill reason", "killed reason", "kill rationale", "reason for kill", "reason for killing"}
)
_KILLED = frozenset({"killed", "killed at", "killed on", "kill date"})
_NOT_KILLED = frozenset({"", "no", "false", "n", "n/a", "-", "–", "—"})


def said_killed(section: Section, label: str, raw: str) -> str | None:
    """What a field says of a kill beyond that there was one; None where it says nothing of it."""
    if section is RESEARCH_THREAD:
        return None
    word = folded(label)
    if word in _KILLED:
        return None if raw.strip(" *_.").casefold() in _NOT_KILLED else raw
    return killed_status(raw) if is_status(word) else None


def _names(layout: Layout) -> dict[str, str]:
    """The fields of a section by the words that may stand as their label, also folded."""
    labels = {label: name for name, label in layout.labels.items()}
    if layout.section is not RESEARCH_THREAD:
        labels |= {KILLED_BY: KILLED_BY_FIELD, REASON: REASON_FIELD}
    others = {name: name for name in layout.section.fields}
    if layout.section is not RESEARCH_THREAD:
        others |= dict.fromkeys(KILL_REASONS, REASON_FIELD)
    if layout.section is PREDICTIONS_TABLE:
        others[CONDITION_COLUMN] = "condition"
    return {folded(word): name for word, name in (others | labels).items()} | labels


_NAMES = {layout.section.id: _names(layout) for layout in LAYOUT}
_LABELS = {
    layout.section.id: layout.labels | {KILLED_BY_FIELD: KILLED_BY, REASON_FIELD: REASON}
    for layout in LAYOUT
}
# What stands under the table for one of its rows: `**P2 Killed by**: …`.
_ROW_LABELS = {REFERENCES: "references", KILLED_BY: KILLED_BY_FIELD, REASON: REASON_FIELD}


class Named(NamedTuple):
    """The field of an item that a label names; `right` is the label as the layout has it."""

    item: OpenItem
    name: str
    right: str | None

    @property
    def kind(self) -> FieldKind:
        """What the field holds."""
        field = self.item.section.fields.get(self.name)
        return field.kind if field else FieldKind.TEXT


def named(label: str, item: OpenItem | None, rows: Mapping[str, OpenItem]) -> Named | None:
    """What a label names, in the open item or in a row of the table above."""
    if item:
        section_id = item.section.id
        names = _NAMES[section_id]
        field = names.get(label) or names.get(folded(label))
        return Named(item, field, _LABELS[section_id].get(field)) if field else None
    for ending, name in _ROW_LABELS.items() if rows else ():
        if label.casefold().endswith(f" {ending.casefold()}"):
            row = rows.get(label[: -len(ending) - 1])
            if row:
                return Named(row, name, f"{row.id} {ending}")
    return None


class Place(Enum):
    """Where a label stands: in a paragraph, in the entry of a list, or right below a list."""

    PARAGRAPH = ""
    ENTRY = "is the entry of a list"
    BELOW_LIST = "follows a list without a blank line between, so that viewers show it there"


def odd_form(label: Label, field: Named, place: Place) -> tuple[str, str, str] | None:
    """The kind of a form that is not ours, what it is, and what would be right."""
    if field.right is None:
        right = "it into the heading" if field.name == "name" else "it into the table"
        return "own line", f"`**{label.text}**` has a line of its own", right
    right = f"`**{field.right}**: …` as a paragraph of its own"
    if place.value:
        return place.name, f"`**{label.text}**` {place.value}", right
    if folded(label.text) in KILL_REASONS:
        return None  # the item is told of as killed in another form
    if not label.is_form or label.text != field.right:
        return "label", f"The label `**{field.right}**:` is written `{label.written}`", right
    return None


_TEXTS = frozenset({FieldKind.TEXT, FieldKind.CHOICE})
_LISTS = frozenset(FieldKind) - _TEXTS - {FieldKind.FLAG}
# What others say of an empty register. The linter asks for "None registered" (EX-002).
_NONE = frozenset(
    {"none", "none yet", "none so far", "nothing", "no anomalies", "no anomalies yet", "n/a", "-"}
    | {
        "no anomalies registered",
        "no anomalies so far",
        "none known",
        "none at this time",
        "–",
        "—",
    }
)


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
        self.says_none: list[Note] = []  # in other words: nothing, unless there are anomalies
        self._opened = opened
        self._notes = notes
        self._section: Section | None = None
        self._item: OpenItem | None = None
        self._owner: OpenItem | None = None  # whose deeper headings follow
        self._field: OpenField | None = None
        self._rows: dict[str, OpenItem] = {}
        self._unread: Note | None = None  # in which further text that is not read is counted

    def move(
        self, section: Section | None, item: OpenItem | None = None, unread: Note | None = None
    ) -> None:
        """Go on under another heading."""
        self._section = section
        self._item = self._owner = item
        self._field = None
        self._rows = {}
        self._unread = unread

    def stop(self) -> None:
        """End the field: a line across the page, or what is no text, follows."""
        self._field = None

    def leave_item(
        self, text: str, line: int, unread: Note | None = None, *, is_deep: bool = False
    ) -> None:
        """A heading follows that was not understood: nothing under it goes to the item before.

        After a deep one another heading may name a field of that item.
        """
        self._field = None
        if self._section is not RESEARCH_THREAD:
            self._item = None
            self._owner = self._owner if is_deep else None
        self._unread = unread
        if unread:
            unread.headings += 1
        else:
            self.not_read(text, line)

    def take(self, part: Part) -> None:
        """Go on with a part of a block."""
        if not part.is_prose:
            self._continue(part)
        elif not (self._section is PREDICTIONS_TABLE and "|" in part.text and self._table(part)):
            self._paragraph(part)

    def not_read(self, text: str, line: int) -> None:
        """Tell of text that is nobody's, or count it where that was told of."""
        if self._unread:
            self._unread.blocks += 1
        else:
            self._unread = self._notes.add(codes.TEXT_NOT_READ, line, text=text)

    def _table(self, part: Part) -> bool:
        table = read_table(part.text, part.line)
        if table is None:
            return False
        columns = Columns(table.header, self._notes)
        rows = read_rows(table, columns, self._notes)
        self.columns = self.columns or columns.names
        self._opened += rows
        self._item = self._owner = self._field = self._unread = None
        self._rows = {row.id: row for row in reversed(rows)} | self._rows
        return True

    # Fields

    def _paragraph(self, part: Part) -> None:
        """A paragraph that may hold labels, each with the lines that follow it."""
        if "\n" not in part.text and not part.is_entry and (only := read_label(part.text)):
            self._open_field(only, only.rest.strip(" \t"), part.line, Place.PARAGRAPH)
            return
        lines = part.text.split("\n")
        found = self._labels(lines, part)
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

    def _labels(self, lines: list[str], part: Part) -> list[tuple[int, Label]]:
        """The lines of a paragraph that begin with a label; after a hard line break none does."""
        field = self._field
        in_list = part.is_entry and field is not None and not field.in_list
        is_entry_of_field = in_list and field is not None and field.kind in _LISTS
        found = []
        for index, line in enumerate(lines):
            label = read_label(line)
            if label and not index and in_list and not self._ends_list(label):
                label = None
            elif label is None and not (is_entry_of_field and index == 0):
                goes_on = index > 0 and _without_break(lines[index - 1]) != lines[index - 1]
                label = None if goes_on else self.other_label(line)
            if label:
                found.append((index, label))
        return found

    def _ends_list(self, label: Label) -> bool:
        """Bold words in a list under a field are its text, unless they are a label of the item, or
        the ID of another one.
        """
        if named(label.text, self._item, self._rows):
            return True
        is_listed = self._field is not None and self._field.kind is FieldKind.OUTCOMES
        return self._is_item(label.text) and not is_listed

    def _is_item(self, label: str) -> bool:
        """Whether it is the ID of an item of this section."""
        match = ITEM_ID.fullmatch(label) if self._section else None
        return match is not None and self._section is not None and match[1] == self._section.prefix

    def other_label(self, line: str) -> Label | None:
        """A label that is not in bold, or has no colon: only if the open item has such a field."""
        label = read_other_label(line) if self._item or self._rows else None
        if label is None:
            return None
        item = self._item
        if item and said_killed(item.section, label.text, label.rest) is not None:
            return label
        field = named(label.text, item, self._rows)
        if field and field.name == REASON_FIELD and folded(label.text) == REASON.casefold():
            is_killed = field.item.is_killed or KILLED_BY_FIELD in field.item.fields
            return label if is_killed else None
        return label if field else None

    def take_heading(self, text: str, line: int) -> bool:
        """Open the field that a heading such as `#### Mechanism` names; whether there is one."""
        words, rest = split_key(text) or (text, "")
        words = words.strip("*_ \t")
        if not self._owner or not named(words, self._owner, {}):
            return False
        self._item = self._owner
        label = Label(words, rest, f"#### {text}", is_form=False)
        self._open_field(label, rest, line, Place.PARAGRAPH)
        if self._field:
            self._field.is_headed = True
        return True

    def _open_field(self, label: Label, raw: str, line: int, place: Place) -> None:
        field = named(label.text, self._item, self._rows)
        item = field.item if field else self._item
        section = item.section if item else self._section
        self._field = opened = OpenField("", label.text, FieldKind.TEXT, line, raw)
        opened.in_list = place is Place.ENTRY
        opened.is_line_struck = label.is_struck
        opened.is_read = False
        said = said_killed(item.section, label.text, raw) if item else None
        if item and said is not None:
            item.say_killed(said)
            self._unread = None
        elif section is None or (item is None and not self._rows):
            self.not_read(f"{label.written} {raw}", line)
        elif field is None and self._is_item(label.text):
            self.leave_item(f"{label.written} {raw}", line)
        elif field is None:
            item_id = item.id if item else None
            self._unread = unknown_label(self._notes, section, item_id, label.text, line)
        elif first := field.item.fields.get(field.name):
            words = {"label": label.text, "id": field.item.id, "first": str(first.line)}
            self._unread = self._notes.add(codes.REPEATED_LABEL, line, field.item.id, **words)
        else:
            self._fill(field, opened, label, place)

    def _fill(self, field: Named, opened: OpenField, label: Label, place: Place) -> None:
        """Put the field into its item."""
        opened.name, opened.kind, opened.is_read = field.name, field.kind, True
        field.item.fields[field.name] = opened
        self._unread = None
        if field.name == REASON_FIELD and folded(label.text) in KILL_REASONS:
            field.item.say_killed("")
        odd = odd_form(label, field, place)
        if odd:
            kind, what, right = odd
            words = {"what": what, "right": right}
            self._notes.form(codes.FIELD_FORM, kind, opened.line, field.item.id, **words)

    # Text without a label

    def _continue(self, part: Part) -> None:
        """An entry of a list, more of the field, or nobody's."""
        field = self._field
        if field is None:
            self._without_field(part)
        elif not field.is_read:
            self.not_read(part.written, part.line)
        elif field.kind in _LISTS and part.is_entry:
            field.entries.append(Entry(part.text, part.line))
        elif field.kind in _TEXTS:
            is_first = field.is_headed and not field.raw
            field.go_on(part.gap, part.written)
            if is_first:
                return
            what = f"The text of `**{field.label}**` goes on in further blocks"
            right = "it in one paragraph, with `\\` at the end of a line for a line break"
            self._notes.form(codes.FIELD_FORM, "blocks", part.line, what=what, right=right)
        else:
            self.not_read(part.written, part.line)

    def _without_field(self, part: Part) -> None:
        words = part.written.strip("*_. \t\n").casefold()
        none_registered = NONE_REGISTERED.casefold()
        if self._section is ANOMALY_REGISTER and words.startswith(none_registered):
            self.says_none_registered = True
            if words == none_registered:
                return
        if self._section is ANOMALY_REGISTER and words in _NONE and not self._unread:
            self.says_none.append(self._notes.add(codes.TEXT_NOT_READ, part.line, text=words))
        elif words:
            self.not_read(part.written, part.line)


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


def _without_break(raw: str) -> str:
    """A value without the line break that parts it from the label below."""
    backslashes = len(raw) - len(raw.rstrip("\\"))
    return raw[:-1] if backslashes % 2 else raw
