"""One connection to the server. No wait on it lasts for ever."""

import logging
import os
import re
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from enum import Enum
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeVar
from urllib.parse import unquote, urlsplit

import psycopg
from psycopg import sql, waiting
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Conninfo, TransactionStatus

from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.model import Code, Diagnostic, RequestError, UnavailableError
from brenner.mail.model import StoredMessage
from brenner.mail.search import Query, words_of
from brenner.mail.sql.queries import asked_tags, tags_of
from brenner.mail.sql.rows import Damaged, Look, Numbers, Row, Statements, whole
from brenner.store_url import DEFAULT_SCHEMA, PostgresAddress, shown
from brenner.text import closest

SILENCE = 30.0  # seconds
_WAKE_EVERY = 0.1  # seconds; how soon Ctrl-C and the deadline are noticed
Answer = TypeVar("Answer")
# What psycopg would write to the terminal is said in our own words, once.
logging.getLogger("psycopg").addHandler(logging.NullHandler())


class Silent(psycopg.OperationalError):
    """The server has said nothing for too long."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no answer within {seconds:g} seconds")
        self.seconds = seconds


class Connection(psycopg.Connection[Row]):
    """A connection that gives up on a server that stands still.

    libpq waits for as long as the system keeps the connection, which may be for ever. After giving
    up, or Ctrl-C, nobody knows what the server is about to say: such a connection is closed.
    """

    silence = SILENCE

    def wait(self, gen: PQGen[Answer], *rest: Any, **named: Any) -> Answer:
        """Let the generator do its work, for as long as the server goes on answering."""
        if not rest:
            named.setdefault("interval", _WAKE_EVERY)
        try:
            return waiting.wait(_watched(gen, self.silence), self.pgconn.socket, *rest, **named)
        except (Silent, KeyboardInterrupt):
            self.pgconn.finish()
            raise


def _watched(gen: PQGen[Answer], silence: float) -> Generator[Any, Any, Answer]:
    """The generator, ended when nothing was ready for so many seconds."""
    deadline = time.monotonic() + silence
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            now = time.monotonic()
            if ready:
                deadline = now + silence
            elif now > deadline:
                raise Silent(silence)
            wanted = gen.send(ready)
    except StopIteration as done:
        answer: Answer = done.value
        return answer


# What the server and the way to it can be at fault with, turned into what we raise.
#
# A connection that cannot be made comes with words only: there the server's code is not handed on.


LOCK_SECONDS = 60


class Place(NamedTuple):
    """How the home is called before people, and what must not be said before them."""

    where: str
    database: str
    secret: str = ""

    def reason(self, text: str) -> str:
        """What a program said, as the part of a sentence: its first line, without secrets."""
        line = text.strip().partition("\n")[0].rstrip(".")
        for prefix in _NOISE:
            line = line.rpartition(prefix)[2]
        if self.secret:
            line = line.replace(self.secret, "…")
        # A password that is not written as an address wants it ends up in the name of the host.
        return re.sub(r"\S*@\S*", "…", line).strip() or "it does not say why"


_NOISE = ("failed: ", "connection is bad: ", "FATAL:  ", "ERROR:  ")


class _Meaning(NamedTuple):
    """What the words of a failed connection mean."""

    pattern: re.Pattern[str]
    code: Code
    advice: str


def _meaning(pattern: str, code: Code, advice: str) -> _Meaning:
    return _Meaning(re.compile(pattern), code, advice)


_UNKNOWN = _meaning(
    "",
    codes.SERVER_UNREACHABLE,
    "Look whether PostgreSQL runs there and takes connections, and whether the address is right",
)
_MEANINGS = (
    _meaning("SSL negotiation|expected authentication request", codes.SERVER_NONSENSE, ""),
    _meaning(
        "password|authentication",
        codes.SERVER_DENIED,
        "Give the right name and password: in the address, in `PGPASSWORD`, or in `~/.pgpass`",
    ),
    _meaning(
        "^role |not permitted to log in",
        codes.SERVER_DENIED,
        "Make the role on the server (`createuser NAME`), or name another one in the address",
    ),
    _meaning(
        "pg_hba.conf",
        codes.SERVER_DENIED,
        "Ask for a line in the server's `pg_hba.conf` that lets you in, or for TLS in the address "
        "(`?sslmode=require`)",
    ),
    _meaning(
        "(?i)ssl|certificate|tls",
        codes.SERVER_DENIED,
        "Correct what the address says of TLS (`sslmode`, `sslrootcert`, `sslcert`, `sslkey`), or "
        "the server's certificate",
    ),
    _meaning(
        "permission denied",
        codes.SERVER_DENIED,
        "Let the role connect: `GRANT CONNECT ON DATABASE … TO …`, or name another one",
    ),
    _meaning(
        "^database .* does not exist",
        codes.SERVER_UNREACHABLE,
        "Make the database: `createdb {database}` on that server, or name one that is there",
    ),
    _meaning(
        "Connection refused|No such file or directory",
        codes.SERVER_UNREACHABLE,
        "Start PostgreSQL there, or correct host and port in the address: "
        "`postgresql://HOST:PORT/DATABASE`",
    ),
    _meaning(
        "resolve host|translate host name|Name or service not known",
        codes.SERVER_UNREACHABLE,
        "Correct the name of the host in the address; it must not hold a character of the "
        "password that an address wants written as `%40` or so",
    ),
    _meaning(
        "too many|connection slots",
        codes.SERVER_UNREACHABLE,
        "Close programs that hold connections to that server, or let it take more of them "
        "(`max_connections`)",
    ),
    _meaning(
        "starting up|shutting down|recovery",
        codes.SERVER_UNREACHABLE,
        "Wait a moment, and repeat the command",
    ),
)


def refused_connection(place: Place, error: psycopg.Error) -> UnavailableError:
    """Why there is no connection, and what to do about it."""
    reason = place.reason(str(error))
    meaning = next((each for each in _MEANINGS if each.pattern.search(reason)), _UNKNOWN)
    advice = meaning.advice.format(database=place.database)
    found = meaning.code.at(where=place.where, reason=reason, advice=f"{advice}.")
    return UnavailableError(codes.nothing_done(found))


# The beginnings of the server's codes, the first that fits
_LOST = ("08", "25P03", "57P")
_STATES: tuple[tuple[str, Code], ...] = (
    ("53100", codes.STORE_FULL),
    ("25006", codes.STORE_READ_ONLY),
    ("55P03", codes.STORE_BUSY),
    ("XX001", codes.STORE_CORRUPT),
    ("XX002", codes.STORE_CORRUPT),
    # A statement that fails on a schema of ours means that the schema is not as we left it.
    ("3F000", codes.STORE_CORRUPT),
    ("42", codes.STORE_CORRUPT),
)
_NOT_ALLOWED = "42501"
_ADVICE = "Ask for the right to use it (`GRANT … ON …`), or name another role in the address."


@contextmanager
def translated(place: Place, *, is_writing: bool = False) -> Iterator[None]:
    """Turn what psycopg raises into what we raise."""
    try:
        yield
    except (psycopg.Error, Damaged) as error:
        raise UnavailableError(_diagnosis(place, error, is_writing)) from error


def _diagnosis(place: Place, error: psycopg.Error | Damaged, is_writing: bool) -> Diagnostic:
    reason = place.reason(said(error))
    if isinstance(error, Silent):
        return codes.SERVER_TIMEOUT.at(where=place.where, seconds=round(error.seconds))
    if isinstance(error, Damaged):
        return codes.STORE_CORRUPT.at(path=place.where, reason=reason)
    if error.sqlstate == _NOT_ALLOWED:
        if is_writing:
            return codes.STORE_READ_ONLY.at(path=place.where)
        return codes.SERVER_DENIED.at(where=place.where, reason=reason, advice=_ADVICE)
    code = _code(error)
    where = place.where
    found = code.at(where=where, path=where, reason=reason, seconds=LOCK_SECONDS)
    return codes.nothing_done(found)  # a transaction is taken back as a whole


def _code(error: psycopg.Error) -> Code:
    if is_lost(error):
        return codes.SERVER_LOST
    state = error.sqlstate or ""
    found = (code for beginning, code in _STATES if state.startswith(beginning))
    return next(found, codes.SERVER_FAILED)


def is_lost(error: psycopg.Error) -> bool:
    """Whether the connection is no more, or is about to be no more."""
    if error.sqlstate is not None:
        return error.sqlstate.startswith(_LOST)
    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)


def said(error: Exception) -> str:
    """What went wrong, in the words of whoever noticed."""
    primary = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    return primary or str(error)


# The way to the server: the address as libpq takes it, and connections that are made ready.


CONNECT_SECONDS = 10
_OLDEST = 13
# Writers must be told the truth when they are told that something is stored. A plan that was made
# for any value is a bad one for a search; machine code takes longer to make than most searches.
# A machine that falls asleep in the middle of a write must not hold up all the others.
_PREPARE = """
    SET search_path TO {schema};
    SET lock_timeout TO {lock};
    SET tcp_keepalives_idle TO 30;
    SET tcp_keepalives_interval TO 10;
    SET tcp_keepalives_count TO 3;
    SET plan_cache_mode TO force_custom_plan;
    SET jit TO off;
    SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') = 'off'
