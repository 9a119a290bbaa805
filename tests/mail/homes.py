"""The homes that mail can have, as a table, and how a test gets at each of them.

Every home is held to the same contract. A new one is a row here: how to make it, how a second
process would look at it, and what it cannot do, with the reason.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple, Self

from brenner.mail.mailbox import Mailbox
from brenner.mail.memory import MemoryMailbox
from brenner.mail.sqlite.mailbox import SqliteMailbox

Ability = Literal["a second view"]  # more of them when a home lacks one
_EVERYTHING: Mapping[Ability, str] = MappingProxyType({})


class Clock:
    """A clock that stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = datetime(2025, 12, 30, 9, 0, 0, 123_456, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, by: timedelta) -> datetime:
        """Forward, or back."""
        self.now += by
        return self.now


class Home(NamedTuple):
    """One kind of mailbox. `again` opens what `create` made, as another process would."""

    name: str
    create: Callable[[Path, Clock], Mailbox]
    again: Callable[[Path, Clock], Mailbox] | None = None
    cannot: Mapping[Ability, str] = _EVERYTHING


def _memory(_: Path, clock: Clock) -> Mailbox:
    return MemoryMailbox(clock=clock)


def sqlite_file(folder: Path) -> Path:
    """Where the embedded store of a test is."""
    return folder / "mail.sqlite3"


def _sqlite(folder: Path, clock: Clock) -> Mailbox:
    return SqliteMailbox.create(sqlite_file(folder), clock=clock)


def _sqlite_again(folder: Path, clock: Clock) -> Mailbox:
    return SqliteMailbox.open(sqlite_file(folder), clock=clock)


MEMORY = Home(
    "memory",
    _memory,
    cannot={"a second view": "the mail lives in one object and ends with it"},
)
SQLITE = Home("sqlite", _sqlite, _sqlite_again)

HOMES = (MEMORY, SQLITE)


class Place:
    """A fresh home of some kind, its clock, and the views of it that are open."""

    def __init__(self, home: Home, folder: Path) -> None:
        self.home = home
        self.folder = folder
        self.clock = Clock()
        self.mailbox = home.create(folder, self.clock)
        self._views = [self.mailbox]

    def again(self) -> Mailbox:
        """Another view of the same mail."""
        assert self.home.again, self.home.cannot["a second view"]
        view = self.home.again(self.folder, self.clock)
        self._views.append(view)
        return view

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for view in self._views:
            view.close()
