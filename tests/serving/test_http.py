"""Three kinds of clients at one address: the official one in both its eras, and raw ones."""

import asyncio
import http.client
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError

from brenner.mail.memory import MemoryMailbox
from serving.running import Inside, Reply, inside

ERAS = ("auto", "legacy")
MODERN = "2026-07-28"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    },
}
PING = {"jsonrpc": "2.0", "id": 7, "method": "ping"}
SESSION = "mcp-session-id"


@pytest.fixture
def server() -> Iterator[Inside]:
    """A server of its own, with nobody in its mailbox but the operator."""
    with inside(MemoryMailbox()) as served:
        yield served


def run(work: Callable[[], Awaitable[None]]) -> None:
    """Run a test's coroutine, for a bounded time."""

    async def bounded() -> None:
        async with asyncio.timeout(60):
            await work()

    asyncio.run(bounded())


@pytest.mark.parametrize("era", ERAS)
def test_official_client(server: Inside, era: str) -> None:
    """Connect, list, call, read; an error of a tool is a result."""

    async def work() -> None:
        async with Client(server.url, mode=era) as client:
            assert client.server_info
            assert client.server_info.name == "brenner"
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert {"send_message", "brenner_post"} <= names
            mine = await client.call_tool("register_agent", registration("BlueLake"))
            assert structured(mine)["name"] == "BlueLake"
            wrong = await client.call_tool("fetch_inbox", {"agent_name": "BleuLake"})
            assert wrong.is_error
            templates = (await client.list_resource_templates()).resource_templates
            assert templates
            with pytest.raises(MCPError):
                await client.read_resource("resource://nowhere")

    run(work)
    assert [agent.name for agent in server.workspace.mailbox.agents()] == ["BlueLake", "Operator"]


def registration(name: str) -> dict[str, str]:
    """What an agent says of itself."""
    return {"program": "claude-code", "model": "opus-4.5", "name": name}


def structured(result: Any) -> dict[str, Any]:
    """What a tool answered, which is no error."""
    assert not result.is_error, result.content
    value: dict[str, Any] = result.structured_content
    return value


@pytest.mark.parametrize("path", ["/mcp/", "/api", "/api/"])
def test_official_client_elsewhere(server: Inside, path: str) -> None:
    """All addresses are the same endpoint."""

    async def work() -> None:
        async with Client(server.base_url + path) as client:
            assert (await client.list_tools()).tools

    run(work)


def test_session_is_bound(server: Inside) -> None:
    """Who registers in a session speaks for the name there, and nobody else does."""
    mine, other = opened(server), opened(server)
    token = tool(server, mine, "register_agent", **registration("BlueLake"))
    assert token["registration_token"]
    tool(server, other, "register_agent", **registration("GreenDog"))
    for session, trust in ((mine, "verified"), (other, "unverified"), (None, "unverified")):
        sent = tool(server, session, "send_message", **make_message())
        assert sent["deliveries"][0]["payload"]["trust"] == trust


def make_message() -> dict[str, object]:
    """A message that is not of the protocol."""
    return {
        "sender_name": "BlueLake",
        "to": ["GreenDog"],
        "subject": "Lunch",
        "body_md": "At noon?",
        "thread_id": "lunch",
    }


def opened(server: Inside) -> str:
    """The id of a new session, initialised as the protocol wants it."""
    reply = server.ask("POST", "/mcp", INITIALIZE)
    assert reply.document["result"]["protocolVersion"] == "2025-11-25"
    session = reply.headers[SESSION]
    told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert server.ask("POST", "/mcp", told, {SESSION: session}).status == 202
    return session


def tool(server: Inside, session: str | None, name: str, /, **arguments: object) -> Any:
    """What a tool answers in a session, or without one."""
    result = server.rpc("tools/call", {SESSION: session}, name=name, arguments=arguments)
    assert not result.get("isError"), result
    return result["structuredContent"]


@pytest.mark.parametrize("accept", [None, "*/*", "application/json", "application/*", "text/html"])
def test_raw_client(server: Inside, accept: str | None) -> None:
    """Whatever it accepts, it gets plain JSON, without ceremony, and no session."""
    reply = server.ask("POST", "/mcp", PING, {"Accept": accept})
    assert reply.document == {"jsonrpc": "2.0", "id": 7, "result": {}}
    assert reply.headers["content-type"] == "application/json"
    assert SESSION not in reply.headers


