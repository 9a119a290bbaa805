"""tmux: sessions and windows for agents, the programs in them, and typing into them.

Sessions are addressed exactly (`=NAME`), because tmux otherwise accepts a prefix of a name. Names
are as tmux stores them, without `.` and `:` (`CrossReference`).
"""

import os
import re
import termios
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote
from time import monotonic, sleep
from typing import NamedTuple

from brenner.integrations.programs import NTM, TMUX, RunResult, find_program, run_program
from brenner.protocol.thread_ids import cross_reference, is_valid_thread_id
from brenner.text import escape_control

_COMMAND_SECONDS = 10
_SEPARATOR = "|"
_NO_SESSION_ERRORS = ("can't find session", "no server running", "No such file or directory")


class Pane(NamedTuple):
    """A pane of a session.

    `agent`, `thread` and `project` are set if we opened it; otherwise they are empty. `has_ended`
    says that the agent's program, which we started there, has ended.
    """

    id: str
    window_id: str
    agent: str
    has_ended: bool
    is_dead: bool
    is_in_mode: bool
    is_input_off: bool
    is_active: bool
    tty: str
    pid: str
    thread: str
    project: str
    command: str
    window: str

    @property
    def is_ours(self) -> bool:
        """Whether the program in it is still the one that we started."""
        return bool(self.agent) and not self.has_ended


# A program may have any name, which could otherwise look like more fields or another pane.
_PANE_COMMAND = f"#{{s/[{_SEPARATOR}\n]/_/:pane_current_command}}"
_PANE_FIELDS = (
    *("#{pane_id}", "#{window_id}", "#{@brenner_agent}", "#{@brenner_ended}", "#{pane_dead}"),
    *("#{pane_in_mode}", "#{pane_input_off}", "#{pane_active}", "#{pane_tty}"),
    *("#{pane_pid}", "#{@brenner_thread}", "#{@brenner_project}", _PANE_COMMAND, "#{window_name}"),
)


_NEW_WINDOW = ("new-window", "-d", "-t")


class NewWindow(NamedTuple):
    """A window to open: its agent, thread and project, and the command to run in it."""

    agent: str
    thread: str
    project: str
    words: tuple[str, ...]


class Tmux(NamedTuple):
    """The program tmux, and the folder in which it opens windows."""

    program: str
    folder: Path | None = None

    def panes(self, session: str) -> tuple[Pane, ...] | str | None:
        """Return the panes of a session, None if it does not run, or tmux's error message."""
        arguments = ("list-panes", "-s", "-t", f"={session}:", "-F", _SEPARATOR.join(_PANE_FIELDS))
        result = self.run(*arguments)
        if result.succeeded:
            return tuple(filter(None, map(_parse_pane, result.out.splitlines())))
        return None if any(words in result.err for words in _NO_SESSION_ERRORS) else result.reason

    def open(self, session: str, window: NewWindow, *, is_new: bool) -> RunResult:
        """Open a window, and the session if it is new; mark the pane as ours.

        The folder is the working directory of tmux: as an argument, tmux would expand a `#` in it.
        """
        where = ("new-session", "-d", "-s", session) if is_new else (*_NEW_WINDOW, f"={session}:")
        result = self.run(*where, "-P", "-F", "#{pane_id}", "-n", window.agent, "--", *window.words)
        if not result.succeeded:
            return result
        marks = [("agent", window.agent), ("thread", window.thread), ("project", window.project)]
        for name, value in marks:
            marked = self.run(
                "set-option", "-p", "-t", result.out.strip(), f"@brenner_{name}", value
            )
            if not marked.succeeded:
                return marked
        return result

    def type(self, pane: Pane, text: str) -> RunResult:
        """Type a text into a pane literally, never as the name of a key."""
        return self.run("send-keys", "-t", pane.id, "-l", "--", text)

    def press_enter(self, pane: Pane) -> RunResult:
        return self.run("send-keys", "-t", pane.id, "Enter")

    def run(self, *arguments: str) -> RunResult:
        """Run one tmux command. A `;` at the end of an argument is escaped: it would start
        another.
        """
        safe = [each[:-1] + "\\;" if each.endswith(";") else each for each in arguments]
        return run_program([self.program, "-u", *safe], _COMMAND_SECONDS, self.folder)


def _parse_pane(line: str) -> Pane | None:
    """Parse a line of the list; the window name, which may be any text, is last."""
    fields = line.split(_SEPARATOR, len(_PANE_FIELDS) - 1)
    if len(fields) < len(_PANE_FIELDS):
        return None
    pane, window, agent, *flags = fields[:8]
    ended, dead, mode, deaf, active = (each not in ("", "0") for each in flags)
    return Pane(pane, window, agent, ended, dead, mode, deaf, active, *fields[8:])


