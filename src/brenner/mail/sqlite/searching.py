"""Full-text search: the index, and a query as its language."""

from typing import TYPE_CHECKING

from brenner.mail.model import SearchPage, Stored, type_of
from brenner.mail.query import Query
from brenner.mail.sqlite.database import Database, Value
from brenner.mail.sqlite.rows import (
    COLUMNS,
    bounded,
    message_row,
    microseconds,
    number_of_agent,
    number_of_thread,
    stored_of,
)
from brenner.mail.words import items_of, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable


def index(database: Database, stored: Stored, thread: int, sender: int) -> None:
    """Make a message findable, by its words and by tags for what filters ask."""
    message = stored.message
    items = items_of(f"{message.subject}\n{message.body}")
    tags = [_tag("thread", thread), _tag("sender", sender)]
    tags += [_tag("item", item) for item in items]
    tags += [_tag("type", name) for name in [type_of(message)] if name]
    texts = (" ".join(words_of(message.subject)), " ".join(words_of(message.body)), " ".join(tags))
    database.execute(
        "INSERT INTO search (rowid, subject, body, tags) VALUES (?, ?, ?, ?)",
        (stored.arrival, *texts),
    )


def _tag(kind: str, value: str | int) -> str:
    return f"{kind}{value}".lower()


def search(
    database: Database, query: Query, reader: int | None, limit: int, before: int
) -> SearchPage:
    """The hits that arrived before so many, the latest first."""
    expression = _expression(database, query)
    conditions, values = _conditions(query, reader)
    source = "messages m"
    rowid = "m.arrival"
    if expression:
        source, rowid = "search f JOIN messages m ON m.arrival = f.rowid", "f.rowid"
        conditions.append("search MATCH ?")
        values.append(expression)
    conditions.append(f"{rowid} < ?")
    rows = database.execute(
        f"SELECT {COLUMNS} FROM {source} WHERE {' AND '.join(conditions)}"
        f" ORDER BY {rowid} DESC LIMIT ?",
        (*values, before, bounded(limit + 1)),
    )
    hits = [stored_of(row) for row in rows]
    return SearchPage(tuple(hits[:limit]), len(hits) > limit)


def _expression(database: Database, query: Query) -> str:
    """The query for the index; empty where it asks for nothing that the index knows.

    Words hold letters, digits and § only, so nothing in them can be taken for an operator.
    """
    senders = [number_of_agent(database, name) for name in query.senders]
    threads = [number_of_thread(database, name) for name in query.threads]
    alternatives = (
        [_tag("type", name) for name in query.types],
        [_tag("sender", number) for number in senders],
        [_tag("thread", number) for number in threads],
        [_tag("item", item) for item in query.items],
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
    for is_asked, state in ((query.is_unread, "read_at IS NULL"), (query.needs_ack, "owes_ack")):
        if is_asked:
            conditions.append(
                "EXISTS (SELECT 1 FROM deliveries d"
                f" WHERE d.recipient = ? AND d.at = m.at AND d.message = m.id AND d.{state})"
            )
            values.append(reader)
    return conditions, values


def border(database: Database, before: int | None) -> int:
    """The arrival of the message from before which on to search; beyond all where there is none."""
    return 2**62 if before is None else message_row(database, before).arrival
