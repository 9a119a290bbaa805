"""`session run` that ends early: Ctrl-C, kill, a second run; and that it goes on where it was."""

import signal
from pathlib import Path

import pytest

from brenner.services.run_log import lock_run
from brenner.services.run_summary import RunState, latest_run
from program import brenner, git
from running.group import GENERATOR, THREAD, Group, marked_processes, stop_of, turns
from running.process import SECONDS, Running
from session.workspaces import project_in


def hanging_pids(group: Group, agent: str) -> list[int]:
    """The stand-in that hangs, and its child."""
    return [int(each) for each in (group.actions / f"{agent}.hangs").read_text().split()]


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.parametrize("is_same", [True, False], ids=["same command", "thread"])
def test_ctrl_c_once_then_go_on(tmp_path: Path, *, is_same: bool) -> None:
    """The running turn is finished, nothing is compiled; the command goes on from there.

    The rounds of the run before count, also if they are given again.
    """
    agents = {
        "BlueLake": f"text {GENERATOR} contribute wait",
        "RedSky": f"text {GENERATOR} contribute",
    }
    group = Group(tmp_path, agents)
    command = [*group.start, "--rounds", "2"]
    running = Running(group, *command)
    running.wait_for_mark("BlueLake.waits")
    running.process.send_signal(signal.SIGINT)
    running.wait_for(lambda: "Finishing" in running.errors.read_text())
    (group.actions / "go").touch()
    code, events = running.end()
    assert (code, stop_of(events)["reason"]) == (130, "interrupted")
    assert [e["version"] for e in events if e["event"] == "compile"] == [1]
    assert turns(events, "BlueLake") == ["task: contributed"] * 2
    code, events = group.run_json(*(command if is_same else [THREAD]))
    assert (code, stop_of(events)["reason"]) == (0, "rounds")  # the option of the run before
    assert [e["version"] for e in events if e["event"] == "compile"] == [2]
    assert group.starts("BlueLake") == ["contribute", "wait"]
    latest = latest_run(project_in(group.folder), THREAD)
    assert latest
    assert latest[0]["options"]["rounds"] == 2


@pytest.mark.parametrize("signals", [(signal.SIGINT,) * 2, (signal.SIGTERM,)])
def test_stop_at_once(tmp_path: Path, signals: tuple[signal.Signals, ...]) -> None:
    """A second Ctrl-C, and SIGTERM, end the programs and what they have started."""
    group = Group(tmp_path, {"BlueLake": f"text {GENERATOR} hang"})
    running = Running(group, *group.start)
    running.wait_for_mark("BlueLake.hangs")
    for number, each in enumerate(signals):
        running.process.send_signal(each)
        if number + 1 < len(signals):
            running.wait_for(lambda: "Finishing" in running.errors.read_text())
    code, events = running.end()
    assert (code, stop_of(events)["reason"]) == (130, "interrupted")
    assert turns(events, "BlueLake") == ["task: fault stopped"]
    assert not any(map(is_alive, hanging_pids(group, "BlueLake")))


def test_killed_then_go_on(tmp_path: Path) -> None:
    """After `kill -9` the next command ends what is left; nothing is sent or asked twice."""
    agents = {
        "BlueLake": f"text {GENERATOR} contribute",
        "RedSky": f"claude {GENERATOR} hang contribute",
    }
    group = Group(tmp_path, agents)
    running = Running(group, *group.start, "--rounds", "1")
    running.wait_for_mark("RedSky.hangs")
    running.wait_for(lambda: any(e.get("outcome") == "contributed" for e in group.log))
    running.process.kill()
    running.process.wait()
    running.process.stdout.close()  # type: ignore[union-attr]
    latest = latest_run(project_in(group.folder), THREAD)
    assert latest
    killed = latest[1]
    assert killed.state is RunState.KILLED
    assert len(marked_processes(killed.id)) == 2
    code, events = group.run_json(THREAD)
    assert (code, stop_of(events)["reason"]) == (0, "rounds")
    assert marked_processes(killed.id) == []
    assert not any(map(is_alive, hanging_pids(group, "RedSky")))
    assert events[0]["ended_processes"] == 2
    assert (events[0]["agents"], events[0]["kickoffs"]) == (["RedSky"], [])
    assert group.starts("BlueLake") == ["contribute"]
    types = [each.type for each in group.status().messages]
    assert sorted(map(str, types)) == ["COMPILED", "DELTA", "DELTA", "KICKOFF", "KICKOFF"]


def test_store_damaged_meanwhile(tmp_path: Path) -> None:
    """The run stops with the error, and ends the turns of the others."""
    agents = {"BlueLake": f"text {GENERATOR} damage", "RedSky": f"text {GENERATOR} hang"}
    group = Group(tmp_path, agents)
    code, events = group.run_json(*group.start)
    stop = stop_of(events)
    assert (code, stop["reason"], stop["violations"][0]["id"]) == (3, "failed", "STORE_CORRUPT")
    assert not any(map(is_alive, hanging_pids(group, "RedSky")))


