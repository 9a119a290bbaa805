"""Inboxes, threads and debts, each read in order from one index."""

from brenner.diagnostics.codes import mail as codes
from brenner.diagnostics.model import Refused
from brenner.mail.model import (
    Debt,
    Delivery,
    InboxFilter,
    InboxPage,
    Received,
    Stored,
    ThreadPage,
    ThreadSummary,
)
from brenner.mail.rules import grouped_debts, order
from brenner.mail.sql.database import Database, Statements, Value
from brenner.mail.sql.rows import (
    COLUMN_COUNT,
    COLUMNS,
    SELECT,
    message_row,
    microseconds,
    most,
    number_of_agent,
    number_of_thread,
    stored_of,
    thread_row,
    time_of,
    whole,
)
from brenner.protocol.message_types import TYPES


def thread_page(
    database: Statements, thread_id: str, limit: int | None, before: int | None, after: int | None
) -> ThreadPage:
    """Part of a thread, in its order."""
    row = thread_row(database, thread_id)
    borders = [
        (sign, _border(database, thread_id, message_id))
        for sign, message_id in (("<", before), (">", after))
        if message_id is not None
    ]
    if row is None:
        return ThreadPage((), 0)
    thread, position = row
    direction = "ASC" if after is not None else "DESC"
    inside = "".join(f" AND (m.at, m.id) {sign} (?, ?)" for sign, _ in borders)
    places = [part for _, place in borders for part in place]
    rows = database.execute(
        f"{SELECT} WHERE m.thread = ?{inside} ORDER BY m.at {direction}, m.id {direction} LIMIT ?",
        (thread, *places, most(limit)),
    )
    messages = sorted(map(stored_of, rows), key=order)
    if not messages:
        return ThreadPage((), position, after is not None, before is not None)
    return ThreadPage(
        tuple(messages),
        position,
        has_earlier=_has(database, thread, "<", _place(messages[0])),
        has_later=_has(database, thread, ">", _place(messages[-1])),
    )


def _border(database: Statements, thread_id: str, message_id: int) -> tuple[int, int]:
    """The place in its order of a message that must be in the thread."""
    stored = message_row(database, message_id)
    if stored.message.thread_id != thread_id:
        raise Refused(codes.NOT_IN_THREAD.at(id=message_id, thread=thread_id))
    return _place(stored)


def _place(stored: Stored) -> tuple[int, int]:
    return microseconds(stored.at), stored.id


def _has(database: Statements, thread: int, sign: str, place: tuple[int, int]) -> bool:
    """Whether the thread has a message on that side of a place."""
    return bool(
        database.execute(
            f"SELECT 1 FROM messages WHERE thread = ? AND (at, id) {sign} (?, ?) LIMIT 1",
            (thread, *place),
        ).fetchall()
    )


def thread_position(database: Statements, thread_id: str) -> int:
    """How many messages a thread has."""
    row = thread_row(database, thread_id)
    return row[1] if row else 0


def thread_summaries(database: Statements, limit: int | None) -> tuple[ThreadSummary, ...]:
    """All threads, the one with the newest message first."""
    rows = database.execute(
        "SELECT name, position, first_at, last_at FROM threads"
        " ORDER BY last_at DESC, last_id DESC LIMIT ?",
        (most(limit),),
    )
    return tuple(
        ThreadSummary(str(name), whole(position), time_of(first), time_of(last))
        for name, position, first, last in rows
    )


def inbox_page(
    database: Database, name: str, wanted: InboxFilter, limit: int | None, before: int | None
) -> InboxPage:
    """Part of an inbox, newest first. Several types are read one by one, each from its index."""
    recipient = number_of_agent(database, name)
    thread = None if wanted.thread_id is None else number_of_thread(database, wanted.thread_id)
    place = _place(message_row(database, before)) if before is not None else None
    asked = most(None if limit is None else limit + 1)
    found: list[Received] = []
    for each in _types(wanted):
        conditions, values = _inbox_conditions(wanted, each, thread, place)
        found += _received(database, conditions, (recipient, *values, asked))
    found.sort(key=lambda received: order(received.stored), reverse=True)
    return InboxPage(tuple(found[:limit]), limit is not None and len(found) > limit)


