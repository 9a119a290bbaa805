"""A copy that is interrupted: killed in its middle, the server gone. Repeating it finishes it."""

import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from brenner.config import Project
from brenner.diagnostics.model import UnavailableError
from brenner.services.copy_mail import copy_mail
from mail.processes import start
from servers.agent_mail import AgentMailServer
from session.copy_backends import AGENT_MAIL, KINDS, contents, copied, home, records
from session.copy_work import killed
from session.workspaces import (
    ANN,
    BEA,
    THREAD,
    add,
    contribute,
    edit,
    kickoff,
    new_workspace,
    write,
)

MESSAGES = 12


@pytest.fixture
def source(tmp_path: Path) -> Project:
    """A session with a version, and some of its messages sent twice."""
    with new_workspace(tmp_path) as workspace:
        kickoff(workspace)
        contribute(workspace, ANN, add("Gradient"), add("Lineage"))
        contribute(workspace, BEA, edit("H1", claim="Steep"))
        workspace.compile(THREAD)
        while workspace.mailbox.position() < MESSAGES:
            write(workspace, ANN, "INFO: The same", "As before.\n")
    return Project(tmp_path)


@pytest.fixture
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Project]:
    """An empty home of some kind."""
    with ExitStack() as stack:
        yield stack.enter_context(home(request.param, tmp_path, "target"))


def address_of(source: Project) -> str:
    """Where the mail is, as the program passes it on: never relative."""
    return f"sqlite:///{source.folder}/.brenner/mail.sqlite3"


@pytest.mark.parametrize("at", [1, 5, MESSAGES])
@pytest.mark.parametrize("target", KINDS, indirect=True)
def test_killed_and_repeated(source: Project, target: Project, at: int) -> None:
    """A home that takes all or nothing has nothing; another has what was sent, and once only."""
    child = start(killed, source.folder, address_of(source), target.store, at)
    _, said = child.communicate(timeout=120)
    assert child.returncode == -signal.SIGKILL, said
    is_anew = "agent-mail" in (target.store or "")
    assert len(records(target)) == (at if is_anew else 0)
    done = copied(source, target)
    assert done.restored.added == MESSAGES - (at if is_anew else 0)
    assert contents(target) == contents(source)


@pytest.mark.parametrize("target", [AGENT_MAIL], indirect=True)
def test_order_is_kept(source: Project, target: Project) -> None:
    """Also when it was finished by repeating it."""
    child = start(killed, source.folder, address_of(source), target.store, 5)
    child.communicate(timeout=120)
    copied(source, target)
    order = [record.stored.content_hash for record in records(source)]
    assert [record.stored.content_hash for record in records(target)] == order


@pytest.mark.thorough
def test_server_that_goes_away(source: Project, tmp_path: Path) -> None:
    """Said how far it came, exit code 3; when the server is back, the rest is sent."""
    with AgentMailServer() as server:
        target = Project(tmp_path, f"agent-mail+{server.url}?project=/gone")

        def watch(doing: str, done: int, _total: int | None) -> None:
            if (doing, done) == ("Sending", 4):
                server.kill()

        with pytest.raises(UnavailableError) as caught:
            copy_mail(source, target, progress=watch)
        found = caught.value.diagnostic
        assert found.id == "COPY_BROKE_OFF"
        assert f"broke off when 4 of {MESSAGES} messages were there" in found.message
        server.start()
        assert len(records(target)) == 4
        check_gone_at_the_end(source, target, server)
        assert copied(source, target).restored.added == 0
        assert contents(target) == contents(source)


def check_gone_at_the_end(source: Project, target: Project, server: AgentMailServer) -> None:
    """All was sent, but nobody can compare it: that is not the same as nothing was done."""

    def watch(doing: str, _done: int, _total: int | None) -> None:
        if doing == "Comparing":
            server.kill()

    with pytest.raises(UnavailableError) as caught:
        copy_mail(source, target, progress=watch)
    assert f"when {MESSAGES} of {MESSAGES} messages were there" in caught.value.diagnostic.message
    server.start()
