"""A home that cannot keep two compilers apart, and in which somebody else acts at a chosen moment.

On a real server that is a matter of luck. What this one does there is what the real one does: it
looks whether the thread has moved, and a moment later stores the message all the same.
"""

from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType

from brenner.config import Project
from brenner.diagnostics.codes.stores import OUTCOME_UNKNOWN, SERVER_LOST
from brenner.diagnostics.model import Unavailable, Uncertain
from brenner.mail import rules
from brenner.mail.mailbox import Ability, Lacks
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import PLAIN, Envelope, Profile, Sent, Since, Stored
from brenner.protocol.messages import Message
from brenner.services.workspace import Desk
from session.desks import ANN, BEA

_LACKS: Lacks = MappingProxyType(
    {
        Ability.EXACT_POSITIONS: "both get through",
        Ability.REPLY_LINKS: "there are none",
        Ability.OWN_NAMES: "they belong to the server",
    }
)
Act = Callable[[], object]


class LooseMailbox(MemoryMailbox):
    """It stores what it is given, whatever has come in since the position was looked at.

    `meanwhile` is done once, between the look and the storing of the next message; `alter` makes
    something else of every message.
    """

    def __init__(self) -> None:
        super().__init__(lacks=_LACKS)
        self.meanwhile: Act | None = None
        self.afterwards: Act | None = None
        self.alter: Callable[[Message], Message] | None = None
        self.is_lost = False

    def send(
        self,
        message: Message,
        *,
        reply_to: int | None = None,
        key: str | None = None,
        position: int | Since | None = None,
        envelope: Envelope = PLAIN,
    ) -> Sent:
        now_there = self.thread(message.thread_id, limit=1).position
        rules.check_position(message.thread_id, position, now_there)
        if isinstance(position, Since):
            arrived = self.thread_arrivals(message.thread_id, position.arrival)
            rules.check_since(message.thread_id, position, arrived)
        _do(self, "meanwhile")
        if self.alter:
            message = self.alter(message)
        sent = super().send(message, key=key, envelope=envelope)
        _do(self, "afterwards")
        return sent._replace(stored=sent.stored._replace(reply_to=reply_to))

    def thread_arrivals(self, thread_id: str, after: int) -> tuple[Stored, ...]:
        if self.is_lost:
            raise Unavailable(SERVER_LOST.at(where="here", reason="it is gone"))
        return super().thread_arrivals(thread_id, after)


def _do(mailbox: LooseMailbox, name: str) -> None:
    """Do it, once; what it does is not interrupted in turn."""
    act = getattr(mailbox, name)
    setattr(mailbox, name, None)
    if act:
        act()


def loose_desk(folder: Path, actor: str | None = None) -> Desk:
    """A desk at such a home; everybody is known."""
    mailbox = LooseMailbox()
    project = Project(folder)
    for name in (project.operator, ANN, BEA):
        mailbox.register(Profile(name))
    return Desk(mailbox, project, actor or project.operator)


def loose(desk: Desk) -> LooseMailbox:
    """Its mailbox."""
    assert isinstance(desk.mailbox, LooseMailbox)
    return desk.mailbox


def fails() -> None:
    """The server is gone before it has stored anything."""
    raise Unavailable(SERVER_LOST.at(where="here", reason="it is gone"))


def is_lost() -> None:
    """The server is gone, and nobody knows whether it has stored anything."""
    raise Uncertain(OUTCOME_UNKNOWN.at(where="here", reason="it is gone", what="the message"))
