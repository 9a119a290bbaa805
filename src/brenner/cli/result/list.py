"""`brenner result list`: all results of a session, with who recorded them and their evidence."""

from __future__ import annotations

import sys
from itertools import groupby
from typing import TYPE_CHECKING, TextIO

import click

from brenner.cli.artifact.common import BOLD, DIM, INDENT, STRUCK, VALUE_INDENT, item_heading
from brenner.cli.options import EXIT_OK, Settings, common_options, examples
from brenner.cli.output import JsonCommand, write_diagnostics, write_json
from brenner.cli.terminal import (
    ATTENTION,
    Span,
    agent_span,
    fold,
    format_hint,
    format_message,
    pager_option,
    write_lines,
)
from brenner.cli.threads import find_thread
from brenner.cli.workspace import workspace_of
from brenner.diagnostics.model import Summary
from brenner.protocol.delta.field_checks import parse_time
from brenner.protocol.messages import exact_time
from brenner.services.record_result import verdict_words
from brenner.services.results import (
    ListedResult,
    ResultList,
    list_results,
    listed_result_json,
)
from brenner.text import escape_control, plural, thread_argument

if TYPE_CHECKING:
    from collections.abc import Iterator

_DETAIL_INDENT = VALUE_INDENT + INDENT


@click.command(
    "list",
    cls=JsonCommand,
    json_defaults={"thread_id": None, "version": None, "results": []},
    epilog=examples("brenner result list RS-20251230-cell-fate"),
)
@click.argument("thread", required=False, metavar="[THREAD]")
@pager_option
@common_options
def list_(settings: Settings, thread: str | None, *, pager: bool) -> int:
    """List the results of all tests of THREAD, with those that no version has yet.

    Each has its verdict, its evidence, and who recorded it when. A result without evidence is
    claimed. A file that is missing, or differs from its SHA-256, is a warning.
    """
    with workspace_of(settings) as here:
        found = list_results(here, find_thread(here, thread))
    if settings.as_json:
        diagnostics = found.diagnostics
        write_json(
            {
                "thread_id": found.thread_id,
                "version": found.version or None,
                "results": list(map(listed_result_json, found.results)),
                "valid": True,
                "summary": Summary.of(diagnostics)._asdict(),
                "violations": [each.to_json() for each in diagnostics],
            }
        )
    else:
        write_diagnostics(found.diagnostics, found.thread_id, sys.stderr)
        write_lines(_lines(found, sys.stdout), pager=pager)
    return EXIT_OK


def _lines(found: ResultList, out: TextIO) -> Iterator[str]:
    thread = escape_control(found.thread_id)
    if not found.results:
        yield format_message(f"No results in {thread}.", out)
        argument = thread_argument(found.thread_id)
        if not argument.startswith("-"):
            example = f"brenner result add {argument} T1 --outcome TEXT --potency passed"
            yield format_hint(f"To record one: `{example}`", out)
        return
    tests = {each.test.id for each in found.results}
    count = plural(len(found.results), "result")
    yield format_message(f"{thread}: {count} of {plural(len(tests), 'test')}", out)
    for _, group in groupby(found.results, key=lambda each: each.test.id):
        listed = list(group)
        test = listed[0].test
        yield item_heading(test.id, [Span(test.title, STRUCK if test.killed else BOLD)], out)
        for each in listed:
            yield from _result_lines(each, out)


def _result_lines(listed: ListedResult, out: TextIO) -> Iterator[str]:
    result = listed.result
    spans = [Span(result.outcome)]
    if listed.description:
        spans.append(Span(f" ({listed.description})", DIM))
    start = [Span(VALUE_INDENT), Span(f"{listed.number}.", DIM), Span(" ")]
    yield fold(start, spans, _DETAIL_INDENT, out)
    verdict = verdict_words(result) or "no verdict"
    derived = " (derived)" if result.derived else ""
    potency = result.potency.replace("_", " ")
    yield _detail([Span(f"{verdict}{derived}; potency {potency}")], out)
    yield _detail(list(_evidence_spans(listed)), out)
    if result.note:
        yield _detail([Span(result.note)], out)
    yield _detail(list(_origin_spans(listed)), out)


def _detail(spans: list[Span], out: TextIO) -> str:
    return fold([Span(_DETAIL_INDENT)], spans, _DETAIL_INDENT, out)


def _evidence_spans(listed: ListedResult) -> Iterator[Span]:
    if not listed.result.evidence:
        yield Span("claimed, without evidence", ATTENTION)
        return
    yield Span("evidence ")
    problems = {text: state for text, state in listed.files if state.problem or not state.is_same}
    for number, each in enumerate(listed.result.evidence):
        yield Span(", " if number else "")
        yield Span(each.partition("#sha256=")[0] if each.startswith("file:") else each)
        if state := problems.get(each):
            yield Span(" (missing)" if state.problem else " (differs)", ATTENTION)


def _origin_spans(listed: ListedResult) -> Iterator[Span]:
    source = listed.change.source if listed.change else None
    if source:
        yield Span("by ", DIM)
        yield agent_span(source.agent)
        yield Span(f", message {source.message_id}", DIM)
    at = parse_time(listed.result.observed_at or listed.recorded_at or "")
    yield Span(f"{', ' if source else ''}{exact_time(at)}" if at else "", DIM)
    published = f"v{listed.version}" if listed.version else "not compiled yet"
    yield Span(f", {published}", DIM)
