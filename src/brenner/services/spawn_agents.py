"""Spawn a session's agents in a terminal (ntm or tmux), and broadcast that they have mail.

Also the results of kickoffs as JSON and in words, for the command line and the web.
"""

from __future__ import annotations

import hashlib
import os
from types import MappingProxyType
from typing import TYPE_CHECKING

from brenner.diagnostics.codes import sessions as codes
from brenner.diagnostics.model import (
    ERROR,
    BrennerError,
    Diagnostic,
    RequestError,
    Summary,
    UnavailableError,
    worst_first,
)
from brenner.integrations.programs import NTM, NTM_FLAGS, TMUX, Ntm, find_program
from brenner.integrations.tmux import (
    ONLY_SHELL,
    Pane,
    Tmux,
    attach_command,
    command_with_line,
    panes_by_agent,
    screen_obstacle,
    takes_first_line,
    type_lines,
    typing_obstacle,
    wait_for_screens,
    window_command,
)
from brenner.named_tuple import NamedTuple
from brenner.program_settings import SERVER_NAME, merge_programs
from brenner.protocol.roster_config import roster_json
from brenner.protocol.thread_ids import cross_reference, is_valid_thread_id
from brenner.services.start_session import KickoffDelivery, KickoffState, Started
from brenner.store_url import PostgresAddress, parse_store
from brenner.text import escape_control, joined

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from brenner.config import Project
    from brenner.protocol.roster import Roster
    from brenner.services.workspace import Workspace

# Options and results, as values and as JSON

Launch = tuple[str, tuple[str, ...]]
"""The program of an agent, and its command."""
NOBODY: Mapping[str, str] = MappingProxyType({})


class SpawnOptions(NamedTuple):
    """Whether to open the agents in a terminal, and whether to tell them to read their mail.

    A dry run changes nothing.
    """

    spawn: bool = False
    broadcast: bool = False
    dry_run: bool = False

    def __bool__(self) -> bool:
        return self.spawn or self.broadcast

    @property
    def option(self) -> str:
        return "`--spawn`" if self.spawn else "`--broadcast`"


class TerminalResult(NamedTuple):
    """The result of spawning and broadcasting. `session` is the name in the program that did it.

    `opened` maps agents that were opened (or would be) to their commands, and `told` are the
    agents that were told to read their mail (or would be). They are None if that was not tried.
    `not_opened` and `not_told` map the other agents to the reason. ntm does not list the agents of
    a running session, and broadcasts to all panes at once.

    `diagnostics` contains everything to report, `failed` the error that decides the exit code. It
    `is_skipped` if some mail was not sent: the agents would find none.
    """

    program: str
    session: str
    attach: str
    is_dry_run: bool
    opened: Mapping[str, Launch] | None = None
    open_before: tuple[str, ...] = ()
    not_opened: Mapping[str, str] = NOBODY
    is_left_untouched: bool = False
    told: tuple[str, ...] | None = None
    not_told: Mapping[str, str] = NOBODY
    is_to_all_panes: bool = False
    diagnostics: tuple[Diagnostic, ...] = ()
    failed: BrennerError | None = None
    is_skipped: bool = False


def terminal_json(done: TerminalResult | None) -> dict[str, object] | None:
    """Return the stable JSON form; None if nothing was requested."""
    if done is None:
        return None
    status = "failed" if done.failed else "dry_run" if done.is_dry_run else "done"
    spawned = {
        "opened": [
            {"agent": agent, "program": program, "command": list(command)}
            for agent, (program, command) in (done.opened or {}).items()
        ],
        "open_before": list(done.open_before),
        "left_untouched": done.is_left_untouched,
        "not_opened": _reasons_json(done.not_opened),
    }
    told = {
        "told": list(done.told or ()),
        "all_panes": done.is_to_all_panes,
        "not_told": _reasons_json(done.not_told),
    }
    return {
        "program": done.program,
        "session": done.session,
        "attach": done.attach,
        "status": "skipped" if done.is_skipped else status,
        "spawn": None if done.opened is None else spawned,
        "broadcast": None if done.told is None else told,
    }


def _reasons_json(agents: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"agent": agent, "reason": reason} for agent, reason in agents.items()]


