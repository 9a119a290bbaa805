"""`brenner mail thread`: read a thread in its order, or list all threads."""

from __future__ import annotations

import sys
from itertools import chain
from typing import TYPE_CHECKING

import click

from brenner.cli.mail.show import is_resend, message_head, message_lines
from brenner.cli.options import (
    EXIT_OK,
    MESSAGE_ID,
    Command,
    Number,
    Settings,
    common_options,
    examples,
)
from brenner.cli.output import write_json
from brenner.cli.table import (
    THREAD_COLUMN,
    DisplayRow,
    TableColumn,
    bodies_option,
    check_bodies_usage,
    format_time,
    table,
)
from brenner.cli.terminal import (
    QUIET,
    Span,
    format_hint,
    format_message,
    pager_option,
    write_exact,
    write_lines,
)
from brenner.cli.threads import find_thread
from brenner.cli.workspace import workspace_of
from brenner.mail.model import (
    Delivery,
    ThreadPage,
    ThreadSummary,
    in_list,
    message_with_deliveries_json,
)
from brenner.mail.open import describe_place
from brenner.mail.rules import unknown_thread_error
from brenner.protocol.messages import StoredMessage, iso, render_message_file
from brenner.text import escape_control, thread_argument

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from brenner.services.workspace import Workspace


_Messages = list[tuple[StoredMessage, tuple[Delivery, ...]]]


@click.command(
    "thread",
    epilog=examples(
        "brenner mail thread",
        "brenner mail thread RS-20251230-cell-fate",
        "brenner mail thread RS-20251230-cell-fate --limit 5 --full",
        "brenner mail thread -- -an-id-that-begins-with-a-hyphen",
    ),
    cls=Command,
)
@click.argument("thread_id", required=False, metavar="[THREAD]")
@click.option("--full", is_flag=True, help="Show complete bodies and exact times.")
@click.option("--raw", is_flag=True, help="Print the exact text of each message.")
@click.option("--limit", type=Number(1), metavar="N", help="Only the newest N messages.")
@click.option("--before", type=MESSAGE_ID, metavar="ID", help="Only messages before this one.")
@click.option(
    "--after",
    type=MESSAGE_ID,
    metavar="ID",
    help="Only messages after this one (--limit: the first N).",
)
@bodies_option
@pager_option
@common_options
def thread(  # noqa: PLR0913  (one parameter per option)
    settings: Settings,
    *,
    thread_id: str | None,
    full: bool,
    raw: bool,
    limit: int | None,
    before: int | None,
    after: int | None,
    bodies: bool,
    pager: bool,
) -> int:
    """Show the messages of THREAD in order. Without THREAD, list all threads.

    Bodies are cut to their first lines, and in --json to 4,000 characters, unless you add --bodies.
    --full shows them whole, --raw prints each message exactly as it was sent, under a
    line with its ID. A terminal shows control characters escaped; a pipe gets the exact bytes.
    """
    check_bodies_usage(bodies=bodies, as_json=settings.as_json)
    if raw and (full or settings.as_json):
        message = "--raw cannot be used with --full or --json."
        raise click.UsageError(message)
    if thread_id is None:
        if full or raw or limit or before or after:
            message = "These options need a THREAD."
            raise click.UsageError(message)
        return _list_threads(settings, pager=pager)
    with workspace_of(settings) as here, here.mailbox.reading():
        thread_id = find_thread(here, thread_id)
        page = here.mailbox.thread(thread_id, limit=limit, before=before, after=after)
        if not page.position:
            known = [each.thread_id for each in here.mailbox.threads()]
            raise unknown_thread_error(thread_id, known)
        messages = [(each, here.mailbox.deliveries(each.id)) for each in page.messages]
        copies = set(_resent_ids(here, page.messages))
    if settings.as_json:
        write_json(_thread_document(thread_id, page, messages, bodies=bodies))
    elif raw:
        for stored in page.messages:
            is_copy = stored.id in copies
            sys.stdout.write(message_head(stored, sys.stdout, is_exact=True, is_copy=is_copy))
            text = render_message_file(stored.message)
            # It must not run into the next message.
            write_exact(text if text.endswith("\n") else text + "\n", sys.stdout)
    else:
        more = " --full" * full + (f" --limit {limit}" if limit else "")
        head, notes = _thread_head(thread_id, page), _more_notes(thread_id, page, more)
        texts = _message_lines(messages, copies, full=full)
        write_lines(chain(head, texts, notes), pager=pager)
    return EXIT_OK


