"""`brenner artifact blame`: for every field who set it, in which message, and what it replaced."""

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

import click

from brenner.artifact.diff import label_of, value_text
from brenner.cli.artifact.common import (
    BOLD,
    CONTENT,
    DIM,
    FINE,
    INDENT,
    STRUCK,
    Loaded,
    Reader,
    notes_json,
    write_unreadable,
)
from brenner.cli.options import Settings, common_options, examples
from brenner.cli.output import Reporting, write_diagnostics, write_json
from brenner.cli.table import Cell, Column, table
from brenner.cli.table import Row as TableRow
from brenner.cli.terminal import (
    ATTENTION,
    Span,
    advice,
    agent_piece,
    fold,
    pager_option,
    thread_argument,
    write_lines,
)
from brenner.diagnostics.model import Diagnostic
from brenner.mail.model import Trust

if TYPE_CHECKING:
    from brenner.artifact.state import Change
    from brenner.services.blame import Row


_COLUMNS = (
    Column("Field", least=18),
    Column("Set by", least=10),
    Column("Message", is_right=True),
    Column("In"),
    Column("Value", least=20),
)
_SENDER = Column("Sender")
_NOT_KNOWN = "not known"
_TAKEN_AWAY = "(taken away)"
_BELOW = "    "


@click.command(
    "blame",
    cls=Reporting,
    always={"thread_id": None, "version": None, "source": None, "message_id": None, "fields": []},
    epilog=examples(
        "brenner artifact blame RS-20251230-cell-fate",
        "brenner artifact blame RS-20251230-cell-fate@v2 H2",
        "brenner artifact blame RS-20251230-cell-fate H2.claim --history",
    ),
)
@click.argument("target", metavar="TARGET")
@click.argument("place", required=False, metavar="[ITEM[.FIELD]]")
@click.option("--history", "with_history", is_flag=True, help="Show every value that it ever had.")
@pager_option
@common_options
def blame(
    settings: Settings, target: str, place: str | None, with_history: bool, pager: bool
) -> int:
    """Say for every field of a version who set it, in which message, and what it replaced.

    TARGET is a THREAD, THREAD@vN, or a file that equals a version of the mail. ITEM[.FIELD]
    narrows it: H2, H2.claim, P1.predictions.H3. Exit code 1: there is no such thread, version,
    item or field, the mail does not know the file, or a message that set one of the fields was
    altered in the store.
    """
    from brenner.cli.artifact.common import with_authors
    from brenner.services.blame import row_json
    from brenner.services.identity import trusts

    with Reader(settings) as reader:
        read = reader.read(target, with_state=True)
        if isinstance(read, Diagnostic):
            return write_unreadable(read, target, as_json=settings.as_json)
        loaded = with_authors(reader, read)
        known = trusts(reader.workspace.mailbox, loaded.thread_id or "")
    rows = _found(loaded, place)
    found = [row._replace(trusts=known, altered=loaded.altered) for row in rows]
    if settings.as_json:
        fields = [
            {**row_json(row, with_history=with_history), "altered": row.is_altered(row.change)}
            for row in found
        ]
        write_json({**loaded.to_json(), "fields": fields, **notes_json([loaded])})
    else:
        write_diagnostics(loaded.diagnostics, loaded.name, sys.stderr)
        lines = _lines(loaded, found, place, sys.stdout, with_history=with_history)
        write_lines(lines, pager=pager)
    return CONTENT if any(map(_has_altered, found)) else FINE


def _has_altered(row: "Row") -> bool:
    """Whether a message that has ever set the field was altered."""
    return row.change is not None and any(map(row.is_altered, row.change.history()))


def _found(loaded: Loaded, place: str | None) -> "list[Row]":
    """The rows that were asked for; that there are none is refused."""
    from brenner.cli.artifact.common import find_item, no_such
    from brenner.services.blame import asked_for, item_rows, rows

    state = loaded.version.state if loaded.version else None
    changes = state.blame if state else {}
    if place is None:
        return list(rows(loaded.artifact, changes))
    item_id, dot, field = place.partition(".")
    layout, item = find_item(loaded, item_id)
    of_item = list(item_rows(layout.section, item, changes.get(item.id, {})))
    found = asked_for(of_item, field) if dot else of_item
    if dot and not found:
        raise no_such(loaded.name, place, (row.name for row in of_item))
    return found


