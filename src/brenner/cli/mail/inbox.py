"""`brenner mail inbox`: what was sent to somebody, newest first."""

import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

import click

from brenner.cli.help_text import examples
from brenner.cli.mail.desk import FINE, desk
from brenner.cli.mail.json_form import next_before, received_json
from brenner.cli.mail.rows import COLUMNS, OWED, UNREAD, before_option, legend, limit_option, row
from brenner.cli.mail.table import table
from brenner.cli.options import Settings, common_options
from brenner.cli.output import write_json
from brenner.cli.paging import pager_option, write_lines
from brenner.cli.sentences import advice, sentence
from brenner.diagnostics.visible import visible
from brenner.grammar import MESSAGE_TYPES
from brenner.mail.model import InboxFilter, InboxPage, Received
from brenner.project import Project, store_path
from brenner.workflows.desk import Desk

_TOLD_AFTER = 1.0  # seconds of waiting that nobody needs to be told of
_LONGEST_WAIT = 7 * 24 * 3600
_LOOKED_FOR_STORE = 0.2


@click.command(
    "inbox",
    epilog=examples(
        "brenner mail inbox --unread",
        "brenner mail inbox --as BlueLake --owed",
        "brenner mail inbox --type CRITIQUE --type BLOCKED --wait 60",
    ),
)
@click.option("--unread", is_flag=True, help="Only what is not marked as read.")
@click.option("--owed", is_flag=True, help="Only what you owe an ACK for.")
@click.option(
    "--type",
    "types",
    multiple=True,
    metavar="TYPE",
    type=click.Choice(MESSAGE_TYPES, case_sensitive=False),
    help="Only messages of this type, such as CRITIQUE; repeatable.",
)
@click.option("--thread", "thread_id", metavar="ID", help="Only this thread.")
@limit_option
@before_option
@click.option(
    "--wait",
    type=click.FloatRange(0, _LONGEST_WAIT),
    metavar="SECONDS",
    help="If there is nothing, wait so long for mail.",
)
@pager_option
@common_options
def inbox(  # noqa: PLR0913  (one parameter per option)
    settings: Settings,
    *,
    unread: bool,
    owed: bool,
    types: tuple[str, ...],
    thread_id: str | None,
    limit: int,
    before: int | None,
    wait: float | None,
    pager: bool,
) -> int:
    """List what was sent to you, newest first.

    The first column marks what is unread and what you owe an ACK (an acknowledgement) for.
    Nothing is marked as read by looking. In a terminal subjects are cut to its width; into a pipe
    everything goes whole. Exit code 0, also where there is nothing.
    """
    ask = _Ask(InboxFilter(unread, owed, types, thread_id), limit, before)
    page, actor = _page(settings, ask, wait or 0.0)
    if settings.as_json:
        write_json(_document(page, actor))
    else:
        write_lines(_lines(page, actor, ask), pager=pager)
    return FINE


class _Ask(NamedTuple):
    """What is asked of an inbox."""

    wanted: InboxFilter
    limit: int
    before: int | None

    @property
    def is_narrowed(self) -> bool:
        """Whether it is asked for less than all of it."""
        return self.wanted != InboxFilter() or self.before is not None

    def page(self, here: Desk) -> InboxPage:
        """The answer as things stand."""
        return here.mailbox.inbox(here.actor, self.wanted, limit=self.limit, before=self.before)


def _page(settings: Settings, ask: _Ask, seconds: float) -> tuple[InboxPage, str]:
    """What fits and whose it is; where nothing does, what has come by the end of the wait."""
    end = time.monotonic() + seconds
    is_told = False
    while True:
        with desk(settings) as here:
            if not here.is_new_operator:
                return _awaited(here, ask, end), here.actor
        if not is_told:
            _tell(end)
            is_told = True
        if not _store_comes(here.project, end):
            return InboxPage((), has_more=False), here.actor


def _awaited(here: Desk, ask: _Ask, end: float) -> InboxPage:
    mailbox = here.mailbox
    position = mailbox.position()
    page = ask.page(here)
    if not page.messages:
        _tell(end)
    while not page.messages and (left := end - time.monotonic()) > 0:
        position = mailbox.wait(position, left)
        page = ask.page(here)
    return page


def _store_comes(project: Project, end: float) -> bool:
    """Whether the project's store is there by the end of the wait; reading does not make one."""
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, _LOOKED_FOR_STORE))
        if store_path(project).exists():
            return True
    return False


def _tell(end: float) -> None:
    """Say that nothing hangs, to somebody who looks."""
    left = end - time.monotonic()
    if left > _TOLD_AFTER and sys.stderr.isatty():
        sys.stderr.write(f"Nothing yet; waiting up to {left:.0f} s …\n")


def _document(page: InboxPage, name: str) -> dict[str, object]:
    stored = [received.stored for received in page.messages]
    return {
        "agent": name,
        "messages": [received_json(received) for received in page.messages],
        "has_more": page.has_more,
        "next_before": next_before(stored, has_more=page.has_more),
    }


def _lines(page: InboxPage, name: str, ask: _Ask) -> Iterator[str]:
    """How it stands in one line, the table, what its marks mean, how to go on."""
    if not page.messages:
        yield from _nothing(visible(name), is_narrowed=ask.is_narrowed)
        return
    yield sentence(_headline(page, visible(name)), sys.stdout) + "\n"
    marks = [_marks(received) for received in page.messages]
    rows = [row(each.stored, mark) for each, mark in zip(page.messages, marks, strict=True)]
    yield from table(COLUMNS, rows, sys.stdout)
    notes = legend(marks)
    if page.has_more:
        older = f"Older ones: the same with `--before {page.messages[-1].stored.id}`."
        notes.append(sentence(older, sys.stdout))
    yield from ["\n", *notes] if notes else []


def _marks(received: Received) -> str:
    return UNREAD * (not received.is_read) + OWED * received.owes_ack


def _headline(page: InboxPage, name: str) -> str:
    count = len(page.messages)
    which = f"{count} message{'s' * (count != 1)}{' here' * page.has_more}"
    unread = sum(not received.is_read for received in page.messages)
    owed = sum(received.owes_ack for received in page.messages)
    parts = [which, f"{unread} unread" if unread else "", f"{owed} to acknowledge" if owed else ""]
    return f"Inbox of {name}: {', '.join(part for part in parts if part)}."


def _nothing(name: str, *, is_narrowed: bool) -> Iterator[str]:
    if is_narrowed:
        all_of_it = "`brenner mail inbox` shows all of it."
        yield sentence(f"Nothing in the inbox of {name} fits. {all_of_it}", sys.stdout)
        return
    appears = f"What others send to {name} will appear here, newest first:"
    yield sentence(f"No mail for {name} yet. {appears}", sys.stdout)
    how = f"`brenner new INFO --to {name} > message.md`, then `brenner mail send message.md`"
    yield advice(how, sys.stdout)
