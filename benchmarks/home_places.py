"""The homes of the mail, started for a benchmark, each with the least that its work takes there."""

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

import apsw
import psycopg
import pytest

from brenner.mail.agent_mail.mailbox import AgentMailMailbox
from brenner.mail.mailbox import Mailbox
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Agent, Profile
from brenner.mail.postgres.mailbox import PostgresMailbox
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.protocol.messages import Message
from brenner.store_url import AgentMailAddress, PostgresAddress
from mail_store import LONG, NAMES, PORTION, START, bare_table, grow, records

if TYPE_CHECKING:
    from servers.process import Server

AnyServer = TypeVar("AnyServer", bound="Server")
Bound = Callable[[int], object]  # for so many messages


class Missing(Exception):
    """A part that this machine lacks."""


class Bounds(NamedTuple):
    """The least that a send, a read of some messages, and a read after opening take."""

    send: Callable[[str], object] | None = None
    read: Bound | None = None
    open: Bound | None = None


class Place(NamedTuple):
    """A home with mail in it; `again` opens it anew, as the next command does."""

    mailbox: Mailbox
    grow: Callable[[int], None]
    bounds: Bounds = Bounds()
    again: Callable[[], Mailbox] | None = None
    rounds: int = 200


class Backend(NamedTuple):
    """How to start one, how many messages it is measured with, and what its bounds are."""

    name: str
    start: Callable[[], AbstractContextManager[Place]]
    sizes: tuple[int, ...]
    bounds: str


def restore(mailbox: Mailbox, size: int) -> None:
    """Fill a mailbox quickly: all messages at once, and none checked."""
    agents = [Agent(name, "claude-code", "opus", "", START) for name in NAMES]
    for first in range(mailbox.position() + 1, size + 1, PORTION):
        mailbox.restore(agents, records(first, min(size, first + PORTION - 1)))


@contextmanager
def _memory() -> Iterator[Place]:
    with MemoryMailbox() as mailbox:
        yield Place(mailbox, partial(restore, mailbox))


@contextmanager
def _sqlite() -> Iterator[Place]:
    rows = "SELECT * FROM messages WHERE arrival <= ?"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "mail.sqlite3")

        def fill(size: int) -> None:
            with SqliteMailbox.open(path) as quick:
                grow(quick, size)

        def insert(text: str) -> None:
            bare.execute("INSERT INTO mail (text) VALUES (?)", (text,))

        def select(count: int) -> list[object]:
            return list(beside.execute(rows, (count,)))

        def select_anew(count: int) -> list[object]:
            with closing(apsw.Connection(str(path))) as other:
                return list(other.execute(rows, (count,)))

        with (
            SqliteMailbox.create(path) as mailbox,
            closing(apsw.Connection(str(path))) as beside,
            closing(bare_table(Path(folder, "bare.sqlite3"))) as bare,
        ):
            bounds = Bounds(insert, select, select_anew)
            yield Place(mailbox, fill, bounds, partial(SqliteMailbox.open, path))


@contextmanager
def started(make: Callable[[], AnyServer]) -> Iterator[AnyServer]:
    """A server of the tests, which say what they miss by skipping."""
    try:
        server = make()
        server.start()
    except (pytest.skip.Exception, RuntimeError) as error:
        raise Missing(str(error).partition("\n")[0]) from None
    try:
        yield server
    finally:
        server.close()


@contextmanager
def _postgresql() -> Iterator[Place]:
    """With a log that is flushed before a commit returns: a server of the tests does without."""
    from servers.postgresql import Postgres  # which can be found only when all of it runs

    settings = {"fsync": "on", "full_page_writes": "on"}
    with started(lambda: Postgres(settings=settings)) as server:
        url = server.url()
        address = PostgresAddress(url)
        rows = f'SELECT * FROM "{address.schema}".messages WHERE arrival <= %s'.encode()  # noqa: S608
        with psycopg.connect(url) as bare, PostgresMailbox.create(address) as mailbox:
            bare.execute("CREATE TABLE bare (id bigserial PRIMARY KEY, text text NOT NULL)")
            bare.commit()

            def fill(size: int) -> None:
                """What the server's own housekeeping does a minute later is done at once."""
                restore(mailbox, size)
                server.sql("VACUUM ANALYZE", database="brenner")

            def insert(text: str) -> None:
                bare.execute("INSERT INTO bare (text) VALUES (%s)", (text,))
                bare.commit()

            def select(count: int) -> list[object]:
                found = list[object](bare.execute(rows, (count,)))
                bare.commit()
                return found

            def select_anew(count: int) -> list[object]:
                with psycopg.connect(url) as other:
                    return list(other.execute(rows, (count,)))

            bounds = Bounds(insert, select, select_anew)
            yield Place(mailbox, fill, bounds, partial(PostgresMailbox.open, address))


