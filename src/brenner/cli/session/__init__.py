"""`brenner session`: a session from its kickoff to its end, each command imported when called."""

import click

from brenner.cli.options import Command, Commands, group_options

START = Command("brenner.cli.session.start", "start", "Send the kickoffs of a session.")
COMMANDS = {
    "start": START,
    "list": Command("brenner.cli.session.list", "list_", "List all sessions, the urgent first."),
    "status": Command("brenner.cli.session.status", "status", "Say whose turn it is."),
    "show": Command("brenner.cli.session.show", "show", "Say where everything of a session is."),
    "link": Command("brenner.cli.session.link", "link", "Print a link for somebody who reads."),
    "watch": Command("brenner.cli.session.watch", "watch", "Follow sessions live."),
    "round": Command("brenner.cli.session.round", "round_", "Send the kickoffs of the next round."),
    "dismiss": Command("brenner.cli.session.manage", "dismiss", "Let a refused block be."),
    "complete": Command("brenner.cli.session.manage", "complete", "Publish the last version."),
    "void": Command("brenner.cli.session.manage", "void", "Declare a version void."),
    "adopt": Command("brenner.cli.session.manage", "adopt", "Take over another program's thread."),
}


@click.group(cls=Commands, table=COMMANDS)
@group_options
def command() -> None:
    """Start a session, follow it, and end it."""


@click.group("orchestrate", cls=Commands, table={"start": START})
@group_options
def orchestrate() -> None:
    """The same as `brenner session start`, under the name of the conventions document."""
