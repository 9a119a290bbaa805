"""The contract, search: every home finds what `matches` says, and nothing else."""

from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brenner.mail.mailbox import Capability, Mailbox
from brenner.mail.search import Query, find_item_ids, matches, tokenize
from brenner.protocol.messages import Message, StoredMessage
from mail.backends import Backend, Clock, Place
from mail.sample_mail import (
    ANN,
    BEA,
    BOSS,
    CAT,
    ELSEWHERE,
    NO_MESSAGE,
    QUESTION,
    THREAD,
    ack,
    backends_with,
    error_code,
    ids,
    in_backends_with,
    introduce,
    make_message,
    post,
)
from strategies import hostile_text

START = Clock().now
EVERYTHING = Query()
FEWER = settings(max_examples=settings().max_examples // 4)  # a whole store is a large example
PROSE = (
    *("cell fate", "Cell-fate", "the fate of a cell", "cells", "chromatin", "Chromatin state"),
    *("H1", "H2 against T10", "h1", "H12", "RT", "§42", "naïve", "naive", "it's", "don't stop"),
    *("e\u0301tude", "étude", "ﬁn", "fin", "STRASSE", "straße", "x_y", "x.y", "3.14", "v2"),
    *(
        "細胞の運命",
        "клетка",
        "AND",
        "OR NOT",
        "NEAR(a b)",
        "cell*",
        '"cell fate"',
        "thread:x",
        "^a",
    ),
)
prose = st.lists(st.one_of(st.sampled_from(PROSE), hostile_text), max_size=5).map(
    lambda parts: " ".join(parts).replace("\x00", "")
)
subjects = st.builds(
    "{}{}".format,
    st.sampled_from(["INFO: ", "QUESTION: ", "DELTA[opus]: ", "ACK: ", "Re: ", ""]),
    prose,
)
steps = st.sampled_from([0, 0, 1, 60, -30, -90]).map(lambda minutes: timedelta(minutes=minutes))


@st.composite
def mail(draw: st.DrawFn) -> list[tuple[timedelta, Message]]:
    """Mail of a small world, with the moves of the clock before each message."""
    people = st.sampled_from([ANN, BEA, CAT])
    message = st.builds(
        Message,
        thread_id=st.sampled_from([THREAD, ELSEWHERE]),
        sender=people,
        recipients=st.lists(people, min_size=1, max_size=3, unique=True).map(tuple),
        subject=subjects,
        body=prose,
        ack_required=st.sampled_from([None, True, False]),
    )
    return draw(st.lists(st.tuples(steps, message), min_size=1, max_size=8))


def alternatives(values: list[str]) -> st.SearchStrategy[tuple[str, ...]]:
    """The values of one filter: mostly none."""
    some = st.lists(st.sampled_from(values), min_size=1, max_size=2, unique=True).map(tuple)
    return st.one_of(st.just(()), st.just(()), some)


@st.composite
def queries(draw: st.DrawFn, messages: list[Message]) -> Query:
    """A query about that mail: words and phrases that stand in it, or nearly."""
    texts = [text for message in messages for text in (message.subject, message.body)]
    runs = [run for text in (*texts, *PROSE) if (run := tokenize(text))]
    phrases = []
    for _ in range(draw(st.sampled_from([0, 1, 1, 2]))):
        run = draw(st.sampled_from(runs))
        start = draw(st.integers(0, len(run) - 1))
        phrase = run[start : start + draw(st.integers(1, 3))]
        phrases.append(tuple(draw(st.permutations(phrase)) if draw(st.booleans()) else phrase))
    moments = st.one_of(st.none(), st.none(), steps.map(lambda step: START + step))
    items = sorted({item for text in (*texts, "H1 T10") for item in find_item_ids(text)})
    return Query(
        phrases=tuple(phrases),
        types=draw(alternatives(["INFO", "QUESTION", "DELTA", "ACK"])),
        senders=draw(alternatives([ANN, BEA, CAT])),
        threads=draw(alternatives(sorted({message.thread_id for message in messages}))),
        items=draw(alternatives(items)),
        is_unread=draw(st.sampled_from([False, False, True])),
        needs_ack=draw(st.sampled_from([False, False, True])),
        before=draw(moments),
        after=draw(moments),
    )


def expected(mailbox: Mailbox, query: Query, reader: str) -> list[StoredMessage]:
    """Every message held against the query, the latest arrival first."""
    inbox = mailbox.inbox(reader).messages
    unread = {one.stored.id for one in inbox if not one.is_read}
    owed = {one.stored.id for one in inbox if one.owes_ack}
    return [
        stored
        for stored in reversed(mailbox.arrivals(0))
        if matches(query, stored.message, stored.at)
        and (not query.is_unread or stored.id in unread)
        and (not query.needs_ack or stored.id in owed)
    ]


@pytest.mark.fuzz
@pytest.mark.parametrize("home", backends_with(Capability.CLIENT_CLOCK, Capability.READ_MARKS))
@FEWER
@given(data=st.data())
def test_what_matches_is_found(home: Backend, data: st.DataObject) -> None:
    """Generated mail, generated queries: all hits, whole and in pages, and no others."""
    sent = data.draw(mail())
    with TemporaryDirectory() as folder, Place(home, Path(folder)) as place:
        introduce(place.mailbox)
        for step, message in sent:
            place.clock.move(step)
            stored = post(place.mailbox, message)
            if data.draw(st.booleans()):
                place.mailbox.mark(message.recipients[0], [stored.id], is_read=True)
        for _ in range(4):
            query = data.draw(queries([message for _, message in sent]))
            hits = expected(place.mailbox, query, BEA)
            assert list(place.mailbox.search(query, reader=BEA).messages) == hits
            assert walk(place.mailbox, query, data.draw(st.integers(1, 3))) == hits


def walk(mailbox: Mailbox, query: Query, limit: int) -> list[StoredMessage]:
    """The hits page by page."""
    page = mailbox.search(query, reader=BEA, limit=limit)
    found = list(page.messages)
    while page.has_more:
        page = mailbox.search(query, reader=BEA, limit=limit, before=found[-1].id)
        assert page.messages
        found += page.messages
    return found


def test_the_latest_arrivals_first(place: Place, mailbox: Mailbox) -> None:
    """Whatever the clock says; fifty of them, unless asked for otherwise."""
    sent = [post(mailbox, make_message("cell fate")).id]
    place.clock.move(timedelta(hours=-5))
    sent += [post(mailbox, make_message("cell fate")).id for _ in range(54)]
    post(mailbox, make_message("something else"))
    words = Query(phrases=(("fate",),))
    page = mailbox.search(words)
    assert ids(page.messages) == sent[:4:-1]
    assert page.has_more
    rest = mailbox.search(words, before=page.messages[-1].id)
    assert (ids(rest.messages), rest.has_more) == (sent[4::-1], False)
    assert ids(mailbox.search(words, limit=10**30).messages) == sent[::-1]
    none = mailbox.search(words, limit=0)
    assert (none.messages, none.has_more) == ((), True)


def test_a_page_may_begin_before_any_message(mailbox: Mailbox) -> None:
    """Also before one that is no hit."""
    sent = [post(mailbox, make_message(body)).id for body in ("fate", "fate", "other", "fate")]
    words = Query(phrases=(("fate",),))
    assert ids(mailbox.search(words, before=sent[2]).messages) == [sent[1], sent[0]]


@pytest.mark.every_store
def test_what_a_reader_has_to_do(mailbox: Mailbox) -> None:
    """`needs:ack` is about her, whoever else got the message."""
    asked = post(mailbox, make_message(subject=QUESTION))
    post(mailbox, make_message())
    post(mailbox, ack(str(asked.id), sender=CAT))
    owing = Query(needs_ack=True)
    assert ids(mailbox.search(owing, reader=BEA).messages) == [asked.id]
    for name in (CAT, ANN, BOSS):
        assert mailbox.search(owing, reader=name).messages == ()


@in_backends_with(Capability.READ_MARKS)
def test_what_a_reader_has_not_read(mailbox: Mailbox) -> None:
    """`is:unread` is about her, too."""
    asked = post(mailbox, make_message(subject=QUESTION))
    told = post(mailbox, make_message())
    mailbox.mark(BEA, [asked.id], is_read=True)
    unread = Query(is_unread=True)
    assert ids(mailbox.search(unread, reader=BEA).messages) == [told.id]
    assert ids(mailbox.search(unread, reader=CAT).messages) == [told.id, asked.id]
    assert mailbox.search(unread, reader=BOSS).messages == ()


def test_a_reader_narrows_nothing_else(mailbox: Mailbox) -> None:
    """Without those two filters it does not matter who asks."""
    stored = post(mailbox, make_message("fate"))
    for name in (None, ANN, BEA, BOSS):
        assert mailbox.search(Query(phrases=(("fate",),)), reader=name).messages == (stored,)


@in_backends_with(Capability.READ_MARKS)
def test_searching_changes_nothing(mailbox: Mailbox) -> None:
    """A hit is not a message that was read."""
    post(mailbox, make_message("fate"))
    mailbox.search(Query(phrases=(("fate",),), is_unread=True), reader=BEA)
    assert not mailbox.inbox(BEA).messages[0].is_read


@pytest.mark.parametrize("query", [Query(is_unread=True), Query(needs_ack=True)])
def test_some_filters_need_a_reader(mailbox: Mailbox, query: Query) -> None:
    """Nobody has read nothing."""
    assert error_code(mailbox.search, query) == "FILTER_NEEDS_READER"


def test_what_is_not_known_is_refused(mailbox: Mailbox) -> None:
    """A stranger as reader or as sender, a thread or a message that is not there."""
    post(mailbox, make_message())
    assert error_code(mailbox.search, Query(senders=(ANN, "Nobody"))) == "NO_SUCH_AGENT"
    for thread_id in ("nobody-was-here", "\ud800"):
        query = Query(threads=(THREAD, thread_id))
        assert error_code(mailbox.search, query) == "UNKNOWN_THREAD"
    for reader in ("Nobody", "greendog", ""):
        code = error_code(mailbox.search, EVERYTHING, reader=reader)
        assert code == "NO_SUCH_AGENT"
    for number in NO_MESSAGE:
        code = error_code(mailbox.search, EVERYTHING, before=number)
        assert code == "UNKNOWN_MESSAGE"


def test_times_are_instants(place: Place, mailbox: Mailbox) -> None:
    """To the microsecond, in whatever zone the question is written."""
    stored = post(mailbox, make_message())
    tick = timedelta(microseconds=1)
    zone = datetime.fromisoformat("2025-01-01T00:00:00+05:30").tzinfo
    for moment in (stored.at - tick, stored.at, stored.at + tick):
        for query in (Query(before=moment), Query(after=moment)):
            hits = (stored,) if matches(query, stored.message, stored.at) else ()
            assert mailbox.search(query).messages == hits
            shifted = Query(
                before=query.before and query.before.astimezone(zone),
                after=query.after and query.after.astimezone(zone),
            )
            assert mailbox.search(shifted).messages == hits
