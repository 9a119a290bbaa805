"""`brenner session export`: write a whole session to one file."""

from __future__ import annotations

from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING

import click

from brenner.cli.artifact.export import FORMAT_BY_SUFFIX, HTML, JSON, MARKDOWN, format_of
from brenner.cli.io import check_overwrite, write_atomically
from brenner.cli.options import EXIT_OK, Settings, common_options, examples
from brenner.cli.output import JsonCommand, note_changes_made, write_json
from brenner.cli.terminal import print_hint, print_message
from brenner.cli.threads import find_thread
from brenner.cli.workspace import workspace_of
from brenner.mail.open import store_of
from brenner.services.session_status import load_status
from brenner.text import escape_control
from brenner.web import links
from brenner.web.request import RequestContext, ServerInfo, Site
from brenner.web.sessions import SessionRepository
from brenner.web.views import exports

if TYPE_CHECKING:
    from brenner.services.workspace import Workspace
    from brenner.web.request import Download

_FORM_OF_FORMAT = {HTML: "html", MARKDOWN: "md", JSON: "json"}
_CONTENTS = {
    HTML: "artifact, versions, rejected blocks, agents and list of messages",
    MARKDOWN: "the artifact of the latest version",
    JSON: "status, artifact, versions, ledger and messages",
}


@click.command(
    "export",
    cls=JsonCommand,
    json_defaults={"thread_id": None, "output": None, "format": None, "bytes": 0},
    epilog=examples(
        "brenner session export RS-20251230-cell-fate --output cell-fate.html",
        "brenner session export --output cell-fate.json",
    ),
)
@click.argument("thread", required=False, metavar="[THREAD]")
@click.option("--output", "file", required=True, metavar="FILE", help="FILE.html, .md or .json.")
@click.option("--force", is_flag=True, help="Overwrite FILE.")
@common_options
def export(settings: Settings, thread: str | None, file: str, force: bool) -> int:
    """Write a whole session to one file that can be read without Brenner.

    Use it to send a session to a colleague, or to keep it. HTML is a report with the artifact, its
    versions, the rejected blocks, the agents and a list of the messages; it needs no server and no
    network. JSON has all data, with the text of each message. Markdown has the artifact alone.
    THREAD is optional if only one session is open. `brenner mail export` writes an archive that can
    be imported.
    """
    chosen = format_of(file, FORMAT_BY_SUFFIX)
    check_overwrite(file, replace=force)
    with workspace_of(settings) as here:
        thread = find_thread(here, thread)
        load_status(here, thread)  # an unknown thread is reported as in other commands
        text = _download(here, thread, _FORM_OF_FORMAT[chosen]).text
    size = write_atomically(file, [text.encode()], replace=force)
    note_changes_made()
    if settings.as_json:
        write_json({"thread_id": thread, "output": file, "format": chosen, "bytes": size})
        return EXIT_OK
    shown = escape_control(file)
    print_message(
        f"Wrote {shown}: {_CONTENTS[chosen]} of {escape_control(thread)}, {size:,} bytes."
    )
    if chosen == HTML:
        print_hint("Open it in any browser, also offline. It contains no scripts.")
    return EXIT_OK


def _download(here: Workspace, thread: str, form: str) -> Download:
    """Return the export that the page of the session offers for download."""
    folder = here.project.folder
    about = ServerInfo(folder.name, str(folder), store_of(here.project).shown, "", is_strict=False)
    site = Site(here, about, SessionRepository(here))
    parameters = MappingProxyType({"thread": thread, "form": form})
    path = links.export(thread, form)
    return exports.page(RequestContext(site, path, datetime.now(UTC), parameters))
