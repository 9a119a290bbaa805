"""What programs of agents show of a result: the texts or the structured content, up to a length."""

import json
import re
from typing import Any

import pytest

from brenner.mcp.server import TOOLS, call_result
from brenner.mcp.tool import Caller
from serving.calls import Place
from serving.sessions import ADD, ANN, BEA, CAT, EDIT, HYPOTHESIS, in_session, warnings_in
from session.round_play import THREAD, critique, delta, hypothesis, published, send

CODEX_BYTES, GEMINI_CHARACTERS = 40_000, 40_000  # measured; beyond them the middle is cut out
NAMED = {tool.name: tool for tool in TOOLS}
LONG = "A long sentence about “somites”. " * 100


def shown(
    here: Place, tool: str, /, caller: Caller | None = None, **arguments: object
) -> tuple[str, str]:
    """The two things of which a program shows one: the structured content, and all texts."""
    result = call_result(NAMED, tool, here.call(caller, **arguments))
    texts = "\n".join(getattr(each, "text", "") for each in result.content)
    return json.dumps(result.structured_content, ensure_ascii=False), texts


def assert_short(*results: str) -> None:
    """No program cuts them."""
    for each in results:
        assert len(each.encode()) < CODEX_BYTES
        assert len(each) < GEMINI_CHARACTERS


@pytest.fixture
def long_version() -> Place:
    """A session whose first version has forty long critiques."""
    here = in_session()
    delta(here.workspace, ANN, 0, hypothesis("Gradient"), hypothesis("Counting"))
    for number in range(8):
        blocks = [critique(f"C {number}.{each}", f"H1: {LONG}") for each in range(5)]
        delta(here.workspace, CAT, 0, *blocks)
    published(here.workspace)
    return here


@pytest.mark.parametrize("form", ["markdown", "json"])
@pytest.mark.parametrize("since", [None, 0])
def test_pages_lead_to_the_end(long_version: Place, form: str, since: int | None) -> None:
    """Each page is whole and names the next one; together they have every critique once."""
    told: dict[str, Any] = {"thread_id": THREAD, "agent": ANN, "format": form, "since": since}
    key = "artifact" if since is None else "changes"
    number, texts, outline = 1, [], []
    while True:
        structured, text = shown(long_version, "brenner_artifact", **told, page=number)
        assert_short(structured, text)
        value = json.loads(structured)
        assert (value["page"], value["pages"]) == (number, len(value["outline"]))
        assert value["hints"]
        assert all(hint in text for hint in value["hints"])
        texts.append(value[key])
        outline = value["outline"]
        following = re.search(r"The next one is `page`: (\d+)\.", value["hints"][0])
        if following is None:
            break
        number = int(following[1])
    assert number == len(outline) > 2
    for critique_number in range(1, 41):
        begins = {
            "markdown": rf"### C{critique_number}:|^C{critique_number} \(",
            "json": rf'"id": "C{critique_number}"',
        }
        assert len(re.findall(begins[form], "\n".join(texts), re.MULTILINE)) == 1
    assert "C1" in json.dumps(outline)
    assert outline[-1]["items"][-1].endswith("C40")


def test_hints_of_a_post_that_is_refused() -> None:
    """Codex shows a model the structured content of errors, too."""
    here = in_session()
    wrong = {"op": "EDIT", "section": "hypotheses", "target_id": "H9", "payload": {"claim": "x"}}
    structured, text = shown(here, "brenner_post", thread_id=THREAD, agent=ANN, deltas=[wrong])
    hints = json.loads(structured)["hints"]
    assert hints[0] == "Nothing was posted."
    assert "There are no active items yet: ADD one." in hints
    assert hints[-1].startswith("Post it as `deltas`")
    assert all(hint in text.split("\n") for hint in hints)


def test_a_page_that_does_not_exist(long_version: Place) -> None:
    answer = long_version.ask("brenner_artifact", thread_id=THREAD, page=99)
    assert answer.is_error
    assert "INVALID_ARGUMENT" in str(answer.text)
    assert re.search(r"Give a number from 1 to \d+\.", str(answer.text))
    answer = long_version.ask("brenner_artifact", thread_id=THREAD, item="H1", page=2)
    assert "Give 1, the only page." in str(answer.text)


def test_a_long_task_says_what_it_leaves_out(long_version: Place) -> None:
    """The counts stay; every list that is not whole has a hint, in both forms."""
    here = long_version
    structured, text = shown(here, "brenner_task", agent=ANN, thread_id=THREAD)
    assert_short(structured, text)
    value = json.loads(structured)
    assert value["counts"]["critiques"] == 40
    assert 1 < len(value["critiques"]) < 20
    assert f"{len(value['critiques'])} of 40 critiques are shown. `brenner_artifact`" in text
    assert value["hints"] == [text.splitlines()[-1]]


