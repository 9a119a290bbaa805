"""Looking at mail in a database: the way there and back, the schema, a write, a notification."""

import secrets
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from statistics import median

from psycopg import sql

from brenner.config import Project
from brenner.diagnostics.codes.stores import SERVER_DENIED
from brenner.diagnostics.model import BrennerError
from brenner.mail.open import PostgresStore
from brenner.mail.postgres.connection import Connection, Schema, Server, State, translated
from brenner.mail.postgres.mailbox import PostgresMailbox
from brenner.workflows.doctor_mail import (
    CLOCKS_DIFFER,
    NOT_YET,
    Look,
    Visit,
    clock,
    identity,
    integrity,
    looked_at,
    of_mail,
)
from brenner.workflows.doctor_way import milliseconds, way_check
from brenner.workflows.surroundings import OK, WARNING, Check

_TRIPS = 5
_HEAR_SECONDS = 5.0
# Whether one may make what is not there
_MAY_MAKE = {
    State.ABSENT: "SELECT has_database_privilege(current_database(), 'CREATE')",
    State.EMPTY: "SELECT has_schema_privilege(%(schema)s, 'CREATE')",
}
_ASK_FOR = (
    "Ask for the schema: `CREATE SCHEMA {schema} AUTHORIZATION …`; or for the right to make it: "
    "`GRANT CREATE ON DATABASE {database} TO …`."
)
_NOW = "SELECT clock_timestamp()"
_IN_THE_CLEAR = (
    "Ask for TLS in the address: `?sslmode=verify-full`, with `sslrootcert=FILE` for a certificate "
    "of your own; the server must have `ssl = on`."
)


def examine_database(visit: Visit, store: PostgresStore) -> Iterator[Check]:
    """The server, then what is in it."""
    try:
        server = Server(store.address)
        started = time.perf_counter()
        connection = server.connect()
    except BrennerError as error:
        yield Check.of("server", error.diagnostic)
        yield identity(visit, None)
        return
    seconds = time.perf_counter() - started
    with closing(connection):
        yield from looked_at({"server": lambda: _server(server, connection, seconds)})
        try:
            absent = _absent(server, connection)
        except BrennerError as error:
            absent = Check.of("store", error.diagnostic)
    if absent:
        yield absent
        yield identity(visit, None)
    else:
        yield from _inside(visit, store, server)


def _server(server: Server, connection: Connection, seconds: float) -> Check:
    """Its version, how far away it is, and who can listen on the way."""
    with translated(server.place):
        trip = median(_trip(connection) for _ in range(_TRIPS))
    words = (
        f"PostgreSQL {_version(connection)}; connected in {milliseconds(seconds)}, a round trip "
        f"takes {milliseconds(trip)}"
    )
    host = connection.info.hostaddr or connection.info.host
    is_encrypted = connection.pgconn.ssl_in_use
    return way_check(words, host, is_encrypted=is_encrypted, mend=_IN_THE_CLEAR)


def _version(connection: Connection) -> str:
    number = connection.info.server_version
    return f"{number // 10_000}.{number % 10_000}"


def _trip(connection: Connection) -> float:
    started = time.perf_counter()
    connection.execute("SELECT 1").fetchall()
    return time.perf_counter() - started


def _absent(server: Server, connection: Connection) -> Check | None:
    """Where there is no schema with mail in it: whether one can be made."""
    with translated(server.place):
        state = Schema(server, connection).state()
        if state not in _MAY_MAKE:
            return None
        row = connection.execute(_MAY_MAKE[state], {"schema": server.schema}).fetchone()
    if row and row[0]:
        return Check("store", OK, f"the schema `{server.schema}` {NOT_YET}")
    reason = f"the role may not make the tables of the schema `{server.schema}`"
    advice = _ASK_FOR.format(schema=server.schema, database=server.place.database)
    found = SERVER_DENIED.at(where=server.place.where, reason=reason, advice=advice)
    return Check.of("store", found)


def _inside(visit: Visit, store: PostgresStore, server: Server) -> Iterator[Check]:
    """Everything that can be seen of the mail."""
    try:
        mailbox = PostgresMailbox.open(store.address)
    except BrennerError as error:
        yield Check.of("store", error.diagnostic)
        yield identity(visit, None)
        return
    with mailbox:
        yield from looked_at(_looks(mailbox, visit, server))


def _looks(mailbox: PostgresMailbox, visit: Visit, server: Server) -> dict[str, Look]:
    where = server.place.where
    sound = "no message is missing, and every one has its hash"
    return {
        "store": lambda: _opened(mailbox, visit.project, server),
        "write": lambda: _write(mailbox),
        "notify": lambda: _notify(server),
        "integrity": lambda: integrity(mailbox.integrity(), where, sound),
        **of_mail(mailbox, visit, where),
        "clock": lambda: _clock(mailbox, visit, server),
    }


def _opened(mailbox: PostgresMailbox, project: Project, server: Server) -> Check:
    version = mailbox.database.version
    words = f"the schema `{server.schema}` in {server.place.where} ({project.store_from})"
    return Check("store", OK, f"{words}, format {version}")


def _write(mailbox: PostgresMailbox) -> Check:
    started = time.perf_counter()
    mailbox.database.probe()
    taken = milliseconds(time.perf_counter() - started)
    return Check("write", OK, f"a write was tried and taken back, in {taken}")


def _notify(server: Server) -> Check:
    """Whether the server tells who waits; what stands between may keep that to itself."""
    channel = f"brenner doctor {secrets.token_hex(8)}"
    listen = sql.SQL("LISTEN {}").format(sql.Identifier(channel))
    with closing(server.connect()) as ear, closing(server.connect()) as mouth:
        with translated(server.place):
            ear.execute(listen)
            started = time.perf_counter()
            mouth.execute("SELECT pg_notify(%s, '')", (channel,))
            heard = list(ear.notifies(timeout=_HEAR_SECONDS, stop_after=1))
        taken = milliseconds(time.perf_counter() - started)
    if heard:
        return Check("notify", OK, f"a notification was heard after {taken}")
    return Check(
        "notify",
        WARNING,
        f"A notification was not heard within {_HEAR_SECONDS:g} seconds: who waits for mail learns "
        "of it late.",
        "Connect to the server itself. A pooler in between that lends connections by the "
        "transaction loses notifications.",
    )


def _clock(mailbox: PostgresMailbox, visit: Visit, server: Server) -> Check:
    """The server dates the mail: by its clock, not by this one."""
    with closing(server.connect()) as connection, translated(server.place):
        row = connection.execute(_NOW).fetchone()
    now = row[0] if row and isinstance(row[0], datetime) else visit.now
    apart = now - visit.now
    if abs(apart) <= CLOCKS_DIFFER:
        return clock(mailbox, now)
    how = "behind" if apart > timedelta(0) else "ahead of"
    minutes = f"{abs(apart) / timedelta(minutes=1):,.0f} minutes"
    return Check(
        "clock",
        WARNING,
        f"This machine's clock is {minutes} {how} the server's, which dates the mail.",
        "Set the one that is wrong: here, ACKs look overdue too early or too late; there, mail "
        "gets times at which it was not sent.",
    )
