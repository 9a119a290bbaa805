"""A small HTTP server on the loopback address that answers as a test wants it to."""

import json
import socketserver
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

JSON = "application/json"
EVENTS = "text/event-stream"
_ENOUGH = 100  # drops; a client without a time limit gets to the end of them
_PATIENCE = 30  # seconds


class Asked(NamedTuple):
    """A request that came in, on which connection; names of headers are in small letters."""

    path: str
    headers: Mapping[str, str]
    document: Any
    connection: int


class Reply(NamedTuple):
    """The bytes to send, piece by piece, and whether the connection ends then."""

    pieces: Iterable[bytes]
    is_last: bool = False


class OddServer:
    """Each request gets what `answer` makes of it, be it before all of the request was read."""

    def __init__(self, answer: Callable[[Asked], Reply], *, reads_bodies: bool = True) -> None:
        self.answer = answer
        self.reads_bodies = reads_bodies
        self.asked: list[Asked] = []
        self.tls: ssl.SSLContext | None = None
        self.released = threading.Event()  # set when the test is over, for who waits
        self.ended = threading.Semaphore(0)  # counts the connections that were closed
        self._connections = 0
        self._server = _listener(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it answers."""
        port = self._server.socket.getsockname()[1]
        return f"https://localhost:{port}/mcp/" if self.tls else f"http://127.0.0.1:{port}/mcp/"

    def encrypt(self, certificate: Path) -> None:
        """From now on it speaks TLS; the file holds the certificate and its key."""
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(certificate)

    def methods(self) -> list[str]:
        """What was asked for, in that order."""
        return [each.document["method"] for each in self.asked]

    def next_connection(self) -> int:
        """The number of a new connection."""
        self._connections += 1
        return self._connections

    def slowly(self, start: bytes, drop: bytes = b" ") -> Iterator[bytes]:
        """Something, and then a drop from time to time, with no end in sight."""
        yield start
        for _ in range(_ENOUGH):
            yield drop
            self.released.wait(0.1)

    def await_end(self) -> None:
        """Wait until one more connection was closed from this side."""
        assert self.ended.acquire(timeout=_PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _listener(server: OddServer) -> socketserver.TCPServer:
    class Listener(socketserver.ThreadingTCPServer):
        daemon_threads = True

        def finish_request(self, request: Any, client_address: Any) -> None:
            with suppress(OSError):  # who does not trust us hangs up
                if server.tls:
                    with server.tls.wrap_socket(request, server_side=True) as encrypted:
                        super().finish_request(encrypted, client_address)
                else:
                    super().finish_request(request, client_address)

        def shutdown_request(self, request: Any) -> None:
            super().shutdown_request(request)
            server.ended.release()

    return Listener(("127.0.0.1", 0), _handler(server))


def _handler(server: OddServer) -> type[socketserver.StreamRequestHandler]:
    class Handler(socketserver.StreamRequestHandler):
        unread = 0

        def handle(self) -> None:
            number = server.next_connection()
            while asked := self._request(number):
                server.asked.append(asked)
                pieces, is_last = server.answer(asked)
                for piece in pieces:
                    self.wfile.write(piece)
                if is_last:
                    return
                self.rfile.read(self.unread)

        def _request(self, number: int) -> Asked | None:
            first, headers = self.rfile.readline().decode(), {}
            while line := self.rfile.readline().strip():
                name, _, value = line.decode("latin-1").partition(":")
                headers[name.lower()] = value.strip()
            if not first:
                return None
            self.unread, body = int(headers["content-length"]), {}
            if server.reads_bodies:
                body, self.unread = json.loads(self.rfile.read(self.unread)), 0
            return Asked(first.split()[1], headers, body, number)

    return Handler


def http(
    status: int, body: bytes | str = b"", kind: str = JSON, *headers: str, length: int | None = None
) -> bytes:
    """A whole answer; a wrong length of the body is up to the test."""
    raw = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status} x", f"Content-Type: {kind}", *headers]
    lines.append(f"Content-Length: {len(raw) if length is None else length}")
    return "\r\n".join([*lines, "", ""]).encode() + raw


def whole(status: int, body: bytes | str = b"", kind: str = JSON, *headers: str) -> Reply:
    """The same as a reply, after which the connection is kept."""
    return Reply([http(status, body, kind, *headers)])


def document(asked: Asked, **what: object) -> str:
    """A JSON-RPC answer to a request: `result` or `error`."""
    return json.dumps({"jsonrpc": "2.0", "id": asked.document.get("id"), **what})


def result(asked: Asked, value: object) -> Reply:
    """What a method gives back."""
    return whole(200, document(asked, result=value))


def tools(**arguments: list[str]) -> dict[str, object]:
    """A list of tools with the names of their arguments."""
    schemas = {
        tool: {"type": "object", "properties": {each: {} for each in names}}
        for tool, names in arguments.items()
    }
    return {"tools": [{"name": tool, "inputSchema": each} for tool, each in schemas.items()]}


def texts(*content: str, is_error: bool = False) -> dict[str, object]:
    """What a tool gives back that knows of no structured content."""
    return {"content": [{"type": "text", "text": each} for each in content], "isError": is_error}
