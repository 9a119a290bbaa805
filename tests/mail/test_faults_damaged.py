"""A file that is damaged, not ours, or from a newer version: said so, and left as it is."""

import errno
import os
import random
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from brenner.config import Project
from brenner.diagnostics.model import UnavailableError
from brenner.mail.open import open_mailbox
from brenner.mail.search import Query
from brenner.mail.sqlite.mailbox import SqliteMailbox, link_or_rename, migrations
from mail.fault_mail import ANN, BEA, THREAD, make_message, make_store
from mail.invariants import assert_usable

CORRUPT, FOREIGN, UNUSABLE = "STORE_CORRUPT", "STORE_FOREIGN", "STORE_UNUSABLE"
TOO_NEW = "STORE_TOO_NEW"
PAGE = 4096
RUBBISH = {
    "zeros": bytes(PAGE),
    "ones": b"\xff" * PAGE,
    "letters": b"A" * PAGE,
    "half letters": b"\xc3" * PAGE,
    "noise": random.Random(1).randbytes(PAGE),  # noqa: S311
}


def everything(mailbox: SqliteMailbox) -> list[str]:
    """Read all there is; the bodies."""
    mailbox.agents()
    messages = mailbox.arrivals(0)
    for stored in messages:
        mailbox.deliveries(stored.id)
    mailbox.threads()
    mailbox.thread(THREAD)
    for name in (ANN, BEA):
        mailbox.inbox(name)
    mailbox.debts()
    mailbox.search(Query(phrases=(("start",),)), limit=1_000)
    tuple(mailbox.records())
    return [stored.message.body for stored in messages]


def use(project: Project, *, create: bool) -> None:
    """Open it, for reading or for writing, and read all there is."""
    with open_mailbox(project, create=create) as mailbox:
        assert isinstance(mailbox, SqliteMailbox)
        everything(mailbox)


def said(path: Path) -> str:
    """The code with which opening, reading and sending are refused, one as the other."""
    project = Project(path.parent, store=f"sqlite:///{path}")
    codes = set()
    for create in (False, True):
        with pytest.raises(UnavailableError) as caught:
            use(project, create=create)
        codes.add(caught.value.diagnostic.id)
        assert str(path) in caught.value.diagnostic.message
    assert len(codes) == 1
    return codes.pop()


def foreign(path: Path, *, wal: bool = False, owner: int = 0) -> None:
    """A database of another program."""
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "wal" if wal else "delete")
    connection.pragma("application_id", owner)
    connection.execute("CREATE TABLE messages (id, text); INSERT INTO messages VALUES (1, 'mine')")
    connection.close()


FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "nothing": (lambda path: path.write_bytes(b""), FOREIGN),
    "a text": (lambda path: path.write_text("To whom it may concern\n" * 99, "utf-8"), CORRUPT),
    "one byte": (lambda path: path.write_bytes(b"S"), FOREIGN),
    "random bytes": (lambda path: path.write_bytes(RUBBISH["noise"] * 9), CORRUPT),
    "zeros": (lambda path: path.write_bytes(bytes(9 * PAGE)), CORRUPT),
    "another program's": (foreign, FOREIGN),
    "another program's, with a log": (lambda path: foreign(path, wal=True), FOREIGN),
    "another program's, with a name": (lambda path: foreign(path, owner=1), FOREIGN),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_not_a_store(tmp_path: Path, name: str) -> None:
    path = tmp_path / "mail.sqlite3"
    write, code = FILES[name]
    write(path)
    before = path.read_bytes()
    assert said(path) == code
    assert path.read_bytes() == before


