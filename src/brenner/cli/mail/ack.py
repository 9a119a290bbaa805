"""`brenner mail ack` and `brenner mail mark`: acknowledge messages, mark them as read or unread."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

import click

from brenner.cli.options import EXIT_OK, MESSAGE_ID, Command, Settings, common_options, examples
from brenner.cli.output import note_changes_made, write_json
from brenner.cli.terminal import print_hint, print_message
from brenner.cli.workspace import workspace_of
from brenner.mail.mailbox import Capability
from brenner.mail.model import SendResult, stored_json
from brenner.mail.rules import check_recipient
from brenner.protocol.message_types import ACK_STATUSES
from brenner.services.acknowledge import acknowledge
from brenner.text import escape_control, joined, plural

if TYPE_CHECKING:
    from collections.abc import Sequence


@click.command(
    "mark", epilog=examples("brenner mail mark 12 14", "brenner mail mark --unread 12"), cls=Command
)
@click.argument("ids", nargs=-1, required=True, type=MESSAGE_ID, metavar="ID...")
@click.option("--unread", is_flag=True, help="Mark them as unread.")
@common_options
def mark(settings: Settings, ids: tuple[int, ...], unread: bool) -> int:
    """Mark messages in your inbox as read, or with --unread as unread.

    If one of the messages was not sent to you, none is marked.
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
    if changed:
        print_message(f"Marked {plural(changed, 'message')} as {state}.")
    else:
        print_message(f"No changes were made: already marked as {state}.")
    name = escape_control(here.actor)
    if has_read_marks:
        print_hint(f"Next: `brenner mail inbox --as {name} --unread`")
    return EXIT_OK


# `brenner mail ack`


@click.command(
    "ack",
    epilog=examples(
        "brenner mail ack 12 --as BlueLake",
        "brenner mail ack 12 14 --status 'Will Action' --notes 'After T1.'",
    ),
    cls=Command,
)
@click.argument("ids", nargs=-1, required=True, type=MESSAGE_ID, metavar="ID...")
@click.option(
    "--status",
    type=click.Choice(ACK_STATUSES, case_sensitive=False),
    default=ACK_STATUSES[0],
    metavar="STATUS",
    help=f"{', '.join(ACK_STATUSES[:-1])} or {ACK_STATUSES[-1]} (default: {ACK_STATUSES[0]}).",
)
@click.option("--notes", default="", metavar="TEXT", help="Text to add.")
@common_options
def ack(settings: Settings, ids: tuple[int, ...], status: str, notes: str) -> int:
    """Acknowledge messages that you received: each sender gets an ACK message.

    An ACK also covers earlier copies of the message, and marks it as read. The same ACK is sent
    only once. If one of the messages was not sent to you, nothing is sent.
    """
    wanted = tuple(dict.fromkeys(ids))
    with workspace_of(settings) as here:
        for each in wanted:  # check all of them before the first ACK is sent
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
            text = f"Message {message_id} is already acknowledged by message {by}."
            print_message(f"{text} Nothing was sent.")
    name = quote(escape_control(actor))
    print_hint(f"To see what you still owe: `brenner mail inbox --as {name} --owed`")
