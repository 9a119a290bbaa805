"""`brenner session`: the group of commands that start, follow and end a session."""

from __future__ import annotations

import click

from brenner.cli.options import LazyGroup, group_options

START = ("brenner.cli.session.start", "start", "Send the kickoffs of a session.")
COMMANDS = {
    "start": START,
    "list": ("brenner.cli.session.list", "list_", "List all sessions, the urgent first."),
    "status": ("brenner.cli.session.status", "status", "Say whose turn it is."),
    "show": ("brenner.cli.session.show", "show", "Say where everything of a session is."),
    "link": ("brenner.cli.session.link", "link", "Print a link for somebody who reads."),
    "watch": ("brenner.cli.session.watch", "watch", "Follow sessions live."),
    "round": ("brenner.cli.session.round", "round_", "Send the kickoffs of the next round."),
    "dismiss": ("brenner.cli.session.manage", "dismiss", "Let a refused block be."),
    "complete": ("brenner.cli.session.manage", "complete", "Publish the last version."),
    "void": ("brenner.cli.session.manage", "void", "Declare a version void."),
    "adopt": ("brenner.cli.session.manage", "adopt", "Take over another program's thread."),
}


@click.group(cls=LazyGroup, table=COMMANDS)
@group_options
def command() -> None:
    """Start a session, follow it, and end it."""


@click.group("orchestrate", cls=LazyGroup, table={"start": START})
@group_options
def orchestrate() -> None:
    """The same as `brenner session start`, under the name of the conventions document."""
