"""Reading everything out, and taking in what another store gave out."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from brenner.mail.model import Agent, Record, Restored, Stored
from brenner.mail.restoring import Landing, linked_ids, strangers, true_links
from brenner.mail.sql.database import Database, Moment, Statements
from brenner.mail.sql.rows import (
    SELECT,
    bounded,
    message_row,
    microseconds,
    most,
    names,
    stored_of,
    thread_row,
    time_of,
    whole,
)
from brenner.mail.sql.writing import add
from brenner.protocol.messages import content_hash

_PAGE = 20  # messages; some are megabytes


def arrivals(database: Statements, after: int, limit: int | None) -> tuple[Stored, ...]:
    """Messages in the order in which they came."""
    sql = f"{SELECT} WHERE m.arrival > ? ORDER BY m.arrival LIMIT ?"
    return tuple(map(stored_of, database.execute(sql, (bounded(after), most(limit)))))


def thread_arrivals(database: Database, thread_id: str, after: int) -> tuple[Stored, ...]:
    """The messages of one thread in the order in which they came."""
    row = thread_row(database, thread_id)
    if row is None:
        return ()
    sql = (
        f"{SELECT} {database.indexed_by('messages_arrived')}"
        " WHERE m.thread = ? AND m.arrival > ? ORDER BY m.arrival"
    )
    return tuple(map(stored_of, database.execute(sql, (row[0], bounded(after)))))


def records(moment: Moment) -> Iterator[Record]:
    """Every message with its marks, as the moment sees them."""
    try:
        with moment.translated():
            for page in _pages(moment):
                marks = _read_at(moment, page)
                for stored in page:
                    yield Record(stored, tuple(marks.get(stored.id, ())))
    finally:
        moment.close()


def _pages(database: Statements) -> Iterator[tuple[Stored, ...]]:
    """All messages, a few at a time."""
    page = arrivals(database, 0, _PAGE)
    while page:
        yield page
        page = arrivals(database, page[-1].arrival, _PAGE)


def _read_at(
    database: Statements, page: tuple[Stored, ...]
) -> dict[int, list[tuple[str, datetime]]]:
    """Who has read what and when, by message."""
    rows = database.execute(
        "SELECT d.message, a.name, d.read_at FROM messages m CROSS JOIN deliveries d"
        " JOIN agents a ON a.number = d.recipient WHERE m.arrival BETWEEN ? AND ?"
        " AND d.message = m.id AND d.read_at IS NOT NULL ORDER BY a.name",
        (page[0].arrival, page[-1].arrival),
    )
    marks: dict[int, list[tuple[str, datetime]]] = {}
    for message, name, at in rows:
        marks.setdefault(whole(message), []).append((str(name), time_of(at)))
    return marks


def changed(database: Statements) -> Iterator[str]:
    """Messages that are not as they were stored: their content has another hash."""
    for page in _pages(database):
        for stored in page:
            if content_hash(stored.message) != stored.content_hash:
                yield f"message {stored.id} is not as it was stored"


def restore(database: Database, agents: Iterable[Agent], found: Iterable[Record]) -> Restored:
    """Take records in; the caller's transaction makes it all or nothing."""
    known = names(database)
    highest, position = (
        whole(value or 0)
        for value in database.execute("SELECT max(id), max(arrival) FROM messages").fetchall()[0]
    )
    landing = Landing(highest)
    new_agents = welcome(database, agents, known)
    for record in found:
        stored = record.stored
        new_agents += welcome(database, strangers(stored, known), known)
        same, is_taken = _known(database, stored)
        if same is not None:
            landing.skip(stored, same)
            continue
        position += 1
        landed = _with_true_links(database, landing.land(stored, position, is_taken))
        add(database, landed, known)
        _mark(database, landed, record, known)
    return landing.restored(new_agents)


def _known(database: Statements, stored: Stored) -> tuple[int | None, bool]:
    """The id under which a message is here already; whether another has the id it comes with."""
    same, is_taken = database.execute(
        "SELECT (SELECT id FROM messages WHERE origin_id = ? AND hash = ?"
        " ORDER BY arrival LIMIT 1), EXISTS (SELECT 1 FROM messages WHERE id = ?)",
        (stored.origin_id, bytes.fromhex(stored.content_hash), stored.id),
    ).fetchall()[0]
    return None if same is None else whole(same), bool(is_taken)


def _with_true_links(database: Statements, landed: Stored) -> Stored:
    """The message with those of its links that it could have by itself."""
    linked = {target: message_row(database, target) for target in linked_ids(landed)}
    return true_links(landed, linked)


def _mark(database: Statements, landed: Stored, record: Record, known: dict[str, int]) -> None:
    for name, at in record.read_at:
        if name in landed.message.recipients:
            database.execute(
                "UPDATE deliveries SET read_at = ? WHERE message = ? AND recipient = ?",
                (microseconds(at), landed.id, known[name]),
            )


def welcome(database: Statements, agents: Iterable[Agent], known: dict[str, int]) -> list[str]:
    """Make those known who are not; their names. `known` grows with them.

    One that looks like another is kept: mail that is stored cannot get another name.
    """
    new = []
    for agent in agents:
        if agent.name in known:
            continue
        known[agent.name] = insert_agent(database, agent)
        new.append(agent.name)
    return new


def insert_agent(database: Statements, agent: Agent) -> int:
    """A new agent's number."""
    row = database.execute(
        "INSERT INTO agents (name, program, model, task, registered_at) VALUES (?, ?, ?, ?, ?)"
        " RETURNING number",
        (*agent[:4], microseconds(agent.registered_at)),
    ).fetchall()[0]
    return whole(row[0])
