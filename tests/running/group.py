"""A project with agents whose programs are stand-ins, and `session run` on it."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from brenner.integrations.agent_process import TURN
from brenner.services.session_status import LoadedStatus, load_status
from brenner.services.workspace import workspace_in
from program import Run, brenner
from session.workspaces import project_in

THREAD = "RS-20251230-cell-fate"
STAND_IN = Path(__file__).with_name("stand_in.py")
GENERATOR, DESIGNER, CRITIC = "hypothesis_generator", "test_designer", "adversarial_critic"
PROGRAMS = {
    "text": "my-agent",
    "claude": "claude-code",
    "codex": "codex-cli",
    "gemini": "gemini-cli",
}
_START = ["--question", "How do cells know?", "--context", "They differ.", "--thread-id", THREAD]


class Group:
    """Some agents, each with what its program does at each start."""

    def __init__(self, folder: Path, agents: Mapping[str, str], *, settings: str = "") -> None:
        """Make the project. An agent's words are its driver, its role if it has one, its actions:
        `text test_designer contribute pass`. The settings are those of `text` programs.
        """
        self.folder, self.state, self.actions = folder / "p", folder / "state", folder / "actions"
        for each in (self.folder, self.actions):
            each.mkdir()
        entries = []
        for name, words in agents.items():
            driver, role, *actions = words.split()
            (self.actions / name).write_text(" ".join(actions))
            program = PROGRAMS[driver]
            entries.append({"agentName": name, "role": role, "program": program})
        self._roster = json.dumps(entries)
        run = json.dumps([sys.executable, str(STAND_IN), str(self.actions)])
        text = f'[programs.my-agent]\ndriver = "text"\nrun = {run}\n{settings}'
        for program in list(PROGRAMS.values())[1:]:
            text += f"[programs.{program}]\nrun = {run}\n"
        (self.folder / "brenner.toml").write_text(text)

    @property
    def start(self) -> list[str]:
        """The options of a new session with all agents."""
        return [*_START, "--roster", self._roster]

    @property
    def environment(self) -> dict[str, str]:
        return {"XDG_STATE_HOME": str(self.state)}

    def run(self, *options: str) -> Run:
        """Run the session in this process."""
        return brenner("session", "run", *options, cwd=self.folder, **self.environment)

    def run_json(self, *options: str) -> tuple[int, list[dict[str, Any]]]:
        """The exit code and the events."""
        done = self.run(*options, "--json")
        return done.code, [json.loads(line) for line in done.out.splitlines()]

    def starts(self, agent: str) -> list[str]:
        """What an agent's program did, start by start."""
        path = self.actions / f"{agent}.starts"
        return [line.split()[0] for line in path.read_text().splitlines()] if path.exists() else []

    def task(self, agent: str, number: int) -> str:
        """What it was asked."""
        return (self.actions / f"{agent}.task-{number}").read_text()

    def status(self) -> LoadedStatus:
        with workspace_in(project_in(self.folder), None, create=False) as here:
            return load_status(here, THREAD)

    @property
    def log(self) -> list[dict[str, Any]]:
        """The events in the files of all runs, oldest first."""
        files = sorted((self.folder / ".brenner" / "runs").glob("*/events.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def turns(events: list[dict[str, Any]], agent: str) -> list[str]:
    """An agent's turns, as `why: outcome fault`, with the states that are no end."""
    found = []
    for each in events:
        if each["event"] == "turn" and each["agent"] == agent and each["state"] != "started":
            ended = f"{each['why']}: {each.get('outcome')} {each.get('fault') or ''}".strip()
            found.append(ended if each["state"] == "ended" else each["state"])
    return found


def stop_of(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The last event, which says why the run stopped."""
    assert events[-1]["event"] == "stop"
    return events[-1]


def marked_processes(run_id: str) -> list[int]:
    """The processes of a run that are still there."""
    mark = f"{TURN}={run_id}/".encode()
    found = []
    for each in Path("/proc").iterdir():
        if each.name.isdecimal():
            try:
                environment = (each / "environ").read_bytes()
            except OSError:
                continue
            if mark in environment and int(each.name) != os.getpid():
                found.append(int(each.name))
    return found
