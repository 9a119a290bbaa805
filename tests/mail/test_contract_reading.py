"""The contract, reading: messages, threads in their order (R9), pages that join to the whole."""

from datetime import timedelta
from itertools import product

import pytest

from brenner.mail.mailbox import Capability, Mailbox
from brenner.mail.model import Delivery, ThreadPage, ThreadSummary
from brenner.protocol.messages import StoredMessage
from mail.backends import SECOND_VIEW, Place
from mail.sample_mail import (
    ANN,
    BEA,
    CAT,
    ELSEWHERE,
    NO_MESSAGE,
    QUESTION,
    THREAD,
    ack,
    error_code,
    ids,
    in_backends_with,
    introduce,
    make_message,
    post,
    whole,
)

# Forward, not at all, a little back (which waits), and far back: R9's order is not that of arrival.
HOURS = (0.0, 0.0, 5.0, -0.5, -3.0, 0.0, 2.0)


def conversation(place: Place) -> list[StoredMessage]:
    """A thread with other mail between its messages, in the order in which it was sent."""
    sent = []
    for hours in HOURS:
        place.clock.move(timedelta(hours=hours))
        post(place.mailbox, make_message("other", thread=ELSEWHERE))
        sent.append(post(place.mailbox, make_message(f"after {hours} hours")))
    return sent


def in_order(messages: list[StoredMessage]) -> list[StoredMessage]:
    """R9: the store's time, then the id as a number."""
    return sorted(messages, key=lambda stored: (stored.at, stored.id))


@pytest.mark.parametrize("number", NO_MESSAGE)
def test_an_unknown_message_is_refused(mailbox: Mailbox, number: int) -> None:
    """A wrong number is not answered with another message, nor with nothing."""
    post(mailbox, make_message())
    assert error_code(mailbox.message, number) == "UNKNOWN_MESSAGE"


def test_stored_messages_never_change(place: Place, mailbox: Mailbox) -> None:
    """Whatever comes after: answers, ACKs, resends, marks."""
    first = post(mailbox, make_message(subject="QUESTION: x"))
    place.clock.move(timedelta(days=1))
    post(mailbox, ack(str(first.id)), reply_to=first.id)
    post(mailbox, first.message)
    mailbox.mark(CAT, [first.id], is_read=True)
    assert mailbox.message(first.id) == first
    assert mailbox.thread(THREAD).messages[0] == first


@in_backends_with(Capability.CLIENT_CLOCK)
def test_a_thread_stands_in_its_order(place: Place, mailbox: Mailbox) -> None:
    """R9: time, then id; where the clock went back, that is not the order of arrival."""
    sent = conversation(place)
    expected = in_order(sent)
    assert ids(expected) != ids(sent)
    assert mailbox.thread(THREAD) == ThreadPage(tuple(expected), len(sent), False, False)


def test_ids_are_numbers(mailbox: Mailbox) -> None:
    """At one instant the tenth message stands after the ninth."""
    sent = [post(mailbox, make_message(str(number))) for number in range(12)]
    assert list(mailbox.thread(THREAD).messages) == sent


@pytest.mark.parametrize(
    "thread_id", ["nobody-was-here", "", "%", "RS-20251230-CELL-FATE", "\x00", "\ud800"], ids=ascii
)
def test_an_unwritten_thread_is_empty(mailbox: Mailbox, thread_id: str) -> None:
    """IDs match exactly."""
    post(mailbox, make_message())
    assert mailbox.thread(thread_id) == ThreadPage((), 0, False, False)


def test_pages_of_every_size_and_place(place: Place, mailbox: Mailbox) -> None:
    """Each is the part of the whole that was asked for, and says what it leaves out."""
    order = in_order(conversation(place))
    places = [None, *range(len(order))]
    limits = (None, 0, 1, 3, len(order), len(order) + 1, 10**30)
    for limit, before, after in product(limits, places, places):
        start = 0 if after is None else after + 1
        window = order[start : len(order) if before is None else before]
        if limit is not None:
            window = window[:limit] if after is not None else window[max(0, len(window) - limit) :]
        page = mailbox.thread(
            THREAD,
            limit=limit,
            before=None if before is None else order[before].id,
            after=None if after is None else order[after].id,
        )
        assert page.messages == tuple(window)
        assert page.position == len(order)
        if window:
            has_more = (window[0] != order[0], window[-1] != order[-1])
            assert (page.has_earlier, page.has_later) == has_more


def test_pages_join_to_the_whole(place: Place, mailbox: Mailbox) -> None:
    """Back from the newest, and on from the oldest, without gaps or repeats."""
    order = in_order(conversation(place))
    for limit in (1, 2, 3, 7, 8):
        assert walk_back(mailbox, limit) == order
        assert walk_on(mailbox, limit, order[0]) == order


def walk_back(mailbox: Mailbox, limit: int) -> list[StoredMessage]:
    """A thread page by page, from its end."""
    page = mailbox.thread(THREAD, limit=limit)
    back = list(page.messages)
    while page.has_earlier:
        page = mailbox.thread(THREAD, limit=limit, before=back[0].id)
        back[:0] = page.messages
    return back


def walk_on(mailbox: Mailbox, limit: int, first: StoredMessage) -> list[StoredMessage]:
    """A thread page by page, from its first message on."""
    on = [first]
    has_later = True
    while has_later:
        page = mailbox.thread(THREAD, limit=limit, after=on[-1].id)
        on += page.messages
        has_later = page.has_later
    return on


