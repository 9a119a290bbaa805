"""The view of a run for people: a table redrawn in place on a terminal, else one line per event."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self, TextIO

from click import unstyle

from brenner.cli.output import supports_styles, terminal_width
from brenner.cli.table import Cell, DisplayRow, TableColumn, cut, table
from brenner.cli.terminal import (
    ATTENTION,
    PLAIN,
    QUIET,
    STRONG,
    STYLE_OF_TYPE,
    Span,
    agent_span,
    display_width,
    fold,
    styled_line,
)
from brenner.protocol.messages import exact_time
from brenner.services.run_summary import (
    Activity,
    AgentRound,
    AgentSummary,
    RoundSummary,
    RunFold,
    RunState,
    RunSummary,
    clock_text,
    compiled_text,
    cost_text,
    describe_stop,
    state_text,
    tokens_text,
    usage_texts,
    weight_of,
)
from brenner.text import escape_control, joined, plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from brenner.integrations.agent_driver import Usage

# The table of a run in progress


_COLUMNS = (
    TableColumn("Agent", min_width=8),
    TableColumn("State", min_width=16),
    TableColumn("Tools", is_right=True),
    TableColumn("Tokens", is_right=True),
    TableColumn("Cost", is_right=True),
    TableColumn("Time", is_right=True),
)
_MOST_ROUNDS = 8
STYLES = {"strong": STRONG, "attention": ATTENTION, "quiet": QUIET, "plain": PLAIN}


def view_lines(run: RunSummary, now: datetime, stream: TextIO) -> Iterator[str]:
    """Yield the lines of the live view: a head, the agents, the rounds, the end."""
    yield _line(_head(run, now), stream)
    yield "\n"
    latest = run.rounds[-1].number if run.rounds else 0
    yield from table(_COLUMNS, [_row(each, latest, now) for each in run.agents], stream)
    yield "\n"
    for each in run.rounds[-_MOST_ROUNDS:]:
        yield _line(_round_spans(each), stream)
    if run.state is not RunState.RUNNING:
        yield "\n"
        yield from fold([], [Span(describe_stop(run), STRONG)], "", stream).splitlines(True)


def _line(spans: Sequence[Span], stream: TextIO) -> str:
    width = terminal_width(stream)
    return styled_line(cut(spans, width) if width else list(spans), stream) + "\n"


def _head(run: RunSummary, now: datetime) -> list[Span]:
    figures = [clock_text(run.seconds_at(now)), *usage_texts(run)]
    return [Span(escape_control(run.thread_id), STRONG), Span(f"  {' · '.join(figures)}")]


def _row(agent: AgentSummary, latest: int, now: datetime) -> DisplayRow:
    """Return an agent: its state, and the figures of all its turns."""
    calls = sum(each.tool_calls for each in agent.turns)
    seconds = sum(each.seconds_at(now) for each in agent.turns)
    figures = figure_cells(calls, agent.usage, seconds)
    cells = ([agent_span(agent.name)], _state_spans(agent, latest, now), *figures)
    return DisplayRow(cells, reason_lines(agent.current))


def reason_lines(each: AgentRound | None, indent: int = 2) -> list[Cell]:
    """Return the line with the reason of a fault, a pause or a rejection: what to do about it."""
    is_rejected = each and each.outcome == "rejected"
    is_shown = each and each.reason and (each.hold or each.fault or is_rejected)
    return [[Span(f"{' ' * indent}{each.reason}", QUIET)]] if each and is_shown else []


def figure_cells(calls: int, usage: Usage, seconds: float) -> list[Cell]:
    """Return the cells of tool calls, tokens, cost and time. Zeros are quiet."""
    return [
        [Span(text, PLAIN if is_some else QUIET)]
        for text, is_some in (
            (str(calls), calls),
            (tokens_text(usage.tokens), usage.tokens),
            (cost_text(usage), usage.cost_usd),
            (clock_text(seconds), seconds),
        )
    ]


def _state_spans(agent: AgentSummary, latest: int, now: datetime) -> Cell:
    current = agent.current
    if current is None:
        return [Span("no turn yet", QUIET)]
    spans = [Span(state_text(current, current.turns), STYLES[weight_of(current)])]
    if current.activity is Activity.WORKING and current.last and current.last.tool:
        spans.append(Span(f": {escape_control(current.last.tool)}", QUIET))
    if current.hold and current.hold.until and current.activity is Activity.WAITING:
        left = max(0.0, (current.hold.until - now).total_seconds())
        spans.append(Span(f", {clock_text(left)} left"))
    if current.round != latest:
        spans.append(Span(f" (round {current.round})", QUIET))
    return spans


_OPEN = (Activity.EXPECTED, Activity.WORKING, Activity.WAITING)


def _round_spans(each: RoundSummary) -> list[Span]:
    start = [Span(f"Round {each.number}", STRONG), Span("  ")]
    if each.compiled:
        style = STYLE_OF_TYPE["COMPILED"] if each.compiled.is_published else PLAIN
        return [*start, Span(compiled_text(each.compiled), style)]
    left = [found.agent for found in each.agents if found.activity in _OPEN]
    words = f"waiting for {joined(left)}" if left else "not compiled"
    return [*start, Span(escape_control(words), QUIET)]


# Drawing in place


_REDRAW_SECONDS = 0.25
_TICK_SECONDS = 1.0
_STANDARD_ERROR = 2
_DEFAULT_SIZE = os.terminal_size((80, 24))


class LiveRunView:
    """Shows a run as a table that is redrawn in place, from its first event on. The end stays.

    Events may come from any thread.
    """

    def __init__(self, about: Mapping[str, object], stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._fold = RunFold(about)
        self._lock = threading.RLock()
        self._notice = ""
        self._drawn: list[int] = []  # the widths of the lines on the screen
        self._changed, self._ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="run view", daemon=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._changed.set()
        if self._thread.ident is not None:
            self._thread.join()
            self._draw(is_last=True)

    def show(self, event: Mapping[str, object]) -> None:
        """Take an event into the view."""
        with self._lock:
            self._fold.add(event)
            if self._thread.ident is None:
                self._thread.start()
        self._changed.set()

    def notice(self, text: str) -> None:
        """Show a sentence below the view from now on. A signal handler may call this: no lock."""
        self._notice = text

    def _run(self) -> None:
        """Draw after a change and each second, a few times a second at most.

        A terminal that is gone ends only the view: the command reports it at its end.
        """
        with suppress(OSError):
            while not self._ended.is_set():
                self._draw()
                self._changed.wait(_TICK_SECONDS)
                self._changed.clear()
                self._ended.wait(_REDRAW_SECONDS)

    def _draw(self, *, is_last: bool = False) -> None:
        """Draw the view. Only the last drawing may be higher than the terminal."""
        with self._lock:
            run = self._fold.summary()
            lines = list(view_lines(run, datetime.now(UTC), self._stream))
            if not is_last:
                most = max(1, _terminal_size(self._stream).lines - 2)
                lines = [*lines[:most], _line([Span(self._notice, ATTENTION)], self._stream)]
            self._stream.write(self._erase_sequence() + "".join(lines))
            self._stream.flush()
            widths = [display_width(unstyle(line.rstrip("\n"))) for line in lines]
            self._drawn = [] if is_last else widths

    def _erase_sequence(self) -> str:
        """Return the codes that erase the view. A terminal that became narrower wrapped lines."""
        columns = _terminal_size(self._stream).columns
        rows = sum(1 + max(0, width - 1) // columns for width in self._drawn)
        return f"\r\x1b[{rows}A\x1b[J" if rows else ""


def _terminal_size(stream: TextIO) -> os.terminal_size:
    """Return the terminal's own size, ignoring COLUMNS: a wrapped line could not be erased."""
    with suppress(OSError, ValueError):
        size = os.get_terminal_size(stream.fileno())
        if size.columns and size.lines:
            return size
    return _DEFAULT_SIZE


