"""Plan a `session run`: which agents, which programs, who goes first, within which limits.

Every foreseeable error is found here, before anything is sent, and all of them at once.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brenner.diagnostics.codes import running as codes
from brenner.diagnostics.codes.publishing import SESSION_CANCELLED, SESSION_CLOSED
from brenner.diagnostics.codes.sessions import INDEPENDENCE_TOO_LATE
from brenner.diagnostics.model import ERROR, Diagnostic, RequestError, UnavailableError
from brenner.integrations.agent_driver import Endpoint, Fault, TurnRequest
from brenner.integrations.drivers.table import find_driver
from brenner.integrations.programs import find_program
from brenner.mail.sealed import independent_round_of
from brenner.named_tuple import NamedTuple
from brenner.program_settings import KNOWN_PROGRAMS, TEXT, ProgramSettings, merge_programs
from brenner.protocol.roster import Role
from brenner.services.next_round import earlier_kickoffs, round_roster
from brenner.services.publish import check_not_ended, check_operator
from brenner.services.rosters import RosterRequest
from brenner.services.run_state import StopReason
from brenner.services.run_summary import RunState, latest_run
from brenner.services.run_turns import first_prompt, turn_context
from brenner.services.session_status import LoadedStatus, load_status
from brenner.services.start_session import (
    Started,
    StartOptions,
    role_in_kickoff,
    roster_diagnostics,
    start_session,
)
from brenner.session.run_prompts import TextTask, TurnContext, text_task, turn_prompt
from brenner.text import joined, thread_argument

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from brenner.config import Project
    from brenner.integrations.agent_driver import Driver
    from brenner.protocol.roster import Roster
    from brenner.services.workspace import Workspace

ROUNDS = 3
_FOLDER_MODE = 0o700
_LONGEST_NAME = 100  # characters of a folder's name

# Options and limits


class RunOptions(NamedTuple):
    """The options of a run. A limit that is None was not given.

    `together`: all agents have their turn in round 1, not only those who write hypotheses.
    `independent`: the same, and no agent sees the others' contributions before v1 (R33).
    """

    rounds: int | None = None
    minutes: float | None = None
    budget_tokens: int | None = None
    budget_usd: float | None = None
    together: bool = False
    independent: bool = False
    read_project: bool = False


class Spent(NamedTuple):
    """What an interrupted run has used of its limits, and so what the next one starts with."""

    rounds: int = 0
    seconds: float = 0.0
    tokens: int = 0
    cost_usd: float = 0.0


class PlannedAgent(NamedTuple):
    """An agent of a run: its role, its program, and how that is driven."""

    name: str
    role: str | None
    program_name: str
    program: ProgramSettings
    driver: Driver

    @property
    def has_tools(self) -> bool:
        return self.driver.name != TEXT

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "role": self.role,
            "program": self.program_name,
            "driver": self.driver.name,
            "model": self.program.model,
        }


class RunPlan(NamedTuple):
    """What a run will do. `first` are the agents that have their turn first in round 1.

    `start` are the options of a new session, and `started` its kickoffs as they would be sent.
    `earlier` is the run of the thread that was interrupted or killed; this one continues it.
    `diagnostics` are the errors, which prevent the run, and warnings.
    """

    thread_id: str | None
    agents: tuple[PlannedAgent, ...]
    options: RunOptions
    first: tuple[str, ...] = ()
    start: StartOptions | None = None
    started: Started | None = None
    wish: RosterRequest = RosterRequest()
    earlier: EarlierRun | None = None
    before: Spent = Spent()
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(each for each in self.diagnostics if each.severity is ERROR)

    @property
    def rounds(self) -> int:
        return ROUNDS if self.options.rounds is None else self.options.rounds


# The plan


def plan_new_session(workspace: Workspace, start: StartOptions, options: RunOptions) -> RunPlan:
    """Plan the run of a session that does not exist yet, or whose kickoffs are not all sent."""
    check_operator(workspace, "run a session")
    start = start._replace(independent=options.independent)
    started = start_session(workspace, start._replace(dry_run=True))
    agents, found = _plan_agents(workspace, started.recipients, started.roster)
    plan = RunPlan(started.thread_id, agents, options, start=start, started=started)
    found = [*started.diagnostics, *found]
    return _completed(workspace, plan, found)


def plan_existing_session(
    workspace: Workspace, thread_id: str, wish: RosterRequest, options: RunOptions
) -> RunPlan:
    """Plan the run of an existing session. Raise if it does not exist or has ended."""
    check_operator(workspace, "run a session")
    loaded = load_status(workspace, thread_id)
    _check_can_run(loaded)
    independent = independent_round_of(workspace.mailbox, thread_id)
    is_independent = independent is not None and independent.ended_by is None
    if options.independent and not is_independent:
        raise RequestError(INDEPENDENCE_TOO_LATE.at(thread_id=thread_id))
    options = options._replace(independent=is_independent)
    roster, asked, about_rosters = earlier_kickoffs(loaded.messages)
    resolved = round_roster(workspace, roster, asked, wish)
    agents, about_agents = _plan_agents(workspace, resolved.recipients, resolved.roster)
    plan = RunPlan(thread_id, agents, options, wish=wish)
    found = [*roster_diagnostics(resolved), *about_rosters, *about_agents]
    plan = _completed(workspace, plan, found)
    names = tuple(each.name for each in agents)
    return plan._replace(first=names) if loaded.history.versions else plan


def _check_can_run(loaded: LoadedStatus) -> None:
    """Raise if the session has ended, with the command that reopens it."""
    history, thread = loaded.history, thread_argument(loaded.status.thread_id)
    try:
        check_not_ended(history)
    except RequestError as refused:
        found = refused.diagnostic
        if found.code not in (SESSION_CLOSED, SESSION_CANCELLED):
            raise
        command = history.reopen_command or f"brenner session round --reopen {thread}"
        fix = f"To continue it: `{command}`. Then run the command again."
        raise RequestError(found._replace(fix=fix)) from None


def _completed(workspace: Workspace, plan: RunPlan, found: Iterable[Diagnostic]) -> RunPlan:
    earlier = _interrupted_run(workspace.project, plan.thread_id)
    plan = _continued(plan, earlier) if earlier else plan
    found = [*found, *_option_errors(plan)]
    return plan._replace(first=first_agents(plan), diagnostics=tuple(found))


def first_agents(plan: RunPlan) -> tuple[str, ...]:
    """Return the agents that have their turn first in round 1: those who write hypotheses.

    All, if no agent has that role, or all go together.
    """
    names = tuple(each.name for each in plan.agents)
    generators = tuple(
        each.name for each in plan.agents if each.role == Role.HYPOTHESIS_GENERATOR.value
    )
    is_together = plan.options.together or plan.options.independent
    return names if is_together or not generators else generators


# Continuing an interrupted run


class EarlierRun(NamedTuple):
    """A run that was killed or interrupted: its options, and what it has used of its limits."""

    run_id: str
    options: Mapping[str, Any]
    spent: Spent


def _interrupted_run(project: Project, thread_id: str | None) -> EarlierRun | None:
    """Return the latest run of a thread if it was killed or interrupted."""
    found = latest_run(project, thread_id) if thread_id else None
    if found is None:
        return None
    about, run = found
    if run.state is RunState.RUNNING or (
        run.state is RunState.STOPPED and run.reason != StopReason.INTERRUPTED
    ):
        return None
    options, before = about.get("options"), about.get("before")
    known = before if isinstance(before, dict) else {}
    used = Spent(**{name: known[name] for name in Spent._fields if name in known})
    spent = Spent(
        used.rounds + sum(each.compiled is not None for each in run.rounds),
        used.seconds + run.seconds_at(datetime.now(UTC)),
        used.tokens + run.usage.tokens,
        used.cost_usd + (run.usage.cost_usd or 0.0),
    )
    return EarlierRun(run.id, options if isinstance(options, dict) else {}, spent)


def _continued(plan: RunPlan, earlier: EarlierRun) -> RunPlan:
    """Return the plan with the options of an interrupted run, where none are given.

    What that run has used of a limit counts, also if the same limit is given again: the same
    command continues the run. A limit with another value starts anew.
    """
    given, used = plan.options, earlier.spent

    def counts(name: str) -> bool:
        return getattr(given, name) in (None, earlier.options.get(name))

    taken: dict[str, Any] = {
        name: value if value not in (None, False) else earlier.options.get(name, value)
        for name, value in given._asdict().items()
    }
    before = Spent(
        used.rounds if counts("rounds") else 0,
        used.seconds if counts("minutes") else 0.0,
        used.tokens if counts("budget_tokens") else 0,
        used.cost_usd if counts("budget_usd") else 0.0,
    )
    return plan._replace(options=RunOptions(**taken), earlier=earlier, before=before)


# The programs of the agents


def _plan_agents(
    workspace: Workspace, names: Iterable[str], roster: Roster
) -> tuple[tuple[PlannedAgent, ...], list[Diagnostic]]:
    registered = {each.name: each.program for each in workspace.mailbox.agents()}
    programs = merge_programs(workspace.project.programs)
    agents: list[PlannedAgent] = []
    found: list[Diagnostic] = []
    for name in dict.fromkeys(names):
        entry = roster.entry(name)
        program = (entry.program if entry else None) or registered.get(name, "")
        problem = _driver_problem(workspace.project, name, program, programs)
        if problem:
            found.append(problem)
            continue
        settings = programs[program]
        path = _find_program(workspace.project, settings.run[0])
        if path is None:
            found.append(_missing_program(name, program, settings.run[0]))
            continue
        model = (entry.model if entry else None) or settings.model
        settings = settings._replace(run=(path, *settings.run[1:]), model=model)
        role = role_in_kickoff(roster, name)
        agents.append(
            PlannedAgent(name, role, program, settings, find_driver(settings.driver or ""))
        )
    return tuple(agents), found


def _find_program(project: Project, name: str) -> str | None:
    """Return the path of a program: on PATH, or for a name with a slash in the project's folder."""
    return find_program(str(project.folder / name) if os.sep in name else name)


