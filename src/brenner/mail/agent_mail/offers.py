"""What a server says that it offers: its tools with their arguments, its templates of resources."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

_PLACE = re.compile(r"\{(\w+)(\*?)\}")
_QUERY = re.compile(r"\{\?[^}]*\}$")
_SCHEME = "resource://"

Json = Mapping[str, object]


class Tools:
    """The tools by name. Where a tool's schema does not name its arguments, it may take any."""

    def __init__(self, listed: Iterable[object]) -> None:
        self._arguments = dict(
            _tool(each) for each in listed if isinstance(each, Mapping) and "name" in each
        )

    def has(self, tool: str, argument: str | None = None) -> bool:
        """Whether there is such a tool, and whether it takes that argument."""
        if tool not in self._arguments:
            return False
        taken = self._arguments[tool]
        return argument is None or taken is None or argument in taken


def _tool(listed: Json) -> tuple[str, frozenset[str] | None]:
    schema = listed.get("inputSchema")
    taken = schema.get("properties") if isinstance(schema, Mapping) else None
    return str(listed["name"]), frozenset(taken) if isinstance(taken, Mapping) else None


class Template(NamedTuple):
    """A form of resource addresses, and whether it declares a query."""

    pattern: re.Pattern[str]
    has_query: bool


def templates(listed: Iterable[object]) -> tuple[Template, ...]:
    """The templates of a list, in its order."""
    found = (each.get("uriTemplate") for each in listed if isinstance(each, Mapping))
    return tuple(_template(each) for each in found if isinstance(each, str))


def _template(text: str) -> Template:
    path = _QUERY.sub("", text.removeprefix(_SCHEME))
    literal = _PLACE.split(path)
    # The pieces come in threes: what stands between places, a place's name, its asterisk.
    pieces = [re.escape(each) for each in literal[::3]]
    places = [".+" if each else "[^/]+" for each in literal[2::3]]
    pattern = "".join(a + b for a, b in zip(pieces, [*places, ""], strict=True))
    return Template(re.compile(pattern, re.ASCII), bool(_QUERY.search(text)))


def hides_query(known: Iterable[Template], path: str) -> bool:
    """Whether the template of a path declares no query, so that one must be hidden in the path."""
    return any(each.pattern.fullmatch(path) and not each.has_query for each in known)
