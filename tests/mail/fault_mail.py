"""The mail of the tests of faults. Processes by the dozen read this: it imports no test tools."""

from pathlib import Path

from brenner.mail.model import Profile
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.protocol.messages import Message

ANN, BEA = "BlueLake", "GreenDog"
THREAD = "RS-20251230-cell-fate"


def make_message(
    body: str, *, sender: str = ANN, to: tuple[str, ...] = (BEA,), subject: str = "INFO: News"
) -> Message:
    """A message, from one of the two to the other where nothing else is said."""
    return Message(THREAD, sender, to, subject, body)


def make_store(path: Path, count: int = 0) -> Path:
    """A store in which the two know each other and so many messages were sent."""
    with SqliteMailbox.create(path) as mailbox:
        for name in (ANN, BEA):
            mailbox.register(Profile(name, "claude-code", "opus"))
        for number in range(count):
            mailbox.send(make_message(f"Message {number} of the start"))
    return path
