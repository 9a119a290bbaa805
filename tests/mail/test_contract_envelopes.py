"""The contract, what stands on a message: its importance, copies, the trust in its sender.

And mail that names no thread: it begins one, which is called after its id.
"""

import pytest

from brenner.mail.mailbox import Capability, Mailbox
from brenner.mail.search import Query
from brenner.protocol.messages import (
    DEFAULT_ENVELOPE,
    Envelope,
    Importance,
    StoredMessage,
    Trust,
    content_hash,
)
from mail.backends import SECOND_VIEW, Place
from mail.other_store import history, restore
from mail.sample_mail import (
    ANN,
    BEA,
    CAT,
    QUESTION,
    ack,
    error_code,
    in_backends_with,
    introduce,
    listed,
    make_message,
    post,
    whole,
)

URGENT = Envelope(Importance.URGENT, (CAT,))


def seen(stored: StoredMessage) -> tuple[Importance, tuple[str, ...]]:
    """What every home keeps of an envelope."""
    return stored.envelope.importance, stored.envelope.cc


# Importance and copies


@pytest.mark.parametrize("importance", Importance)
@pytest.mark.parametrize("cc", [(), (CAT,), (BEA, CAT)], ids=["none", "one", "all"])
def test_it_comes_back(mailbox: Mailbox, importance: Importance, cc: tuple[str, ...]) -> None:
    """Wherever the message is read; who gets it as a copy gets it."""
    sent = mailbox.send(make_message("A word."), envelope=Envelope(importance, cc)).stored
    assert seen(sent) == (importance, cc)
    assert sent.message.recipients == (BEA, CAT)
    found = (
        mailbox.message(sent.id),
        *mailbox.thread(sent.message.thread_id).messages,
        *mailbox.arrivals(0),
        *(record.stored for record in mailbox.records()),
        *(received.stored for received in mailbox.inbox(CAT).messages),
        *mailbox.search(Query((("word",),))).messages,
    )
    assert found == (sent,) * 6
    assert listed(mailbox.inbox(BEA)) == [sent.id]


@in_backends_with(SECOND_VIEW)
def test_another_view_sees_the_same(place: Place) -> None:
    """It is kept with the message."""
    introduce(place.mailbox)
    sent = place.mailbox.send(make_message(), envelope=URGENT).stored
    assert place.again().message(sent.id) == sent


def test_it_says_nothing_of_the_content(mailbox: Mailbox) -> None:
    """An artifact follows from the mail, whatever stands on it."""
    plain = post(mailbox, make_message())
    urgent = mailbox.send(make_message(), envelope=URGENT).stored
    assert plain.content_hash == urgent.content_hash
    assert plain.message == urgent.message


def test_who_gets_a_copy_owes_an_ack(mailbox: Mailbox) -> None:
    """As everybody who got it does."""
    asked = mailbox.send(make_message(subject=QUESTION), envelope=URGENT).stored
    assert [debt.debtor for debt in mailbox.debts()] == [BEA, CAT]
    post(mailbox, ack(str(asked.id), sender=CAT))
    assert [debt.debtor for debt in mailbox.debts()] == [BEA]


def test_a_copy_for_a_stranger_is_a_mistake(mailbox: Mailbox) -> None:
    """It would go to nobody, and nobody would be told."""
    before = whole(mailbox)
    with pytest.raises(ValueError, match=ANN):
        mailbox.send(make_message(), envelope=Envelope(cc=(CAT, ANN)))
    assert whole(mailbox) == before


def test_a_copy_is_for_somebody_once(mailbox: Mailbox) -> None:
    """As recipients are."""
    assert mailbox.send(make_message(), envelope=Envelope(cc=(CAT, CAT))).stored.envelope.cc == (
        CAT,
    )


@in_backends_with(Capability.IDEMPOTENCY_KEYS)
@pytest.mark.parametrize("other", [Envelope(Importance.HIGH, (CAT,)), Envelope(Importance.URGENT)])
def test_a_key_belongs_to_one_envelope(mailbox: Mailbox, other: Envelope) -> None:
    """With another one, what it says would be lost in silence."""
    mailbox.send(make_message(), key="k", envelope=URGENT)
    assert error_code(mailbox.send, make_message(), key="k", envelope=other) == "KEY_REUSED"


def test_a_repeated_send_is_the_first(mailbox: Mailbox) -> None:
    """With the same key and the same on it."""
    first = mailbox.send(make_message(), key="k", envelope=URGENT)
    again = mailbox.send(make_message(), key="k", envelope=URGENT)
    assert (again.stored, again.is_new) == (first.stored, False)


def test_another_envelope_is_never_passed_over(mailbox: Mailbox) -> None:
    """Sent, or refused; but nowhere taken for the message that is there."""
    mailbox.send(make_message(), key="k")
    if Capability.IDEMPOTENCY_KEYS in mailbox.lacks:
        assert mailbox.send(make_message(), key="k", envelope=URGENT).is_new
    else:
        assert error_code(mailbox.send, make_message(), key="k", envelope=URGENT) == "KEY_REUSED"


# Trust


@in_backends_with(Capability.TRUST)
@pytest.mark.parametrize("trust", Trust)
def test_trust_comes_back(mailbox: Mailbox, trust: Trust) -> None:
    """As the caller found out."""
    sent = mailbox.send(make_message(), envelope=Envelope(trust=trust)).stored
    assert sent.envelope.trust is trust
    assert mailbox.message(sent.id) == sent


