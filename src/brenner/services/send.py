"""Send a message: check it, and store it if it may be sent.

What has errors is not stored: its author gets the diagnostics and the corrected message. Warnings
go through.
"""

from collections.abc import Iterator
from hashlib import sha256
from typing import NamedTuple

from brenner.config import OPERATOR, Project
from brenner.diagnostics.codes import mail as mail_codes
from brenner.diagnostics.codes import messages as messages_codes
from brenner.diagnostics.codes.messages import (
    MISSING_RECOMMENDED_SECTION,
    PLACEHOLDER_LEFT,
    TEMPLATE_NOT_FILLED_IN,
)
from brenner.diagnostics.model import BrennerError, Diagnostic, RequestError, worst_first
from brenner.diagnostics.truncate import of_message
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import PLAIN, Envelope, Sent, StoredMessage, Trust, type_of
from brenner.mail.rules import unknown_recipients, unknown_sender
from brenner.protocol.body import UNREADABLE, named_messages
from brenner.protocol.grammar import AGENT_NAME
from brenner.protocol.message_types import ACK, UNFILLED_NAME
from brenner.protocol.messages import Message, parse_message_file
from brenner.protocol.validate import Report, check_composed, check_message, too_large


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
    found = unsendable(text, options.project)
    if found:
        return Outcome(Report(None, None, (found,)), None)
    report = check_message(text, options.actor)
    file = parse_message_file(text)
    if not options.check:
        return Outcome(report, _store(mailbox, file.message, options))
    return _send(mailbox, file.message, report, options, file.body_line - 1)


def unsendable(text: str, project: Project | None) -> Diagnostic | None:
    """Return what is wrong with a text that is longer than a message which is sent may be.

    This holds whether or not the message is checked. What the program composes may be longer.
    """
    return too_large(text, project.most_message_bytes) if project else None


def examine_text(mailbox: Mailbox, text: str, options: SendOptions) -> Report:
    """What `send_text` would say; nothing is stored."""
    found = unsendable(text, options.project)
    if found:
        return Report(None, None, (found,))
    file = parse_message_file(text)
    report = check_message(text, options.actor)
    return _examined(mailbox, file.message, report, options, file.body_line - 1)


def examine_composed(
    mailbox: Mailbox, message: Message, options: SendOptions
) -> tuple[Report, Message | None]:
    """The report of a message that was never a file, and how it has to be, where that is certain.

    Nothing is stored. Lines count in the body.
    """
    report, corrected = check_composed(message)
    report = _examined(mailbox, message, report, options)
    return report, corrected if report.corrected is not None else None


def _send(
    mailbox: Mailbox, message: Message, report: Report, options: SendOptions, lines_before: int = 0
) -> Outcome:
    """Store what was checked, if it may be sent."""
    report = _examined(mailbox, message, report, options, lines_before)
    if not report.valid:
        return Outcome(report, None)
    sent = _store(mailbox, message, options)
    return Outcome(report._replace(violations=ack_warnings(mailbox, sent, report.violations)), sent)


def _examined(
    mailbox: Mailbox, message: Message, report: Report, options: SendOptions, lines_before: int = 0
) -> Report:
    """The report with what only the mailbox can tell."""
    # What is advice before sending is an error now, and one fault is told once.
    kept = [found for found in report.violations if found.code is not messages_codes.NO_RECIPIENT]
    report = _filled_in(report._replace(violations=tuple(kept)))
    found = list(unknown_participants(mailbox, message, are_names_checked=True))
    if found:  # no correction can make them known
        report = _with(report, found)._replace(corrected=None)
    if not report.valid:
        return report
    ahead = _foreseen(mailbox, message, options)
    return _with(report, [each.moved(lines_before) for each in ahead])


def _foreseen(mailbox: Mailbox, message: Message, options: SendOptions) -> list[Diagnostic]:
    """What would be refused in a DELTA as its thread stands."""
    if type_of(message) != "DELTA":
        return []

    from brenner.services.preview import preview_merge  # loads the merge

    return list(preview_merge(mailbox, message, options.operator, options.project))


def _filled_in(report: Report) -> Report:
    """The report in which a form that was not filled in is an error, told once."""
    left = [found for found in report.violations if found.code is PLACEHOLDER_LEFT]
    if not left:
        return report
    kept = [found for found in report.violations if found.code is not PLACEHOLDER_LEFT]
    places = ", ".join(f"line {found.line}" for found in left if found.line)
    error = TEMPLATE_NOT_FILLED_IN.at(left[0].line, placeholders=places or "in its headers")
    return _with(report._replace(violations=tuple(kept), corrected=None), [error])


def ack_warnings(
    mailbox: Mailbox, sent: Sent, violations: tuple[Diagnostic, ...]
) -> tuple[Diagnostic, ...]:
    """The violations with what the mailbox has to say of an ACK, now that it is stored.

    It is stored, whatever happens now: who heard of a failure would send it again.
    """
    ack = sent.stored
    if not sent.is_new or ack.type != ACK.name:
        return violations
    try:
        return tuple(sorted(_advised(mailbox, ack, violations), key=worst_first))
    except BrennerError as error:
        what = "it is not known whether it names what you owe an ACK for"
        return (*violations, stored_with_warning(ack.id, what, error))


def stored_with_warning(message_id: int, what: str, error: BrennerError) -> Diagnostic:
    """That a message is stored, and something after it failed."""
    return mail_codes.STORED_WITH_TROUBLE.at(
        id=message_id, what=what, reason=error.diagnostic.message
    )


