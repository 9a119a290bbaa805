"""PostgreSQL connections: timeouts, errors, the connection pool, the word index, LISTEN, the
schema.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar
from urllib.parse import unquote, urlsplit

import psycopg
from psycopg import sql, waiting
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Conninfo, TransactionStatus

from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.model import Code, Diagnostic, RequestError, UnavailableError
from brenner.mail.search import Query, tokenize
from brenner.mail.sql.queries import message_tags, query_tags
from brenner.mail.sql.rows import (
    DamagedRowError,
    Row,
    SearchSource,
    Statement,
    as_int,
)
from brenner.store_url import DEFAULT_SCHEMA, PostgresAddress, redact_address, unknown_option
from brenner.text import closest

if TYPE_CHECKING:
    from psycopg.abc import PQGen

    from brenner.protocol.messages import StoredMessage

SILENCE = 30.0
_WAKE_SECONDS = 0.1  # how soon Ctrl-C and the deadline are noticed
Answer = TypeVar("Answer")
# psycopg must not log to the terminal: we report its errors ourselves.
logging.getLogger("psycopg").addHandler(logging.NullHandler())


class ResponseTimeout(psycopg.OperationalError):
    """The server sent no response within the timeout."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no answer within {seconds:g} seconds")
        self.seconds = seconds


class PostgresConnection(psycopg.Connection[Row]):
    """A connection with a response timeout.

    libpq waits as long as the system keeps the connection, possibly forever. After a timeout or
    Ctrl-C the state of the connection is unknown, so it is closed.
    """

    silence = SILENCE

    def wait(self, gen: PQGen[Answer], *rest: Any, **named: Any) -> Answer:
        """Run the generator as long as the server responds within the timeout."""
        if not rest:
            named.setdefault("interval", _WAKE_SECONDS)
        try:
            return waiting.wait(
                _with_timeout(gen, self.silence), self.pgconn.socket, *rest, **named
            )
        except (ResponseTimeout, KeyboardInterrupt):
            self.pgconn.finish()
            raise


def _with_timeout(gen: PQGen[Answer], silence: float) -> Generator[Any, Any, Answer]:
    """Wrap the generator; raise ResponseTimeout if nothing was ready for so many seconds."""
    deadline = time.monotonic() + silence
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            now = time.monotonic()
            if ready:
                deadline = now + silence
            elif now > deadline:
                raise ResponseTimeout(silence)
            wanted = gen.send(ready)
    except StopIteration as done:
        answer: Answer = done.value
        return answer


# Errors. A failed connection has no SQLSTATE, only a message.


LOCK_SECONDS = 60


_MESSAGE_PREFIXES = ("failed: ", "connection is bad: ", "FATAL:  ", "ERROR:  ")


# A pattern of the message, the code, and the advice; the first match counts, the last matches all
_CONNECTION_FAILURES: tuple[tuple[str, Code, str], ...] = (
    ("SSL negotiation|expected authentication request", codes.SERVER_NONSENSE, ""),
    (
        "password|authentication",
        codes.SERVER_DENIED,
        "Correct the user name and password: in the address, in `PGPASSWORD`, or in `~/.pgpass`",
    ),
    (
        "^role |not permitted to log in",
        codes.SERVER_DENIED,
        "Create the role on the server (`createuser NAME`), or use another one in the address",
    ),
    (
        "pg_hba.conf",
        codes.SERVER_DENIED,
        (
            "Ask for a line in the server's `pg_hba.conf` that allows you, or use TLS: add "
            "`?sslmode=require` to the address"
        ),
    ),
    (
        "(?i)ssl|certificate|tls",
        codes.SERVER_DENIED,
        (
            "Correct the TLS options of the address (`sslmode`, `sslrootcert`, `sslcert`, "
            "`sslkey`), or the server's certificate"
        ),
    ),
    (
        "permission denied",
        codes.SERVER_DENIED,
        "Let the role connect: `GRANT CONNECT ON DATABASE {database} TO …`, or use another one",
    ),
    (
        "^database .* does not exist",
        codes.SERVER_UNREACHABLE,
        "Create the database: `createdb {database}` on that server, or use an existing one",
    ),
    (
        "Connection refused|No such file or directory",
        codes.SERVER_UNREACHABLE,
        (
            "Start PostgreSQL there, or correct host and port in the address: "
            "`postgresql://HOST:PORT/DATABASE`"
        ),
    ),
    (
        "resolve host|translate host name|Name or service not known",
        codes.SERVER_UNREACHABLE,
        (
            "Correct the host name in the address. In a password, write `@` as `%40` and `/` as "
            "`%2F`"
        ),
    ),
    (
        "too many|connection slots",
        codes.SERVER_UNREACHABLE,
        ("Close programs that are connected to that server, or raise its `max_connections`"),
    ),
    (
        "starting up|shutting down|recovery",
        codes.SERVER_UNREACHABLE,
        "Wait a moment, then repeat the command",
    ),
    (
        "",
        codes.SERVER_UNREACHABLE,
        ("Check that PostgreSQL runs there and accepts connections, and that the address is right"),
    ),
)


