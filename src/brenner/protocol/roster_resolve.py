"""Resolve a session's roster from its five sources, by precedence (ruling R20).

For each agent the entry of the highest source is used as a whole; lower sources add other agents.
Mode, name and time each come from the highest source that states them.
`docs/reference/rosters.md` explains the rules.
"""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

from brenner.diagnostics.codes import messages as messages_codes
from brenner.diagnostics.codes import sessions as sessions_codes
from brenner.diagnostics.model import ERROR, Diagnostic
from brenner.named_tuple import NamedTuple
from brenner.protocol.grammar import AGENT_NAME
from brenner.protocol.roster import (
    Mode,
    PartialRoster,
    Role,
    Roster,
    RosterEntry,
    RosterPreset,
    check_partial_roster,
    fill_preset,
    find_preset,
    guess_role,
    validate_roster_coverage,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# Inputs and result


class RosterSource(StrEnum):
    """The five sources, highest first, and two origins of entries that no source states."""

    FLAGS = "flags"
    ENVIRONMENT = "environment"
    SESSION = "session"
    PROJECT = "project"
    PRESET = "preset"
    NAME = "name"
    MODE = "mode"


class RosterOrigin(NamedTuple):
    """A source, and a label for the exact location in it."""

    source: RosterSource
    label: str


class RosterLayer(NamedTuple):
    """What one location states of a roster.

    `typed` is the source if the operator typed or chose it for this command. `names` is the label
    for the location of the agents' names if it differs.
    """

    origin: RosterOrigin
    stated: PartialRoster
    typed: RosterSource | None = None
    names: str | None = None


PresetChoice = tuple[str, RosterOrigin]  # the ID of a chosen preset, and where it was chosen


class ResolvedRoster(NamedTuple):
    """The resolved roster.

    `origins` gives the origin of each agent's entry, `header` those of `mode`, `name` and
    `created_at` where a source states them. `preset` is the preset that was looked up, if any.
    """

    roster: Roster
    origins: Mapping[str, RosterOrigin]
    recipients: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]
    header: Mapping[str, RosterOrigin] = MappingProxyType({})
    preset: RosterPreset | None = None

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The errors that prevent a session from starting with this roster."""
        return tuple(each for each in self.diagnostics if each.severity is ERROR)


# Warnings for typed values that another source overrides


def check_overridden(
    layers: Sequence[RosterLayer],
    entries: Sequence[RosterEntry],
    origins: Mapping[str, RosterOrigin],
    header: Mapping[str, RosterLayer],
) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each typed value that another source overrides."""
    winners = {entry.agent_name: entry for entry in entries}
    for layer in layers:
        if layer.typed is None:
            continue
        yield from _overridden_header_values(layer, header)
        for entry in layer.stated.entries:
            origin = origins[entry.agent_name]
            if origin != layer.origin and origin.source is not layer.typed:
                yield from _overridden_entry_value(
                    entry, winners[entry.agent_name], layer.origin, origin
                )


def _overridden_entry_value(
    loser: RosterEntry, winner: RosterEntry, from_: RosterOrigin, winner_origin: RosterOrigin
) -> Iterator[Diagnostic]:
    """Yield a diagnostic for the first value of the entry that differs from the winner's."""
    for field, value, other in zip(RosterEntry._fields[1:], loser[1:], winner[1:], strict=True):
        if value is not None and value != other:
            reason = f"{winner_origin.label} says {f'`{other}`' if other else 'nothing about it'}"
            flag = f"`--agent-role {loser.agent_name}=ROLE`" if field == "role" else "`--roster`"
            yield value_overridden(value, loser.agent_name, from_, reason, flag)
            return


def _overridden_header_values(
    layer: RosterLayer, header: Mapping[str, RosterLayer]
) -> Iterator[Diagnostic]:
    """Yield diagnostics for the layer's mode and name; a preset's name does not count as typed."""
    for field in ("mode", "name"):
        value = getattr(layer.stated, field)
        winner = header.get(field, layer)
        is_beaten = winner.origin.source is not layer.typed and winner is not layer
        if value is not None and is_beaten and layer.origin.source is not RosterSource.PRESET:
            other = getattr(winner.stated, field)
            if other != value:
                reason = f"{winner.origin.label} says `{other}`"
                yield value_overridden(value, f"the {field}", layer.origin, reason, "`--roster`")


