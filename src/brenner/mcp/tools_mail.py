"""Tools for mail, with the names and forms of Agent Mail."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING

from brenner.diagnostics.codes import serving as codes
from brenner.diagnostics.codes.serving import SEARCH_OPERATOR
from brenner.diagnostics.model import BrennerError, Diagnostic
from brenner.lazy_pattern import lazy_pattern
from brenner.mail.rules import unknown_sender, unknown_thread_error
from brenner.mail.search import Query, parse_query, query_too_long
from brenner.mcp import agent_mail_format, identity
from brenner.mcp import errors as told
from brenner.mcp.agent_mail_format import (
    JsonObject,
    agent_numbers,
    first_messages,
    format_time,
    inbox,
    iterate_search,
    iterate_thread,
    read_heads,
    response_size,
    search_hit_json,
    send_arguments,
    sent_json,
    since_time,
    summarise,
)
from brenner.mcp.errors import violation_json, violation_lines
from brenner.mcp.tool import Argument, ArgumentKind, Call, Tool, ToolResult
from brenner.mcp.untrusted_text import framed_result
from brenner.named_tuple import NamedTuple
from brenner.protocol.message_types import ACK_STATUSES, wants_ack
from brenner.protocol.messages import (
    Envelope,
    Importance,
    Message,
    StoredMessage,
    without_control,
)
from brenner.protocol.subjects import parse_subject
from brenner.protocol.validate import check_composed
from brenner.services.acknowledge import RECEIVED, send_ack
from brenner.services.receive import (
    IncomingMessage,
    Receipt,
    explain_role_in_subject,
    receive,
)
from brenner.services.send import stored_with_warning
from brenner.services.send_checks import match_by_case, name_notes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from brenner.mail.model import Agent

# Search, in our syntax and in that of Agent Mail


_QUOTED = lazy_pattern(r'("(?:[^"]++|"")*+"?)')
_WORD = lazy_pattern(r"\S+")
_MOST_FAULTS = 50  # a text with more is not a query
_AND = "AND"  # a search always needs all words
_INSTEAD = {
    "OR": "Search twice, once for each side.",
    "NOT": "Search without it, and skip the results that contain the word.",
    "NEAR": 'Use a "phrase", or the words alone.',
    "*": "Write the whole word.",
}


def parse_search(text: str) -> Query | tuple[Diagnostic, ...]:
    """Parse a query in our syntax or Agent Mail's. Return the query, or all faults."""
    too_long = query_too_long(text)
    if too_long:
        return (too_long,)
    parts = _QUOTED.split(text)
    bare = parts[::2]
    faults = tuple(dict.fromkeys(islice(_faults(" ".join(bare)), _MOST_FAULTS)))
    if faults:
        return faults
    parts[::2] = [_without_and(part) for part in bare]
    return parse_query("".join(parts))