def started_json(done: Started, terminal: TerminalResult | None = None) -> dict[str, object]:
    """Return the result of kickoffs as JSON: the stable form; keys are only ever added."""
    found = (*done.diagnostics, *(terminal.diagnostics if terminal else ()))
    summary = Summary.of(found)
    return {
        "thread_id": done.thread_id,
        "status": done.status.value,
        **({"round": done.round} if done.round else {}),
        "kickoffs": [_kickoff_json(each) for each in done.kickoffs],
        "registered": list(done.registered),
        "roster": roster_json(done.roster),
        "neighbours": terminal_json(terminal),
        "violations": [each.to_json() for each in sorted(found, key=worst_first)],
        "summary": summary._asdict(),
        "valid": summary.errors == 0,
    }


def _kickoff_json(each: KickoffDelivery) -> dict[str, object]:
    message = each.message
    return {
        "to": list(message.recipients),
        "role": each.role,
        "subject": message.subject,
        "message_id": each.stored.id if each.stored else None,
        "status": each.state.value,
        "body": message.body,
    }


def kickoff_summary(done: Started, each: KickoffDelivery) -> str:
    to = joined(each.message.recipients) + (f" ({escape_control(each.role)})" if each.role else "")
    if each.state is KickoffState.UNKNOWN:
        return f"Unknown whether the kickoff to {to} was sent."
    if each.stored is None:
        return f"The kickoff to {to} was not sent."
    if each.state is KickoffState.SENT_BEFORE:
        return f"Already sent: message {each.stored.id} to {to}."
    return f"Sent message {each.stored.id} to {to} in {escape_control(done.thread_id or '')}."


# The terminal session of a thread, in ntm or tmux


_NOT_FROM_FILE = ("--store", "BRENNER_STORE")
_MARK_LENGTH = 16


class AgentTerminal(NamedTuple):
    """The terminal session of a thread. `mail` is the prefix about sent mail for error messages.

    `panes` is None if the session does not run, and an error text if tmux cannot list them. Panes
    that Brenner opened are marked, and stay with tmux even if ntm is installed later.
    """

    thread_id: str
    project: Project
    mail: str
    tmux: Tmux | None
    ntm: Ntm | None
    panes: tuple[Pane, ...] | str | None

    @property
    def program(self) -> str:
        is_ours = isinstance(self.panes, tuple) and any(each.thread for each in self.panes)
        return NTM if self.ntm and not is_ours else TMUX

    @property
    def session(self) -> str:
        known = cross_reference(self.thread_id)
        return known.ntm_session if self.program == NTM else known.tmux_session

    @property
    def is_running(self) -> bool:
        """Return whether the session runs, as far as tmux reports."""
        return isinstance(self.panes, tuple)

    @property
    def agents(self) -> dict[str, Pane]:
        return panes_by_agent(self.panes) if isinstance(self.panes, tuple) else {}

    @property
    def mark(self) -> str:
        """Return a digest of the project's folder, which every terminal keeps unchanged."""
        folder = os.fsencode(self.project.folder)
        return hashlib.sha256(folder).hexdigest()[:_MARK_LENGTH]

    def refreshed(self) -> AgentTerminal:
        return self._replace(panes=_panes(self.tmux, self.thread_id))


def find_agent_terminal(project: Project, thread_id: str, mail: str) -> AgentTerminal:
    """Return the thread's terminal session. Raise if it belongs to another thread or project."""
    tmux, ntm = find_program(TMUX), find_program(NTM)
    in_tmux = Tmux(tmux, project.folder) if tmux else None
    in_ntm = Ntm(ntm, project.folder, pane_environment(project)) if ntm else None
    panes = _panes(in_tmux, thread_id)
    terminal = AgentTerminal(thread_id, project, mail, in_tmux, in_ntm, panes)
    for each in panes if isinstance(panes, tuple) else ():
        owner = _other_owner(terminal, each)
        if owner:
            words = {"mail": mail, "session": terminal.session, "owner": owner}
            raise UnavailableError(codes.OTHER_TERMINAL_SESSION.at(None, **words))
    return terminal


