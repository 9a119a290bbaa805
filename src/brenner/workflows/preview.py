"""What would become of a DELTA if its thread were compiled now: told to its author at sending."""

from collections.abc import Iterator
from datetime import UTC, datetime

from brenner.artifact.ledger import Outcome
from brenner.artifact.merge import merge
from brenner.artifact.state import empty_state
from brenner.diagnostics.codes.mail import WOULD_BE_REFUSED
from brenner.diagnostics.model import ERROR, Diagnostic
from brenner.mail.mailbox import Mailbox
from brenner.thread.messages import Message
from brenner.thread.posted import Posted
from brenner.workflows.chains import load_quickly

# Beyond that many unread messages a send would be slow; whoever compiles hears of it all the same.
_MOST_UNREAD = 200
_LAST = Posted(2**62, datetime.max.replace(tzinfo=UTC), Message("", "", (), "", ""))


def would_be_refused(mailbox: Mailbox, message: Message, operator: str) -> Iterator[Diagnostic]:
    """The blocks that would be refused as the thread stands. Lines count in the body."""
    unread: list[Posted] = []
    state = empty_state(message.thread_id)
    if mailbox.thread(message.thread_id, limit=1).position:
        chain = load_quickly(mailbox, message.thread_id, operator, _MOST_UNREAD)
        if chain is None or chain.broken:
            return
        state, unread = chain.state, [filed.posted for filed in chain.unread]
    last = _LAST._replace(message=message)
    for entry in merge(state, [*unread, last]).ledger:
        if entry.message_id != last.id or entry.state is not Outcome.REFUSED:
            continue
        for found in entry.diagnostics:
            if found.severity is ERROR:
                words = {"block": str(entry.block), "reason": found.message, "fix": found.fix}
                foreseen = WOULD_BE_REFUSED.at(found.line, **words)
                yield foreseen._replace(block=entry.block, also=(found.id,))
