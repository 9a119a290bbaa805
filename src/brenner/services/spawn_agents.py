"""Spawn a session's agents in a terminal (ntm or tmux), and broadcast that they have mail.

Also the results of kickoffs as JSON and in words, for the command line and the web.
"""

import hashlib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from brenner.config import Project
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
    PROGRAM_COMMANDS,
    AgentLaunch,
    NewWindow,
    Pane,
    SkippedAgent,
    Tmux,
    attach_command,
    panes_by_agent,
    plan_launch,
    type_lines,
    typing_obstacle,
    wait_for_raw_input,
    window_command,
)
from brenner.mail.open import store_option
from brenner.protocol.roster import Roster
from brenner.protocol.roster_config import roster_json
from brenner.protocol.thread_ids import cross_reference, is_valid_thread_id
from brenner.services.start_session import KickoffDelivery, KickoffState, Started
from brenner.services.workspace import Workspace
from brenner.store_url import PostgresAddress, parse_store
from brenner.text import escape_control, joined

# Options and results, as values and as JSON


class SpawnOptions(NamedTuple):
    """Whether to open the agents in a terminal, and whether to tell them to read their mail.

    A dry run changes nothing.
    """

    spawn: bool = False
    broadcast: bool = False
    dry_run: bool = False

    def __bool__(self) -> bool:
        """Return whether anything is requested."""
        return self.spawn or self.broadcast

    @property
    def option(self) -> str:
        """Return the command-line option that requested it."""
        return "`--spawn`" if self.spawn else "`--broadcast`"


class SpawnResult(NamedTuple):
    """The agents that were opened (or would be), were open before, or were not opened, and why.

    ntm does not list the agents of a running session: then `is_left_untouched` is set, and no
    agent is named.
    """

    opened: tuple[AgentLaunch, ...] = ()
    before: tuple[str, ...] = ()
    left_out: tuple[SkippedAgent, ...] = ()
    is_left_untouched: bool = False
    failed: BrennerError | None = None
    diagnostics: tuple[Diagnostic, ...] = ()


class BroadcastResult(NamedTuple):
    """The agents that were told to read their mail (or would be), and those that were not.

    ntm broadcasts to all panes of the session at once.
    """

    names: tuple[str, ...] = ()
    not_told: tuple[SkippedAgent, ...] = ()
    is_to_all_panes: bool = False
    failed: BrennerError | None = None


class TerminalResult(NamedTuple):
    """The result of spawning and broadcasting. `session` is the name in the program that did it.

    `diagnostics` contains everything to report, `failed` the error that decides the exit code. It
    `is_skipped` if some mail was not sent: the agents would find none.
    """

    program: str
    session: str
    attach: str
    wish: SpawnOptions
    spawned: SpawnResult | None = None
    told: BroadcastResult | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    failed: BrennerError | None = None
    is_skipped: bool = False


def terminal_json(done: TerminalResult | None) -> dict[str, object] | None:
    """Return the stable JSON form; None if nothing was requested."""
    if done is None:
        return None
    return {
        "program": done.program,
        "session": done.session,
        "attach": done.attach,
        "status": _status(done),
        "spawn": _spawn_json(done.spawned) if done.spawned else None,
        "broadcast": _broadcast_json(done.told) if done.told else None,
    }


def _status(done: TerminalResult) -> str:
    if done.is_skipped:
        return "skipped"
    return "failed" if done.failed else "dry_run" if done.wish.dry_run else "done"


def _spawn_json(done: SpawnResult) -> dict[str, object]:
    return {
        "opened": [
            {"agent": each.agent, "program": each.program, "command": list(each.command)}
            for each in done.opened
        ],
        "open_before": list(done.before),
        "left_untouched": done.is_left_untouched,
        "not_opened": [each._asdict() for each in done.left_out],
    }


