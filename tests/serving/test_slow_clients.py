"""Clients that take their time are cut off, and nobody else waits; so is a store that hangs."""

import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Profile, SendResult
from brenner.server.middleware import AccessMiddleware
from brenner.server.settings import ServeSettings
from serving.running import Inside, inside

SOON = 0.3  # seconds until somebody is cut off here
PATIENCE = 60
PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
HEAD = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Inside]:
    """A server that is in a hurry."""
    monkeypatch.setattr(AccessMiddleware, "body_seconds", SOON)
    with inside(MemoryMailbox()) as served:
        yield served


def connected(server: Inside) -> socket.socket:
    """A connection on which nothing was said."""
    return socket.create_connection((server.host, server.port), timeout=PATIENCE)


def heard(connection: socket.socket) -> bytes:
    """Everything that comes until the server hangs up."""
    found = b""
    try:
        while piece := connection.recv(65_536):
            found += piece
    except ConnectionResetError:
        pass
    return found


def test_body_never_ends(server: Inside) -> None:
    """Who sends only part of a body is told, and hung up on."""
    with connected(server) as connection:
        connection.sendall(HEAD + b"Content-Length: 100\r\n\r\n" + PING)
        answer = heard(connection)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"REQUEST_TOO_SLOW" in answer
    with connected(server) as connection:
        connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n")
        assert heard(connection).startswith(b"HTTP/1.1 408 ")


class Hanging(MemoryMailbox):
    """A mailbox that stores nothing until it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.is_requested, self.may_go_on = threading.Event(), threading.Event()

    def send(self, *arguments: Any, **options: Any) -> SendResult:
        self.is_requested.set()
        assert self.may_go_on.wait(PATIENCE)
        return super().send(*arguments, **options)


def test_store_hangs_at_the_end() -> None:
    """Who waits is told that nobody knows; nothing that was begun is given up halfway."""
    mailbox, replies = Hanging(), []
    mailbox.register(Profile("BlueLake"))
    arguments = {"sender_name": "BlueLake", "to": ["BlueLake"], "subject": "Hi", "body_md": "Ho"}
    params = {"name": "send_message", "arguments": arguments | {"thread_id": "hi"}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    settings = ServeSettings(port=0, grace_seconds=1)
    with inside(mailbox, settings=settings) as served:
        sender = threading.Thread(
            target=lambda: replies.append(served.ask("POST", "/mcp", request))
        )
        sender.start()
        assert mailbox.is_requested.wait(PATIENCE)
        served.running.stop()
        sender.join(PATIENCE)
        mailbox.may_go_on.set()
    assert [(reply.status, reply.code) for reply in replies] == [(500, "CUT_OFF")]
    assert len(mailbox.thread("hi").messages) == 1
