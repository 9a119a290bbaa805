"""Somebody's inbox, as agents ask for it. Reading changes nothing."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice, takewhile
from typing import NamedTuple

from brenner.config import Project
from brenner.diagnostics.codes import serving as codes
from brenner.diagnostics.codes.mail import NO_SUCH_AGENT
from brenner.diagnostics.codes.serving import (
    ANSWER_TOO_LARGE,
    INVALID_ARGUMENT,
    OTHER_PROJECT,
    WHO_ARE_YOU,
    WRONG_SECRET,
)
from brenner.diagnostics.model import Diagnostic, RequestError
from brenner.limits import MOST_ANSWERED_BYTES
from brenner.mail.mailbox import Capability, Mailbox
from brenner.mail.model import PLAIN, Agent, Envelope, Importance, Received, StoredMessage, Trust
from brenner.mail.search import Query, instant
from brenner.mcp.tool import Argument, Call
from brenner.protocol.message_types import wants_ack
from brenner.protocol.messages import Message
from brenner.services.identity import (
    SECRET,
    SECRET_HEADER,
    is_like_a_secret,
    is_secret_of,
    kept_digest,
    name_of_secret,
)

# The key of the project: a server has one, and mail for another one is refused.


# Where one may not look, os.path says no and pathlib raises.
# ruff: noqa: PTH117


PROJECT_ID = 1
_MARKS = re.compile(r"[^a-z0-9]+")
_UNNAMED = "project"


def check(call: Call, key: str) -> None:
    """Refuse the key of another project.

    Ours are the folder, one in it (an agent starts wherever it works), and the slug. Who names none
    means the one that there is.
    """
    project = call.workspace.project
    if key and key != slug(project) and not _is_in(str(project.folder), key):
        raise RequestError(OTHER_PROJECT.at(key=key, folder=key_of(project)))


def key_of(project: Project) -> str:
    """The key that answers show, whichever was used."""
    return str(project.folder).encode("utf-8", "replace").decode()


def slug(project: Project) -> str:
    """The folder as one word, as Agent Mail makes it."""
    return _MARKS.sub("-", str(project.folder).lower()).strip("-") or _UNNAMED


def shape(call: Call) -> dict[str, object]:
    """The project as tools and resources answer it. It began when the first agent came, or now."""
    project = call.workspace.project
    times = [agent.registered_at for agent in call.workspace.mailbox.agents()]
    return {
        "id": PROJECT_ID,
        "slug": slug(project),
        "human_key": key_of(project),
        "created_at": min(times, default=datetime.now(UTC)).isoformat(timespec="microseconds"),
    }


def _is_in(folder: str, key: str) -> bool:
    """Whether a key is the path of a folder or of what is in it, links followed."""
    if not os.path.isabs(key):
        return False
    try:
        path, home = os.path.realpath(key), os.path.realpath(folder)
        return os.path.commonpath((path, home)) == home
    except (ValueError, OSError):  # what cannot be a path is none
        return False


# Agents as tools and resources answer them, in the form of Agent Mail.


def written(at: datetime) -> str:
    """A time as every answer has it."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def numbers(agents: Iterable[Agent]) -> dict[str, int]:
    """The number of each agent: the how manieth it was to register."""
    by_age = sorted(agents, key=lambda agent: (agent.registered_at, agent.name))
    return {agent.name: number for number, agent in enumerate(by_age, 1)}


def agent_shape(agent: Agent, number: int = 0, last: datetime | None = None) -> dict[str, object]:
    """One agent. It was active when it sent something last, or registered: more is not known.

    The number 0 is for who cannot be told among the others just now.
    """
    active = max(agent.registered_at, last or agent.registered_at)
    return {
        "id": number,
        "name": agent.name,
        "program": agent.program,
        "model": agent.model,
        "task_description": agent.task,
        "inception_ts": written(agent.registered_at),
        "last_active_ts": written(active),
        "project_id": PROJECT_ID,
        "attachments_policy": "auto",
        "contact_policy": "auto",
        "is_active": True,
        "deleted_ts": None,
        "is_placeholder": False,
    }


def last_sent(mailbox: Mailbox, name: str) -> datetime | None:
    """When somebody sent something last."""
    sent = mailbox.search(Query(senders=(name,)), limit=1).messages
    return sent[0].at if sent else None


def one(mailbox: Mailbox, agent: Agent) -> dict[str, object]:
    """One agent with its number among all."""
    number = numbers(mailbox.agents())[agent.name]
    return agent_shape(agent, number, last_sent(mailbox, agent.name))


