"""The mailbox over a real Agent Mail server: what it works out, and what others do there."""

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from brenner.mail.agent_mail import mirror as view
from brenner.mail.agent_mail.client import path_segment
from brenner.mail.agent_mail.mailbox import AgentMailMailbox
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Delivery, InboxFilter, Profile, RestoreResult
from brenner.mail.search import Query
from brenner.protocol.messages import Message
from brenner.store_url import AgentMailAddress
from mail.agent_mail_scene import Project
from mail.other_store import history, restore
from mail.sample_mail import (
    ANN,
    BEA,
    BOSS,
    CAT,
    NAMES,
    QUESTION,
    THREAD,
    ack,
    error_code,
    listed,
    make_message,
    owed,
    post,
)
from servers import agent_mail

pytestmark = pytest.mark.thorough

ONE = (BEA,)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """A project with the usual agents."""
    with Project(tmp_path) as project:
        yield project


@pytest.fixture
def mailbox(project: Project) -> Mailbox:
    """Its mailbox."""
    return project.mailbox


def test_mail_that_the_collector_never_got(project: Project) -> None:
    """Somebody removed it, and the server made a new one: it knows nothing of earlier mail."""
    early = post(project.mailbox, make_message("early"))
    collector = f"global-inbox-{_slug(project)}"
    agent_mail.running().tool("delete_agent", project_key=project.key, name=collector)
    agent_mail.running().tool("ensure_project", human_key=project.key)
    late = post(project.mailbox, make_message("late"))
    assert project.again().arrivals(0) == (early, late)


# --- What the server does not tell ----------------------------------------------------------------


def test_recipients_are_read_from_outboxes(project: Project) -> None:
    """By who was not there when it was sent, too; the server's own collector is nobody."""
    sent = post(project.mailbox, make_message(to=(CAT, ANN, BEA)))
    assert sent.message.recipients == (ANN, BEA, CAT)
    assert project.again().message(sent.id) == sent
    assert [agent.name for agent in project.again().agents()] == sorted(NAMES)


def test_the_mail_of_other_programs(project: Project) -> None:
    """No thread, no prefix, copies seen and unseen: it is mail like any other."""
    number = project.sent_by_hand(
        to=[BEA], cc=[CAT], bcc=[BOSS], subject="  re: lünch? ", body_md="\r\n", thread_id=None
    )
    expected = Message(str(number), ANN, (BEA, BOSS, CAT), "  re: lünch? ", "\r\n")
    assert project.mailbox.message(number).message == Message(
        str(number), ANN, tuple(sorted(expected.recipients)), *expected[3:]
    )
    for name in (BEA, CAT, BOSS):
        assert listed(project.mailbox.inbox(name)) == [number]
    assert project.mailbox.thread(str(number)).position == 1


def test_a_thread_whose_id_is_a_number(project: Project) -> None:
    """Holds what was sent into it, not the message that has this number."""
    first = post(project.mailbox, make_message())
    second = post(project.mailbox, make_message(thread=str(first.id)))
    assert project.mailbox.thread(str(first.id)).messages == (second,)


@pytest.mark.parametrize(
    ("subject", "wanted", "stated"),
    [
        ("INFO: x", False, None),
        ("INFO: x", True, True),
        (QUESTION, True, None),
        (QUESTION, False, False),
        ("hello", True, True),
    ],
)
def test_an_ack_is_wanted_as_the_server_says(
    project: Project, subject: str, wanted: bool, stated: bool | None
) -> None:
    """What is the type's default counts as left to the type."""
    number = project.sent_by_hand(to=[BEA], subject=subject, ack_required=wanted)
    assert project.mailbox.message(number).message.ack_required is stated
    assert [debt.debtor for debt in project.mailbox.debts()] == [BEA] * wanted


