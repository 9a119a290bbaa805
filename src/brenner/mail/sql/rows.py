"""What the SQL backends have in common: their database interface, and rows as Python values.

All backends share the same SQL texts; `?` is used for values only.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Protocol, Self

from brenner.diagnostics.codes import mail as codes
from brenner.diagnostics.model import RequestError
from brenner.mail.model import Agent
from brenner.mail.rules import unknown_agent_error, unknown_thread_error
from brenner.named_tuple import NamedTuple
from brenner.protocol.messages import Envelope, Importance, Message, StoredMessage, Trust

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractContextManager

    from brenner.mail.search import Query

# The interface of the databases


Value = str | bytes | int | float | None
Row = tuple[object, ...]
Statement = tuple[str, tuple[Value, ...]]


class DamagedRowError(Exception):
    """A row violates the schema: another program has changed it."""


class SearchSource(NamedTuple):
    """The tables of a search (messages as `m`), its arrival column, and its conditions."""

    tables: str
    arrival_column: str
    conditions: tuple[str, ...] = ()
    values: tuple[Value, ...] = ()


class Database(Protocol):
    """A database with the mail tables, and a full-text index of words and tags."""

    def execute(self, sql: str, values: tuple[Value, ...] = ()) -> object:
        """Run a statement, or send it with the next query if its result does not matter."""
        ...

    def query(self, sql: str, values: tuple[Value, ...] = ()) -> list[Row]:
        """Run a statement, and return its rows."""
        ...

    def query_all(self, statements: Sequence[Statement]) -> list[list[Row]]:
        """Run several statements in one round trip, and return the rows of each."""
        ...

    def read_transaction(self) -> AbstractContextManager[None]:
        """Begin a read transaction: all statements see the same snapshot."""
        ...

    def write_transaction(
        self, what: str = ..., reads: Sequence[Statement] = ...
    ) -> AbstractContextManager[list[list[Row]]]:
        """Begin a write transaction, and give the rows of its first reads. Writers are serialized.

        `what` names the change in the message about an unknown outcome.
        """
        ...

    def index_message(self, stored: StoredMessage, thread: int, sender: int) -> None:
        """Add a message to the full-text index."""
        ...

    def search_source(
        self, query: Query, senders: Sequence[int], threads: Sequence[int]
    ) -> SearchSource | None:
        """Translate a query, with the numbers of its senders and threads, for the index.

        Return None if it has nothing that the index contains.
        """
        ...

    def index_hint(self, name: str) -> str:
        """Return SQL that forces an index, or an empty text if the planner decides."""
        ...

    def snapshot(self) -> Self:
        """Open a separate connection with a consistent snapshot until it is closed."""
        ...

    def translate_errors(self) -> AbstractContextManager[None]:
        """Turn exceptions of the database driver into ours."""
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
    try:
        return _EPOCH + timedelta(microseconds=as_int(value))
    except OverflowError as error:
        message = f"{value!r} is not a time"
        raise DamagedRowError(message) from error


def as_int(value: object) -> int:
    """Return the integer; raise DamagedRowError if it is none."""
    if not isinstance(value, int):
        message = f"a whole number was expected, not {value!r}"
        raise DamagedRowError(message)
    return value


def as_hash(value: object) -> str:
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


def select_message(database: Database, message_id: int) -> StoredMessage:
    """Return the message with this id; raise RequestError if there is none."""
    rows = database.query(f"{SELECT} WHERE m.id = ?", (clamp(message_id),))
    return require_message(rows, message_id)


def require_message(rows: list[Row], message_id: int) -> StoredMessage:
    """Return the message in the rows of a lookup; raise RequestError if there is none."""
    if not rows:
        raise RequestError(codes.UNKNOWN_MESSAGE.at(id=message_id))
    return message_from_row(rows[0])


def clamp(number: int) -> int:
    """Limit a number to what a database can compare; no id is outside that range."""
    return max(-1, min(number, NO_LIMIT))


def sql_limit(limit: int | None) -> int:
    """Return a limit as an SQL number; None is no limit."""
    return NO_LIMIT if limit is None else max(0, min(limit, NO_LIMIT))


_SELECT_AGENTS = "SELECT name, program, model, task, registered_at FROM agents"


def select_agents(database: Database, names: Iterable[str] | None = None) -> tuple[Agent, ...]:
    """Return the registered agents, sorted by name: all, or those of these names."""
    storable = tuple(filter(is_storable_text, names or ()))
    inside = "" if names is None else f" WHERE name IN ({_marks(storable)})"
    found = database.query(f"{_SELECT_AGENTS}{inside} ORDER BY name", storable)
    return tuple(map(_agent_from_row, found))


def _marks(values: tuple[str, ...]) -> str:
    return ", ".join("?" * len(values)) or "NULL"


def _agent_from_row(row: Row) -> Agent:
    name, program, model, task, at = row
    return Agent(str(name), str(program), str(model), str(task), as_time(at))


def agent_numbers(database: Database) -> dict[str, int]:
    return numbers_from_rows(database.query("SELECT name, number FROM agents"))


def numbers_of(names: Iterable[str]) -> Statement:
    """Return the statement for the numbers of these agents, as far as they are registered."""
    storable = tuple(filter(is_storable_text, names))
    return f"SELECT name, number FROM agents WHERE name IN ({_marks(storable)})", storable


def numbers_from_rows(rows: list[Row]) -> dict[str, int]:
    return {str(name): as_int(number) for name, number in rows}


def agent_number(database: Database, name: str) -> int:
    """Return the number of an agent; raise RequestError if it is not registered."""
    found = numbers_from_rows(database.query(*numbers_of((name,))))
    if not found:
        raise unknown_agent_error(name, agent_numbers(database))
    return found[name]


def select_agent(database: Database, name: str) -> Agent:
    """Return an agent; raise RequestError if it is not registered."""
    number = agent_number(database, name)
    return _agent_from_row(database.query(f"{_SELECT_AGENTS} WHERE number = ?", (number,))[0])


def thread_statement(thread_id: str) -> Statement:
    """Return the statement for the number and the position of a thread."""
    name = thread_id if is_storable_text(thread_id) else None
    return "SELECT number, position FROM threads WHERE name = ?", (name,)


def find_thread(database: Database, thread_id: str) -> tuple[int, int] | None:
    """Return the number and the position of a thread, or None if it has no messages."""
    return thread_from_rows(database.query(*thread_statement(thread_id)))


def thread_from_rows(rows: list[Row]) -> tuple[int, int] | None:
    return (as_int(rows[0][0]), as_int(rows[0][1])) if rows else None


def is_storable_text(text: str) -> bool:
    """Return whether a string has no NUL and no lone surrogate, so that a database can store it."""
    return "\0" not in text and text == text.encode(errors="replace").decode()


def thread_number(database: Database, thread_id: str) -> int:
    """Return the number of a thread; raise RequestError if it has no messages."""
    row = find_thread(database, thread_id)
    if row is None:
        names = database.query("SELECT name FROM threads ORDER BY last_at DESC LIMIT 200")
        raise unknown_thread_error(thread_id, [str(name) for (name,) in names])
    return row[0]