def value_overridden(
    value: str, name: str, origin: RosterOrigin, reason: str, flag: str
) -> Diagnostic:
    """Return the diagnostic for a value without effect, with the flag that would work."""
    return sessions_codes.ROSTER_VALUE_OVERRIDDEN.at(
        value=value, name=name, source=origin.label, reason=reason, flag=flag
    )


_GUESSED_FROM_NAME = RosterOrigin(RosterSource.NAME, "guessed from the name")
_UNUSED_IN_UNIFIED = RosterOrigin(RosterSource.MODE, "unified: not used")


def resolve_inputs(
    layers: tuple[RosterLayer, ...],
    recipients: tuple[str, ...],
    choices: tuple[PresetChoice, ...] = (),
    presets: Mapping[str, RosterPreset] = MappingProxyType({}),
) -> ResolvedRoster:
    """Return the roster of a session with all errors and warnings.

    `layers` and `choices` are ordered highest first.
    """
    recipients = tuple(dict.fromkeys(recipients))
    preset, added_layers, preset_found = _resolve_preset(layers, recipients, choices, presets)
    is_refused = any(each.severity is ERROR for each in preset_found)
    layers = (*layers, *added_layers)
    entries, origins = _merge_layers(recipients, layers)
    header = _header_layers(layers)
    found = [
        *_check_layers(layers),
        *preset_found,
        *check_overridden(layers, entries, origins, header),
    ]
    header_values = {field: getattr(layer.stated, field) for field, layer in header.items()}
    is_none = not entries and "mode" not in header_values and not is_refused
    if is_none:
        header_values["mode"] = Mode.UNIFIED.value
    roster = Roster(entries, **header_values)
    if not is_refused:
        roster, added, more = _complete_roster(roster, recipients)
        if is_none:
            more = _no_roster_diagnostics(more)
        origins |= added
        found += more
    return ResolvedRoster(
        roster,
        MappingProxyType(origins),
        recipients or roster.names,
        tuple(found),
        MappingProxyType({field: layer.origin for field, layer in header.items()}),
        preset,
    )


# Resolving the preset


def _resolve_preset(
    layers: tuple[RosterLayer, ...],
    recipients: tuple[str, ...],
    choices: tuple[PresetChoice, ...],
    presets: Mapping[str, RosterPreset],
) -> tuple[RosterPreset | None, tuple[RosterLayer, ...], tuple[Diagnostic, ...]]:
    """Return the preset that was looked up, the layers it adds, and its diagnostics."""
    if not choices:
        return None, (), ()
    (chosen, origin), *others = choices
    overridden = tuple(
        value_overridden(other, "the preset", its, f"{origin.label} says `{chosen}`", "`--preset`")
        for other, its in others
        if its.source is RosterSource.ENVIRONMENT and other != chosen
    )
    if not _is_needed(origin.source, layers, recipients):
        if origin.source is RosterSource.ENVIRONMENT:
            reason = "all agents have a role without it"
            unneeded = value_overridden(chosen, "the preset", origin, reason, "`--preset`")
            return None, (), (*overridden, unneeded)
        return None, (), overridden
    preset = find_preset(chosen, presets)
    if isinstance(preset, Diagnostic):
        return None, (), (*overridden, preset)
    names = recipients or preset.placeholder_names or _agent_order(layers)
    entries = fill_preset(preset, names, origin.label)
    if isinstance(entries, Diagnostic):
        return preset, (), (*overridden, entries)
    typed = None if origin.source is RosterSource.PROJECT else origin.source
    stated = PartialRoster(entries, name=preset.name)
    place = RosterOrigin(RosterSource.PRESET, f"preset `{preset.id}`")
    return preset, (RosterLayer(place, stated, typed),), overridden


def _is_needed(
    source: RosterSource, layers: Sequence[RosterLayer], recipients: Sequence[str]
) -> bool:
    """Return whether to apply the preset.

    One chosen by flag always applies, others only if agents lack a role.
    """
    if source is RosterSource.FLAGS:
        return True
    covered = set(_agent_order(layers))
    return not covered.issuperset(recipients) if recipients else not covered


