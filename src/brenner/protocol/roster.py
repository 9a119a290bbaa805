"""Who does what in a session: roles, modes, rosters and presets, as the roster document has them.

A field that nobody filled in is None, never an empty text.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from brenner.diagnostics.codes import messages as messages_codes
from brenner.diagnostics.codes import sessions as sessions_codes
from brenner.diagnostics.model import ERROR, Diagnostic
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
from brenner.protocol.body import normalised, sections
from brenner.protocol.grammar import AGENT_NAME, ISO_TIME
from brenner.text import closest, did_you_mean


class Role(StrEnum):
    """The three roles of the protocol."""

    HYPOTHESIS_GENERATOR = "hypothesis_generator"
    TEST_DESIGNER = "test_designer"
    ADVERSARIAL_CRITIC = "adversarial_critic"


class Mode(StrEnum):
    """A prompt for each role, one prompt for all, or (deprecated) roles guessed from names."""

    ROLE_SEPARATED = "role_separated"
    UNIFIED = "unified"
    HEURISTIC = "heuristic"


ROLES: tuple[str, ...] = tuple(str(role) for role in Role)
MODES: tuple[str, ...] = tuple(str(mode) for mode in Mode)


class RosterEntry(NamedTuple):
    """One agent and its role. The role is text, so that a wrong one can be shown."""

    agent_name: str
    role: str
    program: str | None = None
    model: str | None = None
    notes: str | None = None


class Roster(NamedTuple):
    """The roster of a session."""

    entries: tuple[RosterEntry, ...]
    mode: str = Mode.ROLE_SEPARATED.value
    name: str | None = None
    created_at: str | None = None

    def entry(self, name: str) -> RosterEntry | None:
        """The entry of an agent; the first, where a wrong roster has two."""
        return next((each for each in self.entries if each.agent_name == name), None)

    @property
    def names(self) -> tuple[str, ...]:
        """The agents, in the order of the entries."""
        return tuple(entry.agent_name for entry in self.entries)


class Stated(NamedTuple):
    """What one source says of a roster. It may be a part only: a mode, or one entry."""

    entries: tuple[RosterEntry, ...] = ()
    mode: str | None = None
    name: str | None = None
    created_at: str | None = None


class PresetEntry(NamedTuple):
    """A place in a preset: everything but the agent's name."""

    role: str
    program: str | None = None
    model: str | None = None
    notes: str | None = None

    def given_to(self, name: str) -> RosterEntry:
        """The entry of the agent that takes this place."""
        return RosterEntry(name, *self)


class RosterPreset(NamedTuple):
    """A roster without names, for reuse."""

    id: str
    name: str
    description: str | None
    entries: tuple[PresetEntry, ...]
    placeholder_names: tuple[str, ...] = ()


# A role guessed from a name, for sessions without a roster. Deprecated by the document.
#
# The substrings are the programs and models that the document names beside each role.


_WORDS: dict[Role, tuple[str, ...]] = {
    Role.HYPOTHESIS_GENERATOR: ("codex", "gpt"),
    Role.TEST_DESIGNER: ("opus", "claude"),
    Role.ADVERSARIAL_CRITIC: ("gemini",),
}


def role_of_name(name: str) -> Role | None:
    """The one role whose program or model the name holds; None where it tells none, or two."""
    folded = name.casefold()
    told = [role for role, words in _WORDS.items() if any(word in folded for word in words)]
    return told[0] if len(told) == 1 else None


# The role of an agent in a session, as its roster has it.


def role_in(roster: Roster, name: str) -> str | None:
    """The role of an agent; in heuristic mode what its name tells, where no entry says more."""
    entry = roster.entry(name)
    if entry is not None or roster.mode != Mode.HEURISTIC:
        return entry.role if entry else None
    return role_of_name(name)


# The key or role that was probably meant by another word.


_SHORTEST_PART = 4


def meant(word: str, known: Iterable[str]) -> str | None:
    """The one known word that is near, or that this is a part of: `generator`, `agent`."""
    names = tuple(known)
    near = closest(word, names)
    if near is not None or len(word) < _SHORTEST_PART:
        return near
    holding = [name for name in names if word.casefold() in name.casefold()]
    return holding[0] if len(holding) == 1 else None


# What the document asks of a roster: its rules 1 to 5, in its own words.


_ANY_ROLE = (
    "In unified mode any of the three roles will do: all get the same prompt, but who stands in a "
    "roster has one."
)


class ValidationResult(NamedTuple):
    """Whether a roster is valid. `errors` are the messages of those violations that are errors."""

    valid: bool
    errors: tuple[str, ...]
    violations: tuple[Diagnostic, ...]

    @classmethod
    def of(cls, violations: Iterable[Diagnostic]) -> "ValidationResult":
        """The result that these violations make."""
        found = tuple(violations)
        errors = tuple(each.message for each in found if each.severity is ERROR)
        return cls(not errors, errors, found)


def validate_roster(roster: Roster) -> ValidationResult:
    """Whether the roster can be used: names, roles, mode, and at least one entry."""
    return ValidationResult.of(_faults(roster))


