"""Every version of every golden history is what its files say, byte for byte."""

from pathlib import Path

import pytest

from brenner.artifact.parse import parse_artifact
from brenner.lint.linter import lint
from golden.history import HISTORIES, versions


@pytest.mark.parametrize("history", HISTORIES, ids=lambda path: path.name)
def test_history(history: Path) -> None:
    """Artifact, ledger, lint report, conflicts and warnings; and no file is left over."""
    made = {name: text for version in versions(history) for name, text in version.files().items()}
    kept = {path.name: path.read_bytes().decode() for path in history.glob("v*.*.*")}
    for name, text in made.items():
        assert kept.get(name) == text, name
    assert sorted(made) == sorted(kept)


@pytest.mark.parametrize("history", HISTORIES, ids=lambda path: path.name)
def test_reads_back(history: Path) -> None:
    """Each artifact is read back as it was (R16), and its status is what lint says (R18)."""
    for version in versions(history):
        text = version.files()[f"v{version.number}.artifact.md"]
        assert parse_artifact(text).artifact == version.artifact
        status = "active" if lint(version.artifact).valid else "draft"
        assert version.artifact.metadata.status == status


def test_histories() -> None:
    """The ten histories that must be there."""
    assert {path.name for path in HISTORIES} >= {
        "one_round",
        "three_agents",
        "two_agents_at_once",
        "late_and_skewed",
        "kill_and_replace",
        "last_third_alternative",
        "seven_hypotheses",
        "resent_message",
        "conflict",
        "hostile_text",
    }
