"""`session run`: kickoffs, the agents' turns, compile, next round, until a stop rule holds.

Each turn runs in a thread of its own, which only puts what happens into a queue. All else happens
in the thread that calls `SessionRun.run`: it alone uses the mailbox, writes events and decides.
Nothing is decided for the operator: no dismissal, no void, no completion.
"""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any

from brenner.diagnostics.codes.running import RUN_IN_PROGRESS
from brenner.diagnostics.model import (
    BrennerError,
    Diagnostic,
    RequestError,
    UnavailableError,
    is_error,
)
from brenner.integrations.agent_driver import (
    AgentEvent,
    Endpoint,
    EventKind,
    Fault,
    FaultKind,
    TurnReport,
    TurnRequest,
    Usage,
)
from brenner.integrations.agent_process import StopSwitch, TurnLimits, end_marked, run_turn
from brenner.named_tuple import NamedTuple
from brenner.protocol.message_types import BLOCKED, CRITIQUE, QUESTION
from brenner.protocol.messages import iso
from brenner.services.compile import CompileOptions, CompileStatus, compile_thread
from brenner.services.next_round import RoundOptions, start_round
from brenner.services.run_log import Redaction, RunLog, lock_run, new_run_id
from brenner.services.run_plan import make_agent_folder
from brenner.services.run_state import (
    LIMIT_WORDS,
    STOP_WORDS,
    RoundState,
    RunningAgent,
    RunningTurn,
    StopReason,
    Waiting,
    compile_fields,
    tokens_json,
)
from brenner.services.run_summary import total_usage
from brenner.services.run_turns import (
    Answer,
    Step,
    StepKind,
    TurnOutcome,
    TurnResult,
    correction_prompt,
    first_prompt,
    has_finished,
    next_step,
    outcome_words,
    reason_of,
    result_of_turn,
    send_answer,
    turn_context,
)
from brenner.services.session_status import LoadedStatus, load_status
from brenner.services.start_session import KickoffState, Started, StartStatus, start_session
from brenner.session.run_prompts import reminder_prompt
from brenner.text import joined, plural

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from brenner.services.run_log import Event
    from brenner.services.run_plan import RunPlan
    from brenner.services.workspace import Workspace

_DEFAULT_TURN_MINUTES = 20.0
_JOIN_SECONDS = 60.0
_FOREVER = timedelta(days=3650).total_seconds()


class RunEnd(NamedTuple):
    """The end of a run: its last event, and the error that caused it, if any."""

    event: Event
    reason: StopReason
    has_contributions: bool
    failed: BrennerError | None = None


# Running it: the lock, what a killed run has left, the log


class RunAccess(NamedTuple):
    """How the agents of a run reach its mail: the token and their secrets, by name.

    `open` serves them, and yields the address. It is called when the project's store exists.
    """

    token: str
    secrets: Mapping[str, str]
    open: Callable[[], AbstractContextManager[str]]

    def __repr__(self) -> str:
        return f"RunAccess({', '.join(self.secrets)})"


def run_session(
    workspace: Workspace,
    plan: RunPlan,
    access: RunAccess,
    open_view: Callable[[Event], AbstractContextManager[Callable[[Event], None]]],
    on_start: Callable[[SessionRun], None],
) -> RunEnd:
    """Run a plan without errors, as the only run of its thread.

    `open_view` gets the content of `run.json`, and yields what shows each event. `on_start` gets
    the run, which can be interrupted from then on. Raise if another process runs the thread, or
    nothing can be written.
    """
    project, thread_id = workspace.project, plan.thread_id or ""
    with lock_run(project, thread_id) as holder:
        if holder is not None:
            raise UnavailableError(RUN_IN_PROGRESS.at(thread_id=thread_id, holder=holder))
        left = end_marked(plan.earlier.run_id) if plan.earlier else 0
        now = _now().replace(microsecond=0)
        configured = {name: text for each in plan.agents for name, text in each.program.env}
        known = (access.token, *access.secrets.values())
        redact = Redaction(known, {**os.environ, **configured})
        log = RunLog(project, new_run_id(now), redact)
        about = log.begin(
            {
                "thread_id": thread_id,
                "started_at": iso(now),
                "pid": os.getpid(),
                "options": plan.options._asdict() | {"rounds": plan.rounds},
                "before": plan.before._asdict(),
                "agents": [each.to_json() for each in plan.agents],
            }
        )
        with open_view(about) as show:
            run = SessionRun(workspace, plan, log, show)
            on_start(run)
            return run.run(access, ended_processes=left)


