"""A session whose operator sits in another folder, and has its mail at our server."""

from pathlib import Path

from program import Run, brenner
from serving.running import Served

OPERATOR, AGENT = "GreenCastle", "BlueLake"
DELTA = """Thread: {thread}
From: BlueLake
To: GreenCastle
Subject: DELTA[opus]: A gradient

# Contribution

```delta
{{"operation": "ADD", "section": "hypothesis_slate", "target_id": null,
 "payload": {{"name": "Gradient", "claim": "A gradient decides", "mechanism": "It acts",
 "anchors": ["§42"]}}, "rationale": "It explains more"}}
```
"""


def test_a_session_from_elsewhere(tmp_path: Path) -> None:
    """It is started, contributed to, compiled and verified, and all of its mail is verified."""

    def done(*arguments: str) -> Run:
        ended = brenner(*arguments, "--json", cwd=tmp_path)
        assert ended.code == 0, ended.err + ended.out
        return ended

    with Served() as server:
        store = f"agent-mail+{server.url}/?project={server.project}"
        wrong = brenner("mail", "inbox", "--store", f"agent-mail+{server.url}/", cwd=tmp_path)
        assert (wrong.code, f"?project={server.project}" in wrong.err) == (1, True)
        done("init", "--operator", OPERATOR, "--store", store)
        done("mail", "register", AGENT, "--program", "claude-code", "--model", "opus")
        roles = ("--to", AGENT, "--role", "hypothesis_generator")
        started = done("session", "start", "--question", "Why?", "--context", "Cells.", *roles)
        thread = started.json["thread_id"]
        (tmp_path / "delta.md").write_text(DELTA.format(thread=thread), "utf-8")
        done("mail", "ack", "1", "--as", AGENT)
        done("mail", "send", "delta.md")
        assert done("compile", thread).json["version"] == 1
        assert done("artifact", "verify", thread).code == 0
        there = brenner("mail", "thread", thread, "--json", cwd=server.project)
    messages = there.json["messages"]
    assert [each["trust"] for each in messages] == ["verified"] * 4
    assert [each["from"] for each in messages] == [OPERATOR, AGENT, AGENT, OPERATOR]
