"""`brenner artifact ledger`: the outcome of every delta block of a version."""

from __future__ import annotations

import sys
from itertools import chain
from typing import TYPE_CHECKING, TextIO

import click

from brenner.artifact.diff import describe_block, describe_duplicate
from brenner.artifact.state import BlockOutcome, Entry, count_outcomes, is_listed
from brenner.cli.artifact.common import (
    BOLD,
    DIM,
    INDENT,
    ORIGIN_DEFAULTS,
    ArtifactReader,
    LoadedArtifact,
    join_target,
    notes_json,
    with_authors,
    write_unreadable,
)
from brenner.cli.options import EXIT_INVALID, EXIT_OK, Settings, common_options, examples
from brenner.cli.output import JsonCommand, write_diagnostics, write_json
from brenner.cli.table import Cell, DisplayRow, TableColumn, table
from brenner.cli.terminal import (
    ATTENTION,
    OUTCOME_LABELS,
    PLAIN,
    Span,
    Style,
    agent_span,
    fold,
    format_hint,
    pager_option,
    write_lines,
)
from brenner.diagnostics.codes.merging import ID_REWRITTEN
from brenner.diagnostics.model import Diagnostic, Severity, worst_first
from brenner.diagnostics.repeats import group_blocks, numbered, repeats_of_blocks
from brenner.named_tuple import NamedTuple
from brenner.protocol.messages import Trust
from brenner.session.ledger_advice import with_advice
from brenner.session.overview import misplaced_json
from brenner.text import escape_control, joined, thread_argument

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from brenner.session.model import RefusedBlock

_DETAIL_INDENT = "      "
_MOST_MISPLACED = 20
_COLUMNS = (
    TableColumn("In"),
    TableColumn("Message", is_right=True),
    TableColumn("Block", is_right=True),
    TableColumn("Agent", min_width=10),
    TableColumn("Change", min_width=16),
    TableColumn("Item"),
    TableColumn("Sender"),
)
_SEVERITY_STYLES: dict[Severity, Style] = {
    Severity.ERROR: ATTENTION,
    Severity.WARNING: {"fg": "yellow", "bold": True},
    Severity.INFO: {"fg": "cyan"},
}


class _LedgerRow(NamedTuple):
    """A block, the version that has read it, and the trust in its sender."""

    version: int
    entry: Entry
    trust: Trust | None = None
    is_altered: bool = False

    @property
    def trust_warning(self) -> list[Span]:
        """Return a warning if the sender is unverified or the message was altered."""
        if self.is_altered:
            return [Span("altered", ATTENTION)]
        is_open = self.trust is Trust.UNVERIFIED
        return [Span("unverified", ATTENTION)] if is_open else []


@click.command(
    "ledger",
    cls=JsonCommand,
    json_defaults={
        **(ORIGIN_DEFAULTS | {"versions": []}),
        **{outcome.value: 0 for outcome in BlockOutcome},
        "entries": [],
        "entries_left_out": 0,
        "misplaced": [],
    },
    epilog=examples(
        "brenner artifact ledger RS-20251230-cell-fate",
        "brenner artifact ledger RS-20251230-cell-fate@v2 --json",
        "brenner artifact ledger RS-20251230-cell-fate --all",
    ),
)
@click.argument("target", required=False, metavar="[TARGET]")
@click.argument("version", required=False, metavar="[vN]")
@click.option("--all", "of_all", is_flag=True, help="Show the blocks of all versions.")
@pager_option
@common_options
def ledger(
    settings: Settings, *, target: str | None, version: str | None, of_all: bool, pager: bool
) -> int:
    """Show the result of each delta block in a version, rejected blocks first.

    A block is applied (to which item), rejected (why, and how to fix it) or a duplicate (of which
    item). TARGET is a THREAD, THREAD@vN, or a file that equals a version. It is optional if only
    one session is open.
    """
    name, _ = join_target(target, version)
    with ArtifactReader(settings) as reader:
        wanted = reader.target(name) if of_all else None
        if of_all and (wanted is None or wanted.version is not None):
            message = "--all needs a THREAD without a version."
            raise click.UsageError(message)
        read = reader.read(wanted.thread_id if wanted else name, with_state=True)
        if isinstance(read, Diagnostic):
            return write_unreadable(read, name, as_json=settings.as_json)
        from brenner.services.identity import thread_trust
        from brenner.services.version_store import load_ledgers

        loaded = with_authors(reader, read)
        ledgers = load_ledgers(reader.workspace, loaded.thread_id or "")
        found = [each for each in ledgers if of_all or each.number == loaded.number]
        misplaced = _misplaced(reader, loaded)
        trust_by_message = thread_trust(reader.workspace.mailbox, loaded.thread_id or "")
    lines = [
        _LedgerRow(
            each.number,
            entry,
            trust_by_message.get(entry.message_id),
            entry.message_id in loaded.altered,
        )
        for each in found
        for entry in with_advice(each.entries, each.state.artifact, loaded.thread_id or "")
    ]
    if settings.as_json:
        write_json(_document(loaded, [each.number for each in found], lines, misplaced))
    else:
        write_diagnostics(loaded.diagnostics, loaded.name, sys.stderr)
        shown = chain(
            _ledger_lines(loaded, lines, sys.stdout, of_all=of_all),
            _misplaced_lines(loaded, misplaced, sys.stdout),
        )
        write_lines(shown, pager=pager)
    return EXIT_INVALID if any(line.is_altered for line in lines) else EXIT_OK


