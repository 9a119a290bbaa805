"""An item while its text is being read, and the item that it becomes.

Fields are decoded when the item ends: only then is it known whether it is killed, and its fields
struck through.
"""

from typing import NamedTuple

from brenner.artifact.headings import ItemHeading, Name, item_heading, read_name, says_so
from brenner.artifact.item_text import read_killed_by
from brenner.artifact.layout import LAYOUT_OF, REASON
from brenner.artifact.model import Item, Killed, fields
from brenner.artifact.notes import Notes
from brenner.artifact.parse_fields import FieldReader, OpenField
from brenner.artifact.parsed import Place
from brenner.artifact.ranking import total
from brenner.delta.schema import (
    DISCRIMINATIVE_TESTS,
    HYPOTHESIS_SLATE,
    PREDICTIONS_TABLE,
    Section,
)
from brenner.diagnostics.codes import artifact_text as codes
from brenner.diagnostics.nearest import nearest, perhaps
from brenner.markdown.escaping import unescape

KILLED_BY_FIELD, REASON_FIELD = "killed_by", "reason"
ITEM_LEVEL = 3
_NO_NAME = Name("")


class Written(NamedTuple):
    """A heading as it was written, taken apart."""

    text: str
    level: int
    parts: ItemHeading


class OpenItem:
    """An item that may go on."""

    def __init__(self, item_id: str, section: Section, line: int) -> None:
        self.id = item_id
        self.section = section
        self.line = line
        self.fields: dict[str, OpenField] = {}
        self.heading: Written | None = None
        self.is_killed = False
        self.is_kill_form = True  # the marks of a kill are where they belong


def close_item(opened: OpenItem, notes: Notes, lines: dict[Place, int]) -> Item:
    """The item that was read."""
    lines.setdefault((opened.id,), opened.line)
    by = opened.fields.pop(KILLED_BY_FIELD, None)
    reason = opened.fields.pop(REASON_FIELD, None)
    is_killed = opened.is_killed or by is not None
    if reason and not is_killed:
        unknown_label(notes, opened.section, opened.id, REASON, reason.line)
    named = opened.fields.pop("name", None)
    name = read_name(opened.section, named.raw) if named else _NO_NAME
    values: dict[str, object] = {"name": name.text}
    if named:
        lines.setdefault((opened.id, "name"), named.line)
    reader = FieldReader(notes, opened.id, is_killed)
    are_struck = True
    for field in opened.fields.values():
        content = reader.read(field)
        values[field.name] = content.value
        are_struck = are_struck and content.is_struck
        lines.setdefault((opened.id, field.name), field.line)
        for part, line in content.lines.items():
            lines.setdefault((opened.id, field.name, part), line)
    if name.is_third and not values.get("third_alternative"):
        values["third_alternative"] = True
        other = "no field says so"
        _contradicts(notes, opened, "`(Third Alternative)`", other, "It was read as one.")
    killed = _killed(opened, by, reason, are_struck, notes) if is_killed else None
    item = Item(opened.id, fields(values), killed)
    if killed:
        lines.setdefault((opened.id, "killed"), by.line if by else opened.line)
    if opened.heading and opened.id:
        _check_heading(opened, opened.heading, item, name, notes)
    return item


def _killed(
    opened: OpenItem,
    by: OpenField | None,
    reason: OpenField | None,
    are_struck: bool,
    notes: Notes,
) -> Killed:
    agent, at, is_form = read_killed_by(by.raw) if by else ("", "", True)
    why = unescape(reason.raw) if reason else ""
    unsaid = {"who killed it": agent, "when": at, "why": why}
    missing = ", ".join(words for words, said in unsaid.items() if not said)
    wrong = {
        "it is not marked where the format marks it": opened.is_kill_form and opened.is_killed,
        "its fields are not struck through": are_struck,
        "who and when are not written as `agent, time`": is_form,
        f"it does not say {missing}": not missing,
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
    return Killed(agent, at, why)


def _check_heading(
    opened: OpenItem, heading: Written, item: Item, name: Name, notes: Notes
) -> None:
    """Whether the heading says what the fields say, in the form that the layout has."""
    section = opened.section
    if name.score is not None and name.score != total(item):
        other = f"the parts make {total(item)}" if item.score else "there are no parts"
        says = f"a score of {name.score}"
        _contradicts(notes, opened, says, other, "The parts were read.")
    lacks_score = section is DISCRIMINATIVE_TESTS and name.score is None and bool(item.score)
    is_third = section is HYPOTHESIS_SLATE and "third_alternative" in item.fields
    if section is PREDICTIONS_TABLE:
        kind, meant = "row", f"a row of the table under ## {LAYOUT_OF[section.id].heading}"
    elif not heading.parts.is_form or heading.level != ITEM_LEVEL:
        kind, meant = "item", item_heading(section, item)
    elif lacks_score or (is_third and not says_so(heading.text)):
        kind, meant = f"ending of {section.prefix}", item_heading(section, item)
    else:
        return
    written = f"{'#' * heading.level} {heading.text}"
    notes.form(codes.HEADING_FORM, kind, opened.line, opened.id, written=written, meant=meant)


def _contradicts(notes: Notes, opened: OpenItem, says: str, other: str, read: str) -> None:
    words = {"id": opened.id, "says": says, "other": other, "read": read}
    notes.add(codes.HEADING_CONTRADICTS, opened.line, opened.id, **words)


def unknown_label(
    notes: Notes, section: Section, item_id: str | None, label: str, line: int
) -> None:
    """Tell of a label that means nothing here."""
    layout = LAYOUT_OF[section.id]
    known = list(layout.labels.values())
    words = {"label": label, "heading": f"## {layout.heading}"}
    labels = ", ".join(f"`{each}`" for each in known)
    suggestion = perhaps(nearest(label, known))
    notes.add(codes.UNKNOWN_LABEL, line, item_id, labels=labels, suggestion=suggestion, **words)
