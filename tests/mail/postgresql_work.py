"""What processes do at once with a schema. Any error ends them, and the test sees it."""

from brenner.diagnostics.model import RequestError
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Profile
from brenner.mail.postgres.mailbox import PostgresDatabase, PostgresMailbox
from brenner.protocol.messages import Message
from brenner.store_url import PostgresAddress
from mail.fault_mail import THREAD, make_message
from mail.processes import say, wait_for_release


def create_again_and_again(url: str, schema: str, rounds: str) -> None:
    """Make a schema where the others make the same, and send one message."""
    for number in range(int(rounds)):
        wait_for_release()
        with PostgresMailbox.create(PostgresAddress(url, f"{schema}_{number}")) as mailbox:
            mailbox.register(Profile("Owl"), update=True)
            message = Message(THREAD, "Owl", ("Owl",), "INFO: First", "I was here")
            say(mailbox.send(message).stored.id)


def migrate(url: str, schema: str, *steps: str) -> None:
    """Bring a schema up to date; say its version."""
    wait_for_release()
    database = PostgresDatabase.open(PostgresAddress(url, schema), steps)
    say(database.version)
    database.close()


def send_in_turn(url: str, schema: str, name: str, count: str) -> None:
    """Send only what nobody has come in between with, and try again until it went through; then
    send what all others send too, with the same key.
    """
    with PostgresMailbox.open(PostgresAddress(url, schema)) as mailbox:
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


def wait_for_news(url: str, schema: str, position: str, seconds: str) -> None:
    """Say the position when there is news."""
    with PostgresMailbox.open(PostgresAddress(url, schema)) as mailbox:
        wait_for_release()
        say(mailbox.wait(int(position), float(seconds)))


def wait_until_interrupted(url: str, schema: str) -> None:
    """Wait for mail that never comes, and for one's turn that never comes."""
    with PostgresMailbox.open(PostgresAddress(url, schema)) as mailbox:
        for work in (lambda: mailbox.wait(0, 600), lambda: mailbox.send(make_message("Never"))):
            wait_for_release()
            try:
                work()
            except KeyboardInterrupt:
                say("interrupted")
