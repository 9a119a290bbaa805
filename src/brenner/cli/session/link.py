"""`brenner session link`: print a read-only guest link to the pages of a session."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime, timedelta

import click

from brenner.cli.options import EXIT_OK, Settings, common_options, examples
from brenner.cli.output import note_changes_made, write_diagnostics, write_json
from brenner.cli.serve import URL_VARIABLE, pages_url
from brenner.cli.terminal import print_hint
from brenner.cli.workspace import workspace_of
from brenner.protocol.messages import exact_time
from brenner.server.settings import read_token
from brenner.services.identity import AGENT_MAIL_SERVER, BRENNER_SERVER, TOKEN, identify_server
from brenner.services.session_status import load_status
from brenner.web import links
from brenner.web.request import guest_link as signed

_DEFAULT_DAYS, _MAX_DAYS = 7, 366
_PROBE_TIMEOUT = 2.0


@click.command(
    "link",
    epilog=examples(
        "brenner session link RS-20251230-cell-fate",
        "brenner session link RS-20251230-cell-fate --days 30 --token-file ~/.brenner-token \\",
        "    --url https://lab.example",
    ),
)
@click.argument("thread", metavar="THREAD")
@click.option(
    "--days",
    type=click.IntRange(1, _MAX_DAYS),
    default=_DEFAULT_DAYS,
    show_default=True,
    help="For how long it is good.",
)
@click.option("--url", metavar="BASE", help="Where the server is (or BRENNER_SERVE_URL).")
@click.option("--token-file", metavar="FILE", help=f"The token of the server (or {TOKEN}).")
@common_options
def link(
    settings: Settings, *, thread: str, days: int, url: str | None, token_file: str | None
) -> int:
    """Print a link to the pages of one session, for a guest who only reads.

    It is signed with the token of the server, and opens that session, its messages and exports,
    nothing else. Whoever has the link can use it until it expires; with another token of the
    server all links are worth nothing. Without a token the server's pages are open to everybody
    who reaches it, and the plain address is the link.
    """
    base = pages_url(url)
    token, warnings = read_token(token_file, os.environ)
    with workspace_of(settings) as here:
        load_status(here, thread)
    note_changes_made()
    until = datetime.now(UTC) + timedelta(days=days)
    path = links.session(thread)
    if token is not None:
        path = f"{links.GUEST}/{signed(token, thread, until)}"
    warning = _server_warning(base) if url is None else None
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
        plain = f"It is the plain address: no token is named, by --token-file or {TOKEN}."
        print_hint(plain, sys.stderr)
    else:
        print_hint(f"Whoever has it can read this session until {exact_time(until)}.", sys.stderr)
    return EXIT_OK


def _server_warning(base: str) -> str | None:
    """Return why the link may not work, or None if a Brenner server answers there."""
    who = identify_server(f"{base}/mcp", _PROBE_TIMEOUT)
    if who == BRENNER_SERVER:
        return None
    is_other = who == AGENT_MAIL_SERVER
    there = "a server of Agent Mail answers" if is_other else "no server of Brenner answers"
    return (
        f"At {base} {there} now. If `brenner serve` listens elsewhere, say where with --url "
        f"or {URL_VARIABLE}."
    )