def _broadcast_json(done: BroadcastResult) -> dict[str, object]:
    return {
        "told": list(done.names),
        "all_panes": done.is_to_all_panes,
        "not_told": [each._asdict() for each in done.not_told],
    }


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
    """Return the result of one kickoff in a sentence."""
    to = joined(each.message.recipients) + (f" ({escape_control(each.role)})" if each.role else "")
    if each.state is KickoffState.UNKNOWN:
        return f"Nobody knows whether it was sent: the kickoff to {to}."
    if each.stored is None:
        return f"Not sent: the kickoff to {to}."
    if each.state is KickoffState.SENT_BEFORE:
        return f"Sent before: message {each.stored.id} to {to}."
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
        """Return which program to use, ntm or tmux."""
        is_ours = isinstance(self.panes, tuple) and any(each.thread for each in self.panes)
        return NTM if self.ntm and not is_ours else TMUX

    @property
    def session(self) -> str:
        """Return the name of the session in that program."""
        known = cross_reference(self.thread_id)
        return known.ntm_session if self.program == NTM else known.tmux_session

    @property
    def is_running(self) -> bool:
        """Return whether the session runs, as far as tmux reports."""
        return isinstance(self.panes, tuple)

    @property
    def agents(self) -> dict[str, Pane]:
        """Return the pane of each agent that has one."""
        return panes_by_agent(self.panes) if isinstance(self.panes, tuple) else {}

    @property
    def mark(self) -> str:
        """Return a digest of the project's folder, which every terminal keeps unchanged."""
        folder = os.fsencode(self.project.folder)
        return hashlib.sha256(folder).hexdigest()[:_MARK_LENGTH]

    def refreshed(self) -> "AgentTerminal":
        """Return the same with the current panes."""
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
    """Return the command of each known agent program."""
    return PROGRAM_COMMANDS | dict(project.programs)


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
) -> tuple[tuple[AgentLaunch, ...], tuple[SkippedAgent, ...]]:
    """Return the agents to open, and those to leave out.

    Their programs come from the roster, else from the registered agents.
    """
    known = {agent.name: agent.program for agent in workspace.mailbox.agents()}
    commands = program_commands(workspace.project)
    if with_ntm:
        commands = {name: command for name, command in commands.items() if name in NTM_FLAGS}
    found: list[AgentLaunch] = []
    left_out: list[SkippedAgent] = []
    for name in dict.fromkeys(recipients):
        entry = roster.entry(name)
        program = (entry.program if entry else None) or known.get(name)
        each = plan_launch(name, program, commands)
        if isinstance(each, AgentLaunch):
            found.append(each)
        else:
            left_out.append(each)
    return tuple(found), tuple(left_out)


def spawn(
    terminal: AgentTerminal,
    openings: tuple[AgentLaunch, ...],
    left_out: tuple[SkippedAgent, ...],
    *,
    dry_run: bool,
) -> SpawnResult:
    """Open the agents; panes that exist already stay unchanged."""
    if terminal.program == NTM:
        done = _spawn_with_ntm(terminal, openings, dry_run=dry_run)
    else:
        done = _spawn_with_tmux(terminal, openings, dry_run=dry_run)
    done = done._replace(left_out=(*left_out, *done.left_out))
    passed_over = () if done.is_left_untouched else done.left_out
    found = [codes.AGENT_NOT_OPENED.at(agent=who, reason=why) for who, why in passed_over]
    if terminal.program != NTM:
        found += _missing_programs(done.opened, terminal.project.folder)
    if done.failed:
        found.append(done.failed.diagnostic)
    return done._replace(diagnostics=tuple(found))


def _spawn_with_ntm(
    terminal: AgentTerminal, openings: tuple[AgentLaunch, ...], *, dry_run: bool
) -> SpawnResult:
    if terminal.is_running:
        return SpawnResult(is_left_untouched=True)
    if terminal.ntm and openings and not dry_run:
        ran = terminal.ntm.spawn(terminal.session, [each.program for each in openings])
        if not ran.succeeded:
            return SpawnResult(failed=_spawn_error(terminal, openings, ran.reason))
    return SpawnResult(openings)


