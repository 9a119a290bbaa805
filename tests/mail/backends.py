"""The homes that mail can have, as a table, and how a test gets at each of them.

Every home is held to the same contract. A new one is a row here: how to make it, how a second
process would look at it, and what it cannot do. That is what its mailbox says that it lacks; only
what is a matter of tests stands here.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Self, cast

from brenner.mail.agent_mail.client import Client, path_segment
from brenner.mail.agent_mail.mailbox import AgentMailMailbox
from brenner.mail.mailbox import NOTHING_MISSING, Mailbox, MissingCapabilities
from brenner.mail.memory import MemoryMailbox
from brenner.mail.postgres.mailbox import PostgresMailbox
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.store_url import AgentMailAddress, PostgresAddress
from servers import agent_mail, postgresql

SECOND_VIEW, LOOK_ALIKES = "a second view", "names that look alike"
_NOTHING: Mapping[str, str] = MappingProxyType({})


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


class Backend(NamedTuple):
    """One kind of mailbox. `again` opens what `create` made, as another process would."""

    name: str
    create: Callable[[Path, Clock], Mailbox]
    again: Callable[[Path, Clock], Mailbox] | None = None
    lacks: MissingCapabilities = NOTHING_MISSING
    clear: Callable[[Path], None] | None = None
    lacks_here: Mapping[str, str] = _NOTHING

    @property
    def cannot(self) -> dict[str, str]:
        """What it is not able to do, and why."""
        return {str(ability): reason for ability, reason in self.lacks.items()} | dict(
            self.lacks_here
        )


def _memory(_: Path, clock: Clock) -> Mailbox:
    return MemoryMailbox(clock=clock)


def sqlite_file(folder: Path) -> Path:
    """Where the embedded store of a test is."""
    return folder / "mail.sqlite3"


def _sqlite(folder: Path, clock: Clock) -> Mailbox:
    return SqliteMailbox.create(sqlite_file(folder), clock=clock)


def _sqlite_again(folder: Path, clock: Clock) -> Mailbox:
    return SqliteMailbox.open(sqlite_file(folder), clock=clock)


def postgresql_address(folder: Path) -> PostgresAddress:
    """A schema of the server for one test."""
    mark = sha256(str(folder).encode()).hexdigest()[:16]
    return PostgresAddress(postgresql.running().url(), f"test_{mark}")


def _postgresql(folder: Path, clock: Clock) -> Mailbox:
    return PostgresMailbox.create(postgresql_address(folder), clock=clock)


def _postgresql_again(folder: Path, clock: Clock) -> Mailbox:
    return PostgresMailbox.open(postgresql_address(folder), clock=clock)


def agent_mail_address(folder: Path) -> AgentMailAddress:
    """A project of the server for one test.

    The server takes names for one that differ in case or in `_` and `-`; a hash sets them apart.
    """
    mark = sha256(str(folder).encode()).hexdigest()[:16]
    return AgentMailAddress(agent_mail.running().url, f"{folder}/{mark}")


def _agent_mail(folder: Path, _: Clock) -> Mailbox:
    _free_names()
    return AgentMailMailbox.create(agent_mail_address(folder), None)


def _agent_mail_again(folder: Path, _: Clock) -> Mailbox:
    return AgentMailMailbox.open(agent_mail_address(folder), None)


def _agent_mail_clear(folder: Path) -> None:
    give_names_back(agent_mail_address(folder))


def give_names_back(address: AgentMailAddress) -> None:
    """Free the names of a project, which belong to the whole server: the next test wants them."""
    for name in _names(f"agents/{path_segment(str(address.project))}"):
        _agent_mail_client().call("delete_agent", {"project_key": address.project, "name": name})


def _free_names() -> None:
    """Take away the names that others have left behind, though not their mail."""
    client, nowhere = _agent_mail_client(), {"project_key": "/nowhere"}
    for name in _names("agents"):
        client.call("register_agent", {**nowhere, "name": name, "program": "x", "model": "x"})
        client.call("delete_agent", {**nowhere, "name": name})


def _names(resource: str) -> list[str]:
    """Without those that are the server's own."""
    found = cast("dict[str, Any]", _agent_mail_client().read(resource, {}))
    names = (agent["name"] for agent in found["agents"])
    return [name for name in names if not name.startswith("global-inbox-")]


@cache
def _agent_mail_client() -> Client:
    return Client(agent_mail.running().url)


def brenner_address(folder: Path) -> AgentMailAddress:
    """Our own server, to which the same adapter goes."""
    from mail import brenner_server  # the server is slow to import, and few tests need it

    return brenner_server.address(folder)


def _brenner(folder: Path, _: Clock) -> Mailbox:
    return AgentMailMailbox.create(brenner_address(folder), None, own=folder)


def _brenner_again(folder: Path, _: Clock) -> Mailbox:
    return AgentMailMailbox.open(brenner_address(folder), None, own=folder)


def _brenner_clear(folder: Path) -> None:
    from mail import brenner_server

    brenner_server.end(folder)


MEMORY = Backend(
    "memory",
    _memory,
    lacks_here={SECOND_VIEW: "the mail lives in one object and ends with it"},
)
SQLITE = Backend("sqlite", _sqlite, _sqlite_again)
POSTGRESQL = Backend("postgresql", _postgresql, _postgresql_again)
AGENT_MAIL = Backend(
    "agent mail",
    _agent_mail,
    _agent_mail_again,
    lacks=AgentMailMailbox.lacks,
    clear=_agent_mail_clear,
)
BRENNER_SERVER = Backend(
    "brenner server",
    _brenner,
    _brenner_again,
    lacks=AgentMailMailbox.lacks,
    clear=_brenner_clear,
    lacks_here={LOOK_ALIKES: "nobody comes in over the network under a name that looks like one"},
)

# Those that lack nothing that a mailbox can do, both servers that speak as Agent Mail does, and all
# that are held to the contract
HOMES = (MEMORY, SQLITE, POSTGRESQL)
AGENT_MAILS = (AGENT_MAIL, BRENNER_SERVER)
ALL_HOMES = (*HOMES, *AGENT_MAILS)


class Place:
    """A fresh home of some kind, its clock, and the views of it that are open."""

    def __init__(self, home: Backend, folder: Path) -> None:
        self.home = home
        self.folder = folder
        self.clock = Clock()
        self.mailbox = home.create(folder, self.clock)
        self._views = [self.mailbox]

    def again(self) -> Mailbox:
        """Another view of the same mail."""
        assert self.home.again, self.home.cannot[SECOND_VIEW]
        view = self.home.again(self.folder, self.clock)
        self._views.append(view)
        return view

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for view in self._views:
            view.close()
        if self.home.clear:
            self.home.clear(self.folder)
