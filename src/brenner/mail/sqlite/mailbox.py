"""The mail backend in a SQLite file inside the project, for many processes at once.

Writers take turns (`BEGIN IMMEDIATE` with a long busy timeout); readers never wait.

Durability: the file is in WAL mode with synchronous FULL. When a write returns, the log has been
flushed to the disk. The write survives a crash of the process or the system and a power loss, if
the disk flushes as it reports.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Self

import apsw

from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.model import Code, Diagnostic, UnavailableError
from brenner.mail.model import Clock, system_clock
from brenner.mail.search import Query, tokenize
from brenner.mail.sql.mailbox import SqlMailbox
from brenner.mail.sql.queries import message_tags, query_tags
from brenner.mail.sql.rows import DamagedRowError, Row, SearchSource, Statement, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from brenner.mail.model import Agent, MessageRecord, RestoreResult
    from brenner.protocol.messages import StoredMessage


APPLICATION_ID = 0x42524E52  # BRNR
_BUSY_SECONDS = 60
_LONGEST_RETRY_PAUSE = 0.02
_PRAGMAS = """
    PRAGMA synchronous = FULL;
    PRAGMA fullfsync = ON;  -- what flushing means on macOS
    PRAGMA foreign_keys = ON;
    PRAGMA trusted_schema = OFF;
    PRAGMA cell_size_check = ON;
    PRAGMA temp_store = MEMORY;
