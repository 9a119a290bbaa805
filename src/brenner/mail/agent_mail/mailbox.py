"""The mail of a project on an Agent Mail server that a group has already.

The server is asked on every call: what is new goes into a mirror in memory, and the mirror, which
behaves like every other mailbox, answers. Nobody is registered but who is asked for.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, Self

from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.model import AlteredError, BrennerError, RequestError, UnavailableError
from brenner.mail import reservations as rules_of_files
from brenner.mail import rules
from brenner.mail.agent_mail import reservations as reserving
from brenner.mail.agent_mail.client import Client
from brenner.mail.agent_mail.http import MaybeReached
from brenner.mail.agent_mail.mirror import (
    UNSAID,
    Identity,
    Item,
    Mirror,
    Tokens,
    Unreadable,
    View,
    agent_of,
    as_kept,
    elsewhere,
    envelope_as_kept,
    fields_of,
    find,
    item_of,
    list_of,
    make,
    understood,
)
from brenner.mail.mailbox import EVERYTHING, Capability, Lacks
from brenner.mail.model import (
    PLAIN,
    Agent,
    Delivery,
    Envelope,
    Importance,
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
from brenner.mail.rules import strangers, suggestions
from brenner.mail.search import Query
from brenner.protocol.message_types import wants_ack
from brenner.protocol.messages import Message
from brenner.store_url import AgentMailAddress

# Names on a server: it may give another one than was asked for, or take one from somebody.


def register(view: View, profile: Profile, *, update: bool) -> Registered:
    """Make a name known as our own rules have it, and as the server does."""
    view.refresh()
    known = view.registered.get(profile.name)
    if known and not update:
        rules.check_same_agent(profile, known, view.registered)
    kept = rules.registration(profile, known, view.registered)
    if known and not update and kept == known[:4]:
        return Registered(known, known)
    if not known and not update:
        check_at_home(view, [profile.name])
    return Registered(introduce(view, kept), known)


def check_at_home(view: View, names: Iterable[str]) -> None:
    """A server that keeps names for all projects would take it from the one that has it."""
    _refuse_first(view.client, view.mail.elsewhere(names), view.registered)


def check_new_name(client: Client, name: str) -> None:
    """The same for a project that is not there yet."""
    _refuse_first(client, elsewhere(client, [name], None), ())


def _refuse_first(client: Client, places: Mapping[str, str], known: Iterable[str]) -> None:
    for name, project in places.items():
        found = codes.NAME_ELSEWHERE.at(
            where=client.where,
            name=name,
            project=project,
            suggestions=suggestions(name, {*known, name}),
        )
        raise RequestError(found)


def introduce(view: View, profile: Profile) -> Agent:
    """Register a name; the one that comes back must be that one."""
    try:
        answer = view.client.call("register_agent", _arguments(view, profile))
    except MaybeReached as lost:
        return _looked_for(view, profile, lost)
    with understood(view.client):
        agent = agent_of(answer)
        token = fields_of(answer, "an agent").get("registration_token")
    if agent.name != profile.name:
        found = codes.NAME_ALTERED.at(where=view.client.where, name=profile.name, given=agent.name)
        raise RequestError(found)
    if isinstance(token, str):
        view.tokens.keep(agent.name, token)
    return agent


def _looked_for(view: View, profile: Profile, lost: MaybeReached) -> Agent:
    """Whether it was registered though the answer got lost."""
    try:
        view.refresh()
    except UnavailableError:
        raise view.uncertain(lost, f"the name `{profile.name}`") from lost
    agent = view.registered.get(profile.name)
    if agent is None or agent[:4] != profile:
        raise lost if lost.has_ended else view.uncertain(lost, f"the name `{profile.name}`")
    return agent


def _arguments(view: View, profile: Profile) -> dict[str, object]:
    """Servers want a program and a model, of people too."""
    return {
        "project_key": view.mail.identity.key,
        "program": profile.program or UNSAID,
        "model": profile.model or UNSAID,
        "name": profile.name,
        "task_description": profile.task,
        "registration_token": view.tokens.of(profile.name),
    }


# Sending over a server that promises little: what went wrong is looked for, not guessed.


# How long a message is looked for after its answer got lost. A send takes a fraction of that.
_LOOK_FOR = 5.0  # seconds
_LOOK_EVERY = 0.5
_SHOWN = 60  # characters of a text in a sentence
_ACKNOWLEDGE = "acknowledge_message"
_SEND = "send_message"


class Conditions(NamedTuple):
    """What a send is bound to: what it answers, its key, what may have come into its thread."""

    reply_to: int | None = None
    key: str | None = None
    position: int | Since | None = None


def send(view: View, message: Message, given: Conditions, envelope: Envelope) -> Sent:
    """Send a message, if the thread is as it should be when one looks.

    Nobody knows yet how a thread will be called that it begins: nothing is in that one.
    """
    mirror, reply_to = view.refresh(), given.reply_to
    if message.sender not in view.registered:
        check_at_home(view, [message.sender])
    rules.check_storable(message, view.registered, given.key)
    first = _same(mirror, message, _offered(view, envelope)) if given.key is not None else None
    if first:
        return Sent(first._replace(reply_to=reply_to), is_new=False)
    if reply_to is not None:
        rules.check_reply(mirror.message(reply_to), message)
    now_there = mirror.thread(message.thread_id).position if message.thread_id else 0
    rules.check_position(message.thread_id, given.position, now_there)
    if isinstance(given.position, Since):
        arrived = mirror.thread_arrivals(message.thread_id, given.position.arrival)
        rules.check_since(message.thread_id, given.position, arrived)
    stored = post(view, message, envelope)
    _acknowledge(view, stored)
    return Sent(stored._replace(reply_to=reply_to), is_new=True)


def post(view: View, message: Message, envelope: Envelope = PLAIN) -> StoredMessage:
    """Hand a message over to the server, once, and look at what it has made of it."""
    before = view.mirror.highest
    offered = _offered(view, envelope)
    try:
        sent = _sent(view, view.client.call(_SEND, _sending_arguments(view, message, offered)))
    except MaybeReached as lost:
        return _checked(view, message, offered, _sending_looked_for(view, message, before, lost))
    return _checked(view, message, offered, _read_back(view, sent))


def _offered(view: View, envelope: Envelope) -> Envelope:
    """As much of it as the server has a place for. Who gets a copy gets the message in any case."""
    importance, cc = (view.client.offers(_SEND, name) for name in ("importance", "cc"))
    return Envelope(
        envelope.importance if importance else Importance.NORMAL, envelope.cc if cc else (), None
    )


def _sending_arguments(view: View, message: Message, envelope: Envelope) -> dict[str, object]:
    """What the server's list does not have is left out."""
    return {
        "project_key": view.mail.identity.key,
        "sender_name": message.sender,
        "to": [name for name in message.recipients if name not in envelope.cc],
        "cc": list(envelope.cc) or None,
        "importance": str(envelope.importance),
        "subject": message.subject,
        "body_md": message.body,
        "ack_required": wants_ack(message),
        "thread_id": message.thread_id or None,
        "sender_token": view.tokens.of(message.sender),
        "convert_images": False,  # which would change the body
        "auto_contact_if_blocked": True,  # who is registered here may write to all others here
    }


