"""Acknowledge messages, and list, resend and escalate pending ACKs.

An ACK is an `ACK:` message to the sender, in the same thread. Status is computed from the thread,
so every command and tool acknowledges this way.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from brenner.diagnostics.codes import messages as codes
from brenner.diagnostics.model import BrennerError, RequestError
from brenner.mail.mailbox import Capability, Mailbox
from brenner.mail.model import PendingAck, SendResult
from brenner.mail.rules import check_recipient
from brenner.mail.sealed import independent_round_of, threads_that_may_be_independent
from brenner.markdown.escape import one_paragraph
from brenner.named_tuple import NamedTuple
from brenner.protocol.independent_round import IndependentRound, is_delayed
from brenner.protocol.message_types import ACK, ACK_STATUSES, CRITIQUE, DELTA, PLACEHOLDER
from brenner.protocol.messages import DEFAULT_ENVELOPE, Envelope, Message, StoredMessage, Trust, iso
from brenner.protocol.subjects import compose_subject
from brenner.services.send import stored_key
from brenner.services.send_checks import refuse_secrets
from brenner.session.model import ack_due
from brenner.text import escape_control

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime, timedelta

RECEIVED = "Received"


def acknowledge(
    mailbox: Mailbox, name: str, message_id: int, status: str = RECEIVED, notes: str = ""
) -> SendResult:
    """Acknowledge a message on this machine. Repeating the call finishes what failed."""
    sent, unmarked = send_ack(mailbox, name, message_id, status, notes)
    if unmarked:
        raise unmarked
    return sent


def send_ack(  # noqa: PLR0913, PLR0917
    mailbox: Mailbox,
    name: str,
    message_id: int,
    status: str = RECEIVED,
    notes: str = "",
    envelope: Envelope = DEFAULT_ENVELOPE,
) -> tuple[SendResult, BrennerError | None]:
    """Send the ACK, and mark the message and its copies as read.

    The same ACK is sent once, and repeating the call finishes what was interrupted. The envelope
    says how far the sender is verified. Return the error if the message could not be marked as
    read: to raise it would be wrong, because the ACK is sent. A store without read marks gets only
    the ACK.
    """
    if status not in ACK_STATUSES:
        expected = "one of " + ", ".join(ACK_STATUSES)
        words = {"section": "Status", "value": status, "expected": expected}
        raise RequestError(codes.INVALID_SECTION_VALUE.at(None, **words))
    if left := PLACEHOLDER.findall(notes):
        shown = ", ".join(f"`{each}`" for each in dict.fromkeys(left))
        raise RequestError(codes.TEMPLATE_NOT_FILLED_IN.at(placeholders=shown))
    refuse_secrets(mailbox, "", notes)
    mailbox.agent(name)
    stored = mailbox.message(message_id)
    check_recipient(stored, name)
    before = _earlier_ack(mailbox, name, message_id, envelope.trust)
    if before and (status, notes) == (RECEIVED, ""):
        sent = SendResult(before, is_new=False)
    else:
        # The key contains the status, since it can go on from Received to Completed.
        words_digest = sha256(f"{status}\n{notes}".encode(errors="surrogatepass")).hexdigest()
        sent = mailbox.send(
            Message(
                thread_id=stored.message.thread_id,
                sender=name,
                recipients=(stored.message.sender,),
                subject=compose_subject("ACK", stored.message.subject),
                body=_body(stored, status, notes),
            ),
            reply_to=stored.id,
            key=stored_key(f"ack {stored.id} {words_digest[:16]}", envelope.trust),
            envelope=envelope,
        )
    return sent, _mark_read(mailbox, name, {message_id, *sent.stored.acknowledges})


def _mark_read(mailbox: Mailbox, name: str, ids: set[int]) -> BrennerError | None:
    """Mark the acknowledged messages as read, and return the error if that failed."""
    if Capability.READ_MARKS in mailbox.lacks:
        return None
    try:
        mailbox.mark(name, ids, is_read=True)
    except BrennerError as error:
        return error
    return None


def _earlier_ack(
    mailbox: Mailbox, name: str, message_id: int, trust: Trust | None
) -> StoredMessage | None:
    """Return the ACK or contribution of the agent that settled the message before, or None.

    An unverified ACK does not count for a verified sender: another agent may have sent it.
    """
    deliveries = mailbox.deliveries(message_id)
    by = [each.acknowledged_by for each in deliveries if each.recipient == name]
    ack = mailbox.message(by[0]) if by and by[0] is not None else None
    if ack and (ack.message.sender != name or ack.type not in (ACK.name, DELTA.name)):
        return None  # the end of the session settled it, but the agent has not confirmed receipt
    is_doubtful = ack and ack.is_local and ack.envelope.trust is Trust.UNVERIFIED
    return None if is_doubtful and trust is not Trust.UNVERIFIED else ack


def _body(stored: StoredMessage, status: str, notes: str) -> str:
    more = f"\n## Notes\n{notes.strip()}\n" if notes.strip() else ""
    return f"# Acknowledgement\n\n## Message ID\n{stored.id}\n\n## Status\n{status}\n{more}"


# Pending ACKs: which are overdue, resend and escalate
#
# (Message document, ACK Workflow: unacknowledged messages after a timeout.)


class DueAck(NamedTuple):
    """A pending ACK, and its deadline. That of a sealed message has not started (R33)."""

    pending: PendingAck
    due: datetime
    is_overdue: bool
    is_sealed: bool = False


def pending_acks(
    mailbox: Mailbox,
    now: datetime,
    deadline: timedelta,
    *,
    debtor: str | None = None,
    thread_id: str | None = None,
) -> tuple[DueAck, ...]:
    """Return every pending ACK, the oldest first. The deadline counts from the last sending."""
    owed = mailbox.debts(debtor, thread_id)
    rounds = _independent_rounds(mailbox, owed)
    dues = [_due(pending, deadline, rounds) for pending in owed]
    return tuple(
        DueAck(pending, due, due < now, _is_sealed(pending, rounds))
        for pending, due in zip(owed, dues, strict=True)
    )


def _is_sealed(pending: PendingAck, rounds: Mapping[str, IndependentRound]) -> bool:
    last = pending.last
    found = rounds.get(last.message.thread_id)
    return found is not None and found.ended_by is None and is_delayed(found, last.type, last.at)


def _due(
    pending: PendingAck, deadline: timedelta, rounds: Mapping[str, IndependentRound]
) -> datetime:
    """Return the deadline. That of a sealed CRITIQUE starts with v1 (R33)."""
    last = pending.last
    found = rounds.get(last.message.thread_id)
    if found is None or not is_delayed(found, last.type, last.at):
        return ack_due(last.at, deadline, is_sealed=False)
    end = found.ended_by
    return ack_due(last.at, deadline, end.at if end else None, is_sealed=end is None)


def _independent_rounds(
    mailbox: Mailbox, owed: Sequence[PendingAck]
) -> dict[str, IndependentRound]:
    """Return the independent first rounds of the threads in which a CRITIQUE is owed an ACK."""
    threads = {each.last.message.thread_id for each in owed if each.last.type == CRITIQUE.name}
    candidates = threads & threads_that_may_be_independent(mailbox) if threads else threads
    found = {each: independent_round_of(mailbox, each) for each in candidates}
    return {thread_id: each for thread_id, each in found.items() if each}


def resend(mailbox: Mailbox, overdue: Iterable[DueAck]) -> tuple[SendResult, ...]:
    """Send each message again, to the agents that have not acknowledged it.

    The copy has the same content, so acknowledging either settles both. The idempotency key names
    the sending and the recipients, so that two simultaneous runs send one copy. The copy keeps the
    trust of the first message. Imported mail is not resent: its sender was never verified here.
    Nor is what is sealed for the caller, who does not have its text (R33).
    """
    debtors: dict[str, list[PendingAck]] = {}
    for each in overdue:
        if each.pending.first.is_local and not each.pending.first.is_sealed:
            debtors.setdefault(each.pending.first.content_hash, []).append(each.pending)
    return tuple(_resend(mailbox, pending) for pending in debtors.values())


def _resend(mailbox: Mailbox, pending: list[PendingAck]) -> SendResult:
    first = min((each.first for each in pending), key=lambda stored: stored.id)
    last = max((each.last for each in pending), key=lambda stored: stored.id)
    names = tuple(sorted(each.debtor for each in pending))
    copies = tuple(name for name in names if name in first.envelope.cc)
    return mailbox.send(
        first.message._replace(recipients=names),
        reply_to=first.id,
        key=f"resend after {last.id} to {_digest(names)}",
        envelope=first.envelope._replace(cc=copies),
    )


def escalate(
    mailbox: Mailbox, overdue: Iterable[DueAck], sender: str, operator: str
) -> tuple[SendResult, ...]:
    """Send the operator one message per thread about overdue ACKs, unless escalated before.

    ACKs of the sender and of the operator are left out. An overdue ACK in an escalation that the
    operator has not acknowledged is not repeated.
    """
    threads: dict[str, list[DueAck]] = {}
    for each in overdue:
        if each.pending.debtor not in (operator, sender):
            threads.setdefault(each.pending.first.message.thread_id, []).append(each)
    to_escalate = {
        thread_id: _not_yet_escalated(mailbox, each, sender, operator)
        for thread_id, each in threads.items()
    }
    messages = [
        _escalation(name, pending, sender, operator)
        for name, pending in to_escalate.items()
        if pending
    ]
    return tuple(
        mailbox.send(message, key=f"escalate {_digest([message.body])}") for message in messages
    )


def _not_yet_escalated(
    mailbox: Mailbox, overdue: list[DueAck], sender: str, operator: str
) -> list[DueAck]:
    """Return those that are in no open escalation, except one by the debtor itself.

    The operator owes no ACK for an escalation of its own, so such an escalation stays open.
    """
    thread_id = overdue[0].pending.first.message.thread_id
    owed = mailbox.debts(operator, thread_id) if mailbox.agents([operator]) else ()
    escalations = [pending.first.message for pending in owed if pending.first.type == "BLOCKED"]
    if sender == operator:
        thread = mailbox.thread(thread_id).messages
        own = (each.message for each in thread if each.message.recipients == (operator,))
        escalations += [each for each in own if each.sender == operator and each.type == "BLOCKED"]
    return [
        each
        for each in overdue
        if not any(
            message.sender != each.pending.debtor
            and _escalation_line_start(each.pending) in message.body
            for message in escalations
        )
    ]


def _escalation_line_start(pending: PendingAck) -> str:
    return f"- {pending.debtor} has not acknowledged message {pending.first.id} ("


def _digest(parts: Iterable[str]) -> str:
    return sha256("\n".join(parts).encode()).hexdigest()[:32]


def _escalation(thread_id: str, overdue: list[DueAck], sender: str, operator: str) -> Message:
    count = len(overdue)
    debtors = ", ".join(sorted({each.pending.debtor for each in overdue}))
    description = f"{count} ACK{'s' * (count != 1)} overdue from {debtors}"
    lines = [
        f"{_escalation_line_start(pending)}`{_without_backticks(pending.first.message.subject)}`,"
        f" from {pending.first.message.sender}, sent {_times_sent(pending)}; due {iso(due)})"
        for pending, due, *_ in overdue
    ]
    item = one_paragraph(escape_control(thread_id)) or "mail outside of any thread"
    body = (
        f"# Work Blocked\n\n## Item\n{item}\n\n## Blocker\n" + "\n".join(lines) + "\n\n"
        "## Type\nDependency\n\n## Needed\n"
        "An ACK from each of them (`brenner mail ack ID --as NAME`), or a decision to go on "
        "without.\n"
    )
    return Message(thread_id, sender, (operator,), compose_subject("BLOCKED", description), body)


def _times_sent(pending: PendingAck) -> str:
    when = iso(pending.first.at)
    return when if pending.times_sent == 1 else f"{pending.times_sent} times since {when}"


def _without_backticks(subject: str) -> str:
    """Return a subject that can be put between backticks."""
    return escape_control(subject).replace("`", "'")
