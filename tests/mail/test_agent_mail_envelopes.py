"""What stands on a message, on Agent Mail servers that tell more of it, less, or something else."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from brenner.diagnostics.model import AlteredError
from brenner.mail.agent_mail.mailbox import AgentMailMailbox
from brenner.mail.mailbox import Mailbox
from brenner.protocol.messages import Envelope, Importance, Trust
from mail import plain_agent_mail
from mail.agent_mail_scene import Project
from mail.odd_server import tools
from mail.plain_agent_mail import KEY, PlainMail
from mail.sample_mail import ANN, BEA, CAT, introduce, make_message, post

URGENT = Envelope(Importance.URGENT, (CAT,), Trust.VERIFIED)
UNTOLD = Envelope(trust=None)
STRANGE = Envelope(Importance.HIGH, trust=Trust.UNVERIFIED)


@pytest.fixture
def server() -> Iterator[PlainMail]:
    """A server that knows neither importance nor copies."""
    with PlainMail() as server:
        yield server


@pytest.fixture
def mailbox(server: PlainMail) -> Iterator[AgentMailMailbox]:
    """A mailbox of it."""
    with server.mailbox() as mailbox:
        introduce(mailbox)
        yield mailbox


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """A project on a real server."""
    with Project(tmp_path) as project:
        yield project


def test_who_gets_a_copy_gets_it(server: PlainMail, mailbox: Mailbox) -> None:
    """Where the server has no place for copies they are recipients like all others."""
    sent = mailbox.send(make_message(), envelope=URGENT).stored
    assert server.sent[0]["to"] == [BEA, CAT]
    assert not {"cc", "importance"} & server.sent[0].keys()
    assert (sent.message, sent.envelope) == (make_message(), UNTOLD)
    assert mailbox.send(make_message(), key="k", envelope=URGENT).stored == sent


def test_an_importance_that_was_not_kept_is_said(
    mailbox: Mailbox, server: PlainMail, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a server that takes it, and has forgotten it when it is asked."""
    known = plain_agent_mail._SEND  # noqa: SLF001
    offered = tools(
        send_message=[*known, "importance"],
        register_agent=["project_key", "program", "model", "name", "task_description"],
        ensure_project=["human_key"],
    )
    monkeypatch.setattr(plain_agent_mail, "_OFFERED", offered)
    with server.mailbox() as other, pytest.raises(AlteredError) as caught:
        other.send(make_message(), envelope=Envelope(Importance.HIGH))
    assert "the importance is `normal`" in caught.value.diagnostic.message
    assert mailbox.position() == 1


@pytest.mark.parametrize(
    ("told", "envelope"),
    [
        ({}, UNTOLD),
        ({"trust": "verified"}, Envelope(trust=Trust.VERIFIED)),
        (
            {"trust": "unverified", "importance": "high"},
            Envelope(Importance.HIGH, (), Trust("unverified")),
        ),
        ({"trust": "surely", "importance": "hugely"}, UNTOLD),
        ({"trust": None, "importance": 7}, UNTOLD),
        ({"to": [BEA], "cc": [CAT]}, Envelope(cc=(CAT,), trust=None)),
    ],
)
def test_as_it_is_told(
    server: PlainMail, mailbox: Mailbox, told: dict[str, object], envelope: Envelope
) -> None:
    """Whoever else stores it; words that we do not have say nothing to us."""
    post(mailbox, make_message())
    server.messages[0].update(told)
    with server.mailbox() as other:
        found = other.message(1)
    assert (found.message, found.envelope) == (make_message(), envelope)


def test_where_only_inboxes_tell(server: PlainMail, mailbox: Mailbox) -> None:
    """Each knows of herself whether it is a copy; the collector's does not count."""
    server.collect()
    post(mailbox, make_message())
    server.messages[0]["kind"] = "cc"
    del server.agents[KEY][BEA]
    server.instead["outbox"] = lambda: {"messages": []}
    with server.mailbox() as other:
        found = other.message(1)
    assert found.message.recipients == found.envelope.cc == (CAT,)


def test_no_thread_is_left_out(server: PlainMail, mailbox: Mailbox) -> None:
    """The server names it, and we do as it does; an empty name is none."""
    sent = post(mailbox, make_message(thread=""))
    assert "thread_id" not in server.sent[0]
    assert sent.message.thread_id == "1"
    server.messages[0]["thread_id"] = ""
    with server.mailbox() as other:
        assert other.message(1) == sent


def test_what_was_lost_is_found(server: PlainMail, mailbox: Mailbox) -> None:
    """A message without a thread whose answer got lost is looked for, and found once."""
    server.instead["send_message"] = lambda: {"deliveries": "?"}
    sent = post(mailbox, make_message(thread=""))
    assert (sent.id, sent.message.thread_id) == (1, "1")
    assert len(server.messages) == 1


def test_a_server_of_our_own_need_not_check_again(server: PlainMail, mailbox: Mailbox) -> None:
    """A mailbox never looks at content; so every request says."""
    post(mailbox, make_message())
    assert {each.headers["brenner-checked"] for each in server.asked} == {"true"}


def test_mail_of_other_programs(project: Project) -> None:
    """On a real server the one that gets a copy of everything is nobody; nor is it told who is
    who.
    """
    number = project.sent_by_hand(to=[BEA], cc=[CAT], subject="x", body_md="y", importance="high")
    odd = project.sent_by_hand(to=[BEA], subject="x", body_md="z", importance="hugely")
    for view in (project.mailbox, project.again()):
        assert view.message(number).envelope == Envelope(Importance.HIGH, (CAT,), None)
        assert view.message(odd).envelope == UNTOLD
        assert view.message(number).message.sender == ANN
