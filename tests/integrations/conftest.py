"""Terminals that end with their test."""

from collections.abc import Iterator

import pytest

from integrations.terminals import Terminals


@pytest.fixture
def terminals(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminals]:
    """A project and a PATH with nothing on it; what was opened ends with the test."""
    made = Terminals(monkeypatch)
    try:
        yield made
    finally:
        made.end()


@pytest.fixture
def at_work(terminals: Terminals) -> Terminals:
    """With tmux and the programs of three agents."""
    return terminals.with_tmux().with_agents("claude", "codex", "gemini")