def connection_error(server: Server, error: psycopg.Error) -> UnavailableError:
    reason = server.reason(str(error))
    code, advice = next(
        (code, advice)
        for pattern, code, advice in _CONNECTION_FAILURES
        if re.search(pattern, reason)
    )
    advice = advice.format(database=server.database)
    found = code.at(where=server.where, reason=reason, advice=f"{advice}.")
    return UnavailableError(codes.add_nothing_done(found))


# Prefixes of SQLSTATE; the first match counts
_LOST_STATES = ("08", "25P03", "57P")
_STATE_CODES: tuple[tuple[str, Code], ...] = (
    ("53100", codes.STORE_FULL),
    ("25006", codes.STORE_READ_ONLY),
    ("55P03", codes.STORE_BUSY),
    ("XX001", codes.STORE_CORRUPT),
    ("XX002", codes.STORE_CORRUPT),
    # If a statement fails on our schema, another program has changed the schema.
    ("3F000", codes.STORE_CORRUPT),
    ("42", codes.STORE_CORRUPT),
)
_INSUFFICIENT_PRIVILEGE = "42501"
_PRIVILEGE_ADVICE = "Ask for the permission (`GRANT … ON …`), or use another role in the address."


@contextmanager
def translate_errors(server: Server, *, is_writing: bool = False) -> Iterator[None]:
    """Turn exceptions of psycopg into ours."""
    try:
        yield
    except (psycopg.Error, DamagedRowError) as error:
        raise UnavailableError(_diagnosis(server, error, is_writing)) from error


def _diagnosis(
    server: Server, error: psycopg.Error | DamagedRowError, is_writing: bool
) -> Diagnostic:
    reason = server.reason(error_text(error))
    if isinstance(error, ResponseTimeout):
        return codes.SERVER_TIMEOUT.at(where=server.where, seconds=round(error.seconds))
    if isinstance(error, DamagedRowError):
        return codes.STORE_CORRUPT.at(path=server.where, reason=reason)
    if error.sqlstate == _INSUFFICIENT_PRIVILEGE:
        if is_writing:
            return codes.STORE_READ_ONLY.at(path=server.where)
        return codes.SERVER_DENIED.at(where=server.where, reason=reason, advice=_PRIVILEGE_ADVICE)
    code = _code_of(error)
    where = server.where
    found = code.at(where=where, path=where, reason=reason, seconds=LOCK_SECONDS)
    return codes.add_nothing_done(found)  # the transaction was rolled back


def _code_of(error: psycopg.Error) -> Code:
    if is_lost(error):
        return codes.SERVER_LOST
    state = error.sqlstate or ""
    found = (code for beginning, code in _STATE_CODES if state.startswith(beginning))
    return next(found, codes.SERVER_FAILED)


def is_lost(error: psycopg.Error) -> bool:
    """Return whether the connection is closed or about to be closed."""
    if error.sqlstate is not None:
        return error.sqlstate.startswith(_LOST_STATES)
    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)


def error_text(error: Exception) -> str:
    """Return the server's message if there is one, else the driver's."""
    primary = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    return primary or str(error)


# Connecting


