"""`brenner agent`: what an agent needs to take part, each command imported when it is called."""

import click

from brenner.cli.groups import Command, Commands
from brenner.cli.options import group_options

COMMANDS = {
    "config": Command("brenner.cli.agent.config", "config", "Print what a client's settings need."),
    "secret": Command("brenner.cli.agent.secret", "secret", "Give a name a new secret."),
}


@click.group(cls=Commands, table=COMMANDS)
@group_options
def command() -> None:
    """Connect agents to this project."""
