"""The role of an agent in a session, as its roster has it."""

from brenner.roster.heuristic import role_of_name
from brenner.roster.model import Mode, Roster


def role_in(roster: Roster, name: str) -> str | None:
    """The role of an agent; in heuristic mode what its name tells, where no entry says more."""
    entry = roster.entry(name)
    if entry is not None or roster.mode != Mode.HEURISTIC:
        return entry.role if entry else None
    return role_of_name(name)
