"""What the drivers start, and what they read in the recorded events of the real programs.

`recorded/` was printed by Claude Code 2.1.197, Codex 0.169.0 and Gemini CLI 0.61.0 with a scripted
model; long texts and lists were cut.
"""

import json
import stat
import tomllib
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brenner.integrations.agent_driver import (
    AgentEvent,
    Endpoint,
    EventKind,
    Fault,
    FaultKind,
    Launch,
    TurnRequest,
    Usage,
)
from brenner.integrations.drivers.faults import error_line, read_fault, seconds_to_wait
from brenner.integrations.drivers.json_lines import JsonDialogue
from brenner.integrations.drivers.table import DRIVERS, find_driver
from brenner.limits import MOST_BODY_BYTES
from brenner.program_settings import (
    ACP,
    AGENT_TOOLS,
    CLAUDE_CODE,
    CODEX_CLI,
    GEMINI_CLI,
    TEXT,
    ProgramSettings,
)
from brenner.program_settings import (
    DRIVERS as DRIVER_NAMES,
)
from effort import effort

RECORDED = Path(__file__).parent / "recorded"
TOKEN, SECRET = "the-token-7d2f", "brs_the-secret-41c9"
PROMPT = "Take part in the session."
ENDPOINT = Endpoint("http://127.0.0.1:9642/mcp", TOKEN, SECRET)
CONVERSATION = "5f0c7b9e-0000-4000-8000-000000000001"


def request(folder: Path, driver: str, **changes: object) -> TurnRequest:
    """A turn of RedSky with the driver's own program, or one named `agent`."""
    run = () if driver in (CLAUDE_CODE, CODEX_CLI, GEMINI_CLI) else ("agent", "--headless")
    program = ProgramSettings(driver, run, env=(("LANG", "C"),))
    made = TurnRequest("run-1/RedSky/1", "RedSky", PROMPT, folder / "RedSky", ENDPOINT, program)
    return made._replace(**changes)  # type: ignore[arg-type]


class Told(NamedTuple):
    """What a dialogue made of the recorded lines."""

    events: list[AgentEvent]
    sent: list[str]

    def of(self, kind: EventKind) -> list[AgentEvent]:
        return [each for each in self.events if each.kind is kind]

    @property
    def texts(self) -> list[str]:
        return [each.text for each in self.of(EventKind.TEXT)]

    @property
    def tools(self) -> list[tuple[str, bool]]:
        return [(each.text, each.is_error) for each in self.of(EventKind.TOOL)]

    @property
    def usage(self) -> Usage | None:
        return self.of(EventKind.USAGE)[-1].usage

    @property
    def faults(self) -> list[Fault]:
        return [each.fault for each in self.of(EventKind.FAULT) if each.fault]


def told(lines: Iterable[str], driver: str, asked: TurnRequest) -> Told:
    """Feed a dialogue."""
    dialogue = find_driver(driver).dialogue(asked)
    received = [dialogue.begin(), *map(dialogue.receive, lines)]
    return Told([each for one in received for each in one.events], [one.reply for one in received])


def recorded(name: str, folder: Path, **changes: object) -> Told:
    """Feed the driver's dialogue with a recorded turn."""
    driver = next(each for each in DRIVERS if name.startswith(each))
    lines = (RECORDED / f"{name}.jsonl").read_text("utf-8").splitlines()
    return told(lines, driver, request(folder, driver, **changes))


# Recorded turns


@pytest.mark.parametrize(
    ("driver", "usage"),
    [
        (CLAUDE_CODE, Usage(16287, 0, 160, 0.085435)),
        (CODEX_CLI, Usage(26745, 13372, 150)),
        (GEMINI_CLI, Usage(29669, 14834, 150)),
        (ACP, Usage(51341, 0, 150)),
    ],
)
def test_a_good_turn(tmp_path: Path, driver: str, usage: Usage) -> None:
    """All programs' events have one form."""
    turn = recorded(f"{driver}-round", tmp_path)
    assert turn.tools == [("brenner_task", False), ("brenner_post", True)]
    assert turn.texts == ["I try a wrong section.", "I have read the task."]
    assert turn.usage == usage
    assert len(turn.of(EventKind.STARTED)[0].text) == len(CONVERSATION)
    assert bool(turn.of(EventKind.CONNECTED)) == (driver in (CLAUDE_CODE, CODEX_CLI))
    assert [each.is_error for each in turn.of(EventKind.ENDED)] == [False]
    assert turn.faults == []
    task, post = turn.of(EventKind.TOOL)
    assert task.arguments != post.arguments
    assert "nonsense" in post.arguments


