"""The search: the mailbox's grammar on a page, what was found marked, faults beside the field."""

import re
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given

from brenner.config import OPERATOR, Project
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Profile
from brenner.mail.search import Query, excerpt, highlight, parse_query, tokenize
from brenner.protocol.messages import Message
from brenner.server.app import site_of
from brenner.server.settings import ServeSettings
from brenner.services.workspace import Workspace
from brenner.web.rendering import render_html
from brenner.web.request import Page, RequestContext
from brenner.web.views import search
from strategies import any_text

ANN, THREAD = "BlueLake", "RS-20251230-cell-fate"
NOW = datetime.now(UTC)


def new_workspace(*subjects_and_bodies: tuple[str, str]) -> Workspace:
    """A project with these messages, from an agent to the operator."""
    mailbox = MemoryMailbox()
    for name in (OPERATOR, ANN):
        mailbox.register(Profile(name))
    for subject, body in subjects_and_bodies:
        mailbox.send(Message(THREAD, ANN, (OPERATOR,), subject, body))
    return Workspace(mailbox, Project(Path("/group/cell-fate")), OPERATOR)


def look(workspace: Workspace, **asked: str) -> tuple[dict[str, Any], str, int]:
    """The document of the page, the page, and its status."""
    visit = RequestContext(site_of(workspace, ServeSettings()), "/search", NOW, query=asked)
    page = search.search_page(visit)
    assert isinstance(page, Page)
    return dict(page.document), render_html(page, visit), page.status


def test_found() -> None:
    """The latest first, with type, thread, sender, and the words marked where they stand."""
    workspace = new_workspace(
        ("INFO: Nothing", "No word of it.\n"),
        ("DELTA[opus]: A Gradient", "The état of it.\n"),
        ("Hello", "Far away:\nthe steep gradient <script>\n"),
    )
    document, page, status = look(workspace, q="gradient")
    assert status == 200
    assert [each["id"] for each in document["messages"]] == [3, 2]
    assert "body" not in document["messages"][0]
    assert "the steep <mark>gradient</mark> &lt;script&gt;" in page
    assert "[opus]: A <mark>Gradient</mark>" in page
    assert page.index(">DELTA<") < page.index("[opus]: A")
    for word in (ANN, THREAD, 'href="/messages/3"', f'href="/sessions/{THREAD}"'):
        assert word in page
    assert "DELTADELTA" not in page


def test_pages() -> None:
    """`next` leads through all of them, each once, to an end."""
    workspace = new_workspace(*((f"INFO: {number}", "gradient\n") for number in range(120)))
    seen: list[int] = []
    asked = {"q": "gradient type:INFO"}
    for _ in range(3):
        document, page, _ = look(workspace, **asked)
        seen += [each["id"] for each in document["messages"]]
        if document["next"]:
            assert unescape(page).count(f'href="{document["next"]}"') == 1
            asked = {name: values[0] for name, values in _query(document["next"]).items()}
    assert document["next"] is None
    assert not document["has_more"]
    assert seen == list(range(120, 0, -1))


def _query(link: str) -> dict[str, list[str]]:
    return parse_qs(urlsplit(link).query, strict_parsing=True)


def test_faults_beside_the_field() -> None:
    """All of them, with code and fix; the query stays in the field."""
    document, page, status = look(new_workspace(), q='frm:BlueLake "a')
    assert status == 400
    assert not document["valid"]
    assert [each["id"] for each in document["violations"]] == ["UNKNOWN_FILTER", "UNCLOSED_QUOTE"]
    assert 'value="frm:BlueLake &#34;a"' in page
    field = re.search(r"<input id=\"query\"[^>]*>", page)
    assert field
    assert 'aria-invalid="true"' in field[0]
    assert "query-faults" in field[0]
    assert "<code>from:</code>" in page


def test_before_a_message_that_is_not_there() -> None:
    """What the mailbox refuses is told there, too."""
    document, _, status = look(
        new_workspace(("INFO: One", "gradient\n")), q="gradient", before="77"
    )
    assert status == 400
    assert [each["id"] for each in document["violations"]] == ["UNKNOWN_MESSAGE"]


def test_the_inbox_is_the_operators() -> None:
    """What asks about an inbox asks about hers, and the page says so."""
    workspace = new_workspace(("QUESTION: Which?", "gradient\n"), ("INFO: One", "gradient\n"))
    workspace.mailbox.mark(OPERATOR, [2], is_read=True)
    document, page, _ = look(workspace, q="is:unread")
    assert [each["id"] for each in document["messages"]] == [1]
    assert document["asks_operator"]
    assert f"apply to the inbox of {OPERATOR}" in page
    assert [each["id"] for each in look(workspace, q="needs:ack")[0]["messages"]] == [1]
    assert not look(workspace, q="gradient")[0]["asks_operator"]


def test_an_operator_whom_nobody_knows_yet() -> None:
    """She has no mail; words are found all the same."""
    mailbox = MemoryMailbox()
    for name in (ANN, "RedSky"):
        mailbox.register(Profile(name))
    mailbox.send(Message(THREAD, ANN, ("RedSky",), "INFO: One", "gradient\n"))
    workspace = Workspace(mailbox, Project(Path("/group/cell-fate")), OPERATOR)
    document, page, status = look(workspace, q="is:unread gradient")
    assert (status, document["messages"]) == (200, [])
    assert f"No messages found in the inbox of {OPERATOR}" in page
    assert len(look(workspace, q="gradient")[0]["messages"]) == 1


@pytest.mark.parametrize("asked", [{}, {"q": ""}, {"q": "  "}])
def test_nothing_is_asked(asked: dict[str, str]) -> None:
    """That is no fault: the grammar is explained."""
    document, page, status = look(new_workspace(), **asked)
    assert (status, document["violations"], document["messages"]) == (200, [], [])
    assert "Search syntax" in page


def test_examples_are_right() -> None:
    """Whoever copies one gets an answer."""
    _, page, _ = look(new_workspace())
    table = page.partition('class="grammar"')[2]
    examples = [unescape(each) for each in re.findall(r"<td><code>(.*?)</code>", table)]
    assert len(examples) > 8
    assert [each for each in examples if not isinstance(parse_query(each), Query)] == []


def test_a_type_that_is_not_written_first() -> None:
    """Then type and subject stand apart; the subject is whole."""
    document, page, _ = look(
        new_workspace(("Hello", "gradient\n"), ("", "gradient\n")), q="gradient"
    )
    assert [each["type"] for each in document["messages"]] == [None, None]
    assert "(no subject)" in page
    assert ">Hello</a>" in page


@given(any_text, any_text)
def test_marks_change_nothing(line: str, words: str) -> None:
    """A marked line says what it said; what is marked was looked for."""
    phrase = tuple(tokenize(words))
    parts = highlight(line, (phrase,))
    assert "".join(text for text, _ in parts) == line
    for text, is_match in parts:
        assert not is_match or tokenize(text)[: len(phrase)] or phrase


def test_an_excerpt_is_bounded() -> None:
    """However long the body is."""
    body = "word " * 30_000
    parts = excerpt(body, (("word",),))
    assert len("".join(text for text, _ in parts)) < 200
