"""Edges of a session that other tests pass by: exact words, orders, what is not counted."""

from datetime import UTC, datetime, timedelta
from types import MappingProxyType

import pytest

from brenner.artifact.diff import ChangeKind, ItemChange
from brenner.artifact.manual_edits import new_item_ids
from brenner.artifact.model import Artifact
from brenner.artifact.state import BlockOutcome, Entry
from brenner.diagnostics.codes.deltas import INVALID_SECTION
from brenner.protocol.delta.schema import RELATIONS
from brenner.protocol.messages import Message
from brenner.session.compiled_message import _change_line
from brenner.session.decisions import compose_void
from brenner.session.model import OpenMessage, looks_like_record, read_record
from brenner.session.overview import open_message_json
from brenner.session.prompts import _REFERENCES
from brenner.session.rebuild import VersionMismatch, validate_record
from brenner.session.routing import RoutingContext
from brenner.session.status import contributions
from brenner.session.status_text import StatusReader, attention, next_step
from sample_messages import THREAD_ID
from session.workspaces import ANN, BEA
from status_sessions import ANN as FIRST
from status_sessions import Sitting, add
from unit.test_lint import VALID
from unit.test_routing import OPERATOR, QUESTION, Thread
from version_threads import candidate

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
DAY = timedelta(hours=24)


def test_a_kill_without_a_reason() -> None:
    """Nothing is said of a reason that is not there."""
    change = ItemChange("H1", "hypothesis_slate", "Gradient", (ChangeKind.KILLED,), ())
    assert _change_line(change).endswith(": Gradient")


@pytest.mark.parametrize(("said", "words"), [(9, "v9"), (None, "no version")])
def test_subject_and_record_name_different_versions(said: int | None, words: str) -> None:
    sitting = Sitting()
    sitting.kickoff(FIRST)
    sitting.delta(FIRST, add("Place"))
    compiled = sitting.compile()
    assert compiled
    found = candidate(compiled)
    assert validate_record(found) == found.record
    with pytest.raises(VersionMismatch, match=f"record names v1, the subject names {words}$"):
        validate_record(found._replace(subject_version=said))


def test_a_void_lists_its_messages_in_one_order() -> None:
    """However they were found: the same declaration has the same hash."""
    message, hashes = Message(THREAD_ID, "Operator", (ANN,), "", ""), ["b" * 64, "a" * 64, "c" * 64]
    void = compose_void(message, 1, 5, hashes, "Wrong.")
    assert void == compose_void(message, 1, 5, hashes[::-1], "Wrong.")
    assert void.body.index("a" * 64) < void.body.index("b" * 64) < void.body.index("c" * 64)


def test_a_message_that_states_no_rank() -> None:
    """It has none; not an empty one."""
    found = OpenMessage(3, "QUESTION", ANN, "QUESTION: x", NOW, (BEA,))
    assert open_message_json(found)["rank"] is None
    assert open_message_json(found._replace(rank="Blocking"))["rank"] == "Blocking"


def test_prompts_list_the_relations() -> None:
    assert _REFERENCES.endswith("a relation is " + ", ".join(f"`{each}`" for each in RELATIONS))


def test_why_nothing_can_be_compiled() -> None:
    """The message, and the title of the code."""
    sitting = Sitting()
    sitting.kickoff(FIRST)
    blocker = INVALID_SECTION.at(3, value="x", known="y", suggestion="")._replace(message_id=7)
    status = sitting.status()._replace(compile_blocker=blocker)
    words = [each.text for each in attention(status, NOW, DAY)]
    title = blocker.code.title
    beginning = f"Cannot compile because of message 7: {title[0].lower()}{title[1:]}"
    assert any(each.startswith(beginning) for each in words)


def test_what_an_agent_can_do_next() -> None:
    """Acknowledge the kickoff, then write, then wait."""
    sitting = Sitting()
    number = sitting.kickoff(FIRST).id
    reader = StatusReader(FIRST, "Operator", sitting.clock.now, DAY)
    first = next_step(sitting.status(), reader)
    assert first.command.startswith(f"brenner mail ack {number}")
    sitting.ack(FIRST, number)
    second = next_step(sitting.status(), reader)
    assert second.command.startswith(f"brenner new DELTA --as {FIRST} --to Operator ")
    sitting.delta(FIRST, add("Place"))
    assert next_step(sitting.status(), reader).command == f"brenner session watch {THREAD_ID}"


def test_who_owes_an_ack_for_another_message() -> None:
    """It is not waited for when this one is settled."""
    thread = Thread()
    thread.kickoff(ANN)
    thread.say(OPERATOR, "QUESTION: Which?", QUESTION, (BEA,))
    assert thread.status
    assert [each.debtor for each in thread.status.open_acks] == [ANN, BEA]
    settled = thread.ack(ANN, 1)
    assert settled.waiting_for == ()
    assert "still owe" not in settled.words


def test_a_kickoff_that_asks_nobody_reminds() -> None:
    """Of an agent who is there, and was not asked in this round."""
    thread = Thread()
    thread.kickoff(ANN)
    assert thread.status
    context = RoutingContext(thread.messages[0], None, thread.status)
    assert context.reminded_agents == ()
    nobody = [each._replace(kickoff=None) for each in thread.status.participants]
    unasked = thread.status._replace(participants=tuple(nobody), open_acks=())
    assert context._replace(after=unasked).reminded_agents == (ANN,)


def test_rounds_are_counted_in_their_order() -> None:
    """In whatever order the ledgers come."""
    entry = Entry(1, 1, 1, ANN, "ADD", "hypothesis_slate", None, BlockOutcome.APPLIED)
    found = contributions({2: [entry], 1: [entry, entry]}, [entry])[ANN]
    assert list(found.rounds) == [1, 2, 3]


def test_an_item_that_stands_twice_in_a_file_gets_one_number() -> None:
    """The first of the two: what follows goes by that."""
    slate = "hypothesis_slate"
    added = VALID.sections[slate][0]._replace(id="H9")

    def with_added(*ids: str) -> Artifact:
        items = (*VALID.sections[slate], *(added._replace(id=each) for each in ids))
        return VALID._replace(sections=MappingProxyType({**VALID.sections, slate: items}))

    new, edited = with_added("H9", "H10"), with_added("H9", "H9")
    assert new_item_ids(new, VALID, edited) == {(slate, "H9"): "H9"}


def test_a_record_that_lacks_something() -> None:
    """The first thing that is missing is named; it still looks like a record."""
    text = '{"artifact_sha256": "x", "messages": []}'
    with pytest.raises(ValueError, match="`version` is missing"):
        read_record(text)
    assert looks_like_record(text)
    assert looks_like_record('{"messages": []}') is False
