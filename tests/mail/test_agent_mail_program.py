"""Commands on an Agent Mail server: what it does not tell is not made up."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from brenner.mail.agent_mail.mailbox import AgentMailMailbox
from mail.agent_mail_scene import Project
from mail.backends import give_names_back
from mail.sample_mail import ANN, BEA, QUESTION, THREAD, make_message, post
from program import Run, brenner

pytestmark = pytest.mark.thorough


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """A project whose operator has a name that such servers take, with one question."""
    (tmp_path / "brenner.toml").write_text(f'operator = "{ANN}"\n', "utf-8")
    with Project(tmp_path) as project:
        post(project.mailbox, make_message(subject=QUESTION, to=(BEA,)))
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
    assert (ended.code, ended.out) == (0, "Marked 1 message as read.\n")
    assert project.unread(BEA) == 0


def test_a_send_that_was_made_without_a_key(project: Project) -> None:
    """Where there are no keys the same content counts: no key is said to have been used."""
    text = ("--as", ANN, "--to", BEA, "--thread", THREAD, "--subject", "INFO: x", "--body", "y")
    assert mail(project, "send", *text).code == 0
    again = mail(project, "send", *text, "--key", "k")
    assert (again.code, again.out.startswith("Sent before, as message ")) == (0, True)


class _Second:
    """Another project of the same server, whose operator would have the same name."""

    def __init__(self, first: Project, folder: Path) -> None:
        self.address = first.address._replace(project=f"{first.key}/second")
        self.folder = folder
        folder.mkdir()
        store = f"agent-mail+{self.address.url}?project={self.address.project}"
        settings = f'operator = "{ANN}"\nstore = "{store}"\n'
        (folder / "brenner.toml").write_text(settings, "utf-8")

    def __call__(self, *arguments: str) -> Run:
        return brenner(*arguments, cwd=self.folder)

    @property
    def is_there(self) -> bool:
        """Whether the server knows it."""
        return AgentMailMailbox.is_there(self.address, None)


@pytest.fixture
def second(project: Project, tmp_path: Path) -> Iterator[_Second]:
    """It gives its names back."""
    found = _Second(project, tmp_path / "second")
    yield found
    if found.is_there:
        give_names_back(found.address)


def known(project: Project) -> set[str]:
    """Who is registered in it."""
    return {agent.name for agent in project.mailbox.agents()}


def test_the_operators_name_is_taken_from_nobody(project: Project, second: _Second) -> None:
    """Not by `init`, not by the first message; nothing is made, and it is said what to do."""
    text = ("--to", ANN, "--thread", THREAD, "--subject", "INFO: x", "--body", "y")
    for command in (("init",), ("mail", "send", *text)):
        done = second(*command)
        assert (done.code, done.out) == (1, "")
        assert "NAME_ELSEWHERE" in done.err
        assert "`brenner.toml`" in done.err
        assert f"`brenner mail register {ANN} --update`" in done.err
        assert not second.is_there
    assert ANN in known(project)


def test_others_are_registered_though_the_operator_is_elsewhere(
    project: Project, second: _Second
) -> None:
    """Registering a name needs no operator."""
    assert second("mail", "register", "QuietHarbour").code == 0
    agents = second("mail", "agents", "--json").json["agents"]
    assert [agent["name"] for agent in agents] == ["QuietHarbour"]
    assert second("mail", "register", ANN).code == 1
    assert ANN in known(project)


@pytest.mark.thorough
def test_a_name_that_is_taken_over_knowingly(project: Project, second: _Second) -> None:
    """There it works; here nobody is told that there is no mail for her."""
    asked = post(project.mailbox, make_message(sender=BEA, to=(ANN,), subject=QUESTION))
    assert second("mail", "register", ANN, "--update").code == 0
    assert second("init").code == 0
    assert second("mail", "inbox").out.startswith(f"No mail for {ANN} yet.")
    assert ANN not in known(project)
    for command in (("inbox",), ("inbox", "--as", ANN), ("ack", str(asked.id), "--as", ANN)):
        done = mail(project, *command)
        assert (done.code, done.out) == (1, "")
        assert "NAME_ELSEWHERE" in done.err
        assert f"{project.key}/second" in done.err
    store = f"agent-mail+{project.address.url}?project={project.key}"
    found = brenner("doctor", "--json", "--store", store, cwd=project.folder).json["checks"]
    (operator,) = [each for each in found if each["name"] == "operator"]
    assert operator["id"] == "NAME_ELSEWHERE"
