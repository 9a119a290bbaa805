"""The demo, played: short and in full, in a pipe, in a terminal, without git, interrupted."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from brenner.services.demo import STEPS, THREAD, TRY_NEXT, complete_settings
from program import Run, brenner, files, git
from terminal import at_terminal

NOBODY = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
# In the short demo, and in the full one
MESSAGES = 19, 28
VERSIONS = [1, 2], [1, 2, 3, 4, 5]
(RUN_THREAD,) = {step.runs for step in STEPS if step.runs}
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_REDRAW = re.compile(r"\x1b\[\d+A\x1b\[J")  # the view of the agents' run
_EVENT = re.compile(r"\d{4}-\d\d-\d\dT\S+Z  ")


def demo(*arguments: str, cwd: Path, **environment: str) -> Run:
    """Play it where git knows nobody."""
    return brenner("demo", *arguments, cwd=cwd, **(NOBODY | environment))


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Run]:
    """A full demo that was played once, in a pipe."""
    outside = tmp_path_factory.mktemp("played")
    return outside / "demo", demo("demo", "--full", cwd=outside)


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Run]:
    """The short demo, in a pipe."""
    outside = tmp_path_factory.mktemp("short")
    return outside / "demo", demo("demo", cwd=outside)


@pytest.fixture
def copied(played: tuple[Path, Run], tmp_path: Path) -> Path:
    """What it left behind, to be changed."""
    return Path(shutil.copytree(played[0], tmp_path / "demo"))


def asked(folder: Path, *arguments: str) -> Any:
    """What a command says in JSON, after the demo."""
    done = brenner(*arguments, "--json", cwd=folder, **NOBODY)
    assert done.code == 0, done.out
    return done.json


def check_whole(folder: Path, *, is_full: bool = False) -> None:
    """The whole session is there, each message and each version once."""
    assert len(asked(folder, "mail", "thread", THREAD)["messages"]) == MESSAGES[is_full]
    assert asked(folder, "artifact", "verify", THREAD)["ok"] is True
    versions = asked(folder, "artifact", "history", THREAD)["versions"]
    assert [version["version"] for version in versions] == VERSIONS[is_full]
    saved = [version["persistence"]["status"] for version in versions]
    assert saved[:2] == ["Draft", "Persisted"]
    assert len(git("log", "--format=%s", cwd=folder).splitlines()) == 1 + is_full


def rewound(folder: Path, done: int) -> None:
    """As if it had been interrupted after that many steps."""
    path = folder / ".brenner" / "demo.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {"done": done}), "utf-8")


# What is shown, and what is left behind


def test_in_a_pipe(played: tuple[Path, Run]) -> None:
    """Everything on the standard output, in order, and without colour."""
    folder, done = played
    assert (done.code, done.err) == (0, "")
    assert "\x1b" not in done.out
    for words in (
        "git config user.name 'Brenner demo'",
        "(adversarial_critic)",
        "No agent owes an acknowledgement.",
        "JSON_SINGLE_QUOTES",
        "Not sent: 2 errors.\n",
        "(exit code 1)\n",
        '"discriminates": "H1 vs H2/H3",',
        "Published v1",
        "11 applied, 1 rejected, 0 duplicate",
        "Sent RedSky the errors of message 10, as message 12.",
        "predictions: H1 became H3",
        "predictions: H2 became H4",
        "# Validation Error",
        "Will Action",
        "Published v2",
        "10 applied, 0 rejected, 0 duplicate",
        "no problems; status active; third alternative: Present",
        "Committed: v2 is in artifacts/",
        "H4  Rewritten ribosomes  killed",
        "BlueLake  EDIT, message 16",
        "valid: no problems",
        "v2  ok",
        "1 file changed",
        "All steps ended as expected.",
    ):
        assert words in done.out
    unwrapped = done.out.replace("\n   ", " ")
    for written in STEPS:
        step = complete_settings(folder, written)
        is_due = step.when in ("", "git", "no identity", "full", "full, git")
        assert (f"$ {step.typed}\n" in done.out) is (is_due and bool(step.typed)), step
        assert (f"-- {step.says}\n" in unwrapped) is (is_due and bool(step.says)), step


# The short demo


MOST_LINES = 80
# Each part, with what the command line of others may not reword
PARTS = (
    r"^    --question 'Does phage T4 make its proteins on ribosomes of its own\?'",
    r"^outbox/1-red\.md:18  error JSON_SINGLE_QUOTES  ",
    r"^outbox/1-red\.md:22  error JSON_TRAILING_COMMA  ",
    r"^\$ brenner check --fix outbox/1-red\.md .*\n    \"discriminates\": \"H1 vs H2/H3\",$",
    r"\bv1 of RS-",
    r"\b11 applied, 1 ",
    r"\bv2 of RS-",
    r"^\*\*RT\*\*: Does phage T4",
    r"^### H3: Old ribosomes, borrowed text \(Third Alternative\)\n\*\*Claim\*\*: Phage",
    r"^### ~~H4: Rewritten ribosomes~~ \[KILLED\]$",
    r"^  H1  New ribosomes  modified\n      Claim    Phage proteins are made on {\+a few \+}",
    r"^    BlueLake  EDIT, message 16, block 1, in v2\n      Phage proteins",
    r"^  v1  ok .*\n  v2  ok ",
)


def rows(text: str, width: int = 80) -> int:
    """The lines that a terminal of that width needs."""
    return sum(max(1, -(-len(line) // width)) for line in text.splitlines())


def test_short_demo_has_every_part_in_80_lines(short: tuple[Path, Run]) -> None:
    """In order, and each command that it shows was run."""
    _, done = short
    assert (done.code, done.err) == (0, "")
    assert rows(done.out) <= MOST_LINES
    positions = []
    for part in PARTS:
        found = re.search(part, done.out, re.MULTILINE)
        assert found, part
        positions.append(found.start())
    assert positions == sorted(positions)
    for step in STEPS:
        is_shown = bool(step.short) and step.when in ("", "git", "short")
        assert (f"$ {step.typed}\n" in done.out) is (is_shown and bool(step.command)), step


def test_short_demo_in_a_terminal(tmp_path: Path) -> None:
    """Not longer there, and nothing is wider than the terminal but paths."""
    shown = _COLOUR.sub("", at_terminal(80, "demo", str(tmp_path / "demo"), **NOBODY))
    assert rows(shown) <= MOST_LINES
    assert too_wide(shown.splitlines()) == []
    check_whole(tmp_path / "demo")


def test_short_demo_leaves_the_same_behind(
    short: tuple[Path, Run], played: tuple[Path, Run]
) -> None:
    """The same messages, versions and files as the full one up to v2."""
    check_whole(short[0])
    of_run = (".brenner/runs", f".brenner/locks/{RUN_THREAD}")
    left = [each for each in files(played[0]) if not each.startswith(of_run)]
    assert [each for each in left if each not in files(short[0])] == []
    seen = []
    for folder in (short[0], played[0]):
        mail = asked(folder, "mail", "thread", THREAD)["messages"][: MESSAGES[False]]
        slate = asked(folder, "artifact", "show", f"{THREAD}@v2")["hypothesis_slate"]
        about = [(each["id"], each["from"], each["to"], each["subject"]) for each in mail]
        names = [(each["id"], each["name"]) for each in slate]
        seen.append(
            (about, names, git("log", "--format=%s", "--reverse", cwd=folder).split("\n")[0])
        )
    assert seen[0] == seen[1]


def test_short_demo_ends_with_the_line_that_opens_the_page(short: tuple[Path, Run]) -> None:
    """It works in any folder, whether or not `brenner` is on the path."""
    folder, done = short
    (line,) = re.findall(r"^  (cd .* serve)$", done.out, re.MULTILINE)
    assert line.startswith(f"cd {folder} && ")
    ended = subprocess.run(
        ["sh", "-c", f"{line} --help"], capture_output=True, check=False, text=True
    )
    assert (ended.returncode, "Usage: brenner serve" in ended.stdout) == (0, True)


# Results and the conclusion, in the full demo


def test_results_of_the_full_demo(played: tuple[Path, Run]) -> None:
    """The figures stay when outcomes are declared; what is contradicted asks for an answer."""
    folder, done = played
    row = r"^T2    1\.585 .* (wording|declared) .*\n.*\nT1    0\.918 "
    bases = re.findall(row, done.out, re.MULTILINE)
    assert bases == ["wording", "declared"]
    for words in (
        "T1 contradicts H1, and supports H2 and H3: heavy ",
        "T2 contradicts H1 and H2, and supports H3: heavy_transient ",
        "  H1/T1  T1 contradicts H1: kill it, change it, or say why you keep it  BlueLake",
        "Published v5 of RS-20260105-phage-protein-template, as message 27, and closed",
    ):
        assert words in done.out
    status = asked(folder, "session", "status", THREAD)
    assert (status["phase"], status["unanswered"]) == ("complete", [])
    tests = asked(folder, "artifact", "tests", f"{THREAD}@v3")
    assert [(each["id"], each["bits"]) for each in tests["tests"]] == [
        ("T2", 1.58496),
        ("T1", 0.918296),
    ]
    assert (tests["separating_set"], tests["unseparated"]) == (["T2"], [])


# The agents that run by themselves, at the end of the full demo


def check_run(folder: Path) -> None:
    """Their session is there once: four deltas and a correction later, nothing is open."""
    versions = asked(folder, "artifact", "history", RUN_THREAD)["versions"]
    assert [version["version"] for version in versions] == [1, 2, 3]
    mail = asked(folder, "mail", "thread", RUN_THREAD)["messages"]
    deltas = [each["from"] for each in mail if each["subject"].startswith("DELTA")]
    assert sorted(deltas) == ["AmberFox"] * 2 + ["CoralWren"] * 2 + ["IvoryHare"]
    lint = asked(folder, "artifact", "lint", RUN_THREAD)
    assert (lint["valid"], lint["violations"]) == (True, [])
    artifact = asked(folder, "artifact", "show", RUN_THREAD)
    assert artifact["hypothesis_slate"][0]["killed"]["agent"] == "AmberFox"
    assert len(artifact["discriminative_tests"]) == 2


def run_events(folder: Path) -> list[dict[str, Any]]:
    """The events of all runs in the folder, oldest first."""
    logs = sorted((folder / ".brenner" / "runs").glob("*/events.jsonl"))
    return [json.loads(line) for log in logs for line in log.read_text("utf-8").splitlines()]


def test_agents_of_the_full_demo(played: tuple[Path, Run]) -> None:
    """A faulty answer comes back with its errors, and the run ends when nothing is open."""
    folder, done = played
    check_run(folder)
    events = run_events(folder)
    turns = [each for each in events if each["event"] == "turn" and each["state"] == "ended"]
    ended = [(each["round"], each["agent"], each["why"], each["outcome"]) for each in turns]
    assert sorted(ended) == [
        (1, "AmberFox", "task", "contributed"),
        (2, "AmberFox", "task", "passed"),
        (2, "CoralWren", "task", "contributed"),
        (2, "IvoryHare", "reminder", "contributed"),
        (2, "IvoryHare", "task", "rejected"),
        (3, "AmberFox", "task", "contributed"),
        (3, "CoralWren", "task", "contributed"),
        (3, "IvoryHare", "task", "passed"),
    ]
    assert (events[-1]["reason"], events[-1]["versions"]) == ("all_answered", [1, 2, 3])
    correction = next(folder.glob(".brenner/runs/*/round-2-IvoryHare-2.log")).read_text("utf-8")
    assert "INVALID_SECTION: `tests` is not a section" in correction
    assert "JSON_TRAILING_COMMA" in correction
    assert "All steps ended as expected." in done.out


def test_the_small_agent_does_what_its_task_says(played: tuple[Path, Run]) -> None:
    """The IDs in its message are those of its task, and without hypotheses it writes none."""
    folder, _ = played
    log = next(folder.glob(".brenner/runs/*/round-2-IvoryHare-1.log")).read_text("utf-8")
    task = log.partition("Asked:\n\n")[2].replace("\n    ", "\n")[4:]
    swapped = task.replace("### H1:", "### H7:").replace("round 2.", "round 2.", 1)
    assert '"H7": "No second mutation' in small_agent(folder, swapped)
    assert small_agent(folder, task.replace("round 2.", "round 9.")).startswith("ACK:")


def small_agent(folder: Path, task: str) -> str:
    """What the agent's program answers."""
    program = [sys.executable, str(folder / "agents" / "agent.py")]
    ended = subprocess.run(program, input=task, capture_output=True, check=True, text=True)
    return ended.stdout