"""
# A connection that the network has forgotten is given up by the system, and a new one made, before
# the server is taken for one that stands still.
_NOTICED = {"keepalives_idle": "30", "keepalives_interval": "10", "tcp_user_timeout": "20000"}
_SCHEMA = "schema"  # ours, and taken out of the address before
_SHORT = ("ssl",)  # what libpq takes in an address only


class Server:
    """A database server, with the schema of one project."""

    def __init__(self, address: PostgresAddress) -> None:
        self.schema = address.schema
        where = shown(address.url)
        if self.schema != DEFAULT_SCHEMA:
            where += f"?schema={self.schema}"
        options = _options(address.url, where)
        self.place = Place(where, options.get("dbname", "DATABASE"), options.get("password", ""))
        self._address = make_conninfo("", **options)

    def connect(self) -> Connection:
        """A new connection, made ready."""
        try:
            connection = Connection.connect(self._address, autocommit=True)
        except psycopg.Error as error:
            raise refused_connection(self.place, error) from error
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: Connection) -> None:
        info = connection.info
        if info.server_version < _OLDEST * 10_000:
            self._refuse(f"PostgreSQL {_OLDEST} or newer is needed")
        if info.parameter_status("server_encoding") != "UTF8":
            self._refuse("mail needs a database whose encoding is UTF8")
        connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        with translated(self.place):
            connection.execute(self._preparation)

    @cached_property
    def _preparation(self) -> sql.Composed:
        return sql.SQL(_PREPARE).format(
            schema=sql.Identifier(self.schema), lock=sql.Literal(f"{LOCK_SECONDS}s")
        )

    def _refuse(self, reason: str) -> None:
        raise UnavailableError(codes.STORE_UNUSABLE.at(path=self.place.where, reason=reason))


def _options(url: str, where: str) -> dict[str, str]:
    """What libpq is told. What it says of an address that is wrong may hold the password."""
    _check_names(url, where)
    try:
        given = {name: str(value) for name, value in conninfo_to_dict(url).items()}
    except (psycopg.ProgrammingError, UnicodeError) as error:  # a wrong `%` makes wrong letters
        reason = "it is not well formed"
        raise RequestError(codes.UNKNOWN_STORE.at(url=where, reason=reason)) from error
    defaults = {"fallback_application_name": "brenner", **_NOTICED}
    if "PGCONNECT_TIMEOUT" not in os.environ:
        defaults["connect_timeout"] = str(CONNECT_SECONDS)
    return defaults | given | {"client_encoding": "UTF8"}


def _check_names(url: str, where: str) -> None:
    """An option that nobody knows is a mistake. One like no other may be part of a password."""
    known = (_SCHEMA, *_SHORT, *(each.keyword.decode() for each in Conninfo.get_defaults()))
    for option in filter(None, urlsplit(url).query.split("&")):
        name = unquote(option.partition("=")[0])
        if name not in known[1:]:
            near = closest(name, known)
            named = f"it has the option `{name}`, which nobody knows; perhaps `{near}` is meant"
            reason = named if near else "it has an option that nobody knows"
            raise RequestError(codes.UNKNOWN_STORE.at(url=where, reason=reason))


# Connections that are kept for the next who needs one.
#
# Made when they are needed, by whoever needs them: so a fault of the way to the server is told to
# the one whom it concerns, at once and in its own words, and no thread works behind our back.


MOST = 8


class Taken(NamedTuple):
    """A connection in use. One that was kept may be dead without our knowing."""

    connection: Connection
    is_new: bool


class Pool:
    """A few connections for many threads."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._kept: list[Connection] = []
        self._lock = threading.Lock()
        self._room = threading.Semaphore(MOST)
        self._is_closed = False

    def take(self) -> Taken:
        """A connection that is nobody else's until it is given back."""
        if not self._room.acquire(timeout=LOCK_SECONDS):
            where = self._server.place.where
            raise UnavailableError(codes.STORE_BUSY.at(path=where, seconds=LOCK_SECONDS))
        try:
            with self._lock:
                kept = self._kept.pop() if self._kept else None
            return Taken(kept or self._server.connect(), is_new=kept is None)
        except BaseException:
            self._room.release()
            raise

    def give(self, connection: Connection) -> None:
        """It is not needed any more; what is in no state to be used again is closed."""
        is_idle = connection.pgconn.transaction_status == TransactionStatus.IDLE
        with self._lock:
            is_kept = is_idle and not self._is_closed
            if is_kept:
                self._kept.append(connection)
        if not is_kept:
            connection.close()
        self._room.release()

    @contextmanager
    def lent(self) -> Iterator[Connection]:
        """A connection for a while."""
        connection = self.take().connection
        try:
            yield connection
        finally:
            self.give(connection)

    def close(self) -> None:
        """Close those that nobody uses; the others are closed when they are given back."""
        with self._lock:
            self._is_closed = True
            kept, self._kept = self._kept, []
        for connection in kept:
            connection.close()


