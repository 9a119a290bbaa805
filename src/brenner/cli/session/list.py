"""`brenner session list`: all sessions in a table, the most urgent first."""

from __future__ import annotations

import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from brenner.cli.options import EXIT_OK, Number, Settings, common_options, examples
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
from brenner.cli.workspace import workspace_of
from brenner.mail.open import describe_place
from brenner.named_tuple import NamedTuple
from brenner.protocol.messages import exact_time, relative_time
from brenner.services.sessions import SessionList, list_sessions
from brenner.session.model import Phase
from brenner.session.overview import (
    NO_SESSIONS,
    OTHER_THREADS,
    START_COMMAND,
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
    split_sessions,
    summarize_counts,
    urgency_key,
)
from brenner.session.status_text import PHASE_LABELS, StatusReader, describe_round
from brenner.text import grouped, joined, thread_argument

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from brenner.config import Project

_MAX_SESSIONS = 50
_CONVERSATION = "conversation"
_PHASES = (*map(str, Phase), _CONVERSATION)


@click.command(
    "list",
    cls=JsonCommand,
    json_defaults={"sessions": [], "other_threads": [], "only_files": []},
    epilog=examples(
        "brenner session list",
        "brenner session list --phase ready_to_compile",
        "brenner session list --all --limit 20",
        "brenner session list --line",
    ),
)
@click.option("--all", "is_all", is_flag=True, help="Also list completed and cancelled sessions.")
@click.option("--limit", type=Number(1), metavar="N", help="Show at most N (default: 50).")
@click.option(
    "--phase",
    type=click.Choice(_PHASES, case_sensitive=False),
    metavar="PHASE",
    help=f"Only this phase: {', '.join(_PHASES)}.",
)
@click.option(
    "--line", "is_line", is_flag=True, help="Print one line, for a prompt or a status bar."
)
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
    """List all sessions, those that need you first.

    Completed and cancelled sessions with nothing open are only counted, unless you add --all.
    --json lists them all. Threads with neither a kickoff nor a version are listed apart. --line
    prints how many sessions need you, for a shell prompt; without sessions the line is
    empty.
    """
    if is_line and (is_all or limit or phase or settings.as_json):
        message = "--line cannot be used with --all, --limit, --phase or --json."
        raise click.UsageError(message)
    with workspace_of(settings) as here, Progress() as progress:
        found = list_sessions(here, progress)
    now, deadline = datetime.now(UTC), here.project.ack_deadline
    if is_line:
        counts = count_needs(found.sessions.values(), now, deadline)
        sys.stdout.write(f"{summarize_counts(counts)}\n")
        return EXIT_OK
    from brenner.services.session_files import sessions_only_in_files  # `--line` does not need it

    only_files = sessions_only_in_files(here.project, found.sessions)
    in_phase = (
        each for each in found.sessions.values() if phase in (None, each.phase or _CONVERSATION)
    )
    matching = sorted(in_phase, key=lambda each: urgency_key(each, now, deadline))
    if settings.as_json:
        sessions, others = split_sessions(matching)
        # The counts cover all matching sessions, even if `limit` lists fewer
        write_json(
            {
                "sessions": [overview_json(each, now, deadline) for each in sessions[:limit]],
                "other_threads": [overview_json(each, now, deadline) for each in others[:limit]],
                "summary": count_needs(matching, now, deadline),
                "only_files": list(only_files),
            }
        )
    else:
        query = _ListQuery(here.actor, here.project, now, phase, limit, is_all)
        write_lines(_lines(matching, found, query, only_files), pager=pager)
    return EXIT_OK


# They are last in the order of needs
_ENDED_NEEDS = (Need.COMPLETE, Need.CANCELLED)


class _ListQuery(NamedTuple):
    """The options of the list, with the actor, its project and the current time."""

    actor: str
    project: Project
    now: datetime
    phase: str | None
    limit: int | None
    is_all: bool

    @property
    def deadline(self) -> timedelta:
        return self.project.ack_deadline


