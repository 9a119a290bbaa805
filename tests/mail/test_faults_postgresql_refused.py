"""A database server that does not let in, stands still, may not write, or talks nonsense."""

import os
import socket
from collections.abc import Callable, Iterator

import psycopg
import pytest

from brenner.diagnostics.model import UnavailableError, UnknownOutcomeError
from brenner.mail.model import Profile
from brenner.mail.postgres.mailbox import PostgresMailbox
from brenner.store_url import PostgresAddress
from mail.fault_mail import ANN, BEA, THREAD, make_message
from mail.postgresql_scene import (
    COMMIT,
    Scene,
    assert_no_secret,
    assert_said,
    impatient,
    prepared,
)
from servers.lifetime import until
from servers.postgresql import Postgres
from servers.postgresql_files import PASSWORD
from servers.proxy import Proxy

_LIMIT = 60  # seconds
_MOST = 1_000
_WEB = b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\n\r\n<h1>Bad Request</h1>"


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A server that asks for a password."""
    with Postgres(auth="scram") as server:
        yield server


@pytest.fixture
def scene(server: Postgres) -> Iterator[Scene]:
    """All is well so far."""
    with Proxy(server.port) as proxy:
        yield from prepared(server, proxy)
    server.resume()


def said(work: Callable[[], object], code: str) -> UnavailableError:
    """What a call ends with."""
    with pytest.raises(UnavailableError) as caught:
        work()
    assert_said(caught.value, code)
    return caught.value


# The way in


def refused(url: str, schema: str = "brenner") -> UnavailableError:
    """What is said to somebody who wants in, the same whatever she wants."""
    answers = []
    for way in (PostgresMailbox.is_there, PostgresMailbox.open, PostgresMailbox.create):
        with pytest.raises(UnavailableError) as caught:
            way(PostgresAddress(url, schema))
        answers.append(caught.value)
        assert_no_secret(caught.value.diagnostic.message + caught.value.diagnostic.fix)
    assert len({str(each) for each in answers}) == 1
    return answers[0]


@pytest.mark.parametrize(
    ("other", "code", "words"),
    [
        ({"password": "wrong"}, "SERVER_DENIED", "password"),
        ({"user": "stranger"}, "SERVER_DENIED", "password"),
        ({"database": "nowhere"}, "SERVER_UNREACHABLE", "createdb nowhere"),
        ({"sslmode": "require"}, "SERVER_DENIED", "sslmode"),
        ({"sslmode": "perhaps"}, "SERVER_DENIED", "sslmode"),
    ],
)
def test_not_let_in(server: Postgres, other: dict[str, str], code: str, words: str) -> None:
    found = refused(server.url(**other)).diagnostic  # type: ignore[arg-type]
    assert found.id == code, found
    assert words in found.message + found.fix


def test_no_password_where_one_is_asked_for(
    server: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be in the environment instead."""
    address = server.url().replace(f":{server.url().split(':')[2].split('@')[0]}@", "@")
    assert address.startswith("postgresql://brenner@127")
    monkeypatch.delenv("PGPASSWORD", raising=False)
    monkeypatch.setenv("PGPASSFILE", os.devnull)
    assert refused(address).diagnostic.id == "SERVER_DENIED"
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert not PostgresMailbox.is_there(PostgresAddress(address, "nothing"))


def test_no_such_host_and_nobody_at_the_port(server: Postgres) -> None:
    with Proxy(server.port) as proxy:
        proxy.refuse()
        found = refused(server.url(port=proxy.port)).diagnostic
        assert found.id == "SERVER_UNREACHABLE"
        assert "Start PostgreSQL" in found.fix
    found = refused(server.url().replace("127.0.0.1", "host.invalid")).diagnostic
    assert found.id == "SERVER_UNREACHABLE"
    assert "host.invalid" in found.message


@pytest.mark.thorough
def test_tls_is_asked_for_and_checked() -> None:
    with Postgres(auth="scram", tls=True) as server, Postgres(tls=True) as other:
        found = refused(server.url(sslmode="disable")).diagnostic
        assert found.id == "SERVER_DENIED"
        assert "sslmode=require" in found.fix
        found = refused(server.url(sslrootcert=str(other.certificate))).diagnostic
        assert found.id == "SERVER_DENIED"
        assert "certificate" in found.message
        with PostgresMailbox.create(PostgresAddress(server.url())) as mailbox:
            mailbox.register(Profile(ANN))
            assert [agent.name for agent in mailbox.agents()] == [ANN]


