"""Another store, from which mail is taken over, and what it must be afterwards."""

from datetime import timedelta

from brenner.mail.mailbox import Mailbox
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import MessageRecord, RestoreResult
from brenner.protocol.messages import Envelope, Importance, Trust
from mail.backends import Clock
from mail.sample_mail import ANN, BEA, CAT, ELSEWHERE, QUESTION, ack, introduce, make_message, post

HOUR = timedelta(hours=1)


def history() -> Mailbox:
    """Another store: two threads, replies, a resent question, an ACK, marks, a clock set back."""
    clock = Clock()
    clock.move(timedelta(days=-30))
    mailbox = MemoryMailbox(clock=clock)
    introduce(mailbox)
    asked = post(mailbox, make_message("What of it?", subject=QUESTION))
    clock.move(HOUR)
    copied = Envelope(Importance.URGENT, (ANN,), Trust.VERIFIED)
    mailbox.send(
        make_message("elsewhere", thread=ELSEWHERE, sender=CAT, to=(ANN,)), envelope=copied
    )
    again = post(mailbox, asked.message._replace(recipients=(BEA,)), reply_to=asked.id)
    clock.move(-5 * HOUR)
    answer = post(mailbox, make_message("This.", sender=BEA, to=(ANN,)), reply_to=again.id)
    mailbox.mark(BEA, [asked.id, again.id], is_read=True)
    clock.move(HOUR)
    mailbox.mark(ANN, [answer.id], is_read=True)
    post(mailbox, ack(str(asked.id)), reply_to=again.id)
    post(mailbox, make_message("\x1b[31mé\r\n", subject="", sender=CAT)._replace(ack_required=True))
    return mailbox


def imported(record: MessageRecord, ids: dict[int, int], arrivals: int = 0) -> MessageRecord:
    """What a record must be after an import that gave those ids."""
    stored = record.stored
    reply_to = None if stored.reply_to is None else ids.get(stored.reply_to, stored.reply_to)
    return record._replace(
        stored=stored._replace(
            id=ids.get(stored.id, stored.id),
            arrival=stored.arrival + arrivals,
            reply_to=reply_to,
            acknowledges=tuple(ids.get(number, number) for number in stored.acknowledges),
            is_local=False,
            envelope=stored.envelope._replace(trust=Trust.UNVERIFIED),
        )
    )


def restore(mailbox: Mailbox, other: Mailbox) -> RestoreResult:
    """Take over all of it, from iterators that can be walked only once."""
    return mailbox.restore(iter(other.agents()), other.records())
