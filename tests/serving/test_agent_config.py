"""`brenner agent config`: what it prints is what the clients read."""

import json
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from brenner.cli.serve import DEFAULT_URL
from brenner.server.settings import HOST, PORT
from brenner.services.client_settings import CLIENTS
from mail_shell import Shell
from program import Run

SECRET = "brs_of-the-tests"  # noqa: S105
TOKEN = "token-of-the-tests"  # noqa: S105
VARIABLES = (
    *("AGENT_NAME", "BRENNER_STORE", "BRENNER_SERVE_URL", "BRENNER_TOKEN", "BRENNER_SECRET"),
    *("PGPASSWORD", "PGPASSFILE", "PGSERVICE", "PGSERVICEFILE"),
    *("AGENT_MAIL_BEARER_TOKEN", "AGENT_MAIL_BASE_URL", "AGENT_MAIL_PATH"),
)
ODD = """a "b" 'c' \\d {e} été"""


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A project in a folder whose name has all that must be quoted."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / ODD
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    return Shell(folder, monkeypatch)


def config(shell: Shell, client: str, *arguments: str) -> Run:
    """What the command prints for a client."""
    return shell("agent", "config", "--client", client, *arguments)


def server(shell: Shell, client: str, *arguments: str) -> dict[str, Any]:
    """The entry of our server, as the client's own format is read."""
    done = config(shell, client, *arguments)
    assert done.code == 0
    if client == "codex":
        tables = tomllib.loads(done.out)
        assert list(tables) == ["mcp_servers"]
        servers = tables["mcp_servers"]
    else:
        document, end = json.JSONDecoder().raw_decode(done.out)
        assert list(document) == ["mcpServers"]
        assert client == "claude-code" or not done.out[end:].strip()
        servers = document["mcpServers"]
    assert list(servers) == ["brenner"]
    found: dict[str, Any] = servers["brenner"]
    return found


EIGHT = [
    *("register_agent", "brenner_task", "brenner_artifact", "brenner_post", "brenner_explain"),
    *("acknowledge_message", "reply_message", "fetch_inbox"),
]
REACHING = ("url", "httpUrl", "headers", "env_http_headers")
HTTP: dict[str, dict[str, Any]] = {
    "claude-code": {
        "type": "http",
        "url": DEFAULT_URL,
        "headers": {"Brenner-Secret-Authorization": "${BRENNER_SECRET:-}"},
        "alwaysLoad": True,
    },
    "codex": {
        "url": DEFAULT_URL,
        "env_http_headers": {"Brenner-Secret": "BRENNER_SECRET"},
        "required": True,
        "default_tools_approval_mode": "approve",
        "enabled_tools": EIGHT,
    },
    "gemini": {
        "httpUrl": DEFAULT_URL,
        "headers": {"Brenner-Secret": "$BRENNER_SECRET"},
        "trust": True,
        "includeTools": EIGHT,
    },
    "other": {
        "type": "http",
        "url": DEFAULT_URL,
        "headers": {"Brenner-Secret": "${BRENNER_SECRET}"},
    },
}
FILES = {
    "claude-code": [".mcp.json", ".claude/settings.json"],
    "codex": [".codex/config.toml"],
    "gemini": [".gemini/settings.json"],
}
NEEDED = {
    client: {key: value for key, value in entry.items() if key not in ("type", *REACHING)}
    for client, entry in HTTP.items()
}
BEARER: dict[str, tuple[str, dict[str, str] | str]] = {
    "claude-code": ("headers", {"Authorization": "Bearer ${BRENNER_TOKEN}"}),
    "codex": ("bearer_token_env_var", "BRENNER_TOKEN"),
    "gemini": ("headers", {"Authorization": "Bearer $BRENNER_TOKEN"}),
    "other": ("headers", {"Authorization": "Bearer ${BRENNER_TOKEN}"}),
}


