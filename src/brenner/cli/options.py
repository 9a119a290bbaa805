"""Options that all commands accept, and groups that import their commands lazily."""

from __future__ import annotations

import functools
import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from brenner.diagnostics.model import BrennerError
from brenner.limits import MOST_NUMBER_DIGITS, MOST_SENT_KIB
from brenner.named_tuple import NamedTuple
from brenner.text import escape_control

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from brenner.config import Project

COMPLETION_VARIABLE = "_BRENNER_COMPLETE"  # set by the script of `brenner completion`
EXIT_OK, EXIT_INVALID, EXIT_USAGE, EXIT_UNAVAILABLE = 0, 1, 2, 3
_COMMON_OPTIONS = (
    click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text."),
    click.option(
        "--as",
        "actor",
        metavar="NAME",
        help="Act as this agent (default: AGENT_NAME, or the operator).",
    ),
    click.option(
        "--project", metavar="DIR", help="Project folder (default: this folder or one above)."
    ),
    click.option(
        "--store", metavar="URL", help="Mail store (default: BRENNER_STORE or brenner.toml)."
    ),
)
_IDENTITY_OPTIONS = (
    click.option(
        "--strict-identity", is_flag=True, help="Accept mail only with the sender's secret."
    ),
    click.option(
        "--open-identity", is_flag=True, help="Accept mail without secrets for all agents' names."
    ),
)


class Number(click.types.IntParamType):
    """A non-negative integer in ASCII digits. `int` also accepts `1_0`, ` 1 ` and other scripts."""

    def __init__(self, minimum: int = 0) -> None:
        self.minimum = minimum

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        text = str(value)
        is_plain = text.isascii() and text.isdigit() and len(text) <= MOST_NUMBER_DIGITS
        if not is_plain or int(text) < self.minimum:
            least = f" of {self.minimum} or more" if self.minimum else ""
            message = f"`{escape_control(text)}` is not a whole number{least}."
            self.fail(message, param, ctx)
        return int(text)


MESSAGE_ID = Number()


class Settings(NamedTuple):
    """The values of the common options. `actor` is the agent or operator that runs the command.

    `project` and `store` are as they were typed; `brenner.config.find_project` interprets them.
    """

    as_json: bool = False
    actor: str | None = None
    project: str | None = None
    store: str | None = None


def common_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the common options to a command, which gets `settings` as its first argument.

    A `BrennerError` that the command raises is printed and becomes the exit code.
    """

    @functools.wraps(function)
    def command(*args: object, **options: object) -> int:
        given = _pop_common_options(options)
        _check_actor(given.actor)
        settings = given._replace(actor=given.actor or os.environ.get("AGENT_NAME") or None)
        try:
            return function(settings, *args, **options)
        except BrennerError as error:
            from brenner.cli.workspace import write_failure  # imported only on failure

            return write_failure(error, settings)

    return _with_options(command)


def group_options(function: Callable[[], None]) -> Callable[..., None]:
    """Add the common options to a group, as defaults for its commands."""

    @functools.wraps(function)
    def group(**options: object) -> None:
        click.get_current_context().find_root().obj = _pop_common_options(options)._asdict()
        function()

    return _with_options(group)


def identity_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add `--strict-identity` and `--open-identity` to a command that serves MCP."""

    @functools.wraps(function)
    def command(*args: object, **options: object) -> int:
        if options["strict_identity"] and options["open_identity"]:
            message = "--strict-identity and --open-identity cannot be used together."
            raise click.UsageError(message)
        return function(*args, **options)

    for option in reversed(_IDENTITY_OPTIONS):
        command = option(command)
    return command


def operator_of(settings: Settings) -> str:
    """Return the operator's name, or the default name without a project."""
    from brenner.config import OPERATOR  # slow to import

    project = _inspect_if_usable(settings)
    return project.operator if project else OPERATOR


def most_message_bytes(settings: Settings) -> int:
    """Return the size limit of a message that is sent or checked, or the default."""
    project = _inspect_if_usable(settings)
    return project.most_message_bytes if project else MOST_SENT_KIB * 1024


def _inspect_if_usable(settings: Settings) -> Project | None:
    """Return the project, for commands that work without one.

    Return None if the settings are invalid or the folder does not exist, unless `--project` was
    given.
    """
    from brenner.config import inspect_project  # slow to import

    try:
        return inspect_project(settings.project, os.environ, settings.store)
    except BrennerError:
        if settings.project is not None:
            raise
        return None


def _check_actor(actor: str | None) -> None:
    """Refuse an empty name: it is usually an unset shell variable, not the operator."""
    if actor is not None and not actor.strip():
        message = "--as needs a NAME. Leave it out to act as AGENT_NAME or as the operator."
        raise click.UsageError(message)


def _with_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_COMMON_OPTIONS):
        function = option(function)
    return function


def _pop_common_options(options: dict[str, object]) -> Settings:
    """Take the common options out of all options.

    Those of the command override those of its group.
    """
    inherited = Settings(**(click.get_current_context().find_root().obj or {}))
    own: dict[str, Any] = {name: options.pop(name) for name in Settings._fields}
    return inherited._replace(**{name: value for name, value in own.items() if _is_given(value)})


def _is_given(value: object) -> bool:
    """Return whether an option was given.

    An empty text counts: `--store ""` is an error, not the default.
    """
    return value is not None and value is not False


# Commands and groups

ONE_SECTION = "Commands"  # the section of a group that needs no other


class Command(click.Command):
    """A command whose help `brenner.cli.help` writes."""

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from brenner.cli.help import format_help  # only to show help

        format_help(self, ctx, formatter)


class LazyGroup(Command, click.Group):
    """A click group that imports a command only to run it, not to list it.

    Its table has four texts for each command: its section in the help, its module, its name there,
    and its line in the help. A key of two words is only listed: the group in it runs the command.
    """

    def __init__(self, *, table: Mapping[str, tuple[str, str, str, str]], **options: Any) -> None:
        super().__init__(**options)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return [name for name in self.table if " " not in name]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        _, module, name, _ = self.table[cmd_name]
        command: click.Command = getattr(import_module(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        is_known = args[0] in self.list_commands(ctx) or args[0].startswith("-")
        if not is_known and not ctx.resilient_parsing:
            from brenner.cli.help import suggest_command  # only on failure

            hint = suggest_command(self, ctx, args[0])
            ctx.fail(f"Unknown command `{escape_control(args[0])}`.{hint}")
        return super().resolve_command(ctx, args)


def examples(*commands: str) -> str:
    """Return the epilog with a command's examples, one per line."""
    return "\n".join(["Examples", *commands])
