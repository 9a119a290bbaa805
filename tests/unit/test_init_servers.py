"""`brenner init` with the mail elsewhere: on a database server, on an Agent Mail server."""

import re
import secrets
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from brenner.config import Project
from program import brenner, files
from servers.postgresql import running
from servers.postgresql_files import PASSWORD
from session.copy_backends import AGENT_MAIL, home


@pytest.fixture
def schema() -> str:
    """A schema that is not there yet."""
    return f"init_{secrets.token_hex(6)}"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Project]:
    """A project that an Agent Mail server does not know yet."""
    with home(AGENT_MAIL, tmp_path, "init") as project:
        yield project


def settings(folder: Path) -> dict[str, Any]:
    """What `brenner.toml` says."""
    return tomllib.loads((folder / "brenner.toml").read_text("utf-8"))


def test_database(tmp_path: Path, schema: str) -> None:
    """What was made where; nothing in the folder. The line after says how to keep it."""
    url = running().url(schema=schema)
    done = brenner("init", "--store", url, cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    place = f"postgresql://…@127.0.0.1:{running().port}/brenner (schema {schema})"
    created, following = done.out.splitlines()
    assert created == f"Created the store {place}; the operator is `Operator`."
    assert following.startswith(f'Next: write `store = "{url}"` into brenner.toml')
    assert files(tmp_path) == []
    again = brenner("init", "--store", url, cwd=tmp_path)
    assert again.out.startswith(
        f"The project is already set up: 0 messages and 1 agent in {place};"
    )


def test_database_and_operator(tmp_path: Path, schema: str) -> None:
    """The settings that an operator needs keep the store, too: one line is the whole switch."""
    url = running().url(schema=schema)
    done = brenner("init", "--store", url, "--operator", "Ada", cwd=tmp_path)
    assert done.code == 0
    assert f" and brenner.toml in {tmp_path}; the operator is `Ada`." in done.out
    assert "Next: `brenner session start" in done.out
    assert settings(tmp_path) == {"operator": "Ada", "store": url}
    agents = brenner("mail", "agents", "--json", cwd=tmp_path).json["agents"]
    assert [agent["name"] for agent in agents] == ["Ada"]
    assert files(tmp_path) == ["brenner.toml"]


@pytest.mark.parametrize("operator", [None, "Ada"])
def test_password(tmp_path: Path, schema: str, operator: str | None) -> None:
    """It is used, and neither shown nor written; how to do without it is told."""
    named = ["--operator", operator] if operator else []
    url = running().url(schema=schema, password=PASSWORD)
    done = brenner("init", "--store", url, *named, cwd=tmp_path)
    assert done.code == 0
    (line,) = re.findall(r"write `(store = [^`]*)`", done.out)
    assert tomllib.loads(line)["store"] == running().url(schema=schema)
    assert "PGPASSWORD or PGPASSFILE" in done.out
    for secret in (PASSWORD, url):
        assert secret not in done.out
    if operator:
        assert settings(tmp_path) == {"operator": "Ada"}


def test_agent_mail(tmp_path: Path, server: Project) -> None:
    """The operator needs a name there; with it, all is kept."""
    url = server.store or ""
    done = brenner("init", "--store", url, "--operator", "GreenCastle", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Created the store http://127.0.0.1:")
    assert settings(tmp_path) == {"operator": "GreenCastle", "store": url}
    again = brenner("init", cwd=tmp_path)
    assert again.out.startswith("The project is already set up: 0 messages and 1 agent in http:")


@pytest.mark.parametrize(
    "url", ["postgresql://127.0.0.1:9/none", "agent-mail+http://127.0.0.1:9/mcp/"]
)
def test_server_that_is_not_there(tmp_path: Path, url: str) -> None:
    """Exit code 3, what to start, and nothing is left behind."""
    done = brenner("init", "--store", url, "--operator", "GreenCastle", cwd=tmp_path)
    assert (done.code, done.out) == (3, "")
    assert "SERVER_UNREACHABLE" in done.err
    assert "→ Start " in done.err
    assert files(tmp_path) == []


def test_file_and_operator(tmp_path: Path) -> None:
    """A store inside the folder is written as seen from it: the folder may move."""
    (tmp_path / "mail").mkdir()
    done = brenner("init", "--store", "sqlite:///mail/m.sqlite3", "--operator", "Ada", cwd=tmp_path)
    assert done.code == 0
    assert done.out.startswith(f"Created mail/m.sqlite3 and brenner.toml in {tmp_path};")
    assert settings(tmp_path) == {"operator": "Ada", "store": "sqlite:///mail/m.sqlite3"}
    moved = tmp_path.rename(tmp_path.with_name("moved"))
    assert "already set up" in brenner("init", cwd=moved).out


def test_odd_paths(tmp_path: Path) -> None:
    """What a text in the settings must escape is escaped."""
    name = 'a"b\\c\x7f\t'
    url = f"sqlite:///{name}"
    assert brenner("init", "--store", url, "--operator", "Ada", cwd=tmp_path).code == 0
    assert settings(tmp_path)["store"] == url
    assert brenner("init", cwd=tmp_path).code == 0
    assert files(tmp_path) == [name, "brenner.toml"]


def test_shared_mailbox(tmp_path: Path) -> None:
    """Who comes to a mailbox that others use is made known there, and told what is in it."""
    url = f"sqlite:///{tmp_path}/shared.sqlite3"
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    for folder in (first, second, third):
        folder.mkdir()
    assert brenner("init", "--store", url, "--operator", "Ada", cwd=first).code == 0
    done = brenner("init", "--store", url, "--operator", "Eve", cwd=second)
    assert done.out.startswith(
        f"Created brenner.toml in {second} and found 0 messages and 1 agent in {url[10:]}; "
        "registered the operator (`Eve`)."
    )
    (third / "brenner.toml").write_text(f'store = "{url}"\noperator = "Zoe"\n', "utf-8")
    known = brenner("init", "--store", url, cwd=third)
    assert known.out.startswith(f"The store exists: 0 messages and 2 agents in {url[10:]}; ")
    assert "registered the operator (`Zoe`)." in known.out
    assert "write `store" not in known.out  # the settings say it already
    again = brenner("init", cwd=third)
    assert again.out.startswith("The project is already set up: 0 messages and 3 agents in ")
    checks = brenner("doctor", "--json", cwd=third).json["checks"]
    (operator,) = [each for each in checks if each["name"] == "operator"]
    assert "the store also has the operator" in operator["detail"]


def test_variable(tmp_path: Path) -> None:
    """Nothing else remembers the store."""
    done = brenner("init", cwd=tmp_path, BRENNER_STORE="sqlite:///m.sqlite3")
    _, second, third = done.out.splitlines()
    assert second.startswith(
        'Only BRENNER_STORE selects this store. To use it always, write `store = "sqlite:///m.'
    )
    assert third.startswith("Next: `brenner session start")
