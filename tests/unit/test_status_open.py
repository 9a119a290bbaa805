"""What waits for somebody: open messages, critiques, ACKs; the same as words and as JSON."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from brenner.artifact.model import ITEM_SECTIONS
from brenner.protocol.delta.parse import render_delta
from brenner.protocol.delta.schema import Delta
from brenner.protocol.messages import Message
from brenner.session.model import Phase, SessionStatus, Turn
from brenner.session.overview import status_json
from brenner.session.status_text import attention
from sample_messages import ADD, EDIT, THREAD_ID
from status_sessions import AGENTS, ANN, BEA, CAT, Sitting, add, edit
from version_threads import OPERATOR

DAY = timedelta(hours=24)
BODIES = {
    "CRITIQUE": "# Critique\n\n## Target\nH1: place\n\n## Attack\nNo.\n\n## Severity\n**major** ok",
    "BLOCKED": "# Blocked\n\n## Item\nx\n\n## Blocker\nNo cells\n\n## Type\nResource\n",
    "QUESTION": "# Question\n\n## Question\nWhich cells?\nAll?\n\n## Urgency\nsometime\n",
    "HANDOFF": "# Handoff\n\n## Item\nThe assay\n\n## From\nBlueLake\n\n## To\nRedSky\n",
}


def opened(sitting: Sitting) -> list[int]:
    """The open messages."""
    return [each.message_id for each in sitting.status().messages]


@pytest.mark.parametrize("name", BODIES)
def test_a_message_is_open_while_a_recipient_owes_its_ack(name: str) -> None:
    """Whoever else acknowledges it; a copy that is sent again is the same message."""
    sitting = Sitting()
    first = sitting.send(ANN, f"{name}: x", BODIES[name], (BEA, CAT))
    sitting.again(first, CAT)
    (found,) = sitting.status().messages
    assert (found.message_id, found.type, found.waiting_for) == (first.id, name, (CAT, BEA))
    sitting.ack(OPERATOR, first.id)
    sitting.ack(BEA, first.id)
    (found,) = sitting.status().messages
    assert found.waiting_for == (CAT,)
    sitting.ack(CAT, first.id)
    assert opened(sitting) == []


@pytest.mark.parametrize("name", BODIES)
def test_one_that_wants_no_ack_is_open_until_any_ack_is_about_it(name: str) -> None:
    """By its number, or because it is a reply; anybody's will do."""
    sitting = Sitting()
    first = sitting.send(ANN, f"{name}: x", BODIES[name], (BEA,), ack=False)
    other = sitting.send(ANN, f"{name}: y", BODIES[name], (BEA,), ack=False)
    alone = sitting.send(ANN, f"{name}: z", BODIES[name], (ANN,))  # nobody owes anything for it
    sitting.ack(CAT)
    assert opened(sitting) == [first.id, other.id, alone.id]
    sitting.ack(CAT, first.id)
    reply = other.message._replace(sender=CAT, recipients=(ANN,), subject="ACK: y", body="Yes.")
    sitting.post(reply, reply_to=other.id)
    sitting.ack(OPERATOR, alone.id)
    assert opened(sitting) == []


def test_an_ack_means_only_what_was_there() -> None:
    """A number that was given later is another message's."""
    sitting = Sitting()
    first = sitting.send(ANN, "BLOCKED: x", BODIES["BLOCKED"], ack=False)
    sitting.ack(CAT, first.id + 2)
    later = sitting.send(ANN, "BLOCKED: y", BODIES["BLOCKED"], ack=False)
    assert opened(sitting) == [first.id, later.id]
    named = Message(THREAD_ID, CAT, (ANN,), "ACK: y", f"## Message ID\n{later.id}\n")
    sitting.post(named, reply_to=first.id)  # what it names goes before what it replies to
    assert opened(sitting) == [first.id]


