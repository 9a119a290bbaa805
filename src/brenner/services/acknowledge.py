"""Acknowledge a message: an `ACK:` message to its sender, in its thread.

Status is a function of the thread, so this is the only way, whatever command or tool is used.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import NamedTuple

from brenner.diagnostics.codes import messages as codes
from brenner.diagnostics.model import BrennerError, RequestError
from brenner.mail.mailbox import Capability, Mailbox
from brenner.mail.model import PLAIN, Envelope, PendingAck, Sent, StoredMessage, Trust
from brenner.mail.rules import check_recipient
from brenner.markdown.escape import one_paragraph
from brenner.protocol.message_types import ACK_STATUSES, PLACEHOLDER
from brenner.protocol.messages import Message, iso
from brenner.protocol.subjects import compose_subject
from brenner.services.send import stored_key
from brenner.text import escape_control

RECEIVED = "Received"


class Acknowledged(NamedTuple):
    """The ACK, and why what it acknowledges could not be marked as read, if it could not."""

    sent: Sent
    unmarked: BrennerError | None = None


class Acknowledgement(NamedTuple):
    """Who acknowledges which message, with which words, and how it is known that it is she."""

    name: str
    message_id: int
    status: str = RECEIVED
    notes: str = ""
    envelope: Envelope = PLAIN


def acknowledge(
    mailbox: Mailbox, name: str, message_id: int, status: str = RECEIVED, notes: str = ""
) -> Sent:
    """Acknowledge a message on this machine, where doing it again finishes what failed."""
    sent, unmarked = send_ack(mailbox, Acknowledgement(name, message_id, status, notes))
    if unmarked:
        raise unmarked
    return sent


def send_ack(mailbox: Mailbox, said: Acknowledgement) -> Acknowledged:
    """Send the ACK, and mark the message and its copies as read: who acknowledges has read.

    Where a home keeps no such marks, the ACK is all: it must not fail after it was sent. The same
    ACK is sent once. Whatever was interrupted is finished by doing it again.
    """
    name, message_id, status, notes, _ = said
    if status not in ACK_STATUSES:
        expected = "one of " + ", ".join(ACK_STATUSES)
        words = {"section": "Status", "value": status, "expected": expected}
        raise RequestError(codes.INVALID_SECTION_VALUE.at(None, **words))
    if left := PLACEHOLDER.findall(notes):
        shown = ", ".join(f"`{each}`" for each in dict.fromkeys(left))
        raise RequestError(codes.TEMPLATE_NOT_FILLED_IN.at(placeholders=shown))
    mailbox.agent(name)
    stored = mailbox.message(message_id)
    check_recipient(stored, name)
    before = _acknowledgement(mailbox, said)
    if before and (status, notes) == (RECEIVED, ""):
        sent = Sent(before, is_new=False)
    else:
        sent = _send(mailbox, stored, said)
    return Acknowledged(sent, _unmarked(mailbox, said, sent.stored))


def _unmarked(mailbox: Mailbox, said: Acknowledgement, ack: StoredMessage) -> BrennerError | None:
    """Mark what it acknowledges; why that failed. The ACK is stored in any case."""
    if Capability.READ_MARKS in mailbox.lacks:
        return None
    try:
        mailbox.mark(said.name, {said.message_id, *ack.acknowledges}, is_read=True)
    except BrennerError as error:
        return error
    return None


def _send(mailbox: Mailbox, stored: StoredMessage, said: Acknowledgement) -> Sent:
    # The status can go on from Received to Completed; saying the same again says nothing new.
    words = f"{said.status}\n{said.notes}".encode(errors="surrogatepass")
    return mailbox.send(
        Message(
            thread_id=stored.message.thread_id,
            sender=said.name,
            recipients=(stored.message.sender,),
            subject=compose_subject("ACK", stored.message.subject),
            body=_body(stored, said.status, said.notes),
        ),
        reply_to=stored.id,
        key=stored_key(f"ack {stored.id} {sha256(words).hexdigest()[:16]}", said.envelope.trust),
        envelope=said.envelope,
    )


def _acknowledgement(mailbox: Mailbox, said: Acknowledgement) -> StoredMessage | None:
    """The ACK that settled it, written by hand or by this.

    Who is believed is not taken for having said what somebody else may have said in her name.
    """
    deliveries = mailbox.deliveries(said.message_id)
    by = [each.acknowledged_by for each in deliveries if each.recipient == said.name]
    ack = mailbox.message(by[0]) if by and by[0] is not None else None
    is_doubtful = ack and ack.is_local and ack.envelope.trust is Trust.UNVERIFIED
    return None if is_doubtful and said.envelope.trust is not Trust.UNVERIFIED else ack


def _body(stored: StoredMessage, status: str, notes: str) -> str:
    more = f"\n## Notes\n{notes.strip()}\n" if notes.strip() else ""
    return f"# Acknowledgement\n\n## Message ID\n{stored.id}\n\n## Status\n{status}\n{more}"


# ACKs that are owed: which are overdue, and the two ways on: resend, escalate.
#
# (Message document, ACK Workflow: unacknowledged messages after a timeout.)


class Pending(NamedTuple):
    """An ACK that is owed, and until when it was asked for."""

    debt: PendingAck
    due: datetime
    is_overdue: bool


def pending(
    mailbox: Mailbox,
    now: datetime,
    deadline: timedelta,
    *,
    debtor: str | None = None,
    thread_id: str | None = None,
) -> tuple[Pending, ...]:
    """Every ACK that is owed, the oldest first. The deadline counts from the last sending."""
    owed = mailbox.debts(debtor, thread_id)
    dues = [_due(debt, deadline) for debt in owed]
    return tuple(Pending(debt, due, due < now) for debt, due in zip(owed, dues, strict=True))


def _due(debt: PendingAck, deadline: timedelta) -> datetime:
    """Until when; imported mail may bear any date."""
    last_moment = datetime.max.replace(tzinfo=UTC)
    return debt.last.at + deadline if debt.last.at < last_moment - deadline else last_moment


def resend(mailbox: Mailbox, overdue: Iterable[Pending]) -> tuple[Sent, ...]:
    """Send each message again, to those who still owe an ACK for it.

    The copy has the same content, so acknowledging either settles both. Running it twice at once
    sends one copy: the key says which sending it is, and to whom. Its sender is known as well as
    that of the first, no better. Imported mail is not resent: nobody here has seen who wrote it.
    """
    debtors: dict[str, list[PendingAck]] = {}
    for each in overdue:
        if each.debt.first.is_local:
            debtors.setdefault(each.debt.first.content_hash, []).append(each.debt)
    return tuple(_resend(mailbox, debts) for debts in debtors.values())


def _resend(mailbox: Mailbox, debts: list[PendingAck]) -> Sent:
    first = min((debt.first for debt in debts), key=lambda stored: stored.id)
    last = max((debt.last for debt in debts), key=lambda stored: stored.id)
    names = tuple(sorted(debt.debtor for debt in debts))
    copies = tuple(name for name in names if name in first.envelope.cc)
    return mailbox.send(
        first.message._replace(recipients=names),
        reply_to=first.id,
        key=f"resend after {last.id} to {_digest(names)}",
        envelope=first.envelope._replace(cc=copies),
    )


def escalate(
    mailbox: Mailbox, overdue: Iterable[Pending], sender: str, operator: str
) -> tuple[Sent, ...]:
    """Tell the operator, in one message for each thread, of what she has not been told yet.

    Nobody complains of herself, or to the operator of the operator. What an escalation says that
    she has not acknowledged is not said again, whoever asks.
    """
    threads: dict[str, list[Pending]] = {}
    for each in overdue:
        if each.debt.debtor not in (operator, sender):
            threads.setdefault(each.debt.first.message.thread_id, []).append(each)
    news = {thread_id: _untold(mailbox, each, operator) for thread_id, each in threads.items()}
    messages = [_escalation(name, debts, sender, operator) for name, debts in news.items() if debts]
    return tuple(
        mailbox.send(message, key=f"escalate {_digest([message.body])}") for message in messages
    )


def _untold(mailbox: Mailbox, overdue: list[Pending], operator: str) -> list[Pending]:
    """Those that stand in no open escalation to the operator, but for one by the debtor herself."""
    thread_id = overdue[0].debt.first.message.thread_id
    known = {agent.name for agent in mailbox.agents()}
    owed = mailbox.debts(operator, thread_id) if operator in known else ()
    told = [debt.first.message for debt in owed if debt.first.type == "BLOCKED"]
    return [
        each
        for each in overdue
        if not any(
            message.sender != each.debt.debtor and _complaint(each.debt) in message.body
            for message in told
        )
    ]


def _complaint(debt: PendingAck) -> str:
    return f"- {debt.debtor} has not acknowledged message {debt.first.id} ("


def _digest(parts: Iterable[str]) -> str:
    from hashlib import sha256  # only who sends needs it

    return sha256("\n".join(parts).encode()).hexdigest()[:32]


def _escalation(thread_id: str, overdue: list[Pending], sender: str, operator: str) -> Message:
    count = len(overdue)
    debtors = ", ".join(sorted({each.debt.debtor for each in overdue}))
    description = f"{count} ACK{'s' * (count != 1)} overdue from {debtors}"
    lines = [
        f"{_complaint(debt)}`{_plain(debt.first.message.subject)}`,"
        f" from {debt.first.message.sender}, sent {_times(debt)}; due {iso(due)})"
        for debt, due, _ in overdue
    ]
    item = one_paragraph(escape_control(thread_id)) or "mail outside of any thread"
    body = (
        f"# Work Blocked\n\n## Item\n{item}\n\n## Blocker\n" + "\n".join(lines) + "\n\n"
        "## Type\nDependency\n\n## Needed\n"
        "An ACK from each of them (`brenner mail ack ID --as NAME`), or a decision to go on "
        "without.\n"
    )
    return Message(thread_id, sender, (operator,), compose_subject("BLOCKED", description), body)


def _times(debt: PendingAck) -> str:
    when = iso(debt.first.at)
    return when if debt.times_sent == 1 else f"{debt.times_sent} times since {when}"


def _plain(subject: str) -> str:
    """A subject that may stand between backticks."""
    return escape_control(subject).replace("`", "'")
