"""Requests over HTTP as a client sends them: parsed from a connection, kept in a file, sent again.

A file has one request on each line, as JSON. Names in braces stand for what differs each time.
"""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "recorded"
SESSION = "{session}"
_END = b"\r\n\r\n"
_SESSION_HEADER = re.compile(r"(?<=\nmcp-session-id: )[^\r\n]+", re.IGNORECASE)
_LENGTH_HEADER = re.compile(r"\ncontent-length: (\d+)", re.IGNORECASE)


class Request(NamedTuple):
    """A request: its first line with all headers, and its body."""

    head: str
    body: str

    @property
    def method(self) -> str:
        return self.head.partition(" ")[0]

    @property
    def calls(self) -> str:
        """Return the JSON-RPC method that wants an answer, if it is one."""
        document = json.loads(self.body) if self.body else {}
        return str(document["method"]) if "id" in document else ""

    def with_names(self, values: Mapping[str, str]) -> "Request":
        """Return the request with names instead of these values, and instead of the session."""
        head = _SESSION_HEADER.sub(SESSION, self.head)
        for value, name in values.items():
            assert value not in self.body, "a recorded body must be as the client sent it"
            head = head.replace(value, name)
        return Request(head, self.body)

    def with_values(self, values: Mapping[str, str]) -> bytes:
        """Return the bytes of the request with values instead of names."""
        head = self.head
        for name, value in values.items():
            head = head.replace(name, value)
        return head.encode() + _END + self.body.encode()


def take_request(data: bytes) -> tuple[Request | None, bytes]:
    """Return the first request in what came over a connection, if it is whole, and the rest."""
    head, end, rest = data.partition(_END)
    if not end:
        return None, data
    assert b"transfer-encoding" not in head.lower(), "a body in chunks cannot be recorded"
    length = _LENGTH_HEADER.search(head.decode())
    size = int(length.group(1)) if length else 0
    if len(rest) < size:
        return None, data
    return Request(head.decode(), rest[:size].decode()), rest[size:]


def write_requests(file: Path, requests: Iterable[Request]) -> None:
    """Write a file of requests."""
    lines = (json.dumps(each._asdict(), ensure_ascii=False) + "\n" for each in requests)
    file.write_text("".join(lines), "utf-8")


def read_requests(file: Path) -> list[Request]:
    """Read a file of requests."""
    return [Request(**json.loads(each)) for each in file.read_text("utf-8").splitlines()]
