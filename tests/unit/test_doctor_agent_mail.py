"""`brenner doctor` for mail on an Agent Mail server: real ones, and one that offers too little."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from brenner.config import Project, store_address
from brenner.mail.agent_mail.mailbox import AgentMailMailbox
from brenner.mail.mailbox import Capability
from brenner.store_url import AgentMailAddress
from mail.odd_server import Asked, OddServer, Reply, result, tools, whole
from program import brenner
from servers.agent_mail import AgentMailServer, running
from session.copy_backends import AGENT_MAIL, home

pytestmark = pytest.mark.thorough

OUTSIDE = ["server", "tools", "store"]
INSIDE = ["write", "lacks", "mail", "operator", "identity", "clock", "acks"]
TOKEN = "a-token-of-the-tests"  # noqa: S105


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """A project that the server does not know yet, with an operator who has a name."""
    (tmp_path / "brenner.toml").write_text('operator = "GreenCastle"\n', "utf-8")
    with home(AGENT_MAIL, tmp_path, "doctor") as found:
        yield found


def checks(project: Project, store: str | None = None, **surroundings: str) -> tuple[int, Any]:
    """The exit code, and the checks from the server on, by name."""
    url = store or project.store or ""
    done = brenner("doctor", "--json", "--store", url, cwd=project.folder, **surroundings)
    assert done.err == ""
    assert TOKEN not in done.out
    listed = done.json["checks"]
    names = [each["name"] for each in listed]
    assert all(each["fix"] for each in listed if each["status"] == "problem")
    return done.code, {each["name"]: each for each in listed[names.index("secrets") + 1 :]}


def address(project: Project) -> AgentMailAddress:
    """Where its mail is."""
    found = store_address(project)
    assert isinstance(found, AgentMailAddress)
    return found


def test_all_is_well(project: Project) -> None:
    """The server, its tools, the project; what it lacks is listed with the reasons."""
    assert brenner("init", "--store", project.store or "", cwd=project.folder).code == 0
    code, found = checks(project)
    assert (code, list(found)) == (0, [*OUTSIDE, *INSIDE])
    assert {each["status"] for each in found.values()} == {"ok"}
    assert "a round trip takes " in found["server"]["detail"]
    assert f"the project `{address(project).project}` (--store)" in found["store"]["detail"]
    for ability, reason in AgentMailMailbox.lacks.items():
        assert f"{ability} ({reason})" in found["lacks"]["detail"]
    assert Capability.READ_MARKS in AgentMailMailbox.lacks
    assert found["mail"]["detail"] == "0 messages, 1 agent"
    assert found["operator"]["detail"] == "`GreenCastle` is registered"


def test_not_there_yet(project: Project) -> None:
    """A project that is not there is not made, and the operator is looked at all the same."""
    code, found = checks(project)
    assert (code, list(found)) == (0, [*OUTSIDE, "lacks", "operator", "identity"])
    assert "does not exist yet; `brenner init`" in found["store"]["detail"]
    assert found["operator"]["detail"] == "`GreenCastle` will be registered by the first message"
    assert not AgentMailMailbox.is_there(address(project), None)


def test_operator_without_a_name(project: Project) -> None:
    """Whoever writes would be refused: `init` too, and it leaves nothing behind."""
    (project.folder / "brenner.toml").unlink()
    code, found = checks(project)
    assert (code, found["operator"]["id"]) == (3, "OPERATOR_NEEDS_NAME")
    refused = brenner("init", "--json", "--store", project.store or "", cwd=project.folder)
    assert refused.code == 1
    (violation,) = refused.json["violations"]
    assert violation["id"] == "OPERATOR_NEEDS_NAME"
    command = f"`brenner init --store '{project.store}' --operator GreenCastle`"
    assert command in violation["fix"]
    assert command in found["operator"]["fix"]
    assert not AgentMailMailbox.is_there(address(project), None)
    AgentMailMailbox.create(address(project), None).close()
    assert checks(project)[1]["operator"]["id"] == "OPERATOR_NEEDS_NAME"


def test_the_surroundings_fill_it_in(project: Project) -> None:
    """`agent-mail` alone is enough, where they say where the server is."""
    base = running().base_url
    code, found = checks(project, "agent-mail", AGENT_MAIL_BASE_URL=base)
    assert code == 0
    assert found["server"]["detail"].startswith(running().url)
    assert f"the project `{project.folder}`" in found["store"]["detail"]


def test_token(project: Project) -> None:
    """With the right one all is well; without it, or with another, it is said what to set."""
    with AgentMailServer(token=TOKEN) as server:
        store = f"agent-mail+{server.url}?project=/token"
        code, _ = checks(project, store, AGENT_MAIL_BEARER_TOKEN=TOKEN)
        assert code == 0
        for surroundings in ({}, {"AGENT_MAIL_BEARER_TOKEN": "another-one"}):
            code, found = checks(project, store, **surroundings)
            assert (code, list(found)) == (3, ["server", "identity"])
            assert found["server"]["id"] == "SERVER_DENIED"
            assert "`AGENT_MAIL_BEARER_TOKEN`" in found["server"]["fix"]
        server.stop()
        code, found = checks(project, store, AGENT_MAIL_BEARER_TOKEN=TOKEN)
        assert (code, found["server"]["id"]) == (3, "SERVER_UNREACHABLE")
        assert found["server"]["fix"].startswith("Start the server")


def offering(*names: str) -> OddServer:
    """A server of another kind: it has projects, but other tools."""

    def answer(asked: Asked) -> Reply:
        if asked.document["method"] == "tools/list":
            return result(asked, tools(**{name: [] for name in names}))
        if asked.document["method"] == "resources/templates/list":
            return result(asked, {"resourceTemplates": []})
        return result(asked, {"contents": [{"text": "[]"}]})

    return OddServer(answer)


def test_tools_that_are_missing(project: Project) -> None:
    """Those that are needed are a problem, the others a warning; both are named."""
    with offering("ensure_project", "register_agent") as server:
        code, found = checks(project, f"agent-mail+{server.url}")
    assert (code, found["tools"]["id"]) == (3, "SERVER_LACKS")
    assert "the tools `send_message`, `fetch_inbox`" in found["tools"]["detail"]
    with offering("ensure_project", "register_agent", "send_message", "fetch_inbox") as server:
        _, found = checks(project, f"agent-mail+{server.url}")
    assert found["tools"]["status"] == "warning"
    assert "no `acknowledge_message`" in found["tools"]["detail"]


def test_another_program(project: Project) -> None:
    """A web page is no server for mail."""
    with OddServer(lambda _: whole(200, "<html>Hello</html>", "text/html")) as server:
        code, found = checks(project, f"agent-mail+{server.url}")
    assert (code, found["server"]["id"]) == (3, "SERVER_NONSENSE")
    assert list(found) == ["server", "identity"]
