"""An in-memory mirror of a project's mail on an Agent Mail server, and how it is kept current.

The server reports neither which messages are acknowledged nor which acknowledgements are pending.
The in-memory mailbox computes both from the messages that the mirror downloads.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import quote

from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.codes.stores import (
    HOME_CANNOT,
    OUTCOME_UNKNOWN,
    SERVER_NONSENSE,
    STORE_UNUSABLE,
)
from brenner.diagnostics.model import RequestError, UnavailableError, UnknownOutcomeError
from brenner.lazy_pattern import lazy_pattern
from brenner.mail.agent_mail.client import Client, path_segment
from brenner.mail.mailbox import Capability
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Agent, InboxMessage, InvalidRecordError
from brenner.mail.rules import message_order, unregistered_agents
from brenner.named_tuple import NamedTuple
from brenner.protocol.message_types import wants_ack
from brenner.protocol.messages import Envelope, Importance, Message, StoredMessage, Trust

if TYPE_CHECKING:
    from pathlib import Path

# Parsing the server's JSON. Invalid parts raise InvalidRecordError; none is ignored.


Fields = Mapping[str, object]

# Servers require a program and a model. An agent without them, such as the operator, gets this.
UNKNOWN = "unknown"


class ServerMessage(NamedTuple):
    """A message in a list of the server. Not every list has bodies, and few have recipients.

    A mention is no delivery: an inbox may contain messages that only mention its owner. `is_copy`
    concerns the owner of the inbox only.
    """

    id: int
    project: int | None
    message: Message
    at: datetime
    has_recipients: bool
    is_mention: bool
    envelope: Envelope
    is_copy: bool


def as_object(document: object, what: str) -> Fields:
    """Return a JSON object; raise InvalidRecordError if it is none."""
    return document if isinstance(document, Mapping) else _reject(f"{what} is not an object")


def as_list(document: object, what: str) -> list[object]:
    """Return a JSON list; raise InvalidRecordError if it is none."""
    return document if isinstance(document, list) else _reject(f"{what} is not a list")


def get_text(fields: Fields, name: str) -> str:
    """Return a text field; raise InvalidRecordError if it is not valid Unicode text."""
    value = fields.get(name)
    if not isinstance(value, str):
        _reject(f"`{name}` is not a text")
    try:
        value.encode()
    except UnicodeEncodeError:
        _reject(f"`{name}` contains half of a character (a lone surrogate)")
    return value


def get_int(fields: Fields, name: str) -> int:
    """Return an integer field; raise InvalidRecordError if it is none."""
    value = fields.get(name)
    if isinstance(value, bool) or not isinstance(value, int):
        _reject(f"`{name}` is not a number")
    return value


def parse_server_message(document: object) -> ServerMessage:
    fields = as_object(document, "a message")
    number = get_int(fields, "id")
    if fields.get("sealed") is True:  # only our own server seals; its blank would stay here
        reason = f"the server does not show message {number} before v1 is published"
        raise RequestError(HOME_CANNOT.at(ability=Capability.SEALS, reason=reason))
    # A message without a thread starts one, named after its id.
    thread_id = get_text(fields, "thread_id") if fields.get("thread_id") else str(number)
    message = Message(
        thread_id=thread_id,
        sender=get_text(fields, "from"),
        recipients=_all_names(fields, "to", "cc", "bcc"),
        subject=get_text(fields, "subject"),
        body=get_text(fields, "body_md") if "body_md" in fields else "",
        ack_required=bool(fields.get("ack_required")),
    )
    return ServerMessage(
        id=number,
        project=None if fields.get("project_id") is None else get_int(fields, "project_id"),
        message=as_server_stores(message),
        at=get_time(fields, "created_ts"),
        has_recipients="to" in fields,
        is_mention="source" in fields,
        envelope=_parse_envelope(fields),
        is_copy=fields.get("kind") == "cc",
    )


def parse_agent(document: object) -> Agent:
    """Parse an agent. A placeholder that only received mail has no profile yet."""
    fields = as_object(document, "an agent")
    name, at = get_text(fields, "name"), get_time(fields, "inception_ts")
    if fields.get("is_placeholder") is True:
        return Agent(name, "", "", "", at)
    texts = [get_text(fields, each) for each in ("program", "model")]
    program, model = ("" if each == UNKNOWN else each for each in texts)
    return Agent(name, program, model, get_text(fields, "task_description"), at)


def as_server_stores(message: Message) -> Message:
    """Return the message as the server stores it, so that it compares equal for every reader.

    The server sorts recipients, and stores only whether an ACK is wanted. A value equal to the
    type's default counts as not stated.
    """
    without_request = message._replace(
        recipients=tuple(sorted(message.recipients)), ack_required=None
    )
    wanted = wants_ack(message)
    return (
        without_request
        if wants_ack(without_request) == wanted
        else without_request._replace(ack_required=wanted)
    )


def envelope_as_server_stores(envelope: Envelope) -> Envelope:
    """Return the envelope as the server stores it: sorted copies, no trust."""
    return envelope._replace(cc=tuple(sorted(envelope.cc)), trust=None)


def _parse_envelope(fields: Fields) -> Envelope:
    """Parse the envelope; ignore unknown values."""
    importance, trust = str(fields.get("importance")), str(fields.get("trust"))
    return Envelope(
        Importance(importance) if importance in tuple(Importance) else Importance.NORMAL,
        tuple(sorted(_all_names(fields, "cc"))),
        Trust(trust) if trust in tuple(Trust) else None,
    )


def _all_names(fields: Fields, *kinds: str) -> tuple[str, ...]:
    """Return the names in these fields, each once: `to`, `cc` and `bcc` are all recipients."""
    named = [as_list(fields.get(kind) or [], f"`{kind}`") for kind in kinds]
    listed = [each for names in named for each in names]
    return tuple(dict.fromkeys(get_text({"name": each}, "name") for each in listed))


def get_time(fields: Fields, name: str) -> datetime:
    """Return a time field; UTC if it has no zone."""
    try:
        at = datetime.fromisoformat(get_text(fields, name))
    except ValueError:
        _reject(f"`{name}` is not a time")
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def _reject(reason: str) -> NoReturn:
    raise InvalidRecordError(reason)


class Mirror(MemoryMailbox):
    """The messages downloaded so far. All their senders and recipients count as agents."""

    newest_at: datetime | None = None
    highest_id = 0

    def __init__(self) -> None:
        super().__init__()
        self._by_thread: dict[str, list[StoredMessage]] = {}

    def __contains__(self, message_id: object) -> bool:
        return message_id in self._messages

    def set_agents(self, agents: Mapping[str, Agent]) -> None:
        self._agents |= agents

    def add_message(self, item: ServerMessage) -> StoredMessage:
        stored = self._new_message(item.message, item.id, item.at)._replace(envelope=item.envelope)
        self._add_agents(unregistered_agents(stored, self._agents))
        self._add(stored)
        self.newest_at = max(self.newest_at or item.at, item.at)
        self.highest_id = max(self.highest_id, item.id)
        return stored

    def _add(self, stored: StoredMessage) -> None:
        super()._add(stored)
        self._by_thread.setdefault(stored.message.thread_id, []).append(stored)

    def _thread(self, thread_id: str) -> list[StoredMessage]:
        return sorted(self._by_thread.get(thread_id, ()), key=message_order)

    def _received(self, stored: StoredMessage, name: str) -> InboxMessage:
        """Return the message with `is_read` None: only the server has read marks."""
        return super()._received(stored, name)._replace(is_read=None)


# Queries for the mail of one project


_MOST_MESSAGES = 1_000_000  # without a limit, servers list only a few
_SEARCH = "search_mailbox"
# Fields and codes of our own server
_TOTAL_FIELD, _OTHER_PROJECT_CODE = "messages_so_far", "OTHER_PROJECT"
_BODY_OMITTED_FIELD, _BODIES_BEFORE_FIELD = "body_left_out", "bodies_before"


ProjectIdentity = tuple[int, str, str]  # its id, slug and key on the server


class AgentDirectory(NamedTuple):
    """The agents of a project. On some servers one agent, `collector`, gets a copy of
    everything.

    `raw` is the server's whole answer, including activity times and unread counts. With a
    collector, it is unchanged only if no message was sent. Our own server also reports the number
    of messages, `total`.
    """

    agents: Mapping[str, Agent]
    collector: str | None
    collected: int
    total: int | None
    raw: object

    def is_unchanged_since(self, before: AgentDirectory) -> bool:
        """Return whether certainly no message was sent since the earlier directory."""
        if self.total is not None:
            return self.total == before.total
        return self.collector is not None and self == before


# How late a message may be, compared with the newest known one, to be found at once. A later one
# (the server's clock was set back) is found by the next full refresh.
_OVERLAP = timedelta(minutes=1)
_FULL_REFRESH_SECONDS = 60.0


class ProjectView:
    """The mail of one project on its server, with its mirror and its tokens.

    Times in queries are exclusive; lists may include other projects.
    """

    def __init__(self, client: Client, identity: ProjectIdentity, own: Path | None) -> None:
        self.client = client
        self._project_id, self.slug, self.key = identity
        self.mirror = Mirror()
        self.lock = threading.RLock()
        self.tokens = TokenStore(own, client.where, self.key)
        self._directory: AgentDirectory | None = None
        self._full_refresh_at = -math.inf
        self._is_frozen = False

    @property
    def registered(self) -> Mapping[str, Agent]:
        """The agents that can send and receive now; current after `refresh`."""
        return self._directory.agents if self._directory else {}

    def actor_arguments(self, name: str) -> dict[str, object]:
        """Return the arguments that identify the calling agent; a server may require its token."""
        return {
            "project_key": self.key,
            "agent_name": name,
            "registration_token": self.tokens.get(name),
        }

    def refresh(self, *, whole: bool = False) -> Mirror:
        """Download new messages, unless the directory shows that there are none.

        Messages of one refresh are added in order of their ids, as in a first download.
        """
        with self.lock:
            self._refresh(whole=whole)
        return self.mirror

    @contextmanager
    def refreshed(self) -> Iterator[Mirror]:
        """Yield the refreshed mirror; no other thread changes it meanwhile."""
        with self.lock:
            yield self.refresh()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Refresh once, and not again until the end of the block."""
        with self.refreshed():
            before, self._is_frozen = self._is_frozen, True
            try:
                yield
            finally:
                self._is_frozen = before

    def _refresh(self, *, whole: bool) -> None:
        if self._is_frozen:
            return
        now = time.monotonic()
        is_full = whole or now >= self._full_refresh_at + _FULL_REFRESH_SECONDS
        directory = self.directory()
        before = self._directory
        if is_full or before is None or not directory.is_unchanged_since(before):
            newest = None if is_full else self.mirror.newest_at
            since = newest - _OVERLAP if newest else None
            for item in fetch_new_messages(self, directory, since):
                self.mirror.add_message(item)
        self.mirror.set_agents(directory.agents)
        self._directory = directory
        if is_full:
            self._full_refresh_at = now

    def unknown_outcome(self, lost: UnavailableError, what: str) -> UnknownOutcomeError:
        """Return the error for a connection that was lost during a change."""
        title = lost.diagnostic.code.title
        reason = title[0].lower() + title[1:]
        found = OUTCOME_UNKNOWN.at(where=self.client.where, reason=reason, what=what)
        return UnknownOutcomeError(found)

    def directory(self) -> AgentDirectory:
        document = self.client.read(f"agents/{path_segment(self.key)}", {})
        with invalid_as_unavailable(self.client):
            fields = as_object(document, "the directory")
            listed = as_list(fields.get("agents"), "`agents`")
            agents = {agent.name: agent for agent in map(parse_agent, listed)}
            name = f"global-inbox-{self.slug}"
            collector = agents.pop(name, None) and name
            total = get_int(fields, _TOTAL_FIELD) if _TOTAL_FIELD in fields else None
            unread = [
                _unread_count(each) for each in listed if as_object(each, "").get("name") == name
            ]
        return AgentDirectory(agents, collector, sum(unread), total, document)

    def inbox(self, name: str, since: datetime | None) -> list[ServerMessage]:
        """Fetch the messages to an agent, with bodies; few servers add the recipients."""
        arguments = {
            "project_key": self.key,
            "agent_name": name,
            "limit": _MOST_MESSAGES,
            "include_bodies": True,
            "since_ts": _format_time(since),
        }
        return self._parse_messages(self.client.call("fetch_inbox", arguments))

    def outbox(self, name: str, since: datetime | None, *, bodies: bool) -> list[ServerMessage]:
        """Fetch the messages that an agent sent, with recipients."""
        query = {
            "project": self.key,
            "limit": str(_MOST_MESSAGES),
            "since_ts": _format_time(since),
        }
        query["include_bodies"] = "true" if bodies else "false"
        listed: dict[int, object] = {}
        while True:
            parameters = {name: value for name, value in query.items() if value}
            document = self.client.read(f"outbox/{path_segment(name)}", parameters)
            with invalid_as_unavailable(self.client):
                fields = as_object(document, "an outbox")
                messages = as_list(fields.get("messages"), "a list of messages")
                listed |= {get_int(as_object(each, ""), "id"): each for each in messages}
                # Our server continues there if there were too many bodies.
                before = (
                    str(get_int(fields, _BODIES_BEFORE_FIELD))
                    if _BODIES_BEFORE_FIELD in fields
                    else None
                )
            if before in (None, query.get("before")):
                return self._parse_messages(list(listed.values()))
            query["before"] = before

    def search_word(self, word: str) -> list[ServerMessage]:
        """Fetch the messages with a word, with recipients; none if the server has no search."""
        if not self.client.offers(_SEARCH):
            return []
        arguments = {
            "project_key": self.key,
            "query": f'"{word}"',
            "limit": _MOST_MESSAGES,
            "include_bodies": False,
        }
        return self._parse_messages(self.client.call(_SEARCH, arguments))

    def is_ours(self, item: ServerMessage) -> bool:
        return item.project in (None, self._project_id)

    def _parse_messages(self, document: object) -> list[ServerMessage]:
        with invalid_as_unavailable(self.client):
            listed = as_list(document, "a list of messages")
            return [
                parse_server_message(self._with_body(as_object(each, "a message")))
                for each in listed
            ]

    def _with_body(self, fields: Fields) -> Fields:
        """Fetch the body if our server left it out of the list because it is long."""
        if _BODY_OMITTED_FIELD not in fields:
            return fields
        found = self.client.read(f"message/{get_int(fields, 'id')}", {})
        return {**fields, "body_md": get_text(as_object(found, "a message"), "body_md")}


