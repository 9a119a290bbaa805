"""Rosters, which assign roles to agents: types, validation, presets, the kickoff's section.

A field without a value is None, never an empty string.
"""

from __future__ import annotations

from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING

from brenner.diagnostics.codes import messages as messages_codes
from brenner.diagnostics.codes import sessions as sessions_codes
from brenner.diagnostics.model import ERROR, Diagnostic
from brenner.lazy_pattern import lazy_pattern
from brenner.markdown.blocks import Block, BlockKind
from brenner.markdown.escape import (
    TableRow,
    escape_cell,
    escape_heading,
    read_fields,
    read_table,
    render_row,
    unescape,
)
from brenner.named_tuple import NamedTuple
from brenner.protocol.body import normalise_heading, parse_sections
from brenner.protocol.grammar import AGENT_NAME, ISO_TIME
from brenner.text import closest, did_you_mean, is_encodable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


class Role(StrEnum):
    """The three roles of the protocol."""

    HYPOTHESIS_GENERATOR = "hypothesis_generator"
    TEST_DESIGNER = "test_designer"
    ADVERSARIAL_CRITIC = "adversarial_critic"


class Mode(StrEnum):
    """The mode of a session.

    It is a prompt per role, one prompt for all, or (deprecated) roles guessed from names.
    """

    ROLE_SEPARATED = "role_separated"
    UNIFIED = "unified"
    HEURISTIC = "heuristic"


_SHORT_ROLES: dict[str, Role] = {
    "generator": Role.HYPOTHESIS_GENERATOR,
    "designer": Role.TEST_DESIGNER,
    "critic": Role.ADVERSARIAL_CRITIC,
}
ROLES: tuple[str, ...] = tuple(str(role) for role in Role)
MODES: tuple[str, ...] = tuple(str(mode) for mode in Mode)


def full_role(text: str) -> str:
    """Return the role that a short name stands for, any other text unchanged.

    Every reader of rosters calls it, so that only full names are stored and shown.
    """
    return str(_SHORT_ROLES.get(text, text))


class RosterEntry(NamedTuple):
    """One agent and its role. The role is plain text, so that an invalid one can be reported."""

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
        """Return an agent's entry; the first one if an invalid roster has two."""
        return next((each for each in self.entries if each.agent_name == name), None)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the agents, in the order of the entries."""
        return tuple(entry.agent_name for entry in self.entries)


class PartialRoster(NamedTuple):
    """The part of a roster that one source states, such as only a mode or only one entry."""

    entries: tuple[RosterEntry, ...] = ()
    mode: str | None = None
    name: str | None = None
    created_at: str | None = None


class RosterPreset(NamedTuple):
    """A reusable roster. The agents of its entries have no names."""

    id: str
    name: str
    description: str | None
    entries: tuple[RosterEntry, ...]
    placeholder_names: tuple[str, ...] = ()


# Guessing a role from a name, for sessions without a roster. The document deprecates this.
#
# The substrings are the programs and models that the document lists for each role.


_NAME_HINTS: dict[Role, tuple[str, ...]] = {
    Role.HYPOTHESIS_GENERATOR: ("codex", "gpt"),
    Role.TEST_DESIGNER: ("opus", "claude"),
    Role.ADVERSARIAL_CRITIC: ("gemini",),
}


def guess_role(name: str) -> Role | None:
    """Return the only role whose program or model is part of the name, if just one matches."""
    folded = name.casefold()
    roles = [role for role, words in _NAME_HINTS.items() if any(word in folded for word in words)]
    return roles[0] if len(roles) == 1 else None


# The role of an agent according to the roster


def role_of_agent(roster: Roster, name: str) -> str | None:
    """Return an agent's role. In heuristic mode, guess it from the name if there is no entry."""
    entry = roster.entry(name)
    if entry is not None or roster.mode != Mode.HEURISTIC:
        return entry.role if entry else None
    return guess_role(name)


