"""Resolve the roster of a session from flags, environment, session and project files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from brenner.config import SETTINGS_FILE, Project
from brenner.diagnostics.codes import sessions as codes
from brenner.diagnostics.model import ERROR, Diagnostic
from brenner.named_tuple import NamedTuple
from brenner.protocol.roster import (
    BUILT_IN_PRESETS,
    Mode,
    PartialRoster,
    Roster,
    RosterPreset,
    ValidationResult,
    check_partial_roster,
    find_preset,
    full_role,
    validate_roster,
)
from brenner.protocol.roster_config import (
    RecipientFlag,
    RosterSettings,
    add_lines,
    add_lines_to_messages,
    decode_json,
    decode_json_or_toml,
    decode_toml,
    flag_layers,
    has_roster,
    read_partial_roster,
    read_roster,
    read_roster_settings,
    unknown_keys,
    unknown_roster_keys,
)
from brenner.protocol.roster_resolve import (
    PresetChoice,
    ResolvedRoster,
    RosterLayer,
    RosterOrigin,
    RosterSource,
    resolve_inputs,
)

if TYPE_CHECKING:
    from pathlib import Path

# The files that contain rosters: given ones, and those of a project

# In a folder without access os.path returns False, but pathlib raises.
# ruff: noqa: PTH113, PTH118


CONFIG_TS = "brenner.config.ts"
_PYPROJECT, _RC_FILE = "pyproject.toml", ".brennerrc"
_TOP_KEYS = ("roster", "presets")
_MOST_BYTES = 1024 * 1024


def read_roster_value(given: str, source: str) -> object:
    """Read a roster from a flag or a variable: JSON, or `@` and the name of a file.

    Return a `Diagnostic` if it cannot be read.
    """
    if given.startswith("@"):
        named = f"{source} (`{given}`)"
        text = read_text(given[1:], named)
        return text if isinstance(text, Diagnostic) else decode_json_or_toml(text, named)
    value = decode_json(given, source)
    if isinstance(value, Diagnostic) and given.lstrip()[:1] not in ("[", "{"):
        reason = f"`{given}` is neither a list nor an object; write a file as `@FILE`"
        return codes.MALFORMED_ROSTER.at(source=source, reason=reason)
    return value


def read_text(path: str, source: str) -> str | Diagnostic:
    try:
        with open(path, "rb") as file:  # noqa: PTH123  (a name may be no path at all)
            raw = file.read(_MOST_BYTES + 1)
        if len(raw) > _MOST_BYTES:
            return _malformed(source, f"it is larger than {_MOST_BYTES:,} bytes")
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        return _malformed(source, f"it is not UTF-8 (line {line})")
    except OSError as error:
        return _malformed(source, (error.strerror or type(error).__name__).lower())
    except ValueError:
        return _malformed(source, "it is not a valid file name")


def read_project_settings(folder: Path) -> RosterSettings | None:
    """Return the project's roster settings: from the first of its three files that has any."""
    for name, decode in _FILES.items():
        path = os.path.join(folder, name)
        if not os.path.isfile(path):
            continue
        label = f"`{name}`"
        text = read_text(path, label)
        tables = text if isinstance(text, Diagnostic) else decode(text, label)
        if isinstance(tables, Diagnostic):
            return RosterSettings(label, found=(tables,))
        if isinstance(tables, Mapping) and has_roster(tables):
            odd = () if name == SETTINGS_FILE else unknown_keys(tables, _TOP_KEYS, label)
            settings = read_roster_settings(tables, label)
            found = add_lines_to_messages(
                (*settings.found, *odd), text if isinstance(text, str) else ""
            )
            return settings._replace(found=found)
    return None


def has_config_ts(folder: Path) -> bool:
    """Return whether there is a `brenner.config.ts`, which other implementations run."""
    return os.path.lexists(os.path.join(folder, CONFIG_TS))


