"""Clients that ask one server as fast as it answers, each over a connection of its own."""

import json
import socket
import threading
import time
from collections.abc import Callable
from itertools import count
from typing import NamedTuple, Self

_END = b"\r\n\r\n"
_LENGTH = b"content-length:"
_FAILED = (b'"isError":true', b'"error":{')
PATIENCE = 120.0
Request = Callable[[int], bytes]  # the body of the n-th request


class Answer(NamedTuple):
    """What came back."""

    status: int
    body: bytes

    @property
    def is_good(self) -> bool:
        """Whether it did what it was asked for: a tool's error has the status 200, too."""
        return self.status == 200 and not any(each in self.body[:400] for each in _FAILED)


class Client:
    """One connection that is kept. Nothing but sockets, so that it costs the server's time little.

    A request is written at once, and an answer is read only as far as its length says.
    """

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._port = port

    def ask(self, path: str, body: bytes) -> Answer:
        """One request and its answer. A server that hangs up before its end raises."""
        said = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nAccept: application/json\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._socket.sendall(said.encode() + body)
        read = b""
        while (end := read.find(_END)) < 0:
            read += self._more()
        head = read[:end].lower()
        length = int(head.partition(_LENGTH)[2].split(b"\r\n")[0])
        pieces, missing = [read[end + 4 :]], length - (len(read) - end - 4)
        while missing > 0:
            pieces.append(self._more())
            missing -= len(pieces[-1])
        return Answer(int(head.split(b" ", 2)[1]), b"".join(pieces))

    def _more(self) -> bytes:
        piece = self._socket.recv(262_144)
        if not piece:
            message = "hung up in the middle of an answer"
            raise ConnectionError(message)
        return piece

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()


def call(tool: str, **arguments: object) -> bytes:
    """The body of a call of a tool."""
    return rpc("tools/call", name=tool, arguments=arguments)


def rpc(method: str, **params: object) -> bytes:
    """The body of a request."""
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


class Load(NamedTuple):
    """How it went: seconds of each answer, seconds of all, and how many were no good ones."""

    times: tuple[float, ...]
    seconds: float
    failed: int

    @property
    def rate(self) -> float:
        """Good answers a second."""
        return (len(self.times) - self.failed) / self.seconds

    def within(self, share: float) -> float:
        """The seconds within which that share of all was answered."""
        return sorted(self.times)[min(len(self.times) - 1, int(share * len(self.times)))]


def press(port: int, path: str, request: Request, clients: int, seconds: float) -> Load:
    """So many clients ask for so long; each asks at least once, and none is cut off."""
    numbers, asked = count(1), list[tuple[float, bool]]()
    begin = threading.Barrier(clients + 1)

    def ask() -> None:
        with Client(port) as client:
            begin.wait(PATIENCE)
            last = time.perf_counter() + seconds
            now = 0.0
            while now < last:
                body = request(next(numbers))
                start = time.perf_counter()
                answer = client.ask(path, body)
                now = time.perf_counter()
                asked.append((now - start, answer.is_good))

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(clients)]
    for each in threads:
        each.start()
    begin.wait(PATIENCE)
    start = time.perf_counter()
    for each in threads:
        each.join()
    times = tuple(taken for taken, _ in asked)
    failed = sum(not is_good for _, is_good in asked)
    return Load(times, time.perf_counter() - start, failed)
