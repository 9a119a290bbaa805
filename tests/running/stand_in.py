"""A stand-in for an agent's program: `stand_in.py FOLDER …`, with what it does in `FOLDER/NAME`.

Each start takes the next word of that file. By its arguments it is Claude Code, Codex or Gemini,
prints events as that program does and calls the run's endpoint; or it is a program of `text`.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any, NoReturn

FOLDER = Path(sys.argv[1])
NAME = os.environ["AGENT_NAME"]
CLAUDE, CODEX, GEMINI, TEXT = "claude", "codex", "gemini", "text"
KIND = (
    (CLAUDE if "--mcp-config" in sys.argv else GEMINI if "--policy" in sys.argv else CODEX)
    if {"-p", "exec"} & set(sys.argv)
    else TEXT
)


def main() -> None:
    """Take the next action, note what is needed by tests, and do it."""
    task = sys.stdin.read()
    starts = FOLDER / f"{NAME}.starts"
    number = len(starts.read_text().splitlines()) if starts.exists() else 0
    actions = (FOLDER / NAME).read_text().split()
    action = actions[min(number, len(actions) - 1)]
    with starts.open("a") as file:
        file.write(f"{action} {os.getpid()}\n")
    (FOLDER / f"{NAME}.task-{number + 1}").write_text(task)
    (FOLDER / f"{NAME}.argv").write_text("\n".join(sys.argv))
    if KIND != TEXT:
        secrets = [os.environ["BRENNER_TOKEN"], os.environ["BRENNER_SECRET"]]
        (FOLDER / f"{NAME}.secrets").write_text("\n".join(secrets))
        begin(is_connected=action != "away")
    (TEXT_ACTIONS if KIND == TEXT else TOOL_ACTIONS)[action](number, task)


def event(kind: str, **fields: object) -> None:
    """Print one event."""
    sys.stdout.write(json.dumps({"type": kind, **fields}) + "\n")
    sys.stdout.flush()


def say(text: str) -> None:
    """Print an answer."""
    sys.stdout.write(f"{text}\n")


def hypothesis(number: int, **more: object) -> dict[str, Any]:
    """An ADD that this agent has not sent before."""
    payload = {"name": f"Idea {number + 1} of {NAME}", "claim": f"{NAME} {number}", **more}
    payload |= {"mechanism": "Cells divide.", "anchors": ["inference"]}
    return {
        "operation": "ADD",
        "section": "hypothesis_slate",
        "target_id": None,
        "payload": payload,
        "rationale": "It explains more.",
    }


def hang() -> NoReturn:
    """Do nothing until a signal ends it, with a child that does the same."""
    child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    mark("hangs", f"{os.getpid()}\n{child.pid}\n")
    while True:
        signal.pause()


def mark(what: str, text: str = "") -> None:
    """Tell the test that something happened."""
    path = FOLDER / f"{NAME}.{what}"
    path.with_suffix(".new").write_text(text)
    path.with_suffix(".new").rename(path)


def wait() -> None:
    """Wait until the test says `go`."""
    mark("waits")
    while not (FOLDER / "go").exists():
        time.sleep(0.02)


# As a program that only reads and writes text


def body(*deltas: str) -> str:
    """A contribution."""
    blocks = "\n".join(f"```delta\n{each}\n```\n" for each in deltas)
    return f"# Delta Contribution\n\n**Base Version**: v0\n\nCells count.\n\n## Deltas\n\n{blocks}"


def text_contribute(number: int, _task: str) -> None:
    say(body(json.dumps(hypothesis(number))))


def text_wait(number: int, task: str) -> None:
    wait()
    text_contribute(number, task)


def text_partly(number: int, _task: str) -> None:
    wrong = {**hypothesis(number), "operation": "EDIT", "target_id": "H99"}
    say(body(json.dumps(hypothesis(number)), json.dumps(wrong)))


def text_malformed(number: int, _task: str) -> None:
    say(body(json.dumps(hypothesis(number))[:-1] + ",}"))


def text_as_corrected(_number: int, task: str) -> None:
    said = task.partition("# The corrected message")[2]
    found = re.search(r"^(`{3,})markdown\n(.*?)^\1$", said, re.DOTALL | re.MULTILINE)
    say(found[2] if found else said)


def text_critique(_number: int, _task: str) -> None:
    head = "Subject: CRITIQUE: The scale is wrong\nTo: Operator\n\n# Critique\n\n"
    say(f"{head}## Target\nH1\n\n## Attack\nToo small.\n\n## Severity\nmajor\n")


def text_resolve(_number: int, task: str) -> None:
    base = re.search(r"Base Version\*\*: v(\d+)", task)
    deltas = [
        {
            "operation": "EDIT",
            "section": "adversarial_critique",
            "target_id": item,
            "payload": {"current_status": "Resolved: the slate answers it"},
            "rationale": "The test answers it",
        }
        for item in re.findall(r"^- (C\d+): ", task, re.MULTILINE)
    ]
    text = body(*map(json.dumps, deltas))
    say(text.replace("**: v0", f"**: v{base[1] if base else 0}"))


def text_damage(_number: int, _task: str) -> None:
    """Damage the store, once the other agent works."""
    while not list(FOLDER.glob("*.hangs")):
        time.sleep(0.02)
    for path in (FOLDER.parent / "p" / ".brenner").glob("mail.sqlite3*"):
        path.write_bytes(b"no database" * 1000)


def crash(_number: int, _task: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


TEXT_ACTIONS = {
    "contribute": text_contribute,
    "wait": text_wait,
    "partly": text_partly,
    "malformed": text_malformed,
    "as-corrected": text_as_corrected,
    "pass": lambda *_: say("ACK: I have nothing to add."),
    "critique": text_critique,
    "fenced": lambda n, _: say(f"````markdown\n{body(json.dumps(hypothesis(n)))}````"),
    "resolve": text_resolve,
    "damage": text_damage,
    "silent": lambda *_: None,
    "crash": crash,
    "hang": lambda *_: hang(),
}


# As a program with tools


def begin(*, is_connected: bool) -> None:
    """Print the first events."""
    if KIND == CLAUDE:
        seen = [{"name": "brenner", "status": "connected" if is_connected else "failed"}]
        event("system", subtype="init", session_id=f"conversation-{NAME}", mcp_servers=seen)
    elif KIND == CODEX:
        event("thread.started", thread_id=f"conversation-{NAME}")
        event("turn.started")
    else:
        event("init", session_id=f"conversation-{NAME}")


def call(tool: str, **arguments: object) -> Any:
    """Call a tool of the run's endpoint, and print the events of it."""
    params = {"name": tool, "arguments": arguments}
    request = urllib.request.Request(  # noqa: S310  (the run's own endpoint)
        address(),
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode(),
        {
            "Content-Type": "application/json",
            "Authorization": f"Bearer {os.environ['BRENNER_TOKEN']}",
            "Brenner-Secret": os.environ["BRENNER_SECRET"],
        },
    )
    use(tool, arguments)
    with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310  (as above)
        result = json.loads(response.read())["result"]
    used(tool, arguments, is_error=result["isError"])
    return result["structuredContent"]