def _lines(
    matching: Sequence[Overview], found: SessionList, query: _ListQuery, only_files: Sequence[str]
) -> Iterator[str]:
    """Yield the summary, the table, and what was left out."""
    if not matching:
        yield from _empty_lines(found, query)
        yield from _file_only_lines(only_files, query)
        return

    summary = count_needs(matching, query.now, query.deadline)
    you = StatusReader(query.actor, "", query.now, query.deadline)
    owed = [each for session in matching for each in session.owed]
    acks = describe_owed_acks(owed, you, "You owe")
    yield format_message(f"{summarize_counts(summary)}. {acks}".rstrip(), sys.stdout)
    sessions, others = split_sessions(matching)
    # Ended sessions in which nothing is open are only counted
    ended = Counter(
        need
        for each in sessions
        if not (query.is_all or query.phase)
        and (need := needs_of(each, query.now, query.deadline)[0]) in _ENDED_NEEDS
    )
    listed = sessions[: len(sessions) - ended.total()]
    most = query.limit or (None if query.is_all else _MAX_SESSIONS)
    shown, shown_others = listed[:most], others[:most]
    if shown:
        yield "\n"
        yield from session_table(shown, query.now, query.deadline)
    if shown_others:
        yield "\n" + format_message(f"{OTHER_THREADS}:", sys.stdout)
        yield from session_table(shown_others, query.now, query.deadline)
    yield "\n"
    more = len(listed) - len(shown) + len(others) - len(shown_others)
    yield from _left_out_lines(more, ended, found)
    yield from _file_only_lines(only_files, query)
    if shown or shown_others:
        first = thread_argument((*shown, *shown_others)[0].thread_id)
        yield format_message(f"Next: `brenner session status {first}`", sys.stdout)


def _left_out_lines(more: int, ended: Mapping[Need, int], found: SessionList) -> Iterator[str]:
    """Say what is not shown, and how to see it."""
    everything = "`brenner session list --all`"
    if more:
        yield format_message(f"{more:,} more not shown: {everything}", sys.stdout)
    for need, count in sorted(ended.items()):
        text = grouped(count, f"{need.value} session")
        yield format_message(f"{text} not shown: {everything}", sys.stdout)
    if others := describe_skipped_threads(len(found.others)):
        yield format_message(f"{others}: `brenner mail thread`", sys.stdout)


def _file_only_lines(names: Sequence[str], query: _ListQuery) -> Iterator[str]:
    """List the sessions that exist only as files, as in a clone.

    Without mail their phase is unknown.
    """
    if names and not query.phase:
        count = grouped(len(names), "session")
        first = thread_argument(names[0])
        text = f"{count} only in artifacts/: {joined(names)}. Details: "
        yield format_message(f"{text}`brenner session show {first}`", sys.stdout)


def _empty_lines(found: SessionList, query: _ListQuery) -> Iterator[str]:
    if query.phase and found.sessions:
        text = f"No session is in phase {query.phase}. All phases: `brenner session list`"
        yield format_message(text, sys.stdout)
        return
    place = describe_place(query.project)
    yield format_message(f"{NO_SESSIONS} in {place}. To start one:", sys.stdout)
    yield format_hint(f"`{START_COMMAND}`", sys.stdout)
    yield from _left_out_lines(0, {}, found)


# Sessions as table rows. A narrow terminal shows two lines per session. A wide one has a column for
# the awaited agents. A pipe gets one whole line per session.


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
_NEEDS, _TURN = TableColumn("Needs"), TableColumn("Waiting for", min_width=16)
_PHASE, _LAST = TableColumn("Phase"), TableColumn("Last mail", is_right=True)
_NARROW_COLUMNS = (_NEEDS, _ID, _LAST)
_WIDE_COLUMNS = (_NEEDS, _ID, _ROUND, _PHASE, _TURN, _LAST)
_PIPE_COLUMNS = (
    *(_NEEDS, _ID, _ROUND, _PHASE, _TURN),
    *(TableColumn("Last mail"), TableColumn("Question")),
)
_DOT, _COMMA = Span(" · ", QUIET), Span(", ")