# The index of words in PostgreSQL: a `tsvector` finds candidates, the folded text decides.
#
# PostgreSQL's own phrases forget where words stand in long texts, and its vectors hold no more than
# a megabyte. So neither is asked for more than it can do.


_MOST_BYTES = 1_000_000  # of the words of one vector
_MOST_WORDS = 50  # of a query that the index is asked for
# Tags begin with a sign that no word has.
_SIGN = ":"
_LONG = f"{_SIGN}long"  # which words such a message has is not in the index
# A long text is stored compressed: it is unpacked once, not for every term.
_TERMS = """
    SELECT 1 FROM (SELECT f.folded || '' AS text OFFSET 0) whole
    CROSS JOIN unnest(string_to_array(?, chr(10))) term WHERE strpos(whole.text, term)
"""
_EACH = f"NOT EXISTS ({_TERMS} = 0)"
_ANY = f"EXISTS ({_TERMS} > 0)"


class WordIndex:
    """The table `search`."""

    def __init__(self, database: Statements) -> None:
        self._database = database

    def add(self, stored: StoredMessage, thread: int, sender: int) -> None:
        """Make a message findable."""
        message = stored.message
        tags = [f"{_SIGN}{tag}" for tag in tags_of(stored, thread, sender)]
        lines = (words_of(message.subject), words_of(message.body), tags)
        words = {word for line in lines for word in line}
        if sum(len(word.encode()) for word in words) > _MOST_BYTES:
            words = {_LONG}
        self._database.execute(
            "INSERT INTO search VALUES (?, array_to_tsvector(string_to_array(?, chr(32))), ?)",
            (stored.arrival, " ".join(words), "\n".join(map(_apart, lines))),
        )

    def look(self, query: Query, numbers: Numbers) -> Look | None:
        """Candidates by their words, then every phrase and every tag in the text itself."""
        groups = [[f"{_SIGN}{tag}" for tag in tags] for tags in asked_tags(query, numbers)]
        asked = [("words @@ ?::tsquery", _candidates(query, groups))]
        asked += [(_EACH, "\n".join(map(_apart, query.phrases)))]
        asked += [(_ANY, "\n".join(f" {tag} " for tag in tags)) for tags in groups]
        asked = [(condition, value) for condition, value in asked if value]
        if not asked:
            return None
        return Look(
            "search f CROSS JOIN messages m",
            "f.arrival",
            ("m.arrival = f.arrival", *(condition for condition, _ in asked)),
            tuple(value for _, value in asked),
        )


