"""The types of the MCP tables: tools, resources, arguments, calls and results.

A tool is a plain function. It gets validated arguments, calls one service and returns a value. It
is independent of HTTP and JSON-RPC, and runs in a worker thread, where it may block.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from enum import StrEnum
from typing import TYPE_CHECKING

from brenner.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from brenner.services.workspace import Workspace

# Callers


_MOST_CONNECTIONS = 10_000


class Bindings:
    """Which names each connection is authenticated for, and which versions each agent has fetched.

    A connection may have several names, since a program may run several agents. Only digests of
    secrets are kept: when a name gets a new secret, in whichever process, the binding ends. If
    there are too many connections, the oldest are forgotten and must show the secret again.

    The last version of a thread that an agent has fetched is the base of its next contribution. If
    it is forgotten, the base is not stated, and R11 determines it.
    """

    def __init__(self) -> None:
        self._digests: OrderedDict[str, dict[str, str]] = OrderedDict()
        self._versions: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._lock = threading.Lock()

    def bind(self, connection: str | None, name: str, digest: str) -> bool:
        """Bind a name to a connection. Return False if the client has no connection to bind to."""
        if connection is None:
            return False
        with self._lock:
            known = self._digests.pop(connection, {})
            self._digests[connection] = {**known, name: digest}
            while len(self._digests) > _MOST_CONNECTIONS:
                self._digests.popitem(last=False)
        return True

    def speaks_for(self, connection: str | None, name: str, digest: str) -> bool:
        """Return whether the connection is authenticated, given the digest of the name's current
        secret.
        """
        with self._lock:
            known = {} if connection is None else self._digests.get(connection, {})
        return known.get(name) == digest

    def names(self, connection: str | None) -> frozenset[str]:
        """Return all names of a connection. This is a hint: a secret may have changed since."""
        with self._lock:
            return frozenset(() if connection is None else self._digests.get(connection, ()))

    def note_version(self, agent: str, thread_id: str, version: int) -> None:
        """Record a version that an agent has fetched."""
        with self._lock:
            self._versions.pop((agent, thread_id), None)
            self._versions[agent, thread_id] = version
            while len(self._versions) > _MOST_CONNECTIONS:
                self._versions.popitem(last=False)

    def last_version(self, agent: str, thread_id: str) -> int | None:
        """Return the last version that the agent fetched."""
        with self._lock:
            return self._versions.get((agent, thread_id))


class Caller(NamedTuple):
    """Who calls. `connection` is None if each request is independent.

    `secret` came with the connection, not with the call. With `is_strict` no caller is trusted
    without a secret; with `is_open` a protected name can be used without its secret. `is_checked`
    marks our own programs, which have validated what they send: their mail is stored as it is.
    `grants` are the agents of a run, each with the digest of its secret for the run: no other name
    can be used. The secret is never shown.
    """

    bindings: Bindings
    connection: str | None = None
    secret: str | None = None
    is_strict: bool = False
    is_checked: bool = False
    is_open: bool = False
    grants: Mapping[str, str] | None = None

    def __repr__(self) -> str:
        return f"Caller(connection={self.connection!r}, is_strict={self.is_strict})"


class ArgumentKind(StrEnum):
    TEXT = "text"
    NUMBER = "number"  # a whole one
    VERSION = "version"  # the same, also as `v2`
    FLAG = "flag"
    TEXTS = "texts"  # a list; one text counts as a list of it
    NUMBERS = "numbers"
    DELTAS = "deltas"  # a list of JSON objects; the tool itself reads what else was given for one
    ANYTHING = "anything"


class Argument(NamedTuple):
    """One argument of a tool. An optional argument that is missing has the default."""

    name: str
    kind: ArgumentKind = ArgumentKind.TEXT
    about: str = ""
    required: bool = False
    default: object = None
    choices: tuple[str, ...] = ()


class Call(NamedTuple):
    """One call: the workspace, the caller and the arguments.

    The workspace is the operator's, but no call acts as the operator: the tool names the sender,
    and `brenner.mcp.identity` authenticates it. Arguments may contain a secret, so only their names
    are ever shown.
    """

    workspace: Workspace
    caller: Caller
    arguments: Mapping[str, object]

    def __repr__(self) -> str:
        return f"Call({', '.join(self.arguments)})"

    def text(self, name: str) -> str:
        """Return a text argument; empty if it is missing."""
        value = self.arguments.get(name)
        return value if isinstance(value, str) else ""

    def number(self, name: str) -> int | None:
        value = self.arguments.get(name)
        return value if isinstance(value, int) else None

    def flag(self, name: str) -> bool | None:
        """Return a boolean argument; None if it is missing and has no default."""
        value = self.arguments.get(name)
        return value if isinstance(value, bool) else None

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.arguments.get(name)
        return tuple(map(str, value)) if isinstance(value, list | tuple) else ()


class ToolResult(NamedTuple):
    """The result of a tool.

    `value` is the structured content; a list is wrapped as `{"result": [...]}`, as the real server
    does. `text` is the text in `content`; without one, the value as JSON. `is_error` means that the
    agent has to act; it is never a protocol error. `notes` are separate texts after a long value,
    so that they are not missed; the value has the same under a key of its own. `hints` are notes
    that the structured content has under `hints`: some programs show a model only that, and some
    only the texts.
    """

    value: object
    text: str | None = None
    is_error: bool = False
    notes: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()


class Tool(NamedTuple):
    """One tool. `about` is all that a model reads of it: every session pays for each word.

    `if_long` says how to get less if a result is so long that programs of agents cut it.
    """

    name: str
    about: str
    arguments: tuple[Argument, ...]
    run: Callable[[Call], ToolResult]
    is_read_only: bool = False
    if_long: str = ""


class Resource(NamedTuple):
    """A family of resources, by the template of their addresses.

    The template's parameters arrive as text arguments, decoded.
    """

    template: str
    name: str
    about: str
    read: Callable[[Call], object]
