"""Summaries of runs: what each agent did in each round, folded from the events of a run.

The events come from a run in progress, or from its folder in `.brenner/runs/` afterwards. A file of
events may end in the middle of a line, since a run can be killed. What cannot be understood is left
out: a summary is for people, and the thread is the truth.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Any

from brenner.config import OWN_FOLDER
from brenner.integrations.agent_driver import FaultKind, Usage
from brenner.lazy_pattern import lazy_pattern
from brenner.named_tuple import NamedTuple
from brenner.persist.files import is_locked
from brenner.protocol.messages import iso
from brenner.text import joined, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from brenner.config import Project

RUNS, LOCK = "runs", "run.lock"
RUN_FILE, EVENTS_FILE = "run.json", "events.jsonl"
RUN_ID = lazy_pattern(r"[0-9]{8}-[0-9]{6}-[0-9a-z]{1,16}")
NO_USAGE = Usage()


class RunState(StrEnum):
    RUNNING = "running"
    STOPPED = "stopped"  # a stop rule, the operator or a failure ended it
    KILLED = "killed"  # its process ended without a `stop` event


class Activity(StrEnum):
    """What an agent does in a round."""

    EXPECTED = "expected"  # its turn has not started
    WORKING = "working"
    WAITING = "waiting"  # for a limit of its model service
    PARKED = "parked"  # no further turn in this round
    DONE = "done"
    CUT_OFF = "cut_off"  # the run ended during its turn


class TurnSummary(NamedTuple):
    """One start of an agent's program. `tool` is the last tool that it called."""

    round: int
    agent: str
    attempt: int
    why: str = "task"
    is_running: bool = False
    outcome: str | None = None
    fault: str | None = None
    reason: str | None = None
    started_at: datetime | None = None
    seconds: float = 0.0
    applied: int = 0
    rejected: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    tool: str = ""
    usage: Usage = NO_USAGE
    messages: tuple[int, ...] = ()
    log: str | None = None

    def seconds_at(self, now: datetime) -> float:
        """Return how long the turn took, or has taken until now."""
        if not self.is_running or self.started_at is None:
            return self.seconds
        return max(0.0, (now - self.started_at).total_seconds())

    def cut_off(self, at: datetime | None) -> TurnSummary:
        """Return the turn as the end of the run left it."""
        return self._replace(is_running=False, seconds=self.seconds_at(at) if at else 0.0)


class Hold(NamedTuple):
    """Why an agent has no turn now: until when it waits, or why it is parked."""

    activity: Activity
    reason: str | None = None
    fault: str | None = None
    until: datetime | None = None


class AgentRound(NamedTuple):
    """The turns of one agent in one round. The last one decides the outcome."""

    round: int
    agent: str
    activity: Activity
    turns: tuple[TurnSummary, ...] = ()
    hold: Hold | None = None

    @property
    def last(self) -> TurnSummary | None:
        return self.turns[-1] if self.turns else None

    @property
    def outcome(self) -> str | None:
        return self.last.outcome if self.last else None

    @property
    def fault(self) -> str | None:
        return (self.hold.fault if self.hold else None) or (self.last.fault if self.last else None)

    @property
    def reason(self) -> str | None:
        """The reason of a fault, or of a pause, in words."""
        return (self.hold.reason if self.hold else None) or (
            self.last.reason if self.last else None
        )


class Compilation(NamedTuple):
    """The compile at the end of a round."""

    status: str
    version: int | None
    message_id: int | None
    added: tuple[str, ...]
    modified: tuple[str, ...]
    killed: tuple[str, ...]
    applied: int
    rejected: int
    errors: int
    warnings: int

    @property
    def is_published(self) -> bool:
        return self.status == "published" and self.version is not None


class RoundSummary(NamedTuple):
    number: int
    agents: tuple[AgentRound, ...]
    compiled: Compilation | None = None


