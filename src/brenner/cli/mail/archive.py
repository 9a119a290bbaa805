"""`brenner mail export` and `brenner mail import`: write all mail to an archive, read it back."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from datetime import UTC, datetime
from shlex import quote
from typing import IO, TYPE_CHECKING, get_args

import click

from brenner.cli.artifact.common import display_name
from brenner.cli.io import STANDARD_INPUT, check_overwrite, unreadable_input, write_atomically
from brenner.cli.io import STANDARD_INPUT as STANDARD_OUTPUT
from brenner.cli.options import (
    EXIT_INVALID,
    EXIT_OK,
    EXIT_USAGE,
    Command,
    Settings,
    common_options,
    examples,
)
from brenner.cli.output import (
    count_by_severity,
    failure_json,
    note_changes_made,
    with_progress,
    write_diagnostics,
    write_json,
)
from brenner.cli.terminal import print_hint, print_message, write_exact
from brenner.cli.workspace import project_of, workspace_of
from brenner.diagnostics.codes import messages as codes
from brenner.diagnostics.codes.stores import NOT_AN_ARCHIVE
from brenner.diagnostics.model import Diagnostic, Summary
from brenner.mail.archive.jsonl import FATAL_CODES, MBOX_IS_NOT_READ
from brenner.mail.model import RestoreResult
from brenner.mail.open import describe_place, require_project, store_of
from brenner.services.archive import (
    ArchiveExport,
    Form,
    archive_lines,
    import_archive,
    is_archive_start,
)
from brenner.text import escape_control, joined, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from brenner.config import Project

_FORMAT_BY_SUFFIX: dict[str, Form] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".mbox": "mbox"}


@click.command(
    "export",
    epilog=examples(
        "brenner mail export mail.jsonl",
        "brenner mail export mail.mbox --force",
        "brenner mail export | gzip > mail.jsonl.gz",
    ),
    cls=Command,
)
@click.argument("file", default=STANDARD_OUTPUT, metavar="[FILE|-]")
@click.option(
    "--format",
    "form",
    type=click.Choice(get_args(Form)),
    help="jsonl (JSON lines) or mbox (default: from the name of FILE, else jsonl).",
)
@click.option("--force", is_flag=True, help="Overwrite FILE.")
@common_options
def export(settings: Settings, file: str, form: Form | None, force: bool) -> int:
    """Write all mail of the project to FILE, or to standard output.

    Use it for a backup. `brenner mail import` reads JSON lines back, with IDs, times and hashes.
    FILE is written completely or not at all.
    """
    chosen = form or _FORMAT_BY_SUFFIX.get(file[file.rfind(".") :].lower(), "jsonl")
    if file == STANDARD_OUTPUT and settings.as_json:
        message = "--json needs a FILE: the standard output is for the JSON document."
        raise click.UsageError(message)
    if file != STANDARD_OUTPUT:
        check_overwrite(file, replace=force)
    with workspace_of(settings) as here:
        outgoing = ArchiveExport(here.mailbox, chosen)
        portions = with_progress(outgoing, "Exporting")
        if file == STANDARD_OUTPUT:
            _write_to_stdout(portions)
            size = 0
        else:
            size = write_atomically(file, portions, replace=force)
            note_changes_made()
    count = outgoing.messages
    if settings.as_json:
        amounts = {"messages": count, "bytes": size, "empty": not count}
        write_json({"file": file, "format": chosen} | amounts)
        return EXIT_OK
    if file != STANDARD_OUTPUT:
        messages = f"{count:,} message{'s' * (count != 1)}"
        print_message(f"Wrote {escape_control(file)}: {messages}, {size:,} bytes of {chosen}.")
        if chosen == "jsonl":
            name = quote(escape_control(file))
            print_hint(f"To import it into another project: `brenner mail import {name}`")
    if not count:
        text = f"The archive is empty: no mail in {describe_place(here.project)}."
        print_message(text, sys.stderr)
    return EXIT_OK


def _write_to_stdout(portions: Iterable[bytes]) -> None:
    if sys.stdout.isatty():
        for portion in portions:
            write_exact(portion.decode(errors="backslashreplace"), sys.stdout)
        return
    sys.stdout.flush()
    for portion in portions:
        sys.stdout.buffer.write(portion)
    sys.stdout.buffer.flush()


# `brenner mail import`


_MAX_RENUMBERED = 8
_MAX_MEMORY_BYTES = 8 * 1024 * 1024


@click.command(
    "import",
    epilog=examples("brenner mail import mail.jsonl", "zcat mail.jsonl.gz | brenner mail import -"),
    cls=Command,
)
@click.argument("file", metavar="FILE|-")
@click.option(
    "--format",
    "form",
    type=click.Choice(get_args(Form)),
    help="jsonl; an mbox cannot be imported.",
)
@click.option(
    "--accept-decisions",
    is_flag=True,
    help="Import kickoffs, versions and decisions for existing threads.",
)
@common_options
def import_(settings: Settings, file: str, form: Form | None, accept_decisions: bool) -> int:
    """Import the mail of an archive, completely or not at all.

    Times and hashes stay, and IDs that are free. Messages that were imported before are skipped.
    Imported mail is shown as imported, because its senders are not verified.

    An archive with a KICKOFF, a COMPILED message or a decision (void, dismissal) for an existing
    thread needs --accept-decisions. An Agent Mail server gets the messages one by one; after an
    interruption, repeat the import with --accept-decisions.
    """
    if form == "mbox":
        refusal = NOT_AN_ARCHIVE.at(path=display_name(file), reason=MBOX_IS_NOT_READ)
        return _write_faults([refusal], file, settings)
    project = require_project(project_of(settings))
    is_new = not store_of(project).is_there()
    source = _open_input(file)
    if isinstance(source, Diagnostic):
        return _write_unreadable(source, file, settings)
    with source, workspace_of(settings, project=project, create=True) as here:
        try:
            with _seekable(source) as archive:
                result = import_archive(
                    here.mailbox,
                    with_progress(archive_lines(archive), "Importing"),
                    display_name(file),
                    where=store_of(here.project).shown,
                    operator=here.project.operator,
                    accept_decisions=accept_decisions,
                    now=datetime.now(UTC),
                )
        except OSError as error:  # from the file: the store raises its own errors
            return _write_unreadable(unreadable_input(file, error), file, settings)
    if not isinstance(result, RestoreResult):
        return _write_faults(result, file, settings)
    note_changes_made()
    if settings.as_json:
        write_json(_import_document(result))
    else:
        _write_imported(result, project if is_new else None)
    return EXIT_OK


def _open_input(name: str) -> IO[bytes] | Diagnostic:
    if name == STANDARD_INPUT:
        if sys.stdin is None:
            return codes.UNREADABLE_INPUT.at(path=name, reason="the standard input is closed")
        return sys.stdin.buffer
    try:
        return open(name, "rb")  # noqa: PTH123  (as it was typed; the caller closes it)
    except (OSError, ValueError) as error:
        return unreadable_input(name, error)


@contextmanager
def _seekable(source: IO[bytes]) -> Iterator[IO[bytes]]:
    """Yield the archive as a seekable file. Copy a pipe to a temporary file first.

    An import locks the store, so it must not wait for a slow pipe.
    """
    if source.seekable():
        yield source
        return
    from tempfile import SpooledTemporaryFile

    with SpooledTemporaryFile(_MAX_MEMORY_BYTES) as copy:
        _copy_archive(source, copy)
        copy.seek(0)
        yield copy


def _copy_archive(source: IO[bytes], copy: IO[bytes]) -> None:
    """Copy a whole archive.

    Of any other file copy only the start, enough to see that it is no archive.
    """
    has_begun = False
    for line in with_progress(archive_lines(source), "Reading"):
        copy.write(line)
        if line.strip() and not has_begun:
            has_begun = True
            if not is_archive_start(line):
                return


def _write_unreadable(found: Diagnostic, file: str, settings: Settings) -> int:
    if settings.as_json:
        write_json(failure_json(found))
    else:
        write_diagnostics([found], display_name(file), sys.stderr)
    return EXIT_USAGE


def _write_faults(found: Iterable[Diagnostic], file: str, settings: Settings) -> int:
    faults = tuple(found)
    if settings.as_json:
        write_json(failure_json(*faults))
    else:
        write_diagnostics(faults, display_name(file), sys.stderr)
    if any(each.code in FATAL_CODES for each in faults):
        return EXIT_USAGE
    if not settings.as_json:
        print_message(f"Nothing was imported: {count_by_severity(Summary.of(faults))}.", sys.stderr)
    return EXIT_INVALID


def _import_document(restored: RestoreResult) -> dict[str, object]:
    return {
        "added": restored.added,
        "skipped": restored.skipped,
        "renumbered": [{"from": old, "to": new} for old, new in restored.renumbered],
        "new_agents": list(restored.new_agents),
        "accepted": restored.accepted,
    }


def _write_imported(restored: RestoreResult, new: Project | None) -> None:
    if new:
        print_message(f"Created a mailbox in {describe_place(new)}.", sys.stderr)
    added, skipped = restored.added, restored.skipped
    here = f"; {skipped} {'was' if skipped == 1 else 'were'} already here" if skipped else ""
    print_message(f"Imported {added} message{'s' * (added != 1)}{here}.")
    if restored.accepted:
        count = plural(restored.accepted, "message")
        print_hint(f"{count} with a kickoff, version or decision in a thread that was here before.")
    if restored.new_agents:
        print_hint(f"New agents: {joined(restored.new_agents)}.")
    if restored.renumbered:
        shown = [f"{old} → {new}" for old, new in restored.renumbered[:_MAX_RENUMBERED]]
        left = len(restored.renumbered) - len(shown)
        more = f" and {left} more" if left else ""
        print_hint(f"Changed message IDs: {', '.join(shown)}{more}.")
    if added:
        print_hint("Next: `brenner mail thread`")