def _faults(bare: str) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each operator that we do not support."""
    for word in _WORD.findall(bare):
        plain = word.strip("()")
        name = plain.split("(")[0]
        if word.rstrip(")").endswith("*"):
            yield SEARCH_OPERATOR.at(operator=word, instead=_INSTEAD["*"])
        elif name in _INSTEAD:
            yield SEARCH_OPERATOR.at(operator=name, instead=_INSTEAD[name])


def _without_and(part: str) -> str:
    return _WORD.sub(lambda word: "" if word[0].strip("()") == _AND else word[0], part)


# Sending


def send_message(call: Call) -> ToolResult:
    """Send a message."""
    call, matched = _with_registered_names(call)
    message = Message(
        thread_id=call.text("thread_id"),
        sender=call.text("sender_name"),
        recipients=(*call.texts("to"), *call.texts("cc")),
        subject=call.text("subject"),
        body=call.text("body_md"),
        ack_required=call.flag("ack_required"),
    )
    importance = Importance(call.text("importance") or Importance.NORMAL)
    kept = _send(call, message, importance, name_notes(matched))
    if isinstance(kept, ToolResult):
        return kept
    payload, warnings = kept
    return warnings.beside({**_delivery_json(call, payload), "attachments": []})


def reply_message(call: Call) -> ToolResult:
    """Reply to a message in its thread."""
    call, matched = _with_registered_names(call)
    original = call.workspace.mailbox.message(call.number("message_id") or 0)
    subject = _reply_subject(original, call.text("subject_prefix"))
    message = Message(
        thread_id=original.message.thread_id,
        sender=call.text("sender_name"),
        recipients=(*(call.texts("to") or _reply_recipients(original, call)), *call.texts("cc")),
        subject=subject,
        body=call.text("body_md"),
        # A reply inherits `ack_required`, unless its message type decides.
        ack_required=None if parse_subject(subject) else wants_ack(original.message),
    )
    importance = original.envelope.importance
    kept = _send(call, message, importance, name_notes(matched), original.id)
    if isinstance(kept, ToolResult):
        return kept
    payload, warnings = kept
    return warnings.beside({**payload, "reply_to": original.id, **_delivery_json(call, payload)})


def _with_registered_names(call: Call) -> tuple[Call, dict[str, str]]:
    """Return the call with registered names, and the names that were written in another case.

    `"BlueLake, RedSky"` becomes two names if both are known.
    """
    given = {name: call.texts(name) for name in ("to", "cc")}
    sender = call.text("sender_name")
    mailbox = call.workspace.mailbox
    written = [sender, *(name for texts in given.values() for name in texts)]
    if len(mailbox.agents(written)) == len(set(written)):
        return call, {}
    known = {agent.name for agent in mailbox.agents()}
    by_case = {name.lower(): name for name in known}
    single = {name: [*_split_names(texts, by_case)] for name, texts in given.items()}
    matched = match_by_case([sender, *single["to"], *single["cc"]], known)
    registered = {
        name: [matched.get(each, each) for each in texts] for name, texts in single.items()
    }
    registered_sender = {"sender_name": matched.get(sender, sender)}
    return call._replace(arguments={**call.arguments, **registered, **registered_sender}), matched


def _split_names(texts: Iterable[str], known: Collection[str]) -> Iterator[str]:
    for text in texts:
        parts = [part.strip() for part in text.split(",")]
        yield from parts if all(part.lower() in known for part in parts) else [text]


def _reply_subject(original: StoredMessage, prefix: str) -> str:
    """Return the subject of a reply, without repeating its prefix."""
    subject = without_control(original.message.subject)  # an imported one may have some
    is_there = subject.casefold().startswith(prefix.strip().casefold())
    return subject if is_there else f"{prefix.strip()} {subject}".strip()


def _reply_recipients(original: StoredMessage, call: Call) -> tuple[str, ...]:
    """Return the recipients of a reply: the author, or the original recipients if the author
    replies.
    """
    message = original.message
    if message.sender != call.text("sender_name"):
        return (message.sender,)
    return tuple(name for name in message.recipients if name != message.sender) or (message.sender,)


def _send(
    call: Call,
    message: Message,
    importance: Importance,
    names: list[Diagnostic],
    reply_to: int | None = None,
) -> tuple[JsonObject, SentWarnings] | ToolResult:
    """Store a message if the sender may send it; return an error result if nothing was stored.

    Otherwise return the message and warnings about it.
    """
    agents = call.workspace.mailbox.agents()
    faults = _unsupported_arguments(call) or _unknown_sender(call, message.sender, agents)
    if faults:
        return _not_sent(told.refused_result(faults))
    trust = identity.authenticate_writer(call, message.sender, call.text("sender_token"))
    copies = tuple(name for name in call.texts("cc") if name not in call.texts("to"))
    anyway = call.flag(identity.ANYWAY.name) is True
    letter = IncomingMessage(message, Envelope(importance, copies, trust), reply_to, anyway=anyway)
    doubts = identity.identity_warnings(call, message.sender, trust)
    receipt = receive(call.workspace, letter._replace(is_checked=call.caller.is_checked))
    corrected = _corrected(call, receipt, letter.envelope)
    if receipt.sent is None:
        return _not_sent(told.refused_result(receipt.violations, corrected))
    found = (*receipt.violations, *names, *doubts)
    # No store access from here on: a sent message must not be reported as a failure.
    payload = sent_json(receipt.sent.stored, agent_numbers(agents))
    return payload, _sent_warnings(receipt.sent.stored, found, corrected)


class SentWarnings(NamedTuple):
    """What an agent must not miss about a message that was sent."""

    said: JsonObject
    notes: tuple[str, ...]
    corrected: JsonObject

    def beside(self, value: JsonObject) -> ToolResult:
        """Return the result of sending. Its texts have each warning once: as a note."""
        whole = {**value, **self.said, **self.corrected}
        text = json.dumps(value | self.corrected, ensure_ascii=False, separators=(",", ":"))
        return ToolResult(whole, text if self.notes else None, notes=self.notes)


def _sent_warnings(
    stored: StoredMessage, found: Sequence[Diagnostic], corrected: JsonObject | None
) -> SentWarnings:
    """Return the warnings. What may quote other agents is framed."""
    fix: JsonObject = {"corrected": corrected} if corrected else {}
    if not found:
        return SentWarnings({}, (), fix)
    message = stored.message
    report, _ = check_composed(message)
    own = [explain_role_in_subject(message, each) for each in report.violations]
    title = f"Message {stored.id} was sent, with these warnings:"
    violations = [violation_json(each, own) for each in found]
    framed = framed_result({"violations": violations}, (title, *violation_lines(found, own)))
    said = framed.value if isinstance(framed.value, dict) else {}
    return SentWarnings(said, tuple((framed.text or "").split("\n")), fix)


def _not_sent(answer: ToolResult) -> ToolResult:
    """Return the result with "nothing was sent" at the beginning."""
    return answer._replace(text=f"Nothing was sent.\n{answer.text}")


def _unsupported_arguments(call: Call) -> list[Diagnostic]:
    """Return diagnostics for arguments of Agent Mail that we do not support. Never ignore them
    silently.
    """
    found = []
    if blind := call.texts("bcc"):
        found.append(codes.BLIND_COPIES.at(names=", ".join(blind)))
    if paths := call.texts("attachment_paths"):
        found.append(codes.NO_ATTACHMENTS.at(paths=", ".join(paths)))
    return found


def _unknown_sender(call: Call, name: str, agents: Iterable[Agent]) -> list[Diagnostic]:
    """Return that the name is unknown. About the operator's name only its secret reveals more."""
    if name == call.workspace.project.operator:
        return []
    found = unknown_sender(name, {agent.name for agent in agents})
    return [found] if found else []


