"""tmux: named sessions with windows in which the agents' programs run.

A session is always named exactly (`=NAME`): tmux would else take a name for the beginning of
another one. Names are those that tmux stores, without `.` and `:` (`CrossReference`).
"""

import os
import re
import termios
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote
from time import monotonic, sleep
from typing import NamedTuple

from brenner.integrations.programs import NTM, TMUX, Ran, find, run
from brenner.protocol.thread_ids import cross_reference, is_valid
from brenner.text import escape_control

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


# What runs in the front of a terminal: the programs that would read what is typed there.
#
# The kernel tells it where there is `/proc`; elsewhere nobody does.


Words = tuple[str, ...]

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "fish", "ksh", "tcsh", "csh", "ash", "busybox"})
# What runs a program that is a text: `node /usr/bin/gemini` is gemini
_INTERPRETER = re.compile(rf"(?:node|bun|deno|python|ruby|perl|{'|'.join(sorted(_SHELLS))})[\d.]*")
_PROCESSES = Path("/proc")
_GROUP, _GROUP_IN_FRONT = 2, 5  # fields of `/proc/PID/stat` after the name


def in_front(pid: str) -> tuple[Words, ...]:
    """The programs in front of the terminal of a process, each with its arguments.

    Empty where it cannot be told.
    """
    status = _status(_PROCESSES / pid)
    return tuple(_of_group(status[_GROUP_IN_FRONT])) if status else ()


def is_only_shell(programs: Iterable[Words]) -> bool:
    """Whether nothing is there but a shell that waits for commands: `bash`, `-zsh`, `sh -i`."""
    return all(
        _name(words[0]) in _SHELLS
        and all(each.startswith("-") for each in words[1:])
        and "-c" not in words
        for words in programs
    )


def runs(programs: Iterable[Words], command: str) -> bool:
    """Whether one of them is this command, itself or by way of an interpreter."""
    wanted = _name(command)
    return any(wanted in _names(words) for words in programs)


def name_of(programs: Iterable[Words]) -> str:
    """What they are called, for people: not the shell that only waits for the other."""
    names = [_name(words[0]) for words in programs]
    return next((each for each in names if each not in _SHELLS), names[0])


def _names(words: Words) -> Iterator[str]:
    name = _name(words[0])
    yield name
    if _INTERPRETER.fullmatch(name):
        yield _name(next((each for each in words[1:] if not each.startswith("-")), ""))


def _name(word: str) -> str:
    return word.rpartition("/")[2].lstrip("-")


def _of_group(group: str) -> Iterator[Words]:
    for process in _PROCESSES.iterdir():
        if not process.name.isdigit():
            continue
        status = _status(process)
        words = _words(process) if status and status[_GROUP] == group else ()
        if words:
            yield words


def _status(process: Path) -> list[str]:
    """What stands after the name, which may be any text in parentheses; empty where it is gone."""
    return _read(process / "stat").rpartition(")")[2].split()


def _words(process: Path) -> Words:
    """The arguments; a program that has renamed itself leaves empty ones behind."""
    return tuple(filter(None, _read(process / "cmdline").split("\0")))


def _read(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


# What runs in an agent's window: a command that the operator has configured, then a shell.
#
# Only commands of the table, or of `[programs]` in `brenner.toml`, are run: what a roster or a
# registration calls a program is looked up here and never run itself.


COMMANDS: dict[str, tuple[str, ...]] = {
    "claude-code": ("claude",),
    "codex-cli": ("codex",),
    "gemini-cli": ("gemini",),
}

# Its words are arguments, so that nothing in them is read as shell. Keys that interrupt the
# program are not to end the window with it.
_SCRIPT = """\
trap : INT QUIT
agent=$1 tmux=$2; shift 2
if command -v "$1" >/dev/null 2>&1; then
    "$@"
    code=$?
    printf '\\n%s: %s has ended, exit code %s. This is a shell.\\n' "$agent" "$1" "$code"
else
    printf '%s: the program %s was not found. This is a shell.\\n' "$agent" "$1"
fi
"$tmux" set-option -p -t "$TMUX_PANE" @brenner_ended 1
exec "${SHELL:-/bin/sh}"
"""


class Opening(NamedTuple):
    """An agent that gets a window, its program, and the command of that."""

    agent: str
    program: str
    command: tuple[str, ...]


class LeftOut(NamedTuple):
    """An agent that was passed over, and why: the part of a sentence."""

    agent: str
    reason: str


def opening(
    agent: str, program: str | None, commands: Mapping[str, tuple[str, ...]]
) -> Opening | LeftOut:
    """What to run for an agent, or why nothing."""
    if not program:
        return LeftOut(agent, "nobody says which program it is")
    if program not in commands:
        return LeftOut(agent, f"no command is known for the program `{program}`")
    return Opening(agent, program, commands[program])


def in_window(each: Opening, tmux: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """The words that tmux runs, without a shell of its own between them."""
    said = [f"{name}={value}" for name, value in environment.items()]
    script = ("/bin/sh", "-c", _SCRIPT, "brenner", each.agent, tmux)
    return ("/usr/bin/env", f"AGENT_NAME={each.agent}", *said, *script, *each.command)


# Typing a line into panes, so that the programs in them read it as typed.
#
# Programs that draw a whole screen take a text that comes together with its Enter for a paste, and
# one that comes before they listen for something else. So one waits a moment, once for all of them.


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
    name = escape_control(name_of(programs), _MOST_NAME)
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
