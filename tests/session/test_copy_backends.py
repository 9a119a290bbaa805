"""The demo's session, copied between homes of every kind: nothing is lost, every version stays."""

import shlex
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from brenner.config import Project
from brenner.diagnostics.model import RequestError
from brenner.mail.model import Profile
from brenner.mail.open import store_of as mail_store
from brenner.protocol.messages import Envelope, Importance, Message, Trust
from brenner.services.copy_mail import copy_mail
from brenner.services.demo import THREAD
from mail_shell import store_of
from program import brenner
from servers import agent_mail
from session.copy_backends import (
    AGENT_MAIL,
    KEEPING,
    KINDS,
    POSTGRESQL,
    SQLITE,
    contents,
    copied,
    home,
    mail_of,
    records,
    texts,
)

MESSAGES = 19
UNVERIFIED = Envelope(trust=Trust.UNVERIFIED)
PAIRS = [(one, other) for one in KINDS for other in KINDS if one != other or one in KEEPING]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo, played once."""
    outside = tmp_path_factory.mktemp("copied")
    assert brenner("demo", "demo", cwd=outside).code == 0
    return outside / "demo"


class Homes:
    """Homes of the project of one test, the first of which holds the demo's mail."""

    def __init__(self, demo: Path, folder: Path, stack: ExitStack) -> None:
        self.demo = demo
        self.folder = folder
        self._stack = stack

    def empty(self, kind: str, name: str = "target") -> Project:
        """A home in which nothing is."""
        return self._stack.enter_context(home(kind, self.folder, name))

    def played(self, kind: str) -> Project:
        """A home of that kind that holds the session."""
        project = self.empty(kind, "source")
        if kind == SQLITE:
            shutil.copy(store_of(self.demo), self.folder / "source.sqlite3")
        else:
            copied(self.played(SQLITE), project)
        return project


@pytest.fixture
def homes(demo: Path, tmp_path: Path) -> Iterator[Homes]:
    """Homes that are given back in the end."""
    with ExitStack() as stack:
        yield Homes(demo, tmp_path, stack)


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_from_one_home_to_another(homes: Homes, one: str, other: str) -> None:
    """Verified before and after; every message and every artifact is what it was."""
    source, target = homes.played(one), homes.empty(other)
    before, said = contents(source), texts(source, THREAD)
    done = copied(source, target)
    assert (done.restored.added, done.restored.skipped) == (MESSAGES, 0)
    assert done.of_source == done.of_target
    assert done.of_source == {"messages": MESSAGES, "agents": 4, "threads": 1}
    assert [(fact.number, fact.difference) for fact in done.versions] == [(1, ""), (2, "")]
    assert contents(target) == before
    assert texts(target, THREAD) == said
    assert contents(source) == before


@pytest.mark.parametrize(("one", "other"), [(one, other) for one in KEEPING for other in KEEPING])
def test_as_they_were(homes: Homes, one: str, other: str) -> None:
    """Ids, times, links and marks stay where a home can keep them."""
    source, target = homes.played(one), homes.empty(other)
    with mail_of(source) as mailbox:
        mailbox.mark("BlueLake", [1], is_read=True)
        agents, owed = mailbox.agents(), mailbox.debts()
    done = copied(source, target)
    assert (done.is_anew, done.restored.renumbered, dict(done.lost)) == (False, (), {})
    imported = [
        record._replace(stored=record.stored._replace(is_local=False, envelope=UNVERIFIED))
        for record in records(source)
    ]
    assert any(record.read_at for record in imported)
    assert any(record.stored.acknowledges for record in imported)
    assert records(target) == imported
    with mail_of(target) as mailbox:
        assert mailbox.agents() == agents
        assert [debt.first.id for debt in mailbox.debts()] == [debt.first.id for debt in owed]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_envelopes_travel(homes: Homes, one: str, other: str) -> None:
    """How urgent it is and for whom it is a copy; who vouches for its sender does not."""
    source, target = homes.empty(one, "source"), homes.empty(other)
    message = Message("T-1", "BlueLake", ("GreenDog", "RedCreek"), "INFO: x", "y")
    with mail_store(source).create() as mailbox:
        for name in ("BlueLake", "GreenDog", "RedCreek"):
            mailbox.register(Profile(name))
        mailbox.send(message, envelope=Envelope(Importance.HIGH, ("RedCreek",), Trust.VERIFIED))
        mailbox.send(message._replace(thread_id="", body="z"))
    done = copied(source, target)
    assert (done.ok, done.restored.added) == (True, 2)
    urgent, plain = (record.stored.envelope for record in records(target))
    assert urgent[:2] == (Importance.HIGH, ("RedCreek",))
    assert plain[:2] == (Importance.NORMAL, ())
    assert urgent.trust is plain.trust is (None if other == AGENT_MAIL else Trust.UNVERIFIED)
    assert contents(target) == contents(source)
    assert copied(source, target).restored.added == 0