def test_default_url_is_where_the_server_listens() -> None:
    assert f"http://{HOST}:{PORT}/mcp/" == DEFAULT_URL
    assert set(HTTP) == set(CLIENTS)


@pytest.mark.parametrize("client", CLIENTS)
def test_http_snippet(shell: Shell, client: str) -> None:
    """The snippet has the URL and the variable of the secret, and no token if the server needs
    none.
    """
    assert server(shell, client) == HTTP[client]


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("how", ["--token", "far away", "in the environment"])
def test_token_is_a_variable_in_the_snippet(shell: Shell, client: str, how: str) -> None:
    """The snippet names the variable as the client spells it, and never contains the token."""
    options = {"--token": ["--token"], "far away": ["--url", "https://lab.example.org/mcp/"]}
    if how == "in the environment":
        shell.patch.setenv("BRENNER_TOKEN", TOKEN)
    shell.patch.setenv("BRENNER_SECRET", SECRET)
    found = server(shell, client, *options.get(how, []))
    key, wanted = BEARER[client]
    if isinstance(wanted, dict):
        wanted = wanted | HTTP[client]["headers"]
    assert found[key] == wanted
    for arguments in ([], ["--json"]):
        done = config(shell, client, *options.get(how, []), *arguments)
        assert TOKEN not in done.out + done.err
        assert SECRET not in done.out + done.err


@pytest.mark.parametrize("client", CLIENTS)
def test_stdio_snippet(shell: Shell, client: str) -> None:
    """The command works from any working directory."""
    found = server(shell, client, "--stdio")
    command = [found["command"], *found["args"]]
    assert Path(command[0]).is_absolute()
    assert command[-3:] == ["mcp", "--project", str(shell.folder)]
    program = command[: command.index("mcp")]
    version = subprocess.run([*program, "--version"], cwd="/", capture_output=True, check=True)
    assert version.stdout.startswith(b"brenner ")
    handed = {
        "claude-code": ("env", {"BRENNER_SECRET": "${BRENNER_SECRET:-}"}),
        "codex": ("env_vars", ["BRENNER_SECRET"]),
        "gemini": ("env", {"BRENNER_SECRET": "$BRENNER_SECRET"}),
        "other": ("env", {"BRENNER_SECRET": "${BRENNER_SECRET}"}),
    }
    key, wanted = handed[client]
    assert found[key] == wanted
    assert {each: found[each] for each in NEEDED.get(client, {})} == NEEDED.get(client, {})


def test_stdio_command_starts_the_server(shell: Shell) -> None:
    found = server(shell, "claude-code", "--stdio")
    client = {"name": "test", "version": "1"}
    asked = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": asked}
    done = subprocess.run(
        [found["command"], *found["args"]],
        input=json.dumps(request).encode() + b"\n",
        capture_output=True,
        cwd="/",
        timeout=60,
        check=True,
    )
    answer = json.loads(done.stdout)
    assert answer["result"]["serverInfo"]["name"] == "brenner"


@pytest.mark.parametrize("client", CLIENTS)
def test_stdio_snippet_passes_the_store(shell: Shell, client: str) -> None:
    """The command gets the store and its variables; a password is not printed."""
    store = "postgresql://ada:s3cret@db.example.org/lab"
    shell.patch.setenv("PGPASSWORD", "s3cret-too")
    done = config(shell, client, "--stdio", "--store", store)
    assert "s3cret" not in done.out + done.err
    found = server(shell, client, "--stdio", "--store", store)
    assert found["args"][-2:] == ["--store", "postgresql://ada@db.example.org/lab"]
    assert "PGPASSWORD" in found["env_vars" if client == "codex" else "env"]


