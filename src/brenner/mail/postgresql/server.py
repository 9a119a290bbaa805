"""The way to the server: the address as libpq takes it, and connections that are made ready."""

import os
from functools import cached_property
from urllib.parse import unquote, urlsplit

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Conninfo

from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.model import Refused, Unavailable
from brenner.mail.postgresql.connection import Connection
from brenner.mail.postgresql.faults import LOCK_SECONDS, Place, refused_connection, translated
from brenner.store_url import DEFAULT_SCHEMA, PostgresAddress, shown
from brenner.text import nearest

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
        raise Unavailable(codes.STORE_UNUSABLE.at(path=self.place.where, reason=reason))


def _options(url: str, where: str) -> dict[str, str]:
    """What libpq is told. What it says of an address that is wrong may hold the password."""
    _check_names(url, where)
    try:
        given = {name: str(value) for name, value in conninfo_to_dict(url).items()}
    except (psycopg.ProgrammingError, UnicodeError) as error:  # a wrong `%` makes wrong letters
        reason = "it is not well formed"
        raise Refused(codes.UNKNOWN_STORE.at(url=where, reason=reason)) from error
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
            near = nearest(name, known)
            named = f"it has the option `{name}`, which nobody knows; perhaps `{near}` is meant"
            reason = named if near else "it has an option that nobody knows"
            raise Refused(codes.UNKNOWN_STORE.at(url=where, reason=reason))
