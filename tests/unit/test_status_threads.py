"""Where threads stand that are not an ordinary round: closed, void, broken, adopted, late."""

from datetime import timedelta
from pathlib import Path

import pytest

from brenner.artifact.state import empty_state
from brenner.cli.session.watch import next_step_text
from brenner.config import Project
from brenner.protocol.delta.parse import render_delta
from brenner.protocol.delta.schema import Delta
from brenner.protocol.messages import Message, StoredMessage
from brenner.services.decisions import adopt_thread
from brenner.services.watch import WatchedThreads
from brenner.services.workspace import Workspace
from brenner.session.decisions import compose_void
from brenner.session.model import Phase, Turn
from brenner.session.overview import Need, needs_of, overview_of
from brenner.session.status import compute_status, merge_unread
from brenner.session.status_text import StatusReader, attention
from brenner.session.versions import replay
from golden.history import HERE
from sample_messages import EDIT, THREAD_ID
from status_sessions import AGENTS, ANN, BEA, Sitting, add, edit
from version_threads import OPERATOR, file

REFUSED = edit("H9", "x")
DAY = timedelta(hours=24)
EMPTY = empty_state(THREAD_ID).artifact


def test_a_thread_without_a_kickoff_awaits_nobody() -> None:
    """R23: it is a conversation, whatever is sent to it, until a kickoff makes it a session."""
    sitting = Sitting()
    sitting.send(ANN, "QUESTION: Who begins?", "## Question\nWho?\n")
    status = sitting.status()
    assert (status.phase, status.round, status.version) == (None, 1, None)
    assert [each.turn for each in status.participants] == [Turn.NOT_ASKED]
    sitting.delta(ANN, REFUSED)
    assert sitting.status().phase is None
    sitting.delta(ANN, add("Place"))
    assert sitting.status().phase is None
    sitting.kickoff(BEA)
    assert sitting.status().phase is not None


def test_a_round_without_a_kickoff_of_its_own_awaits_nobody() -> None:
    """After the version it goes on with whatever comes in."""
    sitting = Sitting()
    sitting.kickoff(ANN)
    sitting.delta(ANN, add("Place"))
    sitting.compile()
    status = sitting.status()
    assert (status.round, status.phase, status.awaited) == (2, Phase.IN_CRITIQUE, ())
    sitting.delta(BEA, edit("H1", "Time decides"))
    assert sitting.status().phase is Phase.READY_TO_COMPILE


def test_a_closed_session_is_complete_until_it_is_opened_again() -> None:
    """What comes in after the end is counted, and does not change the phase."""
    sitting = Sitting()
    sitting.kickoff(ANN)
    sitting.delta(ANN, add("Place"))
    sitting.compile()
    sitting.compile("closed")
    status = sitting.status()
    assert (status.phase, status.round, status.version and status.version.number) == (
        Phase.COMPLETE,
        2,
        2,
    )
    sitting.delta(BEA, add("Time"))
    status = sitting.status()
    assert (status.phase, status.unread, status.applies) == (Phase.COMPLETE, 1, 1)
    sitting.compile()
    status = sitting.status()
    assert (status.phase, status.round) == (Phase.IN_CRITIQUE, 4)


@pytest.fixture
def closed() -> Sitting:
    """A session that was closed with v2."""
    sitting = Sitting()
    sitting.kickoff(ANN)
    sitting.delta(ANN, add("Place"))
    sitting.compile()
    sitting.compile("closed")
    return sitting


def test_a_kickoff_after_the_end_goes_on_with_the_session(closed: Sitting) -> None:
    """It has the phases of every round, though its next version needs to be meant."""
    number = closed.kickoff(ANN, words="Once more.").id
    seen = [closed.status()]
    closed.ack(ANN, number)
    seen.append(closed.status())
    closed.delta(ANN, add("Time"))
    seen.append(closed.status())
    assert [each.phase for each in seen] == [
        Phase.AWAITING_ACKS,
        Phase.AWAITING_DELTAS,
        Phase.READY_TO_COMPILE,
    ]
    assert {(each.round, each.is_closed) for each in seen} == {(3, True)}
    needs = [needs_of(overview_of(each, EMPTY), each.last_at, DAY)[0] for each in seen]
    assert needs == [Need.AWAITING_ACKS, Need.AWAITING_DELTAS, Need.READY]
    (said,) = attention(seen[-1], seen[-1].last_at, DAY)
    words = "v3 is ready to compile with `--reopen`: 1 block would apply"
    assert said[:2] == ("ready", words)
    reader = StatusReader(OPERATOR, OPERATOR, seen[-1].last_at, DAY)
    for auto_compile in (True, False):
        words = next_step_text(seen[-1], reader, auto_compile=auto_compile)
        assert "`brenner compile --reopen" in words
    closed.compile()
    status = closed.status()
    assert (status.phase, status.round, status.is_closed) == (Phase.IN_CRITIQUE, 4, False)


def test_whoever_passes_after_the_end_leaves_nothing_to_compile(closed: Sitting) -> None:
    """Nobody is awaited, and the session does not say that it is over: a round has begun."""
    closed.ack(ANN, closed.kickoff(ANN, words="Once more.").id, "Completed")
    status = closed.status()
    assert (status.phase, status.round, status.awaited) == (Phase.IN_CRITIQUE, 3, ())
    reader = StatusReader(OPERATOR, OPERATOR, status.last_at, DAY)
    assert "`brenner session round --reopen" in next_step_text(status, reader, auto_compile=False)


