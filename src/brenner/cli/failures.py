"""How a command ends that could not do its work: the words, and the exit code."""

import sys

import click

from brenner.cli.output import failure, write_diagnostics, write_json
from brenner.diagnostics.codes import store as codes
from brenner.diagnostics.errors import BrennerError, Unavailable

REFUSED, USAGE, UNAVAILABLE = 1, 2, 3
# What is wrong with how the program was called or set up, not with what was asked of the mail
_USAGE = {codes.NO_SUCH_PROJECT.id, codes.INVALID_SETTINGS.id, codes.UNKNOWN_STORE.id}
_IN_SETTINGS = {codes.INVALID_SETTINGS.id, codes.UNKNOWN_SETTING.id}


def write_failure(error: BrennerError, *, as_json: bool) -> int:
    """Say what could not be done; the exit code."""
    found = error.diagnostic
    if as_json:
        write_json(failure(found, click.get_current_context(silent=True)))
    else:
        write_diagnostics([found], place_of(found.id), sys.stderr)
    return exit_code(error)


def exit_code(error: BrennerError) -> int:
    """1 for a refusal, 2 for wrong usage, 3 for a world that is broken."""
    if isinstance(error, Unavailable):
        return UNAVAILABLE
    return USAGE if error.diagnostic.id in _USAGE else REFUSED


def place_of(code_id: str) -> str:
    """What a diagnostic with a line is about: the settings, or else the program."""
    return "brenner.toml" if code_id in _IN_SETTINGS else "brenner"
