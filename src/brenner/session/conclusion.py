"""Compose the operator's conclusion of a session, and preview it (R29)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.protocol.delta.parse import render_delta
from brenner.protocol.delta.schema import EDIT, RESEARCH_THREAD, Delta
from brenner.protocol.message_types import DELTA
from brenner.protocol.messages import Message, StoredMessage, content_hash, thread_order_key
from brenner.protocol.subjects import compose_subject

if TYPE_CHECKING:
    from datetime import datetime

    from brenner.session.versions import VersionHistory

CONCLUSION = "conclusion"  # the field of the research thread
_RATIONALE = "The operator's conclusion of the session"


def compose_conclusion(message: Message, base: int, text: str) -> Message:
    """Compose the `DELTA[human]` that sets the conclusion, on a base version.

    `message` gives thread, sender and recipients.
    """
    payload = {CONCLUSION: text}
    block = render_delta(
        Delta(EDIT, RESEARCH_THREAD.id, RESEARCH_THREAD.prefix, payload, _RATIONALE)
    )
    body = f"# {DELTA.title}\n\n**Base Version**: v{base}\n\n## Deltas\n\n{block}\n"
    subject = compose_subject(DELTA.name, "Conclusion of the session", "human")
    return message._replace(subject=subject, body=body)


def with_conclusion(
    history: VersionHistory, message: Message, text: str, at: datetime
) -> VersionHistory:
    """Return the history as if the conclusion had been sent, as its last message."""
    sent = compose_conclusion(message, history.number, text)
    known = [each.message_id for each in history.versions]
    known += [each.id for each in history.unread]
    last = max(map(thread_order_key, history.unread), default=(at, 0))[0]
    pretended = StoredMessage(max(known, default=0) + 1, max(at, last), sent, content_hash(sent))
    return history._replace(unread=(*history.unread, pretended))
