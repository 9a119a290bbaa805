"""Acknowledge a message: an `ACK:` message to its sender, in its thread.

Status is a function of the thread, so this is the only way, whatever command or tool is used.
"""

from hashlib import sha256
from typing import NamedTuple

from brenner.diagnostics.codes import message_body as codes
from brenner.diagnostics.errors import Refused
from brenner.mail.abilities import Ability
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import PLAIN, Envelope, Sent, Stored
from brenner.mail.rules import check_recipient
from brenner.thread.messages import Message
from brenner.thread.subjects import compose_subject
from brenner.thread.types import ACK_STATUSES, PLACEHOLDER

RECEIVED = "Received"


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
    """Acknowledge a message on this machine."""
    return send_ack(mailbox, Acknowledgement(name, message_id, status, notes))


def send_ack(mailbox: Mailbox, said: Acknowledgement) -> Sent:
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
    before = _acknowledgement(mailbox, name, message_id)
    if before and (status, notes) == (RECEIVED, ""):
        sent = Sent(before, is_new=False)
    else:
        sent = _send(mailbox, stored, said)
    if Ability.READ_MARKS not in mailbox.lacks:
        mailbox.mark(name, {message_id, *sent.stored.acknowledges}, is_read=True)
    return sent


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
        key=f"ack {stored.id} {sha256(words).hexdigest()[:16]}",
        envelope=said.envelope,
    )


def _acknowledgement(mailbox: Mailbox, name: str, message_id: int) -> Stored | None:
    """The ACK that settled it, written by hand or by this."""
    by = [d.acknowledged_by for d in mailbox.deliveries(message_id) if d.recipient == name]
    return mailbox.message(by[0]) if by and by[0] is not None else None


def _body(stored: Stored, status: str, notes: str) -> str:
    more = f"\n## Notes\n{notes.strip()}\n" if notes.strip() else ""
    return f"# Acknowledgement\n\n## Message ID\n{stored.id}\n\n## Status\n{status}\n{more}"
