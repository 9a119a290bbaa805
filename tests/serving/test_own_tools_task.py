"""`brenner_task` through the phases of a session: what is asked of whom, and what to call next."""

from typing import Any

from brenner.mail.memory import MemoryMailbox
from brenner.mcp.tool import ToolResult
from brenner.services.acknowledge import acknowledge
from serving.calls import NO_SECRETS, Place, place
from serving.sessions import ADD, ANN, BEA, CAT, EDIT, codes, fine, in_session, inside, post, value
from session.round_play import (
    NAMES,
    THREAD,
    asked,
    attack,
    block,
    critique,
    delta,
    hypothesis,
    published,
    send,
    started,
)

INFO = "# Info\n\n## Information\nNews\n"
QUESTION = "# Question\n\n## Question\nWhich cells?\n\n## Urgency\nSoon\n"


def task(here: Place, agent: str, thread_id: str | None = THREAD) -> ToolResult:
    """What the tool says to an agent."""
    return here.ask("brenner_task", agent=agent, thread_id=thread_id)


def turn(here: Place, agent: str) -> tuple[Any, Any]:
    """Whose turn it is, and the phase of the session."""
    document = fine(task(here, agent))
    return document["turn"], document["phase"]


def test_through_a_round() -> None:
    """Asked, acknowledged, contributed, compiled, asked again."""
    here = in_session()
    document = fine(task(here, ANN))
    assert (document["turn"], document["phase"]) == ("owes_ack", "awaiting_acks")
    assert (document["role"], document["round"]) == ("hypothesis_generator", 1)
    kickoff = document["kickoff"]
    assert [each["message_id"] for each in document["owed_acks"]] == [kickoff]
    assert document["next"][0].startswith(f"Read the kickoff, message {kickoff}: ")
    assert f"`resource://message/{kickoff}`" in document["next"][0]
    assert document["next"][1:] == [
        f"Acknowledge message {kickoff}: `acknowledge_message`.",
        "Contribute with `brenner_post`.",
    ]
    assert "hypothesis generator" in document["how_to_think"]
    acknowledge(here.mailbox, ANN, kickoff)
    assert turn(here, ANN)[0] == "owes_delta"
    fine(post(here, ANN, ADD))
    document = fine(task(here, ANN))
    assert (document["turn"], document["how_to_think"]) == ("contributed", None)
    for name in (BEA, CAT):
        acknowledge(here.mailbox, name, fine(task(here, name))["kickoff"], "Completed")
    assert turn(here, BEA) == ("passed", "ready_to_compile")
    published(here.workspace)
    assert turn(here, ANN)[0] == "not_asked"
    asked(here.workspace)
    document = fine(task(here, ANN))
    assert (document["turn"], document["round"], document["version"]) == ("owes_ack", 2, 1)
    assert "Read the artifact: `brenner_artifact`." in document["next"]
    assert document["your_items"] == ["H1"]


def test_the_end() -> None:
    """Nothing is asked any more, save what is owed."""
    here = in_session()
    fine(post(here, ANN, ADD))
    published(here.workspace)
    published(here.workspace, close=True)
    document = fine(task(here, ANN))
    assert document["phase"] == "complete"
    assert document["next"][0] == "The session is complete: no contribution is needed."
    assert not any("brenner_post" in each for each in document["next"])


def test_what_was_refused_comes_with_its_fix() -> None:
    """Of her own blocks, until one that is applied corrects it."""
    here = in_session()
    delta(here.workspace, ANN, 0, {**EDIT, "target_id": "H9"})
    document = fine(task(here, ANN))
    assert document["turn"] == "to_correct"
    (refused,) = document["refused"]
    assert (refused["operation"], refused["target_id"]) == ("EDIT", "H9")
    (found,) = refused["violations"]
    assert (found["id"], bool(found["fix"])) == ("INVALID_TARGET", True)
    assert any("Correct your rejected deltas" in each for each in document["next"])
    assert fine(task(here, BEA))["refused"] == []


