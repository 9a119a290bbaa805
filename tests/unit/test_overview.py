"""The row of a session: what it says, in which order rows are read, and the text that is kept."""

import json
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brenner.artifact.model import KillRecord, Reference
from brenner.protocol.thread_ids import ThreadKind
from brenner.session import overview as forms
from brenner.session.model import Phase, Turn
from brenner.session.overview import (
    WAITING_NEEDS,
    CachedOverview,
    Need,
    Overview,
    OwedAck,
    count_needs,
    decode_overview,
    encode_overview,
    needs_of,
    overview_json,
    urgency_key,
)
from strategies import scalar_text

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
DEADLINE = timedelta(hours=24)
EARLIER = NOW - timedelta(hours=3)


def row(thread_id: str = "RS-20251230-cell-fate", **said: object) -> Overview:
    """A session in its first round of which nothing is said but this."""
    fields: dict[str, object] = {
        "kind": ThreadKind.RESEARCH,
        "question": "Why?",
        "round": 1,
        "phase": Phase.IN_CRITIQUE,
        "version": None,
        "errors": None,
        "awaited": (),
        "owed": (),
        "is_stopped": False,
        "position": 1,
        "first_at": EARLIER,
        "last_at": EARLIER,
        **dict.fromkeys(("blocked", "questions", "handoffs", "critiques", "refusals"), 0),
        "misplaced": 0,
        "unanswered": 0,
        **dict.fromkeys(("unread", "applies"), 0),
    }
    return Overview(thread_id, **{**fields, **said})  # type: ignore[arg-type]


def owed(hours: float) -> tuple[OwedAck, ...]:
    """An ACK that was asked for so long ago."""
    return (OwedAck("BlueLake", 1, NOW - timedelta(hours=hours)),)


# In the order in which a list is read
WORST_FIRST = {
    Need.STOPPED: row(is_stopped=True, phase=Phase.READY_TO_COMPILE),
    Need.BLOCKED: row(blocked=1),
    Need.ASKED: row(questions=2),
    Need.OVERDUE: row(owed=owed(25)),
    Need.REFUSED: row(refusals=1),
    Need.MISPLACED: row(misplaced=1),
    Need.UNANSWERED: row(unanswered=1),
    Need.READY: row(phase=Phase.READY_TO_COMPILE, owed=owed(23)),
    Need.LATE: row(phase=Phase.COMPLETE, applies=2),
    Need.HANDOFFS: row(handoffs=1),
    Need.AWAITING_DELTAS: row(phase=Phase.AWAITING_DELTAS),
    Need.AWAITING_ACKS: row(phase=Phase.AWAITING_ACKS),
    Need.IN_CRITIQUE: row(phase=Phase.IN_CRITIQUE, critiques=3),
    Need.CONVERSATION: row(phase=None),
    Need.COMPLETE: row(phase=Phase.COMPLETE),
    Need.CANCELLED: row(phase=Phase.CANCELLED, blocked=1, questions=1, refusals=1, applies=1),
}


def test_every_need_has_its_place() -> None:
    assert list(WORST_FIRST) == list(Need)
    for need, each in WORST_FIRST.items():
        assert needs_of(each, NOW, DEADLINE)[0] is need
    for worse, other in pairwise(WORST_FIRST.values()):
        later = other._replace(last_at=NOW)  # which does not help it
        assert urgency_key(worse, NOW, DEADLINE) < urgency_key(later, NOW, DEADLINE)


def test_of_equal_need_the_latest_comes_first() -> None:
    rows = [row("b"), row("a"), row("c", last_at=NOW), row("d", last_at=NOW + DEADLINE)]
    ordered = sorted(rows, key=lambda each: urgency_key(each, NOW, DEADLINE))
    assert [each.thread_id for each in ordered] == ["d", "c", "a", "b"]


def test_needs_are_all_that_holds() -> None:
    """What is stopped is not ready; a complete session may still have a question open."""
    everything = row(
        is_stopped=True,
        blocked=1,
        questions=1,
        owed=owed(30),
        refusals=1,
        misplaced=1,
        unanswered=1,
        handoffs=1,
        phase=Phase.READY_TO_COMPILE,
    )
    assert needs_of(everything, NOW, DEADLINE) == tuple(
        need for need in WAITING_NEEDS if need not in (Need.READY, Need.LATE)
    )
    ready = everything._replace(is_stopped=False)
    assert Need.READY in needs_of(ready, NOW, DEADLINE)
    closed = row(phase=Phase.COMPLETE, questions=1, refusals=1, misplaced=1, unanswered=1)
    assert needs_of(closed, NOW, DEADLINE) == (Need.ASKED, Need.COMPLETE)
    late = closed._replace(applies=1)
    assert needs_of(late, NOW, DEADLINE) == (Need.ASKED, Need.LATE, Need.COMPLETE)


@pytest.mark.parametrize(("hours", "is_late"), [(23.9, False), (24, False), (24.1, True)])
def test_overdue_is_a_matter_of_the_clock(hours: float, is_late: bool) -> None:
    each = row(owed=owed(hours))
    assert bool(each.overdue(NOW, DEADLINE)) is is_late
    assert (Need.OVERDUE in needs_of(each, NOW, DEADLINE)) is is_late
    assert overview_json(each, NOW, DEADLINE)["overdue"] == int(is_late)


