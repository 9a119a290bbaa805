"""Records that the operator posts in INFO messages: about a message, by its content's hash.

Each is a fenced block of canonical JSON with that hash, one number, and a format number from the
second format on.
"""

import json
import re
from collections.abc import Iterator, Mapping

from brenner.markdown.blocks import Kind, blocks
from brenner.markdown.escape import fenced
from brenner.protocol.message_types import COMPILED, INFO
from brenner.protocol.messages import Message
from brenner.protocol.subjects import parse_subject

VOID_FENCE = "brenner-void"
DISMISSAL_FENCE = "brenner-dismiss"
_ADOPTION = '{"adopted":{"'  # how a record of a version that adopts something begins
_HASH = re.compile(r"[0-9a-f]{64}", re.ASCII)


def is_decision(message: Message) -> bool:
    """Return whether a message says that it voids, adopts or dismisses something."""
    return changes_versions(message) or dismisses(message)


def dismisses(message: Message) -> bool:
    """Return whether a message says that it dismisses rejected blocks."""
    found = declared(message.body, DISMISSAL_FENCE, "block")
    return any(found) and _type_of(message) == INFO.name


def changes_versions(message: Message) -> bool:
    """Return whether a message says that it voids or adopts something."""
    if _ADOPTION in message.body and _type_of(message) == COMPILED.name:
        return True
    found = declared(message.body, VOID_FENCE, "version")
    return any(found) and _type_of(message) == INFO.name


def _type_of(message: Message) -> str | None:
    subject = parse_subject(message.subject)
    return subject.type if subject else None


def declaration(values: Mapping[str, object], fence: str) -> str:
    """One record as text."""
    return fenced(json.dumps(values, separators=(",", ":"), sort_keys=True), fence)


def declared(body: str, fence: str, key: str) -> Iterator[tuple[str, int, int]]:
    """Yield hash, number `key` and format of each such record; skip what is none."""
    if fence not in body:
        return
    for block in blocks(body):
        if block.kind is Kind.FENCE and not block.quoted and block.info.strip() == fence:
            found = _read(block.text, key)
            if found:
                yield found


def _read(text: str, key: str) -> tuple[str, int, int] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    content_hash = value.get("content_hash") if isinstance(value, dict) else None
    if not isinstance(content_hash, str) or not _HASH.fullmatch(content_hash):
        return None
    number, form = value.get(key), value.get("format", 1)
    return (content_hash, number, form) if type(number) is type(form) is int else None