def names_in_other_projects(
    client: Client, names: Iterable[str], slug: str | None
) -> dict[str, str]:
    """Return the names that belong to a project other than `slug`, each with that project.

    Only servers with names shared by all projects list the agents of all projects.
    """
    try:
        document = client.read("agents", {})
    except RequestError:
        return {}
    except UnavailableError as error:
        if error.diagnostic.code != codes.SERVER_LACKS:
            raise
        return {}
    with invalid_as_unavailable(client):
        listed = as_list(as_object(document, "the directory").get("agents"), "`agents`")
        agents_by_name = {
            _fold_name(get_text(each, "name")): each for each in map(_as_agent, listed)
        }
        found = {name: agents_by_name.get(_fold_name(name)) for name in names}
        return {
            name: get_text(agent, "project_human_key")
            for name, agent in found.items()
            if agent and agent.get("project_slug") != slug
        }


@contextmanager
def invalid_as_unavailable(client: Client) -> Iterator[None]:
    """Turn InvalidRecordError into an UnavailableError that names the server."""
    try:
        yield
    except InvalidRecordError as error:
        found = codes.SERVER_NONSENSE.at(where=client.where, reason=str(error))
        raise UnavailableError(found) from None


def find_project(client: Client, key: str) -> ProjectIdentity | None:
    """Return a project, or None if the server does not have it; never create it."""
    try:
        document = client.read(f"project/{path_segment(key)}", {})
    except RequestError as refused:
        _check_served_project(client, refused)
        if any(key in each for each in _list_projects(client)):
            raise
        return None
    return _parse_identity(client, key, document)


