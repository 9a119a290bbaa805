"""`brenner session status`: where a session stands, and whose turn it is."""

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from brenner.cli.help_text import examples
from brenner.cli.mail.desk import FINE, desk
from brenner.cli.options import Settings, common_options
from brenner.cli.output import Reporting, write_json
from brenner.cli.paging import pager_option, write_lines
from brenner.services.workspace import Desk
from brenner.text import visible

if TYPE_CHECKING:
    from brenner.cli.session.status_view import Screen
    from brenner.session.status_text import Reader

_MOST_LISTED = 10


@click.command(
    "status",
    cls=Reporting,
    always={"thread_id": None, "phase": None, "bead": None, "unresolved": [], "unverified": []},
    epilog=examples(
        "brenner session status",
        "brenner session status RS-20251230-cell-fate",
        "brenner session status RS-20251230-cell-fate --line",
        "brenner session status RS-20251230-cell-fate --json",
        "brenner session status -- -an-id-that-begins-with-a-hyphen",
    ),
)
@click.argument("thread", required=False, metavar="[THREAD]")
@click.option("--line", "is_line", is_flag=True, help="One line, for a prompt or a status bar.")
@click.option("--full", "is_full", is_flag=True, help="List everything, however long.")
@pager_option
@common_options
def status(
    settings: Settings, *, thread: str | None, is_line: bool, is_full: bool, pager: bool
) -> int:
    """Say where the session THREAD stands: what needs you, whose turn it is, what to do next.

    THREAD can be left out where only one session is not complete. In a terminal long lists are
    cut, and say so. --line is one line without colour, of at most 80 columns. Exit code 0,
    whatever is open; 1: nobody has written to the thread; 2: THREAD is left out, and there is not
    just one session; 3: the store is unavailable.
    """
    if is_line and (is_full or settings.as_json):
        message = "--line goes with neither --full nor --json."
        raise click.UsageError(message)
    with desk(settings) as here:
        thread_id = _only_session(here) if thread is None else thread
        if is_line:
            sys.stdout.write(f"{_line(here, thread_id)}\n")
            return FINE
        from brenner.cli.session.status_view import document, lines  # a line does without

        screen = _looked_up(here, thread_id)
    reader = _reader(here)
    if settings.as_json:
        write_json(document(screen, reader))
    else:
        write_lines(lines(screen, reader, sys.stdout, is_full=is_full), pager=pager)
    return FINE


def _line(here: Desk, thread_id: str) -> str:
    from brenner.cli.session.status_line import line, short_id
    from brenner.services.sessions import one_overview

    overview = one_overview(here, thread_id)
    if overview is None:
        _check_known(here, thread_id)
        return f"{short_id(thread_id)} conversation"
    return line(overview, datetime.now(UTC), here.project.ack_deadline)


def _check_known(here: Desk, thread_id: str) -> None:
    """Refuse what is no thread's ID, and a thread that nobody has written to."""
    from brenner.mail.rules import unknown_thread
    from brenner.services.sessions import with_its_file
    from brenner.services.version_store import check_usable

    check_usable(thread_id)
    if not here.mailbox.thread(thread_id, limit=1).position:
        known = [each.thread_id for each in here.mailbox.threads()]
        raise with_its_file(here, thread_id, unknown_thread(thread_id, known))


def _looked_up(here: Desk, thread_id: str) -> "Screen":
    from brenner.cli.session.status_view import Screen
    from brenner.services.identity import unverified_in
    from brenner.services.references import unresolved
    from brenner.services.sessions import load_status
    from brenner.services.spawn_agents import bead_of
    from brenner.session.status import told_of_refusals

    found = load_status(here, thread_id)
    nowhere = unresolved(here, found.chain.state.artifact)
    bead = bead_of(thread_id, here.project.folder)
    unverified = unverified_in(here.mailbox, found.chain)
    return Screen(found.status, nowhere, bead, told_of_refusals(found.messages), unverified)


def _reader(here: Desk) -> "Reader":
    from brenner.session.status_text import Reader

    return Reader(here.actor, here.project.operator, datetime.now(UTC), here.project.ack_deadline)


def _only_session(here: Desk) -> str:
    """The session that is not complete, if there is just one; the only one that there is."""
    from brenner.services.sessions import overviews
    from brenner.session.model import Phase

    sessions = {key: each.phase for key, each in overviews(here).items() if each.phase}
    going_on = [key for key, phase in sessions.items() if phase is not Phase.COMPLETE]
    candidates = going_on or list(sessions)
    if len(candidates) == 1:
        return candidates[0]
    if not candidates:
        message = "There is no session yet: `brenner session start` begins one."
        raise click.UsageError(message)
    names = [visible(each) for each in candidates[:_MOST_LISTED]]
    more = f", and {len(candidates) - _MOST_LISTED} more" * (len(candidates) > _MOST_LISTED)
    message = f"Which THREAD? There are {len(candidates)}: {', '.join(names)}{more}."
    raise click.UsageError(message)
