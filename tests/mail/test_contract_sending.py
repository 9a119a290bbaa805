"""The contract, sending: what is stored is what was sent, once, with the store's id and time."""

from datetime import timedelta
from hashlib import sha256

import pytest

from brenner.mail.mailbox import Capability, Mailbox
from brenner.mail.model import UnchangedSince
from brenner.protocol.messages import DEFAULT_ENVELOPE, Message, StoredMessage
from mail.backends import SECOND_VIEW, Place
from mail.sample_mail import (
    ANN,
    BEA,
    BOSS,
    CAT,
    DIFFICULT,
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
    whole,
)

HOUR = timedelta(hours=1)
INSTANT = timedelta(microseconds=1)


def canonical(texts: tuple[str, ...]) -> str:
    """RFC 8785 for a list of texts, written out by hand."""
    short = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r"}
    escapes = {chr(code): f"\\u{code:04x}" for code in range(0x20)} | short | {"\t": "\\t"}
    quoted = ('"' + "".join(escapes.get(c, c) for c in text) + '"' for text in texts)
    return "[" + ",".join(quoted) + "]"


@pytest.mark.every_store
def test_stored_as_sent(mailbox: Mailbox) -> None:
    """The first message of a store, with all that is kept about it."""
    message = make_message()
    sent = mailbox.send(message)
    expected = StoredMessage(
        id=sent.stored.id,
        at=sent.stored.at,
        message=message,
        content_hash=sent.stored.content_hash,
        arrival=1,
        origin_id=sent.stored.id,
        envelope=DEFAULT_ENVELOPE._replace(trust=sent.stored.envelope.trust),
    )
    assert sent.is_new
    assert sent.stored == expected
    assert sent.stored.id > 0
    assert mailbox.message(sent.stored.id) == expected


@in_backends_with(Capability.CLIENT_CLOCK)
def test_stored_at_the_time_of_the_clock(place: Place, mailbox: Mailbox) -> None:
    """Which is the store's, not the sender's."""
    assert post(mailbox, make_message()).at == place.clock.now


@pytest.mark.parametrize("text", DIFFICULT, ids=ascii)
def test_any_text_stays_as_it_was(mailbox: Mailbox, text: str) -> None:
    """Subject, body and thread are not looked at here; the hash is the ruled one (R10)."""
    message = Message(f"t{text}", ANN, (BEA,), text, f"{text}\n{text}", ack_required=True)
    stored = mailbox.message(post(mailbox, message).id)
    assert stored.message == message
    parts = (message.thread_id, message.sender, message.subject, message.body)
    assert stored.content_hash == sha256(canonical(parts).encode()).hexdigest()
    assert mailbox.thread(message.thread_id).messages == (stored,)


@pytest.mark.every_store
def test_the_hash_is_the_one_that_others_compute(mailbox: Mailbox) -> None:
    """The body is é and a newline; given as JSON to `sha256sum`."""
    stored = post(mailbox, make_message("é\n", thread="t", subject="INFO: x"))
    expected = "3218eceb26058958dd30cb9b07ffadf7d9c52935b990c7da733f0e782afffeb4"
    assert stored.content_hash == expected


@in_backends_with(Capability.EXPLICIT_ACK_REQUESTS)
@pytest.mark.parametrize("stated", [None, True, False])
def test_whether_an_ack_is_asked_for_stays(mailbox: Mailbox, stated: bool | None) -> None:
    """Nothing said is not the same as no."""
    message = make_message()._replace(ack_required=stated)
    assert post(mailbox, message).message.ack_required is stated


def test_ids_increase(mailbox: Mailbox) -> None:
    """Also across refusals and threads; arrivals count without a gap."""
    stored = []
    for number in range(6):
        error_code(mailbox.send, make_message(sender="Nobody"))
        stored.append(
            post(mailbox, make_message(str(number), thread=(THREAD, ELSEWHERE)[number % 2]))
        )
    numbers = [one.id for one in stored]
    assert numbers == sorted(set(numbers))
    assert [one.arrival for one in stored] == [1, 2, 3, 4, 5, 6]


