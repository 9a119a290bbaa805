"""`brenner session`: the group of commands that start, follow and end a session."""

from __future__ import annotations

import click

from brenner.cli.options import LazyGroup, examples, group_options

_START, _FOLLOW, _CONTINUE, _CORRECT = "Start", "Follow", "Continue and end", "Correct"
START = (
    _START,
    "brenner.cli.session.start",
    "start",
    "Send the kickoffs of a new session.",
)
COMMANDS = {
    "start": START,
    "run": (_START, "brenner.cli.session.run", "run", "Drive the agents' programs by rounds."),
    "list": (_FOLLOW, "brenner.cli.session.list", "list_", "List sessions, urgent ones first."),
    "status": (_FOLLOW, "brenner.cli.session.status", "status", "Show what to do next."),
    "watch": (_FOLLOW, "brenner.cli.session.watch", "watch", "Show new messages as they arrive."),
    "runs": (_FOLLOW, "brenner.cli.session.runs", "runs", "Show what agents did in runs."),
    "show": (
        _FOLLOW,
        "brenner.cli.session.show",
        "show",
        "Show the files and places of a session.",
    ),
    "link": (_FOLLOW, "brenner.cli.session.link", "link", "Print a read-only guest link."),
    "export": (_FOLLOW, "brenner.cli.session.export", "export", "Write a session to one file."),
    "round": (_CONTINUE, "brenner.cli.session.round", "round_", "Send kickoffs of the next round."),
    "complete": (_CONTINUE, "brenner.cli.session.manage", "complete", "Publish the last version."),
    "cancel": (
        _CONTINUE,
        "brenner.cli.session.manage",
        "cancel",
        "End a session without a version.",
    ),
    "dismiss": (_CORRECT, "brenner.cli.session.manage", "dismiss", "Ignore a rejected block."),
    "void": (_CORRECT, "brenner.cli.session.manage", "void", "Withdraw a version."),
    "adopt": (
        _CORRECT,
        "brenner.cli.session.manage",
        "adopt",
        "Continue another program's thread.",
    ),
}


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    epilog=examples(
        "brenner session start --question @question.md --context @background.md \\",
        "    --preset default-3-agent --to BlueLake --to RedSky --to GreenDog",
        "brenner session status RS-20251230-cell-fate",
        "brenner session complete RS-20251230-cell-fate --persist --commit",
    ),
)
@group_options
def command() -> None:
    """Start a session, follow it, and end it.

    A session is a thread with a kickoff. THREAD is its ID, such as RS-20251230-cell-fate.
    """


@click.group(
    "orchestrate",
    cls=LazyGroup,
    table={"start": START},
    epilog=examples(
        "brenner orchestrate start --question @question.md --context @background.md \\",
        "    --preset default-3-agent --to BlueLake --to RedSky --to GreenDog",
    ),
)
@group_options
def orchestrate() -> None:
    """Same as `brenner session start`, under the name in the conventions document."""
