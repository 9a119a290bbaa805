"""A project's mail in memory: what the server has, and what follows from it.

The server tells neither who has acknowledged what nor who owes it. The reference mailbox works
that out of the messages, as they come in; here they come from the server.
"""

import math
import os
import re
import threading
import time
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, NoReturn
from urllib.parse import quote

from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.codes.stores import OUTCOME_UNKNOWN, SERVER_NONSENSE, STORE_UNUSABLE
from brenner.diagnostics.model import RequestError, UnavailableError, UnknownOutcomeError
from brenner.mail.agent_mail.client import Client, segment
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Agent, Envelope, Importance, Received, StoredMessage, Trust
from brenner.mail.rules import order, strangers
from brenner.protocol.message_types import wants_ack
from brenner.protocol.messages import Message

# What the lists of a server hold, taken apart. What is not as it must be is never passed over.


Fields = Mapping[str, object]

# Servers want a program and a model of everybody. Who names none, an operator, is shown as this.
UNSAID = "unknown"


class Unreadable(Exception):
    """A part of an answer is not what it must be; the text says what."""


class Item(NamedTuple):
    """A message in a list. Not every list has the bodies, and few tell the recipients.

    A mention is no delivery: a server may show in an inbox what only speaks of its owner. Who is
    shown a copy there knows that of herself, not of others.
    """

    id: int
    project: int | None
    message: Message
    at: datetime
    tells_recipients: bool
    is_mention: bool
    envelope: Envelope
    is_copy: bool


def fields_of(document: object, what: str) -> Fields:
    """An object of JSON."""
    return document if isinstance(document, Mapping) else _fail(f"{what} is not an object")


def list_of(document: object, what: str) -> list[object]:
    """A list of JSON."""
    return document if isinstance(document, list) else _fail(f"{what} is not a list")


def text_of(fields: Fields, name: str) -> str:
    """A text that can be written down."""
    value = fields.get(name)
    if not isinstance(value, str):
        _fail(f"`{name}` is not a text")
    try:
        value.encode()
    except UnicodeEncodeError:
        _fail(f"`{name}` holds half of a character")
    return value


def number_of(fields: Fields, name: str) -> int:
    """A number without a fraction."""
    value = fields.get(name)
    if isinstance(value, bool) or not isinstance(value, int):
        _fail(f"`{name}` is not a number")
    return value


def item_of(document: object) -> Item:
    """A message of a list."""
    fields = fields_of(document, "a message")
    number = number_of(fields, "id")
    # A message that was sent into no thread begins one, which is called after it.
    thread_id = text_of(fields, "thread_id") if fields.get("thread_id") else str(number)
    message = Message(
        thread_id=thread_id,
        sender=text_of(fields, "from"),
        recipients=_named(fields, "to", "cc", "bcc"),
        subject=text_of(fields, "subject"),
        body=text_of(fields, "body_md") if "body_md" in fields else "",
        ack_required=bool(fields.get("ack_required")),
    )
    return Item(
        id=number,
        project=None if fields.get("project_id") is None else number_of(fields, "project_id"),
        message=as_kept(message),
        at=time_of(fields, "created_ts"),
        tells_recipients="to" in fields,
        is_mention="source" in fields,
        envelope=_envelope(fields),
        is_copy=fields.get("kind") == "cc",
    )


def agent_of(document: object) -> Agent:
    """An agent. One that was only written to has said nothing of itself yet."""
    fields = fields_of(document, "an agent")
    name, at = text_of(fields, "name"), time_of(fields, "inception_ts")
    if fields.get("is_placeholder") is True:
        return Agent(name, "", "", "", at)
    said = [text_of(fields, each) for each in ("program", "model")]
    program, model = ("" if each == UNSAID else each for each in said)
    return Agent(name, program, model, text_of(fields, "task_description"), at)


def as_kept(message: Message) -> Message:
    """The message as a server has it, the same for all who look.

    It tells recipients in an order of its own, and of an ACK only whether it is wanted: what is
    the type's default counts as left to the type.
    """
    unsaid = message._replace(recipients=tuple(sorted(message.recipients)), ack_required=None)
    wanted = wants_ack(message)
    return unsaid if wants_ack(unsaid) == wanted else unsaid._replace(ack_required=wanted)


def envelope_as_kept(envelope: Envelope) -> Envelope:
    """The envelope as a server has it: in its own order, and without who vouches for the sender."""
    return envelope._replace(cc=tuple(sorted(envelope.cc)), trust=None)