def everybody(mailbox: Mailbox, *, with_unread: bool = False) -> list[dict[str, object]]:
    """All agents, who was active last first.

    How much somebody has not read is left out where the home does not tell.
    """
    agents = mailbox.agents()
    known = numbers(agents)
    tells = with_unread and Capability.READ_MARKS not in mailbox.lacks
    shapes = [
        agent_shape(agent, known[agent.name], last_sent(mailbox, agent.name))
        | ({"unread_count": mailbox.unread(agent.name)} if tells else {})
        for agent in agents
    ]
    return sorted(shapes, key=lambda shape: str(shape["last_active_ts"]), reverse=True)


# Mail, a few messages at a time: nobody knows how long a message is before it is read.


_AT_ONCE = 20


def received(mailbox: Mailbox, name: str) -> Iterator[Received]:
    """What somebody got, newest first, as far as somebody goes on asking."""
    before = None
    while True:
        page = mailbox.inbox(name, limit=_AT_ONCE, before=before)
        yield from page.messages
        if not page.has_more or not page.messages:
            return
        before = page.messages[-1].stored.id


def found(
    mailbox: Mailbox, query: Query, limit: int, before: int | None = None
) -> Iterator[StoredMessage]:
    """At most so many messages that match, the latest arrivals first, from before that one on."""
    while limit > 0:
        page = mailbox.search(query, limit=min(limit, _AT_ONCE), before=before)
        yield from page.messages
        limit -= len(page.messages)
        if not page.has_more or not page.messages:
            return
        before = page.messages[-1].id


def backwards(mailbox: Mailbox, thread_id: str) -> Iterator[StoredMessage]:
    """A thread, newest first."""
    before = None
    while True:
        page = mailbox.thread(thread_id, limit=_AT_ONCE, before=before)
        yield from reversed(page.messages)
        if not page.has_earlier or not page.messages:
            return
        before = page.messages[0].id


# Messages as tools and resources answer them, in the form of Agent Mail.
#
# Each has `trust` besides: how it is known who sent it. Mail that began its own thread has the ID
# of
# that thread, where Agent Mail says null: whoever answers wants to know it.


Shape = dict[str, object]


def message_shape(
    stored: StoredMessage, numbers: Mapping[str, int], *, with_body: bool = True
) -> Shape:
    """A message as a thread has it; `numbers` are those of the agents."""
    message = stored.message
    return {
        "id": stored.id,
        "project_id": PROJECT_ID,
        "sender_id": numbers.get(message.sender, 0),
        "thread_id": message.thread_id,
        "subject": message.subject,
        "importance": str(stored.envelope.importance),
        "ack_required": wants_ack(message),
        "created_ts": written(stored.at),
        "attachments": [],
        **({"body_md": message.body} if with_body else {}),
        "from": message.sender,
        "trust": _trust(stored),
    }


def payload_shape(
    stored: StoredMessage, numbers: Mapping[str, int], *, with_body: bool = True
) -> Shape:
    """A message with its recipients, as its sender sees it."""
    return message_shape(stored, numbers, with_body=with_body) | recipients_shape(stored)


def recipients_shape(stored: StoredMessage) -> Shape:
    """Who got a message, and who as a copy."""
    copies = stored.envelope.cc
    to = [name for name in stored.message.recipients if name not in copies]
    return {"to": to, "cc": list(copies), "bcc": []}


def inbox_shape(
    received: Received, reader: str, numbers: Mapping[str, int], *, with_body: bool
) -> Shape:
    """A message as its recipient finds it in her inbox."""
    kind = "cc" if reader in received.stored.envelope.cc else "to"
    return message_shape(received.stored, numbers, with_body=with_body) | {"kind": kind}


def found_shape(stored: StoredMessage) -> Shape:
    """A message that a search has found. `ack_required` is a number there, and nowhere else."""
    message = stored.message
    return {
        "id": stored.id,
        "subject": message.subject,
        "body_md": message.body,
        "importance": str(stored.envelope.importance),
        "ack_required": int(wants_ack(message)),
        "created_ts": written(stored.at),
        "thread_id": message.thread_id,
        "from": message.sender,
        "trust": _trust(stored),
    }


def arguments_shape(message: Message, envelope: Envelope = PLAIN) -> Shape:
    """The arguments with which `send_message` sends this message."""
    copies = list(envelope.cc)
    is_plain = envelope.importance is Importance.NORMAL
    return {
        "sender_name": message.sender,
        "to": [name for name in message.recipients if name not in copies],
        **({"cc": copies} if copies else {}),
        "subject": message.subject,
        "body_md": message.body,
        "thread_id": message.thread_id,
        "ack_required": wants_ack(message),
        **({} if is_plain else {"importance": str(envelope.importance)}),
    }


