"""Artifacts read from files, and what to say where that fails."""

import sys
from typing import TYPE_CHECKING

from brenner.cli.output import failure, write_diagnostics, write_json
from brenner.cli.reading import STANDARD_INPUT, read_text
from brenner.diagnostics.codes import input as codes
from brenner.diagnostics.model import Diagnostic
from brenner.limits import MOST_BODY_BYTES

if TYPE_CHECKING:
    from brenner.artifact.parsed import ParsedArtifact

FINE, UNREADABLE = 0, 2


def read_artifact(name: str) -> "ParsedArtifact | Diagnostic":
    """The artifact in a file, or why there is none. A file that is too large was not read."""
    text = read_text(name)
    if isinstance(text, Diagnostic):
        if text.id != codes.MESSAGE_TOO_LARGE.id:
            return text
        reason = f"it is larger than {MOST_BODY_BYTES} bytes"
        return codes.UNREADABLE_INPUT.at(path=name, reason=reason)
    from brenner.artifact.parse import parse_artifact

    parsed = parse_artifact(text)
    if parsed.outline.headings or parsed.outline.front_matter is not None:
        return parsed
    # An empty or quite another file: to show nothing would look like success.
    reason = "there is no artifact in it, neither front matter nor any of the seven sections"
    return codes.UNREADABLE_INPUT.at(path=name, reason=reason)


def write_unreadable(found: Diagnostic, name: str, *, as_json: bool) -> int:
    """Say why a file cannot be read; the exit code."""
    if as_json:
        write_json(failure(found))
    else:
        write_diagnostics([found], shown_name(name), sys.stderr)
    return UNREADABLE


def shown_name(name: str) -> str:
    """The file as messages call it."""
    return "<stdin>" if name == STANDARD_INPUT else name