def _missing_program(agent: str, program: str, command: str) -> Diagnostic:
    is_path = os.sep in command
    reason = "does not exist or cannot be executed" if is_path else "is not on PATH"
    words = {"command": command, "name": os.path.basename(command), "reason": reason}  # noqa: PTH119
    return codes.AGENT_PROGRAM_MISSING.at(None, agent=agent, program=program, **words)


def _driver_problem(
    project: Project, agent: str, program: str, programs: Mapping[str, ProgramSettings]
) -> Diagnostic | None:
    """Return why it is unknown how to run the program of an agent, with settings that work."""
    if not program:
        known = joined([f"`{each}`" for each in KNOWN_PROGRAMS])
        first = "" if project.is_known else "brenner init && "
        fix = (
            f"Name its program: `{first}brenner mail register {agent} --program claude-code`, or "
            f"`program` in its entry of the roster. Known programs: {known}."
        )
        words = {"agent": agent, "reason": "its program is unknown", "fix": fix}
        return codes.AGENT_WITHOUT_DRIVER.at(None, **words)
    settings = programs.get(program)
    if settings and settings.driver and settings.run:
        return None
    fix = (
        f'Add to `brenner.toml`: `[programs.{program}]`, below it `driver = "text"` and '
        f'`run = ["{program}"]`. The driver `text` passes the task to the program\'s standard '
        "input, and sends what it prints."
    )
    reason = f"`[programs.{program}]` in `brenner.toml` has no driver"
    return codes.AGENT_WITHOUT_DRIVER.at(None, agent=agent, reason=reason, fix=fix)


