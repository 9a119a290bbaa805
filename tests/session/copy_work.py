"""A copy that is killed in its middle, in a process of its own."""

import os
import signal
from pathlib import Path

from brenner.config import Project
from brenner.services.copy_mail import copy_mail


def killed(folder: str, source: str, target: str, at: str) -> None:
    """Copy, and end by SIGKILL when so many messages are being copied, or were sent."""

    def watch(doing: str, done: int, _total: int | None) -> None:
        if doing in ("Copying", "Sending") and done == int(at):
            os.kill(os.getpid(), signal.SIGKILL)

    copy_mail(Project(Path(folder), source), Project(Path(folder), target), progress=watch)