def test_long_lists_say_how_to_get_less() -> None:
    """The list stays as it is, and has a hint beside it; our own programs need none."""
    here = in_session()
    for _ in range(20):
        send(here.workspace, BEA, "News", LONG, (ANN,))
    asked: dict[str, Any] = {"agent_name": ANN, "include_bodies": True}
    structured, text = shown(here, "fetch_inbox", **asked)
    value = json.loads(structured)
    assert list(value) == ["result", "hints"]
    assert len(value["result"]) == 20
    assert "smaller `limit`" in value["hints"][0]
    assert text.endswith(f"\n{value['hints'][0]}")
    ours = here.caller()._replace(is_checked=True)
    assert list(json.loads(shown(here, "fetch_inbox", ours, **asked)[0])) == ["result"]
    assert list(json.loads(shown(here, "fetch_inbox", **asked, limit=5)[0])) == ["result"]
    assert "hints" in json.loads(shown(here, "search_messages", query="somites")[0])


def test_agents_get_as_many_bodies_as_their_programs_show() -> None:
    """In a session, but not our own programs: the first body, and others while there is room."""
    here = in_session()
    for number in range(20):
        send(here.workspace, BEA, f"News {number}", LONG, (ANN,))
    asked: dict[str, Any] = {"agent_name": ANN, "include_bodies": True}
    agent = here.caller("session")
    structured, text = shown(here, "fetch_inbox", agent, **asked)
    assert_short(structured, text)
    bodies = ["body_md" in each for each in json.loads(structured)["result"]]
    assert sorted(bodies, reverse=True) == bodies
    assert 1 < sum(bodies) < 20
    found: Any = here.ask("search_messages", agent, query="somites").value
    assert sum("body_left_out" in each for each in found["result"]) > 10
    ours: Any = here.ask("fetch_inbox", agent._replace(is_checked=True), **asked).value
    assert all("body_md" in each for each in ours)
    send(here.workspace, BEA, "Longest", LONG * 20, (ANN,))
    newest: Any = here.ask("fetch_inbox", agent, **asked).value
    assert ["body_md" in each for each in newest] == [True] + [False] * 19


def test_hints_of_a_post() -> None:
    """What to do about it is there in both forms."""
    here = in_session()
    wrong = {**EDIT, "target_id": "H9"}
    asked: dict[str, Any] = {"thread_id": THREAD, "agent": ANN, "deltas": [ADD, wrong], "key": "k"}
    for is_first in (True, False):
        structured, text = shown(here, "brenner_post", **asked)
        hints = json.loads(structured)["hints"]
        assert "1 of 2 deltas would be rejected. Correct these and post them again." in hints[0]
        assert ("It was posted before" in hints[0]) is not is_first
        assert any(each.startswith("It is marked as unverified") for each in hints)
        assert all(hint in text for hint in hints)


UNKNOWN = {**ADD, "payload": {**HYPOTHESIS, "colour": "red"}}
BODY = f"**Base Version**: v0\n\n```delta\n{json.dumps(UNKNOWN)}\n```\n"
MAIL = {"sender_name": ANN, "to": [BEA], "thread_id": THREAD, "body_md": BODY}
WARNED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("brenner_post", {"thread_id": THREAD, "agent": ANN, "deltas": [UNKNOWN]}),
    ("brenner_post", {"thread_id": THREAD, "agent": ANN, "deltas": [UNKNOWN], "key": "k"}),
    (
        "brenner_post",
        {"thread_id": THREAD, "agent": ANN, "deltas": [{**EDIT, "payload": {"colour": "red"}}]},
    ),
    ("brenner_check", {**MAIL, "subject": "DELTA[opus]: x"}),
    ("send_message", {**MAIL, "subject": "DELTA[opus]: x"}),
    ("send_message", {**MAIL, "subject": "DELTA[gpt]: x", "to": ["redsky"]}),
    ("reply_message", {"message_id": 1, "sender_name": ANN, "body_md": BODY}),
)


@pytest.mark.parametrize("version", [False, True])
def test_no_warning_is_there_twice(*, version: bool) -> None:
    """Neither in the texts nor in the structured content, before and after a version."""
    here = in_session()
    if version:
        delta(here.workspace, ANN, 0, hypothesis("Counting"))
        published(here.workspace)
    for tool, arguments in WARNED:
        structured, text = shown(here, tool, **arguments)
        found = warnings_in(json.loads(structured))
        assert found, tool
        assert len(found) == len(set(found)), tool
        words = "`colour` is not a field of"
        assert text.count(words) == structured.count(words), (tool, text)
        assert text.count(words) <= 1, (tool, text)
        for each in map(json.loads, found):
            assert text.count(f"{each['severity']} {each['id']}") <= 1, (tool, text)