@pytest.mark.thorough
def test_full_demo_goes_on_with_a_killed_run(tmp_path: Path) -> None:
    """No message is there twice, and the agents finish what they were asked."""
    process = subprocess.Popen(
        [sys.executable, "-m", "brenner", "demo", "--full", "demo"],
        cwd=tmp_path,
        env=os.environ | NOBODY | {"TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    for line in process.stdout:
        if "Round 2: turns of" in line:
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    done = demo("--full", "demo", cwd=tmp_path)
    assert (done.code, "$ brenner session run" in done.out) == (0, True), done.out
    assert len(list((tmp_path / "demo" / ".brenner" / "runs").iterdir())) == 2
    check_run(tmp_path / "demo")
    check_whole(tmp_path / "demo", is_full=True)


# Step by step


def test_steps_wait_for_enter(tmp_path: Path) -> None:
    """Before each shown step, and not elsewhere."""
    shown = at_terminal(80, "demo", "--step", str(tmp_path / "demo"), typed="\n" * 50, **NOBODY)
    assert shown.count("Press Enter to continue") == sum(
        bool(step.short) and step.when in ("", "git", "short") for step in STEPS
    )
    check_whole(tmp_path / "demo")


@pytest.mark.parametrize("more", [(), ("--full",), ("--json",)])
def test_steps_need_a_terminal(tmp_path: Path, more: tuple[str, ...]) -> None:
    """Otherwise nothing is begun."""
    done = demo("demo", "--step", *more, cwd=tmp_path)
    assert done.code == 2
    assert files(tmp_path) == []


def test_what_is_left_behind(played: tuple[Path, Run]) -> None:
    """A session that verifies, one commit of one file, and nothing else in the repository."""
    folder, _ = played
    check_whole(folder, is_full=True)
    lint = asked(folder, "artifact", "lint", THREAD)
    assert (lint["valid"], lint["violations"]) == (True, [])
    artifact = asked(folder, "artifact", "show", THREAD)
    assert artifact["metadata"]["status"] == "closed"
    assert artifact["research_thread"]["conclusion"].startswith("No. A short-lived RNA")
    killed = [each["id"] for each in artifact["hypothesis_slate"] if each["killed"]]
    assert killed == ["H1", "H2", "H4"]
    assert artifact["hypothesis_slate"][3]["killed"]["agent"] == "GreenDog"
    shown = git("show", "--format=%an <%ae>", "--name-only", "HEAD", cwd=folder).split("\n")
    assert shown == ["Brenner demo <demo@example.org>", "", f"artifacts/{THREAD}.md", ""]
    assert git("config", "--local", "user.name", cwd=folder) == "Brenner demo\n"


def test_what_to_try_next(copied: Path, played: tuple[Path, Run]) -> None:
    """What is advised works as it stands, from the folder's name to the end of the session."""
    folder, done = played
    advised = re.findall(r"^  (\S.*)$", done.out.rpartition("Try next:\n")[2], re.MULTILINE)
    assert advised[0] == f"cd {folder}"
    assert advised[-len(TRY_NEXT) :] == [command for command, _ in TRY_NEXT]
    *commands, last = advised
    assert last == "brenner serve"  # which goes on until it is ended, and has tests of its own
    script = "\n".join(commands).replace(str(folder), str(copied))
    typed = subprocess.run(
        ["sh", "-e", "-c", script],
        stdin=subprocess.DEVNULL,
        env=os.environ | NOBODY,
        capture_output=True,
        check=False,
    )
    assert (typed.returncode, typed.stderr) == (0, b"")
    assert asked(copied, "artifact", "show", RUN_THREAD)["metadata"]["status"] == "closed"
    assert (copied / "mine.md").exists()


# For programs; nothing is made up


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The JSON of a demo in a temporary folder, where much is set that it must not use."""
    outside = tmp_path_factory.mktemp("told")
    store = f"sqlite:///{outside}/mail.sqlite3"
    done = demo(
        "--json",
        cwd=outside,
        TMPDIR=str(outside),
        BRENNER_STORE=store,
        AGENT_NAME="Zed",
        BRENNER_ROSTER_PRESET="none-such",
        GIT_DIR=str(outside / "elsewhere"),
    )
    assert (done.code, done.err) == (0, "")
    assert not (outside / "mail.sqlite3").exists()
    assert not (outside / "elsewhere").exists()
    return done.json


def test_every_step_ends_as_it_should(told: Any) -> None:
    """Each says how it ended and how it should; one is refused, and should be."""
    assert (told["ok"], told["git"], told["resumed_after"]) == (True, True, None)
    assert told["thread_id"] == THREAD
    due = [n for n, step in enumerate(STEPS, 1) if step.when in ("", "git", "no identity")]
    assert [step["step"] for step in told["steps"]] == due
    assert all(step["exit_code"] == step["expected"] and step["ok"] for step in told["steps"])
    assert [step["exit_code"] for step in told["steps"]].count(1) == 1


def test_nothing_is_made_up(told: Any) -> None:
    """Whoever types the commands that only look gets the same."""
    folder = Path(told["project"])
    looking = ("artifact diff", "artifact blame", "artifact lint", "artifact verify")
    again = [step for step in told["steps"] if str(step["command"])[8:].startswith(looking)]
    assert len(again) == 4
    for step in again:
        done = brenner(*step["command"].split()[1:], cwd=folder, **NOBODY)
        assert (done.code, done.out + done.err) == (0, step["output"])
    log = next(step for step in told["steps"] if step["command"] == "git log --stat")
    assert git("log", "--stat", cwd=folder) == log["output"]


# In a terminal


def too_wide(lines: list[str]) -> list[str]:
    """Lines that 80 columns do not hold, but for events, a message, one of git's, long paths."""
    paths = ("$ cd ", "  cd ", "  PATH=", "  alias ", "run = [")
    exact = ('    "procedure": ', "    artifact(", *paths)
    wide = [line for line in lines if len(line) > 80 and not line.startswith(exact)]
    return [line for line in wide if not _EVENT.match(line)]


def test_in_a_terminal(tmp_path: Path) -> None:
    """In colour, within 80 columns, and without a pager though somebody sits there."""
    shown = at_terminal(80, "demo", "--full", str(tmp_path / "demo"), **NOBODY)
    assert "\x1b[1m-- Round 1." in shown
    plain = _REDRAW.sub("", _COLOUR.sub("", shown))
    assert "\x1b" not in plain
    assert too_wide(plain.splitlines()) == []
    assert "All steps ended as expected." in plain
    check_whole(tmp_path / "demo", is_full=True)


def test_without_git_and_colour(tmp_path: Path) -> None:
    """The file is written, and that nothing is committed is said at the start and at the end."""
    environment = {"PATH": str(tmp_path), "NO_COLOR": "1"}
    shown = at_terminal(80, "demo", "--full", str(tmp_path / "demo"), **environment)
    assert "\x1b" not in shown
    assert too_wide(shown.splitlines()) == []
    assert "-- GIT IS NOT INSTALLED: the artifact will be written" in shown
    assert "\nGIT IS NOT INSTALLED: nothing was committed.\nAll steps ended" in shown
    assert not re.search(r"^\$ (git|.* --commit)", shown, re.MULTILINE)
    assert f"artifacts/{THREAD}.md" in files(tmp_path / "demo")
    assert not (tmp_path / "demo" / ".git").exists()


# Other people's git


def test_her_git_stays_as_it_is(tmp_path: Path) -> None:
    """She signs, and has hooks everywhere: neither stops the demo, and both stay; so her name."""
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "pre-commit").write_text("#!/bin/sh\nexit 1\n", "utf-8")
    (hooks / "pre-commit").chmod(0o755)
    hers = tmp_path / "gitconfig"
    hers.write_text(
        "[user]\nname = Ada\nemail = ada@example.org\n[commit]\ngpgsign = true\n"
        f"[core]\nhooksPath = {hooks}\n",
        "utf-8",
    )
    before = hers.read_bytes()
    done = demo("demo", "--full", cwd=tmp_path, GIT_CONFIG_GLOBAL=str(hers))
    assert done.code == 0, done.out
    assert hers.read_bytes() == before
    assert "$ git config commit.gpgsign false\n" in done.out
    assert "$ git config core.hooksPath .git/hooks\n" in done.out
    assert "git config user.name" not in done.out
    assert git("log", "--format=%an", cwd=tmp_path / "demo") == "Ada\nAda\n"


# Twice, and interrupted


def test_twice_in_one_folder(played: tuple[Path, Run]) -> None:
    """The second time it is refused, and changes nothing."""
    folder, _ = played
    before = {name: (folder / name).stat().st_mtime_ns for name in files(folder)}
    done = demo("demo", cwd=folder.parent)
    assert (done.code, done.out) == (2, "")
    assert "already contains a finished demo" in done.err
    assert {name: (folder / name).stat().st_mtime_ns for name in files(folder)} == before


def test_every_step_can_be_repeated(copied: Path) -> None:
    """Whatever was finished and not noted: no message is there twice, nor a commit."""
    rewound(copied, 0)
    done = demo("demo", "--full", cwd=copied.parent)
    assert done.code == 0, done.out
    assert f"This demo was interrupted after step 0 of {len(STEPS)}." in done.out
    assert "Already sent with this key" in done.out
    check_whole(copied, is_full=True)


def test_killed_and_gone_on_with(tmp_path: Path) -> None:
    """From the step that it was killed in."""
    process = subprocess.Popen(
        [sys.executable, "-m", "brenner", "demo", "demo"],
        cwd=tmp_path,
        env=os.environ | NOBODY,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    for line in process.stdout:
        if line.startswith("Published v1"):
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    done = demo("demo", "--json", cwd=tmp_path)
    assert (done.code, done.json["ok"]) == (0, True)
    assert done.json["steps"][0]["step"] == done.json["resumed_after"] + 1 > 10
    check_whole(tmp_path / "demo")


def test_a_step_that_fails(copied: Path) -> None:
    """Is named, with what it should have been; the exit code says what kind of failure it was."""
    number = 1 + next(n for n, step in enumerate(STEPS) if "mail pending" in step.command)
    (copied / ".brenner" / "mail.sqlite3").write_bytes(b"no store at all" * 100)
    rewound(copied, number - 1)
    done = demo("demo", cwd=copied.parent)
    assert done.code == 3
    assert f"Step {number} of {len(STEPS)} failed: exit code 3 instead of 0." in done.err
    assert f"To repeat it and go on: `brenner demo {copied}`." in done.err
    assert f"$ {STEPS[number - 1].typed}\n" in done.out
    told = demo("demo", "--json", cwd=copied.parent)
    assert (told.code, told.json["ok"]) == (3, False)
    assert [(step["step"], step["ok"]) for step in told.json["steps"]] == [(number, False)]