# Suggestions for an unknown key or role


_SHORTEST_PART = 4


def closest_or_containing(word: str, known: Iterable[str]) -> str | None:
    """Return the closest known word, or the only one that contains this: `generator`, `agent`."""
    names = tuple(known)
    near = closest(word, names)
    if near is not None or len(word) < _SHORTEST_PART:
        return near
    holding = [name for name in names if word.casefold() in name.casefold()]
    return holding[0] if len(holding) == 1 else None


# Validating a roster: rules 1 to 5 of the document


_UNIFIED_HINT = (
    "In unified mode, any of the three roles is fine: all agents get the same prompt, but each "
    "entry needs a role."
)


class ValidationResult(NamedTuple):
    """Whether a roster is valid. `errors` are the messages of those violations that are errors."""

    valid: bool
    errors: tuple[str, ...]
    violations: tuple[Diagnostic, ...]

    @classmethod
    def of(cls, violations: Iterable[Diagnostic]) -> ValidationResult:
        found = tuple(violations)
        errors = tuple(each.message for each in found if each.severity is ERROR)
        return cls(not errors, errors, found)


def validate_roster(roster: Roster) -> ValidationResult:
    """Check whether the roster can be used: names, roles, mode, and at least one entry."""
    return ValidationResult.of(_check_roster(roster))


def validate_roster_coverage(roster: Roster, recipients: Sequence[str]) -> ValidationResult:
    """Check that each recipient has an entry, or in heuristic mode a name that gives its role."""
    known = set(roster.names)
    missing = (name for name in dict.fromkeys(recipients) if name not in known)
    if roster.mode == Mode.HEURISTIC:
        return ValidationResult.of(
            sessions_codes.HEURISTIC_NAME_UNMATCHED.at(name=name)
            for name in missing
            if guess_role(name) is None
        )
    found = (sessions_codes.MISSING_ROSTER_ENTRY.at(name=name) for name in missing)
    if roster.mode != Mode.UNIFIED:
        return ValidationResult.of(found)
    return ValidationResult.of(each._replace(fix=f"{each.fix} {_UNIFIED_HINT}") for each in found)


def _check_roster(roster: Roster) -> Iterator[Diagnostic]:
    yield from check_partial_roster(PartialRoster(*roster))
    if roster.mode == Mode.HEURISTIC:
        yield sessions_codes.HEURISTIC_MODE_DEPRECATED.at()
    elif not roster.entries:
        yield sessions_codes.EMPTY_ROSTER.at(source="")


def check_partial_roster(stated: PartialRoster) -> Iterator[Diagnostic]:
    """Yield what is wrong with the part of a roster that one source states."""
    seen: set[str] = set()
    for entry in stated.entries:
        if entry.agent_name in seen:
            yield sessions_codes.DUPLICATE_AGENT.at(name=entry.agent_name)
        elif not AGENT_NAME.fullmatch(entry.agent_name):
            yield messages_codes.INVALID_AGENT_NAME.at(name=entry.agent_name)
        seen.add(entry.agent_name)
        yield from check_role(entry.agent_name, entry.role)
        yield from _check_texts(f" of {entry.agent_name}", entry._asdict())
    if stated.mode is not None and stated.mode not in MODES:
        near = did_you_mean(closest(stated.mode, MODES))
        yield sessions_codes.UNKNOWN_ROSTER_MODE.at(value=stated.mode, suggestion=near)
    yield from _check_texts(" of the roster", {"name": stated.name})
    if stated.created_at is not None and not ISO_TIME.fullmatch(stated.created_at):
        yield sessions_codes.INVALID_ROSTER_TIME.at(value=stated.created_at)


def check_role(name: str, role: str) -> Iterator[Diagnostic]:
    """Yield a diagnostic if the role is not one of the three."""
    if role not in ROLES:
        near = did_you_mean(closest_or_containing(role, ROLES))
        yield sessions_codes.INVALID_ROLE.at(name=name, role=role, suggestion=near)


