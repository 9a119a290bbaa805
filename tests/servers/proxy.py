"""Something between a program and its server that goes wrong when it is told to.

Every switch is for all connections, those that are open and those to come, until `pass_on`.
"""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Literal, NamedTuple, Self

from servers.process import free_port

_SIZE = 65_536
_AT_ONCE = struct.pack("ii", 1, 0)
_PATIENCE = 30  # seconds until a thread that does not end is a fault


class _Slow(NamedTuple):
    """Answers come in pieces of so many bytes, each after a time."""

    seconds: float
    size: int


class _Trap(NamedTuple):
    """Strikes when a request has these bytes in it."""

    marker: bytes
    cuts: Literal["before the request", "before the answer", "nothing"]
    then: Callable[[], object] | None


class Proxy:
    """Passes everything on to a port of this machine, until told otherwise.

    `reset` makes a cut a rude one: the connection is not closed but torn.
    """

    def __init__(self, port: int, *, reset: bool = False) -> None:
        self.upstream = port
        self.reset = reset
        self.connections = 0  # that were taken
        self.struck = threading.Event()  # set when a trap has struck
        self._changed = threading.Condition()
        self._hangs = self._closing = False
        self._slow: _Slow | None = None
        self._garbage: bytes | None = None
        self._trap: _Trap | None = None
        self._open: set[Connection] = set()
        self._threads: list[threading.Thread] = []
        self._listener = _bound(free_port())
        self.port: int = self._listener.getsockname()[1]
        self._listen()

    def pass_on(self) -> None:
        """All is well from now on."""
        with self._changed:
            self._hangs, self._slow, self._garbage, self._trap = False, None, None, None
            self._changed.notify_all()
        if self._listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 0:
            self._listen()

    def refuse(self) -> None:
        """Nobody listens here any more; connections that are open stay so."""
        old = self._listener
        with suppress(OSError):
            old.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits there
        old.close()
        self._listener = _bound(self.port)  # kept, but not listened to

    def cut(self) -> None:
        """End all connections that are open."""
        with self._changed:
            victims = list(self._open)
        for connection in victims:
            self._end(connection)

    def hang(self) -> None:
        """Take everything and hand on nothing."""
        with self._changed:
            self._hangs = True

    def delay(self, seconds: float, size: int = _SIZE) -> None:
        """Answers wait for so long, each piece of so many bytes anew."""
        with self._changed:
            self._slow = _Slow(seconds, size)

    def garble(self, garbage: bytes) -> None:
        """Instead of any answer there is this; then the connection ends."""
        with self._changed:
            self._garbage = garbage

    def cut_before_answer(
        self, marker: bytes = b"", then: Callable[[], object] | None = None
    ) -> None:
        """Once: the request with these bytes gets through; its answer does not come back.

        The connection ends with the first byte of the answer, so that the server has done what it
        was asked for. Something else may happen `then`, before the program can notice.
        """
        self._set(_Trap(marker, "before the answer", then))

    def cut_before_request(
        self, marker: bytes = b"", then: Callable[[], object] | None = None
    ) -> None:
        """Once: the connection ends before the request with these bytes gets through."""
        self._set(_Trap(marker, "before the request", then))

    def on_request(self, marker: bytes, then: Callable[[], object]) -> None:
        """Once: something happens just before the request with these bytes gets through."""
        self._set(_Trap(marker, "nothing", then))

    def _set(self, trap: _Trap) -> None:
        with self._changed:
            self._trap = trap
            self.struck.clear()

    def close(self) -> None:
        """End everything, threads too."""
        with self._changed:
            self._closing = True
        self.refuse()
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join(_PATIENCE)
            assert not thread.is_alive()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # In threads

    def _listen(self) -> None:
        self._listener.listen()
        self._thread(self._take, self._listener)

    def _thread(self, work: Callable[..., object], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _take(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            self.connections += 1
            try:
                server = socket.create_connection(("127.0.0.1", self.upstream))
            except OSError:
                _close(client, torn=True)
                continue
            for end in (client, server):  # what comes in two pieces does not wait in between
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(client, server)
            with self._changed:
                self._open.add(connection)
            self._thread(self._requests, connection)
            self._thread(self._answers, connection)
            if self._closing:
                self._end(connection)

    def _requests(self, connection: "Connection") -> None:
        seen = b""
        for data in _read(connection.client):
            seen += data
            trap, seen = self._sprung(seen)
            if trap and trap.cuts == "before the answer":
                connection.trap = trap
            elif trap:
                self._strike(connection, trap)
            self._pass(connection, connection.server, data)
        self._end(connection)

    def _answers(self, connection: "Connection") -> None:
        for data in _read(connection.server):
            if connection.trap:
                self._strike(connection, connection.trap)
                break
            if self._garbage is not None:
                self._pass(connection, connection.client, self._garbage)
                break
            self._hand_out(connection, data)
        self._end(connection)

    def _sprung(self, seen: bytes) -> tuple[_Trap | None, bytes]:
        """The trap that a request springs, which is gone with that; and what may be the beginning
        of what springs one.
        """
        with self._changed:
            trap = self._trap
            if trap and trap.marker in seen:
                self._trap = None
                return trap, b""
            return None, seen[-len(trap.marker) :][1:] if trap else b""

    def _strike(self, connection: "Connection", trap: _Trap) -> None:
        if trap.then:
            trap.then()
        if trap.cuts != "nothing":
            self._end(connection)
        self.struck.set()

    def _hand_out(self, connection: "Connection", data: bytes) -> None:
        slow = self._slow or _Slow(0, len(data))
        for start in range(0, len(data), slow.size):
            with self._changed:
                self._changed.wait_for(
                    lambda: self._slow is None or connection.has_ended, slow.seconds
                )
            self._pass(connection, connection.client, data[start : start + slow.size])

    def _pass(self, connection: "Connection", to: socket.socket, data: bytes) -> None:
        """Hand something on if anybody is still there, but not while everything hangs."""
        with self._changed:
            self._changed.wait_for(lambda: not self._hangs or connection.has_ended)
        with suppress(OSError):
            to.sendall(data)

    def _end(self, connection: "Connection") -> None:
        with self._changed:
            if connection.has_ended:
                return
            connection.has_ended = True
            self._open.discard(connection)
            self._changed.notify_all()
        _close(connection.client, torn=self.reset)
        _close(connection.server)


class Connection:
    """The two sockets of one connection, and the trap that waits for its next answer."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client = client
        self.server = server
        self.trap: _Trap | None = None
        self.has_ended = False


def _bound(port: int) -> socket.socket:
    """A socket that keeps a port; who connects to it is refused until somebody listens."""
    keeper = socket.socket()
    keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    keeper.bind(("127.0.0.1", port))
    return keeper


def _read(source: socket.socket) -> Iterator[bytes]:
    """What comes from one side, until it ends."""
    with suppress(OSError):
        while data := source.recv(_SIZE):
            yield data


def _close(end: socket.socket, *, torn: bool = False) -> None:
    """Close a socket although a thread may be waiting for it."""
    with suppress(OSError):
        if torn:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        end.shutdown(socket.SHUT_RD if torn else socket.SHUT_RDWR)
    end.close()
