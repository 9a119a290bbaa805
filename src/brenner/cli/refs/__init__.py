"""`brenner refs`: references between the items of sessions, each command imported when called."""

import click

from brenner.cli.groups import Command, Commands
from brenner.cli.options import group_options

COMMANDS = {
    "check": Command("brenner.cli.refs.check", "check", "List what leads nowhere or in a circle."),
    "graph": Command("brenner.cli.refs.graph", "graph", "Show what an item comes from and led to."),
}


@click.group(cls=Commands, table=COMMANDS)
@group_options
def command() -> None:
    """Follow an idea across sessions."""
