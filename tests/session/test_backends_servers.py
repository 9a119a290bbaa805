"""Sessions on real servers, by the command line: taken over, started, and lost in the middle."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from brenner.mail.agent_mail import mailbox as sending
from brenner.mail.postgres import mailbox as database
from brenner.services.workspace import workspace_in
from golden.history import HERE
from mail.backends import AGENT_MAIL, agent_mail_address
from mail_shell import Shell
from servers import agent_mail, postgresql
from servers.proxy import Proxy
from session.backends import HOUSINGS, OPERATOR, SERVERS, ProjectBackend, housed
from session.workspaces import KICKOFF, THREAD, add, project_in

pytestmark = pytest.mark.thorough

THEIRS = (HERE / "conflict" / "v2.artifact.md").read_text("utf-8")
AGENTS = ("BlueLake", "RedSky")
START = (
    *("session", "start", "--question", "What tells a cell where it is?", "--context", "Cells"),
    *("--thread-id", THREAD, "--to", AGENTS[0], "--role", "hypothesis_generator"),
    *("--to", AGENTS[1], "--role", "test_designer"),
)


class Group(NamedTuple):
    """Agents who use the server's own tools, in the project of a shell."""

    shell: Shell
    key: str

    def join(self, *names: str) -> None:
        """Register as every agent does."""
        tool = agent_mail.running().tool
        tool("ensure_project", human_key=self.key)
        for name in names:
            asked = {"project_key": self.key, "program": "x", "model": "y", "name": name}
            tool("register_agent", **asked)

    def say(self, sender: str, to: str, subject: str, body: str) -> int:
        """Send a message into the thread."""
        told: dict[str, object] = {"sender_name": sender, "to": [to], "subject": subject}
        told |= {"project_key": self.key, "thread_id": THREAD, "body_md": body}
        done = agent_mail.running().tool("send_message", **told)
        return int(done["deliveries"][0]["payload"]["id"])

    def contribute(self, name: str) -> int:
        """Send a hypothesis."""
        block = f"```delta\n{json.dumps(add(name))}\n```\n"
        return self.say(AGENTS[0], OPERATOR, f"DELTA[opus]: {name}", f"# Delta\n\n{block}")

    def known(self) -> list[str]:
        """Who is registered in the project."""
        with workspace_in(project_in(self.shell.folder), None, create=False) as workspace:
            return [agent.name for agent in workspace.mailbox.agents()]


@pytest.fixture
def group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Group]:
    """A project on an Agent Mail server that does not know it yet."""
    folder = tmp_path / "project"
    with housed(HOUSINGS[-1], folder, monkeypatch):
        found = Group(Shell(folder, monkeypatch), agent_mail_address(folder).project or "")
        yield found
        found.join()  # there must be something to clear


def asked(shell: Shell, *arguments: str) -> Any:
    done = shell(*arguments, "--json")
    assert done.code == 0, done.out + done.err
    return done.json


# Another program's thread


def test_taking_over_what_another_program_has_compiled(group: Group) -> None:
    """Agents and a compiler of their own have worked there; from now on it is ours."""
    group.join(*AGENTS, OPERATOR)
    kickoff = group.say(OPERATOR, AGENTS[0], "KICKOFF: Cell fate", KICKOFF)
    delta = group.contribute("Gradient")
    artifact = THEIRS.replace("RS-20260114-somite-clock", THREAD)
    body = f"# Compiled Artifact v2\n\n## Full Artifact\n\n~~~~markdown\n{artifact}~~~~\n"
    compiled = group.say(AGENTS[1], OPERATOR, "COMPILED: v2 as our program makes it", body)
    late = group.contribute("Late")
    shell = group.shell
    warned = shell("compile", THREAD, "--dry-run")
    assert "COMPILED_WITHOUT_RECORD" in warned.err
    adopted = asked(shell, "session", "adopt", THREAD)
    assert (adopted["version"], adopted["adopted_version"]) == (3, 2)
    assert (adopted["adopted_message_id"], adopted["taken_as_read"]) == (compiled, 2)
    done = asked(shell, "compile", THREAD)
    assert (done["version"], done["changes"]["added"]) == (4, ["H3"])
    assert [each["message_id"] for each in done["ledger"]["entries"]] == [late]
    assert asked(shell, "artifact", "verify", THREAD)["ok"]
    shown = asked(shell, "artifact", "show", THREAD)
    assert [each["name"] for each in shown["hypothesis_slate"]] == ["Delay", "Coupling", "Late"]
    assert {kickoff, delta, late} < {each["id"] for each in _thread(shell)}
    nothing = shell("session", "adopt", THREAD, "--json")
    assert (nothing.code, nothing.codes) == (1, ["CANNOT_ADOPT"])