def _trust(stored: StoredMessage) -> str | None:
    """None where the home does not tell."""
    return str(stored.envelope.trust) if stored.envelope.trust else None


# How much one answer holds. Nobody reads an answer of a hundred megabytes, and all wait for it.
#
# Beyond that, messages are listed without their bodies, and each says so: what is left out must not
# look like mail that says nothing.


BODY, LEFT_OUT = "body_md", "body_left_out"
_NAMES = ("subject", "thread_id")
_OTHER_BYTES = 400  # of a message, about
_MOST_LISTED_BYTES = 2 * MOST_ANSWERED_BYTES
_HOW = "The answer would be too long: read resource://message/{id}, or ask for fewer messages."


class Room:
    """What an answer still has room for: bodies, and the rest of the messages."""

    def __init__(self, bodies: int = MOST_ANSWERED_BYTES, listed: int = _MOST_LISTED_BYTES) -> None:
        self._bodies = bodies
        self._listed = listed
        self.last: object = None  # the id of the last message whose body had room
        self.is_full = False

    def fitted(self, shape: Shape) -> Shape:
        """A message as it goes into the answer; refused where not even the list has room."""
        self._listed -= _OTHER_BYTES + sum(_size(shape.get(name)) for name in _NAMES)
        if self._listed < 0:
            raise RequestError(ANSWER_TOO_LARGE.at())
        if BODY not in shape:
            return shape
        self._bodies -= _size(shape[BODY])
        self.is_full = self.is_full or self._bodies < 0  # who reads on finds no more of them
        if not self.is_full:
            self.last = shape["id"]
            return shape
        kept = {name: value for name, value in shape.items() if name != BODY}
        return kept | {LEFT_OUT: _HOW.format(id=shape["id"])}


def _size(text: object) -> int:
    return len(text.encode(errors="replace")) if isinstance(text, str) else 0


_URGENT = (Importance.HIGH, Importance.URGENT)
_TIME = "a time in ISO 8601, such as `2025-12-30T12:00:00+00:00`"


class InboxWish(NamedTuple):
    """Whose inbox, and how much of it. Only what came after `since` is wanted, where it is said."""

    name: str
    limit: int
    urgent_only: bool = False
    include_bodies: bool = False
    since: datetime | None = None


def since_time(written: str, argument: str = "since_ts") -> datetime | None:
    """The time that an argument gives; None where it was left out.

    A time that nobody can read is refused: without it all mail would look new.
    """
    if not written:
        return None
    at = instant(written.strip())
    if at is None:
        raise RequestError(INVALID_ARGUMENT.at(name=argument, value=written, expected=_TIME))
    return at


def inbox(mailbox: Mailbox, wish: InboxWish) -> list[Shape]:
    """The messages, newest first."""
    mailbox.agent(wish.name)  # an unknown name has no inbox, however little of it is asked for
    known, room = numbers(mailbox.agents()), Room()
    return [
        room.fitted(inbox_shape(each, wish.name, known, with_body=wish.include_bodies))
        for each in islice(_wanted(mailbox, wish), max(0, wish.limit))
    ]


def _wanted(mailbox: Mailbox, wish: InboxWish) -> Iterator[Received]:
    since = wish.since
    newest = received(mailbox, wish.name)
    newer = takewhile(lambda each: since is None or each.stored.at > since, newest)
    for each in newer:
        if not wish.urgent_only or each.stored.envelope.importance in _URGENT:
            yield each


# What a thread is about, read off its lines. No model is asked: nothing is made up.


_MOST_LISTED = 20  # of each kind
_MOST_EXAMPLES = 3
_MOST_OF_A_BODY = 10_000
_MOST_OF_ALL = 1_000_000
_IN_PART = "Of long messages only the beginning was read."
_POINT = re.compile(r"\s{0,8}(?:[-*+]|[0-9]{1,3}[.)])\s+(?:\[([ xX])\]\s+)?(\S.*)")
_ACTION = re.compile(r"\b(?:TODO|ACTION|FIXME|NEXT|BLOCKED)\b")
_MENTION = re.compile(r"(?<![\w@.])@([A-Za-z][A-Za-z0-9_-]{0,63})")
_DONE = ("x", "X")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")


class Head(NamedTuple):
    """The beginning of a message, and whether it is all of it."""

    stored: StoredMessage
    is_whole: bool


