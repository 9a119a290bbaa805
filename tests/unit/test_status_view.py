"""The screen and the line of a status, whatever stands in them: they fit, and nothing is obeyed."""

import io
import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rounds
from brenner.cli.session.status import StatusScreen, status_line, status_lines, turn_spans
from brenner.cli.terminal import display_width
from brenner.diagnostics.codes.deltas import INVALID_SECTION
from brenner.integrations.programs import Bead
from brenner.protocol.thread_ids import ThreadKind
from brenner.session.model import (
    OpenAck,
    OpenCritique,
    OpenMessage,
    Participant,
    Phase,
    PublishedVersion,
    RefusedBlock,
    SessionStatus,
    Turn,
)
from brenner.session.overview import Overview, OwedAck
from brenner.session.status_text import StatusReader, describe_round
from mail_shell import HOSTILE

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
DEADLINE = timedelta(hours=24)
THREAD = "RS-20260105-phage-proteins"
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")

# Every kind of text that does harm somewhere; any text at all would be slow to draw so often.
ODD = (HOSTILE, "細胞" * 60, "e\u0301" * 200, "x" * 300, "\u202eodd\u2066", "`", "a\nFORGED", "{0}")
names = st.sampled_from(["B", "RedSky", *ODD])
texts = st.sampled_from(["", " ", "Open", "word " * 90, *ODD])
times = st.timedeltas(timedelta(days=-20), timedelta(days=1)).map(lambda away: NOW + away)
ids = st.integers(1, 10**7)
counts = st.integers(0, 40)
faults = st.builds(
    lambda text: INVALID_SECTION.at(3, value=text, known=text, suggestion=text), texts
)
participants = st.builds(
    Participant,
    names,
    texts | st.none(),
    st.booleans(),
    st.sampled_from(Turn),
    ids | st.none(),
    st.booleans(),
    *[counts] * 5,
    st.lists(ids, max_size=4).map(tuple),
    times | st.none(),
)
acks = st.builds(
    OpenAck,
    names,
    ids,
    ids,
    st.integers(1, 3),
    texts | st.none(),
    names,
    texts,
    times,
    times,
    unsealed_at=times | st.none(),
)
kinds = st.sampled_from(["CRITIQUE", "BLOCKED", "QUESTION", "HANDOFF"])
messages = st.builds(
    OpenMessage,
    ids,
    kinds,
    names,
    texts,
    times,
    st.lists(names, max_size=3).map(tuple),
    texts,
    texts,
)
refusals = st.builds(
    RefusedBlock,
    ids,
    st.integers(1, 2000),
    ids,
    names,
    *[texts | st.none()] * 3,
    st.booleans(),
    texts | st.none(),
    st.integers(1, 99) | st.none(),
    st.lists(faults, max_size=2).map(tuple),
)
versions = st.builds(
    PublishedVersion,
    st.integers(1, 999),
    ids,
    times,
    st.just(""),
    st.just(""),
    texts,
    names,
    names,
    texts,
    counts,
    counts,
    st.booleans(),
    st.just(()),
)


