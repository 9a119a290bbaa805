"""Commands on an Agent Mail server: what it does not tell is not made up."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mail.agent_mail_scene import Project
from mail.letters import ANN, BEA, QUESTION, letter, post
from program import Run, brenner


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """A project whose operator has a name that such servers take, with one question."""
    (tmp_path / "brenner.toml").write_text(f'operator = "{ANN}"\n', "utf-8")
    with Project(tmp_path) as project:
        post(project.mailbox, letter(subject=QUESTION, to=(BEA,)))
        yield project


def mail(project: Project, *arguments: str) -> Run:
    """A command on its mail."""
    store = f"agent-mail+{project.address.url}?project={project.key}"
    return brenner("mail", *arguments, "--store", store, cwd=project.folder)


def test_an_inbox_without_read_marks(project: Project) -> None:
    """Nothing is unread there, nor read; what is owed is known all the same."""
    assert "1 message, 1 to acknowledge." in mail(project, "inbox", "--as", BEA).out
    (message,) = mail(project, "inbox", "--as", BEA, "--json").json["messages"]
    assert (message["read"], message["owes_ack"]) == (None, True)
    ended = mail(project, "inbox", "--as", BEA, "--unread")
    assert (ended.code, ended.out) == (1, "")
    assert "HOME_CANNOT" in ended.err


def test_agents_of_whom_nobody_knows_what_they_have_read(project: Project) -> None:
    """How many ACKs they owe is known."""
    known = {each["name"]: each for each in mail(project, "agents", "--json").json["agents"]}
    assert (known[BEA]["unread"], known[BEA]["owes"]) == (None, 1)
    assert "not told" in mail(project, "agents", BEA).out


def test_marking_does_not_advise_what_cannot_be_done(project: Project) -> None:
    """The server takes the mark; it cannot be asked for what is left."""
    (message,) = project.mailbox.inbox(BEA).messages
    ended = mail(project, "mark", str(message.stored.id), "--as", BEA)
    assert (ended.code, ended.out) == (0, "1 message marked as read.\n")
    assert project.unread(BEA) == 0
