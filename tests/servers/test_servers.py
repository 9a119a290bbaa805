"""The servers that other tests rely on do what they are told, and end with the test process."""

import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from mail.processes import kill, run
from servers import agent_mail, postgresql
from servers.agent_mail import AgentMailServer
from servers.lifetime import occupants, until
from servers.postgresql import Postgres
from servers.postgresql_files import copy, programs
from servers.process import Command, Server
from servers.proxy import Proxy

pytestmark = pytest.mark.thorough

_LIMIT = 30  # seconds: generous, it takes a moment only
_SOON = "2"  # seconds until somebody who stands still counts as silent
_RIGHT, _WRONG = "sesame", "mustard"
_ENDS = """
import os, signal, sys
from servers.postgresql import Postgres
server = Postgres()
server.start()
if sys.argv[1] == "paused":
    server.pause()
print(server.folder, flush=True)
if sys.argv[1] == "raises":
    raise SystemExit("an error nobody caught")
sys.stdin.readline()
"""


@pytest.fixture
def database() -> Iterator[Postgres]:
    """A server that may be ill-treated."""
    with Postgres() as server:
        yield server


@pytest.fixture
def proxy(database: Postgres) -> Iterator[Proxy]:
    """Something in front of it."""
    with Proxy(database.port) as proxy:
        yield proxy


def answer(url: str, statement: str = "SELECT 42") -> object:
    """What a database answers."""
    with psycopg.connect(url) as connection:
        row = connection.execute(statement.encode()).fetchone()
        assert row
        return row[0]


# PostgreSQL


def test_there_is_one_database_server_for_all() -> None:
    assert postgresql.running() is postgresql.running()
    assert answer(postgresql.running().url()) == 42


def test_the_owner_of_the_database_is_no_superuser(database: Postgres) -> None:
    question = "SELECT usesuper::text || current_user FROM pg_user WHERE usename = current_user"
    assert answer(database.url(), question) == "falsebrenner"


def test_stopped_it_is_gone_and_started_it_has_all_again(database: Postgres) -> None:
    for end in (database.stop, database.kill):
        database.sql("CREATE TABLE IF NOT EXISTS kept (number int)")
        database.sql("INSERT INTO kept VALUES (1)")
        end()
        assert not database.is_running
        assert not occupants(database.folder)
        with pytest.raises(psycopg.OperationalError, match="refused"):
            answer(database.url())
        database.start()
    assert database.sql("SELECT count(*) FROM kept") == [(2,)]


def test_paused_it_is_silent_and_then_goes_on(database: Postgres) -> None:
    with psycopg.connect(database.url()) as connection:
        database.pause()
        with pytest.raises(psycopg.errors.ConnectionTimeout):
            answer(database.url(connect_timeout=_SOON))
        database.resume()
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_password_is_asked_for() -> None:
    with Postgres(auth="scram") as database:
        assert answer(database.url()) == 42
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            answer(database.url(password=_WRONG))


