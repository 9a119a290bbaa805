"""The thread's page: rounds, answers, deliveries, and what became of every block."""

import json
import re
from typing import Any

import pytest

from brenner.config import OPERATOR
from brenner.mail.mailbox import Capability
from brenner.mail.memory import MemoryMailbox
from brenner.protocol.messages import Envelope, Importance, Trust
from brenner.services.compile import CompileOptions
from brenner.services.decisions import adopt_thread
from brenner.services.versions import Target, load_version
from brenner.web.messages import MESSAGES_PER_PAGE, as_tree
from brenner.web.rendering import render_html
from brenner.web.request import Page, Redirect
from brenner.web.views import artifact, thread
from web.hostile import HOSTILE
from web.mail_scene import ANN, BEA, CYD, MINUTE, QUESTION, THREAD, Scene, added
from web.test_markdown_html import unseen

NAMED = {"thread": THREAD}


@pytest.fixture
def scene() -> Scene:
    """A session with a question, and nothing else."""
    made = Scene()
    made.kickoff(ANN)
    return made


def look(scene: Scene, **asked: str) -> tuple[dict[str, Any], str]:
    """The document and the page."""
    document, page = scene.look(thread.page, NAMED, **asked)
    assert json.loads(json.dumps(document)) == document
    return document, page


def ids(document: dict[str, Any]) -> list[int]:
    """The messages that are shown, in their order."""
    return [each["id"] for each in document["messages"]]


def message(document: dict[str, Any], number: int) -> dict[str, Any]:
    """One of them."""
    found: dict[str, Any] = next(each for each in document["messages"] if each["id"] == number)
    return found


# Which messages


def test_rounds(scene: Scene) -> None:
    """All are shown while they fit, each by itself is an address; COMPILED ends its own."""
    scene.delta(ANN, added("One"))
    scene.compile()
    scene.send(BEA, "INFO: After it")
    document, page = look(scene)
    assert (document["round"], ids(document)) == (None, [1, 2, 3, 4])
    assert ids(look(scene, round="2")[0]) == [4]
    first = document["rounds"]["near"][0]
    assert (first["round"], first["version"], first["messages"]) == (1, 1, 3)
    assert f'href="/sessions/{THREAD}/thread?round=1"' in page
    assert (document["open_round"], [each["round"] for each in document["folded"]]) == (2, [1])
    assert document["folded"][0]["types"] == {"KICKOFF": 1, "DELTA": 1, "COMPILED": 1}
    assert 'id="m4"' in page
    assert 'id="m3"' not in page
    document, page = look(scene, round="1")
    assert ids(document) == [1, 2, 3]
    assert message(document, 3)["version"] == 1
    assert f'This is <a class="id" href="/sessions/{THREAD}/artifact?version=1">v1</a>' in page


def test_a_browser_gets_the_open_round_only(scene: Scene) -> None:
    """What its page does not show is not made; a script gets all messages."""
    scene.delta(ANN, added("One"))
    scene.compile()
    scene.send(BEA, "INFO: After it")
    asking: tuple[dict[str, str], ...]
    asking = ({}, {"round": "1"}, {"type": "DELTA"}, {"order": "tree"}, {"order": "oldest"})
    for asked in asking:
        answer, visit = scene.answer(thread.page, NAMED, asked)
        browser = visit._replace(is_html=True)
        again = thread.page(browser)
        assert isinstance(answer, Page)
        assert isinstance(again, Page)
        assert render_html(again, browser) == render_html(answer, visit)
        is_folded = again.document["open_round"] is not None
        assert ids(dict(again.document)) == ([4] if is_folded else ids(dict(answer.document)))


def test_the_newest_is_first(scene: Scene) -> None:
    """Or the oldest, if one asks for it; the document has one order."""
    number = scene.send(BEA, "INFO: One more")
    document, page = look(scene)
    assert page.index(f'id="m{number}"') < page.index('id="m1"')
    assert document["orders"]["oldest"].endswith("?order=oldest")
    _, page = look(scene, order="oldest")
    assert page.index(f'id="m{number}"') > page.index('id="m1"')


def test_a_long_thread_opens_with_its_newest_round(scene: Scene) -> None:
    """After a compile that is the round that it ended: the next one has no mail yet."""
    for _ in range(MESSAGES_PER_PAGE):
        scene.send(BEA, "INFO: Before it")
    scene.delta(ANN, added("One"))
    scene.compile()
    document, _ = look(scene)
    assert (document["round"], document["fits"]) == (1, False)
    scene.send(BEA, "INFO: After it")
    assert look(scene)[0]["round"] == 2


