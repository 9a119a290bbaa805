"""The mail of a project on an Agent Mail server that a group has already.

The server is asked on every call: what is new goes into a mirror in memory, and the mirror, which
behaves like every other mailbox, answers. Nobody is registered but who is asked for.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Self

from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.model import Refused, Unavailable
from brenner.mail import reserving as rules_of_files
from brenner.mail import rules
from brenner.mail.abilities import Ability, Lacks
from brenner.mail.agent_mail import introducing, moving, reserving, sending
from brenner.mail.agent_mail.client import Client
from brenner.mail.agent_mail.failures import MaybeReached
from brenner.mail.agent_mail.project_mail import Identity, find, make
from brenner.mail.agent_mail.tokens import Tokens
from brenner.mail.agent_mail.view import View
from brenner.mail.mailbox import EVERYTHING
from brenner.mail.model import (
    PLAIN,
    Agent,
    Debt,
    Delivery,
    Envelope,
    InboxFilter,
    InboxPage,
    Profile,
    Record,
    Registered,
    Released,
    Reservation,
    Reserved,
    Restored,
    SearchPage,
    Sent,
    Since,
    Stored,
    ThreadPage,
    ThreadSummary,
    Wish,
)
from brenner.mail.query import Query
from brenner.protocol.messages import Message
from brenner.store_url import AgentMailAddress

_Ask = Callable[[Client, str], Identity | None]
_LOOK_EVERY = 0.5  # seconds; a look is one question to the server

_LACKS: Lacks = MappingProxyType(
    {
        Ability.EXACT_POSITIONS: "the server takes whatever comes, so of two who send in the same "
        "moment both get through",
        Ability.KEYS: "the server has no place for them; equal content by the same sender to the "
        "same recipients of a thread counts as the same send",
        Ability.REPLY_LINKS: "the server keeps no links between the messages of a thread",
        Ability.READ_MARKS: "the server does not tell who has read what, and takes no mark back",
        Ability.AS_THEY_WERE: "the server gives every message a new id and its own time, one after "
        "the other",
        Ability.OWN_NAMES: "a server may keep names for all its projects, or give others than "
        "those asked for",
        Ability.KEEPING: "the server keeps messages, and nothing else",
        Ability.OUR_CLOCK: "the server's clock gives the times",
        Ability.RECIPIENT_ORDER: "the server tells recipients in an order of its own",
        Ability.STATED_ACKS: "the server keeps whether an ACK is wanted, not whether that was said",
        Ability.SECRETS: "the server tells nobody what it keeps of the secrets of names",
        Ability.TRUST: "the server does not tell how it knows who sent a message",
    }
)


class AgentMailMailbox:
    """A mailbox on a server."""

    lacks = _LACKS

    def __init__(self, client: Client, identity: Identity, own: Path | None = None) -> None:
        self._client = client
        self._view = View(client, identity, Tokens(own, client.where, identity.key))
        self.operator: str | None = None  # the server cannot keep what follows from it

    @classmethod
    def is_there(cls, address: AgentMailAddress, token: str | None) -> bool:
        """Whether the server knows the project; it is not made."""
        client = _client(address, token)
        try:
            return find(client, _key(address)) is not None
        finally:
            client.close()

    @classmethod
    def open(cls, address: AgentMailAddress, token: str | None, *, own: Path | None = None) -> Self:
        """The mailbox of a project that the server knows. Tokens of agents are kept in `own`."""
        return cls._of(address, token, find, own)

    @classmethod
    def create(
        cls, address: AgentMailAddress, token: str | None, *, own: Path | None = None
    ) -> Self:
        """The mailbox of a project, made where the server knows none."""
        return cls._of(address, token, make, own)

    @classmethod
    def check_new_name(cls, address: AgentMailAddress, token: str | None, name: str) -> None:
        """Refuse a name that another project has, for one that is not made yet."""
        client = _client(address, token)
        try:
            introducing.check_new_name(client, name)
        finally:
            client.close()

    @classmethod
    def _of(cls, address: AgentMailAddress, token: str | None, ask: _Ask, own: Path | None) -> Self:
        client = _client(address, token)
        try:
            identity = ask(client, _key(address))
            if identity is None:
                reason = f"it does not know the project `{_key(address)}`"
                raise Refused(codes.SERVER_REFUSED.at(where=client.where, reason=reason))
        except BaseException:
            client.close()
            raise
        return cls(client, identity, own)

    def register(self, profile: Profile, *, update: bool = False) -> Registered:
        with self._view.lock:
            return introducing.register(self._view, profile, update=update)

    def agents(self) -> tuple[Agent, ...]:
        with self._view.fresh():
            return tuple(sorted(self._view.registered.values()))

    def agent(self, name: str) -> Agent:
        """Who has gone to another project of the server is said to be there."""
        with self._view.fresh():
            if name not in self._view.registered:
                introducing.check_at_home(self._view, [name])
                raise rules.no_such_agent(name, self._view.registered)
            return self._view.registered[name]

    def digest(self, name: str) -> str | None:
        """Nobody has one here that we could know of."""
        self.agent(name)
        return None

    def named_by(self, digest: str) -> str | None:  # noqa: ARG002
        """Nobody, as nobody has one."""
        return None

    def claim(self, name: str, digest: str, *, replace: bool = False) -> bool:  # noqa: ARG002
        self.agent(name)
        raise _cannot(Ability.SECRETS)

    def send(
        self,
        message: Message,
        *,
        reply_to: int | None = None,
        key: str | None = None,
        position: int | Since | None = None,
        envelope: Envelope = PLAIN,
    ) -> Sent:
        """Who vouches for the sender is the server's word, not ours."""
        message = rules.prepared(message)
        envelope = rules.prepared_envelope(envelope, message)
        given = sending.Conditions(reply_to, key, position)
        with self._view.lock:
            return sending.send(self._view, message, given, envelope)

    def message(self, message_id: int) -> Stored:
        """One that is known never changes."""
        known = message_id in self._view.mirror
        return (self._view.mirror if known else self._view.refresh()).message(message_id)

    def deliveries(self, message_id: int) -> tuple[Delivery, ...]:
        with self._view.fresh() as mirror:
            return mirror.deliveries(message_id)

    def thread(
        self,
        thread_id: str,
        *,
        limit: int | None = None,
        before: int | None = None,
        after: int | None = None,
    ) -> ThreadPage:
        with self._view.fresh() as mirror:
            return mirror.thread(thread_id, limit=limit, before=before, after=after)

    def thread_arrivals(self, thread_id: str, after: int) -> tuple[Stored, ...]:
        with self._view.fresh() as mirror:
            return mirror.thread_arrivals(thread_id, after)

    def threads(self, limit: int | None = None) -> tuple[ThreadSummary, ...]:
        with self._view.fresh() as mirror:
            return mirror.threads(limit)

    def inbox(
        self,
        name: str,
        wanted: InboxFilter = EVERYTHING,
        *,
        limit: int | None = None,
        before: int | None = None,
    ) -> InboxPage:
        if wanted.unread:
            raise _cannot(Ability.READ_MARKS)
        with self._view.fresh() as mirror:
            if all(agent.name != name for agent in mirror.agents()):
                self.agent(name)  # which says why not
            return mirror.inbox(name, wanted, limit=limit, before=before)

    def unread(self, name: str) -> int:
        with self._view.fresh() as mirror:
            mirror.agent(name)
        raise _cannot(Ability.READ_MARKS)

    def search(
        self,
        query: Query,
        *,
        reader: str | None = None,
        limit: int = 50,
        before: int | None = None,
    ) -> SearchPage:
        rules.check_reader(query, reader)
        if query.is_unread:
            raise _cannot(Ability.READ_MARKS)
        with self._view.fresh() as mirror:
            return mirror.search(query, reader=reader, limit=limit, before=before)

    def debts(self, debtor: str | None = None, thread_id: str | None = None) -> tuple[Debt, ...]:
        with self._view.fresh() as mirror:
            return mirror.debts(debtor, thread_id)

    def mark(self, name: str, message_ids: Iterable[int], *, is_read: bool) -> int:
        """Whether they were marked before, the server does not tell: all of them count."""
        wanted = dict.fromkeys(message_ids)
        with self._view.fresh() as mirror:
            mirror.agent(name)
            for message_id in wanted:
                rules.check_recipient(mirror.message(message_id), name)
        if not is_read:
            raise _cannot(Ability.READ_MARKS)
        who = self._view.acting(name)
        for count, message_id in enumerate(wanted):
            try:
                self._client.call("mark_message_read", {**who, "message_id": message_id})
            except Unavailable as lost:
                if not count and not isinstance(lost, MaybeReached):
                    raise
                raise self._view.uncertain(lost, f"marks after the first {count}") from lost
        return len(wanted)

    def reserve(self, name: str, wish: Wish) -> Reserved:
        wish = rules_of_files.checked(wish)
        with self._view.lock:
            self.agent(name)
            return reserving.reserve(self._view, name, wish)

    def release(
        self, name: str, *, patterns: Iterable[str] | None = None, ids: Iterable[int] | None = None
    ) -> Released:
        with self._view.lock:
            self.agent(name)
            return reserving.release(self._view, name, patterns, ids)

    def reservations(self) -> tuple[Reservation, ...]:
        return reserving.holding(self._view)

    def position(self) -> int:
        with self._view.fresh() as mirror:
            return mirror.position()

    def arrivals(self, after: int, limit: int | None = None) -> tuple[Stored, ...]:
        with self._view.fresh() as mirror:
            return mirror.arrivals(after, limit)

    def wait(self, position: int, seconds: float) -> int:
        deadline = time.monotonic() + seconds
        while (now_there := self.position()) <= position:
            left = deadline - time.monotonic()
            if left <= 0:
                break
            time.sleep(min(_LOOK_EVERY, left))
        return now_there

    def kept(self, name: str) -> str | None:  # noqa: ARG002
        """Nothing: it is worked out again."""
        return None

    def kept_under(self, prefix: str) -> dict[str, str]:  # noqa: ARG002
        """Nothing, for the same reason."""
        return {}

    def keep(self, contents: Mapping[str, str]) -> None:
        """There is no place for it."""

    def records(self) -> Iterator[Record]:
        with self._view.fresh() as mirror:
            return mirror.records()

    def restore(self, agents: Iterable[Agent], records: Iterable[Record]) -> Restored:
        with self._view.lock:
            return moving.restore(self._view, agents, records)

    def close(self) -> None:
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _client(address: AgentMailAddress, token: str | None) -> Client:
    return Client(_filled_in(address.url), token)


def _key(address: AgentMailAddress) -> str:
    return _filled_in(address.project)


def _filled_in(part: str | None) -> str:
    if part is None:
        message = "what an address leaves out is for the project to fill in"
        raise ValueError(message)
    return part


def _cannot(ability: Ability) -> Refused:
    return Refused(codes.HOME_CANNOT.at(ability=ability, reason=_LACKS[ability]))
