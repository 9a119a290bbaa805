"""`brenner mail show`: one message, whole."""

import sys
from collections.abc import Iterator, Sequence

import click

from brenner.cli.folding import Piece, fold
from brenner.cli.help_text import examples
from brenner.cli.mail.desk import FINE, desk
from brenner.cli.mail.message import (
    body_lines,
    both_times,
    fate_pieces,
    is_sent_again,
    labelled,
    names,
)
from brenner.cli.mail.standing import importance_pieces, trust_pieces
from brenner.cli.marks import STRONG, agent_piece, subject_pieces
from brenner.cli.options import MESSAGE_ID, Settings, common_options
from brenner.cli.output import write_json
from brenner.cli.paging import pager_option, write_exact, write_lines
from brenner.mail.model import Delivery, Stored, delivered_json
from brenner.protocol.message_types import wants_ack
from brenner.protocol.messages import render_message_file
from brenner.text import visible

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
    with desk(settings) as here:
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


def _lines(stored: Stored, deliveries: Sequence[Delivery], *, is_repeated: bool) -> Iterator[str]:
    out, message, copies = sys.stdout, stored.message, stored.envelope.cc
    title = f"Message {stored.id} in {visible(message.thread_id)}"
    yield fold([], [Piece(title, STRONG)], "  ", out)
    fields: list[tuple[str, list[Piece]]] = [
        ("From", [agent_piece(message.sender), *_after(trust_pieces(stored))]),
        ("To", list(names(name for name in message.recipients if name not in copies))),
        ("Cc", list(names(copies))),
        ("Sent", [Piece(both_times(stored.at))]),
        ("Subject", list(subject_pieces(message.subject))),
        ("Importance", importance_pieces(stored)),
    ]
    fields = [(label, pieces) for label, pieces in fields if pieces or label in _ALWAYS]
    if stored.reply_to is not None:
        link = "Copy of" if is_repeated else "Reply to"
        fields.append((link, [Piece(f"message {stored.reply_to}")]))
    if stored.acknowledges:
        settled = ", ".join(map(str, stored.acknowledges))
        acks = "ACK" if len(stored.acknowledges) == 1 else "ACKs"
        fields.append(("Settles", [Piece(f"the {acks} owed for {settled}")]))
    fate = list(fate_pieces(deliveries))
    if fate or wants_ack(message):
        fields.append(("ACK", fate or [Piece("required; nobody owes one")]))
    if not stored.is_local:
        origin = f"imported; it was message {stored.origin_id} there, and its sender is unverified"
        fields.append(("Origin", [Piece(origin)]))
    yield from labelled(fields, out)
    yield "\n"
    yield from body_lines(message.body, out)


def _after(pieces: Sequence[Piece]) -> list[Piece]:
    """What stands after a name, if anything does."""
    return [Piece("  "), *pieces] if pieces else []
