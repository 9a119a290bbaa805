"""Projects for the commands that need one."""

from pathlib import Path

import pytest

from mail_shell import Shell


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A project folder in which nothing is yet."""
    for name in ("AGENT_NAME", "BRENNER_STORE"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    return Shell(folder, monkeypatch)


@pytest.fixture
def office(shell: Shell) -> Shell:
    """A project where two agents are known."""
    for name in ("BlueLake", "RedCreek"):
        shell.mail("register", name, "--program", "claude-code")
    return shell
