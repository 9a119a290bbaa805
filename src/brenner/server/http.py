"""HTTP parts that middleware and MCP endpoint share: refusals, headers, event streams."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from brenner.named_tuple import NamedTuple

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

    from brenner.diagnostics.model import Diagnostic

# Refusals


Headers = tuple[tuple[bytes, bytes], ...]


class Refusal(NamedTuple):
    """An error response as JSON, mostly sent before the application sees the request."""

    status: int
    why: Diagnostic
    headers: Headers = ()

    @property
    def body(self) -> bytes:
        """Return JSON with the key `detail`, which web clients look for: code, message and fix
        as one text.
        """
        detail = f"{self.why.id}: {self.why.message} {self.why.fix}"
        return json.dumps({"detail": detail}, ensure_ascii=False).encode()

    async def answer(self, send: Send) -> None:
        """Send the response."""
        length = (b"content-length", str(len(self.body)).encode())
        headers = [(b"content-type", b"application/json"), length, *self.headers]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


# Headers


Fields = Mapping[bytes, tuple[bytes, ...]]
NOTHING: tuple[bytes, ...] = ()


def headers_of(scope: Scope) -> Fields:
    """Return the headers of a request. A repeated header has several values."""
    found: dict[bytes, tuple[bytes, ...]] = {}
    for name, value in scope["headers"]:
        found[name] = (*found.get(name, ()), value)
    return MappingProxyType(found)


def media_type_of(fields: Fields) -> bytes:
    """Return the media type of the body; empty if the header is missing or repeated."""
    given = fields.get(b"content-type", NOTHING)
    return given[0].partition(b";")[0].strip().lower() if len(given) == 1 else b""


# Event streams


EVENTS, JSON = "text/event-stream", "application/json"
_EVENTS_TYPE = (b"content-type", EVENTS.encode())
_OK = 200


def until_closed(receive: Receive, closing: asyncio.Event) -> Receive:
    """Wrap `receive` so that after `closing` an open stream looks like a disconnected client.

    The request itself is read first, so that other responses are finished.
    """
    is_read = False

    async def next_message() -> Message:
        nonlocal is_read
        if is_read:
            return await _either(receive, closing)
        message = await receive()
        is_read = not message.get("more_body", False)
        return message

    return next_message


async def _either(receive: Receive, closing: asyncio.Event) -> Message:
    waiting = [asyncio.ensure_future(receive()), asyncio.ensure_future(closing.wait())]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if waiting[0].done():
            message: Message = waiting[0].result()  # type: ignore[assignment]
            return message
        return {"type": "http.disconnect"}
    finally:
        for each in waiting:
            each.cancel()


class ResponseTracker:
    """The response of one request, with what was seen of it while it was sent."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status: int | None = None
        self.headers: list[tuple[bytes, bytes]] = []
        self._is_whole = False

    async def send(self, message: Message) -> None:
        """Pass on a part of the response."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = list(message.get("headers", ()))
        elif message["type"] == "http.response.body":
            self._is_whole = not message.get("more_body", False)
        await self._send(message)

    async def finish(self) -> None:
        """End an open stream as a complete response."""
        if self.status is not None and not self._is_whole:
            await self.send({"type": "http.response.body", "body": b""})


def as_event_stream(send: Send) -> Send:
    """Wrap `send` so that a successful JSON response becomes a stream of one event."""
    start: Message | None = None
    document = bytearray()

    async def send_event(message: Message) -> None:
        nonlocal start
        if message["type"] == "http.response.start" and _is_document(message):
            start = message
        elif message["type"] == "http.response.body" and start is not None:
            document.extend(message.get("body", b""))
            if not message.get("more_body", False):
                await send({**start, "headers": _event_stream_headers(start)})
                event = b"event: message\r\ndata: " + bytes(document) + b"\r\n\r\n"
                await send({"type": "http.response.body", "body": event})
        else:
            await send(message)

    return send_event


def _is_document(start: Message) -> bool:
    return start["status"] == _OK and any(
        name == b"content-type" and value.startswith(JSON.encode())
        for name, value in start.get("headers", ())
    )


def _event_stream_headers(start: Message) -> list[tuple[bytes, bytes]]:
    left_out = (b"content-type", b"content-length")
    kept = [each for each in start.get("headers", ()) if each[0] not in left_out]
    return [*kept, _EVENTS_TYPE, (b"cache-control", b"no-cache, no-transform")]


def replay_first(message: Message, receive: Receive) -> Receive:
    """Wrap `receive` so that it returns this message first."""
    waiting = [message]

    async def receive_next() -> Message:
        return waiting.pop() if waiting else await receive()

    return receive_next
