"""Schemas of every format that there ever was on PostgreSQL, kept as the rows of their tables.

When a format is new, `python tests/mail/old_schemas.py` writes `stores/postgresql_vN.sql` once. It
holds the same mail as the embedded store that was new at that time: the same is read from it.
"""

import sys
from pathlib import Path

import psycopg
from psycopg import sql

from brenner.mail.postgres.connection import migrations
from brenner.mail.postgres.mailbox import PostgresMailbox
from brenner.store_url import PostgresAddress
from mail.old_stores import STORES, Clock, fill
from servers import postgresql

# What is read from a format is what was read from the embedded store of that number.
READS_AS = {1: 2, 2: 3, 3: 4, 4: 5, 5: 6}
_TABLES = (  # each refers only to those before it
    *("store", "agents", "threads", "messages", "deliveries", "keys", "spans", "search", "kept"),
    *("secrets", "reservations"),
)
_COUNTED = {"agents": "number", "threads": "number", "reservations": "id"}
_COLUMNS = """
    SELECT attname FROM pg_attribute WHERE attrelid = {}::regclass AND attnum > 0
    AND NOT attisdropped ORDER BY attnum
"""


def kept() -> list[int]:
    """The formats that are kept."""
    found = STORES.glob("postgresql_v*.sql")
    return sorted(int(path.stem.removeprefix("postgresql_v")) for path in found)


def rebuilt(version: int, address: PostgresAddress) -> None:
    """Make the schema of a format that is kept."""
    name = sql.Identifier(address.schema)
    with psycopg.connect(address.url) as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {0}; SET LOCAL search_path TO {0}").format(name))
        for step in migrations()[:version]:
            connection.execute(step.encode())
        connection.execute("DELETE FROM store")
        connection.execute(_file(version).read_bytes())


def dumped(address: PostgresAddress) -> str:
    """The rows of a schema as SQL that makes them again."""
    with psycopg.connect(address.url) as connection:
        name = sql.Identifier(address.schema)
        connection.execute(sql.SQL("SET LOCAL search_path TO {}").format(name))
        return "".join(
            _table(connection, table) for table in _TABLES if _is_there(connection, table)
        )


def _is_there(connection: psycopg.Connection, table: str) -> bool:
    return connection.execute("SELECT to_regclass(%s)", (table,)).fetchall() != [(None,)]


def _table(connection: psycopg.Connection, table: str) -> str:
    found = connection.execute(sql.SQL(_COLUMNS).format(table)).fetchall()
    columns = [str(name) for (name,) in found]
    texts = [sql.SQL("t.{}::text").format(sql.Identifier(each)) for each in columns]
    order = [sql.SQL("t.{}").format(sql.Identifier(each)) for each in columns[:3]]
    asked = sql.SQL("SELECT {} FROM {} t ORDER BY {}").format(
        sql.SQL(", ").join(texts), sql.Identifier(table), sql.SQL(", ").join(order)
    )
    rows = connection.execute(asked).fetchall()
    into = f"INSERT INTO {table} ({', '.join(columns)}) OVERRIDING SYSTEM VALUE VALUES"
    lines = [f"{into} ({', '.join(map(_literal, row))});\n" for row in rows]
    return "".join(lines) + _count(connection, table)


def _count(connection: psycopg.Connection, table: str) -> str:
    """Where the table's own numbers go on."""
    if table not in _COUNTED:
        return ""
    name = f"{table}_{_COUNTED[table]}_seq"
    asked = sql.SQL("SELECT last_value, is_called FROM {}").format(sql.Identifier(name))
    last, is_called = connection.execute(asked).fetchall()[0]
    return f"SELECT setval('{name}', {last}, {is_called});\n"


def _literal(text: str | None) -> str:
    """A value; what cannot be seen is spelt out."""
    if text is None:
        return "NULL"
    quoted = text.replace("\\", "\\\\").replace("'", "\\'")
    return "E'" + "".join(c if c.isprintable() else f"\\U{ord(c):08X}" for c in quoted) + "'"


def _file(version: int) -> Path:
    return STORES / f"postgresql_v{version}.sql"


def keep() -> None:
    """Write the schema of the latest format down, unless it is there."""
    target = _file(len(migrations()))
    if target.exists():
        sys.exit(f"{target} is there. A format that was released never changes.")
    address = PostgresAddress(postgresql.running().url(), "to_keep")
    clock = Clock()
    with PostgresMailbox.create(address, clock=clock) as mailbox:
        fill(mailbox, clock)
    target.write_text(dumped(address), "utf-8")


if __name__ == "__main__":
    keep()
