"""`brenner session dismiss`: the operator lets a refused block be."""

import re

import click

from brenner.cli.failures import exit_code, write_error
from brenner.cli.help_text import examples
from brenner.cli.mail.desk import FINE, desk
from brenner.cli.options import Settings, common_options
from brenner.cli.output import note_done, write_json
from brenner.cli.sentences import advise, say, thread_argument
from brenner.diagnostics.model import Summary
from brenner.mail.model import stored_json
from brenner.services.decisions import Dismissed
from brenner.services.decisions import dismiss as dismiss_blocks
from brenner.text import visible

_WHICH = re.compile(r"([0-9]{1,18})(?:\.([0-9]{1,9}))?", re.ASCII)


@click.command(
    "dismiss",
    epilog=examples(
        "brenner session dismiss RS-20251230-cell-fate 7.2",
        "brenner session dismiss RS-20251230-cell-fate 7 --reason 'H3 says it already'",
    ),
)
@click.argument("thread", metavar="THREAD")
@click.argument("which", metavar="MESSAGE[.BLOCK]")
@click.option("--reason", default="", metavar="TEXT", help="Why, for those who read the thread.")
@common_options
def dismiss(settings: Settings, thread: str, which: str, reason: str) -> int:
    """Say that nobody has to correct a refused block: one, or all of a message.

    A refused block is listed in the status until its author has sent a block with the same
    operation on the same item that is applied, or until the operator dismisses it. The thread is
    told in an INFO message; the artifact does not change. Only the operator can do it.
    """
    found = _WHICH.fullmatch(which)
    if found is None:
        message = f"`{visible(which)}` is not MESSAGE or MESSAGE.BLOCK, such as 7 or 7.2."
        raise click.UsageError(message)
    with desk(settings) as here:
        block = int(found[2]) if found[2] else None
        done = dismiss_blocks(here, thread, int(found[1]), block, reason)
    if done.is_new:
        note_done()
    if settings.as_json:
        write_json(_document(thread, done))
    else:
        _say(thread, done)
    if done.failed and not settings.as_json:
        write_error(done.failed)
    return exit_code(done.failed) if done.failed else FINE


def _document(thread: str, done: Dismissed) -> dict[str, object]:
    found = [done.failed.diagnostic] if done.failed else []
    return {
        "thread_id": thread,
        "message_id": done.message_id,
        "blocks": list(done.blocks),
        "new": done.is_new,
        "message": stored_json(done.message),
        "left": None if done.failed else done.left,
        "violations": [each.to_json() for each in found],
        "summary": Summary.of(found)._asdict(),
    }


def _say(thread: str, done: Dismissed) -> None:
    numbers = ", ".join(map(str, done.blocks))
    what, is_are = ("Block", "is") if len(done.blocks) == 1 else ("Blocks", "are")
    already = "" if done.is_new else " already"
    say(
        f"{what} {numbers} of message {done.message_id} {is_are} dismissed{already}; message "
        f"{done.message.id} says so."
    )
    if done.failed:
        return
    status = f"`brenner session status {thread_argument(thread)}`"
    if done.left:
        blocks = "1 refused block is" if done.left == 1 else f"{done.left} refused blocks are"
        advise(f"{blocks} left: {status}.")
    else:
        advise(f"No refused block of the thread is open now: {status}.")
