"""tmux: named sessions with windows in which the agents' programs run.

A session is always named exactly (`=NAME`): tmux would else take a name for the beginning of
another one. Names are those that tmux stores, without `.` and `:` (`CrossReference`).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from brenner.neighbours.programs import Ran, run

_SECONDS = 10
_BETWEEN = "|"
_ABSENT = ("can't find session", "no server running", "No such file or directory")


class Pane(NamedTuple):
    """A pane of a session.

    `agent` is whom it was opened for, `thread` and `project` what its session was; empty in those
    of others. `has_ended` says that the agent's program, which we opened there, has ended.
    """

    id: str
    window_id: str
    agent: str
    has_ended: bool
    is_dead: bool
    is_in_mode: bool
    is_deaf: bool
    is_active: bool
    tty: str
    pid: str
    thread: str
    project: str
    command: str
    window: str

    @property
    def is_ours(self) -> bool:
        """Whether the program in it is the one that we opened."""
        return bool(self.agent) and not self.has_ended


# A program may have any name, and would else pass for more fields, or for another pane.
_COMMAND = f"#{{s/[{_BETWEEN}\n]/_/:pane_current_command}}"
_FIELDS = (
    *("#{pane_id}", "#{window_id}", "#{@brenner_agent}", "#{@brenner_ended}", "#{pane_dead}"),
    *("#{pane_in_mode}", "#{pane_input_off}", "#{pane_active}", "#{pane_tty}"),
    *("#{pane_pid}", "#{@brenner_thread}", "#{@brenner_project}", _COMMAND, "#{window_name}"),
)


_NEW_WINDOW = ("new-window", "-d", "-t")


class Window(NamedTuple):
    """A window to open: for whom, in which thread of which project, and what runs in it."""

    agent: str
    thread: str
    project: str
    words: tuple[str, ...]


class Tmux(NamedTuple):
    """The program, and the folder in which it opens windows."""

    program: str
    folder: Path | None = None

    def panes(self, session: str) -> tuple[Pane, ...] | str | None:
        """The panes of a session; None where it does not run; words where tmux cannot tell."""
        asked = ("list-panes", "-s", "-t", f"={session}:", "-F", _BETWEEN.join(_FIELDS))
        ran = self.run(*asked)
        if ran.is_fine:
            return tuple(filter(None, map(_pane, ran.out.splitlines())))
        return None if any(words in ran.err for words in _ABSENT) else ran.reason

    def open(self, session: str, window: Window, *, is_new: bool) -> Ran:
        """Open a window, with the session if that is new; it is marked as ours.

        The folder is the one in which tmux is run: tmux would expand a `#` in an argument.
        """
        where = ("new-session", "-d", "-s", session) if is_new else (*_NEW_WINDOW, f"={session}:")
        ran = self.run(*where, "-P", "-F", "#{pane_id}", "-n", window.agent, "--", *window.words)
        if not ran.is_fine:
            return ran
        marks = [("agent", window.agent), ("thread", window.thread), ("project", window.project)]
        for name, value in marks:
            marked = self.run("set-option", "-p", "-t", ran.out.strip(), f"@brenner_{name}", value)
            if not marked.is_fine:
                return marked
        return ran

    def type(self, pane: Pane, text: str) -> Ran:
        """Type a text into a pane, letter by letter: none of it is the name of a key."""
        return self.run("send-keys", "-t", pane.id, "-l", "--", text)

    def enter(self, pane: Pane) -> Ran:
        """Press Enter in a pane."""
        return self.run("send-keys", "-t", pane.id, "Enter")

    def run(self, *arguments: str) -> Ran:
        """One command of tmux. A `;` at the end of an argument would begin another."""
        safe = [each[:-1] + "\\;" if each.endswith(";") else each for each in arguments]
        return run([self.program, "-u", *safe], _SECONDS, self.folder)


def _pane(line: str) -> Pane | None:
    """A line of the list; the window's name, which may be any text, stands last."""
    fields = line.split(_BETWEEN, len(_FIELDS) - 1)
    if len(fields) < len(_FIELDS):
        return None
    pane, window, agent, *flags = fields[:8]
    ended, dead, mode, deaf, active = (each not in ("", "0") for each in flags)
    return Pane(pane, window, agent, ended, dead, mode, deaf, active, *fields[8:])


def names(panes: Sequence[Pane]) -> dict[str, Pane]:
    """The pane of each agent; in sessions of others the one in the window of that name."""
    found: dict[str, Pane] = {}
    for each in panes:
        if each.agent:
            found.setdefault(each.agent, each)
    for each in panes:
        if not each.agent and each.is_active:
            found.setdefault(each.window, each)
    return found