def _envelope(fields: Fields) -> Envelope:
    """What stands on it, as far as that is told. Words that we do not have say nothing to us."""
    importance, trust = str(fields.get("importance")), str(fields.get("trust"))
    return Envelope(
        Importance(importance) if importance in tuple(Importance) else Importance.NORMAL,
        tuple(sorted(_named(fields, "cc"))),
        Trust(trust) if trust in tuple(Trust) else None,
    )


def _named(fields: Fields, *kinds: str) -> tuple[str, ...]:
    """Openly, as a copy, or unseen by others: all of them have got it."""
    named = [list_of(fields.get(kind) or [], f"`{kind}`") for kind in kinds]
    everybody = [each for names in named for each in names]
    return tuple(dict.fromkeys(text_of({"name": each}, "name") for each in everybody))


def time_of(fields: Fields, name: str) -> datetime:
    """A time; one that says nothing of its zone is UTC."""
    try:
        at = datetime.fromisoformat(text_of(fields, name))
    except ValueError:
        _fail(f"`{name}` is not a time")
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def _fail(reason: str) -> NoReturn:
    raise Unreadable(reason)


class Mirror(MemoryMailbox):
    """What is known of the mail so far. Whoever stands in it is known, though long gone."""

    newest: datetime | None = None
    highest = 0

    def __init__(self) -> None:
        super().__init__()
        self._by_thread: dict[str, list[StoredMessage]] = {}

    def __contains__(self, message_id: object) -> bool:
        return message_id in self._messages

    def know(self, agents: Mapping[str, Agent]) -> None:
        """The agents as they are now."""
        self._agents |= agents

    def take_in(self, item: Item) -> StoredMessage:
        """The next message."""
        stored = self._stored(item.message, item.id, item.at)._replace(envelope=item.envelope)
        self._welcome(strangers(stored, self._agents))
        self._add(stored)
        self.newest = max(self.newest or item.at, item.at)
        self.highest = max(self.highest, item.id)
        return stored

    def _add(self, stored: StoredMessage) -> None:
        super()._add(stored)
        self._by_thread.setdefault(stored.message.thread_id, []).append(stored)

    def _thread(self, thread_id: str) -> list[StoredMessage]:
        return sorted(self._by_thread.get(thread_id, ()), key=order)

    def _received(self, stored: StoredMessage, name: str) -> Received:
        """Who has read what, only the server knows."""
        return super()._received(stored, name)._replace(is_read=None)


# The mail of one project, as its server can be asked about it.


_MOST = 1_000_000  # messages of one answer; a server shows only a few where nobody says how many
_SEARCH = "search_mailbox"
# Words of our own server
_TOTAL, _ONE_PROJECT = "messages_so_far", "OTHER_PROJECT"
_LEFT_OUT, _BEFORE = "body_left_out", "bodies_before"


class Identity(NamedTuple):
    """A project as its server knows it."""

    id: int
    slug: str
    key: str


class Directory(NamedTuple):
    """Who is there. Some servers have an agent that gets a copy of everything, `collector`.

    `told` is all that the server said: who was active when, how much nobody has read yet. Where
    there is a collector, it is the same only as long as nothing has been sent. A server of ours
    says how many messages there are, `total`.
    """

    agents: Mapping[str, Agent]
    collector: str | None
    collected: int
    total: int | None
    told: object

    def has_no_more_than(self, before: "Directory") -> bool:
        """Whether it is certain that nothing has been sent since."""
        if self.total is not None:
            return self.total == before.total
        return self.collector is not None and self == before


