"""Send a message that the thread must have once, whoever sends it, and however many do at once."""

from collections.abc import Callable

from brenner.diagnostics.codes.mail import THREAD_MOVED
from brenner.diagnostics.model import Refused
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Sent, Stored
from brenner.protocol.messages import Message

_TRIES = 200


def send_once(
    mailbox: Mailbox,
    message: Message,
    said: Callable[[], Stored | None],
    *,
    key: str,
    reply_to: int | None = None,
) -> Sent:
    """Send it, unless `said` finds it in the thread.

    It goes out on the condition that nothing has come in since the thread was looked at. Where the
    thread never rests, the key has to do.
    """
    for _ in range(_TRIES):
        position = mailbox.thread(message.thread_id, limit=1).position
        found = said()
        if found:
            return Sent(found, is_new=False)
        try:
            return mailbox.send(message, reply_to=reply_to, key=key, position=position)
        except Refused as refused:
            if refused.diagnostic.code is not THREAD_MOVED:
                raise
    return mailbox.send(message, reply_to=reply_to, key=key)