def test_raw_client_for_events_only(server: Inside) -> None:
    """Who takes nothing else gets a stream of one event; refusals stay JSON."""
    reply = server.ask("POST", "/mcp", PING, {"Accept": "text/event-stream"})
    assert reply.headers["content-type"] == "text/event-stream"
    assert reply.document.startswith("event: message\r\ndata: {")
    data = reply.document.partition("data: ")[2]
    assert json.loads(data) == {"jsonrpc": "2.0", "id": 7, "result": {}}
    reply = server.ask("POST", "/mcp", b"{", {"Accept": "text/event-stream"})
    assert (reply.status, reply.document["error"]["code"]) == (400, -32700)


def test_raw_notification(server: Inside) -> None:
    """It is taken, and there is nothing to say."""
    told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    reply = server.ask("POST", "/mcp", told)
    assert (reply.status, reply.document) == (202, "")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b"\xff", -32700),
        (b'{"a": 1}', -32602),
        (b'"initialize"', -32602),
        (b"[]", -32600),
        (b' [{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', -32600),
    ],
)
def test_not_a_request(server: Inside, body: bytes, code: int) -> None:
    """What is no request is refused as the protocol does it, in both eras."""
    reply = server.ask("POST", "/mcp", body)
    assert (reply.status, reply.document["error"]["code"]) == (400, code)
    reply = server.ask("POST", "/mcp", body, {"mcp-protocol-version": MODERN})
    assert reply.status == 400
    assert reply.document["error"]["code"] in (code, -32600)


def test_batches_are_told(server: Inside) -> None:
    """Nothing in a batch is done, and it says how to go on."""
    call = {"name": "register_agent", "arguments": registration("BlueLake")}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    reply = server.ask("POST", "/mcp", [request])
    assert reply.document["error"]["message"].startswith("NO_BATCHES: ")
    assert [agent.name for agent in server.workspace.mailbox.agents()] == ["Operator"]


def test_unknown_protocol(server: Inside) -> None:
    """A version that nobody knows is refused with those that we know."""
    version = "2031-01-01"
    meta = {f"io.modelcontextprotocol/{key}": value for key, value in said(version).items()}
    request = PING | {"params": {"_meta": meta}}
    headers = {"mcp-protocol-version": version, "mcp-method": "ping"}
    reply = server.ask("POST", "/mcp", request, headers)
    assert reply.status == 400
    assert MODERN in str(reply.document)


def said(version: str) -> dict[str, object]:
    """What a client of the new era says of itself with each request."""
    return {"protocolVersion": version, "clientCapabilities": {}}


def test_without_a_session(server: Inside) -> None:
    """There is no stream, nothing to end, and what is gone is gone: then one begins anew."""
    for method in ("GET", "DELETE"):
        reply = server.ask(method, "/mcp")
        assert (reply.status, reply.code, reply.headers["allow"]) == (
            *(405, "METHOD_NOT_ALLOWED"),
            "POST",
        )
        assert server.ask(method, "/mcp", None, {SESSION: "gone"}).status == 404
    assert server.ask("POST", "/mcp", PING, {SESSION: "gone"}).status == 404


def test_session_ends(server: Inside) -> None:
    """DELETE ends it; then it is not there any more."""
    session = opened(server)
    assert server.ask("POST", "/mcp", PING, {SESSION: session}).document["result"] == {}
    assert server.ask("DELETE", "/mcp", None, {SESSION: session}).status == 200
    assert server.ask("POST", "/mcp", PING, {SESSION: session}).status == 404
    assert server.ask("DELETE", "/mcp", None, {SESSION: session}).status == 404


def is_there(server: Inside, session: str) -> bool:
    """Whether a session is; if not, its client is told to begin anew."""
    status = server.ask("POST", "/mcp", PING, {SESSION: session}).status
    assert status in (200, 404)
    return status == 200