def _sent(view: View, answer: object) -> Item:
    """The message as the server says to have stored it."""
    try:
        fields = fields_of(answer, "the answer to a send")
        if "error" in fields:
            reason = str(fields_of(fields["error"], "the error").get("message"))
            raise RequestError(codes.SERVER_REFUSED.at(where=view.client.where, reason=reason))
        deliveries = list_of(fields.get("deliveries"), "`deliveries`")
        if not deliveries:
            reason = "it delivered the message to nobody"
            raise RequestError(codes.SERVER_REFUSED.at(where=view.client.where, reason=reason))
        return item_of(fields_of(deliveries[0], "a delivery").get("payload"))
    except Unreadable as error:
        found = codes.SERVER_NONSENSE.at(where=view.client.where, reason=str(error))
        raise MaybeReached(found) from None


def _read_back(view: View, sent: Item) -> StoredMessage:
    """A message that the server has, as everybody reads it.

    If it cannot be asked any more, what it answered has to do: it was sent.
    """
    try:
        for whole in (False, True):
            if sent.id in view.refresh(whole=whole):
                return view.mirror.message(sent.id)
    except BrennerError:
        return view.mirror.take_in(sent)
    what = f"it is not in the mail of the project `{view.mail.identity.key}`"
    raise _altered(view, sent.id, what)


def _sending_looked_for(
    view: View, message: Message, before: int, lost: MaybeReached
) -> StoredMessage:
    """The message, if the server has it though its answer got lost.

    A server that reported a failure is done with it. Any other may still be at it: then nobody
    knows, however long one looks.
    """
    deadline = time.monotonic() + (0 if lost.has_ended else _LOOK_FOR)
    outcome: UnavailableError = view.uncertain(lost, "the message")
    while True:
        with suppress(BrennerError):
            mirror = view.refresh(whole=True)
            news = [each for each in mirror.arrivals(0) if each.id > before]
            stored = _found(news, message)
            if stored:
                return stored
            if lost.has_ended:
                outcome = UnavailableError(lost.diagnostic)
        left = deadline - time.monotonic()
        if left <= 0:
            raise outcome from lost
        time.sleep(min(_LOOK_EVERY, left))


