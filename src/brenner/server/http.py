"""Under which names the server is reached. A request for another name is none of ours.

A browser lets a web page talk to the name that it came from, and a name can be made to point to
this machine. The port does not matter: no page gets another name by way of it.
"""

import asyncio
import json
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import urlsplit

from starlette.types import Message, Receive, Scope, Send

from brenner.diagnostics.model import Diagnostic

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_SCHEMES = ("http", "https")


def plain(name: str) -> str:
    """A host's name or address as it is compared: in small letters, without brackets."""
    name = name.strip().lower()
    return name[1:-1] if name.startswith("[") and name.endswith("]") else name


class Hosts:
    """The names that count: those of loopback, our own address, and what the operator allows."""

    def __init__(self, address: str, allowed: Iterable[str] = ()) -> None:
        names = {plain(without_port(name)) for name in allowed}
        self._names = names.union(LOOPBACK, () if is_any(address) else (plain(address),))

    def has(self, authority: str, reached: str | None = None) -> bool:
        """Whether `name` or `name:port` is one of them, or the address that was connected to.

        That one is no name which somebody could have made to point here.
        """
        name = plain(without_port(authority))
        return bool(name) and (name in self._names or name == reached)

    def has_origin(self, origin: str, reached: str | None = None) -> bool:
        """Whether a page came from there; `null`, which hides where it came from, did not."""
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        is_bare = not (parts.path or parts.query or parts.fragment or "@" in parts.netloc)
        return parts.scheme in _SCHEMES and is_bare and self.has(parts.netloc, reached)


def authority(host: str, port: int | str) -> str:
    """`host:port`, an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host and "]" not in host else f"{host}:{port}"


def is_any(address: str) -> bool:
    """Whether it stands for every address of this machine."""
    try:
        return ip_address(plain(address)).is_unspecified
    except ValueError:
        return False


def is_loopback(address: str) -> bool:
    """Whether only this machine gets there."""
    try:
        return ip_address(plain(address).partition("%")[0]).is_loopback
    except ValueError:
        return False


def without_port(authority: str) -> str:
    """`[::1]:8765`, `::1` and `localhost:8765` without the port; nothing where it is none."""
    authority = authority.strip()
    bracket = authority.rfind("]") + 1
    name, colon, port = authority[bracket:].partition(":")
    if bracket and (name or not authority.startswith("[")):
        return ""
    if not bracket and ":" in port:  # an IPv6 address, plain
        return authority
    return authority[:bracket] + name if port.isdecimal() or not colon else ""


# How a request is refused before anybody has looked at what it wants: a status, and why.


Headers = tuple[tuple[bytes, bytes], ...]


class Refusal(NamedTuple):
    """A request that gets no further."""

    status: int
    why: Diagnostic
    headers: Headers = ()

    @property
    def body(self) -> bytes:
        """Code, what is wrong and how to mend it, where clients of web services look for it."""
        detail = f"{self.why.id}: {self.why.message} {self.why.fix}"
        return json.dumps({"detail": detail}, ensure_ascii=False).encode()

    async def answer(self, send: Send) -> None:
        """Say so."""
        headers = ((b"content-type", b"application/json"), *_length(self.body), *self.headers)
        start = {"type": "http.response.start", "status": self.status, "headers": list(headers)}
        await send(start)
        await send({"type": "http.response.body", "body": self.body})


def _length(body: bytes) -> Headers:
    return ((b"content-length", str(len(body)).encode()),)


# The headers of a request by their names.


Fields = Mapping[bytes, tuple[bytes, ...]]
NOTHING: tuple[bytes, ...] = ()


def fields_of(scope: Scope) -> Fields:
    """One that is there twice has two values."""
    found: dict[bytes, tuple[bytes, ...]] = {}
    for name, value in scope["headers"]:
        found[name] = (*found.get(name, ()), value)
    return MappingProxyType(found)


def kind_of(fields: Fields) -> bytes:
    """The media type that a body is said to have; nothing where that is not clear."""
    given = fields.get(b"content-type", NOTHING)
    return given[0].partition(b";")[0].strip().lower() if len(given) == 1 else b""


# Answers as streams of events: those that stay open, and those that a client insists on.


EVENTS, JSON = "text/event-stream", "application/json"
_EVENTS_TYPE = (b"content-type", EVENTS.encode())
_OK = 200


class Closing:
    """Ends open streams when the server is about to end; other answers are finished first."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def now(self) -> None:
        """Every stream is to end."""
        self._event.set()

    def receive(self, receive: Receive) -> Receive:
        """What an application receives: that the client has gone, where the server wants to go."""
        is_read = False

        async def next_message() -> Message:
            nonlocal is_read
            if not is_read:
                message = await receive()
                is_read = not message.get("more_body", False)
                return message
            return await self._either(receive)

        return next_message

    async def _either(self, receive: Receive) -> Message:
        waiting = [asyncio.ensure_future(receive()), asyncio.ensure_future(self._event.wait())]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if waiting[0].done():
                message: Message = waiting[0].result()  # type: ignore[assignment]
                return message
            return {"type": "http.disconnect"}
        finally:
            for each in waiting:
                each.cancel()


class Answer:
    """What is sent for one request, and what is seen of it on the way."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status: int | None = None
        self.headers: list[tuple[bytes, bytes]] = []
        self._is_whole = False

    async def send(self, message: Message) -> None:
        """Hand a part of it on."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = list(message.get("headers", ()))
        elif message["type"] == "http.response.body":
            self._is_whole = not message.get("more_body", False)
        await self._send(message)

    async def finish(self) -> None:
        """A stream that was left open ends as an answer that is whole, not as one cut off."""
        if self.status is not None and not self._is_whole:
            await self.send({"type": "http.response.body", "body": b""})


def as_events(send: Send) -> Send:
    """The one JSON document of a good answer becomes a stream of one event."""
    start: Message | None = None
    document = bytearray()

    async def send_event(message: Message) -> None:
        nonlocal start
        if message["type"] == "http.response.start" and _is_document(message):
            start = message
        elif message["type"] == "http.response.body" and start is not None:
            document.extend(message.get("body", b""))
            if not message.get("more_body", False):
                await send({**start, "headers": _of_stream(start)})
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


def _of_stream(start: Message) -> list[tuple[bytes, bytes]]:
    left_out = (b"content-type", b"content-length")
    kept = [each for each in start.get("headers", ()) if each[0] not in left_out]
    return [*kept, _EVENTS_TYPE, (b"cache-control", b"no-cache, no-transform")]


def first(message: Message, receive: Receive) -> Receive:
    """What an application receives that is to see this message first, then whatever comes."""
    waiting = [message]

    async def receive_next() -> Message:
        return waiting.pop() if waiting else await receive()

    return receive_next
