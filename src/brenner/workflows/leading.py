"""Who may lead a session by mail that comes in: agents contribute, the operator leads.

A KICKOFF begins a round and gives everybody a role (R15), a COMPILED message closes it (R10). From
somebody who is not believed, or whose session it is not, either would be a way to take it over.
"""

from collections.abc import Iterable, Iterator

from brenner.config import Project
from brenner.diagnostics.codes import serving as codes
from brenner.diagnostics.model import Diagnostic
from brenner.limits import MOST_BODY_BYTES
from brenner.mail.mailbox import Ability, Mailbox
from brenner.mail.model import Stored, Trust, type_of
from brenner.mail.rules import unstorable
from brenner.protocol.message_types import COMPILED, KICKOFF
from brenner.protocol.messages import Message
from brenner.protocol.validate import meant_type

LEADING = (KICKOFF.name, COMPILED.name)
_BELIEVED = (Trust.VERIFIED, Trust.LOCAL)
_SHOW = "Show your secret as `sender_token` if the session is yours to lead."
_NO_SECRETS = (
    "Nobody can show a secret here, because the store of this project keeps none: only the "
    "operator leads, from the command line."
)


def leading_type(message: Message, *, is_checked: bool = False) -> str | None:
    """KICKOFF or COMPILED, if the message is one, or was meant to be; else None.

    What is stored unchecked is what its subject says, and nothing else.
    """
    kind = type_of(message)
    if kind is None and not is_checked:
        meant = meant_type(message.subject)
        kind = meant.name if meant else None
    return kind if kind in LEADING else None


def may_not_lead(
    mailbox: Mailbox, project: Project, message: Message, kind: str, trust: Trust | None
) -> Iterator[Diagnostic]:
    """Why somebody may not send this message of a kind that leads; nothing if she may."""
    name, operator = message.sender, project.operator
    if trust not in _BELIEVED:
        advice = _NO_SECRETS if Ability.SECRETS in mailbox.lacks else _SHOW
        yield codes.LEADING_NEEDS_SECRET.at(type=kind, name=name, advice=advice)
    elif name != operator and not _is_hers(mailbox, message):
        thread = message.thread_id
        yield codes.NOT_YOURS_TO_LEAD.at(type=kind, name=name, operator=operator, thread=thread)


def _is_hers(mailbox: Mailbox, message: Message) -> bool:
    """Whether nobody has led the thread yet, or she has, and it is known that it was she."""
    led = list(_led(mailbox, message.thread_id))
    return not led or any(_is_by(message.sender, each) for each in led)


def _is_by(name: str, stored: Stored) -> bool:
    return stored.message.sender == name and stored.envelope.trust in _BELIEVED


def _led(mailbox: Mailbox, thread_id: str) -> Iterable[Stored]:
    """The messages that lead a thread; of one that is not there, none."""
    if not thread_id or unstorable("thread", thread_id, MOST_BODY_BYTES):
        return ()  # no home has it; it is refused for that
    if not mailbox.thread(thread_id, limit=1).position:
        return ()
    return (each for each in mailbox.thread_arrivals(thread_id, 0) if each.type in LEADING)
