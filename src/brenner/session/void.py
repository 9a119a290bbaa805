"""COMPILED messages that are void, and the INFO messages that say so.

The operator declares a version void (R10). A compiler whose message is none, because another was
quicker, tells the thread (R17); that one only says what the thread shows.
"""

from collections.abc import Collection
from typing import NamedTuple

from brenner.markdown.escape import one_paragraph
from brenner.protocol.messages import Message
from brenner.protocol.subjects import compose_subject
from brenner.session.declarations import VOID_FENCE, declaration, declared

# From this format on a declaration covers the content that it names and no other. Before it, one
# named message stood for all messages of its number that were older by the store's clock.
_EXACT = 2


class Void(NamedTuple):
    """A COMPILED message that is declared void, and the version that it was."""

    content_hash: str
    version: int
    is_exact: bool = True


def compose_void(
    message: Message, version: int, message_id: int, hashes: Collection[str], reason: str
) -> Message:
    """Compose the declaration; `message` gives thread, sender and recipients.

    `hashes` are those of all messages of that number in the store, `message_id` the one that was
    the version.
    """
    why = one_paragraph(reason) or "The operator gave no reason."
    records = "\n".join(
        declaration({"content_hash": each, "format": _EXACT, "version": version}, VOID_FENCE)
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
    """What the compiler of a void message says; `message` gives thread, sender and recipients.

    The reason is in our own words, as the chain gives it.
    """
    body = (
        f"# Message {message_id} Is Void\n\n"
        f"Message {message_id} calls itself v{version}, but it is void: {reason}. "
        f"What only message {message_id} had read counts as unread, and goes into the next "
        "version.\n"
    )
    subject = compose_subject("INFO", f"Message {message_id} is void, it is not v{version}")
    return message._replace(subject=subject, body=body)


def voided_by(message: Message) -> tuple[Void, ...]:
    """What a message declares void."""
    found = declared(message.body, VOID_FENCE, "version")
    return tuple(Void(each, version, form >= _EXACT) for each, version, form in found if form > 0)