class AgentSummary(NamedTuple):
    """One agent in the whole run. `current` is its latest round."""

    name: str
    program: str | None
    driver: str | None
    model: str | None
    turns: tuple[TurnSummary, ...]
    current: AgentRound | None
    state: str | None = None  # `ok`, `parked` or `silent`, after the end
    reason: str | None = None

    @property
    def usage(self) -> Usage:
        return total_usage(each.usage for each in self.turns)


class RunSummary(NamedTuple):
    """One run. `folder` is relative to the project's folder; None for a run that is not on disk."""

    id: str
    thread_id: str
    state: RunState
    started_at: datetime | None
    ended_at: datetime | None
    rounds: tuple[RoundSummary, ...]
    agents: tuple[AgentSummary, ...]
    reason: str | None = None
    message: str | None = None
    folder: str | None = None

    @property
    def turns(self) -> tuple[TurnSummary, ...]:
        return tuple(turn for each in self.agents for turn in each.turns)

    @property
    def usage(self) -> Usage:
        return total_usage(each.usage for each in self.turns)

    @property
    def is_cost_partial(self) -> bool:
        """Whether the cost of some turns is known and that of others is not."""
        used = [each.usage for each in self.turns if each.usage.tokens]
        return 0 < sum(each.cost_usd is None for each in used) < len(used)

    @property
    def versions(self) -> tuple[int, ...]:
        compiled = (each.compiled for each in self.rounds)
        published = [each.version for each in compiled if each and each.is_published]
        return tuple(each for each in published if each is not None)

    def seconds_at(self, now: datetime) -> float:
        """Return how long the run took, or has taken until now."""
        end = now if self.state is RunState.RUNNING else self.ended_at
        return max(0.0, (end - self.started_at).total_seconds()) if end and self.started_at else 0.0


def total_usage(found: Iterable[Usage]) -> Usage:
    """Add usages. The cost is the sum of the known ones, None if no cost is known."""
    total = NO_USAGE
    for each in found:
        costs = [cost for cost in (total.cost_usd, each.cost_usd) if cost is not None]
        total = Usage(
            total.input_tokens + each.input_tokens,
            total.cached_tokens + each.cached_tokens,
            total.output_tokens + each.output_tokens,
            sum(costs) if costs else None,
        )
    return total


# Events and values of a file, of which nothing is certain


def _text(found: Mapping[str, Any], key: str) -> str | None:
    value = found.get(key)
    return value if isinstance(value, str) and value else None


def _number(found: Mapping[str, Any], key: str) -> float:
    value = found.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return value if 0 <= value < _MOST else 0


def _count(found: Mapping[str, Any], key: str) -> int:
    return int(_number(found, key))


def _some_number(found: Mapping[str, Any], key: str) -> int | None:
    return _count(found, key) or None


def _time(found: Mapping[str, Any], key: str) -> datetime | None:
    with suppress(ValueError):
        at = datetime.fromisoformat(_text(found, key) or "")
        return at if at.tzinfo else at.replace(tzinfo=UTC)
    return None


