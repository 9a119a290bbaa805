"""What bd and tmux tell of a thread, whatever they do; the programs in a project's settings."""

import json
import os
from pathlib import Path

import pytest

from brenner.config import find_project
from brenner.diagnostics.model import RequestError
from brenner.integrations import programs
from brenner.integrations.programs import Bead, find_bead
from brenner.integrations.tmux import TerminalSession, find_terminal
from brenner.program_settings import KNOWN_PROGRAMS, ProgramSettings, merge_programs
from brenner.services.spawn_agents import pane_environment
from integrations.terminals import DOTTED, Terminals, asked, written
from servers.lifetime import occupants

TOLD = {"id": DOTTED, "title": "Make it", "status": "open", "priority": 2, "assignee": "ann"}
BEAD = Bead(DOTTED, "Make it", "open", 2, "ann")


@pytest.mark.parametrize(
    ("answer", "bead"),
    [
        (json.dumps(TOLD), BEAD),
        (json.dumps([TOLD]), BEAD),
        ("{}", Bead(DOTTED)),
        ('{"title": " ", "status": 7, "priority": true, "assignee": null}', Bead(DOTTED)),
        ('{"title": "Ünïcode → ☃", "priority": "P1"}', Bead(DOTTED, "Ünïcode → ☃", None, "P1")),
        (json.dumps({"title": "x" * 5000}), Bead(DOTTED, "x" * 1000)),
        ("[]", Bead(DOTTED, problem="its answer is not one bead")),
        (json.dumps([TOLD, TOLD]), Bead(DOTTED, problem="its answer is not one bead")),
        ('"x"', Bead(DOTTED, problem="its answer is not one bead")),
        ('{"id": "bot-2"}', Bead(DOTTED, problem="its answer is about another bead")),
        ("", Bead(DOTTED, problem="its answer is not JSON")),
        ("\x00\x1b[2J", Bead(DOTTED, problem="its answer is not JSON")),
        ("[" * 100_000, Bead(DOTTED, problem="its answer is not JSON")),
        ("1" * 5000, Bead(DOTTED, problem="its answer is not JSON")),
    ],
)
def test_what_bd_answers(terminals: Terminals, answer: str, bead: Bead) -> None:
    """As far as it is told; nonsense is said to be nonsense."""
    terminals.with_program("bd", out=answer.encode())
    assert find_bead(DOTTED, terminals.project) == bead
    (call,) = terminals.recorded("bd")
    assert (call["argv"], call["cwd"]) == (["show", DOTTED, "--json"], str(terminals.project))


@pytest.mark.parametrize(
    ("out", "err", "reason"),
    [
        (b"", "Error: no issue found\nUsage:\n", "Error: no issue found"),
        (b'{"error": "no such issue"}', "", "no such issue"),
        (b"", "", "no output, exit code 4"),
        (b"\xff\xfe", "", "\ufffd\ufffd"),
        (b"[1]", "", "[1]"),
    ],
)
def test_a_bd_that_fails(terminals: Terminals, out: bytes, err: str, reason: str) -> None:
    """In its own words."""
    terminals.with_program("bd", out=out, err=err, code=4)
    assert find_bead(DOTTED) == Bead(DOTTED, problem=reason)


@pytest.mark.parametrize("thread_id", ["-bot.1", "--json", "-"])
def test_beads_that_begin_with_a_hyphen(terminals: Terminals, thread_id: str) -> None:
    """They are never read as an option."""
    terminals.with_program("bd", out=b"{}")
    assert find_bead(thread_id) == Bead(thread_id)
    assert terminals.calls("bd") == [["show", "--json", "--", thread_id]]


