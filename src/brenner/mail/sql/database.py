"""What the homes in SQL have in common, and what each has of its own.

One text of SQL serves all of them: `?` stands for a value, and for nothing else.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from brenner.mail.model import Stored
from brenner.mail.query import Query

Value = str | bytes | int | float | None
Row = tuple[object, ...]


class Damaged(Exception):
    """A row is not what the schema promises: another program has been at it."""


class Rows(Protocol):
    """What a statement gives."""

    def fetchone(self) -> Row | None: ...

    def fetchall(self) -> list[Row]: ...

    def __iter__(self) -> Iterator[Row]: ...


class Statements(Protocol):
    """Something that runs statements."""

    def execute(self, sql: str, values: tuple[Value, ...] = ()) -> Rows:
        """Run a statement."""
        ...


class Moment(Statements, Protocol):
    """A connection of its own, which sees one moment until it is closed."""

    def translated(self) -> AbstractContextManager[None]:
        """Turn what the database raises into what we raise."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class Numbers(NamedTuple):
    """What filters ask for, by the numbers of agents and threads."""

    senders: tuple[int, ...]
    threads: tuple[int, ...]


class Look(NamedTuple):
    """Where to look for messages `m`: the tables, the column with the arrival, what must hold."""

    source: str
    place: str
    conditions: tuple[str, ...] = ()
    values: tuple[Value, ...] = ()


class Index(Protocol):
    """Finds messages by their words, and by tags for what filters ask."""

    def add(self, stored: Stored, thread: int, sender: int) -> None:
        """Make a message findable."""
        ...

    def look(self, query: Query, numbers: Numbers) -> Look | None:
        """The query in the index's language; None where it asks for nothing that it knows."""
        ...


class Database(Statements, Protocol):
    """A place with the tables of the mail in it."""

    @property
    def index(self) -> Index:
        """What searches are answered from."""
        ...

    def reading(self) -> AbstractContextManager[None]:
        """Everything inside sees the same moment."""
        ...

    def writing(self, what: str = ...) -> AbstractContextManager[None]:
        """All of what is done inside, or nothing; who writes comes alone.

        `what` is written: for the sentence that says that nobody knows whether it was.
        """
        ...

    def indexed_by(self, name: str) -> str:
        """The words that make a statement use that index; none where the planner knows best."""
        ...

    def moment(self) -> Moment:
        """The mail as it is now, for as long as somebody reads."""
        ...

    def integrity(self) -> tuple[str, ...]:
        """What is wrong inside, but for the messages themselves."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...
