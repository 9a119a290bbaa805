"""The embedded home of the mail: one SQLite file inside the project, for many processes at once.

Writers take their turns (`BEGIN IMMEDIATE` with a long patience), readers never wait. What a send
promises about the disk stands in `database.py`.
"""

import time
from datetime import datetime
from pathlib import Path
from typing import Self

from brenner.mail.clock import Clock, system_clock
from brenner.mail.sql.mailbox import SqlMailbox
from brenner.mail.sqlite.database import Database

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
