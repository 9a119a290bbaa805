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


def test_secret_of_the_operator(shell: Shell) -> None:
    """The command works in a new folder, prints only the secret and writes it to no file."""
    done = shell("agent", "secret", "Operator")
    assert done.code == 0
    secret = done.out.removesuffix("\n")
    assert secret.startswith("brs_")
    assert done.out == f"{secret}\n"
    assert secret not in done.err
    assert is_secret(shell, "Operator", secret)
    assert secret.encode() not in kept(shell)


def test_secret_of_an_agent_is_bound_to_its_name(shell: Shell) -> None:
    for name in ("BlueLake", "RedCreek"):
        shell.mail("register", name)
    document = shell("agent", "secret", "BlueLake", "--json").json
    assert list(document) == ["name", "secret"]
    assert document["name"] == "BlueLake"
    assert is_secret(shell, "BlueLake", document["secret"])
    assert not is_secret(shell, "RedCreek", document["secret"])
    assert not is_secret(shell, "Operator", document["secret"])


def test_second_secret_needs_renewal(shell: Shell) -> None:
    """A second request changes nothing; a renewal invalidates the old secret."""
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


def test_renewal_without_an_earlier_secret(shell: Shell) -> None:
    secret = shell("agent", "secret", "Operator", "--new").out.strip()
    assert is_secret(shell, "Operator", secret)


def test_unknown_name_is_rejected_with_a_suggestion(shell: Shell) -> None:
    done = shell("agent", "secret", "Operater", "--json")
    assert (done.code, done.codes) == (1, ["NO_SUCH_AGENT"])
    assert "Did you mean `Operator`?" in done.json["violations"][0]["fix"]
    assert files(shell.folder) == []


def test_agent_cannot_get_the_secret_of_the_operator(shell: Shell) -> None:
    shell.mail("register", "BlueLake")
    done = shell("agent", "secret", "Operator", "--new", "--as", "BlueLake")
    assert (done.code, done.out) == (2, "")
    assert "Only the operator" in done.err
    own = shell("agent", "secret", "BlueLake", "--as", "BlueLake").out.strip()
    assert is_secret(shell, "BlueLake", own)


def test_store_without_secrets_is_rejected(shell: Shell, tmp_path: Path) -> None:
    (shell.folder / "brenner.toml").write_text('operator = "GreenCastle"\n', "utf-8")
    with home(AGENT_MAIL, tmp_path, "secret") as project:
        store = project.store or ""
        assert shell("init", "--store", store).code == 0
        done = shell("agent", "secret", "GreenCastle", "--json", "--store", store)
    assert (done.code, done.codes) == (1, ["HOME_CANNOT"])
    assert AgentMailMailbox.lacks[Capability.SECRETS] in done.json["violations"][0]["message"]
