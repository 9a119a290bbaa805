"""The `Mailbox` interface over SQL, shared by SQLite and PostgreSQL; one transaction per call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from brenner.mail import reservations as reservation_rules
from brenner.mail import rules
from brenner.mail.mailbox import NO_FILTER, NOTHING_MISSING
from brenner.mail.model import (
    Agent,
    Delivery,
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
    ThreadPage,
    ThreadSummary,
    UnchangedSince,
)
from brenner.mail.sql import queries, rows
from brenner.mail.sql.rows import (
    Database,
    Row,
    as_int,
    as_time,
    microseconds,
)
from brenner.protocol.messages import DEFAULT_ENVELOPE, Envelope, StoredMessage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from brenner.mail.search import Query
    from brenner.protocol.messages import Message

_SELECT_RESERVATIONS = (
    "SELECT r.id, a.name, r.pattern, r.exclusive, r.reason, r.created_at, r.expires_at"
    " FROM reservations r JOIN agents a ON a.number = r.agent WHERE r.expires_at > ?"
)


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


D = TypeVar("D", bound=Database)
_LAST_CHARACTER = "\U0010ffff"


class SqlMailbox(ABC, Generic[D]):
    lacks = NOTHING_MISSING
    now_sql = "NULL"  # the time of the database, if that is the store's time

    def __init__(self, database: D) -> None:
        self.database = database
        self.operator: str | None = None

    @abstractmethod
    def _now(self) -> datetime:
        """Return the store's current time, in a transaction."""

    def _time_of(self, found: object) -> datetime:  # noqa: ARG002
        """Return the store's time, given what `now_sql` has found."""
        return self._now()

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

    def agents(self, names: Iterable[str] | None = None) -> tuple[Agent, ...]:
        with self.database.read_transaction():
            return rows.select_agents(self.database, names)

    def agent(self, name: str) -> Agent:
        with self.database.read_transaction():
            return rows.select_agent(self.database, name)

    def digest(self, name: str) -> str | None:
        with self.database.read_transaction():
            agent = rows.agent_number(self.database, name)
            found = self.database.query("SELECT digest FROM secrets WHERE agent = ?", (agent,))
            return str(found[0][0]) if found else None

    def named_by(self, digest: str) -> str | None:
        with self.database.read_transaction():
            found = self.database.query(
                "SELECT MIN(a.name) FROM secrets s JOIN agents a ON a.number = s.agent"
                " WHERE s.digest = ?",
                (digest,),
            )
            return None if found[0][0] is None else str(found[0][0])

    def claim(self, name: str, digest: str, *, replace: bool = False) -> bool:
        with self.database.write_transaction("the claim"):
            agent = rows.agent_number(self.database, name)
            conflict = "UPDATE SET digest = excluded.digest" if replace else "NOTHING"
            inserted = self.database.query(
                f"INSERT INTO secrets (agent, digest) VALUES (?, ?) ON CONFLICT (agent)"
                f" DO {conflict} RETURNING agent",
                (agent, digest),
            )
            return bool(inserted)

    def is_protected(self, name: str) -> bool:
        with self.database.read_transaction():
            agent = rows.agent_number(self.database, name)
            query = "SELECT is_protected FROM secrets WHERE agent = ?"
            found = self.database.query(query, (agent,))
            return bool(found and found[0][0])

    def protect(self, name: str) -> None:
        with self.database.write_transaction("the protection of the name"):
            agent = rows.agent_number(self.database, name)
            self.database.execute(
                "UPDATE secrets SET is_protected = ? WHERE agent = ?", (True, agent)
            )

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
        reads = [
            rows.numbers_of((message.sender, *message.recipients)),
            rows.thread_statement(message.thread_id),
            (f"{queries.LAST_MESSAGE}, {self.now_sql}", ()),
            *(
                [(f"{rows.SELECT} WHERE m.id = ?", (rows.clamp(reply_to),))]
                if reply_to is not None
                else []
            ),
        ]
        with self.database.write_transaction("the message", reads) as found:
            known, thread, last = (
                rows.numbers_from_rows(found[0]),
                rows.thread_from_rows(found[1]),
                found[2][0],
            )
            self._check_storable(message, known, key)
            first = self._find_by_key(known[message.sender], key)
            if first is not None and key is not None:
                rules.check_key_reuse(key, first, message, reply_to, envelope)
                return SendResult(first, is_new=False)
            if not message.thread_id:
                message = rules.with_thread_id(message, as_int(last[1] or 0) + 1)
                thread = rows.find_thread(self.database, message.thread_id)
            if reply_to is not None:
                rules.check_reply(rows.require_message(found[3], reply_to), message)
            self._check_position(message.thread_id, position, thread[1] if thread else 0)
            number, sender = thread[0] if thread else None, known[message.sender]
            settled = queries.settled_ids(self.database, message, reply_to, number, sender)
            now = self._time_of(last[3])
            stored = queries.new_message(message, now, reply_to, last, settled)
            decides = rules.counts_as_decision(message, self.operator)
            stored = stored._replace(envelope=envelope, decides=decides)
            self.database.execute("UPDATE store SET last_time = ?", (microseconds(stored.at),))
            also_settled = rules.debts_settled_on_arrival(stored, self.operator)
            queries.insert_message(self.database, stored, known, number, also_settled)
            if key is not None:
                self.database.execute("INSERT INTO keys VALUES (?, ?, ?)", (sender, key, stored.id))
        return SendResult(stored, is_new=True)

    def _check_storable(self, message: Message, known: dict[str, int], key: str | None) -> None:
        """Raise RequestError if the message cannot be stored or delivered.

        Only then all names are read, for the suggestions.
        """
        names = (message.sender, *message.recipients)
        is_known = all(name in known for name in names)
        rules.check_storable(message, known if is_known else rows.agent_numbers(self.database), key)

    def _check_position(
        self, thread_id: str, position: int | UnchangedSince | None, now_there: int
    ) -> None:
        if isinstance(position, UnchangedSince):
            arrived = queries.thread_arrivals(self.database, thread_id, position.arrival)
            rules.check_unchanged_since(thread_id, position, arrived)
        else:
            rules.check_position(thread_id, position, now_there)

    def _find_by_key(self, sender: int, key: str | None) -> StoredMessage | None:
        """Return the message that the sender sent with that idempotency key, or None."""
        if key is None:
            return None
        sql = "SELECT message FROM keys WHERE sender = ? AND key = ?"
        found = self.database.query(sql, (sender, key))
        return rows.select_message(self.database, as_int(found[0][0])) if found else None

    def reading(self) -> AbstractContextManager[object]:
        return self.database.read_transaction()

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
                    self.database.query(
                        "UPDATE deliveries SET read_at = ? WHERE message = ? AND recipient = ?"
                        " AND (read_at IS NULL) = ? RETURNING 1",
                        (read_at, message_id, recipient, is_read),
                    )
                )
        return changed

    def reserve(self, name: str, request: ReservationRequest) -> ReservationResult:
        """Reserve files, then look for conflicts outside the transaction, so that no writer
        waits.

        Of two agents that reserve at once, the later one sees the other's reservation.
        """
        request = reservation_rules.validate_request(request)
        with self.database.write_transaction("the reservations"):
            granted = self._insert_reservations(name, request, self._now())
        return ReservationResult(
            granted, reservation_rules.find_conflicts(granted, self.reservations())
        )

    def _insert_reservations(
        self, name: str, request: ReservationRequest, now: datetime
    ) -> tuple[Reservation, ...]:
        """Store reservations. Delete those that they replace, and all expired ones."""
        database, agent = self.database, rows.agent_number(self.database, name)
        database.execute("DELETE FROM reservations WHERE expires_at <= ?", (microseconds(now),))
        count = "SELECT count(*) FROM reservations WHERE agent <> ?"
        others = as_int(database.query(count, (agent,))[0][0])
        own = self._reservations_of(name, now)
        self._delete_reservations(reservation_rules.replaced_ids(request, own, others))
        expires_at = now + timedelta(seconds=request.seconds)
        times = (microseconds(now), microseconds(expires_at))
        made = [
            database.query(
                "INSERT INTO reservations"
                " (agent, pattern, exclusive, reason, created_at, expires_at)"
                " VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
                (agent, pattern, request.exclusive, request.reason, *times),
            )
            for pattern in request.patterns
        ]
        fields = (request.exclusive, request.reason, now, expires_at)
        return tuple(
            Reservation(as_int(found[0][0]), name, pattern, *fields)
            for pattern, found in zip(request.patterns, made, strict=True)
        )

    def release(
        self, name: str, *, patterns: Iterable[str] | None = None, ids: Iterable[int] | None = None
    ) -> ReleaseResult:
        with self.database.write_transaction("the release"):
            now = self._now()
            own = self._reservations_of(name, now)
            released = reservation_rules.select_to_release(own, patterns, ids)
            self._delete_reservations(each.id for each in released)
            return ReleaseResult(len(released), now)

    def _delete_reservations(self, ids: Iterable[int]) -> None:
        for number in ids:
            self.database.execute("DELETE FROM reservations WHERE id = ?", (number,))

    def _reservations_of(self, name: str, now: datetime) -> tuple[Reservation, ...]:
        found = self.database.query(
            f"{_SELECT_RESERVATIONS} AND r.agent = ? ORDER BY r.id",
            (microseconds(now), rows.agent_number(self.database, name)),
        )
        return tuple(map(_reservation_from_row, found))

    def reservations(self) -> tuple[Reservation, ...]:
        with self.database.read_transaction():
            found = self.database.query(
                f"{_SELECT_RESERVATIONS} ORDER BY r.id", (microseconds(self._now()),)
            )
        return tuple(map(_reservation_from_row, found))

    def position(self) -> int:
        with self.database.read_transaction():
            found = self.database.query("SELECT max(arrival) FROM messages")
        return rows.as_int(found[0][0] or 0)

    def arrivals(self, after: int, limit: int | None = None) -> tuple[StoredMessage, ...]:
        with self.database.read_transaction():
            return queries.arrivals(self.database, after, limit)

    @abstractmethod
    def wait(self, position: int, seconds: float) -> int:
        """Wait for a position greater than the given one, or a timeout; return the position."""

    def kept(self, name: str) -> str | None:
        if not rows.is_storable_text(name):
            return None
        with self.database.read_transaction():
            found = self.database.query("SELECT content FROM kept WHERE name = ?", (name,))
        return str(found[0][0]) if found else None

    def kept_under(self, prefix: str) -> dict[str, str]:
        if not rows.is_storable_text(prefix):
            return {}
        with self.database.read_transaction():
            # No key contains the last character, so this range is all keys with the prefix.
            found = self.database.query(
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
            return queries.import_records(self.database, agents, records, self.operator)

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
