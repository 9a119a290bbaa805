"""What somebody can do with a store who may not do everything with it.

The superuser may do everything, so one becomes nobody first. Nobody may not read our modules
either, perhaps: all of them are in use before.
"""

import os
import urllib.parse  # noqa: F401  (pathlib imports it late)
from collections.abc import Callable
from pathlib import Path

from brenner.config import Project
from brenner.diagnostics.model import BrennerError
from brenner.mail import memory  # noqa: F401  (imported late, where there is no mail)
from brenner.mail.mailbox import Mailbox
from brenner.mail.open import open_mailbox
from mail.fault_mail import BEA, THREAD, make_message, make_store
from mail.processes import say

NOBODY = 65534


def read_and_send(folder: str, scratch: str, address: str) -> None:
    """Open for reading, read; open for writing, send. Say what came of each."""
    asked = Project(Path(folder), store=address or None)
    for project in (Project(make_project(Path(scratch))), asked):
        answers = [_tried(lambda: _read(project)), _tried(lambda: _send(project))]  # noqa: B023
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
    say(answers)


def make_project(folder: Path) -> Path:
    """A project with one message."""
    (folder / ".brenner").mkdir(parents=True)
    make_store(folder / ".brenner" / "mail.sqlite3", 1)
    return folder


def _read(project: Project) -> object:
    with open_mailbox(project, create=False) as mailbox:
        return [_bodies(mailbox), len(mailbox.agents())]


def _bodies(mailbox: Mailbox) -> list[str]:
    return [stored.message.body for stored in mailbox.thread(THREAD).messages]


def _send(project: Project) -> object:
    with open_mailbox(project, create=True) as mailbox:
        mailbox.send(make_message("From nobody"))
        mailbox.mark(BEA, [1], is_read=True)
        return _bodies(mailbox)


def _tried(work: Callable[[], object]) -> object:
    try:
        return work()
    except BrennerError as error:
        return [type(error).__name__, error.diagnostic.id, error.diagnostic.message]
