"""Projects, agents, messages and inboxes as JSON, in the form of Agent Mail. Reading changes
nothing.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from datetime import UTC, datetime
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from brenner.diagnostics.codes.serving import (
    ANSWER_TOO_LARGE,
    INVALID_ARGUMENT,
    OTHER_PROJECT,
)
from brenner.diagnostics.model import RequestError
from brenner.lazy_pattern import lazy_pattern
from brenner.limits import MOST_ANSWERED_BYTES
from brenner.mail.mailbox import Capability, Mailbox
from brenner.mail.search import Query, parse_time
from brenner.protocol.message_types import KICKOFF, wants_ack
from brenner.protocol.messages import DEFAULT_ENVELOPE, Envelope, Importance, StoredMessage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from brenner.config import Project
    from brenner.mail.model import Agent, InboxMessage
    from brenner.mcp.tool import Call
    from brenner.protocol.messages import Message

# The project: a server has one, and mail for another is refused


# `os.path.realpath` also works for a folder without access.
# ruff: noqa: PTH117


PROJECT_ID = 1
_MARKS = lazy_pattern(r"[^a-z0-9]+")
_UNNAMED = "project"
_KEYS = ("project_key", "human_key", "project", "slug")  # of tools and of resources


def check_project_key(call: Call) -> None:
    """Raise RequestError if an argument is the key of another project.

    Valid keys are the project's folder, any folder inside it (an agent starts where it works) and
    the slug. An empty key means the served project.
    """
    project = call.workspace.project
    for key in filter(None, map(call.text, _KEYS)):
        if key != project_slug(project) and not _is_in(str(project.folder), key):
            raise RequestError(OTHER_PROJECT.at(key=key, folder=key_of(project)))


def key_of(project: Project) -> str:
    """Return the project key for answers, whichever key the caller used."""
    return str(project.folder).encode("utf-8", "replace").decode()


def project_slug(project: Project) -> str:
    """Return the folder as one word, as Agent Mail does."""
    return _MARKS.sub("-", str(project.folder).lower()).strip("-") or _UNNAMED


def project_json(call: Call) -> dict[str, object]:
    """Return the project. It was created when the first agent registered, or now."""
    project = call.workspace.project
    times = [agent.registered_at for agent in call.workspace.mailbox.agents()]
    return {
        "id": PROJECT_ID,
        "slug": project_slug(project),
        "human_key": key_of(project),
        "created_at": min(times, default=datetime.now(UTC)).isoformat(timespec="microseconds"),
    }


def _is_in(folder: str, key: str) -> bool:
    """Return whether a key is the path of a folder or of something inside it, with links
    resolved.
    """
    if not os.path.isabs(key):
        return False
    try:
        path, home = os.path.realpath(key), os.path.realpath(folder)
        return os.path.commonpath((path, home)) == home
    except (ValueError, OSError):  # what cannot be a path is none
        return False


# Agents


def format_time(at: datetime) -> str:
    """Format a time as all answers do."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def agent_numbers(agents: Iterable[Agent]) -> dict[str, int]:
    """Return a number for each agent: its position in the order of registration."""
    by_age = sorted(agents, key=lambda agent: (agent.registered_at, agent.name))
    return {agent.name: number for number, agent in enumerate(by_age, 1)}


def agent_json(agent: Agent, number: int = 0, last: datetime | None = None) -> dict[str, object]:
    """Return one agent. It was last active when it sent a message or registered.

    The number is 0 if the position among the others is unknown.
    """
    active = max(agent.registered_at, last or agent.registered_at)
    return {
        "id": number,
        "name": agent.name,
        "program": agent.program,
        "model": agent.model,
        "task_description": agent.task,
        "inception_ts": format_time(agent.registered_at),
        "last_active_ts": format_time(active),
        "project_id": PROJECT_ID,
        "attachments_policy": "auto",
        "contact_policy": "auto",
        "is_active": True,
        "deleted_ts": None,
        "is_placeholder": False,
    }


def last_sent(mailbox: Mailbox, name: str) -> datetime | None:
    sent = mailbox.search(Query(senders=(name,)), limit=1).messages
    return sent[0].at if sent else None


def agent_with_number(mailbox: Mailbox, agent: Agent) -> dict[str, object]:
    number = agent_numbers(mailbox.agents())[agent.name]
    return agent_json(agent, number, last_sent(mailbox, agent.name))


def all_agents(mailbox: Mailbox, *, with_unread: bool = False) -> list[dict[str, object]]:
    """Return all agents, most recently active first.

    Omit the unread count if the store does not track it.
    """
    agents = mailbox.agents()
    known = agent_numbers(agents)
    tells = with_unread and Capability.READ_MARKS not in mailbox.lacks
    shapes = [
        agent_json(agent, known[agent.name], last_sent(mailbox, agent.name))
        | ({"unread_count": mailbox.unread(agent.name)} if tells else {})
        for agent in agents
    ]
    return sorted(shapes, key=lambda shape: str(shape["last_active_ts"]), reverse=True)


