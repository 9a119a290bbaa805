"""A message that somebody has put together from its parts: whom it goes to, and in which part
something is wrong.
"""

from brenner.diagnostics.codes import mail as codes
from brenner.diagnostics.model import Diagnostic
from brenner.mail.model import Stored

THREAD, FROM, TO, SUBJECT, ACK, BODY, WHOLE = (
    *("thread", "from", "to", "subject", "ack"),
    *("body", "message"),
)
_PART_OF_LINE = (THREAD, FROM, TO, SUBJECT, ACK)
# What only the mailbox can tell has no line
_PART_OF_CODE = {
    codes.UNKNOWN_RECIPIENT.id: TO,
    codes.SENT_TO_NOBODY.id: TO,
    codes.UNKNOWN_SENDER.id: FROM,
}


def placed(text: str, found: Diagnostic) -> tuple[str, Diagnostic]:
    """The part of a composed message file that a fault is in, and the fault with its line there."""
    lines_before = text.partition("\n\n")[0].count("\n") + 2
    if found.line is None:
        return _PART_OF_CODE.get(found.id, WHOLE), found
    if found.line > lines_before:
        return BODY, found.moved(-lines_before)
    part = _PART_OF_LINE[min(found.line, len(_PART_OF_LINE)) - 1]
    return part, found._replace(line=None)


def answered_to(answered: Stored, actor: str) -> tuple[str, ...]:
    """Whom an answer goes to: the sender. Who answers herself goes on speaking to those to whom
    she spoke.
    """
    message = answered.message
    others = tuple(name for name in message.recipients if name != actor)
    return others if message.sender == actor and others else (message.sender,)
