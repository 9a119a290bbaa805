"""A run's folder, made by hand: `run.json` and the events, as a run writes them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

from brenner.config import Project
from brenner.persist.files import hold_lock
from brenner.services.run_summary import LOCK

ANN, BEA, CYD = "BlueLake", "RedSky", "GreenDog"
BEGAN = datetime(2026, 1, 2, 12, tzinfo=UTC)
RUN = "20260102-120000-ab12"
PROGRAMS = {ANN: "claude-code", BEA: "codex-cli", CYD: "gemini-cli"}


class RunScript:
    """Events that come a few seconds apart."""

    def __init__(self, thread_id: str, run: str = RUN, began: datetime = BEGAN) -> None:
        self.thread_id, self.run, self.now, self.began = thread_id, run, began, began
        self.events: list[dict[str, Any]] = []

    @property
    def about(self) -> dict[str, Any]:
        """The content of `run.json`."""
        agents = [
            {"name": name, "program": program, "driver": program, "model": None}
            for name, program in PROGRAMS.items()
        ]
        return {
            "id": self.run,
            "thread_id": self.thread_id,
            "started_at": self.began.isoformat(),
            "pid": 1,
            "options": {"rounds": 2},
            "agents": agents,
        }

    def add(self, kind: str, **fields: Any) -> Self:
        self.now += timedelta(seconds=5)
        begin = {"event": kind, "at": self.now.isoformat(), "run": self.run}
        self.events.append({**begin, "thread_id": self.thread_id, **fields})
        return self

    def round(self, number: int, *agents: str) -> Self:
        return self.add("round", round=number, agents=list(agents), kickoffs=[1, 2, 3])

    def started(self, number: int, agent: str, attempt: int = 1, why: str = "task") -> Self:
        return self.add(
            *("turn",),
            round=number,
            agent=agent,
            attempt=attempt,
            why=why,
            state="started",
        )

    def tool(self, number: int, agent: str, tool: str, *, is_error: bool = False) -> Self:
        return self.add("tool", round=number, agent=agent, tool=tool, is_error=is_error)

    def used(self, number: int, agent: str, tokens: int, cost: float | None = None) -> Self:
        return self.add("usage", round=number, agent=agent, tokens=_tokens(tokens), cost_usd=cost)

    def ended(  # noqa: PLR0913  (one per key)
        self,
        number: int,
        agent: str,
        outcome: str = "contributed",
        *,
        attempt: int = 1,
        tokens: int = 40_000,
        cost: float | None = None,
        **fields: Any,
    ) -> Self:
        """The end of a turn."""
        usual: dict[str, Any] = {
            "why": "task",
            "fault": None,
            "reason": None,
            "messages": [7],
            "applied": 0,
        }
        usual |= {"rejected": 0, "tool_calls": 9, "tool_errors": 0, "seconds": 65.5}
        log = f".brenner/runs/{self.run}/round-{number}-{agent}-{attempt}.log"
        place = {"round": number, "agent": agent, "attempt": attempt, "state": "ended"}
        used = {"tokens": _tokens(tokens), "cost_usd": cost, "log": log}
        return self.add("turn", **place, outcome=outcome, **used, **{**usual, **fields})

    def held(self, number: int, agent: str, state: str, **fields: Any) -> Self:
        """A pause, or the end of an agent's turns in the round."""
        place = {"round": number, "agent": agent, "attempt": 1, "why": "task"}
        return self.add("turn", **place, state=state, **fields)

    def compiled(self, number: int, **fields: Any) -> Self:
        usual: dict[str, Any] = {"status": "published", "version": number, "message_id": 8}
        usual |= {"added": ["H1"], "modified": [], "killed": [], "applied": 1, "rejected": 0}
        lint = {"errors": 0, "warnings": 0}
        return self.add("compile", round=number, **{**usual, "lint": lint, **fields})

    def stopped(self, reason: str = "rounds", message: str = "Both rounds are done.") -> Self:
        usual: dict[str, Any] = {"rounds": 1, "versions": [1], "agents": {}, "seconds": 300.0}
        return self.add("stop", reason=reason, message=message, **usual)

    def write(self, project: Project, cut: int = 0) -> Path:
        """Write the folder; without the last bytes of the events, as after a kill."""
        folder = project.folder / ".brenner" / "runs" / self.run
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "run.json").write_text(json.dumps(self.about))
        lines = "".join(json.dumps(each) + "\n" for each in self.events)
        (folder / "events.jsonl").write_text(lines[: len(lines) - cut])
        return folder


def _tokens(count: int) -> dict[str, int]:
    return {"input": count - count // 10, "cached": count // 2, "output": count // 10}


def evening(thread_id: str, run: str = RUN) -> RunScript:
    """Two rounds: one agent contributes, one needs a reminder, one cannot log in; then work."""
    script = RunScript(thread_id, run).round(1, ANN, BEA, CYD)
    script.started(1, ANN).started(1, BEA).started(1, CYD)
    login: dict[str, Any] = {
        "fault": "login",
        "reason": "Invalid key in /home/ada. Run /login.",
    }
    script.ended(1, CYD, "fault", tokens=0, tool_calls=0, seconds=2.0, **login)
    script.held(1, CYD, "parked", **login)
    script.tool(1, ANN, "brenner_post").ended(1, ANN, applied=3, cost=0.42)
    script.ended(1, BEA, "rejected", rejected=1)
    script.started(1, BEA, 2, "reminder")
    script.ended(1, BEA, attempt=2, why="reminder", applied=1, tokens=12_000)
    script.compiled(1, added=["H1", "H2", "H3", "T1"], rejected=1)
    script.round(2, ANN, BEA).started(2, ANN).started(2, BEA)
    script.tool(2, ANN, "fetch_inbox").tool(2, ANN, "brenner_post", is_error=True)
    return script.used(2, ANN, 5_000, 0.05)


def finished(thread_id: str, run: str = RUN) -> RunScript:
    """The same to its end."""
    script = evening(thread_id, run).ended(2, ANN, applied=2, cost=0.2).ended(2, BEA, "passed")
    return script.compiled(2, added=["H4"], modified=["H1"], killed=["H2"]).stopped()


@contextmanager
def locked(project: Project, thread_id: str) -> Iterator[None]:
    """Hold the lock of a thread's runs, as a run in progress does."""
    with hold_lock(project, thread_id, LOCK, 20.0) as holder:
        assert holder is None
        yield
