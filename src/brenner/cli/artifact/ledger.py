"""`brenner artifact ledger`: what became of every delta block of a version."""

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TextIO

import click

from brenner.artifact.diff import block_words, duplicate_words
from brenner.artifact.state import Entry, Outcome, counts, is_listed
from brenner.cli.artifact.common import (
    BOLD,
    CONTENT,
    DIM,
    FINE,
    INDENT,
    Loaded,
    Reader,
    notes_json,
    target_of,
    write_unreadable,
)
from brenner.cli.options import Settings, common_options, examples
from brenner.cli.output import Reporting, write_diagnostics, write_json
from brenner.cli.table import Cell, Column, Row, table
from brenner.cli.terminal import (
    ATTENTION,
    PLAIN,
    Span,
    Style,
    advice,
    agent_piece,
    fold,
    pager_option,
    write_lines,
)
from brenner.diagnostics.codes.merging import ID_REWRITTEN
from brenner.diagnostics.model import Diagnostic, Severity, worst_first
from brenner.mail.model import Trust
from brenner.text import escape_control

if TYPE_CHECKING:
    from brenner.services.version_store import VersionLedger


_BELOW = "      "
_COLUMNS = (
    Column("In"),
    Column("Message", is_right=True),
    Column("Block", is_right=True),
    Column("Agent", least=10),
    Column("Block says", least=16),
    Column("Item"),
    Column("Sender"),
)
_STYLES: dict[Severity, Style] = {
    Severity.ERROR: ATTENTION,
    Severity.WARNING: {"fg": "yellow", "bold": True},
    Severity.INFO: {"fg": "cyan"},
}


class _Line(NamedTuple):
    """A block, the version that has read it, and how it is known who sent it."""

    version: int
    entry: Entry
    trust: Trust | None = None
    is_altered: bool = False

    @property
    def unverified(self) -> list[Span]:
        """The word for it, where anybody may have sent it, or where its message was altered."""
        if self.is_altered:
            return [Span("altered", ATTENTION)]
        is_open = self.trust is Trust.UNVERIFIED
        return [Span("unverified", ATTENTION)] if is_open else []


@click.command(
    "ledger",
    cls=Reporting,
    always={
        "thread_id": None,
        "version": None,
        "source": None,
        "message_id": None,
        "versions": [],
        **{outcome.value: 0 for outcome in Outcome},
        "entries": [],
        "entries_left_out": 0,
    },
    epilog=examples(
        "brenner artifact ledger RS-20251230-cell-fate",
        "brenner artifact ledger RS-20251230-cell-fate@v2 --json",
        "brenner artifact ledger RS-20251230-cell-fate --all",
    ),
)
@click.argument("target", metavar="TARGET")
@click.option("--all", "of_all", is_flag=True, help="The blocks of every version of the thread.")
@pager_option
@common_options
def ledger(settings: Settings, target: str, of_all: bool, pager: bool) -> int:
    """Say what became of every delta block that a version has read, the refused ones first.

    A block was applied (to which item), refused (why, and how to mend it), or is a duplicate (of
    which item). TARGET is a THREAD, THREAD@vN, or a file that equals a version of the mail. Exit
    code 0 whatever was refused; 1: there is no such thread or version, the mail does not know the
    file, or a message with one of the blocks was altered in the store.
    """
    wanted = target_of(target) if of_all else None
    if of_all and (wanted is None or wanted.version is not None):
        message = "--all is about a thread: give THREAD, without a version."
        raise click.UsageError(message)
    with Reader(settings) as reader:
        read = reader.read(target, with_state=True)
        if isinstance(read, Diagnostic):
            return write_unreadable(read, target, as_json=settings.as_json)
        from brenner.cli.artifact.common import with_authors
        from brenner.services.identity import trusts

        loaded = with_authors(reader, read)
        found = _found(reader, loaded, of_all=of_all)
        known = trusts(reader.workspace.mailbox, loaded.thread_id or "")
    lines = [
        _Line(
            each.number,
            entry,
            known.get(entry.message_id),
            entry.message_id in loaded.altered,
        )
        for each in found
        for entry in each.entries
    ]
    if settings.as_json:
        write_json(_document(loaded, [each.number for each in found], lines))
    else:
        write_diagnostics(loaded.diagnostics, loaded.name, sys.stderr)
        write_lines(_shown(loaded, lines, sys.stdout, of_all=of_all), pager=pager)
    return CONTENT if any(line.is_altered for line in lines) else FINE


def _found(reader: Reader, loaded: Loaded, *, of_all: bool) -> "tuple[VersionLedger, ...]":
    from brenner.services.version_store import VersionLedger, ledger_of, ledgers

    if of_all:
        return ledgers(reader.workspace, loaded.thread_id or "")
    number = loaded.number or 0
    is_mail = loaded.version is not None and loaded.version.source == "mail"
    entries = ledger_of(reader.workspace, loaded.thread_id or "", number) if is_mail else ()
    return (VersionLedger(number, entries),)


def _document(loaded: Loaded, versions: list[int], lines: Sequence[_Line]) -> dict[str, object]:
    """As `ledger_json` has it, each entry with its version and the trust in its message."""
    return {
        **loaded.to_json(),
        "versions": versions,
        **counts(tuple(line.entry for line in lines)),
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
        **notes_json([loaded]),
    }


