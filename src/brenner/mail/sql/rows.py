"""Rows as values, and back."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, Protocol

from brenner.diagnostics.codes import mail as codes
from brenner.diagnostics.model import RequestError
from brenner.mail.model import Agent, Envelope, Importance, StoredMessage, Trust
from brenner.mail.rules import no_such_agent, unknown_thread
from brenner.mail.search import Query
from brenner.protocol.messages import Message

# What the homes in SQL have in common, and what each has of its own.
#
# One text of SQL serves all of them: `?` stands for a value, and for nothing else.


Value = str | bytes | int | float | None
Row = tuple[object, ...]


class Damaged(Exception):
    """A row is not what the schema promises: another program has been at it."""


class Rows(Protocol):
    """What a statement gives."""

    def fetchone(self) -> Row | None: ...

    def fetchall(self) -> list[Row]: ...

    def __iter__(self) -> Iterator[Row]: ...


class Statements(Protocol):
    """Something that runs statements."""

    def execute(self, sql: str, values: tuple[Value, ...] = ()) -> Rows:
        """Run a statement."""
        ...


class Moment(Statements, Protocol):
    """A connection of its own, which sees one moment until it is closed."""

    def translated(self) -> AbstractContextManager[None]:
        """Turn what the database raises into what we raise."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class Numbers(NamedTuple):
    """What filters ask for, by the numbers of agents and threads."""

    senders: tuple[int, ...]
    threads: tuple[int, ...]


class Look(NamedTuple):
    """Where to look for messages `m`: the tables, the column with the arrival, what must hold."""

    source: str
    place: str
    conditions: tuple[str, ...] = ()
    values: tuple[Value, ...] = ()


class Index(Protocol):
    """Finds messages by their words, and by tags for what filters ask."""

    def add(self, stored: StoredMessage, thread: int, sender: int) -> None:
        """Make a message findable."""
        ...

    def look(self, query: Query, numbers: Numbers) -> Look | None:
        """The query in the index's language; None where it asks for nothing that it knows."""
        ...


class Database(Statements, Protocol):
    """A place with the tables of the mail in it."""

    @property
    def index(self) -> Index:
        """What searches are answered from."""
        ...

    def reading(self) -> AbstractContextManager[None]:
        """Everything inside sees the same moment."""
        ...

    def writing(self, what: str = ...) -> AbstractContextManager[None]:
        """All of what is done inside, or nothing; who writes comes alone.

        `what` is written: for the sentence that says that nobody knows whether it was.
        """
        ...

    def indexed_by(self, name: str) -> str:
        """The words that make a statement use that index; none where the planner knows best."""
        ...

    def moment(self) -> Moment:
        """The mail as it is now, for as long as somebody reads."""
        ...

    def integrity(self) -> tuple[str, ...]:
        """What is wrong inside, but for the messages themselves."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
ALL = 2**62  # more than any store has

COLUMNS = """
    m.id, m.at, m.thread_id, m.sender, m.recipients, m.subject, m.body, m.ack_required,
    m.hash, m.arrival, m.origin_id, m.reply_to, m.acknowledges, m.is_local,
    m.importance, m.cc, m.trust, m.decides