def test_what_they_are_about_is_in_their_authors_words() -> None:
    """Where the section is missing the subject tells; a rank that nobody knows is none."""
    sitting = Sitting()
    for name, body in BODIES.items():
        sitting.send(ANN, f"{name}: x", body, (BEA,))
    sitting.send(ANN, "QUESTION: And then?", "Hm.", (BEA,))
    target = "- **Artifact Version**: v2\n- **Item**: H2 (Gradient)\n- **Section**: Mechanism"
    listed = "- [ ] Critical\n- [x] Minor"
    sitting.send(ANN, "CRITIQUE: z", f"## Target\nH1\n\n## Severity\n{listed}\n", (BEA,))
    sitting.send(ANN, "CRITIQUE: y", f"## Target\n{target}\n## Attack\nNo.", (BEA,))
    found = [(each.about, each.rank) for each in sitting.status().messages]
    assert found == [
        ("H1: place", "Major"),
        ("No cells", "Resource"),
        ("Which cells?", ""),
        ("The assay", ""),
        ("And then?", ""),
        ("H1", "Minor"),
        ("H2 (Gradient)", ""),
    ]


def critique(name: str, **more: object) -> str:
    """An ADD of a critique."""
    payload = {"name": name, "attack": "a", "evidence": "e", "current_status": "Open", **more}
    return render_delta(Delta(ADD, "adversarial_critique", None, payload, "why"))


def test_open_critiques_are_items_that_are_neither_killed_nor_resolved() -> None:
    """Of the latest version; what is not published yet does not count."""
    sitting = Sitting()
    sitting.kickoff(ANN, BEA)
    sitting.delta(ANN, critique("One"), critique("Two"), critique("Three"), critique("Four"))
    assert sitting.status().critiques == ()
    sitting.compile()
    payload: dict[str, object] = {"current_status": "resolved by T1"}
    sitting.delta(BEA, render_delta(Delta(EDIT, "adversarial_critique", "C1", payload, "why")))
    sitting.delta(BEA, render_delta(Delta(EDIT, "adversarial_critique", "C2", {"name": "2"}, "y")))
    kill = {"operation": "KILL", "section": "adversarial_critique", "target_id": "C3"}
    document = json.dumps({**kill, "payload": {"reason": "no"}, "rationale": "why"})
    sitting.delta(BEA, f"```delta\n{document}\n```\n")
    assert len(sitting.status().critiques) == 4
    sitting.compile()
    found = [(each.item, each.name, each.agent) for each in sitting.status().critiques]
    assert found == [("C2", "2", ANN), ("C4", "Four", ANN)]


def test_what_is_overdue_depends_on_the_clock() -> None:
    """The deadline counts from the last time that the message was sent."""
    sitting = Sitting()
    first = sitting.kickoff(ANN, BEA)
    copy = sitting.again(first, BEA)
    sitting.ack(ANN, first.id)
    status = sitting.status()
    (owed,) = status.open_acks
    assert (owed.debtor, owed.message_id, owed.last_message_id) == (BEA, first.id, copy.id)
    assert status.overdue(copy.at + DAY, DAY) == ()
    assert status.overdue(copy.at + DAY + timedelta(seconds=1), DAY) == (owed,)


# In words


def said(status: SessionStatus, later: timedelta = timedelta(minutes=1)) -> dict[str, str]:
    """What needs the operator, some time after the last message."""
    found = attention(status, status.last_at + later, DAY)
    return {each.kind: each.text for each in found}


def test_nothing_needs_the_operator() -> None:
    """A round under way waits for agents, and nobody is late."""
    sitting = Sitting()
    sitting.kickoff(ANN)
    assert said(sitting.status()) == {}


def test_what_needs_the_operator_comes_worst_first() -> None:
    """Everything at once."""
    sitting = Sitting()
    sitting.kickoff(ANN)
    sitting.delta(ANN, add("Place"), critique("Why"), edit("H9", "x"))
    sitting.compile()
    for name in ("HANDOFF", "CRITIQUE", "QUESTION", "BLOCKED"):
        sitting.send(ANN, f"{name}: x", BODIES[name])
    sitting.send(BEA, "QUESTION: y", BODIES["QUESTION"])
    sitting.delta(BEA, edit("H1", "y"))
    found = said(sitting.status(), timedelta(days=3))
    assert list(found) == [
        *("blocked", "question", "overdue", "refused", "ready", "handoff", "critique")
    ]
    assert found == {
        "blocked": "BlueLake is blocked: No cells",
        "question": "BlueLake and RedSky have questions",
        "overdue": "Waiting for 5 overdue acknowledgements from Operator, the oldest for 3 d",
        "refused": "1 rejected block: BlueLake can correct it, or you can dismiss it",
        "ready": "v2 is ready to compile: 1 block would apply",
        "handoff": "1 handoff waits for Operator",
        "critique": "2 critiques are open: C1, message 5",
    }


