"""`brenner mail show`: one message, whole."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TextIO

import click

from brenner.cli.options import MESSAGE_ID, Settings, common_options, examples
from brenner.cli.output import width_of, write_json
from brenner.cli.table import importance_pieces, trust_pieces, when
from brenner.cli.terminal import (
    ATTENTION,
    QUIET,
    STRONG,
    Span,
    agent_piece,
    fold,
    pager_option,
    subject_pieces,
    write_exact,
    write_lines,
)
from brenner.cli.workspace import FINE, workspace_of
from brenner.diagnostics.model import RequestError
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Delivery, StoredMessage, delivered_json
from brenner.protocol.message_types import wants_ack
from brenner.protocol.messages import ago, exact, render_message_file
from brenner.text import escape_control

# A message as people read it in a terminal: who, to whom, what became of it, the body.


INDENT = "    "
_FIRST_ROWS = 6
_TAB = 4
_REPLY = "↳"


def is_sent_again(mailbox: Mailbox, stored: StoredMessage) -> bool:
    """Whether it answers nothing, but is the message that it names, sent once more."""
    if stored.reply_to is None:
        return False
    try:
        return mailbox.message(stored.reply_to).content_hash == stored.content_hash
    except RequestError:  # a link that leads nowhere
        return False


def message_lines(
    stored: StoredMessage,
    deliveries: Sequence[Delivery],
    out: TextIO,
    *,
    is_whole: bool,
    is_copy: bool,
) -> Iterator[str]:
    """The head, what became of it, and the body: whole, or its first lines."""
    yield head(stored, out, is_exact=is_whole, is_copy=is_copy)
    yield fold([Span(INDENT)], subject_pieces(stored.message.subject), INDENT, out)
    fate = list(fate_pieces(deliveries))
    if fate:
        yield fold([Span(f"{INDENT}ACK: ", QUIET)], fate, INDENT, out)
    lines = _lines_of(stored.message.body)
    if lines:
        yield "\n"
        yield from _whole(lines, out) if is_whole else _first_lines(lines, stored.id, out)


def head(stored: StoredMessage, out: TextIO, *, is_exact: bool, is_copy: bool) -> str:
    """`12  BlueLake → Operator  3 h ago  ↳ 11  urgent  unverified`."""
    message = stored.message
    pieces = [agent_piece(message.sender), Span(" → "), *names(message.recipients)]
    time = both_times(stored.at) if is_exact else when(stored.at, out)
    pieces.append(Span(f"  {time}", QUIET))
    if stored.reply_to is not None:
        link = f"copy of message {stored.reply_to}" if is_copy else f"{_REPLY} {stored.reply_to}"
        pieces += [Span("  "), Span(link, is_solid=True)]
    if not stored.is_local:
        pieces.append(Span("  imported", QUIET))
    for piece in (*importance_pieces(stored), *trust_pieces(stored)):
        pieces += [Span("  "), piece]
    number = str(stored.id)
    gap = " " * max(2, len(INDENT) - len(number))
    return fold([Span(number, STRONG), Span(gap)], pieces, INDENT, out)


def names(agents: Iterable[str]) -> Iterator[Span]:
    """Names in a row, each in its tint."""
    for number, name in enumerate(agents):
        if number:
            yield Span(", ")
        yield agent_piece(name)


def both_times(at: datetime) -> str:
    """The exact time; for people also how long ago that is."""
    relative = ago(at, datetime.now(UTC))
    is_worth_it = sys.stdout.isatty() and not exact(at).startswith(relative)
    return f"{exact(at)} ({relative})" if is_worth_it else exact(at)


def fate_pieces(deliveries: Sequence[Delivery]) -> Iterator[Span]:
    """`acknowledged by RedCreek; owed by BlueLake`; nothing where nobody has or should have."""
    acknowledged = [each.recipient for each in deliveries if each.acknowledged_by is not None]
    owing = [each.recipient for each in deliveries if each.owes_ack]
    if acknowledged:
        yield Span("acknowledged by ", QUIET)
        yield from names(acknowledged)
    if acknowledged and owing:
        yield Span("; ", QUIET)
    if owing:
        yield Span("owed by ", ATTENTION)
        yield from names(owing)


def labelled(fields: Sequence[tuple[str, Sequence[Span]]], out: TextIO) -> Iterator[str]:
    """Labels and what they say, which begins in one column."""
    column = max(len(label) for label, _ in fields) + 2
    for label, pieces in fields:
        start = [Span(f"  {label:<{column}}", QUIET)]
        yield fold(start, pieces, " " * (column + 2), out)


def body_lines(body: str, out: TextIO) -> Iterator[str]:
    """A whole body, folded to the terminal."""
    yield from _whole(_lines_of(body), out)


def _whole(lines: Sequence[str], out: TextIO) -> Iterator[str]:
    """Lines of a body, indented and folded; nothing in them is obeyed."""
    for line in lines:
        yield fold([Span(INDENT)], [Span(line)], INDENT, out)


def _lines_of(body: str) -> list[str]:
    """The lines to read: a carriage return at their end and blank lines around them do not show."""
    lines = [line.removesuffix("\r").expandtabs(_TAB) for line in body.split("\n")]
    while lines and not lines[-1].strip():
        lines.pop()
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    return lines[first:]


def _first_lines(lines: Sequence[str], message_id: int, out: TextIO) -> Iterator[str]:
    """The first rows, and how many lines are left; one row more costs as much as saying so."""
    most = _FIRST_ROWS * (width_of(out) or sys.maxsize)
    rows: list[str] = []
    whole = 0
    for number, line in enumerate(lines[: _FIRST_ROWS + 1], 1):
        rows += fold([Span(INDENT)], [Span(line[:most])], INDENT, out).splitlines(keepends=True)
        if len(line) <= most and len(rows) <= _FIRST_ROWS:
            whole = number
        elif len(line) <= most and len(rows) == _FIRST_ROWS + 1 and number == len(lines):
            yield from rows
            return
    yield from rows[:_FIRST_ROWS]
    left = len(lines) - whole
    if not left:
        return
    note = f"… {left} more line{'s' * (left != 1)}: `brenner mail show {message_id}`"
    yield fold([Span(INDENT)], [Span(note, QUIET)], INDENT, out)


_ALWAYS = ("From", "To", "Sent", "Subject")


@click.command(
    "show", epilog=examples("brenner mail show 12", "brenner mail show 12 --raw > message.md")
)
@click.argument("message_id", type=MESSAGE_ID, metavar="ID")
@click.option("--raw", is_flag=True, help="Print the message file exactly as it was sent.")
@pager_option
@common_options
def show(settings: Settings, message_id: int, raw: bool, pager: bool) -> int:
    """Read the message of that ID whole.

    It stays unread: `brenner mail mark ID` marks it as read. With --raw the message file is
    printed; in a terminal control characters are spelled out, into a pipe or a file goes every
    byte as it was sent. Exit code 1: there is no such message.
    """
    if raw and settings.as_json:
        message = "--raw and --json do not go together: the document has the exact text."
        raise click.UsageError(message)
    with workspace_of(settings) as here:
        stored = here.mailbox.message(message_id)
        deliveries = here.mailbox.deliveries(message_id)
        is_repeated = is_sent_again(here.mailbox, stored)
    if settings.as_json:
        write_json(delivered_json(stored, deliveries))
    elif raw:
        write_exact(render_message_file(stored.message), sys.stdout)
    else:
        write_lines(_lines(stored, deliveries, is_repeated=is_repeated), pager=pager)
    return FINE


def _lines(
    stored: StoredMessage, deliveries: Sequence[Delivery], *, is_repeated: bool
) -> Iterator[str]:
    out, message, copies = sys.stdout, stored.message, stored.envelope.cc
    title = f"Message {stored.id} in {escape_control(message.thread_id)}"
    yield fold([], [Span(title, STRONG)], "  ", out)
    fields: list[tuple[str, list[Span]]] = [
        ("From", [agent_piece(message.sender), *_after(trust_pieces(stored))]),
        ("To", list(names(name for name in message.recipients if name not in copies))),
        ("Cc", list(names(copies))),
        ("Sent", [Span(both_times(stored.at))]),
        ("Subject", list(subject_pieces(message.subject))),
        ("Importance", importance_pieces(stored)),
    ]
    fields = [(label, pieces) for label, pieces in fields if pieces or label in _ALWAYS]
    if stored.reply_to is not None:
        link = "Copy of" if is_repeated else "Reply to"
        fields.append((link, [Span(f"message {stored.reply_to}")]))
    if stored.acknowledges:
        settled = ", ".join(map(str, stored.acknowledges))
        acks = "ACK" if len(stored.acknowledges) == 1 else "ACKs"
        fields.append(("Settles", [Span(f"the {acks} owed for {settled}")]))
    fate = list(fate_pieces(deliveries))
    if fate or wants_ack(message):
        fields.append(("ACK", fate or [Span("required; nobody owes one")]))
    if not stored.is_local:
        origin = f"imported; it was message {stored.origin_id} there, and its sender is unverified"
        fields.append(("Origin", [Span(origin)]))
    yield from labelled(fields, out)
    yield "\n"
    yield from body_lines(message.body, out)


def _after(pieces: Sequence[Span]) -> list[Span]:
    """What stands after a name, if anything does."""
    return [Span("  "), *pieces] if pieces else []