def test_filters(scene: Scene) -> None:
    """By type and by sender, of all rounds; what no message is like is said."""
    scene.delta(ANN, added("One"))
    scene.delta(BEA, added("Two"))
    scene.compile()
    scene.delta(ANN, added("Three"))
    scene.send(ANN, "not the protocol's")
    assert ids(look(scene, type="DELTA")[0]) == [2, 3, 5]
    assert ids(look(scene, type="DELTA", agent=ANN)[0]) == [2, 5]
    assert ids(look(scene, type="DELTA", round="2")[0]) == [5]
    assert ids(look(scene, type="mail")[0]) == [6]
    document, page = look(scene, type="HANDOFF")
    assert ids(document) == []
    assert "No message matches these filters" in page
    chosen = [each for each in document["filters"]["type"] if each["is_chosen"]]
    assert [(each["value"], each["messages"]) for each in chosen] == [("HANDOFF", 0)]
    counts = {each["value"]: each["messages"] for each in document["filters"]["agent"]}
    assert counts == {OPERATOR: 2, ANN: 3, BEA: 1}


def test_many_messages(scene: Scene) -> None:
    """A page has a hundred; the newest are shown first, and every one has its address."""
    numbers = [scene.send(ANN, f"INFO: {each}") for each in range(2 * MESSAGES_PER_PAGE + 5)]
    document, page = look(scene)
    assert ids(document) == numbers[-6:]
    assert (document["page"], document["pages"], document["next"]) == (3, 3, None)
    assert 'rel="prev"' in page
    before, _ = look(scene, round="1", page="2")
    assert ids(before)[-1] == ids(document)[0] - 1
    assert ids(look(scene, round="1")[0])[0] == 1
    for number, where in ((1, "round=1#m1"), (150, "round=1&page=2#m150")):
        answer, _ = scene.answer(thread.page, NAMED, {"message": str(number)})
        assert answer == Redirect(f"/sessions/{THREAD}/thread?{where}")


def test_tree(scene: Scene) -> None:
    """An answer stands under what it answers, whatever came in between."""
    question = scene.send(ANN, "QUESTION: What?", "## Question\nWhat?\n")
    other = scene.send(BEA, "INFO: Something else")
    answer = scene.send(OPERATOR, "INFO: That", to=(ANN,), reply_to=question)
    again = scene.send(ANN, "INFO: Thanks", reply_to=answer)
    document, page = look(scene, order="tree")
    assert ids(document) == [1, question, answer, again, other]
    assert [each["depth"] for each in document["messages"]] == [0, 0, 1, 2, 0]
    assert 'class="message of-quiet depth-2"' in page
    assert ids(look(scene)[0]) == [1, question, other, answer, again]


def test_deep_tree(scene: Scene) -> None:
    """It is indented a few levels at most; and nothing recurses."""
    last = 1
    for _ in range(10):
        last = scene.send(ANN, "INFO: Deeper", reply_to=last)
    _, page = look(scene, order="tree")
    assert "depth-4" in page
    assert "depth-5" not in page
    stored = scene.mailbox.message(last)
    history = [stored._replace(id=each, reply_to=each - 1) for each in range(1, 3_000)]
    assert [depth for _, depth in as_tree(history)] == list(range(2_999))


def test_circles_are_no_trees(scene: Scene) -> None:
    """Links that an import brings may lead anywhere: each message is shown once all the same."""
    first, second = scene.send(ANN, "INFO: a"), scene.send(ANN, "INFO: b")
    a, b = scene.mailbox.message(first), scene.mailbox.message(second)
    looped = [a._replace(reply_to=second), b._replace(reply_to=first)]
    assert sorted(each.id for each, _ in as_tree(looped)) == [first, second]


# What is said of a message


def test_answers_both_ways(scene: Scene) -> None:
    """A link to what it answers, and from there back; a copy says what it repeats."""
    first = scene.send(ANN, "INFO: First", "The same")
    answer = scene.send(BEA, "INFO: Answer", reply_to=first)
    copy = scene.send(ANN, "INFO: First", "The same", reply_to=first)
    document, page = look(scene)
    assert message(document, answer)["answers"]["id"] == first
    assert [each["id"] for each in message(document, first)["replies"]] == [answer]
    assert message(document, copy)["copy_of"] == first
    there = f'href="/sessions/{THREAD}/thread?round=1#m{first}"'
    assert f'reply to <a class="id" {there}>{first}</a>' in page
    assert f'copy of <a class="id" {there}>{first}</a>' in page
    assert f'id="m{first}" data-step tabindex="-1"' in page


