"""The contract, acknowledgements: who owes an ACK for what, and what settles it."""

from contextlib import suppress
from datetime import timedelta

import pytest

from brenner.diagnostics.model import RequestError
from brenner.mail.mailbox import Capability, Mailbox
from brenner.mail.model import InboxFilter
from brenner.protocol.messages import Message, StoredMessage
from brenner.session.decisions import compose_cancellation
from brenner.session.model import VersionRecord, render_record
from mail.backends import SECOND_VIEW, Place
from mail.reference_acks import debts_of, named_ids
from mail.sample_mail import (
    ANN,
    BEA,
    BOSS,
    CAT,
    ELSEWHERE,
    KICKOFF,
    QUESTION,
    THREAD,
    ack,
    error_code,
    in_backends_with,
    introduce,
    listed,
    make_message,
    owed,
    post,
)

HOUR = timedelta(hours=1)


def ask(
    mailbox: Mailbox, body: str = "What of it?", to: tuple[str, ...] = (BEA, CAT)
) -> StoredMessage:
    """A question of Ann's."""
    return post(mailbox, make_message(body, subject=QUESTION, to=to))


def debtors(mailbox: Mailbox) -> list[tuple[str, int]]:
    """Who owes for which message, after the reference has agreed."""
    debts = mailbox.debts()
    short = sorted(owed(debts))
    threads = [mailbox.thread(summary.thread_id).messages for summary in mailbox.threads()]
    assert short == sorted(one for thread in threads for one in debts_of(thread))
    return [(debtor, first) for debtor, first, _, _ in short]


@pytest.mark.parametrize(
    ("subject", "stated", "wanted"),
    [
        ("KICKOFF: x", None, True),
        ("DELTA[opus]: x", None, False),
        ("COMPILED: x", None, False),
        ("CRITIQUE: x", None, True),
        ("ACK: x", None, False),
        ("CLAIM: x", None, False),
        ("HANDOFF: x", None, True),
        ("BLOCKED: x", None, True),
        ("QUESTION: x", None, True),
        ("INFO: x", None, False),
        ("Re: QUESTION: x", None, False),
        ("question: x", None, False),
        ("", None, False),
        ("INFO: x", True, True),
        ("ACK: x", True, True),
        ("", True, True),
        ("QUESTION: x", False, False),
    ],
)
def test_what_is_owed(mailbox: Mailbox, subject: str, stated: bool | None, wanted: bool) -> None:
    """The table of ACK semantics, unless the sender says otherwise (R3); by each recipient."""
    stored = post(mailbox, make_message(subject=subject)._replace(ack_required=stated))
    expected = [(BEA, stored.id, stored.id, 1), (CAT, stored.id, stored.id, 1)] if wanted else []
    assert sorted(owed(mailbox.debts())) == expected
    assert [one.owes_ack for one in mailbox.inbox(BEA).messages] == [wanted]
    assert debtors(mailbox) == [(debtor, first) for debtor, first, _, _ in expected]


@pytest.mark.parametrize(
    "form", ["{0}", "#{0}", "Message {0}", "{0}, {1} and {2}", "{0}, #{1}", "{0}\n", "- {0}"]
)
def test_an_ack_that_names_messages(mailbox: Mailbox, form: str) -> None:
    """One or several ids, as people write them; others' debts and other debts stay."""
    asked = [ask(mailbox, str(number), to=(BEA,)).id for number in range(4)]
    settled = [number for place, number in enumerate(asked) if f"{{{place}}}" in form]
    sent = post(mailbox, ack(form.format(*asked)))
    assert sorted(sent.acknowledges) == settled
    assert debtors(mailbox) == [(BEA, number) for number in asked if number not in settled]
    assert mailbox.message(sent.id).acknowledges == sent.acknowledges


def test_each_recipient_acknowledges(mailbox: Mailbox) -> None:
    """An ACK is its sender's alone."""
    asked = ask(mailbox)
    assert post(mailbox, ack(str(asked.id))).acknowledges == (asked.id,)
    assert debtors(mailbox) == [(CAT, asked.id)]
    assert post(mailbox, ack(str(asked.id), sender=CAT)).acknowledges == (asked.id,)
    assert debtors(mailbox) == []


