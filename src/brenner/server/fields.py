"""The headers of a request by their names."""

from collections.abc import Mapping
from types import MappingProxyType

from starlette.types import Scope

Fields = Mapping[bytes, tuple[bytes, ...]]
NOTHING: tuple[bytes, ...] = ()


def fields_of(scope: Scope) -> Fields:
    """One that is there twice has two values."""
    found: dict[bytes, tuple[bytes, ...]] = {}
    for name, value in scope["headers"]:
        found[name] = (*found.get(name, ()), value)
    return MappingProxyType(found)


def kind_of(fields: Fields) -> bytes:
    """The media type that a body is said to have; nothing where that is not clear."""
    given = fields.get(b"content-type", NOTHING)
    return given[0].partition(b";")[0].strip().lower() if len(given) == 1 else b""
