"""What the doctor says of the place where agents look for the server."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from brenner import __version__
from brenner.config import Project
from brenner.mail.agent_mail.client import Client
from brenner.mail.memory import MemoryMailbox
from brenner.server.settings import ServeSettings
from brenner.services.doctor.checks import serve_checks
from brenner.services.doctor.stores import Check, DoctorContext
from program import brenner
from servers.agent_mail import running
from serving.running import inside

TOKEN = "token-of-the-tests"  # noqa: S105


def looked_at(folder: Path, url: str, *, token: str | None = None, is_asked: bool = False) -> Check:
    """What is said of the server there; the token is never."""
    now = datetime.now(UTC)
    context = DoctorContext(Project(folder), None, now, url, token, is_url_requested=is_asked)
    library, server = serve_checks(context)
    assert (library.name, library.status, server.name) == ("mcp", "ok", "serve")
    assert TOKEN not in f"{library} {server}"
    assert bool(server.fix) == (server.status != "ok")
    return server


@contextmanager
def another_program(status: int, body: bytes = b"", kind: str = "text/html") -> Iterator[str]:
    """A program that answers everything in one way; where it is."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with served(Handler) as url:
        yield url


@contextmanager
def served(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """A program that answers so; where it is."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp/"
        server.shutdown()
        thread.join()


@pytest.fixture
def closed() -> str:
    """An address at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}/mcp/"


def test_nobody_listens(tmp_path: Path, closed: str) -> None:
    """No fault, unless somebody asks for just that one."""
    found = looked_at(tmp_path, closed)
    assert found.status == "ok"
    assert closed in found.detail
    assert "start it with `brenner serve`" in found.detail
    asked = looked_at(tmp_path, closed, is_asked=True)
    assert (asked.status, asked.id) == ("problem", "SERVER_UNREACHABLE")
    assert "brenner serve" in (asked.fix or "")


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (200, b"<html>hello</html>", "text/html"),
        (200, b'{"hello": 1}', "application/json"),
        (404, b"", "text/html"),
        (501, b"", "text/html"),
        (302, b"", "text/html"),
    ],
)
def test_another_program(tmp_path: Path, status: int, body: bytes, kind: str) -> None:
    """It has the port: a server of ours takes another."""
    with another_program(status, body, kind) as url:
        found, asked = (looked_at(tmp_path, url, is_asked=each) for each in (False, True))
    assert (found.status, asked.status) == ("ok", "problem")
    assert "another program answers" in found.detail
    assert "brenner serve --port" in found.detail
    assert "brenner serve --port" in (asked.fix or "")


def test_it_wants_a_token(tmp_path: Path) -> None:
    """None, or the wrong one: the variable that is ours is named."""
    body = b'{"detail": "Unauthorized"}'
    for token in (None, TOKEN):
        with another_program(401, body, "application/json") as url:
            found = looked_at(tmp_path, url, token=token)
        assert (found.status, found.id) == ("warning", "SERVER_DENIED")
        assert "BRENNER_TOKEN" in (found.fix or "")
        assert "AGENT_MAIL" not in f"{found.detail} {found.fix}"


@pytest.mark.parametrize("said", [b"", b"<html>", b'{"status": "alive"}', b'["alive"]', b"\xff"])
def test_a_stranger_gets_no_token(tmp_path: Path, said: bytes) -> None:
    """Only who says that it is a server of ours is shown the token, and nobody else."""
    seen: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers.get("Authorization"))
            self._answer(200, said)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            seen.append(self.headers.get("Authorization"))
            self._answer(401, b'{"detail": "Unauthorized"}')

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with served(Handler) as url:
        found = looked_at(tmp_path, url, token=TOKEN, is_asked=True)
    assert len(seen) >= 2
    assert set(seen) == {None}
    assert "BRENNER_TOKEN was not sent, because" in (found.fix or "")


def test_it_is_broken(tmp_path: Path) -> None:
    """Somebody listens, and cannot be used."""
    with another_program(500) as url:
        assert looked_at(tmp_path, url).status == "warning"
        assert looked_at(tmp_path, url, is_asked=True).status == "problem"


def test_it_never_answers(tmp_path: Path) -> None:
    """The doctor does not wait for it for long."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/mcp/"
        found = looked_at(tmp_path, url)
    assert (found.status, found.id) == ("warning", "SERVER_TIMEOUT")
    assert "1 second" in found.detail


def test_an_agent_mail_server(tmp_path: Path) -> None:
    """The port is the same by default. It is told apart, and no project is made on it."""
    server = running()
    found, asked = (looked_at(tmp_path, server.url, is_asked=each) for each in (False, True))
    assert (found.status, asked.status) == ("ok", "problem")
    assert "is an Agent Mail server, not `brenner serve`" in found.detail
    for words in (found.detail, asked.fix or ""):
        assert "`brenner agent config --client NAME --url http://127.0.0.1:N/mcp/`" in words
    client = Client(server.url)
    assert str(tmp_path) not in str(client.read("projects", {}))
    client.close()


def test_the_command(tmp_path: Path, closed: str) -> None:
    """`--url` asks for just that one; a server is looked for without it, too."""
    done = brenner("doctor", "--json", "--url", closed, cwd=tmp_path)
    (found,) = [each for each in done.json["checks"] if each["name"] == "serve"]
    assert (done.code, found["status"]) == (3, "problem")
    done = brenner("doctor", "--json", cwd=tmp_path, BRENNER_SERVE_URL=closed)
    (found,) = [each for each in done.json["checks"] if each["name"] == "serve"]
    assert (done.code, found["status"]) == (0, "ok")
    assert closed in found["detail"]
    assert brenner("doctor", "--url", "nowhere", cwd=tmp_path).code == 2


@pytest.mark.parametrize("is_strict", [False, True])
def test_the_server_of_this_project(tmp_path: Path, *, is_strict: bool) -> None:
    """A round trip: its version, how long it takes; nothing is left behind."""
    settings = ServeSettings(port=0, is_strict=is_strict, token=TOKEN)
    mailbox = MemoryMailbox()
    with inside(mailbox, Project(tmp_path), settings) as served:
        before = (mailbox.agents(), mailbox.position())
        found = looked_at(tmp_path, served.url, token=TOKEN, is_asked=True)
        assert (mailbox.agents(), mailbox.position()) == before
        for wrong in (None, "another-token"):
            denied = looked_at(tmp_path, served.url, token=wrong, is_asked=True)
            assert (denied.status, denied.id) == ("problem", "SERVER_DENIED")
            assert "BRENNER_TOKEN" in (denied.fix or "")
    assert found.status == "ok"
    assert f"serves this project (version {__version__}" in found.detail
    assert f"identity {'strict' if is_strict else 'open'})" in found.detail
    assert "a round trip takes " in found.detail


def test_the_server_of_another_project(tmp_path: Path) -> None:
    """Also where one lies in the folder of the other: agents would mail to the wrong one."""
    folders = [tmp_path, tmp_path / "inner", tmp_path / "other"]
    with inside(MemoryMailbox(), Project(folders[2])) as served:
        found = looked_at(folders[0], served.url, is_asked=True)
    assert found.status == "problem"
    assert f"serves `{folders[2]}`, not this project" in found.detail
    with inside(MemoryMailbox(), Project(folders[0])) as served:
        assert looked_at(folders[1], served.url, is_asked=True).status == "problem"
        assert looked_at(folders[0], served.url, is_asked=True).status == "ok"
