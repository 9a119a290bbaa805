"""The tools with which agents read mail, mark and acknowledge it, in the forms of Agent Mail."""

import json
from datetime import timedelta
from typing import Any

import pytest

from brenner.mcp.tool import ToolResult
from brenner.protocol.messages import Envelope, Importance, Message, Trust
from serving.calls import OPERATOR, Place, place

ANN, BEA, CAT = "BlueLake", "RedSky", "GreenHill"
# As recorded; `trust` and `ack_message_id` are ours.
ITEM = {
    "id": int,
    "project_id": int,
    "sender_id": int,
    "thread_id": str,
    "subject": str,
    "importance": str,
    "ack_required": bool,
    "created_ts": str,
    "attachments": list,
    "from": str,
    "kind": str,
    "trust": str,
}
FOUND = {
    "id": int,
    "subject": str,
    "body_md": str,
    "importance": str,
    "ack_required": int,
    "created_ts": str,
    "thread_id": str,
    "from": str,
    "trust": str,
}
SUMMARY = {
    "participants": list,
    "key_points": list,
    "action_items": list,
    "total_messages": int,
    "open_actions": int,
    "done_actions": int,
    "mentions": list,
}


@pytest.fixture
def here() -> Place:
    """Three agents and some mail."""
    found = place()
    for name in (ANN, BEA, CAT):
        found.knows(name)
    return found


def post(here: Place, subject: str, body: str = "x", thread_id: str = "T-1", **more: Any) -> int:
    """A message of BlueLake's to RedSky, with a copy to GreenHill where it is asked for."""
    cc = tuple(more.get("cc", ()))
    envelope = Envelope(more.get("importance", Importance.NORMAL), cc, Trust.UNVERIFIED)
    message = Message(thread_id, ANN, (BEA, *cc), subject, body, more.get("ack"))
    return here.mailbox.send(message, envelope=envelope).stored.id


def value(answer: ToolResult) -> Any:
    """What a tool answered; it must not be a refusal."""
    assert not answer.is_error, answer.text
    return json.loads(json.dumps(answer.value))


def code(answer: ToolResult) -> str:
    """The code of a refusal."""
    assert answer.is_error
    assert isinstance(answer.value, dict)
    return str(answer.value["error"]["id"])


def kinds(document: dict[str, object]) -> dict[str, type]:
    """The keys of a document, and what stands there."""
    return {key: type(each) for key, each in document.items()}


def fetched(here: Place, name: str = BEA, **more: object) -> list[int]:
    """The ids in an inbox."""
    return [each["id"] for each in value(here.ask("fetch_inbox", agent_name=name, **more))]


def test_the_form_of_an_inbox(here: Place) -> None:
    """As recorded: no recipients, no body unless asked for, how one got it."""
    post(here, "Hello", importance=Importance.HIGH, cc=[CAT], ack=True)
    (item,) = value(here.ask("fetch_inbox", agent_name=BEA))
    assert kinds(item) == ITEM
    assert (item["kind"], item["importance"], item["ack_required"]) == ("to", "high", True)
    (copy,) = value(here.ask("fetch_inbox", agent_name=CAT, include_bodies=True))
    assert kinds(copy) == {**ITEM, "body_md": str}
    assert (copy["kind"], copy["body_md"], copy["trust"]) == ("cc", "x", "unverified")
    assert value(here.ask("fetch_inbox", agent_name=ANN)) == []


def test_how_much_of_an_inbox(here: Place) -> None:
    """Newest first; as much as asked for, urgent mail found however old; nothing becomes read."""
    high = post(here, "old and urgent", importance=Importance.URGENT)
    for number in range(230):
        post(here, f"m{number}")
    newest = list(range(231, 0, -1))
    assert fetched(here) == newest[:20]
    assert fetched(here, limit=2) == newest[:2]
    assert fetched(here, limit="225") == newest[:225]
    assert fetched(here, limit=0) == fetched(here, limit=-5) == []
    assert fetched(here, limit=100_000) == newest
    assert fetched(here, urgent_only=True) == [high]
    assert here.mailbox.unread(BEA) == 231


