"""`brenner result` from the outside: the record of a command, its end, and what is asked."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from brenner.services.compile import CompileOptions
from program import Run, brenner, brenner_process
from session.workspaces import ANN, THREAD, add, contribute, kickoff, new_workspace
from terminal import run_in_terminal

_SECONDS = 60.0
_DECLARED = {"fast": "Within an hour", "slow": "After a day"}
# Writes the process id of its child, and does not end when it is asked to
_STUBBORN = """
import signal, subprocess, sys, time
for each in (signal.SIGINT, signal.SIGTERM):
    signal.signal(each, lambda *_: print("not yet", flush=True))
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
time.sleep(600)
"""


def assay(number: int, **more: object) -> dict[str, object]:
    """An ADD of a test that tells H1 from H2."""
    return {
        "operation": "ADD",
        "section": "discriminative_tests",
        "target_id": None,
        "payload": {
            "name": f"Count {number}",
            "procedure": "Count colonies",
            "discriminates": "H1 vs H2",
            "expected_outcomes": {"H1": "fast", "H2": "slow"},
            **more,
        },
        "rationale": "It tells them apart",
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project whose v1 has H1, H2, and T1 with declared outcomes; T2 is not compiled yet."""
    with new_workspace(tmp_path / "lab") as workspace:
        kickoff(workspace)
        declared = assay(1, outcomes=_DECLARED)
        contribute(workspace, ANN, add("Lineage"), add("Gradient"), declared)
        workspace.compile(THREAD, CompileOptions())
        contribute(workspace, ANN, assay(2), base="v1")
    return tmp_path / "lab"


