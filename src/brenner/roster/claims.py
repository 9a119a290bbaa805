"""What is said of a roster, by whom, and what comes of it."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from brenner.diagnostics.model import ERROR, Diagnostic
from brenner.roster.model import Roster, RosterPreset, Stated


class Source(StrEnum):
    """The five, highest first; then where an entry comes from that none of them has."""

    FLAGS = "flags"
    ENVIRONMENT = "environment"
    SESSION = "session"
    PROJECT = "project"
    PRESET = "preset"
    NAME = "name"
    MODE = "mode"


class Origin(NamedTuple):
    """A source, and the words for the place in it."""

    source: Source
    label: str


class Layer(NamedTuple):
    """What one place says. `typed` is the source in which somebody typed or chose it just now.

    `names` are the words for the place of its names, where they are not with the rest.
    """

    origin: Origin
    stated: Stated
    typed: Source | None = None
    names: str | None = None


class Choice(NamedTuple):
    """A preset that somebody chose, and where."""

    preset: str
    origin: Origin


class Claims(NamedTuple):
    """Everything that is said of the roster. `layers` and `choices` stand highest first."""

    layers: tuple[Layer, ...] = ()
    recipients: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()
    presets: Mapping[str, RosterPreset] = MappingProxyType({})


class Resolved(NamedTuple):
    """The roster that comes of it.

    `origins` says of each agent where its entry is from, `header` the same of `mode`, `name` and
    `created_at`, where a source states them. `preset` is the one that was looked up, if any.
    """

    roster: Roster
    origins: Mapping[str, Origin]
    recipients: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]
    header: Mapping[str, Origin] = MappingProxyType({})
    preset: RosterPreset | None = None

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """What keeps a session from being started with it."""
        return tuple(each for each in self.diagnostics if each.severity is ERROR)
