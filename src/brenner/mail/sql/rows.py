"""What the SQL backends have in common: their database interface, and rows as Python values.

All backends share the same SQL texts; `?` is used for values only.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, Protocol

from brenner.diagnostics.codes import mail as codes
from brenner.diagnostics.model import RequestError
from brenner.mail.model import Agent, Envelope, Importance, StoredMessage, Trust
from brenner.mail.rules import unknown_agent_error, unknown_thread_error
from brenner.mail.search import Query
from brenner.protocol.messages import Message

# The interface of the databases


Value = str | bytes | int | float | None
Row = tuple[object, ...]


class DamagedRowError(Exception):
    """A row violates the schema: another program has changed it."""


class ResultRows(Protocol):
    """The result of a statement."""

    def fetchone(self) -> Row | None: ...

    def fetchall(self) -> list[Row]: ...

    def __iter__(self) -> Iterator[Row]: ...


class Executor(Protocol):
    """An object that runs SQL statements."""

    def execute(self, sql: str, values: tuple[Value, ...] = ()) -> ResultRows: ...


class Snapshot(Executor, Protocol):
    """A separate connection with a consistent snapshot until it is closed."""

    def translate_errors(self) -> AbstractContextManager[None]:
        """Turn exceptions of the database driver into ours."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


class FilterNumbers(NamedTuple):
    """The database numbers of the senders and threads that a query filters by."""

    senders: tuple[int, ...]
    threads: tuple[int, ...]


class SearchSource(NamedTuple):
    """The tables of a search (messages as `m`), its arrival column, and its conditions."""

    tables: str
    arrival_column: str
    conditions: tuple[str, ...] = ()
    values: tuple[Value, ...] = ()


class SearchIndex(Protocol):
    """The full-text index: finds messages by words and by tags for filters."""

    def add(self, stored: StoredMessage, thread: int, sender: int) -> None:
        """Add a message to the index."""
        ...

    def search_source(self, query: Query, numbers: FilterNumbers) -> SearchSource | None:
        """Translate a query for the index; return None if it has nothing that the index
        contains.
        """
        ...


class Database(Executor, Protocol):
    """A database with the mail tables."""

    @property
    def index(self) -> SearchIndex:
        """The full-text index."""
        ...

    def read_transaction(self) -> AbstractContextManager[None]:
        """Begin a read transaction: all statements see the same snapshot."""
        ...

    def write_transaction(self, what: str = ...) -> AbstractContextManager[None]:
        """Begin a write transaction. Writers are serialized.

        `what` names the change in the message about an unknown outcome.
        """
        ...

    def index_hint(self, name: str) -> str:
        """Return SQL that forces an index, or an empty text if the planner decides."""
        ...

    def snapshot(self) -> Snapshot:
        """Open a snapshot of the current mail."""
        ...

    def integrity(self) -> tuple[str, ...]:
        """Return what is damaged, apart from the contents of messages."""
        ...

    def close(self) -> None:
        """Close all connections."""
        ...


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
NO_LIMIT = 2**62  # greater than any id or arrival

COLUMNS = """
    m.id, m.at, m.thread_id, m.sender, m.recipients, m.subject, m.body, m.ack_required,
    m.hash, m.arrival, m.origin_id, m.reply_to, m.acknowledges, m.is_local,
    m.importance, m.cc, m.trust, m.decides
"""
SELECT = f"SELECT {COLUMNS} FROM messages m"
COLUMN_COUNT = 18


def microseconds(at: datetime) -> int:
    """Return a time as stored: microseconds since 1970."""
    return (at - _EPOCH) // _MICROSECOND


def as_time(value: object) -> datetime:
    """Return a stored time as a datetime."""
    try:
        return _EPOCH + timedelta(microseconds=as_int(value))
    except OverflowError as error:
        message = f"{value!r} is no time"
        raise DamagedRowError(message) from error


def as_int(value: object) -> int:
    """Return the integer; raise DamagedRowError if it is none."""
    if not isinstance(value, int):
        message = f"a whole number was expected, not {value!r}"
        raise DamagedRowError(message)
    return value


def as_hash(value: object) -> str:
    """Return a stored hash as hexadecimal text."""
    if not isinstance(value, bytes):
        message = f"a hash was expected, not {value!r}"
        raise DamagedRowError(message)
    return value.hex()


