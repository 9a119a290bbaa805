"""The contract, moving into a home that has mail: ids that are taken, links, mail that is known."""

import pytest

from brenner.mail.mailbox import Capability, Mailbox
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Delivery, MessageRecord, RestoreResult
from mail.backends import Clock, Place
from mail.other_store import history, imported, restore
from mail.sample_mail import (
    CAT,
    QUESTION,
    THREAD,
    ack,
    in_backends_with,
    introduce,
    make_message,
    owed,
    post,
)


@in_backends_with(Capability.EXACT_RESTORE)
@pytest.mark.parametrize("count", [1, 2, 5, 6, 9])
def test_ids_that_are_taken(mailbox: Mailbox, count: int) -> None:
    """They get others; links follow; what was here stays as it was."""
    mine = [post(mailbox, make_message(f"mine {number}")) for number in range(count)]
    other = history()
    records = list(other.records())
    done = restore(mailbox, other)
    ids = dict(done.renumbered)
    taken = {stored.id for stored in mine}
    assert (done.added, done.skipped, done.new_agents) == (len(records), 0, ())
    assert {one.stored.id for one in records if one.stored.id in taken} <= set(ids)
    assert mailbox.arrivals(0, count) == tuple(mine)
    assert list(mailbox.records())[count:] == [imported(one, ids, count) for one in records]
    assert len({stored.id for stored in mailbox.arrivals(0)}) == mailbox.position()


@in_backends_with(Capability.EXACT_RESTORE)
def test_ids_stay_up_to_the_first_that_is_taken(mailbox: Mailbox) -> None:
    """From there on they are new, in the order of the archive."""
    other = history()
    third = next(other.records()).stored._replace(
        id=3, origin_id=3, message=make_message("mine"), content_hash="0" * 64
    )
    mailbox.restore((), [MessageRecord(third)])
    renumbered = restore(mailbox, other).renumbered
    assert [old for old, _ in renumbered] == [3, 4, 5, 6]
    new = [number for _, number in renumbered]
    assert new == sorted(set(new))
    assert [stored.id for stored in mailbox.arrivals(0)] == [3, 1, 2, *new]


@in_backends_with(Capability.EXACT_RESTORE)
def test_an_import_keeps_its_order(mailbox: Mailbox) -> None:
    """R9: at one instant the id decides, so an answer must not get a lower one than its question.

    One id of the archive is taken here, the next ones are free, and a far higher one is in use.
    """
    mine = post(mailbox, make_message("mine"))
    other = MemoryMailbox(clock=Clock())
    introduce(other)
    sent = [post(other, make_message(f"archived {number}")) for number in range(3)]
    assert sent[0].id == mine.id
    assert sent[0].at == sent[2].at
    high = sent[0]._replace(
        id=100, origin_id=100, message=make_message("high"), content_hash="0" * 64
    )
    mailbox.restore((), [MessageRecord(high)])
    restore(mailbox, other)
    bodies = [stored.message.body for stored in mailbox.thread(THREAD).messages]
    assert [body for body in bodies if body.startswith("archived")] == [
        stored.message.body for stored in sent
    ]


@in_backends_with(Capability.EXACT_RESTORE)
def test_debts_follow_their_messages(mailbox: Mailbox) -> None:
    """An ACK that came with the mail still settles, and a new one settles what came."""
    for number in range(3):
        post(mailbox, make_message(f"mine {number}"))
    other = history()
    done = restore(mailbox, other)
    ids = dict(done.renumbered)
    expected = [
        (debtor, ids.get(first, first), ids.get(last, last), times)
        for debtor, first, last, times in owed(other.debts())
    ]
    assert sorted(owed(mailbox.debts())) == sorted(expected)
    asked = next(one for one in mailbox.arrivals(0) if one.message.subject == QUESTION)
    stored = post(mailbox, ack(str(asked.id), sender=CAT), reply_to=asked.id)
    assert stored.acknowledges == (asked.id,)
    assert not [debt for debt in mailbox.debts(CAT) if debt.first.id == asked.id]


