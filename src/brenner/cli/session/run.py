"""`brenner session run`: drive the agents' own programs through the rounds of a session."""

from __future__ import annotations

import signal
import sys
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from brenner.cli.options import (
    EXIT_INVALID,
    EXIT_OK,
    EXIT_UNAVAILABLE,
    EXIT_USAGE,
    Number,
    Settings,
    common_options,
    examples,
)
from brenner.cli.output import JsonCommand, count_by_severity, note_changes_made, write_diagnostics
from brenner.cli.session.run_view import run_view, write_notice
from brenner.cli.session.start import read_start_options, report_unreadable, session_options
from brenner.cli.session.watch import write_json_line
from brenner.cli.terminal import QUIET, Span, agent_span, fold, print_hint, print_message
from brenner.cli.threads import find_thread
from brenner.cli.workspace import (
    diagnostic_of,
    exit_code,
    project_of,
    workspace_for_writing,
    workspace_of,
    write_error,
)
from brenner.diagnostics.codes import running as codes
from brenner.diagnostics.model import BrennerError, Diagnostic, Summary
from brenner.named_tuple import NamedTuple
from brenner.services.run_plan import (
    RunOptions,
    RunPlan,
    plan_existing_session,
    plan_new_session,
    preview_turns,
)
from brenner.services.start_session import StartOptions
from brenner.text import escape_control, joined, plural, thread_argument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from brenner.services.rosters import RosterRequest
    from brenner.services.run_log import Event
    from brenner.services.run_plan import TurnPreview
    from brenner.services.run_session import RunEnd, SessionRun
    from brenner.services.workspace import Workspace

_INTERRUPTED = 130
_MOST_MINUTES = 7 * 24 * 60
_NOT_GIVEN = (None, False, ())
_SETUP_CODES = (codes.AGENT_WITHOUT_DRIVER, codes.OPTION_NOT_FOR_PROGRAM)


@click.command(
    "run",
    cls=JsonCommand,
    json_defaults={"event": "stop", "reason": "failed"},
    epilog=examples(
        "brenner session run --question @question.md --context @background.md \\",
        "    --preset default-3-agent --to BlueLake --to RedSky --to GreenDog",
        "brenner session run RS-20251230-cell-fate --rounds 2 --minutes 60",
        "brenner session run RS-20251230-cell-fate --dry-run",
    ),
)
@click.argument("thread", required=False, metavar="[THREAD]")
@session_options
@click.option("--rounds", type=Number(1), metavar="N", help="Stop after N rounds (default: 3).")
@click.option(
    "--minutes",
    type=click.FloatRange(0, _MOST_MINUTES, min_open=True),
    metavar="N",
    help="Stop after N minutes.",
)
@click.option("--budget-tokens", type=Number(1), metavar="N", help="Stop after N tokens.")
@click.option(
    "--budget-usd",
    type=click.FloatRange(0, min_open=True),
    metavar="N",
    help="Stop after N dollars, if every program reports its cost.",
)
@click.option("--together", is_flag=True, help="Let all agents write in round 1, not only some.")
@click.option("--read-project", is_flag=True, help="Let agents read the project's files.")
@click.option("--dry-run", is_flag=True, help="Show agents, commands and limits; start nothing.")
@common_options
def run(
    settings: Settings,
    thread: str | None,
    *,
    wish: RosterRequest,
    dry_run: bool,
    **options_given: Any,
) -> int:
    """Run the agents of THREAD: kickoffs, turns, compile, next round.

    Each agent's own program (Claude Code, Codex, Gemini, or one of `brenner.toml`) is started for
    each turn, with Brenner's tools only. With --question and --context a new session is started, as
    by `brenner session start`. In round 1 the agents that write hypotheses go first, unless
    --together or --independent. The run stops after --rounds, at a limit, when no agent adds
    anything, or when nothing is open. It decides nothing for you.

    Ctrl-C stops it after the running turns, a second Ctrl-C at once. The same command continues an
    interrupted run. With --json each event is one JSON object on one line.
    """
    own = [name for name in RunOptions._fields if name != "independent"]
    limits = {name: options_given.pop(name) for name in own}
    options = RunOptions(**limits, independent=bool(options_given["independent"]))
    start = _read_start(thread, wish, options_given)
    if start is not None and not isinstance(start, StartOptions):
        return report_unreadable(start, settings)
    asked = _Asked(thread, start, wish, options)
    try:
        return _run(settings, asked, dry_run=dry_run)
    except BrennerError as error:
        if not settings.as_json:
            raise
        _write_failure_line([diagnostic_of(error, settings)])
        return exit_code(error)