"""


@cache
def migrations() -> tuple[str, ...]:
    """Return the migration scripts in order; the first one creates the tables."""
    scripts = sorted((Path(__file__).parent / "migrations").glob("*.sql"))
    return tuple(path.read_text("utf-8") for path in scripts)


class SqliteDatabase:
    """One connection to the file, for one thread at a time."""

    def __init__(
        self, path: Path, connection: apsw.Connection, identity: tuple[int, int] | None = None
    ) -> None:
        self.path = path
        self._connection = connection
        self._lock = threading.RLock()
        self._known_version = 0
        self._identity = identity
        self.is_immutable = False  # changes are not visible

    @classmethod
    def open(
        cls, path: Path, steps: tuple[str, ...] | None = None, *, to_write: bool = False
    ) -> Self:
        """Open an existing file, and migrate it if it is older.

        SQLite needs a lock file beside it. If that cannot be created (a read-only folder, a full
        disk) and no process is writing, the file is opened as immutable.
        """
        steps = migrations() if steps is None else steps
        with translate_errors(path):
            try:
                return cls.connect(path, str(path), apsw.SQLITE_OPEN_READWRITE, steps)
            except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.IOError):
                if to_write or not _has_empty_log(path):
                    raise
                address = f"{path.absolute().as_uri()}?immutable=1"
                flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
                database = cls.connect(path, address, flags, steps)
                database.is_immutable = True
                return database

    @classmethod
    def connect(cls, path: Path, address: str, flags: int, steps: tuple[str, ...]) -> Self:
        """Connect to the file at the address; errors name the path."""
        identity = _file_identity(path)  # before opening, to detect a replacement
        connection = apsw.Connection(address, flags=flags)
        try:
            database = cls(path, connection, identity)
            database._prepare(steps)
        except BaseException:
            connection.close()
            raise
        return database

    @classmethod
    def create(cls, path: Path) -> Self:
        """Create the file if it does not exist, and open it.

        It is created under a temporary name and then linked. So one of several processes creates
        it, and none sees an incomplete file.
        """
        with translate_errors(path):
            if not path.exists():
                check_no_log(path)
                _create_file(path)
        return cls.open(path, to_write=True)

    def _prepare(self, steps: tuple[str, ...]) -> None:
        connection = self._connection
        connection.set_busy_handler(_busy_handler())
        owner = connection.pragma("application_id")
        if owner != APPLICATION_ID:
            reason = "another program created it" if self.path.stat().st_size else "it is empty"
            raise UnavailableError(codes.STORE_FOREIGN.at(path=str(self.path), reason=reason))
        connection.execute(_PRAGMAS)
        self._known_version = len(steps)
        self._check_version()
        if self.version < len(steps):
            self._migrate(steps)

    def _check_version(self) -> None:
        version = self.version
        if version > self._known_version:
            words = {"version": version, "known": self._known_version}
            raise UnavailableError(codes.STORE_TOO_NEW.at(None, path=str(self.path), **words))

    def _migrate(self, steps: tuple[str, ...]) -> None:
        """Run the missing migrations under the write lock; a later process finds none missing."""
        with self.write_transaction():
            for number in range(self.version, len(steps)):
                # A statement with rows runs to its end only when all rows are fetched.
                self._connection.execute(steps[number]).fetchall()
                self._connection.pragma("user_version", number + 1)

    @property
    def version(self) -> int:
        return int(str(self._connection.pragma("user_version")))

    def execute(self, sql: str, values: tuple[Value, ...] = ()) -> apsw.Cursor:
        return self._connection.execute(sql, values)

    def query(self, sql: str, values: tuple[Value, ...] = ()) -> list[Row]:
        return self._connection.execute(sql, values).fetchall()

    def query_all(self, statements: Sequence[Statement]) -> list[list[Row]]:
        return [self.query(*each) for each in statements]

    def index_message(self, stored: StoredMessage, thread: int, sender: int) -> None:
        """Add a message to the FTS5 table `search`; its tags are words in their own column."""
        subject, body = tokenize(stored.message.subject), tokenize(stored.message.body)
        texts = (subject, body, message_tags(stored, thread, sender))
        self.execute(
            "INSERT INTO search (rowid, subject, body, tags) VALUES (?, ?, ?, ?)",
            (stored.arrival, *map(" ".join, texts)),
        )

    def search_source(
        self, query: Query, senders: Sequence[int], threads: Sequence[int]
    ) -> SearchSource | None:
        """Translate a query for FTS5, which is read in order of arrival.

        Words contain only letters, digits and §, so none of them can be an operator.
        """
        parts = [f'{{subject body}} : "{" ".join(phrase)}"' for phrase in query.phrases]
        for tags in query_tags(query, senders, threads):
            alternatives = " OR ".join(f'"{tag}"' for tag in tags)
            parts.append(f"tags : ({alternatives})")
        if not parts:
            return None
        expression = " AND ".join(f"({part})" for part in parts)
        source = "search f CROSS JOIN messages m"
        return SearchSource(
            source, "f.rowid", ("search MATCH ?", "m.arrival = f.rowid"), (expression,)
        )

    def index_hint(self, name: str) -> str:
        return f"INDEXED BY {name}"

    @contextmanager
    def write_transaction(
        self,
        what: str = "",  # noqa: ARG002  a disk answers
        reads: Sequence[Statement] = (),
    ) -> Iterator[list[list[Row]]]:
        """Begin a write transaction, and check that no newer program has migrated the file."""
        with self._transaction("BEGIN IMMEDIATE"):
            self._check_version()
            yield self.query_all(reads)

    @contextmanager
    def read_transaction(self) -> Iterator[None]:
        with self._transaction("BEGIN"):
            yield

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        with self._lock, translate_errors(self.path):
            if self._in_transaction():  # nested: join the outer transaction
                yield
                return
            self._check_same_file()
            self._connection.execute(begin)
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._in_transaction():
                    self._connection.execute("ROLLBACK")
                raise

    def _in_transaction(self) -> bool:
        return self._connection.in_transaction

    def _check_same_file(self) -> None:
        """Raise UnavailableError if the file was removed or replaced since it was opened.

        What is written to a removed file is lost. A new file of that name may have the log of
        another one beside it.
        """
        found = _file_identity(self.path)
        if self._identity is None or found == self._identity:  # None while it is being created
            return
        reason = "another file replaced it" if found else "the file was removed"
        raise UnavailableError(codes.STORE_UNUSABLE.at(path=str(self.path), reason=reason))

    def snapshot(self) -> Self:
        """Open a snapshot on a separate connection, which blocks no writer."""
        snapshot = self.open(self.path)
        snapshot.begin_snapshot()
        return snapshot

    def translate_errors(self) -> AbstractContextManager[None]:
        return translate_errors(self.path)

    def begin_snapshot(self) -> None:
        """Begin a read transaction that lasts until the connection is closed."""
        with self._lock, translate_errors(self.path):
            self._connection.execute("BEGIN; SELECT 1 FROM store").fetchall()

    def probe_write(self) -> None:
        """Write and roll back; raise what a real write would raise."""
        with self._lock, translate_errors(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._connection.execute("UPDATE store SET last_time = last_time")
            finally:
                self._connection.execute("ROLLBACK")

    def integrity(self) -> tuple[str, ...]:
        """Return what is damaged in the file; empty if nothing is."""
        with self.read_transaction():
            found = [str(row[0]) for row in self.execute("PRAGMA integrity_check")]
            found += [
                f"{row[0]}: a row refers to a missing row"
                for row in self.execute(_DANGLING_REFERENCES)
            ]
        return tuple(line for line in found if line != "ok")

    @property
    def journal_mode(self) -> str:
        """`wal`, or the mode that the file system allows."""
        with self.read_transaction():
            return str(self._connection.pragma("journal_mode"))

    def empty_log(self) -> None:
        """Move all content from the log into the file. Raise if that fails, as on a full disk.

        Closing the last connection does the same, but does not report a failure.
        """
        with self._lock, translate_errors(self.path):
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def close(self) -> None:
        with self._lock, suppress(apsw.Error):
            self._connection.close()


def _file_identity(path: Path) -> tuple[int, int] | None:
    """Return device and inode of a file, or None if it does not exist."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


