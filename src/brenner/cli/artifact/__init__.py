"""`brenner artifact`: what one can do with artifacts, each command imported when it is called."""

import click

from brenner.cli.groups import Command, Commands
from brenner.cli.options import group_options

COMMANDS = {
    "show": Command("brenner.cli.artifact.show", "show", "Print an artifact, also as JSON."),
    "diff": Command("brenner.cli.artifact.diff", "diff", "Say what changed between two artifacts."),
    "lint": Command("brenner.cli.artifact.lint", "lint", "Check an artifact against the rules."),
}


@click.group(cls=Commands, table=COMMANDS)
@group_options
def command() -> None:
    """Show, compare and lint artifacts that are files."""
