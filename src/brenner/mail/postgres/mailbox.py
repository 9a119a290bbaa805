"""The mail backend for several machines: transactions in a PostgreSQL schema, for many threads.

A writer first locks the single row of `store`, so that writers take turns on all machines. A reader
sees one snapshot and never waits. Times come from the server's clock, so that those of several
machines agree.

Durability: when a write returns, the server has confirmed the commit. If the connection breaks
before that, a new connection looks for the mark that every write leaves.
"""

import secrets
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple, Self

import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus

from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.model import UnavailableError, UnknownOutcomeError
from brenner.mail.model import Agent, Clock, MessageRecord, RestoreResult
from brenner.mail.postgres.connection import (
    LOCK_SECONDS,
    SILENCE,
    Listeners,
    Pool,
    PostgresConnection,
    PostgresWordIndex,
    ResponseTimeout,
    Schema,
    Server,
    check_version,
    error_text,
    is_lost,
    migrations,
    translate_errors,
)
from brenner.mail.sql.mailbox import SqlMailbox
from brenner.mail.sql.rows import ResultRows, Row, Value, as_int, as_time
from brenner.store_url import PostgresAddress

SETTLE_SECONDS = 15.0  # how long to ask a lost server whether it committed
_RETRY_PAUSE = 0.25
_ROLLBACK_SECONDS = 2.0
_KEPT_COMMIT_MARKS = 1_000
_BEGIN_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {schema}; SELECT 1 FROM store"
_BEGIN_WRITE = (
    "BEGIN ISOLATION LEVEL READ COMMITTED; {schema};"
    " SELECT brenner_format, turn FROM store FOR UPDATE"
)
# Set in every transaction: a connection pooler may hand out a connection that another project
# has prepared.
_SET_SCHEMA = sql.SQL("SET LOCAL search_path TO {}")


class _CommitMark(NamedTuple):
    """The sequence number of a write, and the random mark that it stores."""

    number: int
    mark: str

    @property
    def commit(self) -> str:
        """The statements that end the write, sent together."""
        return (
            f"INSERT INTO turns VALUES ({self.number}, '{self.mark}');"
            f" DELETE FROM turns WHERE number <= {self.number - _KEPT_COMMIT_MARKS};"
            f" UPDATE store SET turn = {self.number}; COMMIT"
        )


@lru_cache(500)
def _to_psycopg(sql: str) -> bytes:
    """Convert a statement to psycopg's placeholders. Ours have no other `?` and no `%`."""
    return sql.replace("?", "%s").encode()


