"""`brenner artifact export`: write an artifact as JSON, Markdown or one HTML page."""

from __future__ import annotations

import json
import sys

import click

from brenner.cli.artifact.common import (
    ORIGIN_DEFAULTS,
    ArtifactReader,
    LoadedArtifact,
    lint_loaded,
    lint_verdict,
    notes_json,
    project_source,
    write_unreadable,
)
from brenner.cli.io import STANDARD_INPUT as STANDARD_OUTPUT
from brenner.cli.io import check_overwrite, write_atomically
from brenner.cli.options import EXIT_OK, Settings, common_options, examples
from brenner.cli.output import JsonCommand, note_changes_made, write_diagnostics, write_json
from brenner.cli.terminal import print_hint, print_message, write_exact
from brenner.diagnostics.model import Diagnostic
from brenner.text import escape_control

JSON, MARKDOWN, HTML = "json", "markdown", "html"
_FORMAT_BY_SUFFIX = {".json": JSON, ".html": HTML, ".htm": HTML}


@click.command(
    "export",
    cls=JsonCommand,
    json_defaults=ORIGIN_DEFAULTS | {"output": None, "format": None, "bytes": 0},
    epilog=examples(
        "brenner artifact export RS-20251230-cell-fate --output cell-fate.html",
        "brenner artifact export RS-20251230-cell-fate@v2 --format json > v2.json",
        "brenner artifact export artifacts/RS-20251230-cell-fate.md --output page.html",
    ),
)
@click.argument("target", metavar="TARGET")
@click.option(
    "--format",
    "form",
    type=click.Choice((JSON, MARKDOWN, HTML)),
    help="Format (default: from the name of FILE, else markdown).",
)
@click.option("--output", "file", default=STANDARD_OUTPUT, metavar="FILE", help="Write to FILE.")
@click.option("--force", is_flag=True, help="Overwrite FILE.")
@common_options
def export(settings: Settings, target: str, form: str | None, file: str, force: bool) -> int:
    """Write an artifact as JSON, Markdown, or one self-contained HTML page.

    TARGET is a THREAD, THREAD@vN, a file, or - for standard input. Without --output it goes to
    standard output. FILE is written completely or not at all.
    """
    chosen = form or _FORMAT_BY_SUFFIX.get(file[file.rfind(".") :].lower(), MARKDOWN)
    is_out = file == STANDARD_OUTPUT
    if is_out and settings.as_json and chosen != JSON:
        message = "--json needs --output FILE: the standard output is for the JSON document."
        raise click.UsageError(message)
    if not is_out:
        check_overwrite(file, replace=force)
    with ArtifactReader(settings) as reader:
        loaded = reader.read(target, with_state=chosen != MARKDOWN)
        if isinstance(loaded, Diagnostic):
            return write_unreadable(loaded, target, as_json=settings.as_json)
        text = _export_text(reader, loaded, chosen)
    if not settings.as_json:
        write_diagnostics(loaded.diagnostics, loaded.name, sys.stderr)
    if is_out:
        write_exact(text, sys.stdout)
        return EXIT_OK
    size = write_atomically(file, [text.encode()], replace=force)
    note_changes_made()
    if settings.as_json:
        done = {"output": file, "format": chosen, "bytes": size}
        write_json({**loaded.to_json(), **done, **notes_json([loaded])})
        return EXIT_OK
    print_message(
        f"Wrote {escape_control(file)}: {escape_control(loaded.name)} as {chosen}, {size:,} bytes."
    )
    if chosen == HTML:
        print_hint("Open it in any browser, also offline. It contains no scripts.")
    return EXIT_OK


def _export_text(reader: ArtifactReader, loaded: LoadedArtifact, form: str) -> str:
    if form == MARKDOWN:
        return loaded.text
    report = lint_loaded(loaded, project_source(reader, loaded)[0])
    if form == HTML:
        from brenner.artifact.html import artifact_html

        return artifact_html(loaded.artifact, loaded.conflicts, lint_verdict(report))
    from brenner.cli.artifact.show import artifact_document

    document = artifact_document(loaded, report)
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"
