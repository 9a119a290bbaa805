"""An item while its text is being read, and the item that it becomes.

Fields are decoded when the item ends: only then is it known whether it is killed, and its fields
struck through.
"""

from collections.abc import Mapping
from typing import NamedTuple

from brenner.artifact.headings import ItemHeading, Name, item_heading, read_name, says_so
from brenner.artifact.item_text import read_killed_by
from brenner.artifact.kill_marks import read_kill_words
from brenner.artifact.layout import LAYOUT_OF, REASON
from brenner.artifact.model import Item, Killed, fields
from brenner.artifact.notes import Note, Notes
from brenner.artifact.parse_fields import FieldReader, OpenField
from brenner.artifact.parsed import Place
from brenner.artifact.ranking import total
from brenner.diagnostics.codes import artifacts as codes
from brenner.markdown.escape import unescape
from brenner.protocol.delta.schema import (
    DISCRIMINATIVE_TESTS,
    HYPOTHESIS_SLATE,
    PREDICTIONS_TABLE,
    RESEARCH_THREAD,
    Section,
)
from brenner.text import nearest, perhaps

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
        self.kill_words: list[str] = []  # what they say of who, when and why

    def say_killed(self, words: str, *, is_form: bool = False) -> None:
        """Something marks it as killed."""
        self.is_killed = True
        self.is_kill_form = self.is_kill_form and is_form
        if words:
            self.kill_words.append(words)


class Closed(NamedTuple):
    """An item as it was read, and the lines of its parts."""

    item: Item
    lines: Mapping[Place, int]


def close_item(opened: OpenItem, notes: Notes) -> Closed:
    """The item that was read, and the lines of its parts."""
    lines: dict[Place, int] = {(): opened.line}
    by = opened.fields.pop(KILLED_BY_FIELD, None)
    reason = opened.fields.pop(REASON_FIELD, None)
    named = opened.fields.pop("name", None)
    if not opened.is_killed and by is None:
        if _is_all_struck(opened):
            opened.say_killed("")
        elif reason:
            unknown_label(notes, opened.section, opened.id, REASON, reason.line)
    is_killed = opened.is_killed or by is not None
    name = read_name(opened.section, named.raw) if named else _NO_NAME
    values: dict[str, object] = {"name": name.text}
    if named:
        lines["name",] = named.line
    reader = FieldReader(notes, opened.id, is_killed)
    are_struck = True
    for field in opened.fields.values():
        content = reader.read(field)
        values[field.name] = content.value
        are_struck = are_struck and content.is_struck
        lines[field.name,] = field.line
        lines |= {(field.name, part): line for part, line in content.lines.items()}
    if name.is_third and not values.get("third_alternative"):
        values["third_alternative"] = True
        lines.setdefault(("third_alternative",), opened.line)
        other = "no field says so"
        _contradicts(notes, opened, "`(Third Alternative)`", other, "It was read as one.")
    killed = _killed(opened, by, reason, are_struck, notes) if is_killed else None
    item = Item(opened.id, fields(values), killed)
    if killed:
        lines["killed",] = by.line if by else opened.line
    if opened.heading and opened.id:
        _check_score(opened, item, name, notes, reader.lacks_points)
        _check_heading(opened, opened.heading, item, name, notes)
    return Closed(item, lines)


def _is_all_struck(opened: OpenItem) -> bool:
    """Whether every field is struck through: what others leave of a killed item."""
    is_there = opened.section is not RESEARCH_THREAD and bool(opened.fields)
    return is_there and all(field.is_struck for field in opened.fields.values())


def _killed(
    opened: OpenItem,
    by: OpenField | None,
    reason: OpenField | None,
    are_struck: bool,
    notes: Notes,
) -> Killed:
    agent, at, is_form = read_killed_by(by.raw) if by else ("", "", True)
    has_struck_labels = any(field.is_line_struck for field in opened.fields.values())
    said = [Killed(agent, at, unescape(reason.raw) if reason else "")]
    said += map(read_kill_words, opened.kill_words)
    agents, times, reasons = (
        list(dict.fromkeys(filter(None, each))) for each in zip(*said, strict=True)
    )
    killed = Killed(next(iter(agents), ""), next(iter(times), ""), "\n".join(reasons))
    unsaid = {"who killed it": killed.agent, "when": killed.at, "why": killed.reason}
    missing = ", ".join(words for words, word in unsaid.items() if not word)
    others = ", ".join(f"`{word}`" for word in (*agents[1:], *times[1:]))
    wrong = {
        "it is not marked where the format marks it": opened.is_kill_form and opened.is_killed,
        "its fields are not struck through": are_struck,
        "its labels are struck through with their fields": not has_struck_labels,
        "who and when are not written as `agent, time`": is_form,
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


def _check_score(
    opened: OpenItem, item: Item, name: Name, notes: Notes, lacks_points: bool
) -> None:
    """Whether the score in the heading is the sum of the parts; of parts not read is told."""
    if name.score is None or name.score == total(item) or lacks_points:
        return
    says = f"a score of {name.score}"
    if item.score:
        _contradicts(notes, opened, says, f"the parts make {total(item)}", "The parts were read.")
    else:
        label = LAYOUT_OF[opened.section.id].labels["score"]
        other = f"its parts are missing: there is no `**{label}**` below"
        _contradicts(notes, opened, says, other, "No score was read.")


def _check_heading(
    opened: OpenItem, heading: Written, item: Item, name: Name, notes: Notes
) -> None:
    """Whether the heading says what the fields say, in the form that the layout has."""
    section = opened.section
    lacks_score = section is DISCRIMINATIVE_TESTS and name.score is None and bool(item.score)
    is_third = section is HYPOTHESIS_SLATE and "third_alternative" in item.fields
    if section is PREDICTIONS_TABLE:
        kind, meant = "row", f"a row of the table under ## {LAYOUT_OF[section.id].heading}"
    elif not heading.parts.is_form or heading.level != ITEM_LEVEL:
        kind, meant = "item", item_heading(section, item)
    elif lacks_score or not name.is_form or (is_third and not says_so(heading.text)):
        kind, meant = f"ending of {section.prefix}", item_heading(section, item)
    else:
        return
    written = f"{'#' * heading.level} {heading.text}".strip()
    notes.form(codes.HEADING_FORM, kind, opened.line, opened.id, written=written, meant=meant)


def _contradicts(notes: Notes, opened: OpenItem, says: str, other: str, read: str) -> None:
    words = {"id": opened.id, "says": says, "other": other, "read": read}
    notes.add(codes.HEADING_CONTRADICTS, opened.line, opened.id, **words)


def unknown_label(
    notes: Notes, section: Section, item_id: str | None, label: str, line: int
) -> Note:
    """Tell of a label that means nothing here."""
    layout = LAYOUT_OF[section.id]
    known = list(layout.labels.values())
    words = {"label": label, "heading": f"## {layout.heading}"}
    labels = ", ".join(f"`{each}`" for each in known)
    suggestion = perhaps(nearest(label, known))
    return notes.add(
        codes.UNKNOWN_LABEL, line, item_id, labels=labels, suggestion=suggestion, **words
    )