def heads(newest_first: Iterable[StoredMessage]) -> tuple[Head, ...]:
    """What a summary is read off, oldest first. Of very much, the oldest gives its sender only."""
    left = _MOST_OF_ALL
    found = []
    for each in newest_first:
        body = each.message.body
        text = body[: min(_MOST_OF_A_BODY, left)]
        left -= len(text)
        cut = each._replace(message=each.message._replace(body=text))
        found.append(Head(cut, is_whole=len(text) == len(body)))
    return tuple(reversed(found))


def summary_of(read: Sequence[Head]) -> dict[str, object]:
    """Who wrote, the points of their lists, what is to be done, whom they name."""
    messages = [each.stored for each in read]
    lines = [line for each in messages for line in _lines(each.message.body)]
    points = [point for line in lines if (point := _POINT.fullmatch(line))]
    boxes = [point[1] for point in points if point[1]]
    mentions = Counter(name for line in lines for name in _MENTION.findall(line))
    return {
        "participants": sorted({each.message.sender for each in messages}),
        "key_points": _first(point[2].strip() for point in points),
        "action_items": _first(line.strip() for line in lines if _is_action(line)),
        "total_messages": len(messages),
        "open_actions": sum(box not in _DONE for box in boxes),
        "done_actions": sum(box in _DONE for box in boxes),
        "mentions": [
            {"name": name, "count": count}
            for name, count in sorted(mentions.items(), key=lambda each: (-each[1], each[0]))
        ][:_MOST_LISTED],
        **({} if all(each.is_whole for each in read) else {"notice": _IN_PART}),
    }


def examples_of(read: Sequence[Head]) -> list[dict[str, object]]:
    """The first messages, each in a line."""
    return [
        {
            "id": each.id,
            "subject": each.message.subject,
            "from": each.message.sender,
            "created_ts": written(each.at),
        }
        for each in (head.stored for head in read[:_MOST_EXAMPLES])
    ]


def _lines(body: str) -> Iterator[str]:
    """The lines outside of fences: code and deltas are no points of a list."""
    fence = ""
    for line in body.splitlines():
        mark = _FENCE.match(line)
        if fence:
            is_end = mark and mark[1].startswith(fence) and not line.strip().strip(fence[0])
            fence = "" if is_end else fence
        elif mark:
            fence = mark[1]
        else:
            yield line


def _is_action(line: str) -> bool:
    point = _POINT.fullmatch(line)
    return bool(point and point[1]) or _ACTION.search(line) is not None


def _first(texts: Iterable[str]) -> list[str]:
    """Each once, and not too many of them."""
    return list(dict.fromkeys(texts))[:_MOST_LISTED]


# Who acts: how far it is believed that a caller is the one whom it names.


_SHOW = (
    "Show the secret that registering gave you, as `sender_token` or `registration_token`. A name "
    "that nobody has claimed is claimed by `register_agent`."
)
_OPERATORS = (
    "The operator makes the secret with `brenner agent secret`, and shows it as `sender_token` or "
    "`registration_token`."
)
_IN_THE_CONNECTION = (
    f"The secret that came with the connection (the header `{SECRET_HEADER}`, or {SECRET}) is "
    "nobody's here; perhaps it was replaced. Show the right one in the call, or tell the operator: "
    "what comes with the connection has to be your own secret, or nothing."
)
_NO_SECRETS = "The store of this project keeps no secrets: {reason}."


def acting(call: Call, name: str, token: str = "") -> Trust:
    """How far the caller is believed to be the one of that name; where not at all, it is refused.

    A secret that is wrong is always refused. One that is right, now or earlier on the same
    connection, is believed as long as it is the name's: a new one ends what the old one began.
    With a connection may come the secret of another name: one program may run several agents.
    """
    kept = _kept(call, name)
    caller = call.caller
    if token and not is_secret_of(kept, token):
        raise RequestError(codes.WRONG_SECRET.at(name=name))
    if kept is not None and (
        token
        or caller.bindings.speaks_for(caller.connection, name, kept)
        or (caller.secret and is_secret_of(kept, caller.secret))
    ):
        caller.bindings.bind(caller.connection, name, kept)
        return Trust.VERIFIED
    check_connection(call, name)
    if name == call.workspace.project.operator:
        raise RequestError(
            codes.OPERATOR_NEEDS_SECRET.at(name=name, advice=_advice(call, _OPERATORS))
        )
    if caller.is_strict:
        raise RequestError(codes.SECRET_NEEDED.at(name=name, advice=_advice(call, _SHOW)))
    return Trust.UNVERIFIED


