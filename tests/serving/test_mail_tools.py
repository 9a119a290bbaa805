"""The tools with which agents send mail: the forms of Agent Mail, and what is told of a refusal.

What the real server answers (version 0.1.19 of its maintained fork) was recorded; here its keys and
kinds of values are written down. `trust` is ours.
"""

import json
from typing import Any

import pytest

from brenner.mcp.server import result_of
from brenner.mcp.tool import ToolResult
from brenner.protocol.messages import Importance, Message, Trust
from serving.calls import FOLDER, OPERATOR, Place, place

THREAD = "RS-20251230-cell-fate-choice"
ANN, BEA, CAT = "BlueLake", "RedSky", "GreenHill"
PROJECT = str(FOLDER)
ADD = (
    '{"operation": "ADD", "section": "hypothesis_slate", "target_id": null,\n'
    ' "payload": {"name": "Memory", "claim": "Cells inherit it", "mechanism": "Marks",\n'
    ' "anchors": ["§42"]}, "rationale": "why"}'
)
GOOD = f"```delta\n{ADD}\n```\n"
WRONG = GOOD.replace('"why"}', '"why",}')
QUESTION = "# Question\n\n## Question\nWhich one?\n\n## Urgency\nSoon\n"
# As recorded
PAYLOAD = {
    "id": int,
    "project_id": int,
    "sender_id": int,
    "thread_id": str,
    "subject": str,
    "importance": str,
    "ack_required": bool,
    "created_ts": str,
    "attachments": list,
    "body_md": str,
    "from": str,
    "to": list,
    "cc": list,
    "bcc": list,
}
OURS = {"trust": str}
KEY = "brs_of-the-river"


@pytest.fixture
def here() -> Place:
    """Three agents, none of whom has claimed the name."""
    found = place()
    for name in (ANN, BEA, CAT):
        found.knows(name)
    return found


def kinds(value: object) -> dict[str, type]:
    """The keys of a document, and what stands there."""
    assert isinstance(value, dict)
    return {key: type(each) for key, each in value.items()}


def value(answer: ToolResult) -> Any:
    """What a tool answered; it must not be a refusal."""
    assert not answer.is_error, answer.text
    return json.loads(json.dumps(answer.value))


def refusal(answer: ToolResult) -> dict[str, Any]:
    """Why a tool refused; the text says the same."""
    assert answer.is_error
    document = json.loads(json.dumps(answer.value))
    assert set(document) == {"error", "violations", "summary", "corrected"}
    assert answer.text is not None
    for found in document["violations"]:
        assert found["id"] in answer.text
        assert found["fix"] in answer.text
    return document  # type: ignore[no-any-return]


def codes(answer: ToolResult) -> list[str]:
    """The codes of a refusal, the worst first."""
    return [found["id"] for found in refusal(answer)["violations"]]


def send(here: Place, subject: str, body: str, **more: object) -> ToolResult:
    """A message of BlueLake's to RedSky."""
    said = {"project_key": PROJECT, "sender_name": ANN, "to": [BEA]}
    return here.ask("send_message", **{**said, "subject": subject, "body_md": body, **more})


def kick_off(here: Place) -> int:
    """A session; the id of its kickoff."""
    body = "# Fate\n\n## Research Question\nWhat decides?\n\n## Context\nCells.\n"
    message = Message(THREAD, OPERATOR, (ANN, BEA), "KICKOFF: Fate", body)
    return here.mailbox.send(message).stored.id


# Sending


