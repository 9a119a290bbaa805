"""The section of a kickoff that says who does what, written and read back.

What we write is the document's example; notes and the time appear where there are any. Whatever
text the fields hold, reading gives back the same roster. What others wrote is read as far as it
goes: columns in any order, missing ones, further ones.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from brenner.grammar import AGENT_NAME
from brenner.markdown.blocks import Block, Kind
from brenner.markdown.escape import (
    Table,
    escape_cell,
    escape_heading,
    fields,
    read_table,
    render_row,
    unescape,
)
from brenner.roster.model import MODES, ROLES, Mode, Roster, RosterEntry
from brenner.text import nearest
from brenner.thread.sections import normalised, sections

HEADING = "Session Configuration"
_KEY = normalised(HEADING)
_COLUMNS = {
    "Agent": "agent_name",
    "Role": "role",
    "Program": "program",
    "Model": "model",
    "Notes": "notes",
}
_MODE, _NAME, _CREATED = "Roster Mode", "Roster Name", "Created At"
# What others call a column, or a line above the table
_COLUMNS_OF_OTHERS = {"agent name": "agent", "agentname": "agent", "name": "agent", "note": "notes"}
_LINES_OF_OTHERS = {
    "mode": normalised(_MODE),
    "name": normalised(_NAME),
    "createdat": normalised(_CREATED),
}
_FIELDS = {normalised(title): field for title, field in _COLUMNS.items()}
_CODE = re.compile("`([^`]+)`")


def render_configuration(roster: Roster) -> str:
    """The whole section, the line that ends it included."""
    shown = [title for title in _COLUMNS if title != "Notes"]
    if any(entry.notes is not None for entry in roster.entries):
        shown.append("Notes")
    said = ((_NAME, roster.name), (_CREATED, roster.created_at))
    lines = [
        f"## {HEADING}",
        "",
        f"**{_MODE}**: {escape_heading(roster.mode)}",
        *(f"**{title}**: {escape_heading(text)}" for title, text in said if text is not None),
        "",
        render_row(shown),
        f"|{'|'.join('-' * (len(title) + 2) for title in shown)}|",
        *(render_row(_cells(entry, shown)) for entry in roster.entries),
        "",
        "---",
    ]
    return "\n".join(lines) + "\n"


def _cells(entry: RosterEntry, shown: Iterable[str]) -> list[str]:
    texts = entry._asdict()
    return [escape_cell(texts[_COLUMNS[title]] or "") for title in shown]


def read_configuration(body: list[Block]) -> Roster | None:
    """The roster of the first such section that has a table of agents and roles; else None."""
    for section in sections(body):
        if section.key == _KEY:
            table = _first_table(section.contents)
            if table is not None:
                return _roster(table, _lines(section.contents))
    return None


def _first_table(contents: Sequence[Block]) -> Table | None:
    for block in contents:
        if block.kind is Kind.PARAGRAPH and not block.quoted and "|" in block.text:
            table = _table_in(block)
            if table and {"agent_name", "role"} <= _places(table).keys():
                return table
    return None


def _table_in(block: Block) -> Table | None:
    """The table in a paragraph; lines of text may stand right above it."""
    lines = block.text.split("\n")
    for number, (first, second) in enumerate(pairwise(lines)):
        if not second.strip("|:- \t") and read_table(f"{first}\n{second}", 0):
            return read_table("\n".join(lines[number:]), block.line + number)
    return None


def _places(table: Table) -> dict[str, int]:
    """Where each field stands in a row; of two columns with one title the first counts."""
    places: dict[str, int] = {}
    for place, title in enumerate(table.header.cells):
        key = normalised(title)
        field = _FIELDS.get(_COLUMNS_OF_OTHERS.get(key, key))
        if field is not None:
            places.setdefault(field, place)
    return places


def _lines(contents: Sequence[Block]) -> dict[str, str]:
    """The lines above the table, by name; of two with one name the first counts."""
    said: dict[str, str] = {}
    for field in fields(list(contents)):
        key = normalised(field.name)
        said.setdefault(_LINES_OF_OTHERS.get(key, key), _text(field.value))
    return said


def _roster(table: Table, said: Mapping[str, str]) -> Roster:
    places = _places(table)
    rows = (
        {field: _cell(row.cells, place) for field, place in places.items()} for row in table.rows
    )
    entries = [_entry(row) for row in rows]
    return Roster(
        tuple(entry for entry in entries if AGENT_NAME.fullmatch(entry.agent_name)),
        _known(said.get(normalised(_MODE), ""), MODES) or str(Mode.ROLE_SEPARATED),
        said.get(normalised(_NAME)) or None,
        said.get(normalised(_CREATED)) or None,
    )


def _entry(row: Mapping[str, str]) -> RosterEntry:
    others = (row.get(field) or None for field in ("program", "model", "notes"))
    return RosterEntry(_name(row["agent_name"]), _known(row["role"], ROLES), *others)


def _cell(cells: Sequence[str], place: int) -> str:
    return _text(cells[place]) if place < len(cells) else ""


def _text(raw: str) -> str:
    """The text that is shown; what is code as a whole is what stands in it."""
    code = _CODE.fullmatch(raw)
    return code[1] if code else unescape(raw)


def _name(text: str) -> str:
    """An agent's name without the emphasis and the `@` that people put around one."""
    return text if AGENT_NAME.fullmatch(text) else text.strip("*_ ").removeprefix("@")


def _known(text: str, words: Sequence[str]) -> str:
    """The word of the protocol, where only case, blanks and hyphens differ; else the text."""
    return text if text in words else nearest(text, words, 0) or text
