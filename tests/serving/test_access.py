"""Access checks of the server: hosts, origins, tokens, sizes, rates and methods."""

import http.client
import json
import re
import socket
from collections.abc import Iterator
from contextlib import closing
from functools import partial

import pytest

from brenner.limits import MOST_BODY_BYTES
from brenner.mail.memory import MemoryMailbox
from brenner.server.hosts import allowed_hosts, is_allowed_host, is_loopback, is_wildcard
from brenner.server.middleware import Permits, take_permit
from brenner.server.settings import ServeSettings
from servers.lifetime import until
from serving.running import Inside, Reply, inside

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
TOKEN = "s3cret-of-the-endpoint"  # noqa: S105  (made up)
SMALL = ServeSettings(port=0, most_request_bytes=10_000, requests_a_second=1_000_000)


@pytest.fixture(scope="module")
def server() -> Iterator[Inside]:
    """Serve without a token, so that every local client has access."""
    with inside(MemoryMailbox()) as served:
        yield served


@pytest.fixture(scope="module")
def server_with_token() -> Iterator[Inside]:
    """Serve with a token."""
    with inside(MemoryMailbox(), settings=SMALL._replace(token=TOKEN)) as served:
        yield served


def ping(server: Inside, **headers: str | None) -> Reply:
    """Send a ping; underscores in header names become hyphens."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return server.ask("POST", "/mcp", PING, given)


OURS = ("127.0.0.1", "127.0.0.1:8765", "localhost:1", "LocalHost", "[::1]", "[::1]:8765")
FOREIGN = (
    *("evil.example", "evil.example:8765", "127.0.0.1.evil.example", "localhost.evil.example"),
    *("10.0.0.1", "localhost:x", "[::1]x", "[::1", "127.0.0.1:8765:8765", "@localhost"),
    "a@127.0.0.1",
)


@pytest.mark.parametrize("host", OURS)
def test_loopback_host_names_are_accepted(server: Inside, host: str) -> None:
    assert ping(server, Host=host).status == 200


@pytest.mark.parametrize("host", FOREIGN)
def test_foreign_host_names_are_rejected(server: Inside, host: str) -> None:
    """Every address rejects a foreign Host header (DNS rebinding)."""
    for method, path in (("POST", "/mcp"), ("GET", "/"), ("GET", "/health/liveness")):
        reply = server.ask(method, path, PING if method == "POST" else None, {"Host": host})
        assert (reply.status, reply.code) == (421, "FOREIGN_HOST")


def test_missing_or_repeated_host_header_is_rejected(server: Inside) -> None:
    for lines in ("GET / HTTP/1.0", "GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example"):
        assert send_raw(server, f"{lines}\r\n\r\n".encode()).split()[1] in (b"421", b"400")


@pytest.mark.parametrize("host", OURS)
def test_loopback_origins_are_accepted(server: Inside, host: str) -> None:
    assert ping(server, Origin=f"http://{host}").status == 200


@pytest.mark.parametrize(
    "origin",
    [
        *(f"http://{host}" for host in FOREIGN),
        *("null", "", "http://", "file://localhost", "http://localhost/x", "localhost"),
    ],
)
def test_foreign_origins_are_rejected(server: Inside, origin: str) -> None:
    reply = ping(server, Origin=origin)
    assert (reply.status, reply.code) == (403, "FOREIGN_ORIGIN")


def test_allowed_hosts_of_the_operator() -> None:
    """The configured hosts are accepted; a wildcard address accepts the address that the client
    used.
    """
    hosts = allowed_hosts("192.0.2.7", ["Lab.example", "other.example:8765", "[2001:db8::1]"])
    is_in = partial(is_allowed_host, hosts)
    assert all(map(is_in, ("lab.example:1", "other.example", "[2001:db8::1]:2", "192.0.2.7")))
    assert not any(map(is_in, ("lab.example.evil", "192.0.2.8", "", ":8765", "[]")))
    everywhere = allowed_hosts("0.0.0.0")  # noqa: S104  (nobody listens)
    assert is_allowed_host(everywhere, "192.0.2.7:8765", "192.0.2.7")
    assert not is_allowed_host(everywhere, "evil.example:8765", "192.0.2.7")


def test_is_loopback_accepts_numeric_addresses_only() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "::1", "[::1]")))
    assert not any(map(is_loopback, ("localhost", "0.0.0.0", "::", "192.0.2.7", "")))  # noqa: S104
    assert is_wildcard("::")
    assert not is_wildcard("lab.example")


def test_token_is_required(server_with_token: Inside) -> None:
    """Every other Authorization header gets 401, and the reply does not contain the token."""
    assert ping(server_with_token).status == 200
    assert ping(server_with_token, Authorization=f"bearer  {TOKEN}").status == 200
    near = (f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", TOKEN)
    for each in (None, "", "Bearer", "Bearer ä", *near):
        for method, path in (("POST", "/mcp"), ("GET", "/"), ("GET", "/nowhere")):
            document = PING if method == "POST" else None
            reply = server_with_token.ask(method, path, document, {"Authorization": each})
            assert (reply.status, reply.code) == (401, "WRONG_TOKEN")
            assert reply.headers["www-authenticate"].startswith("Bearer")
            assert TOKEN not in str(reply)


def test_liveness_needs_no_token(server_with_token: Inside) -> None:
    for value in (None, ""):
        reply = server_with_token.ask("GET", "/health/liveness", None, {"Authorization": value})
        assert (reply.status, reply.document) == (200, {"status": "alive", "server": "brenner"})


def test_request_size_limit(server_with_token: Inside) -> None:
    """The limit is exact, with a Content-Length header and with chunked encoding."""
    most = SMALL.most_request_bytes
    fits = json.dumps(PING).encode().ljust(most)
    assert server_with_token.ask("POST", "/mcp", fits).status == 200
    reply = server_with_token.ask("POST", "/mcp", fits + b" ")
    assert (reply.status, reply.code) == (413, "REQUEST_TOO_LARGE")
    assert str(most) in reply.document["detail"]
    assert f"at most {MOST_BODY_BYTES // 1024**2} MiB" in reply.document["detail"]
    assert post_chunked(server_with_token, [fits]) == 200
    assert post_chunked(server_with_token, [fits, b" "]) == 413


def test_server_survives_a_huge_body(server: Inside) -> None:
    """The server rejects 100 MB and serves the next request."""
    piece = b" " * 1_000_000
    assert post_chunked(server, [piece] * 100) == 413
    reply = server.ask("POST", "/mcp", piece * 100)
    assert (reply.status, reply.code) == (413, "REQUEST_TOO_LARGE")
    assert ping(server).status == 200


def post_chunked(server: Inside, pieces: list[bytes]) -> int:
    """Send a body with chunked encoding and return the status."""
    connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
    headers = {"Content-Type": "application/json"}
    if server.token:
        headers["Authorization"] = f"Bearer {server.token}"
    try:
        connection.request("POST", "/mcp", iter(pieces), headers, encode_chunked=True)
        response = connection.getresponse()
        response.read()
    finally:
        connection.close()
    return response.status


def test_rate_limit_per_client() -> None:
    """Each client has its own rate and a burst of twice that rate."""
    permits = Permits()

    def wait(client: str, now: float) -> float:
        return take_permit(permits, client, 10, now)

    assert [wait("a", 0.0) for _ in range(20)] == [0.0] * 20
    assert wait("a", 0.0) == pytest.approx(0.1)
    assert wait("b", 0.0) == 0
    assert wait("a", 0.1) == pytest.approx(0, abs=1e-9)
    assert wait("a", 0.1) > 0
    assert [wait("a", 100.0) for _ in range(20)] == [0.0] * 20
    assert wait("a", 100.0) > 0


def test_rate_limit_reply_contains_retry_after() -> None:
    with inside(MemoryMailbox(), settings=ServeSettings(port=0, requests_a_second=1)) as served:
        replies = [ping(served) for _ in range(3)]
        assert [reply.status for reply in replies[:2]] == [200, 200]
        assert (replies[2].status, replies[2].code) == (429, "TOO_MANY_REQUESTS")
        assert int(replies[2].headers["retry-after"]) >= 1


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "json"])
def test_other_content_types_are_rejected(server: Inside, kind: str | None) -> None:
    reply = ping(server, Content_Type=kind)
    assert (reply.status, reply.code) == (415, "BODY_NOT_JSON")
    assert ping(server, Content_Type="application/json; charset=utf-8").status == 200


@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS", "TRACE", "BREW"])
def test_unsupported_methods_are_rejected(server: Inside, method: str) -> None:
    for path in ("/mcp", "/", "/health/liveness"):
        reply = server.ask(method, path)
        assert (reply.status, reply.code) == (405, "METHOD_NOT_ALLOWED")
        assert "POST" in reply.headers["allow"]


def test_endpoint_addresses(server: Inside) -> None:
    """Four addresses serve the endpoint; unknown addresses get 404 without a redirect."""
    for path in ("/mcp", "/mcp/", "/api", "/api/"):
        assert server.ask("POST", path, PING).document["result"] == {}
    for path in ("/nowhere", "/mcp/x", "/health", "/health/liveness/"):
        reply = server.ask("GET", path)
        assert (reply.status, reply.code) == (404, "NO_SUCH_PAGE")
    reply = server.ask("POST", "/", PING)
    assert (reply.status, reply.code, reply.headers["allow"]) == (
        *(405, "METHOD_NOT_ALLOWED"),
        "GET, HEAD",
    )


def test_security_headers(server: Inside) -> None:
    for path in ("/", "/nowhere", "/health/liveness", "/mcp"):
        headers = server.ask("GET", path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers
        assert "server" not in headers


def test_connect_page_loads_only_own_resources(server: Inside) -> None:
    reply = server.ask("GET", "/connect")
    assert reply.status == 200
    policy = reply.headers["content-security-policy"].split("; ")
    assert "default-src 'none'" in policy
    assert {each.split(" ", 1)[1] for each in policy} == {"'none'", "'self'"}
    for word in ("cell-fate", server.url, "brenner agent config --client codex"):
        assert word in reply.document
    for word in ("http-equiv", "@import", "url(", "style=", "<style"):
        assert word not in reply.document
    assert {*re.findall(r'src="(/[a-z]+/|[^"]*)', reply.document)} == {"/assets/"}
    assert "<script>" not in reply.document


def test_connection_limit() -> None:
    """One connection too many gets 503; the open connections continue to work."""
    settings = ServeSettings(port=0, most_connections=3)
    with inside(MemoryMailbox(), settings=settings) as served:
        kept = [http.client.HTTPConnection(served.host, served.port, timeout=60) for _ in range(3)]
        headers = {"Content-Type": "application/json"}
        for each in kept * 2:
            each.request("POST", "/mcp", json.dumps(PING), headers)
            assert json.load(each.getresponse())["result"] == {}
        with closing(http.client.HTTPConnection(served.host, served.port, timeout=60)) as further:
            further.request("POST", "/mcp", json.dumps(PING), headers)
            assert further.getresponse().status == 503
        for _ in until(lambda: len(served.running.server_state.connections) == 3, 60):
            """The further one is being forgotten."""
        for each in kept:
            each.request("POST", "/mcp", json.dumps(PING), headers)
            assert json.load(each.getresponse())["result"] == {}
            each.close()


def send_raw(server: Inside, request: bytes) -> bytes:
    """Send bytes and return the first bytes of the reply."""
    with socket.create_connection((server.host, server.port), timeout=60) as connection:
        connection.sendall(request)
        return connection.recv(65_536)


def test_malformed_http_is_rejected(server: Inside) -> None:
    for each in (
        b"\0\0\0\0\r\n\r\n",
        b"GET\r\n\r\n",
        b"\x16\x03\x01\r\n\r\n",
    ):
        assert send_raw(server, each).split()[1] == b"400"
    assert send_raw(server, b"GET / HTTP/1.1\r\nX: " + b"x" * 100_000).split()[1] == b"400"
    assert ping(server).status == 200


@pytest.mark.parametrize("path", ["/enter", "/lab/login"])
def test_login_forms_have_a_small_size_limit(path: str) -> None:
    """The limit applies with a Content-Length header and with chunked encoding."""
    settings = ServeSettings(port=0, requests_a_second=1_000_000, token=TOKEN, is_lab=True)
    with inside(MemoryMailbox(), settings=settings) as served:
        headers = {"Origin": served.base_url, "Content-Type": "application/x-www-form-urlencoded"}
        headers["Authorization"] = f"Bearer {TOKEN}"
        small, large = b"token=" + b"x" * 16_000, b"token=" + b"x" * 17_000
        assert post_status(served, path, small, headers) == 401
        assert post_status(served, path, large, headers) == 413
        assert post_status(served, path, iter([large[:9_000], large[9_000:]]), headers) == 413
        ordinary = {**headers, "Content-Type": "application/json"}
        assert post_status(served, "/mcp", b" " * 17_000, ordinary) != 413


def post_status(
    server: Inside, path: str, body: bytes | Iterator[bytes], headers: dict[str, str]
) -> int:
    """Send a body, chunked if it is an iterator, and return the status."""
    connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
    try:
        connection.request("POST", path, body, headers, encode_chunked=not isinstance(body, bytes))
        return connection.getresponse().status
    finally:
        connection.close()
