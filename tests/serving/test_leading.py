"""Who leads a session over MCP: only who is believed, and in a session only whose it is."""

import pytest

from brenner.mcp.tool import Caller
from brenner.protocol.messages import Envelope, Message, Trust
from brenner.services.identity import secret_digest
from serving.calls import NO_SECRETS, OPERATOR, Place, place, refusal_of, value_of
from serving.sessions import ANN, BEA, in_session
from session.round_play import THREAD

ANNS, BEAS, OPERATORS = "brs_of-ann", "brs_of-bea", "brs_of-the-operator"
ELSEWHERE = "RS-20251231-another-question"
KICKOFF = "# Fate\n\n## Research Question\nWhat decides?\n\n## Context\nCells.\n"
LEADING = [("KICKOFF: Another round", KICKOFF), ("COMPILED: v9", "# Compiled Artifact v9\n")]


@pytest.fixture
def here() -> Place:
    """A session that the operator has begun; who takes part has a secret."""
    scene = in_session()
    for name, secret in {ANN: ANNS, BEA: BEAS, OPERATOR: OPERATORS}.items():
        scene.mailbox.claim(name, secret_digest(secret), replace=True)
    return scene


def leading(sender: str, thread_id: str = THREAD, **more: object) -> dict[str, object]:
    """The arguments of a kickoff."""
    to = [OPERATOR if sender != OPERATOR else ANN]
    said = {"subject": "KICKOFF: Another round", "body_md": KICKOFF, "thread_id": thread_id}
    return {"sender_name": sender, "to": to, **said, **more}


def checked(scene: Place) -> Caller:
    """Somebody who says that the mail was looked at."""
    return scene.caller()._replace(is_checked=True)


@pytest.mark.parametrize(("subject", "body"), LEADING)
@pytest.mark.parametrize("thread_id", [THREAD, ELSEWHERE])
@pytest.mark.parametrize("is_checked", [False, True])
def test_nobody_leads_unproven(
    here: Place, subject: str, body: str, thread_id: str, *, is_checked: bool
) -> None:
    """Not in a session and not in a new thread, whatever the request says of a check."""
    before = here.mailbox.position()
    caller = here.caller()._replace(is_checked=is_checked)
    sent = leading(ANN, thread_id, subject=subject, body_md=body)
    answer = here.ask("send_message", caller, **sent)
    assert refusal_of(answer) == "LEADING_NEEDS_SECRET"
    assert "sender_token" in str(answer.text)
    assert here.mailbox.position() == before


@pytest.mark.parametrize(("subject", "body"), LEADING)
@pytest.mark.parametrize("is_checked", [False, True])
def test_a_session_is_led_by_its_own(
    here: Place, subject: str, body: str, *, is_checked: bool
) -> None:
    """An agent who has proven who she is contributes all the same, and does not lead."""
    before = here.mailbox.position()
    caller = here.caller()._replace(is_checked=is_checked)
    sent = leading(ANN, subject=subject, body_md=body, sender_token=ANNS)
    answer = here.ask("send_message", caller, **sent)
    assert refusal_of(answer) == "NOT_YOURS_TO_LEAD"
    assert f"send `{OPERATOR}` a QUESTION" in str(answer.text)
    assert here.mailbox.position() == before


def test_the_operator_leads(here: Place) -> None:
    """With her secret."""
    sent = leading(OPERATOR, sender_token=OPERATORS)
    value_of(here.ask("send_message", **sent))
    value_of(here.ask("send_message", checked(here), **sent))


def test_a_session_of_her_own(here: Place) -> None:
    """Who has begun a thread goes on to lead it, beside the operator; others do not."""
    value_of(here.ask("send_message", **leading(ANN, ELSEWHERE, sender_token=ANNS)))
    value_of(here.ask("send_message", **leading(ANN, ELSEWHERE, sender_token=ANNS)))
    value_of(here.ask("send_message", **leading(OPERATOR, ELSEWHERE, sender_token=OPERATORS)))
    others = here.ask("send_message", **leading(BEA, ELSEWHERE, sender_token=BEAS))
    assert refusal_of(others) == "NOT_YOURS_TO_LEAD"


def test_a_kickoff_that_anybody_may_have_sent_makes_no_leader(here: Place) -> None:
    """Imported mail is unverified: its sender's name gives nobody a right."""
    imported = Message(ELSEWHERE, ANN, (BEA,), "KICKOFF: Another question", KICKOFF)
    here.mailbox.send(imported, envelope=Envelope(trust=Trust.UNVERIFIED))
    answer = here.ask("send_message", **leading(ANN, ELSEWHERE, sender_token=ANNS))
    assert refusal_of(answer) == "NOT_YOURS_TO_LEAD"


def test_what_was_meant_to_lead(here: Place) -> None:
    """A malformed prefix, an answer under the same subject, a subject too long to be checked."""
    meant = here.ask("send_message", **leading(ANN, subject="kickoff: Another round"))
    assert refusal_of(meant) == "LEADING_NEEDS_SECRET"
    answer = {"message_id": 1, "sender_name": ANN, "body_md": KICKOFF, "subject_prefix": ""}
    assert refusal_of(here.ask("reply_message", **answer)) == "LEADING_NEEDS_SECRET"
    long = here.ask("send_message", checked(here), **leading(ANN, subject="KICKOFF: " + "x" * 9000))
    assert refusal_of(long) == "LEADING_NEEDS_SECRET"


def test_where_nobody_has_a_secret() -> None:
    """Nobody leads over MCP; what to do is said."""
    here = place(NO_SECRETS)
    here.knows(ANN)
    answer = here.ask("send_message", **leading(ANN, ELSEWHERE))
    assert refusal_of(answer) == "LEADING_NEEDS_SECRET"
    assert "from the command line" in str(answer.text)
    looked_at = value_of(here.ask("brenner_check", **leading(ANN, ELSEWHERE)))
    assert looked_at["valid"] is False


def test_the_check_says_the_same(here: Place) -> None:
    """Whose secret was not shown hears that it will be needed."""
    refused = value_of(here.ask("brenner_check", **leading(ANN)))
    assert refused["valid"] is False
    assert "NOT_YOURS_TO_LEAD" in str(refused["violations"])
    fine = value_of(here.ask("brenner_check", **leading(ANN, ELSEWHERE)))
    assert fine["valid"] is True
    assert "sender_token" in str(fine["next"])