def _spawn_with_tmux(
    terminal: AgentTerminal, openings: tuple[AgentLaunch, ...], *, dry_run: bool
) -> SpawnResult:
    panes_by_agent = terminal.agents
    missing = [each for each in openings if each.agent not in panes_by_agent]
    present = {
        each.agent: _why_absent(each, panes_by_agent[each.agent])
        for each in openings
        if each.agent in panes_by_agent
    }
    ended = tuple(SkippedAgent(name, reason) for name, reason in present.items() if reason)
    before = tuple(name for name, reason in present.items() if not reason)
    opened: list[AgentLaunch] = []
    if dry_run:
        return SpawnResult(tuple(missing), before, ended)
    if isinstance(terminal.panes, str) and missing:
        return SpawnResult(
            (), before, ended, failed=_spawn_error(terminal, missing, terminal.panes)
        )
    is_new = not terminal.is_running
    for number, each in enumerate(missing):
        reason = _open_window(terminal, each, is_new=is_new)
        if reason:
            failed = _spawn_error(terminal, missing[number:], reason)
            return SpawnResult(tuple(opened), before, ended, failed=failed)
        opened.append(each)
        is_new = False
    return SpawnResult(tuple(opened), before, ended)


def _why_absent(each: AgentLaunch, pane: Pane) -> str:
    """Return why an agent with a window is not running; empty if it is."""
    reason = typing_obstacle(pane, each.command[:1])
    return reason if pane.has_ended or reason == ONLY_SHELL else ""


def _open_window(terminal: AgentTerminal, each: AgentLaunch, *, is_new: bool) -> str:
    """Open a window for an agent. Return why that failed, or an empty string."""
    if terminal.tmux is None:
        return "tmux is not on PATH"
    # The tmux server has the environment of its first user, perhaps from days ago.
    environment = {"PATH": os.environ.get("PATH", os.defpath), **pane_environment(terminal.project)}
    words = window_command(each, terminal.tmux.program, environment)
    window = NewWindow(each.agent, terminal.thread_id, terminal.mark, words)
    ran = terminal.tmux.open(terminal.session, window, is_new=is_new)
    if is_new and _DUPLICATE in ran.err:  # another process was first
        ran = terminal.tmux.open(terminal.session, window, is_new=False)
    return "" if ran.succeeded else ran.reason


def _spawn_error(
    terminal: AgentTerminal, openings: Iterable[AgentLaunch], reason: str
) -> UnavailableError:
    return UnavailableError(
        codes.SPAWN_FAILED.at(
            mail=terminal.mail,
            program=terminal.program,
            session=terminal.session,
            agents=", ".join(each.agent for each in openings),
            reason=reason,
        )
    )


def _missing_programs(opened: Iterable[AgentLaunch], folder: Path) -> Iterator[Diagnostic]:
    """Yield a warning for each agent whose window has only a shell, without its program."""
    for each in opened:
        command = each.command[0]
        if find_program(str(folder / command) if os.sep in command else command) is None:
            words = {"command": command, "program": each.program, "agent": each.agent}
            yield codes.PROGRAM_NOT_FOUND.at(None, **words)


# Typing into the agents' panes that they have mail
#
# The line contains no control characters and no shell syntax: if the agent's program ends just
# before, a shell reads the line.


_NO_WINDOW = "it has no window in the session"


def broadcast(
    terminal: AgentTerminal,
    names: Mapping[str, Collection[str]],
    fresh: Collection[str],
    *,
    dry_run: bool,
) -> BroadcastResult:
    """Tell the agents to read their mail. `names` maps each agent to its possible commands.

    `fresh` are agents that were just opened, and need a moment to accept input.
    """
    if terminal.program == NTM:
        return _broadcast_with_ntm(terminal, tuple(names), dry_run=dry_run)
    if isinstance(terminal.panes, str):
        return _broadcast_failed(terminal, tuple(names), terminal.panes)
    if not terminal.is_running and not (dry_run and fresh):
        return _no_session(terminal, tuple(names))
    if dry_run:
        return _plan_broadcast(terminal, names, fresh)[1]
    if fresh and terminal.tmux:
        wait_for_raw_input(terminal.tmux, terminal.session, fresh)
        terminal = terminal.refreshed()
    lines, result = _plan_broadcast(terminal, names, ())
    missed = (*result.not_told, *(type_lines(terminal.tmux, lines) if terminal.tmux else ()))
    lost = {each.agent for each in missed}
    return BroadcastResult(tuple(name for name in names if name not in lost), missed)


