"""ntm, the named tmux manager: it opens a session with so many of each program, and speaks to all.

It takes the thread ID as it is. One that begins with a hyphen stands behind `--`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from brenner.neighbours.programs import Ran, run

FLAGS = {"claude-code": "--cc", "codex-cli": "--cod", "gemini-cli": "--gmi"}
_SPAWN_SECONDS = 60
_SEND_SECONDS = 30


class Ntm(NamedTuple):
    """The program, the folder to run it in, and what to add to its environment."""

    program: str
    folder: Path
    environment: Mapping[str, str]

    def spawn(self, session: str, programs: Sequence[str]) -> Ran:
        """Open the session with these programs, of which each may be there several times."""
        counts = [
            f"{flag}={programs.count(name)}" for name, flag in FLAGS.items() if name in programs
        ]
        return self._run(_SPAWN_SECONDS, "spawn", session, counts)

    def send(self, session: str, text: str) -> Ran:
        """Say something to all panes of the session."""
        return self._run(_SEND_SECONDS, "send", session, ["--all"], text)

    def _run(self, seconds: float, verb: str, session: str, flags: list[str], *text: str) -> Ran:
        if session.startswith("-"):
            said = [*flags, "--", session, *text]
        else:
            said = [session, *flags, *text]
        return run([self.program, verb, *said], seconds, self.folder, self.environment)
