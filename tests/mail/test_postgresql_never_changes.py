"""A stored message never changes: not by SQL either, whoever connects with whatever program."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from brenner.mail.postgres.mailbox import PostgresMailbox
from brenner.protocol.messages import StoredMessage
from brenner.store_url import PostgresAddress
from mail.backends import POSTGRESQL, Place, postgresql_address
from mail.sample_mail import BEA, QUESTION, ack, introduce, make_message, post
from servers import postgresql
from servers.postgresql_files import SUPERUSER


@pytest.fixture
def address(tmp_path: Path) -> PostgresAddress:
    """A small mailbox with links, marks and a key, closed."""
    with Place(POSTGRESQL, tmp_path) as place:
        introduce(place.mailbox)
        asked = post(place.mailbox, make_message(subject=QUESTION))
        post(place.mailbox, ack(str(asked.id)), reply_to=asked.id)
        place.mailbox.send(make_message("with a key"), key="k")
        place.mailbox.mark(BEA, [asked.id], is_read=True)
    return postgresql_address(tmp_path)


@pytest.fixture(params=["brenner", SUPERUSER])
def raw(address: PostgresAddress, request: pytest.FixtureRequest) -> Iterator[psycopg.Cursor]:
    """Somebody else's connection, of the role that owns the tables and of one that may all."""
    url = postgresql.running().url(user=request.param)
    with psycopg.connect(url, options=f"-c search_path={address.schema}", autocommit=True) as other:
        if request.param == SUPERUSER:
            other.execute("SET session_replication_role TO replica")  # which stops most triggers
        yield other.cursor()


def is_refused(raw: psycopg.Cursor, statement: str) -> bool:
    """Try a statement."""
    try:
        raw.execute(statement.encode())
    except psycopg.IntegrityError as error:
        return "never changes" in str(error)
    return False


def read_again(address: PostgresAddress) -> tuple[StoredMessage, ...]:
    """The messages as our own program sees them now."""
    with PostgresMailbox.open(address) as mailbox:
        assert mailbox.integrity() == ()
        return mailbox.arrivals(0)


def test_messages_are_guarded(address: PostgresAddress, raw: psycopg.Cursor) -> None:
    """Every column of every message, one by one, and the rows as a whole."""
    before = read_again(address)
    raw.execute("SELECT * FROM messages WHERE FALSE")
    columns = [column.name for column in raw.description or ()]
    assert len(columns) > 10
    for column in columns:
        assert is_refused(raw, f"UPDATE messages SET {column} = {column}"), column  # noqa: S608
    for statement in (
        "DELETE FROM messages",
        "DELETE FROM messages WHERE id = 3",
        "TRUNCATE messages CASCADE",
        "INSERT INTO messages SELECT * FROM messages ON CONFLICT (id) DO UPDATE SET body = ''",
    ):
        assert is_refused(raw, statement), statement
    assert read_again(address) == before


def test_what_messages_are_made_of_is_guarded(
    address: PostgresAddress, raw: psycopg.Cursor
) -> None:
    """No other table can be written so that a message reads differently then."""
    before = read_again(address)
    raw.execute("UPDATE agents SET name = name || '7'; UPDATE threads SET name = name || '7'")
    assert read_again(address) == before


def test_a_change_by_force_is_noticed(address: PostgresAddress) -> None:
    """Who takes the guard away can change a message; that it was changed shows."""
    with psycopg.connect(address.url, autocommit=True) as other:
        other.execute(f"SET search_path TO {address.schema}".encode())
        other.execute("ALTER TABLE messages DISABLE TRIGGER messages_never_change")
        other.execute("UPDATE messages SET body = 'forged' WHERE id = 3")
        with PostgresMailbox.open(address) as mailbox:
            assert mailbox.integrity() == ("message 3 does not match its hash",)
        other.execute("TRUNCATE turns, keys, search")
        other.execute("DELETE FROM deliveries WHERE message = 3")
        other.execute("DELETE FROM messages WHERE id = 3")
        other.execute("UPDATE messages SET arrival = 3 WHERE arrival = 2")
        with PostgresMailbox.open(address) as mailbox:
            assert mailbox.integrity() == ("3 messages were stored, but 2 exist",)