def test_without_tls_there_is_no_way_in() -> None:
    with Postgres(tls=True) as database, Postgres(tls=True) as other:
        assert answer(database.url(), "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
        with pytest.raises(psycopg.OperationalError, match="no encryption"):
            answer(database.url(sslmode="disable"))
        with pytest.raises(psycopg.OperationalError, match="certificate verify failed"):
            answer(database.url(sslrootcert=str(other.certificate)))


def test_its_disk_is_full_and_then_not() -> None:
    with Postgres(disk=30_000_000) as database:
        database.sql("CREATE TABLE big (text text)", database="brenner")
        fill = "INSERT INTO big SELECT repeat('x', 1000) FROM generate_series(1, 5000)"
        database.fill_disk()
        with pytest.raises(psycopg.errors.DiskFull):
            database.sql(fill, database="brenner")
        database.empty_disk()
        database.sql(fill, database="brenner")
        assert database.sql("SELECT count(*) FROM big", database="brenner") == [(5000,)]


@pytest.mark.parametrize("how", ["ends", "raises", "killed", "paused"])
def test_no_server_outlives_the_test_process(how: str) -> None:
    """Be it by SIGKILL, be the server one that stands still."""
    postgresql.running()  # where there is none, this skips
    child = run([sys.executable, "-c", _ENDS, how])
    assert child.stdout
    folder = Path(child.stdout.readline().strip())
    if how in ("killed", "paused"):
        kill(child)
    else:
        child.communicate("\n", timeout=_LIMIT)
    for _ in until(lambda: not folder.parent.exists(), _LIMIT):
        pass
    assert not occupants(folder)


def test_root_in_a_closed_folder_can_run_one(tmp_path: Path) -> None:
    """The clone may lie where nobody else may look: the server's user must get at its programs."""
    if os.geteuid() != 0:
        pytest.skip("the server is the user who runs the tests")
    closed = copy(programs(tls=False).parent, tmp_path)
    tmp_path.chmod(0o700)
    work = "from servers.postgresql import Postgres\nwith Postgres() as server: print(server.port)"
    child = subprocess.run(
        [sys.executable, "-c", work],
        env={**os.environ, "BRENNER_POSTGRESQL": str(closed), "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    assert child.stdout.strip().isdecimal(), child.stderr


# Agent Mail


def test_agent_mail_is_started_and_writes() -> None:
    server = agent_mail.running()
    assert server is agent_mail.running()
    assert server.tool("ensure_project", human_key="/try")["human_key"] == "/try"


def test_agent_mail_with_a_token() -> None:
    """Refused without and with a wrong one; paused, killed and started again."""
    with AgentMailServer(token=_RIGHT) as server:
        key = server.tool("ensure_project", human_key="/kept")["slug"]
        for wrong in (None, _WRONG):
            server.token = wrong
            with pytest.raises(RuntimeError, match="401"):
                server.tool("ensure_project", human_key="/other")
        server.token = _RIGHT
        server.pause()
        with socket.create_connection(("127.0.0.1", server.port)) as asking:
            asking.sendall(b"GET /health/liveness HTTP/1.0\r\n\r\n")
            asking.settimeout(1)
            with pytest.raises(TimeoutError):
                asking.recv(1)
            server.resume()
            asking.settimeout(_LIMIT)
            assert b"200" in asking.recv(100)
        server.kill()
        with pytest.raises(ConnectionRefusedError):
            server.ask("GET", "/health/liveness")
        server.start()
        assert server.tool("ensure_project", human_key="/kept")["slug"] == key


def test_the_disk_of_agent_mail_is_full_and_then_not() -> None:
    with AgentMailServer(disk=8_000_000) as server:
        server.fill_disk()
        with pytest.raises(RuntimeError, match="isError"):
            server.tool("ensure_project", human_key="/full")
        server.empty_disk()
        server.tool("ensure_project", human_key="/empty")


class _Broken(Server):
    """A server that ends at once."""

    patience = _LIMIT

    def __init__(self) -> None:
        super().__init__("broken")

    def command(self) -> Command:
        said = "import sys; sys.exit('I cannot')"
        return Command([sys.executable, "-c", said], self.folder, os.environ)

    def ready(self) -> bool:
        return False


def test_a_server_that_does_not_start_is_said_with_its_reason() -> None:
    with pytest.raises(RuntimeError, match=r"ended at once(?s:.*)I cannot"), _Broken():
        pass


# The proxy


def test_it_passes_on(database: Postgres, proxy: Proxy) -> None:
    assert answer(database.url(port=proxy.port)) == 42
    assert proxy.connections == 1


def test_it_refuses_and_takes_again(database: Postgres, proxy: Proxy) -> None:
    with psycopg.connect(database.url(port=proxy.port)) as connection:
        proxy.refuse()
        with pytest.raises(psycopg.OperationalError, match="refused"):
            answer(database.url(port=proxy.port))
        assert connection.execute("SELECT 1").fetchone() == (1,)
    proxy.pass_on()
    assert answer(database.url(port=proxy.port)) == 42


@pytest.mark.parametrize("reset", [False, True])
def test_it_cuts_what_is_open(database: Postgres, reset: bool) -> None:
    with Proxy(database.port, reset=reset) as proxy:
        with socket.create_connection(("127.0.0.1", proxy.port)) as caller:
            caller.settimeout(_LIMIT)
            for _ in until(lambda: proxy.connections == 1, _LIMIT):
                pass
            caller.sendall(bytes([0, 0, 0, 8, 4, 210, 22, 47]))  # is there TLS?
            assert caller.recv(1) == b"N"
            proxy.cut()
            if reset:
                with pytest.raises(ConnectionResetError):
                    caller.recv(1)
            else:
                assert caller.recv(1) == b""
        assert answer(database.url(port=proxy.port)) == 42


@pytest.mark.parametrize(("before", "stored"), [("request", 0), ("answer", 1)])
def test_it_cuts_before_a_request_or_its_answer(
    database: Postgres, proxy: Proxy, before: str, stored: int
) -> None:
    database.sql("CREATE TABLE kept (number int); GRANT ALL ON kept TO PUBLIC")
    cut = proxy.cut_before_request if before == "request" else proxy.cut_before_answer
    with psycopg.connect(database.url(port=proxy.port, database="postgres")) as connection:
        connection.execute("INSERT INTO kept VALUES (1)")
        cut(b"COMMIT")
        with pytest.raises(psycopg.OperationalError):
            connection.commit()
    assert proxy.struck.wait(_LIMIT)
    assert database.sql("SELECT count(*) FROM kept") == [(stored,)]
    assert answer(database.url(port=proxy.port)) == 42  # it does so once


def test_something_else_happens_when_it_strikes(database: Postgres, proxy: Proxy) -> None:
    with psycopg.connect(database.url(port=proxy.port)) as connection:
        proxy.cut_before_answer(b"SELECT 1", then=proxy.refuse)
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError, match="refused"):
        answer(database.url(port=proxy.port))


def test_something_happens_just_before_a_request(database: Postgres, proxy: Proxy) -> None:
    with psycopg.connect(database.url(port=proxy.port)) as connection:
        proxy.on_request(b"SELECT 1", lambda: database.sql("CREATE TABLE made ()"))
        assert connection.execute("SELECT 1").fetchone() == (1,)
        assert proxy.struck.is_set()
    assert database.sql("SELECT count(*) FROM made") == [(0,)]


def test_it_hangs_and_goes_on(database: Postgres, proxy: Proxy) -> None:
    with psycopg.connect(database.url(port=proxy.port)) as connection:
        proxy.hang()
        with pytest.raises(psycopg.errors.ConnectionTimeout):
            answer(database.url(port=proxy.port, connect_timeout=_SOON))
        proxy.pass_on()
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_it_answers_garbage(database: Postgres, proxy: Proxy) -> None:
    proxy.garble(b"HTTP/1.1 200 OK\r\n\r\n")
    with pytest.raises(psycopg.OperationalError, match="invalid response"):
        answer(database.url(port=proxy.port))
    proxy.pass_on()
    assert answer(database.url(port=proxy.port)) == 42


def test_it_delays_piece_by_piece() -> None:
    """Never sooner than it says."""
    server = agent_mail.running()
    with Proxy(server.port) as proxy:
        proxy.delay(0.05, size=50)
        connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=_LIMIT)
        begin = time.monotonic()
        connection.request("GET", "/health/liveness")
        response = connection.getresponse()
        text = response.read()
        assert response.status == 200
        assert text
        assert time.monotonic() - begin >= 0.05 * 2  # it is more than two pieces
        connection.close()
