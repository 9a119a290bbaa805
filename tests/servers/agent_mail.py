"""A real Agent Mail server on the loopback address, from an environment of its own."""

import http.client
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from parts import need
from servers.process import Command, Server, Shared
from servers.small_disk import SmallDisk, User

CHOSEN = "BRENNER_AGENT_MAIL_VENV"  # the environment that is to be used
_USUAL = Path(__file__).parents[2] / ".venv-agent-mail"
PATH = "/mcp/"
_SETTINGS = MappingProxyType(
    {
        "MCP_TOOLS_MODE": "extended",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LOG_RICH_ENABLED": "false",
        "TOOLS_LOG_ENABLED": "false",
        "PYTHONUNBUFFERED": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
    }
)
_OPEN = MappingProxyType({"HTTP_BEARER_TOKEN": ""})
# Without the role a right token may not write; with the exception for this machine a wrong one may.
_CLOSED = MappingProxyType(
    {"HTTP_ALLOW_LOCALHOST_UNAUTHENTICATED": "false", "HTTP_RBAC_DEFAULT_ROLE": "writer"}
)
_SECONDS = 60  # that one call may take


class Reply(NamedTuple):
    """What came back: the status, and the document, if it is one."""

    status: int
    document: Any


class AgentMailServer(Server):
    """A server with an empty mailbox; with a token, one that lets nobody in without it.

    With `disk` all that it stores lies on a disk of so many bytes.
    """

    patience = 120  # on a busy machine it takes its time to import everything

    def __init__(
        self,
        *,
        token: str | None = None,
        disk: int | None = None,
        settings: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.token = token
        self._python = Path(os.environ.get(CHOSEN, _USUAL)) / "bin" / "python"
        need(self._python.exists(), "there is no Agent Mail server here (`make test` installs it)")
        need(shutil.which("git"), "the Agent Mail server needs git")
        super().__init__("agent-mail")
        self._settings = dict(_SETTINGS) | dict(settings)
        self._storage = self.folder / "storage"
        self.disk = SmallDisk(self._storage, disk) if disk else None
        self._storage.mkdir(exist_ok=True)

    @property
    def base_url(self) -> str:
        """Where it answers, without the path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """Where it answers."""
        return self.base_url + PATH

    def command(self) -> Command:
        where = ["--host", "127.0.0.1", "--port", str(self.port)]
        arguments = [str(self._python), "-m", "mcp_agent_mail.cli", "serve-http", *where]
        auth = {**_CLOSED, "HTTP_BEARER_TOKEN": self.token} if self.token else _OPEN
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.folder),
            "DATABASE_URL": f"sqlite+aiosqlite:///{self._storage}/storage.sqlite3",
            "STORAGE_ROOT": str(self._storage / "mailbox"),
            **self._settings,
            **auth,
        }
        if self.disk:
            arguments = self.disk.seen_by(arguments, self.folder, User())
        return Command(arguments, self.folder, environment)

    def ready(self) -> bool:
        """Healthy is not ready: it must be able to write, too. And it must be ours."""
        try:
            if self.ask("GET", "/health/liveness").status != http.HTTPStatus.OK:
                return False
            self.tool("ensure_project", human_key="/ready")
            return str(self._storage) in self.tool("health_check")["database_url"]
        except (OSError, http.client.HTTPException, RuntimeError):
            return False

    def tool(self, name: str, /, **arguments: object) -> Any:
        """What a tool of the server answers to the tests themselves."""
        parameters = {"name": name, "arguments": arguments}
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters}
        status, document = self.ask("POST", PATH, request)
        result = document.get("result", {}) if isinstance(document, dict) else {}
        if status != http.HTTPStatus.OK or result.get("isError") or not result:
            message = f"{status}: {document}"
            raise RuntimeError(message)
        structured = result["structuredContent"]
        return structured.get("result", structured)

    def ask(self, method: str, path: str, document: object = None) -> Reply:
        """One request over HTTP, with the token if there is one."""
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_SECONDS)
        try:
            body = None if document is None else json.dumps(document)
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            text = response.read().decode("utf-8", "replace")
        finally:
            connection.close()
        try:
            return Reply(response.status, json.loads(text))
        except ValueError:
            return Reply(response.status, text)


# The server of this test process, for whoever does not stop it. Names of agents belong to the whole
# server: processes that test must not share one.
running = Shared(AgentMailServer)
