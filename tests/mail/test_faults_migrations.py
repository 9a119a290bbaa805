"""From every earlier format to the latest, by one process or by several, or not at all."""

import hashlib
from pathlib import Path

import apsw
import pytest

from brenner.diagnostics.model import UnavailableError
from brenner.mail.sqlite.mailbox import APPLICATION_ID, SqliteDatabase, SqliteMailbox, migrations
from mail.fault_mail import make_message, make_store
from mail.processes import answered, release, start
from mail.sending_work import migrate

# Each needs what the one before it left.
STEPS = (
    "CREATE TABLE notes (number INTEGER PRIMARY KEY, text); INSERT INTO notes VALUES (1, 'a');",
    "ALTER TABLE notes ADD COLUMN author TEXT; UPDATE notes SET author = text || 'b';",
    "INSERT INTO notes SELECT number + 1, author, author || 'c' FROM notes",
    "INSERT INTO notes SELECT number + 2, text, author || 'd' FROM notes",
)
LATEST = len(STEPS)
AFTER = {
    1: [(1, "a")],
    2: [(1, "a", "ab")],
    3: [(1, "a", "ab"), (2, "ab", "abc")],
    4: [(1, "a", "ab"), (2, "ab", "abc"), (3, "a", "abd"), (4, "ab", "abcd")],
}


def empty(path: Path) -> Path:
    """A file that is ours, before the first step."""
    connection = apsw.Connection(str(path))
    connection.pragma("application_id", APPLICATION_ID)
    connection.pragma("journal_mode", "wal")
    connection.close()
    return path


def notes(path: Path, version: int) -> list[object]:
    """What stands in a file that is in that format by now."""
    database = SqliteDatabase.open(path, STEPS[:version])
    assert database.version == version
    found = database.execute("SELECT * FROM notes ORDER BY number").fetchall()
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()
    return list(found)


@pytest.mark.parametrize(
    ("first", "last"), [(first, last) for last in range(1, LATEST + 1) for first in range(last + 1)]
)
def test_from_every_earlier_format(tmp_path: Path, first: int, last: int) -> None:
    path = empty(tmp_path / "mail.sqlite3")
    SqliteDatabase.open(path, STEPS[:first]).close()
    assert notes(path, last) == AFTER[last]
    assert notes(path, last) == AFTER[last], "it was done twice"


@pytest.mark.parametrize("first", [0, 2])
def test_several_processes_at_once(tmp_path: Path, first: int) -> None:
    path = empty(tmp_path / "mail.sqlite3")
    SqliteDatabase.open(path, STEPS[:first]).close()
    children = [start(migrate, path, *STEPS) for _ in range(4)]
    release(children)
    assert [answered(child) for child in children] == [[LATEST]] * len(children)
    assert notes(path, LATEST) == AFTER[LATEST]


@pytest.mark.parametrize(
    "step",
    [
        "CREATE TABLE more (number); INSERT INTO more SELECT nothing FROM notes",
        "DELETE FROM notes; SELECT RAISE(ABORT, 'outside of a trigger')",
        "CREATE TABLE more (number); DELETE FROM notes; CREATE TABLE notes (number)",
        "DELETE FROM notes; INSERT INTO notes VALUES (1, '', ''), (1, '', '')",
    ],
)
@pytest.mark.parametrize("first", [0, 1, 2])
def test_a_step_that_fails_leaves_the_file_as_it_was(tmp_path: Path, first: int, step: str) -> None:
    """Also those steps before it that went well are taken back."""
    path = empty(tmp_path / "mail.sqlite3")
    SqliteDatabase.open(path, STEPS[:first]).close()
    before = hashlib.sha256(path.read_bytes()).digest()
    with pytest.raises((UnavailableError, apsw.ConstraintError)):
        SqliteDatabase.open(path, (*STEPS[:2], step))
    assert hashlib.sha256(path.read_bytes()).digest() == before
    assert notes(path, LATEST) == AFTER[LATEST]


@pytest.mark.parametrize(
    "asking", ["SELECT 1", "UPDATE notes SET text = text RETURNING number", "PRAGMA quick_check"]
)
def test_a_step_that_asks_something_is_done_to_its_end(tmp_path: Path, asking: str) -> None:
    path = empty(tmp_path / "mail.sqlite3")
    step = "; ".join([STEPS[0], asking, "INSERT INTO notes VALUES (2, 'after the answer')"])
    SqliteDatabase.open(path, (step,)).close()
    assert notes(path, 1) == [(1, "a"), (2, "after the answer")]


def test_an_older_program_that_is_running_does_not_write_into_a_newer_format(
    tmp_path: Path,
) -> None:
    """It has the file open when somebody else migrates."""
    path = make_store(tmp_path / "mail.sqlite3", 2)
    with SqliteMailbox.open(path) as mailbox:
        assert mailbox.position() == 2
        SqliteDatabase.open(path, (*migrations(), STEPS[0])).close()
        with pytest.raises(UnavailableError) as caught:
            mailbox.send(make_message("Still here"))
        assert caught.value.diagnostic.id == "STORE_TOO_NEW"
    with pytest.raises(UnavailableError) as caught:
        SqliteMailbox.open(path)
    assert caught.value.diagnostic.id == "STORE_TOO_NEW"