def test_the_kickoff_is_in_the_task() -> None:
    """Its context and excerpt, framed; also when nobody finds it in an inbox any more; cut."""
    here = in_session()
    for number in range(30):
        send(here.workspace, CAT, f"INFO: News {number}", INFO, (ANN,))
    answer = task(here, ANN)
    text = inside(answer, "kickoff_says")
    assert text.startswith("## Context\n")
    whole = f"`resource://message/{fine(answer)['kickoff']}`"
    assert f"From the kickoff (`kickoff_says`; the whole kickoff: {whole}):" in (answer.text or "")
    old = here.mailbox.message(fine(answer)["kickoff"]).message
    other = "RS-20251231-long-question"
    body = old.body.replace("## Context\n", "## Context\n" + "word " * 2000, 1)
    here.mailbox.send(old._replace(thread_id=other, body=body))
    long = inside(task(here, ANN, other), "kickoff_says")
    assert len(long) < 4_100
    assert "(cut: " in long
    acknowledge(here.mailbox, ANN, fine(answer)["kickoff"])
    fine(post(here, ANN, ADD))
    assert fine(task(here, ANN))["kickoff_says"] is None


def test_a_session_with_a_refused_delta_waits() -> None:
    """Also when the round in which it was refused is over."""
    here = in_session()
    acknowledge(here.mailbox, ANN, fine(task(here, ANN))["kickoff"])
    fine(post(here, ANN, ADD, {**EDIT, "target_id": "H9"}))
    published(here.workspace)
    document = fine(task(here, ANN, None))
    assert document["thread_id"] == THREAD
    assert len(document["refused"]) == 1
    fine(post(here, ANN, EDIT))
    published(here.workspace, close=True)
    assert fine(task(here, ANN, None))["waiting"] == []


def test_critiques_of_her_items_come_first() -> None:
    """Others are listed behind them, with whose they are."""
    here = in_session()
    delta(here.workspace, BEA, 0, hypothesis("Gradient"))
    delta(here.workspace, ANN, 0, hypothesis("Counting"))
    attacks = (critique("Noise", "H1 is too noisy."), critique("Sums", "H2 counts too far."))
    delta(here.workspace, CAT, 0, *attacks)
    published(here.workspace)
    document = fine(task(here, ANN))
    assert document["your_items"] == ["H2"]
    rows = [(each["item"], each["of_your_items"]) for each in document["critiques"]]
    assert rows == [("C2", ["H2"]), ("C1", [])]
    assert f"by {CAT} (local)\nSums\nH2 counts too far." in document["critiques"][0]["critique"]
    assert any("critiques of your items" in each for each in document["next"])


def test_messages_that_wait_for_her() -> None:
    """Questions and critiques to her, and critiques to others apart."""
    here = in_session()
    question = send(here.workspace, BEA, "QUESTION: Which?", QUESTION, (ANN,))
    mine = attack(here.workspace, CAT, "Too noisy", (ANN,))
    other = attack(here.workspace, CAT, "Too slow", (BEA,))
    document = fine(task(here, ANN))
    waiting = [(each["message_id"], each["type"]) for each in document["waiting_for_you"]]
    assert waiting == [(question.id, "QUESTION"), (mine.id, "CRITIQUE")]
    assert [each["message_id"] for each in document["critique_messages"]] == [other.id]
    assert document["waiting_for_you"][0]["rank"] == "Soon"
    assert document["unread_mail"] == here.mailbox.unread(ANN)
    assert f"Answer message {question.id} (QUESTION): `reply_message`." in document["next"]


