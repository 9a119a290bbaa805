"""Links of imported mail: only those that a store could have given them itself."""

import pytest

from brenner.mail.mailbox import Capability, Mailbox
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import MessageRecord, Profile
from mail.backends import LOOK_ALIKES
from mail.sample_mail import (
    ANN,
    BEA,
    ELSEWHERE,
    INFO,
    QUESTION,
    ack,
    in_backends_with,
    introduce,
    make_message,
    owed,
    post,
)


def forged(
    mailbox: Mailbox,
    number: int,
    *,
    reply_to: int | None = None,
    acknowledges: tuple[int, ...] = (),
) -> list[MessageRecord]:
    """The records of a mailbox, one of them with links that it was not given."""
    return [
        record._replace(stored=record.stored._replace(reply_to=reply_to, acknowledges=acknowledges))
        if record.stored.id == number
        else record
        for record in mailbox.records()
    ]


def test_an_import_cannot_settle_by_a_link_alone(mailbox: Mailbox) -> None:
    """What is no ACK, stands in another thread, or is by somebody else acknowledges nothing."""
    for subject, thread, sender in (
        (INFO, None, BEA),
        ("ACK: Received", ELSEWHERE, BEA),
        ("ACK: Received", None, "Operator"),
    ):
        other = MemoryMailbox()
        introduce(other)
        asked = post(
            other, make_message(f"{subject} {thread} {sender}", subject=QUESTION, to=(BEA,))
        )
        where = thread or asked.message.thread_id
        said = post(
            other, make_message("x", subject=subject, thread=where, sender=sender, to=(ANN,))
        )
        before = len(mailbox.debts())
        mailbox.restore(other.agents(), forged(other, said.id, acknowledges=(asked.id,)))
        assert len(mailbox.debts()) == before + 1
        assert mailbox.arrivals(0)[-1].acknowledges == ()


def test_an_import_cannot_reply_into_another_thread(mailbox: Mailbox) -> None:
    """A reply stands in the thread of what it answers."""
    other = MemoryMailbox()
    introduce(other)
    first = post(other, make_message("here"))
    second = post(other, make_message("there", thread=ELSEWHERE))
    mailbox.restore(other.agents(), forged(other, second.id, reply_to=first.id))
    assert [stored.reply_to for stored in mailbox.arrivals(0)] == [None, None]


@in_backends_with(Capability.EXACT_RESTORE)
def test_true_links_stay(mailbox: Mailbox) -> None:
    """An ACK by a recipient in the thread settles here what it settled there."""
    other = MemoryMailbox()
    introduce(other)
    asked = post(other, make_message("What?", subject=QUESTION, to=(BEA,)))
    post(other, ack(str(asked.id)), reply_to=asked.id)
    mailbox.restore(other.agents(), other.records())
    assert owed(mailbox.debts()) == []
    assert [stored.acknowledges for stored in mailbox.arrivals(0)] == [(), (1,)]


@in_backends_with(Capability.EXACT_RESTORE)
def test_the_same_content_under_the_origin_of_an_imported_one(mailbox: Mailbox) -> None:
    """An imported message had the id elsewhere that one of the same content gets here."""
    other = MemoryMailbox()
    introduce(other)
    post(other, make_message("first"))
    post(other, make_message("again"))
    (_, record) = other.records()
    mailbox.restore((), [record._replace(stored=record.stored._replace(id=1))])
    sent = post(mailbox, make_message("again"))
    assert (sent.id, sent.origin_id, sent.is_local) == (2, 2, True)


@in_backends_with(LOOK_ALIKES)
def test_a_look_alike_comes_with_its_mail(mailbox: Mailbox) -> None:
    """Two stores may have named their agents alike; mail that is stored keeps its names."""
    other = MemoryMailbox()
    other.register(Profile("B1ueLake"))
    other.register(Profile(BEA))
    post(other, make_message(sender="B1ueLake", to=(BEA,)))
    assert mailbox.restore(other.agents(), other.records()).new_agents == ("B1ueLake",)
    assert [each.stored.message.sender for each in mailbox.inbox(BEA).messages] == ["B1ueLake"]


@pytest.mark.every_store
def test_no_message_has_a_link_to_itself(mailbox: Mailbox) -> None:
    """Nor to one that comes after it."""
    other = MemoryMailbox()
    introduce(other)
    first = post(other, ack())
    second = post(other, make_message("later", sender=ANN, to=(BEA,)))
    links = (first.id, second.id)
    mailbox.restore((), forged(other, first.id, reply_to=first.id, acknowledges=links))
    assert [(one.reply_to, one.acknowledges) for one in mailbox.arrivals(0)] == [(None, ())] * 2
