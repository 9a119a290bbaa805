"""Rows as values, and back."""

from datetime import UTC, datetime, timedelta

from apsw import CorruptError

from brenner.diagnostics.codes import mail as codes
from brenner.diagnostics.errors import Refused
from brenner.mail.model import Agent, Stored
from brenner.mail.rules import no_such_agent, unknown_thread
from brenner.mail.sqlite.database import Database, Value
from brenner.thread.messages import Message

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

COLUMNS = """
    m.id, m.at, m.thread_id, m.sender, m.recipients, m.subject, m.body, m.ack_required,
    hex(m.hash), m.arrival, m.origin_id, m.reply_to, m.acknowledges, m.is_local
"""
SELECT = f"SELECT {COLUMNS} FROM messages m"
COLUMN_COUNT = 14


def microseconds(at: datetime) -> int:
    """A time as it is kept."""
    return (at - _EPOCH) // _MICROSECOND


def time_of(value: object) -> datetime:
    """A time as it was."""
    try:
        return _EPOCH + timedelta(microseconds=whole(value))
    except OverflowError as error:
        message = f"{value!r} is no time"
        raise CorruptError(message) from error


def whole(value: object) -> int:
    """A number, as the schema promises; else another program has been at the file."""
    if not isinstance(value, int):
        message = f"a whole number was expected, not {value!r}"
        raise CorruptError(message)
    return value


def stored_of(row: tuple[Value, ...]) -> Stored:
    """A message from its columns, in the order of `COLUMNS`."""
    ack_required = row[7]
    message = Message(
        thread_id=str(row[2]),
        sender=str(row[3]),
        recipients=tuple(filter(None, str(row[4]).split(","))),
        subject=str(row[5]),
        body=str(row[6]),
        ack_required=None if ack_required is None else bool(ack_required),
    )
    return Stored(
        id=whole(row[0]),
        at=time_of(row[1]),
        message=message,
        content_hash=str(row[8]).lower(),
        arrival=whole(row[9]),
        origin_id=whole(row[10]),
        reply_to=None if row[11] is None else whole(row[11]),
        acknowledges=tuple(map(int, filter(None, str(row[12]).split(",")))),
        is_local=bool(row[13]),
    )


def joined(parts: tuple[str, ...] | tuple[int, ...]) -> str:
    """Names or ids in one column; none of them holds a comma."""
    return ",".join(map(str, parts))


def message_row(database: Database, message_id: int) -> Stored:
    """The message of that id."""
    row = database.execute(f"{SELECT} WHERE m.id = ?", (bounded(message_id),)).fetchone()
    if row is None:
        raise Refused(codes.UNKNOWN_MESSAGE.at(id=message_id))
    return stored_of(row)


def bounded(number: int) -> int:
    """A number that SQLite can compare; no id is outside."""
    return max(-1, min(number, 2**62))


def agent_rows(database: Database) -> tuple[Agent, ...]:
    """Everybody known, by name."""
    rows = database.execute(
        "SELECT name, program, model, task, registered_at FROM agents ORDER BY name"
    )
    return tuple(
        Agent(str(name), str(program), str(model), str(task), time_of(at))
        for name, program, model, task, at in rows
    )


def names(database: Database) -> dict[str, int]:
    """Every name with its number."""
    return {
        str(name): whole(number)
        for name, number in database.execute("SELECT name, number FROM agents")
    }


def number_of_agent(database: Database, name: str) -> int:
    """The number of a name that must be known."""
    known = names(database)
    if name not in known:
        raise no_such_agent(name, known)
    return known[name]


def thread_row(database: Database, thread_id: str) -> tuple[int, int] | None:
    """The number and the position of a thread that somebody has written to."""
    name = thread_id.encode(errors="surrogatepass").decode(errors="replace")
    sql = "SELECT number, position FROM threads WHERE name = ?"
    row = database.execute(sql, (name,)).fetchone() if name == thread_id else None
    return (whole(row[0]), whole(row[1])) if row else None


def number_of_thread(database: Database, thread_id: str) -> int:
    """The number of a thread that must be known."""
    row = thread_row(database, thread_id)
    if row is None:
        names = database.execute("SELECT name FROM threads ORDER BY last_at DESC LIMIT 200")
        raise unknown_thread(thread_id, [str(name) for (name,) in names])
    return row[0]
