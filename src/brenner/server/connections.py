"""Timeouts and limits of client connections.

uvicorn waits without limit for the headers of a request, and for a client that does not read its
response. Both cost the server memory and a connection.
"""

import asyncio
from asyncio import Transport

from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol

from brenner.diagnostics.codes.serving import SERVER_BUSY
from brenner.server.http import Refusal
from brenner.server.settings import ServeSettings

# Unread responses stay in memory until their client is dropped, and a client that reads a byte now
# and then is never dropped by its timeout. So all unread bytes together have a limit, too: the
# connections that have waited longest are closed first.


_MOST_BYTES = 128 * 1024 * 1024


class WriteBacklog:
    """Connections that read more slowly than we write, oldest first, with a limit on their
    buffers.
    """

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most = most_bytes
        self._waiting: dict[Transport, None] = {}

    def joined(self, transport: Transport) -> None:
        """Add a connection. If the buffers exceed the limit, abort the oldest other connections."""
        self._waiting[transport] = None
        sizes = {each: each.get_write_buffer_size() for each in self._waiting}
        held = sum(sizes.values())
        for each, size in sizes.items():
            if held <= self._most or each is transport:
                return
            held -= size
            self.left(each)
            each.abort()

    def left(self, transport: Transport) -> None:
        """Remove a connection that has caught up or was closed."""
        self._waiting.pop(transport, None)


KEEP_ALIVE_SECONDS = 75  # longer than agents' programs keep a connection that they do not use
_REQUEST_SECONDS = 20.0
_STALLED_SECONDS = 30.0


class TimedConnection(H11Protocol):
    """A connection that is closed when its client is too slow."""

    most_connections: int
    backlog: WriteBacklog
    request_seconds = _REQUEST_SECONDS
    stalled_seconds = _STALLED_SECONDS
    _to_begin: asyncio.TimerHandle | None = None
    _to_read: asyncio.TimerHandle | None = None
    _is_too_many = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timeout for the first request."""
        super().connection_made(transport)
        self._is_too_many = len(self.connections) > self.most_connections
        self._await_request()

    def data_received(self, data: bytes) -> None:
        """Take a part of a request. Refuse it with status 503 if there are too many connections."""
        if self._is_too_many:
            # Respond only now: a client that is still sending would miss the response.
            self.transport.write(_busy())
            self.transport.close()
            return
        super().data_received(data)
        if self._is_under_way:
            self._stop(self._to_begin)
            self._to_begin = None
        elif self._to_begin is None:
            self._await_request()

    @property
    def _is_under_way(self) -> bool:
        return bool(self.cycle) and not self.cycle.response_complete

    def on_response_complete(self) -> None:
        """Start the timeout again if a part of the next request is already here."""
        super().on_response_complete()
        if self.conn.trailing_data[0] and not self._is_under_way and self._to_begin is None:
            self._await_request()

    def pause_writing(self) -> None:
        """Start the read timeout: the client reads more slowly than we write."""
        super().pause_writing()
        self._await_reading()
        self.backlog.joined(self.transport)

    def resume_writing(self) -> None:
        """Stop the read timeout: the client has caught up."""
        super().resume_writing()
        self._stop(self._to_read)
        self.backlog.left(self.transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all timers."""
        self._stop(self._to_begin)
        self._stop(self._to_read)
        self.backlog.left(self.transport)
        super().connection_lost(exc)

    def _await_request(self) -> None:
        self._to_begin = self.loop.call_later(self.request_seconds, self.transport.abort)

    def _await_reading(self) -> None:
        left = self.transport.get_write_buffer_size()
        self._to_read = self.loop.call_later(self.stalled_seconds, self._check_reading, left)

    def _check_reading(self, before: int) -> None:
        """Abort a client that has read nothing since the last check. A slow one may continue."""
        if self.transport.get_write_buffer_size() < before:
            self._await_reading()
        else:
            self.transport.abort()

    @staticmethod
    def _stop(timer: asyncio.TimerHandle | None) -> None:
        if timer is not None:
            timer.cancel()


def limited_connections(settings: ServeSettings) -> type[TimedConnection]:
    """Return a connection class that refuses more than `most_connections` at a time."""

    class Bounded(TimedConnection):
        most_connections = settings.most_connections
        backlog = WriteBacklog()

    return Bounded


def config_of(settings: ServeSettings) -> Config:
    """Return uvicorn's configuration: no log, and no trust in proxy headers."""
    return Config(
        "",
        loop="asyncio",
        http=limited_connections(settings),
        ws="none",
        interface="asgi3",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=settings.grace_seconds,
    )


def _busy() -> bytes:
    body = Refusal(503, SERVER_BUSY.at()).body
    head = (
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\n"
        f"connection: close\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
