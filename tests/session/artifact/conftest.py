"""Threads with versions in real stores, for the artifact commands."""

from pathlib import Path

import pytest

from mail_shell import Shell
from replayed_histories import Played, play


@pytest.fixture(scope="session")
def conflict(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Four versions, two conflicts in the second, a kill in the fourth. Nobody may write there."""
    return play("conflict", tmp_path_factory.mktemp("conflict"))


@pytest.fixture(scope="session")
def at_once(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Two versions; IDs rewritten, a block refused. Nobody may write there."""
    return play("two_agents_at_once", tmp_path_factory.mktemp("at_once"))


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Commands on a project in which nothing is yet."""
    for name in ("AGENT_NAME", "BRENNER_STORE"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    return Shell(folder, monkeypatch)