def _panes(tmux: Tmux | None, thread_id: str) -> tuple[Pane, ...] | str | None:
    return tmux.panes(cross_reference(thread_id).tmux_session) if tmux else None


def _other_owner(terminal: AgentTerminal, pane: Pane) -> str:
    if pane.thread and pane.thread != terminal.thread_id:
        return f"the thread `{pane.thread}`"
    return "another project" if pane.project and pane.project != terminal.mark else ""


def program_commands(project: Project) -> dict[str, tuple[str, ...]]:
    """Return the command that opens each program in a terminal; some programs have none."""
    programs = merge_programs(project.programs)
    return {name: each.command for name, each in programs.items() if each.command}


def pane_environment(project: Project) -> dict[str, str]:
    """Return the environment variables for the store, if no file names it.

    A password is left out: all users of the machine can see the arguments of a program.
    """
    if project.store is None or project.store_from not in _NOT_FROM_FILE:
        return {}
    address = parse_store(project.store)
    if isinstance(address, PostgresAddress) and address.has_password:
        return {"BRENNER_STORE": address.without_password.written}
    return {"BRENNER_STORE": project.store}


# Opening the agents: ntm starts a number of each program, tmux one window per agent
#
# A running session stays unchanged; in tmux, agents without a window get one.


_DUPLICATE = "duplicate session"


def plan_openings(
    workspace: Workspace, roster: Roster, recipients: Iterable[str], *, with_ntm: bool
) -> tuple[dict[str, Launch], dict[str, str]]:
    """Return the program and command of each agent to open, and why others are left out.

    Their programs come from the roster, else from the registered agents.
    """
    known = {agent.name: agent.program for agent in workspace.mailbox.agents()}
    commands = program_commands(workspace.project)
    if with_ntm:
        commands = {name: command for name, command in commands.items() if name in NTM_FLAGS}
    openings: dict[str, Launch] = {}
    left_out: dict[str, str] = {}
    for name in recipients:
        entry = roster.entry(name)
        program = (entry.program if entry else None) or known.get(name)
        if not program:
            left_out[name] = "its program is not known"
        elif program not in commands:
            left_out[name] = f"the command of its program `{program}` is not known"
        else:
            openings[name] = (program, commands[program])
    return openings, left_out


def _spawn(
    done: TerminalResult,
    terminal: AgentTerminal,
    openings: dict[str, Launch],
    left_out: dict[str, str],
    *,
    with_line: bool,
) -> TerminalResult:
    """Open the agents; panes that exist already stay unchanged.

    `with_line` gives each program its line about new mail as an argument.
    """
    done = done._replace(not_opened=left_out)
    if terminal.program == NTM:
        done = _spawn_with_ntm(done, terminal, openings)
    else:
        done = _spawn_with_tmux(done, terminal, openings, with_line=with_line)
    passed_over = {} if done.is_left_untouched else done.not_opened
    found = [codes.AGENT_NOT_OPENED.at(agent=who, reason=why) for who, why in passed_over.items()]
    if terminal.program != NTM:
        found += _missing_programs(done.opened or {}, terminal.project.folder)
    if done.failed:
        found.append(done.failed.diagnostic)
    return done._replace(diagnostics=tuple(found))


def _spawn_with_ntm(
    done: TerminalResult, terminal: AgentTerminal, openings: dict[str, Launch]
) -> TerminalResult:
    if terminal.is_running:
        return done._replace(opened={}, is_left_untouched=True)
    if terminal.ntm and openings and not done.is_dry_run:
        ran = terminal.ntm.spawn(terminal.session, [program for program, _ in openings.values()])
        if not ran.succeeded:
            return done._replace(opened={}, failed=_spawn_error(terminal, openings, ran.reason))
    return done._replace(opened=openings)