def test_mail_since_a_time(here: Place) -> None:
    """Exclusive, in any zone; a time that is none is refused with the form to use."""
    first, second = post(here, "a"), post(here, "b")
    at = here.mailbox.message(second).at
    assert fetched(here, since_ts=at.isoformat()) == []
    before = at - timedelta(microseconds=1)
    expected = [each for each in (second, first) if here.mailbox.message(each).at > before]
    assert fetched(here, since_ts=before.isoformat()) == expected
    assert fetched(here, since_ts="2001-01-01") == [second, first]
    assert fetched(here, since_ts="2001-01-01T00:00:00+05:00") == [second, first]
    assert fetched(here, since_ts="") == [second, first]
    for wrong in ("yesterday", "2025-13-01", "1700000000"):
        answer = here.ask("fetch_inbox", agent_name=BEA, since_ts=wrong)
        assert code(answer) == "INVALID_ARGUMENT"
        assert "2025-12-30T12:00:00+00:00" in (answer.text or "")


def test_an_inbox_of_nobody(here: Place) -> None:
    """A mistyped name has no empty inbox."""
    answer = here.ask("fetch_inbox", agent_name="RedSkye", limit=0)
    assert code(answer) == "NO_SUCH_AGENT"
    assert BEA in (answer.text or "")


# What a recipient does


def test_the_form_of_a_mark(here: Place) -> None:
    """As recorded; again it is the same."""
    number = post(here, "Hello")
    marked = value(here.ask("mark_message_read", agent_name=BEA, message_id=number))
    assert kinds(marked) == {"message_id": int, "read": bool, "read_at": str}
    assert (marked["message_id"], marked["read"]) == (number, True)
    assert here.mailbox.unread(BEA) == 0
    assert value(here.ask("mark_message_read", agent_name=BEA, message_id=str(number))) == marked


def test_the_form_of_an_acknowledgement(here: Place) -> None:
    """As recorded, with the message that says it; again it is the same one."""
    number = post(here, "Hello", ack=True)
    said = {"agent_name": BEA, "message_id": number}
    done = value(here.ask("acknowledge_message", **said))
    assert kinds(done) == {
        "message_id": int,
        "acknowledged": bool,
        "acknowledged_at": str,
        "read_at": str,
        "ack_message_id": int,
    }
    ack = here.mailbox.message(done["ack_message_id"])
    assert (ack.type, ack.message.sender, ack.acknowledges) == ("ACK", BEA, (number,))
    assert ack.envelope.trust is Trust.UNVERIFIED
    assert here.mailbox.debts() == ()
    assert value(here.ask("acknowledge_message", **said)) == done
    assert here.mailbox.position() == 2


@pytest.mark.parametrize("tool", ["mark_message_read", "acknowledge_message"])
def test_only_a_recipient_can(here: Place, tool: str) -> None:
    """Others are refused, and so is who names no message; nobody is the operator unproved."""
    number = post(here, "Hello")
    assert code(here.ask(tool, agent_name=CAT, message_id=number)) == "NOT_A_RECIPIENT"
    assert code(here.ask(tool, agent_name=BEA, message_id=99)) == "UNKNOWN_MESSAGE"
    assert code(here.ask(tool, agent_name="RedSkye", message_id=number)) == "NO_SUCH_AGENT"
    assert code(here.ask(tool, agent_name=OPERATOR, message_id=1)) == "OPERATOR_NEEDS_SECRET"
    shown = {"registration_token": "brs_x"}
    wrong = here.ask(tool, agent_name=BEA, message_id=number, **shown)
    assert code(wrong) == "WRONG_SECRET"
    assert (here.mailbox.position(), here.mailbox.unread(BEA)) == (1, 1)


# Searching


def test_the_form_of_what_is_found(here: Place) -> None:
    """As recorded: `ack_required` is a number there."""
    post(here, "Hello", "Body *x*", ack=True)
    (found,) = value(here.ask("search_messages", query="hello"))["result"]
    assert kinds(found) == FOUND
    assert (found["id"], found["ack_required"], found["body_md"]) == (1, 1, "Body *x*")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("gradient", [2, 1]),
        ('"build plan"', [1]),
        ('"build plan" AND gradient', [1]),
        ("(gradient AND users)", [2]),
        ("from:BlueLake users", [2]),
        ("thread:T-1", [3, 2, 1]),
        ('"gradient OR"', []),
        ("nothingatall", []),
    ],
)
def test_searches(here: Place, query: str, expected: list[int]) -> None:
    """Our grammar, with what agents know from full-text searches where it means the same."""
    post(here, "The build plan", "a gradient")
    post(here, "A plan to build", "gradient of users")
    post(here, "Lunch")
    found = value(here.ask("search_messages", query=query))["result"]
    assert [each["id"] for each in found] == expected


