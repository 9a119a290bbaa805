"""The times of each thousand arrivals, so that a search for a time knows where not to look."""

from brenner.mail.model import Stored
from brenner.mail.query import Query
from brenner.mail.sql.database import Statements
from brenner.mail.sql.rows import ALL, microseconds, whole

SPAN = 1_000  # arrivals
EVERYWHERE = (0, ALL)
NOWHERE = (0, -1)


def note_time(database: Statements, stored: Stored) -> None:
    """Keep the span of times of the arrivals around this one."""
    at = microseconds(stored.at)
    database.execute(
        "INSERT INTO spans VALUES (?, ?, ?) ON CONFLICT (number) DO UPDATE SET"
        " first_at = CASE WHEN excluded.first_at < spans.first_at"
        " THEN excluded.first_at ELSE spans.first_at END,"
        " last_at = CASE WHEN excluded.last_at > spans.last_at"
        " THEN excluded.last_at ELSE spans.last_at END",
        (stored.arrival // SPAN, at, at),
    )


def arrivals_of(database: Statements, query: Query) -> tuple[int, int]:
    """Between which arrivals the messages of the times asked for are."""
    asked = [("last_at >= ?", query.after), ("first_at < ?", query.before)]
    conditions = [sql for sql, at in asked if at]
    if not conditions:
        return EVERYWHERE
    row = database.execute(
        f"SELECT min(number), max(number) FROM spans WHERE {' AND '.join(conditions)}",
        tuple(microseconds(at) for _, at in asked if at),
    ).fetchall()[0]
    if row[0] is None:
        return NOWHERE
    return whole(row[0]) * SPAN, whole(row[1]) * SPAN + SPAN - 1
