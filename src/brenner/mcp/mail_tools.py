"""The tools for mail, under the names and in the forms of Agent Mail."""

from brenner.diagnostics.model import BrennerError
from brenner.mail.model import Envelope, Importance
from brenner.mail.rules import unknown_thread
from brenner.mail.search import Query
from brenner.mcp import identity, project_key, told
from brenner.mcp.directory import written
from brenner.mcp.inboxes import InboxWish, inbox, since_time
from brenner.mcp.pages import backwards, found
from brenner.mcp.room import Room
from brenner.mcp.searching import asked_for
from brenner.mcp.sending import reply_message, send_message
from brenner.mcp.shapes import found_shape
from brenner.mcp.summaries import examples_of, heads, summary_of
from brenner.mcp.tool import Answer, Argument, Call, Kind, Tool
from brenner.services.acknowledge import Acknowledgement, send_ack
from brenner.services.send import trouble

_MOST_SHOWN = 20
_NOT_MARKED = "it could not be noted that you have read what it acknowledges"
_NOT_TOLD = "it is not known when you have read what it acknowledges"


# What a recipient does


def _mark_message_read(call: Call) -> Answer:
    project_key.check(call, call.text("project_key"))
    name, message_id = call.text("agent_name"), call.number("message_id") or 0
    identity.acting(call, name, call.text("registration_token"))
    call.desk.mailbox.mark(name, [message_id], is_read=True)
    read_at, _ = _read_at(call, name, message_id)
    return Answer({"message_id": message_id, "read": True, "read_at": read_at})


def _acknowledge_message(call: Call) -> Answer:
    project_key.check(call, call.text("project_key"))
    name, message_id = call.text("agent_name"), call.number("message_id") or 0
    trust = identity.acting(call, name, call.text("registration_token"))
    said = Acknowledgement(name, message_id, envelope=Envelope(trust=trust))
    sent, unmarked = send_ack(call.desk.mailbox, said)
    ack = sent.stored
    read_at, failed = _read_at(call, name, message_id)
    value = {
        "message_id": message_id,
        "acknowledged": True,
        "acknowledged_at": written(ack.at),
        "read_at": read_at,
        "ack_message_id": ack.id,
    }
    error = unmarked or failed
    if error:  # it is sent: what fails after it must not look like a failure to send
        found = trouble(ack.id, _NOT_MARKED if unmarked else _NOT_TOLD, error)
        value["violations"] = [told.in_tools(found).to_json()]
    return Answer(value)


def _read_at(call: Call, name: str, message_id: int) -> tuple[str | None, BrennerError | None]:
    """When she has read it, None where the home does not tell; and why that cannot be said."""
    try:
        deliveries = call.desk.mailbox.deliveries(message_id)
    except BrennerError as error:
        return None, error
    times = [each.read_at for each in deliveries if each.recipient == name and each.read_at]
    return written(times[0]) if times else None, None


# Reading


def _fetch_inbox(call: Call) -> Answer:
    project_key.check(call, call.text("project_key"))
    wish = InboxWish(
        call.text("agent_name"),
        _limit(call),
        urgent_only=bool(call.flag("urgent_only")),
        include_bodies=bool(call.flag("include_bodies")),
        since=since_time(call.text("since_ts")),
    )
    return Answer(inbox(call.desk.mailbox, wish))


def _search_messages(call: Call) -> Answer:
    project_key.check(call, call.text("project_key"))
    query = asked_for(call.text("query"))
    if not isinstance(query, Query):
        return told.refused(query)
    room, hits = Room(), found(call.desk.mailbox, query, _limit(call))
    return Answer({"result": [room.fitted(found_shape(each)) for each in hits]})  # in the text, too


def _summarize_thread(call: Call) -> Answer:
    project_key.check(call, call.text("project_key"))
    thread_id, mailbox = call.text("thread_id"), call.desk.mailbox
    messages = heads(backwards(mailbox, thread_id))
    if not messages:
        raise unknown_thread(thread_id, [each.thread_id for each in mailbox.threads()])
    examples = examples_of(messages) if call.flag("include_examples") else []
    return Answer({"thread_id": thread_id, "summary": summary_of(messages), "examples": examples})


def _limit(call: Call) -> int:
    limit = call.number("limit")
    return _MOST_SHOWN if limit is None else limit


# The table

_PROJECT = Argument("project_key")
_AGENT = Argument("agent_name", required=True)
_MESSAGE = Argument("message_id", Kind.NUMBER, required=True)
_SENDER = Argument("sender_name", required=True)
_BODY = Argument("body_md", required=True)
_LIMIT = Argument("limit", Kind.NUMBER, default=_MOST_SHOWN)
_TO, _CC, _BCC = (Argument(name, Kind.TEXTS) for name in ("to", "cc", "bcc"))
_SENDER_TOKEN, _TOKEN = Argument("sender_token"), Argument("registration_token")

TOOLS: tuple[Tool, ...] = (
    Tool(
        "send_message",
        "Send Markdown mail. A subject with a protocol prefix (DELTA[gpt]: …) is checked; if "
        "refused, send `corrected`. For deltas prefer brenner_post.",
        (
            *(_PROJECT, _SENDER, _TO, Argument("subject", required=True), _BODY, _CC, _BCC),
            Argument("attachment_paths", Kind.TEXTS),
            Argument("convert_images", Kind.FLAG),
            Argument("importance", default="normal", choices=tuple(map(str, Importance))),
            Argument("ack_required", Kind.FLAG),
            Argument("thread_id"),
            Argument("auto_contact_if_blocked", Kind.FLAG),
            _SENDER_TOKEN,
        ),
        send_message,
    ),
    Tool(
        "reply_message",
        "Answer a message in its thread, as mail to be read. To contribute, use send_message or "
        "brenner_post.",
        (
            *(_PROJECT, _MESSAGE, _SENDER, _BODY, _TO, _CC, _BCC),
            Argument("subject_prefix", default="Re:"),
            _SENDER_TOKEN,
        ),
        reply_message,
    ),
    Tool(
        "fetch_inbox",
        "Your mail, newest first. Reading marks nothing as read.",
        (
            *(_PROJECT, _AGENT, _LIMIT),
            Argument("urgent_only", Kind.FLAG, default=False),
            Argument("include_bodies", Kind.FLAG, default=False),
            Argument("since_ts", about="ISO 8601, exclusive"),
        ),
        _fetch_inbox,
        is_read_only=True,
    ),
    Tool(
        "mark_message_read",
        "Mark a message as read.",
        (_AGENT, _MESSAGE, _PROJECT, _TOKEN),
        _mark_message_read,
    ),
    Tool(
        "acknowledge_message",
        "Acknowledge a message: posts the ACK that you owe.",
        (_AGENT, _MESSAGE, _PROJECT, _TOKEN),
        _acknowledge_message,
    ),
    Tool(
        "search_messages",
        'Find mail: words, "phrases", type:DELTA, from:NAME, thread:ID, item:H2, after:2025-12-30.',
        (_PROJECT, Argument("query", required=True), _LIMIT),
        _search_messages,
        is_read_only=True,
    ),
    Tool(
        "summarize_thread",
        "Who wrote in a thread, list points, open tasks.",
        (
            *(_PROJECT, Argument("thread_id", required=True)),
            Argument("include_examples", Kind.FLAG, default=False),
            Argument("llm_mode", Kind.FLAG),
            Argument("llm_model"),
        ),
        _summarize_thread,
        is_read_only=True,
    ),
)
