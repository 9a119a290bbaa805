"""`brenner session list`: all sessions, what needs the operator first."""

import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import click

from brenner.cli.options import Number, Settings, common_options, examples
from brenner.cli.output import Progress, Reporting, width_of, write_json
from brenner.cli.table import Cell, Column, Row, table
from brenner.cli.terminal import (
    ATTENTION,
    PLAIN,
    QUIET,
    STRONG,
    STYLE_OF_TYPE,
    Span,
    Style,
    advice,
    agent_piece,
    joined,
    pager_option,
    sentence,
    thread_argument,
    write_lines,
)
from brenner.cli.workspace import FINE, workspace_of
from brenner.protocol.messages import exact, span
from brenner.services.sessions import Listing, listing
from brenner.session.model import Phase
from brenner.session.overview import (
    NO_SESSIONS,
    START,
    Asked,
    Need,
    Overview,
    Role,
    ack_words,
    counts,
    need_words,
    needs_of,
    others_words,
    overview_json,
    phase_words,
    summary_words,
    urgent_first,
)
from brenner.session.status_text import PHASE_WORDS

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
    with workspace_of(settings) as here, Progress() as progress:
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


# Sessions as rows: what waits first, in words, then whose turn it is and what it is about.
#
# In 80 columns a session has two lines. Where there is more room, whose turn it is has a column of
# its own; in a pipe everything stands in one line, whole.


_WIDE = 120
_MOST_NAMES = 3
_STYLES: dict[Role, Style] = {
    "attention": ATTENTION,
    "notice": STYLE_OF_TYPE["QUESTION"],
    "positive": STYLE_OF_TYPE["COMPILED"],
    "plain": PLAIN,
    "quiet": QUIET,
}
# Only an engineering ID can be longer; then it is cut, so that the others stay in line.
_LONGEST_USUAL_ID = len("RS-20251230-") + 40
_ID, _ROUND = Column("Session", least=_LONGEST_USUAL_ID), Column("Round", is_right=True)
_NEEDS, _TURN = Column("Needs"), Column("Turn", least=16)
_PHASE, _IDLE = Column("Phase"), Column("Idle", is_right=True)
_NARROW = (_NEEDS, _ID, _IDLE)
_WIDER = (_NEEDS, _ID, _ROUND, _PHASE, _TURN, _IDLE)
_WHOLE = (_NEEDS, _ID, _ROUND, _PHASE, _TURN, Column("Last"), Column("Question"))
_DOT, _COMMA = Span(" · ", QUIET), Span(", ")


def lines(shown: Sequence[Overview], now: datetime, deadline: timedelta) -> Iterator[str]:
    """The table, for the width that there is."""
    sessions = [_Session(each, now, deadline) for each in shown]
    width = width_of(sys.stdout)
    if not width:
        return table(_WHOLE, [_whole(each) for each in sessions], sys.stdout)
    if width < _WIDE:
        return table(_NARROW, [_narrow(each) for each in sessions], sys.stdout)
    return table(_WIDER, [_wide(each) for each in sessions], sys.stdout)


def _narrow(each: "_Session") -> Row:
    head, *others = each.needs()
    standing = each.standing({need.text for need in (head, *others)})
    below = (_between(([need] for need in others), _COMMA), standing, each.question())
    return Row(([head], each.thread_id(), each.idle()), _under(below))


def _wide(each: "_Session") -> Row:
    head, *others = each.needs()
    [phase] = each.phase()
    cells = ([head], each.thread_id(), each.round(), [phase], each.turn(), each.idle())
    more = _between(([need] for need in others if need.text != phase.text), _COMMA)
    return Row(cells, _under((more, each.question())))


def _whole(each: "_Session") -> Row:
    needs = _between(([need] for need in each.needs()), _COMMA)
    turn = each.turn(most=len(each.overview.awaited))
    last = [Span(exact(each.overview.last_at))]
    cells = (needs, each.thread_id(), each.round(), each.phase(), turn, last, each.question())
    return Row(cells)


def _under(parts: Iterable[Sequence[Span]]) -> list[Cell]:
    """The second line of a row, if it says anything."""
    below = _between((part for part in parts if part), _DOT)
    return [[Span("  "), *below]] if below else []


class _Session(NamedTuple):
    """A session at some time, in pieces."""

    overview: Overview
    now: datetime
    deadline: timedelta

    def needs(self) -> list[Span]:
        """What is open, the most urgent first; where nothing is, its phase. Critiques come last."""
        words = need_words(self.overview, self.now, self.deadline)
        return [Span(each.text, _STYLES[each.role]) for each in words]

    def standing(self, said: Collection[str]) -> list[Span]:
        """The round and its phase, unless that is said already, and for whom it waits."""
        phase = PHASE_WORDS[self.overview.phase]
        has_round = self.overview.phase is not None
        parts = [
            [Span(f"round {self.overview.round}")] if has_round else [],
            [Span(phase)] if phase not in said else [],
            [Span("waits for "), *self.turn()] if self.overview.awaited else [],
        ]
        return _between((part for part in parts if part), _COMMA)

    def turn(self, most: int = _MOST_NAMES) -> list[Span]:
        """For whom the round waits, in the order of the participants."""
        awaited = self.overview.awaited
        names = [[agent_piece(each.name)] for each in awaited[:most]]
        more = len(awaited) - len(names)
        return _between(names, _COMMA) + ([Span(f" and {more} more")] if more else [])

    def thread_id(self) -> Cell:
        """Its ID, which is never folded."""
        return [Span(self.overview.thread_id, STRONG)]

    def round(self) -> Cell:
        """The round that it is in; a conversation has none."""
        return [Span(str(self.overview.round))] if self.overview.phase else []

    def phase(self) -> Cell:
        """Its phase in words."""
        text, role = phase_words(self.overview)
        return [Span(text, _STYLES[role])]

    def idle(self) -> Cell:
        """How long nothing has come in."""
        return [Span(span(self.now - self.overview.last_at), QUIET)]

    def question(self) -> list[Span]:
        """What it is about."""
        return [Span(self.overview.question, QUIET)] if self.overview.question else []


def _between(parts: Iterable[Sequence[Span]], gap: Span) -> list[Span]:
    """The parts, with something between each two of them."""
    found: list[Span] = []
    for part in parts:
        found += [gap, *part] if found else part
    return found
