"""The home of the mail for several machines: a schema in a PostgreSQL database.

Times come from the server's clock, so that those of several machines cannot contradict each
other.
"""

import time
from collections.abc import Iterable
from datetime import datetime
from typing import Self

from brenner.mail.clock import Clock
from brenner.mail.model import Agent, Record, Restored
from brenner.mail.postgresql.database import Database
from brenner.mail.postgresql.listening import Listeners
from brenner.mail.sql.mailbox import SqlMailbox
from brenner.mail.sql.rows import time_of
from brenner.store_url import PostgresAddress

_MANY = 1_000
_NOW = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"


class PostgresMailbox(SqlMailbox[Database]):
    """A mailbox in a schema."""

    def __init__(self, database: Database, clock: Clock | None = None) -> None:
        super().__init__(database)
        self._clock = clock
        self._listeners = Listeners(database.server)

    @classmethod
    def is_there(cls, address: PostgresAddress) -> bool:
        """Whether there is something under that name."""
        return Database.is_there(address)

    @classmethod
    def open(cls, address: PostgresAddress, *, clock: Clock | None = None) -> Self:
        """The mailbox in a schema that is there."""
        return cls(Database.open(address), clock)

    @classmethod
    def create(cls, address: PostgresAddress, *, clock: Clock | None = None) -> Self:
        """The mailbox in a schema that is made where there is none."""
        return cls(Database.create(address), clock)

    def _now(self) -> datetime:
        if self._clock:
            return self._clock()
        return time_of(self.database.execute(_NOW).fetchall()[0][0])

    def restore(self, agents: Iterable[Agent], records: Iterable[Record]) -> Restored:
        restored = super().restore(agents, records)
        if restored.added >= _MANY:
            self.database.take_stock()
        return restored

    def wait(self, position: int, seconds: float) -> int:
        deadline = time.monotonic() + seconds
        now_there = self.position()
        if now_there > position or seconds <= 0:
            return now_there
        with self._listeners.listening() as hear:
            while (now_there := self.position()) <= position:
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                hear(left)
        return now_there

    def close(self) -> None:
        self._listeners.close()
        super().close()
