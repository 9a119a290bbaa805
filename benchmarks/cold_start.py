"""Cold starts against an empty interpreter and against importing the libraries that are needed."""

import sys
import tempfile
from pathlib import Path

from measure import best_of_processes, heading, milliseconds, row
from messages import message

LIBRARIES = "import click, json, re, datetime, hashlib"


def run() -> None:
    """`--version`, `--help` and `check` of one message."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "message.md"
        path.write_text(message(1), "utf-8")
        script = str(Path(sys.executable).parent / "brenner")
        commands = {
            "empty interpreter": [sys.executable, "-c", "pass"],
            "importing click and the like": [sys.executable, "-c", LIBRARIES],
            "brenner --version": [script, "--version"],
            "brenner --help": [script, "--help"],
            "brenner check (one message)": [script, "check", str(path)],
        }
        times = best_of_processes(list(commands.values()))
    empty, libraries = times[0], times[1]
    heading("Cold start", "", "time", "× empty", "× libraries", "aim")
    aims = {"brenner --version": "2", "brenner check (one message)": "5 and 1.3"}
    for name, taken in zip(commands, times, strict=True):
        figures = (milliseconds(taken), f"{taken / empty:.2f}", f"{taken / libraries:.2f}")
        row(name, *figures, aims.get(name, ""))