def _types(wanted: InboxFilter) -> list[str] | list[None]:
    """The types asked for, each once; a single None where any will do."""
    return [name for name in TYPES if name in wanted.types] if wanted.types else [None]


def _inbox_conditions(
    wanted: InboxFilter, type_name: str | None, thread: int | None, place: tuple[int, int] | None
) -> tuple[str, list[Value]]:
    conditions = "d.recipient = ?"
    values: list[Value] = []
    if type_name is not None:
        conditions += " AND d.type = ?"
        values.append(type_name)
    if thread is not None:
        conditions += " AND d.thread = ?"
        values.append(thread)
    if place is not None:
        conditions += " AND (d.at, d.message) < (?, ?)"
        values += place
    conditions += " AND d.read_at IS NULL" * wanted.unread
    conditions += " AND d.owes_ack" * wanted.owed
    return conditions, values


# The first that fits. SQLite has no statistics here, and would take the primary key.
_INDEXES = (
    ("d.owes_ack", "deliveries_owed"),
    ("d.thread = ?", "deliveries_by_thread"),
    ("d.read_at IS NULL", "deliveries_unread"),
    ("d.type = ?", "deliveries_by_type"),
)


def _indexed(database: Database, conditions: str) -> str:
    names = [name for condition, name in _INDEXES if condition in conditions]
    return database.indexed_by(names[0]) if names else ""


def _received(database: Database, conditions: str, values: tuple[Value, ...]) -> list[Received]:
    rows = database.execute(
        f"SELECT {COLUMNS}, d.read_at IS NOT NULL, d.owes_ack"
        f" FROM deliveries d {_indexed(database, conditions)} CROSS JOIN messages m"
        f" WHERE m.id = d.message AND {conditions} ORDER BY d.at DESC, d.message DESC LIMIT ?",
        values,
    )
    return [
        Received(
            stored_of(row[:COLUMN_COUNT]), bool(row[COLUMN_COUNT]), bool(row[COLUMN_COUNT + 1])
        )
        for row in rows
    ]


def unread(database: Database, name: str) -> int:
    """How many messages somebody has not read."""
    row = database.execute(
        f"SELECT count(*) FROM deliveries {database.indexed_by('deliveries_unread')}"
        " WHERE recipient = ? AND read_at IS NULL",
        (number_of_agent(database, name),),
    ).fetchall()[0]
    return whole(row[0])


def deliveries(database: Statements, stored: Stored) -> tuple[Delivery, ...]:
    """What became of a message at each recipient, in the order in which they were named."""
    rows = database.execute(
        "SELECT a.name, d.read_at, d.owes_ack, d.acknowledged_by FROM deliveries d"
        " JOIN agents a ON a.number = d.recipient WHERE d.message = ?",
        (stored.id,),
    )
    found = [
        Delivery(
            str(name),
            None if read_at is None else time_of(read_at),
            bool(owes_ack),
            None if acknowledged_by is None else whole(acknowledged_by),
        )
        for name, read_at, owes_ack, acknowledged_by in rows
    ]
    return tuple(sorted(found, key=lambda each: stored.message.recipients.index(each.recipient)))


def debts(database: Database, debtor: str | None, thread_id: str | None) -> tuple[Debt, ...]:
    """Who owes an ACK for what, the oldest first."""
    conditions = "d.owes_ack"
    index = "deliveries_owed" if thread_id is None else "deliveries_owed_in_thread"
    values: list[Value] = []
    if debtor is not None:
        conditions += " AND d.recipient = ?"
        values.append(number_of_agent(database, debtor))
    if thread_id is not None:
        conditions += " AND d.thread = ?"
        values.append(number_of_thread(database, thread_id))
    rows = database.execute(
        f"SELECT {COLUMNS}, a.name FROM deliveries d {database.indexed_by(index)}"
        " CROSS JOIN messages m JOIN agents a ON a.number = d.recipient"
        f" WHERE m.id = d.message AND {conditions}",
        tuple(values),
    )
    return grouped_debts((str(row[COLUMN_COUNT]), stored_of(row[:COLUMN_COUNT])) for row in rows)