CONNECT_SECONDS = 10
_OLDEST_VERSION = 13
# A confirmed write must be durable (synchronous_commit). A generic plan is bad for a search, and
# JIT compiling takes longer than most searches. With keepalives, a machine that is suspended during
# a write does not block the others.
_SESSION_SETTINGS = """
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
# The system drops a dead connection before the response timeout, so that a new one is tried.
_KEEPALIVES = {"keepalives_idle": "30", "keepalives_interval": "10", "tcp_user_timeout": "20000"}
_SCHEMA = "schema"  # our own option, removed from the address before libpq sees it
_URL_ONLY_OPTIONS = ("ssl",)  # options that libpq accepts only in a URL


class Server:
    """A database server, with the schema of one project."""

    def __init__(self, address: PostgresAddress) -> None:
        self.schema = address.schema
        where = redact_address(address.url)
        if self.schema != DEFAULT_SCHEMA:
            where += f"?schema={self.schema}"
        options = _options(address.url, where)
        self.where = where  # for people, without secrets
        self.database = options.get("dbname", "DATABASE")
        self._secret = options.get("password", "")
        self._address = make_conninfo("", **options)

    def reason(self, text: str) -> str:
        """Return the first line of an error message as part of a sentence, without secrets."""
        line = text.strip().partition("\n")[0].rstrip(".")
        for prefix in _MESSAGE_PREFIXES:
            line = line.rpartition(prefix)[2]
        if self._secret:
            line = line.replace(self._secret, "…")
        # A password that is not percent-encoded ends up in the host name.
        return re.sub(r"\S*@\S*", "…", line).strip() or "it gives no reason"

    def connect(self) -> PostgresConnection:
        """Open a connection, and set its session parameters."""
        try:
            connection = PostgresConnection.connect(self._address, autocommit=True)
        except psycopg.Error as error:
            raise connection_error(self, error) from error
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: PostgresConnection) -> None:
        info = connection.info
        if info.server_version < _OLDEST_VERSION * 10_000:
            self._refuse(f"PostgreSQL {_OLDEST_VERSION} or newer is needed")
        if info.parameter_status("server_encoding") != "UTF8":
            self._refuse("mail needs a database whose encoding is UTF8")
        connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        with translate_errors(self):
            connection.execute(self._preparation)

    @cached_property
    def _preparation(self) -> sql.Composed:
        return sql.SQL(_SESSION_SETTINGS).format(
            schema=sql.Identifier(self.schema), lock=sql.Literal(f"{LOCK_SECONDS}s")
        )

    def _refuse(self, reason: str) -> None:
        raise UnavailableError(codes.STORE_UNUSABLE.at(path=self.where, reason=reason))


def _options(url: str, where: str) -> dict[str, str]:
    """Return the options for libpq, whose own error about a bad URL may show the password."""
    _check_option_names(url, where)
    try:
        from_url = {name: str(value) for name, value in conninfo_to_dict(url).items()}
    except (psycopg.ProgrammingError, UnicodeError) as error:  # a wrong `%` gives invalid UTF-8
        reason = "it is malformed"
        raise RequestError(codes.UNKNOWN_STORE.at(url=where, reason=reason)) from error
    defaults = {"fallback_application_name": "brenner", **_KEEPALIVES}
    if "PGCONNECT_TIMEOUT" not in os.environ:
        defaults["connect_timeout"] = str(CONNECT_SECONDS)
    return defaults | from_url | {"client_encoding": "UTF8"}


def _check_option_names(url: str, where: str) -> None:
    """Raise RequestError for an unknown option, with its name.

    Beside a password the name is shown only if it resembles a known one: the password may contain
    an unescaped `&`.
    """
    known = (
        _SCHEMA,
        *_URL_ONLY_OPTIONS,
        *(each.keyword.decode() for each in Conninfo.get_defaults()),
    )
    options = [each for each in urlsplit(url).query.split("&") if each]
    has_password = any("password" in unquote(each.partition("=")[0]) for each in options)
    for option in options:
        name = unquote(option.partition("=")[0])
        if name not in known[1:]:
            near = closest(name, known)
            reason = unknown_option("" if has_password else option)
            if near:
                reason = f"unknown option `{name}` (did you mean `{near}`?)"
            raise RequestError(codes.UNKNOWN_STORE.at(url=where, reason=reason))


# The connection pool


MOST = 8


class Pool:
    """A connection pool for many threads.

    The thread that needs a connection opens it. So it gets any connection error at once, and there
    is no background thread.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._idle: list[PostgresConnection] = []
        self._lock = threading.Lock()
        self._slots = threading.Semaphore(MOST)
        self._is_closed = False

    def acquire(self) -> tuple[PostgresConnection, bool]:
        """Return a connection for exclusive use, and whether it is new: an idle one may be dead."""
        if not self._slots.acquire(timeout=LOCK_SECONDS):
            where = self._server.where
            raise UnavailableError(codes.STORE_BUSY.at(path=where, seconds=LOCK_SECONDS))
        try:
            with self._lock:
                idle = self._idle.pop() if self._idle else None
            return idle or self._server.connect(), idle is None
        except BaseException:
            self._slots.release()
            raise

    def release(self, connection: PostgresConnection) -> None:
        """Return a connection to the pool; close it if it cannot be reused."""
        is_idle = connection.pgconn.transaction_status == TransactionStatus.IDLE
        with self._lock:
            is_reusable = is_idle and not self._is_closed
            if is_reusable:
                self._idle.append(connection)
        if not is_reusable:
            connection.close()
        self._slots.release()

    @contextmanager
    def borrowed(self) -> Iterator[PostgresConnection]:
        """Lend a connection for the duration of a `with` block."""
        connection, _ = self.acquire()
        try:
            yield connection
        finally:
            self.release(connection)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