@in_backends_with(Capability.TRUST)
def test_what_nobody_says_is_not_trusted(mailbox: Mailbox) -> None:
    """A sender of whom nothing is known is unverified; mail that is written here is local."""
    unknown = mailbox.send(make_message(), envelope=Envelope(trust=None)).stored
    assert unknown.envelope.trust is Trust.UNVERIFIED
    assert post(mailbox, make_message()).envelope == DEFAULT_ENVELOPE


@in_backends_with(Capability.TRUST)
def test_a_repeated_send_keeps_its_trust(mailbox: Mailbox) -> None:
    """Who repeats it may have shown a secret meanwhile: it is the first message all the same."""
    first = mailbox.send(make_message(), key="k", envelope=Envelope(trust=Trust.UNVERIFIED))
    again = mailbox.send(make_message(), key="k", envelope=Envelope(trust=Trust.VERIFIED))
    assert (again.stored, again.is_new) == (first.stored, False)


@in_backends_with(Capability.TRUST, Capability.EXACT_RESTORE)
def test_imported_mail_is_unverified(place: Place) -> None:
    """Whatever another store says of its senders; what else stands on it comes along."""
    other = history()
    restore(place.mailbox, other)
    here = place.mailbox.arrivals(0)
    assert {one.envelope.trust for one in here} == {Trust.UNVERIFIED}
    assert {one.envelope.trust for one in other.arrivals(0)} == {Trust.LOCAL, Trust.VERIFIED}
    assert [seen(one) for one in here] == [seen(one) for one in other.arrivals(0)]
    assert (Importance.URGENT, (ANN,)) in map(seen, here)


def test_taken_over_with_its_envelope(place: Place) -> None:
    """Also by a home that gives new ids: how urgent it is, and for whom it is a copy."""
    other = history()
    restore(place.mailbox, other)
    there = {one.content_hash: seen(one) for one in other.arrivals(0)}
    here = {one.content_hash: seen(one) for one in place.mailbox.arrivals(0)}
    assert here == there


# Mail without a thread


@pytest.mark.every_store
def test_it_begins_a_thread(mailbox: Mailbox) -> None:
    """Called after its id; answers go there."""
    first = post(mailbox, make_message("Lunch?", thread="", subject="lunch"))
    second = post(mailbox, make_message("Dinner?", thread="", subject="dinner"))
    assert first.message == make_message("Lunch?", thread=str(first.id), subject="lunch")
    assert second.message.thread_id == str(second.id)
    assert first.content_hash == content_hash(first.message)
    answer = post(mailbox, make_message("Yes.", sender=BEA, to=(ANN, CAT), thread=str(first.id)))
    assert mailbox.thread(str(first.id)).messages == (first, answer)
    assert {each.thread_id: each.position for each in mailbox.threads()} == {
        str(first.id): 2,
        str(second.id): 1,
    }
    assert not mailbox.thread("").position


def test_it_can_be_found(mailbox: Mailbox) -> None:
    """As any message."""
    sent = post(mailbox, make_message("Lunch?", thread=""))
    assert mailbox.message(sent.id) == sent
    assert mailbox.search(Query(threads=(str(sent.id),))).messages == (sent,)
    assert listed(mailbox.inbox(BEA)) == [sent.id]


def test_a_key_holds_without_a_thread(mailbox: Mailbox) -> None:
    """The thread that it began is its own: a second send is the first one."""
    first = mailbox.send(make_message(thread=""), key="k")
    post(mailbox, make_message("between"))
    again = mailbox.send(make_message(thread=""), key="k")
    assert (again.stored, again.is_new) == (first.stored, False)
    explicit = mailbox.send(make_message(thread=str(first.stored.id)), key="k")
    assert (explicit.stored, explicit.is_new) == (first.stored, False)


@in_backends_with(Capability.IDEMPOTENCY_KEYS)
def test_a_key_of_another_thread_is_taken(mailbox: Mailbox) -> None:
    """What went into a thread is not what begins one."""
    mailbox.send(make_message(), key="k")
    assert error_code(mailbox.send, make_message(thread=""), key="k") == "KEY_REUSED"


def test_nothing_is_in_a_thread_that_begins(mailbox: Mailbox) -> None:
    """So that is the position on which one can insist."""
    post(mailbox, make_message())
    assert mailbox.send(make_message(thread=""), position=0).is_new
    before = whole(mailbox)
    assert error_code(mailbox.send, make_message(thread=""), position=1) == "THREAD_MOVED"
    assert whole(mailbox) == before


def test_an_answer_begins_no_thread(mailbox: Mailbox) -> None:
    """It stands in that of its question, and has to say so."""
    asked = post(mailbox, make_message())
    assert error_code(mailbox.send, make_message(thread=""), reply_to=asked.id) == "REPLY_ELSEWHERE"


def test_an_ack_that_begins_a_thread_settles_nothing(mailbox: Mailbox) -> None:
    """A debt is settled in its own thread."""
    asked = post(mailbox, make_message(subject=QUESTION, to=(BEA,)))
    sent = post(mailbox, ack(str(asked.id), thread=""))
    assert sent.acknowledges == ()
    assert [debt.debtor for debt in mailbox.debts()] == [BEA]


def test_debts_in_it(mailbox: Mailbox) -> None:
    """A question that begins a thread is owed an ACK there."""
    asked = post(mailbox, make_message(subject=QUESTION, to=(BEA,), thread=""))
    post(mailbox, ack(str(asked.id), thread=str(asked.id)))
    assert mailbox.debts() == ()