def _spawn_with_tmux(
    done: TerminalResult,
    terminal: AgentTerminal,
    openings: dict[str, Launch],
    *,
    with_line: bool,
) -> TerminalResult:
    panes = terminal.agents
    missing = {name: launch for name, launch in openings.items() if name not in panes}
    present = {
        name: _why_absent(panes[name], command)
        for name, (_, command) in openings.items()
        if name in panes
    }
    ended = {name: reason for name, reason in present.items() if reason}
    done = done._replace(
        opened=missing,
        open_before=tuple(name for name, reason in present.items() if not reason),
        not_opened={**done.not_opened, **ended},
    )
    if done.is_dry_run:
        return done
    reason = terminal.panes if isinstance(terminal.panes, str) else ""
    opened: dict[str, Launch] = {}
    for name, launch in missing.items():
        is_new = not terminal.is_running and not opened
        line = inbox_line(terminal.thread_id, name) if with_line else ""
        command = command_with_line(launch[1], line)
        reason = reason or _open_window(terminal, name, command, is_new=is_new)
        if reason:
            rest = [each for each in missing if each not in opened]
            return done._replace(opened=opened, failed=_spawn_error(terminal, rest, reason))
        opened[name] = launch
    return done


def _why_absent(pane: Pane, command: Sequence[str]) -> str:
    """Return why an agent with a window is not running; empty if it is."""
    reason = typing_obstacle(pane, command[:1])
    has_ended = bool(pane.agent) and not pane.is_ours
    return reason if has_ended or reason == ONLY_SHELL else ""


def _open_window(
    terminal: AgentTerminal, agent: str, command: Sequence[str], *, is_new: bool
) -> str:
    """Open a window for an agent. Return why that failed, or an empty string."""
    if terminal.tmux is None:
        return "tmux is not on PATH"
    # The tmux server has the environment of its first user, perhaps from days ago.
    environment = {"PATH": os.environ.get("PATH", os.defpath), **pane_environment(terminal.project)}
    words = window_command(agent, command, terminal.tmux.program, environment)
    marks = {"agent": agent, "thread": terminal.thread_id, "project": terminal.mark}
    ran = terminal.tmux.open(terminal.session, marks, words, is_new=is_new)
    if is_new and _DUPLICATE in ran.err:  # another process was first
        ran = terminal.tmux.open(terminal.session, marks, words, is_new=False)
    return "" if ran.succeeded else ran.reason


def _spawn_error(terminal: AgentTerminal, agents: Iterable[str], reason: str) -> UnavailableError:
    return UnavailableError(
        codes.SPAWN_FAILED.at(
            mail=terminal.mail,
            program=terminal.program,
            session=terminal.session,
            agents=", ".join(agents),
            reason=reason,
        )
    )


def _missing_programs(opened: Mapping[str, Launch], folder: Path) -> Iterator[Diagnostic]:
    """Yield a warning for each agent whose window has only a shell, without its program."""
    for agent, (program, (command, *_)) in opened.items():
        if find_program(str(folder / command) if os.sep in command else command) is None:
            yield codes.PROGRAM_NOT_FOUND.at(command=command, program=program, agent=agent)


# Telling the agents that they have mail
#
# A program that was just opened got the line as an argument: it may show a dialog first, and typed
# text would answer it. Other panes are typed to if their screen shows an empty prompt. The line
# contains no control characters and no shell syntax: if the program ends just before, a shell reads
# it.


_NO_WINDOW = "it has no window in the session"
_NO_LINE = "it was just opened, and its command in `[programs]` has no `{line}`"
_JUST_SPAWNED = "ntm has just opened it, and Brenner types nothing into a program that starts"
_NO_SCREENS = "without tmux, Brenner cannot check that the screens show empty prompts"


def _broadcast(
    done: TerminalResult, terminal: AgentTerminal, names: Mapping[str, Collection[str]]
) -> TerminalResult:
    """Tell the agents to read their mail. `names` maps each agent to its possible commands."""
    if terminal.program == NTM:
        return _broadcast_with_ntm(done, terminal, tuple(names))
    if isinstance(terminal.panes, str):
        return _broadcast_failed(done, terminal, tuple(names), terminal.panes)
    fresh = done.opened or {}
    if not terminal.is_running and not (done.is_dry_run and fresh):
        return _no_session(done, terminal, names)
    if terminal.tmux and fresh and not done.is_dry_run:
        panes = [pane for name, pane in terminal.agents.items() if name in fresh]
        wait_for_screens(terminal.tmux, panes)
        terminal = terminal.refreshed()
    lines: dict[str, tuple[Pane, str]] = {}
    missed: dict[str, str] = {}
    for name, commands in names.items():
        pane = terminal.agents.get(name)
        reason = typing_obstacle(pane, commands) if pane else _NO_WINDOW
        if name in fresh:
            reason = "" if done.is_dry_run else reason
            reason = reason or ("" if takes_first_line(fresh[name][1]) else _NO_LINE)
        elif pane and not reason:
            lines[name] = (pane, inbox_line(terminal.thread_id, name))
        if reason:
            missed[name] = reason
    if terminal.tmux and lines:
        missed |= type_lines(terminal.tmux, lines, is_dry_run=done.is_dry_run)
    told = tuple(name for name in names if name not in missed)
    return done._replace(told=told, not_told={n: missed[n] for n in names if n in missed})


