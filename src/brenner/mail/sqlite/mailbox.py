"""The file: opened, created, migrated, and its faults turned into ours.

Durability: the file is in WAL mode with synchronous FULL. When a write returns, the log has been
flushed to the disk: the write survives the end of the process, a crash of the system and a loss
of power, as far as the disk keeps its word.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Self

import apsw

from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.model import Code, Diagnostic, UnavailableError
from brenner.mail.model import Clock, StoredMessage, system_clock
from brenner.mail.search import Query, words_of
from brenner.mail.sql.mailbox import SqlMailbox
from brenner.mail.sql.queries import asked_tags, tags_of
from brenner.mail.sql.rows import Damaged, Look, Numbers, Statements, Value

if TYPE_CHECKING:
    from collections.abc import Iterable


# The index of words in SQLite (FTS5). It is read in the order of arrivals.


class WordIndex:
    """The table `search`. A tag is a word like others, in a column of its own."""

    def __init__(self, database: Statements) -> None:
        self._database = database

    def add(self, stored: StoredMessage, thread: int, sender: int) -> None:
        """Make a message findable."""
        message = stored.message
        texts = (words_of(message.subject), words_of(message.body), tags_of(stored, thread, sender))
        self._database.execute(
            "INSERT INTO search (rowid, subject, body, tags) VALUES (?, ?, ?, ?)",
            (stored.arrival, *map(" ".join, texts)),
        )

    def look(self, query: Query, numbers: Numbers) -> Look | None:
        """The query in the language of FTS5.

        Words hold letters, digits and § only, so nothing in them can be taken for an operator.
        """
        parts = [f'{{subject body}} : "{" ".join(phrase)}"' for phrase in query.phrases]
        parts += [f"tags : ({' OR '.join(_quoted(tags))})" for tags in asked_tags(query, numbers)]
        if not parts:
            return None
        expression = " AND ".join(f"({part})" for part in parts)
        source = "search f CROSS JOIN messages m"
        return Look(source, "f.rowid", ("search MATCH ?", "m.arrival = f.rowid"), (expression,))


def _quoted(words: "Iterable[str]") -> list[str]:
    return [f'"{word}"' for word in words]


APPLICATION_ID = 0x42524E52  # BRNR
_BUSY_SECONDS = 60
_LONGEST_PAUSE = 0.02
_PRAGMAS = """
    PRAGMA synchronous = FULL;
    PRAGMA fullfsync = ON;  -- what flushing means on macOS
    PRAGMA foreign_keys = ON;
    PRAGMA trusted_schema = OFF;
    PRAGMA cell_size_check = ON;
