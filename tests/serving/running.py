"""Our own server: as a process in a new project, or inside of the test process over any mailbox."""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from brenner.config import OPERATOR, Project
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Profile
from brenner.mcp.server import build
from brenner.mcp.tool import Bindings, Caller
from brenner.server.app import UvicornServer, application, site_of
from brenner.server.settings import ServeSettings, find_address, listen
from brenner.services.workspace import Workspace
from servers.process import Command, Server

PATH = "/mcp"
_NONE: Mapping[str, str] = MappingProxyType({})
_SECONDS = 60.0
_OURS = ("BRENNER_", "AGENT_", "PGPASSWORD")
# Tests ask as fast as they can, and are not what the limit is for.
_UNHURRIED = ServeSettings(port=0, requests_a_second=1_000_000)
_JSON = MappingProxyType(
    {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
)


class Reply(NamedTuple):
    """What came back: the status, the headers, and the document, if it is one."""

    status: int
    headers: Mapping[str, str]
    document: Any

    @property
    def code(self) -> str:
        """The code of a refusal."""
        return str(self.document["detail"]).partition(":")[0]


class At:
    """Where a server answers, and how a raw client asks there."""

    host = "127.0.0.1"
    port: int
    token: str | None

    @property
    def base_url(self) -> str:
        """The address without a path."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    @property
    def url(self) -> str:
        """Where agents connect to."""
        return self.base_url + PATH

    def ask(
        self,
        method: str,
        path: str,
        document: object = None,
        headers: Mapping[str, str | None] = _NONE,
    ) -> Reply:
        """One request over HTTP. A header that is None is left out."""
        said: dict[str, str | None] = dict(_JSON) if method == "POST" else {}
        if self.token:
            said["Authorization"] = f"Bearer {self.token}"
        given = {name: value for name, value in (said | dict(headers)).items() if value is not None}
        body = document if isinstance(document, bytes) else None
        if body is None and document is not None:
            body = json.dumps(document).encode()
        connection = http.client.HTTPConnection(self.host, self.port, timeout=_SECONDS)
        try:
            connection.request(method, path, body, given)
            return _reply(connection.getresponse())
        finally:
            connection.close()

    def rpc(self, method: str, headers: Mapping[str, str | None] = _NONE, **params: object) -> Any:
        """The result of a request that stands alone."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        status, _, document = self.ask("POST", PATH, request, headers)
        if status != http.HTTPStatus.OK or "result" not in document:
            message = f"{status}: {document}"
            raise RuntimeError(message)
        return document["result"]

    def tool(self, name: str, /, **arguments: object) -> Any:
        """What a tool answers to a client that sends no more than the call."""
        result = self.rpc("tools/call", name=name, arguments=arguments)
        if result.get("isError"):
            message = str(result["content"])
            raise RuntimeError(message)
        structured = result["structuredContent"]
        return structured.get("result", structured)


def _reply(response: http.client.HTTPResponse) -> Reply:
    text = response.read().decode("utf-8", "replace")
    headers = {name.lower(): value for name, value in response.getheaders()}
    try:
        return Reply(response.status, headers, json.loads(text))
    except ValueError:
        return Reply(response.status, headers, text)


class Served(At, Server):
    """`brenner serve` as a process, in a project of its own unless one is named."""

    patience = 60

    def __init__(
        self,
        *options: str,
        project: Path | None = None,
        token: str | None = None,
        host: str = "127.0.0.1",
        environment: Mapping[str, str] = _NONE,
    ) -> None:
        Server.__init__(self, "brenner-serve")
        self.host, self.token = host, token
        self.project = project or self.folder / "project"
        self.project.mkdir(exist_ok=True)
        self._options = options
        self._environment = environment

    def command(self) -> Command:
        where = ["--host", self.host, "--port", str(self.port), "--project", str(self.project)]
        arguments = [sys.executable, "-m", "brenner", "serve", "--json", *where, *self._options]
        clean = {key: value for key, value in os.environ.items() if not key.startswith(_OURS)}
        token = {"BRENNER_TOKEN": self.token} if self.token else {}
        return Command(arguments, self.folder, clean | token | dict(self._environment))

    def ready(self) -> bool:
        """It says so in its log, once it answers."""
        return bool(self.said)

    @property
    def said(self) -> dict[str, Any]:
        """What it said last when it was ready; nothing while it is not."""
        assert self._process
        for line in reversed(self.log.read_text("utf-8", "replace").splitlines()):
            said: dict[str, Any] = json.loads(line) if line.startswith("{") else {}
            if said.get("pid") == self._process.pid:
                return said
        return {}

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        assert self._process
        self._process.send_signal(number)

    def ended(self) -> int:
        """Wait for its end; the exit code."""
        assert self._process
        try:
            return self._process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            self._fail("did not end")
            raise


class Inside(At):
    """The server in a thread of this process."""

    def __init__(
        self, running: UvicornServer, port: int, workspace: Workspace, token: str | None
    ) -> None:
        self.running = running
        self.port = port
        self.workspace = workspace
        self.token = token


@contextmanager
def inside(
    mailbox: Mailbox,
    project: Project | None = None,
    settings: ServeSettings = _UNHURRIED,
    *,
    knows_operator: bool = True,
) -> Iterator[Inside]:
    """Serve a mailbox as long as the context lasts. It stays open; the operator is known in it."""
    project = project or Project(Path("/group/cell-fate"), operator=OPERATOR)
    if knows_operator and all(agent.name != project.operator for agent in mailbox.agents()):
        mailbox.register(Profile(project.operator, task="operator"))
    workspace = Workspace(mailbox, project, project.operator)
    listening, port = listen(*find_address(settings.host, settings.port))
    settings = settings._replace(port=port)
    known = Caller(Bindings(), is_strict=settings.is_strict)
    is_ready = threading.Event()
    app = application(
        build(workspace, known), settings, site_of(workspace, settings), known.bindings
    )
    running = UvicornServer(*app, settings, is_ready.set)
    thread = threading.Thread(target=running.run, args=([listening],), daemon=True)
    thread.start()
    try:
        assert is_ready.wait(_SECONDS)
        yield Inside(running, settings.port, workspace, settings.token)
    finally:
        running.stop()
        thread.join(_SECONDS)
        assert not thread.is_alive()
