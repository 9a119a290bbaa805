"""The bodies of requests while they come in: how much of them is held, and for how long.

Small ones always have room. Where the large ones take too much of it together, the one that has
been on its way for longest is given up: who sends at once is done before its turn comes.
"""

import asyncio
import math
from contextlib import suppress

from starlette.types import Message, Receive

from brenner.diagnostics.codes import serving as codes
from brenner.server.refusals import Refusal
from brenner.server.settings import ServeSettings

_SMALL_BYTES = 64 * 1024
# Of all large bodies that are here at the same time, those that are being answered included
_MOST_HELD_BYTES = 64 * 1024 * 1024
_HANG_UP = ((b"connection", b"close"),)
_LATER = ((b"retry-after", b"1"),)


class Gone(Exception):
    """The client went away before it had sent everything."""


class Body:
    """What has come of one body."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._data = bytearray()
        self.size = 0
        self.is_whole = False
        self.limit: asyncio.Timeout | None = None
        self.is_given_up = False

    @property
    def held(self) -> int:
        """What it takes of the room that all share."""
        return 0 if self.is_given_up or self.size <= _SMALL_BYTES else self.size

    def add(self, piece: bytes) -> None:
        """One more piece of it."""
        self._data += piece
        self.size += len(piece)

    def handed_on(self) -> bytes:
        """All that has come. Whoever gets it keeps it: here it is only counted from now on."""
        data = bytes(self._data)
        self._data.clear()
        return data

    def give_up(self) -> None:
        """Whoever reads it is woken, and finds that its time is over."""
        self.is_given_up = True
        self._data.clear()
        with suppress(RuntimeError):  # its time has just run out by itself
            if self.limit is not None:
                self.limit.reschedule(0)


class Bodies:
    """All that are here, in the order in which they began."""

    def __init__(self, settings: ServeSettings, most_held: int = _MOST_HELD_BYTES) -> None:
        self._most = settings.most_request_bytes
        self._most_held = most_held
        self._here: dict[Body, None] = {}

    def begin(self, most: int | None = None) -> Body:
        """One more comes, of so many bytes at most; it is held until it is dropped."""
        body = Body(self._most if most is None else min(most, self._most))
        self._here[body] = None
        return body

    def drop(self, body: Body) -> None:
        """It is needed no longer."""
        self._here.pop(body, None)

    async def read(self, body: Body, receive: Receive, seconds: float) -> Refusal | None:
        """Gather the body, as long as it keeps within all limits."""
        try:
            async with asyncio.timeout(seconds) as body.limit:
                while not body.is_whole:
                    refusal = self._take(body, await receive())
                    if refusal is not None:
                        return refusal
        except TimeoutError:
            if not body.is_given_up:
                found = codes.REQUEST_TOO_SLOW.at(seconds=math.ceil(seconds))
                return Refusal(408, found, _HANG_UP)
        if body.is_given_up:  # also where its end came in the same moment: the beginning is gone
            return Refusal(503, codes.SERVER_BUSY.at(), (*_LATER, *_HANG_UP))
        return None

    def _take(self, body: Body, message: Message) -> Refusal | None:
        if message["type"] != "http.request":
            raise Gone
        body.add(message.get("body", b""))
        body.is_whole = not message.get("more_body", False)
        if body.size > body.most:
            return Refusal(413, codes.REQUEST_TOO_LARGE.at(most=body.most))
        if body.held and not self._has_room(body):
            return Refusal(503, codes.SERVER_BUSY.at(), _LATER)
        return None

    def _has_room(self, newest: Body) -> bool:
        """Whether there is room for what has come, if need be in place of what never ends."""
        excess = sum(each.held for each in self._here) - self._most_held
        slow = [each for each in self._here if each.held and not each.is_whole]
        for each in slow:
            if excess <= 0 or each is newest:
                break
            excess -= each.held
            each.give_up()
        return excess <= 0