@pytest.mark.parametrize(
    ("query", "expected", "words"),
    [
        ("gradient OR wave", "SEARCH_OPERATOR", "Search twice"),
        ("gradient NOT wave", "SEARCH_OPERATOR", "Search without it"),
        ("grad*", "SEARCH_OPERATOR", "the whole word"),
        ("NEAR(a b)", "SEARCH_OPERATOR", "phrase"),
        ("subject:plan", "UNKNOWN_FILTER", "from:"),
        ("", "EMPTY_QUERY", "fetch_inbox"),
        ('"open', "UNCLOSED_QUOTE", "Close it"),
        ("is:unread", "FILTER_NEEDS_READER", "fetch_inbox"),
    ],
)
def test_searches_that_cannot_be_understood(
    here: Place, query: str, expected: str, words: str
) -> None:
    """They are refused with the fix: an empty answer would look as if there were nothing."""
    answer = here.ask("search_messages", query=query)
    assert code(answer) == expected
    assert words in (answer.text or "")


def test_as_many_as_asked_for(here: Place) -> None:
    """The latest first."""
    for number in range(25):
        post(here, f"plan {number}")
    assert len(value(here.ask("search_messages", query="plan"))["result"]) == 20
    found = value(here.ask("search_messages", query="plan", limit=2))["result"]
    assert [each["id"] for each in found] == [25, 24]
    assert value(here.ask("search_messages", query="plan", limit=0)) == {"result": []}


# Summaries

POINTS = """\
# Plan

- first point
1. numbered
- [ ] open task
- [x] done task
TODO: do that
@RedSky please look, @GreenHill and @RedSky; not me@RedSky
```delta
- no point
```
"""


def test_the_form_of_a_summary(here: Place) -> None:
    """As recorded; what is in it stands in the mail, line by line."""
    post(here, "Plan", POINTS)
    post(here, "More", "- first point\n")
    said = value(here.ask("summarize_thread", thread_id="T-1", llm_mode=True, llm_model="any"))
    assert kinds(said) == {"thread_id": str, "summary": dict, "examples": list}
    assert kinds(said["summary"]) == SUMMARY
    assert said["summary"] == {
        "participants": [ANN],
        "key_points": ["first point", "numbered", "open task", "done task"],
        "action_items": ["- [ ] open task", "- [x] done task", "TODO: do that"],
        "total_messages": 2,
        "open_actions": 1,
        "done_actions": 1,
        "mentions": [{"name": BEA, "count": 2}, {"name": CAT, "count": 1}],
    }
    assert said["examples"] == []
    with_examples = value(here.ask("summarize_thread", thread_id="T-1", include_examples=True))
    first = with_examples["examples"][0]
    assert kinds(first) == {"id": int, "subject": str, "from": str, "created_ts": str}


def test_a_summary_of_nothing(here: Place) -> None:
    """A mistyped thread is not an empty one."""
    post(here, "Plan", thread_id="RS-20251230-cell-fate")
    answer = here.ask("summarize_thread", thread_id="RS-20251230-cel-fate")
    assert code(answer) == "UNKNOWN_THREAD"
    assert "RS-20251230-cell-fate" in (answer.text or "")


def test_an_unknown_agent_names_the_place() -> None:
    """An agent whose client was started elsewhere sees which project answers."""
    here = place()
    folder = here.workspace.project.folder
    answer = here.ask("whois", project_key=str(folder), agent_name="Nobody")
    assert answer.is_error
    assert isinstance(answer.value, dict)
    found = answer.value["error"]
    assert found["id"] == "NO_SUCH_AGENT"
    assert found["message"].endswith(f"Project: `{folder}`, store `.brenner/mail.sqlite3`.")


def test_summary_leaves_the_instructions_of_a_kickoff_out(here: Place) -> None:
    """The role, the steps and the rules are the same in every session."""
    body = (
        "# Round 1\n\n## Requested Outputs\n\n- Three hypotheses\n\n## Session Configuration\n\n"
        "- roster\n\n## Your Role\n\n- Hunt the paradox\n\n## How to Contribute\n\n1. Acknowledge\n"
        "- [ ] NEXT: send it\n"
    )
    post(here, "KICKOFF: Which?", body)
    post(here, "Notes", "## Your Role\n\n- a point of an agent\n")
    said = value(here.ask("summarize_thread", thread_id="T-1"))["summary"]
    assert said["key_points"] == ["Three hypotheses", "a point of an agent"]
    assert (said["action_items"], said["open_actions"]) == ([], 0)
