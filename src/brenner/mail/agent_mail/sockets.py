"""Sockets that keep to a time limit, whatever the other side does."""

import io
import socket
import ssl
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer


class Deadline:
    """When something has to be over."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """The seconds until then; raised where there are none."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def allows(self, seconds: float) -> bool:
        """Whether something of that length would be over before."""
        return time.monotonic() + seconds < self._end


class TimedSocket:
    """As much of a socket as an HTTP connection uses; `deadline` is the one of the request.

    A time limit of the socket's own would begin anew with every byte that comes in.
    """

    def __init__(self, connected: socket.socket, deadline: Deadline) -> None:
        self.socket = connected
        self.deadline = deadline

    def sendall(self, data: "ReadableBuffer") -> None:
        """Hand over all of it, or raise: then the last byte was not handed over."""
        self.socket.settimeout(self.deadline.left())
        self.socket.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        """What comes in."""
        return io.BufferedReader(_TimedReader(self))

    def close(self) -> None:
        """Close it, once nobody reads from it any more."""
        self.socket.close()


class _TimedReader(io.RawIOBase):
    def __init__(self, timed: TimedSocket) -> None:
        self._timed = timed
        self._incoming = timed.socket.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int | None:
        self._timed.socket.settimeout(self._timed.deadline.left())
        return self._incoming.readinto(buffer)

    def close(self) -> None:
        self._incoming.close()
        super().close()


def connected(host: str, port: int, deadline: Deadline) -> socket.socket:
    """A connection to the first address of a host that takes it."""
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    problem: OSError | None = None
    for number, (family, kind, protocol, _, address) in enumerate(addresses):
        candidate = socket.socket(family, kind, protocol)
        try:
            candidate.settimeout(deadline.left() / (len(addresses) - number))
            candidate.connect(address)
            # A request is small: it must not wait for more to come.
            candidate.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            candidate.close()
            problem = error
        else:
            return candidate
    raise problem or socket.gaierror


def encrypted(plain: socket.socket, context: ssl.SSLContext, host: str) -> socket.socket:
    """The same connection, under TLS."""
    try:
        return context.wrap_socket(plain, server_hostname=host)
    except BaseException:
        plain.close()
        raise
