"""What became of the kickoffs of a session, for people and as JSON."""

import sys
from collections.abc import Iterator
from shlex import quote
from typing import TextIO

from brenner.cli.failures import exit_code, indented
from brenner.cli.folding import Piece, fold
from brenner.cli.mail.desk import CONTENT, FINE
from brenner.cli.mail.message import INDENT, body_lines, names
from brenner.cli.marks import QUIET, STRONG, subject_pieces
from brenner.cli.output import counted, write_diagnostics, write_json
from brenner.cli.paging import write_lines
from brenner.cli.sentences import advice, advise, joined, say, sentence, thread_argument
from brenner.cli.session.spawn_report import write_attended
from brenner.diagnostics.codes.sessions import ROUND_OF_CLOSED_SESSION
from brenner.diagnostics.model import Summary
from brenner.services.spawn_agents import Attended, started_json, what_became
from brenner.services.start_session import Addressed, Started, State, Status
from brenner.text import visible


def report(done: Started, attended: Attended | None = None, *, as_json: bool, pager: bool) -> int:
    """Show it, and what became of the agents in a terminal; the exit code."""
    summary = Summary.of(done.diagnostics)
    if as_json:
        write_json(started_json(done, attended))
    else:
        # A kickoff has no file: what is wrong has its line in the body.
        write_diagnostics(done.diagnostics, "kickoff", sys.stderr)
        for block in filter(None, (each.repaired for each in done.diagnostics)):
            sys.stderr.write(indented(block))
        if done.status is Status.DRY_RUN:
            write_lines(_dry_run(done, summary, sys.stdout), pager=pager)
        else:
            _write(done, summary)
        if attended:
            write_attended(attended)
        if done.status in (Status.SENT, Status.NOTHING):
            advise(_what_next(done))
    for failed in (done.failed, attended.failed if attended else None):
        if failed:
            return exit_code(failed)
    return CONTENT if summary.errors else FINE


# For people


def _write(done: Started, summary: Summary) -> None:
    if done.status is Status.REFUSED:
        say(f"Nothing was sent: {counted(summary)}.", sys.stderr)
        return
    if done.registered:
        say(f"Registered {joined(done.registered)}.")
    for each in done.kickoffs:
        say(what_became(done, each))
    if done.status is Status.INCOMPLETE:
        advise("The same command again sends what is missing.")
        return
    if done.status is Status.NOTHING:
        say(f"Nothing was left to send in {visible(done.thread_id or '')}.")


def _what_next(done: Started) -> str:
    thread = done.thread_id or ""
    reopen = " --reopen" * any(each.code is ROUND_OF_CLOSED_SESSION for each in done.diagnostics)
    if done.round:
        return (
            f"`brenner session status {thread_argument(thread)}` shows whose turn it is; once "
            f"deltas are in, `brenner compile{reopen} {thread_argument(thread)}` publishes "
            f"v{done.round}."
        )
    return (
        f"`brenner mail pending --thread {quote(visible(thread))}` shows who owes an ACK; once "
        f"deltas are in, `brenner compile {thread_argument(thread)}` publishes a version."
    )


def _dry_run(done: Started, summary: Summary, out: TextIO) -> Iterator[str]:
    """Every kickoff whole, then what would have happened."""
    to_send = [each for each in done.kickoffs if each.state is not State.SENT_BEFORE]
    for number, each in enumerate(to_send, 1):
        head = [Piece(f"{number} of {len(to_send)}", STRONG), Piece("  to "), *_heads(each)]
        yield fold([], head, INDENT, out)
        yield fold([Piece(INDENT)], subject_pieces(each.message.subject), INDENT, out)
        yield "\n"
        yield from body_lines(each.message.body, out)
        yield "\n"
    for each in done.kickoffs:
        if each.state is State.SENT_BEFORE:
            yield sentence(what_became(done, each), out)
    count = f"{len(to_send)} kickoff{'s' * (len(to_send) != 1)}"
    if summary.errors:
        yield sentence(f"Nothing would be sent: {counted(summary)}.", out)
        return
    yield sentence(
        f"{count} would go out in {visible(done.thread_id or '')}; nothing was sent.", out
    )
    if done.registered:
        yield advice(f"Would be registered: {joined(done.registered)}.", out)


def _heads(each: Addressed) -> Iterator[Piece]:
    yield from names(each.message.recipients)
    if each.role:
        yield Piece(f"  {each.role}", QUIET)
