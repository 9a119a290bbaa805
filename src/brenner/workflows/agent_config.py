"""What the settings of an agent's program must say, so that it finds the mail of a project.

Each client has a form of its own. No secret ever stands in one: what is written there is copied,
committed and shown around, so it names variables of the environment, as each client spells them.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from shlex import join
from typing import NamedTuple

from brenner.workflows.credentials import SECRET, SECRET_HEADER, TOKEN

NAME = "brenner"  # what the server is called in the client's settings

_ASKED = (
    "Run the command in that folder. Claude Code asks once whether the server of a project may be "
    "used."
)


class Endpoint(NamedTuple):
    """A server that runs already, and whether it wants a token of everybody."""

    url: str
    wants_token: bool = False


class Program(NamedTuple):
    """A program that the client starts itself, with the variables that it has to hand on."""

    command: tuple[str, ...]
    variables: tuple[str, ...] = ()


Connection = Endpoint | Program


class Snippet(NamedTuple):
    """What to write where, and the command of the client that writes it, as far as that goes."""

    client: str
    file: str
    form: str
    text: str
    command: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def typed(self) -> str:
        """The command, as one types it."""
        return join(self.command)


def snippet_for(client: str, connection: Connection, folder: Path) -> Snippet:
    """The snippet for one of `CLIENTS`, in the project of that folder."""
    return CLIENTS[client](connection, folder)


def first_words(name: str | None) -> str:
    """What to tell an agent, so that it takes part."""
    whom = f"as {name} " if name else ""
    proof = f"it proves that you are {name}" if name else "it proves who you are"
    return (
        f"Register {whom}with the tool register_agent of the MCP server {NAME}, and keep the "
        f"registration_token that it answers: {proof}. Then call brenner_task, which says what you "
        "owe, and send what you contribute with brenner_post."
    )


def _claude_code(connection: Connection, folder: Path) -> Snippet:
    """`${NAME}` is replaced where the file is read; with `:-` a variable need not be set."""
    secret = f"${{{SECRET}:-}}"
    start = ("claude", "mcp", "add")
    file = str(folder / ".mcp.json")
    if isinstance(connection, Endpoint):
        headers = _headers(connection, f"Bearer ${{{TOKEN}}}", secret)
        server: dict[str, object] = {"type": "http", "url": connection.url, "headers": headers}
        said = [part for name in headers for part in ("--header", f"{name}: {headers[name]}")]
        # The option takes all that follows, so the name and the address stand before it.
        of_http = ("--transport", "http", "--scope", "project", NAME, connection.url, *said)
        command = (*start, *of_http)
    else:
        program, *arguments = connection.command
        handed = {name: f"${{{name}}}" for name in connection.variables} | {SECRET: secret}
        server = {"type": "stdio", "command": program, "args": arguments, "env": handed}
        said = [part for name in handed for part in ("--env", f"{name}={handed[name]}")]
        of_stdio = (*said, "--transport", "stdio", "--scope", "project", NAME)
        command = (*start, *of_stdio, "--", *connection.command)
    notes = (_ASKED, *_of_paths(connection, "${"))
    return Snippet("claude-code", file, "json", _json(server), command, notes)


def _codex(connection: Connection, folder: Path) -> Snippet:
    """It takes names of variables, and no other way to a secret."""
    del folder
    file, command = "~/.codex/config.toml", ["codex", "mcp", "add", NAME]
    if isinstance(connection, Endpoint):
        lines = [f"url = {_toml(connection.url)}"]
        command += ["--url", connection.url]
        if connection.wants_token:
            lines.append(f"bearer_token_env_var = {_toml(TOKEN)}")
            command += ["--bearer-token-env-var", TOKEN]
        lacking = f"env_http_headers = {{ {_toml(SECRET_HEADER)} = {_toml(SECRET)} }}"
    else:
        program, *arguments = connection.command
        lines = [f"command = {_toml(program)}", f"args = {_toml_list(arguments)}"]
        command += ["--", *connection.command]
        lacking = f"env_vars = {_toml_list([*connection.variables, SECRET])}"
    text = "\n".join([f"[mcp_servers.{NAME}]", *lines, lacking]) + "\n"
    note = f"The command cannot say the last line, `{lacking}`: add it for an agent with a secret."
    return Snippet("codex", file, "toml", text, tuple(command), (note,))


def _gemini(connection: Connection, folder: Path) -> Snippet:
    """`$NAME` is replaced in every text of the file; one that is not set stays as it is."""
    del folder
    file, secret = "~/.gemini/settings.json", f"${SECRET}"
    start = ("gemini", "mcp", "add", "--scope", "user")
    if isinstance(connection, Endpoint):
        headers = _headers(connection, f"Bearer ${TOKEN}", secret)
        server: dict[str, object] = {"httpUrl": connection.url, "headers": headers}
        said = [part for name in headers for part in ("--header", f"{name}: {headers[name]}")]
        command = (*start, "--transport", "http", *said, NAME, connection.url)
    else:
        program, *arguments = connection.command
        handed = {name: f"${name}" for name in (*connection.variables, SECRET)}
        server = {"command": program, "args": arguments, "env": handed}
        said = [part for name in handed for part in ("--env", f"{name}={handed[name]}")]
        command = (*start, *said, NAME, program, "--", *arguments)
    notes = _of_paths(connection, "$")
    return Snippet("gemini", file, "json", _json(server), command, notes)


CLIENTS: Mapping[str, Callable[[Connection, Path], Snippet]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "gemini": _gemini,
}


def _headers(endpoint: Endpoint, bearer: str, secret: str) -> dict[str, str]:
    """A token that nobody wants is left out: some clients do not start without it."""
    token = {"Authorization": bearer} if endpoint.wants_token else {}
    return token | {SECRET_HEADER: secret}


def _of_paths(connection: Connection, sign: str) -> tuple[str, ...]:
    """A path that the client would read as a variable cannot be written so that it would not."""
    texts = (connection.url,) if isinstance(connection, Endpoint) else connection.command
    if not any(sign in each for each in texts):
        return ()
    return (f"A path or address in it has `{sign}`, which the client takes for a variable.",)


def _json(server: Mapping[str, object]) -> str:
    return json.dumps({"mcpServers": {NAME: server}}, ensure_ascii=False, indent=2) + "\n"


def _toml(text: str) -> str:
    """A text of TOML is written as one of JSON is, but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml_list(texts: list[str]) -> str:
    return f"[{', '.join(map(_toml, texts))}]"
