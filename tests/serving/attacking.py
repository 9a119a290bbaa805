"""A server with a victim, an attacker and an operator, and the requests that an attacker makes."""

import http.client
import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, NamedTuple

from brenner.mail.memory import MemoryMailbox
from brenner.server.settings import ServeSettings
from brenner.services.identity import claim_name
from serving.running import Inside, inside

VICTIM, ATTACKER, OPERATOR = "BlueLake", "GreenDog", "Operator"
SESSION, SECRET, CHECKED = "Mcp-Session-Id", "Brenner-Secret", "Brenner-Checked"
MODERN = "2026-07-28"
PATIENCE = 60
_NONE: Mapping[str, str] = MappingProxyType({})
_INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "raw", "version": "1"},
}


class Scene(NamedTuple):
    """The server, the sessions of both, and the secrets of all."""

    server: Inside
    sessions: Mapping[str, str]
    secrets: Mapping[str, str]

    @property
    def words(self) -> dict[str, str]:
        """What stands for sessions and secrets in a table of attempts."""
        found = {f"session of {name}": each for name, each in self.sessions.items()}
        found |= {f"secret of {name}": each for name, each in self.secrets.items()}
        found["start of the secret"] = self.secrets[VICTIM][:-1]
        found["secret in capitals"] = self.secrets[VICTIM].upper()
        found["digest"] = str(self.server.workspace.mailbox.digest(VICTIM))
        return found

    def try_it(self, tool: str, headers: Mapping[str, str], **arguments: object) -> str:
        """What comes of a call: the status of a refusal, a code, or how far it was believed."""
        words = self.words
        shown = {name: words.get(value, value) for name, value in headers.items()}
        given = {
            name: words.get(value, value) if isinstance(value, str) else value
            for name, value in arguments.items()
        }
        reply = self.server.ask("POST", "/mcp", request(tool, given), shown)
        if reply.status != http.HTTPStatus.OK:
            return str(reply.status)
        return outcome(reply.document["result"])

    def sent(self) -> list[tuple[str, str]]:
        """Who has sent what is stored, and how far it is believed."""
        stored = self.server.workspace.mailbox.thread("lunch").messages
        return [(each.message.sender, str(each.envelope.trust)) for each in stored]


def request(tool: str, arguments: Mapping[str, object]) -> dict[str, Any]:
    """A call of a tool."""
    params = {"name": tool, "arguments": dict(arguments)}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def outcome(result: Mapping[str, Any]) -> str:
    """The code of an error; of what was done, how far the caller was believed."""
    content = result["structuredContent"]
    if result.get("isError"):
        return str(content["error"]["id"])
    if "deliveries" in content:
        return str(content["deliveries"][0]["payload"]["trust"])
    if "verified" in content:
        return "verified" if content["verified"] else "unverified"
    return "done"


def make_message(sender: str = VICTIM, body: str = "At noon?") -> dict[str, object]:
    """A message that is not of the protocol."""
    return {
        "sender_name": sender,
        "to": [ATTACKER],
        "subject": "Lunch",
        "body_md": body,
        "thread_id": "lunch",
    }


def opened(server: Inside) -> str:
    """A session, initialised as the protocol wants it."""
    begin = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": _INITIALIZE}
    session = server.ask("POST", "/mcp", begin).headers[SESSION.lower()]
    told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert server.ask("POST", "/mcp", told, {SESSION: session}).status == http.HTTPStatus.ACCEPTED
    return session


@contextmanager
def scene(settings: ServeSettings | None = None) -> Iterator[Scene]:
    """Both are registered, each in a session of its own; the operator has a secret, too."""
    unhurried = ServeSettings(port=0, requests_a_second=1_000_000)
    with inside(MemoryMailbox(), settings=settings or unhurried) as server:
        sessions, secrets = {}, {}
        for name in (VICTIM, ATTACKER):
            sessions[name] = opened(server)
            profile = {"program": "codex", "model": "gpt", "name": name}
            document = request("register_agent", profile)
            reply = server.ask("POST", "/mcp", document, {SESSION: sessions[name]})
            content = reply.document["result"]["structuredContent"]
            secrets[name] = content["registration_token"]
        operators = claim_name(server.workspace.mailbox, OPERATOR)
        assert operators
        yield Scene(server, sessions, secrets | {OPERATOR: operators})


def raw(method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> bytes:
    """The bytes of a request."""
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def written(server: Inside, said: bytes) -> tuple[int, bytes]:
    """Send bytes as they are; the status and the body of what comes back."""
    with socket.create_connection((server.host, server.port), timeout=PATIENCE) as connection:
        connection.sendall(said)
        response = http.client.HTTPResponse(connection)
        response.begin()
        return response.status, response.read()


def call_bytes(tool: str, headers: Mapping[str, str] = _NONE, **arguments: object) -> bytes:
    """A call of a tool, as somebody may have captured it."""
    body = json.dumps(request(tool, arguments)).encode()
    return raw("POST", "/mcp", {"Host": "localhost", **headers}, body)
