"""References from session to session when one is compiled (R21)."""

from brenner.config import find_project
from brenner.mail.memory import MemoryMailbox
from brenner.protocol.delta.schema import RELATIONS
from brenner.protocol.messages import Message
from brenner.services import compile as compiling
from brenner.services.compile import compile_result_json
from brenner.services.decisions import adopt_thread
from brenner.services.references import unresolved_references
from brenner.services.version_store import load_ledger
from brenner.services.versions import verify
from brenner.services.workspace import Workspace
from session.referring import (
    FIRST,
    SECOND,
    THIRD,
    Referring,
    nowhere,
    place,
    references_of,
    to,
)
from session.workspaces import ANN, add, edit

__all__ = ["place"]
SESSION, ITEM = "UNKNOWN_REFERENCED_SESSION", "UNKNOWN_REFERENCED_ITEM"
CIRCULAR = "CIRCULAR_REFERENCE"


# What leads nowhere


def test_all_relations_lead_somewhere(place: Referring) -> None:
    """Each of the six is kept, and nothing is to be said of it."""
    place.start(FIRST, SECOND)
    place.send(SECOND, edit("H1", references=[to(FIRST, "H2", each) for each in RELATIONS]))
    done = place.compile(SECOND)
    assert references_of(done, "H1") == [f"{each} {FIRST} H2" for each in RELATIONS]
    assert len(RELATIONS) == 6
    assert nowhere(done) == []


def test_what_leads_nowhere_is_kept_and_listed_until_it_does(place: Referring) -> None:
    """At every compile, in its message too, also for what an older version brought in."""
    place.start(FIRST)
    place.send(FIRST, edit("H1", references=[to(SECOND, "H3"), to(THIRD, "RT")]))
    done = place.compile(FIRST)
    assert references_of(done, "H1") == [f"extends {SECOND} H3", f"extends {THIRD} RT"]
    assert nowhere(done) == [SESSION, SESSION]
    assert SESSION in [each["id"] for each in compile_result_json(done)["violations"]]  # type: ignore[attr-defined]
    assert done.message
    assert "## Unresolved References\n- UNKNOWN_REFERENCED_SESSION" in done.message.message.body
    place.start(SECOND)
    assert nowhere(place.compile(FIRST)) == [ITEM, SESSION]  # nothing new, and yet told
    place.send(FIRST, edit("H2", claim="Another"))
    again = place.compile(FIRST)
    assert nowhere(again) == [ITEM, SESSION]
    assert again.message
    assert "has no `H3` (it has `H1` to `H2`)" in again.message.message.body.replace("\\", "")
    place.send(SECOND, add("Three"))
    place.compile(SECOND)
    place.start(THIRD)
    assert nowhere(place.compile(FIRST)) == []
    assert unresolved_references(place.workspace, place.compile(FIRST).artifact) == ()


def test_a_session_without_a_version_is_known(place: Referring) -> None:
    """It has mail, and no items yet."""
    place.start(FIRST)
    place.send(SECOND, add("Unread"))
    place.send(FIRST, edit("H1", references=[to(SECOND, "H1")]))
    done = place.compile(FIRST)
    assert nowhere(done) == [ITEM]
    assert "has no version yet" in done.warnings[-1].message


def test_the_nearest_session_is_named(place: Referring) -> None:
    """A slip in an ID."""
    place.start(FIRST, SECOND)
    place.send(SECOND, edit("H1", references=[to("RS-20251228-inital-idea", "H1")]))
    [found] = [each for each in place.compile(SECOND).warnings if each.id == SESSION]
    assert (found.suggestion, found.item) == (FIRST, "H1")


def test_what_is_no_id_is_told_once(place: Referring) -> None:
    """The check of the block says so when it is read; from then on the list does."""
    place.start(FIRST)
    place.send(FIRST, edit("H1", references=[to("../../etc/passwd", "H1"), to(FIRST, "Test 3")]))
    done = place.compile(FIRST)
    every = [each["id"] for each in compile_result_json(done)["violations"]]  # type: ignore[attr-defined]
    assert every.count("UNKNOWN_REFERENCE") == 2
    assert nowhere(done) == []
    assert done.message
    assert done.message.message.body.count("UNKNOWN_REFERENCED_") == 2
    assert nowhere(place.compile(FIRST)) == [SESSION, ITEM]


