"""The schema: made once and whole by who writes, never by who reads, never over something else."""

import secrets
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import psycopg
import pytest

from brenner.diagnostics.model import UnavailableError
from brenner.mail.model import Profile
from brenner.mail.postgres.connection import migrations
from brenner.mail.postgres.mailbox import PostgresDatabase, PostgresMailbox
from brenner.store_url import PostgresAddress, parse_store
from mail.backends import postgresql_address
from mail.postgresql_work import create_again_and_again, migrate
from mail.processes import Child, ended, release, start
from mail.sample_mail import ANN, BEA, introduce, make_message
from servers import postgresql

STEP = "ALTER TABLE agents ADD COLUMN hue integer NOT NULL DEFAULT 7"


@pytest.fixture
def address(tmp_path: Path) -> PostgresAddress:
    """A name that nothing has yet."""
    return postgresql_address(tmp_path)


@pytest.fixture
def sql(address: PostgresAddress) -> Iterator[Callable[[str], list[tuple[object, ...]]]]:
    """Statements of somebody else's; `{}` stands for the schema."""
    with psycopg.connect(address.url, autocommit=True) as connection:

        def run(statement: str) -> list[tuple[object, ...]]:
            quoted = psycopg.sql.SQL(statement).format(psycopg.sql.Identifier(address.schema))
            cursor = connection.execute(quoted)
            return cursor.fetchall() if cursor.description else []

        yield run


Sql = Callable[[str], list[tuple[object, ...]]]


def code(work: Callable[[], object]) -> str:
    """What is said of a place that cannot be used."""
    with pytest.raises(UnavailableError) as caught:
        work()
    return caught.value.diagnostic.id


def test_reading_makes_nothing(address: PostgresAddress, sql: Sql) -> None:
    """Neither looking whether there is mail, nor opening what is not there."""
    assert not PostgresMailbox.is_there(address)
    assert code(lambda: PostgresMailbox.open(address)) == "STORE_UNUSABLE"
    assert sql(f"SELECT 1 FROM pg_namespace WHERE nspname = '{address.schema}'") == []  # noqa: S608
    PostgresMailbox.create(address).close()
    assert PostgresMailbox.is_there(address)
    assert sql(f"SELECT 1 FROM pg_namespace WHERE nspname = '{address.schema}'") == [(1,)]  # noqa: S608


def test_an_empty_schema_is_taken(address: PostgresAddress, sql: Sql) -> None:
    """An administrator has made it for us."""
    sql("CREATE SCHEMA {}")
    assert not PostgresMailbox.is_there(address)
    assert code(lambda: PostgresMailbox.open(address)) == "STORE_UNUSABLE"
    with PostgresMailbox.create(address) as mailbox:
        assert mailbox.position() == 0


@pytest.mark.parametrize("table", ["notes (id integer)", "store (id integer)"])
def test_what_is_not_ours_is_left_alone(address: PostgresAddress, sql: Sql, table: str) -> None:
    """Also where a table happens to have the name of one of ours."""
    sql("CREATE SCHEMA {}")
    sql(f"CREATE TABLE {{}}.{table}")
    assert PostgresMailbox.is_there(address)
    for way in (PostgresMailbox.open, PostgresMailbox.create):
        assert code(partial(way, address)) == "STORE_FOREIGN"
    name = table.split(maxsplit=1)[0]
    assert sql(f"SELECT * FROM {{}}.{name}") == []  # noqa: S608
    with pytest.raises(psycopg.errors.UndefinedTable):
        sql("SELECT * FROM {}.messages")


def test_a_newer_format(address: PostgresAddress, sql: Sql) -> None:
    """Nobody opens it, and who has it open does not write any more."""
    with PostgresMailbox.create(address) as mailbox:
        introduce(mailbox)
        sql("UPDATE {}.store SET brenner_format = 1000")
        for way in (PostgresMailbox.open, PostgresMailbox.create):
            assert code(partial(way, address)) == "STORE_TOO_NEW"
        assert code(lambda: mailbox.send(make_message())) == "STORE_TOO_NEW"
        assert mailbox.position() == 0
    assert PostgresMailbox.is_there(address)


def test_an_older_format_is_brought_up_to_date(address: PostgresAddress) -> None:
    """By whoever opens it; what is in it stays."""
    with PostgresMailbox.create(address) as mailbox:
        introduce(mailbox)
        sent = mailbox.send(make_message()).stored
    newer = PostgresDatabase.open(address, (*migrations(), STEP))
    with PostgresMailbox(newer) as mailbox:
        assert newer.version == len(migrations()) + 1
        assert mailbox.arrivals(0) == (sent,)
        with newer.read_transaction():
            hues = newer.execute("SELECT DISTINCT hue FROM agents").fetchall()
        assert hues == [(7,)]
    assert code(lambda: PostgresMailbox.open(address)) == "STORE_TOO_NEW"


