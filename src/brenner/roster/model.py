"""Who does what in a session: roles, modes, rosters and presets, as the roster document has them.

A field that nobody filled in is None, never an empty text.
"""

from enum import StrEnum
from typing import NamedTuple


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