@in_backends_with(Capability.EXACT_RESTORE)
def test_the_first_ack_counts(mailbox: Mailbox) -> None:
    """Acknowledged here, and in a copy of this store that went its own way."""
    asked = post(mailbox, make_message(subject=QUESTION, to=(CAT,)))
    other = MemoryMailbox(clock=Clock())
    restore(other, mailbox)
    post(other, ack(str(asked.id), sender=CAT))
    mine = post(mailbox, ack(f"#{asked.id}", sender=CAT))
    assert restore(mailbox, other).skipped == 1
    assert [stored.acknowledges for stored in mailbox.arrivals(1)] == [(asked.id,)] * 2
    assert mailbox.deliveries(asked.id) == (Delivery(CAT, None, False, mine.id),)


@in_backends_with(Capability.EXACT_RESTORE)
def test_a_free_id_stays(mailbox: Mailbox) -> None:
    """Though it leaves a gap; what comes after stands above all."""
    record = next(history().records())
    for number in (70, 50):
        moved = record._replace(stored=record.stored._replace(id=number, origin_id=number))
        assert mailbox.restore((), [moved]) == RestoreResult(1, 0, (), ())
        assert mailbox.message(number).content_hash == record.stored.content_hash
    assert post(mailbox, make_message()).id > 70
    assert [stored.arrival for stored in mailbox.arrivals(0)] == [1, 2, 3]


@in_backends_with(Capability.EXACT_RESTORE)
def test_the_same_id_with_other_content_is_new(mailbox: Mailbox) -> None:
    """And so is the same content with another id: an origin is both."""
    mine = post(mailbox, make_message())
    stored = mine._replace(message=make_message("other"), content_hash="0" * 64)
    assert mailbox.restore((), [MessageRecord(stored)]).added == 1
    resent = mine._replace(id=mine.id + 40, origin_id=mine.id + 40)
    assert mailbox.restore((), [MessageRecord(resent)]) == RestoreResult(1, 0, (), ())
    assert mailbox.restore((), [MessageRecord(mine)]) == RestoreResult(0, 1, (), ())


@in_backends_with(Capability.EXACT_RESTORE)
def test_an_origin_survives_every_journey(place: Place) -> None:
    """A message that came by two ways is one message."""
    source = history()
    between = MemoryMailbox(clock=Clock())
    introduce(between)
    post(between, make_message("between"))
    renumbered = restore(between, source).renumbered
    assert renumbered
    assert restore(place.mailbox, between).added == source.position() + 1
    assert restore(place.mailbox, source) == RestoreResult(0, source.position(), (), ())
    origins = [one.origin_id for one in place.mailbox.arrivals(0)]
    assert origins == [1, *(one.id for one in source.arrivals(0))]


@in_backends_with(Capability.EXACT_RESTORE)
def test_a_link_to_a_message_that_was_known(mailbox: Mailbox) -> None:
    """What is skipped is still what others answer to."""
    post(mailbox, make_message("mine"))
    other = history()
    records = list(other.records())
    first = mailbox.restore(other.agents(), records[:3])
    ids = dict(first.renumbered)
    second = mailbox.restore(other.agents(), records)
    assert (second.added, second.skipped) == (len(records) - 3, 3)
    ids |= dict(second.renumbered)
    assert list(mailbox.records())[1:] == [imported(record, ids, 1) for record in records]


@in_backends_with(Capability.EXACT_RESTORE)
def test_a_link_never_leads_to_a_stranger(mailbox: Mailbox) -> None:
    """The message that it meant is not in the archive; one of ours has its id."""
    mine = [post(mailbox, make_message(f"mine {number}")).id for number in range(3)]
    records = list(history().records())
    assert records[2].stored.reply_to == mine[0]
    assert mailbox.restore((), [records[2], records[4]]).added == 2
    for stored in mailbox.arrivals(3):
        assert stored.reply_to not in mine
        assert not set(stored.acknowledges) & set(mine)
