"""`brenner roster`: show and check the roster of a session, and list the presets.

Commands that start a session or a round use its options (`roster_options`).
"""

from __future__ import annotations

import functools
import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import click

from brenner.cli.io import STANDARD_INPUT, read_text
from brenner.cli.mail.show import labelled_lines
from brenner.cli.options import (
    EXIT_INVALID,
    EXIT_OK,
    EXIT_USAGE,
    ONE_SECTION,
    LazyGroup,
    Settings,
    common_options,
    examples,
    group_options,
)
from brenner.cli.output import JsonCommand, count_by_severity, styled, write_diagnostics, write_json
from brenner.cli.table import DisplayRow, TableColumn, table
from brenner.cli.terminal import QUIET, STRONG, Span, agent_span, fold, format_hint, format_message
from brenner.cli.workspace import location_label
from brenner.config import Project, find_project
from brenner.diagnostics.codes import sessions as codes
from brenner.diagnostics.model import ERROR, Diagnostic, Summary
from brenner.protocol.roster import RosterEntry, ValidationResult
from brenner.protocol.roster_config import entry_json, preset_json, roster_json
from brenner.services.rosters import (
    RosterRequest,
    check_roster_text,
    list_presets,
    resolve_roster,
)
from brenner.text import escape_control, joined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from brenner.protocol.roster import RosterPreset
    from brenner.protocol.roster_resolve import ResolvedRoster, RosterOrigin
    from brenner.services.rosters import ListedPreset

COMMANDS = {
    "presets": (ONE_SECTION, "brenner.cli.roster", "presets", "List the presets."),
    "show": (ONE_SECTION, "brenner.cli.roster", "show", "Show the roster for a new session."),
    "validate": (ONE_SECTION, "brenner.cli.roster", "validate", "Check a roster."),
}


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    epilog=examples(
        "brenner roster show --to BlueLake --role test_designer",
        "brenner roster validate roster.json",
        "brenner roster presets",
    ),
)
@group_options
def command() -> None:
    """Show which agent has which role.

    A roster gives each agent one role: hypothesis_generator, test_designer or adversarial_critic.
    It comes from options, the environment, a project file or a preset. The first source that names
    an agent decides. `session start` accepts the same options.
    """


# Shared by the roster commands


ROSTER_LABEL = "roster"


def resolve_for_command(settings: Settings, wish: RosterRequest) -> tuple[Project, ResolvedRoster]:
    """Resolve the roster from the options. A preset without recipients is shown, not refused."""
    project = find_project(settings.project, os.environ, settings.store)
    resolved = resolve_roster(project, os.environ, wish)
    if has_unassigned_places(resolved):
        found = [e for e in resolved.diagnostics if e.code != codes.PRESET_RECIPIENT_COUNT]
        resolved = resolved._replace(diagnostics=tuple(found))
    return project, resolved


def has_unassigned_places(resolved: ResolvedRoster) -> bool:
    """Return whether there is a preset but no recipients for its places."""
    preset = resolved.preset
    return preset is not None and not resolved.recipients and not preset.placeholder_names


def roster_exit_code(found: Iterable[Diagnostic]) -> int:
    """Return 2 if a source cannot be read, 1 for any other error, else 0."""
    errors = [each for each in found if each.severity is ERROR]
    if any(each.code == codes.MALFORMED_ROSTER for each in errors):
        return EXIT_USAGE
    return EXIT_INVALID if errors else EXIT_OK


def verdict_json(found: Sequence[Diagnostic]) -> dict[str, object]:
    """Return `valid`, `summary` and `violations`, as in all documents."""
    summary = Summary.of(found)
    return {
        "valid": not summary.errors,
        "summary": summary._asdict(),
        "violations": [each.to_json() for each in found],
    }


def write_problems(project: Project, found: Iterable[Diagnostic], stream: TextIO) -> None:
    for each in project.diagnostics:
        write_diagnostics([each], location_label(each.id), stream)
    write_diagnostics(found, ROSTER_LABEL, stream)


