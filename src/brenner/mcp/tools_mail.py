"""The tools for mail, under the names and in the forms of Agent Mail."""

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from brenner.diagnostics.codes import serving as codes
from brenner.diagnostics.codes.serving import SEARCH_OPERATOR
from brenner.diagnostics.model import BrennerError, Diagnostic
from brenner.mail.model import Agent, Envelope, Importance, StoredMessage
from brenner.mail.rules import unknown_sender, unknown_thread
from brenner.mail.search import Query, parse_query, query_too_long
from brenner.mcp import agent_mail_format
from brenner.mcp import errors as told
from brenner.mcp.agent_mail_format import (
    InboxWish,
    Room,
    Shape,
    arguments_shape,
    backwards,
    examples_of,
    found,
    found_shape,
    heads,
    inbox,
    numbers,
    payload_shape,
    since_time,
    summary_of,
    written,
)
from brenner.mcp.errors import told_lines
from brenner.mcp.tool import Answer, Argument, Call, Kind, Tool
from brenner.protocol.message_types import wants_ack
from brenner.protocol.messages import Message
from brenner.protocol.subjects import parse_subject
from brenner.services.acknowledge import Acknowledgement, send_ack
from brenner.services.receive import IncomingMessage, Receipt, receive
from brenner.services.send import stored_with_warning

# A search as agents write it: our grammar, and what they know from Agent Mail.


_QUOTED = re.compile(r'("(?:[^"]++|"")*+"?)')
_WORD = re.compile(r"\S+")
_MOST_FAULTS = 50  # whoever made so many did not write a query
_AND = "AND"  # all words must be there anyhow
_INSTEAD = {
    "OR": "Search twice, once for each side.",
    "NOT": "Leave out what is not to be there, and read on.",
    "NEAR": 'Use a "phrase", or the words alone.',
    "*": "Write the whole word.",
}


def asked_for(text: str) -> Query | tuple[Diagnostic, ...]:
    """What a query asks for, or everything that is wrong with it."""
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
    """Operators that we do not have."""
    for word in _WORD.findall(bare):
        plain = word.strip("()")
        name = plain.split("(")[0]
        if word.rstrip(")").endswith("*"):
            yield SEARCH_OPERATOR.at(operator=word, instead=_INSTEAD["*"])
        elif name in _INSTEAD:
            yield SEARCH_OPERATOR.at(operator=name, instead=_INSTEAD[name])


def _without_and(part: str) -> str:
    return _WORD.sub(lambda word: "" if word[0].strip("()") == _AND else word[0], part)


# Mail that agents send: from the arguments of a call to what became of the message.


class _Kept(NamedTuple):
    """A message that is stored, and what there is to say of it."""

    payload: Shape
    said: Shape
    notes: tuple[str, ...] = ()


def send_message(call: Call) -> Answer:
    """Send a message to somebody."""
    agent_mail_format.check(call, call.text("project_key"))
    call = _with_single_names(call)
    message = Message(
        thread_id=call.text("thread_id"),
        sender=call.text("sender_name"),
        recipients=(*call.texts("to"), *call.texts("cc")),
        subject=call.text("subject"),
        body=call.text("body_md"),
        ack_required=call.flag("ack_required"),
    )
    kept = _send(call, message, Importance(call.text("importance") or Importance.NORMAL))
    if isinstance(kept, Answer):
        return kept
    value = {**_delivered(call, kept), "attachments": [], **kept.said}
    return Answer(value, notes=kept.notes)


