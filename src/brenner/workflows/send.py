"""Send a message: check it, and store it if it may be sent.

What has errors is not stored: its author gets the diagnostics and the corrected message. Warnings
go through.
"""

from collections.abc import Iterator
from typing import NamedTuple

from brenner.check.message import check_composed, check_message
from brenner.check.report import Report
from brenner.diagnostics.codes import input as input_codes
from brenner.diagnostics.codes import mail as codes
from brenner.diagnostics.codes.message_body import (
    MISSING_RECOMMENDED_SECTION,
    PLACEHOLDER_LEFT,
    TEMPLATE_NOT_FILLED_IN,
)
from brenner.diagnostics.errors import Refused
from brenner.diagnostics.model import Diagnostic, worst_first
from brenner.grammar import AGENT_NAME
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import PLAIN, Envelope, Sent, Stored, type_of
from brenner.mail.rules import unknown_recipients, unknown_sender
from brenner.project import OPERATOR, Project
from brenner.session.acknowledgements import UNREADABLE, named_messages
from brenner.thread.messages import Message, parse_message_file
from brenner.thread.types import UNFILLED_NAME


class SendOptions(NamedTuple):
    """How to send. `actor` is who sends, where that is known; none of the others is needed.

    With a `project` references to other sessions are looked at.
    """

    actor: str | None = None
    check: bool = True
    reply_to: int | None = None
    key: str | None = None
    position: int | None = None
    operator: str = OPERATOR
    project: Project | None = None
    envelope: Envelope = PLAIN


class Outcome(NamedTuple):
    """What the check found, and what was stored; nothing where there were errors."""

    report: Report
    sent: Sent | None


def send_text(mailbox: Mailbox, text: str, options: SendOptions) -> Outcome:
    """Send the message in the text of a message file."""
    report = check_message(text, options.actor)
    file = parse_message_file(text)
    if not options.check:
        return Outcome(report, _store(mailbox, file.message, options))
    return _send(mailbox, file.message, report, options, file.body_line - 1)


def send_composed(
    mailbox: Mailbox, message: Message, options: SendOptions
) -> tuple[Outcome, Message | None]:
    """Send a message that was never a file, or say how it has to be. Lines count in the body."""
    report, corrected = check_composed(message)
    outcome = _send(mailbox, message, report, options)
    return outcome, corrected if outcome.report.corrected is not None else None


def _send(
    mailbox: Mailbox, message: Message, report: Report, options: SendOptions, lines_before: int = 0
) -> Outcome:
    """Store what was checked, if it may be sent."""
    # What is advice before sending is an error now, and one fault is told once.
    kept = [found for found in report.violations if found.code is not input_codes.NO_RECIPIENT]
    report = _filled_in(report._replace(violations=tuple(kept)))
    strangers = list(_in_this_mailbox(mailbox, message))
    if strangers:  # no correction can make them known
        report = _with(report, strangers)._replace(corrected=None)
    if not report.valid:
        return Outcome(report, None)
    found = _foreseen(mailbox, message, options)
    report = _with(report, [each.moved(lines_before) for each in found])
    sent = _store(mailbox, message, options)
    if sent.is_new and type_of(message) == "ACK":
        report = _advised(report, mailbox, sent.stored)
    return Outcome(report, sent)


def _foreseen(mailbox: Mailbox, message: Message, options: SendOptions) -> list[Diagnostic]:
    """What would be refused in a DELTA as its thread stands."""
    if type_of(message) != "DELTA":
        return []
    from brenner.workflows.preview import foreseen  # only who contributes pays

    return list(foreseen(mailbox, message, options.operator, options.project))


def _filled_in(report: Report) -> Report:
    """The report in which a form that was not filled in is an error, told once."""
    left = [found for found in report.violations if found.code is PLACEHOLDER_LEFT]
    if not left:
        return report
    kept = [found for found in report.violations if found.code is not PLACEHOLDER_LEFT]
    places = ", ".join(f"line {found.line}" for found in left if found.line)
    error = TEMPLATE_NOT_FILLED_IN.at(left[0].line, placeholders=places or "in its headers")
    return _with(report._replace(violations=tuple(kept), corrected=None), [error])


def _advised(report: Report, mailbox: Mailbox, ack: Stored) -> Report:
    """The report with what the mailbox has to say of an ACK that names a message wrongly, or none.

    Who names none and settles nothing has heard of the missing section: one fault is told once.
    """
    named = named_messages(ack.message.body, ack.reply_to)
    if named and named != UNREADABLE:
        return _with(report, list(_misnamed(mailbox, ack.message, named)))
    if ack.acknowledges:
        return report
    thread_id = ack.message.thread_id
    debts = mailbox.debts(ack.message.sender, thread_id)
    ids = ", ".join(f"message {debt.first.id}" for debt in debts) or "none"
    kept = [each for each in report.violations if each.code is not MISSING_RECOMMENDED_SECTION]
    advice = codes.ACK_NAMES_NOTHING.at(thread=thread_id, debts=ids)
    return _with(report._replace(violations=tuple(kept)), [advice])


def _store(mailbox: Mailbox, message: Message, options: SendOptions) -> Sent:
    return mailbox.send(
        message,
        reply_to=options.reply_to,
        key=options.key,
        position=options.position,
        envelope=options.envelope,
    )


def _with(report: Report, found: list[Diagnostic]) -> Report:
    return report._replace(violations=tuple(sorted((*report.violations, *found), key=worst_first)))


def _in_this_mailbox(mailbox: Mailbox, message: Message) -> Iterator[Diagnostic]:
    """What only the mailbox can tell: whether everybody named is known.

    A name that cannot be one is told by the check of the message, and so are missing headers. What
    a template left to be filled in is nobody to be registered.
    """
    known = {agent.name for agent in mailbox.agents()}
    if _is_a_name(message.sender):
        sender = unknown_sender(message.sender, known)
        yield from [sender] if sender else []
    recipients = tuple(filter(_is_a_name, message.recipients))
    yield from unknown_recipients(message._replace(recipients=recipients), known)
    if message.sender and not message.recipients:
        yield codes.SENT_TO_NOBODY.at()


def _is_a_name(word: str) -> bool:
    return word != UNFILLED_NAME and AGENT_NAME.fullmatch(word) is not None


def _misnamed(mailbox: Mailbox, ack: Message, named: tuple[int, ...]) -> Iterator[Diagnostic]:
    """What an ACK names and cannot settle."""
    for message_id in named:
        target = _in_thread(mailbox, ack.thread_id, message_id)
        if target is None:
            yield codes.ACK_OF_UNKNOWN.at(id=message_id, thread=ack.thread_id)
        elif ack.sender not in target.message.recipients:
            yield codes.ACK_BY_OTHER.at(id=message_id, name=ack.sender)


def _in_thread(mailbox: Mailbox, thread_id: str, message_id: int) -> Stored | None:
    try:
        stored = mailbox.message(message_id)
    except Refused:
        return None
    return stored if stored.message.thread_id == thread_id else None
