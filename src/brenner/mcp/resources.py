"""What can be read by address, in the form of Agent Mail. Reading needs no identity."""

from collections.abc import Iterator
from datetime import datetime
from operator import itemgetter

from brenner.diagnostics.codes.serving import INVALID_ARGUMENT
from brenner.diagnostics.model import RequestError
from brenner.mail.model import Reservation, StoredMessage
from brenner.mail.rules import order
from brenner.mail.search import Query
from brenner.mcp import agent_mail_format
from brenner.mcp.agent_mail_format import (
    InboxWish,
    Room,
    Shape,
    inbox,
    message_shape,
    payload_shape,
    since_time,
    written,
)
from brenner.mcp.tool import Call, Resource

_MOST, _LONGEST_NUMBER = 20, 18
_FLAGS = {"": False, "true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_NOTICE = "This server has one project: these are all its agents."


def _project(call: Call) -> object:
    agent_mail_format.check(call, call.text("slug"))
    return agent_mail_format.shape(call) | {
        "agents": agent_mail_format.everybody(call.workspace.mailbox)
    }


def _projects(call: Call) -> object:
    return [agent_mail_format.shape(call)]


def _agents(call: Call) -> object:
    """The agents of a project, and how many messages there are: who has looked before sees at once
    whether there is anything new.
    """
    agent_mail_format.check(call, call.text("project_key"))
    project = agent_mail_format.shape(call)
    return {
        "_notice": _NOTICE,
        "project": {name: project[name] for name in ("slug", "human_key")},
        "agents": agent_mail_format.everybody(call.workspace.mailbox, with_unread=True),
        "messages_so_far": call.workspace.mailbox.position(),
    }


def _all_agents(call: Call) -> object:
    project = agent_mail_format.shape(call)
    home = {"project_slug": project["slug"], "project_human_key": project["human_key"]}
    everybody = agent_mail_format.everybody(call.workspace.mailbox, with_unread=True)
    return {"agents": [agent | home for agent in everybody], "total": len(everybody)}


def _inbox(call: Call) -> object:
    agent_mail_format.check(call, call.text("project"))
    name = call.text("agent")
    wish = InboxWish(
        name,
        _limit(call),
        urgent_only=_flag(call, "urgent_only"),
        include_bodies=_flag(call, "include_bodies"),
        since=since_time(call.text("since_ts")),
    )
    return _listed(call, name, inbox(call.workspace.mailbox, wish))


def _outbox(call: Call) -> object:
    """What somebody sent. Where not all bodies have room, it says before which message to go on."""
    agent_mail_format.check(call, call.text("project"))
    name, bodies = call.text("agent"), _flag(call, "include_bodies")
    known, room = agent_mail_format.numbers(call.workspace.mailbox.agents()), Room()
    shapes = [
        (order(each), room.fitted(payload_shape(each, known, with_body=bodies) | {"commit": None}))
        for each in _sent(call, name)
    ]
    newest_first = sorted(shapes, key=itemgetter(0), reverse=True)
    document = _listed(call, name, [shape for _, shape in newest_first])
    return document | ({"bodies_before": room.last} if room.is_full else {})


def _sent(call: Call, name: str) -> Iterator[StoredMessage]:
    """What somebody sent after a time, which a search counts in; the latest arrivals first."""
    mailbox, since = call.workspace.mailbox, since_time(call.text("since_ts"))
    before = _number(call, "before") if call.text("before") else None
    mailbox.agent(name)
    query = Query(senders=(name,), after=since)
    for each in agent_mail_format.found(mailbox, query, _limit(call), before):
        if since is None or each.at > since:
            yield each


def _listed(call: Call, name: str, messages: list[Shape]) -> Shape:
    return {
        "project": agent_mail_format.key_of(call.workspace.project),
        "agent": name,
        "count": len(messages),
        "messages": messages,
    }


def _thread(call: Call) -> object:
    """A thread by its ID and nothing else: a number there is no message's."""
    agent_mail_format.check(call, call.text("project"))
    thread_id, bodies = call.text("thread_id"), _flag(call, "include_bodies")
    mailbox = call.workspace.mailbox
    known = agent_mail_format.numbers(mailbox.agents())
    room = Room()
    shapes = [
        room.fitted(message_shape(each, known, with_body=bodies))
        for each in agent_mail_format.backwards(mailbox, thread_id)
    ]
    return {
        "project": agent_mail_format.key_of(call.workspace.project),
        "thread_id": thread_id,
        "messages": shapes[::-1],
    }


def _message(call: Call) -> object:
    agent_mail_format.check(call, call.text("project"))
    mailbox = call.workspace.mailbox
    stored = mailbox.message(_number(call, "message_id"))
    return payload_shape(stored, agent_mail_format.numbers(mailbox.agents()))


def _reservations(call: Call) -> object:
    """Those that hold now. What has ended is not kept, so `active_only` changes nothing."""
    agent_mail_format.check(call, call.text("slug"))
    _flag(call, "active_only")
    mailbox = call.workspace.mailbox
    held = mailbox.reservations()
    sent = {
        name: agent_mail_format.last_sent(mailbox, name) for name in {each.agent for each in held}
    }
    return [_reservation(each, sent[each.agent]) for each in held]


def _reservation(one: Reservation, sent: datetime | None) -> Shape:
    """Whether it is forgotten we do not judge: when its owner was active last tells others."""
    return {
        "id": one.id,
        "agent": one.agent,
        "path_pattern": one.pattern,
        "exclusive": one.exclusive,
        "reason": one.reason,
        "created_ts": written(one.created_at),
        "expires_ts": written(one.expires_at),
        "released_ts": None,
        "stale": False,
        "stale_reasons": [],
        "last_agent_activity_ts": written(max(one.created_at, sent or one.created_at)),
        "last_mail_activity_ts": written(sent) if sent else None,
        "last_filesystem_activity_ts": None,
        "last_git_activity_ts": None,
    }


def _limit(call: Call) -> int:
    return max(0, _number(call, "limit")) if call.text("limit") else _MOST


def _number(call: Call, name: str) -> int:
    text = call.text(name).strip()
    if not text.isascii() or not text.isdigit() or len(text) > _LONGEST_NUMBER:
        raise _invalid(call, name, "a whole number, such as `20`")
    return int(text)


def _flag(call: Call, name: str) -> bool:
    value = _FLAGS.get(call.text(name).strip().lower())
    if value is None:
        raise _invalid(call, name, "`true` or `false`")
    return value


def _invalid(call: Call, name: str, expected: str) -> RequestError:
    return RequestError(INVALID_ARGUMENT.at(name=name, value=call.text(name), expected=expected))


RESOURCES: tuple[Resource, ...] = (
    Resource("resource://projects", "projects", "The project.", _projects),
    Resource("resource://project/{slug}", "project", "The project and its agents.", _project),
    Resource("resource://agents", "all-agents", "Who is known.", _all_agents),
    Resource("resource://agents/{project_key}", "agents", "Who is known.", _agents),
    Resource(
        "resource://inbox/{agent}{?project,since_ts,urgent_only,include_bodies,limit}",
        "inbox",
        "What an agent got, newest first.",
        _inbox,
    ),
    Resource(
        "resource://outbox/{agent}{?project,since_ts,include_bodies,limit,before}",
        "outbox",
        "What an agent sent, newest first.",
        _outbox,
    ),
    Resource(
        "resource://thread/{thread_id*}{?project,include_bodies}",
        "thread",
        "A thread, oldest first.",
        _thread,
    ),
    Resource("resource://message/{message_id}{?project}", "message", "One message.", _message),
    Resource(
        "resource://file_reservations/{slug}{?active_only}",
        "file_reservations",
        "Files that agents are at work on.",
        _reservations,
    ),
)
