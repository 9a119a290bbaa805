"""`brenner compile`: publish the next version of a thread and persist it if requested.

`session complete` uses the same options and the same report.
"""

from __future__ import annotations

import functools
import shlex
import sys
from typing import TYPE_CHECKING, Any, TextIO

import click

from brenner.artifact.diff import summary
from brenner.artifact.state import BlockOutcome, count_outcomes
from brenner.cli.options import EXIT_INVALID, EXIT_OK, Settings, common_options, examples
from brenner.cli.output import (
    JsonCommand,
    count_by_severity,
    note_changes_made,
    write_diagnostics,
    write_json,
)
from brenner.cli.table import ids_text
from brenner.cli.terminal import (
    ATTENTION,
    QUIET,
    STRONG,
    Span,
    agent_span,
    fold,
    print_hint,
    print_message,
)
from brenner.cli.workspace import exit_code, indented, workspace_of, write_error
from brenner.diagnostics.codes.merging import UNKNOWN_REFERENCED_ITEM, UNKNOWN_REFERENCED_SESSION
from brenner.diagnostics.model import ERROR, Diagnostic, worst_first
from brenner.diagnostics.truncate import count_with_omitted, truncate_for_message
from brenner.services.compile import (
    CompileOptions,
    CompileResult,
    CompileStatus,
    compile_result_json,
    compile_summary,
    compile_thread,
    persist_summary,
    refused_entries,
)
from brenner.services.persist import PersistOptions
from brenner.session.compiled_message import third_alternative
from brenner.text import escape_control, joined, thread_argument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# Options of `compile` and `session complete`


_COMPILE_OPTIONS = (
    click.option("--dry-run", is_flag=True, help="Show what would be published; post nothing."),
    click.option(
        "--strict", is_flag=True, help="Publish only if no block is refused and lint passes."
    ),
    click.option("--reopen", is_flag=True, help="Go on with a session that was completed."),
    click.option(
        "--notify", is_flag=True, help="Mail the authors of refused blocks what is wrong."
    ),
)
_PERSIST_OPTIONS = (
    click.option("--persist", is_flag=True, help="Write the version to artifacts/THREAD.md."),
    click.option("--commit", is_flag=True, help="Commit that file, and nothing else."),
    click.option("--push", is_flag=True, help="Push the branch afterwards."),
    click.option(
        "--archive", is_flag=True, help="Put the thread's mail beside the artifact, from now on."
    ),
    click.option("--force", is_flag=True, help="Write over changes made by hand in the file."),
)
_COMPILE_FLAGS = ("dry_run", "strict", "reopen", "notify")
_PERSIST_FLAGS = ("persist", "commit", "push", "archive")