@pytest.mark.parametrize(
    ("name", "kind", "reason", "is_final"),
    [
        ("claude-code-auth", FaultKind.LOGIN, "authentication_failed (401)", True),
        ("claude-code-credit", FaultKind.CREDIT, "Credit balance is too low", True),
        ("claude-code-limit", FaultKind.RATE_LIMIT, "rate_limit (429)", False),
        ("claude-code-away", FaultKind.NO_TOOLS, "it does not see our server (failed)", True),
        ("claude-code-budget", FaultKind.STOPPED, "its turn used the rest of the budget", True),
        ("codex-cli-auth", FaultKind.LOGIN, "Reconnecting... 1/5 (unexpected status 401", True),
        ("codex-cli-cut", FaultKind.OVERLOADED, "Reconnecting... 1/5 (stream disc", False),
        ("gemini-cli-auth", FaultKind.LOGIN, "invalid x-api-key", True),
        ("gemini-cli-loop", FaultKind.LOOP, "Loop detected, stopping execution", True),
        ("acp-auth", FaultKind.LOGIN, "invalid x-api-key", True),
    ],
)
def test_faults(tmp_path: Path, name: str, kind: FaultKind, reason: str, is_final: bool) -> None:
    """The first event of a fault is enough, where trying again is useless."""
    fault = recorded(name, tmp_path).faults[0]
    assert (fault.kind, fault.is_final) == (kind, is_final)
    assert fault.reason.startswith(reason)


def test_a_program_that_recovers(tmp_path: Path) -> None:
    """A turn that was retried ends well; a cut one fails in the end."""
    turn = recorded("claude-code-limit", tmp_path)
    assert [each.is_final for each in turn.faults] == [False, False]
    assert turn.events[-1] == AgentEvent(EventKind.ENDED)
    turn = recorded("codex-cli-cut", tmp_path)
    assert [each.is_final for each in turn.faults] == [False] * 6 + [True]
    assert turn.events[-1] == AgentEvent(EventKind.ENDED, is_error=True)


def test_the_usage_of_one_turn(tmp_path: Path) -> None:
    """Codex reports the sum over a conversation; a cut stream counts as far as it was read."""
    before = Usage(26745, 13372, 150)
    assert recorded("codex-cli-resumed", tmp_path, used_before=before).usage == Usage(
        9697, 4848, 50
    )
    assert recorded("claude-code-cut", tmp_path).usage == Usage(4697, 0, 55, 0.02486)


def test_permissions_over_acp(tmp_path: Path) -> None:
    """Our tools are allowed; shell, files and other tools of our server are denied."""
    turn = recorded("acp-denied", tmp_path)
    answers = [json.loads(each) for each in turn.sent if '"outcome"' in each]
    options = [each["result"]["outcome"]["optionId"] for each in answers]
    assert options == ["cancel", "cancel", "proceed_once", "cancel"]
    assert [each["id"] for each in answers] == [0, 1, 2, 3]
    assert turn.tools == [("read", True), ("brenner_task", False)]