"""


@cache
def migrations() -> tuple[str, ...]:
    """The steps from one format of the file to the next, in order; the first one makes it."""
    scripts = sorted((Path(__file__).parent / "migrations").glob("*.sql"))
    return tuple(path.read_text("utf-8") for path in scripts)


class Database:
    """One connection to the file, for one thread at a time."""

    def __init__(
        self, path: Path, connection: apsw.Connection, identity: tuple[int, int] | None = None
    ) -> None:
        self.path = path
        self.index = WordIndex(self)
        self._connection = connection
        self._lock = threading.RLock()
        self._known = 0
        self._identity = identity
        self.is_still = False  # what is seen is one moment: nothing could tell us of later ones

    @classmethod
    def open(
        cls, path: Path, steps: tuple[str, ...] | None = None, *, to_write: bool = False
    ) -> Self:
        """Open a file that is there; bring it up to date where it is older.

        SQLite needs a file beside it for its locks. Where there can be none (a folder that may
        only be read, a full disk) and nobody is writing, it can still be read.
        """
        steps = migrations() if steps is None else steps
        with translated(path):
            try:
                return cls.connect(path, str(path), apsw.SQLITE_OPEN_READWRITE, steps)
            except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.IOError):
                if to_write or not _is_at_rest(path):
                    raise
                address = f"{path.absolute().as_uri()}?immutable=1"
                flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
                database = cls.connect(path, address, flags, steps)
                database.is_still = True
                return database

    @classmethod
    def connect(cls, path: Path, address: str, flags: int, steps: tuple[str, ...]) -> Self:
        """A connection to the file at the address; faults are told of the path."""
        identity = _identity(path)  # before it is opened: one that comes then is another one
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
        """Make the file where there is none, and open it.

        It is made beside and put in place whole, so that of several processes one makes it, and
        none ever sees half of it.
        """
        with translated(path):
            if not path.exists():
                check_no_log(path)
                _make(path)
        return cls.open(path, to_write=True)

    def _prepare(self, steps: tuple[str, ...]) -> None:
        connection = self._connection
        connection.set_busy_handler(_Patience())
        owner = connection.pragma("application_id")
        if owner != APPLICATION_ID:
            reason = "another program made it" if self.path.stat().st_size else "it is empty"
            raise UnavailableError(codes.STORE_FOREIGN.at(path=str(self.path), reason=reason))
        connection.execute(_PRAGMAS)
        self._known = len(steps)
        self._check_version()
        if self.version < len(steps):
            self._migrate(steps)

    def _check_version(self) -> None:
        version = self.version
        if version > self._known:
            words = {"version": version, "known": self._known}
            raise UnavailableError(codes.STORE_TOO_NEW.at(None, path=str(self.path), **words))

    def _migrate(self, steps: tuple[str, ...]) -> None:
        """Whoever gets the lock does it; whoever comes later finds it done."""
        with self.writing():
            for number in range(self.version, len(steps)):
                # A statement that gives rows is done when all of them have been asked for.
                self._connection.execute(steps[number]).fetchall()
                self._connection.pragma("user_version", number + 1)

    @property
    def version(self) -> int:
        """The number of the file's format."""
        return int(str(self._connection.pragma("user_version")))

    def execute(self, sql: str, values: tuple[Value, ...] = ()) -> apsw.Cursor:
        """Run a statement."""
        return self._connection.execute(sql, values)

    def indexed_by(self, name: str) -> str:
        """The words that make a statement use that index."""
        return f"INDEXED BY {name}"

    @contextmanager
    def writing(self, what: str = "") -> Iterator[None]:  # noqa: ARG002  a disk answers
        """All of what is done inside, or nothing.

        A newer program may have migrated the file since it was opened here.
        """
        with self._transaction("BEGIN IMMEDIATE"):
            self._check_version()
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Everything inside sees the same moment."""
        with self._transaction("BEGIN"):
            yield

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        with self._lock, translated(self.path):
            if self._is_inside():  # part of the one around it
                yield
                return
            self._check_there()
            self._connection.execute(begin)
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._is_inside():
                    self._connection.execute("ROLLBACK")
                raise

    def _is_inside(self) -> bool:
        return self._connection.in_transaction

    def _check_there(self) -> None:
        """A file that was taken away can be read and written for as long as it is open, and what
        is written there is lost. One that has got its name since may have another one's log beside
        it: who wants that one opens it anew.
        """
        found = _identity(self.path)
        if self._identity is None or found == self._identity:  # or it is still being made
            return
        reason = "another file has got its name" if found else "the file was taken away"
        raise UnavailableError(codes.STORE_UNUSABLE.at(path=str(self.path), reason=reason))

    def moment(self) -> Self:
        """The mail as it is now, on a connection of its own.

        What happens in the mailbox meanwhile is not held up, and not seen.
        """
        moment = self.open(self.path)
        moment.hold()
        return moment

    def translated(self) -> AbstractContextManager[None]:
        """Turn what SQLite and the system raise into what we raise."""
        return translated(self.path)

    def hold(self) -> None:
        """See this moment from now on, until the connection is closed."""
        with self._lock, translated(self.path):
            self._connection.execute("BEGIN; SELECT 1 FROM store").fetchall()

    def probe(self) -> None:
        """Try a write, and take it back; raises what a real one would."""
        with self._lock, translated(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._connection.execute("UPDATE store SET last_time = last_time")
            finally:
                self._connection.execute("ROLLBACK")

    def integrity(self) -> tuple[str, ...]:
        """What is wrong inside the file; nothing where it is sound."""
        with self.reading():
            found = [str(row[0]) for row in self.execute("PRAGMA integrity_check")]
            found += [f"{row[0]}: a row refers to nothing" for row in self.execute(_DANGLING)]
        return tuple(line for line in found if line != "ok")

    @property
    def journal_mode(self) -> str:
        """`wal`, or what the file system allows."""
        with self.reading():
            return str(self._connection.pragma("journal_mode"))

    def close(self) -> None:
        """Let go of the file."""
        with self._lock, suppress(apsw.Error):
            self._connection.close()


def _identity(path: Path) -> tuple[int, int] | None:
    """What tells a file from another one that has got its name; None where there is none."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


_DANGLING = 'SELECT DISTINCT "table" FROM pragma_foreign_key_check'


def _is_at_rest(path: Path) -> bool:
    """Whether the file is whole by itself: nothing stands in the log beside it."""
    log = Path(f"{path}-wal")
    return path.is_file() and not (log.exists() and log.stat().st_size)


def check_no_log(path: Path) -> None:
    """Refuse to take a place where a file was: its log would be read into a new one."""
    if any(
        log.exists() and log.stat().st_size
        for log in (Path(f"{path}-wal"), Path(f"{path}-journal"))
    ):
        reason = "the file is gone, and its log is still there"
        raise UnavailableError(codes.STORE_CORRUPT.at(path=str(path), reason=reason))


