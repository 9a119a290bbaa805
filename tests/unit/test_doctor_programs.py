"""Test what `brenner doctor` reports about agents' programs.

The programs are scripts that print what the real ones print.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from brenner.services.doctor.logins import (
    Login,
    Surroundings,
    find_claude_login,
    find_codex_login,
    find_gemini_login,
)
from program import brenner
from terminal import in_terminal

PROGRAMS = {"claude": "claude-code", "codex": "codex-cli", "gemini": "gemini-cli"}
CURRENT = {"claude": "2.1.197 (Claude Code)", "codex": "codex-cli 0.169.0", "gemini": "0.61.0"}
ALL = '[roster]\ndefaultPreset = "default-3-agent"\n'
SYSTEM = "/usr/local/bin:/usr/bin:/bin"
SECRET = "sk-very-secret"  # noqa: S105


class Scene:
    """A project, a home and a folder of programs."""

    def __init__(self, folder: Path) -> None:
        self.project, self.home, self.bin = (folder / name for name in ("project", "home", "bin"))
        for each in (self.project, self.home, self.bin):
            each.mkdir()
        assert brenner("init", cwd=self.project).code == 0

    def install(self, program: str, script: str) -> None:
        """Put a shell script on PATH."""
        file = self.bin / program
        file.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
        file.chmod(0o755)

    def settle(self, text: str) -> None:
        """Write the settings."""
        (self.project / "brenner.toml").write_text(text, "utf-8")

    def here(self) -> dict[str, Any]:
        """Where a command runs, and its variables."""
        path = f"{self.bin}:/usr/bin:/bin"
        return {"cwd": self.project, "PATH": path, "HOME": str(self.home), **CLEAN}

    def checks(self, **environment: str) -> dict[str, Any]:
        """The checks of agents' programs by name. None makes the exit code worse."""
        done = brenner("doctor", "--json", **{**self.here(), **environment})
        assert (done.code, done.err) == (0, "")
        assert SECRET not in done.out
        found = {each["name"]: each for each in done.json["checks"]}
        assert all(each["fix"] for each in found.values() if each["status"] == "warning")
        return dict(list(found.items())[list(found).index("claude-code") :])


