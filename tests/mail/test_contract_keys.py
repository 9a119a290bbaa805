"""The contract, idempotency keys: a second send with a key is the first one, or it is refused."""

from datetime import timedelta

import pytest

from brenner.mail.mailbox import Capability, Mailbox
from brenner.protocol.messages import Message
from mail.backends import SECOND_VIEW, Place
from mail.sample_mail import (
    BEA,
    ELSEWHERE,
    error_code,
    in_backends_with,
    introduce,
    make_message,
    post,
    whole,
)

HOUR = timedelta(hours=1)


@pytest.mark.every_store
def test_a_second_send_with_a_key_is_the_first(place: Place, mailbox: Mailbox) -> None:
    """Later, after other mail, and as often as one likes."""
    first = mailbox.send(make_message(), key="round-1")
    assert first.is_new
    post(mailbox, make_message("between"))
    place.clock.move(HOUR)
    before = whole(mailbox)
    for _ in range(2):
        again = mailbox.send(make_message(), key="round-1")
        assert (again.stored, again.is_new) == (first.stored, False)
    assert whole(mailbox) == before


def test_a_repeated_conditional_send_is_the_first(mailbox: Mailbox) -> None:
    """The thread has moved by that very message: an answer that was lost is asked for again."""
    first = mailbox.send(make_message(), key="v1", position=0)
    again = mailbox.send(make_message(), key="v1", position=0)
    assert (again.stored, again.is_new) == (first.stored, False)


@in_backends_with(Capability.IDEMPOTENCY_KEYS)
@pytest.mark.parametrize(
    "other",
    [
        make_message("other"),
        make_message(subject="INFO: other"),
        make_message(thread=ELSEWHERE),
        make_message(to=(BEA,)),
        make_message()._replace(ack_required=True),
    ],
    ids=["body", "subject", "thread", "recipients", "ack"],
)
def test_a_key_belongs_to_one_message(mailbox: Mailbox, other: Message) -> None:
    """With another content, one of the two would be lost in silence."""
    mailbox.send(make_message(), key="k")
    before = whole(mailbox)
    assert error_code(mailbox.send, other, key="k") == "KEY_REUSED"
    assert whole(mailbox) == before


@in_backends_with(Capability.IDEMPOTENCY_KEYS)
def test_a_key_belongs_to_one_answer(mailbox: Mailbox) -> None:
    """The same text in reply to another message is another send."""
    first, second = post(mailbox, make_message("first")), post(mailbox, make_message("second"))
    mailbox.send(make_message(), reply_to=first.id, key="k")
    code = error_code(mailbox.send, make_message(), reply_to=second.id, key="k")
    assert code == "KEY_REUSED"


def test_keys_are_the_senders_own(mailbox: Mailbox) -> None:
    """The same key of somebody else is another key."""
    mine = mailbox.send(make_message(), key="k")
    hers = mailbox.send(make_message(sender=BEA), key="k")
    assert hers.is_new
    assert hers.stored.id != mine.stored.id
    assert not mailbox.send(make_message(sender=BEA), key="k").is_new


def test_a_refused_send_leaves_its_key_free(mailbox: Mailbox) -> None:
    """What was not sent is not the first one."""
    error_code(mailbox.send, make_message("x", to=("Nobody",)), key="k")
    error_code(mailbox.send, make_message("y"), key="k", position=7)
    assert mailbox.send(make_message("z"), key="k").is_new


@pytest.mark.parametrize("key", ["k" * 200, "é" * 100, "k\n", "K", "ｋ", " k", "'", "%"], ids=ascii)
def test_keys_are_compared_exactly(mailbox: Mailbox, key: str) -> None:
    """Not by case, blanks or width."""
    mailbox.send(make_message("first"), key="k")
    sent = mailbox.send(make_message("second"), key=key)
    assert sent.is_new
    assert mailbox.send(make_message("second"), key=key).stored == sent.stored


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
    assert error_code(mailbox.send, make_message(), key=key) == code
    assert whole(mailbox) == before


@in_backends_with(SECOND_VIEW)
def test_a_key_holds_in_every_process(place: Place) -> None:
    """The retry may come from another one."""
    introduce(place.mailbox)
    first = place.mailbox.send(make_message(), key="k")
    other = place.again()
    assert other.send(make_message(), key="k") == (first.stored, False)


@in_backends_with(SECOND_VIEW, Capability.IDEMPOTENCY_KEYS)
def test_a_key_is_taken_in_every_process(place: Place) -> None:
    """Another message may not come with it from anywhere."""
    introduce(place.mailbox)
    place.mailbox.send(make_message(), key="k")
    other = place.again()
    assert error_code(other.send, make_message("other"), key="k") == "KEY_REUSED"
