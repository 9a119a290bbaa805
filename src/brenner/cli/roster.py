"""`brenner roster`: who has which role, where that is said, and whether it can be used."""

import functools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NoReturn, TextIO

import click

from brenner.cli.io import STANDARD_INPUT, read_text
from brenner.cli.mail.show import labelled
from brenner.cli.options import Command, Commands, Settings, common_options, examples, group_options
from brenner.cli.output import Reporting, counted, styled, write_diagnostics, write_json
from brenner.cli.table import Column, Row, table
from brenner.cli.terminal import QUIET, STRONG, Span, advice, agent_piece, fold, joined, sentence
from brenner.cli.workspace import REFUSED, USAGE, place_of
from brenner.config import Project, find_project
from brenner.diagnostics.codes import sessions as codes
from brenner.diagnostics.model import ERROR, Diagnostic, Summary
from brenner.protocol.roster import PresetEntry, RosterEntry, ValidationResult
from brenner.protocol.roster_config import entry_json, preset_json, roster_json
from brenner.protocol.roster_resolve import Origin, Resolved
from brenner.services.rosters import (
    ListedPreset,
    RosterWish,
    check_roster_text,
    list_presets,
    resolve_roster,
)
from brenner.text import escape_control

COMMANDS = {
    "show": Command("brenner.cli.roster", "show", "Say who has which role, and where from."),
    "validate": Command("brenner.cli.roster", "validate", "Check a roster, send nothing."),
    "presets": Command("brenner.cli.roster", "presets", "List the presets."),
}


@click.group(
    cls=Commands,
    table=COMMANDS,
    epilog=examples(
        "brenner roster show --to BlueLake --role test_designer",
        "brenner roster validate roster.json",
        "brenner roster presets",
    ),
)
@group_options
def command() -> None:
    """Say who has which role, and why.

    A roster gives each agent one of three roles: hypothesis_generator, test_designer or
    adversarial_critic. It comes from flags, the environment, a project's file or a preset; the
    first that speaks of an agent counts. `session start` takes the same flags.
    """


# What the roster commands have in common: the question, the verdict, the exit code.


FINE = 0
HERE = "roster"


def project_of(settings: Settings) -> Project:
    """The project; no mail is needed."""
    return find_project(settings.project, os.environ, settings.store)


def resolved_here(settings: Settings, wish: RosterWish) -> tuple[Project, Resolved]:
    """What comes of the flags here. A preset for which nobody is named is shown, not refused."""
    project = project_of(settings)
    resolved = resolve_roster(project, os.environ, wish)
    if has_free_places(resolved):
        kept = (each for each in resolved.diagnostics if each.code != codes.PRESET_RECIPIENT_COUNT)
        resolved = resolved._replace(diagnostics=tuple(kept))
    return project, resolved


def has_free_places(resolved: Resolved) -> bool:
    """Whether there is a preset and nobody to give its places to."""
    preset = resolved.preset
    return preset is not None and not resolved.recipients and not preset.placeholder_names


def exit_code(found: Iterable[Diagnostic]) -> int:
    """2 where a source cannot be read, 1 for any other error."""
    errors = [each for each in found if each.severity is ERROR]
    if any(each.code == codes.MALFORMED_ROSTER for each in errors):
        return USAGE
    return REFUSED if errors else FINE


def verdict(found: Sequence[Diagnostic]) -> dict[str, object]:
    """`valid`, `summary` and `violations`, as in all documents."""
    summary = Summary.of(found)
    return {
        "valid": not summary.errors,
        "summary": summary._asdict(),
        "violations": [each.to_json() for each in found],
    }


def write_found(project: Project, found: Iterable[Diagnostic], stream: TextIO) -> None:
    """What is wrong in the project's settings, and with the roster."""
    for each in project.diagnostics:
        write_diagnostics([each], place_of(each.id), stream)
    write_diagnostics(found, HERE, stream)


def write_verdict(name: str, found: Sequence[Diagnostic]) -> None:
    """`roster.json: valid: 1 warning`."""
    out, summary = sys.stdout, Summary.of(found)
    word, colour = ("not valid", "magenta") if summary.errors else ("valid", "green")
    shown = styled(word, out, fg=colour, bold=True)
    out.write(f"{escape_control(name)}: {shown}: {counted(summary)}\n")


def without_ticks(label: str) -> str:
    """The words for a place, where no sentence stands around them."""
    return label.replace("`", "")


# `brenner roster presets`: the rosters without names that one can ask for.


_INDENT = "    "
_COLUMNS = (
    Column("Preset", least=10),
    Column("For", least=9),
    Column("Role", least=20),
    Column("Program", least=8),
    Column("Model", least=8),
)


@click.command("presets", cls=Reporting, always={"presets": []})
@common_options
def presets(settings: Settings) -> int:
    """List the presets, each with its places: rosters without names, for --preset ID.

    The places go to those named by --to, in order. Exit code 1 or 2: the project's file has a
    preset that is wrong, or cannot be read.
    """
    project = project_of(settings)
    listed, odd = list_presets(project)
    found = (*project.diagnostics, *odd)
    if settings.as_json:
        write_json({"presets": [_document(each) for each in listed]} | verdict(found))
    else:
        write_found(project, odd, sys.stderr)
        sys.stdout.writelines(_lines(listed))
    return exit_code(found)


