"""`brenner mail inbox`: the messages sent to an agent, newest first."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from brenner.cli.options import EXIT_OK, Command, Settings, common_options, examples
from brenner.cli.output import write_json
from brenner.cli.table import (
    MESSAGE_COLUMNS,
    OWED_MARK,
    UNREAD_MARK,
    before_option,
    bodies_option,
    check_bodies_usage,
    legend,
    limit_option,
    message_row,
    table,
    trust_mark,
)
from brenner.cli.terminal import format_hint, format_message, pager_option, write_lines
from brenner.cli.workspace import workspace_of
from brenner.mail.model import (
    InboxFilter,
    InboxMessage,
    InboxPage,
    in_list,
    inbox_message_json,
    next_before,
)
from brenner.mail.open import describe_place, store_of
from brenner.protocol.grammar import MESSAGE_TYPES
from brenner.text import as_option, escape_control

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from brenner.config import Project
    from brenner.services.workspace import Workspace

_NOTICE_AFTER = 1.0  # seconds; a shorter wait is not announced
_MAX_WAIT = 7 * 24 * 3600
_STORE_POLL_INTERVAL = 0.2


@click.command(
    "inbox",
    epilog=examples(
        "brenner mail inbox --unread",
        "brenner mail inbox --as BlueLake --owed",
        "brenner mail inbox --type CRITIQUE --type BLOCKED --wait 60",
    ),
    cls=Command,
    context_settings={"allow_extra_args": True},  # to say what a name is meant to be
)
@click.option("--unread", is_flag=True, help="Only unread messages.")
@click.option("--owed", is_flag=True, help="Only messages that you owe an ACK for.")
@click.option(
    "--type",
    "types",
    multiple=True,
    metavar="TYPE",
    type=click.Choice(MESSAGE_TYPES, case_sensitive=False),
    help="Only this type, such as CRITIQUE; repeatable.",
)
@click.option("--thread", "thread_id", metavar="ID", help="Only this thread.")
@limit_option
@before_option
@bodies_option
@click.option(
    "--wait",
    type=click.FloatRange(0, _MAX_WAIT),
    metavar="SECONDS",
    help="If there is no message, wait this long for one.",
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
    bodies: bool,
    wait: float | None,
    pager: bool,
) -> int:
    """List the messages that you received, newest first.

    The first column marks messages that are unread, that you owe an ACK (acknowledgement) for, or
    whose sender is not verified. Listing does not mark messages as read. A terminal cuts long
    subjects; a pipe gets them complete. --json cuts long bodies, unless you add --bodies.
    """
    check_bodies_usage(bodies=bodies, as_json=settings.as_json)
    wanted = InboxFilter(unread, owed, types, thread_id)

    def read(here: Workspace) -> InboxPage:
        nonlocal wanted
        if thread_id is not None and wanted.thread_id == thread_id:  # not again while it waits
            from brenner.cli.threads import find_thread  # only with this option

            wanted = wanted._replace(thread_id=find_thread(here, thread_id))
        return here.mailbox.inbox(here.actor, wanted, limit=limit, before=before)

    _check_arguments(click.get_current_context().args)
    page, here = _fetch(settings, read, wait or 0.0)
    if settings.as_json:
        write_json(_document(page, here.actor, bodies=bodies))
    else:
        write_lines(_lines(page, here, _filter_words(wanted, before)), pager=pager)
    return EXIT_OK


def _check_arguments(given: list[str]) -> None:
    """Refuse a name without `--as`, and say how to read that inbox."""
    if given:
        name = escape_control(given[0])
        command = f"`brenner mail inbox --as {name}`"
        message = f"Unexpected argument `{name}`. To read the inbox of that agent: {command}."
        raise click.UsageError(message, click.get_current_context())


def _filter_words(wanted: InboxFilter, before: int | None) -> list[str]:
    words = (
        (wanted.unread, "unread only"),
        (wanted.owed, "only what you must acknowledge"),
        (wanted.types, f"only {' or '.join(wanted.types)}"),
        (wanted.thread_id is not None, f"only {escape_control(wanted.thread_id or '')}"),
        (before is not None, f"older than message {before}"),
    )
    return [word for is_asked, word in words if is_asked]


def _fetch(
    settings: Settings, read: Callable[[Workspace], InboxPage], seconds: float
) -> tuple[InboxPage, Workspace]:
    """Return the matching page. If it is empty, wait up to `seconds` for mail."""
    end = time.monotonic() + seconds
    is_announced = False
    while True:
        with workspace_of(settings) as here:
            if not here.is_new_operator:
                return _wait_for_mail(here, read, end), here
        if not is_announced:
            _print_waiting(end)
            is_announced = True
        if not _wait_for_store(here.project, end):
            return InboxPage((), has_more=False), here


def _wait_for_mail(
    here: Workspace, read: Callable[[Workspace], InboxPage], end: float
) -> InboxPage:
    position = here.mailbox.position()
    page = read(here)
    if not page.messages:
        _print_waiting(end)
    while not page.messages and (left := end - time.monotonic()) > 0:
        position = here.mailbox.wait(position, left)
        page = read(here)
    return page


def _wait_for_store(project: Project, end: float) -> bool:
    """Return whether the project's store exists before the wait ends.

    Reading does not create one.
    """
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, _STORE_POLL_INTERVAL))
        if store_of(project).is_there():
            return True
    return False


def _print_waiting(end: float) -> None:
    """Print a notice on a terminal that the command waits."""
    left = end - time.monotonic()
    if left > _NOTICE_AFTER and sys.stderr.isatty():
        sys.stderr.write(f"No mail yet. Waiting up to {left:.0f} s …\n")


def _document(page: InboxPage, name: str, *, bodies: bool) -> dict[str, object]:
    stored = [received.stored for received in page.messages]
    return {
        "agent": name,
        "messages": [in_list(inbox_message_json(each), bodies=bodies) for each in page.messages],
        "has_more": page.has_more,
        "next_before": next_before(stored, has_more=page.has_more),
    }


def _lines(page: InboxPage, here: Workspace, filters: list[str]) -> Iterator[str]:
    """Yield a headline, the table, the legend of its marks, and how to continue."""
    name, operator = here.actor, here.project.operator
    if not page.messages:
        yield from _empty_lines(name, here.project, is_narrowed=bool(filters))
        return
    yield format_message(_headline(page, name, filters), sys.stdout) + "\n"
    marks = [_marks(received) for received in page.messages]
    rows = [message_row(each.stored, mark) for each, mark in zip(page.messages, marks, strict=True)]
    yield from table(MESSAGE_COLUMNS, rows, sys.stdout)
    notes = legend(marks, as_option(name, operator))
    if page.has_more:
        older = f"For older messages add `--before {page.messages[-1].stored.id}`."
        notes.append(format_message(older, sys.stdout))
    yield from ["\n", *notes] if notes else []


def _marks(received: InboxMessage) -> str:
    marks = UNREAD_MARK * (received.is_read is False) + OWED_MARK * received.owes_ack
    return marks + trust_mark(received.stored)


def _headline(page: InboxPage, name: str, filters: list[str]) -> str:
    """Return the owner, the filters, and what is left to do.

    Copies of a message count as one ACK.
    """
    messages = page.messages
    count = len(messages)
    shown = " (there are older ones)" if page.has_more else ""
    unread = sum(received.is_read is False for received in messages)
    # The hash covers the thread ID, so copies in different threads count separately.
    owed = len({received.stored.content_hash for received in messages if received.owes_ack})
    parts = [
        f"{count} message{'s' * (count != 1)}{shown}",
        f"{unread} unread" if unread else "",
        f"{owed} to acknowledge" if owed else "",
    ]
    which = "".join(f", {words}" for words in filters)
    counts = ", ".join(part for part in parts if part)
    return f"Inbox of {escape_control(name)}{which}: {counts}."


def _empty_lines(actor: str, project: Project, *, is_narrowed: bool) -> Iterator[str]:
    name, operator = escape_control(actor), project.operator
    if is_narrowed:
        whole = f"The whole inbox: `brenner mail inbox{as_option(actor, operator)}`"
        text = f"No message in the inbox of {name} matches the options. {whole}"
        yield format_message(text, sys.stdout)
        return
    text = f"No mail for {name} yet in {describe_place(project)}. To send some:"
    yield format_message(text, sys.stdout)
    sender = "SENDER" if actor == operator else escape_control(operator)
    options = f"--as {sender} --to {name} --thread COORD-daily-sync"
    new = f"`brenner new INFO {options} > message.md`"
    yield format_hint(f"{new}, fill it in, then `brenner mail send message.md`", sys.stdout)