@pytest.mark.parametrize("client", FILES)
@pytest.mark.parametrize("way", [[], ["--stdio"]], ids=["http", "stdio"])
def test_client_command_is_quoted_for_the_shell(shell: Shell, client: str, way: list[str]) -> None:
    shell.patch.setenv("BRENNER_SECRET", SECRET)
    document = config(shell, client, *way, "--json").json
    script = "import sys; print('\\0'.join(sys.argv[1:]), end='')"
    typed = document["command"]
    echoed = subprocess.run(
        ["/bin/sh", "-c", f"{shlex.join([sys.executable, '-c', script])} {typed}"],
        capture_output=True,
        check=True,
    )
    words = echoed.stdout.decode().split("\0")
    assert words == shlex.split(typed)
    programs = {"claude-code": "claude", "codex": "codex", "gemini": "gemini"}
    assert words[:3] == [programs[client], "mcp", "add"]
    assert "brenner" in words
    if way:
        assert words[-3:] == ["mcp", "--project", str(shell.folder)]
        assert "--" in words
    else:
        assert DEFAULT_URL in words


@pytest.mark.parametrize("client", CLIENTS)
def test_json_contains_the_same_settings(shell: Shell, client: str) -> None:
    document = config(shell, client, "--as", "BlueLake", "--json").json
    assert list(document) == [
        *("client", "transport", "file", "format", "snippet", "command", "notes"),
        *("variables", "tell", "files"),
    ]
    files = document["files"]
    assert "".join(each["snippet"] for each in files) == config(shell, client).out
    assert files[0] == {key: document[key] for key in ("file", "format", "snippet")}
    names = [str(shell.folder / name) for name in FILES.get(client, [])]
    assert [each["file"] for each in files] == (names or [""])
    assert "Register as BlueLake with the tool register_agent" in document["tell"]
    assert "brenner_task" in document["tell"]
    assert list(document["variables"]) == ["BRENNER_SECRET"]


def test_standard_output_contains_only_the_settings(shell: Shell) -> None:
    done = config(shell, "codex")
    assert done.out.startswith("[mcp_servers.brenner]\n")
    assert f"`{shell.folder}/.codex/config.toml`" in done.err
    assert "Register with the tool register_agent" in done.err
    assert "mcp add" not in done.err


def test_programs_of_the_project(shell: Shell) -> None:
    """A program has the settings of its driver's client; the known ones have their names, too."""
    (shell.folder / "brenner.toml").write_text(
        '[programs.my-claude]\ndriver = "claude-code"\nrun = "claude"\n'
        '[programs.goose]\ndriver = "acp"\nrun = "goose acp"\n'
        '[programs.editor]\ncommand = "editor"\n'
    )
    wanted = {"my-claude": "claude-code", "goose": "other", "editor": "other"}
    wanted |= {"codex-cli": "codex", "gemini-cli": "gemini"}
    for name, client in wanted.items():
        assert config(shell, name, "--json").json["client"] == client
        assert config(shell, name).out == config(shell, client).out
    failed = config(shell, "codx")
    assert failed.code == 2
    assert "`codex`?" in failed.err
    assert "my-claude, goose, editor" in failed.err


def test_url_option_overrides_the_variable(shell: Shell) -> None:
    """A host without a path gets the default path."""
    shell.patch.setenv("BRENNER_SERVE_URL", "http://127.0.0.1:9000")
    assert server(shell, "codex")["url"] == "http://127.0.0.1:9000/mcp/"
    assert server(shell, "codex", "--url", "http://[::1]:1/api")["url"] == "http://[::1]:1/api"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--client", "claude"],
        ["--client", "codex", "--write", "--remove"],
        ["--client", "codex", "--yes"],
        ["--client", "other", "--write", "--yes"],
        ["--client", "other", "--remove", "--yes"],
        ["--client", "codex", "--stdio", "--url", DEFAULT_URL],
        ["--client", "codex", "--stdio", "--token"],
        ["--client", "codex", "--url", ""],
        ["--client", "codex", "--url", "127.0.0.1:8765"],
        ["--client", "codex", "--url", "http://ada:s3cret@host/mcp/"],
        ["--client", "codex", "--url", "postgresql://ada:s3cret@host/lab"],
        ["--client", "codex", "--url", "ada:s3cret@host"],
        ["--client", "codex", "--url", "postgresql://ada:1/s3cret@host"],
        ["--client", "codex", "--url", "postgresql://host/lab?password=s3cret"],
        ["--client", "codex", "--url", "http://host:port/mcp/"],
        ["--client", "codex", "--url", "http://host/mcp/?token=s3cret"],
        ["--client", "codex", "--url", "http://host/ mcp"],
    ],
)
def test_usage_errors(shell: Shell, arguments: list[str]) -> None:
    """The error is one line; without a client it lists the clients."""
    done = shell("agent", "config", *arguments)
    assert (done.code, done.out) == (2, "")
    assert "s3cret" not in done.err
    if "codex" not in arguments and "other" not in arguments:
        assert ", ".join(CLIENTS) in done.err