def address() -> str:
    """Where the endpoint is, as each program is set to it."""
    if KIND == CODEX:
        found = re.search(r'url="([^"]+)"', " ".join(sys.argv))
        return found[1] if found else ""
    path = ".gemini/settings.json"
    if KIND == CLAUDE:
        path = sys.argv[sys.argv.index("--mcp-config") + 1]
    settings = json.loads(Path(path).read_text())["mcpServers"]["brenner"]
    return str(settings.get("url") or settings["httpUrl"])


def use(tool: str, arguments: object) -> None:
    """Print the event of a call that begins."""
    if KIND == CLAUDE:
        part = {"type": "tool_use", "id": "1", "name": f"mcp__brenner__{tool}", "input": arguments}
        event("assistant", message={"id": "m1", "content": [part], "usage": USAGE})
    elif KIND == GEMINI:
        name = f"mcp_brenner_{tool}"
        event("tool_use", tool_name=name, tool_id="1", parameters=arguments)


def used(tool: str, arguments: object, *, is_error: bool) -> None:
    """Print the event of a call that has ended."""
    if KIND == CLAUDE:
        part = {"type": "tool_result", "tool_use_id": "1", "is_error": is_error}
        event("user", message={"content": [part]})
    elif KIND == CODEX:
        status = "failed" if is_error else "completed"
        item = {"type": "mcp_tool_call", "tool": tool, "arguments": arguments, "status": status}
        event("item.completed", item=item)
    else:
        event("tool_result", tool_id="1", status="error" if is_error else "success")


USAGE = {"input_tokens": 900, "output_tokens": 100}


def end(words: str = "Done.") -> None:
    """Print the last event. Codex counts the whole conversation."""
    if KIND == CLAUDE:
        event("result", subtype="success", result=words, usage=USAGE, total_cost_usd=0.5)
    elif KIND == CODEX:
        turns = len((FOLDER / f"{NAME}.starts").read_text().splitlines())
        usage = {name: count * turns for name, count in USAGE.items()}
        event("turn.completed", usage=usage)
    else:
        event("result", status="success", stats=USAGE)


def thread(task: str) -> str:
    return task.partition("`RS-")[2].partition("`")[0].join(("RS-", ""))


def tool_contribute(number: int, task: str) -> None:
    call("brenner_task", agent=NAME, thread_id=thread(task))
    call("brenner_post", agent=NAME, thread_id=thread(task), deltas=[hypothesis(number)])
    end()


def tool_leak(number: int, task: str) -> None:
    said = f"My secrets: {os.environ['BRENNER_TOKEN']} {os.environ['BRENNER_SECRET']}"
    event("assistant", message={"id": "m2", "content": [{"type": "text", "text": said}]})
    sys.stderr.write(said)
    tool_contribute(number, task)


def tool_pass(_number: int, task: str) -> None:
    message = int(task.partition("message_id=")[2].partition(",")[0])
    call("acknowledge_message", agent_name=NAME, message_id=message, status="Completed")
    end()


def tool_unauthorised(_number: int, _task: str) -> None:
    event("system", subtype="api_retry", error="authentication_error", error_status=401)
    hang()


def tool_limited(_number: int, _task: str) -> None:
    info = {"status": "rejected", "resetsAt": time.time() + 0.5}
    event("rate_limit_event", rate_limit_info=info)
    hang()


def tool_loop(_number: int, _task: str) -> None:
    for _ in range(20):
        use("brenner_task", {"agent": NAME})
        used("brenner_task", {"agent": NAME}, is_error=False)
    hang()


def tool_spend(_number: int, _task: str) -> None:
    use("brenner_task", {"agent": NAME})
    hang()


TOOL_ACTIONS = {
    "contribute": tool_contribute,
    "leak": tool_leak,
    "pass": tool_pass,
    "silent": lambda *_: end("I have nothing to say."),
    "crash": crash,
    "hang": lambda *_: hang(),
    "unauthorised": tool_unauthorised,
    "limited": tool_limited,
    "loop": tool_loop,
    "spend": tool_spend,
    "away": lambda *_: end(),
}

if __name__ == "__main__":
    main()
