"""The command line in a folder: in this process, or as a process of its own.

`brenner` calls it in this process, which takes a tenth of the time. `brenner_process` starts one,
for tests of what only a process has: signals, a terminal, threads of the test, the exit itself.
"""

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from brenner.cli import main
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
    """The exit code and the output of a command."""

    code: int
    raw: bytes
    err: str

    @property
    def out(self) -> str:
        """The standard output as text."""
        return self.raw.decode()

    @property
    def json(self) -> Any:
        """The one document on the standard output."""
        return json.loads(self.out)

    @property
    def codes(self) -> list[str]:
        """The codes in that document."""
        return [violation["id"] for violation in self.json["violations"]]


def brenner(*arguments: str, cwd: Path, **environment: str) -> Run:
    """Run a command in this process, in that folder, with nothing of ours in its environment."""
    with inside(cwd, environment):
        ended = call(*arguments)
    assert "Traceback" not in ended.out + ended.err
    return ended


def call(*arguments: str, stdin: bytes = b"") -> Run:
    """Run a command in this process; its streams are no terminals."""
    raw_out, raw_err = io.BytesIO(), io.BytesIO()
    given = io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin)), "utf-8")
    out, err = (io.TextIOWrapper(each, "utf-8") for each in (raw_out, raw_err))
    before = sys.stdin, sys.stdout, sys.stderr
    sys.stdin, sys.stdout, sys.stderr = given, out, err
    try:
        code = main.run(list(arguments))
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
    out.flush()
    err.flush()
    return Run(code, raw_out.getvalue(), raw_err.getvalue().decode())


@contextmanager
def inside(cwd: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """Be in a folder, with nothing of ours in the environment but what is given."""
    folder, before, given = Path.cwd(), dict(os.environ), _environment(environment)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(given)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        os.chdir(folder)


def brenner_process(*arguments: str, cwd: Path, **environment: str) -> Run:
    """Run a command as a process of its own."""
    return run([sys.executable, "-m", "brenner", *arguments], cwd, environment)


def powerless(*arguments: str, cwd: Path) -> Run:
    """Run the program as somebody to whom permissions apply."""
    command = [sys.executable, "-m", "brenner", *arguments]
    if os.geteuid() == 0:
        need(shutil.which("setpriv"), "root may write everywhere, and setpriv is not there")
        command = ["setpriv", "--bounding-set", _POWERS, "--inh-caps", _POWERS, *command]
    return run(command, cwd, {})


def _environment(given: Mapping[str, str]) -> dict[str, str]:
    clean = {key: value for key, value in os.environ.items() if key not in _OURS}
    return {**clean, **_NOWHERE, **given}


def run(command: list[str], cwd: Path, environment: Mapping[str, str]) -> Run:
    """Run any command with nothing of ours in its environment but what is given."""
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        cwd=cwd,
        env=_environment(environment),
        timeout=120,
    )
    ended = Run(done.returncode, done.stdout, done.stderr.decode())
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
