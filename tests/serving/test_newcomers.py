"""What somebody is told who comes for the first time, and is not quite right."""

from typing import Any

import pytest

from brenner.mail.model import Profile
from brenner.mcp.tool import ToolResult
from brenner.services.identity import secret_digest
from serving.calls import OPERATOR, Place, place, refusal_of, value_of
from serving.sessions import ADD, ANN, BEA, CAT, codes, fine, in_session, post
from session.round_play import THREAD

MINE = {"program": "codex-cli", "model": "gpt-5"}
SECRET = "brs_of-ann"  # noqa: S105  (of nobody)
DELTA = (
    '```delta\n{"operation": "ADD", "section": "hypothesis_slate", "target_id": null,\n'
    '"payload": {"name": "Gradient", "claim": "A gradient decides", "mechanism": "It acts",\n'
    '"anchors": ["§42"]}, "rationale": "It explains more"}\n```\n'
)


@pytest.fixture
def here() -> Place:
    """A session whose three agents have not come yet, but for the first."""
    scene = in_session()
    scene.mailbox.claim(ANN, secret_digest(SECRET))
    return scene


def note(answer: ToolResult) -> str:
    """What goes with a registration."""
    return str(value_of(answer).get("note", ""))


def mail(sender: str = ANN, **more: object) -> dict[str, object]:
    """The arguments of a message that is only to be read."""
    said = {"subject": "Lunch?", "body_md": "At noon.", "thread_id": "lunch"}
    return {"sender_name": sender, "to": [OPERATOR], **said, **more}


def violations(answer: ToolResult) -> list[Any]:
    """The codes that came with a message that was sent."""
    found = value_of(answer).get("violations", [])
    assert isinstance(found, list)
    return [each["id"] for each in found]


# Who registers


def test_who_is_waited_for(here: Place) -> None:
    """Whoever comes without a name hears which names nobody has claimed yet."""
    said = note(here.ask("register_agent", **MINE))
    assert f"waits for {CAT}, {BEA}." in said
    begun = value_of(here.ask("macro_start_session", **MINE))
    assert f"waits for {CAT}, {BEA}." in str(begun)
    assert "waits for" not in note(here.ask("register_agent", name=BEA, **MINE))
    assert "waits for" not in note(place().ask("register_agent", **MINE))


def test_a_name_that_is_nearly_another(here: Place) -> None:
    """It is given, and the other one is named."""
    answer = here.ask("register_agent", name=BEA[:-1], **MINE)
    assert value_of(answer)["name"] == BEA[:-1]
    assert f"A similar name exists: {BEA}. If that is you" in note(answer)
    assert "similar name" not in note(here.ask("register_agent", name="CalmRiver", **MINE))


def test_the_secret_of_the_connection_has_a_name(here: Place) -> None:
    """Who registers without a name gets that one again; nobody new is made."""
    before = len(here.mailbox.agents())
    answer = value_of(here.ask("register_agent", here.caller(secret=SECRET), **MINE))
    assert (answer["name"], answer["verified"]) == (ANN, True)
    assert "registration_token" not in answer
    assert len(here.mailbox.agents()) == before
    new = value_of(here.ask("create_agent_identity", here.caller(secret=SECRET), **MINE))
    assert new["name"] != ANN


def test_how_to_stay_verified(here: Place) -> None:
    """In every call; a connection that is remembered needs it no more."""
    alone = note(here.ask("register_agent", **MINE))
    assert "in every call, as `sender_token` or `registration_token`." in alone
    assert "On this connection" not in alone
    assert "On this connection" in note(here.ask("register_agent", here.caller("one"), **MINE))


def test_a_claimed_name_with_another_model(here: Place) -> None:
    """First what she does whose name it is; then what others do."""
    answer = here.ask("register_agent", name=ANN, program="other", model="other")
    assert refusal_of(answer) == "NAME_TAKEN"
    said = str(answer.text)
    assert f"brenner agent secret {ANN} --new" in said
    assert said.index("registration_token") < said.index("another name")


# Who sends


def test_the_secret_of_another_name(here: Place) -> None:
    """The message is unverified, and its sender hears why."""
    answer = here.ask("send_message", here.caller(secret=SECRET), **mail(BEA))
    assert violations(answer) == ["OTHER_NAMES_SECRET"]
    assert violations(here.ask("send_message", here.caller(secret=SECRET), **mail(ANN))) == []


def test_a_claimed_name_without_its_secret(here: Place) -> None:
    """The message is unverified, and how it would be verified is said; an unclaimed has none."""
    assert violations(here.ask("send_message", **mail(ANN))) == ["STORED_UNVERIFIED"]
    assert violations(here.ask("send_message", **mail(ANN, sender_token=SECRET))) == []
    assert violations(here.ask("send_message", **mail(BEA))) == []


def test_names_in_one_text(here: Place) -> None:
    """Where each part is known, each is a recipient; else nobody is guessed."""
    value_of(here.ask("send_message", **mail(BEA, to=[f"{ANN}, {CAT}"], cc=[f"{OPERATOR}"])))
    stored = here.mailbox.message(here.mailbox.position())
    assert stored.message.recipients == (ANN, CAT, OPERATOR)
    refused = here.ask("send_message", **mail(BEA, to=[f"{ANN}, Nobody"]))
    assert refusal_of(refused) == "UNKNOWN_RECIPIENT"
    assert "`resource://agents`" in str(refused.text)


def test_nothing_to_deliver(here: Place) -> None:
    """Neither a subject nor a body is no message."""
    before = here.mailbox.position()
    assert refusal_of(here.ask("send_message", **mail(BEA, subject=" ", body_md="\n"))) == (
        "EMPTY_MESSAGE"
    )
    assert here.mailbox.position() == before
    value_of(here.ask("send_message", **mail(BEA, subject="", body_md="Hello")))


# Whose shorthand


@pytest.mark.parametrize("role", ["hypothesis_generator", "Test-Designer", "adversarial critic"])
def test_a_role_instead_of_a_model(here: Place, role: str) -> None:
    """All shorthands are named, and the right one is used where the registration tells it."""
    wrong = mail(ANN, subject=f"DELTA[{role}]: A gradient", body_md=DELTA, thread_id=THREAD)
    answer = here.ask("send_message", **wrong, sender_token=SECRET)
    assert refusal_of(answer) == "INVALID_SUBJECT_PREFIX"
    assert "not your role, into the brackets: `DELTA[opus]:`, `DELTA[gpt]:`" in str(answer.text)
    corrected = fine(answer._replace(is_error=False))["corrected"]
    assert corrected["subject"] == "DELTA[opus]: A gradient"
    value_of(here.ask("send_message", **corrected, sender_token=SECRET))


def test_a_post_of_who_has_not_registered(here: Place) -> None:
    """She hears so, rather than of a shorthand that she has not written."""
    here.mailbox.register(Profile("CalmRiver"))
    answer = post(here, "CalmRiver", ADD)
    assert codes(answer) == ["UNKNOWN_ROLE_SHORTHAND"]
    assert "`CalmRiver` has not registered with a model. Fix: Call `register_agent`" in str(
        answer.text
    )
