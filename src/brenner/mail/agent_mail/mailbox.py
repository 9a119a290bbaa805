"""The mail backend on an existing Agent Mail server.

Each call first downloads new messages into a mirror in memory, which then answers like any other
mailbox. No agent is registered unless that is requested.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Self, TypeVar

from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.model import AlteredError, BrennerError, RequestError, UnavailableError
from brenner.mail import reservations as reservation_rules
from brenner.mail import rules
from brenner.mail.agent_mail import reservations as server_reservations
from brenner.mail.agent_mail.client import Client
from brenner.mail.agent_mail.http import MaybeSentError
from brenner.mail.agent_mail.mirror import (
    UNKNOWN,
    Mirror,
    ProjectIdentity,
    ProjectView,
    ServerMessage,
    as_list,
    as_object,
    as_server_stores,
    ensure_project,
    envelope_as_server_stores,
    find_project,
    invalid_as_unavailable,
    names_in_other_projects,
    parse_agent,
    parse_server_message,
)
from brenner.mail.mailbox import NO_FILTER, Capability, MissingCapabilities
from brenner.mail.model import (
    Agent,
    InboxFilter,
    InboxPage,
    InvalidRecordError,
    MessageRecord,
    Profile,
    RegistrationResult,
    ReleaseResult,
    Reservation,
    ReservationRequest,
    ReservationResult,
    RestoreResult,
    SearchPage,
    SendResult,
    UnchangedSince,
)
from brenner.mail.rules import suggest_names, unregistered_agents
from brenner.protocol.message_types import wants_ack
from brenner.protocol.messages import DEFAULT_ENVELOPE, Envelope, Importance, StoredMessage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from brenner.mail.search import Query
    from brenner.protocol.messages import Message
    from brenner.store_url import AgentMailAddress

# Registration. A server may assign another name, or take a name from another project.


def register(view: ProjectView, profile: Profile, *, update: bool) -> RegistrationResult:
    """Register an agent under our rules and on the server."""
    view.refresh()
    known = view.registered.get(profile.name)
    if known and not update:
        rules.check_same_agent(profile, known, view.registered)
    merged = rules.merge_profile(profile, known, view.registered)
    if known and not update and merged == known[:4]:
        return RegistrationResult(known, known)
    if not known and not update:
        check_not_in_other_project(view, [profile.name])
    return RegistrationResult(register_on_server(view, merged), known)


def check_not_in_other_project(view: ProjectView, names: Iterable[str]) -> None:
    """Raise RequestError if another project has a name: the server would take it from there."""
    projects = names_in_other_projects(view.client, names, view.slug)
    _raise_name_elsewhere(view.client, projects, view.registered)


def check_new_name(client: Client, name: str) -> None:
    """Raise RequestError if another project has a name, for a project that does not exist yet."""
    _raise_name_elsewhere(client, names_in_other_projects(client, [name], None), ())


def _raise_name_elsewhere(
    client: Client, projects: Mapping[str, str], known: Iterable[str]
) -> None:
    for name, project in projects.items():
        found = codes.NAME_ELSEWHERE.at(
            where=client.where,
            name=name,
            project=project,
            suggestions=suggest_names(name, {*known, name}),
        )
        raise RequestError(found)


def register_on_server(view: ProjectView, profile: Profile) -> Agent:
    """Register an agent; raise RequestError if the server gives it another name."""
    try:
        answer = view.client.call("register_agent", _registration_arguments(view, profile))
    except MaybeSentError as lost:
        return _find_registered(view, profile, lost)
    with invalid_as_unavailable(view.client):
        agent = parse_agent(answer)
        token = as_object(answer, "an agent").get("registration_token")
    if agent.name != profile.name:
        found = codes.NAME_ALTERED.at(where=view.client.where, name=profile.name, given=agent.name)
        raise RequestError(found)
    if isinstance(token, str):
        view.tokens.save(agent.name, token)
    return agent


def _find_registered(view: ProjectView, profile: Profile, lost: MaybeSentError) -> Agent:
    """Return the agent if it was registered although the answer was lost."""
    try:
        view.refresh()
    except UnavailableError:
        raise view.unknown_outcome(lost, f"the name `{profile.name}`") from lost
    agent = view.registered.get(profile.name)
    if agent is None or agent[:4] != profile:
        raise (
            lost
            if lost.server_has_finished
            else view.unknown_outcome(lost, f"the name `{profile.name}`")
        )
    return agent


def _registration_arguments(view: ProjectView, profile: Profile) -> dict[str, object]:
    """Return the arguments of `register_agent`; servers require program and model."""
    return {
        "project_key": view.key,
        "program": profile.program or UNKNOWN,
        "model": profile.model or UNKNOWN,
        "name": profile.name,
        "task_description": profile.task,
        "registration_token": view.tokens.get(profile.name),
    }


# Sending. After a failure, the message is looked up on the server.


# How long to look for a message after its answer was lost. A send takes a fraction of that.
_FIND_SENT_SECONDS = 5.0
_FIND_SENT_POLL_SECONDS = 0.5
_MOST_SHOWN_CHARACTERS = 60  # in an error message
_ACKNOWLEDGE = "acknowledge_message"
_SEND = "send_message"


def send(  # noqa: PLR0913
    view: ProjectView,
    message: Message,
    envelope: Envelope,
    *,
    reply_to: int | None,
    key: str | None,
    position: int | UnchangedSince | None,
) -> SendResult:
    """Send a message if the thread meets the conditions.

    A message without a thread starts one whose name is not known yet, so that thread is empty.
    """
    mirror = view.refresh()
    if message.sender not in view.registered:
        check_not_in_other_project(view, [message.sender])
    rules.check_storable(message, view.registered, key)
    first = (
        _find_duplicate(mirror, message, _supported_envelope(view, envelope))
        if key is not None
        else None
    )
    if first:
        return SendResult(first._replace(reply_to=reply_to), is_new=False)
    if reply_to is not None:
        rules.check_reply(mirror.message(reply_to), message)
    now_there = mirror.thread(message.thread_id).position if message.thread_id else 0
    rules.check_position(message.thread_id, position, now_there)
    if isinstance(position, UnchangedSince):
        arrived = mirror.thread_arrivals(message.thread_id, position.arrival)
        rules.check_unchanged_since(message.thread_id, position, arrived)
    stored = post(view, message, envelope)
    _acknowledge(view, stored)
    return SendResult(stored._replace(reply_to=reply_to), is_new=True)


def post(
    view: ProjectView, message: Message, envelope: Envelope = DEFAULT_ENVELOPE
) -> StoredMessage:
    """Send a message to the server once, and check what the server has stored."""
    before = view.mirror.highest_id
    offered = _supported_envelope(view, envelope)
    try:
        sent = _parse_send_answer(
            view, view.client.call(_SEND, _send_arguments(view, message, offered))
        )
    except MaybeSentError as lost:
        return _check_unaltered(view, message, offered, _find_sent(view, message, before, lost))
    return _check_unaltered(view, message, offered, _read_back(view, sent))


def _supported_envelope(view: ProjectView, envelope: Envelope) -> Envelope:
    """Return what the server supports of an envelope. Copies are delivered in any case."""
    has_importance, has_cc = (view.client.offers(_SEND, name) for name in ("importance", "cc"))
    return Envelope(
        envelope.importance if has_importance else Importance.NORMAL,
        envelope.cc if has_cc else (),
        None,
    )


def _send_arguments(view: ProjectView, message: Message, envelope: Envelope) -> dict[str, object]:
    """Return the arguments of `send_message`; the client omits those that the server lacks."""
    return {
        "project_key": view.key,
        "sender_name": message.sender,
        "to": [name for name in message.recipients if name not in envelope.cc],
        "cc": list(envelope.cc) or None,
        "importance": str(envelope.importance),
        "subject": message.subject,
        "body_md": message.body,
        "ack_required": wants_ack(message),
        "thread_id": message.thread_id or None,
        "sender_token": view.tokens.get(message.sender),
        "convert_images": False,  # it would change the body
        "auto_contact_if_blocked": True,  # all agents of a project may write to each other
    }


def _parse_send_answer(view: ProjectView, answer: object) -> ServerMessage:
    """Return the message that the server reports to have stored."""
    try:
        fields = as_object(answer, "the answer to a send")
        if "error" in fields:
            reason = str(as_object(fields["error"], "the error").get("message"))
            raise RequestError(codes.SERVER_REFUSED.at(where=view.client.where, reason=reason))
        deliveries = as_list(fields.get("deliveries"), "`deliveries`")
        if not deliveries:
            reason = "it delivered the message to no recipient"
            raise RequestError(codes.SERVER_REFUSED.at(where=view.client.where, reason=reason))
        return parse_server_message(as_object(deliveries[0], "a delivery").get("payload"))
    except InvalidRecordError as error:
        found = codes.SERVER_NONSENSE.at(where=view.client.where, reason=str(error))
        raise MaybeSentError(found) from None


def _read_back(view: ProjectView, sent: ServerMessage) -> StoredMessage:
    """Return a sent message as all agents read it.

    If the server does not respond any more, use its answer to the send: the message was sent.
    """
    try:
        for whole in (False, True):
            if sent.id in view.refresh(whole=whole):
                return view.mirror.message(sent.id)
    except BrennerError:
        return view.mirror.add_message(sent)
    what = f"it is not in the project `{view.key}`"
    raise _altered_error(view, sent.id, what)


def _find_sent(
    view: ProjectView, message: Message, before: int, lost: MaybeSentError
) -> StoredMessage:
    """Return the message if the server has it although its answer was lost.

    A server that reported a failure is done with the request. Any other server may still process
    it, so the outcome stays unknown.
    """
    deadline = time.monotonic() + (0 if lost.server_has_finished else _FIND_SENT_SECONDS)
    outcome: UnavailableError = view.unknown_outcome(lost, "the message")
    while True:
        with suppress(BrennerError):
            mirror = view.refresh(whole=True)
            new_messages = [each for each in mirror.arrivals(0) if each.id > before]
            stored = _find_match(new_messages, message)
            if stored:
                return stored
            if lost.server_has_finished:
                outcome = UnavailableError(lost.diagnostic)
        left = deadline - time.monotonic()
        if left <= 0:
            raise outcome from lost
        time.sleep(min(_FIND_SENT_POLL_SECONDS, left))


def _find_match(new_messages: Iterable[StoredMessage], message: Message) -> StoredMessage | None:
    """Return the message among new ones; accept a truncated subject if there is no exact match."""
    expected = as_server_stores(message)
    candidates = [
        each
        for each in new_messages
        if expected.subject.startswith(each.message.subject)
        and each.message._replace(subject=expected.subject)
        == rules.with_thread_id(expected, each.id)
    ]
    exact = (each for each in candidates if each.message.subject == expected.subject)
    return next(exact, None) or next(iter(candidates), None)


def _find_duplicate(mirror: Mirror, message: Message, envelope: Envelope) -> StoredMessage | None:
    """Return an equal message that was sent before: it replaces idempotency keys."""
    expected, expected_envelope = as_server_stores(message), envelope_as_server_stores(envelope)
    found = mirror.thread(expected.thread_id).messages if expected.thread_id else mirror.arrivals(0)
    return next(
        (
            each
            for each in found
            if rules.is_same_message(
                each, rules.with_thread_id(expected, each.id), expected_envelope
            )
        ),
        None,
    )


def _check_unaltered(
    view: ProjectView, message: Message, envelope: Envelope, stored: StoredMessage
) -> StoredMessage:
    """Return the stored message; raise AlteredError if it differs from what was sent."""
    wanted, got = rules.with_thread_id(as_server_stores(message), stored.id), stored.message
    expected_envelope = envelope_as_server_stores(envelope)
    if rules.is_same_message(stored, wanted, expected_envelope):
        return stored
    texts = (
        ("the thread is", wanted.thread_id, got.thread_id),
        ("the sender is", wanted.sender, got.sender),
        ("the recipients are", ", ".join(wanted.recipients), ", ".join(got.recipients)),
        ("the subject is", wanted.subject, got.subject),
        ("the body is", wanted.body, got.body),
        ("the importance is", expected_envelope.importance, stored.envelope.importance),
        ("copies are for", ", ".join(expected_envelope.cc), ", ".join(stored.envelope.cc)),
    )
    changes = [f"{what} `{_shorten(now)}`" for what, then, now in texts if then != now]
    raise _altered_error(
        view, stored.id, "; ".join(changes) or "the request for an ACK is not stored"
    )


def _shorten(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN_CHARACTERS else f"{text[:_MOST_SHOWN_CHARACTERS]}…"


def _altered_error(view: ProjectView, number: int, what: str) -> AlteredError:
    return AlteredError(codes.MESSAGE_ALTERED.at(where=view.client.where, id=number, what=what))


def _acknowledge(view: ProjectView, stored: StoredMessage) -> None:
    """Report acknowledgements to the server, too, for programs that only query the server."""
    if not stored.acknowledges or not view.client.offers(_ACKNOWLEDGE):
        return
    actor = view.actor_arguments(stored.message.sender)
    for number in stored.acknowledges:
        with suppress(BrennerError):
            view.client.call(_ACKNOWLEDGE, {**actor, "message_id": number})


# Import. The server assigns ids and times, so every message is sent again, in order. Existing
# messages are skipped, so that an interrupted import can be repeated.


def restore(
    view: ProjectView, agents: Iterable[Agent], records: Iterable[MessageRecord]
) -> RestoreResult:
    """Send the messages that the server does not have; each copy of a message counts."""
    wanted = [
        record.stored for record in records
    ]  # read all first: an invalid archive sends nothing
    newcomers = _unregistered_profiles(view, agents, wanted)
    check_not_in_other_project(view, newcomers)
    for profile in newcomers.values():
        register_on_server(view, profile)
    missing = _missing_messages(wanted, view.refresh().arrivals(0))
    renumbered = tuple(_send_all(view, missing))
    skipped = len(wanted) - len(missing)
    return RestoreResult(len(missing), skipped, renumbered, tuple(sorted(newcomers)))


def _unregistered_profiles(
    view: ProjectView, agents: Iterable[Agent], wanted: Iterable[StoredMessage]
) -> dict[str, Profile]:
    """Return the agents of the archive, and other names in its mail, that are not registered."""
    view.refresh()
    found = {
        agent.name: Profile(*agent[:4]) for agent in agents if agent.name not in view.registered
    }
    for stored in wanted:
        for agent in unregistered_agents(stored, {*view.registered, *found}):
            found[agent.name] = Profile(agent.name)
    return found


def _missing_messages(
    wanted: Iterable[StoredMessage], here: Iterable[StoredMessage]
) -> list[StoredMessage]:
    left = Counter(stored.content_hash for stored in here)
    missing = []
    for stored in wanted:
        if left[stored.content_hash]:
            left[stored.content_hash] -= 1
        else:
            missing.append(stored)
    return missing


def _send_all(view: ProjectView, missing: Iterable[StoredMessage]) -> Iterator[tuple[int, int]]:
    for count, stored in enumerate(missing):
        try:
            new = post(view, stored.message, stored.envelope)
        except UnavailableError as lost:
            if not count:
                raise
            raise view.unknown_outcome(lost, f"the messages after the first {count}") from lost
        yield stored.id, new.id


P = ParamSpec("P")
T = TypeVar("T")
_POLL_SECONDS = 0.5  # each poll is one request

_MISSING_CAPABILITIES: MissingCapabilities = MappingProxyType(
    {
        Capability.CONDITIONAL_SENDS: "the server accepts every message, so two concurrent "
        "sends both succeed",
        Capability.IDEMPOTENCY_KEYS: "the server cannot store them; equal content from the "
        "same sender to the same recipients of a thread counts as the same send",
        Capability.REPLY_LINKS: "the server stores no links between the messages of a thread",
        Capability.READ_MARKS: "the server does not show who has read what, and cannot undo a mark",
        Capability.EXACT_RESTORE: "the server gives every message a new ID and its own time",
        Capability.PROJECT_NAMES: "a server may share names between its projects, or assign "
        "other names",
        Capability.CACHE: "the server stores only messages",
        Capability.CLIENT_CLOCK: "the times come from the server's clock",
        Capability.RECIPIENT_ORDER: "the server lists recipients in its own order",
        Capability.EXPLICIT_ACK_REQUESTS: "the server stores whether an ACK is wanted, not whether "
        "the sender stated it",
        Capability.SECRETS: "the server does not show the secrets that it stores",
        Capability.TRUST: "the server does not show how it verified the sender",
        Capability.SEALS: "the agents read all mail from the server itself",
    }
)


def _read_mirror(
    method: Callable[Concatenate[Mirror, P], T],
) -> Callable[Concatenate[AgentMailMailbox, P], T]:
    """Return a method of the mailbox that refreshes the mirror, and lets it answer."""

    def read(self: AgentMailMailbox, /, *args: P.args, **named: P.kwargs) -> T:
        with self._view.refreshed() as mirror:
            return method(mirror, *args, **named)

    return read


class AgentMailMailbox:
    lacks = _MISSING_CAPABILITIES

    def __init__(self, client: Client, identity: ProjectIdentity, own: Path | None = None) -> None:
        self._client = client
        self._view = ProjectView(client, identity, own)

    @property
    def operator(self) -> str | None:
        """The operator. The server cannot store `decides`; the mirror settles ACKs by the name."""
        return self._view.mirror.operator

    @operator.setter
    def operator(self, name: str | None) -> None:
        self._view.mirror.operator = name

    @classmethod
    def is_there(cls, address: AgentMailAddress, token: str | None) -> bool:
        """Return whether the server has the project; never create it."""
        client = _connect(address, token)
        try:
            return find_project(client, _project_key(address)) is not None
        finally:
            client.close()

    @classmethod
    def open(cls, address: AgentMailAddress, token: str | None, *, own: Path | None = None) -> Self:
        """Open the mailbox of an existing project. Tokens of agents are stored in `own`."""
        return cls._of(address, token, find_project, own)

    @classmethod
    def create(
        cls, address: AgentMailAddress, token: str | None, *, own: Path | None = None
    ) -> Self:
        """Open the mailbox of a project; create the project if it does not exist."""
        return cls._of(address, token, ensure_project, own)

    @classmethod
    def check_new_name(cls, address: AgentMailAddress, token: str | None, name: str) -> None:
        """Raise RequestError if another project has the name of a project's first agent."""
        client = _connect(address, token)
        try:
            check_new_name(client, name)
        finally:
            client.close()

    @classmethod
    def _of(
        cls,
        address: AgentMailAddress,
        token: str | None,
        find_or_create: Callable[[Client, str], ProjectIdentity | None],
        own: Path | None,
    ) -> Self:
        client = _connect(address, token)
        try:
            identity = find_or_create(client, _project_key(address))
            if identity is None:
                reason = f"unknown project `{_project_key(address)}`"
                raise RequestError(codes.SERVER_REFUSED.at(where=client.where, reason=reason))
        except BaseException:
            client.close()
            raise
        return cls(client, identity, own)

    def register(self, profile: Profile, *, update: bool = False) -> RegistrationResult:
        with self._view.lock:
            return register(self._view, profile, update=update)

    def agents(self, names: Iterable[str] | None = None) -> tuple[Agent, ...]:
        with self._view.refreshed():
            known = self._view.registered
            wanted = known if names is None else {*names}
            return tuple(sorted(each for each in known.values() if each.name in wanted))

    def agent(self, name: str) -> Agent:
        """Return an agent. The error for one that moved to another project names that project."""
        with self._view.refreshed():
            if name not in self._view.registered:
                check_not_in_other_project(self._view, [name])
                raise rules.unknown_agent_error(name, self._view.registered)
            return self._view.registered[name]

    def digest(self, name: str) -> str | None:
        """Return None: the server does not report secrets."""
        self.agent(name)
        return None

    def named_by(self, digest: str) -> str | None:  # noqa: ARG002
        """Return None: the server does not report secrets."""
        return None

    def claim(self, name: str, digest: str, *, replace: bool = False) -> bool:  # noqa: ARG002
        self.agent(name)
        raise _unsupported(Capability.SECRETS)

    def is_protected(self, name: str) -> bool:
        """Return False: the server does not report secrets."""
        self.agent(name)
        return False

    def protect(self, name: str) -> None:
        self.agent(name)
        raise _unsupported(Capability.SECRETS)

    def send(
        self,
        message: Message,
        *,
        reply_to: int | None = None,
        key: str | None = None,
        position: int | UnchangedSince | None = None,
        envelope: Envelope = DEFAULT_ENVELOPE,
    ) -> SendResult:
        """Send a message. Trust is up to the server, so it is not sent."""
        message = rules.normalize_message(message)
        envelope = rules.normalize_envelope(envelope, message)
        with self._view.lock:
            return send(
                self._view, message, envelope, reply_to=reply_to, key=key, position=position
            )

    def reading(self) -> AbstractContextManager[object]:
        """Ask the server once, at the beginning of the block."""
        return self._view.frozen()

    def message(self, message_id: int) -> StoredMessage:
        """Return a message; one in the mirror needs no refresh, as messages never change."""
        known = message_id in self._view.mirror
        return (self._view.mirror if known else self._view.refresh()).message(message_id)

    deliveries = _read_mirror(Mirror.deliveries)
    thread = _read_mirror(Mirror.thread)
    thread_arrivals = _read_mirror(Mirror.thread_arrivals)
    threads = _read_mirror(Mirror.threads)
    debts = _read_mirror(Mirror.debts)
    position = _read_mirror(Mirror.position)
    arrivals = _read_mirror(Mirror.arrivals)
    records = _read_mirror(Mirror.records)

    def inbox(
        self,
        name: str,
        wanted: InboxFilter = NO_FILTER,
        *,
        limit: int | None = None,
        before: int | None = None,
    ) -> InboxPage:
        if wanted.unread:
            raise _unsupported(Capability.READ_MARKS)
        with self._view.refreshed() as mirror:
            if all(agent.name != name for agent in mirror.agents()):
                self.agent(name)  # raises the error with the reason
            return mirror.inbox(name, wanted, limit=limit, before=before)

    def unread(self, name: str) -> int:
        with self._view.refreshed() as mirror:
            mirror.agent(name)
        raise _unsupported(Capability.READ_MARKS)

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
            raise _unsupported(Capability.READ_MARKS)
        with self._view.refreshed() as mirror:
            return mirror.search(query, reader=reader, limit=limit, before=before)

    def mark(self, name: str, message_ids: Iterable[int], *, is_read: bool) -> int:
        """Mark messages as read. All count as changed: the server reports no read state."""
        wanted = dict.fromkeys(message_ids)
        with self._view.refreshed() as mirror:
            mirror.agent(name)
            for message_id in wanted:
                rules.check_recipient(mirror.message(message_id), name)
        if not is_read:
            raise _unsupported(Capability.READ_MARKS)
        actor = self._view.actor_arguments(name)
        for count, message_id in enumerate(wanted):
            try:
                self._client.call("mark_message_read", {**actor, "message_id": message_id})
            except UnavailableError as lost:
                if not count and not isinstance(lost, MaybeSentError):
                    raise
                raise self._view.unknown_outcome(lost, f"marks after the first {count}") from lost
        return len(wanted)

    def reserve(self, name: str, request: ReservationRequest) -> ReservationResult:
        request = reservation_rules.validate_request(request)
        with self._view.lock:
            self.agent(name)
            return server_reservations.reserve(self._view, name, request)

    def release(
        self, name: str, *, patterns: Iterable[str] | None = None, ids: Iterable[int] | None = None
    ) -> ReleaseResult:
        with self._view.lock:
            self.agent(name)
            return server_reservations.release(self._view, name, patterns, ids)

    def reservations(self) -> tuple[Reservation, ...]:
        return server_reservations.active_reservations(self._view)

    def wait(self, position: int, seconds: float) -> int:
        deadline = time.monotonic() + seconds
        while (now_there := self.position()) <= position:
            left = deadline - time.monotonic()
            if left <= 0:
                break
            time.sleep(min(_POLL_SECONDS, left))
        return now_there

    def kept(self, name: str) -> str | None:  # noqa: ARG002
        """Return None: the server has no cache."""
        return None

    def kept_under(self, prefix: str) -> dict[str, str]:  # noqa: ARG002
        """Return nothing: the server has no cache."""
        return {}

    def keep(self, contents: Mapping[str, str]) -> None:
        """Do nothing: the server has no cache."""

    def restore(self, agents: Iterable[Agent], records: Iterable[MessageRecord]) -> RestoreResult:
        with self._view.lock:
            return restore(self._view, agents, records)

    def close(self) -> None:
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _connect(address: AgentMailAddress, token: str | None) -> Client:
    return Client(_required(address.url), token)


def _project_key(address: AgentMailAddress) -> str:
    return _required(address.project)


def _required(part: str | None) -> str:
    if part is None:
        message = "what an address leaves out is for the project to fill in"
        raise ValueError(message)
    return part


def _unsupported(capability: Capability) -> RequestError:
    return RequestError(
        codes.HOME_CANNOT.at(ability=capability, reason=_MISSING_CAPABILITIES[capability])
    )