def test_reader_that_leaves(tmp_path: Path) -> None:
    """A closed output ends the run, and every process of it."""
    group = Group(tmp_path, {"BlueLake": f"text {GENERATOR} silent hang"})
    running = Running(group, *group.start)
    assert running.process.stdout
    running.process.stdout.readline()
    running.process.stdout.close()
    assert running.process.wait(SECONDS) == 3
    latest = latest_run(project_in(group.folder), THREAD)
    assert latest
    assert marked_processes(latest[1].id) == []


def test_two_runs_refuse_each_other(tmp_path: Path) -> None:
    """The lock ends with its process; a reader does not take it."""
    group = Group(tmp_path, {"BlueLake": f"text {GENERATOR} contribute"})
    project = project_in(group.folder)
    with lock_run(project, THREAD) as holder:
        assert holder is None
        code, events = group.run_json(*group.start)
        assert (code, stop_of(events)["violations"][0]["id"]) == (3, "RUN_IN_PROGRESS")
    assert group.starts("BlueLake") == []
    assert group.run_json(*group.start, "--rounds", "1")[0] == 0


def test_secrets_stay_in_the_environment(tmp_path: Path) -> None:
    """No token or secret is in a file, an argument or the output, even if an agent writes them."""
    group = Group(tmp_path, {"BlueLake": f"claude {GENERATOR} leak"})
    done = group.run(*group.start, "--rounds", "1")
    assert done.code == 0, done.err
    secrets = (group.actions / "BlueLake.secrets").read_text().split()
    assert len(set(secrets)) == 2
    texts = [done.out, done.err, (group.actions / "BlueLake.argv").read_text()]
    for folder in (group.folder, group.state):
        texts += [p.read_bytes().decode("latin-1") for p in folder.rglob("*") if p.is_file()]
    assert not any(secret in text for secret in secrets for text in texts)
    log = next((group.folder / ".brenner" / "runs").glob("*/round-1-BlueLake-1.log"))
    assert "My secrets: [secret] [secret]" in log.read_text()
    folders = group.state.rglob("BlueLake")
    assert [oct(each.stat().st_mode)[-3:] for each in folders] == ["700"]


def test_dry_run_and_git(tmp_path: Path) -> None:
    """A dry run writes nothing; git sees no file of a run."""
    group = Group(tmp_path, {"BlueLake": f"claude {GENERATOR} contribute"})
    before = sorted(tmp_path.rglob("*"))
    code, (plan,) = group.run_json(*group.start, "--dry-run", "--minutes", "5")
    assert (code, plan["event"], sorted(tmp_path.rglob("*"))) == (0, "plan", before)
    agent = plan["agents"][0]
    assert (agent["first"], agent["driver"]) == (True, "claude-code")
    assert agent["prompt_characters"] > 500
    assert str(group.state) in " ".join(agent["command"])
    assert plan["options"]["minutes"] == 5
    git("init", "-q", cwd=group.folder)
    assert group.run(*group.start, "--rounds", "1").code == 0
    assert git("status", "--short", "--untracked-files=all", cwd=group.folder) == (
        "?? brenner.toml\n"
    )


@pytest.mark.parametrize(
    ("settings", "options", "found", "code"),
    [
        ("", ["--budget-usd", "5"], ["OPTION_NOT_FOR_PROGRAM"], 2),
        ("", ["--read-project"], ["OPTION_NOT_FOR_PROGRAM"], 2),
        ("", ["--as", "BlueLake"], ["ONLY_THE_OPERATOR"], 1),
        ('run = ["/no/such/program"]', [], ["AGENT_PROGRAM_MISSING"], 3),
        ("-", [], ["AGENT_WITHOUT_DRIVER"], 2),
    ],
)
def test_refused_before_anything_is_sent(
    tmp_path: Path, settings: str, options: list[str], found: list[str], code: int
) -> None:
    """What a program cannot do, and what is not set up, is named with a fix."""
    group = Group(tmp_path, {"BlueLake": f"text {GENERATOR} contribute"})
    file = group.folder / "brenner.toml"
    if settings == "-":
        file.write_text("")
    elif settings:
        file.write_text(f'[programs.my-agent]\ndriver = "text"\n{settings}\n')
    done, events = group.run_json(*group.start, *options)
    stop = stop_of(events)
    assert (done, [each["id"] for each in stop["violations"] if each["severity"] == "error"]) == (
        code,
        found,
    )
    assert not (group.folder / ".brenner").exists()
    told = brenner("session", "run", *group.start, *options, cwd=group.folder, **group.environment)
    assert (told.code, found[0] in told.err) == (code, True)
