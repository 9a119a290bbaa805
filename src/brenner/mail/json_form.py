"""Mail as JSON: the stable forms of a message and an agent. Keys are only ever added."""

from collections.abc import Iterable, Sequence

from brenner.mail.model import Agent, Delivery, Received, Stored, Trust
from brenner.protocol.message_types import wants_ack
from brenner.protocol.messages import iso


def stored_json(stored: Stored) -> dict[str, object]:
    """A message as the store has it. `cc` are those of `to` who get it as a copy."""
    message, envelope = stored.message, stored.envelope
    return {
        "id": stored.id,
        "at": iso(stored.at),
        "thread_id": message.thread_id,
        "from": message.sender,
        "to": list(message.recipients),
        "subject": message.subject,
        "type": stored.type,
        "ack_required": wants_ack(message),
        "reply_to": stored.reply_to,
        "acknowledges": list(stored.acknowledges),
        "hash": stored.content_hash,
        "origin_id": stored.origin_id,
        "local": envelope.trust is Trust.LOCAL,
        "trust": envelope.trust,
        "importance": envelope.importance,
        "cc": list(envelope.cc),
        "body": message.body,
    }


def received_json(received: Received) -> dict[str, object]:
    """A message in an inbox, with what is its reader's about it."""
    return stored_json(received.stored) | {
        "read": received.is_read,
        "owes_ack": received.owes_ack,
    }


def delivered_json(stored: Stored, deliveries: Iterable[Delivery]) -> dict[str, object]:
    """A message with what became of it at each recipient."""
    return stored_json(stored) | {"deliveries": [delivery_json(each) for each in deliveries]}


def delivery_json(delivery: Delivery) -> dict[str, object]:
    """What became of a message at one recipient."""
    return {
        "agent": delivery.recipient,
        "read_at": iso(delivery.read_at) if delivery.read_at else None,
        "owes_ack": delivery.owes_ack,
        "acknowledged_by": delivery.acknowledged_by,
    }


def agent_json(agent: Agent) -> dict[str, object]:
    """An agent as it registered."""
    return {
        "name": agent.name,
        "program": agent.program,
        "model": agent.model,
        "task": agent.task,
        "registered_at": iso(agent.registered_at),
    }


def next_before(messages: Sequence[Stored], *, has_more: bool) -> int | None:
    """What to give as `--before` for the next page, where there is one."""
    return messages[-1].id if has_more and messages else None
