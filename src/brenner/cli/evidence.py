"""`brenner evidence`: add records to the project's evidence pack, list and check them (R31)."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from brenner.cli.options import (
    EXIT_INVALID,
    EXIT_OK,
    ONE_SECTION,
    Command,
    LazyGroup,
    Settings,
    common_options,
    examples,
    group_options,
)
from brenner.cli.output import (
    count_by_severity,
    note_changes_made,
    styled,
    write_diagnostics,
    write_json,
    write_placed_diagnostics,
)
from brenner.cli.terminal import (
    Span,
    fold,
    pager_option,
    print_hint,
    print_message,
    write_lines,
)
from brenner.cli.workspace import workspace_of, workspace_without_mail
from brenner.config import SETTINGS_FILE
from brenner.diagnostics.model import Diagnostic, Summary, worst_first
from brenner.mail.open import require_project
from brenner.services.evidence import NewRecord, add_record, check_pack, require_pack
from brenner.text import escape_control, plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from brenner.protocol.evidence_pack import EvidenceRecord

COMMANDS = {
    "add": (ONE_SECTION, "brenner.cli.evidence", "add", "Add a record to the evidence pack."),
    "list": (ONE_SECTION, "brenner.cli.evidence", "list_", "List records and excerpts."),
    "check": (
        ONE_SECTION,
        "brenner.cli.evidence",
        "check",
        "Check records, files and citations.",
    ),
}


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    epilog=examples(
        "brenner evidence add --title 'Cell clocks' --source doi:10.1000/182 \\",
        "    --excerpt 'Markers fluctuate.'",
        "brenner evidence list",
        "brenner evidence check",
    ),
)
@group_options
def command() -> None:
    """Add, list and check the sources that agents cite.

    The evidence pack is a TOML or JSON file, which `evidence_pack` in brenner.toml names. Agents
    cite a record as EV-001, an exact excerpt of it as EV-001#E1.
    """


# `evidence add`


@click.command(
    "add",
    cls=Command,
    epilog=examples(
        "brenner evidence add --title 'Cell clocks' --source doi:10.1000/182 \\",
        "    --excerpt 'Markers fluctuate.' --excerpt 'Clocks drift.'",
        "brenner evidence add --title 'Night counts' --file data/night.csv",
    ),
)
@click.option("--title", metavar="TEXT", help="Title of the source.")
@click.option("--source", metavar="URL|DOI|PATH", help="Where the source is (default: the FILE).")
@click.option("--accessed", metavar="DATE", help="When you read it (default: today).")
@click.option("--excerpt", "excerpts", multiple=True, metavar="TEXT", help="Exact text to cite.")
@click.option("--file", "path", metavar="FILE", help="Your copy; its SHA-256 is recorded.")
@common_options
def add(  # noqa: PLR0913  (one parameter per option)
    settings: Settings,
    *,
    title: str | None,
    source: str | None,
    accessed: str | None,
    excerpts: tuple[str, ...],
    path: str | None,
) -> int:
    """Add a record to the evidence pack under the next number.

    In a terminal, missing texts are asked for. Nothing is downloaded: the excerpts are what you
    give. Without an evidence pack, evidence.toml is created and named in brenner.toml.
    """
    here = workspace_without_mail(settings)
    project = require_project(here.project)
    from brenner.services.publish import check_operator

    check_operator(here, "add evidence")
    if _can_ask(settings):
        title = title or click.prompt("Title", err=True)
        source = source or (None if path else click.prompt("Source (URL, DOI or path)", err=True))
        accessed = accessed or click.prompt("Accessed", default=_today(), err=True)
        excerpts = excerpts or tuple(_ask_excerpts())
    missing = [
        name
        for name, is_given in (("--title", title), ("--source or --file", source or path))
        if not is_given
    ]
    if missing:
        message = f"A record needs {' and '.join(missing)}."
        raise click.UsageError(message)
    new = NewRecord(title or "", source or "", accessed or _today(), excerpts, path)
    added = add_record(project, new)
    note_changes_made()
    if settings.as_json:
        write_json(
            {
                "path": added.path,
                "record": _record_json(added.record),
                "created_pack": added.is_new_pack,
                "changed_settings": added.is_new_setting,
            }
        )
        return EXIT_OK
    if added.is_new_pack:
        print_message(f"Created the evidence pack `{added.path}`.")
    if added.is_new_setting:
        print_message(f"Set `evidence_pack` in `{SETTINGS_FILE}`.")
    count = plural(len(added.record.excerpts), "excerpt")
    print_message(f"Added `{added.record.id}` with {count} to `{added.path}`.")
    anchors = list(added.record.anchors())
    print_hint(
        f"To cite it: `{anchors[-1]}`. To quote it in a kickoff: `--evidence {anchors[-1]}`."
    )
    return EXIT_OK


def _can_ask(settings: Settings) -> bool:
    is_terminal = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
    return is_terminal and not settings.as_json


def _ask_excerpts() -> Iterator[str]:
    """Ask for excerpts until an empty line."""
    while text := click.prompt(
        "Excerpt (empty: no more)", default="", show_default=False, err=True
    ):
        yield text


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


# `evidence list`


@click.command("list", cls=Command, epilog=examples("brenner evidence list"))
@pager_option
@common_options
def list_(settings: Settings, *, pager: bool) -> int:
    """List the records and excerpts of the evidence pack.

    Faulty records are listed as far as they can be read.
    """
    project = require_project(workspace_without_mail(settings).project)
    parsed = require_pack(project)
    records = list(parsed.pack.records.values())
    if settings.as_json:
        write_json(
            {
                "path": parsed.pack.path,
                "records": [_record_json(each) for each in records],
                "violations": [found.to_json() for found in parsed.diagnostics],
            }
        )
        return EXIT_OK
    write_diagnostics(parsed.diagnostics, parsed.pack.path, sys.stderr)
    write_lines(_list_lines(records, parsed.pack.path), pager=pager)
    return EXIT_OK


def _list_lines(records: Sequence[EvidenceRecord], path: str) -> Iterator[str]:
    out = sys.stdout
    for each in records:
        yield f"{styled(each.id, out, bold=True)}  {escape_control(each.title)}\n"
        yield f"  {escape_control(each.source)}, accessed {escape_control(each.accessed)}\n"
        if each.path and each.path != each.source:
            yield f"  file {escape_control(each.path)}\n"
        for name, text in each.excerpts.items():
            anchor = [Span(f"  {each.id}#{name}  ")]
            yield fold(anchor, [Span(_one_line(text))], "    ", out)
    excerpts = sum(len(each.excerpts) for each in records)
    counts = f"{plural(len(records), 'record')}, {plural(excerpts, 'excerpt')}"
    yield f"{escape_control(path)}: {counts}\n"


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return escape_control(line, len(line))


def _record_json(record: EvidenceRecord) -> dict[str, object]:
    return {**record._asdict(), "excerpts": dict(record.excerpts), "url": record.url}


# `evidence check`


@click.command("check", cls=Command, epilog=examples("brenner evidence check"))
@common_options
def check(settings: Settings) -> int:
    """Check the evidence pack, its files, and what the sessions cite.

    Files with a sha256 are compared. Anchors that lead nowhere and quotations that are not in
    their excerpt are errors: in the latest version of each session, and in the messages after it.
    Excerpts that no session cites are listed as info.
    """
    with workspace_of(settings) as here:
        parsed, found = check_pack(here)
    found = tuple(sorted(found, key=worst_first))
    summary = Summary.of(found)
    count = len(parsed.pack.records)
    if settings.as_json:
        write_json(
            {
                "valid": not summary.errors,
                "path": parsed.pack.path,
                "records": count,
                "summary": summary._asdict(),
                "violations": [each.to_json() for each in found],
            }
        )
        return EXIT_INVALID if summary.errors else EXIT_OK
    path = parsed.pack.path
    write_placed_diagnostics([(_place(each, path), each) for each in found], sys.stdout)
    colour = "magenta" if summary.errors else "green"
    verdict = styled("not valid" if summary.errors else "valid", sys.stdout, fg=colour, bold=True)
    counts = f"{count_by_severity(summary)} ({plural(count, 'record')})"
    sys.stdout.write(f"{escape_control(path)}: {verdict}: {counts}\n")
    return EXIT_INVALID if summary.errors else EXIT_OK


def _place(found: Diagnostic, path: str) -> str:
    return path if found.message_id is None else f"message {found.message_id}"
