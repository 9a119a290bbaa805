"""COMPILED messages that are void, and the INFO messages that say so.

The operator declares a version void (R10). A compiler whose message is none, because another was
quicker, tells the thread (R17); that one only says what the thread shows.
"""

from typing import NamedTuple

from brenner.markdown.fencing import one_paragraph
from brenner.session.declarations import declaration, declared
from brenner.thread.messages import Message
from brenner.thread.subjects import compose_subject

FENCE = "brenner-void"


class Void(NamedTuple):
    """The COMPILED message that is declared void, and the version that it was."""

    content_hash: str
    version: int


def compose_void(message: Message, void: Void, message_id: int, reason: str) -> Message:
    """The declaration; `message` gives thread, sender and recipients."""
    why = one_paragraph(reason) or "The operator gave no reason."
    body = (
        f"# Version v{void.version} Is Void\n\n"
        f"Message {message_id} is no version any more, and no other message before this one is "
        f"v{void.version} either. What only it had read counts as unread.\n\n"
        f"## Reason\n{why}\n\n## Record\n{declaration(void._asdict(), FENCE)}"
    )
    subject = compose_subject("INFO", f"v{void.version} (message {message_id}) is void")
    return message._replace(subject=subject, body=body)


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
    return tuple(Void(*each) for each in declared(message.body, FENCE, "version"))
