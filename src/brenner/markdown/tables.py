"""Tables, as GitHub's Markdown has them. Cells hold escaped text."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_CELL = re.compile(r"((?:[^|\\]|\\.?)*+)(\||\Z)")
_DASHES = re.compile(r":?-+:?")


class Row(NamedTuple):
    """The cells of a line, and its number."""

    cells: tuple[str, ...]
    line: int


class Table(NamedTuple):
    """The row of headings and the rows below it."""

    header: Row
    rows: tuple[Row, ...]


def render_row(cells: Iterable[str]) -> str:
    """One line. An empty cell is two blanks between pipes."""
    return f"| {' | '.join(cells)} |"


def render_table(header: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    """The lines of a table, without an ending."""
    lines = [render_row(header), render_row("---" for _ in header)]
    lines += [render_row(cells) for cells in rows]
    return "\n".join(lines)


def read_table(text: str, line: int) -> Table | None:
    """The table that a paragraph is; None if it is none. `line` is its first."""
    lines = text.split("\n", 2)
    if len(lines) == 1 or "|" not in lines[0] or lines[1].strip("|:- \t"):
        return None
    header = split_row(lines[0])
    dashes = split_row(lines[1])
    if len(dashes) != len(header) or not all(map(_DASHES.fullmatch, dashes)):
        return None
    rows = lines[2].split("\n") if len(lines) > 2 else []  # noqa: PLR2004  (header, dashes, rest)
    return Table(
        Row(header, line),
        tuple(Row(split_row(row), number) for number, row in enumerate(rows, line + 2)),
    )


def split_row(row: str) -> tuple[str, ...]:
    """The cells of a line. Pipes at its edges may be left out; escaped ones part no cells."""
    row = row.strip(" \t")
    # The last match is always the empty one at the end of the text.
    cells = [match[1] for match in _CELL.finditer(row.removeprefix("|"))][:-1]
    return tuple(cell.strip(" \t").replace("\\|", "|") for cell in cells)
