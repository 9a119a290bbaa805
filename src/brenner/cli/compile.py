"""`brenner compile`: publish the next version of a thread, and keep it where asked for."""

import functools
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TextIO

import click

from brenner.artifact.diff import summary
from brenner.artifact.state import Entry, Outcome, counts
from brenner.cli.options import Settings, common_options, examples
from brenner.cli.output import Reporting, counted, note_done, write_diagnostics, write_json
from brenner.cli.table import some_ids
from brenner.cli.terminal import (
    ATTENTION,
    QUIET,
    STRONG,
    Span,
    agent_piece,
    fold,
    joined,
    print_hint,
    print_message,
    thread_argument,
)
from brenner.cli.workspace import exit_code, indented, workspace_of, write_error
from brenner.diagnostics.codes.merging import UNKNOWN_REFERENCED_ITEM, UNKNOWN_REFERENCED_SESSION
from brenner.diagnostics.model import ERROR, Diagnostic, worst_first
from brenner.diagnostics.truncate import how_many, of_message
from brenner.services.compile import (
    CompileOptions,
    CompileResult,
    Status,
    compile_thread,
    compiled_json,
    persisted_words,
    refused_in,
    what_happened,
)
from brenner.services.persist import PersistOptions
from brenner.session.compiled_message import third_alternative
from brenner.text import escape_control

# The options of the commands that publish a version: `compile` and `session complete`.


_HOW = (
    click.option("--dry-run", is_flag=True, help="Show what would be published; post nothing."),
    click.option(
        "--strict", is_flag=True, help="Publish only if no block is refused and lint passes."
    ),
    click.option("--reopen", is_flag=True, help="Go on with a session that was completed."),
    click.option(
        "--notify", is_flag=True, help="Mail the authors of refused blocks what is wrong."
    ),
)
_KEPT = (
    click.option("--persist", is_flag=True, help="Write the version to artifacts/THREAD.md."),
    click.option("--commit", is_flag=True, help="Commit that file, and nothing else."),
    click.option("--push", is_flag=True, help="Push the branch afterwards."),
    click.option(
        "--archive", is_flag=True, help="Put the thread's mail beside the artifact, from now on."
    ),
    click.option("--force", is_flag=True, help="Write over changes made by hand in the file."),
)
_FLAGS = ("dry_run", "strict", "reopen", "notify")
_ASKED = ("persist", "commit", "push", "archive")


