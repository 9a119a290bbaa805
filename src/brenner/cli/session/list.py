"""`brenner session list`: all sessions in a table, the most urgent first."""

import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import click

from brenner.cli.options import Number, Settings, common_options, examples
from brenner.cli.output import JsonCommand, Progress, terminal_width, write_json
from brenner.cli.table import Cell, DisplayRow, TableColumn, table
from brenner.cli.terminal import (
    ATTENTION,
    PLAIN,
    QUIET,
    STRONG,
    STYLE_OF_TYPE,
    Span,
    Style,
    agent_span,
    format_hint,
    format_message,
    pager_option,
    write_lines,
)
from brenner.cli.workspace import EXIT_OK, workspace_of
from brenner.protocol.messages import duration_text, exact_time
from brenner.services.sessions import SessionList, list_sessions
from brenner.session.model import Phase
from brenner.session.overview import (
    NO_SESSIONS,
    START_COMMAND,
    AckViewer,
    ColorRole,
    Need,
    Overview,
    count_needs,
    describe_needs,
    describe_owed_acks,
    describe_phase,
    describe_skipped_threads,
    needs_of,
    overview_json,
    summarize_counts,
    urgency_key,
)
from brenner.session.status_text import PHASE_LABELS
from brenner.text import joined, thread_argument

_MAX_SESSIONS = 50
_CONVERSATION = "conversation"
_PHASES = (*map(str, Phase), _CONVERSATION)


