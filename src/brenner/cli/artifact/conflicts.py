"""Open conflicts in a terminal: the values side by side, each with its author."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from types import MappingProxyType
from typing import TextIO

from brenner.artifact.diff import label_of, value_text
from brenner.artifact.state import Conflict, Source
from brenner.cli.artifact.values import DIM
from brenner.cli.folding import Piece, Style, columns, fold, lines_of, shown_line
from brenner.cli.marks import agent_piece
from brenner.cli.output import width_of

_ATTENTION: Style = MappingProxyType({"fg": "magenta", "bold": True})
_GAP = "  "
_LEAST = 28  # columns that a value needs to be read beside another one
_TAKEN_AWAY = "(taken away)"

Side = tuple[object, Source]


def conflict_lines(conflict: Conflict, section: str, before: str, stream: TextIO) -> Iterator[str]:
    """Which field, then what each author has set; the first of them is what stands now."""
    label = label_of(section, conflict.path)
    yield fold([Piece(before)], [Piece(f"Open conflict: {label}", _ATTENTION)], before, stream)
    sides = [
        (conflict.value, conflict.source),
        *((lost.value, lost.source) for lost in conflict.displaced),
    ]
    room = width_of(stream) - len(before)  # nothing in a pipe
    width = (room - len(_GAP) * (len(sides) - 1)) // len(sides)
    if width >= _LEAST:
        yield from _side_by_side(sides, width, before, stream)
        return
    for number, side in enumerate(sides):
        yield fold([Piece(before)], _author(side, is_first=not number), before, stream)
        yield fold([Piece(before + _GAP)], [Piece(_value(side))], before + _GAP, stream)


def _side_by_side(sides: Sequence[Side], width: int, before: str, stream: TextIO) -> Iterator[str]:
    blocks = []
    for number, side in enumerate(sides):
        author = lines_of([], _author(side, is_first=not number), "", width)
        blocks.append([*author, *lines_of([], [Piece(_value(side))], "", width)])
    for row in zip_longest(*blocks, fillvalue=[]):
        pieces = [Piece(before)]
        for cell in row:
            used = sum(columns(piece.text) for piece in cell)
            pieces += [*cell, Piece(" " * (width - used) + _GAP)]
        yield shown_line(pieces, stream) + "\n"


def _author(side: Side, *, is_first: bool) -> list[Piece]:
    source = side[1]
    place = f", message {source.message_id}, v{source.version}"
    return [agent_piece(source.agent), Piece(place + " (stands)" * is_first, DIM)]


def _value(side: Side) -> str:
    return _TAKEN_AWAY if side[0] is None else value_text(side[0])
