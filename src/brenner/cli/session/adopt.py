"""`brenner session adopt`: take over a thread that another program has compiled."""

import sys

import click

from brenner.cli.help_text import examples
from brenner.cli.mail.desk import FINE, desk
from brenner.cli.options import Settings, common_options
from brenner.cli.output import note_done, write_diagnostics, write_json
from brenner.cli.sentences import advise, say, thread_argument
from brenner.diagnostics.model import Summary
from brenner.mail.model import stored_json
from brenner.services.decisions import adopt_thread


@click.command("adopt", epilog=examples("brenner session adopt RS-20251230-cell-fate"))
@click.argument("thread", metavar="THREAD")
@common_options
def adopt(settings: Settings, thread: str) -> int:
    """Publish the next version of THREAD from its latest COMPILED message that is no version.

    The artifact in that message is taken as it is, and the deltas before it count as read. The
    new version has a record that names the message. Only the operator can do it. Exit code 1:
    there is no such message, or it holds no artifact that one could go on with.
    """
    with desk(settings) as here:
        done = adopt_thread(here, thread)
    note_done()
    found = (*done.in_vain, *done.notes, *done.unresolved)
    if settings.as_json:
        write_json(
            {
                "thread_id": thread,
                "version": done.version,
                "adopted_message_id": done.adopted_message_id,
                "adopted_version": done.adopted_version,
                "taken_as_read": done.taken_as_read,
                "message": stored_json(done.message),
                "violations": [each.to_json() for each in found],
                "summary": Summary.of(found)._asdict(),
            }
        )
        return FINE
    write_diagnostics(done.in_vain, "brenner", sys.stderr)
    write_diagnostics(done.notes, f"message {done.adopted_message_id}", sys.stderr)
    for each in done.unresolved:
        write_diagnostics([each], f"{thread} {each.item or ''}".rstrip(), sys.stderr)
    how = "as far as it could be read: see above" if done.notes else "as it is"
    say(
        f"Published v{done.version}, as message {done.message.id}: the artifact of message "
        f"{done.adopted_message_id} (v{done.adopted_version}), {how}."
    )
    advise(
        f"{done.taken_as_read} messages before it count as read. "
        f"`brenner compile {thread_argument(thread)}` takes in what came after it."
    )
    return FINE