def check_connection(call: Call, name: str) -> None:
    """Refuse who shows a secret with the connection that nobody has: she wants to be believed."""
    secret, mailbox = call.caller.secret, call.workspace.mailbox
    if not secret or not is_like_a_secret(secret) or Capability.SECRETS in mailbox.lacks:
        return
    if name_of_secret(mailbox, secret) is None:
        found = codes.WRONG_SECRET.at(name=name)
        raise RequestError(found._replace(fix=_IN_THE_CONNECTION))


def doubts(call: Call, name: str, trust: Trust) -> list[Diagnostic]:
    """What to tell somebody who is not believed, though she could be.

    It is asked before a message is stored: afterwards nothing may fail.
    """
    mailbox, secret = call.workspace.mailbox, call.caller.secret
    if trust is Trust.VERIFIED:
        return []
    owner = name_of_secret(mailbox, secret) if secret else None
    if owner is not None:
        return [codes.OTHER_NAMES_SECRET.at(owner=owner, name=name)]
    is_claimed = kept_digest(mailbox, name) is not None
    return [codes.STORED_UNVERIFIED.at(name=name)] if is_claimed else []


def _kept(call: Call, name: str) -> str | None:
    """What is kept of the name's secret; of the operator's, also before a store knows her."""
    try:
        return kept_digest(call.workspace.mailbox, name)
    except RequestError as refused:
        if refused.diagnostic.code != NO_SUCH_AGENT or name != call.workspace.project.operator:
            raise
        return None


def _advice(call: Call, advice: str) -> str:
    """What to do, or why nothing can be done."""
    reason = call.workspace.mailbox.lacks.get(Capability.SECRETS)
    return advice if reason is None else _NO_SECRETS.format(reason=reason)


# Who calls one of our own tools, where the call itself need not say so.


AGENT = Argument("agent", about="your name; may be left out once registered on this connection")
TOKEN = Argument("sender_token")


def agent_of(call: Call) -> str:
    """The name that was given, or the only one that the connection speaks for."""
    given = call.text(AGENT.name).strip()
    if given:
        return given
    names = sorted(call.caller.bindings.names(call.caller.connection) or _of_secret(call))
    if len(names) == 1:
        return names[0]
    raise RequestError(WHO_ARE_YOU.at(names=f"{len(names)} names" if names else "nobody"))


class Reader(NamedTuple):
    """Who reads, and how far that is believed.

    `is_proven` also where nobody has a secret: then nobody will show it.
    """

    agent: str
    trust: Trust
    is_proven: bool


def reader_of(call: Call) -> Reader | None:
    """Who reads; None where it is not said, for reading needs no name. A wrong secret is wrong."""
    try:
        agent = agent_of(call)
        trust = acting(call, agent, call.text(TOKEN.name))
    except RequestError as refused:
        if refused.diagnostic.code is WRONG_SECRET:
            raise
        return None
    is_claimed = kept_digest(call.workspace.mailbox, agent) is not None
    return Reader(agent, trust, trust is Trust.VERIFIED or not is_claimed)


def note_fetched(call: Call, reader: Reader, thread_id: str, version: int) -> None:
    """Note that the reader has this version now.

    What an unproven one has fetched is the base of what the proven one writes only on the very
    same connection: nobody else can choose what her words are about.
    """
    fetched, connection = call.caller.fetched, call.caller.connection
    fetched.note(_believed(reader.agent, reader.trust), thread_id, version)
    if connection is not None:
        fetched.note(_over(reader.agent, connection), thread_id, version)


def last_fetched(call: Call, agent: str, trust: Trust, thread_id: str) -> int | None:
    """What she builds on: the last version that she has fetched, being believed as far as now.

    What came over the same connection is hers, too. Only the latest version is ever fetched, so
    that of two the later is the higher.
    """
    names = [_believed(agent, trust)]
    if call.caller.connection is not None:
        names.append(_over(agent, call.caller.connection))
    found = (call.caller.fetched.last(name, thread_id) for name in names)
    return max((each for each in found if each is not None), default=None)


def _believed(agent: str, trust: Trust) -> str:
    return agent if trust is Trust.VERIFIED else f"{agent} ({trust.value})"


def _over(agent: str, connection: str) -> str:
    return f"{agent} over {connection}"


def _of_secret(call: Call) -> list[str]:
    """The name whose secret came with the connection."""
    secret = call.caller.secret
    name = name_of_secret(call.workspace.mailbox, secret) if secret else None
    return [name] if name else []
