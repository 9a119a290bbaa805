"""Files of every format that there ever was: opened, brought up to date, and read in full."""

from pathlib import Path

import apsw
import pytest

from brenner.config import Project
from brenner.mail.model import Profile
from brenner.mail.sqlite.mailbox import SqliteMailbox, migrations
from mail.invariants import assert_usable
from mail.old_stores import SOON_AFTER, expected, kept, reading_of, rebuilt
from mail_shell import Shell
from stores import store_path


def test_every_format_that_there_was_is_kept() -> None:
    assert kept() == list(range(1, len(migrations()) + 1))


@pytest.mark.parametrize("version", kept())
def test_a_store_of_an_old_format_is_read_in_full(tmp_path: Path, version: int) -> None:
    path = tmp_path / "mail.sqlite3"
    rebuilt(version, path)
    with SqliteMailbox.open(path, clock=lambda: SOON_AFTER) as mailbox:
        assert mailbox.database.version == len(migrations())
        assert mailbox.database.journal_mode == "wal"
        assert reading_of(mailbox) == expected(version)
        first = mailbox.message(1).message
        assert not mailbox.send(first, key="kickoff").is_new
        mailbox.register(Profile("Newcomer"))
        assert_usable(mailbox)


@pytest.mark.parametrize("version", kept())
def test_what_was_stored_in_an_old_format_never_changes(tmp_path: Path, version: int) -> None:
    """Also what its rows have got since."""
    path = tmp_path / "mail.sqlite3"
    rebuilt(version, path)
    SqliteMailbox.open(path).close()
    connection = apsw.Connection(str(path))
    columns = [row[1] for row in connection.execute("PRAGMA table_info(messages)")]
    assert columns[-4:] == ["importance", "cc", "trust", "decides"]
    changes = [f"UPDATE messages SET {column} = {column}" for column in columns]  # noqa: S608
    whole = ["DELETE FROM messages", "REPLACE INTO messages SELECT * FROM messages"]
    for change in changes + whole:
        with pytest.raises(apsw.ConstraintError, match="a stored message"):
            connection.execute(change)
    connection.close()


@pytest.mark.parametrize("version", kept())
def test_nothing_is_wrong_with_a_store_of_an_old_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    """Neither when it is brought up to date nor afterwards."""
    shell = Shell(tmp_path, monkeypatch)
    path = store_path(Project(tmp_path))
    path.parent.mkdir()
    rebuilt(version, path)
    for _ in range(2):
        checks = shell("doctor", "--json").json["checks"]
        wrong = {check["name"] for check in checks if check["status"] != "ok"}
        # A server of another project may listen at the usual port.
        assert wrong - {"serve"} == {"acks"}, "no agent has acknowledged the old kickoffs"


@pytest.mark.parametrize("version", kept())
def test_the_steps_to_an_old_format_never_change(tmp_path: Path, version: int) -> None:
    """Else stores of one format would differ from each other."""
    rebuilt(version, tmp_path / "old.sqlite3")
    connection = apsw.Connection(str(tmp_path / "new.sqlite3"))
    connection.execute(";".join(migrations()[:version])).fetchall()
    connection.close()
    assert schema(tmp_path / "old.sqlite3") == schema(tmp_path / "new.sqlite3")


def schema(path: Path) -> list[object]:
    """Every table, index and trigger of a file."""
    connection = apsw.Connection(str(path))
    found = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema").fetchall()
    connection.close()
    return sorted(found, key=str)