def test_a_step_that_fails_leaves_nothing_behind(address: PostgresAddress) -> None:
    """Neither what it did nor what the steps before it did."""
    PostgresMailbox.create(address).close()
    steps = (*migrations(), STEP, f"{STEP.replace('hue', 'tint')}; SELECT 1 / 0")
    assert code(lambda: PostgresDatabase.open(address, steps)) == "SERVER_FAILED"
    database = PostgresDatabase.open(address)
    assert database.version == len(migrations())
    with pytest.raises(UnavailableError), database.read_transaction():
        database.execute("SELECT hue FROM agents")
    database.close()


def reported_id(child: Child) -> int:
    """The next line that a child says, where it is an id."""
    assert child.stdout
    return int(child.stdout.readline())


@pytest.mark.thorough
def test_several_processes_make_the_same_schema(address: PostgresAddress) -> None:
    """A race that is over in milliseconds is run again and again."""
    rounds, count = 4, 4
    children = [start(create_again_and_again, *address, rounds) for _ in range(count)]
    for number in range(rounds):
        if number:
            assert sorted(map(reported_id, children)) == list(range(1, count + 1))
        release(children)
    for child in children:
        ended(child)
    for number in range(rounds):
        made = address._replace(schema=f"{address.schema}_{number}")
        with PostgresMailbox.open(made) as mailbox:
            assert mailbox.position() == count
            assert mailbox.integrity() == ()


def test_several_processes_migrate_at_once(address: PostgresAddress) -> None:
    """Each step is taken once."""
    PostgresMailbox.create(address).close()
    steps = (*migrations(), STEP, "CREATE TABLE steps (number integer)", "SELECT 1")
    children = [start(migrate, *address, *steps) for _ in range(4)]
    release(children)
    assert [ended(child) for child in children] == [[str(len(steps))]] * 4


@pytest.mark.parametrize(
    "schema", ["Lab", 'a"b', "a b.c", "ünïcode-ß", "select", "x" * 63, "ß" * 31, "%s ? {}", "\\"]
)
def test_any_name_of_a_schema(schema: str) -> None:
    """It is found again as it is written, and who waits hears of its mail."""
    address = PostgresAddress(postgresql.running().url(), schema)
    with PostgresMailbox.create(address) as mailbox, PostgresMailbox.open(address) as other:
        introduce(mailbox)
        assert other.wait(0, 0) == 0
        with other._listeners.listening() as hear:  # noqa: SLF001
            mailbox.send(make_message())
            hear(60)
        assert other.wait(0, 60) == 1
        assert mailbox.integrity() == ()
    with psycopg.connect(address.url, autocommit=True) as connection:
        name = psycopg.sql.Identifier(schema)
        connection.execute(psycopg.sql.SQL("DROP SCHEMA {} CASCADE").format(name))


def test_projects_in_one_database_are_apart() -> None:
    """As the address says: `schema` is ours, all other options are handed on."""
    mark = secrets.token_hex(4)
    url = postgresql.running().url(application_name=f"lab {mark}", connect_timeout="7")
    addresses = [parse_store(f"{url}&schema={name}_{mark}") for name in ("one", "two")]
    for address, name in zip(addresses, (ANN, BEA), strict=True):
        assert isinstance(address, PostgresAddress)
        with PostgresMailbox.create(address) as mailbox:
            mailbox.register(Profile(name))
            with mailbox.database.read_transaction():
                asked = mailbox.database.execute("SELECT current_setting('application_name')")
                assert asked.fetchall() == [(f"lab {mark}",)]
            assert [agent.name for agent in mailbox.agents()] == [name]


@pytest.mark.parametrize(
    ("rights", "words"),
    [
        ("", "GRANT USAGE ON SCHEMA"),
        ("GRANT USAGE ON SCHEMA {0} TO guest_{1}", "CREATE SCHEMA"),
    ],
    ids=["none", "to look"],
)
def test_rights_that_do_not_suffice(
    address: PostgresAddress, sql: Sql, rights: str, words: str
) -> None:
    """It is said which one to ask for."""
    sql("CREATE SCHEMA {}")
    server, mark = postgresql.running(), secrets.token_hex(4)
    asked = f"CREATE ROLE guest_{mark} LOGIN; {rights.format(address.schema, mark)}"
    server.sql(asked, database="brenner")
    guest = address._replace(url=server.url(user=f"guest_{mark}"))
    with pytest.raises(UnavailableError) as caught:
        PostgresMailbox.create(guest)
    assert caught.value.diagnostic.id == "SERVER_DENIED"
    assert f"{words} {address.schema}" in caught.value.diagnostic.fix
    assert not PostgresMailbox.is_there(address)


def test_a_database_that_cannot_hold_any_text() -> None:
    """Said before anything is made there."""
    server = postgresql.running()
    name = f"latin_{secrets.token_hex(4)}"
    server.sql(
        f"CREATE DATABASE {name} OWNER brenner TEMPLATE template0 ENCODING LATIN1"
        " LC_COLLATE 'C' LC_CTYPE 'C'"
    )
    address = PostgresAddress(server.url(database=name))
    for way in (PostgresMailbox.is_there, PostgresMailbox.open, PostgresMailbox.create):
        assert code(partial(way, address)) == "STORE_UNUSABLE"