# Mail in small pages: the size of a message is unknown before it is read


_AT_ONCE = 20


def iterate_inbox(mailbox: Mailbox, name: str) -> Iterator[InboxMessage]:
    """Yield what an agent received, newest first, one page at a time."""
    before = None
    while True:
        page = mailbox.inbox(name, limit=_AT_ONCE, before=before)
        yield from page.messages
        if not page.has_more or not page.messages:
            return
        before = page.messages[-1].stored.id


def iterate_search(
    mailbox: Mailbox, query: Query, limit: int, before: int | None = None
) -> Iterator[StoredMessage]:
    """Yield at most `limit` matching messages, latest arrivals first, from before `before` on."""
    while limit > 0:
        page = mailbox.search(query, limit=min(limit, _AT_ONCE), before=before)
        yield from page.messages
        limit -= len(page.messages)
        if not page.has_more or not page.messages:
            return
        before = page.messages[-1].id


def iterate_thread(mailbox: Mailbox, thread_id: str) -> Iterator[StoredMessage]:
    """Yield the messages of a thread, newest first."""
    before = None
    while True:
        page = mailbox.thread(thread_id, limit=_AT_ONCE, before=before)
        yield from reversed(page.messages)
        if not page.has_earlier or not page.messages:
            return
        before = page.messages[0].id


# Messages
#
# Each also has `trust`: how the sender is known. A message that began its own thread has the ID of
# that thread, where Agent Mail has null: a reply needs it.


JsonObject = dict[str, object]


def message_json(
    stored: StoredMessage, numbers: Mapping[str, int], *, with_body: bool = True
) -> JsonObject:
    """Return a message as a thread lists it. `numbers` are those of the agents."""
    message = stored.message
    return {
        "id": stored.id,
        "project_id": PROJECT_ID,
        "sender_id": numbers.get(message.sender, 0),
        "thread_id": message.thread_id,
        "subject": "" if stored.is_sealed else message.subject,
        **({"sealed": True, "type": stored.type} if stored.is_sealed else {}),
        "importance": str(stored.envelope.importance),
        "ack_required": wants_ack(message),
        "created_ts": format_time(stored.at),
        "attachments": [],
        **({"body_md": "" if stored.is_sealed else message.body} if with_body else {}),
        "from": message.sender,
        "trust": _trust(stored),
    }


def sent_json(
    stored: StoredMessage, numbers: Mapping[str, int], *, with_body: bool = True
) -> JsonObject:
    """Return a message with its recipients, as its sender sees it."""
    return message_json(stored, numbers, with_body=with_body) | recipients_json(stored)


def recipients_json(stored: StoredMessage) -> JsonObject:
    copies = stored.envelope.cc
    to = [name for name in stored.message.recipients if name not in copies]
    return {"to": to, "cc": list(copies), "bcc": []}


def inbox_json(
    received: InboxMessage, reader: str, numbers: Mapping[str, int], *, with_body: bool
) -> JsonObject:
    """Return a message as its recipient finds it in the inbox."""
    kind = "cc" if reader in received.stored.envelope.cc else "to"
    return message_json(received.stored, numbers, with_body=with_body) | {"kind": kind}


def search_hit_json(stored: StoredMessage) -> JsonObject:
    """Return a search result. `ack_required` is a number here, and nowhere else."""
    message = stored.message
    return {
        "id": stored.id,
        "subject": message.subject,
        "body_md": message.body,
        "importance": str(stored.envelope.importance),
        "ack_required": int(wants_ack(message)),
        "created_ts": format_time(stored.at),
        "thread_id": message.thread_id,
        "from": message.sender,
        "trust": _trust(stored),
    }


def send_arguments(message: Message, envelope: Envelope = DEFAULT_ENVELOPE) -> JsonObject:
    """Return the arguments with which `send_message` sends this message."""
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
    """Return the trust in the sender; None if the store does not record it."""
    return str(stored.envelope.trust) if stored.envelope.trust else None


# The size of a response
#
# Beyond the limit, messages are listed without their bodies, and each says so: an omitted body must
# not look like an empty one.


BODY, LEFT_OUT = "body_md", "body_left_out"
_NAMES = ("subject", "thread_id")
_OTHER_BYTES = 400  # of a message, about
_MOST_LISTED_BYTES = 2 * MOST_ANSWERED_BYTES
_HOW = "The result would be too long: read resource://message/{id}, or fetch fewer messages."


