"""What the client of Agent Mail servers makes of answers that are no good."""

import pytest

from brenner.diagnostics.model import RequestError, UnavailableError
from brenner.mail.agent_mail.http import MaybeSentError
from mail.odd_agent_mail import SECRET, SEND, Answers, rpc_error, serving, tool_error
from mail.odd_server import EVENTS, Asked, Reply, document, http, result, texts, whole


def raw(*pieces: bytes) -> Answers:
    """Bytes, and the end of the connection."""
    return lambda _: Reply(pieces, is_last=True)


def status(number: int, body: str = "", kind: str = "application/json", *headers: str) -> Answers:
    """A status."""
    return lambda _: whole(number, body, kind, *headers)


SURELY_NOT = {
    "401": (status(401, '{"detail": "Unauthorized"}'), "SERVER_DENIED"),
    "403": (status(403, '{"detail": "Forbidden"}'), "SERVER_DENIED"),
    "404": (status(404, "<h1>No</h1>", "text/html"), "SERVER_NONSENSE"),
    "400": (status(400, '{"error": {"message": "Parse error"}}'), "SERVER_NONSENSE"),
    "405": (status(405, "<h1>No</h1>", "text/html"), "SERVER_NONSENSE"),
    "501": (status(501, "<p>Unsupported method ('POST').", "text/html"), "SERVER_NONSENSE"),
    "429 for long": (status(429, "{}", "text/x", "Retry-After: 3600"), "SERVER_FAILED"),
    "redirect": (status(307, "", "text/x", "Location: /elsewhere"), "SERVER_NONSENSE"),
    "method": (rpc_error(-32601, "Method not found"), "SERVER_LACKS"),
    "request": (rpc_error(-32600, "Invalid Request"), "SERVER_NONSENSE"),
    "tool": (tool_error("Unknown tool: send_message"), "SERVER_LACKS"),
    "tool by JSON-RPC": (rpc_error(-32602, "Unknown tool: 'send_message'"), "SERVER_LACKS"),
}
SAYS_NO = {
    "413": status(413, '{"detail": "Body too large"}'),
    "tool": tool_error("Error calling tool 'send_message': Recipients not found: RedSky."),
    "tool in JSON": tool_error('{"error": {"type": "X", "message": "Recipients not found"}}'),
    "tool without words": lambda asked: result(asked, {"isError": True}),
    "JSON-RPC": rpc_error(0, "Error reading resource 'x': Project 'nosuch' not found."),
    "parameters": rpc_error(-32602, "Invalid request parameters"),
}
PERHAPS = {
    "500": (status(500, "Internal Server Error", "text/plain"), "SERVER_FAILED"),
    "503": (status(503), "SERVER_FAILED"),
    "500 of JSON-RPC": (
        status(500, '{"jsonrpc": "2.0", "id": "x", "error": {"code": -32603, "message": "Oh"}}'),
        "SERVER_FAILED",
    ),
    "internal": (rpc_error(-32603, "Internal error"), "SERVER_FAILED"),
    "unexpected": (tool_error("Server encountered an unexpected error."), "SERVER_FAILED"),
    "disk": (tool_error("(sqlite3.OperationalError) database or disk is full"), "SERVER_FAILED"),
    "locked": (tool_error("database is locked"), "SERVER_FAILED"),
    "read-only": (tool_error("attempt to write a readonly database"), "SERVER_FAILED"),
    "malformed": (tool_error("database disk image is malformed"), "SERVER_FAILED"),
    "no space": (tool_error("[Errno 28] No space left on device"), "SERVER_FAILED"),
    "hangs up": (raw(), "SERVER_LOST"),
    "half a status": (raw(b"HTTP/1.1 20"), "SERVER_NONSENSE"),
    "half the headers": (raw(b"HTTP/1.1 200 OK\r\nContent-Ty"), "SERVER_NONSENSE"),
    "half a body": (raw(http(200, '{"jsonrpc"', length=400)), "SERVER_LOST"),
    "half a chunk": (
        raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n{}"),
        "SERVER_LOST",
    ),
    "no HTTP": (raw(b"SSH-2.0-OpenSSH_9.2\r\n"), "SERVER_NONSENSE"),
    "long line": (raw(b"HTTP/1.1 200 OK\r\nA: " + b"x" * 100_000), "SERVER_NONSENSE"),
    "announced": (raw(http(200, "{}", length=10**15)), "SERVER_NONSENSE"),
    "page": (status(200, "<html></html>", "text/html"), "SERVER_NONSENSE"),
    "no JSON": (status(200, "{'a': 1}"), "SERVER_NONSENSE"),
    "no UTF-8": (raw(http(200, b'{"a": "\xff"}')), "SERVER_NONSENSE"),
    "no number": (status(200, '{"jsonrpc": "2.0", "id": NaN}'), "SERVER_NONSENSE"),
    "deep": (status(200, "[" * 100_000), "SERVER_NONSENSE"),
    "nothing": (status(204), "SERVER_NONSENSE"),
    "list": (status(200, "[1, 2]"), "SERVER_NONSENSE"),
    "no JSON-RPC": (status(200, '{"status": "ok"}'), "SERVER_NONSENSE"),
    "another number": (
        status(200, '{"jsonrpc": "2.0", "id": 999, "result": {}}'),
        "SERVER_NONSENSE",
    ),
    "no result": (lambda asked: whole(200, document(asked)), "SERVER_NONSENSE"),
    "result of a kind": (lambda asked: result(asked, "sent"), "SERVER_NONSENSE"),
    "content of a kind": (lambda asked: result(asked, {"content": "sent"}), "SERVER_NONSENSE"),
    "text": (lambda asked: result(asked, texts("Message sent.")), "SERVER_NONSENSE"),
    "stream without an answer": (
        status(200, "data: {}\n\n: ping\n\ndata: nonsense\n\n", EVENTS),
        "SERVER_LOST",
    ),
}


