"""The page of one message, and its exact text."""

import json
from typing import Any

import pytest

from brenner.config import OPERATOR
from brenner.diagnostics.model import RequestError
from brenner.mail.mailbox import Capability
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import message_with_deliveries_json
from brenner.protocol.messages import Envelope, parse_message_file
from brenner.web.request import Download
from brenner.web.views import thread
from web.browsing import THREAD as DEMO
from web.browsing import Show, Window
from web.hostile import HOSTILE
from web.mail_scene import ANN, BEA, REFUSED, THREAD, Scene, added
from web.test_markdown_html import unseen
from web.test_thread_page import FOREIGN


@pytest.fixture
def scene() -> Scene:
    """A session with a question, and nothing else."""
    made = Scene()
    made.kickoff(ANN)
    return made


def look(scene: Scene, number: int) -> tuple[dict[str, Any], str]:
    """The document and the page."""
    document, page = scene.look(thread.message_page, {"message": str(number)})
    assert json.loads(json.dumps(document)) == document
    return document, page


def raw(scene: Scene, number: int) -> Download:
    """The text of it."""
    answer, _ = scene.answer(thread.raw_page, {"message": str(number)}, {})
    assert isinstance(answer, Download)
    return answer


def test_whole(scene: Scene) -> None:
    """Everything that the command line gives of it, in the frame of its session."""
    number = scene.send(ANN, "INFO: Something", "Word\n\n" * 300, to=(OPERATOR, BEA))
    document, page = look(scene, number)
    stored = scene.mailbox.message(number)
    expected = message_with_deliveries_json(stored, scene.mailbox.deliveries(number))
    deliveries = expected.pop("deliveries")
    found = document["message"]
    assert {key: found[key] for key in expected} == expected
    assert [{key: each[key] for key in deliveries[0]} for each in found["deliveries"]] == deliveries  # type: ignore[index]
    assert document["session"]["thread_id"] == THREAD
    assert page.count("<p>Word</p>") == 300
    assert "<h1" in page
    assert document["previous"] == "/messages/1"
    assert document["next"] is None
    assert f'href="/sessions/{THREAD}/thread?round=1#m{number}"' in page


def test_far_down_in_its_thread(scene: Scene) -> None:
    """The way back leads to the page of the thread that has it."""
    for each in range(120):
        scene.send(ANN, f"INFO: {each}")
    assert look(scene, 110)[0]["message"]["address"].endswith("?round=1&page=2#m110")


def test_blocks(scene: Scene) -> None:
    """What became of each, in its place."""
    number = scene.delta(ANN, added("One"), REFUSED)
    scene.compile()
    document, page = look(scene, number)
    states = [each["state"] for each in document["message"]["blocks"]]
    assert states == ["applied", "refused"]
    assert page.index("It is One") < page.index("INVALID_SECTION")
    assert "Corrected block:" in page


def test_answers_and_acks(scene: Scene) -> None:
    """What it answers, what answers it, what it settles."""
    body = "## Message ID\n1\n\n## Status\nReceived\n"
    ack = scene.send(ANN, "ACK: Why?", body, reply_to=1)
    document, page = look(scene, ack)
    assert document["message"]["settles"][0]["id"] == document["message"]["answers"]["id"] == 1
    assert "<dt>Acknowledges</dt>" in page
    document, page = look(scene, 1)
    assert [each["id"] for each in document["message"]["replies"]] == [ack]
    assert "required; all sent" in page


@pytest.mark.parametrize("thread", ["12", "a-conversation", "no ID / at all", "..", HOSTILE[0]])
def test_mail_of_no_session(thread: str) -> None:
    """It is a letter: no frame, no rounds, whatever its thread is called."""
    scene = Scene()
    number = scene.send(ANN, "Hello", "There **you** are", thread=thread, to=(OPERATOR, BEA))
    answer = scene.send(BEA, "ACK: Hello", "", thread=thread, reply_to=number)
    document, page = look(scene, number)
    assert document["session"] is None
    assert "<strong>you</strong>" in page
    assert 'class="session"' not in page
    assert look(scene, answer)[0]["message"]["answers"]["id"] == number
    assert FOREIGN.findall(page) == []


