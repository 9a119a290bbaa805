"""Status and show say the same wherever the mail lives."""

from pathlib import Path
from typing import Any

import pytest

from mail_shell import Shell
from session.backends import HOUSINGS, OPERATOR, ProjectBackend, housed

THREAD = "RS-20251230-cell-fate"
ANN, BEA = "BlueLake", "RedCastle"
DELTA = """Thread: {thread}
From: {sender}
To: {operator}
Subject: DELTA[opus]: One hypothesis

```delta
{{"operation": "ADD", "section": "hypothesis_slate", "payload": {{"name": "Gradient", "claim": "x",
"mechanism": "y", "anchors": ["§1"]}}, "rationale": "r"}}
```
"""


def played(shell: Shell) -> tuple[dict[str, Any], dict[str, Any], str]:
    """Two are asked, one answers: what status, show and the line say of that."""
    for name in (ANN, BEA):
        shell.mail("register", name, "--program", "claude-code", "--model", "opus")
    started = shell(
        *("session", "start", "--thread-id", THREAD, "--question", "What tells a cell?"),
        *("--context", "Cells differ.", "--to", ANN, "--role", "hypothesis_generator"),
        *("--to", BEA, "--role", "test_designer"),
    )
    assert started.code == 0, started.err
    text = DELTA.format(thread=THREAD, sender=ANN, operator=OPERATOR)
    shell.mail("send", "-", "--as", ANN, stdin=text.encode())
    status = shell("session", "status", THREAD, "--json")
    show = shell("session", "show", THREAD, "--json")
    line = shell("session", "status", "--line")
    assert (status.code, show.code, line.code) == (0, 0, 0), status.err + show.err + line.err
    return status.json, show.json, line.out


@pytest.mark.every_store
@pytest.mark.parametrize("housing", HOUSINGS[1:], ids=lambda housing: housing.home.name)
def test_the_same_everywhere(
    housing: ProjectBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AGENT_NAME", "BRENNER_STORE"):
        monkeypatch.delenv(name, raising=False)
    with housed(housing, tmp_path, monkeypatch):
        status, show, line = played(Shell(tmp_path, monkeypatch))
    assert (status["phase"], status["round"], status["unread"]) == ("awaiting_acks", 1, 1)
    turns = {each["name"]: each["turn"] for each in status["participants"]}
    assert turns == {ANN: "contributed", BEA: "owes_ack"}
    assert [each["agent"] for each in status["pending"]] == [BEA]
    assert [(each["agent"], each["how"]) for each in status["settled"]] == [(ANN, "contributed")]
    assert line == f"cell-fate r1 awaiting ACKs: {BEA}\n"
    assert show["mail"]["messages"] == 3
    assert [each["agent"] for each in show["roster"]] == [ANN, BEA]