def test_acknowledged_by_another_program(project: Project) -> None:
    """Who has acknowledged what follows from the messages of the thread."""
    asked = post(project.mailbox, make_message(subject=QUESTION, to=(BEA, CAT)))
    told = ack(str(asked.id))
    project.sent_by_hand(sender_name=BEA, to=[ANN], subject=told.subject, body_md=told.body)
    for each in (project.mailbox, project.again()):
        assert owed(each.debts()) == [(CAT, asked.id, asked.id, 1)]


def test_the_server_hears_of_an_ack(project: Project) -> None:
    """For programs that ask nobody but the server."""
    asked = post(project.mailbox, make_message(subject=QUESTION, to=ONE))
    query = {"project": project.key}
    assert project.resource(f"views/ack-required/{BEA}", query)["count"] == 1
    post(project.mailbox, ack(str(asked.id)))
    assert project.resource(f"views/ack-required/{BEA}", query)["count"] == 0


def test_who_has_read_what_is_not_known(project: Project) -> None:
    """One can say that one has read something; nobody can ask, or take it back."""
    mailbox = project.mailbox
    sent = [post(mailbox, make_message(str(number))).id for number in range(3)]
    assert project.unread(BEA) == 3
    assert mailbox.mark(BEA, sent[:2], is_read=True) == 2
    assert project.unread(BEA) == 1
    assert [each.is_read for each in mailbox.inbox(BEA).messages] == [None] * 3
    assert mailbox.deliveries(sent[0])[0] == Delivery(BEA, None, False, None)
    assert error_code(mailbox.mark, BEA, sent[:1], is_read=False) == "HOME_CANNOT"
    assert error_code(mailbox.unread, BEA) == "HOME_CANNOT"
    assert error_code(mailbox.inbox, BEA, InboxFilter(unread=True)) == "HOME_CANNOT"
    assert error_code(mailbox.search, Query(is_unread=True), reader=BEA) == "HOME_CANNOT"
    assert project.unread(BEA) == 1


def test_times_are_the_servers(mailbox: Mailbox) -> None:
    """It runs on this machine here."""
    before = datetime.now(UTC)
    stored = post(mailbox, make_message())
    assert before <= stored.at <= datetime.now(UTC)
    assert mailbox.agent(ANN).registered_at < stored.at


# --- Names that belong to the whole server --------------------------------------------------------


@pytest.mark.parametrize("lost", [(ANN,), (BEA,), (ANN, BEA)], ids=["sender", "recipient", "both"])
def test_who_is_taken_over_loses_no_mail(project: Project, lost: tuple[str, ...]) -> None:
    """The mail of this project stays what it was, for who looks now and for who looked before."""
    asked = post(project.mailbox, make_message(subject=QUESTION, to=(BEA, CAT)))
    post(project.mailbox, make_message("", subject="", to=(CAT, BEA)))
    project.lose(*lost)
    for each in (project.mailbox, project.again()):
        assert each.message(asked.id) == asked
        assert len(listed(each.inbox(CAT))) == 2
        assert asked.id in listed(each.inbox(BEA))
        assert [debt.debtor for debt in each.debts()] == [BEA, CAT]
        assert not {*lost} & {agent.name for agent in each.agents()}


def test_who_is_taken_over_cannot_write_here(project: Project) -> None:
    """What she sends now belongs to the other project, and so would what is sent to her."""
    project.lose(ANN)
    assert error_code(project.mailbox.send, make_message()) == "NAME_ELSEWHERE"
    assert error_code(project.mailbox.agent, ANN) == "NAME_ELSEWHERE"
    assert error_code(project.again().inbox, ANN) == "NAME_ELSEWHERE"
    message = make_message(sender=BEA, to=(ANN,))
    assert error_code(project.mailbox.send, message) == "UNKNOWN_RECIPIENT"
    project.sent_by_hand(to=[BEA])
    assert project.mailbox.position() == 0
    project.regain(ANN)
    assert post(project.mailbox, make_message()).message == make_message()