# The word index


_MOST_VECTOR_BYTES = 1_000_000  # of all words in one tsvector
_MOST_QUERY_WORDS = 50  # that are looked up in the index
# Tags begin with a character that no word contains.
_TAG_PREFIX = ":"
_TOO_LONG_TAG = f"{_TAG_PREFIX}long"  # of a message whose words are not in the index
# A long text is stored compressed. `OFFSET 0` makes PostgreSQL decompress it once, not per term.
_TERMS = """
    SELECT 1 FROM (SELECT f.folded || '' AS text OFFSET 0) whole
    CROSS JOIN unnest(string_to_array(?, chr(10))) term WHERE strpos(whole.text, term)
"""
_ALL_TERMS = f"NOT EXISTS ({_TERMS} = 0)"
_ANY_TERM = f"EXISTS ({_TERMS} > 0)"


def index_statement(stored: StoredMessage, thread: int, sender: int) -> Statement:
    """Return the statement that adds a message to the table `search`.

    A `tsvector` finds candidates, the folded text decides: PostgreSQL's phrase search loses
    positions in long texts, and a `tsvector` is limited to a megabyte.
    """
    message = stored.message
    tags = [f"{_TAG_PREFIX}{tag}" for tag in message_tags(stored, thread, sender)]
    lines = (tokenize(message.subject), tokenize(message.body), tags)
    words = {word for line in lines for word in line}
    if sum(len(word.encode()) for word in words) > _MOST_VECTOR_BYTES:
        words = {_TOO_LONG_TAG}
    return (
        "INSERT INTO search VALUES (?, array_to_tsvector(string_to_array(?, chr(32))), ?)",
        (stored.arrival, " ".join(words), "\n".join(map(_padded, lines))),
    )


def search_source(
    query: Query, senders: Sequence[int], threads: Sequence[int]
) -> SearchSource | None:
    """Select candidates by their words, then check every phrase and tag in the text itself."""
    found = query_tags(query, senders, threads)
    groups = [[f"{_TAG_PREFIX}{tag}" for tag in tags] for tags in found]
    conditions = [("words @@ ?::tsquery", _candidate_query(query, groups))]
    conditions += [(_ALL_TERMS, "\n".join(map(_padded, query.phrases)))]
    conditions += [(_ANY_TERM, "\n".join(f" {tag} " for tag in tags)) for tags in groups]
    conditions = [(condition, value) for condition, value in conditions if value]
    if not conditions:
        return None
    return SearchSource(
        "search f CROSS JOIN messages m",
        "f.arrival",
        ("m.arrival = f.arrival", *(condition for condition, _ in conditions)),
        tuple(value for _, value in conditions),
    )


