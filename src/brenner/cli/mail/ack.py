"""`brenner mail ack` and `brenner mail mark`: acknowledge messages, mark them as read or unread."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

import click

from brenner.cli.options import EXIT_OK, MESSAGE_ID, Settings, common_options, examples
from brenner.cli.output import note_changes_made, write_json
from brenner.cli.terminal import print_hint, print_message
from brenner.cli.workspace import workspace_of
from brenner.mail.mailbox import Capability
from brenner.mail.model import SendResult, stored_json
from brenner.mail.rules import check_recipient
from brenner.protocol.message_types import ACK_STATUSES
from brenner.services.acknowledge import acknowledge
from brenner.text import escape_control, joined

if TYPE_CHECKING:
    from collections.abc import Sequence


@click.command("mark", epilog=examples("brenner mail mark 12 14", "brenner mail mark --unread 12"))
@click.argument("ids", nargs=-1, required=True, type=MESSAGE_ID, metavar="ID...")
@click.option("--unread", is_flag=True, help="Mark them as unread again.")
@common_options
def mark(settings: Settings, ids: tuple[int, ...], unread: bool) -> int:
    """Mark messages in your inbox as read, or with --unread as unread.

    All of them or none: one that was not sent to you refuses the whole request (exit code 1).
    """
    with workspace_of(settings) as here:
        for message_id in ids:
            here.mailbox.message(message_id)
        changed = here.mailbox.mark(here.actor, ids, is_read=not unread)
        has_read_marks = Capability.READ_MARKS not in here.mailbox.lacks
    note_changes_made()
    if settings.as_json:
        write_json({"agent": here.actor, "ids": list(ids), "read": not unread, "changed": changed})
        return EXIT_OK
    state = "unread" if unread else "read"
    text = f"{changed} message{'s' * (changed != 1)} marked as {state}"
    print_message(f"{text if changed else f'Nothing to change: marked as {state} already'}.")
    name = escape_control(here.actor)
    if has_read_marks:
        print_hint(f"`brenner mail inbox --as {name} --unread` shows what is left.")
    return EXIT_OK


# `brenner mail ack`


@click.command(
    "ack",
    epilog=examples(
        "brenner mail ack 12 --as BlueLake",
        "brenner mail ack 12 14 --status 'Will Action' --notes 'After T1.'",
    ),
)
@click.argument("ids", nargs=-1, required=True, type=MESSAGE_ID, metavar="ID...")
@click.option(
    "--status",
    type=click.Choice(ACK_STATUSES, case_sensitive=False),
    default=ACK_STATUSES[0],
    metavar="STATUS",
    help=f"How far you are: {', '.join(ACK_STATUSES[:-1])} or {ACK_STATUSES[-1]} (the first).",
)
@click.option("--notes", default="", metavar="TEXT", help="Anything to add.")
@common_options
def ack(settings: Settings, ids: tuple[int, ...], status: str, notes: str) -> int:
    """Acknowledge messages that you received: each sender gets an ACK, a message that says so.

    It settles what you owe for the message and for every earlier copy of it, and marks it as
    read. The same ACK is sent once: to repeat it is no error, and with another status or other
    notes it is another one. Exit code 1: there is no such message, or it went to others; then
    nothing is sent at all.
    """
    wanted = tuple(dict.fromkeys(ids))
    with workspace_of(settings) as here:
        for each in wanted:  # a wrong one is refused before the first ACK is sent
            check_recipient(here.mailbox.message(each), here.actor)
        sent = [
            (each, acknowledge(here.mailbox, here.actor, each, status, notes)) for each in wanted
        ]
    note_changes_made()
    if settings.as_json:
        acknowledged = [
            {"id": message_id, "sent": each.is_new, "ack": stored_json(each.stored)}
            for message_id, each in sent
        ]
        write_json({"agent": here.actor, "acknowledged": acknowledged})
    else:
        _write_acks(sent, here.actor)
    return EXIT_OK


def _write_acks(sent: Sequence[tuple[int, SendResult]], actor: str) -> None:
    for message_id, each in sent:
        by = each.stored.id
        if each.is_new:
            to = joined(each.stored.message.recipients)
            print_message(f"Acknowledged message {message_id}: sent message {by} to {to}.")
        else:
            print_message(f"Message {message_id} is acknowledged already, by message {by}.")
    print_hint(
        f"`brenner mail inbox --as {quote(escape_control(actor))} --owed` shows what you still owe."
    )
