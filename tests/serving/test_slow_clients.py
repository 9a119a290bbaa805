"""Clients that take their time are cut off, and nobody else waits; so is a store that hangs."""

import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Profile, SendResult
from brenner.protocol.messages import Message
from brenner.server.connections import TimedConnection
from brenner.server.middleware import AccessMiddleware
from brenner.server.settings import ServeSettings
from servers.lifetime import until
from serving.running import Inside, inside

SOON = 0.3  # seconds until somebody is cut off here
PATIENCE = 60
PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
HEAD = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Inside]:
    """A server that is in a hurry."""
    monkeypatch.setattr(TimedConnection, "request_seconds", SOON)
    monkeypatch.setattr(TimedConnection, "stalled_seconds", SOON)
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


@pytest.mark.parametrize("said", [b"", b"GET", HEAD[:-2]])
def test_headers_never_end(server: Inside, said: bytes) -> None:
    """Who does not come to the point is hung up on."""
    with connected(server) as connection:
        connection.sendall(said)
        assert heard(connection) == b""
    assert server.rpc("ping") == {}


def test_next_request_never_ends(server: Inside) -> None:
    """Also who has been answered before."""
    with connected(server) as connection:
        connection.sendall(HEAD + f"Content-Length: {len(PING)}\r\n\r\n".encode() + PING + b"GET ")
        assert heard(connection).count(b"HTTP/1.1 200") == 1


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


def test_unwanted_body_never_ends(server: Inside) -> None:
    """What is too large is thrown away only for so long."""
    with connected(server) as connection:
        connection.sendall(HEAD + b"Content-Length: 100000000\r\n\r\n" + PING)
        assert connection.recv(13) == b"HTTP/1.1 413 "
        for _ in until(lambda: is_cut_off(connection), PATIENCE):
            pass
    assert server.rpc("ping") == {}


def is_cut_off(connection: socket.socket) -> bool:
    """Whether nobody takes another byte."""
    try:
        connection.sendall(b" ")
    except ConnectionError:
        return True
    return False


def test_never_reads(server: Inside) -> None:
    """Large answers to somebody who does not read them are thrown away; others are served."""
    mailbox = server.workspace.mailbox
    mailbox.register(Profile("BlueLake"))
    for number in range(12):
        text = f"{number} " + "x" * 900_000
        mailbox.send(Message("big", "BlueLake", ("BlueLake",), f"Big {number}", text))
    arguments = {"agent_name": "BlueLake", "include_bodies": True, "limit": 12}
    params = {"name": "fetch_inbox", "arguments": arguments}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    body = json.dumps(request).encode()
    whole = HEAD + f"Content-Length: {len(body)}\r\n\r\n".encode() + body
    greedy = [connected(server) for _ in range(3)]
    for each in greedy:
        each.sendall(whole * 5)
    assert server.rpc("ping") == {}
    for _ in until(lambda: not server.running.server_state.connections, PATIENCE):
        assert server.rpc("ping") == {}
    for each in greedy:
        each.close()


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