def test_no_connection_is_left() -> None:
    with Postgres(settings={"max_connections": "5"}) as small:
        address = PostgresAddress(small.url())

        def is_let_in() -> bool:
            try:
                return PostgresMailbox.is_there(address)
            except UnavailableError:
                return False

        with PostgresMailbox.create(address):
            with psycopg.connect(small.url()):  # and three are kept for the administrator
                found = refused(small.url()).diagnostic
                assert found.id == "SERVER_UNREACHABLE"
                assert "max_connections" in found.fix
            for _ in until(is_let_in, _LIMIT):  # the server takes its time to count
                pass


# Standing still


@pytest.mark.thorough
def test_standing_still_is_noticed(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before a send nothing is stored. The commit goes out with the message: then nobody knows."""
    impatient(monkeypatch, SILENCE=0.5, LOCK_SECONDS=0, CONNECT_SECONDS=2)
    with scene.again() as mailbox:
        for call, code in (
            (lambda: mailbox.inbox(BEA), "SERVER_TIMEOUT"),
            (lambda: mailbox.send(make_message("Never")), "SERVER_TIMEOUT"),
            # For this a new connection is needed.
            (lambda: list(mailbox.records()), "SERVER_UNREACHABLE"),
        ):
            mailbox.position()
            scene.server.pause()
            assert not isinstance(said(call, code), UnknownOutcomeError)
            scene.server.resume()
        scene.proxy.on_request(b"INSERT INTO messages", scene.server.pause)
        assert isinstance(
            said(lambda: mailbox.send(make_message("Perhaps")), "OUTCOME_UNKNOWN"),
            UnknownOutcomeError,
        )
        scene.server.resume()
    scene.mailbox.send(make_message("Afterwards"))
    assert scene.stored() in (["Afterwards"], ["Perhaps", "Afterwards"])


@pytest.mark.thorough
def test_a_server_that_only_takes_connections(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    impatient(monkeypatch, CONNECT_SECONDS=2)
    scene.proxy.hang()
    error = refused(scene.store.partition("?")[0], scene.schema)
    assert error.diagnostic.id in ("SERVER_UNREACHABLE", "SERVER_TIMEOUT")


@pytest.mark.thorough
def test_standing_still_at_the_commit(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has got the request and may do it when it goes on: that is not "nothing was done"."""
    with monkeypatch.context() as patch:
        impatient(patch, SILENCE=0.5, LOCK_SECONDS=0, CONNECT_SECONDS=2, SETTLE_SECONDS=0.5)
        with scene.again() as mailbox:
            scene.proxy.on_request(COMMIT, scene.server.pause)
            error = said(lambda: mailbox.send(make_message("Perhaps"), key="k"), "OUTCOME_UNKNOWN")
        assert isinstance(error, UnknownOutcomeError)
    scene.server.resume()
    scene.mailbox.send(make_message("Perhaps"), key="k")
    assert scene.stored() == ["Perhaps"]


def test_slow_is_not_wrong(scene: Scene) -> None:
    scene.proxy.delay(0.01, size=100)
    sent = scene.mailbox.send(make_message("Slowly"))
    assert scene.mailbox.thread(THREAD).messages == (sent.stored,)


def test_somebody_holds_the_lock(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writers wait for a while and then say so; readers do not wait."""
    impatient(monkeypatch, LOCK_SECONDS=1)
    with (
        scene.again() as mailbox,
        psycopg.connect(scene.server.url()) as other,
    ):
        other.execute(f"SELECT 1 FROM {scene.schema}.store FOR UPDATE".encode())  # noqa: S608
        error = said(lambda: mailbox.send(make_message("Never")), "STORE_BUSY")
        assert not isinstance(error, UnknownOutcomeError)
        assert mailbox.thread(THREAD).messages == ()
        other.rollback()
        mailbox.send(make_message("Afterwards"))
    assert scene.stored() == ["Afterwards"]


# May not write


def test_a_role_that_may_only_read(scene: Scene) -> None:
    server, schema = scene.server, scene.schema
    scene.mailbox.send(make_message("There"))
    server.sql(
        f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}';"
        f" GRANT USAGE ON SCHEMA {schema} TO reader;"
        f" GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO reader",
        database="brenner",
    )
    address = PostgresAddress(server.url(user="reader"), schema)
    with PostgresMailbox.open(address) as mailbox:
        assert [each.stored.message.body for each in mailbox.inbox(BEA).messages] == ["There"]
        assert mailbox.wait(0, 1) == 1
        said(lambda: mailbox.send(make_message("Never")), "STORE_READ_ONLY")
        said(lambda: mailbox.mark(BEA, [1], is_read=True), "STORE_READ_ONLY")
    assert scene.stored() == ["There"]
    found = said(
        lambda: PostgresMailbox.create(PostgresAddress(server.url(user="reader"), "another")),
        "SERVER_DENIED",
    ).diagnostic
    assert "CREATE SCHEMA another" in found.fix


def test_a_database_that_is_for_reading(scene: Scene) -> None:
    """As one is that follows another."""
    scene.mailbox.send(make_message("There"))
    url = scene.server.url(options="-c default_transaction_read_only=on")
    with PostgresMailbox.open(PostgresAddress(url, scene.schema)) as mailbox:
        assert len(mailbox.thread(THREAD).messages) == 1
        said(lambda: mailbox.send(make_message("Never")), "STORE_READ_ONLY")
    assert scene.stored() == ["There"]


@pytest.mark.thorough
def test_its_disk_is_full() -> None:
    """Said so, nothing half stored; reading goes on, and so does sending when there is room."""
    with Postgres(disk=40_000_000) as server, Proxy(server.port) as proxy:
        for scene in prepared(server, proxy):
            server.fill_disk(but=400_000)
            sent = fill(scene)
            assert scene.stored() == sent
            assert [each.message.body for each in scene.mailbox.arrivals(0)] == sent
            server.empty_disk()
            scene.mailbox.send(make_message("Room"))
            assert scene.stored() == [*sent, "Room"]


def fill(scene: Scene) -> list[str]:
    """Send until there is no room; what was sent."""
    sent: list[str] = []
    while len(sent) < _MOST:
        body = f"{len(sent)} {os.urandom(8_000).hex()}"
        try:
            scene.mailbox.send(make_message(body))
        except UnavailableError as error:
            assert_said(error, "STORE_FULL")
            assert sent, "there was no room from the beginning"
            return sent
        sent.append(body)
    pytest.fail("there was always room")


# Nonsense


@pytest.mark.parametrize("sslmode", ["prefer", "disable"])
@pytest.mark.parametrize(
    "answer",
    [_WEB, b"\0" * 50, b"-ERR unknown command\r\n", b""],
    ids=["a web page", "zeros", "another database", "nothing"],
)
def test_another_program_answers(server: Postgres, answer: bytes, sslmode: str) -> None:
    with Proxy(server.port) as proxy:
        proxy.garble(answer)
        error = refused(server.url(port=proxy.port, sslmode=sslmode))
        code = "SERVER_NONSENSE" if answer else "SERVER_UNREACHABLE"
        assert error.diagnostic.id == code, error.diagnostic


def test_nonsense_in_the_middle(scene: Scene) -> None:
    scene.mailbox.send(make_message("Before"))
    for call in (
        lambda: scene.mailbox.inbox(BEA),
        lambda: scene.mailbox.send(make_message("Never")),
    ):
        scene.mailbox.position()
        scene.proxy.garble(_WEB)
        with pytest.raises(UnavailableError) as caught:
            call()
        assert caught.value.diagnostic.id in ("SERVER_NONSENSE", "SERVER_LOST")
        scene.proxy.pass_on()
    assert scene.stored() == ["Before"]


@pytest.mark.thorough
def test_a_port_where_somebody_listens_and_never_answers(
    server: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    impatient(monkeypatch, CONNECT_SECONDS=2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        found = refused(server.url(port=silent.getsockname()[1])).diagnostic
    assert found.id in ("SERVER_UNREACHABLE", "SERVER_TIMEOUT")