def write_verdict(name: str, found: Sequence[Diagnostic]) -> None:
    """Write a verdict such as `roster.json: valid: 1 warning`."""
    out, summary = sys.stdout, Summary.of(found)
    word, colour = ("not valid", "magenta") if summary.errors else ("valid", "green")
    shown = styled(word, out, fg=colour, bold=True)
    out.write(f"{escape_control(name)}: {shown}: {count_by_severity(summary)}\n")


def without_backticks(label: str) -> str:
    """Return a label without backticks, for use outside a sentence."""
    return label.replace("`", "")


# `brenner roster presets`


_INDENT = "    "
_PRESET_COLUMNS = (
    TableColumn("Preset", min_width=10),
    TableColumn("For", min_width=9),
    TableColumn("Role", min_width=20),
    TableColumn("Program", min_width=8),
    TableColumn("Model", min_width=8),
)


@click.command(
    "presets",
    cls=JsonCommand,
    json_defaults={"presets": []},
    epilog=examples(
        "brenner roster presets",
        "brenner roster show --preset default-3-agent --to Ada --to Ben --to Cleo",
    ),
)
@common_options
def presets(settings: Settings) -> int:
    """List the presets: rosters without names.

    Use a preset with `--preset ID`. Its roles go to the agents of --to, in order.
    """
    project = find_project(settings.project, os.environ, settings.store)
    listed, problems = list_presets(project)
    found = (*project.diagnostics, *problems)
    if settings.as_json:
        documents = [
            preset_json(preset) | {"source": without_backticks(label), "default": is_default}
            for preset, label, is_default in listed
        ]
        write_json({"presets": documents} | verdict_json(found))
    else:
        write_problems(project, problems, sys.stderr)
        sys.stdout.writelines(_preset_lines(listed))
    return roster_exit_code(found)


def _preset_lines(listed: tuple[ListedPreset, ...]) -> Iterator[str]:
    out = sys.stdout
    for preset, label, is_default in listed:
        about = without_backticks(label) + "; the default" * is_default
        named = [Span(_escape_text(preset.name)), Span(f"  ({about})", QUIET)]
        yield fold([Span(preset.id, STRONG), Span("  ")], named, _INDENT, out)
        if preset.description:
            yield fold([Span(_INDENT)], [Span(_escape_text(preset.description))], _INDENT, out)
    yield "\n"
    yield from table(
        _PRESET_COLUMNS, [row for preset, *_ in listed for row in _preset_rows(preset)], out
    )


def _preset_rows(preset: RosterPreset) -> Iterator[DisplayRow]:
    """Yield the places of a preset, with the names that it suggests, if any."""
    for number, place in enumerate(preset.entries):
        named = preset.placeholder_names[number : number + 1] or ("--to NAME",)
        others = [[Span(text or "")] for text in (*named, place.role, place.program, place.model)]
        yield DisplayRow(([Span(preset.id if number == 0 else "")], *others))


# The options that define a roster


_ORDER_KEY = "brenner.recipients"
_TO, _ROLE = "to", "role"


class _OrderedOption(click.Option):
    """An option that records the order of `--to` and `--role` on the command line.

    Each `--role` belongs to the `--to` before it, but click keeps the order of each option alone.
    """

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        super().add_to_parser(parser, ctx)
        parse = parser.parse_args

        def noting(args: list[str]) -> Any:
            values, rest, order = parse(args)
            ctx.meta[_ORDER_KEY] = [each.name for each in order if each.name in (_TO, _ROLE)]
            return values, rest, order

        parser.parse_args = noting


_ROSTER_OPTIONS = (
    click.option(
        "--to",
        cls=_OrderedOption,
        multiple=True,
        metavar="NAME",
        help="Participant; repeatable.",
    ),
    click.option("--role", multiple=True, metavar="ROLE", help="Role of the --to before it."),
    click.option(
        "--agent-role", multiple=True, metavar="NAME=ROLE", help="Role of one agent; repeatable."
    ),
    click.option("--roster", metavar="JSON|@FILE", help="Complete roster."),
    click.option("--preset", metavar="ID", help="Preset; `brenner roster presets` lists them."),
    click.option("--unified", is_flag=True, help="Send the same prompt to all roles."),
)


