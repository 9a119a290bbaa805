"""Connections that are kept for the next who needs one.

Made when they are needed, by whoever needs them: so a fault of the way to the server is told to
the one whom it concerns, at once and in its own words, and no thread works behind our back.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from psycopg.pq import TransactionStatus

from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.model import Unavailable
from brenner.mail.postgresql.connection import Connection
from brenner.mail.postgresql.faults import LOCK_SECONDS
from brenner.mail.postgresql.server import Server

MOST = 8


class Taken(NamedTuple):
    """A connection in use. One that was kept may be dead without our knowing."""

    connection: Connection
    is_new: bool


class Pool:
    """A few connections for many threads."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._kept: list[Connection] = []
        self._lock = threading.Lock()
        self._room = threading.Semaphore(MOST)
        self._is_closed = False

    def take(self) -> Taken:
        """A connection that is nobody else's until it is given back."""
        if not self._room.acquire(timeout=LOCK_SECONDS):
            where = self._server.place.where
            raise Unavailable(codes.STORE_BUSY.at(path=where, seconds=LOCK_SECONDS))
        try:
            with self._lock:
                kept = self._kept.pop() if self._kept else None
            return Taken(kept or self._server.connect(), is_new=kept is None)
        except BaseException:
            self._room.release()
            raise

    def give(self, connection: Connection) -> None:
        """It is not needed any more; what is in no state to be used again is closed."""
        is_idle = connection.pgconn.transaction_status == TransactionStatus.IDLE
        with self._lock:
            is_kept = is_idle and not self._is_closed
            if is_kept:
                self._kept.append(connection)
        if not is_kept:
            connection.close()
        self._room.release()

    @contextmanager
    def lent(self) -> Iterator[Connection]:
        """A connection for a while."""
        connection = self.take().connection
        try:
            yield connection
        finally:
            self.give(connection)

    def close(self) -> None:
        """Close those that nobody uses; the others are closed when they are given back."""
        with self._lock:
            self._is_closed = True
            kept, self._kept = self._kept, []
        for connection in kept:
            connection.close()