def compile_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add them to a command, which gets `options`."""

    @functools.wraps(function)
    def command(*args: object, **said: object) -> int:
        flags = {name: bool(said.pop(name)) for name in (*_FLAGS, *_ASKED, "force")}
        how: dict[str, Any] = {name: flags[name] for name in _FLAGS}
        return function(*args, options=CompileOptions(**how, persist=_wish(flags)), **said)

    for option in reversed((*_HOW, *_KEPT)):
        command = option(command)
    return command


def _wish(flags: dict[str, bool]) -> PersistOptions | None:
    """How the version is to be kept; None where it is not."""
    if not any(flags[name] for name in _ASKED):
        if flags["force"]:
            message = "--force says how to persist; add --persist."
            raise click.UsageError(message)
        return None
    return PersistOptions(
        commit=flags["commit"] or flags["push"],
        push=flags["push"],
        archive=flags["archive"],
        force=flags["force"],
    )


# What a compile did, for people and as JSON; also for the one that closes a session.


FINE, CONTENT = 0, 1
_MOST_CONFLICTS, _MOST_ITEMS, _MOST_UNRESOLVED = 20, 8, 5
_MOST_REFUSED = 50  # blocks that are shown with what is wrong with them
_MOST_READY = 100_000  # characters of corrected blocks, all together
_UNRESOLVED = (UNKNOWN_REFERENCED_SESSION, UNKNOWN_REFERENCED_ITEM)
_QUIET = {
    *("BELOW_MINIMUM", "NO_SCALE_CHECK", "NO_THIRD_ALTERNATIVE", "DUPLICATE_BLOCK", "ID_REWRITTEN")
}
ALWAYS = {"thread_id": None, "status": None, "version": None, "message_id": None}


def report(done: CompileResult, *, as_json: bool) -> int:
    """Show it; the exit code."""
    if as_json:
        write_json(compiled_json(done))
    else:
        _write(done)
    if done.failed:
        return exit_code(done.failed)
    has_errors = any(found.severity is ERROR for found in done.notes)
    return CONTENT if done.status is Status.REFUSED or has_errors else FINE


# For people


def _write(done: CompileResult) -> None:
    out = sys.stdout
    for found in done.notes:
        write_diagnostics([found], _place(found), sys.stderr)
    print_message(what_happened(done))
    if done.status is not Status.NOTHING:
        out.writelines(_facts(done, out))
    _write_problems(done, out)
    _write_persisted(done)
    for sent in done.notified:
        to, about = joined(sent.stored.message.recipients), sent.stored.reply_to
        print_message(f"Told {to} what is wrong with message {about}, in message {sent.stored.id}.")
    if done.failed:
        write_error(done.failed)  # what it says to do comes last
    else:
        print_hint(_what_next(done))


def _facts(done: CompileResult, out: TextIO) -> Iterator[str]:
    """What changed, who contributed, how many blocks, what the linter says."""
    for label, pieces in (
        ("Changes", [Span(summary(done.diff))]),
        ("Contributors", _contributors(done)),
        ("Blocks", [Span(_blocks(done.ledger))]),
        ("Linter", [Span(_linter(done))]),
        ("Conflicts", [Span(_conflicts(done))] if done.conflicts else []),
        ("Unverified", [Span(_unverified(done), ATTENTION)] if done.unverified else []),
        ("Unread", [Span(f"{done.left} messages, for the next version")] if done.left else []),
    ):
        if pieces:
            yield fold([Span(f"  {label:<14}", QUIET)], pieces, " " * 16, out)


def _contributors(done: CompileResult) -> list[Span]:
    pieces: list[Span] = []
    for each in done.contributors:
        if not each.deltas:
            continue
        more = ", …" * (len(each.items) > _MOST_ITEMS)
        items = f" ({', '.join(each.items[:_MOST_ITEMS])}{more})"
        said = f" {each.deltas}{items if each.items else ''}"
        pieces += [Span(", ")] if pieces else []
        pieces += [agent_piece(each.agent), Span(said)]
    return pieces


def _blocks(ledger: tuple[Entry, ...]) -> str:
    found = counts(ledger)
    return ", ".join(f"{found[state.value]} {state.value}" for state in Outcome)


def _linter(done: CompileResult) -> str:
    status = done.artifact.metadata.status
    alternative = third_alternative(done.artifact)
    return f"{counted(done.lint.summary)}; status {status}; third alternative: {alternative}"


def _conflicts(done: CompileResult) -> str:
    named = [f"{conflict.item_id}.{conflict.field}" for conflict in done.conflicts]
    more = f" and {len(named) - _MOST_CONFLICTS} more" if len(named) > _MOST_CONFLICTS else ""
    return ", ".join(named[:_MOST_CONFLICTS]) + more


def _unverified(done: CompileResult) -> str:
    """What of the version anybody may have sent."""
    whose = "its sender is" if len(done.unverified) == 1 else "their senders are"
    return f"{some_ids(done.unverified)}: {whose} not known for certain"


def _write_problems(done: CompileResult, out: TextIO) -> None:
    """Refused blocks with their fixes, then what else is to be said; the worst first."""
    refused = refused_in(done)
    if refused:
        out.write(fold([], [Span(f"Refused blocks ({len(refused)}):", ATTENTION)], "", out))
    room = _MOST_READY
    for entry in refused[:_MOST_REFUSED]:
        whose = f"{escape_control(entry.agent)}, block {entry.block}: "
        named = [each._replace(message=whose + each.message) for each in entry.diagnostics]
        room -= _write_found(named, f"message {entry.message_id}", out, room)
    if len(refused) > _MOST_REFUSED:
        print_message(
            f"{len(refused) - _MOST_REFUSED:,} more refused blocks: {_lists_all(done)}.", out
        )
    if done.not_contributed:
        count = how_many(done.not_contributed)
        out.write(fold([], [Span(f"Not contributed ({count}):", STRONG)], "", out))
    for found in done.not_contributed[:_MOST_REFUSED]:
        _write_found([found], _place(found), out)
    more = how_many(done.not_contributed[_MOST_REFUSED:])
    if more:
        command = f"brenner check {shlex.quote(f'--thread={done.thread_id}')}"
        print_message(f"{more:,} more: `{command}` checks every message.", out)
    if done.status is Status.REFUSED:
        _write_found(done.lint.violations, f"v{done.version}", out)
    others = [
        found
        for entry in done.ledger
        if entry.state is not Outcome.REFUSED
        for found in entry.diagnostics
        if found.severity is not ERROR or entry.state is Outcome.APPLIED
    ]
    told = [each for each in (*done.warnings, *others) if not _is_quiet(each)]
    for found in of_message(sorted(told, key=worst_first)):
        write_diagnostics([found], _place(found), sys.stderr)
    _write_unresolved(done)


def _lists_all(done: CompileResult) -> str:
    """The command that lists every refused block; what no version has read is in no ledger."""
    thread = thread_argument(done.thread_id)
    if done.status is Status.PUBLISHED:
        return f"`brenner artifact ledger {thread}` lists them all"
    return f"`brenner compile --dry-run --json {thread}` lists them all"


def _write_unresolved(done: CompileResult) -> None:
    """References that lead nowhere yet: told at every compile, so of many only the first ones."""
    found = [each for each in done.warnings if each.code in _UNRESOLVED]
    for each in found[:_MOST_UNRESOLVED]:
        write_diagnostics([each], f"{done.thread_id} {each.item}", sys.stderr)
    more = len(found) - _MOST_UNRESOLVED
    if more > 0:
        shows_all = f"`brenner refs check {thread_argument(done.thread_id)}`"
        print_message(
            f"{more} more references lead nowhere yet: {shows_all} lists them all.", sys.stderr
        )


def _is_quiet(found: Diagnostic) -> bool:
    """What the linter says again, what only the ledger has to say in full, what comes last."""
    return found.id in _QUIET or found.code in _UNRESOLVED


def _write_found(
    found: Iterable[Diagnostic], place: str, out: TextIO, room: int = _MOST_READY
) -> int:
    """Write them with their ready blocks, as far as there is room; how many characters those had.

    A block that is left out is in `--json`, and in the reply that its author gets.
    """
    used = 0
    for each in sorted(found, key=worst_first):
        write_diagnostics([each], place, out)
        for block in filter(None, (each.repaired, *each.readings)):
            if used + len(block) > room:
                out.write("    The corrected block is too long to be shown here.\n")
                continue
            used += len(block)
            out.write(indented(block))
    return used


def _place(found: Diagnostic) -> str:
    return f"message {found.message_id}" if found.message_id else "brenner"


def _write_persisted(done: CompileResult) -> None:
    persisted = done.persisted
    if persisted is None:
        return
    for found in persisted.notes:
        write_diagnostics([found], "brenner", sys.stderr)
    print_message(persisted_words(persisted))


def _what_next(done: CompileResult) -> str:
    thread = thread_argument(done.thread_id)
    if done.status is Status.REFUSED:
        return "Mend what is listed, or repeat the command without `--strict`."
    if done.status is Status.DRY_RUN:
        return "Without `--dry-run` it is published; with `--json` you see it whole."
    if not done.version:
        return "A contribution is a message whose subject begins with `DELTA[…]:`."
    is_later = done.persisted is not None and done.persisted.version != done.version
    if done.persistence.status != "Persisted" and not done.failed and not is_later:
        lacks = f", `brenner artifact lint {thread}` what it lacks" if done.lint.violations else ""
        return (
            f"`brenner artifact show {thread}` shows it{lacks}; "
            f"`brenner compile {thread} --persist --commit` keeps it."
        )
    return f"`brenner artifact history {thread}` lists the versions."


@click.command(
    "compile",
    cls=Reporting,
    always=ALWAYS,
    epilog=examples(
        "brenner compile RS-20251230-cell-fate --dry-run",
        "brenner compile RS-20251230-cell-fate --notify",
        "brenner compile RS-20251230-cell-fate --persist --commit",
    ),
)
@click.argument("thread", metavar="THREAD")
@compile_options
@common_options
def command(settings: Settings, thread: str, options: CompileOptions) -> int:
    """Merge what no version of THREAD has read into its next version, and post it.

    Refused blocks and lint errors do not stop a version: they are stated in it and listed here.
    Where no unread delta applies there is nothing to compile, and `--persist` keeps the latest
    version. A command that was interrupted is finished by running it again. Exit code 1: nothing
    was published because of --strict, or a version of the thread does not rebuild; 3: git or the
    store failed.
    """
    with workspace_of(settings) as here:
        done = compile_thread(here, thread, options)
    if not options.dry_run:
        note_done()
    return report(done, as_json=settings.as_json)
