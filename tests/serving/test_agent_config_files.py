"""`brenner agent config --write` and `--remove`: the project's files of each client."""

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from brenner.config import Project
from brenner.diagnostics.model import RequestError, UnavailableError
from brenner.services.client_settings import ClientConnection, settings_for
from brenner.services.client_settings_files import (
    SettingsDifference,
    SettingsState,
    plan_changes,
    settings_difference,
    write_changes,
)
from mail_shell import Shell
from program import Run, brenner
from terminal import at_terminal

FILES = {
    "claude-code": [".mcp.json", ".claude/settings.json"],
    "codex": [".codex/config.toml"],
    "gemini": [".gemini/settings.json"],
}
HERE = ClientConnection("http://127.0.0.1:8765/mcp/")


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A project without files of clients, in a home that is elsewhere."""
    for name in ("AGENT_NAME", "BRENNER_SERVE_URL", "BRENNER_TOKEN", "BRENNER_SECRET"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = tmp_path / "lab"
    folder.mkdir()
    return Shell(folder, monkeypatch)


def change(shell: Shell, client: str, *options: str) -> Run:
    """What the command does to the files of a client, with every question answered by yes."""
    done = shell("agent", "config", "--client", client, "--yes", *options)
    assert "Traceback" not in done.err
    return done


def put(shell: Shell, name: str, text: str) -> Path:
    """Put a file into the project, byte for byte."""
    file = shell.folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(text.encode())
    return file


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a folder, at any depth."""
    found = (each for each in folder.rglob("*") if each.is_file())
    return {str(each.relative_to(folder)): each.read_bytes() for each in found}


@pytest.mark.parametrize("client", FILES)
def test_files_that_do_not_exist(shell: Shell, client: str) -> None:
    """They are what the command prints without `--write`, and `--remove` leaves nothing."""
    printed = shell("agent", "config", "--client", client).out
    done = change(shell, client, "--write")
    assert done.code == 0
    assert list(contents(shell.folder)) == FILES[client]
    assert "".join((shell.folder / name).read_text() for name in FILES[client]) == printed
    for name in FILES[client]:
        assert f"--- /dev/null\n+++ {shell.folder / name}\n" in done.out
        assert f"Created `{shell.folder / name}`." in done.err
    again = shell("agent", "config", "--client", client, "--write")
    assert (again.code, again.out) == (0, "")
    assert "Nothing to change in" in again.err
    assert change(shell, client, "--remove").code == 0
    assert list(shell.folder.iterdir()) == []
    assert shell("agent", "config", "--client", client, "--remove").code == 0


def test_settings_of_others_stay(shell: Shell) -> None:
    """An item is added once; a comment stays with its value; line ends are those of the file."""
    mcp = put(shell, ".mcp.json", '{"mcpServers": {"a": {"command": "x", "n": 1.0}}}')
    claude = put(
        shell,
        ".claude/settings.json",
        '{\n    "permissions": {\n        "allow": ["Bash(ls)"]\n    },\n    "model": "opus"\n}\n',
    )
    gemini = put(
        shell, ".gemini/settings.json", '{\r\n\t"ui": {"a": 1} // mine\r\n\t/* end */\r\n}\r\n'
    )
    codex = put(shell, ".codex/config.toml", 'model = "x" # mine\n\n[mcp_servers.a]\nurl = "y"')
    before = contents(shell.folder)
    for client in FILES:
        assert change(shell, client, "--write").code == 0
    assert list(json.loads(mcp.read_text())["mcpServers"]) == ["a", "brenner"]
    text = claude.read_text()
    assert (
        '        "allow": ["Bash(ls)", "mcp__brenner__*"]\n    },\n    "model": "opus",\n' in text
    )
    assert '    "enabledMcpjsonServers": [\n        "brenner"\n    ]\n}\n' in text
    raw = gemini.read_bytes()
    assert raw.startswith(b'{\r\n\t"ui": {"a": 1}, // mine\r\n\t/* end */\r\n\t"mcpServers": {\r\n')
    assert raw.count(b"\n") == raw.count(b"\r\n")
    assert codex.read_text().startswith('model = "x" # mine\n\n[mcp_servers.a]\nurl = "y"\n\n[')
    assert list(tomllib.loads(codex.read_text())["mcp_servers"]) == ["a", "brenner"]
    for client in FILES:
        assert change(shell, client, "--remove").code == 0
    assert contents(shell.folder) == before


