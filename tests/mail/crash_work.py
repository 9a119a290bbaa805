"""What is done to a store while the process is killed, or the disk fails, at every single step.

One process makes the attempts, each in a child of its own (a fork, which is quick) on a copy of
the same folder. What is left of each copy is for the test to look at.
"""

import json
import shutil
import signal
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import apsw

from brenner.config import Project
from brenner.diagnostics.model import BrennerError
from brenner.mail.model import Agent, MessageRecord
from brenner.mail.open import open_mailbox
from brenner.mail.sqlite.mailbox import SqliteDatabase, SqliteMailbox, migrations
from brenner.protocol.messages import StoredMessage, content_hash
from mail.fault_mail import ANN, BEA, make_message
from mail.processes import in_child
from mail.watched_disk import FailsAt, KilledAt, watch_disk, watch_system

_MOST_STEPS = 1_000
STORE = Path(".brenner", "mail.sqlite3")
RESTORED = 12
_NOTES = """
    CREATE TABLE notes (message INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
    INSERT INTO notes SELECT arrival, subject FROM messages;
"""
_AUTHORS = "ALTER TABLE notes ADD COLUMN author TEXT; UPDATE notes SET author = 'nobody';"
STEPS = (*migrations(), _NOTES, _AUTHORS)


def create(folder: Path) -> None:
    """Set a project's mailbox up."""
    open_mailbox(Project(folder), create=True).close()


def migrate(folder: Path) -> None:
    """Bring a store to a newer format."""
    SqliteDatabase.open(folder / STORE, STEPS).close()


def archive() -> list[MessageRecord]:
    """Messages from another store, linked to each other and partly read."""
    found = []
    for number in range(1, RESTORED + 1):
        message = make_message(f"Message {number} from elsewhere " + "and far away " * 40)
        at = datetime(2025, 12, 30, 9, number, tzinfo=UTC)
        reply_to = number - 1 or None
        stored = StoredMessage(number, at, message, content_hash(message), number, number, reply_to)
        found.append(MessageRecord(stored, ((BEA, at),) if number % 2 else ()))
    return found


def restore(folder: Path) -> None:
    """Take an archive in."""
    with SqliteMailbox.open(folder / STORE) as mailbox:
        mailbox.restore([Agent("RedCreek", "", "", "", datetime.now(UTC))], archive())


def send(folder: Path) -> None:
    """Send one message and mark another."""
    with SqliteMailbox.open(folder / STORE) as mailbox:
        mailbox.send(make_message("In the middle of this"))
        mailbox.mark(BEA, [1], is_read=True)


WORKS = {work.__name__: work for work in (create, migrate, restore, send)}


def killed_at_every_step(template: str, remains: str, work: str) -> None:
    """Kill the process at its first step, at its second, … until it gets to its end."""
    for step in range(1, _MOST_STEPS):
        folder = _copy(template, remains, step)
        status = in_child(lambda: _killed(folder, WORKS[work], step))  # noqa: B023  (at once)
        if status == 0:
            return
        if status != signal.SIGKILL:
            sys.exit(f"step {step} ended with {status}")
    sys.exit("there is no end")


def _killed(folder: Path, work: Callable[[Path], None], step: int) -> None:
    watch = KilledAt(step)
    watch_disk(watch)
    watch_system(folder, watch)
    work(folder)


def fails_at_every_step(template: str, remains: str, error: str, stays: str, kind: str) -> None:
    """Let the first write or flush of a send fail, the second, …; what was said goes to a file."""
    for step in range(1, _MOST_STEPS):
        folder = _copy(template, remains, step)
        watch = FailsAt(step, getattr(apsw, error), stays=bool(stays), kinds={kind})
        if in_child(lambda: _failing(folder, watch)):  # noqa: B023  (at once)
            sys.exit(f"step {step} has an error of its own")
        if (folder / "no fault").exists():
            return
    sys.exit("there is no end")


def _failing(folder: Path, watch: FailsAt) -> None:
    """Send while the disk fails; read; mend the disk; send again."""
    watch_disk(watch)
    with SqliteMailbox.open(folder / STORE) as mailbox:
        before = mailbox.position()
        said = None
        try:
            mailbox.send(make_message("In the middle of this"))
        except BrennerError as error:
            said = error.diagnostic.id
        read = [
            stored.message.body for stored in mailbox.thread(make_message("").thread_id).messages
        ]
        watch.mend()
        mailbox.send(make_message("When all was well again", sender=BEA, to=(ANN,)))
    (folder / "said.json").write_text(json.dumps([before, said, read]), "utf-8")
    if not watch.has_failed:
        (folder / "no fault").touch()


def _copy(template: str, remains: str, step: int) -> Path:
    folder = Path(remains, f"{step:04}")
    shutil.copytree(template, folder)
    return folder