@click.command(
    "list",
    cls=JsonCommand,
    json_defaults={"sessions": [], "only_files": []},
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
        found = list_sessions(here, progress)
    now, deadline = datetime.now(UTC), here.project.ack_deadline
    query = _ListQuery(here.actor, now, deadline, phase, limit, is_all)
    if is_line:
        sys.stdout.write(
            summarize_counts(count_needs(found.sessions.values(), now, deadline)) + "\n"
        )
        return EXIT_OK
    from brenner.services.session_files import sessions_only_in_files  # `--line` does not need it

    only_files = sessions_only_in_files(here.project, found.sessions)
    matching = sorted(filter(query.matches_phase, found.sessions.values()), key=query.sort_key)
    if settings.as_json:
        write_json({**_document(matching, query), "only_files": list(only_files)})
    else:
        write_lines(_lines(matching, found, query, only_files), pager=pager)
    return EXIT_OK


class _ListQuery(NamedTuple):
    """The options of the list, with the actor, the current time and the ACK deadline."""

    actor: str
    now: datetime
    deadline: timedelta
    phase: str | None
    limit: int | None
    is_all: bool

    def matches_phase(self, each: Overview) -> bool:
        """Return whether a session is in the requested phase."""
        return self.phase in (None, each.phase or _CONVERSATION)

    def sort_key(self, each: Overview) -> tuple[object, ...]:
        """Return a sort key that puts urgent sessions first."""
        return urgency_key(each, self.now, self.deadline)

    def is_only_counted(self, each: Overview) -> bool:
        """Return whether a session is counted but not listed: complete, with nothing open."""
        is_done = needs_of(each, self.now, self.deadline)[0] is Need.COMPLETE
        return is_done and not (self.is_all or self.phase)

    @property
    def max_rows(self) -> int | None:
        """Return how many rows the table has at most, or None for no limit."""
        return self.limit or (None if self.is_all else _MAX_SESSIONS)


def _document(matching: Sequence[Overview], query: _ListQuery) -> dict[str, object]:
    """Return the JSON document.

    The counts cover all matching sessions, even if `limit` lists fewer.
    """
    return {
        "sessions": [
            overview_json(each, query.now, query.deadline) for each in matching[: query.limit]
        ],
        "summary": count_needs(matching, query.now, query.deadline),
    }


def _lines(
    matching: Sequence[Overview], found: SessionList, query: _ListQuery, only_files: Sequence[str]
) -> Iterator[str]:
    """Yield the summary, the table, and what was left out."""
    if not matching:
        yield from _empty_lines(found, query)
        yield from _file_only_lines(only_files, query)
        return

    summary = count_needs(matching, query.now, query.deadline)
    yield format_message(f"{summarize_counts(summary)}.", sys.stdout)
    you = AckViewer(query.actor, "You owe", query.now, query.deadline)
    if acks := describe_owed_acks([each for session in matching for each in session.owed], you):
        yield format_message(acks, sys.stdout)
    listed = [each for each in matching if not query.is_only_counted(each)]
    shown = listed[: query.max_rows]
    if shown:
        yield "\n"
        yield from session_table(shown, query.now, query.deadline)
    yield "\n"
    yield from _left_out_lines(len(listed) - len(shown), len(matching) - len(listed), found)
    yield from _file_only_lines(only_files, query)
    if shown:
        first = thread_argument(shown[0].thread_id)
        yield format_hint(
            f"`brenner session status {first}` says more about the first.", sys.stdout
        )


def _left_out_lines(more: int, complete: int, found: SessionList) -> Iterator[str]:
    """Say what is not shown, and how to see it."""
    shows = "`brenner session list --all` shows"
    if more:
        are, them = ("is", "it") if more == 1 else ("are", "them")
        yield format_message(f"{more:,} more {are} not shown: {shows} {them}", sys.stdout)
    if complete:
        are, them = ("session is", "it") if complete == 1 else ("sessions are", "them")
        text = f"{complete:,} {are} complete, and nothing waits there: {shows} {them}"
        yield format_message(text, sys.stdout)
    if others := describe_skipped_threads(len(found.others)):
        yield format_message(f"{others}: `brenner mail thread` lists all threads", sys.stdout)


def _file_only_lines(names: Sequence[str], query: _ListQuery) -> Iterator[str]:
    """List the sessions that exist only as files, as in a clone.

    Without mail their phase is unknown.
    """
    if names and not query.phase:
        are = "session is" if len(names) == 1 else "sessions are"
        shows = "`brenner session show ID` says more"
        text = f"{len(names):,} {are} only in artifacts/: {joined(names)}. {shows}."
        yield format_message(text, sys.stdout)


def _empty_lines(found: SessionList, query: _ListQuery) -> Iterator[str]:
    if query.phase and found.sessions:
        everything = "`brenner session list` shows those of all phases."
        yield format_message(f"No session is in the phase {query.phase}. {everything}", sys.stdout)
        return
    yield format_message(NO_SESSIONS, sys.stdout)
    yield format_hint(f"`{START_COMMAND}`", sys.stdout)
    yield from _left_out_lines(0, 0, found)


# Sessions as table rows. A narrow terminal shows two lines per session. A wide one has a column for
# the turn. A pipe gets one whole line per session.


_WIDE_TERMINAL = 120
_MAX_NAMES = 3
_ROLE_STYLES: dict[ColorRole, Style] = {
    "attention": ATTENTION,
    "notice": STYLE_OF_TYPE["QUESTION"],
    "positive": STYLE_OF_TYPE["COMPILED"],
    "plain": PLAIN,
    "quiet": QUIET,
}
# Only an engineering ID can be longer. It is cut, so that the columns stay aligned.
_LONGEST_USUAL_ID = len("RS-20251230-") + 40
_ID, _ROUND = (
    TableColumn("Session", min_width=_LONGEST_USUAL_ID),
    TableColumn("Round", is_right=True),
)
_NEEDS, _TURN = TableColumn("Needs"), TableColumn("Turn", min_width=16)
_PHASE, _IDLE = TableColumn("Phase"), TableColumn("Idle", is_right=True)
_NARROW_COLUMNS = (_NEEDS, _ID, _IDLE)
_WIDE_COLUMNS = (_NEEDS, _ID, _ROUND, _PHASE, _TURN, _IDLE)
_PIPE_COLUMNS = (_NEEDS, _ID, _ROUND, _PHASE, _TURN, TableColumn("Last"), TableColumn("Question"))
_DOT, _COMMA = Span(" · ", QUIET), Span(", ")


def session_table(shown: Sequence[Overview], now: datetime, deadline: timedelta) -> Iterator[str]:
    """Return the table lines for the width of the terminal."""
    sessions = [_SessionCells(each, now, deadline) for each in shown]
    width = terminal_width(sys.stdout)
    if not width:
        return table(_PIPE_COLUMNS, [_pipe_row(each) for each in sessions], sys.stdout)
    if width < _WIDE_TERMINAL:
        return table(_NARROW_COLUMNS, [_narrow_row(each) for each in sessions], sys.stdout)
    return table(_WIDE_COLUMNS, [_wide_row(each) for each in sessions], sys.stdout)


def _narrow_row(each: "_SessionCells") -> DisplayRow:
    head, *others = each.needs()
    progress = each.progress({need.text for need in (head, *others)})
    below = (_join_spans(([need] for need in others), _COMMA), progress, each.question())
    return DisplayRow(([head], each.thread_id(), each.idle()), _second_line(below))


def _wide_row(each: "_SessionCells") -> DisplayRow:
    head, *others = each.needs()
    [phase] = each.phase()
    cells = ([head], each.thread_id(), each.round(), [phase], each.turn(), each.idle())
    more = _join_spans(([need] for need in others if need.text != phase.text), _COMMA)
    return DisplayRow(cells, _second_line((more, each.question())))


def _pipe_row(each: "_SessionCells") -> DisplayRow:
    needs = _join_spans(([need] for need in each.needs()), _COMMA)
    turn = each.turn(most=len(each.overview.awaited))
    last = [Span(exact_time(each.overview.last_at))]
    cells = (needs, each.thread_id(), each.round(), each.phase(), turn, last, each.question())
    return DisplayRow(cells)


def _second_line(parts: Iterable[Sequence[Span]]) -> list[Cell]:
    """Return the line below a row, or nothing if it would be empty."""
    below = _join_spans((part for part in parts if part), _DOT)
    return [[Span("  "), *below]] if below else []


class _SessionCells(NamedTuple):
    """The table cells of a session at a given time."""

    overview: Overview
    now: datetime
    deadline: timedelta

    def needs(self) -> list[Span]:
        """Return what is open, the most urgent first and critiques last.

        If nothing is open, return the phase.
        """
        words = describe_needs(self.overview, self.now, self.deadline)
        return [Span(each.text, _ROLE_STYLES[each.role]) for each in words]

    def progress(self, shown: Collection[str]) -> list[Span]:
        """Return the round, the awaited agents, and the phase unless it is in `shown`."""
        phase = PHASE_LABELS[self.overview.phase]
        has_round = self.overview.phase is not None
        parts = [
            [Span(f"round {self.overview.round}")] if has_round else [],
            [Span(phase)] if phase not in shown else [],
            [Span("waits for "), *self.turn()] if self.overview.awaited else [],
        ]
        return _join_spans((part for part in parts if part), _COMMA)

    def turn(self, most: int = _MAX_NAMES) -> list[Span]:
        """Return the agents that the round waits for, in the order of the participants."""
        awaited = self.overview.awaited
        names = [[agent_span(each.name)] for each in awaited[:most]]
        more = len(awaited) - len(names)
        return _join_spans(names, _COMMA) + ([Span(f" and {more} more")] if more else [])

    def thread_id(self) -> Cell:
        return [Span(self.overview.thread_id, STRONG)]

    def round(self) -> Cell:
        """Return the current round. A conversation has none."""
        return [Span(str(self.overview.round))] if self.overview.phase else []

    def phase(self) -> Cell:
        text, role = describe_phase(self.overview)
        return [Span(text, _ROLE_STYLES[role])]

    def idle(self) -> Cell:
        """Return the time since the last message."""
        return [Span(duration_text(self.now - self.overview.last_at), QUIET)]

    def question(self) -> list[Span]:
        """Return the research question, or nothing if there is none."""
        return [Span(self.overview.question, QUIET)] if self.overview.question else []


def _join_spans(parts: Iterable[Sequence[Span]], gap: Span) -> list[Span]:
    """Join the parts with a separator."""
    found: list[Span] = []
    for part in parts:
        found += [gap, *part] if found else part
    return found