def _misplaced(reader: ArtifactReader, loaded: LoadedArtifact) -> tuple[RefusedBlock, ...]:
    """Return the open delta blocks of the thread in messages that are no DELTA."""
    from brenner.services.session_status import load_status
    from brenner.services.version_store import load_history

    thread_id, operator = loaded.thread_id or "", reader.workspace.project.operator
    if not load_history(reader.workspace.mailbox, thread_id, operator).misplaced:
        return ()
    return load_status(reader.workspace, thread_id).status.misplaced


def _document(
    loaded: LoadedArtifact,
    versions: list[int],
    lines: Sequence[_LedgerRow],
    misplaced: Sequence[RefusedBlock],
) -> dict[str, object]:
    """Return the entries as `ledger_json` does, with the version and the trust of each."""
    return {
        **loaded.to_json(),
        "versions": versions,
        **count_outcomes(tuple(line.entry for line in lines)),
        "entries": [
            {
                **line.entry.to_json(),
                "version": line.version,
                "trust": line.trust,
                "altered": line.is_altered,
            }
            for line in lines
            if is_listed(line.entry)
        ],
        "entries_left_out": sum(not is_listed(line.entry) for line in lines),
        "misplaced": misplaced_json(misplaced),
        **notes_json([loaded]),
    }


def _ledger_lines(
    loaded: LoadedArtifact, lines: Sequence[_LedgerRow], out: TextIO, *, of_all: bool
) -> Iterator[str]:
    name = loaded.thread_id or "" if of_all else loaded.name
    yield fold([], list(_headline(name, lines)), INDENT, out)
    if not lines:
        yield format_hint("DELTA messages contain the blocks. Template: `brenner new DELTA`", out)
    of = {
        outcome: [each for each in lines if each.entry.state is outcome] for outcome in BlockOutcome
    }
    if of[BlockOutcome.REFUSED]:
        yield "\n" + fold([], [Span("Rejected", ATTENTION)], INDENT, out)
        listed = {
            id(each.entry): each for each in of[BlockOutcome.REFUSED] if is_listed(each.entry)
        }
        for group in group_blocks(each.entry for each in listed.values()):
            blocks = [listed[id(entry)] for entry in group]
            yield from _refused_lines(blocks, out, of_all=of_all)
        more = sum(not is_listed(line.entry) for line in of[BlockOutcome.REFUSED])
        if more:
            words = f"and {more:,} more from the same messages, for the same reason"
            yield fold([Span(INDENT)], [Span(words)], _DETAIL_INDENT, out)
        first = of[BlockOutcome.REFUSED][0].entry.message_id
        yield format_hint(f"To read the message: `brenner mail show {first}`", out)
    if of[BlockOutcome.DUPLICATE]:
        yield "\n" + fold([], [Span("Duplicates", BOLD)], INDENT, out)
        for line in of[BlockOutcome.DUPLICATE]:
            duplicate = Span(f"  {describe_duplicate(line.entry)}")
            spans = [*_block_spans(line, of_all=of_all), duplicate]
            yield fold([Span(INDENT)], spans, _DETAIL_INDENT, out)
    if of[BlockOutcome.APPLIED]:
        yield "\n" + fold([], [Span("Applied", BOLD)], INDENT, out)
        applied = of[BlockOutcome.APPLIED]
        # Show the version only if there are several, and the sender only if one is unverified.
        last = None if any(line.trust_warning for line in applied) else -1
        shown = slice(0 if of_all else 1, last)
        rows = [_applied_row(line) for line in applied]
        rows = [row._replace(cells=row.cells[shown]) for row in rows]
        yield from table(list(_COLUMNS)[shown], rows, out)


def _misplaced_lines(
    loaded: LoadedArtifact, found: Sequence[RefusedBlock], out: TextIO
) -> Iterator[str]:
    """Yield the delta blocks that no version contains, because they are in no DELTA message."""
    if not found:
        return
    yield "\n" + fold([], [Span("In no DELTA, in any round", ATTENTION)], INDENT, out)
    for each in found[:_MOST_MISPLACED]:
        what = (each.operation, each.target_id or each.section, each.name)
        words = " ".join(filter(None, what)) or "unreadable"
        spans = [Span(f"{each.message_id}.{each.block}  "), agent_span(each.agent)]
        yield fold([Span(INDENT)], [*spans, Span(f"  {words}")], _DETAIL_INDENT, out)
    if len(found) > _MOST_MISPLACED:
        yield fold(
            [Span(INDENT)], [Span(f"and {len(found) - _MOST_MISPLACED:,} more")], INDENT, out
        )
    status = f"`brenner session status {thread_argument(loaded.thread_id or '')}`"
    yield format_hint(f"Their senders can send them in a DELTA message: {status}", out)