def test_what_agents_ask_each_other_comes_after_what_they_ask_the_operator() -> None:
    """It names whom they ask; nobody takes it for a question to her."""
    sitting = Sitting()
    sitting.kickoff(ANN)
    for name in ("BLOCKED", "QUESTION"):
        sitting.send(ANN, f"{name}: x", BODIES[name], (BEA,))
    sitting.send(BEA, "QUESTION: y", BODIES["QUESTION"], (OPERATOR, ANN))
    status = sitting.status()
    assert [each[:2] for each in attention(status, status.last_at, DAY)] == [
        ("question", "RedSky asks: Which cells?"),
        ("blocked", "BlueLake is blocked and asks RedSky: No cells"),
        ("question", "BlueLake asks RedSky: Which cells?"),
    ]
    sitting.send(BEA, "QUESTION: z", BODIES["QUESTION"] + "More.\n", (ANN,))
    status = sitting.status()
    assert attention(status, status.last_at, DAY)[2][:2] == (
        "question",
        "BlueLake and RedSky have questions for RedSky and BlueLake",
    )


def test_how_long_is_since_it_was_last_sent() -> None:
    """As the deadline is; the first copy says nothing about it."""
    sitting = Sitting()
    first = sitting.kickoff(ANN)
    sitting.clock.move(timedelta(days=3))
    sitting.again(first, ANN)
    assert said(sitting.status(), timedelta(hours=26)) == {
        "overdue": "Waiting for 1 overdue acknowledgement from BlueLake, for 26 h"
    }


def test_after_the_end_what_came_late_is_told() -> None:
    """It is not ready to compile: the session is closed."""
    sitting = Sitting()
    sitting.delta(ANN, add("Place"))
    sitting.compile()
    sitting.compile("closed")
    assert said(sitting.status()) == {}
    sitting.delta(ANN, add("Time"), add("Luck"))
    assert said(sitting.status()) == {
        "late": "2 blocks arrived after the session was completed and would apply"
    }


def test_what_others_wrote_is_safe_to_show() -> None:
    """A terminal obeys nothing of it, and a long text is cut."""
    sitting = Sitting()
    sitting.send(ANN, "BLOCKED: x", f"## Blocker\n\x1b[31m\u202e{'x' * 300}\n")
    text = said(sitting.status())["blocked"]
    assert text.isprintable()
    assert len(text) < 110
    assert text.endswith("…")


# As JSON


def test_the_keys_of_the_document() -> None:
    """They are stable: front ends and scripts read them."""
    sitting = Sitting()
    sitting.kickoff(ANN)
    sitting.delta(ANN, add("Place"), edit("H9", "x"), critique("Why"))
    sitting.compile()
    sitting.kickoff(ANN, words="Again.")
    sitting.send(BEA, "CRITIQUE: x", BODIES["CRITIQUE"])
    status = sitting.status()
    document = json.loads(json.dumps(status_json(status, status.last_at + 2 * DAY, DAY)))
    assert list(document) == [
        *("thread_id", "kind", "question", "round", "phase", "attention", "version"),
        *("participants", "pending", "critiques", "blocked", "questions", "handoffs", "refusals"),
        *("misplaced", "unanswered", "conflicts", "lacks_third_alternative"),
        *("settled", "cancelled"),
        *("unread", "applies", "stopped", "position", "first_at", "last_at", "references"),
        "independent",
    ]
    assert (document["phase"], document["round"]) == ("awaiting_acks", 2)
    assert list(document["participants"][0]) == [
        *("name", "role", "in_roster", "turn", "awaited", "kickoff", "acknowledged", "deltas"),
        *("applied", "refused", "duplicate", "total", "asides", "last_at"),
    ]
    assert list(document["version"]) == [
        *("version", "message_id", "compiled_at", "compiled_by", "status", "errors", "warnings"),
        *("third_alternative", "counts"),
    ]
    assert document["version"]["counts"]["hypothesis_slate"] == 1
    pending = {each["agent"]: each for each in document["pending"] if each["type"] == "KICKOFF"}
    assert pending[ANN]["overdue"] is True
    assert pending[ANN]["due"] > pending[ANN]["since"]
    at_once = json.loads(json.dumps(status_json(status, status.last_at, DAY)))
    assert not any(each["overdue"] for each in at_once["pending"])
    (message,) = document["critiques"]["messages"]
    assert (message["from"], message["rank"]) == (BEA, "Major")
    assert [each["item"] for each in document["critiques"]["items"]] == ["C1"]
    (refused,) = document["refusals"]
    assert (refused["message_id"], refused["block"], refused["version"]) == (2, 2, 1)
    assert refused["violations"][0]["id"] == "INVALID_TARGET"


