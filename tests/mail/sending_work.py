"""What the processes do that send and read at once. Any error ends them, and the test sees it."""

from pathlib import Path

from brenner.config import OPERATOR, Project
from brenner.diagnostics.model import RequestError
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Profile
from brenner.mail.open import open_mailbox
from brenner.mail.search import Query
from brenner.mail.sqlite.mailbox import SqliteDatabase, SqliteMailbox
from brenner.protocol.messages import Message
from mail.fault_mail import THREAD, make_message
from mail.processes import say, wait_for_release


def send_and_read(folder: str, name: str, count: str, keeps_open: str) -> None:
    """Register, then send and read in turn, in one go or opening the mailbox for each message."""
    project = Project(Path(folder))
    wait_for_release()
    with open_mailbox(project, create=True) as mailbox:
        mailbox.register(Profile(name, "claude-code", "opus"))
        if keeps_open:
            for number in range(int(count)):
                _send_one(mailbox, name, number)
    if not keeps_open:
        for number in range(int(count)):
            with open_mailbox(project, create=True) as mailbox:
                _send_one(mailbox, name, number)


def _send_one(mailbox: Mailbox, name: str, number: int) -> None:
    """Send a message, and find it wherever it must be seen from now on."""
    body = f"{name} writes {number}"
    message = Message(THREAD, name, (OPERATOR, name), "INFO: At once", body)
    stored = mailbox.send(message).stored
    say([stored.id, body])
    assert mailbox.message(stored.id) == stored
    newest = mailbox.inbox(name, limit=1).messages[0]
    assert (newest.stored, newest.is_read) == (stored, False)
    assert mailbox.mark(name, [stored.id], is_read=True) == 1
    assert stored in mailbox.thread(THREAD).messages
    assert mailbox.position() >= stored.arrival
    found = mailbox.search(Query(phrases=(tuple(body.lower().split()),))).messages
    assert [each.id for each in found] == [stored.id]


def create_again_and_again(folder: str, rounds: str) -> None:
    """Make a store where the others make the same, and send one message."""
    for number in range(int(rounds)):
        wait_for_release()
        with open_mailbox(Project(Path(folder, str(number))), create=True) as mailbox:
            message = Message(THREAD, OPERATOR, (OPERATOR,), "INFO: First", "I was here")
            say(mailbox.send(message).stored.id)


def send_in_turn(path: str, name: str, count: str) -> None:
    """Send only what nobody has come in between with, and try again until it went through; then
    send what all others send too, with the same key.
    """
    with SqliteMailbox.open(Path(path)) as mailbox:
        wait_for_release()
        for number in range(int(count)):
            _send_on_top(mailbox, name, number)
        sent = mailbox.send(make_message("Only once"), key="the same for all")
        say([sent.stored.id, sent.is_new])


def _send_on_top(mailbox: Mailbox, name: str, number: int) -> None:
    while True:
        position = mailbox.thread(THREAD, limit=1).position
        body = f"{name} writes {number} on top of {position}"
        try:
            mailbox.send(make_message(body), position=position)
            return
        except RequestError as refused:
            if refused.diagnostic.id != "THREAD_MOVED":
                raise


def send_many(path: str, name: str, count: str) -> None:
    """Send as fast as it goes, and say each id once the send has returned."""
    with SqliteMailbox.open(Path(path)) as mailbox:
        wait_for_release()
        for number in range(int(count)):
            body = f"{name} writes {number}"
            say([mailbox.send(make_message(body)).stored.id, body])


def migrate(path: str, *steps: str) -> None:
    """Bring a file up to date; say its version."""
    wait_for_release()
    database = SqliteDatabase.open(Path(path), steps)
    say(database.version)
    database.close()
