"""The command line on a project of its own, in this process: streams that are no terminals."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from brenner.mail.model import Profile
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.protocol.messages import Message
from program import Run, call

THREAD, ELSEWHERE = "COORD-cell-fate-dichotomy", "-brenner_bot-5so.1"
QUESTION = "## Question\nWhich gradient?\n\n## Urgency\nSoon\n"
# What a terminal would obey: a title, clearing, a colour of one byte, right to left, line ends
HOSTILE = "\x1b]0;owned\x07 \x1b[2J \x9b31m \u202e \u2028 \x85"
MESSAGE_KEYS = [
    *("id", "at", "thread_id", "from", "to", "subject", "type", "ack_required", "reply_to"),
    *("acknowledges", "hash", "origin_id", "local", "trust", "importance", "cc", "body"),
]


class Shell:
    """Runs commands on a project in this process, with streams that are no terminals."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.patch = monkeypatch

    def __call__(self, *arguments: str, stdin: bytes = b"") -> Run:
        return call("--project", str(self.folder), *arguments, stdin=stdin)

    def mail(self, *arguments: str, stdin: bytes = b"") -> Run:
        """A command of the group, which must be fine."""
        done = self("mail", *arguments, stdin=stdin)
        assert done.code == 0, done.err
        return done

    def send(self, subject: str, body: str, *options: str, to: str = "Operator") -> int:
        """Send a message; its id."""
        parts = ["--to", to, "--subject", subject, "--body", body]
        if "--thread" not in options:
            parts += ["--thread", THREAD]
        sent = self.mail("send", "--json", *parts, *options).json
        return int(sent["message"]["id"])


def store_of(folder: Path) -> Path:
    """Where the mail of a project is."""
    return folder / ".brenner" / "mail.sqlite3"


def posted(folder: Path, *messages: Message, hours_ago: float = 0) -> None:
    """Put mail into a project as it would have come in some time ago."""
    at = datetime.now(UTC) - timedelta(hours=hours_ago)
    store_of(folder).parent.mkdir(exist_ok=True)
    with SqliteMailbox.create(store_of(folder), clock=lambda: at) as mailbox:
        for name in ("Operator", "BlueLake", "RedCreek"):
            mailbox.register(Profile(name), update=True)
        for message in messages:
            mailbox.send(message)


def make_message(subject: str, body: str = "x\n", *to: str, sender: str = "BlueLake") -> Message:
    """A message of the usual thread."""
    return Message(THREAD, sender, to or ("Operator",), subject, body)
