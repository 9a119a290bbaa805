"""Records that the operator posts in INFO messages: about a message, by its content's hash.

Each is a fenced block of canonical JSON with that hash and one number.
"""

import json
import re
from collections.abc import Iterator, Mapping

from brenner.markdown.blocks import Kind, blocks
from brenner.markdown.fencing import fenced

_HASH = re.compile(r"[0-9a-f]{64}", re.ASCII)


def declaration(values: Mapping[str, object], fence: str) -> str:
    """One record as text."""
    return fenced(json.dumps(values, separators=(",", ":"), sort_keys=True), fence)


def declared(body: str, fence: str, key: str) -> Iterator[tuple[str, int]]:
    """The hash and the number `key` of each such record; what is none is passed over."""
    if fence not in body:
        return
    for block in blocks(body):
        if block.kind is Kind.FENCE and not block.quoted and block.info.strip() == fence:
            found = _read(block.text, key)
            if found:
                yield found


def _read(text: str, key: str) -> tuple[str, int] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    content_hash = value.get("content_hash") if isinstance(value, dict) else None
    if not isinstance(content_hash, str) or not _HASH.fullmatch(content_hash):
        return None
    number = value.get(key)
    return (content_hash, number) if type(number) is int else None
