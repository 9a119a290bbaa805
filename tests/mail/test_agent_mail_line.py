"""The connection to an Agent Mail server: kept, lost, slow, streaming, encrypted, in a session."""

import json
import shutil
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from brenner.diagnostics.model import Diagnostic, UnavailableError
from brenner.mail.agent_mail import http as line
from brenner.mail.agent_mail.client import Client
from brenner.mail.agent_mail.http import MaybeSentError
from mail.odd_agent_mail import FETCH, SECRET, SEND, OddMail, fixed, lists, serving
from mail.odd_server import EVENTS, Asked, Reply, document, http, result, whole
from parts import need
from servers.process import free_port

DONE = {"structuredContent": {"id": 1}}
STREAM = f"HTTP/1.1 200 OK\r\nContent-Type: {EVENTS}\r\n\r\n"
HANGS_UP = Reply([], is_last=True)


def test_a_connection_is_kept() -> None:
    with fixed(DONE) as server:
        client = server.client()
        for _ in range(3):
            client.call(SEND, {})
    assert {each.connection for each in server.asked} == {1}


def test_a_connection_that_was_closed_meanwhile_is_replaced_and_nothing_sent_twice() -> None:
    def answer(asked: Asked) -> Reply:
        return Reply([http(200, document(asked, result=DONE))], is_last=True)

    with serving(answer) as server:
        client = server.client()
        for _ in range(3):
            assert client.call(SEND, {}) == {"id": 1}
            server.await_end()
    assert server.methods() == ["tools/list", *["tools/call"] * 3]


def test_a_server_may_close_every_connection_after_its_answer() -> None:
    value = {"structuredContent": {"text": "x" * 1_000_000}}

    def answer(asked: Asked) -> Reply:
        text = document(asked, result=value)
        return Reply([http(200, text, "application/json", "Connection: close")], is_last=True)

    with serving(answer) as server:
        client = server.client()
        assert [client.call(SEND, {}) for _ in range(2)] == [value["structuredContent"]] * 2
    assert server.methods() == ["tools/list", *["tools/call"] * 2]


@pytest.mark.parametrize(("tool", "times"), [(FETCH, 2), (SEND, 1)])
def test_after_a_request_that_got_no_answer_only_reading_is_repeated(tool: str, times: int) -> None:
    """Over a kept connection nobody knows whether the server had closed it before."""
    with serving(lambda _: HANGS_UP) as server:
        error = server.failure(tool)
    assert (type(error), error.diagnostic.id) == (MaybeSentError, "SERVER_LOST")
    assert server.methods() == ["tools/list", *["tools/call"] * times]


def test_a_reading_that_is_repeated_works() -> None:
    def answer(asked: Asked) -> Reply:
        return HANGS_UP if asked.connection == 1 else result(asked, DONE)

    with serving(answer) as server:
        assert server.client().call(FETCH, {}) == {"id": 1}


@pytest.mark.parametrize("method", ["tools/list", "initialize", "notifications/initialized"])
def test_what_goes_before_a_call_does_nothing(method: str) -> None:
    """Though its answer gets lost, what was asked for was not sent yet."""
    sessions = Sessions(turned_away(400, "Missing session ID"))
    with OddMail(
        lambda asked: HANGS_UP if asked.document["method"] == method else sessions(asked)
    ) as server:
        error = server.failure()
    assert (type(error), error.diagnostic.id) == (UnavailableError, "SERVER_LOST")


def test_nobody_listens() -> None:
    with pytest.raises(UnavailableError) as caught:
        Client(f"http://127.0.0.1:{free_port()}/mcp/").offers(SEND)
    assert (type(caught.value), caught.value.diagnostic.id) == (
        UnavailableError,
        "SERVER_UNREACHABLE",
    )
    assert "serve-http" in caught.value.diagnostic.fix


@pytest.mark.parametrize("host", ["nobody.invalid", "x" * 70 + ".invalid"])
def test_there_is_no_such_host(host: str) -> None:
    with pytest.raises(UnavailableError) as caught:
        Client(f"http://{host}/mcp/").offers(SEND)
    assert (type(caught.value), caught.value.diagnostic.id) == (
        UnavailableError,
        "SERVER_UNREACHABLE",
    )


# Time


@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 OK\r\nA: ", http(200, "{", length=10**6)])
def test_a_server_that_sends_a_byte_from_time_to_time_is_not_waited_for(start: bytes) -> None:
    with serving(lambda _: Reply(server.slowly(start), is_last=True)) as server:
        error = server.failure(seconds=0.5)
    assert (type(error), error.diagnostic.id) == (MaybeSentError, "SERVER_TIMEOUT")
    assert "0.5 seconds" in error.diagnostic.message


def test_a_stream_that_never_comes_to_the_point_is_not_waited_for() -> None:
    with serving(
        lambda _: Reply(server.slowly(STREAM.encode(), b": ping\n\n"), is_last=True)
    ) as server:
        error = server.failure(seconds=0.5)
    assert (type(error), error.diagnostic.id) == (MaybeSentError, "SERVER_TIMEOUT")


@pytest.mark.thorough
def test_a_server_that_does_not_take_all_of_a_request_surely_did_nothing() -> None:
    with fixed(DONE) as server:
        client = server.client(seconds=1)
        assert client.offers(SEND)
        server.reads_bodies = False
        server.answer = lambda _: Reply(server.slowly(b"", b""))
        with pytest.raises(UnavailableError) as caught:
            client.call(SEND, {"to": "x" * 50_000_000})
    assert (type(caught.value), caught.value.diagnostic.id) == (UnavailableError, "SERVER_TIMEOUT")


# Size


def test_an_answer_that_does_not_end_is_not_read_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line, "MOST_BYTES", 100_000)
    start = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    with serving(lambda _: Reply([start, *[b"4000\r\n" + b" " * 0x4000 + b"\r\n"] * 8])) as server:
        error = server.failure()
    assert (type(error), error.diagnostic.id) == (MaybeSentError, "SERVER_NONSENSE")
    assert "100000 bytes" in error.diagnostic.message


