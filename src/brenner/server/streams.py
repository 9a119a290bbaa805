"""Answers as streams of events: those that stay open, and those that a client insists on."""

import asyncio

from starlette.types import Message, Receive, Send

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