def compile_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the options that publish a version to a command, which gets them as `options`."""

    @functools.wraps(function)
    def command(*args: object, **options: object) -> int:
        flags = {
            name: bool(options.pop(name)) for name in (*_COMPILE_FLAGS, *_PERSIST_FLAGS, "force")
        }
        compile_flags: dict[str, Any] = {name: flags[name] for name in _COMPILE_FLAGS}
        return function(
            *args,
            options=CompileOptions(**compile_flags, persist=_make_persist_options(flags)),
            **options,
        )

    for option in reversed((*_COMPILE_OPTIONS, *_PERSIST_OPTIONS)):
        command = option(command)
    return command


def _make_persist_options(flags: dict[str, bool]) -> PersistOptions | None:
    if not any(flags[name] for name in _PERSIST_FLAGS):
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


# Report


_MAX_CONFLICTS, _MAX_ITEMS, _MAX_UNRESOLVED = 20, 8, 5
_MAX_REFUSED = 50  # blocks that are shown with their diagnostics
_MAX_BLOCK_CHARACTERS = 100_000  # of all corrected blocks together
_UNRESOLVED_CODES = (UNKNOWN_REFERENCED_SESSION, UNKNOWN_REFERENCED_ITEM)
_QUIET_CODES = {
    *("BELOW_MINIMUM", "NO_SCALE_CHECK", "NO_THIRD_ALTERNATIVE", "DUPLICATE_BLOCK", "ID_REWRITTEN")
}
JSON_DEFAULTS = {"thread_id": None, "status": None, "version": None, "message_id": None}


def report(done: CompileResult, *, as_json: bool) -> int:
    """Write what a compile did, and return the exit code."""
    if as_json:
        write_json(compile_result_json(done))
    else:
        _write(done)
    if done.failed:
        return exit_code(done.failed)
    has_errors = any(found.severity is ERROR for found in done.notes)
    return EXIT_INVALID if done.status is CompileStatus.REFUSED or has_errors else EXIT_OK


# Text output


def _write(done: CompileResult) -> None:
    out = sys.stdout
    for found in done.notes:
        write_diagnostics([found], _location(found), sys.stderr)
    print_message(compile_summary(done))
    if done.status is not CompileStatus.NOTHING:
        out.writelines(_fact_lines(done, out))
    _write_problems(done, out)
    _write_persisted(done)
    for sent in done.notified:
        to, about = joined(sent.stored.message.recipients), sent.stored.reply_to
        print_message(f"Told {to} what is wrong with message {about}, in message {sent.stored.id}.")
    if done.failed:
        write_error(done.failed)  # its fix comes last, so no other hint follows
    else:
        print_hint(_next_step(done))


def _fact_lines(done: CompileResult, out: TextIO) -> Iterator[str]:
    found = count_outcomes(done.ledger)
    for label, spans in (
        ("Changes", [Span(summary(done.diff))]),
        ("Contributors", _contributor_spans(done)),
        ("Blocks", [Span(", ".join(f"{found[each.value]} {each.value}" for each in BlockOutcome))]),
        ("Linter", [Span(_lint_text(done))]),
        ("Conflicts", [Span(_conflict_text(done))] if done.conflicts else []),
        ("Unverified", [Span(_unverified_text(done), ATTENTION)] if done.unverified else []),
        ("Unread", [Span(f"{done.left} messages, for the next version")] if done.left else []),
    ):
        if spans:
            yield fold([Span(f"  {label:<14}", QUIET)], spans, " " * 16, out)


def _contributor_spans(done: CompileResult) -> list[Span]:
    spans: list[Span] = []
    for each in done.contributors:
        if not each.deltas:
            continue
        more = ", …" * (len(each.items) > _MAX_ITEMS)
        items = f" ({', '.join(each.items[:_MAX_ITEMS])}{more})"
        text = f" {each.deltas}{items if each.items else ''}"
        spans += [Span(", ")] if spans else []
        spans += [agent_span(each.agent), Span(text)]
    return spans


def _lint_text(done: CompileResult) -> str:
    status = done.artifact.metadata.status
    alternative = third_alternative(done.artifact)
    return (
        f"{count_by_severity(done.lint.summary)}; status {status}; third alternative: {alternative}"
    )


def _conflict_text(done: CompileResult) -> str:
    named = [f"{conflict.item_id}.{conflict.field}" for conflict in done.conflicts]
    more = f" and {len(named) - _MAX_CONFLICTS} more" if len(named) > _MAX_CONFLICTS else ""
    return ", ".join(named[:_MAX_CONFLICTS]) + more


def _unverified_text(done: CompileResult) -> str:
    whose = "its sender is" if len(done.unverified) == 1 else "their senders are"
    return f"{ids_text(done.unverified)}: {whose} not known for certain"


def _write_problems(done: CompileResult, out: TextIO) -> None:
    """Write the refused blocks with their fixes, then the other problems, worst first."""
    refused = refused_entries(done)
    if refused:
        out.write(fold([], [Span(f"Refused blocks ({len(refused)}):", ATTENTION)], "", out))
    room = _MAX_BLOCK_CHARACTERS
    for entry in refused[:_MAX_REFUSED]:
        whose = f"{escape_control(entry.agent)}, block {entry.block}: "
        named = [each._replace(message=whose + each.message) for each in entry.diagnostics]
        room -= _write_with_blocks(named, f"message {entry.message_id}", out, room)
    if len(refused) > _MAX_REFUSED:
        print_message(
            f"{len(refused) - _MAX_REFUSED:,} more refused blocks: {_list_all_hint(done)}.", out
        )
    if done.not_contributed:
        count = count_with_omitted(done.not_contributed)
        out.write(fold([], [Span(f"Not contributed ({count}):", STRONG)], "", out))
    for found in done.not_contributed[:_MAX_REFUSED]:
        _write_with_blocks([found], _location(found), out)
    more = count_with_omitted(done.not_contributed[_MAX_REFUSED:])
    if more:
        command = f"brenner check {shlex.quote(f'--thread={done.thread_id}')}"
        print_message(f"{more:,} more: `{command}` checks every message.", out)
    if done.status is CompileStatus.REFUSED:
        _write_with_blocks(done.lint.violations, f"v{done.version}", out)
    others = [
        found
        for entry in done.ledger
        if entry.state is not BlockOutcome.REFUSED
        for found in entry.diagnostics
        if found.severity is not ERROR or entry.state is BlockOutcome.APPLIED
    ]
    # The linter, the ledger and the list at the end show the others.
    shown = [
        each
        for each in (*done.warnings, *others)
        if each.id not in _QUIET_CODES and each.code not in _UNRESOLVED_CODES
    ]
    for found in truncate_for_message(sorted(shown, key=worst_first)):
        write_diagnostics([found], _location(found), sys.stderr)
    _write_unresolved(done)


def _list_all_hint(done: CompileResult) -> str:
    """Name the command that lists every refused block.

    The ledger has only blocks of published versions.
    """
    thread = thread_argument(done.thread_id)
    if done.status is CompileStatus.PUBLISHED:
        return f"`brenner artifact ledger {thread}` lists them all"
    return f"`brenner compile --dry-run --json {thread}` lists them all"


def _write_unresolved(done: CompileResult) -> None:
    """Write the broken references. Every compile repeats them, so only the first few are shown."""
    found = [each for each in done.warnings if each.code in _UNRESOLVED_CODES]
    for each in found[:_MAX_UNRESOLVED]:
        write_diagnostics([each], f"{done.thread_id} {each.item}", sys.stderr)
    more = len(found) - _MAX_UNRESOLVED
    if more > 0:
        shows_all = f"`brenner refs check {thread_argument(done.thread_id)}`"
        print_message(
            f"{more} more references lead nowhere yet: {shows_all} lists them all.", sys.stderr
        )


def _write_with_blocks(
    found: Iterable[Diagnostic], place: str, out: TextIO, room: int = _MAX_BLOCK_CHARACTERS
) -> int:
    """Write diagnostics with their corrected blocks, within `room`.

    Return the characters of the blocks.

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


def _location(found: Diagnostic) -> str:
    return f"message {found.message_id}" if found.message_id else "brenner"


def _write_persisted(done: CompileResult) -> None:
    persisted = done.persisted
    if persisted is None:
        return
    for found in persisted.notes:
        write_diagnostics([found], "brenner", sys.stderr)
    print_message(persist_summary(persisted))


def _next_step(done: CompileResult) -> str:
    thread = thread_argument(done.thread_id)
    if done.status is CompileStatus.REFUSED:
        return "Mend what is listed, or repeat the command without `--strict`."
    if done.status is CompileStatus.DRY_RUN:
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
    cls=JsonCommand,
    json_defaults=JSON_DEFAULTS,
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
        note_changes_made()
    return report(done, as_json=settings.as_json)
