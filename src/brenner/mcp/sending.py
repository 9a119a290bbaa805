"""Mail that agents send: from the arguments of a call to what became of the message."""

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from brenner.diagnostics.codes import serving as codes
from brenner.diagnostics.model import Diagnostic
from brenner.mail.model import Agent, Envelope, Importance, Stored
from brenner.mail.rules import unknown_sender
from brenner.mcp import identity, project_key, told
from brenner.mcp.directory import numbers
from brenner.mcp.shapes import Shape, arguments_shape, payload_shape
from brenner.mcp.tool import Answer, Call
from brenner.mcp.violations import told_lines
from brenner.protocol.message_types import wants_ack
from brenner.protocol.messages import Message
from brenner.protocol.subjects import parse_subject
from brenner.services.receive import Letter, Receipt, receive


class _Kept(NamedTuple):
    """A message that is stored, and what there is to say of it."""

    payload: Shape
    said: Shape
    notes: tuple[str, ...] = ()


def send_message(call: Call) -> Answer:
    """Send a message to somebody."""
    project_key.check(call, call.text("project_key"))
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
    project_key.check(call, call.text("project_key"))
    call = _with_single_names(call)
    original = call.desk.mailbox.message(call.number("message_id") or 0)
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
    known = {agent.name for agent in call.desk.mailbox.agents()}
    single = {name: [*_single(texts, known)] for name, texts in given.items()}
    return call._replace(arguments={**call.arguments, **single})


def _single(texts: Iterable[str], known: Collection[str]) -> Iterator[str]:
    for text in texts:
        parts = [part.strip() for part in text.split(",")]
        yield from parts if all(part in known for part in parts) else [text]


def _answering(original: Stored, prefix: str) -> str:
    """The subject of an answer; what stands before it is not put there twice."""
    subject = original.message.subject
    is_there = subject.casefold().startswith(prefix.strip().casefold())
    return subject if is_there else f"{prefix.strip()} {subject}".strip()


def _readers(original: Stored, call: Call) -> tuple[str, ...]:
    """To whom an answer goes: to the writer; to her readers, if she goes on herself."""
    message = original.message
    if message.sender != call.text("sender_name"):
        return (message.sender,)
    return tuple(name for name in message.recipients if name != message.sender) or (message.sender,)


def _send(
    call: Call, message: Message, importance: Importance, reply_to: int | None = None
) -> _Kept | Answer:
    """Store a message in the name of its sender, if she may; an answer where nothing was stored."""
    agents = call.desk.mailbox.agents()
    faults = _not_offered(call) or _stranger(call, message.sender, agents)
    if faults:
        return _not_sent(told.refused(faults))
    trust = identity.acting(call, message.sender, call.text("sender_token"))
    copies = tuple(name for name in call.texts("cc") if name not in call.texts("to"))
    letter = Letter(message, Envelope(importance, copies, trust), reply_to)
    doubts = identity.doubts(call, message.sender, trust)
    receipt = receive(call.desk, letter._replace(is_checked=call.caller.is_checked))
    corrected = _corrected(call, receipt, letter.envelope)
    if receipt.sent is None:
        return _not_sent(told.refused(receipt.violations, corrected))
    found = [told.in_tools(each) for each in (*receipt.violations, *doubts)]
    said = {"violations": [each.to_json() for each in found], "corrected": corrected}
    # Nothing is asked of the store any more: what is sent must not be answered as a failure.
    payload = payload_shape(receipt.sent.stored, numbers(agents))
    notes = _notes(receipt.sent.stored, found)
    return _Kept(payload, {name: value for name, value in said.items() if value}, notes)


def _notes(stored: Stored, found: Iterable[Diagnostic]) -> tuple[str, ...]:
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
    if name == call.desk.project.operator:
        return []
    found = unknown_sender(name, {agent.name for agent in agents})
    return [found] if found else []


def _delivered(call: Call, kept: _Kept) -> Shape:
    project = project_key.key_of(call.desk.project)
    return {"deliveries": [{"project": project, "payload": kept.payload}], "count": 1}


def _corrected(call: Call, receipt: Receipt, envelope: Envelope) -> Shape | None:
    """The arguments of `send_message` that send the message as it should be."""
    if receipt.corrected is None:
        return None
    key = project_key.key_of(call.desk.project)
    return {"project_key": key, **arguments_shape(receipt.corrected, envelope)}
