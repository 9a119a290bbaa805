"""Small tools and resources for tests of the protocol, and a program that serves them over stdio.

    python own_offers.py FOLDER SECONDS

A slow tool waits for a file `go` in the folder, and writes `done` there when it is done; the
program writes `ended` when it no longer serves.
"""

import sys
import time
from pathlib import Path
from typing import Any

from brenner.config import Project
from brenner.diagnostics.codes.stores import STORE_BUSY
from brenner.diagnostics.model import UnavailableError
from brenner.mail.memory import MemoryMailbox
from brenner.mail.rules import unknown_agent_error
from brenner.mcp.tool import (
    Argument,
    ArgumentKind,
    Bindings,
    Call,
    Caller,
    Resource,
    Tool,
    ToolResult,
)
from brenner.services.workspace import Workspace

HIDDEN = "brs_a-secret-that-no-log-may-show"


def brain_parts(folder: Path, **known: Any) -> tuple[Workspace, Caller]:
    """A desk in that folder, whose mail is in memory, and what a server knows of its callers."""
    project = Project(folder)
    return Workspace(MemoryMailbox(), project, project.operator), Caller(Bindings(), **known)


def echo(call: Call) -> ToolResult:
    """What was said, and who said it."""
    caller = call.caller
    return ToolResult({**call.arguments, "connection": caller.connection, "secret": caller.secret})


def listed(call: Call) -> ToolResult:
    """A list of so many."""
    return ToolResult(list(range(call.number("many") or 0)))


def broken(_call: Call) -> ToolResult:
    """A fault of the program."""
    raise KeyError(HIDDEN)


def unwritable(_call: Call) -> ToolResult:
    """A value that is no JSON."""
    return ToolResult({"when": object()})


def halved(_call: Call) -> ToolResult:
    """A text that cannot be sent."""
    return ToolResult({"text": "\ud83d"})


def refused(_call: Call) -> ToolResult:
    """The request contradicts what is stored."""
    name = "BlueLake"
    raise unknown_agent_error(name, ["BlueLakes"])


def unavailable(_call: Call) -> ToolResult:
    """The world is broken."""
    raise UnavailableError(STORE_BUSY.at(path="mail.db", seconds=5))


def slow(call: Call) -> ToolResult:
    """Begun at once, ended when it may."""
    folder = call.workspace.project.folder
    (folder / "begun").touch()
    while not (folder / "go").exists():
        time.sleep(0.01)
    (folder / "done").touch()
    return ToolResult({"done": True})


def chatty(call: Call) -> ToolResult:
    """Prints, and starts a program that reads its input."""
    import subprocess

    print("this must not be on the wire")  # noqa: T201  (that is the point)
    done = subprocess.run(["cat"], check=True, capture_output=True)
    return ToolResult({"read": done.stdout.decode(), "args": dict(call.arguments)})


def read_echo(call: Call) -> object:
    """What the address says; some things cannot be read."""
    what = call.text("what")
    if what in _BAD:
        _BAD[what](call)
    return dict(call.arguments)


_BAD = {"refused": refused, "unavailable": unavailable, "broken": broken}
OWN: tuple[tuple[Tool, ...], tuple[Resource, ...]] = (
    (
        Tool(
            "echo",
            "Say it again.",
            (
                Argument("text", required=True),
                Argument("times", ArgumentKind.NUMBER, default=1),
                Argument("to", ArgumentKind.TEXTS),
            ),
            echo,
            is_read_only=True,
        ),
        Tool("list", "A list.", (Argument("many", ArgumentKind.NUMBER, default=0),), listed),
        Tool("broken", "A fault.", (Argument("token"),), broken),
        Tool("unwritable", "No JSON.", (), unwritable),
        Tool("halved", "No text.", (), halved),
        Tool("refused", "A refusal.", (), refused),
        Tool("unavailable", "No store.", (), unavailable),
        Tool("slow", "Waits.", (), slow),
        Tool("chatty", "Prints.", (), chatty),
    ),
    (
        Resource("resource://all", "all", "Everything.", lambda _call: [1, 2]),
        Resource("resource://echo/{what}{?folder}", "echo", "Again.", read_echo),
    ),
)


def main() -> None:
    """Serve them; the exit code is the one of `brenner mcp`."""
    from brenner.mcp.server import build
    from brenner.mcp.stdio import serve

    server = build(*brain_parts(Path(sys.argv[1]), secret=HIDDEN), *OWN)
    code, lost = serve(server, float(sys.argv[2]))
    (Path(sys.argv[1]) / "ended").touch()
    if lost:
        sys.stderr.write(f"lost: {lost.strerror}\n")
    sys.exit(code)


if __name__ == "__main__":
    main()
