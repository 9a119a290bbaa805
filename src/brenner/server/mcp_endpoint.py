"""The MCP endpoint: three kinds of clients at one address.

Clients of protocol 2026-07-28 say so in a header, and each of their requests is independent. Older
clients initialise a session and name it in every request. Some programs, such as clients of Agent
Mail, just post a request and get an answer. A session manager of the SDK is either stateful or
stateless, so there are two of them over one server.

A session does not survive a restart of the server. Its client gets 404, as the protocol demands,
and should then initialise a new one. Codex and Claude Code do. Gemini CLI does not: it goes on with
the old ID for ever. So a client that repeats the ID of an unknown session gets an answer without a
session.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from brenner.diagnostics.codes import serving as codes
from brenner.server.http import (
    EVENTS,
    JSON,
    Refusal,
    ResponseTracker,
    as_event_stream,
    replay_first,
    until_closed,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from mcp.server import Server
    from starlette.types import Message, Receive, Scope, Send

    from brenner.diagnostics.model import Diagnostic
    from brenner.server.settings import ServeSettings

# Sessions
#
# A killed program never ends its session, so old sessions must be evicted or they would block new
# clients for a day. But a client that opens many sessions must not evict an authenticated one: its
# agent would continue in a new session, and its mail would become unverified.


_LEFT_SECONDS = 600.0  # an unauthenticated session unused for so long may be evicted first
_MOST_REFUSED = 10_000


class SessionTable:
    """The open sessions, oldest first.

    `is_bound` returns whether a session is authenticated for an agent's name.
    """

    def __init__(
        self,
        most: int,
        is_bound: Callable[[str], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = most
        self._is_bound = is_bound
        self._clock = clock
        self._open: dict[str, tuple[float, int]] = {}  # last use, and requests under way
        self._refused: OrderedDict[int, None] = OrderedDict()  # hashes of made-up IDs of any length

    def __contains__(self, session: str) -> bool:
        return session in self._open

    def __len__(self) -> int:
        return len(self._open)

    def opened(self, session: str) -> None:
        """Add a session."""
        self._open[session] = (self._clock(), 0)

    def forget(self, session: str) -> None:
        """Remove a session that has ended."""
        self._open.pop(session, None)

    def refuse(self, session: str) -> bool:
        """Record that the client of an unknown session was told. Return whether it had been told
        before.
        """
        if hash(session) in self._refused:
            return True
        self._refused[hash(session)] = None
        while len(self._refused) > _MOST_REFUSED:
            self._refused.popitem(last=False)
        return False

    @contextmanager
    def used(self, session: str) -> Iterator[None]:
        """Protect a session from eviction while one of its requests is open."""
        self._count(session, 1)
        try:
            yield
        finally:
            self._count(session, -1)

    def _count(self, session: str, more: int) -> None:
        if session in self._open:
            self._open[session] = (self._clock(), self._open[session][1] + more)

    @property
    def are_too_many(self) -> bool:
        """Return whether a session must end before another can open."""
        return len(self._open) >= self._most

    def to_end(self) -> str | None:
        """Return the session to evict: one unused for long, else the newest. None if none can
        be.
        """
        idle = [name for name, (_, under_way) in self._open.items() if not under_way]
        unbound = [name for name in idle if not self._is_bound(name)]
        if not unbound:
            return None
        before = self._clock() - _LEFT_SECONDS
        oldest = min(unbound, key=lambda name: self._open[name][0])
        return oldest if self._open[oldest][0] < before else unbound[-1]


_SESSION, _VERSION, _ACCEPT = b"mcp-session-id", b"mcp-protocol-version", b"accept"
_IDLE_SECONDS = 24 * 60 * 60
_BOTH = f"{JSON}, {EVENTS}".encode()
_INITIALIZE = "initialize"
_INVALID_REQUEST = -32600
_OK = range(200, 300)
_BUSY = Refusal(503, codes.SERVER_BUSY.at(), ((b"retry-after", b"60"),))
_GONE = 404
_SESSION_NOT_FOUND = -32001  # as the other SDKs of the protocol have it, and clients look for it


class McpEndpoint:
    """The endpoint. It routes each request to the session manager that understands it."""

    def __init__(
        self, server: Server[Any], settings: ServeSettings, is_bound: Callable[[str], bool]
    ) -> None:
        most, most_bytes = settings.most_connections, settings.most_request_bytes
        self._stateful = StreamableHTTPSessionManager(
            server,
            json_response=True,
            session_idle_timeout=_IDLE_SECONDS,
            max_request_body_size=most_bytes,
            max_sessions=most,
        )
        self._stateless = StreamableHTTPSessionManager(
            server, json_response=True, stateless=True, max_request_body_size=most_bytes
        )
        self._sessions = SessionTable(most, is_bound)
        self._closing = asyncio.Event()

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Run both session managers."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._stateful.run())
            await stack.enter_async_context(self._stateless.run())
            yield

    def close_streams(self) -> None:
        """Close open streams before shutdown. Other responses are finished."""
        self._closing.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        answer, headers = ResponseTracker(send), dict(scope["headers"])
        receive = until_closed(receive, self._closing)
        if scope["method"] == "POST":
            await self._post(_with_accept_header(scope, _BOTH), receive, answer, headers)
        elif scope["method"] in ("GET", "DELETE") and _SESSION in headers:
            await self._in_session(_with_accept_header(scope, EVENTS.encode()), receive, answer)
        else:
            await _method_not_allowed(scope).answer(answer.send)
        await answer.finish()

    async def _post(
        self, scope: Scope, receive: Receive, answer: ResponseTracker, headers: dict[bytes, bytes]
    ) -> None:
        message = await receive()
        body, receive = message.get("body", b""), replay_first(message, receive)
        send = as_event_stream(answer.send) if _wants_events(headers) else answer.send
        version = headers.get(_VERSION, b"").decode("latin-1")
        session = headers.get(_SESSION, b"").decode("latin-1")
        if body.lstrip()[:1] == b"[":
            await _json_rpc_error(answer.send, 400, _INVALID_REQUEST, codes.NO_BATCHES.at())
        elif version and version not in HANDSHAKE_PROTOCOL_VERSIONS:
            await self._stateless.handle_request(scope, receive, send)
        elif session in self._sessions:
            await self._in_session(scope, receive, answer, send)
        elif _method(body) == _INITIALIZE:
            await self._open_session(_without_session(scope), receive, answer, send)
        elif session and not self._sessions.refuse(session):
            found = codes.SESSION_NOT_FOUND.at()
            await _json_rpc_error(answer.send, _GONE, _SESSION_NOT_FOUND, found)
        else:
            await self._stateless.handle_request(_without_session(scope), receive, send)

    async def _open_session(
        self, scope: Scope, receive: Receive, answer: ResponseTracker, send: Send
    ) -> None:
        while self._sessions.are_too_many:
            unneeded = self._sessions.to_end()
            if unneeded is None:
                await _BUSY.answer(answer.send)
                return
            await self._end(unneeded, scope)
        await self._stateful.handle_request(scope, receive, send)
        opened = dict(answer.headers).get(_SESSION)
        if opened is not None and answer.status in _OK:
            self._sessions.opened(opened.decode("latin-1"))

    async def _in_session(
        self, scope: Scope, receive: Receive, answer: ResponseTracker, send: Send | None = None
    ) -> None:
        session = dict(scope["headers"])[_SESSION].decode("latin-1")
        with self._sessions.used(session):
            await self._stateful.handle_request(scope, receive, send or answer.send)
        if answer.status == _GONE or scope["method"] == "DELETE":
            self._sessions.forget(session)
        if answer.status == _GONE and scope["method"] == "POST":
            self._sessions.refuse(session)

    async def _end(self, session: str, scope: Scope) -> None:
        """End an unauthenticated session as its own client would."""
        self._sessions.forget(session)
        asked = {**scope, "method": "DELETE", "headers": [(_SESSION, session.encode("latin-1"))]}
        await self._stateful.handle_request(asked, _no_body, _discard)


def _with_accept_header(scope: Scope, kinds: bytes) -> Scope:
    """Set the `Accept` header that the SDK requires: plain clients send any or none."""
    others = [each for each in scope["headers"] if each[0] != _ACCEPT]
    return {**scope, "headers": [*others, (_ACCEPT, kinds)]}


def _without_session(scope: Scope) -> Scope:
    """Remove the ID of a session that does not exist (any more)."""
    return {**scope, "headers": [each for each in scope["headers"] if each[0] != _SESSION]}


def _wants_events(headers: dict[bytes, bytes]) -> bool:
    """Return whether a client accepts an event stream only."""
    given = headers.get(_ACCEPT, b"").decode("latin-1").lower()
    kinds = {each.partition(";")[0].strip() for each in given.split(",")}
    return EVENTS in kinds and kinds.isdisjoint((JSON, "application/*", "*/*"))


def _method(body: bytes) -> object:
    """Return the JSON-RPC method if the request may open a session. Others are parsed only once."""
    if _INITIALIZE.encode() not in body:
        return None
    try:
        request = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return request.get("method") if isinstance(request, dict) else None


def _method_not_allowed(scope: Scope) -> Refusal:
    words = {"method": scope["method"], "path": scope["path"], "allowed": "POST"}
    return Refusal(405, codes.METHOD_NOT_ALLOWED.at(**words), ((b"allow", b"POST"),))


async def _json_rpc_error(send: Send, status: int, code: int, found: Diagnostic) -> None:
    """Refuse a request with a JSON-RPC error that belongs to no request."""
    said = f"{found.id}: {found.message} {found.fix}"
    error = {"code": code, "message": said}
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
    headers = [(b"content-type", JSON.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _no_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _discard(_message: Message) -> None:
    return None
