"""A place where a roster can be said in every way, with real files."""

import json
from pathlib import Path
from typing import Any

from brenner.config import Project
from brenner.protocol.roster import ROLES
from brenner.protocol.roster_resolve import ResolvedRoster
from brenner.services.rosters import RosterRequest, resolve_roster

GENERATOR, DESIGNER, CRITIC = ROLES
ABC = (("Ada", None), ("Ben", None), ("Cleo", None))


def ids(resolved: ResolvedRoster) -> list[str]:
    """The codes of what is wrong or odd."""
    return [found.id for found in resolved.diagnostics]


def messages(resolved: ResolvedRoster, code: str) -> list[str]:
    """The messages of one code."""
    return [found.message for found in resolved.diagnostics if found.id == code]


class Place:
    """A project folder, an environment, a wish, to be filled by each source."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environ: dict[str, str] = {}
        self.wish = RosterRequest()

    def write(self, name: str, text: str) -> None:
        """Write a file of the project."""
        (self.folder / name).write_text(text, "utf-8")

    def ask(self, **more: Any) -> None:
        """Wish for something more, or otherwise."""
        self.wish = self.wish._replace(**more)

    def resolve(self) -> ResolvedRoster:
        """What comes of it."""
        return resolve_roster(Project(self.folder), self.environ, self.wish)


def entry_json(name: str, role: str) -> str:
    """One entry as a list of JSON."""
    return json.dumps([{"agentName": name, "role": role}])


def by_toml(place: Place, name: str, role: str) -> str:
    """`brenner.toml`."""
    text = f'[[roster.entries]]\nagentName = "{name}"\nrole = "{role}"\n'
    place.write("brenner.toml", text)
    return "`brenner.toml`"