@pytest.mark.parametrize(("answer", "code"), SURELY_NOT.values(), ids=SURELY_NOT)
def test_a_request_that_was_turned_away_surely_did_nothing(answer: Answers, code: str) -> None:
    with serving(answer) as server:
        error = server.failure()
    assert (type(error), error.diagnostic.id) == (UnavailableError, code)
    assert code == "SERVER_LACKS" or error.diagnostic.message.endswith(". No changes were made.")


@pytest.mark.parametrize("answer", SAYS_NO.values(), ids=SAYS_NO)
def test_what_a_server_refuses_is_told_as_it_says_it(answer: Answers) -> None:
    with serving(answer) as server:
        error = server.failure()
    assert (type(error), error.diagnostic.id) == (RequestError, "SERVER_REFUSED")


@pytest.mark.parametrize(("answer", "code"), PERHAPS.values(), ids=PERHAPS)
def test_a_request_that_may_have_reached_the_server_is_known_as_such(
    answer: Answers, code: str
) -> None:
    with serving(answer) as server:
        error = server.failure()
    assert (type(error), error.diagnostic.id) == (MaybeSentError, code)
    assert server.methods() == ["tools/list", "tools/call"]
    assert code == "SERVER_LOST" or not error.diagnostic.message.endswith(" Nothing was done.")


@pytest.mark.parametrize(("answer", "code"), PERHAPS.values(), ids=PERHAPS)
def test_by_reading_nothing_is_done(answer: Answers, code: str) -> None:
    with serving(answer) as server, pytest.raises(UnavailableError) as caught:
        server.client().read("agents", {})
    found = caught.value.diagnostic
    assert type(caught.value) is UnavailableError
    assert found.message.endswith(". No changes were made."), (found, code)
    assert found.message.count("No changes were made") == 1


def test_what_is_told_is_a_part_of_a_sentence() -> None:
    said = (
        "Error calling tool 'send_message': 1 validation error\n  to\n    "
        "For further information visit https://example.org/x"
    )
    with serving(tool_error(said)) as server:
        message = server.failure().diagnostic.message
        assert message.endswith("the request: 1 validation error to. Nothing was stored.")
    with serving(tool_error("x" * 10_000)) as server:
        assert len(server.failure().diagnostic.message) < 300


@pytest.mark.parametrize(
    "answer",
    [
        status(401, f'{{"detail": "{SECRET} is unknown"}}'),
        status(403, f'{{"detail": "{SECRET} may not"}}'),
        status(500, f'{{"detail": "{SECRET}"}}'),
        status(307, "", "text/x", f"Location: http://127.0.0.1/?token={SECRET}"),
        tool_error(f"{SECRET} is not for {SECRET}"),
        rpc_error(0, f"not with {SECRET}"),
        rpc_error(-32603, f"not with {SECRET}"),
    ],
)
def test_no_error_shows_the_token(answer: Answers) -> None:
    with serving(answer) as server:
        error = server.failure()
    assert SECRET not in f"{error!r} {error.diagnostic}"


def test_a_token_is_asked_for_or_another_one() -> None:
    with serving(status(401)) as server:
        wrong = server.failure().diagnostic
        with pytest.raises(UnavailableError) as caught:
            server.client().call(SEND, {})
    missing = caught.value.diagnostic
    assert ("it rejects the token" in wrong.message, "requires a token" in missing.message) == (
        True,
        True,
    )
    assert "AGENT_MAIL_BEARER_TOKEN" in wrong.fix
    assert "AGENT_MAIL_BEARER_TOKEN" in missing.fix


def test_who_may_only_read_is_listed_in_the_role() -> None:
    with serving(status(403)) as server:
        assert "HTTP_RBAC_DEFAULT_ROLE=writer" in server.failure().diagnostic.fix


def test_a_redirect_is_told_and_not_followed() -> None:
    with serving(lambda asked: result(asked, {"structuredContent": {}})) as other:
        moved = status(308, "", "text/x", f"Location: {other.url}")
        with serving(moved) as server:
            assert other.url in server.failure().diagnostic.message
    assert other.asked == []


def test_a_server_that_has_too_much_to_do_is_asked_again() -> None:
    busy = [True, True]

    def answer(asked: Asked) -> Reply:
        if busy:
            busy.pop()
            return whole(429, '{"detail": "Rate limit exceeded"}', "text/x", "Retry-After: 0")
        return result(asked, {"structuredContent": {"id": 1}})

    with serving(answer) as server:
        assert server.client().call(SEND, {}) == {"id": 1}
    assert server.methods() == ["tools/list", *["tools/call"] * 3]


def test_but_not_for_ever() -> None:
    with serving(status(429, '{"detail": "Rate limit"}', "text/x", "Retry-After: 0")) as server:
        error = server.failure()
    assert (type(error), error.diagnostic.id) == (UnavailableError, "SERVER_FAILED")
    assert "Rate limit" in error.diagnostic.message


def test_a_request_that_is_too_large_may_be_refused_before_all_of_it_was_read() -> None:
    with serving(status(413)) as server:
        client = server.client()
        assert client.offers(SEND)
        server.reads_bodies = False
        server.answer = lambda _: Reply([http(413, '{"detail": "Too large"}')], is_last=True)
        with pytest.raises(RequestError) as caught:
            client.call(SEND, {"to": "x" * 50_000_000})
    assert "Too large" in caught.value.diagnostic.message