@pytest.mark.parametrize("kind", KINDS)
def test_twice(homes: Homes, kind: str) -> None:
    """The second time there is nothing to do; the third time only what has come since."""
    source, target = homes.played(SQLITE), homes.empty(kind)
    copied(source, target)
    before = records(target)
    again = copied(source, target)
    assert (again.restored.added, again.restored.skipped) == (0, MESSAGES)
    assert records(target) == before
    with mail_of(source) as mailbox:
        first = mailbox.message(1)
        mailbox.send(first.message)  # the same once more: it is another message
        mailbox.send(first.message._replace(subject="INFO: News"))
    third = copied(source, target)
    assert (third.restored.added, third.restored.skipped) == (2, MESSAGES)
    assert contents(target) == contents(source)
    assert len(records(target)) == MESSAGES + 2


@pytest.mark.parametrize("kind", KINDS)
def test_back_again(homes: Homes, kind: str) -> None:
    """What comes back to where it was is known there, under whatever id it comes."""
    source, target = homes.played(SQLITE), homes.empty(kind)
    copied(source, target)
    with mail_of(target) as mailbox:
        message = mailbox.arrivals(0)[-1].message
        answer = mailbox.send(message._replace(subject="INFO: Written there")).stored
    back = copied(target, source)
    assert (back.restored.added, back.restored.skipped) == (1, MESSAGES)
    assert contents(source) == contents(target)
    with mail_of(source) as mailbox:
        landed = mailbox.arrivals(MESSAGES)
    assert [each.content_hash for each in landed] == [answer.content_hash]


@pytest.mark.thorough
def test_a_chain(homes: Homes) -> None:
    """From home to home to home: the last one has what the first one had."""
    first = homes.played(SQLITE)
    second, third = homes.empty(POSTGRESQL, "second"), homes.empty(AGENT_MAIL, "third")
    last = homes.empty(SQLITE, "last")
    for source, target in ((first, second), (second, third), (third, last)):
        assert copied(source, target).restored.added == MESSAGES
    assert contents(last) == contents(first)
    assert texts(last, THREAD) == texts(first, THREAD)
    assert copied(first, last).restored.added == 0


@pytest.mark.thorough
def test_ids_are_new_on_a_server(homes: Homes) -> None:
    """Which is said, and so are the ACKs that now name strangers."""
    shift(3)
    source, target = homes.played(SQLITE), homes.empty(AGENT_MAIL)
    done = copied(source, target)
    assert done.is_anew
    old, new = zip(*done.restored.renumbered, strict=True)
    assert list(old) == list(range(1, MESSAGES + 1))
    assert sorted(new) == list(new)
    assert not set(new) & set(range(1, 4))
    assert {str(ability) for ability in done.lost} >= {"read marks", "links between messages"}
    (warning,) = done.diagnostics
    assert (warning.id, warning.severity) == ("COPIED_DEBTS_DIFFER", "warning")
    with mail_of(target) as mailbox:
        assert f"{len(mailbox.debts())} ACKs that were settled look open" in warning.message
    option = f"--store {shlex.quote(target.store or '')}"
    assert f"`brenner mail pending {option}`" in warning.fix
    assert f"`brenner mail ack ID --as NAME {option}`" in warning.fix
    again = copied(source, target)
    assert (again.restored.added, again.diagnostics) == (0, (warning,))


def shift(messages: int) -> None:
    """Let the server give ids to somebody else first."""
    server = agent_mail.running()
    server.tool("ensure_project", human_key="/shift")
    server.tool("register_agent", project_key="/shift", program="x", model="y", name="CalmFern")
    for _ in range(messages):
        server.tool(
            "send_message",
            project_key="/shift",
            sender_name="CalmFern",
            to=["CalmFern"],
            subject="x",
            body_md="x",
        )


@pytest.mark.thorough
def test_names_of_another_project_are_not_taken(homes: Homes) -> None:
    """Refused before anything is sent: the others would lose their mail."""
    source = homes.played(AGENT_MAIL)
    before = records(source)
    target = homes.empty(AGENT_MAIL)
    with pytest.raises(RequestError) as caught:
        copy_mail(source, target)
    assert caught.value.diagnostic.id == "NAME_ELSEWHERE"
    assert "--update --store STORE" in caught.value.diagnostic.fix
    assert records(source) == before
    assert records(target) == []