def test_a_name_is_not_taken_from_another_project(project: Project) -> None:
    """Unless it is said that it is the same agent; marks and case do not make another one."""
    other = project.next_door()
    for name in (ANN, ANN.lower(), "Blue_Lake"):
        assert error_code(other.register, Profile(name)) == "NAME_ELSEWHERE"
    assert [agent.name for agent in other.agents()] == []
    assert ANN in {agent.name for agent in project.mailbox.agents()}
    other.register(Profile(ANN), update=True)
    assert ANN not in {agent.name for agent in project.mailbox.agents()}


def test_a_name_that_comes_back_altered(mailbox: Mailbox) -> None:
    """The server drops what is neither a letter nor a digit."""
    assert error_code(mailbox.register, Profile("Quiet_Fox-7")) == "NAME_ALTERED"


def test_who_says_nothing_of_herself(project: Project) -> None:
    """The server wants a program and a model, and gets one; here it stays unsaid."""
    agent = project.mailbox.register(Profile("CalmRiver"))[0]
    assert agent[:4] == ("CalmRiver", "", "", "")
    assert project.again().agent("CalmRiver") == agent
    again, before = project.mailbox.register(Profile("CalmRiver", "codex-cli", "gpt", "tests"))
    assert again[1:4] == ("codex-cli", "gpt", "tests")
    assert before == agent


def test_who_was_only_written_to_has_said_nothing(project: Project) -> None:
    """The server makes agents of unknown recipients, with the sender's program and model."""
    project.sent_by_hand(to=["CalmRiver"])
    assert project.mailbox.agent("CalmRiver")[:4] == ("CalmRiver", "", "", "")
    assert project.mailbox.register(Profile("CalmRiver", "codex-cli", "gpt"))[0].model == "gpt"
    assert len(project.mailbox.inbox("CalmRiver").messages) == 1


def test_nobody_is_made_up(project: Project) -> None:
    """Nor by a message that is refused."""
    assert error_code(project.mailbox.send, make_message(to=("CalmRiver",))) == "UNKNOWN_RECIPIENT"
    assert [agent.name for agent in project.mailbox.agents()] == sorted(NAMES)


# --- Projects -------------------------------------------------------------------------------------


def test_looking_makes_nothing(project: Project) -> None:
    """Only who is going to write makes a project."""
    address = AgentMailAddress(project.address.url, f"{project.key}/other")
    for _ in range(2):
        assert not AgentMailMailbox.is_there(address, None)
    assert error_code(AgentMailMailbox.open, address, None) == "SERVER_REFUSED"
    with AgentMailMailbox.create(address, None) as mailbox:
        assert mailbox.agents() == ()
        assert mailbox.position() == 0
    assert AgentMailMailbox.is_there(address, None)
    with AgentMailMailbox.open(address, None) as mailbox:
        assert mailbox.agents() == ()


def test_two_projects_that_the_server_takes_for_one(project: Project) -> None:
    """Their mail would be mixed, and nobody would notice."""
    alike = AgentMailAddress(project.address.url, project.key.upper())
    for asked in (AgentMailMailbox.is_there, AgentMailMailbox.open, AgentMailMailbox.create):
        assert error_code(asked, alike, None) == "SERVER_REFUSED"
    slug = project.resource(f"project/{path_segment(project.key)}", {})["slug"]
    assert AgentMailMailbox.is_there(AgentMailAddress(project.address.url, slug), None)


def test_the_mail_of_other_projects_is_not_here(project: Project) -> None:
    """Though the server lets everybody write to everybody."""
    other = project.next_door()
    other.register(Profile("CalmRiver"))
    project.sent_by_hand(sender_name="CalmRiver", to=[BEA, f"global-inbox-{_slug(project)}"])
    assert (project.mailbox.position(), project.again().position()) == (0, 0)
    assert other.position() == 1


