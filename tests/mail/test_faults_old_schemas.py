"""Schemas of every format that there ever was: opened, brought up to date, and read in full."""

from pathlib import Path

import psycopg
import pytest

from brenner.mail.model import Profile
from brenner.mail.postgres.connection import migrations
from brenner.mail.postgres.mailbox import PostgresMailbox
from brenner.store_url import PostgresAddress
from mail.backends import postgresql_address
from mail.old_schemas import READS_AS, kept, rebuilt
from mail.old_stores import SOON_AFTER, expected, reading_of
from mail.sample_mail import ANN, BEA, make_message, post


@pytest.fixture
def address(tmp_path: Path) -> PostgresAddress:
    """A name that nothing has yet."""
    return postgresql_address(tmp_path)


def test_every_format_that_there_was_is_kept() -> None:
    assert kept() == list(range(1, len(migrations()) + 1)) == sorted(READS_AS)


@pytest.mark.parametrize("version", kept())
def test_a_schema_of_an_old_format_is_read_in_full(address: PostgresAddress, version: int) -> None:
    """And is at work again, with what its format did not know."""
    rebuilt(version, address)
    with PostgresMailbox.open(address, clock=lambda: SOON_AFTER) as mailbox:
        assert mailbox.database.version == len(migrations())
        assert reading_of(mailbox) == expected(READS_AS[version])
        assert mailbox.integrity() == ()
        first = mailbox.message(1).message
        assert not mailbox.send(first, key="kickoff").is_new
        mailbox.register(Profile("Newcomer"))
        before = mailbox.position()
        sent = post(mailbox, make_message(sender=ANN, to=(BEA,)))
        assert (sent.arrival, sent.id) == (before + 1, before + 1)
        assert mailbox.claim("Newcomer", "6" * 64)
        assert mailbox.integrity() == ()


@pytest.mark.parametrize("version", kept())
def test_what_was_stored_in_an_old_format_never_changes(
    address: PostgresAddress, version: int
) -> None:
    """Also what its rows have got since."""
    rebuilt(version, address)
    PostgresMailbox.open(address).close()
    options = f"-c search_path={address.schema}"
    with psycopg.connect(address.url, options=options, autocommit=True) as connection:
        for change in (
            "UPDATE messages SET body = ''",
            "UPDATE messages SET trust = 'verified'",
            "DELETE FROM messages",
            "TRUNCATE messages CASCADE",
        ):
            with pytest.raises(psycopg.IntegrityError, match="never changes"):
                connection.execute(change.encode())