class ProjectMail:
    """The questions. Times are exclusive; lists may hold mail of other projects."""

    def __init__(self, client: Client, identity: Identity) -> None:
        self.client = client
        self.identity = identity

    def directory(self) -> Directory:
        """The agents of the project."""
        document = self.client.read(f"agents/{segment(self.identity.key)}", {})
        with understood(self.client):
            fields = fields_of(document, "the directory")
            listed = list_of(fields.get("agents"), "`agents`")
            agents = {agent.name: agent for agent in map(agent_of, listed)}
            name = f"global-inbox-{self.identity.slug}"
            collector = agents.pop(name, None) and name
            total = number_of(fields, _TOTAL) if _TOTAL in fields else None
            unread = [_unread(each) for each in listed if fields_of(each, "").get("name") == name]
        return Directory(agents, collector, sum(unread), total, document)

    def inbox(self, name: str, since: datetime | None) -> list[Item]:
        """What somebody got, with bodies; few servers tell there who else did."""
        asked = {
            "project_key": self.identity.key,
            "agent_name": name,
            "limit": _MOST,
            "include_bodies": True,
            "since_ts": _written(since),
        }
        return self._items(self.client.call("fetch_inbox", asked))

    def outbox(self, name: str, since: datetime | None, *, bodies: bool) -> list[Item]:
        """What somebody sent, and to whom."""
        query = {"project": self.identity.key, "limit": str(_MOST), "since_ts": _written(since)}
        query["include_bodies"] = "true" if bodies else "false"
        listed: dict[int, object] = {}
        while True:
            given = {name: value for name, value in query.items() if value}
            document = self.client.read(f"outbox/{segment(name)}", given)
            with understood(self.client):
                fields = fields_of(document, "an outbox")
                messages = list_of(fields.get("messages"), "a list of messages")
                listed |= {number_of(fields_of(each, ""), "id"): each for each in messages}
                # A server of ours goes on with the bodies there, where they were too many.
                before = str(number_of(fields, _BEFORE)) if _BEFORE in fields else None
            if before in (None, query.get("before")):
                return self._items(list(listed.values()))
            query["before"] = before

    def with_word(self, word: str) -> list[Item]:
        """The messages in which a word stands, and to whom they were sent, if one can search."""
        if not self.client.offers(_SEARCH):
            return []
        asked = {
            "project_key": self.identity.key,
            "query": f'"{word}"',
            "limit": _MOST,
            "include_bodies": False,
        }
        return self._items(self.client.call(_SEARCH, asked))

    def elsewhere(self, names: Iterable[str]) -> dict[str, str]:
        """Those of the names that live in another project, and in which."""
        return elsewhere(self.client, names, self.identity.slug)

    def is_ours(self, item: Item) -> bool:
        """Whether it was sent in this project."""
        return item.project in (None, self.identity.id)

    def _items(self, document: object) -> list[Item]:
        with understood(self.client):
            listed = list_of(document, "a list of messages")
            return [item_of(self._whole(fields_of(each, "a message"))) for each in listed]

    def _whole(self, fields: Fields) -> Fields:
        """A message with its body. A server of ours leaves long ones out of lists, and says so."""
        if _LEFT_OUT not in fields:
            return fields
        found = self.client.read(f"message/{number_of(fields, 'id')}", {})
        return {**fields, "body_md": text_of(fields_of(found, "a message"), "body_md")}


def elsewhere(client: Client, names: Iterable[str], slug: str | None) -> dict[str, str]:
    """Those of the names that live in another project than that one, and in which.

    Only servers that keep names for all projects list the agents of all.
    """
    try:
        document = client.read("agents", {})
    except RequestError:
        return {}
    except UnavailableError as error:
        if error.diagnostic.code != codes.SERVER_LACKS:
            raise
        return {}
    with understood(client):
        listed = list_of(fields_of(document, "the directory").get("agents"), "`agents`")
        places = {_folded(text_of(each, "name")): each for each in map(_agent, listed)}
        found = {name: places.get(_folded(name)) for name in names}
        return {
            name: text_of(agent, "project_human_key")
            for name, agent in found.items()
            if agent and agent.get("project_slug") != slug
        }


@contextmanager
def understood(client: Client) -> Iterator[None]:
    """Say of what cannot be read whose it is."""
    try:
        yield
    except Unreadable as error:
        found = codes.SERVER_NONSENSE.at(where=client.where, reason=str(error))
        raise UnavailableError(found) from None


def find(client: Client, key: str) -> Identity | None:
    """A project, if the server knows it; it is not made."""
    try:
        document = client.read(f"project/{segment(key)}", {})
    except RequestError as refused:
        _check_not_alone(client, refused)
        if any(key in each for each in _listed(client)):
            raise
        return None
    return _identity(client, key, document)


def make(client: Client, key: str) -> Identity:
    """A project, made where there is none."""
    try:
        document = client.call("ensure_project", {"human_key": key})
    except RequestError as refused:
        _check_not_alone(client, refused)
        raise
    return _identity(client, key, document)


def _check_not_alone(client: Client, refused: RequestError) -> None:
    """A server of ours has one project. Another one is not there, and never will be."""
    for _, key in _listed(client) if _ONE_PROJECT in refused.diagnostic.message else ():
        reason = f"it serves `{key}` alone; write `?project={quote(key)}` behind its address"
        raise RequestError(codes.SERVER_REFUSED.at(where=client.where, reason=reason)) from None


def _identity(client: Client, key: str, document: object) -> Identity:
    """Servers take keys for one that differ only in marks or in case.

    Then the mail of two projects is one, of which neither knows.
    """
    with understood(client):
        fields = fields_of(document, "a project")
        found = Identity(
            number_of(fields, "id"), text_of(fields, "slug"), text_of(fields, "human_key")
        )
    if key not in (found.key, found.slug):
        reason = f"it takes the project `{key}` for `{found.key}`, which it knows already"
        raise RequestError(codes.SERVER_REFUSED.at(where=client.where, reason=reason))
    return found