# The run


class SessionRun:
    """A run of a session. `show` gets each event as it is written to the log."""

    def __init__(
        self,
        workspace: Workspace,
        plan: RunPlan,
        log: RunLog,
        show: Callable[[Event], None],
    ) -> None:
        self._workspace, self._plan, self._log, self._show = workspace, plan, log, show
        self._thread = plan.thread_id or ""
        self._agents: dict[str, RunningAgent] = {}
        self._queue: SimpleQueue[tuple[RunningTurn | None, AgentEvent | TurnReport | None]] = (
            SimpleQueue()
        )
        self._switch = StopSwitch()
        self._interrupts = 0
        self._limit: StopReason | None = None
        self._began = monotonic()
        self._running: dict[str, RunningTurn] = {}
        self._waiting: dict[str, Waiting] = {}
        self._states: dict[str, RoundState] = {}
        self._had_turn: set[str] = set()
        self._round, self._rounds = 0, 0
        self._versions: list[int] = []
        self._has_news = False
        self._unsaved: BrennerError | None = None
        self._found: tuple[Diagnostic, ...] = ()  # about the kickoffs of the round
        self._refused: tuple[Diagnostic, ...] = ()
        self._sent_first: list[int] = []
        self._ended_processes = 0

    def interrupt(self, *, at_once: bool = False) -> None:
        """Stop: after the running turns, or at once. A signal handler may call this."""
        self._interrupts += 1
        if at_once or self._interrupts > 1:
            self._switch.stop("the run was interrupted", at_once=True)
        self._queue.put((None, None))

    def run(self, access: RunAccess, *, ended_processes: int = 0) -> RunEnd:
        """Run until a stop rule holds. No process of a turn is left afterwards."""
        failed: BrennerError | None = None
        self._ended_processes = ended_processes
        try:
            reason = self._run_rounds(access)
        except BrennerError as error:
            reason, failed = StopReason.FAILED, error
        return self._end(reason, failed)

    def _run_rounds(self, access: RunAccess) -> StopReason:
        self._sent_first = self._start_session()
        has_tools = any(each.has_tools for each in self._plan.agents)
        reason: StopReason | None = None
        with ExitStack() as stack:
            url = stack.enter_context(access.open()) if has_tools else ""
            stack.callback(self._stop_turns)
            self._make_agents(access, url)
            while reason is None:
                reason = self._run_round()
        return reason

    def _start_session(self) -> list[int]:
        """Send the kickoffs of a new session, and return those sent now."""
        start = self._plan.start
        if start is None:
            return []
        named = start._replace(thread_id=self._thread, bead=None)
        return self._kickoffs(start_session(self._workspace, named))

    def _make_agents(self, access: RunAccess, url: str) -> None:
        for planned in self._plan.agents:
            folder = make_agent_folder(self._workspace.project, self._thread, planned.name)
            endpoint = Endpoint(url, access.token, access.secrets[planned.name])
            self._agents[planned.name] = RunningAgent(planned, endpoint, folder)

    def _stop_turns(self) -> None:
        """End what still runs after an error; after a regular end nothing does."""
        if not self._running:
            return
        self._switch.stop("the run ended", at_once=True)
        for turn in self._running.values():
            if turn.thread:
                turn.thread.join(_JOIN_SECONDS)
            turn.log.end("The run ended during this turn.")
        self._running.clear()

    # One round

    def _run_round(self) -> StopReason | None:
        """Run one round, and return why the run stops; None if it goes on."""
        self._check_limits()
        loaded = self._load()
        early = self._early_reason(loaded)
        if early is not None:
            return early
        sent = self._send_kickoffs(loaded)
        loaded = self._load() if sent else loaded
        self._round, self._has_news = loaded.status.round, False
        asked = self._asked(loaded)
        waves = self._waves(loaded, asked)
        names = waves[0] if waves else []
        sent, self._sent_first = [*self._sent_first, *sent], []
        left, self._ended_processes = self._ended_processes, 0
        found = self._found if self._rounds else self._plan.diagnostics
        self._emit(
            "round",
            round=self._round,
            agents=names,
            kickoffs=sent,
            ended_processes=left,
            violations=[each.to_json() for each in found],
        )
        if not asked and not any(has_finished(loaded, name) for name in self._agents):
            return StopReason.NO_AGENTS
        for number, wave in enumerate(waves):
            # In the first round, the others do not wait for an agent that wrote no hypothesis.
            if number and (self._is_stopping or self._load().status.applies):
                break
            self._run_turns(wave)
        if self._interrupts:
            return StopReason.INTERRUPTED
        self._has_news |= bool(self._load().status.applies)  # also of a run that was killed
        self._compile()
        self._rounds += 1
        return self._stop_reason()

    def _early_reason(self, loaded: LoadedStatus) -> StopReason | None:
        """Return why no round begins: also what a run that was killed has used counts."""
        rules: tuple[tuple[StopReason, object], ...] = (
            (StopReason.INTERRUPTED, self._interrupts),
            (StopReason.ENDED, loaded.status.is_over),
            (self._limit or StopReason.MINUTES, self._limit),
            (StopReason.ROUNDS, self._plan.before.rounds + self._rounds >= self._plan.rounds),
        )
        return next((reason for reason, holds in rules if holds), None)

    def _send_kickoffs(self, loaded: LoadedStatus) -> list[int]:
        """Send the kickoffs of the round that are missing, and return those sent now."""
        plan, status = self._plan, loaded.status
        if status.version is None:
            return []
        is_asked = any(each.kickoff for each in status.participants)
        if is_asked and not (plan.earlier and not self._rounds):
            return []
        wish = plan.wish
        if plan.earlier and not wish.recipients:
            known = {each.name for each in status.participants if each.is_in_roster}
            names = [name for name in self._agents if name in known]
            wish = wish._replace(recipients=tuple((name, None) for name in names))
        return self._kickoffs(start_round(self._workspace, self._thread, RoundOptions(wish=wish)))

    def _kickoffs(self, started: Started) -> list[int]:
        """Return the kickoffs that were sent now. Raise if they were rejected."""
        self._found = started.diagnostics
        if started.failed:
            raise started.failed
        if started.status is StartStatus.REFUSED:
            self._refused = tuple(each for each in started.diagnostics if is_error(each))
            raise RequestError(self._refused[0])
        is_new = KickoffState.SENT
        return [each.stored.id for each in started.kickoffs if each.stored and each.state is is_new]

    def _asked(self, loaded: LoadedStatus) -> list[str]:
        """Return the agents of the run that the round asks, and that have not finished it."""
        asked = {each.name for each in loaded.status.participants if each.kickoff}
        return [
            name
            for name, agent in self._agents.items()
            if name in asked and not agent.parked and not has_finished(loaded, name)
        ]

    def _waves(self, loaded: LoadedStatus, asked: list[str]) -> list[list[str]]:
        """Return who has its turn together, in order. In round 1 some go first, for v1."""
        first = [name for name in asked if name in self._plan.first]
        if loaded.status.version is not None:
            return [asked] if asked else []
        has_first = any(has_finished(loaded, name) for name in self._plan.first)
        others = [name for name in asked if name not in first]
        if has_first and not first:
            return []
        return [wave for wave in (first, others) if wave]

    # The turns of a round

    @property
    def _is_stopping(self) -> bool:
        return bool(self._interrupts or self._limit)

    def _run_turns(self, names: Sequence[str]) -> None:
        """Run the turns of these agents, each in its own process, until none has one left."""
        loaded = self._load()
        for name in names:
            agent = self._agents[name]
            context = turn_context(loaded, name, agent.planned.role)
            prompt = first_prompt(self._workspace, context, has_tools=agent.planned.has_tools)
            self._states[name] = RoundState(context, prompt)
            self._start(agent, "task", prompt)
        while self._running or self._waiting:
            turn, what = self._next()
            self._check_limits()
            if self._is_stopping:
                self._waiting.clear()
            self._start_waiting()
            if turn is None or what is None:
                continue
            if isinstance(what, TurnReport):
                self._finish(turn, what)
            else:
                self._take(turn, what)

    def _next(self) -> tuple[RunningTurn | None, AgentEvent | TurnReport | None]:
        """Wait for the next event of a turn, a deadline or an interrupt."""
        now = monotonic()
        ends = [each.at for each in self._waiting.values()]
        if not self._limit and self._plan.options.minutes is not None:
            ends.append(now + self._seconds_left)
        seconds = max(0.0, min(ends) - now) if ends else None
        try:
            return self._queue.get(timeout=seconds)
        except Empty:
            return None, None

    def _start_waiting(self) -> None:
        now = monotonic()
        for each in [each for each in self._waiting.values() if each.at <= now]:
            del self._waiting[each.agent.name]
            self._start(each.agent, "retry", each.prompt)

    def _start(self, agent: RunningAgent, why: str, prompt: str) -> None:
        if self._is_stopping:
            return
        state, planned = self._states[agent.name], agent.planned
        state.attempt += 1
        agent.turns += 1
        self._had_turn.add(agent.name)
        log = self._log.turn(f"round-{self._round}-{agent.name}-{state.attempt}")
        log.head(
            f"{iso(_now().replace(microsecond=0))}  Round {self._round}, {agent.name} "
            f"({planned.program_name}), attempt {state.attempt}: {why}",
            prompt,
        )
        request = TurnRequest(
            f"{self._log.run_id}/{agent.name}/{agent.turns}",
            agent.name,
            prompt,
            agent.folder,
            agent.endpoint,
            planned.program,
            conversation=agent.conversation,
            used_before=agent.conversation_usage,
            readable=self._workspace.project.folder if self._plan.options.read_project else None,
            budget_usd=self._usd_left,
        )
        turn = RunningTurn(agent, why, request, log)
        turn.attempt, turn.after = state.attempt, self._load().history.arrival
        self._running[agent.name] = turn
        self._emit_turn(turn, "started")
        turn.thread = threading.Thread(target=self._work, args=(turn,), daemon=True)
        turn.thread.start()

    def _work(self, turn: RunningTurn) -> None:
        """Run the program. This is in the turn's own thread."""

        def on_event(event: AgentEvent) -> None:
            if event.kind is EventKind.LINE:
                turn.log.line(event.text)
                return
            turn.log.event(event, _now())
            self._queue.put((turn, event))

        program = turn.agent.planned.program
        limits = TurnLimits((program.minutes or _DEFAULT_TURN_MINUTES) * 60)
        try:
            report = run_turn(
                turn.agent.planned.driver,
                turn.request,
                limits=limits,
                on_event=on_event,
                stop=self._switch,
            )
        except Exception as error:  # noqa: BLE001  (one agent's failure does not end the others)
            report = TurnReport(Fault(FaultKind.FAILED, f"it cannot be run: {reason_of(error)}"))
        self._queue.put((turn, report))

    def _take(self, turn: RunningTurn, event: AgentEvent) -> None:
        """Take an event of a running turn: report it, and count what it used."""
        about: dict[str, Any] = {"round": self._round, "agent": turn.agent.name}
        if event.kind is EventKind.TOOL:
            self._emit("tool", **about, tool=event.text, is_error=event.is_error)
        elif event.kind is EventKind.USAGE and event.usage:
            turn.usage = event.usage
            usage = {"tokens": tokens_json(event.usage), "cost_usd": event.usage.cost_usd}
            self._emit("usage", **about, **usage)
            self._check_limits()

    # The end of a turn

    def _finish(self, turn: RunningTurn, report: TurnReport) -> None:
        """Look at what arrived, and decide what comes next for this agent."""
        agent, state = turn.agent, self._states[turn.agent.name]
        agent.usage = total_usage((agent.usage, report.usage))
        agent.conversation_usage = total_usage((agent.conversation_usage, report.usage))
        agent.conversation = report.conversation or agent.conversation
        answer = self._answer(agent, state, report)
        result = self._result(turn, answer, report)
        del self._running[agent.name]
        step = next_step(state.attempts, result, report.fault, self._seconds_left)
        state.attempts = state.attempts.after(step)
        agent.last = result
        if result.outcome is TurnOutcome.CONTRIBUTED:
            agent.contributed += 1
        self._has_news |= bool(result.applied) or result.outcome is TurnOutcome.MAIL
        turn.log.end(outcome_words(result, report), report.errors)
        self._emit_ended(turn, report, result)
        self._check_limits()
        self._apply(turn, step, report.fault, self._next_prompt(state, agent, result, answer, step))

    def _answer(self, agent: RunningAgent, state: RoundState, report: TurnReport) -> Answer | None:
        """Send the answer of a program without tools; None if there is none to send."""
        if agent.planned.has_tools or report.fault:
            return None
        return send_answer(self._workspace, state.context, report.text)

    def _result(self, turn: RunningTurn, answer: Answer | None, report: TurnReport) -> TurnResult:
        found = result_of_turn(self._load(), turn.agent.name, turn.after)
        if answer and not answer.is_sent:
            return found._replace(outcome=TurnOutcome.REJECTED, reason=answer.reason)
        if report.fault and found.outcome is TurnOutcome.SILENT:
            return found._replace(outcome=TurnOutcome.FAULT, reason=report.fault.reason)
        if found.outcome is TurnOutcome.REJECTED:
            errors = (e for each in found.refused for e in each.diagnostics if is_error(e))
            first = next((f": {e.id}, {e.message}" for e in errors), "")
            return found._replace(reason=f"{plural(len(found.refused), 'block')} rejected{first}")
        is_silent = found.outcome is TurnOutcome.SILENT
        return found._replace(reason="nothing arrived from it") if is_silent else found

    def _next_prompt(
        self,
        state: RoundState,
        agent: RunningAgent,
        result: TurnResult,
        answer: Answer | None,
        step: Step,
    ) -> str:
        """Return the prompt of the next turn, if there is one."""
        if step.kind not in (StepKind.REMIND, StepKind.RETRY):
            return ""
        if answer and not answer.is_sent:
            return correction_prompt(state.prompt, answer)
        if agent.planned.has_tools:
            is_again = step.kind is StepKind.RETRY
            if is_again and not agent.conversation:
                return state.prompt
            return reminder_prompt(state.context, result.refused, again=is_again)
        return first_prompt(self._workspace, state.context, has_tools=False)

    def _apply(self, turn: RunningTurn, step: Step, fault: Fault | None, prompt: str) -> None:
        agent = turn.agent
        if step.kind in (StepKind.PARK_RUN, StepKind.PARK_ROUND) and fault:
            self._park(turn, step, fault)
            return
        if step.kind is StepKind.DONE:
            agent.faulty_rounds = 0
            return
        if self._is_stopping:
            return
        if step.seconds:
            self._waiting[agent.name] = Waiting(agent, monotonic() + step.seconds, prompt)
            until = iso((_now() + timedelta(seconds=step.seconds)).replace(microsecond=0))
            self._emit_turn(turn, "waiting", until=until, reason=fault.reason if fault else None)
            return
        self._start(agent, step.kind.value, prompt)

    def _park(self, turn: RunningTurn, step: Step, fault: Fault) -> None:
        """Leave the agent out: of the run, or of this round. Two such rounds are enough."""
        agent = turn.agent
        agent.faulty_rounds += 1
        agent.conversation, agent.conversation_usage = None, Usage()
        if step.kind is StepKind.PARK_RUN or agent.faulty_rounds > 1:
            agent.parked = fault
        self._emit_turn(turn, "parked", fault=fault.kind.value, reason=fault.reason)

    # Compiling, and the rules for the end

    def _compile(self) -> None:
        done = compile_thread(self._workspace, self._thread, CompileOptions(notify=True))
        self._unsaved = done.failed
        if done.status is CompileStatus.PUBLISHED and done.version:
            self._versions.append(done.version)
        self._emit("compile", **compile_fields(self._round, done))

    def _stop_reason(self) -> StopReason | None:
        """Return the rule that ends the run after a round, the first that holds."""
        loaded = self._load()
        is_dry = not (self._has_news or self._others_come_next(loaded))
        rules: tuple[tuple[StopReason | None, object], ...] = (
            (StopReason.NO_AGENTS, all(agent.parked for agent in self._agents.values())),
            (early := self._early_reason(loaded), early),
            (StopReason.NOTHING_NEW, is_dry),
            (StopReason.ALL_ANSWERED, self._is_answered(loaded)),
        )
        return next((reason for reason, holds in rules if holds), None)

    def _is_answered(self, loaded: LoadedStatus) -> bool:
        """Return whether the version needs nothing, and every agent has had its turn."""
        status = loaded.status
        waiting = [e for kind in (CRITIQUE, QUESTION, BLOCKED) for e in status.of_type(kind.name)]
        is_clean = status.version is not None and not status.version.errors
        blocks = status.refusals or status.misplaced
        is_open = status.critiques or waiting or blocks or status.unanswered
        return is_clean and not is_open and not self._without_turn()

    def _others_come_next(self, loaded: LoadedStatus) -> bool:
        """Return whether a first round that is compiled leaves agents without a turn."""
        return loaded.status.version is not None and bool(self._without_turn())

    def _without_turn(self) -> list[str]:
        finished = (*self._had_turn, *(n for n, each in self._agents.items() if each.parked))
        return [name for name in self._agents if name not in finished]

    @property
    def _seconds_left(self) -> float:
        minutes = self._plan.options.minutes
        if minutes is None:
            return _FOREVER
        return minutes * 60 - self._plan.before.seconds - (monotonic() - self._began)

    @property
    def _usage(self) -> Usage:
        """What the run has used, its running turns included."""
        ended = (each.usage for each in self._agents.values())
        return total_usage((*ended, *(each.usage for each in self._running.values())))

    @property
    def _usd_left(self) -> float | None:
        limit = self._plan.options.budget_usd
        if limit is None:
            return None
        return max(0.01, limit - self._plan.before.cost_usd - (self._usage.cost_usd or 0.0))

    def _check_limits(self) -> None:
        """Stop the running turns when a limit is passed."""
        if self._limit:
            return
        options, before, used = self._plan.options, self._plan.before, self._usage
        tokens, cost = before.tokens + used.tokens, before.cost_usd + (used.cost_usd or 0.0)
        if options.minutes is not None and self._seconds_left <= 0:
            self._limit = StopReason.MINUTES
        elif options.budget_tokens is not None and tokens >= options.budget_tokens:
            self._limit = StopReason.TOKENS
        elif options.budget_usd is not None and cost >= options.budget_usd:
            self._limit = StopReason.USD
        if self._limit:
            self._switch.stop(LIMIT_WORDS[self._limit])

    # Events

    def _load(self) -> LoadedStatus:
        return load_status(self._workspace, self._thread)

    def _emit(self, kind: str, **fields: Any) -> Event:
        head = {
            "event": kind,
            "at": iso(_now().replace(microsecond=0)),
            "run": self._log.run_id,
            "thread_id": self._thread,
        }
        event = self._log.write(head | fields)
        self._show(event)
        return event

    def _emit_turn(self, turn: RunningTurn, state: str, **fields: Any) -> None:
        self._emit(
            "turn",
            round=self._round,
            agent=turn.agent.name,
            attempt=turn.attempt,
            why=turn.why,
            state=state,
            **fields,
        )

    def _emit_ended(self, turn: RunningTurn, report: TurnReport, result: TurnResult) -> None:
        self._emit_turn(
            turn,
            "ended",
            outcome=result.outcome.value,
            fault=report.fault.kind.value if report.fault else None,
            reason=(report.fault.reason if report.fault else result.reason) or None,
            messages=list(result.messages),
            applied=result.applied,
            rejected=result.rejected,
            tool_calls=report.tool_calls,
            tool_errors=report.tool_errors,
            seconds=round(report.seconds, 1),
            tokens=tokens_json(report.usage),
            cost_usd=report.usage.cost_usd,
            log=self._log.shown(turn.log),
        )

    def _end(self, reason: StopReason, failed: BrennerError | None) -> RunEnd:
        failed = failed or self._unsaved
        message = STOP_WORDS[reason]
        if reason is StopReason.FAILED and failed:
            message = failed.diagnostic.message
        parked = [name for name, agent in self._agents.items() if agent.parked]
        if parked and reason is not StopReason.FAILED:
            message += f" Not run to the end: {joined(parked)}."
        found = self._refused or ((failed.diagnostic,) if failed else ())
        event = self._emit(
            "stop",
            reason=reason.value,
            message=message,
            rounds=self._rounds,
            versions=self._versions,
            agents={name: agent.to_json() for name, agent in self._agents.items()},
            seconds=round(monotonic() - self._began, 1),
            violations=[each.to_json() for each in found],
        )
        is_someone = any(agent.contributed for agent in self._agents.values())
        was_done = reason is StopReason.ROUNDS and not self._had_turn  # by a run that was killed
        has_contributions = is_someone or bool(self._versions) or was_done
        return RunEnd(event, reason, has_contributions, failed)


def _now() -> datetime:
    return datetime.now(UTC)
