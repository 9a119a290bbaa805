"""How a command ends that could not do its work: the words, and the exit code."""

import sys

import click

from brenner.cli.output import failure, write_diagnostics, write_json
from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.codes.serving import TOKEN_NEEDED, UNUSABLE_TOKEN
from brenner.diagnostics.codes.sessions import MALFORMED_ROSTER
from brenner.diagnostics.model import BrennerError, Unavailable
from brenner.text import visible

REFUSED, USAGE, UNAVAILABLE = 1, 2, 3
# What is wrong with how the program was called or set up, not with what was asked of the mail
_USAGE = {
    codes.NO_SUCH_PROJECT.id,
    codes.INVALID_SETTINGS.id,
    codes.UNKNOWN_STORE.id,
    MALFORMED_ROSTER.id,
    TOKEN_NEEDED.id,
    UNUSABLE_TOKEN.id,
}
_GIVEN = "The message that does it, from here to the end:"
_IN_SETTINGS = {codes.INVALID_SETTINGS.id, codes.UNKNOWN_SETTING.id}


def write_failure(error: BrennerError, *, as_json: bool) -> int:
    """Say what could not be done; the exit code."""
    found = error.diagnostic
    if as_json:
        write_json(failure(found, click.get_current_context(silent=True)))
    else:
        write_error(error)
    return exit_code(error)


def write_error(error: BrennerError) -> None:
    """What went wrong, and what belongs to it: a difference, what git said, what to send."""
    found = error.diagnostic
    write_diagnostics([found], place_of(found.id), sys.stderr)
    for text in filter(None, error.details):
        sys.stderr.write(indented(text))
    if found.repaired:
        sys.stderr.write(f"\n{_GIVEN}\n\n{_shown(found.repaired)}")


def indented(text: str) -> str:
    """A text as it may be shown beside a diagnostic."""
    return _shown(text, " " * 6)


def _shown(text: str, margin: str = "") -> str:
    """Lines stay lines and tabs stay tabs; what else is hidden is spelled out."""
    lines = text.rstrip("\n").split("\n")
    return "".join(f"{margin}{_line(line)}\n" for line in lines)


def _line(line: str) -> str:
    return "\t".join(visible(part, len(part) + 1) for part in line.split("\t"))


def exit_code(error: BrennerError) -> int:
    """1 for a refusal, 2 for wrong usage, 3 for a world that is broken."""
    if isinstance(error, Unavailable):
        return UNAVAILABLE
    return USAGE if error.diagnostic.id in _USAGE else REFUSED


def place_of(code_id: str) -> str:
    """What a diagnostic with a line is about: the settings, or else the program."""
    return "brenner.toml" if code_id in _IN_SETTINGS else "brenner"
