"""How items and their fields look in a terminal: styles, columns."""

from collections.abc import Iterable, Iterator, Sequence
from types import MappingProxyType
from typing import TextIO

from brenner.cli.folding import Piece, Style, fold

BOLD: Style = MappingProxyType({"bold": True})
DIM: Style = MappingProxyType({"dim": True})
STRUCK: Style = MappingProxyType({"dim": True, "strikethrough": True})
POSITIVE: Style = MappingProxyType({"fg": "green", "bold": True})

INDENT = "  "
_ID_COLUMNS = 4
VALUES = INDENT + " " * _ID_COLUMNS  # what stands before all that is said of an item
_MOST_LABEL_COLUMNS = 32  # of labels that no layout has: keys of the front matter, odd columns


def heading(item_id: str, pieces: Iterable[Piece], stream: TextIO) -> str:
    """The line that begins an item: its ID, then what is said of it."""
    gap = " " * max(1, _ID_COLUMNS - len(item_id))
    start = [Piece(INDENT), Piece(item_id, BOLD), Piece(gap)]
    return fold(start, pieces, VALUES, stream)


def lines(fields: Sequence[tuple[str, Iterable[Piece]]], stream: TextIO) -> Iterator[str]:
    """Fields, each its label and its value; the values begin in one column where labels allow."""
    column = min(_MOST_LABEL_COLUMNS, max((len(label) for label, _ in fields), default=0) + 2)
    for label, pieces in fields:
        gap = " " * max(2, column - len(label))
        start = [Piece(VALUES), Piece(label, DIM), Piece(gap)]
        yield fold(start, pieces, VALUES + " " * column, stream)
