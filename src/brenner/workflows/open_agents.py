"""Open the agents of a session: ntm with so many of each program, or tmux with a window for each.

A session that runs already is left as it is; tmux gets windows for those who have none.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from brenner.diagnostics.codes import sessions as codes
from brenner.diagnostics.model import Diagnostic, Unavailable
from brenner.integrations.programs import FLAGS, find
from brenner.integrations.tmux import (
    ONLY_SHELL,
    LeftOut,
    Opening,
    Pane,
    Window,
    in_window,
    obstacle,
    opening,
)
from brenner.protocol.roster import Roster
from brenner.workflows.attended import Spawned
from brenner.workflows.desk import Desk
from brenner.workflows.neighbours import NTM
from brenner.workflows.stage import Stage, commands_of, store_of_panes

_DUPLICATE = "duplicate session"


def wanted(
    desk: Desk, roster: Roster, recipients: Iterable[str], *, with_ntm: bool
) -> tuple[tuple[Opening, ...], tuple[LeftOut, ...]]:
    """Whom to open, and whom not: the roster names the programs, else the register of agents."""
    known = {agent.name: agent.program for agent in desk.mailbox.agents()}
    commands = commands_of(desk.project)
    if with_ntm:
        commands = {name: command for name, command in commands.items() if name in FLAGS}
    found: list[Opening] = []
    left_out: list[LeftOut] = []
    for name in dict.fromkeys(recipients):
        entry = roster.entry(name)
        program = (entry.program if entry else None) or known.get(name)
        each = opening(name, program, commands)
        if isinstance(each, Opening):
            found.append(each)
        else:
            left_out.append(each)
    return tuple(found), tuple(left_out)


def spawn(
    stage: Stage, openings: tuple[Opening, ...], left_out: tuple[LeftOut, ...], *, dry_run: bool
) -> Spawned:
    """Open them; who was there before stays as it is."""
    if stage.program == NTM:
        done = _with_ntm(stage, openings, dry_run=dry_run)
    else:
        done = _with_tmux(stage, openings, dry_run=dry_run)
    done = done._replace(left_out=(*left_out, *done.left_out))
    passed_over = () if done.is_untouched else done.left_out
    found = [codes.AGENT_NOT_OPENED.at(agent=who, reason=why) for who, why in passed_over]
    if stage.program != NTM:
        found += _without_command(done.opened, stage.project.folder)
    if done.failed:
        found.append(done.failed.diagnostic)
    return done._replace(diagnostics=tuple(found))


def _with_ntm(stage: Stage, openings: tuple[Opening, ...], *, dry_run: bool) -> Spawned:
    if stage.is_running:
        return Spawned(is_untouched=True)
    if stage.ntm and openings and not dry_run:
        ran = stage.ntm.spawn(stage.session, [each.program for each in openings])
        if not ran.is_fine:
            return Spawned(failed=_failure(stage, openings, ran.reason))
    return Spawned(openings)


def _with_tmux(stage: Stage, openings: tuple[Opening, ...], *, dry_run: bool) -> Spawned:
    there = stage.agents
    missing = [each for each in openings if each.agent not in there]
    present = {
        each.agent: _absence(each, there[each.agent]) for each in openings if each.agent in there
    }
    ended = tuple(LeftOut(name, reason) for name, reason in present.items() if reason)
    before = tuple(name for name, reason in present.items() if not reason)
    opened: list[Opening] = []
    if dry_run:
        return Spawned(tuple(missing), before, ended)
    if isinstance(stage.panes, str) and missing:
        return Spawned((), before, ended, failed=_failure(stage, missing, stage.panes))
    is_new = not stage.is_running
    for number, each in enumerate(missing):
        reason = _opened(stage, each, is_new=is_new)
        if reason:
            failed = _failure(stage, missing[number:], reason)
            return Spawned(tuple(opened), before, ended, failed=failed)
        opened.append(each)
        is_new = False
    return Spawned(tuple(opened), before, ended)


def _absence(each: Opening, pane: Pane) -> str:
    """Why an agent that has a window is not there all the same; else nothing."""
    reason = obstacle(pane, each.command[:1])
    return reason if pane.has_ended or reason == ONLY_SHELL else ""


def _opened(stage: Stage, each: Opening, *, is_new: bool) -> str:
    """Open a window for an agent; why it could not be, else nothing."""
    if stage.tmux is None:
        return "tmux is not on PATH"
    # A server of tmux has the environment of who started it, perhaps days ago.
    environment = {"PATH": os.environ.get("PATH", os.defpath), **store_of_panes(stage.project)}
    words = in_window(each, stage.tmux.program, environment)
    window = Window(each.agent, stage.thread_id, stage.mark, words)
    ran = stage.tmux.open(stage.session, window, is_new=is_new)
    if is_new and _DUPLICATE in ran.err:  # somebody else was quicker
        ran = stage.tmux.open(stage.session, window, is_new=False)
    return "" if ran.is_fine else ran.reason


def _failure(stage: Stage, openings: Iterable[Opening], reason: str) -> Unavailable:
    return Unavailable(
        codes.SPAWN_FAILED.at(
            mail=stage.mail,
            program=stage.program,
            session=stage.session,
            agents=", ".join(each.agent for each in openings),
            reason=reason,
        )
    )


def _without_command(opened: Iterable[Opening], folder: Path) -> Iterator[Diagnostic]:
    """Those in whose window there is a shell only."""
    for each in opened:
        command = each.command[0]
        if find(str(folder / command) if os.sep in command else command) is None:
            words = {"command": command, "program": each.program, "agent": each.agent}
            yield codes.PROGRAM_NOT_FOUND.at(None, **words)