def ensure_project(client: Client, key: str) -> ProjectIdentity:
    """Return a project; create it if it does not exist."""
    try:
        document = client.call("ensure_project", {"human_key": key})
    except RequestError as refused:
        _check_served_project(client, refused)
        raise
    return _parse_identity(client, key, document)


def _check_served_project(client: Client, refused: RequestError) -> None:
    """Raise an error that names the project, if our server rejects any other project."""
    for _, key in (
        _list_projects(client) if _OTHER_PROJECT_CODE in refused.diagnostic.message else ()
    ):
        reason = f"it serves only `{key}`; add `?project={quote(key)}` to its address"
        raise RequestError(codes.SERVER_REFUSED.at(where=client.where, reason=reason)) from None


def _parse_identity(client: Client, key: str, document: object) -> ProjectIdentity:
    """Parse a project; raise RequestError if it is another project.

    Servers treat keys as equal that differ only in punctuation or case. The mail of two projects
    would then be mixed.
    """
    with invalid_as_unavailable(client):
        fields = as_object(document, "a project")
        slug, found = get_text(fields, "slug"), get_text(fields, "human_key")
        number = get_int(fields, "id")
    if key not in (found, slug):
        reason = f"it treats the project `{key}` as `{found}`, which already exists there"
        raise RequestError(codes.SERVER_REFUSED.at(where=client.where, reason=reason))
    return number, slug, found