@pytest.mark.parametrize("number", NO_MESSAGE)
def test_a_page_from_an_unknown_message_is_refused(mailbox: Mailbox, number: int) -> None:
    """In a thread with messages as in one without."""
    post(mailbox, make_message())
    for thread_id in (THREAD, "nobody-was-here"):
        code = error_code(mailbox.thread, thread_id, before=number)
        assert code == "UNKNOWN_MESSAGE"
        code = error_code(mailbox.thread, thread_id, after=number)
        assert code == "UNKNOWN_MESSAGE"


def test_a_page_from_another_threads_message_is_refused(mailbox: Mailbox) -> None:
    """Another thread's message is no place in this one."""
    post(mailbox, make_message())
    other = post(mailbox, make_message(thread=ELSEWHERE))
    assert error_code(mailbox.thread, THREAD, before=other.id) == "NOT_IN_THREAD"
    assert error_code(mailbox.thread, THREAD, after=other.id) == "NOT_IN_THREAD"


@in_backends_with(Capability.CLIENT_CLOCK)
def test_the_list_of_threads(place: Place, mailbox: Mailbox) -> None:
    """The one with the newest message first, by the store's time, whichever came in last."""
    start = place.clock.now
    hour = timedelta(hours=1)
    post(mailbox, make_message(thread="a"))
    place.clock.move(2 * hour)
    post(mailbox, make_message(thread="b"))
    place.clock.move(2 * hour)
    post(mailbox, make_message(thread="a"))
    place.clock.move(-3 * hour)
    post(mailbox, make_message(thread="c"))
    post(mailbox, make_message(thread="b"))
    expected = (
        ThreadSummary("a", 2, start, start + 4 * hour),
        ThreadSummary("b", 2, start + hour, start + 2 * hour),
        ThreadSummary("c", 1, start + hour, start + hour),
    )
    assert mailbox.threads() == expected
    for limit in range(5):
        assert mailbox.threads(limit) == expected[:limit]


def test_at_one_instant_the_later_id_is_the_newest(mailbox: Mailbox) -> None:
    """The list of threads is in R9's order too."""
    for thread_id in ("b", "a", "c", "b"):
        post(mailbox, make_message(thread=thread_id))
    assert [summary.thread_id for summary in mailbox.threads()] == ["b", "c", "a"]


def test_reading_changes_nothing(place: Place, mailbox: Mailbox) -> None:
    """Least of all what is unread."""
    stored = conversation(place)
    before = (whole(mailbox), mailbox.inbox(BEA))
    mailbox.message(stored[0].id)
    mailbox.thread(THREAD, limit=2, before=stored[1].id)
    mailbox.threads()
    mailbox.inbox(BEA, limit=1)
    mailbox.arrivals(0)
    mailbox.debts(BEA)
    list(mailbox.records())
    mailbox.wait(0, 0)
    assert (whole(mailbox), mailbox.inbox(BEA)) == before
    assert not any(received.is_read for received in mailbox.inbox(BEA).messages)


@pytest.mark.every_store
def test_what_became_of_a_message(mailbox: Mailbox) -> None:
    """At each recipient: what she owes, and what she acknowledged it by first."""
    asked = post(mailbox, make_message(subject=QUESTION, to=(CAT, ANN, BEA)))
    others = {Delivery(CAT, None, True, None), Delivery(ANN, None, False, None)}
    assert set(mailbox.deliveries(asked.id)) == {*others, Delivery(BEA, None, True, None)}
    answer = post(mailbox, ack(str(asked.id)))
    post(mailbox, ack(str(asked.id)))
    assert set(mailbox.deliveries(asked.id)) == {*others, Delivery(BEA, None, False, answer.id)}
    assert mailbox.deliveries(answer.id) == (Delivery(ANN, None, False, None),)


@in_backends_with(Capability.RECIPIENT_ORDER)
def test_recipients_stay_in_their_order(mailbox: Mailbox) -> None:
    """The one in which they were named."""
    asked = post(mailbox, make_message(subject=QUESTION, to=(CAT, ANN, BEA)))
    assert asked.message.recipients == (CAT, ANN, BEA)
    assert [each.recipient for each in mailbox.deliveries(asked.id)] == [CAT, ANN, BEA]


@in_backends_with(Capability.READ_MARKS, Capability.CLIENT_CLOCK)
def test_when_it_was_read(place: Place, mailbox: Mailbox) -> None:
    """By each recipient for herself."""
    told = post(mailbox, make_message())
    place.clock.move(timedelta(hours=1))
    mailbox.mark(CAT, [told.id], is_read=True)
    read_at = {each.recipient: each.read_at for each in mailbox.deliveries(told.id)}
    assert read_at == {BEA: None, CAT: place.clock.now}


@pytest.mark.parametrize("number", NO_MESSAGE)
def test_nothing_became_of_an_unknown_message(mailbox: Mailbox, number: int) -> None:
    """It is refused like any other question about it."""
    assert error_code(mailbox.deliveries, number) == "UNKNOWN_MESSAGE"


@pytest.mark.every_store
@in_backends_with(SECOND_VIEW)
def test_every_view_reads_the_same(place: Place) -> None:
    """Opened before the mail came, or after."""
    introduce(place.mailbox)
    earlier = place.again()
    conversation(place)
    for view in (earlier, place.again()):
        assert whole(view) == whole(place.mailbox)
        assert view.thread(THREAD) == place.mailbox.thread(THREAD)
        assert view.inbox(BEA) == place.mailbox.inbox(BEA)


def test_closing_twice_is_closing_once(place: Place) -> None:
    """Closing is for `finally`, where somebody may have closed already."""
    with place.mailbox as entered:
        assert entered is place.mailbox
        entered.position()
    place.mailbox.close()
    place.mailbox.close()
