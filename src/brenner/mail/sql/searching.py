"""Full-text search: hits of the index, narrowed by times and by how they stand with a reader."""

from typing import NamedTuple

from brenner.mail.model import SearchPage
from brenner.mail.query import Query
from brenner.mail.sql.database import Database, Look, Numbers, Statements, Value
from brenner.mail.sql.rows import (
    ALL,
    COLUMNS,
    message_row,
    microseconds,
    most,
    number_of_agent,
    number_of_thread,
    stored_of,
    whole,
)
from brenner.mail.sql.spans import NOWHERE, arrivals_of

_EVERYWHERE = Look("messages m", "m.arrival")


def search(
    database: Database, query: Query, reader: int | None, limit: int, before: int
) -> SearchPage:
    """The hits that arrived before so many, the latest first."""
    look = database.index.look(query, _numbers(database, query))
    own = next((own for own in _OWN if getattr(query, own.asked)), None)
    first, last = _bounds(database, query, own, reader)
    if look is None:
        look = _inbox(database, own, reader) if own else _EVERYWHERE
    conditions, values = _conditions(database, query, reader)
    inside = " AND ".join([*look.conditions, *conditions, f"{look.place} BETWEEN ? AND ?"])
    rows = database.execute(
        f"SELECT {COLUMNS} FROM {look.source} WHERE {inside} ORDER BY {look.place} DESC LIMIT ?",
        (*look.values, *values, first, min(last, before - 1), most(limit + 1)),
    )
    hits = [stored_of(row) for row in rows]
    return SearchPage(tuple(hits[:limit]), len(hits) > limit)


class _Own(NamedTuple):
    """A filter about the reader's own inbox: its name, and where to look."""

    asked: str
    state: str
    where: str


_OWN = (
    _Own("needs_ack", "owes_ack", "deliveries_owed_arrived"),
    _Own("is_unread", "read_at IS NULL", "deliveries_unread_arrived"),
)


def _inbox(database: Database, own: _Own, reader: int | None) -> Look:
    """What is hers, read in order from its index."""
    return Look(
        f"deliveries o {database.indexed_by(own.where)} CROSS JOIN messages m",
        "o.arrival",
        ("o.recipient = ?", f"o.{own.state}", "m.arrival = o.arrival"),
        (reader,),
    )


def _bounds(
    database: Database, query: Query, own: _Own | None, reader: int | None
) -> tuple[int, int]:
    """Between which arrivals all hits are, so that nothing else is looked at."""
    first, last = arrivals_of(database, query)
    if own:
        hint = database.indexed_by(own.where)
        state = f"FROM deliveries {hint} WHERE recipient = ? AND {own.state}"
        row = database.execute(
            f"SELECT (SELECT min(arrival) {state}), (SELECT max(arrival) {state})",
            (reader, reader),
        ).fetchall()[0]
        if row[0] is None:
            return NOWHERE
        first, last = max(first, whole(row[0])), min(last, whole(row[1]))
    return first, last


def _numbers(database: Statements, query: Query) -> Numbers:
    """Senders and threads that must be known."""
    return Numbers(
        tuple(number_of_agent(database, name) for name in query.senders),
        tuple(number_of_thread(database, name) for name in query.threads),
    )


def _conditions(
    database: Database, query: Query, reader: int | None
) -> tuple[list[str], list[Value]]:
    """What no index of words knows: times, and how a message stands with its reader."""
    conditions: list[str] = []
    values: list[Value] = []
    if query.after is not None:
        conditions.append("m.at >= ?")
        values.append(microseconds(query.after))
    if query.before is not None:
        conditions.append("m.at < ?")
        values.append(microseconds(query.before))
    for own in _OWN:
        if getattr(query, own.asked):
            conditions.append(
                f"EXISTS (SELECT 1 FROM deliveries d {database.indexed_by(own.where)}"
                f" WHERE d.recipient = ? AND d.arrival = m.arrival AND d.{own.state})"
            )
            values.append(reader)
    return conditions, values


def border(database: Statements, before: int | None) -> int:
    """The arrival of the message from before which on to search; beyond all where there is none."""
    return ALL if before is None else message_row(database, before).arrival