@pytest.mark.parametrize("name", [BOSS, ANN], ids=["a third", "the sender"])
def test_only_a_recipient_can(mailbox: Mailbox, name: str) -> None:
    """Anybody else's ACK is mail, and settles nothing."""
    asked = ask(mailbox)
    assert post(mailbox, ack(str(asked.id), sender=name, to=(BEA,))).acknowledges == ()
    assert debtors(mailbox) == [(BEA, asked.id), (CAT, asked.id)]


def test_in_the_same_thread_only(mailbox: Mailbox) -> None:
    """Who owes what is read from each thread alone."""
    asked = ask(mailbox)
    assert post(mailbox, ack(str(asked.id), thread=ELSEWHERE)).acknowledges == ()
    assert post(mailbox, ack(thread=ELSEWHERE)).acknowledges == ()
    assert debtors(mailbox) == [(BEA, asked.id), (CAT, asked.id)]


def test_without_an_id_the_only_debt(mailbox: Mailbox) -> None:
    """Hers, in that thread; others' and other threads' do not count."""
    asked = ask(mailbox)
    post(mailbox, make_message(subject=QUESTION, thread=ELSEWHERE, to=(BEA,)))
    post(mailbox, make_message("for others", subject=KICKOFF, to=(CAT,)))
    assert post(mailbox, ack()).acknowledges == (asked.id,)


@in_backends_with(Capability.REPLY_LINKS)
def test_a_reply_names_what_it_answers(mailbox: Mailbox) -> None:
    """An ACK without an id that is a reply; an id that it states counts before."""
    asked = [ask(mailbox, str(number), to=(BEA,)).id for number in range(3)]
    assert post(mailbox, ack(), reply_to=asked[1]).acknowledges == (asked[1],)
    assert post(mailbox, ack(str(asked[2])), reply_to=asked[0]).acknowledges == (asked[2],)
    assert debtors(mailbox) == [(BEA, asked[0])]


def test_without_an_id_and_several_debts_nothing(mailbox: Mailbox) -> None:
    """It would be a guess; nor is there anything to settle where nothing is owed."""
    first, second = ask(mailbox, "one"), ask(mailbox, "two")
    assert post(mailbox, ack()).acknowledges == ()
    post(mailbox, ack(str(first.id)))
    assert post(mailbox, ack()).acknowledges == (second.id,)
    assert post(mailbox, ack()).acknowledges == ()
    assert debtors(mailbox) == [(CAT, first.id), (CAT, second.id)]


def test_a_wrong_id_is_not_no_id(mailbox: Mailbox) -> None:
    """An ACK that names another message does not settle the only debt instead."""
    asked = ask(mailbox)
    info = post(mailbox, make_message())
    for named in (str(info.id), "4711"):
        assert post(mailbox, ack(named)).acknowledges == ()
    assert post(mailbox, ack(f"4711, {asked.id}")).acknowledges == (asked.id,)


def test_an_ack_cannot_mean_what_comes_later(mailbox: Mailbox) -> None:
    """It names an id that is not given yet, which then becomes a copy of what she owes."""
    first, second = ask(mailbox, "one", to=(BEA,)), ask(mailbox, "two", to=(BEA,))
    assert post(mailbox, ack(str(second.id + 2))).acknowledges == ()
    copy = post(mailbox, first.message)
    assert copy.id == second.id + 2
    assert owed(mailbox.debts()) == [(BEA, first.id, copy.id, 2), (BEA, second.id, second.id, 1)]
    assert debtors(mailbox) == [(BEA, first.id), (BEA, second.id)]


@pytest.mark.parametrize(
    "body",
    [
        "```\n## Message ID\n{0}\n```\n",
        "> ## Message ID\n> {0}\n",
        "<!--\n## Message ID\n{0}\n-->\n",
    ],
    ids=["fence", "quotation", "comment"],
)
def test_an_example_is_not_a_section(mailbox: Mailbox, body: str) -> None:
    """R3: what stands in a code block, a quotation or an HTML block is not a heading."""
    first, second = ask(mailbox, "one"), ask(mailbox, "two")
    stored = post(mailbox, ack()._replace(body=body.format(first.id)))
    assert stored.acknowledges == ()
    assert debtors(mailbox).count((BEA, first.id)) == 1
    assert debtors(mailbox).count((BEA, second.id)) == 1