def test_the_form_of_a_sent_message(here: Place) -> None:
    """As recorded, and how it is known who sent it."""
    said = {"cc": [CAT], "importance": "high", "ack_required": True, "thread_id": "T-1"}
    sent = value(send(here, "Hello", "Body *x*", **said))
    assert kinds(sent) == {"deliveries": list, "count": int, "attachments": list}
    (delivery,) = sent["deliveries"]
    assert kinds(delivery) == {"project": str, "payload": dict}
    payload = delivery["payload"]
    assert kinds(payload) == {**PAYLOAD, **OURS}
    assert payload["created_ts"].endswith("+00:00")
    assert len(payload["created_ts"]) == len("2026-11-16T14:44:45.677583+00:00")
    del payload["created_ts"]
    assert payload == {
        "id": 1,
        "project_id": 1,
        "sender_id": payload["sender_id"],
        "thread_id": "T-1",
        "subject": "Hello",
        "importance": "high",
        "ack_required": True,
        "attachments": [],
        "body_md": "Body *x*",
        "from": ANN,
        "to": [BEA],
        "cc": [CAT],
        "bcc": [],
        "trust": "unverified",
    }
    assert (delivery["project"], sent["count"], sent["attachments"]) == (PROJECT, 1, [])
    stored = here.mailbox.message(1)
    assert stored.envelope == (Importance.HIGH, (CAT,), Trust.UNVERIFIED)
    assert stored.message == Message("T-1", ANN, (BEA, CAT), "Hello", "Body *x*", True)


def test_mail_without_a_thread(here: Place) -> None:
    """It begins one; an answer stands in it."""
    payload = value(send(here, "Hello", "x"))["deliveries"][0]["payload"]
    assert (payload["id"], payload["thread_id"], payload["ack_required"]) == (1, "1", False)


@pytest.mark.parametrize("body", ["", "\n", "a\r\nb\t\n", "# *x*\n\n<script>é🙂</script>"])
def test_mail_is_kept_byte_for_byte(here: Place, body: str) -> None:
    """Whatever it holds."""
    payload = value(send(here, " Hello ", body))["deliveries"][0]["payload"]
    assert (payload["subject"], payload["body_md"]) == (" Hello ", body)
    assert here.mailbox.message(1).message.body == body


def test_a_bad_contribution_is_told_with_the_correction(here: Place) -> None:
    """The text has what is wrong, where and the arguments to send; these are accepted."""
    here.mailbox.send(Message(THREAD, "Operator", (ANN,), "INFO: The thread exists", "x"))
    answer = send(here, "delta[opus]: Memory", WRONG, thread_id=THREAD, cc=[CAT], importance="high")
    told = refusal(answer)
    assert [found["id"] for found in told["violations"]] == [
        "INVALID_SUBJECT_PREFIX",
        "JSON_TRAILING_COMMA",
    ]
    assert told["error"] == told["violations"][0]
    assert told["summary"] == {"errors": 2, "warnings": 0, "info": 0}
    assert told["corrected"] == {
        "project_key": PROJECT,
        "sender_name": ANN,
        "to": [BEA],
        "cc": [CAT],
        "subject": "DELTA[opus]: Memory",
        "body_md": GOOD,
        "thread_id": THREAD,
        "ack_required": False,
        "importance": "high",
    }
    assert answer.text is not None
    lines = answer.text.splitlines()
    assert lines[0] == "Nothing was sent."
    assert lines[2].startswith("JSON_TRAILING_COMMA body line 4: ")
    label = "Corrected message, for `send_message` (add your `sender_token` if you have one):"
    assert lines[-2] == label
    assert json.loads(lines[-1]) == told["corrected"]
    assert here.mailbox.position() == 1
    payload = value(here.ask("send_message", **told["corrected"]))["deliveries"][0]["payload"]
    assert (payload["body_md"], payload["cc"], payload["importance"]) == (GOOD, [CAT], "high")


def test_warnings_go_with_the_message(here: Place) -> None:
    """It is sent, and what is odd about it is said."""
    kick_off(here)
    said = value(send(here, "QUESTION: x", QUESTION, thread_id=THREAD, ack_required=False))
    assert [found["id"] for found in said["violations"]] == ["MB-011"]
    assert said["deliveries"][0]["payload"]["ack_required"] is False
    silent = value(send(here, "QUESTION: x", QUESTION, thread_id=THREAD))
    assert silent["deliveries"][0]["payload"]["ack_required"] is True
    assert "violations" not in silent


