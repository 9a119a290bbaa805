"""Typing a line into panes, so that the programs in them read it as typed.

Programs that draw a whole screen take a text that comes together with its Enter for a paste, and
one that comes before they listen for something else. So one waits a moment, once for all of them.
"""

import os
import termios
from collections.abc import Collection, Mapping
from time import monotonic, sleep

from brenner.neighbours.foreground import in_front, is_only_shell, name_of, runs
from brenner.neighbours.launch import LeftOut
from brenner.neighbours.tmux import Pane, Tmux, names
from brenner.text import visible

_BEFORE_ENTER = 0.5
_TO_LISTEN = 10.0  # seconds that a program which was just opened may take until it listens
_TICK = 0.1
_LOCAL_MODES = 3
_MOST_NAME = 40  # characters
ONLY_SHELL = "no program runs in its window, only a shell"


def obstacle(pane: Pane, commands: Collection[str] = ()) -> str:
    """Why a text that is typed into a pane would reach nobody; empty where it would.

    `commands` are those of the agent's program. Where it was not us who started a program there,
    it must be one of them: others, a shell above all, would obey what they are told.
    """
    if pane.is_dead:
        return "its window is dead"
    if pane.is_in_mode:
        return "its window is in copy mode, which `q` leaves"
    if pane.is_deaf:
        return "its window takes no input"
    programs = in_front(pane.pid)
    if not programs and not pane.is_ours:  # in front of ours is the shell that waits for it
        programs = ((pane.command,),)
    if programs and is_only_shell(programs):
        return ONLY_SHELL
    if pane.is_ours or any(runs(programs, each) for each in commands):
        return ""
    name = visible(name_of(programs), _MOST_NAME)
    return f"`{name}` runs in its window, which is not its program"


def type_lines(tmux: Tmux, lines: Mapping[str, tuple[Pane, str]]) -> tuple[LeftOut, ...]:
    """Type to each agent its line; who was not reached, and why."""
    missed: list[LeftOut] = []
    typed: list[tuple[str, Pane]] = []
    for agent, (pane, text) in lines.items():
        ran = tmux.type(pane, text)
        if ran.is_fine:
            typed.append((agent, pane))
        else:
            missed.append(LeftOut(agent, ran.reason))
    if typed:
        sleep(_BEFORE_ENTER)
    for agent, pane in typed:
        ran = tmux.enter(pane)
        if not ran.is_fine:
            missed.append(LeftOut(agent, ran.reason))
    return tuple(missed)


def wait_until_listening(tmux: Tmux, session: str, agents: Collection[str]) -> None:
    """Wait, not for long, until the programs of these agents take each key as it is typed.

    They do as soon as they have drawn their screen. One that has ended is not waited for.
    """
    end = monotonic() + _TO_LISTEN
    while monotonic() < end:
        panes = tmux.panes(session)
        found = names(panes).items() if isinstance(panes, tuple) else ()
        ours = (pane for name, pane in found if name in agents)
        if not any(_takes_lines(pane.tty) for pane in ours if not obstacle(pane)):
            return
        sleep(_TICK)


def _takes_lines(tty: str) -> bool:
    """Whether the terminal gathers a line before anybody reads it; no where it cannot be told."""
    try:
        terminal = os.open(tty, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        return bool(termios.tcgetattr(terminal)[_LOCAL_MODES] & termios.ICANON)
    except termios.error:
        return False
    finally:
        os.close(terminal)
