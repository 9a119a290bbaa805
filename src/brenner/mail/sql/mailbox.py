"""The mailbox interface over SQL, one transaction for each call."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Generic, Self, TypeVar

from brenner.mail import reservations as rules_of_files
from brenner.mail import rules
from brenner.mail.mailbox import EVERYTHING, NOTHING_LACKS
from brenner.mail.model import (
    PLAIN,
    Agent,
    Delivery,
    Envelope,
    InboxFilter,
    InboxPage,
    PendingAck,
    Profile,
    Record,
    Registered,
    Released,
    Reservation,
    ReservationRequest,
    ReservationResult,
    Restored,
    SearchPage,
    Sent,
    Since,
    StoredMessage,
    ThreadPage,
    ThreadSummary,
)
from brenner.mail.reservations import chosen, replaced
from brenner.mail.search import Query
from brenner.mail.sql import queries, rows
from brenner.mail.sql.rows import (
    Database,
    Row,
    Statements,
    microseconds,
    number_of_agent,
    time_of,
    whole,
)
from brenner.protocol.messages import Message

# The files that agents are at work on, as rows.


_SELECT = (
    "SELECT r.id, a.name, r.pattern, r.exclusive, r.reason, r.created_at, r.expires_at"
    " FROM reservations r JOIN agents a ON a.number = r.agent WHERE r.expires_at > ?"
)


def holding(database: Statements, now: datetime) -> tuple[Reservation, ...]:
    """Those that have not expired, the oldest first."""
    found = database.execute(f"{_SELECT} ORDER BY r.id", (microseconds(now),))
    return tuple(map(_reservation, found))


def reserve(
    database: Statements, name: str, wish: ReservationRequest, now: datetime
) -> tuple[Reservation, ...]:
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


# What is kept of the secrets of names.


def digest(database: Statements, name: str) -> str | None:
    """The digest of a name's secret; None where nobody has claimed it."""
    agent = number_of_agent(database, name)
    row = database.execute("SELECT digest FROM secrets WHERE agent = ?", (agent,)).fetchone()
    return str(row[0]) if row else None


def named_by(database: Statements, digest: str) -> str | None:
    """Whose it is; one look, however many names there are."""
    row = database.execute(
        "SELECT MIN(a.name) FROM secrets s JOIN agents a ON a.number = s.agent WHERE s.digest = ?",
        (digest,),
    ).fetchone()
    return None if row is None or row[0] is None else str(row[0])


def claim(database: Statements, name: str, digest: str, *, replace: bool) -> bool:
    """Keep a digest; whoever writes comes alone, so that of several who claim one is first."""
    agent = number_of_agent(database, name)
    conflict = "UPDATE SET digest = excluded.digest" if replace else "NOTHING"
    kept = database.execute(
        f"INSERT INTO secrets VALUES (?, ?) ON CONFLICT (agent) DO {conflict} RETURNING agent",
        (agent, digest),
    )
    return bool(kept.fetchall())


D = TypeVar("D", bound=Database)
_LAST_LETTER = "\U0010ffff"