def _check_texts(whose: str, values: Mapping[str, str | None]) -> Iterator[Diagnostic]:
    """Report empty and unencodable values.

    Only a program can create them, and no kickoff can show them.
    """
    for field in ("name", "program", "model", "notes"):
        text = values.get(field)
        if text is None or (text and is_encodable(text)):
            continue
        fault = (
            "contains half of a character (a lone surrogate)" if text else "is empty; leave it out"
        )
        reason = f"`{field}`{whose} {fault}"
        yield sessions_codes.MALFORMED_ROSTER.at(source="a program", reason=reason)


# Presets: the built-in one, and assigning agents to a preset's entries


# agent_roster_schema, Config File Example, without models: those change too often (R20)
DEFAULT_3_AGENT = RosterPreset(
    id="default-3-agent",
    name="Default 3-Agent Setup",
    description="Standard Brenner Protocol with Codex/Opus/Gemini",
    entries=(
        RosterEntry("", Role.HYPOTHESIS_GENERATOR.value, "codex-cli"),
        RosterEntry("", Role.TEST_DESIGNER.value, "claude-code"),
        RosterEntry("", Role.ADVERSARIAL_CRITIC.value, "gemini-cli"),
    ),
)
BUILT_IN_PRESETS = (DEFAULT_3_AGENT,)


def find_preset(preset_id: str, known: Mapping[str, RosterPreset]) -> RosterPreset | Diagnostic:
    """Return the preset with that ID, or a diagnostic."""
    if preset_id in known:
        return known[preset_id]
    near = did_you_mean(closest(preset_id, known))
    return sessions_codes.UNKNOWN_PRESET.at(preset=preset_id, suggestion=near)


def fill_preset(
    preset: RosterPreset, names: Sequence[str], source: str
) -> tuple[RosterEntry, ...] | Diagnostic:
    """Assign the preset's entries to these agents, in order. The numbers of both must be equal."""
    if len(names) != len(preset.entries):
        return sessions_codes.PRESET_RECIPIENT_COUNT.at(
            preset=preset.id, source=source, expected=len(preset.entries), count=len(names)
        )
    pairs = zip(preset.entries, names, strict=True)
    return tuple(entry._replace(agent_name=name) for entry, name in pairs)


# The kickoff's section with the roster: render and parse it
#
# We write the form of the document's example, with notes and time if present. Parsing restores the
# same roster, whatever text the fields contain. Tables of other programs may have their columns in
# any order, missing columns and additional ones.


CONFIGURATION_HEADING = "Session Configuration"
_HEADING_KEY = normalise_heading(CONFIGURATION_HEADING)
_COLUMNS = {
    "Agent": "agent_name",
    "Role": "role",
    "Program": "program",
    "Model": "model",
    "Notes": "notes",
}
_MODE, _NAME, _CREATED = "Roster Mode", "Roster Name", "Created At"
# Other programs' names of the columns, and of the lines above the table
_COLUMN_ALIASES = {"agent name": "agent", "agentname": "agent", "name": "agent", "note": "notes"}
_LINE_ALIASES = {
    "mode": normalise_heading(_MODE),
    "name": normalise_heading(_NAME),
    "createdat": normalise_heading(_CREATED),
}
_FIELD_BY_TITLE = {normalise_heading(title): field for title, field in _COLUMNS.items()}
_CODE = lazy_pattern("`([^`]+)`")


