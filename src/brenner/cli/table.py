"""Tables for the terminal, and messages as table rows.

Columns are aligned by display width. A terminal cuts rows that are too long, never wraps them. A
pipe gets whole rows without styles.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TextIO

import click

from brenner.cli.options import MESSAGE_ID, Number
from brenner.cli.output import terminal_width
from brenner.cli.terminal import (
    ATTENTION,
    QUIET,
    STRONG,
    Span,
    agent_span,
    display_width,
    fitting_end,
    format_message,
    styled_line,
    subject_spans,
)
from brenner.named_tuple import NamedTuple
from brenner.protocol.messages import Importance, StoredMessage, Trust, exact_time, relative_time
from brenner.text import escape_control

GAP = "  "
_ELLIPSIS = "…"
# Combining marks have no width, so a cell could otherwise be arbitrarily long
_MAX_CHARACTERS_PER_COLUMN = 4

Cell = Sequence[Span]


class TableColumn(NamedTuple):
    """A column. If a row is too wide, columns with a `min_width` shrink, the last one first.

    A terminal narrower than `min_terminal_width` does not show the column.
    """

    title: str
    min_width: int | None = None
    is_right: bool = False
    min_terminal_width: int = 0


class DisplayRow(NamedTuple):
    """The cells of a row, and lines below it that span all columns."""

    cells: Sequence[Cell]
    below: Sequence[Cell] = ()


def table(
    heads: Sequence[TableColumn], rows: Sequence[DisplayRow], stream: TextIO
) -> Iterator[str]:
    """Yield the lines of a table: the titles, a rule, the rows."""
    width = terminal_width(stream)
    shown = [
        number for number, head in enumerate(heads) if not width or head.min_terminal_width <= width
    ]
    visible = [heads[number] for number in shown]
    body = [[_escape_cell(row.cells[number], width) for number in shown] for row in rows]
    titles: list[Cell] = [[Span(head.title, QUIET)] for head in visible]
    sizes = _column_widths(visible, [titles, *body], width)
    yield _row_line(visible, titles, sizes, stream)
    total = sum(sizes) + len(GAP) * (len(sizes) - 1)
    total = min(total, width) if width else total
    yield styled_line([Span("─" * total, QUIET)], stream) + "\n"
    for cells, row in zip(body, rows, strict=True):
        yield _row_line(visible, cells, sizes, stream)
        for below in row.below:
            safe = _escape_cell(below, width)
            yield styled_line(cut(safe, width) if width else safe, stream) + "\n"


def cut(cell: Cell, width: int) -> list[Span]:
    """Cut a cell to the width. An ellipsis marks the cut."""
    if sum(display_width(span.text) for span in cell) <= width:
        return list(cell)
    result: list[Span] = []
    room = width - display_width(_ELLIPSIS)
    for span in cell:
        end = fitting_end(span.text, 0, room)
        result.append(span._replace(text=span.text[:end] + _ELLIPSIS * (end < len(span.text))))
        room -= display_width(span.text)
        if end < len(span.text):
            break
    return result


def _escape_cell(cell: Cell, width: int) -> list[Span]:
    """Escape control characters, and limit the length where a terminal shows the cell."""
    most = width * _MAX_CHARACTERS_PER_COLUMN
    return [
        span._replace(text=escape_control(span.text, most or len(span.text) + 1)) for span in cell
    ]


def _column_widths(
    heads: Sequence[TableColumn], rows: Sequence[Sequence[Cell]], width: int
) -> list[int]:
    """Return the width of each column: its widest cell, or less if the terminal is narrower."""
    sizes = [
        max(sum(display_width(span.text) for span in row[number]) for row in rows)
        for number in range(len(heads))
    ]
    excess = sum(sizes) + len(GAP) * (len(sizes) - 1) - width
    if not width:
        return sizes
    for number in reversed(range(len(heads))):
        min_width = heads[number].min_width
        if min_width is not None and excess > 0:
            shrunk = max(0, min(excess, sizes[number] - min_width))
            sizes[number] -= shrunk
            excess -= shrunk
    return sizes


def _row_line(
    heads: Sequence[TableColumn], cells: Sequence[Cell], sizes: list[int], stream: TextIO
) -> str:
    spans: list[Span] = []
    for head, cell, size in zip(heads, cells, sizes, strict=True):
        fitting = cut(cell, size)
        blank = Span(" " * (size - sum(display_width(span.text) for span in fitting)))
        spans += [blank, *fitting] if head.is_right else [*fitting, blank]
        spans.append(Span(GAP))
    width = terminal_width(stream)
    while spans and not spans[-1].text.strip(" "):
        spans.pop()
    return styled_line(cut(spans, width) if width else spans, stream) + "\n"


# Trust and importance of a message in words. The usual values are not shown.


_MAX_IDS = 8
_PRESSING = (Importance.HIGH, Importance.URGENT)


def trust_spans(stored: StoredMessage) -> list[Span]:
    """Return `unverified`, highlighted, or `verified`; nothing for mail that was written here."""
    trust = stored.envelope.trust
    if trust is Trust.UNVERIFIED:
        return [Span(trust, ATTENTION)]
    return [Span(trust, QUIET)] if trust is Trust.VERIFIED else []


def importance_spans(stored: StoredMessage) -> list[Span]:
    """Return `urgent`, `high` or `low`; nothing for normal importance."""
    importance = stored.envelope.importance
    if importance is Importance.NORMAL:
        return []
    return [Span(importance, ATTENTION if importance in _PRESSING else QUIET)]


def is_unverified(stored: StoredMessage) -> bool:
    return stored.envelope.trust is Trust.UNVERIFIED


def ids_text(ids: Sequence[int]) -> str:
    """Return a text such as `messages 12, 14 and 15`. Of many IDs it names the first 8."""
    shown = [str(each) for each in ids[:_MAX_IDS]]
    left = len(ids) - len(shown)
    if left:
        return f"messages {', '.join(shown)} and {left} more"
    if len(shown) == 1:
        return f"message {shown[0]}"
    return f"messages {', '.join(shown[:-1])} and {shown[-1]}"


# Messages as rows: the table of the conventions document, with a column of marks before it


UNREAD_MARK, OWED_MARK, UNVERIFIED_MARK = "•", "!", "?"
_LEGEND = {
    UNREAD_MARK: "unread (mark as read: `brenner mail mark ID{actor}`)",
    OWED_MARK: "you owe an ACK (acknowledge: `brenner mail ack ID{actor}`)",
    UNVERIFIED_MARK: "unverified: the sender is not certain",
}
WIDE_TERMINAL = 100

ID_COLUMN = TableColumn("ID", is_right=True)
FROM_COLUMN = TableColumn("From", min_width=10)
SUBJECT_COLUMN = TableColumn("Subject", min_width=24)
THREAD_COLUMN = TableColumn("Thread", min_width=24)
TIME_COLUMN = TableColumn("When", min_terminal_width=WIDE_TERMINAL)
MESSAGE_COLUMNS = (
    TableColumn(""),
    ID_COLUMN,
    FROM_COLUMN,
    SUBJECT_COLUMN,
    THREAD_COLUMN,
    TIME_COLUMN,
)

limit_option = click.option(
    "--limit", type=Number(1), default=50, metavar="N", help="Show at most N (default: 50)."
)
before_option = click.option(
    "--before", type=MESSAGE_ID, metavar="ID", help="Only messages older than this one."
)
bodies_option = click.option("--bodies", is_flag=True, help="With --json: complete bodies.")


def check_bodies_usage(*, bodies: bool, as_json: bool) -> None:
    if bodies and not as_json:
        message = "--bodies needs --json. As text, `brenner mail show ID` shows a whole message."
        raise click.UsageError(message)


def message_row(stored: StoredMessage, marks: str = "", below: Iterable[Cell] = ()) -> DisplayRow:
    """Return the row of a message. Its importance comes before the subject."""
    message = stored.message
    importance = [span for each in importance_spans(stored) for span in (each, Span(" "))]
    cells = (
        [Span(mark, STRONG if mark == UNREAD_MARK else ATTENTION) for mark in marks],
        [Span(str(stored.id))],
        [agent_span(message.sender)],
        [*importance, *subject_spans(message.subject)],
        [Span(message.thread_id)],
        [Span(format_time(stored.at, sys.stdout), QUIET)],
    )
    return DisplayRow(cells, tuple(below))


def trust_mark(stored: StoredMessage) -> str:
    """Return the mark of an unverified message, the same for all readers."""
    return UNVERIFIED_MARK * is_unverified(stored)


def format_time(at: datetime, out: TextIO) -> str:
    """Return the relative time for a terminal, the exact time for a pipe or a file."""
    return relative_time(at, datetime.now(UTC)) if out.isatty() else exact_time(at)


def format_compiled_time(compiled_at: str, out: TextIO) -> str:
    """Return the time that a version contains. It comes from its compiler and may be invalid."""
    try:
        at = datetime.fromisoformat(compiled_at)
        return relative_time(at, datetime.now(UTC)) if out.isatty() else escape_control(compiled_at)
    except (ValueError, TypeError):
        return escape_control(compiled_at)


def legend(marks: Iterable[str], actor: str) -> list[str]:
    """Return one line for each mark that occurs.

    `actor` is the `--as` option for the commands in it.
    """
    used = {mark for each in marks for mark in each}
    return [
        format_message(f"{mark} {words.format(actor=actor)}", sys.stdout)
        for mark, words in _LEGEND.items()
        if mark in used
    ]
