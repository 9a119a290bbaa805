"""What one client takes of the server, others still have: requests, rooms for bodies, sessions."""

import http.client
import json
import socket
from collections import Counter

import pytest
from mcp_types import JSONRPCError

from brenner.limits import MOST_REQUEST_BYTES
from brenner.mail.memory import MemoryMailbox
from brenner.mcp.arguments import check_raw_size
from brenner.mcp.stdio import message_of
from brenner.server.mcp_endpoint import SessionTable
from brenner.server.middleware import RequestRates
from brenner.server.settings import ServeSettings
from serving.attacking import SESSION, opened, raw, request
from serving.running import Inside, inside

PATIENCE = 60
PING = {"jsonrpc": "2.0", "id": 7, "method": "ping"}
TOKEN = "s3cret-of-the-endpoint"  # noqa: S105  (made up)
UNHURRIED = ServeSettings(port=0, requests_a_second=1_000_000)
MEGABYTE = 1_000_000
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "raw", "version": "1"},
}


# What is parsed


TOO_MUCH = (
    *(b"[" * 100_000, b'{"a": ' * 100_000, b"[" * 50 + b"]" * 50),
    b'{"x": [' + b"[]," * 100_000 + b"[]]}",
    b"[" + b'"",' * 100_000 + b'""]',
    b'{"x": ' + b'"\\"" ' * 100_000,
)


def test_too_much_to_parse() -> None:
    """What would take much more memory than it has bytes is refused before it is parsed."""
    with inside(MemoryMailbox(), settings=UNHURRIED) as server:
        for body in TOO_MUCH:
            for headers in ({}, {"mcp-protocol-version": "2026-07-28"}):
                reply = server.ask("POST", "/mcp", body, headers)
                assert (reply.status, reply.code) == (413, "ARGUMENTS_TOO_LARGE")


def test_too_much_to_parse_in_a_line() -> None:
    """Over the standard input, too."""
    for line in TOO_MUCH:
        answer = message_of(line)
        assert isinstance(answer, JSONRPCError)
        assert answer.error.message.startswith("ARGUMENTS_TOO_LARGE: ")


@pytest.mark.parametrize("character", ["[", ",", '"', "\\", "\n", "ж", "🙂", '\\\\"'])
@pytest.mark.parametrize("is_ascii", [True, False])
def test_texts_are_passed_over(character: str, *, is_ascii: bool) -> None:
    """A long text in one argument is one value, whatever it holds and however it is written."""
    text = character * (4 * 1024 * 1024 // len(character.encode()))
    body = json.dumps(request("send_message", {"body_md": text}), ensure_ascii=is_ascii).encode()
    assert len(body) < MOST_REQUEST_BYTES
    assert check_raw_size(body) is None


def test_as_much_as_the_arguments_may_have() -> None:
    """What the arguments may be is never refused before they are looked at."""
    values: dict[str, object] = {str(number): [{"x": number}] for number in range(6_600)}
    assert check_raw_size(json.dumps(request("x", values)).encode()) is None
    deep: object = "x"
    for _ in range(31):
        deep = [deep]
    assert check_raw_size(json.dumps(request("x", {"deep": deep})).encode()) is None


# Rooms for bodies


def unfinished(server: Inside, size: int) -> socket.socket:
    """Somebody who has sent a body, but for its last byte."""
    connection = socket.create_connection((server.host, server.port), timeout=PATIENCE)
    head = f"Content-Type: application/json\r\nContent-Length: {size}\r\n\r\n"
    connection.sendall(f"POST /mcp HTTP/1.1\r\nHost: localhost\r\n{head}".encode())
    connection.sendall(b" " * (size - 1))
    return connection


# Requests


def test_a_flood_on_one_connection() -> None:
    """It uses up what all share; another connection still has its own."""
    now = 0.0
    turns = RequestRates(100, lambda: now)
    assert turns.wait("a", 2) == 0
    while not turns.wait("a", 1):
        pass
    assert [turns.wait("a", 2) for _ in range(19)] == [0.0] * 19
    assert turns.wait("a", 2) > 0
    assert turns.wait("a", 3) > 0  # who is new has to wait
    assert turns.wait("b", 1) == 0
    now = 0.05
    assert turns.wait("a", 3) == 0


def test_a_flood_without_the_token() -> None:
    """It takes nothing from those who have it, and is itself turned away."""
    settings = ServeSettings(port=0, token=TOKEN, requests_a_second=100)
    with inside(MemoryMailbox(), settings=settings) as server:
        said = raw("GET", "/", {"Host": "localhost"})
        with socket.create_connection((server.host, server.port), timeout=PATIENCE) as stranger:
            found = Counter(asked(stranger, said) for _ in range(400))
        assert set(found) == {401, 429}
        assert server.ask("POST", "/mcp", PING).document["result"] == {}
        without = {"Authorization": None}
        # On a slow machine there is room again by now, for so many.
        replies = (server.ask("GET", "/health/liveness", None, without) for _ in range(400))
        reply = next(each for each in replies if each.status != http.HTTPStatus.OK)
        assert (reply.status, reply.code) == (429, "TOO_MANY_REQUESTS")
        assert "without the token" in reply.document["detail"]


def asked(connection: socket.socket, said: bytes) -> int:
    """The status of the answer to a request."""
    connection.sendall(said)
    response = http.client.HTTPResponse(connection)
    response.begin()
    response.read()
    return response.status


# Sessions


FEW = ServeSettings(port=0, most_connections=3)


def lives(server: Inside, session: str) -> bool:
    """Whether a session does; if not, its client is told to begin anew."""
    return server.ask("POST", "/mcp", PING, {SESSION: session}).status == 200


def test_newest_session_makes_room() -> None:
    """Those that nobody ends keep nobody out, and who opens many does not end those of others."""
    with inside(MemoryMailbox(), settings=FEW) as server:
        first, second, third = (opened(server) for _ in range(3))
        fourth = opened(server)
        found = [lives(server, each) for each in (first, second, third, fourth)]
        assert found == [True, True, False, True]


def test_session_that_speaks_for_a_name_stays() -> None:
    """However many others are opened; where all of them do, the next one is turned away."""
    with inside(MemoryMailbox(), settings=FEW) as server:
        bound: list[str] = []
        for name in ("BlueLake", "GreenDog", "RedStone"):
            bound.append(opened(server))
            profile = {"name": name, "program": "codex", "model": "gpt"}
            server.ask("POST", "/mcp", request("register_agent", profile), {SESSION: bound[-1]})
            for _ in range(4 if len(bound) < 3 else 0):
                opened(server)
            assert all(lives(server, each) for each in bound)
        begin = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": INITIALIZE}
        reply = server.ask("POST", "/mcp", begin)
        assert (reply.status, reply.code) == (503, "SERVER_BUSY")
        assert all(lives(server, each) for each in bound)


def test_sessions_that_were_left() -> None:
    """They go first, the one that was left longest ago before the others."""
    now = 0.0
    bound = {"a"}
    sessions = SessionTable(3, bound.__contains__, lambda: now)
    for name in "abc":
        sessions.opened(name)
        now += 1
    assert sessions.to_end() == "c"
    now = 1_000.0
    assert sessions.to_end() == "b"
    with sessions.used("b"):
        assert sessions.to_end() == "c"
        with sessions.used("c"):
            assert sessions.to_end() is None
    bound.update("bc")
    assert sessions.to_end() is None
