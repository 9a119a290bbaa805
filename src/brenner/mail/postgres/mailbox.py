"""The schema of one project: transactions over a few connections, for many threads at once.

Whoever writes locks the one row of `store` first, so that writers take turns, on however many
machines. Whoever reads sees one moment and waits for nobody.

Durability: when a write returns, the server has said that it is committed. Where the connection
breaks before it has said so, the store itself is asked over a new one: every write leaves a mark.
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
from brenner.mail.model import Agent, Clock, Record, Restored
from brenner.mail.postgres.connection import (
    LOCK_SECONDS,
    SILENCE,
    Connection,
    Listeners,
    Pool,
    Schema,
    Server,
    Silent,
    WordIndex,
    check_version,
    is_lost,
    migrations,
    said,
    translated,
)
from brenner.mail.sql.mailbox import SqlMailbox
from brenner.mail.sql.rows import Row, Rows, Value, time_of, whole
from brenner.store_url import PostgresAddress

SETTLE_SECONDS = 15.0  # for which a lost server is waited for, to ask what became of a commit
_PAUSE = 0.25
_ROLLBACK_SECONDS = 2.0
_KEPT_TURNS = 1_000
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {schema}; SELECT 1 FROM store"
_WRITE = (
    "BEGIN ISOLATION LEVEL READ COMMITTED; {schema};"
    " SELECT brenner_format, turn FROM store FOR UPDATE"
)
# Said in every transaction: a pooler between us and the server may hand it a connection that
# another project has made ready.
_SCHEMA = sql.SQL("SET LOCAL search_path TO {}")


class _Turn(NamedTuple):
    """A write: the how-manieth it is, and the mark that it leaves."""

    number: int
    mark: str

    @property
    def commit(self) -> str:
        """The end of the write, in one go."""
        return (
            f"INSERT INTO turns VALUES ({self.number}, '{self.mark}');"
            f" DELETE FROM turns WHERE number <= {self.number - _KEPT_TURNS};"
            f" UPDATE store SET turn = {self.number}; COMMIT"
        )


@lru_cache(500)
def _for_psycopg(sql: str) -> bytes:
    """The statement as psycopg wants it. Ours hold no question mark and no percent sign else."""
    return sql.replace("?", "%s").encode()


class Database:
    """A schema with mail in it."""

    def __init__(self, server: Server, known: int) -> None:
        self.server = server
        self.index = WordIndex(self)
        self._known = known
        self._pool = Pool(server)
        self._inside = threading.local()
        schema = _SCHEMA.format(sql.Identifier(server.schema)).as_string()
        self._read, self._write = (each.format(schema=schema) for each in (_READ, _WRITE))

    @classmethod
    def is_there(cls, address: PostgresAddress) -> bool:
        """Whether there is something in the schema."""
        server = Server(address)
        with closing(server.connect()) as connection:
            return Schema(server, connection).is_there()

    @classmethod
    def open(cls, address: PostgresAddress, steps: tuple[str, ...] | None = None) -> Self:
        """Open a schema that is there; bring it up to date where it is older."""
        steps = migrations() if steps is None else steps
        database = cls(Server(address), len(steps))
        with database._first_look() as connection:
            Schema(database.server, connection, steps).update()
        return database

    @classmethod
    def create(cls, address: PostgresAddress) -> Self:
        """Make the schema where there is none, and open it."""
        database = cls(Server(address), len(migrations()))
        with database._first_look() as connection:
            Schema(database.server, connection).create()
        return database

    @contextmanager
    def _first_look(self) -> Iterator[Connection]:
        """The first connection, which stays; nothing stays where it shows that all is in vain."""
        try:
            with self._pool.lent() as connection:
                yield connection
        except BaseException:
            self.close()
            raise

    @property
    def version(self) -> int:
        """The number of the format."""
        with self.reading():
            return whole(self.execute("SELECT brenner_format FROM store").fetchall()[0][0])

    def execute(self, sql: str, values: tuple[Value, ...] = ()) -> Rows:
        """Run a statement in the transaction of this thread."""
        return self._connection.execute(_for_psycopg(sql), values)

    @property
    def _connection(self) -> Connection:
        connection: Connection = self._inside.connection
        return connection

    def indexed_by(self, name: str) -> str:  # noqa: ARG002
        """Nothing: the planner has statistics."""
        return ""

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Everything inside sees the same moment."""
        if self._is_inside:
            yield
            return
        with translated(self.server.place), self._transaction(self._read):
            yield
            self._connection.execute("COMMIT")

    @contextmanager
    def writing(self, what: str = "the change") -> Iterator[None]:
        """All of what is done inside, or nothing, when it is our turn.

        A newer program may have migrated the schema since it was opened here.
        """
        if self._is_inside:
            yield
            return
        place = self.server.place
        with translated(place, is_writing=True), self._transaction(self._write) as answer:
            version, before = answer
            check_version(self.server, whole(version), self._known)
            turn = _Turn(whole(before) + 1, secrets.token_hex(16))
            with self._connection.pipeline():  # nobody waits for an answer that nobody reads
                yield
            self._commit(turn, what)

    @property
    def _is_inside(self) -> bool:
        return getattr(self._inside, "connection", None) is not None

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Row]:
        """A connection of this thread's own, with what the last statement of the beginning gave."""
        connection, answer = self._begun(begin)
        self._inside.connection = connection
        try:
            yield answer
        except BaseException:
            _roll_back(connection)
            raise
        finally:
            self._inside.connection = None
            self._pool.give(connection)

    def _begun(self, begin: str) -> tuple[Connection, Row]:
        """A connection on which a transaction has begun.

        One that was kept may have died since, when the server was restarted. Nothing has been
        done on it yet, so that a new one does as well.
        """
        while True:
            connection, is_new = self._pool.take()
            try:
                return connection, _begin(connection, begin)
            except BaseException as error:
                _roll_back(connection)
                self._pool.give(connection)
                if is_new or not connection.closed or not _has_died(error):
                    raise

    def _commit(self, turn: _Turn, what: str) -> None:
        connection = self._connection
        try:
            connection.execute(turn.commit.encode())
        except psycopg.Error as error:
            is_open = not connection.closed and not is_lost(error)
            if is_open or not self._was_done(turn, what, error):
                raise

    def _was_done(self, turn: _Turn, what: str, error: psycopg.Error) -> bool:
        """What became of a commit whose answer got lost; raises where nobody can tell."""
        deadline = time.monotonic() + SETTLE_SECONDS
        done = None
        while time.monotonic() < deadline:
            try:
                done = self._has_mark(turn)
            except (UnavailableError, psycopg.Error):
                time.sleep(_PAUSE)
            else:
                break
        if done is None:
            place = self.server.place
            reason = place.reason(said(error))
            found = codes.OUTCOME_UNKNOWN.at(where=place.where, reason=reason, what=what)
            raise UnknownOutcomeError(found) from error
        return done

    def _has_mark(self, turn: _Turn) -> bool | None:
        """Whether the store has the mark of a write; None where it may be forgotten already.

        When it is our turn, the transaction that got lost is over, one way or the other.
        """
        with closing(self.server.connect()) as connection:
            _, latest = _begin(connection, self._write)
            found = connection.execute("SELECT mark FROM turns WHERE number = %s", (turn.number,))
            row = found.fetchone()
        if row is None:
            return False if whole(latest) < turn.number else None
        return row[0] == turn.mark

    def moment(self) -> "Moment":
        """The mail as it is now, on a connection of its own.

        What happens in the mailbox meanwhile is not held up, and not seen.
        """
        connection = self.server.connect()
        try:
            with translated(self.server.place):
                _begin(connection, self._read)
        except BaseException:
            connection.close()
            raise
        return Moment(self.server, connection)

    def probe(self) -> None:
        """Try a write, and take it back; raises what a real one would."""
        with suppress(_TakenBack), self.writing():
            self.execute("UPDATE store SET last_time = last_time")
            raise _TakenBack

    def integrity(self) -> tuple[str, ...]:
        """What is wrong inside, but for the messages themselves; the server minds the rest."""
        sql = "SELECT count(*), coalesce(max(arrival), 0) FROM messages"
        with self.reading():
            count, last = self.execute(sql).fetchall()[0]
        return () if count == last else (f"{last} messages came in, and {count} are there",)

    def take_stock(self) -> None:
        """Let the planner know what there is now; by itself the server notices after a while."""
        with (
            suppress(UnavailableError),
            self._pool.lent() as connection,
            translated(self.server.place),
        ):
            connection.execute("ANALYZE messages, deliveries, search")

    def close(self) -> None:
        """Let go of the server."""
        self._pool.close()


