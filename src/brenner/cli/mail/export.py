"""`brenner mail export`: all mail of a project as an archive."""

import sys
from collections.abc import Iterable
from typing import get_args

import click

from brenner.cli.help_text import examples
from brenner.cli.mail.desk import FINE, desk
from brenner.cli.options import Settings, common_options
from brenner.cli.output import note_done, write_json
from brenner.cli.paging import write_exact
from brenner.cli.progress import watched
from brenner.cli.reading import STANDARD_INPUT as STANDARD_OUTPUT
from brenner.cli.sentences import advise, say
from brenner.cli.whole_file import check_free, write_whole
from brenner.services.archive import Form, export_archive
from brenner.text import visible

_FORM_OF_ENDING: dict[str, Form] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".mbox": "mbox"}


@click.command(
    "export",
    epilog=examples(
        "brenner mail export mail.jsonl",
        "brenner mail export mail.mbox --force",
        "brenner mail export | gzip > mail.jsonl.gz",
    ),
)
@click.argument("file", default=STANDARD_OUTPUT, metavar="[FILE|-]")
@click.option(
    "--format",
    "form",
    type=click.Choice(get_args(Form)),
    help="JSON lines or mbox; else as the ending of FILE says, and jsonl without one.",
)
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@common_options
def export(settings: Settings, file: str, form: Form | None, force: bool) -> int:
    """Write all mail of the project to FILE, or to the standard output.

    `brenner mail import` takes it in again, with its ids, times and hashes. The file is written
    whole or not at all. In a terminal control characters are spelled out, so redirect it.
    """
    chosen = form or _form_of(file)
    if file == STANDARD_OUTPUT and settings.as_json:
        message = "With --json give a FILE: the standard output is for the document."
        raise click.UsageError(message)
    if file != STANDARD_OUTPUT:
        check_free(file, replace=force)
    with desk(settings) as here:
        outgoing = export_archive(here.mailbox, chosen)
        portions = watched(outgoing, "Exporting")
        if file == STANDARD_OUTPUT:
            _write_out(portions)
            size = 0
        else:
            size = write_whole(file, portions, replace=force)
            note_done()
    count = outgoing.messages
    if settings.as_json:
        amounts = {"messages": count, "bytes": size, "empty": not count}
        write_json({"file": file, "format": chosen} | amounts)
        return FINE
    if file != STANDARD_OUTPUT:
        messages = f"{count:,} message{'s' * (count != 1)}"
        say(f"Wrote {visible(file)}: {messages}, {size:,} bytes of {chosen}.")
        advise(f"`brenner mail import {visible(file)}` takes it in, in any project.")
    if not count:
        say("There is no mail in this project: `brenner doctor` says which it is.", sys.stderr)
    return FINE


def _form_of(file: str) -> Form:
    for ending, form in _FORM_OF_ENDING.items():
        if file.lower().endswith(ending):
            return form
    return "jsonl"


def _write_out(portions: Iterable[bytes]) -> None:
    if sys.stdout.isatty():
        for portion in portions:
            write_exact(portion.decode(errors="backslashreplace"), sys.stdout)
        return
    sys.stdout.flush()
    for portion in portions:
        sys.stdout.buffer.write(portion)
    sys.stdout.buffer.flush()