def panes_by_agent(panes: Sequence[Pane]) -> dict[str, Pane]:
    """Return the pane of each agent; in other sessions, the active pane of the window of that
    name.
    """
    found: dict[str, Pane] = {}
    for each in panes:
        if each.agent:
            found.setdefault(each.agent, each)
    for each in panes:
        if not each.agent and each.is_active:
            found.setdefault(each.window, each)
    return found


# Foreground programs of a terminal, which would read typed text. They are known only with `/proc`.


Arguments = tuple[str, ...]

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "fish", "ksh", "tcsh", "csh", "ash", "busybox"})
# Interpreters of scripts: `node /usr/bin/gemini` is gemini
_INTERPRETER = re.compile(rf"(?:node|bun|deno|python|ruby|perl|{'|'.join(sorted(_SHELLS))})[\d.]*")
_PROCESSES = Path("/proc")
_PROCESS_GROUP, _FOREGROUND_GROUP = 2, 5  # fields of `/proc/PID/stat` after the name


def foreground_programs(pid: str) -> tuple[Arguments, ...]:
    """Return the foreground programs of a process's terminal, each with its arguments.

    Empty if it cannot be determined.
    """
    status = _stat_fields(_PROCESSES / pid)
    return tuple(_programs_of_group(status[_FOREGROUND_GROUP])) if status else ()


def is_only_shell(programs: Iterable[Arguments]) -> bool:
    """Return whether all programs are interactive shells: `bash`, `-zsh`, `sh -i`."""
    return all(
        _base_name(words[0]) in _SHELLS
        and all(each.startswith("-") for each in words[1:])
        and "-c" not in words
        for words in programs
    )


def runs_command(programs: Iterable[Arguments], command: str) -> bool:
    """Return whether one of the programs is this command, directly or through an interpreter."""
    wanted = _base_name(command)
    return any(wanted in _possible_names(words) for words in programs)


def program_name(programs: Iterable[Arguments]) -> str:
    """Return a name of the programs for people; not the shell if there is another."""
    names = [_base_name(words[0]) for words in programs]
    return next((each for each in names if each not in _SHELLS), names[0])


def _possible_names(words: Arguments) -> Iterator[str]:
    name = _base_name(words[0])
    yield name
    if _INTERPRETER.fullmatch(name):
        yield _base_name(next((each for each in words[1:] if not each.startswith("-")), ""))


def _base_name(word: str) -> str:
    return word.rpartition("/")[2].lstrip("-")


def _programs_of_group(group: str) -> Iterator[Arguments]:
    for process in _PROCESSES.iterdir():
        if not process.name.isdigit():
            continue
        status = _stat_fields(process)
        words = _command_line(process) if status and status[_PROCESS_GROUP] == group else ()
        if words:
            yield words


def _stat_fields(process: Path) -> list[str]:
    """Return the fields after the name, which is any text in parentheses; empty if it has ended."""
    return _read_text(process / "stat").rpartition(")")[2].split()


def _command_line(process: Path) -> Arguments:
    """Return the arguments without empty ones, which a renamed process leaves behind."""
    return tuple(filter(None, _read_text(process / "cmdline").split("\0")))


