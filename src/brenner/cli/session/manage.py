"""Decisions of the operator about a session: `complete`, `void`, `adopt` and `dismiss`."""

from __future__ import annotations

import re
import sys

import click

from brenner.cli.compile import JSON_DEFAULTS, compile_options, report
from brenner.cli.options import EXIT_OK, Settings, common_options, examples
from brenner.cli.output import JsonCommand, note_changes_made, write_diagnostics, write_json
from brenner.cli.terminal import print_hint, print_message
from brenner.cli.workspace import exit_code, workspace_of, write_error
from brenner.diagnostics.model import Summary
from brenner.lazy_pattern import lazy_pattern
from brenner.mail.model import stored_json
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.decisions import DismissResult, adopt_thread, check_operator, void_version
from brenner.services.decisions import dismiss as dismiss_blocks
from brenner.services.versions import parse_target
from brenner.text import escape_control, thread_argument


@click.command(
    "complete",
    cls=JsonCommand,
    json_defaults=JSON_DEFAULTS,
    epilog=examples(
        "brenner session complete RS-20251230-cell-fate",
        "brenner session complete RS-20251230-cell-fate --persist --commit --archive",
    ),
)
@click.argument("thread", metavar="THREAD")
@compile_options
@common_options
def complete(settings: Settings, thread: str, options: CompileOptions) -> int:
    """Publish one last version of THREAD, with the status `closed`.

    It has everything that no version has read so far. Later deltas are compiled only with
    `brenner compile --reopen`. A session that is closed is left as it is, and persisted where
    asked for. Exit code 1: there is no version to close.
    """
    with workspace_of(settings) as here:
        check_operator(here, "complete a session")
        done = compile_thread(here, thread, options._replace(close=True))
    if not options.dry_run:
        note_changes_made()
    return report(done, as_json=settings.as_json)


# `brenner session void`


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
        message = f"`{escape_control(version)}` is not THREAD@vN, such as RS-20251230-cell-fate@v3."
        raise click.UsageError(message)
    with workspace_of(settings) as here:
        done = void_version(here, target.thread_id, target.version, reason)
    note_changes_made()
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
        return exit_code(done.failed) if done.failed else EXIT_OK
    write_diagnostics(done.notes, "brenner", sys.stderr)
    print_message(
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
    print_hint(f"{latest}, and {unread} {is_are} unread{compiles}.")
    return EXIT_OK


# `brenner session adopt`: take over a thread that another program has compiled


@click.command("adopt", epilog=examples("brenner session adopt RS-20251230-cell-fate"))
@click.argument("thread", metavar="THREAD")
@common_options
def adopt(settings: Settings, thread: str) -> int:
    """Publish the next version of THREAD from its latest COMPILED message that is no version.

    The artifact in that message is taken as it is, and the deltas before it count as read. The
    new version has a record that names the message. Only the operator can do it. Exit code 1:
    there is no such message, or it holds no artifact that one could go on with.
    """
    with workspace_of(settings) as here:
        version, message, in_vain = adopt_thread(here, thread)
    note_changes_made()
    found = (*in_vain, *version.warnings, *version.unresolved)
    adopted, count = version.record.adopted, len(version.record.messages)
    adopted_id, adopted_number = (adopted.id, adopted.version) if adopted else (None, None)
    if settings.as_json:
        write_json(
            {
                "thread_id": thread,
                "version": version.number,
                "adopted_message_id": adopted_id,
                "adopted_version": adopted_number,
                "taken_as_read": count,
                "message": stored_json(message),
                "violations": [each.to_json() for each in found],
                "summary": Summary.of(found)._asdict(),
            }
        )
        return EXIT_OK
    write_diagnostics(in_vain, "brenner", sys.stderr)
    write_diagnostics(version.warnings, f"message {adopted_id}", sys.stderr)
    for each in version.unresolved:
        write_diagnostics([each], f"{thread} {each.item or ''}".rstrip(), sys.stderr)
    how = "as far as it could be read: see above" if version.warnings else "as it is"
    print_message(
        f"Published v{version.number}, as message {message.id}: the artifact of message "
        f"{adopted_id} (v{adopted_number}), {how}."
    )
    print_hint(
        f"{count} messages before it count as read. "
        f"`brenner compile {thread_argument(thread)}` takes in what came after it."
    )
    return EXIT_OK


# `brenner session dismiss`: ignore a refused block


_BLOCK_ADDRESS = lazy_pattern(r"([0-9]{1,18})(?:\.([0-9]{1,9}))?", re.ASCII)


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
    found = _BLOCK_ADDRESS.fullmatch(which)
    if found is None:
        message = f"`{escape_control(which)}` is not MESSAGE or MESSAGE.BLOCK, such as 7 or 7.2."
        raise click.UsageError(message)
    with workspace_of(settings) as here:
        block = int(found[2]) if found[2] else None
        done = dismiss_blocks(here, thread, int(found[1]), block, reason)
    if done.is_new:
        note_changes_made()
    if settings.as_json:
        write_json(_dismissed_document(thread, done))
    else:
        _write_dismissed(thread, done)
    if done.failed and not settings.as_json:
        write_error(done.failed)
    return exit_code(done.failed) if done.failed else EXIT_OK


def _dismissed_document(thread: str, done: DismissResult) -> dict[str, object]:
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


def _write_dismissed(thread: str, done: DismissResult) -> None:
    numbers = ", ".join(map(str, done.blocks))
    noun, is_are = ("Block", "is") if len(done.blocks) == 1 else ("Blocks", "are")
    already = "" if done.is_new else " already"
    print_message(
        f"{noun} {numbers} of message {done.message_id} {is_are} dismissed{already}; message "
        f"{done.message.id} says so."
    )
    if done.failed:
        return
    status = f"`brenner session status {thread_argument(thread)}`"
    if done.left:
        blocks = "1 refused block is" if done.left == 1 else f"{done.left} refused blocks are"
        print_hint(f"{blocks} left: {status}.")
    else:
        print_hint(f"No refused block of the thread is open now: {status}.")
