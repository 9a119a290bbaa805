"""The way to a server: how long it is, and who can listen on it."""

import ipaddress

from brenner.workflows.surroundings import OK, WARNING, Check


def milliseconds(seconds: float) -> str:
    """A time as it is shown."""
    return f"{seconds * 1_000:.1f} ms"


def way_check(words: str, host: str, *, is_encrypted: bool, mend: str) -> Check:
    """Whether others can read what goes to a server; on this machine nobody is in between."""
    if is_encrypted:
        return Check("server", OK, f"{words}; encrypted (TLS)")
    if is_here(host):
        return Check("server", OK, f"{words}; not encrypted, on this machine")
    detail = f"{words}. It is not encrypted: mail and passwords can be read on the way."
    return Check("server", WARNING, detail, mend)


def is_here(host: str) -> bool:
    """Whether a host, or the path of a socket, is on this machine."""
    try:
        return host == "localhost" or host.startswith("/") or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
