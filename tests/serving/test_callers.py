"""Who calls, as far as a connection over HTTP tells."""

import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp_types import CLIENT_CAPABILITIES_META_KEY, PROTOCOL_VERSION_META_KEY
from mcp_types.version import LATEST_MODERN_VERSION

from brenner.mcp.server import build
from brenner.mcp.tool import Call, Tool, ToolResult
from serving.own_offers import HIDDEN, brain_parts

_SESSION = "Mcp-Session-Id"
_ACCEPT = {"accept": "application/json, text/event-stream"}
_INITIALISE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "raw", "version": "1"},
}


def told(call: Call) -> ToolResult:
    """Who calls."""
    caller = call.caller
    return ToolResult([caller.connection, caller.secret, caller.is_strict, caller.is_checked])


WHO = (Tool("who", "Who calls.", (), told),)
Post = Callable[[str, Mapping[str, Any], Mapping[str, str]], Awaitable[httpx2.Response]]


def over_http(
    folder: Path, said: Callable[[Post], Awaitable[None]], *, stateless: bool = False
) -> None:
    """A server inside the process, and requests to it."""

    async def run() -> None:
        server = build(*brain_parts(folder, is_strict=True), WHO, ())
        app = server.streamable_http_app(json_response=True, stateless_http=stateless)
        transport = httpx2.ASGITransport(app=app)
        client = httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000")

        async def post(
            method: str, params: Mapping[str, Any], headers: Mapping[str, str]
        ) -> httpx2.Response:
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            return await client.post("/mcp", json=body, headers={**_ACCEPT, **headers})

        async with server.session_manager.run(), client:
            await said(post)

    anyio.run(run)


async def who(post: Post, headers: Mapping[str, str], meta: Mapping[str, Any] | None = None) -> Any:
    """What the tool says of the caller."""
    params = {"name": "who", "arguments": {}} | ({"_meta": meta} if meta else {})
    answer = await post("tools/call", params, headers)
    return json.loads(answer.text)["result"]["structuredContent"]["result"]


def test_a_session_is_a_connection(tmp_path: Path) -> None:
    """Its id is the transport's; the secret and the mark of our own programs are headers."""

    async def said(post: Post) -> None:
        session = (await post("initialize", _INITIALISE, {})).headers[_SESSION]
        assert await who(post, {_SESSION: session}) == [session, None, True, False]
        more = {_SESSION: session, "Brenner-Secret": HIDDEN, "brenner-checked": "True"}
        assert await who(post, more) == [session, HIDDEN, True, True]
        unlogged = {_SESSION: session, "Brenner-Secret-Authorization": HIDDEN}
        assert await who(post, unlogged) == [session, HIDDEN, True, False]
        assert await who(post, {_SESSION: session, "Brenner-Checked": "no"}) == [
            *(session, None, True, False)
        ]

    over_http(tmp_path, said)


def test_a_request_that_stands_alone_has_no_connection(tmp_path: Path) -> None:
    """Whatever it writes into the header: nobody has made sure of it."""
    forged = {_SESSION: "0123456789abcdef0123456789abcdef"}

    async def said(post: Post) -> None:
        assert await who(post, {}) == [None, None, True, False]
        assert await who(post, forged) == [None, None, True, False]

    over_http(tmp_path, said, stateless=True)


def test_the_newer_protocol_has_no_sessions(tmp_path: Path) -> None:
    """Not even where the id of a real one is shown."""
    modern = {
        "mcp-protocol-version": LATEST_MODERN_VERSION,
        "mcp-method": "tools/call",
        "mcp-name": "who",
    }
    meta = {PROTOCOL_VERSION_META_KEY: LATEST_MODERN_VERSION, CLIENT_CAPABILITIES_META_KEY: {}}

    async def said(post: Post) -> None:
        session = (await post("initialize", _INITIALISE, {})).headers[_SESSION]
        headers = {**modern, _SESSION: session, "Brenner-Secret": HIDDEN}
        assert await who(post, headers, meta) == [None, HIDDEN, True, False]

    over_http(tmp_path, said)
