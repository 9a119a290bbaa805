"""`brenner refs similar`: the killed hypotheses of a project that resemble a text."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

import click

from brenner.cli.artifact.common import BOLD, DIM
from brenner.cli.options import EXIT_OK, Settings, common_options, examples
from brenner.cli.output import JsonCommand, Progress, write_diagnostics, write_json
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
from brenner.cli.workspace import workspace_of
from brenner.diagnostics.model import Summary
from brenner.text import escape_control

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brenner.services.killed_hypotheses import SimilarKilled
    from brenner.session.killed_hypotheses import Resemblance

_MOST_SHOWN = 10
_INDENT = "  "
_DATE_CHARACTERS = 10  # the date in a time of ISO 8601


@click.command(
    "similar",
    cls=JsonCommand,
    json_defaults={"text": None, "compared": 0, "vectors": False, "similar": []},
    epilog=examples(
        'brenner refs similar "Cells read the concentration of a morphogen"',
        'brenner refs similar "A flood carved the canyon" --json',
    ),
)
@click.argument("words", nargs=-1, required=True, metavar="TEXT")
@pager_option
@common_options
def command(settings: Settings, *, words: tuple[str, ...], pager: bool) -> int:
    """Find the killed hypotheses of all sessions that resemble TEXT.

    Use it before you propose an idea that may have been rejected before. Names and claims are
    compared by their words, and by vectors if `brenner[similar]` is installed. An idea and its
    opposite look alike, so read the claims.
    """
    from brenner.services.killed_hypotheses import similar_killed

    text = " ".join(words)
    if not text.strip():
        message = "TEXT is empty."
        raise click.UsageError(message)
    with workspace_of(settings) as here, Progress() as progress:
        similar = similar_killed(here, text, progress)
    if settings.as_json:
        write_json(_document(text, similar))
        return EXIT_OK
    write_lines(_lines(similar, sys.stdout), pager=pager)
    write_diagnostics(similar.problems, "artifacts", sys.stderr)
    return EXIT_OK


def _document(text: str, similar: SimilarKilled) -> dict[str, object]:
    """Return the stable JSON form. Keys are only ever added."""
    return {
        "text": text,
        "compared": similar.compared,
        "vectors": similar.uses_vectors,
        "similar": [_match_json(each) for each in similar.found],
        "violations": [each.to_json() for each in similar.problems],
        "summary": Summary.of(similar.problems)._asdict(),
        "valid": True,
    }


def _match_json(match: Resemblance) -> dict[str, object]:
    hypothesis = match.hypothesis
    return {
        "session": hypothesis.item.session,
        "item": hypothesis.item.item,
        "name": hypothesis.name,
        "claim": hypothesis.claim,
        "killed": hypothesis.killed._asdict(),
        "score": round(match.score, 3),
        "meaning": None if match.meaning is None else round(match.meaning, 3),
        "close": match.is_close,
        "words": list(match.words),
    }


def _lines(similar: SimilarKilled, out: TextIO) -> Iterator[str]:
    shown = similar.found[:_MOST_SHOWN]
    for each in shown:
        yield from _match_lines(each, out)
        yield "\n"
    yield format_message(_verdict(similar), out)
    left = len(similar.found) - len(shown)
    if left:
        yield format_hint(f"{left} more not shown. `--json` lists all.", out)
    if any(each.is_close for each in shown):
        yield format_hint(
            "An ADD with a close match gets a warning, unless its `references` name the item. "
            "Example: `brenner explain RESEMBLES_KILLED`",
            out,
        )


def _match_lines(match: Resemblance, out: TextIO) -> Iterator[str]:
    """Yield the item with its scores, its claim, the reason of the kill, and the shared words."""
    hypothesis, kill = match.hypothesis, match.hypothesis.killed
    name = Span(_one_line(str(hypothesis.item)), BOLD, is_unbreakable=True)
    close = [Span("  close", ATTENTION)] if match.is_close else []
    meaning = "" if match.meaning is None else f", meaning {match.meaning:.2f}"
    yield fold([], [name, *close, Span(f"  words {match.score:.2f}{meaning}", DIM)], _INDENT, out)
    yield _indented([Span(_one_line(hypothesis.title))], out)
    by = [Span(" by ", DIM), agent_span(kill.agent)] if kill.agent else []
    when = f", {escape_control(kill.at[:_DATE_CHARACTERS])}" if kill.at else ""
    reason = Span(_one_line(kill.reason) if kill.reason.strip() else "no reason given")
    yield _indented([Span("killed", ATTENTION), *by, Span(f"{when}: ", DIM), reason], out)
    if match.words:
        words = Span(_one_line(", ".join(match.words)), DIM)
        yield _indented([Span("words in both: ", DIM), words], out)


def _indented(spans: list[Span], out: TextIO) -> str:
    return fold([Span(_INDENT)], spans, _INDENT * 2, out)


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return escape_control(line, len(line) + 1)


def _verdict(similar: SimilarKilled) -> str:
    if not similar.compared:
        return "No hypothesis was killed yet."
    count, close = len(similar.found), sum(each.is_close for each in similar.found)
    number = similar.compared
    compared = f"{number:,} killed {'hypothesis' if number == 1 else 'hypotheses'}"
    if not count:
        return f"Compared {compared}: none resembles the text."
    return f"Compared {compared}: {count} on the subject, {close} close."