def _thread(shell: Shell) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = asked(shell, "mail", "thread", THREAD)["messages"]
    return messages


# Starting a session


def test_recipients_who_are_not_there(group: Group) -> None:
    """It is refused before anything is made: no project, no name, no mail."""
    for options in (("--dry-run",), ()):
        done = group.shell(*START, *options, "--json")
        assert done.code == 1
        (found,) = [each for each in done.json["violations"] if each["severity"] == "error"]
        assert found["id"] == "RECIPIENTS_NOT_REGISTERED"
        assert "does not know BlueLake, RedSky." in found["message"]
        assert done.json["registered"] == []
    projects = agent_mail.running().ask("POST", "/mcp/", _projects()).document
    assert group.key not in json.dumps(projects)
    group.join(AGENTS[0])
    done = group.shell(*START)
    assert (done.code, "does not know RedSky." in done.err) == (1, True)
    assert group.known() == [AGENTS[0]]  # not even the operator


def _projects() -> dict[str, object]:
    parameters = {"uri": "resource://projects"}
    return {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": parameters}


def test_only_the_sender_is_registered(group: Group) -> None:
    group.join(*AGENTS)
    done = asked(group.shell, *START)
    assert [each["status"] for each in done["kickoffs"]] == ["sent", "sent"]
    assert group.known() == [*AGENTS[:1], OPERATOR, *AGENTS[1:]]
    again = asked(group.shell, *START)
    assert (again["status"], len(_thread(group.shell))) == ("nothing_to_send", 2)


def test_registered_if_asked_for(group: Group) -> None:
    done = asked(group.shell, *START, "--register")
    assert (done["status"], done["registered"]) == ("sent", [*AGENTS])
    assert group.known() == [*AGENTS[:1], OPERATOR, *AGENTS[1:]]


# Lost in the middle


class Line(NamedTuple):
    """A project whose server is reached by way of something that can go wrong."""

    shell: Shell
    proxy: Proxy
    compiled: bytes  # what is on the line in the moment in which a version is stored
    kickoff: bytes  # and a kickoff to the second recipient


@pytest.fixture(params=SERVERS, ids=lambda housing: housing.home.name)
def line(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Line]:
    """A session that was started, with a contribution that nobody has compiled."""
    housing: ProjectBackend = request.param
    folder = tmp_path / "project"
    monkeypatch.setattr(database, "SETTLE_SECONDS", 1.0)  # who knows that it stays away
    monkeypatch.setattr(sending, "_FIND_SENT_SECONDS", 1.0)
    with housed(housing, folder, monkeypatch):
        shell = Shell(folder, monkeypatch)
        for name in AGENTS:
            assert shell("mail", "register", name).code == 0
        is_server = housing.home is AGENT_MAIL
        port = agent_mail.running().port if is_server else postgresql.running().port
        with Proxy(port) as proxy:
            settings = folder / "brenner.toml"
            text = settings.read_text("utf-8").replace(f":{port}/", f":{proxy.port}/")
            settings.write_text(text, "utf-8")
            marks = (b'"COMPILED: v1', b'["RedSky"]') if is_server else (_COMMIT, _COMMIT)
            yield Line(shell, proxy, *marks)
            proxy.pass_on()


# With these words a transaction of ours ends
_COMMIT = b"INSERT INTO turns VALUES"


def contributed(shell: Shell) -> None:
    assert shell(*START).code == 0
    block = f"```delta\n{json.dumps(add('Gradient'))}\n```\n"
    said = ("--subject", "DELTA[opus]: Gradient", "--body", f"# Delta\n\n{block}")
    to = ("--to", OPERATOR, "--thread", THREAD, "--as", AGENTS[0])
    assert shell("mail", "send", *to, *said).code == 0


def kinds(shell: Shell) -> list[str]:
    return [each["type"] for each in _thread(shell)]


def test_only_the_answer_is_lost(line: Line) -> None:
    """The server is asked what became of it: the version is published, once."""
    contributed(line.shell)
    line.proxy.cut_before_answer(line.compiled)
    done = asked(line.shell, "compile", THREAD)
    assert line.proxy.struck.is_set()
    assert (done["status"], done["version"]) == ("published", 1)
    assert kinds(line.shell) == ["KICKOFF", "KICKOFF", "DELTA", "COMPILED"]


@pytest.mark.parametrize("is_stored", [True, False])
def test_the_server_is_lost_while_it_stores_a_version(
    line: Line,
    is_stored: bool,
) -> None:
    """Exit code 3, and what to do. The same command finds it published, or publishes it."""
    contributed(line.shell)
    cut = line.proxy.cut_before_answer if is_stored else line.proxy.cut_before_request
    cut(line.compiled, then=line.proxy.refuse)
    lost = line.shell("compile", THREAD, "--persist", "--json")
    assert (lost.code, lost.codes) == (3, ["OUTCOME_UNKNOWN"])
    assert "`compile`" in lost.json["violations"][0]["fix"]
    assert not (line.shell.folder / "artifacts").exists()
    line.proxy.pass_on()
    done = asked(line.shell, "compile", THREAD, "--persist")
    assert done["status"] == ("nothing_to_compile" if is_stored else "published")
    assert (done["version"], done["persisted"]["words"]) == (1, "Written")
    assert kinds(line.shell) == ["KICKOFF", "KICKOFF", "DELTA", "COMPILED", "INFO"]
    assert asked(line.shell, "artifact", "verify", THREAD)["ok"]


@pytest.mark.parametrize("is_stored", [True, False])
def test_the_server_is_lost_while_it_stores_a_kickoff(
    line: Line,
    is_stored: bool,
) -> None:
    """The thread is read again by the same command: whoever has got one gets no second one."""
    first = [*START]
    del first[-4:]
    assert line.shell(*first).code == 0
    cut = line.proxy.cut_before_answer if is_stored else line.proxy.cut_before_request
    cut(line.kickoff, then=line.proxy.refuse)
    lost = line.shell(*START, "--json")
    assert (lost.code, lost.json["status"]) == (3, "incomplete")
    assert [each["status"] for each in lost.json["kickoffs"]] == ["sent_before", "unknown"]
    line.proxy.pass_on()
    done = asked(line.shell, *START)
    now = "sent_before" if is_stored else "sent"
    assert [each["status"] for each in done["kickoffs"]] == ["sent_before", now]
    assert kinds(line.shell) == ["KICKOFF", "KICKOFF"]


@pytest.mark.parametrize("line", SERVERS[1:], ids=["agent mail"], indirect=True)
def test_the_server_is_lost_before_the_thread_is_read_again(line: Line) -> None:
    """The message is there, and nobody knows more. (A database need not be asked again.)"""
    contributed(line.shell)

    def lose() -> None:
        line.proxy.cut_before_request(b"resources/read", then=line.proxy.refuse)

    line.proxy.on_request(line.compiled, then=lose)
    lost = line.shell("compile", THREAD, "--persist", "--json")
    assert (lost.code, lost.codes) == (3, ["POSTED_NOT_CONFIRMED"])
    assert not (line.shell.folder / "artifacts").exists()
    line.proxy.pass_on()
    done = asked(line.shell, "compile", THREAD, "--persist")
    assert (done["status"], done["version"]) == ("nothing_to_compile", 1)
    assert f"Message {done['message_id']} was posted as v1" in lost.json["violations"][0]["message"]
    assert kinds(line.shell) == ["KICKOFF", "KICKOFF", "DELTA", "COMPILED", "INFO"]
