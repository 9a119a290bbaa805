"""`brenner roster show`: the roster that a session would get, and where each entry is from."""

import sys
from collections.abc import Iterator

import click

from brenner.cli.folding import Piece, fold
from brenner.cli.help_text import examples
from brenner.cli.mail.message import labelled
from brenner.cli.mail.table import Column, Row, table
from brenner.cli.marks import QUIET, agent_piece
from brenner.cli.options import Settings, common_options
from brenner.cli.output import Reporting, write_json
from brenner.cli.roster.asking import (
    exit_code,
    has_free_places,
    resolved_here,
    verdict,
    without_ticks,
    write_found,
)
from brenner.cli.roster_options import roster_options
from brenner.cli.sentences import advice, joined, sentence
from brenner.protocol.roster import PresetEntry, RosterEntry
from brenner.protocol.roster_config import entry_json, preset_json, roster_json
from brenner.protocol.roster_resolve import Origin, Resolved
from brenner.services.rosters import RosterWish
from brenner.text import visible

_COLUMNS = (
    Column("Agent", least=10),
    Column("Role", least=20),
    Column("Program", least=8),
    Column("Model", least=8),
    Column("Source", least=24),
)
_EXAMPLE = "`brenner roster show --to NAME --role ROLE`, or `[roster]` in `brenner.toml`"


@click.command(
    "show",
    cls=Reporting,
    always={"roster": None, "recipients": [], "entries": [], "origins": {}, "preset": None},
    epilog=examples(
        "brenner roster show",
        "brenner roster show --to BlueLake --role test_designer",
        "brenner roster show --roster @roster.json --unified",
    ),
)
@roster_options
@common_options
def show(settings: Settings, wish: RosterWish) -> int:
    """Show the roster that a session would get, and the source of each entry.

    It is what `session start` with the same flags would use, here and now. Nothing is sent.
    Exit code 0: it can be used; 1: it has errors; 2: one of its sources cannot be read.
    """
    project, resolved = resolved_here(settings, wish)
    found = (*project.diagnostics, *resolved.diagnostics)
    if settings.as_json:
        write_json(_document(resolved) | verdict(found))
    else:
        write_found(project, resolved.diagnostics, sys.stderr)
        sys.stdout.writelines(_lines(resolved))
    return exit_code(found)


def _document(resolved: Resolved) -> dict[str, object]:
    origins = resolved.origins
    entries = [
        {**entry_json(entry), **_origin_document(origins[entry.agent_name])}
        for entry in resolved.roster.entries
    ]
    return {
        "roster": roster_json(resolved.roster),
        "recipients": list(resolved.recipients),
        "entries": entries,
        "origins": {field: _origin_document(each) for field, each in resolved.header.items()},
        "preset": preset_json(resolved.preset) if resolved.preset else None,
    }


def _origin_document(origin: Origin) -> dict[str, str]:
    return {"source": str(origin.source), "from": without_ticks(origin.label)}


def _lines(resolved: Resolved) -> Iterator[str]:
    out, entries = sys.stdout, resolved.roster.entries
    rows = [_row(entry, resolved.origins[entry.agent_name]) for entry in entries]
    if has_free_places(resolved) and resolved.preset:
        rows = [_free_row(place, resolved.preset.id) for place in resolved.preset.entries]
    if not rows:
        if not resolved.errors:
            yield sentence("There is no roster here. Who has which role will appear here:", out)
            yield advice(_EXAMPLE, out)
        return
    yield from labelled(_header(resolved), out)
    yield "\n"
    yield from table(_COLUMNS, rows, out)
    for entry in entries:
        if entry.notes is not None:
            start = [Piece("  "), agent_piece(entry.agent_name), Piece(": ")]
            yield fold(start, [Piece(_whole(entry.notes))], "    ", out)


def _header(resolved: Resolved) -> list[tuple[str, list[Piece]]]:
    """Mode, name and time, each with where it is from; the recipients, where not all are."""
    roster = resolved.roster
    said: tuple[tuple[str, str, str | None], ...] = (
        ("Mode", "mode", roster.mode),
        ("Name", "name", roster.name),
        ("Created", "created_at", roster.created_at),
    )
    fields = [
        (label, [Piece(_whole(text)), _from(resolved.header.get(field))])
        for label, field, text in said
        if text is not None
    ]
    if set(resolved.recipients) != set(roster.names):
        fields.append(("Recipients", [Piece(joined(resolved.recipients))]))
    return fields


def _from(origin: Origin | None) -> Piece:
    return Piece(f"  ({without_ticks(origin.label) if origin else 'the default'})", QUIET)


def _row(entry: RosterEntry, origin: Origin) -> Row:
    others = [[Piece(text or "")] for text in (entry.role, entry.program, entry.model)]
    source = [Piece(without_ticks(origin.label), QUIET)]
    return Row(([agent_piece(entry.agent_name)], *others, source))


def _free_row(place: PresetEntry, preset: str) -> Row:
    others = [[Piece(text or "")] for text in (place.role, place.program, place.model)]
    return Row(([Piece("--to NAME", QUIET)], *others, [Piece(f"preset {preset}", QUIET)]))


def _whole(text: str) -> str:
    """Somebody's text on one line."""
    return visible(text, len(text) + 1)
