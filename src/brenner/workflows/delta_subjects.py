"""Subjects that were meant for a contribution, and lack the shorthand of their sender's model."""

import re

from brenner.diagnostics.codes.messages import INVALID_SUBJECT_PREFIX
from brenner.diagnostics.model import Diagnostic
from brenner.mail.mailbox import Mailbox
from brenner.protocol.message_types import DELTA
from brenner.protocol.messages import Message
from brenner.protocol.roster import Role
from brenner.protocol.subjects import ROLE_SHORTHANDS, compose_subject, parse_subject
from brenner.protocol.validate import meant_type
from brenner.workflows.shorthand import certain_shorthand

# Possessive: whoever writes a subject must not decide how long it takes to read.
_NEARLY = re.compile(r"\W*+DELTA\s*+(?:\[([^\]:]*+)\]?)?+[\s:：*_-]*+(.*+)", re.IGNORECASE)
_BETWEEN = re.compile(r"[\s-]++")
_YOUR_MODELS = (
    "Write in the brackets the shorthand of your model, not your role: "
    + ", ".join(f"`DELTA[{each}]:`" for each in ROLE_SHORTHANDS)
    + "."
)


def with_shorthand(mailbox: Mailbox, message: Message) -> str | None:
    """The subject with the shorthand, where the registration of its sender tells it.

    Who has written a role in its place has said nothing of her model.
    """
    match = _NEARLY.fullmatch(message.subject)
    if parse_subject(message.subject) or meant_type(message.subject) is not DELTA or not match:
        return None
    written, description = (match[1] or "").strip().lower(), match[2].strip()
    known = certain_shorthand(mailbox, message.sender, message.thread_id)
    is_said = written and not _is_role(written)
    if known is None or not description or (is_said and known not in written):
        return None
    return compose_subject(DELTA.name, description, known)


def about_role(message: Message, found: Diagnostic) -> Diagnostic:
    """The same violation; where a role stands in the brackets, with what has to stand there."""
    match = _NEARLY.fullmatch(message.subject)
    if found.code is not INVALID_SUBJECT_PREFIX or not match or not _is_role(match[1] or ""):
        return found
    return found._replace(fix=_YOUR_MODELS)


def _is_role(written: str) -> bool:
    return _BETWEEN.sub("_", written.strip().lower()) in tuple(Role)