class Moment:
    """A transaction that sees one moment until it is closed, in whichever thread."""

    def __init__(self, server: Server, connection: Connection) -> None:
        self._server = server
        self._connection = connection

    def execute(self, sql: str, values: tuple[Value, ...] = ()) -> Rows:
        """Run a statement."""
        return self._connection.execute(_for_psycopg(sql), values)

    def translated(self) -> AbstractContextManager[None]:
        """Turn what psycopg raises into what we raise."""
        return translated(self._server.place)

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()


class _TakenBack(Exception):
    """A write that was only tried."""


def _has_died(error: BaseException) -> bool:
    """Whether only the connection is at fault. A server that stands still answers no other one."""
    return isinstance(error, psycopg.Error) and not isinstance(error, Silent)


def _begin(connection: Connection, begin: str) -> Row:
    """Begin a transaction; the row that its last statement gave. Only who writes waits her turn."""
    connection.silence = SILENCE + (LOCK_SECONDS if begin.endswith("FOR UPDATE") else 0)
    cursor = connection.execute(begin.encode())
    while cursor.nextset():
        pass
    connection.silence = SILENCE
    return (cursor.fetchone() if cursor.description else None) or ()


def _roll_back(connection: Connection) -> None:
    """Take back what was done; where that cannot be said, the server does so by itself."""
    connection.silence = _ROLLBACK_SECONDS
    with suppress(psycopg.Error):
        if connection.pgconn.transaction_status != TransactionStatus.IDLE:
            connection.execute("ROLLBACK")
    connection.silence = SILENCE


