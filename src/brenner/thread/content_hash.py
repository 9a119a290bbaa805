"""The content hash: what makes two copies of a message the same (rulings, Small decisions)."""

import json
from hashlib import sha256

from brenner.thread.messages import Message


def content_hash(message: Message) -> str:
    """SHA-256 of the canonical JSON (RFC 8785) of [thread, from, subject, body], in hexadecimal.

    A list of texts is canonical when it has no blanks and escapes only what it must.
    """
    parts = [message.thread_id, message.sender, message.subject, message.body]
    return sha256(json.dumps(parts, ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()