def _shown(loaded: Loaded, lines: Sequence[_Line], out: TextIO, *, of_all: bool) -> Iterator[str]:
    """How many ended how; then the refused ones, what repeats another, what was applied."""
    name = loaded.thread_id or "" if of_all else loaded.name
    yield fold([], list(_headline(name, lines)), INDENT, out)
    if not lines:
        yield advice("Delta blocks stand in DELTA messages: `brenner new DELTA` prints one.", out)
    of = {outcome: [each for each in lines if each.entry.state is outcome] for outcome in Outcome}
    if of[Outcome.REFUSED]:
        yield "\n" + fold([], [Span("Refused", ATTENTION)], INDENT, out)
        for line in of[Outcome.REFUSED]:
            if is_listed(line.entry):
                yield from _refused(line, out, of_all=of_all)
        more = sum(not is_listed(line.entry) for line in of[Outcome.REFUSED])
        if more:
            words = f"and {more:,} more of the same messages, for the same reason"
            yield fold([Span(INDENT)], [Span(words)], _BELOW, out)
        yield advice("`brenner mail show MESSAGE` shows what was sent.", out)
    if of[Outcome.DUPLICATE]:
        yield "\n" + fold([], [Span("Duplicates", BOLD)], INDENT, out)
        yield from (_duplicate(line, out, of_all=of_all) for line in of[Outcome.DUPLICATE])
    if of[Outcome.APPLIED]:
        yield "\n" + fold([], [Span("Applied", BOLD)], INDENT, out)
        applied = of[Outcome.APPLIED]
        # Which version only where there are several; who sent it only where that is not certain.
        last = None if any(line.unverified for line in applied) else -1
        shown = slice(0 if of_all else 1, last)
        rows = [_row(line) for line in applied]
        rows = [row._replace(cells=row.cells[shown]) for row in rows]
        yield from table(list(_COLUMNS)[shown], rows, out)


def _headline(name: str, lines: Sequence[_Line]) -> Iterator[Span]:
    """`14 blocks: 11 applied, 2 refused, 1 duplicate`; what is zero is quiet."""
    total = len(lines)
    yield Span(f"{escape_control(name)}, {total} block{'s' * (total != 1)}", BOLD)
    for number, (state, count) in enumerate(counts(tuple(each.entry for each in lines)).items()):
        is_bad = count and state == Outcome.REFUSED
        yield Span(": " if not number else ", ", DIM)
        yield Span(f"{count} {state}", ATTENTION if is_bad else PLAIN if count else DIM)


def _refused(line: _Line, out: TextIO, *, of_all: bool) -> Iterator[str]:
    """What was sent, why it was refused, how to mend it, and the block that may be sent instead."""
    yield fold([Span(INDENT)], _place(line, of_all=of_all), _BELOW, out)
    for found in sorted(line.entry.diagnostics, key=worst_first):
        told = [Span(found.id, _STYLES[found.severity]), Span(f"  {found.message}")]
        yield fold([Span(_BELOW)], told, _BELOW, out)
        yield fold([Span(f"{_BELOW}→ ")], [Span(found.fix)], f"{_BELOW}  ", out)
    ready = dict.fromkeys(each for found in line.entry.diagnostics for each in _ready(found))
    for block in ready:
        yield fold([Span(_BELOW)], [Span(block.rstrip("\n"), DIM)], _BELOW, out)


def _ready(found: Diagnostic) -> tuple[str, ...]:
    """Blocks that its author may send: the repaired one, or those to choose from."""
    return (*([found.repaired] if found.repaired else []), *found.readings)


def _duplicate(line: _Line, out: TextIO, *, of_all: bool) -> str:
    stands = Span(f"  {duplicate_words(line.entry)}")
    return fold([Span(INDENT)], [*_place(line, of_all=of_all), stands], _BELOW, out)


def _place(line: _Line, *, of_all: bool) -> list[Span]:
    entry = line.entry
    where = f"v{line.version}, " * of_all
    where += f"message {entry.message_id}, block {entry.block}, line {entry.line}"
    who = [agent_piece(entry.agent), Span(" " * bool(line.unverified)), *line.unverified]
    return [Span(where, BOLD), Span("  "), *who, Span(f"  {block_words(entry)}")]


def _row(line: _Line) -> Row:
    entry = line.entry
    cells: list[Cell] = [
        [Span(f"v{line.version}", DIM)],
        [Span(str(entry.message_id))],
        [Span(str(entry.block))],
        [agent_piece(entry.agent)],
        [Span(block_words(entry))],
        [Span(entry.assigned_id or entry.item_id or "", BOLD)],
        line.unverified,
    ]
    return Row(cells, list(_notes(entry)))


def _notes(entry: Entry) -> Iterator[Cell]:
    """What was rewritten, and what its author should know."""
    for rewrite in entry.rewrites:
        change = f"{rewrite.field}: {rewrite.old} became {rewrite.new}"
        yield [Span(f"{_BELOW}rewritten  {change}", DIM)]
    for found in sorted(entry.diagnostics, key=worst_first):
        if found.id == ID_REWRITTEN.id:
            continue  # said already
        yield [
            Span(_BELOW),
            Span(found.id, _STYLES[found.severity]),
            Span(f"  {found.message}"),
        ]
