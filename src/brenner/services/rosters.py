"""The roster of a session, from everything that is said of it: flags, environment, files."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from brenner.config import SETTINGS_FILE, Project
from brenner.diagnostics.codes import sessions as codes
from brenner.diagnostics.model import ERROR, Diagnostic
from brenner.protocol.roster import (
    BUILT_IN,
    Mode,
    Roster,
    RosterPreset,
    Stated,
    ValidationResult,
    find_preset,
    stated_faults,
    validate_roster,
)
from brenner.protocol.roster_config import (
    Recipient,
    RosterSettings,
    decode_either,
    decode_json,
    decode_toml,
    flag_layers,
    has_roster,
    in_the_file,
    in_words,
    read_roster,
    read_settings,
    read_stated,
    unknown_keys,
    unread_keys,
)
from brenner.protocol.roster_resolve import Choice, Claims, Layer, Origin, Resolved, Source, resolve

# The files that rosters stand in: those that are named, and those of a project.


# Where one may not look, os.path says no and pathlib raises.
# ruff: noqa: PTH113, PTH118


CONFIG_TS = "brenner.config.ts"
_PYPROJECT, _RC = "pyproject.toml", ".brennerrc"
_TOP = ("roster", "presets")
_MOST_BYTES = 1024 * 1024


def read_value(said: str, source: str) -> object:
    """A roster as a flag or a variable gives it: JSON, or `@` and the name of a file.

    A `Diagnostic` where it cannot be read.
    """
    if said.startswith("@"):
        named = f"{source} (`{said}`)"
        text = text_of(said[1:], named)
        return text if isinstance(text, Diagnostic) else decode_either(text, named)
    value = decode_json(said, source)
    if isinstance(value, Diagnostic) and said.lstrip()[:1] not in ("[", "{"):
        reason = f"`{said}` is neither a list nor an object; a file is written as `@FILE`"
        return codes.MALFORMED_ROSTER.at(source=source, reason=reason)
    return value


def text_of(path: str, source: str) -> str | Diagnostic:
    """The text of a file."""
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
        return _malformed(source, "that is not the name of a file")


def project_settings(folder: Path) -> RosterSettings | None:
    """What the project says of rosters: the first of its three files that says anything."""
    for name, decode in _FILES.items():
        path = os.path.join(folder, name)
        if not os.path.isfile(path):
            continue
        label = f"`{name}`"
        text = text_of(path, label)
        tables = text if isinstance(text, Diagnostic) else decode(text, label)
        if isinstance(tables, Diagnostic):
            return RosterSettings(label, found=(tables,))
        if isinstance(tables, Mapping) and has_roster(tables):
            odd = () if name == SETTINGS_FILE else unknown_keys(tables, _TOP, label)
            settings = read_settings(tables, label)
            found = in_words((*settings.found, *odd), text if isinstance(text, str) else "")
            return settings._replace(found=found)
    return None


def has_config_ts(folder: Path) -> bool:
    """Whether there is a program that other implementations would take the roster from."""
    return os.path.lexists(os.path.join(folder, CONFIG_TS))


def _in_pyproject(text: str, label: str) -> object:
    """`[tool.brenner]`. A file that does not name us is not read: it may be anything."""
    tables = decode_toml(text, label) if "brenner" in text else {}
    if isinstance(tables, Diagnostic):
        return tables
    tool = tables.get("tool")
    return tool.get("brenner") if isinstance(tool, Mapping) else None


_FILES: dict[str, Callable[[str, str], object]] = {
    SETTINGS_FILE: decode_toml,
    _PYPROJECT: _in_pyproject,
    _RC: decode_either,
}


def _malformed(source: str, reason: str) -> Diagnostic:
    return codes.MALFORMED_ROSTER.at(source=source, reason=reason)


_VARIABLE = "BRENNER_ROSTER"
_MODE, _NAME, _PRESET = f"{_VARIABLE}_MODE", f"{_VARIABLE}_NAME", f"{_VARIABLE}_PRESET"


class RosterWish(NamedTuple):
    """What somebody asks for: the flags of a command, or the fields of a form.

    `roster` is JSON or `@file`; `agent_roles` are `NAME=ROLE`; `recipients` are the names to send
    to, each with the role that was given with it. `session` is a roster that a program hands in, or
    the part of one that somebody has said just now, in a form or a request.
    """

    roster: str | None = None
    agent_roles: tuple[str, ...] = ()
    recipients: tuple[Recipient, ...] = ()
    preset: str | None = None
    unified: bool = False
    session: Roster | Stated | None = None


class _Part(NamedTuple):
    """What one source says."""

    layers: tuple[Layer, ...] = ()
    choices: tuple[Choice, ...] = ()
    found: tuple[Diagnostic, ...] = ()


class ListedPreset(NamedTuple):
    """A preset, where it comes from, and whether the project takes it unless told otherwise."""

    preset: RosterPreset
    label: str
    is_default: bool


def resolve_roster(project: Project, environ: Mapping[str, str], wish: RosterWish) -> Resolved:
    """The roster that comes of all sources; what is wrong is among its diagnostics.

    Where a source cannot be read nothing is resolved: half a roster would be taken for the whole.
    """
    settings = project_settings(project.folder) or RosterSettings("")
    parts = (_flags(wish), _environment(environ), _session(wish), _project(settings))
    found = [each for part in parts for each in part.found]
    if has_config_ts(project.folder):
        found.append(codes.CONFIG_TS_NOT_RUN.at(path=CONFIG_TS))
    recipients = tuple(name for name, _ in wish.recipients)
    if any(each.severity is ERROR for each in found):
        return Resolved(Roster(()), {}, recipients, tuple(found))
    claims = Claims(
        tuple(layer for part in parts for layer in part.layers),
        recipients,
        tuple(choice for part in parts for choice in part.choices),
        {each.preset.id: each.preset for each in _listed(settings)},
    )
    resolved = resolve(claims)
    return resolved._replace(diagnostics=(*resolved.diagnostics, *found))


def list_presets(project: Project) -> tuple[tuple[ListedPreset, ...], tuple[Diagnostic, ...]]:
    """Every preset that can be asked for, and what is wrong in the project's file."""
    settings = project_settings(project.folder) or RosterSettings("")
    return _listed(settings), settings.found