def _in_pyproject(text: str, label: str) -> object:
    """Return `[tool.brenner]`. A file that does not contain our name is not parsed."""
    tables = decode_toml(text, label) if "brenner" in text else {}
    if isinstance(tables, Diagnostic):
        return tables
    tool = tables.get("tool")
    return tool.get("brenner") if isinstance(tool, Mapping) else None


_FILES: dict[str, Callable[[str, str], object]] = {
    SETTINGS_FILE: decode_toml,
    _PYPROJECT: _in_pyproject,
    _RC_FILE: decode_json_or_toml,
}


def _malformed(source: str, reason: str) -> Diagnostic:
    return codes.MALFORMED_ROSTER.at(source=source, reason=reason)


_VARIABLE = "BRENNER_ROSTER"
_MODE, _NAME, _PRESET = f"{_VARIABLE}_MODE", f"{_VARIABLE}_NAME", f"{_VARIABLE}_PRESET"


class RosterRequest(NamedTuple):
    """The requested roster: the flags of a command, or the fields of a form.

    `roster` is JSON or `@file`; `agent_roles` are `NAME=ROLE`. `recipients` are the names to send
    to, each with its given role. `session` is a roster from a program, or a partial one from a form
    or a request.
    """

    roster: str | None = None
    agent_roles: tuple[str, ...] = ()
    recipients: tuple[RecipientFlag, ...] = ()
    preset: str | None = None
    unified: bool = False
    session: Roster | PartialRoster | None = None


_Claims = Iterator[RosterLayer | PresetChoice | Diagnostic]
"""What one source says: partial rosters, a preset, and what is wrong with them."""


# A preset, where it comes from, and whether it is the project's default
ListedPreset = tuple[RosterPreset, str, bool]


def resolve_roster(
    project: Project, environ: Mapping[str, str], request: RosterRequest
) -> ResolvedRoster:
    """Return the roster resolved from all sources, with its diagnostics.

    If a source cannot be read, nothing is resolved: a partial roster would look complete.
    """
    settings = read_project_settings(project.folder) or RosterSettings("")
    claims = (
        *_from_flags(request),
        *_from_environment(environ),
        *_from_session(request),
        *_from_project(settings),
    )
    found = [each for each in claims if isinstance(each, Diagnostic)]
    if has_config_ts(project.folder):
        found.append(codes.CONFIG_TS_NOT_RUN.at(path=CONFIG_TS))
    recipients = tuple(name for name, _ in request.recipients)
    if any(each.severity is ERROR for each in found):
        return ResolvedRoster(Roster(()), {}, recipients, tuple(found))
    resolved = resolve_inputs(
        tuple(each for each in claims if isinstance(each, RosterLayer)),
        recipients,
        tuple(each for each in claims if not isinstance(each, RosterLayer | Diagnostic)),
        {preset.id: preset for preset, *_ in _all_presets(settings)},
    )
    return resolved._replace(diagnostics=(*resolved.diagnostics, *found))


def list_presets(project: Project) -> tuple[tuple[ListedPreset, ...], tuple[Diagnostic, ...]]:
    settings = read_project_settings(project.folder) or RosterSettings("")
    return _all_presets(settings), settings.found


def check_roster_text(text: str, source: str) -> ValidationResult:
    """Check a text that is a roster, or a project's file that contains one."""
    value = decode_json_or_toml(text, source)
    if isinstance(value, Diagnostic):
        return ValidationResult.of([value])
    if has_roster(value) and isinstance(value, Mapping):
        settings = read_roster_settings(value, source)
        found = [*settings.found, *check_partial_roster(settings.stated)]
        return ValidationResult.of(add_lines(found, text))
    roster = read_roster(value, source)
    faults = validate_roster(roster).violations if isinstance(roster, Roster) else roster
    return ValidationResult.of(add_lines([*faults, *unknown_roster_keys(value, source)], text))


