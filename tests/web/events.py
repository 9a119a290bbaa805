"""A viewer of `/events` as a test plays it: what she is told, and how she goes away."""

import http.client
import json
import socket
import struct
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple, Self
from urllib.parse import urlencode

from serving.running import At

_SECONDS = 60.0
# A connection that is closed so is cut: what is under way is lost.
_CUT = struct.pack("ii", 1, 0)


class Told(NamedTuple):
    """One event; a sign of life has an id and no kind."""

    kind: str
    id: str
    data: dict[str, Any]


class Looking:
    """Somebody who looks, from the place after which she wants to be told."""

    def __init__(
        self,
        server: At,
        thread: str = "",
        *,
        after: str = "",
        last_event_id: str = "",
        cookie: str = "",
    ) -> None:
        self.last = last_event_id or after
        self._connection = http.client.HTTPConnection(server.host, server.port, timeout=_SECONDS)
        asked = urlencode({"thread": thread, "after": after})
        said = {"Last-Event-ID": last_event_id, "Cookie": cookie}
        headers = {name: value for name, value in said.items() if value}
        self._connection.request("GET", f"/events?{asked}", headers=headers)
        self._socket: socket.socket = self._connection.sock
        self.answer = self._connection.getresponse()

    def all(self) -> Iterator[Told]:
        """Everything, with signs of life, as long as it lasts."""
        fields: dict[str, str] = {}
        while line := self.answer.readline():
            text = line.decode().rstrip("\n")
            if text:
                name, _, value = text.partition(": ")
                fields[name] = value
                continue
            self.last = fields.get("id", self.last)
            data = json.loads(fields.get("data", "{}"))
            yield Told(fields.get("event", ""), fields.get("id", ""), data)
            fields = {}

    def events(self) -> Iterator[Told]:
        """What is news."""
        return (each for each in self.all() if each.kind)

    def settle(self) -> str:
        """Until she is told how far the mailbox is, with nothing new before that; the place."""
        for each in self.all():
            assert not each.kind, each
            if each.id:
                break
        return self.last

    def mail(self, number: int) -> list[int]:
        """The ids of so many messages; nothing else may come between them."""
        found = list(islice(self.events(), number))
        assert {each.kind for each in found} <= {"mail"}, found
        return [each.data["message_id"] for each in found]

    def cut(self) -> None:
        """Gone without a word."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _CUT)
        self.close()

    def close(self) -> None:
        self.answer.close()
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