_DANGLING_REFERENCES = 'SELECT DISTINCT "table" FROM pragma_foreign_key_check'


def _has_empty_log(path: Path) -> bool:
    """Return whether the file is complete without its write-ahead log."""
    return path.is_file() and not _size(f"{path}-wal")


def _size(path: str) -> int:
    """Return the size of a file, 0 if it does not exist: another process may remove a log."""
    try:
        return Path(path).stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return 0


def check_no_log(path: Path) -> None:
    """Raise UnavailableError if a log of a missing file exists: a new file would replay it."""
    has_log = any(_size(f"{path}{ending}") for ending in ("-wal", "-journal"))
    # Look for the file last: another process may have created it, and its log, in the meantime.
    if has_log and not path.exists():
        reason = "the file is missing, but its log still exists"
        raise UnavailableError(codes.STORE_CORRUPT.at(path=str(path), reason=reason))


def _create_file(path: Path) -> None:
    """Create a complete file under a temporary name, and link it unless the path exists by then."""
    new = path.with_name(f"{path.name}.new-{os.getpid()}-{threading.get_ident()}")
    new.unlink(missing_ok=True)
    connection = apsw.Connection(str(new))
    try:
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("journal_mode", "wal")
        connection.close()
        database = SqliteDatabase.connect(path, str(new), apsw.SQLITE_OPEN_READWRITE, migrations())
        try:
            database.empty_log()
        finally:
            database.close()
        with suppress(FileExistsError):
            link_or_rename(new, path)
            fsync_folder(path.parent)
    finally:
        connection.close()
        for leftover in (new, Path(f"{new}-wal"), Path(f"{new}-shm")):
            leftover.unlink(missing_ok=True)


def link_or_rename(new: Path, path: Path) -> None:
    """Give the new file its name; raise FileExistsError if the path exists."""
    try:
        os.link(new, path)
    except FileExistsError:
        raise
    except OSError:  # no hard links on this file system: claim the name first
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        new.replace(path)


def fsync_folder(folder: Path) -> None:
    """Flush a folder: without that, a new name in it may be lost."""
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _busy_handler() -> Callable[[int], bool]:
    """Return a function that sleeps, and tells SQLite whether to retry after so many tries.

    Ctrl-C cannot interrupt SQLite's own timeout.
    """
    until = 0.0

    def wait(tries: int) -> bool:
        nonlocal until
        now = time.monotonic()
        if tries == 0:
            until = now + _BUSY_SECONDS
        time.sleep(min(0.001 * (tries + 1), _LONGEST_RETRY_PAUSE))
        return now < until

    return wait