def several(each: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """None, some, or more than a screen shows."""
    return st.lists(each, max_size=8).map(tuple)


statuses = st.builds(
    SessionStatus,
    st.just(THREAD),
    st.sampled_from(ThreadKind),
    texts,
    st.integers(1, 999),
    st.sampled_from(Phase) | st.none(),
    versions | st.none(),
    several(participants),
    several(acks),
    several(st.builds(OpenCritique, texts, texts, names | st.none(), texts)),
    several(messages),
    several(refusals),
    counts,
    counts,
    faults.map(lambda fault: fault._replace(message_id=3)) | st.none(),
    ids,
    times,
    times,
)
beads = st.builds(Bead, st.just("x-1"), *[texts | st.none()] * 4, texts)


class Watched(io.StringIO):
    """A terminal that keeps what was written."""

    def isatty(self) -> bool:
        """People look at it."""
        return True


def shown(screen: StatusScreen, reader: StatusReader, *, is_full: bool = False) -> list[str]:
    """What stands on the screen, without styles."""
    text = "".join(status_lines(screen, reader, Watched(), is_full=is_full))
    return ESCAPE.sub("", text).split("\n")


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


@given(statuses, st.lists(faults, max_size=8).map(tuple), beads | st.none(), st.booleans())
def test_every_screen_fits(
    status: SessionStatus, nowhere: tuple[object, ...], bead: Bead | None, is_full: bool
) -> None:
    """No line is wider than 80 columns, none is forged, and the thread's ID is never broken."""
    reader = StatusReader("Operator", "Operator", NOW, DEADLINE)
    found = shown(StatusScreen(status, nowhere, bead), reader, is_full=is_full)  # type: ignore[arg-type]
    assert max(map(display_width, found)) <= 80
    assert all(each.isprintable() for each in found)
    assert found[0].startswith(f"{THREAD}  ")
    command = found[-2].strip()
    assert "brenner " in command
    assert THREAD in command or "brenner mail ack" in command


@given(statuses)
def test_nothing_is_left_out_in_a_pipe(status: SessionStatus) -> None:
    """Every row of every list is there, whole."""
    out = io.StringIO()
    reader = StatusReader("Operator", "Operator", NOW, DEADLINE)
    text = "".join(status_lines(StatusScreen(status), reader, out, is_full=False))
    assert "\x1b" not in text
    found = text.split("\n")
    for refusal in () if status.is_over else status.refusals:  # what was open is settled then
        which = f"{refusal.message_id}.{refusal.block}"
        assert any(each.lstrip().startswith(which) for each in found)
    for message in status.messages:
        assert any(
            each.lstrip().startswith(f"{message.message_id}  {message.type}") for each in found
        )


@given(
    st.builds(
        Overview,
        st.sampled_from([THREAD, "-bot-5so.1.4", "COORD-weekly", "x" * 252]),
        st.sampled_from(ThreadKind),
        texts,
        st.integers(1, 9999),
        st.sampled_from(Phase) | st.none(),
        st.integers(1, 9999) | st.none(),
        counts | st.none(),
        st.lists(st.tuples(names, st.sampled_from(Turn)), max_size=5).map(tuple),
        st.lists(st.builds(OwedAck, names, ids, times), max_size=5).map(tuple),
        *[st.integers(0, 9999)] * 7,
        st.booleans(),
        ids,
        times,
        times,
    )
)
def test_a_line_is_one_line(overview: Overview) -> None:
    """At most 80 columns, no style, nothing that a status bar would obey."""
    said = status_line(overview, NOW, DEADLINE)
    assert display_width(said) <= 80
    assert said.isprintable()
    assert said == said.strip()


def a_participant(turn: Turn, **more: object) -> Participant:
    """An agent of the roster who was asked by message 4."""
    known: dict[str, object] = {"name": "RedSky", "role": "test_designer", "is_in_roster": True}
    return Participant(**(known | {"turn": turn, "kickoff": 4} | more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("each", "words"),
    [
        (a_participant(Turn.OWES_ACK), "owes an ACK for 3 h"),
        (a_participant(Turn.OWES_DELTA), "owes a delta"),
        (a_participant(Turn.OWES_DELTA, other_messages=(7,)), "owes a delta; wrote 7"),
        (
            a_participant(Turn.OWES_DELTA, other_messages=(7, 8, 9)),
            "owes a delta; wrote 3 other messages",
        ),
        (
            a_participant(Turn.CONTRIBUTED, deltas=2, applied=5, refused=1),
            "2 deltas: 5 apply, 1 rejected",
        ),
        (a_participant(Turn.CONTRIBUTED, deltas=1, duplicate=2), "1 delta: 2 duplicate"),
        (a_participant(Turn.TO_CORRECT, deltas=1, refused=2), "1 delta: 2 rejected, to correct"),
        (a_participant(Turn.PASSED), "passed"),
        (a_participant(Turn.NOT_ASKED), "not asked"),
        (a_participant(Turn.NOT_ASKED, is_in_roster=False), "not in the roster"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_turns_in_words(each: Participant, words: str) -> None:
    asked = NOW - timedelta(hours=3)
    first = asked - timedelta(days=1)  # and she was asked again since
    owed = OpenAck("RedSky", 4, 6, 2, "KICKOFF", "Operator", "KICKOFF: x", first, asked)
    other = owed._replace(message_id=2, last_message_id=2, last_sent=NOW - timedelta(days=9))
    status = a_status((each,))._replace(open_acks=(other, owed))
    assert "".join(piece.text for piece in turn_spans(each, status, NOW)) == words


def a_status(who: tuple[Participant, ...]) -> SessionStatus:
    """One of which nothing is said but who takes part."""
    quiet = rounds.status(THREAD, rounds.latest(1))
    return quiet._replace(round=1, phase=Phase.AWAITING_ACKS, version=None, participants=who)


def test_of_several_reasons_a_terminal_shows_one() -> None:
    """How many more there are stands beside it; all of them with --full, and in a pipe."""
    found = tuple(
        INVALID_SECTION.at(3, value=name, known="k", suggestion="")
        for name in ("one", "two", "six")
    )
    refusal = RefusedBlock(7, 2, 3, "RedSky", "ADD", "x", None, False, None, 1, found)
    status = a_status((a_participant(Turn.TO_CORRECT, refused=1),))._replace(refusals=(refusal,))
    reader = StatusReader("Operator", "Operator", NOW, DEADLINE)
    cut, full = (
        "\n".join(shown(StatusScreen(status), reader, is_full=is_full)) for is_full in (False, True)
    )
    piped = "".join(status_lines(StatusScreen(status), reader, io.StringIO(), is_full=False))
    assert [text.count("and 2 more") for text in (cut, full, piped)] == [1, 1, 1]
    assert [("one" in text, "six" in text) for text in (cut, full, piped)] == [
        *((True, False), (True, True), (True, True))
    ]


@pytest.mark.parametrize(
    ("phase", "words"),
    [
        (Phase.AWAITING_DELTAS, "Round 3, awaiting deltas"),
        (Phase.IN_CRITIQUE, "Between rounds 2 and 3"),
        (Phase.COMPLETE, "Round 3, complete"),
        (None, "conversation"),
    ],
)
def test_round_and_phase_in_words(phase: Phase | None, words: str) -> None:
    assert describe_round(phase, 3) == words
