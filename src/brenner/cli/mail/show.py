"""`brenner mail show`: one message in full, and messages as text for other commands."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TextIO

import click

from brenner.cli.options import EXIT_OK, MESSAGE_ID, Command, Settings, common_options, examples
from brenner.cli.output import terminal_width, write_json
from brenner.cli.table import format_time, ids_text, importance_spans, trust_spans
from brenner.cli.terminal import (
    ATTENTION,
    QUIET,
    STRONG,
    Span,
    agent_span,
    fold,
    pager_option,
    subject_spans,
    write_exact,
    write_lines,
)
from brenner.cli.workspace import workspace_of
from brenner.diagnostics.model import RequestError
from brenner.limits import MOST_PREVIEW_CHARACTERS
from brenner.mail.model import Delivery, beginning, message_with_deliveries_json
from brenner.protocol.message_types import wants_ack
from brenner.protocol.messages import StoredMessage, exact_time, relative_time, render_message_file
from brenner.text import escape_control, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from brenner.mail.mailbox import Mailbox

# A message as text: sender, recipients, ACKs, body


INDENT = "    "
_PREVIEW_ROWS = 6
_TAB_SIZE = 4
_REPLY_MARK = "↳"


def is_resend(mailbox: Mailbox, stored: StoredMessage) -> bool:
    """Return whether the message repeats the message that it names as its reply target."""
    if stored.reply_to is None:
        return False
    try:
        return mailbox.message(stored.reply_to).content_hash == stored.content_hash
    except RequestError:  # the message does not exist
        return False


def message_lines(
    stored: StoredMessage,
    deliveries: Sequence[Delivery],
    out: TextIO,
    *,
    is_whole: bool,
    is_copy: bool,
) -> Iterator[str]:
    """Yield the head, the ACKs, and the whole body or its first lines."""
    yield message_head(stored, out, is_exact=is_whole, is_copy=is_copy)
    yield fold([Span(INDENT)], subject_spans(stored.message.subject), INDENT, out)
    acks = list(ack_spans(deliveries))
    if acks:
        yield fold([Span(f"{INDENT}ACK: ", QUIET)], acks, INDENT, out)
    lines = _split_body(stored.message.body)
    if lines:
        yield "\n"
        yield from (
            _indented_lines(lines, out) if is_whole else _preview_lines(lines, stored.id, out)
        )


def message_head(stored: StoredMessage, out: TextIO, *, is_exact: bool, is_copy: bool) -> str:
    """Return a head such as `12  BlueLake → Operator  3 h ago  ↳ 11  urgent  unverified`."""
    message = stored.message
    spans = [agent_span(message.sender), Span(" → "), *name_spans(message.recipients)]
    time = full_time(stored.at) if is_exact else format_time(stored.at, out)
    spans.append(Span(f"  {time}", QUIET))
    if stored.reply_to is not None:
        link = (
            f"copy of message {stored.reply_to}" if is_copy else f"{_REPLY_MARK} {stored.reply_to}"
        )
        spans += [Span("  "), Span(link, is_unbreakable=True)]
    if not stored.is_local:
        spans.append(Span("  imported", QUIET))
    for span in (*importance_spans(stored), *trust_spans(stored)):
        spans += [Span("  "), span]
    number = str(stored.id)
    gap = " " * max(2, len(INDENT) - len(number))
    return fold([Span(number, STRONG), Span(gap)], spans, INDENT, out)


def name_spans(agents: Iterable[str]) -> Iterator[Span]:
    """Return the names separated by commas, each in its colour."""
    for number, name in enumerate(agents):
        if number:
            yield Span(", ")
        yield agent_span(name)


def full_time(at: datetime) -> str:
    """Return the exact time; in a terminal also the relative time."""
    relative = relative_time(at, datetime.now(UTC))
    is_worth_it = sys.stdout.isatty() and not exact_time(at).startswith(relative)
    return f"{exact_time(at)} ({relative})" if is_worth_it else exact_time(at)


def ack_spans(deliveries: Sequence[Delivery]) -> Iterator[Span]:
    """Return spans such as `acknowledged by RedCreek; owed by BlueLake`, or nothing."""
    acknowledged = [each.recipient for each in deliveries if each.acknowledged_by is not None]
    owing = [each.recipient for each in deliveries if each.owes_ack]
    if acknowledged:
        yield Span("acknowledged by ", QUIET)
        yield from name_spans(acknowledged)
    if acknowledged and owing:
        yield Span("; ", QUIET)
    if owing:
        yield Span("owed by ", ATTENTION)
        yield from name_spans(owing)


def labelled_lines(fields: Sequence[tuple[str, Sequence[Span]]], out: TextIO) -> Iterator[str]:
    """Yield labelled fields, with their values aligned in one column."""
    column = max(len(label) for label, _ in fields) + 2
    for label, spans in fields:
        start = [Span(f"  {label:<{column}}", QUIET)]
        yield fold(start, spans, " " * (column + 2), out)


def body_lines(body: str, out: TextIO) -> Iterator[str]:
    """Yield a whole body, wrapped to the terminal."""
    yield from _indented_lines(_split_body(body), out)


def _indented_lines(lines: Sequence[str], out: TextIO) -> Iterator[str]:
    """Yield lines of a body, indented, wrapped and escaped."""
    for line in lines:
        yield fold([Span(INDENT)], [Span(line)], INDENT, out)


def _split_body(body: str) -> list[str]:
    """Return the lines without carriage returns and without blank lines around them."""
    lines = [line.removesuffix("\r").expandtabs(_TAB_SIZE) for line in body.split("\n")]
    while lines and not lines[-1].strip():
        lines.pop()
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    return lines[first:]


def _preview_lines(lines: Sequence[str], message_id: int, out: TextIO) -> Iterator[str]:
    """Yield the first rows, up to a number of characters, and how to see the rest.

    One extra row takes no more room than a hint.
    """
    most = min(MOST_PREVIEW_CHARACTERS, _PREVIEW_ROWS * (terminal_width(out) or sys.maxsize))
    rows: list[str] = []
    whole, room, is_cut = 0, MOST_PREVIEW_CHARACTERS, False
    for number, line in enumerate(lines[: _PREVIEW_ROWS + 1], 1):
        shown, is_cut = beginning(line, min(most, room))
        room -= len(shown)
        rows += fold([Span(INDENT)], [Span(shown)], INDENT, out).splitlines(keepends=True)
        if is_cut:
            break
        if len(rows) <= _PREVIEW_ROWS:
            whole = number
        elif len(rows) == _PREVIEW_ROWS + 1 and number == len(lines):
            yield from rows
            return
    yield from rows[:_PREVIEW_ROWS]
    left = len(lines) - whole
    if not left:
        return
    what = plural(left, "more line")
    if is_cut:
        what = f"cut, {sum(map(len, lines)):,} characters in all"
    note = f"… {what}: `brenner mail show {message_id}`"
    yield fold([Span(INDENT)], [Span(note, QUIET)], INDENT, out)


_REQUIRED_LABELS = ("From", "To", "Sent", "Subject")


@click.command(
    "show",
    epilog=examples("brenner mail show 12", "brenner mail show 12 --raw > message.md"),
    cls=Command,
)
@click.argument("message_id", type=MESSAGE_ID, metavar="ID")
@click.option("--raw", is_flag=True, help="Print the message file exactly as it was sent.")
@pager_option
@common_options
def show(settings: Settings, message_id: int, raw: bool, pager: bool) -> int:
    """Show one message completely.

    It stays unread; `brenner mail mark ID` marks it as read. --raw prints the message file. A
    terminal shows control characters escaped; a pipe gets the exact bytes.
    """
    if raw and settings.as_json:
        message = "--raw and --json cannot be used together: the JSON contains the exact text."
        raise click.UsageError(message)
    with workspace_of(settings) as here, here.mailbox.reading():
        stored = here.mailbox.message(message_id)
        deliveries = here.mailbox.deliveries(message_id)
        is_repeated = is_resend(here.mailbox, stored)
    if settings.as_json:
        write_json(message_with_deliveries_json(stored, deliveries))
    elif raw:
        write_exact(render_message_file(stored.message), sys.stdout)
    else:
        write_lines(_lines(stored, deliveries, is_repeated=is_repeated), pager=pager)
    return EXIT_OK


def _lines(
    stored: StoredMessage, deliveries: Sequence[Delivery], *, is_repeated: bool
) -> Iterator[str]:
    out, message, copies = sys.stdout, stored.message, stored.envelope.cc
    trust = [span for each in trust_spans(stored) for span in (Span("  "), each)]
    title = f"Message {stored.id} in {escape_control(message.thread_id)}"
    yield fold([], [Span(title, STRONG)], "  ", out)
    fields: list[tuple[str, list[Span]]] = [
        ("From", [agent_span(message.sender), *trust]),
        ("To", list(name_spans(name for name in message.recipients if name not in copies))),
        ("Cc", list(name_spans(copies))),
        ("Sent", [Span(full_time(stored.at))]),
        ("Subject", list(subject_spans(message.subject))),
        ("Importance", importance_spans(stored)),
    ]
    fields = [(label, spans) for label, spans in fields if spans or label in _REQUIRED_LABELS]
    if stored.reply_to is not None:
        link = "Copy of" if is_repeated else "Reply to"
        fields.append((link, [Span(f"message {stored.reply_to}")]))
    if stored.acknowledges:
        fields.append(("Settles", [Span(f"the ACK for {ids_text(stored.acknowledges)}")]))
    fate = list(ack_spans(deliveries))
    if fate or wants_ack(message):
        fields.append(("ACK", fate or [Span("required; no agent owes one")]))
    if not stored.is_local:
        origin = f"imported from message {stored.origin_id} of another store, sender unverified"
        fields.append(("Origin", [Span(origin)]))
    yield from labelled_lines(fields, out)
    yield "\n"
    yield from body_lines(message.body, out)
