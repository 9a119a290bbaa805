"""What the roster commands have in common: the question, the verdict, the exit code."""

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TextIO

from brenner.cli.failures import REFUSED, USAGE, place_of
from brenner.cli.options import Settings
from brenner.cli.output import counted, styled, write_diagnostics
from brenner.config import Project, find_project
from brenner.diagnostics.codes import sessions as codes
from brenner.diagnostics.model import ERROR, Diagnostic, Summary
from brenner.protocol.roster_resolve import Resolved
from brenner.services.rosters import RosterWish, resolve_roster
from brenner.text import visible

FINE = 0
HERE = "roster"


def project_of(settings: Settings) -> Project:
    """The project; no mail is needed."""
    return find_project(settings.project, os.environ, settings.store)


def resolved_here(settings: Settings, wish: RosterWish) -> tuple[Project, Resolved]:
    """What comes of the flags here. A preset for which nobody is named is shown, not refused."""
    project = project_of(settings)
    resolved = resolve_roster(project, os.environ, wish)
    if has_free_places(resolved):
        kept = (each for each in resolved.diagnostics if each.code != codes.PRESET_RECIPIENT_COUNT)
        resolved = resolved._replace(diagnostics=tuple(kept))
    return project, resolved


def has_free_places(resolved: Resolved) -> bool:
    """Whether there is a preset and nobody to give its places to."""
    preset = resolved.preset
    return preset is not None and not resolved.recipients and not preset.placeholder_names


def exit_code(found: Iterable[Diagnostic]) -> int:
    """2 where a source cannot be read, 1 for any other error."""
    errors = [each for each in found if each.severity is ERROR]
    if any(each.code == codes.MALFORMED_ROSTER for each in errors):
        return USAGE
    return REFUSED if errors else FINE


def verdict(found: Sequence[Diagnostic]) -> dict[str, object]:
    """`valid`, `summary` and `violations`, as in all documents."""
    summary = Summary.of(found)
    return {
        "valid": not summary.errors,
        "summary": summary._asdict(),
        "violations": [each.to_json() for each in found],
    }


def write_found(project: Project, found: Iterable[Diagnostic], stream: TextIO) -> None:
    """What is wrong in the project's settings, and with the roster."""
    for each in project.diagnostics:
        write_diagnostics([each], place_of(each.id), stream)
    write_diagnostics(found, HERE, stream)


def write_verdict(name: str, found: Sequence[Diagnostic]) -> None:
    """`roster.json: valid: 1 warning`."""
    out, summary = sys.stdout, Summary.of(found)
    word, colour = ("not valid", "magenta") if summary.errors else ("valid", "green")
    shown = styled(word, out, fg=colour, bold=True)
    out.write(f"{visible(name)}: {shown}: {counted(summary)}\n")


def without_ticks(label: str) -> str:
    """The words for a place, where no sentence stands around them."""
    return label.replace("`", "")
