"""The line that a commit of ours has, whatever the summary and the settings."""

import pytest

from brenner.persist.commit import commit_message
from session.repositories import THREAD, Bench, bench, settings

__all__ = ["bench", "settings"]


@pytest.mark.parametrize(
    ("summary", "rest"),
    [
        ("added H4", "added H4"),
        ("", "compiled"),
        (" two\n lines\t ", "two lines"),
        ("# not a comment", "# not a comment"),
        ("red \x1b[31m text \u202e \ud800", "red [31m text"),
        ("é 🧬 §42", "é 🧬 §42"),
    ],
)
def test_commit_message(summary: str, rest: str) -> None:
    """One line, whatever the summary holds."""
    assert commit_message(THREAD, 3, summary) == f"artifact({THREAD}): v3 - {rest}"


def test_a_long_summary_is_cut_between_words() -> None:
    line = commit_message(THREAD, 12, "word " * 100)
    assert len(line) <= 120
    assert line.endswith("word…")
    assert len(commit_message("x" * 252, 1, "y" * 500)) <= 252 + 20 + 40


def test_odd_settings_do_not_change_the_message(bench: Bench) -> None:
    for name, value in {
        "core.commentChar": "a",
        "commit.cleanup": "strip",
        "commit.verbose": "true",
        "commit.template": "/no/such/file",
        "i18n.commitEncoding": "latin-1",
        "core.editor": "false",
        "log.showSignature": "true",
        "status.showUntrackedFiles": "all",
    }.items():
        bench.git("config", name, value)
    bench.persist(1)
    assert bench.git("cat-file", "commit", "HEAD").partition("\n\n")[2] == (
        f"artifact({THREAD}): v1 - Round 1: added H4.\n"
    )
    assert "encoding" not in bench.git("cat-file", "commit", "HEAD")
