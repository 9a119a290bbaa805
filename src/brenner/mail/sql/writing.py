"""Storing a message with everything that is derived from it."""

from datetime import datetime

from brenner.mail.model import Stored, type_of
from brenner.mail.rules import next_time
from brenner.mail.sql.database import Database, Statements
from brenner.mail.sql.rows import (
    bounded,
    hash_of,
    joined,
    microseconds,
    thread_row,
    time_of,
    whole,
)
from brenner.mail.sql.spans import note_time
from brenner.protocol.body import OpenDebt, named_messages, settled_by
from brenner.protocol.message_types import wants_ack
from brenner.protocol.messages import Message, content_hash


def next_id(database: Statements) -> int:
    """The id that the next message gets."""
    return whole(database.execute("SELECT max(id) FROM messages").fetchall()[0][0] or 0) + 1


def new_message(
    database: Statements, message: Message, now: datetime, reply_to: int | None, sender: int
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
    database: Statements, ack: Message, reply_to: int | None, sender: int
) -> tuple[int, ...]:
    """Which debts of its sender in its thread a message settles, if it is an ACK."""
    row = thread_row(database, ack.thread_id) if type_of(ack) == "ACK" else None
    if row is None:
        return ()
    thread = row[0]
    named = named_messages(ack.body, reply_to)
    contents = [
        hash_of(row[0])
        for message_id in named
        for row in database.execute(
            "SELECT hash FROM messages WHERE id = ? AND thread = ?", (bounded(message_id), thread)
        )
    ]
    owed = database.execute(
        "SELECT m.id, m.hash FROM deliveries d JOIN messages m ON m.id = d.message"
        " WHERE d.thread = ? AND d.recipient = ? AND d.owes_ack ORDER BY m.at, m.id",
        (thread, sender),
    )
    debts = [OpenDebt(whole(row[0]), hash_of(row[1])) for row in owed]
    return settled_by(named, contents, debts)


def add(database: Database, stored: Stored, numbers: dict[str, int]) -> None:
    """Store a message. `numbers` are those of the agents, by name."""
    message, at = stored.message, microseconds(stored.at)
    thread = _thread_with(database, stored, at)
    sender = numbers[message.sender]
    database.execute(
        "INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(stored.arrival, stored.id, at, thread, message.thread_id, message.sender),
            *(joined(message.recipients), message.subject, message.body, message.ack_required),
            *(bytes.fromhex(stored.content_hash), stored.origin_id, stored.reply_to),
            *(joined(stored.acknowledges), stored.is_local),
            *(stored.envelope.importance, joined(stored.envelope.cc), stored.envelope.trust),
            stored.decides,
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
            "UPDATE deliveries SET owes_ack = FALSE,"
            " acknowledged_by = coalesce(acknowledged_by, ?) WHERE message = ? AND recipient = ?",
            (stored.id, target, sender),
        )
    database.index.add(stored, thread, sender)
    note_time(database, stored)


def _thread_with(database: Statements, stored: Stored, at: int) -> int:
    """The thread's number, with this message counted in."""
    row = thread_row(database, stored.message.thread_id)
    if row is None:
        made = database.execute(
            "INSERT INTO threads (name, position, first_at, last_at, last_id)"
            " VALUES (?, 1, ?, ?, ?) RETURNING number",
            (stored.message.thread_id, at, at, stored.id),
        )
        return whole(made.fetchall()[0][0])
    database.execute(
        "UPDATE threads SET position = position + 1,"
        " first_at = CASE WHEN first_at < ? THEN first_at ELSE ? END,"
        " last_id = CASE WHEN (last_at, last_id) < (?, ?) THEN ? ELSE last_id END,"
        " last_at = CASE WHEN last_at < ? THEN ? ELSE last_at END WHERE number = ?",
        (at, at, at, stored.id, stored.id, at, at, row[0]),
    )
    return row[0]
