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
    count_by_severity,
    note_changes_made,
    write_diagnostics,
    write_json,
)
from brenner.cli.terminal import print_hint, print_message
from brenner.cli.workspace import workspace_for_writing
from brenner.diagnostics.codes import messages as codes
from brenner.diagnostics.model import Diagnostic, worst_first
from brenner.mail.mailbox import Capability
from brenner.mail.model import SendResult, stored_json
from brenner.protocol.message_types import wants_ack
from brenner.protocol.messages import Message, render_message_file
from brenner.protocol.validate import Report
from brenner.services import send as drafts
from brenner.services.send import Outcome, SendOptions, send_text
from brenner.text import escape_control, joined, thread_argument

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    """Return the message file that the options describe, or a diagnostic of its unreadable body.

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
            f"A message that is made from options also needs {', '.join(missing)}. "
            "Or give a FILE: `brenner new TYPE` prints one to fill in."
        )
        raise click.UsageError(error)
    body = _read_body(parts["body"])
    if isinstance(body, Diagnostic):
        return body
    names = (name.strip() for each in parts["recipients"] for name in each.split(","))
    parts |= {"sender": here.actor, "recipients": tuple(filter(None, names)), "body": body}
    message = Message(**parts)
    _check_headers(message)
    return render_message_file(message)


def _is_given(value: object) -> bool:
    return value not in (None, ())


def _check_headers(message: Message) -> None:
    """Refuse line feeds, which would begin another header, and spaces that would be lost."""
    texts = (message.thread_id, message.sender, *message.recipients, message.subject)
    if any("\n" in text or "\r" in text for text in texts):
        error = "Thread, names and subject are one line each; longer text belongs in --body."
        raise click.UsageError(error)
    if message.thread_id != message.thread_id.strip():
        error = "A thread ID has no blanks at its ends: leave them out."
        raise click.UsageError(error)


def _read_body(value: str) -> str | Diagnostic:
    """Return the body. Text gets a final line feed; a file or the standard input stays as it is."""
    if value == STANDARD_INPUT:
        return read_text(STANDARD_INPUT)
    if value.startswith("@"):
        return read_text(value[1:])
    return value if value.endswith("\n") or not value else value + "\n"


_UNREADABLE_CODES = {codes.UNREADABLE_INPUT.id, codes.NOT_UTF8.id}
_NOT_SENT = {"sent": False, "duplicate": False, "message": None, "corrected": None}


@click.command(
    "send",
    cls=JsonCommand,
    json_defaults=_NOT_SENT,
    epilog=examples(
        "brenner mail send message.md",
        "brenner mail send --thread RS-20251230-cell-fate --to BlueLake,RedCreek \\",
        "    --subject 'INFO: T1 is running' --body 'Results by noon.'",
        "brenner mail send --reply-to 12 --subject 'ACK: Received' --body @ack.md",
    ),
)
@click.argument("file", required=False, metavar="[FILE|-]")
@click.option("--thread", "thread_id", metavar="ID", help="The thread it belongs to.")
@click.option(
    "--to", "recipients", multiple=True, metavar="NAME", help="Who gets it; repeatable, or A,B."
)
@click.option("--subject", metavar="TEXT", help="`PREFIX: description`.")
@click.option("--body", metavar="TEXT", help="The body; @FILE reads a file, - the standard input.")
@click.option(
    "--ack-required/--no-ack-required",
    default=None,
    help="Whether to ask for an ACK; else its type decides.",
)
@click.option("--reply-to", type=MESSAGE_ID, metavar="ID", help="The message that it answers.")
@click.option("--key", help="A repeated send by you with the same key is one message.")
@click.option(
    "--if-position",
    "position",
    type=Number(),
    metavar="N",
    help="Only if the thread still has N messages.",
)
@click.option("--no-check", is_flag=True, help="Send it, whatever is wrong with it.")
@common_options
def send(  # noqa: PLR0913  (one parameter per option)
    settings: Settings,
    *,
    file: str | None,
    reply_to: int | None,
    key: str | None,
    position: int | None,
    no_check: bool,
    **flags: Any,
) -> int:
    """Check a message and send it: a message FILE, or one made from options.

    A message with errors is not sent; what is wrong is said as by `brenner check`. Warnings are
    said, and the message goes out. With --reply-to the thread and the recipient may be left out:
    they are the thread and the sender of the message that is answered, or its recipients where it
    is your own. Without FILE and options the standard input is read. `brenner mail thread ID
    --json` gives the `position` for --if-position.

    Exit code 0: sent, or sent before with this key; 1: refused; 2: it cannot be read.
    """
    is_composed = any(map(_is_given, flags.values()))
    _check_usage(file, key, is_composed=is_composed)
    name = None if is_composed else file or STANDARD_INPUT
    read = None if name is None else read_message(name, settings)
    if isinstance(read, Diagnostic):
        return _report_unreadable(read, name or "", settings)
    with workspace_for_writing(settings) as here:
        text = compose(flags, here, reply_to) if read is None else read
        if isinstance(text, Diagnostic):
            return _report_unreadable(text, "--body", settings)
        actor = settings.actor if name else here.actor
        project = here.project
        options = SendOptions(
            actor, not no_check, reply_to, key, position, project.operator, project
        )
        outcome = send_text(here.mailbox, text, options)
    if outcome.sent:
        note_changes_made()
    if settings.as_json:
        write_json(_document(outcome, text, name))
    else:
        has_keys = Capability.IDEMPOTENCY_KEYS not in here.mailbox.lacks
        _write(outcome, text, name, has_keys=has_keys)
    return EXIT_OK if outcome.sent else EXIT_INVALID


def _check_usage(file: str | None, key: str | None, *, is_composed: bool) -> None:
    if key is not None and not key.strip():
        message = "--key needs a text; leave it out to send the message in any case."
        raise click.UsageError(message)
    if file is not None and is_composed:
        message = "Give a FILE or the parts of the message as options, not both."
        raise click.UsageError(message)
    if file is None and not is_composed and (sys.stdin is None or sys.stdin.isatty()):
        message = "Give a FILE, or - to read from the standard input, or --thread, --to, --subject."
        raise click.UsageError(message)


def _locate(found: Diagnostic, text: str, name: str | None) -> tuple[str, Diagnostic]:
    """Return the file or option that a diagnostic is about, and the diagnostic in it.

    A composed message has no file name.
    """
    if name is not None:
        return "<stdin>" if name == STANDARD_INPUT else name, found
    part, moved = drafts.locate_in_draft(text, found)
    return _OPTION_OF_PART[part], moved


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
    for found in sorted(outcome.report.violations, key=worst_first):
        place, located = _locate(found, text, name)
        write_diagnostics([located], place, sys.stderr)
    if outcome.sent:
        _write_sent(outcome.sent, has_keys=has_keys)
    else:
        _write_refused(outcome.report, name)


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
        print_message(f"Sent before{by_key}, as message {stored.id}; nothing was sent now.")
    if stored.acknowledges:
        settled = ", ".join(map(str, stored.acknowledges))
        acks = "ACK" if len(stored.acknowledges) == 1 else "ACKs"
        print_hint(f"It settles the {acks} that you owed for {settled}.")
    elif wants_ack(message):
        thread = quote(escape_control(message.thread_id))
        print_hint(f"`brenner mail pending --thread {thread}` shows who owes an ACK.")
    else:
        thread = thread_argument(message.thread_id)
        print_hint(f"`brenner mail thread {thread}` shows the thread.")


def _write_refused(report: Report, name: str | None) -> None:
    print_message(f"Not sent: {count_by_severity(report.summary)}.", sys.stderr)
    if report.corrected is None:
        print_hint(
            "There is no certain correction: at least one error needs its author.", sys.stderr
        )
    elif name is None or name == STANDARD_INPUT:
        print_hint("The same with `--json` has the message corrected, as `corrected`.", sys.stderr)
    else:
        file = "-- " * name.startswith("-") + quote(escape_control(name))
        print_hint(f"`brenner check --fix {file}` prints it corrected.", sys.stderr)
