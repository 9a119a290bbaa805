"""Where a roster comes from: five sources, and what beats what (ruling R20).

Agent by agent the entry of the highest source counts, whole; lower sources fill in the rest. Mode,
name and time come each from the highest source that states them. `docs/rosters.md` has the rules.
"""

from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import NamedTuple

from brenner.diagnostics.codes import messages as messages_codes
from brenner.diagnostics.codes import sessions as sessions_codes
from brenner.diagnostics.model import Diagnostic
from brenner.grammar import AGENT_NAME
from brenner.roster.claims import Choice, Claims, Layer, Origin, Resolved, Source
from brenner.roster.heuristic import role_of_name
from brenner.roster.model import Mode, Role, Roster, RosterEntry, RosterPreset, Stated
from brenner.roster.overridden import no_effect, overridden
from brenner.roster.presets import filled, find_preset
from brenner.roster.validate import stated_faults, validate_roster_coverage

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
