"""What a project's file says of rosters: a part of a roster, presets, and which is the default."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from brenner.diagnostics.codes import sessions as codes
from brenner.diagnostics.model import Diagnostic
from brenner.roster.json_form import (
    PRESETS_AND_DEFAULT,
    read_preset,
    read_stated,
    unread_keys,
    unread_preset_keys,
)
from brenner.roster.model import Mode, RosterPreset, Stated

_ROSTER, _PRESETS, _DEFAULT = "roster", *PRESETS_AND_DEFAULT


class RosterSettings(NamedTuple):
    """`label` is the file, in words; `found` is what is wrong or odd in it."""

    label: str
    stated: Stated = Stated()
    presets: tuple[RosterPreset, ...] = ()
    default: str | None = None
    found: tuple[Diagnostic, ...] = ()


def has_roster(tables: object) -> bool:
    """Whether a file's tables say anything of rosters."""
    return isinstance(tables, Mapping) and (_ROSTER in tables or _PRESETS in tables)


def read_settings(tables: Mapping[str, object], label: str) -> RosterSettings:
    """What the tables say under `roster`, and under `presets` beside it."""
    said = tables.get(_ROSTER, {})
    found: list[Diagnostic] = []
    stated = read_stated(said, label)
    if not isinstance(stated, Stated):
        found += stated
        stated = Stated()
    found += unread_keys(said, label, PRESETS_AND_DEFAULT)
    if is_empty(said, stated):
        found.append(codes.EMPTY_ROSTER.at(source=f" from {label}"))
    inner = said if isinstance(said, Mapping) else {}
    presets: list[RosterPreset] = []
    for value in (inner.get(_PRESETS), tables.get(_PRESETS)):
        presets += _presets(value, label, found)
    found += _twice(presets, label)
    default = inner.get(_DEFAULT)
    if default is not None and not isinstance(default, str):
        reason = f"`{_DEFAULT}` is not the id of a preset"
        found.append(codes.MALFORMED_ROSTER.at(source=label, reason=reason))
        default = None
    return RosterSettings(label, stated, tuple(presets), default or None, tuple(found))


def is_empty(said: object, stated: Stated) -> bool:
    """Whether it has a list of entries with nobody in it, which only heuristic mode has a use for.

    A file may leave the entries out, and give a mode or presets only.
    """
    entries = said.get("entries") if isinstance(said, Mapping) else said
    is_list = isinstance(entries, list | tuple)
    return is_list and not entries and stated.mode != Mode.HEURISTIC


def _presets(value: object, label: str, found: list[Diagnostic]) -> list[RosterPreset]:
    if value is None:
        return []
    if not isinstance(value, list | tuple):
        reason = f"`{_PRESETS}` is not a list"
        found.append(codes.MALFORMED_ROSTER.at(source=label, reason=reason))
        return []
    presets = []
    for number, each in enumerate(value, 1):
        place = f"{label}, preset {number}"
        preset = read_preset(each, place)
        odd = [*unread_preset_keys(each, place)]
        if isinstance(preset, RosterPreset):
            presets.append(preset)
        else:
            odd += preset
        found += (
            one._replace(field=f"{_PRESETS}.{number}.{one.field}") if one.field else one
            for one in odd
        )
    return presets


def _twice(presets: Sequence[RosterPreset], label: str) -> list[Diagnostic]:
    """Of two presets with one id nobody knows which is meant."""
    seen: set[str] = set()
    found = []
    for preset in presets:
        if preset.id in seen:
            reason = f"two presets have the id `{preset.id}`"
            found.append(codes.MALFORMED_ROSTER.at(source=label, reason=reason))
        seen.add(preset.id)
    return found
