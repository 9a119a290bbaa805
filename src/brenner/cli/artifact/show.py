"""`brenner artifact show`: an artifact for people, for other programs, and as JSON."""

import sys
from collections.abc import Iterator
from typing import TextIO

import click

from brenner.cli.artifact.files import FINE, write_unreadable
from brenner.cli.artifact.json_document import ALWAYS, artifact_document, item_document
from brenner.cli.artifact.linting import project_source, report_of
from brenner.cli.artifact.targets import Loaded, Reader
from brenner.cli.help_text import examples
from brenner.cli.options import Settings, common_options
from brenner.cli.output import Reporting, write_diagnostics, write_json
from brenner.cli.paging import pager_option, write_lines
from brenner.diagnostics.model import Diagnostic
from brenner.lint.linter import LintReport


@click.command(
    "show",
    cls=Reporting,
    always=ALWAYS,
    epilog=examples(
        "brenner artifact show RS-20251230-cell-fate",
        "brenner artifact show RS-20251230-cell-fate@v2 --item H2",
        "brenner artifact show artifacts/RS-20251230-cell-fate.md",
        "brenner artifact show RS-20251230-cell-fate > cell-fate.md",
    ),
)
@click.argument("target", metavar="TARGET")
@click.option("--item", "item_id", metavar="ID", help="Only this item: H2, T1, RT, …")
@pager_option
@common_options
def show(settings: Settings, target: str, item_id: str | None, pager: bool) -> int:
    """Print an artifact: of a THREAD the latest version, of THREAD@vN that one, or of a file.

    In a terminal it is laid out for reading; into a pipe goes its Markdown, of a version every
    byte as it was published. What is odd about it is told on the standard error, and in JSON as
    `violations`. With - the standard input is read. Exit code 1: there is no such thread, version
    or item; 2: the file cannot be read.
    """
    is_exact = item_id is None and not settings.as_json and not sys.stdout.isatty()
    with Reader(settings) as reader:
        loaded = reader.read(target, with_state=not is_exact)
        if isinstance(loaded, Diagnostic):
            return write_unreadable(loaded, target, as_json=settings.as_json)
        if is_exact:
            write_diagnostics(loaded.diagnostics, loaded.name, sys.stderr)
            sys.stdout.write(loaded.text)
            return FINE
        report = report_of(loaded, project_source(reader, loaded))
    if settings.as_json:
        is_whole = item_id is None
        write_json(
            artifact_document(loaded, report) if is_whole else item_document(loaded, item_id or "")
        )
        return FINE
    lines = _lines(loaded, item_id, report, sys.stdout)
    write_diagnostics(loaded.diagnostics, loaded.name, sys.stderr)
    write_lines(lines, pager=pager)
    return FINE


def _lines(loaded: Loaded, item_id: str | None, report: LintReport, out: TextIO) -> Iterator[str]:
    """The artifact for people, or one item of it; that there is none such is refused at once."""
    from brenner.cli.artifact.document import document_lines, item_lines, reading_of
    from brenner.cli.artifact.items import find_item

    state = loaded.version.state if loaded.version else None
    reading = reading_of(loaded.artifact, report, state)
    if item_id is None:
        return document_lines(reading, out)
    return item_lines(reading, *find_item(loaded, item_id), out)
