"""What the server and the way to it can be at fault with, turned into what we raise.

A connection that cannot be made comes with words only: there the server's code is not handed on.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import psycopg

from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.model import Code, Diagnostic, Unavailable
from brenner.mail.postgresql.connection import Silent
from brenner.mail.sql.database import Damaged

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


def refused_connection(place: Place, error: psycopg.Error) -> Unavailable:
    """Why there is no connection, and what to do about it."""
    reason = place.reason(str(error))
    meaning = next((each for each in _MEANINGS if each.pattern.search(reason)), _UNKNOWN)
    advice = meaning.advice.format(database=place.database)
    found = meaning.code.at(where=place.where, reason=reason, advice=f"{advice}.")
    return Unavailable(codes.nothing_done(found))


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
        raise Unavailable(_diagnosis(place, error, is_writing)) from error


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
