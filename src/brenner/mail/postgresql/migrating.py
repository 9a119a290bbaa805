"""The schema: whether it is there and ours, made, and brought up to date."""

from enum import Enum
from functools import cache
from pathlib import Path
from typing import NoReturn

import psycopg
from psycopg import sql

from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.model import Unavailable
from brenner.mail.postgresql.connection import SILENCE, Connection
from brenner.mail.postgresql.faults import translated
from brenner.mail.postgresql.server import Server
from brenner.mail.sql.rows import whole

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
            raise Unavailable(codes.STORE_FOREIGN.at(path=place.where, reason=reason))
        if state is State.CLOSED:
            reason = f"the role may not use the schema `{name}`"
            raise self._denied(reason, _MAY_NOT_USE)
        reason = f"there is no mail in the schema `{name}`"
        raise Unavailable(codes.STORE_UNUSABLE.at(path=place.where, reason=reason))

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

    def _denied(self, reason: str, advice: str) -> Unavailable:
        place = self._server.place
        words = advice.format(schema=self._server.schema, database=place.database)
        return Unavailable(codes.SERVER_DENIED.at(where=place.where, reason=reason, advice=words))


def check_version(server: Server, version: int, known: int) -> None:
    """Refuse a format that is newer than we are."""
    if version > known:
        words = {"version": version, "known": known}
        raise Unavailable(codes.STORE_TOO_NEW.at(None, path=server.place.where, **words))
