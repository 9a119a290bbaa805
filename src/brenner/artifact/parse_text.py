"""Parse the text under a heading: fields, list entries, the predictions table, and unread text.

A field stays open until the next label or heading. The text in between belongs to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.artifact.format import (
    ParseNote,
    ParseNotes,
    is_status,
    read_killed_line,
    read_killed_status,
)
from brenner.artifact.model import (
    CONDITION_COLUMN,
    KILLED_BY,
    LAYOUT,
    NONE_REGISTERED,
    OUTCOMES,
    REASON,
    REFERENCES,
    SectionLayout,
)
from brenner.artifact.parse_fields import (
    KILLED_BY_FIELD,
    REASON_FIELD,
    OpenField,
    OpenItem,
    read_table_rows,
    report_unknown_label,
)
from brenner.diagnostics.codes import artifacts as codes
from brenner.lazy_pattern import lazy_pattern
from brenner.markdown.blocks import Block, BlockKind
from brenner.markdown.escape import read_table, split_key, unescape
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.schema import (
    ANOMALY_REGISTER,
    COLLECTION_KINDS,
    PREDICTIONS_TABLE,
    RECORD_FORMAT,
    RESEARCH_THREAD,
    FieldKind,
    Section,
)
from brenner.protocol.grammar import ITEM_ID

if TYPE_CHECKING:
    from collections.abc import Mapping

# Labels, in our form and in those of other programs


# `**Claim**: text`. Others put the colon inside, or strike the whole line through.
_LABEL = lazy_pattern(
    r"(~~)?(\*\*|__)((?:[^*\\\n]|\\.)+?)(:\2|\2[ \t]*+:)[ \t]*+(.*)",
)
# `Claim: text`, `*Claim*: text`, `**Claim** – text`, `**Claim**` alone: where the words are known.
_WORDS = r"([A-Za-z][\w /-]{0,60}?)"
_OTHER_LABEL = lazy_pattern(
    rf"(?:[*_]{{0,3}}{_WORDS}[*_]{{0,3}}[ \t]*+:[*_]{{0,3}}(?:[ \t]++|\Z)"
    rf"|([*_]{{2,3}}){_WORDS}\2(?:[ \t]++[–—-][ \t]++|[ \t]*+\Z))(.*)"
)
KILLED_LABEL = "Killed"


class Label(NamedTuple):
    """A label as it is to be read, and the rest of its line, still escaped."""

    text: str
    rest: str
    written: str
    is_canonical: bool
    is_struck: bool = False  # with its line


def read_label(line: str) -> Label | None:
    match = _LABEL.match(line) if line.startswith(("**", "~~**", "__", "~~__")) else None
    if match is None:
        return None
    struck, _bold, name, colon, rest = match.groups()
    written = line[: match.start(5)].strip()
    is_canonical = colon == "**:"
    name = unescape(name).strip()
    return Label(name, f"{struck or ''}{rest}", written, is_canonical, struck is not None)


def read_other_label(line: str) -> Label | None:
    """Parse a possible label, or a line that marks the item as killed.

    It counts only if the item has such a field.
    """
    words = read_killed_line(line)
    if words is not None:
        return Label(KILLED_LABEL, words, line, is_canonical=False)
    match = _OTHER_LABEL.match(line)
    if match is None:
        return None
    plain, _, marked, rest = match.groups()
    return Label(
        (plain or marked).strip(), rest, line[: match.start(4)].strip(), is_canonical=False
    )


def fold_label(label: str) -> str:
    """Return a label in the form in which it is compared."""
    return " ".join(label.replace("_", " ").casefold().split())


# Labels of other programs that mark the item as killed
KILL_REASON_LABELS = frozenset(
    {"kill reason", "killed reason", "kill rationale", "reason for kill", "reason for killing"}
)
_KILL_LABELS = frozenset({"killed", "killed at", "killed on", "kill date"})
_NOT_KILLED_WORDS = frozenset({"", "no", "false", "n", "n/a", "-", "–", "—"})


def read_kill_field(section: Section, label: str, raw: str) -> str | None:
    """Return a field's words about a kill, or None if it does not mark the item as killed."""
    if section is RESEARCH_THREAD:
        return None
    word = fold_label(label)
    if word in _KILL_LABELS:
        return None if raw.strip(" *_.").casefold() in _NOT_KILLED_WORDS else raw
    return read_killed_status(raw) if is_status(word) else None


