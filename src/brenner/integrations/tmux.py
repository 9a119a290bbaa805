"""tmux: sessions and windows for agents, and typing into them.

Sessions are addressed exactly (`=NAME`), because tmux otherwise accepts a prefix of a name. Names
are as tmux stores them, without `.` and `:` (`CrossReference`).
"""

from __future__ import annotations

import os
from shlex import quote
from time import monotonic, sleep
from typing import TYPE_CHECKING

from brenner.integrations.programs import NTM, TMUX, RunResult, find_program, run_program
from brenner.named_tuple import NamedTuple
from brenner.program_settings import KNOWN_PROGRAMS
from brenner.protocol.thread_ids import cross_reference, is_valid_thread_id
from brenner.text import escape_control

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

_COMMAND_SECONDS = 10
_SEPARATOR = "|"
_NO_SESSION_ERRORS = ("can't find session", "no server running", "No such file or directory")


class Pane(NamedTuple):
    """A pane of a session.

    `agent`, `thread` and `project` are set if we opened it; otherwise they are empty. `is_ours`
    says that the program in it is still the one that we started.
    """

    id: str
    window_id: str
    agent: str
    is_ours: bool
    is_dead: bool
    is_in_mode: bool
    is_input_off: bool
    is_active: bool
    thread: str
    project: str
    command: str
    window: str


# A pane that was opened anew has another process than the one that we started.
_IS_OURS = "#{&&:#{==:#{@brenner_pid},#{pane_pid}},#{!=:#{@brenner_ended},1}}"
# A program may have any name, which could otherwise look like more fields or another pane.
_PANE_COMMAND = f"#{{s/[{_SEPARATOR}\n]/_/:pane_current_command}}"
_PANE_FIELDS = (
    *("#{pane_id}", "#{window_id}", "#{@brenner_agent}", _IS_OURS, "#{pane_dead}"),
    *("#{pane_in_mode}", "#{pane_input_off}", "#{pane_active}"),
    *("#{@brenner_thread}", "#{@brenner_project}", _PANE_COMMAND, "#{window_name}"),
)
_NEW_WINDOW = ("new-window", "-d", "-t")


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

    def open(
        self, session: str, marks: Mapping[str, str], command: Sequence[str], *, is_new: bool
    ) -> RunResult:
        """Open a window for an agent, and the session if it is new; mark the pane as ours.

        `marks` are the agent, thread and project. The folder is the working directory of tmux: as
        an argument, tmux would expand a `#` in it.
        """
        where = ("new-session", "-d", "-s", session) if is_new else (*_NEW_WINDOW, f"={session}:")
        ids = ("-P", "-F", "#{pane_id} #{pane_pid}")
        result = self.run(*where, *ids, "-n", marks["agent"], "--", *command)
        if not result.succeeded:
            return result
        pane, pid = result.out.split()
        for name, value in {**marks, "pid": pid}.items():
            marked = self.run("set-option", "-p", "-t", pane, f"@brenner_{name}", value)
            if not marked.succeeded:
                return marked
        return result

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
    ours, dead, mode, deaf, active = (each not in ("", "0") for each in flags)
    return Pane(pane, window, agent, ours, dead, mode, deaf, active, *fields[8:])


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


# The command of an agent's window: the agent's program, then a shell
#
# Only commands of this table, or of `[programs]` in `brenner.toml`, are run. The program name in a
# roster or registration is only a key to them.


LINE = "{line}"  # in a word of a command: the program's first line
_FIRST_LINE = {"claude": (LINE,), "codex": (LINE,), "gemini": ("-i", LINE)}


def takes_first_line(command: Sequence[str]) -> bool:
    """Return whether a command can be given the program's first line as an argument."""
    return _program_name(command) in _FIRST_LINE or any(LINE in word for word in command)


def command_with_line(command: Sequence[str], line: str) -> tuple[str, ...]:
    """Return a command that gives the program its first line; none if the line is empty.

    The line comes before options that are configured: some take any number of values.
    """
    words, name = tuple(command), _program_name(command)
    if not any(LINE in word for word in words) and name in _FIRST_LINE:
        built_in = next(each.command for each in KNOWN_PROGRAMS.values() if each.command[0] == name)
        start = len(built_in) if words[1 : len(built_in)] == built_in[1:] else 1
        words = (*words[:start], *(_FIRST_LINE[name] if line else ()), *words[start:])
    return tuple(word.replace(LINE, line) for word in words if line or LINE not in word)


def _program_name(command: Sequence[str]) -> str:
    return command[0].rpartition("/")[2]


# The command is passed as arguments, so that nothing in it is parsed by the shell. Ctrl-C ends the
# program, not the window.
_WINDOW_SCRIPT = """\
trap : INT QUIT
agent=$1 tmux=$2; shift 2
if command -v "$1" >/dev/null 2>&1; then
    "$@"
    code=$?
    printf '\\n%s: %s ended with exit code %s. This is a shell.\\n' "$agent" "$1" "$code"
else
    printf '%s: the program %s was not found. This is a shell.\\n' "$agent" "$1"
fi
"$tmux" set-option -p -t "$TMUX_PANE" @brenner_ended 1
exec "${SHELL:-/bin/sh}"
"""