@in_backends_with(Capability.CLIENT_CLOCK)
@pytest.mark.parametrize(
    ("moves", "expected"),
    [
        ((HOUR,), (HOUR,)),
        ((timedelta(0),), (timedelta(0),)),
        ((-INSTANT,), (timedelta(0),)),
        ((-HOUR,), (timedelta(0),)),
        ((-HOUR - INSTANT,), (-HOUR - INSTANT,)),
        ((-HOUR / 2, -HOUR / 2), (timedelta(0), timedelta(0))),
        ((-HOUR / 2, -HOUR), (timedelta(0), -HOUR * 1.5)),
        ((-HOUR * 3, -HOUR / 2), (-HOUR * 3, -HOUR * 3)),
        ((-HOUR * 3, HOUR * 2), (-HOUR * 3, -HOUR)),
    ],
    ids=str,
)
def test_time_does_not_go_back(
    place: Place, mailbox: Mailbox, moves: tuple[timedelta, ...], expected: tuple[timedelta, ...]
) -> None:
    """A clock set back a little is waited for; one set back by more than an hour was wrong."""
    start = post(mailbox, make_message()).at
    times = []
    for move in moves:
        place.clock.move(move)
        times.append(post(mailbox, make_message()).at - start)
    assert tuple(times) == expected


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (make_message(sender="Nobody"), "UNKNOWN_SENDER"),
        (make_message(sender="bluelake"), "UNKNOWN_SENDER"),
        (make_message(sender=""), "UNKNOWN_SENDER"),
        (make_message(to=(BEA, "Nobody")), "UNKNOWN_RECIPIENT"),
        (make_message(to=("greendog",)), "UNKNOWN_RECIPIENT"),
        (make_message(to=()), "SENT_TO_NOBODY"),
        (make_message("cut\x00here"), "UNSTORABLE_TEXT"),
        (make_message("\ud800"), "UNSTORABLE_TEXT"),
        (make_message(subject="INFO: \x00"), "UNSTORABLE_TEXT"),
        (make_message(subject="INFO: \udfff"), "UNSTORABLE_TEXT"),
        (make_message(thread="\x00"), "UNSTORABLE_TEXT"),
        (make_message(thread="\ud800"), "UNSTORABLE_TEXT"),
    ],
    ids=lambda value: ascii(value)[:40],
)
def test_what_cannot_be_sent_is_refused(mailbox: Mailbox, message: Message, code: str) -> None:
    """And leaves nothing behind."""
    post(mailbox, make_message())
    before = whole(mailbox)
    assert error_code(mailbox.send, message) == code
    assert whole(mailbox) == before


def test_a_recipient_named_twice_gets_it_once(mailbox: Mailbox) -> None:
    """In the inbox and among the debts."""
    stored = post(mailbox, make_message(subject="QUESTION: x", to=(BEA, CAT, BEA)))
    assert list(dict.fromkeys(stored.message.recipients)) == [BEA, CAT]
    assert listed(mailbox.inbox(BEA)) == [stored.id]
    assert [debt.debtor for debt in mailbox.debts()].count(BEA) == 1


def test_a_sender_among_the_recipients(mailbox: Mailbox) -> None:
    """Gets her own message, and owes herself nothing."""
    stored = post(mailbox, make_message(subject="QUESTION: x", to=(ANN, BEA)))
    assert stored.message.recipients == (ANN, BEA)
    assert [(one.stored, one.owes_ack) for one in mailbox.inbox(ANN).messages] == [(stored, False)]
    assert [debt.debtor for debt in mailbox.debts()] == [BEA]


def test_the_same_twice_is_two_messages(mailbox: Mailbox) -> None:
    """The mailbox stores what it is given (R8)."""
    first, second = mailbox.send(make_message()), mailbox.send(make_message())
    assert second.is_new
    assert second.stored.id > first.stored.id
    assert second.stored.content_hash == first.stored.content_hash


# --- Replies --------------------------------------------------------------------------------------


@in_backends_with(Capability.REPLY_LINKS)
def test_a_reply_is_linked(mailbox: Mailbox) -> None:
    """To a message of its thread, its own sender's too."""
    first = post(mailbox, make_message())
    second = post(mailbox, make_message("And this."), reply_to=first.id)
    assert mailbox.message(second.id).reply_to == first.id
    assert mailbox.message(first.id).reply_to is None


@in_backends_with(SECOND_VIEW, Capability.REPLY_LINKS)
def test_a_link_is_there_for_others(place: Place) -> None:
    """As the message is."""
    introduce(place.mailbox)
    first = post(place.mailbox, make_message())
    second = post(place.mailbox, make_message("And this."), reply_to=first.id)
    assert place.again().thread(THREAD).messages == (first, second)


@pytest.mark.parametrize("number", NO_MESSAGE)
def test_a_reply_to_nothing_is_refused(mailbox: Mailbox, number: int) -> None:
    """Whatever the number, and nothing is stored."""
    before = whole(mailbox)
    assert error_code(mailbox.send, make_message(), reply_to=number) == "UNKNOWN_MESSAGE"
    assert whole(mailbox) == before


def test_a_reply_to_another_thread_is_refused(mailbox: Mailbox) -> None:
    """Who reads a thread sees the whole of a conversation."""
    first = post(mailbox, make_message(thread=ELSEWHERE))
    before = whole(mailbox)
    assert error_code(mailbox.send, make_message(), reply_to=first.id) == "REPLY_ELSEWHERE"
    assert whole(mailbox) == before


# --- Conditional sends ----------------------------------------------------------------------------


def test_a_conditional_send_is_exact(mailbox: Mailbox) -> None:
    """Sent at exactly that position of its own thread, refused at every other one."""
    for count in range(3):
        post(mailbox, make_message("elsewhere", thread=ELSEWHERE))
        assert mailbox.thread(THREAD).position == count
        for wrong in {-1, 0, 1, 2, 3, 4, 2**63, -(2**70)} - {count}:
            before = whole(mailbox)
            code = error_code(mailbox.send, make_message(), position=wrong)
            assert code == "THREAD_MOVED"
            assert whole(mailbox) == before
        assert mailbox.send(make_message(), position=count).is_new


