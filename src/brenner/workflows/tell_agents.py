"""Tell the agents of a session, in their panes, to read their mail.

What is typed has no control characters, and none that a shell would obey: a program may end just
before, and a shell read it.
"""

from collections.abc import Collection, Mapping, Sequence
from shlex import quote

from brenner.config import Project
from brenner.diagnostics.codes import sessions as codes
from brenner.diagnostics.model import Unavailable
from brenner.integrations.tmux import LeftOut, Pane, obstacle, type_lines, wait_until_listening
from brenner.mail.open import store_option
from brenner.workflows.attended import Told
from brenner.workflows.neighbours import NTM
from brenner.workflows.stage import Stage

_NO_WINDOW = "it has no window in the session"


def broadcast(
    stage: Stage, names: Mapping[str, Collection[str]], fresh: Collection[str], *, dry_run: bool
) -> Told:
    """Tell them; each name has the commands by which its program is known.

    `fresh` are those who were opened just now, and need a moment to listen.
    """
    if stage.program == NTM:
        return _with_ntm(stage, tuple(names), dry_run=dry_run)
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


def incomplete(stage: Stage, missed: Sequence[LeftOut]) -> Unavailable | None:
    """What to say of those who were not told; nothing where there is nobody."""
    if not missed:
        return None
    said = "; ".join(f"{each.agent}, as {each.reason}" for each in missed)
    return Unavailable(
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


def _with_ntm(stage: Stage, names: Sequence[str], *, dry_run: bool) -> Told:
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
    return Told((), missed, failed=Unavailable(failed))


def _no_session(stage: Stage, names: Sequence[str]) -> Told:
    words = {"mail": stage.mail, "session": stage.session, "program": stage.program}
    missed = tuple(LeftOut(name, "no such session runs") for name in names)
    return Told((), missed, failed=Unavailable(codes.NO_TERMINAL_SESSION.at(None, **words)))