def check_roster_text(text: str, source: str) -> ValidationResult:
    """Whether a text is a roster that can be used, or a project's file with one in it."""
    value = decode_either(text, source)
    if isinstance(value, Diagnostic):
        return ValidationResult.of([value])
    if has_roster(value) and isinstance(value, Mapping):
        settings = read_settings(value, source)
        found = [*settings.found, *stated_faults(settings.stated)]
        return ValidationResult.of(in_the_file(found, text))
    roster = read_roster(value, source)
    faults = validate_roster(roster).violations if isinstance(roster, Roster) else roster
    return ValidationResult.of(in_the_file([*faults, *unread_keys(value, source)], text))


class ProjectRoster(NamedTuple):
    """What a project's file says of rosters. `label` is the file, in words, if any says it."""

    label: str | None
    agents: int
    presets: int
    found: tuple[Diagnostic, ...]


def look_at_project_roster(project: Project) -> ProjectRoster:
    """What the project's file says, with everything that is wrong in it, whoever is named."""
    settings = project_settings(project.folder)
    if settings is None:
        return ProjectRoster(None, 0, 0, ())
    found = [*settings.found, *stated_faults(settings.stated)]
    if settings.default is not None and not any(each.is_default for each in _listed(settings)):
        known = {each.preset.id: each.preset for each in _listed(settings)}
        missing = find_preset(settings.default, known)
        found += [missing] if isinstance(missing, Diagnostic) else []
    return ProjectRoster(
        settings.label, len(settings.stated.entries), len(settings.presets), tuple(found)
    )