PLACES: dict[str, Callable[[Path], object]] = {
    "a folder": Path.mkdir,
    "a link that leads nowhere": lambda path: path.symlink_to("nowhere"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to a folder": lambda path: path.symlink_to("."),
    "a pipe": os.mkfifo,
}


@pytest.mark.parametrize("name", PLACES)
def test_something_else_in_its_place(tmp_path: Path, name: str) -> None:
    path = tmp_path / "mail.sqlite3"
    PLACES[name](path)
    before = sorted(tmp_path.rglob("*"))
    assert said(path) == UNUSABLE
    assert sorted(tmp_path.rglob("*")) == before


def test_a_file_in_the_place_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / ".brenner").write_text("Mine", "utf-8")
    with pytest.raises(UnavailableError) as caught:
        open_mailbox(Project(tmp_path), create=True)
    assert caught.value.diagnostic.id == UNUSABLE
    assert (tmp_path / ".brenner").read_text("utf-8") == "Mine"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with short messages and with long ones."""
    path = make_store(tmp_path / "mail.sqlite3", 40)
    with SqliteMailbox.open(path) as mailbox:
        for number in range(8):
            mailbox.send(make_message(f"The end of Jürgen's gradient {number} " * 300))
    return path


def is_told(damaged: Path, right: list[str]) -> bool:
    """Whether reading or the integrity check tells of the damage; else what is read is right."""
    code = None
    try:
        with SqliteMailbox.open(damaged) as mailbox:
            bodies = everything(mailbox)
            is_sound = mailbox.integrity() == ()
    except UnavailableError as error:
        code = error.diagnostic.id
    assert code in (None, CORRUPT)
    if code:
        return True
    assert bodies == right or not is_sound
    return not is_sound


@pytest.mark.parametrize("rubbish", ["zeros", "ones", "letters", "half letters", "noise", "cut"])
def test_a_page_that_was_overwritten_or_cut_off(store: Path, rubbish: str) -> None:
    """Each page in turn. What is read is right, or it is said; and nothing is written back."""
    content = store.read_bytes()
    with SqliteMailbox.open(store) as mailbox:
        right = everything(mailbox)
    pages = range(len(content) // PAGE)
    told = 0
    for page in pages:
        before, after = content[: page * PAGE], content[(page + 1) * PAGE :]
        damaged = before + RUBBISH[rubbish] + after if rubbish in RUBBISH else before + b"cut"
        store.write_bytes(damaged)
        told += is_told(store, right)
        assert store.read_bytes() == damaged
        for beside in ("-wal", "-shm"):
            Path(f"{store}{beside}").unlink(missing_ok=True)
    assert told == len(pages)


def test_a_message_that_was_changed_behind_our_back(store: Path) -> None:
    """Its hash is kept with it, so it can be told."""
    content = store.read_bytes()
    changed = content.replace(b"Message 7 of the start", b"Message 8 of the start")
    assert changed != content
    store.write_bytes(changed)
    with SqliteMailbox.open(store) as mailbox:
        assert mailbox.integrity() != ()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE agents SET registered_at = 'soon'",
        "UPDATE agents SET registered_at = 1 << 62",
        "UPDATE agents SET name = x'ff'",
        "UPDATE threads SET position = 'many'",
        "UPDATE deliveries SET recipient = 99",
        "UPDATE deliveries SET read_at = 'now'",
        "UPDATE store SET last_time = 'never'",
        "DELETE FROM search_data",
        "DROP TABLE keys",
        "DROP TABLE search",
        "DROP TABLE messages",
    ],
)
def test_a_store_in_which_another_program_has_written(store: Path, statement: str) -> None:
    """SQLite refuses it, or we tell of it: in words, not with a fault of our own."""
    connection = apsw.Connection(str(store))
    try:
        connection.execute(statement)
    except apsw.ConstraintError:
        return
    finally:
        connection.close()
    with SqliteMailbox.open(store) as mailbox:
        told: set[str] = set()
        for work in (
            lambda: everything(mailbox),
            lambda: mailbox.send(make_message("After that"), key="one"),
            lambda: told.update(mailbox.integrity()),
        ):
            try:
                work()
            except UnavailableError as error:
                told.add(error.diagnostic.id)
    assert told


def test_a_file_from_a_newer_version(store: Path) -> None:
    connection = apsw.Connection(str(store))
    connection.pragma("user_version", len(migrations()) + 1)
    connection.close()
    before = store.read_bytes()
    assert said(store) == TOO_NEW
    assert store.read_bytes() == before


def test_a_log_that_belongs_to_another_file(store: Path) -> None:
    """As after a store was brought back from a backup, and the files beside it were left."""
    backup = store.read_bytes()
    mailbox = SqliteMailbox.open(store)
    mailbox.send(make_message("After the backup"))
    log = Path(f"{store}-wal").read_bytes()
    mailbox.close()
    store.write_bytes(backup)
    Path(f"{store}-wal").write_bytes(log)
    with SqliteMailbox.open(store) as mailbox:
        assert everything(mailbox)[-1] == "After the backup"
        assert_usable(mailbox)


def test_a_log_that_was_damaged(store: Path) -> None:
    """What was in it is lost; all that was in the store is there."""
    content = store.read_bytes()
    for start in (0, 16, 40, PAGE):
        store.write_bytes(content)
        mailbox = SqliteMailbox.open(store)
        mailbox.send(make_message("In the log only"))
        log = bytearray(Path(f"{store}-wal").read_bytes())
        mailbox.close()
        log[start : start + 8] = b"\xaa" * 8
        store.write_bytes(content)
        Path(f"{store}-wal").write_bytes(log)
        with SqliteMailbox.open(store) as mailbox:
            assert "In the log only" not in everything(mailbox)
            assert_usable(mailbox)


def test_a_log_whose_file_is_gone(store: Path) -> None:
    """A new file in its place would take the old log in, and give mail to the wrong people."""
    mailbox = SqliteMailbox.open(store)
    mailbox.send(make_message("In the log."))
    log = Path(f"{store}-wal")
    kept = log.read_bytes()
    store.unlink()
    assert said(store) == "STORE_CORRUPT"
    assert not store.exists()
    assert log.read_bytes() == kept
    mailbox.close()


def test_the_file_is_created_between_two_looks(store: Path) -> None:
    """Another process creates the file after `create` found none; its log is not an old one."""

    class LatePath(type(store)):  # type: ignore[misc]
        looks = 0

        def exists(self) -> bool:
            self.looks += 1
            return self.looks > 1 and super().exists()

    with SqliteMailbox.open(store) as other:
        other.send(make_message("In the log."))
        assert Path(f"{store}-wal").stat().st_size
        with SqliteMailbox.create(LatePath(store)) as mailbox:
            assert everything(mailbox)[-1] == "In the log."


def test_a_file_system_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name is claimed before the file gets it; who finds it claimed leaves it alone."""

    def no_links(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr("os.link", no_links)
    path = tmp_path / "mail.sqlite3"
    SqliteMailbox.create(path).close()
    assert [each.name for each in tmp_path.iterdir()] == ["mail.sqlite3"]
    whole = path.read_bytes()
    with pytest.raises(FileExistsError):
        link_or_rename(path, path)
    assert path.read_bytes() == whole
