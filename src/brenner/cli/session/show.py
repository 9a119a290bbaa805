"""`brenner session show`: where everything of a session is, in every system."""

import sys

import click

from brenner.cli.help_text import examples
from brenner.cli.mail.desk import FINE, desk
from brenner.cli.options import Settings, common_options
from brenner.cli.output import Reporting, write_json
from brenner.cli.paging import pager_option, write_lines
from brenner.cli.session.show_view import document, lines
from brenner.services.genealogy import whereabouts


@click.command(
    "show",
    cls=Reporting,
    always={
        "thread_id": None,
        "kind": None,
        "mail": None,
        "artifact": None,
        "archive": None,
        "terminal": None,
        "bead": None,
        "roster": [],
    },
    epilog=examples(
        "brenner session show RS-20251230-cell-fate",
        "brenner session show RS-20251230-cell-fate --json",
        "brenner session show -- -an-id-that-begins-with-a-hyphen",
    ),
)
@click.argument("thread", metavar="THREAD")
@pager_option
@common_options
def show(settings: Settings, thread: str, pager: bool) -> int:
    """Say where everything of the session THREAD is: one ID, the same key in every system.

    Its mail, its artifact file with version and commit, the mail archive beside it, the session
    of ntm or tmux, for engineering work the bead, and the roster. A session is known by its mail
    or by its file in artifacts/. Exit code 1: neither knows it; 3: the store is unavailable.
    """
    with desk(settings) as here:
        found = whereabouts(here, thread)
    if settings.as_json:
        write_json(document(found))
    else:
        write_lines(lines(found, sys.stdout), pager=pager)
    return FINE
