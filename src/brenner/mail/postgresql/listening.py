"""Waiting for news: the server tells whoever listens to the name of the schema."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql

from brenner.mail.postgresql.connection import Connection
from brenner.mail.postgresql.faults import translated
from brenner.mail.postgresql.server import Server

HEAR_SECONDS = 15.0  # after which it is looked whether the server is still there
_LOOK_EVERY = 1.0  # seconds; where nobody tells
Hear = Callable[[float], None]


class Listeners:
    """Connections that listen, kept from one wait to the next."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._kept: list[Connection] = []
        self._lock = threading.Lock()
        self._listen = sql.SQL("LISTEN {}").format(sql.Identifier(server.schema))

    @contextmanager
    def listening(self) -> Iterator[Hear]:
        """Gives what waits for news for so many seconds, or a little less.

        News that comes between two waits ends the next one at once.
        """
        with translated(self._server.place):
            connection = self._listener()
            if connection is None:
                yield _sleep
                return
            try:
                yield lambda seconds: self._hear(connection, seconds)
            except BaseException:
                connection.close()
                raise
            with self._lock:
                self._kept.append(connection)

    def _listener(self) -> Connection | None:
        """One that listens; None where the server tells nobody, because it only follows another."""
        with self._lock:
            kept = self._kept.pop() if self._kept else None
        if kept is not None:
            try:
                kept.execute(self._listen)
            except psycopg.Error:  # the server was restarted since
                kept.close()
            else:
                return kept
        connection = self._server.connect()
        try:
            connection.execute(self._listen)
        except psycopg.errors.ReadOnlySqlTransaction:
            connection.close()
            return None
        except BaseException:
            connection.close()
            raise
        return connection

    def _hear(self, connection: Connection, seconds: float) -> None:
        for _ in connection.notifies(timeout=min(seconds, HEAR_SECONDS), stop_after=1):
            return
        connection.execute(self._listen)  # is it still there?

    def close(self) -> None:
        """Stop listening."""
        with self._lock:
            kept, self._kept = self._kept, []
        for connection in kept:
            connection.close()


def _sleep(seconds: float) -> None:
    time.sleep(min(seconds, _LOOK_EVERY))