@contextmanager
def stream(server: Inside, session: str) -> Iterator[http.client.HTTPResponse]:
    """The stream of a session, open."""
    headers = {SESSION: session, "Accept": "text/event-stream"}
    connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
    with closing(connection):
        connection.request("GET", "/mcp", headers=headers)
        with connection.getresponse() as response:
            yield response


def test_stream(server: Inside) -> None:
    """A session has one stream; it ends with the session, and as an answer that is whole."""
    session = opened(server)
    with stream(server, session) as one:
        assert one.status == 200
        assert one.getheader("content-type", "").startswith("text/event-stream")
        with stream(server, session) as second:
            assert second.status == 409
        assert server.ask("POST", "/mcp", PING, {SESSION: session}).status == 200
        server.ask("DELETE", "/mcp", None, {SESSION: session})
        assert one.read() == b""


def test_open_streams_do_not_keep_it_running() -> None:
    """A server that is told to end closes its streams first, and does not wait for them."""
    with inside(MemoryMailbox()) as served, stream(served, opened(served)) as one:
        served.running.stop()
        assert one.read() == b""


@pytest.mark.parametrize("era", ERAS)
def test_reconnect(era: str) -> None:
    """After a restart a client that connects again finds everything there."""
    mailbox = MemoryMailbox()

    async def register(url: str, name: str) -> None:
        async with Client(url, mode=era) as client:
            structured(await client.call_tool("register_agent", registration(name)))

    for name in ("BlueLake", "GreenDog"):
        with inside(mailbox) as served:
            run(lambda served=served, name=name: register(served.url, name))  # type: ignore[misc]
    assert [agent.name for agent in mailbox.agents()] == ["BlueLake", "GreenDog", "Operator"]


def test_session_of_another_server() -> None:
    """A session does not survive a restart: the client is told, and initialises again, also with
    the old ID in its header. One that only goes on with the old ID is answered without a session.
    """
    mailbox = MemoryMailbox()
    with inside(mailbox) as served:
        session = opened(served)
        mine = tool(served, session, "register_agent", **registration("BlueLake"))
        tool(served, session, "register_agent", **registration("GreenDog"))
    with inside(mailbox) as served:
        reply = served.ask("POST", "/mcp", PING, {SESSION: session})
        assert reply.status == 404
        assert reply.document["error"]["message"].startswith("SESSION_NOT_FOUND: Session not found")
        again = served.ask("POST", "/mcp", INITIALIZE, {SESSION: session})
        assert again.status == 200
        assert again.headers[SESSION] != session
        secret = mine["registration_token"]
        # Nothing is ever bound to the old ID: any client could have made it up.
        for more, trust in (({}, "unverified"), ({"registration_token": secret}, "verified")):
            sent = tool(served, session, "send_message", **make_message(), **more)
            assert sent["deliveries"][0]["payload"]["trust"] == trust
        params = {"name": "send_message", "arguments": make_message()}
        assert served.rpc("tools/call", {SESSION: session}, **params)["isError"]
        assert served.ask("GET", "/mcp", None, {SESSION: session}).status == 404
        assert is_there(served, opened(served))


@asynccontextmanager
async def crowd(size: int) -> AsyncIterator[httpx2.AsyncClient]:
    """A client with so many connections."""
    limits = httpx2.Limits(max_connections=size, max_keepalive_connections=size)
    async with httpx2.AsyncClient(limits=limits, timeout=60) as client:
        yield client


def test_two_hundred_at_once(server: Inside) -> None:
    """All are answered, each with its own answer."""
    params = {"name": "health_check", "arguments": {}}

    async def work() -> None:
        async with crowd(200) as client:
            request = {"jsonrpc": "2.0", "method": "tools/call", "params": params}
            asked = [client.post(server.url, json=request | {"id": each}) for each in range(200)]
            answers = await asyncio.gather(*asked)
        assert {answer.status_code for answer in answers} == {200}
        assert [answer.json()["id"] for answer in answers] == list(range(200))

    run(work)


def test_gone_clients_do_no_harm(server: Inside) -> None:
    """Who hangs up before the answer loses only that."""
    for _ in range(20):
        connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
        connection.request("POST", "/mcp", json.dumps(PING), {"Content-Type": "application/json"})
        connection.close()
    reply: Reply = server.ask("POST", "/mcp", PING)
    assert reply.status == 200
