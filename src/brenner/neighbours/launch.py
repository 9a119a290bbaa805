"""What runs in an agent's window: a command that the operator has configured, then a shell.

Only commands of the table, or of `[programs]` in `brenner.toml`, are run: what a roster or a
registration calls a program is looked up here and never run itself.
"""

from collections.abc import Mapping
from typing import NamedTuple

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
