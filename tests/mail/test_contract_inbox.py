"""The contract, inboxes: what somebody got, what of it she has read; nothing is consumed."""

from datetime import timedelta
from itertools import combinations, product

import pytest

from brenner.mail.mailbox import Capability, Mailbox
from brenner.mail.model import InboxFilter, InboxMessage
from brenner.protocol.messages import Message
from mail.backends import SECOND_VIEW, Place
from mail.sample_mail import (
    ANN,
    BEA,
    BOSS,
    CAT,
    ELSEWHERE,
    NO_MESSAGE,
    THREAD,
    ack,
    error_code,
    in_backends_with,
    introduce,
    listed,
    make_message,
    post,
)

SUBJECTS = ("INFO: a", "QUESTION: b", "DELTA[opus]: c", "Re: hello", "KICKOFF: d", "INFO: e")
HOURS = (0.0, 0.0, 5.0, -3.0, 0.0, 1.0)


def fill(place: Place) -> list[InboxMessage]:
    """Bea's inbox, newest first: all types and threads, some read, some owed, out of order."""
    for number, (subject, hours) in enumerate(zip(SUBJECTS, HOURS, strict=True)):
        place.clock.move(timedelta(hours=hours))
        for thread in (THREAD, ELSEWHERE):
            stored = post(place.mailbox, make_message(str(number), subject=subject, thread=thread))
            post(place.mailbox, make_message("not for her", to=(CAT, ANN), thread=thread))
            if number % 2:
                place.mailbox.mark(BEA, [stored.id], is_read=True)
        if subject.startswith("QUESTION"):
            post(place.mailbox, ack(str(stored.id), thread=ELSEWHERE, to=(ANN, BEA)))
    return list(place.mailbox.inbox(BEA).messages)


def expected(inbox: list[InboxMessage], wanted: InboxFilter) -> list[InboxMessage]:
    """The filter, said once more; all of it must hold, and types are alternatives."""
    return [
        received
        for received in inbox
        if not (wanted.unread and received.is_read)
        and not (wanted.owed and not received.owes_ack)
        and not (wanted.types and received.stored.type not in wanted.types)
        and wanted.thread_id in (None, received.stored.message.thread_id)
    ]


def test_newest_first(place: Place, mailbox: Mailbox) -> None:
    """R9's order from its end, everything that she got and nothing else."""
    inbox = fill(place)
    hers = [one.stored for one in place.mailbox.records() if BEA in one.stored.message.recipients]
    hers.sort(key=lambda stored: (stored.at, stored.id), reverse=True)
    assert [received.stored for received in inbox] == hers
    assert not mailbox.inbox(BEA).has_more
    assert mailbox.inbox(BOSS).messages == ()


@in_backends_with(Capability.READ_MARKS)
def test_new_mail_is_unread(mailbox: Mailbox) -> None:
    """By each of its recipients."""
    stored = post(mailbox, make_message())
    for name in (BEA, CAT):
        assert mailbox.inbox(name).messages == (InboxMessage(stored, False, False),)
    assert mailbox.inbox(ANN).messages == ()


def test_filters_combine(place: Place, mailbox: Mailbox) -> None:
    """Every combination of them, whole and in pages."""
    check_filters(mailbox, fill(place), unread=False)


@in_backends_with(Capability.READ_MARKS)
def test_filters_combine_with_unread(place: Place, mailbox: Mailbox) -> None:
    """As with each other."""
    check_filters(mailbox, fill(place), unread=True)


def check_filters(mailbox: Mailbox, inbox: list[InboxMessage], *, unread: bool) -> None:
    """All the other filters together with that one."""
    types = [tuple(two) for two in combinations(("INFO", "QUESTION", "DELTA", "ACK"), 2)]
    types += [("INFO", "INFO"), ("INFO", "NOTHING")]
    seen = set()
    for parts in product((False, True), [(), ("KICKOFF",), *types], (None, THREAD, ELSEWHERE)):
        wanted = InboxFilter(unread, *parts)
        right = expected(inbox, wanted)
        assert list(mailbox.inbox(BEA, wanted).messages) == right
        assert walk(mailbox, wanted, 2) == right
        seen.add(len(right))
    assert {0, 1, len(expected(inbox, InboxFilter(unread)))} <= seen


def walk(mailbox: Mailbox, wanted: InboxFilter, limit: int) -> list[InboxMessage]:
    """An inbox page by page."""
    page = mailbox.inbox(BEA, wanted, limit=limit)
    found = list(page.messages)
    while page.has_more:
        page = mailbox.inbox(BEA, wanted, limit=limit, before=found[-1].stored.id)
        assert page.messages
        found += page.messages
    return found


