"""Tables for people: columns by display width, rows that are cut and never wrapped.

Into a pipe everything goes uncut and without styles.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, TextIO

import click

from brenner.cli.options import MESSAGE_ID, Number
from brenner.cli.output import width_of
from brenner.cli.terminal import (
    ATTENTION,
    QUIET,
    STRONG,
    Span,
    agent_piece,
    columns,
    sentence,
    shown_line,
    subject_pieces,
)
from brenner.mail.model import Importance, StoredMessage, Trust
from brenner.protocol.messages import ago, exact
from brenner.text import escape_control

GAP = "  "
_CUT = "…"
# Marks that take no room of their own can stand on one letter without end
_MOST_LETTERS_PER_COLUMN = 4

Cell = Sequence[Span]


class Column(NamedTuple):
    """A column. Where a row is too long, those that have a `least` give way, the last one first.

    A column that is not `shown_from` so many columns on is left out of a narrow terminal.
    """

    title: str
    least: int | None = None
    is_right: bool = False
    shown_from: int = 0


class Row(NamedTuple):
    """The cells of a row, and lines that stand under it across the columns."""

    cells: Sequence[Cell]
    below: Sequence[Cell] = ()


def table(heads: Sequence[Column], rows: Sequence[Row], stream: TextIO) -> Iterator[str]:
    """The lines of a table: the titles, the rule, the rows."""
    width = width_of(stream)
    shown = [number for number, head in enumerate(heads) if not width or head.shown_from <= width]
    kept = [heads[number] for number in shown]
    body = [[_safe(row.cells[number], width) for number in shown] for row in rows]
    titles: list[Cell] = [[Span(head.title, QUIET)] for head in kept]
    sizes = _sizes(kept, [titles, *body], width)
    yield _line(kept, titles, sizes, stream)
    total = sum(sizes) + len(GAP) * (len(sizes) - 1)
    total = min(total, width) if width else total
    yield shown_line([Span("─" * total, QUIET)], stream) + "\n"
    for cells, row in zip(body, rows, strict=True):
        yield _line(kept, cells, sizes, stream)
        for below in row.below:
            safe = _safe(below, width)
            yield shown_line(cut(safe, width) if width else safe, stream) + "\n"


def cut(cell: Cell, width: int) -> list[Span]:
    """As much of a cell as fits; its last column says that there is more."""
    if sum(columns(piece.text) for piece in cell) <= width:
        return list(cell)
    kept: list[Span] = []
    room = width - columns(_CUT)
    for piece in cell:
        end = _end(piece.text, room)
        kept.append(piece._replace(text=piece.text[:end] + _CUT * (end < len(piece.text))))
        room -= columns(piece.text)
        if end < len(piece.text):
            break
    return kept


def _end(text: str, room: int) -> int:
    """Up to where the text fits into so many columns."""
    for place, letter in enumerate(text):
        room -= columns(letter)
        if room < 0:
            return place
    return len(text)


def _safe(cell: Cell, width: int) -> list[Span]:
    """Nothing in it is obeyed, nor endless where it is looked at."""
    most = width * _MOST_LETTERS_PER_COLUMN
    return [
        piece._replace(text=escape_control(piece.text, most or len(piece.text) + 1))
        for piece in cell
    ]


def _sizes(heads: Sequence[Column], rows: Sequence[Sequence[Cell]], width: int) -> list[int]:
    """How wide each column is: as its widest cell asks for, unless the terminal is narrower."""
    sizes = [
        max(sum(columns(piece.text) for piece in row[number]) for row in rows)
        for number in range(len(heads))
    ]
    over = sum(sizes) + len(GAP) * (len(sizes) - 1) - width
    if not width:
        return sizes
    for number in reversed(range(len(heads))):
        least = heads[number].least
        if least is not None and over > 0:
            given = max(0, min(over, sizes[number] - least))
            sizes[number] -= given
            over -= given
    return sizes


def _line(heads: Sequence[Column], cells: Sequence[Cell], sizes: list[int], stream: TextIO) -> str:
    pieces: list[Span] = []
    for head, cell, size in zip(heads, cells, sizes, strict=True):
        fitting = cut(cell, size)
        blank = Span(" " * (size - sum(columns(piece.text) for piece in fitting)))
        pieces += [blank, *fitting] if head.is_right else [*fitting, blank]
        pieces.append(Span(GAP))
    width = width_of(stream)
    whole = _without_end(pieces)
    return shown_line(cut(whole, width) if width else whole, stream) + "\n"


def _without_end(pieces: list[Span]) -> list[Span]:
    """The pieces without the blanks that end the line."""
    while pieces and not pieces[-1].text.strip(" "):
        pieces.pop()
    return pieces


# What stands on a message, in words: how its sender is known, and how urgent it is said to be.
#
# What is as usual is not said: mail that was written here, of normal importance.


_MOST_IDS = 8
_PRESSING = (Importance.HIGH, Importance.URGENT)


def trust_pieces(stored: StoredMessage) -> list[Span]:
    """`unverified`, which stands out, or `verified`."""
    trust = stored.envelope.trust
    if trust is Trust.UNVERIFIED:
        return [Span(trust, ATTENTION)]
    return [Span(trust, QUIET)] if trust is Trust.VERIFIED else []


def importance_pieces(stored: StoredMessage) -> list[Span]:
    """`urgent`, `high` or `low`."""
    importance = stored.envelope.importance
    if importance is Importance.NORMAL:
        return []
    return [Span(importance, ATTENTION if importance in _PRESSING else QUIET)]


def is_unverified(stored: StoredMessage) -> bool:
    """Whether anybody may have sent it."""
    return stored.envelope.trust is Trust.UNVERIFIED


def some_ids(ids: Sequence[int]) -> str:
    """`messages 12, 14 and 15`, the first ones of many."""
    shown = [str(each) for each in ids[:_MOST_IDS]]
    left = len(ids) - len(shown)
    if left:
        return f"messages {', '.join(shown)} and {left} more"
    if len(shown) == 1:
        return f"message {shown[0]}"
    return f"messages {', '.join(shown[:-1])} and {shown[-1]}"


# Messages as rows: the table of the conventions document, with what a reader wants before it.


UNREAD, OWED, UNVERIFIED = "•", "!", "?"
_LEGEND = {
    UNREAD: "unread (`brenner mail mark ID{actor}` marks it as read)",
    OWED: "you owe an ACK (`brenner mail ack ID{actor}` sends it)",
    UNVERIFIED: "unverified: anybody may have sent it",
}
WIDE = 100

ID = Column("ID", is_right=True)
FROM = Column("From", least=10)
SUBJECT = Column("Subject", least=24)
THREAD = Column("Thread", least=24)
WHEN = Column("When", shown_from=WIDE)
COLUMNS = (Column(""), ID, FROM, SUBJECT, THREAD, WHEN)

limit_option = click.option(
    "--limit", type=Number(1), default=50, metavar="N", help="How many at most (50)."
)
before_option = click.option(
    "--before", type=MESSAGE_ID, metavar="ID", help="Only what is older than this message."
)


def row(stored: StoredMessage, marks: str = "", below: Iterable[Cell] = ()) -> Row:
    """One message. How urgent it is stands before the subject; `standing_marks` says more."""
    message = stored.message
    importance = [piece for each in importance_pieces(stored) for piece in (each, Span(" "))]
    cells = (
        mark_cell(marks),
        [Span(str(stored.id))],
        [agent_piece(message.sender)],
        [*importance, *subject_pieces(message.subject)],
        [Span(message.thread_id)],
        [Span(when(stored.at, sys.stdout), QUIET)],
    )
    return Row(cells, tuple(below))


def standing_marks(stored: StoredMessage) -> str:
    """What a row marks of a message, whoever looks at it."""
    return UNVERIFIED * is_unverified(stored)


def mark_cell(marks: str) -> Cell:
    """The marks, each in its style; the legend has the words."""
    return [Span(mark, STRONG if mark == UNREAD else ATTENTION) for mark in marks]


def when(at: datetime, out: TextIO) -> str:
    """Relative where people look; exact in what is kept."""
    return ago(at, datetime.now(UTC)) if out.isatty() else exact(at)


def legend(marks: Iterable[str], actor: str) -> list[str]:
    """The marks that are used, in words; `actor` is the option that says who acts."""
    used = {mark for each in marks for mark in each}
    return [
        sentence(f"{mark} {words.format(actor=actor)}", sys.stdout)
        for mark, words in _LEGEND.items()
        if mark in used
    ]