def _apart(words: tuple[str, ...] | list[str]) -> str:
    """Words with a blank around each, so that no word is found inside of another."""
    return f" {' '.join(words)} "


def _candidates(query: Query, groups: list[list[str]]) -> str:
    """What the index is asked: the longest words, which are the rarest, and tags if not too many.

    Words and tags hold no quotation mark, so nothing in them can be taken for an operator.
    """
    words = sorted({word for phrase in query.phrases for word in phrase}, key=len)
    asked = [[word] for word in words[-_MOST_WORDS:]]
    asked += [tags for tags in groups if len(tags) <= _MOST_WORDS]
    terms = [" | ".join(f"'{term}'" for term in alternatives) for alternatives in asked]
    exact = " & ".join(f"({term})" for term in terms)
    return f"'{_LONG}' | ({exact})" if exact else ""


# Waiting for news: the server tells whoever listens to the name of the schema.


HEAR_SECONDS = 15.0  # after which it is looked whether the server is still there
_LOOK_EVERY = 1.0  # seconds; where nobody tells
Hear = Callable[[float], None]


class Listeners:
    """Connections that listen, kept from one wait to the next."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._kept: list[Connection] = []
        self._lock = threading.Lock()
        self._listen = sql.SQL("LISTEN {}").format(sql.Identifier(server.schema))

    @contextmanager
    def listening(self) -> Iterator[Hear]:
        """Gives what waits for news for so many seconds, or a little less.

        News that comes between two waits ends the next one at once.
        """
        with translated(self._server.place):
            connection = self._listener()
            if connection is None:
                yield _sleep
                return
            try:
                yield lambda seconds: self._hear(connection, seconds)
            except BaseException:
                connection.close()
                raise
            with self._lock:
                self._kept.append(connection)

    def _listener(self) -> Connection | None:
        """One that listens; None where the server tells nobody, because it only follows another."""
        with self._lock:
            kept = self._kept.pop() if self._kept else None
        if kept is not None:
            try:
                kept.execute(self._listen)
            except psycopg.Error:  # the server was restarted since
                kept.close()
            else:
                return kept
        connection = self._server.connect()
        try:
            connection.execute(self._listen)
        except psycopg.errors.ReadOnlySqlTransaction:
            connection.close()
            return None
        except BaseException:
            connection.close()
            raise
        return connection

    def _hear(self, connection: Connection, seconds: float) -> None:
        for _ in connection.notifies(timeout=min(seconds, HEAR_SECONDS), stop_after=1):
            return
        connection.execute(self._listen)  # is it still there?

    def close(self) -> None:
        """Stop listening."""
        with self._lock:
            kept, self._kept = self._kept, []
        for connection in kept:
            connection.close()


def _sleep(seconds: float) -> None:
    time.sleep(min(seconds, _LOOK_EVERY))


# The schema: whether it is there and ours, made, and brought up to date.


MIGRATING_SECONDS = 3_600.0  # a large store takes its time


class State(Enum):
    """What there is under the name of the schema."""

    ABSENT = "absent"
    EMPTY = "empty"
    OURS = "ours"
    FOREIGN = "foreign"
    CLOSED = "closed"  # to this role


# Which tables a schema has takes longer the more there are of others; it is seldom asked.
_LOOK = """
    SELECT pg_catalog.has_schema_privilege(n.oid, 'USAGE'), o.is_ours,
        o.is_ours OR EXISTS (SELECT 1 FROM pg_catalog.pg_class c WHERE c.relnamespace = n.oid)
    FROM pg_catalog.pg_namespace n CROSS JOIN LATERAL (
        SELECT EXISTS (
            SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
            WHERE c.relnamespace = n.oid AND c.relname = 'store' AND a.attname = 'brenner_format'
        ) AS is_ours
    ) o WHERE n.nspname = %s