def _option_errors(plan: RunPlan) -> Iterator[Diagnostic]:
    """Yield the options that a program of the plan cannot keep."""
    options, agents = plan.options, plan.agents
    if options.budget_usd is not None:
        unknown = [each for each in agents if not each.driver.reports_cost]
        reason = "the program does not report what it costs"
        fix = "Use `--budget-tokens N`, which works with all programs, or `--minutes N`."
        yield from _option_error("--budget-usd", unknown, reason, fix)
    if options.read_project:
        unlimited = [each for each in agents if not each.driver.can_read_project]
        reason = "the program cannot be limited to reading one folder"
        fix = "Leave out `--read-project`. Put what the agents need into `--context` or an excerpt."
        yield from _option_error("--read-project", unlimited, reason, fix)


def _option_error(
    option: str, agents: list[PlannedAgent], reason: str, fix: str
) -> Iterator[Diagnostic]:
    if agents:
        named = joined([f"{each.name} ({each.program_name})" for each in agents])
        words = {"option": option, "agents": named, "reason": reason, "fix": fix}
        yield codes.OPTION_NOT_FOR_PROGRAM.at(None, **words)


# What the first turns would be


class TurnPreview(NamedTuple):
    """The first turn of an agent as it would be: the command, without secrets, and its prompt.

    `prompt` is None for an agent whose turn comes later: its prompt depends on the others.
    """

    agent: PlannedAgent
    command: tuple[str, ...]
    problem: str
    prompt: str | None


