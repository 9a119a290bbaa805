"""The status of a session as one JSON document, the same for every front end.

Keys are only ever added.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from brenner.protocol.message_types import BLOCKED, CRITIQUE, HANDOFF, QUESTION
from brenner.protocol.messages import iso
from brenner.session.attention import attention
from brenner.session.status import (
    LatestVersion,
    OpenAck,
    OpenMessage,
    Participant,
    Refusal,
    SessionStatus,
)


def status_json(status: SessionStatus, now: datetime, deadline: timedelta) -> dict[str, object]:
    """The stable form; what is overdue depends on the time and the deadline."""
    return {
        "thread_id": status.thread_id,
        "kind": status.kind.value,
        "question": status.question,
        "round": status.round,
        "phase": status.phase.value if status.phase else None,
        "attention": [
            {"kind": each.kind, "text": each.text} for each in attention(status, now, deadline)
        ],
        "version": _version(status.version) if status.version else None,
        "participants": [_participant(each) for each in status.participants],
        "pending": [open_ack_json(each, now, deadline) for each in status.open_acks],
        "critiques": {
            "items": [each._asdict() for each in status.critiques],
            "messages": _messages(status.of_type(CRITIQUE.name)),
        },
        "blocked": _messages(status.of_type(BLOCKED.name)),
        "questions": _messages(status.of_type(QUESTION.name)),
        "handoffs": _messages(status.of_type(HANDOFF.name)),
        "refusals": [refusal_json(each) for each in status.refusals],
        "unread": status.unread,
        "applies": status.applies,
        "stopped": status.stopped.to_json() if status.stopped else None,
        "position": status.position,
        "first_at": iso(status.first_at),
        "last_at": iso(status.last_at),
        "references": [
            {"id": item, **reference._asdict()} for item, reference in status.references
        ],
    }


def _version(version: LatestVersion) -> dict[str, object]:
    return {
        "version": version.number,
        "message_id": version.message_id,
        "compiled_at": version.compiled_at,
        "compiled_by": version.compiled_by,
        "status": version.status,
        "errors": version.errors,
        "warnings": version.warnings,
        "third_alternative": "Present" if version.has_third_alternative else "MISSING",
        "counts": dict(version.counts),
    }


def _participant(each: Participant) -> dict[str, object]:
    return {
        "name": each.name,
        "role": each.role,
        "in_roster": each.is_in_roster,
        "turn": each.turn.value,
        "awaited": each.is_awaited,
        "kickoff": each.kickoff,
        "acknowledged": each.is_acknowledged,
        "deltas": each.deltas,
        "applied": each.applied,
        "refused": each.refused,
        "duplicate": each.duplicate,
        "total": each.total,
        "asides": list(each.asides),
        "last_at": iso(each.last_at) if each.last_at else None,
    }


def open_ack_json(each: OpenAck, now: datetime, deadline: timedelta) -> dict[str, object]:
    """An ACK that is owed, with the keys of `mail pending --json`."""
    due = each.due(deadline)
    return {
        "agent": each.debtor,
        "message_id": each.message_id,
        "last_message_id": each.last_message_id,
        "times_sent": each.times_sent,
        "type": each.type,
        "from": each.sender,
        "subject": each.subject,
        "since": iso(each.since),
        "due": iso(due),
        "overdue": due < now,
    }


def _messages(found: Iterable[OpenMessage]) -> list[dict[str, object]]:
    return [open_message_json(each) for each in found]


def open_message_json(each: OpenMessage) -> dict[str, object]:
    """A message that waits for somebody."""
    return {
        "message_id": each.message_id,
        "type": each.type,
        "from": each.sender,
        "subject": each.subject,
        "at": iso(each.at),
        "waiting_for": list(each.waiting_for),
        "about": each.about,
        "rank": each.rank or None,
    }


def refusal_json(each: Refusal) -> dict[str, object]:
    """A refused block, with the keys of a compile's ledger."""
    return {
        "message_id": each.message_id,
        "block": each.block,
        "line": each.line,
        "agent": each.agent,
        "operation": each.operation,
        "section": each.section,
        "target_id": each.target_id,
        "name": each.name,
        "version": each.version,
        "violations": [found.to_json() for found in each.diagnostics],
    }
