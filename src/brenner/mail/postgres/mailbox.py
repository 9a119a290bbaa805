"""The mail backend for several machines: transactions in a PostgreSQL schema, for many threads.

A writer first locks the single row of `store`, so that writers take turns on all machines. A reader
sees one snapshot and never waits. Times come from the server's clock, so that those of several
machines agree.

Durability: when a write returns, the server has confirmed the commit. If the connection breaks
before that, a new connection looks for the mark that every write leaves.
"""

from __future__ import annotations

import secrets
import threading
import time
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Self

import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus

from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.model import UnavailableError, UnknownOutcomeError
from brenner.mail.postgres.connection import (
    LOCK_SECONDS,
    SILENCE,
    Listeners,
    Pool,
    PostgresConnection,
    ResponseTimeout,
    Schema,
    Server,
    check_version,
    error_text,
    index_statement,
    is_lost,
    migrations,
    search_source,
    translate_errors,
)
from brenner.mail.sql.mailbox import SqlMailbox
from brenner.mail.sql.rows import Row, SearchSource, Statement, Value, as_int, as_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from brenner.mail.model import Agent, Clock, MessageRecord, RestoreResult
    from brenner.mail.search import Query
    from brenner.protocol.messages import StoredMessage
    from brenner.store_url import PostgresAddress

SETTLE_SECONDS = 15.0  # how long to ask a lost server whether it committed
_RETRY_PAUSE = 0.25
_ROLLBACK_SECONDS = 2.0
_KEPT_COMMIT_MARKS = 1_000
_BEGIN_READ = ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "SELECT 1 FROM store")
_BEGIN_WRITE = (
    "BEGIN ISOLATION LEVEL READ COMMITTED",
    "SELECT brenner_format, turn FROM store FOR UPDATE",
)
# Set in every transaction: a connection pooler may hand out a connection that another project
# has prepared.
_SET_SCHEMA = sql.SQL("SET LOCAL search_path TO {}")


@lru_cache(500)
def _to_psycopg(sql: str) -> bytes:
    """Convert a statement to psycopg's placeholders. Ours have no other `?` and no `%`."""
    return sql.replace("?", "%s").encode()


