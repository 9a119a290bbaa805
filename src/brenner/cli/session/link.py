"""`brenner session link`: print a read-only guest link to the pages of a session."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from brenner.cli.options import EXIT_OK, Command, Settings, common_options, examples
from brenner.cli.output import note_changes_made, write_diagnostics, write_json
from brenner.cli.serve import URL_VARIABLE, pages_url
from brenner.cli.terminal import print_hint
from brenner.cli.threads import find_thread
from brenner.cli.workspace import workspace_of
from brenner.diagnostics.codes.serving import SERVER_OF_OTHER_PROJECT
from brenner.diagnostics.model import BrennerError, RequestError
from brenner.mail.agent_mail.client import Client
from brenner.program_settings import TOKEN
from brenner.protocol.messages import exact_time
from brenner.server.settings import read_token
from brenner.services.identity import AGENT_MAIL_SERVER, BRENNER_SERVER, identify_server
from brenner.services.session_status import load_status
from brenner.text import thread_argument
from brenner.web import links
from brenner.web.request import guest_link as signed

if TYPE_CHECKING:
    from pathlib import Path

_DEFAULT_DAYS, _MAX_DAYS = 7, 366
_PROBE_TIMEOUT, _ANSWER_TIMEOUT = 2.0, 10.0  # seconds: to any server, to one of ours


@click.command(
    "link",
    epilog=examples(
        "brenner session link RS-20251230-cell-fate",
        "brenner session link RS-20251230-cell-fate --days 30 --url https://lab.example",
    ),
    cls=Command,
)
@click.argument("thread", required=False, metavar="[THREAD]")
@click.option(
    "--days",
    type=click.IntRange(1, _MAX_DAYS),
    default=_DEFAULT_DAYS,
    show_default=True,
    help="Days until it expires.",
)
@click.option("--url", metavar="BASE", help="Server address (or BRENNER_SERVE_URL).")
@click.option(
    "--token-file", metavar="FILE", help=f"File with the token of the server (or {TOKEN})."
)
@common_options
def link(
    settings: Settings, *, thread: str | None, days: int, url: str | None, token_file: str | None
) -> int:
    """Print a read-only guest link to the page of one session.

    Use it to share a session from a server with a token. The link opens this session with its
    messages and exports, nothing else. It works until it expires or the token changes. Without a
    token the pages are public, and the plain address is printed.
    """
    base = pages_url(url)
    token, warnings = read_token(token_file, os.environ)
    with workspace_of(settings) as here:
        thread = find_thread(here, thread)
        load_status(here, thread)
        folder = here.project.folder
    who = identify_server(f"{base}/mcp", _PROBE_TIMEOUT)
    if who == BRENNER_SERVER:
        _check_project(base, token, folder, thread)
    note_changes_made()
    until = datetime.now(UTC) + timedelta(days=days)
    path = links.session(thread)
    if token is not None:
        path = f"{links.GUEST}/{signed(token, thread, until)}"
    warning = _server_warning(base, who) if url is None else None
    if settings.as_json:
        write_json(
            {
                "thread_id": thread,
                "url": base + path,
                "signed": token is not None,
                "until": exact_time(until) if token is not None else None,
                "answers": warning is None if url is None else None,
                "violations": [found.to_json() for found in warnings],
            }
        )
        return EXIT_OK
    write_diagnostics(warnings, "brenner", sys.stderr)
    sys.stdout.write(f"{base}{path}\n")
    sys.stdout.flush()
    if warning:
        print_hint(warning, sys.stderr)
    if token is None:
        plain = f"This link is not signed: give the server's token with --token-file or {TOKEN}."
        print_hint(plain, sys.stderr)
    else:
        text = f"Anyone with this link can read the session until {exact_time(until)}."
        print_hint(text, sys.stderr)
    return EXIT_OK


def _check_project(base: str, token: str | None, folder: Path, thread: str) -> None:
    """Raise RequestError if the Brenner server at an address serves another project."""
    served = _served_folder(base, token)
    if served and os.path.realpath(served) != os.path.realpath(folder):
        words = {"url": base, "served": served, "folder": str(folder)}
        argument = thread_argument(thread)
        raise RequestError(SERVER_OF_OTHER_PROJECT.at(None, thread=argument, **words))


def _served_folder(base: str, token: str | None) -> str | None:
    """Return the project of a server; None if it does not say so, as without its token."""
    try:
        with closing(Client(f"{base}/mcp/", token, seconds=_ANSWER_TIMEOUT)) as client:
            health = client.call("health_check", {})
    except BrennerError:
        return None
    return str(health.get("project") or "") if isinstance(health, dict) else None


def _server_warning(base: str, who: str) -> str | None:
    """Return why the link may not work, or None if a Brenner server answers there."""
    if who == BRENNER_SERVER:
        return None
    is_other = who == AGENT_MAIL_SERVER
    there = "An Agent Mail server answers" if is_other else "No Brenner server answers"
    return (
        f"{there} at {base}. Start one with `brenner serve`, or give its address with --url or "
        f"{URL_VARIABLE}."
    )