def _object(found: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = found.get(key)
    return value if isinstance(value, dict) else {}


def _list(found: Mapping[str, Any], key: str) -> Sequence[Any]:
    value = found.get(key)
    return value if isinstance(value, list | tuple) else ()


def _texts(found: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(each for each in _list(found, key) if isinstance(each, str))


def _usage(event: Mapping[str, Any]) -> Usage:
    tokens, cost = _object(event, "tokens"), event.get("cost_usd")
    return Usage(
        _count(tokens, "input"),
        _count(tokens, "cached"),
        _count(tokens, "output"),
        None if cost is None else float(_number(event, "cost_usd")),
    )


_MOST = 10**15  # a larger number in a file is damage


# Folding


class RunFold:
    """Folds the events of one run, in their order, into a summary.

    `about` is the content of `run.json`; a live view may begin without it.
    """

    def __init__(self, about: Mapping[str, Any] | None = None, folder: str | None = None) -> None:
        about = about or {}
        self._folder = folder
        self._id, self._thread_id = _text(about, "id") or "", _text(about, "thread_id") or ""
        self._started_at = _time(about, "started_at")
        self._last_at = self._started_at
        named = (each for each in _list(about, "agents") if isinstance(each, dict))
        self._profiles = {name: each for each in named if (name := _text(each, "name"))}
        self._asked: dict[int, tuple[str, ...]] = {}
        self._turns: dict[tuple[int, str, int], TurnSummary] = {}
        self._holds: dict[tuple[int, str], Hold] = {}
        self._compiled: dict[int, Compilation] = {}
        self._stop: Mapping[str, Any] | None = None

    @property
    def has_stopped(self) -> bool:
        return self._stop is not None

    def add(self, event: Mapping[str, Any]) -> None:
        """Take one event into account. An unknown kind changes nothing."""
        self._id = self._id or _text(event, "run") or ""
        self._thread_id = self._thread_id or _text(event, "thread_id") or ""
        at = _time(event, "at")
        self._started_at = self._started_at or at
        self._last_at = at or self._last_at
        match event.get("event"):
            case "round":
                self._asked[_count(event, "round")] = _texts(event, "agents")
            case "turn":
                self._add_turn(event, at)
            case "tool" | "usage" as kind:
                self._add_progress(event, kind)
            case "compile":
                self._compiled[_count(event, "round")] = _compilation(event)
            case "stop":
                self._stop = event

    def _add_turn(self, event: Mapping[str, Any], at: datetime | None) -> None:
        number, agent = _count(event, "round"), _text(event, "agent")
        if agent is None:
            return
        state, reason, fault = (_text(event, key) for key in ("state", "reason", "fault"))
        place = (number, agent)
        if state == "waiting":
            self._holds[place] = Hold(Activity.WAITING, reason, fault, _time(event, "until"))
        elif state == "parked":
            self._holds[place] = Hold(Activity.PARKED, reason, fault)
        elif state in ("started", "ended"):
            self._holds.pop(place, None)
            key = (*place, _count(event, "attempt") or 1)
            turn = self._turns.get(key) or TurnSummary(*key, _text(event, "why") or "task")
            ended = state == "ended"
            self._turns[key] = (
                _ended_turn(turn, event) if ended else turn._replace(started_at=at, is_running=True)
            )

    def _add_progress(self, event: Mapping[str, Any], kind: str) -> None:
        """Take a tool call or a new usage into the agent's turn that runs."""
        number, agent = _count(event, "round"), _text(event, "agent")
        running = [
            key
            for key, each in self._turns.items()
            if key[:2] == (number, agent) and each.is_running
        ]
        if not running:
            return
        turn = self._turns[running[-1]]
        if kind == "usage":
            turn = turn._replace(usage=_usage(event))
        else:
            turn = turn._replace(
                tool=_text(event, "tool") or "",
                tool_calls=turn.tool_calls + 1,
                tool_errors=turn.tool_errors + (event.get("is_error") is True),
            )
        self._turns[running[-1]] = turn

    def summary(self, *, is_running: bool = True) -> RunSummary:
        """Return the state so far. Without a `stop` event the run is running or was killed."""
        state = RunState.RUNNING if is_running else RunState.KILLED
        stop = self._stop or {}
        numbers = {*self._asked, *self._compiled, *(key[0] for key in self._turns)}
        is_over = self._stop is not None or not is_running
        rounds = tuple(self._round(number, is_over=is_over) for number in sorted(numbers))
        return RunSummary(
            self._id,
            self._thread_id,
            RunState.STOPPED if self._stop is not None else state,
            self._started_at,
            self._last_at if is_over else None,
            rounds,
            tuple(self._agent(name, rounds) for name in self._names(rounds)),
            _text(stop, "reason"),
            _text(stop, "message"),
            self._folder,
        )

    def _names(self, rounds: Sequence[RoundSummary]) -> Sequence[str]:
        asked = (each.agent for found in rounds for each in found.agents)
        return list(dict.fromkeys((*self._profiles, *asked)))

    def _round(self, number: int, *, is_over: bool) -> RoundSummary:
        acted = [key[1] for key in self._turns if key[0] == number]
        held = [agent for at, agent in self._holds if at == number]
        names = dict.fromkeys((*self._asked.get(number, ()), *acted, *held))
        compiled = self._compiled.get(number)
        is_over = is_over or compiled is not None
        agents = tuple(self._agent_round(number, name, is_over=is_over) for name in names)
        return RoundSummary(number, agents, compiled)

    def _agent_round(self, number: int, name: str, *, is_over: bool) -> AgentRound:
        turns = sorted(each for key, each in self._turns.items() if key[:2] == (number, name))
        hold = self._holds.get((number, name))
        if hold and hold.activity is Activity.WAITING and is_over:
            hold = None
        activity = Activity.EXPECTED
        if hold:
            activity = hold.activity
        elif turns:
            is_working = turns[-1].is_running
            activity = Activity.WORKING if is_working else Activity.DONE
            if is_working and is_over:
                activity, turns[-1] = Activity.CUT_OFF, turns[-1].cut_off(self._last_at)
        return AgentRound(number, name, activity, tuple(turns), hold)

    def _agent(self, name: str, rounds: Sequence[RoundSummary]) -> AgentSummary:
        profile = self._profiles.get(name, {})
        own = [each for found in rounds for each in found.agents if each.agent == name]
        ended = _object(_object(self._stop or {}, "agents"), name)
        return AgentSummary(
            name,
            _text(profile, "program"),
            _text(profile, "driver"),
            _text(profile, "model"),
            tuple(turn for each in own for turn in each.turns),
            own[-1] if own else None,
            _text(ended, "state"),
            _text(ended, "reason"),
        )


def _ended_turn(turn: TurnSummary, event: Mapping[str, Any]) -> TurnSummary:
    return turn._replace(
        is_running=False,
        why=_text(event, "why") or turn.why,
        outcome=_text(event, "outcome") or "fault",
        fault=_text(event, "fault"),
        reason=_text(event, "reason"),
        seconds=float(_number(event, "seconds")),
        applied=_count(event, "applied"),
        rejected=_count(event, "rejected"),
        tool_calls=_count(event, "tool_calls"),
        tool_errors=_count(event, "tool_errors"),
        usage=_usage(event),
        messages=tuple(each for each in _list(event, "messages") if isinstance(each, int)),
        log=_text(event, "log"),
    )


def _compilation(event: Mapping[str, Any]) -> Compilation:
    found = _object(event, "lint")
    return Compilation(
        _text(event, "status") or "",
        _some_number(event, "version"),
        _some_number(event, "message_id"),
        _texts(event, "added"),
        _texts(event, "modified"),
        _texts(event, "killed"),
        _count(event, "applied"),
        _count(event, "rejected"),
        _count(found, "errors"),
        _count(found, "warnings"),
    )


# The runs on disk


_MOST_RUNS = 50
_MOST_FOLDERS = 2_000
_MOST_BYTES = 16 * 1024 * 1024  # of one file of events; of a longer one the start and the end
_END_BYTES = 64 * 1024


def summarize_runs(
    project: Project, thread_id: str, most: int = _MOST_RUNS
) -> tuple[RunSummary, ...]:
    """Return the newest runs of a thread, the newest first.

    At most one can be running: the newest, if it has no `stop` event and the lock is taken.
    """
    return tuple(run for _, run in islice(_runs(project, thread_id), most))


def latest_run(project: Project, thread_id: str) -> tuple[Mapping[str, Any], RunSummary] | None:
    """Return the newest run of a thread with the content of its `run.json`; None if it has none."""
    return next(_runs(project, thread_id), None)


def _runs(project: Project, thread_id: str) -> Iterator[tuple[Mapping[str, Any], RunSummary]]:
    """Yield the runs of a thread, the newest first, each with the content of its `run.json`."""
    is_running = is_locked(project, thread_id, LOCK)
    for about, folder in _folders(project):
        if about.get("thread_id") == thread_id:
            relative = f"{OWN_FOLDER}/{RUNS}/{folder.name}"
            fold = RunFold({**about, "id": folder.name}, relative)
            for event in _events(folder / EVENTS_FILE):
                fold.add(event)
            yield about, fold.summary(is_running=is_running)
            is_running = False


def _folders(project: Project) -> Iterator[tuple[Mapping[str, Any], Path]]:
    """Yield the folders of runs with their `run.json`, the newest first."""
    parent = project.folder / OWN_FOLDER / RUNS
    try:
        names = sorted(filter(RUN_ID.fullmatch, os.listdir(parent)), reverse=True)  # noqa: PTH208
    except OSError:
        return
    for name in names[:_MOST_FOLDERS]:
        with suppress(OSError, ValueError):
            about = json.loads(b"".join(_chunks(parent / name / RUN_FILE)))
            if isinstance(about, dict):
                yield about, parent / name


def _events(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the events of a file. A line that is no object, or is cut, is left out."""
    try:
        chunks = _chunks(path)
    except OSError:
        return
    for chunk in chunks:
        for line in chunk.split(b"\n"):
            with suppress(ValueError, RecursionError):
                event = json.loads(line)
                if isinstance(event, dict):
                    yield event


def _chunks(path: Path) -> tuple[bytes, ...]:
    """Return the content of a file, or the start and the end of a very long one."""
    with path.open("rb") as file:
        start = file.read(_MOST_BYTES)
        size = os.fstat(file.fileno()).st_size
        if size <= len(start):
            return (start,)
        file.seek(max(len(start), size - _END_BYTES))
        return start, file.read(_END_BYTES)


# JSON. Keys are only ever added.


def run_json(run: RunSummary, now: datetime) -> dict[str, object]:
    """Return a run as `session runs --json` shows it."""
    return {
        "id": run.id,
        "thread_id": run.thread_id,
        "state": run.state.value,
        "started_at": _iso(run.started_at),
        "ended_at": _iso(run.ended_at),
        "seconds": round(run.seconds_at(now), 1),
        "reason": run.reason,
        "message": run.message,
        "versions": list(run.versions),
        **usage_json(run.usage),
        "folder": run.folder,
        "agents": [_agent_json(each, now) for each in run.agents],
        "rounds": [
            {
                "round": each.number,
                "agents": [agent_round_json(found, now) for found in each.agents],
                "compile": _compilation_json(each.compiled),
            }
            for each in run.rounds
        ],
    }


def usage_json(usage: Usage) -> dict[str, object]:
    """Return tokens and cost, with the keys of the events."""
    tokens = {
        "input": usage.input_tokens,
        "cached": usage.cached_tokens,
        "output": usage.output_tokens,
    }
    return {"tokens": tokens, "cost_usd": usage.cost_usd}


def _agent_json(agent: AgentSummary, now: datetime) -> dict[str, object]:
    current = agent.current
    return {
        "name": agent.name,
        "program": agent.program,
        "driver": agent.driver,
        "model": agent.model,
        "activity": (current.activity if current else Activity.EXPECTED).value,
        "state": agent.state,
        "reason": agent.reason or (current.reason if current else None),
        "turns": len(agent.turns),
        "contributed": sum(each.outcome == "contributed" for each in agent.turns),
        **_sums_json(agent.turns, now),
    }


def agent_round_json(each: AgentRound, now: datetime) -> dict[str, object]:
    """Return what an agent did in a round."""
    return {
        "agent": each.agent,
        "activity": each.activity.value,
        "outcome": each.outcome,
        "fault": each.fault,
        "reason": each.reason,
        "until": _iso(each.hold.until) if each.hold else None,
        "turns": len(each.turns),
        "messages": [number for turn in each.turns for number in turn.messages],
        **_sums_json(each.turns, now),
        "logs": [turn.log for turn in each.turns if turn.log],
    }


def _sums_json(turns: Sequence[TurnSummary], now: datetime) -> dict[str, object]:
    return {
        "applied": sum(each.applied for each in turns),
        "rejected": sum(each.rejected for each in turns),
        "tool_calls": sum(each.tool_calls for each in turns),
        "tool_errors": sum(each.tool_errors for each in turns),
        "seconds": round(sum(each.seconds_at(now) for each in turns), 1),
        **usage_json(total_usage(each.usage for each in turns)),
    }


def _compilation_json(found: Compilation | None) -> dict[str, object] | None:
    if found is None:
        return None
    return {
        "status": found.status,
        "version": found.version,
        "message_id": found.message_id,
        "added": list(found.added),
        "modified": list(found.modified),
        "killed": list(found.killed),
        "applied": found.applied,
        "rejected": found.rejected,
        "lint": {"errors": found.errors, "warnings": found.warnings},
    }


def _iso(at: datetime | None) -> str | None:
    return iso(at) if at else None


# Words


FAULT_LABELS: Mapping[str, str] = {
    FaultKind.NOT_INSTALLED: "program not installed",
    FaultKind.LOGIN: "not logged in",
    FaultKind.CREDIT: "no credit",
    FaultKind.RATE_LIMIT: "rate limit",
    FaultKind.OVERLOADED: "model service unavailable",
    FaultKind.NO_TOOLS: "tools not available",
    FaultKind.TIMEOUT: "time limit reached",
    FaultKind.LOOP: "repeated tool calls",
    FaultKind.CRASH: "program crashed",
    FaultKind.STOPPED: "stopped",
    FaultKind.FAILED: "program failed",
}
_OUTCOME_LABELS = {
    "contributed": "contributed",
    "passed": "passed",
    "mail": "sent mail",
    "rejected": "rejected",
    "silent": "sent nothing",
    "fault": "failed",
}
_ACTIVITY_LABELS = {
    Activity.EXPECTED: "not started",
    Activity.WAITING: "waiting",
    Activity.PARKED: "parked",
    Activity.CUT_OFF: "cut off",
}
_WHY_LABELS = {"task": "working", "reminder": "reminded, working", "retry": "trying again"}
_STOP_LABELS = {
    "rounds": "The number of rounds was reached.",
    "minutes": "The time limit was reached.",
    "tokens": "The token limit was reached.",
    "usd": "The cost limit was reached.",
    "nothing_new": "No agent contributed anything new.",
    "all_answered": "Nothing is open.",
    "no_agents": "No agent is left.",
    "interrupted": "You interrupted it.",
    "ended": "The session was ended.",
    "failed": "It failed.",
}


def describe_stop(run: RunSummary) -> str:
    """Return why a run is over, in one sentence; empty while it runs."""
    if run.state is RunState.RUNNING:
        return ""
    if run.state is RunState.KILLED:
        return "The run was killed: its process ended without finishing."
    return run.message or _STOP_LABELS.get(run.reason or "", "It stopped.")


def describe_turn_state(each: AgentRound) -> str:
    """Return what an agent does in a round, or how its turns ended, in a few words of ours."""
    cause = FAULT_LABELS.get(each.fault or "", "")
    match each.activity:
        case Activity.WORKING:
            return _WHY_LABELS.get(each.last.why if each.last else "", "working")
        case Activity.DONE:
            words = _OUTCOME_LABELS.get(each.outcome or "", each.outcome or "")
            cause = cause if each.outcome == "fault" else ""
            words = "" if each.fault == FaultKind.STOPPED and cause else words
        case _:
            words = _ACTIVITY_LABELS[each.activity]
    return ": ".join(filter(None, (words, cause)))


def state_text(each: AgentRound, turns: Sequence[TurnSummary]) -> str:
    """Return what an agent does, or how its turns ended with how many blocks."""
    words = describe_turn_state(each)
    applied = sum(turn.applied for turn in turns)
    rejected = sum(turn.rejected for turn in turns)
    counts = ((applied, "applied"), (rejected, "rejected"))
    blocks = ", ".join(f"{count} {word}" for count, word in counts if count)
    if each.activity is not Activity.DONE or not blocks:
        return words
    return blocks if each.outcome == "rejected" else f"{words}: {blocks}"


def weight_of(each: AgentRound) -> str:
    """Return how a reader should see a state: `strong`, `attention`, `quiet` or `plain`."""
    if each.activity is Activity.WORKING:
        return "strong"
    if each.activity is Activity.EXPECTED:
        return "quiet"
    is_fine = each.outcome in ("contributed", "passed", "mail")
    return "plain" if each.activity is Activity.DONE and is_fine else "attention"


# Figures in words


_MINUTE, _HOUR = 60, 3600
_THOUSAND, _MILLION = 1_000, 1_000_000
_CENT = 0.01
_NO_COST = "–"
_MOST_IDS = 4
_NOT_COMPILED = {"nothing_to_compile": "nothing to compile"}


def clock_text(seconds: float) -> str:
    """Return a duration as `1:05`, or `1:02:05` from an hour on."""
    whole = int(seconds)
    hours, minutes = whole // _HOUR, whole // _MINUTE % _MINUTE
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


def tokens_text(count: int) -> str:
    """Return a number of tokens in at most five characters, such as `950`, `45.2k` or `1.3M`."""
    if count < _THOUSAND:
        return str(count)
    if count < _MILLION - _THOUSAND // 2:
        return f"{count / _THOUSAND:.{0 if count >= 100 * _THOUSAND else 1}f}k"
    return f"{count / _MILLION:.1f}M"


def cost_text(usage: Usage, *, is_partial: bool = False) -> str:
    """Return the cost in dollars, or a dash if the program reports none."""
    if usage.cost_usd is None:
        return _NO_COST
    amount = f"${usage.cost_usd:.2f}"
    if 0 < usage.cost_usd < _CENT:
        amount = "<$0.01"
    return f"{amount} where known" if is_partial else amount


def usage_texts(run: RunSummary) -> list[str]:
    """Return the tokens and the cost of a run, as far as they are known."""
    usage = run.usage
    found = [f"{tokens_text(usage.tokens)} tokens"] if usage.tokens else []
    if usage.cost_usd is not None:
        found.append(cost_text(usage, is_partial=run.is_cost_partial))
    return found


def run_text(run: RunSummary, now: datetime) -> str:
    """Return the figures of a run in one line: rounds, versions, time, tokens, cost."""
    versions = joined([f"v{each}" for each in run.versions])
    is_running = run.state is RunState.RUNNING and run.rounds
    rounds = f"round {run.rounds[-1].number}" if is_running else plural(len(run.rounds), "round")
    figures = (rounds, versions, clock_text(run.seconds_at(now)))
    return ", ".join(filter(None, (*figures, *usage_texts(run))))


def compiled_text(found: Compilation) -> str:
    """Return what a compile did, in one line."""
    if not found.is_published:
        return _NOT_COMPILED.get(found.status, "not compiled")
    changes = [
        f"{word} {joined(ids)}" if len(ids) <= _MOST_IDS else f"{word} {plural(len(ids), 'item')}"
        for word, ids in (
            ("added", found.added),
            ("changed", found.modified),
            ("killed", found.killed),
        )
        if ids
    ]
    if found.rejected:
        changes.append(plural(found.rejected, "rejected block"))
    if found.errors:
        changes.append(plural(found.errors, "lint error"))
    return f"v{found.version}: {', '.join(changes) or 'no changes'}"