def inspect_project_roster(project: Project) -> RosterSettings | None:
    """Return the roster settings of the project's file, with all their faults."""
    settings = read_project_settings(project.folder)
    if settings is None:
        return None
    found = [*settings.found, *check_partial_roster(settings.stated)]
    if settings.default is not None:
        known = {preset.id: preset for preset, *_ in _all_presets(settings)}
        default = find_preset(settings.default, known)
        found += [default] if isinstance(default, Diagnostic) else []
    return settings._replace(found=tuple(found))


def _all_presets(settings: RosterSettings) -> tuple[ListedPreset, ...]:
    """Return the project's presets, and the built-in ones with other ids."""
    labels = [(each, "built in") for each in BUILT_IN_PRESETS]
    labels += [(each, settings.label) for each in settings.presets]
    known = {preset.id: (preset, label, preset.id == settings.default) for preset, label in labels}
    return tuple(known.values())


def _from_flags(request: RosterRequest) -> _Claims:
    layers, found = flag_layers(request.recipients, request.agent_roles, unified=request.unified)
    yield from (*layers, *found)
    yield from _read_given(request.roster, RosterOrigin(RosterSource.FLAGS, "`--roster`"))
    if request.preset is not None:
        yield request.preset, RosterOrigin(RosterSource.FLAGS, "`--preset`")


def _from_environment(environ: Mapping[str, str]) -> _Claims:
    """Yield the claims of the environment. An empty variable counts as unset.

    `…_MODE` and `…_NAME` override `BRENNER_ROSTER`.
    """
    source = RosterSource.ENVIRONMENT
    for variable, field in ((_MODE, "mode"), (_NAME, "name")):
        origin = RosterOrigin(source, f"`{variable}`")
        stated = read_partial_roster({field: environ.get(variable) or None}, origin.label)
        if not isinstance(stated, PartialRoster):
            yield from stated
        elif stated != PartialRoster():
            yield RosterLayer(origin, stated, source)
    yield from _read_given(environ.get(_VARIABLE) or None, RosterOrigin(source, f"`{_VARIABLE}`"))
    if environ.get(_PRESET):
        yield environ[_PRESET], RosterOrigin(source, f"`{_PRESET}`")
    ours = {key: environ[key] for key in environ if key.startswith(f"{_VARIABLE}_")}
    yield from unknown_keys(ours, (_MODE, _NAME, _PRESET), "the environment")


def _read_given(given: str | None, origin: RosterOrigin) -> _Claims:
    if given is None:
        return
    value = read_roster_value(given, origin.label)
    if isinstance(value, Diagnostic):
        yield value
        return
    stated = read_partial_roster(value, origin.label)
    if not isinstance(stated, PartialRoster):
        yield from stated
        return
    yield from unknown_roster_keys(value, origin.label)
    yield from _check_not_empty(stated, origin)
    yield RosterLayer(origin, stated, origin.source)


def _check_not_empty(stated: PartialRoster, origin: RosterOrigin) -> Iterator[Diagnostic]:
    if not stated.entries and stated.mode != Mode.HEURISTIC:
        yield codes.EMPTY_ROSTER.at(source=f" from {origin.label}")


def _from_session(request: RosterRequest) -> _Claims:
    """Yield the claims of the session. A partial roster without effect is reported later."""
    if request.session is None:
        return
    origin = RosterOrigin(RosterSource.SESSION, "the session")
    entries = [each._replace(role=full_role(each.role)) for each in request.session.entries]
    stated = PartialRoster(*request.session)._replace(entries=tuple(entries))
    if isinstance(request.session, PartialRoster):
        yield RosterLayer(origin, stated, RosterSource.SESSION)
    else:
        yield from _check_not_empty(stated, origin)
        yield RosterLayer(origin, stated)


def _from_project(settings: RosterSettings) -> _Claims:
    if settings.stated != PartialRoster():
        yield RosterLayer(RosterOrigin(RosterSource.PROJECT, settings.label), settings.stated)
    if settings.default is not None:
        label = f"`defaultPreset` in {settings.label}"
        yield settings.default, RosterOrigin(RosterSource.PROJECT, label)
    yield from settings.found