"""
SELECT = f"SELECT {COLUMNS} FROM messages m"
COLUMN_COUNT = 18


def microseconds(at: datetime) -> int:
    """A time as it is kept."""
    return (at - _EPOCH) // _MICROSECOND


def time_of(value: object) -> datetime:
    """A time as it was."""
    try:
        return _EPOCH + timedelta(microseconds=whole(value))
    except OverflowError as error:
        message = f"{value!r} is no time"
        raise Damaged(message) from error


def whole(value: object) -> int:
    """A number, as the schema promises."""
    if not isinstance(value, int):
        message = f"a whole number was expected, not {value!r}"
        raise Damaged(message)
    return value


def hash_of(value: object) -> str:
    """A hash as it is written."""
    if not isinstance(value, bytes):
        message = f"a hash was expected, not {value!r}"
        raise Damaged(message)
    return value.hex()


def stored_of(row: Row) -> StoredMessage:
    """A message from its columns, in the order of `COLUMNS`."""
    ack_required = row[7]
    message = Message(
        thread_id=str(row[2]),
        sender=str(row[3]),
        recipients=_names(row[4]),
        subject=str(row[5]),
        body=str(row[6]),
        ack_required=None if ack_required is None else bool(ack_required),
    )
    return StoredMessage(
        id=whole(row[0]),
        at=time_of(row[1]),
        message=message,
        content_hash=hash_of(row[8]),
        arrival=whole(row[9]),
        origin_id=whole(row[10]),
        reply_to=None if row[11] is None else whole(row[11]),
        acknowledges=tuple(map(int, filter(None, str(row[12]).split(",")))),
        is_local=bool(row[13]),
        envelope=_envelope(row),
        decides=None if row[17] is None else bool(row[17]),
    )


def _envelope(row: Row) -> Envelope:
    """What stands on a message. Mail that was imported is unverified, also from before that was
    written down.
    """
    try:
        trust = Trust(str(row[16])) if row[13] else Trust.UNVERIFIED
        return Envelope(Importance(str(row[14])), _names(row[15]), trust)
    except ValueError as error:
        message = str(error)
        raise Damaged(message) from error


def _names(value: object) -> tuple[str, ...]:
    return tuple(filter(None, str(value).split(",")))


def joined(parts: tuple[str, ...] | tuple[int, ...]) -> str:
    """Names or ids in one column; none of them holds a comma."""
    return ",".join(map(str, parts))


def message_row(database: Statements, message_id: int) -> StoredMessage:
    """The message of that id."""
    row = database.execute(f"{SELECT} WHERE m.id = ?", (bounded(message_id),)).fetchone()
    if row is None:
        raise RequestError(codes.UNKNOWN_MESSAGE.at(id=message_id))
    return stored_of(row)


def bounded(number: int) -> int:
    """A number that a database can compare; no id is outside."""
    return max(-1, min(number, ALL))


def most(limit: int | None) -> int:
    """A limit as a database takes it."""
    return ALL if limit is None else max(0, min(limit, ALL))


def agent_rows(database: Statements) -> tuple[Agent, ...]:
    """Everybody known, by name."""
    rows = database.execute(
        "SELECT name, program, model, task, registered_at FROM agents ORDER BY name"
    )
    return tuple(map(_agent, rows))


def _agent(row: Row) -> Agent:
    name, program, model, task, at = row
    return Agent(str(name), str(program), str(model), str(task), time_of(at))


def names(database: Statements) -> dict[str, int]:
    """Every name with its number."""
    return {
        str(name): whole(number)
        for name, number in database.execute("SELECT name, number FROM agents")
    }


def number_of_agent(database: Statements, name: str) -> int:
    """The number of a name that must be known."""
    row = None
    if is_text(name):
        sql = "SELECT number FROM agents WHERE name = ?"
        row = database.execute(sql, (name,)).fetchone()
    if row is None:
        raise no_such_agent(name, names(database))
    return whole(row[0])


def agent_row(database: Statements, name: str) -> Agent:
    """An agent that must be known."""
    number = number_of_agent(database, name)
    sql = "SELECT name, program, model, task, registered_at FROM agents WHERE number = ?"
    return _agent(database.execute(sql, (number,)).fetchall()[0])


def thread_row(database: Statements, thread_id: str) -> tuple[int, int] | None:
    """The number and the position of a thread that somebody has written to."""
    if not is_text(thread_id):
        return None
    sql = "SELECT number, position FROM threads WHERE name = ?"
    row = database.execute(sql, (thread_id,)).fetchone()
    return (whole(row[0]), whole(row[1])) if row else None


def is_text(text: str) -> bool:
    """Whether a database could have it: not every string is a text."""
    return "\0" not in text and text == text.encode(errors="replace").decode()


def number_of_thread(database: Statements, thread_id: str) -> int:
    """The number of a thread that must be known."""
    row = thread_row(database, thread_id)
    if row is None:
        names = database.execute("SELECT name FROM threads ORDER BY last_at DESC LIMIT 200")
        raise unknown_thread(thread_id, [str(name) for (name,) in names])
    return row[0]