def _found(news: Iterable[StoredMessage], message: Message) -> StoredMessage | None:
    """That message among those that have come since; if not as it was, then with a cut subject."""
    kept = as_kept(message)
    cut = [
        each
        for each in news
        if kept.subject.startswith(each.message.subject)
        and each.message._replace(subject=kept.subject) == rules.in_thread(kept, each.id)
    ]
    whole = (each for each in cut if each.message.subject == kept.subject)
    return next(whole, None) or next(iter(cut), None)


def _same(mirror: Mirror, message: Message, envelope: Envelope) -> StoredMessage | None:
    """The same message, sent before: what a key stands for where there are none."""
    kept, around = as_kept(message), envelope_as_kept(envelope)
    found = mirror.thread(kept.thread_id).messages if kept.thread_id else mirror.arrivals(0)
    return next(
        (each for each in found if rules.is_same(each, rules.in_thread(kept, each.id), around)),
        None,
    )


def _checked(
    view: View, message: Message, envelope: Envelope, stored: StoredMessage
) -> StoredMessage:
    """What was stored, if it is what was sent."""
    wanted, got = rules.in_thread(as_kept(message), stored.id), stored.message
    around = envelope_as_kept(envelope)
    if rules.is_same(stored, wanted, around):
        return stored
    texts = (
        ("the thread is", wanted.thread_id, got.thread_id),
        ("the sender is", wanted.sender, got.sender),
        ("the recipients are", ", ".join(wanted.recipients), ", ".join(got.recipients)),
        ("the subject is", wanted.subject, got.subject),
        ("the body is", wanted.body, got.body),
        ("the importance is", around.importance, stored.envelope.importance),
        ("copies are for", ", ".join(around.cc), ", ".join(stored.envelope.cc)),
    )
    changes = [f"{what} `{_short(now)}`" for what, then, now in texts if then != now]
    raise _altered(view, stored.id, "; ".join(changes) or "whether an ACK is wanted is not kept")


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _altered(view: View, number: int, what: str) -> AlteredError:
    return AlteredError(codes.MESSAGE_ALTERED.at(where=view.client.where, id=number, what=what))


def _acknowledge(view: View, stored: StoredMessage) -> None:
    """Tell the server, too, what an ACK settles; it is for programs that ask only the server."""
    if not stored.acknowledges or not view.client.offers(_ACKNOWLEDGE):
        return
    who = view.acting(stored.message.sender)
    for number in stored.acknowledges:
        with suppress(BrennerError):
            view.client.call(_ACKNOWLEDGE, {**who, "message_id": number})


# Taking mail over from another store: the server gives ids and times of its own.
#
# So every message is sent anew, in its order. What is there already is not sent again: who was
# interrupted begins once more and goes on where it ended.


def restore(view: View, agents: Iterable[Agent], records: Iterable[Record]) -> Restored:
    """Send what is not there. A message of which two copies come is there when two are."""
    wanted = [record.stored for record in records]  # an archive that breaks off leaves nothing
    newcomers = _newcomers(view, agents, wanted)
    check_at_home(view, newcomers)
    for profile in newcomers.values():
        introduce(view, profile)
    missing = _missing(wanted, view.refresh().arrivals(0))
    renumbered = tuple(_moving_sent(view, missing))
    skipped = len(wanted) - len(missing)
    return Restored(len(missing), skipped, renumbered, tuple(sorted(newcomers)))


def _newcomers(
    view: View, agents: Iterable[Agent], wanted: Iterable[StoredMessage]
) -> dict[str, Profile]:
    """Who is not known here: agents of the archive, and names that only stand in its mail."""
    view.refresh()
    found = {
        agent.name: Profile(*agent[:4]) for agent in agents if agent.name not in view.registered
    }
    for stored in wanted:
        for agent in strangers(stored, {*view.registered, *found}):
            found[agent.name] = Profile(agent.name)
    return found


def _missing(wanted: Iterable[StoredMessage], here: Iterable[StoredMessage]) -> list[StoredMessage]:
    left = Counter(stored.content_hash for stored in here)
    missing = []
    for stored in wanted:
        if left[stored.content_hash]:
            left[stored.content_hash] -= 1
        else:
            missing.append(stored)
    return missing


def _moving_sent(view: View, missing: Iterable[StoredMessage]) -> Iterator[tuple[int, int]]:
    """Send them; the old and the new id of each."""
    for count, stored in enumerate(missing):
        try:
            new = post(view, stored.message, stored.envelope)
        except UnavailableError as lost:
            if not count:
                raise
            raise view.uncertain(lost, f"what comes after the first {count}") from lost
        yield stored.id, new.id