class SqlMailbox(ABC, Generic[D]):
    """A mailbox in a database."""

    lacks = NOTHING_LACKS

    def __init__(self, database: D) -> None:
        self.database = database
        self.operator: str | None = None

    @abstractmethod
    def _now(self) -> datetime:
        """The store's time."""

    def register(self, profile: Profile, *, update: bool = False) -> Registered:
        with self.database.writing():
            known = {agent.name: agent for agent in rows.agent_rows(self.database)}
            before = known.get(profile.name)
            if before and not update:
                rules.check_same_agent(profile, before, known)
            kept = rules.registration(profile, before, known)
            if before is None:
                agent = Agent(*kept, self._now())
                queries.insert_agent(self.database, agent)
                return Registered(agent, None)
            self.database.execute(
                "UPDATE agents SET program = ?, model = ?, task = ? WHERE name = ?",
                (*kept[1:], kept.name),
            )
            return Registered(Agent(*kept, before.registered_at), before)

    def agents(self) -> tuple[Agent, ...]:
        with self.database.reading():
            return rows.agent_rows(self.database)

    def agent(self, name: str) -> Agent:
        with self.database.reading():
            return rows.agent_row(self.database, name)

    def digest(self, name: str) -> str | None:
        with self.database.reading():
            return digest(self.database, name)

    def named_by(self, digest: str) -> str | None:
        with self.database.reading():
            return named_by(self.database, digest)

    def claim(self, name: str, digest: str, *, replace: bool = False) -> bool:
        with self.database.writing("the claim"):
            return claim(self.database, name, digest, replace=replace)

    def send(
        self,
        message: Message,
        *,
        reply_to: int | None = None,
        key: str | None = None,
        position: int | Since | None = None,
        envelope: Envelope = PLAIN,
    ) -> Sent:
        message = rules.prepared(message)
        envelope = rules.prepared_envelope(envelope, message)
        with self.database.writing("the message"):
            known = rows.names(self.database)
            rules.check_storable(message, known, key)
            sender = known[message.sender]
            first = self._sent_before(sender, key)
            if first is not None and key is not None:
                rules.check_same(key, first, message, reply_to, envelope)
                return Sent(first, is_new=False)
            if not message.thread_id:
                message = rules.in_thread(message, queries.next_id(self.database))
            if reply_to is not None:
                rules.check_reply(rows.message_row(self.database, reply_to), message)
            if isinstance(position, Since):
                arrived = queries.thread_arrivals(
                    self.database, message.thread_id, position.arrival
                )
                rules.check_since(message.thread_id, position, arrived)
            elif position is not None:
                now_there = queries.thread_position(self.database, message.thread_id)
                rules.check_position(message.thread_id, position, now_there)
            stored = queries.new_message(self.database, message, self._now(), reply_to, sender)
            decides = rules.decides(message, self.operator)
            stored = stored._replace(envelope=envelope, decides=decides)
            queries.add(self.database, stored, known)
            if key is not None:
                self.database.execute("INSERT INTO keys VALUES (?, ?, ?)", (sender, key, stored.id))
        return Sent(stored, is_new=True)

    def _sent_before(self, sender: int, key: str | None) -> StoredMessage | None:
        """What the sender sent with that key."""
        found = self.database.execute(
            "SELECT message FROM keys WHERE sender = ? AND key = ?", (sender, key)
        ).fetchone()
        return rows.message_row(self.database, rows.whole(found[0])) if found else None

    def message(self, message_id: int) -> StoredMessage:
        with self.database.reading():
            return rows.message_row(self.database, message_id)

    def deliveries(self, message_id: int) -> tuple[Delivery, ...]:
        with self.database.reading():
            return queries.deliveries(self.database, self.message(message_id))

    def thread(
        self,
        thread_id: str,
        *,
        limit: int | None = None,
        before: int | None = None,
        after: int | None = None,
    ) -> ThreadPage:
        with self.database.reading():
            return queries.thread_page(self.database, thread_id, limit, before, after)

    def thread_arrivals(self, thread_id: str, after: int) -> tuple[StoredMessage, ...]:
        with self.database.reading():
            return queries.thread_arrivals(self.database, thread_id, after)

    def threads(self, limit: int | None = None) -> tuple[ThreadSummary, ...]:
        with self.database.reading():
            return queries.thread_summaries(self.database, limit)

    def inbox(
        self,
        name: str,
        wanted: InboxFilter = EVERYTHING,
        *,
        limit: int | None = None,
        before: int | None = None,
    ) -> InboxPage:
        with self.database.reading():
            return queries.inbox_page(self.database, name, wanted, limit, before)

    def unread(self, name: str) -> int:
        with self.database.reading():
            return queries.unread(self.database, name)

    def search(
        self,
        query: Query,
        *,
        reader: str | None = None,
        limit: int = 50,
        before: int | None = None,
    ) -> SearchPage:
        rules.check_reader(query, reader)
        with self.database.reading():
            number = None if reader is None else rows.number_of_agent(self.database, reader)
            border = queries.border(self.database, before)
            return queries.search(self.database, query, number, limit, border)

    def debts(
        self, debtor: str | None = None, thread_id: str | None = None
    ) -> tuple[PendingAck, ...]:
        with self.database.reading():
            return queries.debts(self.database, debtor, thread_id)

    def mark(self, name: str, message_ids: Iterable[int], *, is_read: bool) -> int:
        with self.database.writing():
            recipient = rows.number_of_agent(self.database, name)
            read_at = rows.microseconds(self._now()) if is_read else None
            changed = 0
            for message_id in dict.fromkeys(message_ids):
                rules.check_recipient(rows.message_row(self.database, message_id), name)
                changed += len(
                    self.database.execute(
                        "UPDATE deliveries SET read_at = ? WHERE message = ? AND recipient = ?"
                        " AND (read_at IS NULL) = ? RETURNING 1",
                        (read_at, message_id, recipient, is_read),
                    ).fetchall()
                )
        return changed

    def reserve(self, name: str, wish: ReservationRequest) -> ReservationResult:
        """What others have is looked at afterwards, when nobody waits for us.

        Of two who reserve at once one comes second, and hears of the other.
        """
        wish = rules_of_files.checked(wish)
        with self.database.writing("the reservations"):
            granted = reserve(self.database, name, wish, self._now())
        return ReservationResult(granted, rules_of_files.conflicts(granted, self.reservations()))

    def release(
        self, name: str, *, patterns: Iterable[str] | None = None, ids: Iterable[int] | None = None
    ) -> Released:
        with self.database.writing("the release"):
            now = self._now()
            return Released(release(self.database, name, now, patterns, ids), now)

    def reservations(self) -> tuple[Reservation, ...]:
        with self.database.reading():
            return holding(self.database, self._now())

    def position(self) -> int:
        with self.database.reading():
            found = self.database.execute("SELECT max(arrival) FROM messages").fetchall()
        return rows.whole(found[0][0] or 0)

    def arrivals(self, after: int, limit: int | None = None) -> tuple[StoredMessage, ...]:
        with self.database.reading():
            return queries.arrivals(self.database, after, limit)

    @abstractmethod
    def wait(self, position: int, seconds: float) -> int:
        """The position as soon as it is beyond that one, or when the time is up."""

    def kept(self, name: str) -> str | None:
        if not rows.is_text(name):
            return None
        with self.database.reading():
            found = self.database.execute("SELECT content FROM kept WHERE name = ?", (name,))
            row = found.fetchone()
        return str(row[0]) if row else None

    def kept_under(self, prefix: str) -> dict[str, str]:
        if not rows.is_text(prefix):
            return {}
        with self.database.reading():
            # Nothing is kept under a name with that letter, so these are all that begin so.
            found = self.database.execute(
                "SELECT name, content FROM kept WHERE name >= ? AND name < ?",
                (prefix, prefix + _LAST_LETTER),
            )
            return {str(name): str(content) for name, content in found}

    def keep(self, contents: Mapping[str, str]) -> None:
        with self.database.writing():
            for name, content in contents.items():
                self.database.execute("DELETE FROM kept WHERE name = ?", (name,))
                self.database.execute("INSERT INTO kept VALUES (?, ?)", (name, content))

    def records(self) -> Iterator[Record]:
        return queries.records(self.database.moment())

    def restore(self, agents: Iterable[Agent], records: Iterable[Record]) -> Restored:
        with self.database.writing("the mail"):
            return queries.restore(self.database, agents, records)

    def integrity(self) -> tuple[str, ...]:
        """What is wrong with the mail; nothing where all is sound and no message changed."""
        with self.database.reading():
            return (*self.database.integrity(), *queries.changed(self.database))

    def close(self) -> None:
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