@in_backends_with(SECOND_VIEW)
def test_of_two_conditional_sends_one_wins(place: Place) -> None:
    """Both read the same position, from two processes."""
    introduce(place.mailbox)
    views = (place.mailbox, place.again())
    positions = [view.thread(THREAD).position for view in views]
    assert views[1].send(make_message("second"), position=positions[1]).is_new
    code = error_code(lambda: views[0].send(make_message("first"), position=positions[0]))
    assert code == "THREAD_MOVED"
    assert [one.message.body for one in views[0].thread(THREAD).messages] == ["second"]


# --- Sends on the condition that no version or decision has come in -------------------------------

DECLARED = '# Decision\n\n```{fence}\n{{"{number}":1,"content_hash":"' + "0" * 64 + '"}}\n```\n'
VOID = DECLARED.format(fence="brenner-void", number="version")
DISMISSAL = DECLARED.format(fence="brenner-dismiss", number="block")
QUOTED = "> " + VOID.replace("\n", "\n> ")
CONTRIBUTIONS = (make_message(subject="DELTA[opus]: x"), make_message(subject="KICKOFF: x"))
OTHERS = (
    *(
        make_message(subject=f"{kind}: x")
        for kind in ("INFO", "QUESTION", "CRITIQUE", "BLOCKED", "HANDOFF")
    ),
    *(
        make_message(subject="Re: COMPILED: v1 x"),
        make_message(subject="compiled"),
        make_message(VOID, subject="x"),
    ),
    *(make_message(VOID), make_message(DISMISSAL)),  # not by an operator
    *(make_message(VOID, sender=BOSS, subject="QUESTION: x"), make_message(QUOTED, sender=BOSS)),
    ack("1", sender=CAT),
)
DECIDING = (
    make_message(subject="COMPILED: v1 x"),
    make_message(VOID, sender=BOSS),
    make_message(DISMISSAL, sender=BOSS),
)


def since(mailbox: Mailbox, *, contributions: bool = False) -> UnchangedSince:
    """The condition of a sender who has read everything that is there now."""
    return UnchangedSince(mailbox.position(), frozenset({BOSS, "Someone"}), contributions)


@pytest.mark.parametrize("contributions", [False, True])
def test_a_version_is_sent_whatever_else_comes_in(mailbox: Mailbox, contributions: bool) -> None:
    """What came in before, or into another thread, never counts."""
    for message in (*DECIDING, *CONTRIBUTIONS):
        post(mailbox, message)
    condition = since(mailbox, contributions=contributions)
    for message in (*OTHERS, *(() if contributions else CONTRIBUTIONS)):
        post(mailbox, message)
    for message in (*DECIDING, *CONTRIBUTIONS):
        post(mailbox, message._replace(thread_id=ELSEWHERE))
    assert mailbox.send(make_message("mine"), position=condition).is_new


@pytest.mark.parametrize("message", [*DECIDING, *CONTRIBUTIONS])
def test_a_version_is_refused_after_another_one_or_a_decision(
    mailbox: Mailbox, message: Message
) -> None:
    """A contribution counts only for a sender who says so; nothing is left of what is refused."""
    post(mailbox, make_message())
    condition = since(mailbox, contributions=message in CONTRIBUTIONS)
    post(mailbox, make_message("in between"))
    post(mailbox, message)
    post(mailbox, make_message("afterwards"))
    before = whole(mailbox)
    assert error_code(mailbox.send, make_message("mine"), position=condition) == "VERSION_OVERTAKEN"
    assert whole(mailbox) == before
    assert mailbox.send(make_message("mine"), position=since(mailbox)).is_new


@pytest.mark.every_store
@in_backends_with(SECOND_VIEW)
def test_of_two_versions_one_wins(place: Place) -> None:
    """Both have read the same, in two processes."""
    introduce(place.mailbox)
    views = (place.mailbox, place.again())
    conditions = [since(view) for view in views]
    version = make_message(subject="COMPILED: v1 x")
    assert views[1].send(version, position=conditions[1]).is_new
    code = error_code(lambda: views[0].send(version._replace(sender=BEA), position=conditions[0]))
    assert code == "VERSION_OVERTAKEN"


@in_backends_with(SECOND_VIEW)
def test_what_is_sent_is_there_for_others(place: Place) -> None:
    """At once, whole, and after everybody has left."""
    introduce(place.mailbox)
    other = place.again()
    stored = post(place.mailbox, make_message())
    assert other.message(stored.id) == stored
    answer = post(other, make_message("Answer", sender=BEA, to=(ANN,)))
    assert answer.id > stored.id
    assert place.mailbox.thread(THREAD).messages == (stored, answer)
    place.mailbox.close()
    other.close()
    assert place.again().thread(THREAD).messages == (stored, answer)
