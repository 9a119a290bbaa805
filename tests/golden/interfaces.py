"""What users rely on, as text: help of every command, JSON of the demo, tools, addresses.

Nothing here may change by accident. `python tests/golden/regenerate.py` writes the files anew; read
the differences before keeping them.
"""

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import click

from brenner.cli.main import cli, run
from brenner.config import Project
from brenner.mail.memory import MemoryMailbox
from brenner.server.app import site_of
from brenner.server.middleware import LIVENESS
from brenner.server.settings import ENDPOINTS, ServeSettings
from brenner.services.workspace import Workspace
from brenner.web import links
from brenner.web.app import routes
from program import brenner

_CLIENT = {"name": "golden", "version": "1"}
HERE = Path(__file__).parent / "interfaces"
THREAD = "RS-20260105-phage-protein-template"
# What differs from one run of the demo to the next
_VARIES = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"), "TIME"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "SHA256"),
    (re.compile(r"\b(commit|in) [0-9a-f]{7,40}\b"), r"\1 COMMIT"),
    (re.compile(r"\b[0-9a-f]{40}\b"), "COMMIT"),
    (re.compile(r"\b[0-9a-f]{12}…"), "SHA256…"),
    (re.compile(r"(?<=\\nDate: )[^\\]+"), "TIME"),
    # Versions that are compiled within one second do not differ here, and columns are narrower.
    (re.compile(r"\\n +compiled_at +\[-TIME-\]\{\+TIME\+\}"), ""),
    (re.compile(r"(?<=\w)  +(?=\[-)"), "  "),
    (re.compile(r"\bjust now\b|\b\d+ (?:s|min|seconds?) ago\b"), "AGO"),
)
# Commands whose JSON is documented, run where the demo was played
QUESTIONS = (
    ("session", "list"),
    ("session", "status", THREAD),
    ("session", "show", THREAD),
    ("artifact", "show", THREAD),
    ("artifact", "history", THREAD),
    ("artifact", "diff", f"{THREAD}@v1", f"{THREAD}@v2"),
    ("artifact", "blame", THREAD, "H1"),
    ("artifact", "ledger", THREAD),
    ("artifact", "tests", THREAD),
    ("artifact", "lint", THREAD),
    ("result", "list", THREAD),
    ("artifact", "verify", THREAD),
    ("compile", THREAD, "--dry-run"),
    ("mail", "inbox"),
    ("mail", "thread", THREAD),
    ("mail", "show", "7"),
    ("mail", "search", "phage"),
    ("mail", "agents"),
    ("mail", "pending"),
    ("refs", "check"),
    ("refs", "graph", THREAD),
    ("refs", "similar", "proteins are made on a template"),
    ("roster", "show"),
    ("roster", "presets"),
    ("check", "--thread", THREAD),
    ("explain", "INVALID_JSON"),
    ("doctor", "--as", "BlackOak"),  # an unknown name, so that one check has a fix
)


def help_texts() -> str:
    """The help of every command, in the order of the tables."""
    return "\n".join(
        f"$ {' '.join(['brenner', *path, '--help'])}\n{_printed([*path, '--help'])}"
        for path in [[], *_paths(cli, [])]
    )


def _paths(group: click.Group, above: list[str]) -> Iterator[list[str]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        path = [*above, name]
        yield path
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _paths(command, path)


def _printed(arguments: list[str]) -> str:
    out = io.TextIOWrapper(io.BytesIO(), "utf-8")
    with redirect_stdout(out):
        run(arguments)
    out.flush()
    return out.buffer.getvalue().decode()


def demo(folder: Path) -> str:
    """What `brenner demo --json` prints, without what differs from run to run."""
    nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = brenner("demo", "demo", "--json", cwd=folder, COLUMNS="80", **nobody)
    assert done.code == 0, done.err
    text = json.dumps(done.json, indent=1, ensure_ascii=False)
    text = text.replace(str(folder), "FOLDER")
    for pattern, name in _VARIES:
        text = pattern.sub(name, text)
    return f"{text}\n"


def shapes(folder: Path) -> str:
    """The keys of each documented JSON, with the kinds of their values."""
    lines = []
    for question in QUESTIONS:
        done = brenner(*question, "--json", cwd=folder / "demo")
        lines.append(f"$ brenner {' '.join(question)} --json  ⇒ {done.code}")
        lines += [f"  {each}" for each in sorted(set(_keys(done.json, "")))]
    return "\n".join(lines) + "\n"


def _keys(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            name = key if re.fullmatch(r"[a-z][a-z_0-9]*", key) else "*"
            yield from _keys(each, f"{path}.{name}")
    elif isinstance(value, list):
        yield f"{path}[]"
        for each in value:
            yield from _keys(each, f"{path}[]")
    else:
        yield f"{path}: {type(value).__name__}"


def tools(folder: Path) -> str:
    """What `brenner mcp` lists: tools with their schemas, resources and their templates."""
    asked = ("tools/list", "resources/list", "resources/templates/list")
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": _CLIENT}
    lines: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    ]
    lines += [{"jsonrpc": "2.0", "id": n, "method": name} for n, name in enumerate(asked, 1)]
    sent = "".join(f"{json.dumps(line)}\n" for line in lines)
    done = subprocess.run(
        [sys.executable, "-m", "brenner", "mcp"],
        input=sent,
        cwd=folder / "demo",
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    answers = {each["id"]: each["result"] for each in map(json.loads, done.stdout.splitlines())}
    listed = {name: answers[number] for number, name in enumerate(asked, 1)}
    return json.dumps(listed, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def addresses() -> str:
    """Every address that the server answers at, with the lab and for guests, and how."""
    workspace = Workspace(MemoryMailbox(), Project(Path("/nowhere")), "Operator")
    site = site_of(workspace, ServeSettings(is_lab=True, token="t" * 32))
    served = [
        f"{' '.join(sorted(route.methods or ('any',)))} {route.path}"  # type: ignore[attr-defined]
        for route in routes(site)
    ]
    served += [f"any {path}" for path in (*ENDPOINTS, LIVENESS, links.EVENTS)]
    return "\n".join(sorted(served)) + "\n"


def written(folder: Path) -> dict[str, str]:
    """The content of every file, made anew; the demo is played in that folder."""
    return {
        "help.txt": help_texts(),
        "demo.json": demo(folder),
        "shapes.txt": shapes(folder),
        "tools.json": tools(folder),
        "addresses.txt": addresses(),
    }
