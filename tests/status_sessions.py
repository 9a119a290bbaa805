"""A session played in memory, message by message: what its status is tried on.

The mailbox is real, so that ACKs settle what they settle. Versions are composed by the pure
functions, as in `chains`.
"""

from collections.abc import Callable
from datetime import timedelta

from brenner.artifact.state import BlockOutcome
from brenner.mail.mailbox import Mailbox
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Profile
from brenner.protocol.delta.parse import render_delta
from brenner.protocol.delta.schema import Delta
from brenner.protocol.messages import Message, StoredMessage
from brenner.protocol.roster import Roster, RosterEntry, render_configuration
from brenner.session.compiled_message import compose_compiled
from brenner.session.compiler import compile_next_version
from brenner.session.model import Participant, SessionStatus
from brenner.session.status import compose_dismissal, compute_status
from brenner.session.versions import VersionHistory, replay
from mail.backends import Clock
from sample_messages import ADD, EDIT, THREAD_ID
from version_threads import OPERATOR, compiler

ANN, BEA, CAT = "BlueLake", "RedSky", "GreenHill"
AGENTS = (ANN, BEA, CAT)
ROLES = ("hypothesis_generator", "test_designer", "adversarial_critic")
ROSTER = Roster(tuple(RosterEntry(name, role) for name, role in zip(AGENTS, ROLES, strict=True)))


def add(name: str, **more: object) -> str:
    """An ADD of a hypothesis."""
    payload = {"name": name, "claim": f"{name} decides", "mechanism": "m", "anchors": ["§1"]}
    return render_delta(Delta(ADD, "hypothesis_slate", None, {**payload, **more}, "why"))


def edit(target: str, claim: str) -> str:
    """An EDIT of a hypothesis."""
    return render_delta(Delta(EDIT, "hypothesis_slate", target, {"claim": claim}, "why"))


class Sitting:
    """A thread, and short ways to write to it; a minute passes between two messages."""

    def __init__(self, home: Callable[[Clock], Mailbox] = MemoryMailbox, prose: str = "") -> None:
        self.clock = Clock()
        self.mailbox = home(self.clock)
        self.prose = prose
        for name in (OPERATOR, *AGENTS, "Stranger"):
            self.mailbox.register(Profile(name))

    # Writing

    def send(
        self,
        sender: str,
        subject: str,
        body: str,
        to: tuple[str, ...] = (),
        ack: bool | None = None,
    ) -> StoredMessage:
        """Any message; nobody named, it goes to the operator, or to all agents."""
        whom = to or (AGENTS if sender == OPERATOR else (OPERATOR,))
        text = f"{body}\n\n{self.prose}\n" if self.prose else body
        return self.post(Message(THREAD_ID, sender, whom, subject, text, ack))

    def post(self, message: Message, reply_to: int | None = None) -> StoredMessage:
        """A message as it is."""
        self.clock.move(timedelta(minutes=1))
        return self.mailbox.send(message, reply_to=reply_to).stored

    def kickoff(
        self, *to: str, roster: Roster | None = ROSTER, words: str = "", ack: bool | None = None
    ) -> StoredMessage:
        """A kickoff to some of the agents, or all."""
        table = render_configuration(roster) if roster else ""
        body = f"# Fate\n\n{words}\n\n## Research Question\nWhat decides?\n\n{table}"
        return self.send(OPERATOR, "KICKOFF: Fate", body, to or AGENTS, ack=ack)

    def again(self, stored: StoredMessage, *to: str) -> StoredMessage:
        """The same content once more."""
        return self.post(stored.message._replace(recipients=to or stored.message.recipients))

    def ack(
        self, sender: str, number: int | None = None, status: str = "Received"
    ) -> StoredMessage:
        """An ACK that names a message, or none."""
        named = "" if number is None else f"## Message ID\n{number}\n\n"
        return self.send(sender, "ACK: x", f"# Acknowledgement\n\n{named}## Status\n{status}\n")

    def delta(self, sender: str, *blocks: str, base: str = "") -> StoredMessage:
        """A DELTA with these blocks."""
        stated = f"**Base Version**: {base}\n\n" if base else ""
        body = "\n".join([f"# Delta Contribution\n\n{stated}## Deltas\n", *blocks])
        return self.send(sender, "DELTA[opus]: x", body)

    def compile(self, status: str = "active") -> StoredMessage | None:
        """The next version, if there is anything to compile, or the session is to be closed."""
        self.clock.move(timedelta(minutes=1))
        history, who = self.history(), compiler(self.clock.now)
        proposal = compile_next_version(history, who, close=status == "closed")
        applies = any(entry.state is BlockOutcome.APPLIED for entry in proposal.ledger)
        if history.broken_version or not (applies or (status == "closed" and history.versions)):
            return None
        message, _ = compose_compiled(proposal, AGENTS)
        return self.mailbox.send(message).stored

    def dismiss(self, stored: StoredMessage, *blocks: int, sender: str = OPERATOR) -> StoredMessage:
        """Let refused blocks be."""
        blank = Message(THREAD_ID, sender, AGENTS, "", "")
        said = compose_dismissal(blank, stored.content_hash, stored.id, blocks, "")
        return self.send(sender, said.subject, said.body)

    # Looking

    def messages(self) -> list[StoredMessage]:
        """All of the thread."""
        return list(self.mailbox.thread_arrivals(THREAD_ID, 0))

    def history(self) -> VersionHistory:
        """Its versions."""
        return replay(THREAD_ID, self.messages(), OPERATOR)

    def status(self) -> SessionStatus:
        """Where it stands."""
        return compute_status(self.history(), self.messages(), OPERATOR)

    def who(self, name: str) -> Participant:
        """One of the participants."""
        return next(each for each in self.status().participants if each.name == name)

    def refused(self) -> list[tuple[int, int]]:
        """The refused blocks that are open: message and block."""
        return [(each.message_id, each.block) for each in self.status().refusals]
