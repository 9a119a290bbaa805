"""`brenner session link`: the address of a session, for somebody who is to look at it."""

import os
import sys
from datetime import UTC, datetime, timedelta

import click

from brenner.cli.options import Settings, common_options, examples
from brenner.cli.output import note_done, write_diagnostics, write_json
from brenner.cli.serve import VARIABLE, pages_url
from brenner.cli.terminal import print_hint
from brenner.cli.workspace import FINE, workspace_of
from brenner.protocol.messages import exact
from brenner.server.settings import read_token
from brenner.services.identity import OURS, THEIRS, TOKEN, who_listens
from brenner.services.sessions import load_status
from brenner.web import links
from brenner.web.request import link as signed

_DAYS, _MOST_DAYS = 7, 366
_SECONDS = 2.0


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
    type=click.IntRange(1, _MOST_DAYS),
    default=_DAYS,
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
    token = read_token(token_file, os.environ)
    with workspace_of(settings) as here:
        load_status(here, thread)
    note_done()
    until = datetime.now(UTC) + timedelta(days=days)
    path = links.session(thread)
    if token.value is not None:
        path = f"{links.GUEST}/{signed(token.value, thread, until)}"
    doubt = _doubt(base) if url is None else None
    if settings.as_json:
        write_json(
            {
                "thread_id": thread,
                "url": base + path,
                "signed": token.value is not None,
                "until": exact(until) if token.value is not None else None,
                "answers": doubt is None if url is None else None,
                "violations": [found.to_json() for found in token.warnings],
            }
        )
        return FINE
    write_diagnostics(token.warnings, "brenner", sys.stderr)
    sys.stdout.write(f"{base}{path}\n")
    sys.stdout.flush()
    if doubt:
        print_hint(doubt, sys.stderr)
    if token.value is None:
        plain = f"It is the plain address: no token is named, by --token-file or {TOKEN}."
        print_hint(plain, sys.stderr)
    else:
        print_hint(f"Whoever has it can read this session until {exact(until)}.", sys.stderr)
    return FINE


def _doubt(base: str) -> str | None:
    """Why the link may lead nowhere; nothing where a server of ours answers there."""
    who = who_listens(f"{base}/mcp", _SECONDS)
    if who == OURS:
        return None
    there = "a server of Agent Mail answers" if who == THEIRS else "no server of Brenner answers"
    return (
        f"At {base} {there} now. If `brenner serve` listens elsewhere, say where with --url "
        f"or {VARIABLE}."
    )
