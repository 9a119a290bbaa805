"""What became of kickoffs: as JSON, and each in a sentence; for a terminal, and for a page."""

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
from brenner.integrations.programs import FLAGS, NTM, TMUX, Ntm, find
from brenner.integrations.tmux import (
    COMMANDS,
    ONLY_SHELL,
    LeftOut,
    Opening,
    Pane,
    Tmux,
    Window,
    attach_command,
    in_window,
    names,
    obstacle,
    opening,
    type_lines,
    wait_until_listening,
)
from brenner.mail.open import store_option
from brenner.protocol.roster import Roster
from brenner.protocol.roster_config import roster_json
from brenner.protocol.thread_ids import cross_reference, is_valid
from brenner.services.start_session import Addressed, Started, State
from brenner.services.workspace import Workspace
from brenner.store_url import PostgresAddress, parse_store
from brenner.text import escape_control, joined

# What became of a session's agents in a terminal, as values and as JSON.


class NeighbourWish(NamedTuple):
    """Whether to open the agents in a terminal, and whether to tell them to read their mail.

    A dry run looks, and changes nothing.
    """

    spawn: bool = False
    broadcast: bool = False
    dry_run: bool = False

    def __bool__(self) -> bool:
        """Whether anything is wished."""
        return self.spawn or self.broadcast

    @property
    def option(self) -> str:
        """How it was asked for."""
        return "`--spawn`" if self.spawn else "`--broadcast`"


class Spawned(NamedTuple):
    """Who was opened, or would be; who was there before; who was not opened, and why.

    ntm does not say who is in a session that runs already: that `is_untouched`, and nobody is
    named.
    """

    opened: tuple[Opening, ...] = ()
    before: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    is_untouched: bool = False
    failed: BrennerError | None = None
    diagnostics: tuple[Diagnostic, ...] = ()


class Told(NamedTuple):
    """Who was told to read the mail, or would be, and who not.

    ntm tells all panes of the session at once.
    """

    names: tuple[str, ...] = ()
    missed: tuple[LeftOut, ...] = ()
    is_to_all_panes: bool = False
    failed: BrennerError | None = None


class Attended(NamedTuple):
    """All of it. `program` is the one that did it, `session` the name that it knows.

    `diagnostics` has everything that there is to say, `failed` what decides the exit code. It
    `is_skipped` where not all mail went out: agents that are woken would find none.
    """

    program: str
    session: str
    attach: str
    wish: NeighbourWish
    spawned: Spawned | None = None
    told: Told | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    failed: BrennerError | None = None
    is_skipped: bool = False


def attended_json(done: Attended | None) -> dict[str, object] | None:
    """The stable form; None where nothing was asked for."""
    if done is None:
        return None
    return {
        "program": done.program,
        "session": done.session,
        "attach": done.attach,
        "status": _status(done),
        "spawn": _spawned(done.spawned) if done.spawned else None,
        "broadcast": _told(done.told) if done.told else None,
    }


def _status(done: Attended) -> str:
    if done.is_skipped:
        return "skipped"
    return "failed" if done.failed else "dry_run" if done.wish.dry_run else "done"


def _spawned(done: Spawned) -> dict[str, object]:
    return {
        "opened": [
            {"agent": each.agent, "program": each.program, "command": list(each.command)}
            for each in done.opened
        ],
        "open_before": list(done.before),
        "left_untouched": done.is_untouched,
        "not_opened": [each._asdict() for each in done.left_out],
    }


def _told(done: Told) -> dict[str, object]:
    return {
        "told": list(done.names),
        "all_panes": done.is_to_all_panes,
        "not_told": [each._asdict() for each in done.missed],
    }


def started_json(done: Started, attended: Attended | None = None) -> dict[str, object]:
    """The stable form; keys are only ever added."""
    found = (*done.diagnostics, *(attended.diagnostics if attended else ()))
    summary = Summary.of(found)
    return {
        "thread_id": done.thread_id,
        "status": done.status.value,
        **({"round": done.round} if done.round else {}),
        "kickoffs": [_kickoff(each) for each in done.kickoffs],
        "registered": list(done.registered),
        "roster": roster_json(done.roster),
        "neighbours": attended_json(attended),
        "violations": [each.to_json() for each in sorted(found, key=worst_first)],
        "summary": summary._asdict(),
        "valid": summary.errors == 0,
    }


def _kickoff(each: Addressed) -> dict[str, object]:
    message = each.message
    return {
        "to": list(message.recipients),
        "role": each.role,
        "subject": message.subject,
        "message_id": each.stored.id if each.stored else None,
        "status": each.state.value,
        "body": message.body,
    }