def test_any_date_is_compared() -> None:
    ends = [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]
    each = row(owed=tuple(OwedAck("BlueLake", 1, at) for at in ends), last_at=ends[1])
    assert [one.last_sent for one in each.overdue(NOW, DEADLINE)] == ends[:1]
    assert urgency_key(each._replace(last_at=ends[0]), NOW, DEADLINE)


def test_counts() -> None:
    """A session counts under each of its needs."""
    both = row(blocked=1, phase=Phase.COMPLETE)
    found = count_needs([both, *WORST_FIRST.values()], NOW, DEADLINE)
    assert found == {
        "sessions": 16,  # a conversation is none
        **{str(need): 1 for need in Need},
        "blocked": 2,
        "complete": 3,
        # A stopped session has a phase; so has one that is asked, overdue, or hands over.
        "in_critique": 8,
    }


texts = scalar_text
kills = st.tuples(texts, st.builds(KillRecord, texts, texts, texts))
moments = st.datetimes(timezones=st.just(UTC))
small = st.integers(0, 3)
overviews = st.builds(
    Overview,
    thread_id=texts,
    kind=st.sampled_from(ThreadKind),
    question=texts,
    round=st.integers(1, 99),
    phase=st.sampled_from((None, *Phase)),
    version=st.none() | small,
    errors=st.none() | small,
    awaited=st.lists(st.tuples(texts, st.sampled_from(Turn)), max_size=3).map(tuple),
    owed=st.lists(st.builds(OwedAck, texts, small, moments), max_size=3).map(tuple),
    blocked=small,
    questions=small,
    handoffs=small,
    critiques=small,
    refusals=small,
    unread=small,
    applies=small,
    is_stopped=st.booleans(),
    position=st.integers(1, 10**9),
    first_at=moments,
    last_at=moments,
    items=st.lists(texts, max_size=3).map(tuple),
    references=st.lists(
        st.tuples(texts, st.builds(Reference, texts, texts, texts)), max_size=3
    ).map(tuple),
    killed=st.lists(kills, max_size=2).map(tuple),
)
knowns = st.builds(CachedOverview, texts, st.integers(0, 10**9), moments, st.none() | overviews)


@given(knowns)
def test_what_was_kept_is_read_back(known: CachedOverview) -> None:
    text = encode_overview(known)
    again = decode_overview(text)
    assert again == known
    assert list(map(type, again.overview or ())) == list(map(type, known.overview or ()))


def is_a_row(text: str) -> bool:
    """Whether it is taken for a row of ours; nothing but ValueError says no."""
    try:
        decode_overview(text)
    except ValueError:
        return False
    return True


@given(known=knowns, where=st.floats(0, 1, exclude_max=True), put=st.text(max_size=3))
@example(CachedOverview("t", 1, NOW, None), 0.0, "")
def test_damage_is_noticed(known: CachedOverview, where: float, put: str) -> None:
    """A letter is lost, or there is another one in its place."""
    text = encode_overview(known)
    place = int(where * len(text))
    damaged = text[:place] + put + text[place + 1 :]
    assert is_a_row(damaged) == (damaged == text)


@given(st.text())
def test_any_text_is_no_row(text: str) -> None:
    assert not is_a_row(text)


@given(st.recursive(st.none() | st.integers() | st.text(), st.lists))
def test_any_document_is_no_row(document: object) -> None:
    """Also where its checksum is right: somebody made it so."""
    sound = encode_overview(CachedOverview("t", 1, NOW, row("t")))
    fields = json.loads(sound[16:])
    text = json.dumps([*fields[:3], document, document])
    assert is_a_row(sealed(sound[16:]))
    assert not is_a_row(sealed(text))


def sealed(text: str) -> str:
    """The text with its checksum."""
    return sha256(text.encode()).hexdigest()[:16] + text


def test_another_release_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    known = CachedOverview("t", 1, NOW, row("t"))
    ours = encode_overview(known)
    monkeypatch.setattr(forms, "_FORMAT", "1 0.0.0")
    theirs = encode_overview(known)
    assert is_a_row(theirs)
    assert not is_a_row(ours)
    monkeypatch.undo()
    assert is_a_row(ours)
    assert not is_a_row(theirs)


def test_the_stable_form() -> None:
    each = row(
        owed=(*owed(30), OwedAck("RedSky", 2, NOW)),
        awaited=(("RedSky", Turn.OWES_DELTA),),
        phase=Phase.AWAITING_DELTAS,
        version=3,
        errors=1,
    )
    assert json.loads(json.dumps(overview_json(each, NOW, DEADLINE))) == {
        "thread_id": "RS-20251230-cell-fate",
        "kind": "research",
        "question": "Why?",
        "round": 1,
        "phase": "awaiting_deltas",
        "version": 3,
        "needs": ["overdue", "awaiting_deltas"],
        "awaited": [{"agent": "RedSky", "turn": "owes_delta"}],
        "owed": [
            {
                "agent": "BlueLake",
                "message_id": 1,
                "last_sent": "2026-01-04T06:00:00Z",
                "overdue": True,
            },
            {
                "agent": "RedSky",
                "message_id": 2,
                "last_sent": "2026-01-05T12:00:00Z",
                "overdue": False,
            },
        ],
        "overdue": 1,
        **dict.fromkeys(("blocked", "questions", "handoffs", "critiques", "refusals"), 0),
        "misplaced": 0,
        "unanswered": 0,
        "unread": 0,
        "applies": 0,
        "stopped": False,
        "errors": 1,
        "position": 1,
        "first_at": "2026-01-05T09:00:00Z",
        "last_at": "2026-01-05T09:00:00Z",
    }