def _listed(settings: RosterSettings) -> tuple[ListedPreset, ...]:
    """The built-in ones, unless the project has its own of that id, and the project's."""
    own = {preset.id: ListedPreset(preset, settings.label, False) for preset in settings.presets}
    known = {preset.id: ListedPreset(preset, "built in", False) for preset in BUILT_IN} | own
    return tuple(
        each._replace(is_default=each.preset.id == settings.default) for each in known.values()
    )


def _flags(wish: RosterWish) -> _Part:
    layers, found = flag_layers(wish.recipients, wish.agent_roles, unified=wish.unified)
    origin = Origin(Source.FLAGS, "`--roster`")
    given = _given(wish.roster, origin)
    chosen = _chosen(wish.preset, Origin(Source.FLAGS, "`--preset`"))
    return _Part((*layers, *given.layers), chosen, (*found, *given.found))


def _environment(environ: Mapping[str, str]) -> _Part:
    """An empty variable is as none. `…_MODE` and `…_NAME` beat what `BRENNER_ROSTER` says."""
    layers: list[Layer] = []
    found: list[Diagnostic] = []
    for variable, field in ((_MODE, "mode"), (_NAME, "name")):
        origin = Origin(Source.ENVIRONMENT, f"`{variable}`")
        stated = read_stated({field: environ.get(variable) or None}, origin.label)
        if not isinstance(stated, Stated):
            found += stated
        elif stated != Stated():
            layers.append(Layer(origin, stated, Source.ENVIRONMENT))
    given = _given(environ.get(_VARIABLE) or None, Origin(Source.ENVIRONMENT, f"`{_VARIABLE}`"))
    chosen = _chosen(environ.get(_PRESET) or None, Origin(Source.ENVIRONMENT, f"`{_PRESET}`"))
    ours = {key: environ[key] for key in environ if key.startswith(f"{_VARIABLE}_")}
    odd = unknown_keys(ours, (_MODE, _NAME, _PRESET), "the environment")
    return _Part((*layers, *given.layers), chosen, (*found, *given.found, *odd))


def _given(said: str | None, origin: Origin) -> _Part:
    """A roster that was typed, or whose file was."""
    if said is None:
        return _Part()
    value = read_value(said, origin.label)
    if isinstance(value, Diagnostic):
        return _Part(found=(value,))
    stated = read_stated(value, origin.label)
    if not isinstance(stated, Stated):
        return _Part(found=stated)
    found = list(unread_keys(value, origin.label))
    if not stated.entries and stated.mode != Mode.HEURISTIC:
        found.append(codes.EMPTY_ROSTER.at(source=f" from {origin.label}"))
    return _Part((Layer(origin, stated, origin.source),), (), tuple(found))


def _session(wish: RosterWish) -> _Part:
    """What the session has of its own. Who has typed it just now is told if it has no effect."""
    if wish.session is None:
        return _Part()
    origin = Origin(Source.SESSION, "the session")
    if isinstance(wish.session, Stated):
        return _Part((Layer(origin, wish.session, Source.SESSION),))
    stated = Stated(*wish.session)
    is_nobody = not stated.entries and stated.mode != Mode.HEURISTIC
    found = (codes.EMPTY_ROSTER.at(source=f" from {origin.label}"),) if is_nobody else ()
    return _Part((Layer(origin, stated),), (), found)


def _project(settings: RosterSettings) -> _Part:
    origin = Origin(Source.PROJECT, settings.label)
    layers = (Layer(origin, settings.stated),) if settings.stated != Stated() else ()
    label = f"`defaultPreset` in {settings.label}"
    return _Part(layers, _chosen(settings.default, Origin(Source.PROJECT, label)), settings.found)


def _chosen(preset: str | None, origin: Origin) -> tuple[Choice, ...]:
    return () if preset is None else (Choice(preset, origin),)