def test_without_a_thread_the_only_one_that_waits() -> None:
    """Of several the list, the most urgent first; of none that there is none."""
    here = in_session()
    assert fine(task(here, ANN, None))["thread_id"] == THREAD
    other = "RS-20251231-other-question"
    started(here.workspace, thread_id=other)
    delta(here.workspace, ANN, 0, {**EDIT, "target_id": "H9"})
    document = fine(task(here, ANN, None))
    rows = [(each["thread_id"], each["turn"]) for each in document["waiting"]]
    assert rows == [(THREAD, "to_correct"), (other, "owes_ack")]
    assert document["next"] == [f'Begin with the first: `brenner_task(thread_id="{THREAD}")`.']
    here.knows("Stranger")
    assert fine(task(here, "Stranger", None))["waiting"] == []


def test_who_is_not_part_of_it() -> None:
    """A stranger has no role; an unknown name is refused; without a name it is asked for."""
    here = in_session()
    here.knows("Stranger")
    document = fine(task(here, "Stranger"))
    assert (document["role"], document["turn"]) == (None, None)
    assert codes(task(here, "BleuLake")) == ["NO_SUCH_AGENT"]
    assert codes(here.ask("brenner_task")) == ["WHO_ARE_YOU"]
    assert codes(here.ask("brenner_task", agent=ANN, thread_id="RS-20251230-none")) == [
        "UNKNOWN_THREAD"
    ]


def test_the_name_comes_from_the_connection_or_its_secret() -> None:
    """An agent with one configuration need not name itself."""
    here = in_session()
    caller = here.caller("one")
    registered = here.ask("register_agent", caller, program="claude-code", model="opus", name=ANN)
    secret = fine(registered)["registration_token"]
    assert fine(here.ask("brenner_task", caller))["agent"] == ANN
    assert fine(here.ask("brenner_task", here.caller(secret=secret)))["agent"] == ANN
    assert value(here.ask("brenner_task", here.caller(secret="brs_other")))["error"]  # noqa: S106


def test_a_home_that_lacks_things() -> None:
    """Where nobody can have a secret, a name has to be given, and everything else works."""
    here = place(NO_SECRETS)
    assert isinstance(here.mailbox, MemoryMailbox)
    for name in NAMES:
        here.knows(name)
    started(here.workspace)
    assert fine(task(here, ANN))["turn"] == "owes_ack"
    wrong = block("EDIT", "H9", "hypothesis_slate", claim="Steeper")
    about = {"agent": ANN, "thread_id": THREAD, "deltas": [wrong], "anyway": True}
    assert fine(here.ask("brenner_post", **about))["trust"] == "unverified"


def test_who_designs_tests_sees_which_test_next() -> None:
    """From the first version on: the best test by bits, and the pairs that none separates."""
    here = in_session()
    tests = "discriminative_tests"
    outcomes = {"cold": "It stays", "warm": "It grows"}
    about = {"procedure": "p", "discriminates": "H1 vs H2"}
    separates = {"H1": "cold", "H2": "warm", "H3": "warm"}
    delta(
        here.workspace,
        ANN,
        0,
        *map(hypothesis, ("One", "Two", "Three")),
        block("ADD", None, tests, name="Guess", expected_outcomes={"H1": "?", "H2": "x"}, **about),
        block(
            *("ADD", None, tests),
            name="Weigh",
            outcomes=outcomes,
            expected_outcomes=separates,
            **about,
        ),
    )
    assert fine(task(here, BEA))["next_test"] is None
    published(here.workspace)
    answer = task(here, BEA)
    found = fine(answer)["next_test"]
    best = found["best"]
    assert (best["id"], best["bits"], best["basis"]) == ("T2", 0.918, "declared")
    assert found["max_bits"] == 1.585
    assert (found["unseparated"], found["worded_differently"]) == ([["H2", "H3"]], [])
    assert "Best next test: 0.918 of at most 1.585 bits, by declared outcomes." in (
        answer.text or ""
    )
    assert "No test separates H2 from H3." in (answer.text or "")
    assert fine(task(here, ANN))["next_test"] is None
    published(here.workspace, close=True)
    assert fine(task(here, BEA))["next_test"] is None