@pytest.mark.parametrize(
    ("call", "is_allowed"),
    [
        ({"title": "mcp__brenner__brenner_post"}, True),
        ({"title": "Tool: brenner/brenner_post", "kind": "other"}, True),
        ({"title": "mcp__other__brenner_post"}, False),
        ({"title": "brenner_post (other MCP Server)"}, False),
        ({"title": "brenner_post", "kind": "execute"}, False),
        ({"title": "brenner_post; rm -rf ~"}, False),
        ({"title": "rm -rf ~ # brenner_post"}, False),
        ({"title": "brenner_post\n"}, False),
        ({}, False),
    ],
)
def test_which_call_is_ours(tmp_path: Path, call: dict[str, str], is_allowed: bool) -> None:
    """The whole title must name one of our tools, and nothing else."""
    options = [{"optionId": each, "kind": f"{each}_always"} for each in ("allow", "reject")]
    parameters = {"toolCall": {"toolCallId": "1", **call}, "options": options}
    asked = {"id": "x", "method": "session/request_permission", "params": parameters}
    (_, reply) = told([json.dumps(asked)], ACP, request(tmp_path, ACP)).sent
    chosen = json.loads(reply)["result"]["outcome"]["optionId"]
    assert chosen == ("allow" if is_allowed else "reject")


def test_a_conversation_over_acp(tmp_path: Path) -> None:
    """It is loaded, its earlier turns are not read again, and the program gets no files."""
    turn = recorded("acp-resumed", tmp_path, conversation=CONVERSATION)
    sent = [json.loads(each) for each in turn.sent if each]
    assert [each["method"] for each in sent] == ["initialize", "session/load", "session/prompt"]
    capabilities = sent[0]["params"]["clientCapabilities"]
    assert capabilities == {
        "fs": {"readTextFile": False, "writeTextFile": False},
        "terminal": False,
    }
    (server,) = sent[1]["params"]["mcpServers"]
    assert {each["value"] for each in server["headers"]} == {f"Bearer {TOKEN}", SECRET}
    assert (turn.tools, turn.texts) == ([], ["I am still here."])
    other = {"id": 9, "method": "fs/read_text_file", "params": {"path": "/etc/passwd"}}
    (_, reply) = told([json.dumps(other)], ACP, request(tmp_path, ACP)).sent
    assert json.loads(reply)["error"]["code"] == -32601


def test_a_text_is_the_whole_output(tmp_path: Path) -> None:
    """Up to the limit on a body, and only if the program ends well."""
    dialogue = find_driver(TEXT).dialogue(request(tmp_path, TEXT))
    begun = dialogue.begin()
    assert (begun.reply, begun.closes_input) == (PROMPT, True)
    for line in ("Subject: x", "", "  body "):
        assert dialogue.receive(line).events == ()
    assert [each.text for each in dialogue.end(0, "")] == ["Subject: x\n\n  body ", ""]
    assert dialogue.end(1, "no key") == ()
    assert dialogue.receive("x" * MOST_BODY_BYTES).events[0].fault
    assert dialogue.end(0, "") == ()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
LINES = {
    driver: [
        json.loads(line)
        for path in sorted(RECORDED.glob(f"{driver}-*.jsonl"))
        for line in path.read_text("utf-8").splitlines()
    ]
    for driver in (CLAUDE_CODE, CODEX_CLI, GEMINI_CLI, ACP)
}


def _places(value: object, path: tuple[object, ...] = ()) -> Iterable[tuple[object, ...]]:
    yield path
    inner: Iterable[tuple[object, object]] = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    for key, each in inner:
        yield from _places(each, (*path, key))


def _changed(value: object, path: tuple[object, ...], new: object) -> object:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)  # type: ignore[call-overload]
    copy[path[0]] = _changed(copy[path[0]], path[1:], new)
    return copy


@settings(max_examples=effort(100, 1000), deadline=None)
@given(data=st.data(), driver=st.sampled_from(sorted(LINES)))
def test_no_event_makes_a_driver_fail(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, driver: str
) -> None:
    """Whatever a version of a program prints, a value of another type is read as nothing."""
    folder = tmp_path_factory.getbasetemp() / "changed"
    line = data.draw(st.sampled_from(LINES[driver]))
    path = data.draw(st.sampled_from(sorted(_places(line), key=str)))
    changed = _changed(line, path, data.draw(VALUES))
    lines = [json.dumps(changed), "[" * 100_000, "\x00", data.draw(st.text())]
    before = [json.dumps(each) for each in LINES[driver][:2]]
    told([*before, *lines], driver, request(folder, driver))


# Command lines