def _list_projects(client: Client) -> list[tuple[str, str]]:
    """Return slug and key of each project that the server lists."""
    document = client.read("projects", {})
    with invalid_as_unavailable(client):
        projects = [as_object(each, "a project") for each in as_list(document, "the projects")]
        return [(get_text(each, "slug"), get_text(each, "human_key")) for each in projects]


def _as_agent(document: object) -> Fields:
    return as_object(document, "an agent")


def _unread_count(document: object) -> int:
    fields = _as_agent(document)
    return get_int(fields, "unread_count") if "unread_count" in fields else 0


def _fold_name(name: str) -> str:
    """Return a name as servers compare it that ignore punctuation and case."""
    return "".join(filter(str.isalnum, name)).lower()


def _format_time(at: datetime | None) -> str | None:
    return at.isoformat().replace("+00:00", "Z") if at else None


# Downloading new messages, with bodies and recipients
#
# A message can be committed later than its time, so each download starts a little before the newest
# known message. Known messages are skipped by id.


_TIME_MARGIN = timedelta(seconds=1)
_WORD = lazy_pattern(r"\b[A-Za-z0-9]+\b")  # one word for every search engine


RecipientNames = tuple[tuple[str, ...], tuple[str, ...]]  # recipients, and those who get a copy
RecipientsById = dict[int, RecipientNames]


