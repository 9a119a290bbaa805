"""A home that cannot keep two compilers apart, and in which somebody else acts at a chosen moment.

On a real server that is a matter of luck. What this one does there is what the real one does: it
looks whether the thread has moved, and a moment later stores the message all the same.
"""

from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType

from brenner.config import Project
from brenner.diagnostics.codes.stores import OUTCOME_UNKNOWN, SERVER_LOST
from brenner.diagnostics.model import UnavailableError, UnknownOutcomeError
from brenner.mail import rules
from brenner.mail.mailbox import Capability, MissingCapabilities
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Profile, SendResult, UnchangedSince
from brenner.protocol.messages import DEFAULT_ENVELOPE, Envelope, Message, StoredMessage
from brenner.services.workspace import Workspace
from session.workspaces import ANN, BEA

_LACKS: MissingCapabilities = MappingProxyType(
    {
        Capability.CONDITIONAL_SENDS: "both get through",
        Capability.REPLY_LINKS: "there are none",
        Capability.PROJECT_NAMES: "they belong to the server",
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
        position: int | UnchangedSince | None = None,
        envelope: Envelope = DEFAULT_ENVELOPE,
    ) -> SendResult:
        now_there = self.thread(message.thread_id, limit=1).position
        rules.check_position(message.thread_id, position, now_there)
        if isinstance(position, UnchangedSince):
            arrived = self.thread_arrivals(message.thread_id, position.arrival)
            rules.check_unchanged_since(message.thread_id, position, arrived)
        _do(self, "meanwhile")
        if self.alter:
            message = self.alter(message)
        sent = super().send(message, key=key, envelope=envelope)
        _do(self, "afterwards")
        return sent._replace(stored=sent.stored._replace(reply_to=reply_to))

    def thread_arrivals(self, thread_id: str, after: int) -> tuple[StoredMessage, ...]:
        if self.is_lost:
            raise UnavailableError(SERVER_LOST.at(where="here", reason="it is gone"))
        return super().thread_arrivals(thread_id, after)


def _do(mailbox: LooseMailbox, name: str) -> None:
    """Do it, once; what it does is not interrupted in turn."""
    act = getattr(mailbox, name)
    setattr(mailbox, name, None)
    if act:
        act()


def loose_desk(folder: Path, actor: str | None = None) -> Workspace:
    """A desk at such a home; everybody is known."""
    mailbox = LooseMailbox()
    project = Project(folder)
    for name in (project.operator, ANN, BEA):
        mailbox.register(Profile(name))
    return Workspace(mailbox, project, actor or project.operator)


def loose(workspace: Workspace) -> LooseMailbox:
    """Its mailbox."""
    assert isinstance(workspace.mailbox, LooseMailbox)
    return workspace.mailbox


def fails() -> None:
    """The server is gone before it has stored anything."""
    raise UnavailableError(SERVER_LOST.at(where="here", reason="it is gone"))


def is_lost() -> None:
    """The server is gone, and nobody knows whether it has stored anything."""
    raise UnknownOutcomeError(
        OUTCOME_UNKNOWN.at(where="here", reason="it is gone", what="the message")
    )