def inbox_line(thread_id: str, name: str) -> str:
    return (
        f"{name}: there is mail for you in the thread {thread_id}. {_TOOL} with agent {name} and "
        f"thread_id {thread_id} to see what to do."
    )


def inbox_line_for_all(thread_id: str, names: Sequence[str]) -> str:
    return (
        f"Brenner: there is mail for {', '.join(names)} in the thread {thread_id}. {_TOOL} with "
        f"your own name as agent and thread_id {thread_id} to see what to do."
    )


_TOOL = f"Call the tool brenner_task of the MCP server {SERVER_NAME}"


def _broadcast_with_ntm(
    done: TerminalResult, terminal: AgentTerminal, names: tuple[str, ...]
) -> TerminalResult:
    """Broadcast with ntm, which sends to all panes at once, if all of them show empty prompts."""
    if done.opened:
        return done._replace(told=(), not_told=dict.fromkeys(names, _JUST_SPAWNED))
    if terminal.tmux and terminal.panes is None:
        return _no_session(done, terminal, names)
    reason = _ntm_obstacle(terminal)
    if reason:
        return _broadcast_failed(done, terminal, names, reason)
    if terminal.ntm and not done.is_dry_run:
        text = inbox_line_for_all(terminal.thread_id, names)
        ran = terminal.ntm.send(terminal.session, text)
        if not ran.succeeded:
            return _broadcast_failed(done, terminal, names, ran.reason)
    return done._replace(told=names, is_to_all_panes=True)


def _ntm_obstacle(terminal: AgentTerminal) -> str:
    """Return why nothing may be typed into the panes of the session. Shells do not count."""
    if terminal.tmux is None:
        return _NO_SCREENS
    if isinstance(terminal.panes, str):
        return terminal.panes
    every = frozenset(command[0] for command in program_commands(terminal.project).values())
    for pane in terminal.panes or ():
        reason = typing_obstacle(pane, every)
        reason = "" if reason == ONLY_SHELL else reason or screen_obstacle(terminal.tmux, pane)
        if reason:
            return f"window {escape_control(pane.window)}: {reason}"
    return ""


def _broadcast_failed(
    done: TerminalResult, terminal: AgentTerminal, names: Sequence[str], reason: str
) -> TerminalResult:
    missed = f"{', '.join(names)} ({terminal.program}: {reason})"
    failed = UnavailableError(
        codes.BROADCAST_INCOMPLETE.at(mail=terminal.mail, session=terminal.session, missed=missed)
    )
    return done._replace(told=(), not_told=dict.fromkeys(names, reason), failed=failed)


def _no_session(
    done: TerminalResult, terminal: AgentTerminal, names: Iterable[str]
) -> TerminalResult:
    words = {"mail": terminal.mail, "session": terminal.session, "program": terminal.program}
    failed = UnavailableError(codes.NO_TERMINAL_SESSION.at(None, **words))
    missed = dict.fromkeys(names, "the session is not running")
    return done._replace(told=(), not_told=missed, failed=failed)


# Spawning and broadcasting, after the kickoffs were sent
#
# The mail does not depend on this step: errors here report that the mail was sent.
# `check_can_spawn` raises foreseeable failures before anything is sent.


_MAIL_SENT = "The messages were sent. "
_NOT_OPENED = "the session could not be opened"