def what_became(done: Started, each: Addressed) -> str:
    """What became of one kickoff, in a sentence."""
    to = joined(each.message.recipients) + (f" ({escape_control(each.role)})" if each.role else "")
    if each.state is State.UNKNOWN:
        return f"Nobody knows whether it was sent: the kickoff to {to}."
    if each.stored is None:
        return f"Not sent: the kickoff to {to}."
    if each.state is State.SENT_BEFORE:
        return f"Sent before: message {each.stored.id} to {to}."
    return f"Sent message {each.stored.id} to {to} in {escape_control(done.thread_id or '')}."


# What the programs beside ours know of a thread: its bead, its session in a terminal.
#
# They are optional. Where one is not on PATH there is nothing to say of it.


# Where the agents of a thread are opened: its session of ntm or tmux, as it is found.


_SAID_HERE = ("--store", "BRENNER_STORE")
_MARK_LETTERS = 16


class Stage(NamedTuple):
    """The session of a thread. `mail` is what to say of the mail where something fails here.

    `panes` is None where the session does not run, and words where tmux cannot tell. What we have
    opened ourselves bears our marks, and stays with tmux also where ntm came later.
    """

    thread_id: str
    project: Project
    mail: str
    tmux: Tmux | None
    ntm: Ntm | None
    panes: tuple[Pane, ...] | str | None

    @property
    def program(self) -> str:
        """Which of the two does it."""
        is_ours = isinstance(self.panes, tuple) and any(each.thread for each in self.panes)
        return NTM if self.ntm and not is_ours else TMUX

    @property
    def session(self) -> str:
        """The session's name as that program knows it."""
        known = cross_reference(self.thread_id)
        return known.ntm_session if self.program == NTM else known.tmux_session

    @property
    def is_running(self) -> bool:
        """Whether the session runs, as far as it can be told."""
        return isinstance(self.panes, tuple)

    @property
    def agents(self) -> dict[str, Pane]:
        """The pane of each agent that has one."""
        return names(self.panes) if isinstance(self.panes, tuple) else {}

    @property
    def mark(self) -> str:
        """The project, in a form that no terminal changes."""
        folder = os.fsencode(self.project.folder)
        return hashlib.sha256(folder).hexdigest()[:_MARK_LETTERS]

    def looked_at_again(self) -> "Stage":
        """The same with the panes that are there now."""
        return self._replace(panes=_panes(self.tmux, self.thread_id))


def stage_of(project: Project, thread_id: str, mail: str) -> Stage:
    """The thread's session as it is; one that is somebody else's is refused."""
    tmux, ntm = find(TMUX), find(NTM)
    in_tmux = Tmux(tmux, project.folder) if tmux else None
    in_ntm = Ntm(ntm, project.folder, store_of_panes(project)) if ntm else None
    panes = _panes(in_tmux, thread_id)
    stage = Stage(thread_id, project, mail, in_tmux, in_ntm, panes)
    for each in panes if isinstance(panes, tuple) else ():
        owner = _other_owner(stage, each)
        if owner:
            words = {"mail": mail, "session": stage.session, "owner": owner}
            raise UnavailableError(codes.OTHER_TERMINAL_SESSION.at(None, **words))
    return stage


def _panes(tmux: Tmux | None, thread_id: str) -> tuple[Pane, ...] | str | None:
    return tmux.panes(cross_reference(thread_id).tmux_session) if tmux else None


def _other_owner(stage: Stage, pane: Pane) -> str:
    if pane.thread and pane.thread != stage.thread_id:
        return f"the thread `{pane.thread}`"
    return "another project" if pane.project and pane.project != stage.mark else ""


def commands_of(project: Project) -> dict[str, tuple[str, ...]]:
    """The command of each program that may be run."""
    return COMMANDS | dict(project.programs)


def store_of_panes(project: Project) -> dict[str, str]:
    """What the agents' programs must be told of the store, where no file tells it.

    A password stays out: the arguments of a program can be seen by everybody on the machine.
    """
    if project.store is None or project.store_from not in _SAID_HERE:
        return {}
    address = parse_store(project.store)
    if isinstance(address, PostgresAddress) and address.has_password:
        return {"BRENNER_STORE": address.without_password.written}
    return {"BRENNER_STORE": project.store}


# Open the agents of a session: ntm with so many of each program, or tmux with a window for each.
#
# A session that runs already is left as it is; tmux gets windows for those who have none.


_DUPLICATE = "duplicate session"


def wanted(
    workspace: Workspace, roster: Roster, recipients: Iterable[str], *, with_ntm: bool
) -> tuple[tuple[Opening, ...], tuple[LeftOut, ...]]:
    """Whom to open, and whom not: the roster names the programs, else the register of agents."""
    known = {agent.name: agent.program for agent in workspace.mailbox.agents()}
    commands = commands_of(workspace.project)
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