class PostgresDatabase:
    """A schema with the mail tables."""

    def __init__(self, server: Server, known: int) -> None:
        self.server = server
        self.index = PostgresWordIndex(self)
        self._known_version = known
        self._pool = Pool(server)
        self._local = threading.local()
        schema = _SET_SCHEMA.format(sql.Identifier(server.schema)).as_string()
        self._read, self._write = (
            each.format(schema=schema) for each in (_BEGIN_READ, _BEGIN_WRITE)
        )

    @classmethod
    def is_there(cls, address: PostgresAddress) -> bool:
        """Return whether the schema exists and is not empty."""
        server = Server(address)
        with closing(server.connect()) as connection:
            return Schema(server, connection).is_there()

    @classmethod
    def open(cls, address: PostgresAddress, steps: tuple[str, ...] | None = None) -> Self:
        """Open an existing schema, and migrate it if it is older."""
        steps = migrations() if steps is None else steps
        database = cls(Server(address), len(steps))
        with database._first_connection() as connection:
            Schema(database.server, connection, steps).update()
        return database

    @classmethod
    def create(cls, address: PostgresAddress) -> Self:
        """Create the schema if it does not exist, and open it."""
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
        """The format version."""
        with self.read_transaction():
            return as_int(self.execute("SELECT brenner_format FROM store").fetchall()[0][0])

    def execute(self, sql: str, values: tuple[Value, ...] = ()) -> ResultRows:
        """Run a statement in the transaction of this thread."""
        return self._connection.execute(_to_psycopg(sql), values)

    @property
    def _connection(self) -> PostgresConnection:
        connection: PostgresConnection = self._local.connection
        return connection

    def index_hint(self, name: str) -> str:  # noqa: ARG002
        """Return an empty text: the planner has statistics."""
        return ""

    @contextmanager
    def read_transaction(self) -> Iterator[None]:
        """Begin a read transaction: all statements see the same snapshot."""
        if self._in_transaction:
            yield
            return
        with translate_errors(self.server.place), self._transaction(self._read):
            yield
            self._connection.execute("COMMIT")

    @contextmanager
    def write_transaction(self, what: str = "the change") -> Iterator[None]:
        """Begin a write transaction under the write lock.

        Check that no newer program has migrated the schema.
        """
        if self._in_transaction:
            yield
            return
        label = self.server.place
        with translate_errors(label, is_writing=True), self._transaction(self._write) as answer:
            version, before = answer
            check_version(self.server, as_int(version), self._known_version)
            commit_mark = _CommitMark(as_int(before) + 1, secrets.token_hex(16))
            with self._connection.pipeline():  # do not wait for unread results
                yield
            self._commit(commit_mark, what)

    @property
    def _in_transaction(self) -> bool:
        return getattr(self._local, "connection", None) is not None

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Row]:
        """Begin a transaction on a connection for this thread, and yield the last result row."""
        connection, answer = self._begin_on_pooled(begin)
        self._local.connection = connection
        try:
            yield answer
        except BaseException:
            _roll_back(connection)
            raise
        finally:
            self._local.connection = None
            self._pool.release(connection)

    def _begin_on_pooled(self, begin: str) -> tuple[PostgresConnection, Row]:
        """Return a connection with a new transaction.

        An idle connection may be dead, for example after a server restart. Nothing was done on it
        yet, so the next connection is tried.
        """
        while True:
            connection, is_new = self._pool.acquire()
            try:
                return connection, _begin(connection, begin)
            except BaseException as error:
                _roll_back(connection)
                self._pool.release(connection)
                if is_new or not connection.closed or not _is_dead_connection(error):
                    raise

    def _commit(self, commit_mark: _CommitMark, what: str) -> None:
        connection = self._connection
        try:
            connection.execute(commit_mark.commit.encode())
        except psycopg.Error as error:
            is_open = not connection.closed and not is_lost(error)
            if is_open or not self._was_committed(commit_mark, what, error):
                raise

    def _was_committed(self, commit_mark: _CommitMark, what: str, error: psycopg.Error) -> bool:
        """Return whether a write was committed whose answer was lost.

        Raise UnknownOutcomeError if that cannot be determined.
        """
        deadline = time.monotonic() + SETTLE_SECONDS
        done = None
        while time.monotonic() < deadline:
            try:
                done = self._has_mark(commit_mark)
            except (UnavailableError, psycopg.Error):
                time.sleep(_RETRY_PAUSE)
            else:
                break
        if done is None:
            label = self.server.place
            reason = label.reason(error_text(error))
            found = codes.OUTCOME_UNKNOWN.at(where=label.where, reason=reason, what=what)
            raise UnknownOutcomeError(found) from error
        return done

    def _has_mark(self, commit_mark: _CommitMark) -> bool | None:
        """Return whether the store has the mark of a write, or None if it may be deleted
        already.

        Once the write lock is held, the lost transaction has ended.
        """
        with closing(self.server.connect()) as connection:
            _, latest = _begin(connection, self._write)
            found = connection.execute(
                "SELECT mark FROM turns WHERE number = %s", (commit_mark.number,)
            )
            row = found.fetchone()
        if row is None:
            return False if as_int(latest) < commit_mark.number else None
        return row[0] == commit_mark.mark

    def snapshot(self) -> "PostgresSnapshot":
        """Open a snapshot on a separate connection; it neither blocks writers nor sees their
        changes.
        """
        connection = self.server.connect()
        try:
            with translate_errors(self.server.place):
                _begin(connection, self._read)
        except BaseException:
            connection.close()
            raise
        return PostgresSnapshot(self.server, connection)

    def probe_write(self) -> None:
        """Write and roll back; raise what a real write would raise."""
        with suppress(_ProbeRollback), self.write_transaction():
            self.execute("UPDATE store SET last_time = last_time")
            raise _ProbeRollback

    def integrity(self) -> tuple[str, ...]:
        """Return what is missing; the server itself checks the rest."""
        sql = "SELECT count(*), coalesce(max(arrival), 0) FROM messages"
        with self.read_transaction():
            count, last = self.execute(sql).fetchall()[0]
        return () if count == last else (f"{last} messages came in, and {count} are there",)

    def analyze(self) -> None:
        """Update the planner's statistics; the server would do it only after a while."""
        with (
            suppress(UnavailableError),
            self._pool.borrowed() as connection,
            translate_errors(self.server.place),
        ):
            connection.execute("ANALYZE messages, deliveries, search")

    def close(self) -> None:
        """Close the pool."""
        self._pool.close()