def test_deliveries(scene: Scene) -> None:
    """Each recipient: not read, read, acknowledged, owing, overdue."""
    body = "## Question\nWhat?\n"
    asked = scene.send(ANN, "QUESTION: What?", body, to=(OPERATOR, BEA, CYD))
    told = scene.send(ANN, "INFO: By the way", to=(BEA, CYD))
    scene.mailbox.mark(BEA, [told], is_read=True)
    status = f"## Message ID\n{asked}\n\n## Status\nReceived\n"
    ack = scene.send(BEA, "ACK: What?", status, to=(ANN,))
    document, page = look(scene)
    fates = {each["agent"]: each for each in message(document, asked)["deliveries"]}
    assert fates[BEA]["acknowledged_by"] == fates[BEA]["ack"]["id"] == ack
    assert fates[CYD]["owes_ack"]
    assert not fates[CYD]["overdue"]
    assert "acknowledged in <a" in page
    assert "owes an ACK by" in page
    read = {each["agent"]: each["read_at"] for each in message(document, told)["deliveries"]}
    assert read[BEA] is not None
    assert read[CYD] is None
    assert "not read" in page
    scene.now += 24 * 60 * MINUTE
    document, page = look(scene)
    fates = {each["agent"]: each for each in message(document, asked)["deliveries"]}
    assert [fates[name]["overdue"] for name in (OPERATOR, BEA, CYD)] == [True, False, True]
    assert "ACK overdue since" in page


def test_without_read_marks() -> None:
    """What is not known is not said."""
    scene = Scene(MemoryMailbox(lacks={Capability.READ_MARKS: "it keeps no such marks"}))
    scene.kickoff(ANN)
    scene.send(ANN, "INFO: Something")
    document, page = look(scene)
    assert document["no_read_marks"] == "it keeps no such marks"
    assert "it keeps no such marks" in page
    assert "not read" not in page


def test_who_sent_it(scene: Scene) -> None:
    """How the sender is known, and how urgent it is said to be."""
    scene.send(ANN, "INFO: a", envelope=Envelope(trust=Trust.VERIFIED))
    scene.send(ANN, "INFO: b", envelope=Envelope(Importance.URGENT, (), Trust.UNVERIFIED))
    _, page = look(scene)
    assert page.count(">verified</span>") == 1
    assert page.count(">unverified</span>") == 1
    assert '<span class="attention">urgent</span>' in page


def test_kickoffs_are_one_letter() -> None:
    """What they share is said once; what each has of its own is there."""
    scene = Scene()
    scene.kickoff(ANN, BEA, also="\n## For You\nOnly {0} reads this.\n")
    document, page = look(scene)
    assert [each["group"] for each in document["messages"]] == [
        {"place": 1, "of": 2},
        {"place": 2, "of": 2},
    ]
    second = document["messages"][1]
    assert second["as_in"] == {
        "message_id": 1,
        "sections": ["Why?", "Research Question", "Context"],
    }
    assert second["body"].count("Research Question") == 1
    assert page.count('class="message of-accent kickoffs"') == 1
    assert "to 2 agents; each message contains the part for its agent" in page
    for number in (1, 2):
        assert f'<li id="m{number}" data-step tabindex="-1">' in page
        assert f'<a href="/messages/{number}">message {number}</a>' in page


def test_kickoffs_are_one_letter_with_answers_between_them() -> None:
    """As a tree has them; also in a thread that was begun twice by different people."""
    scene = Scene()
    first, _ = scene.kickoff(ANN, BEA)
    scene.send(ANN, "ACK: Why?", f"## Message ID\n{first}\n\n## Status\nReceived\n", reply_to=first)
    scene.send(ANN, "KICKOFF: Why?", "# Why?\n", to=(BEA,))
    document, page = look(scene, order="tree")
    groups = [each["group"] for each in document["messages"]]
    assert groups == [{"place": 1, "of": 2}, None, {"place": 2, "of": 2}, None]
    assert page.count("to 2 agents; each message") == 1


