"""`brenner roster validate`: whether a roster can be used."""

import sys

import click

from brenner.cli.failures import REFUSED, USAGE
from brenner.cli.help_text import examples
from brenner.cli.options import Settings, common_options
from brenner.cli.output import Reporting, write_diagnostics, write_json
from brenner.cli.reading import STANDARD_INPUT, read_text
from brenner.cli.roster.asking import (
    FINE,
    HERE,
    exit_code,
    resolved_here,
    verdict,
    write_found,
    write_verdict,
)
from brenner.cli.roster_options import roster_options
from brenner.diagnostics.model import Diagnostic
from brenner.protocol.roster import ValidationResult
from brenner.services.rosters import RosterWish, check_roster_text


@click.command(
    "validate",
    cls=Reporting,
    always={"file": None},
    epilog=examples(
        "brenner roster validate roster.json",
        "brenner roster validate",
        "brenner roster validate --preset default-3-agent --to Ada --to Ben --to Cleo",
    ),
)
@click.argument("file", required=False, metavar="[FILE|-]")
@roster_options
@common_options
def validate(settings: Settings, wish: RosterWish, file: str | None) -> int:
    """Check a roster in a FILE (JSON or TOML), or the one that a session would get here.

    A FILE is a list of entries, a roster, or a project's file with one in it; with - the standard
    input is read. Exit code 0: valid; 1: it has errors; 2: it cannot be read.
    """
    if file is not None:
        return _validate_file(settings, wish, file)
    project, resolved = resolved_here(settings, wish)
    found = (*project.diagnostics, *resolved.diagnostics)
    if settings.as_json:
        write_json({"file": None} | verdict(found))
    else:
        write_found(project, resolved.diagnostics, sys.stdout)
        write_verdict(HERE, found)
    return exit_code(found)


def _validate_file(settings: Settings, wish: RosterWish, file: str) -> int:
    if wish != RosterWish():
        message = "A FILE goes with no flags: it is checked alone."
        raise click.UsageError(message)
    shown = "<stdin>" if file == STANDARD_INPUT else file
    text = read_text(file)
    if isinstance(text, Diagnostic):
        result, refusal = ValidationResult.of([text]), USAGE
    else:
        result, refusal = check_roster_text(text, f"`{shown}`"), REFUSED
    if settings.as_json:
        write_json({"file": file} | verdict(result.violations))
    else:
        write_diagnostics(result.violations, shown, sys.stdout)
        write_verdict(shown, result.violations)
    return FINE if result.valid else refusal
