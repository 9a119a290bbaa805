"""The mailbox as one reader sees it: contributions of an independent first round are sealed (R33).

Every reader but the operator gets its mailbox from here: commands that act for an agent, callers
over MCP, and the pages before the operator has logged in. What the mailbox does not return cannot
leak, so nothing above it has to know which messages are sealed.

There is no `__getattr__`: a new method of the interface does not exist here until it is sealed.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Self

from brenner.diagnostics.model import RequestError
from brenner.mail.mailbox import NO_FILTER, Capability, Mailbox, MissingCapabilities
from brenner.protocol.messages import DEFAULT_ENVELOPE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

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
    from brenner.mail.search import Query
    from brenner.protocol.independent_round import IndependentRound
    from brenner.protocol.messages import Envelope, Message, StoredMessage

# The heading of the section that states it, as the search finds it
_STATEMENT = ("independent", "first", "round")
_SEARCH_PAGE = 50
_NO_THREADS: frozenset[str] = frozenset()


def independent_round_of(mailbox: Mailbox, thread_id: str) -> IndependentRound | None:
    """Return the independent first round of a thread, or None if it has none."""
    from brenner.protocol.independent_round import independent_round, is_version_claim
    from brenner.session.rebuild import CompiledCandidate
    from brenner.session.versions import candidate_of  # few threads need it

    thread = mailbox.thread_arrivals(thread_id, 0)
    claims = (each for each in thread if is_version_claim(each.message))
    versions = {each.id for each in claims if isinstance(candidate_of(each), CompiledCandidate)}
    return independent_round(thread, versions)


def threads_that_may_be_independent(mailbox: Mailbox) -> frozenset[str]:
    """Return the threads with a KICKOFF that contains the words of the statement."""
    from brenner.mail.search import Query  # the position of an unchanged mailbox needs none

    query, found = Query((_STATEMENT,), types=("KICKOFF",)), set()
    before: int | None = None
    while True:
        page = mailbox.search(query, limit=_SEARCH_PAGE, before=before)
        found |= {each.message.thread_id for each in page.messages}
        if not page.has_more or not page.messages:
            return frozenset(found)
        before = page.messages[-1].id


class SealedThreads:
    """The threads of a mailbox that are sealed now. Several views of the mailbox may share it."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox
        self._lock = Lock()
        self._position = -1
        self._sealed = _NO_THREADS
        self._decided: set[str] = set()  # never sealed again: other kickoffs, or v1 is published

    def current(self) -> frozenset[str]:
        """Return the sealed threads.

        Call it after reading messages: then a message that arrived together with its kickoff is
        sealed.
        """
        if Capability.SEALS in self._mailbox.lacks:
            return _NO_THREADS
        with self._lock:
            position = self._mailbox.position()
            if position != self._position:
                self._sealed, self._position = self._find(), position
            return self._sealed

    def _find(self) -> frozenset[str]:
        sealed = set()
        for thread_id in threads_that_may_be_independent(self._mailbox) - self._decided:
            found = independent_round_of(self._mailbox, thread_id)
            if found is None or found.ended_by:
                self._decided.add(thread_id)
            else:
                sealed.add(thread_id)
        return frozenset(sealed)


def check_may_compile(mailbox: Mailbox, thread_id: str) -> None:
    """Raise RequestError if the reader cannot read what it would compile.

    Only the operator ends an independent first round.
    """
    if isinstance(mailbox, SealedMailbox) and mailbox.has_sealed(thread_id):
        from brenner.diagnostics.codes.sessions import SEALED_UNTIL_V1

        raise RequestError(SEALED_UNTIL_V1.at(thread=thread_id))


