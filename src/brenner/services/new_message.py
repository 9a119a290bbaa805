"""What a thread says about a new message in it: its base version, its recipients and its model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.named_tuple import NamedTuple
from brenner.services.next_round import earlier_kickoffs
from brenner.services.receive import known_model_shorthand
from brenner.services.version_store import load_history

if TYPE_CHECKING:
    from brenner.mail.mailbox import Mailbox

OPERATOR_SHORTHAND = "human"


class ThreadDefaults(NamedTuple):
    """The base version (0 before the first), the recipients, and the sender's model if known."""

    base: int = 0
    recipients: tuple[str, ...] = ()
    shorthand: str | None = None


def thread_defaults(
    mailbox: Mailbox, thread_id: str, sender: str | None, operator: str
) -> ThreadDefaults:
    """Return the defaults for a message to a thread; those of an unknown thread are empty.

    As the kickoffs ask for, mail goes to the operator and to all agents that got one.
    """
    messages = mailbox.thread_arrivals(thread_id, 0)
    if not messages:
        return ThreadDefaults()
    _, asked, _ = earlier_kickoffs(messages)
    names = dict.fromkeys((operator, *asked))
    shorthand: str | None = OPERATOR_SHORTHAND
    if sender and sender != operator:
        shorthand = known_model_shorthand(mailbox, sender, thread_id)
    return ThreadDefaults(
        load_history(mailbox, thread_id, operator).number,
        tuple(name for name in names if name != sender),
        shorthand,
    )
