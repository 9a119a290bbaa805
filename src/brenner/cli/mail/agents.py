"""`brenner mail agents`: who is registered, and how it stands with their mail."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import click

from brenner.cli.mail.show import both_times, labelled
from brenner.cli.options import Settings, common_options, examples
from brenner.cli.output import note_done, write_json
from brenner.cli.table import WIDE, Column, Row, table, when
from brenner.cli.terminal import (
    ATTENTION,
    QUIET,
    STRONG,
    Span,
    advice,
    agent_piece,
    fold,
    pager_option,
    print_hint,
    print_message,
    sentence,
    write_lines,
)
from brenner.cli.workspace import FINE, is_trial, real_workspace, trial_workspace, workspace_of
from brenner.mail.mailbox import Capability
from brenner.mail.model import Agent, Profile, agent_json
from brenner.services.workspace import Workspace
from brenner.text import escape_control

_COLUMNS = (
    Column("Name"),
    Column("Unread", is_right=True),
    Column("Owes", is_right=True),
    Column("Program", least=8),
    Column("Model", least=8),
    Column("Task", least=8),
    Column("Registered", shown_from=WIDE),
)


class _Known(NamedTuple):
    """An agent, how much it has not read, if its home tells, and how many ACKs it owes."""

    agent: Agent
    unread: int | None
    owes: int

    def to_json(self) -> dict[str, object]:
        return agent_json(self.agent) | {"unread": self.unread, "owes": self.owes}


@click.command("agents", epilog=examples("brenner mail agents", "brenner mail agents BlueLake"))
@click.argument("name", required=False)
@pager_option
@common_options
def agents(settings: Settings, name: str | None, pager: bool) -> int:
    """List who is registered; with a NAME, say what is known of that agent.

    Exit code 1: nobody is registered under that name.
    """
    with workspace_of(settings) as here:
        wanted = here.mailbox.agents() if name is None else (here.mailbox.agent(name),)
        known = _known(here, wanted)
    if settings.as_json:
        documents = [each.to_json() for each in known]
        write_json({"agents": documents} if name is None else documents[0])
    else:
        write_lines(_list(known) if name is None else _one(known[0]), pager=pager)
    return FINE


def _known(here: Workspace, wanted: Sequence[Agent]) -> list[_Known]:
    mailbox = here.mailbox
    only = wanted[0].name if len(wanted) == 1 else None
    owes = Counter(debt.debtor for debt in mailbox.debts(only))
    tells = Capability.READ_MARKS not in mailbox.lacks
    return [
        _Known(agent, mailbox.unread(agent.name) if tells else None, owes[agent.name])
        for agent in wanted
    ]


def _list(known: Sequence[_Known]) -> Iterator[str]:
    if not known:
        appears = "Who sends and receives mail will appear here:"
        yield sentence(f"Nobody is registered yet. {appears}", sys.stdout)
        yield advice("`brenner mail register NAME`", sys.stdout)
        return
    yield from table(_COLUMNS, [_row(each) for each in known], sys.stdout)


def _row(known: _Known) -> Row:
    agent = known.agent
    return Row(
        (
            [agent_piece(agent.name)],
            [_unread(known.unread)],
            [Span(str(known.owes), ATTENTION if known.owes else QUIET)],
            [Span(agent.program)],
            [Span(agent.model)],
            [Span(agent.task)],
            [Span(when(agent.registered_at, sys.stdout), QUIET)],
        )
    )


def _unread(count: int | None) -> Span:
    return Span("–" if count is None else str(count), STRONG if count else QUIET)


def _said(text: str) -> Span:
    """What an agent says of itself, on one line."""
    return Span(escape_control(text, len(text) + 1)) if text else Span("not said", QUIET)


def _one(known: _Known) -> Iterator[str]:
    agent, out = known.agent, sys.stdout
    yield fold([], [agent_piece(agent.name)], "", out)
    said = (("Program", agent.program), ("Model", agent.model), ("Task", agent.task))
    fields = [(label, [_said(text)]) for label, text in said]
    fields += [
        ("Registered", [Span(both_times(agent.registered_at))]),
        ("Unread", [Span("not told" if known.unread is None else str(known.unread))]),
        ("Owes", [Span(f"{known.owes} ACK{'s' * (known.owes != 1)}")]),
    ]
    yield from labelled(fields, out)


# `brenner mail register`: make a name known to the mailbox.


@click.command(
    "register",
    epilog=examples(
        "brenner mail register BlueLake",
        "brenner mail register BlueLake --program claude-code --model opus-4.5",
    ),
)
@click.argument("name")
@click.option("--program", default="", metavar="TEXT", help="The program that it runs in.")
@click.option("--model", default="", metavar="TEXT", help="The model.")
@click.option("--task", default="", metavar="TEXT", help="What it works on.")
@click.option("--update", is_flag=True, help="It is the same agent, with another program or model.")
@common_options
def register(  # noqa: PLR0913  (one parameter per option)
    settings: Settings, *, name: str, program: str, model: str, task: str, update: bool
) -> int:
    """Register a NAME, so that it can send and receive mail.

    The name is kept exactly as given, or refused with suggestions (exit code 1): where another
    agent has it, or where it looks like another one. To register again is fine.
    """
    profile = Profile(name, program, model, task)
    with trial_workspace(settings, needs_operator=False) as here:
        agent, before = here.mailbox.register(profile, update=update)
    if is_trial(here):
        with real_workspace(here, needs_operator=False) as here:
            agent, before = here.mailbox.register(profile, update=update)
    note_done()
    if settings.as_json:
        write_json({"new": before is None, "changed": before != agent, "agent": agent_json(agent)})
        return FINE
    if before is None:
        print_message(f"Registered {agent.name}.")
    elif before != agent:
        print_message(f"{agent.name} was registered; what is known of it has changed.")
    else:
        print_message(f"{agent.name} was registered before; nothing has changed.")
    print_hint(f"It acts with `--as {agent.name}`, or with AGENT_NAME={agent.name} set.")
    return FINE
