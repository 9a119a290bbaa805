"""What became of the agents in a terminal, for people."""

import sys
from collections.abc import Iterator
from typing import TextIO

from brenner.cli.output import write_diagnostics
from brenner.cli.sentences import advice, joined, sentence
from brenner.services.spawn_agents import Attended, Spawned, Told
from brenner.text import visible


def write_attended(done: Attended) -> None:
    """Say it: what went wrong on the standard error, the rest on the output."""
    write_diagnostics(done.diagnostics, done.program, sys.stderr)
    for line in attended_lines(done, sys.stdout):
        sys.stdout.write(line)


def attended_lines(done: Attended, out: TextIO) -> Iterator[str]:
    """Who was opened and told, or would be; then how to see them."""
    if done.is_skipped:
        yield sentence("Nobody was opened or told, as not all have got their mail.", out)
        return
    lines = [
        *(_spawned(done, done.spawned) if done.spawned else ()),
        *(_told(done, done.told) if done.told else ()),
    ]
    for line in lines:
        yield sentence(line, out)
    if lines and not done.wish.dry_run:
        yield advice(f"`{visible(done.attach, len(done.attach))}` shows them.", out)


def _spawned(done: Attended, spawned: Spawned) -> Iterator[str]:
    session = visible(done.session)
    if spawned.opened:
        verb = "Would open" if done.wish.dry_run else "Opened"
        agents = joined(f"{each.agent} ({_run(done, each.command)})" for each in spawned.opened)
        yield f"{verb} {agents} in {session}, with {done.program}."
    if spawned.before:
        yield f"Open before in {session}: {joined(spawned.before)}."
    if spawned.is_untouched:
        yield f"The session {session} is open already, and was left as it is."


def _run(done: Attended, command: tuple[str, ...]) -> str:
    """Ntm has commands of its own."""
    return command[0] if done.program == "ntm" else " ".join(command)


def _told(done: Attended, told: Told) -> Iterator[str]:
    if not told.names:
        return
    verb = "Would tell" if done.wish.dry_run else "Told"
    whom = f"all panes of {visible(done.session)}" if told.is_to_all_panes else joined(told.names)
    whose = "the" if told.is_to_all_panes else "its" if len(told.names) == 1 else "their"
    yield f"{verb} {whom} to read {whose} mail."
