"""How it is known who sent the messages that something was made of.

An artifact follows from what its mail says, not from who vouches for it. So whoever publishes or
reads one is told what in it anybody may have sent.
"""

from collections.abc import Iterable

from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Trust


def trusts(mailbox: Mailbox, thread_id: str) -> dict[int, Trust | None]:
    """Every message of a thread, in the order in which they came; None where nobody tells."""
    return {each.id: each.envelope.trust for each in mailbox.thread_arrivals(thread_id, 0)}


def unverified(mailbox: Mailbox, message_ids: Iterable[int]) -> tuple[int, ...]:
    """Those of some messages that are unverified, each once."""
    ids = dict.fromkeys(message_ids)
    return tuple(each for each in ids if mailbox.message(each).envelope.trust is Trust.UNVERIFIED)
