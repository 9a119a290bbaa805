"""A project with a session in which an agent's real program takes part, and what it does there."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from brenner.program_settings import SECRET
from clients.programs import Ended, Program, environment, run
from clients.scripted_model import Call, Found, Say, ScriptedModel, Turn
from program import brenner
from serving.running import Served

THREAD = "RS-20251230-cell-fate-clock"
AGENT, OTHER = "BlueLake", "RedSky"
HTTP, STDIO = "http", "stdio"
# What an agent reads in the answers of tools
_KICKOFF_ID = Found(r"resource://message/(\d+)", int)
_MISSING = Found(r"Add `payload\.(\w+)`")
_KICKOFF = (
    *("--thread-id", THREAD, "--question", "How do cells know their fate?"),
    *("--context", "Two answers are on the table. Neither is settled."),
    *("--to", AGENT, "--role", "hypothesis_generator"),
    *("--to", OTHER, "--role", "adversarial_critic"),
)


class Lab(NamedTuple):
    """The project, and the server unless each program starts its own."""

    folder: Path
    server: Served | None

    def ask(self, *arguments: str) -> Any:
        """Return what a command of the operator says in JSON."""
        return ask(self.folder, *arguments)

    def connect(self, program: Program, *options: str, url: str | None = None) -> None:
        """Write the program's settings, as `brenner agent config` prints them."""
        place = ("--url", url or self.server.url) if self.server else ("--stdio",)
        client = ("--client", program.name)
        ask(self.folder, "agent", "config", *client, *place, *options, "--write", "--yes")

    def secret(self, agent: str) -> str:
        """Return a new secret of an agent."""
        return str(self.ask("agent", "secret", agent, "--new")["secret"])

    def ready(
        self, program: Program, agent: str, model: ScriptedModel, **variables: str
    ) -> "Ready":
        """Prepare a program for an agent that proves its name by its secret."""
        return self.newcomer(program, agent, model, **{SECRET: self.secret(agent), **variables})

    def newcomer(
        self, program: Program, agent: str, model: ScriptedModel, **variables: str
    ) -> "Ready":
        """Prepare a program for an agent. The API key of its model is the agent's name."""
        home = self.folder.parent / f"home-{agent}"
        known = environment(program, home, self.folder, model.url, agent, **variables)
        return Ready(program, agent, self.folder, known)

    def messages(self, sender: str) -> list[dict[str, Any]]:
        """Return what an agent has sent in the thread."""
        found = self.ask("mail", "thread", THREAD)["messages"]
        return [each for each in found if each["from"] == sender]


class Ready(NamedTuple):
    """A program that is ready to run, also several at once."""

    program: Program
    agent: str
    folder: Path
    variables: Mapping[str, str]

    @property
    def secret(self) -> str:
        return self.variables[SECRET]

    def with_key(self, key: str) -> "Ready":
        """Return the same with another API key."""
        return self._replace(variables={**self.variables, self.program.key: key})

    def run(self) -> Ended:
        """Run it once, and wait for its end."""
        prompt = f"You are {self.agent}. Do what your task says."
        return run(self.program, prompt, self.folder, self.variables)


def ask(folder: Path, *arguments: str) -> Any:
    """Return what a command says in JSON. It must succeed."""
    done = brenner(*arguments, "--json", cwd=folder)
    assert done.code == 0, done.out + done.err
    return done.json


@contextmanager
def open_lab(folder: Path, transport: str = HTTP, token: str | None = None) -> Iterator[Lab]:
    """Start a session of two agents, and the server."""
    project = folder / "lab"
    project.mkdir()
    ask(project, "init")
    ask(project, "session", "start", *_KICKOFF)
    if transport == STDIO:
        yield Lab(project, None)
        return
    with Served(project=project, token=token) as server:
        yield Lab(project, server)


def hypothesis(name: str) -> dict[str, Any]:
    """Return a delta, without the anchors that it must have."""
    payload = {"name": name, "claim": f"{name} decides", "mechanism": "It acts on every division"}
    return {
        "operation": "ADD",
        "section": "hypothesis_slate",
        "rationale": "No other explains it",
        "payload": payload,
    }


def post(delta: Mapping[str, object], **more: object) -> Call:
    """Return the call that contributes a delta."""
    given = {"thread_id": THREAD, "summary": "What I hold.", "deltas": [delta]}
    return Call("brenner_post", {**given, **more})


def good_round(program: Program, agent: str, name: str, **proof: object) -> list[Turn]:
    """Return a round: register, read, ACK, post what is refused, then what the refusal advises.

    Without a secret in its environment the agent passes `proof` to the tools.
    """
    delta = hypothesis(name)
    corrected = {**delta, "payload": {**delta["payload"], _MISSING: ["§42", "inference"]}}
    own = {**program.adds, **proof}
    return [
        Call("register_agent", {"program": program.name, "model": "Opus 4.5", "name": agent}),
        Call("brenner_task", {"thread_id": THREAD, **own}),
        Call("acknowledge_message", {"agent_name": agent, "message_id": _KICKOFF_ID, **own}),
        post(delta, **own),
        post(corrected, **own),
        Say("Posted and acknowledged."),
    ]


def check_round(lab: Lab, *agents: str) -> None:
    """Check what the agents' rounds have left: verified mail, and the version that it makes."""
    for agent in agents:
        sent = lab.messages(agent)
        found = [(each["type"], each["trust"]) for each in sent]
        assert found == [("ACK", "verified"), ("DELTA", "verified")], found
    compiled = lab.ask("compile", THREAD)
    counts = [compiled["ledger"][state] for state in ("applied", "refused", "duplicate")]
    assert counts == [len(agents), 0, 0], compiled["ledger"]
    assert not compiled["unverified"], compiled["unverified"]
