"""The contract, following: who waits hears of new mail, all of it, in the order of coming in."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from brenner.mail.mailbox import Mailbox
from mail.backends import SECOND_VIEW, Place
from mail.other_store import history
from mail.sample_mail import (
    BEA,
    ELSEWHERE,
    THREAD,
    error_code,
    in_backends_with,
    introduce,
    make_message,
    post,
)

LONG = 120  # seconds: longer than any of this takes, so that only news can end a wait
SHORT = 0.2


def test_a_position_counts_what_came_in(mailbox: Mailbox) -> None:
    """In all threads; what was refused did not come in."""
    assert mailbox.position() == 0
    for number in range(1, 5):
        error_code(mailbox.send, make_message(to=()))
        stored = post(mailbox, make_message(thread=(THREAD, ELSEWHERE)[number % 2]))
        assert (stored.arrival, mailbox.position()) == (number, number)


def test_arrivals_are_contiguous(place: Place, mailbox: Mailbox) -> None:
    """From any place, in pages of any size, whatever the clock does."""
    sent = []
    for hours in (0, 5, -9, 1, 0, -4):
        place.clock.move(timedelta(hours=hours))
        sent.append(post(mailbox, make_message(f"{hours} hours")))
    assert [stored.arrival for stored in sent] == [1, 2, 3, 4, 5, 6]
    for after in range(8):
        assert mailbox.arrivals(after) == tuple(sent[after:])
        for limit in range(8):
            assert mailbox.arrivals(after, limit) == tuple(sent[after:][:limit])
    assert mailbox.arrivals(-1) == tuple(sent)
    assert mailbox.arrivals(2**63) == ()
    assert mailbox.arrivals(10**30, 10**30) == ()


@pytest.mark.parametrize("position", [-1, 0, 1])
def test_news_that_is_there_already(mailbox: Mailbox, position: int) -> None:
    """Comes at once."""
    for _ in range(2):
        post(mailbox, make_message())
    assert mailbox.wait(position, LONG) == 2


@pytest.mark.parametrize("position", [2, 3, 2**63, 10**30])
@pytest.mark.parametrize("seconds", [0, SHORT])
def test_no_news(mailbox: Mailbox, position: int, seconds: float) -> None:
    """The time is up, and the position is what it was."""
    for _ in range(2):
        post(mailbox, make_message())
    assert mailbox.wait(position, seconds) == 2


def test_marking_is_no_news(mailbox: Mailbox) -> None:
    """Only messages are."""
    stored = post(mailbox, make_message())
    mailbox.mark(BEA, [stored.id], is_read=True)
    assert mailbox.wait(1, 0) == 1


def send_later(place: Place, count: int) -> None:
    """From another process's view, where the home has one; else from another thread."""
    time.sleep(SHORT)
    if not place.home.again:
        for number in range(count):
            place.mailbox.send(make_message(str(number)))
        return
    with place.home.again(place.folder, place.clock) as other:
        for number in range(count):
            other.send(make_message(str(number)))


@pytest.mark.every_store
def test_news_that_comes_while_waiting(place: Place, mailbox: Mailbox) -> None:
    """Ends the wait; following from position to position misses nothing and repeats nothing."""
    position = post(mailbox, make_message("first")).arrival
    heard: list[str] = []
    with ThreadPoolExecutor(1) as others:
        sending = others.submit(send_later, place, 20)
        while len(heard) < 20:
            reached = mailbox.wait(position, LONG)
            assert reached > position
            arrivals = mailbox.arrivals(position)
            heard += [stored.message.body for stored in arrivals]
            position = arrivals[-1].arrival
        sending.result()
    assert heard == [str(number) for number in range(20)]
    assert mailbox.wait(position, 0) == position == 21


@in_backends_with(SECOND_VIEW)
def test_imported_mail_is_news(place: Place) -> None:
    """It comes in now, however old it is."""
    introduce(place.mailbox)
    post(place.mailbox, make_message())
    old = next(history().records())
    follower = place.again()
    assert follower.wait(1, 0) == 1
    place.mailbox.restore((), [old])
    assert follower.wait(1, LONG) == 2
    assert [one.content_hash for one in follower.arrivals(1)] == [old.stored.content_hash]