@pytest.mark.parametrize(
    ("more", "expected", "words"),
    [
        ({"bcc": [CAT]}, "BLIND_COPIES", ["cc", CAT]),
        ({"attachment_paths": ["a.png"]}, "NO_ATTACHMENTS", ["a.png"]),
        ({"importance": "hugely"}, "NOT_A_CHOICE", ["low", "urgent"]),
        ({"to": ["RedSkye"]}, "UNKNOWN_RECIPIENT", [BEA, "`resource://agents`"]),
        ({"to": []}, "SENT_TO_NOBODY", ["`to`"]),
        ({"sender_name": "BleuLake"}, "UNKNOWN_SENDER", [ANN, "register_agent"]),
        ({"project_key": "/elsewhere"}, "OTHER_PROJECT", [PROJECT]),
        ({"sender_name": OPERATOR}, "OPERATOR_NEEDS_SECRET", [OPERATOR]),
        ({"sender_token": "brs_wrong"}, "WRONG_SECRET", [ANN]),
        ({"thread": "T-1"}, "UNKNOWN_ARGUMENT", ["thread_id"]),
    ],
)
def test_what_is_refused(
    here: Place, more: dict[str, object], expected: str, words: list[str]
) -> None:
    """Each with the fix, in the words of the tools; nothing is stored."""
    answer = send(here, "Hello", "x", **more)
    assert codes(answer) == [expected]
    assert all(word in (answer.text or "") for word in words)
    assert "brenner mail" not in (answer.text or "")
    assert here.mailbox.position() == 0


def test_only_copies(here: Place) -> None:
    """Who gets a copy is a recipient; who is named twice gets it once."""
    payload = value(send(here, "x", "x", to=[], cc=[CAT]))["deliveries"][0]["payload"]
    assert (payload["to"], payload["cc"]) == ([], [CAT])
    twice = value(send(here, "x", "x", to=[BEA, BEA], cc=[BEA, CAT]))["deliveries"][0]["payload"]
    assert (twice["to"], twice["cc"]) == ([BEA], [CAT])


def test_what_is_accepted_and_unused(here: Place) -> None:
    """Arguments of Agent Mail that mean nothing here, and empty ones."""
    unused = {"convert_images": True, "auto_contact_if_blocked": True, "bcc": [], "cc": None}
    assert not send(here, "x", "x", attachment_paths=[], importance=None, **unused).is_error


def test_a_program_that_has_checked(here: Place) -> None:
    """What our own adapter sends is stored as it is; whoever else says so hears what is wrong."""
    caller = here.caller()._replace(is_checked=True)
    said = {"sender_name": ANN, "to": [BEA], "subject": "delta[gpt", "body_md": "x"}
    answer = value(here.ask("send_message", caller, **said))
    assert answer["count"] == 1
    first, *others = (each["id"] for each in answer["violations"])
    assert first == "STORED_UNCHECKED"
    assert others


# Answering


def test_the_form_of_an_answer(here: Place) -> None:
    """As recorded: the message, what it answers, and the delivery."""
    send(here, "Hello", "x", importance="high", ack_required=True, thread_id="T-1")
    said = {"project_key": PROJECT, "message_id": 1, "sender_name": BEA, "body_md": "R"}
    reply = value(here.ask("reply_message", **said))
    more = {"reply_to": int, "deliveries": list, "count": int}
    assert kinds(reply) == {**PAYLOAD, **OURS, **more}
    (delivery,) = reply["deliveries"]
    assert kinds(delivery["payload"]) == {**PAYLOAD, **OURS}
    assert all(reply[key] == each for key, each in delivery["payload"].items())
    assert (reply["subject"], reply["importance"], reply["ack_required"]) == (
        "Re: Hello",
        "high",
        True,
    )
    assert (reply["to"], reply["reply_to"], reply["thread_id"]) == ([ANN], 1, "T-1")
    assert here.mailbox.message(2).reply_to == 1