def test_what_comes_in_after_the_end_without_a_kickoff_is_late(closed: Sitting) -> None:
    """A copy of the first kickoff asks for nothing new."""
    closed.again(closed.mailbox.message(1), ANN)
    closed.delta(BEA, add("Time"))
    status = closed.status()
    assert (status.phase, status.round) == (Phase.COMPLETE, 2)
    kinds = [each.kind for each in attention(status, status.last_at, DAY)]
    assert kinds == ["late"]


def test_a_watched_thread_is_not_looked_at_twice(closed: Sitting) -> None:
    """The version is linted when it comes out; what becomes of blocks is told with the status."""
    threads = WatchedThreads(Workspace(closed.mailbox, Project(Path("/nowhere")), OPERATOR))
    _, _, first = threads.take(closed.delta(ANN, add("Time")))
    route, _, second = threads.take(closed.delta(BEA, add("Luck"), REFUSED))
    assert first
    assert second
    assert second.version is first.version
    assert (route.items, route.codes) == (("H3",), ("INVALID_TARGET",))
    history, messages = closed.history(), closed.messages()
    found = compute_status(history, messages, OPERATOR, first)
    assert found == compute_status(history, messages, OPERATOR) == second
    assert [each.block for each in merge_unread(history, OPERATOR).ledger] == [1, 1, 2]
    compiled = closed.compile()
    assert compiled
    third = threads.take(compiled)[2]
    assert third
    assert third.version
    assert third.version.number == 3


def test_a_void_version_opens_its_round_again() -> None:
    """What it had read is unread, its kickoff among it: the same people are awaited."""
    sitting = Sitting()
    sitting.kickoff(ANN, BEA)
    sitting.delta(ANN, add("Place"), REFUSED)
    before = sitting.status()
    assert sitting.compile()
    last = sitting.history().versions[-1]
    blank = Message(THREAD_ID, OPERATOR, AGENTS, "", "")
    void = compose_void(blank, last.number, last.message_id, [last.content_hash], "no")
    sitting.send(OPERATOR, void.subject, void.body)
    after = sitting.status()
    assert (after.round, after.phase) == (before.round, before.phase)
    assert after.participants == before.participants
    assert after.refusals == before.refusals


def test_a_version_that_does_not_rebuild_stops_the_round() -> None:
    """What has come in would be applied, but it cannot be compiled: it is not ready."""
    sitting = Sitting()
    sitting.kickoff(ANN)
    sitting.delta(ANN, add("Place"))
    compiled = sitting.compile()
    assert compiled
    body = compiled.message.body.replace("Place decides", "Time decides")
    forged = Sitting()
    forged.kickoff(ANN)
    forged.delta(ANN, add("Place"))
    number = forged.send(OPERATOR, compiled.message.subject, body).id
    status = forged.status()
    assert status.compile_blocker
    assert (status.compile_blocker.id, status.compile_blocker.message_id) == (
        "RECORD_MISMATCH",
        number,
    )
    assert (status.phase, status.applies) == (Phase.AWAITING_DELTAS, 1)


def test_a_thread_of_another_program_stands_where_its_mail_says() -> None:
    """Its COMPILED message is no version; once it is adopted, what came before it is read."""
    sitting = Sitting()
    sitting.kickoff(ANN)
    sitting.delta(ANN, add("Place"), REFUSED)
    text = (HERE / "conflict" / "v2.artifact.md").read_text("utf-8")
    text = text.replace("RS-20260114-somite-clock", THREAD_ID)
    theirs = f"# Compiled Artifact v4\n\n## Full Artifact\n\n~~~~markdown\n{text}~~~~\n"
    sitting.send(BEA, "COMPILED: v4 theirs", theirs)
    status = sitting.status()
    assert (status.round, status.phase, status.version) == (1, Phase.READY_TO_COMPILE, None)
    adopt_thread(Workspace(sitting.mailbox, Project(Path("/nowhere")), OPERATOR), THREAD_ID)
    status = sitting.status()
    assert (status.round, status.phase, status.unread) == (6, Phase.IN_CRITIQUE, 0)
    assert status.version
    assert status.version.number == 5
    assert status.refusals == ()  # nobody has looked at that block
    assert sitting.who(ANN).turn is Turn.NOT_ASKED


def test_a_message_that_comes_in_late_is_of_the_round_in_which_nobody_has_read_it() -> None:
    """Its time is before the version, but no version has read it (R10)."""
    sitting = Sitting()
    sitting.kickoff(ANN)
    sitting.delta(ANN, add("Place"))
    sitting.compile()
    first, *others = sitting.messages()
    message = Message(THREAD_ID, BEA, (OPERATOR,), "DELTA[gpt]: x", add("Time"))
    late = file(StoredMessage(99, first.at, message))
    messages = [first, *others, late]
    status = compute_status(replay(THREAD_ID, messages, OPERATOR), messages, OPERATOR)
    assert (status.round, status.phase, status.applies) == (2, Phase.READY_TO_COMPILE, 1)
    assert [each.name for each in status.participants if each.deltas] == [BEA]


def test_the_question_is_that_of_the_latest_version() -> None:
    """Before the first it is the kickoff's; an edit that nobody has compiled is none yet."""
    sitting = Sitting()
    sitting.kickoff(ANN)
    assert sitting.status().question == "What decides?"
    sitting.delta(ANN, add("Place"))
    sitting.compile()
    payload: dict[str, object] = {"statement": "What decides, and when?"}
    sitting.delta(ANN, render_delta(Delta(EDIT, "research_thread", "RT", payload, "why")))
    assert sitting.status().question == "What decides?"
    sitting.compile()
    assert sitting.status().question == "What decides, and when?"