def _document(listed: ListedPreset) -> dict[str, object]:
    about = {"source": without_ticks(listed.label), "default": listed.is_default}
    return {**preset_json(listed.preset), **about}


def _lines(listed: tuple[ListedPreset, ...]) -> Iterator[str]:
    out = sys.stdout
    for each in listed:
        preset = each.preset
        about = without_ticks(each.label) + "; the default" * each.is_default
        named = [Span(_whole(preset.name)), Span(f"  ({about})", QUIET)]
        yield fold([Span(preset.id, STRONG), Span("  ")], named, _INDENT, out)
        if preset.description:
            yield fold([Span(_INDENT)], [Span(_whole(preset.description))], _INDENT, out)
    yield "\n"
    yield from table(_COLUMNS, [row for each in listed for row in _rows(each)], out)


def _rows(listed: ListedPreset) -> Iterator[Row]:
    """Its places; the names where it has some of its own, and as many."""
    preset = listed.preset
    for number, place in enumerate(preset.entries):
        named = preset.placeholder_names[number : number + 1] or ("--to NAME",)
        others = [[Span(text or "")] for text in (*named, place.role, place.program, place.model)]
        yield Row(([Span(preset.id if number == 0 else "")], *others))


def _whole(text: str) -> str:
    return escape_control(text, len(text) + 1)


# The options with which a command is told who does what.
#
# Each `--role` belongs to the `--to` before it, so the order of the two matters; click keeps that
# of
# each option alone. What it found, and in which order, is noted where it parses.


_ORDER = "brenner.recipients"
_TO, _ROLE = "to", "role"


class _Ordered(click.Option):
    """An option that notes in which order its values and those of `--role` stood."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        super().add_to_parser(parser, ctx)
        parse = parser.parse_args

        def noting(args: list[str]) -> Any:
            values, rest, order = parse(args)
            ctx.meta[_ORDER] = [each.name for each in order if each.name in (_TO, _ROLE)]
            return values, rest, order

        parser.parse_args = noting


_OPTIONS = (
    click.option(
        "--to", cls=_Ordered, multiple=True, metavar="NAME", help="Who takes part; repeatable."
    ),
    click.option("--role", multiple=True, metavar="ROLE", help="The role of the --to before it."),
    click.option(
        "--agent-role", multiple=True, metavar="NAME=ROLE", help="The role of an agent; repeatable."
    ),
    click.option("--roster", metavar="JSON|@FILE", help="A whole roster."),
    click.option("--preset", metavar="ID", help="A roster without names, given out in order."),
    click.option("--unified", is_flag=True, help="One prompt for all, whatever their roles."),
)


def roster_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, which gets what they say as its argument `wish`."""

    @functools.wraps(function)
    def command(*args: object, **options: Any) -> Any:
        from brenner.services.rosters import RosterWish  # help needs no rosters

        recipients = _paired(options.pop(_TO), options.pop(_ROLE))
        wish = RosterWish(
            roster=options.pop("roster"),
            agent_roles=options.pop("agent_role"),
            recipients=recipients,
            preset=options.pop("preset"),
            unified=options.pop("unified"),
        )
        return function(*args, wish=wish, **options)

    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def _paired(names: Sequence[str], roles: Sequence[str]) -> tuple[tuple[str, str | None], ...]:
    """Each name with the role that stands after it; wrong usage where a role has no name."""
    context = click.get_current_context()
    paired: list[tuple[str, str | None]] = []
    name, role = iter(names), iter(roles)
    for kind in context.meta.get(_ORDER, ()):
        if kind == _TO:
            paired.append((next(name), None))
            continue
        said = next(role)
        if not paired:
            _refuse(said, "it stands before any --to", context)
        to, before = paired[-1]
        if before is not None:
            _refuse(
                said,
                f"--to {escape_control(to)} has the role {escape_control(before)} already",
                context,
            )
        paired[-1] = (to, said)
    return tuple(paired)


def _refuse(role: str, reason: str, context: click.Context) -> NoReturn:
    message = f"--role {escape_control(role)} belongs to no --to NAME: {reason}."
    raise click.UsageError(message, context)


# `brenner roster show`: the roster that a session would get, and where each entry is from.


_SHOW_COLUMNS = (
    Column("Agent", least=10),
    Column("Role", least=20),
    Column("Program", least=8),
    Column("Model", least=8),
    Column("Source", least=24),
)
_EXAMPLE = "`brenner roster show --to NAME --role ROLE`, or `[roster]` in `brenner.toml`"


