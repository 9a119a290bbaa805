"""`brenner artifact export`: write an artifact as JSON, Markdown or one HTML page."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from brenner.cli.artifact.common import (
    ORIGIN_DEFAULTS,
    ArtifactReader,
    LoadedArtifact,
    join_target,
    lint_loaded,
    lint_verdict,
    notes_json,
    project_pack,
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

if TYPE_CHECKING:
    from collections.abc import Mapping

JSON, MARKDOWN, HTML = "json", "markdown", "html"
FORMAT_BY_SUFFIX = {
    ".md": MARKDOWN,
    ".markdown": MARKDOWN,
    ".txt": MARKDOWN,
    ".json": JSON,
    ".html": HTML,
    ".htm": HTML,
}


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
@click.argument("target", required=False, metavar="[TARGET]")
@click.argument("version", required=False, metavar="[vN]")
@click.option(
    "--format",
    "form",
    type=click.Choice((JSON, MARKDOWN, HTML)),
    help="Format (default: from the ending of FILE, else markdown).",
)
@click.option("--output", "file", default=STANDARD_OUTPUT, metavar="FILE", help="Write to FILE.")
@click.option("--force", is_flag=True, help="Overwrite FILE.")
@common_options
def export(  # noqa: PLR0913  (one parameter per option)
    settings: Settings,
    *,
    target: str | None,
    version: str | None,
    form: str | None,
    file: str,
    force: bool,
) -> int:
    """Write an artifact as JSON, Markdown, or one self-contained HTML page.

    TARGET is a THREAD, THREAD@vN, a file, or - for standard input. It is optional if only one
    session is open. Without --output it goes to standard output. FILE is written completely or not
    at all.
    """
    name, _ = join_target(target, version)
    is_out = file == STANDARD_OUTPUT
    chosen = form or (MARKDOWN if is_out else format_of(file, FORMAT_BY_SUFFIX))
    if is_out and settings.as_json and chosen != JSON:
        message = "--json needs --output FILE: the standard output is for the JSON document."
        raise click.UsageError(message)
    if not is_out:
        check_overwrite(file, replace=force)
    with ArtifactReader(settings) as reader:
        loaded = reader.read(name, with_state=chosen != MARKDOWN)
        if isinstance(loaded, Diagnostic):
            return write_unreadable(loaded, name, as_json=settings.as_json)
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


def format_of(file: str, format_by_suffix: Mapping[str, str]) -> str:
    """Return the format that the ending of a file's name means. Refuse other endings."""
    base = file.rpartition("/")[2]
    suffix = base[base.rfind(".") :].lower() if "." in base else ""
    if suffix in format_by_suffix:
        return format_by_suffix[suffix]
    known = ", ".join(f"`{each}`" for each in format_by_suffix)
    what = f"The ending `{escape_control(suffix)}`" if suffix else "A name without an ending"
    message = f"{what} names no format. End FILE with one of {known}."
    raise click.UsageError(message)


def _export_text(reader: ArtifactReader, loaded: LoadedArtifact, form: str) -> str:
    if form == MARKDOWN:
        return loaded.text
    report = lint_loaded(loaded, project_source(reader, loaded)[0], project_pack(reader, loaded))
    if form == HTML:
        from brenner.artifact.html import artifact_html

        return artifact_html(loaded.artifact, loaded.conflicts, lint_verdict(report))
    from brenner.cli.artifact.show import artifact_document

    document = artifact_document(loaded, report)
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"