def render_configuration(roster: Roster) -> str:
    """Return the whole section, including the rule that ends it."""
    shown = [title for title in _COLUMNS if title != "Notes"]
    if any(entry.notes is not None for entry in roster.entries):
        shown.append("Notes")
    labelled = ((_NAME, roster.name), (_CREATED, roster.created_at))
    lines = [
        f"## {CONFIGURATION_HEADING}",
        "",
        f"**{_MODE}**: {escape_heading(roster.mode)}",
        *(f"**{title}**: {escape_heading(text)}" for title, text in labelled if text is not None),
        "",
        render_row(shown),
        f"|{'|'.join('-' * (len(title) + 2) for title in shown)}|",
        *(
            render_row(escape_cell(getattr(entry, _COLUMNS[title]) or "") for title in shown)
            for entry in roster.entries
        ),
        "",
        "---",
    ]
    return "\n".join(lines) + "\n"


def read_configuration(body: list[Block]) -> Roster | None:
    """Return the roster in the first such section with a table of agents and roles, or None."""
    for section in parse_sections(body):
        if section.key == _HEADING_KEY:
            table = _first_table(section.contents)
            if table:
                return _roster_from_table(table, _labelled_lines(section.contents))
    return None


def _first_table(contents: Sequence[Block]) -> list[TableRow]:
    for block in contents:
        if block.kind is BlockKind.PARAGRAPH and not block.quoted and "|" in block.text:
            table = _find_table(block)
            if table and {"agent_name", "role"} <= _column_indexes(table).keys():
                return table
    return []


def _find_table(block: Block) -> list[TableRow]:
    """Return the table in a paragraph; lines of text may come directly before it."""
    lines = block.text.split("\n")
    for number, (first, second) in enumerate(pairwise(lines)):
        if not second.strip("|:- \t") and read_table(f"{first}\n{second}", 0):
            return read_table("\n".join(lines[number:]), block.line + number)
    return []


def _column_indexes(table: list[TableRow]) -> dict[str, int]:
    """Return the column of each field; if two columns have one title, the first counts."""
    indexes: dict[str, int] = {}
    for index, title in enumerate(table[0][0]):
        key = normalise_heading(title)
        field = _FIELD_BY_TITLE.get(_COLUMN_ALIASES.get(key, key))
        if field is not None:
            indexes.setdefault(field, index)
    return indexes


def _labelled_lines(contents: Sequence[Block]) -> dict[str, str]:
    """Return the labelled lines above the table by name; of two with one name, the first counts."""
    lines: dict[str, str] = {}
    for field in read_fields(list(contents)):
        key = normalise_heading(field.name)
        lines.setdefault(_LINE_ALIASES.get(key, key), _cell_text(field.value))
    return lines


def _roster_from_table(table: list[TableRow], lines: Mapping[str, str]) -> Roster:
    columns = _column_indexes(table)
    entries = [_entry_from_row(cells, columns) for cells, _ in table[1:]]
    return Roster(
        tuple(entry for entry in entries if AGENT_NAME.fullmatch(entry.agent_name)),
        _normalise_word(lines.get(normalise_heading(_MODE), ""), MODES) or str(Mode.ROLE_SEPARATED),
        lines.get(normalise_heading(_NAME)) or None,
        lines.get(normalise_heading(_CREATED)) or None,
    )


def _entry_from_row(cells: Sequence[str], columns: Mapping[str, int]) -> RosterEntry:
    row = {name: _cell_text(cells[at]) for name, at in columns.items() if at < len(cells)}
    agent = row.get("agent_name", "")
    if not AGENT_NAME.fullmatch(agent):
        agent = agent.strip("*_ ").removeprefix("@")
    others = (row.get(field) or None for field in ("program", "model", "notes"))
    role = _normalise_word(row.get("role", ""), (*ROLES, *_SHORT_ROLES))
    return RosterEntry(agent, full_role(role), *others)


def _cell_text(raw: str) -> str:
    """Return the displayed text of a cell, without the backticks if the whole cell is code."""
    code = _CODE.fullmatch(raw)
    return code[1] if code else unescape(raw)


def _normalise_word(text: str, words: Sequence[str]) -> str:
    """Return the protocol's word if only case, spaces and hyphens differ; else the text."""
    return text if text in words else closest(text, words, 0) or text