def test_pages_join_to_the_whole(place: Place, mailbox: Mailbox) -> None:
    """Without gaps or repeats; `has_more` is exact."""
    inbox = fill(place)
    assert len(inbox) == 13
    for limit in (1, 2, 3, 11, 12, 13, 14):
        assert walk(mailbox, InboxFilter(), limit) == inbox
        check_pages(mailbox, inbox, limit)


def check_pages(mailbox: Mailbox, inbox: list[InboxMessage], limit: int) -> None:
    """One from each place of the inbox on."""
    for start in range(len(inbox)):
        page = mailbox.inbox(BEA, limit=limit, before=inbox[start].stored.id)
        assert list(page.messages) == inbox[start + 1 :][:limit]
        assert page.has_more == (len(inbox) - start - 1 > limit)


@in_backends_with(Capability.READ_MARKS)
def test_a_page_goes_on_where_mail_was_marked(mailbox: Mailbox) -> None:
    """The message that a page begins before need not be in the filtered list any more."""
    sent = [post(mailbox, make_message(str(number))).id for number in range(4)]
    unread = InboxFilter(unread=True)
    assert listed(mailbox.inbox(BEA, unread, limit=2)) == [sent[3], sent[2]]
    mailbox.mark(BEA, sent[2:], is_read=True)
    assert listed(mailbox.inbox(BEA, unread, limit=2, before=sent[2])) == [sent[1], sent[0]]


def test_none_of_an_inbox(mailbox: Mailbox) -> None:
    """A limit of nothing says only whether there is any."""
    assert not mailbox.inbox(BEA, limit=0).has_more
    post(mailbox, make_message())
    page = mailbox.inbox(BEA, limit=0)
    assert (page.messages, page.has_more) == ((), True)


@pytest.mark.parametrize("name", ["Nobody", "greendog", "", "\x00", "\ud800"], ids=ascii)
def test_a_strangers_inbox_is_refused(mailbox: Mailbox, name: str) -> None:
    """The inbox of a mistyped name would look like an empty one."""
    assert error_code(mailbox.inbox, name) == "NO_SUCH_AGENT"
    assert error_code(mailbox.mark, name, [], is_read=True) == "NO_SUCH_AGENT"


def test_what_is_not_known_is_refused(mailbox: Mailbox) -> None:
    """Threads and ids too, never answered with nothing."""
    post(mailbox, make_message())
    for thread_id in ("nobody-was-here", "\x00", "\ud800"):
        unwritten = InboxFilter(thread_id=thread_id)
        assert error_code(mailbox.inbox, BEA, unwritten) == "UNKNOWN_THREAD"
    for number in NO_MESSAGE:
        code = error_code(mailbox.inbox, BEA, before=number)
        assert code == "UNKNOWN_MESSAGE"


# --- Marking --------------------------------------------------------------------------------------


def read_by(mailbox: Mailbox, name: str) -> list[int]:
    """What somebody has read, the oldest first."""
    return [one.stored.id for one in mailbox.inbox(name).messages if one.is_read][::-1]


@in_backends_with(Capability.READ_MARKS)
def test_marking(mailbox: Mailbox) -> None:
    """Read and unread again; it says how many that changed, and is nobody else's matter."""
    sent = [post(mailbox, make_message(str(number))).id for number in range(4)]
    assert mailbox.mark(BEA, sent[:3], is_read=True) == 3
    assert mailbox.mark(BEA, sent, is_read=True) == 1
    assert mailbox.mark(BEA, sent, is_read=True) == 0
    assert mailbox.mark(BEA, sent[1:3], is_read=False) == 2
    assert mailbox.mark(BEA, sent[1:3], is_read=False) == 0
    assert mailbox.mark(BEA, [], is_read=True) == 0
    assert read_by(mailbox, BEA) == [sent[0], sent[3]]
    assert read_by(mailbox, CAT) == []


def test_marking_one_twice_counts_once(mailbox: Mailbox) -> None:
    """It is one message."""
    stored = post(mailbox, make_message())
    assert mailbox.mark(BEA, [stored.id, stored.id], is_read=True) == 1


@in_backends_with(Capability.READ_MARKS)
def test_marking_takes_any_iterable(mailbox: Mailbox) -> None:
    """One that can be walked only once, too."""
    sent = [post(mailbox, make_message(str(number))).id for number in range(3)]
    assert mailbox.mark(BEA, (number for number in sent), is_read=True) == 3
    assert read_by(mailbox, BEA) == sent