def _field_by_label(layout: SectionLayout, record_format: int) -> dict[str, str]:
    """Return the fields of a section by their possible labels, also in folded form.

    Fields that the record format does not know have no label (R26).
    """
    fields = layout.section.in_format(record_format).fields
    labels = {label: name for name, label in layout.labels.items() if name in fields}
    if layout.section is not RESEARCH_THREAD:
        labels |= {KILLED_BY: KILLED_BY_FIELD, REASON: REASON_FIELD}
    others = {name: name for name in fields}
    if layout.section is not RESEARCH_THREAD:
        others |= dict.fromkeys(KILL_REASON_LABELS, REASON_FIELD)
    if layout.section is PREDICTIONS_TABLE:
        others[CONDITION_COLUMN] = "condition"
    return {fold_label(word): name for word, name in (others | labels).items()} | labels


_FIELD_BY_LABEL = {
    (layout.section.id, record_format): _field_by_label(layout, record_format)
    for layout in LAYOUT
    for record_format in range(1, RECORD_FORMAT + 1)
}
_LABEL_BY_FIELD = {
    layout.section.id: layout.labels | {KILLED_BY_FIELD: KILLED_BY, REASON_FIELD: REASON}
    for layout in LAYOUT
}
# Labels under the table for one of its rows: `**P2 Killed by**: …`
_ROW_LABELS = {
    OUTCOMES: "outcomes",
    REFERENCES: "references",
    KILLED_BY: KILLED_BY_FIELD,
    REASON: REASON_FIELD,
}


def find_field(
    label: str,
    item: OpenItem | None,
    rows: Mapping[str, OpenItem],
    record_format: int = RECORD_FORMAT,
) -> tuple[OpenItem, str, str | None] | None:
    """Return the field that a label names, in the open item or in a row of the table above.

    It is the item, the name of its field, and the label of the layout.
    """
    if item:
        section_id = item.section.id
        names = _FIELD_BY_LABEL[section_id, record_format]
        field = names.get(label) or names.get(fold_label(label))
        return (item, field, _LABEL_BY_FIELD[section_id].get(field)) if field else None
    for ending, name in _ROW_LABELS.items() if rows else ():
        if ending == OUTCOMES and record_format < RECORD_FORMAT:
            continue
        if label.casefold().endswith(f" {ending.casefold()}"):
            row = rows.get(label[: -len(ending) - 1])
            if row:
                return row, name, f"{row.id} {ending}"
    return None


# The position of a label: in a paragraph, in a list entry, or directly below a list
_IN_PARAGRAPH = ""
_IN_ENTRY = "is an entry of a list"
_BELOW_LIST = "follows a list without a blank line, so that viewers show it in the list"


def nonstandard_form(
    label: Label, name: str, layout_label: str | None, place: str
) -> tuple[str, str, str] | None:
    """Return the kind of a nonstandard form, its description, and the right form."""
    if layout_label is None:
        right = "it into the heading" if name == "name" else "it into the table"
        return "own line", f"`**{label.text}**` is on its own line", right
    right = f"`**{layout_label}**: …` as its own paragraph"
    if place:
        return place, f"`**{label.text}**` {place}", right
    if fold_label(label.text) in KILL_REASON_LABELS:
        return None  # the kill's nonstandard form is reported already
    if not label.is_canonical or label.text != layout_label:
        return "label", f"The label `**{layout_label}**:` is written `{label.written}`", right
    return None


# Reading the text under a heading