def test_an_entry_that_exists_is_replaced(shell: Shell) -> None:
    """The difference shows what goes; tables below the entry belong to it, others do not."""
    codex = put(
        shell,
        ".codex/config.toml",
        "# first\n[mcp_servers.brenner] # ours\nurl = 'old'\n\n[mcp_servers.brenner.tools.x]\n"
        "approval_mode = 'approve'\n# of the next one\n[other]\n# [mcp_servers.brenner]\nx = 1\n",
    )
    done = change(shell, "codex", "--write")
    assert "-url = 'old'\n" in done.out
    text = codex.read_text()
    assert text.startswith("# first\n[mcp_servers.brenner]\nurl = ")
    assert text.endswith("]\n\n# of the next one\n[other]\n# [mcp_servers.brenner]\nx = 1\n")
    assert "tools" not in tomllib.loads(text)["mcp_servers"]["brenner"]
    mcp = put(shell, ".mcp.json", '{"mcpServers": {"brenner": {"url": "old"}, "b": {}}}\n')
    done = change(shell, "claude-code", "--stdio", "--write")
    assert '-{"mcpServers": {"brenner": {"url": "old"}, "b": {}}}\n' in done.out
    servers = json.loads(mcp.read_text())["mcpServers"]
    assert list(servers) == ["brenner", "b"]
    assert servers["brenner"]["type"] == "stdio"


@pytest.mark.parametrize(
    ("client", "name", "text", "reason"),
    [
        ("claude-code", ".mcp.json", '{\n"a": 1,\n}', "line 3: it is not valid JSON"),
        ("claude-code", ".mcp.json", "", "line 1: it is not valid JSON"),
        ("claude-code", ".mcp.json", "[]", "line 1: it is not an object"),
        ("claude-code", ".mcp.json", '{\n"mcpServers": []}', "line 2: `mcpServers` is not an"),
        ("claude-code", ".claude/settings.json", "{} // no", "line 1: it is not valid JSON"),
        (
            "claude-code",
            ".claude/settings.json",
            '{"permissions": {"allow": "x"}}',
            "line 1: `permissions.allow` is not a list",
        ),
        (
            "gemini",
            ".gemini/settings.json",
            '{"mcpServers": {},\n"mcpServers": {}}',
            "line 2: `mcpServers` occurs twice",
        ),
        ("gemini", ".gemini/settings.json", '{"a": NaN}', "NaN is not a number"),
        ("gemini", ".gemini/settings.json", "[" * 100_000, "nested too deeply"),
        ("codex", ".codex/config.toml", "a = 1\nb = \n", "line 2: it is not valid TOML"),
        (
            "codex",
            ".codex/config.toml",
            'x = 1\nmcp_servers = { a = { url = "x" } }\n',
            "line 2: `mcp_servers` is not written as a table",
        ),
        (
            "codex",
            ".codex/config.toml",
            '[mcp_servers]\nbrenner.url = "x"\n',
            "line 2: `mcp_servers.brenner` is not written as a table",
        ),
        ("codex", ".codex/config.toml", "mcp_servers = 1\n", "line 1: `mcp_servers` is not a"),
    ],
)
def test_files_that_cannot_be_changed(
    shell: Shell, client: str, name: str, text: str, reason: str
) -> None:
    """The error names the file and the line, and what to do by hand. No file is touched."""
    put(shell, name, text)
    before = contents(shell.folder)
    done = change(shell, client, "--write")
    assert (done.code, done.out) == (1, "")
    assert "CLIENT_SETTINGS_NOT_CHANGED" in done.err
    assert f"`{shell.folder / name}`" in done.err
    assert reason in done.err
    assert "Nothing was written." in done.err
    assert "prints without `--write`" in done.err
    assert contents(shell.folder) == before


def test_text_that_is_not_utf8(shell: Shell) -> None:
    put(shell, ".mcp.json", "").write_bytes(b'{\n"\xff": 1}')
    assert "line 2: it is not UTF-8" in change(shell, "claude-code", "--remove").err


def test_own_settings_of_the_user_are_never_changed(shell: Shell) -> None:
    """Neither in the home folder, nor through a link, nor where the client looks for them."""
    own = shell.folder / "own.toml"
    own.write_text("")
    (shell.folder / ".codex").mkdir()
    (shell.folder / ".codex/config.toml").symlink_to(own)
    places = {"HOME": shell.folder, "CODEX_HOME": shell.folder / ".codex"}
    for variable, value in places.items():
        with shell.patch.context() as patch:
            patch.setenv(variable, str(value))
            done = change(shell, "codex", "--write")
            assert done.code == 2
            assert "your own settings" in done.err
    assert own.read_text() == ""


def test_outside_a_project(tmp_path: Path) -> None:
    done = brenner("agent", "config", "--client", "codex", "--write", "--yes", cwd=tmp_path)
    assert done.code == 2
    assert "NOT_A_PROJECT" in done.err
    assert list(tmp_path.iterdir()) == []


def test_links_and_modes_stay(shell: Shell) -> None:
    """What a link points to is changed, and removed; the link stays a link."""
    shared = put(shell, "shared/mcp.json", "{ }\n")
    shared.chmod(0o640)
    (shell.folder / ".mcp.json").symlink_to("shared/mcp.json")
    assert change(shell, "claude-code", "--write").code == 0
    assert (shell.folder / ".mcp.json").is_symlink()
    assert "brenner" in shared.read_text()
    assert shared.stat().st_mode & 0o777 == 0o640
    assert change(shell, "claude-code", "--remove").code == 0
    assert shared.read_text() == "{ }\n"