def test_an_answer_to_an_answer(here: Place) -> None:
    """`Re:` is not put twice; who answers herself goes on speaking to her readers."""
    send(here, "Hello", "x")
    said = {"message_id": "1", "sender_name": ANN, "body_md": "R"}
    first = value(here.ask("reply_message", **said))
    assert (first["subject"], first["to"]) == ("Re: Hello", [BEA])
    second = value(here.ask("reply_message", **{**said, "message_id": 2, "sender_name": BEA}))
    assert (second["subject"], second["to"], second["thread_id"]) == ("Re: Hello", [ANN], "1")
    others = value(here.ask("reply_message", **said, to=[CAT], cc=[BEA]))
    assert (others["to"], others["cc"]) == ([CAT], [BEA])


def test_an_answer_in_a_session(here: Place) -> None:
    """It is stored; who put deltas into it hears how to send them, as arguments."""
    number = kick_off(here)
    said = {"message_id": number, "sender_name": ANN, "body_md": GOOD}
    answer = here.ask("reply_message", **said)
    reply = value(answer)
    assert reply["subject"] == "Re: KICKOFF: Fate"
    assert [found["id"] for found in reply["violations"]] == ["NOT_COMPILED"]
    notes = answer.notes
    assert (notes[0], len(notes)) == ("Message 2 was sent, with these warnings:", 2)
    assert notes[1].startswith("- warning NOT_COMPILED: ")
    first, second = (str(each.text) for each in result_of(answer).content)  # type: ignore[union-attr]
    once = {key: each for key, each in reply.items() if key != "violations"}
    assert (json.loads(first), second) == (once, "\n".join(notes))
    assert reply["corrected"]["subject"] == "DELTA[opus]: Fate"
    assert reply["corrected"]["ack_required"] is False
    assert not here.ask("send_message", **reply["corrected"]).is_error


def test_an_answer_with_a_prefix_is_checked(here: Place) -> None:
    """Also where it is the prefix of what is answered."""
    number = kick_off(here)
    said = {"message_id": number, "sender_name": ANN, "body_md": WRONG}
    for prefix in ("DELTA[opus]:", "delta[opus]:"):
        told = refusal(here.ask("reply_message", **said, subject_prefix=prefix))
        assert told["corrected"]["subject"] == "DELTA[opus]: KICKOFF: Fate"
    assert codes(here.ask("reply_message", **said, subject_prefix=""))
    assert here.mailbox.position() == 1
    good = value(
        here.ask("reply_message", **{**said, "body_md": GOOD}, subject_prefix="DELTA[opus]:")
    )
    assert (good["ack_required"], "violations" in good) == (False, False)


def test_answers_that_are_refused(here: Place) -> None:
    """As sending is; and where there is nothing to answer."""
    send(here, "Hello", "x")
    said = {"message_id": 1, "sender_name": BEA, "body_md": "R"}
    assert codes(here.ask("reply_message", **{**said, "message_id": 99})) == ["UNKNOWN_MESSAGE"]
    assert codes(here.ask("reply_message", **said, bcc=[CAT])) == ["BLIND_COPIES"]
    assert codes(here.ask("reply_message", **{**said, "sender_name": "RedSkye"})) == [
        "UNKNOWN_SENDER"
    ]
    assert here.mailbox.position() == 1


def test_a_secret_verifies(here: Place) -> None:
    """What is sent with it is verified, in the answer and in the store; it is shown nowhere."""
    here.knows("CalmRiver", KEY)
    answer = send(here, "Hello", "x", sender_name="CalmRiver", sender_token=KEY)
    assert value(answer)["deliveries"][0]["payload"]["trust"] == "verified"
    assert KEY not in json.dumps(answer.value)
    assert here.mailbox.message(1).envelope.trust is Trust.VERIFIED
