"""`brenner help`, and what `--help` prints: usage, description, examples, options."""

from __future__ import annotations

import sys

import click

from brenner.cli.options import EXIT_OK, Command, LazyGroup, Settings, common_options, examples
from brenner.cli.output import write_json
from brenner.text import closest


@click.command(
    "help",
    cls=Command,
    epilog=examples("brenner help", "brenner help session start", "brenner help mail"),
)
@click.argument("names", nargs=-1, metavar="[COMMAND]...")
@common_options
def command(settings: Settings, names: tuple[str, ...]) -> int:
    """Show the help of a COMMAND, the same as `brenner COMMAND --help`.

    Without COMMAND, show all commands. `brenner docs` shows the documentation.
    """
    context = click.get_current_context().find_root()
    for name in names:
        context = _context_below(context, name)
    text = context.command.get_help(context)
    if settings.as_json:
        write_json({"command": context.command_path, "help": text})
    else:
        sys.stdout.write(f"{text}\n")
    return EXIT_OK


def _context_below(context: click.Context, name: str) -> click.Context:
    """Return the context of a command in a group; fail as running it would."""
    group = context.command
    if not isinstance(group, click.Group):
        context.fail(f"`{context.command_path}` has no commands.")
    _, found, _ = group.resolve_command(context, [name])
    if found is None:
        context.fail(f"Unknown command `{name}`.")
    return click.Context(found, parent=context, info_name=name)


# Layout


def format_help(
    command: click.Command, context: click.Context, formatter: click.HelpFormatter
) -> None:
    """Write the help of a command. Only that of the program explains the common options."""
    command.format_usage(context, formatter)
    command.format_help_text(context, formatter)
    if isinstance(command, LazyGroup):
        _write_commands(command, formatter)
    if context.parent is None:
        _write_options(command, context, formatter)
        _write_epilog(command, formatter)
        return
    _write_epilog(command, formatter)
    _write_options(command, context, formatter)
    names = (
        f"{each.opts[0]} {each.metavar or ''}".rstrip()
        for each in command.params
        if not is_own(each)
    )
    formatter.write_paragraph()
    formatter.write_text(f"Also: {', '.join(names)} (see `brenner --help`).")


def _write_commands(group: LazyGroup, formatter: click.HelpFormatter) -> None:
    """Write the commands by section. The lines of all sections begin in one column."""
    width = max(map(len, group.table))
    for title, rows in sections_of(group).items():
        with formatter.section(title):
            formatter.write_dl([(name.ljust(width), about) for name, about in rows])


def sections_of(group: LazyGroup) -> dict[str, list[tuple[str, str]]]:
    """Return the sections of a group, with the name and the line of each command."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name, (section, _, _, about) in group.table.items():
        found.setdefault(section, []).append((name, about))
    return found


def _write_options(
    command: click.Command, context: click.Context, formatter: click.HelpFormatter
) -> None:
    rows = option_rows(command, context)
    if rows:
        with formatter.section("Options"):
            formatter.write_dl(rows)


def option_rows(command: click.Command, context: click.Context) -> list[tuple[str, str]]:
    """Return the options of a command with their help; those of the program include the common."""
    is_top = context.parent is None
    rows = (
        each.get_help_record(context)
        for each in command.get_params(context)
        if isinstance(each, click.Option) and (is_top or is_own(each))
    )
    return [row for row in rows if row]


def is_own(parameter: click.Parameter) -> bool:
    """Return whether a parameter is the command's own: neither a common option nor `--help`."""
    return parameter.name not in Settings._fields and "--help" not in parameter.opts


def _write_epilog(command: click.Command, formatter: click.HelpFormatter) -> None:
    title, lines = epilog_lines(command)
    if title:
        with formatter.section(title):
            formatter.write("".join(f"  {line}\n" for line in lines))


def epilog_lines(command: click.Command) -> tuple[str, list[str]]:
    """Return the title and the lines of a section that is not wrapped, such as examples."""
    title, *lines = (command.epilog or "").split("\n")
    return title, lines


# Suggestions


def suggest_command(group: LazyGroup, context: click.Context, name: str) -> str:
    """Suggest the closest command, or the commands of that name in the groups below."""
    near = closest(name, group.list_commands(context))
    if near:
        return f" Did you mean `{near}`?"
    commands = ((each, group.get_command(context, each)) for each in group.list_commands(context))
    groups = {each: below.table for each, below in commands if isinstance(below, LazyGroup)}
    below = {command for table in groups.values() for command in table}
    meant = name if name in below else closest(name, sorted(below))
    found = [f"`{context.command_path} {each} {meant}`" for each in groups if meant in groups[each]]
    return f" Did you mean {' or '.join(found)}?" if found else ""
