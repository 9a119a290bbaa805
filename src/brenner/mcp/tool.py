"""What a tool is, and what it gets to see when an agent calls it.

Tools and resources are rows of literal tables. A tool is a plain function: it reads arguments that
were checked before, asks one workflow, and answers a value. It knows nothing of HTTP or JSON-RPC,
and runs in a worker thread, where it may wait.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import NamedTuple

from brenner.mcp.caller import Caller
from brenner.services.workspace import Desk


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

    desk: Desk
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