def test_neither_is_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line, "MOST_BYTES", 100_000)
    news = "data: {}\n\n" * 20_000
    with serving(lambda _: whole(200, news, EVENTS)) as server:
        assert server.failure().diagnostic.id == "SERVER_NONSENSE"


# Streams


def test_the_answer_is_found_in_a_stream_of_events_that_stays_open() -> None:
    def answer(asked: Asked) -> Reply:
        news = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "Sent."}}
        question = {"jsonrpc": "2.0", "id": 1, "method": "roots/list"}
        first, second = document(asked, result=DONE).split(": ", 1)
        events = [
            ": ping\r\n\r\n",
            f"event: message\ndata: {json.dumps(news)}\n\n",
            f"data: {json.dumps(question)}\n\n",
            f"id: 7\nevent: message\ndata:{first}:\ndata: {second}\n\n",
        ]
        return Reply(server.slowly(f"{STREAM}{''.join(events)}".encode(), b": ping\n\n"))

    with serving(answer) as server:
        client = server.client()
        assert [client.call(SEND, {}), client.call(SEND, {})] == [{"id": 1}] * 2


# Sessions


class Sessions:
    """A server that wants a session to be begun, and forgets about it when it is told to."""

    def __init__(self, turned_away: Reply) -> None:
        self.turned_away = turned_away
        self.current = 0
        self.is_ready = False

    def __call__(self, asked: Asked) -> Reply:
        method = asked.document["method"]
        if method == "initialize":
            assert "mcp-session-id" not in asked.headers
            self.current += 1
            agreed = document(asked, result={"protocolVersion": "2025-03-26"})
            return whole(200, agreed, "application/json", f"Mcp-Session-Id: s{self.current}")
        if asked.headers.get("mcp-session-id") != f"s{self.current}":
            return self.turned_away
        assert asked.headers["mcp-protocol-version"] == "2025-03-26"
        if method == "notifications/initialized":
            self.is_ready = True
            return whole(202)
        assert self.is_ready
        return lists(asked) or result(asked, DONE)


def turned_away(status: int, message: str) -> Reply:
    """The answer to who comes without a session."""
    error = {"jsonrpc": "2.0", "id": "server-error", "error": {"code": -32600, "message": message}}
    return whole(status, json.dumps(error))


@pytest.mark.parametrize(
    "reply",
    [
        turned_away(400, "Bad Request: Missing session ID"),
        turned_away(404, "Session not found"),
        turned_away(400, "Server not initialized"),
        whole(400, "", "text/plain", "Mcp-Session-Id: none"),
    ],
)
def test_a_session_is_begun_where_a_server_wants_one(reply: Reply) -> None:
    sessions = Sessions(reply)
    with OddMail(sessions) as server:
        client = server.client()
        assert client.call(SEND, {}) == {"id": 1}
        sessions.current = 10  # it was started anew, and has forgotten
        assert client.call(SEND, {}) == {"id": 1}
    beginning = ["initialize", "notifications/initialized"]
    assert server.methods() == [
        *("tools/list", *beginning, "tools/list", "tools/call"),
        *("tools/call", *beginning, "tools/call"),
    ]


def test_a_session_that_is_never_good_enough_is_not_begun_for_ever() -> None:
    sessions = Sessions(turned_away(400, "Missing session ID"))

    def answer(asked: Asked) -> Reply:
        is_call = asked.document["method"] == "tools/list"
        return sessions.turned_away if is_call else sessions(asked)

    with OddMail(answer) as server:
        assert server.failure().diagnostic.id == "SERVER_NONSENSE"
    assert server.methods().count("initialize") == 1


@pytest.mark.parametrize("version", [None, 7, "2025\r\nX: y", "é"])
def test_a_version_that_no_header_can_carry_is_none(version: object) -> None:
    def answer(asked: Asked) -> Reply:
        is_first = asked.document["method"] == "initialize"
        agreed = result(asked, {"protocolVersion": version})
        return agreed if is_first else turned_away(400, "Missing session ID")

    with OddMail(answer) as server:
        assert server.failure().diagnostic.id == "SERVER_NONSENSE"


# Encryption


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of our own for this machine, with its key."""
    need(shutil.which("openssl"), "openssl is not there")
    file = tmp_path_factory.mktemp("tls") / "own.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost", "-keyout", file, "-out", file),
        ],
        check=True,
        capture_output=True,
    )
    return file


def test_a_certificate_must_be_known_and_for_that_name(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fixed(DONE) as server:
        server.encrypt(certificate)
        unknown = refusal(server.url)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        of_another = refusal(server.url.replace("localhost", "127.0.0.1"))
        assert server.client(SECRET).call(SEND, {}) == {"id": 1}
    assert [unknown.id, of_another.id] == ["SERVER_UNREACHABLE"] * 2
    assert "certificate" in unknown.message
    assert "SSL_CERT_FILE" in unknown.fix


def refusal(url: str) -> Diagnostic:
    """Why a server is not talked to."""
    with closing(Client(url)) as client, pytest.raises(UnavailableError) as caught:
        client.offers(SEND)
    assert type(caught.value) is UnavailableError
    return caught.value.diagnostic


def test_a_server_that_does_not_encrypt_is_not_talked_to() -> None:
    with fixed(DONE) as server:
        assert refusal(server.url.replace("http:", "https:")).id == "SERVER_NONSENSE"
    assert server.asked == []