def broadcast_error(
    terminal: AgentTerminal, missed: Sequence[SkippedAgent]
) -> UnavailableError | None:
    """Return the error for agents that were not told; None if there are none."""
    if not missed:
        return None
    missed_text = "; ".join(f"{each.agent}, as {each.reason}" for each in missed)
    return UnavailableError(
        codes.BROADCAST_INCOMPLETE.at(
            mail=terminal.mail, session=terminal.session, missed=missed_text
        )
    )


def inbox_line(project: Project, thread_id: str, name: str) -> str:
    """Return the line to type into one agent's pane."""
    return (
        f"{name}: there is mail for you in the thread {thread_id}. "
        f"Read it with: {_inbox_command(project, thread_id, name)}"
    )


def inbox_line_for_all(project: Project, thread_id: str, names: Sequence[str]) -> str:
    """Return the line to broadcast to all panes."""
    return (
        f"Brenner: there is mail for {', '.join(names)} in the thread {thread_id}. "
        f"Read yours under your own name, with: {_inbox_command(project, thread_id, 'NAME')}"
    )


def _inbox_command(project: Project, thread_id: str, name: str) -> str:
    store = store_option(project)
    option = store if store.isprintable() else ""
    return f"brenner mail inbox --as {name} --thread {quote(thread_id)}{option}"


def _broadcast_with_ntm(
    terminal: AgentTerminal, names: Sequence[str], *, dry_run: bool
) -> BroadcastResult:
    """Broadcast with ntm. Ask tmux only to explain a failure."""
    if terminal.ntm and not dry_run:
        text = inbox_line_for_all(terminal.project, terminal.thread_id, names)
        ran = terminal.ntm.send(terminal.session, text)
        if not ran.succeeded and terminal.tmux and terminal.panes is None:
            return _no_session(terminal, names)
        if not ran.succeeded:
            return _broadcast_failed(terminal, names, ran.reason)
    return BroadcastResult(tuple(names), is_to_all_panes=True)


def _plan_broadcast(
    terminal: AgentTerminal, names: Mapping[str, Collection[str]], fresh: Collection[str]
) -> tuple[dict[str, tuple[Pane, str]], BroadcastResult]:
    """Return the line for each agent whose pane accepts input, and the expected result."""
    agents = terminal.agents
    lines: dict[str, tuple[Pane, str]] = {}
    missed: list[SkippedAgent] = []
    for name, commands in names.items():
        pane = agents.get(name)
        reason = typing_obstacle(pane, commands) if pane else _NO_WINDOW
        if pane and not reason:
            lines[name] = (pane, inbox_line(terminal.project, terminal.thread_id, name))
        elif name not in fresh:
            missed.append(SkippedAgent(name, reason))
    names_told = tuple(name for name in names if name in lines or name in fresh)
    return lines, BroadcastResult(names_told, tuple(missed))


def _broadcast_failed(
    terminal: AgentTerminal, names: Sequence[str], reason: str
) -> BroadcastResult:
    missed = tuple(SkippedAgent(name, reason) for name in names)
    missed_text = f"{', '.join(names)}, as {terminal.program} says: {reason}"
    failed = codes.BROADCAST_INCOMPLETE.at(
        mail=terminal.mail, session=terminal.session, missed=missed_text
    )
    return BroadcastResult((), missed, failed=UnavailableError(failed))


def _no_session(terminal: AgentTerminal, names: Sequence[str]) -> BroadcastResult:
    words = {"mail": terminal.mail, "session": terminal.session, "program": terminal.program}
    missed = tuple(SkippedAgent(name, "no such session runs") for name in names)
    return BroadcastResult(
        (), missed, failed=UnavailableError(codes.NO_TERMINAL_SESSION.at(None, **words))
    )


# Spawning and broadcasting, after the kickoffs were sent
#
# The mail does not depend on this step: errors here report that the mail was sent.
# `check_can_spawn` raises foreseeable failures before anything is sent.


_MAIL_SENT = "The mail is out. "
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
        find_agent_terminal(
            workspace.project, thread_id, ""
        )  # raises for another project's session
    if not options.spawn or not names:
        return
    openings, left_out = plan_openings(workspace, roster, names, with_ntm=has_ntm)
    if not openings:
        reasons = "; ".join(f"{each.agent}: {each.reason}" for each in left_out)
        known = ", ".join(sorted(program_commands(workspace.project)))
        raise RequestError(codes.NOBODY_TO_OPEN.at(reasons=reasons, known=known))


