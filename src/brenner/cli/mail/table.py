"""Tables for people: columns by display width, rows that are cut and never wrapped.

Into a pipe everything goes uncut and without styles.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TextIO

from brenner.cli.folding import Piece, columns, shown_line
from brenner.cli.marks import QUIET
from brenner.cli.output import width_of
from brenner.text import visible

GAP = "  "
_CUT = "…"
# Marks that take no room of their own can stand on one letter without end
_MOST_LETTERS_PER_COLUMN = 4

Cell = Sequence[Piece]


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
    titles: list[Cell] = [[Piece(head.title, QUIET)] for head in kept]
    sizes = _sizes(kept, [titles, *body], width)
    yield _line(kept, titles, sizes, stream)
    total = sum(sizes) + len(GAP) * (len(sizes) - 1)
    total = min(total, width) if width else total
    yield shown_line([Piece("─" * total, QUIET)], stream) + "\n"
    for cells, row in zip(body, rows, strict=True):
        yield _line(kept, cells, sizes, stream)
        for below in row.below:
            safe = _safe(below, width)
            yield shown_line(cut(safe, width) if width else safe, stream) + "\n"


def cut(cell: Cell, width: int) -> list[Piece]:
    """As much of a cell as fits; its last column says that there is more."""
    if sum(columns(piece.text) for piece in cell) <= width:
        return list(cell)
    kept: list[Piece] = []
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


def _safe(cell: Cell, width: int) -> list[Piece]:
    """Nothing in it is obeyed, nor endless where it is looked at."""
    most = width * _MOST_LETTERS_PER_COLUMN
    return [piece._replace(text=visible(piece.text, most or len(piece.text) + 1)) for piece in cell]


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
    pieces: list[Piece] = []
    for head, cell, size in zip(heads, cells, sizes, strict=True):
        fitting = cut(cell, size)
        blank = Piece(" " * (size - sum(columns(piece.text) for piece in fitting)))
        pieces += [blank, *fitting] if head.is_right else [*fitting, blank]
        pieces.append(Piece(GAP))
    width = width_of(stream)
    whole = _without_end(pieces)
    return shown_line(cut(whole, width) if width else whole, stream) + "\n"


def _without_end(pieces: list[Piece]) -> list[Piece]:
    """The pieces without the blanks that end the line."""
    while pieces and not pieces[-1].text.strip(" "):
        pieces.pop()
    return pieces
