"""`session runs`, and the view of a run in progress: in a terminal, in a pipe."""

import json
import re
import sys
from pathlib import Path

import pytest
from click import unstyle

from brenner.cli.session.run_view import PlainRunView
from brenner.cli.terminal import display_width
from brenner.config import Project
from mail_shell import Shell
from run_events import ANN, BEA, RUN, evening, finished, locked
from session.busy_session import Stage
from session.watch_process import clean_environment
from session.workspaces import THREAD
from terminal import in_terminal, run_in_terminal

LATER = "20260103-120000-cd34"
# Plays the events of a file into the view
_PLAY = """
import json, sys
from brenner.cli.session.run_view import run_view
about, *events = map(json.loads, open(sys.argv[1]))
with run_view(about) as view:
    for each in events:
        view.show(each)
    view.notice("Finishing the running turns.")
print("a line below")
"""


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A project with a session."""
    monkeypatch.delenv("AGENT_NAME", raising=False)
    stage = Stage(tmp_path, THREAD)
    stage.kickoff()
    stage.close()
    return Shell(tmp_path, monkeypatch)


def test_no_runs(shell: Shell) -> None:
    done = shell("session", "runs")
    assert (done.code, done.err) == (0, "")
    assert f"`brenner session run {THREAD}`" in done.out
    assert shell("session", "runs", "--json").json == {"thread_id": THREAD, "runs": []}
    assert shell("session", "cancel", THREAD, "--reason", "Answered").code == 0
    assert shell("session", "runs", THREAD).out.endswith("in this folder. The session has ended.\n")
    unknown = shell("session", "runs", "RS-20200101-unknown-thread", "--json")
    assert (unknown.code, unknown.codes) == (1, ["UNKNOWN_THREAD"])
    assert unknown.json["runs"] == []


def test_runs_in_a_pipe(shell: Shell) -> None:
    """The newest first: what each agent did in each round, the reasons, where the logs are."""
    project = Project(shell.folder)
    finished(THREAD).write(project)
    evening(THREAD, LATER).write(project)
    with locked(project, THREAD):
        done = shell("session", "runs")
    words = re.sub(" {2,}", "  ", done.out)
    now, before = words.split("\n\nRun ")
    assert now.startswith(f"Run {LATER}  running  started 2026-01-02T12:00:00Z\n")
    assert f"  2  {ANN}  working  1  0  0  2  5.0k  $0.05  " in now
    assert before.startswith(f"{RUN}  stopped  ")
    assert "  2 rounds, v1 and v2, 1:50, 172k tokens, $0.62 where known\n" in before
    assert "  Both rounds are done.\n" in before
    assert "  GreenDog  parked: not logged in  1  0  0  0  0  –  0:02\n" in before
    assert "Invalid key in /home/ada. Run /login.\n" in before
    assert f"{BEA}  passed  1  0  0  9  40.0k  –  1:05\n" in before
    assert "Round 2: v2: added H4, changed H1, killed H2\n" in before
    assert f"Logs: .brenner/runs/{RUN}/\n" in before
    newest = shell("session", "runs", "--json", "--limit", "1").json["runs"]
    assert [each["id"] for each in newest] == [LATER]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_runs_in_a_terminal(shell: Shell, width: int) -> None:
    finished(THREAD).write(Project(shell.folder))
    shown = in_terminal(width, "--project", str(shell.folder), "session", "runs")
    lines = unstyle(shown).splitlines()
    assert max(map(display_width, lines)) <= width
    assert ("Tools" in shown) == (width >= 100)


def played(folder: Path, width: int, **environment: str) -> str:
    """What the view wrote in a terminal."""
    script = finished(THREAD)
    file = folder / "play.jsonl"
    file.write_text("\n".join(map(json.dumps, [script.about, *script.events])))
    environment = clean_environment(**{"TERM": "xterm", **environment})
    return run_in_terminal([sys.executable, "-c", _PLAY, str(file)], environment, width)


@pytest.mark.parametrize("width", [80, 120])
def test_the_view_is_redrawn_and_its_end_stays(tmp_path: Path, width: int) -> None:
    """What was drawn before is erased, row by row; no row is wider than the terminal."""
    screen = played(tmp_path, width)
    rows: list[str] = []
    for part in re.split(r"(\r\x1b\[\d+A\x1b\[J)", screen):
        up = re.fullmatch(r"\r\x1b\[(\d+)A\x1b\[J", part)
        if up:
            del rows[len(rows) - int(up[1]) :]
        else:
            rows += unstyle(part).splitlines()
    assert max(map(display_width, rows)) <= width
    # One table is left, and nothing of what was shown only meanwhile
    assert [row.startswith("Agent ") for row in rows].count(True) == 1
    assert rows[-2:] == ["Both rounds are done.", "a line below"]
    (blue,) = [row for row in rows if row.startswith(ANN)]
    assert re.sub(" {2,}", "  ", blue) == f"{ANN}  contributed: 2 applied  18  80.0k  $0.62  2:11"


@pytest.mark.parametrize("plain", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_plain_terminal_gets_lines(tmp_path: Path, plain: dict[str, str]) -> None:
    screen = played(tmp_path, 80, **plain)
    assert "\x1b" not in screen
    texts = [line.partition("Z  ")[2] for line in screen.splitlines()]
    assert f"{ANN}: contributed: 3 applied (9 tool calls, 40.0k tokens, $0.42, 1:05)" in texts
    assert f"{BEA}: 1 rejected (9 tool calls, 40.0k tokens, 1:05)" in texts
    assert f"{BEA}: reminded, working" in texts
    assert "GreenDog: parked: not logged in: Invalid key in /home/ada. Run /login." in texts
    assert "Round 1: v1: added H1, H2, H3 and T1, 1 rejected block" in texts
    assert "Both rounds are done. (2 rounds, 172k tokens, $0.62 where known)" in texts
    assert not any("fetch_inbox" in each for each in texts)  # no line for each tool call


def test_lines_obey_nothing_from_outside(capsys: pytest.CaptureFixture[str]) -> None:
    """A reason is written by a program of others."""
    script = finished(THREAD)
    with PlainRunView(script.about) as view:
        view.show(script.round(3, ANN).events[-1])
        view.show(script.held(3, ANN, "parked", reason="\x1b[2Jnow\nthen").events[-1])
    assert "\x1b" not in (out := capsys.readouterr().out)
    assert len(out.splitlines()) == 2
