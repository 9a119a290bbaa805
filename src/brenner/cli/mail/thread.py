"""`brenner mail thread`: a thread in its order, to be read."""

import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import click

from brenner.cli.mail.show import head, is_sent_again, message_lines
from brenner.cli.options import MESSAGE_ID, Number, Settings, common_options, examples
from brenner.cli.output import write_json
from brenner.cli.table import THREAD, Column, Row, table, when
from brenner.cli.terminal import (
    QUIET,
    Span,
    advice,
    pager_option,
    sentence,
    thread_argument,
    write_exact,
    write_lines,
)
from brenner.cli.workspace import FINE, workspace_of
from brenner.mail.model import Delivery, StoredMessage, ThreadPage, ThreadSummary, delivered_json
from brenner.mail.rules import unknown_thread
from brenner.protocol.messages import iso, render_message_file
from brenner.services.workspace import Workspace
from brenner.text import escape_control


class _Read(NamedTuple):
    """A part of a thread, with what became of each message."""

    thread_id: str
    page: ThreadPage
    messages: tuple[tuple[StoredMessage, tuple[Delivery, ...]], ...]
    copies: frozenset[int]  # ids of those that repeat what they answer


@click.command(
    "thread",
    epilog=examples(
        "brenner mail thread",
        "brenner mail thread RS-20251230-cell-fate",
        "brenner mail thread RS-20251230-cell-fate --limit 5 --full",
        "brenner mail thread -- -an-id-that-begins-with-a-hyphen",
    ),
)
@click.argument("thread_id", required=False, metavar="[THREAD]")
@click.option("--full", is_flag=True, help="Show bodies whole and times exactly.")
@click.option("--raw", is_flag=True, help="Print the exact text of each message.")
@click.option("--limit", type=Number(1), metavar="N", help="Only the newest N messages.")
@click.option(
    "--before", type=MESSAGE_ID, metavar="ID", help="Only what stands before this message."
)
@click.option(
    "--after",
    type=MESSAGE_ID,
    metavar="ID",
    help="Only what stands after it; --limit takes the first.",
)
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
    pager: bool,
) -> int:
    """Read a THREAD in its order: the time in the store, then the id. Without one, list them.

    Bodies are folded to their first lines. With --raw each message is printed exactly as it was
    sent, under a line with its id; in a terminal control characters are spelled out all the same,
    so only a pipe or a file gets the exact bytes. Exit code 1: nobody has written to the thread.
    """
    if raw and (full or settings.as_json):
        message = "--raw goes with neither --full nor --json."
        raise click.UsageError(message)
    if thread_id is None:
        if full or raw or limit or before or after:
            message = "Give a THREAD; without one, all threads are listed."
            raise click.UsageError(message)
        return _list(settings, pager=pager)
    with workspace_of(settings) as here:
        read = _read(here, thread_id, limit, before, after)
    if settings.as_json:
        write_json(_document(read))
    elif raw:
        for stored, _ in read.messages:
            is_copy = stored.id in read.copies
            sys.stdout.write(head(stored, sys.stdout, is_exact=True, is_copy=is_copy))
            write_exact(_ended(render_message_file(stored.message)), sys.stdout)
    else:
        write_lines(_lines(read, limit, full=full), pager=pager)
    return FINE


def _list(settings: Settings, *, pager: bool) -> int:

    with workspace_of(settings) as here:
        threads = here.mailbox.threads()
    if settings.as_json:
        write_json(document(threads))
    else:
        write_lines(lines(threads, here.actor), pager=pager)
    return FINE


def _read(
    here: Workspace, thread_id: str, limit: int | None, before: int | None, after: int | None
) -> _Read:
    page = here.mailbox.thread(thread_id, limit=limit, before=before, after=after)
    if not page.position:
        raise unknown_thread(thread_id, [each.thread_id for each in here.mailbox.threads()])
    fates = tuple((each, here.mailbox.deliveries(each.id)) for each in page.messages)
    return _Read(thread_id, page, fates, frozenset(_copies(here, page.messages)))


def _copies(here: Workspace, messages: Sequence[StoredMessage]) -> Iterator[int]:
    """Which were sent once more; most often what they repeat is at hand."""
    hashes = {each.id: each.content_hash for each in messages}
    for each in messages:
        if each.reply_to in hashes:
            is_copy = hashes[each.reply_to] == each.content_hash
        else:
            is_copy = is_sent_again(here.mailbox, each)
        if is_copy:
            yield each.id


def _document(read: _Read) -> dict[str, object]:
    page = read.page
    return {
        "thread_id": read.thread_id,
        "position": page.position,
        "has_earlier": page.has_earlier,
        "has_later": page.has_later,
        "messages": [delivered_json(stored, fate) for stored, fate in read.messages],
    }


def _lines(read: _Read, limit: int | None, *, full: bool) -> Iterator[str]:
    """Which thread, how much of it is shown, the messages, how to see the rest."""
    page, shown = read.page, len(read.messages)
    count = f"{page.position} message{'s' * (page.position != 1)}"
    part = "" if shown == page.position else f", {shown} of them here"
    yield sentence(f"{escape_control(read.thread_id)}: {count}{part}", sys.stdout)
    for stored, fate in read.messages:
        yield "\n"
        is_repeated = stored.id in read.copies
        yield from message_lines(stored, fate, sys.stdout, is_whole=full, is_copy=is_repeated)
    notes = []
    more = " --full" * full + (f" --limit {limit}" if limit else "")
    thread = thread_argument(read.thread_id)
    if page.has_earlier and read.messages:
        first = read.messages[0][0].id
        notes.append(f"Earlier ones: `brenner mail thread --before {first}{more} {thread}`.\n")
    if page.has_later and read.messages:
        last = read.messages[-1][0].id
        notes.append(f"Later ones: `brenner mail thread --after {last}{more} {thread}`.\n")
    yield from ["\n", *notes] if notes else []


def _ended(text: str) -> str:
    """A message that does not end its last line must not run into the next one."""
    return text if text.endswith("\n") else text + "\n"


# The threads of a mailbox as a list, the one with the newest message first.


_COLUMNS = (THREAD, Column("Messages", is_right=True), Column("First"), Column("Last"))


def document(threads: Sequence[ThreadSummary]) -> dict[str, object]:
    """The stable form; `position` is how many messages a thread has."""
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


def lines(threads: Sequence[ThreadSummary], sender: str) -> Iterator[str]:
    """A row for each, or how that sender begins one."""
    if not threads:
        begins = "Each begins with the first message that names it:"
        yield sentence(f"There are no threads yet. {begins}", sys.stdout)
        new = f"`brenner new KICKOFF --as {escape_control(sender)} --to NAME > message.md`"
        yield advice(f"{new}; fill it in; `brenner mail send message.md`", sys.stdout)
        return
    yield from table(_COLUMNS, [_row(each) for each in threads], sys.stdout)


def _row(thread: ThreadSummary) -> Row:
    out = sys.stdout
    return Row(
        (
            [Span(thread.thread_id)],
            [Span(str(thread.position))],
            [Span(when(thread.first_at, out), QUIET)],
            [Span(when(thread.last_at, out), QUIET)],
        )
    )