_Ask = Callable[[Client, str], Identity | None]
_MAILBOX_LOOK_EVERY = 0.5  # seconds; a look is one question to the server

_LACKS: Lacks = MappingProxyType(
    {
        Capability.EXACT_POSITIONS: "the server takes whatever comes, so of two who send in the same "
        "moment both get through",
        Capability.KEYS: "the server has no place for them; equal content by the same sender to the "
        "same recipients of a thread counts as the same send",
        Capability.REPLY_LINKS: "the server keeps no links between the messages of a thread",
        Capability.READ_MARKS: "the server does not tell who has read what, and takes no mark back",
        Capability.AS_THEY_WERE: "the server gives every message a new id and its own time, one after "
        "the other",
        Capability.OWN_NAMES: "a server may keep names for all its projects, or give others than "
        "those asked for",
        Capability.KEEPING: "the server keeps messages, and nothing else",
        Capability.OUR_CLOCK: "the server's clock gives the times",
        Capability.RECIPIENT_ORDER: "the server tells recipients in an order of its own",
        Capability.STATED_ACKS: "the server keeps whether an ACK is wanted, not whether that was said",
        Capability.SECRETS: "the server tells nobody what it keeps of the secrets of names",
        Capability.TRUST: "the server does not tell how it knows who sent a message",
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
            check_new_name(client, name)
        finally:
            client.close()

    @classmethod
    def _of(cls, address: AgentMailAddress, token: str | None, ask: _Ask, own: Path | None) -> Self:
        client = _client(address, token)
        try:
            identity = ask(client, _key(address))
            if identity is None:
                reason = f"it does not know the project `{_key(address)}`"
                raise RequestError(codes.SERVER_REFUSED.at(where=client.where, reason=reason))
        except BaseException:
            client.close()
            raise
        return cls(client, identity, own)

    def register(self, profile: Profile, *, update: bool = False) -> Registered:
        with self._view.lock:
            return register(self._view, profile, update=update)

    def agents(self) -> tuple[Agent, ...]:
        with self._view.fresh():
            return tuple(sorted(self._view.registered.values()))

    def agent(self, name: str) -> Agent:
        """Who has gone to another project of the server is said to be there."""
        with self._view.fresh():
            if name not in self._view.registered:
                check_at_home(self._view, [name])
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
        raise _cannot(Capability.SECRETS)

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
        given = Conditions(reply_to, key, position)
        with self._view.lock:
            return send(self._view, message, given, envelope)

    def message(self, message_id: int) -> StoredMessage:
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

    def thread_arrivals(self, thread_id: str, after: int) -> tuple[StoredMessage, ...]:
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
            raise _cannot(Capability.READ_MARKS)
        with self._view.fresh() as mirror:
            if all(agent.name != name for agent in mirror.agents()):
                self.agent(name)  # which says why not
            return mirror.inbox(name, wanted, limit=limit, before=before)

    def unread(self, name: str) -> int:
        with self._view.fresh() as mirror:
            mirror.agent(name)
        raise _cannot(Capability.READ_MARKS)

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
            raise _cannot(Capability.READ_MARKS)
        with self._view.fresh() as mirror:
            return mirror.search(query, reader=reader, limit=limit, before=before)

    def debts(
        self, debtor: str | None = None, thread_id: str | None = None
    ) -> tuple[PendingAck, ...]:
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
            raise _cannot(Capability.READ_MARKS)
        who = self._view.acting(name)
        for count, message_id in enumerate(wanted):
            try:
                self._client.call("mark_message_read", {**who, "message_id": message_id})
            except UnavailableError as lost:
                if not count and not isinstance(lost, MaybeReached):
                    raise
                raise self._view.uncertain(lost, f"marks after the first {count}") from lost
        return len(wanted)

    def reserve(self, name: str, wish: ReservationRequest) -> ReservationResult:
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

    def arrivals(self, after: int, limit: int | None = None) -> tuple[StoredMessage, ...]:
        with self._view.fresh() as mirror:
            return mirror.arrivals(after, limit)

    def wait(self, position: int, seconds: float) -> int:
        deadline = time.monotonic() + seconds
        while (now_there := self.position()) <= position:
            left = deadline - time.monotonic()
            if left <= 0:
                break
            time.sleep(min(_MAILBOX_LOOK_EVERY, left))
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
            return restore(self._view, agents, records)

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


def _cannot(ability: Capability) -> RequestError:
    return RequestError(codes.HOME_CANNOT.at(ability=ability, reason=_LACKS[ability]))
