"""The options that every command takes, before or after its name."""

import functools
import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NamedTuple

import click

from brenner.diagnostics.model import BrennerError
from brenner.limits import MOST_NUMBER_DIGITS
from brenner.text import closest, escape_control

_OPTIONS = (
    click.option("--json", "as_json", is_flag=True, help="Print one JSON document, nothing else."),
    click.option("--as", "actor", metavar="NAME", help="Who you are (or AGENT_NAME)."),
    click.option("--project", metavar="DIR", help="The folder of the project."),
    click.option("--store", metavar="URL", help="Where its mail is (or BRENNER_STORE)."),
)


class Number(click.types.IntParamType):
    """A whole number in plain digits: `int` would also take `1_0`, ` 1 ` and other scripts."""

    def __init__(self, least: int = 0) -> None:
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number, or wrong usage."""
        said = str(value)
        is_plain = said.isascii() and said.isdigit() and len(said) <= MOST_NUMBER_DIGITS
        if not is_plain or int(said) < self.least:
            least = f", {self.least} or more" if self.least else ""
            message = f"`{escape_control(said)}` is not a number in the digits 0 to 9{least}."
            self.fail(message, param, ctx)
        return int(said)


MESSAGE_ID = Number()


class Settings(NamedTuple):
    """What the common options say. `actor` is who runs the command, where that is known.

    `project` and `store` are as they were typed; `brenner.project.find_project` makes sense of
    them.
    """

    as_json: bool = False
    actor: str | None = None
    project: str | None = None
    store: str | None = None


def common_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the common options to a command, which gets `settings` as its first argument.

    An error of ours that it raises is shown, and becomes the exit code.
    """

    @functools.wraps(function)
    def command(*args: object, **options: object) -> int:
        said = _taken(options)
        _check_actor(said.actor)
        settings = said._replace(actor=said.actor or os.environ.get("AGENT_NAME") or None)
        try:
            return function(settings, *args, **options)
        except BrennerError as error:
            from brenner.cli.workspace import write_failure  # only a failure pays

            return write_failure(error, as_json=settings.as_json)

    return _with_options(command)


def group_options(function: Callable[[], None]) -> Callable[..., None]:
    """Add the common options to a group, for the commands in it."""

    @functools.wraps(function)
    def group(**options: object) -> None:
        click.get_current_context().find_root().obj = _taken(options)._asdict()
        function()

    return _with_options(group)


def operator_of(settings: Settings) -> str:
    """What the operator of the project is called, for commands that need no project.

    Settings that cannot be followed do not stop them, nor does a folder that is gone.
    """
    from brenner.config import OPERATOR, look_at_project  # only who asks pays

    try:
        return look_at_project(settings.project, os.environ, settings.store).operator
    except BrennerError:
        if settings.project is not None:
            raise
        return OPERATOR


def most_message_bytes(settings: Settings) -> int:
    """How many bytes a message may have here that is sent or checked; the default without a
    project.
    """
    from brenner.config import look_at_project  # only who has a long message pays
    from brenner.limits import MOST_SENT_KIB

    try:
        return look_at_project(settings.project, os.environ, settings.store).most_message_bytes
    except BrennerError:
        if settings.project is not None:
            raise
        return MOST_SENT_KIB * 1024


def _check_actor(actor: str | None) -> None:
    """An empty name is most often a variable that was not filled in, and not the operator."""
    if actor is not None and not actor.strip():
        message = "--as needs a NAME; leave it out to act as AGENT_NAME or as the operator."
        raise click.UsageError(message)


def _with_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def _taken(options: dict[str, object]) -> Settings:
    """The common ones out of all options; what stands nearer to the command counts."""
    before = Settings(**(click.get_current_context().find_root().obj or {}))
    here: dict[str, Any] = {name: options.pop(name) for name in Settings._fields}
    return before._replace(**{name: value for name, value in here.items() if _is_said(value)})


def _is_said(value: object) -> bool:
    """An empty text is said too: `--store ""` is a mistake, not the default."""
    return value is not None and value is not False


# Groups of commands that import a command only to run it, not to list it.


class Command(NamedTuple):
    """Where a command lives, and what the help of its group says of it."""

    module: str
    name: str
    about: str


class Commands(click.Group):
    """A group with a table of commands."""

    def __init__(self, *, table: Mapping[str, Command], **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self.table:
            return None
        place = self.table[cmd_name]
        command: click.Command = getattr(import_module(place.module), place.name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.table and not args[0].startswith("-"):
            near = closest(args[0], self.table)
            hint = f" Did you mean `{near}`?" if near else ""
            ctx.fail(f"There is no command `{args[0]}`.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, place.about) for name, place in self.table.items()])


# The end of a command's help: how one calls it.


def examples(*commands: str) -> str:
    """Commands as they are typed, one on a line; click must not fold them."""
    return "\b\n" + "\n".join(["Examples:", *(f"  {command}" for command in commands)])