def _make(path: Path) -> None:
    """Make a whole file beside its place, then put it there, unless somebody was quicker."""
    new = path.with_name(f"{path.name}.new-{os.getpid()}-{threading.get_ident()}")
    new.unlink(missing_ok=True)
    connection = apsw.Connection(str(new))
    try:
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("journal_mode", "wal")
        connection.close()
        Database.connect(path, str(new), apsw.SQLITE_OPEN_READWRITE, migrations()).close()
        with suppress(FileExistsError):
            put_in_place(new, path)
            flush_folder(path.parent)
    finally:
        connection.close()
        for leftover in (new, Path(f"{new}-wal"), Path(f"{new}-shm")):
            leftover.unlink(missing_ok=True)


def put_in_place(new: Path, path: Path) -> None:
    """Give the file its name, unless something has it."""
    try:
        os.link(new, path)
    except FileExistsError:
        raise
    except OSError:  # a file system that has no second name for a file: claim the name first
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        new.replace(path)


def flush_folder(folder: Path) -> None:
    """A new name is safe only when its folder is on the disk."""
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


class _Patience:
    """How long to wait for one's turn. SQLite's own waiting cannot be interrupted by Ctrl-C."""

    def __init__(self) -> None:
        self._until = 0.0

    def __call__(self, tries: int) -> bool:
        """Whether to try again, after so many tries."""
        now = time.monotonic()
        if tries == 0:
            self._until = now + _BUSY_SECONDS
        time.sleep(min(0.001 * (tries + 1), _LONGEST_PAUSE))
        return now < self._until


# A statement that fails on a file of ours means that the file is not as we left it. What is in
# no row is a fault of the program, and raised as it is.
_MEANINGS: tuple[tuple[tuple[type[Exception], ...], Code], ...] = (
    ((apsw.NotADBError, apsw.CorruptError, apsw.FormatError, apsw.SQLError), codes.STORE_CORRUPT),
    ((UnicodeDecodeError, Damaged), codes.STORE_CORRUPT),
    ((apsw.FullError,), codes.STORE_FULL),
    ((apsw.ReadOnlyError,), codes.STORE_READ_ONLY),
    ((apsw.BusyError, apsw.LockedError, apsw.ProtocolError), codes.STORE_BUSY),
    ((OSError, apsw.CantOpenError, apsw.IOError, apsw.NoMemError), codes.STORE_UNUSABLE),
    ((apsw.PermissionsError, apsw.AuthError, apsw.NoLFSError), codes.STORE_UNUSABLE),
)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn what SQLite and the system raise into what we raise."""
    try:
        yield
    except (apsw.Error, OSError, UnicodeDecodeError, Damaged) as error:
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
    code = next((code for kinds, code in _MEANINGS if isinstance(error, kinds)), None)
    return code.at(path=path, reason=reason, seconds=_BUSY_SECONDS) if code else None


def _why_not_opened(path: str) -> str | None:
    """What the system says, where SQLite says only that it could not."""
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    except OSError as error:
        return error.strerror
    return None


def _is_full(path: str) -> bool:
    """Whether the disk has no room, which SQLite sometimes calls an I/O error."""
    try:
        return os.statvfs(Path(path).parent).f_bavail == 0
    except OSError:
        return False


# The embedded home of the mail: one SQLite file inside the project, for many processes at once.
#
# Writers take their turns (`BEGIN IMMEDIATE` with a long patience), readers never wait. What a send
# promises about the disk stands in `database.py`.


_LOOK_EVERY = 0.025  # seconds; a look costs some twenty microseconds


class SqliteMailbox(SqlMailbox[Database]):
    """A mailbox in a file."""

    def __init__(self, database: Database, clock: Clock = system_clock) -> None:
        super().__init__(database)
        self._clock = clock

    @classmethod
    def open(cls, path: Path, *, clock: Clock = system_clock) -> Self:
        """The mailbox in a file that is there."""
        return cls(Database.open(path), clock)

    @classmethod
    def create(cls, path: Path, *, clock: Clock = system_clock) -> Self:
        """The mailbox in a file that is made where there is none."""
        return cls(Database.create(path), clock)

    def _now(self) -> datetime:
        return self._clock()

    def wait(self, position: int, seconds: float) -> int:
        deadline = time.monotonic() + seconds
        while (now_there := self._position_now()) <= position:
            left = deadline - time.monotonic()
            if left <= 0:
                break
            time.sleep(min(_LOOK_EVERY, left))
        return now_there

    def _position_now(self) -> int:
        if self.database.is_still:
            self.database.close()
            self.database = Database.open(self.database.path)
        return self.position()
