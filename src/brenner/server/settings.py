"""Settings of the server: listen address, access and limits; the bearer token; the address for
agents.
"""

from __future__ import annotations

import os
import socket
import stat
from errno import EADDRINUSE
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from brenner.diagnostics.codes import serving as codes
from brenner.diagnostics.model import Diagnostic, RequestError, UnavailableError
from brenner.limits import MOST_REQUEST_BYTES
from brenner.named_tuple import NamedTuple
from brenner.program_settings import TOKEN
from brenner.server.hosts import authority, is_wildcard, normalise_host, without_port
from brenner.services.identity import AGENT_MAIL_SERVER, BRENNER_SERVER, NO_SERVER, identify_server

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HOST, PORT = "127.0.0.1", 8765
ENDPOINTS = ("/mcp", "/mcp/", "/api", "/api/")
MOST_CONNECTIONS = 1_000
REQUESTS_A_SECOND = 500
GRACE_SECONDS = 10


class ServeSettings(NamedTuple):
    """Settings from the command line and the environment.

    `token` is required in every request; it is mandatory on any address but loopback, and identity
    is strict there. `hosts` are further names of the server. With `is_lab` the operator can act on
    the page; `lab_secret` opens it if the store keeps no secrets. With `is_open` no name is
    protected by its secret.
    """

    host: str = HOST
    port: int = PORT
    token: str | None = None
    is_strict: bool = False
    hosts: tuple[str, ...] = ()
    most_request_bytes: int = MOST_REQUEST_BYTES
    most_connections: int = MOST_CONNECTIONS
    requests_a_second: int = REQUESTS_A_SECOND
    grace_seconds: int = GRACE_SECONDS
    is_lab: bool = False
    is_open: bool = False
    lab_secret: str | None = None


# The address for agents
#
# The printed command works as it is. It needs no options only for the default address without a
# token.


_ADDRESS = "ADDRESS"  # with several, it is unknown which one an agent can reach
_FILL_IN = (
    f"Replace {_ADDRESS} with an address of this machine, or with a name that the server was "
    "started with (`--allow-host NAME`)."
)


class McpAddress(NamedTuple):
    """The address of the server for an agent's program. `remark` says what to fill in, if
    anything.
    """

    base: str
    wants_token: bool = False
    remark: str = ""

    @property
    def url(self) -> str:
        """Return the URL of the endpoint."""
        return self.base + ENDPOINTS[1]

    def command(self, client: str = "NAME", *, write: bool = False) -> str:
        """Return the command that prints the settings of a client, or writes them."""
        words = ["brenner agent config --client", client]
        if self.base != _base(HOST, PORT):
            words += ["--url", quote(self.url)]
        if self.wants_token:
            words.append("--token")
        if write:
            words.append("--write")
        return " ".join(words)


def address_for_agents(settings: ServeSettings) -> McpAddress:
    """Return the address for agents of a server with these settings."""
    wants_token = settings.token is not None
    return address_of_server(settings.host, settings.port, settings.hosts, wants_token=wants_token)


def address_of_server(
    host: str, port: int | str, hosts: Sequence[str] = (), *, wants_token: bool = False
) -> McpAddress:
    """Return the address for agents of a server that listens there and has these names."""
    if not is_wildcard(host):
        return McpAddress(_base(host, port), wants_token)
    named = next(filter(None, map(without_port, hosts)), "")
    return McpAddress(_base(named or _ADDRESS, port), wants_token, "" if named else _FILL_IN)


def _base(host: str, port: int | str) -> str:
    return f"http://{authority(host, port)}"


# The listening socket is opened before anything that takes time: a client that connects during
# startup waits instead of being refused.


_BACKLOG = 1024
_ASKING_SECONDS = 0.5
_WHO = {
    BRENNER_SERVER: "A Brenner server answers there.",
    AGENT_MAIL_SERVER: "Something that looks like an Agent Mail server answers there.",
    NO_SERVER: "It may be a Brenner or an Agent Mail server: both use port 8765 by default.",
}


def find_address(host: str, port: int) -> tuple[str, int]:
    """Return the address and port of a host name or address. Prefer IPv4 if there are several."""
    flags = socket.AI_PASSIVE
    try:
        found = socket.getaddrinfo(normalise_host(host), port, type=socket.SOCK_STREAM, flags=flags)
    except (OSError, UnicodeError):
        reason = "there is no host of that name"
        raise _unusable(host, reason) from None
    *_, address = min(found, key=lambda each: each[0] != socket.AF_INET)
    return str(address[0]), int(address[1])


def listen(address: str, port: int) -> tuple[socket.socket, int]:
    """Return a listening socket and its port. Port 0 becomes a free port."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # asyncio sets TCP_NODELAY only if the protocol is named; else each response waits 40 ms.
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((address, port))
        opened.listen(_BACKLOG)
    except OSError as error:
        opened.close()
        if error.errno == EADDRINUSE:
            raise UnavailableError(_port_taken(address, port)) from None
        reason = (error.strerror or "unknown").lower()
        raise _unusable(authority(address, port), reason) from None
    opened.setblocking(False)
    return opened, opened.getsockname()[1]


def _port_taken(address: str, port: int) -> Diagnostic:
    """Return the diagnostic of a port in use, with what agents need if it changes."""
    shown = authority(address, port)
    who = _WHO[identify_server(f"http://{shown}/mcp", _ASKING_SECONDS)]
    command = address_of_server(address, "NUMBER").command()
    return codes.PORT_TAKEN.at(address=shown, who=who, command=command)


def _unusable(address: str, reason: str) -> UnavailableError:
    return UnavailableError(codes.ADDRESS_UNUSABLE.at(address=address, reason=reason))


# The bearer token


_MOST = 4096
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def read_token(
    file: str | None, environ: Mapping[str, str]
) -> tuple[str | None, tuple[Diagnostic, ...]]:
    """Return the bearer token of the file, else of the environment, and warnings about the file.

    Raise RequestError if it is invalid.
    """
    if file is not None:
        return _from_file(Path(file).expanduser())
    if TOKEN not in environ:
        return None, ()
    return _checked(environ[TOKEN], TOKEN), ()


def _from_file(path: Path) -> tuple[str, tuple[Diagnostic, ...]]:
    try:
        with path.open("rb") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            raw = opened.read(_MOST + 1)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise _tokens_unusable(str(path), reason) from None
    warnings: tuple[Diagnostic, ...] = ()
    if mode & _OTHERS and os.name == "posix":
        warnings = (codes.TOKEN_FILE_READABLE.at(path=str(path)),)
    return _checked(raw.decode("latin-1"), str(path)), warnings


def _checked(text: str, where: str) -> str:
    token = text.strip()
    if not token:
        raise _tokens_unusable(where, "it is empty")
    if len(token) > _MOST:
        raise _tokens_unusable(where, f"it is longer than {_MOST} characters")
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise _tokens_unusable(where, "it contains a space or a character that is not ASCII")
    return token


def _tokens_unusable(where: str, reason: str) -> RequestError:
    return RequestError(codes.UNUSABLE_TOKEN.at(where=where, reason=reason))
