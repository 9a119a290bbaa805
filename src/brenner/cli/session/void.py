"""`brenner session void`: the operator declares a version void."""

import sys

import click

from brenner.cli.failures import exit_code, write_error
from brenner.cli.help_text import examples
from brenner.cli.mail.desk import FINE, desk
from brenner.cli.options import Settings, common_options
from brenner.cli.output import note_done, write_diagnostics, write_json
from brenner.cli.sentences import advise, say, thread_argument
from brenner.diagnostics.model import Summary
from brenner.mail.model import stored_json
from brenner.services.decisions import void_version
from brenner.services.versions import parse_target
from brenner.text import visible


@click.command("void", epilog=examples("brenner session void RS-20251230-cell-fate@v3"))
@click.argument("version", metavar="THREAD@vN")
@click.option("--reason", default="", metavar="TEXT", help="Why, for those who read the thread.")
@common_options
def void(settings: Settings, version: str, reason: str) -> int:
    """Declare the latest version of a thread void, or one that does not rebuild.

    Its number is given again. What only it had read counts as unread, and goes into the next
    version. Other messages of that number, if there are any, stay void. The thread is told in an
    INFO message. Only the operator can do it.
    """
    target = parse_target(version)
    if target is None or target.version is None:
        message = f"`{visible(version)}` is not THREAD@vN, such as RS-20251230-cell-fate@v3."
        raise click.UsageError(message)
    with desk(settings) as here:
        done = void_version(here, target.thread_id, target.version, reason)
    note_done()
    found = [*done.notes, *([done.failed.diagnostic] if done.failed else [])]
    if settings.as_json:
        write_json(
            {
                "thread_id": target.thread_id,
                "version": done.version,
                "void_message_id": done.void_message_id,
                "unread": None if done.failed else done.unread,
                "latest_version": done.latest or None,
                "message": stored_json(done.message),
                "violations": [each.to_json() for each in found],
                "summary": Summary.of(found)._asdict(),
            }
        )
        return exit_code(done.failed) if done.failed else FINE
    write_diagnostics(done.notes, "brenner", sys.stderr)
    say(
        f"v{done.version} (message {done.void_message_id}) is void; message {done.message.id} "
        "says so."
    )
    if done.failed:
        write_error(done.failed)
        return exit_code(done.failed)
    latest = f"The latest version is v{done.latest}" if done.latest else "There is no version now"
    unread = f"{done.unread} message{'s' * (done.unread != 1)}" if done.unread else "nothing"
    is_are = "is" if done.unread in (0, 1) else "are"
    compiles = f": `brenner compile {thread_argument(target.thread_id)}`" if done.unread else ""
    advise(f"{latest}, and {unread} {is_are} unread{compiles}.")
    return FINE
