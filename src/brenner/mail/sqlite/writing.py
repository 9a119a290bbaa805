"""Storing a message with everything that is derived from it."""

from datetime import datetime

from brenner.mail.model import Stored, type_of, wants_ack
from brenner.mail.rules import next_time
from brenner.mail.sqlite.database import Database
from brenner.mail.sqlite.indexing import index, note_time
from brenner.mail.sqlite.rows import bounded, joined, microseconds, thread_row, time_of, whole
from brenner.session.acknowledgements import OpenDebt, named_messages, settled_by
from brenner.thread.content_hash import content_hash
from brenner.thread.messages import Message


def new_message(
    database: Database, message: Message, now: datetime, reply_to: int | None, sender: int
) -> Stored:
    """A message that is about to be stored, with the id and the time that the store gives it."""
    last_time, last_id, last_arrival = database.execute(
        "SELECT (SELECT last_time FROM store), (SELECT max(id) FROM messages),"
        " (SELECT max(arrival) FROM messages)"
    ).fetchall()[0]
    at = next_time(now, None if last_time is None else time_of(last_time))
    database.execute("UPDATE store SET last_time = ?", (microseconds(at),))
    new_id = whole(last_id or 0) + 1
    return Stored(
        id=new_id,
        at=at,
        message=message,
        content_hash=content_hash(message),
        arrival=whole(last_arrival or 0) + 1,
        origin_id=new_id,
        reply_to=reply_to,
        acknowledges=_settled_by(database, message, reply_to, sender),
    )


def _settled_by(
    database: Database, ack: Message, reply_to: int | None, sender: int
) -> tuple[int, ...]:
    """Which debts of its sender in its thread a message settles, if it is an ACK."""
    row = thread_row(database, ack.thread_id) if type_of(ack) == "ACK" else None
    if row is None:
        return ()
    thread = row[0]
    named = named_messages(ack.body, reply_to)
    contents = [
        str(row[0])
        for message_id in named
        for row in database.execute(
            "SELECT hex(hash) FROM messages WHERE id = ? AND thread = ?",
            (bounded(message_id), thread),
        )
    ]
    owed = database.execute(
        "SELECT m.id, hex(m.hash) FROM deliveries d JOIN messages m ON m.id = d.message"
        " WHERE d.thread = ? AND d.recipient = ? AND d.owes_ack ORDER BY m.at, m.id",
        (thread, sender),
    )
    return settled_by(named, contents, [OpenDebt(whole(row[0]), str(row[1])) for row in owed])


def add(database: Database, stored: Stored, numbers: dict[str, int]) -> None:
    """Store a message. `numbers` are those of the agents, by name."""
    message, at = stored.message, microseconds(stored.at)
    thread = _thread_with(database, stored, at)
    sender = numbers[message.sender]
    database.execute(
        "INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(stored.arrival, stored.id, at, thread, message.thread_id, message.sender),
            *(joined(message.recipients), message.subject, message.body, message.ack_required),
            *(bytes.fromhex(stored.content_hash), stored.origin_id, stored.reply_to),
            *(joined(stored.acknowledges), stored.is_local),
        ),
    )
    name = type_of(message)
    wants = wants_ack(message)
    for recipient in message.recipients:
        owes = wants and recipient != message.sender
        database.execute(
            "INSERT INTO deliveries VALUES (?, ?, ?, ?, ?, NULL, ?, NULL, ?)",
            (numbers[recipient], at, stored.id, thread, name, owes, stored.arrival),
        )
    for target in stored.acknowledges:
        database.execute(
            "UPDATE deliveries SET owes_ack = 0, acknowledged_by = coalesce(acknowledged_by, ?)"
            " WHERE message = ? AND recipient = ?",
            (stored.id, target, sender),
        )
    index(database, stored, thread, sender)
    note_time(database, stored)


def _thread_with(database: Database, stored: Stored, at: int) -> int:
    """The thread's number, with this message counted in."""
    row = database.execute(
        "INSERT INTO threads (name, position, first_at, last_at, last_id)"
        " VALUES (?1, 1, ?2, ?2, ?3)"
        " ON CONFLICT (name) DO UPDATE SET position = position + 1, first_at = min(first_at, ?2),"
        " last_id = iif((last_at, last_id) < (?2, ?3), ?3, last_id), last_at = max(last_at, ?2)"
        " RETURNING number",
        (stored.message.thread_id, at, stored.id),
    ).fetchall()[0]
    return whole(row[0])
