"""Where the agents of a thread are opened: its session of ntm or tmux, as it is found."""

import hashlib
import os
from typing import NamedTuple

from brenner.config import Project
from brenner.diagnostics.codes import sessions as codes
from brenner.diagnostics.model import Unavailable
from brenner.integrations.programs import Ntm, find
from brenner.integrations.tmux import COMMANDS, Pane, Tmux, names
from brenner.protocol.thread_ids import cross_reference
from brenner.store_url import PostgresAddress, parse_store
from brenner.workflows.neighbours import NTM, TMUX

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
            raise Unavailable(codes.OTHER_TERMINAL_SESSION.at(None, **words))
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
