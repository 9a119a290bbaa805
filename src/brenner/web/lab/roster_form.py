"""Whom to ask, as a form says it: the session's own source of the roster (R20).

Each agent has a row. A row with a role is an entry of the session's own; without one the role comes
from the sources below, the project's file or a preset. A preset is filled into the rows.
"""

import os
from collections.abc import Mapping
from typing import NamedTuple

from brenner.diagnostics.model import BrennerError
from brenner.mail.mailbox import Ability
from brenner.protocol.roster import DEFAULT_3_AGENT, ROLES, Mode, RosterEntry, RosterPreset, Stated
from brenner.protocol.roster_resolve import Resolved
from brenner.services.rosters import ListedPreset, RosterWish, list_presets, resolve_roster
from brenner.services.spawn_agents import commands_of
from brenner.services.workspace import Desk
from brenner.web.lab.requests import ROW_FIELDS

MOST_ROWS = 50
ADD, DROP, FILL_IN = "add", "drop", "preset"


class Row(NamedTuple):
    """What is typed of one agent."""

    name: str = ""
    role: str = ""
    program: str = ""
    model: str = ""
    notes: str = ""

    @property
    def entry(self) -> RosterEntry:
        """The entry that it is."""
        more = (each or None for each in self[2:])
        return RosterEntry(self.name, self.role, *more)


class RosterForm(NamedTuple):
    """The part of a form that says whom to ask, and in which roles."""

    rows: tuple[Row, ...] = ()
    mode: str = Mode.ROLE_SEPARATED.value
    name: str = ""
    preset: str = ""

    @property
    def used(self) -> tuple[Row, ...]:
        """The rows in which anything is typed: one without a name is told, not passed over."""
        return tuple(row for row in self.rows if any(row))

    @property
    def wish(self) -> RosterWish:
        """What it asks for; everybody who has a row gets a kickoff."""
        entries = tuple(row.entry for row in self.used if row.role)
        stated = Stated(entries, self.mode or None, self.name or None)
        return RosterWish(recipients=tuple((row.name, None) for row in self.used), session=stated)


def read_roster_form(form: Mapping[str, str]) -> RosterForm:
    """What was typed."""
    rows = []
    for number in range(1, MOST_ROWS + 1):
        if f"agent.{number}.name" not in form:
            break
        values = (form.get(f"agent.{number}.{field}", "").strip() for field in ROW_FIELDS)
        rows.append(Row(*values))
    words = (form.get(name, "").strip() for name in ("mode", "roster_name", "preset"))
    return RosterForm(tuple(rows), *words)


def roster_form_of(resolved: Resolved) -> RosterForm:
    """The rows of those who would be asked."""
    roster = resolved.roster
    entries = (roster.entry(name) or RosterEntry(name, "") for name in resolved.recipients)
    rows = tuple(Row(*(value or "" for value in entry)) for entry in entries)
    return RosterForm(rows[:MOST_ROWS], roster.mode, roster.name or "")


def new_roster_form(desk: Desk) -> RosterForm:
    """The project's own roster; without one the places of its preset, for names to be filled in."""
    resolved = resolve_roster(desk.project, os.environ, RosterWish())
    if resolved.recipients and not resolved.errors:
        return roster_form_of(resolved)
    listed = list_presets(desk.project)[0]
    default = next((each.preset for each in listed if each.is_default), DEFAULT_3_AGENT)
    return with_preset(RosterForm(preset=default.id), default)


def changed(desk: Desk, said: RosterForm, then: str) -> tuple[RosterForm, str] | None:
    """The form after one of its own buttons, and the field to go on with; None for other ones."""
    what, _, number = then.partition(".")
    if what == ADD:
        rows = (*said.rows, Row())[:MOST_ROWS]
        return said._replace(rows=rows), f"agent.{len(rows)}.name"
    if what == DROP and number.isdecimal():
        at = int(number) - 1
        rows = (*said.rows[:at], *said.rows[at + 1 :])
        return said._replace(rows=rows), f"agent.{min(int(number), len(rows))}.name"
    if what == FILL_IN:
        known = {each.preset.id: each.preset for each in list_presets(desk.project)[0]}
        preset = known.get(said.preset)
        return (with_preset(said, preset), "agent.1.name") if preset else (said, "preset")
    return None


def with_preset(said: RosterForm, preset: RosterPreset) -> RosterForm:
    """The preset's places, given to the rows in order; names that are typed stay."""
    names = [row.name for row in said.rows]
    places = len(preset.entries)
    placeholders = (*preset.placeholder_names, *[""] * places)
    given = (*names, *placeholders[len(names) :])[:places] if any(names) else placeholders[:places]
    rows = [
        Row(*(value or "" for value in place.given_to(name)))
        for place, name in zip(preset.entries, given, strict=True)
    ]
    left = [row for row in said.rows[places:] if any(row)]
    return said._replace(rows=(*rows, *left), name=preset.name)


# For the page


def roster_document(desk: Desk, said: RosterForm) -> dict[str, object]:
    """The rows and the menus."""
    return {
        "agents": [{"number": at, **row._asdict()} for at, row in enumerate(said.rows, 1)],
        "can_add": len(said.rows) < MOST_ROWS,
        "mode": said.mode,
        "modes": [Mode.ROLE_SEPARATED.value, Mode.UNIFIED.value],
        "roster_name": said.name,
        "preset": said.preset,
        "presets": [_preset(each) for each in list_presets(desk.project)[0]],
        "roles": list(ROLES),
        "known_agents": known_names(desk),
        "programs": sorted(commands_of(desk.project)),
        "names_are_shared": Ability.OWN_NAMES in desk.mailbox.lacks,
    }


def known_names(desk: Desk) -> list[str]:
    """Whom the mailbox knows; where it is away, the form does without."""
    try:
        names = [agent.name for agent in desk.mailbox.agents()]
    except BrennerError:
        return []
    return [name for name in names if name != desk.project.operator]


def _preset(listed: ListedPreset) -> dict[str, object]:
    preset = listed.preset
    return {
        "id": preset.id,
        "name": preset.name,
        "description": preset.description,
        "places": len(preset.entries),
        "default": listed.is_default,
    }
