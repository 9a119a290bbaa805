"""Host names and addresses under which the server may be reached."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_SCHEMES = ("http", "https")


def normalise_host(name: str) -> str:
    """Return a host name or address in lower case, without brackets, for comparison."""
    name = name.strip().lower()
    return name[1:-1] if name.startswith("[") and name.endswith("]") else name


def allowed_hosts(address: str, allowed: Iterable[str] = ()) -> frozenset[str]:
    """Return the allowed host names: loopback, the server's own address, those of the operator.

    A request for any other name is refused. An attacker can make a name point to this machine, and
    a browser lets a page of that name talk to it (DNS rebinding). The port does not matter.
    """
    own = () if is_wildcard(address) else (normalise_host(address),)
    return frozenset({*LOOPBACK, *own, *(normalise_host(without_port(name)) for name in allowed)})


def is_allowed_host(names: frozenset[str], authority: str, reached: str | None = None) -> bool:
    """Return whether `name` or `name:port` is allowed, or is the address that was connected to.

    An attacker cannot redirect that address.
    """
    name = normalise_host(without_port(authority))
    return bool(name) and (name in names or name == reached)


def is_allowed_origin(names: frozenset[str], origin: str, reached: str | None = None) -> bool:
    """Return whether a page of that origin is allowed. `null` is not."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    is_bare = not (parts.path or parts.query or parts.fragment or "@" in parts.netloc)
    return parts.scheme in _SCHEMES and is_bare and is_allowed_host(names, parts.netloc, reached)


def authority(host: str, port: int | str) -> str:
    """Return `host:port`, with an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host and "]" not in host else f"{host}:{port}"


def is_wildcard(address: str) -> bool:
    """Return whether the address means every address of this machine."""
    try:
        return ip_address(normalise_host(address)).is_unspecified
    except ValueError:
        return False


def is_loopback(address: str) -> bool:
    """Return whether only this machine can reach the address."""
    try:
        return ip_address(normalise_host(address).partition("%")[0]).is_loopback
    except ValueError:
        return False


def without_port(authority: str) -> str:
    """Return `[::1]:8765`, `::1` or `localhost:8765` without the port; empty if it is malformed."""
    authority = authority.strip()
    bracket = authority.rfind("]") + 1
    name, colon, port = authority[bracket:].partition(":")
    if bracket and (name or not authority.startswith("[")):
        return ""
    if not bracket and ":" in port:  # an IPv6 address, plain
        return authority
    return authority[:bracket] + name if port.isdecimal() or not colon else ""