def _headline(name: str, lines: Sequence[_LedgerRow]) -> Iterator[Span]:
    """Return spans such as `14 blocks: 11 applied, 2 rejected, 1 duplicate`.

    Zero counts are dimmed.
    """
    total = len(lines)
    yield Span(f"{escape_control(name)}, {total} block{'s' * (total != 1)}", BOLD)
    for number, (state, count) in enumerate(
        count_outcomes(tuple(each.entry for each in lines)).items()
    ):
        is_bad = count and state == BlockOutcome.REFUSED
        yield Span(": " if not number else ", ", DIM)
        text = f"{count} {OUTCOME_LABELS.get(state, state)}"
        yield Span(text, ATTENTION if is_bad else PLAIN if count else DIM)


def _refused_lines(lines: Sequence[_LedgerRow], out: TextIO, *, of_all: bool) -> Iterator[str]:
    """Yield one refused block, or several of a message with the same causes."""
    yield fold([Span(INDENT)], _block_spans(*lines, of_all=of_all), _DETAIL_INDENT, out)
    for each in repeats_of_blocks([line.entry for line in lines]):
        found = each.first
        line = Span(f"body line {found.line or lines[0].entry.line}: ")
        others = each.other_places() if len(lines) > 1 else ""
        said = f"  {found.message} {others}".rstrip()
        spans = [line, Span(found.shown_id, _SEVERITY_STYLES[found.severity]), Span(said)]
        yield fold([Span(_DETAIL_INDENT)], spans, _DETAIL_INDENT, out)
        yield fold([Span(f"{_DETAIL_INDENT}→ ")], [Span(found.fix)], f"{_DETAIL_INDENT}  ", out)
    yield from _correction_lines(lines, out)


def _correction_lines(lines: Sequence[_LedgerRow], out: TextIO) -> Iterator[str]:
    """Yield what the author can send: the corrected block, or those to choose from."""
    diagnostics = lines[0].entry.diagnostics
    for label, blocks in (
        ("Corrected block:", [found.repaired for found in diagnostics if found.repaired]),
        ("Send one of these blocks:", [one for found in diagnostics for one in found.readings]),
    ):
        if blocks:
            yield fold([Span(_DETAIL_INDENT)], [Span(label)], _DETAIL_INDENT, out)
        for block in dict.fromkeys(blocks):
            yield fold([Span(_DETAIL_INDENT)], [Span(block.rstrip("\n"), DIM)], _DETAIL_INDENT, out)
        if blocks and len(lines) > 1:
            words = f"Add `--json` to get the other {len(lines) - 1} corrected blocks."
            yield fold([Span(_DETAIL_INDENT)], [Span(words)], _DETAIL_INDENT, out)


def _block_spans(line: _LedgerRow, *others: _LedgerRow, of_all: bool) -> list[Span]:
    entry = line.entry
    entries = [entry, *(each.entry for each in others)]
    where = f"v{line.version}, " * of_all
    where += f"message {entry.message_id}, {numbered('block', (each.block for each in entries))}"
    where += f", body line {entry.line}" * (entry.state is not BlockOutcome.REFUSED)
    who = [agent_span(entry.agent), Span(" " * bool(line.trust_warning)), *line.trust_warning]
    said = joined(dict.fromkeys(map(describe_block, entries)))
    return [Span(where, BOLD), Span("  "), *who, Span(f"  {said}")]


def _applied_row(line: _LedgerRow) -> DisplayRow:
    entry = line.entry
    cells: list[Cell] = [
        [Span(f"v{line.version}", DIM)],
        [Span(str(entry.message_id))],
        [Span(str(entry.block))],
        [agent_span(entry.agent)],
        [Span(describe_block(entry))],
        [Span(entry.assigned_id or entry.item_id or "", BOLD)],
        line.trust_warning,
    ]
    return DisplayRow(cells, list(_note_cells(entry)))


def _note_cells(entry: Entry) -> Iterator[Cell]:
    for rewrite in entry.rewrites:
        change = f"{rewrite.field}: {rewrite.old} became {rewrite.new}"
        yield [Span(f"{_DETAIL_INDENT}rewritten  {change}", DIM)]
    for found in sorted(entry.diagnostics, key=worst_first):
        if found.id == ID_REWRITTEN.id:
            continue  # the rewrites above say it
        yield [
            Span(_DETAIL_INDENT),
            Span(found.shown_id, _SEVERITY_STYLES[found.severity]),
            Span(f"  {found.message}"),
        ]