def session_table(shown: Sequence[Overview], now: datetime, deadline: timedelta) -> Iterator[str]:
    width = terminal_width(sys.stdout)
    columns: Sequence[TableColumn] = _PIPE_COLUMNS
    row: Callable[[Overview, list[Span], Cell], DisplayRow] = _pipe_row
    if width:
        is_wide = width >= _WIDE_TERMINAL
        columns, row = (_WIDE_COLUMNS, _wide_row) if is_wide else (_NARROW_COLUMNS, _narrow_row)
    rows = []
    for each in shown:
        needs = describe_needs(each, now, deadline)
        spans = [Span(text, _ROLE_STYLES[role]) for text, role in needs]
        rows.append(row(each, spans, [Span(relative_time(each.last_at, now), QUIET)]))
    return table(columns, rows, sys.stdout)


def _narrow_row(each: Overview, needs: list[Span], last: Cell) -> DisplayRow:
    head, *others = needs
    more = _join_spans(([need] for need in others), _COMMA)
    below = (more, _progress_spans(each, {need.text for need in needs}), _question_spans(each))
    return DisplayRow(([head], [Span(each.thread_id, STRONG)], last), _second_line(below))


def _wide_row(each: Overview, needs: list[Span], last: Cell) -> DisplayRow:
    head, *others = needs
    phase = _phase_span(each)
    more = _join_spans(([need] for need in others if need.text != phase.text), _COMMA)
    phase_cell = [phase] if phase.text != head.text else []
    cells = ([head], *_id_and_round(each), phase_cell, _turn_spans(each), last)
    return DisplayRow(cells, _second_line((more, _question_spans(each))))


def _pipe_row(each: Overview, needs: list[Span], _last: Cell) -> DisplayRow:
    all_needs = _join_spans(([need] for need in needs), _COMMA)
    turn = _turn_spans(each, most=len(each.awaited))
    last = [Span(exact_time(each.last_at))]
    cells = (all_needs, *_id_and_round(each), [_phase_span(each)], turn, last)
    return DisplayRow((*cells, _question_spans(each)))


def _second_line(parts: Iterable[Sequence[Span]]) -> list[Cell]:
    """Return the line below a row, or nothing if it would be empty."""
    below = _join_spans((part for part in parts if part), _DOT)
    return [[Span("  "), *below]] if below else []


def _id_and_round(each: Overview) -> tuple[Cell, Cell]:
    """Return the cells of the thread and of its round. A conversation has none."""
    return [Span(each.thread_id, STRONG)], [Span(str(each.round))] if each.phase else []


def _phase_span(each: Overview) -> Span:
    text, role = describe_phase(each)
    return Span(text, _ROLE_STYLES[role])


def _progress_spans(each: Overview, shown: Collection[str]) -> list[Span]:
    """Return the round, the awaited agents, and the phase unless it is in `shown`."""
    phase = PHASE_LABELS[each.phase]
    is_named = each.phase in (Phase.AWAITING_ACKS, Phase.AWAITING_DELTAS) and phase not in shown
    waits = f"{phase}: " if is_named else "waiting for "
    if each.phase is Phase.IN_CRITIQUE:
        text = f"next: round {each.round}"
        text = text if phase in shown else describe_round(each.phase, each.round).lower()
        return [Span(text)]
    parts = [
        [Span(f"round {each.round}")] if each.phase else [],
        [Span(phase)] if phase not in shown and not (is_named and each.awaited) else [],
        [Span(waits), *_turn_spans(each)] if each.awaited else [],
    ]
    return _join_spans((part for part in parts if part), _COMMA)


def _turn_spans(each: Overview, most: int = _MAX_NAMES) -> list[Span]:
    """Return the agents that the round waits for, in the order of the participants."""
    names = [[agent_span(name)] for name, _ in each.awaited[:most]]
    more = len(each.awaited) - len(names)
    return _join_spans(names, _COMMA) + ([Span(f" and {more} more")] if more else [])


def _question_spans(each: Overview) -> list[Span]:
    return [Span(each.question, QUIET)] if each.question else []


def _join_spans(parts: Iterable[Sequence[Span]], gap: Span) -> list[Span]:
    found: list[Span] = []
    for part in parts:
        found += [gap, *part] if found else part
    return found