def _list_threads(settings: Settings, *, pager: bool) -> int:
    with workspace_of(settings) as here:
        threads = here.mailbox.threads()
    if settings.as_json:
        write_json(threads_document(threads))
    else:
        write_lines(_list_lines(threads, here), pager=pager)
    return EXIT_OK


def _resent_ids(here: Workspace, messages: Sequence[StoredMessage]) -> Iterator[int]:
    """Yield the IDs of copies of an earlier message, which is usually on the same page."""
    hashes = {each.id: each.content_hash for each in messages}
    for each in messages:
        if each.reply_to in hashes:
            is_copy = hashes[each.reply_to] == each.content_hash
        else:
            is_copy = is_resend(here.mailbox, each)
        if is_copy:
            yield each.id


def _thread_document(
    thread_id: str, page: ThreadPage, messages: _Messages, *, bodies: bool
) -> dict[str, object]:
    return {
        "thread_id": thread_id,
        "position": page.position,
        "has_earlier": page.has_earlier,
        "has_later": page.has_later,
        "messages": [
            in_list(message_with_deliveries_json(*each), bodies=bodies) for each in messages
        ],
    }


def _thread_head(thread_id: str, page: ThreadPage) -> Iterator[str]:
    shown = len(page.messages)
    count = f"{page.position} message{'s' * (page.position != 1)}"
    part = "" if shown == page.position else f", {shown} shown"
    yield format_message(f"{escape_control(thread_id)}: {count}{part}", sys.stdout)


def _message_lines(messages: _Messages, copies: set[int], *, full: bool) -> Iterator[str]:
    for stored, deliveries in messages:
        yield "\n"
        is_copy = stored.id in copies
        yield from message_lines(stored, deliveries, sys.stdout, is_whole=full, is_copy=is_copy)


def _more_notes(thread_id: str, page: ThreadPage, options: str) -> Iterator[str]:
    """Yield how to see the rest."""
    messages, thread = page.messages, thread_argument(thread_id)
    if messages and (page.has_earlier or page.has_later):
        yield "\n"
    if page.has_earlier and messages:
        command = f"brenner mail thread --before {messages[0].id}{options} {thread}"
        yield f"Earlier messages: `{command}`\n"
    if page.has_later and messages:
        command = f"brenner mail thread --after {messages[-1].id}{options} {thread}"
        yield f"Later messages: `{command}`\n"


# The list of threads, the one with the newest message first


_COLUMNS = (
    THREAD_COLUMN,
    TableColumn("Messages", is_right=True),
    TableColumn("First"),
    TableColumn("Last"),
)


def threads_document(threads: Sequence[ThreadSummary]) -> dict[str, object]:
    """Return the stable JSON form. `position` is the number of messages in a thread."""
    return {
        "threads": [
            {
                "thread_id": each.thread_id,
                "position": each.position,
                "first_at": iso(each.first_at),
                "last_at": iso(each.last_at),
            }
            for each in threads
        ]
    }


def _list_lines(threads: Sequence[ThreadSummary], here: Workspace) -> Iterator[str]:
    """Yield a row for each thread. Without threads say how the actor can start one."""
    if not threads:
        text = f"No threads yet in {describe_place(here.project)}. To start one:"
        yield format_message(text, sys.stdout)
        new = f"`brenner new KICKOFF --as {escape_control(here.actor)} --to NAME > message.md`"
        yield format_hint(f"{new}, fill it in, then `brenner mail send message.md`", sys.stdout)
        return
    yield from table(_COLUMNS, [_row(each) for each in threads], sys.stdout)


def _row(thread: ThreadSummary) -> DisplayRow:
    out = sys.stdout
    return DisplayRow(
        (
            [Span(thread.thread_id)],
            [Span(str(thread.position))],
            [Span(format_time(thread.first_at, out), QUIET)],
            [Span(format_time(thread.last_at, out), QUIET)],
        )
    )