@pytest.mark.every_store
def test_marking_many(mailbox: Mailbox) -> None:
    """More than a statement can have places for."""
    stored = post(mailbox, make_message())
    assert mailbox.mark(BEA, [stored.id] * 70_000, is_read=True) == 1


@in_backends_with(Capability.READ_MARKS)
@pytest.mark.parametrize("is_read", [True, False])
@pytest.mark.parametrize("number", NO_MESSAGE)
def test_marking_is_all_or_none(mailbox: Mailbox, number: int, is_read: bool) -> None:
    """One unknown message, first or last, and nothing is marked."""
    sent = [post(mailbox, make_message(str(count))).id for count in range(3)]
    mailbox.mark(BEA, sent[:1], is_read=True)
    for wanted in ([*sent, number], [number, *sent]):
        code = error_code(mailbox.mark, BEA, wanted, is_read=is_read)
        assert code == "UNKNOWN_MESSAGE"
        assert read_by(mailbox, BEA) == sent[:1]


def test_a_wrong_mark_is_refused(mailbox: Mailbox) -> None:
    """Of what is not there, or of somebody else's mail."""
    hers = post(mailbox, make_message()).id
    other = post(mailbox, make_message(sender=CAT, to=(ANN,))).id
    assert error_code(mailbox.mark, BEA, [hers, hers + 999], is_read=True) == "UNKNOWN_MESSAGE"
    assert error_code(mailbox.mark, BEA, [hers, other], is_read=True) == "NOT_A_RECIPIENT"


@in_backends_with(Capability.READ_MARKS)
@pytest.mark.parametrize(
    "other",
    [make_message(sender=BEA, to=(CAT,)), make_message(sender=CAT, to=(ANN,))],
    ids=["her own", "a third's"],
)
def test_only_a_recipient_marks(mailbox: Mailbox, other: Message) -> None:
    """Not the sender, not somebody else; and again all or none."""
    hers = post(mailbox, make_message()).id
    number = post(mailbox, other).id
    code = error_code(mailbox.mark, BEA, [hers, number], is_read=True)
    assert code == "NOT_A_RECIPIENT"
    assert read_by(mailbox, BEA) == []


@in_backends_with(Capability.READ_MARKS)
def test_marking_settles_nothing(mailbox: Mailbox) -> None:
    """What is read is not acknowledged, and what is acknowledged is not read."""
    stored = post(mailbox, make_message(subject="QUESTION: x", to=(BEA,)))
    mailbox.mark(BEA, [stored.id], is_read=True)
    assert mailbox.inbox(BEA).messages == (InboxMessage(stored, True, True),)
    mailbox.mark(BEA, [stored.id], is_read=False)
    post(mailbox, ack(str(stored.id)))
    assert mailbox.inbox(BEA).messages == (InboxMessage(stored, False, False),)


@in_backends_with(Capability.READ_MARKS, Capability.CLIENT_CLOCK)
def test_when_it_was_read_is_kept(place: Place, mailbox: Mailbox) -> None:
    """The first time; marking what is marked changes nothing, and unread forgets it."""
    stored = post(mailbox, make_message())
    place.clock.move(timedelta(hours=1))
    mailbox.mark(CAT, [stored.id], is_read=True)
    at = place.clock.now
    place.clock.move(timedelta(hours=1))
    mailbox.mark(CAT, [stored.id], is_read=True)
    assert [record.read_at for record in mailbox.records()] == [((CAT, at),)]
    mailbox.mark(CAT, [stored.id], is_read=False)
    assert [record.read_at for record in mailbox.records()] == [()]


@in_backends_with(SECOND_VIEW, Capability.READ_MARKS)
def test_marks_are_seen_by_other_processes(place: Place) -> None:
    """And survive them all."""
    introduce(place.mailbox)
    other = place.again()
    stored = post(place.mailbox, make_message())
    assert other.mark(BEA, [stored.id], is_read=True) == 1
    assert place.mailbox.mark(BEA, [stored.id], is_read=True) == 0
    place.mailbox.close()
    other.close()
    assert read_by(place.again(), BEA) == [stored.id]


@in_backends_with(Capability.READ_MARKS)
def test_unread_is_counted(mailbox: Mailbox) -> None:
    """Each recipient for herself; a name that nobody has is refused."""
    numbers = [post(mailbox, make_message(str(number), to=(BEA, CAT))).id for number in range(3)]
    mailbox.mark(BEA, numbers[:2], is_read=True)
    mailbox.mark(BEA, numbers[:1], is_read=False)
    assert [mailbox.unread(name) for name in (ANN, BEA, CAT)] == [0, 2, 3]
    assert error_code(mailbox.unread, "Nobody") == "NO_SUCH_AGENT"