@pytest.mark.parametrize("driver", DRIVER_NAMES)
@pytest.mark.parametrize("conversation", [None, CONVERSATION])
def test_no_secret_in_arguments_or_files(
    tmp_path: Path, driver: str, conversation: str | None
) -> None:
    """Nor the prompt; all that is written is for the owner only."""
    asked = request(tmp_path, driver, conversation=conversation, budget_usd=1.5)
    launch = find_driver(driver).prepare(asked)
    assert isinstance(launch, Launch)
    words = "\n".join(launch.command)
    assert (TOKEN in words, SECRET in words, PROMPT in words) == (False, False, False)
    for path in [asked.folder, *asked.folder.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
        if path.is_file():
            text = path.read_text("utf-8")
            assert (TOKEN in text, SECRET in text) == (False, False)
    assert launch.folder == asked.folder / "work"
    has_secrets = driver in (CLAUDE_CODE, CODEX_CLI, GEMINI_CLI)
    assert launch.environment.get("BRENNER_SECRET") == (SECRET if has_secrets else None)
    assert launch.environment.get("BRENNER_TOKEN") == (TOKEN if has_secrets else None)
    assert (launch.environment["AGENT_NAME"], launch.environment["LANG"]) == ("RedSky", "C")
    if has_secrets:
        assert (conversation in launch.command) == (conversation is not None)


def settings_of(launch: object) -> tuple[list[str], dict[str, str]]:
    """The words of a command, and those after each option."""
    assert isinstance(launch, Launch)
    words = list(launch.command)
    return words, dict(pairwise(words))


def test_claude_code_gets_only_our_tools(tmp_path: Path) -> None:
    """`run` replaces the program; the project can be readable, never writable."""
    asked = request(tmp_path, CLAUDE_CODE)
    program = ProgramSettings(CLAUDE_CODE, ("my-claude", "--verbose"), model="opus")
    words, after = settings_of(find_driver(CLAUDE_CODE).prepare(asked._replace(program=program)))
    assert words[:3] == ["my-claude", "--verbose", "-p"]
    assert (after["--tools"], after["--model"]) == ("", "opus")
    start = words.index("--allowedTools") + 1
    allowed = words[start : start + len(AGENT_TOOLS)]
    assert allowed == [f"mcp__brenner__{each}" for each in AGENT_TOOLS]
    assert words[start + len(AGENT_TOOLS)].startswith("--")
    servers = json.loads(Path(after["--mcp-config"]).read_text("utf-8"))["mcpServers"]
    assert servers["brenner"]["headers"]["Brenner-Secret-Authorization"] == "${BRENNER_SECRET}"
    words, after = settings_of(find_driver(CLAUDE_CODE).prepare(asked._replace(readable=tmp_path)))
    assert (words[0], after["--tools"], after["--add-dir"]) == (
        "claude",
        "Read,Grep,Glob",
        str(tmp_path),
    )


def test_codex_gets_only_our_tools(tmp_path: Path) -> None:
    """The user's own servers are turned off, our one is required."""
    home = tmp_path / "codex"
    home.mkdir()
    (home / "config.toml").write_text('[mcp_servers.mine]\ncommand = "mine"\n')
    program = ProgramSettings(CODEX_CLI, ("codex",), env=(("CODEX_HOME", str(home)),))
    words, _ = settings_of(
        find_driver(CODEX_CLI).prepare(request(tmp_path, CODEX_CLI, program=program))
    )
    options = [words[index + 1] for index, each in enumerate(words) if each == "-c"]
    found = tomllib.loads("\n".join(options))
    assert found["mcp_servers"]["mine"] == {"enabled": False}
    ours = found["mcp_servers"]["brenner"]
    assert ours["required"] is True
    assert ours["enabled_tools"] == list(AGENT_TOOLS)
    assert ours["env_http_headers"] == {"Brenner-Secret": "BRENNER_SECRET"}
    assert found["features"]["shell_tool"] is False
    assert words[-1] == "-"


def test_gemini_gets_only_our_tools(tmp_path: Path) -> None:
    """Its folder is trusted, so it must be empty."""
    asked = request(tmp_path, GEMINI_CLI)
    driver = find_driver(GEMINI_CLI)
    _, after = settings_of(driver.prepare(asked))
    rules = tomllib.loads(Path(after["--policy"]).read_text("utf-8"))["rule"]
    assert [(each["toolName"], each["decision"]) for each in rules] == [
        ("*", "allow"),
        ("*", "deny"),
    ]
    assert (rules[0]["mcpName"], rules[0]["priority"] > rules[1]["priority"]) == ("brenner", True)
    _, after = settings_of(driver.prepare(asked._replace(readable=tmp_path)))
    rules = tomllib.loads(Path(after["--policy"]).read_text("utf-8"))["rule"]
    assert {each["toolName"] for each in rules if each["decision"] == "allow"} >= {"*", "read_file"}
    assert after["--include-directories"] == str(tmp_path)
    for path in ("work/.gemini/agent.md", "work/GEMINI.md"):
        (asked.folder / path).write_text("Obey.")
        fault = driver.prepare(asked)
        assert isinstance(fault, Fault)
        assert "must be empty" in fault.reason


# Errors in words


NOW = datetime(2026, 11, 19, 14, 50, tzinfo=UTC)
CLOCK = {
    "You've hit your session limit · resets 3:45pm": 55 * 60,
    "limit reached ∙ resets 2pm": timedelta(hours=23, minutes=10).total_seconds(),
    "hit your usage limit. Try again at Nov 20th, 2026 2:50 PM.": 86_400,
    "hit your usage limit. try again in 3 days 4 hours 5 minutes.": 273_900,
    "Your quota will reset after 3h20m5s.": 12_005,
    "Please retry in 34.074824224s.": 34.074824224,
    "Rate limit reached. Please try again in 250ms": 0.25,
    "429 too many requests, retry-after: 20": 20,
    f"Claude AI usage limit reached|{int(NOW.timestamp()) + 90}": 90,
    "This request would exceed your account's rate limit.": None,
    "resets 99pm": None,
}


@pytest.mark.parametrize("words", CLOCK)
def test_times_to_wait(words: str) -> None:
    """As the programs and services print them."""
    assert seconds_to_wait(words, NOW) == CLOCK[words]


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("Not logged in · Please run /login", FaultKind.LOGIN),
        ("unexpected status 403 Forbidden: no access", FaultKind.LOGIN),
        ("You exceeded your current quota, please check your plan and billing", FaultKind.CREDIT),
        ('{"error":{"code":"insufficient_quota","message":"no"}}', FaultKind.CREDIT),
        ("You've hit your usage limit. Upgrade to Plus to continue", FaultKind.RATE_LIMIT),
        ("exceeded retry limit, last status: 429 Too Many Requests", FaultKind.RATE_LIMIT),
        ("unexpected status 529 <unknown status code>: Overloaded", FaultKind.OVERLOADED),
        ("[API Error: fetch failed]", FaultKind.OVERLOADED),
        ("API Error: Unable to connect to API (ConnectionRefused)", FaultKind.OVERLOADED),
        ("The model gpt-0 does not exist", FaultKind.FAILED),
    ],
)
def test_kinds_of_errors(words: str, kind: FaultKind) -> None:
    assert read_fault(words).kind is kind


def test_a_signal_is_no_reported_error() -> None:
    """What a program wrote before a signal ended it is not why it ended."""
    dialogue = JsonDialogue("")
    assert dialogue.end(-9, "Error: Ripgrep is not available.") == ()
    assert [each.kind for each in dialogue.end(1, "Error: no key")] == [EventKind.FAULT]


@pytest.mark.parametrize(
    "words",
    [
        "No conversation found with session ID: 1",
        "thread/resume failed: no rollout found for thread id 1 (code -32600)",
        "Error resuming session: No previous sessions found for this project.",
        "Session 5f0c not found",
    ],
)
def test_lost_conversations(words: str) -> None:
    assert read_fault(words).has_lost_conversation


def test_the_line_that_says_most() -> None:
    """Not a warning before it, and not the stack trace after it."""
    errors = "Warning: old error\nError: no such model\n    at run (file.js:1)\n  code: 4\n"
    assert error_line(errors) == "Error: no such model"
    assert (error_line("first\nlast\n"), error_line("\n")) == ("last", "")
