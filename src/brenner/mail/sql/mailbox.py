"""The `Mailbox` interface over SQL, shared by SQLite and PostgreSQL; one transaction per call."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Generic, Self, TypeVar

from brenner.mail import reservations as reservation_rules
from brenner.mail import rules
from brenner.mail.mailbox import NO_FILTER, NOTHING_MISSING
from brenner.mail.model import (
    DEFAULT_ENVELOPE,
    Agent,
    Delivery,
    Envelope,
    InboxFilter,
    InboxPage,
    MessageRecord,
    PendingAck,
    Profile,
    RegistrationResult,
    ReleaseResult,
    Reservation,
    ReservationRequest,
    ReservationResult,
    RestoreResult,
    SearchPage,
    SendResult,
    StoredMessage,
    ThreadPage,
    ThreadSummary,
    UnchangedSince,
)
from brenner.mail.reservations import replaced_ids, select_to_release
from brenner.mail.search import Query
from brenner.mail.sql import queries, rows
from brenner.mail.sql.rows import (
    Database,
    Executor,
    Row,
    agent_number,
    as_int,
    as_time,
    microseconds,
)
from brenner.protocol.messages import Message

# File reservations


_SELECT_RESERVATIONS = (
    "SELECT r.id, a.name, r.pattern, r.exclusive, r.reason, r.created_at, r.expires_at"
    " FROM reservations r JOIN agents a ON a.number = r.agent WHERE r.expires_at > ?"
)


def active_reservations(database: Executor, now: datetime) -> tuple[Reservation, ...]:
    """Return the reservations that have not expired, oldest first."""
    found = database.execute(f"{_SELECT_RESERVATIONS} ORDER BY r.id", (microseconds(now),))
    return tuple(map(_reservation_from_row, found))


def insert_reservations(
    database: Executor, name: str, request: ReservationRequest, now: datetime
) -> tuple[Reservation, ...]:
    """Store the requested reservations. Delete those that they replace, and all expired ones."""
    agent = agent_number(database, name)
    database.execute("DELETE FROM reservations WHERE expires_at <= ?", (microseconds(now),))
    count = "SELECT count(*) FROM reservations WHERE agent <> ?"
    others = as_int(database.execute(count, (agent,)).fetchall()[0][0])
    _delete_by_id(database, replaced_ids(request, _reservations_of(database, agent, now), others))
    expires_at = now + timedelta(seconds=request.seconds)
    granted = []
    for pattern in request.patterns:
        row = database.execute(
            "INSERT INTO reservations (agent, pattern, exclusive, reason, created_at, expires_at)"
            " VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
            (
                *(agent, pattern, request.exclusive, request.reason),
                *(microseconds(now), microseconds(expires_at)),
            ),
        ).fetchall()[0]
        fields = (request.exclusive, request.reason, now, expires_at)
        granted.append(Reservation(as_int(row[0]), name, pattern, *fields))
    return tuple(granted)


def delete_reservations(
    database: Executor,
    name: str,
    now: datetime,
    patterns: Iterable[str] | None,
    ids: Iterable[int] | None,
) -> int:
    """Delete reservations of an agent, and return how many."""
    own = _reservations_of(database, agent_number(database, name), now)
    released = select_to_release(own, patterns, ids)
    _delete_by_id(database, (each.id for each in released))
    return len(released)


def _reservations_of(database: Executor, agent: int, now: datetime) -> tuple[Reservation, ...]:
    found = database.execute(
        f"{_SELECT_RESERVATIONS} AND r.agent = ? ORDER BY r.id", (microseconds(now), agent)
    )
    return tuple(map(_reservation_from_row, found))


def _delete_by_id(database: Executor, ids: Iterable[int]) -> None:
    for number in ids:
        database.execute("DELETE FROM reservations WHERE id = ?", (number,))


def _reservation_from_row(row: Row) -> Reservation:
    return Reservation(
        id=as_int(row[0]),
        agent=str(row[1]),
        pattern=str(row[2]),
        exclusive=bool(row[3]),
        reason=str(row[4]),
        created_at=as_time(row[5]),
        expires_at=as_time(row[6]),
    )


# Digests of agents' secrets


def select_digest(database: Executor, name: str) -> str | None:
    """Return the digest of an agent's secret, or None."""
    agent = agent_number(database, name)
    row = database.execute("SELECT digest FROM secrets WHERE agent = ?", (agent,)).fetchone()
    return str(row[0]) if row else None


def find_agent_by_digest(database: Executor, digest: str) -> str | None:
    """Return the agent whose secret has this digest, or None."""
    row = database.execute(
        "SELECT MIN(a.name) FROM secrets s JOIN agents a ON a.number = s.agent WHERE s.digest = ?",
        (digest,),
    ).fetchone()
    return None if row is None or row[0] is None else str(row[0])