# Merging the layers


def _agent_order(layers: Sequence[RosterLayer]) -> tuple[str, ...]:
    """Return all agents: those of the lowest source first, then those that higher sources add."""
    entries = (entry for layer in reversed(layers) for entry in layer.stated.entries)
    return tuple(dict.fromkeys(entry.agent_name for entry in entries))


def _merge_layers(
    recipients: Sequence[str], layers: Sequence[RosterLayer]
) -> tuple[tuple[RosterEntry, ...], dict[str, RosterOrigin]]:
    """Return the entry of each agent and its origin: the recipients first, in their order."""
    entries: dict[str, RosterEntry] = {}
    origins: dict[str, RosterOrigin] = {}
    for layer in layers:
        for entry in layer.stated.entries:
            if entry.agent_name not in entries:
                entries[entry.agent_name] = entry
                origins[entry.agent_name] = layer.origin
    order = dict.fromkeys((*recipients, *_agent_order(layers)))
    return tuple(entries[name] for name in order if name in entries), origins


def _header_layers(layers: Sequence[RosterLayer]) -> dict[str, RosterLayer]:
    """Return, for mode, name and time, the highest layer that states it."""
    found: dict[str, RosterLayer] = {}
    for field in ("mode", "name", "created_at"):
        stating = (layer for layer in layers if getattr(layer.stated, field) is not None)
        first = next(stating, None)
        if first is not None:
            found[field] = first
    return found


def _check_layers(layers: Sequence[RosterLayer]) -> Iterator[Diagnostic]:
    """Yield the problems of every layer, even of values that a higher layer overrides."""
    for layer in layers:
        for found in check_partial_roster(layer.stated):
            is_name = found.code is messages_codes.INVALID_AGENT_NAME
            label = layer.names if is_name and layer.names else layer.origin.label
            yield found._replace(fix=f"{found.fix} It comes from {label}.")


def _complete_roster(
    roster: Roster, recipients: Sequence[str]
) -> tuple[Roster, dict[str, RosterOrigin], list[Diagnostic]]:
    """Add the entries that the mode implies.

    Return the roster, the origins of the new entries, and the remaining problems.
    """
    known = {entry.agent_name: entry for entry in roster.entries}
    missing = [name for name in recipients if name not in known]
    added: dict[str, str] = {}
    origin, found = _GUESSED_FROM_NAME, []
    if roster.mode == Mode.HEURISTIC:
        found.append(sessions_codes.HEURISTIC_MODE_DEPRECATED.at())
        roles = ((name, guess_role(name)) for name in missing)
        added = {name: role.value for name, role in roles if role}
    elif roster.mode == Mode.UNIFIED and missing and not known:
        found.append(sessions_codes.UNIFIED_WITHOUT_ROLES.at())
        added, origin = dict.fromkeys(missing, Role.HYPOTHESIS_GENERATOR.value), _UNUSED_IN_UNIFIED
    elif not known and not recipients:
        found.append(sessions_codes.EMPTY_ROSTER.at(source=""))
    known |= {name: RosterEntry(name, role) for name, role in added.items()}
    order = dict.fromkeys((*recipients, *known))
    whole = roster._replace(entries=tuple(known[name] for name in order if name in known))
    return whole, dict.fromkeys(added, origin), found + _check_coverage(whole, recipients)


def _no_roster_diagnostics(found: list[Diagnostic]) -> list[Diagnostic]:
    """Return the documented warning instead of what it implies: an empty roster without roles."""
    implied = (sessions_codes.EMPTY_ROSTER, sessions_codes.UNIFIED_WITHOUT_ROLES)
    return [sessions_codes.NO_ROSTER.at(), *(each for each in found if each.code not in implied)]


def _check_coverage(roster: Roster, recipients: Sequence[str]) -> list[Diagnostic]:
    """Report recipients without an entry. An invalid name is reported as such only."""
    valid = [name for name in recipients if AGENT_NAME.fullmatch(name)]
    invalid = set(recipients).difference(valid, roster.names)
    return [
        *(
            messages_codes.INVALID_AGENT_NAME.at(name=name)
            for name in recipients
            if name in invalid
        ),
        *validate_roster_coverage(roster, valid).violations,
    ]
