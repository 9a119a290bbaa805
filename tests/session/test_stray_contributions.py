"""Contributions that would be lost in silence: the sender and the operator see each of them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from brenner.services.compile import CompileOptions, compile_thread
from brenner.session.misplaced_blocks import misplaced_blocks_in
from mail_shell import Shell
from program import Run
from serving.sessions import in_session, value
from session.busy_session import ANN, BEA, Stage
from session.round_play import THREAD as ROUND_THREAD
from session.workspaces import THREAD, add, edit

RAW = json.dumps(add("Clock"))
FENCED = f"```json\n{RAW}\n```"
DELTA = f"```delta\n{RAW}\n```\n"
TYPES = ("INFO: Thoughts", "CRITIQUE: H1", "QUESTION: What of it?", "CLAIM: Mine", "Re: DELTA: x")
QUIET = (
    f"> {RAW}\n",
    f"> ```json\n> {RAW}\n> ```\n",
    f"<pre>\n{RAW}\n</pre>\n",
    f"As in `{RAW}`.\n",
    f"````markdown\n{DELTA}````\n",
    '```json\n{"operation": "ADD"}\n```\n',
)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """A session whose two agents have acknowledged the kickoff."""
    stage = Stage(tmp_path)
    for name, number in zip((ANN, BEA), stage.kickoff(ANN, BEA), strict=True):
        stage.acknowledge(name, number)
    return stage


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: Stage) -> Shell:
    for name in ("AGENT_NAME", "BRENNER_STORE"):
        monkeypatch.delenv(name, raising=False)
    stage.close()
    return Shell(tmp_path, monkeypatch)


def message(folder: Path, subject: str, body: str, thread_id: str = THREAD) -> str:
    """A message file from an agent to the operator."""
    path = folder / "message.md"
    headers = f"Thread: {thread_id}\nFrom: {BEA}\nTo: Operator\nSubject: {subject}\n"
    path.write_text(f"{headers}\n{body}", "utf-8")
    return str(path)


def codes(done: Run) -> list[str]:
    return [each["id"] for each in done.json["violations"]]


# A delta outside a delta block, in a message of another type


@pytest.mark.parametrize("subject", TYPES)
@pytest.mark.parametrize("text", [RAW, FENCED])
def test_a_check_warns(shell: Shell, subject: str, text: str) -> None:
    file = message(shell.folder, subject, f"Here it is:\n\n{text}\n")
    found = [e for e in shell("check", file, "--json").json["violations"] if "NOT_CON" in e["id"]]
    assert [(each["id"], each["severity"]) for each in found] == [
        ("DELTA_NOT_CONTRIBUTED", "warning")
    ]
    assert found[0]["line"] == (8 if text == RAW else 9)


@pytest.mark.parametrize("text", QUIET)
def test_examples_and_quotations_stay_silent(shell: Shell, text: str) -> None:
    file = message(shell.folder, TYPES[0], text)
    assert codes(shell("check", file, "--json")) == []
    assert shell("mail", "send", file, "--as", BEA).err == ""
    assert shell("session", "status", THREAD, "--json").json["misplaced"] == []


def test_a_kickoff_shows_the_format(stage: Stage) -> None:
    stored = stage.send("Operator", ANN, "KICKOFF: Round 2", f"# Format\n\n{FENCED}\n")
    assert misplaced_blocks_in(stored) == ()
    stage.close()


def test_a_send_warns_and_the_status_lists_it(shell: Shell) -> None:
    file = message(shell.folder, TYPES[0], f"Here it is:\n\n{FENCED}\n")
    sent = shell("mail", "send", file, "--as", BEA, "--json")
    assert (sent.json["sent"], codes(sent)) == (True, ["DELTA_NOT_CONTRIBUTED"])
    number = sent.json["message"]["id"]
    [row] = shell("session", "status", THREAD, "--json").json["misplaced"]
    assert (row["message_id"], row["block"], row["name"]) == (number, 1, "Clock")
    assert shell("session", "dismiss", THREAD, f"{number}.1").code == 0
    assert shell("session", "status", THREAD, "--json").json["misplaced"] == []


def test_the_numbers_of_delta_blocks_stay(stage: Stage) -> None:
    """A dismissal names a number, so a stray before a block must not take it."""
    stored = stage.send(BEA, "Operator", TYPES[0], f"{RAW}\n\n{DELTA.replace('Clock', 'Timer')}")
    assert [(e.block, e.name) for e in misplaced_blocks_in(stored)] == [(1, "Timer"), (2, "Clock")]
    stage.close()


def test_the_tools_of_agents_warn() -> None:
    here = in_session()
    message: dict[str, object] = {
        "thread_id": ROUND_THREAD,
        "subject": TYPES[0],
        "body_md": f"{FENCED}\n",
    }
    message |= {"sender_name": ANN, "to": ["Operator"]}
    key = str(here.workspace.project.folder)
    checked = here.ask("brenner_check", **message)
    sent = here.ask("send_message", **message, project_key=key)
    for answer in (checked, sent):
        assert not answer.is_error
        assert "DELTA_NOT_CONTRIBUTED" in json.dumps(value(answer))


# A DELTA in a thread that is no session, and a mistyped thread


@pytest.mark.parametrize(("thread_id", "meant"), [("cell-fate", THREAD), ("COORD-daily", None)])
def test_a_delta_in_a_thread_without_a_kickoff(
    shell: Shell, thread_id: str, meant: str | None
) -> None:
    opening = message(shell.folder, "INFO: Hello", "Hello.\n", thread_id)
    assert shell("mail", "send", opening, "--as", BEA).code == 0
    file = message(shell.folder, "DELTA[opus]: News", DELTA, thread_id)
    sent = shell("mail", "send", file, "--as", BEA, "--json")
    [found] = sent.json["violations"]
    assert (sent.json["sent"], found["id"]) == (True, "NO_SESSION_YET")
    assert found.get("suggestion") == meant
    file = message(shell.folder, "DELTA[opus]: News", DELTA)
    assert codes(shell("mail", "send", file, "--as", BEA, "--json")) == []


def test_the_option_thread_understands_a_part_of_one_session(shell: Shell) -> None:
    parts = ("--as", BEA, "--to", "Operator", "--subject", "INFO: x", "--body", "x", "--json")
    done = shell("mail", "send", "--thread", "cell-fate", *parts)
    assert done.json["message"]["thread_id"] == THREAD
    assert f"Interpreted `cell-fate` as {THREAD}." in done.err
    for new in ("COORD-daily", "fate-of-cells"):
        assert shell("mail", "send", "--thread", new, *parts).json["message"]["thread_id"] == new
    part = shell("mail", "send", "--thread", "daily", *parts).json["message"]["thread_id"]
    assert part == "daily", "the thread that contains it is no session"


def test_fix_sends_to_the_thread_that_is_certainly_meant(shell: Shell) -> None:
    file = message(shell.folder, "DELTA[opus]: News", DELTA, THREAD.replace("fate", "fte"))
    refused = shell("mail", "send", file, "--as", BEA)
    assert refused.code == 1
    assert "brenner check --fix" not in refused.err, "it does not know the threads"
    assert "brenner mail send --fix" in refused.err
    sent = shell("mail", "send", "--fix", file, "--as", BEA, "--json")
    assert sent.json["message"]["thread_id"] == THREAD
    assert [each["id"] for each in sent.json["fixed"]] == ["UNKNOWN_THREAD"]


# After the end


def test_a_misplaced_block_after_the_end_is_a_need(shell: Shell) -> None:
    early = message(shell.folder, TYPES[0], DELTA.replace("Clock", "Early"))
    assert shell("mail", "send", early, "--as", BEA).code == 0
    delta = message(shell.folder, "DELTA[opus]: News", DELTA)
    assert shell("mail", "send", delta, "--as", BEA).code == 0
    assert shell("compile", THREAD).code == 0
    assert shell("session", "complete", THREAD).code == 0
    assert shell("session", "status", THREAD, "--json").json["attention"] == []
    late = message(shell.folder, TYPES[0], DELTA.replace("Clock", "Late"))
    sent = shell("mail", "send", late, "--as", BEA, "--json")
    assert codes(sent) == ["AFTER_THE_END", "DELTA_NOT_CONTRIBUTED"]
    assert "THREAD" not in sent.json["violations"][0]["fix"]
    number = sent.json["message"]["id"]
    status = shell("session", "status", THREAD, "--json").json
    assert [each["kind"] for each in status["attention"]] == ["misplaced"]
    shown = shell("session", "status", THREAD).out
    assert f"{number}.1" in shown
    assert "Early" not in shown
    listed = shell("session", "list", "--json").json["sessions"]
    assert "misplaced" in listed[0]["needs"]
    assert shell("session", "dismiss", THREAD, f"{number}.1").code == 0
    assert shell("session", "status", THREAD, "--json").json["attention"] == []


def reopen(shell: Shell, shown: str) -> None:
    """Run the command that reopens the session, as it was printed."""
    [command] = {each for each in shown.split("`") if each.startswith("brenner ")}
    program = f"{sys.executable} -m brenner --project {shell.folder}"
    line = command.replace("brenner ", f"{program} ")
    subprocess.run(line, shell=True, check=True, capture_output=True, env=dict(os.environ))  # noqa: S602


def cancel(shell: Shell) -> None:
    assert shell("session", "cancel", THREAD, "--reason", "Answered").code == 0


def test_a_compile_of_a_cancelled_session_says_so(shell: Shell) -> None:
    cancel(shell)
    done = shell("compile", THREAD)
    assert done.code == 0
    assert done.out.startswith(f"Nothing to compile in {THREAD}: the session is cancelled.")
    assert "SESSION_CANCELLED" in done.err
    reopen(shell, done.err.partition("→")[2])
    assert shell("session", "status", THREAD, "--json").json["phase"] != "cancelled"


def test_a_cancelled_session_with_a_version(shell: Shell) -> None:
    """Neither its first round nor a repeated round sends a kickoff twice."""
    delta = message(shell.folder, "DELTA[opus]: News", DELTA)
    assert shell("mail", "send", delta, "--as", BEA).code == 0
    assert shell("compile", THREAD).code == 0
    for _ in range(2):
        cancel(shell)
        reopen(shell, shell("compile", THREAD).err.partition("→")[2])
        assert shell("session", "status", THREAD, "--json").json["phase"] != "cancelled"
    cancel(shell)
    repeated = shell("session", "round", "--reopen", THREAD)
    assert "SESSION_CANCELLED" in repeated.err


def test_a_repeated_start_of_a_cancelled_session_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AGENT_NAME", raising=False)
    shell = Shell(tmp_path, monkeypatch)
    asked = ("--question", "Why?", "--context", "Cells differ.", "--thread-id", THREAD)
    start = ("session", "start", *asked, "--to", ANN, "--role", "hypothesis_generator")
    assert "SESSION_CANCELLED" not in shell(*start).err
    assert "SESSION_CANCELLED" not in shell(*start).err
    cancel(shell)
    done = shell(*start)
    assert done.code == 0
    assert "To see whose turn it is" not in done.out
    reopen(shell, done.err.rpartition("→")[2])
    assert shell("session", "status", THREAD, "--json").json["phase"] != "cancelled"


# Advice on a conflict


def conflict_fix(stage: Stage, *, is_killed: bool) -> str:
    """Two edits of one field, perhaps with a KILL in the same compile; the fix of the conflict."""
    stage.contribute(ANN, add("Gradient"))
    stage.compile()
    stage.contribute(ANN, edit("H1", mechanism="a gradient"))
    stage.contribute(BEA, edit("H1", mechanism="a clock"))
    if is_killed:
        stage.contribute(ANN, edit("H1", reason="Too weak") | {"operation": "KILL"})
    compiled = compile_thread(stage.workspace, THREAD, CompileOptions())
    found = [each for entry in compiled.ledger for each in entry.diagnostics]
    [fix] = [each.fix for each in found if each.id == "CONFLICTING_EDIT"]
    return fix


def test_the_fix_of_a_conflict_names_the_thread(stage: Stage) -> None:
    assert f"`brenner artifact blame {THREAD} H1.mechanism" in conflict_fix(stage, is_killed=False)
    stage.close()


def test_a_killed_item_needs_no_edit(shell: Shell, tmp_path: Path) -> None:
    again = Stage(tmp_path)
    assert conflict_fix(again, is_killed=True) == "No action is needed: `H1` is killed."
    again.close()
    shown = json.dumps(shell("artifact", "ledger", THREAD, "--json").json)
    assert "`H1` is killed" in shown
