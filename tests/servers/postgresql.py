"""A real PostgreSQL server on the loopback address, with a data directory that does not stay."""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal
from urllib.parse import quote, urlencode

import psycopg

from servers.postgresql_files import (
    DATABASE,
    ENVIRONMENT,
    OWNER,
    PASSWORD,
    SUPERUSER,
    as_server,
    make_certificate,
    own,
    programs,
    server_user,
    template,
)
from servers.process import Command, Server, Shared
from servers.small_disk import SmallDisk

Auth = Literal["trust", "scram"]
_METHODS: Mapping[Auth, str] = MappingProxyType({"trust": "trust", "scram": "scram-sha-256"})
_SETTINGS = MappingProxyType(
    {
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": "",
        # The machine does not lose its power; and whoever kills a server wants it back soon.
        "fsync": "off",
        "full_page_writes": "off",
        "shared_buffers": "16MB",
        "max_connections": "200",
        "dynamic_shared_memory_type": "mmap",  # goes with the folder
        # So that nobody relies on the server's zone being UTC.
        "timezone": "Asia/Kathmandu",
    }
)


class Postgres(Server):
    """A server with the role `brenner`, which owns the database `brenner` and nothing else.

    With `tls` it takes no connection without. With `disk` the tables of the database lie on a disk
    of so many bytes, and only they: a server that cannot write its log gives up.
    """

    patience = 60

    def __init__(
        self,
        *,
        auth: Auth = "trust",
        tls: bool = False,
        disk: int | None = None,
        settings: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.auth = auth
        self.tls = tls
        self._programs = programs(tls=tls)
        data = template(self._programs)
        super().__init__("postgresql")
        own(self.folder)
        self.disk = SmallDisk(self.folder / "disk", disk) if disk else None
        self.data = self.folder / "data"
        as_server("cp", "-Rp", data, self.data)
        self._settings = dict(_SETTINGS) | dict(settings)
        if tls:
            certificate, key = make_certificate(self.folder)
            files = {"ssl_cert_file": str(certificate), "ssl_key_file": str(key)}
            self._settings |= {"ssl": "on"} | files
        kind = "hostssl" if tls else "host"
        rule = f"{kind} all all 127.0.0.1/32 {_METHODS[auth]}\n"
        (self.data / "pg_hba.conf").write_text(rule, "utf-8")

    @property
    def certificate(self) -> Path:
        """What the server shows to whoever asks for TLS."""
        return self.folder / "server.crt"

    def command(self) -> Command:
        settings = self._settings | {"port": str(self.port)}
        chosen = [f"--{name}={value}" for name, value in settings.items()]
        arguments = [str(self._programs / "postgres"), "-D", str(self.data), *chosen]
        if self.disk:
            seen = self.disk.seen_by(arguments, self.data, server_user())
            return Command(seen, self.folder, ENVIRONMENT)
        return Command(arguments, self.data, ENVIRONMENT, server_user())

    def ready(self) -> bool:
        """The server itself writes into this file how far it is, for the program that starts it."""
        try:
            lines = (self.data / "postmaster.pid").read_text("utf-8").splitlines()
        except FileNotFoundError:
            return False
        assert self._process
        return lines[:1] == [str(self._process.pid)] and lines[7:] == ["ready   "]

    def start(self) -> None:
        super().start()
        if self.disk:
            place = self.disk.folder
            self.sql(f"CREATE TABLESPACE small LOCATION '{place}'")
            self.sql(f"ALTER DATABASE {DATABASE} SET TABLESPACE small")

    def url(
        self,
        *,
        user: str = OWNER,
        password: str | None = None,
        database: str = DATABASE,
        port: int | None = None,
        **options: str,
    ) -> str:
        """An address that works, unless something else is asked for; `port` may be a proxy's."""
        if password is None and self.auth == "scram":
            password = PASSWORD
        who = quote(user, safe="") + (f":{quote(password, safe='')}" if password else "")
        if self.tls:
            options = {"sslmode": "verify-full", "sslrootcert": str(self.certificate)} | options
        query = f"?{urlencode(options, quote_via=quote)}" if options else ""
        return f"postgresql://{who}@127.0.0.1:{port or self.port}/{quote(database)}{query}"

    def sql(self, statement: str, *, database: str = SUPERUSER) -> list[tuple[Any, ...]]:
        """What the superuser is answered."""
        url = self.url(user=SUPERUSER, database=database)
        with psycopg.connect(url, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def close(self) -> None:
        """One that was killed has not given back its shared memory, which would stay for ever."""
        self.stop()
        left = self.data / "postmaster.pid"
        if left.exists() and shutil.which("ipcrm"):
            _, number = left.read_text("utf-8").splitlines()[6].split()
            subprocess.run(["ipcrm", "-m", number], capture_output=True, check=False)
        super().close()


# The server of this test process, for whoever does not stop it.
running = Shared(Postgres)