def _padded(words: tuple[str, ...] | list[str]) -> str:
    """Join words with spaces around each, so that no word is found inside another."""
    return f" {' '.join(words)} "


def _candidate_query(query: Query, groups: list[list[str]]) -> str:
    """Return the `tsquery`: the longest words, which are the rarest, and tags if not too many.

    Words and tags contain no quotation mark, so none of them can be an operator.
    """
    words = sorted({word for phrase in query.phrases for word in phrase}, key=len)
    groups_to_match = [[word] for word in words[-_MOST_QUERY_WORDS:]]
    groups_to_match += [tags for tags in groups if len(tags) <= _MOST_QUERY_WORDS]
    terms = [" | ".join(f"'{term}'" for term in alternatives) for alternatives in groups_to_match]
    exact = " & ".join(f"({term})" for term in terms)
    return f"'{_TOO_LONG_TAG}' | ({exact})" if exact else ""


# Waiting for new messages: NOTIFY on the name of the schema


NOTIFY_SECONDS = 15.0  # then check the connection
_POLL_SECONDS = 1.0  # where there are no notifications
WaitForNotification = Callable[[float], None]


class Listeners:
    """Idle connections with LISTEN on the schema's name, reused between waits."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._idle: list[PostgresConnection] = []
        self._lock = threading.Lock()
        self._listen = sql.SQL("LISTEN {}").format(sql.Identifier(server.schema))

    @contextmanager
    def listening(self) -> Iterator[WaitForNotification]:
        """Yield a function that waits for a notification, at most so many seconds.

        A notification between two waits ends the next one at once.
        """
        with translate_errors(self._server):
            connection = self._listener()
            if connection is None:
                yield _sleep
                return
            try:
                yield lambda seconds: self._wait_for_notification(connection, seconds)
            except BaseException:
                connection.close()
                raise
            with self._lock:
                self._idle.append(connection)

    def _listener(self) -> PostgresConnection | None:
        """Return a listening connection; None on a standby server, which never notifies."""
        with self._lock:
            idle = self._idle.pop() if self._idle else None
        if idle is not None:
            try:
                idle.execute(self._listen)
            except psycopg.Error:  # for example after a server restart
                idle.close()
            else:
                return idle
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

    def _wait_for_notification(self, connection: PostgresConnection, seconds: float) -> None:
        for _ in connection.notifies(timeout=min(seconds, NOTIFY_SECONDS), stop_after=1):
            return
        connection.execute(self._listen)  # fails if the connection is lost

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


def _sleep(seconds: float) -> None:
    time.sleep(min(seconds, _POLL_SECONDS))


# The schema: state, creation and migration


MIGRATING_SECONDS = 3_600.0  # a large store takes long


# What the database has under the name of the schema; it is closed if this role has no access
SchemaState = Literal["absent", "empty", "ours", "foreign", "closed"]


# Listing the tables is slow in a large database; `OR` skips it if the schema is ours.
_SELECT_STATE = """
    SELECT pg_catalog.has_schema_privilege(n.oid, 'USAGE'), o.is_ours,
        o.is_ours OR EXISTS (SELECT 1 FROM pg_catalog.pg_class c WHERE c.relnamespace = n.oid)
    FROM pg_catalog.pg_namespace n CROSS JOIN LATERAL (
        SELECT EXISTS (
            SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
            WHERE c.relnamespace = n.oid AND c.relname = 'store' AND a.attname = 'brenner_format'
        ) AS is_ours
    ) o WHERE n.nspname = %s