def reply_message(call: Call) -> Answer:
    """Answer a message, in its thread."""
    agent_mail_format.check(call, call.text("project_key"))
    call = _with_single_names(call)
    original = call.workspace.mailbox.message(call.number("message_id") or 0)
    subject = _answering(original, call.text("subject_prefix"))
    message = Message(
        thread_id=original.message.thread_id,
        sender=call.text("sender_name"),
        recipients=(*(call.texts("to") or _readers(original, call)), *call.texts("cc")),
        subject=subject,
        body=call.text("body_md"),
        # A reply takes over the wish for an ACK, unless it has a type, which decides.
        ack_required=None if parse_subject(subject) else wants_ack(original.message),
    )
    kept = _send(call, message, original.envelope.importance, original.id)
    if isinstance(kept, Answer):
        return kept
    delivered = _delivered(call, kept)
    value = {**kept.payload, "reply_to": original.id, **delivered, **kept.said}
    return Answer(value, notes=kept.notes)


def _with_single_names(call: Call) -> Call:
    """The call in which `"BlueLake, RedSky"` is two names, if both of them are known."""
    given = {name: call.texts(name) for name in ("to", "cc")}
    if not any("," in text for texts in given.values() for text in texts):
        return call
    known = {agent.name for agent in call.workspace.mailbox.agents()}
    single = {name: [*_single(texts, known)] for name, texts in given.items()}
    return call._replace(arguments={**call.arguments, **single})


def _single(texts: Iterable[str], known: Collection[str]) -> Iterator[str]:
    for text in texts:
        parts = [part.strip() for part in text.split(",")]
        yield from parts if all(part in known for part in parts) else [text]


def _answering(original: StoredMessage, prefix: str) -> str:
    """The subject of an answer; what stands before it is not put there twice."""
    subject = original.message.subject
    is_there = subject.casefold().startswith(prefix.strip().casefold())
    return subject if is_there else f"{prefix.strip()} {subject}".strip()


def _readers(original: StoredMessage, call: Call) -> tuple[str, ...]:
    """To whom an answer goes: to the writer; to her readers, if she goes on herself."""
    message = original.message
    if message.sender != call.text("sender_name"):
        return (message.sender,)
    return tuple(name for name in message.recipients if name != message.sender) or (message.sender,)


def _send(
    call: Call, message: Message, importance: Importance, reply_to: int | None = None
) -> _Kept | Answer:
    """Store a message in the name of its sender, if she may; an answer where nothing was stored."""
    agents = call.workspace.mailbox.agents()
    faults = _not_offered(call) or _stranger(call, message.sender, agents)
    if faults:
        return _not_sent(told.refused(faults))
    trust = agent_mail_format.acting(call, message.sender, call.text("sender_token"))
    copies = tuple(name for name in call.texts("cc") if name not in call.texts("to"))
    letter = IncomingMessage(message, Envelope(importance, copies, trust), reply_to)
    doubts = agent_mail_format.doubts(call, message.sender, trust)
    receipt = receive(call.workspace, letter._replace(is_checked=call.caller.is_checked))
    corrected = _corrected(call, receipt, letter.envelope)
    if receipt.sent is None:
        return _not_sent(told.refused(receipt.violations, corrected))
    found = [told.in_tools(each) for each in (*receipt.violations, *doubts)]
    said = {"violations": [each.to_json() for each in found], "corrected": corrected}
    # Nothing is asked of the store any more: what is sent must not be answered as a failure.
    payload = payload_shape(receipt.sent.stored, numbers(agents))
    notes = _notes(receipt.sent.stored, found)
    return _Kept(payload, {name: value for name, value in said.items() if value}, notes)


def _notes(stored: StoredMessage, found: Iterable[Diagnostic]) -> tuple[str, ...]:
    """What an agent must not miss behind a long answer, in our words alone."""
    lines = [line for line in told_lines(found) if isinstance(line, str)]
    said = f"Message {stored.id} was sent, but read what its `violations` say:"
    return (said, *lines) if lines else ()


def _not_sent(answer: Answer) -> Answer:
    """The answer that begins with what an agent must not miss."""
    return answer._replace(text=f"Nothing was sent.\n{answer.text}")