def _listed(client: Client) -> list[tuple[str, str]]:
    """The slug and the key of each project that the server lists."""
    document = client.read("projects", {})
    with understood(client):
        projects = [fields_of(each, "a project") for each in list_of(document, "the projects")]
        return [(text_of(each, "slug"), text_of(each, "human_key")) for each in projects]


def _agent(document: object) -> Fields:
    return fields_of(document, "an agent")


def _unread(document: object) -> int:
    fields = _agent(document)
    return number_of(fields, "unread_count") if "unread_count" in fields else 0


def _folded(name: str) -> str:
    """What counts of a name on a server that drops marks and does not look at case."""
    return "".join(filter(str.isalnum, name)).lower()


def _written(at: datetime | None) -> str | None:
    return at.isoformat().replace("+00:00", "Z") if at else None


# What has come in since one looked last, whole, and to whom it went.
#
# A message can be committed later than its time says, so each look goes back a little further than
# the newest one that is known; what is known already is left out by its id.


_A_LITTLE = timedelta(seconds=1)
_WORD = re.compile(r"\b[A-Za-z0-9]+\b")  # which is one in every engine's eyes


class Told(NamedTuple):
    """To whom a message went, and for whom of them it is a copy."""

    recipients: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()


Recipients = dict[int, Told]


def news(
    mail: ProjectMail, directory: Directory, known: Container[int], since: datetime | None
) -> list[Item]:
    """The messages after a time that are not known, by id.

    Where one agent gets a copy of everything, its inbox has also what agents sent whom another
    project has taken over, but nothing from before that agent was there. So whoever reads the
    whole mail asks both: that inbox, and what the agents have sent.
    """
    items = _collected(mail, directory, since) if directory.collector else []
    if since is None or not directory.collector:
        for name in directory.agents:
            items += mail.outbox(name, since, bodies=True)
    fresh = _fresh(mail, items, known)
    told = _told(mail, directory, [item for item in fresh if not item.tells_recipients])
    return [
        _sent_to(item, told.get(item.id, _told_by(item)), directory.collector) for item in fresh
    ]


def _collected(mail: ProjectMail, directory: Directory, since: datetime | None) -> list[Item]:
    items = mail.inbox(directory.collector or "", since)
    if since is None and len(items) < directory.collected:
        reason = f"it has {directory.collected} messages, and shows only {len(items)}"
        raise UnavailableError(SERVER_NONSENSE.at(where=mail.client.where, reason=reason))
    return items


def _fresh(mail: ProjectMail, items: Iterable[Item], known: Container[int]) -> list[Item]:
    """Each once, by id; who sent it knows more of it than who got it, and is asked later."""
    found = {item.id: item for item in items if item.id not in known and mail.is_ours(item)}
    return sorted(found.values(), key=lambda item: item.id)


def _sent_to(item: Item, told: Told, collector: str | None) -> Item:
    """The message with those to whom it went; who gets a copy of everything does not count."""
    recipients, copies = (
        tuple(sorted(name for name in names if name != collector)) for names in told
    )
    return item._replace(
        message=item.message._replace(recipients=recipients),
        envelope=item.envelope._replace(cc=copies),
    )


def _told(mail: ProjectMail, directory: Directory, items: list[Item]) -> Recipients:
    """To whom messages went, from whoever can tell."""
    told: Recipients = {}
    for ask in (_from_outboxes, _from_search, _from_inboxes):
        missing = [item for item in items if item.id not in told]
        told |= ask(mail, directory, missing) if missing else {}
    return told


def _from_outboxes(mail: ProjectMail, directory: Directory, items: list[Item]) -> Recipients:
    """Of senders who are still here."""
    told: Recipients = {}
    for sender in {item.message.sender for item in items} & directory.agents.keys():
        since = _before(item for item in items if item.message.sender == sender)
        with suppress(RequestError):  # she was taken over in this moment
            told |= _recipients(mail.outbox(sender, since, bodies=False))
    return told


def _from_search(mail: ProjectMail, _: Directory, items: list[Item]) -> Recipients:
    """Of senders who are gone: by a word of each message."""
    words = {_WORD.search(f"{item.message.subject} {item.message.body}") for item in items}
    told: Recipients = {}
    for word in {found[0].lower() for found in words if found}:
        told |= _recipients(mail.with_word(word))
    return told


