"""The contract, idempotency keys: a second send with a key is the first one, or it is refused."""

from datetime import timedelta

import pytest

from brenner.mail.mailbox import Capability, Mailbox
from brenner.protocol.messages import Message
from mail.backends import SECOND_VIEW, Place
from mail.sample_mail import BEA, ELSEWHERE, in_homes_with, introduce, letter, post, refusal, whole

HOUR = timedelta(hours=1)


@pytest.mark.every_store
def test_a_second_send_with_a_key_is_the_first(place: Place, mailbox: Mailbox) -> None:
    """Later, after other mail, and as often as one likes."""
    first = mailbox.send(letter(), key="round-1")
    assert first.is_new
    post(mailbox, letter("between"))
    place.clock.move(HOUR)
    before = whole(mailbox)
    for _ in range(2):
        again = mailbox.send(letter(), key="round-1")
        assert (again.stored, again.is_new) == (first.stored, False)
    assert whole(mailbox) == before


def test_a_repeated_conditional_send_is_the_first(mailbox: Mailbox) -> None:
    """The thread has moved by that very message: an answer that was lost is asked for again."""
    first = mailbox.send(letter(), key="v1", position=0)
    again = mailbox.send(letter(), key="v1", position=0)
    assert (again.stored, again.is_new) == (first.stored, False)


@in_homes_with(Capability.IDEMPOTENCY_KEYS)
@pytest.mark.parametrize(
    "other",
    [
        letter("other"),
        letter(subject="INFO: other"),
        letter(thread=ELSEWHERE),
        letter(to=(BEA,)),
        letter()._replace(ack_required=True),
    ],
    ids=["body", "subject", "thread", "recipients", "ack"],
)
def test_a_key_belongs_to_one_message(mailbox: Mailbox, other: Message) -> None:
    """With another content, one of the two would be lost in silence."""
    mailbox.send(letter(), key="k")
    before = whole(mailbox)
    assert refusal(mailbox.send, other, key="k") == "KEY_REUSED"
    assert whole(mailbox) == before


@in_homes_with(Capability.IDEMPOTENCY_KEYS)
def test_a_key_belongs_to_one_answer(mailbox: Mailbox) -> None:
    """The same text in reply to another message is another send."""
    first, second = post(mailbox, letter("first")), post(mailbox, letter("second"))
    mailbox.send(letter(), reply_to=first.id, key="k")
    code = refusal(mailbox.send, letter(), reply_to=second.id, key="k")
    assert code == "KEY_REUSED"


def test_keys_are_the_senders_own(mailbox: Mailbox) -> None:
    """The same key of somebody else is another key."""
    mine = mailbox.send(letter(), key="k")
    hers = mailbox.send(letter(sender=BEA), key="k")
    assert hers.is_new
    assert hers.stored.id != mine.stored.id
    assert not mailbox.send(letter(sender=BEA), key="k").is_new


def test_a_refused_send_leaves_its_key_free(mailbox: Mailbox) -> None:
    """What was not sent is not the first one."""
    refusal(mailbox.send, letter("x", to=("Nobody",)), key="k")
    refusal(mailbox.send, letter("y"), key="k", position=7)
    assert mailbox.send(letter("z"), key="k").is_new


@pytest.mark.parametrize("key", ["k" * 200, "é" * 100, "k\n", "K", "ｋ", " k", "'", "%"], ids=ascii)
def test_keys_are_compared_exactly(mailbox: Mailbox, key: str) -> None:
    """Not by case, blanks or width."""
    mailbox.send(letter("first"), key="k")
    sent = mailbox.send(letter("second"), key=key)
    assert sent.is_new
    assert mailbox.send(letter("second"), key=key).stored == sent.stored


@pytest.mark.parametrize(
    ("key", "code"),
    [
        ("\x00", "UNSTORABLE_TEXT"),
        ("\ud800", "UNSTORABLE_TEXT"),
        ("k" * 201, "FIELD_TOO_LONG"),
        ("é" * 101, "FIELD_TOO_LONG"),
    ],
    ids=ascii,
)
def test_a_key_that_cannot_be_kept_is_refused(mailbox: Mailbox, key: str, code: str) -> None:
    """Nothing is sent then."""
    before = whole(mailbox)
    assert refusal(mailbox.send, letter(), key=key) == code
    assert whole(mailbox) == before


@in_homes_with(SECOND_VIEW)
def test_a_key_holds_in_every_process(place: Place) -> None:
    """The retry may come from another one."""
    introduce(place.mailbox)
    first = place.mailbox.send(letter(), key="k")
    other = place.again()
    assert other.send(letter(), key="k") == (first.stored, False)


@in_homes_with(SECOND_VIEW, Capability.IDEMPOTENCY_KEYS)
def test_a_key_is_taken_in_every_process(place: Place) -> None:
    """Another message may not come with it from anywhere."""
    introduce(place.mailbox)
    place.mailbox.send(letter(), key="k")
    other = place.again()
    assert refusal(other.send, letter("other"), key="k") == "KEY_REUSED"