def _not_offered(call: Call) -> list[Diagnostic]:
    """What Agent Mail has and we have not; to leave it away in silence would be a lie."""
    found = []
    if blind := call.texts("bcc"):
        found.append(codes.BLIND_COPIES.at(names=", ".join(blind)))
    if paths := call.texts("attachment_paths"):
        found.append(codes.NO_ATTACHMENTS.at(paths=", ".join(paths)))
    return found


def _stranger(call: Call, name: str, agents: Iterable[Agent]) -> list[Diagnostic]:
    """That nobody has this name. Of the operator only her secret tells more."""
    if name == call.workspace.project.operator:
        return []
    found = unknown_sender(name, {agent.name for agent in agents})
    return [found] if found else []


def _delivered(call: Call, kept: _Kept) -> Shape:
    project = agent_mail_format.key_of(call.workspace.project)
    return {"deliveries": [{"project": project, "payload": kept.payload}], "count": 1}


def _corrected(call: Call, receipt: Receipt, envelope: Envelope) -> Shape | None:
    """The arguments of `send_message` that send the message as it should be."""
    if receipt.corrected is None:
        return None
    key = agent_mail_format.key_of(call.workspace.project)
    return {"project_key": key, **arguments_shape(receipt.corrected, envelope)}


_MOST_SHOWN = 20
_NOT_MARKED = "it could not be noted that you have read what it acknowledges"
_NOT_TOLD = "it is not known when you have read what it acknowledges"


# What a recipient does


def _mark_message_read(call: Call) -> Answer:
    agent_mail_format.check(call, call.text("project_key"))
    name, message_id = call.text("agent_name"), call.number("message_id") or 0
    agent_mail_format.acting(call, name, call.text("registration_token"))
    call.workspace.mailbox.mark(name, [message_id], is_read=True)
    read_at, _ = _read_at(call, name, message_id)
    return Answer({"message_id": message_id, "read": True, "read_at": read_at})


def _acknowledge_message(call: Call) -> Answer:
    agent_mail_format.check(call, call.text("project_key"))
    name, message_id = call.text("agent_name"), call.number("message_id") or 0
    trust = agent_mail_format.acting(call, name, call.text("registration_token"))
    said = Acknowledgement(name, message_id, envelope=Envelope(trust=trust))
    sent, unmarked = send_ack(call.workspace.mailbox, said)
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
        found = stored_with_warning(ack.id, _NOT_MARKED if unmarked else _NOT_TOLD, error)
        value["violations"] = [told.in_tools(found).to_json()]
    return Answer(value)


def _read_at(call: Call, name: str, message_id: int) -> tuple[str | None, BrennerError | None]:
    """When she has read it, None where the home does not tell; and why that cannot be said."""
    try:
        deliveries = call.workspace.mailbox.deliveries(message_id)
    except BrennerError as error:
        return None, error
    times = [each.read_at for each in deliveries if each.recipient == name and each.read_at]
    return written(times[0]) if times else None, None


# Reading


def _fetch_inbox(call: Call) -> Answer:
    agent_mail_format.check(call, call.text("project_key"))
    wish = InboxWish(
        call.text("agent_name"),
        _limit(call),
        urgent_only=bool(call.flag("urgent_only")),
        include_bodies=bool(call.flag("include_bodies")),
        since=since_time(call.text("since_ts")),
    )
    return Answer(inbox(call.workspace.mailbox, wish))


def _search_messages(call: Call) -> Answer:
    agent_mail_format.check(call, call.text("project_key"))
    query = asked_for(call.text("query"))
    if not isinstance(query, Query):
        return told.refused(query)
    room, hits = Room(), found(call.workspace.mailbox, query, _limit(call))
    return Answer({"result": [room.fitted(found_shape(each)) for each in hits]})  # in the text, too


def _summarize_thread(call: Call) -> Answer:
    agent_mail_format.check(call, call.text("project_key"))
    thread_id, mailbox = call.text("thread_id"), call.workspace.mailbox
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