def insert_digest(database: Executor, name: str, digest: str, *, replace: bool) -> bool:
    """Store a digest, and return whether it was stored. Writers are serialized: the first one
    wins.
    """
    agent = agent_number(database, name)
    conflict = "UPDATE SET digest = excluded.digest" if replace else "NOTHING"
    inserted = database.execute(
        f"INSERT INTO secrets VALUES (?, ?) ON CONFLICT (agent) DO {conflict} RETURNING agent",
        (agent, digest),
    )
    return bool(inserted.fetchall())


D = TypeVar("D", bound=Database)
_LAST_CHARACTER = "\U0010ffff"


class SqlMailbox(ABC, Generic[D]):
    """A mailbox in a SQL database."""

    lacks = NOTHING_MISSING

    def __init__(self, database: D) -> None:
        self.database = database
        self.operator: str | None = None

    @abstractmethod
    def _now(self) -> datetime:
        """Return the store's current time."""

    def register(self, profile: Profile, *, update: bool = False) -> RegistrationResult:
        with self.database.write_transaction():
            known = {agent.name: agent for agent in rows.select_agents(self.database)}
            before = known.get(profile.name)
            if before and not update:
                rules.check_same_agent(profile, before, known)
            merged = rules.merge_profile(profile, before, known)
            if before is None:
                agent = Agent(*merged, self._now())
                queries.insert_agent(self.database, agent)
                return RegistrationResult(agent, None)
            self.database.execute(
                "UPDATE agents SET program = ?, model = ?, task = ? WHERE name = ?",
                (*merged[1:], merged.name),
            )
            return RegistrationResult(Agent(*merged, before.registered_at), before)

    def agents(self) -> tuple[Agent, ...]:
        with self.database.read_transaction():
            return rows.select_agents(self.database)

    def agent(self, name: str) -> Agent:
        with self.database.read_transaction():
            return rows.select_agent(self.database, name)

    def digest(self, name: str) -> str | None:
        with self.database.read_transaction():
            return select_digest(self.database, name)

    def named_by(self, digest: str) -> str | None:
        with self.database.read_transaction():
            return find_agent_by_digest(self.database, digest)

    def claim(self, name: str, digest: str, *, replace: bool = False) -> bool:
        with self.database.write_transaction("the claim"):
            return insert_digest(self.database, name, digest, replace=replace)

    def send(
        self,
        message: Message,
        *,
        reply_to: int | None = None,
        key: str | None = None,
        position: int | UnchangedSince | None = None,
        envelope: Envelope = DEFAULT_ENVELOPE,
    ) -> SendResult:
        message = rules.normalize_message(message)
        envelope = rules.normalize_envelope(envelope, message)
        with self.database.write_transaction("the message"):
            known = rows.agent_numbers(self.database)
            rules.check_storable(message, known, key)
            sender = known[message.sender]
            first = self._find_by_key(sender, key)
            if first is not None and key is not None:
                rules.check_key_reuse(key, first, message, reply_to, envelope)
                return SendResult(first, is_new=False)
            if not message.thread_id:
                message = rules.with_thread_id(message, queries.next_id(self.database))
            if reply_to is not None:
                rules.check_reply(rows.select_message(self.database, reply_to), message)
            if isinstance(position, UnchangedSince):
                arrived = queries.thread_arrivals(
                    self.database, message.thread_id, position.arrival
                )
                rules.check_unchanged_since(message.thread_id, position, arrived)
            elif position is not None:
                now_there = queries.thread_position(self.database, message.thread_id)
                rules.check_position(message.thread_id, position, now_there)
            stored = queries.new_message(self.database, message, self._now(), reply_to, sender)
            decides = rules.counts_as_decision(message, self.operator)
            stored = stored._replace(envelope=envelope, decides=decides)
            queries.insert_message(self.database, stored, known)
            if key is not None:
                self.database.execute("INSERT INTO keys VALUES (?, ?, ?)", (sender, key, stored.id))
        return SendResult(stored, is_new=True)

    def _find_by_key(self, sender: int, key: str | None) -> StoredMessage | None:
        """Return the message that the sender sent with that idempotency key, or None."""
        found = self.database.execute(
            "SELECT message FROM keys WHERE sender = ? AND key = ?", (sender, key)
        ).fetchone()
        return rows.select_message(self.database, rows.as_int(found[0])) if found else None

    def message(self, message_id: int) -> StoredMessage:
        with self.database.read_transaction():
            return rows.select_message(self.database, message_id)

    def deliveries(self, message_id: int) -> tuple[Delivery, ...]:
        with self.database.read_transaction():
            return queries.deliveries(self.database, self.message(message_id))

    def thread(
        self,
        thread_id: str,
        *,
        limit: int | None = None,
        before: int | None = None,
        after: int | None = None,
    ) -> ThreadPage:
        with self.database.read_transaction():
            return queries.thread_page(self.database, thread_id, limit, before, after)

    def thread_arrivals(self, thread_id: str, after: int) -> tuple[StoredMessage, ...]:
        with self.database.read_transaction():
            return queries.thread_arrivals(self.database, thread_id, after)

    def threads(self, limit: int | None = None) -> tuple[ThreadSummary, ...]:
        with self.database.read_transaction():
            return queries.thread_summaries(self.database, limit)

    def inbox(
        self,
        name: str,
        wanted: InboxFilter = NO_FILTER,
        *,
        limit: int | None = None,
        before: int | None = None,
    ) -> InboxPage:
        with self.database.read_transaction():
            return queries.inbox_page(self.database, name, wanted, limit, before)

    def unread(self, name: str) -> int:
        with self.database.read_transaction():
            return queries.count_unread(self.database, name)

    def search(
        self,
        query: Query,
        *,
        reader: str | None = None,
        limit: int = 50,
        before: int | None = None,
    ) -> SearchPage:
        rules.check_reader(query, reader)
        with self.database.read_transaction():
            number = None if reader is None else rows.agent_number(self.database, reader)
            border = queries.arrival_of(self.database, before)
            return queries.search(self.database, query, number, limit, border)

    def debts(
        self, debtor: str | None = None, thread_id: str | None = None
    ) -> tuple[PendingAck, ...]:
        with self.database.read_transaction():
            return queries.pending_acks(self.database, debtor, thread_id)

    def mark(self, name: str, message_ids: Iterable[int], *, is_read: bool) -> int:
        with self.database.write_transaction():
            recipient = rows.agent_number(self.database, name)
            read_at = rows.microseconds(self._now()) if is_read else None
            changed = 0
            for message_id in dict.fromkeys(message_ids):
                rules.check_recipient(rows.select_message(self.database, message_id), name)
                changed += len(
                    self.database.execute(
                        "UPDATE deliveries SET read_at = ? WHERE message = ? AND recipient = ?"
                        " AND (read_at IS NULL) = ? RETURNING 1",
                        (read_at, message_id, recipient, is_read),
                    ).fetchall()
                )
        return changed

    def reserve(self, name: str, request: ReservationRequest) -> ReservationResult:
        """Reserve files, then look for conflicts outside the transaction, so that no writer
        waits.

        Of two agents that reserve at once, the later one sees the other's reservation.
        """
        request = reservation_rules.validate_request(request)
        with self.database.write_transaction("the reservations"):
            granted = insert_reservations(self.database, name, request, self._now())
        return ReservationResult(
            granted, reservation_rules.find_conflicts(granted, self.reservations())
        )

    def release(
        self, name: str, *, patterns: Iterable[str] | None = None, ids: Iterable[int] | None = None
    ) -> ReleaseResult:
        with self.database.write_transaction("the release"):
            now = self._now()
            return ReleaseResult(delete_reservations(self.database, name, now, patterns, ids), now)

    def reservations(self) -> tuple[Reservation, ...]:
        with self.database.read_transaction():
            return active_reservations(self.database, self._now())

    def position(self) -> int:
        with self.database.read_transaction():
            found = self.database.execute("SELECT max(arrival) FROM messages").fetchall()
        return rows.as_int(found[0][0] or 0)

    def arrivals(self, after: int, limit: int | None = None) -> tuple[StoredMessage, ...]:
        with self.database.read_transaction():
            return queries.arrivals(self.database, after, limit)

    @abstractmethod
    def wait(self, position: int, seconds: float) -> int:
        """Wait until the position exceeds the given one or the timeout expires; return the
        position.
        """

    def kept(self, name: str) -> str | None:
        if not rows.is_storable_text(name):
            return None
        with self.database.read_transaction():
            found = self.database.execute("SELECT content FROM kept WHERE name = ?", (name,))
            row = found.fetchone()
        return str(row[0]) if row else None

    def kept_under(self, prefix: str) -> dict[str, str]:
        if not rows.is_storable_text(prefix):
            return {}
        with self.database.read_transaction():
            # No key contains the last character, so this range is all keys with the prefix.
            found = self.database.execute(
                "SELECT name, content FROM kept WHERE name >= ? AND name < ?",
                (prefix, prefix + _LAST_CHARACTER),
            )
            return {str(name): str(content) for name, content in found}

    def keep(self, contents: Mapping[str, str]) -> None:
        with self.database.write_transaction():
            for name, content in contents.items():
                self.database.execute("DELETE FROM kept WHERE name = ?", (name,))
                self.database.execute("INSERT INTO kept VALUES (?, ?)", (name, content))

    def records(self) -> Iterator[MessageRecord]:
        return queries.export_records(self.database.snapshot())

    def restore(self, agents: Iterable[Agent], records: Iterable[MessageRecord]) -> RestoreResult:
        with self.database.write_transaction("the mail"):
            return queries.import_records(self.database, agents, records)

    def integrity(self) -> tuple[str, ...]:
        """Return what is damaged: database errors, and messages whose content changed."""
        with self.database.read_transaction():
            return (*self.database.integrity(), *queries.altered_messages(self.database))

    def close(self) -> None:
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
