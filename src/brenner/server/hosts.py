"""Under which names the server is reached. A request for another name is none of ours.

A browser lets a web page talk to the name that it came from, and a name can be made to point to
this machine. The port does not matter: no page gets another name by way of it.
"""

from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_SCHEMES = ("http", "https")


def plain(name: str) -> str:
    """A host's name or address as it is compared: in small letters, without brackets."""
    name = name.strip().lower()
    return name[1:-1] if name.startswith("[") and name.endswith("]") else name


class Hosts:
    """The names that count: those of loopback, our own address, and what the operator allows."""

    def __init__(self, address: str, allowed: Iterable[str] = ()) -> None:
        names = {plain(without_port(name)) for name in allowed}
        self._names = names.union(LOOPBACK, () if is_any(address) else (plain(address),))

    def has(self, authority: str, reached: str | None = None) -> bool:
        """Whether `name` or `name:port` is one of them, or the address that was connected to.

        That one is no name which somebody could have made to point here.
        """
        name = plain(without_port(authority))
        return bool(name) and (name in self._names or name == reached)

    def has_origin(self, origin: str, reached: str | None = None) -> bool:
        """Whether a page came from there; `null`, which hides where it came from, did not."""
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        is_bare = not (parts.path or parts.query or parts.fragment or "@" in parts.netloc)
        return parts.scheme in _SCHEMES and is_bare and self.has(parts.netloc, reached)


def authority(host: str, port: int | str) -> str:
    """`host:port`, an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host and "]" not in host else f"{host}:{port}"


def is_any(address: str) -> bool:
    """Whether it stands for every address of this machine."""
    try:
        return ip_address(plain(address)).is_unspecified
    except ValueError:
        return False


def is_loopback(address: str) -> bool:
    """Whether only this machine gets there."""
    try:
        return ip_address(plain(address).partition("%")[0]).is_loopback
    except ValueError:
        return False


def without_port(authority: str) -> str:
    """`[::1]:8765`, `::1` and `localhost:8765` without the port; nothing where it is none."""
    authority = authority.strip()
    bracket = authority.rfind("]") + 1
    name, colon, port = authority[bracket:].partition(":")
    if bracket and (name or not authority.startswith("[")):
        return ""
    if not bracket and ":" in port:  # an IPv6 address, plain
        return authority
    return authority[:bracket] + name if port.isdecimal() or not colon else ""