def check_can_spawn(
    workspace: Workspace,
    roster: Roster,
    names: Sequence[str],
    options: SpawnOptions,
    thread_id: str | None,
) -> None:
    """Raise foreseeable failures before any mail is sent; a new thread has no ID yet."""
    if not options:
        return
    has_ntm = find_program(NTM) is not None
    if not has_ntm and find_program(TMUX) is None:
        raise UnavailableError(codes.NO_TERMINAL_PROGRAM.at(option=options.option))
    if thread_id is not None and is_valid_thread_id(thread_id):
        find_agent_terminal(workspace.project, thread_id, "")  # raises for another project's
    if not options.spawn or not names:
        return
    openings, left_out = plan_openings(workspace, roster, names, with_ntm=has_ntm)
    if not openings:
        reasons = "; ".join(f"{agent}: {reason}" for agent, reason in left_out.items())
        known = ", ".join(sorted(program_commands(workspace.project)))
        raise RequestError(codes.NOBODY_TO_OPEN.at(reasons=reasons, known=known))


def spawn_after_kickoffs(
    workspace: Workspace, done: Started, options: SpawnOptions
) -> TerminalResult | None:
    """Spawn and broadcast for all recipients of kickoffs, sent now or before.

    Return None if nothing is requested, or nothing could be sent.
    """
    thread_id = done.thread_id
    if not options or thread_id is None:
        return None
    program = NTM if find_program(NTM) else TMUX
    known = cross_reference(thread_id)
    session = known.ntm_session if program == NTM else known.tmux_session
    attach = attach_command(thread_id, program)
    result = TerminalResult(program, session, attach, options.dry_run)
    if done.failed:
        return result._replace(is_skipped=True)
    if any(each.severity is ERROR for each in done.diagnostics):
        return None
    try:
        return _spawn_agents(workspace, thread_id, done, options)
    except BrennerError as error:
        return result._replace(diagnostics=(error.diagnostic,), failed=error)


def _spawn_agents(
    workspace: Workspace, thread_id: str, started: Started, options: SpawnOptions
) -> TerminalResult:
    mail, names = "" if options.dry_run else _MAIL_SENT, started.recipients
    terminal = find_agent_terminal(workspace.project, thread_id, mail)
    attach = attach_command(thread_id, terminal.program)
    done = TerminalResult(terminal.program, terminal.session, attach, options.dry_run)
    with_ntm = terminal.program == NTM
    openings, left_out = plan_openings(workspace, started.roster, names, with_ntm=with_ntm)
    if options.spawn:
        done = _spawn(done, terminal, openings, left_out, with_line=options.broadcast)
    if not options.broadcast:
        return done
    # The commands that each agent's program may have: all, if its program is unknown
    every = frozenset(command[0] for command in program_commands(terminal.project).values())
    commands = {name: {openings[name][1][0]} if name in openings else every for name in names}
    return _with_broadcast(done, terminal, commands)


def _with_broadcast(
    done: TerminalResult, terminal: AgentTerminal, names: Mapping[str, Collection[str]]
) -> TerminalResult:
    """Broadcast, and add the result. Agents that could not be opened are not reported again."""
    if done.opened is not None and not done.is_dry_run:
        terminal = terminal.refreshed()
    if done.failed and not terminal.is_running:
        return done._replace(told=(), not_told=dict.fromkeys(names, _NOT_OPENED))
    result = _broadcast(done, terminal, names)
    if done.failed:  # the first error is the one to report
        return result._replace(failed=done.failed)
    failed = result.failed or _broadcast_error(terminal, result)
    found = (failed.diagnostic,) if failed else ()
    return result._replace(diagnostics=(*done.diagnostics, *found), failed=failed)


def _broadcast_error(terminal: AgentTerminal, done: TerminalResult) -> UnavailableError | None:
    """Return the error for agents that were not notified, unless they could not be started."""
    missed = "; ".join(
        f"{agent} ({reason})"
        for agent, reason in done.not_told.items()
        if agent not in done.not_opened
    )
    if not missed:
        return None
    return UnavailableError(
        codes.BROADCAST_INCOMPLETE.at(mail=terminal.mail, session=terminal.session, missed=missed)
    )