def preview_turns(workspace: Workspace, plan: RunPlan) -> tuple[TurnPreview, ...]:
    """Return the first turn of each agent. Nothing is left on the disk."""
    return tuple(_preview(workspace, plan, each) for each in plan.agents)


def _preview(workspace: Workspace, plan: RunPlan, agent: PlannedAgent) -> TurnPreview:
    from tempfile import TemporaryDirectory

    thread_id = plan.thread_id or ""
    prompt = _preview_prompt(workspace, plan, agent) if agent.name in plan.first else None
    with TemporaryDirectory() as name:
        request = TurnRequest(
            "preview",
            agent.name,
            "",
            Path(name),
            Endpoint("http://127.0.0.1:PORT/mcp/", "", ""),
            agent.program,
            readable=workspace.project.folder if plan.options.read_project else None,
            budget_usd=plan.options.budget_usd,
        )
        launch = agent.driver.prepare(request)
        if isinstance(launch, Fault):
            return TurnPreview(agent, (), launch.reason, prompt)
        real = str(agent_folder(workspace.project, thread_id, agent.name))
        command = tuple(word.replace(name, real) for word in launch.command)
        return TurnPreview(agent, command, "", prompt)


def _preview_prompt(workspace: Workspace, plan: RunPlan, agent: PlannedAgent) -> str:
    thread_id = plan.thread_id or ""
    if plan.started is None:
        context = turn_context(load_status(workspace, thread_id), agent.name, agent.role)
        return first_prompt(workspace, context, has_tools=agent.has_tools)
    context = TurnContext(agent.name, thread_id, 1, 0, None, agent.role)
    if agent.has_tools:
        return turn_prompt(context)
    messages = [e.message for e in plan.started.kickoffs if agent.name in e.message.recipients]
    names = [workspace.project.operator, *plan.started.recipients]
    recipients = tuple(name for name in names if name != agent.name)
    return text_task(TextTask(context, messages[0].body if messages else "", recipients))


# The folders of the agents: in the user's state folder, never in the project


def agent_folder(project: Project, thread_id: str, agent: str) -> Path:
    """Return the folder of an agent's program in a thread. It need not exist."""
    state = os.environ.get("XDG_STATE_HOME", "")
    base = Path(state) if os.path.isabs(state) else Path.home() / ".local" / "state"  # noqa: PTH117
    digest = sha256(os.fsencode(project.folder)).hexdigest()[:8]
    place = f"{project.folder.name[:_LONGEST_NAME]}-{digest}"
    thread = thread_id
    if len(thread) > _LONGEST_NAME:
        thread = sha256(thread.encode()).hexdigest()
    return base / "brenner" / "agents" / place / thread / agent


def make_agent_folder(project: Project, thread_id: str, agent: str) -> Path:
    """Create the folder of an agent, which only we can read. Raise if that is impossible."""
    folder = agent_folder(project, thread_id, agent)
    reason = "it is inside the project"
    if not folder.resolve().is_relative_to(project.folder.resolve()):
        try:
            folder.mkdir(_FOLDER_MODE, parents=True, exist_ok=True)
            folder.chmod(_FOLDER_MODE)
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
        else:
            return folder
    words = {"path": str(folder), "agent": agent, "reason": reason}
    raise UnavailableError(codes.AGENT_FOLDER_UNUSABLE.at(None, **words))