def _delivery_json(call: Call, payload: JsonObject) -> JsonObject:
    project = agent_mail_format.key_of(call.workspace.project)
    return {"deliveries": [{"project": project, "payload": payload}], "count": 1}


def _corrected(call: Call, receipt: Receipt, envelope: Envelope) -> JsonObject | None:
    """Return the arguments of `send_message` for the corrected message."""
    if receipt.corrected is None:
        return None
    key = agent_mail_format.key_of(call.workspace.project)
    return {"project_key": key, **send_arguments(receipt.corrected, envelope)}


_MOST_SHOWN = 20
_NOT_MARKED = "the acknowledged message could not be marked as read"
_NOT_TOLD = "it is unknown when you read the acknowledged message"


# Reading marks and ACKs


def _mark_message_read(call: Call) -> ToolResult:
    name, message_id = _agent_name(call), call.number("message_id") or 0
    identity.authenticate_writer(call, name, call.text("registration_token"))
    call.workspace.mailbox.mark(name, [message_id], is_read=True)
    read_at, _ = _read_at(call, name, message_id)
    return ToolResult({"message_id": message_id, "read": True, "read_at": read_at})


def _acknowledge_message(call: Call) -> ToolResult:
    name, message_id = _agent_name(call), call.number("message_id") or 0
    trust = identity.authenticate_writer(call, name, call.text("registration_token"))
    envelope = Envelope(trust=trust)
    status, mailbox = call.text("status") or RECEIVED, call.workspace.mailbox
    sent, unmarked = send_ack(mailbox, name, message_id, status, envelope=envelope)
    ack = sent.stored
    read_at, failed = _read_at(call, name, message_id)
    value = {
        "message_id": message_id,
        "acknowledged": True,
        "acknowledged_at": format_time(ack.at),
        "read_at": read_at,
        "ack_message_id": ack.id,
    }
    error = unmarked or failed
    if error:  # it is sent: what fails after it must not look like a failure to send
        found = stored_with_warning(ack.id, _NOT_MARKED if unmarked else _NOT_TOLD, error)
        value["violations"] = [told.with_tool_fix(found).to_json()]
    return ToolResult(value)


def _agent_name(call: Call) -> str:
    return identity.registered_name(call, _AGENT.name)


def _read_at(call: Call, name: str, message_id: int) -> tuple[str | None, BrennerError | None]:
    """Return when the agent read the message, None if the store does not record it; and any
    error.
    """
    try:
        deliveries = call.workspace.mailbox.deliveries(message_id)
    except BrennerError as error:
        return None, error
    times = [each.read_at for each in deliveries if each.recipient == name and each.read_at]
    return format_time(times[0]) if times else None, None


# Reading


def _fetch_inbox(call: Call) -> ToolResult:
    found = inbox(
        call,
        _agent_name(call),
        _limit(call),
        urgent_only=bool(call.flag("urgent_only")),
        include_bodies=bool(call.flag("include_bodies")),
        since=since_time(call.text("since_ts")),
    )
    return ToolResult(found)