@pytest.mark.parametrize("subject", ["INFO: Received", "Re: ACK: x", "ack: x", " ACK: x"])
def test_only_an_ack_acknowledges(mailbox: Mailbox, subject: str) -> None:
    """The prefix says what a message is; it is matched exactly (R2)."""
    asked = ask(mailbox)
    message = ack(str(asked.id))._replace(subject=subject)
    assert post(mailbox, message).acknowledges == ()
    assert debtors(mailbox) == [(BEA, asked.id), (CAT, asked.id)]


def test_again_settles_nothing_more(mailbox: Mailbox) -> None:
    """What is acknowledged stays so, by the first ACK."""
    asked = ask(mailbox)
    post(mailbox, ack(str(asked.id)))
    assert post(mailbox, ack(str(asked.id))).acknowledges == ()
    assert debtors(mailbox) == [(CAT, asked.id)]


def test_an_ack_can_want_one(mailbox: Mailbox) -> None:
    """Where its sender says so; she does not owe it to herself."""
    asked = ask(mailbox, to=(BEA,))
    stored = post(mailbox, ack(str(asked.id), to=(ANN, BEA))._replace(ack_required=True))
    assert stored.acknowledges == (asked.id,)
    assert debtors(mailbox) == [(ANN, stored.id)]


# --- Copies ---------------------------------------------------------------------------------------


def resend(mailbox: Mailbox, stored: StoredMessage, to: tuple[str, ...]) -> StoredMessage:
    """The same sender, subject and body, hence the same hash."""
    return post(mailbox, stored.message._replace(recipients=to), reply_to=stored.id)


def test_a_debt_however_often_it_was_sent(place: Place, mailbox: Mailbox) -> None:
    """Copies are one debt, from the oldest to the newest that is open."""
    first = ask(mailbox)
    place.clock.move(HOUR)
    second = resend(mailbox, first, (BEA,))
    place.clock.move(HOUR)
    third = resend(mailbox, first, (BEA,))
    assert second.content_hash == first.content_hash
    assert owed(mailbox.debts(BEA)) == [(BEA, first.id, third.id, 3)]
    assert owed(mailbox.debts(CAT)) == [(CAT, first.id, first.id, 1)]
    assert [one.owes_ack for one in mailbox.inbox(BEA).messages] == [True] * 3
    assert len(debtors(mailbox)) == 2


@pytest.mark.parametrize("named", ["first", "second", "nothing"])
def test_an_ack_settles_every_copy(mailbox: Mailbox, named: str) -> None:
    """Whichever she names; without an id, copies are one debt."""
    first = ask(mailbox)
    second = resend(mailbox, first, (BEA,))
    text = {"first": str(first.id), "second": str(second.id), "nothing": ""}[named]
    stored = post(mailbox, ack(text))
    assert stored.acknowledges == (first.id, second.id)
    assert debtors(mailbox) == [(CAT, first.id)]


def test_a_copy_after_the_ack_is_owed_again(mailbox: Mailbox) -> None:
    """An ACK settles what had come in; only what is open counts as sent."""
    first = ask(mailbox, to=(BEA,))
    post(mailbox, ack(str(first.id)))
    second = resend(mailbox, first, (BEA,))
    assert owed(mailbox.debts()) == [(BEA, second.id, second.id, 1)]
    assert debtors(mailbox) == [(BEA, second.id)]
    assert post(mailbox, ack(str(first.id))).acknowledges == (second.id,)


def test_a_copy_is_the_same_in_its_thread_only(mailbox: Mailbox) -> None:
    """And by the same sender, with the same subject and body."""
    first = ask(mailbox, to=(BEA,))
    others = [
        make_message("What of it?", subject=QUESTION, to=(BEA,), thread=ELSEWHERE),
        make_message("What of it?", subject=QUESTION, to=(BEA,), sender=CAT),
        make_message("What of it?", subject=QUESTION + "?", to=(BEA,)),
        make_message("What of it?\n", subject=QUESTION, to=(BEA,)),
    ]
    kept = [post(mailbox, message).id for message in others]
    assert post(mailbox, ack(str(first.id))).acknowledges == (first.id,)
    assert debtors(mailbox) == [(BEA, number) for number in kept]


