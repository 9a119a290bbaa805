"""`brenner roster presets`: the rosters without names that one can ask for."""

import sys
from collections.abc import Iterator

import click

from brenner.cli.folding import Piece, fold
from brenner.cli.mail.table import Column, Row, table
from brenner.cli.marks import QUIET, STRONG
from brenner.cli.options import Settings, common_options
from brenner.cli.output import Reporting, write_json
from brenner.cli.roster.asking import exit_code, project_of, verdict, without_ticks, write_found
from brenner.protocol.roster_config import preset_json
from brenner.services.rosters import ListedPreset, list_presets
from brenner.text import visible

_INDENT = "    "
_COLUMNS = (
    Column("Preset", least=10),
    Column("For", least=9),
    Column("Role", least=20),
    Column("Program", least=8),
    Column("Model", least=8),
)


@click.command("presets", cls=Reporting, always={"presets": []})
@common_options
def presets(settings: Settings) -> int:
    """List the presets, each with its places: rosters without names, for --preset ID.

    The places go to those named by --to, in order. Exit code 1 or 2: the project's file has a
    preset that is wrong, or cannot be read.
    """
    project = project_of(settings)
    listed, odd = list_presets(project)
    found = (*project.diagnostics, *odd)
    if settings.as_json:
        write_json({"presets": [_document(each) for each in listed]} | verdict(found))
    else:
        write_found(project, odd, sys.stderr)
        sys.stdout.writelines(_lines(listed))
    return exit_code(found)


def _document(listed: ListedPreset) -> dict[str, object]:
    about = {"source": without_ticks(listed.label), "default": listed.is_default}
    return {**preset_json(listed.preset), **about}


def _lines(listed: tuple[ListedPreset, ...]) -> Iterator[str]:
    out = sys.stdout
    for each in listed:
        preset = each.preset
        about = without_ticks(each.label) + "; the default" * each.is_default
        named = [Piece(_whole(preset.name)), Piece(f"  ({about})", QUIET)]
        yield fold([Piece(preset.id, STRONG), Piece("  ")], named, _INDENT, out)
        if preset.description:
            yield fold([Piece(_INDENT)], [Piece(_whole(preset.description))], _INDENT, out)
    yield "\n"
    yield from table(_COLUMNS, [row for each in listed for row in _rows(each)], out)


def _rows(listed: ListedPreset) -> Iterator[Row]:
    """Its places; the names where it has some of its own, and as many."""
    preset = listed.preset
    for number, place in enumerate(preset.entries):
        named = preset.placeholder_names[number : number + 1] or ("--to NAME",)
        others = [[Piece(text or "")] for text in (*named, place.role, place.program, place.model)]
        yield Row(([Piece(preset.id if number == 0 else "")], *others))


def _whole(text: str) -> str:
    return visible(text, len(text) + 1)