def _read_start(thread: str | None, wish: RosterRequest, given: dict[str, Any]) -> Any:
    """Return the options of a new session; None for an existing one."""
    asked = [name for name, value in given.items() if value not in _NOT_GIVEN]
    own = [name for name in asked if name not in ("independent", "register")]
    if thread is not None and own:
        option = f"--{own[0].replace('_', '-')}"
        message = f"Name an existing THREAD or give {option} for a new session, not both."
        raise click.UsageError(message)
    return read_start_options(given, wish) if own else None


class _Asked(NamedTuple):
    """What the command line asks for: an existing thread, or `start` for a new session."""

    thread: str | None
    start: StartOptions | None
    wish: RosterRequest
    options: RunOptions


def _run(settings: Settings, asked: _Asked, *, dry_run: bool) -> int:
    thread, start, wish, options = asked
    project = project_of(settings) if start else None
    with workspace_of(settings, project=project) as here:
        if start:
            plan = plan_new_session(here, start, options)
        else:
            plan = plan_existing_session(here, find_thread(here, thread), wish, options)
        if dry_run or plan.errors:
            turns = () if plan.errors else preview_turns(here, plan)
            return _report_plan(plan, turns, settings)
        project = here.project
    if not settings.as_json:
        write_diagnostics(plan.diagnostics, "run", sys.stderr)
    with workspace_for_writing(settings, project=project) as here:
        return _drive(here, plan, settings)


def _drive(here: Workspace, plan: RunPlan, settings: Settings) -> int:
    """Run the plan, with the endpoint for its agents. Signals end it."""
    # The server takes long to import.
    from brenner.server.run_endpoint import new_token, run_endpoint
    from brenner.services.identity import new_secret
    from brenner.services.run_session import RunAccess, run_session

    token, secrets = new_token(), {each.name: new_secret() for each in plan.agents}
    access = RunAccess(token, secrets, partial(run_endpoint, here.project, token, secrets))
    with RunSignals() as signals:

        @contextmanager
        def open_view(about: Event) -> Iterator[Callable[[Event], None]]:
            if settings.as_json:
                yield write_json_line
                return
            with run_view(about) as view:
                signals.notice = view.notice
                yield view.show

        def on_start(started: SessionRun) -> None:
            note_changes_made()
            signals.run = started

        done = run_session(here, plan, access, open_view, on_start)
    if not settings.as_json:
        _report_end(done, plan)
    return _exit_code_of(done)


def _exit_code_of(done: RunEnd) -> int:
    if done.reason == "interrupted":
        return _INTERRUPTED
    if done.failed:
        return exit_code(done.failed)
    return EXIT_OK if done.has_contributions else EXIT_INVALID


class RunSignals:
    """Signal handlers during a run: the first Ctrl-C lets the running turns finish.

    The second, SIGTERM and SIGHUP stop them at once. An ignored signal stays ignored.
    """

    def __init__(self) -> None:
        self.run: SessionRun | None = None
        self.notice: Callable[[str], None] = write_notice
        self._before: dict[int, Any] = {}
        self._count = 0

    def __enter__(self) -> RunSignals:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if self.run is None:
            raise KeyboardInterrupt
        self._count += 1
        is_first = self._count == 1 and number == signal.SIGINT
        notice = _FINISHING if is_first else _STOPPING
        self.notice(notice)
        self.run.interrupt(at_once=not is_first)


_FINISHING = "Finishing the running turns. Press Ctrl-C again to stop them now."
_STOPPING = "Stopping the running turns."


# The plan


def _report_plan(plan: RunPlan, turns: tuple[TurnPreview, ...], settings: Settings) -> int:
    """Show a dry run, or the errors that prevent a run. Return the exit code."""
    if settings.as_json:
        if plan.errors:
            _write_failure_line(plan.diagnostics)
        else:
            write_json_line(_plan_json(plan, turns))
    else:
        write_diagnostics(plan.diagnostics, "run", sys.stderr)
        if plan.errors:
            summary = count_by_severity(Summary.of(plan.diagnostics))
            print_message(f"Nothing was started: {summary}.", sys.stderr)
        else:
            sys.stdout.writelines(_plan_lines(plan, turns))
    return _plan_exit_code(plan.errors)


