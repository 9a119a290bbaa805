"""`brenner artifact blame`: for every field its author, the message, and the value it replaced."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

import click

from brenner.artifact.diff import field_label, value_text
from brenner.cli.artifact.common import (
    BOLD,
    DIM,
    INDENT,
    ORIGIN_DEFAULTS,
    STRUCK,
    ArtifactReader,
    LoadedArtifact,
    find_item,
    join_target,
    no_such_field,
    notes_json,
    with_authors,
    write_unreadable,
)
from brenner.cli.options import EXIT_INVALID, EXIT_OK, Settings, common_options, examples
from brenner.cli.output import JsonCommand, write_diagnostics, write_json
from brenner.cli.table import Cell, DisplayRow, TableColumn, table
from brenner.cli.terminal import (
    ATTENTION,
    Span,
    agent_span,
    fold,
    format_hint,
    pager_option,
    write_lines,
)
from brenner.diagnostics.model import Diagnostic
from brenner.protocol.messages import Trust
from brenner.text import cut, thread_argument

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from brenner.artifact.state import Change
    from brenner.services.blame import BlameRow


_COLUMNS = (
    TableColumn("Field", min_width=18),
    TableColumn("Set by", min_width=10),
    TableColumn("Message", is_right=True),
    TableColumn("In"),
    TableColumn("Value", min_width=20),
)
_SENDER_COLUMN = TableColumn("Sender")
_UNKNOWN_AUTHOR = "unknown"
_REMOVED_VALUE = "(removed)"
_DETAIL_INDENT = "    "
_MOST_NAME = 60  # characters; the name of a result contains the result


@click.command(
    "blame",
    cls=JsonCommand,
    json_defaults=ORIGIN_DEFAULTS | {"fields": []},
    epilog=examples(
        "brenner artifact blame RS-20251230-cell-fate",
        "brenner artifact blame RS-20251230-cell-fate@v2 H2",
        "brenner artifact blame RS-20251230-cell-fate H2.claim --history",
        "brenner artifact blame h2.claim",
    ),
)
@click.argument("target", required=False, metavar="[TARGET]")
@click.argument("version", required=False, metavar="[vN]")
@click.argument("place", required=False, metavar="[ITEM[.FIELD]]")
@click.option("--history", "with_history", is_flag=True, help="Show all earlier values, too.")
@pager_option
@common_options
def blame(  # noqa: PLR0913  (one parameter per option)
    settings: Settings,
    *,
    target: str | None,
    version: str | None,
    place: str | None,
    with_history: bool,
    pager: bool,
) -> int:
    """Show who set each field of a version, in which message, and what it replaced.

    TARGET is a THREAD, THREAD@vN, or a file that equals a version. It is optional if only one
    session is open. ITEM[.FIELD] limits the output: H2, H2.claim, P1.predictions.H3.
    """
    name, place = join_target(target, version, place, takes_place=True)
    from brenner.services.blame import blame_row_json
    from brenner.services.identity import thread_trust

    with ArtifactReader(settings) as reader:
        read = reader.read(name, with_state=True)
        if isinstance(read, Diagnostic):
            return write_unreadable(read, name, as_json=settings.as_json)
        loaded = with_authors(reader, read)
        trust_by_message = thread_trust(reader.workspace.mailbox, loaded.thread_id or "")
    rows = _select_rows(loaded, place)
    found = [row._replace(trusts=trust_by_message, altered=loaded.altered) for row in rows]
    if settings.as_json:
        fields = [
            {
                **blame_row_json(row, with_history=with_history),
                "altered": row.is_altered(row.change),
            }
            for row in found
        ]
        write_json({**loaded.to_json(), "fields": fields, **notes_json([loaded])})
    else:
        write_diagnostics(loaded.diagnostics, loaded.name, sys.stderr)
        lines = _lines(loaded, found, place, sys.stdout, with_history=with_history)
        write_lines(lines, pager=pager)
    is_altered = any(
        row.is_altered(change) for row in found if row.change for change in row.change.history()
    )
    return EXIT_INVALID if is_altered else EXIT_OK


def _select_rows(loaded: LoadedArtifact, place: str | None) -> list[BlameRow]:
    from brenner.services.blame import blame_rows, item_blame_rows, rows_of_field

    state = loaded.version.state if loaded.version else None
    changes = state.blame if state else {}
    if place is None:
        return list(blame_rows(loaded.artifact, changes))
    item_id, dot, field = place.partition(".")
    layout, item = find_item(loaded, item_id)
    of_item = list(item_blame_rows(layout.section, item, changes.get(item.id, {})))
    found = rows_of_field(of_item, field) if dot else of_item
    if dot and not found:
        raise no_such_field(loaded.name, place, (row.name for row in of_item))
    return found


def _lines(
    loaded: LoadedArtifact,
    found: Sequence[BlameRow],
    place: str | None,
    out: TextIO,
    *,
    with_history: bool,
) -> Iterator[str]:
    title = loaded.name if place else f"{loaded.name}: who set what"
    yield fold([], [Span(title, BOLD)], INDENT, out)
    if not found:
        command = f"`brenner artifact lint {thread_argument(loaded.name)}`"
        yield format_hint(f"No field is set yet. To see what is missing: {command}", out)
    elif len(found) == 1 or with_history:
        for row in found:
            yield "\n" + "".join(_whole_field_lines(row, out, with_history=with_history))
    else:
        yield "\n"
        heads = (*_COLUMNS, _SENDER_COLUMN) if any(map(_trust_warning, found)) else _COLUMNS
        rows = [_table_row(row) for row in found]
        yield from table(heads, [row._replace(cells=row.cells[: len(heads)]) for row in rows], out)


# All fields in a table, with the replaced value below each


def _table_row(row: BlameRow) -> DisplayRow:
    change, value = row.change, [_value_span(row.value, is_gone=row.value is None)]
    name = [Span(f"{row.item_id}.", DIM), Span(cut(row.field, _MOST_NAME))]
    if change is None:
        return DisplayRow((name, [Span(_UNKNOWN_AUTHOR, DIM)], [], [], value, []))
    source = change.source
    cells: tuple[Cell, ...] = (
        name,
        [agent_span(source.agent)],
        [Span(str(source.message_id))],
        [Span(f"v{source.version}")],
        value,
        _trust_warning(row),
    )
    return DisplayRow(cells, [_replaced_spans(change)] if change.replaced is not None else ())


def _trust_warning(row: BlameRow) -> list[Span]:
    """Return a warning if the sender of the value is unverified, or its message was altered."""
    if row.is_altered(row.change):
        return [Span("altered", ATTENTION)]
    is_open = row.change is not None and row.trust_in(row.change) is Trust.UNVERIFIED
    return [Span("unverified", ATTENTION)] if is_open else []


def _replaced_spans(change: Change) -> list[Span]:
    by = _author_text(change.before)
    text = f"replaced the value of {by}: " if by else "replaced: "
    return [Span(_DETAIL_INDENT + text, DIM), _value_span(change.replaced, is_gone=True)]


def _author_text(change: Change | None) -> str:
    if change is None:
        return ""
    source = change.source
    return f"{source.agent} (message {source.message_id}, v{source.version})"


def _value_span(value: object, *, is_gone: bool) -> Span:
    if value is None:
        return Span(_REMOVED_VALUE, DIM)
    return Span(" ".join(value_text(value).split()), STRUCK if is_gone else {})


# One field in full


def _whole_field_lines(row: BlameRow, out: TextIO, *, with_history: bool) -> Iterator[str]:
    """Yield the value of a field, its author and what it replaced, or its whole history."""
    label = field_label(row.section, row.path)
    yield fold(
        [Span(INDENT)],
        [Span(cut(row.name, _MOST_NAME), BOLD), Span(f"  {label}", DIM)],
        INDENT,
        out,
    )
    change = row.change
    if change is None:
        yield _value_lines(row.value, out)
        note = "The author is unknown, because the version was adopted."
        yield fold([Span(_DETAIL_INDENT)], [Span(note, DIM)], _DETAIL_INDENT, out)
        return
    history = list(change.history()) if with_history else [change]
    for each in history:
        mark = _trust_warning(row._replace(change=each))
        spans = [*_source_spans(each), *([Span("  "), *mark] if mark else [])]
        yield fold([Span(_DETAIL_INDENT)], spans, _DETAIL_INDENT, out)
        yield _value_lines(each.value, out)
    last = history[-1]
    if last.replaced is not None:
        by = _author_text(last.before)
        text = f"Replaced the value of {by}:" if by else "Replaced:"
        yield fold([Span(_DETAIL_INDENT)], [Span(text, DIM)], _DETAIL_INDENT, out)
        yield _value_lines(last.replaced, out)
    if change.before and not with_history:
        yield fold(
            [Span(_DETAIL_INDENT)],
            [Span("All earlier values: `--history`", DIM)],
            _DETAIL_INDENT,
            out,
        )


def _source_spans(change: Change) -> list[Span]:
    source = change.source
    block = f", block {source.block}" if source.block else ""
    words = f"  {source.operation}, message {source.message_id}{block}, in v{source.version}"
    return [agent_span(source.agent), Span(words, DIM)]


def _value_lines(value: object, out: TextIO) -> str:
    before = _DETAIL_INDENT + INDENT
    spans = [Span(_REMOVED_VALUE, DIM) if value is None else Span(value_text(value))]
    return fold([Span(before)], spans, before, out)
