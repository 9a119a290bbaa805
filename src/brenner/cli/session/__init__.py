"""`brenner session`: a session from its kickoff to its end, each command imported when called."""

import click

from brenner.cli.groups import Command, Commands
from brenner.cli.options import group_options

START = Command("brenner.cli.session.start", "start", "Send the kickoffs of a session.")
COMMANDS = {
    "start": START,
    "complete": Command("brenner.cli.session.complete", "complete", "Publish the last version."),
    "void": Command("brenner.cli.session.void", "void", "Declare a version void."),
    "adopt": Command("brenner.cli.session.adopt", "adopt", "Take over another program's thread."),
}


@click.group(cls=Commands, table=COMMANDS)
@group_options
def command() -> None:
    """Start a session, and end it."""


@click.group("orchestrate", cls=Commands, table={"start": START})
@group_options
def orchestrate() -> None:
    """The same as `brenner session start`, under the name of the conventions document."""