@click.command(
    "show",
    cls=Reporting,
    always={"roster": None, "recipients": [], "entries": [], "origins": {}, "preset": None},
    epilog=examples(
        "brenner roster show",
        "brenner roster show --to BlueLake --role test_designer",
        "brenner roster show --roster @roster.json --unified",
    ),
)
@roster_options
@common_options
def show(settings: Settings, wish: RosterWish) -> int:
    """Show the roster that a session would get, and the source of each entry.

    It is what `session start` with the same flags would use, here and now. Nothing is sent.
    Exit code 0: it can be used; 1: it has errors; 2: one of its sources cannot be read.
    """
    project, resolved = resolved_here(settings, wish)
    found = (*project.diagnostics, *resolved.diagnostics)
    if settings.as_json:
        write_json(_show_document(resolved) | verdict(found))
    else:
        write_found(project, resolved.diagnostics, sys.stderr)
        sys.stdout.writelines(_show_lines(resolved))
    return exit_code(found)


def _show_document(resolved: Resolved) -> dict[str, object]:
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


def _origin_document(origin: Origin) -> dict[str, str]:
    return {"source": str(origin.source), "from": without_ticks(origin.label)}


def _show_lines(resolved: Resolved) -> Iterator[str]:
    out, entries = sys.stdout, resolved.roster.entries
    rows = [_row(entry, resolved.origins[entry.agent_name]) for entry in entries]
    if has_free_places(resolved) and resolved.preset:
        rows = [_free_row(place, resolved.preset.id) for place in resolved.preset.entries]
    if not rows:
        if not resolved.errors:
            yield sentence("There is no roster here. Who has which role will appear here:", out)
            yield advice(_EXAMPLE, out)
        return
    yield from labelled(_header(resolved), out)
    yield "\n"
    yield from table(_SHOW_COLUMNS, rows, out)
    for entry in entries:
        if entry.notes is not None:
            start = [Span("  "), agent_piece(entry.agent_name), Span(": ")]
            yield fold(start, [Span(_show_whole(entry.notes))], "    ", out)


def _header(resolved: Resolved) -> list[tuple[str, list[Span]]]:
    """Mode, name and time, each with where it is from; the recipients, where not all are."""
    roster = resolved.roster
    said: tuple[tuple[str, str, str | None], ...] = (
        ("Mode", "mode", roster.mode),
        ("Name", "name", roster.name),
        ("Created", "created_at", roster.created_at),
    )
    fields = [
        (label, [Span(_show_whole(text)), _from(resolved.header.get(field))])
        for label, field, text in said
        if text is not None
    ]
    if set(resolved.recipients) != set(roster.names):
        fields.append(("Recipients", [Span(joined(resolved.recipients))]))
    return fields


def _from(origin: Origin | None) -> Span:
    return Span(f"  ({without_ticks(origin.label) if origin else 'the default'})", QUIET)


def _row(entry: RosterEntry, origin: Origin) -> Row:
    others = [[Span(text or "")] for text in (entry.role, entry.program, entry.model)]
    source = [Span(without_ticks(origin.label), QUIET)]
    return Row(([agent_piece(entry.agent_name)], *others, source))


def _free_row(place: PresetEntry, preset: str) -> Row:
    others = [[Span(text or "")] for text in (place.role, place.program, place.model)]
    return Row(([Span("--to NAME", QUIET)], *others, [Span(f"preset {preset}", QUIET)]))


def _show_whole(text: str) -> str:
    """Somebody's text on one line."""
    return escape_control(text, len(text) + 1)


# `brenner roster validate`: whether a roster can be used.


@click.command(
    "validate",
    cls=Reporting,
    always={"file": None},
    epilog=examples(
        "brenner roster validate roster.json",
        "brenner roster validate",
        "brenner roster validate --preset default-3-agent --to Ada --to Ben --to Cleo",
    ),
)
@click.argument("file", required=False, metavar="[FILE|-]")
@roster_options
@common_options
def validate(settings: Settings, wish: RosterWish, file: str | None) -> int:
    """Check a roster in a FILE (JSON or TOML), or the one that a session would get here.

    A FILE is a list of entries, a roster, or a project's file with one in it; with - the standard
    input is read. Exit code 0: valid; 1: it has errors; 2: it cannot be read.
    """
    if file is not None:
        return _validate_file(settings, wish, file)
    project, resolved = resolved_here(settings, wish)
    found = (*project.diagnostics, *resolved.diagnostics)
    if settings.as_json:
        write_json({"file": None} | verdict(found))
    else:
        write_found(project, resolved.diagnostics, sys.stdout)
        write_verdict(HERE, found)
    return exit_code(found)


def _validate_file(settings: Settings, wish: RosterWish, file: str) -> int:
    if wish != RosterWish():
        message = "A FILE goes with no flags: it is checked alone."
        raise click.UsageError(message)
    shown = "<stdin>" if file == STANDARD_INPUT else file
    text = read_text(file)
    if isinstance(text, Diagnostic):
        result, refusal = ValidationResult.of([text]), USAGE
    else:
        result, refusal = check_roster_text(text, f"`{shown}`"), REFUSED
    if settings.as_json:
        write_json({"file": file} | verdict(result.violations))
    else:
        write_diagnostics(result.violations, shown, sys.stdout)
        write_verdict(shown, result.violations)
    return FINE if result.valid else refusal
