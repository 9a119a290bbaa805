"""A tmux server of its own, and stand-ins for the programs beside ours that record their calls.

Nobody's real tmux is touched: the socket lies in a folder of the test, and PATH has nothing but
what the test puts there. The server works in that folder, so that it ends with the test process.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from mail_shell import Shell
from parts import need
from program import Run
from servers.lifetime import empty, new_folder, until

PATIENCE = 30
DOTTED = "brenner_bot-5so.1.4.1"
PROGRAMS = {"BlueLake": "claude-code", "RedSky": "codex-cli", "GreenDog": "gemini-cli"}
ROLES = ("hypothesis_generator", "test_designer", "adversarial_critic")
TRUST = "Do you trust the files in this folder?\r\n\r\n❯ 1. Yes, I trust it\r\n  2. No, exit\r\n"
_TMUX = shutil.which("tmux")
_NOT_OURS = (
    *("TMUX", "TMUX_PANE", "AGENT_NAME", "BRENNER_STORE", "BRENNER_ROSTER"),
    *("BRENNER_ROSTER_MODE", "BRENNER_ROSTER_NAME", "BRENNER_ROSTER_PRESET"),
)
_AGENT = """\
#!{python} -IS
import json, os, sys, tty
name = os.environ.get("AGENT_NAME", "nobody")
record = dict(argv=sys.argv[1:], cwd=os.getcwd(), env=dict(os.environ))
tty.setraw(0)
typed = open(f"{records}/{{name}}.typed", "ab", 0)
dialog = {dialog!r}
if dialog:
    os.write(1, dialog.encode())
else:
    os.write(1, b"\\x1b[2J\\x1b[H{prompt} ")
with open(f"{records}/{{name}}.new", "w") as file:
    json.dump(record, file)
os.rename(f"{records}/{{name}}.new", f"{records}/{{name}}.json")
while True:
    piece = os.read(0, 65536)
    if not piece or b"\\x04" in piece:
        break
    typed.write(piece)
    if dialog:
        if b"\\r" in piece:
            open(f"{records}/{{name}}.accepted", "w").close()
            dialog = ""
            os.write(1, b"\\x1b[2J\\x1b[H{prompt} ")
        continue
    os.write(1, piece.replace(b"\\r", b"\\r\\n{prompt} "))
"""
_PROGRAM = """\
#!{python} -IS
import json, os, sys, time
record = dict(argv=sys.argv[1:], cwd=os.getcwd(), store=os.environ.get("BRENNER_STORE"))
with open("{records}/{name}.calls", "a") as file:
    file.write(json.dumps(record) + "\\n")
time.sleep({seconds})
sys.stderr.write({err!r})
sys.stdout.buffer.write({out!r})
sys.exit({code})
"""


class Terminals:
    """A project, a PATH of its own, and a tmux server that nobody else knows."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.base = new_folder("tmux")
        self.project, self.records, self.path = (
            self.base / name for name in ("project", "records", "bin")
        )
        for folder in (self.project, self.records, self.path, self.base / "home"):
            folder.mkdir()
        for name in _NOT_OURS:
            patch.delenv(name, raising=False)
        patch.setenv("TMUX_TMPDIR", str(self.base))
        patch.setenv("HOME", str(self.base / "home"))
        patch.setenv("SHELL", "/bin/sh")
        patch.setenv("PATH", str(self.path))
        patch.chdir(self.base)  # who is in the project is ended with the test
        self.shell = Shell(self.project, patch)

    def __call__(self, *arguments: str) -> Run:
        """Run a command in the project."""
        return self.shell(*arguments)

    def end(self) -> None:
        """End the server with all that runs in it."""
        if _TMUX and (self.path / "tmux").exists():
            self.tmux("kill-server", is_fine=False)
        empty(self.project)

    # What is on PATH

    def with_tmux(self) -> "Terminals":
        """Let tmux be there."""
        need(_TMUX, "tmux is not there")
        (self.path / "tmux").symlink_to(str(_TMUX))
        return self

    def with_agents(self, *commands: str, dialog: str = "", prompt: str = ">") -> "Terminals":
        """Let these commands be there: each records how it was called, then what is typed.

        With a dialog each shows that first, and accepts it when it reads Enter.
        """
        words = {"python": sys.executable, "records": self.records}
        for name in commands:
            self._write(name, _AGENT.format(**words, dialog=dialog, prompt=prompt))
        return self

    def with_program(
        self, name: str, out: bytes = b"", err: str = "", code: int = 0, seconds: float = 0
    ) -> "Terminals":
        """Let a program be there that records its call and answers that."""
        said = {"out": out, "err": err, "code": code, "seconds": seconds}
        text = _PROGRAM.format(python=sys.executable, records=self.records, name=name, **said)
        self._write(name, text)
        return self

    def without(self, name: str) -> None:
        """Take a program away."""
        (self.path / name).unlink()

    def _write(self, name: str, text: str) -> None:
        file = self.path / name
        file.write_text(text, "utf-8")
        file.chmod(0o755)

    # What happened

    def calls(self, name: str) -> list[list[str]]:
        """The arguments of every call of a program."""
        return [each["argv"] for each in self.recorded(name)]

    def recorded(self, name: str) -> list[dict[str, Any]]:
        """Everything that a program has recorded of its calls."""
        file = self.records / f"{name}.calls"
        lines = file.read_text("utf-8").splitlines() if file.exists() else []
        return [json.loads(line) for line in lines]

    def started(self, agent: str) -> dict[str, Any]:
        """How the program of an agent was started, once it is."""
        file = self.records / f"{agent}.json"
        eventually(file.exists)
        read: dict[str, Any] = json.loads(file.read_text("utf-8"))
        return read

    def typed(self, agent: str) -> str:
        """What was typed to the program of an agent until now; a carriage return is Enter."""
        file = self.records / f"{agent}.typed"
        return file.read_bytes().decode() if file.exists() else ""

    def tmux(self, *arguments: str, is_fine: bool = True) -> list[str]:
        """Ask the server; the lines of its answer."""
        done = subprocess.run(
            [str(_TMUX), "-u", *arguments], capture_output=True, text=True, check=False, timeout=30
        )
        assert not is_fine or done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    def windows(self, session: str) -> list[str]:
        """The names of a session's windows."""
        return self.tmux("list-windows", "-t", f"={session}:", "-F", "#{window_name}")

    def screen(self, session: str, window: str) -> str:
        """What is to be seen in a window."""
        return "\n".join(self.tmux("capture-pane", "-p", "-J", "-t", f"={session}:={window}"))


def eventually(reached: Callable[[], bool]) -> None:
    """Wait until something is so."""
    for _ in until(reached, PATIENCE):
        pass


def written(folder: Path, *lines: str) -> None:
    """Write a project's settings."""
    (folder / "brenner.toml").write_text("\n".join(lines) + "\n", "utf-8")


def asked(thread_id: str, *options: str, programs: dict[str, str] | None = None) -> Sequence[str]:
    """A kickoff of a thread to agents with these programs."""
    entries = [
        {"agentName": name, "role": role, "program": program}
        for (name, program), role in zip((programs or PROGRAMS).items(), ROLES, strict=False)
    ]
    to = [word for entry in entries for word in ("--to", entry["agentName"])]
    texts = ["--question", "How do cells know?", "--context", "They differ by place."]
    roster = ["--roster", json.dumps(entries)]
    return ["session", "start", "--thread-id", thread_id, *texts, *roster, *to, *options]
