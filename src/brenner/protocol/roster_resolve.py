"""Where a roster comes from: five sources, and what beats what (ruling R20).

Agent by agent the entry of the highest source counts, whole; lower sources fill in the rest. Mode,
name and time come each from the highest source that states them. `docs/rosters.md` has the rules.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from brenner.diagnostics.codes import messages as messages_codes
from brenner.diagnostics.codes import sessions as sessions_codes
from brenner.diagnostics.model import ERROR, Diagnostic
from brenner.protocol.grammar import AGENT_NAME
from brenner.protocol.roster import (
    Mode,
    Role,
    Roster,
    RosterEntry,
    RosterPreset,
    Stated,
    filled,
    find_preset,
    role_of_name,
    stated_faults,
    validate_roster_coverage,
)

# What is said of a roster, by whom, and what comes of it.


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


# What somebody typed and what another source beats: whoever typed it should know.


def overridden(
    layers: Sequence[Layer],
    entries: Sequence[RosterEntry],
    origins: Mapping[str, Origin],
    header: Mapping[str, Layer],
) -> Iterator[Diagnostic]:
    """Each value that somebody typed in one place and that another one beats."""
    won = {entry.agent_name: entry for entry in entries}
    for layer in layers:
        if layer.typed is None:
            continue
        yield from _lost_header(layer, header)
        for entry in layer.stated.entries:
            origin = origins[entry.agent_name]
            if origin != layer.origin and origin.source is not layer.typed:
                yield from _lost_values(entry, won[entry.agent_name], layer.origin, origin)


def _lost_values(
    lost: RosterEntry, won: RosterEntry, from_: Origin, winner: Origin
) -> Iterator[Diagnostic]:
    """The first value of the entry that the winner has otherwise."""
    for field, value, other in zip(RosterEntry._fields[1:], lost[1:], won[1:], strict=True):
        if value is not None and value != other:
            reason = f"{winner.label} says {f'`{other}`' if other else 'nothing of the kind'}"
            flag = f"`--agent-role {lost.agent_name}=ROLE`" if field == "role" else "`--roster`"
            yield no_effect(value, lost.agent_name, from_, reason, flag)
            return


def _lost_header(layer: Layer, header: Mapping[str, Layer]) -> Iterator[Diagnostic]:
    """Its mode and name; a preset's name is nobody's wish."""
    for field in ("mode", "name"):
        value = getattr(layer.stated, field)
        winner = header.get(field, layer)
        is_beaten = winner.origin.source is not layer.typed and winner is not layer
        if value is not None and is_beaten and layer.origin.source is not Source.PRESET:
            other = getattr(winner.stated, field)
            if other != value:
                reason = f"{winner.origin.label} says `{other}`"
                yield no_effect(value, f"the {field}", layer.origin, reason, "`--roster`")


def no_effect(value: str, name: str, origin: Origin, reason: str, flag: str) -> Diagnostic:
    """That a value has none, why, and by which flag it would have."""
    return sessions_codes.ROSTER_VALUE_OVERRIDDEN.at(
        value=value, name=name, source=origin.label, reason=reason, flag=flag
    )


__all__ = ["Choice", "Claims", "Layer", "Origin", "Resolved", "Source", "resolve"]

_GUESSED = Origin(Source.NAME, "guessed from the name")
_UNUSED = Origin(Source.MODE, "unified: not used")


class _Picked(NamedTuple):
    """The preset that is looked up, what it says, and what is to be told of that."""

    preset: RosterPreset | None = None
    layers: tuple[Layer, ...] = ()
    found: tuple[Diagnostic, ...] = ()
    is_refused: bool = False


def resolve(claims: Claims) -> Resolved:
    """The roster of a session, and everything that is wrong or odd about it."""
    recipients = tuple(dict.fromkeys(claims.recipients))
    claims = claims._replace(recipients=recipients)
    picked = _picked(claims)
    layers = (*claims.layers, *picked.layers)
    entries, origins = _merged(recipients, layers)
    header = _header(layers)
    found = [*_faults(layers), *picked.found, *overridden(layers, entries, origins, header)]
    said = {field: getattr(layer.stated, field) for field, layer in header.items()}
    is_none = not entries and "mode" not in said and not picked.is_refused
    if is_none:
        said["mode"] = Mode.HEURISTIC.value
    roster = Roster(entries, **said)
    if not picked.is_refused:
        roster, added, more = _completed(roster, recipients)
        if is_none:
            more = _without_a_roster(more, is_guessed=bool(added) or not recipients)
        origins |= added
        found += more
    return Resolved(
        roster,
        MappingProxyType(origins),
        recipients or roster.names,
        tuple(found),
        MappingProxyType({field: layer.origin for field, layer in header.items()}),
        picked.preset,
    )


# The preset


def _picked(claims: Claims) -> _Picked:
    if not claims.choices:
        return _Picked()
    choice, *others = claims.choices
    lost = tuple(_lost_choice(other, choice) for other in others if _is_lost(other, choice))
    if not _is_wanted(choice, claims):
        is_typed = choice.origin.source is Source.ENVIRONMENT
        return _Picked(found=(*lost, *((_needless(choice),) if is_typed else ())))
    preset = find_preset(choice.preset, claims.presets)
    if isinstance(preset, Diagnostic):
        return _Picked(found=(*lost, preset), is_refused=True)
    names = claims.recipients or preset.placeholder_names or _in_order(claims.layers)
    entries = filled(preset, names, choice.origin.label)
    if isinstance(entries, Diagnostic):
        return _Picked(preset, found=(*lost, entries), is_refused=True)
    origin = Origin(Source.PRESET, f"preset `{preset.id}`")
    typed = None if choice.origin.source is Source.PROJECT else choice.origin.source
    layer = Layer(origin, Stated(entries, name=preset.name), typed)
    return _Picked(preset, (layer,), lost)


def _is_wanted(choice: Choice, claims: Claims) -> bool:
    """A preset that was asked for by flag always counts; a standing one only where it is needed."""
    if choice.origin.source is Source.FLAGS:
        return True
    covered = set(_in_order(claims.layers))
    if claims.recipients:
        return not covered.issuperset(claims.recipients)
    return not covered


def _is_lost(other: Choice, choice: Choice) -> bool:
    return other.origin.source is Source.ENVIRONMENT and other.preset != choice.preset


def _lost_choice(other: Choice, choice: Choice) -> Diagnostic:
    reason = f"{choice.origin.label} says `{choice.preset}`"
    return no_effect(other.preset, "the preset", other.origin, reason, "`--preset`")


def _needless(choice: Choice) -> Diagnostic:
    reason = "everybody has a role without it"
    return no_effect(choice.preset, "the preset", choice.origin, reason, "`--preset`")


# Layers upon each other


def _in_order(layers: Sequence[Layer]) -> tuple[str, ...]:
    """All agents: those of the lowest source first, then whom a higher one adds."""
    names = (name for layer in reversed(layers) for name in _names(layer))
    return tuple(dict.fromkeys(names))


def _names(layer: Layer) -> Iterator[str]:
    return (entry.agent_name for entry in layer.stated.entries)


def _merged(
    recipients: Sequence[str], layers: Sequence[Layer]
) -> tuple[tuple[RosterEntry, ...], dict[str, Origin]]:
    """The entry of each agent and its origin: the recipients first, in their order."""
    entries: dict[str, RosterEntry] = {}
    origins: dict[str, Origin] = {}
    for layer in layers:
        for entry in layer.stated.entries:
            if entry.agent_name not in entries:
                entries[entry.agent_name] = entry
                origins[entry.agent_name] = layer.origin
    order = dict.fromkeys((*recipients, *_in_order(layers)))
    return tuple(entries[name] for name in order if name in entries), origins


def _header(layers: Sequence[Layer]) -> dict[str, Layer]:
    """For mode, name and time the highest layer that states it."""
    found: dict[str, Layer] = {}
    for field in ("mode", "name", "created_at"):
        stating = (layer for layer in layers if getattr(layer.stated, field) is not None)
        first = next(stating, None)
        if first is not None:
            found[field] = first
    return found


def _faults(layers: Sequence[Layer]) -> Iterator[Diagnostic]:
    """What is wrong in any layer, also where a higher one makes up for it."""
    for layer in layers:
        for found in stated_faults(layer.stated):
            is_name = found.code is messages_codes.INVALID_AGENT_NAME
            label = layer.names if is_name and layer.names else layer.origin.label
            yield found._replace(fix=f"{found.fix} It comes from {label}.")


def _completed(
    roster: Roster, recipients: Sequence[str]
) -> tuple[Roster, dict[str, Origin], list[Diagnostic]]:
    """The roster with the entries that its mode makes, their origin, and what is still wrong."""
    known = {entry.agent_name: entry for entry in roster.entries}
    missing = [name for name in recipients if name not in known]
    added: dict[str, str] = {}
    origin, found = _GUESSED, []
    if roster.mode == Mode.HEURISTIC:
        found.append(sessions_codes.HEURISTIC_MODE_DEPRECATED.at())
        roles = ((name, role_of_name(name)) for name in missing)
        added = {name: role.value for name, role in roles if role}
    elif roster.mode == Mode.UNIFIED and missing and not known:
        found.append(sessions_codes.UNIFIED_WITHOUT_ROLES.at())
        added, origin = dict.fromkeys(missing, Role.HYPOTHESIS_GENERATOR.value), _UNUSED
    elif not known and not recipients:
        found.append(sessions_codes.EMPTY_ROSTER.at(source=""))
    known |= {name: RosterEntry(name, role) for name, role in added.items()}
    order = dict.fromkeys((*recipients, *known))
    whole = roster._replace(entries=tuple(known[name] for name in order if name in known))
    return whole, dict.fromkeys(added, origin), found + _coverage(whole, recipients)


def _without_a_roster(found: list[Diagnostic], *, is_guessed: bool) -> list[Diagnostic]:
    """The documented warning; whose names tell nothing has asked for no guess, and lacks a role."""
    if is_guessed:
        return [sessions_codes.NO_ROSTER.at(), *found]
    return [each for each in found if each.code is not sessions_codes.HEURISTIC_MODE_DEPRECATED]


def _coverage(roster: Roster, recipients: Sequence[str]) -> list[Diagnostic]:
    """Who has no entry. A word that cannot be a name has that fault, and no second one."""
    sound = [name for name in recipients if AGENT_NAME.fullmatch(name)]
    strange = set(recipients).difference(sound, roster.names)
    return [
        *(
            messages_codes.INVALID_AGENT_NAME.at(name=name)
            for name in recipients
            if name in strange
        ),
        *validate_roster_coverage(roster, sound).violations,
    ]
