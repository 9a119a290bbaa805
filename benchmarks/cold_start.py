"""Cold starts against an empty interpreter and against importing the libraries that are needed."""

import sys
import tempfile
from pathlib import Path

from brenner.artifact.model import ITEM_SECTIONS
from brenner.config import OPERATOR, Project
from brenner.mail.model import Profile
from brenner.mail.open import open_mailbox
from brenner.protocol.messages import Message
from measure import best_of_processes, heading, milliseconds, row
from messages import message as one_message
from session_loop import AGENTS, ITEMS, THREAD, Clock, a_round, add, edit, post

LIBRARIES = "import click, json, re, datetime, hashlib"
WITH_STORE = f"{LIBRARIES}, apsw"


_KICKOFF = "# Cell fate\n\n## Research Question\nWhat tells a cell?\n\n## Context\nPlaces.\n"


def a_thread(folder: Path) -> None:
    """A project whose thread has thirty messages that no version has read."""
    clock = Clock()
    with open_mailbox(Project(folder), create=True) as mailbox:
        for name in AGENTS:
            mailbox.register(Profile(name))
        opening = [add(each, n) for each in ITEM_SECTIONS for n in range(ITEMS[each.prefix])]
        kickoff = Message(THREAD, OPERATOR, AGENTS, "KICKOFF: Cell fate", _KICKOFF)
        news = [each for first in (0, 10, 20) for each in a_round(clock, edit, first)]
        for message in (kickoff, *(each.message for each in (post(clock, opening), *news))):
            mailbox.send(message)


def run() -> None:
    """`--version`, `--help`, `check` of one message, `compile` of a thread of thirty."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "message.md"
        path.write_text(one_message(1), "utf-8")
        a_thread(Path(folder))
        script = str(Path(sys.executable).parent / "brenner")
        commands = {
            "empty interpreter": [sys.executable, "-c", "pass"],
            "importing click and the like": [sys.executable, "-c", LIBRARIES],
            "the same with apsw": [sys.executable, "-c", WITH_STORE],
            "brenner --version": [script, "--version"],
            "brenner --help": [script, "--help"],
            "brenner check (one message)": [script, "check", str(path)],
            "brenner compile (30 messages)": [
                *(script, "compile", THREAD, "--dry-run", "--project", folder)
            ],
        }
        times = best_of_processes(list(commands.values()))
    empty, libraries, with_store = times[:3]
    heading("Cold start", "", "time", "× empty", "× libraries", "aim")
    aims = {
        "brenner --version": "2",
        "brenner check (one message)": "5 and 1.3",
        "brenner compile (30 messages)": "7 and 1.3",
    }
    for name, taken in zip(commands, times, strict=True):
        needed = with_store if "compile" in name or "apsw" in name else libraries
        figures = (milliseconds(taken), f"{taken / empty:.2f}", f"{taken / needed:.2f}")
        row(name, *figures, aims.get(name, ""))
