"""The agents' real programs: where they are, what an operator has set up for them, how they run.

`make test-clients` installs them and names their folder in `BRENNER_AGENT_PROGRAMS`.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from brenner.program_settings import CLAUDE_CODE, CODEX_CLI, GEMINI_CLI

FOLDER = "BRENNER_AGENT_PROGRAMS"
_SECONDS = 300  # for one run; it takes a few
_NOWHERE = "http://127.0.0.1:9"
# A program sees nothing of the machine but where to find programs. Every address but those of
# loopback leads nowhere, and nothing is asked of the program's maker.
_ENVIRONMENT = {
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), _NOWHERE),
    **dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), _NOWHERE),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost"),
    **dict.fromkeys(("NO_COLOR", "DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER"), "1"),
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "LANG": "C.UTF-8",
}


class Program(NamedTuple):
    """A program. `set_up` is what an operator does before: log in, and trust the folder."""

    name: str  # in rosters, and for `brenner agent config --client`
    executable: str
    arguments: tuple[str, ...]  # to run without a terminal and write events as JSON
    set_up: Callable[[Path, Path, str], Mapping[str, str]]  # home, project, model → variables
    key: str  # the variable with the key of its model's service
    adds: Mapping[str, object] = MappingProxyType({})  # to the schema of every tool


class Ended(NamedTuple):
    """The end of a run."""

    code: int
    events: list[dict[str, Any]]
    err: str


def _set_up_claude(home: Path, project: Path, model: str) -> Mapping[str, str]:
    trusted = {"hasTrustDialogAccepted": True}
    state = {"hasCompletedOnboarding": True, "projects": {str(project): trusted}}
    _write(home / ".claude.json", json.dumps(state))
    # With the search Claude Code defers tools, as it does with its maker's own service. On a slow
    # machine our server needs more than the 5 s after which it begins without tools.
    slow = {"MCP_CONNECT_TIMEOUT_MS": "60000"}
    return {"ANTHROPIC_BASE_URL": model, "ENABLE_TOOL_SEARCH": "true", **slow}


def _set_up_codex(home: Path, project: Path, model: str) -> Mapping[str, str]:
    provider = {"name": "Scripted", "base_url": f"{model}/v1", "env_key": "SCRIPTED_KEY"}
    lines = [f"{name} = {json.dumps(value)}" for name, value in provider.items()]
    text = [
        *('model = "gpt-5.5"', 'model_provider = "scripted"', "[model_providers.scripted]"),
        *(*lines, 'wire_api = "responses"'),
        *(f"[projects.{json.dumps(str(project))}]", 'trust_level = "trusted"'),
    ]
    _write(home / ".codex/config.toml", "\n".join([*text, ""]))
    return {}


def _set_up_gemini(home: Path, project: Path, model: str) -> Mapping[str, str]:
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    _write(home / ".gemini/settings.json", json.dumps(settings))
    _write(home / ".gemini/trustedFolders.json", json.dumps({str(project): "TRUST_FOLDER"}))
    return {"GOOGLE_GEMINI_BASE_URL": model, "GEMINI_CLI_NO_RELAUNCH": "true"}


CLAUDE = Program(
    *(CLAUDE_CODE, "claude", ("-p", "--output-format", "stream-json", "--verbose")),
    *(_set_up_claude, "ANTHROPIC_API_KEY"),
)
CODEX = Program(
    *(CODEX_CLI, "codex", ("exec", "--json", "--skip-git-repo-check", "-")),
    *(_set_up_codex, "SCRIPTED_KEY"),
)
# With some models Codex lets its model write code that calls the tools.
CODEX_CODE = CODEX._replace(arguments=(*CODEX.arguments[:-1], "-m", "gpt-6.1-sol", "-"))
GEMINI = Program(
    *(GEMINI_CLI, "gemini", ("-o", "stream-json", "-p", "")),
    *(_set_up_gemini, "GEMINI_API_KEY", {"wait_for_previous": True}),
)
PROGRAMS = {each.name: each for each in (CLAUDE, CODEX, GEMINI)}


def programs_folder() -> Path:
    """Return the folder with the programs; fail if `make test-clients` has not installed them."""
    folder = Path(os.environ.get(FOLDER, ""))
    missing = [
        each.executable for each in PROGRAMS.values() if not (folder / each.executable).exists()
    ]
    if not os.environ.get(FOLDER) or missing:
        message = (
            f"These tests need the agents' programs ({', '.join(missing)}): `make test-clients`."
        )
        raise FileNotFoundError(message)
    return folder


def environment(
    program: Program, home: Path, project: Path, model: str, key: str, **more: str
) -> dict[str, str]:
    """Return all variables with which a program runs; its home is set up with that."""
    temporary = home / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    path = os.pathsep.join([str(programs_folder()), os.environ["PATH"]])
    return {
        "PATH": path,
        "HOME": str(home),
        "TMPDIR": str(temporary),
        **_ENVIRONMENT,
        **program.set_up(home, project, model),
        program.key: key,
        **more,
    }


def run(
    program: Program, prompt: str, project: Path, variables: Mapping[str, str], *options: str
) -> Ended:
    """Run a program in a project's folder, as its user does without a terminal."""
    executable = shutil.which(program.executable, path=variables["PATH"])
    assert executable
    done = subprocess.run(
        [executable, *program.arguments, *options],
        input=prompt.encode(),
        capture_output=True,
        check=False,
        cwd=project,
        env=dict(variables),
        timeout=_SECONDS,
    )
    lines = [each for each in done.stdout.decode().splitlines() if each.startswith("{")]
    return Ended(done.returncode, [json.loads(each) for each in lines], done.stderr.decode())


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
