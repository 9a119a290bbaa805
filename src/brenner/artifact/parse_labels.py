"""Labels: what begins a field, and which field that is, ours or as others write it."""

import re
from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from brenner.artifact.item_text import is_status
from brenner.artifact.kill_marks import killed_line, killed_status
from brenner.artifact.layout import (
    CONDITION_COLUMN,
    KILLED_BY,
    LAYOUT,
    REASON,
    REFERENCES,
    Layout,
)
from brenner.artifact.parse_items import KILLED_BY_FIELD, REASON_FIELD, OpenItem
from brenner.markdown.escape import unescape
from brenner.protocol.delta.schema import PREDICTIONS_TABLE, RESEARCH_THREAD, FieldKind, Section

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
