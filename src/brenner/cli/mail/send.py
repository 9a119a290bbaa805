"""`brenner mail send`: check a message from a file or from options, then send it."""

from __future__ import annotations

import sys
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from brenner.cli.io import STANDARD_INPUT, read_message, read_text
from brenner.cli.options import (
    EXIT_INVALID,
    EXIT_OK,
    EXIT_USAGE,
    MESSAGE_ID,
    Number,
    Settings,
    common_options,
    examples,
)
from brenner.cli.output import (
    JsonCommand,
    cannot_fix_text,
    count_by_severity,
    fix_command,
    grouped_diagnostics,
    note_changes_made,
    write_diagnostics,
    write_json,
    write_placed_diagnostics,
)
from brenner.cli.terminal import print_hint, print_message
from brenner.cli.workspace import workspace_for_writing
from brenner.diagnostics.codes import messages as codes
from brenner.diagnostics.codes.mail import UNSTORABLE_TEXT
from brenner.diagnostics.model import Diagnostic, worst_first
from brenner.mail.mailbox import Capability
from brenner.mail.model import SendResult, stored_json
from brenner.mail.open import with_place
from brenner.protocol.message_types import KICKOFF, wants_ack
from brenner.protocol.messages import Message, header_errors, render_message_file
from brenner.protocol.subjects import parse_subject
from brenner.protocol.validate import Report, check_message
from brenner.services import send as drafts
from brenner.services.send import Outcome, SendOptions, send_text
from brenner.text import escape_control, joined, thread_argument

if TYPE_CHECKING:
    from collections.abc import Mapping

    from brenner.config import Project
    from brenner.mail.mailbox import Mailbox
    from brenner.services.workspace import Workspace

# Composing a message from options. Diagnostics then name the option instead of a line.


_OPTION_OF_PART = {
    drafts.THREAD_FIELD: "--thread",
    drafts.FROM_FIELD: "--as",
    drafts.TO_FIELD: "--to",
    drafts.SUBJECT_FIELD: "--subject",
    drafts.ACK_FIELD: "--ack-required",
    drafts.BODY_FIELD: "--body",
    drafts.WHOLE_MESSAGE: "message",
}
_REQUIRED_OPTIONS = {
    "thread_id": "--thread",
    "recipients": "--to",
    "subject": "--subject",
    "body": "--body",
}


def compose(flags: Mapping[str, Any], here: Workspace, reply_to: int | None) -> str | Diagnostic:
    """Return the message file that the options describe, or why there is none.

    By default a reply goes to the thread and the sender of the message that it answers.
    """
    parts = dict(flags)
    if reply_to is not None:
        answered = here.mailbox.message(reply_to)
        parts["recipients"] = parts["recipients"] or drafts.reply_recipients(answered, here.actor)
        parts["thread_id"] = parts["thread_id"] or answered.message.thread_id
    missing = [option for name, option in _REQUIRED_OPTIONS.items() if not _is_given(parts[name])]
    if missing:
        error = (
            f"A message from options also needs {', '.join(missing)}. "
            "Or give a FILE: `brenner new TYPE` prints one to fill in."
        )
        raise click.UsageError(error)
    if parts["thread_id"] == flags["thread_id"] and not _opens_thread(parts["subject"]):
        from brenner.cli.threads import find_session  # a message file has the whole ID

        parts["thread_id"] = find_session(here, parts["thread_id"])
    body = _read_body(parts["body"])
    if isinstance(body, Diagnostic):
        return body
    names = (name.strip() for each in parts["recipients"] for name in each.split(","))
    parts |= {"sender": here.actor, "recipients": tuple(filter(None, names)), "body": body}
    message = Message(**parts)
    return _header_fault(message) or render_message_file(message)


def _opens_thread(subject: str) -> bool:
    """Return whether the subject is that of a KICKOFF, whose thread may be new."""
    found = parse_subject(subject)
    return found is not None and found.type == KICKOFF.name


def _is_given(value: object) -> bool:
    return value not in (None, ())


def _header_fault(message: Message) -> Diagnostic | None:
    """Return the first header that cannot be one line of a message file."""
    if message.thread_id != message.thread_id.strip():
        error = "Remove the spaces before or after the thread ID."
        raise click.UsageError(error)
    return next(iter(header_errors(message)), None)


def _read_body(value: str) -> str | Diagnostic:
    """Return the body. Text gets a final line feed; a file or the standard input stays as it is."""
    if value == STANDARD_INPUT:
        return read_text(STANDARD_INPUT)
    if value.startswith("@"):
        return read_text(value[1:])
    return value if value.endswith("\n") or not value else value + "\n"


_UNREADABLE_CODES = {codes.UNREADABLE_INPUT.id, codes.NOT_UTF8.id, UNSTORABLE_TEXT.id}
_NOT_SENT = {
    "sent": False,
    "duplicate": False,
    "message": None,
    "corrected": None,
    "fixed": (),
}