def results(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = brenner("result", "list", "--json", cwd=folder).json["results"]
    return found


def record_of(folder: Path, done: Run) -> tuple[dict[str, Any], Path]:
    """The record of a run, as the file has it, and that file."""
    path = folder / done.json["run"]["path"]
    return json.loads(path.read_text("utf-8")), path


def waited_for(found: Callable[[], Any]) -> Any:
    """What the function returns, once that is anything."""
    end = time.monotonic() + _SECONDS
    while not (value := found()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return value


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


# -------- add


def test_what_follows_is_said_in_one_line(folder: Path) -> None:
    done = brenner("result", "add", "T1", "--outcome", "slow", "--potency", "passed", cwd=folder)
    first, *_ = done.out.split("\n")
    assert first == "T1 contradicts H1, and supports H2: slow (After a day). Sent as message 5."
    assert "shown as claimed" in done.out
    assert f"brenner compile {THREAD}" in done.out
    assert (done.code, done.err) == (0, "")
    failed = brenner("result", "add", "T1", "--outcome", "slow", "--potency=failed", cwd=folder)
    assert failed.out.startswith("T1 failed its potency check, so nothing follows: slow")


def test_the_command_that_states_a_verdict_works(folder: Path) -> None:
    """A result of a test in unread mail; the correction is run as the warning gives it."""
    done = brenner(
        *("result", "add", THREAD, "T2", "--outcome", "It's \x07 red", "--json"), cwd=folder
    )
    assert done.codes == ["RESULT_WITHOUT_VERDICT"]
    fix = done.json["violations"][0]["fix"]
    command = fix.split("`")[1]
    script = f"{sys.executable} -m {command}"
    again = subprocess.run(["sh", "-c", script], cwd=folder, capture_output=True, check=False)
    assert again.returncode == 0, again.stderr
    [only] = results(folder)
    assert (only["contradicts"], only["version"], only["number"]) == (["H1"], None, 1)


def test_a_near_key_gets_the_closest_one(folder: Path) -> None:
    done = brenner("result", "add", "T1", "--outcome", "Slow", "--json", cwd=folder)
    [found] = done.json["violations"]
    assert "Declared outcomes: `fast`, `slow`." in found["message"]
    assert "--outcome slow --replace 1" in found["fix"]


def test_an_agent_records_in_its_own_name(folder: Path) -> None:
    options = ("--outcome", "fast", "--as", ANN, "--json")
    done = brenner("result", "add", "T1", *options, cwd=folder)
    assert done.json["message"]["from"] == ANN
    assert not done.json["message"]["subject"].startswith("DELTA[human]")
    assert [each["agent"] for each in results(folder)] == [ANN]


def test_files_outside_the_project_are_no_evidence(folder: Path) -> None:
    (folder.parent / "outside.csv").write_text("1", "utf-8")
    (folder / "data").mkdir()
    (folder / "data" / "in side.csv").write_text("1", "utf-8")
    outside = ("--evidence", "file:../outside.csv")
    refused = brenner("result", "add", "T1", "--outcome", "fast", *outside, "--json", cwd=folder)
    assert (refused.code, refused.codes) == (1, ["RESULT_FILE_UNREADABLE"])
    inside = ("--evidence", "file:in side.csv", "--evidence", "§42")
    brenner("result", "add", "T1", "--outcome", "fast", *inside, cwd=folder / "data")
    digest = sha256(b"1").hexdigest()
    assert results(folder)[0]["evidence"] == [f"file:data/in side.csv#sha256={digest}", "§42"]
    os.mkfifo(folder / "pipe")
    pipe = ("--evidence", "file:pipe", "--json")
    assert brenner("result", "add", "T1", "--outcome", "fast", *pipe, cwd=folder).code == 1
    forged = ("--evidence", f"file:../outside.csv#sha256={digest}")
    brenner("result", "add", "T1", "--outcome", "fast", *forged, cwd=folder)
    assert [each["state"] for each in results(folder)[1]["files"]] == ["missing"]


@pytest.mark.parametrize(
    "words",
    [
        ("--outcome", " "),
        ("--outcome", "x", "--contradicts", "H1,,H2"),
        ("--outcome", "x", "--potency", "failed", "--supports", "H1"),
        ("--outcome", "x", "--replace", "0"),
        (),
    ],
)
def test_wrong_usage(folder: Path, words: tuple[str, ...]) -> None:
    assert brenner("result", "add", "T1", *words, cwd=folder).code == 2
    assert brenner("result", "add", "H1", "--outcome", "x", cwd=folder).code == 2
    assert results(folder) == []


def test_a_person_is_asked(folder: Path) -> None:
    """For the declared key that a text means, and for a verdict; wrong IDs are asked for again."""
    command = [sys.executable, "-m", "brenner", "--project", str(folder), "result", "add"]
    near = run_in_terminal(
        [*command, "T1", "--outcome", "Slow", "--potency", "passed"],
        dict(os.environ),
        100,
        typed="y\n",
        has_keyboard=True,
        has_errors=True,
    )
    assert "Do you mean the declared outcome `slow`?" in near
    assert "T1 contradicts H1, and supports H2: slow" in near
    silent = run_in_terminal(
        [*command, "T2", "--outcome", "red"],
        dict(os.environ),
        100,
        typed="h9\nh1, h2\n\n",
        has_keyboard=True,
        has_errors=True,
    )
    assert "NO_SUCH_ITEM" in silent
    assert "T2 contradicts H1 and H2: red" in silent


# -------- run


def test_the_record_of_a_command(folder: Path) -> None:
    """What was run, how it ended, what it printed: in a file that the result names by its hash."""
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    identity = ("-c", "user.name=A", "-c", "user.email=a@b.c")
    (folder / "code.py").write_text("1", "utf-8")
    subprocess.run(["git", "add", "code.py"], cwd=folder, check=True)
    subprocess.run(["git", *identity, "commit", "-qm", "Code"], cwd=folder, check=True)
    script = "import sys; print('x' * 40000); sys.stderr.write('end'); sys.exit(7)"
    outcome = ("--outcome", "fast", "--potency", "passed", "--json")
    words = ("result", "run", THREAD, "t1", *outcome, "--", sys.executable, "-c", script)
    done = brenner_process(*words, cwd=folder)
    assert done.code == 0, done.err
    assert "x" * 40000 in done.err, "with --json the output goes to standard error"
    record, path = record_of(folder, done)
    assert record["argv"] == [sys.executable, "-c", script]
    assert (record["ending"], record["exit_code"], record["folder"]) == ("exited", 7, ".")
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True, check=True
    )
    assert record["git"] == {"commit": head.stdout.strip(), "dirty": False}
    output = path.with_name(record["output"]["file"]).read_bytes()
    assert sorted(output) == sorted(b"x" * 40000 + b"\nend")
    assert record["output"]["sha256"] == sha256(output).hexdigest()
    assert record["output"]["truncated"]
    assert len(record["output"]["start"] + record["output"]["end"]) == 16 * 1024
    shown = path.relative_to(folder).as_posix()
    digest = sha256(path.read_bytes()).hexdigest()
    assert done.json["result"]["evidence"] == [f"file:{shown}#sha256={digest}"]
    assert done.json["result"]["observed_at"] == record["ended_at"]
    (folder / "code.py").write_text("2", "utf-8")
    again = brenner_process(*words, cwd=folder)
    assert record_of(folder, again)[0]["git"]["dirty"], "the records themselves are no change"
    path.with_name(record["output"]["file"]).unlink()
    listed = brenner("result", "list", "--json", cwd=folder)
    assert listed.codes == ["RESULT_FILE_MISSING"]
    states = [[each["state"] for each in result["files"]] for result in listed.json["results"]]
    assert states == [["same", "missing"], ["same", "same"]]


def test_without_an_outcome_nothing_is_sent(folder: Path) -> None:
    """The printed command records the result with the record as evidence."""
    done = brenner_process("result", "run", "T1", "--", "sh", "-c", "echo out; exit 1", cwd=folder)
    assert (done.code, done.out) == (0, "out\n")
    assert "Nothing was sent." in done.err
    assert results(folder) == []
    command = done.err.split("`")[-2].replace("OUTCOME", "slow")
    subprocess.run(["sh", "-c", f"{sys.executable} -m {command}"], cwd=folder, check=True)
    [only] = results(folder)
    assert (only["outcome"], [each["state"] for each in only["files"]]) == (
        "slow",
        ["same", "same"],
    )


def test_a_person_is_asked_for_the_outcome(folder: Path) -> None:
    command = (sys.executable, "-m", "brenner")
    shown = run_in_terminal(
        [*command, "--project", str(folder), "result", "run", "T1", "--", "true"],
        dict(os.environ),
        100,
        typed="slow\n",
        has_keyboard=True,
        has_errors=True,
    )
    assert "What did T1 show?" in shown
    assert "After a day" in shown
    assert "T1 contradicts H1, and supports H2: slow" in shown


def test_a_timeout_ends_all_processes(folder: Path) -> None:
    """Also one that has left the process group; the record is kept, and nothing is sent."""
    leaves = (
        "import subprocess, sys, time; print(subprocess.Popen([sys.executable, '-c', "
        "'import time; time.sleep(600)'], start_new_session=True).pid, flush=True); "
        "time.sleep(600)"
    )
    words = ("--timeout", "1", "--outcome", "fast", "--json", "--", sys.executable, "-c", leaves)
    done = brenner_process("result", "run", "T1", *words, cwd=folder)
    record, path = record_of(folder, done)
    assert (done.code, done.json["sent"], record["ending"]) == (1, False, "timeout")
    assert record["exit_code"] is None
    assert not is_running(int(path.with_suffix(".txt").read_text("utf-8")))
    assert results(folder) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ctrl_c_ends_the_command_and_keeps_its_record(folder: Path, number: int) -> None:
    """The second signal does not wait for a command that ignores the first."""
    command = [sys.executable, "-m", "brenner", "result", "run", "T1", "--outcome", "fast"]
    process = subprocess.Popen(
        [*command, "--", sys.executable, "-c", _STUBBORN],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    child = int(process.stdout.readline())
    process.send_signal(number)
    assert process.stdout.readline() == "not yet\n"
    process.send_signal(number)
    _, said = process.communicate(timeout=_SECONDS)
    assert process.returncode == 130
    assert "was interrupted" in said
    waited_for(lambda: not is_running(child))
    [path] = (folder / "results" / THREAD).glob("*.json")
    record = json.loads(path.read_text("utf-8"))
    assert (record["ending"], record["signal"]) == ("interrupted", signal.SIGKILL)
    assert results(folder) == []


def test_too_much_output_stops_the_command(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from brenner.cli.result import run as command
    from brenner.integrations.command_process import CommandLimits

    monkeypatch.setattr(command, "CommandLimits", lambda seconds: CommandLimits(seconds, 1000))
    words = ("--outcome", "fast", "--json", "--", "yes")
    done = brenner("result", "run", "T1", *words, cwd=folder)
    assert (done.code, done.json["run"]["ending"]) == (1, "output_limit")


def test_a_command_that_cannot_be_run_leaves_nothing(folder: Path) -> None:
    (folder / "plain.txt").write_text("no program", "utf-8")
    for program, reason in (("no-such-program", "no such program"), ("./plain.txt", "permission")):
        done = brenner("result", "run", "T1", "--json", "--", program, cwd=folder)
        assert (done.code, done.codes) == (3, ["COMMAND_NOT_RUN"])
        assert reason in done.json["violations"][0]["message"]
    assert not (folder / "results").exists()
