"""What the programs beside ours know of a thread: its bead, its session in a terminal.

They are optional. Where one is not on PATH there is nothing to say of it.
"""

import os
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from brenner.integrations.programs import Bead, find, show
from brenner.integrations.tmux import Tmux, names
from brenner.protocol.thread_ids import cross_reference, is_valid

NTM, TMUX, BD = "ntm", "tmux", "bd"


class Terminal(NamedTuple):
    """The session of ntm or tmux that has the thread's name.

    `session` is the name to look up. `is_running` is None where it cannot be told; `problem` then
    says why. `agents` are those that have a window. `attach` is the command that one types.
    """

    program: str
    session: str
    is_running: bool | None
    windows: int
    panes: int
    agents: tuple[str, ...]
    attach: str
    problem: str = ""


def bead_of(thread_id: str, folder: Path | None = None) -> Bead | None:
    """The bead of an engineering thread; None where there is none, or no bd.

    bd looks for its beads from the folder upwards, the current one unless another is given.
    """
    program = find(BD)
    if program is None or not is_valid(thread_id) or cross_reference(thread_id).bead is None:
        return None
    return show(program, thread_id, folder)


def terminal_of(thread_id: str) -> Terminal | None:
    """The thread's session in a terminal, running or not; None without ntm and tmux."""
    has_ntm, tmux = find(NTM) is not None, find(TMUX)
    if not is_valid(thread_id) or not (has_ntm or tmux):
        return None
    known = cross_reference(thread_id)
    program, session = (NTM, known.ntm_session) if has_ntm else (TMUX, known.tmux_session)
    terminal = Terminal(program, session, None, 0, 0, (), attach_command(thread_id, program))
    if tmux is None:
        return terminal._replace(problem="without tmux nobody can tell")
    panes = Tmux(tmux).panes(known.tmux_session)
    if isinstance(panes, str):
        return terminal._replace(problem=panes)
    found = panes or ()
    other = next((each.thread for each in found if each.thread not in ("", thread_id)), None)
    if other:  # tmux has one name for both
        return terminal._replace(is_running=False, problem=f"it is the session of {other}")
    agents = tuple(name for name, pane in names(found).items() if pane.agent)
    return terminal._replace(
        is_running=panes is not None,
        windows=len({each.window_id for each in found}),
        panes=len(found),
        agents=agents,
    )


def attach_command(thread_id: str, program: str) -> str:
    """What one types to see the session; inside of tmux one goes over to it."""
    if program == NTM:
        return f"ntm attach {'-- ' * thread_id.startswith('-')}{quote(thread_id)}"
    verb = "switch-client" if os.environ.get("TMUX") else "attach"
    # zsh would look for a program where a word begins with a bare `=`.
    return f"tmux {verb} -t '={cross_reference(thread_id).tmux_session}'"
