"""The roster of a session, from everything that is said of it: flags, environment, files."""

from collections.abc import Mapping
from typing import NamedTuple

from brenner.config import Project
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
    flag_layers,
    has_roster,
    in_the_file,
    read_roster,
    read_settings,
    read_stated,
    unknown_keys,
    unread_keys,
)
from brenner.protocol.roster_resolve import Choice, Claims, Layer, Origin, Resolved, Source, resolve
from brenner.workflows.roster_files import CONFIG_TS, has_config_ts, project_settings, read_value

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