@click.command(
    "send",
    cls=JsonCommand,
    json_defaults=_NOT_SENT,
    epilog=examples(
        "brenner mail send message.md",
        "brenner mail send --fix message.md",
        "brenner mail send --thread RS-20251230-cell-fate --to BlueLake,RedSky \\",
        "    --subject 'INFO: T1 is running' --body 'Results by noon.'",
        "brenner mail send --reply-to 12 --subject 'ACK: Received' --body @ack.md",
    ),
)
@click.argument("file", required=False, metavar="[FILE|-]")
@click.option("--thread", "thread_id", metavar="ID", help="Thread of the message.")
@click.option(
    "--to", "recipients", multiple=True, metavar="NAME", help="Recipient; repeatable, or A,B."
)
@click.option("--subject", metavar="TEXT", help="Subject, such as `INFO: T1 is running`.")
@click.option("--body", metavar="TEXT", help="Body; @FILE reads a file, - standard input.")
@click.option(
    "--ack-required/--no-ack-required",
    default=None,
    help="Ask for an ACK or not (default: by message type).",
)
@click.option("--reply-to", type=MESSAGE_ID, metavar="ID", help="Message that this one answers.")
@click.option("--key", help="Send a message with this key only once.")
@click.option(
    "--if-position",
    "position",
    type=Number(),
    metavar="N",
    help="Send only if the thread still has N messages.",
)
@click.option("--fix", is_flag=True, help="Send what `brenner check --fix` prints.")
@click.option("--no-check", is_flag=True, help="Send the message despite errors.")
@click.option(
    "--anyway", is_flag=True, help="Send a DELTA even if every block would be rejected now."
)
@common_options
def send(  # noqa: PLR0913  (one parameter per option)
    settings: Settings,
    *,
    file: str | None,
    reply_to: int | None,
    key: str | None,
    position: int | None,
    fix: bool,
    no_check: bool,
    anyway: bool,
    **flags: Any,
) -> int:
    """Check a message and send it: a message FILE, or one made from options.

    A message with errors is not sent, and the errors are listed as by `brenner check`. Warnings do
    not stop it. --fix sends the corrected message, and lists what was corrected. A reply
    (--reply-to) goes to the sender of the message that it answers; --thread and --to are optional.
    Without FILE and options, standard input is read. For --if-position, `brenner mail thread ID
    --json` has the `position`.
    """
    is_composed = any(map(_is_given, flags.values()))
    _check_usage(file, key, is_composed=is_composed)
    if fix and no_check:
        message = "--fix and --no-check cannot be used together."
        raise click.UsageError(message)
    name = None if is_composed else file or STANDARD_INPUT
    read = None if name is None else read_message(name, settings)
    if isinstance(read, Diagnostic):
        return _report_unreadable(read, name or "", settings)
    with workspace_for_writing(settings) as here:
        given = compose(flags, here, reply_to) if read is None else read
        if isinstance(given, Diagnostic):
            return _report_unreadable(given, _option_at_fault(given), settings)
        actor = settings.actor if name else here.actor
        project = here.project
        options = SendOptions(
            actor, not no_check, reply_to, key, position, project.operator, project, anyway=anyway
        )
        text, fixed = _corrected(here.mailbox, given, options) if fix else (given, ())
        outcome = _with_place(send_text(here.mailbox, text, options), project)
    if outcome.sent:
        note_changes_made()
    if settings.as_json:
        places = [_locate(found, given, name)[1].to_json() for found in fixed]
        write_json(_document(outcome, text, name) | {"fixed": places})
    else:
        has_keys = Capability.IDEMPOTENCY_KEYS not in here.mailbox.lacks
        _write_fixed(fixed, given, name)
        _write(outcome, text, name, has_keys=has_keys)
    return EXIT_OK if outcome.sent else EXIT_INVALID


def _with_place(outcome: Outcome, project: Project) -> Outcome:
    found = tuple(with_place(each, project) for each in outcome.report.violations)
    return outcome._replace(report=outcome.report._replace(violations=found))


def _check_usage(file: str | None, key: str | None, *, is_composed: bool) -> None:
    if key is not None and not key.strip():
        message = "--key needs a text. Without --key the message is always sent."
        raise click.UsageError(message)
    if file is not None and is_composed:
        message = "Give a FILE or the parts of the message as options, not both."
        raise click.UsageError(message)
    if file is None and not is_composed and (sys.stdin is None or sys.stdin.isatty()):
        message = (
            "Give a FILE, `-` to read from the standard input, or --thread, --to and --subject."
        )
        raise click.UsageError(message)