def _search_messages(call: Call) -> ToolResult:
    query = parse_search(call.text("query"))
    if not isinstance(query, Query):
        return told.refused_result(query)
    room = response_size(call.caller)
    hits = iterate_search(call.workspace.mailbox, query, _limit(call))
    return ToolResult(
        {"result": [room.fitted(search_hit_json(each)) for each in hits]}
    )  # in the text, too


def _summarize_thread(call: Call) -> ToolResult:
    thread_id, mailbox = call.text("thread_id"), call.workspace.mailbox
    messages, is_whole = read_heads(iterate_thread(mailbox, thread_id))
    if not messages:
        raise unknown_thread_error(thread_id, [each.thread_id for each in mailbox.threads()])
    examples = first_messages(messages) if call.flag("include_examples") else []
    summary = summarise(messages, is_whole=is_whole)
    return ToolResult({"thread_id": thread_id, "summary": summary, "examples": examples})


def _limit(call: Call) -> int:
    limit = call.number("limit")
    return _MOST_SHOWN if limit is None else limit


# The table

_PROJECT = Argument("project_key")
_AGENT = Argument("agent_name", required=True)
_MESSAGE = Argument("message_id", ArgumentKind.NUMBER, required=True)
_SENDER = Argument("sender_name", required=True)
_BODY = Argument("body_md", required=True)
_LIMIT = Argument("limit", ArgumentKind.NUMBER, default=_MOST_SHOWN)
_TO, _CC, _BCC = (Argument(name, ArgumentKind.TEXTS) for name in ("to", "cc", "bcc"))
_SENDER_TOKEN, _TOKEN = Argument("sender_token"), Argument("registration_token")

TOOLS: tuple[Tool, ...] = (
    Tool(
        "send_message",
        "Send a Markdown message. A subject with a protocol prefix (DELTA[gpt]: …) is checked. If "
        "it is rejected, call again with `corrected`. To contribute deltas, use brenner_post.",
        (
            *(_PROJECT, _SENDER, _TO, Argument("subject", required=True), _BODY, _CC, _BCC),
            Argument("attachment_paths", ArgumentKind.TEXTS),
            Argument("convert_images", ArgumentKind.FLAG),
            Argument("importance", default="normal", choices=tuple(map(str, Importance))),
            Argument("ack_required", ArgumentKind.FLAG),
            Argument("thread_id"),
            Argument("auto_contact_if_blocked", ArgumentKind.FLAG),
            identity.ANYWAY,
            _SENDER_TOKEN,
        ),
        send_message,
    ),
    Tool(
        "reply_message",
        "Reply to a message in its thread. A reply adds nothing to the artifact: use brenner_post "
        "for that.",
        (
            *(_PROJECT, _MESSAGE, _SENDER, _BODY, _TO, _CC, _BCC),
            Argument("subject_prefix", default="Re:"),
            identity.ANYWAY,
            _SENDER_TOKEN,
        ),
        reply_message,
    ),
    Tool(
        "fetch_inbox",
        "List your messages, newest first. Does not mark them as read.",
        (
            *(_PROJECT, _AGENT, _LIMIT),
            Argument("urgent_only", ArgumentKind.FLAG, default=False),
            Argument("include_bodies", ArgumentKind.FLAG, default=False),
            Argument("since_ts", about="ISO 8601, exclusive"),
        ),
        _fetch_inbox,
        is_read_only=True,
        if_long="Call again with a smaller `limit`, or without bodies; "
        "`resource://message/{id}` has one message.",
    ),
    Tool(
        "mark_message_read",
        "Mark a message as read.",
        (_AGENT, _MESSAGE, _PROJECT, _TOKEN),
        _mark_message_read,
    ),
    Tool(
        "acknowledge_message",
        "Acknowledge a message: sends the ACK that you owe. `Completed` passes this round.",
        (_AGENT, _MESSAGE, Argument("status", choices=ACK_STATUSES), _PROJECT, _TOKEN),
        _acknowledge_message,
    ),
    Tool(
        "search_messages",
        'Find mail: words, "phrases", type:DELTA, from:NAME, thread:ID, item:H2, after:2025-12-30.',
        (_PROJECT, Argument("query", required=True), _LIMIT),
        _search_messages,
        is_read_only=True,
        if_long="Call again with a smaller `limit` or more words; "
        "`resource://message/{id}` has one message.",
    ),
    Tool(
        "summarize_thread",
        "Summarize a thread: participants, list items, open tasks.",
        (
            *(_PROJECT, Argument("thread_id", required=True)),
            Argument("include_examples", ArgumentKind.FLAG, default=False),
            Argument("llm_mode", ArgumentKind.FLAG),
            Argument("llm_model"),
        ),
        _summarize_thread,
        is_read_only=True,
    ),
)
