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
    grouped_diagnostics,
    note_changes_made,
    repeats_lines,
    write_diagnostics,
    write_json,
    write_placed_diagnostics,
)
from brenner.cli.table import ids_text
from brenner.cli.terminal import (
    ATTENTION,
    OUTCOME_LABELS,
    QUIET,
    STRONG,
    Span,
    agent_span,
    fold,
    print_hint,
    print_message,
)
from brenner.cli.threads import find_thread
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
from brenner.text import escape_control, joined, plural, thread_argument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from brenner.diagnostics.repeats import Repeats

# Options of `compile` and `session complete`


_COMPILE_OPTIONS = (
    click.option("--dry-run", is_flag=True, help="Show what would be published; publish nothing."),
    click.option(
        "--strict", is_flag=True, help="Publish only if no block is rejected and lint passes."
    ),
    click.option("--reopen", is_flag=True, help="Continue a completed or cancelled session."),
    click.option(
        "--notify", is_flag=True, help="Mail the errors to the authors of rejected blocks."
    ),
)
_PERSIST_OPTIONS = (
    click.option("--persist", is_flag=True, help="Save the version to artifacts/THREAD.md."),
    click.option("--commit", is_flag=True, help="Save and commit that file, and nothing else."),
    click.option("--push", is_flag=True, help="Save, commit and push the branch."),
    click.option("--archive", is_flag=True, help="Also save the thread's mail, from now on."),
    click.option("--force", is_flag=True, help="Overwrite manual edits in the file."),
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
            message = "--force needs --persist."
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
_MAX_REFUSED = 50  # causes of rejected blocks that are shown, and messages that do not contribute
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
    write_placed_diagnostics(((_location(found), found) for found in done.notes), sys.stderr)
    print_message(compile_summary(done))
    if done.status is not CompileStatus.NOTHING:
        out.writelines(_fact_lines(done, out))
    _write_problems(done, out)
    _write_persisted(done)
    for sent in done.notified:
        to, about = joined(sent.stored.message.recipients), sent.stored.reply_to
        number = sent.stored.id
        print_message(f"Sent {to} the errors of message {about}, as message {number}.")
    if done.failed:
        write_error(done.failed)  # its fix comes last, so no other hint follows
        return
    for hint in _next_steps(done):
        print_hint(hint)


def _fact_lines(done: CompileResult, out: TextIO) -> Iterator[str]:
    found = count_outcomes(done.ledger)
    blocks = ", ".join(f"{found[each.value]} {OUTCOME_LABELS[each]}" for each in BlockOutcome)
    for label, spans in (
        ("Changes", [Span(summary(done.diff))]),
        ("Contributors", _contributor_spans(done)),
        ("Blocks", [Span(blocks)]),
        ("Linter", [Span(_lint_text(done))]),
        ("Conflicts", [Span(_conflict_text(done))] if done.conflicts else []),
        ("Unanswered", [Span(_unanswered_text(done), ATTENTION)] if done.unanswered else []),
        ("Unverified", [Span(_unverified_text(done), ATTENTION)] if done.unverified else []),
        ("Unread", [Span(f"{plural(done.left, 'message')} left")] if done.left else []),
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


def _unanswered_text(done: CompileResult) -> str:
    return "; ".join(each.fact for each in done.unanswered)


def _unverified_text(done: CompileResult) -> str:
    whose = "its sender is" if len(done.unverified) == 1 else "their senders are"
    return f"{ids_text(done.unverified)}: {whose} not verified"


def _write_problems(done: CompileResult, out: TextIO) -> None:
    """Write the rejected blocks with their fixes, then the other problems, worst first."""
    _write_refused(done, out)
    if done.not_contributed:
        count = count_with_omitted(done.not_contributed)
        out.write(fold([], [Span(f"Not contributed ({count}):", STRONG)], "", out))
    listed = done.not_contributed[:_MAX_REFUSED]
    _write_with_blocks(grouped_diagnostics((_location(each), each) for each in listed), out)
    more = count_with_omitted(done.not_contributed[_MAX_REFUSED:])
    if more:
        command = f"brenner check {shlex.quote(f'--thread={done.thread_id}')}"
        print_message(f"{more:,} more: `{command}`", out)
    if done.status is CompileStatus.REFUSED:
        found = sorted(done.lint.violations, key=worst_first)
        _write_with_blocks(grouped_diagnostics((f"v{done.version}", each) for each in found), out)
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
    ordered = truncate_for_message(sorted(shown, key=worst_first))
    write_placed_diagnostics(((_location(each), each) for each in ordered), sys.stderr)
    _write_unresolved(done)


def _write_refused(done: CompileResult, out: TextIO) -> None:
    """Write each cause of rejected blocks once, with the blocks and the fix."""
    refused = refused_entries(done)
    if not refused:
        return
    out.write(fold([], [Span(f"Rejected blocks ({len(refused)}):", ATTENTION)], "", out))
    agents = {f"message {entry.message_id}": entry.agent for entry in refused}
    groups = grouped_diagnostics(
        (f"message {entry.message_id}", found._replace(block=entry.block))
        for entry in refused
        for found in sorted(entry.diagnostics, key=worst_first)
    )
    shown, hidden = groups[:_MAX_REFUSED], groups[_MAX_REFUSED:]
    _write_with_blocks(shown, out, agents)
    named, unnamed = map(_blocks_of, (shown, hidden))
    if unnamed - named:
        print_message(f"{len(unnamed - named):,} more rejected blocks: {_list_all_hint(done)}", out)


def _blocks_of(groups: Iterable[Repeats]) -> set[tuple[str, int | None]]:
    return {
        (place, found.block)
        for group in groups
        for place, found in zip(group.places, group.found, strict=True)
    }


def _list_all_hint(done: CompileResult) -> str:
    """Name the command that lists every refused block.

    The ledger has only blocks of published versions.
    """
    thread = thread_argument(done.thread_id)
    if done.status is CompileStatus.PUBLISHED:
        return f"`brenner artifact ledger {thread}`"
    return f"`brenner compile --dry-run --json {thread}`"


def _write_unresolved(done: CompileResult) -> None:
    """Write the broken references. Every compile repeats them, so only the first few are shown."""
    found = [each for each in done.warnings if each.code in _UNRESOLVED_CODES]
    listed = ((f"{done.thread_id} {each.item}", each) for each in found[:_MAX_UNRESOLVED])
    write_placed_diagnostics(listed, sys.stderr)
    more = len(found) - _MAX_UNRESOLVED
    if more > 0:
        shows_all = f"`brenner refs check {thread_argument(done.thread_id)}`"
        print_message(f"{plural(more, 'more broken reference')}: {shows_all}", sys.stderr)


def _write_with_blocks(
    groups: Iterable[Repeats], out: TextIO, agents: Mapping[str, str] | None = None
) -> None:
    """Write diagnostics with their corrected blocks, within the limit for all blocks.

    A block that is left out is in `--json`, and in the reply that its author gets. `agents` are the
    authors of refused blocks, by the name of the message.
    """
    room = _MAX_BLOCK_CHARACTERS
    for group in groups:
        first = group.first
        about = f"{escape_control(agents[group.places[0]])}, {group.blocks()}:" if agents else ""
        out.writelines(repeats_lines(group, out, about))
        corrected = [each for each in (first.repaired, *first.readings) if each]
        if sum(map(len, corrected)) > room:
            out.write("    The corrected block is too long to show here.\n")
            continue
        room -= sum(map(len, corrected))
        if corrected:
            label = "Corrected block:" if first.repaired else "Send one of these blocks:"
            out.write(f"    {label}\n")
        out.writelines(indented(block) for block in corrected)
        more = sum(bool(found.repaired or found.readings) for found in group.found[1:])
        if corrected and more:
            out.write(f"    Add `--json` to get the other {more} corrected blocks.\n")


def _location(found: Diagnostic) -> str:
    return f"message {found.message_id}" if found.message_id else "brenner"


def _write_persisted(done: CompileResult) -> None:
    persisted = done.persisted
    if persisted is None:
        return
    for found in persisted.notes:
        write_diagnostics([found], "brenner", sys.stderr)
    print_message(persist_summary(persisted))


def _next_steps(done: CompileResult) -> Iterator[str]:
    thread = thread_argument(done.thread_id)
    if done.status is CompileStatus.REFUSED:
        yield "To publish it as it is, run the command without `--strict`."
        return
    if done.status is CompileStatus.DRY_RUN:
        yield "To publish it, run the command without `--dry-run`."
        return
    if not done.version:
        if not refused_entries(done):
            yield "Only messages whose subject begins with `DELTA[…]:` contribute."
        elif not done.notified:
            yield f"To send the authors the reasons: `brenner compile --notify {thread}`"
        return
    is_later = done.persisted is not None and done.persisted.version != done.version
    if done.persistence.status == "Persisted" or is_later:
        yield f"To list the versions: `brenner artifact history {thread}`"
        return
    yield f"To read it: `brenner artifact show {thread}`"
    if done.lint.violations:
        yield f"To see its lint problems: `brenner artifact lint {thread}`"
    yield f"To save it: `brenner compile {thread} --persist --commit`"


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
@click.argument("thread", required=False, metavar="[THREAD]")
@compile_options
@common_options
def command(settings: Settings, thread: str | None, options: CompileOptions) -> int:
    """Merge the unread messages of THREAD into its next version and publish it.

    Use it when `brenner session status` says that the session is ready. THREAD is optional if only
    one session is open. Rejected blocks and lint errors do not stop a version: the version lists
    them. If no unread delta can be applied, nothing is published; --persist then saves the latest
    version. Run the same command again after an interruption.
    """
    with workspace_of(settings) as here:
        done = compile_thread(here, find_thread(here, thread), options)
    if not options.dry_run:
        note_changes_made()
    return report(done, as_json=settings.as_json)
