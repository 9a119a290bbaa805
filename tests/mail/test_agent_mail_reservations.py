"""Files that are reserved on an Agent Mail server, also by programs that ask it directly."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from brenner.diagnostics.model import BrennerError, UnknownOutcomeError
from brenner.mail.agent_mail.mailbox import AgentMailMailbox
from brenner.mail.model import ReservationRequest
from brenner.store_url import AgentMailAddress
from mail.agent_mail_scene import Project
from mail.plain_agent_mail import PlainMail
from mail.sample_mail import ANN, BEA, introduce
from servers import agent_mail
from servers.agent_mail import PATH
from servers.proxy import Proxy

HOUR = 3_600
RESERVE, RELEASE = "file_reservation_paths", "release_file_reservations"


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """A project on the real server."""
    with Project(tmp_path) as project:
        yield project


def by_hand(project: Project, name: str, *paths: str) -> list[int]:
    """The ids of what another program reserves."""
    answer = agent_mail.running().tool(
        RESERVE, project_key=project.key, agent_name=name, paths=list(paths)
    )
    return [each["id"] for each in answer["granted"]]


def held(project: Project) -> list[tuple[int, str, str]]:
    """What the server has."""
    return [each[:3] for each in project.mailbox.reservations()]


def test_others_are_met(project: Project) -> None:
    """Also where only the server thinks so, and whatever it lets others write."""
    one, two, *_ = by_hand(project, BEA, "src/*.py", "/abs", "../up", "[")
    got = project.mailbox.reserve(ANN, ReservationRequest(("src/deep/a.py", "abs/b"), HOUR))
    assert [(path, [each.id for each in holders]) for path, holders in got.conflicts] == [
        ("src/deep/a.py", [one]),
        ("abs/b", [two]),
    ]
    assert len(held(project)) == 6


def test_what_was_reserved_twice_is_replaced(project: Project) -> None:
    """All of it, and nothing of others or of other patterns."""
    by_hand(project, ANN, "a.py", "a.py")
    (other,) = by_hand(project, ANN, "b.py")
    (theirs,) = by_hand(project, BEA, "a.py")
    (new,) = project.mailbox.reserve(ANN, ReservationRequest(("./a.py",), HOUR)).granted
    assert held(project) == [
        (other, ANN, "b.py"),
        (theirs, BEA, "a.py"),
        (new.id, ANN, "./a.py"),
    ]


def test_the_server_sees_a_release(project: Project) -> None:
    first, second = project.mailbox.reserve(ANN, ReservationRequest(("a.py", "b.py"), HOUR)).granted
    total, at = project.mailbox.release(ANN, ids=[first.id])
    assert total == 1
    assert at >= first.created_at
    asked = {"project_key": project.key, "agent_name": ANN}
    assert agent_mail.running().tool(RELEASE, **asked)["released"] == 1
    assert second.id not in [number for number, *_ in held(project)]


@pytest.mark.parametrize(("tool", "what"), [(RESERVE, "reservations"), (RELEASE, "release")])
def test_an_answer_that_gets_lost(project: Project, tool: str, what: str) -> None:
    """Nobody knows whether it was done, and that is said."""
    with Proxy(agent_mail.running().port) as proxy:
        address = AgentMailAddress(f"http://127.0.0.1:{proxy.port}{PATH}", project.key)
        with AgentMailMailbox.open(address, None) as mailbox:
            mailbox.reserve(ANN, ReservationRequest(("a.py",), HOUR))
            proxy.cut_before_answer(f'"{tool}"'.encode())
            with pytest.raises(UnknownOutcomeError) as caught:
                mailbox.release(ANN) if tool == RELEASE else mailbox.reserve(
                    ANN, ReservationRequest(("b.py",), HOUR)
                )
    assert what in caught.value.diagnostic.message


def test_a_server_that_reserves_nothing() -> None:
    with PlainMail() as server, server.mailbox() as mailbox:
        introduce(mailbox)
        for ask in (
            lambda: mailbox.reserve(ANN, ReservationRequest(("a.py",), HOUR)),
            lambda: mailbox.release(ANN),
            mailbox.reservations,
        ):
            with pytest.raises(BrennerError) as caught:
                ask()
            assert caught.value.diagnostic.id == "SERVER_LACKS"
            assert RESERVE in caught.value.diagnostic.message
