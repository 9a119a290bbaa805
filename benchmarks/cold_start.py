"""Cold starts: the CPU time of commands, as multiples of an empty interpreter.

CPU time is that of the child process, user and system. It depends less on other work of the machine
than the time on the clock. It depends on how Python was built, so the build is named.
"""

import os
import platform
import resource
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from brenner.services.demo import THREAD
from measure import heading, milliseconds, row

_ROUNDS = 15
_EMPTY = "empty interpreter"
_AIMS = {
    "brenner --version": "1.6",
    "brenner check": "4.5",
    "brenner mail inbox": "6.5",
    "brenner session status": "9",
    "brenner compile --dry-run": "11",
}
# Compiled modules are cached, as in an installed program.
_ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
}


def run() -> None:
    """Everyday commands in the project of the demo; what they send stays there."""
    script = str(Path(sys.executable).parent / "brenner")
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "demo"
        subprocess.run([script, "demo", str(project)], stdout=subprocess.DEVNULL, check=True)
        message = project / "outbox" / "2-blue.md"
        there = ("--project", str(project))
        commands = {
            _EMPTY: [sys.executable, "-c", "pass"],
            "brenner --version": [script, "--version"],
            "brenner check": [script, "check", str(message)],
            "brenner mail send": [script, "mail", "send", str(message), *there],
            "brenner mail inbox": [script, "mail", "inbox", *there],
            "brenner session status": [script, "session", "status", THREAD, *there],
            "brenner compile --dry-run": [script, "compile", THREAD, "--dry-run", *there],
        }
        # The messages that `mail send` stores would make the later commands slower.
        sending = commands.pop("brenner mail send")
        times = _cpu_seconds(commands)
        times |= _cpu_seconds({"brenner mail send": sending})
    heading(f"Cold start, CPU time. {_build()}", "", "time", "× empty", "aim")
    for name, seconds in times.items():
        row(name, milliseconds(seconds), f"{seconds / times[_EMPTY]:.2f}", _AIMS.get(name, ""))


def _cpu_seconds(commands: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """The CPU time of the best run of each command, taken in turns so that all suffer alike."""
    best = dict.fromkeys(commands, float("inf"))
    for _ in range(_ROUNDS):
        for name, command in commands.items():
            before = _children_seconds()
            subprocess.run(command, stdout=subprocess.DEVNULL, env=_ENVIRONMENT, check=True)
            best[name] = min(best[name], _children_seconds() - before)
    return best


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _build() -> str:
    """The build of Python. Debian, for one, adds PGO without saying so."""
    arguments = str(sysconfig.get_config_var("CONFIG_ARGS") or "")
    is_optimized = "--enable-optimizations" in arguments
    how = "with PGO" if is_optimized else "without PGO, as far as CONFIG_ARGS says"
    return f"{platform.python_implementation()} {platform.python_version()}, {how}"


if __name__ == "__main__":
    run()
