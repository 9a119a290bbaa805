"""A stored message never changes: not by SQL either, whoever opens the file with whatever tool."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.protocol.messages import StoredMessage
from mail.backends import SQLITE, Place, sqlite_file
from mail.sample_mail import BEA, QUESTION, ack, introduce, make_message, post


@contextmanager
def raw(folder: Path) -> Iterator[sqlite3.Connection]:
    """The file as any program can open it: without our settings."""
    with closing(sqlite3.connect(sqlite_file(folder), isolation_level=None)) as connection:
        yield connection


@pytest.fixture
def stored(tmp_path: Path) -> tuple[StoredMessage, ...]:
    """A small mailbox with links, marks and a key, closed."""
    with Place(SQLITE, tmp_path) as place:
        introduce(place.mailbox)
        asked = post(place.mailbox, make_message(subject=QUESTION))
        post(place.mailbox, ack(str(asked.id)), reply_to=asked.id)
        place.mailbox.send(make_message("with a key"), key="k")
        place.mailbox.mark(BEA, [asked.id], is_read=True)
        return place.mailbox.arrivals(0)


def columns(folder: Path) -> list[tuple[str, str]]:
    """Every column of every table; what is inside of an index aside."""
    with raw(folder) as connection:
        rows = connection.execute(
            "SELECT m.name, c.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c"
            " WHERE m.type = 'table' AND m.name NOT LIKE 'search%' AND m.name NOT LIKE 'sqlite%'"
        )
        return list(rows)


def is_refused(folder: Path, statement: str) -> bool:
    """Try a statement; whether a trigger or a constraint refused it."""
    with raw(folder) as connection:
        try:
            connection.execute(statement)
        except sqlite3.IntegrityError:
            return True
    return False


def read_again(folder: Path) -> tuple[StoredMessage, ...]:
    """The messages as our own program sees them now."""
    with SqliteMailbox.open(sqlite_file(folder)) as mailbox:
        return mailbox.arrivals(0)


def test_messages_are_guarded(tmp_path: Path, stored: tuple[StoredMessage, ...]) -> None:
    """Every column of every message, one by one, and the rows as a whole."""
    guarded = [column for table, column in columns(tmp_path) if table == "messages"]
    assert len(guarded) > 10
    for column in guarded:
        for verb in ("UPDATE", "UPDATE OR REPLACE", "UPDATE OR IGNORE"):
            for value in ("x'00'", column):
                statement = f"{verb} messages SET {column} = {value}"
                assert is_refused(tmp_path, statement), statement
    assert is_refused(tmp_path, "DELETE FROM messages")
    assert is_refused(tmp_path, "DELETE FROM messages WHERE id = (SELECT max(id) FROM messages)")
    assert read_again(tmp_path) == stored


@pytest.mark.parametrize("kept", ["arrival", "id", "origin_id, hash"])
def test_replacing_is_changing(
    tmp_path: Path, stored: tuple[StoredMessage, ...], kept: str
) -> None:
    """REPLACE deletes without asking the triggers for DELETE, whichever key it is that clashes."""
    values = {
        "body": "'another body'",
        **{name: f"{name} + 1000" for name in ("arrival", "id", "origin_id") if name not in kept},
    }
    names = [column for table, column in columns(tmp_path) if table == "messages"]
    chosen = ", ".join(values.get(name, name) for name in names)
    for verb in ("REPLACE", "INSERT OR REPLACE"):
        statement = f"{verb} INTO messages SELECT {chosen} FROM messages WHERE id = 1"  # noqa: S608
        is_refused(tmp_path, statement)
        assert set(stored) <= set(read_again(tmp_path))


def test_what_messages_are_made_of_is_guarded(
    tmp_path: Path, stored: tuple[StoredMessage, ...]
) -> None:
    """No column of any other table can be written so that a message reads differently then."""
    tables = [(table, column) for table, column in columns(tmp_path) if table != "messages"]
    assert {"agents", "threads"} <= {table for table, _ in tables}
    wrong = []
    for table, column in tables:
        folder = tmp_path / f"{table}-{column}"
        folder.mkdir()
        shutil.copy(sqlite_file(tmp_path), sqlite_file(folder))
        update = f"UPDATE {table} SET {column} = {column} || '7'"  # noqa: S608
        delete = f"DELETE FROM {table}"  # noqa: S608
        for statement in (update, delete):
            is_refused(folder, statement)
            if read_again(folder) != stored:
                wrong.append(statement)
                break
    assert wrong == []