def _failure(stage: Stage, openings: Iterable[Opening], reason: str) -> UnavailableError:
    return UnavailableError(
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


# Tell the agents of a session, in their panes, to read their mail.
#
# What is typed has no control characters, and none that a shell would obey: a program may end just
# before, and a shell read it.


_NO_WINDOW = "it has no window in the session"


def broadcast(
    stage: Stage, names: Mapping[str, Collection[str]], fresh: Collection[str], *, dry_run: bool
) -> Told:
    """Tell them; each name has the commands by which its program is known.

    `fresh` are those who were opened just now, and need a moment to listen.
    """
    if stage.program == NTM:
        return _tell_agents_with_ntm(stage, tuple(names), dry_run=dry_run)
    if isinstance(stage.panes, str):
        return _nobody(stage, tuple(names), stage.panes)
    if not stage.is_running and not (dry_run and fresh):
        return _no_session(stage, tuple(names))
    if dry_run:
        return _sorted_out(stage, names, fresh)[1]
    if fresh and stage.tmux:
        wait_until_listening(stage.tmux, stage.session, fresh)
        stage = stage.looked_at_again()
    lines, told = _sorted_out(stage, names, ())
    missed = (*told.missed, *(type_lines(stage.tmux, lines) if stage.tmux else ()))
    lost = {each.agent for each in missed}
    return Told(tuple(name for name in names if name not in lost), missed)


def incomplete(stage: Stage, missed: Sequence[LeftOut]) -> UnavailableError | None:
    """What to say of those who were not told; nothing where there is nobody."""
    if not missed:
        return None
    said = "; ".join(f"{each.agent}, as {each.reason}" for each in missed)
    return UnavailableError(
        codes.BROADCAST_INCOMPLETE.at(mail=stage.mail, session=stage.session, missed=said)
    )


def line_for(project: Project, thread_id: str, name: str) -> str:
    """What is typed for one agent."""
    return (
        f"{name}: there is mail for you in the thread {thread_id}. "
        f"Read it with: {_command(project, thread_id, name)}"
    )


def line_for_all(project: Project, thread_id: str, names: Sequence[str]) -> str:
    """What is said to all panes at once."""
    return (
        f"Brenner: there is mail for {', '.join(names)} in the thread {thread_id}. "
        f"Read yours under your own name, with: {_command(project, thread_id, 'NAME')}"
    )


def _command(project: Project, thread_id: str, name: str) -> str:
    store = store_option(project)
    said = store if store.isprintable() else ""
    return f"brenner mail inbox --as {name} --thread {quote(thread_id)}{said}"


def _tell_agents_with_ntm(stage: Stage, names: Sequence[str], *, dry_run: bool) -> Told:
    """Ntm knows its sessions best; tmux is asked only to say why there was nobody to tell."""
    if stage.ntm and not dry_run:
        text = line_for_all(stage.project, stage.thread_id, names)
        ran = stage.ntm.send(stage.session, text)
        if not ran.is_fine and stage.tmux and stage.panes is None:
            return _no_session(stage, names)
        if not ran.is_fine:
            return _nobody(stage, names, ran.reason)
    return Told(tuple(names), is_to_all_panes=True)


def _sorted_out(
    stage: Stage, names: Mapping[str, Collection[str]], fresh: Collection[str]
) -> tuple[dict[str, tuple[Pane, str]], Told]:
    """The line for each who has a pane that listens; who will be told, and who not."""
    agents = stage.agents
    lines: dict[str, tuple[Pane, str]] = {}
    missed: list[LeftOut] = []
    for name, commands in names.items():
        pane = agents.get(name)
        reason = obstacle(pane, commands) if pane else _NO_WINDOW
        if pane and not reason:
            lines[name] = (pane, line_for(stage.project, stage.thread_id, name))
        elif name not in fresh:
            missed.append(LeftOut(name, reason))
    told = tuple(name for name in names if name in lines or name in fresh)
    return lines, Told(told, tuple(missed))


def _nobody(stage: Stage, names: Sequence[str], reason: str) -> Told:
    missed = tuple(LeftOut(name, reason) for name in names)
    said = f"{', '.join(names)}, as {stage.program} says: {reason}"
    failed = codes.BROADCAST_INCOMPLETE.at(mail=stage.mail, session=stage.session, missed=said)
    return Told((), missed, failed=UnavailableError(failed))


def _no_session(stage: Stage, names: Sequence[str]) -> Told:
    words = {"mail": stage.mail, "session": stage.session, "program": stage.program}
    missed = tuple(LeftOut(name, "no such session runs") for name in names)
    return Told((), missed, failed=UnavailableError(codes.NO_TERMINAL_SESSION.at(None, **words)))


# Open a session's agents in a terminal, and tell them to read their mail.
#
# This comes after the mail, which does not depend on it: whatever fails here, the mail is out, and
# that is said. What is known to fail is refused before anything is sent: `check_ahead`.


_OUT = "The mail is out. "
_NOT_OPENED = "the session could not be opened"


def check_ahead(
    workspace: Workspace,
    roster: Roster,
    names: Sequence[str],
    wish: NeighbourWish,
    thread_id: str | None,
) -> None:
    """Refuse what is known to fail, before anything is sent; a thread may get its ID only then."""
    if not wish:
        return
    has_ntm = find(NTM) is not None
    if not has_ntm and find(TMUX) is None:
        raise UnavailableError(codes.NO_TERMINAL_PROGRAM.at(option=wish.option))
    if thread_id is not None and is_valid(thread_id):
        stage_of(workspace.project, thread_id, "")  # refuses a session of somebody else
    if not wish.spawn or not names:
        return
    openings, left_out = wanted(workspace, roster, names, with_ntm=has_ntm)
    if not openings:
        reasons = "; ".join(f"{each.agent}: {each.reason}" for each in left_out)
        known = ", ".join(sorted(commands_of(workspace.project)))
        raise RequestError(codes.NOBODY_TO_OPEN.at(reasons=reasons, known=known))


def after_mail(workspace: Workspace, done: Started, wish: NeighbourWish) -> Attended | None:
    """What is wished for those whom kickoffs were sent to, now or before.

    None where nothing is wished, or nothing could be sent.
    """
    if not wish or done.thread_id is None:
        return None
    if done.failed:
        return skipped(done.thread_id, wish)
    if any(each.severity is ERROR for each in done.diagnostics):
        return None
    return attend(workspace, done.thread_id, done.roster, done.recipients, wish)


def attend(
    workspace: Workspace, thread_id: str, roster: Roster, names: Sequence[str], wish: NeighbourWish
) -> Attended | None:
    """Do what is wished for these agents of a thread whose mail is out; None where nothing is."""
    if not wish:
        return None
    try:
        return _attend(workspace, thread_id, roster, names, wish)
    except BrennerError as error:
        done = skipped(thread_id, wish)
        return done._replace(diagnostics=(error.diagnostic,), failed=error, is_skipped=False)


def skipped(thread_id: str, wish: NeighbourWish) -> Attended:
    """What there is to say where not all mail went out: nobody is woken."""
    program = NTM if find(NTM) else TMUX
    known = cross_reference(thread_id)
    session = known.ntm_session if program == NTM else known.tmux_session
    attach = attach_command(thread_id, program)
    return Attended(program, session, attach, wish, is_skipped=True)


def _attend(
    workspace: Workspace, thread_id: str, roster: Roster, names: Sequence[str], wish: NeighbourWish
) -> Attended:
    stage = stage_of(workspace.project, thread_id, "" if wish.dry_run else _OUT)
    attach = attach_command(thread_id, stage.program)
    done = Attended(stage.program, stage.session, attach, wish)
    spawned = None
    openings, left_out = wanted(workspace, roster, names, with_ntm=stage.program == NTM)
    if wish.spawn:
        spawned = spawn(stage, openings, left_out, dry_run=wish.dry_run)
        done = done._replace(
            spawned=spawned, diagnostics=spawned.diagnostics, failed=spawned.failed
        )
    known = _known(names, openings, stage)
    return _with_news(done, stage, known, spawned) if wish.broadcast else done


def _known(
    names: Sequence[str], openings: Sequence[Opening], stage: Stage
) -> dict[str, frozenset[str]]:
    """The commands by which each agent's program is known: all, where nobody says which it is."""
    every = frozenset(command[0] for command in commands_of(stage.project).values())
    of_agents = {each.agent: frozenset({each.command[0]}) for each in openings}
    return {name: of_agents.get(name, every) for name in names}


def _with_news(
    done: Attended, stage: Stage, names: Mapping[str, frozenset[str]], spawned: Spawned | None
) -> Attended:
    """Tell them; what was said of those who could not be opened is not said again."""
    stage = stage.looked_at_again() if spawned and not done.wish.dry_run else stage
    if done.failed and not stage.is_running:
        missed = tuple(LeftOut(name, _NOT_OPENED) for name in names)
        return done._replace(told=Told((), missed))
    fresh = [each.agent for each in spawned.opened] if spawned else []
    told = broadcast(stage, names, fresh, dry_run=done.wish.dry_run)
    known = {each.agent for each in spawned.left_out} if spawned else set()
    if not done.failed:
        news = [each for each in told.missed if each.agent not in known]
        failed = told.failed or incomplete(stage, news)
        found = (failed.diagnostic,) if failed else ()
        done = done._replace(diagnostics=(*done.diagnostics, *found), failed=failed)
    return done._replace(told=told)
