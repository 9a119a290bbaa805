"""Messages as tools and resources answer them, in the form of Agent Mail.

Each has `trust` besides: how it is known who sent it. Mail that began its own thread has the ID of
that thread, where Agent Mail says null: whoever answers wants to know it.
"""

from collections.abc import Mapping

from brenner.mail.model import PLAIN, Envelope, Importance, Received, Stored
from brenner.mcp.directory import written
from brenner.mcp.project_key import PROJECT_ID
from brenner.protocol.message_types import wants_ack
from brenner.protocol.messages import Message

Shape = dict[str, object]


def message_shape(stored: Stored, numbers: Mapping[str, int], *, with_body: bool = True) -> Shape:
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


def payload_shape(stored: Stored, numbers: Mapping[str, int], *, with_body: bool = True) -> Shape:
    """A message with its recipients, as its sender sees it."""
    return message_shape(stored, numbers, with_body=with_body) | recipients_shape(stored)


def recipients_shape(stored: Stored) -> Shape:
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


def found_shape(stored: Stored) -> Shape:
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


def _trust(stored: Stored) -> str | None:
    """None where the home does not tell."""
    return str(stored.envelope.trust) if stored.envelope.trust else None
