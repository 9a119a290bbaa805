"""Decisions that the operator posts in INFO messages: voids, dismissals and cancellations.

Each is a fenced block of canonical JSON. A void and a dismissal contain the hash of the message
that they decide about, a cancellation the thread and the reason.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from brenner.lazy_pattern import lazy_pattern
from brenner.markdown.blocks import BlockKind, parse_blocks
from brenner.markdown.escape import one_paragraph, render_fence
from brenner.named_tuple import NamedTuple
from brenner.protocol.message_types import COMPILED, INFO
from brenner.protocol.subjects import compose_subject

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from brenner.protocol.messages import Message, StoredMessage

VOID_FENCE = "brenner-void"


DISMISSAL_FENCE = "brenner-dismiss"


CANCELLATION_FENCE = "brenner-cancel"


_ADOPTION = '{"adopted":{"'  # the beginning of a record that adopts an artifact


_HASH = lazy_pattern(r"[0-9a-f]{64}", re.ASCII)


def is_decision(message: Message) -> bool:
    """Return whether a message claims to void, adopt, dismiss or cancel something."""
    return (
        changes_versions(message) or dismisses(message) or cancellation_reason(message) is not None
    )


def dismisses(message: Message) -> bool:
    """Return whether a message claims to dismiss rejected blocks, or what asks for an answer."""
    if DISMISSAL_FENCE not in message.body or message.type != INFO.name:
        return False
    found = read_declarations(message.body, DISMISSAL_FENCE, "block")
    return any(found) or bool(dismissed_questions(message))


def changes_versions(message: Message) -> bool:
    """Return whether a message claims to void or adopt something."""
    if _ADOPTION in message.body and message.type == COMPILED.name:
        return True
    found = read_declarations(message.body, VOID_FENCE, "version")
    return any(found) and message.type == INFO.name


def render_declaration(values: Mapping[str, object], fence: str) -> str:
    return render_fence(json.dumps(values, separators=(",", ":"), sort_keys=True), fence)


def read_declarations(body: str, fence: str, key: str) -> Iterator[tuple[str, int, int]]:
    """Yield hash, number `key` and format of each declaration in a body; skip invalid ones."""
    for value in _declared_objects(body, fence):
        found = _parse_declaration(value, key)
        if found:
            yield found


def _declared_objects(body: str, fence: str) -> Iterator[dict[str, object]]:
    """Yield the JSON objects of all declarations with this fence in a body."""
    if fence not in body:
        return
    for block in parse_blocks(body):
        if block.kind is BlockKind.FENCE and not block.quoted and block.info.strip() == fence:
            try:
                value = json.loads(block.text)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                yield value


def _parse_declaration(value: Mapping[str, object], key: str) -> tuple[str, int, int] | None:
    content_hash = value.get("content_hash")
    if not isinstance(content_hash, str) or not _HASH.fullmatch(content_hash):
        return None
    number, form = value.get(key), value.get("format", 1)
    if type(number) is not int or type(form) is not int:
        return None
    return content_hash, number, form


# From this format on a declaration covers only the content that it names. In format 1 it covered
# all messages of its number that were older by the store's clock.
_EXACT_FORMAT = 2


class Void(NamedTuple):
    """A COMPILED message that is declared void, and the version that it was."""

    content_hash: str
    version: int
    is_exact: bool = True


def compose_void(
    message: Message, version: int, message_id: int, hashes: Collection[str], reason: str
) -> Message:
    """Compose the operator's declaration that a version is void (R10).

    `message` gives thread, sender and recipients. `hashes` are those of all messages of that number
    in the store, `message_id` the one that was the version.
    """
    why = one_paragraph(reason) or "The operator gave no reason."
    records = "\n".join(
        render_declaration(
            {"content_hash": each, "format": _EXACT_FORMAT, "version": version}, VOID_FENCE
        )
        for each in sorted(hashes)
    )
    body = (
        f"# Version v{version} Is Void\n\n"
        f"Message {message_id} is no longer v{version}. {_others(len(hashes) - 1)}"
        f"The version number will be reused. "
        f"Messages that only this version included become unread.\n\n"
        f"## Reason\n{why}\n\n## Record\n{records}"
    )
    subject = compose_subject("INFO", f"v{version} (message {message_id}) is void")
    return message._replace(subject=subject, body=body)


def _others(count: int) -> str:
    if not count:
        return ""
    which = "1 other message" if count == 1 else f"{count} other messages"
    return f"The declaration also covers {which} with that number. "


def compose_withdrawal(message: Message, version: int, message_id: int, reason: str) -> Message:
    """Compose the note of a compiler whose message is void because another was faster (R17).

    `message` gives thread, sender and recipients. `reason` is text of the version history, not of
    an agent. The note decides nothing: it only states what the thread shows.
    """
    body = (
        f"# Message {message_id} Is Void\n\n"
        f"Message {message_id} claims to be v{version}, but it is void: {reason}. Messages that "
        f"only message {message_id} included become unread and go into the next version.\n"
    )
    subject = compose_subject("INFO", f"Message {message_id} is void, it is not v{version}")
    return message._replace(subject=subject, body=body)


def voids_in(message: Message) -> tuple[Void, ...]:
    found = read_declarations(message.body, VOID_FENCE, "version")
    return tuple(
        Void(each, version, form >= _EXACT_FORMAT) for each, version, form in found if form > 0
    )


# Keeping an item without an answer to what asks for one (R28)


def dismissed_questions(message: Message) -> tuple[tuple[str, str], ...]:
    """Return the items that a message keeps, each with the item that asks about it."""
    if DISMISSAL_FENCE not in message.body or message.type != INFO.name:
        return ()
    return tuple(
        (item, because)
        for value in _declared_objects(message.body, DISMISSAL_FENCE)
        if value.get("thread_id") == message.thread_id
        if isinstance(item := value.get("item"), str)
        if isinstance(because := value.get("because"), str)
    )


# Cancelling a session, and the end of a session (R25)


_CANCELLATION_FORMAT = 1
_CLOSED = '"status":"closed"'  # in the canonical JSON of a record


def compose_cancellation(message: Message, reason: str) -> Message:
    """Compose the operator's declaration that a session is cancelled.

    `message` gives thread, sender and recipients.
    """
    why = one_paragraph(reason)
    values = {"format": _CANCELLATION_FORMAT, "reason": why, "thread_id": message.thread_id}
    body = (
        f"# Session Cancelled\n\n"
        f"The operator cancels this session. No answer and no contribution is needed any more. "
        f"A later kickoff reopens the session.\n\n"
        f"## Reason\n{why}\n\n## Record\n{render_declaration(values, CANCELLATION_FENCE)}"
    )
    return message._replace(subject=compose_subject("INFO", "Session cancelled"), body=body)


def cancellation_reason(message: Message) -> str | None:
    """Return the reason if a message claims to cancel the session of its thread, else None."""
    if CANCELLATION_FENCE not in message.body or message.type != INFO.name:
        return None
    for value in _declared_objects(message.body, CANCELLATION_FENCE):
        reason = value.get("reason")
        if isinstance(reason, str) and value.get("thread_id") == message.thread_id:
            return reason
    return None


def ends_session(stored: StoredMessage, operators: Collection[str]) -> bool:
    """Return whether an operator ends the session with this message: closes or cancels it.

    A store cannot know whether a COMPILED message is a version. So the message counts if its record
    closes the session, and an operator sent it. An imported record names its own operator.
    """
    message = stored.message
    if message.type == INFO.name:
        return cancellation_reason(message) is not None and stored.counts_for(operators)
    if message.type != COMPILED.name or _CLOSED not in message.body:
        return False
    # Only a message that seems to close a session needs these modules.
    from brenner.protocol.compiled import read_compiled
    from brenner.session.model import UnreadableRecordError, read_record

    try:
        record = read_record(read_compiled(message).record or "")
    except UnreadableRecordError:
        return False
    is_named = not stored.is_local and message.sender == record.operator
    return record.status == "closed" and (message.sender in operators or is_named)
