"""Options that hold a text for a kickoff: as it is, `@FILE`, or `-` for the standard input."""

import sys
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import click

from brenner.cli.mail.desk import UNREADABLE
from brenner.cli.options import Settings
from brenner.cli.output import failure, write_diagnostics, write_json
from brenner.cli.reading import STANDARD_INPUT, read_text
from brenner.diagnostics.model import Diagnostic

FILE = "excerpt_file"  # its value is always a file


class Unreadable(NamedTuple):
    """What is wrong with the file that an option names."""

    option: str
    found: Diagnostic


def read_texts(
    said: Mapping[str, str | None], names: Iterable[str]
) -> "dict[str, str] | Unreadable":
    """What the options say, by name; empty where one was not given."""
    names = list(names)
    if [said[name] for name in names].count(STANDARD_INPUT) > 1:
        message = "The standard input can be read only once."
        raise click.UsageError(message)
    texts: dict[str, str] = {}
    for name in names:
        text = _text(name, said[name])
        if isinstance(text, Diagnostic):
            return Unreadable(option_of(name), text)
        texts[name] = text
    return texts


def option_of(name: str) -> str:
    """How an option is typed."""
    return f"--{name.replace('_', '-')}"


def _text(name: str, value: str | None) -> str | Diagnostic:
    """What an option says, or the file that it names."""
    if value is None:
        return ""
    if name == FILE or value == STANDARD_INPUT:
        return read_text(value)
    return read_text(value[1:]) if value.startswith("@") else value


def report_unreadable(wrong: Unreadable, settings: Settings) -> int:
    """Say it; the exit code."""
    if settings.as_json:
        write_json(failure(wrong.found, click.get_current_context()))
    else:
        write_diagnostics([wrong.found], wrong.option, sys.stderr)
    return UNREADABLE
