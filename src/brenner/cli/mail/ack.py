"""`brenner mail ack` and `brenner mail mark`: acknowledge messages, mark them as read or unread."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from brenner.cli.options import (
    EXIT_OK,
    MESSAGE_ID,
    Command,
    Number,
    Settings,
    common_options,
    examples,
)
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

    from brenner.services.workspace import Workspace


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


class _MessageIdOrText(Number):
    """A message ID. Other text stays, so that the command can list the messages to acknowledge."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            return str(value)


@click.command(
    "ack",
    epilog=examples(
        "brenner mail ack 12 --as BlueLake",
        "brenner mail ack 12 14 --status 'Will Action' --notes 'After T1.'",
    ),
    cls=Command,
)
@click.argument("ids", nargs=-1, type=_MessageIdOrText(), metavar="ID...")
@click.option(
    "--status",
    type=click.Choice(ACK_STATUSES, case_sensitive=False),
    default=ACK_STATUSES[0],
    metavar="STATUS",
    help=f"{', '.join(ACK_STATUSES[:-1])} or {ACK_STATUSES[-1]} (default: {ACK_STATUSES[0]}).",
)
@click.option("--notes", default="", metavar="TEXT", help="Text to add.")
@common_options
def ack(settings: Settings, ids: tuple[int | str, ...], status: str, notes: str) -> int:
    """Acknowledge messages that you received: each sender gets an ACK message.

    An ACK also covers earlier copies of the message, and marks it as read. The same ACK is sent
    only once. If one of the messages was not sent to you, nothing is sent.
    """
    wanted = tuple(dict.fromkeys(each for each in ids if isinstance(each, int)))
    with workspace_of(settings) as here:
        other = [each for each in ids if isinstance(each, str)]
        if other or not wanted:
            raise click.UsageError(_which_message(here, other))
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


def _which_message(here: Workspace, other: list[str]) -> str:
    """Return which messages the agent can acknowledge, for a call that names none."""
    wrong = (
        f"`{escape_control(other[0])}` is not a message ID." if other else "No message ID given."
    )
    name = quote(escape_control(here.actor))
    ids = [str(each.last.id) for each in here.mailbox.debts(here.actor)]
    if not ids:
        return f"{wrong} {name} owes no ACK."
    shown = ids[:_MOST_NAMED]
    more = f" and {len(ids) - len(shown)} more" if len(ids) > len(shown) else ""
    command = f"`brenner mail ack {' '.join(shown)} --as {name}`"
    owed = f"`brenner mail inbox --as {name} --owed` lists them"
    return (
        f"{wrong} {name} owes an ACK for {', '.join(shown)}{more} ({owed}). To send it: {command}."
    )


_MOST_NAMED = 10


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
