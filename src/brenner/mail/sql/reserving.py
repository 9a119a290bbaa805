"""The files that agents are at work on, as rows."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from brenner.mail.model import Reservation, Wish
from brenner.mail.reserving import chosen, replaced
from brenner.mail.sql.database import Row, Statements
from brenner.mail.sql.rows import microseconds, number_of_agent, time_of, whole

_SELECT = (
    "SELECT r.id, a.name, r.pattern, r.exclusive, r.reason, r.created_at, r.expires_at"
    " FROM reservations r JOIN agents a ON a.number = r.agent WHERE r.expires_at > ?"
)


def holding(database: Statements, now: datetime) -> tuple[Reservation, ...]:
    """Those that have not expired, the oldest first."""
    found = database.execute(f"{_SELECT} ORDER BY r.id", (microseconds(now),))
    return tuple(map(_reservation, found))


def reserve(database: Statements, name: str, wish: Wish, now: datetime) -> tuple[Reservation, ...]:
    """Note what was asked for, in place of what it replaces. What has expired goes."""
    agent = number_of_agent(database, name)
    database.execute("DELETE FROM reservations WHERE expires_at <= ?", (microseconds(now),))
    count = "SELECT count(*) FROM reservations WHERE agent <> ?"
    others = whole(database.execute(count, (agent,)).fetchall()[0][0])
    _delete(database, replaced(wish, _own(database, agent, now), others))
    expires_at = now + timedelta(seconds=wish.seconds)
    granted = []
    for pattern in wish.patterns:
        row = database.execute(
            "INSERT INTO reservations (agent, pattern, exclusive, reason, created_at, expires_at)"
            " VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
            (
                *(agent, pattern, wish.exclusive, wish.reason),
                *(microseconds(now), microseconds(expires_at)),
            ),
        ).fetchall()[0]
        kept = (wish.exclusive, wish.reason, now, expires_at)
        granted.append(Reservation(whole(row[0]), name, pattern, *kept))
    return tuple(granted)


def release(
    database: Statements,
    name: str,
    now: datetime,
    patterns: Iterable[str] | None,
    ids: Iterable[int] | None,
) -> int:
    """End those of somebody; how many."""
    own = _own(database, number_of_agent(database, name), now)
    released = chosen(own, patterns, ids)
    _delete(database, (each.id for each in released))
    return len(released)


def _own(database: Statements, agent: int, now: datetime) -> tuple[Reservation, ...]:
    found = database.execute(f"{_SELECT} AND r.agent = ? ORDER BY r.id", (microseconds(now), agent))
    return tuple(map(_reservation, found))


def _delete(database: Statements, ids: Iterable[int]) -> None:
    for number in ids:
        database.execute("DELETE FROM reservations WHERE id = ?", (number,))


def _reservation(row: Row) -> Reservation:
    return Reservation(
        id=whole(row[0]),
        agent=str(row[1]),
        pattern=str(row[2]),
        exclusive=bool(row[3]),
        reason=str(row[4]),
        created_at=time_of(row[5]),
        expires_at=time_of(row[6]),
    )