class PostgresDatabase:
    def __init__(self, server: Server, known: int) -> None:
        self.server = server
        self._known_version = known
        self._pool = Pool(server)
        self._local = threading.local()
        schema = _SET_SCHEMA.format(sql.Identifier(server.schema)).as_string()
        self._read, self._write = (
            (begin, schema, first) for begin, first in (_BEGIN_READ, _BEGIN_WRITE)
        )

    @classmethod
    def is_there(cls, address: PostgresAddress) -> bool:
        server = Server(address)
        with closing(server.connect()) as connection:
            return Schema(server, connection).is_there()

    @classmethod
    def open(cls, address: PostgresAddress, steps: tuple[str, ...] | None = None) -> Self:
        steps = migrations() if steps is None else steps
        database = cls(Server(address), len(steps))
        with database._first_connection() as connection:
            Schema(database.server, connection, steps).update()
        return database

    @classmethod
    def create(cls, address: PostgresAddress) -> Self:
        database = cls(Server(address), len(migrations()))
        with database._first_connection() as connection:
            Schema(database.server, connection).create()
        return database

    @contextmanager
    def _first_connection(self) -> Iterator[PostgresConnection]:
        """Lend the first connection of the pool; close the pool if the block fails."""
        try:
            with self._pool.borrowed() as connection:
                yield connection
        except BaseException:
            self.close()
            raise

    @property
    def version(self) -> int:
        with self.read_transaction():
            return as_int(self.query("SELECT brenner_format FROM store")[0][0])

    def execute(self, sql: str, values: tuple[Value, ...] = ()) -> psycopg.Cursor[Row]:
        return self._connection.execute(_to_psycopg(sql), values)

    def query(self, sql: str, values: tuple[Value, ...] = ()) -> list[Row]:
        return self.execute(sql, values).fetchall()

    def query_all(self, statements: Sequence[Statement]) -> list[list[Row]]:
        """Send all statements, then read their results: in a write transaction one round trip."""
        return [cursor.fetchall() for cursor in [self.execute(*each) for each in statements]]

    def index_message(self, stored: StoredMessage, thread: int, sender: int) -> None:
        self.execute(*index_statement(stored, thread, sender))

    def search_source(
        self, query: Query, senders: Sequence[int], threads: Sequence[int]
    ) -> SearchSource | None:
        return search_source(query, senders, threads)

    @property
    def _connection(self) -> PostgresConnection:
        connection: PostgresConnection = self._local.connection
        return connection

    def index_hint(self, name: str) -> str:  # noqa: ARG002
        """Return an empty text: the planner has statistics."""
        return ""

    @contextmanager
    def read_transaction(self) -> Iterator[None]:
        if self._in_transaction:
            yield
            return
        with translate_errors(self.server), self._transaction(self._read):
            yield
            self._connection.execute("COMMIT")

    @contextmanager
    def write_transaction(
        self, what: str = "the change", reads: Sequence[Statement] = ()
    ) -> Iterator[list[list[Row]]]:
        """Begin a write transaction under the write lock, and run its first reads.

        Check that no newer program has migrated the schema. The lock and the reads take one round
        trip, and so do the last writes and the commit.
        """
        if self._in_transaction:
            yield self.query_all(reads)
            return
        with (
            translate_errors(self.server, is_writing=True),
            self._transaction(self._write, reads) as answers,
        ):
            ((version, before),), *found = answers
            check_version(self.server, as_int(version), self._known_version)
            number, mark = as_int(before) + 1, secrets.token_hex(16)
            is_committing = False
            try:
                with self._connection.pipeline():  # do not wait for unread results
                    yield found
                    is_committing = True
                    self._commit(number, mark)
            except psycopg.Error as error:
                is_open = not self._connection.closed and not is_lost(error)
                if (
                    not is_committing
                    or is_open
                    or not self._was_committed(number, mark, what, error)
                ):
                    raise

    @property
    def _in_transaction(self) -> bool:
        return getattr(self._local, "connection", None) is not None

    @contextmanager
    def _transaction(
        self, begin: tuple[str, ...], reads: Sequence[Statement] = ()
    ) -> Iterator[list[list[Row]]]:
        """Begin a transaction on a connection for this thread, and yield the first results."""
        connection, answers = self._begin_on_pooled(begin, reads)
        self._local.connection = connection
        try:
            yield answers
        except BaseException:
            _roll_back(connection)
            raise
        finally:
            self._local.connection = None
            self._pool.release(connection)

    def _begin_on_pooled(
        self, begin: tuple[str, ...], reads: Sequence[Statement]
    ) -> tuple[PostgresConnection, list[list[Row]]]:
        """Return a connection with a new transaction, and its first results.

        An idle connection may be dead, for example after a server restart. Nothing was done on it
        yet, so the next connection is tried.
        """
        while True:
            connection, is_new = self._pool.acquire()
            try:
                return connection, _begin(connection, begin, reads)
            except BaseException as error:
                _roll_back(connection)
                self._pool.release(connection)
                if is_new or not connection.closed or not _is_dead_connection(error):
                    raise

    def _commit(self, number: int, mark: str) -> None:
        """Store the random mark of the write with that sequence number, and commit."""
        oldest = number - _KEPT_COMMIT_MARKS
        self.execute("INSERT INTO turns VALUES (?, ?)", (number, mark))
        self.execute("DELETE FROM turns WHERE number <= ?", (oldest,))
        self.execute("UPDATE store SET turn = ?", (number,))
        self.execute("COMMIT")

    def _was_committed(self, number: int, mark: str, what: str, error: psycopg.Error) -> bool:
        """Return whether a write was committed whose answer was lost.

        Raise UnknownOutcomeError if that cannot be determined.
        """
        deadline = time.monotonic() + SETTLE_SECONDS
        done = None
        while time.monotonic() < deadline:
            try:
                done = self._has_mark(number, mark)
            except (UnavailableError, psycopg.Error):
                time.sleep(_RETRY_PAUSE)
            else:
                break
        if done is None:
            reason, where = self.server.reason(error_text(error)), self.server.where
            found = codes.OUTCOME_UNKNOWN.at(where=where, reason=reason, what=what)
            raise UnknownOutcomeError(found) from error
        return done

    def _has_mark(self, number: int, mark: str) -> bool | None:
        """Return whether the store has the mark of a write, or None if it may be deleted
        already.

        Once the write lock is held, the lost transaction has ended.
        """
        with closing(self.server.connect()) as connection:
            reads = [("SELECT mark FROM turns WHERE number = ?", (number,))]
            ((_, latest),), found = _begin(connection, self._write, reads)
        if not found:
            return False if as_int(latest) < number else None
        return found[0][0] == mark

    def snapshot(self) -> PostgresDatabase:
        """Open a snapshot on a separate connection, which blocks no writer."""
        connection = self.server.connect()
        try:
            with translate_errors(self.server):
                _begin(connection, self._read)
        except BaseException:
            connection.close()
            raise
        return _Snapshot(self.server, self._known_version, connection)

    def translate_errors(self) -> AbstractContextManager[None]:
        return translate_errors(self.server)

    def probe_write(self) -> None:
        """Write and roll back; raise what a real write would raise."""
        with translate_errors(self.server, is_writing=True), self._transaction(self._write):
            self.execute("UPDATE store SET last_time = last_time")
            self.execute("ROLLBACK")

    def integrity(self) -> tuple[str, ...]:
        """Return what is missing; the server itself checks the rest."""
        sql = "SELECT count(*), coalesce(max(arrival), 0) FROM messages"
        with self.read_transaction():
            count, last = self.query(sql)[0]
        return () if count == last else (f"{last} messages were stored, but {count} exist",)

    def analyze(self) -> None:
        """Update the planner's statistics; the server would do it only after a while."""
        with (
            suppress(UnavailableError),
            self._pool.borrowed() as connection,
            translate_errors(self.server),
        ):
            connection.execute("ANALYZE messages, deliveries, search")

    def close(self) -> None:
        self._pool.close()


