"""A thread that another program compiled and we have adopted, before the artifact commands."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from brenner.protocol.messages import Message
from golden.history import HERE
from mail_shell import Shell
from replayed_histories import OPERATOR, post

THREAD = "RS-20260114-somite-clock"
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
THEIRS = (HERE / "conflict" / "v2.artifact.md").read_text("utf-8")
DELTA = """```delta
{"operation": "EDIT", "section": "hypothesis_slate", "target_id": "H1",
 "payload": {"claim": "The period is the delay of two loops"}, "rationale": "Seen"}
```
"""


@pytest.fixture
def adopted(shell: Shell) -> Shell:
    """Adopted as v3, on which one field was then edited for v4."""
    body = f"# Compiled Artifact v2\n\n## Full Artifact\n\n~~~~markdown\n{THEIRS}~~~~\n"
    post(shell.folder, AT, Message(THREAD, "RedSky", (OPERATOR,), "COMPILED: v2 ours", body))
    assert shell("session", "adopt", THREAD).code == 0
    edit = Message(THREAD, "BlueLake", (OPERATOR,), "DELTA[opus]: H1", DELTA)
    post(shell.folder, AT + timedelta(days=365), edit)
    assert shell("compile", THREAD).code == 0
    return shell


def test_blame_knows_what_it_does_not_know(adopted: Shell) -> None:
    """Nobody is made up for what came along; what was edited since has its author."""
    document = adopted("artifact", "blame", THREAD, "H1", "--json").json
    by_field = {each["field"]: each for each in document["fields"]}
    assert (by_field["claim"]["agent"], by_field["claim"]["version"]) == ("BlueLake", 4)
    assert by_field["claim"]["replaced"] == "The period is the delay of one loop"
    assert (by_field["mechanism"]["agent"], by_field["mechanism"]["message_id"]) == (None, None)
    out = adopted("artifact", "blame", THREAD).out
    assert re.search(r"^H1.mechanism +unknown +Splicing and export", out, re.MULTILINE)
    assert "    replaced: The period is the delay of one loop\n" in out
    whole = adopted("artifact", "blame", THREAD, "H1.mechanism", "--history").out
    assert "The author is unknown, because the version was adopted.\n" in whole


def test_the_other_commands(adopted: Shell) -> None:
    """The first version that is ours has a number above 1, and nothing before it."""
    history = adopted("artifact", "history", THREAD, "--json").json
    assert [each["version"] for each in history["versions"]] == [3, 4]
    verified = adopted("artifact", "verify", THREAD, "--json").json
    assert (verified["ok"], [each["version"] for each in verified["versions"]]) == (True, [3, 4])
    missing = adopted("artifact", "show", f"{THREAD}@v2")
    assert "the latest is v4" in missing.err
    first = adopted("artifact", "diff", f"{THREAD}@v3")
    assert first.out.startswith(f"{THREAD}@v0 → {THREAD}@v3\nAdded H1, H2, P1 and T1; ")
    ledger = adopted("artifact", "ledger", f"{THREAD}@v3")
    assert ledger.out.startswith(f"{THREAD}@v3, 0 blocks: ")
    every = adopted("artifact", "ledger", THREAD, "--all", "--json").json
    assert (every["versions"], every["applied"]) == ([3, 4], 1)
