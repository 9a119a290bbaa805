"""A version of an artifact in pages, for programs of agents that cut long results.

A page is below the limits of all programs that were measured: Codex cuts at about 40,000 bytes
(10,000 tokens), Gemini CLI at 40,000 characters, Claude Code at 25,000 tokens. The rest of a result
needs a part of that. A page ends between two items, unless one item is longer than a
page.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from brenner.lazy_pattern import lazy_pattern
from brenner.limits import MOST_SHOWN_BYTES
from brenner.named_tuple import NamedTuple
from brenner.protocol.grammar import ITEM_ID

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

MOST_PAGE_BYTES = MOST_SHOWN_BYTES  # as a JSON string in UTF-8, which is what a program counts
_MOST_BYTES_OF_A_CHARACTER = 6  # as JSON in UTF-8
_SECTION = "## "
_ID = ITEM_ID.pattern
# An item's heading, its row in a table, or a line that begins with its ID
_ITEM = lazy_pattern(
    rf"### (?:~~)?(?P<heading>{_ID}):|\| (?:~~)?(?P<row>{_ID})(?:~~)? \||\*\*(?P<line>{_ID})[ *]"
)
_TABLE = ("| ID ", "| ---")
_ROW = "|"


class Page(NamedTuple):
    """One page, and the IDs of the items on it."""

    items: tuple[str, ...]
    text: str


class Piece(NamedTuple):
    """What no page divides, with the item's ID if it is one.

    `head` is repeated if a page begins here: the head of its table. `entry` are the key and the
    value in a JSON document.
    """

    item: str | None
    text: str
    head: str = ""
    entry: tuple[str, Any] | None = None


def bytes_in_result(text: str) -> int:
    """Return the size of a text inside a result: as a JSON string, without its quotes."""
    return len(json.dumps(text, ensure_ascii=False).encode(errors="replace")) - 2


def pages_of(pieces: Iterable[Piece]) -> tuple[Page, ...]:
    """Return the pages of these pieces; at least one. A piece that is too long is cut."""
    return tuple(map(_page, _packed(pieces))) or (Page((), ""),)


def _page(pieces: list[Piece]) -> Page:
    items = tuple(dict.fromkeys(each.item for each in pieces if each.item))
    entries = [each.entry for each in pieces if each.entry]
    if entries:
        return Page(items, _document(entries))
    return Page(items, pieces[0].head + "".join(each.text for each in pieces))


def _packed(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    page: list[Piece] = []
    used = 0
    for each in pieces:
        size = bytes_in_result(each.text)
        if page and used + size > MOST_PAGE_BYTES:
            yield page
            page, used = [], bytes_in_result(each.head)
        if size > MOST_PAGE_BYTES:
            yield from _packed(_slices(each))
            continue
        page.append(each)
        used += size
    if page:
        yield page


def _slices(piece: Piece) -> Iterator[Piece]:
    """Yield the text in parts: its lines, or parts of these."""
    most = MOST_PAGE_BYTES // _MOST_BYTES_OF_A_CHARACTER
    for line in _lines(piece.text):
        for start in range(0, len(line), most):
            yield piece._replace(text=line[start : start + most], head="", entry=None)


def _lines(text: str) -> Iterator[str]:
    """Yield the lines with their line feeds. Other line breaks are characters like all others."""
    *whole, last = text.split("\n")
    yield from (f"{each}\n" for each in whole)
    if last:
        yield last


# Markdown


def markdown_pages(text: str) -> tuple[Page, ...]:
    """Return a version, or a part of it, in pages. No text of an item can look like a heading
    (R16).
    """
    return pages_of(_markdown_pieces(text))


def _markdown_pieces(text: str) -> Iterator[Piece]:
    """Yield the items, each with the headings before it, and the text before the first."""
    item: str | None = None
    lines: list[str] = []
    section = table = ""
    for line in _lines(text):
        found = _ITEM.match(line)
        is_section = line.startswith(_SECTION)
        if lines and (is_section or (found and item)):
            yield _markdown_piece(item, lines, table)
            item, lines = None, []
        if is_section:
            section, table = line.rstrip(), ""
        elif line.startswith(_TABLE):
            table = (table or f"{section} (continued)\n\n") + line
        elif found and item is None:
            item = found["heading"] or found["row"] or found["line"]
        lines.append(line)
    if lines:
        yield _markdown_piece(item, lines, table)


def _markdown_piece(item: str | None, lines: list[str], table: str) -> Piece:
    return Piece(item, "".join(lines), table if lines[0].startswith(_ROW) else "")


# JSON


def json_pages(document: Mapping[str, Any]) -> tuple[Page, ...]:
    """Return a document in pages. Each is a document with some of the items, under the same keys.

    Only the pages of an item that is longer than a page are no JSON.
    """
    return pages_of(_json_pieces(document))


def _json_pieces(document: Mapping[str, Any]) -> Iterator[Piece]:
    for key, value in document.items():
        is_list = isinstance(value, list) and all(isinstance(each, dict) for each in value)
        for each in [[one] for one in value] if is_list and value else [value]:
            (one,) = each if isinstance(each, list) and each else (each,)
            item = one.get("id") if isinstance(one, dict) else None
            yield Piece(item, json.dumps(each, ensure_ascii=False), entry=(key, each))


def _document(entries: Iterable[tuple[str, Any]]) -> str:
    document: dict[str, Any] = {}
    for key, value in entries:
        document[key] = document[key] + value if key in document else value
    return json.dumps(document, ensure_ascii=False)


# The outline


def outline(pages: Sequence[Page]) -> list[dict[str, object]]:
    """Return which items each page has. A row of IDs is shown as `H1-H6`."""
    return [
        {"page": number, "items": list(_ranges(page.items))} for number, page in enumerate(pages, 1)
    ]


def _ranges(ids: Sequence[str]) -> Iterator[str]:
    start = 0
    for at in range(1, len(ids) + 1):
        if at < len(ids) and _follows(ids[at - 1], ids[at]):
            continue
        yield ids[start] if at - start == 1 else f"{ids[start]}-{ids[at - 1]}"
        start = at


def _follows(one: str, other: str) -> bool:
    return (
        one[:1] == other[:1]
        and one[1:].isdecimal()
        and other[1:].isdecimal()
        and int(other[1:]) == int(one[1:]) + 1
    )
