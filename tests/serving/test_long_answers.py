"""Answers have an end: long bodies are left out and said to be, and none is lost on the way."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from brenner.config import Project
from brenner.diagnostics.model import RequestError
from brenner.mail.agent_mail.mailbox import AgentMailMailbox
from brenner.mail.mailbox import NO_FILTER
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import InboxFilter, InboxPage, Profile, SearchPage, ThreadPage
from brenner.mail.search import Query
from brenner.mcp.agent_mail_format import ResponseSize, read_heads, summarise
from brenner.mcp.tool import Bindings
from brenner.protocol.messages import Message
from brenner.services.workspace import Workspace
from brenner.store_url import AgentMailAddress
from serving.calls import FOLDER, OPERATOR, Place
from serving.running import inside

ANN, THREAD = "BlueLake", "RS-20251230-long"
LENGTH = 3 * 1024 * 1024
COUNT = 7
MOST_AT_ONCE = 20


class Watched(MemoryMailbox):
    """Mail that notes how many messages are read at once."""

    def __init__(self) -> None:
        super().__init__()
        self.most = 0

    def _note(self, limit: int | None, found: int) -> None:
        self.most = max(self.most, found if limit is None else limit)

    def search(
        self, query: Query, *, reader: str | None = None, limit: int = 50, before: int | None = None
    ) -> SearchPage:
        self._note(limit, 0)
        return super().search(query, reader=reader, limit=limit, before=before)

    def inbox(
        self,
        name: str,
        wanted: InboxFilter = NO_FILTER,
        *,
        limit: int | None = None,
        before: int | None = None,
    ) -> InboxPage:
        page = super().inbox(name, wanted, limit=limit, before=before)
        self._note(limit, len(page.messages))
        return page

    def thread(
        self,
        thread_id: str,
        *,
        limit: int | None = None,
        before: int | None = None,
        after: int | None = None,
    ) -> ThreadPage:
        page = super().thread(thread_id, limit=limit, before=before, after=after)
        self._note(limit, len(page.messages))
        return page


def letters(mailbox: MemoryMailbox, count: int, length: int) -> list[str]:
    """So many messages of somebody to herself; their bodies."""
    mailbox.register(Profile(ANN))
    bodies = [f"word {number} ".ljust(length, "x") for number in range(count)]
    for number, body in enumerate(bodies):
        mailbox.send(Message(THREAD, ANN, (ANN,), f"Long {number}", body))
    return bodies


@pytest.fixture
def here() -> Iterator[Place]:
    """A few long messages."""
    mailbox = Watched()
    mailbox.register(Profile(OPERATOR, task="operator"))
    letters(mailbox, COUNT, LENGTH)
    workspace = Workspace(mailbox, Project(FOLDER, operator=OPERATOR), OPERATOR)
    yield Place(workspace, Bindings())
    assert mailbox.most <= MOST_AT_ONCE


def asked(here: Place, how: str) -> list[Mapping[str, Any]]:
    """The messages of an answer, newest first."""
    value: Any
    if how == "fetch_inbox":
        value = here.ask(how, agent_name=ANN, limit=1_000_000, include_bodies=True).value
        return list(value)
    if how == "search_messages":
        value = here.ask(how, query="word", limit=1_000_000).value
        return list(value["result"])
    value = here.read(f"{how}?include_bodies=true&limit=1000000")
    return list(value["messages"])


HOW = ("fetch_inbox", "search_messages", f"inbox/{ANN}", f"outbox/{ANN}")


@pytest.mark.parametrize("how", HOW)
def test_bodies_beyond_the_room(here: Place, how: str) -> None:
    """The newest have theirs; the others are listed, and say where it is."""
    messages = asked(here, how)
    assert ["body_md" in each for each in messages] == [True] * 2 + [False] * (COUNT - 2)
    assert [each["subject"] for each in messages] == [f"Long {n}" for n in reversed(range(COUNT))]
    for each in messages[2:]:
        address = each["body_left_out"].partition("resource://")[2].partition(",")[0]
        found: Any = here.read(address)
        assert (found["id"], len(found["body_md"])) == (each["id"], LENGTH)


def test_thread(here: Place) -> None:
    """It is read from its end, and shown from its beginning."""
    document: Any = here.read(f"thread/{THREAD}?include_bodies=true")
    messages = document["messages"]
    assert all(a["id"] < b["id"] for a, b in pairwise(messages))
    assert ["body_left_out" in each for each in messages] == [True] * (COUNT - 2) + [False] * 2


def test_outbox_goes_on(here: Place) -> None:
    """Who asks again from where the bodies ended gets them all."""
    found, before = [], ""
    while True:
        document: Any = here.read(f"outbox/{ANN}?include_bodies=true{before}")
        found += [each["id"] for each in document["messages"] if "body_md" in each]
        if "bodies_before" not in document:
            break
        before = f"&before={document['bodies_before']}"
    assert found == sorted(found, reverse=True)
    assert len(found) == COUNT


@pytest.mark.parametrize(("count", "length"), [(COUNT, LENGTH), (120, 100_000)])
def test_adapter_gets_all(tmp_path: Path, count: int, length: int) -> None:
    """Our own adapter reads the whole mail, however long it is, in few requests."""
    mailbox = MemoryMailbox()
    bodies = letters(mailbox, count, length)
    with inside(mailbox, Project(tmp_path, operator=OPERATOR)) as server:
        address = AgentMailAddress(server.url, str(tmp_path))
        with AgentMailMailbox.open(address, None) as view:
            assert [each.message.body for each in view.arrivals(0)] == bodies


def test_no_room_for_the_list() -> None:
    """Then it is refused, and says how to ask for less."""
    room = ResponseSize(listed=10_000)
    shapes: list[dict[str, object]] = [{"id": each, "subject": "x" * 1_000} for each in range(100)]
    with pytest.raises(RequestError) as caught:
        list(map(room.fitted, shapes))
    assert caught.value.diagnostic.id == "ANSWER_TOO_LARGE"


def test_summary_of_beginnings(here: Place) -> None:
    """A summary reads no more than the beginning of each message, and says so."""
    stored = list(reversed(here.mailbox.thread(THREAD).messages))
    read, is_whole = read_heads(stored)
    assert max(len(each.message.body) for each in read) == 10_000
    assert [each.id for each in read] == [each.id for each in reversed(stored)]
    summary = summarise(read, is_whole=is_whole)
    assert summary["total_messages"] == COUNT
    assert "beginning" in str(summary["notice"])
    assert sum(len(each.message.body) for each in read_heads(stored * 30)[0]) == 1_000_000
    short = [each._replace(message=each.message._replace(body="- a")) for each in stored]
    assert "notice" not in summarise(short, is_whole=read_heads(short)[1])
    here.mailbox.most = 0  # type: ignore[attr-defined]
    value: Any = here.ask("summarize_thread", thread_id=THREAD).value
    assert value["summary"] == summary
