"""`brenner agent secret`: shown once, kept nowhere."""

from pathlib import Path

import pytest

from brenner.mail.agent_mail.mailbox import AgentMailMailbox
from brenner.mail.mailbox import Capability
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.services.identity import has_secret
from mail_shell import Shell, store_of
from program import files
from session.copy_backends import AGENT_MAIL, home


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A folder in which nothing is yet."""
    for name in ("AGENT_NAME", "BRENNER_STORE"):
        monkeypatch.delenv(name, raising=False)
    return Shell(tmp_path, monkeypatch)


def is_secret(shell: Shell, name: str, secret: str) -> bool:
    """Whether the store takes it for that of the name."""
    with SqliteMailbox.open(store_of(shell.folder)) as mailbox:
        return has_secret(mailbox, name, secret)


def kept(shell: Shell) -> bytes:
    """All that the command has left in the folder."""
    found = (path for path in shell.folder.rglob("*") if path.is_file())
    return b"".join(path.read_bytes() for path in found)


def test_the_operators(shell: Shell) -> None:
    """In a fresh folder too; alone on the standard output, and in no file."""
    done = shell("agent", "secret", "Operator")
    assert done.code == 0
    secret = done.out.removesuffix("\n")
    assert secret.startswith("brs_")
    assert done.out == f"{secret}\n"
    assert secret not in done.err
    assert is_secret(shell, "Operator", secret)
    assert secret.encode() not in kept(shell)


def test_an_agents(shell: Shell) -> None:
    """It is the name's, and of no other."""
    for name in ("BlueLake", "RedCreek"):
        shell.mail("register", name)
    document = shell("agent", "secret", "BlueLake", "--json").json
    assert list(document) == ["name", "secret"]
    assert document["name"] == "BlueLake"
    assert is_secret(shell, "BlueLake", document["secret"])
    assert not is_secret(shell, "RedCreek", document["secret"])
    assert not is_secret(shell, "Operator", document["secret"])


def test_only_one(shell: Shell) -> None:
    """The second is refused and changes nothing; a new one makes the old one worthless."""
    first = shell("agent", "secret", "Operator").out.strip()
    again = shell("agent", "secret", "Operator")
    assert (again.code, again.out) == (1, "")
    assert "SECRET_GIVEN" in again.err
    assert "brenner agent secret Operator --new" in again.err
    assert is_secret(shell, "Operator", first)
    second = shell("agent", "secret", "Operator", "--new").out.strip()
    assert second != first
    assert is_secret(shell, "Operator", second)
    assert not is_secret(shell, "Operator", first)


def test_a_new_one_where_there_was_none(shell: Shell) -> None:
    """Who asks for a new one gets one."""
    secret = shell("agent", "secret", "Operator", "--new").out.strip()
    assert is_secret(shell, "Operator", secret)


def test_nobody_of_that_name(shell: Shell) -> None:
    """Refused with the nearest name, and nothing is made."""
    done = shell("agent", "secret", "Operater", "--json")
    assert (done.code, done.codes) == (1, ["NO_SUCH_AGENT"])
    assert "Perhaps `Operator`" in done.json["violations"][0]["fix"]
    assert files(shell.folder) == []


def test_an_agent_gets_only_its_own(shell: Shell) -> None:
    """By a slip nobody becomes the operator."""
    shell.mail("register", "BlueLake")
    done = shell("agent", "secret", "Operator", "--new", "--as", "BlueLake")
    assert (done.code, done.out) == (2, "")
    assert "only the operator" in done.err
    own = shell("agent", "secret", "BlueLake", "--as", "BlueLake").out.strip()
    assert is_secret(shell, "BlueLake", own)


def test_a_home_without_secrets(shell: Shell, tmp_path: Path) -> None:
    """An Agent Mail server keeps none: refused with the reason."""
    (shell.folder / "brenner.toml").write_text('operator = "GreenCastle"\n', "utf-8")
    with home(AGENT_MAIL, tmp_path, "secret") as project:
        store = project.store or ""
        assert shell("init", "--store", store).code == 0
        done = shell("agent", "secret", "GreenCastle", "--json", "--store", store)
    assert (done.code, done.codes) == (1, ["HOME_CANNOT"])
    assert AgentMailMailbox.lacks[Capability.SECRETS] in done.json["violations"][0]["message"]