def _corrected(
    mailbox: Mailbox, text: str, options: SendOptions
) -> tuple[str, tuple[Diagnostic, ...]]:
    """Return the corrected message and what was wrong in the given one.

    The mailbox corrects a mistyped thread. Where it finds another error, only the text is
    corrected. If not every error has a certain correction, return the text as given.
    """
    report = drafts.examine_text(mailbox, text, options)
    if report.corrected is None:
        report = check_message(text, options.actor)
    if report.corrected is None:
        return text, ()
    return report.corrected, tuple(found for found in report.violations if found.fixable)


def _write_fixed(fixed: tuple[Diagnostic, ...], text: str, name: str | None) -> None:
    """Write what was corrected, one line for each."""
    if not fixed:
        return
    from brenner.diagnostics.repeats import place_text  # most messages have nothing to correct

    for group in grouped_diagnostics(_locate(each, text, name) for each in fixed):
        place = place_text(group.places[0], group.first.line)
        said = " ".join(filter(None, (group.first.message, group.other_places())))
        sys.stderr.write(f"{place}  fixed {group.code_text}  {said}\n")


def _locate(found: Diagnostic, text: str, name: str | None) -> tuple[str, Diagnostic]:
    """Return the file or option that a diagnostic is about, and the diagnostic in it.

    A composed message has no file name.
    """
    if name is not None:
        return "<stdin>" if name == STANDARD_INPUT else name, found
    part, moved = drafts.locate_in_draft(text, found)
    return _OPTION_OF_PART[part], moved


_OPTION_OF_HEADER = {
    "thread ID": "--thread",
    "sender": "--as",
    "recipient": "--to",
    "subject": "--subject",
}


def _option_at_fault(found: Diagnostic) -> str:
    """Return the option with a text that cannot be part of a message."""
    return _OPTION_OF_HEADER.get(str(dict(found.parameters).get("what")), "--body")


def _report_unreadable(found: Diagnostic, name: str, settings: Settings) -> int:
    if settings.as_json:
        write_json(_document(Outcome(Report(None, None, (found,)), None), "", name))
    else:
        write_diagnostics([found], _locate(found, "", name)[0], sys.stderr)
    return EXIT_USAGE if found.id in _UNREADABLE_CODES else EXIT_INVALID


def _document(outcome: Outcome, text: str, name: str | None) -> dict[str, object]:
    """Return the JSON document. Line numbers count in the file or option that the user gave."""
    report, sent = outcome.report, outcome.sent
    return {
        "sent": bool(sent and sent.is_new),
        "duplicate": bool(sent and not sent.is_new),
        "message": stored_json(sent.stored) if sent else None,
        "valid": report.valid,
        "summary": report.summary._asdict(),
        "violations": [_locate(found, text, name)[1].to_json() for found in report.violations],
        "corrected": report.corrected,
    }


def _write(outcome: Outcome, text: str, name: str | None, *, has_keys: bool) -> None:
    found = sorted(outcome.report.violations, key=worst_first)
    write_placed_diagnostics((_locate(each, text, name) for each in found), sys.stderr)
    if outcome.sent:
        _write_sent(outcome.sent, has_keys=has_keys)
    else:
        _write_refused(outcome.report, text, name)


def _write_sent(sent: SendResult, *, has_keys: bool) -> None:
    """Write what happened, then what to do next.

    A store without keys treats equal content as sent before.
    """
    stored = sent.stored
    message = stored.message
    if sent.is_new:
        to = joined(message.recipients)
        print_message(f"Sent message {stored.id} to {to} in {escape_control(message.thread_id)}.")
    else:
        by_key = " with this key" if has_keys else ""
        print_message(f"Already sent{by_key}, as message {stored.id}. Nothing was sent.")
    if stored.acknowledges:
        noun = "message" if len(stored.acknowledges) == 1 else "messages"
        print_hint(f"It acknowledges {noun} {joined(map(str, stored.acknowledges))}.")
    elif wants_ack(message):
        thread = quote(escape_control(message.thread_id))
        print_hint(f"To see who owes an ACK: `brenner mail pending --thread {thread}`")
    else:
        thread = thread_argument(message.thread_id)
        print_hint(f"To read the thread: `brenner mail thread {thread}`")


def _write_refused(report: Report, text: str, name: str | None) -> None:
    print_message(f"Not sent: {count_by_severity(report.summary)}.", sys.stderr)
    file = None if name == STANDARD_INPUT else name
    if report.corrected is None:
        located = [_locate(each, text, name)[1] for each in report.violations]
        command = fix_command(file, is_partial=True) if file else ""
        print_hint(cannot_fix_text(located, command), sys.stderr)
    elif file is None:
        hint = "Add `--json` to get the corrected message, as `corrected`, or `--fix` to send it."
        print_hint(hint, sys.stderr)
    else:
        if check_message(text).corrected == report.corrected:  # no store was needed for it
            print_hint(f"To print the corrected message: `{fix_command(file)}`", sys.stderr)
        again = (
            f"brenner mail send --fix {'-- ' * file.startswith('-')}{quote(escape_control(file))}"
        )
        print_hint(f"To send it: `{again}`", sys.stderr)
