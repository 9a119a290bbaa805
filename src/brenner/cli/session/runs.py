"""`brenner session runs`: what the agents did in earlier runs of a session, and in the one now."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from brenner.cli.options import EXIT_OK, Number, Settings, common_options, examples
from brenner.cli.output import JsonCommand, write_json
from brenner.cli.session.run_view import STYLES, figure_cells, reason_lines
from brenner.cli.table import WIDE_TERMINAL, DisplayRow, TableColumn, format_time, table
from brenner.cli.terminal import (
    ATTENTION,
    PLAIN,
    QUIET,
    STRONG,
    Span,
    agent_span,
    fold,
    format_hint,
    format_message,
    pager_option,
    write_lines,
)
from brenner.cli.threads import find_thread
from brenner.cli.workspace import workspace_of
from brenner.services.run_summary import (
    RunState,
    RunSummary,
    compiled_text,
    describe_stop,
    describe_turn_state,
    run_json,
    run_text,
    summarize_runs,
    total_usage,
    weight_of,
)
from brenner.services.session_status import load_status
from brenner.text import escape_control, thread_argument

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from brenner.services.run_summary import RoundSummary

_USUAL_RUNS = 10


@click.command(
    "runs",
    cls=JsonCommand,
    json_defaults={"thread_id": None, "runs": []},
    epilog=examples(
        "brenner session runs",
        "brenner session runs RS-20251230-cell-fate --limit 1",
        "brenner session runs RS-20251230-cell-fate --json | jq '.runs[0].agents'",
    ),
)
@click.argument("thread", required=False, metavar="[THREAD]")
@click.option(
    "--limit",
    type=Number(1),
    default=_USUAL_RUNS,
    metavar="N",
    help=f"Show at most N (default: {_USUAL_RUNS}).",
)
@pager_option
@common_options
def runs(settings: Settings, *, thread: str | None, limit: int, pager: bool) -> int:
    """Show the runs of a session, the newest first.

    For each agent and round: its turns, its applied and rejected blocks, tool calls, tokens, cost
    and time. Then why the run stopped, and where the logs of the turns are.
    """
    with workspace_of(settings) as here:
        thread = find_thread(here, thread)
        is_over = load_status(here, thread).status.is_over
        found = summarize_runs(here.project, thread, limit)
    now = datetime.now(UTC)
    if settings.as_json:
        write_json({"thread_id": thread, "runs": [run_json(each, now) for each in found]})
    else:
        write_lines(_lines(found, now) if found else _empty_lines(thread, is_over), pager=pager)
    return EXIT_OK


def _empty_lines(thread_id: str, is_over: bool) -> Iterator[str]:
    text = f"No runs of {escape_control(thread_id)} in this folder."
    if is_over:
        yield format_message(f"{text} The session has ended.", sys.stdout)
        return
    yield format_message(f"{text} To start one:", sys.stdout)
    yield format_hint(f"`brenner session run {thread_argument(thread_id)}`", sys.stdout)


def _lines(found: Sequence[RunSummary], now: datetime) -> Iterator[str]:
    for number, each in enumerate(found):
        if number:
            yield "\n"
        yield from _run_lines(each, now)


# One run


_COLUMNS = (
    TableColumn("Round", is_right=True),
    TableColumn("Agent", min_width=8),
    TableColumn("Result", min_width=11),
    TableColumn("Turns", is_right=True),
    TableColumn("Applied", is_right=True),
    TableColumn("Rejected", is_right=True),
    TableColumn("Tools", is_right=True, min_terminal_width=WIDE_TERMINAL),
    TableColumn("Tokens", is_right=True),
    TableColumn("Cost", is_right=True),
    TableColumn("Time", is_right=True, min_terminal_width=WIDE_TERMINAL),
)
_REASON_INDENT = 7  # the width of the first column and the gap after it


def _run_lines(run: RunSummary, now: datetime) -> Iterator[str]:
    out = sys.stdout
    is_running = run.state is RunState.RUNNING
    state = Span(run.state.value, PLAIN if run.state is RunState.STOPPED else ATTENTION)
    head = [Span(f"Run {run.id}", STRONG), Span("  "), state]
    if run.started_at:
        head.append(Span(f"  started {format_time(run.started_at, out)}", QUIET))
    yield fold([], head, "  ", out)
    yield format_hint(run_text(run, now), out)
    if not is_running:
        yield format_hint(escape_control(describe_stop(run), _MOST_WORDS), out)
    if run.turns:
        yield "\n"
        yield from table(_COLUMNS, list(_rows(run, now)), out)
        yield "\n"
    for each in run.rounds:
        if each.compiled:
            yield format_hint(f"Round {each.number}: {compiled_text(each.compiled)}", out)
    yield format_hint(f"Logs: {run.folder}/", out)


_MOST_WORDS = 500


def _rows(run: RunSummary, now: datetime) -> Iterator[DisplayRow]:
    for each in run.rounds:
        yield from _round_rows(each, now)


def _round_rows(found: RoundSummary, now: datetime) -> Iterator[DisplayRow]:
    """Yield a row for each agent. The number of the round is in its first row."""
    for place, each in enumerate(found.agents):
        counts = (
            len(each.turns),
            sum(turn.applied for turn in each.turns),
            sum(turn.rejected for turn in each.turns),
        )
        seconds = sum(turn.seconds_at(now) for turn in each.turns)
        calls = sum(turn.tool_calls for turn in each.turns)
        usage = total_usage(turn.usage for turn in each.turns)
        cells = (
            [Span(str(found.number) if not place else "")],
            [agent_span(each.agent)],
            [Span(describe_turn_state(each), STYLES[weight_of(each)])],
            *([Span(f"{count:,}", PLAIN if count else QUIET)] for count in counts),
            *figure_cells(calls, usage, seconds),
        )
        yield DisplayRow(cells, reason_lines(each, _REASON_INDENT))