# Empty variables count as unset.
CLEAN = dict.fromkeys(
    (
        *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
        *("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"),
        *("CLAUDE_CONFIG_DIR", "CODEX_API_KEY", "CODEX_HOME", "OPENAI_API_KEY", "GEMINI_API_KEY"),
        *("GEMINI_CLI_HOME", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_GCA", "GOOGLE_GEMINI_BASE_URL"),
        *("GOOGLE_GENAI_USE_VERTEXAI", "CLOUD_SHELL", "GEMINI_CLI_USE_COMPUTE_ADC"),
    ),
    "",
)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """A project whose PATH has none of the programs, unless the test installs them."""
    return Scene(tmp_path)


def test_programs_that_the_project_does_not_use_are_optional(scene: Scene) -> None:
    checks = scene.checks()
    assert list(checks) == list(PROGRAMS.values())
    for each in checks.values():
        assert each["status"] == "ok"
        assert each["detail"].startswith("not installed (optional); to install it: `npm install")


def test_missing_programs_that_the_project_uses_are_warnings(scene: Scene) -> None:
    """The roster, a client's file and the settings need it here; an agent may run elsewhere."""
    scene.settle(
        '[[roster.entries]]\nagentName = "Ada"\nrole = "test_designer"\nprogram = "claude-code"\n'
        '[programs.mine]\ndriver = "text"\nrun = ["./tools/my-agent", "-x"]\n'
        '[programs.bare]\nmodel = "large"\n'
    )
    registered = ("mail", "register", "BlueLake", "--program", "codex-cli")
    assert brenner(*registered, cwd=scene.project).code == 0
    (scene.project / ".gemini").mkdir()
    text = json.dumps({"mcpServers": {"brenner": {"httpUrl": "http://127.0.0.1:9000/mcp/"}}})
    (scene.project / ".gemini" / "settings.json").write_text(text, "utf-8")
    checks = scene.checks()
    elsewhere = checks.pop("codex-cli")
    assert elsewhere["status"] == "ok"
    assert elsewhere["detail"].startswith("not installed (used by agent `BlueLake`); to install")
    assert {each["status"] for each in checks.values()} == {"warning"}
    assert checks["claude-code"]["detail"] == (
        "`claude` is not on PATH. The program `claude-code` is used in the roster."
    )
    assert "`npm install -g @anthropic-ai/claude-code`" in checks["claude-code"]["fix"]
    assert "used in its own settings file." in checks["gemini-cli"]["detail"]
    assert checks["mine"]["detail"].startswith("`./tools/my-agent` does not exist or cannot be run")
    assert checks["mine"]["fix"].endswith("correct `run` of `mine` in `brenner.toml`.")
    assert "neither `run` nor `command`" in checks["bare"]["detail"]
    (scene.project / "tools").mkdir()
    (scene.bin / "claude").symlink_to("/bin/true")
    scene.install("my-agent", "exit 1")  # its command is not run
    (scene.bin / "my-agent").rename(scene.project / "tools" / "my-agent")
    scene.install("codex", "echo 'codex-cli 0.169.0'")
    assert scene.checks()["codex-cli_login"]["status"] == "warning"
    mine = scene.checks()["mine"]
    assert (mine["status"], mine["detail"]) == ("ok", f"{scene.project}/./tools/my-agent")


def test_programs_run_side_by_side(scene: Scene) -> None:
    """Each script waits for the other one, so one after the other would never end."""
    pipe = scene.bin / "pipe"
    os.mkfifo(pipe)  # opening it waits for the other side
    scene.install("claude", f'read x < "{pipe}"; echo 2.1.197')
    scene.install("gemini", f'echo > "{pipe}"; echo 0.61.0')
    checks = scene.checks()
    assert checks["claude-code"]["detail"] == f"2.1.197, {scene.bin}/claude"
    assert checks["gemini-cli"]["detail"] == f"0.61.0, {scene.bin}/gemini"


def test_versions_are_asked_for_offline_and_leave_no_files(scene: Scene) -> None:
    """What a program writes into its own folder goes to an empty one, which is removed."""
    script = 'env > "$REPORT"; echo x > "$CODEX_HOME/state"; echo "codex-cli 0.169.0"'
    scene.install("codex", script)
    report = scene.project.parent / "report"
    assert scene.checks(REPORT=str(report))["codex-cli"]["detail"].startswith("0.169.0, ")
    seen = dict(
        line.split("=", 1) for line in report.read_text("utf-8").splitlines() if "=" in line
    )
    assert seen["DISABLE_AUTOUPDATER"] == seen["DISABLE_TELEMETRY"] == "1"
    assert seen["https_proxy"] == seen["HTTPS_PROXY"] == "http://127.0.0.1:9"
    assert seen["HOME"] == str(scene.home)
    assert not Path(seen["CODEX_HOME"]).exists()
    assert list(scene.home.iterdir()) == []


@pytest.mark.parametrize(
    ("program", "script", "status", "words"),
    [
        ("claude", "echo '2.1.197 (Claude Code)'", "ok", "2.1.197, /"),
        ("claude", "echo '2.1.119 (Claude Code)'", "ok", "2.1.119 (tested with 2.1.197), /"),
        ("claude", "echo '2.1.118 (Claude Code)'", "warning", "text of a variable"),
        ("claude", "echo '1.0.128 (Claude Code)'", "warning", "Fixed in 2.1.119."),
        ("claude", "echo '3.0.0 (Claude Code)'", "ok", "3.0.0 (tested with 2.1.197), /"),
        ("claude", "echo soon", "ok", "its version is unknown: `soon`"),
        ("codex", "echo WARNING: x >&2; echo 'codex-cli 0.169.0'", "ok", "0.169.0, /"),
        (
            "codex",
            "echo \"error: unexpected argument '--no-daemon' found\" >&2; exit 2",
            "warning",
            "does not know the option `--no-daemon`",
        ),
        ("gemini", "echo 0.61.0", "ok", "0.61.0, /"),
        ("gemini", "echo 'node: not found' >&2; exit 127", "warning", "node: not found."),
        ("gemini", "printf 'node: \\033[31mred' >&2; exit 1", "warning", "\\x1b[31mred"),
    ],
)
def test_versions(scene: Scene, program: str, script: str, status: str, words: str) -> None:
    """A warning only where the project uses the program; the exit code is 0 in any case."""
    scene.install(program, script)
    unused = scene.checks()[PROGRAMS[program]]
    assert unused["status"] == "ok"
    assert words in unused["detail"]
    scene.settle(ALL)
    used = scene.checks()[PROGRAMS[program]]
    assert (used["status"], words in used["detail"]) == (status, True)


def test_wrappers_are_not_run(scene: Scene) -> None:
    """Only a program of the known name prints a version; a wrapper could do anything."""
    scene.install("work-claude", 'touch "$HOME/ran"')
    scene.settle(
        f'[programs.claude-code]\nrun = "work-claude"\ncommand = "work-claude"\n'
        f'env = {{ ANTHROPIC_AUTH_TOKEN = "{SECRET}" }}\n'
    )
    checks = scene.checks()
    assert checks["claude-code"]["detail"] == f"{scene.bin}/work-claude"
    login = checks["claude-code_login"]
    assert (login["status"], login["detail"]) == (
        "ok",
        "`ANTHROPIC_AUTH_TOKEN` is set; it was not tested",
    )
    assert list(scene.home.iterdir()) == []


def test_logins_are_warnings_only_for_programs_in_use(scene: Scene) -> None:
    for program, text in CURRENT.items():
        scene.install(program, f"echo '{text}'")
    assert {each["status"] for each in scene.checks().values()} == {"ok"}
    scene.settle(ALL)
    checks = scene.checks()
    missing = [name for name, each in checks.items() if each["status"] == "warning"]
    assert missing == [f"{name}_login" for name in PROGRAMS.values()]
    keys = dict.fromkeys(("ANTHROPIC_API_KEY", "CODEX_API_KEY", "GEMINI_API_KEY"), SECRET)
    assert {each["status"] for each in scene.checks(**keys).values()} == {"ok"}


def test_settings_that_agent_config_would_write_otherwise(scene: Scene) -> None:
    """Address and transport are the operator's choice, unless `--url` names the server."""
    for program, text in CURRENT.items():
        scene.install(program, f"echo '{text}'")
    names = [f"{name}_settings" for name in PROGRAMS.values()]
    assert all("--write`" in scene.checks()[name]["detail"] for name in names)
    config = ("agent", "config", "--write", "--yes", "--client")
    url = ("--url", "http://127.0.0.1:9001/mcp/")
    for client, options in (("claude-code", url), ("codex", ("--stdio",)), ("gemini", ())):
        assert brenner(*config, client, *options, cwd=scene.project).code == 0
    assert {scene.checks()[name]["status"] for name in names} == {"ok"}
    codex = scene.project / ".codex" / "config.toml"
    mode = 'default_tools_approval_mode = "approve"\n'
    codex.write_text(codex.read_text("utf-8").replace(mode, ""), "utf-8")
    (scene.project / ".gemini" / "settings.json").write_text("{", "utf-8")
    checks = scene.checks()
    assert [checks[name]["status"] for name in names] == ["ok", "warning", "warning"]
    assert checks["codex-cli_settings"]["detail"] == (
        "Missing or different in the project's files: "
        "`mcp_servers.brenner.default_tools_approval_mode`."
    )
    assert checks["gemini-cli_settings"]["detail"].startswith("Cannot read `")
    assert brenner(*config, "codex", "--stdio", cwd=scene.project).code == 0
    assert scene.checks()["codex-cli_settings"]["status"] == "ok"
    asked = brenner("doctor", "--json", "--url", "http://127.0.0.1:9/mcp/", **scene.here())
    claude = next(each for each in asked.json["checks"] if each["name"] == names[0])
    assert "`mcpServers.brenner.url`" in claude["detail"]
    assert claude["fix"].endswith("--write --url http://127.0.0.1:9/mcp/`.")


KEY = {"k": SECRET}
LOGINS: list[tuple[Callable[[Surroundings], Login], dict[str, str], dict[str, object], str]] = [
    (find_claude_login, {}, {}, "→ Run `claude` once and log in, or set `ANTHROPIC_API_KEY`."),
    (find_claude_login, {"CLAUDE_CODE_OAUTH_TOKEN": SECRET}, {}, "`CLAUDE_CODE_OAUTH_TOKEN` is"),
    (find_claude_login, {"CLAUDE_CODE_USE_BEDROCK": "1"}, {}, "`CLAUDE_CODE_USE_BEDROCK` is set"),
    (find_claude_login, {"CLAUDE_CODE_USE_VERTEX": "0"}, {}, "→"),
    (
        find_claude_login,
        {},
        {"~/.claude/.credentials.json": {"claudeAiOauth": KEY}},
        "saved in `~/.claude/.credentials.json`",
    ),
    (find_claude_login, {}, {"~/.claude/.credentials.json": {"mcpOAuth": KEY}}, "→"),
    (find_claude_login, {}, {"~/.claude/.credentials.json": "{"}, "→"),
    (
        find_claude_login,
        {"CLAUDE_CONFIG_DIR": "/nowhere"},
        {"~/.claude/.credentials.json": {"claudeAiOauth": KEY}},
        "→",
    ),
    (find_claude_login, {}, {"~/.claude.json": {"primaryApiKey": SECRET}}, "a key is saved in"),
    (
        find_claude_login,
        {},
        {"project/.claude/settings.local.json": {"apiKeyHelper": "pass"}},
        "`apiKeyHelper` in `~/project/.claude/settings.local.json`",
    ),
    (
        find_claude_login,
        {},
        {"~/.claude/settings.json": {"env": {"ANTHROPIC_AUTH_TOKEN": SECRET}}},
        "`ANTHROPIC_AUTH_TOKEN` in `~/.claude/settings.json`",
    ),
    (find_codex_login, {}, {}, "→ Run `codex login`, or set `CODEX_API_KEY`."),
    (find_codex_login, {"CODEX_API_KEY": SECRET}, {}, "`CODEX_API_KEY` is set"),
    (find_codex_login, {"OPENAI_API_KEY": SECRET}, {}, "does not read `OPENAI_API_KEY`. →"),
    (find_codex_login, {}, {"~/.codex/auth.json": KEY}, "saved in `~/.codex/auth.json`"),
    (
        find_codex_login,
        {},
        {"~/.codex/config.toml": 'cli_auth_credentials_store = "keyring"'},
        "Cannot tell",
    ),
    (
        find_codex_login,
        {"CODEX_API_KEY": SECRET},
        {"~/.codex/config.toml": 'model_provider="x"\n[model_providers.x]\nenv_key="X_KEY"'},
        "the model provider `x` needs `X_KEY`. → Set `X_KEY`.",
    ),
    (
        find_codex_login,
        {"X_KEY": SECRET},
        {"~/.codex/config.toml": 'model_provider="x"\n[model_providers.x]\nenv_key="X_KEY"'},
        "`X_KEY` is set",
    ),
    (
        find_codex_login,
        {},
        {"~/.codex/config.toml": 'model_provider = "ollama"'},
        "`ollama` needs no login",
    ),
    (find_codex_login, {}, {"~/.codex/config.toml": "= broken"}, "→"),
    (find_gemini_login, {}, {}, "→ Run `gemini` once and log in, or set `GEMINI_API_KEY`."),
    (find_gemini_login, {"GEMINI_API_KEY": SECRET}, {}, "`GEMINI_API_KEY` is set"),
    # Without the variable that chooses Vertex AI, Gemini does not read this key.
    (find_gemini_login, {"GOOGLE_API_KEY": SECRET}, {}, "→"),
    (find_gemini_login, {"GOOGLE_GENAI_USE_VERTEXAI": "true"}, {}, "→ Set `GOOGLE_API_KEY`"),
    (
        find_gemini_login,
        {"GOOGLE_GENAI_USE_VERTEXAI": "true", "GOOGLE_API_KEY": SECRET},
        {},
        "`GOOGLE_API_KEY` is set",
    ),
    (
        find_gemini_login,
        {},
        {"~/.gemini/.env": f'export GEMINI_API_KEY = "{SECRET}"\n'},
        "`GEMINI_API_KEY` in `~/.gemini/.env`",
    ),
    (find_gemini_login, {}, {"~/.gemini/.env": "GEMINI_API_KEY=\nA=b\n"}, "→"),
    (find_gemini_login, {}, {"~/.gemini/oauth_creds.json": KEY}, "→"),
    (
        find_gemini_login,
        {},
        {
            "~/.gemini/oauth_creds.json": KEY,
            "~/.gemini/settings.json": {"security": {"auth": {"selectedType": "oauth-personal"}}},
        },
        "saved in `~/.gemini/oauth_creds.json`",
    ),
    (
        find_gemini_login,
        {"GEMINI_API_KEY": SECRET},
        {"~/.gemini/settings.json": {"security": {"auth": {"selectedType": "oauth-personal"}}}},
        "its settings choose a login with Google. → Run `gemini` once and log in.",
    ),
    (
        find_gemini_login,
        {},
        {"~/.gemini/settings.json": {"security": {"auth": {"selectedType": "gemini-api-key"}}}},
        "Cannot tell",
    ),
]


@pytest.mark.parametrize(("find", "environment", "files", "words"), LOGINS)
def test_where_logins_are_found(
    tmp_path: Path,
    find: Callable[[Surroundings], Login],
    environment: dict[str, str],
    files: dict[str, object],
    words: str,
) -> None:
    """A login in variables and files, or how to log in; a value is never shown."""
    for name, content in files.items():
        file = tmp_path / name.removeprefix("~/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    place = Surroundings({"HOME": str(tmp_path), **environment}, tmp_path / "project", "linux")
    found = find(place)
    shown = f"{found.detail} → {found.fix}" if found.fix else found.detail
    assert words in shown
    assert SECRET not in shown
    on_mac = find(place._replace(platform="darwin"))
    if find is find_claude_login and found.fix:
        assert on_mac.detail.startswith("Cannot tell")
    else:
        assert on_mac == found or "Cannot tell" in on_mac.detail


@pytest.mark.parametrize("width", [80, 120])
def test_long_names_fit_into_a_terminal(scene: Scene, width: int) -> None:
    scene.settle(f'[programs."{"long-" * 8}\\u001b"]\ndriver = "text"\nrun = "nowhere"\n{ALL}')
    scene.install("claude", "echo '2.1.100 (Claude Code)'")
    arguments = ("doctor", "--project", str(scene.project))
    path = f"{scene.bin}:{SYSTEM}"
    shown = in_terminal(width, *arguments, NO_COLOR="1", PATH=path, HOME=str(scene.home), **CLEAN)
    lines = shown.splitlines()
    assert "\x1b" not in shown
    assert "warning  claude-code login  Found no login for Claude Code." in lines
    assert any("\\x1b  `nowhere`" in line for line in lines)
    assert max(map(len, lines)) <= width