"""
# One process creates or migrates the schema; later ones find it done.
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('brenner mail ' || %s, 0))"
_CREATE_ADVICE = (
    "Ask for the schema: `CREATE SCHEMA {schema} AUTHORIZATION …`. Or ask for the permission to "
    "create it: `GRANT CREATE ON DATABASE {database} TO …`."
)
_USAGE_ADVICE = "Ask for the permission: `GRANT USAGE ON SCHEMA {schema} TO …`, and for its tables."


@cache
def migrations() -> tuple[str, ...]:
    """Return the migration scripts in order; the first one creates the tables."""
    scripts = sorted((Path(__file__).parent / "migrations").glob("*.sql"))
    return tuple(path.read_text("utf-8") for path in scripts)


class Schema:
    def __init__(
        self, server: Server, connection: PostgresConnection, steps: tuple[str, ...] | None = None
    ) -> None:
        self._server = server
        self._connection = connection
        self._steps = migrations() if steps is None else steps

    def state(self) -> SchemaState:
        row = self._connection.execute(_SELECT_STATE, (self._server.schema,)).fetchone()
        if row is None:
            return "absent"
        may_use, is_ours, has_tables = row
        if not may_use:
            return "closed"
        if not has_tables:
            return "empty"
        return "ours" if is_ours else "foreign"

    def is_there(self) -> bool:
        with translate_errors(self._server):
            return self.state() not in ("absent", "empty")

    def version(self) -> int:
        row = self._connection.execute("SELECT brenner_format FROM store").fetchone()
        return as_int(row[0] if row else None)

    def check(self) -> None:
        """Raise UnavailableError if the schema is missing, not ours, or newer than this program."""
        state = self.state()
        if state != "ours":
            self._refuse(state)
        check_version(self._server, self.version(), len(self._steps))

    def _refuse(self, state: SchemaState) -> NoReturn:
        server, name = self._server, self._server.schema
        if state == "foreign":
            reason = f"the schema `{name}` contains tables of another program"
            raise UnavailableError(codes.STORE_FOREIGN.at(path=server.where, reason=reason))
        if state == "closed":
            reason = f"the role may not use the schema `{name}`"
            raise self._denied(reason, _USAGE_ADVICE)
        reason = f"the schema `{name}` contains no mail"
        raise UnavailableError(codes.STORE_UNUSABLE.at(path=server.where, reason=reason))

    def update(self) -> None:
        """Check an existing schema, and migrate it if it is older."""
        with translate_errors(self._server):
            self.check()
            is_old = self.version() < len(self._steps)
        if is_old:
            self._migrate(create=False)

    def create(self) -> None:
        """Create the schema if it is missing or empty; otherwise update it."""
        with translate_errors(self._server):
            is_absent = self.state() in ("absent", "empty")
        if is_absent:
            self._migrate(create=True)
        else:
            self.update()

    def _migrate(self, *, create: bool) -> None:
        connection = self._connection
        connection.silence = MIGRATING_SECONDS
        with translate_errors(self._server, is_writing=True), connection.transaction():
            connection.execute(_LOCK, (self._server.schema,))
            try:
                for number in range(
                    self._create_if_absent() if create else self._existing_version(),
                    len(self._steps),
                ):
                    connection.execute(self._steps[number].encode())
                    connection.execute("UPDATE store SET brenner_format = %s", (number + 1,))
            except psycopg.errors.InsufficientPrivilege as error:
                reason = f"the role may not create tables in the schema `{self._server.schema}`"
                raise self._denied(reason, _CREATE_ADVICE) from error
        connection.silence = SILENCE

    def _existing_version(self) -> int:
        """Check the schema, and return its format version."""
        self.check()
        return self.version()

    def _create_if_absent(self) -> int:
        """Return the format version; 0 for a schema that is empty or created now."""
        state = self.state()
        if state not in ("absent", "empty"):
            return self._existing_version()
        if state == "absent":
            name = sql.Identifier(self._server.schema)
            self._connection.execute(sql.SQL("CREATE SCHEMA {}").format(name))
        return 0

    def _denied(self, reason: str, advice: str) -> UnavailableError:
        server = self._server
        words = advice.format(schema=server.schema, database=server.database)
        return UnavailableError(
            codes.SERVER_DENIED.at(where=server.where, reason=reason, advice=words)
        )


def check_version(server: Server, version: int, known: int) -> None:
    """Raise UnavailableError if the format is newer than this program."""
    if version > known:
        words = {"version": version, "known": known}
        raise UnavailableError(codes.STORE_TOO_NEW.at(None, path=server.where, **words))