def message_from_row(row: Row) -> StoredMessage:
    """Return the message in a row of `COLUMNS`."""
    ack_required = row[7]
    message = Message(
        thread_id=str(row[2]),
        sender=str(row[3]),
        recipients=_split_names(row[4]),
        subject=str(row[5]),
        body=str(row[6]),
        ack_required=None if ack_required is None else bool(ack_required),
    )
    return StoredMessage(
        id=as_int(row[0]),
        at=as_time(row[1]),
        message=message,
        content_hash=as_hash(row[8]),
        arrival=as_int(row[9]),
        origin_id=as_int(row[10]),
        reply_to=None if row[11] is None else as_int(row[11]),
        acknowledges=tuple(map(int, filter(None, str(row[12]).split(",")))),
        is_local=bool(row[13]),
        envelope=_envelope_from_row(row),
        decides=None if row[17] is None else bool(row[17]),
    )


def _envelope_from_row(row: Row) -> Envelope:
    """Return the envelope. Imported mail is unverified, also if it was stored before trust was."""
    try:
        trust = Trust(str(row[16])) if row[13] else Trust.UNVERIFIED
        return Envelope(Importance(str(row[14])), _split_names(row[15]), trust)
    except ValueError as error:
        message = str(error)
        raise DamagedRowError(message) from error


def _split_names(value: object) -> tuple[str, ...]:
    return tuple(filter(None, str(value).split(",")))


def join_column(parts: tuple[str, ...] | tuple[int, ...]) -> str:
    """Join names or ids for one column; none of them contains a comma."""
    return ",".join(map(str, parts))


def select_message(database: Executor, message_id: int) -> StoredMessage:
    """Return the message with this id; raise RequestError if there is none."""
    row = database.execute(f"{SELECT} WHERE m.id = ?", (clamp(message_id),)).fetchone()
    if row is None:
        raise RequestError(codes.UNKNOWN_MESSAGE.at(id=message_id))
    return message_from_row(row)


def clamp(number: int) -> int:
    """Limit a number to what a database can compare; no id is outside that range."""
    return max(-1, min(number, NO_LIMIT))


def sql_limit(limit: int | None) -> int:
    """Return a limit as an SQL number; None is no limit."""
    return NO_LIMIT if limit is None else max(0, min(limit, NO_LIMIT))


def select_agents(database: Executor) -> tuple[Agent, ...]:
    """Return all registered agents, sorted by name."""
    rows = database.execute(
        "SELECT name, program, model, task, registered_at FROM agents ORDER BY name"
    )
    return tuple(map(_agent_from_row, rows))


def _agent_from_row(row: Row) -> Agent:
    name, program, model, task, at = row
    return Agent(str(name), str(program), str(model), str(task), as_time(at))


def agent_numbers(database: Executor) -> dict[str, int]:
    """Return the number of each registered agent, by name."""
    return {
        str(name): as_int(number)
        for name, number in database.execute("SELECT name, number FROM agents")
    }


def agent_number(database: Executor, name: str) -> int:
    """Return the number of an agent; raise RequestError if it is not registered."""
    row = None
    if is_storable_text(name):
        sql = "SELECT number FROM agents WHERE name = ?"
        row = database.execute(sql, (name,)).fetchone()
    if row is None:
        raise unknown_agent_error(name, agent_numbers(database))
    return as_int(row[0])


def select_agent(database: Executor, name: str) -> Agent:
    """Return an agent; raise RequestError if it is not registered."""
    number = agent_number(database, name)
    sql = "SELECT name, program, model, task, registered_at FROM agents WHERE number = ?"
    return _agent_from_row(database.execute(sql, (number,)).fetchall()[0])


def find_thread(database: Executor, thread_id: str) -> tuple[int, int] | None:
    """Return the number and the position of a thread, or None if it has no messages."""
    if not is_storable_text(thread_id):
        return None
    sql = "SELECT number, position FROM threads WHERE name = ?"
    row = database.execute(sql, (thread_id,)).fetchone()
    return (as_int(row[0]), as_int(row[1])) if row else None


def is_storable_text(text: str) -> bool:
    """Return whether a string has no NUL and no lone surrogate, so that a database can store it."""
    return "\0" not in text and text == text.encode(errors="replace").decode()


def thread_number(database: Executor, thread_id: str) -> int:
    """Return the number of a thread; raise RequestError if it has no messages."""
    row = find_thread(database, thread_id)
    if row is None:
        names = database.execute("SELECT name FROM threads ORDER BY last_at DESC LIMIT 200")
        raise unknown_thread_error(thread_id, [str(name) for (name,) in names])
    return row[0]