# The home of the mail for several machines: a schema in a PostgreSQL database.
#
# Times come from the server's clock, so that those of several machines cannot contradict each
# other.


_MANY = 1_000
_NOW = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"


class PostgresMailbox(SqlMailbox[Database]):
    """A mailbox in a schema."""

    def __init__(self, database: Database, clock: Clock | None = None) -> None:
        super().__init__(database)
        self._clock = clock
        self._listeners = Listeners(database.server)

    @classmethod
    def is_there(cls, address: PostgresAddress) -> bool:
        """Whether there is something under that name."""
        return Database.is_there(address)

    @classmethod
    def open(cls, address: PostgresAddress, *, clock: Clock | None = None) -> Self:
        """The mailbox in a schema that is there."""
        return cls(Database.open(address), clock)

    @classmethod
    def create(cls, address: PostgresAddress, *, clock: Clock | None = None) -> Self:
        """The mailbox in a schema that is made where there is none."""
        return cls(Database.create(address), clock)

    def _now(self) -> datetime:
        if self._clock:
            return self._clock()
        return time_of(self.database.execute(_NOW).fetchall()[0][0])

    def restore(self, agents: Iterable[Agent], records: Iterable[Record]) -> Restored:
        restored = super().restore(agents, records)
        if restored.added >= _MANY:
            self.database.take_stock()
        return restored

    def wait(self, position: int, seconds: float) -> int:
        deadline = time.monotonic() + seconds
        now_there = self.position()
        if now_there > position or seconds <= 0:
            return now_there
        with self._listeners.listening() as hear:
            while (now_there := self.position()) <= position:
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                hear(left)
        return now_there

    def close(self) -> None:
        self._listeners.close()
        super().close()
