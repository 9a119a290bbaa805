"""What processes do that claim one name at once. Any error ends them, and the test sees it."""

from pathlib import Path

from brenner.mail.mailbox import Mailbox
from brenner.mail.postgres.mailbox import PostgresMailbox
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.store_url import PostgresAddress
from mail.processes import say, wait_for_release


def claim_in_file(name: str, digest: str, path: str) -> None:
    """Claim a name in an embedded store."""
    with SqliteMailbox.open(Path(path)) as mailbox:
        _claim(mailbox, name, digest)


def claim_in_schema(name: str, digest: str, url: str, schema: str) -> None:
    """Claim a name in a database."""
    with PostgresMailbox.open(PostgresAddress(url, schema)) as mailbox:
        _claim(mailbox, name, digest)


def _claim(mailbox: Mailbox, name: str, digest: str) -> None:
    wait_for_release()
    say([mailbox.claim(name, digest), digest])
