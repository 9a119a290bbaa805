"""`brenner result run`: run a command for a test, keep its record, and record the result."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from brenner.cli.options import (
    EXIT_INVALID,
    EXIT_OK,
    Number,
    Settings,
    common_options,
    examples,
)
from brenner.cli.output import JsonCommand, note_changes_made, write_json
from brenner.cli.result.add import (
    JSON_DEFAULTS,
    ResultOptions,
    add_command,
    can_ask_operator,
    check_options,
    check_test_id,
    record,
    result_options,
)
from brenner.cli.terminal import print_hint, print_message
from brenner.cli.threads import find_thread
from brenner.cli.workspace import workspace_of
from brenner.diagnostics.model import Summary
from brenner.integrations.command_process import CommandLimits, Ending
from brenner.services.command_record import CommandRecord, CommandRequest, record_command
from brenner.services.record_result import TestInThread, load_test
from brenner.text import escape_control

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

_SECONDS = 3600
_INTERRUPTED = 130
_SEPARATOR = "--"
_COMMAND_KEY = "brenner.command"


class _CommandAfterSeparator(JsonCommand):
    """A command that leaves everything after the first `--` alone: that is another command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        before = args.index(_SEPARATOR) if _SEPARATOR in args else len(args)
        ctx.meta[_COMMAND_KEY] = tuple(args[before + 1 :])
        return super().parse_args(ctx, args[:before])

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "-- COMMAND..."]


@click.command(
    "run",
    cls=_CommandAfterSeparator,
    json_defaults={**JSON_DEFAULTS, "run": None},
    epilog=examples(
        "brenner result run RS-20251230-cell-fate T1 -- python analyse.py --plates 3",
        "brenner result run T1 --outcome changed --timeout 600 -- make test-t1",
        "brenner result run T1 -- sh -c './count plates/*.csv'",
    ),
)
@click.argument("thread", metavar="[THREAD]")
@click.argument("item_id", required=False, metavar="TEST")
@click.option(
    "--timeout",
    type=Number(1),
    default=_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="Stop the command after this time.",
)
@click.option("--outcome", metavar="TEXT", help="What was observed, or a key.")
@result_options
@common_options
def run(
    settings: Settings, *, thread: str, item_id: str | None, timeout: int, given: ResultOptions
) -> int:
    """Run COMMAND for TEST, keep its record as evidence, and record the result.

    COMMAND runs in the current folder, without a shell and without input. The record in
    `results/THREAD/` has the arguments, times, exit code, output and git commit. The exit code
    never decides the outcome: state it with --outcome. Without it you are asked in a terminal;
    elsewhere nothing is sent, and the command to record the result is printed. Ctrl-C or a timeout
    stops COMMAND, keeps the record and sends nothing.
    """
    words = click.get_current_context().meta[_COMMAND_KEY]
    if not words:
        message = "Put `--` and the command at the end: `brenner result run T1 -- COMMAND`."
        raise click.UsageError(message)
    name, test_id = (None, thread) if item_id is None else (thread, item_id)
    check_test_id(test_id)
    with workspace_of(settings) as here:
        thread_id = find_thread(here, name)
        test = load_test(here, thread_id, test_id)
        given = check_options(here, test, given)
        request = CommandRequest(thread_id, test.item.id, words, CommandLimits(timeout))
        kept = record_command(here.project, request, _echo(settings))
        note_changes_made()
        given = given._replace(evidence=(*given.evidence, kept.evidence))
        if not settings.as_json:
            print_message(_ended(kept), sys.stderr)
            print_hint(f"Record: `{kept.path}`", sys.stderr)
        if kept.is_whole and given.outcome is None and not settings.as_json:
            given = _ask_outcome(test, given)
        if not kept.is_whole or given.outcome is None:
            return _report_unsent(test, given, kept, settings)
        now = load_test(here, thread_id, test_id)  # mail may have arrived meanwhile
        return record(here, now, given, kept, as_json=settings.as_json)


def _echo(settings: Settings) -> Callable[[bytes, bool], None]:
    """Return what shows the command's output as it comes. With --json it goes to our stderr."""
    streams = [sys.stderr if settings.as_json else sys.stdout, sys.stderr]
    closed: set[bool] = set()

    def echo(piece: bytes, is_error: bool) -> None:
        if is_error in closed:
            return
        stream = streams[is_error]
        try:
            stream.flush()
            out: BinaryIO | None = getattr(stream, "buffer", None)
            if out is None:
                stream.write(piece.decode("utf-8", "replace"))
            else:
                out.write(piece)
                out.flush()
        except OSError:  # the reader is gone; the record is still wanted
            closed.add(is_error)

    return echo


def _ended(kept: CommandRecord) -> str:
    """Return how the command ended, without any judgement about the test."""
    end, seconds = kept.end, kept.document["seconds"]
    match end.ending:
        case Ending.TIMEOUT:
            how = f"was stopped after {seconds} s (--timeout)"
        case Ending.INTERRUPTED:
            how = f"was interrupted after {seconds} s"
        case Ending.OUTPUT_LIMIT:
            how = f"was stopped after {seconds} s: it printed too much"
        case _:
            by = f"exit code {end.exit_code}" if end.signal is None else f"signal {end.signal}"
            how = f"ended after {seconds} s with {by}"
    return f"The command {how}."


def _ask_outcome(test: TestInThread, given: ResultOptions) -> ResultOptions:
    """Ask for the outcome in a terminal. An empty answer sends nothing."""
    if not can_ask_operator():
        return given
    for key, description in test.outcomes.items():
        print_hint(f"`{key}`  {escape_control(description)}", sys.stderr)
    question = f"What did {test.item.id} show? (a text or a key; Enter to send nothing)"
    answer = click.prompt(question, default="", show_default=False, err=True).strip()
    return given._replace(outcome=answer or None)


def _report_unsent(
    test: TestInThread, given: ResultOptions, kept: CommandRecord, settings: Settings
) -> int:
    """Report that nothing was sent, with the command that records a result of this run."""
    command = add_command(test, given)
    if settings.as_json:
        document = {
            **JSON_DEFAULTS,
            "thread_id": test.history.thread_id,
            "test": test.item.id,
            "valid": True,
            "summary": Summary.of(())._asdict(),
            "violations": [],
            "run": kept.to_json(),
            "command": command,
        }
        write_json(document)
    else:
        print_message("Nothing was sent.", sys.stderr)
        print_hint(f"To record a result with this evidence: `{command}`", sys.stderr)
    if kept.end.ending is Ending.INTERRUPTED:
        return _INTERRUPTED
    return EXIT_OK if kept.is_whole else EXIT_INVALID