def test_a_copy_that_wants_no_ack_is_not_owed(mailbox: Mailbox) -> None:
    """Nor is it settled; naming it settles the one that is."""
    first = ask(mailbox, to=(BEA,))
    free = post(mailbox, first.message._replace(ack_required=False))
    assert owed(mailbox.debts()) == [(BEA, first.id, first.id, 1)]
    assert post(mailbox, ack(str(free.id))).acknowledges == (first.id,)
    assert debtors(mailbox) == []


# --- Asking ---------------------------------------------------------------------------------------


@in_backends_with(Capability.CLIENT_CLOCK)
def test_the_oldest_debt_first(place: Place, mailbox: Mailbox) -> None:
    """By R9, of the first open copy; whose it is and in which thread can be asked for."""
    late = ask(mailbox, "late")
    place.clock.move(-3 * HOUR)
    early = ask(mailbox, "early")
    other = post(mailbox, make_message(subject=QUESTION, thread=ELSEWHERE, to=(BEA,)))
    debts = mailbox.debts()
    assert [debt.first.id for debt in debts] == [early.id, early.id, other.id, late.id, late.id]
    for name in (ANN, BEA, CAT):
        hers = tuple(debt for debt in debts if debt.debtor == name)
        assert mailbox.debts(name) == hers
        for thread_id in (THREAD, ELSEWHERE):
            there = tuple(debt for debt in hers if debt.first.message.thread_id == thread_id)
            assert mailbox.debts(name, thread_id) == there
    there = tuple(debt for debt in debts if debt.first.message.thread_id == THREAD)
    assert mailbox.debts(thread_id=THREAD) == there


def test_what_is_not_known_is_refused(mailbox: Mailbox) -> None:
    """A mistyped name or ID must not look like one where there is nothing to do."""
    ask(mailbox)
    assert error_code(mailbox.debts, "Nobody") == "NO_SUCH_AGENT"
    for thread_id in ("nobody-was-here", "", "\ud800"):
        assert error_code(mailbox.debts, thread_id=thread_id) == "UNKNOWN_THREAD"


@pytest.mark.every_store
def test_owed_in_the_inbox(mailbox: Mailbox) -> None:
    """The inbox and the debts say the same."""
    first, second = ask(mailbox, "one"), ask(mailbox, "two")
    post(mailbox, make_message())
    post(mailbox, ack(str(first.id)))
    assert listed(mailbox.inbox(BEA, InboxFilter(owed=True))) == [second.id]
    assert listed(mailbox.inbox(CAT, InboxFilter(owed=True))) == [second.id, first.id]
    assert listed(mailbox.inbox(ANN, InboxFilter(owed=True))) == []


@in_backends_with(Capability.CLIENT_CLOCK)
def test_a_clock_that_went_back_changes_no_debt(place: Place, mailbox: Mailbox) -> None:
    """An ACK settles what had come in, though the thread now shows it before the question."""
    asked = ask(mailbox)
    place.clock.move(-3 * HOUR)
    stored = post(mailbox, ack(str(asked.id)))
    assert stored.at < asked.at
    assert stored.acknowledges == (asked.id,)
    assert debtors(mailbox) == [(CAT, asked.id)]


def test_a_key_makes_an_ack_once(mailbox: Mailbox) -> None:
    """A repeated send gives back what it settled the first time."""
    asked = ask(mailbox)
    first = mailbox.send(ack(str(asked.id)), key="k")
    assert mailbox.send(ack(str(asked.id)), key="k").stored.acknowledges == (asked.id,)
    assert first.stored.acknowledges == (asked.id,)


@pytest.mark.every_store
@in_backends_with(SECOND_VIEW)
def test_settled_in_every_process(place: Place) -> None:
    """Asked in one, acknowledged in another, read in a third."""
    introduce(place.mailbox)
    asked = ask(place.mailbox)
    post(place.again(), ack(str(asked.id)))
    assert debtors(place.mailbox) == [(CAT, asked.id)]
    assert debtors(place.again()) == [(CAT, asked.id)]


def test_the_reference_reads_what_it_is_given() -> None:
    """The naive reading of a body knows an example from a section."""
    examples = "```\n## Message ID\n3\n```\n\n> ## Message ID\n> 4\n\n"
    section = "## Message ID:\n#12, 14 and 15\n\n16\n"
    assert named_ids(f"# A\n\n{examples}{section}") == {12, 14, 15}


# ACKs that settle by themselves (R24, R25)


