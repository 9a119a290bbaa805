"""The folder of one agent: its program's settings, and `work/`, in which the program runs."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from brenner.integrations.agent_driver import Fault, FaultKind
from brenner.program_settings import KNOWN_PROGRAMS, SECRET, TOKEN

if TYPE_CHECKING:
    from pathlib import Path

    from brenner.integrations.agent_driver import TurnRequest

_PRIVATE_FOLDER, _PRIVATE_FILE = 0o700, 0o600


def work_folder(request: TurnRequest) -> Path:
    """Return the folder in which the program runs; make it if it does not exist."""
    private_folder(request.folder)
    return private_folder(request.folder / "work")


def private_folder(folder: Path) -> Path:
    """Return a folder that only we can read; make it if it does not exist."""
    folder.mkdir(_PRIVATE_FOLDER, parents=True, exist_ok=True)
    return folder


def write_settings(path: Path, settings: str | object) -> Path:
    """Write a settings file, which only we can read; a value becomes JSON."""
    text = settings if isinstance(settings, str) else json.dumps(settings, indent=2) + "\n"
    private_folder(path.parent)
    path.unlink(missing_ok=True)  # a link would lead elsewhere
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE_FILE)
    with open(file, "w", encoding="utf-8") as stream:  # noqa: PTH123  (a file that is open already)
        stream.write(text)
    return path


def program_words(request: TurnRequest, driver: str) -> tuple[str, ...]:
    """Return the command that is configured, or the program that the driver is named after."""
    return request.program.run or KNOWN_PROGRAMS[driver].run


def unexpected_files(folder: Path, *known: str) -> Fault | None:
    """Return a fault if a folder that its program trusts contains what we did not write."""
    names = sorted(each.name for each in folder.iterdir() if each.name not in known)
    if not names:
        return None
    words = f"`{folder}` must be empty, because the program trusts it. Remove {', '.join(names)}"
    return Fault(FaultKind.NO_TOOLS, words)


def program_environment(request: TurnRequest) -> dict[str, str]:
    """Return the agent's name and the configured environment variables."""
    return {**dict(request.program.env), "AGENT_NAME": request.agent}


def agent_environment(request: TurnRequest) -> dict[str, str]:
    """Return the environment of a program that takes the secrets from there."""
    return {
        **program_environment(request),
        TOKEN: request.endpoint.token,
        SECRET: request.endpoint.secret,
    }
