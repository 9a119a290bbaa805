"""What a tool is, and what it gets to see when an agent calls it.

Tools and resources are rows of literal tables. A tool is a plain function: it reads arguments that
were checked before, asks one workflow, and answers a value. It knows nothing of HTTP or JSON-RPC,
and runs in a worker thread, where it may wait.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import NamedTuple

from brenner.services.workspace import Workspace

# Who is at the other end of a connection, as far as that is known.


_MOST_CONNECTIONS = 10_000


class Bindings:
    """Which names a connection has shown the secret of, or was given it.

    One connection may speak for several names: a program that runs several agents has one. What is
    remembered of a secret is its digest: once a name has another one, whichever process gave it,
    nobody speaks for it any more. The oldest connections are forgotten where there are too many;
    then the secret has to be shown again.
    """

    def __init__(self) -> None:
        self._digests: OrderedDict[str, dict[str, str]] = OrderedDict()
        self._lock = threading.Lock()

    def bind(self, connection: str | None, name: str, digest: str) -> bool:
        """Remember that a connection speaks for a name; False where each request stands alone."""
        if connection is None:
            return False
        with self._lock:
            known = self._digests.pop(connection, {})
            self._digests[connection] = {**known, name: digest}
            while len(self._digests) > _MOST_CONNECTIONS:
                self._digests.popitem(last=False)
        return True

    def speaks_for(self, connection: str | None, name: str, digest: str) -> bool:
        """Whether it does, if this is the digest of the secret that the name has now."""
        with self._lock:
            known = {} if connection is None else self._digests.get(connection, {})
        return known.get(name) == digest

    def names(self, connection: str | None) -> frozenset[str]:
        """All the names that it has spoken for. It is a hint: a secret may have changed since."""
        with self._lock:
            return frozenset(() if connection is None else self._digests.get(connection, ()))


class Fetched:
    """Which version of a thread an agent has fetched last: what her next contribution builds on.

    It is a memory, not a record: what is forgotten is not stated, and R11 finds out by itself.
    """

    def __init__(self) -> None:
        self._versions: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, agent: str, thread_id: str, version: int) -> None:
        """She has seen this one."""
        with self._lock:
            self._versions.pop((agent, thread_id), None)
            self._versions[agent, thread_id] = version
            while len(self._versions) > _MOST_CONNECTIONS:
                self._versions.popitem(last=False)

    def last(self, agent: str, thread_id: str) -> int | None:
        """The one that she has seen last."""
        with self._lock:
            return self._versions.get((agent, thread_id))


class Caller(NamedTuple):
    """Who calls. `connection` is None where each request stands alone.

    `secret` is one that came with the connection rather than with a call. With `is_strict` nobody
    is believed without a secret. `is_checked` says that the caller is a program of ours, which has
    looked at what it sends: then the mail is stored as it is. Its secret is never shown.
    """

    bindings: Bindings
    fetched: Fetched
    connection: str | None = None
    secret: str | None = None
    is_strict: bool = False
    is_checked: bool = False

    def __repr__(self) -> str:
        return f"Caller(connection={self.connection!r}, is_strict={self.is_strict})"


class Kind(StrEnum):
    """What an argument holds."""

    TEXT = "text"
    NUMBER = "number"  # a whole one
    VERSION = "version"  # the same, also as `v2`
    FLAG = "flag"
    TEXTS = "texts"  # a list; one text counts as a list of it
    NUMBERS = "numbers"
    DELTAS = "deltas"  # a list of JSON objects; the tool itself reads what else was given for one


class Argument(NamedTuple):
    """One argument of a tool. What is not required and not given has the default."""

    name: str
    kind: Kind = Kind.TEXT
    about: str = ""
    required: bool = False
    default: object = None
    choices: tuple[str, ...] = ()


class Call(NamedTuple):
    """One call: where it happens, who calls, and with what.

    The desk is the operator's. Nobody acts in her name for that: who sends is what the tool is
    told, and `brenner.mcp.identity` says how far that is believed. Arguments may hold a secret, so
    that only their names are ever shown.
    """

    workspace: Workspace
    caller: Caller
    arguments: Mapping[str, object]

    def __repr__(self) -> str:
        return f"Call({', '.join(self.arguments)})"

    def text(self, name: str) -> str:
        """An argument that is a text; empty where it was left out."""
        value = self.arguments.get(name)
        return value if isinstance(value, str) else ""

    def number(self, name: str) -> int | None:
        """An argument that is a number."""
        value = self.arguments.get(name)
        return value if isinstance(value, int) else None

    def flag(self, name: str) -> bool | None:
        """An argument that is true or false; None where it was left out and has no default."""
        value = self.arguments.get(name)
        return value if isinstance(value, bool) else None

    def texts(self, name: str) -> tuple[str, ...]:
        """An argument that is a list of texts."""
        value = self.arguments.get(name)
        return tuple(map(str, value)) if isinstance(value, list | tuple) else ()


class Answer(NamedTuple):
    """What a tool answers.

    `value` is the structured content; a list is wrapped as `{"result": [...]}`, as the real server
    does. `text` is what stands in `content`; where there is none, the value as JSON does. An answer
    that `is_error` is one that the agent has to act on; it is never an error of the protocol.
    `notes` are what must not be missed at the end of a long value: they are a text of their own.
    """

    value: object
    text: str | None = None
    is_error: bool = False
    notes: tuple[str, ...] = ()


class Tool(NamedTuple):
    """One tool. `about` is all that a model reads of it: each word is paid for in every session."""

    name: str
    about: str
    arguments: tuple[Argument, ...]
    run: Callable[[Call], Answer]
    is_read_only: bool = False


class Resource(NamedTuple):
    """One family of resources, by the template of their addresses.

    What the template names arrives in the call's arguments as texts, decoded.
    """

    template: str
    name: str
    about: str
    read: Callable[[Call], object]