class _Raw:
    """The least that a call of a tool takes: a request over a connection that is kept."""

    def __init__(self, url: str) -> None:
        self._place = urlsplit(url)
        self._connection = HTTPConnection(self._place.hostname or "", self._place.port)

    def call(self, tool: str, **arguments: object) -> object:
        """What the tool answers. A connection that was idle may have been closed meanwhile."""
        parameters = {"name": tool, "arguments": arguments}
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters}
        try:
            answer = self._post(json.dumps(request))
        except ConnectionError:
            self.close()
            answer = self._post(json.dumps(request))
        assert not answer["result"]["isError"], answer
        return answer["result"]["structuredContent"]

    def _post(self, body: str) -> dict[str, Any]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        self._connection.request("POST", self._place.path, body, headers)
        answer: dict[str, Any] = json.loads(self._connection.getresponse().read())
        return answer

    def close(self) -> None:
        """Hang up; the next call connects anew."""
        self._connection.close()


@contextmanager
def _agent_mail() -> Iterator[Place]:
    """The bare sends go into a project of their own, with names of its own."""
    from servers.agent_mail import AgentMailServer

    with started(AgentMailServer) as server:
        raw = _Raw(server.url)
        raw.call("ensure_project", human_key="/bare")
        for name in ("SilverPond", "GoldenHill"):
            who = {"project_key": "/bare", "program": "none", "model": "none", "name": name}
            raw.call("register_agent", **who)
        address = AgentMailAddress(server.url, "/bench")
        with AgentMailMailbox.create(address, None) as mailbox:
            for name in _PAIRS:
                mailbox.register(Profile(name, "claude-code", "opus"))

            def fill(size: int) -> None:
                """One by one: such a server takes nothing over as it was."""
                first = mailbox.position() + 1
                for record in records(first, size):
                    mailbox.send(_among_pairs(record.stored.message))

            def send(text: str) -> None:
                message = {"subject": "INFO: News", "body_md": text, "thread_id": LONG}
                ends = {"sender_name": "SilverPond", "to": ["GoldenHill"]}
                raw.call("send_message", project_key="/bare", **ends, **message)

            def ask(_: int) -> object:
                return raw.call("health_check")

            def ask_anew(_: int) -> object:
                raw.close()
                return raw.call("health_check")

            again = partial(AgentMailMailbox.open, address, None)
            yield Place(mailbox, fill, Bounds(send, ask, ask_anew), again, rounds=5)
        raw.close()


_PAIRS = tuple(name for name in NAMES if sum(map(str.isupper, name)) == 2)  # adjective and noun


def _among_pairs(message: Message) -> Message:
    """The same from and to those whom such a server takes."""
    sender = message.sender if message.sender in _PAIRS else "CalmRiver"
    recipients = [name for name in message.recipients if name in _PAIRS and name != sender]
    return message._replace(sender=sender, recipients=tuple(recipients) or ("TallTree",))


_SIZES = (1_000, 10_000)
# Over a connection a large store takes minutes to fill.
_MORE = (100_000,) if os.environ.get("BRENNER_BENCH_LARGE") else ()
HOMES = (
    Backend(
        "memory",
        _memory,
        _SIZES,
        "No bound: there is nothing but our own work, which looks at every message.",
    ),
    Backend(
        "SQLite",
        _sqlite,
        (*_SIZES, *_MORE),
        "The bounds: one INSERT with the same durability; as many rows by their numbers.",
    ),
    Backend(
        "PostgreSQL",
        _postgresql,
        (*_SIZES, *_MORE),
        "The bounds: one INSERT and COMMIT; one SELECT of as many rows by their numbers; over the\n"
        "  same driver, on the same server, which flushes its log before a commit returns.",
    ),
    Backend(
        "Agent Mail",
        _agent_mail,
        (20, 100, 300),
        "The bounds: one bare `send_message`; one `health_check`, which reads no mail.",
    ),
)
