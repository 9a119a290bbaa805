"""One connection of a client: how long it may take its time, and how many there may be.

uvicorn waits for ever for the headers of a request, and for a client that does not read what it
is sent. Neither costs the client anything, and both cost us memory and a place.
"""

import asyncio
from asyncio import Transport

from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol

from brenner.diagnostics.codes.serving import SERVER_BUSY
from brenner.server.http import Refusal
from brenner.server.settings import ServeSettings

# What clients have been sent and have not read, all of them together.
#
# An answer that nobody reads stays in memory until its client is given up, and a client that reads
# a byte now and then is not. A few of them do no harm. Where they are many, those who have let us
# wait for longest are hung up on, and everybody else goes on.


_MOST_BYTES = 128 * 1024 * 1024


class Backlog:
    """The connections that read more slowly than we write, in the order in which they began to."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most = most_bytes
        self._waiting: dict[Transport, None] = {}

    def joined(self, transport: Transport) -> None:
        """One more. It has its answer itself, however long that is: the others make room."""
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
        """It has read enough, or is gone."""
        self._waiting.pop(transport, None)


KEEP_ALIVE_SECONDS = 75  # longer than agents' programs keep a connection that they do not use
_REQUEST_SECONDS = 20.0
_STALLED_SECONDS = 30.0


class Connection(H11Protocol):
    """A connection that is cut off where its client is too slow."""

    most_connections: int
    backlog: Backlog
    request_seconds = _REQUEST_SECONDS
    stalled_seconds = _STALLED_SECONDS
    _to_begin: asyncio.TimerHandle | None = None
    _to_read: asyncio.TimerHandle | None = None
    _is_too_many = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """From now on a request is awaited."""
        super().connection_made(transport)
        self._is_too_many = len(self.connections) > self.most_connections
        self._await_request()

    def data_received(self, data: bytes) -> None:
        """Part of a request, or of a body that nobody wants any more."""
        if self._is_too_many:
            # Answered only now: what a client has not sent yet would make it miss the answer.
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
        """A request is answered; if part of the next one is here, the rest of it is awaited."""
        super().on_response_complete()
        if self.conn.trailing_data[0] and not self._is_under_way and self._to_begin is None:
            self._await_request()

    def pause_writing(self) -> None:
        """The client does not read as fast as we write."""
        super().pause_writing()
        self._await_reading()
        self.backlog.joined(self.transport)

    def resume_writing(self) -> None:
        """It has read enough."""
        super().resume_writing()
        self._stop(self._to_read)
        self.backlog.left(self.transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
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
        """Who reads slowly may go on; who has read nothing is not waited for."""
        if self.transport.get_write_buffer_size() < before:
            self._await_reading()
        else:
            self.transport.abort()

    @staticmethod
    def _stop(timer: asyncio.TimerHandle | None) -> None:
        if timer is not None:
            timer.cancel()


def bounded(settings: ServeSettings) -> type[Connection]:
    """Connections of which there may be so many."""

    class Bounded(Connection):
        most_connections = settings.most_connections
        backlog = Backlog()

    return Bounded


def config_of(settings: ServeSettings) -> Config:
    """How uvicorn is to run: it writes no log, and believes no header about who is there."""
    return Config(
        "",
        loop="asyncio",
        http=bounded(settings),
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
