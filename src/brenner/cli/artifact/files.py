"""Artifacts read from files, and what to say where that fails."""

import sys
from typing import TYPE_CHECKING

import click

from brenner.cli.output import failure, write_diagnostics, write_json
from brenner.cli.reading import STANDARD_INPUT, read_text
from brenner.diagnostics.codes import messages as codes
from brenner.diagnostics.model import Diagnostic
from brenner.limits import MOST_BODY_BYTES

if TYPE_CHECKING:
    from brenner.artifact.format import ParsedArtifact

FINE, CONTENT, UNREADABLE = 0, 1, 2


def read_file(name: str) -> str | Diagnostic:
    """The text of a file that is no message, or why it cannot be had."""
    text = read_text(name)
    if isinstance(text, str) or text.id != codes.MESSAGE_TOO_LARGE.id:
        return text
    return codes.FILE_TOO_LARGE.at(path=shown_name(name), most=MOST_BODY_BYTES)


def read_artifact(name: str) -> "ParsedArtifact | Diagnostic":
    """The artifact in a file, or why there is none."""
    text = read_file(name)
    if isinstance(text, Diagnostic):
        return text
    from brenner.artifact.parse import parse_artifact

    parsed = parse_artifact(text)
    outline, artifact = parsed.outline, parsed.artifact
    if outline.headings or outline.front_matter is not None or any(artifact.sections.values()):
        return parsed
    # An empty or quite another file: to show nothing would look like success.
    reason = "neither front matter that can be read nor any of the seven sections is in it"
    if not text.strip():
        reason = "it is empty"
    return codes.NO_ARTIFACT.at(path=shown_name(name), reason=reason)


def write_unreadable(found: Diagnostic, name: str, *, as_json: bool) -> int:
    """Say why a file cannot be read; the exit code."""
    if as_json:
        document = {"file": name} | failure(found, click.get_current_context(silent=True))
        write_json(document | {"file": name})
    else:
        write_diagnostics([found], shown_name(name), sys.stderr)
    return UNREADABLE


def shown_name(name: str) -> str:
    """The file as messages call it."""
    return "<stdin>" if name == STANDARD_INPUT else name