def spawn_after_kickoffs(
    workspace: Workspace, done: Started, options: SpawnOptions
) -> TerminalResult | None:
    """Spawn and broadcast for all recipients of kickoffs, sent now or before.

    Return None if nothing is requested, or nothing could be sent.
    """
    if not options or done.thread_id is None:
        return None
    if done.failed:
        return skipped_result(done.thread_id, options)
    if any(each.severity is ERROR for each in done.diagnostics):
        return None
    return spawn_agents(workspace, done.thread_id, done.roster, done.recipients, options)


def spawn_agents(
    workspace: Workspace,
    thread_id: str,
    roster: Roster,
    names: Sequence[str],
    options: SpawnOptions,
) -> TerminalResult | None:
    """Spawn and broadcast for these agents of a thread, after its mail was sent.

    Return None if nothing is requested.
    """
    if not options:
        return None
    try:
        return _spawn_agents(workspace, thread_id, roster, names, options)
    except BrennerError as error:
        done = skipped_result(thread_id, options)
        return done._replace(diagnostics=(error.diagnostic,), failed=error, is_skipped=False)


def skipped_result(thread_id: str, options: SpawnOptions) -> TerminalResult:
    """Return the result if some mail was not sent: no agent is spawned."""
    program = NTM if find_program(NTM) else TMUX
    known = cross_reference(thread_id)
    session = known.ntm_session if program == NTM else known.tmux_session
    attach = attach_command(thread_id, program)
    return TerminalResult(program, session, attach, options, is_skipped=True)


def _spawn_agents(
    workspace: Workspace,
    thread_id: str,
    roster: Roster,
    names: Sequence[str],
    options: SpawnOptions,
) -> TerminalResult:
    terminal = find_agent_terminal(
        workspace.project, thread_id, "" if options.dry_run else _MAIL_SENT
    )
    attach = attach_command(thread_id, terminal.program)
    done = TerminalResult(terminal.program, terminal.session, attach, options)
    spawned = None
    openings, left_out = plan_openings(workspace, roster, names, with_ntm=terminal.program == NTM)
    if options.spawn:
        spawned = spawn(terminal, openings, left_out, dry_run=options.dry_run)
        done = done._replace(
            spawned=spawned, diagnostics=spawned.diagnostics, failed=spawned.failed
        )
    known = _commands_by_agent(names, openings, terminal)
    return _with_broadcast(done, terminal, known, spawned) if options.broadcast else done


def _commands_by_agent(
    names: Sequence[str], openings: Sequence[AgentLaunch], terminal: AgentTerminal
) -> dict[str, frozenset[str]]:
    """Return the commands that each agent's program may have: all, if its program is unknown."""
    every = frozenset(command[0] for command in program_commands(terminal.project).values())
    of_agents = {each.agent: frozenset({each.command[0]}) for each in openings}
    return {name: of_agents.get(name, every) for name in names}


def _with_broadcast(
    done: TerminalResult,
    terminal: AgentTerminal,
    names: Mapping[str, frozenset[str]],
    spawned: SpawnResult | None,
) -> TerminalResult:
    """Broadcast, and add the result. Agents that could not be opened are not reported again."""
    terminal = terminal.refreshed() if spawned and not done.wish.dry_run else terminal
    if done.failed and not terminal.is_running:
        missed = tuple(SkippedAgent(name, _NOT_OPENED) for name in names)
        return done._replace(told=BroadcastResult((), missed))
    fresh = [each.agent for each in spawned.opened] if spawned else []
    result = broadcast(terminal, names, fresh, dry_run=done.wish.dry_run)
    known = {each.agent for each in spawned.left_out} if spawned else set()
    if not done.failed:
        news = [each for each in result.not_told if each.agent not in known]
        failed = result.failed or broadcast_error(terminal, news)
        found = (failed.diagnostic,) if failed else ()
        done = done._replace(diagnostics=(*done.diagnostics, *found), failed=failed)
    return done._replace(told=result)