def _advised(
    mailbox: Mailbox, ack: StoredMessage, violations: tuple[Diagnostic, ...]
) -> Iterator[Diagnostic]:
    """With what is wrong in an ACK that names a message wrongly, or none.

    Who names none and settles nothing has heard of the missing section: one fault is told once.
    """
    named = named_messages(ack.message.body, ack.reply_to)
    if named and named != UNREADABLE:
        yield from violations
        yield from _misnamed(mailbox, ack.message, named)
        return
    if ack.acknowledges:
        yield from violations
        return
    thread_id = ack.message.thread_id
    debts = mailbox.debts(ack.message.sender, thread_id)
    ids = ", ".join(f"message {debt.first.id}" for debt in debts) or "none"
    yield from (each for each in violations if each.code is not MISSING_RECOMMENDED_SECTION)
    yield mail_codes.ACK_NAMES_NOTHING.at(thread=thread_id, debts=ids)


def _store(mailbox: Mailbox, message: Message, options: SendOptions) -> Sent:
    return mailbox.send(
        message,
        reply_to=options.reply_to,
        key=options.key,
        position=options.position,
        envelope=options.envelope,
    )


def _with(report: Report, found: list[Diagnostic]) -> Report:
    together = sorted((*report.violations, *found), key=worst_first)
    return report._replace(violations=of_message(together))


def unknown_participants(
    mailbox: Mailbox, message: Message, *, are_names_checked: bool = False
) -> Iterator[Diagnostic]:
    """Everybody who is named and not known; that nobody is named.

    Where a check of the message has told what cannot be a name, and missing headers, that is not
    said again. What a template left to be filled in is nobody to be registered.
    """
    known = {agent.name for agent in mailbox.agents()}
    names = [message.sender, *message.recipients]
    told = {name for name in names if are_names_checked and not _is_a_name(name)}
    sender = None if message.sender in told else unknown_sender(message.sender, known)
    yield from [sender] if sender else []
    recipients = tuple(name for name in message.recipients if name not in told)
    yield from unknown_recipients(message._replace(recipients=recipients), known)
    if not message.recipients and (message.sender or not are_names_checked):
        yield mail_codes.SENT_TO_NOBODY.at()


def _is_a_name(word: str) -> bool:
    return word != UNFILLED_NAME and AGENT_NAME.fullmatch(word) is not None


def _misnamed(mailbox: Mailbox, ack: Message, named: tuple[int, ...]) -> Iterator[Diagnostic]:
    """What an ACK names and cannot settle."""
    for message_id in named:
        target = _in_thread(mailbox, ack.thread_id, message_id)
        if target is None:
            yield mail_codes.ACK_OF_UNKNOWN.at(id=message_id, thread=ack.thread_id)
        elif ack.sender not in target.message.recipients:
            yield mail_codes.ACK_BY_OTHER.at(id=message_id, name=ack.sender)


def _in_thread(mailbox: Mailbox, thread_id: str, message_id: int) -> StoredMessage | None:
    try:
        stored = mailbox.message(message_id)
    except RequestError:
        return None
    return stored if stored.message.thread_id == thread_id else None


# What would become of a DELTA if its thread were compiled now: told to its author at sending.


# A message that somebody has put together from its parts: whom it goes to, and in which part
# something is wrong.


THREAD, FROM, TO, SUBJECT, DRAFTS_ACK, BODY, WHOLE = (
    *("thread", "from", "to", "subject", "ack"),
    *("body", "message"),
)
_PART_OF_LINE = (THREAD, FROM, TO, SUBJECT, DRAFTS_ACK)
# What only the mailbox can tell has no line
_PART_OF_CODE = {
    mail_codes.UNKNOWN_RECIPIENT.id: TO,
    mail_codes.SENT_TO_NOBODY.id: TO,
    mail_codes.UNKNOWN_SENDER.id: FROM,
}


def placed(text: str, found: Diagnostic) -> tuple[str, Diagnostic]:
    """The part of a composed message file that a fault is in, and the fault with its line there."""
    lines_before = text.partition("\n\n")[0].count("\n") + 2
    if found.line is None:
        return _PART_OF_CODE.get(found.id, WHOLE), found
    if found.line > lines_before:
        return BODY, found.moved(-lines_before)
    part = _PART_OF_LINE[min(found.line, len(_PART_OF_LINE)) - 1]
    return part, found._replace(line=None)


def answered_to(answered: StoredMessage, actor: str) -> tuple[str, ...]:
    """Whom an answer goes to: the sender. Who answers herself goes on speaking to those to whom
    she spoke.
    """
    message = answered.message
    others = tuple(name for name in message.recipients if name != actor)
    return others if message.sender == actor and others else (message.sender,)


# Idempotency keys by how far their senders are believed.
#
# A key belongs to a name. Whoever uses a name without its secret must not take the keys away from
# the one who has it: they would say of her message that it is another one, or there already.


_UNVERIFIED, _OWN = "unverified:", "own:"


def stored_key(key: str | None, trust: Trust | None) -> str | None:
    """The key under which a message is stored.

    Those of unverified mail are apart, and as long as any: no key that somebody gives is one.
    """
    if key is None:
        return None
    if trust is Trust.UNVERIFIED:
        return _UNVERIFIED + sha256(key.encode(errors="surrogatepass")).hexdigest()
    return _OWN + sha256(key.encode()).hexdigest() if key.startswith((_UNVERIFIED, _OWN)) else key