def _lines(
    loaded: Loaded, found: "Sequence[Row]", place: str | None, out: TextIO, *, with_history: bool
) -> Iterator[str]:
    title = loaded.name if place else f"{loaded.name}: who set what"
    yield fold([], [Span(title, BOLD)], INDENT, out)
    if not found:
        hint = f"Nothing is set yet. `brenner artifact show {thread_argument(loaded.name)}`"
        yield advice(f"{hint} shows what it lacks.", out)
    elif len(found) == 1 or with_history:
        for row in found:
            yield "\n" + "".join(_whole(row, out, with_history=with_history))
    else:
        yield "\n"
        heads = (*_COLUMNS, _SENDER) if any(map(_unverified, found)) else _COLUMNS
        rows = [_table_row(row) for row in found]
        yield from table(heads, [row._replace(cells=row.cells[: len(heads)]) for row in rows], out)


# All fields in a table, what each replaced under it


def _table_row(row: "Row") -> TableRow:
    change, value = row.change, [_value_piece(row.value, is_gone=row.value is None)]
    name = [Span(f"{row.item_id}.", DIM), Span(row.field)]
    if change is None:
        return TableRow((name, [Span(_NOT_KNOWN, DIM)], [], [], value, []))
    source = change.source
    cells: tuple[Cell, ...] = (
        name,
        [agent_piece(source.agent)],
        [Span(str(source.message_id))],
        [Span(f"v{source.version}")],
        value,
        _unverified(row),
    )
    return TableRow(cells, [_replaced(change)] if change.replaced is not None else ())


def _unverified(row: "Row") -> list[Span]:
    """The word for a value that anybody may have set, or whose message was altered."""
    if row.is_altered(row.change):
        return [Span("altered", ATTENTION)]
    is_open = row.change is not None and row.trust_in(row.change) is Trust.UNVERIFIED
    return [Span("unverified", ATTENTION)] if is_open else []


def _replaced(change: "Change") -> list[Span]:
    by = _by(change.before)
    said = f"replaced what {by} said: " if by else "replaced: "
    return [Span(_BELOW + said, DIM), _value_piece(change.replaced, is_gone=True)]


def _by(change: "Change | None") -> str:
    """Who, where and when; nothing where that is not known."""
    if change is None:
        return ""
    source = change.source
    return f"{source.agent} (message {source.message_id}, v{source.version})"


def _value_piece(value: object, *, is_gone: bool) -> Span:
    if value is None:
        return Span(_TAKEN_AWAY, DIM)
    return Span(" ".join(value_text(value).split()), STRUCK if is_gone else {})


# One field whole


def _whole(row: "Row", out: TextIO, *, with_history: bool) -> Iterator[str]:
    """Its value, who set it, and what that replaced; or all of its history, newest first."""
    label = label_of(row.section, row.path)
    yield fold([Span(INDENT)], [Span(row.name, BOLD), Span(f"  {label}", DIM)], INDENT, out)
    change = row.change
    if change is None:
        yield _text(row.value, out)
        note = "The mail does not say who set it: the version was adopted."
        yield fold([Span(_BELOW)], [Span(note, DIM)], _BELOW, out)
        return
    history = list(change.history()) if with_history else [change]
    for each in history:
        mark = _unverified(row._replace(change=each))
        yield fold([Span(_BELOW)], [*_source_pieces(each), *_after(mark)], _BELOW, out)
        yield _text(each.value, out)
    last = history[-1]
    if last.replaced is not None:
        by = _by(last.before)
        said = f"It replaced what {by} said:" if by else "It replaced:"
        yield fold([Span(_BELOW)], [Span(said, DIM)], _BELOW, out)
        yield _text(last.replaced, out)
    if change.before and not with_history:
        yield fold([Span(_BELOW)], [Span("`--history` shows all that it was.", DIM)], _BELOW, out)


def _source_pieces(change: "Change") -> list[Span]:
    source = change.source
    block = f", block {source.block}" if source.block else ""
    words = f"  {source.operation}, message {source.message_id}{block}, in v{source.version}"
    return [agent_piece(source.agent), Span(words, DIM)]


def _after(mark: list[Span]) -> list[Span]:
    return [Span("  "), *mark] if mark else []


def _text(value: object, out: TextIO) -> str:
    before = _BELOW + INDENT
    pieces = [Span(_TAKEN_AWAY, DIM) if value is None else Span(value_text(value))]
    return fold([Span(before)], pieces, before, out)