def test_a_second_file_that_cannot_be_written(shell: Shell) -> None:
    """The error says that the first one was written; a repetition writes what is missing."""
    (shell.folder / ".claude").mkdir()
    link = shell.folder / ".claude/settings.json"
    link.symlink_to("/proc/no/such/folder")
    done = change(shell, "claude-code", "--write")
    assert done.code == 3
    assert "CLIENT_SETTINGS_NOT_WRITTEN" in done.err
    assert f"`{shell.folder}/.mcp.json` was written before." in done.err
    assert sorted(contents(shell.folder)) == [".mcp.json"]
    link.unlink()
    done = change(shell, "claude-code", "--write", "--json")
    assert [each["status"] for each in done.json["changes"]] == ["unchanged", "created"]


def test_a_file_that_changed_since(shell: Shell) -> None:
    """What was shown is what is written, or nothing."""
    settings = settings_for("claude-code", HERE, shell.folder)
    changes = plan_changes(settings, is_removal=False)
    put(shell, ".claude/settings.json", "{}")
    with pytest.raises(UnavailableError, match=r"changed since\. Nothing was written"):
        write_changes(changes)
    assert contents(shell.folder) == {".claude/settings.json": b"{}"}


def test_without_an_answer_nothing_is_written(shell: Shell) -> None:
    """Nobody can be asked without a terminal, and one document of JSON has no room for it."""
    for options in ([], ["--json"]):
        done = shell("agent", "config", "--client", "gemini", "--write", *options)
        assert done.code == 2
        assert "`--yes`" in done.err + done.out
    assert contents(shell.folder) == {}


@pytest.mark.parametrize(("typed", "is_written"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_the_question(shell: Shell, typed: str, *, is_written: bool) -> None:
    """In a terminal the difference is coloured, and a yes writes it."""
    arguments = ("--project", str(shell.folder), "agent", "config", "--client", "codex", "--write")
    shown = at_terminal(80, *arguments, typed=typed, HOME=os.environ["HOME"])
    assert "\x1b[32m+[mcp_servers.brenner]" in shown
    assert bool(contents(shell.folder)) is is_written


def test_json_of_changes(shell: Shell) -> None:
    put(shell, ".mcp.json", "{}\n")
    document = change(shell, "claude-code", "--write", "--json").json
    first, second = document["changes"]
    assert list(first) == ["file", "status", "diff"]
    assert (first["file"], first["status"]) == (str(shell.folder / ".mcp.json"), "changed")
    assert '+{"mcpServers": {\n' in first["diff"]
    assert (second["status"], len(document["files"])) == ("created", 2)
    document = change(shell, "claude-code", "--remove", "--json").json
    assert [each["status"] for each in document["changes"]] == ["changed", "removed"]


# What `settings_difference` finds


def difference(shell: Shell, client: str, connection: ClientConnection = HERE) -> Any:
    """The state and the keys."""
    return settings_difference(client, connection, Project(shell.folder))


@pytest.mark.parametrize("client", FILES)
def test_difference_of_written_settings(shell: Shell, client: str) -> None:
    """HTTP or stdio is the operator's choice; the address counts where the entry has one."""
    stdio = ClientConnection(command=("brenner", "mcp"))
    assert difference(shell, client).state is SettingsState.MISSING
    assert change(shell, client, "--write").code == 0
    for way in (HERE, stdio, ClientConnection("http://127.0.0.1:8765/mcp")):
        assert difference(shell, client, way) == SettingsDifference(SettingsState.CURRENT)
    found = difference(shell, client, ClientConnection("http://127.0.0.1:9/mcp/"))
    assert found.state is SettingsState.DIFFERENT
    assert [each.rpartition(".")[2] for each in found.keys] in (["url"], ["httpUrl"])
    assert change(shell, client, "--stdio", "--write").code == 0
    for way in (HERE, stdio):
        assert difference(shell, client, way).state is SettingsState.CURRENT


def test_difference_of_older_settings(shell: Shell) -> None:
    """An entry of an earlier version lacks what lets an agent call the tools."""
    headers = {"Brenner-Secret-Authorization": "${BRENNER_SECRET:-}"}
    entry = {"type": "http", "url": HERE.url, "headers": headers}
    put(shell, ".mcp.json", json.dumps({"mcpServers": {"brenner": entry}}))
    assert difference(shell, "claude-code") == SettingsDifference(
        SettingsState.DIFFERENT,
        ("mcpServers.brenner.alwaysLoad", "permissions.allow", "enabledMcpjsonServers"),
    )
    put(shell, ".codex/config.toml", '[mcp_servers.brenner]\nurl = "http://127.0.0.1:8765/mcp/"\n')
    missing = ("env_http_headers", "required", "default_tools_approval_mode", "enabled_tools")
    found = difference(shell, "codex")
    assert found.keys == tuple(f"mcp_servers.brenner.{each}" for each in missing)
    put(shell, ".codex/config.toml", "[")
    with pytest.raises(RequestError, match="not valid TOML"):
        difference(shell, "codex")
