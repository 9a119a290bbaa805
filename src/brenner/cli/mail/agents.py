"""`brenner mail agents` and `brenner mail register`: list agents, register a name."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

import click

from brenner.cli.mail.show import full_time, labelled_lines
from brenner.cli.options import EXIT_OK, Command, Settings, common_options, examples
from brenner.cli.output import note_changes_made, write_json
from brenner.cli.table import WIDE_TERMINAL, DisplayRow, TableColumn, format_time, table
from brenner.cli.terminal import (
    ATTENTION,
    QUIET,
    STRONG,
    Span,
    agent_span,
    fold,
    format_hint,
    format_message,
    pager_option,
    print_hint,
    print_message,
    write_lines,
)
from brenner.cli.workspace import workspace_for_writing, workspace_of
from brenner.mail.mailbox import Capability
from brenner.mail.model import Agent, Profile, agent_json
from brenner.mail.open import describe_place
from brenner.text import escape_control

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from brenner.config import Project
    from brenner.services.workspace import Workspace

_COLUMNS = (
    TableColumn("Name"),
    TableColumn("Unread", is_right=True),
    TableColumn("Owes", is_right=True),
    TableColumn("Program", min_width=8),
    TableColumn("Model", min_width=8),
    TableColumn("Task", min_width=8),
    TableColumn("Registered", min_terminal_width=WIDE_TERMINAL),
)


# An agent, its number of unread messages if the store has read marks, and of ACKs that it owes
_AgentSummary = tuple[Agent, int | None, int]


@click.command(
    "agents", epilog=examples("brenner mail agents", "brenner mail agents BlueLake"), cls=Command
)
@click.argument("name", required=False)
@pager_option
@common_options
def agents(settings: Settings, name: str | None, pager: bool) -> int:
    """List the registered agents. With NAME, show details of that agent.

    Use it to see which names can receive mail.
    """
    with workspace_of(settings) as here, here.mailbox.reading():
        wanted = here.mailbox.agents() if name is None else (here.mailbox.agent(name),)
        summaries = _summarise(here, wanted)
    if settings.as_json:
        documents = [
            agent_json(agent) | {"unread": unread, "owes": owes}
            for agent, unread, owes in summaries
        ]
        write_json({"agents": documents} if name is None else documents[0])
    else:
        write_lines(
            _list_lines(summaries, here.project) if name is None else _agent_lines(summaries[0]),
            pager=pager,
        )
    return EXIT_OK


def _summarise(here: Workspace, wanted: Sequence[Agent]) -> list[_AgentSummary]:
    mailbox = here.mailbox
    only = wanted[0].name if len(wanted) == 1 else None
    owes = Counter(debt.debtor for debt in mailbox.debts(only))
    has_read_marks = Capability.READ_MARKS not in mailbox.lacks
    return [
        (agent, mailbox.unread(agent.name) if has_read_marks else None, owes[agent.name])
        for agent in wanted
    ]


def _list_lines(summaries: Sequence[_AgentSummary], project: Project) -> Iterator[str]:
    if not summaries:
        text = f"No agents are registered yet in {describe_place(project)}. To register one:"
        yield format_message(text, sys.stdout)
        yield format_hint("`brenner mail register NAME`", sys.stdout)
        return
    yield from table(_COLUMNS, [_row(each) for each in summaries], sys.stdout)


def _row(summary: _AgentSummary) -> DisplayRow:
    agent, unread, owes = summary
    return DisplayRow(
        (
            [agent_span(agent.name)],
            [Span("–" if unread is None else str(unread), STRONG if unread else QUIET)],
            [Span(str(owes), ATTENTION if owes else QUIET)],
            [Span(agent.program)],
            [Span(agent.model)],
            [Span(agent.task)],
            [Span(format_time(agent.registered_at, sys.stdout), QUIET)],
        )
    )


def _agent_lines(summary: _AgentSummary) -> Iterator[str]:
    (agent, unread, owes), out = summary, sys.stdout
    yield fold([], [agent_span(agent.name)], "", out)
    profile = (("Program", agent.program), ("Model", agent.model), ("Task", agent.task))
    fields = [
        (label, [Span(escape_control(text, len(text) + 1)) if text else Span("not set", QUIET)])
        for label, text in profile
    ]
    fields += [
        ("Registered", [Span(full_time(agent.registered_at))]),
        ("Unread", [Span("unknown" if unread is None else str(unread))]),
        ("Owes", [Span(f"{owes} ACK{'s' * (owes != 1)}")]),
    ]
    yield from labelled_lines(fields, out)


# `brenner mail register`


@click.command(
    "register",
    epilog=examples(
        "brenner mail register BlueLake",
        "brenner mail register BlueLake --program claude-code --model opus-4.5",
    ),
    cls=Command,
)
@click.argument("name")
@click.option("--program", default="", metavar="TEXT", help="Program that it runs in.")
@click.option("--model", default="", metavar="TEXT", help="Its model.")
@click.option("--task", default="", metavar="TEXT", help="What it works on.")
@click.option("--update", is_flag=True, help="Change the program or model of a registered agent.")
@common_options
def register(  # noqa: PLR0913  (one parameter per option)
    settings: Settings, *, name: str, program: str, model: str, task: str, update: bool
) -> int:
    """Register NAME, so that it can send and receive mail.

    The name is stored exactly as given. It is rejected, with suggestions, if another agent uses it
    or if it looks like another name. You can register the same agent again.
    """
    profile = Profile(name, program, model, task)
    with workspace_for_writing(settings, needs_operator=False) as here:
        agent, before = here.mailbox.register(profile, update=update)
    note_changes_made()
    if settings.as_json:
        write_json({"new": before is None, "changed": before != agent, "agent": agent_json(agent)})
        return EXIT_OK
    if before is None:
        print_message(f"Registered {agent.name}.")
    elif before != agent:
        print_message(f"Updated {agent.name}.")
    else:
        print_message(f"{agent.name} is already registered. No changes were made.")
    print_hint(f"To act as {agent.name}: `--as {agent.name}`, or set AGENT_NAME={agent.name}")
    return EXIT_OK
