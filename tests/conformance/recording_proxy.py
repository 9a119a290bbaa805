"""Somebody between a program and an Agent Mail server who reads the requests.

What it does to the wire, `servers.proxy` does better. This one knows what is asked: it can do
something before a request goes on, answer in the server's place, and keep things to itself that
the server offers.
"""

import http.client
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self

_SECONDS = 60  # that one request may take
_OK = 200


class Reply(NamedTuple):
    """An answer in the server's place."""

    status: int
    text: str


class Between:
    """Passes requests on to a port of this machine; `before`, `instead`, `hidden` are for tests.

    `before` and `instead` are for the requests that hold a text; what is done before is done once.
    `hidden` are tools, and arguments (`tool.argument`), that the list of tools does not show.
    """

    def __init__(self, port: int) -> None:
        self.before: dict[str, Callable[[], object]] = {}
        self.instead: dict[str, Reply] = {}
        self.hidden: set[str] = set()
        self.failed: BaseException | None = None
        self._upstream = port
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, path: str, headers: dict[str, str], body: bytes) -> Reply:
        """What a request is answered."""
        text = body.decode()
        request = json.loads(text)
        for marker in [each for each in self.before if each in text]:
            self._do(self.before.pop(marker))
        for marker, reply in self.instead.items():
            if marker in text:
                return reply._replace(text=reply.text.replace("ID", json.dumps(request["id"])))
        if self._uses_hidden(request):
            return Reply(_OK, json.dumps(_refusal(request["id"])))
        connection = http.client.HTTPConnection("127.0.0.1", self._upstream, timeout=_SECONDS)
        try:
            connection.request("POST", path, body, headers)
            response = connection.getresponse()
            reply = Reply(response.status, response.read().decode())
        finally:
            connection.close()
        return self._without_hidden(reply) if request["method"] == "tools/list" else reply

    def _uses_hidden(self, request: dict[str, Any]) -> bool:
        """A server refuses what it does not offer."""
        if request["method"] != "tools/call":
            return False
        name, given = request["params"]["name"], request["params"].get("arguments", {})
        return bool({name, *(f"{name}.{each}" for each in given)} & self.hidden)

    def _do(self, work: Callable[[], object]) -> None:
        """A failure is the test's, not that of the program that waits for its answer."""
        try:
            work()
        except BaseException as error:  # noqa: BLE001
            self.failed = error

    def _without_hidden(self, reply: Reply) -> Reply:
        if reply.status != _OK or not self.hidden:
            return reply
        document = json.loads(reply.text)
        tools: list[dict[str, Any]] = document["result"]["tools"]
        document["result"]["tools"] = [each for each in tools if each["name"] not in self.hidden]
        for tool in tools:
            known = tool["inputSchema"]["properties"]
            for argument in [each for each in known if f"{tool['name']}.{each}" in self.hidden]:
                del known[argument]
        return Reply(_OK, json.dumps(document))

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        between = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # what comes in two pieces does not wait in between

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                wanted = ("content-type", "accept", "authorization")
                headers = {name: v for name, v in self.headers.items() if name.lower() in wanted}
                reply = between.answer(self.path, headers, body)
                data = reply.text.encode()
                self.send_response(reply.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        return Handler


def _refusal(number: object) -> dict[str, object]:
    content = [{"type": "text", "text": "1 validation error: Unexpected keyword argument"}]
    return {"jsonrpc": "2.0", "id": number, "result": {"content": content, "isError": True}}