def fetch_new_messages(
    view: ProjectView, directory: AgentDirectory, since: datetime | None
) -> list[ServerMessage]:
    """Return the messages after a time that the mirror lacks, sorted by id.

    The collector's inbox also has messages of agents that moved to another project, but none from
    before the collector existed. So a full download reads that inbox and the outboxes.
    """
    items = _fetch_collected(view, directory, since) if directory.collector else []
    if since is None or not directory.collector:
        for name in directory.agents:
            items += view.outbox(name, since, bodies=True)
    # Each message once. Later lists, from senders, contain more.
    new = {item.id: item for item in items if item.id not in view.mirror and view.is_ours(item)}
    unaddressed = [item for item in new.values() if not item.has_recipients]
    recipients = _find_recipients(view, directory, unaddressed)
    return [
        _with_recipients(item, recipients.get(item.id, _recipient_names(item)), directory.collector)
        for _, item in sorted(new.items())
    ]


def _fetch_collected(
    view: ProjectView, directory: AgentDirectory, since: datetime | None
) -> list[ServerMessage]:
    items = view.inbox(directory.collector or "", since)
    if since is None and len(items) < directory.collected:
        reason = f"it has {directory.collected} messages, but shows only {len(items)}"
        raise UnavailableError(SERVER_NONSENSE.at(where=view.client.where, reason=reason))
    return items


def _with_recipients(
    item: ServerMessage, names_of: RecipientNames, collector: str | None
) -> ServerMessage:
    """Return the message with its recipients, without the collector."""
    recipients, copies = (
        tuple(sorted(name for name in names if name != collector)) for names in names_of
    )
    return item._replace(
        message=item.message._replace(recipients=recipients),
        envelope=item.envelope._replace(cc=copies),
    )


