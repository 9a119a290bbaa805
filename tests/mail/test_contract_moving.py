"""The contract, moving: mail goes from one home to another, and stays what it was."""

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from brenner.mail.mailbox import Capability, Mailbox
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Agent, MessageRecord, Profile, RestoreResult
from brenner.session.decisions import VOID_FENCE, render_declaration
from mail.backends import SECOND_VIEW, Clock, Place
from mail.other_store import history, imported, restore
from mail.sample_mail import (
    ANN,
    BEA,
    CAT,
    ELSEWHERE,
    NAMES,
    THREAD,
    in_backends_with,
    introduce,
    make_message,
    owed,
    post,
    whole,
)

if TYPE_CHECKING:
    from brenner.protocol.messages import StoredMessage

HOUR = timedelta(hours=1)
_VOID = render_declaration({"content_hash": "5" * 64, "format": 2, "version": 1}, VOID_FENCE)


def test_records_are_everything(mailbox: Mailbox) -> None:
    """Every message in the order in which it came."""
    restore(mailbox, history())
    post(mailbox, make_message())
    assert tuple(record.stored for record in mailbox.records()) == mailbox.arrivals(0)


@in_backends_with(Capability.READ_MARKS)
def test_records_tell_who_has_read(mailbox: Mailbox) -> None:
    """As the inboxes do."""
    restore(mailbox, history())
    stored = post(mailbox, make_message())
    mailbox.mark(CAT, [stored.id], is_read=True)
    for record in mailbox.records():
        readers = {name for name, _ in record.read_at}
        for name in record.stored.message.recipients:
            inbox = {one.stored.id: one.is_read for one in mailbox.inbox(name).messages}
            assert inbox[record.stored.id] == (name in readers)


@in_backends_with(Capability.TRUST, Capability.EXACT_RESTORE)
def test_whether_a_decision_counts_is_settled_and_moves_along(place: Place) -> None:
    """For the operator at the time of sending; other mail decides nothing."""
    mailbox = place.mailbox
    introduce(mailbox)
    void = make_message(sender=ANN, to=(BEA,), subject="INFO: void", body=_VOID)
    mailbox.operator = ANN
    sent = [
        post(mailbox, void),
        post(mailbox, void._replace(sender=BEA)),
        post(mailbox, make_message()),
    ]
    mailbox.operator = BEA
    sent.append(post(mailbox, void))
    assert [each.decides for each in sent] == [True, False, None, False]
    assert [mailbox.message(each.id).decides for each in sent] == [True, False, None, False]
    other = MemoryMailbox()
    other.operator = CAT
    other.restore(mailbox.agents(), mailbox.records())
    assert [record.stored.decides for record in other.records()] == [True, False, None, False]


@in_backends_with(Capability.EXACT_RESTORE)
def test_into_an_empty_home(place: Place) -> None:
    """Equal records: ids, times, hashes, links, marks; but they are not local."""
    other = history()
    records = list(other.records())
    done = restore(place.mailbox, other)
    assert done._replace(new_agents=()) == RestoreResult(len(records), 0, (), ())
    assert sorted(done.new_agents) == sorted(NAMES)
    assert list(place.mailbox.records()) == [imported(record, {}) for record in records]
    assert set(other.agents()) <= set(place.mailbox.agents())
    assert owed(place.mailbox.debts()) == owed(other.debts())
    for thread_id in (THREAD, ELSEWHERE):
        order = [one.id for one in place.mailbox.thread(thread_id).messages]
        assert order == [one.id for one in other.thread(thread_id).messages]


@pytest.mark.every_store
def test_there_and_back(place: Place) -> None:
    """What this home sends away and another sends back is known."""
    introduce(place.mailbox)
    post(place.mailbox, make_message())
    before = whole(place.mailbox)
    other = MemoryMailbox(clock=Clock())
    restore(other, place.mailbox)
    post(other, make_message("new", sender=BEA, to=(ANN,)))
    done = restore(place.mailbox, other)
    assert (done.added, done.skipped) == (1, 1)
    assert whole(place.mailbox) != before


@in_backends_with(Capability.EXACT_RESTORE)
def test_what_was_imported_is_not_local(place: Place) -> None:
    """Nobody here has seen who wrote it."""
    introduce(place.mailbox)
    post(place.mailbox, make_message())
    restore(place.mailbox, history())
    assert [one.is_local for one in place.mailbox.arrivals(0)] == [True, *[False] * 6]


def test_twice_skips_all(place: Place) -> None:
    """Nothing changes the second time."""
    other = history()
    restore(place.mailbox, other)
    place.clock.move(HOUR)
    before = whole(place.mailbox)
    assert restore(place.mailbox, other) == RestoreResult(0, other.position(), (), ())
    assert whole(place.mailbox) == before


@in_backends_with(Capability.READ_MARKS)
def test_marks_come_once(place: Place) -> None:
    """With their messages; the second time they change nothing, whatever has happened since."""
    other = history()
    restore(place.mailbox, other)
    place.clock.move(HOUR)
    here, there = list(place.mailbox.records()), list(other.records())
    place.mailbox.mark(BEA, [here[0].stored.id], is_read=False)
    other.mark(CAT, [there[0].stored.id], is_read=True)
    before = whole(place.mailbox)
    assert restore(place.mailbox, other) == RestoreResult(0, len(there), (), ())
    assert whole(place.mailbox) == before


def test_into_itself(mailbox: Mailbox) -> None:
    """Everything that a home has is known to it."""
    post(mailbox, make_message())
    restore(mailbox, history())
    before = whole(mailbox)
    assert restore(mailbox, mailbox) == RestoreResult(0, mailbox.position(), (), ())
    assert whole(mailbox) == before


