"""Full-text search: a query in the language of the index, and where in it to look."""

from typing import TYPE_CHECKING, NamedTuple

from brenner.mail.model import SearchPage
from brenner.mail.query import Query
from brenner.mail.sqlite.database import Database, Value
from brenner.mail.sqlite.indexing import SPAN, tag
from brenner.mail.sqlite.rows import (
    COLUMNS,
    bounded,
    message_row,
    microseconds,
    number_of_agent,
    number_of_thread,
    stored_of,
    whole,
)

if TYPE_CHECKING:
    from collections.abc import Iterable


def search(
    database: Database, query: Query, reader: int | None, limit: int, before: int
) -> SearchPage:
    """The hits that arrived before so many, the latest first."""
    expression = _expression(database, query)
    own = next((own for own in _OWN if getattr(query, own.asked)), None)
    first, last = _bounds(database, query, own, reader)
    conditions, values = _conditions(query, reader)
    if expression:
        source, place = "search f CROSS JOIN messages m ON m.arrival = f.rowid", "f.rowid"
        conditions, values = ["search MATCH ?", *conditions], [expression, *values]
    elif own:  # read in order from the index of what is hers
        source = f"deliveries o INDEXED BY {own.where} CROSS JOIN messages m"
        conditions = ["o.recipient = ?", f"o.{own.state}", "m.arrival = o.arrival", *conditions]
        place, values = "o.arrival", [reader, *values]
    else:
        source, place = "messages m", "m.arrival"
    conditions.append(f"{place} BETWEEN ? AND ?")
    rows = database.execute(
        f"SELECT {COLUMNS} FROM {source} WHERE {' AND '.join(conditions)}"
        f" ORDER BY {place} DESC LIMIT ?",
        (*values, first, min(last, before - 1), bounded(limit + 1)),
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
_EVERYWHERE = (0, 2**62)
_NOWHERE = (0, -1)


def _bounds(
    database: Database, query: Query, own: _Own | None, reader: int | None
) -> tuple[int, int]:
    """Between which arrivals all hits are, so that nothing else is looked at."""
    first, last = _span(database, query)
    if own:
        state = f"FROM deliveries INDEXED BY {own.where} WHERE recipient = ?1 AND {own.state}"
        row = database.execute(
            f"SELECT (SELECT min(arrival) {state}), (SELECT max(arrival) {state})", (reader,)
        ).fetchall()[0]
        if row[0] is None:
            return _NOWHERE
        first, last = max(first, whole(row[0])), min(last, whole(row[1]))
    return first, last


def _span(database: Database, query: Query) -> tuple[int, int]:
    """Between which arrivals the messages of the times asked for are."""
    asked = [("last_at >= ?", query.after), ("first_at < ?", query.before)]
    conditions = [sql for sql, at in asked if at]
    if not conditions:
        return _EVERYWHERE
    row = database.execute(
        f"SELECT min(number), max(number) FROM spans WHERE {' AND '.join(conditions)}",
        tuple(microseconds(at) for _, at in asked if at),
    ).fetchall()[0]
    if row[0] is None:
        return _NOWHERE
    return whole(row[0]) * SPAN, whole(row[1]) * SPAN + SPAN - 1


def _expression(database: Database, query: Query) -> str:
    """The query for the index; empty where it asks for nothing that the index knows.

    Words hold letters, digits and § only, so nothing in them can be taken for an operator.
    """
    senders = [number_of_agent(database, name) for name in query.senders]
    threads = [number_of_thread(database, name) for name in query.threads]
    alternatives = (
        [tag("type", name) for name in query.types],
        [tag("sender", number) for number in senders],
        [tag("thread", number) for number in threads],
        [tag("item", item) for item in query.items],
    )
    parts = [f'{{subject body}} : "{" ".join(phrase)}"' for phrase in query.phrases]
    parts += [f"tags : ({' OR '.join(_quoted(tags))})" for tags in alternatives if tags]
    return " AND ".join(f"({part})" for part in parts)


def _quoted(words: "Iterable[str]") -> list[str]:
    return [f'"{word}"' for word in words]


def _conditions(query: Query, reader: int | None) -> tuple[list[str], list[Value]]:
    """What the index does not know: times, and how a message stands with its reader."""
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
                f"EXISTS (SELECT 1 FROM deliveries d INDEXED BY {own.where}"
                f" WHERE d.recipient = ? AND d.arrival = m.arrival AND d.{own.state})"
            )
            values.append(reader)
    return conditions, values


def border(database: Database, before: int | None) -> int:
    """The arrival of the message from before which on to search; beyond all where there is none."""
    return 2**62 if before is None else message_row(database, before).arrival
