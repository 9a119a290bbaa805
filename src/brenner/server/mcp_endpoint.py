"""Three kinds of clients at one address.

Those of the protocol 2026-07-28 say so in a header, and each request stands alone. Those before it
initialise a session and name it from then on. And some programs, such as clients of Agent Mail,
just post a request: they are answered without ceremony. The SDK's manager does either sessions or
none, so there are two of them over one server.
"""

import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any

from mcp.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.types import Message, Receive, Scope, Send

from brenner.diagnostics.codes import serving as codes
from brenner.server.http import EVENTS, JSON, Answer, Closing, Refusal, as_events, first
from brenner.server.settings import ServeSettings

# Which sessions of clients are open, and which one has to go where there are too many.
#
# Programs that are killed never end their sessions. Without this, as many of them as there may be
# would keep everybody else out for a day. But somebody who opens many must not end those of others:
# an agent whose session is gone goes on in a new one, and nobody vouches for her mail any more. So
# a session that speaks for a name stays.


_LEFT_SECONDS = 600.0  # who has not spoken for a name in this time, nor said anything, is gone


class _Session:
    """When it was used last, and how many of its requests are under way."""

    def __init__(self, at: float) -> None:
        self.used_at = at
        self.under_way = 0


class Sessions:
    """The open ones, in the order in which they were opened.

    `is_bound` tells whether one speaks for a name.
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
        self._open: dict[str, _Session] = {}

    def __len__(self) -> int:
        return len(self._open)

    def opened(self, session: str) -> None:
        """There is a new one."""
        self._open[session] = _Session(self._clock())

    def forget(self, session: str) -> None:
        """It has ended."""
        self._open.pop(session, None)

    @contextmanager
    def used(self, session: str) -> Iterator[None]:
        """While something of it is under way it does not have to go."""
        known = self._open.get(session)
        if known is None:  # it is gone, or was never there
            yield
            return
        known.under_way += 1
        try:
            yield
        finally:
            known.under_way -= 1
            known.used_at = self._clock()

    @property
    def are_too_many(self) -> bool:
        """Whether one has to go before another one is opened."""
        return len(self._open) >= self._most

    def to_end(self) -> str | None:
        """The one that goes: left long ago, else the newest. None where all of them stay."""
        idle = [name for name, each in self._open.items() if not each.under_way]
        unbound = [name for name in idle if not self._is_bound(name)]
        if not unbound:
            return None
        before = self._clock() - _LEFT_SECONDS
        oldest = min(unbound, key=lambda name: self._open[name].used_at)
        return oldest if self._open[oldest].used_at < before else unbound[-1]


_SESSION, _VERSION, _ACCEPT = b"mcp-session-id", b"mcp-protocol-version", b"accept"
_IDLE_SECONDS = 24 * 60 * 60
_BOTH = f"{JSON}, {EVENTS}".encode()
_INITIALIZE = "initialize"
_INVALID_REQUEST = -32600
_OK = range(200, 300)
_BUSY = Refusal(503, codes.SERVER_BUSY.at(), ((b"retry-after", b"60"),))
_GONE = 404


class McpEndpoint:
    """The endpoint: leads each request to whoever understands it."""

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
        self._sessions = Sessions(most, is_bound)
        self._closing = Closing()

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """While this lasts, requests are answered."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._stateful.run())
            await stack.enter_async_context(self._stateless.run())
            yield

    def close_streams(self) -> None:
        """The server is about to end: streams do so now, and other answers are finished."""
        self._closing.now()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        answer, headers = Answer(send), dict(scope["headers"])
        receive = self._closing.receive(receive)
        if scope["method"] == "POST":
            await self._post(_accepting(scope, _BOTH), receive, answer, headers)
        elif scope["method"] in ("GET", "DELETE") and _SESSION in headers:
            await self._in_session(_accepting(scope, EVENTS.encode()), receive, answer)
        else:
            await _not_possible(scope).answer(answer.send)
        await answer.finish()

    async def _post(
        self, scope: Scope, receive: Receive, answer: Answer, headers: dict[bytes, bytes]
    ) -> None:
        message = await receive()
        body, receive = message.get("body", b""), first(message, receive)
        send = as_events(answer.send) if _wants_events(headers) else answer.send
        version = headers.get(_VERSION, b"").decode("latin-1")
        if body.lstrip()[:1] == b"[":
            await _batch(answer.send)
        elif version and version not in HANDSHAKE_PROTOCOL_VERSIONS:
            await self._stateless.handle_request(scope, receive, send)
        elif _SESSION in headers:
            await self._in_session(scope, receive, answer, send)
        elif _method(body) == _INITIALIZE:
            await self._open_session(scope, receive, answer, send)
        else:
            await self._stateless.handle_request(scope, receive, send)

    async def _open_session(
        self, scope: Scope, receive: Receive, answer: Answer, send: Send
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
        self, scope: Scope, receive: Receive, answer: Answer, send: Send | None = None
    ) -> None:
        session = dict(scope["headers"])[_SESSION].decode("latin-1")
        with self._sessions.used(session):
            await self._stateful.handle_request(scope, receive, send or answer.send)
        if answer.status == _GONE or scope["method"] == "DELETE":
            self._sessions.forget(session)

    async def _end(self, session: str, scope: Scope) -> None:
        """End a session that speaks for nobody, as its own client would."""
        self._sessions.forget(session)
        asked = {**scope, "method": "DELETE", "headers": [(_SESSION, session.encode("latin-1"))]}
        await self._stateful.handle_request(asked, _no_body, _to_nobody)


def _accepting(scope: Scope, kinds: bytes) -> Scope:
    """The SDK insists on clients that say what they accept; raw ones say anything, or nothing."""
    others = [each for each in scope["headers"] if each[0] != _ACCEPT]
    return {**scope, "headers": [*others, (_ACCEPT, kinds)]}


def _wants_events(headers: dict[bytes, bytes]) -> bool:
    """Whether a client takes nothing but a stream of events."""
    given = headers.get(_ACCEPT, b"").decode("latin-1").lower()
    kinds = {each.partition(";")[0].strip() for each in given.split(",")}
    return EVENTS in kinds and kinds.isdisjoint((JSON, "application/*", "*/*"))


def _method(body: bytes) -> object:
    """What a request asks for, where it may be a new session; all others are read only once."""
    if _INITIALIZE.encode() not in body:
        return None
    try:
        request = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return request.get("method") if isinstance(request, dict) else None


def _not_possible(scope: Scope) -> Refusal:
    words = {"method": scope["method"], "path": scope["path"], "allowed": "POST"}
    return Refusal(405, codes.METHOD_NOT_ALLOWED.at(**words), ((b"allow", b"POST"),))


async def _batch(send: Send) -> None:
    """Refused as the protocol does it: with an error that belongs to no request."""
    found = codes.NO_BATCHES.at()
    said = f"{found.id}: {found.message} {found.fix}"
    error = {"code": _INVALID_REQUEST, "message": said}
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
    headers = [(b"content-type", JSON.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 400, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _no_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _to_nobody(_message: Message) -> None:
    return None
