"""`brenner session list`: all sessions, what needs the operator first."""

import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import click

from brenner.cli.help_text import examples
from brenner.cli.mail.desk import FINE, desk
from brenner.cli.options import Number, Settings, common_options
from brenner.cli.output import Reporting, write_json
from brenner.cli.paging import pager_option, write_lines
from brenner.cli.progress import Progress
from brenner.cli.sentences import advice, joined, sentence, thread_argument
from brenner.services.sessions import Listing, listing
from brenner.session.model import Phase
from brenner.session.overview import (
    NO_SESSIONS,
    START,
    Asked,
    Need,
    Overview,
    ack_words,
    counts,
    needs_of,
    others_words,
    overview_json,
    summary_words,
    urgent_first,
)

_MOST_SHOWN = 50
_CONVERSATION = "conversation"
_PHASES = (*map(str, Phase), _CONVERSATION)


@click.command(
    "list",
    cls=Reporting,
    always={"sessions": [], "only_files": []},
    epilog=examples(
        "brenner session list",
        "brenner session list --phase ready_to_compile",
        "brenner session list --all --limit 20",
        "brenner session list --line",
    ),
)
@click.option("--all", "is_all", is_flag=True, help="Also those that are complete; all of them.")
@click.option("--limit", type=Number(1), metavar="N", help="How many at most (50).")
@click.option(
    "--phase",
    type=click.Choice(_PHASES, case_sensitive=False),
    metavar="PHASE",
    help=f"Only sessions in this phase: {', '.join(_PHASES)}.",
)
@click.option("--line", "is_line", is_flag=True, help="One line, for a prompt or a status bar.")
@pager_option
@common_options
def list_(  # noqa: PLR0913  (one parameter per option)
    settings: Settings,
    *,
    is_all: bool,
    limit: int | None,
    phase: str | None,
    is_line: bool,
    pager: bool,
) -> int:
    """List all sessions, what needs you first: stopped, blocked, asked, overdue, refused, ready.

    Then late blocks, handoffs, those that wait for agents, in critique, conversations without a
    kickoff, and complete ones, each with the latest activity first. Complete ones in which nothing
    is open are only counted, unless you ask for --all. --json has all, unless you give --limit.

    --line says in one line, without colour, in how many sessions something waits; where there are
    no sessions, the line is empty. Exit code 0; 3 where the store cannot be reached.
    """
    if is_line and (is_all or limit or phase or settings.as_json):
        message = "--line goes with none of --all, --limit, --phase and --json."
        raise click.UsageError(message)
    with desk(settings) as here, Progress() as progress:
        found = listing(here, progress)
    now, deadline = datetime.now(UTC), here.project.ack_deadline
    ask = _Ask(here.actor, now, deadline, phase, limit, is_all)
    if is_line:
        sys.stdout.write(summary_words(counts(found.sessions.values(), now, deadline)) + "\n")
        return FINE
    from brenner.services.sessions import only_in_files  # a line does without

    only_files = only_in_files(here.project, found.sessions)
    fitting = sorted(filter(ask.fits, found.sessions.values()), key=ask.order)
    if settings.as_json:
        write_json({**_document(fitting, ask), "only_files": list(only_files)})
    else:
        write_lines(_lines(fitting, found, ask, only_files), pager=pager)
    return FINE


class _Ask(NamedTuple):
    """What is asked of the list, by whom, and when."""

    actor: str
    now: datetime
    deadline: timedelta
    phase: str | None
    limit: int | None
    is_all: bool

    def fits(self, each: Overview) -> bool:
        """Whether a session is in the phase that is asked for."""
        return self.phase in (None, each.phase or _CONVERSATION)

    def order(self, each: Overview) -> tuple[object, ...]:
        """What needs somebody first."""
        return urgent_first(each, self.now, self.deadline)

    def is_folded(self, each: Overview) -> bool:
        """Whether a session is only counted: it is complete, and nothing is open in it."""
        is_done = needs_of(each, self.now, self.deadline)[0] is Need.COMPLETE
        return is_done and not (self.is_all or self.phase)

    @property
    def most(self) -> int | None:
        """How many people are shown at most."""
        return self.limit or (None if self.is_all else _MOST_SHOWN)


def _document(fitting: Sequence[Overview], ask: _Ask) -> dict[str, object]:
    """The counts are of all that fit, however many are listed."""
    return {
        "sessions": [overview_json(each, ask.now, ask.deadline) for each in fitting[: ask.limit]],
        "summary": counts(fitting, ask.now, ask.deadline),
    }


def _lines(
    fitting: Sequence[Overview], found: Listing, ask: _Ask, only_files: Sequence[str]
) -> Iterator[str]:
    """What needs somebody, in words; the table; what was left out."""
    if not fitting:
        yield from _nothing(found, ask)
        yield from _in_files(only_files, ask)
        return
    from brenner.cli.session.list_rows import lines  # a line does without

    summary = counts(fitting, ask.now, ask.deadline)
    yield sentence(f"{summary_words(summary)}.", sys.stdout)
    you = Asked(ask.actor, "You owe", ask.now, ask.deadline)
    if told := ack_words([each for session in fitting for each in session.owed], you):
        yield sentence(told, sys.stdout)
    unfolded = [each for each in fitting if not ask.is_folded(each)]
    shown = unfolded[: ask.most]
    if shown:
        yield "\n"
        yield from lines(shown, ask.now, ask.deadline)
    yield "\n"
    yield from _left_out(len(unfolded) - len(shown), len(fitting) - len(unfolded), found)
    yield from _in_files(only_files, ask)
    if shown:
        first = thread_argument(shown[0].thread_id)
        yield advice(f"`brenner session status {first}` says more about the first.", sys.stdout)


def _left_out(more: int, complete: int, found: Listing) -> Iterator[str]:
    """What is not shown, and how to see it."""
    shows = "`brenner session list --all` shows"
    if more:
        are, them = ("is", "it") if more == 1 else ("are", "them")
        yield sentence(f"{more:,} more {are} not shown: {shows} {them}", sys.stdout)
    if complete:
        are, them = ("session is", "it") if complete == 1 else ("sessions are", "them")
        said = f"{complete:,} {are} complete, and nothing waits there: {shows} {them}"
        yield sentence(said, sys.stdout)
    if told := others_words(len(found.others)):
        yield sentence(f"{told}: `brenner mail thread` lists all threads", sys.stdout)


def _in_files(names: Sequence[str], ask: _Ask) -> Iterator[str]:
    """The sessions whose mail is elsewhere, as in a clone; nobody knows their phase."""
    if names and not ask.phase:
        are = "session is" if len(names) == 1 else "sessions are"
        shows = "`brenner session show ID` says more"
        said = f"{len(names):,} {are} only in artifacts/: {joined(names)}. {shows}."
        yield sentence(said, sys.stdout)


def _nothing(found: Listing, ask: _Ask) -> Iterator[str]:
    if ask.phase and found.sessions:
        everything = "`brenner session list` shows those of all phases."
        yield sentence(f"No session is in the phase {ask.phase}. {everything}", sys.stdout)
        return
    yield sentence(NO_SESSIONS, sys.stdout)
    yield advice(f"`{START}`", sys.stdout)
    yield from _left_out(0, 0, found)
