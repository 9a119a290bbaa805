"""`session run` with the agents' real programs. Only their model is scripted.

`make test-clients` runs this. `tests/running/` has the same and more with stand-ins.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from clients.runs import (
    Process,
    RealGroup,
    attack,
    call,
    contribution,
    hypothesis,
    post,
    without_server,
)
from clients.scripted_model import Call, Do, Fail, Hang, Say, Script, ScriptedModel, Turn
from program import brenner
from running.group import THREAD, stop_of, turns
from running.process import SECONDS, Running
from serving.scripted.contributions import Delta

CODEX, CLAUDE, GEMINI, TEXT = "BlueLake", "RedSky", "GreenDog", "IvoryHen"
AGENTS = {CODEX: "codex", CLAUDE: "claude", GEMINI: "gemini"}
WELL = ["task: contributed"] * 2


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """The service of the models."""
    with ScriptedModel() as model:
        yield model


class Scenario(NamedTuple):
    """What each agent's model does, and the turns that follow from it, the same for all."""

    parts: Callable[[RealGroup, str], list[list[Turn]]]
    turns: list[str]
    settings: Callable[[str], str] = lambda _: ""


def faulty(agent: str) -> Delta:
    """Return a delta without a field that it must have."""
    delta = attack(agent, "First")
    del delta["payload"]["attack"]
    return delta


def rounds(agent: str) -> list[list[Turn]]:
    """Return the parts of two rounds."""
    return [contribution(agent, attack(agent, name)) for name in ("First", "Second")]