def roster_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the roster options to a command, which gets them as its argument `wish`."""

    @functools.wraps(function)
    def command(*args: object, **options: Any) -> Any:
        recipients = _pair_roles(options.pop(_TO), options.pop(_ROLE))
        wish = RosterRequest(
            roster=options.pop("roster"),
            agent_roles=options.pop("agent_role"),
            recipients=recipients,
            preset=options.pop("preset"),
            unified=options.pop("unified"),
        )
        return function(*args, wish=wish, **options)

    for option in reversed(_ROSTER_OPTIONS):
        command = option(command)
    return command


def _pair_roles(names: Sequence[str], roles: Sequence[str]) -> tuple[tuple[str, str | None], ...]:
    """Return each name with the role after it. Refuse a role without a name."""
    context = click.get_current_context()
    paired: list[tuple[str, str | None]] = []
    name, role = iter(names), iter(roles)
    for kind in context.meta.get(_ORDER_KEY, ()):
        if kind == _TO:
            paired.append((next(name), None))
            continue
        value = next(role)
        if not paired:
            _refuse_role(value, "it comes before the first --to", context)
        to, before = paired[-1]
        if before is not None:
            _refuse_role(
                value,
                f"--to {escape_control(to)} already has the role {escape_control(before)}",
                context,
            )
        paired[-1] = (to, value)
    return tuple(paired)


def _refuse_role(role: str, reason: str, context: click.Context) -> NoReturn:
    message = f"--role {escape_control(role)} must follow its own --to NAME: {reason}."
    raise click.UsageError(message, context)


# `brenner roster show`


_SHOW_COLUMNS = (
    TableColumn("Agent", min_width=10),
    TableColumn("Role", min_width=20),
    TableColumn("Program", min_width=8),
    TableColumn("Model", min_width=8),
    TableColumn("Source", min_width=24),
)
_EXAMPLE = (
    "To try one: `brenner roster show --to NAME --role ROLE`. To keep it: `[roster]` in "
    "`brenner.toml`."
)


@click.command(
    "show",
    cls=JsonCommand,
    json_defaults={"roster": None, "recipients": [], "entries": [], "origins": {}, "preset": None},
    epilog=examples(
        "brenner roster show",
        "brenner roster show --to BlueLake --role test_designer",
        "brenner roster show --roster @roster.json --unified",
    ),
)
@roster_options
@common_options
def show(settings: Settings, wish: RosterRequest) -> int:
    """Show the roster of a new session, and the source of each entry.

    Use it before `session start`, with the same options. Nothing is sent.
    """
    project, resolved = resolve_for_command(settings, wish)
    found = (*project.diagnostics, *resolved.diagnostics)
    if settings.as_json:
        write_json(_show_document(resolved) | verdict_json(found))
    else:
        write_problems(project, resolved.diagnostics, sys.stderr)
        sys.stdout.writelines(_show_lines(resolved))
    return roster_exit_code(found)


def _show_document(resolved: ResolvedRoster) -> dict[str, object]:
    origins = resolved.origins
    entries = [
        {**entry_json(entry), **_origin_document(origins[entry.agent_name])}
        for entry in resolved.roster.entries
    ]
    return {
        "roster": roster_json(resolved.roster),
        "recipients": list(resolved.recipients),
        "entries": entries,
        "origins": {field: _origin_document(each) for field, each in resolved.header.items()},
        "preset": preset_json(resolved.preset) if resolved.preset else None,
    }


def _origin_document(origin: RosterOrigin) -> dict[str, str]:
    return {"source": str(origin.source), "from": without_backticks(origin.label)}


def _show_lines(resolved: ResolvedRoster) -> Iterator[str]:
    out, entries = sys.stdout, resolved.roster.entries
    rows = [
        _entry_row(agent_span(name), entry, without_backticks(resolved.origins[name].label))
        for entry in entries
        for name in (entry.agent_name,)
    ]
    if has_unassigned_places(resolved) and resolved.preset:
        unnamed, source = Span("--to NAME", QUIET), f"preset {resolved.preset.id}"
        rows = [_entry_row(unnamed, place, source) for place in resolved.preset.entries]
    if not rows:
        if not resolved.errors:
            yield format_message("No roster yet.", out)
            yield format_hint(_EXAMPLE, out)
        return
    yield from labelled_lines(_header_fields(resolved), out)
    yield "\n"
    yield from table(_SHOW_COLUMNS, rows, out)
    for entry in entries:
        if entry.notes is not None:
            start = [Span("  "), agent_span(entry.agent_name), Span(": ")]
            yield fold(start, [Span(_escape_text(entry.notes))], "    ", out)


def _header_fields(resolved: ResolvedRoster) -> list[tuple[str, list[Span]]]:
    """Return mode, name and time with their sources. Add recipients that differ from the roster."""
    roster = resolved.roster
    headers: tuple[tuple[str, str, str | None], ...] = (
        ("Mode", "mode", roster.mode),
        ("Name", "name", roster.name),
        ("Created", "created_at", roster.created_at),
    )
    fields = [
        (label, [Span(_escape_text(text)), _origin_span(resolved.header.get(field))])
        for label, field, text in headers
        if text is not None
    ]
    if set(resolved.recipients) != set(roster.names):
        fields.append(("Recipients", [Span(joined(resolved.recipients))]))
    return fields


def _origin_span(origin: RosterOrigin | None) -> Span:
    return Span(f"  ({without_backticks(origin.label) if origin else 'the default'})", QUIET)


def _entry_row(name: Span, entry: RosterEntry, source: str) -> DisplayRow:
    others = [[Span(text or "")] for text in (entry.role, entry.program, entry.model)]
    return DisplayRow(([name], *others, [Span(source, QUIET)]))


def _escape_text(text: str) -> str:
    """Escape a text of the roster on one line, without cutting it."""
    return escape_control(text, len(text) + 1)


# `brenner roster validate`


@click.command(
    "validate",
    cls=JsonCommand,
    json_defaults={"file": None},
    epilog=examples(
        "brenner roster validate roster.json",
        "brenner roster validate",
        "brenner roster validate --preset default-3-agent --to Ada --to Ben --to Cleo",
    ),
)
@click.argument("file", required=False, metavar="[FILE|-]")
@roster_options
@common_options
def validate(settings: Settings, wish: RosterRequest, file: str | None) -> int:
    """Check the roster in FILE (JSON or TOML), or the roster of a new session.

    FILE contains a list of entries, a roster, or project settings with a roster. With -, standard
    input is read. Nothing is sent.
    """
    if file is not None:
        return _validate_file(settings, wish, file)
    project, resolved = resolve_for_command(settings, wish)
    found = (*project.diagnostics, *resolved.diagnostics)
    if settings.as_json:
        write_json({"file": None} | verdict_json(found))
    else:
        write_problems(project, resolved.diagnostics, sys.stdout)
        write_verdict(ROSTER_LABEL, found)
    return roster_exit_code(found)


def _validate_file(settings: Settings, wish: RosterRequest, file: str) -> int:
    if wish != RosterRequest():
        message = "FILE cannot be used with roster options."
        raise click.UsageError(message)
    shown = "<stdin>" if file == STANDARD_INPUT else file
    text = read_text(file)
    if isinstance(text, Diagnostic):
        result, refusal = ValidationResult.of([text]), EXIT_USAGE
    else:
        result, refusal = check_roster_text(text, f"`{shown}`"), EXIT_INVALID
    if settings.as_json:
        write_json({"file": file} | verdict_json(result.violations))
    else:
        write_diagnostics(result.violations, shown, sys.stdout)
        write_verdict(shown, result.violations)
    return EXIT_OK if result.valid else refusal