def test_each_reference_that_leads_nowhere_is_told(place: Referring) -> None:
    """Also where the item gets another one in the same round of which the ledger tells."""
    place.start(FIRST)
    place.send(FIRST, edit("H1", references=[to("no/one", "H1")]))
    place.compile(FIRST)
    assert nowhere(place.compile(FIRST)) == [SESSION]
    place.send(FIRST, edit("H1", references=[to("no/two", "H1"), to(SECOND, "H1")]))
    done = place.compile(FIRST)
    found = [each for each in done.warnings if each.id == SESSION]
    assert ["no/one" in found[0].message, SECOND in found[1].message, len(found)] == [True, True, 2]
    assert [each.id for each in done.ledger[0].diagnostics] == ["UNKNOWN_REFERENCE"]
    assert nowhere(place.compile(FIRST)) == [SESSION] * 3


def test_an_adopted_version_lists_what_leads_nowhere(place: Referring) -> None:
    """Its message does as that of every version."""
    place.start(FIRST)
    place.send(FIRST, edit("H1", references=[to(SECOND, "H1")]))
    done = compiling.compile_thread(place.workspace, FIRST, compiling.CompileOptions(dry_run=True))
    body = f"# Compiled Artifact v2\n\n## Full Artifact\n\n```markdown\n{done.text}```\n"
    place.workspace.mailbox.send(Message(FIRST, ANN, ("Operator",), "COMPILED: v2 of others", body))
    adopted, message, _ = adopt_thread(place.workspace, FIRST)
    assert [each.id for each in adopted.unresolved] == [SESSION]
    assert f"## Unresolved References\n- {SESSION}" in message.message.body


# Circles


def circle_of_three(place: Referring) -> compiling.CompileResult:
    """The first refers to the third before that has the item; the third closes the circle."""
    place.start(FIRST, SECOND, THIRD)
    place.send(FIRST, edit("H1", references=[to(THIRD, "H3", "informed_by")]))
    place.compile(FIRST)
    place.send(SECOND, edit("H1", references=[to(FIRST, "H1", "refines")]))
    place.compile(SECOND)
    place.send(THIRD, add("Three", references=[to(SECOND, "H1", "refutes"), to(FIRST, "H2")]))
    return place.compile(THIRD)


def test_a_new_item_can_close_a_circle(place: Referring) -> None:
    """Another session has named it before it was there. The rest of the delta applies."""
    done = circle_of_three(place)
    [entry] = done.ledger
    assert (entry.state, [each.id for each in entry.diagnostics]) == ("applied", [CIRCULAR])
    way = f"{THIRD} H3 → {SECOND} H1 → {FIRST} H1 → {THIRD} H3"
    assert way in entry.diagnostics[0].message
    assert references_of(done, "H3") == [f"extends {FIRST} H2"]
    assert done.message
    assert f"## References Left Out\n- {CIRCULAR}" in done.message.message.body


def test_a_killed_item_still_refers(place: Referring) -> None:
    """An ID means the same item for ever."""
    place.start(FIRST, SECOND)
    place.send(FIRST, edit("H1", references=[to(SECOND, "H1")]))
    kill = {"operation": "KILL", "section": "hypothesis_slate", "target_id": "H1"}
    place.send(FIRST, {**kill, "payload": {"reason": "It was wrong"}, "rationale": "So"})
    place.compile(FIRST)
    place.send(SECOND, edit("H1", references=[to(FIRST, "H1")]))
    assert [each.id for each in place.compile(SECOND).ledger[0].diagnostics] == [CIRCULAR]


def test_a_reference_within_the_session_can_close_one_through_another(place: Referring) -> None:
    """H1 would come from H2, which comes from a session that comes from H1."""
    place.start(FIRST, SECOND)
    place.send(SECOND, edit("H1", references=[to(FIRST, "H1")]))
    place.compile(SECOND)
    place.send(FIRST, edit("H2", references=[to(SECOND, "H1")]))
    place.compile(FIRST)
    place.send(FIRST, edit("H1", references=[to(FIRST, "H2")]))
    assert [each.id for each in place.compile(FIRST).ledger[0].diagnostics] == [CIRCULAR]


def test_a_version_rebuilds_without_the_other_sessions(place: Referring) -> None:
    """The record says what was left out; here the thread is alone in another mailbox."""
    circle_of_three(place)
    records = [
        each for each in place.workspace.mailbox.records() if each.stored.message.thread_id == THIRD
    ]
    alone = MemoryMailbox()
    alone.restore(place.workspace.mailbox.agents(), records)
    there = Workspace(alone, find_project(str(place.folder.parent), {}), "Operator")
    for workspace in (place.workspace, there):
        verified = verify(workspace, THIRD)
        assert [each.ok for each in verified.versions] == [True, True]
        [entry] = load_ledger(workspace, THIRD, 2)
        assert [each.id for each in entry.diagnostics] == [CIRCULAR]
        assert "through other sessions, as they were at that time" in entry.diagnostics[0].message
    history = compiling.compile_thread(there, THIRD, compiling.CompileOptions())
    assert references_of(history, "H3") == [f"extends {FIRST} H2"]