def _find_recipients(
    view: ProjectView, directory: AgentDirectory, items: list[ServerMessage]
) -> RecipientsById:
    """Return the recipients of messages, from the first source that has them."""
    recipients: RecipientsById = {}
    for find in (_recipients_from_outboxes, _recipients_from_search, _recipients_from_inboxes):
        missing = [item for item in items if item.id not in recipients]
        recipients |= find(view, directory, missing) if missing else {}
    return recipients


def _recipients_from_outboxes(
    view: ProjectView, directory: AgentDirectory, items: list[ServerMessage]
) -> RecipientsById:
    """Return the recipients of messages whose senders are still in the project."""
    recipients: RecipientsById = {}
    for sender in {item.message.sender for item in items} & directory.agents.keys():
        since = _time_before(item for item in items if item.message.sender == sender)
        with suppress(RequestError):  # the sender has just moved to another project
            recipients |= _listed_recipients(view.outbox(sender, since, bodies=False))
    return recipients


def _recipients_from_search(
    view: ProjectView, _: AgentDirectory, items: list[ServerMessage]
) -> RecipientsById:
    """Return the recipients of messages of other senders, by searching a word of each."""
    words = {_WORD.search(f"{item.message.subject} {item.message.body}") for item in items}
    recipients: RecipientsById = {}
    for word in {found[0].lower() for found in words if found}:
        recipients |= _listed_recipients(view.search_word(word))
    return recipients


def _recipients_from_inboxes(
    view: ProjectView, directory: AgentDirectory, items: list[ServerMessage]
) -> RecipientsById:
    """Return those recipients that are still in the project, from their inboxes."""
    recipients: RecipientsById = {item.id: ((), ()) for item in items}
    for name in directory.agents:
        for item in view.inbox(name, _time_before(items)):
            if item.id in recipients and not item.is_mention:
                got, copies = recipients[item.id]
                recipients[item.id] = ((*got, name), (*copies, *[name] * item.is_copy))
    return recipients


def _listed_recipients(items: Iterable[ServerMessage]) -> RecipientsById:
    return {item.id: _recipient_names(item) for item in items if item.has_recipients}


def _recipient_names(item: ServerMessage) -> RecipientNames:
    return item.message.recipients, item.envelope.cc


def _time_before(items: Iterable[ServerMessage]) -> datetime:
    return min(item.at for item in items) - _TIME_MARGIN


# Registration tokens


_OWNER_ONLY = 0o600
_IGNORE_EVERYTHING = "*\n"


class TokenStore:
    """The registration tokens of the agents of one project on one server.

    A server may require the token of the sender. Tokens are secret: each is in a file that only its
    owner can read, in a folder that git ignores. Without a folder they last as long as the mailbox.
    """

    def __init__(self, folder: Path | None, server: str, project: str) -> None:
        self._known: dict[str, str] = {}
        project_digest = sha256(f"{server}\n{project}".encode()).hexdigest()
        self._folder = folder / "agent-mail" / project_digest if folder else None

    def get(self, name: str) -> str | None:
        if name not in self._known and self._folder:
            file = self._folder / name
            try:
                self._known[name] = file.read_text("utf-8")
            except FileNotFoundError:
                return None
            except (OSError, UnicodeDecodeError) as error:
                raise _unusable_token_file(file, error) from error
        return self._known.get(name)

    def save(self, name: str, token: str) -> None:
        """Store the token for later calls under that name."""
        self._known[name] = token
        if not self._folder:
            return
        file = self._folder / name
        new = file.with_name(f"{name}.{os.getpid()}")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder.parent / ".gitignore").write_text(_IGNORE_EVERYTHING, "utf-8")
            number = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _OWNER_ONLY)
            with os.fdopen(number, "w", encoding="utf-8") as opened:
                opened.write(token)
            new.replace(file)
        except OSError as error:
            raise _unusable_token_file(file, error) from error


def _unusable_token_file(file: Path, error: Exception) -> UnavailableError:
    reason = getattr(error, "strerror", None) or "it is not UTF-8"
    return UnavailableError(
        STORE_UNUSABLE.at(path=str(file), reason=f"cannot read a token: {reason}")
    )
