"""The operator's desk in the lab: what is sent there is sent by who has shown the secret."""

from hashlib import sha256
from typing import TYPE_CHECKING, cast

from brenner.mail.mailbox import Ability, Mailbox
from brenner.mail.model import PLAIN, Envelope, Trust
from brenner.services.acknowledge import RECEIVED, Acknowledged, Acknowledgement, send_ack
from brenner.services.workspace import Desk
from brenner.web.forms import ONCE
from brenner.web.visit import Visit

if TYPE_CHECKING:
    from brenner.mail.model import Sent, Since
    from brenner.protocol.messages import Message


class _Verified:
    """The mailbox, of one whose name is proven. Nobody else's mail is."""

    def __init__(self, mailbox: Mailbox, proven: str) -> None:
        self._mailbox = mailbox
        self._proven = proven

    def __getattr__(self, name: str) -> object:
        return getattr(self._mailbox, name)

    def send(
        self,
        message: "Message",
        *,
        reply_to: int | None = None,
        key: str | None = None,
        position: "int | Since | None" = None,
        envelope: Envelope = PLAIN,
    ) -> "Sent":
        if message.sender == self._proven:
            envelope = envelope._replace(trust=Trust.VERIFIED)
        return self._mailbox.send(
            message, reply_to=reply_to, key=key, position=position, envelope=envelope
        )


def lab_desk(visit: Visit) -> Desk:
    """The desk of the operator who has logged in."""
    desk = visit.site.desk
    operator = desk.project.operator
    mailbox = cast("Mailbox", _Verified(desk.mailbox, operator))
    return desk._replace(mailbox=mailbox, actor=operator)


def is_marked(visit: Visit) -> bool:
    """Whether this home keeps that a sender is verified; nobody is promised it elsewhere."""
    return Ability.TRUST not in visit.site.desk.mailbox.lacks


def lab_ack(visit: Visit, message_id: int, status: str = RECEIVED, notes: str = "") -> Acknowledged:
    """Acknowledge a message as the operator who has logged in."""
    desk = lab_desk(visit)
    proven = Envelope(trust=Trust.VERIFIED)
    return send_ack(desk.mailbox, Acknowledgement(desk.actor, message_id, status, notes, proven))


def lab_key(visit: Visit, what: str = "") -> str | None:
    """The idempotency key of what a form sends, in the mailbox: it outlives the server."""
    once = visit.form.get(ONCE)
    if not once:
        return None
    words = f"{once} {visit.path} {what}".encode(errors="surrogatepass")
    return f"lab {sha256(words).hexdigest()[:40]}"