_TEXT_KINDS = frozenset({FieldKind.TEXT, FieldKind.CHOICE})
# Words of other programs for an empty register. The linter requires "None registered" (EX-002).
_EMPTY_REGISTER_WORDS = frozenset(
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


class TextPart(NamedTuple):
    """A part of a block: its text, the text as written, and its line in the file."""

    text: str
    written: str
    line: int
    is_prose: bool  # a paragraph, and not quoted
    is_entry: bool  # and inside a list
    gap: str  # the separator from the block before


class TextReader:
    """The reader for the text under the latest heading."""

    def __init__(self, opened: list[OpenItem], notes: ParseNotes, record_format: int) -> None:
        self.columns: tuple[str, ...] | None = None
        self.says_none_registered = False
        # "none" in other words than ours; harmless, unless there are anomalies
        self.empty_register_notes: list[ParseNote] = []
        self._record_format = record_format
        self._opened = opened
        self._notes = notes
        self._section: Section | None = None
        self._item: OpenItem | None = None
        self._owner: OpenItem | None = None  # the item that deeper headings belong to
        self._field: OpenField | None = None
        self._rows: dict[str, OpenItem] = {}
        self._unread: ParseNote | None = None  # counts further unread text

    def enter(
        self, section: Section | None, item: OpenItem | None = None, unread: ParseNote | None = None
    ) -> None:
        """Continue under another heading."""
        self._section = section
        self._item = self._owner = item
        self._field = None
        self._rows = {}
        self._unread = unread

    def end_field(self) -> None:
        """End the field: a thematic break, a heading or a block that is not text follows."""
        self._field = None

    def leave_item(
        self, text: str, line: int, unread: ParseNote | None = None, *, is_deep: bool = False
    ) -> None:
        """Leave the item after an unknown heading, so that no text below is added to the item.

        After a deep heading, another heading may name a field of the same item.
        """
        self._field = None
        if self._section is not RESEARCH_THREAD:
            self._item = None
            self._owner = self._owner if is_deep else None
        self._unread = unread
        if unread:
            unread.headings += 1
        else:
            self.report_unread(text, line)

    def take(self, part: TextPart) -> None:
        if not part.is_prose:
            self._continue(part)
        elif not (self._section is PREDICTIONS_TABLE and "|" in part.text and self._table(part)):
            self._paragraph(part)

    def report_unread(self, text: str, line: int) -> None:
        """Report unread text, or count it in the previous report."""
        if self._unread:
            self._unread.blocks += 1
        else:
            self._unread = self._notes.add(codes.TEXT_NOT_READ, line, text=text)

    def _table(self, part: TextPart) -> bool:
        table = read_table(part.text, part.line)
        if not table:
            return False
        rows, columns = read_table_rows(table, self._notes)
        self.columns = self.columns or columns
        self._opened += rows
        self._item = self._owner = self._field = self._unread = None
        self._rows = {row.id: row for row in reversed(rows)} | self._rows
        return True

    def _find(self, label: str) -> tuple[OpenItem, str, str | None] | None:
        return find_field(label, self._item, self._rows, self._record_format)

    # Fields

    def _paragraph(self, part: TextPart) -> None:
        """Process a paragraph, which may contain labels with the lines that follow them."""
        if "\n" not in part.text and not part.is_entry and (only := read_label(part.text)):
            self._open_field(only, only.rest.strip(" \t"), part.line, _IN_PARAGRAPH)
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
            place = _IN_PARAGRAPH
            if part.is_entry:
                place = _BELOW_LIST if index else _IN_ENTRY
            self._open_field(label, raw, part.line + index, place)

    def _labels(self, lines: list[str], part: TextPart) -> list[tuple[int, Label]]:
        """Return the lines of a paragraph that begin with a label.

        After a hard line break only a bold label with a colon counts.
        """
        field = self._field
        in_list = part.is_entry and field is not None and not field.is_list_entry
        is_entry_of_field = in_list and field is not None and field.kind in COLLECTION_KINDS
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
        """Return whether bold words end a list: a label of the item, or another item's ID."""
        if self._find(label.text):
            return True
        is_listed = self._field is not None and self._field.kind is FieldKind.OUTCOMES
        return self._is_item(label.text) and not is_listed

    def _is_item(self, label: str) -> bool:
        match = ITEM_ID.fullmatch(label) if self._section else None
        return match is not None and self._section is not None and match[1] == self._section.prefix

    def other_label(self, line: str) -> Label | None:
        """Return a label without bold or colon, if the open item has such a field."""
        label = read_other_label(line) if self._item or self._rows else None
        if label is None:
            return None
        item = self._item
        if item and read_kill_field(item.section, label.text, label.rest) is not None:
            return label
        field = self._find(label.text)
        if field and field[1] == REASON_FIELD and fold_label(label.text) == REASON.casefold():
            is_killed = field[0].is_killed or KILLED_BY_FIELD in field[0].fields
            return label if is_killed else None
        return label if field else None

    def take_heading(self, text: str, line: int) -> bool:
        """Open the field that a heading such as `#### Mechanism` names, if it names one."""
        words, rest = split_key(text) or (text, "")
        words = words.strip("*_ \t")
        if not self._owner or not find_field(words, self._owner, {}, self._record_format):
            return False
        self._item = self._owner
        label = Label(words, rest, f"#### {text}", is_canonical=False)
        self._open_field(label, rest, line, _IN_PARAGRAPH)
        if self._field:
            self._field.has_heading = True
        return True

    def _open_field(self, label: Label, raw: str, line: int, place: str) -> None:
        found = self._find(label.text)
        item, name, layout_label = found or (self._item, None, None)
        section = item.section if item else self._section
        self._field = opened = OpenField("", label.text, FieldKind.TEXT, line, raw)
        opened.is_list_entry = place is _IN_ENTRY
        opened.is_line_struck = label.is_struck
        opened.is_read = False
        kill_words = read_kill_field(item.section, label.text, raw) if item else None
        if item and kill_words is not None:
            item.mark_killed(kill_words)
            self._unread = None
        elif section is None or (item is None and not self._rows):
            self.report_unread(f"{label.written} {raw}", line)
        elif name is None and self._is_item(label.text):
            self.leave_item(f"{label.written} {raw}", line)
        elif item is None or name is None:
            item_id = item.id if item else None
            self._unread = report_unknown_label(self._notes, section, item_id, label.text, line)
        elif first := item.fields.get(name):
            words = {"label": label.text, "id": item.id, "first": str(first.line)}
            self._unread = self._notes.add(codes.REPEATED_LABEL, line, item.id, **words)
        else:
            self._add_field(item, name, opened, label)
            odd = nonstandard_form(label, name, layout_label, place)
            if odd:
                kind, what, right = odd
                words = {"what": what, "right": right}
                self._notes.add_form(codes.FIELD_FORM, kind, line, item.id, **words)

    def _add_field(self, item: OpenItem, name: str, opened: OpenField, label: Label) -> None:
        field = item.section.fields.get(name)
        opened.name, opened.kind, opened.is_read = name, field.kind if field else opened.kind, True
        item.fields[name] = opened
        self._unread = None
        if name == REASON_FIELD and fold_label(label.text) in KILL_REASON_LABELS:
            item.mark_killed("")

    # Text without a label

    def _continue(self, part: TextPart) -> None:
        """Process text without a label: a list entry, more of the field, or unread text."""
        field = self._field
        if field is None:
            self._take_unlabelled(part)
        elif not field.is_read:
            self.report_unread(part.written, part.line)
        elif field.kind in COLLECTION_KINDS and part.is_entry:
            field.entries.append((part.text, part.line, None))
        elif field.kind in _TEXT_KINDS:
            is_first = field.has_heading and not field.raw
            field.append_text(part.gap, part.written)
            if is_first:
                return
            what = f"The text of `**{field.label}**` continues in further blocks"
            right = "it in one paragraph, with `\\` at the end of a line for a line break"
            self._notes.add_form(codes.FIELD_FORM, "blocks", part.line, what=what, right=right)
        else:
            self.report_unread(part.written, part.line)

    def _take_unlabelled(self, part: TextPart) -> None:
        words = part.written.strip("*_. \t\n").casefold()
        none_registered = NONE_REGISTERED.casefold()
        if self._section is ANOMALY_REGISTER and words.startswith(none_registered):
            self.says_none_registered = True
            if words == none_registered:
                return
        if (
            self._section is ANOMALY_REGISTER
            and words in _EMPTY_REGISTER_WORDS
            and not self._unread
        ):
            self.empty_register_notes.append(
                self._notes.add(codes.TEXT_NOT_READ, part.line, text=words)
            )
        elif words:
            self.report_unread(part.written, part.line)


def make_part(block: Block, lines_before: int, source: list[str], last: int) -> TextPart:
    """Return a block as a part. `last` is the last line of the block before it."""
    is_prose = block.kind in (BlockKind.PARAGRAPH, BlockKind.HEADING) and not block.quoted
    written = block.text
    line = block.line + lines_before
    if not is_prose or block.nested:
        lines = source[line - 1 : block.end + lines_before]
        written = "\n".join(each.rstrip() for each in lines)
    gap = "\n\n" if block.line > last + 1 else "\n"
    return TextPart(block.text, written, line, is_prose, is_prose and block.nested, gap)


def _without_break(raw: str) -> str:
    """Remove the line break between a value and the label below it."""
    backslashes = len(raw) - len(raw.rstrip("\\"))
    return raw[:-1] if backslashes % 2 else raw
