"""The servers that `server` cases are played on, each behind a door that can be shut.

The door stands between the commands of a scene and the server. What the scene itself looks at, and
what other programs do, goes past it.
"""

import atexit
import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from conformance.recording_proxy import Between
from mail.backends import AGENT_MAIL, Backend
from servers import agent_mail, postgresql
from servers.agent_mail import PATH, AgentMailServer
from servers.proxy import Proxy

TOKEN = "open-sesame-1"  # noqa: S105
_GLOBAL = "global-inbox-"  # an agent of the server's own, who gets everything


class Side(ABC):
    """A server, and the mail of one project on it."""

    token: str | None = None
    door: Proxy
    direct: str  # the address past the door
    through: str  # and through it
    other: str  # that of another project on the same server, which has no mail
    _is_trapped = False

    @abstractmethod
    def has_nothing(self) -> bool:
        """Whether the server knows nothing of the project."""

    def lose_answer(self, marker: str, then: Callable[[], object] | None) -> None:
        """Let a request through, and not its answer; something may happen then."""
        self._is_trapped = True
        self.door.cut_before_answer(marker.encode(), then)

    def check(self, *, is_over: bool) -> None:
        """That all has happened that was to happen, if the scene was played to its end."""
        assert not is_over or self.door.struck.is_set() == self._is_trapped, "the answer was lost"

    def close(self) -> None:
        """Let go of the server, and leave nothing there."""
        self.door.close()


class PostgresSide(Side):
    """A schema of its own."""

    def __init__(self, folder: Path) -> None:
        self._server = postgresql.running()
        self._schema = "scene_" + sha256(str(folder).encode()).hexdigest()[:16]
        self.door = Proxy(self._server.port)
        self.direct = self._server.url(schema=self._schema)
        self.through = self._server.url(port=self.door.port, schema=self._schema)
        self.other = self._server.url(port=self.door.port, schema=f"{self._schema}_other")

    def has_nothing(self) -> bool:
        found = f"SELECT FROM information_schema.schemata WHERE schema_name = '{self._schema}'"
        return not self._server.sql(found, database="brenner")

    def close(self) -> None:
        super().close()
        self._server.sql(f"DROP SCHEMA IF EXISTS {self._schema} CASCADE", database="brenner")


class AgentMailSide(Side):
    """The project of the scene's folder."""

    def __init__(self, folder: Path, *, closed: bool) -> None:
        self.server = _closed() if closed else agent_mail.running()
        self.token = self.server.token
        self.project = str(folder.resolve())
        self.between = Between(self.server.port)
        self.door = Proxy(self.between.port)
        self.direct = f"agent-mail+{self.server.url}?project={quote(self.project, safe='')}"
        self.through = f"agent-mail+http://127.0.0.1:{self.door.port}{PATH}"
        self.other = f"{self.through}?project={quote(f'{self.project}/other', safe='')}"

    def tool(self, tool: str, /, **arguments: object) -> Any:
        """What another program is answered by a tool."""
        return self.server.tool(tool, project_key=self.project, **arguments)

    def resource(self, place: str, **options: str) -> Any:
        """What another program reads; options of the project's own come first."""
        said = {"project": self.project} | options
        uri = (
            f"resource://{place}"
            + "?" * bool(options)
            + "&".join(f"{name}={quote(value, safe='')}" for name, value in said.items() if options)
        )
        request = {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": uri}}
        document = self.server.ask("POST", PATH, request).document
        return json.loads(document["result"]["contents"][0]["text"])

    def agents(self) -> list[dict[str, Any]]:
        """Whom the server knows in the project, but for its own."""
        found = self.resource(f"agents/{quote(self.project, safe='')}")["agents"]
        return [each for each in found if not each["name"].startswith(_GLOBAL)]

    def thread(self, thread_id: str) -> list[dict[str, Any]]:
        """The messages that another program finds under a thread ID, oldest first."""
        options = {"include_bodies": "true"}
        found = self.resource(f"thread/{quote(thread_id, safe='')}", **options)["messages"]
        mine = [each for each in found if each["thread_id"] == thread_id]
        return sorted(mine, key=lambda each: (each["created_ts"], each["id"]))

    def has_nothing(self) -> bool:
        return all(each["human_key"] != self.project for each in self.resource("projects"))

    def check(self, *, is_over: bool) -> None:
        """What went wrong in between, and at the end, what did not happen there."""
        super().check(is_over=is_over)
        if self.between.failed:
            raise self.between.failed
        assert not is_over or not self.between.before, "it has happened before"

    def close(self) -> None:
        """Names belong to the whole server: the next scene wants them, too."""
        super().close()
        self.between.__exit__()
        if not self.has_nothing():
            for agent in self.agents():
                self.tool("delete_agent", name=agent["name"])


@cache
def _closed() -> AgentMailServer:
    """A server that wants a token."""
    server = AgentMailServer(token=TOKEN)
    server.start()
    atexit.register(server.stop)
    return server


def side_of(home: Backend, folder: Path, *, closed: bool) -> Side:
    """The server of a home, for the project of a folder."""
    return AgentMailSide(folder, closed=closed) if home is AGENT_MAIL else PostgresSide(folder)
