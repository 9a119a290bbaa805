"""The mailbox in memory: the reference implementation of the `Mailbox` interface.

It is written for clarity, not for speed. The contract tests run over it as over all backends, and
the other backends are compared with it.
"""

from __future__ import annotations

import threading
from copy import copy
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Self

from brenner.diagnostics.codes import mail as codes
from brenner.diagnostics.model import RequestError
from brenner.mail import reservations as reservation_rules
from brenner.mail import rules
from brenner.mail.mailbox import NO_FILTER, NOTHING_MISSING, Mailbox, MissingCapabilities
from brenner.mail.model import (
    Agent,
    Clock,
    Delivery,
    InboxFilter,
    InboxMessage,
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
    system_clock,
)
from brenner.mail.rules import (
    ImportIdMap,
    drop_invalid_links,
    matches_filter,
    message_order,
    unregistered_agents,
)
from brenner.mail.search import Query, matches
from brenner.protocol.acknowledgements import (
    acknowledged_ids,
    debtors,
    settled_message_ids,
)
from brenner.protocol.messages import (
    DEFAULT_ENVELOPE,
    Envelope,
    Message,
    StoredMessage,
    content_hash,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager


# The state that a failed import restores
_RESTORED_FIELDS = ("_agents", "_messages", "_read_at", "_owed", "_acknowledged_by")


class MemoryMailbox:
    """A mailbox that ends with the process.

    It misses no capability. As a stand-in for a store that does not exist yet, it reports `lacks`
    of that store.
    """

    def __init__(
        self, clock: Clock = system_clock, lacks: MissingCapabilities = NOTHING_MISSING
    ) -> None:
        self.lacks = lacks
        self._clock = clock
        self._lock = threading.RLock()
        self._agents: dict[str, Agent] = {}
        self._secrets: dict[str, str] = {}
        self._protected: set[str] = set()
        self._reservations: dict[int, Reservation] = {}
        self._reservation_ids = count(1)
        self.operator: str | None = None
        self._messages: dict[int, StoredMessage] = {}  # by id, in order of arrival
        self._cache: dict[str, str] = {}
        self._last_time: datetime | None = None
        self._keys: dict[tuple[str, str], int] = {}
        self._read_at: dict[tuple[int, str], datetime] = {}
        self._owed: set[tuple[int, str]] = set()
        self._acknowledged_by: dict[tuple[int, str], int] = {}
        self._arrived = threading.Condition(self._lock)

    def register(self, profile: Profile, *, update: bool = False) -> RegistrationResult:
        known = self._agents.get(profile.name)
        if known and not update:
            rules.check_same_agent(profile, known, self._agents)
        merged = rules.merge_profile(profile, known, self._agents)
        agent = Agent(*merged, known.registered_at if known else self._clock())
        self._agents[agent.name] = agent
        return RegistrationResult(agent, known)

    def agents(self, names: Iterable[str] | None = None) -> tuple[Agent, ...]:
        wanted = self._agents if names is None else {*names}
        return tuple(sorted(each for each in self._agents.values() if each.name in wanted))

    def agent(self, name: str) -> Agent:
        if name not in self._agents:
            raise rules.unknown_agent_error(name, self._agents)
        return self._agents[name]

    def digest(self, name: str) -> str | None:
        self.agent(name)
        return self._secrets.get(name)

    def named_by(self, digest: str) -> str | None:
        with self._lock:
            names = [name for name, stored in self._secrets.items() if stored == digest]
        return min(names, default=None)

    def claim(self, name: str, digest: str, *, replace: bool = False) -> bool:
        self.agent(name)
        with self._lock:
            is_free = replace or name not in self._secrets
            if is_free:
                self._secrets[name] = digest
        return is_free

    def is_protected(self, name: str) -> bool:
        self.agent(name)
        return name in self._protected

    def protect(self, name: str) -> None:
        self.agent(name)
        with self._lock:
            self._protected |= {name} & self._secrets.keys()

    def reserve(self, name: str, request: ReservationRequest) -> ReservationResult:
        request = reservation_rules.validate_request(request)
        self.agent(name)
        with self._lock:
            now = self._clock()
            held = reservation_rules.active(self._reservations.values(), now)
            own = [each for each in held if each.agent == name]
            old = reservation_rules.replaced_ids(request, own, len(held) - len(own))
            granted = [
                Reservation(
                    id=next(self._reservation_ids),
                    agent=name,
                    pattern=pattern,
                    exclusive=request.exclusive,
                    reason=request.reason,
                    created_at=now,
                    expires_at=now + timedelta(seconds=request.seconds),
                )
                for pattern in request.patterns
            ]
            remaining = [each for each in held if each.id not in old]
            self._reservations = {each.id: each for each in (*remaining, *granted)}
        return ReservationResult(
            tuple(granted), reservation_rules.find_conflicts(granted, remaining)
        )

    def release(
        self, name: str, *, patterns: Iterable[str] | None = None, ids: Iterable[int] | None = None
    ) -> ReleaseResult:
        self.agent(name)
        with self._lock:
            now = self._clock()
            held = reservation_rules.active(self._reservations.values(), now)
            own = [each for each in held if each.agent == name]
            released = reservation_rules.select_to_release(own, patterns, ids)
            for each in released:
                del self._reservations[each.id]
        return ReleaseResult(len(released), now)

    def reservations(self) -> tuple[Reservation, ...]:
        with self._lock:
            return reservation_rules.active(self._reservations.values(), self._clock())

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
        rules.check_storable(message, self._agents, key)
        with self._arrived:
            if key is not None and (message.sender, key) in self._keys:
                first = self._messages[self._keys[message.sender, key]]
                rules.check_key_reuse(key, first, message, reply_to, envelope)
                return SendResult(first, is_new=False)
            new_id = max(self._messages, default=0) + 1
            message = rules.with_thread_id(message, new_id)
            if reply_to is not None:
                rules.check_reply(self.message(reply_to), message)
            rules.check_position(message.thread_id, position, len(self._thread(message.thread_id)))
            if isinstance(position, UnchangedSince):
                arrived = self.thread_arrivals(message.thread_id, position.arrival)
                rules.check_unchanged_since(message.thread_id, position, arrived)
            at = rules.next_time(self._clock(), self._last_time)
            stored = self._new_message(message, new_id, at, reply_to)._replace(
                envelope=envelope, decides=rules.counts_as_decision(message, self.operator)
            )
            self._add(stored)
            self._last_time = stored.at
            if key is not None:
                self._keys[message.sender, key] = stored.id
            self._arrived.notify_all()
        return SendResult(stored, is_new=True)

    def _new_message(
        self, message: Message, message_id: int, at: datetime, reply_to: int | None = None
    ) -> StoredMessage:
        return StoredMessage(
            id=message_id,
            at=at,
            message=message,
            content_hash=content_hash(message),
            arrival=len(self._messages) + 1,
            origin_id=message_id,
            reply_to=reply_to,
            acknowledges=self._acknowledged_ids(message, reply_to) if message.type == "ACK" else (),
        )

    def _acknowledged_ids(self, ack: Message, reply_to: int | None) -> tuple[int, ...]:
        thread = self._thread(ack.thread_id)
        named = acknowledged_ids(ack.body, reply_to)
        contents = [stored.content_hash for stored in thread if stored.id in named]
        owed = [
            (stored.id, stored.content_hash)
            for stored in thread
            if (stored.id, ack.sender) in self._owed
        ]
        return settled_message_ids(named, contents, owed)

    def _add(self, stored: StoredMessage) -> None:
        message = stored.message
        self._settle_debts(stored)
        self._messages[stored.id] = stored
        self._owed |= {(stored.id, name) for name in debtors(message)}
        for target in stored.acknowledges:
            self._owed.discard((target, message.sender))
            self._acknowledged_by.setdefault((target, message.sender), stored.id)

    def _settle_debts(self, stored: StoredMessage) -> None:
        """Settle the earlier debts of the thread that this message settles without being an ACK."""
        settled = rules.debts_settled_on_arrival(stored, self.operator)
        for message_id, debtor in tuple(self._owed) if settled else ():
            owed = self._messages[message_id]
            is_here = owed.message.thread_id == stored.message.thread_id
            if is_here and settled and settled.includes(owed.type, debtor):
                self._owed.discard((message_id, debtor))
                self._acknowledged_by.setdefault((message_id, debtor), stored.id)

    def reading(self) -> AbstractContextManager[object]:
        return self._lock

    def message(self, message_id: int) -> StoredMessage:
        if message_id not in self._messages:
            raise RequestError(codes.UNKNOWN_MESSAGE.at(id=message_id))
        return self._messages[message_id]

    def deliveries(self, message_id: int) -> tuple[Delivery, ...]:
        return tuple(
            Delivery(
                name,
                self._read_at.get((message_id, name)),
                (message_id, name) in self._owed,
                self._acknowledged_by.get((message_id, name)),
            )
            for name in self.message(message_id).message.recipients
        )

    def _thread(self, thread_id: str) -> list[StoredMessage]:
        found = [each for each in self._messages.values() if each.message.thread_id == thread_id]
        return sorted(found, key=message_order)

    def thread(
        self,
        thread_id: str,
        *,
        limit: int | None = None,
        before: int | None = None,
        after: int | None = None,
    ) -> ThreadPage:
        messages = self._thread(thread_id)
        last = len(messages) if before is None else self._index_in(messages, thread_id, before)
        first = 0 if after is None else self._index_in(messages, thread_id, after) + 1
        last = max(first, last)
        if limit is not None and after is not None:
            last = min(last, first + limit)
        elif limit is not None:
            first = max(first, last - limit)
        if first == last:
            return ThreadPage((), len(messages), after is not None, before is not None)
        return ThreadPage(
            tuple(messages[first:last]), len(messages), first > 0, last < len(messages)
        )

    def _index_in(self, thread: list[StoredMessage], thread_id: str, message_id: int) -> int:
        """Return the index of a message in its thread; raise RequestError if it is elsewhere."""
        stored = self.message(message_id)
        if stored not in thread:
            raise RequestError(codes.NOT_IN_THREAD.at(id=message_id, thread=thread_id))
        return thread.index(stored)

    def threads(self, limit: int | None = None) -> tuple[ThreadSummary, ...]:
        names = dict.fromkeys(stored.message.thread_id for stored in self._messages.values())
        threads = [(name, self._thread(name)) for name in names]
        threads.sort(key=lambda each: message_order(each[1][-1]), reverse=True)
        return tuple(
            ThreadSummary(name, len(thread), thread[0].at, thread[-1].at)
            for name, thread in threads[:limit]
        )

    def inbox(
        self,
        name: str,
        wanted: InboxFilter = NO_FILTER,
        *,
        limit: int | None = None,
        before: int | None = None,
    ) -> InboxPage:
        self.agent(name)
        self._check_thread(wanted.thread_id)
        border = None if before is None else message_order(self.message(before))
        fitting = [
            received
            for stored in sorted(self._messages.values(), key=message_order, reverse=True)
            if name in stored.message.recipients
            and (border is None or message_order(stored) < border)
            for received in [self._received(stored, name)]
            if matches_filter(wanted, received)
        ]
        return InboxPage(tuple(fitting[:limit]), limit is not None and len(fitting) > limit)

    def unread(self, name: str) -> int:
        return len(self.inbox(name, InboxFilter(unread=True)).messages)

    def _check_thread(self, thread_id: str | None) -> None:
        known = [thread.thread_id for thread in self.threads()]
        if thread_id is not None and thread_id not in known:
            raise rules.unknown_thread_error(thread_id, known)

    def _received(self, stored: StoredMessage, name: str) -> InboxMessage:
        key = (stored.id, name)
        return InboxMessage(stored, key in self._read_at, key in self._owed)

    def search(
        self,
        query: Query,
        *,
        reader: str | None = None,
        limit: int = 50,
        before: int | None = None,
    ) -> SearchPage:
        rules.check_reader(query, reader)
        if reader is not None:
            self.agent(reader)
        border = len(self._messages) + 1 if before is None else self.message(before).arrival
        for name in query.senders:
            self.agent(name)
        for thread_id in query.threads:
            self._check_thread(thread_id)
        hits = [
            stored
            for stored in reversed(self._messages.values())
            if stored.arrival < border
            and matches(query, stored.message, stored.at)
            and self._matches_reader(query, stored, reader)
        ]
        return SearchPage(tuple(hits[:limit]), len(hits) > limit)

    def _matches_reader(self, query: Query, stored: StoredMessage, reader: str | None) -> bool:
        """Return whether the message matches the filters about the reader's inbox."""
        if reader not in stored.message.recipients:
            return not (query.is_unread or query.needs_ack)
        received = self._received(stored, reader)
        return not (query.is_unread and received.is_read) and not (
            query.needs_ack and not received.owes_ack
        )

    def debts(
        self, debtor: str | None = None, thread_id: str | None = None
    ) -> tuple[PendingAck, ...]:
        if debtor is not None:
            self.agent(debtor)
        self._check_thread(thread_id)
        pending = [
            (name, self._messages[message_id])
            for message_id, name in self._owed
            if debtor in (None, name)
        ]
        return rules.group_pending_acks(
            (name, stored)
            for name, stored in pending
            if thread_id in (None, stored.message.thread_id)
        )

    def mark(self, name: str, message_ids: Iterable[int], *, is_read: bool) -> int:
        self.agent(name)
        wanted = dict.fromkeys(message_ids)
        for message_id in wanted:
            rules.check_recipient(self.message(message_id), name)
        changed = [each for each in wanted if ((each, name) in self._read_at) != is_read]
        for message_id in changed:
            if is_read:
                self._read_at[message_id, name] = self._clock()
            else:
                del self._read_at[message_id, name]
        return len(changed)

    def position(self) -> int:
        return len(self._messages)

    def thread_arrivals(self, thread_id: str, after: int) -> tuple[StoredMessage, ...]:
        found = self.arrivals(after)
        return tuple(each for each in found if each.message.thread_id == thread_id)

    def kept(self, name: str) -> str | None:
        return self._cache.get(name)

    def kept_under(self, prefix: str) -> dict[str, str]:
        return {name: text for name, text in self._cache.items() if name.startswith(prefix)}

    def keep(self, contents: Mapping[str, str]) -> None:
        self._cache.update(contents)

    def arrivals(self, after: int, limit: int | None = None) -> tuple[StoredMessage, ...]:
        found = [each for each in self._messages.values() if each.arrival > after]
        return tuple(found[:limit])

    def wait(self, position: int, seconds: float) -> int:
        with self._arrived:
            self._arrived.wait_for(lambda: len(self._messages) > position, seconds)
        return len(self._messages)

    def records(self) -> Iterator[MessageRecord]:
        return iter(
            [MessageRecord(each, self._read_marks(each)) for each in self._messages.values()]
        )

    def _read_marks(self, stored: StoredMessage) -> tuple[tuple[str, datetime], ...]:
        names = sorted(stored.message.recipients)
        read_at = [(name, self._read_at.get((stored.id, name))) for name in names]
        return tuple((name, at) for name, at in read_at if at)

    def restore(self, agents: Iterable[Agent], records: Iterable[MessageRecord]) -> RestoreResult:
        with self._arrived:
            before = {name: copy(vars(self)[name]) for name in _RESTORED_FIELDS}
            try:
                restored = self._restore(agents, records)
            except BaseException:
                vars(self).update(before)
                raise
            self._arrived.notify_all()
        return restored

    def _restore(self, agents: Iterable[Agent], records: Iterable[MessageRecord]) -> RestoreResult:
        ids = ImportIdMap(max(self._messages, default=0))
        origins = {(each.origin_id, each.content_hash): each.id for each in self._messages.values()}
        new_agents = self._add_agents(agents)
        for record in records:
            stored = record.stored
            new_agents += self._add_agents(unregistered_agents(stored, self._agents))
            origin = (stored.origin_id, stored.content_hash)
            if origin in origins:
                ids.skip(stored, origins[origin])
                continue
            is_taken = stored.id in self._messages
            imported = drop_invalid_links(
                ids.assign(stored, len(self._messages) + 1, is_taken), self._messages
            )
            origins[origin] = imported.id
            self._add(imported)
            recipients = imported.message.recipients
            self._read_at |= {(imported.id, n): at for n, at in record.read_at if n in recipients}
        return ids.result(new_agents)

    def _add_agents(self, agents: Iterable[Agent]) -> list[str]:
        """Add the agents that are not registered, and return their names.

        Names that look alike are accepted: stored mail cannot change its names.
        """
        new = [agent for agent in agents if agent.name not in self._agents]
        self._agents |= {agent.name: agent for agent in new}
        return [agent.name for agent in new]

    def close(self) -> None:
        """Do nothing: there is no resource to release."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# In an empty mailbox there is nothing to mark or to release.
_FIRST_WRITES = frozenset({"claim", "register", "reserve", "send"})


class NewMailbox:
    """The mailbox of a store that does not exist yet. The first accepted write creates the store.

    Each write is tried in memory first, so that a refused one creates nothing. From then on all
    calls go to the created mailbox.
    """

    def __init__(self, memory: MemoryMailbox, create: Callable[[], Mailbox]) -> None:
        self._mailbox: Mailbox = memory
        self._create = create

    def __getattr__(self, name: str) -> object:
        if name in _FIRST_WRITES and isinstance(self._mailbox, MemoryMailbox):
            return partial(self._write_first, name)
        return getattr(self._mailbox, name)

    def _write_first(self, method: str, *arguments: object, **options: object) -> object:
        getattr(self._mailbox, method)(*arguments, **options)  # raises if it is refused
        self._mailbox = self._create()
        return getattr(self._mailbox, method)(*arguments, **options)