# If a statement fails on our file, another program has changed the file. Other exceptions are bugs
# and are raised unchanged.
_ERROR_CODES: tuple[tuple[tuple[type[Exception], ...], Code], ...] = (
    ((apsw.NotADBError, apsw.CorruptError, apsw.FormatError, apsw.SQLError), codes.STORE_CORRUPT),
    ((UnicodeDecodeError, DamagedRowError), codes.STORE_CORRUPT),
    ((apsw.FullError,), codes.STORE_FULL),
    ((apsw.ReadOnlyError,), codes.STORE_READ_ONLY),
    ((apsw.BusyError, apsw.LockedError, apsw.ProtocolError), codes.STORE_BUSY),
    ((OSError, apsw.CantOpenError, apsw.IOError, apsw.NoMemError), codes.STORE_UNUSABLE),
    ((apsw.PermissionsError, apsw.AuthError, apsw.NoLFSError), codes.STORE_UNUSABLE),
)


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (apsw.Error, OSError, UnicodeDecodeError, DamagedRowError) as error:
        found = _diagnosis(str(path), error)
        if found is None:
            raise
        raise UnavailableError(found) from error


def _diagnosis(path: str, error: Exception) -> Diagnostic | None:
    reason = str(error) or type(error).__name__
    if isinstance(error, OSError):
        reason = error.strerror or reason
    elif isinstance(error, apsw.CantOpenError):
        reason = _why_not_opened(path) or reason
    elif isinstance(error, apsw.IOError) and _is_full(path):
        return codes.STORE_FULL.at(path=path)
    code = next((code for kinds, code in _ERROR_CODES if isinstance(error, kinds)), None)
    return code.at(path=path, reason=reason, seconds=_BUSY_SECONDS) if code else None


def _why_not_opened(path: str) -> str | None:
    """Return the system's reason: SQLite only reports that it cannot open the file."""
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    except OSError as error:
        return error.strerror
    return None


def _is_full(path: str) -> bool:
    """Return whether the disk is full, which SQLite sometimes reports as an I/O error."""
    try:
        return os.statvfs(Path(path).parent).f_bavail == 0
    except OSError:
        return False


# The mailbox


_POLL_SECONDS = 0.025  # a query takes about 20 µs
_CACHE, _IMPORT_CACHE = -2_000, -200_000  # in KiB; the first is SQLite's default


class SqliteMailbox(SqlMailbox[SqliteDatabase]):
    def __init__(self, database: SqliteDatabase, clock: Clock = system_clock) -> None:
        super().__init__(database)
        self._clock = clock

    @classmethod
    def open(cls, path: Path, *, clock: Clock = system_clock) -> Self:
        return cls(SqliteDatabase.open(path), clock)

    @classmethod
    def create(cls, path: Path, *, clock: Clock = system_clock) -> Self:
        return cls(SqliteDatabase.create(path), clock)

    def _now(self) -> datetime:
        return self._clock()

    def restore(self, agents: Iterable[Agent], records: Iterable[MessageRecord]) -> RestoreResult:
        """Import with a large cache: otherwise pages of the index are written again and again."""
        with self.database.translate_errors():
            self.database.execute(f"PRAGMA cache_size = {_IMPORT_CACHE}")
            try:
                return super().restore(agents, records)
            finally:
                self.database.execute(f"PRAGMA cache_size = {_CACHE}")

    def wait(self, position: int, seconds: float) -> int:
        deadline = time.monotonic() + seconds
        while (now_there := self._position_now()) <= position:
            left = deadline - time.monotonic()
            if left <= 0:
                break
            time.sleep(min(_POLL_SECONDS, left))
        return now_there

    def _position_now(self) -> int:
        if self.database.is_immutable:
            self.database.close()
            self.database = SqliteDatabase.open(self.database.path)
        return self.position()
