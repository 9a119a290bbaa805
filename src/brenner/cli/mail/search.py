"""`brenner mail search`: find messages by words, phrases and filters."""

from __future__ import annotations

import sys
from types import MappingProxyType
from typing import TYPE_CHECKING, TextIO

import click

from brenner.cli.options import EXIT_INVALID, EXIT_OK, Command, Settings, common_options, examples
from brenner.cli.output import failure_json, supports_styles, write_diagnostics, write_json
from brenner.cli.table import (
    MESSAGE_COLUMNS,
    before_option,
    bodies_option,
    check_bodies_usage,
    legend,
    limit_option,
    message_row,
    table,
    trust_mark,
)
from brenner.cli.terminal import (
    QUIET,
    Span,
    Style,
    format_hint,
    format_message,
    pager_option,
    write_lines,
)
from brenner.cli.workspace import workspace_of
from brenner.mail import search as excerpts
from brenner.mail.model import SearchPage, in_list, next_before, stored_json
from brenner.mail.search import Query, parse_query

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from brenner.diagnostics.model import Diagnostic
    from brenner.services.workspace import Workspace

# Excerpts


_INDENT = "      "
# Matches are underlined, so that they do not depend on colour. Without styles they are quoted.
_MATCH_STYLE: Style = MappingProxyType({"bold": True, "underline": True})
_MATCH_START, _MATCH_END = "«", "»"


def excerpt_spans(body: str, phrases: Sequence[tuple[str, ...]], out: TextIO) -> list[Span]:
    """Return an excerpt with highlighted matches, or nothing without a match near the start."""
    parts = excerpts.excerpt(body, phrases)
    if not parts:
        return []
    first, *others = (_excerpt_span(*part, out) for part in parts)
    return [first._replace(text=_INDENT + first.text), *others]


def _excerpt_span(text: str, is_match: bool, out: TextIO) -> Span:
    if not is_match:
        return Span(text, QUIET)
    return (
        Span(text, _MATCH_STYLE)
        if supports_styles(out)
        else Span(f"{_MATCH_START}{text}{_MATCH_END}")
    )


@click.command(
    "search",
    epilog=examples(
        "brenner mail search gradient stability",
        "brenner mail search '\"chromatin state\"' type:DELTA from:BlueLake",
        "brenner mail search item:H2 after:2026-01-01 is:unread",
    ),
    cls=Command,
)
@click.argument("words", nargs=-1, required=True, metavar="QUERY...")
@limit_option
@before_option
@bodies_option
@pager_option
@common_options
def search(  # noqa: PLR0913  (one parameter per option)
    settings: Settings,
    *,
    words: tuple[str, ...],
    limit: int,
    before: int | None,
    bodies: bool,
    pager: bool,
) -> int:
    """Find messages by words and filters, newest first.

    All words must be in the subject or the body. Put a phrase in double quotes inside single
    quotes: '"chromatin state"'. Filters are type:, from:, thread:, item:, before: and after: (a
    date), is:unread and needs:ack. Several values of one filter are alternatives. --json cuts long
    bodies, unless you add --bodies.
    """
    check_bodies_usage(bodies=bodies, as_json=settings.as_json)
    text = " ".join(words)
    query = parse_query(text)
    if not isinstance(query, Query):
        return _report_invalid_query(query, as_json=settings.as_json)
    with workspace_of(settings) as here:
        page = _page(here, query, limit, before)
    if settings.as_json:
        write_json(_document(page, text, bodies=bodies))
    else:
        write_lines(_lines(page, query), pager=pager)
    return EXIT_OK


def _report_invalid_query(found: tuple[Diagnostic, ...], *, as_json: bool) -> int:
    if as_json:
        write_json(failure_json(*found))
    else:
        write_diagnostics(found, "query", sys.stderr)
    return EXIT_INVALID


def _page(here: Workspace, query: Query, limit: int, before: int | None) -> SearchPage:
    if here.is_new_operator:
        return SearchPage((), has_more=False)
    return here.mailbox.search(query, reader=here.actor, limit=limit, before=before)


def _document(page: SearchPage, query: str, *, bodies: bool) -> dict[str, object]:
    return {
        "query": query,
        "messages": [in_list(stored_json(each), bodies=bodies) for each in page.messages],
        "has_more": page.has_more,
        "next_before": next_before(page.messages, has_more=page.has_more),
    }


def _lines(page: SearchPage, query: Query) -> Iterator[str]:
    if not page.messages:
        yield format_message("No messages match.", sys.stdout)
        what = "words" if query.phrases else "filters"
        text = f"A message must match all {what}. For phrases and filters see"
        yield format_hint(f"{text} `brenner mail search --help`.", sys.stdout)
        return
    rows = []
    marks = [trust_mark(stored) for stored in page.messages]
    first = 0 if any(marks) else 1  # without marks their column is left out
    for stored, mark in zip(page.messages, marks, strict=True):
        found = excerpt_spans(stored.message.body, query.phrases, sys.stdout)
        row = message_row(stored, mark, below=[found] if found else [])
        rows.append(row._replace(cells=row.cells[first:]))
    yield from table(MESSAGE_COLUMNS[first:], rows, sys.stdout)
    notes = legend(marks, "")
    if page.has_more:
        notes.append(f"For older messages add `--before {page.messages[-1].id}`.\n")
    yield from ["\n", *notes] if notes else []
