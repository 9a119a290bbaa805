"""A session by three scripted agents, each a process of its own that speaks only MCP."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from program import brenner, git
from servers.lifetime import until
from serving.running import Served

THREAD = "RS-20251230-cell-fate-clock"
GENERATOR, DESIGNER, CRITIC = "BlueLake", "RedSky", "GreenDog"
_SCRIPTS = {GENERATOR: "generator", DESIGNER: "designer", CRITIC: "critic"}
_TESTS = Path(__file__).parents[1]
_SECONDS = 100  # for one part of the work; alone on a machine it takes a few
_PAUSE = 0.2
_KICKOFF = (
    *("--thread-id", THREAD, "--question", "How do cells know their fate?"),
    *("--context", "Two answers are on the table. Neither is settled."),
    *("--to", GENERATOR, "--role", "hypothesis_generator"),
    *("--to", DESIGNER, "--role", "test_designer"),
    *("--to", CRITIC, "--role", "adversarial_critic"),
)


class Scripted(NamedTuple):
    """An agent that runs, and what it writes down."""

    process: "subprocess.Popen[bytes]"
    said: Path
    secret: Path

    @property
    def errors(self) -> Path:
        """What it complains of."""
        return self.said.with_suffix(".err")

    @property
    def lines(self) -> list[dict[str, Any]]:
        """All that it has noted."""
        return [json.loads(line) for line in self.said.read_text("utf-8").splitlines()]

    @property
    def calls(self) -> list[dict[str, Any]]:
        """Each call, with its answer."""
        return [each for each in self.lines if "call" in each]

    def has_done(self, part: str) -> bool:
        """Whether it says that a part is done. If it has ended before that, it says why."""
        is_done = f'"done": "{part}"' in self.said.read_text("utf-8")
        if not is_done and self.process.poll() is not None:
            pytest.fail(self.errors.read_text("utf-8"))
        return is_done


class Played(NamedTuple):
    """A session after two rounds: everything that anybody has said of it."""

    folder: Path
    agents: dict[str, Scripted]
    status: list[dict[str, Any]]  # after the kickoff, and after each version
    compiled: list[dict[str, Any]]
    messages: list[dict[str, Any]]
    log: str

    def asked(self, *arguments: str) -> Any:
        """What a command says in JSON."""
        return asked(self.folder, *arguments)


def asked(folder: Path, *arguments: str) -> Any:
    """What a command says in JSON; it ends well."""
    done = brenner(*arguments, "--json", cwd=folder)
    assert done.code == 0, done.out + done.err
    return done.json


@contextmanager
def play(folder: Path, outside: Path) -> Iterator[Played]:
    """Two rounds; the operator does her part on the command line, the agents run all the time."""
    folder.mkdir()
    outside.mkdir()
    git("init", "--quiet", cwd=folder)
    for name, value in (("user.name", "Ada"), ("user.email", "ada@example.org")):
        git("config", name, value, cwd=folder)
    assert brenner("init", cwd=folder).code == 0
    asked(folder, "session", "start", *_KICKOFF)
    status, compiled = [asked(folder, "session", "status", THREAD)], []
    with Served("--open-identity", project=folder) as server, ExitStack() as stack:
        places = {GENERATOR: server.url, DESIGNER: str(folder), CRITIC: server.url}
        agents = {
            name: stack.enter_context(_agent(name, place, outside))
            for name, place in places.items()
        }
        _wait(agents, "round 1")
        compiled.append(asked(folder, "compile", THREAD))
        status.append(asked(folder, "session", "status", THREAD))
        asked(folder, "session", "round", THREAD)
        _wait(agents, "round 2")
        compiled.append(asked(folder, "compile", THREAD, "--persist", "--commit", "--archive"))
        status.append(asked(folder, "session", "status", THREAD))
        _wait(agents, "all")
        assert [each.process.wait(_SECONDS) for each in agents.values()] == [0, 0, 0]
        messages = asked(folder, "mail", "thread", THREAD)["messages"]
        yield Played(folder, agents, status, compiled, messages, server.log.read_text("utf-8"))


@contextmanager
def _agent(name: str, where: str, outside: Path) -> Iterator[Scripted]:
    """An agent as a process, with nothing of ours in its environment but where modules are."""
    said, secret = outside / f"{name}.out", outside / f"{name}.secret"
    command = [sys.executable, "-m", f"serving.scripted.{_SCRIPTS[name]}", where, name, str(secret)]
    kept = {key: value for key, value in os.environ.items() if not key.startswith("BRENNER_")}
    paths = os.pathsep.join([str(_TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    with said.open("wb") as out, said.with_suffix(".err").open("wb") as err:
        process = subprocess.Popen(
            command, cwd=outside, env=kept | {"PYTHONPATH": paths}, stdout=out, stderr=err
        )
    try:
        yield Scripted(process, said, secret)
    finally:
        process.kill()
        process.wait()


def _wait(agents: dict[str, Scripted], part: str) -> None:
    for _ in until(lambda: all(each.has_done(part) for each in agents.values()), _SECONDS):
        time.sleep(_PAUSE)