"""
# Whoever gets the lock makes the schema, or brings it up to date; whoever comes later finds it so.
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('brenner mail ' || %s, 0))"
_MAY_NOT_CREATE = (
    "Ask for the schema: `CREATE SCHEMA {schema} AUTHORIZATION …`; or for the right to make it: "
    "`GRANT CREATE ON DATABASE {database} TO …`."
)
_MAY_NOT_USE = "Ask for the right to use it: `GRANT USAGE ON SCHEMA {schema} TO …`, and its tables."


@cache
def migrations() -> tuple[str, ...]:
    """The steps from one format to the next, in order; the first one makes the tables."""
    scripts = sorted((Path(__file__).parent / "migrations").glob("*.sql"))
    return tuple(path.read_text("utf-8") for path in scripts)


class Schema:
    """The schema of one project, seen over a connection."""

    def __init__(
        self, server: Server, connection: Connection, steps: tuple[str, ...] | None = None
    ) -> None:
        self._server = server
        self._connection = connection
        self._steps = migrations() if steps is None else steps

    def state(self) -> State:
        """What is there now."""
        row = self._connection.execute(_LOOK, (self._server.schema,)).fetchone()
        if row is None:
            return State.ABSENT
        may_use, is_ours, has_tables = row
        if not may_use:
            return State.CLOSED
        if not has_tables:
            return State.EMPTY
        return State.OURS if is_ours else State.FOREIGN

    def is_there(self) -> bool:
        """Whether something has that name; a schema with nothing in it is as good as none."""
        with translated(self._server.place):
            return self.state() not in (State.ABSENT, State.EMPTY)

    def version(self) -> int:
        """The number of the format."""
        row = self._connection.execute("SELECT brenner_format FROM store").fetchone()
        return whole(row[0] if row else None)

    def check(self) -> None:
        """Refuse what is not ours, or newer than we are, or not there."""
        state = self.state()
        if state is not State.OURS:
            self._refuse(state)
        check_version(self._server, self.version(), len(self._steps))

    def _refuse(self, state: State) -> NoReturn:
        place, name = self._server.place, self._server.schema
        if state is State.FOREIGN:
            reason = f"another program's tables are in the schema `{name}`"
            raise UnavailableError(codes.STORE_FOREIGN.at(path=place.where, reason=reason))
        if state is State.CLOSED:
            reason = f"the role may not use the schema `{name}`"
            raise self._denied(reason, _MAY_NOT_USE)
        reason = f"there is no mail in the schema `{name}`"
        raise UnavailableError(codes.STORE_UNUSABLE.at(path=place.where, reason=reason))

    def update(self) -> None:
        """Bring a schema that is there up to date, where it is older."""
        with translated(self._server.place):
            self.check()
            is_old = self.version() < len(self._steps)
        if is_old:
            self._migrate(create=False)

    def create(self) -> None:
        """Make what is not there, and bring it up to date."""
        with translated(self._server.place):
            is_absent = self.state() in (State.ABSENT, State.EMPTY)
        if is_absent:
            self._migrate(create=True)
        else:
            self.update()

    def _migrate(self, *, create: bool) -> None:
        connection, place = self._connection, self._server.place
        connection.silence = MIGRATING_SECONDS
        with translated(place, is_writing=True), connection.transaction():
            connection.execute(_LOCK, (self._server.schema,))
            try:
                for number in range(self._made() if create else self._found(), len(self._steps)):
                    connection.execute(self._steps[number].encode())
                    connection.execute("UPDATE store SET brenner_format = %s", (number + 1,))
            except psycopg.errors.InsufficientPrivilege as error:
                reason = f"the role may not make the tables of the schema `{self._server.schema}`"
                raise self._denied(reason, _MAY_NOT_CREATE) from error
        connection.silence = SILENCE

    def _found(self) -> int:
        """The format of what is there."""
        self.check()
        return self.version()

    def _made(self) -> int:
        """The format of what is there; 0 of a schema that is made now, or has nothing in it."""
        state = self.state()
        if state not in (State.ABSENT, State.EMPTY):
            return self._found()
        if state is State.ABSENT:
            name = sql.Identifier(self._server.schema)
            self._connection.execute(sql.SQL("CREATE SCHEMA {}").format(name))
        return 0

    def _denied(self, reason: str, advice: str) -> UnavailableError:
        place = self._server.place
        words = advice.format(schema=self._server.schema, database=place.database)
        return UnavailableError(
            codes.SERVER_DENIED.at(where=place.where, reason=reason, advice=words)
        )


def check_version(server: Server, version: int, known: int) -> None:
    """Refuse a format that is newer than we are."""
    if version > known:
        words = {"version": version, "known": known}
        raise UnavailableError(codes.STORE_TOO_NEW.at(None, path=server.place.where, **words))
