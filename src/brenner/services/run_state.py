"""The state of a run in progress: its agents, their turns, and why it stops."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from brenner.artifact.diff import changed_ids
from brenner.artifact.state import BlockOutcome, count_outcomes
from brenner.integrations.agent_driver import Endpoint, Fault, TurnRequest, Usage
from brenner.named_tuple import NamedTuple
from brenner.services.run_turns import FINISHED, Attempts, TurnResult

if TYPE_CHECKING:
    import threading
    from pathlib import Path

    from brenner.services.compile import CompileResult
    from brenner.services.run_log import TurnLog
    from brenner.services.run_plan import PlannedAgent
    from brenner.session.run_prompts import TurnContext

# Why a run stops


class StopReason(StrEnum):
    """Why a run stopped; the values are stable in the JSON."""

    ROUNDS = "rounds"
    MINUTES = "minutes"
    TOKENS = "tokens"
    USD = "usd"
    NOTHING_NEW = "nothing_new"
    ALL_ANSWERED = "all_answered"
    NO_AGENTS = "no_agents"
    INTERRUPTED = "interrupted"
    ENDED = "ended"
    FAILED = "failed"


STOP_WORDS = {
    StopReason.ROUNDS: "The requested rounds are finished.",
    StopReason.MINUTES: "The time limit is reached.",
    StopReason.TOKENS: "The limit of tokens is reached.",
    StopReason.USD: "The limit of dollars is reached.",
    StopReason.NOTHING_NEW: "No agent contributed anything new in the round.",
    StopReason.ALL_ANSWERED: "Nothing is open: no lint error, critique, question or rejection.",
    StopReason.NO_AGENTS: "No agent is left that can be run.",
    StopReason.INTERRUPTED: "The run was interrupted. The same command continues it.",
    StopReason.ENDED: "The operator ended the session.",
    StopReason.FAILED: "The run failed.",
}
LIMIT_WORDS = {
    StopReason.MINUTES: "the time limit of the run is reached",
    StopReason.TOKENS: "the limit of tokens of the run is reached",
    StopReason.USD: "the limit of dollars of the run is reached",
}


# The state of an agent and of a turn


class RunningAgent:
    """An agent during the run. Its conversation continues through all its turns."""

    def __init__(self, planned: PlannedAgent, endpoint: Endpoint, folder: Path) -> None:
        self.planned, self.endpoint, self.folder = planned, endpoint, folder
        self.name = planned.name
        self.conversation: str | None = None
        self.conversation_usage = Usage()
        self.usage = Usage()
        self.turns = 0
        self.contributed = 0
        self.parked: Fault | None = None  # for the rest of the run
        self.faulty_rounds = 0  # in a row
        self.last: TurnResult | None = None

    @property
    def state(self) -> str:
        if self.parked:
            return "parked"
        is_silent = self.last is not None and self.last.outcome not in FINISHED
        return "silent" if is_silent else "ok"

    def to_json(self) -> dict[str, Any]:
        reason = self.parked.reason if self.parked else self.last.reason if self.last else ""
        return {
            "turns": self.turns,
            "contributed": self.contributed,
            "tokens": tokens_json(self.usage),
            "cost_usd": self.usage.cost_usd,
            "state": self.state,
            "reason": reason or None,
        }


class RunningTurn:
    """One start of an agent's program, and what it has used so far."""

    def __init__(self, agent: RunningAgent, why: str, request: TurnRequest, log: TurnLog) -> None:
        self.agent, self.why, self.request, self.log = agent, why, request, log
        self.usage = Usage()
        self.thread: threading.Thread | None = None
        self.after = 0  # the last arrival before it
        self.attempt = 1


class RoundState:
    """An agent's part of the current round: what was tried, and what is known of its answer."""

    def __init__(self, context: TurnContext, prompt: str) -> None:
        self.context, self.prompt = context, prompt
        self.attempts = Attempts()
        self.attempt = 0


class Waiting(NamedTuple):
    """A turn that starts later."""

    agent: RunningAgent
    at: float
    prompt: str


def tokens_json(usage: Usage) -> dict[str, int]:
    return {
        "input": usage.input_tokens,
        "cached": usage.cached_tokens,
        "output": usage.output_tokens,
    }


# Events


def compile_fields(round_: int, done: CompileResult) -> dict[str, Any]:
    changes, blocks = changed_ids(done.diff), count_outcomes(done.ledger)
    lint = done.lint.summary
    return {
        "round": round_,
        "status": done.status.value,
        "version": done.version,
        "message_id": done.message.id if done.message else None,
        **{name: changes[name] for name in ("added", "modified", "killed")},
        "applied": blocks[BlockOutcome.APPLIED.value],
        "rejected": blocks[BlockOutcome.REFUSED.value],
        "lint": {"errors": lint.errors, "warnings": lint.warnings},
        "violations": [done.failed.diagnostic.to_json()] if done.failed else [],
    }