def test_invalid_agent_name_is_rejected(shell: Shell) -> None:
    done = config(shell, "codex", "--as", "no name")
    assert (done.code, done.out) == (1, "")
    assert "INVALID_NAME" in done.err


@pytest.mark.parametrize("name", ["Operator", "operator"])
def test_name_of_the_operator_is_rejected(shell: Shell, name: str) -> None:
    for said in (("--as", name), ()):
        if not said:
            shell.patch.setenv("AGENT_NAME", name)
        done = config(shell, "codex", *said)
        assert (done.code, done.out) == (2, "")
        assert "`--as BlueLake`" in done.err
        assert "`brenner agent secret Operator`" in done.err
        assert "BRENNER_SECRET" in done.err
    (shell.folder / "brenner.toml").write_text('operator = "Anna"\n')
    assert config(shell, "codex", "--as", "Anna").code == 2


def test_warning_about_a_missing_secret(shell: Shell) -> None:
    """On loopback the mail is unverified; elsewhere the server rejects it."""
    for url, word in {
        DEFAULT_URL: "or its mail is unverified",
        "http://[::1]:9/mcp/": "or its mail is unverified",
        "https://lab.example.org/mcp/": "or the server rejects its mail: identity is strict",
        "http://192.0.2.7:8765/mcp/": "or the server rejects its mail: identity is strict",
    }.items():
        assert word in config(shell, "codex", "--url", url).err
        variables = config(shell, "codex", "--url", url, "--json").json["variables"]
        assert word in variables["BRENNER_SECRET"]


def test_folder_without_a_project_is_rejected_for_stdio(shell: Shell) -> None:
    """A stdio server would create a mailbox there; HTTP creates nothing."""
    word = "is not a project"
    assert word in config(shell, "codex", "--stdio").err
    assert any(word in each for each in config(shell, "codex", "--stdio", "--json").json["notes"])
    assert word not in config(shell, "codex").err
    store = ("--store", f"sqlite:///{shell.folder}/elsewhere.sqlite3")
    assert word not in config(shell, "codex", "--stdio", *store).err
    assert list(shell.folder.iterdir()) == []
    assert shell("init").code == 0
    assert word not in config(shell, "codex", "--stdio").err


def test_path_that_is_not_utf8_is_rejected(shell: Shell) -> None:
    folder = shell.folder / "\udcff"
    folder.mkdir()
    for client in CLIENTS:
        done = shell("agent", "config", "--client", client, "--stdio", "--project", str(folder))
        assert (done.code, done.out) == (2, "")
        assert "not UTF-8" in done.err


def test_path_with_variable_syntax_gets_a_warning(shell: Shell) -> None:
    folder = shell.folder / "${HOME}"
    folder.mkdir()
    for client, is_told in {
        "claude-code": True,
        "codex": False,
        "gemini": True,
        "other": True,
    }.items():
        done = shell("agent", "config", "--client", client, "--stdio", "--project", str(folder))
        assert ("expands as a variable" in done.err) is is_told