class _Snapshot(PostgresDatabase):
    """A read transaction that lasts until it is closed, usable in any thread."""

    def __init__(self, server: Server, known: int, connection: PostgresConnection) -> None:
        super().__init__(server, known)
        self._own_connection = connection

    @property
    def _connection(self) -> PostgresConnection:
        return self._own_connection

    def close(self) -> None:
        self._own_connection.close()


def _is_dead_connection(error: BaseException) -> bool:
    """Return whether a new connection may work. After a timeout it would not."""
    return isinstance(error, psycopg.Error) and not isinstance(error, ResponseTimeout)


def _begin(
    connection: PostgresConnection, begin: tuple[str, ...], reads: Sequence[Statement] = ()
) -> list[list[Row]]:
    """Begin a transaction in one round trip.

    Return the rows of the last of these statements and of the reads. Only a writer waits for a
    lock.
    """
    *before, first = begin
    connection.silence = SILENCE + (LOCK_SECONDS if first.endswith("FOR UPDATE") else 0)
    with connection.pipeline():
        for each in before:
            connection.execute(each.encode())
        cursors = [
            connection.execute(_to_psycopg(sql), values) for sql, values in ((first, ()), *reads)
        ]
    connection.silence = SILENCE
    return [cursor.fetchall() for cursor in cursors]


def _roll_back(connection: PostgresConnection) -> None:
    """Roll back. If the connection is broken, the server does so by itself."""
    connection.silence = _ROLLBACK_SECONDS
    with suppress(psycopg.Error):
        if connection.pgconn.transaction_status != TransactionStatus.IDLE:
            connection.execute("ROLLBACK")
    connection.silence = SILENCE


# The mailbox


_ANALYZE_FROM = 1_000


class PostgresMailbox(SqlMailbox[PostgresDatabase]):
    now_sql = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

    def __init__(self, database: PostgresDatabase, clock: Clock | None = None) -> None:
        super().__init__(database)
        self._clock = clock
        self._listeners = Listeners(database.server)

    @classmethod
    def is_there(cls, address: PostgresAddress) -> bool:
        return PostgresDatabase.is_there(address)

    @classmethod
    def open(cls, address: PostgresAddress, *, clock: Clock | None = None) -> Self:
        return cls(PostgresDatabase.open(address), clock)

    @classmethod
    def create(cls, address: PostgresAddress, *, clock: Clock | None = None) -> Self:
        return cls(PostgresDatabase.create(address), clock)

    def _now(self) -> datetime:
        return (
            self._clock()
            if self._clock
            else self._time_of(self.database.query(f"SELECT {self.now_sql}")[0][0])
        )

    def _time_of(self, found: object) -> datetime:
        return self._clock() if self._clock else as_time(found)

    def restore(self, agents: Iterable[Agent], records: Iterable[MessageRecord]) -> RestoreResult:
        restored = super().restore(agents, records)
        if restored.added >= _ANALYZE_FROM:
            self.database.analyze()
        return restored

    def wait(self, position: int, seconds: float) -> int:
        deadline = time.monotonic() + seconds
        now_there = self.position()
        if now_there > position or seconds <= 0:
            return now_there
        with self._listeners.listening() as wait_for_notification:
            while (now_there := self.position()) <= position:
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                wait_for_notification(left)
        return now_there

    def close(self) -> None:
        self._listeners.close()
        super().close()
