"""The mailbox: one small interface, the same for every home that mail can have.

All of it is synchronous. A request that cannot be granted raises `Refused`, a home that cannot be
used raises `Unavailable` (brenner.diagnostics.errors); then nothing has been done. Only where it
raises `Uncertain` nobody knows. Names, threads and ids that are asked about and not known are
refused too, never answered with nothing.

Not every home can do everything: what one `lacks` it says, with the reason. Then it refuses
(`HOME_CANNOT`), or does what is said at the ability.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol, Self

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
from brenner.mail.search import Query
from brenner.protocol.messages import Message

# What not every home of the mail can do. Each home says what it lacks, and why.


class Capability(StrEnum):
    """Something that a home may lack; the words are for people."""

    # Of two sends on the same condition one is refused, whoever is quicker.
    EXACT_POSITIONS = "conditional sends"
    # A key makes a second send the first one, whatever else was sent; else equal content does.
    KEYS = "idempotency keys"
    # What a message is a reply to is kept, beside what its body says.
    REPLY_LINKS = "links between messages"
    # Who has read what can be told, and taken back.
    READ_MARKS = "read marks"
    # Messages from another store keep their ids and times, and come in all or none.
    AS_THEY_WERE = "restoring messages as they were"
    # A name belongs to this project: registering it takes it from nobody.
    OWN_NAMES = "names of its own"
    # What was worked out from the mail is kept beside it.
    KEEPING = "keeping what was worked out"
    # Times are those that the mailbox is told, not a server's.
    OUR_CLOCK = "times of our own"
    # In which order the recipients of a message were named is kept.
    RECIPIENT_ORDER = "the order of recipients"
    # Whether a sender said that an ACK is wanted, or left it to the type, is kept.
    STATED_ACKS = "stated wishes for an ACK"
    # Who has a name can have a secret that belongs to it.
    SECRETS = "secrets of names"
    # How it is known who sent a message is kept.
    TRUST = "marks of verified senders"
    # Any text that can be stored at all comes back as it was.
    ANY_TEXT = "any text"


Lacks = Mapping[Capability, str]
NOTHING_LACKS: Lacks = MappingProxyType({})


EVERYTHING = InboxFilter()


class Mailbox(Protocol):
    """The mail of one project.

    `operator` is the name whose decisions count from now on; `open_mailbox` sets it. Where it is
    None, or the store cannot keep what was settled, decisions count by the sender's name.
    """

    operator: str | None

    @property
    def lacks(self) -> Lacks:
        """What this home cannot do, and why."""
        ...

    # Agents

    def register(self, profile: Profile, *, update: bool = False) -> Registered:
        """Make a name known, as asked for or not at all.

        Registering it again with the same program and model is fine. With others it is refused,
        unless `update` says that it is the same agent.
        """
        ...

    def agents(self) -> tuple[Agent, ...]:
        """Everybody known, by name."""
        ...

    def agent(self, name: str) -> Agent:
        """One of them."""
        ...

    def digest(self, name: str) -> str | None:
        """What is kept of the secret of a name; None as long as nobody has claimed it."""
        ...

    def named_by(self, digest: str) -> str | None:
        """Whose secret has that digest, if it is anybody's."""
        ...

    def claim(self, name: str, digest: str, *, replace: bool = False) -> bool:
        """Give a name a secret, of which only a digest is kept; whether it got this one.

        A name that has one keeps it, unless `replace` says otherwise.
        """
        ...

    # Sending

    def send(
        self,
        message: Message,
        *,
        reply_to: int | None = None,
        key: str | None = None,
        position: int | Since | None = None,
        envelope: Envelope = PLAIN,
    ) -> Sent:
        """Store a message; when this returns, it is safe.

        Its content is not looked at here: that is the check's work. With a `key` a second send by
        the same sender is the first one. With a `position` it is sent only if the thread still has
        exactly so many messages; with `Since` as the position only if no message that changes the
        next version has come into the thread since. One that names no thread begins one, which is
        called after its id.
        """
        ...

    # Reading; none of it changes what is unread

    def message(self, message_id: int) -> StoredMessage:
        """The message of that id."""
        ...

    def deliveries(self, message_id: int) -> tuple[Delivery, ...]:
        """What became of it at each recipient, in the order in which they were named."""
        ...

    def thread(
        self,
        thread_id: str,
        *,
        limit: int | None = None,
        before: int | None = None,
        after: int | None = None,
    ) -> ThreadPage:
        """A thread, whole, or the newest `limit` messages of it.

        `before` and `after` are ids of messages in it, themselves left out; with `after` the
        limit takes the oldest. A thread that nobody has written to is empty.
        """
        ...

    def thread_arrivals(self, thread_id: str, after: int) -> tuple[StoredMessage, ...]:
        """The messages of a thread that came in after so many of the store, in that order."""
        ...

    def threads(self, limit: int | None = None) -> tuple[ThreadSummary, ...]:
        """All threads, the one with the newest message first."""
        ...

    def inbox(
        self,
        name: str,
        wanted: InboxFilter = EVERYTHING,
        *,
        limit: int | None = None,
        before: int | None = None,
    ) -> InboxPage:
        """What was sent to somebody, newest first, from before the message of that id on."""
        ...

    def unread(self, name: str) -> int:
        """How many messages somebody has not read."""
        ...

    def search(
        self,
        query: Query,
        *,
        reader: str | None = None,
        limit: int = 50,
        before: int | None = None,
    ) -> SearchPage:
        """The messages that match, the latest arrivals first, from before that message on.

        `is:unread` and `needs:ack` ask about the `reader`.
        """
        ...

    def debts(
        self, debtor: str | None = None, thread_id: str | None = None
    ) -> tuple[PendingAck, ...]:
        """Who owes an ACK for what, the oldest first."""
        ...

    # What a recipient does

    def mark(self, name: str, message_ids: Iterable[int], *, is_read: bool) -> int:
        """Mark messages in an inbox, all or none of them; how many that changed."""
        ...

    # Files that agents are at work on

    def reserve(self, name: str, wish: ReservationRequest) -> ReservationResult:
        """Reserve files. It is advice: who comes second is told, and gets them all the same."""
        ...

    def release(
        self, name: str, *, patterns: Iterable[str] | None = None, ids: Iterable[int] | None = None
    ) -> Released:
        """End reservations of one's own; all of them where nothing is said."""
        ...

    def reservations(self) -> tuple[Reservation, ...]:
        """Those that hold now, the oldest first."""
        ...

    # Following

    def position(self) -> int:
        """How many messages there are in all; the `arrival` of the latest."""
        ...

    def arrivals(self, after: int, limit: int | None = None) -> tuple[StoredMessage, ...]:
        """The messages that came in after so many, in the order in which they came."""
        ...

    def wait(self, position: int, seconds: float) -> int:
        """The position as soon as it is beyond that one, or when the time is up."""
        ...

    # What was worked out from the mail

    def kept(self, name: str) -> str | None:
        """What was kept under a name. It may be gone at any time: then it is worked out again."""
        ...

    def kept_under(self, prefix: str) -> dict[str, str]:
        """All that was kept under names that begin so, by name."""
        ...

    def keep(self, contents: Mapping[str, str]) -> None:
        """Keep, by name, what follows from the mail of this store and from nothing else."""
        ...

    # Moving

    def records(self) -> Iterator[Record]:
        """Every message in the order in which it came, as one moment saw them."""
        ...

    def restore(self, agents: Iterable[Agent], records: Iterable[Record]) -> Restored:
        """Take messages over from another store, all or none of them.

        Times and hashes stay, and ids up to the first that cannot: taken here, or too large. From
        there on messages get new ones, in their order. One whose origin (id and hash) is known is
        skipped. Links follow their messages to their new ids.
        """
        ...

    def close(self) -> None:
        """Let go of the home."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...
