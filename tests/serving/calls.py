"""Calls of tools without a server: whoever calls, in a project whose mail is in memory."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from brenner.config import Project
from brenner.mail.mailbox import NOTHING_MISSING, Capability, MissingCapabilities
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Profile
from brenner.mcp.resources import RESOURCES
from brenner.mcp.server import TOOLS, call_tool, read_resource
from brenner.mcp.tool import Bindings, Call, Caller, ToolResult
from brenner.services.identity import secret_digest
from brenner.services.workspace import Workspace

FOLDER = Path("/group/cell-fate")
OPERATOR = "Operator"
NO_SECRETS: MissingCapabilities = MappingProxyType({Capability.SECRETS: "it has no place for them"})


class Place(NamedTuple):
    """A server's side of things: one desk, and what it remembers of connections."""

    workspace: Workspace
    bindings: Bindings

    @property
    def mailbox(self) -> MemoryMailbox:
        """The mail."""
        assert isinstance(self.workspace.mailbox, MemoryMailbox)
        return self.workspace.mailbox

    def caller(
        self, connection: str | None = None, secret: str | None = None, *, is_strict: bool = False
    ) -> Caller:
        """Somebody at the other end."""
        return Caller(self.bindings, connection, secret, is_strict)

    def call(self, caller: Caller | None = None, /, **arguments: object) -> Call:
        """A call as a tool gets it."""
        return Call(self.workspace, caller or self.caller(), arguments)

    def ask(self, tool: str, caller: Caller | None = None, /, **arguments: object) -> ToolResult:
        """What a tool answers to whoever calls over the wire."""
        return call_tool({each.name: each for each in TOOLS}, tool, self.call(caller, **arguments))

    def read(self, address: str) -> object:
        """What stands at an address."""
        return read_resource(RESOURCES, f"resource://{address}", self.call())

    def knows(self, name: str, secret: str | None = None) -> None:
        """Somebody is registered, and has a secret or has not claimed the name."""
        self.mailbox.register(Profile(name, "claude-code", "opus"))
        if secret is not None:
            assert self.mailbox.claim(name, secret_digest(secret))


def place(lacks: MissingCapabilities = NOTHING_MISSING) -> Place:
    """A new one, in which nobody is known but the operator, who has no secret yet."""
    mailbox = MemoryMailbox(lacks=lacks)
    mailbox.register(Profile(OPERATOR, task="operator"))
    workspace = Workspace(mailbox, Project(FOLDER, operator=OPERATOR), OPERATOR)
    return Place(workspace, Bindings())


def value_of(answer: ToolResult) -> Mapping[str, object]:
    """What a tool gave back that did what it was asked for."""
    assert not answer.is_error, answer.text
    assert isinstance(answer.value, Mapping)
    return answer.value


def refusal_of(answer: ToolResult) -> str:
    """The code with which a tool refused."""
    assert answer.is_error
    assert isinstance(answer.value, Mapping)
    error = answer.value["error"]
    assert isinstance(error, Mapping)
    return str(error["id"])