class PostgresSnapshot:
    """A read transaction that lasts until it is closed, usable in any thread."""

    def __init__(self, server: Server, connection: PostgresConnection) -> None:
        self._server = server
        self._connection = connection

    def execute(self, sql: str, values: tuple[Value, ...] = ()) -> ResultRows:
        return self._connection.execute(_to_psycopg(sql), values)

    def translate_errors(self) -> AbstractContextManager[None]:
        """Turn exceptions of psycopg into ours."""
        return translate_errors(self._server.place)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class _ProbeRollback(Exception):
    """Rolls back a trial write."""


def _is_dead_connection(error: BaseException) -> bool:
    """Return whether a new connection may work. After a timeout it would not."""
    return isinstance(error, psycopg.Error) and not isinstance(error, ResponseTimeout)


def _begin(connection: PostgresConnection, begin: str) -> Row:
    """Begin a transaction, and return the row of its last statement. Only a writer waits for a
    lock.
    """
    connection.silence = SILENCE + (LOCK_SECONDS if begin.endswith("FOR UPDATE") else 0)
    cursor = connection.execute(begin.encode())
    while cursor.nextset():
        pass
    connection.silence = SILENCE
    return (cursor.fetchone() if cursor.description else None) or ()


def _roll_back(connection: PostgresConnection) -> None:
    """Roll back. If the connection is broken, the server does so by itself."""
    connection.silence = _ROLLBACK_SECONDS
    with suppress(psycopg.Error):
        if connection.pgconn.transaction_status != TransactionStatus.IDLE:
            connection.execute("ROLLBACK")
    connection.silence = SILENCE


# The mailbox


_ANALYZE_FROM = 1_000
_NOW = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"


class PostgresMailbox(SqlMailbox[PostgresDatabase]):
    """A mailbox in a PostgreSQL schema."""

    def __init__(self, database: PostgresDatabase, clock: Clock | None = None) -> None:
        super().__init__(database)
        self._clock = clock
        self._listeners = Listeners(database.server)

    @classmethod
    def is_there(cls, address: PostgresAddress) -> bool:
        """Return whether the schema exists and is not empty."""
        return PostgresDatabase.is_there(address)

    @classmethod
    def open(cls, address: PostgresAddress, *, clock: Clock | None = None) -> Self:
        """Open the mailbox in an existing schema."""
        return cls(PostgresDatabase.open(address), clock)

    @classmethod
    def create(cls, address: PostgresAddress, *, clock: Clock | None = None) -> Self:
        """Open the mailbox; create the schema if it does not exist."""
        return cls(PostgresDatabase.create(address), clock)

    def _now(self) -> datetime:
        if self._clock:
            return self._clock()
        return as_time(self.database.execute(_NOW).fetchall()[0][0])

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