def test_threads_grow_together(mailbox: Mailbox) -> None:
    """Mail of both in one thread, in R9's order; positions count all of it."""
    post(mailbox, make_message("mine"))
    restore(mailbox, history())
    page = mailbox.thread(THREAD)
    order = [(stored.at, stored.id) for stored in page.messages]
    assert order == sorted(order)
    assert page.position == len(order) == 6


@in_backends_with(Capability.EXACT_RESTORE)
def test_older_mail_stands_before_ours(mailbox: Mailbox) -> None:
    """Though it came in later."""
    post(mailbox, make_message("mine"))
    restore(mailbox, history())
    assert mailbox.thread(THREAD).messages[-1].message.body == "mine"


@in_backends_with(Capability.CLIENT_CLOCK, Capability.EXACT_RESTORE)
def test_imported_times_do_not_move_our_clock(place: Place, mailbox: Mailbox) -> None:
    """Only local mail holds back local mail."""
    record = next(history().records())
    later = record.stored._replace(at=place.clock.now + timedelta(minutes=30))
    mailbox.restore((), [MessageRecord(later)])
    assert post(mailbox, make_message()).at == place.clock.now


def test_who_is_known_here_stays(mailbox: Mailbox) -> None:
    """Whatever the archive says of the name."""
    before = mailbox.agents()
    at = before[0].registered_at - HOUR
    others = [Agent(ANN, "codex-cli", "gpt", "", at), Agent("CalmRiver", "x", "y", "z", at)]
    done = mailbox.restore(others, ())
    assert done == RestoreResult(0, 0, (), ("CalmRiver",))
    known = {agent[:4] for agent in mailbox.agents()}
    assert known == {*(agent[:4] for agent in before), others[1][:4]}


def test_keys_do_not_travel(place: Place) -> None:
    """A key is a matter between a sender and the store that she sent to."""
    introduce(place.mailbox)
    other = MemoryMailbox(clock=Clock())
    introduce(other)
    other.send(make_message(), key="k")
    restore(place.mailbox, other)
    assert place.mailbox.send(make_message("new"), key="k").is_new


def breaking(records: list[MessageRecord], after: int) -> Iterator[MessageRecord]:
    """An archive that cannot be read to its end."""
    yield from records[:after]
    message = "the archive ends here"
    raise ValueError(message)


@pytest.mark.parametrize("after", [0, 1, 3, 6])
def test_all_or_none(mailbox: Mailbox, after: int) -> None:
    """Where the archive breaks off, nothing is left behind, agents neither."""
    post(mailbox, make_message("mine"))
    before = whole(mailbox)
    other = history()
    other.register(Profile("CalmRiver"))
    with pytest.raises(ValueError, match="the archive ends here"):
        mailbox.restore(other.agents(), breaking(list(other.records()), after))
    assert whole(mailbox) == before
    assert mailbox.wait(1, 0) == 1
    assert post(mailbox, make_message("next")).arrival == 2
    assert restore(mailbox, other).added == other.position()


@in_backends_with(Capability.CLIENT_CLOCK)
def test_an_import_that_fails_does_not_move_our_clock(place: Place, mailbox: Mailbox) -> None:
    """Nor does it leave anything else behind."""
    post(mailbox, make_message("mine"))
    other = history()
    with pytest.raises(ValueError, match="the archive ends here"):
        mailbox.restore(other.agents(), breaking(list(other.records()), 3))
    place.clock.move(HOUR)
    assert post(mailbox, make_message("next")).at == place.clock.now


@pytest.mark.parametrize("taken", [1, 3])
def test_records_are_of_one_moment(mailbox: Mailbox, taken: int) -> None:
    """Mail that comes while they are read is not among them."""
    sent = [post(mailbox, make_message(str(number))) for number in range(4)]
    records = mailbox.records()
    seen = [next(records).stored for _ in range(taken)]
    late = post(mailbox, make_message("late"))
    mailbox.mark(BEA, [sent[3].id], is_read=True)
    rest = list(records)
    assert seen + [record.stored for record in rest] == sent
    assert [record.read_at for record in rest] == [()] * len(rest)
    assert mailbox.arrivals(4) == (late,)


@pytest.mark.thorough
@in_backends_with(Capability.READ_MARKS, Capability.EXACT_RESTORE)
def test_many_records_are_of_one_moment(mailbox: Mailbox) -> None:
    """Marks that are made while they are read are not among them either."""
    stored = next(history().records()).stored
    many = [
        MessageRecord(stored._replace(id=number, origin_id=number)) for number in range(1, 1201)
    ]
    mailbox.restore((), many)
    records = mailbox.records()
    next(records)
    mailbox.mark(BEA, [1200], is_read=True)
    assert [one.stored.id for one in records if one.read_at] == []


@in_backends_with(SECOND_VIEW)
def test_records_are_of_one_moment_for_others(place: Place) -> None:
    """Mail that another process sends while they are read is not among them."""
    introduce(place.mailbox)
    sent = [post(place.mailbox, make_message(str(number))) for number in range(4)]
    records = place.mailbox.records()
    seen: list[StoredMessage] = [next(records).stored]
    post(place.again(), make_message("late"))
    assert seen + [record.stored for record in records] == sent
    assert place.mailbox.position() == 5


@in_backends_with(SECOND_VIEW)
def test_an_import_is_there_for_others(place: Place) -> None:
    """Whole, and after everybody has left."""
    view = place.again()
    restore(place.mailbox, history())
    expected = whole(place.mailbox)
    assert whole(view) == expected
    place.mailbox.close()
    view.close()
    assert whole(place.again()) == expected
