"""Reading everything out, and taking in what another store gave out."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

from brenner.mail.model import Agent, Record, Restored, Stored
from brenner.mail.restoring import Landing, linked_ids, strangers, true_links
from brenner.mail.sqlite.database import Database, translated
from brenner.mail.sqlite.rows import (
    SELECT,
    bounded,
    message_row,
    microseconds,
    names,
    stored_of,
    thread_row,
    time_of,
    whole,
)
from brenner.mail.sqlite.writing import add
from brenner.thread.content_hash import content_hash


def arrivals(database: Database, after: int, limit: int) -> tuple[Stored, ...]:
    """Messages in the order in which they came; a limit of -1 is none."""
    sql = f"{SELECT} WHERE m.arrival > ? ORDER BY m.arrival LIMIT ?"
    return tuple(map(stored_of, database.execute(sql, (bounded(after), bounded(limit)))))


def thread_arrivals(database: Database, thread_id: str, after: int) -> tuple[Stored, ...]:
    """The messages of one thread in the order in which they came."""
    row = thread_row(database, thread_id)
    if row is None:
        return ()
    sql = (
        f"{SELECT} INDEXED BY messages_arrived WHERE m.thread = ? AND m.arrival > ?"
        " ORDER BY m.arrival"
    )
    return tuple(map(stored_of, database.execute(sql, (row[0], bounded(after)))))


def records(path: Path) -> Iterator[Record]:
    """Every message with its marks, as this moment sees them.

    It has a connection of its own: what happens in the mailbox meanwhile is not held up, and not
    seen.
    """
    moment = Database.open(path)
    moment.hold()
    return _records(moment)


def _records(database: Database) -> Iterator[Record]:
    try:
        with translated(database.path):  # no lock: it may be finished in another thread
            for row in database.execute(f"{SELECT} ORDER BY m.arrival"):
                stored = stored_of(row)
                yield Record(stored, _read_at(database, stored))
    finally:
        database.close()


def changed(database: Database) -> Iterator[str]:
    """Messages that are not as they were stored: their content has another hash."""
    for row in database.execute(SELECT):
        stored = stored_of(row)
        if content_hash(stored.message) != stored.content_hash:
            yield f"message {stored.id} is not as it was stored"


def _read_at(database: Database, stored: Stored) -> tuple[tuple[str, datetime], ...]:
    rows = database.execute(
        "SELECT a.name, d.read_at FROM deliveries d JOIN agents a ON a.number = d.recipient"
        " WHERE d.message = ? AND d.read_at IS NOT NULL ORDER BY a.name",
        (stored.id,),
    )
    return tuple((str(name), time_of(at)) for name, at in rows)


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
        same = database.execute(
            "SELECT id FROM messages WHERE origin_id = ? AND hash = ?",
            (stored.origin_id, bytes.fromhex(stored.content_hash)),
        ).fetchone()
        if same:
            landing.skip(stored, whole(same[0]))
            continue
        position += 1
        taken = database.execute("SELECT 1 FROM messages WHERE id = ?", (stored.id,)).fetchone()
        landed = _with_true_links(database, landing.land(stored, position, bool(taken)))
        add(database, landed, known)
        _mark(database, landed, record, known)
    return landing.restored(new_agents)


def _with_true_links(database: Database, landed: Stored) -> Stored:
    """The message with those of its links that it could have by itself."""
    linked = {target: message_row(database, target) for target in linked_ids(landed)}
    return true_links(landed, linked)


def _mark(database: Database, landed: Stored, record: Record, known: dict[str, int]) -> None:
    for name, at in record.read_at:
        if name in landed.message.recipients:
            database.execute(
                "UPDATE deliveries SET read_at = ? WHERE message = ? AND recipient = ?",
                (microseconds(at), landed.id, known[name]),
            )


def welcome(database: Database, agents: Iterable[Agent], known: dict[str, int]) -> list[str]:
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


def insert_agent(database: Database, agent: Agent) -> int:
    """A new agent's number."""
    row = database.execute(
        "INSERT INTO agents (name, program, model, task, registered_at) VALUES (?, ?, ?, ?, ?)"
        " RETURNING number",
        (*agent[:4], microseconds(agent.registered_at)),
    ).fetchall()[0]
    return whole(row[0])
