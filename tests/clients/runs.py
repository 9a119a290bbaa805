"""A project whose agents are run by `session run` in their real programs, with a scripted model."""

import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from brenner.integrations.agent_process import TURN
from clients.programs import PROGRAMS, environment
from clients.scripted_model import Call, Say, Script, ScriptedModel, Turn
from running.group import CRITIC, DESIGNER, GENERATOR, STAND_IN, THREAD, Group
from serving.scripted.contributions import Delta, add, critique

_KEY = "run"  # of the model's service, for all agents
_NONE: Mapping[str, str] = MappingProxyType({})
_AWAY = Path(__file__).with_name("without_server.py")
_NAMES = {each.executable: each.name for each in PROGRAMS.values()}
_ROLES = (GENERATOR, DESIGNER, CRITIC)


class Process(NamedTuple):
    """A process of an agent's turn."""

    number: int
    agent: str
    variables: Mapping[str, str]
    command: str


class RealGroup(Group):
    """Agents with real programs, and `session run` on them."""

    def __init__(
        self,
        folder: Path,
        model: ScriptedModel,
        agents: Mapping[str, str],
        settings: Mapping[str, str] = _NONE,
    ) -> None:
        """Make the project. `agents` are the programs by agent, and `settings` lines by program.

        The programs are `claude`, `codex`, `gemini`, `acp` for Gemini by that protocol, and `text`
        for one that contributes without a model.
        """
        self.folder, self.state, self.actions = folder / "p", folder / "state", folder / "actions"
        self.home, self.model, self.agents = folder / "home", model, tuple(agents)
        for each in (self.folder, self.actions):
            each.mkdir()
        run = json.dumps([sys.executable, str(STAND_IN), str(self.actions)])
        text = f'[programs.text]\ndriver = "text"\nrun = {run}\n'
        text += '[programs.acp]\ndriver = "acp"\nrun = ["gemini", "--acp"]\n'
        for executable, lines in settings.items():
            text += f"[programs.{_NAMES[executable]}]\n{lines}\n"
        (self.folder / "brenner.toml").write_text(text)
        entries = []
        for place, (name, program) in enumerate(agents.items()):
            (self.actions / name).write_text("contribute")
            known = {"role": _ROLES[min(place, 2)], "program": _NAMES.get(program, program)}
            entries.append({"agentName": name, **known})
        self._roster = json.dumps(entries)

    @property
    def environment(self) -> dict[str, str]:
        """The variables of an operator who is logged in to all programs."""
        found = {"XDG_STATE_HOME": str(self.state)}
        for each in PROGRAMS.values():
            found |= environment(each, self.home, self.folder, self.model.url, _KEY)
        return found

    def plays(self, agent: str, *parts: Sequence[Turn]) -> Script:
        """Set what an agent's model does: one part for each prompt."""
        return self.model.script(_KEY, *parts, about=f"You are {agent},")

    def processes(self, *agents: str) -> Iterator[Process]:
        """Yield the processes of the agents' turns."""
        for each in Path("/proc").glob("[0-9]*"):
            try:
                lines = (each / "environ").read_text(errors="replace").split("\0")
                command = (each / "cmdline").read_text(errors="replace")
            except OSError:
                continue
            variables = dict(line.split("=", 1) for line in lines if "=" in line)
            turn = variables.get(TURN, "").split("/")[1:2]
            if variables.get("HOME") == str(self.home) and turn and turn[0] in agents:
                yield Process(int(each.name), turn[0], variables, command)

    def kill(self, agent: str) -> None:
        """End all processes of an agent, as a crash does."""
        for each in self.processes(agent):
            with suppress(ProcessLookupError):
                os.kill(each.number, signal.SIGKILL)


def without_server(program: str) -> str:
    """Return the setting with which a program looks for our server where none is."""
    return f"run = {json.dumps([sys.executable, str(_AWAY), program])}"


# What the model does


def hypothesis(agent: str, name: str) -> Delta:
    """Return the ADD of a hypothesis. Its texts name its agent."""
    return add("hypothesis_slate", f"{name} of {agent}")


def attack(agent: str, name: str) -> Delta:
    """Return the ADD of a critique. Its texts name its agent."""
    return critique(f"{name} of {agent}")


def call(agent: str, tool: str, **arguments: object) -> Call:
    """Return the call of a tool in the session."""
    return Call(tool, {"agent": agent, "thread_id": THREAD, **arguments})


def post(agent: str, *deltas: Delta) -> Call:
    return call(agent, "brenner_post", summary=f"By {agent}.", deltas=list(deltas))


def contribution(agent: str, *deltas: Delta) -> list[Turn]:
    """Return a part: read the task and contribute."""
    return [call(agent, "brenner_task"), post(agent, *deltas), Say("Done.")]
