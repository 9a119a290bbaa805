"""Lay out a Markdown page of the documentation for a terminal.

Fences and link targets are hidden, tables become aligned columns or lists. It reads the Markdown
that this project writes: one line per paragraph, list item and table row.
"""

from __future__ import annotations

import sys
from itertools import takewhile
from typing import TYPE_CHECKING

from brenner.cli.output import terminal_width
from brenner.cli.terminal import PLAIN, STRONG, Span, Style, display_width, fold
from brenner.lazy_pattern import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_FENCE = lazy_pattern(r" *(`{3,}|~{3,})[^`]*")
_HEADING = lazy_pattern(r"#{1,6} +(.*?)(?: +#+)?")
_LIST_MARK = lazy_pattern(r" *(?:[-*]|[0-9]+\.) +|> ?")
_RULE = lazy_pattern(r" {0,3}(?:-{3,}|\*{3,})\s*")
_CELL_END = lazy_pattern(r"(?<!\\)\|")
_TABLE_LINE = lazy_pattern(r"\|[-:| ]+\|")
# Code, a picture, a link, an address, bold text, an escaped character
_INLINE = lazy_pattern(
    r"(?P<code>(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))"
    r"|!\[(?P<picture>[^\]]*)\]\([^)]*\)"
    r"|\[(?P<link>(?:`[^`]*`|[^\]`])*)\]\((?P<target>[^)]*)\)"
    r"|<(?P<address>https?://[^>]+)>"
    r"|\*\*(?P<strong>.+?)\*\*"
    r"|\\(?P<escaped>[!-/:-@\[-`{-~])"
)
_CODE_INDENT = "    "
_GAP = 2
_LEAST_LAST_COLUMN = 30
_MOST_START = 60  # `fold` cuts a longer start


def page_lines(text: str) -> Iterator[str]:
    """Yield the lines of a page, with line feeds, for the width of the terminal."""
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        line = lines[at]
        fence = _FENCE.fullmatch(line)
        if fence:
            end = _end_of_fence(lines, at, fence[1])
            # Not indented: a copied here-document must end with its own line.
            yield from (f"{each}\n" for each in lines[at + 1 : end])
            at = end + 1
        elif line.startswith("|"):
            rows = list(takewhile(lambda each: each.startswith("|"), lines[at:]))
            yield from _table_lines([_cells(row) for row in rows if not _TABLE_LINE.fullmatch(row)])
            at += len(rows)
        else:
            yield _text_line(line)
            at += 1


def _end_of_fence(lines: Sequence[str], start: int, marks: str) -> int:
    """Return the number of the closing line of a fence, or of the end of the page."""
    for number in range(start + 1, len(lines)):
        line = lines[number].strip()
        if line.startswith(marks) and not line.strip(marks[0]):
            return number
    return len(lines)


def _text_line(line: str) -> str:
    out = sys.stdout
    heading = _HEADING.fullmatch(line)
    if heading:
        return fold([], _inline(heading[1], STRONG), "", out)
    if not line.strip() or (line.startswith(_CODE_INDENT) and not _LIST_MARK.match(line)):
        return f"{line}\n"
    if _RULE.fullmatch(line):
        return "\n"
    mark = _LIST_MARK.match(line)
    start = mark[0] if mark else ""
    return fold([Span(start)], _inline(line[len(start) :]), " " * len(start), out)


def _inline(text: str, style: Style = PLAIN) -> list[Span]:
    """Return a text without its marks: links as their text, bold text in bold."""
    spans, at = [], 0
    for match in _INLINE.finditer(text):
        spans.append(Span(text[at : match.start()], style))
        spans += _inline_spans(match.groupdict(), style)
        at = match.end()
    return [span for span in (*spans, Span(text[at:], style)) if span.text]


def _inline_spans(found: dict[str, str | None], style: Style) -> list[Span]:
    if found["code"] is not None:
        return [Span(found["code"], style, is_unbreakable=True)]
    if found["picture"] is not None:
        return [Span(f"(picture: {found['picture']})", style)]
    if found["link"] is not None:
        target = found["target"] or ""
        is_web = target.startswith(("http://", "https://")) and target != found["link"]
        return [*_inline(found["link"], style), Span(f" ({target})" if is_web else "", style)]
    if found["strong"] is not None:
        return _inline(found["strong"], STRONG)
    return [Span(found["address"] or found["escaped"] or "", style)]


# Tables


def _cells(row: str) -> list[list[Span]]:
    """Return the cells of a table row."""
    parts = _CELL_END.split(row.strip())[1:-1]
    return [_inline(part.strip().replace("\\|", "|")) for part in parts]


def _table_lines(rows: Sequence[Sequence[list[Span]]]) -> Iterator[str]:
    """Yield aligned columns if the last one has room, else each row as a list."""
    if not rows:
        return
    count = max(map(len, rows))
    even = [[*row, *([[]] * (count - len(row)))] for row in rows]
    widths = [max(_width(row[column]) for row in even) for column in range(count - 1)]
    before = sum(widths) + _GAP * len(widths)
    last = max(_width(row[-1]) for row in even)
    room = (terminal_width(sys.stdout) or sys.maxsize) - before
    is_narrow = all(width <= _MOST_START for width in widths)
    if is_narrow and room >= min(last, _LEAST_LAST_COLUMN):
        yield from _column_lines(even, widths)
    else:
        yield from _list_lines(even)


def _column_lines(rows: Sequence[Sequence[list[Span]]], widths: Sequence[int]) -> Iterator[str]:
    rest = " " * (sum(widths) + _GAP * len(widths))
    for number, row in enumerate(rows):
        start: list[Span] = []
        for cell, width in zip(row, widths, strict=False):
            start += [*_styled(cell, number), Span(" " * (width - _width(cell) + _GAP))]
        yield fold(start, _styled(row[-1], number), rest, sys.stdout)


def _styled(cell: list[Span], number: int) -> list[Span]:
    """Return the cell, in bold if it is in the first row."""
    return cell if number else [span._replace(style=STRONG) for span in cell]


def _list_lines(rows: Sequence[Sequence[list[Span]]]) -> Iterator[str]:
    """Yield the first cell of each row, and below it the others, each with its column's title."""
    titles, *others = rows
    for row in others:
        yield fold([], _styled(row[0], 0), "  ", sys.stdout)
        for title, cell in zip(titles[1:], row[1:], strict=True):
            if cell:
                name = [*title, Span(": ")] if title else []
                yield fold([Span("  ")], [*name, *cell], "    ", sys.stdout)


def _width(cell: Sequence[Span]) -> int:
    return sum(display_width(span.text) for span in cell)
