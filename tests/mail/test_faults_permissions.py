"""A store that one may read but not write, or not even read."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from brenner.mail.sqlite.mailbox import SqliteDatabase, SqliteMailbox, migrations
from mail.invariants import assert_usable
from mail.permission_work import NOBODY, make_project, read_and_send
from mail.processes import answers
from parts import need

READABLE = [["Message 0 of the start"], 2]
READ_ONLY = ["UnavailableError", "STORE_READ_ONLY"]
UNUSABLE = ["UnavailableError", "STORE_UNUSABLE"]


@pytest.fixture
def project() -> Iterator[Path]:
    """A project in a folder that everybody may enter, with a store that everybody may use."""
    need(can_become_somebody_else(), "permissions do not bind this user, who cannot become another")
    folder = Path(tempfile.mkdtemp(prefix="brenner-"))
    folder.chmod(0o755)
    make_project(folder / "project")
    own = folder / "project" / ".brenner"
    try:
        own.chmod(0o777)
        (own / "mail.sqlite3").chmod(0o666)
        yield folder / "project"
    finally:
        own.chmod(0o700)
        shutil.rmtree(folder)


def can_become_somebody_else() -> bool:
    """Whether permissions bind, or can be made to."""
    if os.geteuid():
        return True
    child = os.fork()
    if child == 0:
        try:
            os.setuid(NOBODY)
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def tried(project: Path, address: str = "") -> tuple[Any, Any]:
    """What comes of reading, and of sending."""
    [(read, sent)] = answers(read_and_send, project, project.parent / "scratch", address)
    return read, sent


def store(project: Path) -> Path:
    """Where the mail is."""
    return project / ".brenner" / "mail.sqlite3"


def test_everything_is_allowed(project: Path) -> None:
    """What the other tests take away was there."""
    assert tried(project) == (READABLE, ["Message 0 of the start", "From nobody"])


def test_a_file_that_may_only_be_read(project: Path) -> None:
    store(project).chmod(0o444)
    before = store(project).read_bytes()
    read, sent = tried(project)
    assert read == READABLE
    assert sent[:2] == READ_ONLY
    assert store(project).read_bytes() == before


@pytest.mark.parametrize("mode", [0o444, 0o666])
def test_a_folder_that_may_only_be_read(project: Path, mode: int) -> None:
    """As on a disk that is mounted for reading only, or in somebody else's project."""
    store(project).chmod(mode)
    store(project).parent.chmod(0o555)
    before = store(project).read_bytes()
    read, sent = tried(project)
    assert read == READABLE
    assert sent[:2] == READ_ONLY
    assert store(project).read_bytes() == before


def test_a_folder_that_may_only_be_read_while_somebody_else_writes(project: Path) -> None:
    with SqliteMailbox.open(store(project)) as mailbox:
        assert_usable(mailbox)
        for path in store(project).parent.iterdir():
            path.chmod(0o444)
        store(project).parent.chmod(0o555)
        read, sent = tried(project)
        assert read[0] == ["Message 0 of the start", "Still at work"]
        assert sent[:2] == READ_ONLY
        assert_usable(mailbox)


def test_a_file_that_may_not_be_read(project: Path) -> None:
    store(project).chmod(0o000)
    read, sent = tried(project)
    assert read[:2] == sent[:2] == UNUSABLE
    assert "permission denied" in read[2].lower()


@pytest.mark.parametrize("is_named", [False, True])
def test_a_folder_that_may_not_be_entered(project: Path, is_named: bool) -> None:
    """Whether there is mail cannot be known: to say that there is none would be wrong."""
    store(project).parent.chmod(0o000)
    read, sent = tried(project, f"sqlite:///{store(project)}" if is_named else "")
    assert read[:2] == sent[:2] == UNUSABLE
    assert "permission denied" in read[2].lower()


def test_a_folder_in_which_no_store_can_be_made(project: Path) -> None:
    store(project).unlink()
    store(project).parent.chmod(0o555)
    read, sent = tried(project)
    assert read == [[], 0]
    assert sent[:2] == UNUSABLE
    assert "permission denied" in sent[2].lower()
    assert list(store(project).parent.iterdir()) == []


def test_who_can_only_read_and_waits_sees_new_mail(project: Path) -> None:
    """One who sees a single moment looks again, as often as it takes."""
    path = store(project)
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    moment = SqliteDatabase.connect(path, f"{path.as_uri()}?immutable=1", flags, migrations())
    moment.is_immutable = True
    with SqliteMailbox(moment) as reader, SqliteMailbox.open(path) as writer:
        assert reader.wait(1, 0) == 1
        assert_usable(writer)
        assert reader.wait(1, 60) == 2
