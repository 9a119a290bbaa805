"""`brenner_post`: the message that it composes, what becomes of it, and who posts."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brenner.check.message import check_composed
from brenner.delta.given import read_given
from brenner.delta.model import Delta
from brenner.delta.read import read_deltas
from brenner.diagnostics.codes.json_text import JSON_SUSPICIOUS_ESCAPE
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
_OF_TEXTS = (JSON_SUSPICIOUS_ESCAPE.id,)


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
