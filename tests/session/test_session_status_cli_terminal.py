"""The status as a person sees it: terminals of 80 and 140 columns, colour, a bead, a slow bd."""

import re
from pathlib import Path

import pytest

from brenner.cli.terminal import display_width
from effort import thorough
from mail_shell import Shell
from session.busy_session import ANN, GIL, Stage, busy
from session.workspaces import THREAD, add, edit
from terminal import at_terminal, in_terminal

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
BEAD = "bot-5so.1.4"
TELLS = (
    r"""printf '[{"id": "%s", "title": "Prove \\u001b[2J it", "status": "in_progress"}]' "$2" """
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A session in which everything is open that can be."""
    busy(tmp_path)
    return tmp_path


def screen(folder: Path, width: int, *options: str, **environment: str) -> list[str]:
    """What stands on the screen, without styles."""
    shown = in_terminal(
        width, "--project", str(folder), "session", "status", THREAD, *options, **environment
    )
    return ESCAPE.sub("", shown).splitlines()


@pytest.mark.parametrize("width", [80, 140])
def test_lines_fit(project: Path, width: int) -> None:
    """Nothing is wider than the terminal; IDs stand whole; a wide one shows more."""
    shown = screen(project, width)
    assert width - 12 < max(map(display_width, shown)) <= width
    text = "\n".join(shown)
    for whole in ("RS-20250101-never-there", "15.3", "INVALID_SECTION", "JSON_UNQUOTED_KEY", GIL):
        assert whole in text
    assert ("Deltas" in text) == (width == 140)
    assert shown[0] == f"{THREAD}  Round 2, awaiting ACKs"
    assert shown[-1].endswith("brenner mail ack 18 --notes '[[fill in: your answer]]'")


def test_one_screen(tmp_path: Path) -> None:
    """A session in which a few things are open fits into the smallest terminal."""
    stage = Stage(tmp_path, hours=100)
    number, *_ = stage.kickoff()
    stage.acknowledge(ANN, number)
    stage.contribute(ANN, add("Gradient"))
    stage.send(GIL, "Operator", "QUESTION: Strain?", "## Question\nWhich strain?\n")
    shown = screen(tmp_path, 80)
    assert "  ! GreenDog asks: Which strain?" in shown
    assert len(shown) <= 24


def test_times_are_relative_where_one_scans(project: Path) -> None:
    text = "\n".join(screen(project, 80))
    assert "owes an ACK for 29 h" in text
    assert "12 KICKOFF, 27 h late" in text
    assert "4 h ago" in text
    assert not re.search(r"T\d\d:\d\d", text)


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_plain_where_wanted(project: Path, environment: dict[str, str]) -> None:
    coloured = in_terminal(80, "--project", str(project), "session", "status", THREAD)
    assert ESCAPE.search(coloured)
    plain = in_terminal(80, "--project", str(project), "session", "status", THREAD, **environment)
    assert "\x1b" not in plain
    assert plain == ESCAPE.sub("", coloured)


def test_long_lists_say_that_they_are_cut(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.kickoff(ANN)
    stage.contribute(ANN, add("Gradient"))
    for number in range(30, 39):  # blocks of one message with one cause would be one row
        stage.contribute(ANN, edit(f"H{number}", claim="x"))
    cut = screen(tmp_path, 80)
    assert f"  … 4 more: `brenner session status --full {THREAD}`" in cut
    assert len([line for line in cut if "INVALID_TARGET" in line]) == 5
    full = screen(tmp_path, 80, "--full")
    assert len([line for line in full if "INVALID_TARGET" in line]) == 9
    assert not [line for line in full if "more:" in line]


def test_blocks_with_one_cause_are_one_row(tmp_path: Path) -> None:
    """With a count and the other blocks; the full status has a row for each."""
    stage = Stage(tmp_path)
    stage.kickoff(ANN)
    stage.contribute(ANN, add("Gradient"), *[edit(f"H{n}", claim="x") for n in range(30, 54)])
    (row,) = [line for line in screen(tmp_path, 80) if "INVALID_TARGET" in line]
    assert row.startswith("2.2  INVALID_TARGET ×24  EDIT H30")
    assert "Also blocks 3–25 of message 2." in map(str.strip, screen(tmp_path, 80))
    full = screen(tmp_path, 80, "--full")
    assert len([line for line in full if "INVALID_TARGET" in line]) == 24


def test_long_thread_id_and_command(tmp_path: Path) -> None:
    """A command wider than the terminal is one line all the same: who copies it copies it whole."""
    thread_id = "x" * 250
    Stage(tmp_path, thread_id).kickoff(ANN)
    shown = in_terminal(80, "--project", str(tmp_path), "session", "status")
    lines = ESCAPE.sub("", shown).splitlines()
    assert lines[-1] == f"brenner mail pending --resend --thread {thread_id}"
    assert max(map(display_width, lines[:-1])) <= 80


def test_long_status_is_paged(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.kickoff(ANN)
    stage.contribute(ANN, *[edit(f"H{n}", claim="x") for n in range(30, 60)])
    command = ("--project", str(tmp_path), "session", "status", "--full")
    assert at_terminal(80, *command, PAGER="sed s/^/paged:/").count("paged:") > 90
    assert "paged:" not in at_terminal(80, *command, "--no-pager", PAGER="sed s/^/paged:/")


# The bead of an engineering thread


def stand_in(folder: Path, patch: pytest.MonkeyPatch, script: str) -> Path:
    """A bd that does what the script says, and notes how it was called."""
    programs = folder / "programs"
    programs.mkdir()
    log = folder / "called"
    program = programs / "bd"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >> {log}\n{script}\n', "utf-8")
    program.chmod(0o755)
    patch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    return log


@pytest.mark.parametrize("thread_id", [BEAD, f"-{BEAD}"])
def test_bead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, thread_id: str) -> None:
    """What bd says of it, and nothing of that is obeyed."""
    answer = TELLS if thread_id == BEAD else TELLS.replace("$2", "$4")
    log = stand_in(tmp_path, monkeypatch, answer)
    Stage(tmp_path, thread_id).kickoff()
    shell = Shell(tmp_path, monkeypatch)
    shown = shell("session", "status", "--", thread_id).out
    assert "\n  Bead      in_progress  Prove \\x1b[2J it\n" in shown
    told = shell("session", "status", "--json", "--", thread_id).json["bead"]
    assert (told["id"], told["status"], told["problem"]) == (thread_id, "in_progress", None)
    asked = f"show {BEAD} --json" if thread_id == BEAD else f"show --json -- {thread_id}"
    assert log.read_text("utf-8").splitlines() == [asked] * 2
    shell("session", "status", "--line", "--", thread_id)
    assert log.read_text("utf-8").count("show") == 2  # a line asks nobody


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo 'no beads here' >&2; exit 1", "no beads here"),
        ("echo nonsense", "not JSON"),
        thorough("exec sleep 60", ""),
        ("exec dd if=/dev/zero bs=1M count=64 2>/dev/null", ""),
    ],
    ids=["fails", "talks", "hangs", "floods"],
)
def test_bd_breaks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, reason: str
) -> None:
    stand_in(tmp_path, monkeypatch, script)
    Stage(tmp_path, BEAD).kickoff()
    shell = Shell(tmp_path, monkeypatch)
    done = shell("session", "status", BEAD)
    assert done.code == 0
    assert "Bead      no details from bd: " in done.out
    assert reason in done.out
    assert done.out.startswith(f"{BEAD}  Round 1, awaiting ACKs\n")


def test_bead_only_of_engineering_and_only_with_bd(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = stand_in(tmp_path, monkeypatch, TELLS)
    Stage(tmp_path).kickoff()
    Stage(tmp_path, BEAD).kickoff()
    shell = Shell(tmp_path, monkeypatch)
    assert "Bead" not in shell("session", "status", THREAD).out
    assert not log.exists()
    monkeypatch.setenv("PATH", str(tmp_path))
    done = shell("session", "status", BEAD, "--json")
    assert (done.code, done.json["bead"]) == (0, None)
    assert "Bead" not in shell("session", "status", BEAD).out
