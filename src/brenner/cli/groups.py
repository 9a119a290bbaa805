"""Groups of commands that import a command only to run it, not to list it."""

from collections.abc import Mapping
from importlib import import_module
from typing import NamedTuple

import click

from brenner.text import nearest


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
            near = nearest(args[0], self.table)
            hint = f" Did you mean `{near}`?" if near else ""
            ctx.fail(f"There is no command `{args[0]}`.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, place.about) for name, place in self.table.items()])