def _slug(project: Project) -> str:
    return str(project.resource(f"project/{path_segment(project.key)}", {})["slug"])


# --- Being late -----------------------------------------------------------------------------------


def commit_late(number: int, by: timedelta) -> int:
    """Put a copy of a message into the server's database whose time is earlier by so much."""
    path = agent_mail.running().folder / "storage" / "storage.sqlite3"
    with sqlite3.connect(path) as database:
        new = database.execute(
            "INSERT INTO messages (project_id, sender_id, thread_id, subject, body_md, importance,"
            " ack_required, attachments, created_ts) SELECT project_id, sender_id, thread_id,"
            " subject, 'late', importance, ack_required, attachments,"
            " strftime('%Y-%m-%d %H:%M:%f', created_ts, ?) || '000' FROM messages WHERE id = ?",
            (f"-{by.total_seconds()} seconds", number),
        ).lastrowid
        database.execute(
            "INSERT INTO message_recipients (message_id, agent_id, kind)"
            " SELECT ?, agent_id, kind FROM message_recipients WHERE message_id = ?",
            (new, number),
        )
    database.close()
    assert new is not None
    return new


def test_a_message_that_was_committed_late(project: Project) -> None:
    """Its time is before that of one that is known already."""
    sent = [post(project.mailbox, make_message(str(number))).id for number in range(2)]
    late = commit_late(sent[0], timedelta(seconds=30))
    assert [each.id for each in project.mailbox.arrivals(2)] == [late]
    assert project.mailbox.thread(THREAD).messages[0].id == late
    assert [each.id for each in project.again().arrivals(0)] == [*sent, late]


def test_a_clock_that_was_set_back(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is later than anybody expects is found when all is read again, as it is now and then."""
    sent = post(project.mailbox, make_message())
    late = commit_late(sent.id, timedelta(hours=5))
    monkeypatch.setattr(view, "_FULL_REFRESH_SECONDS", 0.0)
    post(project.again(), make_message())
    assert late in [each.id for each in project.mailbox.arrivals(1)]


# --- Moving ---------------------------------------------------------------------------------------


def test_what_is_taken_over_is_sent_anew(project: Project) -> None:
    """In its order, whole, with the ids and the times of the server."""
    other = history()
    done = restore(project.mailbox, other)
    assert (done.added, done.skipped, done.new_agents) == (other.position(), 0, ())
    here = project.again().arrivals(0)
    there = other.arrivals(0)
    assert [each.content_hash for each in here] == [each.content_hash for each in there]
    assert [set(each.message.recipients) for each in here] == [
        set(each.message.recipients) for each in there
    ]
    pairs = zip([each.id for each in there], [each.id for each in here], strict=True)
    assert done.renumbered == tuple(pairs)


def test_taking_over_goes_on_where_it_ended(project: Project) -> None:
    """Of a message that was sent twice the second copy is missing as long as there is but one."""
    other = history()
    records = list(other.records())
    assert records[0].stored.content_hash == records[2].stored.content_hash
    assert project.mailbox.restore((), records[:1]).added == 1
    done = restore(project.mailbox, other)
    assert (done.added, done.skipped) == (5, 1)
    assert restore(project.mailbox, other) == RestoreResult(0, 6, (), ())


def test_who_comes_with_mail_is_registered(project: Project) -> None:
    """With what the archive says of her; a name that lives elsewhere stops all of it."""
    other = history()
    other.register(Profile("CalmRiver", "codex-cli", "gpt", "tests"))
    assert restore(project.mailbox, other).new_agents == ("CalmRiver",)
    assert project.mailbox.agent("CalmRiver")[:4] == ("CalmRiver", "codex-cli", "gpt", "tests")
    neighbour = project.next_door()
    code = error_code(neighbour.restore, other.agents(), other.records())
    assert code == "NAME_ELSEWHERE"
    assert (neighbour.agents(), neighbour.position()) == ((), 0)
