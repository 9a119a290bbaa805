"""`brenner_post`: deltas as arguments, whatever mistakes are made in them."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brenner.check.message import check_composed
from brenner.delta.given import read_given
from brenner.delta.model import Delta
from brenner.delta.read import read_deltas
from brenner.diagnostics.model import INFO
from brenner.mail.model import Profile, Trust
from brenner.thread.subjects import parse_subject
from brenner.workflows.contribute import Contribution, prepare
from serving.calls import Place
from serving.sessions import (
    ADD,
    ANN,
    BEA,
    CAT,
    EDIT,
    HYPOTHESIS,
    KILL,
    codes,
    fine,
    in_session,
    post,
    value,
)
from session.round_play import THREAD, published
from strategies import deltas, hostile_text

FENCED = f"```delta\n{json.dumps(ADD)}\n```"
SECOND = {**ADD, "payload": {**HYPOTHESIS, "name": "Counting"}}
ODD: tuple[object, ...] = (
    *(None, 1, "", "x", [], {}, [[]], [[1]], {"a": []}, "{", "[", "```delta\n```"),
)
FLAT = {"operation": "ADD", "section": "hypothesis_slate", "rationale": "r", **HYPOTHESIS}


def without(delta: Mapping[str, object], *keys: str) -> dict[str, object]:
    """The delta without some of its keys."""
    return {key: content for key, content in delta.items() if key not in keys}


def stored(here: Place, message_id: int) -> list[object]:
    """What the message that was stored contributes."""
    body = here.mailbox.message(message_id).message.body
    return [block.value for block in read_deltas(body) if block.delta]


# What is certain


# What was given, what was posted, how often something was said of it
TAKEN: dict[str, tuple[object, dict[str, object], int]] = {
    "as it should be": (ADD, ADD, 0),
    "op": ({**without(ADD, "operation"), "op": "ADD"}, ADD, 1),
    "capitals in a key": ({**without(ADD, "section"), "Section": ADD["section"]}, ADD, 1),
    "small letters": ({**ADD, "operation": "add"}, ADD, 1),
    "failure mode 2: another section": ({**ADD, "section": "hypotheses"}, ADD, 1),
    "a heading for a section": ({**ADD, "section": "## 2. Hypothesis Slate"}, ADD, 1),
    "a misspelt section": ({**ADD, "section": "hypothesis_slat"}, ADD, 1),
    "no section, but a target": (without(EDIT, "section"), EDIT, 1),
    "target for target_id": ({**without(EDIT, "target_id"), "target": "H1"}, EDIT, 1),
    "a target in small letters": ({**EDIT, "target_id": "h1"}, EDIT, 1),
    "an empty target of an ADD": ({**ADD, "target_id": ""}, {**ADD, "target_id": None}, 0),
    "the word null as target": ({**ADD, "target_id": "null"}, {**ADD, "target_id": None}, 1),
    "fields beside the payload": (FLAT, {**ADD, "rationale": "r"}, 1),
    "some beside, some in it": (
        {
            **ADD,
            "payload": {"name": "Gradient"},
            **{k: v for k, v in HYPOTHESIS.items() if k != "name"},
        },
        ADD,
        1,
    ),
    "reason beside the payload": ({**without(KILL, "payload"), "reason": "Refuted by T1"}, KILL, 1),
    "data for payload": ({**without(ADD, "payload"), "data": HYPOTHESIS}, ADD, 1),
    "the payload as a text": ({**ADD, "payload": json.dumps(HYPOTHESIS)}, ADD, 1),
    "an anchor without a list": ({**ADD, "payload": {**HYPOTHESIS, "anchors": "§42"}}, ADD, 1),
    "a misspelt field": (
        {**ADD, "payload": {**without(HYPOTHESIS, "mechanism"), "mechanisms": "It acts"}},
        ADD,
        1,
    ),
    "a list in the list": ([ADD], ADD, 1),
    "an object with a list": ({"deltas": [ADD]}, ADD, 1),
    "a text": (json.dumps(ADD), ADD, 1),
    "a text with a fence": (FENCED, ADD, 1),
    "failure mode 1: JSON in prose": (f"Here is my hypothesis:\n\n{json.dumps(ADD)}", ADD, 1),
    "failure mode 4: a comma too much": (json.dumps(ADD)[:-1] + ",}", ADD, 2),
    "failure mode 4: single quotes": (str(ADD), ADD, 2),
    "failure mode 4: a comment": (json.dumps(ADD)[:-1] + " // mine\n}", ADD, 2),
    "failure mode 4: keys without quotes": (
        json.dumps(ADD).replace('"operation"', "operation"),
        ADD,
        2,
    ),
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_is_certain_is_taken_and_told(name: str) -> None:
    """It is posted as it was meant, and never without a word."""
    here = in_session()
    post(here, BEA, ADD)
    published(here.desk)
    given, meant, said = TAKEN[name]
    answer = post(here, ANN, given)
    posted = fine(answer)
    (found,) = stored(here, posted["message_id"])
    assert isinstance(found, dict)
    assert {"target_id": None, **found} == {"target_id": None, **meant}
    told = [each["what"] for each in posted["corrections"]]
    assert len(told) >= said if said > 1 else len(told) == said
    assert all(each in (answer.text or "") for each in told)
    assert [each["state"] for each in posted["expected"]] == ["applied"]


@pytest.mark.parametrize(
    "given", [ADD, FENCED, json.dumps([ADD]), str([ADD]), f"Mine:\n\n{json.dumps(ADD)}"]
)
def test_deltas_need_not_stand_in_a_list(given: object) -> None:
    """One delta, or a text that holds it, is taken for the list."""
    here = in_session()
    posted = fine(here.ask("brenner_post", thread_id=THREAD, agent=ANN, deltas=given))
    assert stored(here, posted["message_id"]) == [ADD]
    assert bool(posted["corrections"]) is isinstance(given, str)


# What is not

REFUSED: dict[str, tuple[object, list[str]]] = {
    "failure mode 3: no target": ({**EDIT, "target_id": None}, ["MISSING_TARGET"]),
    "failure mode 3: a KILL without": (without(KILL, "target_id"), ["MISSING_TARGET"]),
    "failure mode 5: an empty payload": ({**ADD, "payload": {}}, ["MISSING_REQUIRED_FIELD"] * 4),
    "another word for an operation": ({**ADD, "operation": "CREATE"}, ["INVALID_OPERATION"]),
    "the same under op": (
        {**without(ADD, "operation"), "op": "create"},
        ["INVALID_OPERATION"],
    ),
    "an unknown section": ({**ADD, "section": "conclusions"}, ["INVALID_SECTION"]),
    "the research thread": (
        {**ADD, "section": "research_thread", "payload": {"statement": "What decides?"}},
        ["OPERATION_NOT_ALLOWED"],
    ),
    "a part of the research thread": (
        {**ADD, "section": "research_thread", "payload": {"context": "Cells decide early."}},
        ["OPERATION_NOT_ALLOWED"],
    ),
    "an ADD with a number": ({**ADD, "target_id": "H4"}, ["UNEXPECTED_TARGET"]),
    "a text that is no JSON": ("I think that H1 is wrong.", ["INVALID_JSON"]),
    "a number": (12, ["DELTA_NOT_AN_OBJECT"]),
    "a form that was not filled in": (
        {**ADD, "payload": {**HYPOTHESIS, "claim": "[[fill in: one-sentence claim]]"}},
        ["TEMPLATE_NOT_FILLED_IN"],
    ),
    "an unknown local name": ({**EDIT, "target_id": "@epi"}, ["UNKNOWN_LOCAL_ID"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_one_bad_delta_refuses_the_whole_post(name: str) -> None:
    """Nothing is stored; every violation is told by the number of its delta (R5)."""
    here = in_session()
    before = here.mailbox.position()
    given, expected = REFUSED[name]
    answer = post(here, ANN, ADD, given)
    assert answer.is_error
    assert here.mailbox.position() == before
    errors = [each for each in value(answer)["violations"] if each["severity"] == "error"]
    assert [each["id"] for each in errors] == expected
    assert all(each["line"] is None for each in errors if each["id"] != "TEMPLATE_NOT_FILLED_IN")
    assert "Nothing was posted." in (answer.text or "")
    if expected != ["TEMPLATE_NOT_FILLED_IN"]:
        assert {each["block"] for each in errors} == {2}
        assert value(answer)["still_wrong"] == [2]


def test_a_refusal_gives_the_other_deltas_as_they_can_be_sent() -> None:
    """What could be corrected is; the author mends the rest and sends all of it again."""
    here = in_session()
    answer = post(
        here,
        ANN,
        {**ADD, "section": "hypothesis_slat", "operation": "add"},
        {**EDIT, "target_id": None},
    )
    document = value(answer)
    assert document["deltas"][0]["section"] == "hypothesis_slate"
    mended = [document["deltas"][0], {**document["deltas"][1], "target_id": "@new"}]
    mended[0]["local_id"] = "new"
    again = fine(post(here, ANN, *mended))
    assert again["corrections"] == []
    assert [each["item"] for each in again["expected"]] == ["H1", "H1"]


def test_nothing_to_post() -> None:
    """An empty contribution is told of."""
    assert codes(post(in_session(), ANN)) == ["NO_DELTAS"]


# The message


@settings(max_examples=60)
@given(st.lists(deltas(), min_size=1, max_size=3), st.one_of(st.just(""), hostile_text))
def test_the_composed_message_passes_the_check(some: list[Delta], summary: str) -> None:
    """Without errors and warnings, for any valid deltas and any words; and it says the same."""
    values = [
        {
            "operation": each.operation.value,
            "section": each.section,
            "target_id": each.target_id,
            "payload": dict(each.payload),
            "rationale": each.rationale,
        }
        for each in some
    ]
    wanted = Contribution(THREAD, ANN, tuple(values), summary.replace("\0", ""), base=0)
    prepared = prepare(SESSION.desk, wanted)
    report, _ = check_composed(prepared.message)
    worse = [f for f in report.violations if f.severity is not INFO and f.id not in _OF_TEXTS]
    assert worse == []
    assert prepared.corrections == ()
    read = [block.value for block in read_deltas(prepared.message.body)]
    assert read == values


SESSION = in_session()
# What valid deltas with hostile texts may be told all the same: they hold what looks like LaTeX.
_OF_TEXTS = ("SUSPICIOUS_ESCAPE",)


def test_given_deltas_are_none_lost() -> None:
    """Each value becomes at least one block, whatever it is."""
    for each in ODD:
        assert len(read_given([each]).texts) >= 1, each


def test_the_message_is_one_that_an_agent_would_write() -> None:
    """Subject with the shorthand of her model, base, words, a block for each delta."""
    here = in_session()
    summary = "Two ideas.\n\n## Deltas\n**Base Version**: v7"
    posted = fine(
        post(
            here,
            ANN,
            ADD,
            {**ADD, "payload": {**HYPOTHESIS, "name": "Two"}},
            summary=summary,
            base=0,
        )
    )
    message = here.mailbox.message(posted["message_id"]).message
    assert message.subject.startswith("DELTA[opus]: Two ideas.")
    assert message.recipients == ("Operator", BEA, CAT)
    assert message.body.startswith("# Delta Contribution\n\n**Base Version**: v0\n\nTwo ideas.\n")
    assert message.body.count("\n## Deltas\n") == 1
    assert posted["violations"] == []


@pytest.mark.parametrize(
    ("program", "model", "role"),
    [
        ("codex-cli", "gpt-5", "gpt"),
        ("gemini-cli", "", "gemini"),
        ("claude-code", "Claude Sonnet", "claude"),
        ("cursor", "Grok 4", "grok"),
        ("my-tool", "", "my"),
        ("", "", "agent"),
    ],
)
def test_nobody_is_made_out_to_be_another_model(program: str, model: str, role: str) -> None:
    """A model that the table does not know is called by its own name, with the warning for it."""
    here = in_session()
    here.mailbox.register(Profile("Stranger", program, model))
    answer = post(here, "Stranger", ADD)
    subject = parse_subject(fine(answer)["subject"])
    assert subject is not None
    assert subject.role == role
    is_known = role in ("gpt", "gemini", "claude")
    assert ("UNKNOWN_ROLE_SHORTHAND" in codes(answer)) is not is_known


# What becomes of it


def test_the_answer_says_what_a_compile_would_make_of_it() -> None:
    """Numbers of what is added, what would be refused, what is a duplicate, and the ACK owed."""
    here = in_session()
    fine(post(here, ANN, ADD))
    answer = post(
        here, ANN, ADD, {**EDIT, "target_id": "H9"}, {**ADD, "payload": {**HYPOTHESIS, "name": "B"}}
    )
    posted = fine(answer)
    rows = [(each["state"], each["item"]) for each in posted["expected"]]
    assert rows == [("duplicate", "H1"), ("refused", None), ("applied", "H2")]
    assert codes(answer) == ["WOULD_BE_REFUSED"]
    assert posted["owed_acks"] == [1]
    assert "acknowledge_message" in (answer.text or "")


def test_a_key_posts_once() -> None:
    """Also where she has fetched a version since, so that the message would say another base."""
    here = in_session()
    first = fine(post(here, ANN, ADD, key="round-1"))
    published(here.desk)
    fine(here.ask("brenner_artifact", thread_id=THREAD, agent=ANN))
    again = fine(post(here, ANN, ADD, key="round-1"))
    assert (again["message_id"], again["is_new"]) == (first["message_id"], False)
    assert again["expected"] is None
    other = post(here, ANN, EDIT, key="round-1")
    assert other.is_error
    assert codes(other) == ["KEY_REUSED"]


def test_the_base_is_what_she_has_fetched() -> None:
    """The explicit one, else the one fetched last, else none; never one that is not there."""
    here = in_session()
    assert fine(post(here, BEA, ADD))["base"] is None
    published(here.desk)
    fine(here.ask("brenner_artifact", thread_id=THREAD, agent=ANN))
    assert fine(post(here, ANN, EDIT))["base"] == 1
    assert fine(post(here, BEA, EDIT))["base"] is None
    assert fine(post(here, ANN, EDIT, base=0))["base"] == 0
    wrong = post(here, ANN, EDIT, base=7)
    assert codes(wrong) == ["UNKNOWN_VERSION"]


# Who posts


def test_what_somebody_else_fetched_in_her_name_is_not_her_base() -> None:
    """Who shows no secret cannot change what the one who does builds on."""
    here = in_session()
    fine(post(here, ANN, ADD))
    published(here.desk)
    secret = fine(here.ask("register_agent", program="claude-code", model="opus", name=ANN))[
        "registration_token"
    ]
    fine(here.ask("brenner_artifact", thread_id=THREAD, agent=ANN))
    verified = fine(post(here, ANN, EDIT, sender_token=secret))
    assert (verified["trust"], verified["base"]) == (Trust.VERIFIED, None)


def test_who_posts_is_known_by_the_connection() -> None:
    """Once registered, the name may be left out; without either it is asked for."""
    here = in_session()
    caller = here.caller("one")
    fine(here.ask("register_agent", caller, program="claude-code", model="opus", name=ANN))
    posted = fine(here.ask("brenner_post", caller, thread_id=THREAD, deltas=[ADD]))
    assert (posted["from"], posted["trust"]) == (ANN, "verified")
    stored = here.mailbox.message(posted["message_id"])
    assert stored.envelope.trust is Trust.VERIFIED
    nobody = here.ask("brenner_post", thread_id=THREAD, deltas=[ADD])
    assert codes(nobody) == ["WHO_ARE_YOU"]


def test_nobody_posts_as_the_operator_or_with_a_wrong_secret() -> None:
    """The same rules as for all mail."""
    here = in_session()
    before = here.mailbox.position()
    assert codes(post(here, "Operator", ADD)) == ["OPERATOR_NEEDS_SECRET"]
    wrong = {"sender_token": "brs_wrong"}
    assert codes(post(here, ANN, ADD, **wrong)) == ["WRONG_SECRET"]
    strict = here.caller(is_strict=True)
    assert codes(post(here, ANN, ADD, caller=strict)) == ["SECRET_NEEDED"]
    assert here.mailbox.position() == before


def test_a_thread_that_nobody_has_written_to_is_refused() -> None:
    """A contribution to a mistyped thread would be lost."""
    here = in_session()
    answer = here.ask("brenner_post", thread_id="RS-20251230-cell-fate-x", agent=ANN, deltas=[ADD])
    assert codes(answer) == ["UNKNOWN_THREAD"]
    unknown = post(here, ANN, ADD, to=["BleuLake"])
    assert codes(unknown) == ["UNKNOWN_RECIPIENT"]