def test_copies_and_imports(scene: Scene) -> None:
    """Who only gets a copy is marked as such."""
    copied = Envelope(cc=(BEA,))
    number = scene.send(ANN, "INFO: x", "y", to=(OPERATOR, BEA), envelope=copied)
    _, page = look(scene, number)
    assert page.count('<span class="quiet">copy</span>') == 1


def test_without_read_marks() -> None:
    """Where the home cannot tell, the page says so."""
    scene = Scene(MemoryMailbox(lacks={Capability.READ_MARKS: "it keeps no such marks"}))
    number = scene.send(ANN, "INFO: x")
    assert "Read marks are not shown: it keeps no such marks" in look(scene, number)[1]


def test_enormous() -> None:
    """Plain text above a size; and cut where a browser would suffer, with the way to the rest."""
    scene = Scene()
    number = scene.send(ANN, "INFO: long", "# a\n" * 60_000)
    _, page = look(scene, number)
    assert "Shown as plain text: it has 240,000 characters." in page
    number = scene.send(ANN, "INFO: longer", "word " * 300_000)
    document, page = look(scene, number)
    assert document["message"]["body_is_cut"]
    assert f'The <a href="/messages/{number}/raw">raw text</a> is complete' in page
    assert raw(scene, number).text.endswith("word " * 300_000)


def test_unknown(scene: Scene) -> None:
    """A number that nobody has is refused, as a page and as a text."""
    for function in (thread.message_page, thread.raw_page):
        with pytest.raises(RequestError) as refused:
            scene.answer(function, {"message": "99"}, {})
        assert refused.value.diagnostic.id == "UNKNOWN_MESSAGE"


def test_hostile_messages(scene: Scene) -> None:
    """The page is ours, and the raw text is theirs, to the last byte."""
    for text in HOSTILE:
        subject = f"INFO: {' '.join(text.split())}"
        number = scene.send(ANN, subject, text)
        _, page = look(scene, number)
        assert FOREIGN.findall(page) == []
        assert unseen(page) == set()
        read = parse_message_file(raw(scene, number).text)
        assert read.message.body == text


def test_raw(scene: Scene) -> None:
    """A message file that can be sent again, as text, with a name."""
    number = scene.delta(ANN, added("One"))
    answer = raw(scene, number)
    assert (answer.media_type, answer.file_name) == ("text/plain", f"message-{number}.md")
    assert parse_message_file(answer.text).message == scene.mailbox.message(number).message


def test_raw_over_the_line(site: Show) -> None:
    """No browser takes it for anything but text."""
    reply = site.server.ask("GET", "/messages/1/raw")
    assert reply.headers["content-type"] == "text/plain; charset=utf-8"
    assert reply.headers["content-disposition"] == 'inline; filename="message-1.md"'
    assert reply.headers["x-content-type-options"] == "nosniff"


def test_in_a_browser(browser_page: Window) -> None:
    """From the thread to a message, and back to its place; what is folded opens."""
    page = browser_page.open(f"/sessions/{DEMO}/thread?round=1")
    page.locator("#m10").get_by_role("link", name="message 10").click()
    assert page.url.endswith("/messages/10")
    page.locator("main").get_by_role("link", name="Show in thread").click()
    assert page.url.endswith("?round=1#m10")
    page.locator("#m10-text > summary").click()
    block = page.locator("#m10-block-1")
    assert not block.locator("pre").is_visible()
    block.locator("summary").click()
    assert block.locator("pre").is_visible()


def test_a_subject_does_not_repeat_the_session() -> None:
    """Only the session's own name at the end is left out, and the whole is there to be read."""
    made = Scene()
    made.send(ANN, f"INFO: News ({THREAD})")
    made.send(ANN, "INFO: News (RS-20250101-another-one)")
    page = made.look(thread.page, {"thread": THREAD})[1]
    assert f'title="News ({THREAD})">News</span>' in page
    assert '<span class="says">News (RS-20250101-another-one)</span>' in page