def validate_roster_coverage(roster: Roster, recipients: Sequence[str]) -> ValidationResult:
    """Whether each recipient has an entry, or, in heuristic mode, a name that tells its role."""
    known = set(roster.names)
    missing = (name for name in dict.fromkeys(recipients) if name not in known)
    if roster.mode == Mode.HEURISTIC:
        return ValidationResult.of(
            sessions_codes.HEURISTIC_NAME_UNMATCHED.at(name=name)
            for name in missing
            if role_of_name(name) is None
        )
    found = (sessions_codes.MISSING_ROSTER_ENTRY.at(name=name) for name in missing)
    if roster.mode != Mode.UNIFIED:
        return ValidationResult.of(found)
    return ValidationResult.of(each._replace(fix=f"{each.fix} {_ANY_ROLE}") for each in found)


def _faults(roster: Roster) -> Iterator[Diagnostic]:
    yield from stated_faults(Stated(*roster))
    if roster.mode == Mode.HEURISTIC:
        yield sessions_codes.HEURISTIC_MODE_DEPRECATED.at()
    elif not roster.entries:
        yield sessions_codes.EMPTY_ROSTER.at(source="")


def stated_faults(stated: Stated) -> Iterator[Diagnostic]:
    """What is wrong with that which one source says of a roster."""
    seen: set[str] = set()
    for entry in stated.entries:
        if entry.agent_name in seen:
            yield sessions_codes.DUPLICATE_AGENT.at(name=entry.agent_name)
        elif not AGENT_NAME.fullmatch(entry.agent_name):
            yield messages_codes.INVALID_AGENT_NAME.at(name=entry.agent_name)
        seen.add(entry.agent_name)
        yield from role_faults(entry.agent_name, entry.role)
        yield from _unwritable(f" of {entry.agent_name}", entry._asdict())
    if stated.mode is not None and stated.mode not in MODES:
        near = did_you_mean(closest(stated.mode, MODES))
        yield sessions_codes.UNKNOWN_ROSTER_MODE.at(value=stated.mode, suggestion=near)
    yield from _unwritable(" of the roster", {"name": stated.name})
    if stated.created_at is not None and not ISO_TIME.fullmatch(stated.created_at):
        yield sessions_codes.INVALID_ROSTER_TIME.at(value=stated.created_at)


def role_faults(name: str, role: str) -> Iterator[Diagnostic]:
    """Nothing, or that the role is not one of the three."""
    if role not in ROLES:
        near = did_you_mean(meant(role, ROLES))
        yield sessions_codes.INVALID_ROLE.at(name=name, role=role, suggestion=near)


def _unwritable(whose: str, values: Mapping[str, str | None]) -> Iterator[Diagnostic]:
    """Values that only a program can make, and that no kickoff could show as they are."""
    for field in ("name", "program", "model", "notes"):
        text = values.get(field)
        if text is None or (text and is_sound(text)):
            continue
        fault = "holds half of a character" if text else "is empty; leave it out"
        reason = f"`{field}`{whose} {fault}"
        yield sessions_codes.MALFORMED_ROSTER.at(source="a program", reason=reason)


def is_sound(text: str) -> bool:
    """Whether it can be written at all: JSON may spell out half of a character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# Presets: the one that is built in, and a roster's places given to agents.


# agent_roster_schema, Config File Example
DEFAULT_3_AGENT = RosterPreset(
    id="default-3-agent",
    name="Default 3-Agent Setup",
    description="Standard Brenner Protocol with Codex/Opus/Gemini",
    entries=(
        PresetEntry(Role.HYPOTHESIS_GENERATOR.value, "codex-cli", "GPT-5.2"),
        PresetEntry(Role.TEST_DESIGNER.value, "claude-code", "Opus 4.5"),
        PresetEntry(Role.ADVERSARIAL_CRITIC.value, "gemini-cli", "Gemini 3"),
    ),
)
BUILT_IN = (DEFAULT_3_AGENT,)


def find_preset(preset_id: str, known: Mapping[str, RosterPreset]) -> RosterPreset | Diagnostic:
    """The preset of that id, or that there is none."""
    if preset_id in known:
        return known[preset_id]
    near = did_you_mean(closest(preset_id, known))
    return sessions_codes.UNKNOWN_PRESET.at(preset=preset_id, suggestion=near)


def filled(
    preset: RosterPreset, names: Sequence[str], source: str
) -> tuple[RosterEntry, ...] | Diagnostic:
    """The preset's places, given to these agents in order. All must be taken, and none be short."""
    if len(names) != len(preset.entries):
        return sessions_codes.PRESET_RECIPIENT_COUNT.at(
            preset=preset.id, source=source, expected=len(preset.entries), count=len(names)
        )
    pairs = zip(preset.entries, names, strict=True)
    return tuple(place.given_to(name) for place, name in pairs)


# The section of a kickoff that says who does what, written and read back.
#
# What we write is the document's example; notes and the time appear where there are any. Whatever
# text the fields hold, reading gives back the same roster. What others wrote is read as far as it
# goes: columns in any order, missing ones, further ones.


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
    return text if text in words else closest(text, words, 0) or text
