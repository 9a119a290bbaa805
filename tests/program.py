"""The program as a process of its own, in a folder of its own."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from parts import need

_OURS = (
    *("AGENT_NAME", "BRENNER_STORE", "NO_COLOR", "GIT_DIR", "GIT_WORK_TREE"),
    *("BRENNER_ROSTER", "BRENNER_ROSTER_MODE", "BRENNER_ROSTER_NAME", "BRENNER_ROSTER_PRESET"),
    *("AGENT_MAIL_BASE_URL", "AGENT_MAIL_PATH", "AGENT_MAIL_BEARER_TOKEN", "PGPASSWORD"),
    *("BRENNER_TOKEN", "BRENNER_SECRET"),
)
# Where nobody listens: whoever runs the tests may have a server at the usual place.
_NOWHERE = {"BRENNER_SERVE_URL": "http://127.0.0.1:9/mcp/"}
# Whoever runs the tests as root may write everywhere; without these powers root may not.
_POWERS = "-dac_override,-dac_read_search"


class Run(NamedTuple):
    """How a run of the program ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The document on the standard output."""
        return json.loads(self.out)


def brenner(*arguments: str, cwd: Path, **environment: str) -> Run:
    """Run the program there."""
    return run([sys.executable, "-m", "brenner", *arguments], cwd, environment)


def powerless(*arguments: str, cwd: Path) -> Run:
    """Run the program as somebody to whom permissions apply."""
    command = [sys.executable, "-m", "brenner", *arguments]
    if os.geteuid() == 0:
        need(shutil.which("setpriv"), "root may write everywhere, and setpriv is not there")
        command = ["setpriv", "--bounding-set", _POWERS, "--inh-caps", _POWERS, *command]
    return run(command, cwd, {})


def run(command: list[str], cwd: Path, environment: dict[str, str]) -> Run:
    """Run a command with nothing of ours in its environment but what is given."""
    clean = {key: value for key, value in os.environ.items() if key not in _OURS}
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        cwd=cwd,
        env=clean | _NOWHERE | environment,
        timeout=120,
    )
    ended = Run(done.returncode, done.stdout.decode(), done.stderr.decode())
    assert "Traceback" not in ended.out + ended.err
    return ended


def git(*arguments: str, cwd: Path) -> str:
    """Run git as nobody in particular; what it said."""
    command = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *arguments]
    ended = run(command, cwd, {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull})
    assert ended.code == 0, ended.err
    return ended.out


def files(folder: Path) -> list[str]:
    """Everything in a folder, git's own left out."""
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    return sorted(path for path in found if not path.startswith(".git/") and path != ".git")