def test_a_bd_that_hangs(terminals: Terminals, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not waited for, and does not stay behind."""
    monkeypatch.setattr(programs, "BD_SECONDS", 1)
    terminals.with_program("bd", seconds=1000)
    bead = find_bead(DOTTED, terminals.project)
    assert bead == Bead(DOTTED, problem="it did not end within 1 seconds")
    assert occupants(terminals.project) == {}


def test_a_bd_that_never_stops_talking(terminals: Terminals) -> None:
    """What it says is bounded."""
    terminals.with_program("bd", out=b"x" * 10 * programs.MOST_OUTPUT_BYTES)
    bead = find_bead(DOTTED)
    assert bead is not None
    assert bead.problem == f"its output has more than {programs.MOST_OUTPUT_BYTES:,} bytes"


def test_a_bd_that_is_no_program(terminals: Terminals) -> None:
    """A file that cannot be run is one more problem in words."""
    (terminals.path / "bd").write_bytes(b"\x7fELF")
    (terminals.path / "bd").chmod(0o755)
    bead = find_bead(DOTTED)
    assert bead is not None
    assert bead.problem == "it cannot be run: exec format error"


def test_a_bd_that_leaves_a_server_behind(terminals: Terminals) -> None:
    """Which keeps the outputs open; nobody waits for it."""
    file = terminals.path / "bd"
    file.write_text('#!/bin/sh\necho \'{"title": "x"}\'\n/bin/sleep 1000 &\n', "utf-8")
    file.chmod(0o755)
    assert find_bead(DOTTED, terminals.project) == Bead(DOTTED, "x")


def test_who_has_no_bead(terminals: Terminals) -> None:
    """Research and coordination threads; what is no ID; nobody where bd is not there."""
    assert find_bead(DOTTED) is None
    terminals.with_program("bd", out=b"{}")
    for thread_id in ("RS-20251230-cell-fate", "COORD-topic", "a/b", "", "a\n"):
        assert find_bead(thread_id) is None
    assert terminals.calls("bd") == []


# The session in a terminal


def test_terminal_of_a_thread(at_work: Terminals) -> None:
    """Whether it runs, how large it is, how to see it."""
    session = "brenner_bot-5so_1_4_1"
    attach = f"tmux attach -t '={session}'"
    assert find_terminal(DOTTED) == TerminalSession("tmux", session, False, 0, 0, (), attach)
    at_work(*asked(DOTTED, "--spawn"))
    at_work.tmux("split-window", "-t", f"={session}:=RedSky", "--", "/bin/cat")
    agents = ("BlueLake", "RedSky", "GreenDog")
    assert find_terminal(DOTTED) == TerminalSession("tmux", session, True, 3, 4, agents, attach)
    other = find_terminal("brenner_bot-5so.1.4_1")
    assert other is not None
    assert (other.is_running, other.problem) == (False, f"it is the session of {DOTTED}")
    assert find_terminal("brenner_bot-5so.1.4") == TerminalSession(
        *("tmux", "brenner_bot-5so_1_4", False, 0, 0, ()),
        "tmux attach -t '=brenner_bot-5so_1_4'",
    )


def test_inside_of_tmux_one_goes_over(
    terminals: Terminals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tmux does not attach inside of itself."""
    terminals.with_tmux()
    monkeypatch.setenv("TMUX", f"{terminals.base}/tmux-{os.getuid()}/default,1,0")
    terminal = find_terminal("-bot.1")
    assert terminal is not None
    assert (terminal.attach, terminal.is_running) == ("tmux switch-client -t '=-bot_1'", False)


def test_terminal_with_ntm(terminals: Terminals) -> None:
    """Ntm is how to see it; without tmux unknown whether it runs."""
    assert find_terminal(DOTTED) is None
    terminals.with_program("ntm")
    terminal = find_terminal("-bot.1")
    assert terminal is not None
    assert (terminal.program, terminal.session, terminal.is_running) == ("ntm", "-bot.1", None)
    assert terminal.attach == "ntm attach -- -bot.1"
    terminals.with_tmux().tmux("new-session", "-d", "-s", DOTTED, "--", "/bin/sleep", "1000")
    running = find_terminal(DOTTED)
    assert running is not None
    assert (running.session, running.is_running, running.windows) == (DOTTED, True, 1)
    assert terminals.calls("ntm") == []


def test_a_tmux_that_cannot_tell(terminals: Terminals) -> None:
    """In its own words; it is neither running nor not."""
    terminals.with_program("tmux", err="permission denied\n", code=1)
    terminal = find_terminal(DOTTED)
    assert terminal is not None
    assert (terminal.is_running, terminal.problem) == (None, "permission denied")


# Settings and the doctor


@pytest.mark.parametrize(
    ("written_as", "command"),
    [
        ('"claude"', ("claude",)),
        ("\"claude --resume 'a b'\"", ("claude", "--resume", "a b")),
        ('["claude", "-c", "; rm x"]', ("claude", "-c", "; rm x")),
        ('"./agents/claude"', ("./agents/claude",)),
    ],
)
def test_commands_in_the_settings(
    tmp_path: Path, written_as: str, command: tuple[str, ...]
) -> None:
    """As one types it, or word by word."""
    written(tmp_path, "[programs]", f"claude-code = {written_as}")
    assert find_project(str(tmp_path), {}).programs == (
        ("claude-code", ProgramSettings(command=command)),
    )


@pytest.mark.parametrize(
    "lines",
    [
        ('programs = "claude"',),
        ("[programs]", 'claude-code = ""'),
        ("[programs]", "claude-code = []"),
        ("[programs]", "claude-code = 7"),
        ("[programs]", 'claude-code = ["claude", 7]'),
        ("[programs]", 'claude-code = "claude \'open"'),
        ("[programs]", 'claude-code = "--help"'),
        ("[programs]", 'claude-code = ["", "x"]'),
        ("[programs]", 'claude-code = ["claude", "a\\u0000b"]'),
        ("[programs]", 'claude-code = "claude \\u001b[2J"'),
        ("[programs.claude-code]", "comand = 'claude'"),
        ("[programs.claude-code]", "driver = 'claude'"),
        ("[programs.claude-code]", 'run = "claude \\u0007"'),
        ("[programs.claude-code]", "model = '--yolo'"),
        ("[programs.claude-code]", "env = ['A=b']"),
        ("[programs.claude-code]", "env = { 'A-B' = 'c' }"),
        ("[programs.claude-code]", "minutes = 0"),
        ("[programs.claude-code]", "minutes = true"),
        ("[programs.mine]", "driver = 'text'"),
        ("[programs.mine]", "run = 'mine'"),
    ],
)
def test_commands_that_are_none(tmp_path: Path, lines: tuple[str, ...]) -> None:
    """Refused, with the line; nothing is half taken."""
    written(tmp_path, *lines)
    with pytest.raises(RequestError) as refused:
        find_project(str(tmp_path), {})
    assert refused.value.diagnostic.id == "INVALID_SETTINGS"
    assert refused.value.diagnostic.line == 1


def test_settings_of_programs(tmp_path: Path) -> None:
    """A known program is changed in part, another one needs a driver; strings stay valid."""
    written(
        tmp_path,
        "[programs]",
        'codex-cli = "codex --profile lab"',
        "[programs.claude-code]",
        'model = "opus"',
        "minutes = 7.5",
        "[programs.local]",
        'driver = "text"',
        'run = ["local-model", "--stdin"]',
        'env = { LOCAL_MODEL = "small" }',
    )
    merged = merge_programs(find_project(str(tmp_path), {}).programs)
    assert merged == {
        **KNOWN_PROGRAMS,
        "codex-cli": ProgramSettings("codex-cli", ("codex",), ("codex", "--profile", "lab")),
        "claude-code": ProgramSettings("claude-code", ("claude",), ("claude",), "opus", (), 7.5),
        "local": ProgramSettings(
            "text", ("local-model", "--stdin"), env=(("LOCAL_MODEL", "small"),)
        ),
    }


def test_another_driver_drops_the_command_of_the_known_program(tmp_path: Path) -> None:
    """Claude Code over ACP is started by another command than Claude Code itself."""
    written(tmp_path, "[programs.claude-code]", 'driver = "acp"', 'run = "claude-acp"')
    merged = merge_programs(find_project(str(tmp_path), {}).programs)
    assert merged["claude-code"] == ProgramSettings("acp", ("claude-acp",), ("claude",))


def test_a_password_is_not_passed_on(tmp_path: Path) -> None:
    """Everybody on a machine can see the arguments of a program."""
    store = "postgresql://ada:secret@db.example.org/lab"
    told = pane_environment(find_project(str(tmp_path), {}, store))
    assert told == {"BRENNER_STORE": "postgresql://ada@db.example.org/lab"}
    written(tmp_path, f'store = "{store}"')
    assert pane_environment(find_project(str(tmp_path), {})) == {}


def test_the_doctor_names_them(terminals: Terminals) -> None:
    """Found with path and version, or not; neither is a problem."""

    def told() -> dict[str, tuple[str, str]]:
        checks = terminals("doctor", "--json").json["checks"]
        return {each["name"]: (each["status"], each["detail"]) for each in checks}

    before = told()
    for name in ("ntm", "tmux", "bd"):
        status, detail = before[name]
        assert (status, detail.startswith("not installed (optional)")) == ("ok", True)
    terminals.with_tmux().with_program("bd", out=b"bd version 0.9\nmore\n")
    terminals.with_program("ntm", err="unknown flag\n", code=1)
    after = told()
    assert after["bd"] == ("ok", f"version 0.9, {terminals.path}/bd")
    assert after["ntm"] == ("ok", f"{terminals.path}/ntm")
    assert after["tmux"][1].endswith(f", {terminals.path}/tmux")
    assert after["tmux"][1][0].isdecimal()
