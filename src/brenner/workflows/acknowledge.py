"""Acknowledge a message: an `ACK:` message to its sender, in its thread.

Status is a function of the thread, so this is the only way, whatever command or tool is used.
"""

from hashlib import sha256
from typing import NamedTuple

from brenner.diagnostics.codes import messages as codes
from brenner.diagnostics.model import BrennerError, Refused
from brenner.mail.mailbox import Ability, Mailbox
from brenner.mail.model import PLAIN, Envelope, Sent, Stored, Trust
from brenner.mail.rules import check_recipient
from brenner.protocol.message_types import ACK_STATUSES, PLACEHOLDER
from brenner.protocol.messages import Message
from brenner.protocol.subjects import compose_subject
from brenner.workflows.keys import stored_key

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
        raise Refused(codes.INVALID_SECTION_VALUE.at(None, **words))
    if left := PLACEHOLDER.findall(notes):
        shown = ", ".join(f"`{each}`" for each in dict.fromkeys(left))
        raise Refused(codes.TEMPLATE_NOT_FILLED_IN.at(placeholders=shown))
    mailbox.agent(name)
    stored = mailbox.message(message_id)
    check_recipient(stored, name)
    before = _acknowledgement(mailbox, said)
    if before and (status, notes) == (RECEIVED, ""):
        sent = Sent(before, is_new=False)
    else:
        sent = _send(mailbox, stored, said)
    return Acknowledged(sent, _unmarked(mailbox, said, sent.stored))


def _unmarked(mailbox: Mailbox, said: Acknowledgement, ack: Stored) -> BrennerError | None:
    """Mark what it acknowledges; why that failed. The ACK is stored in any case."""
    if Ability.READ_MARKS in mailbox.lacks:
        return None
    try:
        mailbox.mark(said.name, {said.message_id, *ack.acknowledges}, is_read=True)
    except BrennerError as error:
        return error
    return None


def _send(mailbox: Mailbox, stored: Stored, said: Acknowledgement) -> Sent:
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


def _acknowledgement(mailbox: Mailbox, said: Acknowledgement) -> Stored | None:
    """The ACK that settled it, written by hand or by this.

    Who is believed is not taken for having said what somebody else may have said in her name.
    """
    deliveries = mailbox.deliveries(said.message_id)
    by = [each.acknowledged_by for each in deliveries if each.recipient == said.name]
    ack = mailbox.message(by[0]) if by and by[0] is not None else None
    is_doubtful = ack and ack.is_local and ack.envelope.trust is Trust.UNVERIFIED
    return None if is_doubtful and said.envelope.trust is not Trust.UNVERIFIED else ack


def _body(stored: Stored, status: str, notes: str) -> str:
    more = f"\n## Notes\n{notes.strip()}\n" if notes.strip() else ""
    return f"# Acknowledgement\n\n## Message ID\n{stored.id}\n\n## Status\n{status}\n{more}"