class SealedMailbox:
    """A mailbox for one reader.

    `reader` returns the name that the reader has proven, None if it has proven none. It is called
    only while a thread is sealed.
    """

    def __init__(
        self,
        mailbox: Mailbox,
        reader: Callable[[], str | None],
        threads: SealedThreads | None = None,
    ) -> None:
        self._mailbox = mailbox
        self._reader = reader
        self._threads = threads or SealedThreads(mailbox)

    @property
    def operator(self) -> str | None:
        return self._mailbox.operator

    @operator.setter
    def operator(self, name: str | None) -> None:
        self._mailbox.operator = name

    @property
    def lacks(self) -> MissingCapabilities:
        return self._mailbox.lacks

    def has_sealed(self, thread_id: str | None = None) -> bool:
        """Return whether messages of a thread, or of any, are sealed for this reader now."""
        sealed = self._sealed_threads()
        return bool(sealed) if thread_id is None else thread_id in sealed

    # What the reader may see

    def _sealed_threads(self) -> frozenset[str]:
        """Return the threads with messages that this reader may not read: none for the operator."""
        sealed = self._threads.current()
        return _NO_THREADS if sealed and self._reader() == self.operator else sealed

    def _shown(self, stored: StoredMessage) -> StoredMessage:
        return self._all_shown((stored,))[0]

    def _all_shown(self, messages: Iterable[StoredMessage]) -> tuple[StoredMessage, ...]:
        """Return the messages, sealed where they must be. Seals are looked up after reading."""
        found = tuple(messages)
        sealed = self._sealed_threads()
        if not any(each.message.thread_id in sealed for each in found):
            return found
        from brenner.protocol.independent_round import seal  # few projects have such a session

        reader = self._reader()
        return tuple(
            seal(each)
            if each.message.thread_id in sealed and self._is_hidden(each, reader)
            else each
            for each in found
        )

    def _is_hidden(self, stored: StoredMessage, reader: str | None) -> bool:
        """Return whether a message of a sealed thread is sealed for the reader.

        A reply to a sealed message is, too, since it may quote it; the quoted author may read it.
        """
        from brenner.protocol.independent_round import SEALED_TYPES

        each: StoredMessage | None = stored
        while each is not None and each.message.sender != reader:
            if each.type in SEALED_TYPES:
                return True
            each = self._original_of(each)
        return False

    def _original_of(self, stored: StoredMessage) -> StoredMessage | None:
        if stored.reply_to is None or stored.reply_to >= stored.id:
            return None
        try:
            return self._mailbox.message(stored.reply_to)
        except RequestError:
            return None

    # Agents

    def register(self, profile: Profile, *, update: bool = False) -> RegistrationResult:
        return self._mailbox.register(profile, update=update)

    def agents(self, names: Iterable[str] | None = None) -> tuple[Agent, ...]:
        return self._mailbox.agents(names)

    def agent(self, name: str) -> Agent:
        return self._mailbox.agent(name)

    def digest(self, name: str) -> str | None:
        return self._mailbox.digest(name)

    def named_by(self, digest: str) -> str | None:
        return self._mailbox.named_by(digest)

    def claim(self, name: str, digest: str, *, replace: bool = False) -> bool:
        return self._mailbox.claim(name, digest, replace=replace)

    def is_protected(self, name: str) -> bool:
        return self._mailbox.is_protected(name)

    def protect(self, name: str) -> None:
        self._mailbox.protect(name)

    # Sending

    def send(
        self,
        message: Message,
        *,
        reply_to: int | None = None,
        key: str | None = None,
        position: int | UnchangedSince | None = None,
        envelope: Envelope = DEFAULT_ENVELOPE,
    ) -> SendResult:
        """Store a message. A version of a sealed thread is refused: it would lack what is sealed,
        and would end the round.
        """
        if message.type == "COMPILED":
            check_may_compile(self, message.thread_id)
        sent = self._mailbox.send(
            message, reply_to=reply_to, key=key, position=position, envelope=envelope
        )
        return sent if sent.is_new else sent._replace(stored=self._shown(sent.stored))

    # Reading

    def reading(self) -> AbstractContextManager[object]:
        return self._mailbox.reading()

    def message(self, message_id: int) -> StoredMessage:
        return self._shown(self._mailbox.message(message_id))

    def deliveries(self, message_id: int) -> tuple[Delivery, ...]:
        return self._mailbox.deliveries(message_id)

    def thread(
        self,
        thread_id: str,
        *,
        limit: int | None = None,
        before: int | None = None,
        after: int | None = None,
    ) -> ThreadPage:
        page = self._mailbox.thread(thread_id, limit=limit, before=before, after=after)
        return page._replace(messages=self._all_shown(page.messages))

    def thread_arrivals(self, thread_id: str, after: int) -> tuple[StoredMessage, ...]:
        return self._all_shown(self._mailbox.thread_arrivals(thread_id, after))

    def threads(self, limit: int | None = None) -> tuple[ThreadSummary, ...]:
        return self._mailbox.threads(limit)

    def inbox(
        self,
        name: str,
        wanted: InboxFilter = NO_FILTER,
        *,
        limit: int | None = None,
        before: int | None = None,
    ) -> InboxPage:
        page = self._mailbox.inbox(name, wanted, limit=limit, before=before)
        shown = self._all_shown(each.stored for each in page.messages)
        pairs = zip(page.messages, shown, strict=True)
        return page._replace(messages=tuple(each._replace(stored=one) for each, one in pairs))

    def unread(self, name: str) -> int:
        return self._mailbox.unread(name)

    def search(
        self,
        query: Query,
        *,
        reader: str | None = None,
        limit: int = 50,
        before: int | None = None,
    ) -> SearchPage:
        """Return the hits. A sealed message is no hit of its words, or of the items in them."""
        page = self._mailbox.search(query, reader=reader, limit=limit, before=before)
        shown = self._all_shown(page.messages)
        if not self._sealed_threads():
            return page
        if not (query.phrases or query.items):
            return page._replace(messages=shown)
        # Neither the number of hits on a page nor `has_more` may show that there are sealed ones.
        found: list[StoredMessage] = []
        at_once = max(1, limit)
        while len(found) <= limit:
            page = self._mailbox.search(query, reader=reader, limit=at_once, before=before)
            shown = self._all_shown(page.messages)
            found += (each for each in shown if not each.is_sealed)
            if not page.has_more or not page.messages:
                break
            before = page.messages[-1].id
        return page._replace(messages=tuple(found[:limit]), has_more=len(found) > limit)

    def debts(
        self, debtor: str | None = None, thread_id: str | None = None
    ) -> tuple[PendingAck, ...]:
        owed = self._mailbox.debts(debtor, thread_id)
        first = self._all_shown(each.first for each in owed)
        last = self._all_shown(each.last for each in owed)
        return tuple(
            each._replace(first=one, last=other)
            for each, one, other in zip(owed, first, last, strict=True)
        )

    # Read marks

    def mark(self, name: str, message_ids: Iterable[int], *, is_read: bool) -> int:
        return self._mailbox.mark(name, message_ids, is_read=is_read)

    # File reservations

    def reserve(self, name: str, request: ReservationRequest) -> ReservationResult:
        return self._mailbox.reserve(name, request)

    def release(
        self, name: str, *, patterns: Iterable[str] | None = None, ids: Iterable[int] | None = None
    ) -> ReleaseResult:
        return self._mailbox.release(name, patterns=patterns, ids=ids)

    def reservations(self) -> tuple[Reservation, ...]:
        return self._mailbox.reservations()

    # New messages

    def position(self) -> int:
        return self._mailbox.position()

    def arrivals(self, after: int, limit: int | None = None) -> tuple[StoredMessage, ...]:
        return self._all_shown(self._mailbox.arrivals(after, limit))

    def wait(self, position: int, seconds: float) -> int:
        return self._mailbox.wait(position, seconds)

    # Cache. It is shared with the operator, whose values contain what is sealed here, and values
    # computed here lack it. So it is not used while a thread is sealed.

    def kept(self, name: str) -> str | None:
        return None if self._sealed_threads() else self._mailbox.kept(name)

    def kept_under(self, prefix: str) -> dict[str, str]:
        return {} if self._sealed_threads() else self._mailbox.kept_under(prefix)

    def keep(self, contents: Mapping[str, str]) -> None:
        if not self._sealed_threads():
            self._mailbox.keep(contents)

    # Export and import

    def records(self) -> Iterator[MessageRecord]:
        for each in self._mailbox.records():
            yield each._replace(stored=self._shown(each.stored))

    def restore(self, agents: Iterable[Agent], records: Iterable[MessageRecord]) -> RestoreResult:
        """Import messages. A version of a sealed thread is refused, as in `send`."""
        return self._mailbox.restore(agents, self._without_versions(records))

    def _without_versions(self, records: Iterable[MessageRecord]) -> Iterator[MessageRecord]:
        for each in records:
            if each.stored.type == "COMPILED":
                check_may_compile(self, each.stored.message.thread_id)
            yield each

    def close(self) -> None:
        self._mailbox.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