SCENARIOS = {
    "corrected": Scenario(
        lambda _, agent: [
            [call(agent, "brenner_task"), post(agent, faulty(agent)), *rounds(agent)[0][1:]],
            rounds(agent)[1],
        ],
        WELL,
    ),
    "reminded": Scenario(
        lambda _, agent: [
            [call(agent, "brenner_task"), post(agent, faulty(agent)), Say("That is too hard.")],
            *rounds(agent),
        ],
        ["task: silent", "reminder: contributed", "task: contributed"],
    ),
    "401": Scenario(
        lambda *_: [[Fail(401, times=None)]],
        ["task: fault login", "parked"],
    ),
    "429-with-a-time": Scenario(
        lambda _, agent: [[Fail(429, {"retry-after": "1"}), *rounds(agent)[0]], rounds(agent)[1]],
        WELL,
    ),
    "429-without-a-time": Scenario(
        lambda _, agent: [[Fail(429, times=None)], *rounds(agent)],
        ["task: fault rate_limit", "waiting", "retry: contributed", "task: contributed"],
    ),
    "hang": Scenario(
        lambda *_: [[Hang()]] * 4,
        ["task: fault timeout", "retry: fault timeout", "parked"] * 2,
        lambda _: "minutes = 0.1",
    ),
    "crash": Scenario(
        lambda group, agent: [
            [call(agent, "brenner_task"), Do(lambda: group.kill(agent)), Say("It has ended.")],
            *rounds(agent),
        ],
        ["task: fault crash", "retry: contributed", "task: contributed"],
    ),
    "server-away": Scenario(
        lambda *_: [[Say("I have no tools.")]],
        ["task: fault no_tools", "parked"],
        without_server,
    ),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_two_rounds(name: str, tmp_path: Path, model: ScriptedModel) -> None:
    """All three programs at once, each with the same fault; an agent without a fault goes on."""
    scenario = SCENARIOS[name]
    settings = {program: scenario.settings(program) for program in AGENTS.values()}
    group = RealGroup(tmp_path, model, {**AGENTS, TEXT: "text"}, settings)
    scripts = [group.plays(agent, *scenario.parts(group, agent)) for agent in AGENTS]
    code, events = group.run_json(*group.start, "--rounds", "2", "--together")
    assert {agent: turns(events, agent) for agent in (*AGENTS, TEXT)} == {
        **dict.fromkeys(AGENTS, scenario.turns),
        TEXT: WELL,
    }, events
    assert (code, stop_of(events)["reason"], stop_of(events)["versions"]) == (0, "rounds", [1, 2])
    assert [each.faults for each in scripts] == [[]] * 3


def read_all(agent: str) -> list[Turn]:
    """Read what the tools show, also what they show to the others."""
    inbox = Call("fetch_inbox", {"agent_name": agent, "include_bodies": True, "limit": 50})
    others = [Call("fetch_inbox", {"agent_name": each}) for each in AGENTS if each != agent]
    tasks = [call(each, "brenner_task") for each in AGENTS]
    return [call(agent, "brenner_artifact"), inbox, *others, *tasks]


def test_good_run(tmp_path: Path, model: ScriptedModel) -> None:
    """Who writes hypotheses goes first. Secrets are only in environments, and usage is counted."""
    acp = "PinkFox"
    group = RealGroup(tmp_path, model, {**AGENTS, acp: "acp"})
    seen: list[Process] = []
    first, *others = group.agents

    def watched(agent: str, name: str) -> list[Turn]:
        watch = Do(lambda: seen.extend(group.processes(agent)))
        return [watch, *contribution(agent, attack(agent, name))]

    parts = [contribution(first, hypothesis(first, "Clock")), watched(first, "Second")]
    scripts = [group.plays(first, *parts)]
    scripts += [group.plays(each, watched(each, "First")) for each in others]
    done = group.run(*group.start, "--rounds", "2")
    for script in scripts:
        script.check()
    assert done.code == 0, done.out + done.err
    events = group.log
    assert [each["agents"] for each in events if each["event"] == "round"] == [
        [first],
        list(group.agents),
    ]
    assert stop_of(events)["versions"] == [1, 2]
    found = stop_of(events)["agents"]
    assert {name: each["contributed"] for name, each in found.items()} == {
        first: 2,
        **dict.fromkeys(others, 1),
    }
    assert [name for name, each in found.items() if not each["tokens"]["input"]] == []
    assert [name for name, each in found.items() if each["cost_usd"]] == [CLAUDE]
    mail = brenner("mail", "thread", THREAD, "--json", cwd=group.folder).json["messages"]
    assert {each["trust"] for each in mail if each["from"] in found} == {"verified"}
    check_secrets(group, seen, done.out + done.err)


def check_secrets(group: RealGroup, seen: list[Process], output: str) -> None:
    """Check that no token or secret is in a command line, a file or the output."""
    names = ("BRENNER_TOKEN", "BRENNER_SECRET")
    secrets = {each.variables[name] for each in seen for name in names if name in each.variables}
    assert len(secrets) == len(AGENTS) + 1  # one token, and secrets; with ACP they are not there
    texts = [output, *(each.command for each in seen)]
    for folder in (group.folder, group.state, group.home):
        texts += [p.read_bytes().decode("latin-1") for p in folder.rglob("*") if p.is_file()]
    assert [s for s in secrets if any(s in text for text in texts)] == []


def test_two_agents_of_one_program(tmp_path: Path, model: ScriptedModel) -> None:
    """All at once: each has its own name, folder and conversation."""
    twins = dict(zip(("TealCat", "OpalBat", "GoldOwl"), AGENTS.values(), strict=True))
    group = RealGroup(tmp_path, model, {**AGENTS, **twins})
    scripts = [group.plays(each, *rounds(each)) for each in group.agents]
    code, events = group.run_json(*group.start, "--rounds", "2", "--together")
    assert {each: turns(events, each) for each in group.agents} == dict.fromkeys(group.agents, WELL)
    assert (code, stop_of(events)["versions"]) == (0, [1, 2])
    for each in scripts:
        each.check()
    for found in group.status().messages:
        sender, body = found.message.sender, found.message.body
        if sender in group.agents:
            assert [name for name in group.agents if f"of {name}" in body] == [sender]


def test_independent(tmp_path: Path, model: ScriptedModel) -> None:
    """Before v1 no tool shows an agent what another one has sent; then all do."""
    meet = threading.Barrier(len(AGENTS), timeout=SECONDS)
    group = RealGroup(tmp_path, model, AGENTS)
    before: dict[str, str] = {}
    scripts: dict[str, Script] = {}

    def note(agent: str) -> Do:
        return Do(lambda: before.update({agent: "".join(scripts[agent].results)}))

    for agent in AGENTS:
        own = contribution(agent, hypothesis(agent, "Idea"))
        sealed = [*own[:-1], Do(meet.wait), *read_all(agent), note(agent), own[-1]]
        scripts[agent] = group.plays(agent, sealed, [*read_all(agent), Say("Read.")])
    code, events = group.run_json(*group.start, "--rounds", "2", "--independent")
    assert (code, stop_of(events)["versions"]) == (0, [1])
    for agent, script in scripts.items():
        script.check()
        others = [f"Idea of {each}" for each in AGENTS if each != agent]
        assert [each for each in others if each in before[agent]] == []
        assert [each for each in others if each not in "".join(script.results)] == []


@pytest.mark.parametrize("how", ["finish", "stop", "kill"])
def test_ended_early_then_go_on(how: str, tmp_path: Path, model: ScriptedModel) -> None:
    """After Ctrl-C once or twice, or `kill -9`, the same command goes on; nothing is sent twice."""
    group = RealGroup(tmp_path, model, AGENTS)
    paused, go = threading.Semaphore(0), threading.Event()

    def pause() -> None:
        paused.release()
        assert go.wait(SECONDS)

    working = [CLAUDE, GEMINI]
    group.plays(CODEX, *rounds(CODEX))
    for agent in working:
        (task, *rest), second = rounds(agent)
        group.plays(agent, [task, Do(pause), *rest], second)
    command = [*group.start, "--rounds", "2", "--together"]
    running = Running(group, *command)
    for _ in working:
        assert paused.acquire(timeout=SECONDS)
    running.wait_for(lambda: turns(group.log, CODEX) == WELL[:1])
    end(running, how, go)
    assert any(group.processes(*AGENTS)) is (how == "kill")
    go.set()
    code, events = group.run_json(*command)
    assert (code, stop_of(events)["reason"], stop_of(events)["versions"]) == (0, "rounds", [1, 2])
    assert (events[0]["ended_processes"] > 0) is (how == "kill")
    assert not any(group.processes(*AGENTS))
    sent = [each.message.sender for each in group.status().messages if each.type == "DELTA"]
    assert sorted(sent) == sorted([*AGENTS] * 2)
    kickoffs = [each for each in group.status().messages if each.type == "KICKOFF"]
    assert len(kickoffs) == len(AGENTS) * 2
    first = [] if how == "finish" else working
    assert [each["agents"] for each in events if each["event"] == "round"] == [first, [*AGENTS]]
    assert brenner("session", "runs", THREAD, cwd=group.folder).code == 0


def end(running: Running, how: str, go: threading.Event) -> None:
    """End a run as its operator does, or the system."""
    if how == "kill":
        running.process.kill()
        running.process.communicate(timeout=SECONDS)
        return
    running.process.send_signal(signal.SIGINT)
    running.wait_for(lambda: "Finishing" in running.errors.read_text())
    if how == "stop":
        running.process.send_signal(signal.SIGINT)
    else:
        go.set()
    code, events = running.end()
    assert (code, stop_of(events)["reason"]) == (130, "interrupted")
    assert "compile" not in [each["event"] for each in events]