class ResponseSize:
    """The remaining size of one response: for bodies, and for the rest of the messages."""

    def __init__(self, bodies: int = MOST_ANSWERED_BYTES, listed: int = _MOST_LISTED_BYTES) -> None:
        self._bodies = bodies
        self._listed = listed
        self.last: object = None  # the id of the last message whose body had room
        self.is_full = False

    def fitted(self, shape: JsonObject) -> JsonObject:
        """Return the message for the response, without its body if that does not fit.

        Raise RequestError if not even the list fits.
        """
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


def since_time(written: str, argument: str = "since_ts") -> datetime | None:
    """Parse the time in an argument; None if it is missing.

    Raise RequestError if it is malformed: without it all mail would look new.
    """
    if not written:
        return None
    at = parse_time(written.strip())
    if at is None:
        raise RequestError(INVALID_ARGUMENT.at(name=argument, value=written, expected=_TIME))
    return at


def inbox(  # noqa: PLR0913  (one parameter per argument of the tools)
    mailbox: Mailbox,
    name: str,
    limit: int,
    *,
    urgent_only: bool = False,
    include_bodies: bool = False,
    since: datetime | None = None,
) -> list[JsonObject]:
    """Return the messages, newest first; with `since` only those after that time."""
    mailbox.agent(name)  # an unknown name has no inbox, however little of it is asked for
    known, room = agent_numbers(mailbox.agents()), ResponseSize()
    newest = iterate_inbox(mailbox, name)
    newer = takewhile(lambda each: since is None or each.stored.at > since, newest)
    wanted = (
        each for each in newer if not urgent_only or each.stored.envelope.importance in _URGENT
    )
    return [
        room.fitted(inbox_json(each, name, known, with_body=include_bodies))
        for each in islice(wanted, max(0, limit))
    ]


# Summaries, extracted from the lines of a thread without a language model


_MOST_LISTED = 20  # of each kind
_MOST_EXAMPLES = 3
_MOST_OF_A_BODY = 10_000
_MOST_OF_ALL = 1_000_000
_IN_PART = "Only the beginning of long messages was read."
_POINT = lazy_pattern(r"\s{0,8}(?:[-*+]|[0-9]{1,3}[.)])\s+(?:\[([ xX])\]\s+)?(\S.*)")
_ACTION = lazy_pattern(r"\b(?:TODO|ACTION|FIXME|NEXT|BLOCKED)\b")
_MENTION = lazy_pattern(r"(?<![\w@.])@([A-Za-z][A-Za-z0-9_-]{0,63})")
_DONE = ("x", "X")
# The role and the instructions of a kickoff: lists that are no points of the discussion
_TECHNICAL_PART = lazy_pattern(
    r"^## (?:Session Configuration|Your Role|How to Contribute)[ \t]*$", re.MULTILINE
)
_FENCE = lazy_pattern(r"\s*(`{3,}|~{3,})")


def read_heads(newest_first: Iterable[StoredMessage]) -> tuple[list[StoredMessage], bool]:
    """Return what a summary reads, oldest first, and whether that is all of every message.

    Beyond the limit, older messages give only their sender.
    """
    left, is_whole = _MOST_OF_ALL, True
    found = []
    for each in newest_first:
        body = each.message.body
        text = body[: min(_MOST_OF_A_BODY, left)]
        left -= len(text)
        is_whole = is_whole and len(text) == len(body)
        found.append(each._replace(message=each.message._replace(body=text)))
    return found[::-1], is_whole


def summarise(messages: Sequence[StoredMessage], *, is_whole: bool) -> dict[str, object]:
    """Return participants, list items, action items and mentioned names."""
    lines = [line for each in messages for line in _lines(_written_for_the_round(each))]
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
        **({} if is_whole else {"notice": _IN_PART}),
    }


def first_messages(messages: Sequence[StoredMessage]) -> list[dict[str, object]]:
    """Return the first messages, one line each."""
    return [
        {
            "id": each.id,
            "subject": "" if each.is_sealed else each.message.subject,
            **({"sealed": True} if each.is_sealed else {}),
            "from": each.message.sender,
            "created_ts": format_time(each.at),
        }
        for each in messages[:_MOST_EXAMPLES]
    ]


def _written_for_the_round(stored: StoredMessage) -> str:
    """Return the body; of a KICKOFF without the parts that are the same in every session."""
    body = stored.message.body
    if stored.type != KICKOFF.name:
        return body
    technical = _TECHNICAL_PART.search(body)
    return body[: technical.start()] if technical else body


def _lines(body: str) -> Iterator[str]:
    """Yield the lines outside fences: code and deltas are not list items."""
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
    """Return each text once, up to a limit."""
    return list(dict.fromkeys(texts))[:_MOST_LISTED]