def kickoff(mailbox: Mailbox, body: str = "Find out.") -> StoredMessage:
    return post(mailbox, make_message(body, sender=BOSS, to=(ANN, BEA, CAT), subject=KICKOFF))


def closing(sender: str = BOSS, operator: str = BOSS, status: str = "closed") -> Message:
    """A COMPILED message whose record says that it closes the session."""
    record = VersionRecord(1, None, (), "0" * 64, "2026-01-01T00:00:00Z", sender, operator, status)
    body = f"# Compiled Artifact\n\n## Record\n```brenner-record\n{render_record(record)}\n```\n"
    return make_message(body, sender=sender, to=(ANN, BEA), subject="COMPILED: v1 x")


def cancelling(sender: str = BOSS) -> Message:
    return compose_cancellation(make_message(sender=sender, to=(ANN, BEA)), "Answered elsewhere.")


@pytest.mark.every_store
def test_a_contribution_settles_the_ack_of_the_kickoff(mailbox: Mailbox) -> None:
    """Of its sender, in its thread, and of kickoffs before it only."""
    first, again = kickoff(mailbox), kickoff(mailbox)
    question = ask(mailbox)
    delta = make_message("x", sender=BEA, to=(BOSS,), subject="DELTA[opus]: One more")
    post(mailbox, delta._replace(thread_id=ELSEWHERE))
    post(mailbox, delta._replace(subject="Re: DELTA[opus]: One more"))
    assert len(debtors(mailbox)) == 5, "nothing is settled yet; copies of the kickoff count once"
    stored = post(mailbox, delta)
    assert stored.acknowledges == (), "only an ACK names what it acknowledges"
    assert debtors(mailbox) == [
        *((ANN, first.id), (BEA, question.id), (CAT, first.id), (CAT, question.id))
    ]
    settled = [each for each in mailbox.deliveries(first.id) if each.recipient == BEA]
    settled += [each for each in mailbox.deliveries(again.id) if each.recipient == BEA]
    assert [(each.owes_ack, each.acknowledged_by) for each in settled] == [(False, stored.id)] * 2
    assert [each.stored.id for each in mailbox.inbox(BEA, InboxFilter(owed=True)).messages] == [
        question.id
    ]
    later = kickoff(mailbox, "Round 2.")
    assert (BEA, later.id) in debtors(mailbox)


@pytest.mark.every_store
@pytest.mark.parametrize("end", [closing(), cancelling()], ids=["completed", "cancelled"])
def test_the_end_of_a_session_settles_every_ack(mailbox: Mailbox, end: Message) -> None:
    mailbox.operator = BOSS
    kickoff(mailbox)
    question = ask(mailbox)
    elsewhere = post(mailbox, make_message(subject=QUESTION, to=(BEA,), thread=ELSEWHERE))
    stored = post(mailbox, end)
    assert debtors(mailbox) == [(BEA, elsewhere.id)]
    assert {each.acknowledged_by for each in mailbox.deliveries(question.id)} == {stored.id}
    later = post(mailbox, make_message("And now?", subject=QUESTION, to=(CAT,)))
    assert debtors(mailbox) == [(BEA, elsewhere.id), (CAT, later.id)]


@pytest.mark.every_store
@pytest.mark.parametrize(
    "message",
    [
        *(closing(sender=ANN), closing(sender=ANN, operator=ANN), closing(status="draft")),
        *(cancelling(sender=ANN), cancelling()._replace(subject="QUESTION: Cancelled?")),
        cancelling()._replace(body=cancelling().body.replace(THREAD, ELSEWHERE)),
        cancelling()._replace(body="> " + cancelling().body.replace("\n", "\n> ")),
        make_message(closing().body, sender=BOSS, subject="INFO: For all"),
    ],
)
def test_only_the_operator_ends_a_session(mailbox: Mailbox, message: Message) -> None:
    mailbox.operator = BOSS
    asked = kickoff(mailbox)
    before = [(name, asked.id) for name in (ANN, BEA, CAT)]
    with suppress(RequestError):  # our own server refuses a COMPILED message of another agent
        post(mailbox, message)
    assert [each for each in mailbox.debts() if each.first.id == asked.id] != []
    assert [(each.debtor, each.first.id) for each in mailbox.debts()][: len(before)] == before
