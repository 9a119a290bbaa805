"""`brenner mail mark`: what has been read is for its reader to say."""

import click

from brenner.cli.help_text import examples
from brenner.cli.mail.desk import FINE, desk
from brenner.cli.options import MESSAGE_ID, Settings, common_options
from brenner.cli.output import note_done, write_json
from brenner.cli.sentences import advise, say
from brenner.mail.mailbox import Ability
from brenner.text import visible


@click.command("mark", epilog=examples("brenner mail mark 12 14", "brenner mail mark --unread 12"))
@click.argument("ids", nargs=-1, required=True, type=MESSAGE_ID, metavar="ID...")
@click.option("--unread", is_flag=True, help="Mark them as unread again.")
@common_options
def mark(settings: Settings, ids: tuple[int, ...], unread: bool) -> int:
    """Mark messages in your inbox as read, or with --unread as unread.

    All of them or none: one that was not sent to you refuses the whole request (exit code 1).
    """
    with desk(settings) as here:
        for message_id in ids:
            here.mailbox.message(message_id)
        changed = here.mailbox.mark(here.actor, ids, is_read=not unread)
        tells = Ability.READ_MARKS not in here.mailbox.lacks
    note_done()
    if settings.as_json:
        write_json({"agent": here.actor, "ids": list(ids), "read": not unread, "changed": changed})
        return FINE
    state = "unread" if unread else "read"
    told = f"{changed} message{'s' * (changed != 1)} marked as {state}"
    say(f"{told if changed else f'Nothing to change: marked as {state} already'}.")
    name = visible(here.actor)
    if tells:
        advise(f"`brenner mail inbox --as {name} --unread` shows what is left.")
    return FINE