def _plan_exit_code(errors: tuple[Diagnostic, ...]) -> int:
    """Return 2 for wrong settings or options, 3 for a missing program, 1 for other errors."""
    if not errors:
        return EXIT_OK
    found = [each.code for each in errors]
    if all(each in (*_SETUP_CODES, codes.AGENT_PROGRAM_MISSING) for each in found):
        is_setup = any(each in _SETUP_CODES for each in found)
        return EXIT_USAGE if is_setup else EXIT_UNAVAILABLE
    return EXIT_INVALID


def _plan_json(plan: RunPlan, turns: tuple[TurnPreview, ...]) -> dict[str, object]:
    agents = [
        each.agent.to_json()
        | {
            "command": list(each.command),
            "first": each.agent.name in plan.first,
            "prompt_characters": None if each.prompt is None else len(each.prompt),
            "problem": each.problem or None,
        }
        for each in turns
    ]
    return {
        "event": "plan",
        "thread_id": plan.thread_id,
        "agents": agents,
        "options": plan.options._asdict() | {"rounds": plan.rounds},
        "before": plan.before._asdict(),
        "continues": plan.earlier.run_id if plan.earlier else None,
        "violations": [each.to_json() for each in plan.diagnostics],
        "summary": Summary.of(plan.diagnostics)._asdict(),
        "valid": True,
    }


def _plan_lines(plan: RunPlan, turns: tuple[TurnPreview, ...]) -> Iterator[str]:
    out = sys.stdout
    for each in turns:
        agent = each.agent
        head = [agent_span(agent.name), Span(f"  {agent.role or 'no role'}, {agent.program_name}")]
        yield fold([], head, "  ", out)
        words = " ".join(word or "''" for word in each.command) or each.problem
        words = escape_control(words, len(words) + 1)
        yield fold([Span("  "), Span("runs   ", QUIET)], [Span(words)], "    ", out)
        if each.prompt is not None:
            text = f"{len(each.prompt):,} characters, in the first turn"
            yield fold([Span("  "), Span("prompt ", QUIET)], [Span(text)], "    ", out)
    yield fold([], [Span("Limits ", QUIET), Span(_limit_words(plan))], "  ", out)
    if plan.thread_id and len(plan.first) < len(plan.agents):
        yield fold([], [Span("First  ", QUIET), Span(joined(plan.first))], "  ", out)
    thread = escape_control(plan.thread_id or "")
    yield fold([], [Span(f"Preview of a run of {thread}. Nothing was sent or started.")], "  ", out)


def _limit_words(plan: RunPlan) -> str:
    options = plan.options
    limits = [plural(plan.rounds, "round")]
    limits += [f"{options.minutes:g} min"] if options.minutes else []
    limits += [f"{options.budget_tokens:,} tokens"] if options.budget_tokens else []
    limits += [f"${options.budget_usd:g}"] if options.budget_usd else []
    return ", ".join(limits)


def _write_failure_line(found: list[Diagnostic] | tuple[Diagnostic, ...]) -> None:
    """Write the last event of a run that did not begin."""
    errors = [each for each in found if each.severity == "error"]
    write_json_line(
        {
            "event": "stop",
            "reason": "failed",
            "message": errors[0].message if errors else "",
            "rounds": 0,
            "versions": [],
            "agents": {},
            "violations": [each.to_json() for each in found],
            "summary": Summary.of(found)._asdict(),
            "valid": False,
        }
    )


# The end of a run


def _report_end(done: RunEnd, plan: RunPlan) -> None:
    """Write what to do next; the view has shown why the run stopped."""
    if done.failed:
        write_error(done.failed)
        return
    thread = thread_argument(plan.thread_id or "")
    print_hint(f"To see what is open: `brenner session status {thread}`")
    print_hint(f"To see what each agent did: `brenner session runs {thread}`")
    if done.event["versions"]:
        print_hint(f"To read the latest version: `brenner artifact show {thread}`")
