"""Decisions of the operator about a session: `complete`, `cancel`, `void`, `adopt`, `dismiss`."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import click

from brenner.cli.artifact.common import join_target
from brenner.cli.compile import JSON_DEFAULTS, compile_options, report
from brenner.cli.options import EXIT_OK, Command, Settings, common_options, examples
from brenner.cli.output import (
    JsonCommand,
    note_changes_made,
    write_diagnostics,
    write_json,
    write_placed_diagnostics,
)
from brenner.cli.terminal import print_hint, print_message
from brenner.cli.threads import find_thread
from brenner.cli.workspace import exit_code, workspace_of, write_error
from brenner.diagnostics.model import Summary
from brenner.lazy_pattern import lazy_pattern
from brenner.mail.model import stored_json
from brenner.services.complete import complete_session, needs_conclusion
from brenner.services.decisions import (
    DismissResult,
    KeepResult,
    adopt_thread,
    cancel_session,
    dismiss_question,
    void_version,
)
from brenner.services.decisions import dismiss as dismiss_blocks
from brenner.services.publish import check_operator
from brenner.services.versions import version_number
from brenner.text import escape_control, plural, thread_argument

if TYPE_CHECKING:
    from brenner.services.compile import CompileOptions
    from brenner.services.workspace import Workspace


@click.command(
    "complete",
    cls=JsonCommand,
    json_defaults=JSON_DEFAULTS,
    epilog=examples(
        "brenner session complete RS-20251230-cell-fate",
        "brenner session complete RS-20251230-cell-fate --conclusion 'It counts'",
        "brenner session complete RS-20251230-cell-fate --persist --commit --archive",
    ),
)
@click.argument("thread", required=False, metavar="[THREAD]")
@click.option("--conclusion", metavar="TEXT", help="What the session has found.")
@click.option("--anyway", is_flag=True, help="Complete although items ask for an answer.")
@compile_options
@common_options
def complete(
    settings: Settings,
    thread: str | None,
    conclusion: str | None,
    options: CompileOptions,
    *,
    anyway: bool,
) -> int:
    """Publish the last version of THREAD, with the status `closed`.

    Use it when the session is finished. The version includes all unread messages. Later deltas are
    compiled only with `brenner compile --reopen`. A session that is already closed does not change;
    with --persist its file is saved.

    --conclusion sends the conclusion as a DELTA before the last version. Without it, a terminal
    asks for one. A session that was closed without a conclusion can get one with --reopen.

    The command stops while a result or a falsified assumption asks for an answer. Use `session
    dismiss` to keep one item as it is, or --anyway to leave everything open.
    """
    options = options._replace(anyway=anyway)
    with workspace_of(settings) as here:
        check_operator(here, "complete a session")
        thread = find_thread(here, thread)
        if conclusion is None and not options.dry_run and not settings.as_json:
            conclusion = _ask_conclusion(here, thread, options)
        done = complete_session(here, thread, options, conclusion or "")
    if not options.dry_run:
        note_changes_made()
    return report(done, as_json=settings.as_json)


def _ask_conclusion(here: Workspace, thread: str, options: CompileOptions) -> str:
    """Ask for the conclusion in a terminal, if the session has none."""
    if sys.stdin is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return ""
    if not needs_conclusion(here, thread, options):
        return ""
    text = "What has the session found? (one paragraph; Enter for no conclusion)\nConclusion"
    answer: str = click.prompt(text, default="", show_default=False, err=True)
    return answer


# `brenner session cancel`


@click.command(
    "cancel",
    epilog=examples(
        "brenner session cancel RS-20251230-cell-fate --reason 'Answered elsewhere'",
    ),
    cls=Command,
)
@click.argument("thread", required=False, metavar="[THREAD]")
@click.option("--reason", required=True, metavar="TEXT", help="Reason, shown in the thread.")
@common_options
def cancel(settings: Settings, thread: str | None, reason: str) -> int:
    """End a session that needs no version.

    Use it for a session that was started by mistake, or whose question is settled elsewhere. No
    agent owes anything in it any more, and it is listed last. An INFO message reports the reason to
    the thread. A later kickoff reopens it. Only the operator can do this.
    """
    with workspace_of(settings) as here:
        thread = find_thread(here, thread)
        done = cancel_session(here, thread, reason)
    if done.is_new:
        note_changes_made()
    if settings.as_json:
        write_json(
            {
                "thread_id": thread,
                "phase": "cancelled",
                "reason": done.reason,
                "new": done.is_new,
                "message": stored_json(done.message),
            }
        )
        return EXIT_OK
    shown, number = escape_control(thread), done.message.id
    if done.is_new:
        print_message(f"Cancelled {shown}, announced in message {number}.")
    else:
        print_message(f"No changes were made: message {number} has already cancelled {shown}.")
    print_hint(f"To reopen it, send a kickoff: `brenner new KICKOFF --thread {shown}`")
    return EXIT_OK


# `brenner session void`


@click.command(
    "void", epilog=examples("brenner session void RS-20251230-cell-fate@v3"), cls=Command
)
@click.argument("thread", metavar="THREAD@vN")
@click.argument("version", required=False, metavar="[vN]")
@click.option("--reason", default="", metavar="TEXT", help="Reason, shown in the thread.")
@common_options
def void(settings: Settings, thread: str, version: str | None, reason: str) -> int:
    """Withdraw the latest version of a thread, or one that cannot be rebuilt.

    Use it to undo a compile. The version number will be reused. Messages that only this version
    included become unread. An INFO message reports it to the thread. Only the operator can do this.
    """
    name, _ = join_target(thread, version)
    text, _, written = name.partition("@")
    number = version_number(written)
    if number is None:
        shown = escape_control(name)
        message = f"`{shown}` is not a version. Write THREAD@vN, such as RS-20251230-cell-fate@v3."
        raise click.UsageError(message)
    with workspace_of(settings) as here:
        thread = find_thread(here, text or None)
        done = void_version(here, thread, number, reason)
    note_changes_made()
    found = [*done.notes, *([done.failed.diagnostic] if done.failed else [])]
    if settings.as_json:
        write_json(
            {
                "thread_id": thread,
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
    announced = f"announced in message {done.message.id}"
    print_message(f"Voided v{done.version} (message {done.void_message_id}), {announced}.")
    if done.failed:
        write_error(done.failed)
        return exit_code(done.failed)
    latest = f"The latest version is v{done.latest}" if done.latest else "The thread has no version"
    unread = plural(done.unread, "unread message") if done.unread else "No unread messages"
    print_hint(f"{latest}. {unread}.")
    if done.unread:
        print_hint(f"To compile them: `brenner compile {thread_argument(thread)}`")
    return EXIT_OK


# `brenner session adopt`: take over a thread that another program has compiled


@click.command("adopt", epilog=examples("brenner session adopt RS-20251230-cell-fate"), cls=Command)
@click.argument("thread", required=False, metavar="[THREAD]")
@common_options
def adopt(settings: Settings, thread: str | None) -> int:
    """Publish the next version of THREAD from another program's COMPILED message.

    Use it to continue a thread that another program compiled. The latest COMPILED message that is
    not a version is published unchanged. The deltas before it count as included. Only the operator
    can do this.
    """
    with workspace_of(settings) as here:
        thread = find_thread(here, thread)
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
    placed = ((f"{thread} {each.item or ''}".rstrip(), each) for each in version.unresolved)
    write_placed_diagnostics(placed, sys.stderr)
    how = "as far as it can be read (see above)" if version.warnings else "unchanged"
    print_message(
        f"Published v{version.number}, as message {message.id}: the artifact of message "
        f"{adopted_id} (v{adopted_number}), {how}."
    )
    print_hint(
        f"{plural(count, 'earlier message')} marked as read. "
        f"To compile later messages: `brenner compile {thread_argument(thread)}`"
    )
    return EXIT_OK


# `brenner session dismiss`: ignore a rejected block


_QUESTION_ADDRESS = lazy_pattern(r"(?:[HPTAXC][0-9]+/)?[TA][0-9]+", re.ASCII | re.IGNORECASE)
_BLOCK_ADDRESS = lazy_pattern(r"([0-9]{1,18})(?:\.([0-9]{1,9}))?", re.ASCII)


@click.command(
    "dismiss",
    epilog=examples(
        "brenner session dismiss RS-20251230-cell-fate 7.2",
        "brenner session dismiss RS-20251230-cell-fate 7 --reason 'H3 says it already'",
        "brenner session dismiss RS-20251230-cell-fate H1/T1 --reason 'Late graft'",
    ),
    cls=Command,
)
@click.argument("thread", metavar="[THREAD]")
@click.argument("which", required=False, metavar="MESSAGE[.BLOCK]|H1/T1")
@click.option("--reason", default="", metavar="TEXT", help="Reason, shown in the thread.")
@common_options
def dismiss(settings: Settings, thread: str, which: str | None, reason: str) -> int:
    """Ignore a rejected block, or all of a message, or what asks an item for an answer.

    Use it when a block needs no correction, or when an item stays as it is although a result or a
    falsified assumption asks about it. H1/T1 keeps H1 despite T1, and needs --reason. The status
    lists a rejected block, or a delta block in no DELTA message, until its author sends one that is
    applied, or until you dismiss it. An INFO message reports the dismissal to the thread. The
    artifact does not change. Only the operator can do this.
    """
    given, address = (None, thread) if which is None else (thread, which)
    if _QUESTION_ADDRESS.fullmatch(address):
        return _dismiss_question(settings, given, address, reason)
    found = _BLOCK_ADDRESS.fullmatch(address)
    if found is None:
        message = (
            f"`{escape_control(address)}` is not a message or block number, such as 7 or 7.2, nor "
            "an unanswered item, such as H1/T1."
        )
        raise click.UsageError(message)
    with workspace_of(settings) as here:
        thread = find_thread(here, given)
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


def _dismiss_question(settings: Settings, given: str | None, address: str, reason: str) -> int:
    with workspace_of(settings) as here:
        thread = find_thread(here, given)
        done = dismiss_question(here, thread, address, reason)
    if done.is_new:
        note_changes_made()
    if settings.as_json:
        write_json(_kept_document(thread, done))
        return EXIT_OK
    kept = f"{done.item} is kept despite {done.because}"
    if done.item == done.because:
        kept = f"{done.item} is kept despite its failed potency check"
    was = "" if done.is_new else "No changes were made: "
    print_message(f"{was}{kept}, announced in message {done.message.id}.")
    status = f"`brenner session status {thread_argument(thread)}`"
    left = plural(done.left, "unanswered item") if done.left else "No unanswered items"
    print_hint(f"{left} left: {status}")
    return EXIT_OK


def _kept_document(thread: str, done: KeepResult) -> dict[str, object]:
    return {
        "thread_id": thread,
        "item": done.item,
        "because": done.because,
        "new": done.is_new,
        "message": stored_json(done.message),
        "left": done.left,
    }


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
    noun = "block" if len(done.blocks) == 1 else "blocks"
    blocks = f"{noun} {numbers} of message {done.message_id}"
    announced = f"announced in message {done.message.id}."
    if done.is_new:
        print_message(f"Dismissed {blocks}, {announced}")
    else:
        are = "is" if len(done.blocks) == 1 else "are"
        print_message(f"No changes were made: {blocks} {are} already dismissed, {announced}")
    if done.failed:
        return
    status = f"`brenner session status {thread_argument(thread)}`"
    if done.left:
        print_hint(f"{plural(done.left, 'rejected block')} left: {status}")
    else:
        print_hint(f"No rejected blocks left. Next: {status}")