# One line per event


class PlainRunView:
    """Writes one line when a turn begins or ends, after each compile, and at the end."""

    def __init__(self, about: Mapping[str, object], stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._fold = RunFold(about)
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing: each line was complete."""

    def notice(self, text: str) -> None:
        """Write a sentence to the standard error. A signal handler may call this."""
        write_notice(text)

    def show(self, event: Mapping[str, object]) -> None:
        """Write the line of an event, if it has one."""
        with self._lock:
            self._fold.add(event)
            text = _event_text(event, self._fold.summary())
            if text:
                start = exact_time(datetime.now(UTC))
                self._stream.write(f"{start}  {escape_control(text, _MOST_LINE)}\n")
                self._stream.flush()


_MOST_LINE = 500  # characters


def _event_text(event: Mapping[str, object], run: RunSummary) -> str:
    """Return an event in one line, from the state of the run after it."""
    kind = event.get("event")
    if kind == "stop":
        figures = [plural(len(run.rounds), "round"), *usage_texts(run)]
        return f"{describe_stop(run)} ({', '.join(figures)})"
    found = next((each for each in run.rounds if each.number == event.get("round")), None)
    if found is None:
        return ""
    if kind == "round":
        names = joined([each.agent for each in found.agents]) or "no agent"
        ended = " (ended what an earlier run left)" if event.get("ended_processes") else ""
        return f"Round {found.number}: turns of {names}{ended}"
    if kind == "compile" and found.compiled:
        return f"Round {found.number}: {compiled_text(found.compiled)}"
    own = [each for each in found.agents if each.agent == event.get("agent")]
    return _turn_text(own[0]) if kind == "turn" and own else ""


def _turn_text(each: AgentRound) -> str:
    """Return what an agent does now, or how its turn ended."""
    words = f"{each.agent}: {state_text(each, each.turns[-1:])}"
    if each.activity is Activity.DONE and each.last:
        usage = each.last.usage
        figures = [f"{each.last.tool_calls} tool calls", f"{tokens_text(usage.tokens)} tokens"]
        figures += [cost_text(usage)] * (usage.cost_usd is not None)
        figures.append(clock_text(each.last.seconds))
        words = f"{words} ({', '.join(figures)})"
    if each.activity is Activity.WAITING and each.hold and each.hold.until:
        words = f"{words} until {exact_time(each.hold.until)}"
    return f"{words}: {each.reason}" if reason_lines(each) else words


def write_notice(text: str) -> None:
    """Write a sentence to the standard error, not to the buffer: a signal may interrupt a write."""
    os.write(_STANDARD_ERROR, f"{text}\n".encode())


def run_view(
    about: Mapping[str, object], stream: TextIO | None = None
) -> LiveRunView | PlainRunView:
    """Return the view that fits the output: redrawn in place on a terminal that shows styles."""
    is_live = supports_styles(stream or sys.stdout)
    return LiveRunView(about, stream) if is_live else PlainRunView(about, stream)