# Threads from elsewhere


def copied(sitting: Sitting) -> Sitting:
    """The same thread in another store, where its numbers were taken."""
    other = Sitting()
    for _ in range(3):
        message = sitting.mailbox.thread(THREAD_ID).messages[0].message
        other.mailbox.send(message._replace(thread_id="COORD-other"))
    other.mailbox.restore((), sitting.mailbox.records())
    return other


def without_ids(status: SessionStatus) -> object:
    """What does not depend on the numbers of the store."""
    turns = [(each.name, each.role, each.turn, each.deltas) for each in status.participants]
    refused = [(each.agent, each.block, each.version) for each in status.refusals]
    opened = [(each.type, each.waiting_for) for each in status.messages]
    owed = [(each.debtor, each.since, each.times_sent) for each in status.open_acks]
    return status.phase, status.round, turns, refused, opened, owed, status.applies


def test_an_imported_thread_stands_where_it_stood() -> None:
    """Its messages have other numbers here, and ACKs name those of there."""
    sitting = Sitting()
    first = sitting.kickoff(*AGENTS, ack=False)
    stored = sitting.delta(ANN, add("Place"), edit("H9", "x"), edit("H8", "x"))
    sitting.ack(BEA, first.id)
    sitting.ack(CAT, first.id, "Completed")
    sitting.send(BEA, "QUESTION: x", BODIES["QUESTION"])
    sitting.dismiss(stored, 3)
    other = copied(sitting)
    assert without_ids(other.status()) == without_ids(sitting.status())
    assert other.refused() != sitting.refused()
    sitting.compile()
    other = copied(sitting)
    assert without_ids(other.status()) == without_ids(sitting.status())
    (refused,) = other.status().refusals
    assert other.mailbox.message(refused.message_id).content_hash == stored.content_hash


def test_the_page_names_every_word() -> None:
    """Keys, phases, turns and kinds: what a script goes by is documented."""
    folder = Path(__file__).parents[2] / "docs" / "reference"
    page = (folder / "session-status.md").read_text("utf-8")
    sitting = Sitting()
    sitting.kickoff(ANN)
    sitting.delta(ANN, add("Place"), edit("H9", "x"), critique("Why"))
    sitting.compile()
    for name, body in BODIES.items():
        sitting.send(ANN, f"{name}: x", body)
    status = sitting.status()
    found = keys(status_json(status, status.last_at + 2 * DAY, DAY))
    known = found | {word.value for word in (*Phase, *Turn)}
    known -= {section.id for section in ITEM_SECTIONS}  # they have a page of their own
    known -= keys([found.to_json() for each in status.refusals for found in each.diagnostics])
    assert len(known) > 60
    assert [word for word in sorted(known) if f"`{word}`" not in page] == []


def keys(value: object) -> set[str]:
    """Every key in a document."""
    if isinstance(value, dict):
        return {*value, *(key for each in value.values() for key in keys(each))}
    return {key for each in value for key in keys(each)} if isinstance(value, list) else set()
