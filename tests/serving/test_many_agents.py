"""Many agents: who asks for one does not read them all, and nobody registers without end."""

from pathlib import Path
from typing import Any

import pytest

from brenner.diagnostics.model import RequestError
from brenner.limits import MOST_AGENTS
from brenner.mail.model import Profile, ReservationRequest
from brenner.mail.search import Query
from brenner.mail.sql import rows
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.mcp import agent_mail_format as directory
from brenner.mcp.tools_agents import register
from brenner.protocol.messages import Message
from serving.calls import Place, place, refusal_of, value_of


def test_one_of_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name is looked up, whatever is asked of it; all of them are read only for a suggestion."""
    reads = []
    names = rows.agent_numbers

    def counted(database: Any) -> dict[str, int]:
        reads.append(1)
        return names(database)

    with SqliteMailbox.create(tmp_path / "mail.sqlite3") as mailbox:
        for name in ("BlueLake", "GreenDog"):
            mailbox.register(Profile(name))
        mailbox.send(Message("t", "BlueLake", ("GreenDog",), "Hello", "there"))
        monkeypatch.setattr(rows, "agent_numbers", counted)
        assert mailbox.agent("BlueLake").name == "BlueLake"
        assert mailbox.digest("BlueLake") is None
        assert mailbox.claim("BlueLake", "0" * 64)
        assert mailbox.unread("GreenDog") == 1
        assert len(mailbox.inbox("GreenDog").messages) == 1
        assert len(mailbox.search(Query(senders=("BlueLake",))).messages) == 1
        assert mailbox.reserve("BlueLake", ReservationRequest(("a",), 60)).granted
        assert [each["name"] for each in directory.all_agents(mailbox, with_unread=True)]
        assert not reads
        for wrong in ("BlueLakes", "\ud800", "\0", ""):
            with pytest.raises(RequestError, match="NO_SUCH_AGENT"):
                mailbox.agent(wrong)
        assert reads


@pytest.fixture
def full() -> Place:
    """As many agents as there may be, the operator besides."""
    here = place()
    for number in range(MOST_AGENTS):
        here.mailbox.register(Profile(f"Agent{number}"))
    return here


def test_no_more_of_them(full: Place) -> None:
    """The next one is turned away, with a name and without; who is there goes on."""
    for tool, more in (
        ("register_agent", {"name": "BlueLake"}),
        ("register_agent", {}),
        ("create_agent_identity", {}),
    ):
        answer = full.ask(tool, program="codex", model="gpt", **more)
        assert refusal_of(answer) == "TOO_MANY_AGENTS"
    assert len(full.mailbox.agents()) == MOST_AGENTS + 1
    again = full.ask("register_agent", name="Agent7", program="", model="")
    assert value_of(again)["name"] == "Agent7"
    assert register(full.call(), Profile("Agent8")).agent.name == "Agent8"
