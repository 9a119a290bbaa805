"""The `Mailbox` interface, which every mail backend implements, and the optional capabilities.

All methods are synchronous. An invalid request raises `RequestError`, an unusable store raises
`UnavailableError`; in both cases nothing was changed. Only `UnknownOutcomeError` leaves open
whether the change was made. Unknown names and ids raise an error; they never give an empty result.
So do unknown threads in a filter, but `thread` and `thread_arrivals` give an empty result for them.

A backend may miss capabilities. It lists them in `lacks`, with the reason. It then raises
`HOME_CANNOT`, or behaves as described at the capability.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, Self

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
from brenner.protocol.messages import DEFAULT_ENVELOPE, Envelope, StoredMessage

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from brenner.mail.search import Query
    from brenner.protocol.messages import Message


class Capability(StrEnum):
    """An optional feature of a mail backend. The values are shown to people."""

    # Of two concurrent sends with the same condition, exactly one succeeds.
    CONDITIONAL_SENDS = "conditional sends"
    # Idempotency keys are stored. Without them, an equal message counts as the same send.
    IDEMPOTENCY_KEYS = "idempotency keys"
    # `reply_to` is stored.
    REPLY_LINKS = "links between messages"
    # Read marks are reported and can be removed.
    READ_MARKS = "read marks"
    # Imported messages keep their ids and times, and an import is atomic.
    EXACT_RESTORE = "restoring messages unchanged"
    # Names belong to this project: registering one never takes it from another project.
    PROJECT_NAMES = "names per project"
    # Values computed from the mail can be cached beside it.
    CACHE = "caching computed results"
    # Times come from the mailbox's clock, not from a server.
    CLIENT_CLOCK = "own timestamps"
    # The order of recipients is stored.
    RECIPIENT_ORDER = "the order of recipients"
    # An explicit `ack_required` is stored apart from the default of the type.
    EXPLICIT_ACK_REQUESTS = "stated wishes for an ACK"
    # A name can have a secret.
    SECRETS = "secrets for names"
    # `trust` of a message is stored.
    TRUST = "marks of verified senders"
    # Messages can be sealed for a time (R33): agents cannot read the store but through Brenner.
    SEALS = "an independent first round"
    # Every storable text is returned unchanged.
    ANY_TEXT = "any text"


MissingCapabilities = Mapping[Capability, str]
NOTHING_MISSING: MissingCapabilities = MappingProxyType({})


NO_FILTER = InboxFilter()


class Mailbox(Protocol):
    """The mail of one project.

    `operator` is the name whose decisions count for messages stored from now on; `open_mailbox`
    sets it. If it is None, or the store cannot record `decides`, decisions count by the sender's
    name.
    """

    operator: str | None

    @property
    def lacks(self) -> MissingCapabilities:
        """Return the missing capabilities, each with the reason."""
        ...

    # Agents

    def register(self, profile: Profile, *, update: bool = False) -> RegistrationResult:
        """Register an agent under exactly the given name; return it as it is now and as it was.

        Registering again with the same program and model is allowed. Another program or model
        raises an error, unless `update` confirms that it is the same agent.
        """
        ...

    def agents(self, names: Iterable[str] | None = None) -> tuple[Agent, ...]:
        """Return the registered agents, sorted by name: all, or those of these names."""
        ...

    def agent(self, name: str) -> Agent:
        """Return a registered agent."""
        ...

    def digest(self, name: str) -> str | None:
        """Return the digest of an agent's secret, or None if no secret is set."""
        ...

    def named_by(self, digest: str) -> str | None:
        """Return the name of the agent whose secret has this digest, or None."""
        ...

    def claim(self, name: str, digest: str, *, replace: bool = False) -> bool:
        """Store the digest of an agent's secret, and return whether it was stored.

        An existing secret stays, unless `replace` is true.
        """
        ...

    def is_protected(self, name: str) -> bool:
        """Return whether MCP refuses writes in an agent's name without its secret."""
        ...

    def protect(self, name: str) -> None:
        """Protect the name of an agent that has a secret; also every later secret protects it."""
        ...

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
        """Store a message durably before returning.

        The content is not validated here. With a `key`, a second send by the same sender returns
        the first message. With an integer `position`, the send fails unless the thread has exactly
        that many messages. With an `UnchangedSince` as the position, it fails if a message that
        changes the next version has arrived since. A message without a thread starts one, named
        after the message's id.
        """
        ...

    # Reading; this sets no read marks

    def reading(self) -> AbstractContextManager[object]:
        """Begin a block in which all reads see the mail of one moment; nothing is written in it."""
        ...

    def message(self, message_id: int) -> StoredMessage:
        """Return the message with this id."""
        ...

    def deliveries(self, message_id: int) -> tuple[Delivery, ...]:
        """Return the delivery state for each recipient, in the order of the recipients."""
        ...

    def thread(
        self,
        thread_id: str,
        *,
        limit: int | None = None,
        before: int | None = None,
        after: int | None = None,
    ) -> ThreadPage:
        """Return a whole thread, or its newest `limit` messages.

        `before` and `after` are ids of messages in the thread; both are exclusive. With `after`,
        the limit takes the oldest messages. A thread without messages gives an empty page.
        """
        ...

    def thread_arrivals(self, thread_id: str, after: int) -> tuple[StoredMessage, ...]:
        """Return the messages of a thread with an `arrival` greater than `after`, in that order."""
        ...

    def threads(self, limit: int | None = None) -> tuple[ThreadSummary, ...]:
        """Return all threads, the one with the newest message first."""
        ...

    def inbox(
        self,
        name: str,
        wanted: InboxFilter = NO_FILTER,
        *,
        limit: int | None = None,
        before: int | None = None,
    ) -> InboxPage:
        """Return the messages sent to an agent, newest first, older than the message `before`."""
        ...

    def unread(self, name: str) -> int:
        """Return the number of unread messages of an agent."""
        ...

    def search(
        self,
        query: Query,
        *,
        reader: str | None = None,
        limit: int = 50,
        before: int | None = None,
    ) -> SearchPage:
        """Return the matching messages, latest arrivals first, that arrived before the message
        `before`.

        `is:unread` and `needs:ack` apply to the inbox of `reader`.
        """
        ...

    def debts(
        self, debtor: str | None = None, thread_id: str | None = None
    ) -> tuple[PendingAck, ...]:
        """Return the pending acknowledgements, oldest first."""
        ...

    # Read marks

    def mark(self, name: str, message_ids: Iterable[int], *, is_read: bool) -> int:
        """Mark all given messages as read or unread, or none; return how many changed."""
        ...

    # File reservations

    def reserve(self, name: str, request: ReservationRequest) -> ReservationResult:
        """Reserve files. Reservations are advisory: conflicting ones are granted and reported."""
        ...

    def release(
        self, name: str, *, patterns: Iterable[str] | None = None, ids: Iterable[int] | None = None
    ) -> ReleaseResult:
        """End reservations of an agent: all, or by pattern or id. Return how many, and when."""
        ...

    def reservations(self) -> tuple[Reservation, ...]:
        """Return the reservations that have not expired, oldest first."""
        ...

    # New messages

    def position(self) -> int:
        """Return the number of messages in the store, which is the `arrival` of the latest."""
        ...

    def arrivals(self, after: int, limit: int | None = None) -> tuple[StoredMessage, ...]:
        """Return the messages with an `arrival` greater than `after`, in that order."""
        ...

    def wait(self, position: int, seconds: float) -> int:
        """Wait for a position greater than the given one, or a timeout; return the position."""
        ...

    # Cache of values computed from the mail

    def kept(self, name: str) -> str | None:
        """Return the cached value of a key, or None. An entry may disappear at any time."""
        ...

    def kept_under(self, prefix: str) -> dict[str, str]:
        """Return all cached values whose keys begin with the prefix, by key."""
        ...

    def keep(self, contents: Mapping[str, str]) -> None:
        """Cache values by key. They must be computable from the mail of this store alone."""
        ...

    # Export and import

    def records(self) -> Iterator[MessageRecord]:
        """Iterate over all messages in order of arrival, as a consistent snapshot."""
        ...

    def restore(self, agents: Iterable[Agent], records: Iterable[MessageRecord]) -> RestoreResult:
        """Import messages from another store, all or none.

        Times and hashes stay. Ids stay up to the first one that is taken here or too large; later
        messages get new ids, in their order. A message whose origin (id and hash) exists here is
        skipped. Links between messages are mapped to the new ids.
        """
        ...

    def close(self) -> None:
        """Release the store."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...
