"""Many who look at one page while mail comes in: what a browser with our script would do.

Each has a stream of news open. On news it asks for the page again, after a moment that is chance,
one request at a time.
"""

import asyncio
import json
import random
import time
from collections.abc import Callable
from typing import NamedTuple

_GATHER, _SPREAD = 0.25, 0.75  # seconds, as in live.js
_PATIENCE = 60.0


class Seen(NamedTuple):
    """How it went: seconds from a send to being told of it; seconds of each page; what is missing.

    `pages` are answers with another status than 200.
    """

    told: list[float]
    pages: list[float]
    missing: int
    twice: int
    failed: int


class Viewers:
    """So many of them."""

    def __init__(self, port: int, path: str, thread_id: str, many: int) -> None:
        self._port = port
        self._path = path
        self._thread = thread_id
        self._many = many
        self._told: list[dict[int, float]] = [{} for _ in range(many)]
        self._twice = 0
        self._pages: list[float] = []
        self._failed = 0
        self._begin_on_pooled = 0

    async def watch(self, send: Callable[[int], int], mails: int, pause: float) -> Seen:
        """Look on while so many messages are sent, one after the other."""
        looking = [asyncio.create_task(self._look(number)) for number in range(self._many)]
        while self._begin_on_pooled < self._many:
            await asyncio.sleep(0.01)
        sent: dict[int, float] = {}
        for number in range(mails):
            message_id = await asyncio.to_thread(send, number)
            sent[message_id] = time.perf_counter()
            await asyncio.sleep(pause)
        last = time.perf_counter() + _PATIENCE
        while self._missing(sent) and time.perf_counter() < last:
            await asyncio.sleep(0.05)
        await asyncio.sleep(2 * (_GATHER + _SPREAD))  # the pages that are still wanted
        for each in looking:
            each.cancel()
        await asyncio.gather(*looking, return_exceptions=True)
        told = [at - sent[one] for each in self._told for one, at in each.items() if one in sent]
        return Seen(told, self._pages, self._missing(sent), self._twice, self._failed)

    def _missing(self, sent: dict[int, float]) -> int:
        return sum(len(sent.keys() - each.keys()) for each in self._told)

    async def _look(self, number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(self._request(f"/events?thread={self._thread}"))
        wanted = asyncio.Event()
        refreshing = asyncio.create_task(self._refresh(wanted))
        is_begun = False
        try:
            while line := await reader.readline():
                if line.startswith(b"id:") and not is_begun:
                    is_begun = True
                    self._begin_on_pooled += 1
                if line.startswith(b"data:"):
                    message_id = json.loads(line[5:])["message_id"]
                    self._twice += message_id in self._told[number]
                    self._told[number][message_id] = time.perf_counter()
                    wanted.set()
        finally:
            refreshing.cancel()
            writer.close()

    async def _refresh(self, wanted: asyncio.Event) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        while True:
            await wanted.wait()
            await asyncio.sleep(_GATHER + random.random() * _SPREAD)  # noqa: S311
            wanted.clear()
            begun = time.perf_counter()
            writer.write(self._request(self._path))
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
            await reader.readexactly(length)
            self._pages.append(time.perf_counter() - begun)
            self._failed += b" 200 " not in head.split(b"\r\n")[0]

    def _request(self, path: str) -> bytes:
        said = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\n"
        return f"{said}Accept: text/html\r\nAccept-Encoding: gzip\r\n\r\n".encode()