def test_after_the_end_there_is_no_further_round() -> None:
    """What is still said stands in the last round, which is not open any more."""
    scene = Scene()
    scene.kickoff(ANN)
    scene.delta(ANN, added("Gradient"))
    scene.compile()
    scene.now += MINUTE
    scene.workspace.compile(THREAD, CompileOptions(close=True))
    scene.send(OPERATOR, "INFO: v2 persisted", to=(ANN,))
    document, page = look(scene)
    assert [each["round"] for each in document["rounds"]["near"]] == [1, 2]
    *_, rail = document["session"]["rail"]["rounds"]
    assert (rail["round"], rail["version"], rail["current"]) == (2, 2, False)
    assert [(each["type"], each["version"]) for each in rail["steps"]] == [
        ("COMPILED", 2),
        ("INFO", None),
    ]
    assert "not compiled yet" not in page
    scene.send(OPERATOR, "KICKOFF: Once more", QUESTION, to=(ANN,))
    assert [each["round"] for each in look(scene)[0]["rounds"]["near"]] == [1, 2, 3]


def test_the_first_version_may_have_any_number() -> None:
    """A thread that another program began: nothing is said of a version that there is not."""
    other = Scene()
    other.kickoff(ANN)
    other.delta(ANN, added("Gradient"))
    other.compile()
    theirs = load_version(other.workspace, Target(THREAD)).text.replace("version: 1", "version: 2")
    scene = Scene()
    scene.kickoff(ANN)
    body = f"# Compiled\n\n## Full Artifact\n\n~~~~markdown\n{theirs}~~~~\n"
    scene.send(BEA, "COMPILED: v2 theirs", body)
    adopt_thread(scene.workspace, THREAD)
    document, page = look(scene)
    [adopted] = [each for each in document["messages"] if each["version"]]
    assert (adopted["version"], adopted["before"]) == (3, 0)
    assert "What changed since" not in page
    assert "What changed from" not in scene.look(artifact.page, NAMED)[1]


def test_acks_are_one_line(scene: Scene) -> None:
    """With what they say; one that says more is a message like others."""
    scene.send(ANN, "ACK: Why?", "# Acknowledgement\n\n## Status\nReceived\n\n## Notes\nOn it\n")
    scene.send(ANN, "ACK: Why?", "## Status\nReceived\n\n## Plan\nFirst this\n")
    scene.send(ANN, "ACK: Why?", "I have read it.\n\n## Status\nReceived\n")
    document, page = look(scene)
    assert message(document, 2)["ack"] == {"status": "Received", "notes": "On it"}
    assert ": Received, “On it”</span>" in page
    assert [each["ack"] for each in document["messages"][2:]] == [None, None]
    assert "First this" in page
    assert "I have read it." in page


def test_long_texts_are_folded(scene: Scene) -> None:
    """The first words say what is inside; a very long one is cut, and says where the rest is."""
    scene.send(ANN, "INFO: Long", "First words.\n\n" + "Line\n\n" * 60)
    number = scene.send(ANN, "INFO: Endless", "Word " * 10_000)
    document, page = look(scene)
    assert '<span class="excerpt">First words.</span>' in page
    endless = message(document, number)
    assert (len(endless["body"]), endless["body_is_cut"]) == (20_000, True)
    assert f'<a href="/messages/{number}/raw">raw text</a>' in page
    assert f'data-load="/messages/{number}" data-part="#m{number} > .body"' in page


def test_texts_of_a_page_are_bounded(scene: Scene) -> None:
    """However long each of a hundred is."""
    for _ in range(MESSAGES_PER_PAGE):
        scene.send(ANN, "INFO: Endless", "Word " * 10_000)
    document, _ = look(scene, page="1")
    assert sum(len(each["body"]) for each in document["messages"]) <= 520_000


def test_items_are_links(scene: Scene) -> None:
    """Those of the latest version, in the words of a message."""
    scene.delta(ANN, added("One"))
    scene.compile()
    scene.send(BEA, "INFO: About it", "H1 is good, H4 is a histone.")
    document, page = look(scene)
    assert document["items"] == ["H1"]
    assert f'<a class="id" href="/sessions/{THREAD}/items/H1" rel=' in page
    assert "items/H4" not in page


FOREIGN = re.compile(r"<(?:script(?! src=./assets/)|img|iframe|svg|style|object|base|meta http)\b")


def test_hostile_mail(scene: Scene) -> None:
    """Subjects, bodies and blocks that mean harm: the page is ours."""
    for text in HOSTILE:
        scene.send(
            ANN, f"DELTA[opus]: {' '.join(text.split())}", f"{text}\n\n```delta\n{text}\n```"
        )
    for number in ("1", "2"):
        _, page = look(scene, round="1", page=number)
        assert FOREIGN.findall(page) == []
        assert unseen(page) == set()
        assert not re.search(r"<[a-z][^<>]* (?:on[a-z]+|style|hx-[a-z]+)=", page)
