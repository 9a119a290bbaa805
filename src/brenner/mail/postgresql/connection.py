"""One connection to the server. No wait on it lasts for ever."""

import logging
import time
from collections.abc import Generator
from typing import Any, TypeVar

import psycopg
from psycopg import waiting
from psycopg.abc import PQGen

from brenner.mail.sql.database import Row

SILENCE = 30.0  # seconds
_WAKE_EVERY = 0.1  # seconds; how soon Ctrl-C and the deadline are noticed
Answer = TypeVar("Answer")
# What psycopg would write to the terminal is said in our own words, once.
logging.getLogger("psycopg").addHandler(logging.NullHandler())


class Silent(psycopg.OperationalError):
    """The server has said nothing for too long."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no answer within {seconds:g} seconds")
        self.seconds = seconds


class Connection(psycopg.Connection[Row]):
    """A connection that gives up on a server that stands still.

    libpq waits for as long as the system keeps the connection, which may be for ever. After giving
    up, or Ctrl-C, nobody knows what the server is about to say: such a connection is closed.
    """

    silence = SILENCE

    def wait(self, gen: PQGen[Answer], *rest: Any, **named: Any) -> Answer:
        """Let the generator do its work, for as long as the server goes on answering."""
        if not rest:
            named.setdefault("interval", _WAKE_EVERY)
        try:
            return waiting.wait(_watched(gen, self.silence), self.pgconn.socket, *rest, **named)
        except (Silent, KeyboardInterrupt):
            self.pgconn.finish()
            raise


def _watched(gen: PQGen[Answer], silence: float) -> Generator[Any, Any, Answer]:
    """The generator, ended when nothing was ready for so many seconds."""
    deadline = time.monotonic() + silence
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            now = time.monotonic()
            if ready:
                deadline = now + silence
            elif now > deadline:
                raise Silent(silence)
            wanted = gen.send(ready)
    except StopIteration as done:
        answer: Answer = done.value
        return answer