def _from_inboxes(mail: ProjectMail, directory: Directory, items: list[Item]) -> Recipients:
    """What nobody can tell is known as far as recipients are still here."""
    told: Recipients = {item.id: Told() for item in items}
    for name in directory.agents:
        for item in mail.inbox(name, _before(items)):
            if item.id in told and not item.is_mention:
                got, copies = told[item.id]
                told[item.id] = Told((*got, name), (*copies, *[name] * item.is_copy))
    return told


def _recipients(items: Iterable[Item]) -> Recipients:
    return {item.id: _told_by(item) for item in items if item.tells_recipients}


def _told_by(item: Item) -> Told:
    return Told(item.message.recipients, item.envelope.cc)


def _before(items: Iterable[Item]) -> datetime:
    """A time after which all of them are."""
    return min(item.at for item in items) - _A_LITTLE


# Tokens that a server gave to who registered from here, and wants to see when she sends.
#
# They are secrets: each lies in a file of its own, for its owner alone, in a folder that git
# ignores. Where no folder is given they last as long as the mailbox.


_OWNER_ONLY = 0o600
_IGNORE_EVERYTHING = "*\n"


class Tokens:
    """The tokens of the agents of one project on one server."""

    def __init__(self, folder: Path | None, server: str, project: str) -> None:
        self._known: dict[str, str] = {}
        place = sha256(f"{server}\n{project}".encode()).hexdigest()
        self._folder = folder / "agent-mail" / place if folder else None

    def of(self, name: str) -> str | None:
        """The token of an agent, if one was given."""
        if name not in self._known and self._folder:
            file = self._folder / name
            try:
                self._known[name] = file.read_text("utf-8")
            except FileNotFoundError:
                return None
            except (OSError, UnicodeDecodeError) as error:
                raise _unusable(file, error) from error
        return self._known.get(name)

    def keep(self, name: str, token: str) -> None:
        """Remember it for whoever acts under that name here later."""
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
            raise _unusable(file, error) from error


def _unusable(file: Path, error: Exception) -> UnavailableError:
    reason = getattr(error, "strerror", None) or "it is not UTF-8"
    return UnavailableError(STORE_UNUSABLE.at(path=str(file), reason=f"a token of it: {reason}"))


# What one process sees of a project on a server: its mirror, and how it is kept up to date.


# By how much a message may be late, seen from the newest that is known, to be found at once. What
# is later still (the server's clock was set back) is found when all is read again.
_OVERLAP = timedelta(minutes=1)
_WHOLE_EVERY = 60.0  # seconds


class View:
    """A mirror and its server."""

    def __init__(self, client: Client, identity: Identity, tokens: Tokens) -> None:
        self.client = client
        self.mail = ProjectMail(client, identity)
        self.mirror = Mirror()
        self.lock = threading.RLock()
        self.tokens = tokens
        self._directory: Directory | None = None
        self._read_whole = -math.inf

    @property
    def registered(self) -> Mapping[str, Agent]:
        """Who can send and receive now; fresh after `refresh`."""
        return self._directory.agents if self._directory else {}

    def acting(self, name: str) -> dict[str, object]:
        """The arguments by which a server knows who acts; it may want to see her token."""
        return {
            "project_key": self.mail.identity.key,
            "agent_name": name,
            "registration_token": self.tokens.of(name),
        }

    def refresh(self, *, whole: bool = False) -> Mirror:
        """Take in what is new. Nothing is, where a server that tells so says what it said before.

        The mail of one look comes in by its ids, as it does for who looks for the first time.
        """
        with self.lock:
            self._refresh(whole=whole)
        return self.mirror

    @contextmanager
    def fresh(self) -> Iterator[Mirror]:
        """The mirror as it is now; meanwhile no other thread changes it."""
        with self.lock:
            yield self.refresh()

    def _refresh(self, *, whole: bool) -> None:
        now = time.monotonic()
        is_whole = whole or now >= self._read_whole + _WHOLE_EVERY
        directory = self.mail.directory()
        before = self._directory
        if is_whole or before is None or not directory.has_no_more_than(before):
            newest = None if is_whole else self.mirror.newest
            since = newest - _OVERLAP if newest else None
            for item in news(self.mail, directory, self.mirror, since):
                self.mirror.take_in(item)
        self.mirror.know(directory.agents)
        self._directory = directory
        if is_whole:
            self._read_whole = now

    def uncertain(self, lost: UnavailableError, what: str) -> UnknownOutcomeError:
        """The server was lost while something was under way."""
        title = lost.diagnostic.code.title
        reason = title[0].lower() + title[1:]
        found = OUTCOME_UNKNOWN.at(where=self.client.where, reason=reason, what=what)
        return UnknownOutcomeError(found)