def _read_text(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


# The command of an agent's window: the agent's program, then a shell
#
# Only commands of this table, or of `[programs]` in `brenner.toml`, are run. The program name in a
# roster or registration is only a key to them.


PROGRAM_COMMANDS: dict[str, tuple[str, ...]] = {
    "claude-code": ("claude",),
    "codex-cli": ("codex",),
    "gemini-cli": ("gemini",),
}

# The command is passed as arguments, so that nothing in it is parsed by the shell. Ctrl-C ends the
# program, not the window.
_WINDOW_SCRIPT = """\
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


class AgentLaunch(NamedTuple):
    """An agent to open a window for, its program, and the command to run."""

    agent: str
    program: str
    command: tuple[str, ...]


class SkippedAgent(NamedTuple):
    """An agent that was skipped, and the reason, as part of a sentence."""

    agent: str
    reason: str


def plan_launch(
    agent: str, program: str | None, commands: Mapping[str, tuple[str, ...]]
) -> AgentLaunch | SkippedAgent:
    """Return what to run for an agent, or why it is skipped."""
    if not program:
        return SkippedAgent(agent, "nobody says which program it is")
    if program not in commands:
        return SkippedAgent(agent, f"no command is known for the program `{program}`")
    return AgentLaunch(agent, program, commands[program])


def window_command(
    launch: AgentLaunch, tmux: str, environment: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the command that tmux runs, without a shell of its own."""
    assignments = [f"{name}={value}" for name, value in environment.items()]
    script = ("/bin/sh", "-c", _WINDOW_SCRIPT, "brenner", launch.agent, tmux)
    return ("/usr/bin/env", f"AGENT_NAME={launch.agent}", *assignments, *script, *launch.command)


# Typing a line into panes
#
# Full-screen programs treat a text with an immediate Enter as a paste, and misread text that
# arrives before they are ready. So Enter follows after a delay, once for all panes.


_ENTER_DELAY = 0.5
_STARTUP_SECONDS = 10.0  # for a new program to become ready
_POLL_SECONDS = 0.1
_LOCAL_FLAGS = 3
_MOST_NAME_CHARACTERS = 40
ONLY_SHELL = "no program runs in its window, only a shell"


def typing_obstacle(pane: Pane, commands: Collection[str] = ()) -> str:
    """Return why text typed into a pane would not reach the agent; empty if it would.

    `commands` are those of the agent's program. Unless we started the program in the pane, it must
    be one of them: any other program, above all a shell, would execute the text.
    """
    if pane.is_dead:
        return "its window is dead"
    if pane.is_in_mode:
        return "its window is in copy mode, which `q` leaves"
    if pane.is_input_off:
        return "its window takes no input"
    programs = foreground_programs(pane.pid)
    if not programs and not pane.is_ours:  # ours runs behind a waiting shell
        programs = ((pane.command,),)
    if programs and is_only_shell(programs):
        return ONLY_SHELL
    if pane.is_ours or any(runs_command(programs, each) for each in commands):
        return ""
    name = escape_control(program_name(programs), _MOST_NAME_CHARACTERS)
    return f"`{name}` runs in its window, which is not its program"


def type_lines(tmux: Tmux, lines: Mapping[str, tuple[Pane, str]]) -> tuple[SkippedAgent, ...]:
    """Type a line to each agent, and return the agents that were not reached."""
    missed: list[SkippedAgent] = []
    typed: list[tuple[str, Pane]] = []
    for agent, (pane, text) in lines.items():
        result = tmux.type(pane, text)
        if result.succeeded:
            typed.append((agent, pane))
        else:
            missed.append(SkippedAgent(agent, result.reason))
    if typed:
        sleep(_ENTER_DELAY)
    for agent, pane in typed:
        result = tmux.press_enter(pane)
        if not result.succeeded:
            missed.append(SkippedAgent(agent, result.reason))
    return tuple(missed)


def wait_for_raw_input(tmux: Tmux, session: str, agents: Collection[str]) -> None:
    """Wait, up to a timeout, until the programs of these agents read single keys.

    They do so once they have drawn their screen. A program that has ended is not waited for.
    """
    end = monotonic() + _STARTUP_SECONDS
    while monotonic() < end:
        panes = tmux.panes(session)
        found = panes_by_agent(panes).items() if isinstance(panes, tuple) else ()
        ours = (pane for name, pane in found if name in agents)
        if not any(_is_line_buffered(pane.tty) for pane in ours if not typing_obstacle(pane)):
            return
        sleep(_POLL_SECONDS)


def _is_line_buffered(tty: str) -> bool:
    """Return whether the terminal is in canonical mode; false if it cannot be determined."""
    try:
        terminal = os.open(tty, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        return bool(termios.tcgetattr(terminal)[_LOCAL_FLAGS] & termios.ICANON)
    except termios.error:
        return False
    finally:
        os.close(terminal)


class TerminalSession(NamedTuple):
    """The ntm or tmux session of a thread.

    `is_running` is None if it cannot be determined; `problem` then says why. `agents` are those
    with a window. `attach` is the command to attach to it.
    """

    program: str
    session: str
    is_running: bool | None
    windows: int
    panes: int
    agents: tuple[str, ...]
    attach: str
    problem: str = ""


def find_terminal(thread_id: str) -> TerminalSession | None:
    """Return the terminal session of a thread, running or not; None without ntm and tmux."""
    has_ntm, tmux = find_program(NTM) is not None, find_program(TMUX)
    if not is_valid_thread_id(thread_id) or not (has_ntm or tmux):
        return None
    names = cross_reference(thread_id)
    program, session = (NTM, names.ntm_session) if has_ntm else (TMUX, names.tmux_session)
    terminal = TerminalSession(program, session, None, 0, 0, (), attach_command(thread_id, program))
    if tmux is None:
        return terminal._replace(problem="without tmux nobody can tell")
    panes = Tmux(tmux).panes(names.tmux_session)
    if isinstance(panes, str):
        return terminal._replace(problem=panes)
    found = panes or ()
    other = next((each.thread for each in found if each.thread not in ("", thread_id)), None)
    if other:  # both thread IDs have the same tmux name
        return terminal._replace(is_running=False, problem=f"it is the session of {other}")
    agents = tuple(name for name, pane in panes_by_agent(found).items() if pane.agent)
    return terminal._replace(
        is_running=panes is not None,
        windows=len({each.window_id for each in found}),
        panes=len(found),
        agents=agents,
    )


def attach_command(thread_id: str, program: str) -> str:
    """Return the command to attach to the session; inside tmux, the one to switch to it."""
    if program == NTM:
        return f"ntm attach {'-- ' * thread_id.startswith('-')}{quote(thread_id)}"
    verb = "switch-client" if os.environ.get("TMUX") else "attach"
    # zsh expands a word that begins with an unquoted `=`.
    return f"tmux {verb} -t '={cross_reference(thread_id).tmux_session}'"