def window_command(
    agent: str, command: Sequence[str], tmux: str, environment: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the command that tmux runs for an agent, without a shell of its own."""
    assignments = [f"{name}={value}" for name, value in environment.items()]
    script = ("/bin/sh", "-c", _WINDOW_SCRIPT, "brenner", agent, tmux)
    return ("/usr/bin/env", f"AGENT_NAME={agent}", *assignments, *script, *command)


# Typing a line into panes
#
# A line is typed only at an empty prompt (`screens`). Full-screen programs treat a text with an
# immediate Enter as a paste, so Enter follows after a delay, and only if the prompt shows the text.


_ENTER_DELAY = 0.5
_STARTUP_SECONDS = 10.0  # for a new program to draw its screen
_MOST_NAME_CHARACTERS = 40
ONLY_SHELL = "its window contains only a shell"
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "fish", "ksh", "tcsh", "csh", "ash", "busybox"})
# tmux reports these for a program that is a script: `node` for `node /usr/bin/gemini`
_INTERPRETERS = ("node", "bun", "deno", "python")


def typing_obstacle(pane: Pane, commands: Collection[str] = ()) -> str:
    """Return why text typed into a pane would not reach the agent; empty if it would.

    `commands` are those of the agent's program. Unless we started the program in the pane, it must
    be one of them, or a script: any other program, above all a shell, would execute the text.
    """
    if pane.is_dead:
        return "its window is dead"
    if pane.is_in_mode:
        return "its window is in copy mode (press `q` to leave it)"
    if pane.is_input_off:
        return "its window accepts no input"
    name = pane.command.rpartition("/")[2].lstrip("-")
    names = [command.rpartition("/")[2] for command in commands]
    if pane.is_ours or name in names or name.startswith(_INTERPRETERS):
        return ""
    if name in _SHELLS:
        return ONLY_SHELL
    shown = escape_control(name, _MOST_NAME_CHARACTERS)
    return f"its window runs `{shown}`, which is not its program"


def screen_obstacle(tmux: Tmux, pane: Pane) -> str:
    """Return why no line may be typed into a pane, as far as its screen shows."""
    from brenner.integrations.screens import prompt_obstacle  # only to type

    found = _screen(tmux, pane)
    return found if isinstance(found, str) else prompt_obstacle(*found)


def _screen(tmux: Tmux, pane: Pane) -> tuple[str, int, int] | str:
    """Return the screen of a pane and its cursor (column and row), or why it cannot be read."""
    cursor = tmux.run("display-message", "-p", "-t", pane.id, "#{cursor_x} #{cursor_y}")
    screen = tmux.run("capture-pane", "-p", "-e", "-t", pane.id)
    failed = next((each for each in (cursor, screen) if not each.succeeded), None)
    numbers = cursor.out.split()
    if failed or len(numbers) != len(("column", "row")):
        return f"its screen cannot be read ({(failed or cursor).reason})"
    return screen.out, int(numbers[0]), int(numbers[1])


def type_lines(
    tmux: Tmux, lines: Mapping[str, tuple[Pane, str]], *, is_dry_run: bool = False
) -> dict[str, str]:
    """Type a line to each agent whose screen shows an empty prompt. Return why others got none."""
    missed = {agent: screen_obstacle(tmux, pane) for agent, (pane, _) in lines.items()}
    missed = {agent: reason for agent, reason in missed.items() if reason}
    if is_dry_run:
        return missed
    typed: list[str] = []
    for agent, (pane, text) in lines.items():
        if agent not in missed:
            # literally, never as the name of a key
            result = tmux.run("send-keys", "-t", pane.id, "-l", "--", text)
            if result.succeeded:
                typed.append(agent)
            else:
                missed[agent] = result.reason
    if typed:
        sleep(_ENTER_DELAY)
    for agent in typed:
        reason = _press_enter(tmux, *lines[agent])
        if reason:
            missed[agent] = reason
    return missed


def _press_enter(tmux: Tmux, pane: Pane, text: str) -> str:
    """Press Enter once the prompt shows the text. Return why not, if a dialog has opened since."""
    from brenner.integrations.screens import NO_PROMPT, enter_obstacle

    end, reason = monotonic() + _STARTUP_SECONDS, NO_PROMPT
    while reason == NO_PROMPT and monotonic() < end:
        found = _screen(tmux, pane)
        reason = found if isinstance(found, str) else enter_obstacle(found[0], found[2], text)
        if reason == NO_PROMPT:
            sleep(_ENTER_DELAY)
    if reason:
        return f"the line was typed, but not sent: {reason}"
    result = tmux.run("send-keys", "-t", pane.id, "Enter")
    return "" if result.succeeded else result.reason


def wait_for_screens(tmux: Tmux, panes: Collection[Pane]) -> None:
    """Wait, up to a timeout, until new programs have drawn their screens."""
    end = monotonic() + _STARTUP_SECONDS
    screens: list[str] = []
    while monotonic() < end:
        before = screens
        screens = [tmux.run("capture-pane", "-p", "-t", each.id).out.strip() for each in panes]
        if all(screens) and screens == before:
            return
        sleep(_ENTER_DELAY)


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
        return terminal._replace(problem="unknown without tmux")
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
