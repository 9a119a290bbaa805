"""Settings of MCP clients: what the project's files of each client contain to reach the server.

Settings never contain a secret, because the files are committed. They name environment variables,
in the syntax of each client.
"""

from __future__ import annotations

import json
from shlex import join
from typing import TYPE_CHECKING

from brenner.named_tuple import NamedTuple
from brenner.program_settings import (
    AGENT_TOOLS,
    CLAUDE_CODE,
    CODEX_CLI,
    GEMINI_CLI,
    SECRET,
    SECRET_HEADER,
    SERVER_NAME,
    TOKEN,
    UNLOGGED_SECRET_HEADER,
    merge_programs,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from brenner.config import Project

OTHER = "other"  # any client without settings of its own here
JSON, TOML = "json", "toml"


class ClientConnection(NamedTuple):
    """How a client reaches the server.

    Either it is running at `url`, and may require a token; or the client starts it, with a command
    and environment variables to pass on.
    """

    url: str = ""
    wants_token: bool = False
    command: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()


class Setting(NamedTuple):
    """A value at a path of keys in a file, or with `is_item` one item of the list there."""

    path: tuple[str, ...]
    value: object
    is_item: bool = False


class SettingsFile(NamedTuple):
    """A file of a client and our settings in it. `path` is empty if the client is not known.

    With `has_comments` the client accepts comments in its JSON.
    """

    path: str
    form: str
    settings: tuple[Setting, ...]
    has_comments: bool = False

    @property
    def text(self) -> str:
        """Return the content of a file with these settings alone."""
        return _toml_text(self.settings[0]) if self.form == TOML else _json_text(self.settings)


class ClientSettings(NamedTuple):
    """The files of a client, and the client's own command that writes a part of them."""

    client: str
    files: tuple[SettingsFile, ...]
    command: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def typed(self) -> str:
        """Return the command as a user types it."""
        return join(self.command)

    @property
    def is_writable(self) -> bool:
        """Return whether the files are known, so that they can be written."""
        return all(each.path for each in self.files)


def settings_for(client: str, connection: ClientConnection, folder: Path) -> ClientSettings:
    """Return the settings for one of `CLIENTS`, in the project of that folder."""
    found = CLIENTS[client](connection)
    files = tuple(
        each._replace(path=str(folder / each.path)) if each.path else each for each in found.files
    )
    return found._replace(files=files)


def client_named(name: str, project: Project) -> str | None:
    """Return the client that a name means: itself, or that of one of the project's programs."""
    if name in CLIENTS:
        return name
    program = merge_programs(project.programs).get(name)
    return None if program is None else _CLIENT_OF_DRIVER.get(program.driver or "", OTHER)


def agent_instructions(name: str | None) -> str:
    """Return the instruction that makes an agent take part."""
    whom = f"as {name} " if name else ""
    proof = f"it proves that you are {name}" if name else "it proves who you are"
    return (
        f"Register {whom}with the tool register_agent of the MCP server {SERVER_NAME}. Keep the "
        f"registration_token that it returns: {proof}. Then call brenner_task to see what you "
        "have to do, and send your contributions with brenner_post."
    )


# The settings of each client


def _claude_code(connection: ClientConnection) -> ClientSettings:
    """Return the settings of Claude Code.

    It expands `${NAME}` when it reads the file; with `:-` a variable need not be set. `alwaysLoad`
    keeps it from hiding the tools behind a search. It logs the usual header with the secret. The
    second file approves the server and its tools.
    """
    secret = f"${{{SECRET}:-}}"
    server, options = _json_server(connection, "${{{}}}", secret, header=UNLOGGED_SECRET_HEADER)
    kind = "http" if connection.url else "stdio"
    entry = {"type": kind, **server, "alwaysLoad": True}
    scope = ("--transport", kind, "--scope", "project", SERVER_NAME)
    # `--header` takes all following arguments, so the name and the address come before it.
    tail = (
        (*scope, connection.url, *options)
        if connection.url
        else (*options, *scope, "--", *connection.command)
    )
    files = (
        SettingsFile(".mcp.json", JSON, (_server_setting(entry),)),
        SettingsFile(
            ".claude/settings.json",
            JSON,
            (
                Setting(("permissions", "allow"), f"mcp__{SERVER_NAME}__*", is_item=True),
                Setting(("enabledMcpjsonServers",), SERVER_NAME, is_item=True),
            ),
        ),
    )
    question = _QUESTION.format("`claude`", "`claude -p` cannot call the tools.")
    notes = (question, *_variable_notes(connection, "${"))
    return ClientSettings("claude-code", files, ("claude", "mcp", "add", *tail), notes)


def _codex(connection: ClientConnection) -> ClientSettings:
    """Return the settings of Codex, which can get a secret only by the name of a variable.

    Without `required` it starts without waiting for the server. Without the approval mode it
    refuses every tool that writes, when no one can be asked.
    """
    command = ["codex", "mcp", "add", SERVER_NAME]
    entry: dict[str, object]
    if connection.url:
        entry = {"url": connection.url}
        command += ["--url", connection.url]
        if connection.wants_token:
            entry["bearer_token_env_var"] = TOKEN
            command += ["--bearer-token-env-var", TOKEN]
        entry["env_http_headers"] = {SECRET_HEADER: SECRET}
    else:
        program, *arguments = connection.command
        variables = [*connection.variables, SECRET]
        entry = {"command": program, "args": arguments, "env_vars": variables}
        command += ["--", *connection.command]
    entry |= {
        "required": True,
        "default_tools_approval_mode": "approve",
        "enabled_tools": list(AGENT_TOOLS),
    }
    file = SettingsFile(".codex/config.toml", TOML, (Setting(("mcp_servers", SERVER_NAME), entry),))
    note = _QUESTION.format("`codex --no-daemon`", "Codex ignores the file.")
    return ClientSettings("codex", (file,), tuple(command), (note,))


def _gemini(connection: ClientConnection) -> ClientSettings:
    """Return the settings of Gemini, which expands `$NAME` in every text, unless it is unset.

    Without `trust` it offers no tools when no one can be asked.
    """
    start = ("gemini", "mcp", "add", "--scope", "project")
    server, options = _json_server(connection, "${}", f"${SECRET}", url_key="httpUrl")
    if connection.url:
        tail = ("--transport", "http", *options, SERVER_NAME, connection.url)
    else:
        program, *arguments = connection.command
        tail = (*options, SERVER_NAME, program, "--", *arguments)
    entry = {**server, "trust": True, "includeTools": list(AGENT_TOOLS)}
    setting = _server_setting(entry)
    file = SettingsFile(".gemini/settings.json", JSON, (setting,), has_comments=True)
    otherwise = "Gemini ignores the file, unless GEMINI_CLI_TRUST_WORKSPACE=true is set."
    notes = (_QUESTION.format("`gemini`", otherwise), *_variable_notes(connection, "$"))
    return ClientSettings("gemini", (file,), (*start, *tail), notes)


def _other(connection: ClientConnection) -> ClientSettings:
    """Return the entry that most MCP clients take."""
    server, _ = _json_server(connection, "${{{}}}", f"${{{SECRET}}}")
    entry = {"type": "http" if connection.url else "stdio", **server}
    file = SettingsFile("", JSON, (_server_setting(entry),))
    return ClientSettings(OTHER, (file,), notes=(_OTHER_NOTE, *_variable_notes(connection, "${")))


CLIENTS: Mapping[str, Callable[[ClientConnection], ClientSettings]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "gemini": _gemini,
    OTHER: _other,
}
_CLIENT_OF_DRIVER = {CLAUDE_CODE: "claude-code", CODEX_CLI: "codex", GEMINI_CLI: "gemini"}
_QUESTION = (
    "Start {} in that folder. It asks one question: whether you trust the folder. Before you "
    "answer yes, {}"
)
_OTHER_NOTE = (
    "The client's documentation says where this belongs. Some clients write a variable in another "
    "way, such as `${env:NAME}`. Let the client call the tools of the server without asking."
)


def _server_setting(entry: Mapping[str, object]) -> Setting:
    return Setting(("mcpServers", SERVER_NAME), entry)


def _json_server(
    connection: ClientConnection,
    variable: str,
    secret: str,
    url_key: str = "url",
    header: str = SECRET_HEADER,
) -> tuple[dict[str, object], list[str]]:
    """Return how to reach the server as JSON, and the options of `mcp add` for its variables."""
    if connection.url:
        # Some clients would not start with a token that is not set.
        bearer = f"Bearer {variable.format(TOKEN)}"
        headers = {"Authorization": bearer} if connection.wants_token else {}
        headers[header] = secret
        options = [part for name in headers for part in ("--header", f"{name}: {headers[name]}")]
        return {url_key: connection.url, "headers": headers}, options
    program, *arguments = connection.command
    environment = {name: variable.format(name) for name in connection.variables} | {SECRET: secret}
    options = [part for name in environment for part in ("--env", f"{name}={environment[name]}")]
    return {"command": program, "args": arguments, "env": environment}, options


def _variable_notes(connection: ClientConnection, sign: str) -> tuple[str, ...]:
    """Return a warning if a path looks like a variable of the client: it cannot be escaped."""
    texts = (connection.url,) if connection.url else connection.command
    if not any(sign in each for each in texts):
        return ()
    return (f"A path or address contains `{sign}`, which the client expands as a variable.",)


# Settings as text


def _json_text(settings: Sequence[Setting]) -> str:
    document: dict[str, object] = {}
    for path, value, is_item in settings:
        level = document
        for key in path[:-1]:
            level = level.setdefault(key, {})  # type: ignore[assignment]  # no value is on a path
        level[path[-1]] = [value] if is_item else value
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _toml_text(setting: Setting) -> str:
    entry = setting.value if isinstance(setting.value, dict) else {}
    lines = [f"{key} = {_toml(value)}" for key, value in entry.items()]
    return "\n".join([f"[{'.'.join(setting.path)}]", *lines]) + "\n"


_MOST_INLINE = 4  # items of a list on one line


def _toml(value: object) -> str:
    """Return a value as TOML. A text is written like one of JSON, except for one character."""
    if isinstance(value, dict):
        pairs = (f"{_toml(key)} = {_toml(each)}" for key, each in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, list):
        items = [_toml(each) for each in value]
        if len(items) <= _MOST_INLINE:
            return f"[{', '.join(items)}]"
        return "[\n" + "".join(f"  {each},\n" for each in items) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
